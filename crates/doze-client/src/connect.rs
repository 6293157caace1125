//! Reaching the socket before a deadline.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, connect, socket};

use crate::private_dir::check_private_dir;
use crate::{CallError, Paths};

/// Connects to the first place at which a daemon answers.
pub(crate) fn connect_any(paths: &Paths, deadline: Instant) -> Result<UnixStream, CallError> {
    let started = Instant::now();
    let mut failed: Option<(PathBuf, io::Error)> = None;
    for path in &paths.sockets {
        let error = match connect_one(paths, path, deadline) {
            Ok(stream) => return Ok(stream),
            Err(error) => error,
        };
        match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
                return Err(CallError::Timeout { doing: "connecting", after: started.elapsed() });
            }
            // A place with nothing in it tells less than one where somebody was.
            io::ErrorKind::NotFound if failed.is_some() => {}
            _ => failed = Some((path.clone(), error)),
        }
    }
    let (path, source) = failed.unwrap_or_else(|| (PathBuf::new(), io::ErrorKind::NotFound.into()));
    Err(CallError::Connect { path, source })
}

fn connect_one(paths: &Paths, path: &Path, deadline: Instant) -> io::Result<UnixStream> {
    if path.starts_with(&paths.local) {
        // Anybody can make a folder in /tmp: talk only to a socket in one that is ours alone.
        check_private_dir(&paths.local).map_err(|error| match error {
            crate::PrivateDirError::Io { source, .. } => source,
            other => io::Error::new(io::ErrorKind::PermissionDenied, other.to_string()),
        })?;
    }
    connect_path(path, deadline)
}

/// Connects to the socket at `path`. Fails with `TimedOut` or `WouldBlock` when the deadline passes, also when the queue
/// of a frozen daemon is full.
pub fn connect_path(path: &Path, deadline: Instant) -> io::Result<UnixStream> {
    let stream = socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&stream, rustix::io::FdFlags::CLOEXEC)?;
    // A daemon that is frozen stops accepting; once its queue is full, connect() waits. The send timeout ends that.
    set_socket_timeout(&stream, Timeout::Send, Some(remaining(deadline)?))?;
    connect(&stream, &SocketAddrUnix::new(path)?)?;
    Ok(UnixStream::from(stream))
}

/// The time left; an error when there is none.
pub(crate) fn remaining(deadline: Instant) -> io::Result<Duration> {
    match deadline.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
        // The kernel counts in microseconds and takes 0 for "for ever".
        left => Ok(left.max(Duration::from_micros(1))),
    }
}
