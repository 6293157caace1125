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

use std::sync::atomic::{AtomicBool, Ordering};

use doze_core::model::{DreamId, DreamResult, Mode, OwnerId};
use doze_dream::Cron;
use doze_dream::schedule::{self, Trigger, Verdict};
use jiff::{SignedDuration, Timestamp};

use crate::{Engine, EngineError, lock};
pub use journal::Undone;
pub(crate) use reading::followed;
use running::Running;
pub(crate) use state::{NOBODY, checkpointed, session_record};
pub(crate) use sweep::last_states;

/// How long after the last call an agent counts as at work, unless `dream.idle_minutes` says otherwise.
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
    /// `dream.cron`: a schedule by the clock decides instead of the interval.
    pub cron: Option<Cron>,
    /// `dream.idle_minutes`: a sweep also comes when nobody was at work for so long.
    pub idle: Option<SignedDuration>,
    /// `dream.on_battery`.
    pub on_battery: bool,
    /// The modes whose sessions are read.
    pub modes: Vec<Mode>,
}

impl Default for Schedule {
    fn default() -> Self {
        let interval = SignedDuration::from_secs(14_400);
        let modes = vec![Mode::Code, Mode::Agent];
        Self { enabled: true, interval, cron: None, idle: None, on_battery: false, modes }
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
    /// Why it runs now, as the rest of a sentence that begins with "because".
    pub because: String,
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
    /// Why the last one ran and what came of it, in one sentence.
    pub last_why: Option<String>,
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

/// The right to change memories as a dream does. A sweep that panics gives it up as well.
pub(super) struct Alone<'a>(&'a AtomicBool);

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Engine {
    /// Whether a sweep should run now, and when to ask again.
    pub fn dream_verdict(&self, owner: &OwnerId, busy_times: u32) -> Result<Verdict, EngineError> {
        let switches = self.switches();
        let schedule = &switches.schedule;
        let snapshot = self.store().snapshot()?;
        let state = self.sweep_state(&snapshot, owner)?;
        let attempted = *lock(&self.inner.attempted);
        let left = self.broken_off(owner)?;
        // What could not be noted counts too, or a full disk would have it tried all the time.
        let last_run = state.last_run.max(attempted).max(left.as_ref().map(|left| left.started_at));
        let state = schedule::State {
            enabled: schedule.enabled && switches.memory_enabled,
            trigger: self.trigger(schedule, last_run),
            interval: schedule.interval,
            started_at: self.inner.started_at,
            last_run,
            failed: state.failed.max(left.as_ref().map_or(0, |left| left.attempts)),
            // A process that has dreamt since its start goes on at the usual pace: it was no crash that broke the sweep off.
            broke_off: attempted.is_none() && left.as_ref().is_some_and(Running::is_resumed_soon),
            // Where something waits to be read the last sweeps tell nothing of the next one.
            empty: if state.empty > 0 && self.waiting_sessions(&snapshot, owner)?.0 > 0 {
                0
            } else {
                state.empty
            },
            busy: self.is_busy(owner, schedule.idle.unwrap_or(BUSY))?,
            busy_times,
            machine: self.inner.environment.machine(),
            runs_on_battery: schedule.on_battery,
            paused_until: self.paused_until(owner)?,
            random: state.random,
        };
        Ok(schedule::decide(&state, self.now()))
    }

    /// What makes the next sweep due.
    fn trigger(&self, schedule: &Schedule, last_run: Option<Timestamp>) -> Trigger {
        let now = self.now();
        match (&schedule.cron, schedule.idle) {
            (Some(cron), _) => {
                // A sweep that lies ahead was told by a clock that was put back.
                let last = last_run.filter(|last| *last <= now);
                let since = *lock(&self.inner.clock_since);
                let after =
                    last.unwrap_or(self.inner.started_at).max(since.unwrap_or(Timestamp::MIN)).min(now);
                Trigger::Clock(cron.next_after(after, &self.inner.environment.time_zone()))
            }
            (None, Some(quiet)) => Trigger::Idle { quiet, since: *lock(&self.inner.activity) },
            (None, None) => Trigger::Interval,
        }
    }

    /// How dreaming stands, and why none runs now.
    pub fn dream_status(&self, owner: &OwnerId) -> Result<DreamStatus, EngineError> {
        let snapshot = self.store().snapshot()?;
        let state = self.sweep_state(&snapshot, owner)?;
        let running = self.is_dreaming();
        let (ready, later) = self.waiting_sessions(&snapshot, owner)?;
        let (next, why_not) = match self.dream_verdict(owner, 0)? {
            Verdict::Run { .. } => (Some(self.now()), None),
            Verdict::Wait { until, why_not, .. } => (until, Some(why_not)),
        };
        Ok(DreamStatus {
            last: state.last_run,
            next,
            last_result: state.last_result.as_deref().and_then(|word| word.parse().ok()),
            last_why: state.last_why,
            why_not: why_not.filter(|_| !running),
            last_id: snapshot.dreams(owner, 1)?.into_iter().next().map(|dream| dream.id),
            running,
            waiting: ready + later,
            broke_off: self.broken_off(owner)?.map(|left| left.told()),
        })
    }

    /// The right to change memories as a dream does, which nobody else has meanwhile. A sweep that panicked has given it up.
    pub(super) fn alone(&self) -> Option<Alone<'_>> {
        let is_taken = self.inner.dreaming.swap(true, Ordering::AcqRel);
        (!is_taken).then(|| Alone(&self.inner.dreaming))
    }

    /// Whether somebody has that right. Asking takes it from nobody.
    pub(super) fn is_dreaming(&self) -> bool {
        self.inner.dreaming.load(Ordering::Acquire)
    }

    /// An agent is at work: somebody called lately, or a run is told to go on.
    fn is_busy(&self, owner: &OwnerId, quiet: SignedDuration) -> Result<bool, EngineError> {
        let now = self.now();
        let last_call = *lock(&self.inner.activity);
        if last_call.is_some_and(|last| last <= now && now.duration_since(last) < quiet) {
            return Ok(true);
        }
        let works = self.store().snapshot()?.works(owner)?;
        Ok(works.iter().any(|work| {
            let age = now.duration_since(work.updated_at);
            work.status == doze_core::model::WorkStatus::Running && age < ABANDONED && age > -ABANDONED
        }))
    }
}
