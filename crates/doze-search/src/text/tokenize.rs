//! One tokenizer for prose, identifiers, paths and scripts without spaces.
//!
//! A run of letters and joints is a compound. It gives itself whole (`src/main.rs`), the segments of a path
//! (`main.rs`), the words between joints (`main`, `rs`) and the parts of a word in camelCase or with digits
//! (`HTTPServer2`: `httpserver2`, `http`, `server`, `2`). Runs of Han, kana, Hangul, Thai and the like give every
//! character and every pair. Emoji give themselves. The English stemmer runs over all of it afterwards.

use tantivy::tokenizer::{Stemmer, TextAnalyzer, Token, TokenStream, Tokenizer};

use super::fold;
use super::script::{Class, alphabet, class, extends_emoji, is_flag_half};

/// A compound longer than this, in bytes, gives only its parts.
const MAX_COMPOUND: usize = 128;
/// A word with more parts than this is a hash or a blob: it is only kept whole.
const MAX_PARTS: usize = 8;
/// A word in which letters and digits change more often than this is a hash: it is not split at digits.
const MAX_DIGIT_TURNS: usize = 2;

/// The tokenizer followed by the English stemmer; documents, queries and snippets all use it.
pub(crate) fn analyzer() -> TextAnalyzer {
    TextAnalyzer::builder(Words).filter(Stemmer::default()).build()
}

/// The tokenizer without the stemmer.
#[derive(Clone)]
struct Words;

impl Tokenizer for Words {
    type TokenStream<'a> = Tokens;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Tokens {
        let mut sink = Sink { text, tokens: Vec::with_capacity(text.len() / 5) };
        split(&mut sink);
        Tokens { tokens: sink.tokens.into_iter(), token: Token::default() }
    }
}

/// The tokens of a text, handed out one by one.
struct Tokens {
    tokens: std::vec::IntoIter<(String, usize, usize)>,
    token: Token,
}

impl TokenStream for Tokens {
    fn advance(&mut self) -> bool {
        let Some((text, offset_from, offset_to)) = self.tokens.next() else { return false };
        let position = self.token.position.wrapping_add(1);
        self.token = Token { offset_from, offset_to, position, text, position_length: 1 };
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

/// Where tokens go: folded, with the bytes of the text they stand for.
struct Sink<'a> {
    text: &'a str,
    tokens: Vec<(String, usize, usize)>,
}

impl Sink<'_> {
    fn push(&mut self, from: usize, to: usize) {
        let folded = fold(&self.text[from..to]);
        if !folded.is_empty() {
            self.tokens.push((folded, from, to));
        }
    }
}

/// Cuts the text into runs of one class and gives each to the rule for it.
fn split(sink: &mut Sink) {
    let text = sink.text;
    let mut chars = text.char_indices().peekable();
    while let Some(&(from, c)) = chars.peek() {
        let mut end_while = |member: &dyn Fn(char) -> bool| {
            while chars.next_if(|&(_, c)| member(c)).is_some() {}
            chars.peek().map_or(text.len(), |&(at, _)| at)
        };
        match class(c) {
            Class::Gap => {
                end_while(&|c| class(c) == Class::Gap);
            }
            Class::Word | Class::Joint => {
                let to = end_while(&|c| matches!(class(c), Class::Word | Class::Joint));
                compound(sink, from, to);
            }
            Class::Unspaced => {
                let to = end_while(&|c| class(c) == Class::Unspaced);
                unspaced(sink, from, to);
            }
            Class::Emoji => {
                chars.next();
                if is_flag_half(c) {
                    chars.next_if(|&(_, c)| is_flag_half(c));
                }
                while let Some((_, modifier)) = chars.next_if(|&(_, c)| extends_emoji(c)) {
                    if modifier == '\u{200d}' {
                        chars.next_if(|&(_, c)| class(c) == Class::Emoji);
                    }
                }
                sink.push(from, chars.peek().map_or(text.len(), |&(at, _)| at));
            }
        }
    }
}

