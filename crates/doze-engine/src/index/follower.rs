//! The thread that follows the change log: full text at once, vectors as the model gets to them. It sleeps without
//! waking up while nothing changes and nothing waits.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use doze_core::model::{Memory, MemoryId, OwnerId, Session, SessionKey, Status};
use doze_search::{
    DocChange, DocKind, GRAPH_FROM, ModelPhase, Submitted, VectorMeta, chunks, event_doc_id, memory_doc_id,
};
use doze_store::{
    ApplyError, Change, ChangeSet, Changed, Family, LoggedChange, ReadError, Snapshot, Store, Subject,
    vector_source_key,
};

use super::turns::{self, InHand, MAX_TURNS, Place, Record, Turn, Waiting};
use super::{Shared, doc};
use crate::background::step_back;
use crate::{CONFLICT_RETRIES, lock};

/// Changes worked through at once.
const BATCH: usize = 512;
/// Events of one change worked through at once, which bounds the memory of a long transcript.
const EVENT_PAGE: u64 = 256;
/// Quiet time after which the full text is committed to disk.
const QUIET: Duration = Duration::from_secs(2);
/// How soon to look again whether the model takes more.
const MODEL_BUSY: Duration = Duration::from_millis(500);
/// How often to look whether memory was switched on again, or a model that failed is there by now, while more texts wait
/// than the model takes.
const NOT_NOW: Duration = Duration::from_secs(60);
/// How soon to read again what could not be read.
const RETRY: Duration = Duration::from_secs(5);
/// Memories handed to the model at once.
const EMBED_BATCH: usize = 16;
/// How soon to look whether the model is through with a page of history.
const PAGE_BUSY: Duration = Duration::from_millis(100);
/// How soon to look whether everybody is at rest, while history waits.
const RESTLESS: Duration = Duration::from_secs(10);

pub(super) fn start(shared: Arc<Shared>) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name("index".into()).spawn(move || {
        let mut follower = Follower {
            reached: shared.lexical.visible_seq(),
            backlog: VecDeque::new(),
            history: Waiting::default(),
            is_failing: false,
            load_at: None,
            shared,
        };
        while follower.step().is_continue() {}
        if let Err(error) = follower.shared.lexical.commit() {
            tracing::warn!(%error, "the index was not committed at the end; it catches up at the next start");
        }
    })
}

struct Follower {
    shared: Arc<Shared>,
    reached: u64,
    /// Memories that wait for a vector.
    backlog: VecDeque<(OwnerId, MemoryId)>,
    /// Raw history that waits for vectors.
    history: Waiting,
    /// The store could not be read.
    is_failing: bool,
    /// When the stored vectors are tried again.
    load_at: Option<Instant>,
}

impl Follower {
    /// Waits for something to do and does it.
    fn step(&mut self) -> ControlFlow<()> {
        let shared = Arc::clone(&self.shared);
        if self.is_failing {
            // No change has this number: only the time and the end of the store wake it.
            shared.store.wait_for_change(u64::MAX, Some(RETRY));
        }
        if !shared.loaded.load(Ordering::Acquire) {
            self.load_vectors();
        }
        let embeds = shared.embeds.load(Ordering::Acquire);
        let seq = shared.store.wait_for_change(self.reached, self.patience(embeds));
        if shared.stop.load(Ordering::Acquire) {
            return ControlFlow::Break(());
        }
        if seq > self.reached {
            self.catch_up(seq);
        } else if (self.backlog.is_empty() || !embeds) && self.is_uncommitted() {
            self.commit();
        }
        // While memory is off they wait with the model, which looks at them when it is on again.
        self.embed();
        self.embed_history();
        ControlFlow::Continue(())
    }

