//! The journal of dreams, and undoing one.

use std::collections::{BTreeMap, BTreeSet};

use doze_core::model::{Dream, DreamId, Memory, MemoryId, Origin, OwnerId, Scope, Status, UndoLeft};
use doze_dream::{Standing, Undo, UndoStep, undo};
use doze_store::{ApplyError, ChangeSet, Family, Snapshot, Subject};
use jiff::Timestamp;

use crate::ids::is_whole;
use crate::memory::{FORGOTTEN, Page, patterns_telling};
use crate::{CONFLICT_RETRIES, Engine, EngineError, Problem};

/// What an undo did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// Which dream.
    pub id: DreamId,
    /// When it was taken back; `None` when all of it is left.
    pub undone_at: Option<Timestamp>,
    /// The memories that are as they were.
    pub restored: Vec<MemoryId>,
    /// Those of them that had been confirmed or shown since.
    pub confirmed_since: Vec<MemoryId>,
    /// The memories that stay as they are, and why.
    pub left: Vec<UndoLeft>,
}

impl Engine {
    /// A page of the journal, newest first.
    pub fn dream_log(
        &self,
        owner: &OwnerId,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<Dream>, EngineError> {
        let before = cursor.map(parse_cursor).transpose()?;
        let more = limit.saturating_add(1);
        let mut items = self.store().snapshot()?.dreams_before(owner, before.as_ref(), more)?;
        let has_more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| has_more).map(|last| last.id.to_string());
        Ok(Page { items, next })
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

    /// Takes a dream back, record by record; what changed since is left and told.
    pub fn undo_dream(&self, owner: &OwnerId, id: Option<&DreamId>) -> Result<Undone, EngineError> {
        let Some(_alone) = self.alone() else {
            return Err(EngineError::new(Problem::Busy, "a dream is running").hint("see `doze dream status`"));
        };
        for _ in 0..CONFLICT_RETRIES {
            let dream = self.dream_record(owner, id)?;
            let snapshot = self.store().snapshot()?;
            let (scopes, memories) = touched(&snapshot, owner, &dream)?;
            let forgotten = self.forgotten_of(&snapshot, owner, &dream)?;
            let is_forgotten = |memory: &Memory| forgotten.contains(&memory.id);
            let standing = Standing { memories: &memories, is_forgotten: &is_forgotten };
            let undo = undo(&dream, &standing).map_err(|error| {
                EngineError::refused(error.to_string()).hint("what stands now:  doze list")
            })?;
            let (dream, undone) = noted(dream, &undo, self.now());
            if undone.undone_at.is_none() {
                return Ok(undone);
            }
            let mut set = ChangeSet::new(owner.clone());
            for scope in scopes {
                let subject = Subject::Scope(scope);
                let revision = snapshot.revision(owner, &subject)?;
                set = set.expect(subject, revision);
            }
            // What is taken out of force, and what these steps decide about themselves.
            let (mut ended, mut settled) = (Vec::new(), BTreeSet::new());
            for step in &undo.steps {
                let (id, is_active) = match step {
                    UndoStep::Restore(memory) => (&memory.id, memory.status == Status::Active),
                    UndoStep::Remove(id) => (id, false),
                };
                settled.insert(id.clone());
                ended.extend(memories.get(id).filter(|_| !is_active).cloned());
            }
            for step in undo.steps {
                set = match step {
                    UndoStep::Restore(memory) => set.put_memory(*memory),
                    UndoStep::Remove(id) => set
                        .delete_aux(Family::Counter, crate::recall::shown_key(&id))
                        .delete_aux(Family::Other, crate::memory::copies_key(&id))
                        .delete_memory(id),
                };
            }
            // Theirs are words that are taken back; what is left to tell is found anew.
            for pattern in patterns_telling(&snapshot, &ended)? {
                if !settled.contains(&pattern.id) {
                    set = set.delete_memory(pattern.id);
                }
            }
            drop(snapshot);
            match self.store().apply(set.put_dream(dream)) {
                Ok(_) => {
                    self.write_workspaces(owner);
                    return Ok(undone);
                }
                Err(ApplyError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(EngineError::new(Problem::Busy, "memories kept changing while the dream was undone")
            .hint("try again"))
    }

    /// The records of a dream whose former words were forgotten: in the journal, or by a tombstone.
    fn forgotten_of(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        dream: &Dream,
    ) -> Result<BTreeSet<MemoryId>, EngineError> {
        let mut forgotten = BTreeSet::new();
        for before in dream.changes.iter().filter_map(|change| change.before.as_ref()) {
            if before.body == FORGOTTEN
                || self.is_forgotten(snapshot, owner, before.scope.project(), &before.body, Origin::Agent)?
                || self.is_forgotten(snapshot, owner, before.scope.project(), &before.title, Origin::Agent)?
            {
                forgotten.insert(before.id.clone());
            }
        }
        Ok(forgotten)
    }
}

/// The dream at which the page before ended; it need not be in the journal any more.
fn parse_cursor(cursor: &str) -> Result<DreamId, EngineError> {
    if is_whole(cursor) {
        return Ok(DreamId::new(cursor));
    }
    Err(EngineError::invalid("cursor is not one that a list answered"))
}

/// The spaces that a dream's records were or are in, and every memory in them.
fn touched(
    snapshot: &Snapshot,
    owner: &OwnerId,
    dream: &Dream,
) -> Result<(Vec<Scope>, BTreeMap<MemoryId, Memory>), EngineError> {
    let mut scopes: BTreeMap<String, Scope> = BTreeMap::new();
    for change in &dream.changes {
        let now = snapshot.memory(owner, &change.after.id)?;
        for scope in change.before.iter().chain([&change.after]).chain(&now).map(|memory| &memory.scope) {
            scopes.insert(scope.key(), scope.clone());
        }
    }
    let mut memories = BTreeMap::new();
    for scope in scopes.values() {
        memories
            .extend(snapshot.memories(owner, scope)?.into_iter().map(|memory| (memory.id.clone(), memory)));
    }
    Ok((scopes.into_values().collect(), memories))
}

/// The journal's entry once the steps are taken, and the answer. A dream of which nothing can be taken back is not
/// marked, unless nothing of it ever will be.
fn noted(mut dream: Dream, undo: &Undo, now: Timestamp) -> (Dream, Undone) {
    let is_over = undo.left.iter().all(|left| left.is_final);
    if !undo.steps.is_empty() || (is_over && dream.undone_at.is_none()) {
        dream.undone_at = Some(now);
    }
    dream.undo_left.retain(|left| left.is_final);
    dream.undo_left.extend(undo.left.iter().cloned());
    let restored = undo.steps.iter().map(|step| match step {
        UndoStep::Restore(memory) => memory.id.clone(),
        UndoStep::Remove(id) => id.clone(),
    });
    let undone = Undone {
        id: dream.id.clone(),
        undone_at: dream.undone_at,
        restored: restored.collect(),
        confirmed_since: undo.confirmed_since.clone(),
        left: undo.left.clone(),
    };
    (dream, undone)
}
