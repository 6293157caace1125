//! The embedding thread: it loads the model when it is first needed, answers queries before documents, and lets the
//! model go when nothing came for a while. Without work and without a model it sleeps and wakes up for nothing. While it
//! is switched off what waits stays where it is, and no model is in memory.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::model::{EmbedError, Embedder, ModelId};

/// More queries than this at once are answered with [`QueryEmbedding::Timeout`]: the caller has its words.
const MAX_QUERIES: usize = 64;

/// Loads a model. It runs on the embedding thread. It may give up ([`EmbedError::GivenUp`]) when the service was switched
/// off or stopped before.
pub type Factory = Box<dyn Fn() -> Result<Box<dyn Embedder>, EmbedError> + Send>;
/// Takes the vectors of a document, in the order of its chunks; none when it could not be embedded. It runs on the
/// embedding thread.
pub type Done = Box<dyn Fn(String, Vec<Vec<f32>>) + Send>;

/// How the service behaves.
#[derive(Debug, Clone)]
pub struct EmbedOptions {
    /// The model the factory loads.
    pub id: ModelId,
    /// The model is let go when nothing was embedded for so long.
    pub idle: Duration,
    /// So many documents may wait.
    pub queue: usize,
    /// After a failed load it is not tried again for so long, and after each further one for twice as long.
    pub retry: Duration,
    /// But never for longer than this.
    pub longest_retry: Duration,
    /// Queries wait for a model until it has been loading for so long, and then no more: what takes longer is being
    /// fetched from elsewhere.
    pub soon_loaded: Duration,
}

impl EmbedOptions {
    /// Five minutes until unloading, 256 documents, a minute to an hour between failed loads.
    pub fn new(id: ModelId) -> Self {
        let seconds = Duration::from_secs;
        Self {
            id,
            idle: seconds(300),
            queue: 256,
            retry: seconds(60),
            longest_retry: seconds(3600),
            soon_loaded: Duration::from_millis(500),
        }
    }

    /// How long the model is left alone after so many failures.
    fn pause_after(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(16);
        self.retry.saturating_mul(1 << doublings).min(self.longest_retry)
    }
}

/// What became of a query.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryEmbedding {
    /// Its vector.
    Ready(Vec<f32>),
    /// The model is being loaded; the next query will find it.
    Loading,
    /// It was not its turn in time.
    Timeout,
    /// The model cannot be loaded or failed on it; the reason.
    Failed(String),
    /// Embedding is switched off.
    Off,
}

/// What became of documents handed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Submitted {
    /// They wait for their turn; `done` will be called for each.
    Accepted,
    /// Too many wait already; none was taken. Hand them in again later.
    Full,
    /// Embedding is switched off.
    Off,
}

/// Where the model is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelPhase {
    /// Embedding is switched off.
    Off,
    /// Not in memory; the next need loads it.
    Unloaded,
    /// Being loaded.
    Loading,
    /// In memory.
    Ready,
    /// The last attempt to load it failed.
    Failed,
}

impl ModelPhase {
    /// The word for it on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Unloaded => "unloaded",
            Self::Loading => "loading",
            Self::Ready => "ready",
            Self::Failed => "failed",
        }
    }
}

/// What `status` tells of the model.
#[derive(Debug, Clone)]
pub struct ModelState {
    /// Which model; `None` when embedding is switched off.
    pub id: Option<ModelId>,
    /// Where it is.
    pub state: ModelPhase,
    /// Why it failed; empty otherwise.
    pub reason: String,
    /// Documents that wait.
    pub waiting: usize,
    /// Queries that wait.
    pub queries: usize,
}

struct Query {
    text: String,
    deadline: Instant,
    reply: SyncSender<Result<Vec<f32>, String>>,
}

/// A document with the function that takes its vectors.
struct Document {
    id: String,
    chunks: Vec<String>,
    done: Arc<Mutex<Done>>,
}

