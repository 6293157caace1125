//! What an agent waits for at an event: the whole life of a hook process, with the daemon running, against starting `true`.

use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, io::Write};

use criterion::{Criterion, criterion_group, criterion_main};
use doze_tests::Home;
use serde_json::json;

/// Runs a program to its end with this on stdin.
fn run(command: &mut Command, stdin: &str) {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    // `true` may be gone before it is written to.
    let _ = child.stdin.take().expect("stdin is a pipe").write_all(stdin.as_bytes());
    assert!(child.wait().expect("the child can be waited for").success());
}

fn hooks(c: &mut Criterion) {
    let home = Home::new();
    let _daemon = home.start();
    let project = home.repo("app");
    let mut client = home.client();
    for number in 0..200 {
        let body = format!("The port of test server {number} is {}", 5_000 + number);
        client.call(
            "memory.add",
            json!({"body": body, "kind": "fact", "space": "project", "cwd": project.path()}),
        );
    }
    let doze = home.dozed().with_file_name("doze");
    let mut group = c.benchmark_group("hooks");
    group.sample_size(60).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(6));

    let mut nothing = Command::new("true");
    nothing.env_clear().envs(home.environment());
    group.bench_function("true", |b| b.iter(|| run(&mut nothing, "{}")));

    let transcript = home.user_home().join("session.jsonl");
    fs::copy(doze_tests::testdata("sessions/claude-code/14-v212-compacted.jsonl"), &transcript)
        .expect("the sample is there");
    for (name, event, more) in [
        ("start", "SessionStart", json!({"source": "startup"})),
        (
            "prompt",
            "UserPromptSubmit",
            json!({"prompt": "Which port has the test server?", "source": "user"}),
        ),
        ("tool", "PostToolUse", json!({"tool_name": "Edit", "tool_input": {"file_path": "src/lib.rs"}})),
        ("stop", "Stop", json!({"transcript_path": transcript, "last_assistant_message": "Done."})),
    ] {
        let mut payload = json!({"session_id": "bench", "cwd": project.path(), "hook_event_name": event});
        payload.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let payload = payload.to_string();
        let mut hook = Command::new(&doze);
        hook.args(["hook", "claude-code", event]).env_clear().envs(home.environment());
        group.bench_function(name, |b| b.iter(|| run(&mut hook, &payload)));
    }
    group.finish();
}

criterion_group!(benches, hooks);
criterion_main!(benches);
