"""`cairn eval routing` as its users meet it: files, the real embedding model, and no database."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog

from cairn.interfaces.cli import main

MESSAGES = {
    "greeting": ["hi", "good morning everyone"],
    "fact": ["When was the ANC formed?", "Wie viele Einwohner hat die Stadt?", "¿Quién es Lou Reed?"],
    "comparison": ["Compare les avantages et inconvenients du processus X par rapport a Y"],
    "nonsense": ["asdfghjkl"],
}
Cairn = Callable[..., tuple[int, str, str]]


@pytest.fixture
def cairn(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Cairn]:
    monkeypatch.setenv("CAIRN_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")  # whoever connects fails
    monkeypatch.setenv("CAIRN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CAIRN_MODEL_DIR", str(model))
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str | Path) -> tuple[int, str, str]:
        capfd.readouterr()
        code = main.run(["eval", "routing", *map(str, arguments)])
        sys.stdout.flush()
        return (code, *capfd.readouterr())

    yield call
    structlog.reset_defaults()


@pytest.fixture
def messages(tmp_path: Path) -> Path:
    lines = [
        {"_id": f"{label}-{number}", "text": text, "label": label}
        for label, texts in MESSAGES.items()
        for number, text in enumerate(texts)
    ]
    file = tmp_path / "mix.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines))
    return file


def test_tables_json_and_a_chart(cairn: Cairn, messages: Path, tmp_path: Path) -> None:
    code, out, err = cairn(messages, "--json", tmp_path / "r.json", "--plot", tmp_path / "r.svg")
    assert code == 0, err
    (found,) = json.loads((tmp_path / "r.json").read_text())["sets"]
    assert found["messages"] == 7
    assert found["intents"]["greeting"] == {"greeting": 2}
    assert found["intents"]["nonsense"] == {"garbage": 1}
    assert found["types"]["fact"] == {"FACTUAL": 3}
    assert found["types"]["comparison"] == {"COMPARATIVE": 1}
    assert found["kept_from_retrieval"] == {"comparison": 0, "fact": 0, "greeting": 1, "nonsense": 1}
    assert {one["text"] for one in found["kept"]} == {"hi", "good morning everyone", "asdfghjkl"}
    assert set(found["medians_ms"]) >= {"layer 0", "embedding", "layer 1", "classification", "complexity", "total"}
    assert "label \\ intent" in out
    assert "Median milliseconds" in out
    ElementTree.parse(tmp_path / "r.svg")


def test_a_folder_limits_and_stdout(cairn: Cairn, messages: Path, tmp_path: Path) -> None:
    code, out, err = cairn(tmp_path, "--limit", "1", "--json", "-", "--plot", tmp_path / "r.html")
    assert code == 0, err
    assert json.loads(out)["sets"][0]["messages"] == 4
    assert "<table>" in (tmp_path / "r.html").read_text()


def test_wrong_files_are_named(cairn: Cairn, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"_id": "1", "text": "fine"}\n{"_id": "2"}\n')
    code, _, err = cairn(tmp_path / "bad.jsonl")
    assert (code, "line 2" in err) == (2, True)
    assert cairn(tmp_path / "missing")[0] == 2
    assert cairn(tmp_path / "bad.jsonl", "--plot", "x.png")[0] == 2
