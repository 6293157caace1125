//! Which sessions a sweep reads, and what is noted of those it does not.

use std::collections::BTreeSet;

use doze_core::model::{Mode, OwnerId, ProjectId, SessionKey};
use doze_core::text;
use doze_dream::{Caps, Choice, choose, retry_after};
use doze_store::{ApplyError, ChangeSet, Family, Subject};
use jiff::SignedDuration;

use super::DreamRequest;
use super::state::{is_in, session_record};
use crate::{Engine, EngineError, encoded};

/// Longer ago than any session.
const EVER_DAYS: u32 = 3650;

impl Engine {
    /// What to say of unread sessions that are older than a sweep looks back.
    pub(super) fn too_old(
        &self,
        owner: &OwnerId,
        project: Option<&ProjectId>,
        request: &DreamRequest,
    ) -> Result<String, EngineError> {
        let caps = Caps::default();
        let days = request.max_age_days.unwrap_or(caps.max_age_days);
        let snapshot = self.store().snapshot()?;
        let states = self.session_states(&snapshot, owner, EVER_DAYS)?;
        let older = states
            .iter()
            .filter(|state| {
                let unread = state.session.rounds.saturating_sub(state.done_rounds);
                is_in(&state.session, project) && unread >= caps.min_rounds
            })
            .filter(|state| {
                let age = self.now().duration_since(state.session.last_event_at);
                age > SignedDuration::from_hours(24 * i64::from(days))
            })
            .count();
        if older == 0 {
            return Ok(String::new());
        }
        let sessions = text::count(older as u64, "unread session");
        Ok(format!("; older than {days} days: {sessions}, read with  doze dream --max-age {EVER_DAYS}"))
    }

    pub(super) fn chosen(
        &self,
        owner: &OwnerId,
        modes: &[Mode],
        project: Option<&ProjectId>,
        request: &DreamRequest,
    ) -> Result<Vec<Choice>, EngineError> {
        let snapshot = self.store().snapshot()?;
        let ignored: BTreeSet<ProjectId> = snapshot
            .projects(owner)?
            .into_iter()
            .filter(|project| project.ignored)
            .map(|project| project.id)
            .collect();
        let mut caps = Caps::default();
        caps.max_age_days = request.max_age_days.unwrap_or(caps.max_age_days);
        let mut states = self.session_states(&snapshot, owner, caps.max_age_days)?;
        states.retain(|state| {
            is_in(&state.session, project)
                && state.session.project.as_ref().is_none_or(|project| !ignored.contains(project))
        });
        let mut choices = Vec::new();
        for mode in modes {
            choices.extend(choose(&states, *mode, self.now(), &caps, request.by_hand));
        }
        Ok(choices)
    }

    /// Sessions that were told as left out, so that the next sweep does not tell them again.
    pub(super) fn note_told(&self, owner: &OwnerId, told: &[SessionKey]) -> Result<(), EngineError> {
        let snapshot = self.store().snapshot()?;
        let mut set = ChangeSet::new(owner.clone());
        for key in told {
            let Some(session) = snapshot.session(owner, key)? else { continue };
            let mut checkpoint = self.dreamt(&snapshot, owner, key)?;
            checkpoint.told_events = session.event_count;
            let record = session_record(key, self.dream_ledger(key));
            set = set.expect_seen(&snapshot, Subject::Aux(Family::Checkpoint, record.clone()))?.put_aux(
                Family::Checkpoint,
                record,
                encoded(&checkpoint)?,
            );
        }
        if set.changes.is_empty() {
            return Ok(());
        }
        self.noted(set)
    }

    /// Counts a failure of a session: from the third one in a row on it waits longer each time.
    pub(super) fn note_failure(&self, owner: &OwnerId, key: &SessionKey) -> Result<(), EngineError> {
        let snapshot = self.store().snapshot()?;
        let mut checkpoint = self.dreamt(&snapshot, owner, key)?;
        checkpoint.failures = checkpoint.failures.saturating_add(1);
        checkpoint.next_try_after = retry_after(checkpoint.failures, self.now());
        let record = session_record(key, self.dream_ledger(key));
        let set = ChangeSet::new(owner.clone())
            .expect_seen(&snapshot, Subject::Aux(Family::Checkpoint, record.clone()))?
            .put_aux(Family::Checkpoint, record, encoded(&checkpoint)?);
        self.noted(set)
    }

    /// Writes a note in the ledger. Where a job has read the session meanwhile there is nothing to note.
    fn noted(&self, set: ChangeSet) -> Result<(), EngineError> {
        match self.store().apply(set) {
            Ok(_) | Err(ApplyError::Conflict { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
