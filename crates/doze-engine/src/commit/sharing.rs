//! What an agent found, confirmed by its fellows and shared with its project (S0.34–S0.36). Every agent of a project
//! writes there, so they do it together: whoever comes first decides for all that wait and keeps their commits with what
//! they share, in one step. A commit that has nothing to share goes its own way; should a fellow have found the same at
//! that moment, it is shared right behind it.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use doze_core::duplicate::{Parts, Relation, relation};
use doze_core::model::{AgentId, Memory, MemoryId, Origin, OwnerId, ProjectId, Scope, Status};
use doze_core::promote::{self, Fact, PROMOTE_AT, Promotion, Sighting};
use doze_store::{ApplyError, Change, ChangeSet, Family, Snapshot, Subject};

use super::known::Cache;
use super::{Receipt, fellows};
use crate::{CONFLICT_RETRIES, Engine, EngineError, Problem, encoded, lock};

/// Memories of the project that a fact is compared with before it is shared.
const MAX_COMPARED: usize = 10;
/// Commits that are kept in one step at most, which bounds its size.
const MAX_TOGETHER: usize = 100;

/// A fact that an agent has just found, or found again; it is kept with the agent's commit or was before.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// The agent's fact.
    pub(crate) own: Memory,
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

/// What became of finds.
#[derive(Debug, Clone, Copy)]
enum Done {
    /// They are kept since the change with this number, and so many more facts are shared. `is_alone`: no fact of a
    /// fellow's was written with them.
    Kept { seq: u64, count: u64, is_alone: bool },
    /// Somebody else has changed what their commit was decided on.
    Conflict,
}

/// Finds that wait, with the commit they come from, if that is not kept yet.
#[derive(Debug)]
struct Waiting {
    finds: Finds,
    commit: Option<ChangeSet>,
    done: Arc<Mutex<Option<Done>>>,
}

impl Waiting {
    fn tell(&self, done: Done) {
        *lock(&self.done) = Some(done);
    }

    /// Whether its commit was decided on one of these subjects. That no project was merged concerns all of them alike.
    fn is_about(&self, subjects: &[Subject]) -> bool {
        let expects = self.commit.iter().flat_map(|set| &set.expects);
        expects.into_iter().any(|(subject, _)| subjects.contains(subject))
    }
}

/// The finds of a project's agents on their way into it.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: Mutex<Vec<Waiting>>,
    /// Somebody decides.
    is_busy: Mutex<bool>,
    /// Nobody decides any more.
    free: Condvar,
}

/// Ends a turn, however it ends.
struct Turn<'a>(&'a Queue);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *lock(&self.0.is_busy) = false;
        self.0.free.notify_all();
    }
}

