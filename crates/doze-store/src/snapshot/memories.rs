//! Memories and their vectors.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use doze_core::model::{Memory, MemoryId, OwnerId, Scope, Status};

use super::Snapshot;
use crate::envelope::{Damage, unseal_record, unseal_vectors};
use crate::error::ReadError;
use crate::tables::{MEMORIES, MEMORY_HASHES, MEMORY_SCOPES, MEMORY_TOPICS, VECTORS};

/// Takes one vector: whose, the document, the chunk, the numbers.
pub type EachVector<'a> = &'a mut dyn FnMut(&OwnerId, &str, u32, &[f32]);

impl Snapshot {
    /// A memory.
    pub fn memory(&self, owner: &OwnerId, id: &MemoryId) -> Result<Option<Memory>, ReadError> {
        let own = |memory: &Memory| memory.owner == *owner && memory.id == *id;
        self.record(MEMORIES, (owner.as_str(), id.as_str()), own)
    }

    /// All memories of a scope, whatever their status, in the order of their ids.
    pub fn memories(&self, owner: &OwnerId, scope: &Scope) -> Result<Vec<Memory>, ReadError> {
        self.memory_page(owner, scope, None, usize::MAX)
    }

    /// Some memories of a scope: those with ids after `after`, at most `limit`.
    pub fn memory_page(
        &self,
        owner: &OwnerId,
        scope: &Scope,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<Memory>, ReadError> {
        let key = scope.key();
        let after = after.map_or("", MemoryId::as_str);
        let mut memories = Vec::new();
        let mut failed = None;
        let read = |(o, s, id): (&str, &str, &str), ()| {
            if o == owner.as_str() && s == key {
                ControlFlow::Continue(id.to_owned())
            } else {
                ControlFlow::Break(())
            }
        };
        self.scan(MEMORY_SCOPES, (owner.as_str(), key.as_str(), after), read, |id| {
            if memories.len() >= limit {
                return ControlFlow::Break(());
            }
            if id == after {
                return ControlFlow::Continue(());
            }
            match self.memory(owner, &MemoryId::from(id)) {
                Ok(memory) => memories.extend(memory.filter(|memory| memory.scope == *scope)),
                Err(error) => failed = Some(error),
            }
            if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        failed.map_or(Ok(memories), Err)
    }

    /// At most `limit` of an owner's memories whose ids are wanted, whatever their scope and status. Reads every id, but
    /// only the records that are wanted.
    pub fn memories_with_id(
        &self,
        owner: &OwnerId,
        is_wanted: &dyn Fn(&str) -> bool,
        limit: usize,
    ) -> Result<Vec<Memory>, ReadError> {
        let mut ids = BTreeSet::new();
        let read = |(o, _, id): (&str, &str, &str), ()| {
            if o == owner.as_str() {
                ControlFlow::Continue(is_wanted(id).then(|| MemoryId::from(id)))
            } else {
                ControlFlow::Break(())
            }
        };
        self.scan(MEMORY_SCOPES, (owner.as_str(), "", ""), read, |id| {
            ids.extend(id);
            if ids.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        let memories = ids.iter().map(|id| self.memory(owner, id));
        memories.filter_map(Result::transpose).collect()
    }

    /// The active memory with this topic, the newest if several claim it.
    pub fn memory_by_topic(
        &self,
        owner: &OwnerId,
        scope: &Scope,
        topic: &str,
    ) -> Result<Option<MemoryId>, ReadError> {
        let key = scope.key();
        let mut ids = Vec::new();
        let read = |(o, s, t, id): (&str, &str, &str, &str), ()| {
            let same = o == owner.as_str() && s == key && t == topic;
            if same { ControlFlow::Continue(id.to_owned()) } else { ControlFlow::Break(()) }
        };
        self.scan(MEMORY_TOPICS, (owner.as_str(), key.as_str(), topic, ""), read, |id| {
            ids.push(MemoryId::from(id));
            ControlFlow::Continue(())
        })?;
        for id in ids.into_iter().rev() {
            let holds = |memory: &Memory| {
                memory.scope == *scope
                    && memory.status == Status::Active
                    && memory.topic_key.as_deref() == Some(topic)
            };
            if self.memory(owner, &id)?.as_ref().is_some_and(holds) {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// The memories of a scope with the same words, whatever their status.
    pub fn memories_by_hash(
        &self,
        owner: &OwnerId,
        scope: &Scope,
        content_hash: &str,
    ) -> Result<Vec<MemoryId>, ReadError> {
        let key = scope.key();
        let mut ids = Vec::new();
        let read = |(o, s, h, id): (&str, &str, &str, &str), ()| {
            let same = o == owner.as_str() && s == key && h == content_hash;
            if same { ControlFlow::Continue(id.to_owned()) } else { ControlFlow::Break(()) }
        };
        self.scan(MEMORY_HASHES, (owner.as_str(), key.as_str(), content_hash, ""), read, |id| {
            ids.push(MemoryId::from(id));
            ControlFlow::Continue(())
        })?;
        let mut same = Vec::with_capacity(ids.len());
        for id in ids {
            let holds = |memory: &Memory| memory.scope == *scope && memory.content_hash == content_hash;
            if self.memory(owner, &id)?.as_ref().is_some_and(holds) {
                same.push(id);
            }
        }
        Ok(same)
    }

    /// The scopes in which an owner has memories.
    pub fn scopes(&self, owner: &OwnerId) -> Result<Vec<Scope>, ReadError> {
        let mut keys = BTreeSet::new();
        let mut from = String::new();
        loop {
            let mut found = None;
            let read = |(o, s, _): (&str, &str, &str), ()| {
                if o == owner.as_str() { ControlFlow::Continue(s.to_owned()) } else { ControlFlow::Break(()) }
            };
            self.scan(MEMORY_SCOPES, (owner.as_str(), from.as_str(), ""), read, |scope| {
                found = Some(scope);
                ControlFlow::Break(())
            })?;
            // The smallest key that is greater than all entries of the scope that was found.
            let Some(scope) = found else { break };
            from = format!("{scope}\0");
            keys.insert(scope);
        }
        Ok(keys.iter().filter_map(|key| Scope::from_key(key)).collect())
    }

    /// Every memory of every owner, until `f` breaks: to build an index anew.
    pub fn all_memories(&self, f: &mut dyn FnMut(Memory) -> ControlFlow<()>) -> Result<(), ReadError> {
        let read = |(owner, id): (&str, &str), value: &[u8]| {
            let memory = unseal_record::<Memory>(value).and_then(|memory| {
                let own = memory.owner.as_str() == owner && memory.id.as_str() == id;
                if own { Ok(memory) } else { Err(Damage::Misplaced) }
            });
            ControlFlow::Continue(memory.map_err(|damage| (format!("{:?}", (owner, id)), damage)))
        };
        self.scan(MEMORIES, ("", ""), read, |memory| match memory {
            Ok(memory) => f(memory),
            Err((key, damage)) => {
                self.quarantine.add("memories", key, &damage);
                ControlFlow::Continue(())
            }
        })
    }

    /// The vectors a model made of a document, one per chunk.
    pub fn vectors(
        &self,
        owner: &OwnerId,
        doc: &str,
        model: &str,
    ) -> Result<Option<Vec<Vec<f32>>>, ReadError> {
        let key = (owner.as_str(), doc, model);
        let row = self.decoded(VECTORS, key, format!("{key:?}"), unseal_vectors)?;
        Ok(row.map(|(dim, row)| row.chunks_exact(dim).map(<[f32]>::to_vec).collect()))
    }

    /// Every vector of a model, of every owner: owner, document, chunk, components.
    pub fn all_vectors(&self, model: &str, f: EachVector<'_>) -> Result<(), ReadError> {
        let read = |(owner, doc, by): (&str, &str, &str), value: &[u8]| {
            let wanted = by == model;
            ControlFlow::Continue(wanted.then(|| (owner.to_owned(), doc.to_owned(), unseal_vectors(value))))
        };
        let mut last = OwnerId::new("");
        self.scan(VECTORS, ("", "", ""), read, |row| {
            let Some((owner, doc, vectors)) = row else { return ControlFlow::Continue(()) };
            match vectors {
                Ok((dim, row)) => {
                    if last.as_str() != owner {
                        last = OwnerId::from(owner);
                    }
                    for (chunk, vector) in (0..).zip(row.chunks_exact(dim)) {
                        f(&last, &doc, chunk, vector);
                    }
                }
                Err(damage) => self.quarantine.add("vectors", format!("{:?}", (owner, doc, model)), &damage),
            }
            ControlFlow::Continue(())
        })
    }
}
