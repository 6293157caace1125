//! What `status` tells.

use doze_core::model::OwnerId;
use jiff::Timestamp;

use crate::{Engine, EngineError, IndexState};

/// How the engine does.
#[derive(Debug, Clone)]
pub struct Status {
    /// Memories of all owners.
    pub memories: u64,
    /// Sessions of all owners.
    pub sessions: u64,
    /// Projects of all owners.
    pub projects: u64,
    /// Bytes of the store file.
    pub store_bytes: u64,
    /// Why nothing can be written, if so.
    pub not_writable: Option<String>,
    /// Damaged values that are left out of every answer.
    pub quarantined: usize,
    /// The last durable change.
    pub seq: u64,
    /// The indexes.
    pub index: IndexState,
    /// Until when doze is paused.
    pub paused_until: Option<Timestamp>,
}

impl Engine {
    /// How the engine does.
    pub fn status(&self, owner: &OwnerId) -> Result<Status, EngineError> {
        let stats = self.store().stats()?;
        Ok(Status {
            memories: stats.memories,
            sessions: stats.sessions,
            projects: stats.projects,
            store_bytes: stats.file_bytes,
            not_writable: stats.not_writable,
            quarantined: stats.quarantined.len(),
            seq: self.store().seq(),
            index: self.inner.index.state(),
            paused_until: self.paused_until(owner)?,
        })
    }
}
