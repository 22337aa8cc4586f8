"""The documentation as a whole: its links lead somewhere, each page is in the site, and what is generated is as the code."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
sys.path.append(str(ROOT / "scripts"))

import make_reference  # noqa: E402

PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md"), *(ROOT / "examples").glob("*.md")])
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^()\s]+)\)")


@cache
def anchors(page: Path) -> frozenset[str]:
    """As GitHub and the site name headings."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    names = (re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "]", heading)).strip().lower() for heading in headings)
    return frozenset({*re.findall(r'<a id="([^"]+)"', text), *(name.replace(" ", "-") for name in names)})


def links(page: Path) -> Iterator[str]:
    for target in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        if not re.match(r"[a-z]+:", target):
            yield target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    wrong = []
    for target in links(page):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            wrong.append(target)
        elif DOCS in page.parents and not (file.is_file() and DOCS in file.parents):
            wrong.append(f"{target} is not in the site")
    assert wrong == []


def test_every_page_is_in_the_menu_of_the_site() -> None:
    """Decisions are reached by their list."""

    def pages(menu: object) -> Iterator[str]:
        if isinstance(menu, str):
            yield menu
        elif isinstance(menu, dict):
            for part in menu.values():
                yield from pages(part)
        elif isinstance(menu, list):
            for part in menu:
                yield from pages(part)

    menu = list(pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]))
    there = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md") if not re.match(r"\d", page.name)}
    assert sorted(menu) == sorted(there)


def test_the_reference_is_what_the_code_says() -> None:
    assert make_reference.stale() == [], "make reference"


def test_every_variable_of_the_environment_is_in_the_reference() -> None:
    told = (DOCS / "reference" / "environment.md").read_text(encoding="utf-8")
    source = (ROOT / "app" / "cairn" / "settings" / "environment.py").read_text(encoding="utf-8")
    assert {name for name in re.findall(r'"(CAIRN_[A-Z_]+)"', source) if name not in told} == set()
