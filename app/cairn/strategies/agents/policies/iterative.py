"""Read, answer, say what is missing, fetch it, answer again. For questions whose answer refers to other places: code.

    pass 1      the search of the question, with what the session has at hand
    pass 2, 3   what the answer before said is missing: symbols by name with their neighbours, all else by a small search

        decide  an answer, and its gaps (missing.py)
        act     fetch them (lookup.py)

The prompt is iterate.md. It stops when nothing is missing, when all that is missing was looked for before, or after
`iterative.maxPasses`. New gaps are fetched before they are noted as not found, and nothing is fetched after the last pass. Each
pass is a Progress whose `detail` has its answer and its gaps. What is unresolved in the end is told with the answer.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from cairn.answer.context import Context
from cairn.answer.generate import told_conversation
from cairn.answer.refusal import refusal
from cairn.answer.reply import complete_sentences
from cairn.domain.event import Progress
from cairn.domain.graph import GraphContext, joined_contexts
from cairn.domain.passage import Passage
from cairn.errors import ProviderError, ProviderResponseError, QueryTimeoutError
from cairn.language.fence import fenced, quoted
from cairn.language.linear import bounded
from cairn.prompts import prompt, prompt_part
from cairn.providers.protocols import Message, Schema
from cairn.providers.reader import repaired, without_thought
from cairn.runs.context import Outcome, Run
from cairn.runs.progress import documents_of, reading, searching
from cairn.store.qa_sessions import StoredSession
from cairn.strategies.agents.finish import Conclusion, context_of, finish, has_answer, material_of
from cairn.strategies.agents.lookup import Fetched, fetch, look_up
from cairn.strategies.agents.loop import work
from cairn.strategies.agents.memory import Look, Memory, OwnAnswer
from cairn.strategies.agents.missing import normal
from cairn.strategies.agents.session import keep_session, open_session
from cairn.strategies.agents.tools.registry import open_toolbox
from cairn.strategies.agents.tools.tool import Used
from cairn.strategies.fast import answer_empty

FETCHING: Final = "Retrieving additional context…"
LEADING: Final = 5
"""Passages of the question's own search that are read before what gaps brought."""
MOST_GAPS: Final = 8
GAP_CHARS: Final = 200
ANSWER_CHARS: Final = 30_000
"""A reply may be longer: not all servers keep to the limit that they are given."""
NOT_FOUND: Final = "not found"
UNRESOLVED: Final = "unresolved: it was looked for before"
"""Why a gap is not resolved, for the trace."""
PASS: Final = Schema(
    "pass", {"answer": {"type": "string"}, "missing": {"type": "array", "items": {"type": "string"}}}
)  # fmt: skip


async def iterative(run: Run) -> Outcome:
    """Raises CairnError."""
    run.emit(searching([run.plan.text], 20))
    policy = Iterative(Memory(run, open_toolbox(run, ())))
    if not await policy.open_in_time():
        return await answer_empty(run)
    await work(policy)
    if policy.held:
        memory = policy.memory
        await keep_session(run, policy.held, policy.in_order, list(policy.relations), memory.missing.not_found)
    return await finish(policy.memory, policy.conclusion())


@dataclass(frozen=True, slots=True)
class Pass:
    """`gaps`: what is missing, each once; none where the model is content."""

    answer: str
    gaps: tuple[str, ...]


