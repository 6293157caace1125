//! The one thread that writes: it takes what waits, applies it in one transaction, syncs once and answers everybody.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use redb::{CompactionError, Database};

use crate::error::{ApplyError, CompactError, OpenError};
use crate::medium::open_database;
use crate::prepare::Prepared;
use crate::quarantine::guarded;
use crate::store::{Applied, Shared, lock};
use crate::tables::{self, META_OLDEST, META_SEQ, Tables};
use crate::write::{Conflict, Tally, apply_set, finish_batch};

/// Bytes of change sets that share a transaction at most, so that nobody waits for a stranger's large import.
const BATCH_BYTES: usize = 16 << 20;
/// Log entries that one transaction drops at most.
const PRUNE_STEP: u64 = 8192;
/// How long what was applied [`Store::apply_soon`](crate::Store::apply_soon) may be lost to a crash.
const SOON: Duration = Duration::from_secs(1);

type Answer = Result<Applied, ApplyError>;

/// What the writer is asked for.
pub(crate) enum Command {
    /// Apply this set and answer when it is durable, or, for one that may come later, when it can be read.
    Apply(Box<Prepared>, When, SyncSender<Answer>),
    /// Drop the log entries below a number.
    Prune(u64, SyncSender<Result<(), ApplyError>>),
    /// Give unused space back.
    Compact(SyncSender<Result<bool, CompactError>>),
}

/// When a set must be durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// Before it is answered.
    Now,
    /// Within [`SOON`], or with the next set that must be durable now.
    Soon,
}

struct Waiting {
    set: Box<Prepared>,
    when: When,
    reply: SyncSender<Answer>,
}

/// The writer's side of a store.
pub(crate) struct Writer {
    shared: Arc<Shared>,
    commands: Receiver<Command>,
    /// A write failed: redb refuses everything until the database is opened again.
    broken: bool,
    /// How many sets the last batch had, and how long it took.
    last: (usize, Duration),
    /// Since when something that was applied is not durable.
    unsynced: Option<Instant>,
}

impl Writer {
    pub(crate) fn new(shared: Arc<Shared>, commands: Receiver<Command>) -> Self {
        Self { shared, commands, broken: false, last: (1, Duration::ZERO), unsynced: None }
    }

    /// Works until every sender is gone and the queue is empty, then closes the database.
    pub(crate) fn run(mut self) {
        let mut next = self.next();
        while let Some(command) = next.take() {
            match command {
                Command::Apply(set, when, reply) => {
                    let (batch, other) = self.gather(Waiting { set, when, reply });
                    let (sets, start) = (batch.len(), Instant::now());
                    self.write(batch);
                    self.last = (sets, start.elapsed());
                    next = other;
                }
                Command::Prune(below, reply) => drop(reply.send(self.prune(below))),
                Command::Compact(reply) => drop(reply.send(self.compact())),
            }
            next = next.or_else(|| self.next());
        }
        self.sync();
        self.shared.closed.store(true, Ordering::Release);
        close(&mut self.shared.db.write().unwrap_or_else(PoisonError::into_inner));
        // Under the lock, or a waiter that has just looked would sleep through it.
        let _seq = lock(&self.shared.seq);
        self.shared.moved.notify_all();
    }

