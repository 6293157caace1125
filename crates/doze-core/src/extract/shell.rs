//! Shell commands in tool calls: finding them, and telling which are worth remembering.

use std::collections::HashMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use regex::Regex;
use serde_json::Value;

use super::{gate, script};
use crate::model::{Event, ToolUse};

/// Characters of a command that a memory may quote.
const MAX_COMMAND: usize = 120;
/// Bytes of a tool's input that are parsed, and of its output that are searched, at each end.
const MAX_INPUT: usize = 64 * 1024;
const OUTPUT_END: usize = 4 * 1024;
/// Bytes of an output in which signs of a hidden failure are looked for.
const OUTPUT_LIMIT: usize = 64 * 1024;
/// Lines of output looked at from each end.
const OUTPUT_LINES: usize = 40;

/// A shell command that an agent ran.
#[derive(Debug, Clone)]
pub(super) struct Call<'a> {
    /// The event.
    pub(super) ordinal: u64,
    /// When.
    pub(super) at: Option<Timestamp>,
    /// The command as a person would type it again, see [`core`]; empty when it is not one of those.
    pub(super) command: String,
    /// The whole command.
    pub(super) raw: String,
    /// What it printed.
    pub(super) output: &'a str,
    /// Whether it failed.
    pub(super) failed: bool,
    /// Whether it certainly did what it should: not failed, and no pipe or `|| true` that may hide a failure while
    /// the output shows one.
    pub(super) worked: bool,
}

/// A command that goes on behind its call, and later calls that look how far it is.
static RUNNING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\brunning\s+with\s+session\s+id:?\s*(\d{1,12})\b").expect("a valid pattern")
});
static LOOKS_AFTER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"\bsession_id["']?\s*:\s*"?(\d{1,12})\b"#).expect("a valid pattern"));

/// The shell commands among the events, in order. One that ran on behind its call has the end that was seen later, and
/// neither failed nor worked while none was.
pub(super) fn calls<'a>(events: &[&'a (u64, Event)]) -> Vec<Call<'a>> {
    let mut calls: Vec<Call<'a>> = Vec::new();
    let mut running: HashMap<&str, usize> = HashMap::new();
    for (ordinal, event) in events {
        let Some(tool) = event.tool.as_ref() else { continue };
        let session = RUNNING.captures(head(&tool.output, 300)).and_then(|found| found.get(1));
        if let Some(raw) = command_of(&tool.name, &tool.input) {
            if let Some(session) = session {
                running.insert(session.as_str(), calls.len());
            }
            let command = core(&raw).unwrap_or_default();
            let mut call = Call {
                ordinal: *ordinal,
                at: event.at,
                command,
                raw,
                output: "",
                failed: false,
                worked: false,
            };
            call.ended(tool, session.is_some());
            calls.push(call);
        } else if let Some(seen) = looked_after(tool)
            && session.is_none()
            && let Some(call) = running.remove(seen).and_then(|at| calls.get_mut(at))
        {
            call.ended(tool, false);
        }
    }
    calls
}

impl<'a> Call<'a> {
    /// Takes over what a tool told of it.
    fn ended(&mut self, tool: &'a ToolUse, runs_on: bool) {
        self.output = &tool.output;
        if runs_on {
            return;
        }
        self.failed = tool.failed || tells_failure(&tool.output);
        // A script prints what it likes of an output, and the status of a pipe is that of its last part.
        let hides_status = self.raw.contains(['|', ';']) || is_script(&tool.input);
        let hides_failure = hides_status && FAILURE.is_match(head(&tool.output, OUTPUT_LIMIT));
        self.worked = !self.failed && !hides_failure;
    }
}

fn is_script(input: &str) -> bool {
    !input.trim_start().starts_with('{') && input.contains("exec_command")
}

/// The command that runs on which a call looks after.
fn looked_after(tool: &ToolUse) -> Option<&str> {
    let looks = tool.name == "write_stdin" || tool.input.contains("write_stdin");
    let input = head(&tool.input, MAX_INPUT);
    LOOKS_AFTER.captures(input).filter(|_| looks)?.get(1).map(|id| id.as_str())
}

