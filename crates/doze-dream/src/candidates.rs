//! What one session offers to be remembered.

use doze_core::extract::{self, Extracted, extract};
use doze_core::injected::strip_known_lines;
use doze_core::model::{Event, Kind, Origin, Scope, Session};
use jiff::Timestamp;

use crate::{Caps, digest};

/// Names of doze's own tools, whatever server prefix a harness puts before them: their answers are memories already.
const OWN_TOOLS: &[&str] = &["memory_search", "memory_record", "memory_feedback", "task_context"];

/// What the path of a file has in it that a dream wrote into a workspace: what an agent reads there is known already.
const OWN_FILES: &[&str] = &["memory/DREAMING.md", "coding_memory/consolidated_"];

/// Who said something, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Voice {
    /// When, if that is known.
    pub at: Option<Timestamp>,
    /// A person, who may well say the same in another project; agents and tools carry what they were shown anywhere.
    pub is_person: bool,
}

impl Voice {
    /// The voice of an event.
    pub fn of(event: &Event) -> Self {
        Self { at: event.at, is_person: event.origin == Origin::Person }
    }
}

/// Whether doze had put a line with this hash before whoever says it now.
pub type WasShown<'a> = &'a dyn Fn(u64, Voice) -> bool;

/// What the extractor must know beside the events.
#[derive(Clone, Copy)]
pub struct ExtractContext<'a> {
    /// Whether doze had shown a line with this hash, see [`doze_core::injected::line_hashes`]: it is never learned again.
    pub was_shown: WasShown<'a>,
    /// The bounds of the sweep.
    pub caps: &'a Caps,
}

/// A memory that a session offers.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// What sort of knowledge.
    pub kind: Kind,
    /// One line.
    pub title: String,
    /// The knowledge itself.
    pub body: String,
    /// What it is about, if a newer one about the same must replace it.
    pub topic_key: Option<String>,
    /// Files it names.
    pub files: Vec<String>,
    /// 0.3–0.9.
    pub confidence: f64,
    /// Free labels.
    pub tags: Vec<String>,
    /// The events that speak for it, as `session#ordinal`.
    pub evidence: Vec<String>,
    /// Who vouches for it.
    pub origin: Origin,
    /// When it happened: the event's time, else the session's last.
    pub at: Timestamp,
    /// Where it belongs.
    pub scope: Scope,
}

/// Reads a session's new events by rule: its digest, without the lines that doze itself put there; at most
/// [`Caps::max_entries_per_session`], the surest ones.
pub fn candidates(
    session: &Session,
    events: &[(u64, Event)],
    context: &ExtractContext<'_>,
) -> Vec<Candidate> {
    let digest = digest(&own(events, context.was_shown), context.caps.max_digest_tokens);
    extract(&digest)
        .into_iter()
        .take(context.caps.max_entries_per_session)
        .map(|found| candidate(session, found))
        .collect()
}

/// What a session's person said that ends or changes what was known before; see [`doze_core::duplicate::Ended`].
pub fn ended(session: &Session, events: &[(u64, Event)], context: &ExtractContext<'_>) -> Vec<Candidate> {
    let digest = digest(&own(events, context.was_shown), context.caps.max_digest_tokens);
    extract::ended(&digest).into_iter().map(|found| candidate(session, found)).collect()
}

/// The events without calls of doze's own tools, and without the lines that doze put there: what an extractor may read
/// (`R17`).
pub fn own(events: &[(u64, Event)], was_shown: WasShown<'_>) -> Vec<(u64, Event)> {
    events
        .iter()
        .filter(|(_, event)| !is_own_tool(event))
        .map(|(ordinal, event)| (*ordinal, without_shown(event, was_shown)))
        .collect()
}

/// Where what a session taught belongs.
pub(crate) fn scope_of(session: &Session, everywhere: bool) -> Scope {
    match &session.project {
        _ if everywhere => Scope::User,
        Some(project) => Scope::Project(project.clone()),
        None => Scope::Agent { project: None, agent: session.agent.id.clone() },
    }
}

