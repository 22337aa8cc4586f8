"""A chat model for the scripted server that extracts what a small list knows, and services that use it."""

from __future__ import annotations

import json
import threading
from typing import Any

from cairn.settings import Settings, SettingsStore, parse_settings
from tests.waiting import patience

Json = dict[str, Any]

KINDS = {"anna kowalski": "person", "tin works": "organisation", "silver lake": "place", "old mill": "place"}
OWNED = [("tin works", "bought_by", "anna kowalski"), ("old mill", "stands_at", "silver lake")]

TIN = "the tin works was bought by anna kowalski in autumn."
MILL = "the old mill stands at silver lake."


class Extracting:
    """Replies as the prompt asks. `seen`: the texts of each call; `before` runs ahead of each reply; `spoil` makes another
    reply of it."""

    def __init__(self) -> None:
        self.seen: list[list[str]] = []
        self.gate = threading.Event()
        self.gate.set()
        self.spoil: Any = None

    def __call__(self, messages: list[Json]) -> str:
        passages = [json.loads(line) for line in str(messages[-1]["content"]).splitlines()]
        self.seen.append([one["text"] for one in passages])
        self.gate.wait(patience(20))
        reply = "\n".join(json.dumps({"passage": one["passage"], **said_of(one["text"])}) for one in passages)
        return self.spoil(reply, passages) if self.spoil else reply


def said_of(text: str) -> Json:
    return {
        "entities": [{"name": name, "kind": kind} for name, kind in KINDS.items() if name in text],
        "relations": [
            {"source": source, "relation": kind, "target": target}
            for source, kind, target in OWNED
            if source in text and target in text
        ],
        "aliases": [],
    }


def settings(**model: Any) -> SettingsStore:
    """With extraction on; values of graph.model as in settings.json."""
    sections = {"graph": {"model": {"enabled": True, **model}}, "jobs": {"retrySeconds": 0}}
    parsed: Settings = parse_settings(json.dumps(sections).encode())
    return SettingsStore(initial=parsed)
