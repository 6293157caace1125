//! Forgetting, hard: the record, its words in events and journals, its vectors, and a tombstone so that it does not
//! come back (`R8`).

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use doze_core::model::{Event, Memory, MemoryId, OwnerId, Scope, Session};
use doze_core::text;
use doze_store::{ChangeSet, Family, SessionFilter, Snapshot};

use super::traces::Traces;
use crate::names::safe_name;
use crate::task::task_key;
use crate::{Engine, EngineError};

/// What stands where forgotten words stood.
pub(crate) const FORGOTTEN: &str = "[forgotten]";
/// Journals looked through.
const MAX_DREAMS: usize = 1_000;
/// Sessions handled at once.
const SESSION_PAGE: usize = 200;

/// What to forget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forget {
    /// One memory.
    Memory(MemoryId),
    /// A session with its events; the memories learned from it only when asked for.
    Session {
        /// Its id as the harness spells it.
        session: String,
        /// The memories learned from it too.
        memories: bool,
    },
    /// Everything of a project, named by id, name or path.
    Project(String),
    /// Everything of the owner.
    All,
}

/// What was forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Forgotten {
    /// Memories.
    pub memories: u64,
    /// Sessions.
    pub sessions: u64,
    /// Their events.
    pub events: u64,
}

impl Engine {
    /// Deletes for good. A person's call in every case; agents may not delete what a person wrote.
    pub fn forget(&self, owner: &OwnerId, what: &Forget, by_person: bool) -> Result<Forgotten, EngineError> {
        self.inner.freed.store(true, Ordering::Release);
        match what {
            Forget::Memory(id) => self.forget_memory(owner, id, by_person),
            _ if !by_person => {
                Err(EngineError::refused("only a person forgets more than one memory at once")
                    .hint("run the command yourself in a terminal"))
            }
            Forget::Session { session, memories } => {
                self.forget_session(owner, &safe_name(session), *memories)
            }
            Forget::Project(name) => {
                let project = self.find_project(owner, name)?;
                let forgotten = self.forget_where(
                    owner,
                    |scope| scope.project() == Some(&project.id),
                    &SessionFilter { project: Some(Some(project.id.clone())), ..SessionFilter::default() },
                )?;
                let snapshot = self.store().snapshot()?;
                let mut set = ChangeSet::new(owner.clone()).delete_project(project.id.clone());
                for (key, _) in snapshot.aux_scan(owner, Family::Task, &task_key(Some(&project.id), ""))? {
                    set = set.delete_aux(Family::Task, key);
                }
                for work in snapshot
                    .works(owner)?
                    .into_iter()
                    .filter(|work| work.project.as_ref() == Some(&project.id))
                {
                    set = set.clear_work(work.agent.id, work.project, work.session);
                }
                drop(snapshot);
                self.store().apply(set)?;
                self.inner.folders.clear();
                Ok(forgotten)
            }
            Forget::All => self.forget_all(owner),
        }
    }

    fn forget_memory(
        &self,
        owner: &OwnerId,
        id: &MemoryId,
        by_person: bool,
    ) -> Result<Forgotten, EngineError> {
        self.change_memory(owner, id, |snapshot, memory| {
            if memory.is_protected() && !by_person {
                return Err(EngineError::refused(format!("a person wrote or pinned memory {id}"))
                    .hint("run the command yourself in a terminal"));
            }
            let set = self.without_memories(snapshot, ChangeSet::new(owner.clone()), owner, &[memory])?;
            Ok((set, Forgotten { memories: 1, ..Forgotten::default() }))
        })
    }

