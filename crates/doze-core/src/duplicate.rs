//! When two memories say the same, and when one replaces the other (S0.27–S0.28, `R5`).

mod wording;

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

use regex::Regex;

pub use crate::text::jaccard;
use crate::text::{is_unspaced, normalise_words, one_line, regex};
use wording::{Difference, Wording};

/// Above this share of common words two texts are the same (strictly, S0.28).
pub const SAME_ABOVE: f64 = 0.6;

/// S0.28 alone, without the guard of [`relation`].
pub fn is_duplicate(a: &str, b: &str) -> bool {
    jaccard(&normalise_words(a), &normalise_words(b)) > SAME_ABOVE
}

/// The words that a text turns down: what follows "not", "never" or "instead of".
pub fn denied(text: &str) -> BTreeSet<String> {
    let orders = ["before ", "after "];
    let (polarity, _) = polarity(&one_line(text));
    let denied = polarity.iter().filter(|item| !orders.iter().any(|order| item.starts_with(order)));
    denied.flat_map(|item| normalise_words(item.split_once(' ').map_or("", |(_, what)| what))).collect()
}

/// Whether a word of a word set says nothing by itself.
pub fn is_filler(word: &str) -> bool {
    FILLERS.contains(&word)
}

/// How a newer text stands to an older one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// They say the same: reinforce the older.
    Duplicate,
    /// About the same thing, something else: the newer supersedes the older.
    Update,
    /// Both stand.
    Distinct,
}

/// A text taken apart for comparison; worth keeping when one text is compared with many.
#[derive(Debug, Clone)]
pub struct Parts {
    words: BTreeSet<String>,
    /// The same as hashes in order, by which most pairs of texts are told apart without looking at a letter.
    word_hashes: Box<[u64]>,
    frame_hashes: Box<[u64]>,
    wording: Wording,
    /// The words left when details, polarity and fillers are taken out: what the text is about.
    frame: BTreeSet<String>,
    numbers: BTreeSet<String>,
    /// Identifiers and paths.
    identifiers: BTreeSet<String>,
    /// Words that name things, see [`names`].
    names: BTreeSet<String>,
    /// What is negated, passed over, ordered or compared, with how: `not push`, `before commit`, `compared <=`.
    polarity: BTreeSet<String>,
    /// The values that "not X", "instead of X" turn down.
    turned_down: BTreeSet<String>,
    /// Numbers that name a thing (`issue 12`, `worker 2`) and do not measure one, with the word before them.
    numbered: BTreeSet<String>,
    /// The number or identifier in what the sentence speaks of, where it says another one of that: `Stage 2` of
    /// `Stage 2 takes 30 minutes`.
    subject: Option<String>,
    /// Whether the identifiers stand where a sentence puts a value (`lives in X`), not what it is about.
    identifiers_last: bool,
    /// What the conditions under which it holds are about.
    conditions: BTreeSet<String>,
    /// What it leaves out: `without Dana`, `unless`, `except`.
    exceptions: BTreeSet<String>,
}

impl Parts {
    /// Takes a text apart. Linear in its length.
    pub fn of(text: &str) -> Self {
        let text = one_line(text);
        let mut numbers = BTreeSet::new();
        let mut identifiers = BTreeSet::new();
        let mut plain = String::with_capacity(text.len());
        let mut at = 0;
        for token in DETAIL.find_iter(&text) {
            let word = token.as_str().trim_end_matches(['.', ',', ':', ';', '?', '!', ')', '`']);
            match detail(word) {
                Some(Detail::Number(number)) => drop(numbers.insert(number)),
                Some(Detail::Identifier(identifier)) => drop(identifiers.insert(identifier)),
                None => continue,
            }
            plain.push_str(&text[at..token.start()]);
            plain.push(' ');
            at = token.start() + word.len();
        }
        plain.push_str(&text[at..]);
        let subject = (numbers.len() + identifiers.len() > 1).then(|| subject(&text)).flatten();
        let (polarity, turned_down) = polarity(&text);
        let polarity: BTreeSet<String> = polarity.iter().map(|item| as_is_known(item)).collect();
        let frame = POLAR.replace_all(&plain.to_lowercase(), " ").into_owned();
        let frame: BTreeSet<String> = normalise_words(&frame)
            .into_iter()
            .filter(|word| !FILLERS.contains(&word.as_str()))
            .map(|word| without_plural(&word).to_owned())
            .collect();
        let words = normalise_words(&text);
        // "Server A", "plan B": a letter of its own is a name.
        let letters =
            text.split_whitespace().skip(1).map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
        let letters =
            letters.filter(|word| word.len() == 1 && *word != "I" && word.starts_with(char::is_uppercase));
        identifiers.extend(letters.map(str::to_owned));
        Self {
            word_hashes: hashes(&words),
            frame_hashes: hashes(&frame),
            words,
            wording: Wording::of(&text),
            frame,
            numbers,
            identifiers,
            names: names(&text),
            polarity,
            turned_down,
            numbered: NAMING_NUMBER
                .find_iter(&text)
                .map(|found| one_line(found.as_str()).to_lowercase())
                .collect(),
            subject,
            identifiers_last: VALUE_PLACE.is_match(&text),
            conditions: content_of(&CONDITION, &text),
            exceptions: content_of(&EXCEPTION, &text),
        }
    }

