//! Facts an agent's session teaches, as the agent's own (S0.25–S0.32).

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use doze_core::duplicate::{Parts, Relation};
use doze_core::facts::{self, FactCandidate};
use doze_core::injected;
use doze_core::model::{
    AgentRef, CONTRADICTS, Context, Event, EventKind, Face, Memory, MemoryId, Origin, OwnerId, Scope,
    Session, Source, Status, Verification, content_hash,
};
use doze_core::promote::{self, Comparable as _, Fact, FactDecision, Sighting, Skipped};
use doze_core::text;
use doze_dream::Voice;
use doze_store::{ChangeSet, Snapshot, Subject};

use jiff::Timestamp;

use super::known::Cache;
use super::sharing::Found;
use super::transcript::Earlier;
use super::{FactCounts, Work};
use crate::memory::{AddOutcome, event_named};
use crate::{Engine, EngineError};

/// Fact candidates of one commit (S0 source fact 14).
const MAX_CANDIDATES: usize = 10;
/// Facts that are kept apart against one.
const MAX_APART: usize = 5;
/// Events that a memory names as its evidence.
const MAX_EVIDENCE: usize = 20;
/// Characters of what a tool printed that are compared, and bytes of a fact from which on it is no chance that they say it.
const MAX_PRINTED: usize = 64 * 1024;
const MIN_COPIED: usize = 20;
/// The confidence of a fact found by rule.
const BY_RULE: f64 = 0.6;
/// Characters of a title made from a fact.
const TITLE_CHARS: usize = 80;

impl Work<'_> {
    /// Adds what the new events teach to the change set. `first` is the ordinal of the first new event; `earlier`
    /// are candidates of pieces stored before, each with the ordinal its piece began at.
    pub(super) fn learn(
        &self,
        snapshot: &Snapshot,
        set: ChangeSet,
        session: &Session,
        fresh: &[Event],
        first: u64,
        earlier: &[Earlier],
    ) -> Result<(ChangeSet, FactCounts), EngineError> {
        let engine = self.engine;
        let own_words = |events: &[Event]| -> Vec<Event> {
            let own = |event: &Event| Event {
                text: injected::strip_known_lines(&event.text, &|hash| {
                    engine.was_shown(snapshot, self.owner, session.project.as_ref(), hash, Voice::of(event))
                })
                .into_owned(),
                ..event.clone()
            };
            events.iter().map(own).collect()
        };
        let (mut set, appended) = self.appended(snapshot, set, session, first)?;
        let (began, waiting) = appended.unwrap_or((first, Vec::new()));
        let (waiting_words, fresh_words) = (own_words(&waiting), own_words(fresh));
        let found = dated_facts(&waiting_words, began, session.last_event_at).chain(dated_facts(
            &fresh_words,
            first,
            session.last_event_at,
        ));
        let candidates: Vec<Earlier> = earlier.iter().cloned().chain(found).take(MAX_CANDIDATES).collect();
        if candidates.is_empty() {
            return Ok((set, FactCounts::default()));
        }
        let given = engine.shown_to(snapshot, self.owner, &session.agent.id, session.project.as_ref())?;
        let mut shown = engine.shown_in(snapshot, self.owner, Some(&self.request.session))?;
        shown.extend(given.iter().cloned());
        let mut told: Vec<Arc<Parts>> = Vec::new();
        // Whoever hands a task to an agent may have put what it is given in front of it, in its own form.
        let mut handed_on = HashSet::new();
        for id in &shown {
            let Some(memory) = snapshot.memory(self.owner, &MemoryId::new(id.clone()))? else { continue };
            let text = promote::text_of(&memory);
            told.push(engine.inner.known_facts.parts(text));
            if given.contains(id) {
                handed_on.insert(text::one_line(text));
            }
        }
        let printed = [printed(&waiting), printed(fresh), self.handed()].concat();
        let mut desk =
            Desk::open(engine, snapshot, self.owner, session.agent.clone(), session.project.clone())?;
        for Earlier { first, at, candidate } in candidates {
            // The agent repeats what it was told, in whatever words (`R7`).
            let words = engine.inner.known_facts.parts(&candidate.text);
            let repeats =
                || told.iter().any(|memory| memory.office_relation_to(&words) == Relation::Duplicate);
            let is_echo = match candidate.origin {
                Origin::Agent => repeats() || is_copied(&printed, &candidate.text),
                _ => handed_on.contains(&text::one_line(&candidate.text)),
            };
            let is_forgotten;
            let (place, text) = (session.project.as_ref(), &candidate.text);
            (set, is_forgotten) = engine.unless_forgotten(snapshot, set, place, text, candidate.origin)?;
            if is_echo || is_forgotten {
                continue;
            }
            let ordinal = first + candidate.event.unwrap_or_default() as u64;
            let new = desk.new_fact(&candidate, session, at, format!("{}#{ordinal}", session.key));
            match desk.found(new, candidate.origin, &|id| shown.contains(id.as_str())) {
                Ok(_) => {}
                Err(FoundError::Skipped(reason)) => tracing::debug!(?reason, "a fact was left alone"),
                Err(FoundError::Failed(error)) => return Err(error),
            }
        }
        let Closed { set, counts, learned } = desk.close(set)?;
        self.learned.replace(Learned { shown: Arc::new(shown), ..learned });
        Ok((set, counts))
    }
}