    /// How long to wait for a change; for ever when nothing else is to be done.
    fn patience(&self, embeds: bool) -> Option<Duration> {
        let is_failed = || self.shared.embedder.state().state == ModelPhase::Failed;
        let with_model = |soon| Some(if embeds && !is_failed() { soon } else { NOT_NOW });
        if !self.backlog.is_empty() {
            with_model(MODEL_BUSY)
        } else if self.history.in_hand.is_some() {
            with_model(PAGE_BUSY)
        } else if self.is_uncommitted() {
            Some(QUIET)
        } else if !self.shared.loaded.load(Ordering::Acquire) {
            Some(RETRY)
        } else if self.history.len() > 0 {
            with_model(RESTLESS)
        } else {
            None
        }
    }

    fn is_uncommitted(&self) -> bool {
        self.shared.lexical.pending() > 0 || self.shared.lexical.seq() < self.reached
    }

    fn commit(&self) {
        if let Err(error) = self.shared.lexical.commit() {
            tracing::warn!(%error, "the index was not committed; it is tried again");
            return;
        }
        self.maintain_graph();
        if let Err(error) = self.shared.store.prune_changes(self.shared.lexical.seq()) {
            tracing::debug!(%error, "the change log was not shortened");
        }
    }

    /// Loads or builds the graph for wide searches on a thread of its own: it takes minutes, and searches scan
    /// meanwhile.
    fn maintain_graph(&self) {
        let shared = Arc::clone(&self.shared);
        if shared.vectors.len() < GRAPH_FROM || shared.graphing.swap(true, Ordering::AcqRel) {
            return;
        }
        let started = std::thread::Builder::new().name("graph".into()).spawn(move || {
            step_back();
            match shared.vectors.maintain_graph() {
                Ok(work) => tracing::debug!(?work, "the graph is up to date"),
                Err(error) => tracing::warn!(%error, "the graph was not kept; searches scan"),
            }
            shared.graphing.store(false, Ordering::Release);
        });
        if let Err(error) = started {
            tracing::warn!(%error, "there is no thread for the graph");
            self.shared.graphing.store(false, Ordering::Release);
        }
    }

    /// Works through the log up to `seq`. What is damaged is skipped; what cannot be read for now is tried again later.
    fn catch_up(&mut self, seq: u64) {
        match self.follow(seq) {
            Ok(()) => self.is_failing = false,
            Err(error) => {
                tracing::warn!(%error, "changes could not be indexed; they are tried again");
                self.is_failing = true;
            }
        }
    }

    fn follow(&mut self, seq: u64) -> Result<(), ReadError> {
        loop {
            let snapshot = self.shared.store.snapshot()?;
            if snapshot.oldest_change()? > self.reached + 1 {
                return self.rebuild(&snapshot);
            }
            let changes = snapshot.changes(self.reached, BATCH)?;
            let Some(last) = changes.last().map(|change| change.seq) else {
                self.reach(snapshot.seq()?.max(seq));
                return Ok(());
            };
            let mut docs = Vec::new();
            for change in &changes {
                unless_damaged(self.documents(&snapshot, change, &mut docs))?;
            }
            self.apply(docs, last);
            self.reach(last);
        }
    }

    fn apply(&self, docs: Vec<DocChange>, seq: u64) {
        if let Err(error) = self.shared.lexical.apply(docs, seq) {
            tracing::error!(%error, "the index did not take a change; it is tried again with the next commit");
        }
    }

    fn reach(&mut self, seq: u64) {
        self.reached = self.reached.max(seq);
        *lock(&self.shared.reached) = self.reached;
        self.shared.moved.notify_all();
    }

