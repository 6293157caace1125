"""all-MiniLM-L6-v2 through ONNX Runtime: mean pooling, normalised, 256 tokens. Runs in a peer's environment."""

import pathlib

import numpy
import onnxruntime
import tokenizers


class MiniLm:
    def __init__(self, folder):
        self.session = onnxruntime.InferenceSession(str(pathlib.Path(folder) / "model.onnx"))
        self.tokenizer = tokenizers.Tokenizer.from_file(str(pathlib.Path(folder) / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(256)

    def embed(self, text):
        encoding = self.tokenizer.encode(text)
        given = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        given = {name: numpy.array([ids], dtype=numpy.int64) for name, ids in given.items()}
        vector = self.session.run(None, given)[0][0].mean(axis=0)
        return vector / numpy.linalg.norm(vector)
