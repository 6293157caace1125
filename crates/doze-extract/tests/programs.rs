//! Agents and commands as scripted stand-ins: what they are called with, what they get, and what becomes of them.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use doze_extract::{Agent, Answer, Extractor, Failure, Key, Wish, find, reply};
use tempfile::TempDir;

const REPLY: &str = r#"{"summary":{"request":"r","workDone":"w","outcome":"done","openItems":[]},"memories":[{"type":"lesson","title":"T","body":"b"}]}"#;
const LONG: Duration = Duration::from_secs(60);

/// Until it is not wanted any more.
fn until(gave_up: &dyn Fn() -> bool) -> Wish<'_> {
    Wish { gave_up, again: &|| true }
}

/// A folder with one program in it and whatever the program writes there.
struct StandIn(TempDir);

impl StandIn {
    /// `$HERE` in the script is the folder.
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        fs::write(&program, format!("#!/bin/sh\nHERE='{}'\n{script}\n", folder.path().display())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(folder.path().join("reply"), REPLY).unwrap();
        Self(folder)
    }

    /// One that notes what it sees before it does what `script` says.
    fn noting(script: &str) -> Self {
        Self::new(&format!(
            "for word in \"$@\"; do echo \"$word\"; done >\"$HERE/arguments\"\nenv >\"$HERE/environment\"\npwd >\"$HERE/folder\"\nls -A >\"$HERE/files\"\ntr '\\0' ' ' </proc/$$/cmdline >\"$HERE/cmdline\"\ncat >\"$HERE/stdin\"\n{script}"
        ))
    }

    fn program(&self) -> PathBuf {
        self.0.path().join("program")
    }

    fn noted(&self, name: &str) -> String {
        fs::read_to_string(self.0.path().join(name)).unwrap()
    }

    fn arguments(&self) -> Vec<String> {
        self.noted("arguments").lines().map(str::to_owned).collect()
    }

    fn has_variable(&self, line: &str) -> bool {
        self.noted("environment").lines().any(|known| known == line)
    }

    fn agent(&self, agent: Agent, model: Option<&str>, key: Option<&str>) -> Extractor {
        let (model, key) = (model.map(str::to_owned), key.map(Key::new));
        Extractor::Agent { agent, program: self.program(), model, key }
    }

    fn command(&self) -> Extractor {
        Extractor::Command { program: self.program(), arguments: vec!["--quiet".into()] }
    }

    fn run(&self, prompt: &str) -> Result<Answer, Failure> {
        self.command().ask(prompt, LONG, &until(&|| false))
    }
}

fn told(failure: Result<Answer, Failure>) -> String {
    failure.unwrap_err().to_string()
}

/// Whether a process is running; one that ended and waits for its parent to notice is not.
fn is_running(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z'))
}

/// Whether it ends within a few seconds: a killed process needs a moment to go.
fn ends(pid: &str) -> bool {
    let start = Instant::now();
    while is_running(pid) && start.elapsed() < Duration::from_secs(10) {
        std::thread::yield_now();
    }
    !is_running(pid)
}

#[test]
fn claude_gets_one_turn_without_tools_and_the_prompt_on_stdin() {
    let claude = StandIn::noting(
        "printf '{\"type\":\"result\",\"is_error\":false,\"result\":\"%s\",\"usage\":{\"input_tokens\":5,\"output_tokens\":2}}' \"$(sed 's/\"/\\\\\"/g' \"$HERE/reply\")\"",
    );
    let prompt = "## User asked\nsecret-of-the-session".repeat(10_000);
    let answer = claude.agent(Agent::Claude, None, None).ask(&prompt, LONG, &until(&|| false)).unwrap();
    assert_eq!((answer.text.as_str(), answer.tokens), (REPLY, 7));
    let expected = "-p --output-format json --max-turns 1 --strict-mcp-config --model claude-haiku-4-5 --disallowed-tools Bash Edit Write WebFetch WebSearch";
    assert_eq!(claude.arguments().join(" "), expected);
    assert_eq!(claude.noted("stdin"), prompt);
    assert!(!claude.noted("cmdline").contains("secret-of-the-session"));
    assert!(claude.has_variable("DOZE_CHILD=1") && !claude.noted("environment").contains("secret"));
    // A folder of its own, empty, and gone afterwards.
    let folder = claude.noted("folder");
    assert!(folder.contains("doze-extract-") && claude.noted("files").is_empty(), "{folder}");
    assert!(!Path::new(folder.trim()).exists());
}

