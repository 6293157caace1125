//! Under which key a session is kept, and by which name a commit is known.
//!
//! An orchestrator names the sessions of its agents as it likes: `1` of one agent is not `1` of another, nor that of the
//! same agent in another project. A harness makes ids that nobody else has, so its session stays one wherever it moves.

use doze_core::model::{AgentId, AgentRef, Memory, OwnerId, ProjectId, Session, SessionKey, WorkState, hex};
use doze_store::{ReadError, Snapshot};
use sha2::{Digest, Sha256};

use super::{CommitRequest, transcript};
use crate::names::MAX_NAME_BYTES;
use crate::project::Resolved;

/// Stands between a session's name and what tells it from others of that name.
pub(super) const MARK: char = '~';
/// Hexadecimal digits behind the mark.
const DIGITS: usize = 12;
/// Sessions of one name that are looked through.
pub(super) const MOST_OF_A_NAME: usize = 1_000;

/// The key of the session that an agent calls so in a place: the name as it is, unless another agent, or the same one in
/// another project, called a session so before; then the name with a mark of agent and project behind it.
pub(super) fn key_of(
    snapshot: &Snapshot,
    owner: &OwnerId,
    name: &str,
    agent: &AgentRef,
    place: &Resolved,
) -> Result<SessionKey, ReadError> {
    let plain = SessionKey::new(name, agent.harness.clone());
    if is_of_harness(&agent.id, &agent.harness) {
        return Ok(plain);
    }
    let holder = snapshot.session(owner, &plain)?;
    if holder.as_ref().is_some_and(|holder| holder.agent.id == agent.id && is_place_of(holder, place)) {
        return Ok(plain);
    }
    // One that has a mark keeps it, also when the name is free again; so does one whose project was merged into this one.
    let own = marked(name, agent, place.id());
    let before = former(place).map(|project| marked(name, agent, Some(&project)));
    for key in [own.clone()].into_iter().chain(before) {
        if snapshot.session(owner, &key)?.is_some() {
            return Ok(key);
        }
    }
    Ok(if holder.is_some() { own } else { plain })
}

/// The names under which it may be noted what was put into a session, or how far it is: that of its key, and the one its
/// agent gives it.
pub(crate) fn names_of(key: &str) -> impl Iterator<Item = &str> {
    let given = key.rsplit_once(MARK).filter(|(given, mark)| {
        !given.is_empty() && mark.len() == DIGITS && mark.bytes().all(|b| b.is_ascii_hexdigit())
    });
    [Some(key), given.map(|(given, _)| given)].into_iter().flatten()
}

/// What an agent calls the session that it names: a list shows it with its mark.
pub(crate) fn own_name(
    snapshot: &Snapshot,
    owner: &OwnerId,
    name: String,
    agent: &AgentRef,
    place: &Resolved,
) -> Result<String, ReadError> {
    let Some(given) = names_of(&name).nth(1) else { return Ok(name) };
    // A name may look like another one with a mark.
    let is_shown = key_of(snapshot, owner, given, agent, place)?.session == name;
    Ok(if is_shown { given.to_owned() } else { name })
}

/// Whether a work state is of the session with this name, as its agent calls it or as a list shows it.
pub(crate) fn is_work_of(work: &WorkState, name: &str) -> bool {
    work.session.as_deref().is_some_and(|own| {
        own == name
            || (name.contains(MARK) && marked(own, &work.agent, work.project.as_ref()).session == name)
    })
}

/// Whether a work state is of a session. Its agent may be a helper of the harness whose session it is.
pub(crate) fn is_work_in(work: &WorkState, session: &Session) -> bool {
    let key = &session.key;
    let is_its_agents = (&work.agent.id, &work.project) == (&session.agent.id, &session.project);
    let is_its_harness = work.agent.harness == key.harness && is_of_harness(&work.agent.id, &key.harness);
    let is_named = work.session.as_deref() == Some(key.session.as_str()) || is_work_of(work, &key.session);
    is_named && (is_its_agents || (is_its_harness && is_of_harness(&session.agent.id, &key.harness)))
}

/// Whether a memory was learned from a session first. It names the session without the harness.
pub(crate) fn is_learned_in(memory: &Memory, session: &Session) -> bool {
    let moves = is_of_harness(&session.agent.id, &session.key.harness);
    let is_its_agents =
        memory.source.agent.as_ref().is_none_or(|agent| {
            agent.harness == session.key.harness && (moves || agent.id == session.agent.id)
        });
    let project = memory.scope.project();
    let is_its_place = moves || project.is_none() || project == session.project.as_ref();
    memory.source.session.as_ref() == Some(&session.key.session) && is_its_agents && is_its_place
}

/// The sessions that an agent calls so, in a place or anywhere, the newest first.
pub(crate) fn called(
    snapshot: &Snapshot,
    owner: &OwnerId,
    name: &str,
    agent: &AgentId,
    place: Option<&Resolved>,
) -> Result<Vec<Session>, ReadError> {
    let mut names = vec![name.to_owned()];
    names.extend(snapshot.session_names(owner, &format!("{}{MARK}", stem(name)), MOST_OF_A_NAME)?);
    names.dedup();
    let mut found = Vec::new();
    for kept in names {
        let mut sessions = snapshot.sessions_named(owner, &kept)?;
        sessions.retain(|session| {
            let moves = is_of_harness(&session.agent.id, &session.key.harness);
            let projects = place.into_iter().flat_map(former).map(Some).chain([session.project.clone()]);
            // A name may look like another one with a mark.
            let is_named = session.key.session == name
                || projects.into_iter().any(|id| session.key == marked(name, &session.agent, id.as_ref()));
            is_named
                && session.agent.id == *agent
                && place.is_none_or(|place| {
                    moves || session.project == place.reads() || is_place_of(session, place)
                })
        });
        found.extend(sessions);
    }
    found.sort_by_key(|session| std::cmp::Reverse(session.last_event_at));
    Ok(found)
}

