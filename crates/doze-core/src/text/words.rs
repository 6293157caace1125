//! Comparable words of any script.

use std::collections::BTreeSet;

use unicode_normalization::UnicodeNormalization;

/// How wide text is: a character of a script without spaces between words counts as two, any other as one. Used
/// where a lower bound on length is meant as a bound on content.
pub fn width(text: &str) -> usize {
    text.chars().map(|c| if is_unspaced(c) { 2 } else { 1 }).sum()
}

/// The word set of S0.27. On ASCII text exactly that: lower-case, every character other than `a-z`, `0-9` and
/// white space removed, words of more than two characters. Beyond ASCII letters and digits of every script count;
/// scripts that do not put spaces between words, and Korean, are cut into overlapping pairs of characters.
pub fn normalise_words(text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut word = String::new();
    let mut run: Vec<char> = Vec::new();
    for c in text.nfkc().flat_map(char::to_lowercase) {
        if is_unspaced(c) {
            take_word(&mut words, &mut word);
            run.push(c);
        } else if c.is_alphanumeric() || is_mark(c) {
            take_pairs(&mut words, &mut run);
            word.push(c);
        } else if c.is_whitespace() || !(c.is_ascii() || is_apostrophe(c)) {
            take_pairs(&mut words, &mut run);
            take_word(&mut words, &mut word);
        }
    }
    take_pairs(&mut words, &mut run);
    take_word(&mut words, &mut word);
    words
}

fn take_word(words: &mut BTreeSet<String>, word: &mut String) {
    if word.chars().nth(2).is_some() {
        words.insert(std::mem::take(word));
    }
    word.clear();
}

fn take_pairs(words: &mut BTreeSet<String>, run: &mut Vec<char>) {
    match run.as_slice() {
        [] => {}
        [one] => drop(words.insert(one.to_string())),
        many => words.extend(many.windows(2).map(|pair| pair.iter().collect::<String>())),
    }
    run.clear();
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '’' | '‘' | 'ʼ' | '\u{200c}' | '\u{200d}' | '\u{ad}')
}

fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

/// Whether a character belongs to a script written without spaces between words, or to Hangul, whose words are
/// mostly two syllables and a particle.
pub(crate) fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c),
        0x0e00..=0x0eff // Thai, Lao
        | 0x1000..=0x109f // Myanmar
        | 0x1100..=0x11ff // Hangul letters
        | 0x1780..=0x17ff // Khmer
        | 0x3005..=0x3007
        | 0x3040..=0x30ff // kana
        | 0x3130..=0x318f
        | 0x31f0..=0x31ff
        | 0x3400..=0x4dbf
        | 0x4e00..=0x9fff
        | 0xac00..=0xd7af // Hangul syllables
        | 0xf900..=0xfaff
        | 0x20000..=0x3ffff) // further ideographs
}

/// Shared words over all words, 0–1; two empty sets are equal (1).
pub fn jaccard(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
    if a.is_empty() && b.is_empty() {
        return 1.0;
    }
    let shared = a.intersection(b).count();
    shared as f64 / (a.len() + b.len() - shared) as f64
}
