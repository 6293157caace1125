//! The handle: opening, applying, waiting, closing.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use redb::{Database, ReadableDatabase, StorageBackend};

use crate::change::ChangeSet;
use crate::error::{ApplyError, CompactError, OpenError, ReadError};
use crate::medium::{Elsewhere, Medium, OnDisk, open_database};
use crate::options::Options;
use crate::prepare::prepare;
use crate::quarantine::{Quarantine, Quarantined, guarded_read};
use crate::snapshot::Snapshot;
use crate::writer::{Command, When, Writer};

/// The store of a machine: a cheap handle, shared by cloning. The file closes with the last one, or with
/// [`Store::close`].
#[derive(Clone)]
pub struct Store(Arc<Handle>);

struct Handle {
    shared: Arc<Shared>,
    queue: RwLock<Option<SyncSender<Command>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

/// What the handles, the snapshots and the writer share.
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) path: Option<PathBuf>,
    pub(crate) medium: Box<dyn Medium>,
    /// Only the writer takes it for writing, to reopen, to compact, to close.
    pub(crate) db: RwLock<Option<Database>>,
    pub(crate) seq: Mutex<u64>,
    pub(crate) moved: Condvar,
    pub(crate) closed: AtomicBool,
    /// Why nothing can be written at the moment.
    pub(crate) trouble: Mutex<Option<String>>,
    pub(crate) quarantine: Arc<Quarantine>,
}

/// The answer to a change set that is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Applied {
    /// Its sequence number: what the search index has to reach to know of it.
    pub seq: u64,
}

/// How the store does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Bytes of the file; 0 without one.
    pub file_bytes: u64,
    /// Memories of all owners, whatever their status.
    pub memories: u64,
    /// Sessions of all owners.
    pub sessions: u64,
    /// Projects of all owners.
    pub projects: u64,
    /// The last durable sequence number.
    pub seq: u64,
    /// The first sequence number the change log still holds.
    pub oldest_change: u64,
    /// Why the last write failed, if it did; the next one tries again.
    pub not_writable: Option<String>,
    /// Damaged values met since the store was opened.
    pub quarantined: Vec<Quarantined>,
}

impl Store {
    /// Opens or creates (mode 0600) the file, brings it to the current layout and starts the writer.
    pub fn open(path: &Path, options: Options) -> Result<Self, OpenError> {
        Self::start(Box::new(OnDisk(path.to_owned())), Some(path.to_owned()), options)
    }

    /// Opens a store in something else than a file: for tests that let it fail. A clone must be another handle on the
    /// same bytes: it is what is opened again after a failed write.
    pub fn open_with_backend<B: StorageBackend + Clone>(
        backend: B,
        options: Options,
    ) -> Result<Self, OpenError> {
        Self::start(Box::new(Elsewhere(backend)), None, options)
    }

