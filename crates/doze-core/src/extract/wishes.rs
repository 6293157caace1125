//! What the person brought up and the agent carried out, and what the person finds bad, with the reason.

use std::sync::LazyLock;

use regex::Regex;

use super::findings::finding;
use super::shape::{imperative, sentences};
use super::{Extracted, gate};
use crate::model::{Event, EventKind, Kind, Origin};
use crate::text;

/// Sentences of the agent's account that are quoted.
const MAX_ACCOUNT: usize = 2;
/// Wishes kept of one session, the latest.
const MAX_OF_SORT: usize = 3;
/// A longer prompt is a task with its description.
const MAX_PROMPT: usize = 400;

/// A way of doing it that the person brings up. Without a person before them the verbs are those of lasting behaviour:
/// to add or to fix something is a task.
static SUGGESTS: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)^(?:(?:but|and|so|ok(?:ay)?|yes|hmm+|no)[,\s]+)*(?:(?:maybe|perhaps|i\s+think|i(?:['’]d|\s+would)\s+say|shouldn['’]t|how\s+about)\s+(?:that\s+)?(?:(?:we|you|it)\s+)?(?:should(?:n['’]t)?\s+|could\s+|better\s+)?(?P<order>(?:use|show|keep|store|call|name|prefer|return|default\s+to)\s+.+)|(?:maybe\s+|perhaps\s+|i\s+think\s+|i(?:['’]d|\s+would)\s+say\s+)it\s+should\s+(?P<it>\w+\s+.+))$",
    )
});

/// A question that wants the product to behave in another way.
static ASKS_FOR: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)(?:^|\s)(?:can|could|should|shall)(?:n['’]t)?\s+(?:we|it|you)\s+(?:also\s+|just\s+|not\s+|maybe\s+)*(?P<order>\w+\s.*\b(?:instead|automatically|by\s+default|always|as\s+well|too|rather|everywhere)\b.*?)[?.!\s]*$",
    )
});

/// The agent has done what was asked.
static DONE: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)^\W*(?:done|updated|changed|fixed|implemented|added|yes|perfect|great|it\s+now|now\s+(?:it|the|both|all))\b",
    )
});

/// What the person finds bad, and why.
static COMPLAINT: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)^(?:(?:no|ok|so|but|and|also|hey)[,\s]+)*(?P<what>(?:the|these|those|our|all|every|having|using|such)\s.{4,120}?\s(?:is|are|was|were|looks?|feels?)\s+(?:really\s+|very\s+|just\s+|too\s+|kind\s+of\s+|a\s+bit\s+)*(?:not\s+(?:useful|helpful|needed|necessary|worth\s+it)|useless|annoying|unnecessary|confusing|misleading|noisy|distracting|pointless|redundant|overkill|ugly|fragile|flaky)\b.*?(?:\b(?:and|because|since|as)\b|,).{6,160}?)(?:,?\s+so\s+(?:please\s+)?\w+\s.*)?[.!]?$",
    )
});

/// What these events tell.
pub(super) fn find(events: &[&(u64, Event)]) -> Vec<Extracted> {
    let mut carried_out = carried_out(events);
    let mut complaints = complaints(events);
    let mut found = complaints.split_off(complaints.len().saturating_sub(MAX_OF_SORT));
    found.extend(carried_out.split_off(carried_out.len().saturating_sub(MAX_OF_SORT)));
    found
}

fn is_prompt(event: &Event) -> bool {
    event.kind == EventKind::Prompt && event.origin == Origin::Person
}

/// What the person suggested, where the agent then changed files and said that it was done.
fn carried_out(events: &[&(u64, Event)]) -> Vec<Extracted> {
    let mut found = Vec::new();
    for (at, (ordinal, event)) in events.iter().enumerate().filter(|(_, (_, event))| is_prompt(event)) {
        let Some(wish) = wished(&event.text) else { continue };
        let round: Vec<&(u64, Event)> =
            events[at + 1..].iter().copied().take_while(|(_, event)| !is_prompt(event)).collect();
        let changed = round.iter().any(|(_, event)| event.kind == EventKind::File);
        let last = round.iter().rev().find(|(_, event)| event.kind == EventKind::Answer);
        let Some((done_at, done)) = last.filter(|(_, event)| changed && DONE.is_match(&event.text)) else {
            continue;
        };
        let account: Vec<&str> = sentences(&done.text, true)
            .into_iter()
            .filter(|sentence| shares_words(sentence, &wish.body) && !gate::is_question(sentence))
            .take(MAX_ACCOUNT)
            .collect();
        let body = format!("{} {}", wish.body, account.join(" "));
        found.push(Extracted {
            evidence: vec![*ordinal, *done_at],
            origin: Origin::Person,
            ..finding(Kind::Decision, 0.7, &wish.title, body.trim_end(), *ordinal, event)
        });
    }
    found
}

/// What a person wants, in their words.
struct Wish {
    title: String,
    body: String,
}

/// The suggestion in a prompt, when it can stand for itself; a short prompt stands for itself as a whole.
fn wished(prompt: &str) -> Option<Wish> {
    let sentences = sentences(prompt, false);
    if let Some(order) = sentences.iter().find_map(|sentence| suggested(sentence)) {
        return Some(Wish { title: order.to_owned(), body: format!("{order}.") });
    }
    let asked = sentences.iter().find(|sentence| {
        ASKS_FOR.is_match(sentence) && sentence.contains('`') && !gate::is_one_off(sentence)
    })?;
    (prompt.chars().count() <= MAX_PROMPT)
        .then(|| Wish { title: imperative(asked), body: format!("The person asked: {}", asked.trim()) })
}

/// The suggestion in a sentence.
fn suggested(sentence: &str) -> Option<&str> {
    let parts = SUGGESTS.captures(sentence)?;
    let order = parts.name("order").or_else(|| parts.name("it"))?.as_str();
    let order = order.trim_end_matches(['?', '.', '!', ' ', ',']);
    let object = order.split_whitespace().nth(1)?.to_lowercase();
    let points =
        matches!(object.as_str(), "it" | "this" | "that" | "them" | "these" | "those" | "both" | "something");
    (!points && gate::stands_alone(order)).then_some(order)
}

/// What the person finds bad, with the reason: a preference, whatever was to be done about it then.
fn complaints(events: &[&(u64, Event)]) -> Vec<Extracted> {
    let prompts = events.iter().filter(|(_, event)| is_prompt(event));
    prompts
        .flat_map(|(ordinal, event)| {
            sentences(&event.text, false).into_iter().filter_map(move |sentence| {
                let what =
                    COMPLAINT.captures(sentence)?.name("what")?.as_str().trim_end_matches(['.', ',', ' ']);
                let is_kept =
                    gate::has_substance(what) && !gate::is_question(what) && !gate::is_one_off(what);
                is_kept.then(|| Extracted {
                    origin: Origin::Person,
                    ..finding(Kind::Preference, 0.7, what, &format!("{what}."), *ordinal, event)
                })
            })
        })
        .collect()
}

/// Two longer words in common.
fn shares_words(sentence: &str, order: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric())
            .filter(|word| word.chars().count() >= 4)
            .map(str::to_lowercase)
            .collect()
    };
    let known = words(order);
    words(sentence).iter().filter(|word| known.contains(word)).count() >= 2
}
