//! What the office face keeps of what it finds: reinforce, add, evict, promote (S0.28–S0.36, `R5`–`R7`).

use std::borrow::{Borrow, Cow};
use std::sync::Arc;

use crate::duplicate::{Parts, Relation};
use crate::model::{Memory, MemoryId, Origin, Scope, Status};
use crate::text::jaccard;

/// Facts an agent keeps in a project (S0.4).
pub const AGENT_FACTS: usize = 50;
/// Facts a project shares between its agents (S0.5).
pub const SHARED_FACTS: usize = 20;
/// A fact seen this often is shared (S0.34). A new fact has been seen once.
pub const PROMOTE_AT: u32 = 3;

/// A memory that texts are compared with.
pub trait Comparable {
    /// The memory.
    fn memory(&self) -> &Memory;
    /// Its text taken apart.
    fn parts(&self) -> Cow<'_, Parts>;
}

impl Comparable for Memory {
    fn memory(&self) -> &Memory {
        self
    }

    fn parts(&self) -> Cow<'_, Parts> {
        Cow::Owned(Parts::of(text_of(self)))
    }
}

/// A memory with its text taken apart, for whoever compares with it often.
#[derive(Debug, Clone)]
pub struct Fact {
    /// The memory. Its text stays as it is.
    pub memory: Memory,
    parts: Arc<Parts>,
}

impl Fact {
    /// A memory beside its text, which was taken apart before.
    pub fn new(memory: Memory, parts: Arc<Parts>) -> Self {
        Self { memory, parts }
    }
}

impl Comparable for Fact {
    fn memory(&self) -> &Memory {
        &self.memory
    }

    fn parts(&self) -> Cow<'_, Parts> {
        Cow::Borrowed(self.parts.borrow())
    }
}

/// A fact as it was just found.
#[derive(Debug, Clone, Copy)]
pub struct Sighting<'a> {
    /// Its text.
    pub text: &'a str,
    /// Who said it.
    pub origin: Origin,
}

impl Sighting<'_> {
    /// Whether it counts for a memory that had been shown to the agent. The agent's own words do not: they may be
    /// an echo; neither does text from the web.
    fn is_more_than_echo(self) -> bool {
        matches!(self.origin, Origin::Person | Origin::Tool)
    }
}

/// What becomes of a fact that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FactDecision {
    /// It is known: [`reinforce`] this memory.
    Reinforce(MemoryId),
    /// It is newer about the same thing: add it, and let it supersede this memory.
    Supersede(MemoryId),
    /// It is new: add it. The store was full if one has to go.
    Add {
        /// The memory that makes room.
        evict: Option<MemoryId>,
    },
    /// Nothing changes.
    Skip(Skipped),
}

/// Why a fact changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skipped {
    /// The agent repeats what it was shown, or the text was injected.
    Echo,
    /// It contradicts a memory that only a person may change.
    Protected,
    /// The store is full of memories that only a person may remove.
    Full,
    /// It contradicts what was said after it: a session may be brought long after it was held.
    Older,
}

/// Decides on a fact that was found (S0.28, S0.29). `existing` are the facts of its agent in its project, `shown`
/// tells which of them had been shown to the agent in this session.
pub fn admit<K: Comparable>(
    existing: &[K],
    sighting: Sighting<'_>,
    shown: &dyn Fn(&MemoryId) -> bool,
) -> FactDecision {
    if sighting.origin == Origin::Injected {
        return FactDecision::Skip(Skipped::Echo);
    }
    match closest(existing, &Parts::of(sighting.text)) {
        Some((memory, Relation::Duplicate)) if shown(&memory.id) && !sighting.is_more_than_echo() => {
            FactDecision::Skip(Skipped::Echo)
        }
        Some((memory, Relation::Duplicate)) => FactDecision::Reinforce(memory.id.clone()),
        Some((memory, Relation::Update)) if memory.is_protected() => FactDecision::Skip(Skipped::Protected),
        Some((memory, _)) => FactDecision::Supersede(memory.id.clone()),
        None => make_room(existing, AGENT_FACTS),
    }
}

/// Counts one more sighting (S0.28).
pub fn reinforce(memory: &mut Memory, now: jiff::Timestamp) {
    memory.reinforce_count = memory.reinforce_count.saturating_add(1);
    memory.evidence_count = memory.evidence_count.saturating_add(1);
    memory.last_confirmed_at = memory.last_confirmed_at.max(now);
}

