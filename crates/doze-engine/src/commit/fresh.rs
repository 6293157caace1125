//! Which of the events that a call brings are new.
//!
//! A session file tells the events of another session again, with their ids, when it is a fork or a resumed copy: they
//! are known in the whole project. What a call tells itself is known in its own session only, since callers make up ids
//! (or give none), and two agents that were told the same have both been told.

use std::collections::HashSet;

use doze_core::model::{Event, ProjectId, SessionKey};
use doze_store::{ChangeSet, KnownIn, Snapshot};

use super::identity::former;
use super::{EventCounts, Work};
use crate::EngineError;

/// The events of a call that nobody has brought before.
pub(super) struct Fresh {
    /// Each once.
    pub(super) events: Vec<Event>,
    /// How many of them, the first ones, a session file told.
    read: usize,
    /// How many were left out, because they are known.
    pub(super) known: u64,
}

impl Fresh {
    /// What became of all, `skipped` others included.
    pub(super) fn counts(&self, skipped: u64) -> EventCounts {
        EventCounts { new: self.events.len() as u64, known: self.known, skipped }
    }

    /// Adds that a session gets these events, from the ordinal `first` on.
    pub(super) fn appended(
        &self,
        mut set: ChangeSet,
        key: &SessionKey,
        project: Option<&ProjectId>,
        first: u64,
    ) -> ChangeSet {
        let (read, told) = self.events.split_at(self.read);
        let from_file = KnownIn::Project(project.cloned());
        let parts = [(from_file, first, read), (KnownIn::Session, first + read.len() as u64, told)];
        for (known_in, first, events) in parts {
            if !events.is_empty() {
                set = set.append_events(key.clone(), known_in, first, events.to_vec());
            }
        }
        set
    }
}

impl Work<'_> {
    /// The new ones among events, of which a session file told the first `read`.
    pub(super) fn fresh(
        &self,
        snapshot: &Snapshot,
        events: &[Event],
        read: usize,
    ) -> Result<Fresh, EngineError> {
        let key = self.key(snapshot)?;
        let prints: Vec<[u8; 16]> = events.iter().map(Event::fingerprint).collect();
        let own = snapshot.known_events_of(self.owner, &key, &prints)?;
        let places = self.known_in_project(snapshot, &prints)?;
        let mut seen = HashSet::new();
        let mut fresh = Fresh { events: Vec::new(), read: 0, known: 0 };
        for (at, (((event, print), own), place)) in events.iter().zip(prints).zip(own).zip(places).enumerate()
        {
            let is_read = at < read;
            let is_known = own.is_some() || place.is_some_and(|place| is_read || place == key);
            if is_known || !seen.insert(print) {
                fresh.known += 1;
                continue;
            }
            fresh.read += usize::from(is_read);
            fresh.events.push(event.clone());
        }
        Ok(fresh)
    }

    /// For each fingerprint the session that brought it first, in the project or in one that was merged into it.
    fn known_in_project(
        &self,
        snapshot: &Snapshot,
        prints: &[[u8; 16]],
    ) -> Result<Vec<Option<SessionKey>>, EngineError> {
        let mut known = snapshot.known_events(self.owner, self.place.id(), prints)?;
        for id in former(self.place) {
            let before = snapshot.known_events(self.owner, Some(&id), prints)?;
            for (known, before) in known.iter_mut().zip(before) {
                *known = known.take().or(before);
            }
        }
        Ok(known.into_iter().map(|place| place.map(|(session, _)| session)).collect())
    }
}
