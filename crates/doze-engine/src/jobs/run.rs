//! One job: the run's events, a digest of them, somebody's reply, and what is kept of it in one transaction (S1.9–S1.18).

use std::panic::{AssertUnwindSafe, catch_unwind};

use doze_core::digest::digest;
use doze_core::model::{Event, EventKind, OwnerId, Session, SessionKey, SessionKind, Summary};
use doze_dream::{
    Candidate, Caps, ExtractContext, PlanInput, candidates, is_own_account, own, proposed, settled, spoken_of,
};
use doze_extract::Extractor;
use doze_extract::reply::RunSummary;
use doze_store::{ChangeSet, Family, Snapshot, Subject};
use jiff::Timestamp;

use super::outcome::{FAILED, Outcome, Part};
use super::{Ticket, job, never_read};
use crate::asking::{Asked, Unanswered};
use crate::commit::SessionName;
use crate::dream::followed;
use crate::history::EVENTS_READ;
use crate::{Engine, EngineError, lock};

/// What a run taught, not yet settled against what is known.
struct Found {
    session: Session,
    /// Events from this ordinal on …
    from: u64,
    /// … and below this one are read now, and the rounds there.
    upto: u64,
    rounds: u64,
    candidates: Vec<Candidate>,
    summary: Option<RunSummary>,
}

/// How far a job came.
enum Work {
    Found(Box<Found>),
    /// There is nothing to settle; what was looked at counts as read or not.
    Over {
        outcome: Outcome,
        is_read: bool,
    },
    /// It waits again, and at least until then.
    Back(Option<Timestamp>),
}

impl Engine {
    /// Runs the job that [`Engine::next_job`] handed out, to its recorded end. After an error, which means that the store
    /// cannot be read or written, it waits again; a run that makes its reader panic has failed, and its reader goes on.
    pub fn run_job(&self, owner: &OwnerId, key: &SessionKey) -> Result<(), EngineError> {
        // What could not be recorded or put back is nobody's afterwards, and `next_job` puts it back.
        let _held = Held { engine: self, job: (owner.clone(), key.clone()) };
        self.run_held(owner, key)
    }

    fn run_held(&self, owner: &OwnerId, key: &SessionKey) -> Result<(), EngineError> {
        match catch_unwind(AssertUnwindSafe(|| self.run_taken(owner, key))) {
            Ok(ran) => ran.inspect_err(|_| {
                // Where not even this can be written, whoever looks for a job next does it.
                let _ = self.put_back(owner, key, None);
            }),
            Err(_) => {
                tracing::error!(session = key.session, "Reading a run broke off");
                let outcome = Outcome::failed("reading it broke off, which is a defect of doze");
                self.end_job(owner, key, Part::Running, |_, set| Ok((set, outcome.clone())))
            }
        }
    }

    fn run_taken(&self, owner: &OwnerId, key: &SessionKey) -> Result<(), EngineError> {
        let snapshot = self.store().snapshot()?;
        let (Some(ticket), Some(session)) =
            (job(&snapshot, owner, key)?.and_then(|job| job.running), snapshot.session(owner, key)?)
        else {
            return Ok(());
        };
        let extractors = self.switches().extractors;
        let asked = match extractors.reader(extractors.jobs, &key.harness) {
            Ok(asked) => asked,
            Err(reason) => {
                return self
                    .end_job(owner, key, Part::Running, |_, set| Ok((set, Outcome::skipped(&reason))));
            }
        };
        let read = (session.event_count, session.rounds);
        match self.worked(&snapshot, owner, session, &asked, ticket)? {
            Work::Back(due) => self.put_back(owner, key, due),
            Work::Over { outcome, is_read } => {
                if outcome.state == FAILED {
                    tracing::warn!(session = key.session, reason = outcome.reason, "A run was not extracted");
                }
                let outcome = outcome.by(asked.name());
                self.end_job(owner, key, Part::Running, |_, set| {
                    let set = if is_read { self.read_upto(set, key, &asked, read)? } else { set };
                    Ok((set, outcome.clone()))
                })
            }
            // Nothing is learned while doze is paused, also by whoever was asked before.
            Work::Found(_) if self.paused_until(owner)?.is_some() => self.put_back(owner, key, None),
            Work::Found(found) => self.keep(owner, key, &asked, ticket, &found),
        }
    }

