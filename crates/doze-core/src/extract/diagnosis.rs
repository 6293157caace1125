//! What the agent worked out and said in a sentence of its own: why something failed, what would go wrong, where two
//! things differ. Signs of that are weighed against signs of a report, a plan or a guess; what is heavy enough is kept
//! together with the remedy that follows it.

use std::sync::LazyLock;

use regex::Regex;

use super::shape::{MAX_BODY, MAX_TITLE, capitalised, files, sentences, short};
use super::shell::Call;
use super::{Extracted, cjk, gate};
use crate::model::{Event, EventKind, Kind, Origin};
use crate::text;

/// Signs that a sentence must have, and those that it needs when it stands behind no failure.
const HEAVY: i32 = 4;
/// Diagnoses kept of one session, the heaviest, and of one answer.
const MAX_OF_SESSION: usize = 4;
const MAX_OF_ANSWER: usize = 2;
/// Events after a failed command in which an answer is about it.
const AFTER_FAILURE: u64 = 6;
/// Answers longer than this are documents: their parts say where they belong.
const MAX_ANSWER: usize = 20_000;

struct Sign {
    weight: i32,
    pattern: LazyLock<Regex>,
}

macro_rules! sign {
    ($weight:expr, $pattern:expr) => {
        Sign { weight: $weight, pattern: LazyLock::new(|| text::regex($pattern)) }
    };
}

/// Where they stand in the table.
const CAUSE: usize = 0;
const FOLLOWS: usize = 1;
const HAZARD: usize = 5;
const BEHAVES: usize = 6;

static SIGNS: [Sign; 10] = [
    // It names the cause.
    sign!(
        2,
        r"(?i)\b(?:root\s+cause|(?:the|a)\s+(?:real\s+|actual\s+|key\s+|subtle\s+|one\s+|main\s+)*(?:cause|culprit|difference|catch|gotcha|pitfall|caveat|trick|problem|issue|bug|reason|subtlety|bit|failure)\s*(?:is|was|:|here)|failing\s+path|turns\s+out|which\s+explains|because\s+of\s+this)|(?:근본\s*)?원인(?:은|이)|문제는|根因|(?:根本)?原因(?:是|在于|は)|问题(?:在于|出在)"
    ),
    // One thing follows from another.
    sign!(
        1,
        r"(?i)\b(?:because|since|so\s+(?:that|the|each|every|a|an|it|no)|which\s+(?:means|meant|would)|that\s+means|due\s+to|therefore|otherwise|as\s+a\s+result)\b|,\s+so\s"
    ),
    // One thing against another.
    sign!(
        1,
        r"(?i)\b(?:but|instead|rather\s+than|while|although|whereas|however|unlike|even\s+though|not\s+only)\b"
    ),
    // A limit.
    sign!(
        1,
        r"(?i)\b(?:does\s?n['’]?o?t|do\s?n['’]?o?t|did\s?n['’]?o?t|is\s?n['’]?t|are\s?n['’]?t|can\s?n?['’]?o?t|never|only|without|missing|no\s+longer|unsupported|not\s+(?:registered|set|supported|installed|found|available|checked)|no\s+such|ignores?|silently|loses|lost)\b|않[는아습은]|없[는어습이으]|못[하합한]|불가|没有|无法|不会|不能|未|できない|されない|しない|ません"
    ),
    // What would happen.
    sign!(
        1,
        r"(?i)\b(?:would|will)\s+(?:\w+\s+)?(?:replace|delete|overwrite|break|fail|try|lose|drop|create|hang|leave|miss|skip|crash|reset|remove)\b"
    ),
    // What somebody did not do, since it would.
    sign!(2, r"(?i)\bif\s[^.]{5,120},\s+(?:it|this|that|the\s+\w+)\s+(?:would|will)\b"),
    // How a thing with a name behaves.
    sign!(
        1,
        r"(?i)`[^`]+`\)?\s+(?:\w+ly\s+|now\s+|also\s+|already\s+|really\s+)?(?:is|are|was|were|uses?|reads?|returns?|creates?|expects?|requires?|prints?|renders?|needs?|calls?|checks?|runs?|treats?|catches?|accepts?|hash(?:es)?|lives?|does|do|has|have|only|never|can(?:not|'t)?|skips?|drops?|writes?|resolves?|defaults?|fails?|catches|keeps?|ignores?|traded|expected)\b|`(?:은|는|이|가|을|를|에|의|로|도|の|は|が|を|に|是|会|只|在)"
    ),
    // A report of what was done, a plan, chatter, an address to somebody.
    sign!(
        -4,
        r"(?i)^(?:\W*)(?:i|we|let|now|next|done|all|ok(?:ay)?|great|good|perfect|excellent|you|your|yes|no|sorry|thanks?|looking|checking|running|added|updated|fixed|removed|changed|created|implemented|verified|investigated)\b|(?:하겠습니다|할게요|했습니다|완료|드릴까요)[.!。]?$|^(?:让我|我来|我将|接下来|已)|(?:しました|します)[。.]?$"
    ),
    // A guess.
    sign!(
        -3,
        r"(?i)\b(?:might|maybe|perhaps|probably|possibly|likely|seems?|seemed|appears?|i\s+(?:think|guess|believe|suspect|assume|wonder)|not\s+sure|unclear|could\s+be|should\s+be\s+(?:fine|ok|good)|worth\s+\w+ing|if\s+you\s+(?:want|like|prefer|need)|if\s+we\s)\b|것\s*같|듯\s*(?:합|하|싶)|아마|추정|可能|也许|大概|かもしれ|たぶん"
    ),
    // It passes: the state of this run, of this change.
    sign!(
        -2,
        r"(?i)\b(?:now\s+(?:passes|works|shows?|fails|green)|passed|all\s+tests|tests?\s+pass|committed|pushed|rebas\w+|still\s+running|finished|is\s+green|is\s+running|my\s+(?:change|edit|fix|patch|assertion))\b"
    ),
];

