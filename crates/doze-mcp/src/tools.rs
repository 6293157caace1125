//! What is offered: names, when to use them, and the shape of their arguments.
//!
//! The shapes are plain objects: no references, no lists of types, no combinators. Clients differ in what else they
//! understand.

use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

pub(crate) const SEARCH: &str = "memory_search";
pub(crate) const RECORD: &str = "memory_record";
pub(crate) const FEEDBACK: &str = "memory_feedback";
pub(crate) const TASK: &str = "task_context";

/// Characters of what may be recorded (S1.36).
pub(crate) const MAX_TITLE: usize = 120;
pub(crate) const MAX_BODY: usize = 800;
pub(crate) const MAX_TOPIC: usize = 80;
/// Files of one memory.
pub(crate) const MAX_FILES: usize = 20;
/// Hits of a search: the default and the bounds.
pub(crate) const DEFAULT_HITS: usize = 8;
pub(crate) const MAX_HITS: usize = 20;

/// Kinds that an agent may record: what a person prefers and who owns what, only a person or a run says.
pub(crate) const KINDS: &[&str] = &["decision", "lesson", "command", "env_quirk", "convention", "spec"];
const ALL_KINDS: &[&str] =
    &["decision", "spec", "lesson", "preference", "convention", "command", "env_quirk", "ownership"];
pub(crate) const VERDICTS: &[&str] = &["helpful", "wrong", "stale"];

/// Every tool, or without memory only the one that tells the task.
pub(crate) fn offered(with_memory: bool) -> Vec<Tool> {
    let task = || {
        let what = "The task you are working on: its spec, its status and what earlier runs on it did. Call it when \
                    you start on a task or have lost its context.";
        tool(TASK, what, &[], &[]).annotate(ToolAnnotations::new().read_only(true).open_world(false))
    };
    if !with_memory {
        return vec![task()];
    }
    let search = tool(
        SEARCH,
        "Search what earlier work on this project found out: decisions, failures and what fixed them, commands, quirks. \
         Call it before working something out again, and with the error text when something fails.",
        &[
            ("query", text("What to look for: words, a file name, an error message.")),
            ("type", choice("Only this kind.", ALL_KINDS)),
            (
                "limit",
                json!({"type": "integer", "minimum": 1, "maximum": MAX_HITS, "description": "How many, 8 by default."}),
            ),
        ],
        &["query"],
    );
    let record = tool(
        RECORD,
        "Keep what later work on this project needs: a failed approach with its cause, a decision with its reason, a \
         command that worked, a quirk of the environment. Call it when you have proved such a thing. Nothing that the \
         code says anyway.",
        &[
            ("type", choice("What sort of knowledge.", KINDS)),
            ("title", bounded("One line, imperative.", MAX_TITLE)),
            ("body", bounded("Concrete: what, why, how to tell.", MAX_BODY)),
            (
                "topicKey",
                bounded(
                    "Memories with one key replace each other, like test/pool. Leave it out if unsure.",
                    MAX_TOPIC,
                ),
            ),
            (
                "files",
                json!({"type": "array", "items": {"type": "string"}, "description": "Files it is about."}),
            ),
        ],
        &["type", "title", "body"],
    );
    let feedback = tool(
        FEEDBACK,
        "Say what a memory was worth: helpful when it saved work, wrong when it proved false, stale when it no longer \
         holds. Call it after acting on one.",
        &[("id", text("The memory's id.")), ("verdict", choice("What it was worth.", VERDICTS))],
        &["id", "verdict"],
    );
    vec![
        search.annotate(ToolAnnotations::new().read_only(true).open_world(false)),
        record.annotate(ToolAnnotations::new().destructive(false).open_world(false)),
        feedback.annotate(ToolAnnotations::new().destructive(false).open_world(false)),
        task(),
    ]
}

fn tool(name: &'static str, what: &'static str, fields: &[(&str, Value)], required: &[&str]) -> Tool {
    let properties: Map<String, Value> =
        fields.iter().map(|(name, shape)| ((*name).to_owned(), shape.clone())).collect();
    let mut shape = Map::new();
    shape.insert("type".into(), "object".into());
    shape.insert("properties".into(), properties.into());
    if !required.is_empty() {
        shape.insert("required".into(), json!(required));
    }
    Tool::new(name, what, Arc::new(shape))
}

fn text(what: &str) -> Value {
    json!({"type": "string", "description": what})
}

fn bounded(what: &str, max: usize) -> Value {
    json!({"type": "string", "maxLength": max, "description": what})
}

fn choice(what: &str, words: &[&str]) -> Value {
    json!({"type": "string", "enum": words, "description": what})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_plain_and_descriptions_say_when() {
        let tools = offered(true);
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!(names, [SEARCH, RECORD, FEEDBACK, TASK]);
        for tool in &tools {
            let shape = Value::Object((*tool.input_schema).clone());
            let written = shape.to_string();
            for word in ["$ref", "anyOf", "oneOf", "allOf", "\"type\":["] {
                assert!(!written.contains(word), "{}: {written}", tool.name);
            }
            assert_eq!(shape["type"], "object");
            let what = tool.description.as_deref().unwrap();
            assert!(what.contains("Call it") && what.chars().count() < 300, "{what}");
        }
        assert_eq!(offered(false).len(), 1);
    }
}
