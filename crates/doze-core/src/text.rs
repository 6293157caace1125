//! Text as it may leave doze: cleaned, cut, escaped, split into sentences and into comparable words.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

const ESCAPE: char = '\u{1b}';

/// Drops terminal escapes, control characters other than line feed and tab, and the invisible characters that
/// reorder or hide text, see [`visible`]. Carriage returns and the Unicode line separators become line feeds.
pub fn clean(text: &str) -> Cow<'_, str> {
    match without_controls(text) {
        // What was dropped may have stood between two characters that are looked at together.
        Cow::Owned(text) => Cow::Owned(visible(&text).into_owned()),
        Cow::Borrowed(text) => visible(text),
    }
}

fn without_controls(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unclean) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let after = &rest[first.len_utf8()..];
        rest = match first {
            ESCAPE => after_escape(after),
            '\u{9b}' => after_csi(after),
            '\r' => {
                out.push('\n');
                after.strip_prefix('\n').unwrap_or(after)
            }
            '\u{2028}' | '\u{2029}' => {
                out.push('\n');
                after
            }
            other => {
                if !is_unclean(other) {
                    out.push(other);
                }
                after
            }
        };
    }
    Cow::Owned(out)
}

fn is_unclean(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{2028}' | '\u{2029}' => true,
        other => other.is_control(),
    }
}

/// Drops the invisible characters that only hide or reorder text: bidirectional marks and overrides, zero-width
/// spaces and operators, soft hyphens, tag characters, byte order marks, and variation selectors that select nothing.
/// The joiners stay where a script or an emoji needs them: behind anything but ASCII, where they would only split a
/// word that must be recognised whole.
pub fn visible(text: &str) -> Cow<'_, str> {
    let mut before = None;
    let mut hidden = |at: usize, c: char| {
        let is_hidden = !c.is_ascii() && is_hidden(c, before, text[at + c.len_utf8()..].chars().next());
        if !is_hidden {
            before = Some(c);
        }
        is_hidden
    };
    let Some(first) = text.char_indices().find(|(at, c)| hidden(*at, *c)).map(|(at, _)| at) else {
        return Cow::Borrowed(text);
    };
    let mut out = String::with_capacity(text.len());
    out.push_str(&text[..first]);
    out.extend(text[first..].char_indices().filter(|(at, c)| !hidden(first + at, *c)).map(|(_, c)| c));
    Cow::Owned(out)
}

/// Whether a character behind `before`, the last one that stays, hides or reorders what it stands in.
fn is_hidden(c: char, before: Option<char>, after: Option<char>) -> bool {
    match c {
        '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        '\u{200c}' | '\u{200d}' => {
            before.is_none_or(|c| c.is_ascii() || matches!(c, '\u{200c}' | '\u{200d}'))
        }
        // A keycap is a digit, a selector and a frame.
        '\u{fe00}'..='\u{fe0f}' => before.is_none_or(|c| {
            is_selector(c) || c.is_whitespace() || c.is_ascii() && !(c != ' ' && after == Some('\u{20e3}'))
        }),
        // These choose between forms of one ideograph.
        '\u{e0100}'..='\u{e01ef}' => !before.is_some_and(|c| is_unspaced(c) && !is_selector(c)),
        _ => false,
    }
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// What follows a terminal escape, given the text right behind the escape character.
fn after_escape(text: &str) -> &str {
    match text.chars().next() {
        Some('[') => after_csi(&text[1..]),
        Some(']' | 'P' | '_' | '^' | 'X') => after_string(&text[1..]),
        Some('(' | ')' | '*' | '+' | '#' | '%') => {
            let designator = text[1..].chars().next().filter(char::is_ascii_alphanumeric);
            &text[1 + designator.map_or(0, char::len_utf8)..]
        }
        Some('7' | '8' | '=' | '>' | 'A'..='Z' | 'c' | '\\') => &text[1..],
        _ => text,
    }
}

/// A control sequence is parameters, intermediates and one final byte. What breaks that form stays as text.
fn after_csi(text: &str) -> &str {
    let bytes = text.as_bytes();
    let end = bytes.iter().position(|b| !(0x20..=0x3f).contains(b)).unwrap_or(bytes.len());
    match bytes.get(end) {
        Some(0x40..=0x7e) => &text[end + 1..],
        _ => &text[end..],
    }
}