    /// What one change means for the index.
    fn documents(
        &mut self,
        snapshot: &Snapshot,
        change: &LoggedChange,
        docs: &mut Vec<DocChange>,
    ) -> Result<(), ReadError> {
        let owner = &change.owner;
        match &change.what {
            Changed::Memory(id) => match snapshot.memory(owner, id)? {
                Some(memory) => self.memory(snapshot, memory, docs)?,
                None => self.gone(owner, id, docs),
            },
            Changed::MemoryGone(id) => self.gone(owner, id, docs),
            Changed::Session(key) => {
                let summary = snapshot.session(owner, key)?.and_then(|session| doc::of_summary(&session));
                docs.extend(summary.map(DocChange::Put));
            }
            Changed::SessionGone(session) => {
                self.history.forget(owner, session);
                let events = event_doc_id(session, 0);
                let events = events.trim_end_matches('0');
                self.shared.vectors.remove_where(|of, id| of == owner.as_str() && id.starts_with(events));
                docs.push(DocChange::DeleteSession { owner: owner.clone(), session: session.clone() });
            }
            Changed::Events { session, first, count } => {
                self.events(snapshot, owner, session, *first, first + count, change.seq, docs)?;
                self.note_history(owner, session, *first, first + count);
            }
            Changed::EventReplaced { session, ordinal } => {
                let id = event_doc_id(session, *ordinal);
                self.shared.vectors.remove(owner, &id);
                self.note_history(owner, session, *ordinal, ordinal + 1);
                docs.push(DocChange::Delete { owner: owner.clone(), id });
                self.events(snapshot, owner, session, *ordinal, ordinal + 1, change.seq, docs)?;
            }
            Changed::Vectors { doc } => self.vectors(snapshot, owner, doc)?,
            Changed::Project(_) | Changed::ProjectGone(_) | Changed::Dream(_) | Changed::Other => {}
        }
        Ok(())
    }

    /// Events that came wait for vectors, where there is a model.
    fn note_history(&mut self, owner: &OwnerId, session: &SessionKey, first: u64, end: u64) {
        if self.shared.embedder.state().id.is_some() {
            self.history.add_new(owner, session, first, end);
        }
    }

    fn memory(
        &mut self,
        snapshot: &Snapshot,
        memory: Memory,
        docs: &mut Vec<DocChange>,
    ) -> Result<(), ReadError> {
        docs.push(DocChange::Put(doc::of_memory(&memory)));
        let wants_vector = matches!(memory.status, Status::Active | Status::Superseded | Status::Proposed);
        match snapshot.vectors(&memory.owner, memory.id.as_str(), &self.shared.model)? {
            Some(vectors) if !self.is_outdated(snapshot, &memory)? => self.put_vectors(&memory, &vectors),
            _ if wants_vector => self.backlog.push_back((memory.owner, memory.id)),
            _ => {}
        }
        Ok(())
    }

    /// Whether its vectors were made of another text, or another model has made vectors since.
    fn is_outdated(&self, snapshot: &Snapshot, memory: &Memory) -> Result<bool, ReadError> {
        let made_of = snapshot.aux(&memory.owner, Family::Other, &vector_source_key(&memory.id))?;
        Ok(made_of != Some(source(&self.shared.model, &memory.content_hash)))
    }

    fn put_vectors(&self, memory: &Memory, vectors: &[Vec<f32>]) {
        if let Err(error) = self.shared.vectors.put(&meta(memory), vectors) {
            tracing::warn!(%error, memory = memory.id.as_str(), "a stored vector is not used");
        }
    }

    fn gone(&mut self, owner: &OwnerId, id: &MemoryId, docs: &mut Vec<DocChange>) {
        let name = memory_doc_id(id.as_str());
        self.shared.vectors.remove(owner, &name);
        self.backlog.retain(|(_, waiting)| waiting != id);
        docs.push(DocChange::Delete { owner: owner.clone(), id: name });
    }

    /// The events of a range, handed on page by page.
    #[expect(clippy::too_many_arguments, reason = "one change, taken apart")]
    fn events(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        key: &SessionKey,
        first: u64,
        end: u64,
        seq: u64,
        docs: &mut Vec<DocChange>,
    ) -> Result<(), ReadError> {
        let Some(session) = snapshot.session(owner, key)? else { return Ok(()) };
        let mut start = first;
        while start < end {
            let stop = end.min(start + EVENT_PAGE);
            let events = snapshot.events(owner, key, start..stop)?;
            docs.extend(
                events
                    .iter()
                    .filter_map(|(ordinal, event)| doc::of_event(&session, *ordinal, event))
                    .map(DocChange::Put),
            );
            if stop < end {
                self.apply(std::mem::take(docs), seq - 1);
            }
            start = stop;
        }
        Ok(())
    }

