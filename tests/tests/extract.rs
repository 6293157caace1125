//! Run-end jobs with the real daemon, and scripts in the place of agents' programs and models.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use doze_tests::{Client, Home, until};
use rustix::process::Pid;
use serde_json::{Value, json};

const REPLY: &str = r#"{"summary":{"request":"Fix the pool","workDone":"forks","outcome":"green","openItems":["bump vitest"]},"memories":[{"type":"lesson","title":"Use the forks pool","body":"Threads hang on the native sqlite module.","topicKey":"test/pool","files":[],"confidence":0.8}]}"#;

fn script(home: &Home, name: &str, body: &str) -> String {
    let path = home.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_string_lossy().into_owned()
}

fn by_command(program: &str) -> String {
    format!("extractor = \"command\"\ncommand = [\"{program}\"]\n")
}

fn end(client: &mut Client, home: &Home, session: &str) -> Value {
    let events = json!([
        {"id": format!("{session}-1"), "type": "prompt", "origin": "person", "text": "The suite hangs, please fix it"},
        {"id": format!("{session}-2"), "type": "answer", "origin": "agent", "text": "I switched the pool to forks."},
    ]);
    let agent = json!({"id": "claude-code", "harness": "claude-code"});
    client.call(
        "session.commit",
        json!({"session": session, "agent": agent, "cwd": home.project("app"), "events": events}),
    )
}

fn ended(client: &mut Client, session: &str) -> Value {
    until("the job to end", || {
        let extraction = client.call("session.get", json!({ "session": session }))["extraction"].clone();
        (!matches!(extraction["state"].as_str(), Some("queued" | "running"))).then_some(extraction)
    })
}

fn count(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

/// Whether a process ended. One whose parent has not noticed yet has.
fn is_gone(pid: Pid) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    let is_zombie = status.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z');
    is_zombie || rustix::process::test_kill_process(pid).is_err()
}

#[test]
fn at_most_two_runs_are_read_at_once() {
    let home = Home::new();
    let (running, go) = (home.path().join("running"), home.path().join("go"));
    fs::create_dir(&running).unwrap();
    let body = format!(
        "cat > /dev/null; touch {0}/$$; ls {0} | wc -l >> {1}; while [ ! -e {2} ]; do sleep 0.02; done; rm {0}/$$; echo '{REPLY}'",
        running.display(),
        home.path().join("counts").display(),
        go.display(),
    );
    home.write_config(&by_command(&script(&home, "asked.sh", &body)));
    let _daemon = home.start();
    let mut client = home.client();
    for session in ["a", "b", "c", "d"] {
        assert_eq!(end(&mut client, &home, session)["extraction"], "queued");
    }
    // Each writes how many it saw before it may end.
    let seen = || fs::read_to_string(home.path().join("counts")).unwrap_or_default().lines().count();
    until("two to run", || (count(&running) == 2 && seen() == 2).then_some(()));
    let queue = client.call("status", json!({}))["queue"].clone();
    assert_eq!((&queue["running"], &queue["pending"]), (&json!(2), &json!(2)));
    fs::write(&go, "").unwrap();
    for session in ["a", "b", "c", "d"] {
        let extraction = ended(&mut client, session);
        assert!(matches!(extraction["state"].as_str(), Some("done" | "empty")), "{extraction}");
        assert_eq!(extraction["extractor"], "command");
    }
    let counts = fs::read_to_string(home.path().join("counts")).unwrap();
    let most = counts.split_whitespace().filter_map(|n| n.parse::<u32>().ok()).max();
    assert_eq!(most, Some(2), "{counts}");
    let status = client.call("status", json!({}));
    assert_eq!((&status["queue"]["pending"], &status["extraction"]["calls_today"]), (&json!(0), &json!(4)));
    assert!(status["extraction"]["sentence"].as_str().unwrap().contains("asked.sh"), "{status}");
}