    /// Adds the deletion of memories, of their superseded versions, and of every trace of their words.
    fn without_memories(
        &self,
        snapshot: &Snapshot,
        mut set: ChangeSet,
        owner: &OwnerId,
        memories: &[Memory],
    ) -> Result<ChangeSet, EngineError> {
        let mut gone: BTreeSet<MemoryId> = memories.iter().map(|memory| memory.id.clone()).collect();
        let mut texts: BTreeSet<String> = BTreeSet::new();
        let mut evidence: BTreeSet<String> = BTreeSet::new();
        for memory in memories {
            for record in same_words(snapshot, owner, memory)? {
                gone.insert(record.id);
                texts.insert(record.title);
                texts.insert(record.body);
                evidence.extend(record.source.events);
            }
        }
        for id in &gone {
            set = set.delete_memory(id.clone()).delete_aux(Family::Counter, crate::recall::shown_key(id));
        }
        for name in &evidence {
            set = blank_event(snapshot, set, owner, name, &texts)?;
        }
        let traces = Traces::of(&gone, &texts);
        for mut dream in snapshot.dreams(owner, MAX_DREAMS)? {
            if traces.blank(&mut dream) {
                set = set.put_dream(dream);
            }
        }
        for (key, bytes) in snapshot.aux_scan(owner, Family::Injection, "")? {
            let text = String::from_utf8_lossy(&bytes);
            if gone.iter().any(|id| text.contains(id.as_str())) {
                set = set.delete_aux(Family::Injection, key);
            }
        }
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        self.bury(snapshot, set, owner, &texts)
    }

    fn forget_session(
        &self,
        owner: &OwnerId,
        session: &str,
        memories: bool,
    ) -> Result<Forgotten, EngineError> {
        let snapshot = self.store().snapshot()?;
        let sessions = snapshot.sessions_named(owner, session)?;
        if sessions.is_empty() {
            return Err(EngineError::not_found("session", session));
        }
        let mut forgotten = Forgotten::default();
        let mut set = ChangeSet::new(owner.clone());
        if memories {
            let learned = learned_from(&snapshot, owner, session)?;
            forgotten.memories = learned.len() as u64;
            set = self.without_memories(&snapshot, set, owner, &learned)?;
        }
        for session in sessions {
            forgotten.sessions += 1;
            forgotten.events += session.event_count;
            set = without_session(set, session);
        }
        self.store().apply(set)?;
        Ok(forgotten)
    }

    /// Deletes the memories of some scopes and the sessions of a filter, a page at a time.
    fn forget_where(
        &self,
        owner: &OwnerId,
        is_in: impl Fn(&Scope) -> bool,
        sessions: &SessionFilter,
    ) -> Result<Forgotten, EngineError> {
        let mut forgotten = Forgotten::default();
        let snapshot = self.store().snapshot()?;
        for scope in snapshot.scopes(owner)?.into_iter().filter(is_in) {
            for memories in snapshot.memories(owner, &scope)?.chunks(SESSION_PAGE) {
                forgotten.memories += memories.len() as u64;
                let set = self.without_memories(&snapshot, ChangeSet::new(owner.clone()), owner, memories)?;
                self.store().apply(set)?;
            }
        }
        loop {
            let page = self.store().snapshot()?.sessions(owner, sessions, None, SESSION_PAGE)?.items;
            if page.is_empty() {
                return Ok(forgotten);
            }
            forgotten.sessions += page.len() as u64;
            forgotten.events += page.iter().map(|session| session.event_count).sum::<u64>();
            let set = page.into_iter().fold(ChangeSet::new(owner.clone()), without_session);
            self.store().apply(set)?;
        }
    }

    fn forget_all(&self, owner: &OwnerId) -> Result<Forgotten, EngineError> {
        let forgotten = self.forget_where(owner, |_| true, &SessionFilter::default())?;
        let snapshot = self.store().snapshot()?;
        let mut set = ChangeSet::new(owner.clone());
        for project in snapshot.projects(owner)? {
            set = set.delete_project(project.id);
        }
        for dream in snapshot.dreams(owner, usize::MAX)? {
            set = set.delete_dream(dream.id);
        }
        for work in snapshot.works(owner)? {
            set = set.clear_work(work.agent.id, work.project, work.session);
        }
        for family in
            Family::ALL.iter().filter(|family| !matches!(family, Family::Tombstone | Family::Setting))
        {
            for (key, _) in snapshot.aux_scan(owner, *family, "")? {
                set = set.delete_aux(*family, key);
            }
        }
        self.store().apply(set)?;
        self.inner.folders.clear();
        Ok(forgotten)
    }
}

