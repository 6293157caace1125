//! What is fed to the index and what is asked of it.

use doze_core::model::{Kind, OwnerId, ProjectId, SessionKey, Status};

/// What a document of the index stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DocKind {
    /// A memory.
    Memory,
    /// The summary of a session.
    Summary,
    /// A raw event of a session.
    Event,
}

impl DocKind {
    /// Every kind, in the order of declaration.
    pub const ALL: [Self; 3] = [Self::Memory, Self::Summary, Self::Event];

    /// The word that stands for this kind inside the index.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Summary => "summary",
            Self::Event => "event",
        }
    }
}

/// A set of [`DocKind`]s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocKindSet(u8);

impl DocKindSet {
    /// Every kind.
    pub const ALL: Self = Self(0b111);
    /// Memories only.
    pub const MEMORIES: Self = Self(0b001);

    /// The set of these kinds.
    pub fn of(kinds: &[DocKind]) -> Self {
        Self(kinds.iter().fold(0, |bits, &kind| bits | 1 << kind as u8))
    }

    /// Whether `kind` is in the set.
    pub fn contains(self, kind: DocKind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }
}

impl Default for DocKindSet {
    fn default() -> Self {
        Self::ALL
    }
}

/// One document of the index. Everything in it can be made again from the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doc {
    /// `m:<memory id>`, `s:<session>\0<harness>` or `e:<session>\0<harness>\0<ordinal>`; unique for its owner.
    pub id: String,
    /// Whose it is.
    pub owner: OwnerId,
    /// The space it lies in, as `Scope::key` writes it.
    pub scope_key: String,
    /// The project it belongs to.
    pub project: Option<ProjectId>,
    /// What it stands for.
    pub kind: DocKind,
    /// The status of a memory.
    pub status: Option<Status>,
    /// The kind of a memory.
    pub memory_kind: Option<Kind>,
    /// One line; weighs twice (S1.24). The first 4 KiB are indexed.
    pub title: String,
    /// The text. The first 256 KiB are indexed.
    pub body: String,
    /// The time of the event it came from, in milliseconds since 1970.
    pub at_ms: i64,
}

/// The id of a memory's document.
pub fn memory_doc_id(memory: &str) -> String {
    format!("m:{memory}")
}

/// The id of a session's summary.
pub fn summary_doc_id(key: &SessionKey) -> String {
    format!("s:{}\0{}", key.session, key.harness)
}

/// The id of a session's event.
pub fn event_doc_id(key: &SessionKey, ordinal: u64) -> String {
    format!("e:{}\0{}\0{ordinal}", key.session, key.harness)
}

/// What [`memory_doc_id`], [`summary_doc_id`] and [`event_doc_id`] put together, taken apart again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocRef {
    /// The memory with this id.
    Memory(String),
    /// The summary of this session.
    Summary(SessionKey),
    /// The event of this session with this ordinal.
    Event(SessionKey, u64),
}

impl DocRef {
    /// Reads a document id; `None` for anything that is not one.
    pub fn parse(id: &str) -> Option<Self> {
        let (sort, name) = id.split_once(':')?;
        let mut parts = name.split('\0');
        let parsed = match (sort, parts.next()?, parts.next(), parts.next()) {
            ("m", memory, None, None) => Self::Memory(memory.to_owned()),
            ("s", session, Some(harness), None) => Self::Summary(SessionKey::new(session, harness)),
            ("e", session, Some(harness), Some(ordinal)) => {
                Self::Event(SessionKey::new(session, harness), ordinal.parse().ok()?)
            }
            _ => return None,
        };
        parts.next().is_none().then_some(parsed)
    }
}

/// One change of the index. The owner is part of every name: two owners may use the same session id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocChange {
    /// Adds a document or replaces the one with its id.
    Put(Doc),
    /// Takes a document out; nothing happens when it is not there.
    Delete {
        /// Whose it is.
        owner: OwnerId,
        /// Its id.
        id: String,
    },
    /// Takes the summary and every event of a session out.
    DeleteSession {
        /// Whose it is.
        owner: OwnerId,
        /// The session.
        session: SessionKey,
    },
}

