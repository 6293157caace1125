//! Which sessions a sweep reads.

use std::collections::BTreeMap;

use doze_core::model::{Mode, ProjectId, Session, SessionEnd, SessionKey};
use doze_core::text;
use jiff::{SignedDuration, Timestamp};

use crate::Caps;

/// Silence after which a session counts as over although nobody said so (`R10`).
const SILENCE: SignedDuration = SignedDuration::from_mins(10);
/// Failures from which on a session is not tried in every sweep any more (`R12`).
const BACK_OFF_FROM: u32 = 3;
/// Failures after which a session is given up; a sweep by hand still tries it.
pub const MAX_FAILURES: u32 = 8;
/// A day with a change of the clock in it.
const LONGEST_DAY: SignedDuration = SignedDuration::from_hours(26);
/// The first back-off; it doubles with every further failure.
const FIRST_BACK_OFF: SignedDuration = SignedDuration::from_hours(8);

/// A session and how far earlier sweeps have read it.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionState {
    /// The session.
    pub session: Session,
    /// Its rounds at the last checkpoint; 0 when it was never read.
    pub done_rounds: u64,
    /// Events below this ordinal have been read.
    pub done_ordinal: u64,
    /// Extractions in a row that failed since the checkpoint.
    pub failures: u32,
    /// Not before this time, see [`retry_after`].
    pub next_try_after: Option<Timestamp>,
    /// Its events when a sweep told that it is left out; 0 when none did.
    pub told_events: u64,
    /// Not before this time, also by hand: the day's cap had no room for what it said.
    pub put_off: Option<Timestamp>,
}

/// What a sweep does with one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The session.
    pub key: SessionKey,
    /// Its project.
    pub project: Option<ProjectId>,
    /// Read, or why not.
    pub outcome: ChoiceOutcome,
}

/// Read, or why not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChoiceOutcome {
    /// Its events from this ordinal on are to be read.
    Read {
        /// The first event that no sweep has read.
        from_ordinal: u64,
    },
    /// It is left for now, or for good.
    Skip {
        /// Why, in one sentence.
        reason: String,
        /// It stays so unless the session grows, and is told once.
        is_lasting: bool,
    },
}

/// When a session that failed `failures` times in a row may be tried again: in the next sweep at first (`None`), from
/// the third failure on after a pause that doubles.
pub fn retry_after(failures: u32, now: Timestamp) -> Option<Timestamp> {
    let doublings = failures.checked_sub(BACK_OFF_FROM)?.min(MAX_FAILURES);
    now.checked_add(FIRST_BACK_OFF * 2_i32.pow(doublings)).ok()
}

/// Chooses among the sessions of one mode. First those to read, at most `caps.max_sessions`: the projects take turns,
/// and of each the session that waits longest comes first, so that neither a busy project nor the same old sessions
/// fill every sweep. Then those left out, with the reason. Sessions of another mode, of a kind that nothing is learned
/// from, those without anything new, and those
/// of which an earlier sweep has told that they are too short or too old are not mentioned. `by_hand` also reads sessions that are still open, and
/// tries again what failed.
pub fn choose(
    states: &[SessionState],
    mode: Mode,
    now: Timestamp,
    caps: &Caps,
    by_hand: bool,
) -> Vec<Choice> {
    let mut waiting: BTreeMap<Option<&ProjectId>, Vec<&SessionState>> = BTreeMap::new();
    let mut skipped = Vec::new();
    let candidates = states.iter().filter(|state| {
        state.session.mode == mode
            && state.session.kind.is_learned_from()
            && state.session.event_count > state.done_ordinal
    });
    for state in candidates {
        match why_not(state, now, caps, by_hand) {
            Some(Skip { is_lasting: true, .. }) if state.session.event_count <= state.told_events => {}
            Some(Skip { reason, is_lasting }) => {
                skipped.push(choice(state, ChoiceOutcome::Skip { reason, is_lasting }));
            }
            None => waiting.entry(state.session.project.as_ref()).or_default().push(state),
        }
    }
    let in_turn = take_turns(waiting);
    let (read, later) = in_turn.split_at(in_turn.len().min(caps.max_sessions));
    let mut choices: Vec<Choice> = read
        .iter()
        .map(|state| choice(state, ChoiceOutcome::Read { from_ordinal: state.done_ordinal }))
        .collect();
    let full = format!(
        "the sweep reads at most {}; this one comes next",
        text::count(caps.max_sessions as u64, "session")
    );
    choices.extend(
        later
            .iter()
            .map(|state| choice(state, ChoiceOutcome::Skip { reason: full.clone(), is_lasting: false })),
    );
    choices.extend(skipped);
    choices
}

fn choice(state: &SessionState, outcome: ChoiceOutcome) -> Choice {
    Choice { key: state.session.key.clone(), project: state.session.project.clone(), outcome }
}

