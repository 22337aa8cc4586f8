"""Numbers that decide what is found, each at its edge."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import fields, replace
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest

from cairn.domain.passage import Fused, Hit, LegResult, Passage, SearchRequest, SearchResult
from cairn.domain.principal import Principal
from cairn.graph.code.symbols import SymbolPassage
from cairn.graph.rank import RankedPassage
from cairn.providers.protocols import RerankerChoice
from cairn.providers.retry import now
from cairn.retrieve.cache import FORMAT
from cairn.retrieve.context import Retrieved, SearchContext, SearchDeps, ServingModels
from cairn.retrieve.fuse import with_graph
from cairn.retrieve.graph import _as_found, search_at
from cairn.retrieve.operators import parse_operators
from cairn.retrieve.rerank import rerank
from cairn.retrieve.stepwise import _deep_enough
from cairn.settings import RetrieveSettings, Settings
from tests.unit.test_extract import passage

HERE = Principal(1, "test")


def searched(**more: Any) -> SearchContext:
    """A search of which nothing is executed."""
    request = SearchRequest("kestrel", ("c",), **more)
    return SearchContext(cast("SearchDeps", None), HERE, request, Settings(), legs=("lexical",))


def fused(count: int) -> list[Fused]:
    return [Fused(UUID(int=n), (100 - n) / 100, {"lexical": n + 1}, {"lexical": (100 - n) / 100}) for n in range(count)]


def test_what_only_the_graph_found_counts_as_the_fiftieth_of_the_text() -> None:
    graph = LegResult("graph", (Hit(UUID(int=999), UUID(int=1), 0.001),), 0.5, True, True)
    order = [item.passage_id.int for item in with_graph(fused(80), graph)]
    assert order.index(999) == 49


def test_the_graph_passes_on_fifty_passages() -> None:
    ranked = [RankedPassage(UUID(int=n), 1 / (n + 1), UUID(int=7)) for n in range(80)]
    symbols = [SymbolPassage(one.passage_id, UUID(int=5), UUID(int=7), one.score) for one in ranked]
    found = _as_found(searched(top_k=5), ranked, (), (), {}, symbols=symbols)
    assert len(found.result.hits) == 50


@pytest.mark.parametrize(("count", "operators"), [(32, True), (33, False)])
def test_thirty_two_operators_are_a_query(count: int, operators: bool) -> None:
    query = "kestrel " + " ".join(f"-heron{n}" for n in range(count))
    assert (parse_operators(query).conditions is not None) is operators


@pytest.mark.parametrize(("length", "phrase"), [(200, True), (201, False)])
def test_a_phrase_has_two_hundred_characters(length: int, phrase: bool) -> None:
    assert (parse_operators(f'kestrel "{"x" * length}"').conditions is not None) is phrase


@pytest.mark.parametrize(("words", "insists"), [(12, True), (13, False)])
def test_a_query_of_twelve_words_is_no_sentence(words: int, insists: bool) -> None:
    query = " ".join(f"kestrel{n}" for n in range(words)) + ' "dark rock"'
    assert (parse_operators(query).conditions is not None) is insists


@pytest.mark.parametrize(("depth", "enough"), [(5000, True), (4999, False)])
def test_grouping_looks_five_thousand_passages_deep(depth: int, enough: bool) -> None:
    found = Retrieved((), {"lexical": LegResult("lexical", (), 0.5, True, complete=False)}, ())
    assert _deep_enough(searched(group_by="document"), found, depth) is enough


def test_the_models_of_ten_thousand_collections_are_remembered() -> None:
    known = ServingModels()
    model = cast("Any", SimpleNamespace(id=1))
    for n in range(10_000):
        known.note(HERE, f"c{n}", model)
    assert known.get(HERE, "c0") is model
    known.note(HERE, "one more", model)
    assert known.get(HERE, "c0") is None
    assert known.get(HERE, "one more") is model


def test_what_is_kept_of_a_search_has_a_format() -> None:
    """Who changes what is kept (the fields), or what a key means, adds one to the format, and writes both here."""
    kept = [field.name for kind in (SearchResult, Passage) for field in fields(kind)]
    assert (FORMAT, len(kept), hashlib.sha256(" ".join(kept).encode()).hexdigest()[:12]) == (4, 40, "20a691b05dad")


async def test_a_reranker_has_a_second_more_than_it_gives_itself() -> None:
    """So that it says itself why it failed."""
    ends: list[float] = []

    class Asked:
        name = "asked"

        async def rerank(self, query: str, texts: list[str], *, top_n: int) -> list[Any]:
            scheduled = cast("Any", asyncio.get_running_loop())._scheduled
            ends.extend((min(timer.when() for timer in scheduled if not timer.cancelled()), now()))
            return []

    settings = RetrieveSettings()
    begun = now()
    choice = cast("Any", replace(RerankerChoice(None), reranker=cast("Any", Asked())))
    await rerank(choice, "kestrel", [passage("a"), passage("b")], settings)
    end, asked = ends
    assert begun <= end - settings.rerank_seconds - 1.0 <= asked


async def test_two_thousand_links_are_looked_at() -> None:
    """Of each collection, as the database is asked."""
    asked: list[Any] = []

    class Connection:
        async def fetch(self, *arguments: Any, timeout: float) -> list[Any]:
            asked.extend(arguments)
            return []

    state = cast("Any", SimpleNamespace(id=UUID(int=1), epoch=1))
    await search_at(Connection(), replace(searched(), text="Where is Tim Burton?"), state, fused(3))
    assert 2000 in asked
