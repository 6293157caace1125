//! What facts are compared with, kept as it was read last: a team's facts hardly change between two commits, and taking
//! a text apart costs more than reading it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use doze_core::duplicate::Parts;
use doze_core::model::{Face, Memory, OwnerId, ProjectId, Scope, Status};
use doze_core::promote::{Fact, text_of};
use doze_store::{Snapshot, Subject};

use super::fellows::Index;
use super::sharing::Queue;
use crate::{EngineError, lock};

/// Texts, spaces and projects remembered at once.
const MAX_TEXTS: usize = 8_192;
const MAX_SPACES: usize = 512;
const MAX_PROJECTS: usize = 16;

/// The facts of a space at one revision.
type Space = (u64, Arc<Vec<Fact>>);

/// What is remembered of all owners.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    texts: Mutex<HashMap<Box<str>, Arc<Parts>>>,
    spaces: Mutex<HashMap<(OwnerId, Scope), Space>>,
    projects: Mutex<HashMap<(OwnerId, ProjectId), Project>>,
}

/// What is kept of a project: the facts of its agents by their words, and what they found that is on its way into it.
#[derive(Debug, Default, Clone)]
struct Project {
    index: Arc<Mutex<Index>>,
    queue: Arc<Queue>,
}

impl Cache {
    /// A text taken apart.
    pub(crate) fn parts(&self, text: &str) -> Arc<Parts> {
        if let Some(known) = lock(&self.texts).get(text) {
            return known.clone();
        }
        let parts = Arc::new(Parts::of(text));
        let mut texts = lock(&self.texts);
        if texts.len() >= MAX_TEXTS {
            halve(&mut texts);
        }
        texts.insert(text.into(), parts.clone());
        parts
    }

    /// Gives back the memory of what can be made again, when nobody has been at work for a while.
    pub(crate) fn rest(&self) {
        *lock(&self.texts) = HashMap::new();
        *lock(&self.spaces) = HashMap::new();
    }

    pub(super) fn fact(&self, memory: Memory) -> Fact {
        let parts = self.parts(text_of(&memory));
        Fact::new(memory, parts)
    }

    /// The office's facts of a space that are in force, or kept apart against one that is.
    pub(super) fn facts(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        scope: &Scope,
    ) -> Result<Arc<Vec<Fact>>, EngineError> {
        let revision = snapshot.revision(owner, &Subject::Scope(scope.clone()))?;
        let key = (owner.clone(), scope.clone());
        if let Some((known, facts)) = lock(&self.spaces).get(&key)
            && *known == revision
        {
            return Ok(facts.clone());
        }
        let memories = snapshot.memories(owner, scope)?.into_iter();
        // What is out of force is compared with nothing, and a folder that was read in may hold a thousand of those.
        let is_known = |memory: &Memory| {
            let is_said = memory.status == Status::Active || memory.contradicts().is_some();
            memory.face == Face::Office && is_said
        };
        let office = memories.filter(is_known);
        let facts = Arc::new(office.map(|memory| self.fact(memory)).collect());
        self.keep(key, revision, Arc::clone(&facts));
        Ok(facts)
    }

    /// Notes what a space holds since the change with this number.
    pub(super) fn keep(&self, key: (OwnerId, Scope), revision: u64, facts: Arc<Vec<Fact>>) {
        let mut spaces = lock(&self.spaces);
        if spaces.len() >= MAX_SPACES && !spaces.contains_key(&key) {
            halve(&mut spaces);
        }
        match spaces.get(&key) {
            Some((known, _)) if *known > revision => {}
            _ => drop(spaces.insert(key, (revision, facts))),
        }
    }

    /// The index of the facts of a project's agents.
    pub(super) fn index(&self, owner: &OwnerId, project: &ProjectId) -> Arc<Mutex<Index>> {
        self.project(owner, project).index
    }

    /// What a project's agents found and share together.
    pub(super) fn queue(&self, owner: &OwnerId, project: &ProjectId) -> Arc<Queue> {
        self.project(owner, project).queue
    }

    fn project(&self, owner: &OwnerId, project: &ProjectId) -> Project {
        let mut projects = lock(&self.projects);
        let key = (owner.clone(), project.clone());
        if projects.len() >= MAX_PROJECTS && !projects.contains_key(&key) {
            // One that somebody is at work in stays: two queues of one project would wait for each other in vain.
            projects.retain(|_, project| Arc::strong_count(&project.queue) > 1);
        }
        projects.entry(key).or_default().clone()
    }
}

/// Makes room: every other entry goes. Which ones does not matter, since what is needed comes back.
fn halve<K, V>(entries: &mut HashMap<K, V>) {
    let mut is_kept = false;
    entries.retain(|_, _| {
        is_kept = !is_kept;
        is_kept
    });
}
