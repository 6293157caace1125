//! The matrix: every chunk one row of bytes, the rows of a document side by side.

use std::collections::HashMap;

use doze_core::model::{Kind, Status};

use super::dot::{Kernel, Quantised, dot_f32};
use super::filter::{VectorError, VectorFilter, VectorMeta};
use crate::lexical::DocKind;

/// Rows of removed documents are swept out when there are so many of them and they are a quarter of all.
const MIN_DEAD_ROWS: usize = 1_024;

/// A document of the table. A removed one has no rows.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) id: Box<str>,
    /// Counts every `put`; names this version of the document for good.
    pub(super) serial: u64,
    first_row: u32,
    rows: u32,
    space: u32,
    project: Option<u32>,
    kind: DocKind,
    status: Option<Status>,
    memory_kind: Option<Kind>,
    at_ms: i64,
}

impl Entry {
    /// It was not removed or replaced.
    pub(super) fn is_alive(&self) -> bool {
        self.rows > 0
    }
}

/// A name for every string, so that comparing is comparing numbers.
#[derive(Debug, Default)]
struct Names(HashMap<String, u32>);

impl Names {
    fn intern(&mut self, name: &str) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(name.to_owned()).or_insert(next)
    }

    fn get(&self, name: &str) -> Option<u32> {
        self.0.get(name).copied()
    }
}

/// Documents and their rows.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) dim: usize,
    kernel: Kernel,
    bytes: Vec<i8>,
    scales: Vec<f32>,
    entries: Vec<Entry>,
    /// Owner and id to the place in `entries`.
    places: HashMap<String, u32>,
    spaces: Names,
    projects: Names,
    /// Living documents of a space, by kind: tells how wide a filter is.
    counts: Vec<[usize; DocKind::ALL.len()]>,
    dead_rows: usize,
    next_serial: u64,
}

/// A document that may be an answer, with the product of its nearest row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    pub(super) score: f32,
    pub(super) place: u32,
}

impl Table {
    pub(super) fn new(dim: usize) -> Self {
        Self {
            dim,
            kernel: Kernel::detect(),
            bytes: Vec::new(),
            scales: Vec::new(),
            entries: Vec::new(),
            places: HashMap::new(),
            spaces: Names::default(),
            projects: Names::default(),
            counts: Vec::new(),
            dead_rows: 0,
            next_serial: 0,
        }
    }

    /// Documents in the table.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Documents of a kind.
    pub(super) fn count(&self, kind: DocKind) -> usize {
        self.counts.iter().map(|counts| counts[kind as usize]).sum()
    }

    /// Rows of living documents.
    pub(super) fn rows(&self) -> usize {
        self.scales.len() - self.dead_rows
    }

    /// Bytes held, roughly.
    pub(super) fn memory(&self) -> usize {
        let names: usize = self.places.keys().map(|key| key.capacity() + 32).sum();
        self.bytes.capacity()
            + self.scales.capacity() * size_of::<f32>()
            + self.entries.capacity() * size_of::<Entry>()
            + names
    }

