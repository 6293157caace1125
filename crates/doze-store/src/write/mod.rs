//! Applies a prepared change set to the open tables of a write transaction.

mod events;
mod memories;
mod rest;
mod sessions;

use std::collections::{BTreeMap, BTreeSet};

use redb::{ReadableTable, StorageError};

use crate::change::Subject;
use crate::prepare::{Op, Prepared};
use crate::quarantine::Quarantine;
use crate::tables::Tables;

/// A set whose expectation was not met; nothing of it was written.
#[derive(Debug, Clone)]
pub(crate) struct Conflict {
    pub(crate) subject: Subject,
    pub(crate) expected: u64,
    pub(crate) actual: u64,
}

/// What a batch writes once, at its end, however many of its sets touched it.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Owner, subject → the new revision; `None` takes it out.
    revisions: BTreeMap<(String, String), Option<u64>>,
    /// Owner, what → by how much there is more or less.
    counts: BTreeMap<(String, &'static str), i64>,
    /// Owners that are known by now.
    owners: BTreeSet<String>,
}

/// The tables, and on whose behalf and under which number they are written.
pub(crate) struct Writing<'a, 'txn> {
    pub(crate) tables: &'a mut Tables<'txn>,
    pub(crate) tally: &'a mut Tally,
    pub(crate) owner: &'a str,
    pub(crate) seq: u64,
    pub(crate) quarantine: &'a Quarantine,
}

/// Applies one set under a sequence number, unless an expectation is not met. Only the disk can refuse anything else.
pub(crate) fn apply_set(
    tables: &mut Tables<'_>,
    tally: &mut Tally,
    set: &Prepared,
    seq: u64,
    quarantine: &Quarantine,
) -> Result<Result<(), Conflict>, StorageError> {
    let owner = set.owner.as_str();
    for (subject, key, expected) in &set.expects {
        let actual = match tally.revisions.get(&(owner.to_owned(), key.clone())) {
            Some(pending) => pending.unwrap_or(0),
            None => tables.revisions.get((owner, key.as_str()))?.map_or(0, |seq| seq.value()),
        };
        if actual != *expected {
            return Ok(Err(Conflict { subject: subject.clone(), expected: *expected, actual }));
        }
    }
    if !tally.owners.contains(owner) {
        if tables.owners.get(owner)?.is_none() {
            tables.owners.insert(owner, seq)?;
        }
        tally.owners.insert(owner.to_owned());
    }
    tables.changes.insert(seq, set.log.as_slice())?;
    let mut writing = Writing { tables, tally, owner, seq, quarantine };
    for op in &set.ops {
        writing.apply(op)?;
    }
    Ok(Ok(()))
}

/// Writes what the batch's sets have in common.
pub(crate) fn finish_batch(tables: &mut Tables<'_>, tally: Tally) -> Result<(), StorageError> {
    for ((owner, subject), revision) in tally.revisions {
        let key = (owner.as_str(), subject.as_str());
        match revision {
            Some(seq) => drop(tables.revisions.insert(key, seq)?),
            None => drop(tables.revisions.remove(key)?),
        }
    }
    for ((owner, what), more) in tally.counts {
        let now = tables.counts.get((owner.as_str(), what))?.map_or(0, |count| count.value());
        tables.counts.insert((owner.as_str(), what), now.saturating_add_signed(more))?;
    }
    Ok(())
}

impl Writing<'_, '_> {
    fn apply(&mut self, op: &Op) -> Result<(), StorageError> {
        match op {
            Op::PutMemory { id, scope, topic, hash, value } => {
                self.put_memory(id, scope, topic.as_deref(), hash, value)
            }
            Op::DeleteMemory { id } => self.delete_memory(id),
            Op::PutSession { key, facets, down, value } => self.put_session(key, facets, *down, value),
            Op::DeleteSession { key } => self.delete_session(key),
            Op::PutEvents { key, known_in, first, events } => self.put_events(key, known_in, *first, events),
            Op::ReplaceEvent { key, ordinal, event } => self.replace_event(key, *ordinal, event),
            Op::PutWork { agent, project, session, value } => self.put_work(agent, project, session, value),
            Op::ClearWork { agent, project, session } => self.clear_work(agent, project, session),
            Op::PutProject { id, aliases, value } => self.put_project(id, aliases, value),
            Op::DeleteProject { id } => self.delete_project(id),
            Op::PutDream { id, value } => self.put_dream(id, value),
            Op::DeleteDream { id } => self.delete_dream(id),
            Op::PutAux { family, key, value } => self.put_aux(*family, key, value),
            Op::DeleteAux { family, key } => self.delete_aux(*family, key),
            Op::PutVectors { doc, model, value } => self.put_vectors(doc, model, value),
            Op::DeleteVectors { doc } => self.delete_vectors(doc),
        }
    }

    /// Gives a subject the revision of this set.
    fn touch(&mut self, subject: String) {
        self.tally.revisions.insert((self.owner.to_owned(), subject), Some(self.seq));
    }

    /// Takes the revision of a deleted subject out: it reads as 0 again, and the table stays as small as the store.
    fn untouch(&mut self, subject: String) {
        self.tally.revisions.insert((self.owner.to_owned(), subject), None);
    }

    fn count(&mut self, what: &'static str, more: i64) {
        *self.tally.counts.entry((self.owner.to_owned(), what)).or_default() += more;
    }
}
