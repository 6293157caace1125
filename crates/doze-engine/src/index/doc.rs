//! What of a record stands in the index.

use doze_core::model::{Event, EventKind, Memory, Scope, Session};
use doze_search::{Doc, DocKind, event_doc_id, memory_doc_id, summary_doc_id};

/// Characters of a title made from an event.
const TITLE_CHARS: usize = 80;
/// Characters of a tool's input and output that are indexed.
const TOOL_CHARS: usize = 1_500;

/// The space in which the raw history of a session is read: its project's, else the agent's own.
pub(crate) fn history_scope(session: &Session) -> Scope {
    match &session.project {
        Some(project) => Scope::Project(project.clone()),
        None => Scope::Agent { project: None, agent: session.agent.id.clone() },
    }
}

/// The words of an event as the index and a hit show them.
pub(crate) fn event_text(event: &Event) -> (String, String) {
    let body = match &event.tool {
        Some(tool) => format!("{}\n{}", tool.input, tool.output),
        None => event.text.clone(),
    };
    let first = event.tool.as_ref().map_or(event.text.as_str(), |tool| tool.name.as_str());
    (first.lines().next().unwrap_or("").chars().take(TITLE_CHARS).collect(), body)
}

/// The words of a summary as the index and a hit show them.
pub(crate) fn summary_text(session: &Session) -> Option<(String, String)> {
    let summary = session.summary.as_ref()?;
    let mut parts: Vec<&str> = vec![&summary.request, &summary.work_done];
    parts.extend(summary.decisions.iter().map(String::as_str));
    parts.extend(summary.open_items.iter().map(String::as_str));
    parts.extend(summary.files_changed.iter().map(String::as_str));
    parts.retain(|part| !part.is_empty());
    Some((summary.what.clone(), parts.join("\n")))
}

/// A title as it is indexed: empty where it only begins the body, whose words would count twice.
pub(super) fn own_title<'a>(title: &'a str, body: &str) -> &'a str {
    if body.starts_with(title.trim_end_matches('…')) { "" } else { title }
}

/// The document of a memory.
pub(super) fn of_memory(memory: &Memory) -> Doc {
    Doc {
        id: memory_doc_id(memory.id.as_str()),
        owner: memory.owner.clone(),
        scope_key: memory.scope.key(),
        project: memory.scope.project().cloned(),
        kind: DocKind::Memory,
        status: Some(memory.status),
        memory_kind: Some(memory.kind),
        title: own_title(&memory.title, &memory.body).to_owned(),
        body: memory.body.clone(),
        at_ms: memory.created_at.as_millisecond(),
    }
}

/// The document of a summary, once there is one. It counts as what was said does: a title would weigh more than the turns
/// that it sums up.
pub(super) fn of_summary(session: &Session) -> Option<Doc> {
    let (title, body) = summary_text(session)?;
    let (title, body) = (String::new(), format!("{title}\n{body}"));
    let id = summary_doc_id(&session.key);
    Some(of_history(session, id, DocKind::Summary, title, body, session.last_event_at.as_millisecond()))
}

/// The document of an event; files and commits stand in the summary already.
pub(super) fn of_event(session: &Session, ordinal: u64, event: &Event) -> Option<Doc> {
    if matches!(event.kind, EventKind::File | EventKind::Commit) {
        return None;
    }
    let (title, body) = event_text(event);
    let body = if event.tool.is_some() { body.chars().take(TOOL_CHARS).collect() } else { body };
    // The title of what somebody said only begins it: its words would count twice.
    let title = if event.tool.is_some() { title } else { String::new() };
    let at = event.at.unwrap_or(session.last_event_at).as_millisecond();
    Some(of_history(session, event_doc_id(&session.key, ordinal), DocKind::Event, title, body, at))
}

fn of_history(session: &Session, id: String, kind: DocKind, title: String, body: String, at_ms: i64) -> Doc {
    Doc {
        id,
        owner: session.owner.clone(),
        scope_key: history_scope(session).key(),
        project: session.project.clone(),
        kind,
        status: None,
        memory_kind: None,
        title,
        body,
        at_ms,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_that_only_begins_its_text_counts_once() {
        let body = "The API listens on port 4000.";
        assert_eq!(own_title("The API listens", body), "");
        assert_eq!(own_title("The API listens on…", body), "");
        assert_eq!(own_title("Ports", body), "Ports");
        assert_eq!(own_title("On port 4000…", body), "On port 4000…");
    }
}