/// Whether an agent is a harness itself or one of its helpers, as hooks name them.
pub(crate) fn is_of_harness(agent: &AgentId, harness: &str) -> bool {
    let rest = agent.as_str().strip_prefix(harness);
    !harness.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is_place_of(session: &Session, place: &Resolved) -> bool {
    session.project.as_ref() == place.id()
        || session.project.as_ref().is_some_and(|project| former(place).any(|id| id == *project))
}

/// The ids of projects that were merged into a place's.
pub(super) fn former(place: &Resolved) -> impl Iterator<Item = ProjectId> {
    place.project.iter().flat_map(|project| former_ids(&project.aliases))
}

/// The same, of a project's aliases.
pub(crate) fn former_ids(aliases: &[String]) -> impl Iterator<Item = ProjectId> {
    aliases.iter().filter_map(|alias| alias.strip_prefix("was:")).map(ProjectId::from)
}

pub(crate) fn marked(name: &str, agent: &AgentRef, project: Option<&ProjectId>) -> SessionKey {
    SessionKey::new(with_mark(name, &agent.id, project), agent.harness.clone())
}

/// What an agent calls the session that is kept under a name, in a project.
pub(crate) fn given_name<'n>(kept: &'n str, agent: &AgentId, project: Option<&ProjectId>) -> &'n str {
    let given = names_of(kept).nth(1);
    given.filter(|given| with_mark(given, agent, project) == kept).unwrap_or(kept)
}

fn with_mark(name: &str, agent: &AgentId, project: Option<&ProjectId>) -> String {
    let mut hash = Sha256::new();
    for part in [agent.as_str(), project.map_or("", ProjectId::as_str), name] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let mark = hex(&hash.finalize()[..DIGITS / 2]);
    format!("{}{MARK}{mark}", stem(name))
}

/// As much of a name as leaves room for a mark.
pub(super) fn stem(name: &str) -> &str {
    &name[..name.floor_char_boundary(MAX_NAME_BYTES - DIGITS - MARK.len_utf8())]
}

/// The id of a commit that brought none: a hash of everything it brought, the state of its transcript included. A call
/// that is repeated because its answer was lost has the same one; one that differs in anything is another commit.
pub(super) fn commit_id(request: &CommitRequest) -> String {
    if let Some(id) = &request.commit_id {
        return id.clone();
    }
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    };
    add(request.agent.id.as_str());
    add(request.project.as_deref().unwrap_or(""));
    add(request.end.as_str());
    add(request.mode.map_or("", |mode| mode.as_str()));
    add(request.kind.map_or("", |kind| kind.as_str()));
    add(request.outcome.map_or("", |outcome| outcome.as_str()));
    add(request.team.as_deref().unwrap_or(""));
    add(&request.tokens.map_or_else(String::new, |tokens| format!("{} {}", tokens.input, tokens.output)));
    if let Some(task) = &request.task {
        [&task.id, &task.title, &task.spec, &task.prompt].into_iter().for_each(|part| add(part));
    }
    add(request.summary.as_deref().unwrap_or(""));
    add(request.output.as_deref().unwrap_or(""));
    request.changed_files.iter().for_each(|file| add(file));
    for event in &request.events {
        add(event.id.as_str());
        add(&hex(&event.fingerprint()));
    }
    if let Some(transcript) = &request.transcript {
        add(&transcript.path);
        add(&transcript::state_of(&transcript.path));
    }
    format!("auto:{}", hex(&hash.finalize()[..16]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_mark_is_another_for_each_agent_and_project_and_never_too_long() {
        let agent = |id: &str| AgentRef { id: id.into(), name: id.to_owned(), harness: String::new() };
        let (shop, web) = (ProjectId::from("shop"), ProjectId::from("web"));
        let keys = [
            marked("1", &agent("alex"), Some(&shop)),
            marked("1", &agent("alex"), Some(&web)),
            marked("1", &agent("alex"), None),
            marked("1", &agent("sam"), Some(&shop)),
        ];
        for (at, key) in keys.iter().enumerate() {
            assert!(key.session.starts_with("1~") && !keys[..at].contains(key), "{key:?}");
        }
        let long = marked(&"亚".repeat(170), &agent("alex"), None);
        assert!(long.session.len() <= MAX_NAME_BYTES);
    }

    #[test]
    fn a_key_tells_the_name_that_was_given() {
        let key =
            marked("build", &AgentRef { id: "a".into(), name: String::new(), harness: String::new() }, None);
        assert_eq!(names_of(&key.session).collect::<Vec<_>>(), [key.session.as_str(), "build"]);
        for plain in ["build", "build~2", "~0123456789ab", "build~0123456789xy"] {
            assert_eq!(names_of(plain).collect::<Vec<_>>(), [plain]);
        }
    }

    #[test]
    fn an_agent_of_a_harness_is_told_by_its_name() {
        for (agent, harness, expected) in [
            ("claude-code", "claude-code", true),
            ("claude-code/Explore", "claude-code", true),
            ("claude-code-2", "claude-code", false),
            ("alex", "claude-code", false),
            ("alex", "", false),
            ("/alex", "", false),
        ] {
            assert_eq!(is_of_harness(&agent.into(), harness), expected, "{agent} {harness}");
        }
    }
}
