//! Secrets that are made of plain words or digits, so that only what is said before them gives them away:
//! `passphrase: four plain words`, `PIN: 0000`, lists of recovery codes.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::Found;
use crate::text::regex;

/// A name with what joins it to its value, up to the value.
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i:(?P<words>pass[ _-]?(?:word|phrase|code)|mnemonic|(?:seed|recovery|secret|backup|wallet|diceware)[ _-](?:phrase|words?))",
        r"|(?P<digits>(?:(?-u:\b)|_)pin(?:[ _-]?(?:code|number|码|碼))?|(?-u:\b)otp|(?:2fa|mfa|verification|security|one-time)[ _-]code)|(?P<cjk>暗証番号|密码|密碼|口令|비밀번호))",
        r#"\\?["'`*\])]{0,3}[ \t]{0,3}(?:[:=：＝]|(?-u:\b)(?i:is|was)(?-u:\b)|是|は|为|為|는|은)[ \t]{0,3}[:：]?\\?["'`“「*]{0,3}[ \t]?"#
    ))
});

/// The name of a list of codes.
static CODES: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)(?-u:\b)(?:recovery|backup|scratch|emergency|2fa|mfa|one-time)[ _-]?(?:login[ _-])?codes?(?-u:\b)",
    )
});

/// Words of a passphrase, beside the counts that a mnemonic may have.
const PHRASE: std::ops::RangeInclusive<usize> = 4..=10;
const MNEMONIC: [usize; 5] = [12, 15, 18, 21, 24];
/// Digits of a PIN.
const PIN: std::ops::RangeInclusive<usize> = 4..=10;
/// Codes of one list.
const MAX_CODES: usize = 64;

/// Words of sentences about a secret; a passphrase ends before one.
const PROSE: &[&str] = &[
    "a",
    "about",
    "after",
    "again",
    "against",
    "all",
    "already",
    "also",
    "always",
    "an",
    "and",
    "any",
    "are",
    "as",
    "asked",
    "at",
    "be",
    "because",
    "been",
    "before",
    "being",
    "but",
    "by",
    "can",
    "case",
    "changed",
    "characters",
    "checked",
    "code",
    "come",
    "comes",
    "correct",
    "could",
    "default",
    "defined",
    "different",
    "do",
    "does",
    "empty",
    "encrypted",
    "enough",
    "entered",
    "expired",
    "field",
    "for",
    "found",
    "from",
    "generated",
    "get",
    "given",
    "has",
    "hash",
    "hashed",
    "have",
    "here",
    "hidden",
    "if",
    "in",
    "incorrect",
    "input",
    "instead",
    "into",
    "invalid",
    "is",
    "it",
    "its",
    "just",
    "kept",
    "left",
    "less",
    "long",
    "longer",
    "made",
    "may",
    "minimum",
    "missing",
    "more",
    "must",
    "needed",
    "never",
    "new",
    "no",
    "none",
    "not",
    "now",
    "of",
    "on",
    "once",
    "one",
    "only",
    "optional",
    "or",
    "other",
    "our",
    "over",
    "passed",
    "plain",
    "please",
    "printed",
    "prompt",
    "read",
    "rejected",
    "required",
    "reset",
    "safe",
    "same",
    "saved",
    "sent",
    "set",
    "should",
    "shown",
    "so",
    "still",
    "stored",
    "string",
    "taken",
    "than",
    "that",
    "the",
    "their",
    "then",
    "there",
    "they",
    "this",
    "to",
    "too",
    "unless",
    "until",
    "use",
    "used",
    "user",
    "using",
    "valid",
    "value",
    "via",
    "wait",
    "was",
    "we",
    "weak",
    "well",
    "what",
    "when",
    "where",
    "which",
    "while",
    "will",
    "with",
    "without",
    "would",
    "wrong",
    "you",
    "your",
];

pub(super) fn find(text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    for name in NAMED.captures_iter(text) {
        let Some(at) = name.get(0).map(|whole| whole.end()) else { continue };
        let range = if name.name("words").is_some() {
            words(text, at).or_else(|| digits(text, at))
        } else {
            digits(text, at)
        };
        found.extend(range.map(|range| Found { range, rule: "secret" }));
    }
    for name in CODES.find_iter(text) {
        found.extend(codes(text, name.end()).into_iter().map(|range| Found { range, rule: "recovery-code" }));
    }
    found
}

