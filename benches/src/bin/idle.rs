//! What a daemon costs while nobody works: memory, wake-ups and processor time, with 10,000 and 100,000 memories, before the
//! model was needed and with the model loaded. Reads /proc, so Linux only.

use std::fs;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use doze_benches::process::{field, kib, ticks};
use doze_benches::{used_home, within};
use doze_tests::until;
use serde_json::json;

/// Long enough that a timer of a few seconds shows.
const WATCHED: Duration = Duration::from_secs(30);
/// What a start leaves to do is over by then.
const SETTLED: Duration = Duration::from_secs(10);

/// Limits of one watch; memory in MiB, all that is resident and the part of it that no file backs.
struct Limits {
    resident: f64,
    anonymous: f64,
}

fn main() -> ExitCode {
    let everyday = watch(
        10_000,
        &Limits { resident: 80.0, anonymous: 40.0 },
        &Limits { resident: 80.0, anonymous: 60.0 },
    );
    let large = watch(
        100_000,
        &Limits { resident: 250.0, anonymous: 150.0 },
        &Limits { resident: 290.0, anonymous: 170.0 },
    );
    if everyday && large { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Watches a daemon with so many memories as it started, and again after a question that needed the model.
fn watch(memories: u64, fresh: &Limits, with_model: &Limits) -> bool {
    let home = used_home(memories);
    let daemon = home.start();
    let before = measure(&format!("{memories} memories, no model"), daemon.pid(), fresh);
    let mut client = home.client();
    until("the model to be loaded", || {
        let answer = client.call("recall.search", json!({"query": "test server port", "spaces": ["user"]}));
        (answer["semantic"] == "on").then_some(())
    });
    let after = measure(&format!("{memories} memories, model loaded"), daemon.pid(), with_model);
    before && after
}

fn measure(name: &str, pid: u32, limits: &Limits) -> bool {
    thread::sleep(SETTLED);
    let (switches_before, ticks_before) = (switches(pid), ticks(pid));
    thread::sleep(WATCHED);
    let seconds = WATCHED.as_secs_f64();
    let woken = (switches(pid) - switches_before) as f64 / seconds;
    // A tick is 10 ms wherever Linux runs today.
    let busy = (ticks(pid) - ticks_before) as f64 / 100.0 / seconds * 100.0;
    let resident = kib(pid, "VmRSS:") / 1024.0;
    let anonymous = kib(pid, "RssAnon:") / 1024.0;
    let all = [
        within(&format!("idle, {name}: resident memory"), resident, limits.resident, "MiB"),
        within(&format!("idle, {name}: anonymous memory"), anonymous, limits.anonymous, "MiB"),
        within(&format!("idle, {name}: wake-ups a second"), woken, 1.0, "/s"),
        within(&format!("idle, {name}: processor time"), busy, 0.2, "%"),
    ];
    all.iter().all(|ok| *ok)
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
