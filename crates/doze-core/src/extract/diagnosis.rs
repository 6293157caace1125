//! What the agent worked out and said in a sentence of its own: why something failed, what would go wrong, where two
//! things differ, how a thing works. The signs in the sentence ([`super::signs`]) and what stands around it are
//! weighed; what is heavy enough is kept, put together with what it rests on and the remedy that follows it.

use std::cell::LazyCell;
use std::sync::LazyLock;

use regex::Regex;

use super::rounds::{Round, is_answer, rounds};
use super::shape::{MAX_BODY, capitalised, files, headline, imperative, lined, short};
use super::shell::{self, Call};
use super::{Extracted, cjk, fixes, gate, signs};
use crate::model::{Event, Kind, Origin};
use crate::text;

/// What a sentence must weigh.
const HEAVY: i32 = 3;
/// Diagnoses kept of one session, the heaviest, of the answer that closes a round, and of any other.
const MAX_OF_SESSION: usize = 6;
const MAX_OF_CLOSING: usize = 4;
const MAX_OF_ANSWER: usize = 2;
/// Events after a failed command in which an answer is about it.
const AFTER_FAILURE: u64 = 6;
/// Answers longer than this are documents: their parts say where they belong.
const MAX_ANSWER: usize = 20_000;
/// Characters of an error that are quoted, and files of a remedy that are named.
const MAX_ERROR: usize = 120;
const MAX_REMEDIED: usize = 2;
/// Commands after an announced remedy that show whether it helped.
const MAX_NEXT: usize = 3;
/// Sentences after the finding that may belong to it.
const MAX_FOLLOWERS: usize = 3;
/// Sentences before a labelled remedy among which its trouble is looked for.
const BEFORE_REMEDY: usize = 6;