#[test]
fn a_chosen_model_and_a_key_reach_claude_and_the_key_is_never_told() {
    let claude = StandIn::noting("echo '{\"type\":\"result\",\"result\":\"[]\"}'");
    let extractor = claude.agent(Agent::Claude, Some("opus"), Some("sk-ant-1"));
    assert_eq!(extractor.ask("x", LONG, &until(&|| false)).unwrap().text, "[]");
    assert!(claude.arguments().join(" ").contains("--model opus --disallowed-tools"));
    assert!(claude.has_variable("ANTHROPIC_API_KEY=sk-ant-1") && !claude.noted("cmdline").contains("sk-ant"));
    assert!(!format!("{extractor:?}").contains("sk-ant"), "{extractor:?}");
    // Nobody else is given it.
    let codex = StandIn::noting("cat \"$HERE/reply\"");
    codex.agent(Agent::Codex, None, Some("sk-ant-1")).ask("x", LONG, &until(&|| false)).unwrap();
    assert!(!codex.noted("environment").contains("sk-ant-1"));
}

#[test]
fn codex_reads_only_and_is_held_to_a_schema() {
    let codex = StandIn::noting(
        "while [ $# -gt 0 ]; do case $1 in --output-schema) cp \"$2\" \"$HERE/schema\";; -o) cp \"$HERE/reply\" \"$2\";; esac; shift; done\necho '{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":5,\"output_tokens\":2}}'",
    );
    let answer =
        codex.agent(Agent::Codex, Some("gpt-mini"), None).ask("the prompt", LONG, &until(&|| false)).unwrap();
    assert_eq!((answer.text.as_str(), answer.tokens), (REPLY, 7));
    let arguments = codex.arguments().join(" ");
    assert!(
        arguments.starts_with(
            "exec --skip-git-repo-check --ephemeral --json --sandbox read-only --model gpt-mini"
        )
    );
    assert!(arguments.ends_with(" -") && codex.noted("stdin") == "the prompt", "{arguments}");
    let schema: serde_json::Value = serde_json::from_str(&codex.noted("schema")).unwrap();
    assert_eq!(schema["properties"]["memories"]["items"]["additionalProperties"], false);
    // Older ones print the answer alone.
    let plain = StandIn::new("cat \"$HERE/reply\"");
    assert_eq!(plain.agent(Agent::Codex, None, None).ask("x", LONG, &until(&|| false)).unwrap().text, REPLY);
}

