//! Values of any type as the fields of a reply.

use doze_core::model::Kind;
use doze_core::redact::redact;
use doze_core::text;
use serde_json::{Map, Value};

use super::{
    BODY_CHARS, DEFAULT_CONFIDENCE, Finding, MAX_FILES, MAX_MEMORIES, MAX_OPEN_ITEMS, Reply, RunSummary,
    SUMMARY_CHARS, TITLE_CHARS, TOPIC_CHARS, scan,
};

/// Fields in which programs put what a model said.
const WRAPPINGS: &[&str] = &["result", "response", "content", "text", "output", "answer"];

/// Characters of a file's path.
const PATH_CHARS: usize = 400;

/// What a JSON value turned out to be.
pub(super) enum Shape {
    /// A reply, or a list that stands for one.
    Whole(Reply),
    /// One memory that lost its reply.
    Single(Finding),
}

/// `None` for JSON that has nothing to do with a reply.
pub(super) fn shape(value: &Value) -> Option<Shape> {
    match value {
        Value::Array(items) => list(items).map(Shape::Whole).or_else(|| wrapped(items.iter())),
        Value::Object(object) => {
            let memories = field(object, &["memories", "memory", "facts"]);
            let summary = field(object, &["summary", "session_summary"]).and_then(summary);
            if memories.is_some() || summary.is_some() {
                let memories = memories.map(findings).unwrap_or_default();
                return Some(Shape::Whole(Reply { summary, memories, cut_off: false }));
            }
            if let Some(finding) = finding(object) {
                return Some(Shape::Single(finding));
            }
            // Some wrap the reply once more, as {"result": {…}} or as {"result": "{…}"}.
            wrapped(object.values()).or_else(|| {
                WRAPPINGS.iter().find_map(|name| shape(&scan::whole(object.get(*name)?.as_str()?)?))
            })
        }
        _ => None,
    }
}

/// The reply among these.
fn wrapped<'a>(mut values: impl Iterator<Item = &'a Value>) -> Option<Shape> {
    values.find(|inner| inner.get("memories").is_some()).and_then(shape)
}

/// A bare list counts as the memories; one of anything else, or of nothing, is no reply: prose has such lists too.
fn list(items: &[Value]) -> Option<Reply> {
    let memories: Vec<Finding> =
        items.iter().take(MAX_MEMORIES).filter_map(Value::as_object).filter_map(finding).collect();
    (!memories.is_empty()).then_some(Reply { summary: None, memories, cut_off: false })
}