    /// The next command; while it waits for one, what is not durable yet becomes so in time.
    fn next(&mut self) -> Option<Command> {
        loop {
            let Some(since) = self.unsynced else { return self.commands.recv().ok() };
            match self.commands.recv_timeout((since + SOON).saturating_duration_since(Instant::now())) {
                Ok(command) => return Some(command),
                Err(RecvTimeoutError::Timeout) => self.sync(),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// Makes durable what is not yet. What cannot be kept is told where the next write is refused.
    fn sync(&mut self) {
        if self.unsynced.take().is_some() {
            let _ = self.transact(0, |shared, db| {
                let mut txn = db.begin_write()?;
                txn.set_durability(shared.options.durability()).map_err(redb::Error::from)?;
                txn.set_quick_repair(true);
                txn.commit()?;
                Ok(())
            });
        }
    }

    /// Takes what waits, up to the bounds of a batch, and the first command that is no change set. Those who were
    /// answered a moment ago often come again: for as many as the last batch had it waits a small part of the time
    /// that batch took, so that they share one sync instead of every second one. A lone writer never waits.
    fn gather(&self, first: Waiting) -> (Vec<Waiting>, Option<Command>) {
        let until = Instant::now() + self.last.1 / 8;
        let mut bytes = first.set.bytes;
        let mut batch = vec![first];
        while batch.len() < self.shared.options.batch && bytes < BATCH_BYTES {
            let patience =
                if batch.len() < self.last.0 { until.duration_since(Instant::now()) } else { Duration::ZERO };
            match self.commands.recv_timeout(patience) {
                Ok(Command::Apply(set, when, reply)) => {
                    bytes += set.bytes;
                    batch.push(Waiting { set, when, reply });
                }
                Ok(other) => return (batch, Some(other)),
                Err(_) => break,
            }
        }
        (batch, None)
    }

    /// Writes a batch and answers it. A page that one set cannot read fails that set alone.
    fn write(&mut self, batch: Vec<Waiting>) {
        match self.commit(&batch) {
            Ok(outcomes) => {
                for (waiting, outcome) in batch.into_iter().zip(outcomes) {
                    drop(waiting.reply.send(outcome));
                }
            }
            Err(ApplyError::Damaged(_)) if batch.len() > 1 => {
                for waiting in batch {
                    self.write(vec![waiting]);
                }
            }
            Err(error) => {
                for waiting in batch {
                    drop(waiting.reply.send(Err(error.clone())));
                }
            }
        }
    }

    /// One transaction: an answer for each set, or the reason why nothing was kept.
    fn commit(&mut self, batch: &[Waiting]) -> Result<Vec<Answer>, ApplyError> {
        let bytes = batch.iter().map(|waiting| waiting.set.bytes as u64).sum();
        let is_due = self.unsynced.is_some_and(|since| since.elapsed() >= SOON);
        let when = match batch.iter().all(|waiting| waiting.when == When::Soon) {
            true if !is_due => When::Soon,
            _ => When::Now,
        };
        let (outcomes, seq) = self.transact(bytes, |shared, db| apply_batch(shared, db, batch, when))?;
        match when {
            // One that wrote nothing synced nothing.
            When::Now if seq.is_some() => self.unsynced = None,
            When::Soon if seq.is_some() => self.unsynced = self.unsynced.or_else(|| Some(Instant::now())),
            _ => {}
        }
        if let Some(seq) = seq {
            *lock(&self.shared.seq) = seq;
            self.shared.moved.notify_all();
        }
        Ok(outcomes)
    }

    /// Makes sure that there is room and that redb takes writes.
    fn ready(&mut self, bytes: u64) -> Result<(), ApplyError> {
        if let Some(path) = &self.shared.path
            && let Ok(disk) = rustix::fs::statvfs(path)
            && disk.f_bavail.saturating_mul(disk.f_frsize)
                < self.shared.options.min_free_bytes.saturating_add(bytes)
        {
            return Err(ApplyError::StorageFull);
        }
        if self.broken || self.shared.db.read().unwrap_or_else(PoisonError::into_inner).is_none() {
            // A disk that still refuses must not cost the readers the database they have.
            self.shared.medium.probe(bytes).map_err(|error| ApplyError::from(redb::Error::Io(error)))?;
            self.reopen().map_err(|error| match error {
                OpenError::Storage(error) => ApplyError::from(error),
                other => ApplyError::Damaged(other.to_string()),
            })?;
            self.broken = false;
        }
        Ok(())
    }

    /// Closes and opens the database. Snapshots end; new ones see what is durable.
    fn reopen(&self) -> Result<(), OpenError> {
        let mut slot = self.shared.db.write().unwrap_or_else(PoisonError::into_inner);
        close(&mut slot);
        let (db, seq) = open_database(&*self.shared.medium, self.shared.options.cache_bytes)?;
        *slot = Some(db);
        // A number that was given out is never given to anything else, even when what it named is lost.
        let mut known = lock(&self.shared.seq);
        *known = seq.max(*known);
        drop(known);
        self.shared.moved.notify_all();
        tracing::info!(seq, "the store was reopened after a failed write");
        Ok(())
    }

    /// Runs one transaction and notes whether writing works. After a failure the next one reopens the database.
    fn transact<T>(
        &mut self,
        bytes: u64,
        work: impl FnOnce(&Shared, &Database) -> Result<T, ApplyError>,
    ) -> Result<T, ApplyError> {
        let done = self.ready(bytes).and_then(|()| {
            let db = self.shared.db.read().unwrap_or_else(PoisonError::into_inner);
            let db = db.as_ref().ok_or(ApplyError::Closed)?;
            let done = guarded(ApplyError::Damaged, || work(&self.shared, db));
            self.broken = done.is_err();
            done
        });
        let trouble = done.as_ref().err().map(ToString::to_string);
        if let Some(why) = &trouble {
            tracing::warn!(why, "the store could not be written");
        }
        *lock(&self.shared.trouble) = trouble;
        done
    }

    fn prune(&mut self, below: u64) -> Result<(), ApplyError> {
        while !self.transact(0, |shared, db| prune_step(shared, db, below))? {}
        Ok(())
    }

    fn compact(&mut self) -> Result<bool, CompactError> {
        self.sync();
        self.ready(0).map_err(CompactError::Failed)?;
        let mut slot = self.shared.db.write().unwrap_or_else(PoisonError::into_inner);
        let db = slot.as_mut().ok_or(CompactError::Failed(ApplyError::Closed))?;
        let broke = |what| CompactError::Failed(ApplyError::Damaged(what));
        let done = guarded(broke, || {
            db.compact().map_err(|error| match error {
                CompactionError::Storage(error) => CompactError::Failed(error.into()),
                _ => CompactError::Busy,
            })
        });
        self.broken = matches!(done, Err(CompactError::Failed(_)));
        done
    }
}

/// Closes the database, if it is open. redb may panic while it closes a damaged one, which changes nothing.
fn close(slot: &mut Option<Database>) {
    let take = || {
        drop(slot.take());
        Ok(())
    };
    if guarded(|what| what, take).is_err() {
        tracing::error!("the damaged store was not closed cleanly");
    }
}

/// Applies the sets in order in one transaction. Answers what became of each and, if anything was written, the last
/// sequence number. Conflicts are answered with the rest, when what they conflicted with is durable.
fn apply_batch(
    shared: &Shared,
    db: &Database,
    batch: &[Waiting],
    when: When,
) -> Result<(Vec<Answer>, Option<u64>), ApplyError> {
    let mut txn = db.begin_write()?;
    match when {
        When::Now => {
            txn.set_durability(shared.options.durability()).map_err(redb::Error::from)?;
            txn.set_quick_repair(true);
        }
        When::Soon => txn.set_durability(redb::Durability::None).map_err(redb::Error::from)?,
    }
    let mut outcomes = Vec::with_capacity(batch.len());
    let mut tables = Tables::open(&txn)?;
    let before = tables::number(&tables.meta, META_SEQ)?.max(*lock(&shared.seq));
    let mut seq = before;
    let mut tally = Tally::default();
    for waiting in batch {
        let outcome = apply_set(&mut tables, &mut tally, &waiting.set, seq + 1, &shared.quarantine)?;
        outcomes.push(match outcome {
            Ok(()) => {
                seq += 1;
                Ok(Applied { seq })
            }
            Err(Conflict { subject, expected, actual }) => {
                Err(ApplyError::Conflict { subject, expected, actual })
            }
        });
    }
    if seq == before {
        drop(tables);
        txn.abort()?;
        return Ok((outcomes, None));
    }
    finish_batch(&mut tables, tally)?;
    tables.meta.insert(META_SEQ, seq)?;
    bound_log(&mut tables, seq, shared.options.max_changes)?;
    drop(tables);
    txn.commit()?;
    Ok((outcomes, Some(seq)))
}

/// Keeps the log within its bound, whether or not anybody confirmed: a follower that falls behind rebuilds.
fn bound_log(tables: &mut Tables<'_>, seq: u64, bound: u64) -> Result<(), ApplyError> {
    let oldest = tables::number(&tables.meta, META_OLDEST)?;
    let keep_from = seq.saturating_sub(bound) + 1;
    if oldest < keep_from {
        drop_changes(tables, oldest, keep_from.min(oldest.saturating_add(PRUNE_STEP)))?;
    }
    Ok(())
}

/// Drops some of the log entries below a number; answers whether that was all.
fn prune_step(shared: &Shared, db: &Database, below: u64) -> Result<bool, ApplyError> {
    let mut txn = db.begin_write()?;
    txn.set_durability(shared.options.durability()).map_err(redb::Error::from)?;
    txn.set_quick_repair(true);
    let mut tables = Tables::open(&txn)?;
    let oldest = tables::number(&tables.meta, META_OLDEST)?;
    let below = below.min(tables::number(&tables.meta, META_SEQ)? + 1);
    if oldest >= below {
        drop(tables);
        txn.abort()?;
        return Ok(true);
    }
    let upto = below.min(oldest + PRUNE_STEP);
    drop_changes(&mut tables, oldest, upto)?;
    drop(tables);
    txn.commit()?;
    Ok(upto == below)
}

/// Drops `from..upto` and moves the beginning of the log.
fn drop_changes(tables: &mut Tables<'_>, from: u64, upto: u64) -> Result<(), ApplyError> {
    tables.changes.retain_in(from..upto, |_, _| false)?;
    tables.meta.insert(META_OLDEST, upto)?;
    Ok(())
}