impl Work<'_> {
    /// What the call puts in front of the agent, as it was before sections that were put in were cut out: an orchestrator
    /// hands on what it was told itself.
    fn handed(&self) -> Vec<String> {
        let prompts = self.request.events.iter().filter(|event| event.kind == EventKind::Prompt);
        prompts.map(|event| compared(&event.text)).collect()
    }
}

fn compared(text: &str) -> String {
    text::one_line(text::cut(text, MAX_PRINTED)).to_lowercase()
}

/// What tools printed in these events, as it is compared.
fn printed(events: &[Event]) -> Vec<String> {
    let outputs = events.iter().filter_map(|event| event.tool.as_ref()).map(|tool| &tool.output);
    outputs.map(|output| compared(output)).collect()
}

/// Whether an agent only gives back what a page, a file or its task told it: nothing is learned of that (`R7`, `R18`).
fn is_copied(printed: &[String], fact: &str) -> bool {
    let fact = text::one_line(fact).to_lowercase();
    fact.len() >= MIN_COPIED && printed.iter().any(|output| output.contains(&fact))
}

/// The facts of some events, each with the time of its event.
pub(super) fn dated_facts(
    events: &[Event],
    first: u64,
    otherwise: Timestamp,
) -> impl Iterator<Item = Earlier> {
    facts::extract_facts(facts::fact_sources(events)).into_iter().map(move |candidate| {
        let event = candidate.event.and_then(|at| events.get(at));
        Earlier { first, at: event.and_then(|event| event.at).unwrap_or(otherwise), candidate }
    })
}

/// What became of a fact that was added by hand, how it is kept, and what is to be shared of it.
pub(crate) type ByHand = (AddOutcome, Memory, Vec<Found>);

impl Engine {
    /// S0.32: a fact added by hand passes the same gate as one that was found.
    pub(crate) fn admit_by_hand(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        new: &Memory,
        by_person: bool,
    ) -> Result<(ChangeSet, ByHand), EngineError> {
        let agent =
            new.source.agent.clone().ok_or_else(|| EngineError::invalid("space agent needs an agent"))?;
        let mut desk = Desk::open(self, snapshot, owner, agent, new.scope.project().cloned())?;
        let origin = if by_person { Origin::Person } else { Origin::Agent };
        let set = ChangeSet::new(owner.clone());
        let (outcome, id) = match desk.found(new.clone(), origin, &|_| false) {
            Ok(found) => found,
            Err(FoundError::Failed(error)) => return Err(error),
            Err(FoundError::Skipped(Skipped::Full | Skipped::Echo)) => {
                return Err(EngineError::refused("the agent's memory is full of facts that a person keeps")
                    .hint("forget or unpin some"));
            }
            Err(FoundError::Skipped(Skipped::Protected | Skipped::Older)) => {
                let waiting = Memory { status: Status::Proposed, ..new.clone() };
                return Ok((set.put_memory(waiting.clone()), (AddOutcome::Proposed, waiting, Vec::new())));
            }
        };
        let known = desk.facts.iter().find(|fact| fact.memory.id == id);
        let memory = known.map_or_else(|| new.clone(), |fact| fact.memory.clone());
        let Closed { set, learned, .. } = desk.close(set)?;
        Ok((set, (outcome, memory, learned.finds)))
    }
}

