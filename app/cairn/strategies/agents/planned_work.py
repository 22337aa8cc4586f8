"""What a planned run knows: its plan and budget, what it searched for, what it opened, and how it tells of each step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pydantic import Field

from cairn.domain.event import Progress
from cairn.domain.passage import Passage
from cairn.domain.plan import PromptConstraints
from cairn.providers.protocols import ToolCall
from cairn.runs.context import Run
from cairn.runs.progress import counted, documents_of
from cairn.settings import PlannedSettings
from cairn.strategies.agents.gate import Opened, WorkDone
from cairn.strategies.agents.plan import Plan
from cairn.strategies.agents.tools.registry import PLANNED_TOOLS, open_toolbox
from cairn.strategies.agents.tools.tool import Answer, Arguments, Tool, Toolbox, ToolResult

CONTEXT_CITATIONS: Final = 5
"""Opened citations that a prompt shows (MAX_CONTEXT_CITATIONS of DocuChat)."""
CITATION_CHARS: Final = 2000
"""Characters of each (MAX_CITATION_TEXT_FOR_LLM)."""
SUMMARY_CHARS: Final = 200
"""Of a failed call, in the trace."""
Item = dict[str, Any]
"""One line of the trace."""


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


def begin_work(run: Run) -> PlannedWork:
    """With the budget that the prompt's constraints need, as far as that is allowed."""
    settings, wanted = run.settings.planned, run.plan.constraints
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
    return PlannedWork(run, open_toolbox(run, PLANNED_TOOLS, (FINAL,)), wanted, limit, notes)


@dataclass(slots=True)
class PlannedWork:
    """`limit`: tool calls of this run, of which `calls` were made. `notes`: what of the prompt was not required. `opened[n - 1]`
    is what `[n]` means; `seen`: passages that were found or opened. `unmet`: why the last reply was sent back."""

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
    traced: int = 0

    @property
    def settings(self) -> PlannedSettings:
        return self.run.settings.planned

    @property
    def left(self) -> int:
        """Tool calls that may still be made."""
        budget = self.toolbox.budget
        return max(0, min(self.limit - self.calls, budget.limits.tool_calls - budget.tool_calls))

    @property
    def passages(self) -> tuple[Passage, ...]:
        """What an answer may cite: what was opened, else what was found."""
        opened = tuple(passage for _, passage in self.opened)
        return opened or tuple(self.seen.values())[:CONTEXT_CITATIONS]

    def done(self, *, cut_off: bool = False) -> WorkDone:
        """For the gate."""
        found = {str(item["chunkId"]): item for items in self.searches.values() for item in items}
        return WorkDone(
            tuple(self.searches),
            tuple(Opened(str(item["docId"]), str(item["chunkId"]), passage.content) for item, passage in self.opened),
            tuple(Opened(str(item["docId"]), key, self.seen[key].content) for key, item in found.items()),
            cut_off,
            self.run.plan.text,
            self.run.plan.subquestions,
        )

    def keep(self, call: ToolCall, result: ToolResult) -> None:
        """Count a call, keep what it has brought, and tell of it. What was found before, and what was called wrongly, costs
        nothing of the budget of calls."""
        self.calls += result.success and not result.repeated
        if call.name == "search_docs" and isinstance(result.data, list):
            query = " ".join(str(result.arguments.get("query", "")).split())
            self.searches.setdefault(query.casefold(), result.data)
            self.seen |= {str(passage.passage_id): passage for passage in result.passages}
        elif call.name == "open_citation" and result.passages:
            passage = result.passages[0]
            if all(passage.passage_id != other.passage_id for _, other in self.opened):
                self.opened.append((result.data, passage))
                self.seen[str(passage.passage_id)] = passage

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
