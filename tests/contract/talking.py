"""A chat model for the scripted server that knows what it is asked for, by the prompt: `said` maps purposes to replies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Final

Json = dict[str, Any]
Said = str | Callable[[str], str]
"""A reply, or what makes one of the user part of the prompt."""

BEGINNINGS: Final = {
    "generate": "You answer questions from the sources",
    "ground": "You check whether an answer is supported",
    "rewrite": "You prepare a user's message",
    "notes": "You take notes of one part",
    "decompose": "You split a question",
    "expand": "You rephrase a question",
    "plan": "You plan how to answer",
    "iterate": "You answer a question from numbered sources, and say what",
    "action": "You answer a question from a user's documents, one action at a time",
    "think": "You answer a question about a collection of documents with tools",
    "reflect": "You judge whether the information",
    "synthesize": "You put together what numbered sources say",
}
DEFAULTS: Final = {
    "generate": "I don't know based on the provided documents.",
    "ground": "GROUNDED: YES\nSCORE: 1.0\nISSUES:\nnone",
    "rewrite": "{}",
    "notes": "A note [1].",
    "decompose": "[]",
    "expand": "[]",
    "plan": '["search_docs: the question", "open_citation: the best result", "Synthesize the answer"]',
    "reflect": "Something is missing.\nACTION: continue",
    "synthesize": "Something [1].",
}


class Talking:
    """Replies in turn, the last one again and again; `heard` has what each purpose was asked, system and user."""

    def __init__(self) -> None:
        self.said: dict[str, Sequence[Said]] = {}
        self.heard: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)

    def reset(self, **said: Sequence[Said]) -> None:
        self.said = said
        self.heard.clear()

    def __call__(self, messages: list[Json]) -> str:
        system, user = str(messages[0]["content"]), str(messages[-1]["content"])
        purpose = next((name for name, start in BEGINNINGS.items() if system.startswith(start)), "other")
        self.heard[purpose].append((system, user))
        replies: Sequence[Said] = self.said.get(purpose) or [DEFAULTS.get(purpose, "Nothing.")]
        reply = replies[min(len(self.heard[purpose]), len(replies)) - 1]
        return reply if isinstance(reply, str) else reply(user)
