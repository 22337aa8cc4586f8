"""Ordered lists are numbered as they are shown."""

from __future__ import annotations

import pytest

from cairn.ingest.loaders import load, sniff
from cairn.ingest.loaders.item_numbers import MOST_CHARS, MOST_ITEMS, count_items
from cairn.settings import IngestSettings

TEN = "\n".join(f"1. step\n\n   more {n}" for n in range(1, 11))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1. one\n1. two\n1. three", "1. one\n2. two\n3. three"),
        ("1. one\n\n   ```\n   1. no\n   1. no\n   ```\n\n1. two", "1. one\n\n   ```\n   1. no\n   1. no\n   ```\n\n2. two"),
        ("4) a\n4) b", "4) a\n5) b"),
        ("1. a\n   1. x\n   1. y\n1. b\n   - c\n   - d", "1. a\n   1. x\n   2. y\n2. b\n   - c\n   - d"),
        ("- 1. a\n  1. b", "- 1. a\n  2. b"),
        ("> 1. a\n> 1. b", "> 1. a\n> 2. b"),
        ("1. a\n\nText.\n\n1. b", "1. a\n\nText.\n\n1. b"),  # two lists
        ("```\n1. a\n1. b\n```", "```\n1. a\n1. b\n```"),
        ("2026. was\n2026. is", "2026. was\n2027. is"),  # as the page shows it
        ("No list.\n1998. One\n1998. Two", "No list.\n1998. One\n1998. Two"),  # a number that is not 1 ends no paragraph
    ],
)  # fmt: skip
def test_items_have_the_numbers_of_the_page(text: str, shown: str) -> None:
    assert count_items(text) == shown


def test_what_belongs_to_an_item_still_does_when_its_number_grows() -> None:
    assert count_items(TEN).endswith("9. step\n\n   more 9\n10. step\n\n    more 10")
    spaced = "\n".join(f"1.  step\n\n    more {n}" for n in range(1, 11))
    assert count_items(spaced).endswith("10. step\n\n    more 10")


def test_a_very_long_text_stays_as_it_is() -> None:
    text = "1. one\n1. two\n" + "x" * MOST_CHARS
    assert count_items(text) == text
    assert count_items(text[:MOST_CHARS]).startswith("1. one\n2. two\n")
    assert MOST_CHARS == 300_000


def test_a_text_of_very_many_items_stays_as_it_is() -> None:
    items = "1. a\n" * (MOST_ITEMS + 1)
    assert count_items(items) == items
    assert count_items("1. a\n" * MOST_ITEMS).startswith("1. a\n2. a\n")
    assert MOST_ITEMS == 5_000


def test_a_lone_carriage_return_ends_a_line() -> None:
    text = "# Notes\n\nLine one\rline two\rline three\n\n1. Open\n1. Save\n1. Close\n"
    assert (
        load(text.encode(), sniff("a.md", text.encode()), IngestSettings())
        .text.rstrip()
        .endswith("line two\nline three\n\n1. Open\n2. Save\n3. Close")
    )
    assert count_items(text).startswith("# Notes")
