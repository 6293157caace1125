//! Facts an agent's session teaches: admitted, confirmed by other agents, shared with the project (S0.25–S0.36).

use std::collections::{BTreeMap, BTreeSet};

use doze_core::duplicate::{Parts, Relation};
use doze_core::facts::{self, FactCandidate};
use doze_core::injected;
use doze_core::model::{
    AgentRef, Event, Face, Memory, MemoryId, Origin, OwnerId, Scope, Session, Source, Status, Verification,
    content_hash,
};
use doze_core::promote::{self, FactDecision, Promotion, Sighting, Skipped};
use doze_core::text;
use doze_dream::Voice;
use doze_store::{ChangeSet, Snapshot, Subject};

use jiff::Timestamp;

use super::fellows::Fellows;
use super::transcript::Earlier;
use super::{FactCounts, Work};
use crate::memory::AddOutcome;
use crate::{Engine, EngineError};

/// Fact candidates of one commit (S0 source fact 14).
const MAX_CANDIDATES: usize = 10;
/// Events that a memory names as its evidence.
const MAX_EVIDENCE: usize = 20;
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
        let own_words: Vec<Event> = fresh
            .iter()
            .map(|event| Event {
                text: injected::strip_known_lines(&event.text, &|hash| {
                    engine.was_shown(snapshot, self.owner, session.project.as_ref(), hash, Voice::of(event))
                })
                .into_owned(),
                ..event.clone()
            })
            .collect();
        let found = dated_facts(&own_words, first, session.last_event_at);
        let candidates: Vec<Earlier> = earlier.iter().cloned().chain(found).take(MAX_CANDIDATES).collect();
        if candidates.is_empty() {
            return Ok((set, FactCounts::default()));
        }
        let shown = engine.shown_in(snapshot, self.owner, Some(&session.key.session))?;
        let mut told: Vec<Parts> = Vec::new();
        for id in &shown {
            let memory = snapshot.memory(self.owner, &MemoryId::new(id.clone()))?;
            told.extend(memory.map(|memory| Parts::of(promote::text_of(&memory))));
        }
        let mut desk =
            Desk::open(engine, snapshot, self.owner, session.agent.clone(), session.project.clone())?;
        for Earlier { first, at, candidate } in candidates {
            // The agent repeats what it was told, in whatever words (`R7`).
            let words = Parts::of(&candidate.text);
            let is_echo = candidate.origin == Origin::Agent
                && told.iter().any(|memory| memory.relation_to(&words) == Relation::Duplicate);
            if is_echo || engine.is_forgotten(snapshot, self.owner, &candidate.text)? {
                continue;
            }
            let ordinal = first + candidate.event.unwrap_or_default() as u64;
            let new = desk.new_fact(&candidate, session, at, format!("{}#{ordinal}", session.key));
            if let Err(reason) = desk.found(new, candidate.origin, &|id| shown.contains(id.as_str())) {
                tracing::debug!(?reason, "a fact was left alone");
            }
        }
        let (set, counts) = desk.close(set)?;
        Ok((set, counts))
    }
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

impl Engine {
    /// S0.32: a fact added by hand passes the same gate as one that was found.
    pub(crate) fn admit_by_hand(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        new: &Memory,
        by_person: bool,
    ) -> Result<(ChangeSet, (AddOutcome, Memory)), EngineError> {
        let agent =
            new.source.agent.clone().ok_or_else(|| EngineError::invalid("space agent needs an agent"))?;
        let mut desk = Desk::open(self, snapshot, owner, agent, new.scope.project().cloned())?;
        let origin = if by_person { Origin::Person } else { Origin::Agent };
        let set = ChangeSet::new(owner.clone());
        let (outcome, id) = match desk.found(new.clone(), origin, &|_| false) {
            Ok(found) => found,
            Err(Skipped::Full | Skipped::Echo) => {
                return Err(EngineError::refused("the agent's memory is full of facts that a person keeps")
                    .hint("forget or unpin some"));
            }
            Err(Skipped::Protected) => {
                let waiting = Memory { status: Status::Proposed, ..new.clone() };
                return Ok((set.put_memory(waiting.clone()), (AddOutcome::Proposed, waiting)));
            }
        };
        let memory = desk.facts.iter().find(|memory| memory.id == id).cloned().unwrap_or_else(|| new.clone());
        let (set, _) = desk.close(set)?;
        Ok((set, (outcome, memory)))
    }
}

