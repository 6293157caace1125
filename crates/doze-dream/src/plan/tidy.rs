//! Upkeep of a space: one record for what was said twice, a wider space for what many found, rest for what nobody
//! confirmed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use doze_core::duplicate::Relation;
use doze_core::model::{DreamOp, Face, Kind, Memory, MemoryId, Scope, Status, content_hash};
use doze_core::promote::{self as office, Promotion};
use doze_core::text;
use jiff::{SignedDuration, Timestamp};

use super::Ran;
use super::board::Board;
use super::settle::{is_heard_of, joined, short};
use super::taken::last_word;

/// Records of one kind in one space that are compared with each other, the last confirmed ones; the work grows with
/// the square of it.
const MAX_COMPARED: usize = 400;
/// The topic key of a missing program is this and its name, see `doze_core::extract`.
const MISSING_PROGRAM: &str = "env:program:";
/// A memory as sure as this is not retired for want of confirmation.
const SURE: f64 = 0.8;

/// Faces whose records a dream may tidy. The bank is the person's, workspace memory has its truth in files, working
/// memory its own rules, and a pattern goes with the lessons it cites.
fn is_tidied(memory: &Memory) -> bool {
    matches!(memory.face, Face::Office | Face::Project)
        && !matches!(memory.scope, Scope::Bank)
        && !memory.is_pattern()
}

/// Makes one of what stands twice in a space: the better record stays, the other one points to it.
pub(super) fn merge(board: &mut Board<'_>) {
    // Each face shows its own records, so a twin in another face is no twin.
    let mut groups: BTreeMap<(Scope, Face, Kind), Vec<usize>> = BTreeMap::new();
    for (at, entry) in board.entries.iter().enumerate() {
        if entry.memory.status == Status::Active && is_tidied(&entry.memory) {
            groups
                .entry((entry.memory.scope.clone(), entry.memory.face, entry.memory.kind))
                .or_default()
                .push(at);
        }
    }
    for mut places in groups.into_values() {
        let memory = |board: &Board<'_>, at: usize| board.entries[at].memory.clone();
        places.sort_by(|a, b| {
            let (a, b) = (&board.entries[*a].memory, &board.entries[*b].memory);
            b.last_confirmed_at.cmp(&a.last_confirmed_at).then_with(|| a.id.cmp(&b.id))
        });
        places.truncate(MAX_COMPARED);
        // The better ones first: a record is only ever merged into a better one.
        places.sort_by(|a, b| standing(&board.entries[*b].memory).cmp(&standing(&board.entries[*a].memory)));
        let mut kept: Vec<usize> = Vec::new();
        for at in places {
            let twin = kept.iter().copied().find(|better| {
                !board.entries[at].memory.is_protected()
                    && !board.vetoes.keeps_apart(&board.entries[at].memory, &board.entries[*better].memory)
                    && topics_agree(&board.entries[*better].memory, &board.entries[at].memory)
                    && board.relation_between(*better, at) == Relation::Duplicate
                    && board.relation_between(at, *better) == Relation::Duplicate
            });
            let Some(better) = twin else {
                kept.push(at);
                continue;
            };
            let (worse, into) = (memory(board, at), memory(board, better));
            if !board.may_change(&worse, &short(&worse)) {
                kept.push(at);
                continue;
            }
            absorb(board, better, at, &into, &worse);
        }
    }
}

type Standing = (bool, u32, u64, Reverse<Timestamp>, Reverse<String>);

/// Protected before others, then by evidence and confidence, then the elder.
fn standing(memory: &Memory) -> Standing {
    let confidence = (memory.confidence.clamp(0.0, 1.0) * 1_000_000.0) as u64;
    let evidence = memory.evidence_count.max(memory.reinforce_count);
    let id = memory.id.as_str().to_owned();
    (memory.is_protected(), evidence, confidence, Reverse(memory.created_at), Reverse(id))
}

