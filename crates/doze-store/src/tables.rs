//! Every table of the file, in one list.
//!
//! Keys are tuples of strings and numbers, owner first (the change log, which is one sequence for the whole file,
//! and `meta` are the exceptions). Values are envelopes; pure indexes have no value, so nothing in them can be wrong
//! without being checked against the record they point to. `docs/format.md` tells what each part of a key is.

use redb::{
    ReadTransaction, ReadableTable, StorageError, Table, TableDefinition, TableError, WriteTransaction,
};

type Text2 = (&'static str, &'static str);
type Text3 = (&'static str, &'static str, &'static str);
type Text4 = (&'static str, &'static str, &'static str, &'static str);

macro_rules! tables {
    ($($(#[$meta:meta])* $field:ident $name:ident: $key:ty => $value:ty),+ $(,)?) => {
        $($(#[$meta])* pub(crate) const $name: TableDefinition<'static, $key, $value> =
            TableDefinition::new(stringify!($field));)+

        /// All tables, open for one write transaction.
        pub(crate) struct Tables<'txn> { $(pub(crate) $field: Table<'txn, $key, $value>),+ }

        impl<'txn> Tables<'txn> {
            /// Opens, and where needed creates, every table.
            pub(crate) fn open(txn: &'txn WriteTransaction) -> Result<Self, TableError> {
                Ok(Self { $($field: txn.open_table($name)?),+ })
            }
        }

        /// Checks that each table is there with the types this build uses; names the first that is not.
        pub(crate) fn verify(txn: &ReadTransaction) -> Result<(), (&'static str, TableError)> {
            $(txn.open_table($name).map_err(|error| (stringify!($field), error))?;)+
            Ok(())
        }

        /// Copies every row of every table.
        pub(crate) fn copy(from: &ReadTransaction, to: &WriteTransaction) -> Result<(), redb::Error> {
            $({
                let source = from.open_table($name)?;
                let mut target = to.open_table($name)?;
                for row in source.iter()? {
                    let (key, value) = row?;
                    target.insert(key.value(), value.value())?;
                }
            })+
            Ok(())
        }
    };
}

tables! {
    /// Facts about the file: `schema`, `seq`, `oldest_change`.
    meta META: &'static str => u64,
    /// Owner → the sequence number of its first change.
    owners OWNERS: &'static str => u64,
    /// Owner, what → how many records.
    counts COUNTS: Text2 => u64,
    /// Owner, subject → the sequence number of the last change set that touched it.
    revisions REVISIONS: Text2 => u64,
    /// Owner, id → memory.
    memories MEMORIES: Text2 => &'static [u8],
    /// Owner, scope, id.
    memory_scopes MEMORY_SCOPES: Text3 => (),
    /// Owner, scope, topic, id of the active memory.
    memory_topics MEMORY_TOPICS: Text4 => (),
    /// Owner, scope, content hash, id.
    memory_hashes MEMORY_HASHES: Text4 => (),
    /// Owner, session, harness → session.
    sessions SESSIONS: Text3 => &'static [u8],
    /// Owner, facet, time counted down, session, harness: a forward scan gives the newest first.
    session_times SESSION_TIMES: (&'static str, &'static str, u64, &'static str, &'static str) => (),
    /// Owner, session, harness, ordinal → event.
    events EVENTS: (&'static str, &'static str, &'static str, u64) => &'static [u8],
    /// Owner, project (empty for none), fingerprint → where the event lies.
    fingerprints FINGERPRINTS: (&'static str, &'static str, &'static [u8]) => &'static [u8],
    /// Owner, id → project.
    projects PROJECTS: Text2 => &'static [u8],
    /// Owner, alias → project id.
    aliases ALIASES: Text2 => &'static [u8],
    /// Owner, agent, project (empty for none), session (empty for none) → work state.
    works WORKS: Text4 => &'static [u8],
    /// Owner, id → dream.
    dreams DREAMS: Text2 => &'static [u8],
    /// Owner, family, key → bytes the caller owns.
    aux AUX: Text3 => &'static [u8],
    /// Owner, document, model → vectors.
    vectors VECTORS: Text3 => &'static [u8],
    /// Sequence number → what that change set changed.
    changes CHANGES: u64 => &'static [u8],
}

/// Reads a number, zero when it is not there.
pub(crate) fn number(table: &impl ReadableTable<&'static str, u64>, key: &str) -> Result<u64, StorageError> {
    Ok(table.get(key)?.map_or(0, |value| value.value()))
}

/// `meta`: the version of the layout.
pub(crate) const META_SCHEMA: &str = "schema";
/// `meta`: the last sequence number given out.
pub(crate) const META_SEQ: &str = "seq";
/// `meta`: the first sequence number the log still holds.
pub(crate) const META_OLDEST: &str = "oldest_change";

/// `counts`: memories.
pub(crate) const COUNT_MEMORIES: &str = "memories";
/// `counts`: sessions.
pub(crate) const COUNT_SESSIONS: &str = "sessions";
/// `counts`: projects.
pub(crate) const COUNT_PROJECTS: &str = "projects";
