//! Any text through the pure rules: redaction leaves nothing to redact, an injected block cannot be broken out of and is taken out
//! whole, cuts keep their bounds, and extraction keeps its own.
#![no_main]

use doze_core::injected::{MARKER_CLOSE, MARKER_OPEN, strip_injected, wrap};
use doze_core::model::{Event, EventKind, Origin, ToolUse};
use doze_core::redact::redact;
use doze_core::{extract, text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let input = String::from_utf8_lossy(bytes);
    let redacted = redact(&input).text;
    assert_eq!(redact(&redacted).text, redacted, "redacting again changes something");
    cleaned(&input);
    injected(&input);
    extracted(&input);
});

fn cleaned(input: &str) {
    let clean = text::clean(input);
    assert!(clean.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\t')), "{clean:?}");
    assert!(!text::one_line(input).contains(['\n', '\r', '\t']));
    for bound in [0, 1, 7, 80] {
        assert!(text::cut(input, bound).chars().count() <= bound);
        assert!(text::cut_ellipsis(input, bound).chars().count() <= bound);
    }
}

fn injected(input: &str) {
    let block = wrap(&text::escape_tags(input));
    assert_eq!(block.matches(MARKER_CLOSE).count(), 1, "{block}");
    let answer = format!("before\n{block}\nafter");
    let stripped = strip_injected(&answer);
    assert!(stripped.starts_with("before") && stripped.ends_with("after"), "{stripped}");
    assert!(
        !stripped.contains(MARKER_OPEN) && stripped.trim().len() <= "before\n\n\nafter".len(),
        "{stripped}"
    );
    let _ = strip_injected(input);
}

/// The text as a session: a line each from the person, the agent and a tool in turn.
fn extracted(input: &str) {
    let events: Vec<(u64, Event)> =
        input.lines().take(500).enumerate().map(|(at, line)| (at as u64, event(at, line))).collect();
    for found in extract::extract(&events) {
        assert!(found.title.chars().count() <= 80 && !found.title.contains('\n'), "{found:?}");
        assert!(!found.title.trim().is_empty() && found.body.chars().count() <= 400, "{found:?}");
        assert!((0.3..=0.9).contains(&found.confidence), "{found:?}");
        assert!(found.evidence.iter().all(|ordinal| (*ordinal as usize) < events.len()), "{found:?}");
    }
}

fn event(at: usize, line: &str) -> Event {
    let (kind, origin) = match at % 3 {
        0 => (EventKind::Prompt, Origin::Person),
        1 => (EventKind::Answer, Origin::Agent),
        _ => (EventKind::Tool, Origin::Tool),
    };
    let mut event = Event::new(at.to_string(), kind, origin, line);
    if kind == EventKind::Tool {
        let (input, output) = line.split_once(' ').unwrap_or((line, ""));
        event.text.clear();
        event.tool = Some(ToolUse {
            name: "Bash".into(),
            input: serde_json::json!({ "command": input }).to_string(),
            output: output.into(),
            failed: at % 2 == 0,
        });
    }
    event
}
