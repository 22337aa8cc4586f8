"""Keys, scopes and guards of the retrieval cache."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.domain.passage import CacheAddress, CacheCounts, CacheStats, SearchRequest, SearchResult
from cairn.domain.principal import Principal
from cairn.retrieve.cache import cache_address, guards, is_reordered, is_storable, normalise_query
from cairn.settings import RagSettings, Settings

REQUEST = SearchRequest("What is a cairn?", ("stones",))
OTHERS: dict[str, Any] = {
    "model_id": 1,
    "encoder": "questions-1",
    "reranker": None,
    "strategy": "fast",
    "answering": False,
}


def where(
    request: SearchRequest = REQUEST, settings: Settings | None = None, tenant: int = 1, **more: Any
) -> CacheAddress:
    return cache_address(Principal(tenant, ""), request, settings or Settings(), **{**OTHERS, **more})


@pytest.mark.parametrize(
    "same", ["what is a cairn", "  What\tis \n a  CAIRN ?! ", "what is a cairn?.!,;:", "WHAT IS A CAIRN ."]
)
def test_spelling_that_means_the_same_shares_a_key(same: str) -> None:
    """Lower case, white space collapsed, trailing ?.!,;: stripped."""
    assert where(replace(REQUEST, query=same)) == replace(where(), guards=guards(same))


@pytest.mark.parametrize(
    "other", ["what is the cairn", "what are cairns", "what is a.cairn", "? what is a cairn", "what is a cairn)", "???"]
)
def test_no_stemming_and_no_stop_words(other: str) -> None:
    assert where(replace(REQUEST, query=other)).key != where().key


def test_queries_of_signs_alone_stay_apart() -> None:
    assert normalise_query("??") == "??" != normalise_query("!")


def test_an_identifier_is_not_its_lower_case() -> None:
    """`getUserName` is also searched as get, user, name; `getusername` is not: other results, so other keys."""
    one, other = (where(replace(REQUEST, query=query)) for query in ("getUserName", "getusername"))
    assert one.query == other.query
    assert one.key != other.key


CHANGES: dict[str, CacheAddress] = {
    "tenant": where(tenant=2),
    "encoder": where(encoder="questions-2"),
    "collection": where(replace(REQUEST, collections=("other",))),
    "collections": where(replace(REQUEST, collections=("stones", "other"))),
    "top_k": where(replace(REQUEST, top_k=11)),
    "rerank": where(replace(REQUEST, rerank=False)),
    "legs": where(replace(REQUEST, legs=("lexical",))),
    "group_by": where(replace(REQUEST, group_by="document")),
    "expand_parents": where(replace(REQUEST, expand_parents=False)),
    "settings": where(settings=Settings(rag=RagSettings(hybrid_search_weight=0.5))),
    "model": where(model_id=2),
    "reranker": where(reranker="rerank-v3.5"),
    "strategy": where(strategy="enhanced"),
    "answering": where(answering=True),
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_decides_the_result_is_in_the_key_and_in_the_scope(change: str) -> None:
    """No leak between tenants, collections, models, settings or parameters."""
    assert CHANGES[change].key != where().key
    assert CHANGES[change].scope != where().scope


def test_the_scope_is_the_key_without_the_query() -> None:
    other = where(replace(REQUEST, query="another question"))
    assert (other.scope, other.key == where().key) == (where().scope, False)


def test_order_of_collections_and_legs_does_not_matter() -> None:
    one = where(replace(REQUEST, collections=("a", "b"), legs=("vector", "lexical")))
    assert one == where(replace(REQUEST, collections=("b", "a", "b"), legs=("lexical", "vector")))


@given(
    st.lists(st.text(alphabet='a|",[]\\ 1', max_size=6), min_size=2, max_size=2), st.text(alphabet='a|"1', max_size=6)
)
def test_parts_of_the_key_never_run_into_one_another(names: list[str], query: str) -> None:
    """`a|10` as a query is not `a` with ten results: keys are equal only when every part is."""
    one, other = (where(replace(REQUEST, query=query, collections=(name,))) for name in names)
    assert (one.key == other.key) == (names[0] == names[1])
    joined = where(replace(REQUEST, query=query, collections=("".join(names), "x")))
    assert joined.key != where(replace(REQUEST, query=query, collections=tuple(names))).key or set(names) == {
        "".join(names),
        "x",
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("revenue in 2023", "revenue in 2024"),
        ("does it work with version 1.2", "does it work with version 1.3"),
        ("is smoking allowed", "is smoking not allowed"),
        ("can I cancel", "can't I cancel"),
        ("est-ce permis", "est-ce pas permis"),
        ("¿está permitido?", "¿no está permitido?"),
        ("ist es erlaubt", "ist es nicht erlaubt"),
        ("who founded Paris", "who founded Rome"),
        ("Paris population", "London population"),
        ("what does parent_id mean", "what does child_id mean"),
        ('what is "deep water"', 'what is "shallow water"'),
        ("from 3 to 5 days", "from 5 to 3 days"),
        ("does Anna lead Bert", "does Bert lead Anna"),
        ("sales before the merger", "sales after the merger"),
        ("rain in january", "rain in february"),
        ("the two towers", "the three towers"),
    ],
)
def test_queries_with_other_numbers_negations_or_names_are_guarded(one: str, other: str) -> None:
    assert guards(one) != guards(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How do hikers find the trail?", "how can hikers find the trail"),
        ("What is the capital of France?", "which city is the capital of France"),
        ("Wie finden Wanderer den Weg 3?", "wie können Wanderer den Weg 3 finden"),
    ],
)
def test_other_words_for_the_same_are_not_guarded(one: str, other: str) -> None:
    assert guards(one) == guards(other)


def test_swapped_words_are_another_question() -> None:
    assert is_reordered("does the dog bite the man", "does the man bite the dog")
    assert not is_reordered("does the dog bite", "does the cat bite")
    assert not is_reordered("the same", "the same")


def test_what_failed_in_part_is_not_stored() -> None:
    """A failed leg or reranker, which may work the next time."""
    whole = SearchResult(
        (), uuid4(), ("vector", "lexical"), {}, True, (), {}, {}, {"stones": 1}, 0, snapshot={uuid4(): 1}
    )
    assert is_storable(whole)
    assert not is_storable(replace(whole, legs_failed={"vector": "down"}))
    assert not is_storable(replace(whole, degraded=("reranker failed",)))


def test_hit_rate() -> None:
    assert CacheStats(0, CacheCounts(), 0).hit_rate is None
    assert CacheStats(0, CacheCounts(hits=3, misses=1, bypassed=9), 0).hit_rate == 0.75
