//! Commits that reached neither the daemon nor the spool, as a number: a hook must stay silent, a person should hear.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::Spool;
use crate::{PrivateDirError, create_private_dir};

/// What is counted at most.
const LOST_MAX: u64 = 9_999;
/// A loss that nothing followed for this long is no longer told.
const TOLD_FOR: Duration = Duration::from_secs(7 * 24 * 3600);

impl Spool {
    /// Notes that a commit was lost; nothing of it. As far as possible: a disk without room takes not even this.
    pub fn note_lost(&self) {
        let _ = create_private_dir(&self.dir)
            .map_err(|error| match error {
                PrivateDirError::Io { source, .. } => source,
                other => io::Error::other(other),
            })
            .and_then(|()| add_one(&self.lost_file()));
    }

    /// How many commits were lost lately.
    pub(super) fn lost(&self) -> u64 {
        fs::symlink_metadata(self.lost_file())
            .ok()
            .filter(|meta| meta.is_file() && !is_old(meta))
            .map_or(0, |meta| meta.len().min(LOST_MAX))
    }

    fn lost_file(&self) -> PathBuf {
        self.dir.join(".lost")
    }
}

/// One byte a loss: two hooks that append at once are both counted, with no lock.
fn add_one(path: &Path) -> io::Result<()> {
    let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    if is_old(&meta) {
        file.set_len(0)?;
    } else if meta.len() >= LOST_MAX {
        return Ok(());
    }
    file.write_all(b".")
}

fn is_old(meta: &fs::Metadata) -> bool {
    let age = meta.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
    age.is_some_and(|age| age > TOLD_FOR)
}
