//! Codex: its events, its older `notify` program, and what it takes on stdout.
//!
//! Codex refuses an answer that holds a key its schema does not know, so the answer has a type of its own.

use serde::{Deserialize, Serialize};

use super::output::Injection;
use super::plan::Moment;

/// What an event of this name means to doze; nothing for all others.
pub(super) fn moment(event: &str) -> Option<Moment> {
    Some(match event {
        "SessionStart" => Moment::Start,
        "UserPromptSubmit" => Moment::Prompt,
        "PostToolUse" => Moment::Tool { failed: false },
        "Stop" | "PreCompact" => Moment::TurnEnd,
        "SubagentStop" => Moment::SubagentEnd,
        "SessionEnd" => Moment::SessionEnd,
        _ => return None,
    })
}

/// The one argument of a `notify` program.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Notification {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) thread_id: String,
    #[serde(default)]
    pub(super) turn_id: Option<String>,
    #[serde(default)]
    pub(super) cwd: Option<String>,
    #[serde(default)]
    pub(super) input_messages: Vec<String>,
    #[serde(default)]
    pub(super) last_assistant_message: Option<String>,
}

impl Notification {
    /// Reads a notification; nothing when it is none or tells of something else than a finished turn.
    pub(super) fn parse(argument: &str) -> Option<Self> {
        let notification: Self = serde_json::from_str(argument).ok()?;
        (notification.kind == "agent-turn-complete" && !notification.thread_id.is_empty())
            .then_some(notification)
    }
}

/// The answer that puts a text into the context: only keys that every release's schema holds.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer<'a> {
    r#continue: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_message: Option<&'a str>,
    hook_specific_output: HookSpecificOutput<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HookSpecificOutput<'a> {
    hook_event_name: &'a str,
    additional_context: &'a str,
}

impl<'a> From<&'a Injection> for Answer<'a> {
    fn from(injection: &'a Injection) -> Self {
        Self {
            r#continue: true,
            system_message: injection.notice.as_deref(),
            hook_specific_output: HookSpecificOutput {
                hook_event_name: &injection.event,
                additional_context: &injection.context,
            },
        }
    }
}
