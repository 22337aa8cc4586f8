"""Manuals as people write them: what is asked about them is answered in their words, without the markup of their tools."""

from __future__ import annotations

from pathlib import Path
from typing import Final

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


@pytest.mark.sweep(3)
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


LONG: Final = "It asks for offers in spring, looks at each of them, and pays in autumn what was agreed on. " * 12
GRANTS: Final = (
    "# Grants of the council\n\nThe council gives grants since 1998.\n\n## Where grants go\n\n"
    "The council has identified four areas in which grants shall go.\n\n"
    + "".join(f"### {area}\n\n{LONG}\n\n" for area in ("Clean water", "Foot paths", "Rural schools", "Old woods"))
    + "## How to apply\n\nWrite to the office.\n"
)


async def test_a_list_that_a_manual_has_as_headings_is_shown_though_they_stand_in_other_passages(
    services: Services,
) -> None:
    await index(services, "grants.md", GRANTS)
    answer = await answered(services, "Which areas shall grants of the council go to?", collection="manuals")
    shown = "- Clean water\n- Foot paths\n- Rural schools\n- Old woods"
    assert f"in which grants shall go. [1]\n\n{shown}" in answer.answer
    context = answer.citations[0].context
    assert context is not None
    assert context.text.endswith(shown)
    assert (
        context.start
        < GRANTS.index("### Clean water")
        < GRANTS.index("### Old woods")
        < context.end
        < len(GRANTS) - len(LONG)
    )
