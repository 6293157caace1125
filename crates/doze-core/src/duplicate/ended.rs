//! What a person says to end a rule or a fact, in whatever words: `Stop using Deno`, `You may push to main again`, `We moved
//! off Fly.io`, `I take back the Deno rule`. Beside [`Parts::relation_to`](super::Parts::relation_to), which compares
//! two statements, this compares a text with what such a sentence names.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::change::{claim, forbids, is_unit};
use super::wording::{alike, is_function_word, words_of};
use crate::text::{is_unspaced, regex};

/// Least share of a text's words that a sentence must name to end it.
const NAMED_SHARE: f64 = 0.25;
/// The same where a permission names what is allowed: part of it would stay forbidden.
const PERMITTED_SHARE: f64 = 0.99;
/// Least share of a text's words, and how many at least, that make a change a change of it.
const SHARED: f64 = 0.5;
const MIN_SHARED: usize = 2;
/// Share of pairs of characters that two texts about the same have in common.
const PAIRS_SHARE: f64 = 0.6;
/// Longer sentences tell a story.
const MAX_CHARS: usize = 240;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// It shall be done no more.
    Stops,
    /// What was forbidden is allowed.
    Permits,
    /// What was said does not hold.
    Withdraws,
    /// The thing is there no more.
    Leaves,
    /// The person is.
    Departs,
}

/// How a sentence stands to a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// The text holds no more; the sentence tells what holds.
    Ended,
    /// The text holds no more, and the sentence tells nothing that holds.
    Withdrawn,
    /// It may hold no more.
    Doubted,
}

/// A sentence that ends or changes something.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    how: Option<How>,
    /// It holds from now on by its nature or by its words, and not for once.
    is_lasting: bool,
    is_news: bool,
    /// What it says is ended.
    named: BTreeSet<String>,
    /// What its first clause speaks of, and all of it.
    clause: BTreeSet<String>,
    all: BTreeSet<String>,
    /// The value it gives something anew, with its unit.
    value: Option<(String, Option<String>)>,
    /// The word it begins with.
    begins: Option<String>,
}

/// Words in front that change nothing.
const LEAD: &str = r"^\W*(?:(?:no|nah|ok(?:ay)?|and|also|so|btw|fyi|note|actually|well|please|sorry|hey|hm+|from\s+now\s+on|as\s+of\s+(?:now|today)|i\s+changed\s+my\s+mind|change\s+of\s+plans?)\s*[,.:;!–—-]*\s+)*";

