//! Hybrid search: words and meaning, the caller's spaces only, ranked by a profile.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::{Duration, Instant};

use doze_core::model::{Kind, Memory, MemoryId, OwnerId, Scope, Status};
use doze_core::rank::{Candidate, Explain, Found, LIST_LIMIT, Profile, UNLISTED, rank, text_key};
use doze_store::Snapshot;
use jiff::Timestamp;

use super::brief::files_gone;
use super::{Reader, hydrate};
use crate::index::{Lookup, Query};
use crate::{Engine, EngineError};

/// Longest query that is looked at, in characters; the rest is ignored.
const MAX_QUERY_CHARS: usize = 4_000;
/// Hits of one answer at most.
pub(crate) const MAX_HITS: usize = 100;
/// How long a search waits to see what its caller has just written.
const OWN_WRITES: Duration = Duration::from_millis(200);
/// How long a query may wait for its vector (S1.24).
const QUERY_VECTOR: Duration = Duration::from_millis(500);
/// How much of each list is looked at where history is searched too: turns and summaries stand there beside memories.
const HISTORY_LIST: usize = 100;
/// Characters of a snippet.
const SNIPPET_CHARS: usize = 240;

/// `recall.search`.
#[derive(Debug, Clone)]
pub struct SearchRequest {
    /// Who asks.
    pub reader: Reader,
    /// Search all projects of the owner, wherever the caller stands.
    pub everywhere: bool,
    /// What to look for; blank with a window lists the window.
    pub query: String,
    /// Only these kinds; empty for all.
    pub kinds: Vec<Kind>,
    /// How to rank; as the switches say when `None`.
    pub profile: Option<Profile>,
    /// How many hits, 1–100.
    pub limit: usize,
    /// Only what happened at or after this time.
    pub since: Option<Timestamp>,
    /// Only what happened before this time.
    pub until: Option<Timestamp>,
    /// Superseded memories too.
    pub superseded: bool,
    /// Raw events and summaries too.
    pub history: bool,
}

impl Default for SearchRequest {
    fn default() -> Self {
        Self {
            reader: Reader::default(),
            everywhere: false,
            query: String::new(),
            kinds: Vec::new(),
            profile: None,
            limit: 10,
            since: None,
            until: None,
            superseded: false,
            history: false,
        }
    }
}

/// One hit.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The memory; for raw history a memory-shaped view of the event or summary.
    pub memory: Memory,
    /// Greater is better; comparable within one answer.
    pub score: f64,
    /// The part of the text that matches best.
    pub snippet: String,
    /// How the score came about.
    pub explain: Explain,
}

/// How far meaning took part in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SemanticState {
    /// It did.
    On,
    /// It is switched off.
    Off,
    /// The model is being loaded, or has just begun to look at the memories.
    Loading,
    /// The query's vector did not come in time.
    Timeout,
    /// The model or the index failed.
    Failed,
}

/// `recall.search`'s answer.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchAnswer {
    /// Best first.
    pub hits: Vec<Hit>,
    /// How long it took.
    pub took: Duration,
    /// Whether words took part; a failed index is rebuilt meanwhile.
    pub lexical_failed: bool,
    /// How far meaning took part.
    pub semantic: SemanticState,
}

impl Engine {
    /// Searches. Any query string is fine; no match is an empty list.
    pub fn search(&self, owner: &OwnerId, request: &SearchRequest) -> Result<SearchAnswer, EngineError> {
        let started = Instant::now();
        self.note_activity();
        if request.limit == 0 || request.limit > MAX_HITS {
            return Err(EngineError::invalid(format!("limit is outside 1–{MAX_HITS}")));
        }
        let place = self.place_of_reader(owner, &request.reader)?;
        let snapshot = self.store().snapshot()?;
        let scopes = if request.everywhere {
            self.scopes_everywhere(&snapshot, owner, &request.reader)?
        } else {
            self.scopes_of(&snapshot, owner, place.as_ref(), &request.reader)?
        };
        let text: String = request.query.chars().take(MAX_QUERY_CHARS).collect();
        if text.trim().is_empty() {
            let hits = if request.since.is_some() || request.until.is_some() {
                self.window(&snapshot, owner, &scopes, request)?
            } else {
                Vec::new()
            };
            let semantic = SemanticState::Off;
            return Ok(SearchAnswer { hits, took: started.elapsed(), lexical_failed: false, semantic });
        }
        let profile = request.profile.unwrap_or(self.switches().profile);
        let lookup = self.inner.index.look_up(&Query {
            text: &text,
            owner,
            scopes: &scopes,
            kinds: &request.kinds,
            superseded: request.superseded,
            history: request.history,
            since: request.since,
            until: request.until,
            profile,
            limit: if request.history { HISTORY_LIST } else { LIST_LIMIT as usize },
            see: snapshot.seq()?,
            see_within: OWN_WRITES,
            vector_within: QUERY_VECTOR,
            snapshot: &snapshot,
        });
        let top = place.as_ref().map(|place| place.top.as_str());
        let hits = self.ranked(&snapshot, owner, &scopes, top, request, profile, &lookup, &text)?;
        Ok(SearchAnswer {
            hits,
            took: started.elapsed(),
            lexical_failed: lookup.lexical.is_none(),
            semantic: lookup.semantic_state,
        })
    }

