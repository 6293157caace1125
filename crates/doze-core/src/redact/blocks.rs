//! Secrets that span lines: `<private>` blocks and private keys, also cut off at either end.

use std::ops::Range;

use super::Found;
use crate::tags::{self, Unclosed};

/// A base64 line of a key has 64 or more characters; what a line number or quote leaves of it is still this long.
const KEY_LINE: usize = 16;

pub(super) fn find(text: &str) -> Vec<Found> {
    let mut found: Vec<Found> = if text.contains('<') {
        tags::blocks(text, |name| (name == "private").then_some(Unclosed::ToEnd))
            .into_iter()
            .map(|range| Found { range, rule: "private" })
            .collect()
    } else {
        Vec::new()
    };
    let mut from = 0;
    while let Some(at) = text[from..].find("-----").map(|at| from + at) {
        from = at + 5;
        let Some(label) = Label::at(text, at) else { continue };
        from = label.end;
        let range =
            if label.begins { key_from(text, at, label.end) } else { key_before(text, label.end, at) };
        if let Some(range) = range {
            from = range.end.max(from);
            found.push(Found { range, rule: "private-key" });
        }
    }
    found
}

/// `-----BEGIN … PRIVATE KEY…-----` or the END of it.
struct Label {
    begins: bool,
    end: usize,
}

impl Label {
    fn at(text: &str, at: usize) -> Option<Self> {
        const LONGEST: usize = 64;
        let rest = text[at..].strip_prefix("-----")?;
        let (begins, rest) = match (rest.strip_prefix("BEGIN "), rest.strip_prefix("END ")) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ => return None,
        };
        let length = rest
            .bytes()
            .take(LONGEST)
            .take_while(|b| b.is_ascii_uppercase() || matches!(b, b' ' | b'0'..=b'9'))
            .count();
        let name = &rest[..length];
        let end = at + 5 + if begins { 6 } else { 4 } + length;
        let closed = text[end..].starts_with("-----");
        let cut_off = begins && text[end..].trim_start_matches('-').is_empty();
        (name.contains("PRIVATE KEY") && (closed || cut_off))
            .then_some(Self { begins, end: if closed { end + 5 } else { text.len() } })
    }
}

/// The key that a BEGIN label opens. Without a single line of key behind it the label is only spoken of.
fn key_from(text: &str, start: usize, body: usize) -> Option<Range<usize>> {
    let mut end = None;
    let mut weak_end = None;
    for line in (Lines { text, at: body }) {
        if let Some(at) = text[line.clone()].find("-----END ") {
            let at = line.start + at;
            let label = Label::at(text, at).filter(|label| !label.begins)?;
            let any = end.is_some() || weak_end.is_some() || has_base64(&text[line.start..at]);
            return any.then_some(start..label.end);
        }
        match line_form(&text[line.clone()]) {
            Form::Key => end = Some(line.end),
            Form::Short => weak_end = Some(line.end),
            Form::Blank | Form::Header => {}
            Form::Other => return end.map(|end| start..end),
        }
    }
    // Cut off at the end of the text: the last line may be short.
    end.max(weak_end).map(|end| start..end)
}

/// The key whose END label is all that is left of its frame: the key lines right before it.
fn key_before(text: &str, end: usize, label: usize) -> Option<Range<usize>> {
    let mut start = None;
    let mut at = label;
    let mut lines = 0;
    while at > 0 {
        let head = text[..at].trim_end_matches(['\n', '\r', ' ', '\t']);
        let head = head.strip_suffix("\\n").or_else(|| head.strip_suffix("\\r\\n")).unwrap_or(head);
        let line_start = [head.rfind('\n').map(|p| p + 1), head.rfind("\\n").map(|p| p + 2)]
            .into_iter()
            .flatten()
            .max()
            .unwrap_or(0);
        match line_form(&head[line_start..]) {
            Form::Key => start = Some(line_start),
            // The last line before the label may be short.
            Form::Short if lines == 0 => {}
            _ => break,
        }
        lines += 1;
        at = line_start;
    }
    start.map(|start| start..end)
}

enum Form {
    Key,
    Short,
    Header,
    Blank,
    Other,
}

/// What a line of a key block is, past line numbers, quotes and the like that tools put round it.
fn line_form(line: &str) -> Form {
    let line = line.trim_matches(|c: char| {
        c.is_whitespace() || matches!(c, '"' | '\'' | '\\' | ',' | ';' | '>' | '|' | '→' | '`')
    });
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let line = match digits.chars().next() {
        Some('→' | ':' | '|' | '\t') => {
            digits.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '→' | '"' | '|' | ':'))
        }
        _ => line,
    };
    if line.is_empty() {
        return Form::Blank;
    }
    if line.bytes().all(is_base64) {
        return if line.len() >= KEY_LINE { Form::Key } else { Form::Short };
    }
    if ["Proc-Type:", "DEK-Info:", "Version:", "Comment:", "Hash:", "Charset:"]
        .iter()
        .any(|h| line.starts_with(h))
    {
        return Form::Header;
    }
    let words = line.split_whitespace();
    if words.clone().all(|word| word.bytes().all(is_base64)) && words.clone().any(|word| word.len() >= 40) {
        return Form::Key;
    }
    Form::Other
}

fn has_base64(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii() || !is_base64(c as u8)).any(|run| run.len() >= 8)
}

fn is_base64(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=')
}

/// Lines of a text in which a line end may also be written as an escape (`\n`, `\r\n`).
struct Lines<'a> {
    text: &'a str,
    at: usize,
}

impl Iterator for Lines<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        // A key line is short; the bound keeps a text of one endless line from being read again for every label.
        const LONGEST: usize = 16 * 1024;
        if self.at >= self.text.len() {
            return None;
        }
        let start = self.at;
        let bytes = &self.text.as_bytes()[start..];
        let mut end = 0;
        let mut skip = 0;
        while end < bytes.len().min(LONGEST) {
            match bytes[end] {
                b'\n' => skip = 1,
                b'\\' if matches!(bytes.get(end + 1), Some(b'n' | b'r')) => skip = 2,
                _ => {}
            }
            if skip > 0 {
                break;
            }
            end += 1;
        }
        while !self.text.is_char_boundary(start + end) {
            end += 1;
        }
        self.at = start + end + skip;
        Some(start..start + end)
    }
}
