//! Live work state (S0.17–S0.20) and the tasks of a project (S1.33).

use doze_core::model::{AgentRef, OwnerId, ProjectId, WorkState, WorkStatus};
use doze_core::{redact, text};
use doze_store::{ChangeSet, Family, Snapshot};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::project::Resolved;
use crate::recall::Reader;
use crate::{Engine, EngineError};

/// Bounds of the parts (S0 source fact 14; the file list is ours).
const MAX_PROMPT: usize = 500;
const MAX_ACTIVITY: usize = 160;
const MAX_SUMMARY: usize = 2_000;
const MAX_STEP: usize = 150;
const MAX_STEPS: usize = 3;
const MAX_FILES: usize = 60;
const MAX_PATH: usize = 512;
/// Tasks of one project, and characters of a title and a spec.
const MAX_TASKS: usize = 1_000;
const MAX_TASK_TITLE: usize = 200;
const MAX_TASK_SPEC: usize = 20_000;

/// `work.set`: given fields replace, the rest stay.
#[derive(Debug, Clone, Default)]
pub struct WorkRequest {
    /// The agent at work.
    pub agent: Option<AgentRef>,
    /// Where it works.
    pub reader: Reader,
    /// Its session.
    pub session: Option<String>,
    /// How it stands.
    pub status: Option<WorkStatus>,
    /// What was done so far.
    pub summary: Option<String>,
    /// What comes next.
    pub next_steps: Option<Vec<String>>,
    /// What is left.
    pub unfinished: Option<Vec<String>>,
    /// Files touched, all of them.
    pub files_touched: Option<Vec<String>>,
    /// Files touched, in addition to those known.
    pub touch: Vec<String>,
    /// The orchestrator's task id.
    pub task_id: Option<String>,
    /// What the agent was told.
    pub task_prompt: Option<String>,
    /// The last thing seen.
    pub last_activity: Option<String>,
}

/// How a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Nobody has begun.
    #[default]
    Todo,
    /// Somebody works on it.
    InProgress,
    /// It waits for review.
    Review,
    /// It is done.
    Done,
    /// It will not be done.
    Dropped,
}

impl TaskStatus {
    const WORDS: [(Self, &'static str); 5] = [
        (Self::Todo, "todo"),
        (Self::InProgress, "in_progress"),
        (Self::Review, "review"),
        (Self::Done, "done"),
        (Self::Dropped, "dropped"),
    ];
}

impl std::fmt::Display for TaskStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(Self::WORDS.iter().find(|(status, _)| status == self).map_or("", |(_, word)| word))
    }
}

impl std::str::FromStr for TaskStatus {
    type Err = &'static str;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let found = Self::WORDS.iter().find(|(_, known)| *known == word).map(|(status, _)| *status);
        found.ok_or("expected todo, in_progress, review, done or dropped")
    }
}

/// `task.set`: given fields replace, the rest stay. A new task needs a title.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskRequest {
    /// The orchestrator's id.
    pub id: String,
    /// A short title.
    pub title: Option<String>,
    /// What was specified.
    pub spec: Option<String>,
    /// How it stands.
    pub status: Option<TaskStatus>,
}

/// A task of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The orchestrator's id.
    pub id: String,
    /// The project's id.
    #[serde(default)]
    pub project: Option<String>,
    /// A short title.
    pub title: String,
    /// What was specified.
    #[serde(default)]
    pub spec: String,
    /// How it stands.
    #[serde(default)]
    pub status: TaskStatus,
    /// When it was first set.
    pub created_at: Timestamp,
    /// When it was last set.
    pub updated_at: Timestamp,
}

impl Engine {
    /// Keeps a snapshot of a task that runs. Durable when it returns.
    pub fn set_work(&self, owner: &OwnerId, request: &WorkRequest) -> Result<WorkState, EngineError> {
        self.note_activity();
        let agent = request.agent.clone().ok_or_else(|| EngineError::invalid("agent is missing"))?;
        let place = match (&request.reader.project, &request.reader.cwd) {
            (None, Some(cwd)) => Some(self.project_of(owner, cwd)?),
            _ => self.place_of_reader(owner, &request.reader)?,
        };
        let is_ignored =
            place.as_ref().and_then(|place| place.project.as_ref()).is_some_and(|project| project.ignored);
        let project = place.as_ref().and_then(Resolved::id).cloned();
        let now = self.now();
        let snapshot = self.store().snapshot()?;
        let known = snapshot.work(owner, &agent.id, project.as_ref(), request.session.as_deref())?;
        let work = changed(known, owner, agent, project, request, now);
        if is_ignored || self.paused_until(owner)?.is_some() || !self.switches().memory_enabled {
            return Ok(work);
        }
        self.store().apply(ChangeSet::new(owner.clone()).put_work(work.clone()))?;
        Ok(work)
    }

