//! Choices with their reason, by the person or the agent, and the person's answers to questions with options.

use std::sync::LazyLock;

use regex::Regex;

use super::said::Said;
use super::shape::{MAX_BODY, MAX_TITLE, capitalised, files, imperative, sentences, short};
use super::{Extracted, gate};
use crate::model::{Event, EventKind, Kind, Origin};

/// Choices of the agent kept of one session: it explains itself often.
const MAX_OF_AGENT: usize = 4;
/// Answers with options looked at in one event, and how long question and answer may be.
const MAX_ANSWERS: usize = 8;
const MAX_QUESTION: usize = 200;
const MAX_ANSWER: usize = 160;

/// One thing was taken and another left, in the words of the person.
static CHOICE: LazyLock<Regex> = LazyLock::new(|| choice_by(r"|going\s+with|go\s+with|uses?|using|used"));

/// The same in the words of the agent: that some code uses a thing is no choice.
static CHOICE_OF_AGENT: LazyLock<Regex> = LazyLock::new(|| choice_by(""));

fn choice_by(more_verbs: &str) -> Regex {
    let pattern = format!(
        r"(?xi)\b(?:chose|choose|chosen|picked|opted\s+for|went\s+with|settled\s+on|decided\s+(?:on|to\s+use|against|to\s+keep)
        |switched\s+(?:from\s+\S.*\s+)?to|changed\s+from\s+\S.*\s+to|replaced\s+\S.*\s+with|kept{more_verbs})\b
        \s+\S.*\b(?:over|instead\s+of|rather\s+than|because|since|so\s+that|to\s+avoid)\b\s+\S"
    );
    Regex::new(&pattern).expect("a valid pattern")
}

static REASON: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:because|since|so\s+that|to\s+avoid|as\s+it|due\s+to)\b\s+\S+\s+\S+")
        .expect("a valid pattern")
});

/// The same in Chinese, Japanese and Korean, with a reason.
static CHOICE_CJK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:选择|选用|采用|决定使用|改用).{1,60}(?:因为|以避免|而不是)|因为.{1,60}(?:选择|采用|改用)|(?:を?採用|を選択|に決め).{0,40}(?:ため|ので|理由)|(?:ため|ので).{1,40}(?:を採用|を選択|に決め)|(?:때문에|위해|이유로).{1,40}(?:선택|채택|사용하기로)")
        .expect("a valid pattern")
});

/// `"question"="answer"`, as the harness records what a person picked.
static ANSWER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#""([^"\n]{8,400})"\s*=\s*"([^"\n]{1,400})""#).expect("a valid pattern"));

/// The choices in these events.
pub(super) fn find(events: &[&(u64, Event)], said: &[Said<'_>]) -> Vec<Extracted> {
    let by_person = said.iter().filter(|said| said.is_meant() && is_choice_of_person(&said.unquoted()));
    let mut found: Vec<Extracted> =
        by_person.map(|said| choice(said.ordinal, said.event, said.sentence, Origin::Person)).collect();
    let mut of_agent = Vec::new();
    for (ordinal, event) in events {
        if event.kind == EventKind::Answer && event.origin == Origin::Agent {
            of_agent.extend(
                sentences(&event.text, true)
                    .into_iter()
                    .filter(|s| is_choice_of_agent(s))
                    .map(|s| choice(*ordinal, event, s, Origin::Agent)),
            );
        }
        found.extend(picked(*ordinal, event));
    }
    found.extend(answered(events, said));
    // What the agent said last stands: earlier reasons may have been given up.
    found.extend(of_agent.split_off(of_agent.len().saturating_sub(MAX_OF_AGENT)));
    found
}

fn is_choice_of_person(sentence: &str) -> bool {
    let english = CHOICE.is_match(sentence) && REASON.is_match(sentence) && gate::stands_alone(sentence);
    english
        || (CHOICE_CJK.is_match(sentence) && gate::has_substance(sentence) && !gate::is_question(sentence))
}

/// The agent's reasons count only where it says what was taken, what was left or avoided, and does not weigh.
fn is_choice_of_agent(sentence: &str) -> bool {
    CHOICE_OF_AGENT.is_match(sentence) && REASON.is_match(sentence) && gate::is_asserted(sentence)
}

fn choice(ordinal: u64, event: &Event, sentence: &str, origin: Origin) -> Extracted {
    Extracted {
        kind: Kind::Decision,
        title: short(&imperative(sentence), MAX_TITLE),
        body: short(sentence, MAX_BODY),
        topic_key: None,
        files: files(sentence),
        confidence: if origin == Origin::Person { 0.8 } else { 0.5 },
        evidence: vec![ordinal],
        origin,
        at: event.at,
        everywhere: false,
    }
}

/// `A or B` in a question.
static ALTERNATIVES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?P<head>,\s*|:\s*)?\b(?:either\s+)?(?P<a>[\w./@+#-]+(?:\s[\w./@+#-]+)?)\s+or\s+(?P<b>[\w./@+#-]+)")
        .expect("a valid pattern")
});

