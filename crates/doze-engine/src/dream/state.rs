//! What dreams remember between sweeps: how far each session was read, what it yielded, and how the last sweeps went.

use std::collections::{BTreeMap, BTreeSet};

use doze_core::model::{Kind, Mode, Origin, OwnerId, Scope, Session, SessionKey};
use doze_dream::{Candidate, ChoiceOutcome, SessionState};
use doze_store::{ChangeSet, Family, SessionFilter, Snapshot, session_aux_key};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::reading::followed;
use crate::{Engine, EngineError, encoded, lock};

/// The setting that tells how the last sweeps went.
pub(super) const SWEEP_STATE: &str = "dream";
/// Days by which the listing reaches further back than the bound, so that a session beyond it is told as too old.
const LOOK_BACK_DAYS: i64 = 15;

/// How far an extractor has read a session, whether for a dream, a job or an import: the ledger (`R10`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Checkpoint {
    /// Its rounds then.
    pub(crate) rounds: u64,
    /// Events below this ordinal were read.
    pub(crate) ordinal: u64,
    /// Extractions in a row that failed since.
    pub(crate) failures: u32,
    /// Not before this time.
    pub(crate) next_try_after: Option<Timestamp>,
    /// Its events when a sweep told that it is left out.
    pub(crate) told_events: u64,
    /// Read once more, not before this time: the day's cap had no room for what it said.
    pub(crate) put_off: Option<Timestamp>,
}

/// How the last sweeps went.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct SweepState {
    pub(super) last_run: Option<Timestamp>,
    pub(super) last_result: Option<String>,
    /// Why it ran and what came of it, in one sentence.
    pub(super) last_why: Option<String>,
    pub(super) failed: u32,
    pub(super) empty: u32,
    /// Drawn anew by every sweep; spreads the next one.
    pub(super) random: u32,
    /// The day that `spent` counts for, and the changes of that day per space.
    pub(super) day: String,
    pub(super) spent: BTreeMap<String, usize>,
}

/// What a session yielded, kept until a plan has decided on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Yielded {
    /// The events that were read: from this ordinal …
    pub(super) from: u64,
    /// … up to this one, and the rounds then.
    pub(super) upto: u64,
    pub(super) rounds: u64,
    pub(super) candidates: Vec<Kept>,
    /// What was said to end or change something.
    #[serde(default)]
    pub(super) ended: Vec<Kept>,
    /// The programs that ran.
    #[serde(default)]
    pub(super) ran: BTreeSet<String>,
    /// Somebody replied what cannot be read: the events count as read, and yield nothing.
    #[serde(default)]
    pub(super) is_unreadable: bool,
}

/// A candidate as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Kept {
    kind: String,
    title: String,
    body: String,
    topic_key: Option<String>,
    files: Vec<String>,
    confidence: f64,
    tags: Vec<String>,
    evidence: Vec<String>,
    origin: String,
    at: Timestamp,
    scope: String,
}

impl From<&Candidate> for Kept {
    fn from(candidate: &Candidate) -> Self {
        Self {
            kind: candidate.kind.to_string(),
            title: candidate.title.clone(),
            body: candidate.body.clone(),
            topic_key: candidate.topic_key.clone(),
            files: candidate.files.clone(),
            confidence: candidate.confidence,
            tags: candidate.tags.clone(),
            evidence: candidate.evidence.clone(),
            origin: candidate.origin.to_string(),
            at: candidate.at,
            scope: candidate.scope.key(),
        }
    }
}

impl Kept {
    /// Goes where its session went; whether there is still a place for it.
    pub(super) fn follow(&mut self, before: &Session, now: &Session) -> bool {
        let followed = Scope::from_key(&self.scope).and_then(|scope| followed(&scope, before, now));
        let is_placed = followed.is_some();
        self.scope = followed.map_or_else(String::new, |scope| scope.key());
        is_placed
    }

    /// The candidate; `None` when it was kept by a version with other words.
    pub(super) fn restore(self) -> Option<Candidate> {
        Some(Candidate {
            kind: self.kind.parse::<Kind>().ok()?,
            title: self.title,
            body: self.body,
            topic_key: self.topic_key,
            files: self.files,
            confidence: self.confidence,
            tags: self.tags,
            evidence: self.evidence,
            origin: self.origin.parse::<Origin>().ok()?,
            at: self.at,
            scope: Scope::from_key(&self.scope)?,
        })
    }
}