@dataclass(slots=True)
class Iterative:
    """The policy. The first look is the question's own search, the others are what gaps brought; `at_hand`: what the session
    `held` has besides. `relations`: those that were followed, `graph`: what it says of what was read."""

    memory: Memory
    held: StoredSession | None = None
    at_hand: tuple[Passage, ...] = ()
    relations: dict[UUID, None] = field(default_factory=dict)
    graph: GraphContext | None = None
    passes: int = 0

    @property
    def run(self) -> Run:
        return self.memory.run

    @property
    def most_steps(self) -> int:
        return self.run.settings.iterative.max_passes

    # --- the first search ---------------------------------------------------------------------------------------------

    async def open_in_time(self) -> bool:
        """What the question finds, and what the session holds; False where the collection is empty. Raises QueryTimeoutError
        where that takes all the time of the run, and CairnError."""
        budget = self.memory.toolbox.budget
        try:
            async with asyncio.timeout(budget.seconds_left(for_answer=True)):
                return await self._open()
        except TimeoutError:
            budget.out(for_answer=True)
            raise QueryTimeoutError(
                f"the first search took all the time of the run ({budget.limits.seconds:g} s)"
            ) from None

    async def _open(self) -> bool:
        run, memory = self.run, self.memory
        top_k = max(run.settings.answer.retrieved, run.settings.rag.top_k)
        result = await run.search(run.plan.text, top_k, filters=run.question.filters)
        memory.looks.append(Look(run.plan.text, result.passages))
        self.graph, self.held = result.graph, await open_session(run)
        if self.held:
            memory.missing.nowhere = self.held.not_found
            self.relations = dict.fromkeys(self.held.relations)
            known = {passage.passage_id for passage in result.passages}
            at_hand = await run.deps.library.passages(self.held.passages)
            self.at_hand = tuple(passage for passage in at_hand if passage.passage_id not in known)
        self._keep(run.plan.text, await look_up(run, run.plan.text, list(self.relations)))
        return bool(result.visible_passages)

    # --- decide -------------------------------------------------------------------------------------------------------

    async def decide(self, step: int) -> Pass | None:
        """One more answer. None where the model fails: the one before stays."""
        try:
            return await self._read_and_answer(step)
        except ProviderError as error:
            self.run.record.degraded.append(f"pass {step} failed ({error.code}: {error.detail})")
            return None

    async def _read_and_answer(self, number: int) -> Pass:
        """Raises ProviderError, also for a first answer that is empty."""
        run, memory = self.run, self.memory
        context = context_of(run, material_of(memory, self.in_order, graph=self.graph))
        assert run.deps.chat is not None
        chat = run.record.metered("iterate", run.deps.chat, run.settings)
        run.emit(reading(len(context.passages), self._percent(number - 1)))
        reply = await chat.structured(
            self._messages(context),
            PASS,
            choice=run.settings.agents.protocol,
            temperature=run.settings.rag.qa.temperature,
            max_tokens=run.settings.answer.max_output_tokens,
            timeout=run.settings.answer.timeout_seconds,
        )
        self.passes, memory.protocol = number, reply.protocol
        cut_off = reply.finish_reason == "length"
        said = read_pass(reply.value, reply.text, cut_off=cut_off)
        if cut_off:
            run.record.degraded.append(f"pass {number} was cut off at the token limit")
        if not has_answer(said.answer):
            if memory.answer is None:
                raise ProviderResponseError(f"{chat.name}: the reply has no answer")
            said = Pass(memory.answer.text, said.gaps)
        memory.answer = OwnAnswer(said.answer, context)
        return said

    def _messages(self, context: Context) -> list[Message]:
        run = self.run
        listed = "\n".join(quoted(gap) for gap in self.memory.missing.in_vain[:20])
        before = told_conversation(run.history)
        filled = prompt(
            "iterate",
            form=prompt_part("iterate", "labels" if run.settings.agents.protocol == "text" else "object"),
            context=fenced(context.text),
            question=run.plan.text,
            before=f"{before}\n\n" if before else "",
            refusal=refusal(run.plan.text),
            tried=f"\n{prompt_part('iterate', 'tried', gaps=listed)}\n" if listed else "",
        )
        return [Message("system", filled.system), Message("user", filled.user)]

    # --- act ----------------------------------------------------------------------------------------------------------

    async def act(self, step: int, decision: Pass) -> bool:
        """Fetch what is missing, if it was not looked for before and another pass may read it."""
        missing = self.memory.missing
        new = missing.note(decision.gaps)
        done = not new or step == self.most_steps or self.memory.toolbox.budget.out() is not None
        in_vain = [gap for gap in decision.gaps if missing.key(gap) in missing.in_vain]
        if in_vain:
            for gap in in_vain:
                self._use(gap, Fetched(), UNRESOLVED, repeated=True)
            self.memory.trace(f"{len(in_vain)} gaps of pass {self.passes} are unresolved", self.passes)
        self._tell(step, decision, in_vain, done=done)
        if not done:
            await self._fetch(new)
        return not done

    async def _fetch(self, gaps: Sequence[str]) -> None:
        """What is missing; then those that brought nothing are noted. One that fails is reported, and may be asked for again."""
        run, memory = self.run, self.memory
        for gap, found in zip(gaps, await fetch(run, gaps, list(self.relations)), strict=True):
            new = self._keep(gap, found)
            resolved = bool(new) or found.named
            if found.problem:
                run.record.degraded.append(f"retrieval for a gap failed ({found.problem})")
            else:
                memory.missing.settle(gap, found=resolved)
            self._use(gap, found, found.problem or ("" if resolved else NOT_FOUND), new)
        memory.trace(f"{len(gaps)} gaps of pass {self.passes}", self.passes)

    def _keep(self, query: str, found: Fetched) -> list[Passage]:
        """What of it was not read yet."""
        known = {passage.passage_id for passage in self.in_order}
        new = [passage for passage in found.passages if passage.passage_id not in known]
        self.memory.looks.append(Look(query, found.passages if found.named else tuple(new)))
        self.relations |= dict.fromkeys(found.relations)
        self.graph = joined_contexts([self.graph, found.graph])
        return new

    def _use(
        self, gap: str, found: Fetched, reason: str, new: Sequence[Passage] = (), *, repeated: bool = False
    ) -> None:
        """As a call of a tool, for the trace."""
        ids = tuple(passage.passage_id for passage in new)
        self.memory.toolbox.used.append(Used("gap", {"query": gap}, not reason, found.ms, ids, repeated, reason))

    def _tell(self, number: int, said: Pass, in_vain: Sequence[str], *, done: bool) -> None:
        detail = {
            "type": "pass", "pass": number, "answer": said.answer, "gaps": list(said.gaps), "notFound": list(in_vain)
        }  # fmt: skip
        told = f"Answered in pass {number}" if done else FETCHING
        self.run.emit(Progress("pass", self._percent(number), told, detail, documents_of(self.in_order)))

    def _percent(self, number: int) -> int:
        """After so many passes."""
        return 20 + 60 * number // self.most_steps

    # --- what is read -------------------------------------------------------------------------------------------------

    @property
    def in_order(self) -> list[Passage]:
        """Most important first: the best of the question's search, what gaps brought, the rest, the session's."""
        main, *others = [look.passages for look in self.memory.looks]
        lists = (main[:LEADING], *others, main, self.at_hand)
        return list({passage.passage_id: passage for passages in lists for passage in passages}.values())

    def conclusion(self) -> Conclusion:
        """The last answer, checked like any other; extracted where no pass gave one."""
        answer, missing = self.memory.answer, self.memory.missing
        material = material_of(self.memory, answer.context.passages if answer else self.in_order, graph=self.graph)
        gaps = missing.gaps.values()
        cgrag = {
            "passes_used": max(1, self.passes),
            "gaps_identified": [gap.text for gap in gaps],
            "gaps_resolved": [gap.text for gap in gaps if gap.state == "found"],
            "gaps_unresolved": [gap.text for gap in gaps if gap.state != "found"],
            "session_id": self.held.key.session_id if self.held else None,
            "context_from_cache": bool(self.at_hand),
        }
        return Conclusion(material, {"cgrag": cgrag, "protocol": self.memory.protocol}, tuple(missing.told))


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
