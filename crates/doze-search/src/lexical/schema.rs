//! How a document lies in the tantivy index, and how filters are said in its terms.

use std::ops::Bound;

use doze_core::model::{OwnerId, SessionKey};
use tantivy::Term;
use tantivy::query::{BooleanQuery, Occur, Query, RangeQuery, TermQuery};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STORED, STRING, Schema, TantivyDocument, TextFieldIndexing,
    TextOptions,
};

use super::doc::{Doc, DocKind, DocRef, LexicalQuery};

/// The name under which the tokenizer is registered.
pub(super) const TOKENIZER: &str = "doze";

/// Stands in the status and kind fields of documents that have none.
const NONE: &str = "-";

/// The fields of the index.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    /// The id, stored, the only thing read back.
    pub(super) id: Field,
    /// Owner and id: what a change replaces.
    pub(super) key: Field,
    /// Owner and session: what `DeleteSession` takes out.
    pub(super) session: Field,
    space: Field,
    project: Field,
    kind: Field,
    status: Field,
    memory_kind: Field,
    at: Field,
    pub(super) title: Field,
    pub(super) body: Field,
}

/// The schema with its fields.
pub(super) fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let words = TextOptions::default().set_indexing_options(
        TextFieldIndexing::default().set_tokenizer(TOKENIZER).set_index_option(IndexRecordOption::WithFreqs),
    );
    let fields = Fields {
        id: builder.add_text_field("id", STORED),
        key: builder.add_text_field("key", STRING),
        session: builder.add_text_field("session", STRING),
        space: builder.add_text_field("space", STRING),
        project: builder.add_text_field("project", STRING),
        kind: builder.add_text_field("kind", STRING),
        status: builder.add_text_field("status", STRING),
        memory_kind: builder.add_text_field("memory_kind", STRING),
        at: builder.add_i64_field("at", INDEXED | FAST),
        title: builder.add_text_field("title", words.clone()),
        body: builder.add_text_field("body", words),
    };
    (builder.build(), fields)
}

/// What names a document among those of all owners.
pub(super) fn key(owner: &OwnerId, id: &str) -> String {
    format!("{owner}\0{id}")
}

/// What names a session among those of all owners.
pub(super) fn session_key(owner: &OwnerId, session: &SessionKey) -> String {
    format!("{owner}\0{}\0{}", session.session, session.harness)
}

/// The session a document belongs to, if it is a summary or an event.
pub(super) fn session_of(owner: &OwnerId, id: &str) -> Option<String> {
    match DocRef::parse(id)? {
        DocRef::Memory(_) => None,
        DocRef::Summary(session) | DocRef::Event(session, _) => Some(session_key(owner, &session)),
    }
}

impl Fields {
    /// The document as tantivy takes it.
    pub(super) fn document(&self, doc: &Doc) -> TantivyDocument {
        let mut document = TantivyDocument::default();
        document.add_text(self.id, &doc.id);
        document.add_text(self.key, key(&doc.owner, &doc.id));
        if let Some(session) = session_of(&doc.owner, &doc.id) {
            document.add_text(self.session, session);
        }
        document.add_text(self.space, key(&doc.owner, &doc.scope_key));
        if let Some(project) = &doc.project {
            document.add_text(self.project, project.as_str());
        }
        document.add_text(self.kind, doc.kind.as_str());
        document.add_text(self.status, doc.status.map_or(NONE, |status| status.as_str()));
        document.add_text(self.memory_kind, doc.memory_kind.map_or(NONE, |kind| kind.as_str()));
        document.add_i64(self.at, doc.at_ms);
        document.add_text(self.title, &doc.title);
        document.add_text(self.body, &doc.body);
        document
    }

    /// The filters of a query; they decide, they do not score.
    pub(super) fn filters(&self, query: &LexicalQuery) -> Vec<(Occur, Box<dyn Query>)> {
        let spaces = query.scope_keys.iter().map(|scope| key(&query.owner, scope));
        let mut filters = vec![any_of(self.space, spaces)];
        if let Some(project) = &query.project {
            filters.push(any_of(self.project, [project.as_str().to_owned()]));
        }
        if query.kinds != super::doc::DocKindSet::ALL {
            let kinds = DocKind::ALL.into_iter().filter(|&kind| query.kinds.contains(kind));
            filters.push(any_of(self.kind, kinds.map(|kind| kind.as_str().to_owned())));
        }
        if !query.statuses.is_empty() {
            let words = query.statuses.iter().map(|status| status.as_str());
            filters.push(any_of(self.status, words.chain([NONE]).map(str::to_owned)));
        }
        if !query.memory_kinds.is_empty() {
            let words = query.memory_kinds.iter().map(|kind| kind.as_str());
            filters.push(any_of(self.memory_kind, words.chain([NONE]).map(str::to_owned)));
        }
        if query.since_ms.is_some() || query.until_ms.is_some() {
            let bound = |at| Term::from_field_i64(self.at, at);
            let from = query.since_ms.map_or(Bound::Unbounded, |at| Bound::Included(bound(at)));
            let to = query.until_ms.map_or(Bound::Unbounded, |at| Bound::Excluded(bound(at)));
            filters.push(Box::new(RangeQuery::new(from, to)));
        }
        filters.into_iter().map(|filter| (Occur::Must, filter)).collect()
    }
}

/// Documents that hold one of the words in the field.
fn any_of(field: Field, words: impl IntoIterator<Item = String>) -> Box<dyn Query> {
    let terms = words.into_iter().map(|word| {
        let term = Term::from_field_text(field, &word);
        Box::new(TermQuery::new(term, IndexRecordOption::Basic)) as Box<dyn Query>
    });
    Box::new(BooleanQuery::union(terms.collect()))
}
