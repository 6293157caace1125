//! One line in, one line out.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::{Params, WireError, code};

/// Brackets within brackets of a line.
const MAX_DEPTH: usize = 128;

/// The id of a request as its caller wrote it: it comes back byte for byte.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Id(Box<RawValue>);

impl Id {
    /// Whether it is null, as that of a line whose id could not be read.
    pub fn is_null(&self) -> bool {
        self.0.get() == "null"
    }
}

impl Default for Id {
    fn default() -> Self {
        Self(RawValue::NULL.to_owned())
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

impl From<Value> for Id {
    fn from(id: Value) -> Self {
        to_raw_value(&id).map(Self).unwrap_or_default()
    }
}

impl From<u64> for Id {
    fn from(id: u64) -> Self {
        Value::from(id).into()
    }
}

/// A request as it is written on a line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Request {
    /// Always `2.0`.
    jsonrpc: &'static str,
    /// What the answer will carry; `None` for a notification, which gets no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Id>,
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
    pub id: Id,
    /// What the method answered.
    pub outcome: Result<Value, WireError>,
}

#[derive(Serialize)]
struct ResponseOut<'a> {
    jsonrpc: &'static str,
    id: &'a Id,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a WireError>,
}

#[derive(Deserialize)]
struct ResponseIn {
    #[serde(default)]
    id: Id,
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
    pub fn new(id: impl Into<Id>, outcome: Result<Value, WireError>) -> Self {
        Self { id: id.into(), outcome }
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
    pub id: Id,
    /// What is wrong with the line.
    pub error: WireError,
}

impl BadRequest {
    fn new(id: Id, code: i64, message: impl Into<String>) -> Box<Self> {
        Box::new(Self { id, error: WireError::bad_request(code, message) })
    }
}

/// A request as it is read from a line: what its method alone can read stays as it stands there.
#[derive(Debug, Clone, PartialEq)]
pub struct Incoming {
    /// What the answer will carry; `None` for a notification, which gets no answer.
    pub id: Option<Id>,
    /// Which method is called.
    pub method: String,
    /// Its parameters.
    pub params: Params,
}

/// The fields of a line, not read yet.
#[derive(Deserialize)]
struct RequestIn<'l> {
    #[serde(borrow, default, deserialize_with = "given")]
    jsonrpc: Option<&'l RawValue>,
    #[serde(borrow, default, deserialize_with = "given")]
    id: Option<&'l RawValue>,
    #[serde(borrow, default)]
    method: Option<&'l RawValue>,
    #[serde(borrow, default)]
    params: Option<&'l RawValue>,
}

/// Tells a null from nothing at all.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Reads one line as a request.
///
/// Unknown fields are ignored and take no room, a missing `jsonrpc` is taken as `2.0`, a lone surrogate in a string reads
/// as U+FFFD. JSON nested deeper than 128 levels, invalid UTF-8, arrays of requests and parameters by position are
/// errors.
pub fn parse_request(line: &[u8]) -> Result<Incoming, Box<BadRequest>> {
    let text = std::str::from_utf8(line)
        .map_err(|e| BadRequest::new(Id::default(), code::PARSE, format!("the line is not UTF-8: {e}")))?;
    let mended = mend_surrogates(text);
    let text = mended.as_deref().unwrap_or(text);
    if nests_deeper_than(MAX_DEPTH, text) {
        let reason = format!("the line is not JSON: it nests deeper than {MAX_DEPTH} levels");
        return Err(BadRequest::new(Id::default(), code::PARSE, reason));
    }
    let RequestIn { jsonrpc, id, method, params } = fields(text)?;
    let id = id.map(read_id).transpose()?;
    let echo = || id.clone().unwrap_or_default();
    if jsonrpc.is_some_and(|version| version.get() != "\"2.0\"") {
        return Err(BadRequest::new(echo(), code::REQUEST, "jsonrpc: expected \"2.0\""));
    }
    let Some(method) = method.and_then(|method| serde_json::from_str(method.get()).ok()) else {
        return Err(BadRequest::new(echo(), code::REQUEST, "method: expected a string"));
    };
    let params = params.map_or_else(Params::default, |params| Params::new(params.to_owned()));
    if !params.is_object() {
        return Err(BadRequest::new(echo(), code::PARAMS, "params: expected an object"));
    }
    Ok(Incoming { id, method, params })
}

