//! What a character is to the tokenizer.

use unicode_normalization::char::is_combining_mark;

/// The role of a character in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Part of a word of a script that puts spaces between words.
    Word,
    /// Part of a run of a script without (dependable) spaces between words.
    Unspaced,
    /// May stand inside an identifier or a path, never at its ends.
    Joint,
    /// A picture.
    Emoji,
    /// Ends whatever came before.
    Gap,
}

/// The role of `c`.
pub(super) fn class(c: char) -> Class {
    if c.is_ascii() {
        return match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' => Class::Word,
            '_' | '-' | '.' | '/' | '\\' | ':' | '@' | '#' | '+' | '~' => Class::Joint,
            _ => Class::Gap,
        };
    }
    if is_unspaced(c) {
        Class::Unspaced
    } else if is_emoji(c) {
        Class::Emoji
    } else if c.is_alphanumeric() || is_combining_mark(c) || is_invisible(c) {
        Class::Word
    } else {
        Class::Gap
    }
}

/// Han, kana, Bopomofo, Hangul, Thai, Lao, Khmer and Burmese: runs of these are indexed as single characters and pairs.
fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c),
        0x0E01..=0x0EFF | 0x1000..=0x109F | 0x1100..=0x11FF | 0x1780..=0x17FF
        | 0x3005..=0x3007 | 0x3031..=0x3035 | 0x3041..=0x3096 | 0x3099..=0x309F | 0x30A1..=0x30FA | 0x30FC..=0x318F
        | 0x31A0..=0x31BF | 0x31F0..=0x31FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xA960..=0xA97F
        | 0xAC00..=0xD7FF | 0xF900..=0xFAFF | 0xFF66..=0xFF9F | 0x1B000..=0x1B16F | 0x20000..=0x3FFFF)
}

/// A character drawn as a picture; modifiers and joiners are told apart by [`extends_emoji`].
fn is_emoji(c: char) -> bool {
    matches!(u32::from(c), 0x1F000..=0x1FAFF | 0x2600..=0x27BF | 0x2B05..=0x2B55 | 0x231A..=0x23FF)
}

/// A character that goes on with the emoji before it: variation selectors, the joiner, skin tones.
pub(super) fn extends_emoji(c: char) -> bool {
    matches!(u32::from(c), 0x200D | 0xFE0E | 0xFE0F | 0x1F3FB..=0x1F3FF)
}

/// One half of a flag.
pub(super) fn is_flag_half(c: char) -> bool {
    matches!(u32::from(c), 0x1F1E6..=0x1F1FF)
}

/// Characters inside a word that nobody sees: the soft hyphen and the zero-width (non-)joiner.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200c}' | '\u{200d}' | '\u{2060}' | '\u{feff}')
}

/// Alphabets that one word never mixes. Digits and everything else are neutral.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alphabet {
    Latin,
    Greek,
    Cyrillic,
    Other,
}

/// The alphabet of a letter; `None` for what may stand in any word.
pub(super) fn alphabet(c: char) -> Option<Alphabet> {
    if !c.is_alphabetic() {
        return None;
    }
    Some(match u32::from(c) {
        0x41..=0x24F | 0x1E00..=0x1EFF | 0xFF21..=0xFF5A => Alphabet::Latin,
        0x370..=0x3FF | 0x1F00..=0x1FFF => Alphabet::Greek,
        0x400..=0x52F | 0x1C80..=0x1C8F | 0x2DE0..=0x2DFF | 0xA640..=0xA69F => Alphabet::Cyrillic,
        _ => Alphabet::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_its_characters() {
        for (c, expected) in [
            ('a', Class::Word),
            ('9', Class::Word),
            ('é', Class::Word),
            ('\u{301}', Class::Word),
            ('я', Class::Word),
            ('ع', Class::Word),
            ('क', Class::Word),
            ('缓', Class::Unspaced),
            ('ひ', Class::Unspaced),
            ('ー', Class::Unspaced),
            ('한', Class::Unspaced),
            ('ไ', Class::Unspaced),
            ('_', Class::Joint),
            ('🦀', Class::Emoji),
            ('✅', Class::Emoji),
            (' ', Class::Gap),
            ('。', Class::Gap),
            ('—', Class::Gap),
            ('\0', Class::Gap),
        ] {
            assert_eq!(class(c), expected, "{c:?}");
        }
    }
}
