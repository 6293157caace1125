//! One line in, one line out.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{WireError, code};

/// A request as it stands on a line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Request {
    /// Always `2.0`.
    jsonrpc: &'static str,
    /// What the answer will carry; `None` for a notification, which gets no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Value>,
    /// Which method is called.
    pub method: String,
    /// Its parameters; an object or null.
    pub params: Value,
}

impl Request {
    /// A request with a number as its id.
    pub fn new(id: u64, method: impl Into<String>, params: Value) -> Self {
        Self { jsonrpc: "2.0", id: Some(id.into()), method: method.into(), params }
    }

    /// The request as one line, newline included.
    pub fn to_line(&self) -> Vec<u8> {
        line(self)
    }
}

/// An answer as it stands on a line: either `result` or `error`.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// The id of the request, null when it could not be read.
    pub id: Value,
    /// What the method answered.
    pub outcome: Result<Value, WireError>,
}

#[derive(Serialize)]
struct ResponseOut<'a> {
    jsonrpc: &'static str,
    id: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a WireError>,
}

#[derive(Deserialize)]
struct ResponseIn {
    #[serde(default)]
    id: Value,
    #[serde(default, deserialize_with = "present")]
    result: Option<Value>,
    #[serde(default)]
    error: Option<WireError>,
}

/// Tells `"result": null` from no result at all.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl Response {
    /// Answers `id`.
    pub fn new(id: Value, outcome: Result<Value, WireError>) -> Self {
        Self { id, outcome }
    }

    /// The answer as one line, newline included.
    pub fn to_line(&self) -> Vec<u8> {
        let (result, error) = match &self.outcome {
            Ok(result) => (Some(result), None),
            Err(error) => (None, Some(error)),
        };
        line(&ResponseOut { jsonrpc: "2.0", id: &self.id, result, error })
    }

    /// Reads an answer; `None` when the line is no JSON-RPC answer.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let ResponseIn { id, result, error } = serde_json::from_slice(line).ok()?;
        let outcome = match (result, error) {
            (_, Some(error)) => Err(error),
            (Some(result), None) => Ok(result),
            (None, None) => return None,
        };
        Some(Self { id, outcome })
    }
}

/// JSON text holds no raw newline, so one value is one line.
fn line(value: &impl Serialize) -> Vec<u8> {
    let mut out = serde_json::to_vec(value).unwrap_or_default();
    out.push(b'\n');
    out
}

/// A line that is no request: answer `error` under `id`.
#[derive(Debug, Clone, PartialEq)]
pub struct BadRequest {
    /// The id, as far as it could be read.
    pub id: Value,
    /// What is wrong with the line.
    pub error: WireError,
}

impl BadRequest {
    fn new(id: Value, code: i64, message: impl Into<String>) -> Box<Self> {
        Box::new(Self { id, error: WireError::bad_request(code, message) })
    }
}

/// Reads one line as a request.
///
/// Unknown fields are ignored, a missing `jsonrpc` is taken as `2.0`, a lone surrogate in a string reads as
/// U+FFFD. JSON nested deeper than 128 levels, invalid UTF-8, arrays of requests and parameters by position are
/// errors.
pub fn parse_request(line: &[u8]) -> Result<Request, Box<BadRequest>> {
    let text = std::str::from_utf8(line)
        .map_err(|e| BadRequest::new(Value::Null, code::PARSE, format!("the line is not UTF-8: {e}")))?;
    let value = parse_json(text)
        .map_err(|e| BadRequest::new(Value::Null, code::PARSE, format!("the line is not JSON: {e}")))?;
    let Value::Object(mut fields) = value else {
        return Err(BadRequest::new(Value::Null, code::REQUEST, "the line is not one JSON object"));
    };
    let id = read_id(&mut fields)?;
    let echo = id.clone().unwrap_or(Value::Null);
    if fields.get("jsonrpc").is_some_and(|version| version != "2.0") {
        return Err(BadRequest::new(echo, code::REQUEST, "jsonrpc: expected \"2.0\""));
    }
    let Some(Value::String(method)) = fields.remove("method") else {
        return Err(BadRequest::new(echo, code::REQUEST, "method: expected a string"));
    };
    match fields.remove("params").unwrap_or_default() {
        params @ (Value::Object(_) | Value::Null) => Ok(Request { jsonrpc: "2.0", id, method, params }),
        _ => Err(BadRequest::new(echo, code::PARAMS, "params: expected an object")),
    }
}

fn read_id(fields: &mut Map<String, Value>) -> Result<Option<Value>, Box<BadRequest>> {
    match fields.remove("id") {
        None => Ok(None),
        Some(id @ (Value::String(_) | Value::Number(_) | Value::Null)) => Ok(Some(id)),
        Some(_) => Err(BadRequest::new(Value::Null, code::REQUEST, "id: expected a string or a number")),
    }
}

/// Programs written in languages whose strings are UTF-16 escape half an emoji as a lone surrogate. JSON's grammar
/// permits that, Rust strings do not, so the half becomes U+FFFD instead of costing the caller the whole line.
fn parse_json(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| match mend_surrogates(text) {
        Some(mended) => serde_json::from_str(&mended),
        None => Err(error),
    })
}