struct Lanes {
    queries: VecDeque<Query>,
    documents: VecDeque<Document>,
    /// When a query came last, and when a document was last begun.
    asked_at: Option<Instant>,
    begun_at: Option<Instant>,
    /// The thread has something in its hands.
    busy: bool,
    /// Nothing is embedded while it is switched off.
    on: bool,
    stop: bool,
    phase: ModelPhase,
    reason: String,
    loading_since: Option<Instant>,
    /// When the last load failed, and how many have since one succeeded.
    failed_at: Option<Instant>,
    failures: u32,
}

struct Shared {
    options: EmbedOptions,
    lanes: Mutex<Lanes>,
    /// Something came, or the service stops.
    work: Condvar,
}

/// The embedding thread as others see it.
pub struct EmbedService {
    shared: Option<Arc<Shared>>,
    thread: Option<JoinHandle<()>>,
}

impl EmbedService {
    /// Starts the thread; the model is loaded when it is first needed. A system that gives no thread gets a service
    /// that is off, and a line in the log: search goes on by words.
    pub fn start(factory: Factory, options: EmbedOptions) -> Self {
        let lanes = Lanes {
            queries: VecDeque::new(),
            documents: VecDeque::new(),
            asked_at: None,
            begun_at: None,
            busy: false,
            on: true,
            stop: false,
            phase: ModelPhase::Unloaded,
            reason: String::new(),
            loading_since: None,
            failed_at: None,
            failures: 0,
        };
        let shared = Arc::new(Shared { options, lanes: Mutex::new(lanes), work: Condvar::new() });
        let worker = Worker { shared: Arc::clone(&shared), factory, model: None };
        match std::thread::Builder::new().name("embed".into()).spawn(move || worker.run()) {
            Ok(thread) => Self { shared: Some(shared), thread: Some(thread) },
            Err(error) => {
                tracing::error!(%error, "there is no thread for embedding");
                Self::off()
            }
        }
    }

    /// A service that embeds nothing.
    pub fn off() -> Self {
        Self { shared: None, thread: None }
    }

    /// Switches embedding off or on again. While it is off documents wait, queries are answered that it is off, the model
    /// leaves memory and its failure is forgotten; what is being embedded at this moment is embedded again later.
    pub fn switch(&self, on: bool) {
        let Some(shared) = &self.shared else { return };
        {
            let mut lanes = shared.lanes();
            lanes.on = on;
            if !on {
                // Who asked is told at once.
                lanes.queries.clear();
                lanes.forget_failure();
            }
        }
        shared.work.notify_one();
    }

    /// The vector of a query, waiting for it at most until `deadline` from now.
    pub fn query(&self, text: &str, deadline: Duration) -> QueryEmbedding {
        let Some(shared) = &self.shared else { return QueryEmbedding::Off };
        let (reply, answer) = sync_channel(1);
        {
            let mut lanes = shared.lanes();
            if lanes.is_off() {
                return QueryEmbedding::Off;
            }
            if shared.backoff_left(&lanes).is_some() {
                return QueryEmbedding::Failed(lanes.reason.clone());
            }
            if lanes.loading_since.is_some_and(|since| since.elapsed() > shared.options.soon_loaded) {
                return QueryEmbedding::Loading;
            }
            if lanes.queries.len() >= MAX_QUERIES {
                return QueryEmbedding::Timeout;
            }
            lanes.asked_at = Some(Instant::now());
            lanes.queries.push_back(Query {
                text: text.to_owned(),
                deadline: Instant::now() + deadline,
                reply,
            });
        }
        shared.work.notify_one();
        match answer.recv_timeout(deadline) {
            Ok(Ok(vector)) => QueryEmbedding::Ready(vector),
            Ok(Err(_)) if shared.lanes().is_off() => QueryEmbedding::Off,
            Ok(Err(reason)) => QueryEmbedding::Failed(reason),
            Err(_) => {
                let lanes = shared.lanes();
                match lanes.phase {
                    _ if lanes.is_off() => QueryEmbedding::Off,
                    ModelPhase::Loading => QueryEmbedding::Loading,
                    _ => QueryEmbedding::Timeout,
                }
            }
        }
    }