/// Ways to end something: how, whether it lasts by nature, and the pattern behind [`LEAD`] that captures what.
const WAYS: &[(How, bool, &str)] = &[
    (
        How::Stops,
        true,
        r"(?:you\s+can\s+|we\s+(?:can\s+)?|let['’]s\s+)?(?:stop|quit|stopped)\s+using\s+(?P<what>.+)",
    ),
    (How::Stops, false, r"(?:you\s+can\s+|let['’]s\s+)?(?:stop|quit)\s+(?P<what>\w+ing\s+.+)"),
    (How::Stops, false, r"(?:there(?:['’]s|\s+is)\s+)?no\s+(?:more\s+)?need\s+to\s+(?P<what>.+)"),
    (How::Stops, false, r"(?:you|we)\s+(?:do\s+not|don['’]t)\s+(?:need|have)\s+to\s+(?P<what>.+)"),
    (How::Stops, true, r"(?:you|we)\s+no\s+longer\s+(?:need|have)\s+to\s+(?P<what>.+)"),
    (How::Stops, true, r"(?:you|we)\s+(?:do(?:n['’]t|\s+not))\s+(?P<what>.+?)\s+any\s*(?:more|longer)[.!]?$"),
    (How::Stops, true, r"(?:(?:you|we|our\s+team)\s+)?no\s+longer\s+(?P<what>\w.+)"),
    (How::Stops, true, r"(?:.*[,;]\s+(?:so\s+|and\s+)?)?no\s+(?P<what>.+?)\s+any\s*(?:more|longer)[.!]?$"),
    (
        How::Permits,
        true,
        r"(?P<what>[^,;]{3,80}?)\s+(?:is|are)\s+(?:now\s+|again\s+)?(?:allowed|permitted)\b",
    ),
    (How::Permits, false, r"(?P<what>[^,;]{3,80}?)\s+(?:is|are)\s+(?:now\s+)?(?:fine|ok(?:ay)?)\b"),
    (
        How::Permits,
        false,
        r"(?:you|we)\s+(?:can|may|are\s+(?:now\s+)?allowed\s+to|['’]re\s+allowed\s+to)\s+(?P<what>.+)",
    ),
    (How::Permits, false, r"you['’]re\s+(?:now\s+)?allowed\s+to\s+(?P<what>.+)"),
    (How::Permits, false, r"it(?:['’]s|\s+is)\s+(?:now\s+)?(?:ok(?:ay)?|fine|allowed)\s+to\s+(?P<what>.+)"),
    (
        How::Withdraws,
        true,
        r"(?:(?:i|we)\s+)?take\s+back\s+(?:what\s+i\s+said\s+about\s+|the\s+rule\s+(?:about|on)\s+|(?:the|my)\s+)?(?P<what>.+?)(?:\s+(?:rule|decision|convention|requirement))?[.!]?$",
    ),
    (
        How::Withdraws,
        true,
        r"(?:forget|ignore|disregard|scrap|cancel|drop|undo)\s+(?:about\s+)?(?:what|everything)\s+i\s+said\s+about\s+(?P<what>.+)",
    ),
    (
        How::Permits,
        true,
        r"(?P<what>[^,;]{3,80}?)\s+(?:is|are)\s+no\s+longer\s+(?:forbidden|prohibited|banned)\b",
    ),
    (How::Permits, true, r"the\s+ban\s+on\s+(?P<what>[^,;]{3,80}?)\s+(?:is|was|has\s+been)\s+lifted\b"),
    (How::Permits, false, r"(?:the\s+)?(?P<what>[^,;]{3,60}?)\s+may\s+be\s+\w+ed\b"),
    (
        How::Stops,
        true,
        r"(?P<what>[^,;]{3,80}?)\s+(?:is|are)\s+(?:no\s+longer\s+(?:necessary|needed|required)|not\s+(?:necessary|needed|required)\s+any\s?more)\b",
    ),
    (
        How::Leaves,
        true,
        r"(?P<what>[\w./`-]+)\s+(?:is\s+not|isn['’]t|are\s+not|aren['’]t)\s+used\s+any\s?(?:more|longer)\b",
    ),
    (How::Leaves, true, r"there(?:['’]s|\s+is)\s+no\s+(?P<what>[\w./`-]+)\s+any\s?(?:more|longer)\b"),
    (How::Leaves, true, r"we(?:['’]re|\s+are)\s+using\s+\S+\s+instead\s+of\s+(?P<what>[\w./`-]+)\s+now\b"),
    (
        How::Leaves,
        true,
        r"(?:use\s+)?[\w./`-]+\s+(?:instead\s+of|rather\s+than)\s+(?P<what>[\w./`-]+)\s+from\s+now\s+on\b",
    ),
    (How::Leaves, true, r"[\w./`-]+\s+(?:has\s+)?replaced\s+(?P<what>[\w./`-]+)[.!]?$"),
    (How::Withdraws, true, r"scratch\s+that\s+about\s+(?P<what>.+)"),
    (
        How::Withdraws,
        true,
        r"(?:let['’]s\s+)?(?:forget|ignore|disregard|scrap|cancel|drop|undo)\s+(?:about\s+)?(?:the|my|our|that)\s+(?:rule|decision|convention|requirement|policy)\s+(?:about|on|that\s+we|to)\s+(?P<what>.+)",
    ),
    (
        How::Withdraws,
        true,
        r"(?:let['’]s\s+)?(?:forget|ignore|disregard|scrap|cancel|drop|undo)\s+(?:about\s+)?(?:the|my|our|that)\s+(?P<what>.+?)\s+(?:rule|decision|convention|requirement|preference|policy|instruction)\b",
    ),
    (
        How::Withdraws,
        true,
        r"(?:the|my|our|that)\s+(?P<what>.+?)\s+(?:rule|decision|convention|requirement|preference|policy)\s+(?:is|was)\s+(?:now\s+)?(?:obsolete|outdated|over|gone|history|off|void|out|withdrawn)\b",
    ),
    (
        How::Withdraws,
        true,
        r"(?:the|my|our|that)\s+(?:(?:thing|rule|part)\s+about\s+)?(?P<what>.+?)(?:\s+(?:rule|thing|decision|convention|requirement|preference|policy|idea))?\s+(?:(?:is|was)\s+no\s+longer\s+(?:true|valid|in\s+force|the\s+rule)|(?:does\s*n['’]?o?t|does\s+not|no\s+longer)\s+(?:appl(?:y|ies)|holds?[.!]?$))",
    ),
    (How::Withdraws, true, r"no\s+more\s+(?P<what>[\w.-]+)(?:,?\s+please)?[.!]?$"),
    (
        How::Leaves,
        true,
        r"we(?:['’]ve|\s+have)?\s+(?:just\s+)?(?:moved|migrated|switched)(?:\s+(?:everything|all|over|completely|the\s+whole\s+\w+(?:\s+\w+)?))*\s+(?:from|off|away\s+from)\s+(?P<what>.+?)(?:\s+to\s.*)?$",
    ),
    (
        How::Leaves,
        true,
        r"we(?:['’]ve|\s+have)?\s+(?:just\s+)?(?:dropped|retired|replaced|ditched|abandoned|got\s+rid\s+of)\s+(?P<what>.+?)(?:\s+(?:with|by|in\s+favou?r\s+of)\s.*)?$",
    ),
    (
        How::Leaves,
        true,
        r"(?P<what>[\w./`-]+(?:\s+[\w./-]+)?)\s+(?:has\s+been|was|is\s+now)\s+(?:replaced\s+(?:by|with)\s+\S|phased\s+out|retired|decommissioned)",
    ),
    (
        How::Departs,
        true,
        r"(?P<what>\p{Lu}\w+)\s+(?:(?:has\s+)?(?:left|quit)(?:\s+(?:the\s+)?(?:company|team|project|us))?\s*(?:[,.;!]|$)|(?:has\s+)?handed\s.+?\sover\s+to\s)",
    ),
    (
        How::Stops,
        true,
        r"(?:以后|现在)?(?:提交.*?)?(?:不用再|不必再|不需要再|不再|别再|不要再)(?P<what>.+?)了?[。！]?$",
    ),
    (How::Permits, true, r"以后可以(?P<what>.+?)了?[。！]?$"),
    (How::Permits, false, r"(?P<what>.+?)(?:ても|でも)(?:大丈夫|いい|構いません|かまいません)"),
    (How::Permits, true, r"이제\s?(?P<what>.+?)(?:해도|어도|아도|여도)\s?(?:됩니다|돼요|괜찮)"),
    (How::Leaves, true, r"(?:我们|我們)(?:已经)?把\s*(?P<what>\S.*?)\s*(?:换成|改成|替换成)"),
    (How::Leaves, true, r"이제\s(?P<what>[^\s은는]+)\s*대신"),
];

