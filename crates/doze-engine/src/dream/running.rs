//! The sweep that runs, on record: what a killed process leaves behind, and how the next one goes on with it.
//!
//! The record is written before anything is read and goes in the transaction that applies the plan. Whoever finds it
//! while no sweep runs knows that one broke off: running has become pending. What its sessions yielded is kept apart
//! (`reading`), so going on means choosing again and asking nobody twice.

use doze_core::model::{Mode, OwnerId, SessionKey};
use doze_core::text;
use doze_store::{ChangeSet, Family, Snapshot};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::DreamRequest;
use crate::{Engine, EngineError, encoded, lock};

/// The setting that holds the record.
pub(super) const RUNNING: &str = "dream-running";
/// Times that a sweep which breaks off is gone on with soon after a start; then it waits as one that failed does.
const MAX_ATTEMPTS: u32 = 3;

/// How far a sweep has come.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Step {
    /// Which sessions to read.
    #[default]
    Choosing,
    /// Reading one of them.
    Reading {
        /// The harness that ran it.
        harness: String,
        /// Its id.
        session: String,
    },
    /// Merging, promoting, retiring, and applying that with the journal.
    Planning,
}

/// A sweep that has begun and is not applied.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Running {
    /// When it began.
    pub(super) started_at: Timestamp,
    /// How often sweeps have begun since the last one that came to an end.
    pub(super) attempts: u32,
    pub(super) step: Step,
    /// Sessions it reads, and how many of them it has read.
    pub(super) chosen: u64,
    pub(super) read: u64,
    /// What was asked for.
    mode: Option<String>,
    project: Option<String>,
    by_hand: bool,
    max_age_days: Option<u32>,
    /// It only tells what it would do, and leaves no record.
    #[serde(skip)]
    dry_run: bool,
}

impl Running {
    /// What was asked for, to be asked for again.
    fn request(&self) -> DreamRequest {
        DreamRequest {
            mode: self.mode.as_ref().and_then(|word| word.parse::<Mode>().ok()),
            project: self.project.clone(),
            dry_run: false,
            by_hand: self.by_hand,
            max_age_days: self.max_age_days,
            because: String::new(),
        }
    }

    /// Whether it is gone on with soon, and not at the pace of sweeps that fail.
    pub(super) fn is_resumed_soon(&self) -> bool {
        self.attempts < MAX_ATTEMPTS
    }

    /// One sentence for people.
    pub(super) fn told(&self) -> String {
        let read = format!("{} of {} read", self.read, text::count(self.chosen, "session"));
        let where_to = match &self.step {
            Step::Choosing => "before it had chosen what to read".to_owned(),
            Step::Reading { session, .. } => format!("while it read {session}, {read}"),
            Step::Planning => format!("before its plan was applied, {read}"),
        };
        let times = if self.attempts > 1 {
            format!(" (the {} time in a row)", ordinal(self.attempts))
        } else {
            String::new()
        };
        format!("a sweep broke off {where_to}{times}; the next one goes on with what is kept")
    }
}

fn ordinal(n: u32) -> String {
    let ending = match (n % 100, n % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

impl Engine {
    /// The record that a sweep left behind; of one that runs now, nothing.
    pub(super) fn broken_off(&self, owner: &OwnerId) -> Result<Option<Running>, EngineError> {
        if self.is_dreaming() {
            return Ok(None);
        }
        // On a state of its own: one that is older may still show the record of a sweep that has ended since.
        let left = self.on_record(&self.store().snapshot()?, owner)?;
        Ok(left.filter(|_| !self.is_dreaming()))
    }

    fn on_record(&self, snapshot: &Snapshot, owner: &OwnerId) -> Result<Option<Running>, EngineError> {
        let bytes = snapshot.aux(owner, Family::Setting, RUNNING)?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// What the next sweep that nobody asked for is to do: what one that broke off was asked for, else what all do.
    pub fn next_dream(&self, owner: &OwnerId) -> Result<DreamRequest, EngineError> {
        let left = self.broken_off(owner)?;
        let request = left.filter(Running::is_resumed_soon).map(|left| left.request()).unwrap_or_default();
        // A project that was forgotten since is not dreamt of any more.
        let is_gone = request.project.as_deref().is_some_and(|name| self.find_project(owner, name).is_err());
        Ok(if is_gone { DreamRequest::default() } else { request })
    }

    /// Puts a sweep on record as running, and answers with that the record of one that broke off. The caller holds the
    /// lock that there is one sweep at a time. A session that the process ended at counts as failed, so that it does
    /// not end every one.
    pub(super) fn begin(
        &self,
        owner: &OwnerId,
        request: &DreamRequest,
    ) -> Result<(Running, Option<Running>), EngineError> {
        let started_at = self.now();
        let left = self.on_record(&self.store().snapshot()?, owner)?;
        let running = Running {
            started_at,
            attempts: left.as_ref().map_or(1, |left| left.attempts.saturating_add(1)),
            mode: request.mode.map(|mode| mode.to_string()),
            project: request.project.clone(),
            by_hand: request.by_hand,
            max_age_days: request.max_age_days,
            dry_run: request.dry_run,
            ..Running::default()
        };
        if request.dry_run {
            return Ok((running, None));
        }
        let is_first_here = lock(&self.inner.attempted).replace(started_at).is_none();
        let died_at = left.as_ref().filter(|_| is_first_here).map(|left| &left.step);
        if let Some(Step::Reading { harness, session }) = died_at {
            self.note_failure(owner, &SessionKey::new(session.as_str(), harness.as_str()))?;
        }
        self.note_running(owner, &running)?;
        Ok((running, left))
    }

    /// Puts on record how far the sweep has come.
    pub(super) fn note_running(&self, owner: &OwnerId, running: &Running) -> Result<(), EngineError> {
        if running.dry_run {
            return Ok(());
        }
        let set = ChangeSet::new(owner.clone()).put_aux(Family::Setting, RUNNING, encoded(running)?);
        self.store().apply(set)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sentence_says_where_it_broke_off() {
        let at = |step: Step, attempts| Running { step, attempts, chosen: 3, read: 1, ..Running::default() };
        let reading = Step::Reading { harness: "codex".into(), session: "s7".into() };
        for (running, expected) in [
            (at(Step::Choosing, 1), "a sweep broke off before it had chosen what to read; "),
            (
                at(reading, 2),
                "a sweep broke off while it read s7, 1 of 3 sessions read (the 2nd time in a row); ",
            ),
            (
                at(Step::Planning, 11),
                "a sweep broke off before its plan was applied, 1 of 3 sessions read (the 11th time in a row); ",
            ),
        ] {
            assert_eq!(running.told(), format!("{expected}the next one goes on with what is kept"));
        }
    }

    #[test]
    fn a_record_comes_back_as_it_was_and_asks_for_the_same() {
        let running = Running {
            started_at: "2026-03-01T12:00:00Z".parse().unwrap(),
            step: Step::Reading { harness: "codex".into(), session: "s".into() },
            mode: Some("agent".into()),
            by_hand: true,
            max_age_days: Some(90),
            ..Running::default()
        };
        let back: Running = serde_json::from_slice(&encoded(&running).unwrap()).unwrap();
        assert_eq!(back, running);
        let request = back.request();
        assert_eq!(
            (request.mode, request.by_hand, request.max_age_days),
            (Some(Mode::Agent), true, Some(90))
        );
        assert!(
            (1..5)
                .map(|attempts| Running { attempts, ..Running::default() }.is_resumed_soon())
                .eq([true, true, false, false])
        );
    }
}
