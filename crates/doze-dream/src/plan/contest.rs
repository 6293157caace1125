//! What an agent says against what several sessions have said: it is kept apart and told, and takes the place of the
//! other only when one more session says it. The person decides at once, by saying so or in `doze review`; what they
//! wrote, verified or pinned themselves gives way in `doze review` alone.

use doze_core::duplicate::Relation;
use doze_core::model::{CONTRADICTS, Context, DreamOp, Memory, Origin, Status};
use doze_core::{promote, text};

use super::CandidateOf;
use super::board::{Board, Texts};
use super::settle::{
    TAKEN_BACK, because, is_heard_of, is_older, is_shown, joined, leave, may_spend, memory_of, refusal,
    short, supersede_twins,
};

/// Sessions behind a memory from which on one agent's word does not turn it round.
const ESTABLISHED: u32 = 2;

/// Whether a finding that would replace the memory at a place has less to say for itself.
pub(super) fn is_contested(board: &Board<'_>, at: usize, finding: &CandidateOf) -> bool {
    let known = &board.entries[at].memory;
    if finding.candidate.origin == Origin::Person {
        return known.is_protected() && !is_older(board, at, finding);
    }
    known.evidence_count >= ESTABLISHED
}

/// Keeps a finding beside the memory at a place that it contradicts.
pub(super) fn keep_apart(board: &mut Board<'_>, at: usize, finding: &CandidateOf) {
    let by_person = finding.candidate.origin == Origin::Person;
    if let Some(reason) = refusal(board, at, finding).filter(|_| !by_person) {
        return leave(board, finding, reason);
    }
    let known = board.entries[at].memory.clone();
    let mut memory = memory_of(board, finding);
    let texts = Texts::of(&memory.title, &memory.body);
    if board.vetoes.keeps_out(&memory, &texts) {
        return leave(board, finding, TAKEN_BACK);
    }
    if by_person {
        drop_former(board, &known, &texts, finding);
    }
    memory.status = Status::Proposed;
    memory.topic_key = None;
    memory.tags.push(CONTRADICTS.to_owned());
    // The id alone: its words would outlive it.
    memory.contexts = vec![Context { origin: Some(known.id.as_str().to_owned()), ..Context::default() }];
    let waits = if known.is_protected() {
        "a person vouches for; it waits for doze review".to_owned()
    } else if by_person {
        "may hold no more; it waits for doze review".to_owned()
    } else {
        let sessions = text::count(known.evidence_count.into(), "session");
        format!("{sessions} say; it waits for one more to say it, or for doze review")
    };
    let told = format!("contradicts \"{}\", which {waits}; {}", short(&known), because(finding));
    board.add(DreamOp::Add, memory, told, finding.candidate.evidence.clone());
}

/// The person says something else again: what they said before against the same memory waits no longer.
fn drop_former(board: &mut Board<'_>, known: &Memory, texts: &Texts, finding: &CandidateOf) {
    let against = board.places(&known.scope, |memory| memory.contradicts() == Some(known.id.as_str()));
    for place in against {
        if board.relation(place, texts) == Relation::Update && !is_older(board, place, finding) {
            let mut after = board.entries[place].memory.clone();
            after.status = Status::Stale;
            let told = "the person says otherwise by now".to_owned();
            board.change(place, DreamOp::Retire, after, told, finding.candidate.evidence.clone());
        }
    }
}

/// Another session says what is kept apart at `apart`: it takes the place of the memory at `at`.
pub(super) fn decide(board: &mut Board<'_>, at: usize, apart: usize, finding: &CandidateOf) {
    let candidate = &finding.candidate;
    let mut new = board.entries[apart].memory.clone();
    if let Some(reason) = adds_nothing(&new, finding) {
        return leave(board, finding, reason);
    }
    if let Some(reason) = refusal(board, at, finding) {
        return leave(board, finding, reason);
    }
    let mut old = board.entries[at].memory.clone();
    if !may_spend(board, &old, finding) {
        return;
    }
    stand(&mut new, finding);
    new.topic_key = old.topic_key.clone();
    new.updated_at = board.now;
    let told = format!("was \"{}\"; said by a second session; {}", short(&old), because(finding));
    let replaced = format!("replaced by \"{}\"", short(&new));
    old.status = Status::Superseded;
    old.superseded_by = Some(new.id.clone());
    board.change(at, DreamOp::Supersede, old.clone(), replaced, candidate.evidence.clone());
    board.change(apart, DreamOp::Supersede, new.clone(), told, candidate.evidence.clone());
    supersede_twins(board, &old, &new, finding);
}

/// Another session says what is kept apart at `apart`, and what it contradicted is no longer in force.
pub(super) fn uphold(board: &mut Board<'_>, apart: usize, finding: &CandidateOf) {
    let candidate = &finding.candidate;
    let mut new = board.entries[apart].memory.clone();
    if let Some(reason) = adds_nothing(&new, finding) {
        return leave(board, finding, reason);
    }
    if !may_spend(board, &new, finding) {
        return;
    }
    stand(&mut new, finding);
    new.updated_at = board.now;
    let told = format!("what it contradicted is no longer in force; {}", because(finding));
    board.change(apart, DreamOp::Reinforce, new, told, candidate.evidence.clone());
}

/// Why a finding does not speak for what is kept apart: only the person may say so in the same session, or after it was put
/// before them.
fn adds_nothing(apart: &Memory, finding: &CandidateOf) -> Option<&'static str> {
    if finding.candidate.origin == Origin::Person {
        None
    } else if is_heard_of(apart, &finding.session) {
        Some("it is known already, and kept apart")
    } else {
        is_shown(finding, apart).then_some("the agent repeats what it was shown")
    }
}

/// What was kept apart is in force, with one more to say it.
fn stand(new: &mut Memory, finding: &CandidateOf) {
    new.status = Status::Active;
    new.tags.retain(|tag| tag != CONTRADICTS);
    new.contexts.clear();
    promote::reinforce(new, finding.candidate.at);
    let known = std::mem::take(&mut new.source.events);
    new.source.events = joined(&known, &finding.candidate.evidence);
}

/// What the memory at a place was said again for, takes the ground from what is kept apart against it.
pub(super) fn settle_for(board: &mut Board<'_>, at: usize, finding: &CandidateOf) {
    let known = board.entries[at].memory.clone();
    let against = board.places(&known.scope, |memory| {
        memory.contradicts() == Some(known.id.as_str()) && memory.last_confirmed_at < finding.candidate.at
    });
    for place in against {
        let mut after = board.entries[place].memory.clone();
        after.status = Status::Stale;
        let told = format!("\"{}\", which it contradicts, was said again", short(&known));
        board.change(place, DreamOp::Retire, after, told, finding.candidate.evidence.clone());
    }
}
