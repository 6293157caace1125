//! `doze setup` against homes as people have them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Home, finish};
use serde_json::Value;

fn put(home: &Home, path: &str, text: &[u8]) -> PathBuf {
    let path = home.path().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

/// Every command in a settings file.
fn commands(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let root: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap();
    let events = root["hooks"].as_object().unwrap().values();
    let handlers = events
        .flat_map(|groups| groups.as_array().unwrap())
        .flat_map(|group| group["hooks"].as_array().unwrap());
    handlers.map(|handler| handler["command"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn all_agents_that_are_there_are_connected_and_disconnected_without_a_trace() {
    let home = Home::new();
    let claude = put(&home, ".claude/settings.json", b"\xEF\xBB\xBF{\r\n\t\"model\": \"opus\"\r\n}\r\n");
    fs::create_dir(home.path().join(".codex")).unwrap();
    let opencode = put(&home, ".config/opencode/opencode.jsonc", b"{\n  // mine\n  \"theme\": \"a\"\n}\n");
    let (before, opencode_before) = (fs::read(&claude).unwrap(), fs::read(&opencode).unwrap());

    let ran = home.run(&["setup", "--yes"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("Claude Code is connected") && ran.stdout.contains("Codex is connected"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("adds hooks: SessionStart, PostToolUse, "), "{}", ran.stdout);
    assert!(!home.path().join(".gemini").exists());
    let codex = home.path().join(".codex/hooks.json");
    assert_eq!((commands(&claude).len(), commands(&codex).len()), (6, 5));
    // The tools are registered where each of them looks.
    let servers = home.path().join(".claude.json");
    let server: Value = serde_json::from_str(&fs::read_to_string(&servers).unwrap()).unwrap();
    let server = &server["mcpServers"]["doze"];
    assert_eq!(server["args"], serde_json::json!(["mcp", "--harness", "claude-code"]));
    assert!(server["command"].as_str().unwrap().ends_with("/doze"), "{server}");
    let config = home.path().join(".codex/config.toml");
    assert!(fs::read_to_string(&config).unwrap().contains("[mcp_servers.doze]\ncommand = "));
    let tools = fs::read_to_string(&opencode).unwrap();
    assert!(tools.contains("// mine") && tools.contains("\"opencode\""), "{tools}");
    assert!(ran.stdout.contains("OpenCode has the tools"), "{}", ran.stdout);
    let connected = fs::read(&claude).unwrap();

    let again = home.run(&["setup", "--yes"]);
    assert!(again.stdout.contains("Claude Code is connected already"), "{}", again.stdout);
    assert_eq!(fs::read(&claude).unwrap(), connected);

    let ran = home.run(&["setup", "--remove", "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(fs::read(&claude).unwrap(), before);
    assert_eq!(fs::read(&opencode).unwrap(), opencode_before);
    assert!(!codex.exists() && !servers.exists() && !config.exists());
    assert_eq!(fs::read_dir(home.path().join(".claude")).unwrap().count(), 1);
}

#[test]
fn a_registered_command_runs_in_a_shell_wherever_the_program_is() {
    let home = Home::new();
    fs::create_dir(home.path().join(".codex")).unwrap();
    let place = home.path().join("it's a $HOME \"place\"");
    fs::create_dir(&place).unwrap();
    let program = place.join("doze");
    fs::copy(env!("CARGO_BIN_EXE_doze"), &program).unwrap();
    let mut setup = Command::new(&program);
    setup
        .args(["setup", "codex", "--yes"])
        .env_clear()
        .env("HOME", home.path())
        .env("DOZE_HOME", home.path().join("doze"));
    assert_eq!(finish(&mut setup).code, 0);

    let command = commands(&home.path().join(".codex/hooks.json"))
        .into_iter()
        .find(|command| command.ends_with("Stop"))
        .unwrap();
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", &command])
        .env_clear()
        .env("DOZE_HOME", home.path().join("doze"))
        .env("PATH", "/nowhere");
    let ran = crate::common::feed(&mut shell, br#"{"session_id":"s","cwd":"/p"}"#);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{command}");
    assert_eq!(home.spool().len(), 1, "{command}");
}

#[test]
fn without_a_terminal_consent_must_be_given_on_the_command_line() {
    let home = Home::new();
    let settings = put(&home, ".gemini/settings.json", b"{}");
    let ran = home.run(&["setup"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("--yes"), "{}", ran.stderr);
    assert_eq!(fs::read(&settings).unwrap(), b"{}");
}

#[test]
fn a_dry_run_shows_and_writes_nothing() {
    let home = Home::new();
    let settings = put(&home, ".gemini/settings.json", b"{}");
    let without = home.run(&["setup", "--dry-run", "--no-mcp"]);
    assert!(!without.stdout.contains("MCP"), "{}", without.stdout);
    let ran = home.run(&["setup", "--dry-run"]);
    assert!(ran.stdout.contains("  adds the MCP server doze: "), "{}", ran.stdout);
    assert_eq!(ran.code, 0);
    assert!(
        ran.stdout.contains("  adds hooks: SessionStart, ") && ran.stdout.contains("nothing was written"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.lines().count() < 10 && ran.stdout.contains("hook gemini EVENT"), "{}", ran.stdout);
    let in_full = home.run(&["setup", "--dry-run", "--diff"]);
    assert!(in_full.stdout.contains("hook gemini AfterAgent"), "{}", in_full.stdout);
    assert_eq!(fs::read(&settings).unwrap(), b"{}");
    assert_eq!(fs::read_dir(home.path().join(".gemini")).unwrap().count(), 1);
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_the_others_are_done() {
    let home = Home::new();
    let broken = put(&home, ".claude/settings.json", b"{ \"model\": \n");
    fs::create_dir(home.path().join(".codex")).unwrap();
    let ran = home.run(&["setup", "--yes"]);
    assert_eq!(ran.code, 78);
    assert!(ran.stderr.contains(".claude/settings.json was left as it is"), "{}", ran.stderr);
    assert_eq!(fs::read(&broken).unwrap(), b"{ \"model\": \n");
    assert_eq!(commands(&home.path().join(".codex/hooks.json")).len(), 5);
}

#[test]
fn the_agents_own_variables_are_honoured_and_empty_ones_are_not() {
    let home = Home::new();
    let place = home.path().join("elsewhere");
    fs::create_dir(&place).unwrap();
    fs::create_dir(home.path().join(".codex")).unwrap();
    let mut command = home.command(&["setup", "--yes", "--json"]);
    let ran = finish(command.env("CLAUDE_CONFIG_DIR", &place).env("CODEX_HOME", ""));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    let states: Vec<&str> =
        answer["agents"].as_array().unwrap().iter().map(|agent| agent["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["installed"; 4]);
    assert!(place.join("settings.json").exists() && home.path().join(".codex/hooks.json").exists());
    assert!(place.join(".claude.json").exists() && !home.path().join(".claude.json").exists());
}

#[test]
fn no_agent_and_an_unknown_agent_say_what_to_do() {
    let home = Home::new();
    assert_eq!(home.run(&["setup", "--yes"]).code, 1);
    let ran = home.run(&["setup", "emacs", "--yes"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("claude-code, codex, gemini"), "{}", ran.stderr);
}

#[test]
fn a_named_agent_is_connected_before_it_is_installed() {
    let home = Home::new();
    assert_eq!(home.run(&["setup", "claude-code", "--yes"]).code, 0);
    assert_eq!(commands(&home.path().join(".claude/settings.json")).len(), 6);
}
