//! Handing a hook's call to the daemon within its budget, or a commit to the spool.

use std::time::{Duration, Instant};

use doze_client::{CallError, Client, Paths, Spool};
use doze_protocol::method;
use serde_json::Value;

use super::output::Recalled;

/// Longest wait for a connection, the greeting included.
const CONNECT: Duration = Duration::from_millis(50);

/// Longest wait for a text to inject.
const BRIEF: Duration = Duration::from_millis(300);

/// Longest wait for the acknowledgement of a commit; then it is spooled.
const ACKNOWLEDGEMENT: Duration = Duration::from_millis(100);

/// The hook's name in the daemon's log.
const NAME: &str = concat!("doze-hook/", env!("CARGO_PKG_VERSION"));

/// Asks for a text to inject; nothing when it does not come in time.
pub(super) fn ask(method: &str, params: Value) -> Option<Recalled> {
    let paths = Paths::discover().ok()?;
    let mut client = Client::connect(&paths, NAME, Instant::now() + CONNECT).ok()?;
    client.call_as(method, params, Instant::now() + BRIEF).ok()
}

/// Hands over a commit; what the daemon does not acknowledge in time goes into the spool.
pub(super) fn commit(params: Value) {
    let Ok(paths) = Paths::discover() else { return };
    // As root in somebody else's home nothing may be written there.
    if paths.foreign_owner().is_some() {
        return;
    }
    let handed_over = hand_over(&paths, params.clone());
    if handed_over.is_err_and(|error| error.is_temporary()) {
        // A spool that is full or cannot be written loses this commit; the agent must not notice.
        let _ = Spool::new(&paths.spool).put(method::SESSION_COMMIT, params);
    }
}

fn hand_over(paths: &Paths, params: Value) -> Result<Value, CallError> {
    let mut client = Client::connect(paths, NAME, Instant::now() + CONNECT)?;
    client.call(method::SESSION_COMMIT, params, Instant::now() + ACKNOWLEDGEMENT)
}

/// Tells the daemon something that may get lost.
pub(super) fn note(method: &str, params: Value) {
    let Ok(paths) = Paths::discover() else { return };
    if let Ok(mut client) = Client::connect(&paths, NAME, Instant::now() + CONNECT) {
        let _ = client.call(method, params, Instant::now() + CONNECT);
    }
}
