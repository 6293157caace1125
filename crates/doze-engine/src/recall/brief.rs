//! The brief an agent gets when it starts, and the record of what was injected where.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use doze_core::extract::stated;
use doze_core::injected;
use doze_core::model::{AgentId, Memory, MemoryId, Origin, OwnerId, ProjectId, Scope, Verification};
use doze_core::promote::text_of;
use doze_core::rank::Profile;
use doze_core::render::brief::{BriefInput, OpenTask, brief};
use doze_core::render::prompt::prompt as render_prompt;
use doze_core::text::normalise_words;
use doze_dream::Voice;
use doze_store::{ChangeSet, Family, SessionFilter, Snapshot};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Reader, Told};
use crate::files::read_start;
use crate::memory::event_named;
use crate::names::{check_name, safe_name};
use crate::project::Resolved;
use crate::recall::search::SearchRequest;
use crate::task::TaskStatus;
use crate::{Engine, EngineError, encoded};

/// Instruction files an agent reads by itself; lines that stand there are not told again.
const INSTRUCTION_FILES: &[&str] =
    &["CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "AGENTS.md", "GEMINI.md"];
/// Bytes read of one instruction file.
const MAX_INSTRUCTION_BYTES: u64 = 256 * 1024;
/// Summaries whose open items are told (S1.33).
const OPEN_ITEM_SESSIONS: usize = 5;
/// Files looked at on disk for one brief, so that a slow disk cannot hold it up.
const MAX_FILE_CHECKS: usize = 200;
/// Memories whose first events are looked up for one brief, and how many events of each.
const MAX_ORIGIN_CHECKS: usize = 200;
const MAX_ORIGIN_EVENTS: usize = 2;
/// Where the injection into a session without a name is kept.
const NO_SESSION: &str = "-";
/// What the key of a context begins with, as no session's name does.
const CONTEXT: &str = "context\0";
/// A line that was shown is noted once in this time.
const SHOWN_AGAIN: SignedDuration = SignedDuration::from_hours(24);
/// Hits given for one prompt.
const PROMPT_HITS: usize = 5;
/// Memories with a smaller share of the best hit's score are not given for a prompt.
const PROMPT_SCORE_SHARE: f64 = 0.5;

/// `recall.brief`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BriefRequest {
    /// Who asks.
    pub reader: Reader,
    /// At most this many tokens; the configured budget when `None`.
    pub budget: Option<usize>,
    /// The session the text goes into.
    pub session: Option<String>,
    /// Why the session starts: `startup`, `resume`, `clear`, `compact`, `fork`.
    pub source: Option<String>,
    /// The text will be injected: remember it, and do not repeat it to a session that resumes.
    pub inject: bool,
}

/// What was injected into a session last.
#[derive(Serialize, Deserialize)]
struct Injection {
    at: Timestamp,
    project: Option<String>,
    text: String,
    memories: Vec<String>,
}

