//! What breaks naive readers: damage costs the damaged line, bounds hold, nothing panics.

use std::io::Cursor as Bytes;

use doze_core::model::Event;
use doze_transcript::{Detected, Format, Limits, ReadError, detect, read};
use proptest::prelude::*;

use crate::{read_all, read_from, sample};

fn prompt(id: &str, text: &str) -> String {
    format!(
        r#"{{"type":"user","sessionId":"s","uuid":"{id}","message":{{"role":"user","content":"{text}"}}}}"#
    )
}

fn texts(events: &[Event]) -> Vec<&str> {
    events.iter().map(|event| event.text.as_str()).collect()
}

#[test]
fn bad_lines_cost_themselves_only() {
    let cases: [(&str, Vec<u8>, u64); 10] = [
        ("glued", format!("{}{}\n", prompt("a", "one"), prompt("b", "two")).into(), 0),
        ("crlf", format!("{}\r\n{}\r\n", prompt("a", "one"), prompt("b", "two")).into(), 0),
        ("bom", format!("\u{feff}{}\n{}\n", prompt("a", "one"), prompt("b", "two")).into(), 0),
        ("blank", format!("\n  \n{}\n\n{}\n", prompt("a", "one"), prompt("b", "two")).into(), 0),
        ("garbage", format!("{}\nnot json\n{}\n", prompt("a", "one"), prompt("b", "two")).into(), 1),
        ("no objects", format!("{}\n[1]\n3\nnull\n{}\n", prompt("a", "one"), prompt("b", "two")).into(), 0),
        (
            "no type",
            format!("{}\n{{}}\n{{\"type\":null}}\n{}", prompt("a", "one"), prompt("b", "two")).into(),
            0,
        ),
        ("padding", format!("{}\n\0\0\0{}\n", prompt("a", "one"), prompt("b", "two")).into(), 1),
        (
            "deep",
            format!("{}\n{{\"a\":{}\n{}", prompt("a", "one"), "[".repeat(9999), prompt("b", "two")).into(),
            1,
        ),
        (
            "cut",
            format!("{}\n{}\n{}", prompt("a", "one"), prompt("b", "two"), &prompt("c", "é")[..40]).into(),
            1,
        ),
    ];
    for (name, bytes, bad) in cases {
        let (report, events) = read_all(&bytes);
        assert_eq!(texts(&events), ["one", "two"], "{name}");
        assert_eq!(report.counts.bad_lines, bad, "{name}");
    }
}

#[test]
fn wrong_bytes_and_half_characters_are_replaced() {
    let mut bytes = prompt("a", "one \\ud83d").into_bytes();
    bytes.extend(b"\n{\"type\":\"user\",\"uuid\":\"b\",\"message\":{\"content\":\"two \xff\xfe\"}}\n");
    assert_eq!(texts(&read_all(&bytes).1), ["one \u{fffd}", "two \u{fffd}\u{fffd}"]);
}

#[test]
fn a_line_above_the_limit_is_passed_over() {
    let limits = Limits { record: 4096, ..Limits::default() };
    let bytes =
        format!("{}\n{}\n{}\n", prompt("a", "one"), prompt("b", &"x".repeat(9000)), prompt("c", "two"));
    let mut events = Vec::new();
    let report = read(Bytes::new(&bytes), None, &limits, &mut |event| events.push(event)).unwrap();
    assert_eq!(texts(&events), ["one", "two"]);
    assert_eq!(report.counts.skipped_long_lines, 1);
    assert_eq!(report.cursor.offset, bytes.len() as u64);
}

#[test]
fn long_texts_keep_head_and_tail() {
    let limits = Limits { text: 100, ..Limits::default() };
    let bytes = prompt("a", &format!("begin {} end", "x".repeat(1000)));
    let mut events = Vec::new();
    read(Bytes::new(&bytes), None, &limits, &mut |event| events.push(event)).unwrap();
    let text = &events[0].text;
    assert!(
        text.starts_with("begin ") && text.ends_with(" end") && text.contains("[... 910 bytes left out ...]"),
        "{text}"
    );
}

#[test]
fn a_cut_document_gives_its_complete_messages() {
    let bytes = sample("gemini/06-same-session-snap3.json");
    let (report, events) = read_all(&bytes[..bytes.len() / 2]);
    assert_eq!(report.format, Format::Gemini);
    assert_eq!(report.counts.bad_lines, 1);
    let (_, whole) = read_all(&bytes);
    assert!(!events.is_empty() && whole.starts_with(&events));
}

#[test]
fn what_cannot_be_read_is_named() {
    let unsupported = |name: &str| match read_from(&sample(name), None) {
        Err(ReadError::Unsupported(name)) => name,
        other => panic!("{other:?}"),
    };
    assert_eq!(unsupported("copilot-cli/02-subdir-events.jsonl"), "GitHub Copilot CLI");
    assert_eq!(unsupported("cursor/01-agent-cli.jsonl"), "Cursor");
    let open_code = r#"{"info":{"id":"ses_1"},"messages":[{"info":{"role":"user"},"parts":[]}]}"#;
    assert_eq!(detect(open_code.as_bytes()), Detected::Unsupported("OpenCode"));
    let pi = "{\"type\":\"session\",\"version\":3,\"id\":\"x\",\"cwd\":\"/x\"}\n";
    assert_eq!(detect(pi.as_bytes()), Detected::Unsupported("pi"));
    for text in ["hello", "{\"a\":1}", "[1,2]", "{", "<xml/>"] {
        assert!(matches!(read_from(text.as_bytes(), None), Err(ReadError::Unknown)), "{text}");
    }
    for text in ["", "\n \n", "\u{feff}", "\0\0\0"] {
        assert!(matches!(read_from(text.as_bytes(), None), Err(ReadError::Empty)), "{text:?}");
    }
}

const MUTATED: [&str; 8] = [
    "claude-code/06-v2074-tiny.jsonl",
    "claude-code/38-fixture-mixed-types.jsonl",
    "codex/17-fixture-rate-limits.jsonl",
    "gemini/04-same-session-snap1.json",
    "gemini/07-jsonl-v040.jsonl",
    "anthropic-messages/01-action-turns.json",
    "openai-messages/01-sweagent-function-calling.traj.json",
    "derived/10-lone-surrogate.jsonl",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = read_from(&bytes, None);
    }

    #[test]
    fn no_json_like_text_makes_it_panic(text in "([\\[\\]{}:,\"\\\\]|type|user|message|messages|content|payload|\\\\ud83d|\n|1){0,80}") {
        let _ = read_from(text.as_bytes(), None);
    }

    #[test]
    fn no_damage_makes_it_panic(
        file in 0..MUTATED.len(),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = sample(MUTATED[file]);
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let cut = cut.index(bytes.len());
        if let Ok((report, _)) = read_from(&bytes[..cut], None) {
            prop_assert!(report.cursor.offset <= cut as u64);
            let _ = read_from(&bytes, Some(report.cursor));
        }
    }
}

#[test]
fn records_without_any_id_get_one_of_their_content() {
    let line = r#"{"type":"user","sessionId":"s","message":{"content":"hi"}}"#;
    let bytes = format!("{line}\n{line}\n");
    let (_, events) = read_all(bytes.as_bytes());
    assert_eq!(texts(&events), ["hi", "hi"]);
    assert_eq!(events[1].id.as_str(), format!("{}#2", events[0].id));
    assert_eq!(read_all(bytes.as_bytes()).1, events);
}
