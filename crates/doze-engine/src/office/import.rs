//! Taking in the memory of the original office program. Its files are only read; the same folder again changes nothing.

use std::collections::{BTreeMap, BTreeSet, btree_map};
use std::path::Path;

use doze_core::model::{
    AgentId, AgentRef, Face, Memory, Mode, Origin, Outcome, OwnerId, ProjectId, Scope, Session, SessionEnd,
    SessionKind, Source, Status, Verification, WorkState, WorkStatus, content_hash,
};
use doze_core::office::Learned;
use doze_core::promote::text_of;
use doze_store::{ChangeSet, Family, SessionFilter, Snapshot, Subject, foreign_key};
use jiff::Timestamp;
use serde_json::Value;

use super::learned::{Told, grave_of_tech, with_told};
use super::record::{self, Fields, Foreign, GivenFact, Object};
use super::seen::Seen;
use super::tree::{File, Tree, root_in};
use super::{AGENT_FACTS, Problems, SHARED_FACTS, foreign_file_key, foreign_session_key, foreign_work_key};
use crate::commit::marked;
use crate::import::{ImportRequest, Imported};
use crate::memory::title_of;
use crate::names::{MAX_NAME_BYTES, safe_name};
use crate::{Engine, EngineError, encoded};

/// The confidence of a fact that another program found by rule.
const FOREIGN: f64 = 0.6;
/// Characters of a fact, and bytes of any other entry.
const MAX_FACT: usize = 8_000;
/// Facts of a space that are kept at all, those that are not recalled included.
const MAX_KEPT: usize = 1_000;
const MAX_ENTRY: usize = 256 * 1024;
/// Files, and sessions, that are decided on in one step: each step waits for the disk.
const FILES_AT_ONCE: usize = 100;
const SESSIONS_AT_ONCE: usize = 500;
const BUSY: &str = "others keep writing to the same office";

