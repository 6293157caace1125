//! A graph of near neighbours (HNSW) for wide searches of large sets.
//!
//! It cannot forget: documents that were replaced or removed are passed over when they are found, documents that came
//! after it was built are found by a scan. When too many are one or the other it is built anew.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use hnsw_rs::anndists::dist::Distance;
use hnsw_rs::hnsw::Hnsw;

use super::NearestNeighbours;
use super::dot::{Kernel, Quantised};
use super::table::{Admission, Best, Candidate, Table};

/// Neighbours a node keeps.
const NEIGHBOURS: usize = 16;
/// Candidates looked at while a node is put in.
const EF_CONSTRUCTION: usize = 100;
/// Layers; the library can only dump graphs with this many.
const LAYERS: usize = 16;
/// Nodes looked at for every document asked for: some are chunks of the same document, some do not pass the filter.
const OVERSAMPLING: usize = 4;

/// A node is a row followed by its scale in four bytes, so that the distance is that of the vector, not of its bytes.
const SCALE_BYTES: usize = size_of::<f32>();

/// 1 − cosine. It is never negative and never NaN, on both of which the library panics.
#[derive(Debug, Clone, Copy)]
pub(super) struct CosineDistance(Kernel);

impl CosineDistance {
    pub(super) fn new() -> Self {
        Self(Kernel::detect())
    }
}

impl Distance<i8> for CosineDistance {
    fn eval(&self, a: &[i8], b: &[i8]) -> f32 {
        let ((a, a_scale), (b, b_scale)) = (parts(a), parts(b));
        // `max` also turns a NaN into 0.
        (1.0 - self.0.dot(a, b) as f32 * a_scale * b_scale).max(0.0)
    }
}

/// A row as a node.
pub(super) fn node(row: &[i8], scale: f32) -> Vec<i8> {
    row.iter().copied().chain(scale.to_le_bytes().map(u8::cast_signed)).collect()
}

/// The row of a node and its scale.
fn parts(node: &[i8]) -> (&[i8], f32) {
    let (row, scale) = node.split_at(node.len().saturating_sub(SCALE_BYTES));
    let mut bytes = [0; SCALE_BYTES];
    bytes.iter_mut().zip(scale).for_each(|(byte, &part)| *byte = part.cast_unsigned());
    (row, f32::from_le_bytes(bytes))
}

/// A document of the graph.
#[derive(Debug, Clone)]
pub(super) struct GraphDoc {
    /// Owner and id.
    pub(super) key: String,
    /// CRC-32 of its nodes: tells whether the table still has the same vectors.
    pub(super) crc: u32,
    /// Its nodes.
    pub(super) nodes: Range<u32>,
    /// The version in the table it was made from.
    pub(super) serial: u64,
}

/// Everything a graph is built from, copied out of the table so that building holds no lock.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    docs: Vec<GraphDoc>,
    nodes: Vec<Vec<i8>>,
}

impl Snapshot {
    pub(super) fn of(table: &Table) -> Self {
        let mut snapshot = Self::default();
        for (key, place) in table.keys() {
            let from = snapshot.nodes.len() as u32;
            snapshot.nodes.extend(table.chunks(place).map(|(row, scale)| node(row, scale)));
            let nodes = from..snapshot.nodes.len() as u32;
            let (crc, serial) = (crc(table, place), table.entry(place).serial);
            snapshot.docs.push(GraphDoc { key: key.to_owned(), crc, nodes, serial });
        }
        snapshot
    }
}

/// CRC-32 of the nodes of a document.
pub(super) fn crc(table: &Table, place: u32) -> u32 {
    let mut hash = crc32fast::Hasher::new();
    for (row, scale) in table.chunks(place) {
        let bytes: Vec<u8> = node(row, scale).into_iter().map(i8::cast_unsigned).collect();
        hash.update(&bytes);
    }
    hash.finalize()
}

/// The graph, its documents, and where the table has them now.
pub(super) struct Graph {
    pub(super) hnsw: Hnsw<'static, i8, CosineDistance>,
    pub(super) docs: Vec<GraphDoc>,
    /// The document of every node.
    doc_of: Vec<u32>,
    /// The place of every document; `None` for one that was replaced or removed.
    places: Vec<Option<u32>>,
    /// Places of documents that are not in the graph.
    fresh: Vec<u32>,
}

impl std::fmt::Debug for Graph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Graph").field("docs", &self.docs.len()).field("fresh", &self.fresh.len()).finish()
    }
}

impl Graph {
    /// Builds the graph on this thread: about a third of a millisecond for every node. It has to be linked to a table.
    pub(super) fn build(snapshot: Snapshot) -> Self {
        let Snapshot { docs, nodes } = snapshot;
        let hnsw = Hnsw::new(NEIGHBOURS, nodes.len(), LAYERS, EF_CONSTRUCTION, CosineDistance::new());
        for (number, node) in nodes.iter().enumerate() {
            hnsw.insert((node, number));
        }
        Self::new(hnsw, docs)
    }

    pub(super) fn new(hnsw: Hnsw<'static, i8, CosineDistance>, docs: Vec<GraphDoc>) -> Self {
        let doc_of =
            (0u32..).zip(&docs).flat_map(|(number, doc)| doc.nodes.clone().map(move |_| number)).collect();
        Self { hnsw, docs, doc_of, places: Vec::new(), fresh: Vec::new() }
    }

    /// Finds the documents again after the table moved or changed.
    pub(super) fn link(&mut self, table: &Table) {
        let by_serial: HashMap<u64, u32> =
            table.living().map(|place| (table.entry(place).serial, place)).collect();
        self.places = self.docs.iter().map(|doc| by_serial.get(&doc.serial).copied()).collect();
        let known: HashSet<u32> = self.places.iter().flatten().copied().collect();
        self.fresh = table.living().filter(|place| !known.contains(place)).collect();
    }

    /// A document came that the graph does not know.
    pub(super) fn add_fresh(&mut self, place: u32) {
        self.fresh.push(place);
    }

    /// A fifth of the documents came after the graph, or left it.
    pub(super) fn is_stale(&self, table: &Table) -> bool {
        let is_gone = |place: &&Option<u32>| place.is_none_or(|place| !table.entry(place).is_alive());
        let gone = self.places.iter().filter(is_gone).count();
        let fresh = self.fresh.iter().filter(|&&place| table.entry(place).is_alive()).count();
        (fresh + gone) * 5 > table.len()
    }
}

impl NearestNeighbours for Graph {
    fn nearest(
        &self,
        table: &Table,
        query: &Quantised,
        admission: &Admission,
        count: usize,
    ) -> Vec<Candidate> {
        let wanted = count * OVERSAMPLING;
        let found = self.hnsw.search(&node(&query.bytes, query.scale), wanted, wanted);
        let docs = found.iter().filter_map(|node| self.doc_of.get(node.d_id)).collect::<HashSet<_>>();
        let known = docs.into_iter().filter_map(|&doc| self.places.get(doc as usize).copied().flatten());
        let mut best = Best::new(count);
        for place in known.chain(self.fresh.iter().copied()) {
            if admission.admits(table.entry(place)) {
                best.offer(Candidate { score: table.score(query, place), place });
            }
        }
        best.into_candidates()
    }
}
