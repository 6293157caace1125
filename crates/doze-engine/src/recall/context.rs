//! What an office agent is told: recovery after a lost session, and knowledge before every task.

use doze_core::model::{
    AgentId, Event, Face, Memory, Outcome, OwnerId, Scope, Session, SessionEnd, Summary, WorkState,
};
use doze_core::render::context::{ContextInput, DEFAULT_TOKENS, RecentSession, context};
use doze_core::render::recovery::{Known, LegacyMessage, LegacyRecovery, Recovery, window};
use doze_store::{SessionFilter, Snapshot, Subject};

use super::{Reader, Told};
use crate::commit::{called, is_work_of};
use crate::names::safe_name;
use crate::project::Resolved;
use crate::{Engine, EngineError};

/// Sessions listed in the context.
const RECENT_SESSIONS: usize = 10;
/// Sessions of an agent among which the lost one is looked for.
const LAST_SESSIONS: usize = 30;
/// The newest events of a session among which its last messages are looked for: tool calls stand between them.
const WINDOW_EVENTS: u64 = 500;

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
    /// The tokens the text may cost; 530 when not given (S0.41).
    pub budget: Option<usize>,
}

/// A context, and what stands in it.
#[derive(Debug, Clone)]
pub struct ContextAnswer {
    /// The text.
    pub told: Told,
    /// The agent's facts in it, the most reinforced first.
    pub facts: Vec<Memory>,
    /// Those of its project.
    pub shared: Vec<Memory>,
    /// Its sessions, newest first.
    pub sessions: Vec<Session>,
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
    /// The last messages of that session, oldest first (S0.2).
    pub messages: Vec<LegacyMessage>,
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
            Some(session) => works.iter().position(|work| is_work_of(work, session)),
            None => (!works.is_empty()).then_some(0),
        };
        let mut work = chosen.map(|at| works.remove(at));
        let named = session.as_deref().or(work.as_ref().and_then(|work| work.session.as_deref()));
        let mut last = last_session(&snapshot, owner, agent, place.as_ref(), named)?;
        if session.is_none()
            && let Some(old) = &work
            && is_given_up(&snapshot, owner, agent, place.as_ref(), old)?
        {
            works.splice(0..0, work.take());
            last = last_session(&snapshot, owner, agent, place.as_ref(), None)?;
        }
        let messages = match &last {
            Some(session) => window(&last_events(&snapshot, owner, session)?),
            None => Vec::new(),
        };
        let summary = last.as_ref().and_then(|session| session.summary.as_ref());
        let task = last.as_ref().and_then(|session| session.task.as_ref()).map(|task| task.prompt.as_str());
        let legacy = with_window(request.legacy.clone(), task, &messages);
        let parts = Recovery::choose(&Known {
            work: work.as_ref(),
            summary,
            outcome: last.as_ref().map(|session| session.outcome),
            task,
            legacy: legacy.as_ref(),
        });
        let told = parts.as_ref().map(Recovery::render).unwrap_or_default();
        if let Some(place) = &place {
            // Reading goes on where nothing can be written.
            let noted = self.note_recovered(owner, agent, place, &told.text);
            let _ = noted.inspect_err(|error| tracing::warn!(%error, "what was shown is not noted"));
        }
        Ok(Recovered {
            told,
            parts,
            session: match &work {
                Some(work) => work.session.clone(),
                None => last.as_ref().map(|session| session.key.session.clone()),
            },
            summary: last.filter(|_| work.is_none()).and_then(|session| session.summary),
            work,
            others: works.into_iter().filter_map(|work| work.session).collect(),
            messages,
        })
    }

    /// What the agent should know before a task (S0.30–S0.36, S0.39, S0.41).
    pub fn context(&self, owner: &OwnerId, request: &ContextRequest) -> Result<ContextAnswer, EngineError> {
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
        let mut sessions = snapshot.sessions(owner, &filter, None, RECENT_SESSIONS)?.items;
        sessions.retain(|session| session.summary.is_some());
        let recent: Vec<RecentSession<'_>> = sessions
            .iter()
            .filter_map(|session| {
                Some(RecentSession { at: session.last_event_at, summary: session.summary.as_ref()? })
            })
            .collect();
        let made = context(&ContextInput {
            learned: &self.learned_in(&snapshot, owner)?,
            facts: &facts,
            shared: &shared,
            sessions: &recent,
            max_tokens: request.budget.unwrap_or(DEFAULT_TOKENS),
            now: self.now(),
        });
        sessions.truncate(made.sessions);
        let shown = |memories: &[Memory]| {
            let shown = made.text.memories.iter();
            shown.filter_map(|id| memories.iter().find(|memory| memory.id == *id)).cloned().collect()
        };
        if let Some(place) = &place {
            // Reading goes on where nothing can be written.
            let noted = self.note_context(owner, agent, place, &made.text);
            let _ = noted.inspect_err(|error| tracing::warn!(%error, "what was shown is not noted"));
        }
        Ok(ContextAnswer { facts: shown(&facts), shared: shown(&shared), sessions, told: made.text })
    }
}

