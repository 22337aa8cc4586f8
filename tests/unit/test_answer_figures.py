"""Figures of answers, and questions about a folder of files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cairn.errors import InputError
from cairn.evals.answers import Expected, calibration_error, figures, load_answers
from cairn.evals.datasets import load
from cairn.evals.questions import load_questions
from cairn.service.evaluation import Corpora, load_sets

QUESTIONS = [
    {"_id": 1, "doc": "a", "question": "How long?", "answer": ["30 days"], "kind": "span"},
    {"_id": 2, "doc": "b.txt", "question": "How far?", "answer": ["3 km", "5 km"], "kind": "list"},
    {"_id": 3, "question": "How deep?", "answerable": False, "kind": "span", "deep": True},
]


def judged(confidence: float, *, found: bool = True, quoted: bool = True) -> dict[str, float]:
    return {"confidence": confidence, "found": found, "quoted": quoted, "answer_in": quoted, "length": 100.0}


def test_calibration_error_is_how_far_off_probabilities_are() -> None:
    assert calibration_error([True, False], [1.0, 0.0]) == 0.0
    assert calibration_error([False, True], [1.0, 0.0], bins=2) == 1.0
    assert calibration_error([True, True, False, False], [0.9] * 4, bins=1) == pytest.approx(0.4)
    # a bin of .8 of which half are true, and one of .2 of which none is: (.3 + .2) / 2
    sure = [0.2, 0.8, 0.2, 0.8]
    assert calibration_error([False, True, False, False], sure, bins=2) == pytest.approx(0.25)
    drawn = np.random.default_rng(1)
    p = drawn.uniform(size=20_000)
    assert calibration_error((drawn.uniform(size=20_000) < p).tolist(), p.tolist()) < 0.02
    with pytest.raises(ValueError, match="no probabilities"):
        calibration_error([], [])


def test_figures_tell_wrong_refusals_from_right_ones() -> None:
    here, nowhere = Expected(("x",)), Expected(())
    shown = figures(
        [
            (here, judged(0.9)),
            (here, judged(0.4, quoted=False)),
            (here, judged(0.1, found=False, quoted=False)),
            (nowhere, judged(0.2, found=False, quoted=False)),
            (nowhere, judged(0.5, quoted=False)),
        ]
    )
    assert (shown.questions, shown.answerable) == (5, 3)
    assert shown.quoted == pytest.approx(1 / 3)
    assert shown.wrongly_refused == pytest.approx(1 / 3)
    assert shown.rightly_refused == 0.5
    assert shown.auc == 1.0
    assert shown.length == 100


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    folder = tmp_path / "set" / "reports"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("Thirty days.")
    (folder / "b.txt").write_text("Three kilometres.")
    (tmp_path / "set" / "questions.jsonl").write_text("\n".join(map(json.dumps, QUESTIONS)))
    return folder


def test_a_folder_of_files_has_its_questions_beside_it(reports: Path) -> None:
    data = load_questions(reports, "In {file}: {question}")
    assert (data.name, data.document_count) == ("set-reports", 2)
    assert list(data.queries.values()) == ["In a.txt: How long?", "In b.txt: How far?", "In : How deep?"]
    assert data.judgements == {"1": {"a.txt": 1}, "2": {"b.txt": 1}, "3": {}}
    assert data.fields["3"] == {"kind": "span", "deep": "true"}
    assert [source.external_id for source in data.documents()] == ["a.txt", "b.txt"]
    assert [one.wordings for one in load_answers(reports).values()] == [("30 days",), ("3 km 5 km",), ()]
    with pytest.raises(InputError, match="line 1: the template"):
        load_questions(reports, "{nothing}")


def test_questions_are_chosen_drawn_and_robbed_of_their_documents(reports: Path) -> None:
    data = load_questions(reports)
    assert list(data.where({"kind": ["span"]}).queries) == ["1", "3"]
    with pytest.raises(InputError, match="no question with kind"):
        data.where({"kind": ["other"]})
    drawn = data.sample(2, seed=5)
    assert list(drawn.queries) == list(data.sample(2, seed=5).queries)
    assert len(drawn.queries) == 2
    robbed = data.only({"1"}).without_support()
    assert [source.external_id for source in robbed.documents()] == ["b.txt"]
    assert robbed.document_count == 1
    (whole, one), (_, other) = (load_sets(Corpora([reports], withhold=withhold))[0] for withhold in (False, True))
    assert whole.document_count == 2
    assert one == "eval-set-reports"
    assert other.startswith("eval-set-reports-without-")


def test_lines_of_a_corpus_are_withheld_too(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d1", "text": "One."}\n{"_id": "d2", "text": "Two."}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "one?", "metadata": {"lang": "en"}}\n')
    (tmp_path / "qrels.tsv").write_text("q\td1\t1\n")
    data = load(tmp_path)
    assert data.fields == {"q": {"lang": "en"}}
    assert [source.external_id for source in data.without_support().documents()] == ["d2"]
