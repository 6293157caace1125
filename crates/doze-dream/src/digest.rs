//! What is read of one session: bounded, with what decides most kept first.

use doze_core::model::{Event, EventKind, Origin};
use doze_core::{text, tokens};

/// Tokens kept of one prompt, one answer, and each end of a tool's input and output.
const MAX_PROMPT: usize = 1_500;
const MAX_ANSWER: usize = 1_200;
const MAX_INPUT: usize = 300;
const MAX_OUTPUT_END: usize = 250;
/// Characters that are looked at of any text at all.
const MAX_CHARS: usize = 200_000;
/// What an event costs beyond its texts.
const EVENT_COST: usize = 8;

/// The events worth reading, in their order, each cut to a sensible size, together below `max_tokens`. What the person
/// said comes first, then failures, commits and refusals, then what the agent said, then the rest, always the newest
/// first: a long session loses the outputs of its uneventful beginning. Injected text and notices are left out.
pub fn digest(events: &[(u64, Event)], max_tokens: usize) -> Vec<(u64, Event)> {
    let cut: Vec<(u64, Event, usize)> = events
        .iter()
        .filter(|(_, event)| event.origin != Origin::Injected && event.kind != EventKind::Notice)
        .map(|(ordinal, event)| {
            let event = cut_event(event);
            let cost = cost(&event);
            (*ordinal, event, cost)
        })
        .collect();
    let mut room = max_tokens.saturating_sub(1);
    let mut kept = vec![false; cut.len()];
    for rank in 0..=3 {
        for (at, (_, event, cost)) in cut.iter().enumerate().rev() {
            if importance(event) == rank && *cost <= room {
                room -= cost;
                kept[at] = true;
            }
        }
    }
    cut.into_iter()
        .zip(kept)
        .filter(|(_, kept)| *kept)
        .map(|((ordinal, event, _), _)| (ordinal, event))
        .collect()
}

/// A digest as text, for somebody who is asked: one event a paragraph, who spoke in front.
pub fn told(events: &[(u64, Event)]) -> String {
    let paragraphs: Vec<String> = events.iter().filter_map(|(_, event)| paragraph(event)).collect();
    paragraphs.join("\n\n")
}

fn paragraph(event: &Event) -> Option<String> {
    let said = event.text.trim();
    match (&event.tool, event.kind) {
        (Some(tool), _) => {
            let failed = if tool.failed { " FAILED" } else { "" };
            let output = tool.output.trim();
            Some(format!("[tool {}{failed}] {}\n{output}", text::one_line(&tool.name), tool.input.trim()))
        }
        (None, EventKind::File) => {
            event.path.as_deref().map(|path| format!("[changed] {}", text::one_line(path)))
        }
        (None, _) if said.is_empty() => None,
        (None, EventKind::Prompt) => Some(format!("[user] {said}")),
        (None, EventKind::Commit) => Some(format!("[commit] {said}")),
        (None, _) => Some(format!("[agent] {said}")),
    }
}

fn importance(event: &Event) -> u8 {
    match (event.kind, &event.tool) {
        (EventKind::Prompt, _) => 0,
        (EventKind::Commit, _) => 1,
        (_, Some(tool)) if tool.failed => 1,
        (EventKind::Answer, _) => 2,
        _ => 3,
    }
}

fn cost(event: &Event) -> usize {
    let tool = event.tool.as_ref();
    let texts = [event.text.as_str(), event.path.as_deref().unwrap_or_default()];
    let of_tool = tool.map_or(0, |tool| {
        tokens::estimate(&tool.name) + tokens::estimate(&tool.input) + tokens::estimate(&tool.output)
    });
    EVENT_COST + of_tool + texts.into_iter().map(tokens::estimate).sum::<usize>()
}

fn cut_event(event: &Event) -> Event {
    let max = if event.kind == EventKind::Prompt { MAX_PROMPT } else { MAX_ANSWER };
    let mut event = event.clone();
    event.text = tokens::cut(first(&event.text), max);
    if let Some(tool) = &mut event.tool {
        tool.input = tokens::cut(first(&tool.input), MAX_INPUT);
        tool.output = both_ends(&tool.output);
    }
    event
}

