//! The window of a text that shows best why it was found.

use std::collections::HashMap;

use super::{analyzer, terms, truncated};

/// Only the beginning of a text is searched for the window.
const MAX_TEXT_BYTES: usize = 64 * 1024;
/// Characters of context shown before the first match.
const LEAD: usize = 30;

/// The part of `text` with the most distinct terms of `query`, at most `max_chars` characters, on one line.
///
/// It begins and ends at a space where there is one, else between characters; `…` stands for what was left out.
/// A text in which nothing matches gives its beginning.
pub fn snippet(text: &str, query: &str, max_chars: usize) -> String {
    let text = truncated(text, MAX_TEXT_BYTES).split_whitespace().collect::<Vec<_>>().join(" ");
    // Byte offset of every character, so that windows count characters and cuts stay on boundaries.
    let offsets: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let chars = offsets.len() - 1;
    if chars <= max_chars {
        return text;
    }
    // Two characters are kept back for the marks of omission.
    let room = max_chars.saturating_sub(2);
    if room == 0 {
        return text[..offsets[max_chars]].to_owned();
    }
    let first_match = best_start(&matches(&text, query, &offsets), room);
    let start = first_match.saturating_sub(LEAD.min(room / 4)).min(chars - room);
    window(&text, &offsets, start, room)
}

/// The characters at which tokens of the query begin, with the number of the token.
fn matches(text: &str, query: &str, offsets: &[usize]) -> Vec<(usize, usize)> {
    let terms = terms(query);
    let numbers: HashMap<&str, usize> =
        terms.iter().enumerate().map(|(n, term)| (term.as_str(), n)).collect();
    let mut found = Vec::new();
    let mut analyzer = analyzer();
    let mut stream = analyzer.token_stream(text);
    while let Some(token) = stream.next() {
        if let Some(&number) = numbers.get(token.text.as_str()) {
            found.push((offsets.partition_point(|&at| at < token.offset_from), number));
        }
    }
    found.sort_unstable();
    found
}

/// Where the stretch with the most distinct terms begins (the first of equals). A stretch fills three quarters of the
/// window, the rest is for the words around it.
fn best_start(matches: &[(usize, usize)], room: usize) -> usize {
    let reach = room - room / 4;
    let mut counts: HashMap<usize, usize> = HashMap::new();
    let (mut best, mut best_start, mut left) = (0, 0, 0);
    for &(at, number) in matches {
        *counts.entry(number).or_default() += 1;
        while let Some(&(_, gone)) = matches.get(left).filter(|&&(first, _)| first + reach < at) {
            left += 1;
            match counts.get_mut(&gone) {
                Some(count) if *count > 1 => *count -= 1,
                _ => drop(counts.remove(&gone)),
            }
        }
        if counts.len() > best {
            best = counts.len();
            best_start = matches.get(left).map_or(0, |&(first, _)| first);
        }
    }
    best_start
}

/// `room` characters from `start`, moved to spaces near the ends, with the marks of omission.
fn window(text: &str, offsets: &[usize], start: usize, room: usize) -> String {
    let end = start + room;
    let mut from = offsets[start];
    let mut to = offsets[end];
    if start > 0
        && !text[..from].ends_with(' ')
        && let Some(space) = text[from..offsets[(start + room / 5).min(end)]].find(' ')
    {
        from += space + 1;
    }
    if to < text.len()
        && !text[to..].starts_with(' ')
        && let Some(space) = text[offsets[end - room / 5].max(from)..to].rfind(' ')
    {
        to = offsets[end - room / 5].max(from) + space;
    }
    let (before, after) = (if from > 0 { "…" } else { "" }, if to < text.len() { "…" } else { "" });
    format!("{before}{}{after}", text[from..to].trim())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_short_text_is_shown_whole_on_one_line() {
        assert_eq!(snippet("one\n\n two", "x", 50), "one two");
    }

    #[test]
    fn the_window_with_most_terms_is_shown() {
        let text = format!(
            "the port is open. {} the database port is 5433 here. {}",
            "filler ".repeat(40),
            "z ".repeat(40)
        );
        let shown = snippet(&text, "database port 5433", 60);
        assert!(shown.contains("database port is 5433"), "{shown}");
        assert!(shown.starts_with('…') && shown.ends_with('…'), "{shown}");
        assert!(shown.chars().count() <= 60, "{shown}");
    }

    #[test]
    fn without_a_match_the_beginning_is_shown() {
        let shown = snippet(&"alpha beta gamma ".repeat(20), "nothing", 30);
        assert_eq!(shown, "alpha beta gamma alpha beta…");
    }

    #[test]
    fn scripts_without_spaces_are_cut_between_characters() {
        let text = "数据".repeat(50) + "缓存" + &"服务".repeat(50);
        let shown = snippet(&text, "缓存", 20);
        assert!(shown.contains("缓存") && shown.chars().count() <= 20, "{shown}");
    }

    proptest! {
        #[test]
        fn never_too_long_and_never_a_panic(text in "(\\PC|\\s){0,200}", query in "\\PC{0,20}", max in 0usize..60) {
            prop_assert!(snippet(&text, &query, max).chars().count() <= max);
        }
    }
}
