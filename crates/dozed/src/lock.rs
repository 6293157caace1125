//! One daemon a home. Whoever holds the lock is the daemon, whatever a process id in a file may say.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use doze_client::{PrivateDirError, create_private_dir};

/// Why there is no lock.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another daemon of this home runs.
    #[error("already running ({holder})")]
    Held {
        /// What the holder wrote about itself.
        holder: String,
    },
    /// The folder cannot be used.
    #[error("the state folder cannot be used")]
    Dir(#[from] PrivateDirError),
    /// The file cannot be used.
    #[error("cannot lock {}", path.display())]
    Io {
        /// The lock file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// The lock of a home, held until dropped. The kernel drops it when the process dies, however it dies. The file itself
/// is never deleted: deleting it would let two processes hold two files of one name.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock, without waiting.
    pub fn take(path: &Path) -> Result<Self, LockError> {
        if let Some(folder) = path.parent() {
            create_private_dir(folder)?;
        }
        let failed = |source| LockError::Io { path: path.to_owned(), source };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // For people only; whatever it says, the lock is held.
                let _ = file.take(200).read_to_string(&mut holder);
                return Err(LockError::Held { holder: holder.trim().to_owned() });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "pid {}, dozed {}", std::process::id(), env!("CARGO_PKG_VERSION")))
            .map_err(failed)?;
        Ok(Self { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_holds_it_and_a_stale_file_does_not_matter() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state/dozed.lock");
        let first = Lock::take(&path).unwrap();
        match Lock::take(&path).unwrap_err() {
            LockError::Held { holder } => assert!(holder.contains(&format!("pid {}", std::process::id()))),
            other => panic!("{other:?}"),
        }
        drop(first);
        std::fs::write(&path, "pid 1, from before a reboot, and much longer than what comes after it")
            .unwrap();
        drop(Lock::take(&path).unwrap());
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, format!("pid {}, dozed {}\n", std::process::id(), env!("CARGO_PKG_VERSION")));
    }

    #[test]
    fn of_many_that_start_at_once_one_wins() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("dozed.lock");
        let barrier = std::sync::Barrier::new(10);
        let wins = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..10)
                .map(|_| {
                    scope.spawn(|| {
                        barrier.wait();
                        let lock = Lock::take(&path);
                        // Held until all have tried.
                        barrier.wait();
                        lock.is_ok()
                    })
                })
                .collect();
            threads.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum::<usize>()
        });
        assert_eq!(wins, 1);
    }
}
