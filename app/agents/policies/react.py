"""ReAct: think, act, observe and reflect, until there is an answer (A8). For questions that one search does not settle.

    think -> final_answer, ask_clarification -> end
      |  -> no action that can be read -> conclude
    act (one tool, or two at once) -> nothing there -> back, once, with a hint
    observe, reflect -> enough is known -> conclude
    after `agents.maxSteps`, or when the budget is out -> conclude

Tools are in tools.py, parsing is in react_parse.py, what is remembered in react_state.py, the ends in react_end.py. Where a
step fails, the answer is concluded from what was gathered; where nothing was, the question is answered by fast.
"""

from __future__ import annotations

import asyncio
import json
from typing import Final

import structlog

from app.agents.react_end import (
    clarify,
    conclude,
    finish,
    run_fast,
)
from app.agents.react_parse import (
    TERMINAL,
    Action,
    Decision,
    answer_of,
    concludes,
    read_decision,
    spoken,
)
from app.agents.react_state import (
    GATHERED_CHARS,
    REFLECTED_CHARS,
    Step,
    Work,
    cut,
    dead_end,
    observed,
    windows,
)
from app.agents.tools.registry import ToolResult, open_toolbox, use
from app.agents.tools.tool import LONGEST_ANSWER
from app.answer.refusal import refusal
from app.answer.reply import tidy
from app.answering.context import Outcome, Run
from app.domain.event import Progress
from app.errors import CairnError, ProviderError
from app.prompts import prompt, prompt_part
from app.providers.protocols import Message

log = structlog.get_logger(__name__)

MOST_REPEATED: Final = 2
"""Calls that were made before; with so many the agent goes in circles."""
REFLECTION_TOKENS: Final = 512


async def react(run: Run) -> Outcome:
    """Raises CairnError only where fast does."""
    work = Work(open_toolbox(run))
    if run.deps.chat is None:
        return await run_fast(work, run, "no chat model is configured")
    try:
        outcome = await _loop(work, run)
        if outcome is not None:
            if not outcome.needs_clarification:
                run.emit(Progress("finished", 98))
            return outcome
        why = "the agent found nothing"
    except CairnError as error:
        why = f"the agent failed ({error.code}: {error.detail})"
    except Exception as error:
        log.exception("react.bug", run_id=str(run.question.run_id))
        why = f"the agent failed (internal: {type(error).__name__})"
    return await run_fast(work, run, why)


async def _loop(work: Work, run: Run) -> Outcome | None:
    """None where nothing was found."""
    hint, most = "", run.settings.agents.max_steps
    for step in range(1, most + 1):
        if work.toolbox.budget.out():
            break
        run.emit(Progress("thinking", _percent(step, most), f"Step {step} of {most}"))
        decision = await _think(work, run, step, hint)
        if decision is None or not decision.actions:
            break
        work.taken, hint = step, ""
        if decision.actions[0].tool in TERMINAL:
            return await _end(work, run, decision.actions[0])
        run.emit(Progress("acting", _percent(step, most), _doing(decision), documents=work.toolbox.documents))
        mark, results = work.mark(), await _act(work, decision.actions)
        work.steps.append(Step(decision.thought, decision.actions, observed(decision.actions, results)))
        _record(work, run, decision, len(results))
        if not work.backtracked and (failure := dead_end(work.toolbox, decision.actions, results)):
            work.roll_back(mark)
            hint = prompt_part("react", "failed", failure=failure)
            continue
        run.emit(Progress("observing", _percent(step, most), f"{sum(len(one.passages) for one in results)} passages"))
        work.observe(decision.actions, results)
        if work.toolbox.repeated >= MOST_REPEATED:
            run.record.degraded.append("react: the agent repeated itself and was stopped")
            break
        if step < most:
            run.emit(Progress("reflecting", _percent(step, most)))
            work.reflection_concluded = await _reflect(work, run)
            if work.reflection_concluded:
                break
    else:
        work.forced_conclusion = True
    return await _conclude(work, run)


