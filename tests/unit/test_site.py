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

import describe_site  # noqa: E402
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


def page_of(paragraph: str) -> str:
    """As zensical builds one."""
    head = '<meta name="description" content="all"><nav><p>Menu</p></nav>'
    return f'{head}<article class="md"><h1>A</h1><p>{paragraph}</p><p>B</p></article>'


@pytest.mark.parametrize(
    ("paragraph", "described"),
    [
        (
            "What <code>cairn serve</code> does &amp; how,\nin &quot;words&quot;.",
            "What cairn serve does &amp; how, in &quot;words&quot;.",
        ),
        ("One sentence. " + "Another one that is long " * 9, "One sentence."),
        ("x" * 160, "x" * 160),
        ("long words, " * 14, "long words, " * 12 + "long words…"),
    ],
)
def test_a_page_of_the_site_is_described_by_its_first_paragraph(paragraph: str, described: str) -> None:
    """For search engines: plain text, whole sentences where they fit, of 160 characters at most."""
    assert describe_site.describe(page_of(paragraph)) == page_of(paragraph).replace('"all"', f'"{described}"')


def test_a_page_without_text_keeps_the_description_of_the_site() -> None:
    nothing = '<meta name="description" content="all"><article><h1>404</h1></article>'
    assert describe_site.describe(nothing) == nothing


def test_the_mark_of_the_site_is_that_of_the_page() -> None:
    drawn = [
        re.findall(r' d="([^"]+)"', (ROOT / path).read_text(encoding="utf-8"))
        for path in ("docs/images/mark.svg", "app/cairn/interfaces/web/theme/mark.svg")
    ]
    assert drawn[0] == drawn[1] != []
