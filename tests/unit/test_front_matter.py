"""What stands above the text of a Markdown file: title and metadata, and never text."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.domain.document import Source
from cairn.ingest.loaders.front_matter import LONGEST, MOST_KEYS, read_front_matter
from cairn.ingest.parse import parse, with_stated_metadata
from cairn.settings import IngestSettings
from tests.waiting import patience

YAML = """---
id: install
title: "Installing: the long way"
sidebar_position: 2
draft: false
weight: 1.5
date: 2024-03-01
tags: [setup, linux]
authors:
  - name: Ann
    url: https://example.org
empty:
---

Run the installer.
"""
TOML = """+++
title = "Installing"
date = 2024-03-01T10:00:00Z
tags = ["setup", "linux"]
[params]
author = "Ann"
+++
Run the installer.
"""


async def read(text: str, **fields: Any) -> tuple[str, str | None, dict[str, Any]]:
    """Text, title and metadata of guide.md."""
    source = with_stated_metadata(Source("guide.md", "guide.md", text.encode(), **fields))
    document = await parse(source, IngestSettings())
    return document.text, document.title, dict(source.metadata)


async def test_yaml_is_title_and_metadata_and_no_text() -> None:
    text, title, metadata = await read(YAML)
    assert text.strip() == "Run the installer."
    assert title == "Installing: the long way"
    assert metadata == {
        "id": "install", "sidebar_position": 2, "draft": False, "weight": 1.5, "date": "2024-03-01", "tags": ["setup", "linux"],
    }  # fmt: skip


async def test_so_is_toml() -> None:
    text, title, metadata = await read(TOML)
    assert (text.strip(), title) == ("Run the installer.", "Installing")
    assert metadata == {"date": "2024-03-01T10:00:00+00:00", "tags": ["setup", "linux"]}


async def test_the_metadata_of_the_caller_win() -> None:
    _, _, metadata = await read(YAML, metadata={"id": 7, "team": "ops"})
    assert metadata["id"] == 7
    assert (metadata["team"], metadata["draft"]) == ("ops", False)


async def test_a_text_that_is_written_out_states_them_too() -> None:
    text, _, metadata = await read(TOML, is_text=True)
    assert text.strip() == "Run the installer."
    assert metadata["tags"] == ["setup", "linux"]


async def test_with_too_many_of_the_caller_theirs_stay_alone() -> None:
    many = {f"key {number}": number for number in range(998)}
    assert (await read(YAML, metadata=many))[2] == many


@pytest.mark.parametrize(
    ("text", "title", "metadata", "left"),
    [
        ("---\ntitle: It: does not parse\nx: 1\n---\nText", "It: does not parse", {}, "Text"),
        ("---\ntags: [a\n---\nText", None, {}, "Text"),
        ("---\na: &x 1\nb: *x\n---\nText", None, {}, "Text"),
        ("---\nday: 2024-13-45\n---\nText", None, {}, "Text"),
        ("---\n---\nText", None, {}, "Text"),
        ("---\ntitle: T\n...\nText", "T", {}, "Text"),
        ("---\ntitle: 2024\nTitle: other\n---\n", "2024", {}, ""),
        ("---\nx: .nan\ny: .inf\nz: 99999999999999999999\n---\nText", None, {}, "Text"),
        ('---\nx: "a\\0b \\ud800"\n---\nText', None, {"x": "a\ufffdb \ufffd"}, "Text"),
        ("---\nx: !!python/object/apply:os.getcwd []\n---\nText", None, {}, "Text"),
        ("+++\ntitle = \n+++\nText", None, {}, "Text"),
        ("---\n\nA paragraph between two rules.\n\n---\nText", None, {}, None),
        ("---\nrule\n", None, {}, None),
        ("--- not\nx: 1\n---\n", None, {}, None),
        ("Text\n---\nx: 1\n---\n", None, {}, None),
        ("---\n- a\n- b\n---\nText", None, {}, None),
        ("---\nx: " + "a" * LONGEST + "\n---\nText", None, {}, None),
    ],
)
def test_what_is_none_stays_text_and_what_does_not_parse_goes(
    text: str, title: str | None, metadata: dict[str, Any], left: str | None
) -> None:
    found = read_front_matter(text)
    assert text[found.end :] == (text if left is None else left)
    assert (found.title, found.metadata) == (title, metadata)


def test_so_many_keys_are_kept() -> None:
    block = "".join(f"k{number}: {number}\n" for number in range(200))
    assert len(read_front_matter(f"---\n{block}---\n").metadata) == MOST_KEYS


@pytest.mark.sweep(4)
@pytest.mark.parametrize(
    "unit", ["[", "{", "? ", "- ", "a: [", "!a ", "&a ", '"', "'", "a: |\n", "  ", "a: b\n", "{a: ", "#", "\t"]
)
def test_a_hostile_block_takes_no_longer_than_a_long_one(unit: str) -> None:
    start = time.thread_time()
    for mark in ("---", "+++"):
        read_front_matter(f"{mark}\nx: 1\n{unit * ((LONGEST - 20) // len(unit))}\n{mark}\nText")
    assert time.thread_time() - start < patience(6, least=0)


@given(st.text(max_size=200), st.sampled_from(["---", "+++"]))
def test_any_block_gives_metadata_that_can_be_stored(block: str, mark: str) -> None:
    found = read_front_matter(f"{mark}\n{block}\n{mark}\nText")
    assert "\x00" not in str(found.metadata)
    str(found.metadata).encode()


@pytest.mark.parametrize(
    ("text", "title", "first_line"),
    [
        ("---\ntitle: The bar\n---\n# {{ page.title }}\n\nText", "The bar", "# The bar"),
        ("---\ntitle: The bar\n---\n\n## {{- title -}}\nText", "The bar", "## The bar"),
        ("# {{ page.title }}\n\nText", None, "Text"),
        ("```\n# {{ page.title }}\n```\n", None, "```"),
        ("```\n# no title\n```\n# Moorings\n", "Moorings", "```"),
        (
            "---\ntitle: |\n  The bar,\n  above\n---\n# {{ page.title | escape }} #\nText",
            "The bar, above",
            "# The bar, above",
        ),
        ("```npm i x``` installs it.\n\n# Moorings", "Moorings", "```npm i x``` installs it."),
        ("# {{ page.title }} of it\n", "{{ page.title }} of it", "# {{ page.title }} of it"),
    ],
)
async def test_a_heading_that_is_the_title_by_a_template_is_that_title(
    text: str, title: str | None, first_line: str
) -> None:
    parsed = await parse(Source("notes.md", "notes.md", text.encode()), IngestSettings())
    assert (parsed.title, parsed.text.strip().splitlines()[0]) == (title, first_line)