/// The command in a tool's input: the field `command`, `cmd` or `script` of a JSON object, as text or as a list of
/// arguments. Editors that call their action `command` are no shells.
fn command_of(name: &str, input: &str) -> Option<String> {
    if input.len() > MAX_INPUT {
        return None;
    }
    let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(input) else {
        if let Some(command) = script::command(input) {
            return Some(command);
        }
        let is_shell =
            matches!(name.to_ascii_lowercase().as_str(), "bash" | "shell" | "sh" | "terminal" | "powershell");
        return (is_shell && !input.trim_start().starts_with('{')).then(|| input.trim().to_owned());
    };
    if ["path", "file_path", "file_text", "old_str"].iter().any(|field| fields.contains_key(*field)) {
        return None;
    }
    let command = ["command", "cmd", "script"].iter().find_map(|field| fields.get(*field))?;
    match command {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words.as_slice() {
                ["bash" | "sh" | "zsh", "-c" | "-lc", script] => Some(script.trim().to_owned()),
                [] => None,
                words => Some(words.join(" ")),
            }
        }
        _ => None,
    }
}

static FAILURE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)\bFAILED\b|\bFAIL\b|^\s*(?i:error|fatal)\b|\b[1-9]\d* (?:failed|errors?)\b|panicked at|Traceback \(most recent")
        .expect("a valid pattern")
});

static EXIT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?i)(?:exit(?:ed)?(?:\s+with)?(?:\s+status|\s+code)?|"exit_code")\s*[:=]?\s*(\d{1,3})\b"#)
        .expect("a valid pattern")
});

/// Some harnesses tell the exit status only in the first lines of the output.
fn tells_failure(output: &str) -> bool {
    EXIT.captures(head(output, 300)).is_some_and(|found| found[1].bytes().any(|digit| digit != b'0'))
}

fn head(text: &str, max: usize) -> &str {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The first and the last lines of an output, without colours or blank ones.
pub(super) fn lines(output: &str) -> Vec<String> {
    let first = head(output, OUTPUT_END);
    let mut start = output.len().saturating_sub(OUTPUT_END).max(first.len());
    while !output.is_char_boundary(start) {
        start += 1;
    }
    let lines = |text: &str| -> Vec<String> {
        text.lines().map(crate::render::line).filter(|line| !line.is_empty()).collect()
    };
    let mut found = lines(first);
    found.truncate(OUTPUT_LINES);
    let tail = lines(&output[start..]);
    found.extend(tail.iter().skip(tail.len().saturating_sub(OUTPUT_LINES)).cloned());
    found
}

static AROUND: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?x)^\s*(?:cd\s+[^&;|]+(?:&&|;)\s*|timeout\s+\S+\s+|time\s+|set\s+-\w+\s*;?\s*(?:&&)?\s*|source\s+[^&;|]+(?:&&|;)\s*)+").expect("a valid pattern")
});
static AFTER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?x)(?:\s*(?:2>&1|2>/dev/null|>/dev/null|&>/dev/null|\|\s*(?:tail|head|grep|rg|sed|awk|wc|cat|tee|sort|jq|less)\b[^|;]*(?:&>?\d?[^|;&]*)?|\|\|\s*true|;\s*echo\b.*|&&\s*echo\b.*))+\s*$").expect("a valid pattern")
});

/// A command as a person would type it again: without the change of folder before it and the trimming of output after
/// it. `None` for scripts, here-documents, long ones, and those that name something that exists only once.
pub(super) fn core(raw: &str) -> Option<String> {
    let raw = raw.trim();
    if raw.contains('\n') || raw.contains("<<") {
        return None;
    }
    let command = AFTER.replace(raw, "");
    let command = AROUND.replace(&command, "");
    let command = command.trim().trim_end_matches(';').trim();
    let fits = !command.is_empty() && command.chars().count() <= MAX_COMMAND;
    (fits && !gate::is_one_off(command) && !command.contains("$(") && !command.contains('\u{1b}'))
        .then(|| command.to_owned())
}

/// Programs that build, test, check, run or set up a project: what a person would want to know. Looking around,
/// copying and version control are not among them.
const TOOLS: &[&str] = &[
    "ant",
    "bats",
    "bazel",
    "bun",
    "bundle",
    "cargo",
    "cmake",
    "composer",
    "ctest",
    "deno",
    "docker",
    "docker-compose",
    "dotnet",
    "flutter",
    "gem",
    "go",
    "golangci-lint",
    "gradle",
    "gradlew",
    "helm",
    "hk",
    "invoke",
    "jest",
    "just",
    "kubectl",
    "lerna",
    "make",
    "meson",
    "mise",
    "mix",
    "mvn",
    "mvnw",
    "mypy",
    "ninja",
    "nix",
    "nox",
    "npm",
    "npx",
    "nx",
    "phpunit",
    "pip",
    "pip3",
    "playwright",
    "pnpm",
    "podman",
    "poetry",
    "pre-commit",
    "pytest",
    "python",
    "python3",
    "rake",
    "rspec",
    "ruff",
    "sbt",
    "swift",
    "task",
    "terraform",
    "tox",
    "tsc",
    "turbo",
    "uv",
    "uvx",
    "vitest",
    "xcodebuild",
    "yarn",
    "zig",
];

