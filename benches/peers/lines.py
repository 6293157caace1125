"""A process that answers a JSON object a line: MCP servers, and the hosts of libraries."""

import json

import measure


class Lines:
    def __init__(self, command, home, log, env):
        self.process = measure.spawn(command, home, log, env, pipes=True)
        self.last = 0

    def call(self, method, **params):
        self.last += 1
        self.send({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError(f"{method}: the process ended")
            if not line.startswith(b"{"):
                continue
            answer = json.loads(line)
            if answer.get("id") != self.last:
                continue
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            return answer["result"]

    def send(self, request):
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()

    def open_mcp(self):
        self.call("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "peers", "version": "1"})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def tool(self, name, **arguments):
        """What a tool answered, as an object."""
        answer = self.call("tools/call", name=name, arguments=arguments)
        text = answer["content"][0]["text"]
        if answer.get("isError"):
            raise RuntimeError(f"{name}: {text[:200]}")
        return json.loads(text)

    def stop(self):
        measure.end(self.process)
