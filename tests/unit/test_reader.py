"""Reading what chat models write: JSON in any dress, and tools that are called in words."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.providers.reader import (
    json_array,
    json_object,
    json_value,
    read_arguments,
    read_calls,
    read_thought,
    whole_values,
    without_thought,
)
from tests.waiting import patience

TOOLS = ("retrieve_vector", "lookup_entity", "compare_entities", "database_stats", "search_docs", "final_answer")
SEARCH = ("retrieve_vector", {"query": "leave"})


def acts(reply: str, *, cut_off: bool = False) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, dict(call.arguments)) for call in read_calls(reply, TOOLS, cut_off=cut_off)]


# --- tools called in words --------------------------------------------------------------------------------------------


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
        '{"type": "tool_call", "tool": "retrieve_vector", "input": {"query": "leave"}}',
        'Sure!\n```json\n{"name": "retrieve_vector", "parameters": {"query": "leave"}}\n```',
        '<tool_call>\n{"name": "retrieve_vector", "arguments": {"query": "leave"}}\n</tool_call>',
        '[TOOL_CALLS] [{"name": "retrieve_vector", "arguments": {"query": "leave"}}]',
        '{"tool_calls": [{"function": {"name": "retrieve_vector", "arguments": "{\\"query\\": \\"leave\\"}"}}]}',
        '{"action": "retrieve_vector", "arguments": {"query": "leave",}',
        '<think>ACTION: final_answer\nARGUMENTS: {"answer": 1}</think>\nACTION: retrieve_vector\nARGUMENTS: {"query": "leave"}',
        'ACTION: retrieve_vector\nARGUMENTS: {"query": "leave"}\nOBSERVATION: 99 days\nACTION: final_answer\n'
        'ARGUMENTS: {"answer": "99 days"}',
    ],
)
def test_a_single_action_in_many_dresses(reply: str) -> None:
    assert acts(reply) == [SEARCH]


def test_numbered_actions_come_first() -> None:
    reply = "THOUGHT: both\n" + "\n".join(
        f'ACTION_{n}: lookup_entity\nARGUMENTS_{n}: {{"name": "{n}"}}' for n in (1, 2)
    )
    assert acts(reply) == [("lookup_entity", {"name": "1"}), ("lookup_entity", {"name": "2"})]
    assert read_thought(reply) == "both"


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ('ACTION: final_answer\nARGUMENTS: {"answer": "30 days [1]."}', "30 days [1]."),
        ('ACTION: final_answer\nARGUMENTS: {"answer": "He said "30 days" to us [1]."}', 'He said "30 days" to us [1].'),
        ('ACTION: final_answer\nARGUMENTS: {"answer": "Two lines:\n- 30 days [1]"}', "Two lines:\n- 30 days [1]"),
        ("ACTION: final_answer\nARGUMENTS: It is: 30 days [1].", "It is: 30 days [1]."),
        ("ACTION: final_answer\nIt is 30 days [1].", "It is 30 days [1]."),
        ("THOUGHT: I know.\nFinal Answer: 30 days [1].", "30 days [1]."),
        ('{"type": "final", "answer": "30 days [1].", "insufficiencies": []}', "30 days [1]."),
    ],
)
def test_an_answer_in_many_dresses(reply: str, answer: str) -> None:
    ((tool, arguments),) = acts(reply)
    assert (tool, arguments["answer"]) == ("final_answer", answer)


@pytest.mark.parametrize(
    "reply",
    ["", "I cannot help with that.", "ACTION:", "{", "[1, 2]", '{"query": "x"}', "THOUGHT: hm", '{"type": "dance"}'],
)
def test_no_action_is_none(reply: str) -> None:
    assert acts(reply) == []


ONE = 'THOUGHT: on\nACTION_1: retrieve_vector\nARGUMENTS_1: {"query": "leave"}\n'
TWO = 'ACTION_2: lookup_entity\nARGUMENTS_2: {"name": "Curie"}'
LISTED = json.dumps({"actions": [{"action": "retrieve_vector", "arguments": {"query": "leave"}},
                                 {"action": "lookup_entity", "arguments": {"name": "Curie"}}]})  # fmt: skip


@pytest.mark.parametrize("whole", [ONE + TWO, LISTED], ids=["labels", "json"])
def test_wherever_the_token_limit_cuts_a_reply_the_last_call_is_dropped_and_none_is_guessed(whole: str) -> None:
    both = [SEARCH, ("lookup_entity", {"name": "Curie"})]
    assert acts(whole, cut_off=True) == both
    for end in range(len(whole)):
        assert acts(whole[:end], cut_off=True) in ([], [SEARCH], both), whole[:end]
    assert acts(whole[: whole.index("Curie") + 2], cut_off=True) == [SEARCH]


def test_a_cut_off_answer_is_none() -> None:
    for reply in (
        'ACTION: final_answer\nARGUMENTS: {"answer": "30 da',
        "Final Answer: 30 da",
        '{"type": "final", "answer": "30 d',
    ):
        assert acts(reply, cut_off=True) == []


def test_what_only_json_can_hold_is_cleaned() -> None:
    nested = '{"query": "a\\ud800b\\u0000", "deep": ' + "[" * 200 + "]" * 200 + "}"
    ((tool, arguments),) = acts(f"ACTION: {'x' * 500}\nARGUMENTS: {nested}")
    assert len(tool) == 80
    assert arguments["query"] == "a\ufffdb\ufffd"
    assert len(json.dumps(arguments["deep"])) < 20


def test_lists_in_arguments() -> None:
    reply = "ACTION: compare_entities\nARGUMENTS: {entities: ['Rome', 'Paris'], aspect: 'age'}"
    assert acts(reply) == [("compare_entities", {"entities": ["Rome", "Paris"], "aspect": "age"})]


@pytest.mark.parametrize(
    ("given_", "arguments", "whole"),
    [
        ('{"query": "leave"}', {"query": "leave"}, True),
        ({"query": "leave"}, {"query": "leave"}, True),
        ('"{\\"query\\": \\"leave\\"}"', {"query": "leave"}, True),
        ("", {}, True),
        (None, {}, True),
        ("null", {}, True),
        ('{"query": "leave"', {"query": "leave"}, False),
        ("{'query': 'leave',}", {"query": "leave"}, False),
        ("leave", {"input": "leave"}, False),
        ("[1]", {"input": [1]}, True),
    ],
)
def test_arguments_of_native_calls(given_: Any, arguments: dict[str, Any], *, whole: bool) -> None:
    assert read_arguments(given_) == (arguments, whole)


# --- JSON -------------------------------------------------------------------------------------------------------------


def test_json_among_words() -> None:
    assert json_object('Here: {} {"a": 1} {"b": 2}') == {"a": 1}
    assert json_object("```json\n{'a': 1,}\n```") == {"a": 1}
    assert json_object('<thinking>{1}</thinking> {"a": [1, {"b": \'c\'}]}') == {"a": [1, {"b": "c"}]}
    assert json_array('x [] ["a"]') == ["a"]
    assert json_array('{"steps": ["a", "b"]}') == ["a", "b"]
    assert json_array("nothing") is None
    assert json_object('{"query": "when was Sie') is None, "broken off, not finished"
    assert json_object('{"query": "leave"') == {"query": "leave"}
    assert json_object("I would {really} say no.") in (None, {"really": ""})
    assert without_thought("what now?</think> yes") == "yes"


def test_of_json_that_is_cut_off_what_is_whole_is_kept() -> None:
    text = '{"grades": [{"n": 1, "relevant": true}, {"n": 12, "relevant": fal'
    assert json_value(text, cut_off=True) == {"grades": [{"n": 1, "relevant": True}]}
    assert json_value('{"answer": "30 da', cut_off=True) is None
    assert json_value('{"n": 1', cut_off=True) is None, "1 may be the beginning of 12"
    assert whole_values('{"a": 1}\n{"b": oops}\n{"c": 2}') == ([{"a": 1}, {"c": 2}], 1)


# --- whatever comes ---------------------------------------------------------------------------------------------------


@given(st.text(alphabet=st.sampled_from("ACTION_12: ARGUMENTS{}[]\"'\\,=final_answer\n THOUGHT<think>/"), max_size=300))
def test_whatever_is_said_is_read_without_an_error(reply: str) -> None:
    for cut_off in (False, True):
        assert all(isinstance(call.arguments, dict) for call in read_calls(reply, TOOLS, cut_off=cut_off))
        json_value(reply, cut_off=cut_off)
    read_arguments(reply)
    read_thought(reply)


@pytest.mark.parametrize(
    "piece",
    ["a", " ", '"', "'b", "*", "\n", "{", "a: ", "ACTION: x\n", "THOUGHT: ", "[", "`", '{"a":', ',"', "<think>", "</think>"],
)  # fmt: skip
def test_long_nonsense_is_read_in_no_time(piece: str) -> None:
    """A guard against patterns that go back over what they have read: these took minutes, not seconds."""
    began = time.thread_time()
    for start in ("", "ACTION: final_answer\nARGUMENTS: {", 'ACTION: retrieve_vector\nARGUMENTS: {"query": '):
        text = start + piece * 20_000 + "x"
        for cut_off in (False, True):
            read_calls(text, TOOLS, cut_off=cut_off)
            json_value(text, cut_off=cut_off)
        read_arguments(text)
    assert time.thread_time() - began < patience(20, least=0)


# --- words in brackets --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ('[Intent](x): {"intent": "question"}', {"intent": "question"}),
        ('Sources [1] and [2] support it: {"enough": true}', {"enough": True}),
        ("{'enough': 'yes'} as [1] says", {"enough": "yes"}),
        ('{\'a\': [1], "b": {"c": 2}}', {"a": [1], "b": {"c": 2}}),
    ],
)
def test_an_object_is_found_behind_words_in_brackets(reply: str, value: Any) -> None:
    assert json_value(reply) == value
    assert json_object(reply) == value


def test_grades_are_found_behind_words_in_brackets() -> None:
    assert json_array('Options [a] or [b]: [{"n": 1, "relevant": true}]') == [{"n": 1, "relevant": True}]


@pytest.mark.parametrize(
    ("reply", "arguments"),
    [
        ('ACTION: count_documents\nOBSERVATION: {"documents": 3}', {}),
        ('ACTION: search\nARGUMENTS: query: leave\nOBSERVATION: {"found": 3}', {"query": "leave"}),
    ],
)
def test_what_a_model_makes_up_for_a_tool_is_no_argument(reply: str, arguments: Any) -> None:
    assert [dict(call.arguments) for call in read_calls(reply, {"search", "count_documents"})] == [arguments]
