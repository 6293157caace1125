//! A folder that a person makes a workspace, with the real daemon.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::Path;

use doze_tests::Home;
use serde_json::{Value, json};

const SECRET: &str = "ghp_Zq3vT8nLw2KdYc5RbXj7HfMs9PaUe1Gi4NoV";

/// A conversation of six rounds that teaches a rule.
fn commit(home: &Home, session: &str, mode: &str, rule: &str) -> Value {
    let mut events =
        vec![json!({"id": format!("{session}-p"), "type": "prompt", "origin": "person", "text": rule})];
    for round in 0..6 {
        events.push(json!({
            "id": format!("{session}-a{round}"), "type": "answer", "origin": "agent",
            "text": format!("Step {round} of the {session} migration is in place."),
        }));
        events.push(json!({
            "id": format!("{session}-g{round}"), "type": "prompt", "origin": "person", "text": format!("go on with {round}"),
        }));
    }
    json!({"session": session, "agent": "alex", "cwd": home.project("app"), "mode": mode, "events": events})
}

fn all(folder: &Path) -> Vec<(String, String)> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut files: Vec<(String, String)> = entries
        .map(|path| {
            (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read_to_string(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

#[test]
fn a_workspace_follows_dreams_and_their_undoing() {
    let home = Home::new();
    let app = home.project("app");
    let _daemon = home.start();
    let mut client = home.client();
    let code = format!("No, use pnpm instead of npm in this repository. The token for it is {SECRET}.");
    client.call("session.commit", commit(&home, "code", "code", &code));
    client.call(
        "session.commit",
        commit(&home, "talk", "agent", "No, use tabs instead of spaces in this repository."),
    );
    home.doze(["workspace", "add"]).arg(&app).run().ok();
    assert_eq!(fs::read_dir(&app).unwrap().count(), 0, "nothing appears before a sweep");

    let dream = home.doze(["dream", "--json"]).run().ok().json();
    assert_eq!(dream["result"], "done", "{dream}");
    let files = all(&app.join("coding_memory"));
    assert!(files.iter().any(|(_, text)| text.contains("pnpm")), "{files:?}");
    assert!(files.iter().all(|(name, text)| {
        name.starts_with("consolidated_")
            && text.contains("\nsource_session: code\n")
            && !text.contains("tabs")
    }));
    let dreaming = fs::read_to_string(app.join("memory/DREAMING.md")).unwrap();
    assert!(dreaming.contains("tabs") && dreaming.contains("_source: talk | "), "{dreaming}");
    assert!(!dreaming.contains("pnpm"), "{dreaming}");
    assert!(!format!("{files:?}{dreaming}").contains(SECRET));

    let listed = client.call("workspace.list", json!({}));
    assert_eq!(
        listed["items"][0]["entries"],
        files.len() as u64 + dreaming.matches("\n_source: ").count() as u64
    );
    assert!(home.doze(["workspace", "list"]).run().ok().stdout.contains("entr"));

    // A note of a person's outlives the undo.
    fs::write(app.join("memory/DREAMING.md"), format!("{dreaming}\nA note.\n")).unwrap();
    home.doze(["dream", "undo", dream["id"].as_str().unwrap()]).run().ok();
    assert_eq!(fs::read_to_string(app.join("memory/DREAMING.md")).unwrap().trim(), "A note.");
    assert!(!app.join("coding_memory").exists());

    home.doze(["workspace", "remove"]).arg(&app).run().ok();
    assert_eq!(client.call("workspace.list", json!({}))["items"], json!([]));
    assert_eq!(client.fail("workspace.add", json!({"path": "/"})).kind, "refused");
    let named = client.fail("workspace.add", json!({"path": app, "mode": "both"}));
    assert!(named.message.starts_with("mode"), "{}", named.message);
}
