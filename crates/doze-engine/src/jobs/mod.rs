//! Run-end jobs: what a run taught is extracted when it ends (S1.4–S1.8), once an extractor is chosen.
//!
//! A job is a record of its session: queued by the commit that ends the run, durable from that moment, taken by one of
//! two workers, and gone when its outcome is recorded. A switch that was off in between makes it void, also when it
//! is on again.

mod outcome;
mod run;

use std::collections::HashSet;

use doze_core::model::{OwnerId, Session, SessionEnd, SessionKey, SessionKind, WorkState, WorkStatus};
use doze_store::{ChangeSet, Family, Snapshot, Subject, session_aux_key};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::asking::Who;
use crate::clock::day_of;
use crate::commit::SessionName;
use crate::commit::{is_of_harness, names_of};
use crate::{Engine, EngineError, encoded, lock};
use outcome::{Outcome, Part};

/// Jobs that run at once (S1.8).
pub const SLOTS: usize = 2;
/// A conversation that says nothing for this long is over (S1.4).
const IDLE: SignedDuration = SignedDuration::from_mins(10);
/// Starts after which a job that never ended is given up: it may be what ends the process.
const MAX_STARTS: u32 = 3;
/// The setting that counts how often extraction was switched off.
const SWITCH: &str = "extraction_revision";

/// What a commit's answer says of a run that is going to be read.
pub(crate) const QUEUED: &str = "queued";

/// What a session's job looks like in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Job {
    session: String,
    harness: String,
    /// Waiting to be taken.
    queued: Option<Ticket>,
    /// Taken by a worker. What is committed meanwhile queues the session again.
    running: Option<Ticket>,
    /// Who was to read it when it was queued last: the ledger's name.
    #[serde(default)]
    extractor: String,
    /// How often it was taken.
    #[serde(default)]
    starts: u32,
}

/// A place in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Ticket {
    /// Since when it waits.
    at: Timestamp,
    /// Not before this time.
    due: Timestamp,
    /// How often extraction had been switched off by then.
    revision: u64,
    /// It waits for the conversation to fall silent (S1.4).
    #[serde(default)]
    when_silent: bool,
}

/// What a worker does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextJob {
    /// Run the job of this session; it is this worker's now.
    Run(SessionKey),
    /// Nothing to do before this time, or before something is queued.
    Wait(Option<Timestamp>),
}

/// What became of asking that a session is read again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queued {
    /// The session's whole name.
    pub session: String,
    /// `queued` or `skipped: reason`.
    pub extraction: String,
    /// Nothing is read before this time: doze is paused.
    pub paused_until: Option<Timestamp>,
    /// Nobody is asked before this time: the budget of the day is spent.
    pub spent_until: Option<Timestamp>,
}

/// How the queue stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Queue {
    /// Jobs that wait.
    pub pending: u64,
    /// Jobs that run.
    pub running: u64,
    /// How long the oldest has been waiting beyond its time, in seconds.
    pub oldest_seconds: u64,
    /// Runs whose last job failed, and did so today.
    pub failed: u64,
}

impl Engine {
    /// Whether a run that ends now is read afterwards: the change that queues it, and what the commit's answer says.
    pub(crate) fn queued(
        &self,
        snapshot: &Snapshot,
        set: ChangeSet,
        session: &Session,
        end: SessionEnd,
    ) -> Result<(ChangeSet, String), EngineError> {
        let extractors = self.switches().extractors;
        if extractors.jobs == Who::Off {
            return Ok((set, "off".into()));
        }
        if let Some(reason) = never_read(snapshot, &set.owner, session)? {
            return Ok((set, format!("skipped: {reason}")));
        }
        let asked = match extractors.reader(extractors.jobs, &session.key.harness) {
            Ok(asked) => asked,
            Err(reason) => return Ok((set, format!("skipped: {reason}"))),
        };
        if session.event_count <= self.checkpoint(snapshot, &set.owner, &session.key, asked.name())?.ordinal {
            return Ok((set, "skipped: nothing is new".into()));
        }
        let now = self.now();
        // Turns of an assignment end its process; those of a conversation leave it open (S1.4).
        let is_over = end == SessionEnd::Session || session.kind == SessionKind::Assignment;
        let due = if is_over { now } else { now.saturating_add(IDLE).unwrap_or(now) };
        let revision = self.revision(snapshot, &set.owner)?;
        let ticket = Ticket { at: now, due, revision, when_silent: !is_over };
        let set = self.with_ticket(snapshot, set, &session.key, asked.name(), ticket)?;
        Ok((set, QUEUED.into()))
    }

