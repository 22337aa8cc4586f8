"""Work by a plan, with an answer that has to pass a gate (A10).

    constraints of the prompt -> plan of 2 to 5 steps -> loop: one JSON action at a time
        tool_call   search_docs or open_citation, of which there are few
        final       validated and checked: accepted, or sent back with what is wrong and what may still be done
    -> where that does not end in an accepted answer, it is written from what was opened, and says what is missing

What the prompt demands beyond the budget raises the budget, up to a limit, or is disclosed. Each step is a Progress
whose `detail` has the fields that /api/agent/stream shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from app.agents.draft_check import checked
from app.agents.planned_parse import (
    FinalAnswer,
    Insufficiency,
    Malformed,
    ToolCall,
    parse_action,
    parse_plan,
)
from app.agents.planned_work import (
    Work,
    action_messages,
    begin,
    lacking,
    plan_messages,
    requirements,
)
from app.agents.tools.registry import ToolResult, use
from app.agents.validate import Problem, validate
from app.answer.context import Context
from app.answering.check import Checked, check_settings, feedback
from app.answering.context import Outcome, Run
from app.answering.draft import Material, answer_from, settle
from app.answering.fast import answer_empty, fast
from app.answering.gather import best
from app.domain.event import Progress, SourcesFound, Token
from app.errors import ProviderError, ProviderResponseError
from app.prompts import prompt_part

PLAN_TOKENS: Final = 600
SUMMARY_CHARS: Final = 200
"""Of a failed call, in the trace."""

Item = dict[str, Any]
"""One line of the trace."""


async def planned(run: Run) -> Outcome:
    """Raises CairnError."""
    if not (await run.deps.library.holdings(run.question.collection)).documents:
        return await answer_empty(run)
    work = begin(run)
    run.emit(Progress("plan", 10))
    run.emit(_told(work, await _plan(work)))
    verdict: Checked | None = None
    while verdict is None and not work.over():
        items, verdict = await _turn(work)
        for item in items:
            run.emit(_told(work, item))
    return await _accept(work, verdict) if verdict else await _force(work)


async def _plan(work: Work) -> Item:
    """The model's plan; the default one where it cannot make any."""
    question, topics, reply, notes = work.run.question.text, work.constraints.required_search_topics, "", ""
    try:
        reply = await _asked(work, "plan", plan_messages(work), PLAN_TOKENS, work.settings.plan_seconds)
    except ProviderError as error:
        notes = f"no plan by the model ({error.code}): the default one"
        work.run.record.degraded.append(f"plan: {notes}")
    work.plan = parse_plan(reply, question, topics)
    notes = " ".join([notes or f"parsed as {work.plan.parsed_by}", *work.notes])
    return {"type": "plan", "steps": list(work.plan.steps), "notes": notes}


async def _asked(work: Work, purpose: str, messages: Sequence[Any], tokens: int, seconds: float) -> str:
    """Raises ProviderError."""
    assert work.run.deps.chat is not None
    chat = work.run.record.metered(purpose, work.run.deps.chat, work.run.settings)
    reply = await chat.complete(
        messages, temperature=work.run.settings.rag.qa.temperature, max_tokens=tokens, timeout=seconds
    )
    return reply.text


# --- one turn of the loop ----------------------------------------------------------------------------------------------


async def _turn(work: Work) -> tuple[list[Item], Checked | None]:
    """The model's next action and what comes of it; with an accepted answer, its check."""
    work.iterations += 1
    tokens = work.run.settings.answer.max_output_tokens
    try:
        reply = await _asked(work, "action", action_messages(work), tokens, work.settings.call_seconds)
    except ProviderResponseError as error:
        return _sent_back(work, [f"Your reply could not be used ({error.detail})."], "unusable reply", ()), None
    except ProviderError as error:
        work.stopped = f"the model failed ({error.code})"
        work.run.record.degraded.append(f"action {work.iterations}: {error.code}: {error.detail}")
        return [{"type": "error", "notes": work.stopped}], None
    match parse_action(reply):
        case ToolCall() as call:
            return [await _called(work, call)], None
        case FinalAnswer() as final:
            return await _judged(work, final)
        case Malformed(reason):
            return _sent_back(work, [reason], "malformed action", ()), None


async def _called(work: Work, call: ToolCall) -> Item:
    """A call of a tool. What was found before, and what was called wrongly, costs nothing of the budget of calls."""
    work.unmet = ()
    if not work.left and call.tool in work.toolbox.tools:
        work.unmet = ("Tool budget exhausted.",)
        result, repeated = ToolResult("Tool budget exhausted", False), False
    else:
        result = await use(work.toolbox, call.tool, call.input)
        used = work.toolbox.used[-1]
        repeated = used.repeated
        work.calls += used.success and not repeated
        work.keep(used.tool, used.arguments, result)
        if not result.success or repeated:
            work.unmet = (result.observation[:1000],)
    summary = _summary(call.tool, result)
    return {
        "type": "tool_call", "tool": call.tool[:60], "input": _input(call), "outputSummary": summary,
        "notes": "repeated call: nothing was done" if repeated else "",
    }  # fmt: skip


