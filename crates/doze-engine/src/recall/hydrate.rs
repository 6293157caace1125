//! From a document id of the index back to the record it stands for.

use std::ops::Range;

use doze_core::model::{
    Event, EventKind, Face, Kind, Memory, MemoryId, Origin, OwnerId, Scope, Session, Source, Status,
    Verification,
};
use doze_search::DocRef;
use doze_store::{SessionFilter, Snapshot};
use jiff::Timestamp;

use crate::EngineError;
use crate::index::doc::{event_text, history_scope, summary_text};

/// Sessions and events of each looked through for a window of history.
const WINDOW_SESSIONS: usize = 50;

/// What a document stands for.
pub(super) struct Record {
    /// The memory, or a memory-shaped view of an event or a summary.
    pub(super) memory: Memory,
    /// An event that is not the person's word.
    pub(super) is_reply: bool,
}

/// The record of a document; `None` when it is gone.
pub(super) fn record(snapshot: &Snapshot, owner: &OwnerId, doc: &str) -> Result<Option<Record>, EngineError> {
    let written = |memory| Record { memory, is_reply: false };
    match DocRef::parse(doc) {
        Some(DocRef::Memory(id)) => Ok(snapshot.memory(owner, &MemoryId::new(id))?.map(written)),
        Some(DocRef::Summary(key)) => {
            Ok(snapshot.session(owner, &key)?.and_then(|session| summary_view(&session)).map(written))
        }
        Some(DocRef::Event(key, ordinal)) => {
            let Some(session) = snapshot.session(owner, &key)? else { return Ok(None) };
            let events = snapshot.events(owner, &key, ordinal..ordinal + 1)?;
            Ok(events.into_iter().next().map(|(ordinal, event)| Record {
                memory: event_view(&session, ordinal, &event),
                is_reply: event.origin != Origin::Person,
            }))
        }
        None => Ok(None),
    }
}

/// Prompts, answers and summaries of the newest sessions within a window.
pub(super) fn window(
    snapshot: &Snapshot,
    owner: &OwnerId,
    scopes: &[Scope],
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    limit: usize,
) -> Result<Vec<Memory>, EngineError> {
    let mut found = Vec::new();
    let in_window =
        |at: Timestamp| since.is_none_or(|since| at >= since) && until.is_none_or(|until| at < until);
    for scope in scopes.iter().filter(|scope| matches!(scope, Scope::Project(_))) {
        let filter = SessionFilter { project: Some(scope.project().cloned()), ..Default::default() };
        for session in snapshot.sessions(owner, &filter, None, WINDOW_SESSIONS)?.items {
            let newest: Range<u64> = session.event_count.saturating_sub(limit as u64)..session.event_count;
            for (ordinal, event) in snapshot.events(owner, &session.key, newest)? {
                if matches!(event.kind, EventKind::Prompt | EventKind::Answer) {
                    found.push(event_view(&session, ordinal, &event));
                }
            }
            found.extend(summary_view(&session));
        }
    }
    found.retain(|memory| in_window(memory.created_at));
    Ok(found)
}

fn event_view(session: &Session, ordinal: u64, event: &Event) -> Memory {
    let (title, body) = event_text(event);
    let id = format!("{}#{ordinal}", session.key);
    let at = event.at.unwrap_or(session.last_event_at);
    view(session, id.clone(), "event", title, body, at, vec![id])
}

fn summary_view(session: &Session) -> Option<Memory> {
    let (title, body) = summary_text(session)?;
    let id = session.key.to_string();
    Some(view(session, id, "summary", title, body, session.last_event_at, Vec::new()))
}

fn view(
    session: &Session,
    id: String,
    label: &str,
    title: String,
    body: String,
    at: Timestamp,
    events: Vec<String>,
) -> Memory {
    Memory {
        id: MemoryId::new(id),
        owner: session.owner.clone(),
        scope: history_scope(session),
        face: Face::Project,
        kind: Kind::Log,
        native_kind: Some(label.to_owned()),
        title,
        body,
        tags: Vec::new(),
        topic_key: None,
        files: Vec::new(),
        confidence: 0.5,
        evidence_count: 1,
        reinforce_count: 0,
        applied_count: 0,
        confirmed_by: Vec::new(),
        pinned: false,
        status: Status::Active,
        superseded_by: None,
        verification: Verification::Import,
        source: Source {
            agent: Some(session.agent.clone()),
            session: Some(session.key.session.clone()),
            task: session.task.as_ref().map(|task| task.id.clone()),
            team: session.team.clone(),
            events,
        },
        contexts: Vec::new(),
        created_at: at,
        updated_at: at,
        last_confirmed_at: at,
        content_hash: String::new(),
        file_ref: None,
    }
}
