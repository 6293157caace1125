//! The peer of every table: BM25 (k1 1.2, b 0.75) over lower-case words without a small list of stop words, nothing
//! stemmed, ties in the order of the documents.

use std::collections::HashMap;

const K1: f64 = 1.2;
const B: f64 = 0.75;
const STOP: [&str; 40] = [
    "a", "an", "and", "are", "as", "at", "be", "by", "did", "do", "does", "for", "from", "had", "has",
    "have", "how", "i", "in", "is", "it", "me", "my", "of", "on", "or", "that", "the", "to", "was", "we",
    "were", "what", "when", "where", "which", "who", "with", "you", "your",
];

/// Documents by their words.
pub(super) struct Bm25 {
    names: Vec<String>,
    lengths: Vec<f64>,
    average: f64,
    postings: HashMap<String, Vec<(usize, f64)>>,
}

impl Bm25 {
    pub(super) fn of(documents: impl Iterator<Item = (String, String)>) -> Self {
        let (mut names, mut lengths) = (Vec::new(), Vec::new());
        let mut postings: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
        for (at, (name, text)) in documents.enumerate() {
            let mut counts: HashMap<String, f64> = HashMap::new();
            let words = words(&text);
            lengths.push(words.len() as f64);
            names.push(name);
            for word in words {
                *counts.entry(word).or_default() += 1.0;
            }
            for (word, count) in counts {
                postings.entry(word).or_default().push((at, count));
            }
        }
        let average = lengths.iter().sum::<f64>() / lengths.len().max(1) as f64;
        Self { names, lengths, average, postings }
    }

    /// The names of the best documents, best first.
    pub(super) fn search(&self, query: &str, most: usize) -> Vec<String> {
        let total = self.names.len() as f64;
        let mut scores: HashMap<usize, f64> = HashMap::new();
        for word in words(query) {
            let Some(postings) = self.postings.get(&word) else { continue };
            let found = postings.len() as f64;
            let rarity = (1.0 + (total - found + 0.5) / (found + 0.5)).ln();
            for &(at, count) in postings {
                let length = 1.0 - B + B * self.lengths[at] / self.average;
                *scores.entry(at).or_default() += rarity * count * (K1 + 1.0) / (count + K1 * length);
            }
        }
        let mut best: Vec<(usize, f64)> = scores.into_iter().collect();
        best.sort_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
        best.into_iter().take(most).map(|(at, _)| self.names[at].clone()).collect()
    }
}

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .map(str::to_lowercase)
        .filter(|word| !word.is_empty() && !STOP.contains(&word.as_str()))
        .collect()
}
