//! The facts of a project's agents, by their words: every fact that one finds is compared with those of all its fellows
//! that share most of its words, or of what they mean, and with no other. The index follows the change log, so that a
//! commit costs what has changed since the last one, however many the agents are.

use std::collections::HashMap;

use doze_core::duplicate::{Parts, Relation, SAME_ABOVE, is_alike};
use doze_core::model::{Face, Memory, MemoryId, OwnerId, ProjectId, Scope, Space, Status};
use doze_core::promote::{Fact, text_of};
use doze_store::{Changed, Snapshot};

use super::known::Cache;
use crate::{EngineError, lock};

/// Changes read at once, and changes behind which the index is made anew.
const BATCH: usize = 512;
const MAX_BEHIND: u64 = 5_000;

/// A fact in the index.
#[derive(Debug)]
struct Entry {
    id: MemoryId,
    text: Box<str>,
    /// The hashes of its words and of what they mean, each in order.
    words: [Box<[u64]>; 2],
}

/// The active facts of the agents of a project.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// The change it has come to; 0 before it was made.
    seq: u64,
    entries: Vec<Option<Entry>>,
    free: Vec<usize>,
    places: HashMap<MemoryId, usize>,
    /// Word → the entries that have it, and the same of what words mean.
    by_word: [HashMap<u64, Vec<usize>>; 2],
}

impl Index {
    /// Follows the log up to a snapshot.
    fn catch_up(
        &mut self,
        cache: &Cache,
        snapshot: &Snapshot,
        owner: &OwnerId,
        project: &ProjectId,
    ) -> Result<(), EngineError> {
        let seq = snapshot.seq()?;
        if self.seq >= seq {
            return Ok(());
        }
        if self.seq == 0 || seq - self.seq > MAX_BEHIND || snapshot.oldest_change()? > self.seq + 1 {
            return self.make(cache, snapshot, owner, project, seq);
        }
        loop {
            let changes = snapshot.changes(self.seq, BATCH)?;
            let Some(last) = changes.last().map(|change| change.seq) else { break };
            for change in changes.iter().filter(|change| change.owner == *owner) {
                match &change.what {
                    Changed::Memory(id) => {
                        self.remove(id);
                        self.add(cache, snapshot.memory(owner, id)?, project);
                    }
                    Changed::MemoryGone(id) => self.remove(id),
                    _ => {}
                }
            }
            self.seq = last;
        }
        self.seq = seq;
        Ok(())
    }

    fn make(
        &mut self,
        cache: &Cache,
        snapshot: &Snapshot,
        owner: &OwnerId,
        project: &ProjectId,
        seq: u64,
    ) -> Result<(), EngineError> {
        *self = Self::default();
        for scope in snapshot.scopes(owner)? {
            if scope.space() == Space::Agent && scope.project() == Some(project) {
                for memory in snapshot.memories(owner, &scope)? {
                    self.add(cache, Some(memory), project);
                }
            }
        }
        self.seq = seq;
        Ok(())
    }

    fn add(&mut self, cache: &Cache, memory: Option<Memory>, project: &ProjectId) {
        let Some(memory) = memory.filter(|memory| {
            memory.face == Face::Office
                && memory.status == Status::Active
                && memory.scope.space() == Space::Agent
                && memory.scope.project() == Some(project)
        }) else {
            return;
        };
        let text: Box<str> = text_of(&memory).into();
        let words = hashes(&cache.parts(&text));
        let place = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            self.entries.len() - 1
        });
        for (by_word, words) in self.by_word.iter_mut().zip(&words) {
            for word in words {
                by_word.entry(*word).or_default().push(place);
            }
        }
        self.places.insert(memory.id.clone(), place);
        self.entries[place] = Some(Entry { id: memory.id, text, words });
    }

    fn remove(&mut self, id: &MemoryId) {
        let Some(place) = self.places.remove(id) else { return };
        let Some(entry) = self.entries[place].take() else { return };
        for (by_word, words) in self.by_word.iter_mut().zip(&entry.words) {
            for word in words {
                if let Some(places) = by_word.get_mut(word) {
                    places.retain(|other| *other != place);
                    if places.is_empty() {
                        by_word.remove(word);
                    }
                }
            }
        }
        self.free.push(place);
    }

    /// The facts that have more than [`SAME_ABOVE`] of the words, or of what they mean, in common with a text.
    fn alike(&self, parts: &Parts) -> Vec<&Entry> {
        let wanted = hashes(parts);
        let mut places: Vec<usize> = Vec::new();
        for (kind, words) in wanted.iter().enumerate() {
            places.extend(self.with_rarest(kind, words).filter(|place| {
                self.entries[*place].as_ref().is_some_and(|entry| is_alike(&entry.words[kind], words))
            }));
        }
        places.sort_unstable();
        places.dedup();
        places.into_iter().filter_map(|place| self.entries[place].as_ref()).collect()
    }

    /// The entries that have one of the rarest words. One that has more than [`SAME_ABOVE`] of them lacks fewer than are
    /// looked up here.
    fn with_rarest(&self, kind: usize, words: &[u64]) -> impl Iterator<Item = usize> {
        let least = (words.len() as f64 * SAME_ABOVE).floor() as usize + 1;
        let mut rarest: Vec<&Vec<usize>> = Vec::new();
        let mut unknown = 0;
        for word in words {
            match self.by_word[kind].get(word) {
                Some(places) => rarest.push(places),
                None => unknown += 1,
            }
        }
        rarest.sort_by_key(|places| places.len());
        let lookups = (words.len() + 1).saturating_sub(least + unknown);
        rarest.into_iter().take(lookups).flatten().copied()
    }
}

