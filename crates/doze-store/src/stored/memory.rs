//! Memories.

use doze_core::model::{
    AgentRef, Context, Face, Kind, Memory, MemoryId, OwnerId, Scope, Source, Status, Verification,
};
use jiff::Timestamp;
use serde::Deserialize;

use super::{ScopeText, Text, kept_as_word, record};

kept_as_word!(Face, Kind, Status, Verification);

record! {
    /// Where a memory came from.
    StoredSource for Source {
        agent: Option<AgentRef> = None,
        session: Option<String> = None,
        task: Option<String> = None,
        team: Option<String> = None,
        events: Vec<String> = Vec::new(),
    }
}

record! {
    /// A quotation.
    StoredContext for Context {
        snippet: String = String::new(),
        conversation_id: Option<String> = None,
        message_id: Option<String> = None,
        origin: Option<String> = None,
    }
}

record! {
    /// A memory.
    StoredMemory for Memory {
        id: MemoryId = MemoryId::new(""),
        owner: OwnerId = OwnerId::new(""),
        scope: Scope = Scope::User,
        face: Face = Face::Project,
        kind: Kind = Kind::Fact,
        native_kind: Option<String> = None,
        title: String = String::new(),
        body: String = String::new(),
        tags: Vec<String> = Vec::new(),
        topic_key: Option<String> = None,
        files: Vec<String> = Vec::new(),
        confidence: f64 = 0.5,
        evidence_count: u32 = 1,
        reinforce_count: u32 = 0,
        applied_count: u32 = 0,
        confirmed_by: Vec<String> = Vec::new(),
        pinned: bool = false,
        status: Status = Status::Active,
        superseded_by: Option<MemoryId> = None,
        verification: Verification = Verification::Rule,
        source: Source = Source::default(),
        contexts: Vec<Context> = Vec::new(),
        created_at: Timestamp = Timestamp::UNIX_EPOCH,
        updated_at: Timestamp = Timestamp::UNIX_EPOCH,
        last_confirmed_at: Timestamp = Timestamp::UNIX_EPOCH,
        content_hash: String = String::new(),
        file_ref: Option<String> = None,
    }
}

/// The fields of a stored memory that its index entries are made of, read without the rest.
#[derive(Debug, Deserialize)]
pub(crate) struct MemoryFacts {
    scope: ScopeText,
    #[serde(default)]
    topic_key: Option<String>,
    #[serde(default)]
    status: Option<Text<Status>>,
    #[serde(default)]
    content_hash: String,
}

impl MemoryFacts {
    /// The key of its scope.
    pub(crate) fn scope(&self) -> String {
        self.scope.0.key()
    }

    /// Its content hash.
    pub(crate) fn hash(&self) -> &str {
        &self.content_hash
    }

    /// Its topic, if it is the active one.
    pub(crate) fn topic(&self) -> Option<&str> {
        let active = self.status.as_ref().is_none_or(|status| status.0 == Status::Active);
        self.topic_key.as_deref().filter(|_| active)
    }
}
