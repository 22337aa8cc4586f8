"""Fusion of legs."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.domain.passage import Hit, Leg, LegResult
from cairn.retrieve.fuse import fuse, reciprocal_rank_fusion, relative_score_fusion, with_graph
from cairn.settings import RagSettings, Settings

DOCUMENT = UUID(int=0)


def leg(name: Leg, scores: dict[int, float], complete: bool = False) -> LegResult:
    hits = [
        Hit(UUID(int=key), DOCUMENT, score) for key, score in sorted(scores.items(), key=lambda kv: (-kv[1], kv[0]))
    ]
    return LegResult(name, tuple(hits), 1.0, True, complete)


def test_rrf_of_ranks_three_and_five() -> None:
    """Ranks 3 and 5 with k = 60 give .0159 + .0154 = .0313; ranks start at 1."""
    legs: dict[Leg, LegResult] = {
        "vector": leg("vector", {1: 0.9, 2: 0.8, 7: 0.7}),
        "lexical": leg("lexical", {3: 9, 4: 8, 5: 7, 6: 6, 7: 5}),
    }
    found = {item.passage_id: item for item in reciprocal_rank_fusion(legs, {})}[UUID(int=7)]
    assert found.ranks == {"vector": 3, "lexical": 5}
    assert found.score == pytest.approx(1 / 63 + 1 / 65)
    assert round(found.score, 4) == 0.0313


def test_weighted_rrf_and_missing_legs_contribute_nothing() -> None:
    """Weight / (60 + rank); a document of one leg only gets that leg's share."""
    legs: dict[Leg, LegResult] = {"vector": leg("vector", {1: 0.9, 2: 0.8}), "lexical": leg("lexical", {2: 5})}
    scores = {item.passage_id.int: item.score for item in reciprocal_rank_fusion(legs, {"vector": 0.7, "lexical": 0.3})}
    assert scores == {1: pytest.approx(0.7 / 61), 2: pytest.approx(0.7 / 62 + 0.3 / 61)}


def test_equal_sums_of_ranks_are_equal() -> None:
    """61 * .7 / 112 = 61 * (.7 + .3) / 160: the 52nd of one retriever stands before the 100th of both, here as in SQL, which
    counts the same parts in the same order of operations."""
    vector = leg("vector", {key: 1 - key / 1000 for key in range(1, 101)})
    lexical = leg("lexical", {key: 1 - key / 1000 for key in [*range(201, 300), 400]})
    lexical = replace(lexical, hits=(*lexical.hits[:99], Hit(UUID(int=100), DOCUMENT, 0.1)))
    settings = Settings(rag=RagSettings(hybrid_search_weight=0.7))
    found = fuse({"vector": vector, "lexical": lexical}, "rrf", settings)
    scores = {item.passage_id.int: item.score for item in found}
    assert scores[52] == 61 * 0.7 / 112 == 61 * (1 - 0.7) / 160 + 61 * 0.7 / 160 == scores[100]
    order = [item.passage_id.int for item in found]
    assert order.index(52) < order.index(100)
    assert found[0].score <= 1


def test_relative_scores_keep_a_clear_winner() -> None:
    """One leg is sure of 1, the other hardly tells 2 from 1: ranks would call it a draw, scores do not."""
    legs: dict[Leg, LegResult] = {
        "vector": leg("vector", {2: 0.41, 1: 0.40}),
        "lexical": leg("lexical", {1: 20.0, 2: 2.0}),
    }
    even: dict[Leg, float] = {"vector": 0.5, "lexical": 0.5}
    first, second = relative_score_fusion(legs, even)
    assert first.passage_id == UUID(int=1)
    assert first.score == pytest.approx(0.5 * 0.40 / 0.41 + 0.5)
    assert second.score == pytest.approx(0.5 + 0.5 * 0.1)
    tied = reciprocal_rank_fusion(legs, even)
    assert tied[0].score == tied[1].score


def test_what_a_cut_list_does_not_hold_gets_its_last_score() -> None:
    vector, weights = leg("vector", {1: 0.8, 2: 0.6}), {"vector": 0.5, "lexical": 0.5}
    cut = relative_score_fusion({"vector": vector, "lexical": leg("lexical", {1: 10, 3: 4})}, weights)  # type: ignore[arg-type]
    whole = relative_score_fusion({"vector": vector, "lexical": leg("lexical", {1: 10, 3: 4}, complete=True)}, weights)  # type: ignore[arg-type]
    assert {i.passage_id.int: i.score for i in cut}[2] == pytest.approx(0.5 * 0.75 + 0.5 * 0.4)
    assert {i.passage_id.int: i.score for i in whole}[2] == pytest.approx(0.5 * 0.75)


def test_legs_without_positive_scores_do_no_harm() -> None:
    legs: dict[Leg, LegResult] = {
        "vector": leg("vector", {1: -0.2, 2: -0.3}),
        "lexical": leg("lexical", {2: 5}, complete=True),
    }
    assert [i.passage_id.int for i in relative_score_fusion(legs, {})] == [2, 1]
    assert relative_score_fusion({}, {}) == []


def test_equal_scores_keep_the_order_of_their_leg() -> None:
    """Cosines below 0 count 0, and so would stand by id; the graph adds nothing to them and moves nothing."""
    legs: dict[Leg, LegResult] = {"vector": leg("vector", {n: (n - 20) / 20 for n in range(15)})}
    fused = relative_score_fusion(legs, {})
    assert [item.passage_id.int for item in fused] == list(range(14, -1, -1))
    assert [item.passage_id.int for item in with_graph(fused, leg("graph", {}))] == list(range(14, -1, -1))


rankings = st.dictionaries(st.integers(1, 30), st.floats(-1, 50, allow_nan=False), max_size=20)


@given(rankings, rankings, st.floats(0, 1))
def test_fusion_does_not_depend_on_the_order_of_the_legs(
    a: dict[int, float], b: dict[int, float], share: float
) -> None:
    one: dict[Leg, LegResult] = {"vector": leg("vector", a), "lexical": leg("lexical", b)}
    other: dict[Leg, LegResult] = {"lexical": one["lexical"], "vector": one["vector"]}
    weights: dict[Leg, float] = {"vector": share, "lexical": 1 - share}
    assert reciprocal_rank_fusion(one, weights) == reciprocal_rank_fusion(other, weights)
    fused = relative_score_fusion(one, weights)
    assert fused == relative_score_fusion(other, weights)
    assert {item.passage_id.int for item in fused} == a.keys() | b.keys()
    assert all(0 <= item.score <= 1 + 1e-9 for item in fused)
    order = [(-item.score, min(item.ranks.values()), item.passage_id) for item in fused]
    assert order == sorted(order)


def test_the_graph_adds_the_same_to_few_passages_and_to_many() -> None:
    """Who asks for a hundred passages has the same ones first: what stands deep counts as what was not looked for."""
    scores = {n: 1 - n / 400 for n in range(300)}
    linked = leg("graph", {200: 0.3, 999: 0.25, 40: 0.2, 3: 0.01})
    few = with_graph(relative_score_fusion({"vector": leg("vector", dict(list(scores.items())[:50]))}, {}), linked)
    many = with_graph(relative_score_fusion({"vector": leg("vector", scores)}, {}), linked)
    assert [item.passage_id for item in many[:40]] == [item.passage_id for item in few[:40]]
    assert {UUID(int=200), UUID(int=999), UUID(int=40)} < {item.passage_id for item in few[:20]}
