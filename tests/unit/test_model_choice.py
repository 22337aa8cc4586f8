"""Whether documents are source code or prose, by what they are called."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cairn.domain.document import Source
from cairn.ingest.model_choice import PEEKED, is_code, peek, writing_of
from cairn.providers.configured import chosen_model_name, embedding_model_name, is_local, judge_model_name
from cairn.settings import Settings

MINILM, E5 = "all-MiniLM-L6-v2:int8", "multilingual-e5-small:int8"


@pytest.mark.parametrize(
    ("name", "media_type", "code"),
    [
        ("app/main.py", None, True), ("Main.JAVA", None, True), ("guide.md", None, False), ("guide.rst", None, False),
        ("paper.tex", None, False), ("report.pdf", None, False), ("README", None, False), ("x", "text/x-python", True),
        ("x.py", "text/x-rst", False), ("main.c", "text/plain", True), ("site.yaml", None, False),
        ("site.yaml", "text/x-yaml", False),
    ],
)  # fmt: skip
def test_what_is_code(name: str, media_type: str | None, code: bool) -> None:
    assert is_code(name, media_type) is code


def test_most_documents_decide() -> None:
    assert writing_of([True, True, False]) == "code"
    assert writing_of([True, False]) == "prose"
    assert writing_of([]) == "prose"


async def test_no_document_is_lost_by_looking_ahead() -> None:
    given = [Source(f"{n}.py", f"{n}.py", b"x") for n in range(PEEKED + 5)]

    async def arriving() -> AsyncIterator[Source]:
        for source in given:
            yield source

    writing, sources = await peek(arriving())
    assert writing == "code"
    assert [source async for source in sources] == given


def named(model: str) -> Settings:
    return Settings.model_validate({"rag": {"embeddingModel": model}})


@pytest.mark.parametrize(
    ("model", "prose", "code", "judge"),
    [
        ("auto", E5, MINILM, MINILM), ("minilm", MINILM, MINILM, MINILM), ("e5", E5, E5, MINILM),
        ("all-MiniLM-L6-v2", MINILM, MINILM, MINILM), ("hosted", "hosted", "hosted", "hosted"),
    ],
)  # fmt: skip
def test_settings_name_the_models(model: str, prose: str, code: str, judge: str) -> None:
    """Whichever local model serves, thresholds are read by the one that they were fitted to."""
    settings = named(model)
    assert chosen_model_name(settings, code=False) == prose
    assert chosen_model_name(settings, code=True) == code
    assert judge_model_name(settings) == judge
    assert is_local(model) == (model != "hosted")


def test_a_folder_with_one_model_is_all_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who set CAIRN_MODEL_DIR before there were two has one in it; what it lacks is not fetched."""
    monkeypatch.setenv("CAIRN_MODEL_DIR", str(tmp_path))
    assert chosen_model_name(named("auto"), code=False) == MINILM
    assert chosen_model_name(named("e5"), code=False) == E5


def test_the_environment_says_what_the_settings_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "CAIRN_EMBEDDING_MODEL", "e5")
    assert embedding_model_name(Settings()) == E5
    assert embedding_model_name(named("minilm")) == MINILM
    monkeypatch.delitem(os.environ, "CAIRN_EMBEDDING_MODEL")
    assert Settings().rag.embedding_model == "auto"