    /// Adds a document or replaces it; one without chunks is removed. Returns its place.
    pub(super) fn put(&mut self, meta: &VectorMeta, chunks: &[Vec<f32>]) -> Result<Option<u32>, VectorError> {
        let mut rows = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            rows.push(self.row(chunk)?);
        }
        self.remove(meta.owner.as_str(), &meta.id);
        if rows.is_empty() {
            return Ok(None);
        }
        let space = self.spaces.intern(&key(meta.owner.as_str(), &meta.scope_key));
        if self.counts.len() <= space as usize {
            self.counts.resize(space as usize + 1, [0; DocKind::ALL.len()]);
        }
        self.counts[space as usize][meta.kind as usize] += 1;
        let entry = Entry {
            id: meta.id.as_str().into(),
            serial: self.next_serial,
            first_row: self.scales.len() as u32,
            rows: rows.len() as u32,
            space,
            project: meta.project.as_ref().map(|project| self.projects.intern(project.as_str())),
            kind: meta.kind,
            status: meta.status,
            memory_kind: meta.memory_kind,
            at_ms: meta.at_ms,
        };
        self.next_serial += 1;
        for row in rows {
            self.bytes.extend_from_slice(&row.bytes);
            self.scales.push(row.scale);
        }
        let place = self.entries.len() as u32;
        self.places.insert(key(meta.owner.as_str(), &meta.id), place);
        self.entries.push(entry);
        Ok(Some(place))
    }

    fn row(&self, vector: &[f32]) -> Result<Quantised, VectorError> {
        if vector.len() != self.dim {
            return Err(VectorError::Dimension { expected: self.dim, found: vector.len() });
        }
        let norm = dot_f32(vector, vector).sqrt();
        if !norm.is_finite() || norm <= f32::MIN_POSITIVE {
            return Err(VectorError::NoDirection);
        }
        let mut row = Quantised::new(vector);
        row.scale /= norm;
        Ok(row)
    }

    /// Takes a document out; its rows stay until there are many of them.
    pub(super) fn remove(&mut self, owner: &str, id: &str) -> bool {
        let Some(place) = self.places.remove(&key(owner, id)) else { return false };
        let entry = &mut self.entries[place as usize];
        self.counts[entry.space as usize][entry.kind as usize] -= 1;
        self.dead_rows += entry.rows as usize;
        entry.rows = 0;
        true
    }

    /// Whether so many rows are dead that [`Table::sweep`] is worth its time.
    pub(super) fn wants_sweep(&self) -> bool {
        self.dead_rows >= MIN_DEAD_ROWS && self.dead_rows * 4 >= self.scales.len()
    }

    /// Moves the living rows together. Places change, serials do not.
    pub(super) fn sweep(&mut self) {
        let mut bytes = Vec::with_capacity(self.rows() * self.dim);
        let mut scales = Vec::with_capacity(self.rows());
        let mut moved = vec![None; self.entries.len()];
        let mut entries = Vec::with_capacity(self.places.len());
        for (place, mut entry) in std::mem::take(&mut self.entries).into_iter().enumerate() {
            if entry.rows == 0 {
                continue;
            }
            let (from, to) = (entry.first_row as usize, (entry.first_row + entry.rows) as usize);
            entry.first_row = scales.len() as u32;
            bytes.extend_from_slice(&self.bytes[from * self.dim..to * self.dim]);
            scales.extend_from_slice(&self.scales[from..to]);
            moved[place] = Some(entries.len() as u32);
            entries.push(entry);
        }
        self.places.values_mut().for_each(|place| *place = moved[*place as usize].unwrap_or(*place));
        (self.bytes, self.scales, self.entries, self.dead_rows) = (bytes, scales, entries, 0);
    }

    /// The document at a place, living or not.
    pub(super) fn entry(&self, place: u32) -> &Entry {
        &self.entries[place as usize]
    }

    /// The places of living documents.
    pub(super) fn living(&self) -> impl Iterator<Item = u32> {
        (0u32..).zip(&self.entries).filter(|(_, entry)| entry.is_alive()).map(|(place, _)| place)
    }

    /// The place of a document by the key that [`Table::keys`] gives.
    pub(super) fn place(&self, key: &str) -> Option<u32> {
        self.places.get(key).copied()
    }

    /// Owner and id of every document, with its place.
    pub(super) fn keys(&self) -> impl Iterator<Item = (&str, u32)> {
        self.places.iter().map(|(key, &place)| (key.as_str(), place))
    }

    /// The rows of a document with their scales.
    pub(super) fn chunks(&self, place: u32) -> impl ExactSizeIterator<Item = (&[i8], f32)> {
        let entry = self.entry(place);
        let (from, to) = (entry.first_row as usize, (entry.first_row + entry.rows) as usize);
        self.bytes[from * self.dim..to * self.dim]
            .chunks_exact(self.dim)
            .zip(self.scales[from..to].iter().copied())
    }

    /// The product of the query and the nearest row of a document.
    #[inline]
    pub(super) fn score(&self, query: &Quantised, place: u32) -> f32 {
        let rows = self.chunks(place).map(|(row, scale)| self.kernel.dot(&query.bytes, row) as f32 * scale);
        rows.fold(f32::NEG_INFINITY, f32::max) * query.scale
    }

    /// The filter in the numbers of this table.
    pub(super) fn compile<'a>(&self, filter: &'a VectorFilter) -> Admission<'a> {
        let mut spaces = vec![false; self.counts.len()];
        let mut admitted = 0;
        let wanted =
            filter.scope_keys.iter().filter_map(|scope| self.spaces.get(&key(filter.owner.as_str(), scope)));
        for space in wanted {
            if !std::mem::replace(&mut spaces[space as usize], true) {
                let counts = self.counts[space as usize].iter();
                let kinds =
                    DocKind::ALL.into_iter().zip(counts).filter(|&(kind, _)| filter.kinds.contains(kind));
                admitted += kinds.map(|(_, count)| count).sum::<usize>();
            }
        }
        let project = filter.project.as_ref().map(|project| self.projects.get(project.as_str()));
        Admission { filter, spaces, project, admitted }
    }
}