fn hashes(parts: &Parts) -> [Box<[u64]>; 2] {
    [parts.word_hashes().into(), parts.meaning_hashes().into()]
}

/// The facts of a project's agents but one that say the same as a text, as they stand in a snapshot.
pub(super) fn saying(
    cache: &Cache,
    snapshot: &Snapshot,
    owner: &OwnerId,
    own: &Scope,
    text: &str,
) -> Result<Vec<Fact>, EngineError> {
    let Some(project) = own.project() else { return Ok(Vec::new()) };
    let facts = facts_saying(cache, snapshot, owner, project, text)?.into_iter();
    Ok(facts.filter(|memory| memory.scope != *own).map(|memory| cache.fact(memory)).collect())
}

/// The facts of a project's agents that say the same as a text, as they stand in a snapshot.
pub(crate) fn facts_saying(
    cache: &Cache,
    snapshot: &Snapshot,
    owner: &OwnerId,
    project: &ProjectId,
    text: &str,
) -> Result<Vec<Memory>, EngineError> {
    let parts = cache.parts(text);
    let says_same = |known: &str| cache.parts(known).office_relation_to(&parts) == Relation::Duplicate;
    let ids: Vec<MemoryId> = {
        let index = cache.index(owner, project);
        let mut index = lock(&index);
        index.catch_up(cache, snapshot, owner, project)?;
        let same = index.alike(&parts).into_iter().filter(|entry| says_same(&entry.text));
        same.map(|entry| entry.id.clone()).collect()
    };
    let mut facts = Vec::new();
    for id in ids {
        // The index may have come further than the snapshot.
        facts.extend(snapshot.memory(owner, &id)?.filter(|memory| says_same(text_of(memory))));
    }
    Ok(facts)
}

#[cfg(test)]
mod tests {
    use doze_core::model::{Kind, Source, Verification, content_hash};
    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::*;

    fn fact(id: usize, text: &str) -> Memory {
        Memory {
            id: MemoryId::new(id.to_string()),
            owner: "local:1".into(),
            scope: Scope::Agent { project: Some("p".into()), agent: "a".into() },
            face: Face::Office,
            kind: Kind::Lesson,
            native_kind: None,
            title: String::new(),
            body: text.to_owned(),
            tags: vec![],
            topic_key: None,
            files: vec![],
            confidence: 0.6,
            evidence_count: 1,
            reinforce_count: 1,
            applied_count: 0,
            confirmed_by: vec![],
            pinned: false,
            status: Status::Active,
            superseded_by: None,
            verification: Verification::Rule,
            source: Source::default(),
            contexts: vec![],
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
            last_confirmed_at: Timestamp::UNIX_EPOCH,
            content_hash: content_hash("lesson", "", text),
            file_ref: None,
        }
    }

    proptest! {
        #[test]
        fn the_index_finds_exactly_what_a_look_at_every_fact_finds(
            texts in proptest::collection::vec("(alpha |bravo |run |running |the |before |commit |committing |you ){1,7}", 1..30),
            gone in proptest::collection::vec(0_usize..30, 0..10),
            asked in "(alpha |bravo |execute |run |runs |before |commits |committed |we ){1,7}",
        ) {
            let project = ProjectId::from("p");
            let (mut index, cache) = (Index::default(), Cache::default());
            for (id, text) in texts.iter().enumerate() {
                index.add(&cache, Some(fact(id, text)), &project);
            }
            for id in &gone {
                index.remove(&MemoryId::new(id.to_string()));
            }
            let same = |text: &str| cache.parts(text).office_relation_to(&cache.parts(&asked)) == Relation::Duplicate;
            let mut found: Vec<String> = index.alike(&cache.parts(&asked)).iter().map(|entry| entry.id.to_string()).collect();
            found.retain(|id| same(&texts[id.parse::<usize>().unwrap()]));
            found.sort();
            // Without a word that means anything two texts are not alike.
            let mut expected: Vec<String> = (0..texts.len())
                .filter(|id| !gone.contains(id) && same(&texts[*id]))
                .map(|id| id.to_string())
                .collect();
            expected.sort();
            prop_assert_eq!(found, expected);
        }
    }
}
