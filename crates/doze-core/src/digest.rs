//! The digest of a run that somebody is asked to distill (S1.9–S1.12).

use std::collections::HashSet;

use crate::model::{Event, EventKind, Origin};
use crate::text;

/// Events a digest is made of: the newest ones (S1.9).
pub const MAX_EVENTS: usize = 5_000;
/// Characters of a digest (S1.11); what is longer is cut and says so.
pub const MAX_CHARS: usize = 12_000;
/// Changed paths: the first ones. Tool calls and answers: the last ones. Characters of a tool's output (S1.10).
const MAX_PATHS: usize = 60;
const MAX_TOOLS: usize = 60;
const MAX_OUTPUT: usize = 160;
const MAX_SAID: usize = 6;
/// Characters looked at of one output for its first [`MAX_OUTPUT`]: what is only blanks beyond this is empty.
const MAX_LOOKED_AT: usize = 4_000;

const TRUNCATED: &str = "\n…[truncated]";
/// Between two things said.
const BETWEEN: &str = "\n---\n";
/// What stands in a section without anything in it.
const NOTHING: &str = "(none)";

/// The digest of a run, or `None` when nobody asked for anything and no tool was used: there is nothing to distill.
///
/// `events` are those of the run in their order. Of more than [`MAX_EVENTS`] the newest are read, with the run's first
/// prompt in front of them if it is no longer among them.
pub fn digest<'a>(events: impl DoubleEndedIterator<Item = &'a Event> + Clone) -> Option<String> {
    let events = events.filter(|event| event.origin != Origin::Injected);
    let mut window: Vec<&Event> = events.clone().rev().take(MAX_EVENTS).collect();
    window.reverse();
    if let Some(opening) = events.clone().find(|event| event.kind == EventKind::Prompt)
        && !window.iter().any(|event| std::ptr::eq(*event, opening))
    {
        window.insert(0, opening);
    }
    let of = |kind: EventKind| window.iter().copied().filter(move |event| event.kind == kind);
    let asked: Vec<&str> = of(EventKind::Prompt).map(|event| event.text.trim()).collect();
    let tools: Vec<String> = last(of(EventKind::Tool).filter_map(tool_line), MAX_TOOLS);
    if asked.is_empty() && tools.is_empty() {
        return None;
    }
    let mut seen = HashSet::new();
    let changed: Vec<String> = of(EventKind::File)
        .filter_map(file_line)
        .filter(|line| seen.insert(line.clone()))
        .take(MAX_PATHS)
        .collect();
    let answers = window.iter().filter(|event| matches!(event.kind, EventKind::Answer | EventKind::Notice));
    let said = last(answers.map(|event| event.text.trim()).filter(|text| !text.is_empty()), MAX_SAID);
    let sections = [
        ("## User asked", asked.join(BETWEEN)),
        ("## Files changed", changed.join("\n")),
        ("## Tool activity", tools.join("\n")),
        ("## Agent said", said.join(BETWEEN)),
    ];
    let whole: Vec<String> = sections
        .into_iter()
        .map(|(heading, text)| {
            let text = if text.is_empty() { NOTHING } else { &text };
            format!("{heading}\n{text}")
        })
        .collect();
    Some(bounded(&whole.join("\n\n")))
}

fn bounded(whole: &str) -> String {
    let cut = text::cut(whole, MAX_CHARS);
    if cut.len() == whole.len() { cut.to_owned() } else { format!("{cut}{TRUNCATED}") }
}

/// One line a call: its tool, whether it failed, how its output begins. Never its input.
fn tool_line(event: &Event) -> Option<String> {
    let tool = event.tool.as_ref()?;
    let failed = if tool.failed { "FAILED " } else { "" };
    let output = text::one_line(text::cut(&tool.output, MAX_LOOKED_AT));
    Some(format!("{failed}{}: {}", text::one_line(&tool.name), text::cut(&output, MAX_OUTPUT)))
}

/// What happened to a file, where the harness says, and its path.
fn file_line(event: &Event) -> Option<String> {
    let path = text::one_line(event.path.as_deref()?);
    let what = text::one_line(&event.text);
    let is_word = !what.is_empty() && !what.contains(' ') && !what.contains('/');
    Some(format!("{} {path}", if is_word { &what } else { "changed" }))
}

