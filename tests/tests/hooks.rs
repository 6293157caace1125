//! A hook never blocks or breaks its agent, whatever state the daemon is in, and what it wanted to commit is not lost.

use std::fs;
use std::path::Path;
use std::time::Duration;

use doze_tests::{Home, Ran, testdata, until};
use serde_json::{Value, json};

/// What a hook may take, with room for a busy machine. The client's own budget is a fraction of it; a hook that waits for a
/// frozen daemon or an open stdin without a deadline misses this by far.
const BUDGET: Duration = Duration::from_secs(3);

/// The payload of a harness's event, for a session in `cwd`.
fn payload(event: &str, session: &str, cwd: &Path, more: Value) -> String {
    let mut payload = json!({"session_id": session, "cwd": cwd, "hook_event_name": event});
    payload.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    payload.to_string()
}

fn session_end(home: &Home, session: &str) -> Ran {
    let project = home.project("app");
    let transcript = home.user_home().join(format!("{session}.jsonl"));
    fs::copy(testdata("sessions/claude-code/06-v2074-tiny.jsonl"), &transcript).expect("the sample is there");
    let more = json!({"transcript_path": transcript, "reason": "prompt_input_exit"});
    home.doze(["hook", "claude-code", "SessionEnd"])
        .stdin(payload("SessionEnd", session, &project, more))
        .run()
}

#[track_caller]
fn is_silent(ran: &Ran) {
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
    assert!(ran.took < BUDGET, "took {:?}", ran.took);
}

#[track_caller]
fn arrives(home: &Home, session: &str) -> Value {
    let mut client = home.client();
    until("the session to arrive", || client.ask("session.get", json!({ "session": session })).ok())
}

#[test]
fn with_the_daemon_absent_commits_are_spooled_and_arrive_once_it_starts() {
    let home = Home::new();
    for number in 0..3 {
        is_silent(&session_end(&home, &format!("away-{number}")));
    }
    let brief = home
        .doze(["hook", "claude-code", "SessionStart"])
        .stdin(payload("SessionStart", "away-0", &home.project("app"), json!({"source": "startup"})))
        .run();
    is_silent(&brief);
    let _daemon = home.start();
    for number in 0..3 {
        arrives(&home, &format!("away-{number}"));
    }
    let mut client = home.client();
    until("the spool to be empty", || {
        (client.call("status", json!({}))["spool"]["pending"] == 0).then_some(())
    });
}

#[test]
fn with_the_daemon_frozen_a_hook_gives_up_in_time_and_the_commit_arrives_later() {
    let home = Home::new();
    let daemon = home.start();
    daemon.freeze();
    is_silent(&session_end(&home, "frozen"));
    let project = home.project("app");
    for (event, more) in [
        ("SessionStart", json!({"source": "resume"})),
        ("UserPromptSubmit", json!({"prompt": "which port?", "source": "user"})),
        ("PostToolUse", json!({"tool_name": "Edit", "tool_input": {"file_path": "a.rs"}})),
    ] {
        is_silent(
            &home.doze(["hook", "claude-code", event]).stdin(payload(event, "frozen", &project, more)).run(),
        );
    }
    daemon.thaw();
    arrives(&home, "frozen");
    let listed = home.client().call("session.list", json!({"cwd": project}));
    assert_eq!(
        listed["items"].as_array().map(Vec::len),
        Some(1),
        "handed over and spooled, yet kept once: {listed}"
    );
}

#[test]
fn with_the_daemon_killed_its_socket_left_behind_is_no_trap() {
    let home = Home::new();
    home.start().kill();
    is_silent(&session_end(&home, "dead"));
    let _daemon = home.start();
    arrives(&home, "dead");
}

#[test]
fn with_the_daemon_up_a_session_is_kept_and_the_next_one_is_told() {
    let home = Home::new();
    let _daemon = home.start();
    let project = home.project("app");
    let fact = "The test server listens on port 5433";
    let mut client = home.client();
    client.call("memory.add", json!({"body": fact, "kind": "fact", "space": "project", "cwd": project}));
    is_silent(&session_end(&home, "kept"));
    assert!(arrives(&home, "kept")["events"].as_u64().is_some_and(|events| events > 0));
    let start = home
        .doze(["hook", "claude-code", "SessionStart"])
        .stdin(payload("SessionStart", "next", &project, json!({"source": "startup"})))
        .run();
    assert_eq!(start.code, 0);
    let answer = start.json();
    let output = &answer["hookSpecificOutput"];
    assert_eq!(output["hookEventName"], "SessionStart");
    assert!(output["additionalContext"].as_str().is_some_and(|text| text.contains(fact)), "{answer}");
}

#[test]
fn every_recorded_payload_of_every_harness_ends_well() {
    let home = Home::new();
    let _daemon = home.start();
    let mut seen = 0;
    for harness in ["claude-code", "codex", "gemini"] {
        let Ok(folder) = fs::read_dir(testdata(&format!("sessions/hooks/{harness}/stdin"))) else { continue };
        for entry in folder {
            let path = entry.unwrap().path();
            let ran = home.doze(["hook", harness]).stdin(fs::read(&path).unwrap()).run();
            assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", path.display());
            assert!(ran.stdout.is_empty() || ran.json().is_object(), "{}: {}", path.display(), ran.stdout);
            seen += 1;
        }
    }
    assert!(seen > 20, "only {seen} payloads");
}

#[test]
fn nonsense_ends_well() {
    let home = Home::new();
    let _daemon = home.start();
    let arguments: [&[&str]; 6] = [
        &[],
        &["nobody"],
        &["nobody", "Stop"],
        &["claude-code", "NoSuchEvent"],
        &["--help"],
        &["claude-code", "Stop", "--x"],
    ];
    for arguments in arguments {
        let ran = home.doze(["hook"]).args(arguments).stdin("{}").run();
        assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.stderr);
    }
    let long = format!("{{\"session_id\":\"{}\"}}", "x".repeat(5_000_000));
    for document in ["", "{", "null", "[]", "\u{0}", "{\"session_id\":5,\"cwd\":[]}", &long] {
        is_silent(&home.doze(["hook", "claude-code", "Stop"]).stdin(document).run());
    }
}

#[test]
fn an_agent_that_never_closes_stdin_is_not_waited_for() {
    let home = Home::new();
    let _daemon = home.start();
    is_silent(&home.doze(["hook", "claude-code", "Stop"]).hold_stdin().run());
    let whole = payload("Stop", "open", &home.project("app"), json!({"last_assistant_message": "Done."}));
    is_silent(&home.doze(["hook", "claude-code", "Stop"]).stdin(whole).hold_stdin().run());
    arrives(&home, "open");
}

#[test]
fn switched_off_means_nothing_at_all() {
    let home = Home::new();
    let before = home.files();
    for switch in ["DOZE_DISABLE", "DOZE_CHILD"] {
        let more = json!({"last_assistant_message": "Done."});
        let ran = home
            .doze(["hook", "claude-code", "Stop"])
            .env(switch, "1")
            .stdin(payload("Stop", "off", &home.project("app"), more))
            .run();
        is_silent(&ran);
    }
    assert_eq!(home.files(), before);
}