/// How the words of a query are understood. Neither has operators, neither can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QuerySyntax {
    /// Every term, OR-combined.
    #[default]
    Default,
    /// S1.24: at most 12 words of more than one letter, OR-combined, the last one also as the beginning of a word.
    Openorc,
}

/// A question to the index. Every filter is applied before ranking.
#[derive(Debug, Clone)]
pub struct LexicalQuery {
    /// What was typed.
    pub text: String,
    /// Whose documents.
    pub owner: OwnerId,
    /// The spaces to look in, as `Scope::key` writes them; an empty list finds nothing.
    pub scope_keys: Vec<String>,
    /// Only documents of this project.
    pub project: Option<ProjectId>,
    /// What sort of documents.
    pub kinds: DocKindSet,
    /// Only memories with one of these statuses; empty asks for no status. Other documents have none and pass.
    pub statuses: Vec<Status>,
    /// Only memories of these kinds; empty asks for no kind. Other documents have none and pass.
    pub memory_kinds: Vec<Kind>,
    /// Not older than this (milliseconds since 1970, inclusive).
    pub since_ms: Option<i64>,
    /// Older than this (milliseconds since 1970, exclusive).
    pub until_ms: Option<i64>,
    /// At most so many hits.
    pub limit: usize,
    /// How the text is understood.
    pub syntax: QuerySyntax,
}

impl LexicalQuery {
    /// A query without filters other than owner and spaces.
    pub fn new(text: impl Into<String>, owner: OwnerId, scope_keys: Vec<String>, limit: usize) -> Self {
        Self {
            text: text.into(),
            owner,
            scope_keys,
            project: None,
            kinds: DocKindSet::ALL,
            statuses: Vec::new(),
            memory_kinds: Vec::new(),
            since_ms: None,
            until_ms: None,
            limit,
            syntax: QuerySyntax::Default,
        }
    }

    /// Whether a document passes the filters; the index asks the same in its own terms.
    pub(crate) fn admits(&self, doc: &Doc) -> bool {
        doc.owner == self.owner
            && self.scope_keys.contains(&doc.scope_key)
            && self.project.as_ref().is_none_or(|project| doc.project.as_ref() == Some(project))
            && self.kinds.contains(doc.kind)
            && doc.status.is_none_or(|status| self.statuses.is_empty() || self.statuses.contains(&status))
            && doc
                .memory_kind
                .is_none_or(|kind| self.memory_kinds.is_empty() || self.memory_kinds.contains(&kind))
            && self.since_ms.is_none_or(|since| doc.at_ms >= since)
            && self.until_ms.is_none_or(|until| doc.at_ms < until)
    }
}

/// A document that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct LexicalHit {
    /// The document's id.
    pub id: String,
    /// BM25, title counted twice; above zero, comparable within one answer only.
    pub score: f32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_ids_can_be_read_back() {
        let key = SessionKey::new("s-81", "codex");
        assert_eq!(DocRef::parse(&memory_doc_id("0192")), Some(DocRef::Memory("0192".into())));
        assert_eq!(DocRef::parse(&summary_doc_id(&key)), Some(DocRef::Summary(key.clone())));
        assert_eq!(DocRef::parse(&event_doc_id(&key, 7)), Some(DocRef::Event(key, 7)));
        for id in ["", "m", "x:1", "s:only", "e:a\0b", "e:a\0b\0c", "e:a\0b\x007\x008", "m:a\0b"] {
            assert_eq!(DocRef::parse(id), None, "{id:?}");
        }
    }

    #[test]
    fn kind_sets_hold_what_they_were_made_of() {
        let set = DocKindSet::of(&[DocKind::Memory, DocKind::Event]);
        assert!(
            set.contains(DocKind::Memory) && !set.contains(DocKind::Summary) && set.contains(DocKind::Event)
        );
        assert_eq!(DocKindSet::of(&DocKind::ALL), DocKindSet::ALL);
    }
}
