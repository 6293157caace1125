//! One JSON file of the original office program: as much of it as can be read, without secrets.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use doze_core::{redact, text};
use serde_json::Value;

use crate::files::open_regular;

/// The largest file that is read, and the most values in it: as a value an empty object takes a hundred times its room.
const MAX_FILE_BYTES: u64 = 32 << 20;
const MAX_VALUES: usize = 500_000;
/// Brackets within brackets of a file that is read at all.
const MAX_DEPTH: usize = 100;

/// A file's value, and what is to be told of it.
#[derive(Debug)]
pub(super) struct Read {
    /// What could be read; `None` when nothing could.
    pub(super) value: Option<Value>,
    /// What was wrong with it.
    pub(super) problems: Vec<String>,
}

/// Reads a file. Of one that breaks off, or goes on as no JSON, everything before that is read.
pub(super) fn read(path: &Path, redacted: &mut BTreeMap<String, u64>) -> Read {
    let failed = |problem: String| Read { value: None, problems: vec![problem] };
    let mut bytes = Vec::new();
    let opened = open_regular(path).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes));
    if let Err(error) = opened {
        return failed(format!("it cannot be read ({error})"));
    }
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return failed(too_large());
    }
    if has_more_values_than(MAX_VALUES, &bytes) {
        return failed(too_large());
    }
    let given = String::from_utf8_lossy(&bytes);
    let mut problems = Vec::new();
    if matches!(given, std::borrow::Cow::Owned(_)) {
        let damage = bytes.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count();
        problems.push(format!(
            "it is not UTF-8 at {}; each is read as {}",
            doze_core::text::count(damage as u64, "place"),
            char::REPLACEMENT_CHARACTER
        ));
    }
    let given = given.trim_start_matches('\u{feff}').trim();
    if given.is_empty() {
        return failed("it is empty".to_owned());
    }
    let (value, problem) = match serde_json::from_str(given) {
        Ok(value) => (Some(value), None),
        Err(error) => {
            let (line, column) = (error.line(), error.column());
            let end = offset(given, line, column);
            (
                salvaged(&given[..end]),
                Some(format!("it is damaged at line {line}, and read up to there as far as possible")),
            )
        }
    };
    problems.extend(problem);
    Read { value: value.map(|value| cleaned(value, redacted)), problems }
}

fn too_large() -> String {
    format!("it is larger than {} MiB or holds more than {MAX_VALUES} values", MAX_FILE_BYTES >> 20)
}

/// Whether a text holds more values than that, whatever it is worth as JSON: each begins the text, a list or an object,
/// or stands behind a comma.
fn has_more_values_than(most: usize, text: &[u8]) -> bool {
    let (mut values, mut is_text, mut is_escaped) = (1, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'{' | b'[' | b',' if !is_text => values += 1,
            _ => {}
        }
        if values > most {
            return true;
        }
    }
    false
}

/// The byte at which the reader gave up; it counts columns in bytes.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    text.floor_char_boundary((before + column).min(text.len()))
}

/// The longest beginning that ends behind a whole object, with the brackets closed that are open there.
fn salvaged(text: &str) -> Option<Value> {
    let (mut open, mut best) = (Vec::new(), None);
    let (mut is_text, mut is_escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'{' | b'[' if open.len() == MAX_DEPTH => return None,
            b'{' => open.push(b'}'),
            b'[' => open.push(b']'),
            b'}' | b']' => {
                if open.pop() != Some(byte) {
                    break;
                }
                if byte == b'}' {
                    best = Some((at + 1, open.clone()));
                }
            }
            _ => {}
        }
    }
    let (end, open) = best?;
    let mut whole = text.as_bytes()[..end].to_vec();
    whole.extend(open.iter().rev());
    serde_json::from_slice(&whole).ok()
}

/// The value without control characters and secrets, in names of fields too.
fn cleaned(value: Value, redacted: &mut BTreeMap<String, u64>) -> Value {
    match value {
        Value::String(text) => Value::String(clean(&text, redacted)),
        Value::Array(list) => list.into_iter().map(|value| cleaned(value, redacted)).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (clean(&name, redacted), cleaned(value, redacted)))
            .collect(),
        other => other,
    }
}

fn clean(given: &str, redacted: &mut BTreeMap<String, u64>) -> String {
    let clean = text::clean(given);
    let redaction = redact::redact(&clean);
    for (rule, count) in &redaction.hits {
        *redacted.entry((*rule).to_owned()).or_default() += count;
    }
    redaction.text.into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read_text(given: &[u8]) -> Read {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), given).unwrap();
        read(file.path(), &mut BTreeMap::new())
    }

    #[test]
    fn what_stands_before_the_damage_is_read() {
        let table: [(&str, Option<Value>); 7] = [
            (r#"{"facts":[{"a":1},{"b":"}"},{"c":"#, Some(json!({"facts": [{"a": 1}, {"b": "}"}]}))),
            (r#"{"latest":{"what":"x"},"histo"#, Some(json!({"latest": {"what": "x"}}))),
            (r#"{"facts":[{"a":1}], oops, "b":{}}"#, Some(json!({"facts": [{"a": 1}]}))),
            (r#"{"a":{"b":[{"c":2}]}}}}"#, Some(json!({"a": {"b": [{"c": 2}]}}))),
            (r#"{"agentId":"a"#, None),
            ("not json", None),
            ("]", None),
        ];
        for (given, expected) in table {
            let read = read_text(given.as_bytes());
            assert_eq!(read.value, expected, "{given}");
            assert_eq!(read.problems.len(), 1, "{given}");
        }
        assert_eq!(read_text(b"\xef\xbb\xbf{\"a\":1}").value, Some(json!({"a": 1})));
        assert_eq!(read_text(b"").problems, ["it is empty"]);
        let read = read_text(b"{\"a\":\"caf\xe9 \xff\xfe\"}");
        assert!(read.value.is_some() && read.problems[0].contains("not UTF-8 at 3 places"), "{read:?}");
        assert_eq!(read_text(b"null").value, Some(Value::Null));
    }

    #[test]
    fn a_file_of_too_many_values_is_not_read() {
        for (values, is_read) in [(MAX_VALUES / 2 - 10, true), (MAX_VALUES / 2 + 10, false)] {
            // Each brings itself and the comma before it.
            let text = format!("{{\"facts\":[{}{{}}]}}", "{},".repeat(values));
            let read = read_text(text.as_bytes());
            assert_eq!(read.value.is_some(), is_read, "{values}");
            if !is_read {
                assert_eq!(read.problems, ["it is larger than 32 MiB or holds more than 500000 values"]);
            }
        }
        let texts = format!("[\"{}\\\",{{\"]", ",{[".repeat(MAX_VALUES));
        assert!(read_text(texts.as_bytes()).value.is_some(), "what stands in a text is one value");
    }

    proptest! {
        #[test]
        fn no_cut_anywhere_makes_a_panic_or_a_record_out_of_nothing(cut in 0usize..120) {
            let whole = r#"{"agentId":"ä","facts":[{"fact":"one \" }"},{"fact":"zwei – drei"}],"x":[[{"y":[1]}]]}"#;
            let end = whole.floor_char_boundary(cut.min(whole.len()));
            if let Some(value) = read_text(whole[..end].trim().as_bytes()).value {
                let facts = value["facts"].as_array().cloned().unwrap_or_default();
                let is_one = |fact: &Value| matches!(fact["fact"].as_str(), Some("one \" }" | "zwei – drei"));
                prop_assert!(facts.iter().all(is_one));
            }
        }
    }
}
