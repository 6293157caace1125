//! Runs a program once: prompt on stdin, reply on stdout, bounded in time and size, with nothing left running.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tempfile::TempDir;

use crate::told::{Teller, without_broken_word};
use crate::{Failure, find, remains};

/// Bytes of a reply that are read; what follows is dropped, and the reader salvages what is complete.
const MAX_REPLY_BYTES: usize = 1 << 20;
/// Bytes of what a program says on stderr that a failure tells: its end.
const TOLD_BYTES: usize = 400;
/// How often a running program is asked whether it ended and its caller whether it still wants it.
const ASKED_EVERY: Duration = Duration::from_millis(50);
/// How long output may trickle in after the program itself ended.
const GRACE: Duration = Duration::from_millis(500);
/// How often a program that is just being replaced by its update is tried again, after a pause each.
const BUSY_TRIES: usize = 10;
/// Variables of this process that would tell a program that it runs inside something it does not run inside: the
/// service manager's, an agent's that started the daemon, a repository's, and doze's own.
const NOT_PASSED_ON: &[&str] = &[
    "NOTIFY_SOCKET",
    "WATCHDOG_PID",
    "WATCHDOG_USEC",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_PROJECT_DIR",
    "CLAUDE_ENV_FILE",
    "CODEX_THREAD_ID",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "GEMINI_CLI",
    "OPENCODE",
    "OPENCODE_PID",
    "OPENCODE_SERVER_PASSWORD",
    "AGENT",
    "OLDPWD",
];
const NOT_PASSED_ON_PREFIXES: &[&str] = &["DOZE_", "LISTEN_", "GIT_"];

/// A reply and what it cost, where that was told.
pub(crate) struct Said {
    pub(crate) text: String,
    pub(crate) tokens: Option<u64>,
}

/// A folder of its own for each run, so that nobody finds a project or a session there; gone afterwards.
pub(crate) struct Folder {
    folder: TempDir,
    /// Held as long as the folder is in use.
    _lock: File,
}

impl Folder {
    pub(crate) fn new() -> Result<Self, Failure> {
        remains::folder().map(|(folder, lock)| Self { folder, _lock: lock }).map_err(Self::broken)
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file; `name` may begin with one folder.
    pub(crate) fn put(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.path().join(name);
        let folder = path.parent().unwrap_or(self.path());
        fs::create_dir_all(folder).and_then(|()| fs::write(&path, text)).map_err(Self::broken)
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

/// How a run ended.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// What was printed on stdout.
    pub(crate) printed: String,
    complaint: String,
    who: String,
}

impl Ended {
    /// What was printed, if the run succeeded: an end with anything but 0 is a failure, whatever was printed.
    pub(crate) fn reply(self, teller: &Teller) -> Result<String, Failure> {
        if self.status.success() { Ok(self.printed) } else { Err(self.failure(teller, None)) }
    }

    /// The failure, with `said` as the reason where one is known.
    pub(crate) fn failure(&self, teller: &Teller, said: Option<String>) -> Failure {
        // Some programs complain on stdout.
        let complaint = [&self.complaint, &self.printed].into_iter().find(|text| !text.trim().is_empty());
        let told = || {
            let complaint = complaint.map_or("it said nothing", String::as_str);
            // Beyond the bound nothing was read: the last word may be half a secret.
            let is_whole = complaint.len() < MAX_REPLY_BYTES;
            teller.end(if is_whole { complaint } else { without_broken_word(complaint) }, TOLD_BYTES)
        };
        Failure::Program {
            who: self.who.clone(),
            status: self.status.to_string(),
            said: said.unwrap_or_else(told),
        }
    }
}

impl Run {
    /// Runs it in `folder` until it ends. `gave_up` tells whether the caller still wants the answer.
    pub(crate) fn answer(&self, folder: &Path, gave_up: &dyn Fn() -> bool) -> Result<Ended, Failure> {
        let mut child = self.spawn(folder)?;
        let group = Pid::from_child(&child);
        feed(&mut child, &self.input);
        let output = Output::of(child.stdout.take());
        let complaint = Output::of(child.stderr.take());
        let ended = self.wait(group, gave_up);
        // The leader is not reaped yet, so that its number still belongs to this group: whatever it started goes with it.
        let _ = kill_process_group(group, Signal::KILL);
        let status = child.wait().map_err(|source| self.broken(source))?;
        remains::end_marked(folder);
        ended?;
        let deadline = Instant::now() + GRACE;
        Ok(Ended {
            status,
            printed: output.received(deadline),
            complaint: complaint.received(deadline),
            who: self.name(),
        })
    }

    fn spawn(&self, folder: &Path) -> Result<Child, Failure> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .current_dir(folder)
            .env_clear()
            .envs(passed_on(env::vars_os(), &self.program, folder))
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        end_with_us(&mut command);
        for _ in 0..BUSY_TRIES {
            match command.spawn() {
                Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => thread::sleep(ASKED_EVERY),
                started => return started.map_err(|source| self.broken(source)),
            }
        }
        command.spawn().map_err(|source| self.broken(source))
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
}

/// A program ends with the thread that waits for it, also when this process is killed. What it started is found by
/// [`remains::clear_remains`] at the next start.
#[cfg(target_os = "linux")]
fn end_with_us(command: &mut Command) {
    use rustix::process::{getpid, getppid, set_parent_process_death_signal};

    let parent = getpid();
    let ask = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // It may have been too late to ask.
        if getppid() == Some(parent) { Ok(()) } else { Err(io::ErrorKind::NotConnected.into()) }
    };
    // SAFETY: between fork and exec `ask` makes two system calls; it allocates nothing, takes no lock and touches no
    // memory but its own copy of a number.
    unsafe { command.pre_exec(ask) };
}

/// There is no such request here: a program whose daemon is killed ends when it is done, or when nobody reads it.
#[cfg(not(target_os = "linux"))]
fn end_with_us(_command: &mut Command) {}

/// The variables of this process as a program sees them that runs in `folder`.
fn passed_on(
    ours: impl Iterator<Item = (OsString, OsString)>,
    program: &Path,
    folder: &Path,
) -> Vec<(OsString, OsString)> {
    let stays = |name: &OsStr| {
        let name = name.to_string_lossy();
        !NOT_PASSED_ON.contains(&name.as_ref())
            && !NOT_PASSED_ON_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    };
    let mut all: Vec<(OsString, OsString)> = ours.filter(|(name, _)| stays(name)).collect();
    let path = all.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
    all.extend(find::path_with(program, path.as_deref()).map(|path| ("PATH".into(), path)));
    all.push(("PWD".into(), folder.as_os_str().to_owned()));
    // Hooks of the agent that runs here stay silent, so that its run never becomes a session.
    all.push(("DOZE_CHILD".into(), "1".into()));
    all.push((remains::MARK.into(), folder.as_os_str().to_owned()));
    all
}

/// Writes on a thread of its own: a program may answer before it has read everything, or never read at all.
fn feed(child: &mut Child, input: &str) {
    let Some(mut stdin) = child.stdin.take() else { return };
    let input = input.to_owned();
    thread::spawn(move || {
        // A program that closes its stdin has read what it wants.
        let _ = stdin.write_all(input.as_bytes());
    });
}

/// What a program prints, as far as it has been read.
struct Output {
    bytes: Arc<Mutex<Vec<u8>>>,
    ended: Receiver<()>,
}

impl Output {
    fn of(stream: Option<impl Read + Send + 'static>) -> Self {
        let (done, ended) = channel();
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&bytes);
        thread::spawn(move || {
            if let Some(mut stream) = stream {
                keep(&mut stream, &kept);
                let _ = done.send(());
                // Nobody may wait because nobody reads.
                let _ = io::copy(&mut stream, &mut io::sink());
            }
        });
        Self { bytes, ended }
    }