impl Engine {
    /// Builds the brief for a folder. Empty when memory is off or paused, the project is ignored, or nothing is known.
    pub fn brief(&self, owner: &OwnerId, request: &BriefRequest) -> Result<Told, EngineError> {
        if request.inject {
            self.note_activity();
        }
        check_name("session", request.session.as_deref().unwrap_or(""))?;
        let session = request.session.as_deref().map(safe_name);
        let Some(place) = self.place_of_reader(owner, &request.reader)? else {
            return Ok(Told::default());
        };
        if self.injection_refused(owner, &place)? {
            return Ok(Told::default());
        }
        let snapshot = self.store().snapshot()?;
        if request.inject && request.source.as_deref() == Some("resume") {
            // A resumed session still has the text it was given.
            let session = session.as_deref().filter(|session| !session.is_empty()).unwrap_or(NO_SESSION);
            if snapshot.aux(owner, Family::Injection, session)?.is_some() {
                return Ok(Told::default());
            }
        }
        let scopes = self.scopes_of(&snapshot, owner, Some(&place), &request.reader)?;
        let (mut memories, mut kept_apart) = (Vec::new(), Vec::new());
        for scope in &scopes {
            let newest = self.newest_of(&snapshot, owner, scope)?;
            memories.extend_from_slice(&newest.active);
            kept_apart.extend_from_slice(&newest.kept_apart);
        }
        let files_gone = files_gone(&memories, Path::new(&place.top));
        let said_by_user = said_by_person(&snapshot, owner, &memories)?;
        let told = brief(&BriefInput {
            memories: &memories,
            kept_apart: &kept_apart,
            files_gone: &files_gone,
            said_by_user: &said_by_user,
            tasks: &self.open_tasks(&snapshot, owner, &place)?,
            open_items: &open_items(&snapshot, owner, &place)?,
            instructions: &instructions(&place),
            folder: &place.subfolder,
            now: self.now(),
            max_tokens: request.budget.unwrap_or(self.switches().brief_tokens),
        });
        if told.text.is_empty() {
            return Ok(told);
        }
        if request.inject {
            self.remember_injection(owner, session.as_deref(), &place, &told)?;
        } else {
            // Whoever reads it may paste it into a session, or be an agent. Reading goes on where nothing can be written.
            let noted = self.note_lines(owner, &place, &told.text);
            let _ = noted.inspect_err(|error| tracing::warn!(%error, "what was shown is not noted"));
        }
        Ok(told)
    }

    /// Notes that the lines of a text were shown (`R17`), unless they were within a day, so that reading stays reading.
    fn note_lines(&self, owner: &OwnerId, place: &Resolved, text: &str) -> Result<(), EngineError> {
        let snapshot = self.store().snapshot()?;
        let now = self.now();
        let mut new = Vec::new();
        for hash in injected::line_hashes(text) {
            let shown = snapshot.aux(owner, Family::Shown, &shown_line(hash, place.id()))?;
            let last = shown.as_deref().and_then(shown_at);
            if last.is_none_or(|last| now.duration_since(last) >= SHOWN_AGAIN) {
                new.push(hash);
            }
        }
        if !new.is_empty() {
            let set = ChangeSet::new(owner.clone());
            self.store().apply(with_shown(&snapshot, set, &new, place.id(), now)?)?;
        }
        Ok(())
    }

    /// What was injected last: in a session, or anywhere.
    pub fn last_brief(&self, owner: &OwnerId, session: Option<&str>) -> Result<Told, EngineError> {
        let snapshot = self.store().snapshot()?;
        let newest = match session {
            Some(session) => {
                snapshot.aux(owner, Family::Injection, &safe_name(session))?.and_then(|bytes| read(&bytes))
            }
            None => snapshot
                .aux_scan(owner, Family::Injection, "")?
                .into_iter()
                .filter(|(key, _)| !key.starts_with(CONTEXT))
                .filter_map(|(_, bytes)| read(&bytes))
                .max_by_key(|injection| injection.at),
        };
        Ok(newest.map_or_else(Told::default, |injection| Told {
            tokens: doze_core::tokens::estimate(&injection.text),
            text: injection.text,
            memories: injection.memories.into_iter().map(MemoryId::new).collect(),
        }))
    }

    /// Memories for one prompt; empty unless `hooks.prompt_search` is on.
    pub fn prompt(
        &self,
        owner: &OwnerId,
        reader: &Reader,
        session: Option<&str>,
        prompt: &str,
    ) -> Result<Told, EngineError> {
        self.note_activity();
        check_name("session", session.unwrap_or(""))?;
        let session = session.map(safe_name);
        let session = session.as_deref();
        let Some(place) = self.place_of_reader(owner, reader)?.filter(|_| self.switches().prompt_search)
        else {
            return Ok(Told::default());
        };
        if self.injection_refused(owner, &place)? {
            return Ok(Told::default());
        }
        let query = SearchRequest {
            reader: reader.clone(),
            query: prompt.to_owned(),
            limit: PROMPT_HITS,
            // What is no near match is not put beside a prompt, and only this profile tells.
            profile: Some(Profile::Default),
            ..Default::default()
        };
        let hits = self.search(owner, &query)?.hits;
        let shown = self.shown_in(&self.store().snapshot()?, owner, session)?;
        let best = hits.first().map_or(0.0, |hit| hit.score);
        let fresh: Vec<&Memory> = hits
            .iter()
            .filter(|hit| hit.score >= best * PROMPT_SCORE_SHARE && !shown.contains(hit.memory.id.as_str()))
            .map(|hit| &hit.memory)
            .collect();
        let told = render_prompt(&fresh);
        if !told.text.is_empty() {
            self.remember_injection(owner, session, &place, &told)?;
        }
        Ok(told)
    }

