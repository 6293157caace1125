//! Reading memories: one, a page of many, and where one came from.

use std::collections::BTreeMap;

use doze_core::model::{Dream, DreamId, DreamOp, Event, Kind, Memory, MemoryId, OwnerId, Status};
use doze_store::{Family, Snapshot};
use jiff::Timestamp;

use super::promote::copies_of;
use crate::recall::{Reader, shown_key};
use crate::{Engine, EngineError};

/// Records of one page at most.
pub(crate) const MAX_PAGE: usize = 500;
/// Characters quoted of an event that speaks for a memory.
const QUOTE_CHARS: usize = 400;
/// Events quoted, and dreams looked through, for one explanation.
const MAX_EVIDENCE: usize = 20;
const MAX_DREAMS: usize = 1_000;

/// Which statuses a list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StatusFilter {
    /// Memories in force.
    #[default]
    Active,
    /// All of them.
    All,
    /// One status.
    Only(Status),
}

/// `memory.list`.
#[derive(Debug, Clone, Default)]
pub struct ListRequest {
    /// Who asks.
    pub reader: Reader,
    /// All projects of the owner.
    pub everywhere: bool,
    /// Only these kinds; empty for all.
    pub kinds: Vec<Kind>,
    /// Which statuses.
    pub status: StatusFilter,
    /// Only memories whose title or body holds this text, case aside.
    pub text: Option<String>,
    /// Only what happened at or after this time.
    pub since: Option<Timestamp>,
    /// Only what happened before this time.
    pub until: Option<Timestamp>,
    /// Records of the page, 1–500.
    pub limit: usize,
    /// Where the page before ended.
    pub cursor: Option<String>,
}

/// A part of a longer list.
#[derive(Debug, Clone, PartialEq)]
pub struct Page<T> {
    /// The records.
    pub items: Vec<T>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// An event that speaks for a memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceLine {
    /// `session#event`.
    pub event: String,
    /// When it happened.
    pub at: Option<Timestamp>,
    /// What sort of event.
    pub kind: String,
    /// Who spoke.
    pub origin: String,
    /// What was said.
    pub quote: String,
}

/// Where a memory came from and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Why {
    /// The memory.
    pub memory: Memory,
    /// The events that speak for it.
    pub evidence: Vec<EvidenceLine>,
    /// What dreams did to it and where it was copied to, the last first.
    pub history: Vec<Step>,
    /// How often it was shown to an agent.
    pub shown: u64,
    /// What its score is made of, as it stands now.
    pub scores: BTreeMap<String, f64>,
    /// What would retire it, in one sentence.
    pub retires: String,
}

/// What was done to a memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// When.
    pub at: Timestamp,
    /// What.
    pub op: DreamOp,
    /// Which dream, if it was one.
    pub dream: Option<DreamId>,
    /// Why.
    pub because: String,
}

impl Engine {
    /// One memory, whatever its status.
    pub fn memory(&self, owner: &OwnerId, id: &MemoryId) -> Result<Memory, EngineError> {
        self.store().snapshot()?.memory(owner, id)?.ok_or_else(|| EngineError::not_found("memory", id))
    }

    /// A page of memories, the last updated first.
    pub fn memories(&self, owner: &OwnerId, request: &ListRequest) -> Result<Page<Memory>, EngineError> {
        if request.limit == 0 || request.limit > MAX_PAGE {
            return Err(EngineError::invalid(format!("limit is outside 1–{MAX_PAGE}")));
        }
        let after = request.cursor.as_deref().map(parse_cursor).transpose()?;
        let snapshot = self.store().snapshot()?;
        let place = self.place_of_reader(owner, &request.reader)?;
        let scopes = if request.everywhere {
            snapshot.scopes(owner)?
        } else {
            self.scopes_of(&snapshot, owner, place.as_ref(), &request.reader)?
        };
        let needle = request.text.as_ref().map(|text| text.to_lowercase());
        let mut memories = Vec::new();
        for scope in &scopes {
            memories.extend(
                snapshot
                    .memories(owner, scope)?
                    .into_iter()
                    .filter(|memory| listed(memory, request, needle.as_deref())),
            );
        }
        memories.sort_by(|a, b| position(b).cmp(&position(a)));
        if let Some((at, id)) = after {
            memories.retain(|memory| position(memory) < (at, id.as_str()));
        }
        let has_more = memories.len() > request.limit;
        memories.truncate(request.limit);
        let next = memories.last().filter(|_| has_more).map(|last| {
            let (at, id) = position(last);
            format!("{at}:{id}")
        });
        Ok(Page { items: memories, next })
    }

