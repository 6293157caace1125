//! What users hand in, and what they get told about it afterwards.

use doze_core::model::{
    AgentId, Dream, DreamId, Event, Memory, MemoryId, OwnerId, Project, ProjectId, Scope, Session,
    SessionKey, WorkState,
};

use crate::error::ReadError;
use crate::snapshot::Snapshot;

/// Changes that belong together: applied whole or not at all.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeSet {
    /// Whose records change; a record of another owner makes the set invalid.
    pub owner: OwnerId,
    /// Subjects and the revision each must still have.
    pub expects: Vec<(Subject, u64)>,
    /// The changes, applied in order.
    pub changes: Vec<Change>,
}

impl ChangeSet {
    /// An empty set.
    pub fn new(owner: OwnerId) -> Self {
        Self { owner, expects: Vec::new(), changes: Vec::new() }
    }

    /// Adds the condition that a subject is still at this revision.
    #[must_use]
    pub fn expect(mut self, subject: Subject, revision: u64) -> Self {
        self.expects.push((subject, revision));
        self
    }

    /// Adds the condition that a subject is still as a snapshot shows it.
    pub fn expect_seen(self, snapshot: &Snapshot, subject: Subject) -> Result<Self, ReadError> {
        let revision = snapshot.revision(&self.owner, &subject)?;
        Ok(self.expect(subject, revision))
    }

    /// Adds a change.
    #[must_use]
    pub fn with(mut self, change: Change) -> Self {
        self.changes.push(change);
        self
    }

    /// Adds a memory, new or replaced.
    #[must_use]
    pub fn put_memory(self, memory: Memory) -> Self {
        self.with(Change::PutMemory(Box::new(memory)))
    }

    /// Adds a session, new or replaced.
    #[must_use]
    pub fn put_session(self, session: Session) -> Self {
        self.with(Change::PutSession(Box::new(session)))
    }

    /// Adds a bookkeeping record, new or replaced.
    #[must_use]
    pub fn put_aux(self, family: Family, key: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.with(Change::PutAux { family, key: key.into(), value: value.into() })
    }

    /// Takes a bookkeeping record out.
    #[must_use]
    pub fn delete_aux(self, family: Family, key: impl Into<String>) -> Self {
        self.with(Change::DeleteAux { family, key: key.into() })
    }

    /// Takes a memory out for good.
    #[must_use]
    pub fn delete_memory(self, id: MemoryId) -> Self {
        self.with(Change::DeleteMemory(id))
    }

    /// Takes a session out for good, with everything that hangs on it.
    #[must_use]
    pub fn delete_session(self, key: SessionKey) -> Self {
        self.with(Change::DeleteSession(key))
    }

    /// Appends events to a session.
    #[must_use]
    pub fn append_events(
        self,
        session: SessionKey,
        known_in: KnownIn,
        first: u64,
        events: Vec<Event>,
    ) -> Self {
        self.with(Change::AppendEvents { session, known_in, first, events })
    }

    /// Writes another text for an event.
    #[must_use]
    pub fn replace_event(self, session: SessionKey, ordinal: u64, event: Event) -> Self {
        self.with(Change::ReplaceEvent { session, ordinal, event })
    }

    /// Adds a work state, new or replaced.
    #[must_use]
    pub fn put_work(self, work: WorkState) -> Self {
        self.with(Change::PutWork(Box::new(work)))
    }

    /// Takes a work state out.
    #[must_use]
    pub fn clear_work(self, agent: AgentId, project: Option<ProjectId>, session: Option<String>) -> Self {
        self.with(Change::ClearWork { agent, project, session })
    }

    /// Adds a project, new or replaced.
    #[must_use]
    pub fn put_project(self, project: Project) -> Self {
        self.with(Change::PutProject(Box::new(project)))
    }

    /// Takes a project out, with its aliases.
    #[must_use]
    pub fn delete_project(self, id: ProjectId) -> Self {
        self.with(Change::DeleteProject(id))
    }

    /// Adds a dream, new or replaced.
    #[must_use]
    pub fn put_dream(self, dream: Dream) -> Self {
        self.with(Change::PutDream(Box::new(dream)))
    }

