//! What the person said in a session, sentence by sentence, and meant: without what they paste, quote, ask, doubt, or take
//! back in the same breath or the next.

use std::sync::LazyLock;

use regex::Regex;

use super::Extracted;
use super::rounds::{is_of_program, is_prompt};
use super::shape::{MAX_BODY, MAX_TITLE, capitalised, files, sentences, short};
use crate::model::{Event, EventKind, Kind, Origin};
use crate::report::{
    after_rejection, asks_about_it, before_paste, is_doubt, takes_back_what_was_said, without_quotes,
};

/// A sentence of the person's.
#[derive(Clone)]
pub(super) struct Said<'e> {
    pub(super) ordinal: u64,
    pub(super) event: &'e Event,
    /// As it stands.
    pub(super) whole: &'e str,
    /// Behind words that only turn down what was said before, or demand to be remembered.
    pub(super) sentence: &'e str,
    /// The person asks in so many words to remember it.
    pub(super) is_demanded: bool,
    /// The sentence behind it in the same text.
    pub(super) next: Option<&'e str>,
}

/// The person asks in so many words to remember what follows.
static DEMANDED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)^(?:please\s+)?(?:remember|important|keep\s+in\s+mind|for\s+the\s+record)(?:\s+(?:this|that))?(?:\s+for\s+(?:later|the\s+future|next\s+time|later\s+sessions))?\s*[:：.,]\s*(?:from\s+now\s+on\s*[:：,]\s*)?",
    )
    .expect("a valid pattern")
});

/// The sentences of a session that still stood at its end.
pub(super) fn said<'e>(events: &[&'e (u64, Event)]) -> Vec<Said<'e>> {
    let mut said: Vec<Said<'e>> = Vec::new();
    // Where the sentences of the last prompt begin.
    let mut last = 0;
    for (ordinal, event) in events {
        let Some(text) = spoken(event) else { continue };
        let sentences = sentences(before_paste(text), false);
        let mut first = said.len();
        let mut is_quoting = false;
        for (at, whole) in sentences.iter().copied().enumerate() {
            // What stands between quotation marks over more than a sentence is somebody else's.
            let is_quoted = is_quoting;
            is_quoting ^= quotes(whole) % 2 == 1;
            if is_quoted {
                continue;
            }
            if let Some(back) = takes_back_what_was_said(whole) {
                let back_to = if at == 0 { last } else { first };
                let kept = said.split_off(back_to);
                said.extend(kept.into_iter().filter(|said| !back.means(said.whole)));
                first = first.min(said.len());
            }
            let rejected = after_rejection(whole);
            let demanded = DEMANDED.find(rejected);
            said.push(Said {
                ordinal: *ordinal,
                event,
                whole,
                sentence: demanded.map_or(rejected, |demanded| &rejected[demanded.end()..]),
                is_demanded: demanded.is_some(),
                next: sentences.get(at + 1).copied(),
            });
        }
        last = first;
    }
    said
}

/// Quotation marks of a sentence; behind a digit it is a measure (`6"`).
fn quotes(sentence: &str) -> usize {
    let is_mark = |at: usize| !sentence[..at].ends_with(|c: char| c.is_ascii_digit());
    sentence.match_indices('"').filter(|(at, _)| is_mark(*at)).count()
}

impl Said<'_> {
    /// Whether they state it, rather than asking, doubting or reporting it.
    pub(super) fn is_meant(&self) -> bool {
        !self.next.is_some_and(asks_about_it) && !is_doubt(self.sentence)
    }

    /// The sentence as a memory.
    pub(super) fn told(&self) -> Extracted {
        let body = capitalised(self.sentence.trim());
        Extracted {
            kind: Kind::Convention,
            title: short(body.trim_end_matches(['.', '!', '。']), MAX_TITLE),
            files: files(&body),
            body: short(&body, MAX_BODY),
            topic_key: None,
            confidence: 0.75,
            evidence: vec![self.ordinal],
            origin: Origin::Person,
            at: self.event.at,
            everywhere: false,
        }
    }

    /// The sentence without what it quotes: a rule between quotation marks is nobody's here.
    pub(super) fn unquoted(&self) -> String {
        without_quotes(self.sentence)
    }
}

/// What the person said in this event: a prompt, or the words with which a tool call was refused.
fn spoken(event: &Event) -> Option<&str> {
    match event.kind {
        EventKind::Prompt if is_prompt(event) && !is_of_program(&event.text) => Some(&event.text),
        EventKind::Tool => {
            let output = &event.tool.as_ref().filter(|tool| tool.failed)?.output;
            let (head, words) = output.split_once("the user said:")?;
            (head.len() < 400 && head.contains("The user doesn't want to")).then_some(words.trim())
        }
        _ => None,
    }
}
