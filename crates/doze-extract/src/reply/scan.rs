//! Finds JSON in text.

use std::borrow::Cow;

use serde_json::{Deserializer, Value};

/// Openings that are tried: a reply with more brackets than this before its JSON is no reply.
const MAX_TRIES: usize = 512;
/// Places at which a reply that broke off is closed, from its end backwards.
const MAX_CUTS: usize = 64;
/// Tags in which models think aloud.
const THOUGHTS: &[&str] = &["think", "thinking", "thought", "reasoning", "reflection"];

/// A JSON value found in a text.
pub(super) struct Piece {
    pub(super) value: Value,
    /// The text ended inside it; the value is what was complete.
    pub(super) cut_off: bool,
}

/// `text` without what its author only thought. A thought that never ends leaves nothing behind it; an end without
/// a beginning ends everything before it.
pub(super) fn without_thoughts(text: &str) -> Cow<'_, str> {
    let mut rest = Cow::Borrowed(text);
    for tag in THOUGHTS {
        let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
        if !rest.contains(&open) && !rest.contains(&close) {
            continue;
        }
        let mut out = String::new();
        let mut at = 0;
        loop {
            let start = rest[at..].find(&open).map(|found| at + found);
            let end = rest[at..].find(&close).map(|found| at + found);
            match (start, end) {
                (Some(start), Some(end)) if start < end => {
                    out.push_str(&rest[at..start]);
                    at = end + close.len();
                }
                (_, Some(end)) => {
                    out.clear();
                    at = end + close.len();
                }
                (Some(start), None) => {
                    out.push_str(&rest[at..start]);
                    break;
                }
                (None, None) => {
                    out.push_str(&rest[at..]);
                    break;
                }
            }
        }
        rest = Cow::Owned(out);
    }
    rest
}

/// The objects and lists in a text, outermost first where they are whole; of a broken one what stands inside it.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
    let mut found = Vec::new();
    let mut at = 0;
    for _ in 0..MAX_TRIES {
        let Some(start) = text[at..].find(['{', '[']).map(|start| at + start) else { break };
        let mut values = Deserializer::from_str(&text[start..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                at = start + values.byte_offset();
                found.push(Piece { value, cut_off: false });
            }
            Some(Err(error)) if error.is_eof() => {
                if let Some(value) = closed(&text[start..]) {
                    found.push(Piece { value, cut_off: true });
                }
                at = start + 1;
            }
            _ => at = start + 1,
        }
    }
    found
}

/// A value that its text's end cut off, with its last complete parts: cut behind one of them, and closed.
fn closed(text: &str) -> Option<Value> {
    let mut open: Vec<char> = Vec::new();
    let mut cuts: Vec<(usize, String)> = Vec::new();
    let (mut in_string, mut escaped) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ if in_string => {}
            '{' => open.push('}'),
            '[' => open.push(']'),
            '}' | ']' => {
                if open.pop() != Some(c) {
                    break;
                }
                cuts.push((at + 1, open.iter().rev().collect()));
            }
            ',' => cuts.push((at, open.iter().rev().collect())),
            _ => {}
        }
        // Only the last ones are tried, and each holds a copy of what is open there.
        if cuts.len() > 2 * MAX_CUTS {
            cuts.drain(..MAX_CUTS);
        }
    }
    let last = cuts.into_iter().rev().take(MAX_CUTS);
    last.into_iter()
        .find_map(|(end, closing)| serde_json::from_str(&format!("{}{closing}", &text[..end])).ok())
}
