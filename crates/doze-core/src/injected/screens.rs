//! What was copied from doze's own screens: lines of lists and briefs, pages about a dream, records.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use crate::text::regex;

/// What a screen puts at the right edge of a line: `convention · 1 d`, `2 h · person · prompt`.
static EDGE: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(?:^|\s)(?:just now|\d+ (?:min|h|d|wk|y)) · |· (?:just now|\d+ (?:min|h|d|wk|y))\s*$")
});

/// How a line of a brief says when and by whom it was saved.
static OF_BRIEF: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\((?:today|yesterday|\d{1,5}(?:d|mo) ago), (?:from the user|said by the user|saved by an agent|saved by a tool|from a run summary|found in a session)\b",
    )
});

/// How the page about a dream begins, and what a record says of its memory.
static PAGE: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^Dream(?: [0-9a-f]{8})? · (?:.* · )?\d+ sessions?(?: of .*)?$"));
static RECORD: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:kind|space|origin) {2,}\S"));

/// Unindented lines that belong to a record or a page.
const HEADINGS: &[&str] = &[
    "Where it came from",
    "What happened to it",
    "Wrong?",
    "Delete it:",
    "Undo all of it:",
    "Taken back",
    "The rest was taken back",
    "Once nothing stands against it:",
];

/// Whether a line was copied from a screen or a brief, which tells what is known already, wherever that was.
pub(super) fn is_line(line: &str) -> bool {
    line.contains(" · ") && EDGE.is_match(line) || OF_BRIEF.is_match(line)
}

/// `text` without pages about dreams (`doze dream show`) and records (`doze show`, `doze why`), which quote what is
/// known line by line without a mark on each.
pub(super) fn without_pages(text: &str) -> Cow<'_, str> {
    let lines: Vec<&str> = text.lines().collect();
    let mut is_gone = vec![false; lines.len()];
    let mut at = 0;
    while at < lines.len() {
        let bare = bare(lines[at]);
        let begin = if PAGE.is_match(bare.trim_start()) {
            at
        } else if RECORD.is_match(bare.trim_start()) && lines.get(at + 1).is_some_and(|next| is_record(next))
        {
            title_of(&lines, at)
        } else {
            at += 1;
            continue;
        };
        let end = (at + 1..lines.len()).find(|place| is_outside(lines[*place])).unwrap_or(lines.len());
        is_gone[begin..end].fill(true);
        at = end;
    }
    if !is_gone.contains(&true) {
        return Cow::Borrowed(text);
    }
    let kept: Vec<&str> =
        lines.iter().zip(&is_gone).filter(|(_, gone)| !**gone).map(|(line, _)| *line).collect();
    Cow::Owned(kept.join("\n"))
}

/// A line without the marks of a quotation.
fn bare(line: &str) -> &str {
    let bare = line.trim_start_matches(['>', '|']);
    let bare = if bare.len() < line.len() { bare.strip_prefix(' ').unwrap_or(bare) } else { bare };
    bare.trim_end()
}

fn is_record(line: &str) -> bool {
    RECORD.is_match(bare(line).trim_start())
}

/// Where the record begins whose table begins at a line: at the nearest unindented line before it.
fn title_of(lines: &[&str], table: usize) -> usize {
    let is_title = |line: &str| !bare(line).is_empty() && !bare(line).starts_with(char::is_whitespace);
    (0..table).rev().find(|at| is_title(lines[*at])).unwrap_or(table)
}

/// Whether a line stands behind a page or record: it has text, is not indented and no heading of theirs.
fn is_outside(line: &str) -> bool {
    let line = bare(line);
    !line.is_empty()
        && !line.starts_with(char::is_whitespace)
        && !HEADINGS.iter().any(|heading| line.starts_with(heading))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DREAM: &str = "Dream 497d8ed4 · just now · 1 session of shop\n\n  learned 1   updated 1\n\n  Learned\n  + Never deploy on Fridays.            shop\n    because said by the person in u1 #2 · doze why 43d2a99b\n\n  Updated\n  ~ The API listens on port 4000.       shop\n    was: The API listens on port 3000.\n\nUndo all of it:  doze dream undo 497d8ed4";
    const WHY: &str = "Never deploy on Fridays\n  Never deploy on Fridays.\n\n  kind        convention\n  space       project · shop\n  id          01a22db9-3af9-79d3-b996-d67043d2a99b\n\nWhere it came from\n  The API listens on port 4000. Never deploy on            8 d · person · prompt\n    Fridays.\n    u1#2\n\nWrong?      doze feedback 43d2a99b wrong\nDelete it:  doze forget 43d2a99b";

    #[test]
    fn pages_and_records_go_and_what_stands_round_them_stays() {
        for page in [DREAM, WHY] {
            let quoted: String = page.lines().map(|line| format!("> {line}\n")).collect();
            for pasted in [page, quoted.trim_end()] {
                assert_eq!(without_pages(pasted), "", "{pasted}");
                let around = format!("Look at this:\n\n{pasted}\n\nAlways ask me first.");
                assert_eq!(without_pages(&around), "Look at this:\n\nAlways ask me first.", "{pasted}");
            }
        }
    }

    #[test]
    fn what_only_looks_a_little_like_one_stays() {
        for text in [
            "Dream big · we said in 3 sessions",
            "kind        of strange, is it not",
            "The kinds are:\n  kind        lesson\n\nAlways use them.",
            "plain",
        ] {
            assert!(matches!(without_pages(text), Cow::Borrowed(_)), "{text}");
        }
    }
}
