"""The recipes of docs/extending.md for a tool and for a strategy of another package: installed as they stand there, and used."""

from __future__ import annotations

import json

import pytest
from talking import Talking

from cairn.errors import InputError
from cairn.plugins import broken_extensions
from cairn.service.ask import check_strategy
from cairn.strategies.agents.tools.registry import react_tools
from cairn.strategies.registry import strategy_names
from cairn.wiring import Services
from tests.conftest import InstallPackage
from tests.db.runs import LEAVE, answer, change, events_of, fill
from tests.recipes import install_recipe


@pytest.mark.sweep(2)
@pytest.mark.parametrize("protocol", ["native", "text"])
async def test_react_calls_a_tool_of_another_package(
    install_package: InstallPackage, chatty: Services, talking: Talking
) -> None:
    install_recipe("days_for_cairn", install_package)
    change(chatty, "rewrite", model=False)
    await fill(chatty)
    arguments = json.dumps({"start": "2026-03-01", "end": "2026-03-31"})
    fact = "From 2026-03-01 to 2026-03-31 there are 30 days."
    talking.reset(
        think=[
            f"THOUGHT: I count.\nACTION: days_between\nARGUMENTS: {arguments}",
            f"THOUGHT: done\nACTION: final_answer\nARGUMENTS: {json.dumps({'answer': fact})}",
        ]
    )
    made = answer(await events_of(chatty, "How many days are there in March?", strategy="react"))
    assert made.answer == fact
    assert made.route["tool_calls"] == 1
    assert fact in talking.heard["think"][1][1]
    assert broken_extensions() == []
    assert react_tools()[-2:] == ("ask_clarification", "final_answer"), "what ends the work comes last"


async def test_a_question_is_answered_by_a_strategy_of_another_package(
    install_package: InstallPackage, services: Services
) -> None:
    install_recipe("wide_for_cairn", install_package)
    await fill(services)
    made = answer(await events_of(services, LEAVE, strategy=check_strategy("wide")))
    assert "30 days" in made.answer
    assert (made.route["strategy"], made.route["reason"]) == ("wide", "named by the caller, from another package")


def test_an_unknown_strategy_is_told_what_there_is(install_package: InstallPackage) -> None:
    install_package("ext_sync", "def wide(run): ...\nasync def fast(run): ...\nasync def slow(run): ...\n",
                    strategies={"wide": "ext_sync:wide", "fast": "ext_sync:fast", "slow": "ext_sync:slow"})  # fmt: skip
    assert strategy_names()[-1] == "slow"
    assert "wide" not in strategy_names(), "no coroutine"
    assert [(one.name, one.reason.partition(":")[0]) for one in broken_extensions()] == [
        ("fast", "ValueError"), ("wide", "TypeError"),
    ]  # fmt: skip
    with pytest.raises(InputError, match=r"no strategy 'magic'\. There are: auto, fast, .*, slow"):
        check_strategy("magic")
