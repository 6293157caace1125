//! Reading a session file without storing anything, and listing what is stored of sessions.

use std::collections::HashSet;
use std::path::Path;

use doze_core::model::{AgentId, Event, OwnerId, Session};
use doze_store::{SessionCursor, SessionFilter, Snapshot};
use doze_transcript::{Limits, Report, read};
use jiff::Timestamp;

use super::meant::SessionName;
use super::tasks::session_of_task;
use crate::Resolved;
use crate::files::open_regular;
use crate::jobs::record;
use crate::memory::Page;
use crate::names::safe_name;
use crate::recall::Reader;
use crate::{Engine, EngineError, Problem};

/// Sessions of one page at most, and of the office face (S0.3).
pub(crate) const MAX_PAGE: usize = 500;
const OFFICE_SESSIONS: usize = 30;
/// Characters of a session's id that stand for the whole one, and ids that are named where several fit.
const MIN_BEGINNING: usize = 6;
/// Names that are looked through for one that ends so.
const MOST_LOOKED_AT: usize = 20_000;
pub(super) const MOST_NAMED: usize = 5;
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
    /// Only those whose last job failed.
    pub failed: bool,
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
        let cannot = || {
            EngineError::new(Problem::Invalid, format!("cannot read the session file {path}"))
                .hint("doze reads files of Claude Code, Codex and Gemini CLI, and messages as OpenAI and Anthropic write them")
        };
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
        let snapshot = self.store().snapshot()?;
        let page = if request.failed {
            self.failed_sessions(&snapshot, owner, &filter, after, limit)?
        } else {
            snapshot.sessions(owner, &filter, after.as_ref(), limit)?
        };
        let next = page.next.filter(|_| !request.office).map(|cursor| write_cursor(&cursor));
        Ok(Page { items: page.items, next })
    }

    /// A page of the sessions whose last job failed.
    fn failed_sessions(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        filter: &SessionFilter,
        mut after: Option<SessionCursor>,
        limit: usize,
    ) -> Result<doze_store::Page<Session>, EngineError> {
        let failures = self.failures(snapshot, owner)?;
        let failed: HashSet<String> = failures.into_iter().map(|(record, _)| record).collect();
        let mut items: Vec<Session> = Vec::new();
        loop {
            let page = snapshot.sessions(owner, filter, after.as_ref(), MAX_PAGE)?;
            items.extend(page.items.into_iter().filter(|session| failed.contains(&record(&session.key))));
            after = page.next;
            if items.len() > limit || after.is_none() {
                break;
            }
        }
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| more).map(SessionCursor::after);
        Ok(doze_store::Page { items, next })
    }

    /// The one session that is meant. Several of one name are an error that lists them.
    pub fn session(&self, owner: &OwnerId, named: impl Into<SessionName>) -> Result<Session, EngineError> {
        self.meant(&self.store().snapshot()?, owner, &named.into(), "doze digest")
    }
}

/// The id of the session that is called so, wholly or by a beginning that fits no other one.
pub(super) fn whole_name(snapshot: &Snapshot, owner: &OwnerId, given: &str) -> Result<String, EngineError> {
    let given = safe_name(given);
    if !snapshot.sessions_named(owner, &given)?.is_empty() {
        return Ok(given);
    }
    if given.chars().count() < MIN_BEGINNING {
        return Err(unknown(&given));
    }
    let mut names = snapshot.session_names(owner, &given, MOST_LOOKED_AT)?;
    // The tasks of a session are no other sessions of that name.
    names.retain(|name| session_of_task(name).is_none_or(|session| session.len() < given.len()));
    match names.as_slice() {
        [] => by_end(snapshot, owner, &given),
        [name] => Ok(name.clone()),
        several => {
            let more = if several.len() > MOST_NAMED { ", …" } else { "" };
            let named = several.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
            Err(EngineError::invalid(format!("{given} fits several sessions: {named}{more}"))
                .hint("give more of the id; `doze sessions` lists them"))
        }
    }
}

/// The id that ends so: screens show the end of ids that begin with the time.
fn by_end(snapshot: &Snapshot, owner: &OwnerId, given: &str) -> Result<String, EngineError> {
    let names = snapshot.session_names(owner, "", MOST_LOOKED_AT)?;
    let mut fitting = names.into_iter().filter(|name| name.ends_with(given));
    match (fitting.next(), fitting.next()) {
        (Some(name), None) => Ok(name),
        _ => Err(unknown(given)),
    }
}

pub(super) fn unknown(session: &str) -> EngineError {
    EngineError::not_found("session", session)
        .hint("`doze sessions` lists what there is; an id, or six characters of its beginning, names one")
}

fn write_cursor(cursor: &SessionCursor) -> String {
    serde_json::json!([cursor.at, cursor.key.session, cursor.key.harness]).to_string()
}

fn parse_cursor(text: &str) -> Result<SessionCursor, EngineError> {
    let (at, session, harness): (i64, String, String) = serde_json::from_str(text)
        .map_err(|_| EngineError::invalid("cursor is not one that a list answered"))?;
    Ok(SessionCursor { at, key: doze_core::model::SessionKey::new(session, harness) })
}
