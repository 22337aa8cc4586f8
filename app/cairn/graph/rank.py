"""Which passages the graph adds to what the text legs found, and how good they are. Pure (docs/adr/0024-graph-leg.md).

A question in several steps names the first thing and asks about the last: "Who is the spouse of the director of Big
Eyes?" The text legs find the passage about Big Eyes, which mentions Tim Burton; the passage about him shares no word
with the question but "spouse". So the best passages of the text legs are seeds, the entities that they mention are
bridges, and a passage that mentions a bridge is as good as

    seed^2 * rarity of the bridge * (what it adds + half of what the seed says about the bridge + constants)

    seed     how good the seed is, relative to the best one; half of that where the seed mentions nothing that the
             question names
    rarity   sqrt(2 / passages that mention the bridge): two passages alone share it: 1; a hub: little
    adds     share of the question, by weight of its words, that the passage holds and the seed does not
    says     share of the question in the sentences of the seed that mention the bridge

What the question itself names is no bridge: its words have led the text legs to it already. A name that fills a document or the
collection is as if it were not named (EVERYWHERE). A passage that mentions it is
worth NAMED / sqrt(passages that do), or NAMED_TOPIC where that is its title or heading: questions that compare two things
need both. Of several ways to a passage the best counts.

Everything that is needed comes from one statement: mentions of the seeds -> entities of at most `MOST_PASSAGES`
passages -> mentions -> passages, each with the question's words that it holds (keys of the lexical index).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

SEEDS: Final = 5
"""Best passages of the text legs that are walked from; 3 and 10 do about as well."""
MOST_PASSAGES: Final = 50
"""Passages that mention an entity beyond which it is a hub and joins nothing; any cap from 10 to 300 does as well."""
EVERYWHERE: Final = 0.3, 10
"""A name in the question that more than this share of the passages of a document, or of the collection, mention begins no walk,
for it tells none of them from the others. Documents and collections of fewer passages tell nothing. Measured: .1 to .5 are alike
within noise (docs/adr/0024-graph-leg.md)."""
SAID: Final = 0.5
TOPIC: Final = 0.125
"""A passage whose title or heading is the bridge is about it."""
LINKED: Final = 0.025
"""What a link alone is worth."""
NAMED_TOPIC: Final = 0.3
NAMED: Final = 0.2
"""What naming a thing is worth to the passages about it and to those that mention it; .1 to .5 do about as well."""
LEAST: Final = 0.1
"""Worth below which a passage moves nothing: less would let every name that fills the documents of a collection shuffle them."""
UNNAMED: Final = 0.5
"""A seed that mentions nothing that the question names may be about something else."""

Term = Hashable
"""A word of the question as the lexical index knows it: a key, or a stem."""


@dataclass(frozen=True, slots=True)
class Seed:
    """A passage to walk from. `score` 0..1 relative to the best of the text legs, `terms` the question's words that it
    holds; `named`: it mentions an entity that the question names."""

    passage_id: UUID
    score: float
    terms: frozenset[Term]
    named: bool


@dataclass(frozen=True, slots=True)
class SharedEntity:
    """A seed and another passage that mention the same entity, which `passages` of the collection do.

    `said`: the question's words in the sentences of the seed that mention it; `topic`: it is a title or heading of the
    other passage.
    """

    seed_id: UUID
    passage_id: UUID
    entity_id: UUID
    passages: int
    topic: bool
    said: frozenset[Term]


@dataclass(frozen=True, slots=True)
class NamingPassage:
    """A passage that mentions an entity which the question names.

    `topic`: as its title or heading. `passages` of the collection do so in the same way. `sure`, 0..1: that it is meant.
    """

    passage_id: UUID
    entity_id: UUID
    passages: int
    topic: bool
    sure: float = 1.0


@dataclass(frozen=True, slots=True)
class RankedPassage:
    """A passage that the graph found: how good it is, 0..1, over which entity, and from which seed (None: the question)."""

    passage_id: UUID
    score: float
    entity_id: UUID
    seed_id: UUID | None = None


def rank(
    weights: Mapping[Term, float],
    seeds: Sequence[Seed],
    links: Sequence[SharedEntity],
    terms: Mapping[UUID, frozenset[Term]],
    named: Sequence[NamingPassage] = (),
) -> list[RankedPassage]:
    """Linked and named passages, best first, ties by id; seeds that are linked with each other are among them.

    `weights` are the words of the question with their idf (a word that the collection lacks has the highest), `terms`
    those of them that each linked passage holds; a passage that is missing there holds none.
    """
    best: dict[UUID, RankedPassage] = {}
    for found in (*_rank_sharing(weights, seeds, links, terms), *_rank_naming(named)):
        present = best.get(found.passage_id)
        if present is None or _order(found) < _order(present):
            best[found.passage_id] = found
    return sorted(best.values(), key=_order)


def _rank_naming(named: Sequence[NamingPassage]) -> Iterator[RankedPassage]:
    for one in named:
        if 1 <= one.passages <= MOST_PASSAGES:
            score = one.sure * (NAMED_TOPIC if one.topic else NAMED) / math.sqrt(one.passages)
            yield RankedPassage(one.passage_id, score, one.entity_id)


def _rank_sharing(
    weights: Mapping[Term, float],
    seeds: Sequence[Seed],
    links: Sequence[SharedEntity],
    terms: Mapping[UUID, frozenset[Term]],
) -> Iterator[RankedPassage]:
    total = sum(weights.values())
    known = {seed.passage_id: seed for seed in seeds}
    for link in links:
        seed = known.get(link.seed_id)
        if seed and link.passage_id != link.seed_id and 2 <= link.passages <= MOST_PASSAGES:
            score = _worth(seed, link, terms.get(link.passage_id, frozenset()), weights, total)
            yield RankedPassage(link.passage_id, score, link.entity_id, link.seed_id)


def _worth(seed: Seed, link: SharedEntity, held: frozenset[Term], weights: Mapping[Term, float], total: float) -> float:
    def share(some: frozenset[Term]) -> float:
        return sum(weights.get(term, 0.0) for term in some) / total if total > 0 else 0.0

    way = seed.score**2 * (1.0 if seed.named else UNNAMED) * math.sqrt(2 / link.passages)
    value = share(held - seed.terms) + SAID * share(link.said) + TOPIC * link.topic + LINKED
    return min(way * value, 1.0)


def _order(item: RankedPassage) -> tuple[float, UUID, UUID, bool, UUID]:
    return -item.score, item.passage_id, item.entity_id, item.seed_id is None, item.seed_id or item.passage_id