    /// Queues a session that a person asks for, also when its last job failed. Answers what a commit's answer would say
    /// of it, and until when nothing is read, be it paused or the budget of the day spent.
    pub fn extract_again(
        &self,
        owner: &OwnerId,
        named: impl Into<SessionName>,
    ) -> Result<Queued, EngineError> {
        if !self.is_extracting() {
            return Err(match self.is_memory_on() {
                true => {
                    EngineError::refused("no extractor is chosen").hint("run  doze config set extractor auto")
                }
                false => {
                    EngineError::refused("memory is off").hint("run  doze config set memory.enabled true")
                }
            });
        }
        let session = self.meant(&self.store().snapshot()?, owner, &named.into(), "doze extract")?;
        let extraction = self.decide("the session keeps changing", |snapshot| {
            self.queued(snapshot, ChangeSet::new(owner.clone()), &session, SessionEnd::Session)
        })?;
        self.wake_workers();
        let paused_until = self.paused_until(owner)?;
        let spent_until = match self.switches().extractors.jobs {
            Who::Rules => None,
            _ => self.spent_until(&self.store().snapshot()?, owner)?,
        };
        Ok(Queued { session: session.key.session, extraction, paused_until, spent_until })
    }

    fn with_ticket(
        &self,
        snapshot: &Snapshot,
        set: ChangeSet,
        key: &SessionKey,
        extractor: &str,
        ticket: Ticket,
    ) -> Result<ChangeSet, EngineError> {
        let known = job(snapshot, &set.owner, key)?;
        let mut set = set;
        if let Some(job) = &known
            && job.queued.is_some_and(|old| old.revision != ticket.revision)
        {
            // What was said before the switch is not taken in with what was said after it.
            set = passed_over(snapshot, set, key, job)?;
        }
        let waits_since = known.as_ref().and_then(|job| job.queued).map_or(ticket.at, |queued| queued.at);
        let job = Job {
            session: key.session.clone(),
            harness: key.harness.clone(),
            queued: Some(Ticket { at: waits_since, ..ticket }),
            running: known.as_ref().and_then(|job| job.running),
            extractor: extractor.to_owned(),
            starts: known.map_or(0, |job| job.starts),
        };
        put(set.expect_seen(snapshot, Subject::Aux(Family::Job, record(key)))?, key, &job)
    }

    /// Takes the job that has waited longest, if one may run now. A job that a switch made void is recorded as skipped.
    /// Whoever is handed one calls [`Engine::run_job`].
    pub fn next_job(&self, owner: &OwnerId) -> Result<NextJob, EngineError> {
        let mut held = lock(&self.inner.held);
        self.put_back_stranded(owner, &held)?;
        self.void_jobs(owner)?;
        let next = self.taken_job(owner, &held)?;
        if let NextJob::Run(key) = &next {
            held.insert((owner.clone(), key.clone()));
        }
        Ok(next)
    }

    /// Puts jobs back into the queue that count as running although nobody runs them: their worker could not record how
    /// they ended, because the disk was full.
    fn put_back_stranded(
        &self,
        owner: &OwnerId,
        held: &HashSet<(OwnerId, SessionKey)>,
    ) -> Result<(), EngineError> {
        let snapshot = self.store().snapshot()?;
        for job in jobs(&snapshot, owner)?.into_iter().filter(|job| job.running.is_some()) {
            let key = SessionKey::new(job.session, job.harness);
            if !held.contains(&(owner.clone(), key.clone())) {
                self.put_back(owner, &key, None)?;
            }
        }
        Ok(())
    }