/// What raw messages can tell: the caller's own, completed by those of the running session.
fn with_window(
    given: Option<LegacyRecovery>,
    task: Option<&str>,
    messages: &[LegacyMessage],
) -> Option<LegacyRecovery> {
    if given.is_none() && messages.is_empty() {
        return None;
    }
    let mut legacy = given.unwrap_or_default();
    if legacy.recent_messages.is_empty() {
        let last = |from_user: bool| messages.iter().rfind(|message| message.from_user == from_user);
        let said = |from_user| last(from_user).map(|message: &LegacyMessage| message.text.clone());
        let task = task.filter(|task| !task.trim().is_empty()).map(str::to_owned);
        legacy.original_task = legacy.original_task.or(task).or_else(|| said(true));
        legacy.last_result = legacy.last_result.or_else(|| said(false));
        legacy.recent_messages = messages.to_vec();
    }
    Some(legacy)
}

fn last_events(snapshot: &Snapshot, owner: &OwnerId, session: &Session) -> Result<Vec<Event>, EngineError> {
    let newest = session.event_count.saturating_sub(WINDOW_EVENTS)..session.event_count;
    Ok(snapshot.events(owner, &session.key, newest)?.into_iter().map(|(_, event)| event).collect())
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
        return Ok(called(snapshot, owner, session, agent, place)?.into_iter().next());
    }
    let project = place.map(Resolved::reads);
    let filter = SessionFilter { project, agent: Some(agent.clone()), ..Default::default() };
    let sessions = snapshot.sessions(owner, &filter, None, LAST_SESSIONS)?.items;
    // One of which nothing is known yet does not hide what was done before.
    Ok(sessions.into_iter().find(|session| session.summary.is_some() || session.event_count > 0))
}

/// The task that broke off was given up: the agent has done another one since, in a session that began after this state
/// was told last. One that ran beside it says nothing about it; nor does one that only looks later, because the clock was
/// set back since: it was written before.
fn is_given_up(
    snapshot: &Snapshot,
    owner: &OwnerId,
    agent: &AgentId,
    place: Option<&Resolved>,
    work: &WorkState,
) -> Result<bool, EngineError> {
    let project = place.map(Resolved::reads);
    let filter = SessionFilter { project, agent: Some(agent.clone()), ..Default::default() };
    let sessions = snapshot.sessions(owner, &filter, None, LAST_SESSIONS)?.items;
    let told = Subject::Work(work.agent.id.clone(), work.project.clone(), work.session.clone());
    let told = snapshot.revision(owner, &told)?;
    for session in sessions {
        let is_done = session.ended.is_some_and(|end| end != SessionEnd::Quit)
            && session.outcome == Outcome::Success
            && session.started_at > work.updated_at
            && session.summary.is_some();
        if is_done && snapshot.revision(owner, &Subject::Session(session.key))? > told {
            return Ok(true);
        }
    }
    Ok(false)
}
