"""`cairn eval agents` as its users meet it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_eval_cli import Cairn, Rows, cairn, database, evaluated, gear, rows

from cairn.errors import InputError
from cairn.evals.answers import exact_match, holds, load_answers, token_f1

__all__ = ["cairn", "database", "evaluated", "gear", "rows"]

ANSWERS = [
    {"_id": "q1", "answer": "in cold water without soap", "aliases": ["cold water"]},
    {"_id": "q2", "answer": "cairn"},
    {"_id": "q8", "answer": "six signals a minute"},
    {"_id": "q6", "answer": "nothing", "answerable": False},
]


@pytest.fixture
def asked(gear: Path) -> Path:
    (gear / "answers.jsonl").write_text("\n".join(map(json.dumps, ANSWERS)))
    return gear


def test_questions_are_answered_judged_and_rated(cairn: Cairn, asked: Path, rows: Rows, tmp_path: Path) -> None:
    done = cairn("agents", asked, "--json", "a.json", "--name", "first")
    assert done.code == 0, done.err
    (run,) = json.loads((tmp_path / "a.json").read_text())["runs"]
    assert (run["kind"], run["parameters"]["strategy"], run["query_count"]) == ("agents", "corrective", 8)
    assert run["parameters"]["strategies_run"] == {"corrective": 8}
    assert "it is on for this evaluation" in done.err
    assert sum(metrics["citation_recall"] for metrics in run["queries"].values()) >= 1
    assert any(one["quotation"] and one["quotation"] in one["answer"] for one in run["answers"].values())
    assert {"context_utilization", "semantic_similarity", "answer_relevance"} <= set(run["metrics"])
    answered = [one["answer_relevance"] for one in run["queries"].values() if one["found"]]
    assert min(answered) > 0.2, "what is quoted speaks of what was asked"
    assert all(0 <= one["context_utilization"] <= 1 for one in run["queries"].values())
    rates = run["rates"]
    assert rates["runs"] == 8
    assert rates["avg_retrieval_rounds"] >= 1
    assert rates["avg_graded_docs"] > 0
    assert "rewrite rate" in done.out
    (row,) = rows("SELECT kind, mode, name, recall_at_5 FROM analyst.eval_runs")
    assert (row["kind"], row["mode"], row["name"]) == ("agents", "corrective", "first")
    (counted,) = rows("SELECT sum(runs)::int AS runs FROM analyst.agentic_rates")
    assert counted["runs"] == 8, "the same runs, from the traces"


@pytest.mark.siege
def test_two_strategies_are_compared_also_by_their_answers(cairn: Cairn, asked: Path, tmp_path: Path) -> None:
    ids = []
    for strategy in ("fast", "corrective"):
        file = tmp_path / f"{strategy}.json"
        assert cairn("agents", asked, "--strategy", strategy, "--json", file).code == 0
        ids.append(json.loads(file.read_text())["runs"][0])
    assert ids[0]["rates"] == {}, "fast corrects nothing"
    done = cairn("compare", ids[0]["id"], ids[1]["id"], "--json", "c.json")
    assert done.code == 0, done.err
    compared = json.loads((tmp_path / "c.json").read_text())
    assert {"token_f1", "answer_in", "grounded", "ndcg@10"} <= set(compared["metrics"])
    assert compared["changed"]["parameters.strategy"] == ["fast", "corrective"]
    assert not any(name.startswith("parameters.rates") for name in compared["changed"])
    assert cairn("list").code == 0


def test_without_answers_only_what_they_stand_on_is_judged(cairn: Cairn, gear: Path, tmp_path: Path) -> None:
    done = cairn("agents", gear, "--strategy", "enhanced", "--limit-queries", "2", "--json", "a.json")
    assert done.code == 0, done.err
    assert "no answers.jsonl" in done.err
    (run,) = json.loads((tmp_path / "a.json").read_text())["runs"]
    assert "token_f1" not in run["metrics"]
    assert "source_recall" in run["metrics"]


@pytest.mark.siege
def test_figures_below_their_floor_end_with_an_error(cairn: Cairn, asked: Path, tmp_path: Path) -> None:
    floor = tmp_path / "floor.json"
    floor.write_text(json.dumps({"margin": 0.1, "figures": {"mountain gear/fast": {"answer_in": 0.1, "found": 0.4}}}))
    assert cairn("agents", asked, "--strategy", "fast", "--floor", floor).code == 0
    floor.write_text(json.dumps({"figures": {"mountain gear/fast": {"answer_in": 1.01}}}))
    done = cairn("agents", asked, "--strategy", "fast", "--floor", floor)
    assert done.code == 1
    assert "below the floor: mountain gear/fast: answer_in" in done.err
    for wrong, said in (
        ({"figures": {"other/fast": {"answer_in": 1}}}, "have none for mountain gear/fast"),
        ({"figures": {"mountain gear/fast": {"beauty": 1}}}, "no metric 'beauty'"),
        ({"figures": [1]}, "wanted"),
    ):
        floor.write_text(json.dumps(wrong))
        done = cairn("agents", asked, "--strategy", "fast", "--floor", floor, "--limit-queries", "1")
        assert done.code not in (0, 1) or "below the floor" not in done.err
        assert said in done.err


@pytest.mark.siege
def test_too_few_questions_calibrate_nothing(cairn: Cairn, asked: Path) -> None:
    done = cairn("calibrate", asked)
    assert done.code != 0
    assert "too few to calibrate" in done.err
    assert cairn("calibrate", asked, "--reset").code == 0


def test_documents_that_answer_can_be_withheld(cairn: Cairn, asked: Path, tmp_path: Path) -> None:
    done = cairn("agents", asked, "--strategy", "fast", "--withhold", "--sample", "4", "--json", "a.json")
    assert done.code == 0, done.err
    (run,) = json.loads((tmp_path / "a.json").read_text())["runs"]
    assert run["query_count"] == 4
    assert "-without-" in run["collection"]
    assert all(figures["answerable"] == 0 for figures in run["parameters"]["figures"].values())
    assert "rightly" in done.out


def test_a_broken_line_of_answers_is_named(cairn: Cairn, asked: Path) -> None:
    (asked / "answers.jsonl").write_text('{"_id": "q1", "answer": "x"}\n{"_id": "q2"}\n')
    done = cairn("agents", asked)
    assert done.code == 2 or done.code == 1
    assert "answers.jsonl, line 2" in done.err
    with pytest.raises(InputError, match="line 2"):
        load_answers(asked)


def test_answers_are_compared_as_squad_does() -> None:
    assert token_f1("The cold, cold water.", "cold water") == pytest.approx(2 * 2 / 5)
    assert token_f1("nothing alike", "cold water") == 0.0
    assert exact_match("The Cold Water!", "cold water") == 1.0
    assert exact_match("very cold water", "cold water") == 0.0
    assert holds("Wash them in cold water, always.", "cold water") == 1.0
    assert holds("water that is cold", "cold water") == 0.0
    assert holds("anything", "the") == 0.0, "an answer of articles says nothing"