/// One of each project in turn, oldest first; the project that waits longest begins.
fn take_turns<'a>(waiting: BTreeMap<Option<&ProjectId>, Vec<&'a SessionState>>) -> Vec<&'a SessionState> {
    let mut turns: Vec<(usize, &SessionState)> = Vec::new();
    for mut sessions in waiting.into_values() {
        sessions.sort_by(|a, b| age_order(a).cmp(&age_order(b)));
        turns.extend(sessions.into_iter().enumerate());
    }
    turns.sort_by(|(turn, a), (other, b)| (turn, age_order(a)).cmp(&(other, age_order(b))));
    turns.into_iter().map(|(_, state)| state).collect()
}

fn age_order(state: &SessionState) -> (Timestamp, &SessionKey) {
    (state.session.last_event_at, &state.session.key)
}

/// Why a session is left out.
struct Skip {
    reason: String,
    is_lasting: bool,
}

fn why_not(state: &SessionState, now: Timestamp, caps: &Caps, by_hand: bool) -> Option<Skip> {
    let lasting = |reason| Some(Skip { reason, is_lasting: true });
    let passing = |reason| Some(Skip { reason, is_lasting: false });
    let session = &state.session;
    let rounds = session.rounds.saturating_sub(state.done_rounds);
    if rounds < caps.min_rounds {
        let thing = if state.done_rounds > 0 { "new round" } else { "round" };
        return lasting(format!("it has {}, {} are needed", text::count(rounds, thing), caps.min_rounds));
    }
    let age = now.duration_since(session.last_event_at).max(SignedDuration::ZERO);
    if age > SignedDuration::from_hours(24 * i64::from(caps.max_age_days)) {
        return lasting(format!("it is older than {}", text::count(caps.max_age_days.into(), "day")));
    }
    // It is put off for a day at most; a later time was left by a clock that has been put back since.
    if state.put_off.is_some_and(|at| at > now && at.duration_since(now) <= LONGEST_DAY) {
        return passing(
            "as much of its space was changed as may be in a day; it is read tomorrow".to_owned(),
        );
    }
    if by_hand {
        return None;
    }
    if !is_over(session, now) {
        return passing("it is still open".to_owned());
    }
    if state.failures >= MAX_FAILURES {
        return passing(format!(
            "its extraction failed {} times; doze dream by hand tries it again",
            state.failures
        ));
    }
    let waits = state.next_try_after.filter(|at| *at > now)?;
    // A pause longer than the longest one that can be set was left by a clock that has been put back since.
    let longest = retry_after(MAX_FAILURES, now)?;
    if waits > longest {
        return None;
    }
    passing(format!("its extraction failed {} times; it waits for a later sweep", state.failures))
}

/// Ended, or silent for ten minutes. A time far ahead was told by a clock that has been put back since.
fn is_over(session: &Session, now: Timestamp) -> bool {
    let silent = now.duration_since(session.heard_at);
    matches!(session.ended, Some(SessionEnd::Session | SessionEnd::Quit))
        || silent >= SILENCE
        || silent < -SILENCE
}

#[cfg(test)]
mod tests {
    use doze_core::model::SessionKind;
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{ago, now, session};

    fn state(name: &str, project: &str, rounds: u64, hours: i64) -> SessionState {
        SessionState {
            session: session(name, project, rounds, hours),
            done_rounds: 0,
            done_ordinal: 0,
            failures: 0,
            next_try_after: None,
            told_events: 0,
            put_off: None,
        }
    }

    fn read(choices: &[Choice]) -> Vec<&str> {
        choices
            .iter()
            .filter(|choice| matches!(choice.outcome, ChoiceOutcome::Read { .. }))
            .map(|choice| choice.key.session.as_str())
            .collect()
    }

    /// What becomes of one state: `read from n`, the reason, or nothing at all.
    fn outcome(state: SessionState, by_hand: bool) -> String {
        match choose(&[state], Mode::Code, now(), &Caps::default(), by_hand)
            .pop()
            .map(|choice| choice.outcome)
        {
            Some(ChoiceOutcome::Read { from_ordinal }) => format!("read from {from_ordinal}"),
            Some(ChoiceOutcome::Skip { reason, .. }) => reason,
            None => String::new(),
        }
    }

