"""A SearXNG server for tests that speaks real HTTP: GET /search?format=json.

    with ScriptedSearxng(results=[{"url": ..., "title": ..., "content": ...}]) as web: ...

`reply` makes something else of the next requests: a status (302 with a location of its own, 403, 500), "stall", "huge", "html",
"wrong_shape". `requests` has path with query and headers, in order.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]


class ScriptedSearxng:
    def __init__(self, results: list[Any] | None = None) -> None:
        self.results = results or []
        self.reply: int | str = 200
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.released = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> ScriptedSearxng:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._http.shutdown()
        self._http.server_close()


def _handler(server: ScriptedSearxng) -> type[BaseHTTPRequestHandler]:
    class Bound(BaseHTTPRequestHandler):
        def log_message(self, format: str, *arguments: Any) -> None:
            """Nothing to the terminal."""

        def do_GET(self) -> None:
            server.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            body, kind, status = json.dumps({"query": "", "results": server.results}).encode(), "application/json", 200
            match server.reply:
                case "stall":
                    server.released.wait(60)
                case "huge":
                    body = b'{"results": [' + b" " * 3_000_000 + b"]}"
                case "html":
                    body, kind = b"<html>No</html>", "text/html"
                case "wrong_shape":
                    body = b'{"results": {"a": 1}}'
                case int() as status:
                    pass
            try:
                self.send_response(status)
                if status == 302:
                    self.send_header("location", f"{server.url}/elsewhere")
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:
                pass  # the client has gone, as it should

    return Bound
