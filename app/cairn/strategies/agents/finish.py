"""The one place where a run of an agent ends, whichever policy worked: with a question back, the model's own answer, one that is
written or quoted from what was found, counts of SQL, a refusal, or fast where nothing was found or all failed.

Whatever a model writes is an answer like any other: `[n]` becomes a citation of a passage that was found, or goes; the check
for groundedness compares it with what was found; what is missing is disclosed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from cairn.answer.cite import cite, unmarked
from cairn.answer.context import Context, assemble_with_graph
from cairn.answer.extract import not_found
from cairn.answer.refusal import is_refusal
from cairn.answer.reply import complete_part, complete_sentences, loop_start, tidy
from cairn.domain.answer import NOTHING_TO_READ, Coverage, Draft, coverage_of
from cairn.domain.event import Progress, SourcesFound, Token
from cairn.domain.passage import Passage
from cairn.errors import ProviderError
from cairn.language.fence import quoted
from cairn.prompts import prompt_part
from cairn.runs.context import Material, Outcome, Run
from cairn.runs.gather import best_confidence
from cairn.runs.progress import asking_again, checking
from cairn.strategies.agents.memory import Memory, OwnAnswer
from cairn.strategies.agents.tools.show import cut
from cairn.strategies.agents.tools.tool import LONGEST_ANSWER
from cairn.strategies.check import (
    Checked,
    check,
    check_settings,
    facts_as_sources,
    feedback,
    note_attempt,
    unsupported_sentences,
)
from cairn.strategies.draft import advise, answer_from, passages_to_check, settle, write_answer
from cairn.strategies.fast import fast
from cairn.strategies.web import answer_from_web

WORDS_AT_ONCE: Final = 3
"""Of an answer that is there already, in a stream."""
QUESTION_CHARS: Final = 1000


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What a policy knows of the end. `material`: what an answer is made of, where the model has given none. `more`: for the
    route. `missing`: what the reader is told is missing. `why`: why fast answers, where there is nothing to answer from.
    `iterations`: answers that were made, where the policy counts them. Switches: `rewrites` an own answer that its sources
    refute; `nothing_relevant`: of all that was found and graded, so that an answer is refused, and the web asked, not fast."""

    material: Material
    more: Mapping[str, Any] = field(default_factory=dict)
    missing: Sequence[str] = ()
    why: str = "nothing was found"
    iterations: int = 0
    rewrites: bool = False
    nothing_relevant: bool = False


async def finish(memory: Memory, conclusion: Conclusion) -> Outcome:
    """Raises CairnError."""
    run, material = memory.run, conclusion.material
    if not has_conclusion(memory, conclusion):
        return disclose(await fall_back(run, conclusion.why, conclusion.more), conclusion.missing)
    if memory.question_back:
        return replace(_ask_back(memory), more=conclusion.more)
    if memory.answer is not None:
        outcome = await _give(memory, memory.answer, conclusion)
    elif conclusion.nothing_relevant:
        outcome = await _refuse(run, material)
    elif material.passages:
        outcome = await answer_from(run, material)
    else:
        outcome = _count(material)
    if not (conclusion.nothing_relevant and outcome.draft.found):
        outcome = disclose(outcome, conclusion.missing)
    more = {**outcome.more, "read": len(outcome.sources), **conclusion.more}
    outcome = replace(outcome, more=more, iterations=conclusion.iterations or outcome.iterations)
    if conclusion.nothing_relevant and run.deps.web is not None and not outcome.draft.found:
        outcome = await answer_from_web(run, outcome)
    if not run.record.streamed:
        run.emit(Token(outcome.draft.text))
    return outcome


def has_conclusion(memory: Memory, conclusion: Conclusion) -> bool:
    """Whether there is anything to end with but fast."""
    said = memory.question_back or memory.answer is not None or conclusion.nothing_relevant
    return bool(said or conclusion.material.passages or conclusion.material.facts)


def material_of(memory: Memory, passages: Sequence[Passage], **more: Any) -> Material:
    """What an answer is made of: these passages, how sure the searches of the run were, and what SQL has counted."""
    searched = [item.result for item in memory.run.record.searches]
    facts = tuple(memory.toolbox.facts)
    material = Material(
        question=memory.run.plan.text,
        passages=tuple(passages),
        confidence=max((best_confidence(result) for result in searched), default=1.0 if facts else 0.0),
        visible=max((result.visible_passages for result in searched), default=len(passages)),
        facts=facts,
        coverage=Coverage(True, len(facts), len(facts), "facts") if facts and not passages else None,
        graph=memory.run.record.graph,
    )
    return replace(material, **more)


def context_of(run: Run, material: Material) -> Context:
    """As much of it as a model reads."""
    count, most = run.deps.judge.tokens.count, run.settings.answer.max_context_tokens
    return assemble_with_graph(material.passages, material.graph, count, most)


def disclose(outcome: Outcome, missing: Sequence[str]) -> Outcome:
    """With what is missing said first, each thing once."""
    told = dict.fromkeys(text for text in (*missing, *outcome.draft.insufficiencies) if text)
    return replace(outcome, draft=replace(outcome.draft, insufficiencies=tuple(told)))


# --- a question back --------------------------------------------------------------------------------------------------


def _ask_back(memory: Memory) -> Outcome:
    run, said = memory.run, cut(unmarked(memory.question_back), QUESTION_CHARS)
    assert run.deps.chat is not None
    run.emit(Progress("needs_clarification", 95, "Asking back"))
    run.emit(Token(said))
    return Outcome(Draft(said, (), False, 1.0), run.deps.chat.name, needs_clarification=True)


# --- the model's own answer -------------------------------------------------------------------------------------------


