"""The graph leg, through the whole read path: what it finds, and what binds it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import asyncpg
import pytest

from cairn.domain.graph import entity_id
from cairn.domain.passage import Leg, SearchRequest, SearchResult
from cairn.errors import DatabaseUnavailableError
from cairn.graph.rank import NAMED
from cairn.graph.rows import entity_key
from cairn.retrieve.cache import cached_search
from cairn.retrieve.graph import graph_context
from cairn.retrieve.plan import default_legs
from cairn.service.documents import create_collection, delete_document, get_collection, index_now, list_documents
from cairn.service.search import get_trace, run_search
from cairn.settings import GraphSettings, Settings, SettingsStore
from cairn.store import graph
from cairn.wiring import Services
from tests.documents import find, index_texts, text_source
from tests.sharing import ALONE, SHARED

pytestmark = SHARED

ALL: tuple[Leg, ...] = ("vector", "lexical", "graph")
QUESTION = "Who did the director of Big Eyes marry in secret?"
FILM = {
    "film": "The film Big Eyes was directed by Tim Burton. It was shot in Canada.",
    "director": "In 2001 Tim Burton was in Prague, where the wedding with Lena Gieseke took place.",
}
NOISE = {
    f"noise{n}": f"Rule {n}: people who marry tell the mayor about it, none of it stays a secret." for n in range(12)
}


def places(result: SearchResult) -> dict[str, int]:
    return {passage.external_id: place for place, passage in enumerate(result.passages, 1)}


async def test_what_is_linked_with_the_best_passage_is_found(services: Services) -> None:
    """The second passage of a question in two steps shares no word with it."""
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


async def test_both_ways_to_search_are_one(services: Services) -> None:
    """In one statement and stepwise: the same order, scores, ranks and confidence."""
    await index_texts(services, FILM | NOISE)
    await create_collection(services, "empty")
    short = await find(services, QUESTION, legs=ALL, cache=False)
    long = await run_search(services, SearchRequest(QUESTION, ("test", "empty"), legs=ALL, cache=False, explicit=True))
    assert [(p.passage_id, p.ranks) for p in short.passages] == [(p.passage_id, p.ranks) for p in long.passages]
    assert [p.score for p in short.passages] == pytest.approx([p.score for p in long.passages])
    assert short.confidence == long.confidence
    assert short.how["graph"] == long.how["graph"]


async def test_a_question_that_names_nothing_does_not_ask_the_graph(services: Services) -> None:
    await index_texts(services, FILM | NOISE)
    result = await find(services, "who married in secret?", legs=ALL, cache=False)
    assert result.legs_used == ("vector", "lexical")
    assert "graph" not in result.timings_ms
    chosen = await find(services, "who married in secret?", legs=ALL, explicit=True, cache=False)
    assert chosen.legs_used == ALL


async def test_alone_the_graph_follows_what_the_question_names(services: Services) -> None:
    """Hubs too, and what is linked with their passages; entities by their words where nothing is written as a name."""
    await index_texts(services, FILM | NOISE)
    for question in ("Who directed Big Eyes?", "who directed big eyes?"):
        result = await find(services, question, legs=("graph",), explicit=True, cache=False)
        assert list(places(result))[:2] == ["film", "director"], question
        assert result.legs_used == ("graph",)
    assert not (await find(services, "xyzzy", legs=("graph",), explicit=True, cache=False)).passages
    await index_texts(services, {f"hub{n}": f"Quarries with stones of kind {n} lie in Canada." for n in range(60)})
    hub = await find(services, "Which stones of kind 7 are in Canada?", legs=("graph",), explicit=True, cache=False)
    assert next(iter(places(hub))) == "hub7"


def manual(parts: int) -> str:
    """A document of so many passages, nearly all of which mention its maker."""
    filler = "The lid opens to the left, and the water runs out below until the light goes off. " * 20
    kept = [f"Part {n} of the pump by Acme Works, and how it is cleaned. {filler}" for n in range(parts - 1)]
    return "\n\n".join([*kept, f"The lever was invented by Lena Gieseke. {filler}"])


@pytest.mark.parametrize(
    "question", ["Where was the director of Acme Works born?", "Acme Works and Rule: who opens the lid?"]
)
async def test_a_name_that_fills_a_document_begins_no_walk(services: Services, question: str) -> None:
    """Nothing moves where the question names nothing else that is known; asked alone, the graph follows it."""
    await index_texts(
        services, {"manual": manual(15)} | NOISE | {f"more{n}": f"On pump {n} by Acme Works." for n in range(3)}
    )
    asked: dict[str, Any] = {"top_k": 20, "cache": False}
    result = await find(services, question, legs=ALL, **asked)
    without = await find(services, question, legs=("vector", "lexical"), **asked)
    assert result.legs_used == ALL
    assert [p.passage_id for p in result.passages] == [p.passage_id for p in without.passages]
    assert not any("graph" in passage.ranks for passage in result.passages)
    assert (await find(services, question, legs=("graph",), explicit=True, cache=False)).passages


async def test_a_name_beside_one_that_is_everywhere_is_followed(services: Services) -> None:
    """And a document of few passages says nothing of what is everywhere."""
    await index_texts(services, {"manual": manual(15)} | FILM | NOISE)
    question = "Who did the director of Big Eyes, a film about Acme Works, marry in secret?"
    found = await find(services, question, legs=ALL, top_k=20, cache=False)
    assert "director" in places(found)
    assert {p.external_id for p in found.passages if "graph" in p.ranks} == {"film", "director"}
    await index_texts(services, {"manual": manual(4)} | FILM | NOISE, "short")
    short = await find(services, question, "short", legs=ALL, top_k=20, cache=False)
    assert "manual" in {p.external_id for p in short.passages if "graph" in p.ranks}


async def test_another_tenant_s_graph_is_not_followed(services: Services, other_tenant: Services) -> None:
    await index_texts(services, {"film": FILM["film"]})
    await index_texts(other_tenant, FILM)
    for legs in (ALL, ("graph",)):
        found = places(await find(services, QUESTION, legs=legs, explicit=True, cache=False))
        assert "director" not in found
        assert "film" in found


async def test_filters_and_operators_bind_the_graph(services: Services) -> None:
    """As the other legs: metadata, words that must or must not stand there, fields."""
    await index_now(services, "test", [text_source("film", FILM["film"], kind="film"),
                                               text_source("director", FILM["director"], kind="person")])  # fmt: skip
    asked: dict[str, Any] = {"legs": ("graph",), "explicit": True, "cache": False}
    assert set(places(await find(services, QUESTION, **asked))) == {"film", "director"}
    assert set(places(await find(services, QUESTION, filters={"kind": "film"}, **asked))) == {"film"}
    everything: dict[str, Any] = {"legs": ALL, "cache": False}
    for more, kept in (
        ("+Prague", {"director"}), ("-Prague", {"film"}), ("id:film", {"film"}), ("-id:film", {"director"}),
        ("path:fil", {"film"}), ("lang:fr", set()),
    ):  # fmt: skip
        assert set(places(await find(services, f"{QUESTION} {more}", **everything))) == kept, more
        assert set(places(await find(services, f"{QUESTION} {more}", **asked))) <= kept, more
    with_both = await find(services, f"{QUESTION} -shot", filters={"kind": "person"}, **everything)
    assert set(places(with_both)) == {"director"}


async def test_grouping_and_several_collections(services: Services) -> None:
    await index_texts(services, FILM | NOISE, "one")
    await index_texts(services, {"more": "Tim Burton lives in another collection."}, "two")
    request = SearchRequest(QUESTION, ("one", "two"), top_k=5, legs=ALL, group_by="document", cache=False)
    result = await run_search(services, request)
    assert "director" in places(result)
    assert len(places(result)) == len(result.passages)
    ranked = {p.external_id: p.ranks for p in (await run_search(services, request)).passages}
    assert "graph" not in ranked.get("more", {}), "no link leads from one collection to another"


async def test_what_is_deleted_or_replaced_is_gone(services: Services) -> None:
    await index_texts(services, FILM | NOISE)
    document = next(d for d in await list_documents(services, "test") if d.external_id == "director")
    await delete_document(services, "test", document.id)
    assert "director" not in places(await find(services, QUESTION, legs=ALL, top_k=50, cache=False))
    await index_texts(services, {"film": "Nothing about films here."})
    assert not (await find(services, QUESTION, legs=("graph",), explicit=True, cache=False)).passages


async def test_merged_entities_are_one(services: Services) -> None:
    texts = {"a": "The book Stone Age was written by Maria Skłodowska.", "b": "Marie Curie lived in a castle in Lyon."}
    await index_texts(services, texts | NOISE)
    question = "Where did the author of Stone Age live?"
    assert "b" not in places(await find(services, question, legs=("graph",), explicit=True, cache=False))
    home = await get_collection(services, "test")
    curie, maria = (entity_id(home.id, entity_key(n, "name")) for n in ("Marie Curie", "Maria Skłodowska"))
    async with services.database.transaction(services.principal) as connection:
        assert await graph.merge(connection, home.id, maria, curie, "the same person")
    assert "b" in places(await find(services, question, legs=("graph",), explicit=True, cache=False))
    assert "b" in places(await find(services, question, legs=ALL, cache=False, top_k=5))


@ALONE
async def test_a_graph_that_fails_leaves_the_other_legs(services: Services, psql: Any, database: str) -> None:
    """Told in legs_failed and degraded; alone it is an error."""
    await index_texts(services, FILM)
    psql("ALTER TABLE rag.mentions RENAME entity_id TO gone", database=database.split("/")[3].split("?")[0])
    result = await find(services, QUESTION, legs=ALL, cache=False)
    assert result.legs_used == ("vector", "lexical")
    assert result.passages
    assert "entity_id" in result.legs_failed["graph"]
    assert any("graph" in reason for reason in result.degraded)
    with pytest.raises(DatabaseUnavailableError, match="graph"):
        await find(services, QUESTION, legs=("graph",), explicit=True, cache=False)


async def test_settings_decide_whether_searches_follow_it(services: Services) -> None:
    await index_texts(services, FILM | NOISE)
    assert default_legs(Settings()) == ALL
    for off in (GraphSettings(enabled=False), GraphSettings(search=False)):
        assert default_legs(Settings(graph=off)) == ("vector", "lexical")
    capped = replace(services, settings=SettingsStore(initial=Settings(graph=GraphSettings(fusion="capped"))))
    result = await find(capped, QUESTION, legs=ALL, top_k=5, cache=False)
    assert "director" in places(result), "the graph brings its share"


async def test_the_trace_tells_what_the_graph_found(services: Services) -> None:
    """Candidates with rank, score and fate; why a passage was found or not; nothing after deletion but ids."""
    await index_texts(services, FILM | NOISE)
    result = await find(services, QUESTION, legs=ALL, top_k=5, cache=False)
    trace = await get_trace(services, result.trace_id)
    assert {leg.leg for leg in trace.legs} == {*ALL, "fused"}
    assert trace.plan["graph"]["keys"] == ["big eyes"]
    owner = await asyncpg.connect(services.owner_dsn)
    try:
        hits = await owner.fetch(
            "SELECT external_id, rank, raw_score, fusion_share, fate FROM analyst.retrieval_hits "
            "WHERE run_id = $1 AND leg = 'graph'", result.trace_id,
        )  # fmt: skip
        told = {hit["external_id"]: hit for hit in hits}
        assert told["director"]["fate"] == "kept"
        assert 0 < told["director"]["raw_score"] <= 1
        assert 0 < told["director"]["fusion_share"] <= 1
        ids = {p.external_id: p.passage_id for p in (await find(services, "marry", top_k=50, cache=False)).passages}
        director = next(p.passage_id for p in result.passages if p.external_id == "director")
        for passage, expected in ((director, "found at rank"), (ids["noise3"], "linked with the best")):
            rows = await owner.fetch("SELECT * FROM analyst.explain_passage($1, $2)", result.trace_id, passage)
            assert expected in {row["stage"]: row["verdict"] for row in rows}["graph"]
    finally:
        await owner.close()


async def test_the_cache_knows_the_graph(services: Services) -> None:
    """The same words without names are another search; a hit has what the graph says."""
    await index_texts(services, FILM | NOISE)
    first = await find(services, QUESTION, legs=ALL, top_k=5)
    assert not (await find(services, QUESTION.lower(), legs=ALL, top_k=5)).from_cache
    again = await find(services, QUESTION, legs=ALL, top_k=5)
    assert again.from_cache
    assert places(again) == places(first)
    assert again.legs_used == ALL


async def test_answers_come_with_what_the_graph_says(services: Services) -> None:
    """Entities and relations of the passages that the graph brought, from the cache too."""
    await index_texts(services, FILM | NOISE)
    search_deps, principal, settings = services.search_deps, services.principal, services.settings.current
    request = SearchRequest(QUESTION, ("test",), top_k=5, legs=ALL)
    found = [await cached_search(search_deps, principal, request, settings, answering=True) for _ in range(2)]
    for result in found:
        assert result.graph is not None
        ids = {p.external_id: p.passage_id for p in result.passages}
        burton = next(one for one in result.graph.entities if one.name == "Tim Burton")
        assert set(burton.passages) == {ids["film"], ids["director"]}
        directed = [one for one in result.graph.relations if {one.source, one.target} == {"Tim Burton", "Big Eyes"}]
        assert directed[0].passages == (ids["film"],)
        assert result.graph.communities == ()
    assert [result.from_cache for result in found] == [False, True]
    assert (await find(services, QUESTION, legs=ALL, top_k=6)).graph is None, "nobody reads it in a search"


async def test_words_that_may_be_a_name_count_a_quarter_of_a_name(services: Services) -> None:
    """Where the caller asked for the graph beside others."""
    await index_texts(services, FILM | NOISE)
    found = await find(services, "lena gieseke", legs=ALL, explicit=True, cache=False)
    assert found.confidence["graph"] == pytest.approx(NAMED / 4)


async def test_an_answer_is_told_of_fifty_relations(services: Services) -> None:
    films = [
        f"The film Big {a}{b}n was directed by Tim Burton."
        for a in "BDFKLMNPRST"
        for b in ("a", "e", "i", "o", "u", "y")
    ]
    parts = {f"films{n}": " ".join(films[n : n + 33]) for n in (0, 33)}
    await index_texts(services, FILM | parts)
    kept = (await find(services, "film directed by Tim Burton", legs=("lexical",), top_k=20, cache=False)).passages
    collection = await get_collection(services, "test")
    burton = entity_id(collection.id, entity_key("Tim Burton", "person"))
    found = await graph_context(
        services.database, services.principal, dict.fromkeys((p.passage_id for p in kept), burton), kept
    )
    assert found is not None
    assert len(found.relations) == 50