/// What becomes of a fact that would take the place of another.
enum Contest {
    /// It takes it.
    Won,
    /// It is kept beside it until there is more to say for it.
    Apart,
    /// What is kept apart so, and that somebody else says now as well.
    Upheld(MemoryId),
}

/// The facts of an agent, on the table while new ones come in.
struct Desk<'a> {
    engine: &'a Engine,
    snapshot: &'a Snapshot,
    owner: &'a OwnerId,
    scope: Scope,
    facts: Vec<Fact>,
    /// Facts that the person says just now.
    persons: BTreeSet<MemoryId>,
    changed: BTreeSet<MemoryId>,
    evicted: BTreeSet<MemoryId>,
    finds: Vec<Found>,
    counts: FactCounts,
}

impl<'a> Desk<'a> {
    fn open(
        engine: &'a Engine,
        snapshot: &'a Snapshot,
        owner: &'a OwnerId,
        agent: AgentRef,
        project: Option<doze_core::model::ProjectId>,
    ) -> Result<Self, EngineError> {
        let scope = Scope::Agent { project, agent: agent.id };
        let facts = engine.inner.known_facts.facts(snapshot, owner, &scope)?.to_vec();
        Ok(Self {
            engine,
            snapshot,
            owner,
            scope,
            facts,
            persons: BTreeSet::new(),
            changed: BTreeSet::new(),
            evicted: BTreeSet::new(),
            finds: Vec::new(),
            counts: FactCounts::default(),
        })
    }

    fn new_fact(
        &self,
        candidate: &FactCandidate,
        session: &Session,
        at: Timestamp,
        evidence: String,
    ) -> Memory {
        let now = self.engine.now();
        let title = text::cut(&text::one_line(&candidate.text), TITLE_CHARS).to_owned();
        Memory {
            id: self.engine.new_memory_id(),
            owner: self.owner.clone(),
            scope: self.scope.clone(),
            face: Face::Office,
            kind: candidate.kind,
            native_kind: Some(candidate.native_kind.to_owned()),
            content_hash: content_hash(candidate.kind.as_str(), &title, &candidate.text),
            title,
            body: candidate.text.clone(),
            tags: Vec::new(),
            topic_key: None,
            files: Vec::new(),
            confidence: BY_RULE,
            evidence_count: 1,
            reinforce_count: 1,
            applied_count: 0,
            confirmed_by: Vec::new(),
            pinned: false,
            status: Status::Active,
            superseded_by: None,
            verification: Verification::Rule,
            source: Source {
                agent: Some(session.agent.clone()),
                session: Some(session.key.session.clone()),
                task: session.task.as_ref().map(|task| task.id.clone()).filter(|id| !id.is_empty()),
                team: session.team.clone(),
                events: vec![evidence],
            },
            contexts: Vec::new(),
            created_at: at,
            updated_at: now,
            last_confirmed_at: at,
            file_ref: None,
        }
    }

