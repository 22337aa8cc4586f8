"""What is made of a model's raw reply: thoughts, fences, junk, half sentences, loops."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.answer.reply import Spoken, complete_part, loop_start, tidy

THOUGHT = "<think>Let me see: 2 < 3.\n</think>\n\nA cairn marks <b>trails</b>. a<b"
SAID = "A cairn marks <b>trails</b>. a<b"


def heard(pieces: list[str]) -> str:
    spoken = Spoken()
    return "".join([*(spoken.hear(piece) for piece in pieces), spoken.end()])


@given(st.lists(st.integers(1, len(THOUGHT) - 1), max_size=12))
def test_thoughts_are_left_out_wherever_the_pieces_split(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(THOUGHT)]
    assert heard([THOUGHT[a:b] for a, b in pairwise(edges)]) == SAID


@given(st.lists(st.text(max_size=20), max_size=10))
def test_without_tags_nothing_is_lost(pieces: list[str]) -> None:
    text = "".join(pieces).replace("<", "")
    assert heard([text[:3], text[3:]]) == text.lstrip()


def test_a_thought_that_never_ends_says_nothing() -> None:
    spoken = Spoken()
    assert spoken.hear("<think>hmm, ") + spoken.hear("hmm") + spoken.end() == ""
    assert spoken.thinking
    assert spoken.thoughts == len("hmm, hmm")


def test_words_come_at_once_unless_they_may_begin_a_tag() -> None:
    spoken = Spoken()
    assert [spoken.hear("One "), spoken.hear("two <th"), spoken.hear("ree")] == ["One ", "two ", "<three"]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("```markdown\nA cairn. [1]\n```", "A cairn. [1]"),
        ("```\nA cairn.\n```\n", "A cairn."),
        ("Use:\n```python\nx = 1\n```", "Use:\n```python\nx = 1\n```"),
        ("```python\nx = 1\n```", "```python\nx = 1\n```"),
        ("I was thinking.</think>A cairn.", "A cairn."),
        ("\ufeffA\u200b ca\x00irn\ud800.\r\nIt\u200d is.", "A cairn.\nIt\u200d is."),
        ("\x1b[31mred", "[31mred"),
    ],
)
def test_dress_and_junk_are_taken_off(raw: str, expected: str) -> None:
    assert tidy(raw) == expected


@pytest.mark.parametrize(
    ("cut", "expected"),
    [
        ("A cairn marks a trail [1]. It is buil", "A cairn marks a trail [1]."),
        ("A cairn marks a trail. [1] It", "A cairn marks a trail. [1]"),
        ("It costs 4.50 euros. And then it co", "It costs 4.50 euros."),
        ("- One is enough.\n- Two are to", "- One is enough."),
        ("No sentence is complete her", "No sentence is complete her"),
        ("", ""),
    ],
)
def test_only_complete_sentences_are_kept(cut: str, expected: str) -> None:
    assert complete_part(cut) == expected


def test_a_model_that_goes_round_in_circles_is_noticed() -> None:
    text = "A cairn marks a trail [1]. " + "It is made of stones. " * 40
    at = loop_start(text)
    assert at is not None
    assert text[:at].count("It is made of stones.") == 1


@pytest.mark.parametrize(
    "text",
    [
        "It is made of stones. " * 3,
        "".join(f"Step {n}: turn the screw by {n * 7} degrees.\n" for n in range(60)),
        "| - | - |\n" + "-" * 900,
        "",
    ],
)
def test_lists_tables_and_rules_are_no_circles(text: str) -> None:
    assert loop_start(text) is None


@given(st.text(max_size=400))
def test_any_reply_can_be_mended(raw: str) -> None:
    text = tidy(raw)
    assert text.startswith(complete_part(text))
    assert loop_start(text) is None or len(text) >= 400
