//! JSON of hostile size and shape into values of bounded size.
//!
//! A record of 16 MiB may hold an image, a whole file said three times, or ten million empty arrays. The reader here
//! builds an ordinary [`Value`] but passes over what no event needs, cuts long strings, and stops keeping anything
//! once a record's share is used up.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::limits::{NODES, STRING, STRINGS};
use crate::text::{Hits, head, name, shorten};

/// Members that are large and tell nothing: whole files, signatures, model instructions, histories said again.
const PASSED_OVER: [&str; 12] = [
    "originalFile",
    "structuredPatch",
    "signature",
    "thinking",
    "encrypted_content",
    "base_instructions",
    "dynamic_tools",
    "replacement_history",
    "trackedFileBackups",
    "rate_limits",
    "inlineData",
    "unified_diff",
];

/// A string named `data` that is longer than this is an image.
const DATA: usize = 512;

/// A member's name keeps this much.
const KEY: usize = 256;

/// Reads every object in `bytes`, which may hold several one after another, and hands each to `each`; values that
/// are no objects are passed over. Answers whether all of it was JSON. When it is not, what can be mended is, and the
/// reading goes on.
pub(crate) fn objects(bytes: &mut Vec<u8>, each: &mut dyn FnMut(Value)) -> bool {
    let mut done = 0;
    if parse(bytes, 0, &mut done, each) {
        return true;
    }
    let skip = done;
    done = 0;
    mend(bytes) && parse(bytes, skip, &mut done, each)
}

/// Hands on the objects after the first `skip`; `done` counts all of them.
fn parse(bytes: &[u8], skip: usize, done: &mut usize, each: &mut dyn FnMut(Value)) -> bool {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    while json.end().is_err() {
        let share = Share { nodes: Cell::new(NODES), text: Cell::new(STRINGS) };
        let seed = Seed { share: &share, string: STRING };
        let Ok(value) = seed.deserialize(&mut json) else { return false };
        *done += 1;
        if *done <= skip {
            continue;
        }
        if value.is_object() {
            each(value);
        }
    }
    true
}

/// Makes JSON out of what JavaScript writers, crashed disks and cut files leave: a lone surrogate becomes U+FFFD,
/// a raw control character a blank, a wrong byte U+FFFD (`?` in a text too long to copy). Answers whether anything
/// was changed.
fn mend(bytes: &mut Vec<u8>) -> bool {
    const COPIED: usize = 1 << 20;
    let mut changed = mend_escapes(bytes);
    if std::str::from_utf8(bytes).is_ok() {
        return changed;
    }
    if bytes.len() <= COPIED {
        *bytes = String::from_utf8_lossy(bytes).into_owned().into_bytes();
        return true;
    }
    let mut from = 0;
    while let Err(error) = std::str::from_utf8(&bytes[from..]) {
        let bad = from + error.valid_up_to();
        let end = error.error_len().map_or(bytes.len(), |len| bad + len);
        bytes[bad..end].fill(b'?');
        from = end;
        changed = true;
    }
    changed
}

/// The part of [`mend`] that is done in place: escapes of half a character, and raw control characters.
fn mend_escapes(bytes: &mut [u8]) -> bool {
    let mut changed = false;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => match surrogate(bytes, at) {
                Some(0xd800..=0xdbff) if matches!(surrogate(bytes, at + 6), Some(0xdc00..=0xdfff)) => {
                    at += 12
                }
                Some(0xd800..=0xdfff) => {
                    bytes[at + 2..at + 6].copy_from_slice(b"fffd");
                    changed = true;
                    at += 6;
                }
                _ => at += 2,
            },
            byte @ 0..0x20 => {
                changed |= !matches!(byte, b'\n' | b'\r' | b'\t');
                bytes[at] = b' ';
                at += 1;
            }
            _ => at += 1,
        }
    }
    changed
}

/// The number of an escape (`\u` and four hex digits) that begins at `at`.
fn surrogate(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// What a record may still keep.
struct Share {
    nodes: Cell<usize>,
    text: Cell<usize>,
}

#[derive(Clone, Copy)]
struct Seed<'s> {
    share: &'s Share,
    string: usize,
}

