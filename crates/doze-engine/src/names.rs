//! Bounds of what callers hand in: names of sessions, agents, commits and folders, texts, lists. Outside a bound is an
//! error that names it (`R14`).

use doze_core::model::{AgentId, AgentRef, hex};
use doze_core::{redact, text};
use sha2::{Digest, Sha256};

use crate::EngineError;

/// Longest name, in bytes.
pub(crate) const MAX_NAME_BYTES: usize = 512;
/// Longest folder or file name, in bytes.
pub(crate) const MAX_PATH_BYTES: usize = 4_096;

/// A name that can be kept and shown: not too long, and on one line.
pub(crate) fn check_name(field: &str, value: &str) -> Result<(), EngineError> {
    check(field, value, MAX_NAME_BYTES)
}

/// A name that is not empty either, also to the eye: nobody could name it, and no file of it would be read again.
pub(crate) fn check_given(field: &str, value: &str) -> Result<(), EngineError> {
    if text::one_line(value).is_empty() {
        return Err(EngineError::invalid(format!("{field} is empty")));
    }
    check_name(field, value)
}

/// A folder's or file's name.
pub(crate) fn check_path(field: &str, value: &str) -> Result<(), EngineError> {
    check(field, value, MAX_PATH_BYTES)
}

/// An agent's names.
pub(crate) fn check_agent(agent: &AgentRef) -> Result<(), EngineError> {
    check_given("agent", agent.id.as_str())?;
    check_name("agent.name", &agent.name)?;
    check_name("agent.harness", &agent.harness)
}

fn check(field: &str, value: &str, max: usize) -> Result<(), EngineError> {
    if value.len() > max {
        return Err(EngineError::invalid(format!("{field} is longer than {max} bytes")));
    }
    if value.chars().any(char::is_control) {
        return Err(EngineError::invalid(format!("{field} holds a control character")));
    }
    Ok(())
}

/// A text of at most `max` characters.
pub(crate) fn check_chars(field: &str, value: &str, max: usize) -> Result<(), EngineError> {
    // The length in bytes settles most texts without counting.
    if value.len() > max && value.chars().nth(max).is_some() {
        return Err(EngineError::invalid(format!("{field} is longer than {max} characters")));
    }
    Ok(())
}

/// A list of at most `max` entries.
pub(crate) fn check_count(field: &str, count: usize, max: usize) -> Result<(), EngineError> {
    if count > max {
        return Err(EngineError::invalid(format!("{field} holds more than {max} entries")));
    }
    Ok(())
}

/// The name itself, or a stand-in for one that holds a secret: always the same one, so that repeating changes nothing.
pub(crate) fn safe_name(value: &str) -> String {
    if redact::redact(value).hits.is_empty() {
        return value.to_owned();
    }
    format!("redacted-{}", hex(&Sha256::digest(value.as_bytes())[..8]))
}

/// An agent without secrets in its names.
pub(crate) fn safe_agent(agent: AgentRef) -> AgentRef {
    AgentRef {
        id: AgentId::new(safe_name(agent.id.as_str())),
        name: safe_name(&agent.name),
        harness: safe_name(&agent.harness),
    }
}
