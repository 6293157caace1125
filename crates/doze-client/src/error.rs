//! Why a call brought no answer.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use doze_protocol::{ErrorKind, Exit, WireError};

/// Why a call brought no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// Nobody answers at any of the places.
    #[error("cannot connect to dozed at {}", path.display())]
    Connect {
        /// The place that was tried last of those that exist, else the first one.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The deadline has passed.
    #[error("dozed did not answer within {} ms ({doing})", after.as_millis())]
    Timeout {
        /// What was being waited for.
        doing: &'static str,
        /// How long it was waited for.
        after: Duration,
    },
    /// The connection broke before the answer was complete.
    #[error("the connection to dozed broke")]
    Lost {
        /// What the system says.
        source: io::Error,
    },
    /// What came back is no answer to what was asked.
    #[error("what answers at the socket does not speak the protocol of doze")]
    Garbled,
    /// The request does not fit into a line.
    #[error("the request has {bytes} bytes, a line may have {limit}")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The bound.
        limit: usize,
    },
    /// The daemon answered with an error.
    #[error("{0}")]
    Daemon(WireError),
}

impl CallError {
    /// What to do about it.
    pub fn hint(&self) -> &str {
        match self {
            Self::Connect { .. } => "is dozed running? start it with `doze up`",
            Self::Timeout { .. } => "dozed is busy or stuck; `doze status` tells which",
            Self::Lost { .. } => "dozed stopped or was restarted; try again",
            Self::Garbled => {
                "another program listens there; stop it, or choose another place with DOZE_SOCKET"
            }
            Self::TooLarge { .. } => "send it in pieces with session.append",
            Self::Daemon(error) => &error.hint,
        }
    }

    /// The exit status of a program that ends because of it.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Connect { .. } | Self::Lost { .. } => Exit::Unreachable,
            Self::Timeout { .. } => Exit::Busy,
            Self::Garbled => Exit::Protocol,
            Self::TooLarge { .. } => Exit::BadInput,
            Self::Daemon(error) => error.exit(),
        }
    }

    /// Whether the same request may succeed later, so that a commit belongs into the spool. A request that the daemon
    /// found wrong or refused would be wrong tomorrow too.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Connect { .. } | Self::Timeout { .. } | Self::Lost { .. } | Self::Garbled => true,
            Self::TooLarge { .. } => false,
            Self::Daemon(error) => {
                error.code == doze_protocol::code::PROTOCOL
                    || matches!(
                        error.kind,
                        ErrorKind::Busy
                            | ErrorKind::Unavailable
                            | ErrorKind::Internal
                            | ErrorKind::UnknownMethod
                    )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_work_later_is_told_from_what_will_not() {
        let connect =
            CallError::Connect { path: "/r/s".into(), source: io::ErrorKind::ConnectionRefused.into() };
        assert_eq!(connect.to_string(), "cannot connect to dozed at /r/s");
        assert_eq!((connect.exit(), connect.is_temporary()), (Exit::Unreachable, true));
        for (kind, temporary) in [
            (ErrorKind::Busy, true),
            (ErrorKind::Unavailable, true),
            (ErrorKind::Internal, true),
            (ErrorKind::Invalid, false),
            (ErrorKind::Refused, false),
            (ErrorKind::TooLarge, false),
        ] {
            assert_eq!(CallError::Daemon(WireError::new(kind, "m")).is_temporary(), temporary, "{kind}");
        }
        let mismatch = CallError::Daemon(WireError::protocol_mismatch(9));
        assert_eq!((mismatch.exit(), mismatch.is_temporary()), (Exit::Protocol, true));
    }
}
