//! What dreaming over 1,000 sessions costs: sweep after sweep of ten sessions by rule until all are read, then one that
//! finds nothing new. The work is the daemon's; its time and memory are told beside their limits.

use std::process::ExitCode;
use std::time::Instant;

use doze_benches::process::{kib, ticks};
use doze_benches::{median, sessions, within};
use doze_tests::{Client, Home};
use serde_json::{Value, json};

const SESSIONS: usize = 1_000;

fn main() -> ExitCode {
    let home = Home::new();
    let daemon = home.start();
    let mut client = home.client();
    let begun = Instant::now();
    for session in 0..SESSIONS {
        client.call("session.commit", sessions::commit(&home, session));
    }
    println!("        {SESSIONS} sessions committed in {:.1} s", begun.elapsed().as_secs_f64());
    let (memory_before, ticks_before) = (kib(daemon.pid(), "RssAnon:"), ticks(daemon.pid()));

    let (mut sweeps, mut read, mut learned, mut longest) = (Vec::new(), 0, 0, 0.0_f64);
    loop {
        let (took, sweep) = dream(&mut client);
        if sweep["sessions"].as_array().is_none_or(Vec::is_empty) {
            break;
        }
        read += sweep["sessions"].as_array().map_or(0, Vec::len);
        learned += sweep["changes"].as_array().map_or(0, Vec::len);
        longest = longest.max(took);
        sweeps.push(took);
    }
    let busy = (ticks(daemon.pid()) - ticks_before) as f64 * 10.0;
    let grown = (kib(daemon.pid(), "VmHWM:") - memory_before) / 1024.0;
    println!(
        "        {} sweeps read {read} sessions and made {learned} changes in {:.1} s",
        sweeps.len(),
        sweeps.iter().sum::<f64>() / 1e3
    );
    let (idle, _) = dream(&mut client);
    assert!(read >= SESSIONS, "{read} of {SESSIONS} were read");
    let all = [
        within("dream: the median sweep of ten sessions", median(sweeps), 250.0, "ms"),
        within("dream: the longest sweep", longest, 1_000.0, "ms"),
        within("dream: processor time a session", busy / read as f64, 25.0, "ms"),
        within("dream: memory beyond what was there before, at most", grown, 64.0, "MiB"),
        within("dream: a sweep that finds nothing new", idle, 100.0, "ms"),
    ];
    if all.iter().all(|ok| *ok) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// One sweep, and how many milliseconds it took.
fn dream(client: &mut Client) -> (f64, Value) {
    let begun = Instant::now();
    let sweep = client.call("dream.run", json!({}));
    (begun.elapsed().as_secs_f64() * 1e3, sweep)
}