    fn taken_job(
        &self,
        owner: &OwnerId,
        held: &HashSet<(OwnerId, SessionKey)>,
    ) -> Result<NextJob, EngineError> {
        self.decide("others keep taking jobs", |snapshot| {
            let set = ChangeSet::new(owner.clone());
            let now = self.now();
            // A session that was forgotten and begun anew waits until who read the former one is done with it.
            let is_held = |job: &Job| {
                held.contains(&(owner.clone(), SessionKey::new(job.session.clone(), job.harness.clone())))
            };
            let free =
                jobs(snapshot, owner)?.into_iter().filter(|job| job.running.is_none() && !is_held(job));
            let mut waiting: Vec<(Ticket, Job)> =
                free.filter_map(|job| job.queued.map(|ticket| (ticket, job))).collect();
            waiting.sort_by_key(|(ticket, _)| (ticket.due, ticket.at));
            let Some((ticket, job)) = waiting.into_iter().next() else {
                return Ok((set, NextJob::Wait(None)));
            };
            if let Some(until) = self.held_until(snapshot, owner)? {
                return Ok((set, NextJob::Wait(Some(until))));
            }
            if ticket.due > now {
                return Ok((set, NextJob::Wait(Some(ticket.due))));
            }
            let key = SessionKey::new(job.session.clone(), job.harness.clone());
            let due = if ticket.when_silent { silent_from(snapshot, owner, &key, now)? } else { now };
            if due > now {
                let set = set.expect_seen(snapshot, Subject::Aux(Family::Job, record(&key)))?;
                let later = Job { queued: Some(Ticket { due, ..ticket }), ..job };
                return Ok((put(set, &key, &later)?, NextJob::Wait(Some(now))));
            }
            let taken = Job { queued: None, running: Some(ticket), starts: job.starts + 1, ..job };
            let set = set.expect_seen(snapshot, Subject::Aux(Family::Job, record(&key)))?;
            Ok((put(set, &key, &taken)?, NextJob::Run(key)))
        })
    }

    /// A run that the application's end cut off is not read, nor what of it waited to be (S1.7).
    pub(crate) fn unqueued(
        &self,
        snapshot: &Snapshot,
        set: ChangeSet,
        session: &Session,
    ) -> Result<ChangeSet, EngineError> {
        let key = &session.key;
        let Some(known) = job(snapshot, &set.owner, key)?.filter(|job| job.queued.is_some()) else {
            return Ok(set);
        };
        let set = set.expect_seen(snapshot, Subject::Aux(Family::Job, record(key)))?;
        let outcome = Outcome { at: self.now(), ..Outcome::skipped("the application quits") };
        let set = set.put_aux(Family::Outcome, record(key), encoded(&outcome)?);
        match known.running {
            Some(_) => put(set, key, &Job { queued: None, ..known }),
            None => Ok(set.delete_aux(Family::Job, record(key))),
        }
    }

    /// Until when no job may run: doze is paused, or the budget of the day is spent.
    fn held_until(&self, snapshot: &Snapshot, owner: &OwnerId) -> Result<Option<Timestamp>, EngineError> {
        if let Some(until) = self.paused_until(owner)? {
            return Ok(Some(until));
        }
        if self.switches().extractors.jobs == Who::Rules {
            return Ok(None);
        }
        self.spent_until(snapshot, owner)
    }