/// What the agent turns to after a diagnosis: the rest says what removes it.
static REMEDY: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)^(?:(?:the\s+)?(?:minimal\s+|proper\s+|right\s+|correct\s+|real\s+|simplest\s+)?(?:fix|remedy|solution|workaround)\s*(?:is|was|here\s+is|:)\s*(?:to\s+)?(?P<labelled>.+)|(?:so\s+|now\s+)?(?:i(?:['’]m|['’]ll|['’]ve|\s+will|\s+am|\s+have)\s+(?:going\s+to\s+|now\s+|also\s+|just\s+)?|let\s+me\s+|(?:i|we)\s+(?:need|have)\s+to\s+)(?P<said>(?:fix|updat|patch|chang|restor|initiali|harden|correct|adjust|replac|add|remov|stop|us|mak|switch|mov|amend|build|set|pass|run|rerun|fetch|regist|captur|return|tighten|scop|guard|wrap|split|teach|keep)\w*\s.+)|(?:해결(?:책|방법)?(?:은|:)|수정(?:은|:|\s*방법은)|(?:解决|解決)(?:方法|办法|辦法|方案)(?:是|:|：)|修复(?:方法|方案)?(?:是|:|：)|対策(?:は|として)|修正(?:方法)?は)\s*(?P<other>.+))$",
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
        r"(?i)^(?:that|this|it|its|they|so|thus|therefore|which|otherwise|if|instead|the\s+caller|then|both|as\s+a\s+result|also|but|이는|이로|따라서|그래서|그러나|这|這|因此|所以|これ|そのため|しかし)\b",
    )
});
/// Words that announce a finding: `Root cause:`, `I found the subtle bit:`, `Confirmed —`.
static LABEL: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?x)^(?:[A-Z][\w\x20/-]{2,30}:\s+|(?:P[0-4]|High|Medium|Low|Critical)\s*[:—–-]+\s+
        |(?i:(?:ah|oh|ok(?:ay)?|yes|no|nope|right|exactly|confirmed|got\s+it|interesting|good\s+(?:catch|point|question|news)|i\s+see|found\s+it|found\s+the\s+\w+|perfect|great)\s*[—–:,.!-]+\s+)
        |(?i:i(?:['’]ve|\s+have)?\s+(?:now\s+)?(?:found|see|confirmed|verified|noticed|discovered|realized|realised|spotted|located|understand)\s+(?:that|why|the|a|an|one|where|what)\s+(?:[^:,`]{0,40}:\s+|(?P<keeps>)))
        |(?i:it\s+turns\s+out(?:\s+that)?,?\s+|turns\s+out(?:\s+that)?,?\s+|the\s+(?:\w+\s+)?(?:answer|short\s+answer)\s+is\s+(?:that\s+)?)
        |(?i:the|this|that)\s+(?i:\w+\s+)?(?i:failure|issue|problem|bug|error|cause|reason|catch|story)\s+(?i:is|was)\s+[^`:.]{3,40}:\s+
        |(?i:one|a|another|the)\s+(?i:\w+\s+)?(?i:difference|caveat|gotcha|catch|detail|thing)\s+(?i:i\s+(?:noticed|found|spotted)|to\s+(?:note|know)|jumped\s+out)\s*:\s+)",
    )
});
/// An object that only the sentences before would explain.
static POINTS_BACK: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(r"(?i)\b(?:those|these|them|both|each\s+of|that\s+one)\b|\b(?:it|this|that)$")
});
/// What only leads over to a list.
static DANGLING: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i),?\s+(?:which\s+means|because|since|so|such\s+as|including|for\s+example|namely|where)$",
    )
});
/// The line of an output that says what went wrong.
static ERROR: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)\berror\b|\bfail(?:ed|ure)?\b|\bfatal\b|not\s+found|panicked|denied|refused|\bmissing\b|\binvalid\b|unexpected|\bexpected\b|cannot|can't|undefined|unable|no\s+such|unknown|accepts\s+at",
    )
});

/// A diagnosis that was found.
struct Weighed {
    weight: i32,
    found: Extracted,
}

/// What stands around an answer.
struct Around<'a> {
    ordinal: u64,
    event: &'a Event,
    /// It is the last of its round.
    is_closing: bool,
    /// The command that failed before it.
    failed: Option<&'a Call<'a>>,
    /// The files that were changed after it in its round.
    changed: Vec<(u64, &'a str)>,
    /// What became of the commands that the agent ran next.
    next: Next,
}

/// How the commands went that followed an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Worked,
    Failed,
    Unknown,
}

/// What these events tell, the heaviest first.
pub(super) fn find<'a>(events: &'a [&'a (u64, Event)], calls: &'a [Call<'a>]) -> Vec<Extracted> {
    let mut weighed: Vec<Weighed> = Vec::new();
    for round in rounds(events) {
        for (ordinal, event) in round.events.iter().filter(|(_, event)| is_answer(event)) {
            if event.text.len() > MAX_ANSWER {
                continue;
            }
            let around = around(&round, *ordinal, event, calls);
            let most = if around.is_closing { MAX_OF_CLOSING } else { MAX_OF_ANSWER };
            weighed.extend(heaviest(of_answer(&around), most));
        }
    }
    heaviest(weighed, MAX_OF_SESSION).into_iter().map(|weighed| weighed.found).collect()
}

fn around<'a>(round: &Round<'a>, ordinal: u64, event: &'a Event, calls: &'a [Call<'a>]) -> Around<'a> {
    Around {
        ordinal,
        event,
        is_closing: round.closing().is_some_and(|(closing, _)| *closing == ordinal),
        failed: failure_before(calls, ordinal),
        changed: round.files().filter(|(at, _)| *at > ordinal).take(MAX_REMEDIED).collect(),
        next: next(round, ordinal, calls),
    }
}

/// A remedy that was only announced helped if what came next in the round went well.
fn next(round: &Round<'_>, answer: u64, calls: &[Call<'_>]) -> Next {
    let end = round.events.last().map_or(answer, |(ordinal, _)| *ordinal);
    let from = calls.partition_point(|call| call.ordinal <= answer);
    let next = || calls[from..].iter().take_while(|call| call.ordinal <= end).take(MAX_NEXT);
    if next().any(|call| call.failed) {
        Next::Failed
    } else if next().any(|call| call.worked) {
        Next::Worked
    } else {
        Next::Unknown
    }
}

/// The heaviest, the earlier first among equals, without those that another one tells with it.
fn heaviest(mut weighed: Vec<Weighed>, most: usize) -> Vec<Weighed> {
    weighed.sort_by_key(|weighed| std::cmp::Reverse(weighed.weight));
    let mut kept: Vec<Weighed> = Vec::new();
    for next in weighed {
        let lead = next.found.title.trim_end_matches('…');
        let is_told = kept.iter().any(|known| {
            let told = known.found.title.trim_end_matches('…');
            known.found.body.contains(lead) || next.found.body.contains(told)
        });
        if !is_told && kept.len() < most {
            kept.push(next);
        }
    }
    kept
}

/// The last command that failed shortly before an answer.
fn failure_before<'a>(calls: &'a [Call<'a>], answer: u64) -> Option<&'a Call<'a>> {
    let before = calls.partition_point(|call| call.ordinal < answer);
    calls[..before]
        .iter()
        .rev()
        .take_while(|call| call.ordinal + AFTER_FAILURE >= answer)
        .find(|call| call.failed)
}

fn of_answer(around: &Around<'_>) -> Vec<Weighed> {
    let sentences = lined(&around.event.text, true);
    let remedies = remedies(&sentences);
    let telling = LazyCell::new(|| around.failed.map(fixes::telling_words).unwrap_or_default());
    let mut found = Vec::new();
    for (at, (_, sentence)) in sentences.iter().enumerate() {
        let told = without_label(sentence);
        let remedy = remedies.iter().find(|(owner, _)| *owner == at).map(|(_, remedy)| remedy);
        let failed = around.failed.filter(|_| fixes::shares_word(sentence, &telling));
        let weight = weight_here(sentence, told, around, remedy.is_some());
        let lasts = signs::names_something(told) && gate::stands_alone(told) && !cjk::passes(told);
        let is_experience = failed.is_some() || remedy.is_some() || signs::tells_trouble(sentence);
        // On the way an agent states much that it needs for its next step only.
        let needed = if is_experience || around.is_closing { HEAVY } else { HEAVY + 1 };
        // Their signs are fewer and were tried on fewer sessions: they have to say more.
        let needed = needed + i32::from(cjk::is_mostly(told));
        if weight < needed || !lasts || REMEDY.is_match(sentence) {
            continue;
        }
        let kind = match (is_experience, signs::tells_custom(told)) {
            (true, _) => Kind::Lesson,
            (false, true) => Kind::Convention,
            (false, false) => Kind::Fact,
        };
        let changed = if remedy.is_some() { around.changed.as_slice() } else { &[] };
        let told_remedy = remedy.and_then(|remedy| remedy.told(around.next));
        let body = body(&sentences, at, told_remedy, failed, changed);
        let mut evidence: Vec<u64> = around.failed.map(|call| call.ordinal).into_iter().collect();
        evidence.push(around.ordinal);
        evidence.extend(changed.first().map(|(at, _)| *at));
        found.push(Weighed {
            weight,
            found: Extracted {
                kind,
                title: title(told, remedy),
                files: files(&body),
                body: short(&body, MAX_BODY),
                topic_key: None,
                confidence: (0.47 + 0.03 * f64::from(weight - HEAVY)).min(0.68),
                evidence,
                origin: Origin::Agent,
                at: around.event.at,
                everywhere: false,
            },
        });
    }
    found
}

/// What a sentence weighs with all that stands around it.
fn weight_here(sentence: &str, told: &str, around: &Around<'_>, is_remedied: bool) -> i32 {
    let label = &sentence[..sentence.len() - told.len()];
    let of_label = match label {
        "" => 0,
        // `The failure is real but tiny:` names no cause yet.
        label if label.contains(" is ") || label.contains(" was ") => 1,
        label => signs::weight_of_label(label).max(1),
    };
    let of_remedy = match (is_remedied, around.failed) {
        (true, Some(_)) => 2,
        (true, None) => 1,
        (false, _) => 0,
    };
    // An order without a label is a step of an example, or advice.
    let of_order = if label.is_empty() && is_order(told) { -2 } else { 0 };
    let is_bare = !is_remedied && around.failed.is_none() && signs::only_names_trouble(told);
    signs::weight(told)
        + if is_bare { -2 } else { 0 }
        + of_label
        + of_order
        + of_remedy
        + i32::from(around.failed.is_some())
        + i32::from(around.is_closing)
}

/// `Root cause: x` and `I found the bug: x` without their label.
fn without_label(sentence: &str) -> &str {
    let mut rest = sentence;
    for _ in 0..2 {
        match LABEL.captures(rest) {
            // `I found that x` says x, and more is there than in `I found the file`.
            Some(label) if label.name("keeps").is_some() && !label[0].ends_with("that ") => break,
            Some(label) if label[0].len() < rest.len() => rest = &rest[label[0].len()..],
            _ => break,
        }
    }
    rest
}

/// What removes the trouble.
struct Remedy {
    /// The words that follow the agent's "I'm", or those behind a label.
    text: String,
    /// It stood behind a label, and is an order.
    is_order: bool,
}

impl Remedy {
    /// The remedy as one tells it. One that was only announced is told when it helped, or when nothing shows that it did
    /// not, and when it can be understood without what came before.
    fn told(&self, next: Next) -> Option<String> {
        let label = match next {
            _ if self.is_order => "Remedy",
            _ if POINTS_BACK.is_match(&self.text) => return None,
            Next::Worked => "What helped",
            Next::Unknown => "Tried next",
            Next::Failed => return None,
        };
        Some(format!("{label}: {}.", self.text))
    }
}

/// The remedies in an answer, each with the place of the sentence that it is for: what the agent turns to is for the
/// sentence before; what stands behind a label is for the heaviest of those before it.
fn remedies(sentences: &[(usize, &str)]) -> Vec<(usize, Remedy)> {
    let mut found: Vec<(usize, Remedy)> = Vec::new();
    for (at, (_, sentence)) in sentences.iter().enumerate().skip(1) {
        let Some((remedy, is_labelled)) = remedy(sentence) else { continue };
        let first = if is_labelled { at.saturating_sub(BEFORE_REMEDY) } else { at - 1 };
        let owner = (first..at)
            .filter(|place| !found.iter().any(|(owner, _)| owner == place))
            .max_by_key(|place| (signs::weight(without_label(sentences[*place].1)), *place));
        found.extend(owner.map(|owner| (owner, remedy)));
    }
    found
}

fn remedy(sentence: &str) -> Option<(Remedy, bool)> {
    let parts = REMEDY.captures(sentence)?;
    let labelled = parts.name("labelled").or_else(|| parts.name("other"));
    let text = THEN.replace(labelled.or(parts.name("said"))?.as_str(), "");
    let text = text.trim_end_matches(['.', ':', ' ', ',', '。']);
    let is_said = text.split_whitespace().count() >= 3 || cjk::is_mostly(text);
    is_said.then(|| (Remedy { text: text.to_owned(), is_order: labelled.is_some() }, labelled.is_some()))
}

/// A remedy that is an order and can stand for itself heads the memory; else the finding does.
fn title(told: &str, remedy: Option<&Remedy>) -> String {
    let order = remedy
        .filter(|remedy| remedy.is_order && is_order(&remedy.text))
        .filter(|remedy| signs::names_something(&remedy.text) && gate::stands_alone(&remedy.text));
    match order {
        Some(order) => headline(&imperative(&order.text)),
        None => {
            let told = DANGLING.replace(told.trim_end_matches(['.', ':', '。', ' ']), "");
            headline(&capitalised(&told))
        }
    }
}

fn is_order(text: &str) -> bool {
    static VERB: LazyLock<Regex> = LazyLock::new(|| {
        text::regex(
            r"(?i)^(?:add|use|run|set|pass|call|check|make|move|keep|replace|return|register|reject|restore|distinguish|update|remove|stop|wrap|guard|escape|pin|install|export|rename|compute|normalize|validate|compare|skip|split|treat|build|fetch|read|write|store|clear|close|reset|initialize|quote|require|don['’]t|do\s+not|avoid|consider|try|welcome|emit|persist|preserve)\b",
        )
    });
    VERB.is_match(text)
}

/// The finding with the sentence it leans on, what follows from it, the remedy, the failure and the files, as far as
/// there is room, in the order in which one tells it.
fn body(
    sentences: &[(usize, &str)],
    at: usize,
    remedy: Option<String>,
    failed: Option<&Call<'_>>,
    changed: &[(u64, &str)],
) -> String {
    let (line, told) = (sentences[at].0, without_label(sentences[at].1));
    let mut parts: Vec<(usize, String)> = vec![(at, capitalised(told))];
    let last = sentences.len();
    let mut room = MAX_BODY.saturating_sub(parts[0].1.chars().count());
    let mut take = |place: usize, text: String| {
        let length = text.chars().count() + 1;
        if length <= room {
            room -= length;
            parts.push((place, text));
        }
    };
    if let Some(remedy) = remedy {
        take(last, remedy);
    }
    if LEANS.is_match(&capitalised(told))
        && let Some(before) = at.checked_sub(1)
        && signs::weight(sentences[before].1) >= 0
    {
        take(before, without_label(sentences[before].1).to_owned());
    }
    if let Some(error) = failed.and_then(told_failure) {
        take(last + 1, error);
    }
    for (place, next) in followers(sentences, at, line) {
        take(place, next.to_owned());
    }
    let names: Vec<&str> = changed.iter().filter_map(|(_, path)| relative(path)).collect();
    if !names.is_empty() {
        take(last + 2, format!("Changed: {}.", names.join(", ")));
    }
    parts.sort_by_key(|(place, _)| *place);
    parts.into_iter().map(|(_, part)| part).collect::<Vec<_>>().join(" ")
}

/// The sentences after a finding that go on with it: on its line, in the list that it opens, or leaning on it.
fn followers<'a>(
    sentences: &[(usize, &'a str)],
    at: usize,
    line: usize,
) -> impl Iterator<Item = (usize, &'a str)> {
    let opens_list = sentences[at].1.ends_with(':');
    sentences
        .iter()
        .enumerate()
        .skip(at + 1)
        .take(MAX_FOLLOWERS)
        .map(|(place, (on, next))| (place, *on, *next, without_label(next)))
        .take_while(move |(_, on, next, told)| {
            let goes_on = *on == line || opens_list || LEANS.is_match(told);
            goes_on && !REMEDY.is_match(next) && !signs::is_report(told) && !gate::is_question(told)
        })
        .filter(|(_, _, _, told)| signs::weight(told) >= 0 && !gate::is_one_off(told) && !told.ends_with(':'))
        .map(|(place, _, _, told)| (place, told))
}

/// The failed command with what it said.
pub(super) fn told_failure(failed: &Call<'_>) -> Option<String> {
    if !shell::is_tool(&failed.command) {
        return None;
    }
    Some(match telling_line(failed.output) {
        Some(error) => format!("`{}` failed: {}.", failed.command, error.trim_end_matches('.')),
        None => format!("`{}` failed.", failed.command),
    })
}

/// The line of an output that says most of what went wrong; the first of equals, none that says it of any failure.
fn telling_line(output: &str) -> Option<String> {
    static OF_ANY: LazyLock<Regex> = LazyLock::new(|| {
        text::regex(
            r"(?i)\b(?:task|job|step|command|process|build|recipe|target|script|run|tests?)\b.{0,40}\bfail(?:ed|ure)\b|\bexit(?:ed)?\s+(?:code|status|with)|\bcompleted\s+with|\berrors?\s+(?:generated|found|occurred)|\b\d+\s+(?:errors?|failed|failures?)\b|could\s+not\s+compile|aborting\s+due\s+to",
        )
    });
    let worth = |line: &str| {
        let says = line.split_whitespace().count() >= 4;
        let names = line.contains(['`', '\'', '"', '_', '/']) || line.contains(": ");
        i32::from(says) + i32::from(names) - if OF_ANY.is_match(line) { 3 } else { 0 }
    };
    let may_be_told =
        |line: &String| ERROR.is_match(line) && !gate::is_one_off(line) && line.chars().count() <= MAX_ERROR;
    let lines = shell::lines(output).into_iter().filter(may_be_told).map(|line| (worth(&line), line));
    let best = lines.rev().max_by_key(|(worth, _)| *worth);
    best.filter(|(worth, _)| *worth > 0).map(|(_, line)| line)
}

/// The last parts of a path, as one speaks of a file; nothing of what lies in a passing folder.
fn relative(path: &str) -> Option<&str> {
    if path.contains("/tmp/") || path.contains("\\Temp\\") {
        return None;
    }
    let starts: Vec<usize> = path.match_indices('/').map(|(at, _)| at + 1).collect();
    let start = if path.starts_with('/') { starts.iter().rev().nth(2).copied().unwrap_or(0) } else { 0 };
    Some(&path[start..]).filter(|path| !path.is_empty() && !gate::is_one_off(path))
}
