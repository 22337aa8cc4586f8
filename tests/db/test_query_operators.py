"""Phrases, exclusions and fields keep both legs to what they say (docs/adr/0014-lexical-operators.md)."""

from __future__ import annotations

import random

import pytest

from cairn.domain.passage import SearchRequest, SearchResult
from cairn.domain.plan import Condition, Conditions
from cairn.retrieve.operators import parse_operators
from cairn.service.documents import get_collection, index_now
from cairn.service.search import get_trace, run_search
from cairn.settings import LexicalSettings
from cairn.store import lexical
from cairn.wiring import Services
from tests.db.test_lexical import WORDS, make_texts
from tests.documents import index_texts, text_source
from tests.sharing import SHARED

pytestmark = [SHARED, pytest.mark.usefixtures("hashed_vectors")]

STONES = {
    "granite": "Granite is a coarse rock of quartz and feldspar. It cools slowly, deep in the earth.",
    "basalt": "Basalt is a dark rock. Lava cools quickly and becomes basalt at the surface.",
    "obsidian": "Obsidian is a rock like dark glass. Lava that cools at once becomes it; basalts take longer.",
    "cairn": "A cairn is a pile of stones that marks a trail in the dark, on rock or snow.",
    "bread": "Bread is baked from flour, water and salt. The dough rests overnight.",
}
LEGS = [("vector",), ("lexical",), ("vector", "lexical")]


async def names(services: Services, query: str, **more: object) -> set[str]:
    return {passage.external_id for passage in (await run(services, query, **more)).passages}


async def run(services: Services, query: str, **more: object) -> SearchResult:
    request = SearchRequest(query=query, collections=("test",), top_k=50, **more)  # type: ignore[arg-type]
    return await run_search(services, request)


@pytest.mark.parametrize("legs", LEGS, ids="+".join)
async def test_every_leg_keeps_to_the_operators(services: Services, legs: tuple[str, ...]) -> None:
    """An excluded word does not come back through the vector leg, and a phrase restricts that leg as well."""
    sources = [text_source(name, text, title=f"On {name}", kind="stone") for name, text in STONES.items()]
    await index_now(services, "test", sources)
    vector = "vector" in legs
    everything = set(STONES) if vector else {"granite", "basalt", "obsidian", "cairn"}

    async def found(query: str, **more: object) -> set[str]:
        return await names(services, query, legs=legs, **more)

    assert await found("dark rock lava") == everything
    assert await found("dark rock lava -basalt") == everything - {"basalt", "obsidian"}  # basalts: the stem counts
    assert await found('"dark rock" lava') == {"basalt"}
    assert await found('lava -"dark rock"', group_by="document") <= everything - {"basalt"}
    assert "obsidian" in await found('lava -"dark rock"')
    assert await found("+obsidian dark rock") == {"obsidian"}
    assert await found("rock lava title:BASALT") == {"basalt"}
    assert await found("rock lava -title:basalt") == everything - {"basalt"}
    assert await found("rock id:granite") == {"granite"}
    assert await found("rock path:ran") == {"granite"}
    assert await found('"dark rock" -lava') == set()
    assert await found('"no such phrase" rock') == set()
    assert await found("rock -basalt", filters={"kind": "stone"}) == everything - {"basalt", "obsidian"}
    assert await found("rock -basalt", filters={"kind": "bread"}) == set()
    assert await found('What is "no such phrase" of rock?') != set(), "quotes in a question are emphasis"


async def test_stop_words_and_operator_debris_restrict_nothing(services: Services) -> None:
    """No text makes a search fail."""
    await index_texts(services, STONES)
    assert await names(services, "rock -the", legs=("lexical",)) == {"granite", "basalt", "obsidian", "cairn"}
    for query in (
        "rock " + "-" * 1000,
        'rock "' + "a" * 3000 + '"',
        "rock -" + "b" * 2500,
        "rock !&|<-> :*",
        "rock '\\ \"",
    ):
        assert "granite" in await names(services, query)


async def test_large_collections_keep_to_the_operators_too(services: Services) -> None:
    """The vector leg by its index: as many results as there are, none with the excluded word."""
    services.settings.current = services.settings.current.model_copy(
        update={"vector": services.settings.current.vector.model_copy(update={"exact_below": 0})}
    )
    texts = make_texts(60)
    await index_texts(services, texts)
    without = {name for name, text in texts.items() if "granite" not in text.split()}
    found = await run(services, "summit of the ridge -granite", legs=("vector",))
    assert len(found.passages) == min(50, len(without))
    assert {passage.external_id for passage in found.passages} <= without


async def test_restricted_lists_equal_the_restricted_full_scan(services: Services) -> None:
    """`exact` stays true to its word: pruned and capped lists under conditions equal a filtered scan of everything."""
    await index_texts(services, make_texts(200, seed=5))
    collection = await get_collection(services, "test")
    small = LexicalSettings(candidate_budget=100)
    full = LexicalSettings(candidate_budget=1_000_000, candidate_cap=1_000_000)
    chance = random.Random(2)
    async with services.database.transaction(services.principal) as connection:
        rows = await connection.fetch("SELECT id, search_vector::text AS words FROM rag.passages")
        stems = {row["id"]: row["words"] for row in rows}
        for _ in range(6):
            asked, must, avoid = " ".join(chance.sample(WORDS, 5)), "cairn", "granit"
            for conditions in (
                Conditions(must_not=(Condition("text", "granite"),)),
                Conditions(must=(Condition("text", "cairn"),), must_not=(Condition("text", "granite"),)),
            ):
                scan = await lexical.search(connection, [collection.id], asked, 200, full, None)
                allowed = [
                    hit for hit in scan.hits
                    if f"'{avoid}'" not in stems[hit.passage_id]
                    and (not conditions.must or f"'{must}'" in stems[hit.passage_id])
                ]  # fmt: skip
                pruned = await lexical.search(connection, [collection.id], asked, 10, small, None, conditions)
                assert pruned.exact
                assert list(pruned.hits) == allowed[:10]


async def test_conditions_stand_in_the_trace(services: Services) -> None:
    await index_texts(services, STONES)
    found = await run(services, "rock -basalt")
    trace = await get_trace(services, found.trace_id)
    assert trace.question == "rock -basalt"
    asked = parse_operators(trace.question).conditions
    assert asked is not None
    assert trace.plan["conditions"] == asked.as_json(filtered=False)