    fn vectors(&self, snapshot: &Snapshot, owner: &OwnerId, name: &str) -> Result<(), ReadError> {
        let id = MemoryId::new(name);
        if let (Some(memory), Some(vectors)) =
            (snapshot.memory(owner, &id)?, snapshot.vectors(owner, name, &self.shared.model)?)
        {
            self.put_vectors(&memory, &vectors);
        }
        Ok(())
    }

    /// Everything anew: the log does not reach back to where the index stands.
    fn rebuild(&mut self, snapshot: &Snapshot) -> Result<(), ReadError> {
        tracing::info!("the full-text index is rebuilt from the store");
        if let Err(error) = self.shared.lexical.clear() {
            tracing::error!(%error, "the index could not be cleared");
        }
        let mut docs = Vec::new();
        unless_damaged(snapshot.all_memories(&mut |memory| {
            docs.push(DocChange::Put(doc::of_memory(&memory)));
            if docs.len() >= BATCH {
                self.apply(std::mem::take(&mut docs), 0);
            }
            ControlFlow::Continue(())
        }))?;
        for owner in snapshot.owners()? {
            for session in snapshot.sessions(&owner, &Default::default(), None, usize::MAX)?.items {
                docs.extend(doc::of_summary(&session).map(DocChange::Put));
                let count = session.event_count;
                unless_damaged(self.events(snapshot, &owner, &session.key, 0, count, 1, &mut docs))?;
                self.apply(std::mem::take(&mut docs), 0);
            }
        }
        self.apply(docs, snapshot.seq()?);
        self.reach(snapshot.seq()?);
        Ok(())
    }

    /// Loads the stored vectors and notes which memories have none. One pass, on this thread, while searches by word
    /// are answered already.
    fn load_vectors(&mut self) {
        if self.load_at.is_some_and(|at| Instant::now() < at) {
            return;
        }
        if self.shared.embedder.state().id.is_some()
            && let Err(error) = unless_damaged(self.try_load_vectors())
        {
            tracing::error!(%error, "vectors could not be loaded; search goes on by words until they are");
            self.load_at = Some(Instant::now() + RETRY);
            return;
        }
        self.shared.loaded.store(true, Ordering::Release);
    }

    fn try_load_vectors(&mut self) -> Result<(), ReadError> {
        let snapshot = self.shared.store.snapshot()?;
        let mut memories = Vec::new();
        snapshot.all_memories(&mut |memory| {
            if memory.status != Status::Retracted {
                memories.push((memory.owner.clone(), memory.id.clone()));
            }
            ControlFlow::Continue(())
        })?;
        let mut without = VecDeque::new();
        for (owner, id) in memories {
            let Some(memory) = snapshot.memory(&owner, &id)? else { continue };
            match snapshot.vectors(&owner, id.as_str(), &self.shared.model)? {
                Some(vectors) if !self.is_outdated(&snapshot, &memory)? => {
                    self.put_vectors(&memory, &vectors)
                }
                _ if memory.status == Status::Stale => {}
                _ => without.push_back((owner, id)),
            }
        }
        self.backlog.append(&mut without);
        self.load_turns(&snapshot)
    }

    /// Loads what the model made of the newest history, and notes what waits.
    fn load_turns(&mut self, snapshot: &Snapshot) -> Result<(), ReadError> {
        let (model, dim) = (self.shared.model.clone(), self.shared.vectors.dim());
        for owner in snapshot.owners()? {
            for session in snapshot.sessions(&owner, &Default::default(), None, usize::MAX)?.items {
                for page in (0..session.event_count.div_ceil(turns::PAGE)).rev() {
                    if self.shared.vectors.count(DocKind::Event) >= MAX_TURNS {
                        return Ok(());
                    }
                    let place = Place { owner: owner.clone(), key: session.key.clone(), page };
                    let record = Record::read(snapshot, &place, &model, dim)?.unwrap_or_default();
                    self.put_turns(&session, &record.turns);
                    if record.upto < session.event_count.min((page + 1) * turns::PAGE) {
                        self.history.add_old(place);
                    }
                }
            }
        }
        Ok(())
    }