    /// All of it, or what is there at the deadline: something that got away from the program's group may hold the pipe.
    fn received(&self, deadline: Instant) -> String {
        let _ = self.ended.recv_timeout(deadline.saturating_duration_since(Instant::now()));
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Reads to the end or the bound.
fn keep(stream: &mut impl Read, kept: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 8192];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(read) => {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                let room = MAX_REPLY_BYTES.saturating_sub(kept.len());
                kept.extend_from_slice(&buffer[..read.min(room)]);
                if read >= room {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_does_not_see_what_the_daemon_runs_in() {
        let ours = [
            ("HOME", "/home/dev"),
            ("PATH", "/usr/bin"),
            ("ANTHROPIC_API_KEY", "k"),
            ("HTTPS_PROXY", "p"),
            ("CLAUDE_CONFIG_DIR", "/c"),
            ("DOZE_HOME", "/d"),
            ("DOZE_CHILD", "0"),
            ("NOTIFY_SOCKET", "/run/n"),
            ("LISTEN_FDS", "1"),
            ("CLAUDECODE", "1"),
            ("CLAUDE_CODE_ENTRYPOINT", "cli"),
            ("GIT_DIR", "/r/.git"),
            ("PWD", "/r"),
        ];
        let ours = ours.into_iter().map(|(name, value)| (name.into(), value.into()));
        let seen = passed_on(ours, Path::new("/n/bin/codex"), Path::new("/tmp/f"));
        // The later of two wins, as it does for the program.
        let seen: std::collections::BTreeMap<_, _> = seen.into_iter().collect();
        let seen: Vec<String> =
            seen.iter().map(|(n, v)| format!("{}={}", n.display(), v.display())).collect();
        assert_eq!(
            seen,
            [
                "ANTHROPIC_API_KEY=k",
                "CLAUDE_CONFIG_DIR=/c",
                "DOZE_CHILD=1",
                "DOZE_RUN=/tmp/f",
                "HOME=/home/dev",
                "HTTPS_PROXY=p",
                "PATH=/n/bin:/usr/bin",
                "PWD=/tmp/f"
            ]
        );
    }
}
