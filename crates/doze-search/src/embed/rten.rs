//! The model that is built in: all-MiniLM-L6-v2 in pure Rust, its weights used where they lie in the program.

use std::sync::Arc;

use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool};
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, NdTensorView};
use tokenizers::Tokenizer;

use super::model::{EmbedError, Embedder, ModelId, normalised};
use super::ort::ModelFiles;

/// The graph; its weights are in [`WEIGHTS`].
static GRAPH: &[u8] = include_bytes!("../../model/minilm.onnx");
/// Aligned, so that they need not be copied.
static WEIGHTS: &[u8] = rten::include_external_data!("../../model/minilm.onnx.data");
static TOKENIZER: &[u8] = include_bytes!("../../model/tokenizer.json");

/// The name by which the graph calls its weights.
const WEIGHTS_NAME: &str = "minilm.onnx.data";
const NAME: &str = "all-MiniLM-L6-v2-int8";
/// SHA-256 over graph, weights and tokenizer, one after the other; a test holds it to the files.
const SHA256: &str = "bb58989edcf66f8276bb2e40f4320e0fa38123b24e29f5eb1d4b94207f70d2b9";
/// The length of its vectors.
const DIM: usize = 384;
/// Tokens beyond these are not read.
pub(super) const MAX_TOKENS: usize = 256;

/// The built-in model, loaded.
pub struct RtenEmbedder {
    id: ModelId,
    model: Model,
    tokenizer: Tokenizer,
    /// `input_ids`, `attention_mask`, and `token_type_ids` where the model has them.
    inputs: [Option<NodeId>; 3],
    output: NodeId,
    options: RunOptions,
}

impl RtenEmbedder {
    /// Which model is built in.
    pub fn model_id() -> ModelId {
        ModelId { name: NAME.into(), sha256: SHA256.into(), dim: DIM }
    }

    /// Loads it: about 40 ms, after which LOADED_MB MB are held until it is dropped. The weights are laid out anew for the
    /// processor at once; done for every text, that took more than half of the time of a short one.
    ///
    /// # Errors
    /// The program was built with files that do not fit together.
    pub fn load() -> Result<Self, EmbedError> {
        let model = ModelOptions::with_all_ops()
            .external_data_static(WEIGHTS_NAME, WEIGHTS)
            .prepack_weights(true)
            .load_static_slice(GRAPH)
            .map_err(|error| broken(NAME, &error))?;
        Self::with(Self::model_id(), model, TOKENIZER)
    }

    /// Loads another model of its kind and tries it on a word.
    ///
    /// # Errors
    /// The files are no model, or one whose first output is not 384 numbers a token.
    pub fn open(id: ModelId, files: ModelFiles) -> Result<Self, EmbedError> {
        let mut options = ModelOptions::with_all_ops();
        for (name, bytes) in files.weights {
            options.external_data(&name, bytes);
        }
        let model = options.load(files.onnx).map_err(|error| broken(&id.name, &error))?;
        let mut embedder = Self::with(id, model, &files.tokenizer)?;
        embedder.embed("dimension").map_err(|error| broken(&embedder.id.name, &error))?;
        Ok(embedder)
    }

    fn with(id: ModelId, model: Model, json: &[u8]) -> Result<Self, EmbedError> {
        let input = |name| model.node_id(name).map_err(|error| broken(&id.name, &error));
        let inputs =
            [Some(input("input_ids")?), Some(input("attention_mask")?), model.find_node("token_type_ids")];
        let output = model.output_ids().first().copied();
        let output = output.ok_or_else(|| broken(&id.name, &"it has no output"))?;
        let tokenizer = tokenizer(json).map_err(|error| broken(&id.name, &error))?;
        // One thread is enough: two save a third of the time and cost a quarter more work.
        let options = RunOptions::default().with_thread_pool(Some(Arc::new(ThreadPool::with_num_threads(1))));
        Ok(Self { id, model, tokenizer, inputs, output, options })
    }
}

fn broken(name: &str, reason: &dyn std::fmt::Display) -> EmbedError {
    EmbedError::Load { name: name.to_owned(), reason: reason.to_string() }
}

impl Embedder for RtenEmbedder {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn embed(&mut self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let run = |error: &dyn std::fmt::Display| EmbedError::Run(error.to_string());
        let encoding = self.tokenizer.encode(text, true).map_err(|error| run(&error))?;
        let row = |values: &[u32]| {
            NdTensor::from_data(
                [1, values.len()],
                values.iter().map(|&value| value as i32).collect::<Vec<_>>(),
            )
        };
        let mask = encoding.get_attention_mask();
        let inputs = [row(encoding.get_ids()), row(mask), row(encoding.get_type_ids())];
        let given = self.inputs.into_iter().zip(inputs);
        let inputs = given.filter_map(|(id, tensor)| Some((id?, tensor.into()))).collect();
        let outputs = self
            .model
            .run(inputs, &[self.output], Some(self.options.clone()))
            .map_err(|error| run(&error))?;
        let output = outputs.first().ok_or_else(|| run(&"no output"))?;
        let states: NdTensorView<f32, 3> = output.try_into().map_err(|error| run(&error))?;
        mean(&states, mask)
    }
}

/// The files of the built-in model, for another engine.
pub(super) fn files() -> ModelFiles {
    ModelFiles {
        name: NAME.into(),
        onnx: GRAPH.to_vec(),
        weights: vec![(WEIGHTS_NAME.into(), WEIGHTS.to_vec())],
        tokenizer: TOKENIZER.to_vec(),
        config: include_bytes!("../../model/config.json").to_vec(),
        special_tokens_map: include_bytes!("../../model/special_tokens_map.json").to_vec(),
        tokenizer_config: include_bytes!("../../model/tokenizer_config.json").to_vec(),
    }
}

/// The tokenizer, cutting at 256 tokens and adding none to fill up.
fn tokenizer(json: &[u8]) -> tokenizers::Result<Tokenizer> {
    let mut tokenizer = Tokenizer::from_bytes(json)?;
    let truncation = tokenizers::TruncationParams { max_length: MAX_TOKENS, ..Default::default() };
    tokenizer.with_truncation(Some(truncation))?.with_padding(None);
    Ok(tokenizer)
}

/// The mean of the states of the tokens that count, scaled to length 1.
fn mean(states: &NdTensorView<f32, 3>, mask: &[u32]) -> Result<Vec<f32>, EmbedError> {
    if states.shape() != [1, mask.len(), DIM] {
        return Err(EmbedError::Run(format!("the output has the shape {:?}", states.shape())));
    }
    let mut sum = vec![0.0; DIM];
    for (token, _) in mask.iter().enumerate().filter(|&(_, &counts)| counts != 0) {
        for (dim, sum) in sum.iter_mut().enumerate() {
            *sum += states[[0, token, dim]];
        }
    }
    // Dividing by the number of tokens changes nothing after scaling.
    normalised(sum)
}
