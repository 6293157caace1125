//! The first call: which version is spoken, and what the other side can do.
//!
//! The encodings of `hello`, its answer and the mismatch never change, whatever the version: they are how two
//! builds of different age find out about each other. Their bytes are frozen by the tests below.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{MAX_FRAME_BYTES, PROTOCOL, PROTOCOL_MIN, WireError, error::clip};

/// What the client says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// The newest version the client speaks.
    pub protocol: u32,
    /// Who calls, for the log: a string such as `doze/0.1.0`; other shapes are tolerated.
    #[serde(default)]
    pub client: Value,
}

impl Hello {
    /// A greeting in this build's version.
    pub fn new(client: &str) -> Self {
        Self { protocol: PROTOCOL, client: client.into() }
    }

    /// The client's name as a short line for the log.
    pub fn client_label(&self) -> String {
        match &self.client {
            Value::String(name) => clip(name, 60),
            Value::Null => "unnamed".to_owned(),
            other => clip(&other.to_string(), 60),
        }
    }
}

/// What the daemon says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HelloAnswer {
    /// The version in which the rest of the connection is answered.
    pub protocol: u32,
    /// Name and version of the daemon, as `dozed/0.1.0`.
    pub server: String,
    /// What it can do.
    #[serde(default)]
    pub capabilities: Capabilities,
}

/// What the daemon can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Capabilities {
    /// The most bytes a line may have, its newline not counted.
    pub max_frame_bytes: usize,
    /// The methods it answers.
    pub methods: Vec<String>,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self { max_frame_bytes: MAX_FRAME_BYTES, methods: Vec::new() }
    }
}

/// What the daemon makes of a client's version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Negotiation {
    /// The connection goes on in this version.
    Speak(u32),
    /// There is none in common; only `hello`, `status` and `stop` are answered from here on.
    Mismatch,
}

/// The rule: an older client is answered in its own version as long as this build still speaks it; a newer client is
/// answered in this build's newest version and decides for itself whether that will do.
pub fn negotiate(theirs: u32) -> Negotiation {
    if theirs < PROTOCOL_MIN { Negotiation::Mismatch } else { Negotiation::Speak(theirs.min(PROTOCOL)) }
}

impl HelloAnswer {
    /// The client's side of the rule: whether this build can speak what the daemon chose.
    pub fn check(&self) -> Result<(), WireError> {
        if (PROTOCOL_MIN..=PROTOCOL).contains(&self.protocol) {
            Ok(())
        } else {
            Err(WireError::protocol_mismatch(self.protocol))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{json, to_value};

    use super::*;
    use crate::{Request, Response};

    fn text(line: Vec<u8>) -> String {
        String::from_utf8(line).unwrap()
    }

    // These four must never be edited to fit the code: an old client depends on every byte.

    #[test]
    fn frozen_hello() {
        let hello = Hello { protocol: 1, client: json!("doze/0.1.0") };
        let request = Request::new(0, "hello", to_value(hello).unwrap());
        assert_eq!(
            text(request.to_line()),
            "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"hello\",\"params\":{\"client\":\"doze/0.1.0\",\"protocol\":1}}\n"
        );
    }

    #[test]
    fn frozen_hello_answer() {
        let capabilities = Capabilities { max_frame_bytes: 8388608, methods: vec!["status".into()] };
        let answer = HelloAnswer { protocol: 1, server: "dozed/0.1.0".into(), capabilities };
        assert_eq!(
            text(Response::new(json!(0), Ok(to_value(answer).unwrap())).to_line()),
            "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"capabilities\":{\"max_frame_bytes\":8388608,\
             \"methods\":[\"status\"]},\"protocol\":1,\"server\":\"dozed/0.1.0\"}}\n"
        );
    }

    #[test]
    fn frozen_mismatch() {
        let line = text(Response::new(json!(0), Err(WireError::protocol_mismatch(0))).to_line());
        assert_eq!(
            line,
            "{\"jsonrpc\":\"2.0\",\"id\":0,\"error\":{\"code\":-32010,\"message\":\"protocol 0 is not spoken here, \
             only 1 to 1; status and stop still answer\",\"data\":{\"kind\":\"refused\",\"hint\":\"install the same \
             version of doze and dozed, then restart the daemon\",\"protocol\":[1,1]}}}\n"
        );
    }

    #[test]
    fn frozen_error() {
        let error = WireError::new(crate::ErrorKind::Invalid, "limit: 900 is more than 500").with_hint("h");
        assert_eq!(
            text(Response::new(json!("q"), Err(error)).to_line()),
            "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"error\":{\"code\":-32602,\"message\":\"limit: 900 is more than 500\",\
             \"data\":{\"kind\":\"invalid\",\"hint\":\"h\"}}}\n"
        );
    }

    #[test]
    fn old_clients_are_refused_and_newer_ones_answered_in_our_version() {
        assert_eq!(negotiate(PROTOCOL_MIN - 1), Negotiation::Mismatch);
        assert_eq!(negotiate(PROTOCOL), Negotiation::Speak(PROTOCOL));
        assert_eq!(negotiate(u32::MAX), Negotiation::Speak(PROTOCOL));
    }

    #[test]
    fn a_client_refuses_an_answer_in_a_version_it_does_not_speak() {
        let mut answer: HelloAnswer =
            serde_json::from_value(json!({"protocol": 1, "server": "dozed/9"})).unwrap();
        assert!(answer.check().is_ok());
        answer.protocol = PROTOCOL + 1;
        assert_eq!(answer.check().unwrap_err().exit(), crate::Exit::Protocol);
    }

    #[test]
    fn any_client_value_makes_a_short_label() {
        for (client, label) in [
            (json!("doze/0.1.0"), "doze/0.1.0"),
            (json!({"name": "orc"}), "{\"name\":\"orc\"}"),
            (Value::Null, "unnamed"),
        ] {
            assert_eq!(Hello { protocol: 1, client }.client_label(), label);
        }
        assert_eq!(Hello { protocol: 1, client: json!("x".repeat(999)) }.client_label().chars().count(), 61);
    }
}
