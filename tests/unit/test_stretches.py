"""What one word of millions of characters is read in: stretches, between which everybody else has a turn."""

from __future__ import annotations

import asyncio
import re

import pytest

from cairn.ingest.chunkers.spans import _islands, pieces
from cairn.language.names import is_identifier, loud, quoted, tokens_of, without_quoted
from cairn.language.stretches import LONGEST, find_all, stretches
from cairn.store.documents import ROWS_OF_A_TURN, in_turns

LONG = 5 * LONGEST // 2


@pytest.mark.parametrize("word", ["a", "é", "a.", "a-", " ", "\n", "漢", "aB"])
def test_stretches_are_bounded_and_cover_the_text(word: str) -> None:
    text = (word * LONG)[:LONG]
    found = list(stretches(text))
    assert "".join(text[start:end] for start, end in found) == text
    assert max(end - start for start, end in found) <= LONGEST
    assert len(found) <= 5


def test_a_stretch_ends_behind_a_paragraph_else_a_line_else_a_word() -> None:
    first = "a" * (LONGEST - 300)
    tail = "b" * LONGEST
    assert next(stretches(f"{first}\n\nc\nd e{tail}")) == (0, len(first) + 2)
    assert next(stretches(f"{first} c\nd e{tail}")) == (0, len(first) + 3)
    assert next(stretches(f"{first} c d{tail}")) == (0, len(first) + 3)


def test_a_text_of_the_usual_length_is_one_stretch() -> None:
    assert list(stretches("word " * 100)) == [(0, 500)]
    assert list(stretches("")) == []
    assert list(stretches("word", 1, 3)) == [(1, 3)]


def test_patterns_look_through_no_more_than_a_stretch_at_once() -> None:
    assert [match.end() - match.start() for match in find_all(re.compile(r"\w+"), "a" * LONG)] == [
        LONGEST, LONGEST, LONG - 2 * LONGEST,
    ]  # fmt: skip
    text = "a" * LONG
    assert max(end - start for start, end in _islands(text, (0, LONG))) <= LONGEST
    tokens = tokens_of(text)
    assert max(token.end - token.start for token in tokens) <= LONGEST
    assert not any(map(is_identifier, tokens_of("aB" * LONGEST)))


def test_what_is_found_in_a_long_text_is_where_it_stands() -> None:
    line = 'The tool "Ripgrep" reads pg_stat_io.\n'
    text = line * (LONG // len(line))
    assert [text[start:end] for start, end, _ in quoted(text)] == ["Ripgrep"] * (LONG // len(line))
    assert len(without_quoted(text)) == len(text)
    assert "Ripgrep" not in without_quoted(text)
    assert all(text[token.start : token.end].startswith(token.word) for token in tokens_of(text))
    assert [token.opens for token in tokens_of(text)[:2]] == [True, False]
    assert loud("AB" * LONGEST)
    assert not loud("ab" * LONGEST)


def test_pieces_of_a_long_word_cover_it() -> None:
    text = "a" * LONG
    found = pieces(text, (0, LONG), 400)
    assert max(end - start for start, end in found) <= 400
    assert "".join(text[start:end] for start, end in found) == text


async def test_others_have_their_turn_between_the_rows_of_a_long_document() -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(other())
    rows = [row async for row in in_turns((number,) for number in range(10 * ROWS_OF_A_TURN))]
    beside.cancel()
    assert rows == [(number,) for number in range(10 * ROWS_OF_A_TURN)]
    assert turns >= 10
