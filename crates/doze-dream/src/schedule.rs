//! When the next sweep is due, and why it did not run yet. Pure: wall-clock time, randomness and what the machine tells
//! are handed in.

use jiff::{SignedDuration, Timestamp};

/// Time after the daemon's start before the first sweep (S3.11).
pub const INITIAL_DELAY: SignedDuration = SignedDuration::from_secs(120);
/// The shortest interval that is accepted.
pub const MIN_INTERVAL: SignedDuration = SignedDuration::from_secs(60);
/// The shortest pause between two sweeps that come because nobody is at work. Shorter gains nothing: a session counts
/// as over after ten silent minutes.
const IDLE_SPACING: SignedDuration = SignedDuration::from_mins(15);
/// How soon a sweep that met a busy agent looks again; it doubles up to [`MAX_BUSY_PAUSE`].
const BUSY_PAUSE: SignedDuration = SignedDuration::from_mins(2);
const MAX_BUSY_PAUSE: SignedDuration = SignedDuration::from_mins(30);
/// How soon a sweep that met a busy machine or an empty socket looks again.
const MACHINE_PAUSE: SignedDuration = SignedDuration::from_mins(5);
/// Programs that want to run, for each processor: more is a busy machine.
const HIGH_LOAD: f64 = 1.5;
/// For how long a busy machine puts off a sweep that is due. Some are never idle.
const LOAD_PATIENCE: SignedDuration = SignedDuration::from_hours(1);
/// A sweep that comes later than this after it was due is told as late.
const LATE: SignedDuration = SignedDuration::from_mins(30);
/// Sweeps in a row that failed or found nothing before the interval grows, and how often it doubles at most.
const PATIENCE: u32 = 3;
const MAX_DOUBLINGS: u32 = 3;
/// The part of the interval that the jitter may add, and its bound, so that machines do not sweep in step.
const JITTER_PART: i32 = 20;
const MAX_JITTER: SignedDuration = SignedDuration::from_mins(5);

/// What makes a sweep due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// The interval since the last one.
    Interval,
    /// A wall-clock schedule: the first of its times after the last sweep; `None` when none comes any more.
    Clock(Option<Timestamp>),
    /// The interval, or sooner when nobody has been at work for some time.
    Idle {
        /// For how long.
        quiet: SignedDuration,
        /// When somebody was at work last, as far as this process knows.
        since: Option<Timestamp>,
    },
}

/// What the machine tells about itself; `None` where it does not tell.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Machine {
    /// It runs on battery.
    pub on_battery: Option<bool>,
    /// Programs that want to run, for each processor, on the average of a minute.
    pub load: Option<f64>,
}

/// What is known when somebody asks whether to dream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct State {
    /// Dreaming is on for this mode.
    pub enabled: bool,
    /// What makes a sweep due.
    pub trigger: Trigger,
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
    /// The machine.
    pub machine: Machine,
    /// Sweeps run on battery too.
    pub runs_on_battery: bool,
    /// doze is paused until then.
    pub paused_until: Option<Timestamp>,
    /// Drawn once per sweep by the caller; the same number gives the same due time.
    pub random: u32,
}

/// Whether to sweep now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Now.
    Run {
        /// Why, as the rest of a sentence that begins with "because".
        because: String,
    },
    /// Not now.
    Wait {
        /// When to ask again; `None` when only a change of configuration or `doze resume` helps.
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
        return wait(None, "dreaming is off (dream.enabled)".to_owned());
    }
    if let Some(until) = state.paused_until.filter(|until| *until > now) {
        return match until == Timestamp::MAX {
            true => wait(None, "doze is paused until  doze resume".to_owned()),
            false => wait(Some(until), format!("doze is paused until {until:.0}")),
        };
    }
    let Some(due) = due(state, now) else {
        return wait(None, "dream.cron names no time that is still to come".to_owned());
    };
    if due > now {
        return wait(Some(due), why_later(state, due.duration_since(now)));
    }
    if state.busy {
        let pause = (BUSY_PAUSE * 2_i32.pow(state.busy_times.min(8))).min(MAX_BUSY_PAUSE);
        let why_not = "an agent is at work; the sweep waits for a quiet moment".to_owned();
        return Verdict::Wait { until: later(now, pause), why_not, busy: true };
    }
    if let Some(why_not) = machine_says_no(state, now.duration_since(due)) {
        return wait(later(now, MACHINE_PAUSE), why_not);
    }
    Verdict::Run { because: because(state, due, now) }
}

