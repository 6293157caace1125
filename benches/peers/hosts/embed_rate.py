"""How many texts a second ONNX Runtime embeds from Python:  python embed_rate.py MODEL_FILE TOKENIZER_FILE THREADS

Reads texts from standard input, a JSON array; prints the rate, and the vector of the first text.
"""

import json
import sys
import time

import numpy
import onnxruntime
import tokenizers

model, tokenizer, threads = sys.argv[1:]
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(threads)
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
wanted = {given.name for given in session.get_inputs()}
tokenizer = tokenizers.Tokenizer.from_file(tokenizer)
tokenizer.no_padding()
tokenizer.enable_truncation(256)


def embed(text):
    encoding = tokenizer.encode(text)
    given = {"input_ids": encoding.ids, "attention_mask": encoding.attention_mask, "token_type_ids": encoding.type_ids}
    given = {name: numpy.array([ids], dtype=numpy.int64) for name, ids in given.items() if name in wanted}
    vector = session.run(None, given)[0][0].mean(axis=0)
    return vector / numpy.linalg.norm(vector)


texts = json.load(sys.stdin)
first = embed(texts[0])
start = time.perf_counter()
for text in texts:
    embed(text)
rate = len(texts) / (time.perf_counter() - start)
print(json.dumps({"rate": rate, "first": [float(number) for number in first]}))
