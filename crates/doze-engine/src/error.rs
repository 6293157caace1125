//! What can go wrong in an operation, in the words a caller can act on.

use doze_store::{ApplyError, ReadError};

/// What a caller can do about an error; the wire's `kind` follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// The thing named does not exist for this owner.
    NotFound,
    /// A value has the wrong form or lies outside a bound, which the message names.
    Invalid,
    /// A line or file is too large.
    TooLarge,
    /// The caller may not do this.
    Refused,
    /// Try again.
    Busy,
    /// Something needed is not there (a full disk, a missing model).
    Unavailable,
    /// A fault of doze.
    Internal,
}

/// An operation failed.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct EngineError {
    /// What sort of failure.
    pub problem: Problem,
    /// What happened.
    pub message: String,
    /// What to do about it; may be empty.
    pub hint: String,
    /// What caused it.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl EngineError {
    /// An error without a cause.
    pub fn new(problem: Problem, message: impl Into<String>) -> Self {
        Self { problem, message: message.into(), hint: String::new(), source: None }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// Adds the cause.
    #[must_use]
    pub fn caused_by(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.source = Some(Box::new(source));
        self
    }

    pub(crate) fn not_found(what: &str, id: impl std::fmt::Display) -> Self {
        Self::new(Problem::NotFound, format!("no {what} {id}"))
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Problem::Invalid, message)
    }

    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::new(Problem::Refused, message)
    }
}

/// An error with everything that caused it, on one line for a log.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

impl From<ReadError> for EngineError {
    fn from(error: ReadError) -> Self {
        Self::new(Problem::Unavailable, "the store could not be read")
            .hint("see `doze status` and the log of dozed")
            .caused_by(error)
    }
}

impl From<ApplyError> for EngineError {
    fn from(error: ApplyError) -> Self {
        let (problem, message, hint) = match &error {
            ApplyError::Conflict { .. } => {
                (Problem::Busy, "others kept changing the same records", "try again")
            }
            ApplyError::StorageFull => {
                (Problem::Unavailable, "the disk is full", "free some space; writing resumes by itself")
            }
            ApplyError::Invalid(_) => {
                (Problem::Internal, "the store refused a change", "see the log of dozed")
            }
            _ => (Problem::Unavailable, "the store could not be written", "see the log of dozed"),
        };
        Self::new(problem, message).hint(hint).caused_by(error)
    }
}
