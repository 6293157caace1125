//! What the person says to end or change something, in whatever words: it takes the place of what it names, in all spaces
//! of its project. Where it is not plain what it ends, it is kept apart and told.

use doze_core::duplicate::{Ended, Relation, Touch};
use doze_core::model::{DreamOp, Kind, Memory, Scope, Status};

use super::board::{Board, Texts};
use super::settle::{because, is_older, may_spend, memory_of, short};
use super::{CandidateOf, contest};

/// Memories that one sentence may end.
const MAX_ENDED: usize = 5;

/// Settles one sentence of the person's.
pub(super) fn settle(board: &mut Board<'_>, said: &CandidateOf) {
    let Some(ended) = Ended::of(&said.candidate.body) else { return };
    let touched: Vec<(usize, Touch)> = (0..board.entries.len())
        .filter(|at| is_before(board, *at, said))
        .filter_map(|at| Some((at, ended.touches(board.subject(at))?)))
        .collect();
    let plain: Vec<(usize, Touch)> =
        touched.iter().copied().filter(|(_, touch)| *touch != Touch::Doubted).take(MAX_ENDED).collect();
    let told = told_by(board, said);
    let protected = plain.iter().find(|(at, _)| board.entries[*at].memory.is_protected());
    if let Some((at, _)) = protected.or(touched.first().filter(|_| plain.is_empty() && told.is_none())) {
        return keep_apart(board, *at, said);
    }
    let mut new = None;
    for (at, touch) in plain {
        let old = board.entries[at].memory.clone();
        if !may_spend(board, &old, said) {
            return;
        }
        match (touch, told) {
            (Touch::Withdrawn, _) => retire(board, at, said),
            (_, Some(told)) => replace(board, at, said, &board.entries[told].memory.clone()),
            (_, None) => {
                let new = new.get_or_insert_with(|| {
                    let mut memory = memory_of(board, said);
                    memory.kind = if old.kind == Kind::Lesson { Kind::Convention } else { old.kind };
                    memory
                });
                replace(board, at, said, new);
            }
        }
    }
    if let Some(new) = new {
        board.add(DreamOp::Add, new, because(said), said.candidate.evidence.clone());
    }
}

/// Whether the record at a place is in force, of the same project, and was said before, elsewhere.
fn is_before(board: &Board<'_>, at: usize, said: &CandidateOf) -> bool {
    let memory = &board.entries[at].memory;
    let is_around = memory.scope == said.candidate.scope
        || memory.scope.project().is_some() && memory.scope.project() == said.candidate.scope.project();
    let is_of_it = memory.source.events.iter().any(|event| said.candidate.evidence.contains(event));
    memory.status == Status::Active
        && is_around
        && !is_of_it
        && !memory.is_pattern()
        && memory.kind != Kind::EnvQuirk
        && !is_older(board, at, said)
        && !board.vetoes.keeps_in_place(memory, said.candidate.at)
}

/// The memory that the same sentence became, if it was learned as one.
fn told_by(board: &Board<'_>, said: &CandidateOf) -> Option<usize> {
    let texts = Texts::of(&said.candidate.title, &said.candidate.body);
    (0..board.entries.len()).find(|at| {
        let memory = &board.entries[*at].memory;
        memory.status == Status::Active
            && matches!(memory.scope, Scope::Project(_) | Scope::User)
            && memory.source.events.iter().any(|event| said.candidate.evidence.contains(event))
            && (board.relation(*at, &texts) == Relation::Duplicate
                || memory.body.contains(&said.candidate.body))
    })
}

fn retire(board: &mut Board<'_>, at: usize, said: &CandidateOf) {
    let mut after = board.entries[at].memory.clone();
    after.status = Status::Stale;
    board.change(
        at,
        DreamOp::Retire,
        after,
        format!("taken back; {}", because(said)),
        said.candidate.evidence.clone(),
    );
}

fn replace(board: &mut Board<'_>, at: usize, said: &CandidateOf, new: &Memory) {
    let mut old = board.entries[at].memory.clone();
    old.status = Status::Superseded;
    old.superseded_by = Some(new.id.clone());
    let replaced = format!("replaced by \"{}\"; {}", short(new), because(said));
    board.change(at, DreamOp::Supersede, old, replaced, said.candidate.evidence.clone());
}

/// Keeps the sentence beside the record at a place that it puts in doubt, unless it is kept, or was settled, already.
fn keep_apart(board: &mut Board<'_>, at: usize, said: &CandidateOf) {
    let texts = Texts::of(&said.candidate.title, &said.candidate.body);
    let is_known = (0..board.entries.len()).any(|at| {
        let memory = &board.entries[at].memory;
        memory.scope == said.candidate.scope && board.relation(at, &texts) == Relation::Duplicate
    });
    if !is_known {
        contest::keep_apart(board, at, said);
    }
}