    fn put_turns(&self, session: &Session, turns: &[Turn]) {
        for turn in turns {
            if let Err(error) = self.shared.vectors.put(&turns::meta(session, turn), &turn.vectors) {
                tracing::warn!(%error, session = session.key.session, "a stored vector is not used");
            }
        }
    }

    /// Makes vectors of the history that waits, a page at a time, while nobody is at work and nothing else waits.
    fn embed_history(&mut self) {
        let shared = Arc::clone(&self.shared);
        if let Some(page) = self.history.finished() {
            self.keep_page(&page);
        }
        while self.history.in_hand.is_none() && self.is_time_for_history() {
            let Some(place) = self.history.next() else { break };
            let begun = shared.store.snapshot().and_then(|snapshot| {
                InHand::begin(&snapshot, place.clone(), &shared.model, shared.vectors.dim())
            });
            match begun {
                Ok(None) => {}
                Ok(Some((page, docs))) if docs.is_empty() => self.keep_page(&page),
                Ok(Some((page, docs))) => match shared.embedder.submit(docs, Box::new(page.taker())) {
                    Submitted::Accepted => self.history.in_hand = Some(page),
                    Submitted::Full => self.history.add_old(place),
                    Submitted::Off => self.history.clear(),
                },
                Err(ReadError::Damaged(what)) => {
                    tracing::error!(what, "a damaged part of the history gets no vectors");
                }
                Err(error) => {
                    tracing::warn!(%error, "history could not be read for embedding; it is tried again");
                    self.history.add_old(place);
                    break;
                }
            }
        }
        shared.history_waiting.store(self.history.len(), Ordering::Release);
    }

    fn is_time_for_history(&self) -> bool {
        let shared = &self.shared;
        self.backlog.is_empty()
            && self.history.len() > 0
            && shared.embeds.load(Ordering::Acquire)
            && shared.loaded.load(Ordering::Acquire)
            && shared.embedder.is_idle()
            && shared.embedder.state().state != ModelPhase::Failed
            && (shared.rests)()
    }

    /// Keeps what was made of a page, and searches it from now on.
    fn keep_page(&mut self, page: &InHand) {
        let shared = Arc::clone(&self.shared);
        let (owner, key) = (&page.place.owner, &page.place.key);
        for _ in 0..CONFLICT_RETRIES {
            let Ok(snapshot) = shared.store.snapshot() else { return };
            let kept = page.kept(&snapshot, &shared.model, shared.vectors.dim());
            let Ok(session) = snapshot.session(owner, key) else { return };
            drop(snapshot);
            match (kept, session) {
                (Ok(Some((set, turns))), Some(session)) => match shared.store.apply(set) {
                    Ok(_) => {
                        self.put_turns(&session, &turns);
                        return self.leave_the_oldest();
                    }
                    Err(ApplyError::Conflict { .. }) => {}
                    Err(error) => {
                        return tracing::debug!(%error, "vectors of history were not kept; they are made at the next start");
                    }
                },
                (Err(error), _) => return tracing::warn!(%error, "vectors of history were not kept"),
                _ => return,
            }
        }
        // The session is being written to; it is tried when it rests.
        self.history.add_old(page.place.clone());
    }

    /// Searches the newest turns only, once there are a tenth more than may be.
    fn leave_the_oldest(&mut self) {
        let shared = Arc::clone(&self.shared);
        if shared.vectors.count(DocKind::Event) <= MAX_TURNS + MAX_TURNS / 10 {
            return;
        }
        shared.vectors.remove_where(|_, id| id.starts_with("e:"));
        self.history.clear();
        if let Err(error) = shared.store.snapshot().and_then(|snapshot| self.load_turns(&snapshot)) {
            tracing::warn!(%error, "the vectors of history could not be loaded; words find it until the next start");
        }
    }