/// What a command is for, by the words a project's tasks are named with. The order decides for `test:lint`.
const PURPOSES: &[(&str, &[&str])] = &[
    (
        "test",
        &[
            "test", "tests", "pytest", "nextest", "jest", "vitest", "rspec", "ctest", "bats", "phpunit",
            "itest", "e2e", "spec",
        ],
    ),
    (
        "lint",
        &[
            "lint",
            "clippy",
            "eslint",
            "ruff",
            "golangci-lint",
            "vet",
            "typecheck",
            "type-check",
            "tsc",
            "mypy",
            "check",
        ],
    ),
    ("format", &["fmt", "format", "prettier", "gofmt", "rustfmt"]),
    ("build", &["build", "compile", "assemble", "package"]),
    ("install", &["install", "sync", "ci", "bootstrap", "setup"]),
    ("migrate", &["migrate", "migration", "migrations"]),
    ("start", &["dev", "start", "serve", "up"]),
];

/// The words of a command's first part, without variables set in front of it.
pub(super) fn words(command: &str) -> Vec<&str> {
    let first = command.split(['|', ';']).next().unwrap_or_default().split("&&").next().unwrap_or_default();
    first.split_whitespace().skip_while(|word| is_assignment(word) || *word == "env").collect()
}

/// The variables set in front of a command.
pub(super) fn assignments(command: &str) -> Vec<&str> {
    command
        .split_whitespace()
        .take_while(|word| is_assignment(word) || *word == "env")
        .filter_map(|word| Some(word.split_once('=')?.0))
        .collect()
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    })
}

/// The program's name without its folder.
pub(super) fn program(command: &str) -> Option<&str> {
    words(command).first().and_then(|word| word.rsplit('/').next())
}

/// Programs whose arguments are tasks that the project itself has named: such a command is worth knowing after one run.
const RUNNERS: &[&str] = &["mise", "just", "make", "task", "nx", "turbo", "rake", "invoke", "hk"];

/// Whether the command is a task that the project has named.
pub(super) fn is_named_task(command: &str) -> bool {
    let words = words(command);
    let by_script = matches!(words.as_slice(), ["npm" | "pnpm" | "yarn" | "bun", "run" | "test", ..]);
    by_script || (words.len() >= 2 && program(command).is_some_and(|name| RUNNERS.contains(&name)))
}

/// Whether the command works on the project rather than looking around in it.
pub(super) fn is_tool(command: &str) -> bool {
    let is_known = |part: &str| {
        let script = words(part).first().is_some_and(|word| {
            (word.starts_with("./") || word.starts_with("scripts/") || word.starts_with("bin/"))
                && !word.contains("..")
        });
        script || program(part).is_some_and(|name| TOOLS.contains(&name))
    };
    !command.is_empty() && command.split("&&").all(is_known) && !has_inline_code(command)
}

/// `python -c '…'`, `node -e`: code, not a command to remember.
fn has_inline_code(command: &str) -> bool {
    command.split_whitespace().any(|word| matches!(word, "-c" | "-e" | "-" | "--eval"))
}

/// What the command is for, by its first step that does more than format; `None` when its words do not tell.
pub(super) fn purpose(command: &str) -> Option<&'static str> {
    let purposes: Vec<&'static str> = command.split("&&").filter_map(purpose_of_step).collect();
    purposes.iter().find(|purpose| **purpose != "format").or(purposes.first()).copied()
}

fn purpose_of_step(step: &str) -> Option<&'static str> {
    let words = words(step);
    let parts: Vec<&str> = words
        .iter()
        .filter(|word| !word.starts_with('-'))
        .flat_map(|word| word.split([':', '/', '_', '.']))
        .collect();
    PURPOSES
        .iter()
        .find(|(_, names)| parts.iter().any(|part| names.contains(part)))
        .map(|(purpose, _)| *purpose)
}