    /// The S0.27 word set as hashes, in order.
    pub fn word_hashes(&self) -> &[u64] {
        &self.word_hashes
    }

    /// What the words mean, inflections and synonyms made alike, as hashes in order: without the words that only carry a
    /// sentence.
    pub fn meaning_hashes(&self) -> &[u64] {
        self.wording.content()
    }

    /// S0.28: whether the two have more than [`SAME_ABOVE`] of their words in common.
    pub fn has_words_of(&self, other: &Self) -> bool {
        is_alike(&self.word_hashes, &other.word_hashes)
    }

    /// The S0.27 word set.
    pub fn words(&self) -> &BTreeSet<String> {
        &self.words
    }

    /// How `newer` stands to `self`.
    ///
    /// - Duplicate: more than 0.6 of the words in common, as they stand or without their inflection, and no number, version, negation, identifier, path or name
    ///   that differs. One may have content words more than the other; where each has one of its own, or common ones
    ///   have changed places, a detail differs.
    /// - Update: what is left without those is the same wording, and what differs is a measured number or version, a
    ///   negation, or an identifier or path in the place of a value; or the newer turns down the older's choice
    ///   ("use pnpm, not npm" after "use npm"); or one word is replaced by what contradicts it (`enable` by `disable`).
    ///   Names never make an update: two things can both be true of two
    ///   names.
    /// - Distinct: all else. In doubt both stand.
    pub fn relation_to(&self, newer: &Self) -> Relation {
        // None of the rules below can hold.
        if !self.has_words_of(newer)
            && !is_alike(&self.frame_hashes, &newer.frame_hashes)
            && newer.turned_down.is_empty()
            && !self.wording.may_oppose(&newer.wording)
            && !self.wording.is_like(&newer.wording)
        {
            return Relation::Distinct;
        }
        // "Never on Fridays" and "never" both stand.
        if conditions_differ(&self.conditions, &newer.conditions) || self.exceptions != newer.exceptions {
            return Relation::Distinct;
        }
        let identifiers_differ = self.identifiers != newer.identifiers;
        let numbers_differ = self.numbers != newer.numbers;
        let polarity_differs = self.polarity != newer.polarity;
        let names_differ = self.names_differ(newer);
        if !(identifiers_differ || numbers_differ || polarity_differs || names_differ) {
            return match self.wording.difference(&newer.wording) {
                Difference::Opposite => Relation::Update,
                Difference::None if self.has_words_of(newer) || self.wording.is_like(&newer.wording) => {
                    Relation::Duplicate
                }
                Difference::None | Difference::Other => Relation::Distinct,
            };
        }
        if newer.turns_down(self) {
            return Relation::Update;
        }
        let loses_detail =
            newer.numbers.len() < self.numbers.len() || newer.identifiers.len() < self.identifiers.len();
        let names_a_thing = self.numbered != newer.numbered || self.subject != newer.subject;
        let subject_differs = identifiers_differ && !(self.identifiers_last && newer.identifiers_last);
        // A text that only lost its "before X" is a torn line, not a new statement.
        let is_order = |item: &String| item.starts_with("before") || item.starts_with("after");
        let loses_order = self.polarity.iter().any(is_order) && !newer.polarity.iter().any(is_order);
        let reordered = polarity_differs && self.words == newer.words && self.turned_down.is_empty();
        if names_differ
            || loses_detail
            || loses_order
            || names_a_thing
            || subject_differs
            || reordered
            || !self.same_frame(newer)
        {
            return Relation::Distinct;
        }
        Relation::Update
    }