    fn worked(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        session: Session,
        asked: &Asked,
        ticket: Ticket,
    ) -> Result<Work, EngineError> {
        let over = |outcome: Outcome, is_read: bool| Ok(Work::Over { outcome, is_read });
        if let Some(reason) = never_read(snapshot, owner, &session)? {
            return over(Outcome::skipped(&reason), false);
        }
        let from = self.checkpoint(snapshot, owner, &session.key, asked.name())?.ordinal;
        let (upto, rounds) = (session.event_count, session.rounds);
        let events = self.events_of_run(snapshot, owner, &session, from)?;
        if events.is_empty() {
            return over(Outcome::skipped("nothing is new"), false);
        }
        let has_task = session.task.is_some() || session.kind == SessionKind::Assignment;
        if !has_task && !events.iter().any(|(_, event)| is_of_agent(event)) {
            return over(Outcome::skipped("no turn of it was finished"), false);
        }
        let was_shown = |hash, voice| self.was_shown(snapshot, owner, session.project.as_ref(), hash, voice);
        let caps = Caps::default();
        let context = ExtractContext { was_shown: &was_shown, caps: &caps };
        let (found, summary) = match asked {
            Asked::Rules => (candidates(&session, &events, &context), None),
            Asked::Somebody(extractor) => {
                let own = own(&events, &was_shown);
                let Some(digest) = digest(own.iter().map(|(_, event)| event)) else {
                    return over(Outcome::skipped("it has neither a prompt nor a tool call"), true);
                };
                match self.asked_within(owner, extractor, &session, &digest, ticket)? {
                    Ok(replied) => {
                        let own =
                            |told: String| Some(told).filter(|told| is_own_account(&events, told, &context));
                        let summary = replied.summary.map(|told| RunSummary {
                            open_items: spoken_of(&events, &told.open_items, &context),
                            request: own(told.request).unwrap_or_default(),
                            work_done: own(told.work_done).unwrap_or_default(),
                            outcome: own(told.outcome).unwrap_or_default(),
                        });
                        (proposed(&session, &events, &replied.proposals, &context), summary)
                    }
                    Err(Unanswered::Spent(until)) => return Ok(Work::Back(Some(until))),
                    Err(Unanswered::GivenUp) if self.is_closing() => return Ok(Work::Back(None)),
                    Err(Unanswered::GivenUp) => {
                        return over(Outcome::skipped("extraction was switched off while it ran"), true);
                    }
                    Err(Unanswered::Failed(reason)) => return over(Outcome::failed(&reason), false),
                    Err(Unanswered::Unparsable) => {
                        return over(Outcome::skipped("the reply could not be read"), true);
                    }
                }
            }
        };
        let mut kept = Vec::new();
        for candidate in found {
            if !self.is_forgotten_candidate(snapshot, owner, &candidate)? {
                kept.push(candidate);
            }
        }
        if kept.is_empty() && summary.is_none() {
            return over(Outcome::empty("nothing worth keeping was found"), true);
        }
        Ok(Work::Found(Box::new(Found { session, from, upto, rounds, candidates: kept, summary })))
    }

    /// Asks, and stops waiting when the process ends or extraction is switched off.
    fn asked_within(
        &self,
        owner: &OwnerId,
        extractor: &Extractor,
        session: &Session,
        digest: &str,
        ticket: Ticket,
    ) -> Result<Result<crate::asking::Replied, Unanswered>, EngineError> {
        let gave_up = || self.is_closing() || !self.is_wanted(owner, ticket);
        self.ask(owner, extractor, session, digest, &gave_up)
    }

    /// Whether extraction was never switched off since a ticket was given.
    fn is_wanted(&self, owner: &OwnerId, ticket: Ticket) -> bool {
        let revision = self.store().snapshot().ok().and_then(|snapshot| self.revision(&snapshot, owner).ok());
        self.is_extracting() && revision.is_none_or(|revision| revision == ticket.revision)
    }

    /// Settles what was found against what is known, and records all of it in one step.
    fn keep(
        &self,
        owner: &OwnerId,
        key: &SessionKey,
        asked: &Asked,
        ticket: Ticket,
        found: &Found,
    ) -> Result<(), EngineError> {
        self.end_job(owner, key, Part::Running, |snapshot, set| {
            let ledger = crate::dream::session_record(key, asked.name());
            let set = set
                .expect_seen(snapshot, Subject::Session(key.clone()))?
                .expect_seen(snapshot, Subject::Aux(Family::Checkpoint, ledger))?;
            if self.checkpoint(snapshot, owner, key, asked.name())?.ordinal > found.from {
                let outcome = Outcome::skipped("a dream has read it meanwhile").by(asked.name());
                return Ok((set, outcome));
            }
            let set = self.read_upto(set, key, asked, (found.upto, found.rounds))?;
            if !self.is_wanted(owner, ticket) {
                return Ok((
                    set,
                    Outcome::skipped("extraction was switched off while it ran").by(asked.name()),
                ));
            }
            let Some(session) = snapshot.session(owner, key)? else {
                return Ok((set, Outcome::skipped("the session was forgotten").by(asked.name())));
            };
            if let Some(reason) = never_read(snapshot, owner, &session)? {
                return Ok((set, Outcome::skipped(&reason).by(asked.name())));
            }
            let candidates: Vec<Candidate> = found
                .candidates
                .iter()
                .filter_map(|candidate| {
                    let scope = followed(&candidate.scope, &found.session, &session)?;
                    Some(Candidate { scope, ..candidate.clone() })
                })
                .collect();
            let (mut set, count) = self.with_findings(snapshot, set, asked, &session, &candidates)?;
            if let Some(told) = &found.summary {
                set = set.put_session(with_summary(session, told));
            }
            let outcome = match count {
                0 if found.summary.is_none() => Outcome::empty("everything it found is known"),
                0 => Outcome::empty("a summary was kept, and nothing else was worth keeping"),
                _ => Outcome::done(),
            };
            Ok((set, outcome.by(asked.name())))
        })
    }

