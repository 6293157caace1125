//! No secret reaches the disk, whichever way it comes in, and none comes back out.

use std::fs;
use std::path::Path;

use doze_tests::Home;
use serde_json::json;

/// A made-up key in a form that everybody knows, put together here so that no scanner takes this file for a leak.
fn key() -> String {
    format!("AKIA{}", "Q3EGLY7ZHX2MWN4K")
}

fn password() -> &'static str {
    "correct-Horse7-battery"
}

/// Every file below `folder` that holds one of the bytes.
fn holding(folder: &Path, needles: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).expect("the folder is there") {
            let path = entry.expect("the folder can be read").path();
            if path.is_dir() {
                open.push(path);
            } else if let Ok(bytes) = fs::read(&path) {
                for needle in needles {
                    if bytes.windows(needle.len()).any(|window| window == needle.as_bytes()) {
                        found.push(format!("{} in {}", &needle[..6], path.display()));
                    }
                }
            }
        }
    }
    found
}

fn commit(home: &Home, session: &str) -> serde_json::Value {
    let (key, password) = (key(), password());
    json!({
        "session": session,
        "agent": {"id": "a", "harness": "tests"},
        "cwd": home.project("app"),
        "summary": format!("Rotated the key, formerly {key}"),
        "output": format!("aws_access_key_id = {key}"),
        "events": [
            {"id": "1", "type": "prompt", "text": format!("The key is {key}, the URL postgres://app:{password}@db/app")},
            {"id": "2", "type": "tool", "tool": {"name": "Bash", "input": {"command": format!("PASSWORD={password} ./run")},
             "output": format!("export AWS_ACCESS_KEY_ID={key}"), "failed": false}},
            {"id": "3", "type": "answer", "text": "Done. <private>the plan for Monday-zebra</private>"},
        ],
    })
}

#[test]
fn a_committed_secret_is_redacted_before_it_is_written() {
    let home = Home::new();
    let daemon = home.start();
    let mut client = home.client();
    let answer = client.call("session.commit", commit(&home, "s"));
    assert!(answer["redacted"].as_object().is_some_and(|rules| !rules.is_empty()), "{answer}");
    client.call(
        "memory.add",
        json!({"body": format!("The deploy key is {}", key()), "kind": "fact", "space": "user"}),
    );
    let search = client.call(
        "recall.search",
        json!({"query": "deploy key Rotated", "history": true, "cwd": home.project("app")}),
    );
    assert!(!search.to_string().contains(&key()), "{search}");
    assert_eq!(daemon.terminate().code, Some(0));
    let found = holding(&home.doze_home(), &[&key(), password(), "Monday-zebra"]);
    assert!(found.is_empty(), "{found:?}");
    // What is no secret is there in clear, so a secret would have been seen.
    assert!(!holding(&home.doze_home(), &["Rotated the key"]).is_empty());
}

/// What a read of a growing file keeps for the next one: a call without its result, a prompt in the queue, an answer
/// that may go on.
#[test]
fn what_waits_for_the_rest_of_a_transcript_holds_no_secret_either() {
    let home = Home::new();
    let daemon = home.start();
    let cwd = home.project("app");
    let line = |kind: &str, more: serde_json::Value| {
        let mut line = json!({"type": kind, "sessionId": "s", "cwd": cwd, "timestamp": "2026-01-05T10:00:00Z", "version": "2.1.20"});
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        format!("{line}\n")
    };
    let said = |id: &str, content: serde_json::Value| {
        line("assistant", json!({"uuid": id, "message": {"id": id, "role": "assistant", "content": content}}))
    };
    let call = json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": format!("PASSWORD={} ./run", password())}}]);
    let transcript = [
        line("user", json!({"uuid": "u1", "message": {"role": "user", "content": "Rotate the key of the harvest service"}})),
        said("a1", call),
        line("queue-operation", json!({"operation": "enqueue", "content": format!("the key is {}", key())})),
        said("a2", json!([{"type": "text", "text": format!("The old one was {}", key())}])),
    ]
    .concat();
    let path = home.user_home().join("session.jsonl");
    fs::write(&path, transcript).expect("the transcript is written");
    let mut client = home.client();
    let answer = client.call(
        "session.commit",
        json!({"session": "s", "agent": {"id": "claude-code"}, "cwd": cwd, "end": "turn", "transcript": {"path": path}}),
    );
    assert_ne!(answer["events"]["new"], json!(0), "{answer}");
    assert_eq!(daemon.terminate().code, Some(0));
    let found = holding(&home.doze_home(), &[&key(), password()]);
    assert!(found.is_empty(), "{found:?}");
    assert!(!holding(&home.doze_home(), &["harvest service"]).is_empty());
}

#[test]
fn a_secret_in_a_name_reaches_neither_store_nor_log() {
    let home = Home::new();
    let daemon = home.start();
    let mut client = home.client();
    let named = |name: &str| format!("{name}-{}", key());
    let agent = json!({"id": named("agent"), "harness": "tests"});
    let cwd = home.project(&named("folder"));
    let mut session = commit(&home, &named("session"));
    session["agent"] = agent.clone();
    session["cwd"] = json!(cwd);
    client.call("session.commit", session);
    client.call(
        "work.set",
        json!({"agent": agent, "cwd": cwd, "session": named("work"), "task_id": named("task")}),
    );
    client.call(
        "memory.add",
        json!({"body": "The heron likes the log.", "cwd": cwd, "agent": agent, "space": "agent"}),
    );
    assert_eq!(daemon.terminate().code, Some(0));
    let found = holding(&home.doze_home(), &[&key()]);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn the_spool_holds_no_secret_either() {
    let home = Home::new();
    let text = format!("The key is {}", key());
    let payload = json!({"session_id": "s", "cwd": home.project("app"), "hook_event_name": "Stop", "last_assistant_message": text});
    assert_eq!(home.doze(["hook", "claude-code", "Stop"]).stdin(payload.to_string()).run().code, 0);
    assert!(home.files().iter().any(|file| file.starts_with("spool")), "{:?}", home.files());
    let found = holding(&home.doze_home(), &[&key()]);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn nothing_under_the_home_is_readable_for_others() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let _daemon = home.start();
    home.client().call("session.commit", commit(&home, "s"));
    for file in home.files() {
        let mode = fs::metadata(home.doze_home().join(&file)).map(|meta| meta.permissions().mode() & 0o077);
        // A file that is gone since it was listed is nobody's to read.
        assert!(matches!(mode, Ok(0) | Err(_)), "{}: {mode:?}", file.display());
    }
}
