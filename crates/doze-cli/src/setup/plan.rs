//! What setup would change, before it changes anything.

use std::path::{Path, PathBuf};

use doze_protocol::Exit;
use similar::{ChangeTag, TextDiff};

use super::agent::Agent;
use super::hooks::HooksError;
use super::{files, hooks, servers};
use crate::error::CommandError;
use crate::screen::count;

/// What of ours stands in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Hooks,
    Server,
}

impl Part {
    fn add(self, agent: &Agent, text: &str, program: &str) -> Result<String, HooksError> {
        match self {
            Self::Hooks => hooks::add(agent, text, program),
            Self::Server => servers::add(agent, text, program),
        }
    }

    fn remove(self, agent: &Agent, text: &str) -> Result<String, HooksError> {
        match self {
            Self::Hooks => hooks::remove(agent, text),
            Self::Server => servers::remove(agent, text),
        }
    }

    fn has_own(self, agent: &Agent, text: &str) -> bool {
        match self {
            Self::Hooks => hooks::has_own(agent, text),
            Self::Server => servers::own_program(agent, text).is_some(),
        }
    }

    fn own_program(self, agent: &Agent, text: &str) -> Option<String> {
        match self {
            Self::Hooks => hooks::own_program_path(agent, text),
            Self::Server => servers::own_program(agent, text),
        }
    }
}

/// A file of an agent's, and what of ours is to stand in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) path: PathBuf,
    pub(crate) parts: Vec<Part>,
}

impl Target {
    /// The files of an agent with their parts: its settings, and unless it is left out the file with its servers.
    pub(crate) fn of(settings: Option<PathBuf>, servers: Option<PathBuf>) -> Vec<Self> {
        if settings == servers {
            let both = vec![Part::Hooks, Part::Server];
            return settings.into_iter().map(|path| Self { path, parts: both.clone() }).collect();
        }
        let hooks = settings.map(|path| Self { path, parts: vec![Part::Hooks] });
        let server = servers.map(|path| Self { path, parts: vec![Part::Server] });
        hooks.into_iter().chain(server).collect()
    }

    /// A file that is the agent's own memory, with its tokens, gets no copy beside it: it changes at every start, so
    /// that the copy would be of no use.
    fn has_backup(&self) -> bool {
        self.parts.contains(&Part::Hooks)
    }
}

