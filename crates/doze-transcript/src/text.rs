//! What is a person's words and what the harness put round them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use doze_core::redact::redact;
use doze_core::text::clean;

/// Tags that stand inside genuine prompts and tool outputs although nobody typed them.
const INJECTED_TAGS: [&str; 5] =
    ["system-reminder", "ide_opened_file", "ide_selection", "ide_diagnostics", "user-prompt-submit-hook"];

/// A text in the role of a user that begins like this was not written by one.
const INJECTED_STARTS: [&str; 26] = [
    "<local-command-",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<task-notification",
    "<agent-notification",
    "<teammate-message",
    "Caveat: The messages below",
    "[Request interrupted by user",
    "This session is being continued from a previous conversation",
    "<environment_context>",
    "# AGENTS.md instructions for",
    "<INSTRUCTIONS>",
    "<user_instructions>",
    "<turn_aborted>",
    "<skill>",
    "<recommended_plugins>",
    "<subagent_notification>",
    "<heartbeat>",
    "<permissions instructions>",
    "<collaboration_mode>",
    "<apps_instructions>",
    "<skills_instructions>",
    "<plugins_instructions>",
    "<app-context>",
    "<session_context>",
];

/// Where the request begins in a prompt that an editor wrapped in its context.
const CODEX_REQUEST: &str = "## My request for Codex:";

/// Where Gemini CLI appends the files that a prompt named with `@`.
const GEMINI_FILES: &str = "\n--- Content from referenced files ---";

/// How often each rule of redaction struck.
pub(crate) type Hits = BTreeMap<&'static str, u64>;

/// Cuts a text to `max` bytes, keeping three quarters of it from the head and the rest from the tail, with a mark
/// that tells how much is missing. NUL characters are dropped: stores and searches stop at them.
pub(crate) fn cut(text: &str, max: usize, hits: &mut Hits) -> String {
    let short = shorten(text, max, hits);
    if short.contains('\0') { short.replace('\0', "") } else { short.into_owned() }
}

/// As [`cut`], without the copy when nothing is to be cut and with NULs left in.
pub(crate) fn shorten<'a>(text: &'a str, max: usize, hits: &mut Hits) -> Cow<'a, str> {
    if text.len() <= max {
        return Cow::Borrowed(text);
    }
    let text = safe(text, hits);
    if text.len() <= max {
        return Cow::Owned(text);
    }
    let head = text.floor_char_boundary(max / 4 * 3);
    let tail = text.ceil_char_boundary(text.len() - max / 4);
    let mark = format!("\n[... {} bytes left out ...]\n", tail - head);
    Cow::Owned([&text[..head], &mark, &text[tail..]].concat())
}

/// What is about to be cut, without its secrets: of half a secret nobody knows afterwards what it was.
fn safe(text: &str, hits: &mut Hits) -> String {
    let cleaned = clean(text);
    let redacted = redact(&cleaned);
    for (rule, count) in redacted.hits {
        *hits.entry(rule).or_default() += count;
    }
    redacted.text.into_owned()
}

/// A name that is kept, at most `max` bytes of it.
pub(crate) fn name(text: &str, max: usize) -> Cow<'_, str> {
    if text.len() <= max {
        return Cow::Borrowed(text);
    }
    Cow::Owned(head(&safe(text, &mut Hits::new()), max).to_owned())
}

/// The first `max` bytes of what is only looked at, cut at a character.
pub(crate) fn head(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// Removes the blocks of [`INJECTED_TAGS`]; one that is never closed takes the rest with it.
pub(crate) fn strip_injected(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let (before, from) = rest.split_at(start);
        out.push_str(before);
        let Some(tag) = INJECTED_TAGS.iter().find(|tag| opens(from, tag)) else {
            out.push('<');
            rest = &from[1..];
            continue;
        };
        let close = format!("</{tag}>");
        rest = from.find(&close).map_or("", |at| &from[at + close.len()..]);
    }
    out.push_str(rest);
    out
}

/// Whether `text` begins with the opening tag, with or without attributes.
fn opens(text: &str, tag: &str) -> bool {
    text[1..].strip_prefix(tag).is_some_and(|rest| rest.starts_with(['>', ' ']))
}

/// What a person typed, out of a text in the role of a user; `None` when nothing of it was typed.
pub(crate) fn typed(text: &str) -> Option<String> {
    let stripped = strip_injected(text);
    let request = stripped.split_once(CODEX_REQUEST).map_or(stripped.as_str(), |(_, request)| request);
    let text = request.split_once(GEMINI_FILES).map_or(request, |(text, _)| text).trim();
    let written = !text.is_empty() && !INJECTED_STARTS.iter().any(|start| text.starts_with(start));
    written.then(|| text.to_owned())
}

