//! The default file and the schema, made from the table.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::keys::{KEYS, Key};

/// A file that says all there is to say: every key with its meaning and its built-in value, commented out, so that
/// installing it changes nothing.
pub fn default_file() -> String {
    let mut out = String::from(
        "# Configuration of dozed. Every key is here with its built-in value; take the # away to change one.\n\
         # Stronger than this file: the variable named beside a key, then the command line.\n",
    );
    for key in KEYS {
        out.push('\n');
        for line in wrap(&key.told(), 96) {
            let _ = writeln!(out, "# {line}");
        }
        let _ = writeln!(out, "# (${})", key.env.join(", $"));
        let _ = writeln!(out, "#{} = {}", toml_name(key.name), key.default_value());
    }
    out
}

/// A key whose prefix is a key itself has to stand in quotes: TOML lets `embedder` be a text or a table, not both.
fn toml_name(name: &str) -> String {
    if is_nested_in_key(name) { format!("\"{name}\"") } else { name.to_owned() }
}

pub(super) fn is_nested_in_key(name: &str) -> bool {
    name.split_once('.').is_some_and(|(parent, _)| super::keys::find(parent).is_some())
}

fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The JSON Schema of the file.
pub fn schema() -> Value {
    let mut properties = Map::new();
    let parents: BTreeSet<&str> = KEYS.iter().filter_map(|key| Some(key.name.split_once('.')?.0)).collect();
    for key in KEYS {
        // Dotted names are here as well, since every key may be written in quotes.
        let own = if parents.contains(key.name) {
            json!({"anyOf": [key.schema(), table(key.name)], "description": key.told()})
        } else {
            key.schema()
        };
        properties.insert(key.name.to_owned(), own);
    }
    for parent in parents {
        properties.entry(parent).or_insert_with(|| table(parent));
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Configuration of dozed",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    })
}

fn table(parent: &str) -> Value {
    let children = |key: &&Key| key.name.strip_prefix(parent).is_some_and(|rest| rest.starts_with('.'));
    let properties: Map<String, Value> = KEYS
        .iter()
        .filter(children)
        .map(|key| (key.name[parent.len() + 1..].to_owned(), key.schema()))
        .collect();
    json!({"type": "object", "additionalProperties": false, "properties": properties})
}
