//! Whether a text says one of some statements, and the text without the sentences that do.

use std::collections::BTreeMap;

use unicode_normalization::UnicodeNormalization;

use super::{is_unspaced, join_wrapped, normalise_words, sentences};
use crate::duplicate::{Parts, Relation, is_filler};

/// Content words by which alone a statement is told, in whatever order they stand: fewer are said by anybody, and have to
/// stand as they stood.
const TELLING: usize = 3;
/// Content words of a sentence of a statement that is looked for by itself.
const TELLING_PART: usize = 4;
/// The share of common words above which a sentence says the same in other words.
const ALIKE: f64 = 0.5;
/// The least part of a statement that is its quotation where a text was cut, in hundredths, and in words.
const CUT_SHARE: usize = 60;
const CUT_WORDS: usize = 3;

/// Statements that are looked for in what others said.
#[derive(Debug, Default)]
pub struct Statements {
    all: Vec<Statement>,
    /// Word → the statements that have it, and whether it carries meaning.
    by_word: BTreeMap<String, Vec<(usize, bool)>>,
}

#[derive(Debug)]
struct Statement {
    /// How many words it has, and how many of them carry meaning.
    words: usize,
    content: usize,
    tokens: Vec<String>,
    parts: Parts,
}

/// Whether enough words of a text carry meaning that it is told by them.
pub fn is_telling(text: &str) -> bool {
    normalise_words(text).iter().filter(|word| !is_filler(word)).count() >= TELLING
}

impl Statements {
    /// Takes texts apart: each as a whole, and those of its sentences that say enough by themselves.
    pub fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut statements = Self::default();
        for text in texts {
            statements.add(text, 1);
            let parts = sentences(text);
            if parts.len() > 1 {
                parts.into_iter().for_each(|part| statements.add(part, TELLING_PART));
            }
        }
        statements
    }

    fn add(&mut self, text: &str, least: usize) {
        let (words, tokens) = (normalise_words(text), tokens(text));
        let content = words.iter().filter(|word| !is_filler(word)).count();
        if tokens.is_empty() || (least > 1 && content < least) {
            return;
        }
        for word in &words {
            let places = self.by_word.entry(word.clone()).or_default();
            places.push((self.all.len(), !is_filler(word)));
        }
        self.all.push(Statement { words: words.len(), content, tokens, parts: Parts::of(text) });
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether a sentence, or a line that may have been cut, says one of them.
    pub fn are_in(&self, sentence: &str) -> bool {
        if self.is_empty() {
            return false;
        }
        let own = normalise_words(sentence);
        let mut common: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        for (at, carries) in own.iter().filter_map(|word| self.by_word.get(word)).flatten() {
            let (words, content) = common.entry(*at).or_default();
            *words += 1;
            *content += usize::from(*carries);
        }
        let said = tokens(sentence);
        // What ends as a sentence ends was not cut.
        let is_ended = sentence.trim_end().ends_with(['.', '!', '?', '。', '！', '？']);
        self.all.iter().enumerate().any(|(at, statement)| {
            let (words, content) = common.get(&at).copied().unwrap_or_default();
            let union = own.len() + statement.words - words;
            let alike = words as f64 / union as f64 > ALIKE;
            (statement.content >= TELLING
                && (content == statement.content || alike)
                && statement.is_meant(sentence, &said, content == statement.content))
                || (statement.is_quoted(&said) && Parts::of(sentence).has_details_of(&statement.parts))
                || (!is_ended && words * 100 >= statement.words * CUT_SHARE && statement.is_cut_off(&said))
        })
    }

    /// A text with a mark in place of each sentence that says one of them, and how many that are; `None` when none does.
    pub fn taken_out(&self, text: &str, mark: &str) -> Option<(String, u64)> {
        if self.is_empty() {
            return None;
        }
        // A statement may be broken into lines.
        let joined = join_wrapped(text);
        let (mut out, mut count) = (String::with_capacity(joined.len()), 0);
        for (at, line) in joined.lines().enumerate() {
            if at > 0 {
                out.push('\n');
            }
            let (mut rest, mut is_changed) = (line, false);
            let before = out.len();
            for sentence in sentences(line) {
                let Some(start) = rest.find(sentence) else { continue };
                let says = self.are_in(sentence);
                out.push_str(&rest[..start]);
                out.push_str(if says { mark } else { sentence });
                rest = &rest[start + sentence.len()..];
                is_changed |= says;
                count += u64::from(says);
            }
            out.push_str(rest);
            if !is_changed && self.are_in(line) {
                // It takes more than one sentence to say it.
                out.truncate(before);
                out.push_str(mark);
                count += 1;
            }
        }
        (count > 0).then_some((out, count))
    }
}

impl Statement {
    /// Whether a sentence with most of its words, or all of them, says it and nothing that differs by a detail.
    fn is_meant(&self, sentence: &str, tokens: &[String], has_all: bool) -> bool {
        let said = Parts::of(sentence);
        // `C++` and `C#` differ in no letter.
        let mut signed = self.tokens.iter().filter(|token| token.contains(['+', '#']));
        (has_all && said.has_details_of(&self.parts) && signed.all(|token| tokens.contains(token)))
            || said.relation_to(&self.parts) == Relation::Duplicate
            || self.parts.relation_to(&said) == Relation::Duplicate
    }

