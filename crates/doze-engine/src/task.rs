//! The tasks of a project (S1.33).

mod context;

use doze_core::model::{OwnerId, ProjectId};
use doze_store::{ChangeSet, Family, Snapshot, Subject};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::names::check_chars;
use crate::project::Resolved;
use crate::recall::Reader;
use crate::switches::Silence;
use crate::work::safe;
use crate::{Engine, EngineError, Problem};

pub use context::TaskContext;

/// Tasks of one project, and characters of a title and a spec.
const MAX_TASKS: usize = 1_000;
const MAX_TASK_TITLE: usize = 200;
const MAX_TASK_SPEC: usize = 20_000;

/// How a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The orchestrator's id.
    pub id: String,
    /// The project's id.
    pub project: Option<String>,
    /// A short title.
    pub title: String,
    /// What was specified.
    pub spec: String,
    /// How it stands.
    pub status: TaskStatus,
    /// When it was first set.
    pub created_at: Timestamp,
    /// When it was last set.
    pub updated_at: Timestamp,
}

/// A task as it is stored.
#[derive(Serialize, Deserialize)]
struct StoredTask {
    id: String,
    #[serde(default)]
    project: Option<String>,
    title: String,
    #[serde(default)]
    spec: String,
    #[serde(default)]
    status: String,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl From<&Task> for StoredTask {
    fn from(task: &Task) -> Self {
        Self {
            id: task.id.clone(),
            project: task.project.clone(),
            title: task.title.clone(),
            spec: task.spec.clone(),
            status: task.status.to_string(),
            created_at: task.created_at,
            updated_at: task.updated_at,
        }
    }
}

impl StoredTask {
    fn to_bytes(&self) -> Result<Vec<u8>, EngineError> {
        serde_json::to_vec(self).map_err(|error| {
            EngineError::new(Problem::Internal, "a task could not be written").caused_by(error)
        })
    }

    fn read(bytes: &[u8]) -> Option<Task> {
        let stored: Self = serde_json::from_slice(bytes).ok()?;
        Some(Task {
            id: stored.id,
            project: stored.project,
            title: stored.title,
            spec: stored.spec,
            status: stored.status.parse().unwrap_or_default(),
            created_at: stored.created_at,
            updated_at: stored.updated_at,
        })
    }
}

impl Engine {
    /// Adds or replaces a task of a project.
    pub fn set_task(
        &self,
        owner: &OwnerId,
        reader: &Reader,
        request: &TaskRequest,
    ) -> Result<Task, EngineError> {
        let id = bounded("id", request.id.clone(), MAX_TASK_TITLE)?;
        let place = self.home_of_tasks(owner, reader, |cwd| self.project_of(owner, cwd))?;
        // A task is no memory: an agent is told its task while memory is off, too (S1.34).
        if place.project.as_ref().is_some_and(|project| project.ignored) {
            return Err(Silence::Ignored.refusal());
        }
        self.decide("others keep changing the tasks of the project", |snapshot| {
            let key = task_key(place.id(), &id);
            let known = snapshot.aux(owner, Family::Task, &key)?.and_then(|bytes| StoredTask::read(&bytes));
            let mut set = ChangeSet::new(owner.clone())
                .expect_seen(snapshot, Subject::Aux(Family::Task, key.clone()))?;
            if known.is_none() {
                // Whoever adds a task says so here, so that two at once do not both take the last place.
                let adding = task_key(place.id(), "");
                set = set.expect_seen(snapshot, Subject::Aux(Family::Counter, adding.clone()))?;
                if snapshot.aux_scan(owner, Family::Task, &adding)?.len() >= MAX_TASKS {
                    return Err(EngineError::invalid(format!("the project holds {MAX_TASKS} tasks already")));
                }
                set = set.put_aux(Family::Counter, adding, Vec::new());
            }
            let task = changed(known, &id, place.id(), request, self.now())?;
            Ok((set.put_aux(Family::Task, key, StoredTask::from(&task).to_bytes()?), task))
        })
    }

    /// The tasks of a project, the latest first.
    pub fn tasks(&self, owner: &OwnerId, reader: &Reader) -> Result<Vec<Task>, EngineError> {
        // Looking makes no project of a folder.
        let known = |cwd: &str| self.known_project_of(owner, cwd);
        let place = self.home_of_tasks(owner, reader, known)?;
        self.tasks_of(&self.store().snapshot()?, owner, place.reads().as_ref())
    }

    pub(crate) fn tasks_of(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        project: Option<&ProjectId>,
    ) -> Result<Vec<Task>, EngineError> {
        let records = snapshot.aux_scan(owner, Family::Task, &task_key(project, ""))?;
        let mut tasks: Vec<Task> =
            records.into_iter().filter_map(|(_, bytes)| StoredTask::read(&bytes)).collect();
        tasks.sort_by_key(|task| std::cmp::Reverse(task.updated_at));
        Ok(tasks)
    }

