//! Compares what criterion measured last with the limits in `limits.toml`, prints a line each, and ends with 1 when one is
//! outside its limit. With an argument, only limits whose name begins with it are looked at.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use serde::Deserialize;

#[derive(Deserialize)]
struct Limits {
    limit: Vec<Limit>,
}

/// One limit. `bench` and `peer` are criterion's names, `GROUP/FUNCTION`; with a peer the value is a ratio of the two
/// times, else a time in milliseconds.
#[derive(Deserialize)]
struct Limit {
    name: String,
    bench: String,
    peer: Option<String>,
    /// How many times as fast as the peer it has to be.
    faster_at_least: Option<f64>,
    /// How many times the peer's time it may take.
    times_at_most: Option<f64>,
    /// Milliseconds without a peer.
    ms_at_most: Option<f64>,
}

enum Verdict {
    Within(String),
    Outside(String),
    NotMeasured(String),
}

fn main() -> ExitCode {
    let prefix = std::env::args().nth(1).unwrap_or_default();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("limits.toml")).expect("limits.toml lies beside Cargo.toml");
    let limits: Limits = toml::from_str(&text).expect("limits.toml has the shape of Limits");
    let criterion = root.join("target/criterion");

    let mut outside = 0;
    for limit in limits.limit.iter().filter(|limit| limit.name.starts_with(&prefix)) {
        match judge(limit, &criterion) {
            Verdict::Within(text) => println!("ok      {:<52} {text}", limit.name),
            Verdict::NotMeasured(bench) => println!("-       {:<52} {bench} is not measured", limit.name),
            Verdict::Outside(text) => {
                outside += 1;
                println!("OUTSIDE {:<52} {text}", limit.name);
            }
        }
    }
    if outside == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn judge(limit: &Limit, criterion: &Path) -> Verdict {
    let Some(own) = median_ms(criterion, &limit.bench) else {
        return Verdict::NotMeasured(limit.bench.clone());
    };
    let Some(peer) = &limit.peer else {
        let most = limit.ms_at_most.expect("a limit without a peer has ms_at_most");
        return verdict(own <= most, format!("{own:.3} ms (at most {most} ms)"));
    };
    let Some(other) = median_ms(criterion, peer) else {
        return Verdict::NotMeasured(peer.clone());
    };
    let times = format!("{own:.4} ms against {other:.4} ms");
    if let Some(least) = limit.faster_at_least {
        let faster = other / own;
        return verdict(faster >= least, format!("{faster:.2} times as fast (at least {least}): {times}"));
    }
    let most = limit.times_at_most.expect("a limit with a peer has faster_at_least or times_at_most");
    let share = own / other;
    verdict(share <= most, format!("{share:.2} times the time (at most {most}): {times}"))
}

fn verdict(within: bool, text: String) -> Verdict {
    if within { Verdict::Within(text) } else { Verdict::Outside(text) }
}

/// The median of one iteration in the newest run; `None` when it was never run.
fn median_ms(criterion: &Path, bench: &str) -> Option<f64> {
    let text = fs::read_to_string(criterion.join(bench).join("new/estimates.json")).ok()?;
    let estimates: serde_json::Value = serde_json::from_str(&text).ok()?;
    Some(estimates["median"]["point_estimate"].as_f64()? / 1e6)
}
