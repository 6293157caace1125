//! Whether two texts that share most of their words say the same: which words each has alone, and in which order the
//! common ones stand.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization;

use crate::text::is_unspaced;

/// How the wordings of two texts differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Difference {
    /// At most one of them has content words that the other has not, and the common ones stand in a like order.
    None,
    /// One word is replaced by its opposite or rival (`enable` by `disable`), all else is common.
    Opposite,
    /// Each has a content word of its own, or words have changed places.
    Other,
}

/// The words of a text in their order, inflections and a few synonyms made alike. Unlike the S0.27 set it has short
/// words, too: `eu` and `us`, `ui`, `go`. Scripts without spaces give single characters.
#[derive(Debug, Clone)]
pub(super) struct Wording {
    words: Vec<String>,
    /// Those that carry meaning, as hashes in order.
    content: Box<[u64]>,
    /// Some of them contradict others when said of the same thing.
    has_rivals: bool,
}

impl Wording {
    pub(super) fn of(text: &str) -> Self {
        let raw = words_of(text);
        let words: Vec<String> = (0..raw.len()).map(|at| canonical(&raw, at).to_owned()).collect();
        let has_rivals = words.iter().any(|word| RIVAL_STEMS.contains(word.as_str()));
        let content: BTreeSet<String> =
            words.iter().filter(|word| !is_function_word(word)).cloned().collect();
        Self { content: super::hashes(&content), words, has_rivals }
    }

    /// Its words, as they are compared.
    pub(super) fn words(&self) -> &[String] {
        &self.words
    }

    /// The words that can tell one thing from another: all but articles, auxiliaries and what only stresses.
    pub(super) fn telling_words(&self) -> BTreeSet<String> {
        let is_soft = |word: &str| SOFT.contains(word) || is_hiragana(word);
        self.words.iter().filter(|word| !is_soft(word)).cloned().collect()
    }

    /// The places of the one word that carries meaning and differs, where all else is common.
    pub(super) fn replaced_one(&self, newer: &Self) -> Option<(usize, usize)> {
        let own = |a: &Self, b: &Self| {
            let common: BTreeSet<&String> = b.words.iter().collect();
            let is_own = |word: &String| !is_function_word(word) && !common.contains(word);
            let mut places = a.words.iter().enumerate().filter(|(_, word)| is_own(word)).map(|(at, _)| at);
            places.next().filter(|_| places.next().is_none())
        };
        (self.words.len() > 2).then(|| own(self, newer).zip(own(newer, self))).flatten()
    }

    /// What it is about, without the words that carry it and those that only say how much or under which condition.
    pub(super) fn content_words(&self) -> impl Iterator<Item = String> {
        let is_frame = |word: &str| matches!(word, "all" | "any" | "unless" | "during" | "except" | "under");
        self.words.iter().filter(move |word| !is_function_word(word) && !is_frame(word)).cloned()
    }

    /// The words that carry meaning, as hashes in order.
    pub(super) fn content(&self) -> &[u64] {
        &self.content
    }

    /// Whether one could contradict the other by a single word.
    pub(super) fn may_oppose(&self, other: &Self) -> bool {
        self.has_rivals && other.has_rivals
    }

    /// Whether most of the content words of both are common: `before committing` and `before you commit` have the same.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        !self.content.is_empty() && super::is_alike(&self.content, &other.content)
    }

    /// How the two differ; the same whichever is asked.
    pub(super) fn difference(&self, other: &Self) -> Difference {
        let has_own =
            |a: &Self, b: &Self| a.content.iter().any(|word| b.content.binary_search(word).is_err());
        if !self.may_oppose(other) && has_own(self, other) && has_own(other, self) {
            return Difference::Other;
        }
        let mut places: BTreeMap<&str, VecDeque<usize>> = BTreeMap::new();
        for (at, word) in other.words.iter().enumerate() {
            places.entry(word).or_default().push_back(at);
        }
        // Counted: "the migration notes of a release" lacks one of the two that "the release notes of a release" has.
        let mut mine = BTreeSet::new();
        // For each common word, in our order, its place in the other text.
        let mut order = Vec::new();
        for word in &self.words {
            match places.get_mut(word.as_str()).and_then(VecDeque::pop_front) {
                Some(place) => order.push(place),
                None => drop(mine.insert(word.as_str())),
            }
        }
        let left = places.into_iter().filter(|(_, places)| !places.is_empty());
        let theirs: BTreeSet<&str> = left.map(|(word, _)| word).collect();
        let is_said_again = |all: &[String], word: &&&str| all.iter().any(|one| one == **word);
        let apart = |groups| mine.iter().any(|a| theirs.iter().any(|b| are_apart(groups, a, b)));
        let says_more = |word: &&&str| !is_function_word(word) && !HARMLESS_STEMS.contains(**word);
        let only_mine =
            mine.iter().filter(says_more).filter(|word| !is_said_again(&other.words, word)).count();
        let only_theirs =
            theirs.iter().filter(says_more).filter(|word| !is_said_again(&self.words, word)).count();
        if is_reversed(&order) || is_swapped(&self.words, &other.words) || apart(DIRECTIONS) {
            return Difference::Other;
        }
        match (only_mine, only_theirs) {
            (1, 1) if order.len() > 1 && apart(RIVALS) => Difference::Opposite,
            (0, 0) => Difference::None,
            _ => Difference::Other,
        }
    }
}

