//! What an embedding model is to everything else.

use std::path::PathBuf;

/// Names a model so that vectors of different models are never mixed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ModelId {
    /// What people call it.
    pub name: String,
    /// SHA-256 over all of its bytes, in hex.
    pub sha256: String,
    /// The length of its vectors.
    pub dim: usize,
}

/// Why a text has no vector.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The model or its tokenizer cannot be loaded.
    #[error("the embedding model {name} cannot be loaded: {reason}; check its files or use the built-in one")]
    Load {
        /// The model.
        name: String,
        /// What the library said.
        reason: String,
    },
    /// The external engine's library is missing, is not one, or is too old.
    #[error("the ONNX Runtime library {} cannot be used: {reason}; version 1.24 or newer is needed", path.display())]
    Library {
        /// Where it was looked for.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The model that the configuration names could not be fetched.
    #[error("the embedding model cannot be fetched from {url}: {reason}")]
    Fetch {
        /// Its address, without what nobody may see.
        url: String,
        /// What went wrong; nothing was kept.
        reason: String,
    },
    /// Nobody wanted the model any more.
    #[error("the embedding model is not loaded while memory is off")]
    GivenUp,
    /// The model ran and failed.
    #[error("embedding failed: {0}; the text is still found by its words")]
    Run(String),
}

/// A loaded model.
pub trait Embedder: Send {
    /// Which model it is.
    fn id(&self) -> &ModelId;

    /// The vector of a text, of length 1 (L2). Only the first 256 tokens count.
    ///
    /// # Errors
    /// The model could not be run on it.
    fn embed(&mut self, text: &str) -> Result<Vec<f32>, EmbedError>;
}

/// Scales a vector to length 1.
///
/// # Errors
/// It has no direction: a component is not a number, or all are zero.
pub(crate) fn normalised(mut vector: Vec<f32>) -> Result<Vec<f32>, EmbedError> {
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if !norm.is_finite() || norm <= f32::MIN_POSITIVE {
        return Err(EmbedError::Run("the model gave a vector without direction".into()));
    }
    vector.iter_mut().for_each(|x| *x /= norm);
    Ok(vector)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_without_direction_are_refused() {
        assert_eq!(normalised(vec![3.0, 4.0]).unwrap(), [0.6, 0.8]);
        for bad in [vec![0.0, 0.0], vec![f32::NAN, 1.0], vec![f32::INFINITY, 1.0], vec![f32::MAX, f32::MAX]] {
            assert!(normalised(bad.clone()).is_err(), "{bad:?}");
        }
    }
}
