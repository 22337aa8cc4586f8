"""Which calls of a reply are carried out, what a reflection decides, and how steps are told either way."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cairn.providers.protocols import ToolCall
from cairn.providers.reader import json_value
from cairn.strategies.agents.memory import LEFT_OUT, AgentStep, Memory
from cairn.strategies.agents.policies.react import read_reflection
from cairn.strategies.agents.protocol import select_calls
from cairn.strategies.agents.tools.endings import FINAL
from cairn.strategies.agents.tools.registry import TOOLS
from cairn.strategies.agents.tools.tool import ToolResult

SEARCH = ToolCall("retrieve_vector", {"query": "leave"}, "c1")


def test_two_calls_are_the_most_and_the_same_twice_is_once() -> None:
    others = [ToolCall("lookup_entity", {"name": str(n)}) for n in range(4)]
    assert select_calls([SEARCH, ToolCall("Retrieve_Vector ", {"query": "leave"}), *others], TOOLS)[1:] == (others[0],)
    assert select_calls([], TOOLS) == ()


def test_a_call_that_ends_the_work_stands_alone() -> None:
    end = ToolCall("final_answer", {"answer": "30"})
    assert select_calls([SEARCH, SEARCH, end], TOOLS) == (end,)


@pytest.mark.parametrize(
    ("reflection", "enough"),
    [
        ("All is there.\nACTION: final_answer", True),
        ("**ACTION:** `final_answer`", True),
        ("Something is missing.\nACTION: continue", False),
        ("ACTION: final_answer? No.\nACTION: continue", False),
        ("<think>ACTION: final_answer</think> ACTION: continue", False),
        ("I would give the final_answer.", False),
        ('{"missing": "", "enough": true}', True),
        ('{"missing": "the year", "enough": false}', False),
        ('{"enough": "yes"}', True),
        ('{"missing": "x"}', False),
        ("", False),
    ],
)
def test_what_a_reflection_decides(reflection: str, *, enough: bool) -> None:
    assert read_reflection(json_value(reflection), reflection)[0] is enough


def test_steps_are_told_as_a_conversation_or_in_words() -> None:
    notebook = Memory(*[SimpleNamespace()] * 2)  # type: ignore[arg-type]
    for n in range(3):
        both = (SEARCH, ToolCall("database_stats"))
        results = (ToolResult(f"found {n}"), ToolResult(f"counted {n}"))
        notebook.steps.append(AgentStep("", both, results, "x is missing"))
    messages = notebook.messages()
    assert [message.role for message in messages] == ["assistant", "tool", "tool"] * 3
    ids = [call.id for message in messages for call in message.calls]
    assert len(set(ids)) == 6
    assert ids == [message.call_id for message in messages if message.role == "tool"], "each call has its answer"
    assert messages[1].content == LEFT_OUT
    assert messages[-1].content == "counted 2"
    assert notebook.remarks().count("x is missing") == 2
    words = notebook.history()
    assert "ACTION_1: retrieve_vector" in words
    assert "found 0" not in words
    assert "[retrieve_vector] found 2" in words


def test_tools_are_told_natively_with_their_arguments() -> None:
    for tool in (*TOOLS.values(), FINAL):
        parameters: dict[str, Any] = dict(tool.spec.parameters)
        assert parameters["type"] == "object"
        assert "tenant" not in str(parameters).lower()
        assert set(parameters.get("required", ())) <= set(parameters["properties"])
    place = TOOLS["open_citation"].spec.parameters
    assert set(place["required"]) == {"docId", "chunkId"}
