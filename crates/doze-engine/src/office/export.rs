//! Writing an office's memory as the original program keeps it (S0.8, S0.42): a folder that was not there before, whole
//! or not at all.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use doze_core::model::{AgentId, Face, Memory, OwnerId, ProjectId, Scope, Session, Space, Status, WorkState};
use doze_store::{Family, SessionFilter, Snapshot, foreign_key};
use serde_json::{Value, json};

use super::learned::{pattern_key, project_key, told_in};
use super::record::{self, Foreign, Object};
use super::tree::{AGENTS, LEGACY, SESSIONS, SHARED, WORK, file_name};
use super::{AGENT_SESSIONS, Problems, foreign_file_key, foreign_session_key, foreign_work_key};
use crate::names::check_path;
use crate::recall::Reader;
use crate::{Engine, EngineError, Problem};

/// Sessions read at once.
const PAGE: usize = 500;
/// Sessions that a problem names.
const MAX_NAMED: usize = 5;

/// What an export wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exported {
    /// Files.
    pub files: u64,
    /// Records in them.
    pub records: u64,
    /// Work states that have no place there, named in `problems`.
    pub left_out: u64,
    /// What could not be written, with the reason.
    pub problems: Vec<String>,
}

impl Engine {
    /// Writes the office of a project into a folder that is empty or not there yet.
    pub fn export_office(
        &self,
        owner: &OwnerId,
        reader: &Reader,
        path: &str,
    ) -> Result<Exported, EngineError> {
        check_path("path", path)?;
        let target = free(path)?;
        let project = match self.place_of_reader(owner, reader)? {
            None => return Err(EngineError::invalid("cwd is missing: an export is of one project")),
            Some(place) => place.id().cloned().ok_or_else(|| {
                EngineError::new(Problem::NotFound, "nothing is known of that project")
                    .hint("`doze project list` shows what there is")
            })?,
        };
        let snapshot = self.store().snapshot()?;
        let mut out = Export {
            engine: self,
            snapshot: &snapshot,
            owner,
            project,
            files: Vec::new(),
            records: 0,
            left_out: 0,
            problems: Problems::default(),
        };
        out.collect()?;
        let Export { files, records, left_out, problems, .. } = out;
        write(&target, &files).map_err(|error| cannot(&target, error))?;
        Ok(Exported { files: files.len() as u64, records, left_out, problems: problems.into_list() })
    }
}

/// An export at work: what will be written, each with its place.
struct Export<'a> {
    engine: &'a Engine,
    snapshot: &'a Snapshot,
    owner: &'a OwnerId,
    project: ProjectId,
    files: Vec<(String, Value)>,
    records: u64,
    left_out: u64,
    problems: Problems,
}

