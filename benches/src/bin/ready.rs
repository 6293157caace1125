//! How long a daemon with 100,000 memories takes from its start to its first answer, after an orderly end and after `kill -9`,
//! and how long its first search takes from there.

use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use doze_benches::{median, used_home, within};
use doze_tests::{Client, Daemon, Home};
use serde_json::json;

const STARTS: usize = 9;

fn main() -> ExitCode {
    let home = used_home(100_000);
    let (orderly, search) = median_of_starts(&home, |daemon| assert_eq!(daemon.terminate().code, Some(0)));
    let (killed, _) = median_of_starts(&home, Daemon::kill);
    let all = [
        within("ready: first answer after an orderly end", orderly, 100.0, "ms"),
        within("ready: first answer after kill -9", killed, 100.0, "ms"),
        within("ready: first search after that answer", search, 300.0, "ms"),
    ];
    if all.iter().all(|ok| *ok) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Milliseconds to the first answer and from there to the end of the first search.
fn median_of_starts(home: &Home, end: impl Fn(Daemon)) -> (f64, f64) {
    let (mut ready, mut searched) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        let start = Instant::now();
        let daemon = home.spawn(&[]);
        let mut client = loop {
            match Client::greet(&home.socket()) {
                Some(client) => break client,
                None => thread::sleep(Duration::from_micros(500)),
            }
        };
        assert_eq!(client.call("status", json!({}))["ready"], true);
        ready.push(start.elapsed().as_secs_f64() * 1e3);
        let start = Instant::now();
        let answer = client.call("recall.search", json!({"query": "test server 4711", "spaces": ["user"]}));
        searched.push(start.elapsed().as_secs_f64() * 1e3);
        assert_ne!(answer["hits"], json!([]), "{answer}");
        end(daemon);
    }
    (median(ready), median(searched))
}