    /// The memories a run changes; answers how many.
    fn with_findings(
        &self,
        snapshot: &Snapshot,
        mut set: ChangeSet,
        asked: &Asked,
        session: &Session,
        candidates: &[Candidate],
    ) -> Result<(ChangeSet, usize), EngineError> {
        let owner = set.owner.clone();
        let findings = self.findings(snapshot, &owner, session, candidates, asked)?;
        let mut existing = Vec::new();
        let mut scopes: Vec<_> = findings.iter().map(|finding| finding.candidate.scope.clone()).collect();
        scopes.sort();
        scopes.dedup();
        for scope in scopes {
            set = set.expect_seen(snapshot, Subject::Scope(scope.clone()))?;
            existing.extend(snapshot.memories(&owner, &scope)?);
        }
        // A run may replace as much as it may say; what it says beyond that was cut off when its reply was read.
        let caps = Caps { min_changed: doze_extract::reply::MAX_MEMORIES, ..Caps::default() };
        let plan = settled(
            &PlanInput {
                existing: &existing,
                candidates: &findings,
                ended: &[],
                ran: &[],
                spent: &[],
                taken_back: &self.taken_back(snapshot, &owner)?,
                now: self.now(),
                caps: &caps,
                take_apart: &|text| self.inner.known_facts.parts(text),
            },
            &mut || self.new_memory_id(),
        );
        let changed = crate::dream::last_states(&plan);
        let count = changed.len();
        Ok((self.put_learned(snapshot, set, changed)?, count))
    }

    fn read_upto(
        &self,
        set: ChangeSet,
        key: &SessionKey,
        asked: &Asked,
        (ordinal, rounds): (u64, u64),
    ) -> Result<ChangeSet, EngineError> {
        crate::dream::checkpointed(set, key, asked.name(), ordinal, rounds)
    }

    /// The newest events of a run, and its opening request in front of them when it is older (S1.9).
    pub(crate) fn events_of_run(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        session: &Session,
        from: u64,
    ) -> Result<Vec<(u64, Event)>, EngineError> {
        let mut events = self.newest_events(snapshot, owner, &session.key, from..session.event_count)?;
        let first = events.first().map_or(from, |(ordinal, _)| *ordinal);
        let opening =
            snapshot.events(owner, &session.key, from..first.min(from.saturating_add(EVENTS_READ)))?;
        events.splice(0..0, opening.into_iter().find(|(_, event)| event.kind == EventKind::Prompt));
        Ok(events)
    }

    /// The digest somebody would be given of a whole session (S1.9–S1.12); empty when there is nothing to distill.
    pub fn digest(&self, owner: &OwnerId, named: impl Into<SessionName>) -> Result<String, EngineError> {
        let snapshot = self.store().snapshot()?;
        let session = self.meant(&snapshot, owner, &named.into(), "doze digest")?;
        let unread = self.checkpoint(&snapshot, owner, &session.key, crate::dream::NOBODY)?.ordinal;
        let events = self.events_of_run(&snapshot, owner, &session, unread)?;
        let own = own(&events, &|hash, voice| {
            self.was_shown(&snapshot, owner, session.project.as_ref(), hash, voice)
        });
        Ok(digest(own.iter().map(|(_, event)| event)).unwrap_or_default())
    }

    /// Whether run-end jobs are wanted at all.
    pub(crate) fn is_extracting(&self) -> bool {
        let switches = lock(&self.inner.switches);
        switches.memory_enabled && switches.extractors.jobs != crate::asking::Who::Off
    }
}

/// A job in the hands of a worker, however that ends.
struct Held<'a> {
    engine: &'a Engine,
    job: (OwnerId, SessionKey),
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        lock(&self.engine.inner.held).remove(&self.job);
    }
}

/// Whether the agent did anything: a conversation without a turn is not distilled (S1.5).
fn is_of_agent(event: &Event) -> bool {
    matches!(event.kind, EventKind::Answer | EventKind::Tool | EventKind::File | EventKind::Commit)
}

/// The session with what a run was about in the words of who was asked (S1.3), as far as they told it.
fn with_summary(mut session: Session, told: &RunSummary) -> Session {
    let before = session.summary.unwrap_or_default();
    let or = |told: &String, before: String| if told.trim().is_empty() { before } else { told.clone() };
    session.summary = Some(Summary {
        request: or(&told.request, before.request),
        work_done: or(&told.work_done, before.work_done),
        outcome: or(&told.outcome, before.outcome),
        open_items: told.open_items.clone(),
        ..before
    });
    session
}
