//! The thread that follows the change log: full text at once, vectors as the model gets to them. It sleeps without
//! waking up while nothing changes and nothing waits.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use doze_core::model::{Memory, MemoryId, OwnerId, SessionKey, Status};
use doze_search::{
    DocChange, DocKind, GRAPH_FROM, Submitted, VectorMeta, chunks, event_doc_id, memory_doc_id,
};
use doze_store::{Change, ChangeSet, Changed, LoggedChange, ReadError, Snapshot};

use super::{Shared, doc};
use crate::lock;

/// Changes worked through at once.
const BATCH: usize = 512;
/// Events of one change worked through at once, which bounds the memory of a long transcript.
const EVENT_PAGE: u64 = 256;
/// Quiet time after which the full text is committed to disk.
const QUIET: Duration = Duration::from_secs(2);
/// How soon to look again whether the model takes more.
const MODEL_BUSY: Duration = Duration::from_millis(500);
/// How often to look whether memory was switched on again while texts wait for it.
const SWITCHED_OFF: Duration = Duration::from_secs(60);
/// Memories handed to the model at once.
const EMBED_BATCH: usize = 16;

pub(super) fn start(shared: Arc<Shared>) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name("index".into()).spawn(move || {
        let mut follower =
            Follower { reached: shared.lexical.visible_seq(), backlog: VecDeque::new(), shared };
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
}

impl Follower {
    /// Waits for something to do and does it.
    fn step(&mut self) -> ControlFlow<()> {
        if !self.shared.loaded.load(Ordering::Acquire) {
            self.load_vectors();
        }
        let shared = Arc::clone(&self.shared);
        let embeds = shared.embeds.load(Ordering::Acquire);
        let timeout = if !self.backlog.is_empty() {
            Some(if embeds { MODEL_BUSY } else { SWITCHED_OFF })
        } else if shared.lexical.pending() > 0 || shared.lexical.seq() < self.reached {
            Some(QUIET)
        } else {
            None
        };
        let seq = shared.store.wait_for_change(self.reached, timeout);
        if shared.stop.load(Ordering::Acquire) {
            return ControlFlow::Break(());
        }
        if seq > self.reached {
            self.catch_up(seq);
        } else if self.backlog.is_empty() || !embeds {
            self.commit();
        }
        if embeds {
            self.embed();
        }
        ControlFlow::Continue(())
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

    /// Works through the log up to `seq`. Whatever cannot be read is skipped: the loop must move on.
    fn catch_up(&mut self, seq: u64) {
        match self.follow(seq) {
            Ok(()) => {}
            Err(error) => {
                tracing::error!(%error, "changes could not be indexed; they are skipped");
                self.reach(seq);
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
                self.documents(&snapshot, change, &mut docs)?;
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
                docs.push(DocChange::DeleteSession { owner: owner.clone(), session: session.clone() });
            }
            Changed::Events { session, first, count } => {
                self.events(snapshot, owner, session, *first, first + count, change.seq, docs)?;
            }
            Changed::EventReplaced { session, ordinal } => {
                docs.push(DocChange::Delete { owner: owner.clone(), id: event_doc_id(session, *ordinal) });
                self.events(snapshot, owner, session, *ordinal, ordinal + 1, change.seq, docs)?;
            }
            Changed::Vectors { doc } => self.vectors(snapshot, owner, doc)?,
            Changed::Project(_) | Changed::ProjectGone(_) | Changed::Dream(_) | Changed::Other => {}
        }
        Ok(())
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

    /// Whether the text changed since its vectors were made.
    fn is_outdated(&self, snapshot: &Snapshot, memory: &Memory) -> Result<bool, ReadError> {
        let made_of = snapshot.aux(&memory.owner, doze_store::Family::Other, &made_of_key(&memory.id))?;
        Ok(made_of.as_deref() != Some(memory.content_hash.as_bytes()))
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
        snapshot.all_memories(&mut |memory| {
            docs.push(DocChange::Put(doc::of_memory(&memory)));
            if docs.len() >= BATCH {
                self.apply(std::mem::take(&mut docs), 0);
            }
            ControlFlow::Continue(())
        })?;
        for owner in snapshot.owners()? {
            for session in snapshot.sessions(&owner, &Default::default(), None, usize::MAX)?.items {
                docs.extend(doc::of_summary(&session).map(DocChange::Put));
                self.events(snapshot, &owner, &session.key, 0, session.event_count, 1, &mut docs)?;
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
        if self.shared.embedder.state().id.is_some()
            && let Err(error) = self.try_load_vectors()
        {
            tracing::error!(%error, "vectors could not be loaded; search goes on by words");
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
        for (owner, id) in memories {
            let Some(memory) = snapshot.memory(&owner, &id)? else { continue };
            match snapshot.vectors(&owner, id.as_str(), &self.shared.model)? {
                Some(vectors) if !self.is_outdated(&snapshot, &memory)? => {
                    self.put_vectors(&memory, &vectors)
                }
                _ if memory.status == Status::Stale => {}
                _ => self.backlog.push_back((owner, id)),
            }
        }
        Ok(())
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
                Err(error) => {
                    tracing::error!(%error, "memories could not be read for embedding");
                    drop(self.backlog.drain(..taken));
                }
            }
        }
        self.shared.vector_seq.store(self.reached, Ordering::Release);
    }

    fn submit(&self, batch: Vec<(OwnerId, MemoryId)>) -> Result<Submitted, ReadError> {
        let snapshot = self.shared.store.snapshot()?;
        let mut docs = Vec::new();
        for (owner, id) in batch {
            if let Some(memory) = snapshot.memory(&owner, &id)? {
                let name = [owner.as_str(), id.as_str(), &memory.content_hash].join("\0");
                docs.push((name, chunks(&memory.title, &memory.body)));
            }
        }
        if docs.is_empty() {
            return Ok(Submitted::Accepted);
        }
        let (store, model) = (self.shared.store.clone(), self.shared.model.clone());
        Ok(self
            .shared
            .embedder
            .submit(docs, Box::new(move |name, vectors| keep(&store, &model, &name, vectors))))
    }
}

/// Keeps the vectors the model has made, unless the memory is gone by now.
fn keep(store: &doze_store::Store, model: &str, name: &str, vectors: Vec<Vec<f32>>) {
    let mut parts = name.split('\0');
    let (Some(owner), Some(id), Some(hash)) = (parts.next(), parts.next(), parts.next()) else { return };
    if vectors.is_empty() {
        return;
    }
    let (owner, id) = (OwnerId::new(owner), MemoryId::new(id));
    let is_there = store
        .snapshot()
        .and_then(|snapshot| snapshot.memory(&owner, &id))
        .is_ok_and(|memory| memory.is_some());
    if !is_there {
        return;
    }
    let set = ChangeSet::new(owner)
        .with(Change::PutVectors { doc: id.as_str().to_owned(), model: model.to_owned(), vectors })
        .put_aux(doze_store::Family::Other, made_of_key(&id), hash.as_bytes());
    if let Err(error) = store.apply(set) {
        tracing::debug!(%error, "a vector was not kept; it is made again at the next start");
    }
}

/// The record that tells which text a memory's vectors were made of.
fn made_of_key(id: &MemoryId) -> String {
    format!("vector:{id}")
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
