//! Full-text search: a tantivy index on disk, and what is not on disk yet in memory.
//!
//! A change is visible as soon as it is applied and durable after the next commit. Commits are dear (fifteen fsyncs),
//! so they come every thousand changes or when the caller says that nothing is going on; the change number reached is
//! in the commit itself. Nothing here is the truth: an index that cannot be used is begun anew at change 0.

mod disk;
mod doc;
mod query;
mod schema;
mod stats;
mod tail;
mod top;

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tantivy::schema::{TantivyDocument, Value};
use tantivy::{IndexWriter, Term};

use disk::Disk;
pub use doc::{
    Doc, DocChange, DocKind, DocKindSet, DocRef, LexicalHit, LexicalQuery, QuerySyntax, event_doc_id,
    memory_doc_id, summary_doc_id,
};
use stats::Stats;
use tail::{Counted, Tail};

use crate::text::analyzer;

/// A word in the title counts twice (S1.24).
const TITLE_WEIGHT: f32 = 2.0;
/// So many changes wait in memory before they are committed.
const COMMIT_CHANGES: usize = 1_000;
/// So many bytes of text wait in memory before they are committed.
const COMMIT_BYTES: usize = 8 << 20;
/// No answer is longer than this.
const MAX_HITS: usize = 10_000;

