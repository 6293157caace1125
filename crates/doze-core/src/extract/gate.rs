//! What is not worth keeping, however much it sounds like a rule: questions, things of the moment, paths and numbers
//! that hold once, code, chatter.

use std::sync::LazyLock;

use regex::Regex;

use crate::tokens::is_cjk;

/// A sentence outside these bounds is a fragment or a paste (characters).
const LENGTH: std::ops::RangeInclusive<usize> = 12..=320;
const MIN_WORDS: usize = 4;
const MIN_CJK: usize = 6;

static MOMENT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)\b(for\s+now|right\s+now|just\s+now|yet|today|tomorrow|tonight|yesterday|this\s+time|one\s+more\s+time|at\s+the\s+moment
        |currently|temporar(?:y|ily)|later|then\s+(?:we|i|you)|first\s*,|next\s+step|step\s+\d+|in\s+this\s+(?:pr|commit|session|turn|task|branch|change|case)
        |this\s+(?:pr|commit|branch|change|task|issue|bug|error|failure|run|one)|the\s+(?:above|below|following|previous|latest)
        |until\s+i|before\s+i|when\s+i|i(?:'|’)?ll\s+(?:let|tell|do|be))\b",
    )
    .expect("a valid pattern")
});

static ONE_OFF: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x)(?:^|[\s`'\x22(=])(?:/tmp/|/private/|/var/folders/|/Users/|/home/|/root/|~/|[A-Z]:\\)
        |\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-
        |(?i:\b(?:pr|issue|pull\ request|ticket|discussion)\s*\#?\d+\b)|\s\#\d+\b|(?i:\blines?\s+\d+)",
    )
    .expect("a valid pattern")
});

static QUESTION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)^(?:so\s+|and\s+|but\s+|ok(?:ay)?,?\s+|hm+,?\s+)?(?:can|could|would|will|should|shall|do|does|did|is|are|was|were|have|has|what|why|how|when|where|which|who|whose)\s+(?:you|we|i|it|this|that|the|there|they|a|an|my|our|your|is|are|does|do|about|if|would|should|can)\b",
    )
    .expect("a valid pattern")
});

/// Words that point at something outside the sentence, where its subject or object should be.
static POINTER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)^(?:it|these|those|they|their|its|there|here)\b|^(?:aynı\s+(?:sebeple|nedenle|şekilde)|bu\s+(?:yüzden|nedenle|sebeple)|bunlar|böylece|ayrıca)\b|^(?:this|that)(?:['’]s|\s+(?:is|was|should|must|will|has|had|looks?|works?|fails?|would|can|could|may|makes?|means|needs?|breaks?|also|then|just|still|now))\b
        |\b(?:use|do|make|keep|put|add|remove|change|run|fix|try|show|move|call|name|like|want|prefer|need|mean|delete|commit|push|write|see|include|update|do\s+not|don(?:'|’)t)\s+(?:it|this|that|these|those|them|so|here|there|anything|something|everything|one|both)\b
        |\b(?:like|as)\s+(?:this|that)\b|\b(?:this|that|the\s+other)\s+one\b|\b(?:it|this|that)\s*[.!]?$",
    )
    .expect("a valid pattern")
});

static HEDGE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)\b(?:might|maybe|perhaps|probably|possibly|could|would|seems?|seemed|appears?|likely|i\s+(?:think|guess|believe|suspect|assume|wonder)|not\s+sure|unclear|if\s+(?:you|we|i|it|that)|i(?:'|’)(?:ll|m|d|ve)|you\s+(?:asked|want|said|mentioned)|i\s+(?:will|can|should|need|want|am\s+going)|let\s+me|let(?:'|’)?s|we(?:'|’)?ll|we\s+(?:can|should|need|will)|now\s+i|wait|hmm|good|great|perfect|excellent|done|you(?:'|’)re\s+right)\b",
    )
    .expect("a valid pattern")
});

/// Whether a sentence of the person can stand for itself, later and elsewhere.
pub(super) fn stands_alone(sentence: &str) -> bool {
    has_substance(sentence) && lasts(sentence) && !POINTER.is_match(sentence)
}

/// Whether a sentence tells something, and not only of this moment or this one thing.
pub(super) fn lasts(sentence: &str) -> bool {
    !is_question(sentence) && !MOMENT.is_match(sentence) && !is_one_off(sentence)
}

/// Whether a sentence of the agent states something, rather than planning, guessing or chatting.
pub(super) fn is_asserted(sentence: &str) -> bool {
    stands_alone(sentence) && !HEDGE.is_match(sentence)
}

/// Whether a sentence tells how something went, or is still not understood.
pub(super) fn is_past(sentence: &str) -> bool {
    static PAST: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)\b(?:was|were|failed|fails|crashed|crashes|broke|broken|green|red|not\s+sure|no\s+idea|again\s+please|again[.!]?$|faster|slower)\b")
            .expect("a valid pattern")
    });
    PAST.is_match(sentence)
}

/// Whether a text names something that holds only once: a temporary or personal path, a hash, a ticket, a line.
pub(super) fn is_one_off(text: &str) -> bool {
    ONE_OFF.is_match(text) || text.split(|c: char| !c.is_ascii_alphanumeric()).any(is_hash)
}

/// Seven to forty hexadecimal digits with both numbers and letters among them.
fn is_hash(word: &str) -> bool {
    (7..=40).contains(&word.len())
        && word.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        && word.bytes().any(|b| b.is_ascii_digit())
        && word.bytes().any(|b| b.is_ascii_lowercase())
}

/// Asks rather than tells.
pub(super) fn is_question(sentence: &str) -> bool {
    sentence.trim_end().ends_with(['?', '？']) || QUESTION.is_match(sentence)
}

static POLITE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^\W*(?:(?:so|and|but|also|please|ok(?:ay)?)\W+)*(?:can|could|will|would)\s+you\s+(?:please\s+)?(?:\w+ly\s+|always\s+|never\s+|also\s+)*(?:add|avoid|call|change|commit|do|keep|make|move|name|not|prefer|put|remove|rename|replace|run|stop|store|test|update|use|write)\b")
        .expect("a valid pattern")
});

/// Ends as a question, and is no order in the form of one.
pub(super) fn asks(sentence: &str) -> bool {
    let ends = sentence.trim_end().trim_end_matches(['"', '\'', ')', '*', '`', '」']).ends_with(['?', '？']);
    ends && !POLITE.is_match(sentence)
}

/// Long enough to say something, short enough to be one statement, and words rather than code.
pub(super) fn has_substance(sentence: &str) -> bool {
    let chars = sentence.chars().count();
    let cjk = sentence.chars().filter(|c| is_cjk(*c)).count();
    if cjk >= MIN_CJK {
        return chars <= *LENGTH.end() && !looks_like_code(sentence);
    }
    LENGTH.contains(&chars) && sentence.split_whitespace().count() >= MIN_WORDS && !looks_like_code(sentence)
}

fn looks_like_code(sentence: &str) -> bool {
    let mut in_ticks = false;
    let (mut symbols, mut all) = (0_usize, 0_usize);
    for c in sentence.chars() {
        match c {
            '`' => in_ticks = !in_ticks,
            _ if in_ticks || c.is_whitespace() => {}
            '{' | '}' | ';' | '=' | '<' | '>' | '|' | '\\' | '$' | '[' | ']' | '(' | ')' | '#' | '*'
            | '_' | '~' | '^' | '&' | '%' | '@' => {
                symbols += 1;
                all += 1;
            }
            _ => all += 1,
        }
    }
    sentence.trim_end().ends_with(['{', ';', '}', '\\']) || symbols * 10 > all.max(1)
}
