//! What dreams did and a person took back: it is not done a second time for the same reasons.

use std::collections::{BTreeMap, BTreeSet};

use doze_core::duplicate::Relation;
use doze_core::model::{Dream, DreamOp, Memory, MemoryId, Scope};
use jiff::Timestamp;

use super::board::Texts;

/// One change of a dream that a person took back.
#[derive(Debug, Clone, PartialEq)]
pub struct TakenBack {
    /// What had been done.
    pub op: DreamOp,
    /// The record as it is since the undo; `None` for one that the dream had made.
    pub before: Option<Memory>,
    /// The record as the change had left it.
    pub after: Memory,
    /// When the person took it back.
    pub at: Timestamp,
}

/// What a person took back of a dream: nothing of one that stands, else all but what the undo left as it was.
pub fn taken_back(dream: &Dream) -> Vec<TakenBack> {
    let Some(at) = dream.undone_at else { return Vec::new() };
    let is_left = |id: &MemoryId| dream.undo_left.iter().any(|left| left.id == *id);
    let mut first: BTreeMap<&MemoryId, Option<&Memory>> = BTreeMap::new();
    let mut taken = Vec::new();
    for change in dream.changes.iter().filter(|change| !is_left(&change.after.id)) {
        let before = *first.entry(&change.after.id).or_insert(change.before.as_ref());
        taken.push(TakenBack { op: change.op, before: before.cloned(), after: change.after.clone(), at });
    }
    taken
}

/// What a person knew of a record's evidence when they took its change back.
struct Known {
    at: Timestamp,
    /// `None` when the journal does not tell: then only what is later counts as new.
    events: Option<BTreeSet<String>>,
}

impl Known {
    /// Whether a record was said again, by a later event or in another session, or rewritten, since.
    fn is_outdated_by(&self, memory: &Memory) -> bool {
        let is_new = |event: &String| self.events.as_ref().is_some_and(|events| !events.contains(event));
        last_word(memory) > self.at || memory.source.events.iter().any(is_new)
    }
}

/// What may not be done again without new evidence.
#[derive(Default)]
pub(super) struct Vetoes {
    /// Of records for which nothing new speaks. That is decided on the records as the plan finds them: what one takes
    /// over from a twin is no news.
    known: BTreeMap<MemoryId, Known>,
    /// Records that merges made one of, each with another one of its group; the last one of a group has none.
    groups: BTreeMap<MemoryId, MemoryId>,
    /// Records that were retired or replaced.
    rested: BTreeSet<MemoryId>,
    /// Agents that were counted among the finders of a shared record.
    finders: BTreeMap<MemoryId, BTreeSet<String>>,
    /// What was shared with a space.
    shared: Vec<(Scope, Texts, Timestamp)>,
    /// What was added to a space, with the events that said it.
    added: Vec<(Scope, Texts, BTreeSet<String>)>,
}

impl Vetoes {
    pub(super) fn of(taken: &[TakenBack], existing: &[Memory]) -> Self {
        let mut vetoes = Self::default();
        for TakenBack { op, before, after, at } in taken {
            if let Some(before) = before {
                vetoes.know(&before.id, *at, Some(&before.source.events));
            }
            match (op, &after.superseded_by, before) {
                (DreamOp::Merge, Some(into), _) => {
                    vetoes.know(into, *at, None);
                    vetoes.join(&after.id, into);
                }
                (DreamOp::Retire | DreamOp::Supersede, _, Some(_)) => {
                    vetoes.rested.insert(after.id.clone());
                }
                (DreamOp::Reinforce, _, Some(before)) => {
                    let added =
                        after.confirmed_by.iter().filter(|agent| !before.confirmed_by.contains(agent));
                    vetoes.finders.entry(after.id.clone()).or_default().extend(added.cloned());
                }
                (DreamOp::Promote, ..) => {
                    vetoes.shared.push((after.scope.clone(), Texts::of(&after.title, &after.body), *at));
                }
                (DreamOp::Add, _, None) => {
                    let events = after.source.events.iter().cloned().collect();
                    vetoes.added.push((after.scope.clone(), Texts::of(&after.title, &after.body), events));
                }
                _ => {}
            }
        }
        for memory in existing {
            if vetoes.known.get(&memory.id).is_some_and(|known| known.is_outdated_by(memory)) {
                vetoes.renew(&memory.id);
            }
        }
        vetoes
    }

    fn know(&mut self, id: &MemoryId, at: Timestamp, events: Option<&[String]>) {
        let known = self.known.entry(id.clone()).or_insert(Known { at, events: None });
        known.at = known.at.max(at);
        if let Some(events) = events {
            known.events.get_or_insert_default().extend(events.iter().cloned());
        }
    }

    fn join(&mut self, a: &MemoryId, b: &MemoryId) {
        let (a, b) = (self.group(a).clone(), self.group(b).clone());
        if a != b {
            self.groups.insert(a, b);
        }
    }

    fn group<'a>(&'a self, mut id: &'a MemoryId) -> &'a MemoryId {
        while let Some(next) = self.groups.get(id) {
            id = next;
        }
        id
    }

    /// A finding speaks for the record anew.
    pub(super) fn renew(&mut self, id: &MemoryId) {
        self.known.remove(id);
    }

    /// Whether these two have to stay two.
    pub(super) fn keeps_apart(&self, a: &Memory, b: &Memory) -> bool {
        self.group(&a.id) == self.group(&b.id)
            && self.known.contains_key(&a.id)
            && self.known.contains_key(&b.id)
    }

    /// Whether a record may not be retired for what is known of it.
    pub(super) fn keeps_awake(&self, memory: &Memory) -> bool {
        self.rested.contains(&memory.id) && self.known.contains_key(&memory.id)
    }

    /// Whether a record may not make way for another one, which was found last at a time.
    pub(super) fn keeps_in_place(&self, memory: &Memory, found_at: Timestamp) -> bool {
        self.keeps_awake(memory) && self.known.get(&memory.id).is_some_and(|known| found_at <= known.at)
    }

    /// Whether a record may not be rewritten for what was found last at a time.
    pub(super) fn keeps_text(&self, id: &MemoryId, found_at: Timestamp) -> bool {
        self.known.get(id).is_some_and(|known| found_at <= known.at)
    }

    /// Whether a record may not be added: a person took back what the same events say.
    pub(super) fn keeps_out(&self, memory: &Memory, texts: &Texts) -> bool {
        self.added.iter().any(|(space, taken, events)| {
            *space == memory.scope
                && memory.source.events.iter().all(|event| events.contains(event))
                && taken.relation_to(texts) == Relation::Duplicate
        })
    }

    /// Whether a fact, last found at a time, may not be shared with a space.
    pub(super) fn keeps_private(&self, scope: &Scope, fact: &Texts, found_at: Timestamp) -> bool {
        self.shared.iter().any(|(space, shared, at)| {
            space == scope && found_at <= *at && shared.relation_to(fact) == Relation::Duplicate
        })
    }

    /// Whether these agents, who found it last at a time, may not be counted among the finders of a shared record.
    pub(super) fn keeps_uncounted(&self, id: &MemoryId, agents: &[String], found_at: Timestamp) -> bool {
        self.finders.get(id).is_some_and(|known| agents.iter().all(|agent| known.contains(agent)))
            && self.known.get(id).is_some_and(|known| found_at <= known.at)
    }
}

/// The last time that a record was found or written.
pub(super) fn last_word(memory: &Memory) -> Timestamp {
    memory.last_confirmed_at.max(memory.updated_at)
}
