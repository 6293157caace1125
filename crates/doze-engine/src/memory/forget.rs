//! Forgetting, hard: the record, its words in events, summaries, tasks, work states and journals, its vectors, and a
//! tombstone so that it does not come back (`R8`).

mod copies;
mod foreign;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use doze_core::model::{AgentRef, Memory, MemoryId, OwnerId, ProjectId, Scope, Session};
use doze_core::{promote, text};
use doze_store::{ChangeSet, Family, SessionFilter, Snapshot, Subject};

pub(crate) use foreign::are_said_in;

use super::traces::Traces;
use crate::commit::{SessionName, called_so, is_learned_in, is_work_in, names_of, tasks_of};
use crate::task::task_key;
use crate::{Engine, EngineError};

/// What stands where forgotten words stood.
pub(crate) const FORGOTTEN: &str = "[forgotten]";
/// Journals looked through.
const MAX_DREAMS: usize = 1_000;
/// Memories and sessions that go in one change set, and journals that are blanked in one.
const PAGE: usize = 200;
const DREAM_PAGE: usize = 50;

/// What to forget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forget {
    /// One memory.
    Memory(MemoryId),
    /// A session with its events; the memories learned from it only when asked for.
    Session {
        /// Which one is meant.
        session: SessionName,
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
    /// Sentences that said it elsewhere, in what others said, in summaries, tasks and work states, and stand there no
    /// more.
    pub lines: u64,
}

impl Engine {
    /// Deletes for good. A person's call in every case; agents may not delete what a person wrote.
    pub fn forget(&self, owner: &OwnerId, what: &Forget, by_person: bool) -> Result<Forgotten, EngineError> {
        self.owe_compaction(owner)?;
        self.mint_tombstone_key(owner)?;
        let forgotten = match what {
            Forget::Memory(id) => self.forget_memory(owner, id, by_person),
            _ if !by_person => {
                Err(EngineError::refused("only a person forgets more than one memory at once")
                    .hint("run the command yourself in a terminal"))
            }
            Forget::Session { session, memories } => self.forget_session(owner, session, *memories),
            Forget::Project(name) => self.forget_project(owner, name),
            Forget::All => self.forget_all(owner),
        }?;
        self.write_workspaces(owner);
        Ok(forgotten)
    }

    fn forget_memory(
        &self,
        owner: &OwnerId,
        id: &MemoryId,
        by_person: bool,
    ) -> Result<Forgotten, EngineError> {
        let cause = if by_person { Cause::Person } else { Cause::Agent };
        let mut seen = 0;
        let (gone, forgotten) = self.change_memory(owner, id, |snapshot, memory| {
            self.refuse_against_person(snapshot, owner, &memory, by_person)?;
            seen = snapshot.seq()?;
            let memories = vec![memory];
            let set = ChangeSet::new(owner.clone());
            let (set, forgotten) = self.without_memories(snapshot, set, &memories, cause)?;
            Ok((set, (memories, forgotten)))
        })?;
        self.without_latecomers(owner, &gone, seen, cause, forgotten)
    }

    /// Takes away once more what says the same: somebody may have kept it between the decision and the change, whose
    /// tombstones nobody passes from now on.
    fn without_latecomers(
        &self,
        owner: &OwnerId,
        memories: &[Memory],
        seen: u64,
        cause: Cause<'_>,
        mut forgotten: Forgotten,
    ) -> Result<Forgotten, EngineError> {
        if memories.is_empty() || self.store().seq() <= seen + 1 {
            return Ok(forgotten);
        }
        let more = self.decide("others keep writing to the same spaces", |snapshot| {
            self.without_memories(snapshot, ChangeSet::new(owner.clone()), memories, cause)
        })?;
        forgotten.memories += more.memories;
        forgotten.lines += more.lines;
        Ok(forgotten)
    }

    /// Adds the deletion of memories, of their copies and superseded versions, and of every trace of their words.
    fn without_memories(
        &self,
        snapshot: &Snapshot,
        set: ChangeSet,
        memories: &[Memory],
        cause: Cause<'_>,
    ) -> Result<(ChangeSet, Forgotten), EngineError> {
        let (set, mut gone) = self.with_copies(snapshot, set, memories, cause)?;
        // Those that are gone already told where to look.
        memories.iter().for_each(|memory| gone.tell(memory));
        let (set, lines) = words::without(snapshot, set, &gone, true)?;
        let said = gone.statements.iter().map(String::as_str);
        let (mut set, entries) = self.without_entries(snapshot, set, said, gone.by_agent)?;
        let lines = lines + entries as u64;
        set = self.deleted(snapshot, set, &gone)?;
        let (set, _) = without_traces(snapshot, set, &gone, usize::MAX)?;
        Ok((set, Forgotten { memories: gone.ids.len() as u64, lines, ..Forgotten::default() }))
    }