    /// The memories a session was shown.
    pub(crate) fn shown_in(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        session: Option<&str>,
    ) -> Result<HashSet<String>, EngineError> {
        let Some(session) = session.filter(|session| !session.is_empty()) else { return Ok(HashSet::new()) };
        let injection = snapshot.aux(owner, Family::Injection, session)?.and_then(|bytes| read(&bytes));
        Ok(injection.map(|injection| injection.memories.into_iter().collect()).unwrap_or_default())
    }

    /// The memories in the last context that an agent was given in a project.
    pub(crate) fn shown_to(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        agent: &AgentId,
        project: Option<&ProjectId>,
    ) -> Result<HashSet<String>, EngineError> {
        self.shown_in(snapshot, owner, Some(&context_key(agent, project)))
    }

    /// Notes what an agent is given before its task, so that its own repeating it counts for nothing (`R7`). Whoever asks
    /// again for the same costs no write.
    pub(super) fn note_context(
        &self,
        owner: &OwnerId,
        agent: &AgentId,
        place: &Resolved,
        told: &Told,
    ) -> Result<(), EngineError> {
        let snapshot = self.store().snapshot()?;
        let memories: HashSet<String> = told.memories.iter().map(ToString::to_string).collect();
        if memories == self.shown_to(&snapshot, owner, agent, place.reads().as_ref())? {
            return Ok(());
        }
        let injection = Injection {
            at: self.now(),
            project: place.id().map(ToString::to_string),
            // The words are the memories' and the sessions' own, and go with them.
            text: String::new(),
            memories: memories.into_iter().collect(),
        };
        let key = context_key(agent, place.reads().as_ref());
        // Its lines are not noted as those of a brief are: another agent may find the same on its own.
        self.store().apply(ChangeSet::new(owner.clone()).put_aux(
            Family::Injection,
            key,
            encoded(&injection)?,
        ))?;
        Ok(())
    }

    /// Notes which of its own facts an agent reads in what it is told of a lost session, beside those it has been shown.
    pub(super) fn note_recovered(
        &self,
        owner: &OwnerId,
        agent: &AgentId,
        place: &Resolved,
        text: &str,
    ) -> Result<(), EngineError> {
        let snapshot = self.store().snapshot()?;
        let project = place.reads();
        let own = Scope::Agent { project: project.clone(), agent: agent.clone() };
        let mut memories = self.shown_to(&snapshot, owner, agent, project.as_ref())?;
        let known = memories.len();
        let facts = self.active_memories(&snapshot, owner, &[own])?;
        let is_told = |fact: &&Memory| text.contains(text_of(fact));
        memories.extend(facts.iter().filter(is_told).map(|fact| fact.id.as_str().to_owned()));
        if memories.len() == known {
            return Ok(());
        }
        let injection = Injection {
            at: self.now(),
            project: place.id().map(ToString::to_string),
            text: String::new(),
            memories: memories.into_iter().collect(),
        };
        let key = context_key(agent, project.as_ref());
        self.store().apply(ChangeSet::new(owner.clone()).put_aux(
            Family::Injection,
            key,
            encoded(&injection)?,
        ))?;
        Ok(())
    }

    /// Whether doze had put a line with this hash before whoever says it (`R17`): what was said before that is where doze
    /// has it from, and so is what a person says in a project in which it was never shown. What has no time may have come
    /// from anywhere.
    pub(crate) fn was_shown(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        project: Option<&ProjectId>,
        hash: u64,
        voice: Voice,
    ) -> bool {
        let place = if voice.is_person { project } else { None };
        let shown = snapshot.aux(owner, Family::Shown, &shown_line(hash, place)).ok().flatten();
        shown.is_some_and(|bytes| match (first_shown(&bytes), voice.at) {
            (Some(first), Some(by)) => first <= by,
            _ => true,
        })
    }