/// One thing in place of another, told as a change.
const INSTEAD: &str = r"(?i)^\W*(?:change\s+of\s+plans?|from\s+now\s+on|as\s+of\s+\w+).*\b(?:instead\s+of|rather\s+than)\s+(?P<what>[\w./`-]+)";

static PATTERNS: LazyLock<Vec<(How, bool, Regex)>> = LazyLock::new(|| {
    let ways = WAYS.iter().map(|(how, lasts, what)| {
        // A name begins with a capital, the rest in any case.
        let flags = if what.contains(r"\p{Lu}") { "" } else { "(?i)" };
        (*how, *lasts, regex(&format!("{flags}{LEAD}{what}")))
    });
    ways.chain([(How::Leaves, true, regex(INSTEAD))]).collect()
});

/// It holds from now on.
static LASTS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(?:any\s?more|any\s+longer|no\s+longer|from\s+now\s+on|going\s+forward|any\s?time|every|each|always|by\s+default|in\s+general|as\s+of|as\s+long\s+as|ever\s+again)\b|以后|이제|今後|これから",
    )
});

/// It tells of a change.
static NEWS: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)\b(?:these\s+days|any\s?more|any\s+longer|no\s+longer|from\s+now\s+on|since\s+(?:this|last)\s+\w+|changed\s+my\s+mind)\b|",
        r"改成|改为|换成|이제|に変更"
    ))
});
/// A value is told to have changed.
static NEW_VALUE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\bnow\b|\b(?:was|has\s+been)\s+(?:changed|raised|lowered|increased|set|moved)\s+to\b|^\W*(?:we(?:['’]ve|\s+have)?\s+)?(?:changed|raised|lowered|increased|bumped|moved)\b|\bwent\s+(?:up|down)\s+to\b|现在|改成|改为|이제|변경|に変更",
    )
});
/// What has the value, up to it: `the API is on port 4100`.
static VALUE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(?:is|are|to|at|on|port|of|after)\s+(?:now\s+)?(?:on\s+|at\s+)?(?:port\s+)?(\d[\w.]*)(?:\s?(%|[a-z]+))?",
    )
});