/// Four or more plain words, or as many as a mnemonic has, with one blank or the same mark between each two.
fn words(text: &str, at: usize) -> Option<Range<usize>> {
    let is_lower = text[at..].starts_with(|c: char| c.is_ascii_lowercase());
    let mut end = at;
    let mut count = 0;
    // In a phrase of this length words of prose are words of the list it was drawn from.
    let mut prose_at = None;
    let mut joint = None;
    while count <= MNEMONIC[MNEMONIC.len() - 1] {
        let start = match joint {
            None => end,
            Some(_) => end + 1,
        };
        let rest = &text.as_bytes()[start..];
        let length = rest.iter().take(13).take_while(|b| b.is_ascii_alphabetic()).count();
        let word = &text[start..start + length];
        let fits = (3..=12).contains(&length)
            && word.bytes().enumerate().all(|(at, b)| b.is_ascii_lowercase() == (is_lower || at > 0));
        // The first word may be any: `correct` begins the best known passphrase of all.
        let is_prose = count > 0 && PROSE.contains(&word) || word.len() < 3;
        if is_prose && prose_at.is_none() {
            prose_at = Some((count, end));
        }
        if !fits {
            break;
        }
        count += 1;
        end = start + length;
        match (text.as_bytes().get(end), joint) {
            (Some(next @ (b' ' | b'-' | b'.' | b'_')), None) => joint = Some(*next),
            (next, Some(joint)) if next == Some(&joint) => {}
            _ => break,
        }
    }
    if MNEMONIC.contains(&count) && !text.as_bytes().get(end).is_some_and(u8::is_ascii_alphanumeric) {
        return Some(at..end);
    }
    let (count, end) = prose_at.unwrap_or((count, end));
    let is_cut_word = text.as_bytes().get(end).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'(');
    (PHRASE.contains(&count) && !is_cut_word).then_some(at..end)
}

/// A number that is no part of a longer one, of a version or of a time.
fn digits(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = &text.as_bytes()[at..];
    let length = bytes.iter().take(PIN.end() + 1).take_while(|b| b.is_ascii_digit()).count();
    let (next, after) = (bytes.get(length), bytes.get(length + 1));
    let goes_on = next.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_')
        || matches!(next, Some(b'.' | b':' | b'-' | b'/' | b',')) && after.is_some_and(u8::is_ascii_digit);
    (PIN.contains(&length) && !goes_on).then_some(at..at + length)
}

/// The codes that stand behind their name: in one line, in a list below, in an array.
fn codes(text: &str, at: usize) -> Vec<Range<usize>> {
    const LONGEST_HEAD: usize = 60;
    const LONGEST_GAP: usize = 64;
    let head = text[at..].char_indices().take(LONGEST_HEAD);
    let Some((separator, c)) = head.clone().find(|(_, c)| matches!(c, ':' | '=' | '：' | '\n')) else {
        return Vec::new();
    };
    let mut at = at + separator + c.len_utf8();
    let mut found = Vec::new();
    while found.len() < MAX_CODES {
        let gap = gap(&text[at..]);
        if gap > LONGEST_GAP {
            break;
        }
        at += gap;
        let is_part = |b: &u8| b.is_ascii_alphanumeric() || *b == b'-';
        let length = text.as_bytes()[at..].iter().take(64).take_while(|b| is_part(b)).count();
        let code = text[at..at + length].trim_end_matches('-');
        if !is_code(code) {
            break;
        }
        found.push(at..at + code.len());
        at += length;
    }
    found
}

/// What stands between two codes: blanks, marks, quotes, numbers of a list.
fn gap(text: &str) -> usize {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let marks = rest.len()
            - rest
                .trim_start_matches([
                    ' ', '\t', '\n', '\r', ',', ';', '"', '\'', '[', '|', '*', '•', '`', '-', '–',
                ])
                .len();
        let digits = rest[marks..].bytes().take(2).take_while(u8::is_ascii_digit).count();
        let number = match rest.as_bytes().get(marks + digits) {
            Some(b'.' | b')' | b':') if digits > 0 => digits + 1,
            _ if rest[marks..].starts_with("\\n") => 2,
            _ => 0,
        };
        at += marks + number;
        if marks + number == 0 || at > 128 {
            return at;
        }
    }
}

/// Six or more letters and digits, among them a digit, in parts of three or more.
fn is_code(code: &str) -> bool {
    let letters = code.bytes().filter(u8::is_ascii_alphanumeric).count();
    (6..=40).contains(&letters)
        && code.bytes().any(|b| b.is_ascii_digit())
        && code.split('-').all(|part| part.len() >= 3)
}
