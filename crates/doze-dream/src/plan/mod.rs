//! What a sweep changes: new findings settled against what is known, then the spaces tidied.

mod board;
mod contest;
mod ended;
mod pattern;
mod settle;
mod taken;
#[cfg(test)]
mod tests;
mod tidy;

use std::collections::BTreeSet;
use std::sync::Arc;

use doze_core::duplicate::Parts;
use doze_core::model::{
    AgentRef, DreamChange, LeftAlone, Memory, MemoryId, OwnerId, Scope, SessionKey, Verification,
};
use jiff::Timestamp;

use crate::{Candidate, Caps};
use board::Board;
pub use taken::{TakenBack, taken_back};
pub use tidy::retires_when;

/// A candidate with the session it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct CandidateOf {
    /// The session.
    pub session: SessionKey,
    /// Whose session it is.
    pub owner: OwnerId,
    /// The agent that ran it.
    pub agent: AgentRef,
    /// Its task, if any.
    pub task: Option<String>,
    /// Memories that were put before the agent in that session: its own words are no evidence for them.
    pub shown: Vec<MemoryId>,
    /// Found by rule or by a model.
    pub found_by: Verification,
    /// What it offers.
    pub candidate: Candidate,
}

/// The programs that ran with success in a session: what says of one that it is missing is out of date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// The session.
    pub session: SessionKey,
    /// Its last event.
    pub at: Timestamp,
    /// Their names, in lower case.
    pub programs: BTreeSet<String>,
}

/// Takes a text apart, or knows it from before: one sweep meets mostly the memories that the last one met.
pub type TakeApart<'a> = &'a dyn Fn(&str) -> Arc<Parts>;

/// What a plan is made of.
#[derive(Clone, Copy)]
pub struct PlanInput<'a> {
    /// Every memory of one owner in the touched spaces, whatever its status: what was marked wrong must not come back,
    /// and what was superseded tells that its evidence is known.
    pub existing: &'a [Memory],
    /// What the sessions of the sweep offer.
    pub candidates: &'a [CandidateOf],
    /// What was said in these sessions to end or change something.
    pub ended: &'a [CandidateOf],
    /// What ran in these sessions.
    pub ran: &'a [Ran],
    /// The sum of [`Plan::spent`] over the sweeps of the same day: they share one cap, so that many of them may not
    /// do what one may not.
    pub spent: &'a [(Scope, usize)],
    /// What a person took back of earlier dreams: it is not done again unless there is new evidence, which is a later
    /// event or another session.
    pub taken_back: &'a [TakenBack],
    /// The wall clock.
    pub now: Timestamp,
    /// The bounds of the sweep.
    pub caps: &'a Caps,
    /// How the texts of `existing` are taken apart.
    pub take_apart: TakeApart<'a>,
}

/// The changes of a sweep in the order in which they are to be applied; the journal keeps them in that order. Several
/// changes may touch one record, each beginning where the last one ended.
///
/// A finding under a known topic key keeps the record and its id; the former text becomes a record of its own, which
/// is the change with op `supersede` and no `before`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// What changes.
    pub changes: Vec<DreamChange>,
    /// What does not, though it might have.
    pub left_alone: Vec<LeftAlone>,
    /// How many of these changes count against the cap, by space: an active memory lost its text or status, or a
    /// retired one came back.
    pub spent: Vec<(Scope, usize)>,
    /// Sessions with findings that the cap had no room for: they are not read yet.
    pub postponed: BTreeSet<SessionKey>,
}

/// Makes the plan. `new_id` mints ids. Nothing is deleted, and no memory that a person wrote or pinned is touched. In a
/// day, no more of a space lose their text or status than `caps.min_changed`, or `caps.max_changed_share` of its active
/// memories that have stood for a day, whichever is more. Over its own result, with [`Plan::spent`] handed in, a second
/// plan is empty.
pub fn plan(input: &PlanInput<'_>, new_id: &mut dyn FnMut() -> MemoryId) -> Plan {
    let mut board = Board::new(input, new_id);
    let (findings, ended) = (in_order(input.candidates), in_order(input.ended));
    // A change can settle what was left alone before it. Every pass that changes something uses up a finding's evidence
    // or a record's status, so the passes come to an end; the bound only guards against a mistake in that reasoning.
    for _ in 0..=findings.len() + ended.len() + input.existing.len() {
        let before = board.begin_pass();
        for finding in &findings {
            settle::settle(&mut board, finding, &findings);
        }
        for said in &ended {
            ended::settle(&mut board, said);
        }
        tidy::refute(&mut board, input.ran);
        tidy::merge(&mut board);
        tidy::promote(&mut board);
        tidy::retire(&mut board);
        pattern::find(&mut board);
        if board.changed() == before {
            break;
        }
    }
    board.into_plan()
}

/// Settles the findings and nothing else: what one run taught is kept when it ends, tidying the spaces is a sweep's.
pub fn settled(input: &PlanInput<'_>, new_id: &mut dyn FnMut() -> MemoryId) -> Plan {
    let mut board = Board::new(input, new_id);
    let findings = in_order(input.candidates);
    for finding in &findings {
        settle::settle(&mut board, finding, &findings);
    }
    board.into_plan()
}

/// Oldest first: where two sessions disagree the later one has the last word.
fn in_order(candidates: &[CandidateOf]) -> Vec<&CandidateOf> {
    let mut findings: Vec<&CandidateOf> = candidates.iter().collect();
    findings.sort_by(|a, b| {
        (a.candidate.at, &a.session, &a.candidate.evidence).cmp(&(
            b.candidate.at,
            &b.session,
            &b.candidate.evidence,
        ))
    });
    findings
}
