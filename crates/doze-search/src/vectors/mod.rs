//! Nearest neighbours by cosine: an exact scan over bytes, and a graph for wide searches of large sets.
//!
//! The vectors themselves are records of the store; everything here is made from them. Eight bits choose the forty
//! best documents, the exact vectors rank them, so that nothing is lost against a scan in full precision. A graph is
//! only used where it beats the scan: above about 140,000 vectors, and when the filter leaves most of them.

mod dot;
mod dump;
mod filter;
mod graph;
mod packed;
mod table;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use doze_core::model::OwnerId;

use crate::lexical::DocKind;
use dot::{Quantised, dot_f32};
pub use filter::{VectorError, VectorFilter, VectorHit, VectorMeta};
use graph::{Graph, Snapshot};
pub use packed::{pack, unpack};
use table::{Admission, Best, Candidate, Table};

/// So many of the best by bytes are ranked by their exact vectors.
const RESCORED: usize = 40;

/// Above so many vectors a graph beats the scan on wide searches (measured: the scan stays below 2 ms up to 140,000).
pub const GRAPH_FROM: usize = 150_000;

/// A way to find the documents whose nearest chunk is near to a query, nearest first.
trait NearestNeighbours {
    /// At most `count` documents that are admitted.
    fn nearest(
        &self,
        table: &Table,
        query: &Quantised,
        admission: &Admission,
        count: usize,
    ) -> Vec<Candidate>;
}

/// Looks at every admitted document: the answer to which others are held.
struct Scan;

impl NearestNeighbours for Scan {
    fn nearest(
        &self,
        table: &Table,
        query: &Quantised,
        admission: &Admission,
        count: usize,
    ) -> Vec<Candidate> {
        let mut best = Best::new(count);
        for place in table.living().filter(|&place| admission.admits(table.entry(place))) {
            best.offer(Candidate { score: table.score(query, place), place });
        }
        best.into_candidates()
    }
}

/// What [`Vectors::maintain_graph`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphWork {
    /// There is no use for a graph, or the one there is will do.
    Nothing,
    /// The graph on disk was loaded.
    Loaded,
    /// A graph was built and written to disk.
    Built,
}

/// Where a graph is kept and from how many vectors on.
#[derive(Debug)]
struct GraphPlan {
    dir: PathBuf,
    from_rows: usize,
    /// Held by the one who loads or builds.
    work: Mutex<()>,
}

#[derive(Debug)]
struct State {
    table: Table,
    graph: Option<Graph>,
}

/// The vectors of every document.
#[derive(Debug)]
pub struct Vectors {
    state: RwLock<State>,
    plan: Option<GraphPlan>,
}

impl Vectors {
    /// An empty set of vectors of length `dim`, searched by scans only.
    pub fn new(dim: usize) -> Self {
        Self { state: RwLock::new(State { table: Table::new(dim), graph: None }), plan: None }
    }

    /// An empty set that keeps a graph in `dir` once it has `from_rows` vectors ([`GRAPH_FROM`] is a good number);
    /// [`Vectors::maintain_graph`] loads and builds it.
    pub fn with_graph(dim: usize, dir: &Path, from_rows: usize) -> Self {
        let plan = GraphPlan { dir: dir.to_owned(), from_rows, work: Mutex::new(()) };
        Self { plan: Some(plan), ..Self::new(dim) }
    }

    /// The length of every vector.
    pub fn dim(&self) -> usize {
        self.read().table.dim
    }

    /// Adds a document with the vectors of its chunks, or replaces it; without chunks it is removed.
    ///
    /// # Errors
    /// A vector has another length or no direction; the document keeps the vectors it had.
    pub fn put(&self, meta: &VectorMeta, chunks: &[Vec<f32>]) -> Result<(), VectorError> {
        let mut state = self.write();
        let place = state.table.put(meta, chunks)?;
        if let (Some(place), Some(graph)) = (place, &mut state.graph) {
            graph.add_fresh(place);
        }
        state.sweep_if_worth_it();
        Ok(())
    }

    /// Takes a document out; whether it was there.
    pub fn remove(&self, owner: &OwnerId, id: &str) -> bool {
        let mut state = self.write();
        let was_there = state.table.remove(owner.as_str(), id);
        state.sweep_if_worth_it();
        was_there
    }

    /// Takes the documents out of which `is_gone` says so by owner and id; how many those were.
    pub fn remove_where(&self, is_gone: impl Fn(&str, &str) -> bool) -> usize {
        let mut state = self.write();
        let named = |key: &str| key.split_once('\0').map(|(owner, id)| (owner.to_owned(), id.to_owned()));
        let gone: Vec<(String, String)> = state
            .table
            .keys()
            .filter_map(|(key, _)| named(key))
            .filter(|(owner, id)| is_gone(owner, id))
            .collect();
        for (owner, id) in &gone {
            state.table.remove(owner, id);
        }
        state.sweep_if_worth_it();
        gone.len()
    }

    /// Takes every document out.
    pub fn clear(&self) {
        let mut state = self.write();
        *state = State { table: Table::new(state.table.dim), graph: None };
    }

