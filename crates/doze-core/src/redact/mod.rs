//! Finds secrets in text and puts `[redacted:<rule>]` in their place (S1 fact 12, `R9`).
//!
//! Two passes: first what is recognised by its own form (keys with a prefix, key blocks, private blocks), then what
//! only its surroundings give away (headers, URLs, assignments, phrases). Each pass is one scan for literals; only around a
//! hit is anything examined, so clean text costs little and hostile text no more than linear time.
//! Borders of words are those of ASCII: for the others the fast engines have no state, and a Korean session was read at a
//! tenth of the speed.

mod assign;
mod blocks;
mod headers;
mod keys;
mod phrases;
mod told;
mod value;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use crate::text::visible;

/// Text without its secrets, and how often each rule struck.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<'a> {
    /// The text; borrowed where there was nothing to hide.
    pub text: Cow<'a, str>,
    /// Rule name → number of replacements.
    pub hits: BTreeMap<&'static str, u64>,
}

/// A secret: where it stands and the rule that knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    range: Range<usize>,
    rule: &'static str,
}

/// A replacement can lay bare a neighbour that was no word of its own before; such chains are short.
const ROUNDS: usize = 8;

/// Replaces every secret in `text`. Doing it again changes nothing. Invisible characters hide no secret, whether they
/// split one or glue it to the word before it: where one is found they are dropped from the whole text.
pub fn redact(text: &str) -> Redacted<'_> {
    match visible(text) {
        Cow::Borrowed(text) => redact_visible(text),
        Cow::Owned(seen) => {
            let whole = redact_visible(&seen);
            // To the rules an invisible character is the border of a word.
            let split = redact_visible(text);
            let count = |redacted: &Redacted<'_>| redacted.hits.values().sum::<u64>();
            let Redacted { text: out, hits } = if count(&split) > count(&whole) {
                let dropped = visible(&split.text).into_owned();
                let mut again = redact_visible(&dropped);
                split.hits.into_iter().for_each(|(rule, n)| *again.hits.entry(rule).or_default() += n);
                Redacted { text: Cow::Owned(again.text.into_owned()), hits: again.hits }
            } else {
                whole
            };
            let text = if hits.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(out.into_owned()) };
            Redacted { text, hits }
        }
    }
}

fn redact_visible(text: &str) -> Redacted<'_> {
    let mut out = Redacted { text: Cow::Borrowed(text), hits: BTreeMap::new() };
    for _ in 0..ROUNDS {
        let by_form = replace(&mut out, |text| {
            let mut found = blocks::find(text);
            found.extend(keys::find(text));
            found
        });
        let by_surroundings = replace(&mut out, |text| {
            let mut found = headers::find(text);
            found.extend(assign::find(text));
            found.extend(phrases::find(text));
            found.extend(told::find(text));
            found
        });
        if !by_form && !by_surroundings {
            break;
        }
    }
    out
}

fn replace(redacted: &mut Redacted<'_>, find: impl Fn(&str) -> Vec<Found>) -> bool {
    let mut found = find(&redacted.text);
    if found.is_empty() {
        return false;
    }
    // Of overlapping finds the one that starts first wins and takes in the others.
    found.sort_by_key(|f| (f.range.start, std::cmp::Reverse(f.range.end)));
    let mut out = String::with_capacity(redacted.text.len());
    let mut at = 0;
    let mut finds = found.into_iter().peekable();
    while let Some(Found { range, rule }) = finds.next() {
        let mut end = range.end;
        while let Some(inner) = finds.next_if(|next| next.range.start < end) {
            end = end.max(inner.range.end);
        }
        out.push_str(&redacted.text[at..range.start]);
        out.push_str("[redacted:");
        out.push_str(rule);
        out.push(']');
        *redacted.hits.entry(rule).or_default() += 1;
        at = end;
    }
    out.push_str(&redacted.text[at..]);
    redacted.text = Cow::Owned(out);
    true
}

#[cfg(test)]
mod tests;
