//! What an extractor is told to do (S1.11, S1.12).

use crate::reply::MAX_MEMORIES;

/// What stands before the digest. The wording and the reply's shape are the document's: replies of models depend on it.
const TASK: &str = r#"You distill a finished coding-agent run into durable memory for future runs on the same project.
Return ONLY minified JSON, no prose, no code fences, matching exactly:
{"summary":{"request":string,"workDone":string,"outcome":string,"openItems":string[]},
 "memories":[{"type":"decision|spec|lesson|preference|convention|command|env_quirk|ownership","title":string,"body":string,"topicKey":string|null,"files":string[],"confidence":number}]}
Rules:
- Record only what helps a future run: failed approaches with the cause, decisions with rationale, commands that worked, environment quirks, conventions, durable preferences. Skip anything obvious from reading the code.
- title <= 80 chars, imperative. body <= 400 chars, concrete.
- topicKey groups memories that supersede each other, like "test/pool" or "architecture/auth"; null if none.
- confidence 0.3-0.9: higher when the run proved it, lower when inferred.
- 0 to 6 memories. Prefer none over noise."#;

/// What a digest is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Subject<'a> {
    /// The title of the task or conversation.
    pub title: &'a str,
    /// The task's specification, when the run belongs to a task.
    pub spec: Option<&'a str>,
}

/// The whole prompt.
pub fn prompt(subject: Subject<'_>, digest: &str) -> String {
    let spec = subject.spec.map(|spec| format!("Spec: {spec}\n")).unwrap_or_default();
    format!("{TASK}\n\nProject task: {}\n{spec}\nRun to distill:\n{digest}", subject.title)
}

/// The shape of a reply as JSON schema, for those who can hold a model to one.
pub(crate) fn schema() -> serde_json::Value {
    let text = serde_json::json!({"type": "string"});
    let texts = serde_json::json!({"type": "array", "items": text});
    let object = |properties: serde_json::Value| {
        let required: Vec<&String> =
            properties.as_object().map(|map| map.keys().collect()).unwrap_or_default();
        serde_json::json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false
        })
    };
    let kinds =
        ["decision", "spec", "lesson", "preference", "convention", "command", "env_quirk", "ownership"];
    let memory = object(serde_json::json!({
        "type": {"type": "string", "enum": kinds},
        "title": text, "body": text, "topicKey": {"type": ["string", "null"]}, "files": texts,
        "confidence": {"type": "number"}
    }));
    let summary =
        object(serde_json::json!({"request": text, "workDone": text, "outcome": text, "openItems": texts}));
    object(serde_json::json!({"summary": summary, "memories": {"type": "array", "items": memory}}))
}

/// The same with bounds, for those that write no word outside a shape: a small model would fill a list without end.
pub(crate) fn bounded_schema() -> serde_json::Value {
    let mut schema = schema();
    bound(&mut schema);
    schema
}

fn bound(schema: &mut serde_json::Value) {
    match schema["type"].as_str() {
        Some("object") => {
            for part in schema["properties"].as_object_mut().into_iter().flat_map(|parts| parts.values_mut())
            {
                bound(part);
            }
        }
        Some("array") => {
            schema["maxItems"] = serde_json::json!(MAX_MEMORIES);
            bound(&mut schema["items"]);
        }
        Some("string") if schema["enum"].is_null() => schema["maxLength"] = serde_json::json!(400),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompt_ends_as_the_document_says() {
        let with_spec =
            prompt(Subject { title: "Fix the pool", spec: Some("vitest only") }, "## User asked\nFix it");
        let tail =
            "\n\nProject task: Fix the pool\nSpec: vitest only\n\nRun to distill:\n## User asked\nFix it";
        assert!(with_spec.ends_with(tail), "{with_spec}");
        assert!(!prompt(Subject::default(), "x").contains("Spec:"));
    }

    #[test]
    fn every_object_of_the_schema_names_all_its_fields() {
        let schema = schema().to_string();
        assert!(schema.contains(r#""required":["memories","summary"]"#), "{schema}");
        assert!(
            schema.contains(r#""required":["body","confidence","files","title","topicKey","type"]"#),
            "{schema}"
        );
    }
}
