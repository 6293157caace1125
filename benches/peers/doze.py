"""doze itself, over its socket: memory.add and recall.search in one project."""

import json
import socket
import time

import measure


class Peer:
    name = "doze"

    def __init__(self, options, folder):
        self.binaries, self.folder = options.doze_bin, folder
        self.home, self.last = folder / "home", 0

    def version(self):
        return self.call("hello", protocol=1, client="peers/1")["server"].split("/")[1]

    def prepare(self):
        (self.home / "project").mkdir()

    def start(self):
        begun = time.monotonic()
        env = {"DOZE_HOME": str(self.home / "doze")}
        self.process = measure.spawn([self.binaries / "dozed"], self.home, self.folder / "log", env)
        return measure.until(self.connect, begun)

    def connect(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(self.home / "doze" / "run" / "dozed.sock"))
        self.answers = self.socket.makefile("rb")
        self.call("hello", protocol=1, client="peers/1")
        self.search("anything", 1)

    def whole(self):
        """Whether meaning takes part; until it does, words alone answer."""
        return self.call("recall.search", query="anything", limit=1, cwd=str(self.home / "project"))["semantic"] == "on"

    def call(self, method, **params):
        self.last += 1
        request = {"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}
        self.socket.sendall(json.dumps(request).encode() + b"\n")
        answer = json.loads(self.answers.readline())
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def add(self, text):
        """The id that the text goes by from now on."""
        answer = self.call("memory.add", body=text, cwd=str(self.home / "project"), human=True)
        return answer["id"]

    def search(self, query, most):
        answer = self.call("recall.search", query=query, limit=most, cwd=str(self.home / "project"))
        return [hit["id"] for hit in answer["hits"]]

    def texts(self, query, most, **more):
        answer = self.call("recall.search", query=query, limit=most, cwd=str(self.home / "project"), **more)
        return [hit["body"] for hit in answer["hits"]]

    def superseded(self, query):
        """What is found when what a newer memory replaced is asked for too."""
        return self.texts(query, 10, superseded=True)

    def stop(self):
        measure.end(self.process)
