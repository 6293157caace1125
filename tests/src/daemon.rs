//! A running `dozed`.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::{Client, Home, until};

/// How a daemon ended.
#[derive(Debug)]
pub struct Exited {
    /// Its exit status; `None` when a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What it wrote to stderr in its life.
    pub stderr: String,
}

/// A `dozed` that this test started. Dropping it kills it.
#[derive(Debug)]
pub struct Daemon {
    child: Child,
    socket: PathBuf,
    log: PathBuf,
}

impl Daemon {
    /// Starts it and does not wait.
    pub(crate) fn spawn(home: &Home, args: &[&str], env: &[(&str, &str)]) -> Self {
        let log = home.fresh_log();
        let stderr = File::create(&log).expect("the home can be written");
        let child = std::process::Command::new(home.dozed())
            .args(args)
            .env_clear()
            .envs(home.environment())
            .envs(env.iter().copied())
            .current_dir(home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr)
            .spawn()
            .expect("dozed starts");
        Self { child, socket: home.socket(), log }
    }

    /// Waits until it answers a greeting. Panics when it ends before that.
    #[track_caller]
    pub fn wait_ready(&mut self) {
        let socket = self.socket.clone();
        until("dozed to answer", || {
            if let Some(status) = self.child.try_wait().expect("the child can be waited for") {
                panic!("dozed ended before it was ready ({status}):\n{}", self.stderr());
            }
            Client::greet(&socket)
        });
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has written to stderr so far.
    pub fn stderr(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("dozed can be signalled");
    }

    /// Stops it in its tracks, as a suspended machine or a debugger would.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    /// Ends it at once and without warning.
    pub fn kill(mut self) {
        self.signal(Signal::KILL);
        self.child.wait().expect("the child can be waited for");
    }

    /// Asks it to end and waits for that.
    #[track_caller]
    pub fn terminate(self) -> Exited {
        self.signal(Signal::TERM);
        self.wait_exit()
    }

    /// Waits until it ends by itself.
    #[track_caller]
    pub fn wait_exit(mut self) -> Exited {
        let status = until("dozed to end", || self.child.try_wait().expect("the child can be waited for"));
        Exited { code: status.code(), signal: status.signal(), stderr: self.stderr() }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Already ended is fine. A frozen process dies of SIGKILL as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("stderr of dozed:\n{}", self.stderr());
        }
    }
}
