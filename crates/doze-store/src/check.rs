//! A full check: every value of every table, and whether the counts are right.

use std::ops::ControlFlow;

use doze_core::model::{Dream, Memory, Project, Session, WorkState};
use redb::{Key, TableDefinition, TableHandle};

use crate::envelope::{Damage, unseal, unseal_json, unseal_record, unseal_vectors};
use crate::error::ReadError;
use crate::quarantine::Quarantined;
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::stored::{StoredChanges, StoredEvent, StoredPlace};
use crate::tables::{
    ALIASES, AUX, CHANGES, DREAMS, EVENTS, FINGERPRINTS, MEMORIES, PROJECTS, SESSIONS, VECTORS, WORKS,
};

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Values looked at.
    pub values: u64,
    /// Those that cannot be read.
    pub damaged: Vec<Quarantined>,
    /// Tables that could not be walked to their end, with the reason.
    pub broken_tables: Vec<(String, String)>,
    /// Counts that differ from what is there: what, counted, there.
    pub wrong_counts: Vec<(String, u64, u64)>,
}

impl CheckReport {
    /// Whether everything is as it should be.
    pub fn is_clean(&self) -> bool {
        self.damaged.is_empty() && self.broken_tables.is_empty() && self.wrong_counts.is_empty()
    }
}

impl Store {
    /// Reads everything once. Takes as long as reading the whole file; writers go on meanwhile.
    pub fn check(&self) -> Result<CheckReport, ReadError> {
        let snapshot = self.snapshot()?;
        let stats = snapshot.counts()?;
        let mut report = CheckReport::default();
        let memories = report.walk(&snapshot, MEMORIES, |v| unseal_record::<Memory>(v).map(drop))?;
        let sessions = report.walk(&snapshot, SESSIONS, |v| unseal_record::<Session>(v).map(drop))?;
        let projects = report.walk(&snapshot, PROJECTS, |v| unseal_record::<Project>(v).map(drop))?;
        report.walk(&snapshot, EVENTS, |v| unseal_json::<StoredEvent>(v).map(drop))?;
        report.walk(&snapshot, FINGERPRINTS, |v| unseal_json::<StoredPlace>(v).map(drop))?;
        report.walk(&snapshot, ALIASES, |v| unseal(v).map(drop))?;
        report.walk(&snapshot, WORKS, |v| unseal_record::<WorkState>(v).map(drop))?;
        report.walk(&snapshot, DREAMS, |v| unseal_record::<Dream>(v).map(drop))?;
        report.walk(&snapshot, AUX, |v| unseal(v).map(drop))?;
        report.walk(&snapshot, VECTORS, |v| unseal_vectors(v).map(drop))?;
        report.walk(&snapshot, CHANGES, |v| unseal_json::<StoredChanges>(v).map(drop))?;
        report.compare("memories", stats.memories, memories);
        report.compare("sessions", stats.sessions, sessions);
        report.compare("projects", stats.projects, projects);
        Ok(report)
    }
}

impl CheckReport {
    /// Looks at every value of a table; answers how many there are, `None` when the walk broke off.
    fn walk<K: Key + 'static>(
        &mut self,
        snapshot: &Snapshot,
        definition: TableDefinition<K, &'static [u8]>,
        look: impl Fn(&[u8]) -> Result<(), Damage>,
    ) -> Result<Option<u64>, ReadError>
    where
        for<'a> K::SelfType<'a>: Default,
    {
        let mut count = 0;
        let damaged = &mut self.damaged;
        let read = |key: K::SelfType<'_>, value: &[u8]| {
            ControlFlow::Continue(look(value).err().map(|damage| (format!("{key:?}"), damage)))
        };
        let walked = snapshot.scan(definition, Default::default(), read, |bad| {
            count += 1;
            if let Some((key, damage)) = bad {
                snapshot.quarantine.add(definition.name(), key.clone(), &damage);
                let why = damage.to_string();
                damaged.push(Quarantined { table: definition.name().to_owned(), key, why });
            }
            ControlFlow::Continue(())
        });
        self.values += count;
        match walked {
            Ok(()) => Ok(Some(count)),
            Err(ReadError::Damaged(why)) => {
                self.broken_tables.push((definition.name().to_owned(), why));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn compare(&mut self, what: &str, counted: u64, there: Option<u64>) {
        if let Some(there) = there.filter(|there| *there != counted) {
            self.wrong_counts.push((what.to_owned(), counted, there));
        }
    }
}
