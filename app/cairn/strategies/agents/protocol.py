"""Asking a model what to do next: by native tool calls where the server knows them, else in words (`agents.protocol`).

A policy writes its prompt both ways; the chat model finds out which of them the server takes (providers/openai_chat.py). What
comes back is the same for both: a `Decision`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cairn.providers.protocols import Acted, ChatModel, Message, ToolCall, ToolProtocol
from cairn.providers.reader import read_thought
from cairn.runs.context import Run
from cairn.strategies.agents.memory import Memory
from cairn.strategies.agents.tools.tool import Tool, Toolbox

MOST_CALLS: Final = 2
"""Tools of one step; they run side by side."""
THOUGHT_CHARS: Final = 1000

Ask = Callable[[ToolProtocol], Sequence[Message]]
"""The prompt of a step: for a model that is given tools, or for one that is told of them."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One step. `calls`: at most two, or one that ends the work; none where the model only said something, which is `text`.
    `thought` may be "": many models call tools without a word. `cut_off`: by the token limit. `problems`: why the reply
    cannot be used."""

    calls: tuple[ToolCall, ...]
    thought: str
    text: str
    cut_off: bool
    protocol: ToolProtocol
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Patience:
    """How much a model may say in one step, how freely, and for how many seconds."""

    max_tokens: int
    temperature: float
    seconds: float


async def ask_for_calls(memory: Memory, purpose: str, ask: Ask, patience: Patience) -> Decision:
    """The model's next step. Raises ProviderError."""
    run, toolbox = memory.run, memory.toolbox
    assert run.deps.chat is not None
    chat = run.record.metered(purpose, run.deps.chat, run.settings)
    acted = await _ask(run, chat, toolbox, ask, patience)
    if acted.unproven:  # it may not have seen the tools; this once it is asked in words
        acted = await _ask(run, chat, toolbox, ask, patience)
    memory.protocol = acted.protocol
    in_words = acted.protocol == "text"
    thought = read_thought(acted.text) if in_words else " ".join(acted.text.split())[:THOUGHT_CHARS]
    calls = select_calls(acted.calls, toolbox.tools)
    cut_off = acted.finish_reason == "length"
    return Decision(calls, thought if calls else "", acted.text, cut_off, acted.protocol)


async def _ask(run: Run, chat: ChatModel, toolbox: Toolbox, ask: Ask, patience: Patience) -> Acted:
    return await chat.act(
        ask("native"),
        [tool.spec for tool in toolbox.tools.values()],
        in_words=ask("text"),
        choice=run.settings.agents.protocol,
        temperature=patience.temperature,
        max_tokens=patience.max_tokens,
        timeout=patience.seconds,
    )


def select_calls(calls: Sequence[ToolCall], tools: Mapping[str, Tool]) -> tuple[ToolCall, ...]:
    """Those that are carried out, spelled as the tools are: one that ends the work stands alone, the same twice
    is once, two are the most."""
    named = [replace(call, name=call.name.strip().lower()) for call in calls]
    for call in named:
        if (tool := tools.get(call.name)) and tool.kind == "end":
            return (call,)
    unique = {(call.name, repr(dict(call.arguments))): call for call in named}
    return tuple(unique.values())[:MOST_CALLS]