    fn home_of_tasks(
        &self,
        owner: &OwnerId,
        reader: &Reader,
        of_folder: impl FnOnce(&str) -> Result<Resolved, EngineError>,
    ) -> Result<Resolved, EngineError> {
        match (&reader.project, &reader.cwd) {
            (None, Some(cwd)) => of_folder(cwd),
            (Some(_), _) => self
                .place_of_reader(owner, reader)?
                .ok_or_else(|| EngineError::invalid("project or cwd is missing")),
            (None, None) => Err(EngineError::invalid("project or cwd is missing")),
        }
    }
}

/// The task as it is from now on.
fn changed(
    known: Option<Task>,
    id: &str,
    project: Option<&ProjectId>,
    request: &TaskRequest,
    now: Timestamp,
) -> Result<Task, EngineError> {
    let mut task = known.unwrap_or_else(|| Task {
        id: id.to_owned(),
        project: project.map(ToString::to_string),
        title: String::new(),
        spec: String::new(),
        status: TaskStatus::default(),
        created_at: now,
        updated_at: now,
    });
    task.title = bounded("title", request.title.clone().unwrap_or(task.title), MAX_TASK_TITLE)
        .map_err(|error| error.hint(format!("give it a title:  doze task set {id} TITLE")))?;
    task.spec = bounded_or_empty("spec", request.spec.clone().unwrap_or(task.spec), MAX_TASK_SPEC)?;
    task.status = request.status.unwrap_or(task.status);
    task.updated_at = now;
    Ok(task)
}

/// Moves the tasks of a project to another; of two with one id the newer stays.
pub(crate) fn moved_tasks(
    snapshot: &Snapshot,
    mut set: ChangeSet,
    from: &ProjectId,
    into: &ProjectId,
) -> Result<ChangeSet, EngineError> {
    let owner = set.owner.clone();
    set = set.delete_aux(Family::Counter, task_key(Some(from), ""));
    for (key, bytes) in snapshot.aux_scan(&owner, Family::Task, &task_key(Some(from), ""))? {
        set = set.expect_seen(snapshot, Subject::Aux(Family::Task, key.clone()))?;
        set = set.delete_aux(Family::Task, key);
        let Some(mut task) = StoredTask::read(&bytes) else { continue };
        let key = task_key(Some(into), &task.id);
        let other = snapshot.aux(&owner, Family::Task, &key)?.and_then(|bytes| StoredTask::read(&bytes));
        if other.is_none_or(|other| other.updated_at < task.updated_at) {
            task.project = Some(into.to_string());
            set = set.expect_seen(snapshot, Subject::Aux(Family::Task, key.clone()))?.put_aux(
                Family::Task,
                key,
                StoredTask::from(&task).to_bytes()?,
            );
        }
    }
    Ok(set)
}

/// Adds the tasks of a project as `take_out` leaves their texts, which answers how many sentences it took out of one.
pub(crate) fn without_words(
    snapshot: &Snapshot,
    mut set: ChangeSet,
    project: &ProjectId,
    take_out: &dyn Fn(&str) -> Option<(String, u64)>,
) -> Result<(ChangeSet, u64), EngineError> {
    let mut taken = 0;
    for (key, bytes) in snapshot.aux_scan(&set.owner, Family::Task, &task_key(Some(project), ""))? {
        let Some(mut task) = StoredTask::read(&bytes) else { continue };
        let before = taken;
        for text in [&mut task.title, &mut task.spec] {
            if let Some((left, count)) = take_out(text) {
                *text = left;
                taken += count;
            }
        }
        if taken > before {
            set = set.expect_seen(snapshot, Subject::Aux(Family::Task, key.clone()))?.put_aux(
                Family::Task,
                key,
                StoredTask::from(&task).to_bytes()?,
            );
        }
    }
    Ok((set, taken))
}

/// The key of a task; without an id the beginning of all keys of the project.
pub(crate) fn task_key(project: Option<&ProjectId>, id: &str) -> String {
    format!("{}\0{id}", project.map_or("", ProjectId::as_str))
}

fn bounded(field: &str, value: String, max: usize) -> Result<String, EngineError> {
    let value = bounded_or_empty(field, value, max)?;
    if value.is_empty() { Err(EngineError::invalid(format!("{field} is empty"))) } else { Ok(value) }
}

fn bounded_or_empty(field: &str, value: String, max: usize) -> Result<String, EngineError> {
    check_chars(field, &value, max)?;
    Ok(safe(&value, max))
}
