"""What react remembers of its steps, and how it tells the model of them. Pure but for the toolbox that it holds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from app.agents.react_parse import Action
from app.agents.tools.tool import Toolbox, ToolResult
from app.domain.passage import Passage
from app.language.sentences import split_sentences

KEEP_FULL: Final = 2
"""Steps told in full; of older ones the thought and the action."""
OBSERVATION_CHARS: Final = 6000
"""Of the observations of one step in a prompt."""
REFLECTED_CHARS: Final = 1000
"""Of the last observation in a reflection."""
GATHERED_CHARS: Final = 3000
"""Of all that was gathered, in a reflection and in a forced conclusion."""
TOP_TEXTS: Final = 3
"""Passages of one search that are gathered."""


@dataclass(slots=True)
class Step:
    thought: str
    actions: tuple[Action, ...]
    observation: str
    reflection: str = ""

    def told(self, n: int, *, full: bool) -> str:
        lines = [f"Step {n}", f"THOUGHT: {self.thought}"]
        many = len(self.actions) > 1
        for place, action in enumerate(self.actions, 1):
            number = f"_{place}" if many else ""
            lines += [f"ACTION{number}: {action.tool}", f"ARGUMENTS{number}: {_json(action.arguments)}"]
        if full:
            lines.append(f"OBSERVATION: {cut(self.observation, OBSERVATION_CHARS)}")
            lines += [f"REFLECTION: {self.reflection}"] if self.reflection else []
        return "\n".join(lines)

    @property
    def plainly(self) -> str:
        """In words, for a prompt that wants an answer and not the next step."""
        did = " and ".join(f"{action.tool} {_json(action.arguments)}" for action in self.actions)
        return f"- {self.thought} ({did})" if self.thought else f"- ({did})"


@dataclass(slots=True)
class Work:
    """Of one run. `gathered`: passages to answer from, best first in the order they were found; `notes`: what tools made of
    them. The flags say how the run went."""

    toolbox: Toolbox
    steps: list[Step] = field(default_factory=list)
    gathered: list[Passage] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    taken: int = 0
    parallel_steps: int = 0
    reflection_concluded: bool = False
    backtracked: bool = False
    forced_conclusion: bool = False

    def history(self) -> str:
        """All steps, older ones trimmed."""
        first_full = len(self.steps) - KEEP_FULL
        return "\n\n".join(step.told(n + 1, full=n >= first_full) for n, step in enumerate(self.steps))

    def mark(self) -> tuple[int, int, int]:
        """Where to go back to: three lengths."""
        return len(self.steps), len(self.gathered), len(self.notes)

    def roll_back(self, mark: tuple[int, int, int]) -> None:
        self.backtracked = True
        del self.steps[mark[0] :], self.gathered[mark[1] :], self.notes[mark[2] :]

    def observe(self, actions: Sequence[Action], results: Sequence[ToolResult]) -> None:
        """Keep what the answer may be made of."""
        for action, result in zip(actions, results, strict=True):
            searched = action.tool in ("retrieve_vector", "search_docs")
            known = {passage.passage_id for passage in self.gathered}
            new = [passage for passage in result.passages if passage.passage_id not in known]
            self.gathered += new[:TOP_TEXTS] if searched else new
            if action.tool == "synthesize" and result.success and result.data:
                self.notes.append(result.observation)

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
        }


def observed(actions: Sequence[Action], results: Sequence[ToolResult]) -> str:
    """One text of the results; of two each with its tool before it."""
    if len(results) == 1:
        return results[0].observation
    told, most = zip(actions, results, strict=True), OBSERVATION_CHARS // len(results)
    return "\n".join(
        f"[{action.tool}] {cut(result.observation, most - len(action.tool) - 5)}" for action, result in told
    )


def dead_end(toolbox: Toolbox, actions: Sequence[Action], results: Sequence[ToolResult]) -> str:
    """What failed, where nothing that was looked for was found; "" where something was. Tools that look for nothing
    (synthesize, database_stats, ...) lead into no dead end."""
    failures = []
    for action, result in zip(actions, results, strict=True):
        tool = toolbox.tools.get(action.tool)
        if tool is None or tool.kind not in ("search", "entity") or (result.success and result.data):
            return ""
        failures.append(f"{action.tool}({_json(action.arguments)}): {cut(result.observation, 300)}")
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


def _json(value: Any) -> str:
    return cut(json.dumps(value, ensure_ascii=False, default=str), 600)
