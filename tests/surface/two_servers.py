"""Two serving processes over one database, with a scripted chat model, and what tests of runs ask them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

from scripted_server import ScriptedServer
from serving import Api, SseEvent, read_events, serving

TERMINAL = {"answer", "error", "cancelled"}
QUESTION = {"question": "What is a cairn?", "collection": "stones"}
TEXT = "A cairn is a pile of stones that marks a trail."
SENTENCE = "A cairn is a pile of stones that marks a trail for those who walk [1]."
"""An answer of 15 words: 3 s where it drips."""


@contextlib.contextmanager
def two_servers(dsn: str, folder: Path, model: Path, chat: ScriptedServer, **more: Any) -> Iterator[tuple[Api, Api]]:
    own = {"CAIRN_MODEL_DIR": str(model), "OPENAI_BASE_URL": chat.openai_url}
    limits = {"answer": {"maxOutputTokens": 40_000}, "providers": {"circuitFailures": 10_000}}
    more.setdefault("settings", {"runs": {"leaseSeconds": 60}, **limits})  # a machine that stalls loses no run
    with serving(dsn, folder / "one", **own, **more) as one, serving(dsn, folder / "two", **own, **more) as two:
        one.index("stones", a=TEXT)
        yield one, two


def start(api: Api, **more: Any) -> tuple[str, list[SseEvent]]:
    """Ask resumably, read until the first piece of text, and leave; the run id and what was read."""
    run_id, read = str(uuid4()), []
    body = {**QUESTION, "stream": True, "resumable": True, "run_id": run_id, **more}
    with api.client.stream("POST", "/query?include=all", json=body) as stream:
        assert stream.status_code == 200, stream.read()
        for event in read_events(stream):
            read.append(event)
            if event.event == "token":
                break
    return run_id, read


def events(api: Api, run_id: str, after: str | None = None) -> list[SseEvent]:
    headers = {} if after is None else {"Last-Event-ID": after}
    with api.client.stream("GET", f"/runs/{run_id}/events?include=all", headers=headers) as stream:
        assert stream.status_code == 200, stream.read()
        return list(read_events(stream))


def status(api: Api, run_id: str) -> str:
    found: str = api.client.get(f"/runs/{run_id}").json()["status"]
    return found


def check_whole(found: list[SseEvent], terminal: str) -> None:
    """From the first event to one terminal one, each with its place, none lost and none twice."""
    assert [event.id for event in found] == [str(n) for n in range(1, len(found) + 1)]
    assert found[0].event == "run"
    assert found[-1].event == terminal
    assert not TERMINAL & {event.event for event in found[:-1]}


def text_of(found: list[SseEvent]) -> str:
    return "".join(event.data["text"] for event in found if event.event == "token")
