//! Which session is meant by a name: of all that are called so exactly one, or nothing happens to any.

use doze_core::model::{AgentId, OwnerId, ProjectId, Session};
use doze_store::Snapshot;

use super::identity::{MARK, MOST_OF_A_NAME, names_of, stem};
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
    /// Its project, by id, name or path.
    pub project: Option<String>,
}

impl<T: Into<String>> From<T> for SessionName {
    fn from(session: T) -> Self {
        Self { session: session.into(), ..Self::default() }
    }
}

impl Engine {
    /// The one session that is meant. Several of one name are an error that lists them.
    pub(crate) fn meant(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        named: &SessionName,
    ) -> Result<Session, EngineError> {
        let project = named.project.as_deref().map(|name| self.find_project(owner, name)).transpose()?;
        let mut candidates = called_so(snapshot, owner, &safe_name(&named.session))?;
        if candidates.is_empty() {
            let whole = whole_name(snapshot, owner, &named.session)?;
            candidates = snapshot.sessions_named(owner, &whole)?;
        }
        let fits = |session: &Session| {
            named.harness.as_ref().is_none_or(|harness| session.key.harness == *harness)
                && named.agent.as_ref().is_none_or(|agent| session.agent.id == *agent)
                && project.as_ref().is_none_or(|project| session.project.as_ref() == Some(&project.id))
        };
        let (mut fitting, others): (Vec<_>, Vec<_>) = candidates.into_iter().partition(fits);
        if fitting.len() > 1 && fitting.iter().all(|session| parts(session) == parts(&fitting[0])) {
            // One whose name was free again beside the one that kept its mark: the id alone tells them apart.
            fitting.retain(|session| session.key.session == named.session);
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
                let next = self.telling(snapshot, owner, &named.session, &fitting)?;
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
        name: &str,
        sessions: &[Session],
    ) -> Result<String, EngineError> {
        let Some((first, rest)) = sessions.split_first() else { return Ok(String::new()) };
        let mut flags = Vec::new();
        if rest.iter().any(|other| other.agent.id != first.agent.id) {
            flags.push(format!("--agent {}", first.agent.id));
        }
        let alike = || rest.iter().filter(|other| other.agent.id == first.agent.id);
        if alike().any(|other| other.key.harness != first.key.harness) {
            flags.push(format!("--harness {}", first.key.harness));
        }
        if alike().any(|other| other.key.harness == first.key.harness && other.project != first.project) {
            let project = self.project_name(snapshot, owner, first.project.as_ref())?;
            flags.extend(project.map(|name| format!("--in-project {name}")));
        }
        Ok(format!("doze forget --session {name} {}", flags.join(" ")).trim_end().to_owned())
    }
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
