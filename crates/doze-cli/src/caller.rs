//! Who is calling: a person at a terminal, or an agent in its shell.

use std::ffi::OsString;
use std::io::{self, IsTerminal};

use crate::hook::Harness;

/// Variables that agents set for the programs they run, and whose they are. A name that ends in `_` stands for all
/// that start so.
const MARKS: [(&str, Option<Harness>); 9] = [
    ("CLAUDECODE", Some(Harness::ClaudeCode)),
    ("CLAUDE_CODE_ENTRYPOINT", Some(Harness::ClaudeCode)),
    ("CODEX_", Some(Harness::Codex)),
    ("GEMINI_CLI", Some(Harness::Gemini)),
    ("OPENCODE", Some(Harness::OpenCode)),
    ("CURSOR_AGENT", None),
    ("COPILOT_AGENT_", None),
    ("DOZE_CHILD", None),
    ("AI_AGENT", None),
];

/// Variables that a person may well have in their own shell: they move folders or hold keys.
const NO_MARKS: [&str; 3] = ["CODEX_HOME", "CODEX_SQLITE_HOME", "CODEX_API_KEY"];

/// The mark of an agent among the variables, if there is one.
fn mark(variables: impl Iterator<Item = (OsString, OsString)>) -> Option<Option<Harness>> {
    let mut set =
        variables.filter(|(_, value)| !value.is_empty()).filter_map(|(name, _)| name.into_string().ok());
    set.find_map(|name| {
        let is_like = |mark: &str| name == mark || (mark.ends_with('_') && name.starts_with(mark));
        let found = MARKS.iter().find(|(mark, _)| is_like(mark))?;
        (!NO_MARKS.contains(&name.as_str())).then_some(found.1)
    })
}

/// Whether a person is at the terminal, with no agent in between: only then is what they say verified by a human.
pub(crate) fn is_person() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal() && mark(std::env::vars_os()).is_none()
}

/// Whether this runs in an agent's shell. A script of a person's does not.
pub(crate) fn is_agent() -> bool {
    mark(std::env::vars_os()).is_some()
}

/// Whether there is a person who can be asked.
pub(crate) fn can_be_asked() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// The agent in whose shell this runs.
pub(crate) fn agent() -> Option<&'static str> {
    mark(std::env::vars_os()).flatten().map(Harness::name)
}

/// The agent that was named, else the one in whose shell this runs.
pub(crate) fn agent_or(named: Option<&str>) -> Option<String> {
    match named {
        Some(named) => Some(named.to_owned()),
        None => agent().map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark_of(variables: &[(&str, &str)]) -> Option<Option<Harness>> {
        mark(variables.iter().map(|(name, value)| (name.into(), value.into())))
    }

    #[test]
    fn agents_are_known_by_their_variables() {
        assert_eq!(mark_of(&[("HOME", "/h"), ("CLAUDECODE", "1")]), Some(Some(Harness::ClaudeCode)));
        assert_eq!(mark_of(&[("CODEX_SANDBOX", "seatbelt")]), Some(Some(Harness::Codex)));
        assert_eq!(mark_of(&[("GEMINI_CLI", "1")]), Some(Some(Harness::Gemini)));
        assert_eq!(mark_of(&[("DOZE_CHILD", "1")]), Some(None));
    }

    #[test]
    fn a_persons_own_variables_are_no_agent() {
        assert_eq!(mark_of(&[("CODEX_HOME", "/x"), ("CLAUDE_CONFIG_DIR", "/y"), ("PATH", "/bin")]), None);
        assert_eq!(mark_of(&[("CLAUDECODE", "")]), None);
        assert_eq!(mark_of(&[("CODEX_HOME", "/x"), ("CODEX_THREAD_ID", "t")]), Some(Some(Harness::Codex)));
    }
}