/// The text with all of these parts in it, each once.
fn with_parts(agent: &Agent, parts: &[Part], text: &str, program: &str) -> Result<String, HooksError> {
    parts.iter().try_fold(text.to_owned(), |text, part| part.add(agent, &text, program))
}

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
        let server = |text: &str| servers::told(agent, text);
        match (server(before), server(after)) {
            (None, Some(run)) => lines.push(format!("adds the MCP server doze: {run}")),
            (Some(_), None) => lines.push("takes out the MCP server doze".to_owned()),
            _ => {}
        }
        if lines.is_empty() {
            lines.push("writes what is doze's anew".to_owned());
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

/// Plans to add what is ours, run by `program`.
pub(crate) fn install(agent: &'static Agent, target: Target, program: &str) -> Result<Plan, CommandError> {
    let before = files::read(&target.path)?;
    let after = with_parts(agent, &target.parts, before.as_deref().unwrap_or_default(), program)
        .map_err(|error| left(&target.path, &error))?;
    let has_backup = target.has_backup();
    let Target { path, parts } = target;
    let backup = match &before {
        _ if !has_backup => Backup::Keep,
        None => Backup::Drop,
        Some(before) if parts.iter().any(|part| part.has_own(agent, before)) => Backup::Keep,
        Some(_) => Backup::Make,
    };
    Ok(Plan { path, before, after: Some(after), backup })
}

/// Plans to take what is ours out: back to the very bytes if nobody else has changed the file since, else only ours.
pub(crate) fn remove(agent: &'static Agent, target: Target) -> Result<Plan, CommandError> {
    let before = files::read(&target.path)?;
    let has_backup = target.has_backup();
    let Target { path, mut parts } = target;
    let text = before.as_deref().unwrap_or_default();
    parts.retain(|part| part.has_own(agent, text));
    if parts.is_empty() {
        return Ok(Plan { path, after: before.clone(), before, backup: Backup::Keep });
    }
    // Nobody has changed the file since, when adding what is ours to what it was gives what it is.
    let program = parts.iter().find_map(|part| part.own_program(agent, text));
    let is_untouched = |former: &str| {
        let again = |program: &str| with_parts(agent, &parts, former, program);
        program.as_deref().is_some_and(|program| again(program).is_ok_and(|again| again == text))
    };
    let former = if has_backup { files::read(&backup_path(&path))? } else { None };
    let (after, backup) = match former {
        Some(former) if is_untouched(&former) => (Some(former), Backup::Drop),
        None if is_untouched("") => (None, Backup::Drop),
        _ => {
            let rest = parts.iter().try_fold(text.to_owned(), |text, part| part.remove(agent, &text));
            (Some(rest.map_err(|error| left(&path, &error))?), Backup::Keep)
        }
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

    fn at(path: &Path) -> Target {
        Target { path: path.to_owned(), parts: vec![Part::Hooks] }
    }

    fn set_up(path: &Path) -> Plan {
        let plan = install(claude(), at(path), DOZE).unwrap();
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
            apply(&remove(claude(), at(&path)).unwrap()).unwrap();
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
        apply(&remove(claude(), at(&path)).unwrap()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\n  \"model\": \"b\"\n}\n");
    }

    #[test]
    fn removing_what_is_not_there_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        assert!(!remove(claude(), at(&path)).unwrap().changes_anything());
        fs::write(&path, "not even json").unwrap();
        assert!(!remove(claude(), at(&path)).unwrap().changes_anything());
    }

    #[test]
    fn hooks_and_server_share_a_file_and_go_together() {
        let gemini = Agent::from_name("gemini").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        let [target] = Target::of(Some(path.clone()), Some(path.clone())).try_into().unwrap();
        for content in [None, Some("{\n  \"theme\": \"dark\"\n}\n")] {
            if let Some(content) = content {
                fs::write(&path, content).unwrap();
            }
            let plan = install(gemini, target.clone(), DOZE).unwrap();
            let told = plan.summary(gemini).join("\n");
            assert!(told.contains("adds hooks: ") && told.contains("doze mcp --harness gemini"), "{told}");
            apply(&plan).unwrap();
            assert!(!install(gemini, target.clone(), DOZE).unwrap().changes_anything());
            apply(&remove(gemini, target.clone()).unwrap()).unwrap();
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), content);
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), usize::from(content.is_some()));
        }
    }

    #[test]
    fn an_agents_own_memory_gets_no_copy_and_loses_only_our_server() {
        let home = tempfile::tempdir().unwrap();
        let target =
            Target::of(Some(home.path().join("x")), Some(home.path().join(".claude.json"))).pop().unwrap();
        for content in [None, Some("{\n  \"oauthAccount\": {\n    \"id\": 7\n  }\n}\n")] {
            if let Some(content) = content {
                fs::write(&target.path, content).unwrap();
            }
            apply(&install(claude(), target.clone(), DOZE).unwrap()).unwrap();
            assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1, "no copy lies beside it");
            apply(&remove(claude(), target.clone()).unwrap()).unwrap();
            assert_eq!(fs::read_to_string(&target.path).ok().as_deref(), content);
        }
    }

    #[test]
    fn a_broken_file_is_named_and_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        fs::write(&path, "{\n  \"a\": oops\n}").unwrap();
        let error = install(claude(), at(&path), DOZE).unwrap_err();
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
        let diff = install(claude(), at(&path), DOZE).unwrap().diff();
        assert!(diff.starts_with(&format!("--- {0}\n+++ {0}\n", path.display())), "{diff}");
        assert!(diff.contains("-  \"a\": 1\n+  \"a\": 1,\n+  \"hooks\": {\n"), "{diff}");
    }
}