    fn same_frame(&self, newer: &Self) -> bool {
        let one_sided = self.frame.is_subset(&newer.frame) || newer.frame.is_subset(&self.frame);
        !self.frame.is_empty() && one_sided && jaccard(&self.frame, &newer.frame) > SAME_ABOVE
    }

    /// Names on both sides that the other does not mention at all.
    fn names_differ(&self, newer: &Self) -> bool {
        let only = |a: &Self, b: &Self| {
            a.names.iter().any(|name| !b.words.contains(name) && !b.names.contains(name))
        };
        only(self, newer) && only(newer, self)
    }

    /// The newer says "X, not Y" and the older said Y about the same.
    fn turns_down(&self, older: &Self) -> bool {
        let Some(chosen_against) = self
            .turned_down
            .iter()
            .find(|word| older.words.contains(*word) && !older.turned_down.contains(*word))
        else {
            return false;
        };
        let rest = |parts: &Self| -> BTreeSet<String> {
            parts.frame.iter().filter(|word| *word != chosen_against).cloned().collect()
        };
        let (old, new) = (rest(older), rest(self));
        // The chosen value is the one word more that the newer may have.
        let shared = old.intersection(&new).count();
        let both_sides = !older.turned_down.is_empty();
        old.len() - shared <= usize::from(both_sides) && new.len() - shared <= 2 && (shared > 0 || both_sides)
    }
}

/// An item of [`polarity`] with its word as it is compared: `before committing` and `before commit` order the same.
fn as_is_known(item: &str) -> String {
    let (class, what) = item.split_once(' ').unwrap_or((item, ""));
    format!("{class} {}", wording::alike(what))
}

/// How `newer` stands to `older`, see [`Parts::relation_to`].
pub fn relation(older: &str, newer: &str) -> Relation {
    Parts::of(older).relation_to(&Parts::of(newer))
}

fn hashes(words: &BTreeSet<String>) -> Box<[u64]> {
    let hash = |word: &String| {
        let mut hasher = DefaultHasher::new();
        word.hash(&mut hasher);
        hasher.finish()
    };
    let mut hashes: Vec<u64> = words.iter().map(hash).collect();
    hashes.sort_unstable();
    hashes.into()
}

/// [`jaccard`] above [`SAME_ABOVE`], of sets that are hashes in order; two empty ones are the same. Most pairs are told
/// apart by their first words: as soon as too few can be common, the rest is not looked at.
pub fn is_alike(a: &[u64], b: &[u64]) -> bool {
    if a.is_empty() && b.is_empty() {
        return true;
    }
    // Common words above three fifths of all are above three eighths of both sets together.
    let needed = 3 * (a.len() + b.len()) / 8 + 1;
    let Some(mut spare) = a.len().checked_sub(needed) else { return false };
    if b.len() < needed {
        return false;
    }
    let mut at = 0;
    for word in a {
        while at < b.len() && b[at] < *word {
            at += 1;
        }
        if b.get(at) == Some(word) {
            continue;
        }
        let Some(left) = spare.checked_sub(1) else { return false };
        spare = left;
    }
    true
}

enum Detail {
    Number(String),
    Identifier(String),
}

/// Runs that may be a number, a version, an identifier or a path.
static DETAIL: LazyLock<Regex> = LazyLock::new(|| regex(r"(?-u:[A-Za-z0-9_$@~./\\#%*:+-]+)"));

/// A number names a thing: `#12`, `issue 12`, `worker 2`.
static NAMING_NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)#\d+|\b(?:issue|pr|bug|ticket|step|phase|stage|chapter|line|error|task|round|milestone|rfc|cve|pull request|",
        r"exit code|status|worker|server|shard|replica|instance|agent|player|level|partition|slot|channel|thread|gpu|pod|",
        r"cluster|zone|tier|sprint|host|machine|team|group|row|column|scene|variant|option)\s+#?\d+"
    ))
});

/// The beginning of a sentence up to a number or an identifier behind one or two words, or a few characters of a script
/// without spaces.
static SUBJECT: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)^(?:(?:the|a|an|our|this|my)\s+)?([\p{L}-]+)(?:\s+[\p{L}-]+)?\s+[#`]?([a-z_-]*\d[\w.-]*)\b|",
        r"^(\p{Han}{1,8})\s*(\d+)"
    ))
});

