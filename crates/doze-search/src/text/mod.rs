//! Text made searchable: folding, tokens, the terms of a query and the best window of a text.
//!
//! The same tokens are made of documents and of queries, so that whatever was written can be found as it was written.

mod fold;
mod script;
mod snippet;
mod stop;
mod tokenize;

pub(crate) use fold::fold;
pub use snippet::snippet;
pub(crate) use tokenize::analyzer;

use std::collections::HashSet;

/// The first so many bytes of a query are read; the rest of a pasted file adds cost and no meaning.
pub(crate) const MAX_QUERY_BYTES: usize = 16 * 1024;

/// At most so many distinct terms of a query are searched for.
pub(crate) const MAX_QUERY_TERMS: usize = 64;

/// The distinct terms of a query, in the order of their first appearance: folded, stemmed, without stop words.
///
/// A query that has only stop words keeps them all: what was typed is what is searched. At most 64 terms.
pub fn terms(text: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut words = Vec::new();
    let mut analyzer = analyzer();
    let mut stream = analyzer.token_stream(truncated(text, MAX_QUERY_BYTES));
    let mut before = String::new();
    while let Some(token) = stream.next() {
        if !stop::asks(&before, &token.text) && seen.insert(token.text.clone()) {
            words.push(token.text.clone());
        }
        before.clone_from(&token.text);
    }
    if words.iter().any(|word| !stop::is_stop_word(word)) {
        words.retain(|word| !stop::is_stop_word(word));
    }
    words.truncate(MAX_QUERY_TERMS);
    words
}

/// The text, cut at a char boundary so that it has at most `max` bytes.
pub(crate) fn truncated(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_leave_unless_nothing_else_is_there() {
        assert_eq!(terms("where is the parser of the config"), ["parser", "config"]);
        assert_eq!(terms("to be or not to be"), ["to", "be", "or", "not"]);
        assert_eq!(terms("how long is a long poll"), ["long", "poll"]);
        assert_eq!(terms("  \n"), Vec::<String>::new());
    }

    #[test]
    fn terms_are_distinct_and_bounded() {
        assert_eq!(terms("port PORT Ports"), ["port"]);
        let many: String = (0..1_000).map(|n| format!("w{n}x ")).collect();
        assert_eq!(terms(&many).len(), MAX_QUERY_TERMS);
    }

    #[test]
    fn truncation_keeps_characters_whole() {
        assert_eq!(truncated("aé", 2), "a");
        assert_eq!(truncated("aé", 3), "aé");
        assert_eq!(truncated("aé", 99), "aé");
    }
}
