//! What was read of a file before, so that reading it again brings nothing back: what is gone since was dropped, edited or
//! ended here.

use std::collections::BTreeSet;

use doze_core::model::{OwnerId, ProjectId, hex};
use doze_store::{ChangeSet, Family, Snapshot};
use sha2::{Digest, Sha256};

use super::foreign_prefix;
use crate::{EngineError, encoded};

/// Entries of a file that are kept.
const MAX_SEEN: usize = 20_000;

/// Beginnings of the hashes of a file's entries.
#[derive(Debug, Default)]
pub(super) struct Seen(BTreeSet<String>);

impl Seen {
    /// What was read of a file when it was read last.
    pub(super) fn of(
        snapshot: &Snapshot,
        owner: &OwnerId,
        project: &ProjectId,
        place: &str,
    ) -> Result<Self, EngineError> {
        let bytes = snapshot.aux(owner, Family::Other, &key(project, place))?;
        Ok(Self(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()))
    }

    pub(super) fn has(&self, entry: &str) -> bool {
        self.0.contains(&short(entry))
    }

    pub(super) fn insert(&mut self, entry: &str) {
        self.0.insert(short(entry));
    }

    /// With what was read just now: an entry that is in the file no more may come back into it. Of more than are kept
    /// only what was read last.
    pub(super) fn with(mut self, now: Self) -> Self {
        if self.0.len() + now.0.len() > MAX_SEEN {
            return now;
        }
        self.0.extend(now.0);
        self
    }

    /// Keeps it in place of what was kept before.
    pub(super) fn put(
        &self,
        set: ChangeSet,
        project: &ProjectId,
        place: &str,
    ) -> Result<ChangeSet, EngineError> {
        Ok(set.put_aux(Family::Other, key(project, place), encoded(&self.0)?))
    }
}

/// The keys of what was read before in a project begin so.
pub(crate) fn seen_prefix(project: &ProjectId) -> String {
    format!("{}seen\0", foreign_prefix(project))
}

fn key(project: &ProjectId, place: &str) -> String {
    format!("{}{place}", seen_prefix(project))
}

fn short(entry: &str) -> String {
    hex(&Sha256::digest(entry.as_bytes())[..8])
}