/// A control string ends with BEL or ST. One that its line does not end is taken for text, so that a stray
/// introducer cannot swallow what follows.
fn after_string(text: &str) -> &str {
    let Some(end) = text.find(['\u{7}', ESCAPE, '\u{9c}', '\n']) else { return text };
    match text[end..].chars().next() {
        Some('\n') => text,
        Some(ESCAPE) => text[end + 1..].strip_prefix('\\').unwrap_or(&text[end..]),
        Some(last) => &text[end + last.len_utf8()..],
        None => text,
    }
}

/// The cleaned text on one line: every run of white space is one space, none at the ends.
pub fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in clean(text).split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// The longest start of `text` that has at most `max_chars` characters and ends between two graphemes. A single
/// grapheme longer than the limit is cut between characters.
pub fn cut(text: &str, max_chars: usize) -> &str {
    if text.len() <= max_chars {
        return text;
    }
    let Some((limit, over)) = text.char_indices().nth(max_chars) else { return text };
    let window = &text[..limit + over.len_utf8()];
    let last_break = window.grapheme_indices(true).map(|(at, _)| at).take_while(|at| *at <= limit).last();
    match last_break {
        Some(at) if at > 0 => &text[..at],
        _ => &text[..limit],
    }
}

/// Like [`cut`], with `…` as the last of at most `max_chars` characters where something was cut off.
pub fn cut_ellipsis(text: &str, max_chars: usize) -> Cow<'_, str> {
    if cut(text, max_chars).len() == text.len() {
        return Cow::Borrowed(text);
    }
    let kept = cut(text, max_chars.saturating_sub(1)).trim_end();
    Cow::Owned(if max_chars == 0 { String::new() } else { format!("{kept}…") })
}

/// A number with its thing, in the plural where it is due: `1 session`, `3 sessions`, `2 memories`.
pub fn count(number: u64, thing: &str) -> String {
    let plural = match thing.strip_suffix('y') {
        _ if number == 1 => return format!("1 {thing}"),
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ => format!("{thing}s"),
    };
    format!("{number} {plural}")
}

/// Escapes what looks like a tag, so that stored text can neither open nor close a marked block. `a < b` and `->`
/// stay as they are.
pub fn escape_tags(text: &str) -> Cow<'_, str> {
    if !text.contains('<') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut open = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '<' if opens_tag(&text[at + 1..]) => {
                open += 1;
                out.push_str("&lt;");
            }
            '>' if open > 0 => {
                open -= 1;
                out.push_str("&gt;");
            }
            other => out.push(other),
        }
    }
    Cow::Owned(out)
}

fn opens_tag(after: &str) -> bool {
    match after.chars().next() {
        Some('/' | '!' | '?') => true,
        Some(c) if c.is_alphabetic() => true,
        // Only a few blanks are looked past: more are no tag to anybody.
        Some(c) if c.is_whitespace() => {
            after.chars().take(8).find(|c| !c.is_whitespace()).is_some_and(|c| c == '/')
        }
        _ => false,
    }
}

/// Splits text into sentences. A line end ends a sentence; so do `.`, `!` and `?` before white space and their
/// CJK counterparts anywhere. Code spans, paths, URLs, version numbers and common abbreviations stay whole.
pub fn sentences(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    for line in text.lines() {
        let mut start = 0;
        for end in sentence_ends(line) {
            push_trimmed(&mut out, &line[start..end]);
            start = end;
        }
        push_trimmed(&mut out, &line[start..]);
    }
    out
}

fn push_trimmed<'a>(out: &mut Vec<&'a str>, part: &'a str) {
    let part = part.trim();
    if !part.is_empty() {
        out.push(part);
    }
}

