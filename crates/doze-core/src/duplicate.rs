//! When two memories say the same, and when one replaces the other (S0.27–S0.28, `R5`).

mod change;
mod ended;
mod wording;

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

use regex::Regex;

pub use crate::text::jaccard;
use crate::text::{is_unspaced, normalise_words, one_line, regex};
use change::{Stance, claim};
pub use ended::{Ended, Subject, Touch};
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
    /// What is negated, passed over, ordered or compared, with how: `not push`, `before commit`, `sign <=`.
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
    /// The words besides details and polarity that tell one thing from another, however short.
    telling: BTreeSet<String>,
    stance: Stance,
    /// Its script has spaces between words.
    is_spaced: bool,
}

impl Parts {
    /// Takes a text apart. Linear in its length.
    pub fn of(text: &str) -> Self {
        let told = one_line(text);
        let text = as_statement(&told);
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
        numbers.extend(normalise_words(&plain).iter().filter_map(|word| in_digits(word)).map(str::to_owned));
        let subject = (numbers.len() + identifiers.len() > 1).then(|| subject(&text)).flatten();
        // Where a value stands is told by its marks; what is denied has none.
        let (polarity, mut turned_down) = polarity(&without_marks(&text));
        turned_down.extend(left_behind(&without_marks(&told)));
        let polarity: BTreeSet<String> = polarity.iter().map(|item| as_is_known(item)).collect();
        let stated = POLAR.replace_all(&claim(&plain).to_lowercase(), " ").into_owned();
        let telling = Wording::of(&stated);
        let frame: BTreeSet<String> = if stated.chars().any(is_unspaced) {
            telling.content_words().collect()
        } else {
            let words = normalise_words(&stated).into_iter().filter(|word| !FILLERS.contains(&word.as_str()));
            words.map(|word| wording::alike(&word).to_owned()).collect()
        };
        let words = normalise_words(&text);
        // "Server A", "plan B": a letter of its own is a name.
        let letters =
            text.split_whitespace().skip(1).map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
        let letters =
            letters.filter(|word| word.len() == 1 && *word != "I" && word.starts_with(char::is_uppercase));
        identifiers.extend(letters.map(str::to_owned));
        let wording = Wording::of(&text);
        Self {
            is_spaced: !told.chars().any(is_unspaced),
            stance: Stance::of(&told, wording.words()),
            telling: telling.telling_words(),
            word_hashes: hashes(&words),
            frame_hashes: hashes(&frame),
            words,
            wording,
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
    ///   ("use pnpm, not npm" after "use npm"); or one word is replaced by what contradicts it (`enable` by `disable`),
    ///   or by another one where the newer says that this has changed (`now`, `from now on`).
    ///   What can be forbidden or demanded of many things is never news about one.
    ///   Names alone never make an update: two things can both be true of two names. Where it is told that this has changed, a
    ///   name may be the value (`Omar owns it now`).
    /// - Distinct: all else. In doubt both stand.
    pub fn relation_to(&self, newer: &Self) -> Relation {
        // None of the rules below can hold.
        if !self.has_words_of(newer)
            && !is_alike(&self.frame_hashes, &newer.frame_hashes)
            && newer.turned_down.is_empty()
            && !self.wording.may_oppose(&newer.wording)
            && !self.wording.is_like(&newer.wording)
            && !newer.stance.is_news
        {
            return Relation::Distinct;
        }
        // "Never on Fridays" and "never" both stand.
        if conditions_differ(&self.conditions, &newer.conditions) || self.exceptions != newer.exceptions {
            return Relation::Distinct;
        }
        let identifiers_differ = !self.names_all_of(newer) || !newer.names_all_of(self);
        let numbers_differ = self.numbers != newer.numbers;
        let polarity_differs = self.polarity != newer.polarity;
        let names_differ = self.names_differ(newer);
        if newer.stance.is_news
            && self.stance.is_single(&newer.stance)
            && !numbers_differ
            && !polarity_differs
            && self.wording.replaced_one(&newer.wording).is_some_and(|places| {
                change::is_new_value(self.wording.words(), newer.wording.words(), places)
            })
        {
            return Relation::Update;
        }
        if !names_differ && newer.turns_down(self) {
            return Relation::Update;
        }
        if !(identifiers_differ || numbers_differ || polarity_differs || names_differ) {
            return match self.wording.difference(&newer.wording) {
                Difference::Opposite => Relation::Update,
                Difference::None if self.has_words_of(newer) || self.wording.is_like(&newer.wording) => {
                    Relation::Duplicate
                }
                Difference::None | Difference::Other => Relation::Distinct,
            };
        }
        let differing = self.numbers.symmetric_difference(&newer.numbers).cloned();
        if (numbers_differ || identifiers_differ) && polarity_differs
            || numbers_differ && self.stance.allows_both(&newer.stance, differing)
            || identifiers_differ && self.stance.allows_both_places(&newer.stance)
        {
            return Relation::Distinct;
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

    /// How `newer` stands to `self` in the office face: S0.28 to the letter, where nothing but a number, a version, a
    /// negation, an identifier, a path or a name that differs keeps texts apart which have most of their words in common
    /// (`R5`). Scripts without spaces go by [`Self::relation_to`]: their words are not known.
    pub fn office_relation_to(&self, newer: &Self) -> Relation {
        let relation = self.relation_to(newer);
        if !(self.is_spaced && newer.is_spaced) {
            return relation;
        }
        let is_same = || {
            self.has_words_of(newer)
                && self.numbers == newer.numbers
                && self.polarity == newer.polarity
                && self.names_all_of(newer)
                && newer.names_all_of(self)
                && !self.names_differ(newer)
        };
        match relation {
            Relation::Distinct if is_same() => Relation::Duplicate,
            Relation::Duplicate if !self.has_words_of(newer) => Relation::Distinct,
            decided => decided,
        }
    }

    /// They are about the same: a word more (`the admin API`) speaks of something else, or of a part of it.
    fn same_frame(&self, newer: &Self) -> bool {
        !self.frame.is_empty() && self.frame == newer.frame && self.telling == newer.telling
    }

    /// Whether this text has every number, identifier, negation and exception of another one.
    pub fn has_details_of(&self, other: &Self) -> bool {
        other.numbers.is_subset(&self.numbers)
            && other.identifiers.is_subset(&self.identifiers)
            && other.polarity.is_subset(&self.polarity)
            && other.exceptions.is_subset(&self.exceptions)
    }

    /// Whether it mentions every identifier of another text, in whatever case.
    fn names_all_of(&self, other: &Self) -> bool {
        let words = || self.wording.words().iter();
        other.identifiers.iter().all(|name| {
            self.identifiers.contains(name)
                || words().any(|word| word == name || word == wording::alike(name))
        })
    }

    /// Names on both sides that the other does not mention at all.
    fn names_differ(&self, newer: &Self) -> bool {
        let only = |a: &Self, b: &Self| {
            let is_known =
                |name| b.words.contains(name) || b.names.contains(name) || b.turned_down.contains(name);
            a.names.iter().any(|name| !is_known(name))
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
        let turned_down: BTreeSet<&str> = older
            .turned_down
            .iter()
            .chain([chosen_against])
            .flat_map(|word| [word.as_str(), wording::alike(word)])
            .collect();
        let rest = |parts: &Self| -> BTreeSet<String> {
            let details = parts.identifiers.iter().chain(&parts.numbers);
            let words = parts.telling.iter().chain(details);
            words.filter(|word| !turned_down.contains(word.as_str())).cloned().collect()
        };
        let (old, new) = (rest(older), rest(self));
        // The chosen value is the one word more that the newer may have.
        old.is_subset(&new)
            && new.len() - old.len() <= 1
            && (!old.is_empty() || !older.turned_down.is_empty())
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
        r"cluster|zone|tier|sprint|host|machine|team|group|row|column|scene|variant|option)\s+#?\d+|",
        r"\b(?:[\p{L}]+\s+\d+|v\d[\d.]*)\s+(?:is|are|has|have|takes?|runs?|uses?|returns?|listens?|goes|gets?|allows?|needs?|costs?|gives?)\b"
    ))
});

/// The beginning of a sentence up to a number or an identifier behind one or two words, or a few characters of a script
/// without spaces.
static SUBJECT: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)^(?:(?:the|a|an|our|this|my)\s+)?([\p{Latin}-]+)(?:\s+[\p{Latin}-]+)?\s+[#`]?([a-z_-]*\d[\w.-]*)\b|",
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
        r"(?i)\b(not|never|no longer|no|without|cannot|can['’]t|don['’]t|do not|doesn['’]t|didn['’]t|won['’]t|isn['’]t|aren['’]t|shouldn['’]t|mustn['’]t|avoid|instead of|rather than|over|than|before|after|nicht|kein|keine|niemals|nie|keinesfalls|ohne|jamais|pas|sans|nunca|sin|не|никогда|нельзя|без|hardly ever|rarely)\s+",
        r"(?:(?:to|be|use|using|the|a|an|any|each|every|ever|is|are|you|we|your|our|making)\s+)*([\w@./-]+)|",
        r"(而不是|而非|不要|不能|不得|不可|不用|不会|不是|不必|不再|不许|不准|无需|无须|切勿|禁止|严禁|请勿|别|勿|没有|未|不|非|无)\s*(\p{Han}{1,2}|[A-Za-z0-9_./-]+)|",
        r"([\p{Han}\p{Katakana}A-Za-z0-9]+)\p{Hiragana}{0,3}?(?:ない|ません|なく|ずに|ではなく|ては(?:いけ|なら))|",
        r"(하지 마|지 ?마|않|안 ?돼|안 ?됩|안 |못 |말고|금지|없이)"
    ))
});