/// Every character and every pair of neighbours.
fn unspaced(sink: &mut Sink, from: usize, to: usize) {
    let text = sink.text;
    let mut before = None;
    for (at, c) in text[from..to].char_indices() {
        let (at, end) = (from + at, from + at + c.len_utf8());
        sink.push(at, end);
        if let Some(before) = before.replace(at) {
            sink.push(before, end);
        }
    }
}

/// A run of word characters and joints: itself, the segments of the path it may be, and their words.
fn compound(sink: &mut Sink, from: usize, to: usize) {
    let (from, to) = trimmed(sink.text, from, to);
    if from == to {
        return;
    }
    let is_path = |c| matches!(c, '/' | '\\');
    if sink.text[from..to].contains(is_path) {
        if to - from <= MAX_COMPOUND {
            sink.push(from, to);
        }
        for (from, to) in pieces(sink.text, from, to, is_path) {
            let (from, to) = trimmed(sink.text, from, to);
            segment(sink, from, to);
        }
    } else {
        segment(sink, from, to);
    }
}

/// A compound without path separators: itself, if it is more than one word, and its words.
fn segment(sink: &mut Sink, from: usize, to: usize) {
    let is_joint = |c| class(c) == Class::Joint;
    if to - from <= MAX_COMPOUND && sink.text[from..to].contains(is_joint) {
        sink.push(from, to);
    }
    for (from, to) in pieces(sink.text, from, to, is_joint) {
        word(sink, from, to);
    }
}

/// A run of word characters: itself, and its parts where it has several.
fn word(sink: &mut Sink, from: usize, to: usize) {
    sink.push(from, to);
    let cuts = cuts(&sink.text[from..to]);
    if cuts.is_empty() || cuts.len() >= MAX_PARTS {
        return;
    }
    let mut start = from;
    for end in cuts.into_iter().map(|cut| from + cut).chain([to]) {
        sink.push(start, end);
        start = end;
    }
}

/// The bytes at which a word falls into parts: where lower case turns upper, before the last capital of an acronym,
/// between letters and digits, and between alphabets.
fn cuts(word: &str) -> Vec<usize> {
    if is_plural_acronym(word) {
        return Vec::new();
    }
    let (mut cuts, mut digit_cuts) = (Vec::new(), Vec::new());
    let mut chars = word.char_indices().peekable();
    let (mut before, mut last_alphabet) = (None::<char>, None);
    while let Some((at, c)) = chars.next() {
        let script = alphabet(c);
        if let Some(before) = before {
            let next_is_lower = chars.peek().is_some_and(|&(_, next)| next.is_lowercase());
            let starts_word =
                c.is_uppercase() && (before.is_lowercase() || before.is_uppercase() && next_is_lower);
            let changes_script = script.is_some() && last_alphabet.is_some() && script != last_alphabet;
            if starts_word || changes_script {
                cuts.push(at);
            } else if c.is_numeric() != before.is_numeric()
                && (c.is_alphanumeric() && before.is_alphanumeric())
            {
                digit_cuts.push(at);
            }
            if cuts.len() >= MAX_PARTS {
                return cuts;
            }
        }
        before = Some(c);
        last_alphabet = script.or(last_alphabet);
    }
    if digit_cuts.len() <= MAX_DIGIT_TURNS {
        cuts.extend(digit_cuts);
        cuts.sort_unstable();
    }
    cuts
}

/// `URLs`, `IDs`: capitals and a plural s are one word.
fn is_plural_acronym(word: &str) -> bool {
    word.strip_suffix('s').is_some_and(|stem| stem.len() >= 2 && stem.chars().all(char::is_uppercase))
}

/// The run without the joints at its ends; `c++` and `c#` keep theirs, they are names.
fn trimmed(text: &str, from: usize, to: usize) -> (usize, usize) {
    let is_joint = |c| class(c) == Class::Joint;
    let start = to - text[from..to].trim_start_matches(is_joint).len();
    let end = start + text[start..to].trim_end_matches(is_joint).len();
    let sign = ["++", "#"].into_iter().find(|sign| text[end..to].starts_with(sign));
    match sign {
        Some(sign) if end > start => (start, end + sign.len()),
        _ => (start, end),
    }
}

