//! Reading what was appended gives what reading at once gives.

use std::collections::BTreeSet;

use doze_core::model::Event;
use doze_transcript::{Cursor, Layout, ReadError};

use crate::{read_all, read_from, sample};

/// The samples that are appended to, small enough to be cut at every byte of their first lines.
const LINES: [&str; 7] = [
    "claude-code/06-v2074-tiny.jsonl",
    "claude-code/39-subagent-parent/0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f.jsonl",
    "claude-code/02-v1098-short.jsonl",
    "claude-code/29-korean-short.jsonl",
    "codex/17-fixture-rate-limits.jsonl",
    "gemini/07-jsonl-v040.jsonl",
    "derived/10-lone-surrogate.jsonl",
];

/// Reads a growing file: first what stands before `split`, then the rest. The cursor goes through JSON between.
fn read_in_two(bytes: &[u8], split: usize) -> Vec<Event> {
    let (cursor, mut events) = match read_from(&bytes[..split], None) {
        Ok((report, events)) => (Some(report.cursor), events),
        Err(ReadError::Empty | ReadError::Unknown | ReadError::Unsupported(_)) => (None, Vec::new()),
        Err(other) => panic!("{other}"),
    };
    let stored = serde_json::to_string(&cursor).unwrap();
    let cursor: Option<Cursor> = serde_json::from_str(&stored).unwrap();
    let (mut report, rest) = read_from(bytes, cursor).unwrap();
    events.extend(rest);
    events.extend(report.cursor.release_answer());
    events
}

#[test]
fn a_file_read_at_any_split_gives_the_same_events() {
    for name in LINES {
        let bytes = sample(name);
        let (_, whole) = read_all(&bytes);
        let step = (bytes.len() / 1500).max(1);
        for split in (0..=bytes.len()).step_by(step) {
            assert_eq!(read_in_two(&bytes, split), whole, "{name} at {split}");
        }
    }
}

#[test]
fn a_file_read_line_by_line_gives_the_same_events() {
    for name in [
        "claude-code/28-v21232-korean-compact2.jsonl",
        "claude-code/14-v212-compacted.jsonl",
        "codex/09-fnox.jsonl",
    ] {
        let Ok(bytes) = std::fs::read(crate::sessions().join(name)) else { continue };
        let (_, whole) = read_all(&bytes);
        let (mut cursor, mut events) = (None, Vec::new());
        let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
        for end in ends.step_by(7).chain([bytes.len()]) {
            let (report, more) = read_from(&bytes[..end], cursor).unwrap();
            events.extend(more);
            cursor = Some(report.cursor);
        }
        events.extend(cursor.unwrap().release_answer());
        assert_eq!(events, whole, "{name}");
    }
}

#[test]
fn reading_on_where_nothing_was_added_gives_nothing() {
    let bytes = sample("claude-code/08-v2076-summary-commits.jsonl");
    let (report, _) = read_from(&bytes, None).unwrap();
    assert_eq!(report.cursor.offset, bytes.len() as u64);
    let (again, events) = read_from(&bytes, Some(report.cursor.clone())).unwrap();
    assert!(events.is_empty() && !again.restarted);
    assert_eq!(again.cursor, report.cursor);
    assert_eq!(again.counts.records, 0);
}

#[test]
fn a_cut_last_line_is_left_for_the_next_read() {
    let bytes = sample("derived/02-truncated-last-line.jsonl");
    let (report, _) = read_from(&bytes, None).unwrap();
    let last_line = bytes.iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    assert_eq!(report.cursor.offset, last_line as u64);
    assert_eq!(report.counts.bad_lines, 1);
}

#[test]
fn a_file_that_shrank_or_was_rewritten_is_read_from_its_start() {
    let old = sample("claude-code/08-v2076-summary-commits.jsonl");
    let (report, before) = read_from(&old, None).unwrap();
    let half = old.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(30).unwrap().0 + 1;
    let (shrunk, events) = read_from(&old[..half], Some(report.cursor.clone())).unwrap();
    assert!(shrunk.restarted);
    let known: BTreeSet<_> = before.iter().map(|event| event.id.as_str()).collect();
    assert!(!events.is_empty() && events.iter().all(|event| known.contains(event.id.as_str())));

    let mut rewritten = sample("claude-code/14-v212-compacted.jsonl");
    rewritten.truncate(rewritten.len().max(old.len()));
    let (report, events) = read_from(&rewritten, Some(report.cursor)).unwrap();
    assert!(report.restarted && !events.is_empty());
}

#[test]
fn three_snapshots_of_one_document_give_every_event_once() {
    let (mut cursor, mut seen, mut told) = (None, BTreeSet::new(), Vec::new());
    for name in ["04-same-session-snap1", "05-same-session-snap2", "06-same-session-snap3"] {
        let (report, events) = read_from(&sample(&format!("gemini/{name}.json")), cursor).unwrap();
        assert_eq!(report.cursor.layout, Layout::Document);
        told.extend(events.into_iter().filter(|event| seen.insert(event.id.as_str().to_owned())));
        cursor = Some(report.cursor);
    }
    assert_eq!(told, read_all(&sample("gemini/06-same-session-snap3.json")).1);
}

#[test]
fn an_answer_released_early_is_not_told_again() {
    let line = |uuid: &str, text: &str| {
        format!(
            r#"{{"type":"assistant","sessionId":"s","uuid":"{uuid}","message":{{"id":"m","role":"assistant","content":[{{"type":"text","text":"{text}"}}]}}}}"#
        ) + "\n"
    };
    let first = line("a", "one");
    let (mut report, events) = read_from(first.as_bytes(), None).unwrap();
    assert!(events.is_empty());
    let answer = report.cursor.release_answer().unwrap();
    assert_eq!((answer.id.as_str(), answer.text.as_str()), ("m", "one"));
    assert_eq!(report.cursor.release_answer(), None);

    let both = first + &line("b", "two");
    let (mut report, _) = read_from(both.as_bytes(), Some(report.cursor)).unwrap();
    let answer = report.cursor.release_answer().unwrap();
    assert_eq!((answer.id.as_str(), answer.text.as_str()), ("m#2", "two"));

    let (_, events) = read_all(both.as_bytes());
    assert_eq!(events[0].text, "one\n\ntwo");
}
