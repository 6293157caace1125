//! Which task an agent works on, and what is worth knowing for it (S1.34).

use doze_core::model::{AgentRef, OwnerId, Session, WorkState, WorkStatus};
use doze_store::{SessionFilter, Snapshot};
use jiff::SignedDuration;

use super::{Task, TaskStatus};
use crate::project::{Resolved, normalise};
use crate::recall::Reader;
use crate::{Engine, EngineError};

/// A work state that runs and was told nothing of for so long is of a run that died.
const ABANDONED: SignedDuration = SignedDuration::from_hours(12);
/// Earlier runs on a task that are told, and sessions looked at for them.
const EARLIER_RUNS: usize = 4;
const SESSIONS_LOOKED_AT: usize = 200;

/// The task that an agent works on, with what is worth knowing for it.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskContext {
    /// The task.
    pub task: Task,
    /// What earlier runs on it did, the latest first.
    pub earlier: Vec<String>,
}

impl Engine {
    /// The task that an agent works on: the one its running work names, else that of its last session, else the only
    /// one in progress. An id that nobody has told anything of names no task. Outside projects only what is told of the
    /// very folder counts.
    pub fn task_context(
        &self,
        owner: &OwnerId,
        reader: &Reader,
        harness: &str,
    ) -> Result<Option<TaskContext>, EngineError> {
        let Some(place) = self.place_of_reader(owner, reader)? else { return Ok(None) };
        let snapshot = self.store().snapshot()?;
        let is_mine = |agent: &AgentRef| harness.is_empty() || agent.harness == harness;
        let tasks = self.tasks_of(&snapshot, owner, place.reads().as_ref())?;
        let sessions = sessions_of(&snapshot, owner, &place)?;
        let mut named = self.running_tasks(&snapshot, owner, &place, &is_mine)?;
        let last = sessions.iter().find(|session| is_mine(&session.agent));
        named.extend(last.and_then(|session| session.task.as_ref()).map(|task| task.id.clone()));
        let mut open = tasks.iter().filter(|task| task.status == TaskStatus::InProgress);
        if let (Some(only), None, true) = (open.next(), open.next(), place.is_project) {
            named.push(only.id.clone());
        }
        let found = named.iter().filter(|id| !id.is_empty()).find_map(|id| {
            let known = tasks.iter().find(|task| task.id == *id).cloned();
            known.or_else(|| sessions.iter().find_map(|session| told_with(session, id)))
        });
        Ok(found.map(|task| TaskContext { earlier: earlier_runs(&sessions, &task.id), task }))
    }

    /// The tasks that running work of the agent names, the latest first.
    fn running_tasks(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        place: &Resolved,
        is_mine: &dyn Fn(&AgentRef) -> bool,
    ) -> Result<Vec<String>, EngineError> {
        let now = self.now();
        let runs = |work: &WorkState| {
            work.status == WorkStatus::Running && now.duration_since(work.updated_at).abs() < ABANDONED
        };
        let mut works = snapshot.works(owner)?;
        works.retain(|work| {
            work.project == place.reads()
                && is_here(place, work.cwd.as_deref().unwrap_or_default())
                && is_mine(&work.agent)
                && runs(work)
        });
        works.sort_by_key(|work| std::cmp::Reverse(work.updated_at));
        Ok(works.into_iter().filter_map(|work| work.task_id).collect())
    }
}

/// The latest sessions of a place.
fn sessions_of(snapshot: &Snapshot, owner: &OwnerId, place: &Resolved) -> Result<Vec<Session>, EngineError> {
    let filter = SessionFilter { project: Some(place.reads()), ..SessionFilter::default() };
    let mut sessions = snapshot.sessions(owner, &filter, None, SESSIONS_LOOKED_AT)?.items;
    sessions.retain(|session| is_here(place, &session.cwd));
    Ok(sessions)
}

/// Whether a folder belongs to a place, when both have the same project or none: what is no project shares its records
/// with every other such folder.
fn is_here(place: &Resolved, cwd: &str) -> bool {
    place.is_project || normalise(cwd) == place.top
}

/// A task that an orchestrator told with its session alone.
fn told_with(session: &Session, id: &str) -> Option<Task> {
    let task = session.task.as_ref().filter(|task| task.id == id)?;
    Some(Task {
        id: task.id.clone(),
        project: session.project.as_ref().map(ToString::to_string),
        title: task.title.clone(),
        spec: task.spec.clone(),
        status: TaskStatus::InProgress,
        created_at: session.started_at,
        updated_at: session.last_event_at,
    })
}

/// What earlier sessions on a task did.
fn earlier_runs(sessions: &[Session], id: &str) -> Vec<String> {
    let of_task = |session: &&Session| session.task.as_ref().is_some_and(|task| task.id == id);
    let summaries = sessions.iter().filter(of_task).filter_map(|session| session.summary.as_ref());
    summaries
        .map(|summary| if summary.work_done.is_empty() { &summary.what } else { &summary.work_done })
        .filter(|done| !done.is_empty())
        .take(EARLIER_RUNS)
        .cloned()
        .collect()
}