    /// Where a memory came from, what merged into it, how often it was shown.
    pub fn why(&self, owner: &OwnerId, id: &MemoryId) -> Result<Why, EngineError> {
        let snapshot = self.store().snapshot()?;
        let memory = snapshot.memory(owner, id)?.ok_or_else(|| EngineError::not_found("memory", id))?;
        let mut evidence = Vec::new();
        for event in memory.source.events.iter().take(MAX_EVIDENCE) {
            evidence.extend(quoted(&snapshot, owner, event, &memory)?);
        }
        let shown = snapshot.aux(owner, Family::Counter, &shown_key(id))?;
        let shown = shown.and_then(|bytes| String::from_utf8(bytes).ok()?.parse().ok()).unwrap_or(0);
        let mut history = history_of(id, snapshot.dreams(owner, MAX_DREAMS)?);
        history.extend(copies_of(&snapshot, owner, id)?.into_iter().map(|copy| Step {
            at: copy.at,
            op: DreamOp::Promote,
            dream: None,
            because: format!("you copied it into {}", copy.path),
        }));
        history.sort_by_key(|step| std::cmp::Reverse(step.at));
        let scores = BTreeMap::from([
            ("confidence".to_owned(), memory.confidence),
            (
                "age_days".to_owned(),
                self.now().duration_since(memory.last_confirmed_at).as_secs_f64() / 86_400.0,
            ),
            ("evidence".to_owned(), f64::from(memory.evidence_count)),
        ]);
        let retires = doze_dream::retires_when(&memory);
        Ok(Why { memory, evidence, history, shown, scores, retires })
    }
}

fn position(memory: &Memory) -> (i64, &str) {
    (memory.updated_at.as_millisecond(), memory.id.as_str())
}

fn parse_cursor(cursor: &str) -> Result<(i64, String), EngineError> {
    let parsed = cursor.split_once(':').and_then(|(at, id)| Some((at.parse().ok()?, id.to_owned())));
    parsed.ok_or_else(|| EngineError::invalid("cursor is not one that a list answered"))
}

fn listed(memory: &Memory, request: &ListRequest, needle: Option<&str>) -> bool {
    let status_fits = match request.status {
        StatusFilter::Active => memory.status == Status::Active,
        StatusFilter::All => true,
        StatusFilter::Only(status) => memory.status == status,
    };
    status_fits
        && (request.kinds.is_empty() || request.kinds.contains(&memory.kind))
        && request.since.is_none_or(|since| memory.created_at >= since)
        && request.until.is_none_or(|until| memory.created_at < until)
        && needle.is_none_or(|needle| {
            memory.title.to_lowercase().contains(needle) || memory.body.to_lowercase().contains(needle)
        })
}

/// The words of an event named `session#ordinal`; nothing when it is gone.
/// An event as evidence: of a long one the part that says it.
fn quoted(
    snapshot: &Snapshot,
    owner: &OwnerId,
    name: &str,
    memory: &Memory,
) -> Result<Option<EvidenceLine>, EngineError> {
    let Some(event) = event_named(snapshot, owner, name)? else { return Ok(None) };
    let said = match &event.tool {
        Some(tool) => format!("{}: {} → {}", tool.name, tool.input, tool.output),
        None => event.text,
    };
    Ok(Some(EvidenceLine {
        event: name.to_owned(),
        at: event.at,
        kind: event.kind.to_string(),
        origin: event.origin.to_string(),
        quote: doze_search::snippet(&said, &format!("{} {}", memory.title, memory.body), QUOTE_CHARS),
    }))
}

/// The event named `session#ordinal`; nothing when it is gone.
pub(crate) fn event_named(
    snapshot: &Snapshot,
    owner: &OwnerId,
    name: &str,
) -> Result<Option<Event>, EngineError> {
    let Some((session, ordinal)) = name.rsplit_once('#') else { return Ok(None) };
    let Ok(ordinal) = ordinal.parse::<u64>() else { return Ok(None) };
    for session in snapshot.sessions_named(owner, session)? {
        let events = snapshot.events(owner, &session.key, ordinal..ordinal.saturating_add(1))?;
        if let Some((_, event)) = events.into_iter().next() {
            return Ok(Some(event));
        }
    }
    Ok(None)
}

fn history_of(id: &MemoryId, dreams: Vec<Dream>) -> Vec<Step> {
    let mut steps = Vec::new();
    for dream in dreams {
        for change in dream.changes {
            let is_about =
                change.after.id == *id || change.before.as_ref().is_some_and(|before| before.id == *id);
            if is_about {
                steps.push(Step {
                    at: dream.ended_at,
                    op: change.op,
                    dream: Some(dream.id.clone()),
                    because: change.because,
                });
            }
        }
    }
    steps
}