    /// Takes a dream out.
    #[must_use]
    pub fn delete_dream(self, id: DreamId) -> Self {
        self.with(Change::DeleteDream(id))
    }
}

/// What a revision is kept for. A revision is the sequence number of the last change set that touched the subject;
/// 0 means that there is nothing (never written, or deleted).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Subject {
    /// One memory.
    Memory(MemoryId),
    /// All memories of a scope, the one a memory moved away from included.
    Scope(Scope),
    /// A session with its events.
    Session(SessionKey),
    /// A work state: agent, project, session.
    Work(AgentId, Option<ProjectId>, Option<String>),
    /// All projects of the owner.
    Projects,
    /// All dreams of the owner.
    Dreams,
    /// One bookkeeping record.
    Aux(Family, String),
}

impl Subject {
    /// The key its revision is kept under.
    pub(crate) fn key(&self) -> String {
        match self {
            Self::Memory(id) => format!("memory\0{id}"),
            Self::Scope(scope) => scope_subject(&scope.key()),
            Self::Session(key) => format!("session\0{}\0{}", key.session, key.harness),
            Self::Work(agent, project, session) => work_subject(
                agent.as_str(),
                project.as_ref().map_or("", ProjectId::as_str),
                session.as_deref().unwrap_or(""),
            ),
            Self::Projects => "projects".into(),
            Self::Dreams => "dreams".into(),
            Self::Aux(family, key) => format!("aux\0{}\0{key}", family.as_str()),
        }
    }
}

/// The revision key of a scope that is already a key.
pub(crate) fn scope_subject(scope: &str) -> String {
    format!("scope\0{scope}")
}

/// The revision key of a work state.
pub(crate) fn work_subject(agent: &str, project: &str, session: &str) -> String {
    format!("work\0{agent}\0{project}\0{session}")
}

/// Where events are recognised when they come again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KnownIn {
    /// In every session of a project, `None` for those of no project: forks and resumed copies repeat the file of another
    /// session with its ids.
    Project(Option<ProjectId>),
    /// In every session of an agent in a project: who tells the events of a session again, with their ids and times, has
    /// forked or resumed it.
    Agent(AgentId, Option<ProjectId>),
    /// In their own session only: whoever tells events makes up their ids, and another one may choose the same.
    Session,
}

/// One change.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Writes a memory; touches it and its scope (both scopes if it moved).
    PutMemory(Box<Memory>),
    /// Takes a memory out for good, with its index entries, the vectors whose document is its id, and the record of
    /// what they were made of ([`vector_source_key`]), and what another program said of it ([`foreign_key`]).
    DeleteMemory(MemoryId),
    /// Writes a session.
    PutSession(Box<Session>),
    /// Takes a session out for good: events, fingerprints, work state, the bookkeeping records whose key begins
    /// with [`session_aux_key`] (tombstones and settings stay).
    DeleteSession(SessionKey),
    /// Writes events with the ordinals `first..` (an ordinal that is taken is replaced) and remembers the
    /// fingerprint of each.
    AppendEvents {
        /// The session.
        session: SessionKey,
        /// Where the events are known from now on.
        known_in: KnownIn,
        /// The first ordinal.
        first: u64,
        /// The events.
        events: Vec<Event>,
    },
    /// Writes another text for an event, which stays known under the fingerprint it was appended with.
    ReplaceEvent {
        /// The session.
        session: SessionKey,
        /// Which event.
        ordinal: u64,
        /// The event as it is from now on.
        event: Event,
    },
    /// Writes a work state.
    PutWork(Box<WorkState>),
    /// Takes a work state out.
    ClearWork {
        /// The agent.
        agent: AgentId,
        /// The project.
        project: Option<ProjectId>,
        /// The session.
        session: Option<String>,
    },
    /// Writes a project. An alias belongs to one project: others that had it lose it.
    PutProject(Box<Project>),
    /// Takes a project out, with its aliases.
    DeleteProject(ProjectId),
    /// Writes a dream.
    PutDream(Box<Dream>),
    /// Takes a dream out.
    DeleteDream(DreamId),
    /// Writes a bookkeeping record.
    PutAux {
        /// Its family.
        family: Family,
        /// Its key within the family.
        key: String,
        /// Its bytes, which the caller alone understands.
        value: Vec<u8>,
    },
    /// Takes a bookkeeping record out.
    DeleteAux {
        /// Its family.
        family: Family,
        /// Its key within the family.
        key: String,
    },
    /// Writes the vectors of a document, one per chunk, all of one length.
    PutVectors {
        /// The document: a memory's id, or what search calls it.
        doc: String,
        /// The model that made them, with the beginning of its SHA-256.
        model: String,
        /// The vectors.
        vectors: Vec<Vec<f32>>,
    },
    /// Takes the vectors of a document out, whatever model made them.
    DeleteVectors {
        /// The document.
        doc: String,
    },
}

