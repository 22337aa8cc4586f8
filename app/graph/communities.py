"""Communities of a graph: hierarchical Leiden, and which of them were there before. Pure (docs/adr/0026-communities.md).

Level 0 parts the whole graph; whatever has more than `max_size` entities is parted again, as its own graph, until nothing
has. The same relations always give the same communities: there is a seed, and everything is in order of ids.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from app.domain.community import Group, Stored, Weights
from app.domain.ids import new_id

SEED: Final = 7
ALIKE: Final = 0.3
"""Share of common members, of all that either has, from which on a community is an earlier one, changed."""

_Key = tuple[int, int]
"""Level, and number of the cluster."""


def find_communities(weights: Weights, *, max_size: int, min_size: int) -> list[Group]:
    """Communities of at least `min_size` entities, those of a level before the next; none where there is no relation."""
    from graspologic_native import hierarchical_leiden  # the one place that needs it

    if not weights:
        return []
    entities = sorted({entity for pair in weights for entity in pair})
    place = {entity: str(number) for number, entity in enumerate(entities)}
    edges = [(place[a], place[b], weight) for (a, b), weight in sorted(weights.items())]
    clusters: dict[_Key, set[UUID]] = defaultdict(set)
    parents: dict[_Key, _Key] = {}
    for row in hierarchical_leiden(edges, max_cluster_size=max_size, seed=SEED):
        key = (row.level, row.cluster)
        clusters[key].add(entities[int(row.node)])
        if row.parent_cluster is not None:
            parents[key] = (row.level - 1, row.parent_cluster)
    kept = {
        key: members
        for key, members in sorted(clusters.items())
        if len(members) >= min_size and not (key in parents and len(members) == len(clusters[parents[key]]))
    }
    inner = _inner(weights, kept)
    numbers = {key: number for number, key in enumerate(kept)}
    return [
        Group(key[0], numbers.get(parents[key]) if key in parents else None, *_described(members, inner[key]))
        for key, members in kept.items()
    ]


def _inner(weights: Weights, clusters: Mapping[_Key, set[UUID]]) -> dict[_Key, list[tuple[UUID, UUID, float]]]:
    """The relations within each cluster, in order."""
    places: dict[UUID, set[_Key]] = defaultdict(set)
    for key, members in clusters.items():
        for entity in members:
            places[entity].add(key)
    inner: dict[_Key, list[tuple[UUID, UUID, float]]] = defaultdict(list)
    for (a, b), weight in sorted(weights.items()):
        for key in places[a] & places[b]:
            inner[key].append((a, b, weight))
    return inner


def _described(members: set[UUID], inner: Sequence[tuple[UUID, UUID, float]]) -> tuple[dict[UUID, float], bytes]:
    degrees = dict.fromkeys(sorted(members), 0.0)
    digest = hashlib.blake2b(digest_size=16)
    for entity in degrees:
        digest.update(entity.bytes)
    for a, b, weight in inner:
        degrees[a] += weight
        degrees[b] += weight
        digest.update(a.bytes + b.bytes + f"{weight:.4f}".encode())
    return degrees, digest.digest()


def identified(groups: Sequence[Group], known: Sequence[Stored]) -> list[UUID]:
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
