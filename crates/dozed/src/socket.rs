//! The listening socket: handed over by the service manager, or made at the first good place.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use doze_client::{Paths, PrivateDirError, create_private_dir};
use interprocess::local_socket::tokio::Listener;
use interprocess::local_socket::{GenericFilePath, ListenerOptions, ToFsName};
use interprocess::os::unix::local_socket::ListenerOptionsExt;

use crate::file_system;

/// How long a stranger at our place has to answer before it counts as alive but stuck.
const PROBE: Duration = Duration::from_millis(500);

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// The socket that the service manager handed over cannot be used.
    #[error("the socket handed over by the service manager cannot be used")]
    Activation(#[source] io::Error),
    /// Another process listens there.
    #[error("another process listens at {}", path.display())]
    Taken {
        /// The place.
        path: PathBuf,
    },
    /// Something that is no socket lies there.
    #[error("{} is there and is no socket", path.display())]
    NotASocket {
        /// The place.
        path: PathBuf,
    },
    /// The folder of the socket cannot be used.
    #[error("the folder of the socket cannot be used")]
    Dir(#[from] PrivateDirError),
    /// It cannot be bound.
    #[error("cannot listen at {} ({} bytes)", path.display(), path.as_os_str().len())]
    Bind {
        /// The place.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Listens, and answers the socket and where it is (`None` for one that the service manager made). The lock must be
/// held: only its holder may replace a stale socket. Needs a Tokio runtime round it.
pub fn listen(paths: &Paths) -> Result<(Listener, Option<PathBuf>), SocketError> {
    if let Some(listener) = activated().map_err(SocketError::Activation)? {
        return Ok((listener, None));
    }
    let mut last = None;
    for (at, path) in paths.sockets.iter().enumerate() {
        let is_last = at + 1 == paths.sockets.len();
        if !is_last
            && !paths.socket_is_fixed
            && (!has_base(paths, path) || file_system::network(path).is_some())
        {
            continue;
        }
        match bind(paths, path) {
            Ok(listener) => return Ok((listener, Some(path.clone()))),
            // Somebody else's socket in one place is a reason to stop, not to go on to the next: clients would meet him.
            Err(error @ (SocketError::Taken { .. } | SocketError::NotASocket { .. })) => return Err(error),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| SocketError::Bind {
        path: PathBuf::new(),
        source: io::ErrorKind::NotFound.into(),
    }))
}

/// A runtime folder is made by the system at login, not by us; folders of our own are made as needed.
fn has_base(paths: &Paths, path: &Path) -> bool {
    let ours = path.starts_with(&paths.state) || path.starts_with(&paths.local);
    ours || path.parent().and_then(Path::parent).is_some_and(Path::is_dir)
}

fn bind(paths: &Paths, path: &Path) -> Result<Listener, SocketError> {
    if let Some(folder) = path.parent() {
        // The folder of an explicit place belongs to whoever chose it; it is only made when it is missing.
        if !paths.socket_is_fixed || !folder.is_dir() {
            create_private_dir(folder)?;
        }
    }
    match std::fs::symlink_metadata(path) {
        Ok(meta) if !meta.file_type().is_socket() => {
            return Err(SocketError::NotASocket { path: path.to_owned() });
        }
        Ok(_) if is_alive(path) => return Err(SocketError::Taken { path: path.to_owned() }),
        _ => {}
    }
    let failed = |source| SocketError::Bind { path: path.to_owned(), source };
    let listener = match options(path).map_err(failed)?.mode(0o600).create_tokio() {
        // Some systems cannot bind with a mode; the 0700 folder keeps others out until the mode is set.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {
            let listener = options(path).map_err(failed)?.create_tokio().map_err(failed)?;
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
            listener
        }
        other => other.map_err(failed)?,
    };
    Ok(listener)
}

fn options(path: &Path) -> io::Result<ListenerOptions<'_>> {
    Ok(ListenerOptions::new().name(path.to_fs_name::<GenericFilePath>()?).try_overwrite(true))
}

/// A refused connection means that nobody listens. Anything else, a full queue too, means that somebody does.
fn is_alive(path: &Path) -> bool {
    match doze_client::connect_path(path, Instant::now() + PROBE) {
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound),
    }
}

/// The socket of the service manager: the one named `dozed` (or as the socket unit), or the only one.
fn activated() -> io::Result<Option<Listener>> {
    let passed: Vec<(i32, String)> = sd_notify::listen_fds_with_names()?.collect();
    let named = passed.iter().find(|(_, name)| name == "dozed" || name == "dozed.socket");
    let Some((fd, _)) = named.or(passed.first()) else { return Ok(None) };
    // SAFETY: the service manager opened this descriptor for this process (LISTEN_PID was checked) and nothing else in
    // the process has taken it: this function runs once, before anything uses the descriptors from 3 on.
    let fd = unsafe { OwnedFd::from_raw_fd(*fd) };
    let listener = interprocess::os::unix::uds_local_socket::tokio::Listener::try_from(fd)?;
    Ok(Some(listener.into()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    fn home(dir: &Path) -> Paths {
        Paths::in_home(dir, rustix::process::geteuid().as_raw())
    }

    #[tokio::test]
    async fn the_socket_is_private_and_goes_with_its_listener() {
        let dir = tempfile::tempdir().unwrap();
        let paths = home(dir.path());
        let (listener, path) = listen(&paths).unwrap();
        let path = path.unwrap();
        assert_eq!(path, dir.path().join("run/dozed.sock"));
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(std::fs::metadata(path.parent().unwrap()).unwrap().mode() & 0o777, 0o700);
        drop(listener);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_stale_socket_is_replaced_and_a_live_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let paths = home(dir.path());
        create_private_dir(paths.sockets[0].parent().unwrap()).unwrap();
        let stranger = UnixListener::bind(&paths.sockets[0]).unwrap();
        assert!(matches!(listen(&paths).unwrap_err(), SocketError::Taken { .. }));
        drop(stranger);
        let (_listener, path) = listen(&paths).unwrap();
        UnixStream::connect(path.unwrap()).unwrap();
    }

    #[tokio::test]
    async fn a_file_in_the_way_is_not_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let paths = home(dir.path());
        create_private_dir(paths.sockets[0].parent().unwrap()).unwrap();
        std::fs::write(&paths.sockets[0], "precious").unwrap();
        assert!(matches!(listen(&paths).unwrap_err(), SocketError::NotASocket { .. }));
        assert_eq!(std::fs::read_to_string(&paths.sockets[0]).unwrap(), "precious");
    }

    #[tokio::test]
    async fn a_home_too_deep_for_a_socket_gets_one_that_the_client_finds() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("d".repeat(110));
        let paths = home(&deep);
        let (listener, path) = listen(&paths).unwrap();
        let path = path.unwrap();
        assert!(path.starts_with("/tmp") && path.as_os_str().len() < 107);
        assert!(doze_client::connect_path(&path, Instant::now() + Duration::from_secs(20)).is_ok());
        drop(listener);
        std::fs::remove_dir(&paths.local).unwrap();
    }

    #[tokio::test]
    async fn a_chosen_place_is_taken_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let mut paths = home(&dir.path().join("home"));
        let chosen = dir.path().join("here.sock");
        paths.set_socket(&chosen, 0);
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let (_listener, path) = listen(&paths).unwrap();
        assert_eq!(path, Some(chosen));
        assert_eq!(std::fs::metadata(dir.path()).unwrap().mode() & 0o777, 0o755, "not ours to change");
    }
}