fn topics_agree(a: &Memory, b: &Memory) -> bool {
    a.topic_key.is_none() || b.topic_key.is_none() || a.topic_key == b.topic_key
}

fn absorb(board: &mut Board<'_>, better: usize, at: usize, into: &Memory, worse: &Memory) {
    let evidence = worse.source.events.clone();
    if !into.is_protected() {
        let mut after = into.clone();
        after.evidence_count = into.evidence_count.saturating_add(worse.evidence_count);
        after.reinforce_count = into.reinforce_count.saturating_add(worse.reinforce_count);
        after.confidence = into.confidence.max(worse.confidence);
        after.last_confirmed_at = into.last_confirmed_at.max(worse.last_confirmed_at);
        after.topic_key = into.topic_key.clone().or_else(|| worse.topic_key.clone());
        after.source.events = joined(&into.source.events, &worse.source.events);
        for agent in &worse.confirmed_by {
            if !after.confirmed_by.contains(agent) {
                after.confirmed_by.push(agent.clone());
            }
        }
        let because = format!("says the same as \"{}\"; no number, name or negation differs", short(worse));
        board.change(better, DreamOp::Merge, after, because, evidence.clone());
    }
    let mut after = worse.clone();
    after.status = Status::Superseded;
    after.superseded_by = Some(into.id.clone());
    board.change(at, DreamOp::Merge, after, format!("merged into \"{}\"", short(into)), evidence);
}

/// Shares with the project what an agent knows well or a second agent found on its own (S0.34, S0.35).
pub(super) fn promote(board: &mut Board<'_>) {
    let facts: Vec<usize> = (0..board.entries.len())
        .filter(|at| {
            let memory = &board.entries[*at].memory;
            memory.face == Face::Office
                && memory.status == Status::Active
                && matches!(memory.scope, Scope::Agent { project: Some(_), .. })
        })
        .collect();
    for &at in &facts {
        let (fact, found_at) = with_finders(board, at, &facts);
        let Some(project) = fact.scope.project().cloned() else { continue };
        let scope = Scope::Project(project);
        let shared_at = board.places(&scope, |memory| memory.face == Face::Office);
        // What was shared once and then retired, replaced or marked wrong is not shared a second time.
        let was_shared = shared_at.iter().any(|place| {
            board.entries[*place].memory.status != Status::Active
                && board.relation_between(*place, at) == Relation::Duplicate
        });
        if was_shared {
            continue;
        }
        let shared: Vec<Memory> =
            shared_at.iter().map(|place| board.entries[*place].memory.clone()).collect();
        let place_of = |id: MemoryId| {
            let places = shared_at.iter().zip(&shared);
            places.into_iter().find(|(_, memory)| memory.id == id).map(|(place, _)| *place)
        };
        let goes = match office::promote(&shared, &fact) {
            Promotion::No => continue,
            Promotion::Confirm { id, agents } => {
                if let Some(place) = place_of(id) {
                    confirm(board, place, &fact, &agents, found_at);
                }
                continue;
            }
            Promotion::Supersede(id) => {
                let Some(place) = place_of(id) else { continue };
                if board.entries[place].memory.last_confirmed_at > fact.last_confirmed_at {
                    continue;
                }
                Some((place, "a newer shared fact replaced it", Status::Superseded))
            }
            Promotion::Add { evict } => evict
                .and_then(place_of)
                .map(|place| (place, "it made room for a fact that is known better", Status::Stale)),
        };
        if !was_unshared(board, at, &scope, goes.map(|(place, ..)| place), found_at) {
            share(board, &fact, scope, goes);
        }
    }
}

/// Counts agents that found a shared fact on their own.
fn confirm(board: &mut Board<'_>, place: usize, fact: &Memory, agents: &[String], found_at: Timestamp) {
    let mut after = board.entries[place].memory.clone();
    if after.is_protected() || board.vetoes.keeps_uncounted(&after.id, agents, found_at) {
        return;
    }
    office::confirm(&mut after, agents, fact.last_confirmed_at);
    let because = format!("found independently by {}", agents.join(", "));
    board.change(place, DreamOp::Reinforce, after, because, fact.source.events.clone());
}

