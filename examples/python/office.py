"""A client of doze in plain Python, and an agent's day with it:  python3 office.py FOLDER"""
import json, os, socket, sys


class Doze:
    def __init__(self):
        env = os.environ.get
        state = env("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
        homes = [f"{env('XDG_RUNTIME_DIR') or f'/run/user/{os.getuid()}'}/doze", f"{state}/doze/run"]
        homes = [f"{env('DOZE_HOME')}/run"] if env("DOZE_HOME") else homes
        places = [env("DOZE_SOCKET")] if env("DOZE_SOCKET") else [f"{home}/dozed.sock" for home in homes]
        self.socket, self.last = socket.socket(socket.AF_UNIX), 0
        self.socket.connect(next(filter(os.path.exists, places), places[0]))
        self.answers = self.socket.makefile("rb")
        self.call("hello", protocol=1, client="office.py/1")

    def call(self, method, **params):
        self.last += 1
        request = {"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}
        self.socket.sendall(json.dumps(request).encode() + b"\n")
        answer = json.loads(self.answers.readline())
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]


if __name__ == "__main__":
    doze, me = Doze(), {"agent": "py-1", "cwd": os.path.abspath(sys.argv[1])}
    doze.call("work.set", **me, session="py", task_prompt="Build the cart", next_steps=["test the cart"])
    print(doze.call("recall.recover", **me)["text"], end="\n\n")
    output = "Important: the cart keeps its prices in cents.\nSUMMARY: built the cart"
    doze.call("session.commit", **me, session="py", output=output, changed_files=["src/cart.py"])
    print(doze.call("recall.context", **me)["text"], end="\n\n")
    print(doze.call("recall.roster", cwd=me["cwd"], agents=["py-1"])["text"])
