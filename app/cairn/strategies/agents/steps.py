"""What react remembers of its steps, and how it tells the model of them: in words, or as a conversation with tools."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from cairn.domain.passage import Passage
from cairn.language.sentences import split_sentences
from cairn.providers.protocols import Message, ToolCall, ToolProtocol
from cairn.runs.context import Run
from cairn.strategies.agents.tools.tool import Toolbox, ToolResult

KEEP_FULL: Final = 2
"""Steps told in full; of older ones the thought and the action."""
OBSERVATION_CHARS: Final = 6000
"""Of the observations of one step in a prompt."""
REFLECTED_CHARS: Final = 1000
"""Of the last observation in a reflection."""
GATHERED_CHARS: Final = 3000
"""Of all that was gathered, in a reflection and in a forced conclusion."""
LEFT_OUT: Final = "(left out: an older observation)"
TOP_TEXTS: Final = 3
"""Passages of one search that are gathered."""


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
            lines += [f"ACTION{number}: {call.name}", f"ARGUMENTS{number}: {_json(call.arguments)}"]
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
        did = " and ".join(f"{call.name} {_json(call.arguments)}" for call in self.calls)
        return f"- {self.thought} ({did})" if self.thought else f"- ({did})"


@dataclass(slots=True)
class Notebook:
    """Of one run. `gathered`: passages to answer from, best first in the order they were found; `notes`: what tools made of
    them. The flags say how the run went."""

    run: Run
    toolbox: Toolbox
    steps: list[AgentStep] = field(default_factory=list)
    gathered: list[Passage] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    taken: int = 0
    parallel_steps: int = 0
    reflection_concluded: bool = False
    backtracked: bool = False
    forced_conclusion: bool = False

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

    def mark(self) -> tuple[int, int, int]:
        """Where to go back to: three lengths."""
        return len(self.steps), len(self.gathered), len(self.notes)

    def roll_back(self, mark: tuple[int, int, int]) -> None:
        self.backtracked = True
        del self.steps[mark[0] :], self.gathered[mark[1] :], self.notes[mark[2] :]

    def gather(self, calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> None:
        """Keep what the answer may be made of."""
        for call, result in zip(calls, results, strict=True):
            searched = call.name in ("retrieve_vector", "search_docs")
            known = {passage.passage_id for passage in self.gathered}
            new = [passage for passage in result.passages if passage.passage_id not in known]
            self.gathered += new[:TOP_TEXTS] if searched else new
            if call.name == "synthesize" and result.success and result.data:
                self.notes.append(str(result.data))

    def trace(self, protocol: ToolProtocol) -> None:
        """Keep the last step for the trace: what was thought and done, and how the model was asked. Words of it go when a
        document does that the run has read."""
        step = self.steps[-1]
        tools = [used.told() for used in self.toolbox.used[-len(step.calls) :]]
        self.run.record.steps.append(
            {"step": self.taken, "thought": step.thought, "protocol": protocol, "tools": tools}
        )

    def flags(self) -> dict[str, Any]:
        """For the route."""
        return {
            "steps": self.taken,
            "parallel_steps": self.parallel_steps,
            "reflection_concluded": self.reflection_concluded,
            "backtracked": self.backtracked,
            "forced_conclusion": self.forced_conclusion,
            "tool_calls": len(self.toolbox.used),
            "repeated_calls": self.toolbox.repeated,
            "protocol": self.toolbox.protocol,
        }


def dead_end(toolbox: Toolbox, calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> str:
    """What failed, where nothing that was looked for was found; "" where something was. Tools that look for nothing
    (synthesize, database_stats, ...) lead into no dead end."""
    failures = []
    for call, result in zip(calls, results, strict=True):
        tool = toolbox.tools.get(call.name)
        if tool is None or tool.kind not in ("search", "entity") or (result.success and result.data):
            return ""
        failures.append(f"{call.name}({_json(call.arguments)}): {cut(result.observation, 300)}")
    return "\n".join(failures)


def windows(passages: Sequence[Passage], most: int) -> tuple[Passage, ...]:
    """The passages within so many characters in all, each cut to the whole sentences around its match."""
    shown: list[Passage] = []
    left = most
    for place, passage in enumerate(passages):
        share = left // (len(passages) - place)
        part = window(passage, share)
        if part.content.strip():
            shown.append(part)
            left -= len(part.content)
    return tuple(shown)


def window(passage: Passage, most: int) -> Passage:
    """Whole sentences of a passage, those of its match first, then those after and before; at its own span."""
    if len(passage.content) <= most:
        return passage
    spans = split_sentences(passage.content) or [(0, len(passage.content))]
    at = max(0, passage.matched[0] - passage.start) if passage.matched else 0
    first = last = next((n for n, (_, end) in enumerate(spans) if end > at), 0)
    while last + 1 < len(spans) and spans[last + 1][1] - spans[first][0] <= most:
        last += 1
    while first > 0 and spans[last][1] - spans[first - 1][0] <= most:
        first -= 1
    start, end = spans[first][0], min(spans[last][1], spans[first][0] + most)
    return replace(passage, content=passage.content[start:end], start=passage.start + start, end=passage.start + end)


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def _json(value: Mapping[str, Any]) -> str:
    return cut(json.dumps(dict(value), ensure_ascii=False, default=str), 600)