/// Whether a person took back that the fact was shared, or that the record at `goes` made way for another one, and
/// nobody found the fact since.
fn was_unshared(
    board: &Board<'_>,
    at: usize,
    scope: &Scope,
    goes: Option<usize>,
    found_at: Timestamp,
) -> bool {
    board.is_kept_private(at, scope, found_at)
        || goes.is_some_and(|place| board.vetoes.keeps_in_place(&board.entries[place].memory, found_at))
}

/// The fact with those other agents of its project among its finders that know the same, and when one of them found it
/// last.
fn with_finders(board: &Board<'_>, at: usize, facts: &[usize]) -> (Memory, Timestamp) {
    let mut fact = board.entries[at].memory.clone();
    let project = fact.scope.project().cloned();
    let same: Vec<&Memory> = facts
        .iter()
        .filter(|other| {
            let memory = &board.entries[**other].memory;
            memory.scope.project() == project.as_ref()
                && memory.scope.agent() != fact.scope.agent()
                && board.relation_between(**other, at) == Relation::Duplicate
        })
        .map(|other| &board.entries[*other].memory)
        .collect();
    let found_at = same.iter().map(|memory| last_word(memory)).fold(last_word(&fact), Timestamp::max);
    let others: BTreeSet<String> = same
        .into_iter()
        .filter_map(|memory| memory.scope.agent().map(|agent| agent.as_str().to_owned()))
        .collect();
    fact.confirmed_by
        .extend(others.into_iter().filter(|agent| !board.entries[at].memory.confirmed_by.contains(agent)));
    (fact, found_at)
}

fn share(board: &mut Board<'_>, fact: &Memory, scope: Scope, goes: Option<(usize, &str, Status)>) {
    if let Some((place, ..)) = goes {
        let old = board.entries[place].memory.clone();
        if old.is_protected() || !board.may_change(&old, &short(&old)) {
            return;
        }
    }
    let mut shared = fact.clone();
    shared.id = board.mint();
    shared.scope = scope;
    shared.topic_key = None;
    if let Some(agent) = fact
        .scope
        .agent()
        .map(|agent| agent.as_str().to_owned())
        .filter(|agent| !shared.confirmed_by.contains(agent))
    {
        shared.confirmed_by.insert(0, agent);
    }
    shared.content_hash = content_hash(shared.kind.as_str(), &shared.title, &shared.body);
    shared.updated_at = board.now;
    if let Some((place, because, status)) = goes {
        let mut old = board.entries[place].memory.clone();
        old.status = status;
        old.superseded_by = (status == Status::Superseded).then(|| shared.id.clone());
        let op = if status == Status::Superseded { DreamOp::Supersede } else { DreamOp::Retire };
        board.change(place, op, old, because.to_owned(), fact.source.events.clone());
    }
    let because = if shared.confirmed_by.len() >= 2 {
        format!("found independently by {}", shared.confirmed_by.join(", "))
    } else {
        format!("seen {}", text::count(fact.reinforce_count.into(), "time"))
    };
    let evidence = fact.source.events.clone();
    board.add(DreamOp::Promote, shared, because, evidence);
}

/// Days without any confirmation after which a memory of a kind is no longer sure. The world changes faster than
/// taste: machines within half a year, code within one, people hardly.
pub(super) fn lifetime_days(kind: Kind) -> i64 {
    match kind {
        Kind::EnvQuirk | Kind::Context | Kind::Log => 180,
        Kind::Command => 270,
        Kind::Lesson | Kind::Fact | Kind::Ownership | Kind::Member => 365,
        Kind::Decision | Kind::Spec | Kind::Convention => 540,
        Kind::Preference | Kind::Profile => 730,
    }
}

