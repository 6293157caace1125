//! Commits that could not be delivered, kept on disk until the daemon takes them in.
//!
//! A request is one file, written whole: temporary name, fsync, rename, fsync of the folder. Its name carries the
//! time, so that the daemon reads in order, and the commit's id, so that the same commit is kept once. Everything is
//! redacted before the first byte is written. The spool is bounded and full means full: what was accepted is never
//! dropped to make room, the new one is refused, and the caller can say so.

mod hide;
mod lost;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use doze_protocol::{MAX_FRAME_BYTES, method};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{PrivateDirError, create_private_dir, ensure_commit_id};

/// Requests the spool holds at most.
pub const SPOOL_FILES_MAX: usize = 2_000;
/// Bytes the spool holds at most.
pub const SPOOL_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Bytes kept free for the day the disk is full; a hook's commit has a few kilobytes.
const RESERVE_BYTES: u64 = 1024 * 1024;
/// Unreadable files that are kept for a look; beyond it the oldest goes.
const QUARANTINE_MAX: usize = 50;
/// A temporary file older than this belongs to a process that died while writing it.
const TORN_AFTER: Duration = Duration::from_secs(600);

/// What may be spooled: requests that change nothing when they come twice.
const SPOOLED: [&str; 2] = [method::SESSION_COMMIT, method::SESSION_APPEND];

/// Why something was not spooled, or the spool not read.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// The folder cannot be used.
    #[error("the spool cannot be used")]
    Dir(#[from] PrivateDirError),
    /// Reading or writing failed.
    #[error("cannot {doing} {}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It holds as much as it may.
    #[error("the spool is full ({files} commits, {bytes} bytes); start the daemon with `doze up`")]
    Full {
        /// Requests in it.
        files: usize,
        /// Bytes in it.
        bytes: u64,
    },
    /// This method cannot be repeated safely, or its parameters are no object.
    #[error("{method} cannot be spooled")]
    NotSpoolable {
        /// The method.
        method: String,
    },
    /// It is larger than the daemon would take.
    #[error("the request has {bytes} bytes, a line may have {limit}", limit = MAX_FRAME_BYTES)]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
}

/// A request in the spool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpooledRequest {
    /// `session.commit` or `session.append`.
    pub method: String,
    /// Its parameters, redacted, with a `commit_id`.
    pub params: Value,
}

/// What became of a request that [`Spool::drain`] handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is durable elsewhere now.
    Remove,
    /// Not now; it stays, and so do all behind it, which keeps their order.
    Keep,
    /// It will never be accepted; it is put aside for a look.
    Quarantine,
}

/// What a drain did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drained {
    /// Requests that are gone from the spool.
    pub removed: usize,
    /// Requests that wait on.
    pub kept: usize,
    /// Files that were put aside.
    pub quarantined: usize,
}

/// How full the spool is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpoolLevel {
    /// Requests that wait.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Files put aside.
    pub quarantined: usize,
    /// Commits of the last week that found no room here or were refused for good.
    pub lost: u64,
}

/// The spool of one home.
#[derive(Debug, Clone)]
pub struct Spool {
    dir: PathBuf,
    files_max: usize,
    bytes_max: u64,
}

