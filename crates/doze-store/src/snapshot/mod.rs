//! Reads of one point in time.
//!
//! A value that is damaged reads as absent and goes to the quarantine, so that one bad value never takes the rest
//! with it. Index entries are checked against the record they point to. Everything that touches pages is guarded
//! against the panics redb has for damaged ones.

mod memories;
mod rest;
mod sessions;

use std::ops::ControlFlow;
use std::sync::Arc;

use doze_core::model::OwnerId;
use redb::{Key, ReadOnlyTable, ReadTransaction, TableDefinition, Value};

pub use memories::EachVector;
pub use sessions::{Page, SessionCursor, SessionFilter};

use crate::change::{LoggedChange, Subject};
use crate::envelope::{Damage, unseal_json, unseal_record};
use crate::error::ReadError;
use crate::quarantine::{Quarantine, guarded_read};
use crate::store::Stats;
use crate::stored::{Keep, StoredChanges};
use crate::tables::{
    self, CHANGES, COUNT_MEMORIES, COUNT_PROJECTS, COUNT_SESSIONS, COUNTS, META, META_OLDEST, META_SEQ,
    OWNERS, REVISIONS,
};

/// A consistent view of the store. Cheap to take; while it lives, the space of what is deleted is not reused, and the
/// file is not compacted.
pub struct Snapshot {
    pub(crate) txn: ReadTransaction,
    pub(crate) quarantine: Arc<Quarantine>,
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Snapshot")
    }
}

impl Snapshot {
    pub(crate) fn new(txn: ReadTransaction, quarantine: Arc<Quarantine>) -> Self {
        Self { txn, quarantine }
    }

    /// The sequence number of the last change set this view has.
    pub fn seq(&self) -> Result<u64, ReadError> {
        self.meta(META_SEQ)
    }

    /// The first sequence number the change log still holds. A follower that has confirmed less than the one before
    /// it has missed something and rebuilds.
    pub fn oldest_change(&self) -> Result<u64, ReadError> {
        self.meta(META_OLDEST)
    }

    /// The revision of a subject, for [`crate::ChangeSet::expect`]; 0 when there is nothing.
    pub fn revision(&self, owner: &OwnerId, subject: &Subject) -> Result<u64, ReadError> {
        let key = subject.key();
        let table = self.table(REVISIONS)?;
        guarded_read(|| Ok(table.get((owner.as_str(), key.as_str()))?.map_or(0, |seq| seq.value())))
    }

    /// Everybody who ever wrote anything.
    pub fn owners(&self) -> Result<Vec<OwnerId>, ReadError> {
        let mut owners = Vec::new();
        self.scan(
            OWNERS,
            "",
            |owner, _| ControlFlow::Continue(owner.to_owned()),
            |owner| {
                owners.push(OwnerId::from(owner));
                ControlFlow::Continue(())
            },
        )?;
        Ok(owners)
    }

    /// What changed after a sequence number, oldest first: whole sets, until there are at least `limit` changes.
    /// Compare [`Snapshot::oldest_change`] first. A damaged entry is passed over; [`Snapshot::seq`] still counts it.
    pub fn changes(&self, after: u64, limit: usize) -> Result<Vec<LoggedChange>, ReadError> {
        let mut changes = Vec::new();
        let Some(from) = after.checked_add(1) else { return Ok(changes) };
        let read = |seq: u64, value: &[u8]| ControlFlow::Continue((seq, unseal_json::<StoredChanges>(value)));
        self.scan(CHANGES, from, read, |(seq, entry)| {
            match entry {
                Ok(entry) => changes.extend(entry.into_logged(seq)),
                Err(damage) => self.quarantine.add("changes", seq.to_string(), &damage),
            }
            if changes.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(changes)
    }

    /// The counted part of the statistics.
    pub(crate) fn counts(&self) -> Result<Stats, ReadError> {
        let mut stats = Stats { seq: self.seq()?, oldest_change: self.oldest_change()?, ..Stats::default() };
        let read = |(_, what): (&str, &str), count: u64| ControlFlow::Continue((what.to_owned(), count));
        self.scan(COUNTS, ("", ""), read, |(what, count)| {
            match what.as_str() {
                COUNT_MEMORIES => stats.memories += count,
                COUNT_SESSIONS => stats.sessions += count,
                COUNT_PROJECTS => stats.projects += count,
                _ => {}
            }
            ControlFlow::Continue(())
        })?;
        Ok(stats)
    }

    fn meta(&self, key: &str) -> Result<u64, ReadError> {
        let table = self.table(META)?;
        guarded_read(|| Ok(tables::number(&table, key)?))
    }

    pub(crate) fn table<K: Key + 'static, V: Value + 'static>(
        &self,
        definition: TableDefinition<K, V>,
    ) -> Result<ReadOnlyTable<K, V>, ReadError> {
        guarded_read(|| Ok(self.txn.open_table(definition)?))
    }

    /// Reads a record, checks with `own` that it lies under its own key, and answers absent when it is damaged.
    pub(crate) fn record<K: Key + 'static, T: Keep>(
        &self,
        definition: TableDefinition<K, &'static [u8]>,
        key: K::SelfType<'_>,
        own: impl FnOnce(&T) -> bool,
    ) -> Result<Option<T>, ReadError> {
        let name = format!("{key:?}");
        self.decoded(definition, key, name, |value| {
            let record = unseal_record::<T>(value)?;
            if own(&record) { Ok(record) } else { Err(Damage::Misplaced) }
        })
    }

    /// Reads a value through `decode`; absent when it, or the page it lies on, is damaged.
    pub(crate) fn decoded<K: Key + 'static, T>(
        &self,
        definition: TableDefinition<K, &'static [u8]>,
        key: K::SelfType<'_>,
        name: String,
        decode: impl FnOnce(&[u8]) -> Result<T, Damage>,
    ) -> Result<Option<T>, ReadError> {
        let read = guarded_read(|| {
            let table = self.txn.open_table(definition)?;
            Ok(table.get(key)?.map(|value| decode(value.value())))
        });
        let damage = match read {
            Ok(None) => return Ok(None),
            Ok(Some(Ok(value))) => return Ok(Some(value)),
            Ok(Some(Err(damage))) => damage,
            Err(ReadError::Damaged(what)) => Damage::Page(what),
            Err(error) => return Err(error),
        };
        self.quarantine.add(redb::TableHandle::name(&definition), name, &damage);
        Ok(None)
    }

    /// Walks a table from a key on. `read` takes what it needs out of a row, under guard, or ends the walk; `then`
    /// is called with it outside the guard, so that a panic of the caller stays the caller's.
    pub(crate) fn scan<K: Key + 'static, V: Value + 'static, T>(
        &self,
        definition: TableDefinition<K, V>,
        from: K::SelfType<'_>,
        mut read: impl for<'r> FnMut(K::SelfType<'r>, V::SelfType<'r>) -> ControlFlow<(), T>,
        mut then: impl FnMut(T) -> ControlFlow<()>,
    ) -> Result<(), ReadError> {
        let table = self.table(definition)?;
        let mut rows = guarded_read(|| Ok(table.range::<K::SelfType<'_>>(from..)?))?;
        loop {
            let row = guarded_read(|| match rows.next() {
                None => Ok(ControlFlow::Break(())),
                Some(row) => {
                    let (key, value) = row?;
                    Ok(read(key.value(), value.value()))
                }
            })?;
            match row {
                ControlFlow::Break(()) => return Ok(()),
                ControlFlow::Continue(taken) => {
                    if then(taken).is_break() {
                        return Ok(());
                    }
                }
            }
        }
    }
}
