"""Reading what models say in the text format of react."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.agents.react_parse import (
    MOST_ACTIONS,
    TERMINAL,
    answer_of,
    concludes,
    read_decision,
)
from tests.waiting import patience


def acts(reply: str) -> list[tuple[str, dict[str, Any]]]:
    return [(action.tool, dict(action.arguments)) for action in read_decision(reply).actions]


SEARCH = ("retrieve_vector", {"query": "leave"})


@pytest.mark.parametrize(
    "reply",
    [
        'THOUGHT: I look.\nACTION: retrieve_vector\nARGUMENTS: {"query": "leave"}',
        'ACTION: retrieve_vector\nARGUMENTS: {"query": "leave"}',
        '**THOUGHT:** hm\n**ACTION:** `retrieve_vector`\n**ARGUMENTS:**\n```json\n{"query": "leave"}\n```',
        "Thought: hm\nAction: retrieve_vector\nAction Input: {'query': 'leave'}",
        "THOUGHT: hm\nACTION: RETRIEVE_VECTOR\nARGUMENTS: {query: 'leave'",
        'THOUGHT: hm\nACTION: retrieve_vector\nARGUMENTS: {"query": "leave',
        'THOUGHT: hm\nACTION: retrieve_vector\nARGUMENTS: {"query": "leave",}',
        "THOUGHT: hm\nACTION: retrieve_vector\nARGUMENTS: query=leave",
        'ACTION: retrieve_vector(query="leave")',
        'ACTION: retrieve_vector {"query": "leave"}',
        '{"thought": "hm", "action": "retrieve_vector", "arguments": {"query": "leave"}}',
        '<think>ACTION: final_answer\nARGUMENTS: {"answer": 1}</think>\nACTION: retrieve_vector\nARGUMENTS: {"query": "leave"}',
        'ACTION: retrieve_vector\nARGUMENTS: {"query": "leave"}\nOBSERVATION: 99 days\nACTION: final_answer\n'
        'ARGUMENTS: {"answer": "99 days"}',
    ],
)
def test_a8_04_a_single_action_in_many_dresses(reply: str) -> None:
    assert acts(reply) == [SEARCH]


def test_a8_04_two_actions_come_first_and_are_at_most_two() -> None:
    reply = "THOUGHT: both\n" + "\n".join(
        f'ACTION_{n}: lookup_entity\nARGUMENTS_{n}: {{"name": "{n}"}}' for n in (1, 2, 3)
    )
    assert acts(reply) == [("lookup_entity", {"name": "1"}), ("lookup_entity", {"name": "2"})]
    assert read_decision(reply).thought == "both"
    same = "ACTION_1: database_stats\nARGUMENTS_1: {}\nACTION_2: database_stats\nARGUMENTS_2: {}"
    assert acts(same) == [("database_stats", {})], "the same twice is once"


def test_a8_05_a_terminal_action_stands_alone() -> None:
    reply = (
        'ACTION_1: retrieve_vector\nARGUMENTS_1: {"query": "x"}\nACTION_2: final_answer\nARGUMENTS_2: {"answer": "30"}'
    )
    assert acts(reply) == [("final_answer", {"answer": "30"})]


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ('ACTION: final_answer\nARGUMENTS: {"answer": "30 days [1]."}', "30 days [1]."),
        ('ACTION: final_answer\nARGUMENTS: {"text": "30 days [1]."}', "30 days [1]."),
        ('ACTION: final_answer\nARGUMENTS: {"answer": "He said "30 days" to us [1]."}', 'He said "30 days" to us [1].'),
        ('ACTION: final_answer\nARGUMENTS: {"answer": "Two lines:\n- 30 days [1]"}', "Two lines:\n- 30 days [1]"),
        ('ACTION: final_answer\nARGUMENTS: {"answer": "cut of', "cut of"),
        ("ACTION: final_answer\nARGUMENTS: It is: 30 days [1].", "It is: 30 days [1]."),
        ("ACTION: final_answer\nIt is 30 days [1].", "It is 30 days [1]."),
        ("THOUGHT: I know.\nFinal Answer: 30 days [1].", "30 days [1]."),
        ('ACTION: final_answer\nARGUMENTS: {"answer": 30}', ""),
        ("ACTION: final_answer", ""),
    ],
)
def test_a8_05_the_answer_is_its_field_or_the_first_text(reply: str, answer: str) -> None:
    (action,) = read_decision(reply).actions
    assert action.tool == "final_answer"
    assert answer_of(action.arguments) == answer


@pytest.mark.parametrize(
    "reply", ["", "I cannot help with that.", "ACTION:", "{", "[1, 2]", '{"query": "x"}', "THOUGHT: hm"]
)
def test_a8_05_no_action_is_none(reply: str) -> None:
    assert acts(reply) == []


def test_what_only_json_can_hold_is_cleaned() -> None:
    nested = '{"query": "a\\ud800b\\u0000", "deep": ' + "[" * 200 + "]" * 200 + "}"
    ((tool, given),) = acts(f"ACTION: {'x' * 500}\nARGUMENTS: {nested}")
    assert len(tool) == 80
    assert given["query"] == "a\ufffdb\ufffd"
    assert given["deep"] == [[[[]]]]


def test_lists_in_arguments() -> None:
    reply = "ACTION: compare_entities\nARGUMENTS: {entities: ['Rome', 'Paris'], aspect: 'age'}"
    assert acts(reply) == [("compare_entities", {"entities": ["Rome", "Paris"], "aspect": "age"})]


@pytest.mark.parametrize(
    ("reflection", "enough"),
    [
        ("All is there.\nACTION: final_answer", True),
        ("**ACTION:** `final_answer`", True),
        ("Something is missing.\nACTION: continue", False),
        ("ACTION: final_answer? No.\nACTION: continue", False),
        ("<think>ACTION: final_answer</think> ACTION: continue", False),
        ("I would give the final_answer.", False),
        ("", False),
    ],
)
def test_a8_08_what_a_reflection_decides(reflection: str, *, enough: bool) -> None:
    assert concludes(reflection) is enough


@given(st.text(alphabet=st.sampled_from("ACTION_12: ARGUMENTS{}[]\"'\\,=final_answer\n THOUGHT<think>/"), max_size=300))
def test_whatever_is_said_is_read_without_an_error(reply: str) -> None:
    decision = read_decision(reply)
    assert len(decision.actions) <= MOST_ACTIONS
    assert len(decision.actions) == 1 or not any(action.tool in TERMINAL for action in decision.actions)
    assert all(isinstance(action.arguments, dict) for action in decision.actions)
    concludes(reply)


@pytest.mark.parametrize("piece", ["a", " ", '"', "'b", "*", "\n", "{", "a: ", "ACTION: x\n", "THOUGHT: ", "[", "`"])
def test_long_nonsense_is_read_in_no_time(piece: str) -> None:
    """A guard against patterns that go back over what they have read: these took minutes, not seconds."""
    began = time.monotonic()
    for start in ("", "ACTION: final_answer\nARGUMENTS: {", 'ACTION: retrieve_vector\nARGUMENTS: {"query": '):
        read_decision(start + piece * 20_000 + "x")
    assert time.monotonic() - began < patience(20, least=0)
