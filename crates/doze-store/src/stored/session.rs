//! Sessions and work states.

use doze_core::model::{
    AgentRef, Mode, Outcome, OwnerId, ProjectId, Session, SessionEnd, SessionKey, SessionKind, Summary,
    TaskRef, Tokens, WorkState, WorkStatus,
};
use jiff::Timestamp;
use serde::Deserialize;

use super::{Text, kept_as_word, nobody, record};

kept_as_word!(Mode, Outcome, SessionEnd, SessionKind, WorkStatus);

record! {
    /// Token counts.
    StoredTokens for Tokens { input: u64 = 0, output: u64 = 0 }
}

record! {
    /// The task a session worked on.
    StoredTask for TaskRef {
        id: String = String::new(),
        title: String = String::new(),
        spec: String = String::new(),
        prompt: String = String::new(),
    }
}

record! {
    /// What a session did.
    StoredSummary for Summary {
        what: String = String::new(),
        decisions: Vec<String> = Vec::new(),
        files_changed: Vec<String> = Vec::new(),
        unfinished: Vec<String> = Vec::new(),
        commits: Vec<String> = Vec::new(),
        tokens: Tokens = Tokens::default(),
        request: String = String::new(),
        work_done: String = String::new(),
        outcome: String = String::new(),
        open_items: Vec<String> = Vec::new(),
        goal: String = String::new(),
        progress: String = String::new(),
        next_steps: Vec<String> = Vec::new(),
    }
}

record! {
    /// A session.
    StoredSession for Session {
        key: SessionKey = SessionKey::new("", ""),
        owner: OwnerId = OwnerId::new(""),
        project: Option<ProjectId> = None,
        agent: AgentRef = nobody(),
        cwd: String = String::new(),
        mode: Mode = Mode::Code,
        kind: SessionKind = SessionKind::Interactive,
        ended: Option<SessionEnd> = None,
        outcome: Outcome = Outcome::Success,
        started_at: Timestamp = Timestamp::UNIX_EPOCH,
        last_event_at: Timestamp = Timestamp::UNIX_EPOCH,
        heard_at: Timestamp = Timestamp::UNIX_EPOCH,
        event_count: u64 = 0,
        rounds: u64 = 0,
        turns: u64 = 0,
        summary: Option<Summary> = None,
        task: Option<TaskRef> = None,
        team: Option<String> = None,
        transcript: Option<String> = None,
    }
}

record! {
    /// The state of a task that still runs.
    StoredWork for WorkState {
        owner: OwnerId = OwnerId::new(""),
        agent: AgentRef = nobody(),
        project: Option<ProjectId> = None,
        session: Option<String> = None,
        started_at: Timestamp = Timestamp::UNIX_EPOCH,
        updated_at: Timestamp = Timestamp::UNIX_EPOCH,
        status: WorkStatus = WorkStatus::Running,
        task_id: Option<String> = None,
        task_prompt: Option<String> = None,
        cwd: Option<String> = None,
        summary: String = String::new(),
        next_steps: Vec<String> = Vec::new(),
        unfinished: Vec<String> = Vec::new(),
        files_touched: Vec<String> = Vec::new(),
        last_activity: Option<String> = None,
    }
}

/// The fields of a stored session that its index entries are made of, read without the rest.
#[derive(Debug, Deserialize)]
pub(crate) struct SessionFacts {
    #[serde(default)]
    project: Option<String>,
    agent: AgentFacts,
    last_event_at: Text<Timestamp>,
}

#[derive(Debug, Deserialize)]
struct AgentFacts {
    id: String,
}

impl SessionFacts {
    /// Whether it is of this agent in this project.
    pub(crate) fn is_of(&self, agent: &str, project: &str) -> bool {
        self.agent.id == agent && self.project.as_deref().unwrap_or_default() == project
    }

    /// Its index entries, see [`facets`].
    pub(crate) fn entries(&self) -> ([String; 4], u64) {
        (facets(self.project.as_deref(), &self.agent.id), countdown(self.last_event_at.0))
    }
}

/// The lists a session stands in: all, those of its project, of its agent, of its agent in its project.
pub(crate) fn facets(project: Option<&str>, agent: &str) -> [String; 4] {
    let project = project.unwrap_or("");
    [String::new(), project_facet(project), agent_facet(agent), agent_in_project_facet(agent, project)]
}

/// The list of a project's sessions; the empty name stands for no project.
pub(crate) fn project_facet(project: &str) -> String {
    format!("project\0{project}")
}

/// How the lists of the agents begin, and those of agents in projects: the agent, then a zero and the project.
pub(crate) const AGENT_FACETS: &str = "agent\0";
pub(crate) const AGENT_IN_PROJECT_FACETS: &str = "both\0";

/// The list of an agent's sessions.
pub(crate) fn agent_facet(agent: &str) -> String {
    format!("{AGENT_FACETS}{agent}")
}

/// The list of an agent's sessions in one project.
pub(crate) fn agent_in_project_facet(agent: &str, project: &str) -> String {
    format!("{AGENT_IN_PROJECT_FACETS}{agent}\0{project}")
}

/// A number that falls as time goes on (microseconds), so that a forward scan gives the newest first.
pub(crate) fn countdown(at: Timestamp) -> u64 {
    !(at.as_microsecond().cast_unsigned() ^ (1 << 63))
}

/// Turns [`countdown`] round.
pub(crate) fn counted(down: u64) -> i64 {
    (!down ^ (1 << 63)).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_countdown_falls_with_time_also_before_1970() {
        let times =
            [Timestamp::MIN, "1969-12-31T23:59:59Z".parse().unwrap(), Timestamp::UNIX_EPOCH, Timestamp::MAX];
        let down: Vec<u64> = times.iter().map(|at| countdown(*at)).collect();
        assert!(down.is_sorted_by(|a, b| a > b), "{down:?}");
        for (at, down) in times.iter().zip(down) {
            assert_eq!(counted(down), at.as_microsecond());
        }
    }
}
