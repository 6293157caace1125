//! Whether a detail that differs is the new value of one thing, or speaks of another thing: a service has one port, while
//! as many folders as one likes can be forbidden.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use crate::text::regex;

/// A sentence that forbids.
static FORBIDS: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)\b(?:never|do\s+not|don['’]t|must\s*n[o'’]t|should\s*n[o'’]t|cannot|can['’]t|avoid|nie(?:mals)?|nicht|kein\w*|jamais|nunca|никогда|нельзя)\b|",
        r"禁止|严禁|切勿|请勿|不要|不能|不得|不可|不许|不准|别|勿|(?:ない|ません)で|てはいけ|ではいけ|지\s?마|면\s?안|금지"
    ))
});

/// A sentence that demands.
static DEMANDS: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(?i)\b(?:always|must|immer|toujours|siempre|всегда)\b|总是|始终|必须|务必|必ず|常に|항상|반드시")
});

/// A sentence that permits.
static PERMITS: LazyLock<Regex> = LazyLock::new(|| regex(r"(?i)\b(?:can|may|could)\s+\p{L}|可以"));

/// It says that something has changed.
static NEWS: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)\b(?:now|from\s+now\s+on|any\s?more|no\s+longer|instead|ab\s+jetzt|ab\s+sofort|jetzt|nicht\s+mehr|désormais|ahora)\b|",
        r"现在|改为|改成|改用|从现在|以后|不再|今は|これから|今後|이제|앞으로"
    ))
});

/// Words of a sentence that gives one thing one value, in their stems.
const OF_ONE_VALUE: &[&str] = &[
    "use", "set", "keep", "pin", "own", "liv", "listen", "answer", "host", "maintain", "default", "call",
    "nam", "bind", "limit", "is", "are",
];

/// Of these the one who does it is the value: a service has one owner, and an owner many services.
const OF_ONE_DOER: &[&str] = &["own", "maintain"];

/// Whether the word at these places, the only one that differs, is what the sentence gives its subject as a value: `use X`
/// after `use Y`, and not `the web app uses X` after `the mobile app uses X`.
pub(super) fn is_new_value(older: &[String], newer: &[String], (old_at, new_at): (usize, usize)) -> bool {
    let is_value = |words: &[String], at: usize| {
        let verb = words.iter().position(|word| OF_ONE_VALUE.contains(&word.as_str()));
        verb.is_some_and(
            |verb| if OF_ONE_DOER.contains(&words[verb].as_str()) { at < verb } else { at > verb },
        )
    };
    is_value(older, old_at) && is_value(newer, new_at)
}

/// A number with what it counts or measures: `30 seconds`, `10MB`, `80 percent`, `50%`; not `port 3000 for tests`.
static MEASURED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)(\d[\d.,]*)(?:\s?%|\s?-?([a-z]+)|\s?(?:毫?秒|分钟?|小时|天|周|个|次|人|件|行|つ|ミリ秒|時間|日|回|칸|초|분|시간|일|개|번))",
    )
});
/// What follows a number and counts nothing.
const NO_UNIT: &[&str] = &[
    "for", "in", "on", "at", "to", "from", "now", "locally", "instead", "of", "and", "or", "with", "by",
    "as", "when", "if", "unless", "before", "after", "during", "is", "are", "has", "per", "until", "because",
    "since", "the",
];

/// Whether a word behind a number measures.
pub(super) fn is_unit(word: &str) -> bool {
    !NO_UNIT.contains(&word)
}

/// Words that are not part of a claim: its reason.
static REASON: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i),?\s(?:because|since|so\s+that|weil|da|damit)\s|因为|，以便|からです"));

/// A text without the reason it gives.
pub(super) fn claim(text: &str) -> &str {
    REASON.find(text).filter(|found| found.start() > 0).map_or(text, |found| &text[..found.start()])
}

/// Whether a text forbids.
pub(super) fn forbids(text: &str) -> bool {
    FORBIDS.is_match(text)
}

/// How a sentence puts what it says.
#[derive(Debug, Clone, Default)]
pub(super) struct Stance {
    forbids: bool,
    demands: bool,
    permits: bool,
    /// It says that something has changed.
    pub(super) is_news: bool,
    /// It gives one thing one value.
    has_one_value: bool,
    /// Numbers that count or measure.
    measured: BTreeSet<String>,
}

impl Stance {
    /// `words` are the stems of the text.
    pub(super) fn of(text: &str, words: &[String]) -> Self {
        let counts = |unit: Option<regex::Match<'_>>| {
            unit.is_none_or(|unit| !NO_UNIT.contains(&unit.as_str().to_lowercase().as_str()))
        };
        let measured = MEASURED.captures_iter(text).filter(|found| counts(found.get(2)));
        Self {
            forbids: FORBIDS.is_match(text),
            demands: DEMANDS.is_match(text),
            permits: PERMITS.is_match(text),
            is_news: NEWS.is_match(text),
            has_one_value: words.iter().any(|word| OF_ONE_VALUE.contains(&word.as_str())),
            measured: measured.map(|found| found[1].trim_end_matches(['.', ',']).to_owned()).collect(),
        }
    }

    /// Whether one thing has one value in both.
    pub(super) fn is_single(&self, newer: &Self) -> bool {
        self.has_one_value && newer.has_one_value
    }

    /// Whether rules of this sort stand beside each other when their numbers differ by these.
    pub(super) fn allows_both(&self, newer: &Self, mut numbers: impl Iterator<Item = String>) -> bool {
        if self.permits != newer.permits {
            return true;
        }
        if !self.allows_both_places(newer) {
            return false;
        }
        let is_measured = |number: &String| self.measured.contains(number) || newer.measured.contains(number);
        let may_change = !newer.forbids && self.is_single(newer);
        !may_change && !numbers.all(|number| is_measured(&number))
    }

    /// The same of identifiers and paths.
    pub(super) fn allows_both_places(&self, newer: &Self) -> bool {
        let is_rule = |stance: &Self| stance.forbids || stance.demands;
        is_rule(self) && is_rule(newer)
    }
}
