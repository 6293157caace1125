//! What went wrong, in words that programs can act on.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Exit, PROTOCOL, PROTOCOL_MIN};

/// JSON-RPC error codes. The first five are fixed by JSON-RPC 2.0, the others are ours.
pub mod code {
    /// The line is not JSON.
    pub const PARSE: i64 = -32700;
    /// The line is JSON, but not a request.
    pub const REQUEST: i64 = -32600;
    /// There is no such method.
    pub const METHOD: i64 = -32601;
    /// A parameter has the wrong type or is outside its bound.
    pub const PARAMS: i64 = -32602;
    /// A fault of the daemon.
    pub const INTERNAL: i64 = -32603;
    /// Nothing goes by that name.
    pub const NOT_FOUND: i64 = -32001;
    /// A line or a file is larger than its bound.
    pub const TOO_LARGE: i64 = -32002;
    /// Not allowed, however often it is tried.
    pub const REFUSED: i64 = -32003;
    /// Not now; the same call may work later.
    pub const BUSY: i64 = -32004;
    /// Something the call needs is not there.
    pub const UNAVAILABLE: i64 = -32005;
    /// The two sides have no protocol version in common (kind `refused`).
    pub const PROTOCOL: i64 = -32010;
}

macro_rules! kinds {
    ($($(#[$meta:meta])* $variant:ident = $word:literal, $code:ident, $hint:literal;)+) => {
        /// The stable word of an error (`data.kind`).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorKind { $($(#[$meta])* $variant),+ }

        impl ErrorKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word on the wire.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The JSON-RPC code that goes with the kind unless the error says otherwise.
            pub fn code(self) -> i64 {
                match self { $(Self::$variant => code::$code),+ }
            }

            /// What to do, when the place that failed knows nothing better.
            pub fn default_hint(self) -> &'static str {
                match self { $(Self::$variant => $hint),+ }
            }

            fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

kinds! {
    /// Nothing goes by that name.
    NotFound = "not_found", NOT_FOUND, "check the name; lists show what there is";
    /// A wrong type or a value outside a bound; the message names the field or the bound.
    Invalid = "invalid", PARAMS, "correct the named field and call again";
    /// A line or a file is larger than its bound.
    TooLarge = "too_large", TOO_LARGE, "send it in pieces with session.append";
    /// Not allowed.
    Refused = "refused", REFUSED, "this is not allowed; trying again will not help";
    /// Too much at once, or shutting down.
    Busy = "busy", BUSY, "try again in a moment";
    /// Something that the call needs is not there (a model, room on the disk, an extractor).
    Unavailable = "unavailable", UNAVAILABLE, "`doze status` tells what is wrong";
    /// There is no such method.
    UnknownMethod = "unknown_method", METHOD, "capabilities.methods in the answer to hello lists the methods";
    /// A fault of the daemon; details are in its log.
    Internal = "internal", INTERNAL, "the daemon's log has the details";
}

impl ErrorKind {
    /// The exit status with which `doze` ends after such an error.
    pub fn exit(self) -> Exit {
        match self {
            Self::NotFound => Exit::Nothing,
            Self::Invalid | Self::TooLarge => Exit::BadInput,
            Self::Refused => Exit::Refused,
            Self::Busy => Exit::Busy,
            Self::Unavailable => Exit::Unreachable,
            Self::UnknownMethod => Exit::Protocol,
            Self::Internal => Exit::Internal,
        }
    }
}

impl std::fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Characters of a message at most: it may name what the caller sent, not send it back.
const MESSAGE_CHARS_MAX: usize = 600;

/// An error as the other side sees it: `{code, message, data: {kind, hint}}`.
///
/// `message` is for the caller and never holds memory text or secrets; details stay in the daemon's log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct WireError {
    /// See [`code`].
    pub code: i64,
    /// What sort of error it is.
    pub kind: ErrorKind,
    /// What went wrong; names the field or the bound.
    pub message: String,
    /// What to do about it.
    pub hint: String,
    /// The lowest and highest protocol version the answering side speaks; only with [`code::PROTOCOL`].
    pub protocol: Option<[u32; 2]>,
}

impl WireError {
    /// An error with the usual code and hint of its kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            code: kind.code(),
            kind,
            message: clip(&message.into(), MESSAGE_CHARS_MAX),
            hint: kind.default_hint().to_owned(),
            protocol: None,
        }
    }

    /// Says more exactly what to do.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// Nothing goes by that name.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// `field` is wrong; `reason` completes "field: …".
    pub fn invalid(field: &str, reason: impl std::fmt::Display) -> Self {
        Self::new(ErrorKind::Invalid, format!("{field}: {reason}"))
    }

    /// It is not allowed.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Refused, message)
    }

    /// Not now.
    pub fn busy(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Busy, message)
    }

    /// Something it needs is missing.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unavailable, message)
    }

    /// A fault of the daemon. The message is for the caller: keep details for the log.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// There is no method of that name.
    pub fn unknown_method(method: &str) -> Self {
        Self::new(ErrorKind::UnknownMethod, format!("there is no method {:?}", clip(method, 80)))
    }

    /// A line has more bytes than a frame may have.
    pub fn frame_too_large(limit: usize) -> Self {
        Self::new(ErrorKind::TooLarge, format!("the line is longer than {limit} bytes"))
    }

    /// The line cannot be read as JSON, or is not a request.
    pub fn bad_request(code: i64, message: impl Into<String>) -> Self {
        Self { code, ..Self::new(ErrorKind::Invalid, message) }
            .with_hint("send one JSON-RPC 2.0 object a line")
    }

    /// The caller speaks `theirs`, which this build does not.
    pub fn protocol_mismatch(theirs: u32) -> Self {
        let message = format!(
            "protocol {theirs} is not spoken here, only {PROTOCOL_MIN} to {PROTOCOL}; status and stop still answer"
        );
        Self {
            code: code::PROTOCOL,
            protocol: Some([PROTOCOL_MIN, PROTOCOL]),
            ..Self::new(ErrorKind::Refused, message)
        }
        .with_hint("install the same version of doze and dozed, then restart the daemon")
    }

    /// The exit status with which `doze` ends after this error.
    pub fn exit(&self) -> Exit {
        if self.code == code::PROTOCOL { Exit::Protocol } else { self.kind.exit() }
    }
}

