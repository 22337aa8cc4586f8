"""Plans and actions as models write them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.agents.planned_parse import (
    SYNTHESIS,
    CitationRef,
    FinalAnswer,
    Insufficiency,
    Malformed,
    ToolCall,
    default_plan,
    parse_action,
    parse_plan,
)
from app.providers.reader import json_array, json_object

STEPS = ("search_docs: leave", "open_citation: the best", "Synthesize the answer")


@pytest.mark.parametrize(
    ("reply", "by"),
    [
        (json.dumps(STEPS), "json"),
        (f"```json\n{json.dumps(STEPS)}\n```", "json"),
        (f"<think>[1, 2]</think>Here: {json.dumps(STEPS)}", "json"),
        (json.dumps([{"step": text} for text in STEPS]), "json"),
        ("Plan:\n" + "\n".join(f"{n}. {text}" for n, text in enumerate(STEPS, 1)), "numbered"),
        ("\n".join(f"Step {n}: {text}" for n, text in enumerate(STEPS, 1)), "numbered"),
        ("\n".join(f"- {text}" for text in STEPS), "bullets"),
        ("\n".join(f"* {text}" for text in STEPS), "bullets"),
    ],
)
def test_a10_03_four_readings_of_a_plan(reply: str, by: str) -> None:
    plan = parse_plan(reply, "leave?")
    assert (plan.steps, plan.parsed_by) == (STEPS, by)


@pytest.mark.parametrize("reply", ["", "I will think about it.", '["one"]', "{}", "[[], {}]"])
def test_a10_03_the_default_plan(reply: str) -> None:
    plan = parse_plan(reply, "how long is leave?", ("leave", "pay"))
    assert plan.parsed_by == "default"
    assert plan.steps == default_plan("how long is leave?", ("leave", "pay"))
    assert [step.split(":")[0] for step in plan.steps] == ["search_docs", "search_docs", "open_citation", SYNTHESIS]


@given(st.lists(st.text(min_size=1, max_size=50), max_size=12), st.lists(st.text(max_size=20), max_size=8))
def test_a10_03_every_plan_has_two_to_five_steps_and_each_but_the_last_names_a_tool(
    steps: list[str], topics: list[str]
) -> None:
    plan = parse_plan(json.dumps(steps), "question", topics).steps
    assert 2 <= len(plan) <= 5
    assert all("search_docs" in step or "open_citation" in step for step in plan[:-1])


def test_a10_05_a_tool_call() -> None:
    said = '{"type": "tool_call", "tool": "search_docs", "input": {"query": "leave"}}'
    assert parse_action(said) == ToolCall("search_docs", {"query": "leave"})
    assert parse_action(f"Sure!\n```json\n{said}\n```") == ToolCall("search_docs", {"query": "leave"})
    assert parse_action('{"tool": "search_docs", "input": "leave"}') == ToolCall("search_docs", {"query": "leave"})


def test_a10_05_a_final_action() -> None:
    action = parse_action(json.dumps({
        "type": "final", "answer": "30 days [1].",
        "used_citations": [{"docId": "d", "chunkId": "c", "chunkIndex": 0}, "x"],
        "insufficiencies": [{"section": "Sick", "missing": "days", "queries_tried": ["sick"]}, "more"],
    }))  # fmt: skip
    assert action == FinalAnswer(
        "30 days [1].",
        (CitationRef("d", "c"), CitationRef("", "x")),
        (Insufficiency("Sick", "days", ("sick",)), Insufficiency("", "more")),
    )


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ("", "not one JSON object"),
        ("I would search.", "not one JSON object"),
        ('{"type": "tool_call", "tool": "sea', 'needs "tool"'),
        ('{"type": "tool_call"}', 'needs "tool"'),
        ('{"type": "tool_call", "tool": "search_docs"}', "must be an object"),
        ('{"type": "final"}', 'needs "answer"'),
        ('{"type": "final", "answer": 5}', 'needs "answer"'),
        ('{"type": "dance"}', '"type" must be'),
        ('{"type": null}', '"type" must be'),
    ],
)
def test_a10_05_what_is_no_action_is_told(reply: str, told: str) -> None:
    action = parse_action(reply)
    assert isinstance(action, Malformed)
    assert told in action.reason


@given(st.text(max_size=500) | st.recursive(st.none() | st.integers() | st.text(max_size=9), st.lists).map(json.dumps))
def test_a10_19_no_reply_raises(reply: str) -> None:
    parse_action(reply)
    parse_plan(reply, "question")


def test_nested_brackets_are_no_danger() -> None:
    assert json_object("{" * 100_000) is None
    assert json_array("[" * 100_000) is None
    assert parse_action('{"a":' * 50_000) is not None


def test_escapes_that_only_json_can_hold_are_replaced() -> None:
    """Else they end as an internal error where the trace or the answer is written as UTF-8."""
    call = parse_action(
        '{"type": "tool_call", "tool": "search_docs", "input": {"que\\u0000ry": "a\\ud83d", "n": [[[[[1]]]]]}}'
    )
    assert isinstance(call, ToolCall)
    assert call.input["que\ufffdry"] == "a\ufffd"
    said = parse_action(
        '{"answer": "x \\ud83d [1]", "insufficiencies": [{"missing": "m", "queries_tried": ["\\udc00"]}]}'
    )
    assert isinstance(said, FinalAnswer)
    assert (said.answer, said.insufficiencies[0].queries_tried) == ("x \ufffd [1]", ("\ufffd",))
