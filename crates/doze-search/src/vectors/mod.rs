//! Nearest neighbours by cosine: an exact scan over bytes, and a graph for wide searches of large sets.
//!
//! The vectors themselves are records of the store; everything here is made from them. Eight bits choose the forty
//! best documents, the exact vectors rank them, so that nothing is lost against a scan in full precision. A graph is
//! only used where it beats the scan: above about 140,000 vectors, and when the filter leaves most of them.

mod dot;
mod filter;
mod table;

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use dot::{Quantised, dot_f32};
pub use filter::{VectorError, VectorFilter, VectorHit, VectorMeta};
use table::{Best, Candidate, Table};

/// So many of the best by bytes are ranked by their exact vectors.
const RESCORED: usize = 40;

/// The vectors of every document.
#[derive(Debug)]
pub struct Vectors {
    state: RwLock<Table>,
}

impl Vectors {
    /// An empty set of vectors of length `dim`.
    pub fn new(dim: usize) -> Self {
        Self { state: RwLock::new(Table::new(dim)) }
    }

    /// The length of every vector.
    pub fn dim(&self) -> usize {
        self.read().dim
    }

    /// Adds a document with the vectors of its chunks, or replaces it; without chunks it is removed.
    ///
    /// # Errors
    /// A vector has another length or no direction; the document keeps the vectors it had.
    pub fn put(&self, meta: &VectorMeta, chunks: &[Vec<f32>]) -> Result<(), VectorError> {
        let mut table = self.write();
        table.put(meta, chunks)?;
        sweep_if_worth_it(&mut table);
        Ok(())
    }

    /// Takes a document out; whether it was there.
    pub fn remove(&self, owner: &doze_core::model::OwnerId, id: &str) -> bool {
        let mut table = self.write();
        let was_there = table.remove(owner.as_str(), id);
        sweep_if_worth_it(&mut table);
        was_there
    }

    /// Documents with vectors.
    pub fn len(&self) -> usize {
        self.read().len()
    }

    /// No document has vectors.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes held, roughly.
    pub fn bytes(&self) -> usize {
        self.read().memory()
    }

    /// The documents nearest to the query, nearest first. `exact` gives the vectors of a document as they are stored;
    /// where it has none the eight-bit product counts. A query of another length or without direction finds nothing.
    pub fn search(
        &self,
        query: &[f32],
        filter: &VectorFilter,
        limit: usize,
        exact: &dyn Fn(&str) -> Option<Vec<Vec<f32>>>,
    ) -> Vec<VectorHit> {
        let norm = dot_f32(query, query).sqrt();
        if limit == 0 || query.len() != self.dim() || !norm.is_finite() || norm <= f32::MIN_POSITIVE {
            return Vec::new();
        }
        let query: Vec<f32> = query.iter().map(|x| x / norm).collect();
        let mut hits = self.candidates(&query, filter, limit.max(RESCORED));
        // The lock is free here: reading the store may take its time.
        for hit in &mut hits {
            let chunks = exact(&hit.id).unwrap_or_default();
            let scores =
                chunks.iter().filter(|chunk| chunk.len() == query.len()).map(|chunk| dot_f32(&query, chunk));
            hit.score = scores.filter(|score| score.is_finite()).reduce(f32::max).unwrap_or(hit.score);
        }
        hits.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
        hits.truncate(limit);
        hits
    }

    fn candidates(&self, query: &[f32], filter: &VectorFilter, count: usize) -> Vec<VectorHit> {
        let table = self.read();
        let query = Quantised::new(query);
        let found = scan(&table, &query, filter, count);
        let hit =
            |found: Candidate| VectorHit { id: table.entry(found.place).id.to_string(), score: found.score };
        found.into_iter().map(hit).collect()
    }

    fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Table> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn scan(table: &Table, query: &Quantised, filter: &VectorFilter, count: usize) -> Vec<Candidate> {
    let admission = table.compile(filter);
    let mut best = Best::new(count);
    for place in table.living() {
        if admission.admits(table.entry(place)) {
            best.offer(Candidate { score: table.score(query, place), place });
        }
    }
    best.into_candidates()
}

fn sweep_if_worth_it(table: &mut Table) {
    if table.wants_sweep() {
        table.sweep();
    }
}
