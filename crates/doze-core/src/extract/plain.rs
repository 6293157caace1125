//! What an agent wrote, as it would say it: links by their label, no bold marks, no numbers of lines, which are wrong
//! after the next change. Code blocks stay as they are.

use std::sync::LazyLock;

use regex::Regex;

use crate::text;

/// `[label](target)`.
static LINK: LazyLock<Regex> =
    LazyLock::new(|| text::regex(r"!?\[([^\]\n]{1,200})\]\([^()\s]{1,400}(?:\([^()\s]*\))?[^()\s]*\)"));

/// The number of a line behind the name of a source file.
static FILE_LINE: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(\.(?:rs|tsx?|jsx?|mjs|py|go|java|kts?|rb|cc?|hh?|cpp|cs|php|swift|sh|bats|sql|toml|json|ya?ml|md|lua|exs?|vue|svelte|css|html|pkl|zig|scala)):\d+(?:[-–:]L?\d+)*",
    )
});

/// `(line 12)`, `at lines 3-9`.
static AT_LINE: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)\s*\((?:at\s+|see\s+)?(?:lines?|L)\s*\d+(?:\s*[-–,]\s*\d+)*\)|\s+(?:at|on|in|around|near|from)\s+lines?\s+~?\d+(?:\s*(?:[-–,]|and|to)\s*\d+)*",
    )
});

/// The text of an answer without marks.
pub(super) fn plain(answer: &str) -> String {
    let mut out = String::with_capacity(answer.len());
    let mut is_fenced = false;
    for (at, line) in answer.lines().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        let opens = line.trim_start().starts_with("```");
        is_fenced ^= opens;
        if is_fenced || opens {
            out.push_str(line);
        } else {
            out.push_str(&plain_line(line));
        }
    }
    out
}

fn plain_line(line: &str) -> String {
    let line = unlinked(line);
    let line = FILE_LINE.replace_all(&line, "$1");
    let line = AT_LINE.replace_all(&line, "");
    // Two stars in code are a pattern of paths.
    line.split('`')
        .enumerate()
        .map(|(at, part)| if at % 2 == 0 { part.replace("**", "") } else { part.to_owned() })
        .collect::<Vec<_>>()
        .join("`")
}

/// The text with its links by their label.
pub(super) fn unlinked(text: &str) -> String {
    LINK.replace_all(text, "$1").into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_go_and_code_stays() {
        let table = [
            (
                "It is **unsafe**: `reshim` deletes first ([src/shims.rs](/home/a/src/shims.rs:341)).",
                "It is unsafe: `reshim` deletes first (src/shims.rs).",
            ),
            ("See [the log](https://example.com/a(b)c) and `**/*.rs`.", "See the log and `**/*.rs`."),
            (
                "In `load()` at lines 33-39 of `a.go:33-39`, it stops (line 4).",
                "In `load()` of `a.go`, it stops.",
            ),
            ("```\n[a](b) **c**\n```\n[a](b) **c**", "```\n[a](b) **c**\n```\na c"),
            ("The API is on api.example.dev:3000", "The API is on api.example.dev:3000"),
        ];
        for (text, expected) in table {
            assert_eq!(plain(text), expected);
        }
    }
}
