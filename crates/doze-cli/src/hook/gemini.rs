//! Gemini CLI: its events, and what it takes on stdout.

use serde::Serialize;

use super::output::Injection;
use super::plan::Moment;

/// What an event of this name means to doze; nothing for all others.
pub(super) fn moment(event: &str) -> Option<Moment> {
    Some(match event {
        "SessionStart" => Moment::Start,
        "BeforeAgent" => Moment::Prompt,
        "AfterTool" => Moment::Tool { failed: false },
        "AfterAgent" | "PreCompress" => Moment::TurnEnd,
        "SessionEnd" => Moment::SessionEnd,
        _ => return None,
    })
}

/// The answer that puts a text into the context.
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
    additional_context: &'a str,
}

impl<'a> From<&'a Injection> for Answer<'a> {
    fn from(injection: &'a Injection) -> Self {
        Self {
            hook_specific_output: HookSpecificOutput { additional_context: &injection.context },
            system_message: injection.notice.as_deref(),
        }
    }
}
