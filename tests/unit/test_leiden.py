"""Communities found in graphs with planted ones, and which of them are those of before."""

from __future__ import annotations

import random
from uuid import UUID

import pytest

from cairn.domain.graph_view import (
    Group,
    Relations,
    SourcePassage,
    StoredCommunity,
)
from cairn.graph.communities import choose_sentences, find_communities, identify_communities


def planted(groups: int, size: int, *, noise: int = 0, seed: int = 1) -> Relations:
    """Cliques, and weak relations between them."""
    chance = random.Random(seed)
    count = groups * size
    edges = {
        (a, b): 0.5 for first in range(0, count, size) for a in range(first, first + size) for b in range(a + 1, first + size)
    }  # fmt: skip
    for _ in range(noise):
        a, b = sorted(chance.sample(range(count), 2))
        edges.setdefault((a, b), 0.05)
    return Relations(
        [UUID(int=number + 1) for number in range(count)], [(*pair, w) for pair, w in sorted(edges.items())]
    )


def known_as(groups: list[Group], first: int = 1) -> list[StoredCommunity]:
    return [
        StoredCommunity(UUID(int=first + at), group.level, None, frozenset(group.members), group.fingerprint, True)
        for at, group in enumerate(groups)
    ]


def test_planted_communities_are_found_under_noise() -> None:
    relations = planted(20, 8, noise=150)
    found = find_communities(relations, max_size=50, min_size=3)
    leaves = {frozenset(group.members) for group in found}
    expected = {frozenset(relations.entities[at : at + 8]) for at in range(0, 160, 8)}
    assert len(leaves & expected) >= 18


def test_the_same_relations_give_the_same_communities() -> None:
    one, two = (find_communities(planted(12, 6, noise=60), max_size=10, min_size=3) for _ in range(2))
    assert one == two


def test_large_communities_are_divided_and_parts_lie_within_them() -> None:
    small = planted(100, 6)
    chance = random.Random(2)
    related = {(a, b): weight for a, b, weight in small.edges}
    for block in range(0, 600, 30):  # five cliques each
        for _ in range(120):
            a, b = sorted(chance.sample(range(block, block + 30), 2))
            related.setdefault((a, b), 0.2)
    relations = Relations(small.entities, [(*pair, weight) for pair, weight in sorted(related.items())])
    found = find_communities(relations, max_size=12, min_size=3)
    assert {group.level for group in found} >= {0, 1}
    for group in found:
        assert len(group.members) >= 3
        if group.parent is not None:
            assert set(group.members) < set(found[group.parent].members)
    below = {group.parent for group in found}
    assert all(len(group.members) <= 12 for at, group in enumerate(found) if at not in below)


@pytest.mark.parametrize("relations", [Relations([], []), planted(1, 2)], ids=["nothing", "a pair"])
def test_too_little_makes_no_community(relations: Relations) -> None:
    assert find_communities(relations, max_size=50, min_size=3) == []


def test_a_clique_that_cannot_be_divided_stays_one() -> None:
    found = find_communities(planted(1, 30), max_size=10, min_size=3)
    assert frozenset(found[0].members) == frozenset(UUID(int=n + 1) for n in range(30))


def test_ids_follow_what_they_stood_for() -> None:
    groups = find_communities(planted(5, 8), max_size=50, min_size=3)
    known = known_as(groups)
    fewer = [Group(g.level, None, dict(list(g.members.items())[1:]), g.fingerprint) for g in reversed(groups)]
    assert identify_communities(fewer, known) == [one.id for one in reversed(known)]
    strange = Group(0, None, {UUID(int=999): 1.0, next(iter(groups[0].members)): 1.0}, b"")
    [fresh] = identify_communities([strange], known)
    assert fresh not in {one.id for one in known}
    twice = identify_communities([groups[0], groups[0]], known)
    assert twice[0] == known[0].id != twice[1]


def test_sentences_name_central_entities_and_complement_each_other() -> None:
    ada, ben, cleo = (UUID(int=n) for n in (1, 2, 3))
    text = (
        "Ada Lovelace met Ben Nevis in the year 1833. Nothing of interest is said here at all. "
        "Ada Lovelace met Ben Nevis for a second time. Cleo Patra wrote about them afterwards."
    )
    names = ((ada, "Ada Lovelace", 3.0), (ben, "Ben Nevis", 2.0), (cleo, "Cleo Patra", 1.5))
    passage = SourcePassage(UUID(int=9), UUID(int=8), 100, text, names)
    chosen = choose_sentences([passage], 2)
    said = [text[place.start - 100 : place.end - 100] for place in chosen]
    assert said == ["Ada Lovelace met Ben Nevis in the year 1833.", "Cleo Patra wrote about them afterwards."]
    assert choose_sentences([], 5) == []
