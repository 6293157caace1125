"""mcp-memory-service: its HTTP server with the storage and the embeddings it has by itself."""

import time

import measure
import places
import web

PACKAGES = ["mcp-memory-service[sqlite]==12.4.0"]


class Peer:
    name = "mcp-memory-service"
    folder_name = "mcp-memory"

    def __init__(self, options, folder):
        self.target, self.folder, self.home = options.target, folder, folder / "home"
        self.port = measure.free_port()
        self.web = web.Web(self.port)

    @classmethod
    def install(cls, target):
        places.install(target, cls.folder_name, PACKAGES)
        places.model(target)

    def version(self):
        return places.frozen(self.target, self.folder_name)["mcp-memory-service"]

    def prepare(self):
        places.fill_cache(self.target, self.home / ".cache" / "mcp_memory" / "onnx_models" / "all-MiniLM-L6-v2" / "onnx")

    def start(self):
        begun = time.monotonic()
        command = [places.python(self.target, self.folder_name).parent / "memory", "server", "--http"]
        env = {"MCP_ALLOW_ANONYMOUS_ACCESS": "true", "MCP_HTTP_PORT": str(self.port), "MCP_HTTP_HOST": "127.0.0.1"}
        self.process = measure.spawn(command, self.home, self.folder / "log", env)
        return measure.until(lambda: self.search("anything", 1), begun)

    def add(self, text):
        status, answer = self.web.call("POST", "/api/memories", {"content": text})
        return answer.get("content_hash") if status == 200 and answer.get("success") else None

    def hits(self, query, most):
        _, answer = self.web.call("POST", "/api/search", {"query": query, "n_results": most})
        return [hit["memory"] for hit in answer["results"]]

    def search(self, query, most):
        return [hit["content_hash"] for hit in self.hits(query, most)]

    def texts(self, query, most):
        return [hit["content"] for hit in self.hits(query, most)]

    def stop(self):
        measure.end(self.process)
