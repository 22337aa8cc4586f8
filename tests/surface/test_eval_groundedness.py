"""`cairn eval groundedness` as its users meet it: labelled files in, figures, JSON and a chart out; no database."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from cairn.interfaces.cli import main

CONTEXT = "The Eiffel Tower is 300 metres high. It was built in 1889 by the company of Gustave Eiffel."
RECORDS: list[dict[str, Any]] = [
    {"_id": "a", "response": "The tower was built in 1889.", "context": CONTEXT, "grounded": True},
    {"_id": "b", "response": "Gustave Eiffel's company built it.", "context": CONTEXT, "grounded": True},
    {"_id": "c", "response": "The tower is 330 metres high.", "context": CONTEXT, "grounded": False},
    {"_id": "d", "response": "It was sold to Portugal.", "context_sentences": CONTEXT.split(". "), "grounded": False},
    {"_id": "e", "response": "Nice!", "context": [CONTEXT, "More."], "grounded": None},
]
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def cairn(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Call]:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "CAIRN_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CAIRN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CAIRN_MODEL_DIR", str(model))
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str | Path) -> tuple[int, str, str]:
        code = main.run(["eval", "groundedness", *map(str, arguments)])
        sys.stdout.flush()
        return code, *capfd.readouterr()

    yield call
    structlog.reset_defaults()


def write(file: Path, records: list[dict[str, Any]]) -> Path:
    file.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return file


def test_figures_json_and_chart(cairn: Call, tmp_path: Path) -> None:
    write(tmp_path / "mine.jsonl", RECORDS)
    code, out, err = cairn(tmp_path, "--json", "out.json", "--plot", "roc.svg")
    assert code == 0, err
    assert "mine" in out
    (found,) = json.loads((tmp_path / "out.json").read_text())["sets"]
    assert (found["responses"], found["grounded"], found["unlabelled"]) == (4, 2, 1)
    assert found["auc"]["detector"]["auc"] == 1.0
    assert found["verdict"] == {"true_positive": 2, "false_positive": 0, "false_negative": 0, "true_negative": 2}
    assert found["roc"]["detector"][0] == [0.0, 0.0]
    assert found["roc"]["detector"][-1] == [1.0, 1.0]
    assert [item["_id"] for item in found["items"]] == ["a", "b", "c", "d"]
    assert ElementTree.parse(tmp_path / "roc.svg").getroot().tag.endswith("svg")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 1: not JSON"),
        ('{"response": 3}', "no text under response"),
        ('{"response": "a", "grounded": true}', "no text under context"),
        ('{"response": "a", "context": "b", "grounded": "yes"}', "not true, false or null"),
        ('{"response": "a", "context": "b", "grounded": true}', "without both"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(cairn: Call, tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "bad.jsonl").write_text(line)
    code, _, err = cairn(tmp_path / "bad.jsonl")
    assert code == 2
    assert "bad.jsonl" in err
    assert said in err