impl Export<'_> {
    fn collect(&mut self) -> Result<(), EngineError> {
        for (agent, sessions) in self.sessions()? {
            self.sessions_of(&agent, &sessions)?;
        }
        for scope in self.snapshot.scopes(self.owner)? {
            if scope.space() == Space::Agent && scope.project() == Some(&self.project) {
                self.facts_of(&scope)?;
            }
        }
        let shared = self.memories(&Scope::Project(self.project.clone()), record::write_shared)?;
        if !shared.is_empty() {
            self.put(SHARED, "", json!({"items": shared}), shared.len())?;
        }
        self.works()?;
        self.learned()
    }

    /// The newest sessions of each agent that have a summary, newest first.
    fn sessions(&self) -> Result<BTreeMap<AgentId, Vec<Session>>, EngineError> {
        let filter = SessionFilter { project: Some(Some(self.project.clone())), ..SessionFilter::default() };
        let mut agents: BTreeMap<AgentId, Vec<Session>> = BTreeMap::new();
        let mut after = None;
        loop {
            let page = self.snapshot.sessions(self.owner, &filter, after.as_ref(), PAGE)?;
            for session in page.items.into_iter().filter(|session| session.summary.is_some()) {
                let known = agents.entry(session.agent.id.clone()).or_default();
                if known.len() < AGENT_SESSIONS {
                    known.push(session);
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(agents);
            }
        }
    }

    fn sessions_of(&mut self, agent: &AgentId, sessions: &[Session]) -> Result<(), EngineError> {
        let mut history = Vec::new();
        for session in sessions {
            let Some(summary) = &session.summary else { continue };
            let written = record::write_summary(session, summary);
            let foreign = self.foreign(&foreign_session_key(&session.key))?;
            history.push((session.last_event_at, restored(written, foreign)));
        }
        history.sort_by_key(|(time, (place, _))| (std::cmp::Reverse(*time), *place));
        let history: Vec<Object> = history.into_iter().map(|(_, (_, object))| object).collect();
        let count = history.len();
        self.put(SESSIONS, agent.as_str(), json!({"latest": history.first(), "history": history}), count)
    }

    fn facts_of(&mut self, scope: &Scope) -> Result<(), EngineError> {
        let facts = self.memories(scope, record::write_fact)?;
        let agent = scope.agent().map_or("", AgentId::as_str).to_owned();
        if facts.is_empty() {
            return Ok(());
        }
        let count = facts.len();
        self.put(AGENTS, &agent, json!({"agentId": agent, "facts": facts}), count)
    }

    /// The facts of a space that are in force: those of a foreign file in its order, then the others as they came.
    fn memories(
        &self,
        scope: &Scope,
        written: impl Fn(&Memory) -> Object,
    ) -> Result<Vec<Object>, EngineError> {
        let mut facts = Vec::new();
        for memory in self.snapshot.memories(self.owner, scope)? {
            if memory.face == Face::Office && memory.status == Status::Active {
                let foreign = self.foreign(&foreign_key(&memory.id))?;
                let (place, object) = restored(written(&memory), foreign);
                facts.push((place, memory.created_at, memory.id, object));
            }
        }
        facts.sort_by(|a, b| (a.0, a.1, &a.2).cmp(&(b.0, b.1, &b.2)));
        Ok(facts.into_iter().map(|(.., object)| object).collect())
    }

    /// The newest work state of each agent: its file holds one. The others are told.
    fn works(&mut self) -> Result<(), EngineError> {
        let mut all: BTreeMap<AgentId, Vec<WorkState>> = BTreeMap::new();
        for work in self.snapshot.works(self.owner)? {
            if work.project.as_ref() == Some(&self.project) {
                all.entry(work.agent.id.clone()).or_default().push(work);
            }
        }
        for (agent, mut works) in all {
            works.sort_by_key(|work| std::cmp::Reverse(work.updated_at));
            let mut works = works.into_iter();
            let Some(work) = works.next() else { continue };
            let foreign = self.foreign(&foreign_work_key(&self.project, agent.as_str()))?;
            let foreign = foreign.filter(|_| work.session.is_none());
            let (_, written) = restored(record::write_work(&work), foreign);
            self.put(WORK, agent.as_str(), Value::Object(written), 1)?;
            let others: Vec<String> = works
                .map(|work| work.session.unwrap_or_else(|| "one without a session".to_owned()))
                .collect();
            if !others.is_empty() {
                self.left_out += others.len() as u64;
                let states = doze_core::text::count(others.len() as u64, "older work state");
                let names = others.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join(", ");
                let more = if others.len() > MAX_NAMED { ", …" } else { "" };
                let reason = format!("{states} left out, the file of an agent holds one: {names}{more}");
                self.problems.name(&format!("{WORK} of {agent}"), reason);
            }
        }
        Ok(())
    }

    fn learned(&mut self) -> Result<(), EngineError> {
        let learned = self.engine.learned_in(self.snapshot, self.owner)?;
        if learned.is_empty() {
            return Ok(());
        }
        let told = told_in(self.snapshot, self.owner)?;
        let patterns = learned.review_patterns.iter().map(|known| {
            let (place, object) =
                restored(record::write_pattern(known), told.get(&pattern_key(known)).cloned());
            (std::cmp::Reverse(known.count), place, object)
        });
        let mut patterns: Vec<_> = patterns.collect();
        patterns.sort_by_key(|(count, place, _)| (*count, *place));
        let patterns: Vec<Object> = patterns.into_iter().map(|(.., object)| object).collect();
        let projects = learned.projects.iter();
        let projects: Vec<Object> = projects
            .map(|known| restored(record::write_project(known), told.get(&project_key(known)).cloned()).1)
            .collect();
        let value = json!({
            "reviewPatterns": patterns,
            "techPreferences": learned.tech_preferences,
            "projectHistory": projects,
        });
        self.put(LEGACY, "", value, learned.len())
    }

    fn foreign(&self, key: &str) -> Result<Option<Foreign>, EngineError> {
        Ok(Foreign::from_bytes(self.snapshot.aux(self.owner, Family::Other, key)?))
    }

    /// Adds a file, with what the foreign one said beside its records.
    fn put(&mut self, folder: &str, agent: &str, value: Value, records: usize) -> Result<(), EngineError> {
        let place = match (folder, file_name(agent)) {
            (LEGACY | SHARED, _) => folder.to_owned(),
            (_, Some(file)) => format!("{folder}/{file}"),
            (_, None) => {
                self.problems.name(agent, format!("the id is too long for the name of a file in {folder}"));
                return Ok(());
            }
        };
        let key = foreign_file_key(&self.project, &format!("{folder}\0{agent}"));
        let beside = self.snapshot.aux(self.owner, Family::Other, &key)?;
        let beside = beside.and_then(|bytes| serde_json::from_slice::<Object>(&bytes).ok());
        let mut object = beside.unwrap_or_default();
        object.extend(record::object(value));
        self.files.push((place, Value::Object(object)));
        self.records += records as u64;
        Ok(())
    }
}