/// It tells how things went.
static WENT: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(?:pass(?:es|ed|ing)?|fail(?:s|ed|ing)?|green|broken|down|works?|working|fixed|done|crash\w*|tried|looks?|takes?|answers?\s+in|hits?)\b",
    )
});

/// It is for this moment or another place, or only thought of.
static PASSING: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)[?？]|\b(?:for\s+now|right\s+now|today|tonight|tomorrow|this\s+(?:time|once|one|fix|change|task|pr|commit|branch|file|session)|for\s+th(?:is|ese)|once|yet|temporar(?:y|ily)|until|",
        r"a\s+minute\s+ago|i\s+(?:wonder|think|guess|like)|maybe|perhaps|could|would|should|might|if|when|unless|only|plan(?:s|ned)?\s+to|wants?\s+to|going\s+to|will|says|joke|kidding|by\s+accident|accidentally|back\s+again|it\s+back|after\s+all|",
        r"(?:in|for|at)\s+the\s+(?:other|tests?|demo|diagram|mock|docs?|example)|other\s+project|in\s+(?:staging|prod|production|ci)|mock|fake|can\s*not|can['’]t)\b|(?i:\bat\s)\p{Lu}\w+|,\s*\w+\s+said\b|",
        r"暂时|今天|今日|오늘|일단|今回|だけ|如果|可能|想把|会怎么样|测试里|另一个|이\s테스트|이번|다른|만약"
    ))
});

/// It is for once, unless it says that it lasts.
static ONCE: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)\b(?:now|here|just|already|again|this|thanks|ago|first)\b"));

/// Where the part that names something ends.
static TAIL: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)[,;:(—–]\s|[.!](?:\s|$)|[。，、]|\s(?:because|since|as\s+long\s+as|unless|if|so\s+that|so|but|when|while|last|this\s+week|from\s+now\s+on|any\s?more|any\s+longer|again|now|to\s+(?:our|the|a|an)\s)\b",
    )
});

/// Words that say how something is put and not what it is about, without their inflection.
const SAYS_HOW: &[&str] = &[
    "use",
    "run",
    "listen",
    "liv",
    "set",
    "keep",
    "keeping",
    "do",
    "have",
    "get",
    "go",
    "need",
    "want",
    "allow",
    "always",
    "never",
    "must",
    "should",
    "stop",
    "quit",
    "again",
    "now",
    "anymor",
    "longer",
    "more",
    "any",
    "rul",
    "thing",
    "said",
    "say",
    "remember",
    "note",
    "fin",
    "ok",
    "okay",
    "don",
    "dont",
    "not",
    "no",
    "please",
    "prefer",
    "forbidden",
    "prohibited",
    "bann",
    "ban",
    "lift",
    "me",
    "touch",
    "edit",
    "modify",
    "chang",
    "me",
    "btw",
    "fyi",
    "decid",
    "choos",
    "chos",
    "chose",
    "switch",
    "mov",
    "move",
    "every",
    "all",
    "only",
    "also",
];

/// Words of a text that tell what it is about, without their inflection; of scripts without spaces each pair of
/// neighbours.
fn content(text: &str) -> BTreeSet<String> {
    let mut content = BTreeSet::new();
    let mut plain = String::with_capacity(text.len());
    for token in text.split_whitespace() {
        let token = token.trim_matches(|c: char| c.is_ascii_punctuation() && c != '@');
        let token = token.strip_suffix("'s").or(token.strip_suffix("’s")).unwrap_or(token);
        // A path or an identifier is one word.
        if token.is_ascii() && token.contains(['/', '.', '_', '@', ':']) {
            content.insert(token.to_lowercase());
        } else {
            plain.push_str(token);
            plain.push(' ');
        }
    }
    let words = words_of(&plain);
    let is_bare = |word: &String| word.chars().all(is_unspaced);
    for (at, word) in words.iter().enumerate() {
        if is_bare(word) {
            if let Some(next) = words.get(at + 1).filter(|next| is_bare(next)) {
                content.insert(format!("{word}{next}"));
            }
        } else if has_digit(word) {
            content.insert(word.clone());
        } else if !is_function_word(word) {
            let word = alike(word);
            if !SAYS_HOW.contains(&word) && !is_function_word(word) {
                content.insert(word.to_owned());
            }
        }
    }
    content
}

