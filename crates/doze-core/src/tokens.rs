//! How many tokens a text costs, guessed on the high side (S2.21).

/// Quarters of a token that one character costs: letters, digits and blanks of ASCII a quarter, its punctuation a
/// half (braces and operators rarely share a token), other alphabets and symbols a half, CJK and everything outside
/// the basic plane (emoji, rare ideographs) a whole one.
fn quarters(c: char) -> usize {
    match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | ' ' | '\t' | '\n' | '\r' => 1,
        c if c.is_ascii() => 2,
        c if is_cjk(c) || (c as u32) > 0xFFFF => 4,
        _ => 2,
    }
}

/// Whether a character belongs to a script in which a tokenizer spends about a token on each character: Han, kana,
/// bopomofo, hangul and their full-width forms and punctuation.
pub fn is_cjk(c: char) -> bool {
    matches!(c as u32,
        0x1100..=0x11FF | 0x2E80..=0x2FDF | 0x3000..=0x9FFF | 0xA960..=0xA97F | 0xAC00..=0xD7FF
        | 0xF900..=0xFAFF | 0xFE30..=0xFE4F | 0xFF00..=0xFFEF | 0x1B000..=0x1B2FF | 0x20000..=0x3FFFF)
}

/// The tokens of a text, never fewer than a quarter of its characters, rounded up.
pub fn estimate(text: &str) -> usize {
    text.chars().map(quarters).sum::<usize>().div_ceil(4)
}

/// The longest start of a text that costs at most `max` tokens, cut between characters. A cut text ends in `…`, which
/// is paid for; with `max` 0 nothing is left.
pub fn cut(text: &str, max: usize) -> String {
    if estimate(text) <= max {
        return text.to_owned();
    }
    let Some(room) = (max * 4).checked_sub(quarters('…')) else { return String::new() };
    let mut spent = 0;
    let end = text.char_indices().find_map(|(at, c)| {
        spent += quarters(c);
        (spent > room).then_some(at)
    });
    format!("{}…", text[..end.unwrap_or(text.len())].trim_end())
}

/// Room for whole lines: as many as fit into a number of tokens and a number of characters.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    quarters: usize,
    chars: usize,
}

impl Room {
    /// Room for `tokens` tokens and `chars` characters, whichever runs out first.
    pub fn new(tokens: usize, chars: usize) -> Self {
        Self { quarters: tokens.saturating_mul(4), chars }
    }

    /// Takes the room of a text and `breaks` line breaks if there is enough; else takes nothing and says no.
    pub fn take(&mut self, text: &str, breaks: usize) -> bool {
        let cost = text.chars().map(quarters).sum::<usize>() + breaks;
        let chars = text.chars().count() + breaks;
        if cost > self.quarters || chars > self.chars {
            return false;
        }
        self.quarters -= cost;
        self.chars -= chars;
        true
    }

    /// Exchanges a text that was taken for another one if there is room for it; else keeps the old one and says no.
    pub fn grow(&mut self, taken: &str, wanted: &str) -> bool {
        let before = *self;
        self.quarters += taken.chars().map(quarters).sum::<usize>();
        self.chars += taken.chars().count();
        let fits = self.take(wanted, 0);
        if !fits {
            *self = before;
        }
        fits
    }

    /// Whole tokens that are left.
    pub fn tokens_left(&self) -> usize {
        self.quarters / 4
    }

    /// Room for one part in `parts` of what is left.
    pub fn share(&self, parts: usize) -> Self {
        Self { quarters: self.quarters / parts.max(1), chars: self.chars / parts.max(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_script_costs_what_the_document_says() {
        let table = [
            ("", 0),
            ("abcd", 1),
            (&"x".repeat(2_000), 500),
            ("a", 1),
            ("{}();=>!", 4),
            ("日本語", 3),
            ("한국어를", 4),
            ("。、「」", 4),
            ("привет", 3),
            ("→→", 1),
            ("🦀", 1),
            ("use pnpm 不要 npm", 6),
        ];
        for (text, tokens) in table {
            assert_eq!(estimate(text), tokens, "{text}");
        }
    }

    #[test]
    fn a_line_fits_whole_or_not_at_all() {
        let mut room = Room::new(3, 100);
        assert!(room.take("abcdefg", 1));
        assert!(!room.take("abcd", 1));
        assert!(room.take("abc", 1));
        let mut narrow = Room::new(100, 4);
        assert!(!narrow.take("abcd", 1));
        assert!(narrow.take("日本語", 1));
    }

    proptest! {
        #[test]
        fn a_cut_text_keeps_its_budget_and_its_start(text in "\\PC{0,60}", max in 0usize..20) {
            let short = cut(&text, max);
            prop_assert!(estimate(&short) <= max);
            prop_assert!(text.starts_with(short.strip_suffix('…').unwrap_or(&short)));
        }

        #[test]
        fn a_longer_text_never_costs_less(a in "\\PC{0,40}", b in "\\PC{0,40}") {
            let both = format!("{a}{b}");
            prop_assert!(estimate(&both) >= estimate(&a).max(estimate(&b)));
            prop_assert!(estimate(&both) * 4 >= both.chars().count());
        }
    }
}
