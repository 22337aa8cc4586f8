"""A chat model for the scripted server that knows what it is asked for, by the prompt: `said` maps purposes to replies."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

Json = dict[str, Any]

BEGINNINGS: Final = {
    "generate": "You answer questions from the sources",
    "ground": "You check whether an answer is supported",
    "rewrite": "You prepare a user's message",
    "notes": "You take notes of one part",
    "decompose": "You split a question",
    "expand": "You rephrase a question",
    "grade": "You grade passages",
    "requery": "You write the next query",
}
DEFAULTS: Final = {
    "generate": "I don't know based on the provided documents.",
    "ground": "GROUNDED: YES\nSCORE: 1.0\nISSUES:\nnone",
    "rewrite": "{}",
    "notes": "A note [1].",
    "decompose": "[]",
    "expand": "[]",
    "grade": "[]",
    "requery": "{}",
}


class Talking:
    """Replies in turn, the last one again and again; `heard` has what each purpose was asked, system and user."""

    def __init__(self) -> None:
        self.said: dict[str, list[str]] = {}
        self.heard: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)

    def reset(self, **said: list[str]) -> None:
        self.said = said
        self.heard.clear()

    def __call__(self, messages: list[Json]) -> str:
        system, user = str(messages[0]["content"]), str(messages[-1]["content"])
        purpose = next((name for name, start in BEGINNINGS.items() if system.startswith(start)), "other")
        self.heard[purpose].append((system, user))
        replies = self.said.get(purpose) or [DEFAULTS.get(purpose, "Nothing.")]
        return replies[min(len(self.heard[purpose]), len(replies)) - 1]