    /// Adds the deletion of records, and their tombstones. Their words elsewhere are [`words::without`]'s, journals and
    /// injections [`without_traces`]'s.
    fn deleted(
        &self,
        snapshot: &Snapshot,
        mut set: ChangeSet,
        gone: &Gone,
    ) -> Result<ChangeSet, EngineError> {
        for id in &gone.ids {
            set = set
                .delete_memory(id.clone())
                .delete_aux(Family::Counter, crate::recall::shown_key(id))
                .delete_aux(Family::Other, super::copies_key(id));
        }
        self.bury(snapshot, set, &gone.places, &gone.statements, gone.by_agent)
    }

    fn forget_session(
        &self,
        owner: &OwnerId,
        named: &SessionName,
        memories: bool,
    ) -> Result<Forgotten, EngineError> {
        let mut seen = 0;
        let (sessions, gone, forgotten) =
            self.decide(&format!("session {} keeps changing", named.session), |snapshot| {
                seen = snapshot.seq()?;
                let session = self.meant(snapshot, owner, named, "doze forget --session")?;
                let mut all = tasks_of(snapshot, &session)?;
                all.push(session.clone());
                let mut set = ChangeSet::new(owner.clone());
                let (mut forgotten, mut learned) = (Forgotten::default(), Vec::new());
                for session in &all {
                    set = self.bury_session(snapshot, set, session)?;
                    set = set.expect_seen(snapshot, Subject::Session(session.key.clone()))?;
                    set = foreign::without_session(snapshot, set, session)?;
                    if memories {
                        learned.extend(learned_from(snapshot, owner, session)?);
                    }
                }
                if memories {
                    let said_again: Vec<Memory>;
                    (said_again, learned) =
                        learned.into_iter().partition(|memory| is_said_elsewhere(memory, &all));
                    for memory in said_again {
                        set = set.expect_seen(snapshot, Subject::Memory(memory.id.clone()))?;
                        set = set.put_memory(with_other_evidence(snapshot, owner, memory, &all)?);
                    }
                    (set, forgotten) =
                        self.without_memories(snapshot, set, &learned, Cause::Sessions(&all))?;
                }
                forgotten.sessions = 1;
                forgotten.events = all.iter().map(|session| session.event_count).sum();
                Ok((without_session(snapshot, set, session)?, (all, learned, forgotten)))
            })?;
        self.without_latecomers(owner, &gone, seen, Cause::Sessions(&sessions), forgotten)
    }

    /// Deletes the memories of some scopes, a page at a time, each decided on what is there by then.
    fn forget_memories(&self, owner: &OwnerId, is_in: &dyn Fn(&Scope) -> bool) -> Result<Gone, EngineError> {
        let mut all = Gone::default();
        loop {
            let page = self.decide("others keep writing to the same spaces", |snapshot| {
                let mut set = ChangeSet::new(owner.clone());
                let mut page = Gone::default();
                for scope in snapshot.scopes(owner)?.into_iter().filter(is_in) {
                    let memories = snapshot.memory_page(owner, &scope, None, PAGE - page.ids.len())?;
                    set = set.expect_seen(snapshot, Subject::Scope(scope))?;
                    memories.into_iter().for_each(|memory| page.add(memory));
                    if page.ids.len() >= PAGE {
                        break;
                    }
                }
                let (set, _) = words::without(snapshot, set, &page, false)?;
                Ok((self.deleted(snapshot, set, &page)?, page))
            })?;
            if page.ids.is_empty() {
                return Ok(all);
            }
            all.extend(page);
        }
    }

    /// Deletes the sessions of a filter, a page at a time.
    fn forget_sessions(
        &self,
        owner: &OwnerId,
        filter: &SessionFilter,
        forgotten: &mut Forgotten,
    ) -> Result<(), EngineError> {
        loop {
            let snapshot = self.store().snapshot()?;
            let page = snapshot.sessions(owner, filter, None, PAGE)?.items;
            if page.is_empty() {
                return Ok(());
            }
            forgotten.sessions += page.len() as u64;
            forgotten.events += page.iter().map(|session| session.event_count).sum::<u64>();
            let mut set = ChangeSet::new(owner.clone());
            for session in page {
                // The file may still be there, and whoever wrote it may go on with it.
                set = self.bury_session(&snapshot, set, &session)?;
                set = without_session(&snapshot, set, session)?;
            }
            drop(snapshot);
            self.store().apply(set)?;
        }
    }

    /// Blanks what journals and injections tell of the forgotten, a page at a time.
    fn blank_traces(&self, owner: &OwnerId, gone: &Gone) -> Result<(), EngineError> {
        let busy = "the journal keeps changing";
        while self.decide(busy, |snapshot| {
            without_traces(snapshot, ChangeSet::new(owner.clone()), gone, DREAM_PAGE)
        })? {}
        Ok(())
    }

