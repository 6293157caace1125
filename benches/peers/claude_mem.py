"""claude-mem's worker over HTTP, with the vector search that it starts through uv."""

import json
import subprocess
import time
import urllib.parse

import measure
import places
import web

PACKAGES = ["claude-mem@13.25.3", "bun@1.4.5"]
UV = "uv==0.13.9"
# The `mcp` that its vector search fetches at the first start cannot be imported beside a newer one.
CONSTRAINT = "pydantic<2.12"


class Peer:
    name = "claude-mem"
    folder_name = "claude-mem"

    def __init__(self, options, folder):
        self.target, self.folder, self.home = options.target, folder, folder / "home"
        self.port = measure.free_port()
        self.web = web.Web(self.port)

    @classmethod
    def install(cls, target):
        folder = target / cls.folder_name
        folder.mkdir(parents=True, exist_ok=True)
        # Without --legacy-peer-deps npm weighs what its optional neighbours ask for and does not come to an end.
        npm = ["npm", "install", "--legacy-peer-deps", "--no-audit", "--no-fund", *PACKAGES]
        subprocess.run(npm, cwd=folder, check=True)
        places.install(target, cls.folder_name, [UV])
        places.model(target)
        (folder / "constraints.txt").write_text(CONSTRAINT + "\n")

    def version(self):
        package = self.target / self.folder_name / "node_modules" / "claude-mem" / "package.json"
        return json.loads(package.read_text())["version"]

    def prepare(self):
        places.fill_cache(self.target, self.home / ".cache" / "chroma" / "onnx_models" / "all-MiniLM-L6-v2" / "onnx")

    def start(self):
        place = self.target / self.folder_name
        modules = place / "node_modules"
        uv = places.python(self.target, self.folder_name).parent
        env = {
            "PATH": f"{uv}:{modules / '.bin'}:/usr/local/bin:/usr/bin:/bin",
            "CLAUDE_MEM_DATA_DIR": str(self.home / "data"),
            "CLAUDE_MEM_WORKER_PORT": str(self.port),
            "CLAUDE_MEM_PYTHON_VERSION": "3.11",
            "CLAUDE_MEM_CHROMA_PREWARM_TIMEOUT_MS": "600000",
            "UV_CACHE_DIR": str(place / "uv-cache"),
            "UV_CONSTRAINT": str(place / "constraints.txt"),
            "UV_PYTHON_DOWNLOADS": "never",
        }
        worker = modules / "claude-mem" / "plugin" / "scripts" / "worker-service.cjs"
        begun = time.monotonic()
        self.process = measure.spawn([modules / ".bin" / "bun", worker, "--daemon"], self.home, self.folder / "log", env)
        return measure.until(lambda: self.search("anything", 1), begun)

    def add(self, text):
        _, answer = self.web.call("POST", "/api/memory/save", {"text": text, "project": "peers"})
        return answer["id"] if answer.get("success") else None

    def hits(self, query, most):
        asked = {"query": query, "type": "observations", "project": "peers", "limit": most, "format": "json"}
        return self.web.call("GET", "/api/search?" + urllib.parse.urlencode(asked))[1]["observations"]

    def search(self, query, most):
        return [hit["id"] for hit in self.hits(query, most)]

    def texts(self, query, most):
        return [hit["narrative"] for hit in self.hits(query, most)]

    def stop(self):
        measure.end(self.process)
