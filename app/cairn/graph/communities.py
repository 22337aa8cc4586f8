"""Communities of a graph: hierarchical Leiden, and which of them were there before. Pure (docs/adr/0026-communities.md).

Level 0 parts the whole graph; whatever has more than `max_size` entities is parted again, as its own graph, until nothing
has. The same relations always give the same communities: there is a seed, and everything is in order of ids.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from cairn.distribution import require_part
from cairn.domain.graph_view import Group, Relations, SentencePlace, SourcePassage, StoredCommunity
from cairn.domain.ids import new_id
from cairn.graph.relations import sentences

SEED: Final = 7
ALIKE: Final = 0.3
"""Share of common members, of all that either has, from which on a community is an earlier one, changed."""

_Key = tuple[int, int]
"""Level, and number of the cluster."""


def find_communities(relations: Relations, *, max_size: int, min_size: int) -> list[Group]:
    """Communities of at least `min_size` entities that are listed, those of a level before the next; none where there is no
    relation. Raises MissingPartError."""
    if not relations.edges:
        return []
    require_part("graph", "finding communities")
    from graspologic_native import hierarchical_leiden  # the one place that needs it

    edges = [(str(a), str(b), weight) for a, b, weight in relations.edges]
    members: dict[_Key, list[int]] = defaultdict(list)
    lines: dict[int, list[_Key]] = defaultdict(list)
    parents: dict[_Key, _Key] = {}
    for row in hierarchical_leiden(edges, None, 1.0, 0.001, 1, True, max_cluster_size=max_size, seed=SEED):
        key, node = (row.level, row.cluster), int(row.node)
        if node not in relations.unlisted:
            members[key].append(node)
        lines[node].append(key)
        if row.parent_cluster is not None:
            parents[key] = (row.level - 1, row.parent_cluster)
    kept = [
        key
        for key, inside in sorted(members.items())
        if len(inside) >= min_size and not (key in parents and len(inside) == len(members[parents[key]]))
    ]
    inner = _inner(relations, {node: sorted(line) for node, line in lines.items()})
    numbers = {key: number for number, key in enumerate(kept)}
    return [
        Group(
            key[0],
            _above(key, parents, numbers),
            *_describe(relations.entities, sorted(members[key]), inner[key]),
        )
        for key in kept
    ]


def _above(key: _Key, parents: Mapping[_Key, _Key], numbers: Mapping[_Key, int]) -> int | None:
    """Number of the smallest kept cluster that this one is part of."""
    while (parent := parents.get(key)) is not None:
        if parent in numbers:
            return numbers[parent]
        key = parent
    return None


def _inner(relations: Relations, lines: Mapping[int, list[_Key]]) -> dict[_Key, list[tuple[int, int, float]]]:
    """The relations within each cluster, in order. `lines`: clusters of each entity, the largest first."""
    inner: dict[_Key, list[tuple[int, int, float]]] = defaultdict(list)
    for edge in relations.edges:
        for key, other in zip(lines[edge[0]], lines[edge[1]], strict=False):
            if key != other:
                break  # parts of different clusters have nothing in common
            inner[key].append(edge)
    return inner


def _describe(
    entities: Sequence[UUID], members: Sequence[int], inner: Sequence[tuple[int, int, float]]
) -> tuple[dict[UUID, float], bytes]:
    degrees = dict.fromkeys(members, 0.0)
    digest = hashlib.blake2b(digest_size=16)
    for node in members:
        digest.update(entities[node].bytes)
    for a, b, weight in inner:
        for node in {a, b} & degrees.keys():
            degrees[node] += weight
        digest.update(entities[a].bytes + entities[b].bytes + f"{weight:.4f}".encode())
    return {entities[node]: degree for node, degree in degrees.items()}, digest.digest()


def identify_communities(groups: Sequence[Group], known: Sequence[StoredCommunity]) -> list[UUID]:
    """An id for each group: that of the stored community which is most like it, each given once, or a new one."""
    holders: dict[UUID, list[int]] = defaultdict(list)
    for number, stored in enumerate(known):
        for entity in stored.members:
            holders[entity].append(number)
    pairs: list[tuple[float, int, int, int]] = []
    for at, group in enumerate(groups):
        common: dict[int, int] = defaultdict(int)
        for entity in group.members:
            for number in holders.get(entity, ()):
                common[number] += 1
        for number, shared in common.items():
            either = len(group.members) + len(known[number].members) - shared
            if shared / either >= ALIKE:
                pairs.append((-shared / either, abs(group.level - known[number].level), at, number))
    given: dict[int, UUID] = {}
    taken: set[int] = set()
    for _, _, at, number in sorted(pairs):
        if at not in given and number not in taken:
            given[at] = known[number].id
            taken.add(number)
    return [given.get(at) or new_id() for at in range(len(groups))]


# --- Which sentences say most about a community: those that name its central entities, each adding to the oth ---

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
    left = list({sentence.text: sentence for passage in passages for sentence in _entities_named(passage)}.values())
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


def _entities_named(passage: SourcePassage) -> Iterator[_Sentence]:
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