fn last<T>(items: impl DoubleEndedIterator<Item = T>, count: usize) -> Vec<T> {
    let mut kept: Vec<T> = items.rev().take(count).collect();
    kept.reverse();
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::ToolUse;

    const INPUT: &str = "{\"secret\":1}";

    fn said(kind: EventKind, origin: Origin, text: &str) -> Event {
        Event::new("e", kind, origin, text)
    }

    fn asked(text: &str) -> Event {
        said(EventKind::Prompt, Origin::Person, text)
    }

    fn used(name: &str, output: &str, failed: bool) -> Event {
        let tool = ToolUse { name: name.into(), input: INPUT.into(), output: output.into(), failed };
        Event { tool: Some(tool), ..said(EventKind::Tool, Origin::Tool, "") }
    }

    fn wrote(path: &str, what: &str) -> Event {
        Event { path: Some(path.into()), ..said(EventKind::File, Origin::Tool, what) }
    }

    #[test]
    fn a_digest_has_the_documents_four_sections() {
        let events = [
            asked("Fix the pool"),
            said(EventKind::Answer, Origin::Agent, "Looking."),
            used("Bash", "Error:\n   threads  hang", true),
            wrote("src/pool.ts", "edited"),
            wrote("src/pool.ts", "edited"),
            used("Bash", "12 passed", false),
            said(EventKind::Notice, Origin::Agent, "Compacted."),
            said(EventKind::Answer, Origin::Injected, "<system-reminder>no</system-reminder>"),
            asked("Thanks"),
        ];
        insta::assert_snapshot!(digest(events.iter()).unwrap(), @r"
        ## User asked
        Fix the pool
        ---
        Thanks

        ## Files changed
        edited src/pool.ts

        ## Tool activity
        FAILED Bash: Error: threads hang
        Bash: 12 passed

        ## Agent said
        Looking.
        ---
        Compacted.
        ");
    }

    #[test]
    fn a_long_run_keeps_its_opening_request() {
        let mut events = vec![asked("open the door")];
        events.extend((0..6_000).map(|n| used("Bash", &format!("step {n}"), false)));
        let digest = digest(events.iter()).unwrap();
        assert!(digest.starts_with("## User asked\nopen the door\n"), "{digest}");
        assert!(digest.contains("Bash: step 5999\n"), "{digest}");
        let first = digest.lines().find(|line| line.starts_with("Bash: ")).unwrap();
        assert_eq!((first, digest.matches("Bash: step").count()), ("Bash: step 5940", MAX_TOOLS));
    }

    #[test]
    fn every_part_has_its_bound() {
        let mut events = vec![asked("go")];
        events.extend((0..100).map(|n| wrote(&format!("f{n}"), "")));
        events.extend((0..9).map(|n| said(EventKind::Answer, Origin::Agent, &format!("answer {n}"))));
        events.push(used("Read", &"x".repeat(500), false));
        let digest = digest(events.iter()).unwrap();
        assert!(digest.contains("changed f59\n") && !digest.contains("changed f60"), "{digest}");
        assert!(digest.contains(&format!("Read: {}\n", "x".repeat(MAX_OUTPUT))), "{digest}");
        assert!(digest.contains("answer 3") && !digest.contains("answer 2"), "{digest}");
    }

    #[test]
    fn nothing_to_distill_without_a_prompt_or_a_tool() {
        assert_eq!(digest([said(EventKind::Answer, Origin::Agent, "hello")].iter()), None);
        assert_eq!(digest([].iter()), None);
        assert!(digest([used("Bash", "", false)].iter()).unwrap().contains("(none)"));
    }

    #[test]
    fn what_is_too_long_is_cut_and_says_so() {
        let long = asked(&"é".repeat(20_000));
        let digest = digest([long].iter()).unwrap();
        let rest = digest.strip_suffix(TRUNCATED).unwrap();
        assert_eq!(rest.chars().count(), MAX_CHARS);
    }

    proptest! {
        #[test]
        fn a_digest_never_passes_its_bound_and_never_tells_an_input(
            texts in proptest::collection::vec(".{0,300}", 0..40),
            failed in any::<bool>(),
        ) {
            let events: Vec<Event> = texts
                .iter()
                .enumerate()
                .map(|(n, text)| match n % 4 {
                    0 => asked(text),
                    1 => used(text, text, failed),
                    2 => wrote(text, text),
                    _ => said(EventKind::Answer, Origin::Agent, text),
                })
                .collect();
            let digest = digest(events.iter()).unwrap_or_default();
            prop_assert!(digest.chars().count() <= MAX_CHARS + TRUNCATED.chars().count());
            prop_assert!(!digest.contains(INPUT));
        }
    }
}