/// Words of an order: what follows them is what to do, not what is spoken of.
const ORDERS: &[&str] = &[
    "use", "run", "set", "install", "upgrade", "update", "require", "requires", "needs", "need", "pin",
    "keep", "wait", "allow", "limit", "uses", "using", "retry", "add", "bump", "target", "support",
    "supports", "port",
];

/// `The v2 API …`: a version that tells which of several things is spoken of.
static VERSION_FIRST: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)^(?:(?:the|a|an|our|this|my)\s+)(v\d[\w.]*)\s+\p{L}"));

/// Under which condition a rule holds: it says less than the same rule without it.
static CONDITION: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)\b(?:(?:on|in|under|at)\s+(?:the\s+|a\s+)?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekends?|holidays?|windows|linux|macos|mac|arm|ci|",
        r"tests?|testing|prod|production|staging|dev|development|debug|release)|",
        r"dev|development|staging|prod|production|preview|sandbox|canary|",
        r"(?:unless|except|during|when(?:ever)?|if|while)\s+\w+(?:\s+\w+)?|to\s+the\s+\w+\s+(?:app|service|package|module|crate|branch|repo))\b"
    ))
});

/// What a rule leaves out. It says more than the same rule without it, whatever other condition both have.
static EXCEPTION: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)\b(?:without|unless|except(?:\s+for)?)\s+\w+(?:\s+\w+)?"));

/// What the places of a text are about that a pattern finds.
fn content_of(pattern: &Regex, text: &str) -> BTreeSet<String> {
    let found = pattern.find_iter(text);
    found.flat_map(|found| Wording::of(found.as_str()).content_words().collect::<Vec<_>>()).collect()
}

/// Whether one holds under a condition that the other does not name, in whatever words.
fn conditions_differ(a: &BTreeSet<String>, b: &BTreeSet<String>) -> bool {
    a.is_empty() != b.is_empty() || !(a.is_subset(b) || b.is_subset(a))
}

/// What of a sentence's subject is a number or an identifier.
fn subject(text: &str) -> Option<String> {
    if let Some(version) = VERSION_FIRST.captures(text).and_then(|found| found.get(1)) {
        return Some(version.as_str().to_lowercase());
    }
    let found = SUBJECT.captures(text)?;
    let word = found.get(1).or(found.get(3))?.as_str().to_lowercase();
    let detail = found.get(2).or(found.get(4))?.as_str().to_lowercase();
    (!ORDERS.contains(&word.as_str())).then_some(detail)
}

