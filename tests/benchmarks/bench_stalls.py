"""How long hostile bodies keep everybody else waiting: /health/live is asked every 20 ms while each route is sent texts as large
as it takes, and the longest wait is told by route. Goal: .25 s on a machine that has nothing else to do.

What counts is the processor time for which the serving process itself kept its event loop, since a busy machine does not lengthen
it. BENCH_STALLS chooses attacks by a regular expression: "POST /search word". All of them take an hour; each route is told and
recorded when it is done.
"""

from __future__ import annotations

import http.client
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from itertools import groupby
from multiprocessing import get_context
from typing import Any, Final

from tests.benchmarks.conftest import Serving
from tests.benchmarks.timing import look, record

SMALL: Final = 1_000_000
LARGE: Final = 10_000_000
"""Bytes of a body: the most that most routes take, and of an upload as much as a whole day of reading."""
PATIENCE: Final = 6.0
"""Seconds after which the client of an upload goes away; indexing goes on for long, and holds nobody up."""
PARTS: Final = {
    "word": "a", "digits": "7", "emoji": "\U0001f600", "lines": "\n", "spaces": " ", "dots": ".", "cells": "|", "marks": "#",
    "brackets": "(", "angles": "<", "backticks": "`", "stars": "*", "quotes": "'", "accents": "e\u0301", "han": "\u754c",
    "sentences": "It is so. ", "names": "Ada Lovelace ", "numbers": "1,", "joined": "a-b_c.", "address": "http://a.b/",
    "escapes": "\\", "code": "def f(x):\n    return x\n", "table": "| a | b |\n|---|---|\n", "list": "- a\n",
}  # fmt: skip
ID: Final = "00000000-0000-7000-8000-000000000001"
"""Of a conversation, which is there, and of what is not."""
TAKES_LARGE: Final = re.compile(r"/documents$|^/index$")


@dataclass(frozen=True)
class Attack:
    method: str
    path: str
    name: str
    kind: str
    body: bytes


def attacks(description: dict[str, Any], document: str) -> Iterator[Attack]:
    """For each route with a body: its example with every text made as long as fits, of each kind; and what is nested deeply."""
    for template, methods in description["paths"].items():
        path = re.sub(
            r"\{(\w+)\}", lambda match: {"name": "handbook", "document_id": document}.get(match[1], ID), template
        )
        for method, route in methods.items():
            size = LARGE if TAKES_LARGE.search(template) and method == "post" else SMALL
            for kind, media in route.get("requestBody", {}).get("content", {}).items():
                for name, part in PARTS.items():
                    text = part * (size * 9 // 10 // max(len(part.encode()), len(json.dumps(part)) - 2))
                    if kind == "application/json":
                        for number, body in enumerate(_filled(_example(media, description), text, size)):
                            yield Attack(method.upper(), path, f"{name} {number}", kind, body)
                    else:
                        yield Attack(method.upper(), path, name, f"{kind}; boundary=b", _form(text))
                for name, opening in (("arrays", "["), ("objects", '{"a":')):
                    yield Attack(method.upper(), path, name, kind, (opening * (size // len(opening) - 1)).encode())


def _example(media: dict[str, Any], description: dict[str, Any]) -> Any:
    schema = media.get("schema", {})
    if reference := schema.get("$ref"):
        schema = description["components"]["schemas"][reference.rsplit("/", 1)[1]]
    examples = [*schema.get("examples", []), schema.get("example"), media.get("example")]
    found = next((one for one in examples if one), None)
    if found is None:
        found = dict.fromkeys(schema.get("properties", {"text": {}}), "text")
    return found


def _filled(value: Any, text: str, size: int) -> Iterator[bytes]:
    """The value with one of its texts, or names of fields, replaced: one body for each."""
    if isinstance(value, str):
        yield _encoded(text)
    if isinstance(value, list):
        for number, one in enumerate(value[:1]):
            for body in _filled(one, text, size):
                yield b"[" + body + b"".join(b"," + _encoded(rest) for rest in value[number + 1 :]) + b"]"
    if isinstance(value, dict):
        for name in value:
            for body in _filled(value[name], text, size):
                rest = b"".join(
                    b"," + _encoded(other) + b":" + _encoded(value[other]) for other in value if other != name
                )
                yield b"{" + _encoded(name) + b":" + body + rest + b"}"
        yield b"{" + _encoded(text) + b":1}"


def _encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _form(text: str) -> bytes:
    head = 'Content-Disposition: form-data; name="files"; filename="a.md"\r\nContent-Type: text/markdown'
    return f"--b\r\n{head}\r\n\r\n{text}\r\n--b--\r\n".encode()


def send(port: int, attack: Attack) -> str:
    """The status, or why there was none."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request(attack.method, attack.path, attack.body, {"Content-Type": attack.kind})
        return str(connection.getresponse().status)
    except OSError as error:
        return type(error).__name__
    finally:
        connection.close()


def asked(port: int, method: str, path: str, body: object = None) -> Any:
    """The JSON of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
    return json.loads(connection.getresponse().read())


def watch(port: int, pid: int, pipe: Any) -> None:
    """A process of its own: of all that asked for /health/live since it was last asked, how long the server held the worst up,
    and how long that waited, seconds."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    longest = (0.0, 0.0)
    while True:
        before = look(pid)
        connection.request("GET", "/health/live")
        connection.getresponse().read()
        now = look(pid)
        longest = max(longest, (now.held_since(before, str(pid)), now.at - before.at))
        if pipe.poll(0.02):
            if pipe.recv() is None:
                return
            pipe.send(longest)
            longest = (0.0, 0.0)


def test_nobody_waits_long_while_a_hostile_body_is_worked_on(
    dsn: str, serve: Callable[..., AbstractContextManager[Serving]]
) -> None:
    report: dict[str, Any] = {}
    with serve(dsn) as serving:
        own, theirs = get_context("spawn").Pipe()
        watcher = get_context("spawn").Process(target=watch, args=(serving.port, serving.pid, theirs), daemon=True)
        watcher.start()
        text = {"external_id": "leave", "text": "Employees have 30 days of leave per year."}
        asked(serving.port, "POST", "/index", {"collection": "handbook", "documents": [text]})
        asked(
            serving.port,
            "POST",
            "/chat/",
            {"message": "How many days?", "collection_name": "handbook", "session_id": ID},
        )
        document = asked(serving.port, "GET", "/collections/handbook/documents")["items"][0]["id"]
        description = asked(serving.port, "GET", "/openapi.json")
        own.send("what came before is no attack")
        own.recv()
        chosen = re.compile(os.environ.get("BENCH_STALLS", ""))
        chosen_ones = filter(
            lambda one: chosen.search(f"{one.method} {one.path} {one.name}"), attacks(description, document)
        )
        for route, group in groupby(chosen_ones, lambda one: f"{one.method} {one.path}"):
            worst: tuple[float, float, str] = (0.0, 0.0, "")
            for attack in group:
                status = send(serving.port, attack)
                own.send("how long?")
                worst = max(worst, (*own.recv(), f"{attack.name}: {status}"))
            held, waited, by = worst
            print(f"{held:7.3f} {waited:7.3f}  {route}  {by}", flush=True)
            report[route] = {"held_s": held, "waited_s": waited, "by": by}
            record("stalls", report)
        own.send(None)
        with suppress(TimeoutError):
            watcher.join(5)
    assert report
