"""Areas under curves, against counting pairs."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.answer.ground.evidence import gather_evidence, read_sources
from cairn.answer.ground.score import combined, logit
from cairn.evals.groundedness import auc, auc_estimate, confusion, load, overlap, roc
from cairn.language.sentences import split_sentences

Scored = st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.1, 0.5, 0.5, 0.9])), min_size=2, max_size=30).filter(
    lambda pairs: len({label for label, _ in pairs}) == 2
)


@given(Scored)
def test_auc_is_the_share_of_pairs_in_order(pairs: list[tuple[bool, float]]) -> None:
    labels, scores = [label for label, _ in pairs], [score for _, score in pairs]
    good = [score for label, score in pairs if label]
    bad = [score for label, score in pairs if not label]
    wins = sum((g > b) + 0.5 * (g == b) for g in good for b in bad)
    assert auc(labels, scores) == pytest.approx(wins / (len(good) * len(bad)))
    curve = roc(labels, scores)
    area = sum((x2 - x1) * (y1 + y2) / 2 for (x1, y1), (x2, y2) in itertools.pairwise(curve))
    assert area == pytest.approx(auc(labels, scores))


def test_the_interval_holds_the_area() -> None:
    labels, scores = [True, True, False, False] * 20, [0.9, 0.4, 0.5, 0.1] * 20
    found = auc_estimate(labels, scores)
    assert found.low < found.mean == 0.75 < found.high


def test_confusion_counts_every_pair() -> None:
    assert confusion([True, True, False, False], [True, False, True, False]) == {
        "true_positive": 1, "false_positive": 1, "false_negative": 1, "true_negative": 1,
    }  # fmt: skip


@pytest.mark.measurement
@pytest.mark.parametrize(
    ("name", "margin"), [("wice/dev", 0.06), ("begin/wow_dev", 0), ("begin/cmu_dev", 0), ("begin/tc_dev", 0)]
)
def test_the_sentences_beat_word_overlap_on_human_labels(shared_data: Path, name: str, margin: float) -> None:
    (data,) = load(shared_data / f"{name}.jsonl")
    labels = [item.grounded for item in data.items]
    scores = []
    for item in data.items:
        sources = read_sources(item.contexts)
        found = [logit(gather_evidence(item.response[a:b], sources)) for a, b in split_sentences(item.response)]
        scores.append(combined(found))
    plain = auc(labels, [overlap(item.response, item.contexts) for item in data.items])
    assert auc(labels, scores) > plain + margin
