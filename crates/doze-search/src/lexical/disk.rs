//! The index on disk: opening it only when it is sound, starting anew when it is not.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use tantivy::directory::MmapDirectory;
use tantivy::indexer::IndexWriterOptions;
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy, Searcher};

use super::IndexError;
use super::schema::{Fields, TOKENIZER, schema};
use crate::text::analyzer;

/// Changes whenever schema, tokenizer or what is put in change what the files mean; other numbers are built anew.
const FORMAT: u32 = 3;
/// Every checksum of an index up to this size is verified when it is opened; larger ones would delay the start.
const VERIFIED_BYTES: u64 = 256 << 20;
/// What the one indexing thread may hold before it writes a segment.
const WRITER_BYTES: usize = 16 << 20;

/// An open index.
pub(super) struct Disk {
    index: Index,
    reader: IndexReader,
    pub(super) fields: Fields,
    pub(super) searcher: Searcher,
}

impl Disk {
    /// Opens the index in `dir` with the change number it has reached; an unsound one is deleted and begun anew at 0.
    pub(super) fn open(dir: &Path) -> Result<(Self, u64), IndexError> {
        // Heavily damaged files can make tantivy panic; that is one more way of being unsound.
        let opened = catch_unwind(AssertUnwindSafe(|| Self::open_sound(dir)));
        let reason = match opened {
            Ok(Ok(opened)) => return Ok(opened),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "its files are garbled".to_owned(),
        };
        tracing::warn!(dir = %dir.display(), reason, "the full-text index cannot be used and is built anew");
        Ok((Self::create(dir)?, 0))
    }

    /// Deletes whatever is in `dir` and begins an empty index.
    pub(super) fn create(dir: &Path) -> Result<Self, IndexError> {
        let removed = if dir.is_dir() { fs::remove_dir_all(dir) } else { fs::remove_file(dir) };
        match removed {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(IndexError::Folder(error));
            }
            _ => fs::create_dir_all(dir).map_err(IndexError::Folder)?,
        }
        Ok(Self::open_sound(dir)?.0)
    }

    fn open_sound(dir: &Path) -> Result<(Self, u64), IndexError> {
        fs::create_dir_all(dir).map_err(IndexError::Folder)?;
        let (schema, fields) = schema();
        let mmap = MmapDirectory::open(dir).map_err(tantivy::TantivyError::from)?;
        let index = Index::open_or_create(mmap, schema)?;
        index.tokenizers().register(TOKENIZER, analyzer());
        let seq = match index.load_metas()? {
            metas if metas.payload.is_none() && metas.segments.is_empty() => 0,
            metas => metas.payload.as_deref().and_then(read_payload).ok_or(IndexError::Foreign)?,
        };
        if folder_bytes(dir) <= VERIFIED_BYTES && !index.validate_checksum()?.is_empty() {
            return Err(IndexError::Damaged);
        }
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let searcher = reader.searcher();
        Ok((Self { index, reader, fields, searcher }, seq))
    }

    /// A writer with one indexing and one merging thread.
    pub(super) fn writer(&self) -> tantivy::Result<IndexWriter> {
        self.index.writer_with_options(
            IndexWriterOptions::builder()
                .num_worker_threads(1)
                .num_merge_threads(1)
                .memory_budget_per_thread(WRITER_BYTES)
                .build(),
        )
    }

    /// The state after the last commit.
    pub(super) fn reloaded(&self) -> tantivy::Result<Searcher> {
        self.reader.reload()?;
        Ok(self.reader.searcher())
    }
}

/// What a commit says of itself.
pub(super) fn payload(seq: u64) -> String {
    format!("doze {FORMAT} {seq}")
}

/// The change number of a payload in this format.
fn read_payload(payload: &str) -> Option<u64> {
    payload.strip_prefix("doze ")?.strip_prefix(&format!("{FORMAT} "))?.parse().ok()
}

/// The size of the files in a folder; what cannot be read counts as nothing.
fn folder_bytes(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|meta| meta.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_of_another_format_is_foreign() {
        assert_eq!(read_payload(&payload(42)), Some(42));
        for foreign in ["", "doze", "doze 1", "doze 0 42", "doze 11 42", "doze 1 -1", "42"] {
            assert_eq!(read_payload(foreign), None, "{foreign:?}");
        }
    }
}
