"""The loop of all agents: decide, act, go on or stop; within the steps of the policy and the budget of the run.

    react       decide: which tools          act: call them, observe, reflect
    planned     decide: which tools          act: call them, or put the answer through the gate
    iterative   decide: an answer, its gaps  act: look for what is missing
    corrective  decide: a query              act: search, grade, answer where that is enough

A policy is a prompt, these two steps, and what it switches on: a plan and a gate (planned), reflections (react), grades
(corrective). What it knows is in its memory (memory.py), and finish.py makes the end of the run of what it concludes.
`call_tools` is how tools are called.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal, Protocol, TypeVar

from cairn.providers.protocols import ToolCall
from cairn.strategies.agents.finish import Conclusion
from cairn.strategies.agents.memory import Memory
from cairn.strategies.agents.tools.tool import Toolbox, ToolResult
from cairn.strategies.agents.tools.use import use

D = TypeVar("D")

Stop = Literal["done", "budget", "steps"]
"""Why the work ended: the policy had no more to do, the budget of the run is used up, all steps were made."""


class Policy(Protocol[D]):
    """A way of working. Both methods may raise ProviderError where there is nothing to go on from."""

    @property
    def memory(self) -> Memory: ...

    @property
    def most_steps(self) -> int: ...

    async def decide(self, step: int) -> D | None:
        """What to do in this step, from 1; None: nothing more."""
        ...

    async def act(self, step: int, decision: D) -> bool:
        """Do it, and tell of it. Whether there is more to do."""
        ...

    def conclusion(self) -> Conclusion:
        """What `finish` makes the end of the run of."""
        ...


async def work(policy: Policy[D]) -> Stop:
    """Step by step until one of the three ends."""
    budget = policy.memory.toolbox.budget
    for step in range(1, policy.most_steps + 1):
        if step > 1 and budget.out():  # what the first one finds is what a run without a budget ends with
            return "budget"
        decision = await policy.decide(step)
        if decision is None or not await policy.act(step, decision):
            return "done"
    return "steps"


async def call_tools(toolbox: Toolbox, calls: Sequence[ToolCall]) -> list[ToolResult]:
    """Results in the order of the calls, which run side by side; see `use` for time, budget, repeated and wrong calls."""
    return list(await asyncio.gather(*(use(toolbox, call.name, call.arguments) for call in calls)))
