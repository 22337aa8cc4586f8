"""A passage is a part of a document: what it cuts off of what is shown is read from there."""

from __future__ import annotations

import pytest

from cairn.answer.extract import BEYOND, extract
from cairn.domain.answer import Draft
from cairn.domain.passage import Passage
from tests.unit.test_extract import SETTINGS, WordEmbedder, passage

LONG = "\n\n".join(f"Paragraph {n} speaks of granite, slate and chalk. It ends here." for n in range(20))
HEAD = f"# Forgetting\n\n{LONG}\n\nThe forget command accepts the following policy options:"
TAIL = "\n\n- `--keep-last` keeps the last ones\n- `--keep-tag` keeps those with a tag\n\nThat is all."


async def ask(question: str, text: str, start: int, end: int, asked: list[tuple[int, int]] | None = None) -> Draft:
    """Of a document of which a passage was found."""

    async def between(one: Passage, first: int, last: int) -> str:
        if asked is not None:
            asked.append((first, last))
        return text[first:last]

    found = passage(text[start:end], start)
    return await extract(question, [found], WordEmbedder(), SETTINGS, between=between)  # type: ignore[arg-type]


async def test_a_list_behind_the_passage_that_announces_it_is_shown() -> None:
    text = HEAD + TAIL
    draft = await ask("Which policy options does the forget command accept?", text, 0, len(HEAD))
    assert draft.text.startswith("The forget command accepts the following policy options: [1]\n\n- `--keep-last`")
    assert "That is all" not in draft.text
    cited = draft.citations[0]
    assert (cited.quote, text[cited.start : cited.end]) == (
        "The forget command accepts the following policy options:",
    ) * 2
    assert cited.context is not None
    assert "--keep-tag" in text[cited.context.start : cited.context.end]


async def test_code_that_the_passage_begins_in_is_shown_from_its_beginning() -> None:
    text = (
        f"# Keys\n\n{LONG}\n\nManage keys like this:\n\n```\nkey list\n\nkey add zebra\nkey remove zebra\n```\n\n{LONG}"
    )
    start = text.index("key add")
    draft = await ask("What does key remove zebra do?", text, start, len(text))
    assert draft.text.startswith("Manage keys like this:\n\n```\nkey list\n\nkey add zebra\nkey remove zebra\n```\n[1]")
    assert [text[one.start : one.end] for one in draft.citations] == [one.quote for one in draft.citations]


async def test_nothing_is_read_where_nothing_is_cut_off() -> None:
    asked: list[tuple[int, int]] = []
    text = HEAD + TAIL
    await ask("Which paragraph speaks of granite, slate and chalk?", text, 0, len(HEAD), asked)
    await ask("Which policy options does the forget command accept?", text, 0, len(text), asked)
    assert asked == []


async def test_without_the_text_what_is_there_is_shown() -> None:
    async def nothing(one: Passage, first: int, last: int) -> None:
        return None

    draft = await extract(
        "Which policy options does the forget command accept?", [passage(HEAD)], WordEmbedder(), SETTINGS, between=nothing
    )  # fmt: skip
    assert draft.text.endswith("policy options: [1]")


@pytest.mark.parametrize(("before", "shown"), [(BEYOND - 80, True), (BEYOND + 80, False)])
async def test_so_much_of_the_document_is_read_and_no_more(before: int, shown: bool) -> None:
    """Beyond that nothing is shown: more than fits stands there already."""
    text = f"# Keys\n\nRun:\n\n```\nkey first\n\n{('x' * 39 + chr(10)) * (before // 40)}\nkey add zebra\nkey remove zebra\n```\n"
    asked: list[tuple[int, int]] = []
    start = text.index("key add")
    await ask("What does key remove zebra do?", text, start, len(text), asked)
    assert (asked[0][0] <= text.index("key first")) is shown


async def test_nothing_is_shown_less_for_what_is_read_beyond() -> None:
    """A section of which the passage holds the beginning is shown as far as that goes, though it is longer."""
    parts = [f"**Way {n}**\n\nFor zebras {'take care, ' * 20}run this:\n\n```\nrun --{n}\n```" for n in range(5)]
    text = f"# Keys\n\n{LONG}\n\n## Zebras\n\nZebras are registered by a command.\n\n" + "\n\n".join(parts)
    start, end = text.index("## Zebras"), text.index("**Way 2")
    draft = await ask("How are zebras registered?", text, start, end)
    assert "run --0" in draft.text
    assert "run --1" in draft.text


@pytest.mark.parametrize(("read", "place"), [("import os\n\n", "`app.py:4`"), (None, "`app.py`")])
async def test_code_stands_below_its_file_and_line(read: str | None, place: str) -> None:
    async def between(passage: Passage, start: int, end: int) -> str | None:
        return read

    code = "HEIGHT = 2\ndef tallest_cairn():\n    return 8.5\n"
    found = passage(code, start=11, media_type="text/x-python", external_id="app.py")
    draft = await extract("What does tallest_cairn return?", [found], WordEmbedder(), SETTINGS, between=between)  # type: ignore[arg-type]
    assert draft.text.startswith(f"**{place}**\n\n```\n")
