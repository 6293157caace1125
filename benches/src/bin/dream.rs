//! What dreaming over 1,000 sessions costs: sweep after sweep of ten sessions by rule until all are read, then one that
//! finds nothing new. The work is the daemon's; its time and memory are told beside their limits.

use std::process::ExitCode;
use std::time::Instant;

use doze_benches::process::{kib, ticks};
use doze_benches::within;
use doze_tests::{Client, Home};
use serde_json::{Value, json};

const SESSIONS: usize = 1_000;
const PROJECTS: usize = 8;
/// Rounds of each session; four make it worth reading.
const ROUNDS: usize = 8;

fn main() -> ExitCode {
    let home = Home::new();
    let daemon = home.start();
    let mut client = home.client();
    let begun = Instant::now();
    for session in 0..SESSIONS {
        client.call("session.commit", commit(&home, session));
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

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// A session as an agent commits it: some of it worth keeping, some said before, most of it neither.
fn commit(home: &Home, number: usize) -> Value {
    let session = format!("bench-{number:04}");
    let project = home.project(&format!("p{}", number % PROJECTS));
    let mut events = Vec::new();
    let mut say = |kind: &str, origin: &str, text: String| {
        let id = format!("{session}-{}", events.len());
        events.push(json!({"id": id, "type": kind, "origin": origin, "text": text}));
    };
    for round in 0..ROUNDS {
        let topic = number * ROUNDS + round;
        say("prompt", "person", prompt(topic));
        say("answer", "agent", answer(topic));
    }
    for round in 0..ROUNDS {
        let topic = number * ROUNDS + round;
        let tool = json!({
            "name": "Bash",
            "input": format!("{{\"command\":\"just check-{}\"}}", topic % 200),
            "output": format!("running {} tests\n{}ok", topic % 90, "test case ... ok\n".repeat(60)),
            "failed": topic % 11 == 0,
        });
        let id = format!("{session}-tool-{round}");
        events.push(json!({"id": id, "type": "tool", "origin": "tool", "text": "", "tool": tool}));
    }
    json!({
        "session": session,
        "agent": {"id": format!("agent-{}", number % 4), "name": "agent", "harness": "claude-code"},
        "cwd": project,
        "end": "session",
        "events": events,
    })
}

fn prompt(topic: usize) -> String {
    match topic % 5 {
        0 => format!("No, use tool-{} instead of tool-{} in this repository.", topic % 60, topic % 60 + 1),
        1 => format!("The service number {} listens on port {}.", topic % 150, 3_000 + topic % 150),
        2 => format!("Please look at module {topic} and tell me what is missing there."),
        3 => format!("Always run the check {} before a release of part {}.", topic % 80, topic % 80),
        _ => "go on".to_owned(),
    }
}

fn answer(topic: usize) -> String {
    let what = match topic % 4 {
        0 => format!("The root cause is that `src/part{}.rs` reads the setting before it is written.", topic % 120),
        1 => format!("We chose queue {} over a table because the order matters to client {}.", topic % 70, topic % 70),
        _ => format!("Step {topic} is in place, and the tests pass."),
    };
    format!("{what} {}", "I looked through the files around it and changed what was needed. ".repeat(6))
}
