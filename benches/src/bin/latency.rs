//! How long callers wait while much else goes on: a ping while texts are embedded, a search while a dream and an import run,
//! and a commit among 64 callers, beside what one durable transaction with as many records costs.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use doze_benches::{median, quantile, sessions, timed, used_home, within};
use doze_tests::Client;
use redb::{Database, Durability, TableDefinition};
use serde_json::json;

const MEMORIES: u64 = 10_000;
const CALLERS: usize = 64;
/// How long each row is measured.
const SPAN: Duration = Duration::from_secs(8);
/// Callers that make the daemon embed something all the time.
const EMBEDDING: usize = 4;
/// Sessions that wait for the dream, and those of one import.
const WAITING: usize = 300;
const IMPORTED: usize = 200;

fn main() -> ExitCode {
    let home = used_home(MEMORIES);
    let daemon = home.start();
    for number in 0..WAITING {
        home.client().call("session.commit", sessions::commit(&home, number));
    }
    let socket = &home.socket();
    searches(socket, Duration::from_secs(1));

    let mut pings = pings(socket, SPAN);
    let mut pings_embedding = beside(|end| embed(socket, end), || self::pings(socket, SPAN));
    let mut idle = searches(socket, SPAN);
    let (folder, project) = (home.path().to_owned(), home.project("imported"));
    let load = |end: &AtomicBool| dream_and_import(socket, &folder, &project, end);
    let mut busy = beside(load, || searches(socket, SPAN));
    let projects: Vec<PathBuf> = (0..8).map(|number| home.project(&format!("c{number}"))).collect();
    let mut commits = commits(socket, &projects);
    assert_eq!(daemon.terminate().code, Some(0));
    let batch = median(batches(&home.doze_home().join("peer.redb")));

    let rows = [
        ("ping", &mut pings),
        ("ping, texts being embedded", &mut pings_embedding),
        ("search by words and meaning", &mut idle),
        ("search, a dream and an import running", &mut busy),
        ("commit, 64 callers", &mut commits),
    ];
    println!("| what | calls | median | p99 | slowest |\n|---|--:|--:|--:|--:|");
    for (name, times) in rows {
        let [middle, late, last] = [0.5, 0.99, 1.0].map(|share| quantile(times, share));
        println!("| {name} | {} | {middle:.2} ms | {late:.2} ms | {last:.2} ms |", times.len());
    }
    println!("| one durable transaction with the records of 64 commits | | {batch:.2} ms | | |");
    let p99 = |times: &mut Vec<f64>| quantile(times, 0.99);
    let all = [
        within("latency: ping while embedding, p99", p99(&mut pings_embedding), 20.0, "ms"),
        within("latency: search beside dream and import, p99", p99(&mut busy) / p99(&mut idle), 2.0, "times"),
        within("latency: commit of 64 callers, p99", p99(&mut commits) / batch, 5.0, "transactions"),
    ];
    if all.iter().all(|ok| *ok) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Measures while something else goes on, which is told when to end.
fn beside<T>(load: impl FnOnce(&AtomicBool) + Send, measure: impl FnOnce() -> T) -> T {
    let end = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| load(&end));
        // The load is on its way when it is measured.
        thread::sleep(Duration::from_millis(200));
        let measured = measure();
        end.store(true, Ordering::Relaxed);
        measured
    })
}

fn client(socket: &Path) -> Client {
    Client::greet(socket).expect("the daemon answers")
}

fn pings(socket: &Path, span: Duration) -> Vec<f64> {
    let mut client = client(socket);
    repeat(span, |_| {
        let took = timed(|| client.call("status", json!({})));
        thread::sleep(Duration::from_millis(1));
        took
    })
}

/// Searches of one caller, each for something else.
fn searches(socket: &Path, span: Duration) -> Vec<f64> {
    let mut client = client(socket);
    repeat(span, |number| {
        let query = format!("on which port does test server {} listen", number * 37 % 10_000);
        timed(|| client.call("recall.search", json!({"query": query, "spaces": ["user"]})))
    })
}

fn repeat(span: Duration, mut once: impl FnMut(usize) -> f64) -> Vec<f64> {
    let start = Instant::now();
    (0..).take_while(|_| start.elapsed() < span).map(|number| once(number)).collect()
}

/// Callers whose questions have to be embedded.
fn embed(socket: &Path, end: &AtomicBool) {
    thread::scope(|scope| {
        for caller in 0..EMBEDDING {
            scope.spawn(move || {
                let mut client = client(socket);
                for number in (0..).take_while(|_| !end.load(Ordering::Relaxed)) {
                    let query = format!("what was decided about part {number} of caller {caller}, and why");
                    client.call("recall.search", json!({"query": query}));
                }
            });
        }
    });
}

/// Sweeps one after another, and files read in, until it is over.
fn dream_and_import(socket: &Path, folder: &Path, project: &Path, end: &AtomicBool) {
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = client(socket);
            while !end.load(Ordering::Relaxed) {
                // A sweep that keeps finding what it planned on changed gives way, and is tried again.
                let _ = client.ask("dream.run", json!({}));
            }
        });
        scope.spawn(|| {
            let mut client = client(socket);
            for round in (0..).take_while(|_| !end.load(Ordering::Relaxed)) {
                let folder = sessions::write_files(folder, project, round * IMPORTED, IMPORTED);
                client.call("import", json!({"path": folder}));
            }
        });
    });
}

/// Commits of as many callers as there are at once.
fn commits(socket: &Path, projects: &[PathBuf]) -> Vec<f64> {
    thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS)
            .map(|caller| {
                scope.spawn(move || {
                    let mut client = client(socket);
                    let cwd = &projects[caller % projects.len()];
                    repeat(SPAN, |number| {
                        let request = json!({
                            "session": format!("latency-{caller}-{number}"),
                            "agent": {"id": format!("agent-{caller}"), "name": "a", "harness": "claude-code"},
                            "cwd": cwd,
                            "end": "session",
                            "events": [
                                {"id": "1", "type": "prompt", "origin": "person", "text": format!("look at part {number}")},
                                {"id": "2", "type": "answer", "origin": "agent", "text": record(number)},
                                {"id": "3", "type": "prompt", "origin": "person", "text": "go on"},
                                {"id": "4", "type": "answer", "origin": "agent", "text": record(number + 1)},
                            ],
                        });
                        timed(|| client.call("session.commit", request))
                    })
                })
            })
            .collect();
        callers.into_iter().flat_map(|caller| caller.join().expect("a caller does not panic")).collect()
    })
}

fn record(number: usize) -> String {
    format!("Part {number} is in place; the suite passes with {} tests. ", number % 977).repeat(4)
}

/// Durable transactions of bare redb, each with the records of 64 commits: a session and its four events.
fn batches(path: &Path) -> Vec<f64> {
    const RECORDS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("records");
    let database = Database::create(path).expect("redb opens");
    let batch = |number: usize| {
        let mut transaction = database.begin_write().expect("one writer");
        transaction.set_durability(Durability::Immediate).expect("no savepoint is open");
        transaction.set_quick_repair(true);
        {
            let mut table = transaction.open_table(RECORDS).expect("the table opens");
            for commit in 0..CALLERS * 5 {
                let key = format!("session-{number}/{commit}");
                table.insert(key.as_str(), record(commit).as_bytes()).expect("the record is written");
            }
        }
        transaction.commit().expect("the commit is durable");
    };
    repeat(SPAN / 4, |number| timed(|| batch(number)))
}