impl Spool {
    /// The spool in this folder, which need not exist yet.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), files_max: SPOOL_FILES_MAX, bytes_max: SPOOL_BYTES_MAX }
    }

    /// The same spool with narrower bounds.
    pub fn with_bounds(mut self, files_max: usize, bytes_max: u64) -> Self {
        self.files_max = files_max;
        self.bytes_max = bytes_max;
        self
    }

    /// Keeps a request durably and answers its file. The same commit again is the same file.
    pub fn put(&self, method: &str, mut params: Value) -> Result<PathBuf, SpoolError> {
        if !SPOOLED.contains(&method) || !params.is_object() {
            return Err(SpoolError::NotSpoolable { method: method.to_owned() });
        }
        let id = ensure_commit_id(&mut params);
        let request = SpooledRequest { method: method.to_owned(), params: hide::secrets(params) };
        let bytes = serde_json::to_vec(&request).unwrap_or_default();
        if bytes.len() > MAX_FRAME_BYTES {
            return Err(SpoolError::TooLarge { bytes: bytes.len() });
        }
        create_private_dir(&self.dir)?;
        let ending = format!("-{}.json", file_part(&id));
        let waiting = self.waiting()?;
        if let Some(known) = waiting.iter().find(|file| file.name.ends_with(&ending)) {
            return Ok(self.dir.join(&known.name));
        }
        let used: u64 = waiting.iter().map(|file| file.bytes).sum();
        if waiting.len() >= self.files_max || used + bytes.len() as u64 > self.bytes_max {
            return Err(SpoolError::Full { files: waiting.len(), bytes: used });
        }
        let path = self.dir.join(format!("{:015}{ending}", unix_ms()));
        match self.write(&path, &bytes) {
            Err(SpoolError::Io { source, .. }) if is_disk_full(&source) && self.release_reserve() => {
                self.write(&path, &bytes)?;
            }
            other => other?,
        }
        Ok(path)
    }

    /// Hands out every request, oldest first, and does with it what `take` says. Files that are no request are put
    /// aside. Only the daemon that holds the lock drains.
    pub fn drain(&self, mut take: impl FnMut(SpooledRequest) -> Verdict) -> Result<Drained, SpoolError> {
        let mut drained = Drained::default();
        if !self.dir.exists() {
            return Ok(drained);
        }
        self.remove_torn()?;
        let waiting = self.waiting()?;
        for (at, file) in waiting.iter().enumerate() {
            let path = self.dir.join(&file.name);
            match self.read(&path)?.map_or(Verdict::Quarantine, &mut take) {
                Verdict::Remove => {
                    fs::remove_file(&path).map_err(failed("remove", &path))?;
                    drained.removed += 1;
                }
                Verdict::Quarantine => {
                    self.quarantine(&path)?;
                    drained.quarantined += 1;
                }
                Verdict::Keep => {
                    drained.kept = waiting.len() - at;
                    break;
                }
            }
        }
        Ok(drained)
    }

    /// How full it is; a folder that is not there is empty.
    pub fn level(&self) -> SpoolLevel {
        let waiting = self.waiting().unwrap_or_default();
        let aside = fs::read_dir(self.quarantine_dir()).map(|entries| entries.flatten().count());
        SpoolLevel {
            files: waiting.len(),
            bytes: waiting.iter().map(|file| file.bytes).sum(),
            quarantined: aside.unwrap_or_default(),
            lost: self.lost(),
        }
    }

    /// Makes the folder and takes hold of a little disk space, which is given up when a commit would not fit on a full
    /// disk otherwise. The daemon does this at its start.
    pub fn prepare(&self) -> Result<(), SpoolError> {
        create_private_dir(&self.dir)?;
        let path = self.reserve();
        if fs::metadata(&path).is_ok_and(|meta| meta.len() >= RESERVE_BYTES) {
            return Ok(());
        }
        let mut file = private_file(&path).map_err(failed("write", &path))?;
        // Written and not only allocated: a file system may promise blocks it does not have. No runs of equal bytes,
        // which some would store as nothing.
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let noise: Vec<u8> = (0..RESERVE_BYTES)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state as u8
            })
            .collect();
        file.write_all(&noise).and_then(|()| file.sync_all()).map_err(|source| {
            // A part of it is no use and takes what little room there is.
            let _ = fs::remove_file(&path);
            SpoolError::Io { doing: "reserve room in", path: path.clone(), source }
        })
    }

    fn reserve(&self) -> PathBuf {
        self.dir.join(".reserve")
    }

    fn release_reserve(&self) -> bool {
        fs::remove_file(self.reserve()).is_ok()
    }

    fn quarantine_dir(&self) -> PathBuf {
        self.dir.join("quarantine")
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), SpoolError> {
        let temporary = self.dir.join(format!(".tmp-{}-{}", std::process::id(), unix_ms()));
        let written = (|| {
            let mut file = private_file(&temporary)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&temporary, path)?;
            File::open(&self.dir)?.sync_all()
        })();
        written.map_err(|source| {
            let _ = fs::remove_file(&temporary);
            SpoolError::Io { doing: "write", path: path.to_owned(), source }
        })
    }

    /// `None` when the file is no request of ours.
    fn read(&self, path: &Path) -> Result<Option<SpooledRequest>, SpoolError> {
        let mut bytes = Vec::new();
        File::open(path)
            .and_then(|file| file.take(MAX_FRAME_BYTES as u64 + 1).read_to_end(&mut bytes))
            .map_err(failed("read", path))?;
        if bytes.len() > MAX_FRAME_BYTES {
            return Ok(None);
        }
        let request: Option<SpooledRequest> = serde_json::from_slice(&bytes).ok();
        Ok(request.filter(|request| SPOOLED.contains(&request.method.as_str()) && request.params.is_object()))
    }

    fn quarantine(&self, path: &Path) -> Result<(), SpoolError> {
        let dir = self.quarantine_dir();
        create_private_dir(&dir)?;
        let mut aside = names(&dir)?;
        for oldest in aside.drain(..aside.len().saturating_sub(QUARANTINE_MAX - 1)) {
            let _ = fs::remove_file(dir.join(oldest));
        }
        let target = dir.join(path.file_name().unwrap_or_default());
        fs::rename(path, target).map_err(failed("put aside", path))
    }

    /// Regular files that wait, oldest first.
    fn waiting(&self) -> Result<Vec<Waiting>, SpoolError> {
        let mut waiting = Vec::new();
        for name in names(&self.dir)? {
            if name.starts_with('.') || !name.ends_with(".json") {
                continue;
            }
            match fs::symlink_metadata(self.dir.join(&name)) {
                Ok(meta) if meta.is_file() => waiting.push(Waiting { name, bytes: meta.len() }),
                _ => {}
            }
        }
        Ok(waiting)
    }

    fn remove_torn(&self) -> Result<(), SpoolError> {
        for name in names(&self.dir)? {
            let path = self.dir.join(&name);
            let age = fs::symlink_metadata(&path).and_then(|meta| meta.modified()).ok();
            let age = age.and_then(|at| SystemTime::now().duration_since(at).ok());
            if name.starts_with(".tmp-") && age.is_some_and(|age| age > TORN_AFTER) {
                let _ = fs::remove_file(path);
            }
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Waiting {
    name: String,
    bytes: u64,
}

/// The names in a folder, sorted; none when it is not there. Names that are not UTF-8 are not ours.
fn names(dir: &Path) -> Result<Vec<String>, SpoolError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(failed("read", dir)(source)),
    };
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    Ok(names)
}

fn failed(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> SpoolError {
    move |source| SpoolError::Io { doing, path: path.to_owned(), source }
}

fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

fn is_disk_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// An id as part of a file name. Ids of callers hold anything, so it is a hash of it.
fn file_part(id: &str) -> String {
    use sha2::{Digest, Sha256};
    doze_core::model::hex(&Sha256::digest(id.as_bytes())[..12])
}

fn unix_ms() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis())
}

#[cfg(test)]
mod tests;