/// What becomes of an agent's fact in its project's shared knowledge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Promotion {
    /// It is not due, it lies in no project, or the project shares it already.
    No,
    /// The project shares it already: [`confirm`] that memory with these agents.
    Confirm {
        /// The shared memory.
        id: MemoryId,
        /// Agents that are not yet among those who confirmed it.
        agents: Vec<String>,
    },
    /// Share it; it supersedes this older shared memory.
    Supersede(MemoryId),
    /// Share it. The shared knowledge was full if one has to go.
    Add {
        /// The memory that makes room.
        evict: Option<MemoryId>,
    },
}

/// Decides whether a fact of an agent is shared with its project (S0.34, S0.36): when it was seen often enough, or
/// when another agent found it on its own. `shared` is the project's shared knowledge.
pub fn promote<K: Comparable>(shared: &[K], fact: &Memory) -> Promotion {
    let in_project = matches!(&fact.scope, Scope::Agent { project: Some(_), .. });
    let due = fact.reinforce_count >= PROMOTE_AT || finders(fact).len() >= 2;
    if !in_project || !due || fact.status != Status::Active {
        return Promotion::No;
    }
    match closest(shared, &Parts::of(text_of(fact))) {
        Some((memory, Relation::Duplicate)) => {
            let agents: Vec<String> =
                finders(fact).into_iter().filter(|agent| !memory.confirmed_by.contains(agent)).collect();
            if agents.is_empty() {
                Promotion::No
            } else {
                Promotion::Confirm { id: memory.id.clone(), agents }
            }
        }
        Some((memory, Relation::Update)) if memory.is_protected() => Promotion::No,
        Some((memory, _)) => Promotion::Supersede(memory.id.clone()),
        None => match make_room(shared, SHARED_FACTS) {
            FactDecision::Add { evict } => Promotion::Add { evict },
            _ => Promotion::No,
        },
    }
}

/// The shared or foreign memory that `agent` has just confirmed by finding the same on its own (S0.35): one that it
/// is not yet among the confirmers of, and that had not been shown to it. `others` are the project's shared facts,
/// or the facts of its other agents.
pub fn cross_confirm<'a, K: Comparable>(
    others: &'a [K],
    agent: &str,
    sighting: Sighting<'_>,
    shown: &dyn Fn(&MemoryId) -> bool,
) -> Option<&'a Memory> {
    if matches!(sighting.origin, Origin::Injected | Origin::Web) {
        return None;
    }
    let (memory, relation) = closest(others, &Parts::of(sighting.text))?;
    let independent = sighting.is_more_than_echo() || !shown(&memory.id);
    let new = !finders(memory).iter().any(|finder| finder == agent);
    (relation == Relation::Duplicate && independent && new).then_some(memory)
}

/// Adds agents to those who found a memory on their own. Answers whether anything changed.
pub fn confirm(memory: &mut Memory, agents: &[String], now: jiff::Timestamp) -> bool {
    let before = memory.confirmed_by.len();
    for agent in agents {
        if !memory.confirmed_by.contains(agent) {
            memory.confirmed_by.push(agent.clone());
        }
    }
    let changed = memory.confirmed_by.len() > before;
    if changed {
        memory.last_confirmed_at = memory.last_confirmed_at.max(now);
    }
    changed
}

/// The agents that found a fact: the one it belongs to, and those that confirmed it.
fn finders(fact: &Memory) -> Vec<String> {
    let owner = fact.scope.agent().map(|agent| agent.as_str().to_owned());
    let source = fact.source.agent.as_ref().map(|agent| agent.id.as_str().to_owned());
    let mut finders: Vec<String> = owner.or(source).into_iter().collect();
    for agent in &fact.confirmed_by {
        if !finders.contains(agent) {
            finders.push(agent.clone());
        }
    }
    finders
}

/// The active memory that says the same, or else the one that a newer text would replace; the most similar of them.
fn closest<'a, K: Comparable>(memories: &'a [K], newer: &Parts) -> Option<(&'a Memory, Relation)> {
    memories
        .iter()
        .filter(|known| known.memory().status == Status::Active)
        .filter_map(|known| {
            let older = known.parts();
            let relation = older.office_relation_to(newer);
            (relation != Relation::Distinct)
                .then(|| (known.memory(), relation, jaccard(older.words(), newer.words())))
        })
        .max_by(|(a, a_relation, a_similarity), (b, b_relation, b_similarity)| {
            let rank = |relation: &Relation| u8::from(*relation == Relation::Duplicate);
            rank(a_relation)
                .cmp(&rank(b_relation))
                .then(a_similarity.total_cmp(b_similarity))
                .then(a.reinforce_count.cmp(&b.reinforce_count))
                .then_with(|| b.id.cmp(&a.id))
        })
        .map(|(memory, relation, _)| (memory, relation))
}