    /// Documents with vectors.
    pub fn len(&self) -> usize {
        self.read().table.len()
    }

    /// Documents of a kind with vectors.
    pub fn count(&self, kind: DocKind) -> usize {
        self.read().table.count(kind)
    }

    /// For each list of an owner's documents the first that has vectors: its place in the list, and the cosine of the
    /// query and the nearest of its chunks by the eight-bit product.
    pub fn scores(&self, query: &[f32], owner: &OwnerId, lists: &[Vec<String>]) -> Vec<Option<(usize, f32)>> {
        let Some(query) = self.directed(query) else { return vec![None; lists.len()] };
        let query = Quantised::new(&query);
        let state = self.read();
        let scored = |id: &String| {
            let place = state.table.place(&table::key(owner.as_str(), id))?;
            Some(state.table.score(&query, place))
        };
        let first = |list: &Vec<String>| {
            list.iter().enumerate().find_map(|(at, id)| scored(id).map(|score| (at, score)))
        };
        lists.iter().map(first).collect()
    }

    /// The query as a vector of length one; `None` when it has another length or no direction.
    fn directed(&self, query: &[f32]) -> Option<Vec<f32>> {
        let norm = dot_f32(query, query).sqrt();
        let is_usable = query.len() == self.dim() && norm.is_finite() && norm > f32::MIN_POSITIVE;
        is_usable.then(|| query.iter().map(|x| x / norm).collect())
    }

    /// No document has vectors.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes held by the matrix and the names, roughly.
    pub fn bytes(&self) -> usize {
        self.read().table.memory()
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
        let Some(query) = self.directed(query).filter(|_| limit > 0) else { return Vec::new() };
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
        let state = self.read();
        let table = &state.table;
        let count = count.min(table.len());
        let query = Quantised::new(query);
        let admission = table.compile(filter);
        let mut found = match self.useful_graph(&state, &admission) {
            Some(graph) => graph.nearest(table, &query, &admission, count),
            None => Scan.nearest(table, &query, &admission, count),
        };
        if found.len() < count.min(admission.width().unwrap_or(0)) {
            // The graph looked in a corner full of documents that left or do not pass.
            found = Scan.nearest(table, &query, &admission, count);
        }
        let hit =
            |found: Candidate| VectorHit { id: table.entry(found.place).id.to_string(), score: found.score };
        found.into_iter().map(hit).collect()
    }

    /// The graph, when the set is large and the filter leaves at least half of it.
    fn useful_graph<'a>(&self, state: &'a State, admission: &Admission) -> Option<&'a Graph> {
        let plan = self.plan.as_ref()?;
        let is_wide = admission.width().is_some_and(|width| width * 2 >= state.table.len());
        (state.table.rows() >= plan.from_rows && is_wide).then_some(state.graph.as_ref()).flatten()
    }

    /// Loads the graph from disk, or builds it when it is missing or out of date, on this thread: a third of a
    /// millisecond for every vector. For quiet moments; searches and changes go on meanwhile.
    ///
    /// # Errors
    /// The graph cannot be written. It is used all the same.
    pub fn maintain_graph(&self) -> std::io::Result<GraphWork> {
        let Some(plan) = &self.plan else { return Ok(GraphWork::Nothing) };
        let Ok(_work) = plan.work.try_lock() else { return Ok(GraphWork::Nothing) };
        let (is_large, has_graph) = {
            let state = self.read();
            (state.table.rows() >= plan.from_rows, state.graph.is_some())
        };
        if !is_large {
            return Ok(GraphWork::Nothing);
        }
        let is_loaded = !has_graph && self.load_graph(plan);
        let is_good = {
            let state = self.read();
            state.graph.as_ref().is_some_and(|graph| !graph.is_stale(&state.table))
        };
        match (is_good, is_loaded) {
            (true, true) => Ok(GraphWork::Loaded),
            (true, false) => Ok(GraphWork::Nothing),
            (false, _) => self.build_graph(plan).map(|()| GraphWork::Built),
        }
    }

    fn load_graph(&self, plan: &GraphPlan) -> bool {
        let loaded = dump::load(&plan.dir, &self.read().table);
        let found = loaded.is_some();
        if let Some(graph) = loaded {
            self.install(graph);
        }
        found
    }

    fn build_graph(&self, plan: &GraphPlan) -> std::io::Result<()> {
        let snapshot = Snapshot::of(&self.read().table);
        let graph = Graph::build(snapshot);
        let dumped = dump::dump(&graph, self.dim(), &plan.dir);
        self.install(graph);
        dumped
    }

    fn install(&self, mut graph: Graph) {
        let mut state = self.write();
        graph.link(&state.table);
        state.graph = Some(graph);
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn sweep_if_worth_it(&mut self) {
        if self.table.wants_sweep() {
            self.table.sweep();
            if let Some(graph) = &mut self.graph {
                graph.link(&self.table);
            }
        }
    }
}

#[cfg(test)]
mod tests;