    fn forget_project(&self, owner: &OwnerId, name: &str) -> Result<Forgotten, EngineError> {
        let id = self.find_project(owner, name)?.id;
        let is_in = |scope: &Scope| scope.project() == Some(&id);
        let filter = SessionFilter { project: Some(Some(id.clone())), ..SessionFilter::default() };
        let mut gone = Gone::default();
        let snapshot = self.store().snapshot()?;
        for scope in snapshot.scopes(owner)?.into_iter().filter(is_in) {
            snapshot.memories(owner, &scope)?.into_iter().for_each(|memory| gone.add(memory));
        }
        drop(snapshot);
        // The journal first: were it last, a crash in between would leave words there that nothing tells any more.
        self.blank_traces(owner, &gone)?;
        let mut forgotten = Forgotten::default();
        let mut gone = self.forget_memories(owner, &is_in)?;
        self.forget_sessions(owner, &filter, &mut forgotten)?;
        self.decide("others keep changing the same project", |snapshot| {
            let set = ChangeSet::new(owner.clone())
                .expect_seen(snapshot, Subject::Projects)?
                .delete_project(id.clone());
            Ok((without_the_rest(snapshot, set, &id)?, ()))
        })?;
        self.inner.folders.clear();
        // What was committed or dreamt meanwhile; nothing is committed to a project that is gone.
        gone.extend(self.forget_memories(owner, &is_in)?);
        self.forget_sessions(owner, &filter, &mut forgotten)?;
        self.blank_traces(owner, &gone)?;
        forgotten.memories = gone.ids.len() as u64;
        Ok(forgotten)
    }

    fn forget_all(&self, owner: &OwnerId) -> Result<Forgotten, EngineError> {
        let memories = self.forget_memories(owner, &|_| true)?.ids.len() as u64;
        let mut forgotten = Forgotten { memories, ..Forgotten::default() };
        self.forget_sessions(owner, &SessionFilter::default(), &mut forgotten)?;
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
        drop(snapshot);
        self.store().apply(set)?;
        self.inner.folders.clear();
        Ok(forgotten)
    }
}

/// Why memories go, which decides what else does.
#[derive(Clone, Copy)]
enum Cause<'a> {
    /// A person said so: former versions go too.
    Person,
    /// An agent said so: those that a person vouches for stay.
    Agent,
    /// They were learned from sessions that go: what another session said before holds again.
    Sessions(&'a [Session]),
}

/// Records that go, and what tells of them.
#[derive(Debug, Default)]
struct Gone {
    ids: BTreeSet<MemoryId>,
    /// What they say, titles too.
    texts: BTreeSet<String>,
    /// What is looked for in what others said, and may not come back: a title that says little is anybody's.
    statements: BTreeSet<String>,
    /// The projects they were of.
    places: BTreeSet<Option<ProjectId>>,
    /// The events they came from, by the names of their sessions.
    evidence: BTreeMap<String, Vec<Evidence>>,
    /// An agent forgets them, not a person.
    by_agent: bool,
}

/// An event that a memory came from. Its session is named without the harness.
#[derive(Debug)]
struct Evidence {
    ordinal: u64,
    /// The agent that the memory was learned from first, if that was in this session.
    agent: Option<AgentRef>,
    project: Option<ProjectId>,
}

impl Gone {
    fn add(&mut self, memory: Memory) {
        self.tell(&memory);
        self.ids.insert(memory.id.clone());
        if memory.cited().next().is_some() {
            // Its evidence is that of the memories it cites.
            return;
        }
        for event in &memory.source.events {
            if let Some((session, ordinal)) = event.rsplit_once('#')
                && let Ok(ordinal) = ordinal.parse()
            {
                let is_first = memory.source.session.as_deref() == Some(session);
                self.evidence.entry(session.to_owned()).or_default().push(Evidence {
                    ordinal,
                    agent: memory.source.agent.clone().filter(|_| is_first),
                    project: memory.scope.project().cloned(),
                });
            }
        }
    }

    /// Adds what a memory says, and where it may have been said.
    fn tell(&mut self, memory: &Memory) {
        let text = promote::text_of(memory).to_owned();
        self.texts.extend([memory.title.clone(), memory.body.clone()]);
        self.statements.insert(text);
        // A title that says little heads other memories too.
        if text::is_telling(&memory.title) {
            self.statements.insert(memory.title.clone());
        }
        self.places.insert(memory.scope.project().cloned());
    }

    /// Adds what is gone already, events blanked.
    fn extend(&mut self, other: Self) {
        self.ids.extend(other.ids);
        self.texts.extend(other.texts);
        self.statements.extend(other.statements);
    }
}

