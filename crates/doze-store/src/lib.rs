//! The redb file of doze: tables, migration, group commit, change log, snapshot reads.
//!
//! Users hand in change sets ([`ChangeSet`]) and get consistent reads ([`Snapshot`]); no table leaves this crate.
//! One thread writes: it takes what waits in its queue, applies it in one transaction, syncs once and answers
//! everybody. The layout of the file is described in `docs/format.md`.
//!
//! This crate decides nothing: no rule, no clock, no randomness. Whatever it is told is kept or refused whole.
//! One process opens the file; a second one is refused.

mod backup;
mod change;
mod check;
mod envelope;
mod error;
mod medium;
mod options;
mod prepare;
mod quarantine;
mod schema;
mod snapshot;
mod store;
mod stored;
mod tables;
mod write;
mod writer;

#[cfg(test)]
mod tests;

pub use change::{
    Change, ChangeSet, Changed, Family, KnownIn, LoggedChange, Subject, foreign_key, session_aux_key,
    vector_source_key,
};
pub use check::CheckReport;
pub use error::{ApplyError, BackupError, CompactError, OpenError, ReadError};
pub use options::Options;
pub use quarantine::Quarantined;
pub use schema::SCHEMA_VERSION;
pub use snapshot::{EachVector, Page, SessionCursor, SessionFilter, Snapshot};
pub use store::{Applied, Stats, Store};