    /// Hands in documents with their chunks; `done` gets the vectors of each. All or none are taken.
    pub fn submit(&self, docs: Vec<(String, Vec<String>)>, done: Done) -> Submitted {
        let Some(shared) = &self.shared else { return Submitted::Off };
        {
            let mut lanes = shared.lanes();
            if lanes.stop {
                return Submitted::Off;
            }
            // A larger batch than the queue is taken when nothing waits, else it never could be.
            if !lanes.documents.is_empty() && lanes.documents.len() + docs.len() > shared.options.queue {
                return Submitted::Full;
            }
            let done = Arc::new(Mutex::new(done));
            let documents =
                docs.into_iter().map(|(id, chunks)| Document { id, chunks, done: Arc::clone(&done) });
            lanes.documents.extend(documents);
        }
        shared.work.notify_one();
        Submitted::Accepted
    }

    /// Which model it is and where.
    pub fn state(&self) -> ModelState {
        match &self.shared {
            None => {
                ModelState { id: None, state: ModelPhase::Off, reason: String::new(), waiting: 0, queries: 0 }
            }
            Some(shared) => {
                let lanes = shared.lanes();
                ModelState {
                    id: Some(shared.options.id.clone()),
                    state: lanes.phase,
                    reason: lanes.reason.clone(),
                    waiting: lanes.documents.len(),
                    queries: lanes.queries.len(),
                }
            }
        }
    }

    /// Nothing waits and nothing is being embedded.
    pub fn is_idle(&self) -> bool {
        self.shared.as_ref().is_none_or(|shared| {
            let lanes = shared.lanes();
            lanes.queries.is_empty() && lanes.documents.is_empty() && !lanes.busy
        })
    }

    /// Ends the thread after the chunk it is at; what waits is dropped.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for EmbedService {
    fn drop(&mut self) {
        if let Some(shared) = &self.shared {
            shared.lanes().stop = true;
            shared.work.notify_one();
        }
        if let Some(thread) = self.thread.take() {
            // Its panics were caught where they happened; there is nothing to add.
            drop(thread.join());
        }
    }
}

impl Shared {
    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long until a model that could not be loaded is tried again.
    fn backoff_left(&self, lanes: &Lanes) -> Option<Duration> {
        let left = self.options.pause_after(lanes.failures).saturating_sub(lanes.failed_at?.elapsed());
        (!left.is_zero()).then_some(left)
    }
}

impl Lanes {
    /// How long documents still wait because somebody asks: a query that comes while one is embedded waits for its end. Now
    /// and then one is embedded all the same.
    fn asking_for(&self) -> Option<Duration> {
        let left = |since: Option<Instant>, pause: Duration| {
            since.map(|since| pause.saturating_sub(since.elapsed())).filter(|left| !left.is_zero())
        };
        let asking = left(self.asked_at, ASKING)?;
        left(self.begun_at, PATIENCE).map(|patience| patience.min(asking))
    }

    fn is_off(&self) -> bool {
        self.stop || !self.on
    }

    fn forget_failure(&mut self) {
        if self.phase == ModelPhase::Failed {
            self.phase = ModelPhase::Unloaded;
        }
        self.reason.clear();
        self.failed_at = None;
        self.failures = 0;
    }
}

/// How long after a query another one is likely, and after how long a document is begun in spite of that.
const ASKING: Duration = Duration::from_millis(300);
const PATIENCE: Duration = Duration::from_secs(3);

/// What the thread does next.
enum Job {
    Query(Query),
    Document(Document),
    Unload,
    Stop,
}

struct Worker {
    shared: Arc<Shared>,
    factory: Factory,
    model: Option<Box<dyn Embedder>>,
}

