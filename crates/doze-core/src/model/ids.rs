//! Identifiers. All are opaque strings to outsiders.

use sha2::{Digest, Sha256};

macro_rules! id {
    ($($(#[$meta:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// Wraps a string; no value is refused here, bounds are checked where a value enters.
            pub fn new(id: impl Into<String>) -> Self { Self(id.into()) }
            /// The string itself.
            pub fn as_str(&self) -> &str { &self.0 }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str(&self.0) }
        }

        impl From<&str> for $name { fn from(id: &str) -> Self { Self::new(id) } }
        impl From<String> for $name { fn from(id: String) -> Self { Self(id) } }
    )+};
}

id! {
    /// The principal a record belongs to: `local:<uid>` over the socket.
    OwnerId,
    /// A project, minted once; paths and repository facts are its aliases.
    ProjectId,
    /// An agent in a project: `<harness>` or `<harness>/<agent_type>`, or what an orchestrator calls it.
    AgentId,
    /// A memory (UUIDv7).
    MemoryId,
    /// A dream sweep (UUIDv7).
    DreamId,
    /// An event, unique within its session.
    EventId,
}

/// A session is named by its harness and the id that harness gave it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionKey {
    /// The id as the harness or orchestrator spells it; what outsiders see.
    pub session: String,
    /// The program that ran it (`claude-code`, `codex`, …), empty when unknown.
    pub harness: String,
}

impl SessionKey {
    /// Puts the two parts together.
    pub fn new(session: impl Into<String>, harness: impl Into<String>) -> Self {
        Self { session: session.into(), harness: harness.into() }
    }
}

impl std::fmt::Display for SessionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.session)
    }
}

/// A UUIDv7 from a wall-clock time in milliseconds and ten random bytes (RFC 9562 §5.7).
pub fn uuid_v7(unix_ms: u64, random: [u8; 10]) -> String {
    uuid::Builder::from_unix_timestamp_millis(unix_ms, &random).into_uuid().to_string()
}

/// Lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// The hash by which two memories have the same words: SHA-256 over kind, title and body, whitespace collapsed.
pub fn content_hash(kind: &str, title: &str, body: &str) -> String {
    let mut hash = Sha256::new();
    for part in [kind, title, body] {
        for word in part.split_whitespace() {
            hash.update(word.as_bytes());
            hash.update(b" ");
        }
        hash.update(b"\0");
    }
    hex(&hash.finalize())
}

/// Sixteen bytes that name an event by id, time and text, so that a fork or a resumed copy is recognised. The first
/// five are its second, so that an index of these names grows at its end, where the events of today are, and not all
/// over; the others (88 bits) tell events of one second apart.
pub fn fingerprint(id: &str, unix_ms: Option<i64>, text: &str) -> [u8; 16] {
    let mut hash = Sha256::new();
    hash.update(id.as_bytes());
    hash.update(b"\0");
    hash.update(unix_ms.unwrap_or(i64::MIN).to_be_bytes());
    hash.update(text.as_bytes());
    let digest = hash.finalize();
    let mut out = [0; 16];
    // Five bytes of seconds last until the year 36812; a time before 1970 has none.
    let seconds = unix_ms.unwrap_or_default().div_euclid(1000).max(0).to_be_bytes();
    out[..5].copy_from_slice(&seconds[3..]);
    out[5..].copy_from_slice(&digest[..11]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuid_v7_sorts_by_time_and_carries_version_and_variant() {
        let early = uuid_v7(1_000, [0xff; 10]);
        let late = uuid_v7(1_001, [0; 10]);
        assert!(early < late);
        assert_eq!(&early[14..15], "7");
    }

    #[test]
    fn fingerprints_follow_the_clock_and_tell_every_part_apart() {
        let of = |id: &str, ms, text: &str| fingerprint(id, ms, text);
        let now = Some(1_700_000_000_000);
        assert!(of("a", now, "x") < of("a", Some(1_700_000_001_000), "x"));
        assert_eq!(of("a", now, "x"), of("a", now, "x"));
        for other in
            [of("b", now, "x"), of("a", Some(1_700_000_000_001), "x"), of("a", now, "y"), of("a", None, "x")]
        {
            assert_ne!(of("a", now, "x"), other);
        }
        assert_eq!(of("a", Some(-5), "x")[..5], of("a", None, "x")[..5]);
    }

    #[test]
    fn content_hash_ignores_white_space_only() {
        assert_eq!(content_hash("lesson", "a  b", "c"), content_hash("lesson", "a b", " c\n"));
        assert_ne!(content_hash("lesson", "a b", "c"), content_hash("lesson", "a", "b c"));
    }
}