    /// Records the jobs as skipped that a switch made void.
    fn void_jobs(&self, owner: &OwnerId) -> Result<(), EngineError> {
        let snapshot = self.store().snapshot()?;
        let revision = self.revision(&snapshot, owner)?;
        let is_void = |job: &Job| job.queued.is_some_and(|ticket| ticket.revision != revision);
        for job in jobs(&snapshot, owner)?.into_iter().filter(is_void) {
            let key = SessionKey::new(job.session.clone(), job.harness.clone());
            self.end_job(owner, &key, Part::Queued, |snapshot, set| {
                let set = passed_over(snapshot, set, &key, &job)?;
                Ok((set, Outcome::skipped("extraction was switched off while it waited")))
            })?;
        }
        Ok(())
    }

    /// Jobs that an ended process left running wait again; one that never ends is given up. Called once, before the
    /// workers start.
    pub fn recover_jobs(&self, owner: &OwnerId) -> Result<(), EngineError> {
        let snapshot = self.store().snapshot()?;
        let jobs = jobs(&snapshot, owner)?;
        if !jobs.is_empty() && !self.is_extracting() {
            self.note_switched_off(owner);
        }
        for job in jobs.into_iter().filter(|job| job.running.is_some()) {
            let key = SessionKey::new(job.session.clone(), job.harness.clone());
            if job.starts >= MAX_STARTS {
                let reason = format!("it was cut off {MAX_STARTS} times");
                self.end_job(owner, &key, Part::Running, |_, set| Ok((set, Outcome::failed(&reason))))?;
                continue;
            }
            let waiting = Job { queued: job.queued.or(job.running), running: None, ..job };
            self.store().apply(put(ChangeSet::new(owner.clone()), &key, &waiting)?)?;
        }
        Ok(())
    }

    /// How the queue stands.
    pub fn queue(&self, owner: &OwnerId) -> Result<Queue, EngineError> {
        let snapshot = self.store().snapshot()?;
        let now = self.now();
        let today = day_of(now);
        let failed = self.failures(&snapshot, owner)?.iter().filter(|(_, at)| day_of(*at) == today).count();
        let mut queue = Queue { failed: failed as u64, ..Queue::default() };
        for job in jobs(&snapshot, owner)? {
            queue.running += u64::from(job.running.is_some());
            if let Some(ticket) = job.queued {
                queue.pending += 1;
                let late = now.duration_since(ticket.due).as_secs();
                queue.oldest_seconds = queue.oldest_seconds.max(u64::try_from(late).unwrap_or_default());
            }
        }
        Ok(queue)
    }

    /// Notes that extraction was switched off: what waits or runs is void, also when it is switched on again (S1.8).
    pub(crate) fn note_switched_off(&self, owner: &OwnerId) {
        let noted = self.decide("the switches keep changing", |snapshot| {
            let revision = self.revision(snapshot, owner)? + 1;
            let set = ChangeSet::new(owner.clone())
                .expect_seen(snapshot, Subject::Aux(Family::Setting, SWITCH.to_owned()))?;
            Ok((set.put_aux(Family::Setting, SWITCH, revision.to_string().into_bytes()), ()))
        });
        if let Err(error) = noted {
            tracing::warn!(error = %crate::chain(&error), "Jobs that wait could not be made void");
        }
    }

    /// How often extraction was switched off so far.
    fn revision(&self, snapshot: &Snapshot, owner: &OwnerId) -> Result<u64, EngineError> {
        let bytes = snapshot.aux(owner, Family::Setting, SWITCH)?;
        Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()?.parse().ok()).unwrap_or_default())
    }

    /// Waits until something was queued or switched since `seen`, until `until`, or until the engine is closed. Answers
    /// what to hand in next time; `None` when the engine is closed.
    pub fn await_jobs(&self, seen: u64, until: std::time::Duration) -> Option<u64> {
        let bell = &self.inner.bell;
        let state = lock(&bell.state);
        let (state, _) = bell
            .rang
            .wait_timeout_while(state, until, |state| state.rings == seen && !state.is_closed)
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        (!state.is_closed).then_some(state.rings)
    }

    /// Tells the workers to look again.
    pub fn wake_workers(&self) {
        lock(&self.inner.bell.state).rings += 1;
        self.inner.bell.rang.notify_all();
    }

    /// Ends the workers, and does not wait for whoever is asked just now: their jobs are run after the next start.
    pub fn stop_asking(&self) {
        lock(&self.inner.bell.state).is_closed = true;
        self.inner.bell.rang.notify_all();
    }

    pub(crate) fn is_closing(&self) -> bool {
        lock(&self.inner.bell.state).is_closed
    }
}

