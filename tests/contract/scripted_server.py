"""A model server for tests that speaks real HTTP: OpenAI chat.completions (whole and streaming) and embeddings, Cohere
v2 rerank. Unscripted requests get a good, deterministic answer; `script` says what becomes of the next ones.

    with ScriptedServer() as server:
        server.script(Reply("429", retry_after=1), Reply("ok", text="Hello"))
        chat = OpenAIChat("m", "key", server.openai_url)

Kinds of reply for every endpoint: ok (after `seconds`), 401 (repeats the key), 429, quota (429 for good), 500, 529, 502
(HTML), disconnect, stall, flood (a line without end), unasked stream (of the `deltas` in `message`), body (`message` as it
is), absent path (404), malformed (broken JSON), wrong_shape, html_200, 400, refuse (400 that names `field`).
Chat: empty, length, length_empty, no_finish. Its streams: error_first; after two words cut, error_chunk, bad_chunk,
odd_chunk, garbage, stall_late; at the end silent_end; drip (a word per 0.2 s); held
(two words, the others when the test says `released.set()`); endless (one full stop after the other).
With `tools` in a request: `server.tools` says whether it answers by tool calls (native), refuses them, ignores them, or
answers in words that call them (words). With a `response_format`: `server.formats` has those that it takes. What the script
says in words is rendered as tool calls, or as the JSON that is asked for (rendering.py), so that one script plays both ways.
`models`: those that it lists, nothing where None; `listing` says how that fails.
`dialect`: how a server of some make takes and sends all that (dialects.py). `redirect` (307 to `field`, for every endpoint).
Embeddings: fewer, more, repeated, dimension, ragged, zero, floats (no base64), shuffled.
Rerank: out_of_range, negative, repeated, fewer, score.
"""

from __future__ import annotations

import json
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from dialects import Dialect
from rendering import flat, rendered
from scripted_replies import Json, Reply, chat_reply, chunk_body, echo, embedding_reply, rerank_reply