    /// Hands waiting memories to the model while it takes them.
    fn embed(&mut self) {
        while !self.backlog.is_empty() {
            let batch: Vec<(OwnerId, MemoryId)> = self.backlog.iter().take(EMBED_BATCH).cloned().collect();
            let taken = batch.len();
            match self.submit(batch) {
                Ok(Submitted::Accepted) => drop(self.backlog.drain(..taken)),
                Ok(Submitted::Full) => return,
                Ok(Submitted::Off) => self.backlog.clear(),
                Err(ReadError::Damaged(what)) => {
                    tracing::error!(what, "memories could not be read for embedding");
                    drop(self.backlog.drain(..taken));
                }
                Err(error) => {
                    tracing::warn!(%error, "memories could not be read for embedding; they are tried again");
                    return;
                }
            }
        }
        lock(&self.shared.embedding).handed_in(self.reached);
    }

    fn submit(&self, batch: Vec<(OwnerId, MemoryId)>) -> Result<Submitted, ReadError> {
        let snapshot = self.shared.store.snapshot()?;
        let mut docs = Vec::new();
        for (owner, id) in batch {
            if let Some(memory) = snapshot.memory(&owner, &id)? {
                let name = [owner.as_str(), id.as_str(), &memory.content_hash].join("\0");
                docs.push((name, chunks(doc::own_title(&memory.title, &memory.body), &memory.body)));
            }
        }
        if docs.is_empty() {
            return Ok(Submitted::Accepted);
        }
        let (store, model) = (self.shared.store.clone(), self.shared.model.clone());
        let count = docs.len();
        let progress = Arc::clone(&self.shared.embedding);
        lock(&progress).begin(count);
        let done = move |name: String, vectors: Vec<Vec<f32>>| {
            keep(&store, &model, &name, &vectors);
            lock(&progress).end(1);
        };
        let submitted = self.shared.embedder.submit(docs, Box::new(done));
        if submitted != Submitted::Accepted {
            lock(&self.shared.embedding).end(count);
        }
        Ok(submitted)
    }
}

/// Keeps the vectors the model has made, unless the memory is gone or says something else by now.
fn keep(store: &Store, model: &str, name: &str, vectors: &[Vec<f32>]) {
    let mut parts = name.split('\0');
    let (Some(owner), Some(id), Some(hash)) = (parts.next(), parts.next(), parts.next()) else { return };
    if vectors.is_empty() {
        return;
    }
    let made = Made { owner: OwnerId::new(owner), id: MemoryId::new(id), hash, model, vectors };
    for _ in 0..CONFLICT_RETRIES {
        let kept = store.snapshot().and_then(|snapshot| made.kept(&snapshot));
        let failed = match kept.map(|set| set.map(|set| store.apply(set))) {
            Ok(None | Some(Ok(_))) => return,
            Ok(Some(Err(ApplyError::Conflict { .. }))) => continue,
            Ok(Some(Err(error))) => error.to_string(),
            Err(error) => error.to_string(),
        };
        tracing::debug!(failed, "a vector was not kept; it is made again at the next start");
        return;
    }
}

/// What vectors were made of, as it is kept beside them: by which model, and the text's hash.
fn source(model: &str, hash: &str) -> Vec<u8> {
    format!("{model}\0{hash}").into_bytes()
}

/// What the model made of a memory's text.
struct Made<'a> {
    owner: OwnerId,
    id: MemoryId,
    hash: &'a str,
    model: &'a str,
    vectors: &'a [Vec<f32>],
}

impl Made<'_> {
    /// The change that keeps it in place of what any model made before, so that vectors of former models neither pile
    /// up nor come back. It is refused when the memory is changed or forgotten meanwhile; `None` when it is of no use
    /// any more.
    fn kept(&self, snapshot: &Snapshot) -> Result<Option<ChangeSet>, ReadError> {
        let memory = snapshot.memory(&self.owner, &self.id)?;
        if memory.is_none_or(|memory| memory.content_hash != self.hash) {
            return Ok(None);
        }
        let vectors = Change::PutVectors {
            doc: self.id.as_str().to_owned(),
            model: self.model.to_owned(),
            vectors: self.vectors.to_vec(),
        };
        let set = ChangeSet::new(self.owner.clone())
            .expect_seen(snapshot, Subject::Memory(self.id.clone()))?
            .with(Change::DeleteVectors { doc: self.id.as_str().to_owned() })
            .with(vectors)
            .put_aux(Family::Other, vector_source_key(&self.id), source(self.model, self.hash));
        Ok(Some(set))
    }
}

