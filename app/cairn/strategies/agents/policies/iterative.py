"""Read, answer, say what is missing, fetch it, answer again. For questions whose answer refers to other places: code.

    pass 1      the search of the question, with what the session has at hand
    pass 2, 3   what the answer before said is missing: symbols by name with their neighbours, all else by a small search

        decide  an answer, and its gaps
        act     fetch them (gaps.py)

It stops when nothing is missing, when all that is missing was looked for before, or after `iterative.maxPasses`. New gaps
are fetched before they are noted as not found, and nothing is fetched after the last pass. Each pass is a Progress
whose `detail` has its answer and its gaps. What is unresolved in the end is told with the answer.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from cairn.answer.context import Context, assemble_with_graph
from cairn.answer.generate import told_conversation
from cairn.answer.refusal import refusal
from cairn.answer.reply import complete_sentences
from cairn.domain.event import Progress, SourcesFound
from cairn.errors import ProviderError, ProviderResponseError, QueryTimeoutError
from cairn.language.fence import fenced, quoted
from cairn.language.linear import bounded
from cairn.prompts import prompt, prompt_part
from cairn.providers.protocols import Message, Schema, ToolProtocol
from cairn.providers.reader import repaired, without_thought
from cairn.runs.context import Outcome, Run
from cairn.runs.gather import best_confidence
from cairn.runs.progress import checking, reading, searching
from cairn.strategies.agents.draft_check import check_answer, has_answer, stream_text
from cairn.strategies.agents.gaps import (
    Reading,
    fetch_gaps,
    in_order,
    keep_session,
    normal,
    note_repeated,
    open_reading,
)
from cairn.strategies.agents.loop import work
from cairn.strategies.check import check_settings
from cairn.strategies.draft import Material, answer_from, settle
from cairn.strategies.fast import answer_empty

FETCHING: Final = "Retrieving additional context…"
MOST_GAPS: Final = 8
GAP_CHARS: Final = 200
ANSWER_CHARS: Final = 30_000
"""A reply may be longer: not all servers keep to the limit that they are given."""
PASS: Final = Schema(
    "pass", {"answer": {"type": "string"}, "missing": {"type": "array", "items": {"type": "string"}}}
)  # fmt: skip


async def iterative(run: Run) -> Outcome:
    """Raises CairnError."""
    run.emit(searching([run.plan.text], 20))
    reading = await _open_in_time(run)
    if not reading.visible:
        return await answer_empty(run)
    policy = Iterative(run, reading, _context(reading))
    await work(policy)
    await keep_session(reading)
    return await _answer(policy)


async def _open_in_time(run: Run) -> Reading:
    """What the question finds. Raises QueryTimeoutError where that takes all the time of the run, and CairnError."""
    budget = run.record.open_budget(run.settings)
    try:
        async with asyncio.timeout(budget.seconds_left(for_answer=True)):
            return await open_reading(run)
    except TimeoutError:
        budget.out(for_answer=True)
        raise QueryTimeoutError(
            f"the first search took all the time of the run ({budget.limits.seconds:g} s)"
        ) from None


@dataclass(frozen=True, slots=True)
class Pass:
    """`gaps`: what is missing, each once; none where the model is content."""

    answer: str
    gaps: tuple[str, ...]


@dataclass(slots=True)
class Iterative:
    """The policy. `last`: what the last pass said, made of `context`. `protocol`: how the last reply was asked for."""

    run: Run
    reading: Reading
    context: Context
    last: Pass | None = None
    protocol: ToolProtocol | None = None

    @property
    def most_steps(self) -> int:
        return self.run.settings.iterative.max_passes

    async def decide(self, step: int) -> Pass | None:
        """One more answer. None where the model fails: the one before stays."""
        try:
            self.last, self.context = await self._read_and_answer(step)
        except ProviderError as error:
            self.run.record.degraded.append(f"pass {step} failed ({error.code}: {error.detail})")
            return None
        return self.last

    async def act(self, step: int, decision: Pass) -> bool:
        """Fetch what is missing, if it was not looked for before and another pass may read it."""
        reading, budget = self.reading, self.run.record.open_budget(self.run.settings)
        new = reading.note(decision.gaps)
        done = not new or step == self.most_steps or budget.out() is not None
        note_repeated(reading, decision.gaps)
        self._tell(step, decision, done=done)
        if not done:
            await fetch_gaps(reading, new)
        return not done

    async def _read_and_answer(self, number: int) -> tuple[Pass, Context]:
        """An answer, and the context it was made of. Raises ProviderError, also for a first answer that is empty."""
        run, context = self.run, _context(self.reading)
        assert run.deps.chat is not None
        chat = run.record.metered("iterate", run.deps.chat, run.settings)
        run.emit(reading(len(context.passages), self._percent(number - 1)))
        reply = await chat.structured(
            _messages(self.reading, context),
            PASS,
            choice=run.settings.agents.protocol,
            temperature=run.settings.rag.qa.temperature,
            max_tokens=run.settings.answer.max_output_tokens,
            timeout=run.settings.answer.timeout_seconds,
        )
        self.reading.passes, self.protocol = number, reply.protocol
        cut_off = reply.finish_reason == "length"
        said = read_pass(reply.value, reply.text, cut_off=cut_off)
        if cut_off:
            run.record.degraded.append(f"pass {number} was cut off at the token limit")
        if has_answer(said.answer):
            return said, context
        if self.last is None:
            raise ProviderResponseError(f"{chat.name}: the reply has no answer")
        return Pass(self.last.answer, said.gaps), context

    def _tell(self, number: int, said: Pass, *, done: bool) -> None:
        read = tuple({passage.document_id for passage in in_order(self.reading)})
        detail = {
            "type": "pass", "pass": number, "answer": said.answer, "gaps": list(said.gaps),
            "notFound": [gap for gap in said.gaps if self.reading.key(gap) in self.reading.in_vain],
        }  # fmt: skip
        told = f"Answered in pass {number}" if done else FETCHING
        self.run.emit(Progress("pass", self._percent(number), told, detail, read))

    def _percent(self, number: int) -> int:
        """After so many passes."""
        return 20 + 60 * number // self.most_steps


def _context(reading: Reading) -> Context:
    count, most = reading.run.deps.judge.tokens.count, reading.run.settings.answer.max_context_tokens
    return assemble_with_graph(in_order(reading), reading.graph, count, most)


def _messages(reading: Reading, context: Context) -> list[Message]:
    question, in_words = reading.run.plan.text, reading.run.settings.agents.protocol == "text"
    listed = "\n".join(quoted(gap) for gap in reading.in_vain[:20])
    before = told_conversation(reading.run.history)
    filled = prompt(
        "iterate",
        form=prompt_part("iterate", "labels" if in_words else "object"),
        context=fenced(context.text),
        question=question,
        before=f"{before}\n\n" if before else "",
        refusal=refusal(question),
        tried=f"\n{prompt_part('iterate', 'tried', gaps=listed)}\n" if listed else "",
    )
    return [Message("system", filled.system), Message("user", filled.user)]


# --- what a pass says -------------------------------------------------------------------------------------------------

_LABEL: Final = r"^[ \t>#*_]*{word}[ \t]*(?:\([^)\n]*\))?[ \t*_]*:[ \t*_]*"
_ANSWER: Final = bounded(_LABEL.format(word="ANSWER"), re.IGNORECASE | re.MULTILINE)
_MISSING: Final = bounded(_LABEL.format(word="MISSING"), re.IGNORECASE | re.MULTILINE)
_ITEM: Final = re.compile(r"^[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t]+")
_NONE: Final = re.compile(
    r"(?:none|nothing|n/?a|no|rien|nada|ninguno|aucun|nichts|keine?)[ .!]*(?:needed|missing)?[ .!]*", re.I
)


def read_pass(value: Any, text: str, *, cut_off: bool = False) -> Pass:
    """A JSON object with `answer` and `missing`; else ANSWER: and MISSING: in any dress. Without the second label nothing is
    missing; without the first, what stands before the second is the answer. Of an answer that was cut off the whole
    sentences stay, and what is missing is not known."""
    text = without_thought(text)
    if cut_off and text.lstrip("`json \n").startswith("{"):
        value = repaired(text[text.index("{") :])
    if isinstance(value, dict) and isinstance(value.get("answer"), str):
        missing = value.get("missing")
        gaps = _gaps(str(item) for item in (missing if isinstance(missing, list) else [missing or ""]))
        said = Pass(value["answer"].strip()[:ANSWER_CHARS], gaps)
    else:
        labels = list(_MISSING.finditer(text))
        before, after = (text[: labels[-1].start()], text[labels[-1].end() :]) if labels else (text, "")
        label = _ANSWER.search(before)
        said = Pass(
            (before[label.end() :] if label else before).strip()[:ANSWER_CHARS], _gaps(after.splitlines())
        )  # fmt: skip
    return Pass(complete_sentences(said.answer), said.gaps[:-1]) if cut_off else said


def _gaps(lines: Iterable[str]) -> tuple[str, ...]:
    found: dict[str, str] = {}
    for line in lines:
        gap = " ".join(_ITEM.sub("", line).split())[:GAP_CHARS].strip(" .;")
        if not gap or _NONE.fullmatch(gap) or not any(map(str.isalnum, gap)):
            continue
        found.setdefault(normal(gap), gap)
    return tuple(found.values())[:MOST_GAPS]


# --- the end ----------------------------------------------------------------------------------------------------------


async def _answer(policy: Iterative) -> Outcome:
    """The last answer, checked like any other; extracted where no pass gave one."""
    run, reading, context = policy.run, policy.reading, policy.context
    if policy.last is None:
        return await answer_from(run, _material(policy, in_order(reading)))
    material = _material(policy, context.passages)
    run.emit(SourcesFound(context.passages))
    run.emit(checking(len(material.passages)))
    verdict = await check_answer(run, policy.last.answer, material)
    stream_text(run, verdict.draft.text)
    outcome = await settle(run, material, context, verdict, strict=check_settings(run.settings).strict)
    told = (*outcome.draft.insufficiencies, *reading.unresolved)
    return replace(outcome, draft=replace(outcome.draft, insufficiencies=told))


def _material(policy: Iterative, passages: Sequence[Any]) -> Material:
    reading = policy.reading
    found = [item.result for item in reading.run.record.searches]
    return Material(
        question=reading.run.plan.text,
        passages=tuple(passages),
        confidence=max((best_confidence(result) for result in found), default=0.0),
        visible=reading.visible,
        graph=reading.graph,
        more={"cgrag": reading.metadata(), "protocol": policy.protocol},
    )
