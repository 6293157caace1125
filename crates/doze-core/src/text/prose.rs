//! Sentences, the lines that are prose, and lines without their marks.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::{is_unspaced, regex, width};

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
const WRAPPED: usize = 58;
/// One this wide may have been, where the next begins with a word that carries a sentence on.
const MAY_BE_WRAPPED: usize = 40;
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
        return wide >= MAY_BE_WRAPPED && is_open;
    }
    let carries_on = || wide >= MAY_BE_WRAPPED && CARRIES_ON.is_match(inner);
    is_joined || wide >= WRAPPED || is_open || GOES_ON.is_match(inner) || carries_on()
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

/// In the middle of a sentence rather than at the beginning of a note.
static CARRIES_ON: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^(?:a|an|the|their|its|our|your|it|they|we|you|is|are|was|were|be|been|has|have|had|should|must|can|will|would|may|not|never|always|that|this|these|those)\b|^\p{Hangul}",
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
