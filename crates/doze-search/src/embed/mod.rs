//! Embedding: from text to vectors, on one thread that stays out of the way.

mod chunk;
mod fetched;
mod model;
mod ort;
mod rten;
mod service;

pub use chunk::{MAX_CHUNK_CHARS, chunks};
pub use fetched::{FetchedModel, clear_unfinished};
pub use model::{EmbedError, Embedder, ModelId};
pub use ort::{ModelFiles, OrtEmbedder};
pub use rten::RtenEmbedder;
pub use service::{
    Done, EmbedOptions, EmbedService, Factory, ModelPhase, ModelState, QueryEmbedding, Submitted,
};

#[cfg(test)]
mod tests;
