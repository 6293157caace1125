//! The journal of a dream.

use jiff::Timestamp;

use super::{DreamId, Memory, MemoryId, Mode, OwnerId, ProjectId, Status, words};

words! {
    /// How a sweep ended.
    DreamResult {
        /// It changed something.
        Done = "done",
        /// There was nothing to do.
        Nothing = "nothing",
        /// It did not run; the reason says why.
        Skipped = "skipped",
        /// It broke off.
        Failed = "failed",
    }
}

words! {
    /// What became of one session in a sweep.
    SessionOutcome {
        /// Memories were found.
        Extracted = "extracted",
        /// Read, nothing worth keeping.
        Empty = "empty",
        /// The extractor failed; the next sweep tries again.
        Retry = "retry",
        /// Left out; the reason says why.
        Skipped = "skipped",
    }
}

impl SessionOutcome {
    /// Whether the session was read.
    pub fn is_read(self) -> bool {
        matches!(self, Self::Extracted | Self::Empty)
    }
}

words! {
    /// What a sweep did to one memory.
    DreamOp {
        /// A new memory.
        Add = "add",
        /// Said again.
        Reinforce = "reinforce",
        /// Two became one.
        Merge = "merge",
        /// A newer one replaced it.
        Supersede = "supersede",
        /// Moved to a wider space.
        Promote = "promote",
        /// Made stale.
        Retire = "retire",
    }
}

/// One change of a sweep, with what is needed to undo it.
#[derive(Debug, Clone, PartialEq)]
pub struct DreamChange {
    /// What was done.
    pub op: DreamOp,
    /// The memory before; `None` for one that was added.
    pub before: Option<Memory>,
    /// The memory after.
    pub after: Memory,
    /// Why, in one sentence.
    pub because: String,
    /// The events that speak for it, as `session#event`.
    pub evidence: Vec<String>,
}

/// What a sweep did with one session it chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DreamedSession {
    /// The session's id.
    pub session: String,
    /// Its project.
    pub project: Option<ProjectId>,
    /// What became of it.
    pub outcome: SessionOutcome,
    /// Why, in one sentence; empty when extracted.
    pub reason: String,
}

/// What a sweep found and did not keep, or was due and was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftAlone {
    /// The title of the finding or the memory.
    pub title: String,
    /// The project it belongs to.
    pub project: Option<ProjectId>,
    /// Why, in one sentence.
    pub reason: String,
}

/// What an undo could not take back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoLeft {
    /// The memory.
    pub id: MemoryId,
    /// Its title.
    pub title: String,
    /// Why, in one sentence.
    pub because: String,
    /// No later undo can take it back either: it is gone.
    pub is_final: bool,
}

/// How many changes these are to a person: a record that goes and the one that takes its place are one.
pub fn steps(changes: &[DreamChange]) -> usize {
    let gives_way = |change: &&DreamChange| {
        matches!(change.op, DreamOp::Merge | DreamOp::Supersede)
            && change.after.status == Status::Superseded
            && change
                .after
                .superseded_by
                .as_ref()
                .is_some_and(|by| changes.iter().any(|other| other.after.id == *by))
    };
    changes.len() - changes.iter().filter(gives_way).count()
}

/// One sweep, as the journal keeps it.
#[derive(Debug, Clone, PartialEq)]
pub struct Dream {
    /// UUIDv7.
    pub id: DreamId,
    /// Whose memories it swept.
    pub owner: OwnerId,
    /// The mode whose sessions it read.
    pub mode: Mode,
    /// It only told what it would do.
    pub dry_run: bool,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// How it ended.
    pub result: DreamResult,
    /// Why, in one sentence.
    pub reason: String,
    /// The sessions it chose.
    pub sessions: Vec<DreamedSession>,
    /// What it changed, in order.
    pub changes: Vec<DreamChange>,
    /// What it left alone, as far as the journal keeps it.
    pub left_alone: Vec<LeftAlone>,
    /// When it was undone, in whole or in part.
    pub undone_at: Option<Timestamp>,
    /// What the last undo left; a further undo is about these alone.
    pub undo_left: Vec<UndoLeft>,
}

impl Dream {
    /// How much a person would say it changed, see [`steps`].
    pub fn steps(&self) -> usize {
        steps(&self.changes)
    }

    /// Nothing of it is left to undo.
    pub fn is_undone(&self) -> bool {
        self.undone_at.is_some() && self.undo_left.iter().all(|left| left.is_final)
    }
}