/// Whether two have changed places round a third (`auth from ui`, `ui from auth`). A clause that moved as a whole
/// (`before committing run the linter`) has not.
fn is_reversed(places: &[usize]) -> bool {
    let mut least_behind = vec![usize::MAX; places.len() + 1];
    for (at, place) in places.iter().enumerate().rev() {
        least_behind[at] = least_behind[at + 1].min(*place);
    }
    let mut most_before = 0;
    places.iter().zip(least_behind.iter().skip(1)).any(|(place, behind)| {
        let reversed = most_before > *place && place > behind;
        most_before = most_before.max(*place);
        reversed
    })
}

/// Whether two neighbours have changed places and all else stands as it stood (`lat, lng`, `lng, lat`).
fn is_swapped(a: &[String], b: &[String]) -> bool {
    let Some(at) = a.iter().zip(b).position(|(x, y)| x != y).filter(|_| a.len() == b.len()) else {
        return false;
    };
    let same = |from: usize| a[from..] == b[from..];
    a.get(at + 1).is_some_and(|next| *next == b[at] && a[at] == b[at + 1] && same(at + 2))
}

/// The words of a text as they stand, in lower case.
pub(super) fn words_of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut take = |word: &mut String| {
        if !word.is_empty() {
            words.push(std::mem::take(word));
        }
    };
    for c in text.nfkc().flat_map(char::to_lowercase) {
        if is_unspaced(c) {
            take(&mut word);
            word.push(c);
            take(&mut word);
        } else if c.is_alphanumeric()
            || unicode_normalization::char::is_combining_mark(c)
            || (matches!(c, '+' | '#') && !word.is_empty())
        {
            word.push(c);
        } else if !matches!(c, '\'' | '’' | '‘' | 'ʼ' | '\u{200c}' | '\u{200d}' | '\u{ad}') {
            take(&mut word);
        }
    }
    take(&mut word);
    words
}

/// A word as it is compared. What tells which thing is meant keeps its form: the `routing module` is not the
/// `routes module`, while `before committing` is `before you commit`.
fn canonical(raw: &[String], at: usize) -> &str {
    let word = raw[at].as_str();
    let is_ing = word.ends_with("ing");
    let is_form = is_ing || word.ends_with("ed");
    let before = at.checked_sub(1).and_then(|at| raw.get(at)).map(String::as_str);
    let is_verb =
        before.is_none_or(|before| BEFORE_ED.contains(&before) || is_ing && BEFORE_ING.contains(&before));
    let is_followed = raw.get(at + 1).is_some_and(|next| !is_function_word(stem(next)));
    if is_form && !is_verb && is_followed { word } else { alike(word) }
}

/// An English word without its inflection, so that `commits`, `committed` and `committing` are one.
fn stem(word: &str) -> &str {
    if !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return word;
    }
    let is_word = |stem: &&str| stem.len() >= 3 && stem.contains(['a', 'e', 'i', 'o', 'u', 'y']);
    let cut = ["ing", "ed", "es"]
        .iter()
        .find_map(|end| word.strip_suffix(end).filter(is_word))
        .or_else(|| word.strip_suffix('s').filter(|stem| is_word(stem) && !stem.ends_with('s')))
        .unwrap_or(word);
    let is_doubled = cut.len() < word.len()
        && matches!(cut.as_bytes(), [_, _, .., a, b] if a == b && !matches!(b, b's' | b'l' | b'e' | b'o'));
    let cut = if is_doubled { &cut[..cut.len() - 1] } else { cut };
    cut.strip_suffix('e').filter(is_word).unwrap_or(cut)
}

/// A word as it is compared with others: without its inflection, and by the first of its synonyms.
pub(super) fn alike(word: &str) -> &str {
    known_as(stem(word))
}

/// Words of one meaning; the first stands for all.
const SYNONYMS: &[&[&str]] = &[
    &["prefer", "like", "want", "favor", "favour"],
    &["use", "using", "used", "utilize", "employ"],
    &["run", "execute"],
    &["remove", "delete"],
    &["need", "require"],
    &["all", "every", "each"],
    &["whole", "full", "entire", "complete"],
    &["database", "db"],
    &["repository", "repositories", "repo"],
    &["project", "codebase"],
    &["config", "configuration"],
    &["folder", "directory", "directories", "dir"],
    &["app", "application"],
    &["dev", "development"],
    &["prod", "production"],
    &["env", "environment"],
    &["docs", "documentation"],
    &["color", "colour"],
    &["dependency", "dependencies", "deps"],
    &["start", "begin", "launch"],
    &["fix", "correct", "repair"],
    &["directly", "straight"],
    &["if", "when", "whenever"],
];

