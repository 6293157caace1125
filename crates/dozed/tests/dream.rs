//! A real daemon that ends in the middle of a sweep, by itself or by `kill -9`, and the next one that goes on with it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use doze_tests::{Client, Home, until};
use serde_json::{Value, json};

/// What the sessions are about, with what is learned from each.
const ABOUT: [(&str, &str, &str); 2] = [
    ("orders", "Migrate the orders table first", "Other tables refer to it."),
    ("invoices", "Send invoices through the queue", "The mail server drops long connections."),
];

/// A home whose dreams ask a program that notes whom it was asked about. For invoices it waits while the file `wait`
/// is there.
fn home() -> Home {
    let home = Home::new();
    let program = home.path().join("asked.sh");
    let path = |name: &str| home.path().join(name).display().to_string();
    let mut body = "#!/bin/sh\nasked=$(cat)\ncase \"$asked\" in\n".to_owned();
    for (about, title, text) in ABOUT {
        let reply = json!({"summary": null, "memories": [{"type": "lesson", "title": title, "body": text,
            "topicKey": null, "files": [], "confidence": 0.7}]});
        fs::write(home.path().join(about), reply.to_string()).unwrap();
        body += &format!(
            "*\"the {about} now\"*) echo {about} >> {}; [ {about} = orders ] || while [ -e {} ]; do sleep 0.02; done; cat {};;\n",
            path("calls"),
            path("wait"),
            path(about)
        );
    }
    fs::write(&program, body + "esac\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    home.write_config(&format!("command = [\"{}\"]\n[dream]\nextractor = \"command\"\n", program.display()));
    home
}

fn commit_both(home: &Home) {
    let mut client = home.client();
    for (about, ..) in ABOUT {
        let said = |n: u32, kind: &str, origin: &str, text: String| json!({"id": format!("{about}-{n}"), "type": kind, "origin": origin, "text": text});
        let mut events = vec![said(0, "prompt", "person", format!("Please look after the {about} now."))];
        for round in 0..5 {
            events.push(said(2 * round + 1, "answer", "agent", format!("Step {round} is in place.")));
            events.push(said(2 * round + 2, "prompt", "person", "go on".to_owned()));
        }
        client.call(
            "session.commit",
            json!({"session": about, "agent": {"id": "a", "harness": "codex"}, "cwd": home.project("shop"),
                "end": "session", "events": events}),
        );
    }
}

fn calls(home: &Home) -> [usize; 2] {
    let calls = fs::read_to_string(home.path().join("calls")).unwrap_or_default();
    ABOUT.map(|(about, ..)| calls.lines().filter(|line| *line == about).count())
}

/// Everything that a sweep leaves but for ids and times: its memories, and the one entry of the journal.
fn end_state(home: &Home, client: &mut Client) -> (Vec<Value>, Value) {
    let list = client.call("memory.list", json!({"cwd": home.project("shop"), "status": "all"}));
    let kept = |memory: &Value| {
        json!([
            memory["title"],
            memory["body"],
            memory["status"],
            memory["reinforce_count"],
            memory["confidence"]
        ])
    };
    let mut memories: Vec<Value> = list["items"].as_array().unwrap().iter().map(kept).collect();
    memories.sort_by_key(Value::to_string);
    let log = client.call("dream.log", json!({}));
    let [dream] = log["items"].as_array().unwrap().as_slice() else { panic!("{log}") };
    (memories, json!([dream["result"], dream["changes"]]))
}

/// The end state of a sweep that nothing disturbed.
fn undisturbed() -> (Vec<Value>, Value) {
    let home = home();
    let _daemon = home.start();
    commit_both(&home);
    let mut client = home.client();
    let dream = client.call("dream.run", json!({}));
    assert_eq!((&dream["result"], calls(&home)), (&json!("done"), [1, 1]), "{dream}");
    let state = end_state(&home, &mut client);
    assert_eq!(state.0.len(), 2, "{state:?}");
    state
}

#[test]
fn a_daemon_that_ends_at_any_step_of_a_sweep_is_gone_on_with() {
    let expected = undisturbed();
    for (place, broke_off, asked) in [
        ("chosen", "a sweep broke off before it had chosen what to read", [1, 1]),
        ("answered:2", "a sweep broke off while it read invoices, 1 of 2 sessions read", [1, 2]),
        ("kept", "a sweep broke off while it read orders, 0 of 2 sessions read", [1, 1]),
        ("planned", "a sweep broke off before its plan was applied, 2 of 2 sessions read", [1, 1]),
        ("applied", "", [1, 1]),
    ] {
        let home = home();
        let daemon = home.start_with(&[], &[("DOZE_BREAK_AT", place)]);
        commit_both(&home);
        assert!(
            home.client().try_call("dream.run", &json!({})).is_err(),
            "{place}: nobody is left to answer"
        );
        let exited = daemon.wait_exit();
        assert_eq!(exited.signal, Some(6), "{place}: {}", exited.stderr);

        let _daemon = home.start();
        let mut client = home.client();
        let status = client.call("dream.status", json!({}));
        let told = status["broke_off"].as_str().unwrap_or_default();
        if place == "applied" {
            assert_eq!(told, broke_off, "it had come to its end");
        } else {
            assert!(told.starts_with(broke_off), "{place}: {told}");
            assert_eq!(status["why_not"], "a sweep broke off; it goes on in 1 min", "{place}");
            let dream = client.call("dream.run", json!({}));
            assert_eq!(dream["result"], "done", "{place}: {dream}");
        }
        assert_eq!((end_state(&home, &mut client), calls(&home)), (expected.clone(), asked), "{place}");
        assert_eq!(client.call("dream.status", json!({}))["broke_off"], Value::Null, "{place}");
    }
}

#[test]
fn a_daemon_killed_while_somebody_is_asked_asks_only_them_again() {
    let expected = undisturbed();
    let home = home();
    let daemon = home.start();
    commit_both(&home);
    fs::write(home.path().join("wait"), "").unwrap();
    let mut client = home.client();
    std::thread::scope(|scope| {
        scope.spawn(|| assert!(home_call(&mut client).is_err(), "nobody is left to answer"));
        until("the second session to be asked about", || (calls(&home) == [1, 1]).then_some(()));
        daemon.kill();
    });
    fs::remove_file(home.path().join("wait")).unwrap();
    let _daemon = home.start();
    let mut client = home.client();
    client.call("dream.run", json!({}));
    assert_eq!((end_state(&home, &mut client), calls(&home)), (expected, [1, 2]));
}

fn home_call(client: &mut Client) -> Result<(), ()> {
    client.try_call("dream.run", &json!({})).map(drop).map_err(drop)
}
