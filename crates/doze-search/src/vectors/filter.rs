//! What is known of a document beside its vectors, and which documents a search may find.

use doze_core::model::{Kind, OwnerId, ProjectId, Status};

use crate::lexical::{DocKind, DocKindSet, LexicalQuery};

/// What a search can ask of a document with vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorMeta {
    /// The document's id, unique for its owner.
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
    /// The time of the event it came from, in milliseconds since 1970.
    pub at_ms: i64,
}

/// Which documents may be found. It means the same as the filters of a [`LexicalQuery`].
#[derive(Debug, Clone)]
pub struct VectorFilter {
    /// Whose documents.
    pub owner: OwnerId,
    /// The spaces to look in; an empty list finds nothing.
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
}

impl From<&LexicalQuery> for VectorFilter {
    fn from(query: &LexicalQuery) -> Self {
        Self {
            owner: query.owner.clone(),
            scope_keys: query.scope_keys.clone(),
            project: query.project.clone(),
            kinds: query.kinds,
            statuses: query.statuses.clone(),
            memory_kinds: query.memory_kinds.clone(),
            since_ms: query.since_ms,
            until_ms: query.until_ms,
        }
    }
}

/// A document that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorHit {
    /// The document's id.
    pub id: String,
    /// The cosine of the query and the nearest of its chunks, from −1 to 1.
    pub score: f32,
}

/// Why a document's vectors were not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VectorError {
    /// They were made by another model: embed the document again.
    #[error("a vector has {found} components instead of {expected}; embed the document again")]
    Dimension {
        /// What every vector here has.
        expected: usize,
        /// What this one has.
        found: usize,
    },
    /// A component is not a number, or all are zero.
    #[error("a vector has no direction; embed the document again")]
    NoDirection,
}