    fn start(medium: Box<dyn Medium>, path: Option<PathBuf>, options: Options) -> Result<Self, OpenError> {
        let (db, seq) = open_database(&*medium, options.cache_bytes)?;
        let (queue, commands) = sync_channel(options.queue.max(1));
        let shared = Arc::new(Shared {
            options,
            path,
            medium,
            db: RwLock::new(Some(db)),
            seq: Mutex::new(seq),
            moved: Condvar::new(),
            closed: AtomicBool::new(false),
            trouble: Mutex::new(None),
            quarantine: Arc::new(Quarantine::default()),
        });
        let writer = Writer::new(Arc::clone(&shared), commands);
        let writer = std::thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || writer.run())
            .map_err(|source| OpenError::Io { path: PathBuf::from("store-writer"), source })?;
        Ok(Self(Arc::new(Handle {
            shared,
            queue: RwLock::new(Some(queue)),
            writer: Mutex::new(Some(writer)),
        })))
    }

    /// A consistent view of what is applied now. It holds back the space of what is deleted later: keep it short.
    pub fn snapshot(&self) -> Result<Snapshot, ReadError> {
        self.0.shared.snapshot()
    }

    /// Applies a change set whole or not at all, and returns when it is durable. Blocks while the queue is full.
    pub fn apply(&self, set: ChangeSet) -> Result<Applied, ApplyError> {
        self.hand_in(set, When::Now)
    }

    /// Applies a change set whole or not at all, and returns when it can be read: durable within a second, or with the
    /// next set that [`Store::apply`] takes, whichever comes first. For what changes often and may lose its last
    /// second to a crash.
    pub fn apply_soon(&self, set: ChangeSet) -> Result<Applied, ApplyError> {
        self.hand_in(set, When::Soon)
    }

    fn hand_in(&self, set: ChangeSet, when: When) -> Result<Applied, ApplyError> {
        let set = prepare(set, self.0.shared.options.max_set_bytes)?;
        self.ask(|reply| Command::Apply(Box::new(set), when, reply)).unwrap_or(Err(ApplyError::Closed))
    }

    /// The last sequence number that was given out.
    pub fn seq(&self) -> u64 {
        *lock(&self.0.shared.seq)
    }

    /// Waits until something after `after` is applied, the time is up, or the store is closed; answers the last
    /// sequence number that was given out.
    pub fn wait_for_change(&self, after: u64, timeout: Option<Duration>) -> u64 {
        let shared = &self.0.shared;
        let until = timeout.map(|timeout| Instant::now() + timeout);
        let mut seq = lock(&shared.seq);
        while *seq <= after && !shared.closed.load(Ordering::Acquire) {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            seq = match left {
                Some(Duration::ZERO) => break,
                Some(left) => shared.moved.wait_timeout(seq, left).unwrap_or_else(PoisonError::into_inner).0,
                None => shared.moved.wait(seq).unwrap_or_else(PoisonError::into_inner),
            };
        }
        *seq
    }

    /// Drops the log entries below a sequence number every follower has confirmed.
    pub fn prune_changes(&self, below: u64) -> Result<(), ApplyError> {
        self.ask(|reply| Command::Prune(below, reply)).unwrap_or(Err(ApplyError::Closed))
    }

    /// Gives unused space back to the disk; answers whether there was any. Refused while anybody reads.
    pub fn compact(&self) -> Result<bool, CompactError> {
        self.ask(Command::Compact).unwrap_or(Err(CompactError::Failed(ApplyError::Closed)))
    }

    /// How the store does.
    pub fn stats(&self) -> Result<Stats, ReadError> {
        let shared = &self.0.shared;
        let mut stats = self.snapshot()?.counts()?;
        stats.file_bytes = shared.file_bytes();
        stats.not_writable = lock(&shared.trouble).clone();
        stats.quarantined = shared.quarantine.list();
        Ok(stats)
    }

    /// Lets what is queued become durable, then closes the file. Other handles answer that it is closed.
    pub fn close(self) {
        self.0.close();
    }

    /// Sends the writer a command and waits for its answer; `None` when it is gone.
    fn ask<T>(&self, command: impl FnOnce(SyncSender<T>) -> Command) -> Option<T> {
        let queue = self.0.queue.read().unwrap_or_else(PoisonError::into_inner).clone()?;
        let (reply, answer) = sync_channel(1);
        queue.send(command(reply)).ok()?;
        drop(queue);
        answer.recv().ok()
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("path", &self.0.shared.path).field("seq", &self.seq()).finish()
    }
}

impl Handle {
    fn close(&self) {
        self.queue.write().unwrap_or_else(PoisonError::into_inner).take();
        let writer = lock(&self.writer).take();
        if writer.is_some_and(|writer| writer.join().is_err()) {
            tracing::error!("the store's writer had panicked");
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    pub(crate) fn snapshot(&self) -> Result<Snapshot, ReadError> {
        let db = self.db.read().unwrap_or_else(PoisonError::into_inner);
        let db = db.as_ref().ok_or(ReadError::Unavailable)?;
        let txn = guarded_read(|| Ok(db.begin_read()?))?;
        Ok(Snapshot::new(txn, Arc::clone(&self.quarantine)))
    }

    pub(crate) fn file_bytes(&self) -> u64 {
        self.path.as_ref().and_then(|path| fs::metadata(path).ok()).map_or(0, |file| file.len())
    }
}

/// Locks whether or not a thread panicked while it held the lock: what these locks guard is written in one step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