/// Words after which an identifier or path is a value.
static VALUE_PLACE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(?:is|are|in|at|to|named|called|into|under|located|from)\s+[`']?(?:[@~./]?[\w-]+[_./:\\][\w./\\:*-]*|[a-z]+[A-Z]\w*|\w*\d\w*)[`'.]*\s*$|(?:在|是|为|位于)\s*[`']?[\w./~@-]+[`'。]*$",
    )
});

static NEGATION: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)\b(not|never|no longer|no|without|cannot|can['’]t|don['’]t|do not|doesn['’]t|didn['’]t|won['’]t|isn['’]t|aren['’]t|shouldn['’]t|mustn['’]t|avoid|instead of|rather than|over|than|before|after|nicht|kein|keine|jamais|pas|nunca|не)\s+",
        r"(?:(?:to|be|use|using|the|a|an|any|each|every|ever|is|are|you|we|your|our|making)\s+)*([\w@./-]+)|",
        r"(而不是|而非|不要|不能|不得|不可|不用|不会|不是|切勿|禁止|请勿|别|勿|没有|未|不)\s*(\p{Han}{1,2}|[A-Za-z0-9_./-]+)|",
        r"([\p{Han}\p{Katakana}A-Za-z0-9]+)(?:し)?(?:ない|ません|ではなく|しては(?:いけない|ならない))|",
        r"(하지 마|않|안 |못 |말고)"
    ))
});

/// What [`Parts::frame`] leaves out: negations, their opposites and the auxiliaries round them.
static POLAR: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"\b(?:before|after|not|never|no longer|no|without|cannot|can['’]t|don['’]t|do not|does not|doesn['’]t|didn['’]t|won['’]t|isn['’]t|aren['’]t|shouldn['’]t|mustn['’]t|always|must|should|avoid|please|now|currently|still|ever|also|just|only|does|do|can|will|may)\b|",
        r"总是|始终|一律|永远|必须|务必|一定要|应该|应当|请|现在|不要|不能|不得|不可|不用|不会|不是|切勿|禁止|请勿|别|勿|没有|未|不|要|",
        r"必ず|常に|しない|ない|ません|항상|반드시|절대"
    ))
});

const FILLERS: &[&str] = &[
    "the", "and", "for", "with", "this", "that", "are", "was", "has", "have", "its", "our", "your", "use",
    "uses", "using", "used", "when", "from", "into", "than", "instead", "over", "rather", "then", "but",
    "all", "any", "were", "been", "being", "changed", "version", "number", "set",
];

/// Words that begin a sentence and name nothing.
const NO_NAMES: &[&str] = &[
    "always", "never", "dont", "not", "please", "avoid", "must", "should", "can", "cannot", "make",
    "remember", "note",
];

fn detail(word: &str) -> Option<Detail> {
    let word = word.trim_matches(|c: char| matches!(c, '`' | '"' | '\'' | '-' | '*' | ':' | '+'));
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
    if digits == 0 && letters == 0 {
        return None;
    }
    let bare = word.trim_start_matches(['v', 'V', '~', '^', '=', '$', '#']).trim_end_matches(['%', '+']);
    // A path is a path, whatever it begins with.
    let is_path = letters > 0 && word.contains(['/', '\\']);
    if digits > 0 && !is_path && bare.starts_with(|c: char| c.is_ascii_digit()) {
        return Some(Detail::Number(bare.to_ascii_lowercase()));
    }
    let joined = word.trim_end_matches('.').contains(['/', '\\', '_', '@', ':', '*'])
        || word.trim_matches('.').contains('.')
        || word.starts_with(['.', '~', '$']);
    let inner_upper =
        word.bytes().skip(1).any(|b| b.is_ascii_uppercase()) && word.bytes().any(|b| b.is_ascii_lowercase());
    let is_identifier = joined
        || digits > 0
        || inner_upper
        || (letters >= 2 && word.bytes().all(|b| b.is_ascii_uppercase() || b == b'-'));
    // A lower bound keeps list marks and the like out; "e.g." and "i.e." are no identifiers.
    let abbreviation = matches!(word.to_ascii_lowercase().trim_end_matches('.'), "e.g" | "i.e" | "etc");
    (is_identifier && word.len() >= 2 && !abbreviation).then(|| Detail::Identifier(word.to_ascii_lowercase()))
}

/// "wants" and "want" are the same word of a frame.
fn without_plural(word: &str) -> &str {
    word.strip_suffix('s')
        .filter(|stem| stem.len() > 2 && stem.is_ascii() && !stem.ends_with('s'))
        .unwrap_or(word)
}

/// The first word, capitalised words behind it, words of code spans, and Latin words in a text of another script; as
/// they stand in a word set.
fn names(text: &str) -> BTreeSet<String> {
    let capitalised = text.split_whitespace().filter(|word| word.starts_with(char::is_uppercase)).count();
    let all = text.split_whitespace().count();
    let title_case = capitalised * 2 > all && all > 3;
    let mut out: BTreeSet<String> = text.split('`').skip(1).step_by(2).flat_map(normalise_words).collect();
    if text.chars().any(is_unspaced) {
        out.extend(
            normalise_words(text).into_iter().filter(|word| word.bytes().all(|b| b.is_ascii_alphabetic())),
        );
    }
    for (at, word) in text.split_whitespace().enumerate() {
        if (at == 0 || !title_case) && word.starts_with(char::is_uppercase) {
            out.extend(
                normalise_words(word)
                    .into_iter()
                    .filter(|w| !FILLERS.contains(&w.as_str()) && !NO_NAMES.contains(&w.as_str())),
            );
        }
    }
    out
}

fn polarity(text: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let mut polarity = BTreeSet::new();
    let mut turned_down = BTreeSet::new();
    for found in NEGATION.captures_iter(text) {
        let how =
            [1, 3].into_iter().find_map(|group| found.get(group)).map_or("", |m| m.as_str()).to_lowercase();
        let what = [2, 4, 5, 6].into_iter().find_map(|group| found.get(group)).map_or("", |m| m.as_str());
        let what = what.trim_end_matches(['.', ',']).to_lowercase();
        let class = match how.as_str() {
            "before" | "after" => how.as_str(),
            _ => "not",
        };
        polarity.insert(format!("{class} {what}"));
        if matches!(
            how.as_str(),
            "not" | "instead of" | "rather than" | "over" | "no longer" | "而不是" | "而非" | "不用" | "不要"
        ) {
            turned_down.extend(normalise_words(&what));
        }
    }
    polarity.extend(COMPARISON.captures_iter(text).map(|found| format!("compared {}", &found[1])));
    (polarity, turned_down)
}

