//! What the agent found out and said in so many words: corrections of itself, caveats, causes it then removed.

use std::sync::LazyLock;

use regex::Regex;

use super::shape::{MAX_BODY, capitalised, files, headline, sentences, short};
use super::{Extracted, gate, signs};
use crate::model::{Event, EventKind, Kind, Origin};
use crate::report::is_doubt;
use crate::text;

/// Findings of each sort kept of one session, the latest.
const MAX_OF_SORT: usize = 2;
/// Bytes at the start of an answer in which it owns up to a mistake.
const OPENING: usize = 160;

/// The agent owns up to a mistake; what it then states is right, and was not obvious.
static ADMITS: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)\b(?:my\s+mistake|my\s+bad|you(?:['’]re|\s+are)\s+(?:absolutely\s+|totally\s+)?right|i\s+was\s+wrong|i\s+(?:incorrectly|mistakenly|misread|misremembered|confused)|i\s+stand\s+corrected|i\s+got\s+(?:that|it)\s+wrong)\b",
    )
});

/// A statement about how something is, with its subject before the verb.
static STATES: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)^(?:the|this|our|every|each|all|only)?\s*[`\w][^,;]{2,60}?\s(?:uses?|reads?|lives?|needs?|requires?|expects?|defaults?\s+to|is|are|must)\s",
    )
});

/// Words that announce a caveat.
static CAVEAT: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)^(?:(?:one|a|another|the|small|important|only|main)\s+)*(?:caveat|gotcha|catch|pitfall|subtlety|quirk)\b[^:.!?]{0,30}[:–—]\s*|^(?:it\s+)?turns\s+out(?:\s+that)?,?\s+",
    )
});

/// A cause told without a word of doubt.
static CAUSE: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)\b(?:(?:root\s+)?cause\s+(?:is|was)|(?:issue|problem|failure|culprit|bug|hang|reason)\s+(?:is|was)\s+(?:that|because|caused|due)|which\s+explains|never\s+(?:stops?|starts?|exits?|closes?|frees|flushes|unlocks)|keep(?:s|ing)?\s+the\s+.{1,40}\s+(?:open|alive|locked|running))\b",
    )
});

/// The agent turns to removing it.
static REMEDY: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)^(?:i(?:['’]m|['’]ll|['’]ve|\s+will|\s+am)\s+(?:\w+\s+){0,8}?|let\s+me\s+(?:\w+\s+){0,3}?|)(?:fix|updat|patch|chang|restor|initiali|harden|correct|adjust|replac|add|remov|stop)\w*\b",
    )
});

/// What one thing means for another, stated about a thing that has a name.
static CONSEQUENCE: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)^(?:the|each|every|all)\s[^,]{4,160}\s(?:is|are|has|have|lives?|hash(?:es)?|includes?)\s.*,\s(?:so|which\s+means)\s(?:that\s+)?(?:each|every|all|the|one|only)\s",
    )
});

/// What a finished change makes of something.
static OUTCOME: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)^(?:the|this)\s+(?:fix|change|patch)\s+makes\s+`[^`]+`\s.*(?:,\s+so|\binstead\s+of|\brather\s+than|\bbecause)\s",
    )
});

static ORDERS: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(r"(?i)(?:^|[:;,]\s*|\bthat\s+)(?:you\s+(?:should|must)\s+)?(?:always|never)\s")
});

/// What these events tell.
pub(super) fn find(events: &[&(u64, Event)]) -> Vec<Extracted> {
    let mut found = Vec::new();
    let (mut corrections, mut caveats, mut causes, mut statements) = (vec![], vec![], vec![], vec![]);
    let mut prompt: Option<u64> = None;
    for (ordinal, event) in events {
        if event.kind == EventKind::Prompt && event.origin == Origin::Person {
            prompt = Some(*ordinal);
        }
        if event.kind != EventKind::Answer || event.origin != Origin::Agent {
            continue;
        }
        let told = |kind, confidence, text: &str, sentence: &str| {
            finding(kind, confidence, text, sentence, *ordinal, event)
        };
        let admits = prompt.is_some() && ADMITS.is_match(text::cut(&event.text, OPENING));
        let sentences = sentences(&event.text, true);
        for (at, sentence) in sentences.iter().enumerate() {
            // What somebody else says, and orders, are no findings: the agent repeats what it read.
            if is_doubt(sentence) || ORDERS.is_match(sentence) {
                continue;
            }
            let named = sentence.contains('`');
            if admits && named && STATES.is_match(sentence) && gate::is_asserted(sentence) {
                let command = shown_command(&event.text);
                let mut correction = match &command {
                    Some(command) => told(Kind::Command, 0.57, sentence, &format!("{sentence} `{command}`")),
                    None => told(Kind::Fact, 0.55, sentence, sentence),
                };
                correction.evidence = prompt.into_iter().chain([*ordinal]).collect();
                corrections.push(correction);
            } else if let Some(rest) = CAVEAT.find(sentence).map(|lead| &sentence[lead.end()..]) {
                if named && gate::is_asserted(rest) && !is_doubt(rest) {
                    let kind = if signs::tells_trouble(rest) { Kind::Lesson } else { Kind::Fact };
                    caveats.push(told(kind, 0.55, rest, rest));
                }
            } else if CAUSE.is_match(sentence) && named && gate::is_asserted(sentence) {
                let is_removed = sentences.get(at + 1).is_some_and(|next| REMEDY.is_match(next));
                causes.extend(is_removed.then(|| told(Kind::Lesson, 0.5, sentence, sentence)));
            } else if named
                && (CONSEQUENCE.is_match(sentence) || OUTCOME.is_match(sentence))
                && signs::weight(sentence) >= 0
                && gate::is_asserted(sentence)
            {
                let kind = if OUTCOME.is_match(sentence) { Kind::Decision } else { Kind::Fact };
                statements.push(told(kind, 0.5, sentence, sentence));
            }
        }
    }
    for mut sort in [corrections, caveats, causes, statements] {
        found.extend(sort.split_off(sort.len().saturating_sub(MAX_OF_SORT)));
    }
    found
}

/// The one command that an answer shows in a block of its own.
fn shown_command(answer: &str) -> Option<String> {
    static BLOCK: LazyLock<Regex> = LazyLock::new(|| {
        text::regex(r"(?m)^\s*```(?:bash|sh|shell|zsh|console)?\s*\n([^\n`]{4,120})\n\s*```")
    });
    let mut blocks = BLOCK.captures_iter(answer);
    let command = blocks.next()?[1].trim().trim_start_matches("$ ").to_owned();
    (blocks.next().is_none() && command.contains(' ') && !gate::is_one_off(&command)).then_some(command)
}

/// A finding in somebody's words.
pub(super) fn finding(
    kind: Kind,
    confidence: f64,
    title: &str,
    body: &str,
    ordinal: u64,
    event: &Event,
) -> Extracted {
    Extracted {
        kind,
        title: headline(&capitalised(title.trim_end_matches(['.', ':']))),
        body: short(&capitalised(body), MAX_BODY),
        topic_key: None,
        files: files(body),
        confidence,
        evidence: vec![ordinal],
        origin: Origin::Agent,
        at: event.at,
        everywhere: false,
    }
}
