"""What to read for an overview of a collection that is too large to be read: passages of its communities.

The largest communities come first, each with the passage of its best sentence, then each with that of its second best, and
so on until the budget is spent: so no subject crowds out the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from app.answering.context import Run
from app.domain.graph_view import CommunitySummary
from app.domain.passage import Passage

COMMUNITIES: Final = 40
"""At most."""
FEWEST: Final = 3
"""Communities that make an overview; of fewer, passages evenly spread over the collection say more."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Overview:
    """Passages, those of a community side by side. `places`: the sentences that sum up the communities, by passage."""

    passages: tuple[Passage, ...]
    places: Mapping[UUID, Sequence[Span]]
    communities: int


async def overview(run: Run, max_tokens: int) -> Overview | None:
    """None where the collection has too few communities."""
    found = await run.deps.library.largest_communities(run.question.collection, limit=COMMUNITIES)
    found = [one for one in found if one.sentences]
    if len(found) < FEWEST:
        return None
    wanted = list(dict.fromkeys(_in_turns(found)))
    passages: dict[UUID, Passage] = {}
    for passage in await run.deps.library.passages(wanted):
        max_tokens -= passage.token_count
        if max_tokens < 0 and passages:
            break
        passages[passage.passage_id] = passage
    places: dict[UUID, list[Span]] = {}
    for sentence in (sentence for one in found for sentence in one.sentences):
        if sentence.passage_id in passages:
            places.setdefault(sentence.passage_id, []).append((sentence.start, sentence.end))
    return Overview(tuple(passages[one] for one in places), places, len(found))


def _in_turns(found: Sequence[CommunitySummary]) -> Iterator[UUID]:
    for turn in range(max(len(one.sentences) for one in found)):
        yield from (one.sentences[turn].passage_id for one in found if turn < len(one.sentences))
