//! Which session is meant by a name: of all that are called so exactly one, or nothing happens to any.

use doze_core::model::{AgentId, OwnerId, ProjectId, Session};
use doze_store::Snapshot;

use super::identity::{MARK, MOST_OF_A_NAME, is_of_harness, names_of, stem};
use super::preview::{MOST_NAMED, unknown, whole_name};
use crate::names::safe_name;
use crate::{Engine, EngineError};

/// A session as somebody names it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionName {
    /// Its id as a list shows it, a beginning of that, or what its agent calls it.
    pub session: String,
    /// Its agent's harness.
    pub harness: Option<String>,
    /// Its agent.
    pub agent: Option<AgentId>,
    /// Its project, by id, name or path; empty for one of no project.
    pub project: Option<String>,
    /// A folder that stands for the project. The sessions of a harness fit any, since they move.
    pub cwd: Option<String>,
}

impl<T: Into<String>> From<T> for SessionName {
    fn from(session: T) -> Self {
        Self { session: session.into(), ..Self::default() }
    }
}

impl Engine {
    /// The one session that is meant. Several of one name are an error that lists them, and tells how `command` names one.
    pub(crate) fn meant(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        named: &SessionName,
        command: &str,
    ) -> Result<Session, EngineError> {
        let project = match named.project.as_deref() {
            None => None,
            Some("") => Some(None),
            Some(name) => Some(Some(self.find_project(owner, name)?.id)),
        };
        let place = named.cwd.as_deref().map(|cwd| self.known_project_of(owner, cwd)).transpose()?;
        let is_there = |session: &Session| {
            is_of_harness(&session.agent.id, &session.key.harness)
                || place.as_ref().is_none_or(|place| session.project == place.reads())
        };
        let mut candidates = called_so(snapshot, owner, &safe_name(&named.session))?;
        if candidates.is_empty() {
            let whole = whole_name(snapshot, owner, &named.session)?;
            candidates = snapshot.sessions_named(owner, &whole)?;
        }
        let fits = |session: &Session| {
            named.harness.as_ref().is_none_or(|harness| session.key.harness == *harness)
                && named.agent.as_ref().is_none_or(|agent| session.agent.id == *agent)
                && project.as_ref().is_none_or(|project| session.project == *project)
                && is_there(session)
        };
        let (mut fitting, others): (Vec<_>, Vec<_>) = candidates.into_iter().partition(fits);
        if fitting.len() > 1 && fitting.iter().all(|session| parts(session) == parts(&fitting[0])) {
            // One whose name was free again beside the one that kept its mark: the id alone tells them apart.
            let is_named = |session: &Session| session.key.session == named.session;
            if fitting.iter().any(is_named) {
                fitting.retain(is_named);
            }
        }
        match (fitting.len(), others.is_empty()) {
            (1, _) => Ok(fitting.remove(0)),
            (0, true) => Err(unknown(&named.session)),
            (0, false) => {
                let listed = self.listed(snapshot, owner, &others)?;
                Err(EngineError::not_found("session", &named.session)
                    .hint(format!("sessions of that name: {listed}")))
            }
            _ => {
                let listed = self.listed(snapshot, owner, &fitting)?;
                let many = format!("{} fits {} sessions: {listed}", named.session, fitting.len());
                let next = self.telling(snapshot, owner, command, &named.session, &fitting)?;
                Err(EngineError::invalid(many).hint(format!("say which one, as in  {next}")))
            }
        }
    }

    fn project_name(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        id: Option<&ProjectId>,
    ) -> Result<Option<String>, EngineError> {
        let Some(id) = id else { return Ok(None) };
        let name = snapshot.project(owner, id)?.map(|project| project.name);
        // Folders of one name are projects of one name.
        let is_its_own =
            |name: &String| self.find_project(owner, name).is_ok_and(|project| project.id == *id);
        Ok(Some(name.filter(is_its_own).unwrap_or_else(|| id.to_string())))
    }

    /// Sessions as an error names them: the id that a list shows, and whose it is.
    fn listed(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        sessions: &[Session],
    ) -> Result<String, EngineError> {
        let mut lines = Vec::new();
        for session in sessions.iter().take(MOST_NAMED) {
            let (id, agent) = (&session.key.session, &session.agent.id);
            let harness = match session.key.harness.as_str() {
                "" => String::new(),
                harness if harness == agent.as_str() => String::new(),
                harness => format!(" ({harness})"),
            };
            let project = self.project_name(snapshot, owner, session.project.as_ref())?;
            let project = project.map_or_else(|| "no project".to_owned(), |name| format!("project {name}"));
            lines.push(format!("{id} of {agent}{harness} in {project}"));
        }
        if sessions.len() > MOST_NAMED {
            lines.push("…".to_owned());
        }
        Ok(lines.join("; "))
    }

    /// A command that names the first of them and no other.
    fn telling(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        command: &str,
        name: &str,
        sessions: &[Session],
    ) -> Result<String, EngineError> {
        let Some((first, rest)) = sessions.split_first() else { return Ok(String::new()) };
        let mut flags = Vec::new();
        if rest.iter().any(|other| other.agent.id != first.agent.id) {
            flags.push(("--agent", first.agent.id.to_string()));
        }
        let alike = || rest.iter().filter(|other| other.agent.id == first.agent.id);
        if alike().any(|other| other.key.harness != first.key.harness) {
            flags.push(("--harness", first.key.harness.clone()));
        }
        if alike().any(|other| other.key.harness == first.key.harness && other.project != first.project) {
            let project = self.project_name(snapshot, owner, first.project.as_ref())?;
            flags.push(("--in-project", project.unwrap_or_default()));
        }
        let mut named = name;
        let tells_little = flags.iter().all(|(_, value)| value.is_empty());
        if tells_little && called_so(snapshot, owner, &first.key.session)?.len() == 1 {
            // The id that a list shows is its alone.
            (named, flags) = (&first.key.session, Vec::new());
        }
        // What looks like an option would be taken for one.
        let is_odd = |value: &str| value.starts_with('-');
        let named = quoted(named);
        let (named, behind) = match (is_odd(&named), command.contains(" --")) {
            (false, _) => (format!(" {named}"), String::new()),
            (true, true) => (format!("={named}"), String::new()),
            (true, false) => (String::new(), format!(" -- {named}")),
        };
        let mut command = format!("{command}{named}");
        for (flag, value) in flags {
            let between = if is_odd(&value) { '=' } else { ' ' };
            command.push_str(&format!(" {flag}{between}{}", quoted(&value)));
        }
        Ok(command + &behind)
    }
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn parts(session: &Session) -> (&str, &AgentId, Option<&ProjectId>) {
    (&session.key.harness, &session.agent.id, session.project.as_ref())
}

/// The sessions with this id, and those of other agents and projects that are called so.
pub(crate) fn called_so(
    snapshot: &Snapshot,
    owner: &OwnerId,
    name: &str,
) -> Result<Vec<Session>, EngineError> {
    let mut found = snapshot.sessions_named(owner, name)?;
    for other in snapshot.session_names(owner, &format!("{}{MARK}", stem(name)), MOST_OF_A_NAME)? {
        if names_of(&other).nth(1) == Some(stem(name)) {
            found.extend(snapshot.sessions_named(owner, &other)?);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_name_in_a_hint_is_one_word_to_a_shell() {
        for (word, expected) in [
            ("main-1_a.b", "main-1_a.b"),
            ("", "''"),
            ("my run", "'my run'"),
            ("$(touch x)", "'$(touch x)'"),
            ("it's", r"'it'\''s'"),
            ("实验", "'实验'"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
