//! A daemon of one's own for a few minutes: in a temporary home, and gone without a trace however the trial ends.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use doze_client::Paths;
use doze_protocol::{Exit, method};
use rustix::process::{Pid, Signal, WaitOptions, geteuid, kill_process, waitpid};
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tempfile::TempDir;

use crate::commands::{spawn, wait_ready};
use crate::daemon::call_any_version;
use crate::error::CommandError;

/// Longest wait for the daemon to end by itself.
const GONE: Duration = Duration::from_secs(5);

/// What must not outlive the trial. It is taken by whoever comes first: the end of the trial or a signal.
struct Remains {
    home: TempDir,
    paths: Paths,
    daemon: Option<Pid>,
}

/// A private daemon that runs. Dropping it stops the daemon and removes the home.
pub(super) struct Private {
    remains: Arc<Mutex<Option<Remains>>>,
    paths: Paths,
    home: PathBuf,
}

impl Private {
    /// Makes the home and starts the daemon in it.
    pub(super) fn start() -> Result<Self, CommandError> {
        let home = tempfile::Builder::new()
            .prefix("doze-try-")
            .tempdir()
            .map_err(|error| CommandError::io("a temporary folder", &error))?;
        let paths = Paths::in_home(home.path(), geteuid().as_raw());
        let folder = home.path().to_owned();
        let remains = Arc::new(Mutex::new(Some(Remains { home, paths: paths.clone(), daemon: None })));
        clean_up_on_signals(&remains)?;
        let private = Self { remains, paths, home: folder };
        private.start_daemon()?;
        Ok(private)
    }

    /// Where the private daemon is.
    pub(super) fn paths(&self) -> &Paths {
        &self.paths
    }

    /// The private home.
    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    fn start_daemon(&self) -> Result<(), CommandError> {
        // Held while it starts: a signal in between would leave the daemon behind.
        let mut guard = locked(&self.remains);
        let Some(remains) = guard.as_mut() else {
            return Err(CommandError::new(Exit::Internal, "the trial was ended"));
        };
        let mut child = spawn(&self.paths, |command| {
            command.env("DOZE_HOME", &self.home).env_remove("DOZE_SOCKET");
        })?;
        remains.daemon = Some(Pid::from_child(&child));
        drop(guard);
        wait_ready(&self.paths, Some(&mut child)).map(|_| ())
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        clean_up(&self.remains);
    }
}

/// A signal ends the trial: the daemon is stopped and the home removed before the process ends.
fn clean_up_on_signals(remains: &Arc<Mutex<Option<Remains>>>) -> Result<(), CommandError> {
    let mut signals =
        Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(|error| CommandError::io("signals", &error))?;
    let remains = Arc::clone(remains);
    thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            clean_up(&remains);
            std::process::exit(128 + signal);
        }
    });
    Ok(())
}

fn locked(remains: &Mutex<Option<Remains>>) -> MutexGuard<'_, Option<Remains>> {
    remains.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stops the daemon, by force if it does not end in time, and removes the home. The second caller waits for the first.
fn clean_up(remains: &Mutex<Option<Remains>>) {
    let mut guard = locked(remains);
    let Some(Remains { home, paths, daemon }) = guard.take() else { return };
    if let Some(daemon) = daemon {
        // A daemon that does not answer is ended by force below.
        let _ = call_any_version(&paths, method::STOP, json!({}), GONE);
        let deadline = Instant::now() + GONE;
        while !has_ended(daemon) {
            if Instant::now() > deadline {
                // It is our own child and not yet waited for, so its number is still its own.
                let _ = kill_process(daemon, Signal::KILL);
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
    // A folder that cannot be removed lies in the system's temporary folder, which is emptied by the system.
    let _ = home.close();
    // Where a socket in the home would have had too long a path, it stood here; the name holds a hash of the home's.
    let _ = std::fs::remove_dir_all(&paths.local);
}

/// Whether our child has ended; its exit status is taken then.
fn has_ended(daemon: Pid) -> bool {
    !matches!(waitpid(Some(daemon), WaitOptions::NOHANG), Ok(None))
}
