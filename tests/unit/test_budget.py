"""What a run may spend: limits, the reserve for the answer, and providers that keep no deadline."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

import pytest

from cairn.errors import BudgetExceededError, ProviderTimeoutError
from cairn.providers.metered import tokens_of
from cairn.providers.protocols import Completion, Delta, Message, Usage
from cairn.providers.tokens import estimate
from cairn.runs.budget import Budget
from cairn.settings import AgentSettings, AnswerSettings
from tests.waiting import patience

ASKED = [Message("user", "x" * 400)]
READ = tokens_of(ASKED)


class Deaf:
    """A chat model that keeps no deadline and reports no usage. It answers after so many seconds."""

    name = "deaf"

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.given: list[tuple[int, float]] = []

    async def complete(
        self, messages: Sequence[Message], *, temperature: float, max_tokens: int, timeout: float
    ) -> Completion:
        self.given.append((max_tokens, timeout))
        await asyncio.sleep(self.seconds)
        return Completion("said " * 20, "stop", Usage(), "deaf")

    async def stream(
        self, messages: Sequence[Message], *, temperature: float, max_tokens: int, timeout: float
    ) -> AsyncGenerator[Delta]:
        self.given.append((max_tokens, timeout))
        yield Delta("said ")
        await asyncio.sleep(self.seconds)
        yield Delta(finish_reason="stop")

    async def close(self) -> None:
        pass


def budget(**limits: float) -> Budget:
    made = Budget(AgentSettings(**limits), AnswerSettings(prices={"deaf": (1e6, 1e6)}))  # type: ignore[arg-type]
    made.start()
    return made


async def asked(chat: Deaf, within: Budget, *, for_answer: bool = False, timeout: float = 5.0) -> Completion:
    bounded = within.chat(chat, "test", for_answer=for_answer)
    return await bounded.complete(ASKED, temperature=0.0, max_tokens=500, timeout=timeout)


async def test_the_last_call_is_kept_for_the_answer() -> None:
    chat, within = Deaf(), budget(model_calls=2)
    await asked(chat, within)
    with pytest.raises(BudgetExceededError, match="calls of models"):
        await asked(chat, within)
    await asked(chat, within, for_answer=True)
    with pytest.raises(BudgetExceededError):
        await asked(chat, within, for_answer=True)
    assert len(chat.given) == 2
    assert within.exceeded == "its calls of models (2)"


async def test_tokens_are_estimated_where_none_are_reported_and_limit_what_may_be_said() -> None:
    chat, within = Deaf(), budget(tokens=1000)
    await asked(chat, within)
    assert within.spend.tokens == READ + estimate("said " * 20)
    assert within.usage["estimated"]
    await asked(chat, within)
    left = 750 - within.spend.tokens  # a quarter is the answer's
    await asked(chat, within)
    assert [most for most, _ in chat.given] == [500, 500, left - READ]
    assert within.spend.cost == pytest.approx(within.spend.tokens), "by the table of prices"


async def test_money_ends_a_run() -> None:
    within = budget(cost=100.0)
    await asked(Deaf(), within)
    assert within.out() == "its cost (100)"


@pytest.mark.parametrize("streaming", [False, True])
async def test_time_holds_where_a_provider_keeps_no_deadline(*, streaming: bool) -> None:
    chat, within = Deaf(seconds=3600), budget(seconds=0.2)
    bounded = within.chat(chat, "test", for_answer=True)

    async def heard() -> list[Delta]:
        return [delta async for delta in bounded.stream(ASKED, temperature=0.0, max_tokens=500, timeout=60)]

    call = heard() if streaming else bounded.complete(ASKED, temperature=0.0, max_tokens=500, timeout=60)
    with pytest.raises(BudgetExceededError, match="its time"):
        await asyncio.wait_for(call, patience())
    assert chat.given[0][1] <= 0.2, "it was told what is left"
    assert within.out(for_answer=True) == "its time (0.2 s)"


async def test_a_call_that_has_less_time_than_the_run_is_the_providers_failure() -> None:
    within = budget(seconds=100)
    with pytest.raises(ProviderTimeoutError):
        await asked(Deaf(seconds=3600), within, timeout=0.05)
    assert within.exceeded is None


def test_calls_of_tools_are_counted() -> None:
    within = budget(tool_calls=1)
    assert within.take_tool_call() is None
    assert within.take_tool_call() == "its calls of tools (1)"
