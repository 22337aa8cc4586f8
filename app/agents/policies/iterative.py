"""Read, answer, say what is missing, fetch it, answer again (A9). For questions whose answer refers to other places: code.

    pass 1      the search of the question, with what the session has at hand
    pass 2, 3   what the answer before said is missing: symbols by name with their neighbours, all else by a small search

It stops when nothing is missing, when all that is missing was looked for in vain, or after `iterative.maxPasses`. New gaps
are fetched before they are noted as not found, and nothing is fetched after the last pass. Each pass is a Progress
whose `detail` has its answer and its gaps.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from app.agents.draft_check import checked
from app.agents.gaps import (
    Work,
    begin,
    fetch,
    finish,
    order,
)
from app.agents.iterative_parse import Pass, normal, parse_pass
from app.answer.context import Context, assemble_with_graph
from app.answer.refusal import refusal
from app.answer.reply import complete_part
from app.answering.check import check_settings
from app.answering.context import Outcome, Run
from app.answering.draft import Material, answer_from, settle
from app.answering.fast import answer_empty
from app.answering.gather import best
from app.domain.event import Progress, SourcesFound, Token
from app.errors import ProviderError, ProviderResponseError
from app.prompts import prompt, prompt_part
from app.providers.protocols import Message

FETCHING: Final = "Retrieving additional context…"


async def iterative(run: Run) -> Outcome:
    """Raises CairnError."""
    run.emit(Progress("retrieve", 20))
    run.record.open_budget(run.settings)
    work = await begin(run)
    if not work.visible:
        return await answer_empty(run)
    said: Pass | None = None
    context = _context(work)
    most = run.settings.iterative.max_passes
    for number in range(1, most + 1):
        try:
            said, context = await _passed(work, said, number)
        except ProviderError as error:
            run.record.degraded.append(f"pass {number} failed ({error.code}: {error.detail})")
            break
        new = work.noted(said.gaps)
        done = not new or number == most or run.record.open_budget(run.settings).out() is not None
        run.emit(_told(work, number, said, done=done))
        if done:
            break
        await fetch(work, new)
    await finish(work)
    return await _answer(work, said, context)


async def _passed(work: Work, before: Pass | None, number: int) -> tuple[Pass, Context]:
    """One answer, and the context it was made of. Raises ProviderError, also for a first answer that is empty."""
    run, context = work.run, _context(work)
    assert run.deps.chat is not None
    chat = run.record.metered("iterate", run.deps.chat, run.settings)
    reply = await chat.complete(
        _messages(work, context),
        temperature=run.settings.rag.qa.temperature,
        max_tokens=run.settings.answer.max_output_tokens,
        timeout=run.settings.answer.timeout_seconds,
    )
    work.passes = number
    said = parse_pass(reply.text)
    if reply.finish_reason == "length":
        said = Pass(complete_part(said.answer), said.gaps)
        run.record.degraded.append(f"pass {work.passes} was cut off at the token limit")
    if said.answer:
        return said, context
    if before is None:
        raise ProviderResponseError(f"{chat.name}: the reply has no answer")
    return Pass(before.answer, said.gaps), context


def _context(work: Work) -> Context:
    count, most = work.run.deps.embedder.tokens.count, work.run.settings.answer.max_context_tokens
    return assemble_with_graph(order(work), work.graph, count, most)


def _messages(work: Work, context: Context) -> list[Message]:
    question = work.run.plan.text
    listed = "\n".join(json.dumps(gap, ensure_ascii=False) for gap in sorted(work.not_found)[:20])
    filled = prompt(
        "iterate",
        context=context.text,
        question=question,
        refusal=refusal(question),
        tried=f"\n{prompt_part('iterate', 'tried', gaps=listed)}\n" if listed else "",
    )
    return [Message("system", filled.system), Message("user", filled.user)]


def _told(work: Work, number: int, said: Pass, *, done: bool) -> Progress:
    most = work.run.settings.iterative.max_passes
    read = tuple({passage.document_id for passage in order(work)})
    detail = {
        "type": "pass", "pass": number, "answer": said.answer, "gaps": list(said.gaps),
        "notFound": [gap for gap in said.gaps if normal(gap) in work.not_found],
    }  # fmt: skip
    return Progress("pass", 20 + 60 * number // most, "" if done else FETCHING, detail, read)


async def _answer(work: Work, said: Pass | None, context: Context) -> Outcome:
    """The last answer, checked like any other; extracted where no pass gave one."""
    run = work.run
    material = _material(work, order(work) if said is None else context.passages)
    if said is None:
        return await answer_from(run, material)
    run.emit(SourcesFound(context.passages))
    run.emit(Progress("hallucination", 95))
    verdict = await checked(run, said.answer, material)
    run.emit(Token(verdict.draft.text))
    return await settle(run, material, context, verdict, strict=check_settings(run.settings).strict)


def _material(work: Work, passages: Sequence[Any]) -> Material:
    found = [item.result for item in work.run.record.searches]
    return Material(
        question=work.run.plan.text,
        passages=tuple(passages),
        confidence=max((best(result) for result in found), default=0.0),
        visible=work.visible,
        graph=work.graph,
        more={"cgrag": work.metadata()},
    )