    /// One fact comes in. Answers what became of it, and the id it is known by.
    fn found(
        &mut self,
        new: Memory,
        origin: Origin,
        shown: &dyn Fn(&MemoryId) -> bool,
    ) -> Result<(AddOutcome, MemoryId), FoundError> {
        let now = self.engine.now();
        let words = promote::text_of(&new).to_owned();
        let sighting = Sighting { text: &words, origin };
        let (outcome, id) = match promote::admit(&self.facts, sighting, shown) {
            FactDecision::Reinforce(id) => {
                if let Some(fact) = of(&mut self.facts, &id) {
                    promote::reinforce(fact, new.last_confirmed_at);
                    add_evidence(fact, &new.source.events);
                }
                self.settle_for(&id);
                self.counts.reinforced += 1;
                (AddOutcome::Reinforced, id)
            }
            FactDecision::Supersede(former) if self.is_older(&new, &former) => {
                return Err(Skipped::Older.into());
            }
            FactDecision::Supersede(former) => {
                let (outcome, id) = match self.contest(&former, &new, origin, shown)? {
                    Contest::Apart => {
                        let apart = kept_apart(new, &former);
                        let id = apart.id.clone();
                        self.facts.push(self.known().fact(apart));
                        self.touch(&id);
                        return Ok((AddOutcome::Proposed, id));
                    }
                    Contest::Upheld(id) => {
                        if let Some(fact) = of(&mut self.facts, &id) {
                            stand(fact, &new.source.events, now);
                        }
                        (AddOutcome::Superseded, id)
                    }
                    Contest::Won => (AddOutcome::Superseded, self.add(new)),
                };
                if let Some(fact) = of(&mut self.facts, &former) {
                    fact.status = Status::Superseded;
                    fact.superseded_by = Some(id.clone());
                }
                self.touch(&former);
                (outcome, id)
            }
            FactDecision::Add { evict } => {
                if let Some(evicted) = evict {
                    self.facts.retain(|fact| fact.memory.id != evicted);
                    self.evicted.insert(evicted);
                }
                (AddOutcome::Added, self.add(new))
            }
            FactDecision::Skip(reason) => return Err(reason.into()),
        };
        self.touch(&id);
        if origin == Origin::Person {
            self.persons.insert(id.clone());
        }
        if let Some(own) = of(&mut self.facts, &id).cloned() {
            self.finds.push(Found { own, text: words, origin });
        }
        Ok((outcome, id))
    }

    /// Whether what is found was said before a fact was said last. A time ahead was told by a clock that was put back since.
    fn is_older(&self, new: &Memory, former: &MemoryId) -> bool {
        let former = self.facts.iter().find(|fact| fact.memory.id == *former);
        former.is_some_and(|former| {
            let said_last = former.memory.last_confirmed_at;
            said_last > new.last_confirmed_at && said_last <= self.engine.now()
        })
    }

    /// Whether what is found takes the place of a fact: an agent's single word does not against what the person said
    /// (`R18`). It does when another session says it, too, or the person.
    fn contest(
        &self,
        former: &MemoryId,
        new: &Memory,
        origin: Origin,
        shown: &dyn Fn(&MemoryId) -> bool,
    ) -> Result<Contest, FoundError> {
        let words = self.known().parts(promote::text_of(new));
        let against = |fact: &&Fact| fact.memory.contradicts() == Some(former.as_str());
        let says_same = |fact: &&Fact| fact.parts().office_relation_to(&words) == Relation::Duplicate;
        let apart = self.facts.iter().filter(against).find(says_same).map(|fact| &fact.memory);
        let is_persons = origin == Origin::Person;
        match apart {
            Some(apart) if is_persons => Ok(Contest::Upheld(apart.id.clone())),
            Some(apart) if is_heard_of(apart, new) || shown(&apart.id) => Err(Skipped::Echo.into()),
            Some(apart) => Ok(Contest::Upheld(apart.id.clone())),
            None if is_persons || !self.is_persons(former)? => Ok(Contest::Won),
            None if self.facts.iter().filter(against).count() >= MAX_APART => Err(Skipped::Full.into()),
            None => Ok(Contest::Apart),
        }
    }

    /// Whether the person said a fact.
    fn is_persons(&self, id: &MemoryId) -> Result<bool, EngineError> {
        let Some(fact) = self.facts.iter().find(|fact| fact.memory.id == *id) else { return Ok(false) };
        for event in &fact.memory.source.events {
            let event = event_named(self.snapshot, self.owner, event)?;
            if event.is_some_and(|event| event.origin == Origin::Person) {
                return Ok(true);
            }
        }
        Ok(self.persons.contains(id))
    }

