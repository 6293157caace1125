//! Codex's older `notify` program: the one argument it is given.

use serde::Deserialize;

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