impl Worker {
    fn run(mut self) {
        lower_priority();
        loop {
            match self.next() {
                Job::Query(query) => self.answer(query),
                Job::Document(document) => self.embed_document(document),
                Job::Unload => self.unload(),
                Job::Stop => return,
            }
        }
    }

    /// Waits for work: without a model until some comes, with one at most until it has been idle for long enough.
    fn next(&self) -> Job {
        let unload_at = self.model.is_some().then(|| Instant::now() + self.shared.options.idle);
        let mut lanes = self.shared.lanes();
        lanes.busy = false;
        loop {
            if lanes.stop {
                return Job::Stop;
            }
            if !lanes.on {
                if self.model.is_some() {
                    return Job::Unload;
                }
                lanes = self.shared.work.wait(lanes).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            if let Some(query) = lanes.queries.pop_front() {
                lanes.busy = true;
                return Job::Query(query);
            }
            // Documents wait until the model is tried again, so that none stays without its vectors, and while others ask.
            let pause = self.shared.backoff_left(&lanes).max(lanes.asking_for());
            let pause = pause.filter(|_| !lanes.documents.is_empty());
            if pause.is_none()
                && let Some(document) = lanes.documents.pop_front()
            {
                lanes.busy = true;
                lanes.begun_at = Some(Instant::now());
                return Job::Document(document);
            }
            let work = &self.shared.work;
            let unload = unload_at.map(|at| at.saturating_duration_since(Instant::now()));
            let soonest = [unload, pause].into_iter().flatten().min();
            lanes = match soonest {
                None => work.wait(lanes).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) if pause.is_none() => return Job::Unload,
                Some(left) => work.wait_timeout(lanes, left).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
    }

    fn answer(&mut self, query: Query) {
        // Nobody waits any more; but the model that was asked for is loaded for the next one.
        let is_late = Instant::now() >= query.deadline;
        let answer = match self.load() {
            Ok(_) if is_late => return,
            Ok(model) => embed(model, &query.text),
            Err(reason) => Err(reason),
        };
        // An asker who left in the meantime does not need it.
        drop(query.reply.try_send(answer));
    }

    /// Embeds the chunks of a document, answering the queries that come in between.
    fn embed_document(&mut self, document: Document) {
        let mut vectors = Vec::with_capacity(document.chunks.len());
        for chunk in &document.chunks {
            while let Some(query) = self.pop_query() {
                self.answer(query);
            }
            let Ok(model) = self.load() else { return self.put_back(document) };
            match embed(model, chunk) {
                Ok(vector) => vectors.push(vector),
                Err(reason) => {
                    tracing::debug!(doc = document.id, reason, "a document has no vectors");
                    vectors.clear();
                    break;
                }
            }
        }
        // Switched off while the last of it was embedded.
        if self.shared.lanes().is_off() {
            return self.put_back(document);
        }
        let done = document.done.lock().unwrap_or_else(PoisonError::into_inner);
        if catch_unwind(AssertUnwindSafe(|| done(document.id, vectors))).is_err() {
            tracing::error!("the receiver of embeddings failed");
        }
    }

    /// It is the next one again; a service that ends drops it with the others.
    fn put_back(&self, document: Document) {
        self.shared.lanes().documents.push_front(document);
    }

    fn pop_query(&self) -> Option<Query> {
        self.shared.lanes().queries.pop_front()
    }

    /// The model, loaded if need be; the reason why it cannot be.
    fn load(&mut self) -> Result<&mut Box<dyn Embedder>, String> {
        if self.shared.lanes().is_off() {
            return Err(EmbedError::GivenUp.to_string());
        }
        if self.model.is_none() {
            {
                let mut lanes = self.shared.lanes();
                if self.shared.backoff_left(&lanes).is_some() {
                    return Err(lanes.reason.clone());
                }
                lanes.phase = ModelPhase::Loading;
                lanes.loading_since = Some(Instant::now());
            }
            let loaded = catch_unwind(AssertUnwindSafe(&self.factory));
            let mut lanes = self.shared.lanes();
            lanes.loading_since = None;
            let (reason, failures) = match loaded {
                Ok(Ok(model)) => {
                    lanes.phase = ModelPhase::Ready;
                    lanes.reason.clear();
                    lanes.failed_at = None;
                    lanes.failures = 0;
                    self.model = Some(model);
                    return self.model.as_mut().ok_or_else(|| "the model is gone".to_owned());
                }
                // That nobody wanted it is no failure, and speaks neither for nor against the next attempt.
                Ok(Err(error @ EmbedError::GivenUp)) => {
                    lanes.phase = ModelPhase::Unloaded;
                    return Err(error.to_string());
                }
                Ok(Err(error)) => (error.to_string(), lanes.failures + 1),
                Err(_) => ("the model cannot be loaded".to_owned(), lanes.failures + 1),
            };
            tracing::warn!(reason, "the embedding model cannot be loaded");
            lanes.phase = ModelPhase::Failed;
            lanes.reason.clone_from(&reason);
            lanes.failed_at = Some(Instant::now());
            lanes.failures = failures;
            return Err(reason);
        }
        self.model.as_mut().ok_or_else(|| "the model is gone".to_owned())
    }

    fn unload(&mut self) {
        self.model = None;
        self.shared.lanes().phase = ModelPhase::Unloaded;
        give_back_memory();
    }
}

/// The vector of a text, or why there is none. A panic inside the model is one more reason.
fn embed(model: &mut Box<dyn Embedder>, text: &str) -> Result<Vec<f32>, String> {
    match catch_unwind(AssertUnwindSafe(|| model.embed(text))) {
        Ok(embedded) => embedded.map_err(|error| error.to_string()),
        Err(_) => Err("the model failed on this text".to_owned()),
    }
}

/// Puts this thread behind what a person waits for: 5 leaves it a quarter of a busy core, so that a query is still
/// answered in time during a build. Elsewhere than on Linux threads have no nice value.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, 5) {
        tracing::debug!(%error, "the embedding thread keeps its priority");
    }
}