/// What wakes the workers.
#[derive(Default)]
pub(crate) struct Bell {
    state: std::sync::Mutex<BellState>,
    rang: std::sync::Condvar,
}

#[derive(Default)]
struct BellState {
    rings: u64,
    is_closed: bool,
}

/// The key of a session's job and of its outcome.
pub(crate) fn record(key: &SessionKey) -> String {
    session_aux_key(key, "")
}

fn put(set: ChangeSet, key: &SessionKey, job: &Job) -> Result<ChangeSet, EngineError> {
    Ok(set.put_aux(Family::Job, record(key), encoded(job)?))
}

/// Why a session is never read, whoever asks: its kind (S1.5), or that its project is ignored.
pub(crate) fn never_read(
    snapshot: &Snapshot,
    owner: &OwnerId,
    session: &Session,
) -> Result<Option<String>, EngineError> {
    if !session.kind.is_learned_from() {
        return Ok(Some(format!("{} sessions are not learned from", session.kind)));
    }
    let project = session.project.as_ref().map(|id| snapshot.project(owner, id)).transpose()?.flatten();
    Ok(project.is_some_and(|project| project.ignored).then(|| "the project is ignored".to_owned()))
}

/// From when on a conversation has been silent long enough: counted from what it said last, and from what its agent
/// was last seen at.
fn silent_from(
    snapshot: &Snapshot,
    owner: &OwnerId,
    key: &SessionKey,
    now: Timestamp,
) -> Result<Timestamp, EngineError> {
    let works = snapshot.works(owner)?;
    let session = snapshot.session(owner, key)?;
    // What its agent calls it, another agent may call another one.
    let is_of_it = |work: &&WorkState| {
        let is_named =
            work.session.as_deref().is_some_and(|name| names_of(&key.session).any(|own| own == name));
        let is_its_agents = session.as_ref().is_none_or(|session| {
            is_of_harness(&session.agent.id, &key.harness)
                || (&work.agent.id, &work.project) == (&session.agent.id, &session.project)
        });
        is_named && is_its_agents && work.status == WorkStatus::Running
    };
    let seen = works
        .iter()
        .filter(is_of_it)
        .map(|work| work.updated_at)
        .chain(session.as_ref().map(|session| session.last_event_at))
        // A time that lies ahead was told by another clock.
        .filter(|at| *at <= now)
        .max();
    Ok(seen.and_then(|at| at.checked_add(IDLE).ok()).unwrap_or(now))
}

/// What a session said so far is never read by its job.
fn passed_over(
    snapshot: &Snapshot,
    set: ChangeSet,
    key: &SessionKey,
    job: &Job,
) -> Result<ChangeSet, EngineError> {
    match snapshot.session(&set.owner, key)? {
        Some(session) => {
            crate::dream::checkpointed(set, key, &job.extractor, session.event_count, session.rounds)
        }
        None => Ok(set),
    }
}

fn job(snapshot: &Snapshot, owner: &OwnerId, key: &SessionKey) -> Result<Option<Job>, EngineError> {
    let bytes = snapshot.aux(owner, Family::Job, &record(key))?;
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

/// All jobs. There are as many as sessions that ended lately.
fn jobs(snapshot: &Snapshot, owner: &OwnerId) -> Result<Vec<Job>, EngineError> {
    let records = snapshot.aux_scan(owner, Family::Job, "")?;
    Ok(records.into_iter().filter_map(|(_, bytes)| serde_json::from_slice(&bytes).ok()).collect())
}