    fn injection_refused(&self, owner: &OwnerId, place: &Resolved) -> Result<bool, EngineError> {
        Ok(self.silence(owner, place.project.as_ref())?.is_some())
    }

    /// Keeps the text, the hashes of its lines (`R17`) and how often each memory was shown.
    pub(crate) fn remember_injection(
        &self,
        owner: &OwnerId,
        session: Option<&str>,
        place: &Resolved,
        told: &Told,
    ) -> Result<(), EngineError> {
        let snapshot = self.store().snapshot()?;
        let key = session.filter(|session| !session.is_empty()).unwrap_or(NO_SESSION);
        let mut memories: Vec<String> = self.shown_in(&snapshot, owner, session)?.into_iter().collect();
        memories.extend(told.memories.iter().map(|id| id.as_str().to_owned()));
        memories.sort();
        memories.dedup();
        let injection = Injection {
            at: self.now(),
            project: place.id().map(ToString::to_string),
            text: told.text.clone(),
            memories,
        };
        let mut set =
            ChangeSet::new(owner.clone()).put_aux(Family::Injection, key.to_owned(), encoded(&injection)?);
        set = with_shown(&snapshot, set, &injected::line_hashes(&told.text), place.id(), injection.at)?;
        for id in &told.memories {
            let shown = snapshot.aux(owner, Family::Counter, &shown_key(id))?;
            let count =
                shown.and_then(|bytes| String::from_utf8(bytes).ok()?.parse::<u64>().ok()).unwrap_or(0);
            set = set.put_aux(Family::Counter, shown_key(id), (count + 1).to_string().into_bytes());
        }
        self.store().apply(set)?;
        Ok(())
    }

    fn open_tasks(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        place: &Resolved,
    ) -> Result<Vec<OpenTask>, EngineError> {
        let tasks = self.tasks_of(snapshot, owner, place.reads().as_ref())?;
        Ok(tasks
            .into_iter()
            .filter(|task| matches!(task.status, TaskStatus::InProgress | TaskStatus::Review))
            .map(|task| OpenTask { in_review: task.status == TaskStatus::Review, title: task.title })
            .collect())
    }
}

/// Where the context is kept that an agent was given last in a project.
fn context_key(agent: &AgentId, project: Option<&ProjectId>) -> String {
    format!("{CONTEXT}{}\0{agent}", project.map_or("", ProjectId::as_str))
}

/// The key of the counter that tells how often a memory was shown.
pub(crate) fn shown_key(id: &MemoryId) -> String {
    format!("shown:{id}")
}

/// When an injection or a line of one was recorded, for keeping the newest.
pub(crate) fn shown_at(bytes: &[u8]) -> Option<Timestamp> {
    match read(bytes) {
        Some(injection) => Some(injection.at),
        None => std::str::from_utf8(bytes).ok()?.split(' ').next_back()?.parse().ok(),
    }
}

/// When a line was put before an agent for the first time: the first of two times, the second of which is the last.
fn first_shown(bytes: &[u8]) -> Option<Timestamp> {
    std::str::from_utf8(bytes).ok()?.split(' ').next()?.parse().ok()
}

/// Whether an injection put one of these memories before an agent; yes, when it cannot be read.
pub(crate) fn shows(bytes: &[u8], memories: &BTreeSet<MemoryId>) -> bool {
    read(bytes).is_none_or(|injection| {
        injection.memories.into_iter().any(|id| memories.contains(&MemoryId::new(id)))
    })
}

/// Notes that lines with these hashes are put before somebody in a project, or lie there for them to read.
pub(crate) fn with_shown(
    snapshot: &Snapshot,
    mut set: ChangeSet,
    hashes: &[u64],
    project: Option<&ProjectId>,
    at: Timestamp,
) -> Result<ChangeSet, EngineError> {
    for hash in hashes {
        for line in [shown_line(*hash, None), shown_line(*hash, project)] {
            let known = snapshot.aux(&set.owner, Family::Shown, &line)?;
            let first = known.as_deref().and_then(first_shown).unwrap_or(at);
            set = set.put_aux(Family::Shown, line, format!("{first} {at}").into_bytes());
        }
    }
    Ok(set)
}

