//! Secrets that a sentence or a table tells, with words between the name and the value: `the password for staging is …`,
//! `use the token …`, `| password | … |`.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::Found;
use crate::text::regex;

/// What stands before the value; the group says what the value must be like.
static TOLD: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        // The password for the staging host is …
        r"(?i)(?P<said>(?-u:\b)(?-u:pass[ _-]?(?:word|phrase|code)|passwd|passwort|kennwort|pwd|token|api[ _-]?key|secret(?:[ _-]?key)?)",
        r"(?-u:[ \t]+)(?:for|of|to|on|at|in|für|von|zu|zum|vom|der)(?-u:(?:[ \t]+[A-Za-z0-9_.-]+){1,4}?[ \t]{0,3})(?:[:=：]|(?-u:\b)(?:is|was|ist|lautet)(?-u:\b))(?-u:[ \t]{0,3})[\x22'`“„]?)",
        // A table, and a name and its value in code marks.
        r"|(?P<cell>(?-u:\|[ \t]*(?:[A-Za-z0-9_-]+[ _-])?(?:password|passwd|passwort|token|api[ _-]?key|secret)[ \t]*\|[ \t]*`?))",
        r"|(?P<code>(?-u:`[A-Za-z0-9_-]*(?:api[_-]?key|token|secret|passw(?:or)?d)[A-Za-z0-9_-]*`[ \t]+`))",
        r"|(?P<pin>(?-u:\b)(?-u:pin[ \t]+)(?:for|of|für|von|der)(?-u:(?:[ \t]+[A-Za-z0-9_-]+){1,4}?[ \t]{0,3})(?:[:=：]|(?-u:\b)(?:is|ist)(?-u:\b))(?-u:[ \t]{0,3}))"
    ))
});

/// Use the token …
static HANDED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)(?-u:\b)(?-u:(?:(?:the|this|my|our|das|den|mein(?:en)?)[ \t]+(?:[A-Za-z0-9_-]+[ \t]+)?(?:token|api[ _-]?key|secret)|(?P<word>password|passwd|passwort|kennwort|passphrase|passcode))[ \t]+)[\x22'`“„]?",
    )
});

/// Log in as root with …, the wifi key is …, 密码是 …
static ENTERED: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)(?-u:\b)(?-u:(?:log(?:ging)?[ \t]?in|ssh|sign[ \t]in|connect|user)(?:[ \t]+in)?(?:[ \t]+(?:is|as|with|user|to|on))*[ \t]+[A-Za-z0-9_.@-]{2,40}[ \t]*(?:,?[ \t]+(?:with[ \t]+(?:password[ \t]+)?|and[ \t]+password[ \t]+)|[ \t]?/[ \t]?))",
        r"|(?-u:\b(?:wi-?fi|wlan)[ \t]+(?:key|pass(?:word|wort)?)[ \t]+(?:(?:is|ist)[ \t]+)?)[\x22'`“„]?",
        r"|(?:密码|密碼|口令|パスワード|비밀번호)[^\sA-Za-z0-9，。]{0,6}[ \t]*"
    ))
});

/// PIN 4711
static PIN_GIVEN: LazyLock<Regex> = LazyLock::new(|| regex(r"(?-u:\bPIN[ \t]+)"));

/// Use the passphrase correct horse battery staple.
static PHRASE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)(?-u:\b)(?-u:(?:use|with|try)[ \t]+(?:the[ \t]+)?passphrase[ \t]+)[\x22'`“„]?(?P<words>(?-u:[a-z]{2,16}(?:[ -][a-z]{2,16}){2,9}))(?:[\x22'`”“.!,;]|\s*$)",
    )
});

/// Words of a sentence, not of a passphrase.
const NO_PHRASE: &[&str] = &[
    "when", "it", "to", "the", "is", "are", "for", "if", "and", "that", "of", "in", "on", "from", "prompt",
    "as",
];

/// What stands behind `password` and is none.
const NO_VALUES: &[&str] =
    &["base64", "sha256", "sha512", "oauth2", "argon2id", "pbkdf2", "scrypt", "utf8", "http2", "totp6"];

/// Characters of a value that a sentence tells, of one that stands right behind its name, and of one without a path's signs.
const SAID: usize = 8;
/// The same of one that is given with a name to log in with, or behind the word itself.
const ENTERED_LENGTH: usize = 6;
const LONG: usize = 32;
const PLAIN: usize = 16;
const PIN: std::ops::RangeInclusive<usize> = 4..=10;
const LONGEST: usize = 512;

pub(super) fn find(text: &str) -> Vec<Found> {
    let of_a_pin = |given: &str| PIN.contains(&given.len()) && given.bytes().all(|b| b.is_ascii_digit());
    let told = TOLD.captures_iter(text).filter_map(|told| {
        let value = value_at(text, told.get(0)?.end());
        let given = &text[value.clone()];
        let fits =
            if told.name("pin").is_some() { of_a_pin(given) } else { is_mixed(given) && given.len() >= SAID };
        fits.then_some(value)
    });
    let handed = HANDED.captures_iter(text).filter_map(|handed| {
        let value = value_at(text, handed.get(0)?.end());
        let least = if handed.name("word").is_some() { ENTERED_LENGTH } else { PLAIN };
        let given = &text[value.clone()];
        let is_plain = !given.contains(['/', '.', ':']);
        (is_mixed(given) && (given.len() >= LONG || is_plain && given.len() >= least)).then_some(value)
    });
    let entered = ENTERED.find_iter(text).filter_map(|entered| {
        let value = value_at(text, entered.end());
        let given = &text[value.clone()];
        (is_mixed(given) && given.len() >= ENTERED_LENGTH && !given.contains(['/', ':'])).then_some(value)
    });
    let pins = PIN_GIVEN.find_iter(text).map(|pin| value_at(text, pin.end()));
    let pins = pins.filter(|value| of_a_pin(&text[value.clone()]));
    let is_sentence =
        |words: &str| words.split([' ', '-']).any(|word| NO_PHRASE.contains(&word.to_lowercase().as_str()));
    let phrases = PHRASE.captures_iter(text).filter_map(|told| told.name("words"));
    let phrases = phrases.filter(|words| !is_sentence(words.as_str())).map(|words| words.range());
    told.chain(handed)
        .chain(entered)
        .chain(pins)
        .chain(phrases)
        .map(|range| Found { range, rule: "secret" })
        .collect()
}

fn is_mixed(given: &str) -> bool {
    !NO_VALUES.contains(&given.to_lowercase().as_str())
        && given.bytes().any(|b| b.is_ascii_alphabetic())
        && given.bytes().any(|b| b.is_ascii_digit())
}

/// The run of characters that may be one value, without what ends a sentence.
fn value_at(text: &str, at: usize) -> Range<usize> {
    let is_part = |c: char| {
        c.is_ascii_graphic() && !matches!(c, '"' | '\'' | '`' | '|' | '<' | '>' | '(' | ')' | '[' | ']')
    };
    let rest = &text[at..];
    let length: usize = rest.chars().take(LONGEST).take_while(|c| is_part(*c)).map(char::len_utf8).sum();
    at..at + rest[..length].trim_end_matches(['.', ',', ';', ':', '!', '?']).len()
}