#[test]
fn a_job_outlives_a_killed_daemon_and_leaves_nothing_running() {
    let home = Home::new();
    let begun = home.path().join("begun");
    let (helper, folder) = (home.path().join("helper"), home.path().join("folder"));
    // It starts something that leaves its group.
    let waits = format!(
        "cat > /dev/null; pwd > {}; (set -m; tail -f /dev/null & echo $! > {}) > /dev/null 2>&1; echo $$ > {}; exec tail -f /dev/null",
        folder.display(),
        helper.display(),
        begun.display()
    );
    home.write_config(&by_command(&script(&home, "waits.sh", &waits)));
    let daemon = home.start();
    let mut client = home.client();
    end(&mut client, &home, "s");
    let pid = |file: &Path| {
        until("a process", || fs::read_to_string(file).ok()?.trim().parse().ok().and_then(Pid::from_raw))
    };
    let started = [pid(&begun), pid(&helper)];
    daemon.kill();

    home.write_config(&by_command(&script(&home, "says.sh", &format!("cat > /dev/null; echo '{REPLY}'"))));
    let daemon = home.start();
    let mut client = home.client();
    assert_eq!(ended(&mut client, "s")["state"], "done");
    // Nothing of the killed daemon's is left, and what it had asked does not run twice.
    for pid in started.into_iter().filter(|_| cfg!(target_os = "linux")) {
        until("it to end", || is_gone(pid).then_some(()));
    }
    let folder = fs::read_to_string(&folder).unwrap();
    assert!(!Path::new(folder.trim()).exists(), "{folder}");
    let hits = client.call("recall.search", json!({"query": "forks pool", "cwd": home.project("app")}));
    assert_eq!(hits["hits"][0]["title"], "Use the forks pool", "{hits}");

    // A daemon that ends in order takes along whom it asks, and does not wait for them.
    fs::remove_file(&begun).unwrap();
    home.write_config(&by_command(&script(&home, "waits.sh", &waits)));
    daemon.signal(rustix::process::Signal::HUP);
    let agent = json!({"id": "claude-code", "harness": "claude-code"});
    let events = json!([{"id": "t1", "type": "prompt", "origin": "person", "text": "Now the linter"},
                        {"id": "t2", "type": "answer", "origin": "agent", "text": "It is clean."}]);
    until("the new program", || {
        let shown = client.call("config", json!({}))["command"]["value"].to_string();
        shown.contains("waits.sh").then_some(())
    });
    client.call(
        "session.commit",
        json!({"session": "t", "agent": agent, "cwd": home.project("app"), "events": events}),
    );
    let started = pid(&begun);
    assert_eq!(daemon.terminate().code, Some(0));
    assert!(is_gone(started), "{started:?} still runs");
}

#[test]
fn a_dream_called_for_by_hand_does_not_hold_up_the_end() {
    let home = Home::new();
    let begun = home.path().join("begun");
    let waits = format!("cat > /dev/null; echo $$ > {}; exec tail -f /dev/null", begun.display());
    let program = script(&home, "waits.sh", &waits);
    home.write_config(&format!("\"dream.extractor\" = \"command\"\ncommand = [\"{program}\"]\n"));
    let daemon = home.start();
    let mut client = home.client();
    let events: Vec<Value> = (0..6)
        .flat_map(|round| {
            [
                json!({"id": format!("p{round}"), "type": "prompt", "origin": "person", "text": format!("Please do step {round}")}),
                json!({"id": format!("a{round}"), "type": "answer", "origin": "agent", "text": format!("Step {round} is in place.")}),
            ]
        })
        .collect();
    client.call(
        "session.commit",
        json!({"session": "s", "agent": "alex", "cwd": home.project("app"), "events": events}),
    );
    std::thread::scope(|scope| {
        let mut asks = home.client();
        let dream = scope.spawn(move || asks.call("dream.run", json!({"human": true})));
        let pid: i32 = until("the dream to ask", || fs::read_to_string(&begun).ok()?.trim().parse().ok());
        // The limit of the drain is ten seconds: who ends with 0 has not run into it.
        assert_eq!(daemon.terminate().code, Some(0));
        let gone = rustix::process::Pid::from_raw(pid)
            .is_none_or(|pid| rustix::process::test_kill_process(pid).is_err());
        assert!(gone, "{pid} still runs");
        assert_eq!(dream.join().unwrap()["sessions"][0]["outcome"], "retry");
    });
}

