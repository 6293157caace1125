//! Forgetting, hard: the record, its words in events and journals, its vectors, and a tombstone so that it does not
//! come back (`R8`).

use std::collections::{BTreeMap, BTreeSet, HashSet};

use doze_core::model::{Context, Event, Memory, MemoryId, OwnerId, ProjectId, Scope, Session};
use doze_core::{promote, text};
use doze_store::{ChangeSet, Family, SessionFilter, Snapshot, Subject};

use super::traces::Traces;
use crate::asking::Who;
use crate::commit::names_of;
use crate::task::task_key;
use crate::{Engine, EngineError};

/// What stands where forgotten words stood.
pub(crate) const FORGOTTEN: &str = "[forgotten]";
/// Words that a forgotten text must have before it is looked for in what others said: fewer are said by anybody.
const MIN_ECHO_WORDS: usize = 4;
/// Sessions of a project that are searched for it, and events read at once.
const MAX_ECHO_SESSIONS: usize = 1_000;
const ECHO_PAGE: u64 = 256;
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
        self.owe_compaction(owner)?;
        let forgotten = match what {
            Forget::Memory(id) => self.forget_memory(owner, id, by_person),
            _ if !by_person => {
                Err(EngineError::refused("only a person forgets more than one memory at once")
                    .hint("run the command yourself in a terminal"))
            }
            Forget::Session { session, memories } => {
                let session = crate::commit::whole_name(&self.store().snapshot()?, owner, session)?;
                self.forget_session(owner, &session, *memories)
            }
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
        self.change_memory(owner, id, |snapshot, memory| {
            if memory.is_protected() && !by_person {
                return Err(EngineError::refused(format!("a person wrote or pinned memory {id}"))
                    .hint("run the command yourself in a terminal"));
            }
            let (set, memories) =
                self.without_memories(snapshot, ChangeSet::new(owner.clone()), &[memory], by_person)?;
            Ok((set, Forgotten { memories, ..Forgotten::default() }))
        })
    }

    /// Adds the deletion of memories, of their copies and superseded versions, and of every trace of their words; answers
    /// how many that are.
    fn without_memories(
        &self,
        snapshot: &Snapshot,
        set: ChangeSet,
        memories: &[Memory],
        by_person: bool,
    ) -> Result<(ChangeSet, u64), EngineError> {
        let (set, mut gone) = with_copies(snapshot, set, memories, by_person)?;
        let count = gone.ids.len() as u64;
        let projects: BTreeSet<_> = memories.iter().map(|memory| memory.scope.project().cloned()).collect();
        for project in projects {
            add_echoes(snapshot, &set.owner, project, &mut gone)?;
        }
        let set = self.deleted(snapshot, set, &gone)?;
        let (set, _) = without_traces(snapshot, set, &gone, usize::MAX)?;
        Ok((set, count))
    }

    /// Adds the deletion of records, of the words of the events they came from, and their tombstones. Journals and
    /// injections are [`without_traces`]'s.
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
        for (session, ordinals) in &gone.evidence {
            set = blank_events(snapshot, set, session, ordinals, &gone.texts)?;
        }
        self.bury(snapshot, set, &gone.texts)
    }

    fn forget_session(
        &self,
        owner: &OwnerId,
        session: &str,
        memories: bool,
    ) -> Result<Forgotten, EngineError> {
        self.mint_tombstone_key(owner)?;
        self.decide(&format!("session {session} keeps changing"), |snapshot| {
            let sessions = snapshot.sessions_named(owner, session)?;
            if sessions.is_empty() {
                return Err(EngineError::not_found("session", session));
            }
            let mut forgotten = Forgotten::default();
            let mut set = self.bury_session(snapshot, ChangeSet::new(owner.clone()), session)?;
            if memories {
                let learned = learned_from(snapshot, owner, session)?;
                (set, forgotten.memories) = self.without_memories(snapshot, set, &learned, true)?;
            }
            for session in sessions {
                forgotten.sessions += 1;
                forgotten.events += session.event_count;
                set = without_session(
                    set.expect_seen(snapshot, Subject::Session(session.key.clone()))?,
                    session,
                );
            }
            Ok((set, forgotten))
        })
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
            let page = self.store().snapshot()?.sessions(owner, filter, None, PAGE)?.items;
            if page.is_empty() {
                return Ok(());
            }
            forgotten.sessions += page.len() as u64;
            forgotten.events += page.iter().map(|session| session.event_count).sum::<u64>();
            let set = page.into_iter().fold(ChangeSet::new(owner.clone()), without_session);
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

/// Records that go, and what tells of them.
#[derive(Debug, Default)]
struct Gone {
    ids: BTreeSet<MemoryId>,
    texts: BTreeSet<String>,
    /// The events they came from: session, ordinals.
    evidence: BTreeMap<String, BTreeSet<u64>>,
}

impl Gone {
    fn add(&mut self, memory: Memory) {
        let is_pattern = memory.cited().next().is_some();
        self.ids.insert(memory.id);
        self.texts.extend([memory.title, memory.body]);
        if is_pattern {
            // Its evidence is that of the memories it cites.
            return;
        }
        for event in &memory.source.events {
            if let Some((session, ordinal)) = event.rsplit_once('#')
                && let Ok(ordinal) = ordinal.parse()
            {
                self.evidence.entry(session.to_owned()).or_default().insert(ordinal);
            }
        }
    }

    /// Adds what is gone already, events blanked.
    fn extend(&mut self, other: Self) {
        self.ids.extend(other.ids);
        self.texts.extend(other.texts);
    }
}

/// Adds the events of a project that say the forgotten words too: whoever repeated them, in the newest sessions.
fn add_echoes(
    snapshot: &Snapshot,
    owner: &OwnerId,
    project: Option<ProjectId>,
    gone: &mut Gone,
) -> Result<(), EngineError> {
    let wanted: Vec<BTreeSet<String>> = gone
        .texts
        .iter()
        .map(|text| text::normalise_words(text))
        .filter(|words| words.len() >= MIN_ECHO_WORDS)
        .collect();
    let says = |text: &str| {
        text::sentences(text).into_iter().any(|sentence| {
            let own = text::normalise_words(sentence);
            wanted.iter().any(|words| words.is_subset(&own))
        })
    };
    let filter = SessionFilter { project: Some(project), ..SessionFilter::default() };
    let sessions = if wanted.is_empty() { 0 } else { MAX_ECHO_SESSIONS };
    for session in snapshot.sessions(owner, &filter, None, sessions)?.items {
        let mut start = 0;
        while start < session.event_count {
            let end = session.event_count.min(start + ECHO_PAGE);
            for (ordinal, event) in snapshot.events(owner, &session.key, start..end)? {
                let tool = event.tool.as_ref();
                if says(&event.text) || tool.is_some_and(|tool| says(&tool.input) || says(&tool.output)) {
                    gone.evidence.entry(session.key.session.clone()).or_default().insert(ordinal);
                }
            }
            start = end;
        }
    }
    Ok(())
}

/// Where copies of a memory may stand: the spaces of its project, else its own.
fn surroundings(scope: &Scope) -> Scope {
    scope.project().map_or_else(|| scope.clone(), |project| Scope::Project(project.clone()))
}

/// Memories, their former versions, the patterns that cite them, and their copies in the spaces of their project: a fact
/// that was shared stands twice, and one that two faces learned as well. Each space is read once, and must be as it was
/// read.
fn with_copies(
    snapshot: &Snapshot,
    mut set: ChangeSet,
    memories: &[Memory],
    by_person: bool,
) -> Result<(ChangeSet, Gone), EngineError> {
    let places: HashSet<Scope> = memories.iter().map(|memory| surroundings(&memory.scope)).collect();
    let mut around: Vec<Memory> = Vec::new();
    for scope in snapshot.scopes(&set.owner)? {
        if places.contains(&surroundings(&scope)) {
            around.extend(snapshot.memories(&set.owner, &scope)?);
            set = set.expect_seen(snapshot, Subject::Scope(scope))?;
        }
    }
    let said: HashSet<(Scope, String)> = memories.iter().map(saying).collect();
    let mut ids: BTreeSet<MemoryId> = memories.iter().map(|memory| memory.id.clone()).collect();
    let copies = around.iter().filter(|other| !other.is_protected() && said.contains(&saying(other)));
    ids.extend(copies.map(|copy| copy.id.clone()));
    // Former versions, and theirs.
    loop {
        let is_former = |other: &&Memory| {
            let is_replaced = other.superseded_by.as_ref().is_some_and(|by| ids.contains(by));
            is_replaced && !other.pinned && (by_person || !other.is_protected())
        };
        let former: Vec<MemoryId> = around.iter().filter(is_former).map(|other| other.id.clone()).collect();
        let before = ids.len();
        ids.extend(former);
        if ids.len() == before {
            break;
        }
    }
    let mut gone = Gone::default();
    for other in around {
        let cites_one = other.cited().any(|id| ids.contains(&MemoryId::new(id)));
        if ids.contains(&other.id) {
            gone.add(other);
        } else if cites_one && other.is_protected() {
            // What a person made of a pattern is theirs; it only cites one less.
            let contexts = other.contexts.into_iter();
            let is_left =
                |cited: &Context| cited.origin.as_deref().is_none_or(|id| !ids.contains(&MemoryId::new(id)));
            let contexts = contexts.filter(is_left).collect();
            set = set.put_memory(Memory { contexts, ..other });
        } else if cites_one {
            // A later dream says anew what is left of it, so that its words get no tombstone.
            gone.ids.insert(other.id);
        }
    }
    Ok((set, gone))
}

/// Where a memory stands and what it says, however it begins and ends: one face ends a sentence and another does not. Any
/// other letter or mark may make another thing of it (`C#`, `PATH`).
fn saying(memory: &Memory) -> (Scope, String) {
    let said = text::one_line(promote::text_of(memory));
    let said = said.trim().trim_end_matches(['.', '!', '。']);
    let mut rest = said.chars();
    let first: String = rest.next().into_iter().flat_map(char::to_lowercase).collect();
    (surroundings(&memory.scope), first + rest.as_str())
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
    let names: Vec<String> = names_of(&session.key.session).map(str::to_owned).collect();
    let set = set.delete_session(session.key);
    names.into_iter().fold(set, |set, name| set.delete_aux(Family::Injection, name))
}

/// Blanks the words of events that forgotten memories came from, and of what was made of them.
fn blank_events(
    snapshot: &Snapshot,
    mut set: ChangeSet,
    session: &str,
    ordinals: &BTreeSet<u64>,
    texts: &BTreeSet<String>,
) -> Result<ChangeSet, EngineError> {
    for session in snapshot.sessions_named(&set.owner, session)? {
        let key = session.key.clone();
        // What is committed to it meanwhile must not be taken back.
        set = set.expect_seen(snapshot, Subject::Session(key.clone()))?;
        for ordinal in ordinals {
            for (ordinal, event) in snapshot.events(&set.owner, &key, *ordinal..ordinal.saturating_add(1))? {
                set = set.replace_event(key.clone(), ordinal, blanked(event));
            }
        }
        for extractor in Who::LEDGERS {
            set = set.delete_aux(Family::Candidates, crate::dream::session_record(&key, extractor));
        }
        set = set.put_session(blank_summary(session, texts));
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
fn blank_summary(mut session: Session, texts: &BTreeSet<String>) -> Session {
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
    let Some(summary) = &mut session.summary else { return session };
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
    session
}
