"""A chat model for the scripted server that knows what it is asked for, by the prompt: `said` maps purposes to replies."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Final

Json = dict[str, Any]
Said = str | Callable[[str], str]
Says = Sequence[Said] | Callable[[str], str]
"""Replies in turn, the last one again and again, or a function of the prompt's second half; it raises OSError to hang up."""


def grading(relevant: Callable[[str], bool]) -> Callable[[str], str]:
    """A grader that is sure: a passage is relevant where the function says so of its text."""

    def said(user: str) -> str:
        lines = (line.split(": ", 1) for line in user.split("Passages:\n")[1].split("\n"))
        grades = [{"n": int(n), "relevant": relevant(json.loads(text)), "confidence": 0.9} for n, text in lines]
        return json.dumps(grades)

    return said


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
    "grade": "You grade passages",
    "requery": "You write the next query",
}
DEFAULTS: Final[dict[str, str | Callable[[str], str]]] = {
    "generate": "I don't know based on the provided documents.",
    "ground": "GROUNDED: YES\nSCORE: 1.0\nISSUES:\nnone",
    "rewrite": "{}",
    "notes": "A note [1].",
    "decompose": "[]",
    "expand": "[]",
    "plan": '["search_docs: the question", "open_citation: the best result", "Synthesize the answer"]',
    "reflect": "Something is missing.\nACTION: continue",
    "synthesize": "Something [1].",
    "grade": grading(lambda _: True),
    "requery": "{}",
}


class Talking:
    """`heard` has what each purpose was asked, system and user."""

    def __init__(self) -> None:
        self.said: dict[str, Says] = {}
        self.heard: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)

    def reset(self, **said: Says) -> None:
        self.said = said
        self.heard.clear()

    def __call__(self, messages: list[Json]) -> str:
        system, user = str(messages[0]["content"]), str(messages[-1]["content"])
        purpose = next((name for name, start in BEGINNINGS.items() if system.startswith(start)), "other")
        self.heard[purpose].append((system, user))
        replies: Says | str = self.said.get(purpose) or DEFAULTS.get(purpose, "Nothing.")
        if callable(replies):
            return replies(user)
        if isinstance(replies, str):
            return replies
        reply = replies[min(len(self.heard[purpose]), len(replies)) - 1]
        return reply if isinstance(reply, str) else reply(user)
