//! What goes with a memory: its copies, also in other words, its former versions, and the patterns that cite it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::slice;

use doze_core::duplicate::Relation;
use doze_core::model::{Context, Face, Memory, MemoryId, Scope, Space, Status};
use doze_core::promote::text_of;
use doze_core::text;
use doze_store::{ChangeSet, Snapshot, Subject};
use jiff::Timestamp;

use super::{Cause, Gone};
use crate::commit::is_learned_in;
use crate::recall::said_by_person;
use crate::{Engine, EngineError};

impl Engine {
    /// Memories, their former versions, the patterns that cite them, and their copies in the spaces of their project: a
    /// fact that was shared stands twice, one that two faces learned as well, and one that a fellow confirmed stands there
    /// in the fellow's words. Each space is read once, and must be as it was read.
    pub(super) fn with_copies(
        &self,
        snapshot: &Snapshot,
        mut set: ChangeSet,
        memories: &[Memory],
        cause: Cause<'_>,
    ) -> Result<(ChangeSet, Gone), EngineError> {
        let places: HashSet<Scope> = memories.iter().map(|memory| surroundings(&memory.scope)).collect();
        let mut around: Vec<Memory> = Vec::new();
        for scope in snapshot.scopes(&set.owner)? {
            if places.contains(&surroundings(&scope)) {
                around.extend(snapshot.memories(&set.owner, &scope)?);
                set = set.expect_seen(snapshot, Subject::Scope(scope))?;
            }
        }
        let said: HashSet<(Scope, String)> = memories.iter().map(saying).collect();
        let mut ids: BTreeSet<MemoryId> = memories.iter().map(|memory| memory.id.clone()).collect();
        let copies = around.iter().filter(|other| !other.is_protected() && said.contains(&saying(other)));
        ids.extend(copies.map(|copy| copy.id.clone()));
        ids.extend(self.in_other_words(snapshot, &set, memories, &around)?);
        let is_agent = matches!(cause, Cause::Agent);
        let mut of_person = HashSet::new();
        for other in around
            .iter()
            .filter(|other| is_agent && (ids.contains(&other.id) || other.superseded_by.is_some()))
        {
            of_person.extend(said_by_person(snapshot, &set.owner, slice::from_ref(other))?);
        }
        ids.retain(|id| !of_person.contains(id));
        // Former versions, and theirs.
        loop {
            let goes_too = |other: &&Memory| {
                let is_replaced = other.superseded_by.as_ref().is_some_and(|by| ids.contains(by));
                let may_go = match cause {
                    Cause::Agent => !other.is_protected() && !of_person.contains(&other.id),
                    Cause::Person => true,
                    Cause::Sessions(sessions) => sessions.iter().any(|session| is_learned_in(other, session)),
                };
                is_replaced && !other.pinned && may_go
            };
            let former: Vec<MemoryId> =
                around.iter().filter(goes_too).map(|other| other.id.clone()).collect();
            let before = ids.len();
            ids.extend(former);
            if ids.len() == before {
                break;
            }
        }
        let heirs: HashMap<MemoryId, Option<MemoryId>> =
            around.iter().map(|other| (other.id.clone(), other.superseded_by.clone())).collect();
        let mut gone = Gone { by_agent: is_agent, ..Gone::default() };
        for other in around {
            let was_replaced = other.superseded_by.as_ref().is_some_and(|by| ids.contains(by));
            if matches!(cause, Cause::Sessions(_)) && was_replaced && !ids.contains(&other.id) {
                // What another session said holds again, unless something else has replaced it since.
                set = set.put_memory(reinstated(other, &ids, &heirs, self.now()));
                continue;
            }
            let cites_one = other.cited().any(|id| ids.contains(&MemoryId::new(id)));
            if ids.contains(&other.id) {
                gone.add(other);
            } else if cites_one && other.is_protected() {
                // What a person made of a pattern is theirs; it only cites one less.
                let contexts = other.contexts.into_iter();
                let is_left = |cited: &Context| {
                    cited.origin.as_deref().is_none_or(|id| !ids.contains(&MemoryId::new(id)))
                };
                let contexts = contexts.filter(is_left).collect();
                set = set.put_memory(Memory { contexts, ..other });
            } else if cites_one {
                // A later dream says anew what is left of it, so that its words get no tombstone.
                gone.ids.insert(other.id);
            }
        }
        Ok((set, gone))
    }

    /// The facts of the agents of their projects, and what the projects share, that say the same in other words.
    fn in_other_words(
        &self,
        snapshot: &Snapshot,
        set: &ChangeSet,
        memories: &[Memory],
        around: &[Memory],
    ) -> Result<Vec<MemoryId>, EngineError> {
        let cache = &self.inner.known_facts;
        let is_shared = |other: &&Memory| {
            other.scope.space() == Space::Project && other.status == Status::Active && !other.is_protected()
        };
        let shared: Vec<&Memory> = around.iter().filter(is_shared).collect();
        let mut found = Vec::new();
        for memory in memories {
            let Some(project) = memory.scope.project() else { continue };
            let parts = cache.parts(text_of(memory));
            for fact in crate::commit::facts_saying(cache, snapshot, &set.owner, project, text_of(memory))? {
                found.extend((!fact.is_protected()).then_some(fact.id));
            }
            let says_same = |other: &&&Memory| {
                let words = cache.parts(text_of(other));
                // A fact is its agents' whose facts are the same by the office's rule.
                let relation = match other.face {
                    Face::Office => words.office_relation_to(&parts),
                    _ => words.relation_to(&parts),
                };
                other.scope.project() == Some(project) && relation == Relation::Duplicate
            };
            found.extend(shared.iter().filter(says_same).map(|other| other.id.clone()));
        }
        Ok(found)
    }
}

/// A former version without those of its successors that go.
fn reinstated(
    mut memory: Memory,
    gone: &BTreeSet<MemoryId>,
    heirs: &HashMap<MemoryId, Option<MemoryId>>,
    now: Timestamp,
) -> Memory {
    let mut heir = memory.superseded_by.take();
    // A ring of successors would have no end.
    for _ in 0..heirs.len() {
        match heir.as_ref().filter(|id| gone.contains(*id)) {
            Some(id) => heir = heirs.get(id).cloned().flatten(),
            None => break,
        }
    }
    if heir.is_none() && memory.status == Status::Superseded {
        memory.status = Status::Active;
    }
    memory.superseded_by = heir;
    memory.updated_at = now;
    memory
}

/// Where copies of a memory may stand: the spaces of its project, else its own.
fn surroundings(scope: &Scope) -> Scope {
    scope.project().map_or_else(|| scope.clone(), |project| Scope::Project(project.clone()))
}

/// Where a memory stands and what it says, however it begins and ends: one face ends a sentence and another does not. Any
/// other letter or mark may make another thing of it (`C#`, `PATH`).
fn saying(memory: &Memory) -> (Scope, String) {
    let said = text::one_line(text_of(memory));
    let said = said.trim().trim_end_matches(['.', '!', '。']);
    let mut rest = said.chars();
    let first: String = rest.next().into_iter().flat_map(char::to_lowercase).collect();
    (surroundings(&memory.scope), first + rest.as_str())
}
