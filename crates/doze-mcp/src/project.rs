//! The project face: what four tools do in one project (S1.34–S1.36).

use doze_core::model::{AgentId, AgentRef, Face, Kind, Memory, OwnerId, Permission, ProjectId, Space};
use doze_core::text;
use doze_engine::{AddOutcome, Engine, EngineError, MemoryRequest, Reader, SearchRequest, Told, Verdict};
use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::tools;

/// Characters of a query and of an id that are taken.
const MAX_QUERY: usize = 4_000;
const MAX_ID: usize = 80;
const MAX_FILE: usize = 400;
/// Characters told of a memory's body, of a task's spec, and of an earlier run.
const SUMMARY_CHARS: usize = 200;
const SPEC_CHARS: usize = 4_000;
const RUN_CHARS: usize = 300;
/// Memories told with a task.
const TASK_MEMORIES: usize = 8;
const SECONDS_A_DAY: i64 = 86_400;

/// What a connection is opened with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Opening {
    /// The folder the agent works in: its project is bound for the whole connection.
    pub cwd: String,
    /// The agent's program, empty when unknown.
    pub harness: String,
    /// What it may do, whatever its hooks say.
    pub mode: Option<Permission>,
}

/// One agent's connection to the memory of its project.
#[derive(Clone)]
pub struct Project {
    engine: Engine,
    owner: OwnerId,
    reader: Reader,
    opening: Opening,
    has_project: bool,
}

/// What a tool answers: a text, and the same as fields.
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) fields: Option<Value>,
}

impl Project {
    /// Binds a connection to the project of its folder.
    pub fn open(engine: Engine, owner: OwnerId, opening: Opening) -> Result<Self, EngineError> {
        let place = engine.project_of(&owner, &opening.cwd)?;
        let agent = if opening.harness.is_empty() { "agent" } else { &opening.harness };
        let reader = Reader {
            project: place.id().map(ToString::to_string),
            cwd: Some(opening.cwd.clone()),
            agent: Some(AgentId::new(agent)),
            spaces: Vec::new(),
        };
        Ok(Self { engine, owner, has_project: place.id().is_some(), reader, opening })
    }

    fn mode(&self) -> Result<Permission, EngineError> {
        match self.opening.mode {
            Some(mode) => Ok(mode),
            None => {
                let told = self.engine.permission(&self.owner, &self.reader, &self.opening.harness)?;
                Ok(told.unwrap_or(Permission::Review))
            }
        }
    }

    /// Whether memory is on, which decides what is offered.
    pub(crate) fn is_memory_on(&self) -> bool {
        self.engine.is_memory_on()
    }

    /// The project it was opened for, under the id that it has by now: projects may be merged while an agent runs.
    fn own_project(&self) -> Result<Option<ProjectId>, EngineError> {
        let bound = self.reader.project.as_deref();
        bound.map(|id| Ok(self.engine.find_project(&self.owner, id)?.id)).transpose()
    }

    /// Runs one tool. Blocks; the error is a sentence for the agent.
    pub(crate) fn run(&self, name: &str, arguments: &Arguments) -> Result<Answer, String> {
        if name == tools::TASK {
            return self.task_context();
        }
        let refusal = self.engine.refusal(&self.owner, &self.reader).map_err(said)?;
        if let Some(reason) = refusal {
            return Err(format!("{reason}: nothing is searched or kept; go on without it"));
        }
        match name {
            tools::SEARCH => self.search(arguments),
            tools::RECORD => self.record(arguments),
            _ => self.feedback(arguments),
        }
    }

    fn search(&self, arguments: &Arguments) -> Result<Answer, String> {
        let query = arguments.text("query", MAX_QUERY)?;
        let limit = arguments.number("limit", 1, tools::MAX_HITS)?.unwrap_or(tools::DEFAULT_HITS);
        let kinds: Vec<Kind> = match arguments.optional_text("type", MAX_ID)? {
            None => Vec::new(),
            Some(word) => {
                vec![word.trim().to_lowercase().parse::<Kind>().map_err(|error| format!("type: {error}"))?]
            }
        };
        let memories = self.found(query, kinds, limit)?;
        let hits: Vec<Value> = memories.iter().map(|memory| self.hit(memory)).collect();
        let fields = json!({ "hits": hits });
        Ok(Answer { text: fields.to_string(), fields: Some(fields) })
    }

    fn found(&self, query: String, kinds: Vec<Kind>, limit: usize) -> Result<Vec<Memory>, String> {
        let request =
            SearchRequest { reader: self.reader.clone(), query, kinds, limit, ..Default::default() };
        let hits = self.engine.search(&self.owner, &request).map_err(said)?.hits;
        let memories: Vec<Memory> = hits.into_iter().map(|hit| hit.memory).collect();
        let lines: Vec<String> =
            memories.iter().flat_map(|memory| [memory.title.clone(), memory.body.clone()]).collect();
        let ids = memories.iter().map(|memory| memory.id.clone()).collect();
        let told = Told { text: lines.join("\n"), tokens: 0, memories: ids };
        self.engine.note_shown(&self.owner, &self.reader, &told).map_err(said)?;
        Ok(memories)
    }

    fn hit(&self, memory: &Memory) -> Value {
        let age = self.engine.now().duration_since(memory.last_confirmed_at).as_secs().max(0);
        json!({
            "id": memory.id.as_str(),
            "type": memory.kind.as_str(),
            "title": text::one_line(&memory.title),
            "summary": text::cut_ellipsis(&text::one_line(&memory.body), SUMMARY_CHARS),
            "ageDays": age / SECONDS_A_DAY,
            "confidence": (memory.confidence * 100.0).round() / 100.0,
        })
    }

