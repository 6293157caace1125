//! One hybrid search in 100,000 memories, given the query's vector: ours (tantivy and the exact eight-bit scan with rescoring)
//! against SQLite's (FTS5 and sqlite-vec). Both sides rank the same texts and vectors and fuse two lists of forty the same way.

#[path = "peers/sqlite_search.rs"]
mod sqlite_search;

use std::collections::HashMap;
use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use doze_core::model::{Kind, Scope, Status};
use doze_search::{
    Doc, DocChange, DocKind, Lexical, LexicalQuery, VectorFilter, VectorMeta, Vectors, memory_doc_id,
};

use sqlite_search::SqliteSearch;

pub const MEMORIES: usize = 100_000;
const DIM: usize = 384;
const LIST: usize = 40;
const QUERIES: usize = 64;

/// Numbers that are the same in every run (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// From 0 to 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A word out of 20,000 as texts use them: the n-th is met n times less often than the first.
    fn word(&mut self) -> String {
        let rank = 20_000f64.powf(self.unit()) as u64;
        let letters = b"bcdfghklmnprstvw";
        let vowels = b"aeiou";
        let (mut word, mut left) = (String::new(), rank * 7 + 3);
        while left > 0 {
            word.push(letters[(left % 16) as usize] as char);
            word.push(vowels[(left / 16 % 5) as usize] as char);
            left /= 80;
        }
        word
    }

    fn words(&mut self, count: usize) -> String {
        (0..count).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }

    /// A direction near one of 200 topics, since texts come in topics.
    fn vector(&mut self, topics: &[Vec<f32>]) -> Vec<f32> {
        let near = match topics.is_empty() {
            true => vec![0.0; DIM],
            false => topics[self.next() as usize % topics.len()].clone(),
        };
        let raw: Vec<f32> = near.iter().map(|x| x + (self.unit() as f32 - 0.5) * 0.1).collect();
        let norm = raw.iter().map(|x| x * x).sum::<f32>().sqrt();
        raw.iter().map(|x| x / norm).collect()
    }
}

struct Corpus {
    texts: Vec<(String, String)>,
    vectors: Vec<Vec<f32>>,
    queries: Vec<(String, Vec<f32>)>,
}

impl Corpus {
    fn new() -> Self {
        let mut random = Random(0x5eed);
        let topics: Vec<_> = (0..200).map(|_| random.vector(&[])).collect();
        let texts = (0..MEMORIES).map(|_| (random.words(6), random.words(35))).collect();
        let vectors = (0..MEMORIES).map(|_| random.vector(&topics)).collect();
        let queries = (0..QUERIES).map(|_| (random.words(3), random.vector(&topics))).collect();
        Self { texts, vectors, queries }
    }
}

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
    fn build(folder: &std::path::Path, corpus: &Corpus) -> Self {
        let lexical = Lexical::open(&folder.join("index")).expect("the index opens");
        let vectors = Vectors::new(DIM);
        let scope_key = Scope::Project("p".into()).key();
        for (number, ((title, body), vector)) in corpus.texts.iter().zip(&corpus.vectors).enumerate() {
            let id = memory_doc_id(&number.to_string());
            let (owner, project) = ("local:0".into(), Some("p".into()));
            let meta = VectorMeta {
                id: id.clone(),
                owner: "local:0".into(),
                scope_key: scope_key.clone(),
                project: Some("p".into()),
                kind: DocKind::Memory,
                status: Some(Status::Active),
                memory_kind: Some(Kind::Lesson),
                at_ms: number as i64,
            };
            vectors.put(&meta, std::slice::from_ref(vector)).expect("the vector has the right length");
            let doc = Doc {
                id,
                owner,
                scope_key: scope_key.clone(),
                project,
                kind: DocKind::Memory,
                status: Some(Status::Active),
                memory_kind: Some(Kind::Lesson),
                title: title.clone(),
                body: body.clone(),
                at_ms: number as i64,
            };
            lexical.apply(vec![DocChange::Put(doc)], number as u64 + 1).expect("the index takes it");
        }
        lexical.commit().expect("the index is written");
        Self { lexical, vectors }
    }

    fn search(&self, corpus: &Corpus, text: &str, vector: &[f32]) -> Vec<(u64, f64)> {
        let scopes = vec![Scope::Project("p".into()).key()];
        let query = LexicalQuery::new(text, "local:0".into(), scopes, LIST);
        let words = self.lexical.search(&query).expect("a query never fails");
        let exact = |id: &str| Some(vec![corpus.vectors[number(id) as usize].clone()]);
        let near = self.vectors.search(vector, &VectorFilter::from(&query), LIST, &exact);
        fuse(words.iter().map(|hit| number(&hit.id)), near.iter().map(|hit| number(&hit.id)))
    }
}

fn number(doc: &str) -> u64 {
    doc.trim_start_matches("m:").parse().expect("ids are numbers here")
}

fn search(c: &mut Criterion) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on a real disk");
    let corpus = Corpus::new();
    let doze = DozeSearch::build(folder.path(), &corpus);
    let sqlite = SqliteSearch::build(folder.path(), &corpus.texts, &corpus.vectors);
    let mut group = c.benchmark_group("search");
    group.sample_size(20).warm_up_time(Duration::from_secs(2)).measurement_time(Duration::from_secs(8));
    let mut turn = corpus.queries.iter().cycle();
    group.bench_function("doze", |b| {
        b.iter(|| {
            let (text, vector) = turn.next().expect("a cycle has no end");
            black_box(doze.search(&corpus, text, vector))
        });
    });
    let mut turn = corpus.queries.iter().cycle();
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
