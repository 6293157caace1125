//! Models in ONNX Runtime, a library the person installed: for other models than the built-in one, or for more speed.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use doze_core::model::hex;
use fastembed::{
    AutoDevicePolicy, InitOptionsUserDefined, Pooling, TextEmbedding, TokenizerFiles,
    UserDefinedEmbeddingModel,
};
use sha2::{Digest, Sha256};

use super::model::{EmbedError, Embedder, ModelId, normalised};
use super::rten::{self, MAX_TOKENS};

/// A process can hold one ONNX Runtime: the first library that was good stays.
static LOADED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// The files of a sentence-transformers model with mean pooling.
pub struct ModelFiles {
    /// What people call it.
    pub name: String,
    /// The graph.
    pub onnx: Vec<u8>,
    /// Weights outside the graph, by the name under which it refers to them.
    pub weights: Vec<(String, Vec<u8>)>,
    /// `tokenizer.json`.
    pub tokenizer: Vec<u8>,
    /// `config.json`.
    pub config: Vec<u8>,
    /// `special_tokens_map.json`.
    pub special_tokens_map: Vec<u8>,
    /// `tokenizer_config.json`.
    pub tokenizer_config: Vec<u8>,
}

impl ModelFiles {
    /// The built-in model; its vectors are the same in both engines, so nothing has to be embedded again.
    pub fn built_in() -> Self {
        rten::files()
    }

    /// SHA-256 over graph, weights and tokenizer, one after the other.
    pub fn sha256(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(&self.onnx);
        self.weights.iter().for_each(|(_, bytes)| hash.update(bytes));
        hash.update(&self.tokenizer);
        hex(&hash.finalize())
    }
}

/// A model in ONNX Runtime, loaded.
pub struct OrtEmbedder {
    id: ModelId,
    model: TextEmbedding,
}

impl OrtEmbedder {
    /// Loads the model with the ONNX Runtime in `library`.
    ///
    /// # Errors
    /// The library is missing, is not ONNX Runtime, is older than 1.24, or another one is loaded already; or the model
    /// does not load in it.
    pub fn open(library: &Path, files: ModelFiles) -> Result<Self, EmbedError> {
        // The libraries below panic where a symbol is missing; such a library is unusable, the program is not.
        catch_unwind(AssertUnwindSafe(|| {
            load_library(library)?;
            Self::load(files)
        }))
        .unwrap_or_else(|_| Err(unusable(library, "it fails while it is loaded")))
    }

    fn load(files: ModelFiles) -> Result<Self, EmbedError> {
        let (name, sha256) = (files.name.clone(), files.sha256());
        let failed = |reason: String| EmbedError::Load { name: name.clone(), reason };
        let tokenizer = TokenizerFiles {
            tokenizer_file: files.tokenizer,
            config_file: files.config,
            special_tokens_map_file: files.special_tokens_map,
            tokenizer_config_file: files.tokenizer_config,
        };
        let mut model = UserDefinedEmbeddingModel::new(files.onnx, tokenizer).with_pooling(Pooling::Mean);
        for (name, bytes) in files.weights {
            model = model.with_external_initializer(name, bytes);
        }
        let options = InitOptionsUserDefined::new()
            .with_max_length(MAX_TOKENS)
            .with_intra_threads(1)
            .with_auto_device(AutoDevicePolicy::PreferCPU)
            // Spinning threads double the CPU time of a query.
            .with_session_config("session.intra_op.allow_spinning", "0");
        let model = TextEmbedding::try_new_from_user_defined(model, options);
        let mut model = model.map_err(|error| failed(error.to_string()))?;
        let dim = embed(&mut model, "dimension").map_err(|error| failed(error.to_string()))?.len();
        Ok(Self { id: ModelId { name, sha256, dim }, model })
    }
}

impl Embedder for OrtEmbedder {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn embed(&mut self, text: &str) -> Result<Vec<f32>, EmbedError> {
        embed(&mut self.model, text)
    }
}

/// One text at a time: a batch needs many times the memory.
fn embed(model: &mut TextEmbedding, text: &str) -> Result<Vec<f32>, EmbedError> {
    let vectors = model.embed([text], Some(1)).map_err(|error| EmbedError::Run(error.to_string()))?;
    normalised(vectors.into_iter().next().unwrap_or_default())
}

/// Loads the library for the life of the process, or sees that it is the one that is loaded.
fn load_library(library: &Path) -> Result<(), EmbedError> {
    let path = fs::canonicalize(library).map_err(|error| unusable(library, &error.to_string()))?;
    let mut loaded = LOADED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    match &*loaded {
        Some(other) if *other == path => Ok(()),
        Some(other) => {
            Err(unusable(library, &format!("{} is in use; restart the daemon to change it", other.display())))
        }
        None => {
            // The builder it gives is not needed: the environment is made with the first session.
            let found = ort::init_from(&path).map(drop);
            found.map_err(|error| unusable(library, &error.to_string()))?;
            *loaded = Some(path);
            Ok(())
        }
    }
}

fn unusable(library: &Path, reason: &str) -> EmbedError {
    EmbedError::Library { path: library.to_owned(), reason: reason.to_owned() }
}