/// The due time, never before the initial delay; `None` when no time is still to come. A last run that lies ahead was
/// told by a clock that has been put back since and counts as none. One that broke off with the process waits for the
/// initial delay alone.
pub fn due(state: &State, now: Timestamp) -> Option<Timestamp> {
    let started_at = state.started_at.min(now);
    let after_start = later(started_at, INITIAL_DELAY).unwrap_or(now);
    if state.broke_off {
        return Some(after_start);
    }
    let by_interval = by_interval(state, now, after_start);
    Some(match state.trigger {
        Trigger::Interval => by_interval,
        Trigger::Clock(next) => next?.max(after_start),
        Trigger::Idle { .. } => {
            by_idle(state, now).map_or(by_interval, |idle| idle.max(after_start).min(by_interval))
        }
    })
}

/// Interval and jitter after the last run, longer after failures; nothing is due later than one (backed-off) interval
/// from now.
fn by_interval(state: &State, now: Timestamp, after_start: Timestamp) -> Timestamp {
    let pause = pause(state);
    let after_last =
        state.last_run.filter(|last| *last <= now).and_then(|last| later(last, pause)).unwrap_or(after_start);
    after_last.max(after_start).min(later(now, pause.max(INITIAL_DELAY)).unwrap_or(now))
}

/// When nobody will have been at work for long enough. `None` when nobody was since the last sweep: there is nothing
/// new to read.
fn by_idle(state: &State, now: Timestamp) -> Option<Timestamp> {
    let Trigger::Idle { quiet, since } = state.trigger else { return None };
    let since = since.filter(|since| *since <= now)?;
    let Some(last) = state.last_run.filter(|last| *last <= now) else { return later(since, quiet) };
    let is_patient = state.failed < PATIENCE;
    (since > last && is_patient).then(|| Some(later(since, quiet)?.max(later(last, IDLE_SPACING)?))).flatten()
}

fn pause(state: &State) -> SignedDuration {
    let interval = state.interval.max(MIN_INTERVAL);
    let doublings = state.failed.max(state.empty).saturating_sub(PATIENCE - 1).min(MAX_DOUBLINGS);
    let jitter = (interval / JITTER_PART).min(MAX_JITTER).as_secs();
    let jitter = SignedDuration::from_secs(jitter * i64::from(state.random) / i64::from(u32::MAX));
    SignedDuration::from_secs(interval.as_secs().saturating_mul(1 << doublings)).saturating_add(jitter)
}

/// Why the machine is not in the state for a sweep, which has been due for some time.
fn machine_says_no(state: &State, overdue: SignedDuration) -> Option<String> {
    if !state.runs_on_battery && state.machine.on_battery == Some(true) {
        return Some("the machine runs on battery; the sweep waits for power (dream.on_battery)".to_owned());
    }
    let load = state.machine.load.filter(|load| *load > HIGH_LOAD && overdue < LOAD_PATIENCE)?;
    Some(format!(
        "the machine is busy ({load:.1} programs for each processor); the sweep waits an hour at most"
    ))
}

