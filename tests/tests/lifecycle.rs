//! Starting, stopping, reloading and being started twice.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};
use std::thread;

use doze_tests::{Client, Home, until};
use rustix::process::Signal;
use serde_json::{Value, json};

fn commit(home: &Home, session: &str) -> Value {
    json!({"session": session, "agent": "life", "cwd": home.project("app"), "summary": format!("Finished {session}")})
}

#[test]
fn a_second_daemon_leaves_the_first_alone_and_says_so() {
    let home = Home::new();
    let first = home.start();
    let second = home.spawn(&[]).wait_exit();
    assert_eq!(second.code, Some(0), "{}", second.stderr);
    assert!(second.stderr.contains("already running"), "{}", second.stderr);
    assert_eq!(home.client().call("status", json!({}))["pid"], first.pid());
}

#[test]
fn of_many_started_at_once_one_stays() {
    let home = Home::new();
    let mut daemons: Vec<_> = (0..6).map(|_| home.spawn(&[])).collect();
    let pid = home.client().call("status", json!({}))["pid"].as_u64().unwrap();
    let place = daemons.iter().position(|daemon| u64::from(daemon.pid()) == pid).expect("one of ours serves");
    let winner = daemons.remove(place);
    for loser in daemons {
        let exited = loser.wait_exit();
        assert_eq!(exited.code, Some(0), "{}", exited.stderr);
    }
    assert_eq!(winner.terminate().code, Some(0));
}

#[test]
fn a_socket_left_by_a_killed_daemon_is_no_obstacle() {
    let home = Home::new();
    home.start().kill();
    assert!(home.socket().exists());
    let _daemon = home.start();
}

#[test]
fn a_terminated_daemon_finishes_what_it_acknowledged_and_leaves_cleanly() {
    let home = Home::new();
    let daemon = home.start();
    let mut acknowledged = Vec::new();
    let exited = thread::scope(|scope| {
        let clients: Vec<_> = (0..8)
            .map(|number| {
                let (home_client, commits) = (home.client(), (0..).map(move |n| format!("t{number}n{n}")));
                let params: Vec<_> = commits.take(2_000).map(|name| (commit(&home, &name), name)).collect();
                scope.spawn(move || commit_until_gone(home_client, params))
            })
            .collect();
        until("commits to be under way", || {
            home.client().call("status", json!({}))["sessions"].as_u64().filter(|count| *count > 20)
        });
        let exited = daemon.terminate();
        for client in clients {
            acknowledged.extend(client.join().unwrap());
        }
        exited
    });
    assert_eq!((exited.code, exited.signal), (Some(0), None), "{}", exited.stderr);
    assert!(!home.socket().exists(), "the socket is left behind");
    let _again = home.start();
    let mut client = home.client();
    for session in acknowledged {
        client.call("session.get", json!({ "session": session }));
    }
}

/// Commits in turn; answers with what was acknowledged before the daemon was gone.
fn commit_until_gone(mut client: Client, commits: Vec<(Value, String)>) -> Vec<String> {
    let mut acknowledged = Vec::new();
    for (params, name) in commits {
        match client.try_call("session.commit", &params) {
            Ok(Ok(_)) => acknowledged.push(name),
            Ok(Err(failure)) => {
                assert!(["busy", "unavailable"].contains(&failure.kind.as_str()), "{failure:?}")
            }
            Err(_) => break,
        }
    }
    acknowledged
}

#[test]
fn a_changed_configuration_is_in_force_after_a_hangup_and_a_broken_one_never() {
    let home = Home::with_config("[dream]\ninterval_seconds = 3600\n");
    let daemon = home.start();
    let interval =
        |home: &Home| home.client().call("config", json!({}))["dream.interval_seconds"]["value"].clone();
    assert_eq!(interval(&home), 3600);
    home.write_config("[dream]\ninterval_seconds = 7200\n");
    daemon.signal(Signal::HUP);
    until("the new interval", || (interval(&home) == 7200).then_some(()));
    home.write_config("[dream]\ninterval_seconds = \"often\"\n");
    daemon.signal(Signal::HUP);
    until("a word about the broken file", || daemon.stderr().contains("interval_seconds").then_some(()));
    assert_eq!(interval(&home), 7200);
}

