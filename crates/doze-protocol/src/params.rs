//! Reading parameters so that an error names the field.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::{ErrorKind, WireError, error::clip};

/// Parameters as they stand on a line. Whoever knows their type reads them, and what that type does not name is passed
/// over: as values, a line of small objects would take a hundred times its size.
#[derive(Debug, Clone)]
pub struct Params(Box<RawValue>);

impl Params {
    pub(crate) fn new(given: Box<RawValue>) -> Self {
        Self(given)
    }

    /// Whether they are an object, or null, which stands for an empty one.
    pub(crate) fn is_object(&self) -> bool {
        matches!(self.0.get().as_bytes().first(), Some(b'{' | b'n'))
    }
}

impl Default for Params {
    fn default() -> Self {
        Self(RawValue::NULL.to_owned())
    }
}

impl PartialEq for Params {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

impl From<Value> for Params {
    fn from(params: Value) -> Self {
        to_raw_value(&params).map(Self).unwrap_or_default()
    }
}

/// Reads a method's parameters. A null at the top level counts as not given, unknown fields are ignored, and a wrong
/// type or a missing field is `invalid` with the path of the field in the message (`events[3].text: …`).
pub fn parse_params<T: DeserializeOwned>(params: impl Into<Params>) -> Result<T, WireError> {
    let params = params.into();
    if !params.is_object() {
        return Err(WireError::invalid("params", "expected an object"));
    }
    let text = if params == Params::default() { "{}" } else { params.0.get() };
    serde_path_to_error::deserialize(Given(serde_json::Deserializer::from_str(text))).map_err(|error| {
        let path = error.path().to_string();
        let reason = error.inner().to_string();
        let reason = clip(without_place(&reason), 200);
        // A missing field is named by the reason itself; its path is that of the object round it.
        let message = if path == "." { reason } else { format!("{}: {reason}", clip(&path, 120)) };
        WireError::new(ErrorKind::Invalid, message)
    })
}

/// The text of an error without the place in the line, which tells a caller nothing beside the path.
fn without_place(reason: &str) -> &str {
    let place = reason.rfind(" at line ").filter(|at| {
        let words: Vec<&str> = reason[*at..].split_whitespace().collect();
        matches!(words.as_slice(), ["at", "line", line, "column", column]
            if line.parse::<usize>().is_ok() && column.parse::<usize>().is_ok())
    });
    place.map_or(reason, |at| &reason[..at])
}

/// An object without those of its fields that are null.
struct Given<'t>(serde_json::Deserializer<serde_json::de::StrRead<'t>>);

impl<'de> Deserializer<'de> for Given<'de> {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Self::Error> {
        self.0.deserialize_map(Fields(visitor))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct Fields<V>(V);

impl<'t, V: Visitor<'t>> Visitor<'t> for Fields<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_map<M: MapAccess<'t>>(self, map: M) -> Result<V::Value, M::Error> {
        self.0.visit_map(GivenFields { map, value: None })
    }
}

struct GivenFields<'t, M> {
    map: M,
    /// The value that belongs to the key which was told last.
    value: Option<&'t RawValue>,
}

impl<'t, M: MapAccess<'t>> MapAccess<'t> for GivenFields<'t, M> {
    type Error = M::Error;

    fn next_key_seed<K: DeserializeSeed<'t>>(&mut self, seed: K) -> Result<Option<K::Value>, M::Error> {
        while let Some(key) = self.map.next_key::<Cow<'t, str>>()? {
            let value: &RawValue = self.map.next_value()?;
            if value.get() != "null" {
                self.value = Some(value);
                return seed.deserialize(key.into_deserializer()).map(Some);
            }
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'t>>(&mut self, seed: S) -> Result<S::Value, M::Error> {
        let value = self.value.take().map_or("null", RawValue::get);
        seed.deserialize(&mut serde_json::Deserializer::from_str(value)).map_err(M::Error::custom)
    }
}