#[test]
fn a_run_that_failed_is_found_with_its_reason_and_read_again() {
    let home = Home::new();
    home.write_config(&by_command(&script(&home, "fails.sh", "cat > /dev/null; echo no credit >&2; exit 3")));
    let daemon = home.start();
    let mut client = home.client();
    let name = "0f2c6a1e-1b2c-4d3e-8f90-123456789abc";
    end(&mut client, &home, name);
    assert_eq!(ended(&mut client, name)["state"], "failed");
    let status = home.doze(["status"]).run().ok().stdout;
    assert!(status.contains("1 run not extracted today; doze sessions --failed"), "{status}");
    let listed = home.doze(["sessions", "--failed"]).run().ok().stdout;
    assert!(listed.contains("\n0f2c6a1e  ") && listed.contains("no credit"), "{listed}");
    let one = home.doze(["sessions", "--failed", "--json"]).run().ok().json();
    assert_eq!(
        (&one["items"][0]["session"], &one["items"][0]["extraction"]["state"]),
        (&json!(name), &json!("failed"))
    );

    home.write_config(&by_command(&script(&home, "says.sh", &format!("cat > /dev/null; echo '{REPLY}'"))));
    daemon.signal(rustix::process::Signal::HUP);
    until("the new program", || {
        client.call("config", json!({}))["command"]["value"].to_string().contains("says.sh").then_some(())
    });
    let again = home.doze(["extract", "0f2c6a1e"]).run().ok().stdout;
    assert!(again.contains("doze sessions"), "{again}");
    assert_eq!(ended(&mut client, name)["state"], "done");
    assert_eq!(home.doze(["sessions", "--failed"]).run().code, 1);
    let unknown = home.doze(["digest", "ffffffff"]).run();
    assert!(unknown.code == 1 && unknown.stderr.contains("doze sessions"), "{}", unknown.stderr);
}

#[test]
fn automatic_means_the_agent_that_did_the_work() {
    let home = Home::with_config("extractor = \"auto\"\n");
    let said = json!({"type": "result", "is_error": false, "result": REPLY, "usage": {"input_tokens": 900, "output_tokens": 70}});
    let body =
        format!("echo \"$@\" > {}; cat > /dev/null; echo '{said}'", home.path().join("argv").display());
    let program = script(&home, "bin/claude", &body);
    let path = format!("{}:/usr/bin:/bin", home.path().join("bin").display());
    let _daemon = home.start_with(&[], &[("PATH", &path)]);
    let mut client = home.client();
    assert_eq!(end(&mut client, &home, "s")["extraction"], "queued");
    let extraction = ended(&mut client, "s");
    assert_eq!((&extraction["state"], &extraction["extractor"]), (&json!("done"), &json!("claude")));
    let argv = fs::read_to_string(home.path().join("argv")).unwrap();
    assert!(argv.contains("--max-turns 1") && !argv.contains("suite"), "{argv}");
    let status = client.call("status", json!({}));
    assert!(status["extraction"]["sentence"].as_str().unwrap().contains(&program), "{status}");
    assert_eq!(status["extraction"]["tokens_today"], 970);

    let agent = json!({"id": "o", "harness": "opencode"});
    let events = json!([{"id": "1", "type": "prompt", "origin": "person", "text": "hello there"}]);
    let other = client.call(
        "session.commit",
        json!({"session": "o", "agent": agent, "cwd": home.project("app"), "events": events}),
    );
    assert_eq!(other["extraction"], "skipped: opencode cannot be asked about its own runs");
    let text = home.doze(["status"]).run().ok().stdout;
    assert!(text.contains("today: 1 of 200 calls, 970 of"), "{text}");
}
