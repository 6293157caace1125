//! Sessions as agents commit them, and as Claude Code keeps them in files: some of what is said is worth keeping, some was said
//! before, most of it neither.

use std::fs;
use std::path::{Path, PathBuf};

use doze_tests::Home;
use jiff::Timestamp;
use serde_json::{Value, json};

/// Projects that the sessions are of.
const PROJECTS: usize = 8;
/// Rounds of each session; four make it worth reading.
const ROUNDS: usize = 8;

/// The parameters of `session.commit`.
pub fn commit(home: &Home, number: usize) -> Value {
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

/// Writes so many session files below a folder, for `import`.
pub fn write_files(folder: &Path, project: &Path, first: usize, count: usize) -> PathBuf {
    let folder = folder.join(format!("files-{first}"));
    fs::create_dir_all(&folder).expect("a folder on a real disk");
    for number in first..first + count {
        let session = format!("{number:08x}-0000-4000-8000-000000000000");
        let line = |place: usize, kind: &str, content: Value| {
            let at = Timestamp::from_second(1_790_000_000 + (number * 100 + place) as i64).expect("a time");
            json!({
                "type": kind, "uuid": format!("{session}-{place}"), "sessionId": session, "cwd": project,
                "timestamp": at.to_string(), "version": "2.0.0", "isSidechain": false, "userType": "external",
                "message": {"role": kind, "content": content},
            })
        };
        let lines: Vec<String> = (0..ROUNDS)
            .flat_map(|round| {
                let topic = number * ROUNDS + round;
                let answer = json!([{"type": "text", "text": answer(topic)}]);
                [line(2 * round, "user", prompt(topic).into()), line(2 * round + 1, "assistant", answer)]
            })
            .map(|line| line.to_string())
            .collect();
        fs::write(folder.join(format!("{session}.jsonl")), lines.join("\n") + "\n").expect("the disk has room");
    }
    folder
}
