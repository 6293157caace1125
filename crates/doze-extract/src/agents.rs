//! Agents' command lines: one turn, no tools, no servers, the prompt on stdin (S1.13).

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::program::{Folder, Run, Said};
use crate::{Agent, Failure, Key, prompt};

/// Characters of an answer without a reply that a failure tells.
const TOLD_CHARS: usize = 200;
/// Where Codex is told to put the shape it must answer in, and its last message.
const SCHEMA_FILE: &str = "schema.json";
const REPLY_FILE: &str = "reply.json";

impl Agent {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Claude, Self::Codex, Self::Gemini, Self::OpenCode];

    /// The word that stands for it in a configuration, which is also its program's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::OpenCode => "opencode",
        }
    }

    /// The agent that a harness of this name runs, if it can be asked.
    pub fn of_harness(harness: &str) -> Option<Self> {
        Some(match harness.split('/').next().unwrap_or_default() {
            "claude-code" | "claude" => Self::Claude,
            "codex" => Self::Codex,
            "gemini" | "gemini-cli" => Self::Gemini,
            "opencode" => Self::OpenCode,
            _ => return None,
        })
    }

    /// The small model that is asked for unless another is chosen; `None` leaves it to the account's default.
    pub fn default_model(self) -> Option<&'static str> {
        match self {
            Self::Claude => Some("claude-haiku-4-5"),
            Self::Gemini => Some("gemini-2.5-flash"),
            Self::Codex | Self::OpenCode => None,
        }
    }
}

/// Who is asked, as [`crate::Extractor::Agent`] says.
pub(crate) struct Asked<'a> {
    pub(crate) agent: Agent,
    pub(crate) program: &'a Path,
    pub(crate) model: Option<&'a str>,
    pub(crate) key: Option<&'a Key>,
}

pub(crate) fn ask(
    asked: &Asked<'_>,
    prompt: &str,
    timeout: Duration,
    gave_up: &dyn Fn() -> bool,
) -> Result<Said, Failure> {
    let (agent, folder) = (asked.agent, Folder::new()?);
    if agent == Agent::Codex {
        folder.put(SCHEMA_FILE, &prompt::schema().to_string())?;
    }
    let run = Run {
        program: asked.program.to_owned(),
        arguments: arguments(agent, asked.model.or_else(|| agent.default_model()), folder.path()),
        input: prompt.to_owned(),
        environment: asked
            .key
            .filter(|_| agent == Agent::Claude)
            .map(|key| ("ANTHROPIC_API_KEY", key.secret().to_owned()))
            .into_iter()
            .collect(),
        timeout,
    };
    let printed = run.answer(folder.path(), gave_up)?;
    let said = match agent {
        Agent::Claude => of_claude(&printed),
        Agent::Codex => fs::read_to_string(folder.path().join(REPLY_FILE))
            .ok()
            .or(Some(printed.clone()))
            .filter(|text| !text.trim().is_empty())
            .map(|text| Said { text, tokens: None }),
        Agent::Gemini => of_gemini(&printed),
        Agent::OpenCode => of_opencode(&printed),
    };
    said.ok_or_else(|| Failure::NoReply {
        who: agent.name().to_owned(),
        said: doze_core::text::cut(printed.trim(), TOLD_CHARS).to_owned(),
    })
}

fn arguments(agent: Agent, model: Option<&str>, folder: &Path) -> Vec<OsString> {
    let fixed: &[&str] = match agent {
        Agent::Claude => &["-p", "--output-format", "json", "--max-turns", "1", "--strict-mcp-config"],
        Agent::Codex => &["exec", "--skip-git-repo-check", "--sandbox", "read-only", "-c", "mcp_servers={}"],
        Agent::Gemini => &["--output-format", "json", "--extensions", "none"],
        Agent::OpenCode => &["run", "--format", "json", "--agent", "plan"],
    };
    let mut all: Vec<OsString> = fixed.iter().map(Into::into).collect();
    if let Some(model) = model {
        all.extend(["--model".into(), model.into()]);
    }
    match agent {
        Agent::Claude => all.extend(
            ["--disallowed-tools", "Bash", "Edit", "Write", "WebFetch", "WebSearch"]
                .iter()
                .map(OsString::from),
        ),
        Agent::Codex => all.extend([
            "--output-schema".into(),
            folder.join(SCHEMA_FILE).into_os_string(),
            "-o".into(),
            folder.join(REPLY_FILE).into_os_string(),
            "-".into(),
        ]),
        Agent::Gemini | Agent::OpenCode => {}
    }
    all
}

/// `{"type":"result","is_error":false,"result":"…","usage":{…}}`, alone, last of a list, or on the last line.
fn of_claude(printed: &str) -> Option<Said> {
    let whole: Option<Value> = serde_json::from_str(printed).ok();
    let lines = printed.lines().rev().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let envelope = match whole {
        Some(Value::Array(items)) => items.into_iter().rev().find(|item| item["type"] == "result"),
        Some(object) => Some(object),
        None => lines.into_iter().find(|item| item["type"] == "result"),
    }?;
    if envelope["is_error"] == Value::Bool(true) {
        return None;
    }
    let usage = &envelope["usage"];
    let counts = ["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
    let tokens = counts.iter().filter_map(|name| usage[*name].as_u64()).reduce(u64::saturating_add);
    Some(Said { text: envelope["result"].as_str()?.to_owned(), tokens })
}

/// `{"response":"…","stats":{"models":{NAME:{"tokens":{"total":N}}}}}`, behind whatever it printed before.
fn of_gemini(printed: &str) -> Option<Said> {
    let envelope: Value = serde_json::from_str(&printed[printed.find('{')?..]).ok()?;
    let models = envelope["stats"]["models"].as_object();
    let tokens = models.and_then(|all| {
        all.values().filter_map(|model| model["tokens"]["total"].as_u64()).reduce(u64::saturating_add)
    });
    Some(Said { text: envelope["response"].as_str()?.to_owned(), tokens })
}

/// A JSON object a line; the answer is in those of type `text`.
fn of_opencode(printed: &str) -> Option<Said> {
    let events: Vec<Value> = printed.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let text: String = events
        .iter()
        .filter(|event| event["type"] == "text")
        .filter_map(|event| event["part"]["text"].as_str())
        .collect();
    let tokens = events
        .iter()
        .filter_map(|event| {
            let tokens = &event["part"]["tokens"];
            Some(tokens["input"].as_u64()?.saturating_add(tokens["output"].as_u64()?))
        })
        .reduce(u64::saturating_add);
    (!text.trim().is_empty()).then_some(Said { text, tokens })
}