/// The first `max` characters, with `…` where something was left out; control characters become spaces.
pub(crate) fn clip(text: &str, max: usize) -> String {
    let mut out: String = text.chars().take(max).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(max).is_some() {
        out.push('…');
    }
    out
}

#[derive(Serialize)]
struct ErrorOut<'a> {
    code: i64,
    message: &'a str,
    data: DataOut<'a>,
}

#[derive(Serialize)]
struct DataOut<'a> {
    kind: &'static str,
    hint: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol: Option<[u32; 2]>,
}

impl Serialize for WireError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let data = DataOut { kind: self.kind.as_str(), hint: &self.hint, protocol: self.protocol };
        ErrorOut { code: self.code, message: &self.message, data }.serialize(serializer)
    }
}

#[derive(Deserialize)]
struct ErrorIn {
    code: i64,
    #[serde(default)]
    message: String,
    #[serde(default)]
    data: DataIn,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct DataIn {
    kind: String,
    hint: String,
    protocol: Option<[u32; 2]>,
}

impl<'de> Deserialize<'de> for WireError {
    /// A kind that only a newer daemon knows reads as `internal`.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ErrorIn { code, message, data } = ErrorIn::deserialize(deserializer)?;
        let kind = ErrorKind::from_word(&data.kind).unwrap_or(ErrorKind::Internal);
        Ok(Self { code, kind, message, hint: data.hint, protocol: data.protocol })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_code_a_hint_and_an_exit_of_its_own_and_reads_back() {
        for kind in ErrorKind::ALL {
            let error = WireError::new(*kind, "m");
            let text = serde_json::to_string(&error).unwrap();
            assert_eq!(serde_json::from_str::<WireError>(&text).unwrap(), error);
            assert!(!error.hint.is_empty());
            assert_ne!(kind.exit(), Exit::Done);
        }
    }

    #[test]
    fn an_error_of_a_newer_daemon_still_reads() {
        let text = r#"{"code":-32099,"message":"m","data":{"kind":"weary","hint":"h","new":1}}"#;
        let error: WireError = serde_json::from_str(text).unwrap();
        assert_eq!((error.kind, error.code), (ErrorKind::Internal, -32099));
        let bare: WireError = serde_json::from_str(r#"{"code":1}"#).unwrap();
        assert_eq!(bare.message, "");
    }

    #[test]
    fn a_mismatch_is_told_by_its_own_exit_status() {
        assert_eq!(WireError::protocol_mismatch(0).exit(), Exit::Protocol);
        assert_eq!(WireError::refused("no").exit(), Exit::Refused);
    }

    #[test]
    fn clip_counts_characters_and_hides_control_characters() {
        assert_eq!(clip("abc", 3), "abc");
        assert_eq!(clip("äöü!", 3), "äöü…");
        assert_eq!(clip("a\u{1b}b", 9), "a b");
    }
}