macro_rules! families {
    ($($(#[$meta:meta])* $variant:ident = $word:literal),+ $(,)?) => {
        /// A family of small bookkeeping records, whose bytes the engine owns.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Family { $($(#[$meta])* $variant),+ }

        impl Family {
            /// Every family.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word it is kept under.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }
    };
}

families! {
    /// Commits that were answered, so that the same one again changes nothing.
    Receipt = "receipt",
    /// How far a session file was read.
    Cursor = "cursor",
    /// What was injected into which session.
    Shown = "shown",
    /// What was forgotten and must not come back.
    Tombstone = "tombstone",
    /// Settings changed at run time.
    Setting = "setting",
    /// The text of an injection, so that it is never learned from.
    Injection = "injection",
    /// How far a long job got.
    Checkpoint = "checkpoint",
    /// What a session yielded and no dream has decided on yet.
    Candidates = "candidates",
    /// Run-end jobs that wait or run.
    Job = "job",
    /// How the last job of a session ended.
    Outcome = "outcome",
    /// Tasks of a project.
    Task = "task",
    /// Counters, such as model calls a day.
    Counter = "counter",
    /// What the model made of the raw history of a session.
    Vectors = "vectors",
    /// What the engine keeps beside these.
    Other = "other",
}

/// The key of a bookkeeping record that belongs to a session and goes when the session is deleted.
pub fn session_aux_key(session: &SessionKey, rest: &str) -> String {
    format!("{}\0{}\0{rest}", session.session, session.harness)
}

/// The key, in [`Family::Other`], of the record that tells which text a memory's vectors were made of. It goes when
/// the memory is deleted.
pub fn vector_source_key(id: &MemoryId) -> String {
    format!("vector:{id}")
}

/// The key, in [`Family::Other`], of what a memory that was read from another program's file said beyond what a memory
/// holds. It goes when the memory is deleted.
pub fn foreign_key(id: &MemoryId) -> String {
    format!("foreign:{id}")
}

/// A change as a follower hears of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedChange {
    /// The sequence number of its set; changes of one set share it.
    pub seq: u64,
    /// Whose.
    pub owner: OwnerId,
    /// What.
    pub what: Changed,
}

/// What a follower has to look at again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    /// A memory was written.
    Memory(MemoryId),
    /// A memory was deleted.
    MemoryGone(MemoryId),
    /// A session was written.
    Session(SessionKey),
    /// A session was deleted with its events.
    SessionGone(SessionKey),
    /// Events were appended.
    Events {
        /// The session.
        session: SessionKey,
        /// The first ordinal.
        first: u64,
        /// How many.
        count: u64,
    },
    /// An event has another text.
    EventReplaced {
        /// The session.
        session: SessionKey,
        /// Which event.
        ordinal: u64,
    },
    /// A project was written.
    Project(ProjectId),
    /// A project was deleted.
    ProjectGone(ProjectId),
    /// A dream was written or deleted.
    Dream(DreamId),
    /// The vectors of a document were written or deleted.
    Vectors {
        /// The document.
        doc: String,
    },
    /// Something nobody indexes: work states, bookkeeping.
    Other,
}
