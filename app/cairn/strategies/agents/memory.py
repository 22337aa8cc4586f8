"""What a run of an agent knows, whichever policy works, and nothing else remembers: what was asked, found, missing and said.

    asked     looks: what was looked for, in order
    found     what the looks brought; opened in full, graded, noted; the toolbox has numbers of passages, and facts of SQL
    missing   gaps (missing.py); unmet: what was wrong with what the model did last
    said      steps: thoughts, calls and observations; answer: the one that is given unless a better one comes

Policies write it, prompts are made of it, and finish.py makes the end of the run of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from cairn.answer.context import Context
from cairn.answer.grade import Grade
from cairn.domain.passage import Passage
from cairn.providers.protocols import Message, ToolCall, ToolProtocol
from cairn.runs.context import Material, Outcome, Run
from cairn.strategies.agents.missing import Missing
from cairn.strategies.agents.tools.show import cut
from cairn.strategies.agents.tools.tool import Toolbox, ToolResult
from cairn.strategies.check import Checked

KEEP_FULL: Final = 2
"""Steps told in full; of older ones the thought and the action."""
OBSERVATION_CHARS: Final = 6000
"""Of the observations of one step in a prompt."""
LEFT_OUT: Final = "(left out: an older observation)"


@dataclass(frozen=True, slots=True)
class Look:
    """Something that was looked for, and the passages that it brought, best first."""

    query: str
    passages: tuple[Passage, ...] = ()


@dataclass(frozen=True, slots=True)
class OwnAnswer:
    """An answer of the run: its text, whose `[n]` is the n-th passage of `context`, and its check once there was one. `material`:
    what it was made of, where that is not what the run ends with; `outcome`: where it is a quotation, which needs no check."""

    text: str
    context: Context
    checked: Checked | None = None
    material: Material | None = None
    outcome: Outcome | None = None


@dataclass(slots=True)
class AgentStep:
    """What was thought and called, and what came of it, in the order of the calls."""

    thought: str
    calls: tuple[ToolCall, ...]
    results: tuple[ToolResult, ...]
    reflection: str = ""

    @property
    def observations(self) -> list[str]:
        """One for each call, together within OBSERVATION_CHARS."""
        return [cut(result.observation, OBSERVATION_CHARS // len(self.results)) for result in self.results]

    @property
    def observation(self) -> str:
        """One text of them; of two each with its tool before it."""
        if len(self.calls) == 1:
            return self.results[0].observation
        told = zip(self.calls, self.observations, strict=True)
        return "\n".join(f"[{call.name}] {observation}" for call, observation in told)

    def as_text(self, n: int, *, full: bool) -> str:
        """As models are told that are asked in words; an older one without what came of it."""
        lines = [f"Step {n}", f"THOUGHT: {self.thought}"]
        for place, call in enumerate(self.calls, 1):
            number = f"_{place}" if len(self.calls) > 1 else ""
            lines += [f"ACTION{number}: {call.name}", f"ARGUMENTS{number}: {arguments_of(call)}"]
        if full:
            lines.append(f"OBSERVATION: {cut(self.observation, OBSERVATION_CHARS)}")
            lines += [f"REFLECTION: {self.reflection}"] if self.reflection else []
        return "\n".join(lines)

    def as_messages(self, n: int, *, full: bool) -> list[Message]:
        """As part of a conversation with tools. Ids are ours, those of models may be missing, or the same twice; nine letters
        and digits, since Mistral takes no others."""
        calls = tuple(replace(call, id=f"step{n:03}x{place}") for place, call in enumerate(self.calls, 1))
        told = self.observations if full else [LEFT_OUT] * len(calls)
        answers = [Message("tool", text, call_id=call.id) for call, text in zip(calls, told, strict=True)]
        return [Message("assistant", self.thought, calls), *answers]

    @property
    def plainly(self) -> str:
        """In words, for a prompt that wants an answer and not the next step."""
        did = " and ".join(f"{call.name} {arguments_of(call)}" for call in self.calls)
        return f"- {self.thought} ({did})" if self.thought else f"- ({did})"


@dataclass(slots=True)
class Memory:
    """Of one run. `opened`: passages that were read in full, each with its place in its document. `protocol`: how the last reply
    was asked for. `question_back`: what the model asks the user."""

    run: Run
    toolbox: Toolbox
    looks: list[Look] = field(default_factory=list)
    opened: list[tuple[Passage, int]] = field(default_factory=list)
    grades: dict[UUID, Grade] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    missing: Missing = field(default_factory=Missing)
    unmet: tuple[str, ...] = ()
    steps: list[AgentStep] = field(default_factory=list)
    answer: OwnAnswer | None = None
    question_back: str = ""
    protocol: ToolProtocol | None = None
    _traced: int = 0

    @property
    def queries(self) -> tuple[str, ...]:
        return tuple(look.query for look in self.looks)

    @property
    def found(self) -> tuple[Passage, ...]:
        """Every passage once, in the order in which they were found, as it was found last."""
        return tuple({passage.passage_id: passage for look in self.looks for passage in look.passages}.values())

    @property
    def knows_something(self) -> bool:
        """Whether an answer could be made of it."""
        return bool(self.found or self.toolbox.facts)

    # --- how it is told -----------------------------------------------------------------------------------------------

    def history(self) -> str:
        """All steps in words, older ones trimmed."""
        return "\n\n".join(step.as_text(n, full=full) for n, step, full in self._numbered())

    def messages(self) -> list[Message]:
        """All steps as a conversation, older ones trimmed."""
        return [message for n, step, full in self._numbered() for message in step.as_messages(n, full=full)]

    def remarks(self) -> str:
        """What the reflections on the steps said, which no message of a conversation with tools has a place for."""
        return "\n".join(
            f"- after step {n}: {step.reflection}" for n, step, full in self._numbered() if full and step.reflection
        )

    def _numbered(self) -> Iterator[tuple[int, AgentStep, bool]]:
        """Each step with its number, and whether it is told in full."""
        first_full = len(self.steps) - KEEP_FULL
        return ((n + 1, step, n >= first_full) for n, step in enumerate(self.steps))

    def trace(self, thought: str, step: int | None = None) -> None:
        """Keep for the trace what was thought, what tools were called since, and how the model was asked. `step`: its number,
        where that is not the next one. Words of it go when a document does that the run has read."""
        used, self._traced = self.toolbox.used[self._traced :], len(self.toolbox.used)
        steps = self.run.record.steps
        steps.append(
            {"step": step or len(steps) + 1, "thought": thought, "protocol": self.protocol,
             "tools": [one.told() for one in used]}
        )  # fmt: skip


def dead_end(toolbox: Toolbox, calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> str:
    """What failed, where nothing that was looked for was found; "" where something was. Tools that look for nothing
    (synthesize, database_stats, ...) lead into no dead end."""
    failures = []
    for call, result in zip(calls, results, strict=True):
        tool = toolbox.tools.get(call.name)
        if tool is None or tool.kind not in ("search", "entity") or (result.success and result.data):
            return ""
        failures.append(f"{call.name}({arguments_of(call)}): {cut(result.observation, 300)}")
    return "\n".join(failures)


def arguments_of(call: ToolCall) -> str:
    """As JSON, cut."""
    given: Mapping[str, Any] = call.arguments
    return cut(json.dumps(dict(given), ensure_ascii=False, default=str), 600)
