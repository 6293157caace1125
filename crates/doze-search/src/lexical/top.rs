//! The best documents on disk. Filters are turned into a set of documents first and asked inside the scoring loop, so
//! that the loop stays a union of terms and can skip what cannot reach the best any more (block-max WAND).

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use tantivy::query::{Bm25StatisticsProvider, EnableScoring, Query};
use tantivy::{BitSet, DocAddress, Score, Searcher};

/// A document with its score; the better one is greater, of equals the one that was found first.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ranked(Score, DocAddress);

impl Eq for Ranked {}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0).then_with(|| other.1.cmp(&self.1))
    }
}

/// The `limit` best of the documents that `words` finds and `filter` admits, best first.
pub(super) fn top(
    searcher: &Searcher,
    words: &dyn Query,
    filter: &dyn Query,
    stats: &dyn Bm25StatisticsProvider,
    limit: usize,
) -> tantivy::Result<Vec<(Score, DocAddress)>> {
    let words = words.weight(EnableScoring::enabled_from_statistics_provider(stats, searcher))?;
    let filter = filter.weight(EnableScoring::disabled_from_searcher(searcher))?;
    let mut best: BinaryHeap<Reverse<Ranked>> = BinaryHeap::with_capacity(limit + 1);
    for (segment, reader) in (0u32..).zip(searcher.segment_readers()) {
        let mut admitted = BitSet::with_max_value(reader.max_doc());
        filter.for_each_no_score(reader, &mut |docs| {
            for &doc in docs.iter().filter(|&&doc| !reader.is_deleted(doc)) {
                admitted.insert(doc);
            }
        })?;
        if admitted.len() == 0 {
            continue;
        }
        // Every score is above 0, so nothing is skipped before the best are complete.
        let worst = |best: &BinaryHeap<Reverse<Ranked>>| match best.peek() {
            Some(Reverse(worst)) if best.len() == limit => worst.0,
            _ => 0.0,
        };
        words.for_each_pruning(worst(&best), reader, &mut |doc, score| {
            if admitted.contains(doc) {
                best.push(Reverse(Ranked(score, DocAddress::new(segment, doc))));
                if best.len() > limit {
                    best.pop();
                }
            }
            worst(&best)
        })?;
    }
    let ranked = best.into_sorted_vec();
    Ok(ranked.into_iter().map(|Reverse(Ranked(score, address))| (score, address)).collect())
}
