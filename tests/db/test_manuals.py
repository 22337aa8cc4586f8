"""Manuals as people write them: what is asked about them is answered in their words, without the markup of their tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.domain.document import Indexed, Source
from cairn.service.documents import get_document, index_now
from cairn.wiring import Services
from tests.db.runs import answered
from tests.sharing import SHARED

pytestmark = SHARED

FRONT = """---
title: Backups
description: How Larder keeps copies of itself.
sidebar_position: 4
tags: [operations, safety]
---

Larder writes a backup every night at two. Fourteen backups are kept, older ones are deleted.
"""


async def index(services: Services, name: str, text: str) -> Indexed:
    [outcome] = await index_now(services, "manuals", [Source(name, name, text.encode())])
    assert isinstance(outcome, Indexed), outcome
    return outcome


async def test_front_matter_is_metadata_and_is_never_quoted(services: Services) -> None:
    first = await index(services, "backups.md", FRONT)
    document = (await get_document(services, "manuals", first.document_id))[0]
    assert document.title == "Backups"
    assert document.metadata["tags"] == ["operations", "safety"]
    answer = await answered(services, "How many backups are kept?", collection="manuals")
    assert "Fourteen backups are kept" in answer.answer
    assert "sidebar" not in answer.answer
    again = await index(services, "backups.md", FRONT)
    assert again.change == "unchanged"
    assert (await get_document(services, "manuals", first.document_id))[0].metadata == document.metadata


MANUALS = Path(__file__).parents[1] / "data" / "manuals"


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What should I do before an upgrade?", "Back up the pantry before an upgrade."),
        ("What is port 8043 for?", "Metrics"),
        ("What does the option --dry-run do?", "Shows what would be done."),
    ],
)
async def test_restructured_text_is_quoted_as_prose(services: Services, question: str, said: str) -> None:
    await index(services, "larder.rst", (MANUALS / "larder.rst").read_text())
    answer = await answered(services, question, collection="manuals")
    assert said in answer.answer
    assert not any(mark in answer.answer.replace("**", "") for mark in ("..", "::", "*"))


@pytest.mark.parametrize(
    ("name", "question", "said"),
    [
        ("freezer.mdx", "What should I set the thermostat to?", "Set the thermostat to minus thirty for one hour."),
        ("freezer.mdx", "How do I defrost the freezer?", "freezer defrost --hours=6 && echo"),
        ("freezer.mdx", "What is the default of the setting temperature?", "minus eighteen degrees"),
        ("myst.md", "How do I heat the oven?", "Heat it with heat()"),
    ],
)
async def test_markdown_of_a_site_is_quoted_as_its_reader_sees_it(
    services: Services, name: str, question: str, said: str
) -> None:
    await index(services, name, (MANUALS / name).read_text())
    answer = await answered(services, question, collection="manuals")
    assert said in answer.answer.replace("`", "")
    prose = "".join(answer.answer.split("```")[::2])  # code may show what it is about
    assert not any(mark in prose for mark in ("<pre", "<td", "&lt;", ":::n", "{py", "import"))
