"""What a planned run knows: its constraints and budget, what it searched for and opened, and the prompt that shows it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from app.agents.planned_parse import FinalAnswer, Insufficiency, Plan
from app.agents.tools.registry import (
    PLANNED,
    Toolbox,
    ToolResult,
    open_toolbox,
)
from app.agents.validate import Opened, Problem, Snapshot
from app.answering.context import Run
from app.domain.passage import Passage
from app.domain.plan import PromptConstraints
from app.prompts import prompt, prompt_part
from app.providers.protocols import Message
from app.query.constraints import constraints_of
from app.settings import PlannedSettings

SNIPPET: Final = 300
"""Characters of a search result that a prompt shows; all results of all searches are shown."""


@dataclass(slots=True)
class Work:
    """Of one run. `opened[n - 1]` is what `[n]` means. `unmet`: why the last answer was sent back; `order`: what the model
    must do instead."""

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
    stopped: str | None = None
    told: int = 0

    @property
    def settings(self) -> PlannedSettings:
        return self.run.settings.planned

    @property
    def left(self) -> int:
        """Tool calls that may still be made."""
        budget = self.toolbox.budget
        return max(0, min(self.limit - self.calls, budget.limits.tool_calls - budget.tool_calls))

    def over(self) -> str | None:
        """Why nothing more may be tried."""
        if self.stopped:
            return self.stopped
        if self.iterations >= max(self.settings.iterations, self.limit + self.settings.reprompts):
            return f"{self.iterations} replies of the model"
        if self.reprompts > self.settings.reprompts:
            return f"{self.settings.reprompts} reprompts"
        return self.toolbox.budget.out()

    def snapshot(self, *, cut_off: bool = False) -> Snapshot:
        """For the validation."""
        found = {str(item["chunkId"]): item for items in self.searches.values() for item in items}
        return Snapshot(
            tuple(self.searches),
            tuple(Opened(str(item["docId"]), str(item["chunkId"]), passage.content) for item, passage in self.opened),
            tuple(Opened(str(item["docId"]), key, self.seen[key].content) for key, item in found.items()),
            cut_off,
        )

    def keep(self, tool: str, given: Mapping[str, Any], result: ToolResult) -> None:
        """What a call has brought."""
        if tool == "search_docs" and isinstance(result.data, list):
            query = " ".join(str(given.get("query", "")).split())
            self.searches.setdefault(query.casefold(), result.data)
            self.seen |= {str(passage.passage_id): passage for passage in result.passages}
        elif tool == "open_citation" and result.passages:
            passage = result.passages[0]
            if all(passage.passage_id != other.passage_id for _, other in self.opened):
                self.opened.append((result.data, passage))
                self.seen[str(passage.passage_id)] = passage

    def passages(self) -> tuple[Passage, ...]:
        """What an answer may cite: what was opened, else what was found."""
        opened = tuple(passage for _, passage in self.opened)
        return opened or tuple(self.seen.values())[: self.settings.context_citations]


def begin(run: Run) -> Work:
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
    return Work(run, open_toolbox(run, PLANNED), wanted, limit, notes)


# --- prompts ------------------------------------------------------------------------------------------------------------


def plan_messages(work: Work) -> list[Message]:
    """The call that makes the plan."""
    listed = requirements(work.constraints)
    filled = prompt(
        "plan",
        question=json.dumps(work.run.question.text, ensure_ascii=False),
        requirements=f"Requirements:\n{listed}\n" if listed else "",
    )
    return [Message("system", filled.system), Message("user", filled.user)]


def action_messages(work: Work) -> list[Message]:
    """The call that asks for the next action."""
    steps = work.plan.steps
    filled = prompt(
        "planned",
        plan="\n".join(f"{n}. {step}" for n, step in enumerate(steps, 1)),
        step=str(min(work.calls + 1, len(steps))),
        steps=str(len(steps)),
        question=json.dumps(work.run.question.text, ensure_ascii=False),
        results=_results(work) or "(none)",
        opened=_opened(work) or "(none)",
        budget=str(work.left),
        searches=str(len(work.searches)),
        opens=str(len(work.opened)),
        requirements=requirements(work.constraints) or "- none besides the rules",
        feedback=_feedback(work),
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


def _results(work: Work) -> str:
    lines = []
    for query, items in work.searches.items():
        lines.append(f"Query: {json.dumps(query, ensure_ascii=False)}" + ("" if items else ": nothing was found"))
        for item in items:
            name = work.seen[str(item["chunkId"])].external_id
            snippet = json.dumps(str(item["snippet"])[:SNIPPET], ensure_ascii=False)
            lines += [f"  - {json.dumps(name, ensure_ascii=False)}: {snippet}",
                      f"    docId={item['docId']}", f"    chunkId={item['chunkId']}"]  # fmt: skip
    return "\n".join(lines)


def _opened(work: Work) -> str:
    """The last of them, each with its number."""
    numbered = list(enumerate(work.opened, 1))[-work.settings.context_citations :]
    return "\n".join(
        f"[{n}] {json.dumps(passage.external_id, ensure_ascii=False)} (chunk {item['chunkIndex']}, docId={item['docId']}, "
        f"chunkId={item['chunkId']}): {json.dumps(passage.content[: work.settings.citation_chars], ensure_ascii=False)}"
        for n, (item, passage) in numbered
    )


def _feedback(work: Work) -> str:
    """What was wrong with the last reply, and what is to be done."""
    if not work.unmet:
        return ""
    order = "You MUST output a TOOL_CALL now if anything is missing, and correct the rest." if work.left else (
        "No call can be made any more: you MUST output a final action, with insufficiencies for what is missing."
    )  # fmt: skip
    return prompt_part(
        "planned", "feedback", errors="\n".join(f"- {one}" for one in work.unmet), budget=str(work.left), order=order
    )


def lacking(work: Work, problems: Sequence[Problem]) -> tuple[Insufficiency, ...]:
    """What an answer that had to be written too early lacks."""
    tried = tuple(work.searches)
    return tuple(Insufficiency(problem.code, problem.message, tried) for problem in problems)
