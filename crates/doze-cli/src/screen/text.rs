//! Cutting, cleaning and folding text for a terminal.

use std::borrow::Cow;
use std::path::Path;

/// The text without control characters other than newline and tab, and without the invisible marks that reorder a
/// line: nothing that a memory holds may move the cursor or change how a terminal looks.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    let unwanted = |c: char| (c.is_control() && c != '\n' && c != '\t') || is_reordering(c);
    if text.chars().any(unwanted) {
        Cow::Owned(text.chars().filter(|&c| !unwanted(c)).collect())
    } else {
        Cow::Borrowed(text)
    }
}

fn is_reordering(c: char) -> bool {
    matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// A path as people write it: with `~` for their home.
pub(crate) fn tilde(path: &Path) -> String {
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

/// The text on one line: every run of white space becomes one space.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in clean(text).split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// Columns that a text takes on a terminal.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// Columns of one character: two for the East Asian wide blocks and emoji, none for combining marks.
fn char_width(c: char) -> usize {
    match c {
        '\u{0300}'..='\u{036F}'
        | '\u{200B}'..='\u{200F}'
        | '\u{FE00}'..='\u{FE0F}'
        | '\u{20D0}'..='\u{20FF}' => 0,
        '\u{1100}'..='\u{115F}'
        | '\u{2E80}'..='\u{303E}'
        | '\u{3041}'..='\u{A4CF}'
        | '\u{AC00}'..='\u{D7A3}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{FE30}'..='\u{FE6F}'
        | '\u{FF00}'..='\u{FF60}'
        | '\u{FFE0}'..='\u{FFE6}'
        | '\u{1F300}'..='\u{1F64F}'
        | '\u{1F680}'..='\u{1F6FF}'
        | '\u{1F900}'..='\u{1FAFF}'
        | '\u{20000}'..='\u{3FFFD}' => 2,
        _ => 1,
    }
}

/// The text on one line in at most `columns` columns, an ellipsis in place of what does not fit. Spaces stay, so that
/// what was aligned stays so.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    let line: String =
        clean(text).trim_end().chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
    if width(&line) <= columns {
        return line;
    }
    let mut used = 1;
    let mut cut = String::new();
    for c in line.chars() {
        used += char_width(c);
        if used > columns {
            break;
        }
        cut.push(c);
    }
    cut.truncate(cut.trim_end().len());
    cut + "…"
}

/// The text folded at spaces to lines of at most `columns` columns, each with `indent` in front; a word that is
/// longer alone is cut.
pub(crate) fn wrap(text: &str, indent: &str, columns: usize) -> Vec<String> {
    let room = columns.saturating_sub(width(indent)).max(1);
    let mut lines = Vec::new();
    for paragraph in clean(text).lines() {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            let word = fit(word, room);
            if !line.is_empty() && width(&line) + 1 + width(&word) > room {
                lines.push(format!("{indent}{line}"));
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&word);
        }
        lines.push(if line.is_empty() { String::new() } else { format!("{indent}{line}") });
    }
    lines
}

/// As [`wrap`], in at most `most` lines, an ellipsis at the end of the last when there is more.
pub(crate) fn wrap_within(text: &str, indent: &str, columns: usize, most: usize) -> Vec<String> {
    let mut lines = wrap(&one_line(text), indent, columns);
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            *last = fit(&format!("{last} …"), columns);
        }
    }
    lines
}

/// Bytes of a UUID in its usual spelling, of what is shown of it, and where its version stands.
const UUID: usize = 36;
const SHOWN: usize = 8;
const VERSION: usize = 14;

/// The text with every UUID cut to what tells it from others and is short enough to type: the beginning, or the end of
/// one that begins with the time, as those of memories and dreams do.
pub(crate) fn short_ids(text: &str) -> String {
    let mut short = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (taken, shown) = match rest.get(..UUID).filter(|id| is_uuid(id)) {
            Some(id) if id[VERSION..].starts_with('7') => (UUID, &id[UUID - SHOWN..]),
            Some(id) => (UUID, &id[..SHOWN]),
            None => (c.len_utf8(), &rest[..c.len_utf8()]),
        };
        short.push_str(shown);
        rest = &rest[taken..];
    }
    short
}

fn is_uuid(text: &str) -> bool {
    text.bytes().enumerate().all(|(index, byte)| match index {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_lines_than_wanted_end_in_an_ellipsis() {
        assert_eq!(wrap_within("one two three four", "  ", 9, 2), ["  one two", "  three …"]);
        assert_eq!(wrap_within("one two", "  ", 9, 2), ["  one two"]);
        assert_eq!(wrap_within("aaaaaaa bb cc", "", 7, 1), ["aaaaaa…"]);
    }

    #[test]
    fn a_path_at_home_is_short() {
        let home = std::env::home_dir().unwrap();
        assert_eq!(tilde(&home.join("code/shop")), "~/code/shop");
        assert_eq!(tilde(&home), "~");
        assert_eq!(tilde(Path::new("/nowhere/x")), "/nowhere/x");
    }

    #[test]
    fn long_ids_are_cut_wherever_they_stand() {
        let id = "b7c1f0de-0001-4000-8000-000000000001";
        let cases = [
            (format!("in {id} #2, #5 ({id}#2)"), "in b7c1f0de #2, #5 (b7c1f0de#2)"),
            (id.to_owned(), "b7c1f0de"),
            ("0198a1b2-0000-7000-8000-00000000cafe (by you)".to_owned(), "0000cafe (by you)"),
            ("s-81 #44 数据 b7c1f0de-0001".to_owned(), "s-81 #44 数据 b7c1f0de-0001"),
            (String::new(), ""),
        ];
        for (text, wanted) in cases {
            assert_eq!(short_ids(&text), wanted);
        }
    }

    #[test]
    fn what_moves_the_cursor_is_taken_out() {
        assert_eq!(clean("a\u{1b}[2Jb\r\nc\td\u{9b}e\u{202e}f"), "a[2Jb\nc\tdef");
        assert!(matches!(clean("plain\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_line_is_cut_to_its_columns() {
        let cases = [
            ("short", 10, "short"),
            ("exactly te", 10, "exactly te"),
            ("a longer line", 10, "a longer…"),
            ("数据库连接", 7, "数据库…"),
            ("  two\n spaces ", 20, "  two  spaces"),
            ("abc", 1, "…"),
        ];
        for (text, columns, wanted) in cases {
            assert_eq!(fit(text, columns), wanted);
            assert!(width(&fit(text, columns)) <= columns);
        }
    }

    #[test]
    fn folding_keeps_words_paragraphs_and_the_indent() {
        assert_eq!(wrap("one two three\n\nfour", "  ", 9), ["  one two", "  three", "", "  four"]);
        assert_eq!(wrap("unbreakable", "", 5), ["unbr…"]);
        assert!(wrap("", "  ", 10).is_empty());
    }
}