/// Reads a word, a time or a number that travels as a string; the error names `field` and what it held.
pub fn parse_field<T: FromStr<Err: std::fmt::Display>>(field: &str, text: &str) -> Result<T, WireError> {
    text.parse().map_err(|error| WireError::invalid(field, clip(&format!("{error}"), 300)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::session::CommitParams;
    use crate::{dream, memory, recall, session, system, work};

    fn message(params: Value) -> String {
        let error = parse_params::<CommitParams>(params).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Invalid);
        error.message
    }

    #[test]
    fn a_wrong_type_names_its_field() {
        let base = |extra: Value| {
            let mut params = json!({"session": "s", "agent": "a", "cwd": "/x"});
            params.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            params
        };
        let cases = [
            (json!({"summary": 5}), "summary: invalid type: integer `5`, expected a string"),
            (
                json!({"agent": 5}),
                "agent: invalid type: integer `5`, expected an agent's id or {id, name, harness}",
            ),
            (json!({"agent": {"name": "x"}}), "agent: missing field `id`"),
            (
                json!({"tokens": {"input": "many"}}),
                "tokens.input: invalid type: string \"many\", expected u64",
            ),
            (json!({"tokens": {"input": -1}}), "tokens.input: invalid value: integer `-1`, expected u64"),
            (json!({"events": {}}), "events: invalid type: map, expected a sequence"),
            (
                json!({"events": [{"type": "prompt"}, 5]}),
                "events[1]: invalid type: integer `5`, expected struct Event",
            ),
            (
                json!({"events": [{"type": "prompt", "text": 1}]}),
                "events[0].text: invalid type: integer `1`, expected a string",
            ),
        ];
        for (extra, expected) in cases {
            assert_eq!(message(base(extra.clone())), expected, "{extra}");
        }
        assert_eq!(message(json!({"agent": "a", "cwd": "/x"})), "missing field `session`");
        assert_eq!(message(Value::Null), "missing field `session`");
        assert_eq!(message(json!([1])), "params: expected an object");
    }

    #[test]
    fn the_place_in_the_line_is_left_out_and_nothing_else() {
        for (reason, expected) in [
            ("expected a string at line 1 column 5", "expected a string"),
            (
                "string \"a at line 1\", expected u64 at line 12 column 7",
                "string \"a at line 1\", expected u64",
            ),
            ("no such field at line one column two", "no such field at line one column two"),
            ("no such field", "no such field"),
        ] {
            assert_eq!(without_place(reason), expected);
        }
    }

    #[test]
    fn a_folder_is_told_by_its_whole_path() {
        fn of<T: DeserializeOwned>(params: Value) -> String {
            parse_params::<T>(params).err().map(|error| error.message).unwrap_or_default()
        }
        let readers = [
            of::<CommitParams>,
            of::<session::AppendParams>,
            of::<session::ListParams>,
            of::<session::GetParams>,
            of::<work::SetParams>,
            of::<work::SelectParams>,
            of::<memory::AddParams>,
            of::<recall::ContextParams>,
            of::<recall::SearchParams>,
            of::<system::ImportParams>,
            of::<system::ExportParams>,
            of::<dream::RunParams>,
        ];
        for reader in readers {
            let params = |cwd: &str| json!({"session": "s", "agent": "a", "cwd": cwd, "path": "/x", "body": "b", "face": "project"});
            assert_eq!(reader(params("/x")), "");
            for bad in ["", ".", "./x", "sub/dir", "~", "~/x", " /x", "C:\\x", "file:///x"] {
                let expected = "cwd: expected the whole path of a folder, as in /home/dev/app";
                assert_eq!(reader(params(bad)), expected, "{bad}");
            }
        }
        assert_eq!(of::<work::SelectParams>(json!({"cwd": null})), "");
    }

    #[test]
    fn null_counts_as_not_given_and_unknown_fields_do_not_matter() {
        let params: CommitParams = parse_params(
            json!({"session": "s", "agent": "a", "cwd": "/x", "events": null, "summary": null, "mood": 1}),
        )
        .unwrap();
        assert!(params.events.is_empty() && params.summary.is_none());
    }

    #[test]
    fn a_value_in_a_string_names_its_field_too() {
        assert_eq!(parse_field::<u16>("port", "80").unwrap(), 80);
        assert_eq!(
            parse_field::<u16>("port", "x").unwrap_err().message,
            "port: invalid digit found in string"
        );
    }
}
