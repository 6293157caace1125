//! Reading session files: megabytes a second for two agents' formats, against parsing the same lines into JSON values and
//! throwing them away, which is the least that a reader built on a JSON tree does.

use std::fs;
use std::hint::black_box;
use std::io::Cursor;
use std::path::Path;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use doze_transcript::{Limits, read};

const BYTES: usize = 16 << 20;

/// Sessions of one agent, one after the other until there is enough of it.
fn sessions(harness: &str, names: &[&str]) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/testdata/sessions").join(harness);
    let mut all = Vec::new();
    for name in names {
        let mut file = fs::read(folder.join(name)).expect("the sample is there");
        if !file.ends_with(b"\n") {
            file.push(b'\n');
        }
        all.extend(file);
    }
    all.repeat(BYTES / all.len() + 1)
}

fn transcript(c: &mut Criterion) {
    let claude = sessions(
        "claude-code",
        &["14-v212-compacted.jsonl", "20-v2130-ansi-mid.jsonl", "29-korean-short.jsonl"],
    );
    let codex = sessions("codex", &["05-mise-patch.jsonl", "09-fnox.jsonl", "13-korean-subagents.jsonl"]);
    let mut group = c.benchmark_group("transcript");
    group.sample_size(10).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(5));
    for (name, file) in [("claude-code", &claude), ("codex", &codex)] {
        group.throughput(Throughput::Bytes(file.len() as u64));
        group.bench_function(name, |b| {
            b.iter(|| {
                let mut events = 0u64;
                let report = read(Cursor::new(file), None, &Limits::default(), &mut |_| events += 1);
                black_box(report.expect("the sample reads").counts);
                events
            });
        });
        group.bench_function(format!("{name}-json"), |b| {
            b.iter(|| {
                for line in file.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                    // Damaged lines are part of the samples.
                    let _ = black_box(serde_json::from_slice::<serde_json::Value>(line));
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, transcript);
criterion_main!(benches);
