//! Finds injected lines and their sentences inside other text: joined, re-wrapped, in quotes, table cells or behind
//! marks nobody foresaw.
//!
//! A text is read as words between places where something may begin or end (lines, sentences, cells, tags, marks). A
//! piece is known by the hash of its letters and digits alone. Beside each piece the hashes of its beginnings are
//! kept, at doubling lengths, so that a text is read once and looked at closer only where a known piece begins.

use std::collections::BTreeSet;
use std::ops::Range;

use sha2::{Digest, Sha256};

use super::{AGE, SHORTEST};
use crate::text::is_unspaced;

/// Shortest heading that is known again: what doze prints over its sections may be one word.
const SHORTEST_HEADING: usize = 4;
/// Longest head without white space that is taken for a mark before the text proper: `NOTES.md:12:`, `<li>`, `(iv)`.
const LONGEST_MARK: usize = 80;

/// A run of letters and digits, or one character of a script without spaces.
struct Word {
    range: Range<usize>,
    /// A piece may begin here.
    begins: bool,
    /// A piece may end here: what follows is another sentence, line or cell.
    ends: bool,
    /// Its line is begun by this word.
    first: bool,
    /// An age stands before this word.
    apart: bool,
    /// Stands right behind a heading mark.
    heading: bool,
    /// Followed by the end of a mark or label: `Lesson:`, `2.`, `(iv)`.
    mark: bool,
}

/// What hashes a piece of text: its letters and digits in lower case, and the beginnings of doubling length.
#[derive(Clone)]
struct Reading {
    hash: Sha256,
    width: usize,
    next_start: usize,
    shortest: usize,
}

impl Reading {
    fn new(shortest: usize) -> Self {
        Self { hash: Sha256::new(), width: 0, next_start: shortest, shortest }
    }

    /// Reads a word; `at_start` is called with the hash of each beginning reached and ends the reading with `false`.
    fn word(&mut self, word: &str, mut at_start: impl FnMut(u64) -> bool) -> bool {
        let mut buffer = [0; 4];
        for c in word.chars().flat_map(char::to_lowercase) {
            self.hash.update(c.encode_utf8(&mut buffer).as_bytes());
            self.width += if is_unspaced(c) { 2 } else { 1 };
            if self.width >= self.next_start {
                self.next_start *= 2;
                // No letter is a NUL, so that a beginning is never taken for a whole.
                if !at_start(first_bytes(self.hash.clone().chain_update([0]))) {
                    return false;
                }
            }
        }
        true
    }

    fn whole(&self) -> Option<u64> {
        (self.width >= self.shortest).then(|| first_bytes(self.hash.clone()))
    }
}

pub(super) fn first_bytes(hash: Sha256) -> u64 {
    let digest = hash.finalize();
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    u64::from_be_bytes(first)
}

/// The hashes of the lines of `text`, of their parts beside an age, and of their sentences.
pub(super) fn hashes(text: &str) -> BTreeSet<u64> {
    let words = words(text);
    let mut hashes = BTreeSet::new();
    let mut add = |piece: &[Word]| {
        let mut reading = Reading::new(shortest(&piece[0]));
        let mut starts = Vec::new();
        for word in piece {
            reading.word(&text[word.range.clone()], |hash| {
                starts.push(hash);
                true
            });
        }
        if let Some(whole) = reading.whole() {
            hashes.extend(starts);
            hashes.insert(whole);
        }
    };
    for line in words.chunk_by(|_, next| !next.first) {
        add(line);
        let parts =
            line.iter().enumerate().skip(1).filter(|(at, word)| word.apart || (*at == 1 && word.begins));
        for (at, _) in parts {
            add(&line[..at]);
            add(&line[at..]);
        }
        for sentence in line.chunk_by(|word, next| !word.ends && !next.begins) {
            add(sentence);
        }
    }
    hashes
}

/// Where known pieces stand in `text`, in order. A known piece counts only between two places where one may begin and
/// end, alone or together with others: `Use pnpm for installs, he said` is somebody's own sentence.
pub(super) fn find(text: &str, is_known: &dyn Fn(u64) -> bool) -> Vec<Range<usize>> {
    let words = words(text);
    let mut found = Vec::new();
    // Where a chain of pieces was followed in vain: what follows from there is the same for every chain.
    let mut dead = BTreeSet::new();
    let mut at = 0;
    while at < words.len() {
        match words[at].begins.then(|| chain(text, &words, at, is_known, &mut dead)).flatten() {
            Some(end) => {
                found.push(words[at].range.start..words[end - 1].range.end);
                at = end;
            }
            None => at += 1,
        }
    }
    found
}

/// Follows known pieces from `start` as far as they end where a piece may end; answers the word behind them.
fn chain(
    text: &str,
    words: &[Word],
    start: usize,
    is_known: &dyn Fn(u64) -> bool,
    dead: &mut BTreeSet<usize>,
) -> Option<usize> {
    let mut accepted = None;
    let mut open = Vec::new();
    let mut at = start;
    while at < words.len() && !dead.contains(&at) {
        match longest(text, words, at, is_known) {
            Some(end) => {
                open.push(at);
                at = end;
                if words[end - 1].ends {
                    open.clear();
                    accepted = Some(end);
                }
            }
            // A label or list mark between two pieces.
            None if at > start && words[at].mark => {
                open.push(at);
                at += 1;
            }
            None => break,
        }
    }
    dead.extend(open);
    accepted
}

