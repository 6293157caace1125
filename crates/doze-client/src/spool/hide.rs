//! Redaction of a whole request.

use doze_core::redact::redact;
use serde_json::{Map, Value};

/// Fields at the top whose exact value is a name that the daemon looks up.
const NAMES: [&str; 2] = ["commit_id", "session"];

/// The request without secrets, wherever in it they stand: in values, in keys, and in values that only their key
/// gives away (`{"password": "…"}`).
pub(super) fn secrets(params: Value) -> Value {
    let Value::Object(fields) = params else { return hide(params) };
    let hidden = fields
        .into_iter()
        .map(|(name, value)| if is_plain_name(&name, &value) { (name, value) } else { entry(name, value) });
    Value::Object(hidden.collect())
}

/// A name goes as it is, so that the same commit stays the same, unless somebody put a secret into it.
fn is_plain_name(name: &str, value: &Value) -> bool {
    NAMES.contains(&name) && value.as_str().is_none_or(|text| redact(text).hits.is_empty())
}

fn hide(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(redact(&text).text.into()),
        Value::Array(items) => Value::Array(items.into_iter().map(hide).collect()),
        Value::Object(fields) => {
            Value::Object(fields.into_iter().map(|(k, v)| entry(k, v)).collect::<Map<_, _>>())
        }
        other => other,
    }
}

fn entry(name: String, value: Value) -> (String, Value) {
    let value = match value {
        Value::String(text) => {
            let text: String = redact(&text).text.into();
            Value::String(by_key(&name, &text).unwrap_or(text))
        }
        other => hide(other),
    };
    (redact(&name).text.into(), value)
}

/// What is left of `text` when it is read as an assignment to `name`; `None` when that hides nothing in it.
fn by_key(name: &str, text: &str) -> Option<String> {
    // Long texts are prose or files; the secret behind a key is short. This also keeps the copy cheap.
    if text.len() > 4_096 || text.contains(['\n', '"']) {
        return None;
    }
    let assignment = format!("\"{name}\": \"{text}\"");
    let redacted = redact(&assignment);
    if redacted.hits.is_empty() {
        return None;
    }
    let hidden = redacted.text.strip_prefix(&format!("\"{name}\": "))?;
    Some(hidden.trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // Put together at run time, so that no scanner takes this file for a leak.
    fn key() -> String {
        ["AKIA", "QWERTYUIOPASDFGH"].concat()
    }

    #[test]
    fn a_secret_is_found_wherever_it_stands() {
        let password = "hunter2horse!Battery9";
        let params = json!({
            "summary": format!("used {} to deploy", key()),
            "events": [{"type": "tool", "tool": {"name": "Write", "input": {
                "password": password,
                "lines": [format!("key = {}", key())],
                format!("k {}", key()): 1,
            }}}],
        });
        let text = secrets(params).to_string();
        assert!(!text.contains(&key()) && !text.contains(password), "{text}");
        assert!(text.matches("[redacted:").count() >= 4, "{text}");
    }

    #[test]
    fn what_is_no_secret_stays_byte_for_byte() {
        let params = json!({
            "session": "s-1", "commit_id": "c-1", "cwd": "/home/dev/app", "agent": {"id": "a", "harness": "codex"},
            "events": [{"type": "prompt", "text": "Use pnpm, \"not\" npm\nü 😀", "id": "0190-aa", "n": [1, null, true]}],
        });
        assert_eq!(secrets(params.clone()), params);
    }
}