fn because(state: &State, due: Timestamp, now: Timestamp) -> String {
    let why = match state.trigger {
        _ if state.broke_off => return "one had broken off".to_owned(),
        Trigger::Clock(_) => "dream.cron said so".to_owned(),
        Trigger::Idle { quiet, .. } if by_idle(state, now).is_some_and(|idle| idle <= due) => {
            format!("nobody had been at work for {}", in_words(quiet))
        }
        _ if state.last_run.is_none() => "there had been none before".to_owned(),
        _ => format!("one is due every {}", in_words(state.interval.max(MIN_INTERVAL))),
    };
    let overdue = now.duration_since(due);
    if overdue < LATE {
        return why;
    }
    format!("{why}, {} before: the machine slept, was off or busy", in_words(overdue))
}

fn why_later(state: &State, left: SignedDuration) -> String {
    let left = in_words(left);
    if matches!(state.trigger, Trigger::Clock(_)) && !state.broke_off {
        return format!("the next sweep is in {left}, when dream.cron says so");
    }
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
    use crate::Cron;
    use crate::testing::now;

    fn hours(hours: i64) -> SignedDuration {
        SignedDuration::from_hours(hours)
    }

    fn state(last_run_hours_ago: Option<i64>) -> State {
        State {
            enabled: true,
            trigger: Trigger::Interval,
            interval: hours(4),
            started_at: now() - hours(100),
            last_run: last_run_hours_ago.map(|ago| now() - hours(ago)),
            failed: 0,
            empty: 0,
            broke_off: false,
            busy: false,
            busy_times: 0,
            machine: Machine::default(),
            runs_on_battery: false,
            paused_until: None,
            random: 0,
        }
    }

    fn why_not(state: &State) -> String {
        match decide(state, now()) {
            Verdict::Run { .. } => "runs".to_owned(),
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
            (State { enabled: false, ..state(None) }, "dreaming is off (dream.enabled)"),
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

    fn minutes(minutes: i64) -> SignedDuration {
        SignedDuration::from_mins(minutes)
    }

    #[test]
    fn a_sweep_says_why_it_ran() {
        let idle = |ago| Trigger::Idle { quiet: minutes(20), since: Some(now() - minutes(ago)) };
        let table = [
            (state(Some(4)), "one is due every 4 h"),
            (state(None), "there had been none before, 99 h before: the machine slept, was off or busy"),
            (state(Some(13)), "one is due every 4 h, 9 h before: the machine slept, was off or busy"),
            (
                State { trigger: Trigger::Clock(Some(now() - minutes(1))), ..state(Some(24)) },
                "dream.cron said so",
            ),
            (State { trigger: idle(21), ..state(Some(1)) }, "nobody had been at work for 20 min"),
        ];
        for (state, expected) in table {
            assert_eq!(decide(&state, now()), Verdict::Run { because: expected.to_owned() }, "{state:?}");
        }
    }

    #[test]
    fn idle_comes_sooner_than_the_interval_and_only_after_work() {
        let idle = |ago| Trigger::Idle { quiet: minutes(20), since: Some(now() - minutes(ago)) };
        let table = [
            (State { trigger: idle(19), ..state(Some(1)) }, "the next sweep is in 1 min"),
            // Nobody was at work since the last sweep.
            (State { trigger: idle(61), ..state(Some(1)) }, "the next sweep is in 3 h"),
            (State { trigger: Trigger::Idle { quiet: minutes(20), since: None }, ..state(Some(4)) }, "runs"),
            // Two idle moments close to each other make one sweep.
            (
                State {
                    last_run: Some(now() - minutes(5)),
                    trigger: Trigger::Idle { quiet: minutes(1), since: Some(now() - minutes(2)) },
                    ..state(None)
                },
                "the next sweep is in 10 min",
            ),
            (
                State { trigger: idle(30), failed: 3, ..state(Some(1)) },
                "the last 3 sweeps failed; the next one is in 7 h",
            ),
            // Told by a clock that was put back.
            (State { trigger: idle(-90), ..state(Some(1)) }, "the next sweep is in 3 h"),
            (
                State { trigger: idle(30), started_at: now(), ..state(None) },
                "the daemon has just started; the first sweep is in 2 min",
            ),
        ];
        for (state, expected) in table {
            assert_eq!(why_not(&state), expected, "{state:?}");
        }
    }

    #[test]
    fn battery_and_load_put_a_sweep_off_where_they_are_known() {
        let battery = Machine { on_battery: Some(true), load: None };
        let load = |load| Machine { on_battery: Some(false), load: Some(load) };
        let on_battery = "the machine runs on battery; the sweep waits for power (dream.on_battery)";
        let busy = "the machine is busy (2.5 programs for each processor); the sweep waits an hour at most";
        let table = [
            (State { machine: battery, ..state(Some(4)) }, on_battery),
            (State { machine: battery, ..state(Some(400)) }, on_battery),
            (State { machine: battery, runs_on_battery: true, ..state(Some(4)) }, "runs"),
            (State { machine: load(2.5), ..state(Some(4)) }, busy),
            (State { machine: load(1.5), ..state(Some(4)) }, "runs"),
            // Some machines are never idle.
            (State { machine: load(2.5), ..state(Some(5)) }, "runs"),
            (State { machine: load(f64::NAN), ..state(Some(4)) }, "runs"),
            (State { machine: battery, ..state(Some(3)) }, "the next sweep is in 60 min"),
        ];
        for (state, expected) in table {
            assert_eq!(why_not(&state), expected, "{state:?}");
        }
    }

    #[test]
    fn a_schedule_by_the_clock_says_when() {
        let clock = |next| State { trigger: Trigger::Clock(next), ..state(Some(1)) };
        let table = [
            (clock(Some(now() + hours(3))), "the next sweep is in 3 h, when dream.cron says so"),
            (clock(Some(now() - hours(30))), "runs"),
            (clock(None), "dream.cron names no time that is still to come"),
            (
                State { started_at: now() - minutes(1), ..clock(Some(now() - hours(3))) },
                "the next sweep is in 1 min, when dream.cron says so",
            ),
        ];
        for (state, expected) in table {
            assert_eq!(why_not(&state), expected, "{state:?}");
        }
    }

    #[test]
    fn missed_sweeps_make_one_and_a_busy_agent_is_asked_less_and_less() {
        let mut slept = state(Some(90));
        assert_eq!(why_not(&slept), "runs");
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
            let due = due(&state, now()).unwrap();
            let interval = state.interval.max(MIN_INTERVAL);
            let longest = SignedDuration::from_secs(interval.as_secs() * 8) + SignedDuration::from_mins(5);
            prop_assert!(due <= now() + longest.max(INITIAL_DELAY));
            if (-100_000..=0).contains(&last) {
                prop_assert!(due >= at(last) + interval, "never sooner than the interval");
            }
        }

        #[test]
        fn a_machine_that_sleeps_over_a_change_of_the_clock_sweeps_once_when_it_wakes(
            hour in 0u8..24, minute in 0u8..60, is_spring: bool,
            sleeps in prop::collection::vec(1i64..3000, 1..60),
        ) {
            let zone = jiff::tz::TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
            let cron: Cron = format!("{minute} {hour} * * *").parse().unwrap();
            let start: Timestamp = if is_spring { "2026-03-27T12:00:00Z" } else { "2026-10-23T12:00:00Z" }.parse().unwrap();
            let (mut last, mut at) = (start, start);
            for sleep in sleeps {
                let before = at;
                at += minutes(sleep);
                let state = State {
                    trigger: Trigger::Clock(cron.next_after(last, &zone)),
                    started_at: start - hours(9), last_run: Some(last), ..state(None)
                };
                let is_missed = cron.next_after(before, &zone).unwrap() <= at;
                let runs = matches!(decide(&state, at), Verdict::Run { .. });
                prop_assert_eq!(runs, is_missed, "{} {}", before, at);
                if runs {
                    last = at;
                }
            }
        }
    }
}
