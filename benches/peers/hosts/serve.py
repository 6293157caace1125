"""Answers `add` and `search` for a library, a JSON object a line."""

import json
import sys


def serve(add, search):
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        request = json.loads(line)
        params = request["params"]
        if request["method"] == "add":
            result = add(params["text"])
        else:
            result = [{"id": id, "text": text} for id, text in search(params["query"], params["most"])]
        answers.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}) + "\n")
        answers.flush()