/// Hands memory that was freed back to the system; glibc keeps it otherwise.
fn give_back_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            fn malloc_trim(pad: usize) -> std::ffi::c_int;
        }
        // SAFETY: malloc_trim(3) of glibc takes any number, has no preconditions and is safe to call from any thread.
        unsafe { malloc_trim(0) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn id() -> ModelId {
        ModelId { name: "test".into(), sha256: "0".into(), dim: 1 }
    }

    #[test]
    fn each_failure_doubles_the_pause_up_to_a_bound() {
        let options = EmbedOptions::new(id());
        let pauses = [1, 2, 3, 6, 7, u32::MAX].map(|failures| options.pause_after(failures).as_secs());
        assert_eq!(pauses, [60, 120, 240, 1920, 3600, 3600]);
    }

    #[test]
    fn giving_up_is_no_failure_of_the_model() {
        let loads = AtomicU32::new(0);
        let factory: Factory = Box::new(move || match loads.fetch_add(1, Ordering::SeqCst) {
            0 | 1 => Err(EmbedError::Load { name: "test".into(), reason: "no".into() }),
            _ => Err(EmbedError::GivenUp),
        });
        let options = EmbedOptions { retry: Duration::ZERO, ..EmbedOptions::new(id()) };
        let service = EmbedService::start(factory, options);
        let failures = [(); 4].map(|()| {
            assert!(matches!(service.query("x", Duration::from_secs(20)), QueryEmbedding::Failed(_)));
            service.shared.as_ref().unwrap().lanes().failures
        });
        assert_eq!(failures, [1, 2, 2, 2]);
        assert_eq!(service.state().state, ModelPhase::Unloaded);
    }
}