async def _give(memory: Memory, answer: OwnAnswer, conclusion: Conclusion) -> Outcome:
    """As it is if it was checked before; else cited and checked, and where that is switched on written again if it is refuted."""
    if answer.outcome is not None:
        return answer.outcome
    run, context, material = memory.run, answer.context, answer.material or conclusion.material
    if not run.record.streamed:
        run.emit(SourcesFound(context.passages))
    checked = answer.checked
    if checked is None:
        draft = cite_draft(answer.text, replace(material, passages=context.passages))
        stream_text(run, draft.text)
        checked = await check_own(run, draft, context, material)
    elif not run.record.streamed:
        stream_text(run, checked.draft.text)
    if checked.refuted and conclusion.rewrites:
        if not context.passages:  # made of counts alone: these are the answer then
            return _count(material)
        again = await _write_again(run, material, checked)
        if again is not None:
            return again
    return await settle(run, material, context, checked, strict=check_settings(run.settings).strict)


async def _write_again(run: Run, material: Material, checked: Checked) -> Outcome | None:
    """Written anew from the passages, not streamed; None where there is no further attempt, or it fails."""
    attempts = check_settings(run.settings).max_retries
    if attempts <= 0:
        return None
    run.emit(asking_again(len(unsupported_sentences(checked))))
    issues = "\n".join(f"- {quoted(issue, 500)}" for issue in feedback(checked))
    material = replace(material, task=prompt_part("generate", "feedback", issues=issues))
    ground = run.settings.ground.model_copy(update={"max_retries": attempts - 1})
    settings = run.settings.model_copy(update={"ground": ground})
    fewer = replace(run, silent=True, deps=replace(run.deps, settings=settings))
    try:
        return await write_answer(fewer, material, context_of(run, material))
    except ProviderError as error:
        run.record.degraded.append(f"the answer could not be written again ({error.code}: {error.detail})")
        return None


async def check_own(run: Run, draft: Draft, context: Context, material: Material, percent: int = 95) -> Checked:
    """A draft that a model has written in the course of its work, with its check, noted in the record as an attempt."""
    against = (*passages_to_check(draft, context), *facts_as_sources(material.facts))
    run.emit(checking(len(against), percent))
    checked = await check(run, draft, against, material.confidence)
    note_attempt(run, len(run.record.attempts) + 1, checked)
    return checked


def cite_draft(text: str, material: Material) -> Draft:
    """The text with citations of `material.passages`, of which `[n]` means the n-th; numbers of nothing are taken out. Facts
    of SQL need no citation."""
    said, ends = _ended(tidy(text))
    cited = cite(said, material.passages)
    if is_refusal(cited.text, cited=bool(cited.citations)):
        reason = f"The model found no answer in the {len(material.passages)} passages that it looked at."
        return Draft(unmarked(cited.text), (), False, 0.0, (reason,))
    stands = bool(cited.citations or material.facts)
    told = [] if stands else ["The answer cites no source."]
    if cited.stripped:
        told.append(f"{cited.stripped} citations of sources that do not exist were removed.")
    return Draft(cited.text, cited.citations, True, material.confidence if stands else 0.0, (*told, *ends))


def _ended(text: str) -> tuple[str, tuple[str, ...]]:
    """Without what a model says in circles, and not without end, since servers may ignore max_tokens; and that it is so."""
    loop = loop_start(text)
    if loop is not None:
        return complete_part(text[:loop]), ("The model repeated itself; the answer was cut there.",)
    if len(text) > LONGEST_ANSWER:
        return complete_part(text[:LONGEST_ANSWER]), ("The answer was too long; it was cut.",)
    return text, ()


def has_answer(text: str) -> bool:
    """Whether a sentence is left of what a model gives as its answer, where it goes round in circles."""
    said = tidy(text)
    loop = loop_start(said)
    return bool(said if loop is None else complete_sentences(said[:loop]))


def stream_text(run: Run, text: str) -> None:
    """A text that is there already, in pieces of a few words, white space kept."""
    words = text.split(" ")
    for at in range(0, len(words), WORDS_AT_ONCE):
        run.emit(Token(f"{' ' if at else ''}{' '.join(words[at : at + WORDS_AT_ONCE])}"))


# --- no answer of the model's own ----------------------------------------------------------------------------------------


async def _refuse(run: Run, material: Material) -> Outcome:
    """What was read does not answer, and says so."""
    found = material.passages
    draft = await advise(run, not_found(run.plan.text, found), found)
    return Outcome(draft, "fixed", (), material.confidence, coverage_of(len(found), material.visible))


def _count(material: Material) -> Outcome:
    """What SQL counted, as it is: exact, and nothing else."""
    text = "\n\n".join(unmarked(fact) for fact in material.facts)
    return Outcome(
        Draft(text, (), bool(text), 1.0), "sql", coverage=material.coverage or NOTHING_TO_READ, origin="exact"
    )


async def fall_back(run: Run, why: str, more: Mapping[str, Any]) -> Outcome:
    """Fast, so that the user is always answered; without the model where even that breaks."""
    run.record.degraded.append(f"{run.route.strategy}: {why}: ran fast instead")
    run.emit(Progress("error", 80, cut(why, 200)))
    try:
        outcome = await fast(replace(run, silent=run.record.streamed))
    except ProviderError as error:
        if run.deps.chat is None:
            raise
        run.record.degraded.append(f"fast failed too ({error.code}): the answer was extracted")
        quoting = replace(run, silent=run.record.streamed, deps=replace(run.deps, chat=None))
        outcome = await fast(quoting)
    return replace(outcome, more={**outcome.more, **more, "fell_back": True})
