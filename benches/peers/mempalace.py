"""MemPalace: its MCP server over pipes, with the storage and the embeddings it has by itself."""

import time

import lines
import places

PACKAGES = ["mempalace==3.11.0"]


class Peer:
    name = "MemPalace"
    folder_name = "mempalace"

    def __init__(self, options, folder):
        self.target, self.folder, self.home = options.target, folder, folder / "home"

    @classmethod
    def install(cls, target):
        places.install(target, cls.folder_name, PACKAGES)
        places.model(target)

    def version(self):
        return places.frozen(self.target, self.folder_name)["mempalace"]

    def prepare(self):
        places.fill_cache(self.target, self.home / ".cache" / "chroma" / "onnx_models" / "all-MiniLM-L6-v2" / "onnx")

    def start(self):
        begun = time.monotonic()
        command = [places.python(self.target, self.folder_name).parent / "mempalace-mcp", "--palace", self.home / "palace"]
        self.line = lines.Lines(command, self.home, self.folder / "log", {})
        self.process = self.line.process
        self.line.open_mcp()
        self.line.tool("mempalace_search", query="anything", limit=1)
        return time.monotonic() - begun

    def add(self, text):
        answer = self.line.tool("mempalace_add_drawer", wing="peers", room="notes", content=text)
        return answer.get("drawer_id") if answer.get("success") else None

    def hits(self, query, most):
        return self.line.tool("mempalace_search", query=query[:250], limit=most)["results"]

    def search(self, query, most):
        return [hit["drawer_id"] for hit in self.hits(query, most)]

    def texts(self, query, most):
        return [hit["text"] for hit in self.hits(query, most)]

    def stop(self):
        self.line.stop()