/// A slash command as Claude Code logs it: its name with the slash, and its arguments.
pub(crate) fn slash_command(text: &str) -> Option<(String, String)> {
    let text = text.trim_start();
    if !text.starts_with("<command-message>") && !text.starts_with("<command-name>") {
        return None;
    }
    let name = between(text, "<command-name>", "</command-name>")?.trim();
    let args = between(text, "<command-args>", "</command-args>").unwrap_or("").trim();
    Some((name.to_owned(), args.to_owned()))
}

/// Whether a text is nothing but the name of a command, as newer versions log it before the expanded form.
pub(crate) fn is_bare_command(text: &str) -> bool {
    text.strip_prefix('/').is_some_and(|name| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':'))
    })
}

/// The text between two marks.
pub(crate) fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let from = text.find(open)? + open.len();
    let to = text[from..].find(close)? + from;
    Some(&text[from..to])
}

/// A text on one line, for a list: white space collapsed, cut to `max` characters.
pub(crate) fn one_line(text: &str, max: usize) -> String {
    let mut out = String::new();
    let text = safe(text, &mut Hits::new());
    for word in text.split(|c: char| c.is_whitespace() || c == '\0').filter(|word| !word.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
        if out.len() > max * 4 {
            break;
        }
    }
    out.chars().take(max).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn typed_keeps_the_persons_words_only() {
        let cases = [
            ("hello", Some("hello")),
            ("<system-reminder>x</system-reminder>hello", Some("hello")),
            ("<ide_opened_file>f</ide_opened_file>\nfix <b>it</b>", Some("fix <b>it</b>")),
            ("<ide_selection a=\"1\">f</ide_selection>", None),
            ("fix\n<system-reminder>never closed", Some("fix")),
            ("<local-command-stdout>Bye!</local-command-stdout>", None),
            ("# Files mentioned by the user:\n## a\n\n## My request for Codex:\nfix it\n", Some("fix it")),
            ("read @a\n--- Content from referenced files ---\nsecret", Some("read @a")),
            ("<heartbeat>\n<x/></heartbeat>", None),
            ("<system-reminders>kept", Some("<system-reminders>kept")),
            ("  \n", None),
        ];
        for (text, expected) in cases {
            assert_eq!(typed(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn slash_commands_come_in_any_tag_order() {
        let new = "<command-name>/exit</command-name>\n  <command-message>exit</command-message>";
        let old = "<command-message>x is running…</command-message><command-name>/x</command-name>\
                   <command-args>create a TODO app</command-args>";
        assert_eq!(slash_command(new), Some(("/exit".into(), String::new())));
        assert_eq!(slash_command(old), Some(("/x".into(), "create a TODO app".into())));
        assert_eq!(slash_command("say <command-name>/x</command-name>"), None);
        assert!(is_bare_command("/compact") && !is_bare_command("/etc/hosts") && !is_bare_command("/"));
    }

    #[test]
    fn cut_marks_what_is_missing() {
        assert_eq!(cut("abcdefghij", 8, &mut Hits::new()), "abcdef\n[... 2 bytes left out ...]\nij");
        assert_eq!(cut("a\0b", 8, &mut Hits::new()), "ab");
        assert_eq!(one_line(" a\n\n b\0c ", 3), "a b");
    }

    proptest! {
        #[test]
        fn cut_never_panics_and_keeps_short_texts(text in "\\PC{0,60}", max in 0usize..70) {
            let short = cut(&text, max, &mut Hits::new());
            prop_assert!(short.len() <= max + 40);
            if text.len() <= max { prop_assert_eq!(short, text); }
        }

        #[test]
        fn no_cut_leaves_a_part_of_a_secret(before in 0usize..80, after in 0usize..80, max in 0usize..200) {
            let body = "aB3dE5fG7hI9jK1mN2pQ4rS6tU8vW0xY1zA2";
            let text = format!("{}ghp_{body}{}", "a ".repeat(before), " b".repeat(after));
            let mut hits = Hits::new();
            let told = [cut(&text, max, &mut hits), name(&text, max).into_owned(), one_line(&text, max)];
            for told in told.iter().filter(|told| told.len() < text.len()) {
                for at in 0..body.len() - 7 {
                    prop_assert!(!told.contains(&body[at..at + 8]), "{}", told);
                }
            }
            prop_assert_eq!(hits.get("github").copied(), (text.len() > max).then_some(1));
        }

        #[test]
        fn strip_never_panics(text in "(<system-reminder>|</system-reminder>|<|é|a| ){0,12}") {
            strip_injected(&text);
        }
    }
}