/// What [`Parts::frame`] leaves out: negations, their opposites and the auxiliaries round them.
static POLAR: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"\b(?:you (?:may|can|are (?:now )?allowed to)|it(?:['’]s| is) (?:now )?(?:ok(?:ay)?|fine|allowed) (?:for you )?to|before|after|not|never|no longer|no|without|cannot|can['’]t|don['’]t|do not|does not|doesn['’]t|didn['’]t|won['’]t|isn['’]t|aren['’]t|shouldn['’]t|mustn['’]t|always|must|should|avoid|please|instead of|rather than|from now on|now|any ?more|currently|since today|still|ever|also|just|only|does|do|can|will|may)\b|",
        r"\b(?:immer|niemals|nie|nicht|keine?|bitte|jetzt|nun|jamais|toujours|nunca|siempre)\b|",
        r"总是|始终|一律|永远|必须|务必|一定要|应该|应当|请|现在|不要|不能|不得|不可|不用|不会|不是|不必|不再|无需|无须|切勿|禁止|请勿|别|勿|没有|未|不|要|",
        r"必ず|常に|絶対に|しない|ない|ません|今は|今|항상|반드시|절대|이제|(?:하)?지\s?마(?:세요)?|(?:하)?지\s?않\w*|(?:하)?세요|면\s?안\s?(?:됩니다|돼요|된다)"
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

