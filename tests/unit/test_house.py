"""What keeps the house in order: settings that are read, one class name for one thing, no path in the docs that is gone."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from pydantic import BaseModel

from app.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
WITHOUT_EFFECT = {
    "rag.contextual_enrichment_enabled": "accepted for files of others that have it; a note in the log and in /health/ready",
    "rag.agentic_retrieval.web_search_fallback_enabled": "likewise: Cairn never searches the web",
}


@cache
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "app").rglob("*.py")}


def keys(model: type[BaseModel], above: str = "") -> Iterator[tuple[str, str]]:
    """Dotted path and attribute of every setting that is no section."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from keys(kind, f"{above}{name}.")
        else:
            yield f"{above}{name}", name


def test_every_setting_is_read() -> None:
    """By some code outside app/settings/: a setting that changes nothing is a promise that is not kept."""
    read = {
        node.attr
        for path, tree in trees().items()
        if "settings" not in path.relative_to(ROOT / "app").parts
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    }
    unread = {path for path, name in keys(Settings) if name not in read}
    assert unread == {path for path in WITHOUT_EFFECT if path.rpartition(".")[2] not in read}


def test_one_public_class_name_means_one_thing() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for path, tree in trees().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(path.relative_to(ROOT).as_posix())
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


def test_the_documents_name_files_that_exist() -> None:
    """Decisions (docs/adr) tell what was there when they were made; the others tell what is."""
    path = re.compile(r"(?<![\w/.])(?:app|tests|sql|scripts|migrations)/[\w/.-]*\w\.(?:py|sql|toml|md|json)\b")
    gone = {
        f"{document.name}: {name}"
        for document in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
        for name in path.findall(document.read_text(encoding="utf-8"))
        if not (ROOT / name).exists()
    }
    assert gone == set()
