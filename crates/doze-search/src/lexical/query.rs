//! From the words of a query to terms and to a tantivy query. Nothing here can fail on a string.

use std::collections::HashSet;

use tantivy::query::{BooleanQuery, BoostQuery, Occur, Query, TermQuery};
use tantivy::schema::IndexRecordOption;
use tantivy::{Searcher, Term};

use super::TITLE_WEIGHT;
use super::doc::{LexicalQuery, QuerySyntax};
use super::schema::Fields;
use super::tail::Tail;
use crate::text::{self, MAX_QUERY_BYTES, MAX_QUERY_TERMS};

/// S1.24: so many words of a query are used.
const OPENORC_WORDS: usize = 12;
/// A prefix stands for at most so many terms.
const MAX_EXPANSIONS: usize = 50;
/// How many letters stemming may have taken off the word that is being typed.
const STEMMED_OFF: usize = 3;
/// A shorter beginning is not taken for a stem.
const SHORTEST_STEM: usize = 4;

/// The terms to look for; empty when nothing can be looked for.
pub(super) fn terms(
    query: &LexicalQuery,
    searcher: &Searcher,
    fields: &Fields,
    tail: &Tail,
) -> tantivy::Result<Vec<String>> {
    match query.syntax {
        QuerySyntax::Default => Ok(text::terms(&query.text)),
        QuerySyntax::Openorc => {
            let words = openorc_words(&query.text);
            let mut terms: Vec<String> = words.iter().flat_map(|word| text::terms(word)).collect();
            if let Some(last) = words.last() {
                terms.extend(completions(&text::fold(last), searcher, fields, tail)?);
            }
            let mut seen = HashSet::new();
            terms.retain(|term| seen.insert(term.clone()));
            terms.truncate(MAX_QUERY_TERMS + MAX_EXPANSIONS);
            Ok(terms)
        }
    }
}

/// The first twelve distinct words of more than one letter.
fn openorc_words(text: &str) -> Vec<&str> {
    let mut seen = HashSet::new();
    text::truncated(text, MAX_QUERY_BYTES)
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().nth(1).is_some() && seen.insert(text::fold(word)))
        .take(OPENORC_WORDS)
        .collect()
}

/// Terms that begin with what was typed last. The index holds stems, so a term that is a little shorter than the
/// word counts too: `migrati` is on its way to `migration`, whose stem is `migrat`.
fn completions(
    word: &str,
    searcher: &Searcher,
    fields: &Fields,
    tail: &Tail,
) -> tantivy::Result<Vec<String>> {
    let mut found = tail.expand(word, MAX_EXPANSIONS);
    for segment in searcher.segment_readers() {
        for field in [fields.title, fields.body] {
            let index = segment.inverted_index(field)?;
            let mut stream = index.terms().range().ge(word).into_stream()?;
            let mut taken = 0;
            while taken < MAX_EXPANSIONS && stream.advance() && stream.key().starts_with(word.as_bytes()) {
                found.extend(std::str::from_utf8(stream.key()).map(str::to_owned));
                taken += 1;
            }
        }
    }
    let mut found: Vec<String> = found.into_iter().collect();
    // Short terms first: they are closest to what was typed.
    found.sort_unstable_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    found.truncate(MAX_EXPANSIONS);
    let letters = word.chars().count();
    for stem in (1..=STEMMED_OFF).map(|off| letters.saturating_sub(off)).filter(|&stem| stem >= SHORTEST_STEM)
    {
        found.push(word.chars().take(stem).collect());
    }
    Ok(found)
}

/// Any of the terms in title or body.
pub(super) fn words(terms: &[String], fields: &Fields) -> BooleanQuery {
    let term = |field, text| TermQuery::new(Term::from_field_text(field, text), IndexRecordOption::WithFreqs);
    let mut any: Vec<(Occur, Box<dyn Query>)> = Vec::with_capacity(2 * terms.len());
    for text in terms {
        any.push((
            Occur::Should,
            Box::new(BoostQuery::new(Box::new(term(fields.title, text)), TITLE_WEIGHT)),
        ));
        any.push((Occur::Should, Box::new(term(fields.body, text))));
    }
    BooleanQuery::new(any)
}

/// All of the filters, none of the sessions taken out.
pub(super) fn filter(query: &LexicalQuery, fields: &Fields, tail: &Tail) -> BooleanQuery {
    let mut clauses = fields.filters(query);
    for session in tail.sessions() {
        let term = Term::from_field_text(fields.session, session);
        clauses.push((Occur::MustNot, Box::new(TermQuery::new(term, IndexRecordOption::Basic))));
    }
    BooleanQuery::new(clauses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openorc_takes_twelve_distinct_words_of_more_than_one_letter() {
        assert_eq!(openorc_words("a Port port PORTS! \"x\" AND 数据"), ["Port", "PORTS", "AND", "数据"]);
        let many: String = (10..40).map(|n| format!("w{n} ")).collect();
        assert_eq!(openorc_words(&many).len(), 12);
        assert!(openorc_words("* ( ) \" -").is_empty());
    }
}
