//! What setup would change, before it changes anything.

use std::path::{Path, PathBuf};

use doze_protocol::Exit;
use similar::{ChangeTag, TextDiff};

use super::agent::Agent;
use super::{files, hooks};
use crate::error::CommandError;
use crate::screen::count;

/// What becomes of an agent's settings file.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) path: PathBuf,
    /// The file as it is; nothing when there is none.
    pub(crate) before: Option<String>,
    /// The file as it will be; nothing when it goes.
    pub(crate) after: Option<String>,
    pub(crate) backup: Backup,
}

/// What becomes of the copy of the file as it was before doze.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backup {
    /// It is made, or made anew, of what the file is now.
    Make,
    /// It stays, or is not there.
    Keep,
    /// It goes: the file is what it was, or was not there before.
    Drop,
}

impl Plan {
    pub(crate) fn changes_anything(&self) -> bool {
        self.before != self.after
    }

    /// The change in a few lines: which hooks come, go or are written anew, and how many lines that takes.
    pub(crate) fn summary(&self, agent: &Agent) -> Vec<String> {
        if !self.changes_anything() {
            return Vec::new();
        }
        let (before, after) =
            (self.before.as_deref().unwrap_or_default(), self.after.as_deref().unwrap_or_default());
        let (had, has) = (hooks::own_events(agent, before), hooks::own_events(agent, after));
        let only = |events: &[String], others: &[String]| -> Vec<String> {
            events.iter().filter(|event| !others.contains(event)).cloned().collect()
        };
        let (come, go) = (only(&has, &had), only(&had, &has));
        let mut lines: Vec<String> = [("adds hooks", &come), ("takes out hooks", &go)]
            .into_iter()
            .filter(|(_, events)| !events.is_empty())
            .map(|(what, events)| format!("{what}: {}", events.join(", ")))
            .collect();
        if lines.is_empty() {
            lines.push("writes its hooks anew".to_owned());
        }
        if let Some(program) = hooks::own_program_path(agent, after).filter(|_| !has.is_empty()) {
            lines.push(format!("each runs: {program} hook {} EVENT", agent.harness.name()));
        }
        let diff = TextDiff::from_lines(before, after);
        let lines_of =
            |tag: ChangeTag| diff.iter_all_changes().filter(|change| change.tag() == tag).count() as u64;
        lines.push(format!(
            "{} added, {} removed; your own settings stay",
            count(lines_of(ChangeTag::Insert), "line"),
            lines_of(ChangeTag::Delete)
        ));
        lines
    }

    /// The change as a unified diff.
    pub(crate) fn diff(&self) -> String {
        let name = |text: &Option<String>| {
            text.as_ref().map_or("/dev/null".to_owned(), |_| self.path.display().to_string())
        };
        let (before, after) =
            (self.before.as_deref().unwrap_or_default(), self.after.as_deref().unwrap_or_default());
        TextDiff::from_lines(before, after)
            .unified_diff()
            .context_radius(3)
            .header(&name(&self.before), &name(&self.after))
            .to_string()
    }
}

/// The copy of a settings file as it was before doze.
pub(crate) fn backup_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".doze-backup");
    path.with_file_name(name)
}

/// Plans to add our hooks, run by `program`.
pub(crate) fn install(agent: &'static Agent, path: PathBuf, program: &str) -> Result<Plan, CommandError> {
    let before = files::read(&path)?;
    let after = hooks::add(agent, before.as_deref().unwrap_or_default(), program)
        .map_err(|error| left(&path, &error))?;
    let backup = match &before {
        None => Backup::Drop,
        Some(before) if hooks::has_own(agent, before) => Backup::Keep,
        Some(_) => Backup::Make,
    };
    Ok(Plan { path, before, after: Some(after), backup })
}

/// Plans to take our hooks out: back to the very bytes if nobody else has changed the file since, else only ours.
pub(crate) fn remove(agent: &'static Agent, path: PathBuf) -> Result<Plan, CommandError> {
    let before = files::read(&path)?;
    let Some(text) = before.as_deref().filter(|text| hooks::has_own(agent, text)) else {
        return Ok(Plan { path, after: before.clone(), before, backup: Backup::Keep });
    };
    // Nobody has changed the file since, when adding our hooks to what it was gives what it is.
    let program = hooks::own_program_path(agent, text);
    let is_untouched = |former: &str| {
        program
            .as_deref()
            .is_some_and(|program| hooks::add(agent, former, program).is_ok_and(|again| again == text))
    };
    let former = files::read(&backup_path(&path))?;
    let (after, backup) = match former {
        Some(former) if is_untouched(&former) => (Some(former), Backup::Drop),
        None if is_untouched("") => (None, Backup::Drop),
        _ => (Some(hooks::remove(agent, text).map_err(|error| left(&path, &error))?), Backup::Keep),
    };
    Ok(Plan { path, before, after, backup })
}

