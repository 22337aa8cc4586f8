"""The plan of a planned run: two to five steps, as models write them or made without one. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cairn.providers.protocols import Schema
from cairn.providers.reader import json_array, without_thought

FEWEST, MOST = 2, 5
"""Steps of a plan."""
STEP_CHARS: Final = 300
SEARCH, OPEN = "search_docs", "open_citation"
SYNTHESIS: Final = "Synthesize the answer from the opened citations, and cite them."
PLAN: Final = Schema("plan", {"steps": {"type": "array", "items": {"type": "string"}}})
_NUMBERED: Final = re.compile(r"^[ \t]*(?:step[ \t]+)?\d{1,2}[.):][ \t]+(\S.*)$", re.MULTILINE | re.IGNORECASE)
_BULLET: Final = re.compile(r"^[ \t]*[-*•][ \t]+(\S.*)$", re.MULTILINE)
_LAST: Final = re.compile(r"\b(?:synthesi[sz]e|answer|summari[sz]e|write|compose|combine|final)\b", re.IGNORECASE)
_AROUND: Final = " \t:()-–—>`'\""
_INSIDE: Final = re.compile(r"(?<!\w)[\"“«„‘'](?=\w)([^\"“”«»„‘]{2,200}?)[\"”»“’'](?!\w)")
_ORDER: Final = re.compile(r"(?:to\s+)?(?:(?:(?:search|look)\s+)?for|find)\s+", re.IGNORECASE)
"""How a step goes on behind the name of the search: "search_docs for leave"."""
_OPENS: Final = re.compile(r"\b(?:open|read|retrieve the full)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Plan:
    """2 to 5 steps, of which the last is the synthesis. `parsed_by`: json, numbered, bullets or default. `queries`: what the
    steps search for that name the search themselves, each once."""

    steps: tuple[str, ...]
    parsed_by: str
    queries: tuple[str, ...] = ()


def read_plan(reply: str, question: str, topics: Sequence[str] = ()) -> Plan:
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
            return Plan(_in_form(steps), name, queries_of(steps))
    steps = list(default_plan(question, topics))
    return Plan(tuple(steps), "default", queries_of(steps))


def queries_of(steps: Sequence[str]) -> tuple[str, ...]:
    """What steps such as "search_docs: terms of leave" search for; of those with quotation marks what stands in them."""
    found: dict[str, str] = {}
    for step in steps[: MOST - 1]:
        _, named, wanted = step.partition(SEARCH)
        inside = _INSIDE.search(wanted)
        said = inside[1] if inside else _ORDER.sub("", wanted.lstrip(_AROUND), count=1)
        query = " ".join(said.strip(_AROUND).split())
        if named and query and OPEN not in query:
            found.setdefault(query.casefold(), query)
    return tuple(found.values())


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
        said = next(
            (item[key] for key in ("step", "query", "description", "action", "instruction") if item.get(key)), ""
        )
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
