//! Dreams: when to run one, running it against the store, its journal, and undoing it.
//!
//! The decisions are `doze-dream`'s; this module reads what they need, keeps what each session yielded as soon as it
//! is extracted, and applies the plan with its journal as one change set.

#[cfg(feature = "test-faults")]
pub mod breaks;
#[cfg(not(feature = "test-faults"))]
mod breaks;
mod choosing;
mod journal;
mod reading;
mod running;
mod state;
mod sweep;

use std::sync::{MutexGuard, TryLockError};

use doze_core::model::{DreamId, DreamResult, Mode, OwnerId};
use doze_dream::schedule::{self, Verdict};
use jiff::{SignedDuration, Timestamp};

use crate::{Engine, EngineError, lock};
pub use journal::Undone;
pub(crate) use reading::followed;
use running::Running;
pub(crate) use state::{checkpointed, session_record};
pub(crate) use sweep::last_states;

/// How long after the last call an agent counts as at work.
const BUSY: SignedDuration = SignedDuration::from_mins(5);
/// A running work state older than this no longer keeps dreams away: its process is gone.
const ABANDONED: SignedDuration = SignedDuration::from_hours(2);

/// When and how dreams run by themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// `dream.enabled`.
    pub enabled: bool,
    /// `dream.interval_seconds`.
    pub interval: SignedDuration,
    /// A wall-clock schedule decides instead of the interval; something else says when it is due.
    pub by_clock: bool,
    /// The modes whose sessions are read.
    pub modes: Vec<Mode>,
}

impl Default for Schedule {
    fn default() -> Self {
        let interval = SignedDuration::from_secs(14_400);
        Self { enabled: true, interval, by_clock: false, modes: vec![Mode::Code, Mode::Agent] }
    }
}

/// `dream.run`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DreamRequest {
    /// Only sessions of this mode.
    pub mode: Option<Mode>,
    /// Only this project, by id, name or path.
    pub project: Option<String>,
    /// Tell what would change, change nothing.
    pub dry_run: bool,
    /// A person asked: no waiting for idle, interval or back-off, and open sessions are read too.
    pub by_hand: bool,
    /// Sessions older than this are left out; S3.12's thirty days when `None`.
    pub max_age_days: Option<u32>,
}

/// How dreaming stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DreamStatus {
    /// When the last sweep began.
    pub last: Option<Timestamp>,
    /// When the next one is due.
    pub next: Option<Timestamp>,
    /// How the last one ended.
    pub last_result: Option<DreamResult>,
    /// Why none runs now, in one sentence.
    pub why_not: Option<String>,
    /// The last dream of the journal.
    pub last_id: Option<DreamId>,
    /// One is running.
    pub running: bool,
    /// Sessions that wait for a sweep.
    pub waiting: u64,
    /// Where the last sweep broke off, if it did, and what comes of it, in one sentence.
    pub broke_off: Option<String>,
}

impl Engine {
    /// Whether a sweep should run now, and when to ask again. `clock_due`: a wall-clock schedule says it is time.
    pub fn dream_verdict(
        &self,
        owner: &OwnerId,
        clock_due: bool,
        busy_times: u32,
    ) -> Result<Verdict, EngineError> {
        let switches = self.switches();
        let snapshot = self.store().snapshot()?;
        let state = self.sweep_state(&snapshot, owner)?;
        let now = self.now();
        let attempted = *lock(&self.inner.attempted);
        let left = self.broken_off(&snapshot, owner)?;
        // A process that has dreamt since its start goes on at the usual pace: it was no crash that broke the sweep off.
        let resumes = attempted.is_none() && left.as_ref().is_some_and(Running::is_resumed_soon);
        let wants_clock = switches.schedule.by_clock;
        if wants_clock && !clock_due && !resumes {
            let why_not = "dream.cron says when the next sweep runs".to_owned();
            return Ok(Verdict::Wait { until: None, why_not, busy: false });
        }
        let verdict = schedule::decide(
            &schedule::State {
                enabled: switches.schedule.enabled && switches.memory_enabled,
                interval: switches.schedule.interval,
                started_at: self.inner.started_at,
                // What could not be noted counts too, or a full disk would have it tried all the time.
                last_run: state
                    .last_run
                    .max(attempted)
                    .max(left.as_ref().map(|left| left.started_at))
                    .filter(|_| !wants_clock),
                failed: state.failed.max(left.as_ref().map_or(0, |left| left.attempts)),
                broke_off: resumes,
                empty: state.empty,
                busy: self.is_busy(owner)?,
                busy_times,
                paused_until: self.paused_until(owner)?,
                random: state.random,
            },
            now,
        );
        Ok(verdict)
    }

    /// How dreaming stands, and why none runs now.
    pub fn dream_status(&self, owner: &OwnerId) -> Result<DreamStatus, EngineError> {
        let snapshot = self.store().snapshot()?;
        let state = self.sweep_state(&snapshot, owner)?;
        let running = self.alone().is_none();
        let waiting = self.waiting_sessions(&snapshot, owner)?;
        let (next, why_not) = match self.dream_verdict(owner, false, 0)? {
            Verdict::Run => (Some(self.now()), None),
            Verdict::Wait { until, why_not, .. } => (until, Some(why_not)),
        };
        Ok(DreamStatus {
            last: state.last_run,
            next,
            last_result: state.last_result.as_deref().and_then(|word| word.parse().ok()),
            why_not: why_not.filter(|_| !running),
            last_id: snapshot.dreams(owner, 1)?.into_iter().next().map(|dream| dream.id),
            running,
            waiting,
            broke_off: self.broken_off(&snapshot, owner)?.map(|left| left.told()),
        })
    }

    /// The right to change memories as a dream does, which nobody else has meanwhile. A sweep that panicked has given it up.
    pub(super) fn alone(&self) -> Option<MutexGuard<'_, ()>> {
        match self.inner.dreaming.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// An agent is at work: somebody called lately, or a run is told to go on.
    fn is_busy(&self, owner: &OwnerId) -> Result<bool, EngineError> {
        let now = self.now();
        let since_last_call = now.duration_since(*lock(&self.inner.activity));
        if since_last_call >= SignedDuration::ZERO && since_last_call < BUSY {
            return Ok(true);
        }
        let works = self.store().snapshot()?.works(owner)?;
        Ok(works.iter().any(|work| {
            let age = now.duration_since(work.updated_at);
            work.status == doze_core::model::WorkStatus::Running && age < ABANDONED && age > -ABANDONED
        }))
    }
}