    /// Whether its words stand in a sentence as they stand here. A single word is said by anybody, save by itself.
    fn is_quoted(&self, said: &[String]) -> bool {
        match self.tokens.len() {
            1 => said == self.tokens,
            length => said.windows(length).any(|window| window == self.tokens),
        }
    }

    /// Whether a sentence ends in the middle of it.
    fn is_cut_off(&self, said: &[String]) -> bool {
        let least = (self.tokens.len() * CUT_SHARE).div_ceil(100).max(CUT_WORDS);
        (least..self.tokens.len()).any(|length| {
            let Some(end) = said.len().checked_sub(length).map(|start| &said[start..]) else { return false };
            let (last, whole) = (&end[length - 1], &end[..length - 1]);
            whole == &self.tokens[..length - 1] && self.tokens[length - 1].starts_with(last.as_str())
        })
    }
}

/// The words of a text in their order, short ones too; of a script without spaces its characters.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut word = String::new();
    let end = |word: &mut String, tokens: &mut Vec<String>| {
        if !word.is_empty() {
            tokens.push(std::mem::take(word));
        }
    };
    for c in text.nfkc().flat_map(char::to_lowercase) {
        if is_unspaced(c) {
            end(&mut word, &mut tokens);
            tokens.push(c.to_string());
        } else if c.is_alphanumeric()
            || unicode_normalization::char::is_combining_mark(c)
            || (matches!(c, '+' | '#') && !word.is_empty())
        {
            word.push(c);
        } else if !matches!(c, '\'' | '’' | '‘' | 'ʼ') {
            end(&mut word, &mut tokens);
        }
    }
    end(&mut word, &mut tokens);
    tokens
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TENANT: &str = "The staging tenant of Acme Corp has the code name bluebird";

    #[test]
    fn a_sentence_says_a_statement_by_its_words_whole_cut_or_among_others() {
        let table = [
            (
                TENANT,
                "set up the pages and wrote down that the staging tenant of Acme Corp has the code name bluebird, then fixed nine tests",
                true,
            ),
            (TENANT, "code name of the staging tenant of Acme Corp: bluebird", true),
            (TENANT, "Remember that the staging tenant of Acme Corp has the code na", true),
            (TENANT, "the staging tenant is slow", false),
            (TENANT, "Acme Corp pays on Fridays", false),
            ("Use pnpm", "We use pnpm here", true),
            ("Use pnpm", "pnpm is of use", false),
            ("Use C#", "We use C here", false),
            ("Zanzibar", "zanzibar.", true),
            ("Zanzibar", "the zanzibar gateway is up and running", false),
            ("测试数据库端口是五四三三", "记下了：测试数据库端口是五四三三，然后修好了页面", true),
            ("测试数据库端口是五四三三", "测试服务器很慢", false),
            (
                "Always run the unit tests before pushing",
                "Always run the integration tests before pushing.",
                false,
            ),
            (
                "The database of staging listens on port 3000",
                "The database of staging listens on port 4000.",
                false,
            ),
            ("Always deploy to the US cluster first", "Always deploy to the EU cluster first.", false),
            ("Write the native extension in C++", "Write the native extension in C#.", false),
            ("Never deploy on Fridays without Dana", "Never deploy on Fridays.", false),
            ("Always keep x <= y in pool checks", "Always keep x >= y in pool checks.", false),
            ("", "anything", false),
        ];
        for (statement, sentence, expected) in table {
            assert_eq!(Statements::of([statement]).are_in(sentence), expected, "{statement} / {sentence}");
        }
    }

    #[test]
    fn the_rest_of_a_text_stays_as_it_is() {
        let statements = Statements::of([
            TENANT,
            "Seeds run after the migrations. The broker needs QUARTZ_PORT exported in every shell.",
        ]);
        let table = [
            (
                "Fixed the login. The staging tenant of Acme Corp has the code name bluebird! Tests pass.\n- done",
                "Fixed the login. [x] Tests pass.\n- done",
                1,
            ),
            (
                "- the broker needs QUARTZ_PORT exported in every shell\n  - else it hangs",
                "- [x]\n  - else it hangs",
                1,
            ),
            (
                "Please remember it for all times: the staging tenant of\nAcme Corp has the code name bluebird.",
                "[x]",
                1,
            ),
        ];
        for (text, left, count) in table {
            let (out, taken) = statements.taken_out(text, "[x]").unwrap();
            assert!(taken == count && out.replace("- [x]", "[x]") == left.replace("- [x]", "[x]"), "{out:?}");
        }
        assert_eq!(statements.taken_out("Fixed the login. Tests pass.", "[x]"), None);
        assert_eq!(Statements::default().taken_out("Fixed the login.", "[x]"), None);
    }

    proptest! {
        #[test]
        fn nothing_is_left_of_it_and_nothing_else_goes(
            before in "(alpha |bravo |charlie ){0,5}",
            behind in "(delta |echo |golf ){0,5}",
            other in "(kilo|lima|mike)( november| oscar| papa){3,6}",
        ) {
            let statements = Statements::of([TENANT]);
            let text = format!("{other}. {before}{TENANT} {behind}. {other}.");
            let (out, count) = statements.taken_out(&text, "[x]").unwrap();
            prop_assert_eq!(count, 1);
            prop_assert_eq!(out, format!("{other}. [x] {other}."));
        }
    }
}
