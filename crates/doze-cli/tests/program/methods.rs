//! What the program asks for, and what the daemon of the same release answers.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Names after `method::` in a text: the constants of the protocol that it uses.
fn constants(text: &str) -> BTreeSet<String> {
    let parts = text.split("method::").skip(1);
    let name =
        |part: &str| -> String { part.chars().take_while(|c| c.is_ascii_uppercase() || *c == '_').collect() };
    parts.map(name).filter(|name| !name.is_empty()).collect()
}

/// All of the program's own source.
fn source(folder: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text += &source(&path);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            text += &fs::read_to_string(path).unwrap();
        }
    }
    text
}

#[test]
fn the_daemon_answers_every_method_that_is_asked() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let asked = source(&here.join("src"));
    let dispatch = fs::read_to_string(here.join("../dozed/src/dispatch/mod.rs")).unwrap();
    let (_, table) = dispatch.split_once("const METHODS").unwrap();
    let (table, _) = table.split_once("];").unwrap();
    let mut answered = constants(table);
    // The server's own.
    answered.extend(["HELLO", "STOP", "MCP_OPEN"].map(str::to_owned));
    let asked_names = constants(&asked);
    assert!(asked_names.len() > 25, "{asked_names:?}");
    let unanswered: Vec<&String> = asked_names.difference(&answered).collect();
    assert!(unanswered.is_empty(), "no daemon answers {unanswered:?}");
    // A name that is written out would not be seen above.
    for name in doze_protocol::method::ALL.iter().filter(|name| name.contains('.')) {
        assert!(!asked.contains(&format!("\"{name}\"")), "{name} is asked for by its text");
    }
}
