//! Events, each with the fingerprint it became known under.

use doze_core::model::{AgentId, Event, EventId, EventKind, Origin, ProjectId, SessionKey, ToolUse};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Keep, kept_as_word, record};

kept_as_word!(EventKind, Origin);

record! {
    /// A tool call.
    StoredTool for ToolUse {
        name: String = String::new(),
        input: String = String::new(),
        output: String = String::new(),
        failed: bool = false,
    }
}

record! {
    /// What happened.
    StoredWhat for Event {
        id: EventId = EventId::new(""),
        at: Option<Timestamp> = None,
        kind: EventKind = EventKind::Notice,
        origin: Origin = Origin::Injected,
        text: String = String::new(),
        tool: Option<ToolUse> = None,
        path: Option<String> = None,
        cwd: Option<String> = None,
    }
}

/// The name an event is known by in a project or in its session. It stays when the text is replaced, so that what was forgotten is
/// still recognised when it comes again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct EventMark {
    /// The fingerprint, in hex.
    #[serde(default)]
    pub(crate) mark: String,
    /// The project in which it is known, empty for none; or the session or agent, see [`known_in_session`].
    #[serde(default)]
    pub(crate) known_in: String,
}

impl EventMark {
    /// The fingerprint's sixteen bytes.
    pub(crate) fn bytes(&self) -> Option<[u8; 16]> {
        u128::from_str_radix(&self.mark, 16).ok().map(u128::to_be_bytes)
    }
}

/// What stands for a session where events are known: no project's id holds a NUL.
pub(crate) fn known_in_session(session: &SessionKey) -> String {
    format!("{}\0{}", session.session, session.harness)
}

/// The same for an agent in a project; no session's name is empty.
pub(crate) fn known_in_agent(agent: &AgentId, project: Option<&ProjectId>) -> String {
    format!("\0{agent}\0{}", project.map_or("", ProjectId::as_str))
}

/// An event with its mark, whose fields [`EventMark`] reads without the rest.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredEvent {
    #[serde(default)]
    mark: String,
    #[serde(default)]
    known_in: String,
    #[serde(default)]
    event: StoredWhat,
}

impl StoredEvent {
    /// The stored form of an event known under a mark.
    pub(crate) fn new(mark: EventMark, event: Event) -> Self {
        Self { mark: mark.mark, known_in: mark.known_in, event: event.keep() }
    }

    /// The event.
    pub(crate) fn into_event(self) -> Event {
        Event::back(self.event)
    }
}
