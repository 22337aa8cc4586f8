"""The metrics of make leaderboards, against values that are computed by hand, and its table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cairn.errors import InputError
from tests.benchmarks.leaderboards.measure import computed_value
from tests.benchmarks.leaderboards.published import tasks
from tests.benchmarks.leaderboards.scores import balanced_accuracy, estimate_verdicts, score_table_answer, verdict_f1
from tests.benchmarks.leaderboards.table import BEGIN, END, put_into, render

EXACT, NOTHING = (1.0, 1.0), (0.0, 0.0)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("−12.6: 44.1 less 56.7", "-12.6"),
        ("$1,496.5 million in all", "$1,496.5 million"),
        ("12.35 %.", "12.35 %"),
        ("T 12 is", None),
    ],
)
def test_the_value_of_a_computed_answer_is_the_number_it_begins_with(text: str, value: str | None) -> None:
    assert computed_value(text) == value


@pytest.mark.parametrize(
    ("said", "answer", "scale", "kind", "expected"),
    [
        ([], ["12"], "", "span", NOTHING),
        (["the Fixed-price type."], ["fixed-price type"], "", "span", EXACT),
        (["$1,496.5 million"], ["1,496.5"], "million", "span", EXACT),
        (["$1,496.5"], ["1,496.5"], "million", "span", NOTHING),  # the scale is part of the answer
        (["12.35 %"], ["12.35"], "percent", "arithmetic", EXACT),
        (["0.1235"], ["12.35"], "percent", "arithmetic", EXACT),
        (["(44.1)"], ["-44.1"], "", "arithmetic", EXACT),
        (["2018", "2019"], ["2019", "2018"], "", "multi-span", EXACT),
        (["2018"], ["2019", "2018"], "", "multi-span", (0.0, 0.67)),  # one word of one, of two: 2 / 3
        (["paid by the customer"], ["by customer orders"], "", "span", (0.0, 0.67)),  # two of three words, of three
        (["five contracts"], ["5"], "", "count", NOTHING),  # right or wrong where it is counted
        (["In 2019 it was 5."], ["2019"], "", "span", NOTHING),  # as the metric has it: "2019" is not "2019.0"
    ],
)
def test_an_answer_about_a_table(
    said: list[str], answer: list[str], scale: str, kind: str, expected: tuple[float, float]
) -> None:
    assert score_table_answer(said, answer, scale, kind) == pytest.approx(expected)


def test_verdicts_count_by_class_and_by_what_is_supported() -> None:
    labels = [True, True, True, True, False, False]
    verdicts = [True, True, True, False, True, False]
    balanced = estimate_verdicts(balanced_accuracy, labels, verdicts)
    assert balanced.mean == pytest.approx((3 / 4 + 1 / 2) / 2)
    assert balanced.low < balanced.mean < balanced.high
    assert estimate_verdicts(verdict_f1, labels, verdicts).mean == pytest.approx(2 * 3 / (4 + 4))
    assert verdict_f1(np.array([True, False]), np.array([False, False])) == 0
    with pytest.raises(ValueError, match="one class"):
        estimate_verdicts(balanced_accuracy, [True], [True])


def result(mean: float) -> dict[str, object]:
    figure = {"mean": mean, "low": mean - 0.01, "high": mean + 0.01}
    measured = {
        "system": "Cairn as it comes",
        "questions": 1000,
        "figures": {"ndcg@10": figure},
        "notes": ["one was lost"],
    }
    about = {"date": "2026-01-02", "commit": "abc", "machine": "2 cores", "command": "make leaderboards TASKS=scifact"}
    return {**about, "measured": [measured]}


def test_the_table_has_ours_among_theirs_with_what_it_depends_on() -> None:
    known = {name: task for name, task in tasks().items() if name in ("scifact", "nfcorpus")}
    text = render(known.values(), {"scifact": result(0.7)})
    systems = [line.split("|")[1].strip(" *").partition("]")[0] for line in text.splitlines() if line.startswith("| ")]
    ours = systems.index("Cairn as it comes")
    assert systems[ours - 1].startswith("[mdbr-leaf-ir")  # .706
    assert systems[ours + 1].startswith("[BM25")  # .687
    assert "| **Cairn as it comes** | none | **.700 (.690 to .710)** |" in text
    assert "1,000 questions, 2026-01-02, commit abc, 2 cores: `make leaderboards TASKS=scifact`. one was lost." in text
    assert text.index("### Not run") < text.index(known["nfcorpus"].source)


def test_the_table_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"above\n{BEGIN}\nold\n{END}\nbelow\n")
    put_into(page, "new\n")
    assert page.read_text() == f"above\n{BEGIN}\n\nnew\n\n{END}\nbelow\n"
    page.write_text("nothing\n")
    with pytest.raises(InputError, match="has no"):
        put_into(page, "new\n")


def test_what_others_published_says_where_and_for_metrics_of_the_task() -> None:
    for task in tasks().values():
        assert task.source
        for other in task.others:
            assert other.where.startswith("https://")
            assert set(other.figures) <= set(task.metrics)
            assert all(0 < figure < 1 for figure in other.figures.values())