from tests.waiting import patience


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it arrived; `body` is its JSON."""

    path: str
    headers: dict[str, str]
    body: Json

    @property
    def seconds(self) -> float:
        """How long the client of OpenAI says it waits: what its caller gave it, less what is gone."""
        return float(self.headers["x-stainless-read-timeout"])


class ScriptedServer:
    """Context manager; `requests` has everything that arrived, in order."""

    def __init__(
        self, *, dimensions: int = 64, answer: Callable[[list[Json]], str] = echo, dialect: Dialect | None = None
    ) -> None:
        self.dialect = dialect
        self.dimensions = dimensions
        self.released = threading.Event()  # ends every stall
        self.begin(answer)
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    def begin(self, answer: Callable[[list[Json]], str]) -> None:
        """As if it had just been started: for the next test that shares it."""
        self.answer = answer
        self.requests: list[Received] = []
        self.tools = "native"
        self.models: list[str] | None = None
        self.listing: Reply | None = None  # what becomes of every request for them, where it fails
        self.listed = 0
        self.formats = {"json_schema", "json_object"}
        self.streams: Reply | None = None  # what becomes of every stream that the script says nothing of
        self.hung_up = 0  # clients that closed their connection before the end of a reply
        self._script: deque[Reply] = deque()

    @property
    def url(self) -> str:
        """Base URL for Cohere."""
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    def script(self, *replies: Reply | str) -> None:
        """Say what becomes of the next requests, in order; what waits until it is released waits anew."""
        self.released.clear()
        self._script.extend(Reply(reply) if isinstance(reply, str) else reply for reply in replies)

    def next_reply(self, *, stream: bool) -> Reply:
        if self._script:
            return self._script.popleft()
        return self.streams if stream and self.streams else Reply()

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.released.set()
        self._http.shutdown()
        self._http.server_close()


# --- HTTP -----------------------------------------------------------------------------------------------------------


def _handler(server: ScriptedServer) -> type[BaseHTTPRequestHandler]:
    class Bound(_Handler):
        scripted = server

    return Bound


class _Handler(BaseHTTPRequestHandler):
    scripted: ScriptedServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # a reply is two packets, and the second would wait 40 ms for the first

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing to the terminal."""

    def do_GET(self) -> None:
        """Its models; `models` None: it has no list of them. What is scripted for models (`listing`) comes first."""
        self.scripted.listed += 1
        try:
            if self.scripted.listing and self._fail(self.scripted.listing):
                return
            if self.scripted.models is None or not self.path.endswith("/models"):
                self._json({"error": {"message": f"no such path: {self.path}"}}, 404)
            else:
                self._json(
                    {"object": "list", "data": [{"id": name, "object": "model"} for name in self.scripted.models]}
                )
        except OSError:
            self.close_connection = True

    def do_POST(self) -> None:
        length = int(self.headers["content-length"])
        if len(raw := self.rfile.read(length)) < length:  # the client gave up before it had said what it wants
            self.close_connection = True
            return
        body = json.loads(raw)
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.scripted.requests.append(Received(self.path, headers, body))
        reply = self.scripted.next_reply(stream=bool(body.get("stream")))
        try:
            if reply.seconds:
                self.scripted.released.wait(reply.seconds)
            if not self._fail(reply):
                self._answer(reply, body)
        except OSError:  # the client gave up, which is what some tests are about
            self.scripted.hung_up += 1
            self.close_connection = True

    def _fail(self, reply: Reply) -> bool:
        """Failures that every endpoint knows; False when the reply is not one of them."""
        match reply.kind:
            case "429":
                # both forms of message, OpenAI's and Cohere's
                extra = {} if reply.retry_after is None else {"retry-after": str(reply.retry_after)}
                self._json(
                    {"error": {"message": "slow down", "code": "rate_limit"}, "message": "slow down"}, 429, extra
                )
            case "quota":
                self._json({"error": {"message": "no credit", "code": "insufficient_quota"}}, 429)
            case "401":
                heard = self.headers["authorization"]
                self._json({"error": {"message": f"bad key in '{heard}'"}, "message": f"bad key in '{heard}'"}, 401)
            case "400":
                self._json({"error": {"message": "bad request"}, "message": "bad request"}, 400)
            case "refuse":
                self._json({"error": {"message": f"Unsupported parameter: '{reply.field}'"}}, 400)
            case "too long":
                self._json({"error": {"message": reply.text}}, int(reply.field or 400))
            case "redirect":
                self._send(b"", 307, headers={"location": reply.field} if reply.field else {})
            case "529":
                overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
                self._json(overloaded, 529, {"retry-after": "0"})
            case "500":
                self._json({"error": {"message": "oops"}, "message": "oops"}, 500)
            case "502":
                self._send(b"<html><h1>Bad gateway</h1></html>", 502, "text/html")
            case "html_200":
                self._send(b"<html>Please log in</html>", 200, "text/html")
            case "malformed":
                self._send(b'{"choices": [{"mess', 200)
            case "body":
                self._json(reply.message)
            case "absent path":
                self._send(b"404 page not found", 404, "text/plain")
            case "unasked stream":
                self._begin_stream()
                for delta in (reply.message or {})["deltas"]:
                    self._event(chunk_body("m", delta))
                self._event(chunk_body("m", {}, "stop"))
                self._chunk(b"data: [DONE]\n\n")
                self._chunk(b"")
            case "flood":
                self._begin_stream()
                for _ in range(200):
                    self._chunk(b"x" * 65536)
            case "wrong_shape":
                self._json({"foo": [1, 2]})
            case "disconnect":
                self.close_connection = True
            case "stall":
                self._stall()
            case _:
                return False
        return True

    def _stall(self) -> None:
        """Silence until the client hangs up, the test ends, or longer than any test waits for a client that gives up."""
        until = time.monotonic() + patience(60)
        while not self.scripted.released.wait(0.01) and time.monotonic() < until:
            if select.select([self.connection], [], [], 0)[0] and not self.connection.recv(1, socket.MSG_PEEK):
                self.scripted.hung_up += 1
                break
        self.close_connection = True

    def _answer(self, reply: Reply, body: Json) -> None:
        if self.path.endswith("/embeddings"):
            self._json(embedding_reply(reply, body, self.scripted.dimensions))
        elif self.path.endswith("/rerank"):
            self._json(rerank_reply(reply, body))
        elif self.path.endswith("/chat/completions"):
            if (refused := self._refuses(body)) is not None:
                self._json({"error": {"message": refused}}, 400)
                return
            text = reply.text if reply.text is not None else self.scripted.answer(flat(body["messages"]))
            if self.scripted.dialect and reply.kind == "ok":
                self._answer_in(self.scripted.dialect, reply, text, body)
            elif body.get("stream"):
                self._stream(reply, text, body)
            else:
                message = reply.message
                if message is None and self.scripted.tools == "native":
                    message = rendered(text, body)
                self._json(chat_reply(reply, text, body["model"], message))
        else:
            self._json({"error": {"message": f"no such path: {self.path}"}}, 404)

    def _answer_in(self, dialect: Dialect, reply: Reply, text: str, body: Json) -> None:
        if (refused := dialect.refuses(body)) is not None:
            self._json(refused[1], refused[0])
        elif body.get("stream"):
            self._begin_stream()
            asked = bool((body.get("stream_options") or {}).get("include_usage"))
            pieces = list(reply.pieces) or [f"{word} " for word in text.split(" ")]
            for event in dialect.events(body["model"], pieces, reply.finish, asked_usage=asked):
                self._chunk(event)
            self._chunk(b"")
        else:
            said = rendered(text, body) if "tools" in body or dialect.formats else None
            said = reply.message or said or {"content": text}
            calls = said.get("tool_calls") or []
            self._json(dialect.whole(body["model"], said.get("content"), calls, reply.finish))

    def _begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def _refuses(self, body: Json) -> str | None:
        """What of the request the server does not know."""
        if "tools" in body and self.scripted.tools == "refuse":
            return f"{body['model']} does not support tools"
        form = (body.get("response_format") or {}).get("type")
        return None if form is None or form in self.scripted.formats else f"response_format {form} is not supported"

    def _stream(self, reply: Reply, text: str, body: Json) -> None:
        self._begin_stream()
        model = body["model"]
        if reply.kind == "error_first":
            self._event({"error": {"message": "overloaded", "type": "server_error", "code": 503}})
            self._chunk(b"")
            return
        self._event(chunk_body(model, {"role": "assistant", "content": ""}))
        words = [] if reply.kind in ("empty", "length_empty") else text.split(" ")
        for piece in reply.pieces:
            self._event(chunk_body(model, {"content": piece}))
        for number, word in enumerate([] if reply.pieces else words):
            if number == 2 and self._break(reply):
                return
            if reply.kind == "drip":
                self.scripted.released.wait(0.2)
            if reply.kind == "held" and number == 2:
                self.scripted.released.wait(patience(60))
            self._event(chunk_body(model, {"content": (" " if number else "") + word}))
        if reply.kind != "silent_end":
            self._event(chunk_body(model, {}, "length" if reply.kind == "length_empty" else reply.finish))
            if (body.get("stream_options") or {}).get("include_usage"):
                usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
                self._event(chunk_body(model, {}) | {"choices": [], "usage": usage})
            self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _break(self, reply: Reply) -> bool:
        """What happens after the second word; True when the stream is over."""
        match reply.kind:
            case "cut":
                self.close_connection = True
            case "error_chunk":
                self._event({"error": {"message": "the model fell over", "type": "server_error"}})
                self._chunk(b"")
            case "bad_chunk":
                self._chunk(b'data: {"choices": [{"del\n\n')
                self._chunk(b"")
            case "odd_chunk":
                self._event({"foo": 1})
                self._chunk(b"")
            case "garbage":
                self._chunk(b'data: {"choices": [{"delta": {"content": "\xff\xfe\x00\xc3\n\n')
                self._chunk(b"")
            case "stall_late":
                self._stall()
            case "endless":
                until = time.monotonic() + patience(60)
                while time.monotonic() < until:
                    self._event(chunk_body("m", {"content": "."}))
            case _:
                return False
        return True

    def _event(self, body: Json) -> None:
        self._chunk(b"data: " + json.dumps(body).encode() + b"\n\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _json(self, body: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self._send(json.dumps(body).encode(), status, "application/json", headers)

    def _send(
        self, data: bytes, status: int, media_type: str = "application/json", headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        for name, value in {"content-type": media_type, "content-length": str(len(data)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