/// Why the full-text index could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The folder cannot be made or emptied.
    #[error("the folder of the full-text index cannot be used; check its permissions and the free space")]
    Folder(#[source] std::io::Error),
    /// The library failed: the disk is full, a file is gone.
    #[error("the full-text index failed; free some space, then `doze stop` and `doze up` build it anew")]
    Tantivy(#[from] tantivy::TantivyError),
    /// The files are not what they were: clear the index and feed it from change 0.
    #[error("the full-text index is damaged; `doze stop` and `doze up` build it anew")]
    Damaged,
    /// Another version wrote the files: clear the index and feed it from change 0.
    #[error("the full-text index was written by another version; `doze stop` and `doze up` build it anew")]
    Foreign,
}

/// The full-text index of everything.
pub struct Lexical {
    dir: PathBuf,
    state: RwLock<State>,
    /// Held while changes are applied or committed; `None` between bursts of work, so that its threads and memory go.
    writer: Mutex<Option<IndexWriter>>,
}

struct State {
    disk: Disk,
    tail: Tail,
    durable_seq: u64,
    visible_seq: u64,
}

impl Lexical {
    /// Opens the index in `dir`, which is made when it is missing. An index that is damaged or was written by another
    /// version is deleted and begun anew, with [`Lexical::seq`] at 0; the log says so.
    ///
    /// # Errors
    /// The folder cannot be made or written.
    pub fn open(dir: &Path) -> Result<Self, IndexError> {
        let (disk, seq) = Disk::open(dir)?;
        let state = State { disk, tail: Tail::default(), durable_seq: seq, visible_seq: seq };
        Ok(Self { dir: dir.to_owned(), state: RwLock::new(state), writer: Mutex::new(None) })
    }

    /// The change number that is on disk: feed from the next one after a start.
    pub fn seq(&self) -> u64 {
        self.read().durable_seq
    }

    /// The change number that searches see.
    pub fn visible_seq(&self) -> u64 {
        self.read().visible_seq
    }

    /// Changes that wait for a commit.
    pub fn pending(&self) -> usize {
        self.read().tail.len()
    }

    /// Documents that can be found.
    pub fn len(&self) -> usize {
        let state = self.read();
        let on_disk = state.disk.searcher.num_docs() as usize;
        on_disk.saturating_sub(state.tail.shadows().len()) + state.tail.docs().len()
    }

    /// Nothing can be found.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes changes in, up to and including change number `seq`. They are visible when this returns. Every thousand
    /// changes or 8 MiB of text it commits.
    ///
    /// # Errors
    /// A commit failed; the changes stay visible and the next commit tries again.
    pub fn apply(&self, changes: Vec<DocChange>, seq: u64) -> Result<(), IndexError> {
        let mut writer = self.writer();
        let mut analyzer = analyzer();
        let changes: Vec<Counted> =
            changes.into_iter().map(|change| Counted::new(change, &mut analyzer)).collect();
        let is_full = {
            let mut state = self.write();
            let State { disk, tail, visible_seq, .. } = &mut *state;
            let on_disk = |key: &str| {
                // An unreadable dictionary hides more rather than less.
                disk.searcher
                    .doc_freq(&Term::from_field_text(disk.fields.key, key))
                    .map_or(true, |freq| freq > 0)
            };
            changes.into_iter().for_each(|change| tail.apply(change, on_disk));
            *visible_seq = seq.max(*visible_seq);
            tail.len() >= COMMIT_CHANGES || tail.bytes() >= COMMIT_BYTES
        };
        if is_full { self.commit_with(&mut writer) } else { Ok(()) }
    }

    /// Writes what waits to disk, merges what should be merged and lets the writer's threads and memory go: for quiet
    /// moments and for the end. Without changes it does nothing.
    ///
    /// # Errors
    /// The commit failed; the changes stay visible and the next commit tries again.
    pub fn commit(&self) -> Result<(), IndexError> {
        let mut writer = self.writer();
        let is_durable = {
            let state = self.read();
            state.tail.is_empty() && state.durable_seq == state.visible_seq
        };
        if !is_durable {
            self.commit_with(&mut writer)?;
        }
        if let Some(writer) = writer.take() {
            writer.wait_merging_threads()?;
            let searcher = self.read().disk.reloaded()?;
            self.write().disk.searcher = searcher;
        }
        Ok(())
    }

    /// Throws everything away and begins anew at change 0.
    ///
    /// # Errors
    /// The folder cannot be emptied or written.
    pub fn clear(&self) -> Result<(), IndexError> {
        let mut writer = self.writer();
        drop(writer.take());
        let mut state = self.write();
        state.disk = Disk::create(&self.dir)?;
        state.tail = Tail::default();
        state.durable_seq = 0;
        state.visible_seq = 0;
        Ok(())
    }

    /// The best documents for the query, best first; equal scores are in the order of their ids. A blank query, no
    /// space or a limit of 0 find nothing. No query text is an error.
    ///
    /// # Errors
    /// The files cannot be read; after [`IndexError::Damaged`] call [`Lexical::clear`] and feed it again.
    pub fn search(&self, query: &LexicalQuery) -> Result<Vec<LexicalHit>, IndexError> {
        if query.limit == 0 || query.scope_keys.is_empty() {
            return Ok(Vec::new());
        }
        let state = self.read();
        // Damaged files can make tantivy panic in the middle of a search; nothing is changed by one.
        catch_unwind(AssertUnwindSafe(|| search(&state, query))).unwrap_or(Err(IndexError::Damaged))
    }

    /// One commit of the whole tail. The writer stays; after a failure it is dropped with what it held.
    fn commit_with(&self, slot: &mut Option<IndexWriter>) -> Result<(), IndexError> {
        let (docs, deletes, seq) = {
            let state = self.read();
            let fields = state.disk.fields;
            let keys = state.tail.changed().map(|key| Term::from_field_text(fields.key, key));
            let sessions =
                state.tail.sessions().map(|session| Term::from_field_text(fields.session, session));
            let docs: Vec<_> = state.tail.docs().cloned().collect();
            (docs, keys.chain(sessions).collect::<Vec<_>>(), state.visible_seq)
        };
        let (mut writer, fields) = {
            let state = self.read();
            (slot.take().map_or_else(|| state.disk.writer(), Ok)?, state.disk.fields)
        };
        for term in deletes {
            writer.delete_term(term);
        }
        for doc in docs {
            writer.add_document(fields.document(&doc.doc))?;
        }
        let mut commit = writer.prepare_commit()?;
        commit.set_payload(&disk::payload(seq));
        commit.commit()?;
        *slot = Some(writer);
        let searcher = self.read().disk.reloaded()?;
        let mut state = self.write();
        state.disk.searcher = searcher;
        state.tail = Tail::default();
        state.durable_seq = seq;
        Ok(())
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn writer(&self) -> MutexGuard<'_, Option<IndexWriter>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hits on disk that are not out of date, and hits in memory, ranked together.
fn search(state: &State, query: &LexicalQuery) -> Result<Vec<LexicalHit>, IndexError> {
    let State { disk, tail, .. } = state;
    let terms = query::terms(query, &disk.searcher, &disk.fields, tail)?;
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    let stats = Stats::new(&disk.searcher, &disk.fields, tail, &terms)?;
    let limit = query.limit.min(MAX_HITS);
    let mut hits = tail.search(query, &terms, &stats);
    if disk.searcher.num_docs() > 0 {
        let (words, filter) = (query::words(&terms, &disk.fields), query::filter(query, &disk.fields, tail));
        // Every shadow may stand before a good hit.
        let wanted = limit + tail.shadows().len();
        let found = top::top(&disk.searcher, &words, &filter, &stats, wanted)?;
        hits.extend(current(disk, tail.shadows(), query, found, limit)?);
    }
    hits.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
    hits.truncate(limit);
    Ok(hits)
}

/// The first `limit` hits on disk that no change in memory has overtaken.
fn current(
    disk: &Disk,
    shadows: &HashSet<String>,
    query: &LexicalQuery,
    found: Vec<(f32, tantivy::DocAddress)>,
    limit: usize,
) -> Result<Vec<LexicalHit>, IndexError> {
    let mut hits = Vec::with_capacity(limit.min(found.len()));
    for (score, address) in found {
        let document: TantivyDocument = disk.searcher.doc(address)?;
        let Some(id) = document.get_first(disk.fields.id).and_then(|id| id.as_str()) else { continue };
        if !shadows.contains(&schema::key(&query.owner, id)) {
            hits.push(LexicalHit { id: id.to_owned(), score });
        }
        if hits.len() == limit {
            break;
        }
    }
    Ok(hits)
}

#[cfg(test)]
mod tests;
