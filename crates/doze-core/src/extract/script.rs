//! Shell commands inside scripts: some harnesses give an agent one tool that runs JavaScript, in which a shell is one
//! function among others.

use std::sync::LazyLock;

use regex::Regex;

use crate::text;

static CALL: LazyLock<Regex> = LazyLock::new(|| text::regex(r"\bexec_command\s*\("));
static ARGUMENT: LazyLock<Regex> =
    LazyLock::new(|| text::regex(r#"[{,\s]["']?(?:cmd|command)["']?\s*:\s*(["'`])"#));

/// The command that a script runs. `None` when it runs several, whose output cannot be told apart, or makes the
/// command itself.
pub(super) fn command(script: &str) -> Option<String> {
    let mut calls = CALL.find_iter(script);
    let rest = &script[calls.next()?.end()..];
    if calls.next().is_some() {
        return None;
    }
    let found = ARGUMENT.captures(rest)?;
    literal(&rest[found.get(0)?.end()..], found[1].chars().next()?)
}

/// The value of a string literal behind its opening quote.
fn literal(text: &str, quote: char) -> Option<String> {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            c if c == quote => return Some(out.trim().to_owned()),
            '$' if quote == '`' && chars.peek() == Some(&'{') => return None,
            '\\' => match chars.next()? {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                'r' => {}
                'u' | 'x' => return None,
                other => out.push(other),
            },
            c => out.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_found_in_a_script() {
        let table = [
            (
                r#"const r = await tools.exec_command({cmd:"just test",workdir:"/a"}); text(r.output)"#,
                Some("just test"),
            ),
            (
                r#"await tools.exec_command({"cmd":"git commit -m \"x y\"","n":1})"#,
                Some("git commit -m \"x y\""),
            ),
            ("tools.exec_command({ workdir: '/a', cmd: `make\nlint` })", Some("make\nlint")),
            ("tools.exec_command({cmd:`gh run view ${id}`})", None),
            ("tools.exec_command({cmd:\"a\"}); tools.exec_command({cmd:\"b\"})", None),
            ("tools.exec_command({cmd:\"never closed", None),
            ("tools.apply_patch(patch)", None),
        ];
        for (script, expected) in table {
            assert_eq!(command(script).as_deref(), expected, "{script}");
        }
    }
}
