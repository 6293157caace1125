//! Finding the words of forgotten memories in the journal, and blanking them there.

use std::collections::{BTreeMap, BTreeSet};

use doze_core::model::{Dream, Memory, MemoryId};
use doze_core::text::normalise_words;

use super::FORGOTTEN;

/// Texts of at most this many words are found only whole; of longer ones the larger part is enough, because the
/// journal cuts what it quotes.
const SHORT_TEXT: usize = 4;
/// The part of a longer text's words that tells it, in hundredths.
const ENOUGH: usize = 60;

/// Memories that are forgotten, and their words.
pub(super) struct Traces<'a> {
    gone: &'a BTreeSet<MemoryId>,
    texts: &'a BTreeSet<String>,
    /// How many words each text has, and which texts hold a word.
    sizes: Vec<usize>,
    by_word: BTreeMap<String, Vec<usize>>,
}

impl<'a> Traces<'a> {
    pub(super) fn of(gone: &'a BTreeSet<MemoryId>, texts: &'a BTreeSet<String>) -> Self {
        let mut sizes = Vec::new();
        let mut by_word: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for text in texts {
            let words = normalise_words(text);
            for word in &words {
                by_word.entry(word.clone()).or_default().push(sizes.len());
            }
            sizes.push(words.len());
        }
        Self { gone, texts, sizes, by_word }
    }

    /// Blanks what a journal says about the forgotten; tells whether there was anything.
    pub(super) fn blank(&self, dream: &mut Dream) -> bool {
        let mut is_changed = false;
        for change in &mut dream.changes {
            let mut is_about = false;
            for memory in change.before.iter_mut().chain([&mut change.after]) {
                is_about |= self.blank_record(memory);
            }
            is_changed |= is_about | self.blank_line(&mut change.because, is_about);
        }
        for left in &mut dream.left_alone {
            let is_about = self.blank_line(&mut left.title, false);
            is_changed |= is_about | self.blank_line(&mut left.reason, false);
        }
        for left in &mut dream.undo_left {
            let is_gone = self.gone.contains(&left.id);
            is_changed |=
                self.blank_line(&mut left.title, is_gone) | self.blank_line(&mut left.because, false);
        }
        is_changed
    }

    fn blank_record(&self, memory: &mut Memory) -> bool {
        let cites_it = memory.cited().any(|id| self.gone.iter().any(|gone| gone.as_str() == id));
        if cites_it {
            memory.contexts.iter_mut().for_each(|cited| FORGOTTEN.clone_into(&mut cited.snippet));
        }
        let is_forgotten = cites_it
            || self.gone.contains(&memory.id)
            || (!memory.body.trim().is_empty() && self.texts.contains(&memory.body));
        if !is_forgotten || memory.body == FORGOTTEN {
            return false;
        }
        memory.title = FORGOTTEN.to_owned();
        memory.body = FORGOTTEN.to_owned();
        // They name what it was about, and a hash without a key can be guessed.
        memory.topic_key = None;
        memory.files.clear();
        memory.tags.clear();
        memory.content_hash.clear();
        true
    }

    fn blank_line(&self, line: &mut String, is_about: bool) -> bool {
        let is_blanked = line != FORGOTTEN && (is_about || self.are_in(line));
        if is_blanked {
            FORGOTTEN.clone_into(line);
        }
        is_blanked
    }

    /// Whether a line carries one of the texts.
    fn are_in(&self, line: &str) -> bool {
        let mut found: BTreeMap<usize, usize> = BTreeMap::new();
        for text in normalise_words(line).iter().filter_map(|word| self.by_word.get(word)).flatten() {
            *found.entry(*text).or_default() += 1;
        }
        found.into_iter().any(|(text, count)| match self.sizes.get(text) {
            Some(size) if *size > SHORT_TEXT => count * 100 >= size * ENOUGH,
            Some(size) => count == *size,
            None => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_carries_a_text_that_it_quotes_whole_or_cut_and_no_other() {
        let gone = BTreeSet::new();
        let texts = BTreeSet::from([
            "Use pnpm for installs".to_owned(),
            "The staging broker never starts without its port exported in the shell first".to_owned(),
        ]);
        let traces = Traces::of(&gone, &texts);
        let cases = [
            ("was \"Use pnpm for installs\"; said by the person in s2 #12", true),
            ("replaced by \"The staging broker never starts without its port exported…\"", true),
            ("it is known already", false),
            ("was \"Use npm for builds\"; said by the person in s2 #12", false),
            ("the staging broker is fast", false),
            ("", false),
        ];
        for (line, wanted) in cases {
            assert_eq!(traces.are_in(line), wanted, "{line}");
        }
    }
}
