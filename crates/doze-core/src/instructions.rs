//! A memory in a file of instructions that an agent reads by itself, such as CLAUDE.md (S1.38, S1 source fact 13): the
//! line it makes, and the place where that line goes. Everything else in the file stays as it is.

use crate::model::Memory;
use crate::text;

/// The heading that promoted memories stand under.
pub const HEADING: &str = "## Project memory (from OpenOrc)";

/// Of a title that was given, at most this much is taken for the beginning of its body; one that was made from the
/// body is longer, or all of it.
const GIVEN_TITLE_CHARS: usize = 70;
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The memory as one line, `- title: body`. A title that was only made from the body is not told twice, and nothing
/// opens a comment that would hide what follows it.
pub fn line(memory: &Memory) -> String {
    let (title, body) = (text::one_line(&memory.title), text::one_line(&memory.body));
    let stem = title.trim_end_matches('…').trim_end();
    let is_made = body.starts_with(stem) && (body == stem || stem.chars().count() > GIVEN_TITLE_CHARS);
    let said = match (title.is_empty(), body.is_empty()) {
        (_, true) => title,
        (true, false) => body,
        (false, false) if is_made => body,
        (false, false) => format!("{title}: {body}"),
    };
    format!("- {}", said.replace("<!--", "&lt;!--"))
}

/// The file with the line directly under the heading, or nothing when the line stands in it already. Without the
/// heading both go to the end.
pub fn with_line(file: &str, line: &str) -> Option<String> {
    if file.lines().any(|known| known.trim_start_matches(BYTE_ORDER_MARK).trim_end() == line) {
        return None;
    }
    let ending = if file.lines().next().is_some_and(|first| file[first.len()..].starts_with("\r\n")) {
        "\r\n"
    } else {
        "\n"
    };
    if let Some(at) = end_of_heading(file) {
        let (before, after) = file.split_at(at);
        return Some(match before.ends_with('\n') {
            true => format!("{before}{line}{ending}{after}"),
            false => format!("{before}{ending}{line}"),
        });
    }
    let is_empty = file.trim_start_matches(BYTE_ORDER_MARK).trim().is_empty();
    let ends_line = file.ends_with('\n') || file.trim_start_matches(BYTE_ORDER_MARK).is_empty();
    let (gap, last) = match (is_empty, ends_line) {
        (true, true) => (String::new(), ending),
        (true, false) => (ending.to_owned(), ""),
        (false, true) if file.ends_with("\n\n") || file.ends_with("\n\r\n") => (String::new(), ending),
        (false, true) => (ending.to_owned(), ending),
        (false, false) => (ending.repeat(2), ""),
    };
    Some(format!("{file}{gap}{HEADING}{ending}{line}{last}"))
}

/// Where the line after the heading begins. A heading inside a block of code is none, unless that block never ends.
fn end_of_heading(file: &str) -> Option<usize> {
    let (mut at, mut fence, mut first_inside) = (0, None, None);
    for line in file.split_inclusive('\n') {
        at += line.len();
        let bare = line.trim_start_matches(BYTE_ORDER_MARK).trim_end();
        if let Some(mark) = fence_of(bare) {
            match fence {
                None => fence = Some(mark),
                Some((sign, length)) if sign == mark.0 && mark.1 >= length => {
                    fence = None;
                    first_inside = None;
                }
                Some(_) => {}
            }
        } else if bare == HEADING {
            if fence.is_none() {
                return Some(at);
            }
            first_inside.get_or_insert(at);
        }
    }
    first_inside
}

