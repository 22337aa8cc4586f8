"""What a collection is called for programs, and by how much small files are put before large ones."""

from __future__ import annotations

from datetime import timedelta

import pytest

from cairn.service.documents import LARGE_BYTES, MOST_AHEAD, head_start, name_from


def test_a_head_start_is_less_the_larger_the_files() -> None:
    assert head_start(0) == MOST_AHEAD
    assert head_start(LARGE_BYTES // 2) == MOST_AHEAD / 2
    assert head_start(LARGE_BYTES) == head_start(50 * LARGE_BYTES) == timedelta(0)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("Personnel 2024", "Personnel-2024"), ("Größe & Maße", "Groe-Mae"), ("  étude: été  ", "etude-ete"),
        ("人事 2024", "2024"), ("...", "collection-"),
    ],
)  # fmt: skip
def test_a_name_is_made_of_what_people_call_it(words: str, name: str) -> None:
    assert name_from(words).startswith(name)


def test_names_of_which_letters_were_lost_are_told_apart() -> None:
    assert len({name_from(words) for words in ("Договоры 2024", "Счета 2024", "会議 2024", "2024")}) == 4
