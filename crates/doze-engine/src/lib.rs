//! The operations of doze: commit, recall, brief, recover, remember, forget, dream. Wires the rules, the store, the
//! indexes and the transcript readers to a clock.
//!
//! The engine knows no transport: callers hand in typed requests and get typed answers or an [`EngineError`]. It
//! reads files only where a request names them, git data, instruction files (CLAUDE.md, AGENTS.md), and what it wrote
//! into workspaces itself; it writes beside its store and indexes only backups, exports into a folder of their own, into
//! workspaces that were added, and, for a person, a line of an instruction file. Programs and the network are used where the configuration says so, by
//! the rooms below: an extractor is asked, and a model is fetched.

mod asking;
pub mod background;
mod clock;
mod commit;
mod dream;
mod error;
mod files;
mod history;
mod ids;
mod import;
mod index;
mod jobs;
mod machine;
mod memory;
mod names;
mod office;
mod permission;
mod project;
mod recall;
mod status;
mod switches;
mod task;
mod upkeep;
mod work;
mod workspace;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use doze_core::model::{MemoryId, OwnerId, SessionKey, uuid_v7};
use doze_core::rank::Profile;
use doze_store::{ApplyError, ChangeSet, Snapshot, Store};
use jiff::Timestamp;
use serde::Serialize;

pub use asking::{Extractors, Usage, Who};
pub use clock::{Environment, FixedEnvironment, SystemEnvironment};
pub use commit::{
    AppendAnswer, CommitAnswer, CommitRequest, EventCounts, FactCounts, Preview, SessionListRequest,
    SessionName, TranscriptRef,
};
pub use doze_dream::schedule::{Machine, Verdict as DreamVerdict};
pub use doze_dream::{Cron, CronError};
pub use doze_extract::{Api, Key, clear_remains};
pub use doze_search::{FetchedModel, clear_unfinished};
#[cfg(feature = "test-faults")]
pub use dream::breaks;
pub use dream::{DreamRequest, DreamStatus, Schedule, Undone};
pub use error::{EngineError, Problem, chain};
pub use files::read_text;
pub use import::Form as ImportForm;
pub use import::{ImportRequest, Imported};
pub use index::IndexState;
pub use jobs::{NextJob, Queue, Queued, SLOTS};
pub use memory::{
    AddOutcome, Added, EditRequest, EvidenceLine, Forget, Forgotten, ListRequest, MemoryRequest, Page,
    Promoted, StatusFilter, Step, Verdict, Why,
};
pub use office::{Exported, NotedLearning, ProjectRequest};
pub use project::{ProjectCard, Resolved};
pub use recall::{
    BriefRequest, ContextAnswer, ContextRequest, Hit, Reader, RecoverRequest, Recovered, Roster,
    SearchAnswer, SearchRequest, SemanticState, Told,
};
pub use status::{ExtractionStatus, Status};
pub use switches::Silence;
pub use task::{Task, TaskContext, TaskRequest, TaskStatus};
pub use upkeep::{Backup, EventItem, EventPage, Extraction};
pub use work::{WorkRequest, WorkTold};
pub use workspace::Workspace;

/// How often an operation starts over because somebody else changed what it had read.
const CONFLICT_RETRIES: u32 = 256;

/// What the machine tells about itself, read once by the process that owns the engine.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The person's home folder.
    pub home: Option<String>,
    /// Folders for temporary files; they and the folders directly in them are never projects.
    pub temp_roots: Vec<String>,
}

/// The switches of the engine; changed while it runs by [`Engine::set_switches`].
#[derive(Debug, Clone)]
pub struct Switches {
    /// `memory.enabled`: capture, extraction, briefs and injection.
    pub memory_enabled: bool,
    /// `hooks.prompt_search`: memories are searched for each prompt.
    pub prompt_search: bool,
    /// `search.profile`: how a search ranks when its caller names no profile.
    pub profile: Profile,
    /// When and how dreams run.
    pub schedule: Schedule,
    /// The budget of a brief when the caller names none, in tokens.
    pub brief_tokens: usize,
    /// `history.max_bytes`: raw events and summaries beyond this go, the oldest first.
    pub history_max_bytes: u64,
    /// `history.max_age_days`: sessions whose last event is older go; 0 for never.
    pub history_max_age_days: i64,
    /// Who reads runs when they end, and the sessions of sweeps.
    pub extractors: Extractors,
}

