//! The hooks as agents run them: every payload, every answer, and what happens when the daemon is not there.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use crate::common::{FakeDaemon, Home, Ran, error, feed, finish, listen};
use serde_json::{Value, json};

/// Far more than a hook may take, so that a busy machine fails no test; far less than waiting for something.
const BOUND: Duration = Duration::from_secs(5);

fn payload(agent: &str, file: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/testdata/sessions/hooks")
        .join(agent)
        .join(file);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn stdin_files(agent: &str) -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/testdata/sessions/hooks")
        .join(agent)
        .join("stdin");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
        .iter()
        .map(|file| (file.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(file).unwrap()))
        .collect()
}

fn brief(_: &str, _: &Value) -> Value {
    json!({"text": "- just itest (2d ago)", "tokens": 9, "memories": ["m1", "m2"]})
}

#[track_caller]
fn assert_silent(ran: &Ran) {
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
    assert!(ran.took < BOUND, "took {:?}", ran.took);
}

/// The allowed keys of an agent's answer, as its schema has them.
fn assert_allowed(agent: &str, answer: &Value) {
    let outer: &[&str] = match agent {
        "codex" => &["continue", "systemMessage", "hookSpecificOutput"],
        _ => &["systemMessage", "hookSpecificOutput"],
    };
    let inner: &[&str] =
        if agent == "gemini" { &["additionalContext"] } else { &["hookEventName", "additionalContext"] };
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert!(keys(answer).iter().all(|key| outer.contains(&key.as_str())), "{answer}");
    assert!(keys(&answer["hookSpecificOutput"]).iter().all(|key| inner.contains(&key.as_str())), "{answer}");
}

#[test]
fn every_payload_ends_well_and_says_only_what_its_agent_takes() {
    let home = Home::new();
    let _daemon = FakeDaemon::start(&home, brief);
    for agent in ["claude-code", "codex", "gemini"] {
        for (name, document) in stdin_files(agent) {
            let event: Value = serde_json::from_slice(&document).unwrap();
            let event = event["hook_event_name"].as_str().unwrap();
            let ran = home.feed(&["hook", agent, event], &document);
            assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{agent}/{name}");
            let injects = matches!(event, "SessionStart" | "UserPromptSubmit" | "BeforeAgent")
                && !name.contains("task-notification");
            if !injects {
                assert_eq!(ran.stdout, "", "{agent}/{name}");
                continue;
            }
            let answer: Value =
                serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{agent}/{name}: {error}"));
            assert_allowed(agent, &answer);
            let context = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
            assert!(context.starts_with("<doze-memory ") && context.contains("- just itest"), "{context}");
            if agent != "gemini" {
                assert_eq!(answer["hookSpecificOutput"]["hookEventName"], event);
            }
            assert_eq!(answer.get("systemMessage").is_some(), event == "SessionStart");
        }
    }
}

#[test]
fn a_start_asks_for_the_brief_and_takes_the_event_from_the_payload_when_it_is_not_named() {
    let home = Home::new();
    let daemon = FakeDaemon::start(&home, brief);
    let ran = home.feed(&["hook", "claude-code"], &payload("claude-code", "stdin/SessionStart.resume.json"));
    assert!(ran.stdout.contains("hookSpecificOutput"));
    let (method, params) = daemon.next();
    assert_eq!(method, "recall.brief");
    assert_eq!(
        params,
        json!({"agent": {"id": "claude-code", "harness": "claude-code"}, "cwd": "/home/dev/proj", "inject": true,
               "session": "5f0c9d3e-2b7a-4a1e-9c55-0a1b2c3d4e5f", "source": "resume",
               "permission_mode": "default"})
    );
}

#[test]
fn an_empty_brief_is_silence() {
    let home = Home::new();
    let _daemon = FakeDaemon::start(&home, |_, _| json!({"text": "", "tokens": 0, "memories": []}));
    assert_silent(
        &home.feed(&["hook", "codex", "SessionStart"], &payload("codex", "stdin/SessionStart.json")),
    );
}

