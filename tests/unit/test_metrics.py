"""Metrics of rankings: equal to ir-measures, which asks trec_eval; intervals that say how sure a mean is."""

from __future__ import annotations

import random
from collections.abc import Mapping

import numpy as np
import pytest

from cairn.domain.evaluation import Estimate
from cairn.evals.metrics import (
    METRICS,
    compare,
    estimate,
    interval,
    ndcg,
    precision,
    reciprocal_rank,
    resampled_means,
    score,
    summarise,
)

Scores = Mapping[str, Mapping[str, float]]
Qrels = Mapping[str, Mapping[str, int]]


def ranked(scores: Mapping[str, float]) -> list[str]:
    """As trec_eval orders: by score, ties by id, both descending."""
    return [document for document, _ in sorted(scores.items(), key=lambda item: (item[1], item[0]), reverse=True)]


def random_run(seed: int) -> tuple[Scores, Qrels]:
    """Scores with many ties, graded judgements (also 0 and -1), judged queries without a ranking, unjudged ones with."""
    draw = random.Random(seed)
    documents = [f"d{number}" for number in range(150)]
    scores, qrels = {}, {}
    for number in range(40):
        if number % 7:
            grades = draw.choice([(0, 1), (-1, 0, 1, 2, 3)])
            judged = draw.sample(documents, draw.randint(1, 40))
            qrels[f"q{number}"] = {document: draw.choice(grades) for document in judged}
        if number % 5:
            found = draw.sample(documents, draw.randint(1, 120))
            scores[f"q{number}"] = {document: float(draw.randint(0, 12)) for document in found}
    return scores, qrels


@pytest.mark.parametrize("seed", range(8))
def test_every_metric_equals_ir_measures(seed: int) -> None:
    """Query by query and as means, to 1e-6; queries that the run does not answer count 0."""
    import ir_measures

    scores, qrels = random_run(seed)
    names = {"ndcg": "nDCG", "recall": "R", "precision": "P", "mrr": "RR", "map": "AP"}
    theirs = {
        name: ir_measures.parse_measure(f"{names[name.partition('@')[0]]}{''.join(name.partition('@')[1:])}")
        for name in METRICS
    }
    mine = {query: score(ranked(scores.get(query, {})), grades) for query, grades in qrels.items()}
    # RR@10 comes from another library there, which breaks ties otherwise: it gets scores without ties, in our order
    untied = {
        query: {document: -float(rank) for rank, document in enumerate(ranked(found))}
        for query, found in scores.items()
    }
    expected = {
        (item.query_id, item.measure): item.value
        for item in ir_measures.iter_calc(list(theirs.values()), qrels, untied)
    }
    assert any(query not in scores for query in qrels)
    assert any(query not in qrels for query in scores)
    for query, found in mine.items():
        for name, value in found.items():
            assert value == pytest.approx(expected[query, theirs[name]], abs=1e-6), (query, name)

    means = summarise(list(mine.values()))
    aggregate = ir_measures.calc_aggregate(list(theirs.values()), qrels, untied)
    for name, measure in theirs.items():
        assert means[name].mean == pytest.approx(aggregate[measure], abs=1e-6), name

    tied = [measure for name, measure in theirs.items() if name != "mrr@10"]
    for item in ir_measures.iter_calc(tied, qrels, scores):
        name = next(name for name, measure in theirs.items() if measure == item.measure)
        assert mine[item.query_id][name] == pytest.approx(item.value, abs=1e-6), (item.query_id, name)


def test_the_gain_of_ndcg_is_the_grade() -> None:
    """Worked by hand: grades 1, 3 against the ideal 3, 1; with 2^grade - 1 it would be .710."""
    assert ndcg(["b", "a"], {"a": 3, "b": 1}, 10) == pytest.approx((1 + 3 / 1.5849625) / (3 + 1 / 1.5849625), abs=1e-7)


def test_what_cannot_be_found_counts_as_nothing() -> None:
    assert set(score([], {"a": 1}).values()) == {0.0}
    assert set(score(["a"], {"a": 0, "b": -1}).values()) == {0.0}
    assert precision(["a"], {"a": 1}, 5) == 0.2
    assert reciprocal_rank([*map(str, range(10)), "a"], {"a": 1}, 10) == 0
    assert reciprocal_rank([*map(str, range(10)), "a"], {"a": 1}) == pytest.approx(1 / 11)


def test_a_ranking_that_repeats_itself_is_refused() -> None:
    with pytest.raises(ValueError, match="once"):
        score(["a", "a"], {"a": 1})


# --- intervals --------------------------------------------------------------------------------------------------------


def test_the_same_values_give_the_same_interval() -> None:
    values = list(np.random.default_rng(1).random(50))
    assert estimate(values) == estimate(values)
    assert estimate(values) != estimate(values, seed=7)


def test_the_interval_is_that_of_theory() -> None:
    """For a mean of many values: about 1.96 standard errors to each side."""
    values = np.random.default_rng(2).normal(0.6, 0.2, 400)
    found = estimate(list(values))
    error = 1.96 * values.std() / len(values) ** 0.5
    assert found.mean == pytest.approx(values.mean())
    assert (found.low, found.high) == pytest.approx((values.mean() - error, values.mean() + error), abs=error * 0.12)


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    """Of 300 samples of 60 queries, about 95 % of the intervals hold the true mean."""
    draw = np.random.default_rng(3)
    covered = 0
    for seed in range(300):
        low, high = interval(resampled_means(draw.beta(2, 1, 60), resamples=400, seed=seed))
        covered += low <= 2 / 3 <= high
    assert 270 <= covered <= 297


def test_means_of_a_table_are_those_of_its_columns() -> None:
    rows = [score(["a", "b"], {"a": 1}), score(["b", "a"], {"a": 1}), score(["c"], {"a": 1})]
    together = summarise(rows)
    assert together["mrr"] == estimate([1.0, 0.5, 0.0])
    assert together["ndcg@10"].mean == pytest.approx((1 + 0.6309297) / 3)


def test_one_query_says_nothing_about_the_others_and_none_is_refused() -> None:
    assert estimate([0.3]) == Estimate(0.3, 0.3, 0.3)
    with pytest.raises(ValueError, match="no queries"):
        summarise([])


# --- two runs ---------------------------------------------------------------------------------------------------------


def test_a_paired_comparison_sees_what_separate_intervals_hide() -> None:
    draw = np.random.default_rng(4)
    first = draw.random(80)
    second = first + draw.normal(0.03, 0.02, 80)
    found = compare(list(first), list(second))
    assert found.clear
    assert found.difference.low > 0.02
    assert estimate(list(first)).high > estimate(list(second)).low


def test_wins_losses_and_ties_are_counted_for_the_second_run() -> None:
    found = compare([0.1, 0.5, 0.5, 0.3], [0.4, 0.2, 0.5, 0.1 + 0.2])
    assert (found.wins, found.losses, found.ties) == (1, 1, 2)
    assert found.difference.mean == pytest.approx(0.0)
    assert not found.clear


def test_runs_of_different_length_are_not_compared() -> None:
    with pytest.raises(ValueError, match="different queries"):
        compare([1.0], [1.0, 0.0])