    /// The work state of an agent: of the named session, else the newest.
    pub fn work(
        &self,
        owner: &OwnerId,
        reader: &Reader,
        session: Option<&str>,
    ) -> Result<WorkState, EngineError> {
        let agent = reader.agent.clone().ok_or_else(|| EngineError::invalid("agent is missing"))?;
        let works = self.works(owner, reader)?;
        works
            .into_iter()
            .find(|work| session.is_none_or(|session| work.session.as_deref() == Some(session)))
            .ok_or_else(|| EngineError::not_found("work state of", agent))
    }

    /// All work states, or those of an agent or a folder, the newest first.
    pub fn works(&self, owner: &OwnerId, reader: &Reader) -> Result<Vec<WorkState>, EngineError> {
        let place = self.place_of_reader(owner, reader)?;
        let mut works = self.store().snapshot()?.works(owner)?;
        works.retain(|work| {
            reader.agent.as_ref().is_none_or(|agent| work.agent.id == *agent)
                && place.as_ref().is_none_or(|place| work.project.as_ref() == place.id())
        });
        works.sort_by_key(|work| std::cmp::Reverse(work.updated_at));
        Ok(works)
    }

    /// Forgets the work state of an agent: of the named session, else all of its in that place. Answers how many.
    pub fn clear_work(
        &self,
        owner: &OwnerId,
        reader: &Reader,
        session: Option<&str>,
    ) -> Result<usize, EngineError> {
        if reader.agent.is_none() {
            return Err(EngineError::invalid("agent is missing"));
        }
        let mut works = self.works(owner, reader)?;
        works.retain(|work| session.is_none_or(|session| work.session.as_deref() == Some(session)));
        let count = works.len();
        let mut set = ChangeSet::new(owner.clone());
        for work in works {
            set = set.clear_work(work.agent.id, work.project, work.session);
        }
        if count > 0 {
            self.store().apply(set)?;
        }
        Ok(count)
    }

    /// Adds or replaces a task of a project.
    pub fn set_task(
        &self,
        owner: &OwnerId,
        reader: &Reader,
        request: &TaskRequest,
    ) -> Result<Task, EngineError> {
        let id = bounded("id", request.id.clone(), MAX_TASK_TITLE)?;
        let place = self.home_of_tasks(owner, reader)?;
        let snapshot = self.store().snapshot()?;
        let mut known = self.tasks_of(&snapshot, owner, place.id())?;
        let position = known.iter().position(|task| task.id == id);
        if position.is_none() && known.len() >= MAX_TASKS {
            return Err(EngineError::invalid(format!("the project holds {MAX_TASKS} tasks already")));
        }
        let now = self.now();
        let mut task = match position {
            Some(at) => known.swap_remove(at),
            None => Task {
                id,
                project: place.id().map(ToString::to_string),
                title: String::new(),
                spec: String::new(),
                status: TaskStatus::default(),
                created_at: now,
                updated_at: now,
            },
        };
        task.title = bounded("title", request.title.clone().unwrap_or(task.title), MAX_TASK_TITLE)?;
        task.spec = bounded_or_empty("spec", request.spec.clone().unwrap_or(task.spec), MAX_TASK_SPEC)?;
        task.status = request.status.unwrap_or(task.status);
        task.updated_at = now;
        let value = serde_json::to_vec(&task).unwrap_or_default();
        self.store().apply(ChangeSet::new(owner.clone()).put_aux(
            Family::Task,
            task_key(place.id(), &task.id),
            value,
        ))?;
        Ok(task)
    }

    /// The tasks of a project, the latest first.
    pub fn tasks(&self, owner: &OwnerId, reader: &Reader) -> Result<Vec<Task>, EngineError> {
        let place = self.home_of_tasks(owner, reader)?;
        self.tasks_of(&self.store().snapshot()?, owner, place.id())
    }