/// Words of which one contradicts the other when said of the same thing.
const RIVALS: &[&[&str]] = &[
    &["enable", "disable"],
    &["allow", "permit", "forbid", "deny", "prohibit"],
    &["add", "remove"],
    &["include", "exclude", "omit"],
    &["show", "hide"],
    &["accept", "reject"],
    &["keep", "remove", "drop"],
    &["use", "avoid", "remove", "drop"],
    &["tabs", "spaces"],
    &["single", "double"],
    &["light", "dark"],
    &["true", "false"],
    &["optional", "mandatory", "required"],
    &["merge", "rebase", "squash"],
    &["npm", "pnpm", "yarn", "bun"],
];

static RIVAL_STEMS: LazyLock<BTreeSet<&str>> =
    LazyLock::new(|| RIVALS.iter().flat_map(|group| group.iter()).map(|word| known_as(stem(word))).collect());

/// Words that qualify nothing.
const HARMLESS: &[&str] = &[
    "whole",
    "all",
    "any",
    "own",
    "same",
    "actual",
    "actually",
    "properly",
    "project",
    "repository",
    "user",
    "team",
    "code",
];

static HARMLESS_STEMS: LazyLock<BTreeSet<&str>> =
    LazyLock::new(|| HARMLESS.iter().flat_map(|word| [*word, alike(word)]).collect());

/// Words in front of a verb that ends in `-ed`, and those in front of one that ends in `-ing`.
const BEFORE_ED: &[&str] = &[
    "is", "are", "be", "was", "were", "been", "not", "never", "always", "we", "i", "you", "they", "it",
    "has", "have", "had",
];
const BEFORE_ING: &[&str] = &[
    "before", "after", "when", "while", "without", "by", "for", "to", "then", "start", "stop", "keep",
    "avoid", "skip", "from", "of", "and", "or", "on", "in",
];

/// Words that can stand or fall without another thing being meant.
static SOFT: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    "a an the this that these those it its is are was were be been being am do does did will shall have has had so \
     also and please we i you our always must should just only still ever very really at as der die das den dem ein eine \
     einen jetzt nun bitte 的 了 是 在 着 就 也 在"
        .split_whitespace()
        .flat_map(|word| [word, stem(word)])
        .collect()
});

/// Function words of which one turns round what the other says.
const DIRECTIONS: &[&[&str]] = &[
    &["from", "to", "into"],
    &["on", "off"],
    &["with", "without"],
    &["before", "after"],
    &["over", "under"],
    &["in", "out"],
    // Who is meant.
    &["my", "your"],
    &["my", "their"],
    &["our", "their"],
    &["our", "your"],
    &["and", "or"],
    &["by", "to", "for"],
    &["here", "there"],
    &["he", "she"],
    &["him", "her"],
    &["his", "her"],
];

/// Words that carry a sentence and are not what it is about, in a few languages. Negations are compared elsewhere.
const FUNCTION_WORDS: &str = "a an the and or but so that this these those it its is are was were be been being am \
    has have had do does did done will would shall should can could may might must not no never dont cannot cant \
    doesnt of in on at by to for from with into onto over as than then instead rather via through per when whenever \
    while where which who what if because since there here i you we our your my their they he she his her also just \
    now currently still already please bitte kindly simply there always only very really ever any ensure sure remember note before after \
    der die das den dem des ein eine einen einem einer und le la les un une el los las del на в и \
    的 了 是 在 要 把 和 与 就 也 来 很 都 应 该 请 会 被 对 于 为 以 而 这 那 个 须 必 务 总 始 终 絶 対 \
    은 는 이 가 을 를 의 에 서 로 와 과 도 만 합 니 다 한 하";

static FUNCTION: LazyLock<BTreeSet<&str>> =
    LazyLock::new(|| FUNCTION_WORDS.split_whitespace().map(stem).collect());

static KNOWN_AS: LazyLock<BTreeMap<&str, &str>> = LazyLock::new(|| {
    let pairs = |class: &'static [&'static str]| class.iter().map(|word| (stem(word), stem(class[0])));
    SYNONYMS.iter().flat_map(|class| pairs(class)).collect()
});

fn known_as(stem: &str) -> &str {
    KNOWN_AS.get(stem).copied().unwrap_or(stem)
}

/// Whether some group of `groups` holds both words, which differ.
fn are_apart(groups: &[&[&str]], a: &str, b: &str) -> bool {
    let holds = |group: &[&str], word: &str| group.iter().any(|one| known_as(stem(one)) == word);
    a != b && groups.iter().any(|group| holds(group, a) && holds(group, b))
}

/// Hiragana are particles and endings; numbers and versions are compared elsewhere, without their `v`.
pub(super) fn is_function_word(word: &str) -> bool {
    FUNCTION.contains(word) || word.bytes().any(|b| b.is_ascii_digit()) || is_hiragana(word)
}

fn is_hiragana(word: &str) -> bool {
    word.chars().all(|c| matches!(c, '\u{3040}'..='\u{309f}'))
}