/// The sign and length of a line that opens or closes a block of code.
fn fence_of(line: &str) -> Option<(char, usize)> {
    let line = line.trim_start();
    let sign = line.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == sign).count();
    (length >= 3).then_some((sign, length))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::*;

    fn memory(title: &str, body: &str) -> Memory {
        let now = jiff::Timestamp::UNIX_EPOCH;
        Memory {
            id: "1".into(),
            owner: "local:1".into(),
            scope: Scope::Project("p".into()),
            face: Face::Project,
            kind: Kind::Convention,
            native_kind: None,
            title: title.into(),
            body: body.into(),
            tags: vec![],
            topic_key: None,
            files: vec![],
            confidence: 0.6,
            evidence_count: 1,
            reinforce_count: 1,
            applied_count: 0,
            confirmed_by: vec![],
            pinned: false,
            status: Status::Active,
            superseded_by: None,
            verification: Verification::Human,
            source: Source::default(),
            contexts: vec![],
            created_at: now,
            updated_at: now,
            last_confirmed_at: now,
            content_hash: String::new(),
            file_ref: None,
        }
    }

    #[test]
    fn a_memory_is_one_harmless_line() {
        let long = "word ".repeat(30).trim().to_owned();
        let start: String = long.chars().take(79).collect();
        let table = [
            ("Use pnpm", "never npm", "- Use pnpm: never npm"),
            ("Use pnpm", "Use pnpm, never npm", "- Use pnpm: Use pnpm, never npm"),
            ("Use pnpm", "Use pnpm", "- Use pnpm"),
            ("", "Use pnpm", "- Use pnpm"),
            ("Use pnpm", "", "- Use pnpm"),
            ("a\u{1b}[31m", "b\r\n## Rules\n\u{0}c <!-- d", "- a: b ## Rules c &lt;!-- d"),
        ];
        for (title, body, wanted) in table {
            assert_eq!(line(&memory(title, body)), wanted);
        }
        assert_eq!(line(&memory(&start, &long)), format!("- {long}"));
        assert_eq!(line(&memory(&format!("{start}…"), &long)), format!("- {long}"));
    }

    #[test]
    fn the_line_goes_under_its_heading_and_nothing_else_moves() {
        let h = HEADING;
        let table = [
            (String::new(), format!("{h}\n- x\n")),
            ("\u{feff}".to_owned(), format!("\u{feff}{h}\n- x\n")),
            ("\n".to_owned(), format!("\n{h}\n- x\n")),
            ("# A\n".to_owned(), format!("# A\n\n{h}\n- x\n")),
            ("# A\n\n".to_owned(), format!("# A\n\n{h}\n- x\n")),
            ("# A".to_owned(), format!("# A\n\n{h}\n- x")),
            ("# A\r\nb\r\n".to_owned(), format!("# A\r\nb\r\n\r\n{h}\r\n- x\r\n")),
            (format!("# A\n{h}\n- old\n\n# B\n"), format!("# A\n{h}\n- x\n- old\n\n# B\n")),
            (format!("\u{feff}{h}  \r\n- old"), format!("\u{feff}{h}  \r\n- x\r\n- old")),
            (h.to_owned(), format!("{h}\n- x")),
            (format!("```\n{h}\n```\n"), format!("```\n{h}\n```\n\n{h}\n- x\n")),
            (format!("~~~~\n~~~\n{h}\n~~~~\n{h}\n"), format!("~~~~\n~~~\n{h}\n~~~~\n{h}\n- x\n")),
            (format!("```\nnever closed\n{h}\n- old\n"), format!("```\nnever closed\n{h}\n- x\n- old\n")),
            (format!("#{h}\n"), format!("#{h}\n\n{h}\n- x\n")),
        ];
        for (file, wanted) in table {
            assert_eq!(with_line(&file, "- x").as_deref(), Some(wanted.as_str()), "{file:?}");
        }
        for known in ["- x", "\u{feff}- x\r\n", "# A\n- x  \nb"] {
            assert_eq!(with_line(known, "- x"), None, "{known:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_the_file_holds_the_second_time_changes_nothing(
            parts in prop::collection::vec(
                prop::sample::select(vec!["# A", HEADING, "```", "~~~", "- old", "\n", "\r\n", "\u{feff}", " ", "ü"]),
                0..30,
            ),
            lines in prop::collection::vec("- [a-c]{1,2}", 1..4),
        ) {
            let mut file = parts.concat();
            for line in &lines {
                let before = file.clone();
                if let Some(after) = with_line(&file, line) {
                    // One piece was put in; what was there is there before and behind it.
                    let start = before.bytes().zip(after.bytes()).take_while(|(a, b)| a == b).count();
                    let end = before.bytes().rev().zip(after.bytes().rev()).take_while(|(a, b)| a == b).count();
                    prop_assert!(start + end >= before.len(), "{before:?} {after:?}");
                    file = after;
                }
                prop_assert_eq!(with_line(&file, line), None);
            }
            prop_assert!(file.matches(HEADING).count() <= parts.iter().filter(|part| **part == HEADING).count() + 1);
        }
    }
}
