"""Which sentences say most about a community: those that name its central entities, each adding to the others. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from app.domain.graph_view import SentencePlace, SourcePassage
from app.graph.relations import sentences

SHORTEST: Final = 30
"""Code points of a sentence that can stand for something."""
LONGEST: Final = 400
"""Longer ones are tables, lists or text without punctuation."""
AGAIN: Final = 0.25
"""Worth of an entity that a chosen sentence names already."""
SAME_DOCUMENT: Final = 0.7
"""A further sentence of a document counts for so much."""


@dataclass(frozen=True, slots=True)
class _Sentence:
    place: SentencePlace
    document_id: UUID
    text: str
    says: Mapping[UUID, float]


def choose_sentences(passages: Sequence[SourcePassage], limit: int) -> list[SentencePlace]:
    """At most `limit`, the best first: greedily what adds most weight of entities not yet named."""
    left = list({sentence.text: sentence for passage in passages for sentence in _naming(passage)}.values())
    chosen: list[SentencePlace] = []
    named: set[UUID] = set()
    documents: set[UUID] = set()
    while left and len(chosen) < limit:
        best = max(left, key=lambda one: _worth(one, named, documents))  # of equals the first
        left.remove(best)
        chosen.append(best.place)
        named |= best.says.keys()
        documents.add(best.document_id)
    return chosen


def _worth(sentence: _Sentence, named: set[UUID], documents: set[UUID]) -> float:
    worth = sum(weight * (AGAIN if entity in named else 1.0) for entity, weight in sentence.says.items())
    return worth * (SAME_DOCUMENT if sentence.document_id in documents else 1.0)


def _naming(passage: SourcePassage) -> Iterator[_Sentence]:
    """Sentences of a passage that name a member, as their documents write it."""
    text = passage.content
    for start, end in sentences(text, 0, len(text)):
        body = text[start:end]
        start, end = start + len(body) - len(body.lstrip()), end - len(body) + len(body.rstrip())
        said = text[start:end]
        if not SHORTEST <= len(said) <= LONGEST:
            continue
        says = {entity: weight for entity, name, weight in passage.names if name in said}
        if says:
            place = SentencePlace(passage.passage_id, passage.start + start, passage.start + end)
            yield _Sentence(place, passage.document_id, said, says)