fn candidate(session: &Session, found: Extracted) -> Candidate {
    let scope = scope_of(session, found.everywhere);
    Candidate {
        kind: found.kind,
        title: found.title,
        body: found.body,
        topic_key: found.topic_key,
        files: found.files,
        confidence: found.confidence,
        tags: Vec::new(),
        evidence: found.evidence.iter().map(|ordinal| format!("{}#{ordinal}", session.key.session)).collect(),
        origin: found.origin,
        at: found.at.unwrap_or(session.last_event_at),
        scope,
    }
}

fn is_own_tool(event: &Event) -> bool {
    event.tool.as_ref().is_some_and(|tool| {
        let name = tool.name.rsplit("__").next().unwrap_or_default();
        OWN_TOOLS.contains(&name)
    })
}

fn without_shown(event: &Event, was_shown: WasShown<'_>) -> Event {
    let mut event = event.clone();
    let voice = Voice::of(&event);
    let was_shown = &|hash| was_shown(hash, voice);
    event.text = strip_known_lines(&event.text, was_shown).into_owned();
    if let Some(tool) = &mut event.tool {
        tool.output = strip_known_lines(&tool.output, was_shown).into_owned();
        if OWN_FILES.iter().any(|path| tool.input.contains(path)) {
            tool.output.clear();
        }
    }
    event
}

#[cfg(test)]
mod tests {
    use doze_core::injected::line_hashes;
    use doze_core::model::{EventKind, ToolUse};

    use super::*;
    use crate::testing::{ago, session};

    fn said(text: &str) -> Event {
        Event { at: Some(ago(7)), ..Event::new("e", EventKind::Prompt, Origin::Person, text) }
    }

    fn find(project: &str, events: Vec<Event>, shown: &str) -> Vec<Candidate> {
        let hashes = line_hashes(shown);
        let caps = Caps::default();
        let context = ExtractContext { was_shown: &|hash, _| hashes.contains(&hash), caps: &caps };
        let events: Vec<(u64, Event)> =
            events.into_iter().enumerate().map(|(n, event)| (n as u64, event)).collect();
        candidates(&session("s1", project, 9, 1), &events, &context)
    }

    #[test]
    fn a_candidate_knows_where_it_comes_from_and_where_it_belongs() {
        let found = find("p", vec![said("hello there"), said("always use pnpm for installs")], "");
        assert_eq!((found[0].evidence.as_slice(), found[0].at), (["s1#1".to_owned()].as_slice(), ago(7)));
        assert_eq!(found[0].scope, Scope::Project("p".into()));
        let everywhere = find("p", vec![said("In all my projects, always use British spelling")], "");
        assert_eq!(everywhere[0].scope, Scope::User);
        let outside = find("", vec![said("always use pnpm for installs")], "");
        assert_eq!(outside[0].scope, Scope::Agent { project: None, agent: "claude-code".into() });
    }

    #[test]
    fn five_of_a_session_at_most_and_never_what_doze_put_there() {
        let things = ["tests", "docs", "pages", "views", "tools", "crates", "forms"];
        let many = things.map(|thing| said(&format!("always write {thing} in British spelling"))).to_vec();
        assert_eq!(find("p", many, "").len(), 5);
        let brief = "- Use pnpm for installs (2d ago, from the user): always use pnpm for installs";
        assert_eq!(find("p", vec![said("always use pnpm for installs")], brief), []);
        let mut own = Event::new("e", EventKind::Tool, Origin::Tool, "");
        own.tool = Some(ToolUse {
            name: "mcp__doze__memory_search".into(),
            input: "{\"command\": \"just itest\"}".into(),
            output: "bash: parallel: command not found `parallel`".into(),
            failed: true,
        });
        assert_eq!(find("p", vec![own], ""), []);
    }
}
