//! What a daemon costs while nobody works: memory, wake-ups and processor time, with an empty home and with 100,000 memories.
//! Reads /proc, so Linux only.

use std::fs;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use doze_benches::{used_home, within};
use doze_tests::Home;
use serde_json::json;

/// Long enough that a timer of a few seconds shows.
const WATCHED: Duration = Duration::from_secs(30);
/// What a start leaves to do is over by then.
const SETTLED: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    let empty = watch("empty", &Home::new(), 40.0, 25.0);
    let used = watch("100,000 memories", &used_home(), 200.0, 120.0);
    if empty && used { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Limits are in MiB: all resident memory, and the part of it that is not backed by files.
fn watch(name: &str, home: &Home, resident: f64, anonymous: f64) -> bool {
    let daemon = home.start();
    // One question, so that what is loaded on first use is loaded.
    home.client().call("recall.search", json!({"query": "test server port", "spaces": ["user"]}));
    thread::sleep(SETTLED);
    let (switches, ticks) = (switches(daemon.pid()), ticks(daemon.pid()));
    thread::sleep(WATCHED);
    let seconds = WATCHED.as_secs_f64();
    let woken = (self::switches(daemon.pid()) - switches) as f64 / seconds;
    // A tick is 10 ms wherever Linux runs today.
    let busy = (self::ticks(daemon.pid()) - ticks) as f64 / 100.0 / seconds * 100.0;
    let all = [
        within(
            &format!("idle, {name}: resident memory"),
            kib(daemon.pid(), "VmRSS:") / 1024.0,
            resident,
            "MiB",
        ),
        within(
            &format!("idle, {name}: anonymous memory"),
            kib(daemon.pid(), "RssAnon:") / 1024.0,
            anonymous,
            "MiB",
        ),
        within(&format!("idle, {name}: wake-ups a second"), woken, 2.0, "/s"),
        within(&format!("idle, {name}: processor time"), busy, 0.2, "%"),
    ];
    all.iter().all(|ok| *ok)
}

fn field(status: &str, name: &str) -> u64 {
    let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or_default()
}

fn kib(pid: u32, name: &str) -> f64 {
    field(&fs::read_to_string(format!("/proc/{pid}/status")).expect("the daemon runs"), name) as f64
}

/// How often any of its threads was put on a processor.
fn switches(pid: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("the daemon runs");
    threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("status")).ok())
        .map(|status| {
            field(&status, "voluntary_ctxt_switches:") + field(&status, "nonvoluntary_ctxt_switches:")
        })
        .sum()
}

/// User and system time of all its threads.
fn ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("the daemon runs");
    // The name in parentheses may hold spaces; what follows it does not.
    let after = stat.rsplit(')').next().unwrap_or_default();
    after.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}
