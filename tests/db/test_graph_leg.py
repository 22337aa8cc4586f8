"""The graph leg, through the whole read path: what it finds, and what binds it."""

from __future__ import annotations

from app.domain.passage import Leg, SearchResult
from app.wiring import Services
from tests.documents import find, index_texts

ALL: tuple[Leg, ...] = ("vector", "lexical", "graph")
QUESTION = "Who did the director of Big Eyes marry in secret?"
FILM = {
    "film": "The film Big Eyes was directed by Tim Burton. It was shot in Canada.",
    "director": "In 2001 Tim Burton was in Prague, where the wedding with Lena Gieseke took place.",
}
NOISE = {
    f"noise{n}": f"Rule {n}: people who marry tell the mayor about it, none of it stays a secret." for n in range(30)
}


def places(result: SearchResult) -> dict[str, int]:
    return {passage.external_id: place for place, passage in enumerate(result.passages, 1)}


async def test_what_is_linked_with_the_best_passage_is_found(services: Services) -> None:
    """A6: the second passage of a question in two steps shares no word with it."""
    await index_texts(services, FILM | NOISE)
    without = places(await find(services, QUESTION, legs=("vector", "lexical"), top_k=5))
    result = await find(services, QUESTION, legs=ALL, top_k=5)
    assert "director" not in without
    assert "director" in places(result)
    assert result.legs_used == ALL
    linked = next(passage for passage in result.passages if passage.external_id == "director")
    assert linked.ranks["graph"] >= 1
    assert 0 < result.confidence["graph"] <= 1
    assert result.passages[0].external_id == "film", "the best of the text legs stays first"
