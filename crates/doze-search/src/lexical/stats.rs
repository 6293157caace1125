//! The statistics BM25 weighs with, over disk and memory together, so that scores of both can be compared.

use std::collections::HashMap;

use tantivy::query::{Bm25StatisticsProvider, Bm25Weight};
use tantivy::schema::Field;
use tantivy::{Searcher, Term};

use super::schema::Fields;
use super::tail::Tail;

/// Counts of the disk index and the tail, added up for the terms of one query.
pub(super) struct Stats<'a> {
    searcher: &'a Searcher,
    fields: [Field; 2],
    /// Documents that hold a term in title and body, on disk and in memory.
    freqs: HashMap<String, [u64; 2]>,
    docs: u64,
    /// Tokens in all titles and bodies.
    tokens: [u64; 2],
}

impl<'a> Stats<'a> {
    /// Counts the terms.
    pub(super) fn new(
        searcher: &'a Searcher,
        fields: &Fields,
        tail: &Tail,
        terms: &[String],
    ) -> tantivy::Result<Self> {
        let fields = [fields.title, fields.body];
        let mut freqs = HashMap::with_capacity(terms.len());
        for (term, tail) in terms.iter().zip(tail.doc_freqs(terms)) {
            let mut freq = tail;
            for (freq, field) in freq.iter_mut().zip(fields) {
                *freq += searcher.doc_freq(&Term::from_field_text(field, term))?;
            }
            freqs.insert(term.clone(), freq);
        }
        let docs = searcher.total_num_docs()? + tail.docs().len() as u64;
        let mut tokens = tail.tokens();
        for (tokens, field) in tokens.iter_mut().zip(fields) {
            *tokens += searcher.total_num_tokens(field)?;
        }
        Ok(Self { searcher, fields, freqs, docs, tokens })
    }

    /// The weights of the terms in title and body, in the order of the terms.
    pub(super) fn weights(&self, terms: &[String]) -> Vec<[Bm25Weight; 2]> {
        let weight = |term: &String, field: usize| {
            let freq = self.freqs.get(term).map_or(0, |freq| freq[field]);
            let average = self.tokens[field] as f32 / self.docs as f32;
            Bm25Weight::for_one_term_without_explain(freq, self.docs, average)
        };
        terms.iter().map(|term| [weight(term, 0), weight(term, 1)]).collect()
    }
}

impl Bm25StatisticsProvider for Stats<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        match self.fields.iter().position(|&scored| scored == field) {
            Some(at) => Ok(self.tokens[at]),
            None => self.searcher.total_num_tokens(field),
        }
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.docs)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        let scored = self.fields.iter().position(|&scored| scored == term.field());
        match (scored, term.value().as_str().and_then(|text| self.freqs.get(text))) {
            (Some(at), Some(freq)) => Ok(freq[at]),
            _ => self.searcher.doc_freq(term),
        }
    }
}
