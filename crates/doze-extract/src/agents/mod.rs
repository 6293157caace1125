//! Agents' command lines: one turn, no tools, no servers, the prompt on stdin (S1.13).
//!
//! How far each can be held to that, tried with Claude Code 2.1, Codex 0.171, Gemini CLI 0.61 and OpenCode 1.18:
//! - Claude Code takes all of S1.13. It also keeps no transcript of the run and does not ask a second time for a title.
//! - Codex takes no empty list of servers, so that each server of its configuration is turned off by name.
//! - Gemini CLI reads settings of the folder that it runs in, which leave it no tool, hook or second turn. It keeps a
//!   transcript under its own folder, which cannot be turned off.
//! - OpenCode is denied every tool. Servers that its configuration names are started all the same, but nothing of
//!   theirs is offered to the model; and it keeps the session in its own database.

mod codex;
mod envelope;

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use crate::program::{Folder, Run, Said};
use crate::told::Teller;
use crate::{Agent, Failure, Key, json, prompt};

/// Characters of an answer without a reply that a failure tells.
const TOLD_CHARS: usize = 200;
/// Where Codex is told to put the shape it must answer in, and its last message.
const SCHEMA_FILE: &str = "schema.json";
const REPLY_FILE: &str = "reply.json";
/// Bytes of that message that are read.
const MAX_REPLY_BYTES: u64 = 1 << 20;
/// Settings of the folder in which Gemini CLI runs: no tool, no hook, no server, no file of instructions, one turn.
const GEMINI_SETTINGS: &str = r#"{"tools":{"core":["none"]},"coreTools":["none"],"hooksConfig":{"enabled":false},"skills":{"enabled":false},"context":{"fileName":["none.md"]},"model":{"maxSessionTurns":1}}"#;

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
            "codex" | "codex-cli" => Self::Codex,
            "gemini" | "gemini-cli" => Self::Gemini,
            "opencode" => Self::OpenCode,
            _ => return None,
        })
    }

    /// The small model that is asked for unless another is chosen; `None` leaves it to the account's default. For Codex
    /// that is the first of the account's models whose name contains spark, mini or nano (S1.13), for Gemini CLI its
    /// own word for the current small one.
    pub fn default_model(self) -> Option<String> {
        match self {
            Self::Claude => Some("claude-haiku-4-5".to_owned()),
            Self::Codex => codex::small_model(&codex::home()?),
            Self::Gemini => Some("flash".to_owned()),
            Self::OpenCode => None,
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
    teller: &Teller,
    prompt: &str,
    timeout: Duration,
    gave_up: &dyn Fn() -> bool,
) -> Result<Said, Failure> {
    let (agent, folder) = (asked.agent, Folder::new()?);
    match agent {
        Agent::Codex => folder.put(SCHEMA_FILE, &prompt::schema().to_string())?,
        Agent::Gemini => folder.put(".gemini/settings.json", GEMINI_SETTINGS)?,
        Agent::Claude | Agent::OpenCode => {}
    }
    let model = asked.model.map(str::to_owned).or_else(|| agent.default_model());
    let run = Run {
        program: asked.program.to_owned(),
        arguments: arguments(agent, model.as_deref(), folder.path()),
        input: prompt.to_owned(),
        environment: environment(agent, asked.key),
        timeout,
    };
    let mut ended = run.answer(folder.path(), gave_up)?;
    ended.printed = json::whole_characters(&ended.printed).into_owned();
    if !ended.status.success() {
        return Err(ended.failure(teller, envelope::refusal(&ended.printed, teller)));
    }
    let said = match agent {
        Agent::Claude => envelope::of_claude(&ended.printed),
        Agent::Codex => envelope::of_codex(&ended.printed, written(&folder.path().join(REPLY_FILE))),
        Agent::Gemini => envelope::of_gemini(&ended.printed),
        Agent::OpenCode => envelope::of_opencode(&ended.printed),
    };
    said.ok_or_else(|| Failure::NoReply {
        who: agent.name().to_owned(),
        said: envelope::refusal(&ended.printed, teller)
            .unwrap_or_else(|| teller.start(&ended.printed, TOLD_CHARS)),
    })
}

/// What Codex wrote as its last message.
fn written(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MAX_REPLY_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn arguments(agent: Agent, model: Option<&str>, folder: &Path) -> Vec<OsString> {
    let fixed: &[&str] = match agent {
        Agent::Claude => &["-p", "--output-format", "json", "--max-turns", "1", "--strict-mcp-config"],
        Agent::Codex => &["exec", "--skip-git-repo-check", "--ephemeral", "--json", "--sandbox", "read-only"],
        // Without a terminal nothing that needs an approval is done; nothing may have been approved beforehand either.
        Agent::Gemini => &[
            "--output-format",
            "json",
            "--approval-mode",
            "default",
            "--extensions",
            "none",
            "--allowed-mcp-server-names",
            "none",
        ],
        // A title of its own saves a second question to a model.
        Agent::OpenCode => &["run", "--format", "json", "--agent", "plan", "--title", "doze"],
    };
    let mut all: Vec<OsString> = fixed.iter().map(Into::into).collect();
    if let Some(model) = model {
        all.extend(["--model".into(), model.into()]);
    }
    match agent {
        // Last, because it takes every word that follows.
        Agent::Claude => all.extend(
            ["--disallowed-tools", "Bash", "Edit", "Write", "WebFetch", "WebSearch"]
                .iter()
                .map(OsString::from),
        ),
        Agent::Codex => {
            let servers = codex::home().map(|home| codex::servers(&home)).unwrap_or_default();
            for server in servers {
                all.extend(["-c".into(), format!("mcp_servers.{server}.enabled=false").into()]);
            }
            all.extend([
                "--output-schema".into(),
                folder.join(SCHEMA_FILE).into_os_string(),
                "-o".into(),
                folder.join(REPLY_FILE).into_os_string(),
                "-".into(),
            ]);
        }
        Agent::Gemini | Agent::OpenCode => {}
    }
    all
}

/// What cannot be said by an argument, or only by one that older versions do not know.
fn environment(agent: Agent, key: Option<&Key>) -> Vec<(&'static str, String)> {
    match agent {
        Agent::Claude => {
            let mut all = vec![
                ("CLAUDE_CODE_SKIP_PROMPT_HISTORY", "1".to_owned()),
                ("CLAUDE_CODE_DISABLE_TERMINAL_TITLE", "1".to_owned()),
            ];
            all.extend(key.map(|key| ("ANTHROPIC_API_KEY", key.secret().to_owned())));
            all
        }
        Agent::Codex => Vec::new(),
        // The folder is new and holds nothing but the settings above.
        Agent::Gemini => vec![("GEMINI_CLI_TRUST_WORKSPACE", "true".to_owned())],
        Agent::OpenCode => vec![
            ("OPENCODE_PERMISSION", r#"{"*":"deny"}"#.to_owned()),
            (
                "OPENCODE_CONFIG_CONTENT",
                r#"{"share":"disabled","autoupdate":false,"tools":{"*":false}}"#.to_owned(),
            ),
        ],
    }
}
