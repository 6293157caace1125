//! The derived indexes and the thread that keeps them in step with the store by following its change log.

pub(crate) mod doc;
mod follower;
pub(crate) mod turns;

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use doze_core::model::{Kind, MemoryId, OwnerId, Scope, Status};
use doze_core::rank::Profile;
use doze_search::{
    DocKind, DocKindSet, DocRef, EmbedError, EmbedOptions, EmbedService, Embedder, Factory, FetchedModel,
    GRAPH_FROM, Lexical, LexicalQuery, ModelFiles, ModelId, ModelState, OrtEmbedder, QueryEmbedding,
    QuerySyntax, RtenEmbedder, VectorFilter, Vectors,
};
use doze_store::{Snapshot, Store};
use jiff::Timestamp;

use crate::recall::SemanticState;
use crate::{EmbedderChoice, EngineError, Options, Problem, lock};

/// How near a reply is, as a share of what it replies to. Measured on the development half of LongMemEval: with all of it
/// replies crowd out the prompts that answer, without any none is found by meaning.
const OF_A_REPLY: f32 = 0.6;

/// How far the indexes have followed the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexState {
    /// The change that full-text search sees.
    pub lexical_seq: u64,
    /// The last change up to which the model is through with every memory.
    pub vector_seq: u64,
    /// Documents with vectors.
    pub vectors: usize,
    /// Prompts of raw history among them.
    pub turns: usize,
    /// Pages of raw history, of sixteen events each, that wait for vectors.
    pub pages_waiting: usize,
    /// The model: its name, hash, dimension and state.
    pub model: Option<ModelId>,
    /// Where the model is, in one word.
    pub model_state: &'static str,
    /// Why it failed; empty otherwise.
    pub model_reason: String,
}

/// A question to the indexes.
pub(crate) struct Query<'a> {
    pub(crate) text: &'a str,
    pub(crate) owner: &'a OwnerId,
    pub(crate) scopes: &'a [Scope],
    pub(crate) kinds: &'a [Kind],
    pub(crate) superseded: bool,
    pub(crate) history: bool,
    pub(crate) since: Option<Timestamp>,
    pub(crate) until: Option<Timestamp>,
    pub(crate) profile: Profile,
    pub(crate) limit: usize,
    /// The change the caller must see, and how long to wait for it.
    pub(crate) see: u64,
    pub(crate) see_within: Duration,
    /// How long to wait for the query's vector.
    pub(crate) vector_within: Duration,
    pub(crate) snapshot: &'a Snapshot,
}

/// What the indexes found: document ids with scores, best first.
pub(crate) struct Lookup {
    /// `None` when the full-text index failed.
    pub(crate) lexical: Option<Vec<(String, f32)>>,
    pub(crate) semantic: Vec<(String, f32)>,
    /// How near the question is to everything that words found; what has no vectors yet is not here.
    pub(crate) near: HashMap<String, f32>,
    pub(crate) semantic_state: SemanticState,
}

/// What the follower and its callers share.
struct Shared {
    store: Store,
    lexical: Lexical,
    vectors: Vectors,
    embedder: EmbedService,
    /// `name@hash` of the model, under which vectors are stored.
    model: String,
    /// The change the follower has worked through, and a signal when it moves.
    reached: Mutex<u64>,
    moved: Condvar,
    /// Vectors of the store have been loaded.
    loaded: AtomicBool,
    embedding: Arc<Mutex<Embedding>>,
    stop: Arc<AtomicBool>,
    /// Memory is on, so texts are embedded and a model is fetched (S1.23).
    embeds: Arc<AtomicBool>,
    /// A thread is at the graph.
    graphing: AtomicBool,
    /// Pages of history that wait for vectors.
    history_waiting: AtomicUsize,
    /// Whether nobody is at work, so that history can be embedded.
    rests: Rests,
}

/// Tells whether agents and machine are at rest.
pub(crate) type Rests = Box<dyn Fn() -> bool + Send + Sync>;

/// How far the model is.
#[derive(Debug, Default, PartialEq, Eq)]
struct Embedding {
    /// Memories it has and is not through with.
    in_flight: usize,
    /// The change up to which every memory was handed to it.
    handed: u64,
    /// The change up to which it is through.
    done: u64,
}