/// The key of a line that was shown, anywhere or in a project.
fn shown_line(hash: u64, project: Option<&ProjectId>) -> String {
    match project {
        Some(project) => format!("{hash:016x}\0{project}"),
        None => format!("{hash:016x}"),
    }
}

fn read(bytes: &[u8]) -> Option<Injection> {
    serde_json::from_slice(bytes).ok()
}

/// Open items of the last summaries of the project, newest first.
fn open_items(snapshot: &Snapshot, owner: &OwnerId, place: &Resolved) -> Result<Vec<String>, EngineError> {
    let filter = SessionFilter { project: Some(place.reads()), ..Default::default() };
    let page = snapshot.sessions(owner, &filter, None, OPEN_ITEM_SESSIONS)?;
    Ok(page
        .items
        .into_iter()
        .filter_map(|session| session.summary)
        .flat_map(|summary| summary.open_items)
        .collect())
}

/// The texts the agent reads anyway: instruction files at the top of the work tree and in the folder it starts in.
fn instructions(place: &Resolved) -> String {
    let mut folders = vec![place.top.clone()];
    if !place.subfolder.is_empty() {
        folders.push(format!("{}/{}", place.top, place.subfolder));
    }
    let mut text = String::new();
    for folder in folders {
        for name in INSTRUCTION_FILES {
            let said = read_start(&Path::new(&folder).join(name), MAX_INSTRUCTION_BYTES);
            if !said.is_empty() {
                text.push_str(&said);
                text.push('\n');
            }
        }
    }
    text
}

/// Whether a text states half of a memory's words, or more: a question that was answered does not, nor does a wish of
/// which the agent told what became.
fn says(text: &str, memory: &Memory) -> bool {
    let said = normalise_words(&stated(text));
    let words = normalise_words(if memory.body.trim().is_empty() { &memory.title } else { &memory.body });
    words.intersection(&said).count() * 2 >= words.len()
}

/// Memories that a rule found in a person's own words. The newest are looked at, so that many cannot hold a brief up.
pub(crate) fn said_by_person(
    snapshot: &Snapshot,
    owner: &OwnerId,
    memories: &[Memory],
) -> Result<HashSet<MemoryId>, EngineError> {
    let mut found: Vec<&Memory> =
        memories.iter().filter(|memory| memory.verification == Verification::Rule).collect();
    found.sort_by_key(|memory| std::cmp::Reverse(memory.updated_at));
    let mut said = HashSet::new();
    for memory in found.into_iter().take(MAX_ORIGIN_CHECKS) {
        for name in memory.source.events.iter().take(MAX_ORIGIN_EVENTS) {
            let event = event_named(snapshot, owner, name)?;
            if event.is_some_and(|event| event.origin == Origin::Person && says(&event.text, memory)) {
                said.insert(memory.id.clone());
                break;
            }
        }
    }
    Ok(said)
}

/// Memories whose files are all gone from the project (`R20`). Only where the project's folder is there at all.
pub(crate) fn files_gone(memories: &[Memory], top: &Path) -> HashSet<MemoryId> {
    if !top.is_dir() {
        return HashSet::new();
    }
    let mut checks = 0;
    let mut is_gone = |file: &String| {
        checks += 1;
        checks <= MAX_FILE_CHECKS && !top.join(file).exists()
    };
    memories
        .iter()
        .filter(|memory| !memory.files.is_empty() && memory.files.iter().all(&mut is_gone))
        .map(|memory| memory.id.clone())
        .collect()
}

impl Reader {
    /// A caller known by folder and agent.
    pub fn at(cwd: impl Into<String>, agent: Option<AgentId>) -> Self {
        Self { cwd: Some(cwd.into()), agent, ..Self::default() }
    }
}
