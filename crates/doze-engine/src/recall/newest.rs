//! What a brief looks at: the newest memories of each space, kept from one brief to the next, so that one in a project with
//! ten thousand memories costs no more than in a small one.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use doze_core::model::{Memory, MemoryId, OwnerId, Scope, Status};
use doze_core::render::brief::NEWEST;
use doze_store::{Changed, Snapshot, Subject};

use crate::{Engine, EngineError, lock};

/// Spaces that are kept, and changes since the last brief that are followed; after more a space is read anew.
const MAX_SPACES: usize = 32;
const MAX_CHANGES: usize = 2_000;

/// The spaces by owner and key.
#[derive(Debug, Default)]
pub(crate) struct Cache(Mutex<HashMap<(OwnerId, String), Arc<Newest>>>);

/// The newest memories of a space.
#[derive(Debug, Clone)]
pub(crate) struct Newest {
    /// The revision of the space, and the number of the last change that is in here.
    revision: u64,
    seq: u64,
    /// The active ones, the last updated first.
    pub(crate) active: Vec<Memory>,
    /// What was said against one of them and waits for more evidence.
    pub(crate) kept_apart: Vec<Memory>,
    /// No active one is left out.
    is_whole: bool,
}

impl Engine {
    /// The newest memories of a space.
    pub(super) fn newest_of(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        scope: &Scope,
    ) -> Result<Arc<Newest>, EngineError> {
        let key = (owner.clone(), scope.key());
        let (revision, seq) = (snapshot.revision(owner, &Subject::Scope(scope.clone()))?, snapshot.seq()?);
        let known = lock(&self.inner.newest.0).get(&key).cloned();
        if let Some(known) = known.as_ref().filter(|known| known.revision == revision) {
            return Ok(Arc::clone(known));
        }
        let followed = known.map(|known| known.followed(snapshot, owner, scope)).transpose()?.flatten();
        let newest = match followed {
            Some(newest) => newest,
            None => Newest::read(snapshot, owner, scope)?,
        };
        let newest = Arc::new(Newest { revision, seq, ..newest });
        let mut kept = lock(&self.inner.newest.0);
        if kept.len() >= MAX_SPACES && !kept.contains_key(&key) {
            let oldest = kept.iter().min_by_key(|(_, newest)| newest.seq).map(|(key, _)| key.clone());
            oldest.and_then(|key| kept.remove(&key));
        }
        // A brief on an older snapshot takes nobody's newer state away.
        if kept.get(&key).is_none_or(|other| other.seq <= seq) {
            kept.insert(key, Arc::clone(&newest));
        }
        Ok(newest)
    }
}

impl Newest {
    /// Reads a space from end to end.
    fn read(snapshot: &Snapshot, owner: &OwnerId, scope: &Scope) -> Result<Self, EngineError> {
        let mut newest =
            Self { revision: 0, seq: 0, active: Vec::new(), kept_apart: Vec::new(), is_whole: true };
        for memory in snapshot.memories(owner, scope)? {
            if memory.status == Status::Active {
                newest.active.push(memory);
            } else if memory.contradicts().is_some() {
                newest.kept_apart.push(memory);
            }
        }
        newest.active.sort_by(newer_first);
        newest.cut();
        Ok(newest)
    }

    /// Takes in what has changed since; `None` when that cannot be told from here.
    fn followed(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        scope: &Scope,
    ) -> Result<Option<Self>, EngineError> {
        if snapshot.seq()? < self.seq || snapshot.oldest_change()? > self.seq.saturating_add(1) {
            return Ok(None);
        }
        let changes = snapshot.changes(self.seq, MAX_CHANGES)?;
        if changes.len() >= MAX_CHANGES {
            return Ok(None);
        }
        let changed: BTreeSet<MemoryId> = changes
            .into_iter()
            .filter(|change| change.owner == *owner)
            .filter_map(|change| match change.what {
                Changed::Memory(id) | Changed::MemoryGone(id) => Some(id),
                _ => None,
            })
            .collect();
        let last = self.active.last().filter(|_| !self.is_whole);
        let mut next = self.clone();
        next.active.retain(|memory| !changed.contains(&memory.id));
        next.kept_apart.retain(|memory| !changed.contains(&memory.id));
        for id in &changed {
            let Some(memory) = snapshot.memory(owner, id)?.filter(|memory| memory.scope == *scope) else {
                continue;
            };
            if memory.contradicts().is_some() {
                next.kept_apart.push(memory);
            } else if memory.status == Status::Active
                // Behind the last one known stand others that are not known.
                && last.is_none_or(|last| newer_first(&memory, last) != Ordering::Greater)
            {
                let place =
                    next.active.partition_point(|known| newer_first(known, &memory) == Ordering::Less);
                next.active.insert(place, memory);
            }
        }
        next.kept_apart.sort_by(|a, b| a.id.cmp(&b.id));
        next.cut();
        Ok((next.is_whole || next.active.len() == NEWEST).then_some(next))
    }

    fn cut(&mut self) {
        self.is_whole &= self.active.len() <= NEWEST;
        self.active.truncate(NEWEST);
    }
}

/// The order of S1.30.
fn newer_first(a: &Memory, b: &Memory) -> Ordering {
    b.updated_at.cmp(&a.updated_at).then_with(|| b.id.cmp(&a.id))
}
