//! What an agent tells its hook: only the fields that doze uses, in whatever type they come.
//!
//! Agents add fields and change types between releases, so a field of an unexpected type is absent, never an error,
//! and lone surrogates or broken UTF-8 become U+FFFD.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The fields of the three agents' payloads that doze uses. All are optional.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Payload {
    pub(crate) session_id: Text,
    pub(crate) transcript_path: Text,
    pub(crate) cwd: Text,
    pub(crate) hook_event_name: Text,
    pub(crate) agent_id: Text,
    pub(crate) agent_type: Text,
    pub(crate) agent_transcript_path: Text,
    /// Why a session starts, or who sent a prompt.
    pub(crate) source: Text,
    /// What the agent may do without asking.
    pub(crate) permission_mode: Text,
    pub(crate) prompt: Text,
    pub(crate) last_assistant_message: Text,
    /// Gemini's name for `last_assistant_message`.
    pub(crate) prompt_response: Text,
    pub(crate) tool_name: Text,
    pub(crate) tool_input: ToolInput,
}

/// The input of a tool call, as far as it names files or a command.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ToolInput {
    pub(crate) path: Text,
    pub(crate) command: Text,
}

/// A text, or nothing when it was absent, empty or no text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Text(Option<String>);

impl Text {
    pub(crate) fn get(&self) -> Option<&str> {
        self.0.as_deref().filter(|text| !text.is_empty())
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(Some(text.to_owned()))
    }
}

impl Payload {
    /// Reads a payload; nothing when it is no JSON object.
    pub(crate) fn parse(document: &[u8]) -> Option<Self> {
        let document = document.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(document);
        if document.trim_ascii_start().first() != Some(&b'{') {
            return None;
        }
        serde_json::from_slice(document).ok().or_else(|| {
            let text = String::from_utf8_lossy(document);
            serde_json::from_str(&without_lone_surrogates(&text)).ok()
        })
    }
}

