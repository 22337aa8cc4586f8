"""The recipes of docs/extending.md, as they stand there: packages from outside of the tree, used through the product."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import structlog

from cairn.interfaces.cli.main import run
from cairn.plugins import Group, broken_extensions
from cairn.wiring import find_extensions
from tests.conftest import InstallPackage
from tests.recipes import install_recipe

INI = "[Ropes]\ncolour = green\n\n[Harness]\nprice = 59 euros\nsize = medium\n"
Cairn = Callable[..., str]


@pytest.fixture
def cairn(
    database: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Cairn]:
    """Runs a command in this process and gives what it printed; `settings` are those in force from then on."""
    monkeypatch.setenv("CAIRN_DATABASE_URL", database)
    monkeypatch.setenv("CAIRN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CAIRN_MODEL_DIR", str(model))
    monkeypatch.setenv("CAIRN_SETTINGS", str(tmp_path / "settings.json"))
    monkeypatch.chdir(tmp_path)
    Path("settings.json").write_text("{}")

    def call(*arguments: str, settings: dict[str, Any] | None = None, code: int = 0) -> str:
        if settings is not None:
            Path("settings.json").write_text(json.dumps(settings))
        capfd.readouterr()
        ended = run([*arguments])
        sys.stdout.flush()
        out, err = capfd.readouterr()
        assert ended == code, err
        return out + err

    yield call
    structlog.reset_defaults()  # commands point it at the stderr of their time


def test_a_file_format(cairn: Cairn, install_package: InstallPackage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read in the limited process, its headings kept, by reindexing too."""
    folder = install_recipe("ini_for_cairn", install_package)
    monkeypatch.setenv(
        "PYTHONPATH", str(folder)
    )  # where the limited process finds it; an installed one is found anyway
    Path("shop").mkdir()
    Path("shop/gear.ini").write_text(INI)
    Path("shop/broken.ini").write_text("no section = 1\n")
    told = cairn("ingest", "shop", code=1)
    assert "1 document added" in told
    assert "failed: shop/broken.ini: the settings cannot be read" in told
    Path("shop/broken.ini").unlink()
    [hit] = json.loads(cairn("search", "price of the harness", "--json"))["results"]
    assert "price is 59 euros." in hit["content"]
    again = cairn("reindex", "default", "--force")
    assert "1" in again
    [after] = json.loads(cairn("search", "price of the harness", "--json"))["results"]
    assert (after["content"], after["headings"]) == (hit["content"], hit["headings"])
    assert broken_extensions() == []


def test_a_way_to_cut(cairn: Cairn, install_package: InstallPackage) -> None:
    Path("notes.txt").write_text("Ropes are green.\n\nHarnesses are red.\n\nHelmets are\nwhite.\n")
    told = cairn("ingest", "notes.txt", settings={"chunking": {"strategy": "paragraphs"}}, code=2)
    assert "chunking.strategy" in told
    assert "parent_child, tokens" in told
    install_recipe("paragraphs_for_cairn", install_package)
    assert "1 document added (3 passages)" in cairn("ingest", "notes.txt")
    found = json.loads(cairn("search", "white helmets", "--json"))["results"]
    assert found[0]["content"] == "Helmets are\nwhite."


def test_a_provider_of_models(cairn: Cairn, install_package: InstallPackage) -> None:
    install_recipe("letters_for_cairn", install_package)
    Path("rocks").mkdir()
    for name, text in {
        "a": "Zzz zzz zzz, said the bee.",
        "b": "A rope is a long line for climbers, said the guide.",
    }.items():
        Path(f"rocks/{name}.txt").write_text(text)
    settings = {"rag": {"embeddingModel": "letters:a-z", "rerankerProvider": "letters"}}
    assert "2 documents added" in cairn("ingest", "rocks", settings=settings)
    assert "letters:a-z" in cairn("models", "list")
    results = json.loads(cairn("search", "said", "--json"))["results"]
    assert [one["title"] for one in results] == ["a.txt", "b.txt"], "the shortest first"


@pytest.mark.sweep(2)
@pytest.mark.parametrize(
    ("source", "group", "why"),
    [
        ("PART = 1\n", "loaders", "it is int"),
        (
            "from cairn.ingest.loaders.base import *\nPART = Loader('mine', None, {'text/csv': ('.csv',)})\n",
            "loaders",
            "text/csv",
        ),
        (
            "from cairn.ingest.loaders.base import *\nPART = Loader('mine', None, {'text/x-a': ('.PDF',)})\n",
            "loaders",
            "suffix",
        ),
        ("raise OSError('no disk')\n", "loaders", "no disk"),
    ],
)
def test_a_package_that_cannot_be_used_costs_nothing_else(
    cairn: Cairn, install_package: InstallPackage, source: str, group: str, why: str
) -> None:
    install_package("ext_unusable", source, **{group: {"mine": "ext_unusable:PART"}})
    Path("table.csv").write_text("name,role\nAda,engineer\n")
    assert "1 document added" in cairn("ingest", "table.csv")
    [hit] = json.loads(cairn("search", "Ada", "--json"))["results"]
    assert hit["content"] == "| name | role |\n| --- | --- |\n| Ada | engineer |"
    [broken] = broken_extensions()
    assert why in broken.reason


def test_readiness_is_told_of_broken_parts_before_they_are_needed(install_package: InstallPackage) -> None:
    groups = get_args(Group)
    install_package("ext_useless", "PART = 1\n", **{group: {"mine": "ext_useless:PART"} for group in groups})
    find_extensions()
    assert [one.group for one in broken_extensions()] == sorted(groups)


def test_a_provider_that_fails_is_said_where_it_would_have_been_used(
    cairn: Cairn, install_package: InstallPackage
) -> None:
    install_package(
        "ext_failing",
        "from cairn.providers.protocols import Provider\n"
        "def fail(model): raise RuntimeError('no key for ' + model)\n"
        "PART = Provider('failing', embedder=fail, chat=fail, reranker=fail)\n",
        providers={"failing": "ext_failing:PART"},
    )
    Path("rope.txt").write_text("A rope is a long line for climbers.")
    settings = {"rag": {"rerankerProvider": "failing", "qa": {"model": "failing:big"}}}
    cairn("ingest", "rope.txt", settings=settings)
    answer = json.loads(cairn("ask", "What is a rope?", "--json").partition("\nnote:")[0])
    assert "long line for climbers" in answer["answer"]
    assert "no key for big" in str(answer["degraded"])
    told = cairn("ingest", "rope.txt", settings={"rag": {"embeddingModel": "failing:small"}}, code=1)
    assert "no key for small" in told
