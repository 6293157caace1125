//! What an agent says that is no message the daemon could answer. It is answered here, with the id that it came with:
//! a client waits for exactly that.

use serde_json::Value;

/// Codes of JSON-RPC 2.0.
const NO_REQUEST: i64 = -32600;
const WRONG_PARAMS: i64 = -32602;

/// An answer to what cannot be passed on.
#[derive(Debug, PartialEq)]
pub(super) struct Refusal {
    /// Null where none could be read.
    pub(super) id: Value,
    pub(super) code: i64,
    pub(super) message: String,
}

/// Why a message is not passed on; `None` when it is.
pub(super) fn refusal(message: &Value) -> Option<Refusal> {
    let id = message.get("id");
    let refused = |code: i64, message: &str| {
        let id = id.filter(|id| id.is_string() || id.is_number()).cloned().unwrap_or_default();
        Some(Refusal { id, code, message: message.to_owned() })
    };
    if message.is_array() {
        return refused(NO_REQUEST, "messages are sent one by one, not in a batch");
    }
    let Some(message) = message.as_object() else {
        return refused(NO_REQUEST, "a message is a JSON object");
    };
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return refused(NO_REQUEST, "jsonrpc is not \"2.0\"");
    }
    if id.is_some_and(|id| !id.is_string() && !id.is_i64()) {
        return refused(NO_REQUEST, "id is neither a text nor a whole number of 64 bits");
    }
    let Some(method) = message.get("method") else {
        // What the server asked is answered to it.
        let is_answer = id.is_some() && (message.contains_key("result") || message.contains_key("error"));
        return if is_answer { None } else { refused(NO_REQUEST, "method is missing") };
    };
    let Some(method) = method.as_str() else { return refused(NO_REQUEST, "method is no text") };
    let params = message.get("params").unwrap_or(&Value::Null);
    match wrong_params(method, params) {
        // Nobody waits for the answer to a notification.
        Some(reason) if id.is_some() => refused(WRONG_PARAMS, &format!("{method}: {reason}")),
        _ => None,
    }
}

/// What is wrong with the parameters of a method. Those of methods that doze does not have are the daemon's business.
fn wrong_params(method: &str, params: &Value) -> Option<&'static str> {
    if !params.is_object() && !params.is_null() {
        return Some("params is no object");
    }
    let is_text = |at: &str| params.pointer(at).is_some_and(Value::is_string);
    let is_object = |at: &str| params.pointer(at).is_some_and(Value::is_object);
    let may_be = |name: &str, fits: fn(&Value) -> bool| {
        params.get(name).is_none_or(|value| value.is_null() || fits(value))
    };
    match method {
        "initialize" if !is_text("/protocolVersion") => Some("protocolVersion is no text"),
        "initialize" if !is_object("/capabilities") => Some("capabilities is no object"),
        "initialize" if !is_text("/clientInfo/name") || !is_text("/clientInfo/version") => {
            Some("clientInfo has no name and version")
        }
        "tools/call" if !is_text("/name") => Some("name is no text"),
        "tools/call" if !may_be("arguments", Value::is_object) => Some("arguments is no object"),
        "tools/list" if !may_be("cursor", Value::is_string) => Some("cursor is no text"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_no_request_is_refused_with_its_own_id() {
        let call =
            |params: Value| json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": params});
        for (message, id, code) in [
            (call(json!([1])), json!(4), WRONG_PARAMS),
            (call(json!("x")), json!(4), WRONG_PARAMS),
            (call(json!({})), json!(4), WRONG_PARAMS),
            (call(json!({"name": 7})), json!(4), WRONG_PARAMS),
            (call(json!({"name": "a", "arguments": [1]})), json!(4), WRONG_PARAMS),
            (json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call"}), json!(4), WRONG_PARAMS),
            (
                json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {}}),
                json!("i"),
                WRONG_PARAMS,
            ),
            (json!({"id": 4, "method": "ping"}), json!(4), NO_REQUEST),
            (json!({"jsonrpc": "1.0", "id": "a", "method": "ping"}), json!("a"), NO_REQUEST),
            (json!({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}), json!(1.5), NO_REQUEST),
            (json!({"jsonrpc": "2.0", "id": 1u64 << 63, "method": "ping"}), json!(1u64 << 63), NO_REQUEST),
            (json!({"jsonrpc": "2.0", "id": null, "method": "ping"}), Value::Null, NO_REQUEST),
            (json!({"jsonrpc": "2.0", "id": {}, "method": "ping"}), Value::Null, NO_REQUEST),
            (json!({"jsonrpc": "2.0", "id": 4}), json!(4), NO_REQUEST),
            (json!({"jsonrpc": "2.0", "id": 4, "method": 7}), json!(4), NO_REQUEST),
            (json!({"method": "notifications/x"}), Value::Null, NO_REQUEST),
            (json!([call(json!({"name": "a"}))]), Value::Null, NO_REQUEST),
            (json!([]), Value::Null, NO_REQUEST),
            (json!(7), Value::Null, NO_REQUEST),
        ] {
            let refused = refusal(&message).unwrap_or_else(|| panic!("{message}"));
            assert_eq!((refused.id, refused.code), (id, code), "{message}");
        }
        for message in [
            call(json!({"name": "a"})),
            call(json!({"name": "a", "arguments": null})),
            json!({"jsonrpc": "2.0", "id": "x", "method": "ping"}),
            json!({"jsonrpc": "2.0", "id": -1, "method": "no/such", "params": {}}),
            json!({"jsonrpc": "2.0", "method": "notifications/x", "params": [1]}),
            json!({"jsonrpc": "2.0", "id": 4, "result": {}}),
        ] {
            assert_eq!(refusal(&message), None, "{message}");
        }
    }
}