#[test]
fn a_broken_configuration_at_the_start_is_78_and_a_wrong_flag_2() {
    let home = Home::with_config("dream = 5\n");
    let exited = home.spawn(&[]).wait_exit();
    assert_eq!(exited.code, Some(78), "{}", exited.stderr);
    assert!(exited.stderr.contains("doze.toml"), "{}", exited.stderr);
    // Who starts it reads what is wrong and with which key, and scripts read it as a document.
    let up = home.doze(["up"]).run();
    assert_eq!(up.code, 78);
    assert!(up.stderr.contains("there is no key") || up.stderr.contains("dream:"), "{}", up.stderr);
    assert!(
        up.stderr.contains("doze.toml") && up.stderr.contains("\n  → correct the configuration"),
        "{}",
        up.stderr
    );
    let check = home.doze(["config", "check", "--json"]).run();
    assert_eq!((check.code, &check.json()["right"]), (78, &json!(false)));
    assert!(check.json()["said"].as_str().unwrap().contains("doze.toml"), "{}", check.stdout);
    let exited = Home::new().spawn(&["--nonsense"]).wait_exit();
    assert_eq!(exited.code, Some(2), "{}", exited.stderr);
}

#[test]
fn a_passed_socket_is_used_and_left_in_place() {
    let home = Home::new();
    let path = home.path().join("passed.sock");
    let listener = UnixListener::bind(&path).unwrap();
    // The listener goes in as stdin and is moved to where a service manager puts it; `exec` keeps the process id.
    let mut daemon = Command::new("sh")
        .args(["-c", "exec 3<&0 </dev/null; LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=dozed exec \"$0\""])
        .arg(home.dozed())
        .env_clear()
        .envs(home.environment())
        .stdin(Stdio::from(OwnedFd::from(listener)))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut client = until("the passed socket to answer", || Client::greet(&path));
    assert_eq!(client.call("status", json!({}))["pid"], daemon.id());
    client.call("stop", json!({}));
    let status = until("it to end", || daemon.try_wait().unwrap());
    assert!(status.success(), "{status}");
    assert!(path.exists(), "a passed socket is not the daemon's to remove");
}

#[test]
fn the_command_starts_and_stops_it() {
    let home = Home::new();
    let status = home.doze(["status"]).run();
    assert_eq!(status.code, 69, "{}", status.stderr);
    home.doze(["up"]).run().ok();
    let pid = home.doze(["status", "--json"]).run().ok().json()["pid"].as_u64().unwrap();
    home.doze(["up"]).run().ok();
    assert_eq!(home.client().call("status", json!({}))["pid"], pid);
    home.doze(["stop"]).run().ok();
    until("the daemon to be gone", || Client::greet(&home.socket()).is_none().then_some(()));
    assert_eq!(home.doze(["status"]).run().code, 69);
}

#[test]
fn a_level_that_is_set_is_in_force_at_once_and_what_needs_a_restart_is_told() {
    let home = Home::with_config("[log]\ntarget = \"file\"\nlevel = \"error\"\n");
    let _daemon = home.start();
    let mut client = home.client();
    let logged = || -> String {
        let names = home.files();
        let logs = names.iter().filter(|name| name.extension().is_some_and(|ending| ending == "log"));
        logs.filter_map(|name| std::fs::read_to_string(home.doze_home().join(name)).ok()).collect()
    };
    let answer = client.call("config", json!({"set": {"log.level": "trace"}}));
    assert_eq!(answer["log.level"]["value"], "trace");
    assert!(answer["log.level"].get("restart").is_none());
    assert_eq!(answer["embedder"]["restart"], true);
    until("a message of the new level", || {
        client.call("status", json!({}));
        (logged().contains("DEBUG") || logged().contains("TRACE")).then_some(())
    });
    let status = client.call("status", json!({}));
    assert_eq!(
        (&status["extraction"]["extractor"], &status["engine"]["builtin"]),
        (&json!("off"), &json!("on"))
    );
}
