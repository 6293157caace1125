//! Applies a prepared change set to the open tables of a write transaction.

mod events;
mod memories;
mod rest;
mod sessions;

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

/// The tables, and on whose behalf and under which number they are written.
pub(crate) struct Writing<'a, 'txn> {
    pub(crate) tables: &'a mut Tables<'txn>,
    pub(crate) owner: &'a str,
    pub(crate) seq: u64,
    pub(crate) quarantine: &'a Quarantine,
}

/// Applies one set under a sequence number, unless an expectation is not met. Only the disk can refuse anything else.
pub(crate) fn apply_set(
    tables: &mut Tables<'_>,
    set: &Prepared,
    seq: u64,
    quarantine: &Quarantine,
) -> Result<Result<(), Conflict>, StorageError> {
    let owner = set.owner.as_str();
    for (subject, key, expected) in &set.expects {
        let actual = tables.revisions.get((owner, key.as_str()))?.map_or(0, |seq| seq.value());
        if actual != *expected {
            return Ok(Err(Conflict { subject: subject.clone(), expected: *expected, actual }));
        }
    }
    let mut writing = Writing { tables, owner, seq, quarantine };
    for op in &set.ops {
        writing.apply(op)?;
    }
    let known = tables.owners.get(owner)?.is_some();
    if !known {
        tables.owners.insert(owner, seq)?;
    }
    tables.changes.insert(seq, set.log.as_slice())?;
    Ok(Ok(()))
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
            Op::PutEvents { key, project, first, events } => self.put_events(key, project, *first, events),
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
    fn touch(&mut self, subject: &str) -> Result<(), StorageError> {
        self.tables.revisions.insert((self.owner, subject), self.seq)?;
        Ok(())
    }

    /// Takes the revision of a deleted subject out: it reads as 0 again, and the table stays as small as the store.
    fn untouch(&mut self, subject: &str) -> Result<(), StorageError> {
        self.tables.revisions.remove((self.owner, subject))?;
        Ok(())
    }

    fn count(&mut self, what: &str, more: bool) -> Result<(), StorageError> {
        let key = (self.owner, what);
        let now = self.tables.counts.get(key)?.map_or(0, |count| count.value());
        let now = if more { now + 1 } else { now.saturating_sub(1) };
        self.tables.counts.insert(key, now)?;
        Ok(())
    }
}
