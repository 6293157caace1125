//! Live work state (S0.17–S0.20).

use doze_core::model::{AgentRef, OwnerId, ProjectId, WorkState, WorkStatus};
use doze_core::{redact, text};
use doze_store::{ApplyError, ChangeSet, Subject};
use jiff::Timestamp;

use crate::commit::{is_work_of, own_name};
use crate::names::{
    MAX_NAME_BYTES, check_agent, check_chars, check_count, check_given, check_path, safe_agent, safe_name,
};
use crate::project::Resolved;
use crate::recall::Reader;
use crate::{CONFLICT_RETRIES, Engine, EngineError, Problem};

/// Bounds of the parts, in characters and entries. Outside one is an error (`R14`). They are far above what a text
/// for an agent shows of them (S0 source fact 14, see `doze_core::render`): an orchestrator hands over a task as it is.
const MAX_PROMPT: usize = 20_000;
const MAX_ACTIVITY: usize = 2_000;
const MAX_SUMMARY: usize = 20_000;
const MAX_STEP: usize = 1_000;
const MAX_STEPS: usize = 50;
const MAX_FILES: usize = 200;
const MAX_PATH: usize = 512;

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
    /// Files touched, in addition to those known; the 200 touched last are kept.
    pub touch: Vec<String>,
    /// The orchestrator's task id.
    pub task_id: Option<String>,
    /// What the agent was told.
    pub task_prompt: Option<String>,
    /// The last thing seen.
    pub last_activity: Option<String>,
}

/// What became of a work state that was told.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkTold {
    /// The state as it stands now, or would stand.
    pub work: WorkState,
    /// Why it was not kept, if so.
    pub skipped: Option<String>,
}

