//! One hybrid search in 100,000 memories, given the query's vector: ours (tantivy and the exact eight-bit scan with rescoring)
//! against SQLite's (FTS5 and sqlite-vec). Both sides rank the same texts and vectors and fuse two lists of forty the same way.

#[path = "peers/sqlite_search.rs"]
mod sqlite_search;

use std::collections::HashMap;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use doze_benches::corpus::{self, Corpus, DIM, number};
use doze_search::{Lexical, LexicalQuery, VectorFilter, Vectors};

use sqlite_search::SqliteSearch;

pub const MEMORIES: u64 = 100_000;
const LIST: usize = 40;
const QUERIES: u64 = 64;

/// Reciprocal ranks of two lists, best first.
fn fuse(first: impl Iterator<Item = u64>, second: impl Iterator<Item = u64>) -> Vec<(u64, f64)> {
    let mut scores: HashMap<u64, f64> = HashMap::new();
    for (rank, id) in first.enumerate().chain(second.enumerate()) {
        *scores.entry(id).or_default() += 1.0 / (60.0 + rank as f64);
    }
    let mut fused: Vec<_> = scores.into_iter().collect();
    fused.sort_by(|a, b| b.1.total_cmp(&a.1));
    fused.truncate(8);
    fused
}

struct DozeSearch {
    lexical: Lexical,
    vectors: Vectors,
}

impl DozeSearch {
    fn build(folder: &Path, corpus: &Corpus) -> Self {
        let lexical = corpus::lexical(&folder.join("index"), corpus, MEMORIES);
        let vectors = Vectors::new(DIM);
        corpus::fill(&vectors, corpus, MEMORIES);
        Self { lexical, vectors }
    }

    fn search(&self, stored: &[Vec<f32>], text: &str, vector: &[f32]) -> Vec<(u64, f64)> {
        let query = LexicalQuery::new(text, "local:0".into(), vec![corpus::scope_key()], LIST);
        let words = self.lexical.search(&query).expect("a query never fails");
        let exact = |id: &str| Some(vec![stored[number(id) as usize].clone()]);
        let near = self.vectors.search(vector, &VectorFilter::from(&query), LIST, &exact);
        fuse(words.iter().map(|hit| number(&hit.id)), near.iter().map(|hit| number(&hit.id)))
    }
}

fn search(c: &mut Criterion) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on a real disk");
    let corpus = Corpus::default();
    let texts: Vec<_> = (0..MEMORIES).map(|number| corpus.text(number)).collect();
    let stored: Vec<_> = (0..MEMORIES).map(|number| corpus.vector(number)).collect();
    let queries: Vec<_> = (0..QUERIES).map(|number| corpus.query(number)).collect();
    let doze = DozeSearch::build(folder.path(), &corpus);
    let sqlite = SqliteSearch::build(folder.path(), &texts, &stored);
    let mut group = c.benchmark_group("search");
    group.sample_size(20).warm_up_time(Duration::from_secs(2)).measurement_time(Duration::from_secs(8));
    let mut turn = queries.iter().cycle();
    group.bench_function("doze", |b| {
        b.iter(|| {
            let (text, vector) = turn.next().expect("a cycle has no end");
            black_box(doze.search(&stored, text, vector))
        });
    });
    let mut turn = queries.iter().cycle();
    group.bench_function("sqlite", |b| {
        b.iter(|| {
            let (text, vector) = turn.next().expect("a cycle has no end");
            let (words, near) = sqlite.search(text, vector, LIST);
            black_box(fuse(words.into_iter(), near.into_iter()))
        });
    });
    group.finish();
}

criterion_group!(benches, search);
criterion_main!(benches);