impl Seed<'_> {
    /// Takes one value from the share; false when it is used up.
    fn take(self) -> bool {
        let left = self.share.nodes.get();
        self.share.nodes.set(left.saturating_sub(1));
        left > 0
    }

    fn text(self, text: &str) -> Value {
        if text.len() > self.string && self.string == DATA || is_data_url(text) {
            return Value::String(String::new());
        }
        let left = self.share.text.get();
        let kept = shorten(text, self.string.min(left), &mut Hits::new());
        self.share.text.set(left.saturating_sub(kept.len()));
        Value::String(kept.into_owned())
    }
}

/// Whether a text is an image or another file written as an address.
fn is_data_url(text: &str) -> bool {
    text.len() > DATA && text.starts_with("data:") && head(text, 128).contains(";base64,")
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(self.text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        loop {
            if !self.take() {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                return Ok(Value::Array(items));
            }
            match seq.next_element_seed(Seed { string: STRING, ..self })? {
                Some(item) => items.push(item),
                None => return Ok(Value::Array(items)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(key) = map.next_key_seed(Key)? {
            if PASSED_OVER.contains(&key.as_str()) || !self.take() {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let string = if key == "data" { DATA } else { STRING };
            let value = map.next_value_seed(Seed { string, ..self })?;
            members.insert(key, value);
        }
        Ok(Value::Object(members))
    }
}

/// A member's name, cut.
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member's name")
    }

    fn visit_str<E>(self, value: &str) -> Result<String, E> {
        Ok(name(value, KEY).into_owned())
    }
}

/// The text of a member, empty when it is missing or no text.
pub(crate) fn string<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or("")
}

/// A member that is a count.
pub(crate) fn number(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or(0)
}

/// Whether a member is true.
pub(crate) fn flag(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// A member's items, none when it is missing or no array.
pub(crate) fn items<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The texts of a content that is a string or an array of blocks, joined by line ends.
pub(crate) fn texts(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks
                .iter()
                .filter_map(|block| block.as_str().or_else(|| block.get("text").and_then(Value::as_str)))
                .collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn all(text: &[u8]) -> (Vec<Value>, bool) {
        let mut found = Vec::new();
        let whole = objects(&mut text.to_vec(), &mut |value| found.push(value));
        (found, whole)
    }

    #[test]
    fn two_objects_on_one_line_are_two() {
        assert_eq!(all(br#"{"a":1}{"b":[2]}  "#), (vec![json!({"a": 1}), json!({"b": [2]})], true));
        assert_eq!(all(br#"{"a":1}{"b":"#), (vec![json!({"a": 1})], false));
        assert_eq!(all(b"[1] 42 null"), (vec![], true));
    }

    #[test]
    fn halves_of_characters_and_wrong_bytes_become_replacement_characters() {
        assert_eq!(all(br#"{"a":"\ud83d x"}"#).0, [json!({"a": "\u{fffd} x"})]);
        assert_eq!(all(br#"{"a":"\udc00\ud83d\ude00\\ud83d"}"#).0, [json!({"a": "\u{fffd}😀\\ud83d"})]);
        assert_eq!(all(b"{\"a\":\"\xff\"}").0, [json!({"a": "\u{fffd}"})]);
        assert_eq!(all(b"{\"a\":\"\x01b\"}").0, [json!({"a": " b"})]);
        assert_eq!(all(b"{\"n\":1}{\"a\":\"\xff\"}").0, [json!({"n": 1}), json!({"a": "\u{fffd}"})]);
    }

    #[test]
    fn images_and_whole_files_are_dropped() {
        let image = "A".repeat(600);
        let line = format!(
            r#"{{"source":{{"data":"{image}"}},"url":"data:image/png;base64,{image}","originalFile":"{image}"}}"#
        );
        assert_eq!(all(line.as_bytes()).0, [json!({"source": {"data": ""}, "url": ""})]);
    }

    #[test]
    fn deep_nesting_is_an_error_of_its_line() {
        let deep = format!("{{\"a\":{}", "[".repeat(100_000));
        assert_eq!(all(deep.as_bytes()), (vec![], false));
    }

    #[test]
    fn a_record_keeps_its_share_only() {
        let many = format!("{{\"a\":[{}1]}}", "[],".repeat(2 * NODES));
        let found = all(many.as_bytes()).0;
        assert!(found[0]["a"].as_array().unwrap().len() <= NODES);
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(3 * STRING));
        assert!(all(long.as_bytes()).0[0]["a"].as_str().unwrap().len() < STRING + 64);
    }
}
