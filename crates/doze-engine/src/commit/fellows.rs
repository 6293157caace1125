//! The facts of an agent's fellows, kept as they were read last: every fact that one finds is compared with all of theirs,
//! and hardly any of them has changed since.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use doze_core::duplicate::SAME_ABOVE;
use doze_core::model::{Face, Memory, OwnerId, ProjectId, Scope, Space};
use doze_core::promote::text_of;
use doze_core::text::{jaccard, normalise_words};
use doze_store::{Snapshot, Subject};

use crate::{EngineError, lock};

/// Spaces remembered at once; the cache starts over beyond it.
const MAX_SPACES: usize = 512;

/// A fact with its words.
#[derive(Debug)]
struct Fact {
    memory: Memory,
    words: BTreeSet<String>,
}

type Facts = Arc<Vec<Fact>>;

/// The facts of spaces, each with the revision of its space at which they were read.
#[derive(Debug, Default)]
pub(crate) struct Cache(Mutex<HashMap<(OwnerId, Scope), (u64, Facts)>>);

impl Cache {
    fn facts(&self, snapshot: &Snapshot, owner: &OwnerId, scope: Scope) -> Result<Facts, EngineError> {
        let revision = snapshot.revision(owner, &Subject::Scope(scope.clone()))?;
        let key = (owner.clone(), scope);
        if let Some((known, facts)) = lock(&self.0).get(&key)
            && *known == revision
        {
            return Ok(facts.clone());
        }
        let memories = snapshot.memories(owner, &key.1)?.into_iter();
        let facts: Facts = Arc::new(
            memories
                .filter(|memory| memory.face == Face::Office)
                .map(|memory| Fact { words: normalise_words(text_of(&memory)), memory })
                .collect(),
        );
        let mut spaces = lock(&self.0);
        if spaces.len() >= MAX_SPACES {
            spaces.clear();
        }
        spaces.insert(key, (revision, facts.clone()));
        Ok(facts)
    }
}

/// What the other agents of a project know, and what has become of it while facts come in.
pub(super) struct Fellows {
    facts: Vec<Facts>,
    changed: Vec<Memory>,
}

impl Fellows {
    /// The agents' spaces of a project, but for one.
    pub(super) fn of(
        cache: &Cache,
        snapshot: &Snapshot,
        owner: &OwnerId,
        project: Option<&ProjectId>,
        but: &Scope,
    ) -> Result<Self, EngineError> {
        let mut facts = Vec::new();
        for scope in if project.is_some() { snapshot.scopes(owner)? } else { Vec::new() } {
            if scope.space() == Space::Agent && scope.project() == project && scope != *but {
                facts.push(cache.facts(snapshot, owner, scope)?);
            }
        }
        Ok(Self { facts, changed: Vec::new() })
    }

    /// The facts that have so many words in common with a text that they may say the same, as they stand now.
    pub(super) fn alike(&self, text: &str) -> Vec<Memory> {
        let words = normalise_words(text);
        let all = self.facts.iter().flat_map(|facts| facts.iter());
        all.filter(|fact| jaccard(&fact.words, &words) > SAME_ABOVE)
            .map(|fact| {
                let now = self.changed.iter().find(|memory| memory.id == fact.memory.id);
                now.unwrap_or(&fact.memory).clone()
            })
            .collect()
    }

    /// Notes that a fact has changed.
    pub(super) fn change(&mut self, memory: Memory) {
        self.changed.retain(|known| known.id != memory.id);
        self.changed.push(memory);
    }

    /// The facts that have changed.
    pub(super) fn into_changed(self) -> Vec<Memory> {
        self.changed
    }
}
