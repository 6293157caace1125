//! Where everything lies. Client and daemon ask the same function, so that they meet.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Bytes a socket's path may have, without the closing NUL: `sun_path` has 108 bytes on Linux and 104 on macOS.
pub const SOCKET_PATH_BYTES_MAX: usize = if cfg!(target_os = "macos") { 103 } else { 107 };

/// What of the process's surroundings decides where things lie. Handed in, so that a test can be another machine.
pub struct Environment<'a> {
    /// Reads a variable.
    pub var: &'a dyn Fn(&str) -> Option<OsString>,
    /// The effective user.
    pub uid: u32,
    /// The user's home where `HOME` does not say.
    pub home: Option<PathBuf>,
}

/// Why the places cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum PathsError {
    /// Neither `DOZE_HOME` nor `HOME` is set and the user has no home in the user database.
    #[error("there is no home folder: set HOME or DOZE_HOME")]
    NoHome,
    /// `DOZE_HOME` or `DOZE_SOCKET` is relative and there is no current folder to start from.
    #[error("the relative path {} cannot be made absolute", path.display())]
    Relative {
        /// The path as given.
        path: PathBuf,
    },
}

/// Where everything lies.
///
/// Under `DOZE_HOME`: `doze.toml`, `data/`, `state/`, `cache/`, `run/dozed.sock`, `logs/`, `spool/`. Without it the
/// XDG folders, each with a folder `doze` in it; empty and relative XDG variables count as unset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// The configuration file.
    pub config: PathBuf,
    /// What must not be lost: the store and its backups.
    pub data: PathBuf,
    /// What is worth keeping: the lock, cursors, the spool and logs of a home without `DOZE_HOME`.
    pub state: PathBuf,
    /// What can be made again: the index, caches.
    pub cache: PathBuf,
    /// Log files.
    pub logs: PathBuf,
    /// Commits that wait for the daemon.
    pub spool: PathBuf,
    /// Where the daemon may have put its socket, in the order in which it tries.
    pub sockets: Vec<PathBuf>,
    /// Set by `DOZE_SOCKET`: the only place that counts.
    pub socket_is_fixed: bool,
    /// A folder on the machine's own file system that nobody else shares: the place for the socket whose path would
    /// be too long, and for socket and lock of a home on a network file system.
    pub local: PathBuf,
}

impl Paths {
    /// The places for this process.
    pub fn discover() -> Result<Self, PathsError> {
        Self::resolve(&Environment {
            var: &|name| std::env::var_os(name),
            uid: rustix::process::geteuid().as_raw(),
            home: std::env::home_dir(),
        })
    }

    /// The places for a process in these surroundings.
    pub fn resolve(env: &Environment<'_>) -> Result<Self, PathsError> {
        let mut paths = match set(env, "DOZE_HOME") {
            Some(home) => Self::in_home(&absolute(home)?, env.uid),
            None => Self::in_xdg(env)?,
        };
        if let Some(socket) = set(env, "DOZE_SOCKET") {
            paths.set_socket(&absolute(socket)?, env.uid);
        }
        Ok(paths)
    }

    /// Everything under one folder, as `DOZE_HOME` and `dozed --home` have it.
    pub fn in_home(home: &Path, uid: u32) -> Self {
        let local = local_dir(home, uid);
        Self {
            config: home.join("doze.toml"),
            data: home.join("data"),
            state: home.join("state"),
            cache: home.join("cache"),
            logs: home.join("logs"),
            spool: home.join("spool"),
            sockets: bindable([home.join("run/dozed.sock"), local.join("s")]),
            socket_is_fixed: false,
            local,
        }
    }