/// Whether a text speaks of all these words; endings of scripts without spaces may differ.
fn has_all(old: &BTreeSet<String>, words: &BTreeSet<String>) -> bool {
    let (pairs, plain): (Vec<&String>, Vec<&String>) =
        words.iter().partition(|word| word.chars().all(is_unspaced));
    let known = pairs.iter().filter(|pair| old.contains(**pair)).count();
    plain.iter().all(|word| old.contains(*word)) && known as f64 >= PAIRS_SHARE * pairs.len() as f64
}

fn has_digit(word: &str) -> bool {
    word.bytes().any(|b| b.is_ascii_digit())
}

/// How much words say: a pair of neighbours of a script without spaces is a part of a word.
fn weight<'a>(words: impl Iterator<Item = &'a String>) -> f64 {
    words.map(|word| if word.chars().all(is_unspaced) { 0.25 } else { 1.0 }).sum()
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

/// What a text is about, taken apart once to be held against many sentences.
#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    words: BTreeSet<String>,
    forbids: bool,
    value: Option<(String, Option<String>)>,
    /// It is written without spaces.
    is_tight: bool,
}

impl Subject {
    /// Takes a text apart, its reason left out.
    pub fn of(text: &str) -> Self {
        let told = claim(text);
        Self {
            words: content(told),
            forbids: forbids(text),
            value: value_of(told),
            is_tight: told.chars().any(is_unspaced),
        }
    }
}

impl Ended {
    /// Reads a sentence; `None` when it ends and changes nothing.
    pub fn of(sentence: &str) -> Option<Self> {
        if PASSING.is_match(sentence) || sentence.chars().count() > MAX_CHARS {
            return None;
        }
        let way = PATTERNS.iter().find_map(|(how, lasts, pattern)| {
            let what = pattern.captures(sentence)?.name("what")?.as_str();
            let what =
                TAIL.find(what).filter(|tail| tail.start() > 0).map_or(what, |tail| &what[..tail.start()]);
            let named = content(what);
            (!named.is_empty()).then_some((*how, *lasts, named))
        });
        let went = WENT.is_match(sentence);
        let is_news = NEWS.is_match(sentence) && !went;
        let value = value_of(sentence).filter(|_| NEW_VALUE.is_match(sentence) && !went);
        if way.is_none() && !is_news && value.is_none() {
            return None;
        }
        let all = content(sentence);
        let first = TAIL
            .find(sentence)
            .filter(|tail| tail.start() > 0)
            .map_or(sentence, |tail| &sentence[..tail.start()]);
        let mut clause = content(first);
        // Of scripts without spaces the ending would be part of it.
        clause.retain(|word| !word.chars().all(is_unspaced));
        let begins = first_word(sentence);
        let (how, lasts, named) =
            way.map_or((None, false, BTreeSet::new()), |(how, lasts, named)| (Some(how), lasts, named));
        let is_lasting = lasts || LASTS.is_match(sentence);
        if how.is_some() && !is_lasting && ONCE.is_match(sentence) {
            return None;
        }
        Some(Self { how, is_lasting, is_news, named, clause, all, value, begins })
    }

    /// It takes back what was said, and says nothing in its place.
    pub fn is_withdrawal(&self) -> bool {
        self.how == Some(How::Withdraws)
    }