/// What the agent turns to after a diagnosis: the rest says what removes it.
static REMEDY: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)^(?:\*{0,2}(?:the\s+)?(?:minimal\s+)?(?:fix|remedy|solution|workaround)\*{0,2}\s*(?:is|:)\*{0,2}\s*(?:to\s+)?(?P<labelled>.+)|(?:so\s+|now\s+)?(?:i(?:['’]m|['’]ll|['’]ve|\s+will|\s+am|\s+have)\s+(?:going\s+to\s+|now\s+|also\s+|just\s+)?|let\s+me\s+)(?P<said>(?:fix|updat|patch|chang|restor|initiali|harden|correct|adjust|replac|add|remov|stop|us|mak|switch|mov|amend|build|set|pass|run|rerun|fetch|regist|captur|return)\w*\s.+))$",
    )
});
/// Where a remedy goes on to what comes after it.
static THEN: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)[,;]?\s+(?:and\s+)?(?:then|after\s+that)\s+(?:i|we|rerun|run)\b.*$|,\s+(?:which|so)\s+(?:i|we)\b.*$|[:;]\s*$",
    )
});
/// A sentence that only makes sense after the one before.
static LEANS: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)^(?:that|this|it|so|thus|therefore|which|otherwise|if|instead|the\s+caller|then|both|as\s+a\s+result)\b",
    )
});

/// A diagnosis that was found.
struct Weighed {
    weight: i32,
    found: Extracted,
}

