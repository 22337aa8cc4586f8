"""Operators in queries; what is none stays text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.domain.plan import Condition, Conditions
from cairn.retrieve.operators import Parsed, parse_operators
from tests.waiting import patience


def text(*values: str) -> tuple[Condition, ...]:
    return tuple(Condition("text", value) for value in values)


@pytest.mark.parametrize(
    ("query", "left", "must", "must_not"),
    [
        ('"dark rock" lava', "dark rock lava", text("dark rock"), ()),
        ("rock -basalt", "rock", (), text("basalt")),
        ("-basalt rock", "rock", (), text("basalt")),
        ('rock -"dark basalt" +granite', "rock granite", text("granite"), text("dark basalt")),
        ("rock -parent-chunk, please", "rock , please", (), text("parent-chunk")),
        ("title:granite rock", "rock", (Condition("title", "granite"),), ()),
        ('-title:"field guide" rock', "rock", (), (Condition("title", "field guide"),)),
        ("roches lang:fr", "roches", (Condition("lang", "french"),), ()),
        ("roches -lang:English", "roches", (), (Condition("lang", "english"),)),
        ("pool path:app/db id:app/db/pool.py", "pool", (Condition("path", "app/db"), Condition("id", "app/db/pool.py")), ()),
        ("What rocks are there -basalt?", "What rocks are there ?", (), text("basalt")),
        ("What rocks are there -basalt -granite?", "What rocks are there ?", (), text("basalt", "granite")),
        ('What is "x y" -basalt +"y z"?', 'What is "x y" y z?', text("y z"), text("basalt")),
    ],
)  # fmt: skip
def test_operators(query: str, left: str, must: tuple[Condition, ...], must_not: tuple[Condition, ...]) -> None:
    parsed = parse_operators(query)
    assert parsed.text == left
    assert parsed.conditions == Conditions(must, must_not)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "What is a cairn?",
        'Who wrote "Death of Samantha"?',
        'the writer of "Death of Samantha" was the second wife of a singer whose first band came from Liverpool',
        "well-known parent-chunk-id of a state-of-the-art pool",
        "temperatures of -5 or +7 degrees, -0.5 %",
        "a - b -- c --verbose -v",
        "the result - odd as it is - stands",
        "the result -odd- stands",
        "- item one\n- item two",
        "-item one\n-item two\n  -item three",
        "fine :-) or not :-( -_- -.- ^-^",
        'an "unbalanced quote',
        '5" pipes and 6" pipes',
        'empty "" and " " quotes',
        "title: granite, see id: 7 and lang:xx",
        "c++ and g++ +1",
        "What does the exporter option -sm do?",
        "What does ls -la show?",
        "What is -sm?",
        "exporter option -sm",
        "Was bewirkt der Schalter -sm?",
        "Quel est le paramètre -sm ?",
        "¿Para qué sirve la opción -sm?",
        "-basalt",
        "title:granite",
        "-basalt -granite",
        "-" * 1000,
        "- " * 1000,
        " ".join(f"-flag{i}" for i in range(100)) + " text",
        '"' + "long quotation " * 20 + '" source',
    ],
)
def test_whatever_is_no_operator_stays_text(query: str) -> None:
    """Dashes, and the trap of questions with quotes: 12 of 18 real ones need a passage without the phrase."""
    parsed = parse_operators(query)
    assert parsed.text == query
    assert parsed.conditions is None


@given(st.text(alphabet='ab -+"\n:title.?é1_', max_size=80))
def test_never_fails_and_never_loses_everything(query: str) -> None:
    parsed = parse_operators(query)
    assert parsed.conditions is None or (any(map(str.isalnum, parsed.text)) or "_" in parsed.text)
    if parsed.conditions is None:
        assert parsed.text == query


@pytest.mark.parametrize("unit", ['"', ' "', " -aa", '\n -a"', "a-", ' "a', " -a.b.c", " title:", "-"])
def test_time_is_linear(unit: str) -> None:
    """20,000 characters of anything take a moment."""
    begun = time.thread_time()
    parse_operators(" -" + unit * (20_000 // len(unit)))
    assert time.thread_time() - begun < patience(10, least=0)


@pytest.mark.parametrize(
    "query", ["Privatpersonen und -organisationen, Ergänzungsschulen?", "pre- and -suffixes", "lieux et -dits"]
)
def test_a_suspended_hyphen_excludes_nothing(query: str) -> None:
    assert parse_operators(query) == Parsed(query)
