//! Running `doze` (or any program) in a home, with a deadline.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{self, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{Home, PATIENCE, until};

/// A program about to run.
#[derive(Debug)]
pub struct Command {
    inner: process::Command,
    stdin: Option<Vec<u8>>,
    hold_stdin: bool,
}

/// What a program did.
#[derive(Debug)]
pub struct Ran {
    /// Its exit status; panics in [`Command::run`] when a signal ended it.
    pub code: i32,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
    /// From the start until it was waited for.
    pub took: Duration,
}

impl Command {
    pub(crate) fn new(program: &Path, home: &Home) -> Self {
        let mut inner = process::Command::new(program);
        inner.env_clear().envs(home.environment()).current_dir(home.path());
        Self { inner, stdin: None, hold_stdin: false }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.inner.arg(arg);
        self
    }

    /// Adds arguments.
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.inner.args(args);
        self
    }

    /// Sets a variable.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.inner.env(name, value);
        self
    }

    /// Runs it in `dir` instead of the home.
    pub fn cwd(mut self, dir: &Path) -> Self {
        self.inner.current_dir(dir);
        self
    }

    /// What it reads; without this its stdin is empty.
    pub fn stdin(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(text.into());
        self
    }

    /// Leaves stdin open after what was written, as some agents do.
    pub fn hold_stdin(mut self) -> Self {
        self.hold_stdin = true;
        self
    }

    /// Runs it to its end. Panics when it takes longer than [`PATIENCE`], or when a signal ended it.
    #[track_caller]
    pub fn run(mut self) -> Ran {
        let start = Instant::now();
        let mut child = self
            .inner
            .stdin(if self.stdin.is_some() || self.hold_stdin { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("{:?} does not start: {e}", self.inner));
        let stdout = drain(child.stdout.take());
        let stderr = drain(child.stderr.take());
        let mut input = child.stdin.take();
        if let (Some(pipe), Some(text)) = (&mut input, &self.stdin) {
            // A program that does not want all of it closes the pipe, which is its right.
            let _ = pipe.write_all(text);
        }
        if !self.hold_stdin {
            input = None;
        }
        let status = wait(&mut child, start, &self.inner);
        let took = start.elapsed();
        drop(input);
        let code =
            status.code().unwrap_or_else(|| panic!("{:?} was ended by a signal: {status}", self.inner));
        Ran { code, stdout: collect(stdout), stderr: collect(stderr), took }
    }
}

fn wait(child: &mut process::Child, start: Instant, command: &process::Command) -> ExitStatus {
    until("a program to end", || {
        if start.elapsed() > PATIENCE / 2 {
            let _ = child.kill();
            panic!("{command:?} does not end");
        }
        child.try_wait().expect("the child can be waited for")
    })
}

/// Reads a pipe to its end beside the waiting, so that a full pipe never blocks the program.
fn drain(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

fn collect(reader: thread::JoinHandle<Vec<u8>>) -> String {
    let bytes = reader.join().expect("the reader of a pipe does not panic");
    String::from_utf8(bytes).expect("the program prints UTF-8")
}

impl Ran {
    /// The run, which has to have ended with 0.
    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.code, 0, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// What it printed, as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        match serde_json::from_str(&self.stdout) {
            Ok(value) => value,
            Err(e) => {
                panic!("stdout is not one JSON document ({e}): {}\nstderr: {}", self.stdout, self.stderr)
            }
        }
    }
}