/// The fields of a line that is one object.
fn fields(text: &str) -> Result<RequestIn<'_>, Box<BadRequest>> {
    let is_object = text.trim_start().starts_with('{');
    let read = match is_object {
        true => serde_json::from_str(text).map(Some),
        false => serde_json::from_str::<IgnoredAny>(text).map(|_| None),
    };
    let bad = |code, message: String| Err(BadRequest::new(Id::default(), code, message));
    match read {
        Ok(Some(fields)) => Ok(fields),
        Ok(None) => bad(code::REQUEST, "the line is not one JSON object".to_owned()),
        Err(error) if error.is_data() => bad(code::REQUEST, format!("the line is no request: {error}")),
        Err(error) => bad(code::PARSE, format!("the line is not JSON: {error}")),
    }
}

fn read_id(id: &RawValue) -> Result<Id, Box<BadRequest>> {
    match id.get().as_bytes().first() {
        Some(b'"' | b'-' | b'0'..=b'9' | b'n') => Ok(Id(id.to_owned())),
        _ => Err(BadRequest::new(Id::default(), code::REQUEST, "id: expected a string or a number")),
    }
}

/// Whether brackets stand within more brackets than that. What nobody reads is skipped without a stack, so that its depth
/// would otherwise show only when somebody reads it one day.
fn nests_deeper_than(most: usize, text: &str) -> bool {
    let (mut depth, mut in_text, mut is_escaped) = (0usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_text => is_escaped = true,
            b'"' => in_text = !in_text,
            b'{' | b'[' if !in_text => depth += 1,
            b'}' | b']' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > most {
            return true;
        }
    }
    false
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
    use crate::{ErrorKind, parse_params};

    fn error_of(line: &[u8]) -> (i64, String, Id) {
        let bad = parse_request(line).unwrap_err();
        assert_eq!(bad.error.kind, ErrorKind::Invalid);
        (bad.error.code, bad.error.message, bad.id)
    }

    #[test]
    fn reads_a_request_and_ignores_what_it_does_not_know() {
        let request =
            parse_request(br#"{"jsonrpc":"2.0","id":"a","method":"status","params":{"x":1},"new":[]}"#)
                .unwrap();
        assert_eq!(request.id, Some(json!("a").into()));
        assert_eq!((request.method.as_str(), request.params), ("status", json!({"x": 1}).into()));
        let bare = parse_request(br#"{"method":"status"}"#).unwrap();
        assert_eq!((bare.id, bare.params), (None, Params::default()));
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
            assert_eq!((got_code, &got_id), (*code, &id.clone().into()), "{}", String::from_utf8_lossy(line));
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
            assert!(message.contains("deeper than 128 levels"), "{message}");
        }
    }

    #[test]
    fn an_id_comes_back_as_it_was_written() {
        for id in ["123456789012345678901234567890", "1.50", "-0", "1e400", r#""a\u0041\n""#, "null", "\"\""]
        {
            let line = format!(r#"{{"id": {id} ,"method":"m"}}"#);
            let read = parse_request(line.as_bytes()).unwrap().id.unwrap();
            let answer = String::from_utf8(Response::new(read, Ok(Value::Null)).to_line()).unwrap();
            assert_eq!(answer, format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":null}}\n"));
        }
    }

    #[test]
    fn a_field_that_is_given_twice_is_no_request() {
        for line in [r#"{"id":1,"method":"a","method":"b"}"#, r#"{"method":"a","params":{},"params":{}}"#] {
            let (code, message, _) = error_of(line.as_bytes());
            assert!(code == code::REQUEST && message.contains("duplicate field"), "{message}");
        }
    }

    #[test]
    fn depth_counts_brackets_and_not_what_stands_in_texts() {
        let line = |x: &str| format!(r#"{{"method":"m","params":{{"x":{x}}}}}"#);
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        for (value, is_fine) in [
            (nested(126), true),
            (nested(127), false),
            (format!("\"{}\"", "[".repeat(500)), true),
            (format!(r#""\"{}""#, "{".repeat(500)), true),
            (format!(r#"["\\",{}]"#, nested(126)), false),
            (format!("[{}1]", "[],".repeat(500)), true),
        ] {
            assert_eq!(parse_request(line(&value).as_bytes()).is_ok(), is_fine, "{value}");
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
            let params: Value = parse_params(parse_request(line.as_bytes()).unwrap().params).unwrap();
            assert_eq!(params, json!({ "t": text }), "{escaped}");
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
            let read = parse_request(&line).unwrap();
            prop_assert_eq!((read.id, read.method), (request.id, request.method));
            prop_assert_eq!(parse_params::<Value>(read.params).unwrap(), request.params);
        }
    }
}