    #[expect(clippy::too_many_arguments, reason = "one search, taken apart")]
    /// Turns what the indexes found into hits: records from the snapshot, checked once more, ranked.
    fn ranked(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        scopes: &[Scope],
        top: Option<&str>,
        request: &SearchRequest,
        profile: Profile,
        lookup: &Lookup,
        text: &str,
    ) -> Result<Vec<Hit>, EngineError> {
        let mut found: HashMap<&str, (Option<Found>, Option<Found>)> = HashMap::new();
        for (rank, (id, score)) in (1..).zip(lookup.lexical.iter().flatten()) {
            found.entry(id).or_default().0 = Some(Found { rank, score: f64::from(*score) });
        }
        for (rank, (id, score)) in (1..).zip(&lookup.semantic) {
            found.entry(id).or_default().1 = Some(Found { rank, score: f64::from(*score) });
        }
        for (id, score) in &lookup.near {
            let near = Found { rank: UNLISTED, score: f64::from(*score) };
            found.entry(id).or_default().1.get_or_insert(near);
        }
        let mut records: HashMap<MemoryId, Memory> = HashMap::new();
        let (mut memories, mut places, mut replies) = (Vec::new(), HashMap::new(), HashSet::new());
        for (doc, place) in found {
            let found = hydrate::record(snapshot, owner, doc)?;
            if let Some(found) = found.filter(|found| wanted(&found.memory, scopes, request)) {
                let id = &found.memory.id;
                places.insert(id.clone(), place);
                if found.is_reply {
                    replies.insert(id.clone());
                }
                memories.push(found.memory);
            }
        }
        let gone = top.map(|top| files_gone(&memories, Path::new(top))).unwrap_or_default();
        let mut candidates = Vec::new();
        for memory in memories {
            let (lexical, semantic) = places.remove(&memory.id).unwrap_or_default();
            candidates.push(Candidate {
                id: memory.id.clone(),
                lexical,
                semantic,
                kind: memory.kind,
                confidence: memory.confidence,
                reinforce_count: memory.reinforce_count,
                last_confirmed_at: memory.last_confirmed_at,
                source_run: memory.source.session.clone(),
                files_gone: gone.contains(&memory.id),
                is_reply: replies.contains(&memory.id),
                text_key: text_key(&memory.title, &memory.body),
            });
            records.insert(memory.id.clone(), memory);
        }
        let ranked = rank(profile, candidates, self.now(), request.limit);
        Ok(ranked
            .into_iter()
            .filter_map(|hit| {
                let memory = records.remove(&hit.id)?;
                let snippet = doze_search::snippet(&words_of(&memory), text, SNIPPET_CHARS);
                Some(Hit { memory, score: hit.score, snippet, explain: hit.explain })
            })
            .collect())
    }

    /// The memories of a window, newest first.
    fn window(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        scopes: &[Scope],
        request: &SearchRequest,
    ) -> Result<Vec<Hit>, EngineError> {
        let mut memories = Vec::new();
        for scope in scopes {
            memories
                .extend(snapshot.memories(owner, scope)?.into_iter().filter(|m| wanted(m, scopes, request)));
        }
        if request.history {
            memories.extend(hydrate::window(
                snapshot,
                owner,
                scopes,
                request.since,
                request.until,
                request.limit,
            )?);
        }
        memories.sort_by(|a, b| b.created_at.cmp(&a.created_at).then_with(|| b.id.cmp(&a.id)));
        memories.truncate(request.limit);
        Ok(memories.into_iter().map(unranked).collect())
    }
}

/// What the indexes answered is checked against the record itself: they may lag, the store is the truth.
fn wanted(memory: &Memory, scopes: &[Scope], request: &SearchRequest) -> bool {
    let status_fits = match memory.status {
        Status::Active => true,
        Status::Superseded => request.superseded,
        _ => false,
    };
    status_fits
        && scopes.contains(&memory.scope)
        && (request.kinds.is_empty() || request.kinds.contains(&memory.kind))
        && request.since.is_none_or(|since| memory.created_at >= since)
        && request.until.is_none_or(|until| memory.created_at < until)
}

/// Title and body; a title that only begins the body is not said twice.
fn words_of(memory: &Memory) -> String {
    if memory.body.starts_with(memory.title.trim_end_matches('…')) {
        return memory.body.clone();
    }
    format!("{}\n{}", memory.title, memory.body)
}

fn unranked(memory: Memory) -> Hit {
    let snippet = doze_search::snippet(&memory.body, "", SNIPPET_CHARS);
    let explain = Explain {
        lexical_rank: None,
        lexical_score: None,
        semantic_rank: None,
        semantic_score: None,
        fused: 0.0,
        kind_weight: 1.0,
        confidence_factor: 1.0,
        age_factor: 1.0,
        files_factor: 1.0,
    };
    Hit { memory, score: 0.0, snippet, explain }
}
