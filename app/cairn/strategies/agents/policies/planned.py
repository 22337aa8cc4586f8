"""Work by a plan, with an answer that has to pass a gate.

    constraints of the prompt -> plan of 2 to 5 steps -> the searches that it names, side by side -> loop:
        decide  search_docs or open_citation, of which there are few, or the final answer
        act     tools are called; a final answer is put through the gate (gate.py) and checked: accepted, or sent back with
                what is wrong and what may still be done
    -> where that does not end in an accepted answer, it is written from what was opened, and says what is missing

What the prompt demands beyond the budget raises the budget, up to a limit, or is disclosed. That something is missing is
demanded to be said once; where the next answer does not say it either, we say it. Each step is a Progress whose `detail`
has the fields that /api/agent/stream shows. What a run knows is in planned_work.py, its prompts in planned_prompts.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Final

from cairn.answer.cite import marks
from cairn.answer.context import Context
from cairn.answer.refusal import is_refusal
from cairn.answer.reply import complete_part
from cairn.domain.event import Progress, SourcesFound
from cairn.errors import ProviderError, ProviderResponseError
from cairn.providers.protocols import ToolCall, ToolProtocol
from cairn.runs.context import Outcome, Run
from cairn.runs.gather import best_confidence
from cairn.runs.progress import checking, never_back
from cairn.strategies.agents.draft_check import check_answer, stream_text
from cairn.strategies.agents.gate import (
    DISCLOSURES,
    FinalAnswer,
    Insufficiency,
    Objection,
    disclosed,
    read_final,
    validate,
)
from cairn.strategies.agents.loop import call_tools, work
from cairn.strategies.agents.plan import PLAN, SEARCH, read_plan
from cairn.strategies.agents.planned_prompts import action_messages, plan_messages, synthesis_task
from cairn.strategies.agents.planned_work import FINAL, Item, PlannedWork, begin_work, call_item
from cairn.strategies.agents.protocol import Decision, Patience, ask_for_calls
from cairn.strategies.agents.tools.tool import ToolResult
from cairn.strategies.check import Checked, check_settings, feedback
from cairn.strategies.draft import Material, answer_from, settle
from cairn.strategies.fast import answer_empty, fast

PLAN_TOKENS: Final = 600
SIDE_BY_SIDE: Final = 2
"""Searches of a plan from which on they are made before the model is asked for its first action; a single one is left to it."""
NO_ACTION: Final[Mapping[ToolProtocol, str]] = {
    "native": "Your reply calls no tool. Call search_docs, open_citation, or final_answer with the whole answer.",
    "text": 'Your reply is not one whole JSON object. Write {"type": "tool_call", ...} or {"type": "final", ...} and nothing '
    "else; make it shorter if it broke off, and escape quotation marks in strings.",
}


async def planned(run: Run) -> Outcome:
    """Raises CairnError."""
    if not (await run.deps.library.holdings(run.question.collection)).documents:
        return await answer_empty(run)
    run = replace(run, report=never_back(run.report))  # an answer that is sent back was checked already
    policy = Planned(begin_work(run))
    run.emit(Progress("plan", 10, "Planning how to answer"))
    policy.state.tell(await policy.make_plan())
    await policy.search_by_plan()
    await work(policy)
    return await _accept(policy) if policy.verdict else await _force(policy)


@dataclass(slots=True)
class Planned:
    """The policy. `last`: the final answer that was given last, `verdict`: that of one which passed. `demanded`: codes of
    disclosures that were demanded, as none is twice."""

    state: PlannedWork
    last: FinalAnswer | None = None
    verdict: Checked | None = None
    demanded: set[str] = field(default_factory=set)
    stopped: str | None = None

    @property
    def run(self) -> Run:
        return self.state.run

    @property
    def most_steps(self) -> int:
        return self.state.settings.iterations

    def over(self) -> str | None:
        """Why nothing more may be tried."""
        if self.stopped:
            return self.stopped
        if self.state.iterations >= self.most_steps:
            return f"{self.state.iterations} replies of the model"
        if self.state.reprompts > self.state.settings.reprompts:
            return f"{self.state.settings.reprompts} reprompts"
        return self.state.toolbox.budget.out()

    # --- the plan -----------------------------------------------------------------------------------------------------

    async def make_plan(self) -> Item:
        """The model's plan; the default one where it cannot make any."""
        run, state, reply, notes = self.run, self.state, "", ""
        assert run.deps.chat is not None
        try:
            made = await run.record.metered("plan", run.deps.chat, run.settings).structured(
                plan_messages(state), PLAN, choice=run.settings.agents.protocol,
                temperature=run.settings.rag.qa.temperature, max_tokens=PLAN_TOKENS,
                timeout=run.settings.agents.call_seconds,
            )  # fmt: skip
            reply = made.text
        except ProviderError as error:
            notes = f"no plan by the model ({error.code}): the default one"
            run.record.degraded.append(f"plan: {notes}")
        state.plan = read_plan(reply, run.question.text, state.constraints.required_search_topics)
        notes = " ".join([notes or f"parsed as {state.plan.parsed_by}", *state.notes])
        return {"type": "plan", "steps": list(state.plan.steps), "notes": notes}

    async def search_by_plan(self) -> None:
        """The searches that the plan names, side by side: they do not wait for each other, nor for a reply of the model to
        each. Calls for the openings that the prompt demands, one at least, are left."""
        state = self.state
        queries = state.plan.queries[: max(0, state.left - max(1, state.constraints.min_open_citations))]
        if len(queries) < SIDE_BY_SIDE or state.toolbox.budget.out():
            return
        calls = [ToolCall(SEARCH, {"query": query}) for query in queries]
        for call, result in zip(calls, await call_tools(state.toolbox, calls), strict=True):
            state.keep(call, result)
            state.tell({**call_item(call, result), "notes": "by the plan"})

    # --- decide -------------------------------------------------------------------------------------------------------

    async def decide(self, step: int) -> Decision | None:
        """The model's next action; a reply that is none is sent back. None where it fails, or nothing more may be tried."""
        run, state = self.run, self.state
        if self.over():
            return None
        state.iterations = step
        patience = Patience(
            run.settings.answer.max_output_tokens, run.settings.rag.qa.temperature, run.settings.agents.call_seconds
        )
        try:
            return await ask_for_calls(
                run, state.toolbox, "action", lambda protocol: action_messages(state, protocol), patience
            )
        except ProviderResponseError as error:
            said = f"Your reply could not be used ({error.detail})."
            return Decision((), "", "", False, state.toolbox.protocol or "text", (said,))
        except ProviderError as error:
            self.stopped = f"the model failed ({error.code})"
            run.record.degraded.append(f"action {state.iterations}: {error.code}: {error.detail}")
            state.tell({"type": "error", "notes": self.stopped})
            return None

    # --- act ----------------------------------------------------------------------------------------------------------

    async def act(self, step: int, decision: Decision) -> bool:
        calls = decision.calls
        if not calls and decision.protocol == "native" and list(marks(decision.text)):
            calls = (ToolCall(FINAL.name, {"answer": decision.text}, whole=not decision.cut_off),)
        if not calls:
            what = "unusable reply" if decision.problems else "malformed action"
            self._send_back(decision.problems or (NO_ACTION[decision.protocol],), what)
        elif calls[0].name == FINAL.name:
            final = read_final(calls[0].arguments)
            await self._judge(final, cut_off=not calls[0].whole and complete_part(final.answer) != final.answer)
        else:
            await self._call(calls)
        return self.verdict is None and not self.over()

    async def _call(self, calls: Sequence[ToolCall]) -> None:
        state = self.state
        state.unmet = ()
        beyond = [call for call in calls if call.name in state.toolbox.tools][state.left :]
        within = [call for call in calls if call not in beyond]
        for call, result in zip(within, await call_tools(state.toolbox, within), strict=True):
            state.keep(call, result)
            if not result.success or result.repeated:
                state.unmet = (*state.unmet, result.observation[:1000])
            state.tell(call_item(call, result))
        for call in beyond:
            state.unmet = (*state.unmet, "Tool budget exhausted.")
            state.tell(call_item(call, ToolResult("Tool budget exhausted", False)))

    async def _judge(self, final: FinalAnswer, *, cut_off: bool) -> None:
        """Accepted, or sent back: for what the prompt demands, then for what the sources do not support."""
        self.last, state = final, self.state
        objections = self._new(validate(final, state.constraints, state.done(cut_off=cut_off)))
        if not objections:
            self.run.emit(checking(len(state.passages), 80))
        verdict = None if objections else await check_answer(self.run, final.answer, _material(self))
        if verdict and verdict.refuted and state.reprompts < state.settings.reprompts:
            objections = tuple(Objection("UNGROUNDED_CLAIM", issue) for issue in feedback(verdict))
        if objections:
            self.demanded |= {one.code for one in objections}
            self._send_back([one.message for one in objections], "validation failed", objections)
            return
        assert verdict is not None
        self.verdict = verdict
        state.tell({"type": "final", "notes": f"validated with {len(verdict.draft.citations)} citations"})

    def _new(self, objections: Sequence[Objection]) -> tuple[Objection, ...]:
        """Without disclosures that were demanded before: we make them ourselves."""
        return tuple(one for one in objections if one.code not in DISCLOSURES or one.code not in self.demanded)

    def _send_back(self, errors: Sequence[str], what: str, objections: Sequence[Objection] = ()) -> None:
        state = self.state
        state.reprompts += 1
        state.unmet = tuple(errors)
        count = f"{what} ({state.reprompts}/{state.settings.reprompts})"
        codes = list(dict.fromkeys(objection.code for objection in objections))
        state.tell({"type": "validation", "validationErrors": list(errors), "notes": count})
        if not self.over():
            state.tell({"type": "reprompt", "notes": ", ".join(codes) or "MALFORMED_ACTION"})

    def lacks(self) -> tuple[Insufficiency, ...]:
        """What is missing, as the last answer lists it; all that was asked where it does not know, and does not list it
        either."""
        if self.last is None:
            return ()
        if (
            self.last.insufficiencies
            or "UNEXPLAINED_DONT_KNOW" not in self.demanded
            or not is_refusal(self.last.answer)
        ):
            return self.last.insufficiencies
        return (Insufficiency("", self.run.plan.text, tuple(self.state.searches)),)