/// The text by which facts are compared: the body, or the title of a memory without one.
pub fn text_of(memory: &Memory) -> &str {
    if memory.body.trim().is_empty() { &memory.title } else { &memory.body }
}

/// Who goes first when a store is full: the least reinforced, of those the one not seen for longest (`R6`). That many agents
/// found it on their own counts as much as that one said it as often. Never one that only a person may change.
fn make_room<K: Comparable>(memories: &[K], cap: usize) -> FactDecision {
    let memories = memories.iter().map(Comparable::memory);
    let active: Vec<&Memory> = memories.filter(|memory| memory.status == Status::Active).collect();
    if active.len() < cap {
        return FactDecision::Add { evict: None };
    }
    let first = active.iter().filter(|memory| !memory.is_protected()).min_by_key(|memory| {
        let finders = u32::try_from(finders(memory).len()).unwrap_or(u32::MAX);
        (memory.reinforce_count.max(finders), memory.last_confirmed_at, &memory.id)
    });
    match first {
        Some(memory) => FactDecision::Add { evict: Some(memory.id.clone()) },
        None => FactDecision::Skip(Skipped::Full),
    }
}

#[cfg(test)]
mod tests {
    use jiff::{Timestamp, ToSpan};

    use super::*;
    use crate::model::{Face, Kind, Source, Verification, content_hash};

    fn fact(id: &str, body: &str, agent: &str, count: u32, seen_min: i64) -> Memory {
        let at = Timestamp::UNIX_EPOCH + seen_min.minutes();
        Memory {
            id: id.into(),
            owner: "local:1".into(),
            scope: Scope::Agent { project: Some("p".into()), agent: agent.into() },
            face: Face::Office,
            kind: Kind::Preference,
            native_kind: Some("user_preference".into()),
            title: String::new(),
            body: body.into(),
            tags: vec![],
            topic_key: None,
            files: vec![],
            confidence: 0.6,
            evidence_count: 1,
            reinforce_count: count,
            applied_count: 0,
            confirmed_by: vec![],
            pinned: false,
            status: Status::Active,
            superseded_by: None,
            verification: Verification::Rule,
            source: Source::default(),
            contexts: vec![],
            created_at: at,
            updated_at: at,
            last_confirmed_at: at,
            content_hash: content_hash("preference", "", body),
            file_ref: None,
        }
    }

