//! Shapes that several methods share.

use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

/// An agent, given as its id or as `{id, name, harness}`, always answered as the latter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Agent {
    /// The id its facts are keyed by.
    pub id: String,
    /// The name people see; empty when none was given.
    pub name: String,
    /// The program that runs it; empty when unknown.
    pub harness: String,
}

impl Agent {
    /// An agent of whom only the id is known.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }
}

impl<'de> Deserialize<'de> for Agent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Fields {
            id: String,
            name: Option<String>,
            harness: Option<String>,
        }

        struct AgentVisitor;

        impl<'de> Visitor<'de> for AgentVisitor {
            type Value = Agent;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an agent's id or {id, name, harness}")
            }

            fn visit_str<E: de::Error>(self, id: &str) -> Result<Agent, E> {
                Ok(Agent::new(id))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Agent, A::Error> {
                let Fields { id, name, harness } =
                    Fields::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(Agent { id, name: name.unwrap_or_default(), harness: harness.unwrap_or_default() })
            }
        }

        deserializer.deserialize_any(AgentVisitor)
    }
}

/// A page of a list; `next` is the `cursor` of the following page, null on the last one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct List<T> {
    /// The items of this page.
    pub items: Vec<T>,
    /// Where the next page begins.
    #[serde(default)]
    pub next: Option<String>,
}

/// A list of texts that may also be given as one string.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Lines(pub Vec<String>);

impl<'de> Deserialize<'de> for Lines {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LinesVisitor;

        impl<'de> Visitor<'de> for LinesVisitor {
            type Value = Lines;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string or a list of strings")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Lines, E> {
                Ok(Lines(vec![text.to_owned()]))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<Lines, A::Error> {
                Vec::deserialize(de::value::SeqAccessDeserializer::new(seq)).map(Lines)
            }
        }

        deserializer.deserialize_any(LinesVisitor)
    }
}

/// For counts that are told only when there is something to tell.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A string; null reads as empty. For texts inside lists, where a null is not "not given".
pub(crate) fn text_or_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Option::<String>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// The whole path of a folder: what is relative, or empty, would mean another folder to each caller.
pub(crate) fn folder<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let path = String::deserialize(deserializer)?;
    if path.starts_with('/') {
        return Ok(path);
    }
    Err(de::Error::custom("expected the whole path of a folder, as in /home/dev/app"))
}

/// [`folder`], if one is given.
pub(crate) fn folder_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    struct Folder(#[serde(deserialize_with = "folder")] String);

    Ok(Option::<Folder>::deserialize(deserializer)?.map(|folder| folder.0))
}

/// A string as it is, null as empty, any other JSON as its compact text: tools answer in all of these.
pub(crate) fn text_or_json<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Json::deserialize(deserializer)?.into_text().map_err(de::Error::custom)
}

/// Any JSON, as its text: as a value it may take a hundred times the room.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(Box<RawValue>);

impl Json {
    /// A text that is JSON as that, any other one as a string.
    pub fn of(text: &str) -> Self {
        let string = || serde_json::value::to_raw_value(text);
        match serde_json::from_str::<&RawValue>(text) {
            Ok(json) => Self(json.to_owned()),
            Err(_) => string().map(Self).unwrap_or_default(),
        }
    }

    /// A string as it is, null as empty, any other JSON as its compact text.
    pub fn into_text(self) -> Result<String, serde_json::Error> {
        match self.0.get() {
            "null" => Ok(String::new()),
            text if text.starts_with('"') => serde_json::from_str(text),
            other => Ok(compact(other)),
        }
    }
}

impl Default for Json {
    fn default() -> Self {
        Self(RawValue::NULL.to_owned())
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        compact(self.0.get()) == compact(other.0.get())
    }
}

/// JSON without the spaces between its parts.
fn compact(json: &str) -> String {
    let (mut in_text, mut is_escaped) = (false, false);
    let is_kept = |c: &char| {
        let is_kept = in_text || !c.is_ascii_whitespace();
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = in_text,
            '"' => in_text = !in_text,
            _ => {}
        }
        is_kept
    };
    json.chars().filter(is_kept).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn an_agent_is_an_id_or_an_object() {
        assert_eq!(from_value::<Agent>(json!("codex")).unwrap(), Agent::new("codex"));
        let full: Agent = from_value(json!({"id": "a", "name": "A 1", "harness": null, "x": 1})).unwrap();
        assert_eq!(to_value(full).unwrap(), json!({"id": "a", "name": "A 1", "harness": ""}));
        assert!(from_value::<Agent>(json!(["a"])).is_err());
    }

    #[test]
    fn one_line_may_stand_for_a_list() {
        assert_eq!(from_value::<Lines>(json!("a")).unwrap(), Lines(vec!["a".into()]));
        assert_eq!(from_value::<Lines>(json!(["a", "b"])).unwrap().0.len(), 2);
        assert!(from_value::<Lines>(json!([1])).is_err());
    }

    #[test]
    fn any_json_is_kept_as_its_text() {
        for (given, text) in [
            ("null", ""),
            (r#""a \"b\" \u00fc""#, "a \"b\" ü"),
            ("{ \"b\" : [ 1 , 2.50 ],\n\"a\": \" x \\\" y \" }", "{\"b\":[1,2.50],\"a\":\" x \\\" y \"}"),
            ("12345678901234567890123", "12345678901234567890123"),
            (" true ", "true"),
        ] {
            let read: Json = serde_json::from_str(given).unwrap();
            assert_eq!(read.into_text().unwrap(), text, "{given}");
        }
        assert_eq!(to_value(Json::of("{\"a\": 1}")).unwrap(), json!({"a": 1}));
        assert_eq!(to_value(Json::of("ls -la")).unwrap(), json!("ls -la"));
        assert_eq!(from_value::<Json>(json!({"a": [1]})).unwrap(), Json::of("{ \"a\": [1] }"));
    }

    #[test]
    fn a_list_always_says_whether_there_is_more() {
        let list = List { items: vec![1], next: None };
        assert_eq!(to_value(list).unwrap(), json!({"items": [1], "next": null}));
    }
}
