"""mem0 as a library:  python mem0_host.py MODEL_FOLDER"""

import os
import sys

import minilm
from langchain_core.embeddings import Embeddings
from mem0 import Memory
from serve import serve


class Local(Embeddings):
    def __init__(self, model):
        self.model = model

    def embed_query(self, text):
        return self.model.embed(text).tolist()

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]


home = os.environ["HOME"]
memory = Memory.from_config(
    {
        "vector_store": {
            "provider": "qdrant",
            "config": {"path": f"{home}/qdrant", "on_disk": True, "embedding_model_dims": 384},
        },
        "embedder": {"provider": "langchain", "config": {"model": Local(minilm.MiniLm(sys.argv[1]))}},
        "history_db_path": f"{home}/history.db",
    }
)


def add(text):
    results = memory.add(text, user_id="peers", infer=False)["results"]
    return results[0]["id"] if results else None


def search(query, most):
    # The threshold that it has by itself would leave out what fits little; here ten are asked for and ten are wanted.
    hits = memory.search(query, filters={"user_id": "peers"}, top_k=most, threshold=0.0)["results"]
    return [(hit["id"], hit["memory"]) for hit in hits]


serve(add, search)
