//! The two sessions that were read by hand, extracted by rules and by a scripted model, against the reader's notes.
//!
//! `cargo test --test gold -- --nocapture` prints the table. A match: at least half of a note's content words stand in
//! the memory. The scripted model replies as many of a session's notes as a reply may hold, so that what it says is
//! known: what is measured is what is kept of it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use doze_tests::{Home, testdata, until};
use serde_json::{Value, json};

/// Words that say nothing about the thing.
const EMPTY: &[&str] = &[
    "the", "and", "for", "with", "that", "this", "not", "must", "because", "from", "will", "says", "before",
];

fn words(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .map(str::to_lowercase)
        .filter(|word| word.chars().count() > 2 && !EMPTY.contains(&word.as_str()))
        .collect()
}

fn says(memory: &Value, note: &str) -> bool {
    let note = words(note);
    let said = words(&format!("{} {}", memory["title"], memory["body"]));
    note.intersection(&said).count() * 2 >= note.len()
}

/// How many of the memories say a note, how many notes are said, and how many memories and notes there are.
struct Score {
    right: usize,
    found: usize,
    memories: usize,
    notes: usize,
}

fn score(memories: &[Value], notes: &[String]) -> Score {
    Score {
        right: memories.iter().filter(|memory| notes.iter().any(|note| says(memory, note))).count(),
        found: notes.iter().filter(|note| memories.iter().any(|memory| says(memory, note))).count(),
        memories: memories.len(),
        notes: notes.len(),
    }
}

fn texts(gold: &Value, field: &str) -> Vec<String> {
    gold[field].as_array().unwrap().iter().map(|note| note["text"].as_str().unwrap().to_owned()).collect()
}

/// Reads the session as a run that ends, with an extractor, and answers the memories of its project.
fn extracted(config: &str, home: &Home, file: &str) -> Vec<Value> {
    home.write_config(config);
    let _daemon = home.start();
    let mut client = home.client();
    let transcript = json!({"path": testdata("sessions").join(file), "format": "auto"});
    let agent = json!({"id": "reader", "harness": "reader"});
    let cwd = home.project("app");
    let commit = json!({"session": "gold", "agent": agent, "cwd": cwd, "transcript": transcript});
    assert_eq!(client.call("session.commit", commit)["extraction"], "queued");
    until("the job to end", || {
        let extraction = client.call("session.get", json!({"session": "gold"}))["extraction"].clone();
        (extraction["state"] == "done").then_some(())
    });
    let list = client.call("memory.list", json!({"cwd": cwd, "spaces": "project", "limit": 200}));
    list["items"].as_array().unwrap().clone()
}

fn model(home: &Home, gold: &Value) -> String {
    let notes = gold["notes"].as_array().unwrap();
    let memories: Vec<Value> = notes
        .iter()
        .map(|note| {
            let title: String = note["text"].as_str().unwrap().chars().take(70).collect();
            json!({"type": note["kind"], "title": title, "body": note["text"], "topicKey": null, "confidence": 0.8})
        })
        .collect();
    let summary = json!({"request": "r", "workDone": "w", "outcome": "o", "openItems": []});
    let reply = home.path().join("reply.json");
    fs::write(&reply, json!({"summary": summary, "memories": memories}).to_string()).unwrap();
    let program = home.path().join("model.sh");
    fs::write(
        &program,
        format!("#!/bin/sh\ncat > /dev/null\necho 'Here is the JSON:'\ncat {}\n", reply.display()),
    )
    .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    format!("extractor = \"command\"\ncommand = [\"{}\"]\n", program.display())
}

#[test]
fn the_sessions_that_were_read_by_hand_are_extracted_by_rules_and_by_a_scripted_model() {
    for gold in ["04", "06"] {
        let gold = fs::read_to_string(testdata(&format!("sessions/gold/{gold}.json"))).unwrap();
        let gold: Value = serde_json::from_str(&gold).unwrap();
        let (file, notes) = (gold["file"].as_str().unwrap(), texts(&gold, "notes"));
        let negatives = texts(&gold, "negatives");
        for extractor in ["rules", "model"] {
            let home = Home::new();
            let config = match extractor {
                "rules" => "extractor = \"rules\"\n".to_owned(),
                _ => model(&home, &gold),
            };
            let memories = extracted(&config, &home, file);
            let of = score(&memories, &notes);
            println!(
                "{file:<44} {extractor:<6} precision {}/{}  recall {}/{}",
                of.right, of.memories, of.found, of.notes
            );
            for memory in &memories {
                println!("    [{}] {}", memory["kind"].as_str().unwrap(), memory["body"].as_str().unwrap());
            }
            let trapped =
                memories.iter().filter(|memory| negatives.iter().any(|trap| says(memory, trap))).count();
            assert!(of.found >= if extractor == "rules" { 1 } else { 6 }, "{file} {extractor}: {}", of.found);
            assert_eq!(trapped, 0, "{file} {extractor}: a negative was kept");
        }
    }
}
