//! Folding: upper case, diacritics and compatibility forms make no difference to a search.

use unicode_normalization::UnicodeNormalization;

use super::script::is_invisible;

/// A folded token has at most so many characters. The cut is the same on both sides, so long words still meet.
const MAX_TOKEN_CHARS: usize = 64;

/// The word in lower case, without diacritics, in composed form (`NFKC`), at most 64 characters of it.
pub(crate) fn fold(word: &str) -> String {
    if word.is_ascii() {
        return word.chars().take(MAX_TOKEN_CHARS).map(|c| c.to_ascii_lowercase()).collect();
    }
    let mut plain = String::with_capacity(word.len());
    let decomposed = word.chars().take(2 * MAX_TOKEN_CHARS).nfkd();
    for c in decomposed.filter(|&c| !is_diacritic(c) && !is_invisible(c)).flat_map(char::to_lowercase) {
        match unaccented(c) {
            Some(letters) => plain.push_str(letters),
            None if is_diacritic(c) => {}
            None => plain.push(c),
        }
    }
    plain.chars().nfc().take(MAX_TOKEN_CHARS).collect()
}

/// Marks that only change how a letter is spoken: Latin, Greek and Cyrillic accents, Hebrew points, Arabic vowels.
/// Kana voicing and the vowel signs of Indian scripts are not among them, they make other words.
fn is_diacritic(c: char) -> bool {
    matches!(u32::from(c),
        0x0300..=0x036F | 0x1AB0..=0x1AFF | 0x1DC0..=0x1DFF | 0x20D0..=0x20FF | 0xFE20..=0xFE2F
        | 0x0591..=0x05BD | 0x05BF | 0x05C1..=0x05C2 | 0x064B..=0x0652 | 0x0670)
}

/// Letters that have no decomposition and are still written without their stroke.
fn unaccented(c: char) -> Option<&'static str> {
    Some(match c {
        'ß' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'ø' => "o",
        'ł' => "l",
        'đ' | 'ð' => "d",
        'þ' => "th",
        'ħ' => "h",
        'ı' => "i",
        'ς' => "σ",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn case_and_diacritics_do_not_matter() {
        for (word, folded) in [
            ("Größe", "grosse"),
            ("CAFÉ", "cafe"),
            ("cafe\u{301}", "cafe"),
            ("İstanbul", "istanbul"),
            ("Łódź", "lodz"),
            ("naïve", "naive"),
            ("Ὀδυσσεύς", "οδυσσευσ"),
            ("ёлка", "елка"),
            ("ｆｕｌｌ", "full"),
            ("ﬁne", "fine"),
            ("が", "が"),
            ("한글", "한글"),
            ("कि", "कि"),
            ("so\u{ad}ft", "soft"),
        ] {
            assert_eq!(fold(word), folded, "{word}");
        }
    }

    proptest! {
        #[test]
        fn folding_twice_changes_nothing(word in "\\PC{0,40}") {
            let once = fold(&word);
            prop_assert!(once.chars().count() <= MAX_TOKEN_CHARS);
            prop_assert_eq!(fold(&once), once);
        }
    }
}