impl Embedding {
    fn begin(&mut self, count: usize) {
        self.in_flight += count;
    }

    fn end(&mut self, count: usize) {
        self.in_flight = self.in_flight.saturating_sub(count);
        if self.in_flight == 0 {
            self.done = self.handed;
        }
    }

    fn handed_in(&mut self, seq: u64) {
        self.handed = seq;
        self.end(0);
    }
}

/// The indexes with their follower.
pub(crate) struct Index {
    shared: Arc<Shared>,
    follower: Mutex<Option<JoinHandle<()>>>,
}

impl Index {
    /// Opens the indexes and starts following. Loading vectors happens on the follower's thread.
    pub(crate) fn start(options: &Options, store: Store, rests: Rests) -> Result<Self, EngineError> {
        let lexical = Lexical::open(&options.index.join("lexical")).map_err(|error| {
            EngineError::new(
                Problem::Unavailable,
                format!("cannot open the index {}", options.index.display()),
            )
            .hint("delete the folder; it is rebuilt from the store")
            .caused_by(error)
        })?;
        let stop = Arc::new(AtomicBool::new(false));
        let embeds = Arc::new(AtomicBool::new(options.switches.memory_enabled));
        let id = options.model.as_ref().map_or_else(RtenEmbedder::model_id, FetchedModel::id);
        let embedder = match factory(options, &stop, &embeds) {
            None => EmbedService::off(),
            Some(factory) => {
                let idle = options.model_idle;
                EmbedService::start(factory, EmbedOptions { idle, ..EmbedOptions::new(id.clone()) })
            }
        };
        embedder.switch(options.switches.memory_enabled);
        // An index that is ahead of its store (a restored backup, a crash within the last second) would skip what comes.
        if lexical.visible_seq() > store.seq() {
            lexical.clear().map_err(|error| {
                EngineError::new(Problem::Unavailable, "the index cannot be cleared").caused_by(error)
            })?;
        }
        let reached = lexical.visible_seq();
        let shared = Arc::new(Shared {
            store,
            lexical,
            vectors: Vectors::with_graph(id.dim, &options.index.join("graph"), GRAPH_FROM),
            embedder,
            model: format!("{}@{}", id.name, &id.sha256[..16.min(id.sha256.len())]),
            reached: Mutex::new(reached),
            moved: Condvar::new(),
            loaded: AtomicBool::new(false),
            embedding: Arc::default(),
            stop,
            embeds,
            graphing: AtomicBool::new(false),
            history_waiting: AtomicUsize::new(0),
            rests,
        });
        let follower = follower::start(Arc::clone(&shared)).map_err(|error| {
            EngineError::new(Problem::Internal, "cannot start the indexing thread").caused_by(error)
        })?;
        Ok(Self { shared, follower: Mutex::new(Some(follower)) })
    }

    /// Stops following; the store must be closed by the caller so that a waiting follower wakes.
    pub(crate) fn stop(&self) {
        self.shared.embedder.switch(false);
        self.shared.stop.store(true, Ordering::Release);
        self.shared.store.clone().close();
        if let Some(follower) = lock(&self.follower).take()
            && follower.join().is_err()
        {
            tracing::error!("the indexing thread panicked");
        }
    }

    /// Embeds texts and queries from now on, or stops.
    pub(crate) fn set_embedding(&self, on: bool) {
        if on {
            self.shared.embeds.store(true, Ordering::Release);
            self.shared.embedder.switch(true);
        } else {
            // In this order: a load gives up only when the service is off already, else it would be tried again.
            self.shared.embedder.switch(false);
            self.shared.embeds.store(false, Ordering::Release);
        }
    }

    /// How far the indexes are.
    pub(crate) fn state(&self) -> IndexState {
        let ModelState { id, state, reason, .. } = self.shared.embedder.state();
        IndexState {
            lexical_seq: *lock(&self.shared.reached),
            vector_seq: lock(&self.shared.embedding).done,
            vectors: self.shared.vectors.len(),
            turns: self.shared.vectors.count(DocKind::Event),
            pages_waiting: self.shared.history_waiting.load(Ordering::Acquire),
            model: id,
            model_state: state.as_str(),
            model_reason: reason,
        }
    }