    fn in_xdg(env: &Environment<'_>) -> Result<Self, PathsError> {
        let home = set(env, "HOME").filter(|home| home.is_absolute()).or_else(|| env.home.clone());
        let base = |variable: &str, default: &str| match set(env, variable) {
            Some(path) if path.is_absolute() => Ok(path.join("doze")),
            _ => home.as_ref().map(|home| home.join(default).join("doze")).ok_or(PathsError::NoHome),
        };
        let macos = cfg!(target_os = "macos");
        let support = "Library/Application Support";
        let state = base("XDG_STATE_HOME", if macos { support } else { ".local/state" })?;
        let local = local_dir(&state, env.uid);
        let mut sockets = Vec::new();
        if let Some(runtime) = set(env, "XDG_RUNTIME_DIR").filter(|path| path.is_absolute()) {
            sockets.push(runtime.join("doze/dozed.sock"));
        }
        if cfg!(target_os = "linux") {
            sockets.push(PathBuf::from(format!("/run/user/{}/doze/dozed.sock", env.uid)));
        }
        sockets.push(state.join("run/dozed.sock"));
        sockets.push(local.join("s"));
        Ok(Self {
            config: base("XDG_CONFIG_HOME", if macos { support } else { ".config" })?.join("doze.toml"),
            data: base("XDG_DATA_HOME", if macos { support } else { ".local/share" })?,
            cache: base("XDG_CACHE_HOME", if macos { "Library/Caches" } else { ".cache" })?,
            logs: state.join("logs"),
            spool: state.join("spool"),
            state,
            sockets: bindable(sockets),
            socket_is_fixed: false,
            local,
        })
    }

    /// Puts the socket at `socket`, or, where that path is too long to bind, at a place derived from it.
    pub fn set_socket(&mut self, socket: &Path, uid: u32) {
        self.sockets = bindable([socket.to_owned()]);
        if self.sockets.is_empty() {
            self.sockets.push(local_dir(socket, uid).join("s"));
        }
        self.socket_is_fixed = true;
    }

    /// The store's file.
    pub fn store(&self) -> PathBuf {
        self.data.join("doze.redb")
    }

    /// Where backups are kept.
    pub fn backups(&self) -> PathBuf {
        self.data.join("backups")
    }

    /// The derived indexes.
    pub fn index(&self) -> PathBuf {
        self.cache.join("index")
    }

    /// The lock that decides which daemon runs for this state folder.
    pub fn lock(&self) -> PathBuf {
        self.state.join("dozed.lock")
    }

    /// The user a root process would be writing for: root in a home that belongs to somebody else must write nothing.
    /// `None` when all is well.
    pub fn foreign_owner(&self) -> Option<u32> {
        if rustix::process::geteuid().as_raw() != 0 {
            return None;
        }
        let existing = self.state.ancestors().find_map(|folder| std::fs::metadata(folder).ok())?;
        (existing.uid() != 0).then(|| existing.uid())
    }
}

