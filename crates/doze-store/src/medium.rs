//! Where the bytes lie: a file, or something a test made.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use redb::{Database, ReadableDatabase, StorageBackend};

use crate::error::OpenError;
use crate::quarantine::guarded;
use crate::schema::{self, Found, MIGRATIONS, SCHEMA_VERSION};
use crate::tables::{self, META, META_SEQ};

/// What a store is opened from, more than once if a write fails.
pub(crate) trait Medium: Send + Sync {
    /// Opens the bytes as a database, creating it if there are none.
    fn open(&self, cache: usize) -> Result<Database, OpenError>;
    /// Keeps what is there as it is, before it is migrated from a version.
    fn keep_copy(&self, version: u64) -> Result<(), OpenError>;
    /// Tries whether this many more bytes could be written, without touching the database.
    fn probe(&self, bytes: u64) -> io::Result<()>;
}

/// Opens a medium, brings it to the current layout, and answers the last sequence number with it.
pub(crate) fn open_database(medium: &dyn Medium, cache: usize) -> Result<(Database, u64), OpenError> {
    guarded(damaged, || {
        let mut db = medium.open(cache)?;
        let found = schema::found(&db)?;
        if matches!(found, Found::Version(version) if version < SCHEMA_VERSION) {
            drop(db);
            medium.keep_copy(SCHEMA_VERSION)?;
            db = medium.open(cache)?;
        }
        schema::bring_up(&db, &found, MIGRATIONS, SCHEMA_VERSION)?;
        let seq = tables::number(&db.begin_read()?.open_table(META)?, META_SEQ)?;
        Ok((db, seq))
    })
}

/// A panic of redb while it opens is damage.
fn damaged(what: String) -> OpenError {
    OpenError::Damaged(redb::Error::Corrupted(what))
}

/// A file.
pub(crate) struct OnDisk(pub(crate) PathBuf);

impl Medium for OnDisk {
    fn open(&self, cache: usize) -> Result<Database, OpenError> {
        let failed = |source| OpenError::Io { path: self.0.clone(), source };
        private(&self.0).map_err(failed)?;
        Ok(Database::builder().set_cache_size(cache).create(&self.0)?)
    }

    fn keep_copy(&self, version: u64) -> Result<(), OpenError> {
        let copy = beside(&self.0, &format!(".before-v{version}"));
        let kept = fs::copy(&self.0, &copy).and_then(|_| fs::File::open(&copy)?.sync_all());
        kept.map_err(|source| OpenError::Io { path: copy, source })
    }

    fn probe(&self, bytes: u64) -> io::Result<()> {
        let path = beside(&self.0, ".probe");
        let written = write_zeros(&path, bytes);
        let removed = fs::remove_file(&path);
        written.and(removed)
    }
}

/// Another storage backend, whose clones are handles on the same bytes.
pub(crate) struct Elsewhere<B>(pub(crate) B);

impl<B: StorageBackend + Clone> Medium for Elsewhere<B> {
    fn open(&self, cache: usize) -> Result<Database, OpenError> {
        Ok(Database::builder().set_cache_size(cache).create_with_backend(self.0.clone())?)
    }

    fn keep_copy(&self, _version: u64) -> Result<(), OpenError> {
        Ok(())
    }

    fn probe(&self, _bytes: u64) -> io::Result<()> {
        self.0.sync_data()
    }
}

/// Makes sure that the file is there and that nobody else may read or write it.
fn private(path: &Path) -> io::Result<()> {
    let mut open = OpenOptions::new();
    open.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = open.open(path)?;
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

fn write_zeros(path: &Path, bytes: u64) -> io::Result<()> {
    const PIECE: usize = 64 << 10;
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    for _ in 0..=bytes / PIECE as u64 {
        file.write_all(&[0; PIECE])?;
    }
    file.sync_all()
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
