//! The version of the layout, and the steps that bring an older file up to it.
//!
//! Migration runs before anything reads. Each step is one transaction that also writes the version it leads to, so a
//! step is whole or absent. Afterwards the tables that are really there are checked, whatever the version says.

use redb::{Database, Durability, ReadableDatabase, TableError, WriteTransaction};

use crate::error::OpenError;
use crate::tables::{self, META, META_OLDEST, META_SCHEMA, META_SEQ, Tables};

/// The version of the layout this build writes.
pub const SCHEMA_VERSION: u64 = 1;

/// One step: what turns version `to - 1` into version `to`.
pub(crate) struct Migration {
    pub(crate) to: u64,
    pub(crate) run: fn(&WriteTransaction) -> Result<(), redb::Error>,
}

/// Every step there is, in order.
pub(crate) const MIGRATIONS: &[Migration] = &[];

/// What an opened file is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing was ever written to it.
    Empty,
    /// A store of this version.
    Version(u64),
}

/// Tells which version a file has, without writing.
pub(crate) fn found(db: &Database) -> Result<Found, OpenError> {
    let txn = db.begin_read()?;
    let meta = match txn.open_table(META) {
        Ok(meta) => meta,
        Err(TableError::TableDoesNotExist(_)) if txn.list_tables()?.next().is_none() => {
            return Ok(Found::Empty);
        }
        Err(source) => return Err(OpenError::Schema { table: "meta", version: 0, source: source.into() }),
    };
    match tables::number(&meta, META_SCHEMA)? {
        0 => {
            let source = redb::Error::Corrupted("there is no version in it".into());
            Err(OpenError::Schema { table: "meta", version: 0, source })
        }
        version => Ok(Found::Version(version)),
    }
}

/// Brings a file to version `known`, and refuses a newer one untouched.
pub(crate) fn bring_up(
    db: &Database,
    found: &Found,
    migrations: &[Migration],
    known: u64,
) -> Result<(), OpenError> {
    match *found {
        Found::Empty => create(db, known)?,
        Found::Version(version) if version > known => return Err(OpenError::Newer { found: version, known }),
        Found::Version(version) => {
            for step in migrations.iter().filter(|step| step.to > version && step.to <= known) {
                migrate(db, step)?;
            }
        }
    }
    let txn = db.begin_read()?;
    tables::verify(&txn).map_err(|(table, source)| OpenError::Schema {
        table,
        version: known,
        source: source.into(),
    })
}

fn create(db: &Database, version: u64) -> Result<(), OpenError> {
    let mut txn = db.begin_write()?;
    txn.set_quick_repair(true);
    {
        let mut tables = Tables::open(&txn)?;
        tables.meta.insert(META_SCHEMA, version)?;
        tables.meta.insert(META_SEQ, 0)?;
        tables.meta.insert(META_OLDEST, 1)?;
    }
    Ok(txn.commit()?)
}

fn migrate(db: &Database, step: &Migration) -> Result<(), OpenError> {
    tracing::info!(version = step.to, "migrating the store");
    let mut txn = db.begin_write()?;
    txn.set_durability(Durability::Immediate).map_err(redb::Error::from)?;
    txn.set_quick_repair(true);
    (step.run)(&txn)?;
    txn.open_table(META)?.insert(META_SCHEMA, step.to)?;
    Ok(txn.commit()?)
}