#[test]
fn gemini_and_opencode_are_left_no_tool() {
    let gemini = StandIn::noting(
        "cp .gemini/settings.json \"$HERE/settings\"\nprintf 'Loaded.\\n{\"response\":\"[]\",\"stats\":{\"models\":{\"m\":{\"tokens\":{\"total\":9}}}}}'",
    );
    let answer = gemini.agent(Agent::Gemini, None, None).ask("the prompt", LONG, &until(&|| false)).unwrap();
    assert_eq!((answer.text.as_str(), answer.tokens), ("[]", 9));
    assert_eq!(
        gemini.arguments().join(" "),
        "--output-format json --approval-mode default --extensions none --allowed-mcp-server-names none --model flash"
    );
    let settings: serde_json::Value = serde_json::from_str(&gemini.noted("settings")).unwrap();
    assert_eq!(settings["tools"]["core"], serde_json::json!(["none"]));
    assert_eq!(
        (gemini.noted("stdin").as_str(), gemini.has_variable("GEMINI_CLI_TRUST_WORKSPACE=true")),
        ("the prompt", true)
    );

    let opencode = StandIn::noting(
        "echo '{\"type\":\"text\",\"part\":{\"text\":\"[]\"}}'\necho '{\"type\":\"step_finish\",\"part\":{\"tokens\":{\"input\":4,\"output\":1}}}'",
    );
    let answer = opencode
        .agent(Agent::OpenCode, Some("a/b"), None)
        .ask("the prompt", LONG, &until(&|| false))
        .unwrap();
    assert_eq!((answer.text.as_str(), answer.tokens), ("[]", 5));
    assert_eq!(opencode.arguments().join(" "), "run --format json --agent plan --title doze --model a/b");
    assert_eq!(opencode.noted("stdin"), "the prompt");
    assert!(opencode.has_variable(r#"OPENCODE_PERMISSION={"*":"deny"}"#));
}

#[test]
fn a_command_is_any_program() {
    let command = StandIn::noting("cat \"$HERE/reply\"");
    let answer = command.run("the prompt").unwrap();
    assert_eq!(reply::parse(&answer.text).unwrap().memories[0].title, "T");
    assert!(answer.tokens > 0);
    assert_eq!(
        (command.arguments(), command.noted("stdin")),
        (vec!["--quiet".to_owned()], "the prompt".to_owned())
    );
    assert!(command.has_variable("DOZE_CHILD=1"));
}

#[test]
fn an_end_with_a_failure_is_one_whatever_was_printed() {
    let loud = StandIn::new("cat \"$HERE/reply\"; echo 'no account' >&2; exit 3");
    let said = told(loud.run("x"));
    assert!(said.contains("exit status: 3") && said.ends_with("no account"), "{said}");
    let silent = StandIn::new("exit 1");
    assert!(told(silent.run("x")).ends_with("it said nothing"));
    let killed = StandIn::new("kill -9 $$");
    assert!(told(killed.run("x")).contains("signal: 9"));
}

#[test]
fn what_an_agent_says_went_wrong_is_told() {
    let claude = StandIn::new(
        "echo '{\"type\":\"result\",\"is_error\":true,\"result\":\"Please run /login\"}'; exit 1",
    );
    assert!(
        told(claude.agent(Agent::Claude, None, None).ask("x", LONG, &until(&|| false)))
            .ends_with("Please run /login")
    );
    let turns =
        StandIn::new("echo '{\"type\":\"result\",\"subtype\":\"error_max_turns\",\"is_error\":true}'");
    let failure = turns.agent(Agent::Claude, None, None).ask("x", LONG, &until(&|| false)).unwrap_err();
    assert!(matches!(&failure, Failure::NoReply { said, .. } if said == "error_max_turns"), "{failure}");
    for agent in [Agent::Claude, Agent::Gemini, Agent::OpenCode] {
        let garbage = StandIn::new("echo 'Segmentation fault'; printf '\\377\\376{'");
        let failure = garbage.agent(agent, None, None).ask("x", LONG, &until(&|| false)).unwrap_err();
        assert!(
            matches!(&failure, Failure::NoReply { said, .. } if said.starts_with("Segmentation")),
            "{failure}"
        );
    }
}

#[test]
fn what_takes_too_long_is_ended_with_all_it_started() {
    let slow = StandIn::new(
        "sleep 300 & echo $! >\"$HERE/child\"\nsh -c 'sleep 300 & echo $! >\"'\"$HERE\"'/grandchild\"; wait' &\nwhile ! [ -s \"$HERE/grandchild\" ]; do :; done\necho $$ >\"$HERE/self\"\ntrap '' TERM\nwait",
    );
    let start = Instant::now();
    let failure = slow.command().ask("x", Duration::from_secs(2), &until(&|| false)).unwrap_err();
    assert!(matches!(failure, Failure::TimedOut { seconds: 2, .. }), "{failure}");
    assert!(start.elapsed() < Duration::from_secs(30));
    for name in ["child", "grandchild", "self"] {
        assert!(ends(&slow.noted(name)), "{name} still runs");
    }
}

#[test]
fn what_is_not_wanted_any_more_is_ended() {
    let slow = StandIn::new("echo $$ >\"$HERE/self\"; exec sleep 300");
    let noted = slow.0.path().join("self");
    // The file is there before what is written into it.
    let is_noted = || std::fs::metadata(&noted).is_ok_and(|file| file.len() > 0);
    let failure = slow.command().ask("x", LONG, &until(&is_noted)).unwrap_err();
    assert!(matches!(failure, Failure::GivenUp), "{failure}");
    assert!(ends(&slow.noted("self")));
}

#[test]
fn what_outlives_its_program_is_ended_and_the_reply_counts() {
    let parent = StandIn::new("sleep 300 & echo $! >\"$HERE/child\"; cat \"$HERE/reply\"");
    assert_eq!(parent.run("x").unwrap().text, REPLY);
    assert!(ends(&parent.noted("child")));
    // Even one that left the group and holds the output open costs no more than a moment.
    let escaped = StandIn::new("setsid sleep 300 & echo $! >\"$HERE/child\"; cat \"$HERE/reply\"");
    let start = Instant::now();
    let answer = escaped.run("x");
    let _ = std::process::Command::new("kill").arg(escaped.noted("child").trim()).status();
    assert_eq!(answer.unwrap().text, REPLY);
    assert!(start.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_flood_is_cut_and_neither_blocks_nor_fills_memory() {
    let flood = StandIn::new(
        "cat \"$HERE/reply\"; head -c 50000000 /dev/zero | tr '\\0' 'x'; head -c 50000000 /dev/zero >&2",
    );
    let answer = flood.run("x").unwrap();
    assert_eq!(answer.text.len(), 1 << 20);
    assert_eq!(reply::parse(&answer.text).unwrap().memories.len(), 1);
}

#[test]
fn a_program_need_not_read_its_prompt() {
    let deaf = StandIn::new("exec <&-\ncat \"$HERE/reply\"");
    assert_eq!(deaf.run(&"x".repeat(5 << 20)).unwrap().text, REPLY);
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let gone = Extractor::Command { program: "/no/such/program".into(), arguments: Vec::new() };
    let failure = gone.ask("x", LONG, &until(&|| false)).unwrap_err();
    assert!(failure.to_string().starts_with("/no/such/program cannot be run; install it"), "{failure}");
    assert!(find("no-such-program-anywhere").unwrap_err().to_string().contains("no-such-program-anywhere"));
    assert!(find("sh").unwrap().is_absolute());
}

#[test]
fn no_part_of_a_secret_is_told_wherever_the_end_is_cut() {
    let secret = format!("sk-ant-api03-{}-AA", "a1B2c3D4e5F6g7H8".repeat(6));
    for behind in [0, 200, 290, 300, 350, 390, 399, 400, 500] {
        let noisy = StandIn::new(&format!(
            "printf '%s {secret} %s' '{}' '{}' >&2; exit 3",
            "x ".repeat(300),
            "y".repeat(behind)
        ));
        let said = told(noisy.run("x"));
        for at in 13..secret.len() - 8 {
            assert!(!said.contains(&secret[at..at + 8]), "{behind}: {said}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_left_the_group_of_its_program_is_ended_too() {
    let escaping = StandIn::new(
        "setsid sh -c 'echo $$ >\"$0/pid.new\"; mv \"$0/pid.new\" \"$0/pid\"; exec sleep 600' \"$HERE\" >/dev/null 2>&1 &\nwhile [ ! -e \"$HERE/pid\" ]; do :; done\ncat \"$HERE/reply\"",
    );
    assert_eq!(escaping.run("x").unwrap().text, REPLY);
    assert!(ends(&escaping.noted("pid")));
}