fn findings(value: &Value) -> Vec<Finding> {
    match value {
        Value::Array(items) => {
            items.iter().take(MAX_MEMORIES).filter_map(Value::as_object).filter_map(finding).collect()
        }
        Value::Object(object) => finding(object).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// One without a title or a body is none.
fn finding(object: &Map<String, Value>) -> Option<Finding> {
    let title = words(field(object, &["title", "name"])?, TITLE_CHARS)?;
    let body = words(field(object, &["body", "content", "description", "details"])?, BODY_CHARS)?;
    let kind = field(object, &["type", "kind", "category"]).and_then(Value::as_str).and_then(kind);
    Some(Finding {
        kind: kind.unwrap_or(Kind::Lesson),
        title: text::one_line(&title),
        body,
        topic_key: field(object, &["topicKey", "topic_key", "topic"])
            .and_then(|value| words(value, TOPIC_CHARS))
            .filter(|key| !key.eq_ignore_ascii_case("null") && !key.eq_ignore_ascii_case("none")),
        files: field(object, &["files", "file", "paths"]).map(files).unwrap_or_default(),
        confidence: field(object, &["confidence"])
            .and_then(number)
            .map_or(DEFAULT_CONFIDENCE, |number| number.clamp(0.1, 1.0)),
    })
}

fn summary(value: &Value) -> Option<RunSummary> {
    let said = |text: Option<&Value>| text.and_then(|value| words(value, SUMMARY_CHARS)).unwrap_or_default();
    let summary = match value {
        // A summary in one sentence says what was done.
        Value::String(_) => RunSummary {
            request: String::new(),
            work_done: said(Some(value)),
            outcome: "unknown".to_owned(),
            open_items: Vec::new(),
        },
        Value::Object(object) => RunSummary {
            request: said(field(object, &["request"])),
            work_done: said(field(object, &["workDone", "work_done"])),
            outcome: field(object, &["outcome"])
                .and_then(|value| words(value, SUMMARY_CHARS))
                .unwrap_or_else(|| "unknown".to_owned()),
            open_items: field(object, &["openItems", "open_items"]).map(items).unwrap_or_default(),
        },
        _ => return None,
    };
    let is_empty =
        summary.request.is_empty() && summary.work_done.is_empty() && summary.open_items.is_empty();
    (!is_empty || value.as_object().is_some_and(|object| !object.is_empty())).then_some(summary)
}

/// The first of these keys that has a value, however it is written: `topicKey`, `topic_key`, `Topic-Key`.
fn field<'a>(object: &'a Map<String, Value>, names: &[&str]) -> Option<&'a Value> {
    let plain = |key: &str| -> String {
        key.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
    };
    names
        .iter()
        .find_map(|name| {
            object.get(*name).or_else(|| {
                let name = plain(name);
                object.iter().find(|(key, _)| plain(key) == name).map(|(_, value)| value)
            })
        })
        .filter(|value| !value.is_null())
}

/// Text of any value that is one thing, cleaned and cut; `None` when nothing is left.
fn words(value: &Value, max_chars: usize) -> Option<String> {
    let said = match value {
        Value::String(said) => said.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n"),
        _ => return None,
    };
    let kept = safe(&said, max_chars);
    (!kept.is_empty()).then_some(kept)
}

/// Cleaned, without secrets, and only then cut: half a secret is recognised by nobody.
fn safe(said: &str, max_chars: usize) -> String {
    let cleaned = text::clean(said.trim());
    text::cut(redact(&cleaned).text.trim(), max_chars).trim_end().to_owned()
}

fn items(value: &Value) -> Vec<String> {
    let said: Vec<String> = match value {
        Value::Array(items) => items.iter().filter_map(|item| words(item, SUMMARY_CHARS)).collect(),
        Value::String(said) => {
            let whole = redact(said).text;
            whole.lines().map(|line| safe(text::bare_line(line), SUMMARY_CHARS)).collect()
        }
        _ => Vec::new(),
    };
    said.into_iter().filter(|item| !item.is_empty()).take(MAX_OPEN_ITEMS).collect()
}

fn files(value: &Value) -> Vec<String> {
    let named: Vec<&str> = match value {
        Value::Array(items) => items
            .iter()
            .filter_map(|item| item.as_str().or_else(|| item.get("path").and_then(Value::as_str)))
            .collect(),
        Value::String(named) => named.split([',', '\n']).collect(),
        _ => Vec::new(),
    };
    named
        .into_iter()
        .map(|path| safe(&text::one_line(path), PATH_CHARS))
        .filter(|path| !path.is_empty())
        .take(MAX_FILES)
        .collect()
}

fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(said) => said.trim().parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite())
}

/// A kind of the eight that S1.1 knows, however it is written.
fn kind(said: &str) -> Option<Kind> {
    let said = said.trim().to_ascii_lowercase().replace(['-', ' '], "_");
    Some(match said.as_str() {
        "decision" => Kind::Decision,
        "spec" => Kind::Spec,
        "lesson" => Kind::Lesson,
        "preference" => Kind::Preference,
        "convention" => Kind::Convention,
        "command" => Kind::Command,
        "env_quirk" => Kind::EnvQuirk,
        "ownership" => Kind::Ownership,
        _ => return None,
    })
}
