//! A consistent copy into a new file.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use redb::Database;

use crate::error::{BackupError, ReadError};
use crate::quarantine::guarded;
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::tables;

impl Store {
    /// Copies one point in time into a file of its own (mode 0600), which replaces what was there only when it is
    /// whole. Writers go on meanwhile. Damaged values are copied as they are; a damaged page ends the copy.
    pub fn backup(&self, to: &Path) -> Result<(), BackupError> {
        let snapshot = self.snapshot().map_err(BackupError::Read)?;
        let failed = |source: redb::Error| BackupError::Write { path: to.to_owned(), source };
        let mut part = to.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let copied = guarded(
            |what| BackupError::Read(ReadError::Damaged(what)),
            || copy_into(&snapshot, &part).map_err(failed),
        );
        let placed = copied.and_then(|()| put_in_place(&part, to).map_err(|error| failed(error.into())));
        if placed.is_err() {
            drop(fs::remove_file(&part));
        }
        placed
    }
}

fn copy_into(snapshot: &Snapshot, part: &Path) -> Result<(), redb::Error> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(part)?;
    let db = Database::create(part)?;
    let txn = db.begin_write()?;
    tables::copy(&snapshot.txn, &txn)?;
    txn.commit()?;
    db.close()?;
    Ok(())
}

/// Renames the finished copy, and makes the name durable.
fn put_in_place(part: &Path, to: &Path) -> std::io::Result<()> {
    fs::File::open(part)?.sync_all()?;
    fs::rename(part, to)?;
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    fs::File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}
