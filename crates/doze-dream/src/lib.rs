//! One dream sweep as pure decisions: which sessions to read, what to keep of what was found, how to undo it, and
//! when the next sweep is due.
//!
//! The engine reads a snapshot, calls these functions in order ([`choose`], [`candidates`], [`plan`]) and applies the
//! plan as one change set together with its journal. This crate may not do I/O, read a clock, draw a random number or
//! know the store; it may not touch a memory that a person wrote or pinned, delete anything, or change more of a
//! space than its cap allows. A second plan over the same input is empty.

mod candidates;
mod choose;
mod cron;
mod digest;
mod plan;
mod replied;
pub mod schedule;
#[cfg(test)]
mod testing;
mod undo;
mod vouched;

pub use candidates::{Candidate, ExtractContext, Voice, WasShown, candidates, ended, own};
pub use choose::{Choice, ChoiceOutcome, MAX_FAILURES, SessionState, choose, retry_after};
pub use cron::{Cron, CronError};
pub use digest::{digest, told};
pub use plan::{
    CandidateOf, Plan, PlanInput, Ran, TakeApart, TakenBack, plan, retires_when, settled, taken_back,
};
pub use replied::{Proposal, is_own_account, proposed, spoken_of};
pub use undo::{Standing, Undo, UndoError, UndoStep, undo};

/// The bounds of one sweep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Caps {
    /// Sessions read (S3.13).
    pub max_sessions: usize,
    /// New rounds below which a session is not worth reading (S3.12).
    pub min_rounds: u64,
    /// Days after which a session is too old to be read (S3.12).
    pub max_age_days: u32,
    /// Memories kept of one session (S3.13).
    pub max_entries_per_session: usize,
    /// Tokens that what is read of one session stays below (S3.13).
    pub max_digest_tokens: usize,
    /// The share of a space's active memories whose text or status may change.
    pub max_changed_share: f64,
    /// What may change even in a space so small that the share allows less.
    pub min_changed: usize,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            max_sessions: 10,
            min_rounds: 4,
            max_age_days: 30,
            max_entries_per_session: 5,
            max_digest_tokens: 30_000,
            max_changed_share: 0.25,
            min_changed: 3,
        }
    }
}
