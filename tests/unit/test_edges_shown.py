"""Numbers that decide what is shown around a quotation and what becomes of a model's reply, each at its edge."""

from __future__ import annotations

import asyncio
import contextlib
import string
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from cairn.answer.context import rendered
from cairn.answer.generate import generate, told_conversation
from cairn.answer.shown import _near, as_markdown, surroundings
from cairn.domain.question import Turn
from cairn.errors import ProviderError
from cairn.providers.protocols import Delta
from cairn.settings import AnswerSettings
from tests.unit.test_extract import passage
from tests.unit.test_shown import in_long_section


def span_of(content: str, quote: str) -> str:
    """What is shown around a quotation, as it stands in the passage."""
    at = content.index(quote)
    return content[slice(*surroundings(content, (at, at + len(quote))).span)]


def sentence(length: int, begins: str = "Kestrels") -> str:
    """One sentence of so many characters."""
    return f"{begins} {'sail ' * length}"[: length - 1].rstrip().ljust(length - 1, "l") + "."


@pytest.mark.parametrize(("length", "whole"), [(600, True), (601, False)])
def test_a_section_of_paragraphs_of_six_hundred_characters_is_shown_whole(length: int, whole: bool) -> None:
    text = f"Masts are blue.\n\n{sentence(250)}\n\n{sentence(length - 269)}"
    assert len(text) == length
    assert (span_of(in_long_section(f"## Fees\n\n{text}\n\n## Hours"), "Masts are blue.") == text) is whole


@pytest.mark.parametrize(("length", "more"), [(80, True), (81, False)])
def test_a_first_paragraph_of_eighty_characters_is_shown_with_the_next(length: int, more: bool) -> None:
    said, behind = sentence(length, "No"), "\n\n".join(f"Ship {n} sails to port." for n in range(40))
    assert ("Ship 3 sails" in span_of(f"## Fees\n\n{said}\n\n{behind}\n\n## Hours", said)) is more


@pytest.mark.parametrize(("length", "more"), [(20, True), (21, False)])
def test_twenty_characters_may_stand_between_code_and_the_code_for_it(length: int, more: bool) -> None:
    said, between = "Change this:", f"{'t' * (length - 1)}:"
    text = in_long_section(f"{said}\n\n```\nold\n```\n\n{between}\n\n```\nnew\n```")
    assert ("new" in span_of(text, said)) is more


@pytest.mark.parametrize(("length", "whole"), [(300, True), (301, False)])
def test_a_paragraph_of_three_hundred_characters_is_shown_whole(length: int, whole: bool) -> None:
    text = " ".join(["Masts are blue."] + [f"Ship {n} sails." for n in range(9)])
    text += " " + sentence(length - len(text) - 1)
    assert len(text) == length
    assert (span_of(in_long_section(text), "Masts are blue.") == text) is whole


@pytest.mark.parametrize(("length", "named"), [(80, True), (81, False)])
def test_a_line_of_eighty_characters_names_what_stands_below_it(length: int, named: bool) -> None:
    label = "x" * length
    assert (label in span_of(in_long_section(f"{label}\n\nMasts are blue."), "Masts are blue.")) is named


def items(count: int) -> str:
    """A list, of which each item has twelve characters with the end of its line."""
    return "\n".join(f"- item {n:04d}" for n in range(count))


def test_nine_hundred_characters_of_a_list_are_shown() -> None:
    shown = span_of(in_long_section(f"## Items\n\n{items(300)}"), "- item 0150")
    assert 900 - 2 * 12 < len(shown) <= 900


def test_of_what_a_sentence_announces_thirteen_hundred_are() -> None:
    shown = span_of(in_long_section(f"Do the following:\n\n{items(300)}"), "Do the following:")
    assert 1300 - 12 < len(shown) <= 1300


@pytest.mark.parametrize(("between", "shown"), [(4, True), (5, False)])
def test_what_is_announced_is_among_the_next_five_blocks(between: int, shown: bool) -> None:
    prose = "\n\n".join(f"This is so, and that {n}, too. It is." for n in range(between))
    text = span_of(in_long_section(f"Do the following:\n\n{prose}\n\n- item one\n- item two"), "Do the following:")
    assert ("- item two" in text) is shown


@pytest.mark.parametrize(("length", "shown"), [(300, True), (301, False)])
def test_a_section_leads_to_a_list_within_three_hundred_characters(length: int, shown: bool) -> None:
    """From the end of what is shown to the sentence that announces the list, as it reads: without where links lead to."""
    link = "Take a [mast](https://example.org/masts-and-sails)."
    between = sentence(length - len("Take a mast. "))
    text = f"Masts are blue.\n\n{link} {between} Do the following:\n\n- item one\n- item two"
    assert ("- item two" in span_of(in_long_section(text), "Masts are blue.")) is shown