    /// What a fact was said again for, takes the ground from what is kept apart against it.
    fn settle_for(&mut self, id: &MemoryId) {
        for fact in self.facts.iter_mut().map(|fact| &mut fact.memory) {
            if fact.contradicts() == Some(id.as_str()) {
                fact.status = Status::Stale;
                self.changed.insert(fact.id.clone());
            }
        }
    }

    fn add(&mut self, new: Memory) -> MemoryId {
        let id = new.id.clone();
        self.facts.push(self.known().fact(new));
        self.counts.added += 1;
        id
    }

    fn known(&self) -> &'a Cache {
        &self.engine.inner.known_facts
    }

    fn touch(&mut self, id: &MemoryId) {
        self.changed.insert(id.clone());
    }

    /// The change set with everything that changed on the table, valid only while nobody else changes the space.
    fn close(self, mut set: ChangeSet) -> Result<Closed, EngineError> {
        let mut is_changed = !self.evicted.is_empty();
        for fact in self.facts.iter().filter(|fact| self.changed.contains(&fact.memory.id)) {
            set = set.put_memory(fact.memory.clone());
            is_changed = true;
        }
        for id in self.evicted {
            set = set.delete_memory(id);
        }
        set = set.expect_seen(self.snapshot, Subject::Scope(self.scope.clone()))?;
        let learned = Learned {
            space: is_changed.then_some((self.scope, self.facts)),
            finds: self.finds,
            shown: Arc::default(),
        };
        Ok(Closed { set, counts: self.counts, learned })
    }
}

/// What a table comes to.
struct Closed {
    set: ChangeSet,
    counts: FactCounts,
    learned: Learned,
}

/// What is to be done once a set is applied.
#[derive(Debug, Default)]
pub(super) struct Learned {
    /// What the agent's space holds then, if that is something else.
    pub(super) space: Option<(Scope, Vec<Fact>)>,
    /// What was found.
    pub(super) finds: Vec<Found>,
    /// What the agent had been shown.
    pub(super) shown: Arc<HashSet<String>>,
}

/// Why a fact was not taken in.
enum FoundError {
    Skipped(Skipped),
    Failed(EngineError),
}

impl From<Skipped> for FoundError {
    fn from(reason: Skipped) -> Self {
        Self::Skipped(reason)
    }
}

impl From<EngineError> for FoundError {
    fn from(error: EngineError) -> Self {
        Self::Failed(error)
    }
}

/// A fact that is kept beside the one it contradicts, as a dream keeps it.
fn kept_apart(new: Memory, former: &MemoryId) -> Memory {
    let mut tags = new.tags;
    tags.push(CONTRADICTS.to_owned());
    // The id alone: its words would outlive it.
    let contexts = vec![Context { origin: Some(former.as_str().to_owned()), ..Context::default() }];
    let verification = Verification::Rule;
    Memory { status: Status::Proposed, tags, contexts, verification, ..new }
}

/// What was kept apart is in force, with one more to say it.
fn stand(fact: &mut Memory, events: &[String], now: Timestamp) {
    fact.status = Status::Active;
    fact.tags.retain(|tag| tag != CONTRADICTS);
    fact.contexts.clear();
    promote::reinforce(fact, now);
    add_evidence(fact, events);
}

/// Whether what is kept apart was said in the same session, or by hand by the same agent.
fn is_heard_of(apart: &Memory, new: &Memory) -> bool {
    let sessions = |memory: &Memory| -> BTreeSet<String> {
        let events = memory.source.events.iter().filter_map(|event| event.rsplit_once('#'));
        events.map(|(session, _)| session.to_owned()).chain(memory.source.session.clone()).collect()
    };
    let (said, again) = (sessions(apart), sessions(new));
    again.is_empty() && said.is_empty() || !said.is_disjoint(&again)
}

fn of<'f>(facts: &'f mut [Fact], id: &MemoryId) -> Option<&'f mut Memory> {
    facts.iter_mut().map(|fact| &mut fact.memory).find(|memory| memory.id == *id)
}

fn add_evidence(memory: &mut Memory, events: &[String]) {
    for event in events {
        if memory.source.events.len() < MAX_EVIDENCE && !memory.source.events.contains(event) {
            memory.source.events.push(event.clone());
        }
    }
}
