"""One package, `cairn`: what it is called, what it gives at its top, and what it imports for that."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib import import_module
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import cairn
from cairn.distribution import MODULES, NAME, is_installed, require_part
from cairn.errors import MissingPartError

REPO = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((REPO / "pyproject.toml").read_text())
TEXTS = (".md", ".py", ".toml", ".yml", ".yaml", ".sql", ".sh", ".json", ".js", ".svg", ".txt")
OTHERS = {
    "migrations/versions/0027_one_name.py",
    "app/cairn/distribution/__init__.py", "docs/adr/0089-one-package.md", "CHANGELOG.md", "tests/unit/test_package.py",
}  # fmt: skip
"""They tell of other names."""
INSTALLING = re.compile(
    r"\b(?:pip3? install|pipx (?:install|run)|uvx|uv (?:add|pip install|tool (?:run|install)))\b([^\n\"`]*)"
)
OURS = re.compile(r"(?<![\w./-])(?:pg)?cairn(?:[-_]\w+)*(?![\w./])", re.IGNORECASE)


@cache
def texts() -> list[tuple[str, str]]:
    """(path, text) of the repository, whatever git knows of it: a fresh clone and an archive have the same."""
    found = []
    for folder, below, files in os.walk(REPO):
        below[:] = [
            name for name in below if not name.startswith(".venv") and name not in (".git", "dist", "__pycache__")
        ]
        for path in (Path(folder, name) for name in files):
            if path.is_file() and (path.suffix in TEXTS or path.name in ("Makefile", "Dockerfile", "run")):
                found.append((path.relative_to(REPO).as_posix(), path.read_text(encoding="utf-8")))
    return sorted(found)


def test_the_distribution_and_its_commands_have_the_name_that_the_code_says() -> None:
    project = PYPROJECT["project"]
    assert project["name"] == NAME == "pgcairn"
    assert project["scripts"] == {"cairn": "cairn.interfaces.cli.main:main", NAME: "cairn.interfaces.cli.main:main"}


def test_no_text_names_another_distribution() -> None:
    """`cairn-rag` and `cairn` on PyPI are programs of others: whoever is told to install them runs their code."""
    wrong = []
    for name, text in texts():
        if name in OTHERS:
            continue
        wrong += [f"{name}: {word}" for word in re.findall(r"cairn[-_]rag", text)]
        for command in INSTALLING.findall(text):
            wrong += [
                f"{name}: {command.strip()}" for word in OURS.findall(command.partition("#")[0])[:1] if word != NAME
            ]
    assert wrong == []


def test_only_one_file_of_the_package_says_the_name() -> None:
    saying = [name for name, text in texts() if name.startswith("app/") and NAME in text]
    assert saying == ["app/cairn/distribution/__init__.py"]


@pytest.mark.parametrize("module", ["__init__", "extend"])
def test_each_public_name_is_what_type_checkers_are_told(module: str) -> None:
    public = cairn if module == "__init__" else import_module(f"cairn.{module}")
    tree = ast.parse((REPO / "app" / "cairn" / f"{module}.py").read_text())
    (checked,) = [node for node in tree.body if isinstance(node, ast.If)]
    told = {
        alias.name: node.module for node in checked.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert sorted(told) == sorted(public.__all__)
    for name, home in told.items():
        assert getattr(public, name) is getattr(import_module(home or ""), name), name
    assert set(public.__all__) <= set(dir(public))
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        _ = public.no_such_name


@pytest.mark.parametrize(
    ("statement", "allowed"),
    [
        ("import cairn", {"cairn"}),
        ("import cairn.extend", {"cairn", "cairn.extend"}),
        ("from cairn.extend import ParseError", {"cairn", "cairn.extend", "cairn.errors"}),
        ("from cairn import errors", {"cairn", "cairn.errors"}),
        ("from cairn.distribution import release", {"cairn", "cairn.distribution", "cairn.errors"}),
    ],
)
def test_a_name_imports_its_room_and_nothing_else(statement: str, allowed: set[str]) -> None:
    script = f"{statement}\nimport sys; print(*[name for name in sys.modules if name.partition('.')[0] == 'cairn'])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == allowed


def test_the_recipes_for_plug_ins_import_the_public_module_alone() -> None:
    text = (REPO / "docs" / "extending.md").read_text()
    imported = set(re.findall(r"^from (cairn\S*) import|^import (cairn\S*)", text, re.MULTILINE))
    assert imported == {("cairn.extend", "")}


# --- the core and its extras ------------------------------------------------------------------------------------------


def test_each_extra_is_declared_and_known_by_a_module_of_its_libraries() -> None:
    declared = PYPROJECT["project"]["optional-dependencies"]
    assert set(MODULES) == set(declared) - {"all", "test", "check"}
    assert declared["all"] == [f"{NAME}[{','.join(sorted(MODULES))}]"]
    core = {canonicalize_name(Requirement(line).name) for line in PYPROJECT["project"]["dependencies"]}
    owners = packages_distributions()
    for extra, module in MODULES.items():
        libraries = {canonicalize_name(Requirement(line).name) for line in declared[extra]}
        assert not libraries & core, extra
        if is_installed(extra) and extra != "otel":  # opentelemetry is a namespace of several
            assert libraries & {canonicalize_name(name) for name in owners[module]}, extra


def test_a_part_that_is_not_installed_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODULES, "office", "no_such_package.inside")
    assert not is_installed("office")
    with pytest.raises(MissingPartError) as missing:
        require_part("office", "reading this")
    assert (
        missing.value.detail
        == f"reading this needs a part of Cairn that is not installed: pip install '{NAME}[office]'"
    )


SHOWN = """
import sys, cairn.interfaces.server, cairn.library
from cairn.interfaces.cli import ask, ingest, operate
print(*sorted({name.partition(".")[0] for name in sys.modules} & set(sys.argv[1:])))
"""


@pytest.mark.siege
def test_libraries_that_not_everybody_uses_are_imported_when_they_are_used() -> None:
    extras = {
        "tree_sitter",
        "graspologic_native",
        "mcp",
        "mcp_types",
        "docx",
        "pptx",
        "striprtf",
        "pylatexenc",
        "mwparserfromhell",
        "python_calamine",
        "nicegui",
        "pyarrow",
        "s3fs",
        "fsspec",
        "botocore",
        "asyncssh",
        "dulwich",
    }
    models = {"openai", "cohere", "tiktoken", "langchain_text_splitters", "langchain_core", "onnxruntime", "tokenizers"}
    others = {
        "alembic",
        "sqlalchemy",
        "lxml",
        "pypdfium2",
        "py3langid",
        "jwt",
        "cryptography",
        "charset_normalizer",
        "httpx2",
    }
    command = [sys.executable, "-c", SHOWN, *extras, *models, *others]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == []
