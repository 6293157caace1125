//! Real sessions of several agents: what the rules find in them, and what they may never find.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use doze_core::model::*;
use doze_dream::{Candidate, Caps, ExtractContext, candidates};
use doze_transcript::{Limits, read};
use jiff::Timestamp;

fn sessions() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/testdata/sessions")
}

fn session(name: &str) -> Session {
    let at: Timestamp = "2026-03-18T12:00:00Z".parse().expect("a time");
    Session {
        key: SessionKey::new(name, "claude-code"),
        owner: "local:1".into(),
        project: Some("p".into()),
        agent: AgentRef { id: "claude-code".into(), name: "Claude".into(), harness: "claude-code".into() },
        cwd: "/app".into(),
        mode: Mode::Code,
        kind: SessionKind::Interactive,
        ended: Some(SessionEnd::Session),
        outcome: Outcome::Success,
        started_at: at,
        last_event_at: at,
        heard_at: at,
        event_count: 0,
        rounds: 0,
        turns: 0,
        summary: None,
        task: None,
        team: None,
        transcript: None,
    }
}

/// What the rules find in a session file; nothing for files that are no sessions.
fn found_in(path: &Path) -> Vec<Candidate> {
    let mut events = Vec::new();
    let file = BufReader::new(File::open(path).expect("a sample session"));
    if read(file, None, &Limits::default(), &mut |event| events.push(event)).is_err() {
        return Vec::new();
    }
    let events: Vec<(u64, Event)> =
        events.into_iter().enumerate().map(|(n, event)| (n as u64, event)).collect();
    let caps = Caps::default();
    candidates(&session("s"), &events, &ExtractContext { was_shown: &|_, _| false, caps: &caps })
}

fn titles(file: &str) -> Vec<(Kind, String)> {
    found_in(&sessions().join(file)).into_iter().map(|found| (found.kind, found.title)).collect()
}

#[test]
fn hand_read_sessions_yield_the_notes_a_reader_would_keep() {
    let compacted = titles("claude-code/14-v212-compacted.jsonl");
    assert!(
        compacted.contains(&(Kind::Command, "Check with `mise run lint && mise run test`".into())),
        "{compacted:?}"
    );
    assert!(
        compacted.contains(&(Kind::Lesson, "Go's regexp doesn't support backreferences".into())),
        "{compacted:?}"
    );
    for (kind, title) in [
        (Kind::Decision, "Use the last prompt from the session before the commit"),
        (Kind::Command, "The entire CLI uses `ENTIRE_LOG_LEVEL`"),
    ] {
        assert!(compacted.contains(&(kind, title.into())), "{compacted:?}");
    }
    let fnox = titles("codex/09-fnox.jsonl");
    assert!(
        fnox.contains(&(Kind::EnvQuirk, "`parallel` is not installed on this machine".into())),
        "{fnox:?}"
    );
    for start in [
        "The daemon socket name is a hash of the profile",
        "Profiles can exist as `[profiles.dev]`",
        "The `test/bats` submodule is registered but not checked out",
        "Build with `mise run build`, check with `mise run lint`",
    ] {
        assert!(fnox.iter().any(|(_, title)| title.starts_with(start)), "{start}: {fnox:?}");
    }
    let other = titles("codex/05-mise-patch.jsonl");
    for start in [
        "That e2e failure was the test, not the fix",
        "`parse_run_scripts_with_args` creates a fresh Tera instance",
        "The new unit test expected `/Cargo.toml`",
    ] {
        assert!(other.iter().any(|(_, title)| title.starts_with(start)), "{start}: {other:?}");
    }
}

#[test]
fn what_a_reader_marked_as_no_memory_is_never_found() {
    for gold in ["gold/04.json", "gold/06.json"] {
        let gold: serde_json::Value =
            serde_json::from_reader(File::open(sessions().join(gold)).unwrap()).unwrap();
        let found = found_in(&sessions().join(gold["file"].as_str().unwrap()));
        let traps = gold["negatives"].as_array().unwrap();
        assert!(!traps.is_empty() && !found.is_empty());
        for trap in traps {
            let trap = doze_core::text::normalise_words(trap["text"].as_str().unwrap());
            for candidate in &found {
                let said = doze_core::text::normalise_words(&candidate.body);
                assert!(doze_core::text::jaccard(&trap, &said) < 0.4, "{}", candidate.body);
            }
        }
    }
}

#[test]
fn every_sample_yields_few_and_bounded_candidates() {
    let mut files = 0;
    for folder in std::fs::read_dir(sessions()).unwrap() {
        let folder = folder.unwrap().path();
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
            let found = found_in(&path);
            files += 1;
            assert!(found.len() <= Caps::default().max_entries_per_session, "{path:?}");
            for candidate in found {
                assert!(candidate.title.chars().count() <= 80 && candidate.body.chars().count() <= 400);
                assert!((0.3..=0.9).contains(&candidate.confidence) && !candidate.evidence.is_empty());
                assert!(
                    !candidate.body.contains("/tmp/") && !candidate.title.ends_with('?'),
                    "{candidate:?}"
                );
            }
        }
    }
    assert!(files > 20);
}