    /// Asks both indexes.
    pub(crate) fn look_up(&self, query: &Query<'_>) -> Lookup {
        let lexical_query = lexical_query(query);
        self.wait_for(query.see, query.see_within);
        let lexical: Option<Vec<(String, f32)>> = match self.shared.lexical.search(&lexical_query) {
            Ok(hits) => Some(hits.into_iter().map(|hit| (hit.id, hit.score)).collect()),
            Err(error) => {
                tracing::error!(%error, "full-text search failed");
                None
            }
        };
        let (vector, semantic_state) = self.vector_of(query);
        let Some(vector) = vector else {
            return Lookup { lexical, semantic: Vec::new(), near: HashMap::new(), semantic_state };
        };
        let near = self.near(query, &vector, lexical.iter().flatten().map(|(id, _)| id.as_str()));
        Lookup { lexical, semantic: self.nearest(query, &vector, &lexical_query), near, semantic_state }
    }

    /// Active memories of a scope with words in common with a text, the likeliest first.
    pub(crate) fn similar(
        &self,
        owner: &OwnerId,
        scope: &Scope,
        text: &str,
        see: u64,
        limit: usize,
    ) -> Vec<MemoryId> {
        self.wait_for(see, Duration::from_secs(1));
        let query = LexicalQuery {
            kinds: DocKindSet::MEMORIES,
            statuses: vec![Status::Active],
            ..LexicalQuery::new(text, owner.clone(), vec![scope.key()], limit)
        };
        let hits = self.shared.lexical.search(&query).unwrap_or_default();
        hits.into_iter()
            .filter_map(|hit| match DocRef::parse(&hit.id) {
                Some(DocRef::Memory(id)) => Some(MemoryId::new(id)),
                _ => None,
            })
            .collect()
    }

