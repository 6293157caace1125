//! Reading one session for a dream: by rule, or by asking somebody. What it yields is kept before the next one is read.

use std::collections::BTreeSet;

use doze_core::extract::programs_that_ran;
use doze_core::model::{Event, OwnerId, Scope, Session};
use doze_dream::{
    Candidate, CandidateOf, Caps, Choice, ExtractContext, Ran, candidates, digest, ended, own, proposed, told,
};
use doze_extract::Extractor;
use doze_store::{ChangeSet, Family, Snapshot, Subject};
use jiff::Timestamp;

use super::breaks::{Break, reach};
use super::state::{Kept, Yielded, session_record};
use crate::asking::{Asked, Unanswered};
use crate::commit::names_of;
use crate::jobs::never_read;
use crate::{Engine, EngineError, encoded};

/// A session that is read, by whom, and what it yields.
#[derive(Clone)]
pub(super) struct Reading {
    pub(super) session: Session,
    pub(super) asked: Asked,
    pub(super) yielded: Yielded,
    /// Until when a session of this name had been forgotten when it was read.
    forgotten_at: Option<Timestamp>,
}

impl Reading {
    /// What ran in it, for the plan.
    pub(super) fn ran(&self) -> Ran {
        let session = &self.session;
        Ran { session: session.key.clone(), at: session.last_event_at, programs: self.yielded.ran.clone() }
    }
}

/// Where what a session taught belongs now: projects are merged while somebody reads. `None`: its project is gone.
pub(crate) fn followed(scope: &Scope, before: &Session, now: &Session) -> Option<Scope> {
    match (scope, &now.project) {
        (Scope::Project(project), to) if Some(project) == before.project.as_ref() => {
            to.clone().map(Scope::Project)
        }
        _ => Some(scope.clone()),
    }
}

/// How reading a session ended.
pub(super) enum Read {
    Reading(Box<Reading>),
    /// Nobody read it; a failure that `counts` makes the next try wait longer each time.
    Retry {
        reason: String,
        counts: bool,
    },
    /// It was forgotten meanwhile.
    Gone,
}

/// What was found in a session.
struct Found {
    upto: u64,
    rounds: u64,
    candidates: Vec<Candidate>,
    ended: Vec<Candidate>,
    /// The programs that ran.
    ran: BTreeSet<String>,
    is_unreadable: bool,
}

