"""One kept HTTP connection to a peer on this machine."""

import http.client
import json


class Web:
    def __init__(self, port):
        self.port, self.line = port, None

    def call(self, method, path, body=None):
        """The status and the object that was answered. OSError when nobody answers."""
        if self.line:
            try:
                return self.once(method, path, body)
            except OSError:
                # It was closed since it was last used; nothing was carried out.
                self.line = None
        self.line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        return self.once(method, path, body)

    def once(self, method, path, body):
        try:
            self.line.request(method, path, body and json.dumps(body), {"Content-Type": "application/json"})
            answer = self.line.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.line = None
            raise OSError(str(error)) from error
        if answer.status >= 500:
            raise RuntimeError(f"{path}: {answer.status} {text[:200]}")
        return answer.status, json.loads(text)