impl Default for Switches {
    fn default() -> Self {
        Self {
            memory_enabled: true,
            prompt_search: false,
            profile: Profile::Default,
            schedule: Schedule::default(),
            brief_tokens: 1500,
            history_max_bytes: 2 << 30,
            history_max_age_days: 0,
            extractors: Extractors { dreams: Who::Rules, ..Extractors::default() },
        }
    }
}

/// Where things lie and how large they may grow.
#[derive(Debug, Clone)]
pub struct Options {
    /// The store file.
    pub store: PathBuf,
    /// The folder of the derived indexes.
    pub index: PathBuf,
    /// Page cache of the store, in bytes.
    pub cache_bytes: usize,
    /// Which embedder makes vectors.
    pub embedder: EmbedderChoice,
    /// The model that it uses in place of the built-in one, fetched when it is first needed.
    pub model: Option<FetchedModel>,
    /// The model is unloaded after this long without work.
    pub model_idle: Duration,
    /// The machine.
    pub surroundings: Surroundings,
    /// The switches at start.
    pub switches: Switches,
}

/// Which embedder makes vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EmbedderChoice {
    /// The model inside the product.
    BuiltIn,
    /// The same model through ONNX Runtime, from this library.
    Ort(PathBuf),
    /// Words only.
    Off,
}

/// All operations on one store. Cheap to clone; every clone is the same engine.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    options: Options,
    environment: Arc<dyn Environment>,
    store: Store,
    folders: project::Cache,
    known_facts: commit::KnownFacts,
    newest: recall::NewestCache,
    index: index::Index,
    switches: Mutex<Switches>,
    /// One is dreaming, or takes a dream back.
    dreaming: AtomicBool,
    promoting: Mutex<()>,
    writing_workspaces: Mutex<()>,
    bell: jobs::Bell,
    /// Jobs that a worker of this process has taken.
    held: Mutex<HashSet<(OwnerId, SessionKey)>>,
    started_at: Timestamp,
    /// When a wall-clock schedule was put in force while this process ran: its times before that were not missed.
    clock_since: Mutex<Option<Timestamp>>,
    /// When somebody was at work last. A start is nobody at work.
    activity: Arc<Mutex<Option<Timestamp>>>,
    /// When this process last began a sweep.
    attempted: Mutex<Option<Timestamp>>,
}

impl Engine {
    /// Opens the store and the indexes and starts following the change log.
    pub fn open(options: Options, environment: Arc<dyn Environment>) -> Result<Self, EngineError> {
        let store_options = doze_store::Options { cache_bytes: options.cache_bytes, ..Default::default() };
        let store = Store::open(&options.store, store_options).map_err(|error| {
            EngineError::new(
                Problem::Unavailable,
                format!("cannot open the store {}", options.store.display()),
            )
            .caused_by(error)
        })?;
        Self::on(store, options, environment)
    }

    /// An engine on a store that a test has opened, on a disk that fails.
    #[cfg(feature = "test-faults")]
    pub fn open_on(
        store: Store,
        options: Options,
        environment: Arc<dyn Environment>,
    ) -> Result<Self, EngineError> {
        Self::on(store, options, environment)
    }