/// A filter in the numbers of a table.
pub(super) struct Admission<'a> {
    filter: &'a VectorFilter,
    spaces: Vec<bool>,
    /// The project asked for; `Some(None)` when no document has it.
    project: Option<Option<u32>>,
    admitted: usize,
}

impl Admission<'_> {
    /// Whether a living document passes.
    #[inline]
    pub(super) fn admits(&self, entry: &Entry) -> bool {
        let filter = self.filter;
        entry.is_alive()
            && self.spaces[entry.space as usize]
            && filter.kinds.contains(entry.kind)
            && self.project.is_none_or(|project| project.is_some() && entry.project == project)
            && entry
                .status
                .is_none_or(|status| filter.statuses.is_empty() || filter.statuses.contains(&status))
            && entry
                .memory_kind
                .is_none_or(|kind| filter.memory_kinds.is_empty() || filter.memory_kinds.contains(&kind))
            && filter.since_ms.is_none_or(|since| entry.at_ms >= since)
            && filter.until_ms.is_none_or(|until| entry.at_ms < until)
    }

    /// How many documents pass when only spaces and kinds are asked for; `None` when more is asked.
    pub(super) fn width(&self) -> Option<usize> {
        let filter = self.filter;
        let is_plain = self.project.is_none()
            && filter.statuses.is_empty()
            && filter.memory_kinds.is_empty()
            && filter.since_ms.is_none()
            && filter.until_ms.is_none();
        is_plain.then_some(self.admitted)
    }
}

/// What names a document or a space among those of all owners.
pub(super) fn key(owner: &str, name: &str) -> String {
    format!("{owner}\0{name}")
}

/// The best so far, worst first out.
pub(super) struct Best {
    limit: usize,
    /// A heap with the worst on top.
    heap: std::collections::BinaryHeap<std::cmp::Reverse<Ranked>>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Ranked(Candidate);

impl Eq for Ranked {}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.score.total_cmp(&other.0.score).then_with(|| other.0.place.cmp(&self.0.place))
    }
}

impl Best {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, heap: std::collections::BinaryHeap::with_capacity(limit + 1) }
    }

    #[inline]
    pub(super) fn offer(&mut self, candidate: Candidate) {
        let candidate = Ranked(candidate);
        if self.heap.len() < self.limit {
            self.heap.push(std::cmp::Reverse(candidate));
        } else if self.heap.peek().is_some_and(|worst| candidate > worst.0) {
            self.heap.pop();
            self.heap.push(std::cmp::Reverse(candidate));
        }
    }

    pub(super) fn into_candidates(self) -> Vec<Candidate> {
        self.heap.into_sorted_vec().into_iter().map(|ranked| ranked.0.0).collect()
    }
}
