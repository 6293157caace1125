//! Finds JSON in text.

use std::borrow::Cow;

use serde_json::{Deserializer, Value};

/// Openings that are tried: a reply with more brackets than this before its JSON is no reply.
const MAX_TRIES: usize = 512;
/// Bytes that are read in all for openings that lead nowhere: a text may look like JSON for long at each of them.
const MAX_READ: usize = 8 << 20;
/// Tags in which models think aloud.
const THOUGHTS: &[&str] = &["think", "thinking", "thought", "reasoning", "reflection"];

/// A JSON value found in a text.
pub(super) struct Piece {
    pub(super) value: Value,
    /// The text ended inside it; the value is what was complete.
    pub(super) cut_off: bool,
}

/// The value that a text is, when it is nothing else: in a fence or bare.
pub(super) fn whole(text: &str) -> Option<Value> {
    let bare = text.trim().trim_start_matches('\u{feff}').trim_start();
    let fenced = bare.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let bare = fenced.map_or(bare, |rest| rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric()));
    serde_json::from_str(bare).ok()
}

/// `text` without what its author only thought. A thought that never ends leaves nothing behind it; an end without
/// a beginning ends everything before it.
pub(super) fn without_thoughts(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut kept_to = 0;
    let mut thinking: Option<&str> = None;
    for (at, _) in text.match_indices('<') {
        let Some((tag, closes, len)) = tag_at(&text[at..]) else { continue };
        match thinking {
            Some(open) if closes && open == tag => {
                thinking = None;
                kept_to = at + len;
            }
            Some(_) => {}
            None if closes => {
                out.clear();
                kept_to = at + len;
            }
            None => {
                out.push_str(&text[kept_to..at]);
                thinking = Some(tag);
            }
        }
    }
    if kept_to == 0 && thinking.is_none() {
        return Cow::Borrowed(text);
    }
    if thinking.is_none() {
        out.push_str(&text[kept_to..]);
    }
    Cow::Owned(out)
}

/// The tag of a thought that a text begins with: its name, whether it closes, and its length.
fn tag_at(text: &str) -> Option<(&'static str, bool, usize)> {
    let closes = text.starts_with("</");
    let start = if closes { 2 } else { 1 };
    THOUGHTS.iter().find_map(|tag| {
        let end = start + tag.len();
        let named = text.get(start..end).is_some_and(|name| name.eq_ignore_ascii_case(tag));
        (named && text[end..].starts_with('>')).then_some((*tag, closes, end + 1))
    })
}

/// The objects and lists in a text, outermost first where they are whole; of a broken one what stands inside it.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
    let mut found = Vec::new();
    let (mut at, mut left) = (0, MAX_READ);
    for _ in 0..MAX_TRIES {
        let Some(start) = text[at..].find(['{', '[']).map(|start| at + start) else { break };
        let rest = &text[start..];
        let mut values = Deserializer::from_str(rest).into_iter::<Value>();
        let error = match values.next() {
            Some(Ok(value)) => {
                at = start + values.byte_offset();
                found.push(Piece { value, cut_off: false });
                continue;
            }
            Some(Err(error)) => error,
            None => break,
        };
        if error.is_eof() {
            let value = closed(rest);
            let is_list =
                |value: &Value| value.as_array().and_then(|list| list.first()).is_some_and(Value::is_array);
            left = left.saturating_sub(rest.len());
            if value.as_ref().is_some_and(is_list) && left > 0 {
                // No reply is a list of lists: a bracket of the prose stands before it.
                at = start + 1;
                continue;
            }
            // Up to here all of it was JSON, so that whatever else opens in it belongs to this value.
            found.extend(value.map(|value| Piece { value, cut_off: true }));
            break;
        }
        left = left.saturating_sub(read_by(rest, &error));
        if left == 0 {
            break;
        }
        at = start + 1;
    }
    found
}

/// Bytes of a text before the place of an error.
fn read_by(text: &str, error: &serde_json::Error) -> usize {
    let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
    lines.map(str::len).sum::<usize>() + error.column()
}

/// A value that its text's end cut off, with its last complete parts: cut behind the last of them, and closed. All
/// before the cut is known to be JSON.
fn closed(text: &str) -> Option<Value> {
    let mut open: Vec<char> = Vec::new();
    let mut cut: Option<(usize, usize)> = None;
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
                open.pop();
                cut = Some((at + 1, open.len()));
            }
            ',' => cut = Some((at, open.len())),
            _ => {}
        }
    }
    // What opened behind the cut is left out, and nothing before it closes until the cut.
    let (end, depth) = cut?;
    let closing: String = open.iter().take(depth).rev().collect();
    serde_json::from_str(&format!("{}{closing}", &text[..end])).ok()
}