fn left(path: &Path, error: &hooks::HooksError) -> CommandError {
    let at = match error {
        hooks::HooksError::Syntax(error) => format!(" ({error})"),
        hooks::HooksError::Shape(_) => String::new(),
    };
    CommandError::new(Exit::Config, format!("{} was left as it is: {error}{at}", path.display()))
        .hint("mend the file, then run doze setup again")
}

/// Carries a plan out: the backup first, so that there is no moment without one.
pub(crate) fn apply(plan: &Plan) -> Result<(), CommandError> {
    let backup = backup_path(&plan.path);
    if let (Backup::Make, Some(before)) = (plan.backup, &plan.before) {
        files::write(&backup, before.as_bytes())?;
    }
    match &plan.after {
        Some(after) => files::write(&plan.path, after.as_bytes())?,
        None => files::remove(&plan.path)?,
    }
    if plan.backup == Backup::Drop {
        files::remove(&backup)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const DOZE: &str = "/usr/bin/doze";

    fn claude() -> &'static Agent {
        Agent::from_name("claude-code").unwrap()
    }

    fn set_up(path: &Path) -> Plan {
        let plan = install(claude(), path.to_owned(), DOZE).unwrap();
        apply(&plan).unwrap();
        plan
    }

    #[test]
    fn removing_gives_the_very_bytes_back_and_leaves_nothing_behind() {
        let contents: [Option<&[u8]>; 6] = [
            None,
            Some(b""),
            Some(b"{}"),
            Some(b"{\"hooks\": {\"Stop\": [ ]}}"),
            Some(b"\xEF\xBB\xBF{\r\n   \"a\":1 ,\r\n   \"hooks\": {}\r\n}"),
            Some(b"// mine\n{ \"hooks\": {\"Stop\": [{\"hooks\":[{\"type\":\"command\",\"command\":\"say hi\"}]}]}, }\n"),
        ];
        for content in contents {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("settings.json");
            if let Some(content) = content {
                fs::write(&path, content).unwrap();
            }
            set_up(&path);
            assert!(!set_up(&path).changes_anything(), "a second setup changes nothing");
            assert_eq!(fs::read(backup_path(&path)).ok().as_deref(), content, "the backup is what was there");
            apply(&remove(claude(), path.clone()).unwrap()).unwrap();
            assert_eq!(fs::read(&path).ok().as_deref(), content);
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), usize::from(content.is_some()));
        }
    }

    #[test]
    fn removing_after_others_changed_the_file_takes_out_only_ours() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        fs::write(&path, "{\n  \"model\": \"a\"\n}\n").unwrap();
        set_up(&path);
        let changed = fs::read_to_string(&path).unwrap().replace("\"a\"", "\"b\"");
        fs::write(&path, changed).unwrap();
        apply(&remove(claude(), path.clone()).unwrap()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\n  \"model\": \"b\"\n}\n");
    }

    #[test]
    fn removing_what_is_not_there_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        assert!(!remove(claude(), path.clone()).unwrap().changes_anything());
        fs::write(&path, "not even json").unwrap();
        assert!(!remove(claude(), path).unwrap().changes_anything());
    }

    #[test]
    fn a_broken_file_is_named_and_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        fs::write(&path, "{\n  \"a\": oops\n}").unwrap();
        let error = install(claude(), path.clone(), DOZE).unwrap_err();
        assert_eq!(error.exit, Exit::Config);
        assert!(
            error.message.ends_with(
                "settings.json was left as it is: it is not valid JSON (line 2: expected a value)"
            ),
            "{}",
            error.message
        );
    }

    #[test]
    fn the_diff_shows_what_is_added() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        fs::write(&path, "{\n  \"a\": 1\n}\n").unwrap();
        let diff = install(claude(), path.clone(), DOZE).unwrap().diff();
        assert!(diff.starts_with(&format!("--- {0}\n+++ {0}\n", path.display())), "{diff}");
        assert!(diff.contains("-  \"a\": 1\n+  \"a\": 1,\n+  \"hooks\": {\n"), "{diff}");
    }
}