/// A text without the marks of emphasis and quotation, and without what only ends it: `never **npm** !` says what
/// `never npm` does.
fn without_marks(text: &str) -> String {
    let is_mark = |c: char| matches!(c, '`' | '"' | '“' | '”' | '„' | '«' | '»');
    let text = text.replace("**", "").replace(is_mark, "");
    text.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '!' | '.')).to_owned()
}

/// Numbers in words that are nothing else, each with its digits; `one` and `second` are other things too.
const IN_WORDS: &[(&str, &str)] = &[
    ("two", "2"),
    ("three", "3"),
    ("four", "4"),
    ("five", "5"),
    ("six", "6"),
    ("seven", "7"),
    ("eight", "8"),
    ("nine", "9"),
    ("ten", "10"),
    ("eleven", "11"),
    ("twelve", "12"),
    ("fifteen", "15"),
    ("twenty", "20"),
    ("thirty", "30"),
    ("forty", "40"),
    ("fifty", "50"),
    ("sixty", "60"),
    ("ninety", "90"),
    ("hundred", "100"),
    ("thousand", "1000"),
    ("dozen", "12"),
    ("half", "1/2"),
    ("quarter", "1/4"),
    ("once", "1x"),
    ("twice", "2x"),
    ("thrice", "3x"),
    ("zwei", "2"),
    ("drei", "3"),
    ("vier", "4"),
    ("sechs", "6"),
    ("sieben", "7"),
    ("acht", "8"),
    ("neun", "9"),
    ("zehn", "10"),
    ("zwanzig", "20"),
    ("deux", "2"),
    ("trois", "3"),
    ("quatre", "4"),
    ("cinq", "5"),
    ("huit", "8"),
    ("neuf", "9"),
    ("dix", "10"),
    ("vingt", "20"),
    ("tres", "3"),
    ("cuatro", "4"),
    ("cinco", "5"),
    ("seis", "6"),
    ("siete", "7"),
    ("ocho", "8"),
    ("diez", "10"),
    ("veinte", "20"),
    ("два", "2"),
    ("две", "2"),
    ("три", "3"),
    ("четыре", "4"),
    ("пять", "5"),
    ("шесть", "6"),
    ("семь", "7"),
    ("восемь", "8"),
    ("девять", "9"),
    ("десять", "10"),
    ("двадцать", "20"),
];

