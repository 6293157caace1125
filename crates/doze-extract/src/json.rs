//! JSON that programs and models write, before it is read.

use std::borrow::Cow;

/// `text` with the replacement character for each escape that is only half of a character: a model that breaks off in
/// an emoji, or a program that cuts one, would make all of it unreadable.
pub(crate) fn whole_characters(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut kept_to = 0;
    let mut rest = 0;
    while let Some(at) = text[rest..].find('\\').map(|at| rest + at) {
        let half = half_at(text, at);
        rest = match half {
            Some(Half::First) if half_at(text, at + 6) == Some(Half::Second) => at + 12,
            Some(_) => {
                out.push_str(&text[kept_to..at]);
                out.push_str("\\ufffd");
                kept_to = at + 6;
                at + 6
            }
            // What is behind a backslash is escaped, also another one.
            None => at + 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
        };
    }
    if kept_to == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[kept_to..]);
    Cow::Owned(out)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    First,
    Second,
}

/// Which half of a pair the escape at this place is.
fn half_at(text: &str, at: usize) -> Option<Half> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    match u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)? {
        0xd800..=0xdbff => Some(Half::First),
        0xdc00..=0xdfff => Some(Half::Second),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn half_a_character_spoils_nothing_else() {
        for (text, read) in [
            (r#""a\ud83d b""#, "a\u{fffd} b"),
            (r#""a\ude00 b""#, "a\u{fffd} b"),
            (r#""\ud83d\ud83d\ude00\uDE00""#, "\u{fffd}😀\u{fffd}"),
            (r#""\\ud83d \\\ud83d""#, "\\ud83d \\\u{fffd}"),
            (r#""\u00e9 \n""#, "é \n"),
        ] {
            let value: Value = serde_json::from_str(&whole_characters(text)).unwrap();
            assert_eq!(value, read, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_row_of_escapes_can_be_read(units in proptest::collection::vec(any::<u16>(), 0..20), tail in ".{0,9}") {
            let escapes: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let text = whole_characters(&escapes).into_owned();
            let value: Value = serde_json::from_str(&format!("\"{text}\"")).unwrap();
            prop_assert_eq!(value.as_str().unwrap(), String::from_utf16_lossy(&units));
            let _ = whole_characters(&format!("{escapes}{tail}"));
            let _ = whole_characters(&tail);
        }
    }
}
