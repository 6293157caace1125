//! Memories and their indexes.

use redb::StorageError;

use super::Writing;
use crate::change::{Family, Subject, foreign_key, scope_subject, vector_source_key};
use crate::envelope::unseal_json;
use crate::stored::MemoryFacts;
use crate::tables::COUNT_MEMORIES;

impl Writing<'_, '_> {
    pub(super) fn put_memory(
        &mut self,
        id: &str,
        scope: &str,
        topic: Option<&str>,
        hash: &str,
        value: &[u8],
    ) -> Result<(), StorageError> {
        match self.take_memory(id)? {
            Some(old) if old != scope => self.touch(scope_subject(&old)),
            Some(_) => {}
            None => self.count(COUNT_MEMORIES, 1),
        }
        let owner = self.owner;
        self.tables.memories.insert((owner, id), value)?;
        self.tables.memory_scopes.insert((owner, scope, id), ())?;
        if let Some(topic) = topic {
            self.tables.memory_topics.insert((owner, scope, topic, id), ())?;
        }
        if !hash.is_empty() {
            self.tables.memory_hashes.insert((owner, scope, hash, id), ())?;
        }
        self.touch(Subject::Memory(id.into()).key());
        self.touch(scope_subject(scope));
        Ok(())
    }

    pub(super) fn delete_memory(&mut self, id: &str) -> Result<(), StorageError> {
        let Some(scope) = self.take_memory(id)? else { return Ok(()) };
        self.count(COUNT_MEMORIES, -1);
        self.delete_vectors(id)?;
        self.delete_aux(Family::Other, &vector_source_key(&id.into()))?;
        self.delete_aux(Family::Other, &foreign_key(&id.into()))?;
        self.untouch(Subject::Memory(id.into()).key());
        if !scope.is_empty() {
            self.touch(scope_subject(&scope));
        }
        Ok(())
    }

    /// Takes a memory out with its index entries and answers its scope. Of a damaged one the index entries are not
    /// known: they stay, point at nothing, and readers pass over them; its scope is answered as empty.
    fn take_memory(&mut self, id: &str) -> Result<Option<String>, StorageError> {
        let owner = self.owner;
        let facts = match self.tables.memories.remove((owner, id))? {
            None => return Ok(None),
            Some(old) => unseal_json::<MemoryFacts>(old.value()),
        };
        let facts = match facts {
            Ok(facts) => facts,
            Err(damage) => {
                self.quarantine.add("memories", format!("{owner} {id}"), &damage);
                return Ok(Some(String::new()));
            }
        };
        let scope = facts.scope();
        self.tables.memory_scopes.remove((owner, scope.as_str(), id))?;
        if let Some(topic) = facts.topic() {
            self.tables.memory_topics.remove((owner, scope.as_str(), topic, id))?;
        }
        if !facts.hash().is_empty() {
            self.tables.memory_hashes.remove((owner, scope.as_str(), facts.hash(), id))?;
        }
        Ok(Some(scope))
    }
}
