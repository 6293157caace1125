//! What an office agent is told before every task (S0.30, S0.31, S0.36).

use jiff::Timestamp;

use super::{Rendered, age, legacy, legacy::Legacy, line, line_of};
use crate::model::{Kind, Memory, MemoryId, Status, Summary};

/// Facts of the agent that are shown (S0.30).
const MAX_FACTS: usize = 10;
/// Shared facts that are shown (S0.36).
const MAX_SHARED: usize = 5;
/// Sessions that are shown, files of each, and characters of what each did.
const MAX_SESSIONS: usize = 10;
const MAX_FILES: usize = 5;
const MAX_WHAT: usize = 120;
/// Characters of one fact (the bound of a candidate).
const MAX_FACT: usize = 200;

/// A session that ended, as far as the context shows it.
#[derive(Debug, Clone, Copy)]
pub struct RecentSession<'a> {
    /// When it happened last.
    pub at: Timestamp,
    /// What it did.
    pub summary: &'a Summary,
}

/// Builds the context: what was learned from previous projects, the agent's own facts, the shared ones, its recent
/// sessions (newest first). Facts that are not active are passed over; an empty section is left out, and without any
/// the text is empty.
pub fn context(
    legacy: &Legacy,
    facts: &[Memory],
    shared: &[Memory],
    sessions: &[RecentSession<'_>],
    now: Timestamp,
) -> Rendered {
    let facts = most_reinforced(facts, MAX_FACTS);
    let shared = most_reinforced(shared, MAX_SHARED);
    let sections = [
        legacy::section(legacy),
        section("AGENT KNOWLEDGE", facts.iter().map(|fact| format!("{}: {}", label(fact), text(fact)))),
        section("PROJECT KNOWLEDGE", shared.iter().map(|fact| format!("- {}", text(fact)))),
        section("RECENT SESSIONS", sessions.iter().take(MAX_SESSIONS).filter_map(|s| session_line(s, now))),
    ];
    let text = sections.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
    let ids: Vec<MemoryId> = facts.iter().chain(&shared).map(|fact| fact.id.clone()).collect();
    Rendered::new(text, ids)
}

/// A headed section, or nothing when it has no lines.
pub(super) fn section(heading: &str, lines: impl Iterator<Item = String>) -> Option<String> {
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| format!("===== {heading} =====\n{}", lines.join("\n")))
}

/// S0.30: what was said most often first; among equals what was seen last.
fn most_reinforced(facts: &[Memory], max: usize) -> Vec<&Memory> {
    let mut facts: Vec<&Memory> =
        facts.iter().filter(|fact| fact.status == Status::Active && fact.scope.is_recalled()).collect();
    facts.sort_by(|a, b| {
        b.reinforce_count
            .cmp(&a.reinforce_count)
            .then_with(|| b.last_confirmed_at.cmp(&a.last_confirmed_at))
            .then_with(|| a.id.cmp(&b.id))
    });
    facts.truncate(max);
    facts
}

fn text(fact: &Memory) -> String {
    let text = if fact.body.trim().is_empty() { &fact.title } else { &fact.body };
    line_of(text, MAX_FACT)
}

/// S0.31. The category a fact came with decides; for kinds that document does not know, their own name.
fn label(fact: &Memory) -> &'static str {
    match (fact.native_kind.as_deref(), fact.kind) {
        (Some("user_preference"), _) => "Preference",
        (Some("codebase_pattern"), _) => "Codebase",
        (Some("workflow_habit"), _) => "Workflow",
        (Some("lesson_learned"), _) => "Lesson",
        (_, Kind::Preference) => "Preference",
        (_, Kind::Convention) => "Codebase",
        (_, Kind::Lesson) => "Lesson",
        (_, Kind::Command) => "Command",
        (_, Kind::Decision) => "Decision",
        (_, Kind::EnvQuirk) => "Environment",
        (_, Kind::Spec) => "Spec",
        (_, Kind::Ownership) => "Ownership",
        (_, Kind::Profile) => "Person",
        (_, Kind::Member) => "Member",
        (_, Kind::Fact | Kind::Context | Kind::Log) => "Fact",
    }
}

fn session_line(session: &RecentSession<'_>, now: Timestamp) -> Option<String> {
    let what = session.summary.what.lines().map(line).find(|text| !text.is_empty())?;
    let files: Vec<String> =
        session.summary.files_changed.iter().take(MAX_FILES).map(|file| line(file)).collect();
    let files = if files.is_empty() { String::new() } else { format!(" [{}]", files.join(", ")) };
    Some(format!("- {}: {}{files}", age::office(session.at, now), line_of(&what, MAX_WHAT)))
}
