"""Peers that are libraries: a process that does nothing but hold one."""

import pathlib
import time

import lines
import places

HOSTS = pathlib.Path(__file__).resolve().parent / "hosts"
RUNTIME = ["onnxruntime==1.32.0", "tokenizers==0.23.3"]


class Library:
    env = {}

    def __init__(self, options, folder):
        self.target, self.folder, self.home = options.target, folder, folder / "home"

    @classmethod
    def install(cls, target):
        places.install(target, cls.folder_name, [*cls.packages, *RUNTIME])
        places.model(target)

    def version(self):
        return places.frozen(self.target, self.folder_name)[self.packages[0].split("==")[0]]

    def start(self):
        begun = time.monotonic()
        command = [places.python(self.target, self.folder_name), HOSTS / self.host, places.model(self.target)]
        self.line = lines.Lines(command, self.home, self.folder / "log", self.env)
        self.process = self.line.process
        self.search("anything", 1)
        return time.monotonic() - begun

    def prepare(self):
        """Nothing lies in its home before it is started."""

    def add(self, text):
        return self.line.call("add", text=text)

    def search(self, query, most):
        return [hit["id"] for hit in self.line.call("search", query=query, most=most)]

    def texts(self, query, most):
        return [hit["text"] for hit in self.line.call("search", query=query, most=most)]

    def stop(self):
        self.line.stop()


class Mem0(Library):
    name = "mem0"
    folder_name = "mem0"
    packages = ["mem0ai==2.2.1", "langchain==1.5.2"]
    host = "mem0_host.py"
    # Its default model writes nothing while `infer` is off, but is made all the same and asks for a key.
    env = {"OPENAI_API_KEY": "none", "MEM0_TELEMETRY": "False"}


class Sqlite(Library):
    name = "FTS5 + sqlite-vec"
    folder_name = "sqlite"
    packages = ["sqlite-vec==0.1.9"]
    host = "sqlite_host.py"