/// The key of what an extractor has read of a session, and of what that yielded.
pub(crate) fn session_record(key: &SessionKey, extractor: &str) -> String {
    session_aux_key(key, extractor)
}

/// The ledger of what nobody is to read: it was said in a discussion (S1.5).
pub(crate) const NOBODY: &str = "nobody";

/// Notes that an extractor has read a session up to an ordinal.
pub(crate) fn checkpointed(
    set: ChangeSet,
    key: &SessionKey,
    extractor: &str,
    ordinal: u64,
    rounds: u64,
) -> Result<ChangeSet, EngineError> {
    let checkpoint = Checkpoint { rounds, ordinal, ..Checkpoint::default() };
    let record = session_record(key, extractor);
    Ok(set
        .put_aux(Family::Checkpoint, record.clone(), encoded(&checkpoint)?)
        .delete_aux(Family::Candidates, record))
}

impl Engine {
    pub(crate) fn checkpoint(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        key: &SessionKey,
        extractor: &str,
    ) -> Result<Checkpoint, EngineError> {
        let bytes = snapshot.aux(owner, Family::Checkpoint, &session_record(key, extractor))?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default())
    }

    /// How far the extractor of dreams has read a session.
    pub(crate) fn dreamt(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        key: &SessionKey,
    ) -> Result<Checkpoint, EngineError> {
        self.checkpoint(snapshot, owner, key, self.dream_ledger(key))
    }

    /// The ledger's name for who reads a session for a dream.
    pub(crate) fn dream_ledger(&self, key: &SessionKey) -> &'static str {
        lock(&self.inner.switches).extractors.dream_ledger(&key.harness)
    }

    pub(super) fn sweep_state(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
    ) -> Result<SweepState, EngineError> {
        let bytes = snapshot.aux(owner, Family::Setting, SWEEP_STATE)?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default())
    }

    /// The sessions a sweep may read, with how far each was read.
    pub(super) fn session_states(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        max_age_days: u32,
    ) -> Result<Vec<SessionState>, EngineError> {
        let look_back = SignedDuration::from_hours(24 * (i64::from(max_age_days) + LOOK_BACK_DAYS));
        let filter =
            SessionFilter { since: self.now().checked_sub(look_back).ok(), ..SessionFilter::default() };
        let mut states = Vec::new();
        for session in snapshot.sessions(owner, &filter, None, usize::MAX)?.items {
            let checkpoint = self.dreamt(snapshot, owner, &session.key)?;
            states.push(SessionState {
                session,
                done_rounds: checkpoint.rounds,
                done_ordinal: checkpoint.ordinal,
                failures: checkpoint.failures,
                next_try_after: checkpoint.next_try_after,
                told_events: checkpoint.told_events,
                put_off: checkpoint.put_off,
            });
        }
        Ok(states)
    }

    /// Sessions that a sweep would read as soon as they are over, and those that wait for tomorrow because the day's cap
    /// had no room for them.
    pub(super) fn waiting_sessions(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
    ) -> Result<(u64, u64), EngineError> {
        let caps = doze_dream::Caps { max_sessions: usize::MAX, ..Default::default() };
        let states = self.session_states(snapshot, owner, caps.max_age_days)?;
        let (mut ready, mut later) = (0, 0);
        for mode in [Mode::Code, Mode::Agent] {
            for choice in doze_dream::choose(&states, mode, self.now(), &caps, true) {
                match choice.outcome {
                    ChoiceOutcome::Read { .. } => ready += 1,
                    ChoiceOutcome::Skip { is_lasting: false, .. } => later += 1,
                    ChoiceOutcome::Skip { .. } => {}
                }
            }
        }
        Ok((ready, later))
    }
}

/// Whether a session is in a project, for sweeps of one project.
pub(super) fn is_in(session: &Session, project: Option<&doze_core::model::ProjectId>) -> bool {
    project.is_none_or(|project| session.project.as_ref() == Some(project))
}