    /// How the sentence stands to a text that was said before it.
    pub fn touches(&self, text: &Subject) -> Option<Touch> {
        let old = &text.words;
        if old.is_empty() {
            return None;
        }
        let whole = weight(old.iter());
        let named = weight(self.named.iter()) / whole;
        let is_named = !self.named.is_empty()
            && has_all(old, &self.named)
            && (named >= NAMED_SHARE || self.how == Some(How::Departs));
        let shared = self.all.intersection(old).count();
        let shares = weight(self.all.intersection(old)) / whole;
        let forbids = text.forbids;
        // Words of a script without spaces are not known, and most pairs of characters are none.
        let is_tight = text.is_tight && named >= SHARED;
        if is_named {
            return match self.how? {
                How::Stops if forbids => None,
                How::Stops if self.is_lasting => Some(Touch::Ended),
                How::Stops => Some(Touch::Doubted),
                How::Permits if !forbids => None,
                How::Permits if !self.is_lasting => None,
                // All that is forbidden has to be named.
                How::Permits if (named >= PERMITTED_SHARE || is_tight) && has_all(old, &self.clause) => {
                    Some(Touch::Ended)
                }
                How::Permits => Some(Touch::Doubted),
                How::Withdraws => Some(Touch::Withdrawn),
                How::Leaves | How::Departs if forbids => None,
                How::Leaves => Some(Touch::Ended),
                // Of what somebody left behind only that goes which the sentence speaks of.
                How::Departs if shared > self.named.len() => Some(Touch::Ended),
                How::Departs => Some(Touch::Doubted),
            };
        }
        if self.how.is_some() {
            return None;
        }
        if let (Some(new), Some(known)) = (&self.value, &text.value) {
            let rest: Vec<&String> = old.iter().filter(|word| !is_number(word)).collect();
            let is_same_thing = rest.len() >= MIN_SHARED
                && old.len() == rest.len() + 1
                && rest.iter().filter(|word| self.all.contains(**word)).count() * 3 >= rest.len() * 2
                && self.begins.as_ref().is_some_and(|first| old.contains(first));
            if is_same_thing && new.1 == known.1 && new.0 != known.0 {
                return Some(Touch::Ended);
            }
        }
        (self.is_news && shared >= MIN_SHARED && shares >= SHARED).then_some(Touch::Doubted)
    }
}

/// The first word that tells what a sentence is about, behind what says that it was changed.
fn first_word(sentence: &str) -> Option<String> {
    static CHANGED: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)^\W*(?:we(?:['’]ve|\s+have)?\s+)?(?:just\s+)?(?:changed|raised|lowered|increased|bumped|moved)\s+",
        )
    });
    let rest = CHANGED.replace(sentence, "");
    rest.split_whitespace().find_map(|word| content(word).into_iter().next())
}

