//! Sessions and events.

use std::collections::HashMap;
use std::ops::{ControlFlow, Range};

use doze_core::model::{AgentId, Event, OwnerId, ProjectId, Session, SessionKey};
use jiff::Timestamp;

use super::Snapshot;
use crate::envelope::{unseal_json, unseal_record};
use crate::error::ReadError;
use crate::stored::{
    AGENT_FACETS, AGENT_IN_PROJECT_FACETS, StoredEvent, StoredPlace, agent_facet, agent_in_project_facet,
    countdown, counted, known_in_agent, known_in_session, project_facet,
};
use crate::tables::{EVENTS, FINGERPRINTS, SESSION_TIMES, SESSIONS};

/// Which sessions to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionFilter {
    /// Those of this project; `Some(None)`: those of no project.
    pub project: Option<Option<ProjectId>>,
    /// Those of this agent.
    pub agent: Option<AgentId>,
    /// Those whose last event is not before this time.
    pub since: Option<Timestamp>,
    /// Those whose last event is before this time.
    pub until: Option<Timestamp>,
}

/// Where a list of sessions goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionCursor {
    /// Microseconds since 1970 of the last session given.
    pub at: i64,
    /// Its name.
    pub key: SessionKey,
}

/// Part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T, C = SessionCursor> {
    /// The items.
    pub items: Vec<T>,
    /// Where to go on; `None` at the end.
    pub next: Option<C>,
}

impl SessionCursor {
    /// The cursor that goes on after a session.
    pub fn after(session: &Session) -> Self {
        Self { at: session.last_event_at.as_microsecond(), key: session.key.clone() }
    }
}

impl SessionFilter {
    /// The list that holds these sessions.
    fn facet(&self) -> String {
        let project = self.project.as_ref().map(|project| project.as_ref().map_or("", ProjectId::as_str));
        match (project, &self.agent) {
            (None, None) => String::new(),
            (Some(project), None) => project_facet(project),
            (None, Some(agent)) => agent_facet(agent.as_str()),
            (Some(project), Some(agent)) => agent_in_project_facet(agent.as_str(), project),
        }
    }
}

impl Snapshot {
    /// A session.
    pub fn session(&self, owner: &OwnerId, key: &SessionKey) -> Result<Option<Session>, ReadError> {
        let own = |session: &Session| session.owner == *owner && session.key == *key;
        self.record(SESSIONS, (owner.as_str(), key.session.as_str(), key.harness.as_str()), own)
    }