/// Replaces each `\uD8xx` escape that has no partner by `\uFFFD`; JSON readers refuse it, agents write it.
fn without_lone_surrogates(json: &str) -> Cow<'_, str> {
    let unit = |at: usize| -> Option<u16> {
        let escape = json.get(at..at + 6)?;
        u16::from_str_radix(escape.strip_prefix("\\u")?, 16).ok()
    };
    let mut repaired = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = json.get(at..).and_then(|rest| rest.find('\\')) {
        at += found;
        match unit(at) {
            Some(0xD800..=0xDBFF) if matches!(unit(at + 6), Some(0xDC00..=0xDFFF)) => at += 12,
            Some(0xD800..=0xDFFF) => {
                repaired.push_str(json.get(copied..at).unwrap_or_default());
                repaired.push_str("\\uFFFD");
                at += 6;
                copied = at;
            }
            // An escaped backslash is two bytes; any other escape starts with two bytes as well.
            _ => at = (at + 2).min(json.len()),
        }
        while !json.is_char_boundary(at) {
            at += 1;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    repaired.push_str(json.get(copied..).unwrap_or_default());
    Cow::Owned(repaired)
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text")
    }

    fn visit_str<E>(self, text: &str) -> Result<Text, E> {
        Ok(Text(Some(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<Text, E> {
        Ok(Text(Some(text)))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Text, E> {
        Ok(Text(Some(number.to_string())))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Text, E> {
        Ok(Text(Some(number.to_string())))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_unit<E>(self) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Text, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Text(None))
    }

    /// A list of words, as a command line sometimes is, becomes one text.
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Text, A::Error> {
        let mut words = Vec::new();
        while let Some(word) = list.next_element::<Text>()? {
            words.extend(word.0);
        }
        Ok(Text(Some(words.join(" "))))
    }
}

impl<'de> Deserialize<'de> for ToolInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ToolInputVisitor)
    }
}

struct ToolInputVisitor;

impl<'de> Visitor<'de> for ToolInputVisitor {
    type Value = ToolInput;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the input of a tool")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ToolInput, A::Error> {
        let mut input = ToolInput::default();
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "file_path" | "notebook_path" | "filePath" | "path" => input.path = map.next_value()?,
                "command" | "cmd" | "input" | "patch" => input.command = map.next_value()?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(input)
    }

    fn visit_str<E>(self, text: &str) -> Result<ToolInput, E> {
        Ok(ToolInput { command: text.into(), ..ToolInput::default() })
    }

    fn visit_u64<E>(self, _: u64) -> Result<ToolInput, E> {
        Ok(ToolInput::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<ToolInput, E> {
        Ok(ToolInput::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<ToolInput, E> {
        Ok(ToolInput::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<ToolInput, E> {
        Ok(ToolInput::default())
    }

    fn visit_unit<E>(self) -> Result<ToolInput, E> {
        Ok(ToolInput::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ToolInput, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(ToolInput::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_fields_are_read_and_unknown_ones_passed_over() {
        let payload = Payload::parse(
            br#"{"session_id":"s","cwd":"/p","foo":{"bar":[1,{"x":null}]},"tool_name":"Edit",
                 "tool_input":{"file_path":"/p/a.rs","old_string":"a","nested":{"file_path":"no"}}}"#,
        )
        .unwrap();
        assert_eq!(payload.session_id.get(), Some("s"));
        assert_eq!(payload.cwd.get(), Some("/p"));
        assert_eq!(payload.tool_input.path.get(), Some("/p/a.rs"));
        assert_eq!(payload.tool_input.command.get(), None);
    }

    #[test]
    fn a_field_of_another_type_is_absent_or_its_text() {
        let payload = Payload::parse(
            br#"{"session_id":12,"cwd":null,"prompt":{"a":[1]},"source":true,"tool_name":1.5,
                 "agent_id":-3,"tool_input":[1,2],"last_assistant_message":["a","b"]}"#,
        )
        .unwrap();
        assert_eq!(payload.session_id.get(), Some("12"));
        assert_eq!(payload.agent_id.get(), Some("-3"));
        assert_eq!(payload.last_assistant_message.get(), Some("a b"));
        for absent in [&payload.cwd, &payload.prompt, &payload.source, &payload.tool_name] {
            assert_eq!(absent.get(), None);
        }
        for odd in ["null", "1", "-1", "1.5", "true", "\"x\""] {
            assert!(Payload::parse(format!(r#"{{"tool_input":{odd}}}"#).as_bytes()).is_some(), "{odd}");
        }
    }

    #[test]
    fn broken_text_is_repaired_rather_than_refused() {
        let cases: [(&[u8], &str); 6] = [
            (br#"{"prompt":"a \ud83d b"}"#, "a \u{fffd} b"),
            (br#"{"prompt":"a \udc1b"}"#, "a \u{fffd}"),
            (br#"{"prompt":"\ud83d\ud83d\udc1b"}"#, "\u{fffd}🐛"),
            (br#"{"prompt":"\\ud83d \ud83d"}"#, "\\ud83d \u{fffd}"),
            (b"{\"prompt\":\"a\xFFb\"}", "a\u{fffd}b"),
            ("\u{feff}{\"prompt\":\"修复 🐛\"}".as_bytes(), "修复 🐛"),
        ];
        for (document, wanted) in cases {
            assert_eq!(Payload::parse(document).unwrap().prompt.get(), Some(wanted));
        }
    }

    #[test]
    fn what_is_no_object_is_nothing() {
        for document in [&b"[]"[..], b"{", b"", b"{\"a\":\\ud83d}", b"{\"a\\"] {
            assert!(Payload::parse(document).is_none());
        }
    }

    #[test]
    fn a_deeply_nested_unknown_field_overflows_nothing() {
        let deep = format!(r#"{{"foo":{}{},"cwd":"/p"}}"#, "[".repeat(200_000), "]".repeat(200_000));
        assert_eq!(Payload::parse(deep.as_bytes()).unwrap().cwd.get(), Some("/p"));
    }
}