/// The facts of an agent, of its project and of its fellow agents, on the table while new ones come in.
struct Desk<'a> {
    engine: &'a Engine,
    snapshot: &'a Snapshot,
    owner: &'a OwnerId,
    agent: AgentRef,
    scope: Scope,
    facts: Vec<Memory>,
    shared: Vec<Memory>,
    fellows: Fellows,
    changed: BTreeSet<MemoryId>,
    evicted: BTreeSet<MemoryId>,
    touched: BTreeMap<String, Scope>,
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
        let scope = Scope::Agent { project: project.clone(), agent: agent.id.clone() };
        let office = |memories: Vec<Memory>| -> Vec<Memory> {
            memories.into_iter().filter(|memory| memory.face == Face::Office).collect()
        };
        let facts = office(snapshot.memories(owner, &scope)?);
        let shared = match &project {
            Some(project) => office(snapshot.memories(owner, &Scope::Project(project.clone()))?),
            None => Vec::new(),
        };
        let fellows = Fellows::of(&engine.inner.fellows, snapshot, owner, project.as_ref(), &scope)?;
        Ok(Self {
            engine,
            snapshot,
            owner,
            agent,
            scope,
            facts,
            shared,
            fellows,
            changed: BTreeSet::new(),
            evicted: BTreeSet::new(),
            touched: BTreeMap::new(),
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
    ) -> Result<(AddOutcome, MemoryId), Skipped> {
        let now = self.engine.now();
        let words = promote::text_of(&new).to_owned();
        let sighting = Sighting { text: &words, origin };
        let (outcome, id) = match promote::admit(&self.facts, sighting, shown) {
            FactDecision::Reinforce(id) => {
                if let Some(fact) = self.facts.iter_mut().find(|fact| fact.id == id) {
                    promote::reinforce(fact, now);
                    add_evidence(fact, &new.source.events);
                }
                self.counts.reinforced += 1;
                (AddOutcome::Reinforced, id)
            }
            FactDecision::Supersede(former) => {
                if let Some(fact) = self.facts.iter_mut().find(|fact| fact.id == former) {
                    fact.status = Status::Superseded;
                    fact.superseded_by = Some(new.id.clone());
                }
                self.touch(&former);
                (AddOutcome::Superseded, self.add(new))
            }
            FactDecision::Add { evict } => {
                if let Some(evicted) = evict {
                    self.facts.retain(|fact| fact.id != evicted);
                    self.evicted.insert(evicted);
                }
                (AddOutcome::Added, self.add(new))
            }
            FactDecision::Skip(reason) => return Err(reason),
        };
        self.touch(&id);
        self.confirm_elsewhere(sighting, shown);
        if let Some(fact) = self.facts.iter().find(|fact| fact.id == id).cloned() {
            self.share(&fact);
        }
        Ok((outcome, id))
    }

    fn add(&mut self, new: Memory) -> MemoryId {
        let id = new.id.clone();
        self.facts.push(new);
        self.counts.added += 1;
        id
    }

    /// The same found by this agent confirms what the project or another agent knows (S0.35).
    fn confirm_elsewhere(&mut self, sighting: Sighting<'_>, shown: &dyn Fn(&MemoryId) -> bool) {
        let agent = self.agent.id.as_str().to_owned();
        let now = self.engine.now();
        let known =
            promote::cross_confirm(&self.shared, &agent, sighting, shown).map(|memory| memory.id.clone());
        if let Some(id) = known {
            if let Some(memory) = self.shared.iter_mut().find(|memory| memory.id == id) {
                promote::confirm(memory, &[agent], now);
            }
            self.touch(&id);
            return;
        }
        let alike = self.fellows.alike(sighting.text);
        let Some(known) = promote::cross_confirm(&alike, &agent, sighting, shown) else { return };
        let mut other = known.clone();
        promote::confirm(&mut other, &[agent], now);
        self.touch(&other.id);
        self.share(&other);
        self.fellows.change(other);
    }

    /// Shares a fact with the project when it is due (S0.34).
    fn share(&mut self, fact: &Memory) {
        let now = self.engine.now();
        let Some(project) = fact.scope.project().cloned() else { return };
        let replaced = match promote::promote(&self.shared, fact) {
            Promotion::No => return,
            Promotion::Confirm { id, agents } => {
                if let Some(memory) = self.shared.iter_mut().find(|memory| memory.id == id) {
                    promote::confirm(memory, &agents, now);
                }
                self.touch(&id);
                return;
            }
            Promotion::Supersede(former) => Some(former),
            Promotion::Add { evict } => {
                if let Some(evicted) = evict {
                    self.shared.retain(|memory| memory.id != evicted);
                    self.evicted.insert(evicted);
                }
                None
            }
        };
        let mut shared = fact.clone();
        shared.id = self.engine.new_memory_id();
        shared.scope = Scope::Project(project);
        shared.updated_at = now;
        if let Some(agent) = fact.scope.agent().map(|agent| agent.as_str().to_owned())
            && !shared.confirmed_by.contains(&agent)
        {
            shared.confirmed_by.insert(0, agent);
        }
        if let Some(former) = replaced {
            if let Some(memory) = self.shared.iter_mut().find(|memory| memory.id == former) {
                memory.status = Status::Superseded;
                memory.superseded_by = Some(shared.id.clone());
            }
            self.touch(&former);
        }
        let id = shared.id.clone();
        self.shared.push(shared);
        self.touch(&id);
        self.counts.promoted += 1;
    }

    fn touch(&mut self, id: &MemoryId) {
        self.changed.insert(id.clone());
    }

    /// The change set with everything that changed on the table, valid only while nobody else changes these scopes.
    fn close(mut self, mut set: ChangeSet) -> Result<(ChangeSet, FactCounts), EngineError> {
        self.touched.insert(self.scope.key(), self.scope.clone());
        let all = self.facts.into_iter().chain(self.shared).chain(self.fellows.into_changed());
        for memory in all.filter(|memory| self.changed.contains(&memory.id)) {
            self.touched.insert(memory.scope.key(), memory.scope.clone());
            set = set.put_memory(memory);
        }
        for id in self.evicted {
            set = set.delete_memory(id);
        }
        for scope in self.touched.into_values() {
            let subject = Subject::Scope(scope);
            let revision = self.snapshot.revision(self.owner, &subject)?;
            set = set.expect(subject, revision);
        }
        Ok((set, self.counts))
    }
}

fn add_evidence(memory: &mut Memory, events: &[String]) {
    for event in events {
        if memory.source.events.len() < MAX_EVIDENCE && !memory.source.events.contains(event) {
            memory.source.events.push(event.clone());
        }
    }
}