/// What would retire a memory, in one sentence.
pub fn retires_when(memory: &Memory) -> String {
    if memory.is_protected() {
        return "never: a person wrote, verified or pinned it".to_owned();
    }
    if memory.is_pattern() {
        return "a dream, when fewer than three of the lessons it cites are left".to_owned();
    }
    if !is_tidied(memory) {
        return "never by a dream: its own face keeps it".to_owned();
    }
    if is_confirmed(memory) {
        let why = match memory.evidence_count > 1 || memory.reinforce_count > 1 || memory.applied_count > 0 {
            false if memory.last_confirmed_at <= memory.created_at => "it was sure from the beginning",
            _ => "it was confirmed since it was learned",
        };
        return format!("only something newer that replaces it: {why}");
    }
    let days = lifetime_days(memory.kind);
    format!("a dream, when it stays unconfirmed for more than {days} days")
}

/// Makes stale what says of a program that it is missing, when a later session ran it.
pub(super) fn refute(board: &mut Board<'_>, ran: &[Ran]) {
    for at in 0..board.entries.len() {
        let memory = board.entries[at].memory.clone();
        let program = memory.topic_key.as_deref().and_then(|topic| topic.strip_prefix(MISSING_PROGRAM));
        let is_ours = memory.status == Status::Active && memory.kind == Kind::EnvQuirk && is_tidied(&memory);
        let Some(program) = program.filter(|_| is_ours && !memory.is_protected()) else { continue };
        let proof = ran.iter().find(|ran| {
            ran.at > memory.last_confirmed_at
                && ran.programs.contains(program)
                && !is_heard_of(&memory, &ran.session)
        });
        let Some(proof) = proof.filter(|_| !board.vetoes.keeps_awake(&memory)) else { continue };
        if !board.may_change(&memory, &short(&memory)) {
            continue;
        }
        let because = format!("`{program}` ran in {}", proof.session.session);
        let evidence = memory.source.events.clone();
        board.change(at, DreamOp::Retire, Memory { status: Status::Stale, ..memory }, because, evidence);
    }
}

/// Makes stale what was seen once, long ago, and never confirmed nor found helpful since. The longest silent go first.
pub(super) fn retire(board: &mut Board<'_>) {
    let mut due: Vec<usize> =
        (0..board.entries.len()).filter(|at| is_retired(board, &board.entries[*at].memory)).collect();
    due.sort_by_key(|at| {
        let memory = &board.entries[*at].memory;
        (memory.last_confirmed_at, memory.id.clone())
    });
    for at in due {
        let mut after = board.entries[at].memory.clone();
        if !board.may_change(&after, &short(&after)) {
            continue;
        }
        let days = lifetime_days(after.kind);
        after.status = Status::Stale;
        let because = format!("seen once and not confirmed for more than {days} days");
        let evidence = after.source.events.clone();
        board.change(at, DreamOp::Retire, after, because, evidence);
    }
}

/// Whether a memory is due and no person woke it.
fn is_retired(board: &Board<'_>, memory: &Memory) -> bool {
    is_due(memory, board.now) && !board.vetoes.keeps_awake(memory)
}

/// Whether a memory was seen once, too long ago for its kind, and nobody has confirmed it since.
pub(super) fn is_due(memory: &Memory, now: Timestamp) -> bool {
    let silent = now.duration_since(memory.last_confirmed_at);
    memory.status == Status::Active
        && is_tidied(memory)
        && !memory.is_protected()
        && !is_confirmed(memory)
        && silent > SignedDuration::from_hours(24 * lifetime_days(memory.kind))
}

/// Whether anything has spoken for a memory since it was learned, or it was sure from the beginning.
fn is_confirmed(memory: &Memory) -> bool {
    memory.evidence_count > 1
        || memory.reinforce_count > 1
        || memory.applied_count > 0
        || memory.confirmed_by.len() >= 2
        || memory.confidence >= SURE
        || memory.last_confirmed_at > memory.created_at
}