fn sentence_ends(line: &str) -> Vec<usize> {
    let mut backticks = line.matches('`').count();
    let mut in_code = false;
    let mut ends = Vec::new();
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '`' => {
                backticks -= 1;
                // An opening mark without a closing one is no code.
                in_code = !in_code && backticks > 0;
            }
            _ if in_code => {}
            '。' | '！' | '？' | '｡' | '；' => {
                while chars.next_if(|(_, next)| is_closing(*next)).is_some() {}
                ends.push(chars.peek().map_or(line.len(), |(at, _)| *at));
            }
            '.' | '!' | '?' => {
                while chars
                    .next_if(|(_, next)| is_closing(*next) || matches!(next, '.' | '!' | '?'))
                    .is_some()
                {}
                let end = chars.peek().map_or(line.len(), |(at, _)| *at);
                let blank_follows = chars.peek().is_none_or(|(_, next)| next.is_whitespace());
                if blank_follows && !(c == '.' && is_abbreviation(&line[..at])) {
                    ends.push(end);
                }
            }
            _ => {}
        }
    }
    ends
}

fn is_closing(c: char) -> bool {
    matches!(c, '"' | '\'' | ')' | ']' | '”' | '’' | '」' | '』' | '）' | '*' | '_')
}

fn is_abbreviation(before: &str) -> bool {
    let word = before.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or("");
    let numbered = !word.is_empty() && word.len() <= 3 && word.bytes().all(|b| b.is_ascii_digit());
    let known = ["e.g", "i.e", "etc", "vs", "cf", "approx", "fig", "dr", "mr", "mrs", "resp"];
    // A number with a dot at the start of a line is a list mark, not a sentence.
    (numbered && before.trim() == word) || known.iter().any(|k| word.eq_ignore_ascii_case(k))
}

/// The lines of `text` that are prose: fenced code, quoted lines and diffs are left out.
pub fn prose_lines(text: &str) -> Vec<&str> {
    with_role(text).filter(|(_, is_prose)| *is_prose).map(|(line, _)| line).collect()
}

/// Every line, with whether it is prose.
fn with_role(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut fence: Option<(char, usize)> = None;
    let mut in_diff = false;
    text.lines().map(move |line| {
        let trimmed = line.trim_start();
        let mark = trimmed.chars().next().filter(|c| matches!(c, '`' | '~'));
        let run = mark.map_or(0, |mark| trimmed.chars().take_while(|c| *c == mark).count());
        match fence {
            Some((open, length)) => {
                if mark == Some(open) && run >= length && trimmed[run..].trim().is_empty() {
                    fence = None;
                }
                return (line, false);
            }
            None if run >= 3 => {
                fence = mark.map(|mark| (mark, run));
                return (line, false);
            }
            None => {}
        }
        if trimmed.starts_with("diff --git ") || trimmed.starts_with("@@ ") || trimmed.starts_with("--- a/") {
            in_diff = true;
        } else if trimmed.is_empty() {
            in_diff = false;
        }
        (line, !in_diff && !trimmed.starts_with('>'))
    })
}

/// A line of prose this wide was probably broken by an editor and not by its writer.
const WRAPPED: usize = 40;
/// Longest line that is made by joining.
const MAX_JOINED: usize = 4_000;

/// `text` with the sentences in one piece that its lines break: a prose line without an end mark is joined with the
/// line that continues it. What is not prose, and lists, headings, tables and `key: value` lines, stay as they are.
pub fn join_wrapped(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut is_changed = false;
    // The line that may be continued, as it stands in the text, and how long what it belongs to has become.
    let mut open: Option<&str> = None;
    let (mut length, mut was_joined) = (0, false);
    for (at, (line, is_prose)) in with_role(text).enumerate() {
        let joins = open.filter(|open| {
            is_prose && length + line.len() <= MAX_JOINED && continues(open, was_joined, line)
        });
        if let Some(before) = joins {
            is_changed = true;
            out.truncate(out.trim_end().len());
            if !is_tight(before) || !is_tight_start(line) {
                out.push(' ');
            }
            out.push_str(line.trim_start());
            length += line.len();
        } else {
            if at > 0 {
                out.push('\n');
            }
            out.push_str(line);
            length = line.len();
        }
        was_joined = joins.is_some();
        open = (is_prose && may_go_on(line, was_joined)).then_some(line);
    }
    if is_changed { Cow::Owned(out) } else { Cow::Borrowed(text) }
}

