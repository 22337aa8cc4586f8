"""Work by a plan, with an answer that has to pass a gate.

    constraints of the prompt -> plan of 2 to 5 steps -> the searches that it names, side by side -> loop:
        decide  search_docs or open_citation, of which there are few, or the final answer
        act     tools are called; a final answer is put through the gate (gate.py) and checked: accepted, or sent back with
                what is wrong and what may still be done
    -> where that does not end in an accepted answer, it is written from what was opened, and says what is missing

What the prompt demands beyond the budget raises the budget, up to a limit, or is disclosed. That something is missing is
demanded to be said once; where the next answer does not say it either, we say it. Each step is a Progress whose `detail`
has the fields that /api/agent/stream shows. The prompts are made in planned_prompts.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from cairn.answer.cite import marks
from cairn.answer.context import Context
from cairn.answer.refusal import is_refusal
from cairn.answer.reply import complete_part
from cairn.domain.event import Progress
from cairn.domain.passage import Passage
from cairn.errors import ProviderError, ProviderResponseError
from cairn.providers.protocols import ToolCall, ToolProtocol
from cairn.runs.context import Material, Outcome, Run
from cairn.runs.progress import counted, documents_of, never_back
from cairn.strategies.agents.demands import Demands, read_demands
from cairn.strategies.agents.finish import Conclusion, check_own, cite_draft, finish, material_of
from cairn.strategies.agents.gate import (
    DISCLOSURES,
    FinalAnswer,
    Insufficiency,
    Objection,
    Opened,
    WorkDone,
    disclosed,
    read_final,
    validate,
)
from cairn.strategies.agents.loop import call_tools, work
from cairn.strategies.agents.memory import Look, Memory, OwnAnswer
from cairn.strategies.agents.plan import OPEN, PLAN, SEARCH, Plan, read_plan
from cairn.strategies.agents.policies.planned_prompts import (
    CONTEXT_CITATIONS,
    action_messages,
    plan_messages,
    synthesis_task,
)
from cairn.strategies.agents.protocol import Decision, Patience, ask_for_calls
from cairn.strategies.agents.tools.endings import FINAL
from cairn.strategies.agents.tools.registry import PLANNED_TOOLS, open_toolbox
from cairn.strategies.agents.tools.tool import ToolResult
from cairn.strategies.check import feedback
from cairn.strategies.fast import answer_empty

PLAN_TOKENS: Final = 600
SIDE_BY_SIDE: Final = 2
"""Searches of a plan from which on they are made before the model is asked for its first action; a single one is left to it."""
SUMMARY_CHARS: Final = 200
"""Of a failed call, in the trace."""
NO_ACTION: Final[Mapping[ToolProtocol, str]] = {
    "native": "Your reply calls no tool. Call search_docs, open_citation, or final_answer with the whole answer.",
    "text": 'Your reply is not one whole JSON object. Write {"type": "tool_call", ...} or {"type": "final", ...} and nothing '
    "else; make it shorter if it broke off, and escape quotation marks in strings.",
}
Item = dict[str, Any]
"""One line of the trace."""


async def planned(run: Run) -> Outcome:
    """Raises CairnError."""
    if not await run.deps.library.holds_any(run.question.collection):
        return await answer_empty(run)
    run = replace(run, report=never_back(run.report))  # an answer that is sent back was checked already
    memory = Memory(run, open_toolbox(run, PLANNED_TOOLS, (FINAL,)))
    policy = Planned(memory, read_demands(run.plan.constraints, run.settings.planned))
    run.emit(Progress("plan", 10, "Planning how to answer"))
    await policy.make_plan()
    await policy.search_by_plan()
    await work(policy)
    return await finish(memory, policy.conclusion())


@dataclass(slots=True)
class Planned:
    """The policy. `last`: the final answer that was given last; one that passes is the memory's. `demanded`: codes of disclosures
    that were demanded, as none is twice. `stopped`: why nothing more may be tried."""

    memory: Memory
    demands: Demands
    plan: Plan = field(default_factory=lambda: Plan((), "default"))
    replies: int = 0
    reprompts: int = 0
    last: FinalAnswer | None = None
    demanded: set[str] = field(default_factory=set)
    stopped: str | None = None

    @property
    def run(self) -> Run:
        return self.memory.run

    @property
    def most_steps(self) -> int:
        return self.run.settings.planned.iterations

    def over(self) -> str | None:
        """Why nothing more may be tried."""
        if self.stopped:
            return self.stopped
        if self.replies >= self.most_steps:
            return f"{self.replies} replies of the model"
        return self.memory.toolbox.budget.out()

    # --- the plan -----------------------------------------------------------------------------------------------------

    async def make_plan(self) -> None:
        """The model's plan; the default one where it cannot make any."""
        run, reply, note = self.run, "", ""
        assert run.deps.chat is not None
        try:
            made = await run.record.metered("plan", run.deps.chat, run.settings).structured(
                plan_messages(self.memory, self.demands), PLAN, choice=run.settings.agents.protocol,
                temperature=run.settings.rag.qa.temperature, max_tokens=PLAN_TOKENS,
                timeout=run.settings.agents.call_seconds,
            )  # fmt: skip
            reply = made.text
        except ProviderError as error:
            note = f"no plan by the model ({error.code}): the default one"
            run.record.degraded.append(f"plan: {note}")
        self.plan = read_plan(reply, run.question.text, self.demands.constraints.required_search_topics)
        notes = " ".join([note or f"parsed as {self.plan.parsed_by}", *self.demands.notes])
        self.tell({"type": "plan", "steps": list(self.plan.steps), "notes": notes})

    async def search_by_plan(self) -> None:
        """The searches that the plan names, side by side: they do not wait for each other, nor for a reply of the model to
        each. Calls for the openings that the prompt demands, one at least, are left."""
        toolbox, openings = self.memory.toolbox, max(1, self.demands.constraints.min_open_citations)
        queries = self.plan.queries[: max(0, self.demands.left(toolbox) - openings)]
        if len(queries) < SIDE_BY_SIDE or toolbox.budget.out():
            return
        calls = [ToolCall(SEARCH, {"query": query}) for query in queries]
        for call, result in zip(calls, await call_tools(toolbox, calls), strict=True):
            self._keep(call, result)
            self.tell({**call_item(call, result), "notes": "by the plan"})

    # --- decide -------------------------------------------------------------------------------------------------------

    async def decide(self, step: int) -> Decision | None:
        """The model's next action; a reply that is none is sent back. None where it fails, or nothing more may be tried."""
        run, memory = self.run, self.memory
        if self.over():
            return None
        self.replies = step
        patience = Patience(
            run.settings.answer.max_output_tokens, run.settings.rag.qa.temperature, run.settings.agents.call_seconds
        )
        try:
            return await ask_for_calls(
                memory, "action", lambda protocol: action_messages(memory, self.demands, self.plan, protocol), patience
            )
        except ProviderResponseError as error:
            said = f"Your reply could not be used ({error.detail})."
            return Decision((), "", "", False, memory.protocol or "text", (said,))
        except ProviderError as error:
            self.stopped = f"the model failed ({error.code})"
            run.record.degraded.append(f"action {step}: {error.code}: {error.detail}")
            self.tell({"type": "error", "notes": self.stopped})
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
        return self.memory.answer is None and not self.over()

    async def _call(self, calls: Sequence[ToolCall]) -> None:
        memory, toolbox = self.memory, self.memory.toolbox
        beyond = [call for call in calls if call.name in toolbox.tools][self.demands.left(toolbox) :]
        within = [call for call in calls if call not in beyond]
        unmet = []
        for call, result in zip(within, await call_tools(toolbox, within), strict=True):
            self._keep(call, result)
            unmet += [] if result.success and not result.repeated else [result.observation[:1000]]
            self.tell(call_item(call, result))
        for call in beyond:
            unmet.append("Tool budget exhausted.")
            self.tell(call_item(call, ToolResult("Tool budget exhausted", False)))
        memory.unmet = tuple(unmet)

    def _keep(self, call: ToolCall, result: ToolResult) -> None:
        """What a call has brought; each search and each place once."""
        memory = self.memory
        if call.name == SEARCH and isinstance(result.data, list):
            query = " ".join(str(result.arguments.get("query", "")).split()).casefold()
            if query not in memory.queries:
                memory.looks.append(Look(query, result.passages))
        elif call.name == OPEN and result.passages:
            passage = result.passages[0]
            if all(passage.passage_id != other.passage_id for other, _ in memory.opened):
                memory.opened.append((passage, result.data["chunkIndex"]))

    # --- the gate -----------------------------------------------------------------------------------------------------

    async def _judge(self, final: FinalAnswer, *, cut_off: bool) -> None:
        """Accepted, or sent back: for what the prompt demands, then for what the sources do not support."""
        self.last, run, passages = final, self.run, self.passages
        objections = self._new(validate(final, self.demands.constraints, self._done(cut_off=cut_off)))
        checked = None
        if not objections:
            material, context = self._material(), Context("", passages, 0)
            checked = await check_own(run, cite_draft(final.answer, material), context, material, 80)
            if checked.refuted and self.reprompts < run.settings.planned.reprompts:
                objections = tuple(Objection("UNGROUNDED_CLAIM", issue) for issue in feedback(checked))
        if checked is None or objections:
            self.demanded |= {one.code for one in objections}
            self._send_back([one.message for one in objections], "validation failed", objections)
            return
        if self.demands.constraints.requires_insufficiency_disclosure and checked.draft.found:
            told = disclosed(checked.draft.text, self._lacks(), run.plan.language)
            checked = replace(checked, draft=replace(checked.draft, text=told))
        self.memory.answer = OwnAnswer(final.answer, Context("", passages, 0), checked)
        self.tell({"type": "final", "notes": f"validated with {len(checked.draft.citations)} citations"})

    def _new(self, objections: Sequence[Objection]) -> tuple[Objection, ...]:
        """Without disclosures that were demanded before: we make them ourselves."""
        return tuple(one for one in objections if one.code not in DISCLOSURES or one.code not in self.demanded)

    def _send_back(self, errors: Sequence[str], what: str, objections: Sequence[Objection] = ()) -> None:
        most = self.run.settings.planned.reprompts
        self.memory.unmet = tuple(errors)
        if self.reprompts < most:
            self.reprompts += 1
            what = f"{what} ({self.reprompts}/{most})"
        else:
            self.stopped = f"{most} reprompts"
        codes = list(dict.fromkeys(objection.code for objection in objections))
        self.tell({"type": "validation", "validationErrors": list(errors), "notes": what})
        if not self.over():
            self.tell({"type": "reprompt", "notes": ", ".join(codes) or "MALFORMED_ACTION"})

    def _done(self, *, cut_off: bool = False) -> WorkDone:
        """For the gate."""
        memory, plan = self.memory, self.run.plan
        opened = tuple(_as_opened(passage) for passage, _ in memory.opened)
        found = tuple(map(_as_opened, memory.found))
        return WorkDone(memory.queries, opened, found, cut_off, plan.text, plan.subquestions)

    # --- the end ------------------------------------------------------------------------------------------------------

    @property
    def passages(self) -> tuple[Passage, ...]:
        """What an answer may cite: what was opened, else what was found."""
        return tuple(passage for passage, _ in self.memory.opened) or self.memory.found[:CONTEXT_CITATIONS]

    def conclusion(self) -> Conclusion:
        """The accepted answer; else one that is written from what was opened or found, and says what is unmet."""
        lacks, over = self._lacks(), self.over() or "no accepted answer"
        reason = f"no answer passed the validation ({over})"
        if self.memory.answer is None:
            self.tell({"type": "final", "notes": f"synthesis without an accepted answer, after {over}"})
            lacks = (*lacks, *self._unmet())
            if self.passages:
                self.run.record.degraded.append(f"planned: {reason}; this one was written from what was found")
        more = {
            "constraints": asdict(self.demands.constraints),
            "plan": list(self.plan.steps),
            "plan_parsed_by": self.plan.parsed_by,
            "tool_calls": self.memory.toolbox.calls,
            "searches_done": len(self.memory.looks),
            "citations_opened": len(self.memory.opened),
            "reprompts": self.reprompts,
            "protocol": self.memory.protocol,
            "insufficiencies": [asdict(one) for one in lacks],
        }
        return Conclusion(self._material(), more, (*self.demands.notes, *(one.told for one in lacks)), why=reason)

    def _material(self) -> Material:
        return material_of(self.memory, self.passages, task=synthesis_task(self.demands))

    def _lacks(self) -> tuple[Insufficiency, ...]:
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
        return (Insufficiency("", self.run.plan.text, self.memory.queries),)

    def _unmet(self) -> tuple[Insufficiency, ...]:
        """What of the prompt's demands the last answer did not meet."""
        unmet = validate(self.last, self.demands.constraints, self._done()) if self.last else ()
        queries = self.memory.queries
        return tuple(Insufficiency(one.code, one.message, queries) for one in unmet if one.code not in DISCLOSURES)

    # --- the trace ----------------------------------------------------------------------------------------------------

    def tell(self, item: Item) -> None:
        """The item as an event, kept for the trace as well."""
        self.memory.trace(f"{item['type']}: {', '.join(item.get('steps', ())) or item.get('notes') or ''}".strip(": "))
        percent = 15 + min(65, 65 * self.replies // max(self.most_steps, 1))
        read = (*self.memory.found, *(passage for passage, _ in self.memory.opened))
        self.run.emit(Progress(item["type"], percent, _in_words(item), item, documents_of(read)))


def _as_opened(passage: Passage) -> Opened:
    return Opened(str(passage.document_id), str(passage.passage_id), passage.content)


def _in_words(item: Item) -> str:
    """What a line of the trace says, for people."""
    match item["type"]:
        case "plan":
            return f"Planned {counted(len(item['steps']), 'step')}"
        case "tool_call":
            asked = next(iter(item["input"].values()), "")
            doing = f"Searching for '{asked}'" if item["tool"] == "search_docs" else item["tool"]
            return f"{doing}: {item['outputSummary']}"
        case "reprompt":
            return f"Asking again because of {item['notes']}"
    return str(item.get("notes") or "")


def call_item(call: ToolCall, result: ToolResult) -> Item:
    """A call as a line of the trace."""
    shown = {name: str(value)[:SUMMARY_CHARS] for name, value in list(call.arguments.items())[:5]}
    if not result.success:
        summary = f"Failed: {result.observation[:SUMMARY_CHARS]}"
    elif call.name == "search_docs":
        summary = f"Found {len(result.data or ())} chunks"
    else:
        summary = f"Retrieved {len(result.passages[0].content) / 1000:.1f} KB" if result.passages else "Done"
    return {
        "type": "tool_call", "tool": call.name[:60], "input": shown, "outputSummary": summary,
        "notes": "repeated call: nothing was done" if result.repeated else "",
    }  # fmt: skip
