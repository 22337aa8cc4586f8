"""Plans and final answers as models write them."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.providers.reader import json_array, json_object
from cairn.strategies.agents.gate import CitationRef, FinalAnswer, Insufficiency, read_final
from cairn.strategies.agents.plan import SYNTHESIS, default_plan, queries_of, read_plan

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
def test_four_readings_of_a_plan(reply: str, by: str) -> None:
    plan = read_plan(reply, "leave?")
    assert (plan.steps, plan.parsed_by) == (STEPS, by)


@pytest.mark.parametrize("reply", ["", "I will think about it.", '["one"]', "{}", "[[], {}]"])
def test_the_default_plan(reply: str) -> None:
    plan = read_plan(reply, "how long is leave?", ("leave", "pay"))
    assert plan.parsed_by == "default"
    assert plan.steps == default_plan("how long is leave?", ("leave", "pay"))
    assert [step.split(":")[0] for step in plan.steps] == ["search_docs", "search_docs", "open_citation", SYNTHESIS]


@given(st.lists(st.text(min_size=1, max_size=50), max_size=12), st.lists(st.text(max_size=20), max_size=8))
def test_every_plan_has_two_to_five_steps_and_each_but_the_last_names_a_tool(
    steps: list[str], topics: list[str]
) -> None:
    plan = read_plan(json.dumps(steps), "question", topics).steps
    assert 2 <= len(plan) <= 5
    assert all("search_docs" in step or "open_citation" in step for step in plan[:-1])


def test_a_final_answer() -> None:
    final = read_final({
        "answer": "30 days [1].",
        "used_citations": [{"docId": "d", "chunkId": "c", "chunkIndex": 0}, "x"],
        "insufficiencies": [{"section": "Sick", "missing": "days", "queries_tried": ["sick"]}, "more"],
    })  # fmt: skip
    assert final == FinalAnswer(
        "30 days [1].",
        (CitationRef("d", "c"), CitationRef("", "x")),
        (Insufficiency("Sick", "days", ("sick",)), Insufficiency("", "more")),
    )
    assert read_final({}) == FinalAnswer("")
    assert read_final({"text": "30 days", "insufficiencies": "none"}) == FinalAnswer("30 days")


@given(st.text(max_size=500) | st.recursive(st.none() | st.integers() | st.text(max_size=9), st.lists).map(json.dumps))
def test_no_reply_raises(reply: str) -> None:
    read_plan(reply, "question")


def test_nested_brackets_are_no_danger() -> None:
    assert json_object("{" * 100_000) is None
    assert json_array("[" * 100_000) is None


@pytest.mark.parametrize(
    ("steps", "queries"),
    [
        (["search_docs: terms of leave", "search_docs(\"l'équipe d'accueil\")", "open_citation: the best", "Write"],
         ("terms of leave", "l'équipe d'accueil")),
        (["1. search_docs for 'Leave'", "Search_docs - leave", "search_docs: leave", "Write"], ("Leave",)),
        (["search_docs for leave", "Use search_docs to search for formats of dates", "search_docs: find hotels", "Write"],
         ("leave", "formats of dates", "hotels")),
        (["search_docs: formats", "search_docs forward contracts", "Write"], ("formats", "forward contracts")),
        (["Compare both offices", "search_docs", "Write"], ()),
        (["search_docs then open_citation", "Write"], ()),
    ],
)  # fmt: skip
def test_what_a_plan_searches_for(steps: list[str], queries: tuple[str, ...]) -> None:
    assert read_plan(json.dumps(steps), "question").queries == queries


def test_a_plan_without_a_model_searches_for_the_topics() -> None:
    assert read_plan("", "question", ("leave", "the firm's hotels")).queries == ("leave", "the firm's hotels")


def test_queries_of_a_plan_are_read_in_linear_time() -> None:
    def seconds(n: int) -> float:
        began = time.thread_time()
        queries_of(["search_docs: " + "'x" * n])
        return time.thread_time() - began

    seconds(1000)
    assert min(seconds(40_000) for _ in range(5)) < 8 * max(seconds(10_000), 0.002)
