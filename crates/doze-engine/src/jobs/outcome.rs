//! What became of a job, and taking it off the queue with everything it changes in one step.

use doze_core::model::{OwnerId, SessionKey};
use doze_store::{ChangeSet, Family, Snapshot, Subject};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Job, job, put, record};
use crate::{Engine, EngineError, encoded};

/// The state of a job that failed.
pub(super) const FAILED: &str = "failed";

/// How the last job of a session ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// `done`, `empty`, `skipped` or `failed`.
    pub(crate) state: String,
    /// Why; empty when done.
    pub(crate) reason: String,
    /// Who extracted; empty when nobody began.
    pub(crate) extractor: String,
    /// When.
    pub(crate) at: Timestamp,
}

impl Outcome {
    fn of(state: &str, reason: &str) -> Self {
        let (reason, extractor) = (reason.to_owned(), String::new());
        Self { state: state.to_owned(), reason, extractor, at: Timestamp::UNIX_EPOCH }
    }

    pub(super) fn done() -> Self {
        Self::of("done", "")
    }

    pub(super) fn empty(reason: &str) -> Self {
        Self::of("empty", reason)
    }

    pub(super) fn skipped(reason: &str) -> Self {
        Self::of("skipped", reason)
    }

    pub(super) fn failed(reason: &str) -> Self {
        Self::of(FAILED, reason)
    }

    pub(super) fn by(self, extractor: &str) -> Self {
        Self { extractor: extractor.to_owned(), ..self }
    }
}

/// Which part of a job is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// What waits.
    Queued,
    /// What runs.
    Running,
}

impl Engine {
    /// Takes a part of a job off the queue, with what `make` changes and the outcome it tells, in one step. Nothing
    /// happens when that part is gone: the session was forgotten.
    pub(super) fn end_job(
        &self,
        owner: &OwnerId,
        key: &SessionKey,
        part: Part,
        mut make: impl FnMut(&Snapshot, ChangeSet) -> Result<(ChangeSet, Outcome), EngineError>,
    ) -> Result<(), EngineError> {
        self.decide(&format!("session {} keeps changing", key.session), |snapshot| {
            let set = ChangeSet::new(owner.clone());
            let Some(known) = job(snapshot, owner, key)? else { return Ok((set, ())) };
            let left = match part {
                Part::Queued => Job { queued: None, ..known.clone() },
                Part::Running => Job { running: None, starts: 0, ..known.clone() },
            };
            if left == known {
                return Ok((set, ()));
            }
            let set = set.expect_seen(snapshot, Subject::Aux(Family::Job, record(key)))?;
            let (set, outcome) = make(snapshot, set)?;
            let outcome = Outcome { at: self.now(), ..outcome };
            let set = set.put_aux(Family::Outcome, record(key), encoded(&outcome)?);
            let is_over = left.queued.is_none() && left.running.is_none();
            Ok((if is_over { set.delete_aux(Family::Job, record(key)) } else { put(set, key, &left)? }, ()))
        })
    }

    /// Puts a job that was taken back into the queue: it was not its turn, and is not before `due`.
    pub(super) fn put_back(
        &self,
        owner: &OwnerId,
        key: &SessionKey,
        due: Option<Timestamp>,
    ) -> Result<(), EngineError> {
        self.decide(&format!("session {} keeps changing", key.session), |snapshot| {
            let set = ChangeSet::new(owner.clone());
            let Some(taken) = job(snapshot, owner, key)?.filter(|job| job.running.is_some()) else {
                return Ok((set, ()));
            };
            let set = set.expect_seen(snapshot, Subject::Aux(Family::Job, record(key)))?;
            let starts = taken.starts.saturating_sub(1);
            let ticket = taken.queued.or(taken.running);
            let queued = ticket.map(|ticket| super::Ticket { due: due.unwrap_or(ticket.due), ..ticket });
            let back = Job { queued, running: None, starts, ..taken };
            Ok((put(set, key, &back)?, ()))
        })
    }

    /// The sessions whose last job failed and does not wait again, by their records, and when.
    pub(crate) fn failures(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
    ) -> Result<Vec<(String, Timestamp)>, EngineError> {
        let mut failures = Vec::new();
        for (record, bytes) in snapshot.aux_scan(owner, Family::Outcome, "")? {
            let outcome = serde_json::from_slice::<Outcome>(&bytes).ok();
            if let Some(outcome) = outcome.filter(|outcome| outcome.state == FAILED)
                && snapshot.aux(owner, Family::Job, &record)?.is_none()
            {
                failures.push((record, outcome.at));
            }
        }
        Ok(failures)
    }

    /// How the last job of a session ended, if there was one, or that one waits or runs.
    pub(crate) fn job_outcome(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        key: &SessionKey,
    ) -> Result<Option<Outcome>, EngineError> {
        if let Some(job) = job(snapshot, owner, key)? {
            let waits = |ticket: super::Ticket| {
                if ticket.due > self.now() { format!("not before {}", ticket.due) } else { String::new() }
            };
            let (state, reason) = match (job.running, job.queued) {
                (Some(_), _) => ("running", String::new()),
                (None, queued) => ("queued", queued.map(waits).unwrap_or_default()),
            };
            let extractor = self.switches().extractors.jobs.as_str();
            return Ok(Some(Outcome::of(state, &reason).by(extractor)));
        }
        let bytes = snapshot.aux(owner, Family::Outcome, &record(key))?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }
}
