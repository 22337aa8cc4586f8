"""What a chat model is asked about passages, and what its reply says of each. Pure; app/jobs/graph_model.py asks the model,
model_check.py says what passes."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final
from uuid import UUID

from app.domain.graph import Alias, EntityMention, Extraction, RelationMention
from app.graph.model_check import CONFIDENCE, CheckedPassage
from app.graph.relations import PATTERN_WEIGHT
from app.prompts import Prompt, prompt
from app.providers.reader import whole_values

CHECKS: Final = 1
"""Version of the checks, here and in model_check.py; a change makes cached extractions void, as one of the prompt does."""
MOST_ITEMS: Final = 200
"""Entities, relations or aliases of one passage that are looked at."""
NOTHING: Final = Extraction()


@dataclass(frozen=True, slots=True)
class ModelPassage:
    """A passage as a model reads it: its text, where that begins in the document, and what it costs to send."""

    id: UUID
    start: int
    text: str
    tokens: int

    @property
    def digest(self) -> bytes:
        """SHA-256 of the text."""
        return hashlib.sha256(self.text.encode()).digest()


@dataclass(frozen=True, slots=True)
class Said:
    """What a model said of one passage, checked; spans count from the beginning of the passage. `dropped`: items that
    did not pass, by reason: invented, unproven, malformed."""

    extraction: Extraction = NOTHING
    dropped: Mapping[str, int] = field(default_factory=dict)


@cache
def extractor(model: str) -> str:
    """The key of cached extractions: model, checks and prompt."""
    filled = prompt("graph", passages="")
    digest = hashlib.sha256(f"{filled.system}\0{filled.user}".encode()).hexdigest()[:10]
    return f"{model} {CHECKS}-{digest}"


def batches(passages: Iterable[ModelPassage], most_tokens: int) -> Iterator[list[ModelPassage]]:
    """Passages in order, as many at a time as the tokens allow, at least one."""
    batch: list[ModelPassage] = []
    for passage in passages:
        if batch and sum(one.tokens for one in batch) + passage.tokens > most_tokens:
            yield batch
            batch = []
        batch.append(passage)
    if batch:
        yield batch


def question(batch: Sequence[ModelPassage]) -> Prompt:
    """The prompt. Each passage is a JSON object on one line: no text can pose as another passage."""
    lines = (
        json.dumps({"passage": number, "text": one.text}, ensure_ascii=False) for number, one in enumerate(batch, 1)
    )
    return prompt("graph", passages="\n".join(lines))


def read_reply(reply: str, batch: Sequence[ModelPassage]) -> list[Said | None]:
    """What the reply says of each passage; None where it says nothing that can be read, as a refusal does."""
    found, broken = whole_values(reply)
    raw: dict[int, dict[str, list[Any]]] = {}
    for entry in _entries(found):
        number = 1 if len(batch) == 1 else _number(entry.get("passage"))
        if 1 <= number <= len(batch):
            lists = raw.setdefault(number, {})
            for name in ("entities", "relations", "aliases"):
                lists.setdefault(name, []).extend(entry[name] if isinstance(entry.get(name), list) else [])
    last = max(raw, default=0)
    return [
        _checked(one.text, raw[number], broken=broken if number == last else 0) if number in raw else None
        for number, one in enumerate(batch, 1)
    ]


def placed(said: Said, start: int) -> Extraction:
    """With spans in the document, for a passage that begins at `start`."""
    one = said.extraction
    return Extraction(
        tuple(replace(item, start=item.start + start, end=item.end + start) for item in one.entities),
        tuple(replace(item, start=item.start + start, end=item.end + start) for item in one.relations),
        one.aliases,
    )


def to_json(said: Said) -> dict[str, Any]:
    """As it is cached."""
    one = said.extraction
    return {
        "entities": [[e.name, e.kind, e.start, e.end] for e in one.entities],
        "relations": [[r.source, r.kind, r.target, r.start, r.end] for r in one.relations],
        "aliases": [[a.name, a.alias] for a in one.aliases],
        "dropped": dict(said.dropped),
    }


def from_json(stored: Mapping[str, Any]) -> Said:
    entities = (EntityMention(name, kind, start, end, CONFIDENCE) for name, kind, start, end in stored["entities"])
    relations = (
        RelationMention(source, kind, target, start, end, PATTERN_WEIGHT)
        for source, kind, target, start, end in stored["relations"]
    )
    aliases = (Alias(name, alias, "model") for name, alias in stored["aliases"])
    return Said(Extraction(tuple(entities), tuple(relations), tuple(aliases)), stored["dropped"])


# --- the checks ---------------------------------------------------------------------------------------------------------


def _entries(found: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """Objects about a passage, also inside arrays and of wrappers such as {"passages": [...]}."""
    for value in found:
        if isinstance(value, list):
            yield from _entries(value)
        elif isinstance(value, dict):
            if {"entities", "relations", "aliases"} & value.keys():
                yield value
            else:
                yield from _entries(inner for inner in value.values() if isinstance(inner, list))


def _number(value: Any) -> int:
    return int(value) if isinstance(value, int | float | str) and re.fullmatch(r"\d{1,4}(\.0)?", str(value)) else 0


def _checked(text: str, raw: Mapping[str, list[Any]], *, broken: int) -> Said:
    dropped: Counter[str] = Counter(malformed=broken)
    reader = CheckedPassage(text, dropped)
    for item in raw["entities"][:MOST_ITEMS]:
        name = item.get("name") if isinstance(item, dict) else item
        reader.name(name, item.get("kind") if isinstance(item, dict) else None)
    for item in raw["aliases"][:MOST_ITEMS]:
        reader.alias(item)
    for item in raw["relations"][:MOST_ITEMS]:
        reader.relation(item)
    return Said(reader.extraction(), {reason: count for reason, count in dropped.items() if count})