/// The first value of a sentence with its unit, none where what follows is no unit.
fn value_of(text: &str) -> Option<(String, Option<String>)> {
    let found = VALUE.captures(text)?;
    let unit = found.get(2).map(|unit| unit.as_str().to_lowercase()).filter(|unit| is_unit(unit));
    Some((found[1].trim_end_matches('.').to_lowercase(), unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(old: &str, new: &str) -> Option<Touch> {
        Ended::of(new).and_then(|ended| ended.touches(&Subject::of(old)))
    }

    fn all_stand_so(expected: Option<Touch>, pairs: &[(&str, &str)]) {
        let told =
            |(old, new): &(&str, &str)| format!("{old} / {new}: {:?}, {:?}", touch(old, new), Ended::of(new));
        let wrong: Vec<String> =
            pairs.iter().filter(|(old, new)| touch(old, new) != expected).map(told).collect();
        assert!(wrong.is_empty(), "not {expected:?}: {wrong:#?}");
    }

    #[test]
    fn a_rule_is_ended_by_naming_it() {
        all_stand_so(
            Some(Touch::Ended),
            &[
                ("From now on use Deno for scripts.", "Stop using Deno."),
                ("Use Deno for scripts", "You can stop using Deno for scripts."),
                ("Use Deno for scripts", "We don't use Deno any more."),
                ("Never squash on merge.", "Squashing on merge is allowed again, the auditors agree."),
                ("Never deploy on Fridays.", "Deploys on Fridays are allowed as long as it's before noon."),
                (
                    "Never force-push to a shared branch.",
                    "Force-pushing to shared branches is fine from now on.",
                ),
                ("Never push to main", "You may push to main from now on."),
                ("Never push to main", "You're allowed to push to main from now on."),
                (
                    "Always run the full test suite before every commit.",
                    "No need to run the full suite before every commit, the unit tests are enough.",
                ),
                (
                    "Always ask before you install a package.",
                    "You don't have to ask me before installing packages anymore.",
                ),
                (
                    "We decided to store readings in TimescaleDB because we need joins.",
                    "We moved from TimescaleDB to ClickHouse last week, the compression was just too bad.",
                ),
                (
                    "We chose Fly.io over Heroku because of the price.",
                    "We've migrated everything off Fly.io to our own Hetzner boxes.",
                ),
                ("Use Redis for caching because it is persistent", "Redis has been replaced by Valkey."),
                ("Use Redis for caching because it is persistent", "We stopped using Redis."),
                ("We decided to use Kafka because we need replays.", "We dropped Kafka, it's NATS now."),
                ("Never push to main", "Pushing to main is no longer forbidden."),
                ("Never push to main", "The ban on pushing to main is lifted."),
                (
                    "Run the tests before every commit.",
                    "Running the tests before every commit is no longer necessary.",
                ),
                ("Use Redis for caching because it is persistent", "Redis isn't used any more."),
                ("Use Redis for caching because it is persistent", "There is no Redis any more."),
                (
                    "Use Redis for caching because it is persistent",
                    "We're using Valkey instead of Redis now.",
                ),
                (
                    "Use Redis for caching because it is persistent",
                    "Use Valkey rather than Redis from now on.",
                ),
                ("Use Redis for caching because it is persistent", "Valkey replaced Redis."),
                ("Use yarn because of the workspaces", "Change of plan: pnpm instead of yarn."),
                (
                    "Always use tabs for indentation.",
                    "We switched the whole code base to 2 spaces, so no tabs any longer.",
                ),
                ("Marta owns the billing export.", "Marta left, Jonas owns the billing export now."),
                ("Marta owns the billing export.", "Marta handed the billing export over to Priya."),
                ("Releases are cut by Omar", "Omar quit; releases are cut by Lena."),
                ("The retry limit is 3", "Retry limit went up to 5."),
                ("Max upload size is 20 MB", "We raised the max upload size to 50 MB."),
                (
                    "The API listens on port 4000 locally.",
                    "The API is on port 4100 now, 4000 clashed with the simulator.",
                ),
                ("Staging runs on port 7443.", "Staging's port was changed to 7444."),
                ("以后提交之前都要先跑 pnpm lint。", "提交之前不用再跑 pnpm lint 了。"),
                ("我们用 Redis 做缓存，因为需要持久化。", "我们把 Redis 换成了 Memcached。"),
                ("테스트는 반드시 pytest로 작성하세요.", "이제 pytest 대신 unittest로 작성하세요."),
                ("배포는 금요일에 하지 마세요.", "이제 금요일에도 배포해도 됩니다."),
            ],
        );
        all_stand_so(
            Some(Touch::Withdrawn),
            &[
                ("Use Deno for scripts", "I take back the Deno rule."),
                ("Use Deno for scripts", "Forget what I said about Deno."),
                ("Use Deno for scripts", "The Deno rule is obsolete."),
                ("Use Deno for scripts", "Scratch that about Deno, stay with node."),
                ("Use Deno for scripts", "The Deno decision no longer applies."),
                ("Use Deno for scripts", "Ignore my Deno instruction from before."),
                ("Use Deno for scripts", "That thing about Deno is no longer true."),
                ("Use Deno for scripts", "No more Deno please."),
                (
                    "Run the tests before every commit",
                    "Drop the rule about running tests before every commit.",
                ),
            ],
        );
    }

    #[test]
    fn what_may_be_a_part_only_puts_in_doubt() {
        all_stand_so(
            Some(Touch::Doubted),
            &[
                ("Always run the full test suite before every commit.", "Stop running the full suite."),
                ("Never use Redis as a queue", "Redis is allowed for sessions."),
                ("Never deploy on Fridays to production.", "Deploys on Fridays are allowed from now on."),
            ],
        );
    }

    #[test]
    fn what_is_for_once_a_report_a_plan_or_about_something_else_ends_nothing() {
        all_stand_so(
            None,
            &[
                ("Never push to main", "You can push to main."),
                ("Never push to main", "you can push now"),
                ("Never push to main", "The push to main is fine, thanks."),
                ("Never push to main", "You can push, again not to main"),
                ("Never push to main", "We no longer push to main."),
                ("Never touch the vendor folder.", "We can not touch the vendor folder since it is not ours"),
                (
                    "Always ask before you install a package.",
                    "You don't need to ask, just install the package now.",
                ),
                (
                    "Always run the tests before every commit.",
                    "No need to run the tests again, they passed a minute ago",
                ),
                ("Always update the changelog.", "no need to update the changelog here"),
                (
                    "Always run the tests before every commit.",
                    "Forget the test thing, let's fix the commit template first.",
                ),
                ("Never deploy on Fridays.", "That Friday thing was wrong, I meant the meeting."),
                ("Never deploy on Fridays.", "You can deploy on Mondays again."),
                ("We use Redis for caching because it is fast.", "Redis is down again."),
                ("We use Redis for caching because it is fast.", "Redis no longer holds stale keys, great."),
                (
                    "We use Redis for caching because it is fast.",
                    "In the diagram, Redis is gone, please put it back.",
                ),
                (
                    "We use Redis for caching because it is fast.",
                    "when Redis is gone, the page must still load",
                ),
                ("Never use default exports.", "default imports again"),
                ("The dev server listens on port 3000.", "The dev server is gone, restart it"),
                ("The logs are in /var/log/acme.", "The logs are gone, where are they"),
                ("The retry limit is 3", "We have 5 tests for the retry limit now."),
                ("The retry limit is 3", "The test now hits the retry limit after 12 seconds."),
                ("Max upload size is 20 MB", "The upload now takes 40 seconds at max size."),
                (
                    "The API listens on port 4000 locally.",
                    "The API on port 4000 locally now answers in 20 ms",
                ),
                ("The API listens on port 4000 locally.", "In staging the API listens on port 8080 now"),
                ("The API listens on port 4000", "The web app listens on port 5000 now."),
                ("The API listens on port 4000", "The API tests take 40 seconds now."),
                ("The API listens on port 4000", "The API is wrong."),
                ("Marta owns the billing export.", "Marta left two bugs in the billing export."),
                ("Marta owns the billing export.", "Marta left the billing export as it is."),
                ("Marta owns the billing export.", "Jonas left."),
                ("We use Kafka because we need replays", "They replaced Kafka with NATS at Acme."),
                ("We use Kafka because we need replays", "In the other project, Kafka is gone."),
                ("We use Kafka because we need replays", "We removed Kafka by accident, put it back."),
                ("We use Kafka because we need replays", "Now mock it in the test instead of Kafka."),
                (
                    "We use Kafka because we need replays",
                    "We could stop using Kafka, but then we lose replays.",
                ),
                ("We use Kafka because we need replays", "We can stop using Kafka only if the board agrees."),
                ("We use Kafka because we need replays", "We dropped Kafka, Ben said, but he is wrong."),
                ("We use Kafka because we need replays", "I don't like Kafka any more, but it stays."),
                ("We use Kafka because we need replays", "We switched from Kafka to NATS and back again."),
                ("We use Kafka because we need replays", "We dropped Kafka but took it back in May."),
                ("We use Kafka because we need replays", "The page says Kafka replaced Redis."),
                ("Use Redis for caching", "I just switched the tests from Redis to a fake."),
                ("Always run the linter before a push", "From now on run the tests before a merge."),
                ("Run the tests before pushing", "From now on run the linter before pushing."),
                ("Use Deno for scripts", "Stop the server."),
                ("Use Deno for scripts", "Stop using yarn."),
                ("Use Deno for scripts", "Should we stop using Deno?"),
                ("Use Deno for scripts", "Stop using Deno for now."),
                ("Never edit lib/a", "You can edit lib/b from now on."),
                ("Never edit lib/b", "You can edit lib/a from now on."),
                ("Always use pnpm for installs", "I removed the login page."),
                ("Always run the API tests before a commit", "The API tests pass now."),
                ("The release uses semver", "The release is out."),
                ("我们用 Redis 做缓存。", "测试里把 Redis 换成一个 mock"),
                ("我们用 Redis 做缓存。", "如果把 Redis 换成 Memcached 会怎么样"),
                ("テストは必ず vitest で書いてください。", "エラーは vitest ではなく node から出ています"),
                (
                    "本番のデータベースには直接触らないでください。",
                    "今回だけ本番のデータベースに直接触っても大丈夫です。",
                ),
                ("우리는 Redis를 캐시로 사용합니다.", "이 테스트에서는 Redis 대신 목을 쓰세요"),
            ],
        );
    }
}
