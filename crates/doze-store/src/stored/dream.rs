//! The journal of dreams.

use doze_core::model::{
    Dream, DreamChange, DreamId, DreamOp, DreamResult, DreamedSession, LeftAlone, Memory, MemoryId, Mode,
    OwnerId, ProjectId, SessionOutcome, UndoLeft,
};
use jiff::Timestamp;

use super::memory::StoredMemory;
use super::{Keep, kept_as_word, record};

kept_as_word!(DreamOp, DreamResult, SessionOutcome);

record! {
    /// What a sweep did with a session.
    StoredDreamed for DreamedSession {
        session: String = String::new(),
        project: Option<ProjectId> = None,
        outcome: SessionOutcome = SessionOutcome::Skipped,
        reason: String = String::new(),
    }
}

record! {
    /// One change of a sweep.
    StoredDreamChange for DreamChange {
        op: DreamOp = DreamOp::Add,
        before: Option<Memory> = None,
        after: Memory = Memory::back(StoredMemory::default()),
        because: String = String::new(),
        evidence: Vec<String> = Vec::new(),
    }
}

record! {
    /// What a sweep did not keep.
    StoredLeftAlone for LeftAlone {
        title: String = String::new(),
        project: Option<ProjectId> = None,
        reason: String = String::new(),
    }
}

record! {
    /// What an undo could not take back.
    StoredUndoLeft for UndoLeft {
        id: MemoryId = MemoryId::new(""),
        title: String = String::new(),
        because: String = String::new(),
        is_final: bool = false,
    }
}

record! {
    /// One sweep.
    StoredDream for Dream {
        id: DreamId = DreamId::new(""),
        owner: OwnerId = OwnerId::new(""),
        mode: Mode = Mode::Code,
        dry_run: bool = false,
        started_at: Timestamp = Timestamp::UNIX_EPOCH,
        ended_at: Timestamp = Timestamp::UNIX_EPOCH,
        result: DreamResult = DreamResult::Nothing,
        reason: String = String::new(),
        sessions: Vec<DreamedSession> = Vec::new(),
        changes: Vec<DreamChange> = Vec::new(),
        left_alone: Vec<LeftAlone> = Vec::new(),
        undone_at: Option<Timestamp> = None,
        undo_left: Vec<UndoLeft> = Vec::new(),
    }
}
