//! The daemon as commands see it: connected at the first call, its errors naming the command that helps.

use std::io;
use std::time::{Duration, Instant};

use doze_client::{CallError, Client, Paths};
use doze_protocol::Exit;
use serde_json::Value;

use crate::error::CommandError;

/// Longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// The client's name in the daemon's log.
const NAME: &str = concat!("doze/", env!("CARGO_PKG_VERSION"));

/// A connection that is made when it is first needed.
#[derive(Debug, Default)]
pub(crate) struct Daemon {
    /// Where it is; nothing for the user's own.
    paths: Option<Paths>,
    client: Option<Client>,
}

/// Where everything of this user lies. As root in somebody else's home no command goes further.
pub(crate) fn paths() -> Result<Paths, CommandError> {
    let paths = Paths::discover().map_err(|error| CommandError::new(Exit::Config, error.to_string()))?;
    match paths.foreign_owner() {
        Some(owner) => {
            Err(CommandError::new(Exit::Refused, format!("this home belongs to user {owner}, not to root"))
                .hint("run doze as that user; nothing was written"))
        }
        None => Ok(paths),
    }
}

impl Daemon {
    /// The daemon at these places.
    pub(crate) fn at(paths: Paths) -> Self {
        Self { paths: Some(paths), client: None }
    }

    /// Calls a method and waits for its answer for at most `patience`.
    pub(crate) fn call(
        &mut self,
        method: &str,
        params: Value,
        patience: Duration,
    ) -> Result<Value, CommandError> {
        let client = match &mut self.client {
            Some(client) => client,
            None => {
                let paths = self.paths.clone().map_or_else(paths, Ok)?;
                self.client.insert(Client::connect(&paths, NAME, Instant::now() + CONNECT)?)
            }
        };
        Ok(client.call(method, params, Instant::now() + patience)?)
    }
}

/// Calls `status` or `stop`, which daemons of every version answer, at the given places.
pub(crate) fn call_any_version(
    paths: &Paths,
    method: &str,
    params: Value,
    patience: Duration,
) -> Result<Value, CallError> {
    let deadline = Instant::now() + patience;
    Client::connect_any_version(paths, NAME, deadline)?.call(method, params, deadline)
}

impl From<CallError> for CommandError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Daemon(error) => error.into(),
            CallError::Connect { ref source, .. } => {
                let is_absent =
                    matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused);
                let message = if is_absent { "dozed is not running".to_owned() } else { error.to_string() };
                Self::new(error.exit(), message).hint("start it:  doze up")
            }
            other => Self::new(other.exit(), other.to_string()).hint(other.hint()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_daemon_names_the_command_that_helps() {
        let error = CallError::Connect { path: "/x".into(), source: std::io::ErrorKind::NotFound.into() };
        let error = CommandError::from(error);
        assert_eq!(error.message, "dozed is not running");
        assert_eq!((error.exit, error.hint.as_str()), (Exit::Unreachable, "start it:  doze up"));
    }
}