async def _end(work: Work, run: Run, action: Action) -> Outcome | None:
    """By the model's choice. An answer without anything that was found is its own knowledge: nothing for us."""
    asks = action.tool == "ask_clarification"
    said = cut(tidy(answer_of(action.arguments, "question" if asks else "answer")), LONGEST_ANSWER)
    if said and asks:
        return clarify(work, run, said)
    if said and (work.toolbox.passages or work.toolbox.facts):
        return await finish(work, run, said)
    return await _conclude(work, run)


async def _conclude(work: Work, run: Run) -> Outcome | None:
    work.gathered = work.gathered or list(work.toolbox.passages)
    return await conclude(work, run) if work.gathered or work.toolbox.facts else None


# --- think ----------------------------------------------------------------------------------------------------------


async def _think(work: Work, run: Run, step: int, hint: str) -> Decision | None:
    """The next actions. None where the model fails and there is something to conclude from; else raises ProviderError."""
    assert run.deps.chat is not None
    agents = run.settings.agents
    history = prompt_part("react", "history", history=work.history()) if work.steps else ""
    filled = prompt(
        "react",
        tools=work.toolbox.described(),
        refusal=refusal(run.plan.text),
        language=run.plan.language or "as it is",
        question=json.dumps(run.plan.text, ensure_ascii=False),
        before="".join(f"{part}\n\n" for part in (history, hint) if part),
        step=str(step),
        steps=str(agents.max_steps),
    )
    try:
        reply = await run.record.metered("think", run.deps.chat, run.settings).complete(
            [Message("system", filled.system), Message("user", filled.user)],
            temperature=agents.temperature,
            max_tokens=agents.step_tokens,
            timeout=agents.call_seconds,
        )
    except ProviderError as error:
        if not (work.gathered or work.toolbox.facts):
            raise
        run.record.degraded.append(f"react: step {step} failed ({error.code}: {error.detail})")
        return None
    return read_decision(reply.text)


def _doing(decision: Decision) -> str:
    asked = " and ".join(f"{one.tool} {json.dumps(one.arguments, ensure_ascii=False)}" for one in decision.actions)
    return cut(f"{decision.thought} → {asked}" if decision.thought else asked, 500)


# --- act ------------------------------------------------------------------------------------------------------------


async def _act(work: Work, actions: tuple[Action, ...]) -> list[ToolResult]:
    """Results in order; two tools run side by side."""
    work.parallel_steps += len(actions) > 1
    return list(await asyncio.gather(*(use(work.toolbox, one.tool, one.arguments) for one in actions)))


def _record(work: Work, run: Run, decision: Decision, calls: int) -> None:
    """For the trace: what was thought and done. Words of it go when a document does that the run has read."""
    tools = [used.told() for used in work.toolbox.used[-calls:]]
    run.record.steps.append({"step": work.taken, "thought": decision.thought, "tools": tools})


# --- reflect --------------------------------------------------------------------------------------------------------


async def _reflect(work: Work, run: Run) -> bool:
    """Whether what was gathered is enough; binding. A reflection that fails decides nothing and is reported."""
    assert run.deps.chat is not None
    gathered = "\n".join(
        [*work.toolbox.facts, *(p.content for p in windows(work.gathered, GATHERED_CHARS)), *work.notes]
    )
    filled = prompt(
        "reflect",
        question=json.dumps(run.plan.text, ensure_ascii=False),
        history=work.history(),
        gathered=json.dumps(cut(gathered, GATHERED_CHARS), ensure_ascii=False),
        observation=json.dumps(cut(work.steps[-1].observation, REFLECTED_CHARS), ensure_ascii=False),
    )
    try:
        reply = await run.record.metered("reflect", run.deps.chat, run.settings).complete(
            [Message("system", filled.system), Message("user", filled.user)],
            temperature=run.settings.agents.temperature,
            max_tokens=min(REFLECTION_TOKENS, run.settings.agents.step_tokens),
            timeout=run.settings.agents.reflect_seconds,
        )
    except ProviderError as error:
        run.record.degraded.append(f"react: a reflection failed ({error.code}: {error.detail})")
        return False
    work.steps[-1].reflection = cut(" ".join(spoken(reply.text).split()), 500)
    return concludes(reply.text) and bool(work.gathered or work.toolbox.facts)


def _percent(step: int, most: int) -> int:
    """20 to 80."""
    return 20 + 60 * (step - 1) // most
