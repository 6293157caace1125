//! The office face's own texts where an orchestrator puts them in front of a task: they go, the task stays.

use std::borrow::Cow;

/// The headings of a context's sections. One ends with its first empty line.
const HEADINGS: &[&str] = &[
    "===== LEARNED FROM PREVIOUS PROJECTS =====",
    "===== AGENT KNOWLEDGE =====",
    "===== PROJECT KNOWLEDGE =====",
    "===== RECENT SESSIONS =====",
];
/// How a recovery begins and how it ends; one without its end is machine text to the last line.
const RECOVERY: &str = "[Session recovered]";
const RECOVERY_END: &str = "Note: You don't have full conversation history.";

/// `text` without the sections that doze's own context and recovery consist of.
pub(super) fn without_sections(text: &str) -> Cow<'_, str> {
    let opens = |line: &str| HEADINGS.contains(&line.trim()) || line.trim_start().starts_with(RECOVERY);
    if !text.lines().any(opens) {
        return Cow::Borrowed(text);
    }
    let mut kept: Vec<&str> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if HEADINGS.contains(&line.trim()) {
            lines.by_ref().find(|line| line.trim().is_empty());
        } else if line.trim_start().starts_with(RECOVERY) {
            lines.by_ref().find(|line| line.trim_start().starts_with(RECOVERY_END));
        } else {
            kept.push(line);
        }
    }
    Cow::Owned(kept.join("\n").trim().to_owned())
}
