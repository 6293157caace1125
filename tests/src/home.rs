//! A folder that holds all that one daemon and its clients touch.

use std::cell::Cell;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::{Client, Command, Daemon, Repo, until};

/// A temporary home: `DOZE_HOME`, a `HOME` for agents' own files, and a place for projects. Removed when dropped.
#[derive(Debug)]
pub struct Home {
    dir: TempDir,
    logs: Cell<u32>,
}

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}

impl Home {
    /// An empty home. Its path is short, since a socket's path may have no more than 103 bytes.
    pub fn new() -> Self {
        let base = if Path::new("/tmp").is_dir() { PathBuf::from("/tmp") } else { std::env::temp_dir() };
        let dir =
            tempfile::Builder::new().prefix("dz").tempdir_in(base).expect("a temporary folder can be made");
        for part in ["doze", "user", "projects", "tmp"] {
            fs::create_dir(dir.path().join(part)).expect("the home can be written");
        }
        Self { dir, logs: Cell::new(0) }
    }

    /// A home whose daemon reads this configuration.
    pub fn with_config(toml: &str) -> Self {
        let home = Self::new();
        home.write_config(toml);
        home
    }

    /// Writes the configuration; a running daemon reads it on SIGHUP.
    pub fn write_config(&self, toml: &str) {
        fs::write(self.doze_home().join("doze.toml"), toml).expect("the home can be written");
    }

    /// The folder that holds everything else.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// What `DOZE_HOME` is set to.
    pub fn doze_home(&self) -> PathBuf {
        self.path().join("doze")
    }

    /// What `HOME` is set to.
    pub fn user_home(&self) -> PathBuf {
        self.path().join("user")
    }

    /// Where the daemon's socket is.
    pub fn socket(&self) -> PathBuf {
        self.doze_home().join("run/dozed.sock")
    }

    /// All that a process started here has in its environment: nothing of the developer's.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        vec![
            ("PATH", std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into())),
            ("HOME", self.user_home().into()),
            ("DOZE_HOME", self.doze_home().into()),
            ("TMPDIR", self.path().join("tmp").into()),
            ("LANG", "C.UTF-8".into()),
            ("TZ", "UTC".into()),
            ("RUST_BACKTRACE", "1".into()),
        ]
    }

    /// Starts the daemon and waits until it answers.
    #[track_caller]
    pub fn start(&self) -> Daemon {
        self.start_with(&[], &[])
    }

    /// Starts the daemon with arguments and variables and waits until it answers.
    #[track_caller]
    pub fn start_with(&self, args: &[&str], env: &[(&str, &str)]) -> Daemon {
        let mut daemon = Daemon::spawn(self, args, env);
        daemon.wait_ready();
        daemon
    }

    /// Starts a daemon that need not become ready.
    pub fn spawn(&self, args: &[&str]) -> Daemon {
        Daemon::spawn(self, args, &[])
    }

    /// A connection that has said hello. Panics when nobody answers.
    #[track_caller]
    pub fn client(&self) -> Client {
        until("a daemon to answer", || Client::greet(&self.socket()))
    }

    /// `doze` with these arguments, ready to run.
    pub fn doze<S: AsRef<std::ffi::OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        Command::new(&binary("doze"), self).args(args)
    }

    /// Any other program, in this home.
    pub fn program(&self, program: &Path) -> Command {
        Command::new(program, self)
    }

    /// A git repository with one commit, at `projects/NAME`.
    pub fn repo(&self, name: &str) -> Repo {
        Repo::init(&self.project(name))
    }

    /// The path of a project folder, which is made if it is not there.
    pub fn project(&self, name: &str) -> PathBuf {
        let path = self.path().join("projects").join(name);
        fs::create_dir_all(&path).expect("the home can be written");
        path
    }

    /// Every file below `DOZE_HOME`, relative to it and sorted.
    pub fn files(&self) -> Vec<PathBuf> {
        let root = self.doze_home();
        let mut found = Vec::new();
        let mut open = vec![root.clone()];
        while let Some(dir) = open.pop() {
            for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    open.push(entry.path());
                } else if let Ok(path) = entry.path().strip_prefix(&root) {
                    found.push(path.to_owned());
                }
            }
        }
        found.sort();
        found
    }

    /// The path of the built daemon.
    pub fn doze_program(&self) -> PathBuf {
        binary("doze")
    }

    /// The daemon's program.
    pub fn dozed(&self) -> PathBuf {
        binary("dozed")
    }

    pub(crate) fn fresh_log(&self) -> PathBuf {
        self.logs.set(self.logs.get() + 1);
        self.path().join(format!("dozed-{}.log", self.logs.get()))
    }
}

impl Drop for Home {
    /// Ends a daemon that was started by a command and not by this kit.
    fn drop(&mut self) {
        if let Some(mut client) = Client::greet(&self.socket()) {
            // It may end before it has answered.
            let _ = client.try_call("stop", &serde_json::Value::Null);
        }
    }
}

/// A built binary: programs lie in target/PROFILE, tests and benches in target/PROFILE/deps.
fn binary(name: &str) -> PathBuf {
    let own = std::env::current_exe().expect("a running program knows its own path");
    let parent = own.parent().expect("a program lies in a folder");
    let folder = if parent.ends_with("deps") { parent.parent().unwrap_or(parent) } else { parent };
    let path = folder.join(name);
    assert!(
        path.is_file(),
        "{} is not built: run `cargo test --workspace`, or `cargo build -p dozed -p doze-cli` before this one",
        path.display()
    );
    path
}

/// A file or folder of the repository's test data.
pub fn testdata(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(path)
}
