//! Handing a hook's call to the daemon within its budget, or a commit to the spool.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use doze_client::{CallError, Client, Paths, Spool, check_private_dir};
use doze_protocol::{Hello, Request, method};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, connect, socket};
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

/// Hands over a commit; what the daemon does not acknowledge in time goes into the spool. What is refused for good, or
/// finds no room there, is counted: the agent must not notice, but `doze status` tells.
pub(super) fn commit(params: Value) {
    let Ok(paths) = Paths::discover() else { return };
    // As root in somebody else's home nothing may be written there.
    if paths.foreign_owner().is_some() {
        return;
    }
    let Err(error) = hand_over(&paths, params.clone()) else { return };
    let spool = Spool::new(&paths.spool);
    if !error.is_temporary() || spool.put(method::SESSION_COMMIT, params).is_err() {
        spool.note_lost();
    }
}

fn hand_over(paths: &Paths, params: Value) -> Result<Value, CallError> {
    let mut client = Client::connect(paths, NAME, Instant::now() + CONNECT)?;
    client.call(method::SESSION_COMMIT, params, Instant::now() + ACKNOWLEDGEMENT)
}

/// Tells the daemon something that may get lost: greeting and notification in one write and no answer awaited, so
/// that a tool call costs the agent next to nothing even when the daemon is stuck.
pub(super) fn note(method: &str, params: Value) {
    let Ok(paths) = Paths::discover() else { return };
    let Ok(hello) = serde_json::to_value(Hello::new(NAME)) else { return };
    let mut notification = Request::new(1, method, params);
    notification.id = None;
    let mut lines = Request::new(0, method::HELLO, hello).to_line();
    lines.extend(notification.to_line());
    // In the system's temporary folder anybody can make one.
    for socket in paths
        .sockets
        .iter()
        .filter(|socket| !socket.starts_with(&paths.local) || check_private_dir(&paths.local).is_ok())
    {
        match send_at_once(socket, &lines) {
            // Nobody is there; another place may have the daemon.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {}
            _ => return,
        }
    }
}

/// Connects and writes without waiting: a queue that is full is as good as nobody there.
fn send_at_once(path: &Path, lines: &[u8]) -> io::Result<()> {
    let socket = socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    let mut stream = UnixStream::from(socket);
    stream.write_all(lines)
}