impl Queue {
    /// Waits until somebody has decided, or until it is one's own turn to.
    fn wait(&self, done: &Mutex<Option<Done>>) -> Result<Done, Turn<'_>> {
        let mut is_busy = lock(&self.is_busy);
        loop {
            if let Some(done) = *lock(done) {
                return Ok(done);
            }
            if !*is_busy {
                *is_busy = true;
                return Err(Turn(self));
            }
            is_busy = self.free.wait(is_busy).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Engine {
    /// Shares what an agent found, and what is kept already, as far as it is due. Answers how many facts the project
    /// shares more.
    fn share(&self, owner: &OwnerId, project: &ProjectId, mut finds: Finds) -> Result<u64, EngineError> {
        finds.found = self.due(&self.store().snapshot()?, owner, project, &finds)?.0;
        if finds.found.is_empty() {
            return Ok(0);
        }
        match self.in_turn(owner, project, finds, None)? {
            Done::Kept { count, .. } => Ok(count),
            Done::Conflict => Ok(0),
        }
    }

    /// Shares what is kept already. What fails is shared when it is seen again: told as an error, it would be said again
    /// and counted twice.
    pub(crate) fn share_later(&self, owner: &OwnerId, project: &ProjectId, finds: Finds) -> u64 {
        let shared = self.share(owner, project, finds);
        shared.inspect_err(|error| tracing::warn!(%error, "facts were not shared")).unwrap_or_default()
    }

    /// Keeps a commit with what is shared of it. Answers its number, how many facts the project shares more, and whether no
    /// fellow's fact was written with it; nothing when it has to be decided anew.
    pub(super) fn keep_and_share(
        &self,
        owner: &OwnerId,
        project: &ProjectId,
        finds: Finds,
        commit: ChangeSet,
    ) -> Result<Option<(u64, u64, bool)>, EngineError> {
        Ok(match self.in_turn(owner, project, finds, Some(commit))? {
            Done::Kept { seq, count, is_alone } => Some((seq, count, is_alone)),
            Done::Conflict => None,
        })
    }

    /// The finds that the project, or a fellow of the agent, may have something to say to, and the rest. Most have nothing
    /// to do with anybody else.
    pub(super) fn due(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        project: &ProjectId,
        finds: &Finds,
    ) -> Result<(Vec<Found>, Vec<Found>), EngineError> {
        let table = Table::open(self, snapshot, owner, project)?;
        let (mut due, mut rest) = (Vec::new(), Vec::new());
        for found in &finds.found {
            let is_known = table.known_to_project(finds, found).is_some();
            let is_due = is_known
                || found.own.reinforce_count >= PROMOTE_AT
                || !found.own.confirmed_by.is_empty()
                || !table.known_to_fellows(found)?.is_empty();
            let may_be = is_due && (is_known || !self.is_denied(snapshot, owner, project, found)?);
            let place = if may_be { &mut due } else { &mut rest };
            place.push(found.clone());
        }
        Ok((due, rest))
    }

    /// Whether the person wrote down for the project that it is otherwise: what they vouch for is not outvoted.
    fn is_denied(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        project: &ProjectId,
        found: &Found,
    ) -> Result<bool, EngineError> {
        let scope = Scope::Project(project.clone());
        // Without waiting for the index: who writes something down does so well before it is found by several.
        for id in self.inner.index.similar(owner, &scope, &found.text, 0, MAX_COMPARED) {
            let memory = snapshot.memory(owner, &id)?.filter(Memory::is_protected);
            if memory
                .is_some_and(|memory| relation(promote::text_of(&memory), &found.text) == Relation::Update)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn in_turn(
        &self,
        owner: &OwnerId,
        project: &ProjectId,
        finds: Finds,
        commit: Option<ChangeSet>,
    ) -> Result<Done, EngineError> {
        let queue = self.inner.known_facts.queue(owner, project);
        let done = Arc::new(Mutex::new(None));
        lock(&queue.waiting).push(Waiting { finds, commit, done: done.clone() });
        let _turn = match queue.wait(&done) {
            Ok(done) => return Ok(done),
            Err(turn) => turn,
        };
        let mut waiting = {
            let mut all = lock(&queue.waiting);
            let is_own = |one: &Waiting| Arc::ptr_eq(&one.done, &done);
            // One's own is among those that are taken.
            all.sort_by_key(|one| !is_own(one));
            let together = all.len().min(MAX_TOGETHER);
            let rest = all.split_off(together);
            std::mem::replace(&mut *all, rest)
        };
        if let Err(error) = self.take_in(owner, project, &mut waiting) {
            // The others find out for themselves, and what is wrong with one of them is not one's own fault.
            let (mut own, others): (Vec<_>, Vec<_>) =
                waiting.into_iter().partition(|one| Arc::ptr_eq(&one.done, &done));
            let is_alone = others.is_empty();
            lock(&queue.waiting).extend(others);
            if is_alone {
                return Err(error);
            }
            self.take_in(owner, project, &mut own)?;
        }
        let done = *lock(&done);
        Ok(done.unwrap_or(Done::Conflict))
    }

    /// Everything that waits, in one step.
    fn take_in(
        &self,
        owner: &OwnerId,
        project: &ProjectId,
        waiting: &mut Vec<Waiting>,
    ) -> Result<(), EngineError> {
        let mut subjects: Vec<Subject> = Vec::new();
        refuse(waiting, |waiting| {
            // Two commits of one session or agent were decided on the same state: one after the other.
            let is_second = waiting.is_about(&subjects);
            let own = waiting.commit.iter().flat_map(|set| &set.expects).map(|(subject, _)| subject);
            subjects.extend(own.filter(|subject| is_written(subject)).cloned());
            is_second
        });
        for _ in 0..CONFLICT_RETRIES {
            let snapshot = self.store().snapshot()?;
            let mut table = Table::open(self, &snapshot, owner, project)?;
            let mut counts = Vec::new();
            let mut set = ChangeSet::new(owner.clone());
            for one in waiting.iter() {
                if let Some(commit) = &one.commit {
                    set.expects.extend(commit.expects.iter().cloned());
                    set.changes.extend(commit.changes.iter().cloned());
                }
                counts.push(table.take(&one.finds, one.commit.is_some())?);
            }
            let is_alone = table.fellows.is_empty();
            let (set, shared) = table.close(set, waiting.iter().zip(counts.iter().copied()))?;
            drop(snapshot);
            if set.changes.is_empty() {
                let seq = self.store().seq();
                waiting.iter().for_each(|one| one.tell(Done::Kept { seq, count: 0, is_alone }));
                return Ok(());
            }
            match self.store().apply(set) {
                Ok(applied) => {
                    let key = (owner.clone(), Scope::Project(project.clone()));
                    if let Some(shared) = shared {
                        self.inner.known_facts.keep(key, applied.seq, Arc::new(shared));
                    }
                    for (one, count) in waiting.iter().zip(counts) {
                        one.tell(Done::Kept { seq: applied.seq, count, is_alone });
                    }
                    return Ok(());
                }
                Err(ApplyError::Conflict { subject, .. }) => {
                    let subject = [subject];
                    refuse(waiting, |one| one.is_about(&subject));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(EngineError::new(Problem::Busy, "others kept changing what the project shares").hint("try again"))
    }
}

/// Whether commits write what was read: that no project was merged, and that nothing of it was forgotten, concerns all of
/// them alike.
fn is_written(subject: &Subject) -> bool {
    !matches!(subject, Subject::Projects | Subject::Aux(Family::Tombstone | Family::Setting, _))
}

/// Takes out those that have to be decided anew, and tells them.
fn refuse(waiting: &mut Vec<Waiting>, mut is_outdated: impl FnMut(&Waiting) -> bool) {
    waiting.retain(|one| {
        let is_outdated = is_outdated(one);
        if is_outdated {
            one.tell(Done::Conflict);
        }
        !is_outdated
    });
}

/// What a project shares, on the table while its agents' finds come in.
struct Table<'a> {
    cache: &'a Cache,
    engine: &'a Engine,
    snapshot: &'a Snapshot,
    owner: &'a OwnerId,
    scope: Scope,
    shared: Vec<Fact>,
    /// What was found in this step, and by whom: it stands nowhere yet.
    found_here: Vec<(AgentId, Arc<Parts>)>,
    /// Facts of agents that were confirmed and cannot be shared, each with those who confirmed it.
    fellows: Vec<(Memory, Vec<String>)>,
    /// Stored facts that others are made of: what is forgotten meanwhile is not shared.
    sources: BTreeSet<MemoryId>,
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
            found_here: Vec::new(),
            fellows: Vec::new(),
            sources: BTreeSet::new(),
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

    fn known_to_fellows(&self, found: &Found) -> Result<Vec<Fact>, EngineError> {
        fellows::saying(self.cache, self.snapshot, self.owner, &found.own.scope, &found.text)
    }

    /// What one agent found, which is kept in this step or was before. Answers how many facts are shared more.
    fn take(&mut self, finds: &Finds, is_kept_now: bool) -> Result<u64, EngineError> {
        let mut count = 0;
        for found in &finds.found {
            let own = match is_kept_now {
                true => Some(found.own.clone()),
                false => self.snapshot.memory(self.owner, &found.own.id)?,
            };
            let Some(own) = own else { continue };
            if !is_kept_now {
                self.sources.insert(own.id.clone());
            } else if !matches!(found.origin, Origin::Injected | Origin::Web) {
                self.found_here.push((finds.agent.clone(), self.cache.parts(&found.text)));
            }
            count += self.confirm(finds, found)? + self.promote(&own).1;
        }
        Ok(count)
    }

    /// The same found by this agent confirms what the project or another agent knows (S0.35).
    fn confirm(&mut self, finds: &Finds, found: &Found) -> Result<u64, EngineError> {
        let agent = [finds.agent.to_string()];
        if let Some(id) = self.known_to_project(finds, found) {
            self.confirm_shared(&id, &agent);
            return Ok(0);
        }
        let saying = self.known_to_fellows(found)?;
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
        self.sources.insert(other.id.clone());
        // Who found it is told where it is shared, and the fellow's own fact stays as it is: its agent is at work on it.
        let (is_shared, count) = self.promote(&other);
        if !is_shared {
            match self.fellows.iter_mut().find(|(known, _)| known.id == other.id) {
                Some((_, all)) => all.extend(finders),
                None => self.fellows.push((other, finders)),
            }
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
        // Somebody may have said it in this step and been contradicted before it was said again.
        let words = self.cache.parts(promote::text_of(fact));
        let says_so = |parts: &Parts| parts.office_relation_to(&words) == Relation::Duplicate;
        let finders = self.found_here.iter().filter(|(_, parts)| says_so(parts));
        let finders: Vec<String> = finders.map(|(agent, _)| agent.to_string()).collect();
        promote::confirm(&mut shared, &finders, self.engine.now());
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

    /// The change set with what is shared, valid only while nobody else changes that, and what the project shares then,
    /// if that is something else.
    fn close<'w>(
        self,
        mut set: ChangeSet,
        waiting: impl Iterator<Item = (&'w Waiting, u64)>,
    ) -> Result<(ChangeSet, Option<Vec<Fact>>), EngineError> {
        let mut is_changed = false;
        for fact in self.shared.iter().filter(|fact| self.changed.contains(&fact.memory.id)) {
            set = set.put_memory(fact.memory.clone());
            is_changed = true;
        }
        for id in self.evicted {
            // One that came and went within this step was never stored.
            if self.snapshot.memory(self.owner, &id)?.is_some() {
                set = set.delete_memory(id);
                is_changed = true;
            }
        }
        if is_changed {
            set = set.expect_seen(self.snapshot, Subject::Scope(self.scope))?;
            for id in self.sources {
                set = set.expect_seen(self.snapshot, Subject::Memory(id))?;
            }
        }
        for (mut memory, finders) in self.fellows {
            // The fellow's own commit may be kept in this step, too.
            let pending = set.changes.iter().rev().find_map(|change| match change {
                Change::PutMemory(put) if put.id == memory.id => Some((**put).clone()),
                _ => None,
            });
            memory = pending.unwrap_or(memory);
            promote::confirm(&mut memory, &finders, self.engine.now());
            set = set.expect_seen(self.snapshot, Subject::Memory(memory.id.clone()))?.put_memory(memory);
        }
        for (one, count) in waiting.filter(|(_, count)| *count > 0) {
            let Some((key, receipt)) = &one.finds.receipt else { continue };
            if one.commit.is_none() {
                // A session that was forgotten meanwhile keeps none.
                if self.snapshot.aux(self.owner, Family::Receipt, key)?.is_none() {
                    continue;
                }
                set = set.expect_seen(self.snapshot, Subject::Aux(Family::Receipt, key.clone()))?;
            }
            let mut receipt = receipt.clone();
            receipt.facts[2] += count;
            set = set.put_aux(Family::Receipt, key.clone(), encoded(&receipt)?);
        }
        Ok((set, is_changed.then_some(self.shared)))
    }
}
