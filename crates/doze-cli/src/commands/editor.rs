//! Changing a memory's title and text in the person's own editor.

use std::io::Write;
use std::process::Command;

use doze_protocol::Exit;

use crate::error::CommandError;

/// Lets the person change a title and a body; nothing when both stay as they are.
///
/// # Errors
/// When the editor cannot be run or ends with an error, or when the text is empty afterwards.
pub(super) fn change(title: &str, body: &str) -> Result<Option<(String, String)>, CommandError> {
    let io = |error: &std::io::Error| CommandError::io("a temporary file", error);
    let mut file = tempfile::Builder::new().suffix(".md").tempfile().map_err(|error| io(&error))?;
    let before = format!("{title}\n\n{body}\n");
    file.write_all(before.as_bytes()).and_then(|()| file.flush()).map_err(|error| io(&error))?;
    run(file.path())?;
    let after = std::fs::read_to_string(file.path()).map_err(|error| io(&error))?;
    if after == before {
        return Ok(None);
    }
    let (title, body) = split(&after);
    if body.is_empty() {
        return Err(CommandError::bad_input("the text is empty, so nothing was changed")
            .hint("doze forget ID deletes"));
    }
    Ok(Some((title, body)))
}

/// The editor may be a command line of its own, so a shell reads it, as other programs do.
fn run(path: &std::path::Path) -> Result<(), CommandError> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let editor = set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| "vi".into());
    let mut line = editor;
    line.push(" \"$1\"");
    let status = Command::new("sh").arg("-c").arg(line).arg("sh").arg(path).status();
    match status.map_err(|error| CommandError::io("the editor", &error))? {
        status if status.success() => Ok(()),
        status => Err(CommandError::new(
            Exit::Nothing,
            format!("the editor ended with {status}; nothing was changed"),
        )),
    }
}

/// The first line and, after an empty one, all else. A single paragraph is a body without a title.
fn split(text: &str) -> (String, String) {
    match text.trim().split_once("\n\n") {
        Some((title, body)) if !title.contains('\n') => (title.trim().to_owned(), body.trim().to_owned()),
        _ => (String::new(), text.trim().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_paragraph_is_the_title_if_it_is_one_line() {
        let cases = [
            ("title\n\nbody\nmore\n", ("title", "body\nmore")),
            ("\n\ntitle\n\n\nbody\n\nsecond\n", ("title", "body\n\nsecond")),
            ("only\n", ("", "only")),
            ("two\nlines\n\nbody", ("", "two\nlines\n\nbody")),
            ("", ("", "")),
        ];
        for (text, (title, body)) in cases {
            assert_eq!(split(text), (title.to_owned(), body.to_owned()));
        }
    }
}
