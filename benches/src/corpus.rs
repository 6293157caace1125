//! Texts and vectors made up for the search benches: the same in every run, of any number.

use std::path::Path;

use doze_core::model::{Kind, Scope, Status};
use doze_search::{Doc, DocChange, DocKind, Lexical, VectorMeta, Vectors, memory_doc_id};

/// Components of a vector, as the built-in model has them.
pub const DIM: usize = 384;
/// What texts are about: a vector lies near the direction of its topic.
const TOPICS: u64 = 200;
/// Changes handed to the index at once.
const BATCH: u64 = 1_000;

/// Numbers that are the same in every run (xorshift).
pub struct Random(u64);

impl Random {
    /// A series of its own for every seed.
    pub fn of(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

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

    /// A direction near another one, or any.
    fn vector(&mut self, near: Option<&[f32]>) -> Vec<f32> {
        let raw: Vec<f32> = (0..DIM)
            .map(|at| near.map_or(0.0, |near| near[at]) + (self.unit() as f32 - 0.5) * 0.1)
            .collect();
        let norm = raw.iter().map(|x| x * x).sum::<f32>().sqrt();
        raw.iter().map(|x| x / norm).collect()
    }
}

/// Memories and questions by their numbers; nothing is held but the topics.
pub struct Corpus {
    topics: Vec<Vec<f32>>,
}

impl Default for Corpus {
    fn default() -> Self {
        Self { topics: (0..TOPICS).map(|topic| Random::of(topic + 1).vector(None)).collect() }
    }
}

impl Corpus {
    /// Title and text of a memory: 41 words.
    pub fn text(&self, number: u64) -> (String, String) {
        let mut random = Random::of(0x5eed_0000 + number);
        (random.words(6), random.words(35))
    }

    /// The vector of a memory.
    pub fn vector(&self, number: u64) -> Vec<f32> {
        self.near_topic(Random::of(0xfeed_0000_0000 + number))
    }

    /// Three words and their vector.
    pub fn query(&self, number: u64) -> (String, Vec<f32>) {
        let mut random = Random::of(0xca11_0000_0000_0000 + number);
        (random.words(3), self.near_topic(random))
    }

    fn near_topic(&self, mut random: Random) -> Vec<f32> {
        let topic = random.next() % TOPICS;
        random.vector(Some(&self.topics[topic as usize]))
    }
}

/// The only space of the memories.
pub fn scope_key() -> String {
    Scope::Project("p".into()).key()
}

/// Every tenth memory is a decision, the others are lessons.
fn kind(number: u64) -> Kind {
    if number % 10 == 0 { Kind::Decision } else { Kind::Lesson }
}

/// An index of the first so many memories.
pub fn lexical(folder: &Path, corpus: &Corpus, memories: u64) -> Lexical {
    let lexical = Lexical::open(folder).expect("the index opens");
    for first in (0..memories).step_by(BATCH as usize) {
        let numbers = first..memories.min(first + BATCH);
        let docs = numbers.map(|number| {
            let (title, body) = corpus.text(number);
            DocChange::Put(Doc {
                id: memory_doc_id(&number.to_string()),
                owner: "local:0".into(),
                scope_key: scope_key(),
                project: Some("p".into()),
                kind: DocKind::Memory,
                status: Some(Status::Active),
                memory_kind: Some(kind(number)),
                title,
                body,
                at_ms: number as i64,
            })
        });
        lexical.apply(docs.collect(), first + BATCH).expect("the index takes it");
    }
    lexical.commit().expect("the index is written");
    lexical
}

/// Adds the vectors of the first so many memories.
pub fn fill(vectors: &Vectors, corpus: &Corpus, memories: u64) {
    for number in 0..memories {
        let meta = VectorMeta {
            id: memory_doc_id(&number.to_string()),
            owner: "local:0".into(),
            scope_key: scope_key(),
            project: Some("p".into()),
            kind: DocKind::Memory,
            status: Some(Status::Active),
            memory_kind: Some(kind(number)),
            at_ms: number as i64,
        };
        vectors.put(&meta, &[corpus.vector(number)]).expect("the vector has the right length");
    }
}

/// The number of the memory that an id of the indexes means.
pub fn number(doc: &str) -> u64 {
    doc.trim_start_matches("m:").parse().expect("ids are numbers here")
}
