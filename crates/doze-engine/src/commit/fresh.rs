//! Which of the events that a call brings are new.
//!
//! A session file tells the events of another session again, with their ids, when it is a fork or a resumed copy: they
//! are known in the whole project. What a call tells itself with an id and a time is known in all sessions of its agent, for
//! the same reason, and else in its own session only: callers make up ids (or give none), and two agents that were told
//! the same have both been told.

use std::collections::HashSet;

use doze_core::model::{AgentId, Event, Origin, ProjectId, SessionKey};
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
        agent: &AgentId,
        project: Option<&ProjectId>,
        first: u64,
    ) -> ChangeSet {
        let (read, told) = self.events.split_at(self.read);
        let parts = told.chunk_by(|a, b| is_exact(a) == is_exact(b)).map(|events| {
            let by_agent = || KnownIn::Agent(agent.clone(), project.cloned());
            (if events.first().is_some_and(is_exact) { by_agent() } else { KnownIn::Session }, events)
        });
        let mut first = first;
        for (known_in, events) in [(KnownIn::Project(project.cloned()), read)].into_iter().chain(parts) {
            if !events.is_empty() {
                set = set.append_events(key.clone(), known_in, first, events.to_vec());
                first += events.len() as u64;
            }
        }
        set
    }
}

/// An event that tells its id and its time: no other one does so with the same words.
fn is_exact(event: &Event) -> bool {
    event.at.is_some() && !event.id.as_str().is_empty()
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
        // What was kept before it was forgotten is known by what it said, what came later by what is left of it.
        let kept = self.without_forgotten(snapshot, events)?;
        let known = self.known(snapshot, &key, events, read)?;
        let kept_known =
            if kept == events { vec![false; kept.len()] } else { self.known(snapshot, &key, &kept, read)? };
        let mut seen = HashSet::new();
        let mut fresh = Fresh { events: Vec::new(), read: 0, known: 0 };
        for (at, event) in kept.into_iter().enumerate() {
            if known[at] || kept_known[at] || !seen.insert(events[at].fingerprint()) {
                fresh.known += 1;
                continue;
            }
            fresh.read += usize::from(at < read);
            fresh.events.push(event);
        }
        Ok(fresh)
    }

    /// Which of these events somebody has brought, of which a session file told the first `read`.
    fn known(
        &self,
        snapshot: &Snapshot,
        key: &SessionKey,
        events: &[Event],
        read: usize,
    ) -> Result<Vec<bool>, EngineError> {
        let prints: Vec<[u8; 16]> = events.iter().map(Event::fingerprint).collect();
        let own = snapshot.known_events_of(self.owner, key, &prints)?;
        let places = self.known_in_project(snapshot, &prints)?;
        let by_agent = self.in_places(&|project| {
            snapshot.known_events_by(self.owner, &self.request.agent.id, project, &prints)
        })?;
        let known = own.into_iter().zip(places).zip(by_agent).enumerate();
        let is_known = known.map(|(at, ((own, place), by_agent))| {
            own.is_some()
                || place.is_some_and(|place| at < read || place == *key)
                || is_exact(&events[at]) && by_agent.is_some()
        });
        Ok(is_known.collect())
    }

    /// The events without the sentences that a person forgot: of what people say those that they forgot after they were
    /// said, since a session may be brought long after it was held; an agent or a tool brings none of them back.
    fn without_forgotten(&self, snapshot: &Snapshot, events: &[Event]) -> Result<Vec<Event>, EngineError> {
        let mut kept = events.to_vec();
        let Some(graves) = self.engine.graves_in(snapshot, self.owner, self.place.id())? else {
            return Ok(kept);
        };
        for event in &mut kept {
            let is_of_person = matches!(event.origin, Origin::Person);
            let at = event.at.or(Some(self.engine.now())).filter(|_| is_of_person);
            let texts = event.tool.iter_mut().flat_map(|tool| [&mut tool.input, &mut tool.output]);
            for text in [&mut event.text].into_iter().chain(texts) {
                graves.blank(text, at)?;
            }
        }
        Ok(kept)
    }

    /// For each fingerprint the session that brought it first, in the project or in one that was merged into it.
    fn known_in_project(
        &self,
        snapshot: &Snapshot,
        prints: &[[u8; 16]],
    ) -> Result<Vec<Option<SessionKey>>, EngineError> {
        self.in_places(&|project| snapshot.known_events(self.owner, project, prints))
    }

    /// What is known in the project, else in one that was merged into it.
    fn in_places(&self, known_in: KnownBy<'_>) -> Result<Vec<Option<SessionKey>>, EngineError> {
        let mut known = known_in(self.place.id())?;
        for id in former(self.place) {
            for (known, before) in known.iter_mut().zip(known_in(Some(&id))?) {
                *known = known.take().or(before);
            }
        }
        Ok(known.into_iter().map(|place| place.map(|(session, _)| session)).collect())
    }
}

/// Looks fingerprints up in a project.
type KnownBy<'a> =
    &'a dyn Fn(Option<&ProjectId>) -> Result<Vec<Option<(SessionKey, u64)>>, doze_store::ReadError>;
