//! Reading parameters so that an error names the field.

use std::str::FromStr;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{ErrorKind, WireError, error::clip};

/// Reads a method's parameters. A null at the top level counts as not given, unknown fields are ignored, and a wrong
/// type or a missing field is `invalid` with the path of the field in the message (`events[3].text: …`).
pub fn parse_params<T: DeserializeOwned>(params: Value) -> Result<T, WireError> {
    let params = match params {
        Value::Object(mut fields) => {
            fields.retain(|_, value| !value.is_null());
            Value::Object(fields)
        }
        Value::Null => Value::Object(serde_json::Map::new()),
        _ => return Err(WireError::invalid("params", "expected an object")),
    };
    serde_path_to_error::deserialize(params).map_err(|error| {
        let path = error.path().to_string();
        let reason = clip(&error.inner().to_string(), 200);
        // A missing field is named by the reason itself; its path is that of the object round it.
        let message = if path == "." { reason } else { format!("{}: {reason}", clip(&path, 120)) };
        WireError::new(ErrorKind::Invalid, message)
    })
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
    use crate::{dream, mcp, memory, recall, session, system, work};

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
            of::<mcp::OpenParams>,
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
