"""What a model says while it works by a plan: the plan itself, and its next action. Pure; nothing here raises.

Models are told to write JSON and nothing else. What they write instead is read as far as it is unmistakable; anything
else is a `Malformed` with a reason that goes back to them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from app.providers.reader import json_array, json_object, without_thought

FEWEST, MOST = 2, 5
"""Steps of a plan."""
STEP_CHARS: Final = 300
SEARCH, OPEN = "search_docs", "open_citation"
SYNTHESIS: Final = "Synthesize the answer from the opened citations, and cite them."
_NUMBERED: Final = re.compile(r"^[ \t]*(?:step[ \t]+)?\d{1,2}[.):][ \t]+(\S.*)$", re.MULTILINE | re.IGNORECASE)
_BULLET: Final = re.compile(r"^[ \t]*[-*•][ \t]+(\S.*)$", re.MULTILINE)
_LAST: Final = re.compile(r"\b(?:synthesi[sz]e|answer|summari[sz]e|write|compose|combine|final)\b", re.IGNORECASE)
_OPENS: Final = re.compile(r"\b(?:open|read|retrieve the full)\b", re.IGNORECASE)


# --- the plan -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Plan:
    """2 to 5 steps, of which the last is the synthesis. `parsed_by`: json, numbered, bullets or default."""

    steps: tuple[str, ...]
    parsed_by: str


def parse_plan(reply: str, question: str, topics: Sequence[str] = ()) -> Plan:
    """The first of four readings that gives at least two steps; the default plan needs no model at all."""
    text = without_thought(reply)
    readings = (
        ("json", [_step(item) for item in json_array(text) or ()]),
        ("numbered", _NUMBERED.findall(text)),
        ("bullets", _BULLET.findall(text)),
    )
    for name, found in readings:
        steps = [cut for step in found if (cut := " ".join(step.split())[:STEP_CHARS])]
        if len(steps) >= FEWEST:
            return Plan(_in_form(steps), name)
    return Plan(default_plan(question, topics), "default")


def default_plan(question: str, topics: Sequence[str] = ()) -> tuple[str, ...]:
    """A search for each topic, or for the question; open what is best; write."""
    wanted = [" ".join(topic.split())[:100] for topic in topics[: MOST - 2]] or [" ".join(question.split())[:100]]
    return (
        *(f"{SEARCH}: search for {topic!r}" for topic in wanted),
        f"{OPEN}: open the best results of each search",
        SYNTHESIS,
    )


def _step(item: Any) -> str:
    if isinstance(item, Mapping):
        said = next((item[key] for key in ("step", "description", "action", "instruction") if item.get(key)), "")
        tool = item.get("tool")
        return f"{tool}: {said}" if isinstance(tool, str) and tool and tool not in str(said) else str(said)
    return item if isinstance(item, str) else ""


def _in_form(steps: Sequence[str]) -> tuple[str, ...]:
    """Each names a tool but the last, which writes; those beyond five are left out before it."""
    last = steps[-1] if _LAST.search(steps[-1]) else SYNTHESIS
    rest = (steps[:-1] if last == steps[-1] else steps)[: MOST - 1]
    return (*(_with_tool(step) for step in rest), last)


def _with_tool(step: str) -> str:
    if SEARCH in step or OPEN in step:
        return step
    return f"{OPEN if _OPENS.search(step) else SEARCH}: {step}"


# --- the next action ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ToolCall:
    tool: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CitationRef:
    """A chunk that the model says it has used; texts as it wrote them, checked by whoever looks them up."""

    document_id: str
    chunk_id: str


@dataclass(frozen=True, slots=True)
class Insufficiency:
    """What the documents do not say."""

    section: str
    missing: str
    queries_tried: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """`[n]` in `answer` are numbers of opened citations."""

    answer: str
    used_citations: tuple[CitationRef, ...] = ()
    insufficiencies: tuple[Insufficiency, ...] = ()


@dataclass(frozen=True, slots=True)
class Malformed:
    """`reason` tells the model what to write instead."""

    reason: str


Action = ToolCall | FinalAnswer | Malformed

LISTED: Final = 50
"""Citations and insufficiencies of one reply that are read."""
_NO_JSON: Final = (
    'Your reply is not one JSON object. Write {"type": "tool_call", ...} or {"type": "final", ...} and nothing else.'
)
_BROKEN: Final = (
    "Your JSON object is broken off or not valid JSON. Write it again, shorter, and escape quotation marks in strings."
)


def parse_action(reply: str) -> Action:
    """The first JSON object of a reply as an action. Where `type` is missing, the other fields tell it."""
    said = json_object(reply)
    if said is None:
        return Malformed(_BROKEN if "{" in without_thought(reply) else _NO_JSON)
    kind = str(said.get("type", "")).strip().lower()
    if kind in ("tool_call", "tool", "") and isinstance(said.get("tool"), str):
        return _tool_call(said["tool"], said.get("input", said.get("arguments")))
    if kind in ("final", "final_answer", "") and isinstance(said.get("answer"), str):
        return FinalAnswer(
            said["answer"],
            tuple(_reference(item) for item in _list(said, "used_citations", "usedCitations")),
            tuple(_lack(item) for item in _list(said, "insufficiencies")),
        )
    if kind == "tool_call":
        return Malformed('A tool_call needs "tool", the name of a tool, and "input", an object.')
    if kind == "final":
        return Malformed('A final action needs "answer", a text.')
    return Malformed('"type" must be "tool_call" or "final".')


def _tool_call(tool: str, given: Any) -> Action:
    if isinstance(given, str) and given.strip():
        given = {"query": given}  # the one argument of a search; others are told what they lack by the tool
    if not isinstance(given, Mapping):
        return Malformed('The "input" of a tool_call must be an object, such as {"query": "..."}.')
    return ToolCall(tool.strip(), {str(key): value for key, value in given.items()})


def _list(said: Mapping[str, Any], *names: str) -> list[Any]:
    found: list[Any] = next((said[name] for name in names if isinstance(said.get(name), list)), [])
    return found[:LISTED]


def _reference(item: Any) -> CitationRef:
    if not isinstance(item, Mapping):
        return CitationRef("", str(item)[:80])
    return CitationRef(str(item.get("docId", ""))[:80], str(item.get("chunkId", ""))[:80])


def _lack(item: Any) -> Insufficiency:
    if not isinstance(item, Mapping):
        return Insufficiency("", str(item)[:500])
    tried = item.get("queries_tried", item.get("queriesTried"))
    queries = tuple(str(query)[:200] for query in tried[:LISTED]) if isinstance(tried, list) else ()
    return Insufficiency(str(item.get("section", ""))[:200], str(item.get("missing", ""))[:500], queries)