/// A variable that is set and not empty, as a path.
fn set(env: &Environment<'_>, name: &str) -> Option<PathBuf> {
    (env.var)(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn absolute(path: PathBuf) -> Result<PathBuf, PathsError> {
    std::path::absolute(&path).map_err(|_| PathsError::Relative { path })
}

/// The paths a socket can be bound at, without repetition.
fn bindable(candidates: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut sockets: Vec<PathBuf> = Vec::new();
    for path in candidates {
        if path.as_os_str().len() <= SOCKET_PATH_BYTES_MAX && !sockets.contains(&path) {
            sockets.push(path);
        }
    }
    sockets
}

/// `/tmp/dozed-<uid>-<hash>`; the hash keeps two homes of one user apart. `TMPDIR` is not asked: client and daemon
/// may have different ones.
fn local_dir(home: &Path, uid: u32) -> PathBuf {
    PathBuf::from(format!("/tmp/dozed-{uid}-{}", short_hash(home.as_os_str())))
}

fn short_hash(name: &OsStr) -> String {
    let digest = Sha256::digest(name.as_bytes());
    doze_core::model::hex(&digest[..8])
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn resolve(vars: &[(&str, &str)]) -> Paths {
        let vars: HashMap<&str, &str> = vars.iter().copied().collect();
        let var = |name: &str| vars.get(name).map(OsString::from);
        Paths::resolve(&Environment { var: &var, uid: 1000, home: None }).unwrap()
    }

    fn path(text: &str) -> PathBuf {
        PathBuf::from(text)
    }

    #[test]
    fn one_variable_moves_everything() {
        let paths = resolve(&[("DOZE_HOME", "/d"), ("XDG_STATE_HOME", "/elsewhere"), ("HOME", "/h")]);
        for place in [&paths.config, &paths.data, &paths.state, &paths.cache, &paths.logs, &paths.spool] {
            assert!(place.starts_with("/d"), "{}", place.display());
        }
        assert_eq!(paths.sockets[0], path("/d/run/dozed.sock"));
        assert_eq!(paths.config, path("/d/doze.toml"));
        assert_eq!(paths.store(), path("/d/data/doze.redb"));
        assert_eq!(paths.lock(), path("/d/state/dozed.lock"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn xdg_folders_count_when_they_are_absolute() {
        let paths = resolve(&[
            ("HOME", "/h"),
            ("XDG_CONFIG_HOME", ""),
            ("XDG_DATA_HOME", "relative"),
            ("XDG_STATE_HOME", "/s"),
            ("XDG_RUNTIME_DIR", "/r"),
        ]);
        assert_eq!(paths.config, path("/h/.config/doze/doze.toml"));
        assert_eq!(paths.data, path("/h/.local/share/doze"));
        assert_eq!(paths.state, path("/s/doze"));
        assert_eq!(paths.spool, path("/s/doze/spool"));
        assert_eq!(paths.cache, path("/h/.cache/doze"));
        assert_eq!(paths.sockets[0], path("/r/doze/dozed.sock"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_shell_with_a_runtime_folder_and_a_daemon_without_meet() {
        let shell = resolve(&[("HOME", "/h"), ("XDG_RUNTIME_DIR", "/run/user/1000")]);
        let daemon = resolve(&[("HOME", "/h"), ("XDG_RUNTIME_DIR", "")]);
        for socket in &daemon.sockets {
            assert!(shell.sockets.contains(socket), "{}", socket.display());
        }
        assert_eq!(shell.sockets.len(), 3, "{:?}", shell.sockets);
        let elsewhere = resolve(&[("HOME", "/h"), ("XDG_RUNTIME_DIR", "/r")]);
        assert!(daemon.sockets.iter().all(|socket| elsewhere.sockets.contains(socket)));
    }

    #[test]
    fn a_path_too_long_to_bind_is_replaced_by_a_short_one_that_both_sides_derive() {
        let deep = format!("/{}", "d".repeat(120));
        let paths = resolve(&[("DOZE_HOME", &deep)]);
        assert_eq!(paths.sockets, [paths.local.join("s")]);
        assert!(paths.sockets[0].starts_with("/tmp") && paths.sockets[0].as_os_str().len() < 60);
        assert_eq!(resolve(&[("DOZE_HOME", &deep)]), paths);
        assert_ne!(resolve(&[("DOZE_HOME", &format!("{deep}x"))]).sockets, paths.sockets);
        let exact = format!("/{}", "d".repeat(SOCKET_PATH_BYTES_MAX - 1 - "/run/dozed.sock".len()));
        assert_eq!(resolve(&[("DOZE_HOME", &exact)]).sockets[0].as_os_str().len(), SOCKET_PATH_BYTES_MAX);
    }

    #[test]
    fn the_socket_alone_can_be_moved() {
        let paths = resolve(&[("DOZE_HOME", "/d"), ("DOZE_SOCKET", "/x/y.sock")]);
        assert_eq!((paths.sockets.as_slice(), paths.socket_is_fixed), ([path("/x/y.sock")].as_slice(), true));
        assert_eq!(paths.data, path("/d/data"));
        let long = resolve(&[("DOZE_HOME", "/d"), ("DOZE_SOCKET", &format!("/{}", "s".repeat(200)))]);
        assert!(long.sockets.len() == 1 && long.sockets[0].starts_with("/tmp"));
    }

    #[test]
    fn a_relative_home_is_taken_from_the_current_folder() {
        let paths = resolve(&[("DOZE_HOME", "some/where")]);
        assert_eq!(paths.data, std::env::current_dir().unwrap().join("some/where/data"));
    }

    #[test]
    fn without_a_home_there_is_nothing_to_find() {
        let env = Environment { var: &|_| None, uid: 1000, home: None };
        assert!(matches!(Paths::resolve(&env), Err(PathsError::NoHome)));
        let env = Environment { var: &|_| None, uid: 1000, home: Some(path("/from/passwd")) };
        assert!(Paths::resolve(&env).unwrap().state.starts_with("/from/passwd"));
    }
}