#[test]
fn turns_sessions_and_subagents_are_committed() {
    let home = Home::new();
    let daemon = FakeDaemon::start(&home, |_, _| json!({"session": "s", "seq": 1}));
    let cases = [
        ("claude-code", "Stop", "stdin/Stop.json", "turn", Some("Done. Tests pass.")),
        ("claude-code", "Stop", "stdin/Stop.active.json", "turn", None),
        ("claude-code", "Stop", "stdin/minimal-old.json", "turn", None),
        ("claude-code", "PreCompact", "stdin/PreCompact.json", "turn", None),
        ("claude-code", "SessionEnd", "stdin/SessionEnd.json", "session", None),
        ("codex", "Stop", "stdin/Stop.null-message.json", "turn", None),
        ("gemini", "AfterAgent", "stdin/AfterAgent.json", "turn", Some("Added docs/teal.md")),
        ("gemini", "SessionEnd", "stdin/SessionEnd.json", "session", None),
    ];
    let mut ids = Vec::new();
    for (agent, event, file, end, output) in cases {
        let document = payload(agent, file);
        assert_silent(&home.feed(&["hook", agent, event], &document));
        let (method, params) = daemon.next();
        let told: Value = serde_json::from_slice(&document).unwrap();
        assert_eq!(method, "session.commit", "{file}");
        assert_eq!((&params["end"], &params["session"]), (&json!(end), &told["session_id"]), "{file}");
        assert_eq!(params["transcript"]["path"], told["transcript_path"], "{file}");
        assert_eq!(params.get("output").and_then(Value::as_str), output, "{file}");
        assert!(params["cwd"].as_str().is_some_and(|cwd| cwd.starts_with('/')), "{file}");
        ids.push(params["commit_id"].as_str().unwrap().to_owned());
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), cases.len(), "every run is a commit of its own");

    home.feed(&["hook", "codex", "SubagentStop"], &payload("codex", "stdin/SubagentStop.json"));
    let (_, params) = daemon.next();
    assert_eq!(params["agent"], json!({"id": "codex/explorer", "harness": "codex"}));
    assert_eq!((&params["session"], &params["kind"]), (&json!("a1"), &json!("subagent")));
    assert!(params.get("transcript").is_none());
    assert!(home.spool().is_empty());
}

#[test]
fn a_tool_call_is_noted() {
    let home = Home::new();
    let daemon = FakeDaemon::start(&home, |_, _| json!({}));
    assert_silent(
        &home
            .feed(&["hook", "codex", "PostToolUse"], &payload("codex", "stdin/PostToolUse.apply_patch.json")),
    );
    let (method, params) = daemon.next();
    assert_eq!(method, "work.set");
    assert_eq!(
        (&params["touch"], &params["last_activity"]),
        (&json!(["src/main.rs"]), &json!("apply_patch"))
    );
}

#[test]
fn the_older_notify_program_of_codex_commits_a_turn() {
    let home = Home::new();
    let daemon = FakeDaemon::start(&home, |_, _| json!({}));
    for (file, events) in [("argv/notify.agent-turn-complete.json", 2), ("argv/notify.null-message.json", 0)]
    {
        let argument = String::from_utf8(payload("codex", file)).unwrap();
        assert_silent(&home.run(&["hook", "codex", "notify", &argument]));
        let (method, params) = daemon.next();
        assert_eq!(
            (method.as_str(), &params["session"]),
            ("session.commit", &json!("b5f6c1c2-1111-2222-3333-444455556666"))
        );
        assert_eq!(params["events"].as_array().unwrap().len(), events);
    }
}

#[test]
fn without_a_daemon_commits_are_spooled_and_all_else_is_silent() {
    let home = Home::new();
    assert_silent(&home.feed(
        &["hook", "claude-code", "SessionStart"],
        &payload("claude-code", "stdin/SessionStart.startup.json"),
    ));
    assert_silent(&home.feed(
        &["hook", "claude-code", "PostToolUse"],
        &payload("claude-code", "stdin/PostToolUse.Edit.json"),
    ));
    assert!(home.spool().is_empty());
    assert_silent(&home.feed(&["hook", "claude-code", "Stop"], &payload("claude-code", "stdin/Stop.json")));
    let spooled = home.spool();
    assert_eq!(spooled.len(), 1);
    assert_eq!(spooled[0]["method"], "session.commit");
    assert_eq!(spooled[0]["params"]["end"], "turn");
    assert!(spooled[0]["params"]["commit_id"].is_string());
}

#[test]
fn a_frozen_daemon_costs_the_agent_its_budget_and_no_commit() {
    let home = Home::new();
    let _listener = listen(&home);
    assert_silent(
        &home.feed(&["hook", "gemini", "SessionStart"], &payload("gemini", "stdin/SessionStart.json")),
    );
    assert_silent(&home.feed(&["hook", "gemini", "AfterAgent"], &payload("gemini", "stdin/AfterAgent.json")));
    assert_eq!(home.spool().len(), 1);
    // A tool call is only noted: it waits for next to nothing and leaves nothing behind.
    assert_silent(&home.feed(&["hook", "gemini", "AfterTool"], &payload("gemini", "stdin/AfterTool.json")));
    assert_eq!(home.spool().len(), 1);
}