fn first(text: &str) -> &str {
    doze_core::text::cut(text, MAX_CHARS)
}

/// The first and the last tokens of an output: where commands say what they do and how it ended.
fn both_ends(output: &str) -> String {
    if output.len() <= MAX_CHARS && tokens::estimate(output) <= 2 * MAX_OUTPUT_END {
        return output.to_owned();
    }
    let head = tokens::cut(first(output), MAX_OUTPUT_END);
    let mut start = output.len().saturating_sub(MAX_OUTPUT_END * 4);
    while !output.is_char_boundary(start) {
        start += 1;
    }
    while tokens::estimate(&output[start..]) > MAX_OUTPUT_END {
        start += (output.len() - start).div_ceil(4);
        while !output.is_char_boundary(start) {
            start += 1;
        }
    }
    format!("{head}\n{}", &output[start..])
}

#[cfg(test)]
mod tests {
    use doze_core::model::ToolUse;
    use proptest::prelude::*;

    use super::*;

    fn event(kind: EventKind, text: &str) -> Event {
        Event::new("e", kind, Origin::Agent, text)
    }

    fn ran(output: &str, failed: bool) -> Event {
        let mut event = event(EventKind::Tool, "");
        event.tool = Some(ToolUse { name: "Bash".into(), input: "{}".into(), output: output.into(), failed });
        event
    }

    fn total(events: &[(u64, Event)]) -> usize {
        events.iter().map(|(_, event)| cost(event)).sum()
    }

    #[test]
    fn what_decides_is_kept_and_the_uneventful_beginning_goes() {
        let mut events = vec![(0, event(EventKind::Prompt, "do it")), (1, ran("boom", true))];
        events.extend((2..400).map(|n| (n, event(EventKind::Answer, &"words ".repeat(100)))));
        events.push((400, event(EventKind::Notice, "compacted")));
        let kept = digest(&events, 3_000);
        let ordinals: Vec<u64> = kept.iter().map(|(ordinal, _)| *ordinal).collect();
        assert!(ordinals.starts_with(&[0, 1]) && ordinals.is_sorted() && ordinals.ends_with(&[398, 399]));
        assert!(total(&kept) < 3_000 && total(&kept) > 2_500);
    }

    #[test]
    fn what_the_agent_said_outlasts_what_tools_printed() {
        let mut events: Vec<(u64, Event)> = vec![(0, event(EventKind::Answer, "The cause is the cache."))];
        events.extend((1..400).map(|n| (n, ran(&"output ".repeat(100), false))));
        let kept = digest(&events, 3_000);
        assert_eq!(kept[0].0, 0);
        assert!(kept.len() > 10 && total(&kept) < 3_000);
    }

    #[test]
    fn a_digest_is_told_event_by_event() {
        let mut wrote = event(EventKind::File, "");
        wrote.path = Some("src/a.rs".into());
        let events =
            [event(EventKind::Prompt, "do it"), ran("boom", true), wrote, event(EventKind::Answer, " ")];
        let events: Vec<(u64, Event)> = (0..).zip(events).collect();
        assert_eq!(told(&events), "[user] do it\n\n[tool Bash FAILED] {}\nboom\n\n[changed] src/a.rs");
    }

    #[test]
    fn a_long_output_keeps_both_ends() {
        let output = format!("first line\n{}\nlast line", "noise\n".repeat(5_000));
        let kept = digest(&[(0, ran(&output, true))], 30_000);
        let tool = kept[0].1.tool.clone().unwrap();
        assert!(
            tool.output.starts_with("first line")
                && tool.output.ends_with("last line")
                && tool.output.len() < 3_000
        );
    }

    proptest! {
        #[test]
        fn a_digest_is_bounded_for_any_text(texts in proptest::collection::vec("\\PC{0,400}", 0..40), max in 0usize..2_000) {
            let events: Vec<(u64, Event)> = texts.iter().enumerate().map(|(n, text)| {
                (n as u64, if n % 2 == 0 { ran(&text.repeat(9), n % 4 == 0) } else { event(EventKind::Prompt, text) })
            }).collect();
            prop_assert!(total(&digest(&events, max)) < max.max(1));
        }
    }
}
