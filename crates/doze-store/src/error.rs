//! What can go wrong, by operation.

use std::path::PathBuf;
use std::sync::Arc;

use redb::{CommitError, DatabaseError, StorageError, TableError, TransactionError};

use crate::Subject;

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process, or another handle of this one, has it open.
    #[error("the store is already open in another process; stop that one first")]
    AlreadyOpen,
    /// It was written by a newer version.
    #[error(
        "the store has layout {found}, this program knows up to {known}: use a newer doze, nothing was changed"
    )]
    Newer {
        /// The version in the file.
        found: u64,
        /// The newest this build knows.
        known: u64,
    },
    /// The file is not what its version says.
    #[error("table {table:?} of the store is not as layout {version} has it; restore a backup")]
    Schema {
        /// The table that is missing or differs.
        table: &'static str,
        /// The version the file claims.
        version: u64,
        /// What redb says.
        #[source]
        source: redb::Error,
    },
    /// The file is damaged beyond what redb can repair, or is no redb file at all.
    #[error("the store is damaged or no store at all; restore a backup")]
    Damaged(#[source] redb::Error),
    /// The file or its folder cannot be used.
    #[error("cannot use {path:?}; check that the folder exists, is writable and has room")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// Anything else redb refuses.
    #[error("the store cannot be opened")]
    Storage(#[source] redb::Error),
}

impl From<DatabaseError> for OpenError {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch => Self::AlreadyOpen,
            other => redb::Error::from(other).into(),
        }
    }
}

impl From<redb::Error> for OpenError {
    fn from(error: redb::Error) -> Self {
        match error {
            redb::Error::Corrupted(_) => Self::Damaged(error),
            redb::Error::Io(ref io) if io.kind() == std::io::ErrorKind::InvalidData => Self::Damaged(error),
            other => Self::Storage(other),
        }
    }
}

/// Why a read failed. A single damaged value is no failure: it reads as absent and is counted in
/// [`crate::Stats::quarantined`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The database was reopened after a failed write; this snapshot is over.
    #[error("the snapshot has expired, take a new one")]
    Expired,
    /// The store is closed, or could not be reopened after a failed write.
    #[error("the store is not open at the moment")]
    Unavailable,
    /// Pages of the file cannot be read.
    #[error("the store is damaged; run a check and restore a backup")]
    Damaged(String),
    /// The disk or redb refuses.
    #[error("the store cannot be read")]
    Storage(#[source] redb::Error),
}

impl From<redb::Error> for ReadError {
    fn from(error: redb::Error) -> Self {
        match error {
            redb::Error::DatabaseClosed => Self::Expired,
            redb::Error::Corrupted(what) => Self::Damaged(what),
            other => Self::Storage(other),
        }
    }
}

/// Why a change set was not applied. Nothing of it was kept, except that after [`ApplyError::Storage`] the write may
/// have reached the disk although the answer did not: apply again, or read again.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// Somebody else changed a subject this set expected unchanged; read again and decide again.
    #[error("{subject:?} is at revision {actual}, not {expected}; read it again")]
    Conflict {
        /// The subject.
        subject: Subject,
        /// The revision the set was made from.
        expected: u64,
        /// The revision it has now.
        actual: u64,
    },
    /// The set cannot be kept as it is; the text names the field and the bound.
    #[error("the change set is not valid: {0}")]
    Invalid(String),
    /// The disk is full. Reading goes on, and writing resumes by itself when there is room.
    #[error("the disk is full; free some space and try again")]
    StorageFull,
    /// The pages the set needs cannot be read.
    #[error("the store is damaged where this change set has to write: {0}")]
    Damaged(String),
    /// The disk or redb refuses; the next attempt reopens the file.
    #[error("the store cannot be written")]
    Storage(#[source] Arc<redb::Error>),
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

impl From<redb::Error> for ApplyError {
    fn from(error: redb::Error) -> Self {
        match error {
            redb::Error::Io(ref io) if is_full(io) => Self::StorageFull,
            redb::Error::Corrupted(what) => Self::Damaged(what),
            other => Self::Storage(Arc::new(other)),
        }
    }
}

/// Whether the system says that there is no room for more bytes.
pub(crate) fn is_full(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// Why the file was not compacted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompactError {
    /// Somebody reads; try again when idle.
    #[error("somebody is reading the store, try again when it is idle")]
    Busy,
    /// It failed.
    #[error("the store was not compacted")]
    Failed(#[source] ApplyError),
}

/// Why no backup was made. The target is left as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// The store cannot be read.
    #[error("the store cannot be copied")]
    Read(#[source] ReadError),
    /// There is such a file already: the target, or the file beside it that a copy is made in.
    #[error("{0:?} exists already")]
    Exists(PathBuf),
    /// The copy cannot be written.
    #[error("cannot write the backup to {path:?}")]
    Write {
        /// Where it was to go.
        path: PathBuf,
        /// What the system or redb says.
        #[source]
        source: redb::Error,
    },
}

macro_rules! through_redb {
    ($($target:ident: $($source:ident),+;)+) => {$($(
        impl From<$source> for $target {
            fn from(error: $source) -> Self { redb::Error::from(error).into() }
        }
    )+)+};
}

through_redb! {
    OpenError: StorageError, TableError, TransactionError, CommitError;
    ReadError: StorageError, TableError, TransactionError;
    ApplyError: StorageError, TableError, TransactionError, CommitError;
}
