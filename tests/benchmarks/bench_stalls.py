"""How long hostile bodies keep everybody else waiting: /health/live is asked every 20 ms while each route is sent texts as large
as it takes, and the longest wait is told by route. Goal: .25 s on a machine that has nothing else to do.

What counts is the processor time of the serving process within that wait, since a busy machine does not lengthen it (models
that compute beside the loop do). BENCH_STALLS chooses attacks by a regular expression: "POST /search word".
"""

from __future__ import annotations

import http.client
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.conftest import Serving
from tests.benchmarks.timing import record

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
TAKES_LARGE: Final = re.compile(r"/documents$|^/index$")


@dataclass(frozen=True)
class Attack:
    method: str
    path: str
    name: str
    kind: str
    body: bytes


def attacks(description: dict[str, Any]) -> Iterator[Attack]:
    """For each route with a body: its example with every text made as long as fits, of each kind; and what is nested deeply."""
    for template, methods in description["paths"].items():
        path = re.sub(r"\{(\w+)\}", lambda match: _value(match[1]), template)
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


def _value(name: str) -> str:
    return "00000000-0000-7000-8000-000000000001" if name.endswith("_id") else "handbook"


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


def own_seconds(pid: int) -> float:
    """Processor time of a process, all its threads, without what it started."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(one.read_text().split()[0]) for one in threads) / 1e9


def watch(port: int, pid: int, pipe: Any) -> None:
    """A process of its own: the longest wait for /health/live since it was last asked, seconds, and the server's processor time
    in it."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    longest = (0.0, 0.0)
    while True:
        began, used = time.perf_counter(), own_seconds(pid)
        connection.request("GET", "/health/live")
        connection.getresponse().read()
        longest = max(longest, (own_seconds(pid) - used, time.perf_counter() - began))
        if pipe.poll(0.02):
            if pipe.recv() is None:
                return
            pipe.send(longest)
            longest = (0.0, 0.0)


def test_nobody_waits_long_while_a_hostile_body_is_worked_on(
    dsn: str, serve: Callable[..., AbstractContextManager[Serving]]
) -> None:
    worst: dict[str, tuple[float, float, str]] = {}
    with serve(dsn) as serving:
        own, theirs = get_context("spawn").Pipe()
        watcher = get_context("spawn").Process(target=watch, args=(serving.port, serving.pid, theirs), daemon=True)
        watcher.start()
        connection = http.client.HTTPConnection("127.0.0.1", serving.port, timeout=60)
        connection.request("GET", "/openapi.json")
        description = json.loads(connection.getresponse().read())
        chosen = re.compile(os.environ.get("BENCH_STALLS", ""))
        for attack in filter(lambda one: chosen.search(f"{one.method} {one.path} {one.name}"), attacks(description)):
            status = send(serving.port, attack)
            own.send("how long?")
            used, waited = own.recv()
            route = f"{attack.method} {attack.path}"
            worst[route] = max(worst.get(route, (0.0, 0.0, "")), (used, waited, f"{attack.name}: {status}"))
        own.send(None)
        with suppress(TimeoutError):
            watcher.join(5)
    report = {route: {"used_s": used, "waited_s": waited, "by": by} for route, (used, waited, by) in worst.items()}
    for route, (used, waited, by) in sorted(worst.items(), key=lambda one: one[1], reverse=True):
        print(f"{used:7.3f} {waited:7.3f}  {route}  {by}")
    record("stalls", report)
    assert worst