/// A part of the store that is damaged is left out; whatever else fails is tried again.
fn unless_damaged(read: Result<(), ReadError>) -> Result<(), ReadError> {
    match read {
        Err(ReadError::Damaged(what)) => {
            tracing::error!(what, "a damaged part of the store is not indexed");
            Ok(())
        }
        read => read,
    }
}

fn meta(memory: &Memory) -> VectorMeta {
    VectorMeta {
        id: memory_doc_id(memory.id.as_str()),
        owner: memory.owner.clone(),
        scope_key: memory.scope.key(),
        project: memory.scope.project().cloned(),
        kind: DocKind::Memory,
        status: Some(memory.status),
        memory_kind: Some(memory.kind),
        at_ms: memory.created_at.as_millisecond(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, AtomicUsize};
    use std::sync::{Condvar, Mutex};

    use doze_core::model::{Kind, Scope};
    use doze_search::{EmbedOptions, EmbedService, Lexical, RtenEmbedder, Vectors};

    use super::*;
    use crate::tests::memory;

    #[test]
    fn vectors_of_a_forgotten_or_changed_text_are_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("doze.redb"), doze_store::Options::default()).unwrap();
        let first = memory("m1", Scope::User, Kind::Fact, "the zanzibar gateway needs a certificate");
        let put =
            |memory: Memory| store.apply(ChangeSet::new(memory.owner.clone()).put_memory(memory)).unwrap();
        put(first.clone());
        let vectors = [vec![1.0, 0.0]];
        let made = Made {
            owner: first.owner.clone(),
            id: first.id.clone(),
            hash: &first.content_hash,
            model: "m@1",
            vectors: &vectors,
        };
        let stored = || store.snapshot().unwrap().vectors(&first.owner, "m1", "m@1").unwrap();
        let source = || store.snapshot().unwrap().aux(&first.owner, Family::Other, "vector:m1").unwrap();
        let name = [first.owner.as_str(), "m1", &first.content_hash].join("\0");

        // Forgotten between the look at the memory and the writing.
        let decided = made.kept(&store.snapshot().unwrap()).unwrap().unwrap();
        store.apply(ChangeSet::new(first.owner.clone()).delete_memory(first.id.clone())).unwrap();
        assert!(matches!(store.apply(decided), Err(ApplyError::Conflict { .. })));
        keep(&store, "m@1", &name, &vectors);
        assert_eq!((stored(), source()), (None, None));

        // Another text by now.
        put(memory("m1", Scope::User, Kind::Fact, "the osprey queue needs Kafka"));
        keep(&store, "m@1", &name, &vectors);
        assert_eq!((stored(), source()), (None, None));

        // The same text again: kept, and gone with the memory.
        put(first.clone());
        keep(&store, "m@1", &name, &vectors);
        assert!(stored().is_some() && source().is_some());
        store.apply(ChangeSet::new(first.owner.clone()).delete_memory(first.id.clone())).unwrap();
        assert_eq!((stored(), source()), (None, None));
    }

    #[test]
    fn a_former_model_has_no_say_when_it_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("doze.redb"), doze_store::Options::default()).unwrap();
        let put =
            |memory: Memory| store.apply(ChangeSet::new(memory.owner.clone()).put_memory(memory)).unwrap();
        let says = |text: &str| memory("m1", Scope::User, Kind::Fact, text);
        let (old, new) = (says("the gateway needs a certificate"), says("the queue needs Kafka"));
        let made = |model: &str, memory: &Memory| {
            let name = [memory.owner.as_str(), "m1", &memory.content_hash].join("\0");
            keep(&store, model, &name, &[vec![1.0, 0.0]]);
        };
        let stored = |model: &str| store.snapshot().unwrap().vectors(&old.owner, "m1", model).unwrap();
        let waits = |model: &str, name: &str| {
            let mut follower = follower_with(model, &folder.path().join(name), store.clone());
            follower.load_vectors();
            !follower.backlog.is_empty()
        };
        put(old.clone());
        made("a@1", &old);
        assert!(stored("a@1").is_some() && !waits("a@1", "1") && waits("b@2", "2"));
        // Edited under another model, before that one got to it and afterwards.
        put(new.clone());
        assert!(waits("a@1", "3"));
        made("b@2", &new);
        assert!(!waits("b@2", "4") && waits("a@1", "5"));
        assert_eq!(stored("a@1"), None, "its vectors are gone");
        // Vectors that an earlier version kept beside those of another model.
        let stale =
            Change::PutVectors { doc: "m1".into(), model: "a@1".into(), vectors: vec![vec![0.0, 1.0]] };
        store.apply(ChangeSet::new(new.owner.clone()).with(stale)).unwrap();
        assert!(waits("a@1", "6"));
    }

    fn follower(folder: &Path, store: Store) -> Follower {
        follower_with("m@1", folder, store)
    }

    fn follower_with(model: &str, folder: &Path, store: Store) -> Follower {
        let options = EmbedOptions::new(RtenEmbedder::model_id());
        let shared = Shared {
            store,
            lexical: Lexical::open(&folder.join("lexical")).unwrap(),
            vectors: Vectors::with_graph(384, &folder.join("graph"), GRAPH_FROM),
            embedder: EmbedService::start(Box::new(crate::index::built_in), options),
            model: model.to_owned(),
            reached: Mutex::new(0),
            moved: Condvar::new(),
            loaded: AtomicBool::new(false),
            embedding: Arc::default(),
            stop: Arc::default(),
            embeds: Arc::new(AtomicBool::new(true)),
            graphing: AtomicBool::new(false),
            history_waiting: AtomicUsize::new(0),
            rests: Box::new(|| true),
        };
        let (backlog, history, shared) = (VecDeque::new(), Waiting::default(), Arc::new(shared));
        Follower { reached: 0, backlog, history, is_failing: false, load_at: None, shared }
    }

    #[test]
    fn what_cannot_be_read_for_now_is_not_taken_for_indexed() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Store::open(&folder.path().join("doze.redb"), doze_store::Options::default()).unwrap();
        let store = open();
        let first = memory("m1", Scope::User, Kind::Fact, "the zanzibar gateway needs a certificate");
        store.apply(ChangeSet::new(first.owner.clone()).put_memory(first)).unwrap();
        let seq = store.seq();
        let mut unlucky = follower(&folder.path().join("one"), store.clone());
        store.close();
        unlucky.catch_up(seq);
        unlucky.load_vectors();
        assert_eq!((unlucky.reached, unlucky.is_failing), (0, true));
        assert!(!unlucky.shared.loaded.load(Ordering::Acquire) && unlucky.load_at.is_some());
        drop(unlucky);

        let mut lucky = follower(&folder.path().join("two"), open());
        lucky.is_failing = true;
        lucky.catch_up(seq);
        lucky.load_vectors();
        assert_eq!((lucky.reached, lucky.is_failing), (seq, false));
        assert!(lucky.shared.loaded.load(Ordering::Acquire));
        lucky.shared.lexical.commit().unwrap();
        assert_eq!(lucky.shared.lexical.seq(), seq);
    }

    #[test]
    fn damage_is_passed_over_and_everything_else_is_tried_again() {
        assert!(unless_damaged(Err(ReadError::Damaged("page 7".to_owned()))).is_ok());
        for lasting in [ReadError::Expired, ReadError::Unavailable] {
            assert!(unless_damaged(Err(lasting)).is_err());
        }
    }
}