/// The digits of a number in words.
fn in_digits(word: &str) -> Option<&'static str> {
    IN_WORDS.iter().find(|(known, _)| *known == word).map(|(_, digits)| *digits)
}

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

/// What is turned down by a change: `switched from Jest to Vitest`.
static LEFT_BEHIND: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)\b(?:renamed|moved|switched|migrated|changed|went|upgraded)\b[^.;]{0,60}?\bfrom\s+(?:the\s+)?([\w@./-]+)\s+to\b|",
        r"\breplaced\s+(?:the\s+)?([\w@./-]+)\s+(?:by|with)\s|",
        r"\b(?:taken|takes?|took)\s+over\s[^.;]{1,60}?\sfrom\s+([\w@./-]+)|",
        r"\b(?:statt|anstatt)\s+([\w@./-]+)|不再使用\s*([\w@./-]+)|",
        r"\b(?:does\s+not|doesn['’]t|do\s+not|don['’]t|no\s+longer)\s+\w+\s+(?:[\w-]+\s+){0,3}?([\w@./-]+)(?:\s+any\s?more)?\s*[,;]\s*(?:but\s+)?(?:it|they|we)\s",
    ))
});

/// The words that a text says to be left behind.
fn left_behind(text: &str) -> BTreeSet<String> {
    let what = LEFT_BEHIND.captures_iter(text).flat_map(|found| {
        let group = (1..found.len()).find_map(|group| found.get(group)).map_or("", |m| m.as_str());
        normalise_words(group)
    });
    what.collect()
}