#[test]
fn what_talks_nonsense_is_as_good_as_absent() {
    let home = Home::new();
    let listener = listen(&home);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.unwrap().write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        }
    });
    assert_silent(
        &home.feed(&["hook", "codex", "SessionStart"], &payload("codex", "stdin/SessionStart.json")),
    );
    assert_silent(&home.feed(&["hook", "codex", "Stop"], &payload("codex", "stdin/Stop.json")));
    assert_eq!(home.spool().len(), 1);
}

#[test]
fn a_commit_the_daemon_finds_wrong_is_not_tried_again_one_it_has_no_room_for_is() {
    let home = Home::new();
    let _daemon = FakeDaemon::start(&home, |_, params| match params["session"].as_str() {
        Some("wrong") => error(-32602, "invalid", "session: no", "h"),
        _ => error(-32004, "busy", "later", "h"),
    });
    assert_silent(&home.feed(&["hook", "codex", "Stop"], br#"{"session_id":"wrong","cwd":"/p"}"#));
    assert!(home.spool().is_empty());
    assert_eq!(home.lost(), 1);
    assert_silent(&home.feed(&["hook", "codex", "Stop"], br#"{"session_id":"right","cwd":"/p"}"#));
    assert_eq!((home.spool().len(), home.lost()), (1, 1));
}

#[test]
fn a_commit_that_a_full_spool_refuses_is_counted() {
    let home = Home::new();
    let spool = doze_client::Spool::new(home.path().join("doze/spool"));
    spool.prepare().unwrap();
    let full = fs::File::create(home.path().join("doze/spool/000-full.json")).unwrap();
    full.set_len(doze_client::SPOOL_BYTES_MAX).unwrap();
    assert_silent(&home.feed(&["hook", "codex", "Stop"], br#"{"session_id":"s","cwd":"/p"}"#));
    assert_eq!((spool.level().files, home.lost()), (1, 1));
}

#[test]
fn broken_input_and_broken_command_lines_are_silence() {
    let home = Home::new();
    let daemon = FakeDaemon::start(&home, brief);
    let start = payload("claude-code", "stdin/SessionStart.startup.json");
    for document in [&b""[..], b"{", b"[]", b"not json", b"{\"session_id\":", b"\xFF\xFE"] {
        assert_silent(&home.feed(&["hook", "claude-code", "SessionStart"], document));
    }
    for arguments in [
        &["hook"][..],
        &["hook", "emacs", "SessionStart"],
        &["hook", "--help"],
        &["hook", "claude-code", "--x"],
        &["hook", "codex", "notify"],
        &["hook", "codex", "notify", "{"],
    ] {
        assert_silent(&home.feed(arguments, &start));
    }
    assert_silent(&home.feed(&["hook", "claude-code"], br#"{"session_id":"s","cwd":"/p"}"#));
    assert!(daemon.is_quiet());
}

#[test]
fn switched_off_it_does_nothing() {
    let home = Home::new();
    let daemon = FakeDaemon::start(&home, brief);
    for name in ["DOZE_DISABLE", "DOZE_CHILD"] {
        for event in ["SessionStart", "Stop"] {
            let mut command = home.command(&["hook", "claude-code", event]);
            let ran = feed(
                command.env(name, "1"),
                &payload(
                    "claude-code",
                    &format!(
                        "stdin/{}",
                        if event == "Stop" { "Stop.json" } else { "SessionStart.startup.json" }
                    ),
                ),
            );
            assert_silent(&ran);
        }
    }
    assert!(daemon.is_quiet() && home.spool().is_empty());
}

#[test]
fn a_document_is_read_to_its_end_and_no_further() {
    let home = Home::new();
    let daemon = FakeDaemon::start(&home, brief);
    let mut document = payload("codex", "stdin/Stop.json");
    document.extend_from_slice(b"\n{\"second\": ");
    assert_silent(&home.feed(&["hook", "codex", "Stop"], &document));
    assert_eq!(daemon.next().0, "session.commit");
}

#[test]
fn an_answer_that_nobody_reads_is_no_error() {
    let home = Home::new();
    let _daemon = FakeDaemon::start(&home, brief);
    let mut command = home.command(&["hook", "claude-code", "SessionStart"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    child
        .stdin
        .take()
        .unwrap()
        .write_all(&payload("claude-code", "stdin/SessionStart.startup.json"))
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn a_payload_that_never_comes_is_not_waited_for() {
    let home = Home::new();
    let mut command = home.command(&["hook", "claude-code", "Stop"]);
    let (reader, _writer) = std::io::pipe().unwrap();
    assert_silent(&finish(command.stdin(reader)));
}
