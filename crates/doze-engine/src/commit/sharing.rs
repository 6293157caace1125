//! What an agent found, confirmed by its fellows and shared with its project (S0.34–S0.36). Every agent of a project
//! writes there, so they do it together: whoever comes first decides for all that wait, in one step. A commit is kept
//! before, and never waits for another agent's; of one that ends with its process in between, the next sighting shares it.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, Mutex};

use doze_core::model::{AgentId, Memory, MemoryId, Origin, OwnerId, ProjectId, Scope, Status};
use doze_core::promote::{self, Fact, PROMOTE_AT, Promotion, Sighting};
use doze_store::{ApplyError, ChangeSet, Family, Snapshot, Subject};

use super::known::Cache;
use super::{Receipt, fellows};
use crate::{CONFLICT_RETRIES, Engine, EngineError, Problem, encoded, lock};

/// A fact that an agent has just found, or found again; it is kept as the agent's already.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// The agent's fact.
    pub(crate) id: MemoryId,
    /// What was said.
    pub(crate) text: String,
    /// By whom.
    pub(crate) origin: Origin,
}

/// What one agent found.
#[derive(Debug, Clone)]
pub(crate) struct Finds {
    /// The agent.
    pub(super) agent: AgentId,
    /// What it found.
    pub(super) found: Vec<Found>,
    /// The memories it had been shown.
    pub(super) shown: Arc<HashSet<String>>,
    /// The receipt of its commit, which tells how many were shared.
    pub(super) receipt: Option<(String, Receipt)>,
}

impl Finds {
    /// What an agent found without a session in which it could have been shown.
    pub(crate) fn of(agent: AgentId, found: Vec<Found>) -> Self {
        Self { agent, found, shown: Arc::default(), receipt: None }
    }
}

/// Finds that wait, and how many of them were shared once that is known.
#[derive(Debug)]
struct Waiting {
    finds: Finds,
    shared: Arc<Mutex<Option<u64>>>,
}

/// The finds of a project's agents on their way into it.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: Mutex<Vec<Waiting>>,
    /// Held by whoever decides.
    turn: Mutex<()>,
}

impl Engine {
    /// Shares what an agent found as far as it is due. Answers how many facts the project shares more.
    pub(crate) fn share(
        &self,
        owner: &OwnerId,
        project: &ProjectId,
        mut finds: Finds,
    ) -> Result<u64, EngineError> {
        finds.found = self.that_may_be_shared(owner, project, &finds)?;
        if finds.found.is_empty() {
            return Ok(0);
        }
        let queue = self.inner.known_facts.queue(owner, project);
        let shared = Arc::new(Mutex::new(None));
        lock(&queue.waiting).push(Waiting { finds, shared: shared.clone() });
        let _turn = lock(&queue.turn);
        if let Some(count) = *lock(&shared) {
            return Ok(count);
        }
        let waiting = std::mem::take(&mut *lock(&queue.waiting));
        let counts = match self.share_all(owner, project, &waiting) {
            Ok(counts) => counts,
            Err(error) => {
                // The others find out for themselves.
                let others = waiting.into_iter().filter(|other| !Arc::ptr_eq(&other.shared, &shared));
                lock(&queue.waiting).extend(others);
                return Err(error);
            }
        };
        for (waiting, count) in waiting.iter().zip(counts) {
            *lock(&waiting.shared) = Some(count);
        }
        Ok(lock(&shared).unwrap_or_default())
    }

    /// The finds that the project, or a fellow of the agent, may have something to say to. Most have nothing to do with
    /// anybody else, and nobody waits for those.
    fn that_may_be_shared(
        &self,
        owner: &OwnerId,
        project: &ProjectId,
        finds: &Finds,
    ) -> Result<Vec<Found>, EngineError> {
        let snapshot = self.store().snapshot()?;
        let table = Table::open(self, &snapshot, owner, project)?;
        let mut due = Vec::new();
        for found in &finds.found {
            let Some(own) = snapshot.memory(owner, &found.id)? else { continue };
            let is_due = own.reinforce_count >= PROMOTE_AT
                || !own.confirmed_by.is_empty()
                || table.known_to_project(finds, found).is_some()
                || !table.known_to_fellows(&own.scope, found)?.is_empty();
            due.extend(is_due.then(|| found.clone()));
        }
        Ok(due)
    }

