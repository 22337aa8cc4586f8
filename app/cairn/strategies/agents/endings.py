"""How react ends: with the model's final answer, with a conclusion from what was gathered, with a question back, or by fast.

Whatever the model writes is an answer like any other: `[n]` becomes a citation of a passage that was found, or goes; the
check for groundedness compares it with what was found; an answer that is refuted is written again from the passages.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from cairn.answer.cite import unmarked
from cairn.answer.context import Context, assemble_with_graph
from cairn.domain.answer import NOTHING_TO_READ, Coverage, Draft
from cairn.domain.event import Progress, SourcesFound, Token
from cairn.errors import ProviderError
from cairn.language.fence import fenced, quoted
from cairn.prompts import prompt_part
from cairn.runs.context import Outcome, Run
from cairn.runs.gather import best_confidence
from cairn.runs.progress import asking_again, checking
from cairn.strategies.agents.draft_check import cite_draft, stream_text
from cairn.strategies.agents.steps import GATHERED_CHARS, Notebook, cut, windows
from cairn.strategies.check import (
    Checked,
    check,
    check_settings,
    facts_as_sources,
    feedback,
    note_attempt,
    unsupported_sentences,
)
from cairn.strategies.draft import (
    Material,
    answer_from,
    passages_to_check,
    settle,
    write_answer,
)
from cairn.strategies.fast import fast

HISTORY_CHARS: Final = 3000
QUESTION_CHARS: Final = 1000


def ask_back(notebook: Notebook, text: str) -> Outcome:
    """The model's question back."""
    run = notebook.run
    said = cut(unmarked(text), QUESTION_CHARS)
    draft = Draft(said, (), False, 1.0)
    assert run.deps.chat is not None
    run.emit(Progress("needs_clarification", 95, "Asking back"))
    run.emit(Token(said))
    return Outcome(draft, run.deps.chat.name, needs_clarification=True, more=notebook.flags())


# --- the model's own answer -----------------------------------------------------------------------------------------


async def give_answer(notebook: Notebook, text: str) -> Outcome:
    """The answer of final_answer, cited, checked, and written again where the check refutes it."""
    run = notebook.run
    sources = tuple(notebook.toolbox.passages)
    material, context = _material(notebook), Context("", sources, 0)
    draft = cite_draft(text, replace(material, passages=sources))
    run.emit(SourcesFound(sources))
    stream_text(run, draft.text)
    against = (*passages_to_check(draft, context), *facts_as_sources(material.facts))
    run.emit(checking(len(against)))
    checked = await check(run, draft, against, material.confidence)
    note_attempt(run, 1, checked)
    if checked.refuted and not sources:  # made of counts alone: these are the answer then
        return _counted(notebook, material)
    if checked.refuted and (better := check_settings(run.settings).max_retries) > 0:
        run.emit(asking_again(len(unsupported_sentences(checked))))
        again = await _again(run, replace(material, task=_objections(checked)), better)
        if again is not None:
            return again
    strict = check_settings(run.settings).strict
    return await settle(run, material, context, checked, strict=strict)


async def _again(run: Run, material: Material, attempts: int) -> Outcome | None:
    """Written anew from the passages, not streamed; None where that fails."""
    ground = run.settings.ground.model_copy(update={"max_retries": attempts - 1})
    settings = run.settings.model_copy(update={"ground": ground})
    fewer = replace(run, silent=True, deps=replace(run.deps, settings=settings))
    count, most = run.deps.judge.tokens.count, run.settings.answer.max_context_tokens
    context = assemble_with_graph(material.passages, material.graph, count, most)
    try:
        return await write_answer(fewer, material, context)
    except ProviderError as error:
        run.record.degraded.append(f"the answer could not be written again ({error.code}: {error.detail})")
        return None


def _objections(checked: Checked) -> str:
    return prompt_part(
        "generate", "feedback", issues="\n".join(f"- {quoted(issue, 500)}" for issue in feedback(checked))
    )


# --- a conclusion ---------------------------------------------------------------------------------------------------


async def conclude(notebook: Notebook) -> Outcome:
    """An answer from what was gathered, by the model if it can be had; a forced one from little of it."""
    run = notebook.run
    material = _material(notebook)
    if not material.passages:
        outcome = _counted(notebook, material)
        run.emit(Token(outcome.draft.text))
        return outcome
    few = windows(material.passages, GATHERED_CHARS) if notebook.forced_conclusion else material.passages
    return await answer_from(run, replace(material, passages=few))


def _material(notebook: Notebook) -> Material:
    run = notebook.run
    searched = [item.result for item in run.record.searches]
    passages, facts = tuple(notebook.gathered), tuple(notebook.toolbox.facts)
    return Material(
        question=run.plan.text,
        passages=passages,
        confidence=max((best_confidence(result) for result in searched), default=1.0 if facts else 0.0),
        visible=max((result.visible_passages for result in searched), default=len(passages)),
        task=_task(notebook, facts),
        facts=facts,
        coverage=None if passages else Coverage(True, len(facts), len(facts), "facts"),
        more=notebook.flags(),
        graph=run.record.graph,
    )


def _task(notebook: Notebook, facts: tuple[str, ...]) -> str:
    """What a conclusion is told besides the sources. Numbers of passages are taken out: its sources have others."""
    told = [prompt_part("react", "facts", facts=fenced(cut("\n".join(facts), HISTORY_CHARS)))] if facts else []
    if notebook.forced_conclusion or notebook.notes:
        did = [step.plainly for step in notebook.steps] if notebook.forced_conclusion else []
        history = cut("\n".join([*notebook.notes, *did]), HISTORY_CHARS)
        told.append(prompt_part("react", "conclude", history=fenced(unmarked(history))))
    return "\n\n".join(told)


def _counted(notebook: Notebook, material: Material) -> Outcome:
    """What SQL counted, as it is: exact, and nothing else."""
    text = "\n\n".join(unmarked(fact) for fact in notebook.toolbox.facts)
    draft = Draft(text, (), bool(text), 1.0)
    coverage = material.coverage or NOTHING_TO_READ
    return Outcome(draft, "sql", coverage=coverage, more=material.more, origin="exact")


# --- fast instead ---------------------------------------------------------------------------------------------------


async def run_fast(notebook: Notebook, why: str) -> Outcome:
    """Fast, so that the user is always answered; without the model where even that breaks."""
    run = notebook.run
    run.record.degraded.append(f"react: {why}: ran fast instead")
    run.emit(Progress("error", 80, cut(why, 200)))
    flags = {**notebook.flags(), "fell_back": True}
    try:
        outcome = await fast(replace(run, silent=run.record.streamed))
    except ProviderError as error:
        if run.deps.chat is None:
            raise
        run.record.degraded.append(f"fast failed too ({error.code}): the answer was extracted")
        quoting = replace(run, silent=run.record.streamed, deps=replace(run.deps, chat=None))
        outcome = await fast(quoting)
    return replace(outcome, more={**outcome.more, **flags})
