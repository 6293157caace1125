//! What an office agent is told: recovery after a lost session, and knowledge before every task.

use doze_core::model::{AgentId, Face, OwnerId, Scope, Session, Summary, WorkState};
use doze_core::render::context::{RecentSession, context};
use doze_core::render::legacy::Legacy;
use doze_core::render::recovery::{LegacyRecovery, Recovery};
use doze_store::{SessionFilter, Snapshot};

use super::{Reader, Told};
use crate::names::safe_name;
use crate::project::Resolved;
use crate::{Engine, EngineError};

/// Sessions listed in the context.
const RECENT_SESSIONS: usize = 10;

/// `recall.recover`.
#[derive(Debug, Clone, Default)]
pub struct RecoverRequest {
    /// The agent whose session was lost, and where.
    pub reader: Reader,
    /// The lost session, if the caller knows it.
    pub session: Option<String>,
    /// The old form, for callers that keep raw messages.
    pub legacy: Option<LegacyRecovery>,
}

/// `recall.context`.
#[derive(Debug, Clone, Default)]
pub struct ContextRequest {
    /// The agent that gets a task, and where.
    pub reader: Reader,
}

/// A recovery text, its parts, and the other runs of the agent that have not ended.
#[derive(Debug, Clone)]
pub struct Recovered {
    /// The text.
    pub told: Told,
    /// Its parts; `None` when there is nothing to recover.
    pub parts: Option<Recovery>,
    /// The work state it is made of.
    pub work: Option<WorkState>,
    /// The summary it is made of, where there is no work state.
    pub summary: Option<Summary>,
    /// The session it speaks of.
    pub session: Option<String>,
    /// Sessions of the same agent with a work state of their own.
    pub others: Vec<String>,
}

impl Engine {
    /// What the agent was doing when its session was lost (S0.19, S0.21–S0.24).
    pub fn recover(&self, owner: &OwnerId, request: &RecoverRequest) -> Result<Recovered, EngineError> {
        self.note_activity();
        let agent = &named_agent(&request.reader)?;
        let session = request.session.as_deref().map(safe_name);
        let place = self.place_of_reader(owner, &request.reader)?;
        let snapshot = self.store().snapshot()?;
        let mut works = works_of(&snapshot, owner, agent, place.as_ref())?;
        let chosen = match &session {
            Some(session) => works.iter().position(|work| work.session.as_ref() == Some(session)),
            None => (!works.is_empty()).then_some(0),
        };
        let work = chosen.map(|at| works.remove(at));
        let last = last_session(&snapshot, owner, agent, place.as_ref(), session.as_deref())?;
        let summary = last.as_ref().and_then(|session| session.summary.as_ref());
        let task = last.as_ref().and_then(|session| session.task.as_ref()).map(|task| task.prompt.as_str());
        let parts = Recovery::choose(work.as_ref(), summary, task, request.legacy.as_ref());
        Ok(Recovered {
            told: parts.as_ref().map(Recovery::render).unwrap_or_default(),
            parts,
            session: match &work {
                Some(work) => work.session.clone(),
                None => last.as_ref().map(|session| session.key.session.clone()),
            },
            summary: last.filter(|_| work.is_none()).and_then(|session| session.summary),
            work,
            others: works.into_iter().filter_map(|work| work.session).collect(),
        })
    }

    /// What the agent should know before a task (S0.30–S0.36).
    pub fn context(&self, owner: &OwnerId, request: &ContextRequest) -> Result<Told, EngineError> {
        self.note_activity();
        let agent = &named_agent(&request.reader)?;
        let place = self.place_of_reader(owner, &request.reader)?;
        let project = place.as_ref().and_then(Resolved::reads);
        let snapshot = self.store().snapshot()?;
        let own = Scope::Agent { project: project.clone(), agent: agent.clone() };
        let facts = self.active_memories(&snapshot, owner, &[own])?;
        let shared = match &project {
            Some(project) => self.active_memories(&snapshot, owner, &[Scope::Project(project.clone())])?,
            None => Vec::new(),
        };
        let shared: Vec<_> = shared.into_iter().filter(|memory| memory.face == Face::Office).collect();
        let filter = SessionFilter {
            project: place.is_some().then_some(project),
            agent: Some(agent.clone()),
            ..Default::default()
        };
        let sessions = snapshot.sessions(owner, &filter, None, RECENT_SESSIONS)?.items;
        let recent: Vec<RecentSession<'_>> = sessions
            .iter()
            .filter_map(|session| {
                Some(RecentSession { at: session.last_event_at, summary: session.summary.as_ref()? })
            })
            .collect();
        Ok(context(&Legacy::default(), &facts, &shared, &recent, self.now()))
    }
}

fn named_agent(reader: &Reader) -> Result<AgentId, EngineError> {
    reader.agent_id().ok_or_else(|| EngineError::invalid("agent is missing"))
}

/// The runs of an agent that have not ended, the newest first.
fn works_of(
    snapshot: &Snapshot,
    owner: &OwnerId,
    agent: &AgentId,
    place: Option<&Resolved>,
) -> Result<Vec<WorkState>, EngineError> {
    let mut works = snapshot.works(owner)?;
    works.retain(|work| work.agent.id == *agent && place.is_none_or(|place| work.project == place.reads()));
    works.sort_by_key(|work| std::cmp::Reverse(work.updated_at));
    Ok(works)
}

fn last_session(
    snapshot: &Snapshot,
    owner: &OwnerId,
    agent: &AgentId,
    place: Option<&Resolved>,
    named: Option<&str>,
) -> Result<Option<Session>, EngineError> {
    if let Some(session) = named {
        return Ok(snapshot
            .sessions_named(owner, session)?
            .into_iter()
            .find(|session| session.agent.id == *agent));
    }
    let project = place.map(Resolved::reads);
    let filter = SessionFilter { project, agent: Some(agent.clone()), ..Default::default() };
    Ok(snapshot.sessions(owner, &filter, None, 1)?.items.into_iter().next())
}