def _input(call: ToolCall) -> dict[str, str]:
    return {name: str(value)[:SUMMARY_CHARS] for name, value in list(call.input.items())[:5]}


def _summary(tool: str, result: ToolResult) -> str:
    if not result.success:
        return f"Failed: {result.observation[:SUMMARY_CHARS]}"
    if tool == "search_docs":
        return f"Found {len(result.data or ())} chunks"
    return f"Retrieved {len(result.passages[0].content) / 1000:.1f} KB" if result.passages else "Done"


async def _judged(work: Work, final: FinalAnswer) -> tuple[list[Item], Checked | None]:
    """Accepted, or sent back: for what the prompt demands, then for what the sources do not support."""
    work.last = final
    problems = validate(final, work.constraints, work.snapshot())
    verdict = None if problems else await checked(work.run, final.answer, _material(work))
    if verdict and verdict.refuted and work.reprompts < work.settings.reprompts:
        problems = tuple(Problem("UNGROUNDED_CLAIM", issue) for issue in feedback(verdict))
    if problems:
        return _sent_back(work, [one.message for one in problems], "validation failed", problems), None
    assert verdict is not None
    return [{"type": "final", "notes": f"validated with {len(verdict.draft.citations)} citations"}], verdict


def _sent_back(work: Work, errors: list[str], what: str, problems: tuple[Problem, ...]) -> list[Item]:
    work.reprompts += 1
    work.unmet = tuple(errors)
    count = f"{what} ({work.reprompts}/{work.settings.reprompts})"
    codes = list(dict.fromkeys(problem.code for problem in problems))
    items: list[Item] = [{"type": "validation", "validationErrors": errors, "notes": count}]
    if not work.over():
        items.append({"type": "reprompt", "notes": ", ".join(codes) or "MALFORMED_ACTION"})
    return items


# --- the end ------------------------------------------------------------------------------------------------------------


async def _accept(work: Work, verdict: Checked) -> Outcome:
    assert work.last is not None
    lacks = work.last.insufficiencies
    material = _material(work, lacks)
    work.run.emit(SourcesFound(material.passages))
    work.run.emit(Token(verdict.draft.text))
    strict, context = check_settings(work.run.settings).strict, Context("", material.passages, 0)
    outcome = await settle(work.run, material, context, verdict, strict=strict)
    return _disclose(outcome, lacks, work)


async def _force(work: Work) -> Outcome:
    """Written from what was opened or found, since no answer passed; a plain search where nothing was found."""
    reason = work.over() or "no accepted answer"
    state = work.snapshot()
    unmet = validate(work.last, work.constraints, state) if work.last else ()
    lacks = (*(work.last.insufficiencies if work.last else ()), *lacking(work, unmet))
    work.run.emit(_told(work, {"type": "final", "notes": f"synthesis without an accepted answer, after {reason}"}))
    note = f"planned: no answer passed the validation ({reason}); this one was written from what was found"
    work.run.record.degraded.append(note)
    if not work.passages():
        return _disclose(await fast(work.run), lacks, work)
    task = prompt_part("planned", "synthesis", requirements=requirements(work.constraints) or "- none")
    outcome = await answer_from(work.run, replace(_material(work, lacks), task=task))
    return _disclose(outcome, lacks, work)


def _material(work: Work, lacks: Sequence[Insufficiency] = ()) -> Material:
    run, found = work.run, [item.result for item in work.run.record.searches]
    return Material(
        question=run.plan.text,
        passages=work.passages(),
        confidence=max((best(result) for result in found), default=0.0),
        visible=max((result.visible_passages for result in found), default=0),
        more={
            "constraints": asdict(work.constraints),
            "plan": list(work.plan.steps),
            "plan_parsed_by": work.plan.parsed_by,
            "tool_calls": work.calls,
            "searches_done": len(work.searches),
            "citations_opened": len(work.opened),
            "reprompts": work.reprompts,
            "insufficiencies": [asdict(one) for one in lacks],
        },
    )


def _disclose(outcome: Outcome, lacks: Sequence[Insufficiency], work: Work) -> Outcome:
    """With what is missing, and what of the prompt could not be done."""
    said = [": ".join(part for part in (one.section, one.missing) if part) for one in lacks]
    draft = outcome.draft
    told = (*work.notes, *said, *draft.insufficiencies)
    return replace(outcome, draft=replace(draft, insufficiencies=tuple(dict.fromkeys(text for text in told if text))))


def _told(work: Work, item: Item) -> Progress:
    """The item as an event, kept for the trace as well."""
    used, work.told = work.toolbox.used[work.told :], len(work.toolbox.used)
    thought = f"{item['type']}: {', '.join(item.get('steps', ())) or item.get('notes') or ''}".strip(": ")
    work.run.record.steps.append(
        {"step": len(work.run.record.steps) + 1, "thought": thought, "tools": [one.told() for one in used]}
    )
    most = max(work.settings.iterations, 1)
    message = item.get("outputSummary") or item.get("notes") or ""
    read = tuple({passage.document_id for passage in work.seen.values()})
    return Progress(item["type"], 15 + min(65, 65 * work.iterations // most), str(message), item, read)
