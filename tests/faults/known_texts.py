"""Texts that clients write while processes are killed, and what the clients know of them."""

from __future__ import annotations

import random
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

WORDS = [
    "granite", "basalt", "marble", "quartz", "trail", "summit", "ridge", "valley", "glacier", "cairn", "path", "marker",
    "river", "bridge", "forest",
]  # fmt: skip
PEOPLE = ("Anna Kowalski", "Ben Okafor", "Clara Jensen", "David Moreau", "Eva Lindqvist", "Farid Haddad")
PLACES = ("Silver Lake", "Old Mill", "Mount Harrow", "Granite Bridge")


@dataclass
class State:
    """What may be stored of a document: texts, None for nothing. One alone: it was acknowledged."""

    may_be: set[str | None] = field(default_factory=lambda: {None})
    turn: int = 0
    """Raised when a write begins and when it ends."""
    id: str | None = None
    sent: set[str] = field(default_factory=set)


class Library:
    """What clients know, over all rounds."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.states: dict[str, State] = {}
        self.jobs: dict[str, tuple[str, str]] = {}
        """Of uploads that were accepted: job -> (document, text)."""
        self.wrong: list[str] = []
        self.done: Counter[str] = Counter()

    def begin(self, name: str, text: str | None) -> State:
        with self.lock:
            state = self.states.setdefault(name, State())
            state.turn += 1
            if text is not None:
                state.sent.add(text)
        return state

    def end(self, name: str, what: str, text: str | None, known: bool) -> None:
        """The write is over; `known`: it was acknowledged."""
        with self.lock:
            state = self.states[name]
            state.turn += 1
            state.may_be = {text} if known else state.may_be | {text}
            self.done[what if known else f"{what} unknown"] += 1

    def quiet(self) -> dict[str, tuple[int, str | None]]:
        """Documents whose state is known, and nobody writes now."""
        with self.lock:
            return {
                name: (state.turn, next(iter(state.may_be)))
                for name, state in self.states.items()
                if state.turn % 2 == 0 and len(state.may_be) == 1
            }

    def judge(self, one: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> None:
        """Note a passage that was found, but is of no text that the document has, or may have had during the search.

        `before` and `after`: quiet() of then."""
        name = one["external_id"]
        if (state := self.states.get(name)) is None:
            self.wrong.append(f"{name}: found, and nobody here wrote it")
            return
        steady = before.get(name) is not None and before.get(name) == after.get(name)
        with self.lock:
            texts = [before[name][1]] if steady else list(state.sent)
        if not any(text is not None and text[one["start"] : one["end"]] == one["content"] for text in texts):
            self.wrong.append(f"{name}: found {one['content'][:80]!r}, which is not in what was acknowledged")


def write_text(chance: random.Random, name: str, turn: int) -> str:
    """Unlike every other; with people and places for the graph."""
    parts = [f"Version {turn} of {name}."]
    for _ in range(chance.randint(1, 12)):
        first, second = chance.sample(PEOPLE, 2)
        parts.append(f"{first} met {second} at {chance.choice(PLACES)} and they built a {chance.choice(WORDS)} marker.")
        parts.append("The " + " ".join(chance.choices(WORDS, k=chance.randint(5, 60))) + ".")
        if chance.random() < 0.3:
            parts.append("\n\n")
    return " ".join(parts).replace(" \n\n ", "\n\n").strip()