impl Engine {
    /// Keeps a snapshot of a task that runs. It can be read at once and is durable within a second, so that it may be
    /// called at every tool use. Nothing is kept in silence, and the answer says so.
    pub fn set_work(&self, owner: &OwnerId, request: &WorkRequest) -> Result<WorkTold, EngineError> {
        self.note_activity();
        let agent = request.agent.clone().ok_or_else(|| EngineError::invalid("agent is missing"))?;
        check_agent(&agent)?;
        check(request)?;
        let agent = safe_agent(agent);
        let request = &WorkRequest {
            session: request.session.as_deref().map(safe_name),
            reader: Reader { cwd: request.reader.cwd.as_deref().map(safe_name), ..request.reader.clone() },
            ..request.clone()
        };
        request.session.as_deref().map_or(Ok(()), |session| check_given("session", session))?;
        let place = match (&request.reader.project, &request.reader.cwd) {
            // In silence not even a project is kept.
            (None, Some(cwd)) if self.silence(owner, None)?.is_some() => {
                Some(self.known_project_of(owner, cwd)?)
            }
            (None, Some(cwd)) => Some(self.project_of(owner, cwd)?),
            _ => self.place_of_reader(owner, &request.reader)?,
        };
        let skipped = self.silence_told(owner, place.as_ref().and_then(|place| place.project.as_ref()))?;
        let project = place.as_ref().and_then(Resolved::id).cloned();
        let session = match (&request.session, &place) {
            (Some(name), Some(place)) => {
                Some(own_name(&self.store().snapshot()?, owner, name.clone(), &agent, place)?)
            }
            (name, _) => name.clone(),
        };
        let request = &WorkRequest { session, ..request.clone() };
        let subject = Subject::Work(agent.id.clone(), project.clone(), request.session.clone());
        for _ in 0..CONFLICT_RETRIES {
            let snapshot = self.store().snapshot()?;
            let known = snapshot.work(owner, &agent.id, project.as_ref(), request.session.as_deref())?;
            let mut work = changed(known, owner, agent.clone(), project.clone(), request, self.now());
            if let Some(graves) = self.graves_in(&snapshot, owner, project.as_ref())? {
                let texts = work.task_prompt.iter_mut().chain(&mut work.last_activity);
                let lists = work.next_steps.iter_mut().chain(&mut work.unfinished);
                let mut texts = texts.chain(lists).chain([&mut work.summary]);
                texts.try_for_each(|text| graves.blank(text, None))?;
            }
            if skipped.is_some() {
                return Ok(WorkTold { work, skipped });
            }
            // Tool calls run side by side: none may overwrite what another has just told.
            let set =
                ChangeSet::new(owner.clone()).expect(subject.clone(), snapshot.revision(owner, &subject)?);
            drop(snapshot);
            match self.store().apply_soon(set.put_work(work.clone())) {
                Ok(_) => return Ok(WorkTold { work, skipped: None }),
                Err(ApplyError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(EngineError::new(Problem::Busy, "others kept changing the same work state").hint("try again"))
    }

    /// The work state of an agent: of the named session, else the newest.
    pub fn work(
        &self,
        owner: &OwnerId,
        reader: &Reader,
        session: Option<&str>,
    ) -> Result<WorkState, EngineError> {
        let agent = reader.agent_id().ok_or_else(|| EngineError::invalid("agent is missing"))?;
        let works = self.works(owner, reader)?;
        works.into_iter().find(is_of(session)).ok_or_else(|| EngineError::not_found("work state of", agent))
    }

    /// All work states, or those of an agent or a folder, the newest first.
    pub fn works(&self, owner: &OwnerId, reader: &Reader) -> Result<Vec<WorkState>, EngineError> {
        let place = self.place_of_reader(owner, reader)?;
        let agent = reader.agent_id();
        let mut works = self.store().snapshot()?.works(owner)?;
        works.retain(|work| {
            agent.as_ref().is_none_or(|agent| work.agent.id == *agent)
                && place.as_ref().is_none_or(|place| work.project == place.reads())
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
        works.retain(is_of(session));
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
}

/// Tells the work states of a session, or of any when none is named.
fn is_of(session: Option<&str>) -> impl Fn(&WorkState) -> bool {
    let session = session.map(safe_name);
    move |work| session.as_ref().is_none_or(|session| is_work_of(work, session))
}

/// Whether every part is within its bound.
fn check(request: &WorkRequest) -> Result<(), EngineError> {
    let texts = [
        ("task_id", &request.task_id, MAX_NAME_BYTES),
        ("task_prompt", &request.task_prompt, MAX_PROMPT),
        ("last_activity", &request.last_activity, MAX_ACTIVITY),
        ("summary", &request.summary, MAX_SUMMARY),
    ];
    for (field, text, max) in texts {
        check_chars(field, text.as_deref().unwrap_or(""), max)?;
    }
    let none = Vec::new();
    let lists = [
        ("next_steps", request.next_steps.as_ref().unwrap_or(&none), MAX_STEPS, MAX_STEP),
        ("unfinished", request.unfinished.as_ref().unwrap_or(&none), MAX_STEPS, MAX_STEP),
        ("files_touched", request.files_touched.as_ref().unwrap_or(&none), MAX_FILES, MAX_PATH),
        ("touch", &request.touch, MAX_FILES, MAX_PATH),
    ];
    for (field, list, count, max) in lists {
        check_count(field, list.len(), count)?;
        list.iter()
            .enumerate()
            .try_for_each(|(at, text)| check_chars(&format!("{field}[{at}]"), text, max))?;
    }
    check_path("cwd", request.reader.cwd.as_deref().unwrap_or(""))
}

/// Text without control characters and secrets; a stand-in for a secret may make it too long, so it is cut once more.
pub(crate) fn safe(value: &str, max: usize) -> String {
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
    // Another task begins anew; so do other words after a task that has ended.
    let task_id = request.task_id.as_deref().map(|id| safe(id, MAX_NAME_BYTES)).filter(|id| !id.is_empty());
    let is_its_task = |work: &WorkState| {
        let known = work.task_id.as_ref().filter(|id| !id.is_empty());
        task_id.as_ref().zip(known).is_none_or(|(given, known)| given == known)
    };
    let is_other = |work: &WorkState| {
        let differs = |given: &Option<String>, known: &Option<String>| given.is_some() && given != known;
        differs(&request.task_id, &work.task_id) || differs(&request.task_prompt, &work.task_prompt)
    };
    let known = known.filter(|work| {
        is_its_task(work)
            && (work.status == WorkStatus::Running || request.status.is_some() || !is_other(work))
    });
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
    work.task_id = request.task_id.as_deref().map(|id| safe(id, MAX_NAME_BYTES)).or(work.task_id);
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