    pub(crate) fn tasks_of(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        project: Option<&ProjectId>,
    ) -> Result<Vec<Task>, EngineError> {
        let records = snapshot.aux_scan(owner, Family::Task, &task_key(project, ""))?;
        let mut tasks: Vec<Task> =
            records.into_iter().filter_map(|(_, bytes)| serde_json::from_slice(&bytes).ok()).collect();
        tasks.sort_by_key(|task| std::cmp::Reverse(task.updated_at));
        Ok(tasks)
    }

    fn home_of_tasks(&self, owner: &OwnerId, reader: &Reader) -> Result<Resolved, EngineError> {
        match (&reader.project, &reader.cwd) {
            (None, Some(cwd)) => self.project_of(owner, cwd),
            (Some(_), _) => self
                .place_of_reader(owner, reader)?
                .ok_or_else(|| EngineError::invalid("project or cwd is missing")),
            (None, None) => Err(EngineError::invalid("project or cwd is missing")),
        }
    }
}

fn task_key(project: Option<&ProjectId>, id: &str) -> String {
    format!("{}\0{id}", project.map_or("", ProjectId::as_str))
}

fn bounded(field: &str, value: String, max: usize) -> Result<String, EngineError> {
    let value = bounded_or_empty(field, value, max)?;
    if value.is_empty() { Err(EngineError::invalid(format!("{field} is empty"))) } else { Ok(value) }
}

fn bounded_or_empty(field: &str, value: String, max: usize) -> Result<String, EngineError> {
    if value.chars().count() > max {
        return Err(EngineError::invalid(format!("{field} is longer than {max} characters")));
    }
    Ok(safe(&value, max))
}

/// Text without control characters and secrets, cut to a number of characters.
fn safe(value: &str, max: usize) -> String {
    let clean = text::clean(value);
    let redacted = redact::redact(&clean);
    text::cut(redacted.text.trim(), max).to_owned()
}

fn safe_list(values: &[String], count: usize, max: usize) -> Vec<String> {
    values.iter().map(|value| safe(value, max)).filter(|value| !value.is_empty()).take(count).collect()
}

/// The known state with the given fields replaced.
fn changed(
    known: Option<WorkState>,
    owner: &OwnerId,
    agent: AgentRef,
    project: Option<ProjectId>,
    request: &WorkRequest,
    now: Timestamp,
) -> WorkState {
    let mut work = known.unwrap_or_else(|| WorkState {
        owner: owner.clone(),
        agent: agent.clone(),
        project,
        session: request.session.clone(),
        started_at: now,
        updated_at: now,
        status: WorkStatus::Running,
        task_id: None,
        task_prompt: None,
        cwd: request.reader.cwd.clone(),
        summary: String::new(),
        next_steps: Vec::new(),
        unfinished: Vec::new(),
        files_touched: Vec::new(),
        last_activity: None,
    });
    work.agent = agent;
    work.updated_at = now;
    work.status = request.status.unwrap_or(work.status);
    work.cwd = request.reader.cwd.clone().or(work.cwd);
    work.task_id = request.task_id.as_deref().map(|id| safe(id, MAX_PATH)).or(work.task_id);
    work.task_prompt =
        request.task_prompt.as_deref().map(|prompt| safe(prompt, MAX_PROMPT)).or(work.task_prompt);
    work.last_activity =
        request.last_activity.as_deref().map(|last| safe(last, MAX_ACTIVITY)).or(work.last_activity);
    if let Some(summary) = &request.summary {
        work.summary = safe(summary, MAX_SUMMARY);
    }
    if let Some(steps) = &request.next_steps {
        work.next_steps = safe_list(steps, MAX_STEPS, MAX_STEP);
    }
    if let Some(unfinished) = &request.unfinished {
        work.unfinished = safe_list(unfinished, MAX_STEPS, MAX_STEP);
    }
    if let Some(files) = &request.files_touched {
        work.files_touched = safe_list(files, MAX_FILES, MAX_PATH);
    }
    for file in safe_list(&request.touch, MAX_FILES, MAX_PATH) {
        work.files_touched.retain(|known| *known != file);
        work.files_touched.push(file);
    }
    let surplus = work.files_touched.len().saturating_sub(MAX_FILES);
    work.files_touched.drain(..surplus);
    work
}
