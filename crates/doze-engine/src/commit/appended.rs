//! What was only appended to a session teaches with its next commit, whichever call that is and whatever happens between.

use doze_core::model::{Event, Session, SessionKey};
use doze_store::{ChangeSet, Family, Snapshot, Subject, session_aux_key};

use super::Work;
use crate::EngineError;

/// Events with the ordinal of the first.
type From = (u64, Vec<Event>);

/// From which event on a session was only appended to: that teaches when it is committed.
fn appended_record(key: &SessionKey) -> String {
    session_aux_key(key, "appended")
}

impl Work<'_> {
    /// Notes that the events from `first` on have taught nothing yet.
    pub(super) fn teaches_later(
        &self,
        snapshot: &Snapshot,
        set: ChangeSet,
        key: &SessionKey,
        first: u64,
    ) -> Result<ChangeSet, EngineError> {
        let record = appended_record(key);
        if snapshot.aux(self.owner, Family::Checkpoint, &record)?.is_some() {
            return Ok(set);
        }
        Ok(set.put_aux(Family::Checkpoint, record, first.to_string().into_bytes()))
    }

    /// The events up to `first` that were only appended, with the ordinal they begin at; they wait no longer.
    pub(super) fn appended(
        &self,
        snapshot: &Snapshot,
        set: ChangeSet,
        session: &Session,
        first: u64,
    ) -> Result<(ChangeSet, Option<From>), EngineError> {
        let record = appended_record(&session.key);
        let Some(held) = snapshot.aux(self.owner, Family::Checkpoint, &record)? else {
            return Ok((set, None));
        };
        let set = set
            .expect_seen(snapshot, Subject::Aux(Family::Checkpoint, record.clone()))?
            .delete_aux(Family::Checkpoint, record);
        let began = std::str::from_utf8(&held).ok().and_then(|told| told.parse().ok()).unwrap_or(first);
        let events = snapshot.events(self.owner, &session.key, began.min(first)..first)?;
        Ok((set, Some((began, events.into_iter().map(|(_, event)| event).collect()))))
    }
}