    /// Everything that waits, in one step.
    fn share_all(
        &self,
        owner: &OwnerId,
        project: &ProjectId,
        waiting: &[Waiting],
    ) -> Result<Vec<u64>, EngineError> {
        for _ in 0..CONFLICT_RETRIES {
            let snapshot = self.store().snapshot()?;
            let mut table = Table::open(self, &snapshot, owner, project)?;
            let mut counts = Vec::new();
            for Waiting { finds, .. } in waiting {
                counts.push(table.take(finds)?);
            }
            let receipts = waiting.iter().zip(&counts);
            let (set, shared) = table.close(receipts.map(|(waiting, count)| (&waiting.finds, *count)))?;
            drop(snapshot);
            if set.changes.is_empty() {
                return Ok(counts);
            }
            match self.store().apply(set) {
                Ok(applied) => {
                    let key = (owner.clone(), Scope::Project(project.clone()));
                    if let Some(shared) = shared {
                        self.inner.known_facts.keep(key, applied.seq, Arc::new(shared));
                    }
                    return Ok(counts);
                }
                Err(ApplyError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(EngineError::new(Problem::Busy, "others kept changing what the project shares").hint("try again"))
    }
}

/// What a project shares, on the table while its agents' finds come in.
struct Table<'a> {
    cache: &'a Cache,
    engine: &'a Engine,
    snapshot: &'a Snapshot,
    owner: &'a OwnerId,
    scope: Scope,
    shared: Vec<Fact>,
    /// Facts of agents that were confirmed and cannot be shared.
    fellows: Vec<Memory>,
    changed: BTreeSet<MemoryId>,
    evicted: BTreeSet<MemoryId>,
}

impl<'a> Table<'a> {
    fn open(
        engine: &'a Engine,
        snapshot: &'a Snapshot,
        owner: &'a OwnerId,
        project: &ProjectId,
    ) -> Result<Self, EngineError> {
        let cache = &engine.inner.known_facts;
        let scope = Scope::Project(project.clone());
        Ok(Self {
            shared: cache.facts(snapshot, owner, &scope)?.to_vec(),
            cache,
            engine,
            snapshot,
            owner,
            scope,
            fellows: Vec::new(),
            changed: BTreeSet::new(),
            evicted: BTreeSet::new(),
        })
    }

    /// The shared fact that a find confirms.
    fn known_to_project(&self, finds: &Finds, found: &Found) -> Option<MemoryId> {
        let sighting = Sighting { text: &found.text, origin: found.origin };
        let shown = |id: &MemoryId| finds.shown.contains(id.as_str());
        promote::cross_confirm(&self.shared, finds.agent.as_str(), sighting, &shown)
            .map(|memory| memory.id.clone())
    }

    fn known_to_fellows(&self, own: &Scope, found: &Found) -> Result<Vec<Fact>, EngineError> {
        fellows::saying(self.cache, self.snapshot, self.owner, own, &found.text)
    }

    /// What one agent found. Answers how many facts are shared more.
    fn take(&mut self, finds: &Finds) -> Result<u64, EngineError> {
        let mut count = 0;
        for found in &finds.found {
            let Some(own) = self.snapshot.memory(self.owner, &found.id)? else { continue };
            count += self.confirm(finds, found, &own)? + self.promote(&own).1;
        }
        Ok(count)
    }

    /// The same found by this agent confirms what the project or another agent knows (S0.35).
    fn confirm(&mut self, finds: &Finds, found: &Found, own: &Memory) -> Result<u64, EngineError> {
        let agent = [finds.agent.to_string()];
        if let Some(id) = self.known_to_project(finds, found) {
            self.confirm_shared(&id, &agent);
            return Ok(0);
        }
        let saying = self.known_to_fellows(&own.scope, found)?;
        let sighting = Sighting { text: &found.text, origin: found.origin };
        let shown = |id: &MemoryId| finds.shown.contains(id.as_str());
        let known = promote::cross_confirm(&saying, finds.agent.as_str(), sighting, &shown);
        let Some(mut other) = known.cloned() else { return Ok(0) };
        // All of them found it, also those that looked for fellows before there was one.
        let fellows = saying.iter().filter_map(|fact| fact.memory.scope.agent()).map(ToString::to_string);
        let own = other.scope.agent().map(ToString::to_string);
        let finders: Vec<String> =
            agent.into_iter().chain(fellows).filter(|finder| Some(finder) != own.as_ref()).collect();
        promote::confirm(&mut other, &finders, self.engine.now());
        // Who found it is told where it is shared, and the fellow's own fact stays as it is: its agent is at work on it.
        let (is_shared, count) = self.promote(&other);
        if !is_shared {
            self.fellows.retain(|known| known.id != other.id);
            self.fellows.push(other);
        }
        Ok(count)
    }

    fn confirm_shared(&mut self, id: &MemoryId, agents: &[String]) {
        let now = self.engine.now();
        if let Some(fact) = self.shared.iter_mut().find(|fact| fact.memory.id == *id)
            && promote::confirm(&mut fact.memory, agents, now)
        {
            self.changed.insert(id.clone());
        }
    }

    /// Shares a fact when it is due (S0.34). Answers whether the project shares it now, and how many more that makes.
    fn promote(&mut self, fact: &Memory) -> (bool, u64) {
        let replaced = match promote::promote(&self.shared, fact) {
            Promotion::No => return (false, 0),
            Promotion::Confirm { id, agents } => {
                self.confirm_shared(&id, &agents);
                return (true, 0);
            }
            Promotion::Supersede(former) => Some(former),
            Promotion::Add { evict } => {
                if let Some(evicted) = evict {
                    self.shared.retain(|fact| fact.memory.id != evicted);
                    self.changed.remove(&evicted);
                    self.evicted.insert(evicted);
                }
                None
            }
        };
        let mut shared = fact.clone();
        shared.id = self.engine.new_memory_id();
        shared.scope = self.scope.clone();
        shared.updated_at = self.engine.now();
        if let Some(agent) = fact.scope.agent().map(|agent| agent.as_str().to_owned())
            && !shared.confirmed_by.contains(&agent)
        {
            shared.confirmed_by.insert(0, agent);
        }
        if let Some(former) = replaced {
            if let Some(fact) = self.shared.iter_mut().find(|fact| fact.memory.id == former) {
                fact.memory.status = Status::Superseded;
                fact.memory.superseded_by = Some(shared.id.clone());
            }
            self.changed.insert(former);
        }
        self.changed.insert(shared.id.clone());
        self.shared.push(self.cache.fact(shared));
        (true, 1)
    }

    /// The change set, valid only while nobody else changes what it is about, and what the project shares then, if that
    /// is something else.
    fn close<'f>(
        self,
        told: impl Iterator<Item = (&'f Finds, u64)>,
    ) -> Result<(ChangeSet, Option<Vec<Fact>>), EngineError> {
        let mut set = ChangeSet::new(self.owner.clone());
        let stored = |id: &MemoryId| self.snapshot.memory(self.owner, id).map(|memory| memory.is_some());
        let mut is_changed = false;
        for fact in self.shared.iter().filter(|fact| self.changed.contains(&fact.memory.id)) {
            set = set.put_memory(fact.memory.clone());
            is_changed = true;
        }
        for id in &self.evicted {
            // One that came and went within this step was never stored.
            if stored(id)? {
                set = set.delete_memory(id.clone());
                is_changed = true;
            }
        }
        if is_changed {
            set = set.expect_seen(self.snapshot, Subject::Scope(self.scope.clone()))?;
        }
        for memory in self.fellows {
            set = set.expect_seen(self.snapshot, Subject::Memory(memory.id.clone()))?.put_memory(memory);
        }
        for (finds, count) in told.filter(|(_, count)| *count > 0) {
            let Some((key, receipt)) = &finds.receipt else { continue };
            let mut receipt = receipt.clone();
            receipt.facts[2] = count;
            let subject = Subject::Aux(Family::Receipt, key.clone());
            // A session that was forgotten meanwhile keeps none.
            if self.snapshot.aux(self.owner, Family::Receipt, key)?.is_some() {
                set = set.expect_seen(self.snapshot, subject)?;
                set = set.put_aux(Family::Receipt, key.clone(), encoded(&receipt)?);
            }
        }
        Ok((set, is_changed.then_some(self.shared)))
    }
}