/// Whether a sentence may go on behind this line.
fn may_go_on(line: &str, is_continuation: bool) -> bool {
    let inner = line.trim();
    let end = inner.trim_end_matches(['*', '_', '`', '"', ')']).chars().next_back();
    let is_code = !is_continuation && (line.starts_with("    ") || line.starts_with('\t'));
    !is_code
        && !line.ends_with("  ")
        && !inner.starts_with(['#', '|', '<', '$', '{', '}', '/', '@', '['])
        && end.is_some_and(|c| {
            c.is_alphanumeric() || matches!(c, ',' | '，' | '、' | '-' | '–' | '—' | '\'' | '’')
        })
        && !inner.ends_with("--")
}

/// Whether `line` goes on with the sentence of `before`, which may have been joined to a line itself.
fn continues(before: &str, is_joined: bool, line: &str) -> bool {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let inner = line.trim();
    let Some(first) = inner.trim_start_matches(['`', '*', '_', '"', '(', '“']).chars().next() else {
        return false;
    };
    let is_item = |line: &str| {
        let bare = bare_line(line);
        bare.len() < line.trim().len()
            && !line.trim_start().starts_with("**")
            && !line.trim_start().starts_with("__")
    };
    let deeper = if is_item(before) { 1..=6 } else { 0..=0 };
    let fits = indent(line).checked_sub(indent(before)).is_some_and(|by| deeper.contains(&by));
    // An item's text may go on without an indentation, too.
    let is_lazy = is_item(before) && indent(line) == 0 && first.is_lowercase();
    if !(fits || is_lazy)
        || is_item(line)
        || !first.is_alphabetic()
        || is_pair(inner)
        || inner.ends_with(['{', ';'])
    {
        return false;
    }
    let wide = width(before.trim());
    let is_open = OPEN_END.is_match(before.trim_end());
    if first.is_uppercase() {
        return wide >= WRAPPED && is_open;
    }
    is_joined || wide >= WRAPPED || is_open || GOES_ON.is_match(inner)
}

/// `key: value`, `KEY=value`.
fn is_pair(line: &str) -> bool {
    let key = line.find([':', '=', '：']).map(|at| &line[..at]);
    key.is_some_and(|key| key.len() <= 30 && key.split_whitespace().count() <= 2)
}

/// A script without spaces and without Korean, which has them.
fn is_tight(text: &str) -> bool {
    text.trim_end().chars().next_back().is_some_and(is_tight_char)
}

fn is_tight_start(text: &str) -> bool {
    text.trim_start().chars().next().is_some_and(is_tight_char)
}

fn is_tight_char(c: char) -> bool {
    matches!(c, '，' | '、' | '）' | '（' | '」' | '「')
        || is_unspaced(c) && !matches!(u32::from(c), 0x1100..=0x11ff | 0x3130..=0x318f | 0xac00..=0xd7af)
}

/// No sentence ends with these.
static OPEN_END: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)(?:[,，、]|\b(?:the|a|an|of|to|and|or|but|for|in|on|at|by|with|from|into|as|is|are|be|than|that|because|before|after|without|instead|only|not|never|always|we|our|your|this|these|use|when|if|its|must|should))$",
    )
});

/// No statement of its own begins with these.
static GOES_ON: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^(?:and|or|but|nor|because|before|after|instead|rather|than|with|without|of|to|for|from|in|on|at|by|so that|since|which|whose|unless|until|when|whenever|while|where|as|into|only|over)\b",
    )
});

/// A line without its list mark, heading mark, check box and emphasis.
pub fn bare_line(line: &str) -> &str {
    let mut rest = line.trim();
    loop {
        let before = rest;
        rest = rest.trim_start_matches(['#', '•', '▪', '‣', '·', '●']).trim_start();
        for mark in ["- ", "* ", "+ ", "[ ] ", "[x] ", "[X] ", "– ", "— "] {
            rest = rest.strip_prefix(mark).unwrap_or(rest).trim_start();
        }
        rest = without_numeral(rest);
        rest = rest.strip_prefix("**").or_else(|| rest.strip_prefix("__")).unwrap_or(rest);
        if rest.len() == before.len() {
            return rest.trim_end_matches("**").trim_end_matches("__").trim_end();
        }
    }
}

