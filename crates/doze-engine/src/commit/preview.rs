//! Reading a session file without storing anything, and listing what is stored of sessions.

use std::path::Path;

use doze_core::model::{AgentId, Event, OwnerId, Session};
use doze_store::{SessionCursor, SessionFilter};
use doze_transcript::{Limits, Report, read};
use jiff::Timestamp;

use crate::Resolved;
use crate::files::open_regular;
use crate::memory::Page;
use crate::names::safe_name;
use crate::recall::Reader;
use crate::{Engine, EngineError, Problem};

/// Sessions of one page at most, and of the office face (S0.3).
pub(crate) const MAX_PAGE: usize = 500;
const OFFICE_SESSIONS: usize = 30;
/// Events that a preview hands out at most.
const MAX_EVENTS: usize = 20_000;

/// What a session file holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Preview {
    /// Format, counts and whose session it is.
    pub report: Report,
    /// The events, if asked for, as they would be stored: cleaned and redacted.
    pub events: Option<Vec<Event>>,
}

/// `session.list`.
#[derive(Debug, Clone, Default)]
pub struct SessionListRequest {
    /// Who asks, and from where.
    pub reader: Reader,
    /// The agent's 30 newest, as the office face keeps them.
    pub office: bool,
    /// Only what happened at or after this time.
    pub since: Option<Timestamp>,
    /// Only what happened before this time.
    pub until: Option<Timestamp>,
    /// Sessions of the page, 1–500.
    pub limit: usize,
    /// Where the page before ended.
    pub cursor: Option<String>,
}

impl Engine {
    /// Reads a session file and stores nothing.
    pub fn preview(
        &self,
        path: &str,
        format: Option<&str>,
        with_events: bool,
    ) -> Result<Preview, EngineError> {
        let cannot = || EngineError::new(Problem::Invalid, format!("cannot read the session file {path}"));
        let file = open_regular(Path::new(path)).map_err(|error| cannot().caused_by(error))?;
        let admission = super::intake::Admission::new(self.now(), Vec::new());
        let mut events = Vec::new();
        let mut ignored = super::intake::Changes::default();
        let mut keep = |event: Event| {
            if with_events && events.len() < MAX_EVENTS {
                events.extend(super::intake::clean_event(&event, &admission, &mut ignored));
            }
        };
        let mut report =
            read(file, None, &Limits::default(), &mut keep).map_err(|error| cannot().caused_by(error))?;
        if let Some(format) =
            format.filter(|format| !matches!(*format, "auto" | "") && *format != report.format.as_str())
        {
            return Err(EngineError::invalid(format!("{path} is {}, not {format}", report.format.as_str())));
        }
        if let Some(answer) = report.cursor.release_answer() {
            keep(answer);
        }
        report.cursor.release_calls().into_iter().for_each(&mut keep);
        Ok(Preview { report, events: with_events.then_some(events) })
    }

    /// A page of sessions, newest first.
    pub fn sessions(
        &self,
        owner: &OwnerId,
        request: &SessionListRequest,
    ) -> Result<Page<Session>, EngineError> {
        if request.limit == 0 || request.limit > MAX_PAGE {
            return Err(EngineError::invalid(format!("limit is outside 1–{MAX_PAGE}")));
        }
        let place = self.place_of_reader(owner, &request.reader)?;
        let agent: Option<AgentId> = request.reader.agent_id();
        if request.office && agent.is_none() {
            return Err(EngineError::invalid("face office needs an agent"));
        }
        let filter = SessionFilter {
            project: place.as_ref().map(Resolved::reads),
            agent,
            since: request.since,
            until: request.until,
        };
        let limit = if request.office { request.limit.min(OFFICE_SESSIONS) } else { request.limit };
        let after = request.cursor.as_deref().map(parse_cursor).transpose()?;
        let page = self.store().snapshot()?.sessions(owner, &filter, after.as_ref(), limit)?;
        let next = page.next.filter(|_| !request.office).map(|cursor| write_cursor(&cursor));
        Ok(Page { items: page.items, next })
    }

    /// A session by its id; the newest where several harnesses used the same one and none is named.
    pub fn session(
        &self,
        owner: &OwnerId,
        session: &str,
        harness: Option<&str>,
    ) -> Result<Session, EngineError> {
        let named = self.store().snapshot()?.sessions_named(owner, &safe_name(session))?;
        named
            .into_iter()
            .filter(|session| harness.is_none_or(|harness| session.key.harness == harness))
            .max_by_key(|session| session.last_event_at)
            .ok_or_else(|| EngineError::not_found("session", session))
    }
}

fn write_cursor(cursor: &SessionCursor) -> String {
    serde_json::json!([cursor.at, cursor.key.session, cursor.key.harness]).to_string()
}

fn parse_cursor(text: &str) -> Result<SessionCursor, EngineError> {
    let (at, session, harness): (i64, String, String) = serde_json::from_str(text)
        .map_err(|_| EngineError::invalid("cursor is not one that a list answered"))?;
    Ok(SessionCursor { at, key: doze_core::model::SessionKey::new(session, harness) })
}
