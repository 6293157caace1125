//! What was started and must be gone: the processes of a run, and the folders that a killed daemon left.
//!
//! The group of a program is killed when its run is over. What left the group, or was started by a daemon that was
//! killed, is known on Linux by a variable of its environment that names the folder of the run and that processes
//! inherit; one that clears its environment as well gets away. Elsewhere the group is all that is known.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, OFlags, flock};
use tempfile::TempDir;

/// The variable that names the folder of the run.
pub(crate) const MARK: &str = "DOZE_RUN";
const PREFIX: &str = "doze-extract-";
/// Folders looked at in one clearing.
const MAX_FOLDERS: usize = 10_000;
/// How often a folder is made anew because a clearing took it for a dead one.
const TRIES: usize = 5;

/// A new folder for one run, and the lock that tells others that its run is not over. It ends with its process.
pub(crate) fn folder() -> io::Result<(TempDir, File)> {
    for _ in 0..TRIES {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir()?;
        if let Some(lock) = locked(folder.path())? {
            return Ok((folder, lock));
        }
    }
    Err(io::Error::from(io::ErrorKind::ResourceBusy))
}

/// The folder's lock, unless another process has it or the folder is gone.
fn locked(folder: &Path) -> io::Result<Option<File>> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let open = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(folder);
    let lock = match open {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        open => open?,
    };
    if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(None);
    }
    let is_same =
        |there: fs::Metadata, here: fs::Metadata| (there.dev(), there.ino()) == (here.dev(), here.ino());
    Ok(fs::symlink_metadata(folder)
        .is_ok_and(|there| lock.metadata().is_ok_and(|here| is_same(there, here)))
        .then_some(lock))
}

/// Ends what runs of ended daemons left running and deletes their folders; answers how many there were. Called once,
/// before anything is asked.
pub fn clear_remains() -> usize {
    clear_in(&env::temp_dir())
}

fn clear_in(temporary: &Path) -> usize {
    let user = rustix::process::geteuid().as_raw();
    let entries = temporary.read_dir().into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    let is_ours =
        |path: &Path| fs::symlink_metadata(path).is_ok_and(|known| known.is_dir() && known.uid() == user);
    let mut cleared = 0;
    for path in named.take(MAX_FOLDERS).map(|entry| entry.path()).filter(|path| is_ours(path)) {
        // Who holds the lock is at work.
        let Ok(Some(_lock)) = locked(&path) else { continue };
        end_marked(&path);
        cleared += usize::from(fs::remove_dir_all(&path).is_ok());
    }
    cleared
}

/// Ends every process that runs for this folder.
#[cfg(target_os = "linux")]
pub(crate) fn end_marked(folder: &Path) {
    use std::os::unix::ffi::OsStrExt;
    use std::time::Duration;

    use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};

    /// Looks at all processes: one may be starting another just now, and one that was killed needs a moment to go.
    const ROUNDS: usize = 100;
    const BETWEEN: Duration = Duration::from_millis(5);

    let mark = [MARK.as_bytes(), b"=", folder.as_os_str().as_bytes()].concat();
    let is_marked = |pid: Pid| {
        let environment = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero()));
        environment.is_ok_and(|known| known.split(|byte| *byte == 0).any(|variable| variable == mark))
    };
    for _ in 0..ROUNDS {
        let processes = Path::new("/proc").read_dir().into_iter().flatten().flatten();
        let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let marked: Vec<Pid> =
            numbers.filter_map(Pid::from_raw).filter(|pid| *pid != getpid() && is_marked(*pid)).collect();
        if marked.is_empty() {
            return;
        }
        for pid in marked {
            // The number may be another's by now: what is killed is what is looked at once more.
            if let Ok(process) = pidfd_open(pid, PidfdFlags::empty())
                && is_marked(pid)
            {
                // It may have ended by itself.
                let _ = pidfd_send_signal(process, Signal::KILL);
            }
        }
        std::thread::sleep(BETWEEN);
    }
}

/// Processes of others cannot be told apart here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn end_marked(_folder: &Path) {}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_folders_of_the_dead_are_cleared() {
        let temporary = tempfile::tempdir().unwrap();
        let path = |name: &str| temporary.path().join(name);
        for name in ["doze-extract-dead", "doze-extract-busy", "other"] {
            fs::create_dir(path(name)).unwrap();
            fs::write(path(name).join("file"), "x").unwrap();
        }
        fs::write(path("doze-extract-file"), "x").unwrap();
        symlink(path("other"), path("doze-extract-link")).unwrap();
        let busy = locked(&path("doze-extract-busy")).unwrap().unwrap();
        assert!(locked(&path("doze-extract-busy")).unwrap().is_none());
        assert_eq!(clear_in(temporary.path()), 1);
        for name in ["doze-extract-busy/file", "other/file", "doze-extract-file", "doze-extract-link/file"] {
            assert!(path(name).exists(), "{name}");
        }
        drop(busy);
        assert_eq!((clear_in(temporary.path()), path("doze-extract-busy").exists()), (1, false));
        assert!(locked(&path("none")).unwrap().is_none());
    }

    #[test]
    fn a_folder_in_use_is_locked() {
        let (folder, _lock) = folder().unwrap();
        assert!(locked(folder.path()).unwrap().is_none());
    }
}