/// A line without the numeral that counts it in a list: `1.`, `2)`, `3、`, `a.`, `(iv)`, `①`.
fn without_numeral(line: &str) -> &str {
    if let Some(after) = line.strip_prefix(|c| matches!(c, '①'..='⓿' | '❶'..='➓')) {
        return after.trim_start();
    }
    let inner = line.strip_prefix(['(', '（']);
    let rest = inner.unwrap_or(line);
    let length = rest.bytes().take(5).take_while(u8::is_ascii_alphanumeric).count();
    let (numeral, after) = rest.split_at(length);
    let is_numeral = match numeral.len() {
        0 | 5.. => false,
        1 if numeral.bytes().all(|b| b.is_ascii_lowercase()) => true,
        ..=3 if numeral.bytes().all(|b| b.is_ascii_digit()) => true,
        _ => numeral.bytes().all(|b| matches!(b, b'i' | b'v' | b'x')),
    };
    let behind = match inner {
        Some(_) => after.strip_prefix([')', '）']),
        None => after.strip_prefix(['.', ')', '、']),
    };
    match behind {
        Some(text) if is_numeral && (text.starts_with(' ') || after.starts_with(['、', '）'])) => {
            text.trim_start()
        }
        _ => line,
    }
}

/// How wide text is: a character of a script without spaces between words counts as two, any other as one. Used
/// where a lower bound on length is meant as a bound on content.
pub fn width(text: &str) -> usize {
    text.chars().map(|c| if is_unspaced(c) { 2 } else { 1 }).sum()
}

/// The word set of S0.27. On ASCII text exactly that: lower-case, every character other than `a-z`, `0-9` and
/// white space removed, words of more than two characters. Beyond ASCII letters and digits of every script count;
/// scripts that do not put spaces between words, and Korean, are cut into overlapping pairs of characters.
pub fn normalise_words(text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut word = String::new();
    let mut run: Vec<char> = Vec::new();
    for c in text.nfkc().flat_map(char::to_lowercase) {
        if is_unspaced(c) {
            take_word(&mut words, &mut word);
            run.push(c);
        } else if c.is_alphanumeric() || is_mark(c) {
            take_pairs(&mut words, &mut run);
            word.push(c);
        } else if c.is_whitespace() || !(c.is_ascii() || is_apostrophe(c)) {
            take_pairs(&mut words, &mut run);
            take_word(&mut words, &mut word);
        }
    }
    take_pairs(&mut words, &mut run);
    take_word(&mut words, &mut word);
    words
}

fn take_word(words: &mut BTreeSet<String>, word: &mut String) {
    if word.chars().nth(2).is_some() {
        words.insert(std::mem::take(word));
    }
    word.clear();
}

fn take_pairs(words: &mut BTreeSet<String>, run: &mut Vec<char>) {
    match run.as_slice() {
        [] => {}
        [one] => drop(words.insert(one.to_string())),
        many => words.extend(many.windows(2).map(|pair| pair.iter().collect::<String>())),
    }
    run.clear();
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '’' | '‘' | 'ʼ' | '\u{200c}' | '\u{200d}' | '\u{ad}')
}

fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

/// Whether a character belongs to a script written without spaces between words, or to Hangul, whose words are
/// mostly two syllables and a particle.
pub(crate) fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c),
        0x0e00..=0x0eff // Thai, Lao
        | 0x1000..=0x109f // Myanmar
        | 0x1100..=0x11ff // Hangul letters
        | 0x1780..=0x17ff // Khmer
        | 0x3005..=0x3007
        | 0x3040..=0x30ff // kana
        | 0x3130..=0x318f
        | 0x31f0..=0x31ff
        | 0x3400..=0x4dbf
        | 0x4e00..=0x9fff
        | 0xac00..=0xd7af // Hangul syllables
        | 0xf900..=0xfaff
        | 0x20000..=0x3ffff) // further ideographs
}