impl Engine {
    /// Extracts from one session, or takes what an interrupted sweep has extracted.
    pub(super) fn read(
        &self,
        owner: &OwnerId,
        choice: &Choice,
        from: u64,
        dry_run: bool,
    ) -> Result<Read, EngineError> {
        let asked = match self.dream_reader(&choice.key.harness) {
            Ok(asked) => asked,
            Err(reason) => return Ok(Read::Retry { reason, counts: true }),
        };
        let record = session_record(&choice.key, asked.name());
        // Words that are forgotten meanwhile must not be kept: forgetting touches the session they came from.
        for _ in 0..crate::CONFLICT_RETRIES {
            let snapshot = self.store().snapshot()?;
            let Some(session) = snapshot.session(owner, &choice.key)? else { return Ok(Read::Gone) };
            let forgotten_at = self.forgotten_at(&snapshot, owner, &session)?;
            let kept = snapshot.aux(owner, Family::Candidates, &record)?;
            let kept: Option<Yielded> = kept.and_then(|bytes| serde_json::from_slice(&bytes).ok());
            // What came after it was kept is for a later sweep: one range is read once (`R10`).
            if let Some(yielded) = kept.filter(|kept| kept.from == from && kept.upto <= session.event_count) {
                let reading = Reading { session, asked, yielded, forgotten_at };
                return Ok(Read::Reading(Box::new(reading)));
            }
            let events = self.newest_events(&snapshot, owner, &choice.key, from..session.event_count)?;
            let found = match &asked {
                Asked::Rules => Ok(self.found_by_rule(&snapshot, owner, &session, &events)),
                Asked::Somebody(extractor) => {
                    self.found_by_asking(&snapshot, owner, &session, &events, extractor)?
                }
            };
            let found = match found {
                Ok(found) => found,
                Err(retry) => return Ok(retry),
            };
            reach(Break::Answered);
            let yielded = self.yielded(&snapshot, owner, from, &found)?;
            if !dry_run {
                let set = ChangeSet::new(owner.clone())
                    .expect_seen(&snapshot, Subject::Session(choice.key.clone()))?
                    .put_aux(Family::Candidates, record.clone(), encoded(&yielded)?);
                match self.store().apply(set) {
                    Ok(_) => {}
                    // What was asked for is not asked for again: the plan looks at what is forgotten once more.
                    Err(doze_store::ApplyError::Conflict { .. }) if matches!(asked, Asked::Rules) => continue,
                    Err(doze_store::ApplyError::Conflict { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            reach(Break::Kept);
            return Ok(Read::Reading(Box::new(Reading { session, asked, yielded, forgotten_at })));
        }
        Ok(Read::Retry { reason: "the session keeps changing".to_owned(), counts: true })
    }

    /// Who reads a session of this harness for a dream.
    fn dream_reader(&self, harness: &str) -> Result<Asked, String> {
        let extractors = self.switches().extractors;
        match extractors.dream_ledger(harness) {
            "rules" => Ok(Asked::Rules),
            _ => extractors.reader(extractors.dreams, harness),
        }
    }

    fn found_by_rule(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        session: &Session,
        events: &[(u64, Event)],
    ) -> Found {
        let was_shown = |hash, voice| self.was_shown(snapshot, owner, session.project.as_ref(), hash, voice);
        let caps = Caps::default();
        let context = ExtractContext { was_shown: &was_shown, caps: &caps };
        let (candidates, ended) = (candidates(session, events, &context), ended(session, events, &context));
        let (upto, rounds, ran) = (session.event_count, session.rounds, programs_that_ran(events));
        Found { upto, rounds, candidates, ended, ran, is_unreadable: false }
    }

    fn found_by_asking(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        session: &Session,
        events: &[(u64, Event)],
        extractor: &Extractor,
    ) -> Result<Result<Found, Read>, EngineError> {
        let was_shown = |hash, voice| self.was_shown(snapshot, owner, session.project.as_ref(), hash, voice);
        let caps = Caps::default();
        let digest = told(&digest(&own(events, &was_shown), caps.max_digest_tokens));
        let mut found = Found {
            upto: session.event_count,
            rounds: session.rounds,
            candidates: Vec::new(),
            ended: ended(session, events, &ExtractContext { was_shown: &was_shown, caps: &caps }),
            ran: programs_that_ran(events),
            is_unreadable: false,
        };
        if digest.trim().is_empty() {
            return Ok(Ok(found));
        }
        reach(Break::Digested);
        let gave_up = || self.is_closing() || !self.switches().memory_enabled;
        let retry = |reason: String, counts: bool| Ok(Err(Read::Retry { reason, counts }));
        match self.ask(owner, extractor, session, &digest, &gave_up)? {
            Ok(mut replied) => {
                replied.proposals.truncate(caps.max_entries_per_session);
                let context = ExtractContext { was_shown: &was_shown, caps: &caps };
                found.candidates = proposed(session, events, &replied.proposals, &context);
                Ok(Ok(found))
            }
            Err(Unanswered::Unparsable) => Ok(Ok(Found { is_unreadable: true, ..found })),
            Err(Unanswered::Failed(reason)) => retry(reason, true),
            Err(Unanswered::Spent(until)) => {
                retry(format!("the budget of the day is spent; there is more from {until} on"), false)
            }
            Err(Unanswered::GivenUp) => retry("memory was switched off, or doze is ending".to_owned(), false),
        }
    }

    /// What a session yields, without what was forgotten.
    fn yielded(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        from: u64,
        found: &Found,
    ) -> Result<Yielded, EngineError> {
        let unforgotten = |candidates: &[Candidate]| -> Result<Vec<Kept>, EngineError> {
            let mut kept = Vec::new();
            for candidate in candidates {
                if !self.is_forgotten_candidate(snapshot, owner, candidate)? {
                    kept.push(candidate.into());
                }
            }
            Ok(kept)
        };
        let (kept, ended) = (unforgotten(&found.candidates)?, unforgotten(&found.ended)?);
        Ok(Yielded {
            from,
            upto: found.upto,
            rounds: found.rounds,
            candidates: kept,
            ended,
            ran: found.ran.clone(),
            is_unreadable: found.is_unreadable,
        })
    }

    /// What of the readings still holds, each in the project its session is in by now: a session that was forgotten or read
    /// by somebody else meanwhile, or whose project is ignored by now, teaches nothing.
    pub(super) fn standing(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        readings: &[Reading],
    ) -> Result<Vec<Reading>, EngineError> {
        let mut standing = Vec::new();
        for reading in readings {
            let key = &reading.session.key;
            let Some(session) = snapshot.session(owner, key)? else { continue };
            // One that was begun anew under the name of a forgotten one was not read yet.
            let is_another = self.forgotten_at(snapshot, owner, &session)? != reading.forgotten_at;
            let read = self.checkpoint(snapshot, owner, key, reading.asked.name())?.ordinal;
            if is_another || read > reading.yielded.from || never_read(snapshot, owner, &session)?.is_some() {
                continue;
            }
            let mut reading = reading.clone();
            for found in [&mut reading.yielded.candidates, &mut reading.yielded.ended] {
                found.retain_mut(|kept| kept.follow(&reading.session, &session));
            }
            reading.session = session;
            standing.push(reading);
        }
        Ok(standing)
    }

    /// The candidates of a session as a plan takes them, without what was forgotten since they were found.
    pub(crate) fn findings(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        session: &Session,
        candidates: &[Candidate],
        asked: &Asked,
    ) -> Result<Vec<CandidateOf>, EngineError> {
        let mut shown = self.shown_to(snapshot, owner, &session.agent.id, session.project.as_ref())?;
        for name in names_of(&session.key.session) {
            shown.extend(self.shown_in(snapshot, owner, Some(name))?);
        }
        let mut findings = Vec::new();
        for candidate in candidates {
            if self.is_forgotten_candidate(snapshot, owner, candidate)? {
                continue;
            }
            findings.push(CandidateOf {
                session: session.key.clone(),
                owner: owner.clone(),
                agent: session.agent.clone(),
                task: session.task.as_ref().map(|task| task.id.clone()).filter(|id| !id.is_empty()),
                shown: shown.iter().cloned().map(Into::into).collect(),
                found_by: asked.verification(),
                candidate: candidate.clone(),
            });
        }
        Ok(findings)
    }

    pub(crate) fn is_forgotten_candidate(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        candidate: &Candidate,
    ) -> Result<bool, EngineError> {
        let place = candidate.scope.project();
        Ok(self.is_forgotten(snapshot, owner, place, &candidate.body, candidate.origin)?
            || self.is_forgotten(snapshot, owner, place, &candidate.title, candidate.origin)?)
    }
}