@pytest.mark.parametrize(("length", "shown"), [(300, True), (301, False)])
def test_a_command_of_three_hundred_characters_is_shown_above_what_is_said_of_it(length: int, shown: bool) -> None:
    part = f"Do it:\n\n```\n{'x' * (length - 1)}\n```\n\n{'Run it at night. ' * 60}\n\nMasts are blue."
    content = in_long_section(part)
    at = content.index("Masts are blue.")
    assert bool(surroundings(content, (at, at + 15)).lead) is shown


def test_four_thousand_characters_on_both_sides_are_read() -> None:
    near = _near("ab\n" * 10_000, (15_000, 15_002))
    assert 19_000 - 3 < len(near) <= 19_003
    assert 11_000 <= len(near) - len(near.lstrip()) <= 11_003


@pytest.mark.parametrize(("blanks", "lines"), [(3, 2), (2, 1)])
def test_a_line_set_in_by_three_says_what_the_line_above_names(blanks: int, lines: int) -> None:
    text = f"max_connections\n{' ' * blanks}How many there are at once."
    shown = as_markdown(surroundings(text, (len(text) - 8, len(text))))
    assert len(shown.splitlines()) == lines


# --- what a model says ------------------------------------------------------------------------------------------------------


def test_two_thousand_characters_of_a_message_are_told() -> None:
    said = Turn(UUID(int=1), "user", "ß" * 3000, datetime(2026, 1, 1, tzinfo=UTC))
    assert told_conversation([said]).count("ß") in (1999, 2000)


class Talking:
    """A chat model that says pieces without end, or so many, and counts them."""

    name = "talking"

    def __init__(self, pieces: list[str]) -> None:
        self.pieces = pieces
        self.said = 0
        self.messages: list[Any] = []

    async def stream(self, messages: list[Any], **_: Any) -> AsyncIterator[Delta]:
        self.messages = messages
        for piece in self.pieces:
            self.said += 1
            yield Delta(piece)


async def reply(chat: Talking, **settings: Any) -> str:
    """What was streamed."""
    heard: list[str] = []
    with contextlib.suppress(ProviderError):  # no whole sentence is left
        await generate(
            "Which?", rendered([passage("Kestrels sail.")]), chat, AnswerSettings(**settings), temperature=0.0,  # type: ignore[arg-type]
            confidence=0.5, on_text=heard.append,
        )  # fmt: skip
    return "".join(heard)


NO_LOOP = "".join(a + b + c + " " for a in string.ascii_lowercase for b in string.ascii_lowercase for c in "aeiou")


async def test_a_reply_has_eight_characters_for_each_token() -> None:
    assert len(await reply(Talking(list(NO_LOOP)), max_output_tokens=100)) == 800


async def test_with_its_thoughts_it_has_eight_times_as_many() -> None:
    chat = Talking(["<think>", *NO_LOOP * 2])
    assert await reply(chat, max_output_tokens=100) == ""
    assert chat.said == 1 + 6400 - len("<think>")


async def test_loops_are_looked_for_every_two_hundred_characters() -> None:
    """So this one is found as soon as four hundred are a loop."""
    chat = Talking(list("Kestrels sail away. " * 100))
    await reply(chat)
    assert chat.said == 400


async def test_who_reads_has_a_turn_after_each_piece_before_the_sixteenth() -> None:
    turns = 0

    async def read() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    reading = asyncio.create_task(read())
    await reply(Talking(list(NO_LOOP[:400])))
    reading.cancel()
    assert turns == 15


@pytest.mark.parametrize(("length", "told"), [(80, True), (79, False)])
def test_an_item_is_told_by_its_second_sentence_where_the_first_is_a_label(length: int, told: bool) -> None:
    items = f"- {sentence(870)} Masts are blue.\n- {sentence(length - 2)} Sails are red. {sentence(300)}"
    text = shown_of_way(in_long_section(items), "Masts are blue.")
    assert ("Sails are red." not in text) is told


@pytest.mark.parametrize(("length", "told"), [(304, True), (305, False)])
def test_items_are_told_by_how_they_begin_up_to_six_hundred_characters(length: int, told: bool) -> None:
    """All of them or none: one has 294, with the marks of an item and of what is left out."""
    items = f"- {sentence(800)}\n- {sentence(290)} {sentence(300)}\n- {sentence(length)}"
    text = shown_of_way(in_long_section(items), sentence(800))
    assert (text.count("\n- Kestrels") == 3) is told


def shown_of_way(content: str, quote: str) -> str:
    at = content.index(quote)
    return as_markdown(surroundings(content, (at, at + len(quote))))
