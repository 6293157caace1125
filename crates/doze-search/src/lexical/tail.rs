//! What is not on disk yet: a small exact index in memory, so that a write can be read at once.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::tokenizer::TextAnalyzer;

use super::TITLE_WEIGHT;
use super::doc::{Doc, DocChange, LexicalHit, LexicalQuery};
use super::schema::{key, session_key, session_of};
use super::stats::Stats;

/// The first so many bytes of a title are indexed.
const MAX_TITLE_BYTES: usize = 4 << 10;
/// The first so many bytes of a body are indexed: nobody looks for the end of a megabyte of tool output.
const MAX_BODY_BYTES: usize = 256 << 10;

/// A document in memory, counted.
#[derive(Debug)]
pub(super) struct TailDoc {
    pub(super) doc: Doc,
    session: Option<String>,
    /// How often a term stands in the title and in the body.
    counts: HashMap<String, [u32; 2]>,
    /// Tokens in the title and in the body.
    lengths: [u32; 2],
}

impl TailDoc {
    fn new(mut doc: Doc, analyzer: &mut TextAnalyzer) -> Self {
        doc.title.truncate(doc.title.floor_char_boundary(MAX_TITLE_BYTES));
        doc.body.truncate(doc.body.floor_char_boundary(MAX_BODY_BYTES));
        let mut counts: HashMap<String, [u32; 2]> = HashMap::new();
        let mut lengths = [0; 2];
        for (field, text) in [&doc.title, &doc.body].into_iter().enumerate() {
            let mut stream = analyzer.token_stream(text);
            while let Some(token) = stream.next() {
                lengths[field] += 1;
                match counts.get_mut(&token.text) {
                    Some(counts) => counts[field] += 1,
                    None => counts.entry(token.text.clone()).or_default()[field] = 1,
                }
            }
        }
        Self { session: session_of(&doc.owner, &doc.id), doc, counts, lengths }
    }

    /// Bytes of text.
    fn bytes(&self) -> usize {
        self.doc.title.len() + self.doc.body.len()
    }
}

/// A change with its counting done, so that searches need not wait for it.
#[derive(Debug)]
pub(super) enum Counted {
    Put(String, Arc<TailDoc>),
    Delete(String),
    DeleteSession(String),
}

impl Counted {
    pub(super) fn new(change: DocChange, analyzer: &mut TextAnalyzer) -> Self {
        match change {
            DocChange::Put(doc) => Self::Put(key(&doc.owner, &doc.id), Arc::new(TailDoc::new(doc, analyzer))),
            DocChange::Delete { owner, id } => Self::Delete(key(&owner, &id)),
            DocChange::DeleteSession { owner, session } => Self::DeleteSession(session_key(&owner, &session)),
        }
    }
}

/// The changes since the last commit.
#[derive(Debug, Default)]
pub(super) struct Tail {
    docs: HashMap<String, Arc<TailDoc>>,
    /// Every document that was put or deleted: what a commit takes out of the disk index first.
    changed: HashSet<String>,
    /// Those of them that are on disk: hits on these are out of date.
    shadows: HashSet<String>,
    /// Sessions taken out whole.
    sessions: HashSet<String>,
    bytes: usize,
    tokens: [u64; 2],
}

impl Tail {
    /// Takes a change in; `on_disk` tells whether the disk index has a document of this key.
    pub(super) fn apply(&mut self, change: Counted, on_disk: impl Fn(&str) -> bool) {
        match change {
            Counted::Put(key, doc) => {
                self.forget(&key, &on_disk);
                self.bytes += doc.bytes();
                self.tokens = [0, 1].map(|field| self.tokens[field] + u64::from(doc.lengths[field]));
                self.docs.insert(key, doc);
            }
            Counted::Delete(key) => self.forget(&key, &on_disk),
            Counted::DeleteSession(session) => {
                let of_session = |doc: &TailDoc| doc.session.as_ref() == Some(&session);
                let docs = self.docs.iter().filter(|(_, doc)| of_session(doc));
                let keys: Vec<String> = docs.map(|(key, _)| key.clone()).collect();
                keys.iter().for_each(|key| self.forget(key, &on_disk));
                self.sessions.insert(session);
            }
        }
    }

    /// Takes a document out of the tail and hides the one on disk.
    fn forget(&mut self, key: &str, on_disk: &impl Fn(&str) -> bool) {
        if let Some(old) = self.docs.remove(key) {
            self.bytes -= old.bytes();
            self.tokens = [0, 1].map(|field| self.tokens[field] - u64::from(old.lengths[field]));
        }
        if self.changed.insert(key.to_owned()) && on_disk(key) {
            self.shadows.insert(key.to_owned());
        }
    }

    /// Nothing waits for a commit.
    pub(super) fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.sessions.is_empty()
    }

    /// Changes that wait for a commit.
    pub(super) fn len(&self) -> usize {
        self.changed.len() + self.sessions.len()
    }

    /// Bytes of text held.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Documents held.
    pub(super) fn docs(&self) -> impl ExactSizeIterator<Item = &Arc<TailDoc>> {
        self.docs.values()
    }

    /// Keys that were put or deleted.
    pub(super) fn changed(&self) -> impl Iterator<Item = &String> {
        self.changed.iter()
    }

    /// Keys whose documents on disk are out of date.
    pub(super) fn shadows(&self) -> &HashSet<String> {
        &self.shadows
    }

    /// Sessions taken out whole.
    pub(super) fn sessions(&self) -> impl Iterator<Item = &String> {
        self.sessions.iter()
    }

    /// Tokens in all titles and all bodies.
    pub(super) fn tokens(&self) -> [u64; 2] {
        self.tokens
    }

    /// In how many titles and bodies each of the terms stands.
    pub(super) fn doc_freqs(&self, terms: &[String]) -> Vec<[u64; 2]> {
        let mut freqs = vec![[0; 2]; terms.len()];
        for doc in self.docs.values() {
            for (term, freq) in terms.iter().zip(&mut freqs) {
                if let Some(counts) = doc.counts.get(term) {
                    *freq = [0, 1].map(|field| freq[field] + u64::from(counts[field] > 0));
                }
            }
        }
        freqs
    }

    /// Terms that begin with `prefix`, at most `max`.
    pub(super) fn expand(&self, prefix: &str, max: usize) -> HashSet<String> {
        let terms = self.docs.values().flat_map(|doc| doc.counts.keys());
        terms.filter(|term| term.starts_with(prefix)).take(max).cloned().collect()
    }

    /// Every document that passes the filters and holds a term, scored as the disk index scores its own.
    pub(super) fn search(&self, query: &LexicalQuery, terms: &[String], stats: &Stats) -> Vec<LexicalHit> {
        let weights = stats.weights(terms);
        let mut hits = Vec::new();
        for doc in self.docs.values().filter(|doc| query.admits(&doc.doc)) {
            let norms = doc.lengths.map(FieldNormReader::fieldnorm_to_id);
            let mut score = 0.0;
            for (term, weights) in terms.iter().zip(&weights) {
                let Some(counts) = doc.counts.get(term) else { continue };
                for (field, boost) in [TITLE_WEIGHT, 1.0].into_iter().enumerate() {
                    // Where nothing was counted the average may be 0 of 0, and so the weight no number.
                    if counts[field] > 0 {
                        score += boost * weights[field].score(norms[field], counts[field]);
                    }
                }
            }
            if score > 0.0 {
                hits.push(LexicalHit { id: doc.doc.id.clone(), score });
            }
        }
        hits
    }
}