    /// The ids of sessions that begin so, each once, in their order, at most `limit` of them.
    pub fn session_names(
        &self,
        owner: &OwnerId,
        beginning: &str,
        limit: usize,
    ) -> Result<Vec<String>, ReadError> {
        let mut names: Vec<String> = Vec::new();
        let read = |(o, name, _): (&str, &str, &str), _: &[u8]| {
            if o != owner.as_str() || !name.starts_with(beginning) {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(name.to_owned())
        };
        self.scan(SESSIONS, (owner.as_str(), beginning, ""), read, |name| {
            if names.last() != Some(&name) {
                names.push(name);
            }
            if names.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        names.truncate(limit);
        Ok(names)
    }

    /// The sessions with this id, one per harness that has one.
    pub fn sessions_named(&self, owner: &OwnerId, session: &str) -> Result<Vec<Session>, ReadError> {
        let mut sessions = Vec::new();
        let read = |(o, name, harness): (&str, &str, &str), value: &[u8]| {
            if o != owner.as_str() || name != session {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue((harness.to_owned(), unseal_record::<Session>(value)))
        };
        self.scan(SESSIONS, (owner.as_str(), session, ""), read, |(harness, record)| {
            match record {
                Ok(record) => sessions.push(record),
                Err(damage) => {
                    self.quarantine.add(
                        "sessions",
                        format!("{:?}", (owner.as_str(), session, harness)),
                        &damage,
                    );
                }
            }
            ControlFlow::Continue(())
        })?;
        Ok(sessions)
    }

    /// The agents that have sessions in a project (`Some(None)`: in none) or anywhere, each once. It costs what they are,
    /// not how many sessions they have.
    pub fn session_agents(
        &self,
        owner: &OwnerId,
        project: Option<Option<&ProjectId>>,
    ) -> Result<Vec<AgentId>, ReadError> {
        let mut agents: Vec<AgentId> = Vec::new();
        let prefix = project.map_or(AGENT_FACETS, |_| AGENT_IN_PROJECT_FACETS);
        let mut from = prefix.to_owned();
        loop {
            let mut found: Option<String> = None;
            let read = |(o, facet, ..): (&str, &str, u64, &str, &str), ()| {
                if o != owner.as_str() || !facet.starts_with(prefix) {
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(facet.to_owned())
            };
            self.scan(SESSION_TIMES, (owner.as_str(), from.as_str(), 0, "", ""), read, |facet| {
                found = Some(facet);
                ControlFlow::Break(())
            })?;
            let Some(facet) = found else { return Ok(agents) };
            let name = &facet[prefix.len()..];
            let (agent, place) = name.split_once('\0').unwrap_or((name, ""));
            if project.is_none_or(|project| project.map_or("", ProjectId::as_str) == place) {
                agents.push(AgentId::new(agent));
            }
            // The least text behind it.
            from = facet + "\0";
        }
    }

    /// Sessions, the one with the newest last event first, those of one microsecond by name.
    pub fn sessions(
        &self,
        owner: &OwnerId,
        filter: &SessionFilter,
        after: Option<&SessionCursor>,
        limit: usize,
    ) -> Result<Page<Session>, ReadError> {
        let facet = filter.facet();
        let until = filter.until.map_or(0, |until| countdown(until).saturating_add(1));
        let from = match after {
            Some(cursor) => {
                let at = Timestamp::from_microsecond(cursor.at).unwrap_or(Timestamp::MIN);
                (
                    owner.as_str(),
                    facet.as_str(),
                    countdown(at),
                    cursor.key.session.as_str(),
                    cursor.key.harness.as_str(),
                )
            }
            None => (owner.as_str(), facet.as_str(), until, "", ""),
        };
        let last = filter.since.map_or(u64::MAX, countdown);
        let (mut items, mut more, mut failed) = (Vec::<Session>::new(), false, None);
        let read = |(o, f, down, session, harness): (&str, &str, u64, &str, &str), ()| {
            let same = o == owner.as_str() && f == facet && down <= last;
            if same {
                ControlFlow::Continue((down, SessionKey::new(session, harness)))
            } else {
                ControlFlow::Break(())
            }
        };
        self.scan(SESSION_TIMES, from, read, |(down, key)| {
            if after.is_some_and(|cursor| cursor.key == key && cursor.at == counted(down)) {
                return ControlFlow::Continue(());
            }
            if items.len() >= limit {
                more = true;
                return ControlFlow::Break(());
            }
            match self.session(owner, &key) {
                // An entry a damaged record left behind points at another time.
                Ok(session) => {
                    items.extend(session.filter(|session| countdown(session.last_event_at) == down))
                }
                Err(error) => failed = Some(error),
            }
            if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        let next = items.last().filter(|_| more).map(SessionCursor::after);
        Ok(Page { items, next })
    }

    /// The events of a session with these ordinals, in order; damaged ones are left out.
    pub fn events(
        &self,
        owner: &OwnerId,
        key: &SessionKey,
        range: Range<u64>,
    ) -> Result<Vec<(u64, Event)>, ReadError> {
        let mut events = Vec::new();
        self.each_event(owner, key, range, &mut |ordinal, event| {
            events.push((ordinal, event));
            ControlFlow::Continue(())
        })?;
        Ok(events)
    }

    /// The events of a session with these ordinals, one after the other, until `f` breaks.
    pub fn each_event(
        &self,
        owner: &OwnerId,
        key: &SessionKey,
        range: Range<u64>,
        f: &mut dyn FnMut(u64, Event) -> ControlFlow<()>,
    ) -> Result<(), ReadError> {
        let here = (owner.as_str(), key.session.as_str(), key.harness.as_str());
        let read = |(o, session, harness, ordinal): (&str, &str, &str, u64), value: &[u8]| {
            if (o, session, harness) != here || ordinal >= range.end {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue((ordinal, unseal_json::<StoredEvent>(value)))
        };
        self.scan(EVENTS, (here.0, here.1, here.2, range.start), read, |(ordinal, event)| match event {
            Ok(event) => f(ordinal, event.into_event()),
            Err(damage) => {
                self.quarantine.add("events", format!("{:?}", (here.0, here.1, here.2, ordinal)), &damage);
                ControlFlow::Continue(())
            }
        })
    }

    /// How many bytes the record and the events of each session take as they are stored. Reads all of them.
    pub fn history_sizes(&self, owner: &OwnerId) -> Result<HashMap<SessionKey, u64>, ReadError> {
        let mut sizes = HashMap::<SessionKey, u64>::new();
        let mut add = |(key, bytes): (SessionKey, u64)| {
            *sizes.entry(key).or_default() += bytes;
            ControlFlow::Continue(())
        };
        let size = |o: &str, session: &str, harness: &str, value: &[u8]| {
            if o != owner.as_str() {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue((SessionKey::new(session, harness), value.len() as u64))
        };
        self.scan(
            SESSIONS,
            (owner.as_str(), "", ""),
            |(o, s, h), value: &[u8]| size(o, s, h, value),
            &mut add,
        )?;
        self.scan(
            EVENTS,
            (owner.as_str(), "", "", 0),
            |(o, s, h, _), value: &[u8]| size(o, s, h, value),
            add,
        )?;
        Ok(sizes)
    }

    /// For each fingerprint where its event lies, if the project knows it.
    pub fn known_events(
        &self,
        owner: &OwnerId,
        project: Option<&ProjectId>,
        fingerprints: &[[u8; 16]],
    ) -> Result<Vec<Option<(SessionKey, u64)>>, ReadError> {
        self.marked(owner, project.map_or("", ProjectId::as_str), fingerprints)
    }

    /// For each fingerprint where its event lies, if the session knows it as its own.
    pub fn known_events_of(
        &self,
        owner: &OwnerId,
        session: &SessionKey,
        fingerprints: &[[u8; 16]],
    ) -> Result<Vec<Option<(SessionKey, u64)>>, ReadError> {
        self.marked(owner, &known_in_session(session), fingerprints)
    }

    /// For each fingerprint where its event lies, if the agent told it in the project.
    pub fn known_events_by(
        &self,
        owner: &OwnerId,
        agent: &AgentId,
        project: Option<&ProjectId>,
        fingerprints: &[[u8; 16]],
    ) -> Result<Vec<Option<(SessionKey, u64)>>, ReadError> {
        self.marked(owner, &known_in_agent(agent, project), fingerprints)
    }

    fn marked(
        &self,
        owner: &OwnerId,
        known_in: &str,
        fingerprints: &[[u8; 16]],
    ) -> Result<Vec<Option<(SessionKey, u64)>>, ReadError> {
        fingerprints
            .iter()
            .map(|fingerprint| {
                let key = (owner.as_str(), known_in, fingerprint.as_slice());
                let place =
                    self.decoded(FINGERPRINTS, key, format!("{key:?}"), unseal_json::<StoredPlace>)?;
                Ok(place.map(StoredPlace::into_place))
            })
            .collect()
    }
}
