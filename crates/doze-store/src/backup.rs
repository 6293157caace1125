//! A consistent copy into a new file.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use redb::Database;
use rustix::fs::{CWD, RenameFlags};

use crate::error::{BackupError, ReadError};
use crate::quarantine::guarded;
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::tables;

impl Store {
    /// Copies one point in time into a file of its own (mode 0600), which has its name only when it is whole; a file
    /// that has the name already stays as it is. Answers the last change in it. Writers go on meanwhile. Damaged
    /// values are copied as they are; a damaged page ends the copy.
    pub fn backup(&self, to: &Path) -> Result<u64, BackupError> {
        let snapshot = self.snapshot().map_err(BackupError::Read)?;
        let seq = snapshot.seq().map_err(BackupError::Read)?;
        let failed = |path: &Path, source: std::io::Error| match source.kind() {
            ErrorKind::AlreadyExists => BackupError::Exists(path.to_owned()),
            _ => BackupError::Write { path: to.to_owned(), source: source.into() },
        };
        if to.symlink_metadata().is_ok() {
            return Err(BackupError::Exists(to.to_owned()));
        }
        let mut part = to.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        // Somebody else's file of this name is not touched, not even when this copy fails.
        drop(
            OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&part)
                .map_err(|error| failed(&part, error))?,
        );
        let copied = guarded(
            |what| BackupError::Read(ReadError::Damaged(what)),
            || {
                copy_into(&snapshot, &part)
                    .map_err(|source| BackupError::Write { path: to.to_owned(), source })
            },
        );
        let placed = copied.and_then(|()| put_in_place(&part, to).map_err(|error| failed(to, error)));
        if placed.is_err() {
            drop(fs::remove_file(&part));
        }
        placed.map(|()| seq)
    }
}

fn copy_into(snapshot: &Snapshot, part: &Path) -> Result<(), redb::Error> {
    let db = Database::create(part)?;
    let txn = db.begin_write()?;
    tables::copy(&snapshot.txn, &txn)?;
    txn.commit()?;
    db.close()?;
    Ok(())
}

/// Gives the finished copy its name, unless a file has it by now, and makes the name durable.
fn put_in_place(part: &Path, to: &Path) -> std::io::Result<()> {
    fs::File::open(part)?.sync_all()?;
    rustix::fs::renameat_with(CWD, part, CWD, to, RenameFlags::NOREPLACE)?;
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    fs::File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}
