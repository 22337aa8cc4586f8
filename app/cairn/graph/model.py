"""What a chat model is asked about passages, and what its reply says of each. Pure; cairn/jobs/graph_model.py asks the model,
and the checks at the end say what of a reply stands in the text."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final
from uuid import UUID

from cairn.domain.graph import Alias, EntityKind, EntityMention, Extraction, RelationMention
from cairn.graph.keys import LONGEST_KEY, key_of
from cairn.graph.kinds import CALENDAR, PRONOUNS, STOPS
from cairn.graph.relations import PATTERN_WEIGHT, sentences
from cairn.language.fence import as_json
from cairn.language.text import fold, normalise
from cairn.prompts import Prompt, prompt
from cairn.providers.reader import whole_values

CHECKS: Final = 1
"""Version of the checks, below; a change makes cached extractions void, as one of the prompt does."""
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
    lines = (as_json({"passage": number, "text": one.text}) for number, one in enumerate(batch, 1))
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
        _check(one.text, raw[number], broken=broken if number == last else 0) if number in raw else None
        for number, one in enumerate(batch, 1)
    ]


def place_names(said: Said, start: int) -> Extraction:
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


# --- reading the reply -------------------------------------------------------------------------------------------------


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


def _check(text: str, raw: Mapping[str, list[Any]], *, broken: int) -> Said:
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


# --- What a chat model says must stand in the passage that it says it of. Pure ---

CONFIDENCE: Final = 0.9
MOST_PLACES: Final = 10
"""Occurrences of one name in a passage that are kept."""
_KINDS: Final[Mapping[str, EntityKind]] = {
    **dict.fromkeys(("person", "people", "human", "character", "author"), "person"),
    **dict.fromkeys(
        ("organisation", "organization", "org", "company", "institution", "government", "team", "agency", "group"),
        "organisation",
    ),
    **dict.fromkeys(("place", "location", "loc", "gpe", "city", "country", "region", "facility", "geo"), "place"),
    **dict.fromkeys(("term", "concept", "topic", "subject", "technology", "technique", "field", "disease"), "term"),
    **dict.fromkeys(("identifier", "id", "code"), "identifier"),
}

Span = tuple[int, int]


class CheckedPassage:
    """The text of a passage with what has been found in it; whatever does not pass is counted in `dropped`."""

    def __init__(self, text: str, dropped: Counter[str]) -> None:
        self._text = text
        self._dropped = dropped
        self._sentences = list(sentences(text, 0, len(text)))
        self._named: dict[str, tuple[str, EntityKind, list[Span]]] = {}
        self._aliases: dict[str, Alias] = {}
        self._relations: dict[tuple[str, str, str], RelationMention] = {}

    def name(self, name: Any, kind: Any = None) -> str | None:
        """The key under which the name is known now; None where it is none, or does not stand in the text."""
        if not isinstance(name, str):
            self._dropped["malformed"] += 1
            return None
        key = key_of(" ".join(name.split()))
        if key in self._named:
            return key
        places = _places(self._text, name) if _is_name(name) else []
        if not places:
            self._dropped["invented" if _is_name(name) else "malformed"] += 1
            return None
        start, end = places[0]
        spelled = " ".join(self._text[start:end].split())
        self._named[key] = spelled, _KINDS.get(fold(kind) if isinstance(kind, str) else "", "name"), places
        return key

    def alias(self, item: Any) -> None:
        ends = (item.get("name"), item.get("alias")) if isinstance(item, dict) else (None, None)
        name, alias = (self.name(end) for end in ends)
        if not (name and alias) or name == alias or alias in self._aliases or name in self._aliases:
            return
        self._aliases[alias] = Alias(self._named[name][0], self._named[alias][0], "model")

    def relation(self, item: Any) -> None:
        if not isinstance(item, dict):
            self._dropped["malformed"] += 1
            return
        source, target = self.name(item.get("source")), self.name(item.get("target"))
        if not (source and target):
            return
        proof = self._proof(source, target)
        ends = [self._canonical(key) for key in (source, target)]
        if proof is None or ends[0] == ends[1]:
            self._dropped["unproven"] += 1
            return
        kind = re.sub(r"\W+", "_", fold(str(item.get("relation") or ""))).strip("_")
        kind = kind if 0 < len(kind) <= 40 else "related_to"
        made = RelationMention(ends[0], kind, ends[1], *proof, PATTERN_WEIGHT)
        self._relations.setdefault((ends[0], kind, ends[1]), made)

    def extraction(self) -> Extraction:
        """Entities in the order of the text, none inside another."""
        taken: list[tuple[int, int, str]] = []
        spans = ((start, end, key) for key, (_, _, places) in self._named.items() for start, end in places)
        for start, end, key in sorted(spans, key=lambda one: (one[0] - one[1], one[0])):
            if not any(left < end and start < right for left, right, _ in taken):
                taken.append((start, end, key))
        kept = {key for _, _, key in taken}
        needed = {key for key in self._named if self._named[key][0] in self._ends()} - kept
        taken += [(*self._named[key][2][0], key) for key in needed]
        mentions = (
            EntityMention(self._canonical(key), self._kind(key), start, end, CONFIDENCE)
            for start, end, key in sorted(taken)
        )
        return Extraction(tuple(mentions), tuple(self._relations.values()), tuple(self._aliases.values()))

    def _ends(self) -> set[str]:
        return {end for one in self._relations.values() for end in (one.source, one.target)}

    def _canonical(self, key: str) -> str:
        return self._aliases[key].name if key in self._aliases else self._named[key][0]

    def _kind(self, key: str) -> EntityKind:
        return self._named[key_of(self._canonical(key))][1]

    def _proof(self, source: str, target: str) -> Span | None:
        """The first sentence that holds both, apart from each other."""
        for left, right in self._sentences:
            ours, theirs = (
                [(a, b) for a, b in self._named[key][2] if left <= a and b <= right] for key in (source, target)
            )
            if any(b <= c or d <= a for a, b in ours for c, d in theirs):
                return left, right
        return None


def _is_name(name: str) -> bool:
    folded = fold(" ".join(name.split()))
    said = folded in STOPS or folded in PRONOUNS or folded in CALENDAR
    return (
        (not said or _is_acronym(name))
        and 1 < len(folded) <= LONGEST_KEY
        and any(map(str.isalpha, folded))
        and bool(key_of(folded))
    )


def _is_acronym(name: str) -> bool:
    return 1 < len(name) <= 5 and name.isupper()


def _places(text: str, name: str) -> list[Span]:
    """Where the name stands, in any case and with any white space between its words, but not inside a word. An acronym
    stands in capitals only: WHO is not "who"."""
    words = (re.escape(word) for word in normalise(name).split())
    pattern = re.compile(r"(?<!\w)" + r"\s+".join(words) + r"(?!\w)", 0 if _is_acronym(name) else re.IGNORECASE)
    return [match.span() for match, _ in zip(pattern.finditer(text), range(MOST_PLACES), strict=False)]