# --- the end ------------------------------------------------------------------------------------------------------------


async def _accept(policy: Planned) -> Outcome:
    assert policy.last is not None
    assert policy.verdict is not None
    run, lacks, verdict = policy.run, policy.lacks(), policy.verdict
    material = _material(policy, lacks)
    if policy.state.constraints.requires_insufficiency_disclosure and verdict.draft.found:
        told = disclosed(verdict.draft.text, lacks, run.plan.language)
        verdict = replace(verdict, draft=replace(verdict.draft, text=told))
    run.emit(SourcesFound(material.passages))
    stream_text(run, verdict.draft.text)
    strict, context = check_settings(run.settings).strict, Context("", material.passages, 0)
    outcome = await settle(run, material, context, verdict, strict=strict)
    return _disclose(outcome, lacks, policy)


async def _force(policy: Planned) -> Outcome:
    """Written from what was opened or found, since no answer passed; a plain search where nothing was found."""
    state, reason = policy.state, policy.over() or "no accepted answer"
    unmet = validate(policy.last, state.constraints, state.done()) if policy.last else ()
    tried = tuple(state.searches)
    missing = (Insufficiency(one.code, one.message, tried) for one in unmet if one.code not in DISCLOSURES)
    lacks = (*policy.lacks(), *missing)
    state.tell({"type": "final", "notes": f"synthesis without an accepted answer, after {reason}"})
    note = f"planned: no answer passed the validation ({reason}); this one was written from what was found"
    policy.run.record.degraded.append(note)
    if not state.passages:
        searched = await fast(policy.run)
        more = {**searched.more, **_material(policy, lacks).more}
        return _disclose(replace(searched, more=more), lacks, policy)
    material = replace(_material(policy, lacks), task=synthesis_task(state))
    return _disclose(await answer_from(policy.run, material), lacks, policy)


def _material(policy: Planned, lacks: Sequence[Insufficiency] = ()) -> Material:
    run, state, found = policy.run, policy.state, [item.result for item in policy.run.record.searches]
    return Material(
        question=run.plan.text,
        passages=state.passages,
        confidence=max((best_confidence(result) for result in found), default=0.0),
        visible=max((result.visible_passages for result in found), default=0),
        graph=run.record.graph,
        more={
            "constraints": asdict(state.constraints),
            "plan": list(state.plan.steps),
            "plan_parsed_by": state.plan.parsed_by,
            "tool_calls": state.calls,
            "searches_done": len(state.searches),
            "citations_opened": len(state.opened),
            "reprompts": state.reprompts,
            "protocol": state.toolbox.protocol,
            "insufficiencies": [asdict(one) for one in lacks],
        },
    )


def _disclose(outcome: Outcome, lacks: Sequence[Insufficiency], policy: Planned) -> Outcome:
    """With what is missing, and what of the prompt could not be done."""
    draft = outcome.draft
    told = (*policy.state.notes, *(one.told for one in lacks), *draft.insufficiencies)
    return replace(outcome, draft=replace(draft, insufficiencies=tuple(dict.fromkeys(text for text in told if text))))
