"""Work by a plan, with an answer that has to pass a gate.

    constraints of the prompt -> plan of 2 to 5 steps -> loop:
        decide  search_docs or open_citation, of which there are few, or the final answer
        act     tools are called; a final answer is put through the gate (gate.py) and checked: accepted, or sent back with
                what is wrong and what may still be done
    -> where that does not end in an accepted answer, it is written from what was opened, and says what is missing

What the prompt demands beyond the budget raises the budget, up to a limit, or is disclosed. Each step is a Progress
whose `detail` has the fields that /api/agent/stream shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from pydantic import Field

from app.agents.draft_check import check_answer
from app.agents.gate import FinalAnswer, Insufficiency, Objection, Opened, WorkDone, read_final, validate
from app.agents.loop import call_tools, work
from app.agents.plan import PLAN, Plan, read_plan
from app.agents.protocol import Decision, Patience, ask_for_calls
from app.agents.tools.registry import PLANNED_TOOLS, open_toolbox
from app.agents.tools.tool import Answer, Arguments, Tool, Toolbox, ToolResult
from app.answer.cite import marks
from app.answer.context import Context
from app.answer.reply import complete_part
from app.answering.check import Checked, check_settings, feedback
from app.answering.context import Outcome, Run
from app.answering.draft import Material, answer_from, settle
from app.answering.fast import answer_empty, fast
from app.answering.gather import best_confidence
from app.answering.progress import checking, counted, documents_of
from app.domain.event import Progress, SourcesFound, Token
from app.domain.passage import Passage
from app.domain.plan import PromptConstraints
from app.errors import ProviderError, ProviderResponseError
from app.language.fence import quoted
from app.prompts import prompt, prompt_part
from app.providers.protocols import Message, ToolCall, ToolProtocol
from app.query.constraints import constraints_of
from app.settings import PlannedSettings

PLAN_TOKENS: Final = 600
SUMMARY_CHARS: Final = 200
"""Of a failed call, in the trace."""
SNIPPET: Final = 300
"""Characters of a search result that a prompt shows; all results of all searches are shown."""
NO_ACTION: Final[Mapping[ToolProtocol, str]] = {
    "native": "Your reply calls no tool. Call search_docs, open_citation, or final_answer with the whole answer.",
    "text": 'Your reply is not one whole JSON object. Write {"type": "tool_call", ...} or {"type": "final", ...} and nothing '
    "else; make it shorter if it broke off, and escape quotation marks in strings.",
}

Item = dict[str, Any]
"""One line of the trace."""


async def planned(run: Run) -> Outcome:
    """Raises CairnError."""
    if not (await run.deps.library.holdings(run.question.collection)).documents:
        return await answer_empty(run)
    policy = begin(run)
    run.emit(Progress("plan", 10, "Planning how to answer"))
    policy.tell(await policy.make_plan())
    await work(policy)
    return await _accept(policy) if policy.verdict else await _force(policy)


class Lack(Arguments):
    section: str = Field("", description="the part of the answer that something is missing from")
    missing: str = Field("", description="what the documents do not say")
    queries_tried: list[str] = Field(default_factory=list, description="searches that did not find it")


class FinalArguments(Arguments):
    answer: Answer = Field(description="the whole answer, each sentence with the numbers of opened citations like [1]")
    used_citations: list[dict[str, str]] = Field(
        default_factory=list, description="docId and chunkId of each that it cites"
    )
    insufficiencies: list[Lack] = Field(default_factory=list, description="what the documents do not say")


async def _final(toolbox: Toolbox, asked: FinalArguments) -> ToolResult:
    """Never called as a tool: the gate reads the arguments."""
    return ToolResult(asked.answer, data=asked.answer)


FINAL: Final = Tool("final_answer", "end", "give the whole answer; ends the work", FinalArguments, _final)


def begin(run: Run) -> Planned:
    """With the budget that the prompt's constraints need, as far as that is allowed."""
    settings, wanted = run.settings.planned, constraints_of(run.question.text)
    most = max(settings.tool_calls, settings.most_tool_calls)
    limit, notes = max(settings.tool_calls, min(wanted.needed_calls, most)), []
    if wanted.needed_calls > most:
        openings = min(wanted.min_open_citations, most // 2)
        met = replace(
            wanted, min_searches=max(1, min(wanted.min_searches, most - openings)), min_open_citations=openings
        )
        notes.append(
            f"The prompt demands {wanted.min_searches} searches and {wanted.min_open_citations} opened citations; at most "
            f"{most} calls are made: {met.min_searches} and {met.min_open_citations} were required instead."
        )
        wanted = met
    return Planned(run, open_toolbox(run, PLANNED_TOOLS, (FINAL,)), wanted, limit, notes)


@dataclass(slots=True)
class Planned:
    """The policy, and what it knows. `opened[n - 1]` is what `[n]` means. `unmet`: why the last answer was sent back.
    `verdict`: that of an answer which passed, `last` the one that was given last."""

    run: Run
    toolbox: Toolbox
    constraints: PromptConstraints
    limit: int
    notes: list[str]
    plan: Plan = field(default_factory=lambda: Plan((), "default"))
    calls: int = 0
    iterations: int = 0
    reprompts: int = 0
    searches: dict[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    opened: list[tuple[Mapping[str, Any], Passage]] = field(default_factory=list)
    seen: dict[str, Passage] = field(default_factory=dict)
    unmet: tuple[str, ...] = ()
    last: FinalAnswer | None = None
    verdict: Checked | None = None
    stopped: str | None = None
    traced: int = 0

    @property
    def settings(self) -> PlannedSettings:
        return self.run.settings.planned

    @property
    def most_steps(self) -> int:
        return max(self.settings.iterations, self.limit + self.settings.reprompts)

    @property
    def left(self) -> int:
        """Tool calls that may still be made."""
        budget = self.toolbox.budget
        return max(0, min(self.limit - self.calls, budget.limits.tool_calls - budget.tool_calls))

    @property
    def passages(self) -> tuple[Passage, ...]:
        """What an answer may cite: what was opened, else what was found."""
        opened = tuple(passage for _, passage in self.opened)
        return opened or tuple(self.seen.values())[: self.settings.context_citations]

    def over(self) -> str | None:
        """Why nothing more may be tried."""
        if self.stopped:
            return self.stopped
        if self.iterations >= self.most_steps:
            return f"{self.iterations} replies of the model"
        if self.reprompts > self.settings.reprompts:
            return f"{self.settings.reprompts} reprompts"
        return self.toolbox.budget.out()

    def work_done(self, *, cut_off: bool = False) -> WorkDone:
        """For the gate."""
        found = {str(item["chunkId"]): item for items in self.searches.values() for item in items}
        return WorkDone(
            tuple(self.searches),
            tuple(Opened(str(item["docId"]), str(item["chunkId"]), passage.content) for item, passage in self.opened),
            tuple(Opened(str(item["docId"]), key, self.seen[key].content) for key, item in found.items()),
            cut_off,
        )

    # --- decide -------------------------------------------------------------------------------------------------------

    async def make_plan(self) -> Item:
        """The model's plan; the default one where it cannot make any."""
        run, topics, reply, notes = self.run, self.constraints.required_search_topics, "", ""
        assert run.deps.chat is not None
        try:
            made = await run.record.metered("plan", run.deps.chat, run.settings).structured(
                plan_messages(self), PLAN, choice=run.settings.agents.protocol,
                temperature=run.settings.rag.qa.temperature, max_tokens=PLAN_TOKENS, timeout=self.settings.plan_seconds,
            )  # fmt: skip
            reply = made.text
        except ProviderError as error:
            notes = f"no plan by the model ({error.code}): the default one"
            run.record.degraded.append(f"plan: {notes}")
        self.plan = read_plan(reply, run.question.text, topics)
        notes = " ".join([notes or f"parsed as {self.plan.parsed_by}", *self.notes])
        return {"type": "plan", "steps": list(self.plan.steps), "notes": notes}

    async def decide(self, step: int) -> Decision | None:
        """The model's next action; a reply that is none is sent back. None where it fails, or nothing more may be tried."""
        run = self.run
        if self.over():
            return None
        self.iterations = step
        patience = Patience(
            run.settings.answer.max_output_tokens, run.settings.rag.qa.temperature, self.settings.call_seconds
        )
        try:
            return await ask_for_calls(
                run, self.toolbox, "action", lambda protocol: action_messages(self, protocol), patience
            )
        except ProviderResponseError as error:
            said = f"Your reply could not be used ({error.detail})."
            return Decision((), "", "", False, self.toolbox.protocol or "text", (said,))
        except ProviderError as error:
            self.stopped = f"the model failed ({error.code})"
            run.record.degraded.append(f"action {self.iterations}: {error.code}: {error.detail}")
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
        return self.verdict is None and not self.over()

    async def _call(self, calls: Sequence[ToolCall]) -> None:
        """What was found before, and what was called wrongly, costs nothing of the budget of calls."""
        self.unmet = ()
        beyond = [call for call in calls if call.name in self.toolbox.tools][self.left :]
        within = [call for call in calls if call not in beyond]
        for call, result in zip(within, await call_tools(self.toolbox, within), strict=True):
            self.calls += result.success and not result.repeated
            self._keep(call.name, result)
            if not result.success or result.repeated:
                self.unmet = (*self.unmet, result.observation[:1000])
            self.tell(_item(call, result))
        for call in beyond:
            self.unmet = (*self.unmet, "Tool budget exhausted.")
            self.tell(_item(call, ToolResult("Tool budget exhausted", False)))

    def _keep(self, tool: str, result: ToolResult) -> None:
        """What a call has brought."""
        if tool == "search_docs" and isinstance(result.data, list):
            query = " ".join(str(result.arguments.get("query", "")).split())
            self.searches.setdefault(query.casefold(), result.data)
            self.seen |= {str(passage.passage_id): passage for passage in result.passages}
        elif tool == "open_citation" and result.passages:
            passage = result.passages[0]
            if all(passage.passage_id != other.passage_id for _, other in self.opened):
                self.opened.append((result.data, passage))
                self.seen[str(passage.passage_id)] = passage

    async def _judge(self, final: FinalAnswer, *, cut_off: bool) -> None:
        """Accepted, or sent back: for what the prompt demands, then for what the sources do not support."""
        self.last = final
        objections = validate(final, self.constraints, self.work_done(cut_off=cut_off))
        if not objections:
            self.run.emit(checking(len(self.passages), 80))
        verdict = None if objections else await check_answer(self.run, final.answer, _material(self))
        if verdict and verdict.refuted and self.reprompts < self.settings.reprompts:
            objections = tuple(Objection("UNGROUNDED_CLAIM", issue) for issue in feedback(verdict))
        if objections:
            self._send_back([one.message for one in objections], "validation failed", objections)
            return
        assert verdict is not None
        self.verdict = verdict
        self.tell({"type": "final", "notes": f"validated with {len(verdict.draft.citations)} citations"})

    def _send_back(self, errors: Sequence[str], what: str, objections: Sequence[Objection] = ()) -> None:
        self.reprompts += 1
        self.unmet = tuple(errors)
        count = f"{what} ({self.reprompts}/{self.settings.reprompts})"
        codes = list(dict.fromkeys(objection.code for objection in objections))
        self.tell({"type": "validation", "validationErrors": list(errors), "notes": count})
        if not self.over():
            self.tell({"type": "reprompt", "notes": ", ".join(codes) or "MALFORMED_ACTION"})

    def tell(self, item: Item) -> None:
        """The item as an event, kept for the trace as well."""
        used, self.traced = self.toolbox.used[self.traced :], len(self.toolbox.used)
        thought = f"{item['type']}: {', '.join(item.get('steps', ())) or item.get('notes') or ''}".strip(": ")
        steps = self.run.record.steps
        steps.append(
            {"step": len(steps) + 1, "thought": thought, "protocol": self.toolbox.protocol,
             "tools": [one.told() for one in used]}
        )  # fmt: skip
        percent = 15 + min(65, 65 * self.iterations // max(self.settings.iterations, 1))
        self.run.emit(Progress(item["type"], percent, _in_words(item), item, documents_of(self.seen.values())))


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


def _item(call: ToolCall, result: ToolResult) -> Item:
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


# --- prompts ------------------------------------------------------------------------------------------------------------


def plan_messages(state: Planned) -> list[Message]:
    """The call that makes the plan."""
    listed = requirements(state.constraints)
    in_words = state.run.settings.agents.protocol == "text"
    filled = prompt(
        "plan",
        form=prompt_part("plan", "array" if in_words else "object"),
        question=quoted(state.run.question.text),
        requirements=f"Requirements:\n{listed}\n" if listed else "",
    )
    return [Message("system", filled.system), Message("user", filled.user)]


def action_messages(state: Planned, protocol: ToolProtocol) -> list[Message]:
    """The call that asks for the next action. All that was found stands in it: there is no conversation to go on with."""
    steps = state.plan.steps
    filled = prompt(
        "planned",
        how=prompt_part("planned", protocol),
        plan="\n".join(f"{n}. {step}" for n, step in enumerate(steps, 1)),
        step=str(min(state.calls + 1, len(steps))),
        steps=str(len(steps)),
        question=quoted(state.run.question.text),
        results=_results(state) or "(none)",
        opened=_opened(state) or "(none)",
        budget=str(state.left),
        searches=str(len(state.searches)),
        opens=str(len(state.opened)),
        requirements=requirements(state.constraints) or "- none besides the rules",
        feedback=_feedback(state),
        next="Your next action as JSON:" if protocol == "text" else "Call your next tool.",
    )
    return [Message("system", filled.system), Message("user", filled.user)]


def requirements(wanted: PromptConstraints) -> str:
    """A line for each constraint."""
    lines = []
    if wanted.min_searches > 1:
        topics = f" (on: {', '.join(wanted.required_search_topics)})" if wanted.required_search_topics else ""
        lines.append(f"Perform at least {wanted.min_searches} separate searches{topics}")
    if wanted.min_open_citations:
        lines.append(f"Open at least {wanted.min_open_citations} citation(s)")
    if wanted.requires_exact_quote:
        lines.append(f"Quote exact text, between quotation marks, for: {', '.join(wanted.exact_quote_indicators)}")
    if wanted.conflict_resolution_rule:
        lines.append(f"Where documents contradict each other: {wanted.conflict_resolution_rule}")
    if wanted.required_sections:
        lines.append(f"Write these sections: {', '.join(wanted.required_sections)}")
    if wanted.requires_insufficiency_disclosure:
        lines.append(
            "Where documentation is missing, write 'Insufficient documentation' and list it in insufficiencies"
        )
    return "\n".join(f"- {line}" for line in lines)


def _results(state: Planned) -> str:
    lines = []
    for query, items in state.searches.items():
        lines.append(f"Query: {quoted(query)}" + ("" if items else ": nothing was found"))
        for item in items:
            name = state.seen[str(item["chunkId"])].external_id
            snippet = quoted(str(item["snippet"])[:SNIPPET])
            lines += [f"  - {quoted(name)}: {snippet}",
                      f"    docId={item['docId']}", f"    chunkId={item['chunkId']}"]  # fmt: skip
    return "\n".join(lines)


def _opened(state: Planned) -> str:
    """The last of them, each with its number."""
    numbered = list(enumerate(state.opened, 1))[-state.settings.context_citations :]
    return "\n".join(
        f"[{n}] {quoted(passage.external_id)} (chunk {item['chunkIndex']}, docId={item['docId']}, "
        f"chunkId={item['chunkId']}): {quoted(passage.content[: state.settings.citation_chars])}"
        for n, (item, passage) in numbered
    )


def _feedback(state: Planned) -> str:
    """What was wrong with the last reply, and what is to be done."""
    if not state.unmet:
        return ""
    order = "You MUST output a TOOL_CALL now if anything is missing, and correct the rest." if state.left else (
        "No call can be made any more: you MUST output a final action, with insufficiencies for what is missing."
    )  # fmt: skip
    return prompt_part(
        "planned", "feedback", errors="\n".join(f"- {one}" for one in state.unmet), budget=str(state.left), order=order
    )


# --- the end ------------------------------------------------------------------------------------------------------------


async def _accept(state: Planned) -> Outcome:
    assert state.last is not None
    assert state.verdict is not None
    lacks = state.last.insufficiencies
    material = _material(state, lacks)
    state.run.emit(SourcesFound(material.passages))
    state.run.emit(Token(state.verdict.draft.text))
    strict, context = check_settings(state.run.settings).strict, Context("", material.passages, 0)
    outcome = await settle(state.run, material, context, state.verdict, strict=strict)
    return _disclose(outcome, lacks, state)


async def _force(state: Planned) -> Outcome:
    """Written from what was opened or found, since no answer passed; a plain search where nothing was found."""
    reason = state.over() or "no accepted answer"
    unmet = validate(state.last, state.constraints, state.work_done()) if state.last else ()
    tried = tuple(state.searches)
    missing = (Insufficiency(objection.code, objection.message, tried) for objection in unmet)
    lacks = (*(state.last.insufficiencies if state.last else ()), *missing)
    state.tell({"type": "final", "notes": f"synthesis without an accepted answer, after {reason}"})
    note = f"planned: no answer passed the validation ({reason}); this one was written from what was found"
    state.run.record.degraded.append(note)
    if not state.passages:
        searched = await fast(state.run)
        more = {**searched.more, **_material(state, lacks).more}
        return _disclose(replace(searched, more=more), lacks, state)
    task = prompt_part("planned", "synthesis", requirements=requirements(state.constraints) or "- none")
    outcome = await answer_from(state.run, replace(_material(state, lacks), task=task))
    return _disclose(outcome, lacks, state)


def _material(state: Planned, lacks: Sequence[Insufficiency] = ()) -> Material:
    run, found = state.run, [item.result for item in state.run.record.searches]
    return Material(
        question=run.plan.text,
        passages=state.passages,
        confidence=max((best_confidence(result) for result in found), default=0.0),
        visible=max((result.visible_passages for result in found), default=0),
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


def _disclose(outcome: Outcome, lacks: Sequence[Insufficiency], state: Planned) -> Outcome:
    """With what is missing, and what of the prompt could not be done."""
    said = [": ".join(part for part in (one.section, one.missing) if part) for one in lacks]
    draft = outcome.draft
    told = (*state.notes, *said, *draft.insufficiencies)
    return replace(outcome, draft=replace(draft, insufficiencies=tuple(dict.fromkeys(text for text in told if text))))
