//! An acknowledged commit survives `kill -9`, is there once, and is found.
//!
//! `DOZE_CRASH_ROUNDS` says how often (20 by default), `DOZE_CRASH_SEED` repeats a run.

use std::collections::HashSet;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use doze_tests::{Client, Home};
use serde_json::{Value, json};

const CLIENTS: u64 = 64;
const EVENTS: u64 = 3;
/// A round ends after one acknowledgement at the earliest and after this many at the latest.
const ROUND_MAX: u64 = 500;
/// Sessions of a round that are searched for, which takes longer than to look them up.
const SEARCHED: usize = 12;

/// Sixty-four bits from a seed (xorshift), enough to choose moments.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

fn setting(name: &str) -> Option<u64> {
    Some(std::env::var(name).ok()?.parse().unwrap_or_else(|e| panic!("{name}: {e}")))
}

#[test]
fn acknowledged_commits_survive_kill_9_and_are_there_once() {
    let rounds = setting("DOZE_CRASH_ROUNDS").unwrap_or(20);
    let seed = setting("DOZE_CRASH_SEED").unwrap_or_else(|| {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_micros() as u64)
    });
    println!("DOZE_CRASH_SEED={seed}");
    let mut random = Random(seed.max(1));
    let home = Home::new();
    let project = home.project("app");
    let mut acknowledged = HashSet::new();
    for round in 0..rounds {
        let daemon = home.start();
        let wanted = 1 + random.below(ROUND_MAX);
        let delay = Duration::from_micros(random.below(3_000));
        let new = commit_until_killed(&home, &project, round, wanted, || {
            // Not a wait: it moves the kill away from the instant in which an acknowledgement was sent.
            thread::sleep(delay);
            daemon.kill();
        });
        assert!(new.len() as u64 >= wanted);
        let after = home.start();
        let mut client = home.client();
        for session in &new {
            is_there_whole(&mut client, session);
        }
        for session in new.iter().take(SEARCHED) {
            is_found(&mut client, &project, session);
        }
        if let Some(session) = new.first() {
            again_changes_nothing(&mut client, &project, session);
        }
        println!("round {round}: {} acknowledged", new.len());
        acknowledged.extend(new);
        after.kill();
    }
    let _daemon = home.start();
    every_session_is_there_once_and_whole(&mut home.client(), &acknowledged);
}

/// Lets all clients commit, kills the daemon after `wanted` acknowledgements, and answers with every session whose commit was
/// acknowledged, those included that were answered while it died.
fn commit_until_killed(
    home: &Home,
    project: &Path,
    round: u64,
    wanted: u64,
    kill: impl FnOnce(),
) -> Vec<String> {
    thread::scope(|scope| {
        let (told, acknowledgements) = channel();
        for number in 0..CLIENTS {
            let told = told.clone();
            let client = home.client();
            scope.spawn(move || commit_until_gone(client, project, &format!("r{round}c{number}"), &told));
        }
        drop(told);
        let mut sessions: Vec<String> = acknowledgements.iter().take(wanted as usize).collect();
        kill();
        sessions.extend(acknowledgements);
        sessions
    })
}

fn commit_until_gone(mut client: Client, project: &Path, prefix: &str, told: &Sender<String>) {
    for number in 0.. {
        let session = format!("{prefix}n{number}");
        match client.try_call("session.commit", &commit(project, &session)) {
            Ok(Ok(answer)) => {
                assert_eq!(answer["events"]["new"], EVENTS, "{answer}");
                told.send(session).expect("the test collects until every client is gone");
            }
            // The daemon may say that it has too much to do, and the same commit may be sent again.
            Ok(Err(failure)) => assert_eq!(failure.kind, "busy", "{failure:?}"),
            Err(_) => return,
        }
    }
}

/// A session whose texts hold a word that no other session has.
fn commit(project: &Path, session: &str) -> Value {
    let events: Vec<_> = (0..EVENTS)
        .map(|ordinal| {
            json!({
                "id": format!("{session}-{ordinal}"),
                "at": format!("2026-01-02T03:04:{:02}Z", ordinal),
                "type": if ordinal == 0 { "prompt" } else { "answer" },
                "text": format!("Step {ordinal} of the work on {}", marker(session)),
            })
        })
        .collect();
    json!({
        "session": session,
        "commit_id": format!("commit-{session}"),
        "agent": {"id": "crash", "harness": "tests"},
        "cwd": project,
        "summary": format!("Moved the setting {} to its own file", marker(session)),
        "events": events,
    })
}

fn marker(session: &str) -> String {
    format!("zq{session}")
}

fn is_there_whole(client: &mut Client, session: &str) {
    let record = client.call("session.get", json!({"session": session}));
    assert_eq!(record["events"], EVENTS, "{session} lost events: {record}");
    let what = record["summary"]["what"].as_str().unwrap_or_default();
    assert!(what.contains(&marker(session)), "{session} has another summary: {record}");
}

fn is_found(client: &mut Client, project: &Path, session: &str) {
    let answer = client.call(
        "recall.search",
        json!({"query": marker(session), "cwd": project, "history": true, "limit": 10}),
    );
    let hits = answer["hits"].as_array().expect("hits are a list");
    assert!(
        hits.iter().any(|hit| hit["source"]["session"] == session),
        "{session} is not found by its word: {answer}"
    );
}

fn again_changes_nothing(client: &mut Client, project: &Path, session: &str) {
    client.call("session.commit", commit(project, session));
    is_there_whole(client, session);
}

fn every_session_is_there_once_and_whole(client: &mut Client, acknowledged: &HashSet<String>) {
    let mut seen = HashSet::new();
    let mut cursor = Value::Null;
    loop {
        let page = client.call("session.list", json!({"limit": 500, "cursor": cursor}));
        for item in page["items"].as_array().expect("items are a list") {
            let session = item["session"].as_str().expect("a session has a name").to_owned();
            // Also one whose acknowledgement never arrived: it is there whole or not at all.
            assert_eq!(item["events"], EVENTS, "{session} is torn: {item}");
            assert!(seen.insert(session.clone()), "{session} is there twice");
        }
        cursor = page["next"].clone();
        if cursor.is_null() {
            break;
        }
    }
    let lost: Vec<_> = acknowledged.difference(&seen).collect();
    assert!(lost.is_empty(), "acknowledged and not listed: {lost:?}");
}