    fn on(store: Store, options: Options, environment: Arc<dyn Environment>) -> Result<Self, EngineError> {
        let activity = Arc::<Mutex<Option<Timestamp>>>::default();
        let rests = machine::rests(Arc::clone(&environment), Arc::clone(&activity));
        let index = index::Index::start(&options, store.clone(), Box::new(rests))?;
        let now = environment.now();
        let inner = Inner {
            switches: Mutex::new(options.switches.clone()),
            options,
            environment,
            store,
            folders: project::Cache::default(),
            known_facts: commit::KnownFacts::default(),
            newest: recall::NewestCache::default(),
            index,
            dreaming: AtomicBool::new(false),
            promoting: Mutex::new(()),
            writing_workspaces: Mutex::new(()),
            bell: jobs::Bell::default(),
            held: Mutex::default(),
            started_at: now,
            clock_since: Mutex::default(),
            activity,
            attempted: Mutex::new(None),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Writes what is waiting and stops the threads. Calls after this fail.
    pub fn close(&self) {
        self.stop_asking();
        self.inner.index.stop();
    }

    /// Replaces the switches; running operations finish with the old ones.
    pub fn set_switches(&self, owner: &OwnerId, switches: Switches) {
        self.inner.index.set_embedding(switches.memory_enabled);
        let was_extracting = self.is_extracting();
        let is_other_clock = self.switches().schedule.cron != switches.schedule.cron;
        if is_other_clock {
            *lock(&self.inner.clock_since) = Some(self.now());
        }
        *lock(&self.inner.switches) = switches;
        if was_extracting && !self.is_extracting() {
            self.note_switched_off(owner);
        }
        self.wake_workers();
    }

    fn switches(&self) -> Switches {
        lock(&self.inner.switches).clone()
    }

    fn store(&self) -> &Store {
        &self.inner.store
    }

    /// The clock that everything here is decided by; shifted for trials.
    pub fn now(&self) -> Timestamp {
        self.inner.environment.now()
    }

    fn random(&self) -> [u8; 10] {
        self.inner.environment.random()
    }

    fn new_id(&self) -> String {
        uuid_v7(self.now().as_millisecond().max(0).unsigned_abs(), self.random())
    }

    fn new_memory_id(&self) -> MemoryId {
        MemoryId::new(self.new_id())
    }

    /// Decides on a snapshot and applies, and decides anew when a record that the set expects unchanged has changed
    /// meanwhile. `busy` is what to tell when that never ends.
    fn decide<T>(
        &self,
        busy: &str,
        decide: impl FnMut(&Snapshot) -> Result<(ChangeSet, T), EngineError>,
    ) -> Result<T, EngineError> {
        self.decide_at(busy, decide).map(|(_, answer)| answer)
    }

    /// The same, with the number of the change, or of the last one when nothing was to be written.
    fn decide_at<T>(
        &self,
        busy: &str,
        mut decide: impl FnMut(&Snapshot) -> Result<(ChangeSet, T), EngineError>,
    ) -> Result<(u64, T), EngineError> {
        for _ in 0..CONFLICT_RETRIES {
            let snapshot = self.store().snapshot()?;
            let (set, answer) = decide(&snapshot)?;
            drop(snapshot);
            if set.changes.is_empty() {
                return Ok((self.store().seq(), answer));
            }
            match self.store().apply(set) {
                Ok(applied) => return Ok((applied.seq, answer)),
                Err(ApplyError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(EngineError::new(Problem::Busy, busy).hint("try again"))
    }

    /// Notes that somebody is at work, which keeps dreams away for a while.
    fn note_activity(&self) {
        *lock(&self.inner.activity) = Some(self.now());
    }
}

/// The owner of everything that comes over the socket of this user.
pub fn local_owner(uid: u32) -> OwnerId {
    OwnerId::new(format!("local:{uid}"))
}

/// A bookkeeping record as bytes.
fn encoded<T: Serialize>(value: &T) -> Result<Vec<u8>, EngineError> {
    serde_json::to_vec(value)
        .map_err(|error| EngineError::new(Problem::Internal, "a record cannot be written").caused_by(error))
}

/// Locks a mutex whose data stays valid when a holder panicked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use doze_core::model::{Face, Kind, Memory, Scope, Source, Status, Verification, content_hash};

    use super::*;

    pub(crate) fn memory(id: &str, scope: Scope, kind: Kind, body: &str) -> Memory {
        Memory {
            id: MemoryId::new(id),
            owner: local_owner(1),
            scope,
            face: Face::Office,
            kind,
            native_kind: None,
            content_hash: content_hash(kind.as_str(), body, body),
            title: body.to_owned(),
            body: body.to_owned(),
            tags: Vec::new(),
            topic_key: None,
            files: Vec::new(),
            confidence: 0.6,
            evidence_count: 1,
            reinforce_count: 1,
            applied_count: 0,
            confirmed_by: Vec::new(),
            pinned: false,
            status: Status::Active,
            superseded_by: None,
            verification: Verification::Rule,
            source: Source { agent: None, session: None, task: None, team: None, events: Vec::new() },
            contexts: Vec::new(),
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
            last_confirmed_at: Timestamp::UNIX_EPOCH,
            file_ref: None,
        }
    }
}