/// A sign that compares: `x <= y` and `x >= y` have the same words. No arrow.
static COMPARISON: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?:^|[^-=<>])(<=|>=|≤|≥|!=|==|<|>)(?:[^-=<>]|$)"));

#[cfg(test)]
mod tests {
    use Relation::{Distinct, Duplicate, Update};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn hashes_are_alike_as_their_words_are(
            a in proptest::collection::btree_set(0_u64..14, 0..12),
            b in proptest::collection::btree_set(0_u64..14, 0..12),
        ) {
            let words = |set: &BTreeSet<u64>| set.iter().map(u64::to_string).collect::<BTreeSet<_>>();
            let (these, those): (Vec<u64>, Vec<u64>) = (a.iter().copied().collect(), b.iter().copied().collect());
            prop_assert_eq!(is_alike(&these, &those), jaccard(&words(&a), &words(&b)) > SAME_ABOVE);
        }
    }

    #[test]
    fn one_rule_in_other_words_is_one_rule() {
        let table = [
            ("Always run `make check` before you commit", "Please always run `make check` before committing"),
            ("Always run `make check` before committing", "Always run `make check` before each commit"),
            (
                "Never push directly to main, open a pull request",
                "Do not push straight to main; open a pull request",
            ),
            ("Never commit generated files", "Do not commit generated files"),
            ("Run the full suite in production", "Run the full suite in prod"),
            ("Never deploy during the freeze", "Never deploy during a freeze"),
            ("Skip the slow tests on CI", "Skip the slow tests in the CI"),
            ("Retry the job when the build fails", "Retry the job if the build fails"),
            ("Write `a -> b` for every step", "Always write `a -> b` for each step"),
        ];
        for (one, other) in table {
            assert_eq!(relation(one, other), Duplicate, "{one} / {other}");
            assert_eq!(relation(other, one), Duplicate, "{other} / {one}");
        }
        let stated = (
            "The API listens on port 3000 when the flag is set",
            "The API listens on port 4000 if the flag is set",
        );
        assert_eq!(relation(stated.0, stated.1), Update);
        for (one, other) in [
            ("Run the linter before you commit", "Run the linter after you commit"),
            ("Run `make check` before you commit", "Run `make check` before you push"),
        ] {
            assert_ne!(relation(one, other), Duplicate, "{one} / {other}");
        }
        for (one, other) in [
            ("Never edit v1/schema.sql by hand", "Never edit v2/schema.sql by hand"),
            ("Never edit v2/schema.sql by hand", "Never edit 2023/report.md by hand"),
            ("The v1 API listens on port 3000", "The v2 API listens on port 4000"),
            ("Never push to main on Fridays", "Never push to main"),
            ("Never push to main on Fridays", "Never push to main on Mondays"),
            ("The API listens on port 3000", "The API listens on port 3001 in test"),
            ("The dev API listens on port 3000", "The API listens on port 4000"),
            ("Never deploy on Fridays", "Never deploy on Fridays without Dana"),
            ("Always keep x <= y in pool checks", "Always keep x >= y in pool checks"),
            ("Never push to my branch", "Never push to your branch"),
            ("Always ask her before a merge", "Always ask him before a merge"),
            (
                "Always write the release notes before tagging a new release",
                "Always write the migration notes before tagging a new release",
            ),
        ] {
            assert_eq!(relation(one, other), Distinct, "{one} / {other}");
            assert_eq!(relation(other, one), Distinct, "{other} / {one}");
        }
    }

    #[test]
    fn the_seeds_threshold_is_strict() {
        assert!(!is_duplicate("red green blue yellow", "red green blue purple"));
        assert!(is_duplicate(
            "user prefers solid borders over dashed borders",
            "user prefers solid borders instead of dashed borders"
        ));
        assert!(is_duplicate("", ""));
        assert!(!is_duplicate("something said here", ""));
    }

    #[test]
    fn details_decide_what_similarity_cannot() {
        let table = [
            ("red green blue yellow", "red green blue purple", Distinct),
            (
                "User prefers solid borders over dashed borders",
                "user prefers solid borders instead of dashed borders",
                Duplicate,
            ),
            ("The database listens on port 5432", "The database listens on port 5433", Update),
            ("The database listens on port 5432", "the database listens on port 5432.", Duplicate),
            ("The database listens on port 5432", "The database now listens on port 5433", Update),
            ("port 5432", "port 5433", Update),
            (
                "The api service listens on port 8000 in dev",
                "The web service listens on port 8001 in dev",
                Distinct,
            ),
            ("This project uses React 18.2.0", "This project uses React 19.0.0", Update),
            ("This project uses React v18", "This project uses React 18", Duplicate),
            ("Always push to the main branch", "Never push to the main branch", Update),
            ("Never push to the main branch", "Do not push to the main branch", Duplicate),
            ("Run the linter before committing changes", "Run the linter after committing changes", Update),
            ("Use npm for installs", "Use pnpm not npm for installs", Update),
            ("use pnpm not npm for installs", "use npm not pnpm for installs", Update),
            (
                "User prefers solid borders over dashed borders",
                "User prefers dashed borders over solid borders",
                Update,
            ),
            ("Alice owns the billing service code", "Bob owns the billing service code", Distinct),
            ("Deploys of the web app go to Vercel", "Deploys of the web app go to Netlify", Distinct),
            (
                "The handler in src/a.rs has a race condition",
                "The handler in src/b.rs has a race condition",
                Distinct,
            ),
            (
                "The default config lives in config/app.toml",
                "The default config lives in config/main.toml",
                Update,
            ),
            (
                "Use TERM_HOVER theme token for button colors",
                "Use TERM_BORDER theme token for button colors",
                Distinct,
            ),
            ("Issue 123 is about the login page", "Issue 124 is about the login page", Distinct),
            ("The tests need node to run here", "The tests need node 20 to run here", Update),
            ("The tests need node 20 to run here", "The tests need node to run here", Distinct),
            ("The timeout is 30 seconds", "The timeout is 30s long", Distinct),
            ("Run `pnpm test` before committing", "Run `pnpm lint` before committing", Distinct),
            ("Run `pnpm test` before committing", "Always run pnpm test before committing", Duplicate),
            ("Server A runs version 1.2", "Server B runs version 1.3", Distinct),
            ("The user wants dark mode by default", "The user does not want dark mode by default", Update),
            ("Use Bun instead of Node for scripts", "Use Node instead of Bun for scripts", Update),
            ("本项目使用pnpm管理依赖", "本项目使用npm管理依赖", Distinct),
            ("本项目使用pnpm管理依赖", "本项目使用pnpm来管理依赖", Duplicate),
            ("提交前必须运行测试", "提交前不要运行测试", Update),
            ("端口是5432", "端口是5433", Update),
            ("总是推送到主分支", "不要推送到主分支", Update),
            ("用户喜欢深色主题和大字体", "用户喜欢深色主题和大字体。", Duplicate),
            ("用户喜欢深色主题", "项目使用浅色图标", Distinct),
            ("Пользователь любит тёмную тему", "пользователь любит тёмную тему", Duplicate),
            ("Tests use a real database", "The build takes ten minutes", Distinct),
        ];
        for (older, newer, expected) in table {
            assert_eq!(relation(older, newer), expected, "{older} | {newer}");
        }
    }

    #[test]
    fn a_changed_word_or_place_is_a_changed_detail() {
        let table = [
            (
                "Use tabs for indentation in python files of this project.",
                "Use spaces for indentation in python files of this project.",
                Update,
            ),
            (
                "We decided to enable caching for the product pages",
                "We decided to disable caching for the product pages",
                Update,
            ),
            ("Never import auth from ui in this code", "Never import ui from auth in this code", Distinct),
            ("Never import auth from ui", "Never import ui from auth", Distinct),
            (
                "the billing service is owned by the alice team",
                "the billing service is owned by the bob team",
                Distinct,
            ),
            (
                "the primary database cluster lives in frankfurt",
                "the primary database cluster lives in dublin",
                Distinct,
            ),
            ("the customer data is hosted in eu", "the customer data is hosted in us", Distinct),
            (
                "we use redux for the admin module state handling",
                "we use zustand for the cart module state handling",
                Distinct,
            ),
            (
                "Always run make lint before you commit changes",
                "Always run make test before you commit changes",
                Distinct,
            ),
            (
                "Worked on setting up eslint for the web app",
                "Worked on setting up prettier for the web app",
                Distinct,
            ),
            ("Port 80 of the proxy goes to 8080", "Port 8080 of the proxy goes to 80", Distinct),
            (
                "Backups are copied from staging every night",
                "Backups are copied to staging every night",
                Distinct,
            ),
            ("Feature flags are on by default here", "Feature flags are off by default here", Distinct),
            ("Write the native extension in C++", "Write the native extension in C#", Distinct),
            ("前端直接调用后端", "后端直接调用前端", Distinct),
            ("用户喜欢深色主题和大字体", "用户喜欢浅色主题和大字体", Distinct),
            // The same in other words.
            (
                "Run the linter before committing changes",
                "Always run the linter before committing changes",
                Duplicate,
            ),
            ("Run the linter before committing", "Before committing, run the linter", Duplicate),
            (
                "User prefers thin solid borders over dashed borders",
                "The user prefers thin solid borders over any dashed borders",
                Duplicate,
            ),
            (
                "The user prefers a compact layout in the header",
                "The user likes a compact layout in the header",
                Duplicate,
            ),
            (
                "The integration tests need a running postgres database locally",
                "The integration tests require a running postgres database locally",
                Duplicate,
            ),
            ("This project uses pnpm workspaces", "This project is using pnpm workspaces", Duplicate),
            (
                "Run the full integration test suite before pushing",
                "Run the whole integration test suite before pushing",
                Duplicate,
            ),
            ("Worker 1 listens on 7001", "Worker 2 listens on 7002", Distinct),
            ("Worker 1 listens on 7001", "Worker 1 listens on 7003", Update),
            ("Lane 1 takes 30 seconds to warm up", "Lane 2 takes 40 seconds to warm up", Distinct),
            ("Lane 2 takes 30 seconds to warm up", "Lane 2 takes 40 seconds to warm up", Update),
            (
                "Service s0 listens on its port p0 at boot",
                "Service s1 listens on its port p1 at boot",
                Distinct,
            ),
            ("工作进程1监听7001端口", "工作进程2监听7002端口", Distinct),
            ("Use Node 18 with pnpm 8 in this repo", "Use Node 20 with pnpm 9 in this repo", Update),
            ("The database listens on port 5432", "The database listens on port 5433", Update),
            ("用户喜欢深色主题和大字体", "用户很喜欢深色主题和大字体", Duplicate),
        ];
        let wrong: Vec<_> = table
            .into_iter()
            .filter(|(older, newer, expected)| relation(older, newer) != *expected)
            .map(|(older, newer, _)| (older, newer, relation(older, newer)))
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    proptest! {
        #[test]
        fn repetition_is_mutual(
            a in "(use |tabs |spaces |from |to |ui |auth |import |never |the |Alice |12 |深色|run |running |e2e |[a-c]{1,3} ){0,9}",
            b in "(use |tabs |spaces |from |to |ui |auth |import |never |the |Alice |12 |深色|run |running |e2e |[a-c]{1,3} ){0,9}",
        ) {
            prop_assert_eq!(relation(&a, &b) == Duplicate, relation(&b, &a) == Duplicate);
            prop_assert_eq!(relation(&a, &a), Duplicate);
        }

        #[test]
        fn another_content_word_is_never_a_duplicate(
            a in "[b-df-hj-np-tv-z]{4,8}", b in "[b-df-hj-np-tv-z]{4,8}", at in 0_usize..8,
        ) {
            prop_assume!(!a.starts_with(&b) && !b.starts_with(&a));
            let place = |word: &str| {
                let mut words = vec!["deploys", "web", "app", "need", "manual", "approval", "every", "friday"];
                words.insert(at, word);
                words.join(" ")
            };
            prop_assert_ne!(relation(&place(&a), &place(&b)), Duplicate);
        }

        #[test]
        fn hashes_tell_what_the_words_tell(
            a in "(alpha |bravo |charlie |delta |echo ){0,6}", b in "(alpha |bravo |charlie |delta |golf ){0,6}",
        ) {
            prop_assert_eq!(Parts::of(&a).has_words_of(&Parts::of(&b)), is_duplicate(&a, &b));
        }

        #[test]
        fn a_text_is_never_news_to_itself(text in "\\PC{0,80}") {
            prop_assert_eq!(relation(&text, &text), Duplicate);
        }

        #[test]
        fn another_number_is_never_a_duplicate(a in 10_u32..99999, b in 10_u32..99999, text in "[a-z ]{0,60}") {
            prop_assume!(a != b);
            let (older, newer) = (format!("{text} {a} things"), format!("{text} {b} things"));
            prop_assert_ne!(relation(&older, &newer), Duplicate);
        }
    }
}
