"""Patterns with bounded repetitions: the same matches on what people write, and no run too long."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator

import pytest

from cairn.language import deadline
from cairn.language.deadline import TimeUpError, ended_after
from cairn.language.linear import RUN, TEXT, WORD, bound, bounded
from cairn.language.text import tidy


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"\s*,", rf"\s{{0,{RUN}}},"),
        (r"\w+?x", rf"\w{{1,{WORD}}}?x"),
        (r"[^\]*]*.+", rf"[^\]*]{{0,{TEXT}}}.{{1,{TEXT}}}"),
        (r"(?:a|(?P<b>[\d]))+c{2,}", rf"(?:a|(?P<b>[\d])){{1,16}}c{{2,{RUN}}}"),
        (r"(?P<a>.)(?P=a)+(.)\2*", rf"(?P<a>.)(?P=a){{1,16}}(.)\2{{0,{WORD}}}"),
        (r"a++b*+\+\*{x{3}y{1,4}?(?i:z)(?<=[+*])", r"a++b*+\+\*{x{3}y{1,4}?(?i:z)(?<=[+*])"),
    ],
)
def test_repetitions_without_an_end_get_one(pattern: str, expected: str) -> None:
    assert bound(pattern) == expected
    re.compile(expected)


def test_verbose_patterns_keep_their_comments() -> None:
    pattern = bounded("\\d+  # one or more*\n \\s* :", re.VERBOSE)
    assert pattern.fullmatch("12 :")
    assert bound("a+ # b+\n c*", verbose=True) == f"a{{1,{WORD}}} # b+\n c{{0,{RUN}}}"


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("who is alice" + " " * 2000 + "x", "who is alice x"),
        ("\ufeff a\u00a0\u3000 b\t\tc \r\n\r\n\r\n  - d  e\n", "a b c\n\n  - d e"),
        ("one\n" + " " * 500 + "two", "one\n" + " " * 8 + "two"),
        (" \n\t ", ""),
    ],
)
def test_white_space_is_put_in_order(typed: str, expected: str) -> None:
    assert tidy(typed) == expected


@pytest.fixture
def owned() -> Iterator[None]:
    before = signal.getsignal(signal.SIGVTALRM)
    deadline.own_process()
    yield
    signal.signal(signal.SIGVTALRM, before)
    deadline._alarm.owned = False


@pytest.mark.usefixtures("owned")
def test_a_computation_is_ended_inside_a_pattern() -> None:
    hopeless = re.compile(r"(?:a|a|aa)+$")
    with pytest.raises(TimeUpError), ended_after(0.05):
        hopeless.match("a" * 10_000 + "b")
    with ended_after(5):
        assert re.match("a", "a")
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)