    fn record(&self, arguments: &Arguments) -> Result<Answer, String> {
        let mode = self.mode().map_err(said)?;
        if mode == Permission::Plan {
            return Err("nothing is stored in plan mode; record it once the plan is carried out".to_owned());
        }
        if !self.has_project {
            return Err(format!(
                "{} belongs to no project, so there is nowhere to keep it",
                self.opening.cwd
            ));
        }
        let kind = arguments.word("type", tools::KINDS)?.ok_or("type is missing")?;
        let request = MemoryRequest {
            title: Some(arguments.text("title", tools::MAX_TITLE)?),
            body: arguments.text("body", tools::MAX_BODY)?,
            kind: kind.parse().ok(),
            topic_key: arguments.optional_text("topicKey", tools::MAX_TOPIC)?,
            files: arguments.list("files", tools::MAX_FILES, MAX_FILE)?,
            face: Some(Face::Project),
            space: Some(Space::Project),
            agent: Some(self.agent()),
            reader: self.reader.clone(),
            propose: !mode.stores(),
            ..MemoryRequest::default()
        };
        let added = self.engine.add(&self.owner, &request).map_err(said)?;
        let id = added.memory.id.as_str();
        let (outcome, told) = match added.outcome {
            AddOutcome::Added => ("added", "Kept.".to_owned()),
            AddOutcome::Reinforced => ("reinforced", "It is known already.".to_owned()),
            AddOutcome::Superseded => ("superseded", "Kept; it replaces what was known.".to_owned()),
            AddOutcome::Merged => ("merged", "Kept; it replaces the memory with this topicKey.".to_owned()),
            AddOutcome::Proposed => (
                "proposed",
                "It waits for the person: nothing recalls it until they accept it with `doze review`. Tell them."
                    .to_owned(),
            ),
        };
        let redacted: u64 = added.redacted.values().sum();
        let hidden = if redacted > 0 { " Secrets in it were taken out." } else { "" };
        let fields = json!({"id": id, "outcome": outcome, "redacted": redacted});
        Ok(Answer { text: format!("{told}{hidden} id {id}"), fields: Some(fields) })
    }

    fn feedback(&self, arguments: &Arguments) -> Result<Answer, String> {
        let given = arguments.text("id", MAX_ID)?;
        let verdict = arguments.word("verdict", tools::VERDICTS)?.ok_or("verdict is missing")?;
        let id = self.engine.memory_id(&self.owner, given.trim()).map_err(said)?;
        let memory = self.engine.memory(&self.owner, &id).map_err(said)?;
        let is_own = match memory.scope.project() {
            Some(project) => self.own_project().map_err(said)?.as_ref() == Some(project),
            None => memory.scope.space() == Space::User,
        };
        if !is_own {
            return Err(format!("no memory {given} in this project"));
        }
        match self.mode().map_err(said)? {
            Permission::Plan => return Err("feedback is not taken in plan mode".to_owned()),
            Permission::Review => {
                return Err(format!(
                    "in this mode only the person judges memories: ask them to run `doze feedback {id} {verdict}`"
                ));
            }
            Permission::Accept | Permission::Autonomous => {}
        }
        let verdict_of = match verdict {
            "helpful" => Verdict::Helpful,
            "wrong" => Verdict::Wrong,
            _ => Verdict::Stale,
        };
        let memory = self.engine.feedback(&self.owner, &id, verdict_of, false).map_err(said)?;
        let fields = json!({
            "id": id.as_str(), "status": memory.status.as_str(), "confidence": memory.confidence,
        });
        Ok(Answer { text: format!("Noted: {verdict}."), fields: Some(fields) })
    }

    /// The text that the original prints (S1.34).
    fn task_context(&self) -> Result<Answer, String> {
        let context =
            self.engine.task_context(&self.owner, &self.reader, &self.opening.harness).map_err(said)?;
        let Some(context) = context else {
            return Ok(Answer { text: "No task is told for this project.".to_owned(), fields: None });
        };
        let task = context.task;
        let spec = text::cut_ellipsis(text::clean(&task.spec).trim(), SPEC_CHARS).into_owned();
        let spec = if spec.is_empty() { "(none)".to_owned() } else { spec };
        let title = text::one_line(&task.title);
        let mut told = format!("Task: {title}\nSpec: {spec}\nStatus: {}", task.status);
        // With memory off only the task itself is told.
        let refusal = self.engine.refusal(&self.owner, &self.reader).map_err(said)?;
        if refusal.is_none() {
            let mut list = |heading: &str, lines: Vec<String>| {
                if !lines.is_empty() {
                    told.push_str(&format!("\n{heading}\n{}", lines.join("\n")));
                }
            };
            let run = |run: &String| format!("- {}", text::cut_ellipsis(&text::one_line(run), RUN_CHARS));
            list("Earlier runs on this task:", context.earlier.iter().map(run).collect());
            let query = text::cut(&format!("{title} {spec}"), MAX_QUERY).to_owned();
            let memories = self.found(query, Vec::new(), TASK_MEMORIES)?;
            let line = |memory: &Memory| {
                let body = text::one_line(&memory.body);
                let body = text::cut_ellipsis(&body, SUMMARY_CHARS);
                format!("- [{}] {}: {body}", memory.kind, text::one_line(&memory.title))
            };
            list("Relevant memory:", memories.iter().map(line).collect());
        }
        Ok(Answer { text: told, fields: None })
    }

    fn agent(&self) -> AgentRef {
        let id = self.reader.agent.clone().unwrap_or_else(|| AgentId::new("agent"));
        AgentRef { name: id.to_string(), id, harness: self.opening.harness.clone() }
    }
}

/// An error as a sentence for the agent, with what to do.
fn said(error: EngineError) -> String {
    if error.hint.is_empty() { error.message } else { format!("{}; {}", error.message, error.hint) }
}