    /// Waits until the follower has worked through a change, but not for long.
    fn wait_for(&self, seq: u64, within: Duration) {
        let until = Instant::now() + within;
        let mut reached: MutexGuard<'_, u64> = lock(&self.shared.reached);
        while *reached < seq && !self.shared.stop.load(Ordering::Acquire) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            reached = self.shared.moved.wait_timeout(reached, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The vector of a question, and how far meaning takes part in its answer.
    fn vector_of(&self, query: &Query<'_>) -> (Option<Vec<f32>>, SemanticState) {
        if !self.shared.embeds.load(Ordering::Acquire) {
            return (None, SemanticState::Off);
        }
        if !self.shared.loaded.load(Ordering::Acquire) {
            let is_off = self.shared.embedder.state().id.is_none();
            return (None, if is_off { SemanticState::Off } else { SemanticState::Loading });
        }
        match self.shared.embedder.query(query.text, query.vector_within) {
            QueryEmbedding::Ready(vector) => {
                // A model that has just begun has not come to most memories yet: what it does not find may well be there.
                let waiting = lock(&self.shared.embedding).in_flight;
                let has_begun = waiting > self.shared.vectors.len();
                (Some(vector), if has_begun { SemanticState::Loading } else { SemanticState::On })
            }
            QueryEmbedding::Loading => (None, SemanticState::Loading),
            QueryEmbedding::Timeout => (None, SemanticState::Timeout),
            QueryEmbedding::Off => (None, SemanticState::Off),
            QueryEmbedding::Failed(reason) => {
                tracing::warn!(reason, "the query has no vector");
                (None, SemanticState::Failed)
            }
        }
    }

    /// How near a question is to documents, by their own vectors or those of the prompt they reply to.
    fn near<'a>(
        &self,
        query: &Query<'_>,
        vector: &[f32],
        ids: impl Iterator<Item = &'a str>,
    ) -> HashMap<String, f32> {
        let lists: Vec<Vec<String>> = ids.map(turns::told_by).collect();
        let scores = self.shared.vectors.scores(vector, query.owner, &lists);
        let told = lists.into_iter().zip(scores).filter_map(|(list, score)| {
            let id = list.into_iter().next()?;
            match score {
                Some((0, cosine)) => Some((id, cosine)),
                Some((_, cosine)) => Some((id, cosine * OF_A_REPLY)),
                // Memories get theirs soon; other parts of the history have none.
                None => (!id.starts_with("m:")).then_some((id, 0.0)),
            }
        });
        told.collect()
    }

    fn nearest(&self, query: &Query<'_>, vector: &[f32], filter: &LexicalQuery) -> Vec<(String, f32)> {
        // Of raw history nothing more exact is kept.
        let exact = |doc: &str| {
            let memory = doc.strip_prefix("m:")?;
            query.snapshot.vectors(query.owner, memory, &self.shared.model).ok().flatten()
        };
        let hits = self.shared.vectors.search(vector, &VectorFilter::from(filter), query.limit, &exact);
        hits.into_iter().map(|hit| (hit.id, hit.score)).collect()
    }
}

fn lexical_query(query: &Query<'_>) -> LexicalQuery {
    let mut statuses = vec![Status::Active];
    if query.superseded {
        statuses.push(Status::Superseded);
    }
    let scope_keys = query.scopes.iter().map(Scope::key).collect();
    LexicalQuery {
        kinds: if query.history { DocKindSet::ALL } else { DocKindSet::MEMORIES },
        statuses,
        memory_kinds: query.kinds.to_vec(),
        since_ms: query.since.map(Timestamp::as_millisecond),
        until_ms: query.until.map(Timestamp::as_millisecond),
        syntax: if query.profile == Profile::OpenOrc { QuerySyntax::Openorc } else { QuerySyntax::Default },
        ..LexicalQuery::new(query.text, query.owner.clone(), scope_keys, query.limit)
    }
}

/// Loads the model that was chosen, in the engine that was chosen. A model is fetched only while texts are embedded.
fn factory(options: &Options, stop: &Arc<AtomicBool>, embeds: &Arc<AtomicBool>) -> Option<Factory> {
    let choice = options.embedder.clone();
    let Some(model) = options.model.clone() else {
        return match choice {
            EmbedderChoice::Off => None,
            EmbedderChoice::BuiltIn => Some(Box::new(built_in)),
            EmbedderChoice::Ort(library) => {
                Some(Box::new(move || through_ort(&library, ModelFiles::built_in())))
            }
        };
    };
    let (stop, embeds) = (Arc::clone(stop), Arc::clone(embeds));
    let fetch = move || {
        let files = model.files(&|| stop.load(Ordering::Acquire) || !embeds.load(Ordering::Acquire))?;
        Ok((model.id(), files))
    };
    match choice {
        EmbedderChoice::Off => None,
        EmbedderChoice::BuiltIn => Some(Box::new(move || {
            let (id, files) = fetch()?;
            Ok(Box::new(RtenEmbedder::open(id, files)?))
        })),
        EmbedderChoice::Ort(library) => Some(Box::new(move || {
            let (id, files) = fetch()?;
            let embedder = through_ort(&library, files)?;
            if embedder.id().dim != id.dim {
                let reason = format!("its vectors have {} numbers and not {}", embedder.id().dim, id.dim);
                return Err(EmbedError::Load { name: id.name, reason });
            }
            Ok(embedder)
        })),
    }
}

fn built_in() -> Result<Box<dyn Embedder>, EmbedError> {
    Ok(Box::new(RtenEmbedder::load()?))
}

fn through_ort(library: &Path, files: ModelFiles) -> Result<Box<dyn Embedder>, EmbedError> {
    Ok(Box::new(OrtEmbedder::open(library, files)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_through_when_the_last_vectors_are_kept() {
        let mut embedding = Embedding::default();
        embedding.begin(2);
        embedding.handed_in(7);
        assert_eq!(embedding.done, 0, "handed in is not done");
        embedding.end(1);
        assert_eq!(embedding.done, 0);
        embedding.handed_in(8);
        embedding.end(1);
        assert_eq!(embedding, Embedding { in_flight: 0, handed: 8, done: 8 });
        embedding.handed_in(9);
        assert_eq!(embedding.done, 9, "nothing to wait for");
    }
}