/// A memory, its former versions, and its copies in the spaces of its project: a fact that was shared stands twice.
fn same_words(snapshot: &Snapshot, owner: &OwnerId, memory: &Memory) -> Result<Vec<Memory>, EngineError> {
    let mut found = Vec::new();
    let scopes = snapshot.scopes(owner)?;
    let is_near = |scope: &&Scope| {
        **scope == memory.scope || (scope.project().is_some() && scope.project() == memory.scope.project())
    };
    for scope in scopes.iter().filter(is_near) {
        found.extend(snapshot.memories(owner, scope)?.into_iter().filter(|other| {
            other.id == memory.id
                || other.superseded_by.as_ref() == Some(&memory.id)
                || (other.content_hash == memory.content_hash && !other.is_protected())
        }));
    }
    Ok(found)
}

/// The memories that name a session as their source.
fn learned_from(snapshot: &Snapshot, owner: &OwnerId, session: &str) -> Result<Vec<Memory>, EngineError> {
    let mut learned = Vec::new();
    for scope in snapshot.scopes(owner)? {
        let memories = snapshot.memories(owner, &scope)?;
        learned
            .extend(memories.into_iter().filter(|memory| memory.source.session.as_deref() == Some(session)));
    }
    Ok(learned)
}

fn without_session(set: ChangeSet, session: Session) -> ChangeSet {
    let name = session.key.session.clone();
    set.delete_session(session.key).delete_aux(Family::Injection, name)
}

/// Blanks the words of an event that a forgotten memory came from.
fn blank_event(
    snapshot: &Snapshot,
    mut set: ChangeSet,
    owner: &OwnerId,
    name: &str,
    texts: &BTreeSet<String>,
) -> Result<ChangeSet, EngineError> {
    let Some((session, ordinal)) = name.rsplit_once('#') else { return Ok(set) };
    let Ok(ordinal) = ordinal.parse::<u64>() else { return Ok(set) };
    for session in snapshot.sessions_named(owner, session)? {
        let key = session.key.clone();
        let events = snapshot.events(owner, &key, ordinal..ordinal.saturating_add(1))?;
        for (ordinal, event) in events {
            set = set.replace_event(key.clone(), ordinal, blanked(event));
        }
        set = set.delete_aux(Family::Candidates, crate::dream::session_record(&session.key));
        set = blank_summary(set, session, texts);
    }
    Ok(set)
}

fn blanked(mut event: Event) -> Event {
    event.text = FORGOTTEN.to_owned();
    if let Some(tool) = &mut event.tool {
        tool.input = FORGOTTEN.to_owned();
        tool.output = FORGOTTEN.to_owned();
    }
    event
}

/// Takes the lines of a summary out that repeat the forgotten words.
fn blank_summary(set: ChangeSet, mut session: Session, texts: &BTreeSet<String>) -> ChangeSet {
    let words: Vec<_> = texts.iter().map(|text| text::normalise_words(text)).collect();
    let repeats = |line: &str| {
        let own = text::normalise_words(line);
        words.iter().any(|words| doze_core::text::jaccard(&own, words) > 0.5)
    };
    if let Some(task) = &mut session.task {
        for text in [&mut task.title, &mut task.spec, &mut task.prompt] {
            if repeats(text) {
                *text = FORGOTTEN.to_owned();
            }
        }
    }
    let Some(summary) = &mut session.summary else { return set.put_session(session) };
    for line in [
        &mut summary.what,
        &mut summary.request,
        &mut summary.work_done,
        &mut summary.goal,
        &mut summary.progress,
    ] {
        if repeats(line) {
            *line = FORGOTTEN.to_owned();
        }
    }
    for lines in
        [&mut summary.decisions, &mut summary.unfinished, &mut summary.open_items, &mut summary.next_steps]
    {
        lines.retain(|line| !repeats(line));
    }
    set.put_session(session)
}