    fn said(text: &str, origin: Origin) -> Sighting<'_> {
        Sighting { text, origin }
    }

    const FACT: &str = "User prefers solid borders over dashed borders";
    const SAME: &str = "user prefers solid borders instead of dashed borders";

    /// `n` facts about different things, each seen once, at minute `i`.
    fn many(n: usize) -> Vec<Memory> {
        let word =
            |i: usize| ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel"][i % 8];
        (0..n)
            .map(|i| {
                fact(
                    &format!("m{i:02}"),
                    &format!("{} {} stands {} apart", word(i), word(i / 8), i + 100),
                    "a",
                    1,
                    i as i64,
                )
            })
            .collect()
    }

    #[test]
    fn the_same_is_reinforced_and_the_new_is_added() {
        let facts =
            [fact("1", FACT, "a", 1, 0), fact("2", "The project uses pnpm workspaces everywhere", "a", 1, 0)];
        let unseen = |_: &MemoryId| false;
        assert_eq!(admit(&facts, said(SAME, Origin::Agent), &unseen), FactDecision::Reinforce("1".into()));
        let new = said("Tests need a running redis instance", Origin::Agent);
        assert_eq!(admit(&facts, new, &unseen), FactDecision::Add { evict: None });
        let mut stale = facts.clone();
        stale[0].status = Status::Retracted;
        assert_eq!(admit(&stale, said(SAME, Origin::Agent), &unseen), FactDecision::Add { evict: None });
        assert_eq!(admit(&facts, said(SAME, Origin::Injected), &unseen), FactDecision::Skip(Skipped::Echo));
    }

    #[test]
    fn an_echo_of_what_was_shown_does_not_count() {
        let facts = [fact("1", FACT, "a", 1, 0)];
        let shown = |_: &MemoryId| true;
        assert_eq!(admit(&facts, said(SAME, Origin::Agent), &shown), FactDecision::Skip(Skipped::Echo));
        assert_eq!(admit(&facts, said(SAME, Origin::Web), &shown), FactDecision::Skip(Skipped::Echo));
        assert_eq!(admit(&facts, said(SAME, Origin::Person), &shown), FactDecision::Reinforce("1".into()));
        assert_eq!(admit(&facts, said(SAME, Origin::Tool), &shown), FactDecision::Reinforce("1".into()));
    }

    #[test]
    fn a_newer_value_supersedes_unless_a_person_wrote_the_older() {
        let mut facts = [fact("1", "The database listens on port 5432", "a", 2, 0)];
        let newer = said("The database listens on port 5433", Origin::Agent);
        assert_eq!(admit(&facts, newer, &|_| false), FactDecision::Supersede("1".into()));
        facts[0].verification = Verification::Human;
        assert_eq!(admit(&facts, newer, &|_| false), FactDecision::Skip(Skipped::Protected));
    }

    #[test]
    fn a_full_store_lets_the_least_reinforced_go_and_keeps_the_new_one() {
        let mut facts = many(AGENT_FACTS);
        let new = said("Tests need a running redis instance", Origin::Agent);
        let evicts = |facts: &[Memory], id: &str| {
            assert_eq!(admit(facts, new, &|_| false), FactDecision::Add { evict: Some(id.into()) });
        };
        evicts(&facts, "m00");
        facts[0].reinforce_count = 2;
        evicts(&facts, "m01");
        facts[1].pinned = true;
        evicts(&facts, "m02");
        facts[2].last_confirmed_at = facts[40].last_confirmed_at;
        evicts(&facts, "m03");
        facts[3].confirmed_by = vec!["another".into()];
        evicts(&facts, "m04");
        facts.iter_mut().for_each(|memory| memory.pinned = true);
        assert_eq!(admit(&facts, new, &|_| false), FactDecision::Skip(Skipped::Full));
        facts.pop();
        assert_eq!(admit(&facts, new, &|_| false), FactDecision::Add { evict: None });
    }

    #[test]
    fn the_third_sighting_shares_a_fact() {
        let mut due = fact("1", FACT, "a", 2, 0);
        assert_eq!(promote::<Memory>(&[], &due), Promotion::No);
        reinforce(&mut due, Timestamp::UNIX_EPOCH + 9.minutes());
        assert_eq!((due.reinforce_count, due.last_confirmed_at), (3, Timestamp::UNIX_EPOCH + 9.minutes()));
        assert_eq!(promote::<Memory>(&[], &due), Promotion::Add { evict: None });
        let mut shared = many(SHARED_FACTS);
        assert_eq!(promote(&shared, &due), Promotion::Add { evict: Some("m00".into()) });
        shared[3] = fact("s", SAME, "b", 3, 0);
        shared[3].confirmed_by = vec!["b".into()];
        assert_eq!(promote(&shared, &due), Promotion::Confirm { id: "s".into(), agents: vec!["a".into()] });
        shared[3].confirmed_by.push("a".into());
        assert_eq!(promote(&shared, &due), Promotion::No);
        due.scope = Scope::Agent { project: None, agent: "a".into() };
        assert_eq!(promote::<Memory>(&[], &due), Promotion::No);
    }

    #[test]
    fn two_agents_that_find_the_same_share_it() {
        let mut facts = [fact("1", FACT, "a", 1, 0)];
        let sighting = said(SAME, Origin::Agent);
        let found = |agent: &str, shown: bool| {
            cross_confirm(&facts, agent, sighting, &|_| shown).map(|m| m.id.clone())
        };
        assert_eq!(found("b", false), Some("1".into()));
        assert_eq!(found("b", true), None);
        assert_eq!(found("a", false), None);
        assert!(cross_confirm(&facts, "b", said(SAME, Origin::Web), &|_| false).is_none());
        assert!(confirm(&mut facts[0], &["b".into()], Timestamp::UNIX_EPOCH));
        assert!(!confirm(&mut facts[0], &["b".into()], Timestamp::UNIX_EPOCH));
        assert_eq!(promote::<Memory>(&[], &facts[0]), Promotion::Add { evict: None });
    }
}
