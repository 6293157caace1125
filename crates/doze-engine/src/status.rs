//! What `status` tells.

use doze_core::model::OwnerId;
use jiff::Timestamp;

use crate::asking::Usage;
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

/// Who summarises runs now, and what that cost today.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExtractionStatus {
    /// In one sentence (S1.15).
    pub sentence: String,
    /// `extractor`.
    pub extractor: String,
    /// `dream.extractor`.
    pub dreams: String,
    /// The model that is asked, where one is known for every run.
    pub model: Option<String>,
    /// What was spent today.
    pub usage: Usage,
    /// Calls that may be made a day; `None` for no limit.
    pub calls: Option<u64>,
    /// Tokens that may be spent a day; `None` for no limit.
    pub tokens: Option<u64>,
    /// The budget of the day is spent; somebody is asked again from this time on.
    pub spent_until: Option<Timestamp>,
}

impl Engine {
    /// Who summarises runs now.
    pub fn extraction(&self, owner: &OwnerId) -> Result<ExtractionStatus, EngineError> {
        let switches = self.switches();
        let limit = |limit: u64| (limit > 0).then_some(limit);
        let extractors = switches.extractors;
        let snapshot = self.store().snapshot()?;
        let spent_until = self.spent_until(&snapshot, owner)?.filter(|_| extractors.asks_somebody());
        Ok(ExtractionStatus {
            spent_until,
            sentence: if switches.memory_enabled {
                extractors.sentence()
            } else {
                "Memory is off: nothing is captured, extracted or told.".to_owned()
            },
            extractor: extractors.jobs.as_str().to_owned(),
            dreams: extractors.dreams.as_str().to_owned(),
            model: extractors.model_of_jobs(),
            usage: self.usage(&snapshot, owner)?,
            calls: limit(extractors.calls_per_day),
            tokens: limit(extractors.tokens_per_day),
        })
    }
}
