//! `doze hook AGENT [EVENT]`: what an agent runs at its events.
//!
//! An agent waits for its hooks, so this path comes before the argument parser and is bounded in everything. Whatever
//! happens it ends with status 0, prints one document in the agent's own form or nothing, and writes nothing on
//! stderr: to some agents a hook's failure means "stop".

mod codex;
mod deliver;
mod document;
mod output;
mod payload;
mod plan;

use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, IsTerminal, Write};
use std::panic::{self, AssertUnwindSafe};
use std::time::{SystemTime, UNIX_EPOCH};

use doze_protocol::method;
use serde_json::{Value, json};

use output::Injection;
use payload::Payload;
use plan::{Call, Moment, plan};

/// An agent whose hooks doze answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Harness {
    /// Anthropic's Claude Code.
    ClaudeCode,
    /// OpenAI's Codex.
    Codex,
    /// Google's Gemini CLI.
    Gemini,
    /// OpenCode: it has no hooks that run a program, only tools.
    OpenCode,
}

impl Harness {
    /// All of them, in the order in which screens name them.
    pub(crate) const ALL: [Self; 4] = [Self::ClaudeCode, Self::Codex, Self::Gemini, Self::OpenCode];

    /// The name on command lines and on the wire.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::OpenCode => "opencode",
        }
    }

    /// The agent of that name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|harness| harness.name() == name)
    }

    /// Whether an event of that name means anything to doze.
    #[cfg(test)]
    pub(crate) fn answers(self, event: &str) -> bool {
        self.moment(event).is_some()
    }

    /// What an event of this name means to doze; nothing for all others. The agents differ in names more than in
    /// what happens.
    fn moment(self, event: &str) -> Option<Moment> {
        use Harness::{ClaudeCode, Codex, Gemini, OpenCode};
        Some(match (self, event) {
            (OpenCode, _) => return None,
            (_, "SessionStart") => Moment::Start,
            (ClaudeCode | Codex, "UserPromptSubmit") | (Gemini, "BeforeAgent") => Moment::Prompt,
            (ClaudeCode | Codex, "PostToolUse") | (Gemini, "AfterTool") => Moment::Tool { failed: false },
            (ClaudeCode, "PostToolUseFailure") => Moment::Tool { failed: true },
            (ClaudeCode | Codex, "Stop" | "PreCompact") | (Gemini, "AfterAgent" | "PreCompress") => {
                Moment::TurnEnd
            }
            (ClaudeCode | Codex, "SubagentStop") => Moment::SubagentEnd,
            (_, "SessionEnd") => Moment::SessionEnd,
            _ => return None,
        })
    }
}

/// Runs a hook with the arguments after `hook`. Always ends well.
pub(crate) fn run(arguments: impl Iterator<Item = OsString>) {
    if is_set("DOZE_DISABLE") || is_set("DOZE_CHILD") {
        return;
    }
    panic::set_hook(Box::new(|_| {}));
    let printed = panic::catch_unwind(AssertUnwindSafe(|| answer(arguments)));
    if let Ok(Some(document)) = printed {
        let mut out = io::stdout().lock();
        // An agent that has gone away wants no answer.
        let _ =
            out.write_all(document.as_bytes()).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
    }
}

/// A switch is on when it is set to anything but nothing or `0`.
fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0")
}

/// The document to print, or nothing.
fn answer(mut arguments: impl Iterator<Item = OsString>) -> Option<String> {
    let harness = Harness::from_name(arguments.next()?.to_str()?)?;
    let event = arguments.next();
    if harness == Harness::Codex && event.as_deref() == Some(OsStr::new("notify")) {
        deliver::commit(notified(arguments.next()?.to_str()?)?);
        return None;
    }
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return None;
    }
    let payload = Payload::parse(&document::read(stdin.lock(), document::MAX_WAIT)?)?;
    let event = match &event {
        Some(event) => event.to_str()?,
        None => payload.hook_event_name.get()?,
    };
    let moment = harness.moment(event)?;
    match plan(harness, moment, &payload, &working_folder, &mint)? {
        Call::Brief(params) => {
            Injection::new(event, &deliver::ask(method::RECALL_BRIEF, params)?, true)?.render(harness)
        }
        Call::Recall(params) => {
            Injection::new(event, &deliver::ask(method::RECALL_PROMPT, params)?, false)?.render(harness)
        }
        Call::Note(params) => {
            deliver::note(method::WORK_SET, params);
            None
        }
        Call::Commit(params) => {
            deliver::commit(params);
            None
        }
    }
}

