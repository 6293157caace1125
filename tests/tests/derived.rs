//! What is derived can be thrown away, what was learned cannot get lost with it, and what was forgotten stays away.

use std::fs;

use doze_tests::{Client, Home};
use serde_json::{Value, json};

const FACT: &str = "The test server listens on port 5433";

fn hits(client: &mut Client, home: &Home, query: &str) -> Vec<Value> {
    let params = json!({"query": query, "cwd": home.project("app"), "history": true});
    client.call("recall.search", params)["hits"].as_array().expect("hits are a list").clone()
}

fn commit(home: &Home) -> Value {
    json!({
        "session": "s", "agent": "a", "cwd": home.project("app"), "summary": "Moved the parser to its own crate",
        "events": [{"id": "1", "type": "prompt", "text": "Please move the quokka parser"}],
    })
}

#[test]
fn deleting_every_index_loses_nothing() {
    let home = Home::new();
    let daemon = home.start();
    let mut client = home.client();
    client.call(
        "memory.add",
        json!({"body": FACT, "kind": "fact", "space": "project", "cwd": home.project("app")}),
    );
    client.call("session.commit", commit(&home));
    assert_eq!(daemon.terminate().code, Some(0));
    fs::remove_dir_all(home.doze_home().join("cache")).expect("there is a cache");
    let _daemon = home.start();
    let mut client = home.client();
    assert!(hits(&mut client, &home, "test server port").iter().any(|hit| hit["body"] == FACT));
    assert!(!hits(&mut client, &home, "quokka").is_empty(), "the session's events are not found again");
}

#[test]
fn a_damaged_index_is_made_again() {
    let home = Home::new();
    let daemon = home.start();
    home.client().call(
        "memory.add",
        json!({"body": FACT, "kind": "fact", "space": "project", "cwd": home.project("app")}),
    );
    assert_eq!(daemon.terminate().code, Some(0));
    let mut damaged = 0;
    for file in home.files().iter().filter(|file| file.starts_with("cache")) {
        fs::write(home.doze_home().join(file), b"not what it was").expect("the file can be written");
        damaged += 1;
    }
    assert!(damaged > 0, "there was no index: {:?}", home.files());
    let _daemon = home.start();
    assert!(hits(&mut home.client(), &home, "test server port").iter().any(|hit| hit["body"] == FACT));
}

#[test]
fn what_was_forgotten_is_gone_from_everywhere() {
    let home = Home::new();
    let daemon = home.start();
    let mut client = home.client();
    let project = home.project("app");
    let added =
        client.call("memory.add", json!({"body": FACT, "kind": "fact", "space": "project", "cwd": project}));
    client.call("memory.forget", json!({"id": added["id"]}));
    client.fail("memory.get", json!({"id": added["id"]}));
    for _ in 0..2 {
        assert!(hits(&mut client, &home, "test server port").is_empty());
        let brief = client.call("recall.brief", json!({ "cwd": project }));
        assert!(!brief["text"].as_str().expect("a text").contains("5433"), "{brief}");
    }
    assert_eq!(daemon.terminate().code, Some(0));
    let _daemon = home.start();
    assert!(hits(&mut home.client(), &home, "test server port").is_empty());
}

#[test]
fn the_same_commit_twice_is_one() {
    let home = Home::new();
    let _daemon = home.start();
    let mut client = home.client();
    let first = client.call("session.commit", commit(&home));
    let again = client.call("session.commit", commit(&home));
    assert_eq!(first["seq"], again["seq"], "{again}");
    let listed = client.call("session.list", json!({"cwd": home.project("app")}));
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(listed["items"][0]["events"], 1);
}
