//! Taking in the memory of the original office program. Its files are only read; the same folder again changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use doze_core::model::{
    AgentId, AgentRef, Face, Memory, Mode, Outcome, OwnerId, ProjectId, Scope, Session, SessionEnd,
    SessionKind, Source, Status, Verification, WorkState, WorkStatus, content_hash,
};
use doze_core::office::Learned;
use doze_core::promote::text_of;
use doze_store::{ChangeSet, Family, SessionFilter, Snapshot, Subject, foreign_key};
use jiff::Timestamp;
use serde_json::Value;

use super::learned::{Told, with_told};
use super::record::{self, Fields, Foreign, GivenFact, Object};
use super::tree::{File, Tree, root_of};
use super::{AGENT_FACTS, Problems, SHARED_FACTS, foreign_file_key, foreign_session_key, foreign_work_key};
use crate::import::{ImportRequest, Imported};
use crate::memory::title_of;
use crate::names::{MAX_NAME_BYTES, safe_name};
use crate::{Engine, EngineError, encoded};

/// The confidence of a fact that another program found by rule.
const FOREIGN: f64 = 0.6;
/// Characters of a fact, and bytes of any other entry.
const MAX_FACT: usize = 8_000;
const MAX_ENTRY: usize = 256 * 1024;
const BUSY: &str = "others keep writing to the same office";

impl Engine {
    /// Reads the folder and keeps what it tells as the project's.
    pub(crate) fn import_office(
        &self,
        owner: &OwnerId,
        request: &ImportRequest,
    ) -> Result<Imported, EngineError> {
        self.note_activity();
        let root = root_of(Path::new(&request.path)).ok_or_else(|| {
            EngineError::invalid(format!("{} holds no memory of an office", request.path))
                .hint("give the folder with agents/, sessions/, shared.json or memory.json in it")
        })?;
        let Some(cwd) = &request.cwd else {
            return Err(EngineError::invalid(
                "cwd is missing: an office's memory says of no project whose it is",
            )
            .hint("name the project's folder, as in  doze import PATH --format office --cwd FOLDER"));
        };
        let known = self.known_project_of(owner, cwd)?;
        if let Some(silence) = self.silence(owner, known.project.as_ref())? {
            return Err(silence.refusal());
        }
        let Some(project) = self.project_of(owner, cwd)?.id().cloned() else {
            return Err(EngineError::invalid(format!("cwd: {cwd} is no project"))
                .hint("name the folder of the project that the office worked on"));
        };
        let mut problems = Problems::default();
        let tree = Tree::read(&root, &mut problems);
        let mut work = Import {
            engine: self,
            owner,
            project,
            cwd: cwd.clone(),
            now: self.now(),
            problems,
            done: Imported::default(),
        };
        work.take(&tree)?;
        self.write_workspaces(owner);
        let Import { problems, mut done, .. } = work;
        done.redacted = tree.redacted;
        done.damaged = problems.count();
        done.problems = problems.into_list();
        Ok(done)
    }
}

/// An import at work.
struct Import<'a> {
    engine: &'a Engine,
    owner: &'a OwnerId,
    project: ProjectId,
    cwd: String,
    now: Timestamp,
    problems: Problems,
    done: Imported,
}

/// A fact of a file, beside its entry.
struct Entry<'a> {
    at: usize,
    given: &'a Object,
    fact: GivenFact,
}