/// What these events tell, the heaviest first.
pub(super) fn find(events: &[&(u64, Event)], calls: &[Call<'_>]) -> Vec<Extracted> {
    let mut weighed: Vec<Weighed> = Vec::new();
    for (ordinal, event) in events {
        if event.kind != EventKind::Answer || event.origin != Origin::Agent || event.text.len() > MAX_ANSWER {
            continue;
        }
        let failed = failure_before(calls, *ordinal);
        let mut of_answer = of_answer(*ordinal, event, failed);
        of_answer.sort_by_key(|weighed| std::cmp::Reverse(weighed.weight));
        of_answer.truncate(MAX_OF_ANSWER);
        weighed.extend(of_answer);
    }
    weighed.sort_by_key(|weighed| std::cmp::Reverse(weighed.weight));
    weighed.into_iter().take(MAX_OF_SESSION).map(|weighed| weighed.found).collect()
}

/// The last command that failed shortly before an answer, and none that worked since.
fn failure_before<'a>(calls: &'a [Call<'a>], answer: u64) -> Option<&'a Call<'a>> {
    let before = calls.partition_point(|call| call.ordinal < answer);
    calls[..before]
        .iter()
        .rev()
        .take_while(|call| call.ordinal + AFTER_FAILURE >= answer)
        .find(|call| call.failed)
}

fn of_answer(ordinal: u64, event: &Event, failed: Option<&Call<'_>>) -> Vec<Weighed> {
    let sentences = sentences(&event.text, true);
    let mut found = Vec::new();
    for (at, sentence) in sentences.iter().enumerate() {
        let remedy = sentences.get(at + 1).and_then(|next| remedy(next));
        let told = without_label(sentence);
        let is_labelled = told.len() < sentence.len();
        let weight = weight(told)
            + i32::from(remedy.is_some())
            + i32::from(failed.is_some())
            + if is_labelled && SIGNS[CAUSE].pattern.is_match(sentence) { SIGNS[CAUSE].weight } else { 0 };
        if weight < HEAVY || !names_something(told) || !gate::stands_alone(told) || cjk::is_passing(told) {
            continue;
        }
        let is_experience = failed.is_some()
            || remedy.is_some()
            || [CAUSE, HAZARD].iter().any(|sign| SIGNS[*sign].pattern.is_match(sentence));
        let kind = if is_experience { Kind::Lesson } else { Kind::Fact };
        let body = body(&sentences, at, remedy.as_deref());
        found.push(Weighed {
            weight,
            found: Extracted {
                kind,
                title: short(&capitalised(told.trim_end_matches(['.', ':', '。'])), MAX_TITLE),
                files: files(&body),
                body: short(&body, MAX_BODY),
                topic_key: None,
                confidence: (0.5 + 0.03 * f64::from(weight - HEAVY)).min(0.65),
                evidence: failed.map(|call| call.ordinal).into_iter().chain([ordinal]).collect(),
                origin: Origin::Agent,
                at: event.at,
                everywhere: false,
            },
        });
    }
    found
}

/// A name in code marks, a path, a flag, a variable or another word that only programs have.
fn names_something(sentence: &str) -> bool {
    static NAME: LazyLock<Regex> = LazyLock::new(|| {
        text::regex(
            r"`[^`]+`|(?:^|\s)--?[a-z][\w-]+|\b\w+[._/]\w+\.\w{1,5}\b|\b[a-z]+_\w+|\b[a-z]+[A-Z]\w+|\b[A-Z]{2,}_\w+|\b\w+\.(?:rs|ts|tsx|js|py|go|java|kt|rb|c|h|cpp|toml|json|yaml|yml|md|sh|sql)\b|\bstd(?:out|err|in)\b",
        )
    });
    NAME.is_match(sentence)
}

fn weight(sentence: &str) -> i32 {
    let has = |sign: &Sign| sign.pattern.is_match(sentence);
    let signs: i32 = SIGNS.iter().filter(|sign| has(sign)).map(|sign| sign.weight).sum();
    // How a thing behaves, and what follows from it: a mechanism.
    signs + i32::from(has(&SIGNS[FOLLOWS]) && has(&SIGNS[BEHAVES]))
}

/// `Root cause: x` and `**Failing path:** x` without their label.
fn without_label(sentence: &str) -> &str {
    static LABEL: LazyLock<Regex> = LazyLock::new(|| {
        text::regex(
            r"^\*{0,2}[A-Z][\w ]{2,24}\*{0,2}:\*{0,2}\s+|^(?i:i\s+found\s+(?:the|a|an)\s+(?:\w+\s+)?\w+:\s+)|^\*{2}[^*:]{2,40}:\*{2}\s+",
        )
    });
    LABEL.find(sentence).map_or(sentence, |label| &sentence[label.end()..])
}

/// What removes the trouble, in the words that follow the agent's "I'm".
fn remedy(sentence: &str) -> Option<String> {
    let parts = REMEDY.captures(sentence)?;
    let said = parts.name("labelled").or_else(|| parts.name("said"))?.as_str();
    let said = THEN.replace(said, "");
    let said = said.trim_end_matches(['.', ':', ' ', ',']);
    (said.split_whitespace().count() >= 3).then(|| format!("Remedy: {said}."))
}

/// The sentence with the one it leans on, what follows from it, and the remedy, as far as there is room.
fn body(sentences: &[&str], at: usize, remedy: Option<&str>) -> String {
    let room = MAX_BODY.saturating_sub(remedy.map_or(0, |remedy| remedy.chars().count() + 1));
    let mut body = capitalised(without_label(sentences[at]));
    let fits = |body: &str, more: &str| body.chars().count() + more.chars().count() < room;
    if LEANS.is_match(&body)
        && let Some(before) = at.checked_sub(1).map(|before| without_label(sentences[before]))
        && fits(&body, before)
        && weight(before) >= 0
    {
        body = format!("{before} {body}");
    }
    if remedy.is_none()
        && let Some(next) = sentences.get(at + 1)
        && (LEANS.is_match(next) || weight(next) > 1)
        && weight(next) >= 0
        && !gate::is_question(next)
        && fits(&body, next)
    {
        body = format!("{body} {}", without_label(next));
    }
    match remedy {
        Some(remedy) => format!("{body} {remedy}"),
        None => body,
    }
}