/// The end of the longest known piece that begins at a word; one that ends where a piece may end goes before others.
fn longest(text: &str, words: &[Word], at: usize, is_known: &dyn Fn(u64) -> bool) -> Option<usize> {
    let mut reading = Reading::new(shortest(&words[at]));
    let (mut best, mut best_ended) = (None, None);
    for (offset, word) in words[at..].iter().enumerate() {
        if !reading.word(&text[word.range.clone()], is_known) {
            break;
        }
        if reading.whole().is_some_and(is_known) {
            best = Some(at + offset + 1);
            best_ended = if word.ends { best } else { best_ended };
        }
    }
    best_ended.or(best)
}

fn shortest(word: &Word) -> usize {
    if word.heading { SHORTEST_HEADING } else { SHORTEST }
}

/// How many letters and digits a text has, those of unspaced scripts counted twice.
pub(super) fn width(text: &str) -> usize {
    text.chars().filter(|c| is_letter(*c)).map(|c| if is_unspaced(c) { 2 } else { 1 }).sum()
}

/// A letter or digit, but none of the numbers in circles and brackets that stand as list marks.
fn is_letter(c: char) -> bool {
    c.is_alphanumeric()
        && !matches!(c, '\u{2460}'..='\u{24ff}' | '\u{2776}'..='\u{2793}' | '\u{3220}'..='\u{324f}')
}

/// What the text between two words says about where pieces begin and end.
#[derive(Default)]
struct Gap {
    begins: bool,
    ends: bool,
    line: bool,
    apart: bool,
    heading: bool,
    mark: bool,
}

fn words(text: &str) -> Vec<Word> {
    let ages: Vec<Range<usize>> = AGE.find_iter(text).map(|age| age.range()).collect();
    let mut ages = ages.into_iter().peekable();
    let mut words: Vec<Word> = Vec::new();
    // Where the head began that may turn out to be a mark, and whether white space has been seen in it.
    let (mut head, mut spaced) = (0, false);
    let mut gap = Gap { begins: true, line: true, ..Gap::default() };
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        while ages.next_if(|age| age.end <= at).is_some() {}
        if let Some(age) = ages.peek().filter(|age| age.start <= at) {
            (gap.begins, gap.ends, gap.apart) = (true, true, true);
            at = age.end;
            (head, spaced) = (at, false);
            continue;
        }
        if let Some(length) = skipped(text, at, gap.line) {
            gap.line |= text[at..].starts_with("\\n");
            (gap.begins, gap.ends) = (gap.begins || gap.line, gap.ends || gap.line);
            at += length;
            continue;
        }
        if is_letter(c) {
            let length = word_length(&text[at..]);
            if let Some(last) = words.last_mut() {
                (last.ends, last.mark) = (gap.ends, gap.mark);
            }
            words.push(Word {
                range: at..at + length,
                begins: gap.begins,
                ends: false,
                first: gap.line,
                apart: gap.apart,
                heading: gap.heading,
                mark: false,
            });
            gap = Gap::default();
            at += length;
            continue;
        }
        let next = at + c.len_utf8();
        let after = text[next..].chars().next().unwrap_or('\n');
        match c {
            '\n' | '\r' => (gap.begins, gap.ends, gap.line) = (true, true, true),
            '\t' | '|' | '•' | '；' | '。' | '！' | '？' => (gap.begins, gap.ends) = (true, true),
            '.' | '!' | '?' | '…' if is_end(after) => (gap.begins, gap.ends) = (true, true),
            '<' if after == '/' || after.is_ascii_alphabetic() => gap.ends = true,
            '>' if !text[..at].ends_with(['-', '=']) => gap.begins = true,
            '"' | '”' | '」' | '』' => gap.ends = true,
            ',' if text[..at].ends_with('"') => gap.begins = true,
            ';' => (gap.begins, gap.ends) = (true, true),
            ')' => gap.ends = true,
            '#' if text[..at].chars().next_back().is_none_or(|c| c == '#' || c.is_whitespace()) => {
                (gap.begins, gap.ends, gap.heading) = (true, true, true)
            }
            _ => {}
        }
        if matches!(c, ':' | '：' | '→' | ')' | ']' | '.' | '、') {
            gap.mark = true;
            // A member of an object, too, is named by what stands before the colon.
            if (!spaced && at - head <= LONGEST_MARK) || (c == ':' && text[..at].ends_with('"')) {
                gap.begins = true;
            }
        }
        spaced |= c.is_whitespace() && !gap.begins;
        if gap.begins {
            (head, spaced) = (next, false);
        }
        at = next;
    }
    if let Some(last) = words.last_mut() {
        last.ends = true;
    }
    words
}

/// White space or a closing mark follows, so that a full stop ends a sentence.
fn is_end(after: char) -> bool {
    after.is_whitespace()
        || matches!(after, '"' | '\'' | ')' | ']' | '*' | '_' | '`' | '”' | '’' | '<' | '|' | '\\')
}

/// The length of letters that are none: an escaped line end or tab, an escaped angle bracket, the line number of a
/// listing.
fn skipped(text: &str, at: usize, line_start: bool) -> Option<usize> {
    let rest = &text[at..];
    if line_start {
        let digits = rest.bytes().take(8).take_while(u8::is_ascii_digit).count();
        if digits > 0 && rest[digits..].starts_with(['→', '\t']) {
            return Some(digits);
        }
    }
    ["\\n", "\\r", "\\t", "&lt;", "&gt;", "&amp;", "&quot;"]
        .iter()
        .find(|escape| rest.starts_with(**escape))
        .map(|escape| escape.len())
}

fn word_length(text: &str) -> usize {
    let mut chars = text.char_indices();
    match chars.next() {
        Some((_, first)) if is_unspaced(first) => first.len_utf8(),
        _ => chars.find(|(_, c)| !is_letter(*c) || is_unspaced(*c)).map_or(text.len(), |(end, _)| end),
    }
}