/// Blanks what journals tell of the forgotten, and deletes the injections that showed it. Of more than `most` journals
/// the rest is left; answers whether there is a rest.
fn without_traces(
    snapshot: &Snapshot,
    set: ChangeSet,
    gone: &Gone,
    most: usize,
) -> Result<(ChangeSet, bool), EngineError> {
    if gone.ids.is_empty() {
        return Ok((set, false));
    }
    let owner = set.owner.clone();
    let mut set = set.expect_seen(snapshot, Subject::Dreams)?;
    let traces = Traces::of(&gone.ids, &gone.texts);
    let mut blanked = 0;
    for mut dream in snapshot.dreams(&owner, MAX_DREAMS)? {
        if traces.blank(&mut dream) {
            if blanked == most {
                return Ok((set, true));
            }
            blanked += 1;
            set = set.put_dream(dream);
        }
    }
    for (key, bytes) in snapshot.aux_scan(&owner, Family::Injection, "")? {
        if crate::recall::shows(&bytes, &gone.ids) {
            set = set.delete_aux(Family::Injection, key);
        }
    }
    Ok((set, false))
}

fn without_the_rest(
    snapshot: &Snapshot,
    mut set: ChangeSet,
    project: &ProjectId,
) -> Result<ChangeSet, EngineError> {
    for (key, _) in snapshot.aux_scan(&set.owner, Family::Task, &task_key(Some(project), ""))? {
        set = set.delete_aux(Family::Task, key);
    }
    set = set.delete_aux(Family::Counter, task_key(Some(project), ""));
    for (key, _) in snapshot.aux_scan(&set.owner, Family::Other, &crate::office::foreign_prefix(project))? {
        set = set.delete_aux(Family::Other, key);
    }
    for work in snapshot.works(&set.owner)?.into_iter().filter(|work| work.project.as_ref() == Some(project))
    {
        set = set.clear_work(work.agent.id, work.project, work.session);
    }
    Ok(set)
}

/// The memories that were learned from a session first.
fn learned_from(snapshot: &Snapshot, owner: &OwnerId, session: &Session) -> Result<Vec<Memory>, EngineError> {
    let mut learned = Vec::new();
    for scope in snapshot.scopes(owner)? {
        let memories = snapshot.memories(owner, &scope)?;
        learned.extend(memories.into_iter().filter(|memory| is_learned_in(memory, session)));
    }
    Ok(learned)
}

/// Whether other sessions than these speak for a memory.
fn is_said_elsewhere(memory: &Memory, sessions: &[Session]) -> bool {
    others_events(memory, sessions).next().is_some()
}

/// The events that a memory has from other sessions than these.
fn others_events<'a>(memory: &'a Memory, sessions: &'a [Session]) -> impl Iterator<Item = &'a String> {
    let is_of = |event: &str, session: &Session| {
        event.rsplit_once('#').is_none_or(|(name, _)| name == session.key.session)
    };
    memory.source.events.iter().filter(move |event| !sessions.iter().any(|session| is_of(event, session)))
}

/// A memory as if these sessions had never spoken for it.
fn with_other_evidence(
    snapshot: &Snapshot,
    owner: &OwnerId,
    mut memory: Memory,
    sessions: &[Session],
) -> Result<Memory, EngineError> {
    let events: Vec<String> = others_events(&memory, sessions).cloned().collect();
    let first = events.first().and_then(|event| event.rsplit_once('#')).map(|(name, _)| name.to_owned());
    if let Some(name) = first {
        let named = snapshot.sessions_named(owner, &name)?;
        let other = named.into_iter().find(|session| !sessions.iter().any(|gone| gone.key == session.key));
        memory.source.agent = other.map(|session| session.agent);
        memory.source.session = Some(name);
    }
    memory.source.events = events;
    memory.evidence_count = memory.evidence_count.saturating_sub(1).max(1);
    memory.reinforce_count = memory.reinforce_count.saturating_sub(1).max(1);
    Ok(memory)
}

/// Adds the deletion of a session, of what is kept of its tasks, of its work states, and of what was put into it, unless
/// another one has its name.
fn without_session(
    snapshot: &Snapshot,
    mut set: ChangeSet,
    session: Session,
) -> Result<ChangeSet, EngineError> {
    let owner = set.owner.clone();
    let mut all = tasks_of(snapshot, &session)?;
    all.push(session);
    let works = snapshot.works(&owner)?;
    for session in all {
        for work in works.iter().filter(|work| is_work_in(work, &session)) {
            set = set.clear_work(work.agent.id.clone(), work.project.clone(), work.session.clone());
        }
        for name in names_of(&session.key.session) {
            if called_so(snapshot, &owner, name)?.iter().all(|other| other.key == session.key) {
                set = set.delete_aux(Family::Injection, name);
            }
        }
        set = set.delete_session(session.key);
    }
    Ok(set)
}
