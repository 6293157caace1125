//! Runs a program once: prompt on stdin, reply on stdout, bounded in time and size, with nothing left running.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tempfile::TempDir;

use crate::Failure;

/// Bytes of a reply that are read; what follows is dropped, and the reader salvages what is complete.
const MAX_REPLY_BYTES: u64 = 1 << 20;
/// Bytes of what a program says on stderr that a failure tells: its end.
const TOLD_BYTES: usize = 400;
/// How often a running program is asked whether it ended and its caller whether it still wants it.
const ASKED_EVERY: Duration = Duration::from_millis(50);
/// How long output may trickle in after the program itself ended.
const GRACE: Duration = Duration::from_millis(500);

/// A reply and what it cost, where that was told.
pub(crate) struct Said {
    pub(crate) text: String,
    pub(crate) tokens: Option<u64>,
}

/// A folder of its own for each run, so that nobody finds a project or a session there; gone afterwards.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Result<Self, Failure> {
        tempfile::Builder::new().prefix("doze-extract-").tempdir().map(Self).map_err(Self::broken)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn put(&self, name: &str, text: &str) -> Result<(), Failure> {
        std::fs::write(self.path().join(name), text).map_err(Self::broken)
    }

    fn broken(source: io::Error) -> Failure {
        Failure::Folder { source }
    }
}

/// One run of a program.
pub(crate) struct Run {
    /// The program and its arguments. No text of a session may be among them: anybody on the machine can read the list
    /// of processes.
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    /// What it gets on stdin.
    pub(crate) input: String,
    /// Variables set for it beside those of this process.
    pub(crate) environment: Vec<(&'static str, String)>,
    pub(crate) timeout: Duration,
}

impl Run {
    /// Runs it in a folder of its own and answers what it printed. An end with anything but 0 is a failure, whatever
    /// was printed. `gave_up` tells whether the caller still wants the answer.
    pub(crate) fn answer(&self, folder: &Path, gave_up: &dyn Fn() -> bool) -> Result<String, Failure> {
        let mut child = self.spawn(folder)?;
        let group = Pid::from_child(&child);
        let _input = feed(&mut child, &self.input);
        let output = collect(child.stdout.take(), MAX_REPLY_BYTES);
        let complaint = collect(child.stderr.take(), MAX_REPLY_BYTES);
        let ended = self.wait(group, gave_up);
        // The leader is not reaped yet, so that its number still belongs to this group: whatever it started goes with it.
        let _ = kill_process_group(group, Signal::KILL);
        let status = child.wait().map_err(|source| self.broken(source))?;
        ended?;
        let output = received(&output);
        if status.success() {
            return Ok(output);
        }
        Err(self.failed(status, &received(&complaint), &output))
    }

    fn spawn(&self, folder: &Path) -> Result<Child, Failure> {
        Command::new(&self.program)
            .args(&self.arguments)
            .current_dir(folder)
            // Hooks of the agent that runs here stay silent, so that its run never becomes a session.
            .env("DOZE_CHILD", "1")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|source| self.broken(source))
    }

    /// Waits for the end without reaping.
    fn wait(&self, group: Pid, gave_up: &dyn Fn() -> bool) -> Result<(), Failure> {
        let deadline = Instant::now() + self.timeout;
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        loop {
            match waitid(WaitId::Pid(group), options) {
                Ok(Some(_)) => return Ok(()),
                Ok(None) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(source) => return Err(self.broken(source.into())),
            }
            if gave_up() {
                return Err(Failure::GivenUp);
            }
            if Instant::now() >= deadline {
                return Err(Failure::TimedOut { who: self.name(), seconds: self.timeout.as_secs() });
            }
            thread::sleep(ASKED_EVERY);
        }
    }

    fn name(&self) -> String {
        self.program.display().to_string()
    }

    fn broken(&self, source: io::Error) -> Failure {
        Failure::NotStarted { who: self.name(), source }
    }

    fn failed(&self, status: ExitStatus, complaint: &str, output: &str) -> Failure {
        // Some programs complain on stdout.
        let said = if complaint.trim().is_empty() { output } else { complaint };
        let said = said.trim();
        let start = said.len().saturating_sub(TOLD_BYTES);
        let start = (start..said.len()).find(|at| said.is_char_boundary(*at)).unwrap_or(start);
        Failure::Program { who: self.name(), status: status.to_string(), said: said[start..].to_owned() }
    }
}

/// Writes on a thread of its own: a program may answer before it has read everything, or never read at all.
fn feed(child: &mut Child, input: &str) -> Option<thread::JoinHandle<()>> {
    let mut stdin = child.stdin.take()?;
    let input = input.to_owned();
    Some(thread::spawn(move || {
        // A program that closes its stdin has read what it wants.
        let _ = stdin.write_all(input.as_bytes());
    }))
}

fn collect(stream: Option<impl Read + Send + 'static>, max_bytes: u64) -> Receiver<Vec<u8>> {
    let (done, output) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            let _ = stream.by_ref().take(max_bytes).read_to_end(&mut bytes);
            // Nobody may wait because nobody reads.
            let _ = done.send(bytes);
            let _ = io::copy(&mut stream, &mut io::sink());
        }
    });
    output
}

fn received(output: &Receiver<Vec<u8>>) -> String {
    match output.recv_timeout(GRACE) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => String::new(),
    }
}