/// What the person answered to a question of the agent's that named two ways, in prose.
fn answered(events: &[&(u64, Event)], said: &[Said<'_>]) -> Vec<Extracted> {
    let mut found = Vec::new();
    let mut asked: Option<(u64, &str)> = None;
    for (ordinal, event) in events {
        if event.kind == EventKind::Answer && event.origin == Origin::Agent {
            asked = sentences(&event.text, true)
                .last()
                .copied()
                .filter(|question| question.ends_with('?') && question.chars().count() <= MAX_QUESTION)
                .map(|question| (*ordinal, question));
        } else if event.kind == EventKind::Prompt {
            let first = said.iter().find(|said| said.ordinal == *ordinal && said.is_meant());
            if let Some(((at, question), said)) = asked.take().zip(first) {
                found.extend(decided(at, question, said));
            }
        }
    }
    found
}

/// One of two ways that a question named, when the answer names it and not the other.
fn decided(asked_at: u64, question: &str, said: &Said<'_>) -> Option<Extracted> {
    static PASSING: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)\b(?:now|next|proceed|continue|ready|first|later|today|start\s+with)\b")
            .expect("a valid pattern")
    });
    static ASKING: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)^(?:so,?\s+|and\s+)?(?:shall|should|do|would|can|may|could)\s+(?:i|we|you)\s+(?:(?:want|prefer|like)\s+)?(?:me\s+)?(?:to\s+)?")
            .expect("a valid pattern")
    });
    let ways = ALTERNATIVES.captures(question)?;
    let (a, b) = (ways["a"].to_owned(), ways["b"].to_owned());
    let answer = said.sentence.trim();
    let names = |way: &str| {
        let last = way.rsplit(' ').next().unwrap_or(way).to_lowercase();
        answer
            .split(|c: char| c.is_whitespace() || matches!(c, ',' | '.' | '!' | '?' | ';' | ':'))
            .any(|word| word.to_lowercase() == last)
    };
    let chosen = match (names(&a), names(&b)) {
        (true, false) => a.rsplit(' ').next().unwrap_or(&a).to_owned(),
        (false, true) => b.clone(),
        _ => return None,
    };
    let is_kept = answer.chars().count() <= MAX_ANSWER
        && !PASSING.is_match(question)
        && !gate::is_question(answer)
        && !gate::is_one_off(question)
        && !gate::is_one_off(answer)
        && !is_consent(answer);
    let found = ways.get(0).filter(|_| is_kept)?;
    let head = &question[..found.start()];
    let title = if ways.name("head").is_some() {
        format!("{}: {chosen}", subject(head))
    } else {
        let first = a.split(' ').count() > 1;
        let verb = if first { a.split(' ').next().unwrap_or_default() } else { "" };
        let rest = question[found.end()..].trim_end_matches('?');
        let order = format!("{head}{verb}{}{chosen}{rest}", if first { " " } else { "" });
        capitalised(ASKING.replace(&order, "").trim())
    };
    Some(Extracted {
        kind: Kind::Decision,
        title: short(&title, MAX_TITLE),
        body: short(&format!("Asked \"{question}\", the person answered \"{answer}\"."), MAX_BODY),
        topic_key: None,
        files: files(answer),
        confidence: 0.7,
        evidence: vec![asked_at, said.ordinal],
        origin: Origin::Person,
        at: said.event.at,
        everywhere: false,
    })
}

/// What the person picked when the agent asked with options. The answer stands in the tool's output, but a person
/// gave it.
fn picked(ordinal: u64, event: &Event) -> Vec<Extracted> {
    let asked = event.tool.as_ref().filter(|tool| {
        !tool.failed
            && matches!(
                tool.name.as_str(),
                "AskUserQuestion" | "request_user_input" | "ask_user" | "question"
            )
    });
    let Some(tool) = asked else { return Vec::new() };
    ANSWER
        .captures_iter(&tool.output)
        .take(MAX_ANSWERS)
        .map(|found| (found[1].trim().to_owned(), found[2].trim().to_owned()))
        .filter(|(question, answer)| {
            question.chars().count() <= MAX_QUESTION
                && answer.chars().count() <= MAX_ANSWER
                && !gate::is_one_off(answer)
                && !gate::is_one_off(question)
                && !is_consent(answer)
                && !is_about_now(question)
        })
        .map(|(question, answer)| Extracted {
            kind: Kind::Decision,
            title: short(&format!("{}: {answer}", subject(&question)), MAX_TITLE),
            body: short(&format!("Asked \"{question}\", the person chose \"{answer}\"."), MAX_BODY),
            topic_key: None,
            files: files(&answer),
            confidence: 0.75,
            evidence: vec![ordinal],
            origin: Origin::Person,
            at: event.at,
            everywhere: false,
        })
        .collect()
}

/// Yes, no, go on: an answer that decides nothing beyond the moment.
fn is_consent(answer: &str) -> bool {
    let answer = answer.to_lowercase();
    let first = answer.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    matches!(
        first,
        "yes"
            | "no"
            | "ok"
            | "okay"
            | "proceed"
            | "continue"
            | "skip"
            | "cancel"
            | "stop"
            | "later"
            | "none"
            | "looks"
            | "commit"
            | "approve"
    )
}

/// A question about how to go on, not about how something shall be.
fn is_about_now(question: &str) -> bool {
    static NOW: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)\b(?:now|next|proceed|continue|ready|commit|push|start\s+with|first|would\s+you\s+like\s+me|do\s+you\s+want\s+me|shall\s+i|should\s+i)\b").expect("a valid pattern")
    });
    NOW.is_match(question)
}

/// A question without its question words, to head the answer: `Which database should we use?` becomes `Database`.
fn subject(question: &str) -> String {
    static FRAME: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)^(?:which|what|how|where|who)\s+(?:(?:kind|type|sort)\s+of\s+)?|\s+(?:should|shall|do|would|to|will|can)\s+(?:we|you|i|the)?\s*(?:use|prefer|choose|want|like|take|pick|go\s+with)?\s*\?*$|\?+$")
            .expect("a valid pattern")
    });
    capitalised(FRAME.replace_all(question, "").trim())
}