/// A record with what a foreign file said more, and its place there; records without one come last.
fn restored(mut written: Object, foreign: Option<Foreign>) -> (usize, Object) {
    let Some(foreign) = foreign else { return (usize::MAX, written) };
    foreign.restore(&mut written);
    (foreign.at, written)
}

/// The folder to write: nothing may stand there.
fn free(path: &str) -> Result<PathBuf, EngineError> {
    let target = PathBuf::from(path);
    if !target.is_absolute() || target.file_name().is_none() {
        return Err(EngineError::invalid("path: expected the whole path of a folder"));
    }
    match fs::read_dir(&target).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(target),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !target.is_symlink() => Ok(target),
        Ok(false) => Err(EngineError::refused(format!("{path} is not empty, and nothing is overwritten"))
            .hint("name a folder that is empty or not there yet")),
        Err(error) => Err(cannot(&target, error)),
    }
}

/// Writes the files into a folder beside the target, which then takes the target's name.
fn write(target: &Path, files: &[(String, Value)]) -> io::Result<()> {
    let parent = target.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent)?;
    let temporary = parent.join(format!(".doze-export-{}", std::process::id()));
    // Left over by a process of the same number that was killed.
    let _ = fs::remove_dir_all(&temporary);
    let written = fill(&temporary, files).and_then(|()| fs::rename(&temporary, target));
    if written.is_err() {
        // The first error is the one that counts.
        let _ = fs::remove_dir_all(&temporary);
    }
    written
}

fn fill(folder: &Path, files: &[(String, Value)]) -> io::Result<()> {
    let make = |folder: &Path| fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    make(folder)?;
    for (place, value) in files {
        let path = folder.join(place);
        path.parent().map_or(Ok(()), make)?;
        let text = serde_json::to_string_pretty(value).map_err(io::Error::other)?;
        doze_files::replace(&path, text.as_bytes(), 0o600)?;
    }
    Ok(())
}

fn cannot(path: &Path, error: io::Error) -> EngineError {
    let problem = match error.kind() {
        io::ErrorKind::PermissionDenied => Problem::Refused,
        io::ErrorKind::NotADirectory | io::ErrorKind::NotFound => Problem::Invalid,
        _ => Problem::Unavailable,
    };
    EngineError::new(problem, format!("{} cannot be written", path.display()))
        .hint("name a folder in a place that you may write to")
        .caused_by(error)
}