    #[test]
    fn each_rule_has_its_sentence() {
        let with = |change: &dyn Fn(&mut SessionState)| {
            let mut state = state("s", "p", 8, 2);
            change(&mut state);
            state
        };
        type Change = dyn Fn(&mut SessionState);
        let table: &[(&Change, &str, &str)] = &[
            (&|_| {}, "read from 0", "read from 0"),
            (&|s| s.session.rounds = 3, "it has 3 rounds, 4 are needed", "it has 3 rounds, 4 are needed"),
            (&|s| s.session.rounds = 1, "it has 1 round, 4 are needed", "it has 1 round, 4 are needed"),
            (&|s| (s.session.rounds, s.told_events) = (3, 24), "", ""),
            (
                &|s| (s.session.rounds, s.told_events) = (3, 23),
                "it has 3 rounds, 4 are needed",
                "it has 3 rounds, 4 are needed",
            ),
            (&|s| (s.session.rounds, s.told_events) = (4, 24), "read from 0", "read from 0"),
            (&|s| (s.session.last_event_at, s.told_events) = (ago(24 * 30 + 1), 24), "", ""),
            (&|s| s.session.rounds = 4, "read from 0", "read from 0"),
            (
                &|s| s.put_off = Some(ago(-3)),
                "as much of its space was changed as may be in a day; it is read tomorrow",
                "as much of its space was changed as may be in a day; it is read tomorrow",
            ),
            (&|s| s.put_off = Some(ago(0)), "read from 0", "read from 0"),
            (&|s| s.put_off = Some(ago(-27)), "read from 0", "read from 0"),
            (
                &|s| (s.done_rounds, s.done_ordinal) = (5, 12),
                "it has 3 new rounds, 4 are needed",
                "it has 3 new rounds, 4 are needed",
            ),
            (&|s| (s.done_rounds, s.done_ordinal) = (4, 12), "read from 12", "read from 12"),
            (&|s| (s.done_rounds, s.done_ordinal) = (8, 24), "", ""),
            (
                &|s| s.session.last_event_at = ago(24 * 30 + 1),
                "it is older than 30 days",
                "it is older than 30 days",
            ),
            (&|s| s.session.last_event_at = ago(-5), "read from 0", "read from 0"),
            (
                &|s| (s.session.ended, s.session.heard_at) = (None, now() - SignedDuration::from_mins(9)),
                "it is still open",
                "read from 0",
            ),
            (
                &|s| {
                    (s.session.ended, s.session.heard_at) =
                        (Some(SessionEnd::Turn), now() - SignedDuration::from_mins(10))
                },
                "read from 0",
                "read from 0",
            ),
            (&|s| (s.session.ended, s.session.heard_at) = (None, ago(-48)), "read from 0", "read from 0"),
            (&|s| (s.failures, s.next_try_after) = (2, None), "read from 0", "read from 0"),
            (
                &|s| (s.failures, s.next_try_after) = (3, Some(ago(-1))),
                "its extraction failed 3 times; it waits for a later sweep",
                "read from 0",
            ),
            (&|s| (s.failures, s.next_try_after) = (3, Some(ago(1))), "read from 0", "read from 0"),
            (&|s| (s.failures, s.next_try_after) = (3, Some(ago(-24 * 900))), "read from 0", "read from 0"),
            (
                &|s| s.failures = 8,
                "its extraction failed 8 times; doze dream by hand tries it again",
                "read from 0",
            ),
            (&|s| s.session.mode = Mode::Agent, "", ""),
            (&|s| s.session.kind = SessionKind::Subagent, "", ""),
            (&|s| s.session.kind = SessionKind::Headless, "read from 0", "read from 0"),
        ];
        for (change, scheduled, by_hand) in table {
            assert_eq!(outcome(with(*change), false), *scheduled);
            assert_eq!(outcome(with(*change), true), *by_hand);
        }
    }

    #[test]
    fn projects_take_turns_and_the_longest_waiting_comes_first() {
        let mut states: Vec<SessionState> =
            (0..20).map(|n| state(&format!("busy{n:02}"), "busy", 9, 400 - n)).collect();
        states.push(state("quiet1", "quiet", 9, 5));
        states.push(state("quiet2", "quiet", 9, 3));
        states.push(state("alone", "", 9, 1));
        let choices = choose(&states, Mode::Code, now(), &Caps::default(), false);
        assert_eq!(
            read(&choices),
            [
                "busy00", "quiet1", "alone", "busy01", "quiet2", "busy02", "busy03", "busy04", "busy05",
                "busy06"
            ]
        );
        assert_eq!(choices.len(), 23);
    }

    #[test]
    fn the_first_failures_are_tried_in_the_next_sweep_and_pauses_double() {
        assert_eq!((retry_after(0, now()), retry_after(2, now())), (None, None));
        assert_eq!(retry_after(3, now()), Some(ago(-8)));
        assert_eq!(retry_after(4, now()), Some(ago(-16)));
        assert!(retry_after(u32::MAX, now()).is_some());
    }

    proptest! {
        #[test]
        fn nothing_starves(hours in proptest::collection::vec((0usize..4, 1i64..600), 1..60)) {
            let mut states: Vec<SessionState> = hours.iter().enumerate().map(|(n, (project, hours))| state(&format!("s{n:02}"), ["a", "b", "c", ""][*project], 9, *hours)).collect();
            let mut sweeps = 0;
            while states.iter().any(|state| state.done_rounds == 0) {
                let choices = choose(&states, Mode::Code, now(), &Caps::default(), false);
                let read: Vec<String> = read(&choices).into_iter().map(str::to_owned).collect();
                prop_assert!(!read.is_empty() && read.len() <= 10);
                for state in states.iter_mut().filter(|state| read.contains(&state.session.key.session)) {
                    (state.done_rounds, state.done_ordinal) = (state.session.rounds, state.session.event_count);
                }
                sweeps += 1;
            }
            prop_assert_eq!(sweeps, hours.len().div_ceil(10));
        }
    }
}