impl Import<'_> {
    fn take(&mut self, tree: &Tree) -> Result<(), EngineError> {
        for file in &tree.sessions {
            self.sessions(file)?;
        }
        for file in &tree.agents {
            self.facts(file)?;
        }
        if let Some(file) = &tree.shared {
            let entries = self.entries(file, "items");
            self.memories(&Scope::Project(self.project.clone()), &entries, SHARED_FACTS, &file.place)?;
            self.beside(file, &["items"], "")?;
        }
        for file in &tree.works {
            self.work(file)?;
        }
        tree.legacy.as_ref().map_or(Ok(()), |file| self.learned(file))
    }

    /// The agent of a file: as the file itself says, which knows letters that its name cannot have.
    fn agent(&mut self, file: &File) -> Option<AgentRef> {
        let id = file.value.get("agentId").and_then(Value::as_str).unwrap_or(&file.agent);
        let id = safe_name(&doze_core::text::one_line(id));
        if id.is_empty() || id.len() > MAX_NAME_BYTES {
            self.problems.name(&file.place, format!("the agent's id has not 1 to {MAX_NAME_BYTES} bytes"));
            return None;
        }
        Some(AgentRef { id: AgentId::new(id.clone()), name: id, harness: String::new() })
    }

    fn facts(&mut self, file: &File) -> Result<(), EngineError> {
        let Some(agent) = self.agent(file) else { return Ok(()) };
        let entries = self.entries(file, "facts");
        let scope = Scope::Agent { project: Some(self.project.clone()), agent: agent.id.clone() };
        self.memories(&scope, &entries, AGENT_FACTS, &file.place)?;
        self.beside(file, &["agentId", "facts"], agent.id.as_str())
    }

    fn entries<'f>(&mut self, file: &'f File, field: &str) -> Vec<Entry<'f>> {
        let mut entries = Vec::new();
        for (at, given) in file.list(field, &mut self.problems) {
            self.done.read += 1;
            let mut fields = Fields::of(given);
            let fact = record::fact(&mut fields, self.now);
            self.note(file, field, at, fields.notes);
            match fact {
                None => self.problems.name(&file.entry(field, at), "fact is missing"),
                Some(fact) if fact.fact.chars().nth(MAX_FACT).is_some() => {
                    let reason = format!("fact is longer than {MAX_FACT} characters");
                    self.problems.name(&file.entry(field, at), reason);
                }
                Some(fact) => entries.push(Entry { at, given, fact }),
            }
        }
        entries
    }

    fn note(&mut self, file: &File, field: &str, at: usize, notes: Vec<String>) {
        for note in notes {
            self.problems.name(&file.entry(field, at), note);
        }
    }

    /// Facts into a space. What has its words already stays as it is; of more than `cap` the least reinforced are kept
    /// and not recalled.
    fn memories(
        &mut self,
        scope: &Scope,
        entries: &[Entry<'_>],
        cap: usize,
        place: &str,
    ) -> Result<(), EngineError> {
        let (added, known, left_out, stale) = self.engine.decide(BUSY, |snapshot| {
            let mut set = ChangeSet::new(self.owner.clone());
            let existing = snapshot.memories(self.owner, scope)?;
            let mut texts: BTreeSet<String> =
                existing.iter().map(|memory| text_of(memory).to_owned()).collect();
            let is_office = |memory: &&Memory| memory.face == Face::Office && memory.status == Status::Active;
            let room = cap.saturating_sub(existing.iter().filter(is_office).count());
            let (mut fresh, mut known, mut left_out) = (Vec::new(), 0, 0);
            for entry in entries {
                if self.engine.is_forgotten(snapshot, self.owner, &entry.fact.fact)? {
                    left_out += 1;
                } else if texts.insert(entry.fact.fact.clone()) {
                    fresh.push(entry);
                } else {
                    known += 1;
                }
            }
            fresh.sort_by_key(|entry| (std::cmp::Reverse(entry.fact.reinforce_count), entry.at));
            let stale = fresh.len().saturating_sub(room) as u64;
            for (at, entry) in fresh.iter().enumerate() {
                let status = if at < room { Status::Active } else { Status::Stale };
                let memory = self.memory(scope, &entry.fact, status);
                let ours = match scope {
                    Scope::Project(_) => record::write_shared(&memory),
                    _ => record::write_fact(&memory),
                };
                let foreign = Foreign::of(entry.at, entry.given, &ours);
                set = set.put_aux(Family::Other, foreign_key(&memory.id), encoded(&foreign)?);
                set = set.put_memory(memory);
            }
            let set = set.expect_seen(snapshot, Subject::Scope(scope.clone()))?;
            Ok((set, (fresh.len() as u64, known, left_out, stale)))
        })?;
        self.done.added += added;
        self.done.known += known;
        self.done.left_out += left_out;
        if stale > 0 {
            let reason = format!("{stale} facts beyond {cap} were kept as stale, the least reinforced");
            self.problems.name(place, reason);
        }
        Ok(())
    }

    fn memory(&self, scope: &Scope, fact: &GivenFact, status: Status) -> Memory {
        let finder = fact.source.as_deref().or(scope.agent().map(AgentId::as_str)).unwrap_or_default();
        let finder = safe_name(finder);
        let kind = record::kind_of(fact.category.as_deref());
        let title = title_of(&fact.fact);
        Memory {
            id: self.engine.new_memory_id(),
            owner: self.owner.clone(),
            scope: scope.clone(),
            face: Face::Office,
            kind,
            native_kind: fact.category.clone(),
            content_hash: content_hash(kind.as_str(), &title, &fact.fact),
            title,
            body: fact.fact.clone(),
            tags: Vec::new(),
            topic_key: None,
            files: Vec::new(),
            confidence: FOREIGN,
            evidence_count: 1,
            reinforce_count: fact.reinforce_count,
            applied_count: 0,
            confirmed_by: fact.confirmed_by.iter().map(|agent| safe_name(agent)).collect(),
            pinned: false,
            status,
            superseded_by: None,
            verification: Verification::Import,
            source: Source {
                agent: (!finder.is_empty()).then(|| AgentRef {
                    id: AgentId::new(finder.clone()),
                    name: finder,
                    harness: String::new(),
                }),
                ..Source::default()
            },
            contexts: Vec::new(),
            created_at: fact.created_at,
            updated_at: fact.created_at,
            last_confirmed_at: fact.last_seen,
            file_ref: None,
        }
    }

    fn sessions(&mut self, file: &File) -> Result<(), EngineError> {
        let Some(agent) = self.agent(file) else { return Ok(()) };
        let mut given = file.list("history", &mut self.problems);
        if let Some(latest) = file.value.get("latest").and_then(Value::as_object) {
            // The newest stands twice in a whole file; in a damaged one it may be all there is.
            if given.iter().all(|(_, known)| *known != latest) {
                given.push((given.len(), latest));
            }
        }
        let known = self.known_sessions(&agent)?;
        for (at, given) in given {
            self.done.read += 1;
            let mut fields = Fields::of(given);
            let summary = record::summary(&mut fields);
            self.note(file, "history", at, fields.notes);
            let size = Value::Object(given.clone()).to_string().len();
            let Some((when, summary)) = summary.filter(|_| size <= MAX_ENTRY) else {
                let reason = if size > MAX_ENTRY { "it is too large" } else { "it says nothing" };
                self.problems.name(&file.entry("history", at), reason);
                continue;
            };
            if when.is_none() {
                self.problems.name(&file.entry("history", at), "timestamp is missing; it counts as of now");
            }
            let when = when.unwrap_or(self.now);
            if known.contains(&(when, summary.what.clone())) {
                self.done.known += 1;
                continue;
            }
            let mut session = self.session(&agent, when);
            let ours = record::write_summary(&session, &summary);
            session.key = record::session_key(&agent, if fields_have_time(given) { &ours } else { given });
            session.summary = Some(summary);
            self.keep_session(session, &Foreign::of(at, given, &ours))?;
        }
        self.beside(file, &["latest", "history", "agentId"], agent.id.as_str())
    }

    fn known_sessions(&self, agent: &AgentRef) -> Result<BTreeSet<(Timestamp, String)>, EngineError> {
        let filter = SessionFilter {
            project: Some(Some(self.project.clone())),
            agent: Some(agent.id.clone()),
            ..SessionFilter::default()
        };
        let sessions = self.engine.store().snapshot()?.sessions(self.owner, &filter, None, 1_000)?.items;
        let told = |session: Session| Some((session.last_event_at, session.summary?.what));
        Ok(sessions.into_iter().filter_map(told).collect())
    }

    fn session(&self, agent: &AgentRef, at: Timestamp) -> Session {
        Session {
            key: doze_core::model::SessionKey::new("", ""),
            owner: self.owner.clone(),
            project: Some(self.project.clone()),
            agent: agent.clone(),
            cwd: self.cwd.clone(),
            mode: Mode::Code,
            kind: SessionKind::Interactive,
            ended: Some(SessionEnd::Session),
            outcome: Outcome::Success,
            started_at: at,
            last_event_at: at,
            heard_at: self.now,
            event_count: 0,
            rounds: 0,
            turns: 1,
            summary: None,
            task: None,
            team: None,
            transcript: None,
        }
    }

    fn keep_session(&mut self, session: Session, foreign: &Foreign) -> Result<(), EngineError> {
        let (added, known, left_out) = self.engine.decide(BUSY, |snapshot| {
            let set = ChangeSet::new(self.owner.clone());
            if self.engine.session_forgotten_at(snapshot, self.owner, &session.key.session)?.is_some() {
                return Ok((set, (0, 0, 1)));
            }
            if snapshot.session(self.owner, &session.key)?.is_some() {
                return Ok((set, (0, 1, 0)));
            }
            let set = set
                .expect_seen(snapshot, Subject::Session(session.key.clone()))?
                .put_aux(Family::Other, foreign_session_key(&session.key), encoded(foreign)?)
                .put_session(session.clone());
            Ok((set, (1, 0, 0)))
        })?;
        self.done.added += added;
        self.done.known += known;
        self.done.left_out += left_out;
        Ok(())
    }

    /// A work state; one that was told later than the file's stays. A cleared one is no state.
    fn work(&mut self, file: &File) -> Result<(), EngineError> {
        let given = match &file.value {
            Value::Null => return Ok(()),
            Value::Object(given) => given,
            _ => {
                self.problems.name(&file.place, "it is no object");
                return Ok(());
            }
        };
        let Some(agent) = self.agent(file) else { return Ok(()) };
        self.done.read += 1;
        if Value::Object(given.clone()).to_string().len() > MAX_ENTRY {
            self.problems.name(&file.place, "it is too large");
            return Ok(());
        }
        let mut fields = Fields::of(given);
        let work = record::work(&mut fields, self.no_work(agent), self.now);
        for note in fields.notes {
            self.problems.name(&file.place, note);
        }
        let foreign = Foreign::of(0, given, &record::write_work(&work));
        let is_new = self.engine.decide(BUSY, |snapshot| {
            let set = ChangeSet::new(self.owner.clone());
            let project = Some(&self.project);
            let known = snapshot.work(self.owner, &work.agent.id, project, None)?;
            if known.is_some_and(|known| known.updated_at >= work.updated_at) {
                return Ok((set, false));
            }
            let subject = Subject::Work(work.agent.id.clone(), project.cloned(), None);
            let key = foreign_work_key(&self.project, work.agent.id.as_str());
            let set = set.expect_seen(snapshot, subject)?.put_work(work.clone());
            Ok((set.put_aux(Family::Other, key, encoded(&foreign)?), true))
        })?;
        *(if is_new { &mut self.done.added } else { &mut self.done.known }) += 1;
        Ok(())
    }

    fn no_work(&self, agent: AgentRef) -> WorkState {
        WorkState {
            owner: self.owner.clone(),
            agent,
            project: Some(self.project.clone()),
            session: None,
            started_at: self.now,
            updated_at: self.now,
            status: WorkStatus::Running,
            task_id: None,
            task_prompt: None,
            cwd: None,
            summary: String::new(),
            next_steps: Vec::new(),
            unfinished: Vec::new(),
            files_touched: Vec::new(),
            last_activity: None,
        }
    }

    /// What the orchestrator learned.
    fn learned(&mut self, file: &File) -> Result<(), EngineError> {
        let mut given = Learned::default();
        let mut told: Told = BTreeMap::new();
        for (at, object) in file.list("reviewPatterns", &mut self.problems) {
            let mut fields = Fields::of(object);
            let known = record::pattern(&mut fields, self.now);
            self.note(file, "reviewPatterns", at, fields.notes);
            let Some(known) = known else {
                self.problems.name(&file.entry("reviewPatterns", at), "pattern is missing");
                continue;
            };
            let foreign = Foreign::of(at, object, &record::write_pattern(&known));
            told.insert(super::learned::pattern_key(&known), foreign);
            given.review_patterns.push(known);
        }
        for (at, object) in file.list("projectHistory", &mut self.problems) {
            let mut fields = Fields::of(object);
            let known = record::project(&mut fields, self.now);
            self.note(file, "projectHistory", at, fields.notes);
            let Some(known) = known else {
                self.problems.name(&file.entry("projectHistory", at), "summary is missing");
                continue;
            };
            let foreign = Foreign::of(at, object, &record::write_project(&known));
            told.insert(super::learned::project_key(&known), foreign);
            given.projects.push(known);
        }
        let object = record::object(file.value.clone());
        let mut fields = Fields::of(&object);
        given.tech_preferences = fields.texts("techPreferences");
        for note in fields.notes {
            self.problems.name(&file.place, note);
        }
        self.done.read += given.len() as u64;
        let given = &given;
        let (noted, left_out) = self.engine.decide(BUSY, |snapshot| {
            let (fresh, left_out) = self.not_forgotten(snapshot, given)?;
            let mut learned = self.engine.learned_in(snapshot, self.owner)?;
            let noted = learned.absorb(fresh);
            let set = ChangeSet::new(self.owner.clone());
            let set = if noted.added == 0 { set } else { with_told(snapshot, set, &learned, &told)? };
            Ok((set, (noted, left_out)))
        })?;
        self.done.added += noted.added;
        self.done.known += noted.known;
        self.done.left_out += left_out;
        self.beside(file, &["reviewPatterns", "techPreferences", "projectHistory"], "")
    }

    fn not_forgotten(&self, snapshot: &Snapshot, given: &Learned) -> Result<(Learned, u64), EngineError> {
        let is_fresh =
            |text: &str| Ok::<_, EngineError>(!self.engine.is_forgotten(snapshot, self.owner, text)?);
        let mut fresh = Learned::default();
        for known in &given.review_patterns {
            if is_fresh(&known.pattern)? {
                fresh.review_patterns.push(known.clone());
            }
        }
        for known in &given.tech_preferences {
            if is_fresh(known)? {
                fresh.tech_preferences.push(known.clone());
            }
        }
        for known in &given.projects {
            if is_fresh(&known.summary)? {
                fresh.projects.push(known.clone());
            }
        }
        let left_out = (given.len() - fresh.len()) as u64;
        Ok((fresh, left_out))
    }

    /// Keeps what a file says beside its records. Of an orchestrator's file that is the project's it was read for.
    fn beside(&mut self, file: &File, fields: &[&str], agent: &str) -> Result<(), EngineError> {
        let rest = file.beside(fields);
        if rest.is_empty() {
            return Ok(());
        }
        let folder = file.place.split('/').next().unwrap_or_default();
        let key = foreign_file_key(&self.project, &format!("{folder}\0{agent}"));
        let set = ChangeSet::new(self.owner.clone()).put_aux(Family::Other, key, encoded(&rest)?);
        self.engine.store().apply(set)?;
        Ok(())
    }
}

/// Whether an entry tells when it was. Of one that does not, our rendering tells the time of the import.
fn fields_have_time(given: &Object) -> bool {
    Fields::of(given).time("timestamp").is_some()
}
