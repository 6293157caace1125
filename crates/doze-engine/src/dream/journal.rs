//! The journal of dreams, and undoing one.

use doze_core::model::{Dream, DreamId, Memory, MemoryId, OwnerId};
use doze_dream::{UndoError, UndoStep, undo};
use doze_store::{ApplyError, ChangeSet, Subject};
use jiff::Timestamp;

use crate::{CONFLICT_RETRIES, Engine, EngineError, Problem};

/// A dream that was undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// Which one.
    pub id: DreamId,
    /// When.
    pub undone_at: Timestamp,
    /// The memories that are as they were.
    pub restored: Vec<MemoryId>,
}

impl Engine {
    /// The newest dreams, newest first.
    pub fn dreams(&self, owner: &OwnerId, limit: usize) -> Result<Vec<Dream>, EngineError> {
        Ok(self.store().snapshot()?.dreams(owner, limit)?)
    }

    /// One dream, or the last.
    pub fn dream_record(&self, owner: &OwnerId, id: Option<&DreamId>) -> Result<Dream, EngineError> {
        let snapshot = self.store().snapshot()?;
        let dream = match id {
            Some(id) => snapshot.dream(owner, id)?,
            None => snapshot.dreams(owner, 1)?.into_iter().next(),
        };
        dream.ok_or_else(|| match id {
            Some(id) => EngineError::not_found("dream", id).hint("see `doze dream log`"),
            None => EngineError::new(Problem::NotFound, "nothing was dreamt yet").hint("run `doze dream`"),
        })
    }

    /// Takes a dream back, whole or not at all.
    pub fn undo_dream(&self, owner: &OwnerId, id: Option<&DreamId>) -> Result<Undone, EngineError> {
        let Ok(_running) = self.inner.dreaming.try_lock() else {
            return Err(EngineError::new(Problem::Busy, "a dream is running").hint("see `doze dream status`"));
        };
        for _ in 0..CONFLICT_RETRIES {
            let mut dream = self.dream_record(owner, id)?;
            let snapshot = self.store().snapshot()?;
            let current = |id: &MemoryId| -> Option<Memory> { snapshot.memory(owner, id).ok().flatten() };
            let steps = undo(&dream, &current).map_err(refused)?;
            let mut set = ChangeSet::new(owner.clone());
            let mut restored = Vec::new();
            for step in steps {
                let id = match &step {
                    UndoStep::Restore(memory) => memory.id.clone(),
                    UndoStep::Remove(id) => id.clone(),
                };
                if !restored.contains(&id) {
                    let subject = Subject::Memory(id.clone());
                    let revision = snapshot.revision(owner, &subject)?;
                    set = set.expect(subject, revision);
                    restored.push(id);
                }
                set = match step {
                    UndoStep::Restore(memory) => set.put_memory(*memory),
                    UndoStep::Remove(id) => set.delete_memory(id),
                };
            }
            let undone_at = self.now();
            dream.undone_at = Some(undone_at);
            let id = dream.id.clone();
            drop(snapshot);
            match self.store().apply(set.put_dream(dream)) {
                Ok(_) => return Ok(Undone { id, undone_at, restored }),
                Err(ApplyError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(EngineError::new(Problem::Busy, "memories kept changing while the dream was undone")
            .hint("try again"))
    }
}

fn refused(error: UndoError) -> EngineError {
    let hint = match &error {
        UndoError::Changed { id, .. } => format!("see `doze why {id}`"),
        _ => String::new(),
    };
    EngineError::refused(error.to_string()).hint(hint)
}