impl Engine {
    /// Reads the folder and keeps what it tells as the project's.
    pub(crate) fn import_office(
        &self,
        owner: &OwnerId,
        request: &ImportRequest,
    ) -> Result<Imported, EngineError> {
        self.note_activity();
        let root = root_in(Path::new(&request.path)).ok_or_else(|| {
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
            asides: Vec::new(),
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
    /// What files say beside their records, to be written.
    asides: Vec<(String, Vec<u8>)>,
}

/// The work states of a tree, by the agents that its files are named after.
type States<'a> = BTreeMap<&'a str, &'a Value>;

/// What became of entries.
#[derive(Debug, Clone, Copy, Default)]
struct Taken {
    added: u64,
    known: u64,
    left_out: u64,
}

impl Taken {
    fn add(&mut self, more: Self) {
        self.added += more.added;
        self.known += more.known;
        self.left_out += more.left_out;
    }
}

/// Facts that are beyond the bounds of their space: kept and not recalled, and not kept.
#[derive(Debug, Clone, Copy, Default)]
struct Beyond {
    stale: u64,
    left_out: u64,
}

/// The facts of a file, for a space.
struct Facts<'a> {
    scope: Scope,
    entries: Vec<Entry<'a>>,
    cap: usize,
    place: &'a str,
}

/// A fact of a file, beside its entry.
struct Entry<'a> {
    at: usize,
    given: &'a Object,
    fact: GivenFact,
}

impl Import<'_> {
    fn take(&mut self, tree: &Tree) -> Result<(), EngineError> {
        let states = tree.works.iter().map(|file| (file.agent.as_str(), &file.value)).collect();
        for files in tree.sessions.chunks(FILES_AT_ONCE) {
            self.sessions(&states, files)?;
        }
        for files in tree.agents.chunks(FILES_AT_ONCE) {
            let mut spaces = Vec::new();
            for file in files {
                let Some(agent) = self.agent(file) else { continue };
                let entries = self.entries(file, "facts");
                self.beside(file, &["agentId", "facts"], agent.id.as_str())?;
                let scope = Scope::Agent { project: Some(self.project.clone()), agent: agent.id };
                spaces.push(Facts { scope, entries, cap: AGENT_FACTS, place: &file.place });
            }
            self.memories(&spaces)?;
        }
        if let Some(file) = &tree.shared {
            let entries = self.entries(file, "items");
            let scope = Scope::Project(self.project.clone());
            self.beside(file, &["items"], "")?;
            self.memories(&[Facts { scope, entries, cap: SHARED_FACTS, place: &file.place }])?;
        }
        for files in tree.works.chunks(FILES_AT_ONCE) {
            self.works(files)?;
        }
        if let Some(file) = &tree.legacy {
            self.learned(file)?;
        }
        self.write_asides()
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

    fn entries<'f>(&mut self, file: &'f File, field: &str) -> Vec<Entry<'f>> {
        let mut entries = Vec::new();
        for (at, given) in file.list(field, &mut self.problems) {
            self.done.read += 1;
            let mut fields = Fields::of(given, self.now);
            let fact = record::fact(&mut fields);
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

    /// Facts into their spaces, in one step. What has its words already stays as it is, but for a count that was higher
    /// elsewhere; what was read before and is gone since stays gone. Of more than `cap` the least reinforced are kept and
    /// not recalled, of more than [`MAX_KEPT`] not even that.
    fn memories(&mut self, spaces: &[Facts<'_>]) -> Result<(), EngineError> {
        let (taken, beyond) = self.engine.decide(BUSY, |snapshot| {
            let mut set = ChangeSet::new(self.owner.clone());
            let (mut taken, mut beyond) = (Taken::default(), Vec::new());
            for space in spaces {
                let (next, count, surplus) = self.space(snapshot, set, space)?;
                set = next;
                taken.add(count);
                beyond.push(surplus);
            }
            Ok((set, (taken, beyond)))
        })?;
        self.count(taken);
        for (space, Beyond { stale, left_out }) in spaces.iter().zip(beyond) {
            if stale > 0 {
                let reason =
                    format!("{stale} facts beyond {} were kept as stale, the least reinforced", space.cap);
                self.problems.name(space.place, reason);
            }
            if left_out > 0 {
                let reason =
                    format!("{left_out} facts beyond {MAX_KEPT} were left out, the least reinforced");
                self.problems.name(space.place, reason);
            }
        }
        Ok(())
    }

    /// One space of [`Import::memories`]; answers also how many facts are beyond its bounds.
    fn space(
        &self,
        snapshot: &Snapshot,
        mut set: ChangeSet,
        space: &Facts<'_>,
    ) -> Result<(ChangeSet, Taken, Beyond), EngineError> {
        let Facts { scope, entries, cap, place } = space;
        let existing = snapshot.memories(self.owner, scope)?;
        let is_office = |memory: &&Memory| memory.face == Face::Office && memory.status == Status::Active;
        let room = cap.saturating_sub(existing.iter().filter(is_office).count());
        let most = MAX_KEPT.saturating_sub(existing.len());
        let mut texts: BTreeMap<String, Option<Memory>> = BTreeMap::new();
        for memory in existing {
            let known = texts.entry(text_of(&memory).to_owned()).or_default();
            // A former version of the same words does not stand for the one in force.
            if known.as_ref().is_none_or(|known| known.status != Status::Active) {
                *known = Some(memory);
            }
        }
        let seen = Seen::of(snapshot, self.owner, &self.project, place)?;
        let (mut now_seen, mut fresh, mut taken) = (Seen::default(), Vec::new(), Taken::default());
        for entry in entries {
            let fact = &entry.fact;
            if self.engine.is_forgotten(snapshot, self.owner, scope.project(), &fact.fact, Origin::Agent)? {
                taken.left_out += 1;
                continue;
            }
            let is_seen = seen.has(&fact.fact);
            match texts.entry(fact.fact.clone()) {
                btree_map::Entry::Vacant(_) if is_seen => {
                    now_seen.insert(&fact.fact);
                    taken.known += 1;
                }
                btree_map::Entry::Vacant(place) => {
                    place.insert(None);
                    fresh.push(entry);
                }
                btree_map::Entry::Occupied(mut known) => {
                    now_seen.insert(&fact.fact);
                    match known.get_mut().as_mut().and_then(|memory| raised(memory, fact).then_some(&*memory))
                    {
                        Some(memory) => {
                            set = set.put_memory(memory.clone());
                            taken.added += 1;
                        }
                        None => taken.known += 1,
                    }
                }
            }
        }
        fresh.sort_by_key(|entry| (std::cmp::Reverse(entry.fact.reinforce_count), entry.at));
        let left_out = fresh.len().saturating_sub(most) as u64;
        taken.left_out += left_out;
        fresh.truncate(most);
        let stale = fresh.len().saturating_sub(room) as u64;
        for (at, entry) in fresh.iter().enumerate() {
            // It may be forgotten before this is kept.
            set = self
                .engine
                .unless_forgotten(snapshot, set, scope.project(), &entry.fact.fact, Origin::Agent)?
                .0;
            now_seen.insert(&entry.fact.fact);
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
        taken.added += fresh.len() as u64;
        set = seen.with(now_seen).put(set, &self.project, place)?;
        let beyond = Beyond { stale, left_out };
        Ok((set.expect_seen(snapshot, Subject::Scope(scope.clone()))?, taken, beyond))
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

    /// The sessions of some files, many in one step.
    fn sessions(&mut self, states: &States<'_>, files: &[File]) -> Result<(), EngineError> {
        let mut found = Vec::new();
        for file in files {
            let Some(agent) = self.agent(file) else { continue };
            self.sessions_of(states, file, &agent, &mut found)?;
            self.beside(file, &["latest", "history"], agent.id.as_str())?;
        }
        for sessions in found.chunks(SESSIONS_AT_ONCE) {
            self.keep_sessions(sessions)?;
        }
        Ok(())
    }

    fn sessions_of(
        &mut self,
        states: &States<'_>,
        file: &File,
        agent: &AgentRef,
        found: &mut Vec<(Session, Foreign)>,
    ) -> Result<(), EngineError> {
        let mut given = file.list("history", &mut self.problems);
        if let Some(latest) = file.value.get("latest").and_then(Value::as_object) {
            // The newest stands twice in a whole file; in a damaged one it may be all there is.
            if given.iter().all(|(_, known)| *known != latest) {
                given.push((given.len(), latest));
            }
        }
        let known = self.known_sessions(agent)?;
        let first = found.len();
        for (at, given) in given {
            self.done.read += 1;
            let mut fields = Fields::of(given, self.now);
            let summary = record::summary(&mut fields);
            let is_ahead = fields.is_ahead;
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
            // Of one that does not tell when it was, our rendering tells the time of the import.
            let is_dated = when.is_some() && !is_ahead;
            let when = when.unwrap_or(self.now);
            if known.contains(&(when, summary.what.clone())) {
                self.done.known += 1;
                continue;
            }
            let mut session = self.session(agent, when);
            let ours = record::write_summary(&session, &summary);
            session.key = record::session_key(agent, if is_dated { &ours } else { given });
            session.summary = Some(summary);
            found.push((session, Foreign::of(at, given, &ours)));
        }
        self.mark_broken_off(states, file, &mut found[first..]);
        Ok(())
    }

    /// The program clears the state when a run ends well, and writes a summary of one that broke off as well: no session
    /// that ended after the state beside it was told has ended well.
    fn mark_broken_off(&self, states: &States<'_>, file: &File, sessions: &mut [(Session, Foreign)]) {
        let Some(Value::Object(given)) = states.get(file.agent.as_str()) else { return };
        let agent = AgentRef { id: AgentId::new(""), name: String::new(), harness: String::new() };
        let work = record::work(&mut Fields::of(given, self.now), self.no_work(agent));
        let outcome = match work.status {
            WorkStatus::Running | WorkStatus::Interrupted => Outcome::Interrupted,
            WorkStatus::Failed => Outcome::Failed,
            WorkStatus::Cancelled => Outcome::Cancelled,
        };
        for (session, _) in
            sessions.iter_mut().filter(|(session, _)| session.last_event_at >= work.updated_at)
        {
            session.outcome = outcome;
        }
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

    fn keep_sessions(&mut self, sessions: &[(Session, Foreign)]) -> Result<(), EngineError> {
        let taken = self.engine.decide(BUSY, |snapshot| {
            let mut set = ChangeSet::new(self.owner.clone());
            let (mut taken, mut keys) = (Taken::default(), BTreeSet::new());
            for (session, foreign) in sessions {
                let mut session = session.clone();
                let held = snapshot.session(self.owner, &session.key)?;
                if held.is_some_and(|held| held.project.as_ref() != Some(&self.project)) {
                    // The same folder was read in for another project.
                    session.key = marked(&session.key.session, &session.agent, Some(&self.project));
                }
                let key = session.key.clone();
                if self.engine.forgotten_at(snapshot, self.owner, &session)?.is_some() {
                    taken.left_out += 1;
                } else if !keys.insert(key.clone()) || snapshot.session(self.owner, &key)?.is_some() {
                    taken.known += 1;
                } else {
                    set = set
                        .expect_seen(snapshot, Subject::Session(key.clone()))?
                        .put_aux(Family::Other, foreign_session_key(&key), encoded(foreign)?)
                        .put_session(session);
                    taken.added += 1;
                }
            }
            Ok((set, taken))
        })?;
        self.count(taken);
        Ok(())
    }

    /// The work states of some files, in one step.
    fn works(&mut self, files: &[File]) -> Result<(), EngineError> {
        let mut found = Vec::new();
        for file in files {
            found.extend(self.work(file).map(|(work, foreign)| (work, foreign, file)));
        }
        let taken = self.engine.decide(BUSY, |snapshot| {
            let mut set = ChangeSet::new(self.owner.clone());
            let mut taken = Taken::default();
            for (work, foreign, file) in &found {
                let told = file.value.to_string();
                let known = snapshot.work(self.owner, &work.agent.id, Some(&self.project), None)?;
                let read = Seen::of(snapshot, self.owner, &self.project, &file.place)?;
                // One that was read before may have been cleared since; a run that is over does not run again.
                if read.has(&told) || known.is_some_and(|known| known.updated_at >= work.updated_at) {
                    taken.known += 1;
                    continue;
                }
                let subject = Subject::Work(work.agent.id.clone(), Some(self.project.clone()), None);
                let key = foreign_work_key(&self.project, work.agent.id.as_str());
                set = set.expect_seen(snapshot, subject)?.put_work(work.clone());
                set = set.put_aux(Family::Other, key, encoded(foreign)?);
                let mut seen = Seen::default();
                seen.insert(&told);
                set = read.with(seen).put(set, &self.project, &file.place)?;
                taken.added += 1;
            }
            Ok((set, taken))
        })?;
        self.count(taken);
        Ok(())
    }

    /// A work state; one that was told later than the file's stays. A cleared one is no state.
    fn work(&mut self, file: &File) -> Option<(WorkState, Foreign)> {
        let given = match &file.value {
            Value::Null => return None,
            Value::Object(given) => given,
            _ => {
                self.problems.name(&file.place, "it is no object");
                return None;
            }
        };
        let agent = self.agent(file)?;
        self.done.read += 1;
        if file.value.to_string().len() > MAX_ENTRY {
            self.problems.name(&file.place, "it is too large");
            return None;
        }
        let mut fields = Fields::of(given, self.now);
        let work = record::work(&mut fields, self.no_work(agent));
        for note in fields.notes {
            self.problems.name(&file.place, note);
        }
        let foreign = Foreign::of(0, given, &record::write_work(&work));
        Some((work, foreign))
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
        let mut ahead: BTreeSet<String> = BTreeSet::new();
        for (at, object) in file.list("reviewPatterns", &mut self.problems) {
            let mut fields = Fields::of(object, self.now);
            let known = record::pattern(&mut fields);
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
            let mut fields = Fields::of(object, self.now);
            let known = record::project(&mut fields);
            ahead.extend(known.iter().filter(|_| fields.is_ahead).map(|known| known.summary.clone()));
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
        let mut fields = Fields::of(&object, self.now);
        given.tech_preferences = fields.texts("techPreferences");
        for note in fields.notes {
            self.problems.name(&file.place, note);
        }
        self.done.read += given.len() as u64;
        let given = &given;
        let (noted, left_out) = self.engine.decide(BUSY, |snapshot| {
            let (mut fresh, left_out) = self.not_forgotten(snapshot, given)?;
            let mut learned = self.engine.learned_in(snapshot, self.owner)?;
            let before = fresh.projects.len();
            // The time of one that lies ahead is that of the import, and tells no two apart.
            fresh.projects.retain(|known| {
                let is_known = learned.projects.iter().any(|ours| ours.summary == known.summary);
                !(is_known && ahead.contains(&known.summary))
            });
            let known = (before - fresh.projects.len()) as u64;
            let mut noted = learned.absorb(fresh);
            noted.known += known;
            let set = ChangeSet::new(self.owner.clone());
            let set = if noted.added == 0 { set } else { with_told(snapshot, set, &learned, &told)? };
            Ok((set, (noted, left_out)))
        })?;
        self.done.added += noted.added;
        self.done.known += noted.known;
        self.done.left_out += left_out + noted.dropped;
        self.beside(file, &["reviewPatterns", "techPreferences", "projectHistory"], "")
    }

    fn not_forgotten(&self, snapshot: &Snapshot, given: &Learned) -> Result<(Learned, u64), EngineError> {
        let is_fresh = |text: &str| {
            Ok::<_, EngineError>(!self.engine.is_forgotten(
                snapshot,
                self.owner,
                None,
                text,
                Origin::Agent,
            )?)
        };
        let mut fresh = Learned::default();
        for known in &given.review_patterns {
            if is_fresh(&known.pattern)? {
                fresh.review_patterns.push(known.clone());
            }
        }
        for known in &given.tech_preferences {
            if is_fresh(&grave_of_tech(known))? {
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
        self.asides.push((key, encoded(&rest)?));
        if self.asides.len() >= SESSIONS_AT_ONCE { self.write_asides() } else { Ok(()) }
    }

    fn write_asides(&mut self) -> Result<(), EngineError> {
        let mut set = ChangeSet::new(self.owner.clone());
        for (key, rest) in self.asides.drain(..) {
            set = set.put_aux(Family::Other, key, rest);
        }
        self.engine.store().apply(set)?;
        Ok(())
    }

    fn count(&mut self, taken: Taken) {
        self.done.added += taken.added;
        self.done.known += taken.known;
        self.done.left_out += taken.left_out;
    }
}

/// Raises what is known to what a file tells of it; answers whether that says more. What a person took out of force
/// stays as it is.
fn raised(memory: &mut Memory, told: &GivenFact) -> bool {
    if memory.face != Face::Office || !matches!(memory.status, Status::Active | Status::Stale) {
        return false;
    }
    let confirmed = memory.confirmed_by.len();
    for agent in told.confirmed_by.iter().map(|agent| safe_name(agent)) {
        if !memory.confirmed_by.contains(&agent) {
            memory.confirmed_by.push(agent);
        }
    }
    let is_more = told.reinforce_count > memory.reinforce_count || memory.confirmed_by.len() > confirmed;
    memory.reinforce_count = memory.reinforce_count.max(told.reinforce_count);
    if is_more {
        memory.last_confirmed_at = memory.last_confirmed_at.max(told.last_seen);
    }
    is_more
}
