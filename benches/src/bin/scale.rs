//! What grows when memories do: search by words and by vectors, with and without a filter, and the whole daemon: start, a commit,
//! a brief, memory, disk. `scale 10000 100000 1000000` for other sizes than the first two; a million takes a quarter of an hour.

use std::env;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use doze_benches::corpus::{self, Corpus, DIM, number};
use doze_benches::process::kib;
use doze_benches::{content, median, timed, used_home, within};
use doze_core::model::Kind;
use doze_search::{GRAPH_FROM, LexicalQuery, VectorFilter, Vectors};
use doze_store::{Options, Store};
use doze_tests::{Home, until};
use serde_json::{Value, json};

const SIZES: [u64; 2] = [10_000, 100_000];
const QUERIES: u64 = 64;
const LIST: usize = 40;
const COMMITS: u64 = 101;
/// How often what does not change is asked.
const TIMES: usize = 15;
const MIB: f64 = 1024.0 * 1024.0;

/// What was measured at one size; times in milliseconds, the rest in MiB.
struct Row {
    memories: u64,
    words: f64,
    words_filtered: f64,
    vectors: f64,
    vectors_filtered: f64,
    start: f64,
    commit: f64,
    brief: f64,
    anonymous: f64,
    disk: f64,
    /// Bytes on disk for every byte of text and vectors.
    disk_ratio: f64,
}

fn main() -> ExitCode {
    let given: Vec<u64> = env::args().skip(1).filter_map(|size| size.parse().ok()).collect();
    let sizes = if given.is_empty() { SIZES.to_vec() } else { given };
    let corpus = Corpus::default();
    let rows: Vec<Row> = sizes.iter().map(|&memories| measure(&corpus, memories)).collect();
    print_table(&rows);
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return ExitCode::FAILURE };
    // The limits are for a hundredfold; for less they are wide, and nothing may grow faster than what it holds.
    let times = |what: fn(&Row) -> f64| what(last) / what(first);
    let all = [
        within("scale: search by words, growth", times(|row| row.words), 40.0, "times"),
        within("scale: search by vectors, growth", times(|row| row.vectors), 8.0, "times"),
        within("scale: a commit, growth", times(|row| row.commit), 2.0, "times"),
        within("scale: disk for text and vectors", last.disk_ratio, 2.5, "times"),
    ];
    if all.iter().all(|ok| *ok) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn measure(corpus: &Corpus, memories: u64) -> Row {
    let folder = tempfile::tempdir_in(concat!(env!("CARGO_MANIFEST_DIR"), "/target")).expect("a folder on a real disk");
    let (words, words_filtered) = by_words(corpus, memories, folder.path());
    let (vectors, vectors_filtered) = by_vectors(corpus, memories, folder.path());
    let row = Row {
        memories,
        words,
        words_filtered,
        vectors,
        vectors_filtered,
        start: 0.0,
        commit: 0.0,
        brief: 0.0,
        anonymous: 0.0,
        disk: 0.0,
        disk_ratio: 0.0,
    };
    in_a_daemon(row)
}

/// The median search by words among all memories and among a tenth of them.
fn by_words(corpus: &Corpus, memories: u64, folder: &Path) -> (f64, f64) {
    let lexical = corpus::lexical(&folder.join("index"), corpus, memories);
    let search = |kinds: &[Kind]| {
        let times = (0..QUERIES).map(|at| {
            let mut query =
                LexicalQuery::new(corpus.query(at).0, "local:0".into(), vec![corpus::scope_key()], LIST);
            query.memory_kinds = kinds.to_vec();
            timed(|| lexical.search(&query).expect("a query never fails"))
        });
        median(times.collect())
    };
    search(&[]);
    (search(&[]), search(&[Kind::Decision]))
}

/// The same by vectors; a graph is built where the daemon would.
fn by_vectors(corpus: &Corpus, memories: u64, folder: &Path) -> (f64, f64) {
    let vectors = Vectors::with_graph(DIM, &folder.join("graph"), GRAPH_FROM);
    corpus::fill(&vectors, corpus, memories);
    vectors.maintain_graph().expect("the graph is written");
    let exact = |id: &str| Some(vec![corpus.vector(number(id))]);
    let search = |kinds: &[Kind]| {
        let times = (0..QUERIES).map(|at| {
            let (text, vector) = corpus.query(at);
            let mut query = LexicalQuery::new(text, "local:0".into(), vec![corpus::scope_key()], LIST);
            query.memory_kinds = kinds.to_vec();
            let filter = VectorFilter::from(&query);
            timed(|| vectors.search(&vector, &filter, LIST, &exact))
        });
        median(times.collect())
    };
    search(&[]);
    (search(&[]), search(&[Kind::Decision]))
}

/// Start, commit, brief, memory and disk of a daemon with so many memories.
fn in_a_daemon(row: Row) -> Row {
    let home = used_home(row.memories);
    let started = Instant::now();
    let daemon = home.start();
    let start = started.elapsed().as_secs_f64() * 1e3;
    let mut client = home.client();
    until("the indexes to be open", || {
        let index = client.call("status", json!({}))["index"].clone();
        (index["lexical_seq"] == index["seq"]).then_some(())
    });
    let cwd = home.project("shop");
    let mut brief = || timed(|| client.call("recall.brief", json!({"cwd": cwd, "session": "b"})));
    brief();
    let brief = median((0..TIMES).map(|_| brief()).collect());
    let commits = (0..COMMITS).map(|at| {
        let request = commit(&home, at);
        timed(|| client.call("session.commit", request))
    });
    let commit = median(commits.collect());
    let anonymous = kib(daemon.pid(), "RssAnon:") / 1024.0;
    assert_eq!(daemon.terminate().code, Some(0));
    // As the daemon does in quiet times.
    let store = Store::open(&home.doze_home().join("data/doze.redb"), Options::default()).expect("the daemon has ended");
    store.compact().expect("the disk has room");
    store.close();
    let disk = size(&home.doze_home()) as f64;
    Row { start, commit, brief, anonymous, disk: disk / MIB, disk_ratio: disk / content(row.memories) as f64, ..row }
}

fn commit(home: &Home, number: u64) -> Value {
    json!({
        "session": format!("scale-{number}"),
        "agent": {"id": "a", "name": "a", "harness": "claude-code"},
        "cwd": home.project("shop"),
        "end": "session",
        "events": [
            {"id": "1", "type": "prompt", "origin": "person", "text": format!("look at part {number}")},
            {"id": "2", "type": "answer", "origin": "agent", "text": format!("Part {number} is in place.")},
        ],
    })
}

/// Bytes of all files in a folder.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let kind = entry.metadata().ok()?;
            Some(if kind.is_dir() { size(&entry.path()) } else { kind.len() })
        })
        .sum()
}

fn print_table(rows: &[Row]) {
    println!("| memories | words | in a tenth | vectors | in a tenth | start | commit | brief | anonymous | disk | of content |");
    println!("|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for row in rows {
        println!(
            "| {} | {:.2} ms | {:.2} ms | {:.2} ms | {:.2} ms | {:.0} ms | {:.2} ms | {:.2} ms | {:.0} MiB | {:.0} MiB | {:.2} |",
            row.memories,
            row.words,
            row.words_filtered,
            row.vectors,
            row.vectors_filtered,
            row.start,
            row.commit,
            row.brief,
            row.anonymous,
            row.disk,
            row.disk_ratio,
        );
    }
}
