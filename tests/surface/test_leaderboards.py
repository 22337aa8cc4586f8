"""`make leaderboards` on sets of a handful of documents, laid out as their publishers do: figures that can be said beforehand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import structlog

from tests.benchmarks.leaderboards.__main__ import main
from tests.benchmarks.leaderboards.sets import read_hops
from tests.benchmarks.leaderboards.table import BEGIN, END

PASSAGES = {
    "Lothair II": "Lothair II was a king. His mother was Ermengarde of Tours.",
    "Ermengarde of Tours": "Ermengarde of Tours was an empress. She died on 20 March 851.",
    "Crampons": "Crampons are spikes under the boot that hold on ice.",
    "Carabiners": "A carabiner is a metal loop with a gate that springs shut.",
}
QUESTION = "When did the mother of Lothair II die?"
ABSTRACTS = {"1": "Boil water for a minute before drinking it.", "2": "Fresh snow slides when the sun warms it."}
REPORT = [["Contract type", "2019", "2018"], ["Fixed price", "1,452.4", "1,146.2"], ["Cost plus", "44.1", "56.7"]]
ACCEPTED = "Sales are recognised when the customer accepts the delivery."


def lay_out(data: Path) -> None:
    hops, beir, tables, claims = (data / name for name in ("2wikimultihopqa", "scifact", "tatqa", "wice"))
    for folder in (hops, beir, tables, claims):
        folder.mkdir(parents=True)
    context = [[title, text.split(". ", 1)] for title, text in PASSAGES.items()]
    whole = [[title, [said[0] + ".", *said[1:]]] if len(said) > 1 else [title, said] for title, said in context]
    question = {
        "question": QUESTION,
        "supporting_facts": [["Lothair II", 1], ["Ermengarde of Tours", 0]],
        "context": whole,
    }
    write(hops / "2wikimultihopqa.json", [question])
    write(hops / "2wikimultihopqa_corpus.json", [{"title": title, "text": text} for title, text in PASSAGES.items()])
    lines(beir / "corpus.jsonl", [{"_id": key, "title": "", "text": text} for key, text in ABSTRACTS.items()])
    # The second one is judged against all reason: what answers stands second, for 1 / log2(3).
    lines(beir / "queries.jsonl", [{"_id": "a", "text": ABSTRACTS["1"]}, {"_id": "b", "text": ABSTRACTS["2"]}])
    (beir / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\na\t1\t1\nb\t1\t1\n")
    asked = [("When are sales recognised?", [ACCEPTED], "span"), ("Who invented the telescope?", ["Galileo"], "span"),
             ("What is the change in Cost plus in 2019 from 2018?", -12.6, "arithmetic")]  # fmt: skip
    questions = [{"question": text, "answer": answer, "answer_type": kind, "scale": ""} for text, answer, kind in asked]
    paragraphs = [{"order": 2, "text": ACCEPTED}, {"order": 1, "text": "Contracts of the company by their type."}]
    write(
        tables / "tatqa_dataset_dev.json",
        [{"table": {"table": REPORT}, "paragraphs": paragraphs, "questions": questions}],
    )
    lines(
        claims / "dev.jsonl",
        [
            {"claim": "Crampons hold on ice.", "evidence": [PASSAGES["Crampons"]], "label": "supported"},
            {
                "claim": "Napoleon was born in Corsica in 1769.",
                "evidence": [PASSAGES["Crampons"]],
                "label": "not_supported",
            },
        ],
    )


def write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def made(
    fresh_database: Callable[[], str], model: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], str]:
    """What a run kept, and the page it wrote."""
    folder = tmp_path_factory.mktemp("leaderboards")
    lay_out(folder / "data")
    page, out = folder / "page.md", folder / "kept.json"
    page.write_text(f"# Page\n\n{BEGIN}\n{END}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAIRN_MODEL_DIR", str(model))
        code = await main(
            [
                *("--data", str(folder / "data"), "--home", str(folder / "home"), "--database-url", fresh_database()),
                *("--out", str(out), "--page", str(page), "--models", "minilm"),
                *("--tasks", "2wiki", "scifact", "nfcorpus", "tatqa", "wice"),
            ]
        )
    structlog.reset_defaults()
    assert code == 0
    return json.loads(out.read_text()), page.read_text()


def means(made: tuple[dict[str, Any], str], task: str, row: int = 0) -> dict[str, float]:
    return {name: figure["mean"] for name, figure in made[0][task]["measured"][row]["figures"].items()}


@pytest.mark.siege
@pytest.mark.asyncio(loop_scope="module")
async def test_each_set_is_measured_in_the_metric_of_others(made: tuple[dict[str, Any], str]) -> None:
    assert means(made, "2wiki") == {"recall@5": 1, "recall@2": 1}
    assert means(made, "scifact") == pytest.approx({"ndcg@10": (1 + 0.63093) / 2}, abs=1e-5)
    assert means(made, "tatqa") == pytest.approx({"F1": 2 / 3, "exact match": 2 / 3})  # quoted, refused, computed
    assert means(made, "tatqa", 1) == {"F1": 0.5, "exact match": 0.5}
    assert means(made, "wice") == {"balanced accuracy": 1, "F1": 1, "AUC": 1}
    ways = [one["system"] for one in made[0]["2wiki"]["measured"]]
    assert ways == ["Cairn as it comes", "Cairn without the graph"]


@pytest.mark.siege
@pytest.mark.asyncio(loop_scope="module")
async def test_the_page_tells_what_was_run_and_what_was_not(made: tuple[dict[str, Any], str]) -> None:
    kept, page = made
    assert "nfcorpus" not in kept
    assert "**Cairn as it comes (dev)**" in page
    assert page.index("### Not run") < page.index("**NFCorpus of BEIR")
    assert kept["wice"]["commit"] in page
    assert kept["wice"]["machine"] in page


def test_passages_are_told_by_names_where_the_set_has_no_more(tmp_path: Path) -> None:
    """As SeRAG publishes the questions: by its title, by one without what stands in brackets, by the question; else left out."""
    folder = tmp_path / "2wikimultihopqa"
    folder.mkdir()
    titles = ["Lothair II", "Big Eyes (film)", "Maurice, Prince of Orange", "Godomar (a)", "Godomar (b)"]
    write(folder / "2wikimultihopqa_corpus.json", [{"title": title, "text": "..."} for title in titles])
    asked = [
        ("Who was Lothair II?", [["Lothair II", "was", "a king"]]),
        ("Who directed Big Eyes?", [["Big Eyes", "director", "Tim Burton"]]),
        ("Where did Maurice, Prince Of Orange die?", [["Maurice of Nassau", "place of death", "The Hague"]]),
        ("Who is Godomar's father?", [["Godomar", "father", "Gundobad"]]),
        ("Who was it?", [["Nobody", "was", "it"]]),
    ]
    write(folder / "questions.json", [{"question": text, "evidence": evidence} for text, evidence in asked])
    data = read_hops(folder)
    assert list(data.judgements.values()) == [{"p0": 1}, {"p1": 1}, {"p2": 1}]
    assert data.unjudged == 2