/// The text with every unpaired `\uD800`–`\uDFFF` replaced by `\ufffd`; `None` when there was none.
fn mend_surrogates(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut mended = String::new();
    let (mut kept, mut at) = (0, 0);
    while let Some(offset) = bytes.get(at..).and_then(|rest| rest.iter().position(|b| *b == b'\\')) {
        at += offset;
        match escape_unit(bytes, at) {
            Some(0xD800..=0xDBFF) if matches!(escape_unit(bytes, at + 6), Some(0xDC00..=0xDFFF)) => at += 12,
            Some(0xD800..=0xDFFF) => {
                mended.push_str(text.get(kept..at)?);
                mended.push_str("\\ufffd");
                at += 6;
                kept = at;
            }
            // Any other escape is two bytes; the four digits behind a plain `\u` hold no backslash.
            _ => at += 2,
        }
    }
    if kept == 0 {
        return None;
    }
    mended.push_str(text.get(kept..)?);
    Some(mended)
}

/// The code unit of an escape (`\u` and four hex digits) that begins at `at`.
fn escape_unit(bytes: &[u8], at: usize) -> Option<u16> {
    let escape = bytes.get(at..at + 6)?;
    let digits = std::str::from_utf8(escape.strip_prefix(b"\\u")?).ok()?;
    digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::ErrorKind;

    fn error_of(line: &[u8]) -> (i64, String, Value) {
        let bad = parse_request(line).unwrap_err();
        assert_eq!(bad.error.kind, ErrorKind::Invalid);
        (bad.error.code, bad.error.message, bad.id)
    }

    #[test]
    fn reads_a_request_and_ignores_what_it_does_not_know() {
        let request =
            parse_request(br#"{"jsonrpc":"2.0","id":"a","method":"status","params":{"x":1},"new":[]}"#)
                .unwrap();
        assert_eq!(request.id, Some(json!("a")));
        assert_eq!((request.method.as_str(), request.params), ("status", json!({"x": 1})));
        let bare = parse_request(br#"{"method":"status"}"#).unwrap();
        assert_eq!((bare.id, bare.params), (None, Value::Null));
    }

    #[test]
    fn says_what_is_wrong_with_a_line() {
        let cases: &[(&[u8], i64, &str, Value)] = &[
            (b"", code::PARSE, "not JSON", Value::Null),
            (b"{\"id\":1", code::PARSE, "not JSON", Value::Null),
            (b"\xff\xfe{}", code::PARSE, "not UTF-8", Value::Null),
            (b"[]", code::REQUEST, "not one JSON object", Value::Null),
            (b"{}", code::REQUEST, "method: expected a string", Value::Null),
            (br#"{"id":7,"method":5}"#, code::REQUEST, "method: expected a string", json!(7)),
            (br#"{"id":{},"method":"m"}"#, code::REQUEST, "id: expected", Value::Null),
            (br#"{"id":7,"method":"m","params":[1]}"#, code::PARAMS, "params: expected an object", json!(7)),
            (br#"{"jsonrpc":"1.0","id":7,"method":"m"}"#, code::REQUEST, "jsonrpc: expected", json!(7)),
        ];
        for (line, code, message, id) in cases {
            let (got_code, got_message, got_id) = error_of(line);
            assert_eq!((got_code, &got_id), (*code, id), "{}", String::from_utf8_lossy(line));
            assert!(got_message.contains(message), "{got_message:?} lacks {message:?}");
        }
    }

    #[test]
    fn deep_nesting_is_an_error_and_not_a_stack_overflow() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let deep = format!(
                r#"{{"id":1,"method":"m","params":{{"x":{}1{}}}}}"#,
                open.repeat(100_000),
                close.repeat(100_000)
            );
            let (code, message, _) = error_of(deep.as_bytes());
            assert_eq!(code, code::PARSE);
            assert!(message.contains("recursion limit"), "{message}");
        }
    }

    #[test]
    fn half_an_emoji_costs_only_itself() {
        let cases = [
            (r"\ud83d\ude00", "😀"),
            (r"a\ud83d", "a\u{fffd}"),
            (r"\ude00b", "\u{fffd}b"),
            (r"\ud83d\ud83d\ude00", "\u{fffd}😀"),
            (r"\\ud83d\ud83dx", "\\ud83d\u{fffd}x"),
            (r"ü\uD83D\n", "ü\u{fffd}\n"),
        ];
        for (escaped, text) in cases {
            let line = format!(r#"{{"method":"m","params":{{"t":"{escaped}"}}}}"#);
            assert_eq!(parse_request(line.as_bytes()).unwrap().params, json!({ "t": text }), "{escaped}");
        }
    }

    #[test]
    fn answers_read_back() {
        let answers = [
            Response::new(json!(1), Ok(json!({"a": "ü\n"}))),
            Response::new(json!("x"), Ok(Value::Null)),
            Response::new(Value::Null, Err(WireError::not_found("no memory 7"))),
        ];
        for answer in answers {
            let line = answer.to_line();
            assert_eq!(line.iter().filter(|b| **b == b'\n').count(), 1);
            assert_eq!(Response::parse(&line), Some(answer));
        }
        assert_eq!(Response::parse(b"{}"), None);
        assert_eq!(Response::parse(b"\xff"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_answer_or_an_error(line in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse_request(&line);
            let _ = Response::parse(&line);
        }

        #[test]
        fn any_cut_or_flip_of_a_request_is_survived(cut in 0usize..90, at in 0usize..90, byte in any::<u8>()) {
            let mut line = br#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"t":"\ud83d\ude00 \ud83d","n":[1.5e3]}}"#.to_vec();
            if let Some(place) = line.get_mut(at) { *place = byte; }
            line.truncate(cut);
            let _ = parse_request(&line);
        }

        #[test]
        fn a_request_survives_its_line(id in any::<u64>(), method in ".{0,20}", text in ".{0,60}") {
            let request = Request::new(id, method, json!({ "text": text }));
            let line = request.to_line();
            prop_assert_eq!(parse_request(&line).unwrap(), request);
        }
    }
}