/// A pattern of ours. One that does not compile is a mistake in this crate, which the tests of its table show.
pub(crate) fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap_or_else(|error| unreachable!("{error}"))
}

/// Shared words over all words, 0–1; two empty sets are equal (1).
pub fn jaccard(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
    if a.is_empty() && b.is_empty() {
        return 1.0;
    }
    let shared = a.intersection(b).count();
    shared as f64 / (a.len() + b.len() - shared) as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plurals() {
        let cases = [
            (0, "session", "0 sessions"),
            (1, "memory", "1 memory"),
            (2, "memory", "2 memories"),
            (2, "day", "2 days"),
        ];
        for (number, thing, wanted) in cases {
            assert_eq!(count(number, thing), wanted);
        }
    }

    #[test]
    fn clean_drops_what_a_terminal_or_reader_would_be_tricked_by() {
        let table = [
            ("plain\ttext\n", "plain\ttext\n"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}rest", "rest"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}]never ended\nnext", "never ended\nnext"),
            ("a\r\nb\rc", "a\nb\nc"),
            ("a\u{0}b\u{8}c\u{7f}", "abc"),
            ("\u{202e}evil\u{2066}", "evil"),
            ("\u{9b}1mx", "x"),
            ("\u{1b}(Bx\u{1b}", "x"),
            ("hidden\u{e0041}\u{e0042}", "hidden"),
            ("日本\u{2028}語", "日本\n語"),
            ("p\u{ad}n\u{200b}p\u{2060}m\u{2064}\u{61c}\u{200e}\u{200f}\u{180e}\u{206a}!", "pnpm!"),
            ("to\u{200d}ken\u{200c}s\u{fe0f}\u{fe01}", "tokens"),
            ("x\u{e0100}\u{e0154}\u{e01ef}y", "xy"),
            ("a\u{fe0f}\u{1b}[0m\u{fe0f}", "a"),
            ("葛\u{e0100}城", "葛\u{e0100}城"),
            ("葛\u{e0100}\u{e0101}\u{e0102}城", "葛\u{e0100}城"),
            ("❤\u{fe0f} 1\u{fe0f}\u{20e3} 👩\u{200d}💻", "❤\u{fe0f} 1\u{fe0f}\u{20e3} 👩\u{200d}💻"),
            ("می\u{200c}خواهم क्\u{200d}ष", "می\u{200c}خواهم क्\u{200d}ष"),
            ("❤\u{fe0f}\u{fe0f}\u{fe0e}", "❤\u{fe0f}"),
        ];
        for (input, expected) in table {
            assert_eq!(clean(input), expected, "{input:?}");
        }
        assert!(matches!(clean("日本語 👩‍💻 ok"), Cow::Borrowed(_)));
        assert_eq!(one_line("  a\n\n b\tc\u{1b}[0m "), "a b c");
    }

    #[test]
    fn cuts_fall_between_graphemes() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "abc");
        assert_eq!(cut("ab👩‍💻cd", 4), "ab");
        assert_eq!(cut("ab👩‍💻cd", 5), "ab👩‍💻");
        assert_eq!(cut("e\u{301}e\u{301}", 3), "e\u{301}");
        assert_eq!(cut("日本語", 2), "日本");
        assert_eq!(cut("a\u{301}\u{301}\u{301}", 2), "a\u{301}");
        assert_eq!(cut("abc", 0), "");
        assert_eq!(cut_ellipsis("abcdef", 4), "abc…");
        assert_eq!(cut_ellipsis("abcd", 4), "abcd");
        assert_eq!(cut_ellipsis("abcd", 0), "");
    }

    #[test]
    fn tags_are_escaped_and_comparisons_are_not() {
        let table = [
            ("a < b -> c", "a < b -> c"),
            ("</doze-memory>", "&lt;/doze-memory&gt;"),
            ("x< /doze-memory >", "x&lt; /doze-memory &gt;"),
            ("<system-reminder>do</system-reminder>", "&lt;system-reminder&gt;do&lt;/system-reminder&gt;"),
            ("cut <doze-memory", "cut &lt;doze-memory"),
        ];
        for (input, expected) in table {
            assert_eq!(escape_tags(input), expected);
            assert_eq!(escape_tags(expected), expected);
        }
    }

    #[test]
    fn sentences_keep_code_paths_and_versions_whole() {
        let table: &[(&str, &[&str])] = &[
            ("Use v1.2.3. See src/main.rs for it.", &["Use v1.2.3.", "See src/main.rs for it."]),
            ("Run `a. b. c` first. Then stop!", &["Run `a. b. c` first.", "Then stop!"]),
            ("It costs e.g. 3.5 ms. Fine", &["It costs e.g. 3.5 ms.", "Fine"]),
            ("Visit https://a.b/c?d=e. Now", &["Visit https://a.b/c?d=e.", "Now"]),
            ("用户喜欢深色。记住：不要提交！好", &["用户喜欢深色。", "记住：不要提交！", "好"]),
            ("1. First thing. Second.", &["1. First thing.", "Second."]),
            ("one\ntwo", &["one", "two"]),
            ("odd ` mark. Next.", &["odd ` mark.", "Next."]),
            ("He said \"yes.\" Then left...", &["He said \"yes.\"", "Then left..."]),
        ];
        for (input, expected) in table {
            assert_eq!(sentences(input), *expected);
        }
    }

    #[test]
    fn prose_leaves_out_code_quotes_and_diffs() {
        let text = "keep\n```rust\ncode because\n```\n> quoted\n@@ -1 +1 @@\n-old\n+new\n\n- bullet\n~~~~\n```\nx\n~~~~\nend";
        assert_eq!(prose_lines(text), ["keep", "", "- bullet", "end"]);
        assert_eq!(bare_line("  - [ ] **TODO:** x"), "TODO:** x");
        assert_eq!(bare_line("## 2. Next steps"), "Next steps");
        for mark in
            ["1.", "12)", "3、", "a.", "b)", "iv.", "(iv)", "(2)", "（三）", "①", "❷", "➓ ", "- a.", "**1."]
        {
            let expected = if mark == "（三）" { "（三） Run it" } else { "Run it" };
            assert_eq!(bare_line(&format!("{mark} Run it")), expected);
        }
        for line in [
            "3.5 ms",
            "e.g. this",
            "i.e. that",
            "I. think",
            "vi is an editor",
            "2024. A year",
            "(see) it",
            "a b",
        ] {
            assert_eq!(bare_line(line), line);
        }
    }

    #[test]
    fn sentences_broken_over_lines_are_joined() {
        let joined = [
            ("Always run the\nlinter before committing.", "Always run the linter before committing."),
            (
                "We deploy to staging first\nbecause production has no rollback.",
                "We deploy to staging first because production has no rollback.",
            ),
            (
                "The integration tests of the billing service need\na running broker, and they\nfail without one.\nNext.",
                "The integration tests of the billing service need a running broker, and they fail without one.\nNext.",
            ),
            (
                "- Never push to main without\n  a green build.\n- Other",
                "- Never push to main without a green build.\n- Other",
            ),
            (
                "1. Use pnpm for installs,\n   npm breaks the lock file",
                "1. Use pnpm for installs, npm breaks the lock file",
            ),
            (
                "Whoever changes the schema of the warehouse must tell the\nData Platform team first.",
                "Whoever changes the schema of the warehouse must tell the Data Platform team first.",
            ),
            (
                "  indented prose that is wide enough to have been broken\n  by an editor",
                "  indented prose that is wide enough to have been broken by an editor",
            ),
            (
                "这个项目的所有数据库迁移脚本都必须先在测试环境里运行一遍，\n然后才能提交。",
                "这个项目的所有数据库迁移脚本都必须先在测试环境里运行一遍，然后才能提交。",
            ),
            (
                "コミットする前に必ずすべてのテストを実行して、\n結果を確認する",
                "コミットする前に必ずすべてのテストを実行して、結果を確認する",
            ),
            (
                "이 프로젝트는 모든 데이터베이스 마이그레이션을\n먼저 스테이징에서 실행한다",
                "이 프로젝트는 모든 데이터베이스 마이그레이션을 먼저 스테이징에서 실행한다",
            ),
        ];
        for (text, expected) in joined {
            assert_eq!(join_wrapped(text), expected, "{text}");
        }
        for text in [
            "fix the tests\nuse pnpm\nupdate the docs",
            "Use pnpm.\nnever npm.",
            "## Commands that are needed for a release of the package\nrun just release",
            "The settings that the server reads from its environment\nport: 5433\nhost = local",
            "These are the steps that everybody has to follow here\n- first\n* second\n3. third\na. fourth",
            "| a table row that is wide enough to be a broken line |\nand more",
            "A paragraph that is wide enough to be broken somewhere\n\nand another one",
            "A paragraph that is wide enough to be broken somewhere\n```\nand code\n```\nand more",
            "> a quotation that is wide enough to be broken somewhere\n> and goes on",
            "A hard break behind a line that is wide enough for one  \nand more",
            "Changed the borders of all panes from dashed to solid lines\nCommitted it",
            "Look at these lines of the program that was written:\nlet x = 1",
            "    let a = some_function_call_with_a_long_name and more words\n    let b",
            "Error: the connection to the database server was refused\n    at connect (db.js:12)",
        ] {
            assert_eq!(join_wrapped(text), text);
        }
    }

    #[test]
    fn ascii_words_are_those_of_the_seed() {
        let set = |text: &str| normalise_words(text).into_iter().collect::<Vec<_>>();
        assert_eq!(set("Don't USE src/foo.rs, it is a-b"), ["dont", "srcfoors", "use"]);
        assert_eq!(set("of to is"), Vec::<String>::new());
    }

    #[test]
    fn other_scripts_have_words_too() {
        let set = |text: &str| normalise_words(text).into_iter().collect::<Vec<_>>();
        assert_eq!(set("使用pnpm"), ["pnpm", "使用"]);
        assert_eq!(set("深色主题"), ["主题", "深色", "色主"]);
        assert_eq!(set("Пользователь любит"), ["любит", "пользователь"]);
        assert_eq!(set("don’t"), ["dont"]);
        assert_eq!(set("ｐｎｐｍ"), ["pnpm"]);
        assert_eq!(width("深色ab"), 6);
    }

    #[test]
    fn jaccard_counts_shared_over_all() {
        let set = normalise_words;
        assert_eq!(jaccard(&set(""), &set("")), 1.0);
        assert_eq!(jaccard(&set("abc"), &set("")), 0.0);
        assert_eq!(jaccard(&set("red green blue"), &set("blue green red")), 1.0);
        assert_eq!(jaccard(&set("red green blue yellow"), &set("red green blue purple")), 0.6);
    }

    proptest! {
        #[test]
        fn nothing_panics_and_bounds_hold(text in "\\PC{0,60}|[\\x00-\\x7f\u{1b}\u{9b}]{0,60}|[a1葛❤\u{200d}\u{200b}\u{fe0f}\u{e0100}\u{20e3}\u{0}]{0,20}", max in 0_usize..20) {
            prop_assert!(cut(&text, max).chars().count() <= max);
            prop_assert!(cut_ellipsis(&text, max).chars().count() <= max);
            prop_assert!(text.starts_with(cut(&text, max)));
            let cleaned = clean(&text).into_owned();
            prop_assert!(!cleaned.chars().any(is_unclean));
            prop_assert_eq!(clean(&cleaned), cleaned.as_str());
            let joined: usize = sentences(&text).iter().map(|s| s.len()).sum();
            prop_assert!(joined <= text.len());
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(letters(&join_wrapped(&text)), letters(&text));
            let escaped = escape_tags(&text).into_owned();
            prop_assert_eq!(escape_tags(&escaped), escaped.as_str());
        }

        #[test]
        fn ascii_words_match_a_plain_reading_of_the_seed(text in "[ -~\\t\\n]{0,80}") {
            let kept: String = text.to_lowercase().chars().filter(|c| c.is_ascii_alphanumeric() || c.is_whitespace()).collect();
            let expected: BTreeSet<String> = kept.split_whitespace().filter(|w| w.len() > 2).map(String::from).collect();
            prop_assert_eq!(normalise_words(&text), expected);
        }
    }
}
