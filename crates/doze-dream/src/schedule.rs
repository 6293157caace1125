//! When the next sweep is due, and why it did not run yet. Pure: wall-clock time, randomness and load are handed in.

use jiff::{SignedDuration, Timestamp};

/// Time after the daemon's start before the first sweep (S3.11).
pub const INITIAL_DELAY: SignedDuration = SignedDuration::from_secs(120);
/// The shortest interval that is accepted.
pub const MIN_INTERVAL: SignedDuration = SignedDuration::from_secs(60);
/// How soon a sweep that met a busy agent looks again; it doubles up to [`MAX_BUSY_PAUSE`].
const BUSY_PAUSE: SignedDuration = SignedDuration::from_mins(2);
const MAX_BUSY_PAUSE: SignedDuration = SignedDuration::from_mins(30);
/// Sweeps in a row that failed or found nothing before the interval grows, and how often it doubles at most.
const PATIENCE: u32 = 3;
const MAX_DOUBLINGS: u32 = 3;
/// The part of the interval that the jitter may add, and its bound, so that machines do not sweep in step.
const JITTER_PART: i32 = 20;
const MAX_JITTER: SignedDuration = SignedDuration::from_mins(5);

/// What is known when somebody asks whether to dream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct State {
    /// Dreaming is on for this mode.
    pub enabled: bool,
    /// The configured interval; shorter than [`MIN_INTERVAL`] counts as that.
    pub interval: SignedDuration,
    /// When the daemon started.
    pub started_at: Timestamp,
    /// When the last sweep began, as the journal has it.
    pub last_run: Option<Timestamp>,
    /// Sweeps in a row that failed.
    pub failed: u32,
    /// Sweeps in a row that found nothing to do.
    pub empty: u32,
    /// A sweep broke off with the process and is to be gone on with as soon as the daemon has settled.
    pub broke_off: bool,
    /// An agent is at work.
    pub busy: bool,
    /// Times in a row that a due sweep met a busy agent.
    pub busy_times: u32,
    /// doze is paused until then.
    pub paused_until: Option<Timestamp>,
    /// Drawn once per sweep by the caller; the same number gives the same due time.
    pub random: u32,
}

/// Whether to sweep now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Now.
    Run,
    /// Not now.
    Wait {
        /// When to ask again; `None` when only a change of configuration helps.
        until: Option<Timestamp>,
        /// Why, in one sentence.
        why_not: String,
        /// It was due and met an agent at work: the caller counts these for [`State::busy_times`].
        busy: bool,
    },
}

/// Decides. Runs that were missed (sleep, power off) make one sweep, because the next due time counts from the last
/// run and not from the times in between.
pub fn decide(state: &State, now: Timestamp) -> Verdict {
    if !state.enabled {
        return wait(None, "dreaming is off for this mode (dream.enabled)".to_owned());
    }
    if let Some(until) = state.paused_until.filter(|until| *until > now) {
        return wait(Some(until), format!("doze is paused until {until}"));
    }
    let due = due(state, now);
    if due > now {
        return wait(Some(due), why_later(state, due.duration_since(now)));
    }
    if state.busy {
        let pause = (BUSY_PAUSE * 2_i32.pow(state.busy_times.min(8))).min(MAX_BUSY_PAUSE);
        let why_not = "an agent is at work; the sweep waits for a quiet moment".to_owned();
        return Verdict::Wait { until: later(now, pause), why_not, busy: true };
    }
    Verdict::Run
}

/// The due time: interval and jitter after the last run, longer after failures, never before the initial delay. A
/// last run that lies ahead was told by a clock that has been put back since and counts as none; and nothing is ever
/// due later than one (backed-off) interval from now. One that broke off with the process waits for the initial delay alone.
pub fn due(state: &State, now: Timestamp) -> Timestamp {
    let pause = pause(state);
    let started_at = state.started_at.min(now);
    let after_start = later(started_at, INITIAL_DELAY).unwrap_or(now);
    if state.broke_off {
        return after_start;
    }
    let after_last =
        state.last_run.filter(|last| *last <= now).and_then(|last| later(last, pause)).unwrap_or(after_start);
    after_last.max(after_start).min(later(now, pause.max(INITIAL_DELAY)).unwrap_or(now))
}

fn pause(state: &State) -> SignedDuration {
    let interval = state.interval.max(MIN_INTERVAL);
    let doublings = state.failed.max(state.empty).saturating_sub(PATIENCE - 1).min(MAX_DOUBLINGS);
    let jitter = (interval / JITTER_PART).min(MAX_JITTER).as_secs();
    let jitter = SignedDuration::from_secs(jitter * i64::from(state.random) / i64::from(u32::MAX));
    SignedDuration::from_secs(interval.as_secs().saturating_mul(1 << doublings)).saturating_add(jitter)
}

fn why_later(state: &State, left: SignedDuration) -> String {
    let left = in_words(left);
    match (state.last_run, state.failed, state.empty) {
        _ if state.broke_off => format!("a sweep broke off; it goes on in {left}"),
        (None, ..) => format!("the daemon has just started; the first sweep is in {left}"),
        (_, failed, _) if failed >= PATIENCE => {
            format!("the last {failed} sweeps failed; the next one is in {left}")
        }
        (_, _, empty) if empty >= PATIENCE => {
            format!("the last {empty} sweeps found nothing new; the next one is in {left}")
        }
        _ => format!("the next sweep is in {left}"),
    }
}

