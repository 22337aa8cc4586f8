"""What a pass of the iterative strategy says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.strategies.agents.missing import meaning, normal, symbols_of
from cairn.strategies.agents.policies.iterative import MOST_GAPS, Pass, read_pass

ANSWER = "It checks the token [1]."


@pytest.mark.parametrize(
    "reply",
    [
        f"ANSWER:\n{ANSWER}\n\nMISSING:\n- decode in auth/jwt.py\n- class Store",
        f"**ANSWER:**\n{ANSWER}\n\n**MISSING:**\n* decode in auth/jwt.py\n* class Store",
        f"{ANSWER}\nMissing (or NONE):\n1. decode in auth/jwt.py\n2. class Store\n2. class store",
        f"<think>hm MISSING: nothing</think>Answer: {ANSWER}\n## MISSING:\n- decode in auth/jwt.py.\n- class Store",
    ],
)
def test_answer_and_gaps_in_any_dress(reply: str) -> None:
    said = read_pass(None, reply)
    assert said.answer == ANSWER
    assert said.gaps == ("decode in auth/jwt.py", "class Store")


@pytest.mark.parametrize(
    "reply",
    [ANSWER, f"ANSWER: {ANSWER}\nMISSING: NONE", f"ANSWER: {ANSWER}\nMISSING:\n- none.",
     f"ANSWER: {ANSWER}\nMISSING:\nNone needed",
     f"ANSWER: {ANSWER}\nMISSING:\n"],
)  # fmt: skip
def test_none_means_content(reply: str) -> None:
    assert read_pass(None, reply) == read_pass(None, ANSWER)
    assert read_pass(None, reply).gaps == ()


@given(st.text(max_size=2000))
def test_any_reply_is_read(reply: str) -> None:
    said = read_pass(None, reply)
    assert len(said.gaps) <= MOST_GAPS
    assert len({normal(gap) for gap in said.gaps}) == len(said.gaps)


@pytest.mark.parametrize(
    ("gap", "name", "path"),
    [
        ("decode in auth/jwt.py", "decode", "auth/jwt.py"),
        ("`decode` in `auth/jwt.py`", "decode", "auth/jwt.py"),
        ("Store.save", "Store.save", ""),
        ("the function verify_user", "verify_user", ""),
        ("class Store", "Store", ""),
    ],
)
def test_specific_gaps_name_symbols(gap: str, name: str, path: str) -> None:
    query = symbols_of(gap)[0]
    assert (query.name, query.path) == (name, path)


@pytest.mark.parametrize(
    "gap", ["the leave policy for part-time employees", "how tokens expire", "the file that handles X"]
)
def test_others_are_vague(gap: str) -> None:
    assert symbols_of(gap) == ()


def test_a_pass_as_json() -> None:
    said = read_pass({"answer": ANSWER, "missing": ["- decode in auth/jwt.py", "decode in auth/jwt.py.", "none"]}, "")
    assert said == Pass(ANSWER, ("decode in auth/jwt.py",))
    assert read_pass({"answer": ANSWER, "missing": None}, "") == Pass(ANSWER, ())
    assert read_pass({"answer": 5}, f"ANSWER: {ANSWER}") == Pass(ANSWER, ())


def test_of_a_pass_that_was_cut_off_the_whole_sentences_stay() -> None:
    whole = f'{{"answer": "{ANSWER} It then lo'
    assert read_pass(None, whole, cut_off=True) == Pass(ANSWER, ())
    assert read_pass(None, f"ANSWER:\n{ANSWER}\nMISSING:\n- class Store\n- deco", cut_off=True) == Pass(
        ANSWER, ("class Store",)
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("when salaries are paid", "the salaries: when are they paid?"),
        ("load_user in app/store.py", "the function `load_user` in app/store.py"),
        ("Store.save", "the method `Store.save`"),
    ],
)
def test_one_gap_in_two_wordings(one: str, other: str) -> None:
    assert meaning(one) == meaning(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("load_user in app/store.py", "load_user in app/auth.py"), ("hotel costs", "train costs"), ("?", "!")],
)
def test_two_gaps(one: str, other: str) -> None:
    assert meaning(one) != meaning(other) or not normal(one)