/// The commit for the argument of Codex's `notify`. It names no session file, so the turn's words go with it.
fn notified(argument: &str) -> Option<Value> {
    let notification = codex::Notification::parse(argument)?;
    let turn = notification.turn_id.as_deref().unwrap_or_default();
    let prompts = notification.input_messages.iter().enumerate().map(|(index, text)| {
        json!({"id": format!("{turn}/prompt/{index}"), "type": "prompt", "origin": "person", "text": text})
    });
    let said = notification.last_assistant_message.as_deref().map(
        |text| json!({"id": format!("{turn}/answer"), "type": "answer", "origin": "agent", "text": text}),
    );
    Some(json!({
        "agent": plan::agent(Harness::Codex, None),
        "cwd": notification.cwd.filter(|cwd| cwd.starts_with('/')).or_else(working_folder)?,
        "session": notification.thread_id,
        "commit_id": mint(),
        "end": "turn",
        "events": prompts.chain(said).collect::<Vec<_>>(),
        "output": notification.last_assistant_message,
    }))
}

/// The folder in which the agent started its hook.
fn working_folder() -> Option<String> {
    std::env::current_dir().ok()?.into_os_string().into_string().ok()
}

/// A name that no other commit has: it stays the same when the spool is drained, so a retry changes nothing.
fn mint() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let random = RandomState::new().build_hasher().finish();
    format!("{:x}-{:x}-{random:016x}", now.as_nanos(), std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_again() {
        for harness in Harness::ALL {
            assert_eq!(Harness::from_name(harness.name()), Some(harness));
        }
        assert_eq!(Harness::from_name("emacs"), None);
    }

    #[test]
    fn every_event_of_the_agents_has_its_meaning() {
        use Moment::*;
        let cases = [
            (Harness::ClaudeCode, "SessionStart", Some(Start)),
            (Harness::ClaudeCode, "PostToolUseFailure", Some(Tool { failed: true })),
            (Harness::ClaudeCode, "SubagentStop", Some(SubagentEnd)),
            (Harness::ClaudeCode, "PreCompact", Some(TurnEnd)),
            (Harness::ClaudeCode, "PreToolUse", None),
            (Harness::ClaudeCode, "Notification", None),
            (Harness::ClaudeCode, "sessionstart", None),
            (Harness::Codex, "Stop", Some(TurnEnd)),
            (Harness::Codex, "AfterAgent", None),
            (Harness::Gemini, "BeforeAgent", Some(Prompt)),
            (Harness::Gemini, "AfterAgent", Some(TurnEnd)),
            (Harness::Gemini, "PreCompress", Some(TurnEnd)),
            (Harness::Gemini, "SessionEnd", Some(SessionEnd)),
            (Harness::Gemini, "Stop", None),
        ];
        for (harness, event, wanted) in cases {
            assert_eq!(harness.moment(event), wanted, "{event}");
        }
    }

    #[test]
    fn two_commits_never_share_a_name() {
        assert_ne!(mint(), mint());
    }

    #[test]
    fn a_notification_becomes_a_turn() {
        let commit = notified(
            r#"{"type":"agent-turn-complete","thread-id":"t","turn-id":"1","cwd":"/p","input-messages":["a"],"last-assistant-message":"b"}"#,
        )
        .unwrap();
        assert_eq!(
            (&commit["session"], &commit["end"], &commit["output"]),
            (&json!("t"), &json!("turn"), &json!("b"))
        );
        assert_eq!(
            commit["events"][1],
            json!({"id": "1/answer", "type": "answer", "origin": "agent", "text": "b"})
        );
        assert!(notified(r#"{"type":"approval-requested","thread-id":"t"}"#).is_none());
        assert!(notified("{").is_none());
    }
}