/// A change told as what holds since: `We switched from Jest to Vitest` as `We use Vitest`. Japanese says "must" as "not
/// to do it will not do".
fn as_statement(text: &str) -> String {
    static CHANGES: LazyLock<[(Regex, &str); 11]> = LazyLock::new(|| {
        [
            (
                regex(
                    r"(?:なければ|なくては|ないと|なきゃ)(?:なりません|ならない|いけません|いけない|だめ(?:です)?)",
                ),
                "べき",
            ),
            (
                regex(
                    r"(?i)^(?:we\s+)?(?:have\s+)?(?:just\s+)?switched\s+(?:the\s+)?(.{3,40}?)\s+from\s+\S+\s+to\s+([\w@./-]+)",
                ),
                "use $2 for the $1",
            ),
            (
                regex(
                    r"(?i)^(?:we\s+)?(?:have\s+)?(?:just\s+)?replaced\s+(?:the\s+)?\S+\s+(?:by|with)\s+([\w@./-]+)",
                ),
                "use $1",
            ),
            (regex(r"(?i)^(?:we\s+)?(?:have\s+)?(?:just\s+)?dropped\s+support\s+for\s+"), "do not support "),
            (
                regex(
                    r"(?i)\b(?:have\s+)?(?:switched|moved|migrated|went|upgraded)\s+(?:over\s+)?from\s+\S+\s+to\s+",
                ),
                "use ",
            ),
            (
                regex(
                    r"(?i)^(?:we\s+)?(?:have\s+)?(?:just\s+)?(?:renamed|changed|moved)\s+(.{3,60}?)\s+from\s+\S+\s+to\s+",
                ),
                "$1 is ",
            ),
            (
                regex(
                    r"(?i)\b(?:does\s+not|doesn['’]t|do\s+not|don['’]t|no\s+longer)\s+[^,;.]{3,60}?(?:\s+any\s?more)?\s*[,;]\s*(?:but\s+)?(?:it|they|we)\s+(?:now\s+)?",
                ),
                "",
            ),
            (
                regex(
                    r"(?i)\b(?:has\s+taken|have\s+taken|takes?|took)\s+over\s+([^.;]{2,60}?)(?:\s+from\s+[\w@./-]+)?([.,;]|$)",
                ),
                "owns $1$2",
            ),
            (
                regex(
                    r"(?i)\b(?:no\s+need\s+to|(?:you\s+|we\s+)?(?:no\s+longer|do\s+not|don['’]t)\s+(?:need|have)\s+to)\s+",
                ),
                "do not ",
            ),
            (regex(r"(?i)\b(?:stop|quit)\s+(\w{2,}ing)\b"), "do not $1"),
            (regex(r"(?i)\s+(?:now|any\s?more|from\s+now\s+on|since\s+today)\s*[.!]*$"), "."),
        ]
    });
    CHANGES.iter().fold(text.to_owned(), |text, (change, so)| change.replace_all(&text, *so).into_owned())
}

fn polarity(text: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let mut polarity = BTreeSet::new();
    let mut turned_down = BTreeSet::new();
    for found in NEGATION.captures_iter(text) {
        let how =
            [1, 3].into_iter().find_map(|group| found.get(group)).map_or("", |m| m.as_str()).to_lowercase();
        let what = [2, 4, 5, 6].into_iter().find_map(|group| found.get(group)).map_or("", |m| m.as_str());
        let what = what.trim_end_matches(['.', ',']).to_lowercase();
        if matches!(how.as_str(), "before" | "after") && what.starts_with(|c: char| c.is_ascii_digit()) {
            // `expires after 15 minutes`
            continue;
        }
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
    polarity.extend(SIGN.captures_iter(text).filter_map(|found| {
        let sign = found.get(1).or(found.get(2))?.as_str();
        // Arrows and dashes between words say nothing.
        (!matches!(sign, "->" | "=>" | "-" | "--" | "<-") || found.get(2).is_some())
            .then(|| format!("sign {sign}"))
    }));
    (polarity, turned_down)
}

/// A sign between words, or in front of a value: `x <= y` and `x >= y`, `~18.2` and `^18.2` have the same words.
static SIGN: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(?:^|[\s`(])(?:([<>=!~^&|+*%-]{1,3})(?:[\s`)]|$)|([<>=!~^+-]{1,3})[\p{L}\p{N}])")
});

#[cfg(test)]
mod tests;
