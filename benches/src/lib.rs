//! A home that has been used for years, texts and vectors made up, and how a measurement is told against its limit.

pub mod corpus;
pub mod process;
pub mod sessions;

use std::path::Path;
use std::time::Instant;

use doze_core::model::{Face, Kind, Memory, Scope, Source, Status, Verification, content_hash, uuid_v7};
use doze_search::RtenEmbedder;
use doze_store::{Change, ChangeSet, Family, Options, Store};
use doze_tests::{Home, until};
use jiff::Timestamp;
use serde_json::json;

/// Memories written in one transaction while a home is filled.
const BATCH: u64 = 1_000;

/// A home with so many memories of the user, their vectors and a finished index; no daemon runs in it.
pub fn used_home(memories: u64) -> Home {
    let home = Home::new();
    let daemon = home.start();
    assert_eq!(daemon.terminate().code, Some(0));
    fill(&home.doze_home().join("data/doze.redb"), memories);
    let daemon = home.start();
    let mut client = home.client();
    until("the index to be made", || {
        let index = client.call("status", json!({}))["index"].clone();
        (index["lexical_seq"] == index["seq"] && index["vector_seq"] == index["seq"]).then_some(())
    });
    assert_eq!(daemon.terminate().code, Some(0));
    home
}

/// Bytes of the texts and vectors in a home with so many memories.
pub fn content(memories: u64) -> u64 {
    let vector = RtenEmbedder::model_id().dim as u64 * 4;
    (0..memories).map(memory).map(|memory| (memory.title.len() + memory.body.len()) as u64 + vector).sum()
}

fn fill(path: &Path, memories: u64) {
    let store = Store::open(path, Options::default()).expect("the daemon has ended");
    let model = RtenEmbedder::model_id();
    let name = format!("{}@{}", model.name, &model.sha256[..16]);
    for first in (0..memories).step_by(BATCH as usize) {
        let mut set = ChangeSet::new(owner().as_str().into());
        for number in first..memories.min(first + BATCH) {
            let memory = memory(number);
            let vectors = vec![direction(number, model.dim)];
            set = set.with(Change::PutVectors { doc: memory.id.to_string(), model: name.clone(), vectors });
            // Without knowing what a vector was made of, the daemon makes it again.
            let made_of = format!("vector:{}", memory.id);
            let source = format!("{name}\0{}", memory.content_hash);
            set = set.put_aux(Family::Other, made_of, source.into_bytes());
            set = set.put_memory(memory);
        }
        store.apply(set).expect("the disk has room");
    }
    store.close();
}

fn owner() -> String {
    // The benches run as the user whose daemon they start.
    format!(
        "local:{}",
        std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").expect("this is Linux"))
    )
}

fn memory(number: u64) -> Memory {
    let at = Timestamp::from_second(1_700_000_000 + number as i64 * 60).expect("a time after 2023");
    let title = format!("Port of test server {number}");
    let body = format!(
        "Test server {number} of the group {} listens on port {}.",
        number % 97,
        1024 + number % 60_000
    );
    let mut random = [0; 10];
    random[..8].copy_from_slice(&number.to_be_bytes());
    Memory {
        id: uuid_v7(1_700_000_000_000 + number, random).into(),
        owner: owner().as_str().into(),
        scope: Scope::User,
        face: Face::Project,
        kind: Kind::Fact,
        native_kind: None,
        content_hash: content_hash(Kind::Fact.as_str(), &title, &body),
        title,
        body,
        tags: Vec::new(),
        topic_key: None,
        files: Vec::new(),
        confidence: 0.8,
        evidence_count: 1,
        reinforce_count: 0,
        applied_count: 0,
        confirmed_by: Vec::new(),
        pinned: false,
        status: Status::Active,
        superseded_by: None,
        verification: Verification::Rule,
        source: Source::default(),
        contexts: Vec::new(),
        created_at: at,
        updated_at: at,
        last_confirmed_at: at,
        file_ref: None,
    }
}

/// A vector of length 1 that differs from one number to the next.
fn direction(number: u64, dim: usize) -> Vec<f32> {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut step = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u64 << 24) as f32 - 0.5
    };
    let raw: Vec<f32> = (0..dim).map(|_| step()).collect();
    let norm = raw.iter().map(|x| x * x).sum::<f32>().sqrt();
    raw.iter().map(|x| x / norm).collect()
}

/// The middle one of some times.
pub fn median(mut times: Vec<f64>) -> f64 {
    quantile(&mut times, 0.5)
}

/// The time that a share of all stays below; 0 of none.
pub fn quantile(times: &mut [f64], share: f64) -> f64 {
    times.sort_by(f64::total_cmp);
    let at = (times.len() as f64 * share) as usize;
    times.get(at.min(times.len().saturating_sub(1))).copied().unwrap_or_default()
}

/// How many milliseconds something takes.
pub fn timed<T>(work: impl FnOnce() -> T) -> f64 {
    let started = Instant::now();
    std::hint::black_box(work());
    started.elapsed().as_secs_f64() * 1e3
}

/// Prints a measurement beside its limit and says whether it is within.
pub fn within(name: &str, value: f64, limit: f64, unit: &str) -> bool {
    let ok = value <= limit;
    let word = if ok { "ok     " } else { "OUTSIDE" };
    println!("{word} {name:<52} {value:.1} {unit} ({:.2} of at most {limit} {unit})", value / limit);
    ok
}
