//! A session as rounds: what the person said, and what the agent made of it.

use std::sync::LazyLock;

use regex::Regex;

use crate::model::{Event, EventKind, Origin};
use crate::text;

/// A prompt with all that follows it, up to the next one.
pub(super) struct Round<'a> {
    /// What the person said; nothing before the first prompt.
    pub(super) prompt: Option<&'a (u64, Event)>,
    /// What followed.
    pub(super) events: &'a [&'a (u64, Event)],
}

impl<'a> Round<'a> {
    /// The agent's last words in it.
    pub(super) fn closing(&self) -> Option<&'a (u64, Event)> {
        self.events.iter().rev().find(|(_, event)| is_answer(event)).copied()
    }

    /// The files that were changed in it, relative to nothing in particular, with their events.
    pub(super) fn files(&self) -> impl Iterator<Item = (u64, &'a str)> {
        self.events
            .iter()
            .filter(|(_, event)| event.kind == EventKind::File)
            .filter_map(|(ordinal, event)| Some((*ordinal, event.path.as_deref()?)))
    }

    /// Whether something was changed in it.
    pub(super) fn has_changes(&self) -> bool {
        self.events.iter().any(|(_, event)| matches!(event.kind, EventKind::File | EventKind::Commit))
    }
}

/// The rounds of a session, in order.
pub(super) fn rounds<'a>(events: &'a [&'a (u64, Event)]) -> Vec<Round<'a>> {
    let starts: Vec<usize> =
        events.iter().enumerate().filter(|(_, (_, event))| is_prompt(event)).map(|(at, _)| at).collect();
    let first_end = starts.first().copied().unwrap_or(events.len());
    let mut rounds = vec![Round { prompt: None, events: &events[..first_end] }];
    for (at, start) in starts.iter().enumerate() {
        let end = starts.get(at + 1).copied().unwrap_or(events.len());
        rounds.push(Round { prompt: Some(events[*start]), events: &events[start + 1..end] });
    }
    rounds
}

/// Whether a person said it to the agent.
pub(super) fn is_prompt(event: &Event) -> bool {
    event.kind == EventKind::Prompt && event.origin == Origin::Person
}

/// Whether a program wrote a prompt: it gives the agent a role and says in which form it reads the answer.
pub(super) fn is_of_program(prompt: &str) -> bool {
    static FORM: LazyLock<Regex> = LazyLock::new(|| {
        text::regex(
            r"(?i)\b(?:return|respond|reply|answer|output)\b[^.\n]{0,40}\b(?:json|xml|yaml)\b|<(?:task|grounding_rules|structured_output_contract|output_format|instructions)>",
        )
    });
    let start = text::cut(prompt.trim_start(), 200);
    let has_role = ROLES.iter().any(|role| start.starts_with(role));
    FORM.is_match(prompt) && (has_role || start.starts_with('<'))
}

/// How programs begin.
const ROLES: [&str; 5] = ["You are ", "Your task ", "Your role ", "Act as ", "As an expert"];

/// Whether the agent said it.
pub(super) fn is_answer(event: &Event) -> bool {
    event.kind == EventKind::Answer && event.origin == Origin::Agent
}
