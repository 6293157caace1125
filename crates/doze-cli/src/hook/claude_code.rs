//! Claude Code: its events, and what it takes on stdout.

use serde::Serialize;

use super::output::Injection;
use super::plan::Moment;

/// What an event of this name means to doze; nothing for all others.
pub(super) fn moment(event: &str) -> Option<Moment> {
    Some(match event {
        "SessionStart" => Moment::Start,
        "UserPromptSubmit" => Moment::Prompt,
        "PostToolUse" => Moment::Tool { failed: false },
        "PostToolUseFailure" => Moment::Tool { failed: true },
        "Stop" | "PreCompact" => Moment::TurnEnd,
        "SubagentStop" => Moment::SubagentEnd,
        "SessionEnd" => Moment::SessionEnd,
        _ => return None,
    })
}

/// The answer that puts a text into the context. `hookEventName` must equal the event.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer<'a> {
    hook_specific_output: HookSpecificOutput<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_message: Option<&'a str>,
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
            hook_specific_output: HookSpecificOutput {
                hook_event_name: &injection.event,
                additional_context: &injection.context,
            },
            system_message: injection.notice.as_deref(),
        }
    }
}