fn in_words(left: SignedDuration) -> String {
    match left.as_mins() {
        0 => format!("{} s", left.as_secs().max(1)),
        minutes @ 1..120 => format!("{minutes} min"),
        minutes => format!("{} h", minutes / 60),
    }
}

fn wait(until: Option<Timestamp>, why_not: String) -> Verdict {
    Verdict::Wait { until, why_not, busy: false }
}

fn later(time: Timestamp, pause: SignedDuration) -> Option<Timestamp> {
    time.checked_add(pause).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::now;

    fn hours(hours: i64) -> SignedDuration {
        SignedDuration::from_hours(hours)
    }

    fn state(last_run_hours_ago: Option<i64>) -> State {
        State {
            enabled: true,
            interval: hours(4),
            started_at: now() - hours(100),
            last_run: last_run_hours_ago.map(|ago| now() - hours(ago)),
            failed: 0,
            empty: 0,
            broke_off: false,
            busy: false,
            busy_times: 0,
            paused_until: None,
            random: 0,
        }
    }

    fn why_not(state: &State) -> String {
        match decide(state, now()) {
            Verdict::Run => "runs".to_owned(),
            Verdict::Wait { why_not, .. } => why_not,
        }
    }

    #[test]
    fn each_state_says_why_not() {
        let fresh = State { started_at: now() - SignedDuration::from_secs(20), ..state(None) };
        let table = [
            (state(Some(4)), "runs"),
            (state(Some(40)), "runs"),
            (state(None), "runs"),
            (state(Some(3)), "the next sweep is in 60 min"),
            (state(Some(1)), "the next sweep is in 3 h"),
            (fresh, "the daemon has just started; the first sweep is in 1 min"),
            (State { last_run: Some(now() - hours(50)), ..fresh }, "the next sweep is in 1 min"),
            (
                State { broke_off: true, last_run: Some(now() - hours(1)), failed: 3, ..fresh },
                "a sweep broke off; it goes on in 1 min",
            ),
            (State { broke_off: true, ..state(Some(1)) }, "runs"),
            (
                State { broke_off: true, busy: true, ..state(Some(1)) },
                "an agent is at work; the sweep waits for a quiet moment",
            ),
            (State { enabled: false, ..state(None) }, "dreaming is off for this mode (dream.enabled)"),
            (
                State { busy: true, ..state(Some(5)) },
                "an agent is at work; the sweep waits for a quiet moment",
            ),
            (
                State { paused_until: Some(now() + hours(1)), ..state(None) },
                "doze is paused until 2026-03-18T13:00:00Z",
            ),
            (State { paused_until: Some(now() - hours(1)), ..state(None) }, "runs"),
            (State { failed: 3, ..state(Some(5)) }, "the last 3 sweeps failed; the next one is in 3 h"),
            (State { failed: 2, ..state(Some(5)) }, "runs"),
            (
                State { empty: 4, ..state(Some(5)) },
                "the last 4 sweeps found nothing new; the next one is in 11 h",
            ),
            (State { empty: 400, ..state(Some(33)) }, "runs"),
            // A last run that lies ahead was told by a clock that was put back.
            (state(Some(-24 * 365)), "runs"),
        ];
        for (state, expected) in table {
            assert_eq!(why_not(&state), expected, "{state:?}");
        }
    }

    #[test]
    fn missed_sweeps_make_one_and_a_busy_agent_is_asked_less_and_less() {
        let mut slept = state(Some(90));
        assert_eq!(decide(&slept, now()), Verdict::Run);
        slept.last_run = Some(now());
        assert!(matches!(decide(&slept, now()), Verdict::Wait { .. }));
        let pause = |busy_times| match decide(&State { busy: true, busy_times, ..state(Some(9)) }, now()) {
            Verdict::Wait { until: Some(until), .. } => until.duration_since(now()).as_mins(),
            other => panic!("{other:?}"),
        };
        assert_eq!([0, 1, 2, 3, 4, 99].map(pause), [2, 4, 8, 16, 30, 30]);
    }

    proptest! {
        #[test]
        fn no_clock_jump_stalls_or_hurries_it(
            last in -100_000i64..100_000, started in -100_000i64..100_000, interval in 0i64..100_000, random: u32, failed in 0u32..9,
        ) {
            let at = |minutes: i64| now() + SignedDuration::from_mins(minutes);
            let state = State {
                interval: SignedDuration::from_secs(interval), started_at: at(started), last_run: Some(at(last)), random, failed, ..state(None)
            };
            let due = due(&state, now());
            let interval = state.interval.max(MIN_INTERVAL);
            let longest = SignedDuration::from_secs(interval.as_secs() * 8) + SignedDuration::from_mins(5);
            prop_assert!(due <= now() + longest.max(INITIAL_DELAY));
            if (-100_000..=0).contains(&last) {
                prop_assert!(due >= at(last) + interval, "never sooner than the interval");
            }
        }
    }
}