/// The stretches between separators, as byte ranges.
fn pieces(text: &str, from: usize, to: usize, separator: impl Fn(char) -> bool) -> Vec<(usize, usize)> {
    let mut at = from;
    let mut pieces = Vec::new();
    for piece in text[from..to].split(separator) {
        if !piece.is_empty() {
            pieces.push((at, at + piece.len()));
        }
        // Every separator is one ASCII character.
        at += piece.len() + 1;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stemmed(text: &str) -> Vec<String> {
        let mut analyzer = analyzer();
        let mut stream = analyzer.token_stream(text);
        let mut tokens = Vec::new();
        while let Some(token) = stream.next() {
            tokens.push(token.text.clone());
        }
        tokens
    }

    #[test]
    fn english_words_lose_case_and_ending() {
        for (text, expected) in [
            ("Tests, tested; TESTING!", "test test test"),
            ("running migrations", "run migrat"),
            ("The user's Don't", "the user s don t"),
            ("café Größe", "cafe gross"),
            ("3 ports: 5432", "3 port 5432"),
        ] {
            assert_eq!(stemmed(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn identifiers_give_themselves_and_their_parts() {
        for (text, expected) in [
            ("parseHttpRequest", "parsehttprequest pars http request"),
            ("HTTPServer", "httpserver http server"),
            ("snake_case_name", "snake_case_nam snake case name"),
            ("src/main.rs", "src/main.r src main.r main rs"),
            ("std::fs::read()", "std::fs::read std fs read"),
            ("--no-verify", "no-verifi no verifi"),
            ("(~/.config/doze.toml)", "config/doze.toml config doze.toml doze toml"),
            ("port5433", "port5433 port 5433"),
            ("utf8", "utf8 utf 8"),
            ("v1.24.3", "v1.24.3 v1 v 1 24 3"),
            ("URLs IDs", "url id"),
            ("C++ and C# and F", "c++ c and c# c and f"),
            ("fc44112fbe06d7d6", "fc44112fbe06d7d6"),
            ("C:\\Users\\me", "c:\\users\\m c user me"),
            ("end. Next", "end next"),
            ("a - b", "a b"),
            ("...", ""),
        ] {
            assert_eq!(stemmed(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn scripts_without_spaces_give_characters_and_pairs() {
        for (text, expected) in [
            ("缓存", "缓 存 缓存"),
            ("使用redis缓存。", "使 用 使用 redi 缓 存 缓存"),
            ("データ", "デ ー デー タ ータ"),
            ("한국", "한 국 한국"),
            ("字", "字"),
        ] {
            assert_eq!(stemmed(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn alphabets_are_parted_and_pictures_kept() {
        for (text, expected) in [
            ("Wi-Fiмодуль", "wi-fiмодуль wi fiмодуль fi модуль"),
            ("done ✅ ship 🦀!", "done ✅ ship 🦀"),
            ("👨‍👩‍👧🇩🇪👍🏽", "👨👩👧 🇩🇪 👍🏽"),
            ("שָׁלוֹם", "שלום"),
        ] {
            assert_eq!(stemmed(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn a_long_run_stays_linear_and_bounded() {
        let blob = "aB3/".repeat(50_000);
        let tokens = stemmed(&blob);
        assert!(tokens.len() < 6 * 50_000);
        assert!(stemmed(&"x".repeat(1_000_000)).iter().all(|token| token.len() <= 64));
    }

    proptest! {
        #[test]
        fn offsets_are_char_boundaries_and_every_letter_is_covered(text in "\\PC{0,60}") {
            let mut analyzer = analyzer();
            let mut stream = analyzer.token_stream(&text);
            let mut covered = vec![false; text.len()];
            while let Some(token) = stream.next() {
                prop_assert!(text.get(token.offset_from..token.offset_to).is_some());
                covered[token.offset_from..token.offset_to].fill(true);
            }
            for (at, c) in text.char_indices() {
                prop_assert!(!c.is_ascii_alphanumeric() || covered[at], "{c:?} at {at} of {text:?}");
            }
        }
    }
}
