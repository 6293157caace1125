//! Text as it may leave doze: cleaned, cut, escaped, split into sentences and into comparable words.

mod prose;
mod said;
#[cfg(test)]
mod tests;
mod words;

use std::borrow::Cow;

use regex::Regex;
use unicode_segmentation::UnicodeSegmentation;

pub use prose::{bare_line, join_wrapped, prose_lines, sentences};
pub use said::{Statements, is_telling};
pub(crate) use words::is_unspaced;
pub use words::{jaccard, normalise_words, width};

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

/// A topic key as it is compared and kept: one line in lower case, without spaces round its slashes, so that no other
/// spelling of a person's key is a key of its own.
pub fn topic_key(given: &str) -> String {
    let line = one_line(given).to_lowercase();
    line.split('/').map(str::trim).collect::<Vec<_>>().join("/")
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

/// A pattern of ours. One that does not compile is a mistake in this crate, which the tests of its table show.
pub(crate) fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap_or_else(|error| unreachable!("{error}"))
}
