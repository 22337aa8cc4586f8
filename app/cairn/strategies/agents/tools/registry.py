"""All tools, by name: those of this folder, and those of other packages (entry points `cairn.tools`, docs/extending.md).

A new one here is a function in cairn/strategies/agents/tools/ and a line in its TOOLS.

    toolbox = open_toolbox(run, ["search_docs"])
    result = await use(toolbox, "search_docs", {"query": "leave"})
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from cairn.plugins import extensions, instance_of, once
from cairn.runs.context import Run
from cairn.strategies.agents.tools import citations, endings, entities, facts, search, texts
from cairn.strategies.agents.tools.tool import Tool, Toolbox

TOOLS: Final[Mapping[str, Tool]] = {
    tool.name: tool
    for group in (search, entities, texts, facts, citations, endings)
    for tool in group.TOOLS
}  # fmt: skip
PLANNED_TOOLS: Final = ("search_docs", "open_citation")
REACT_TOOLS: Final = tuple(name for name in TOOLS if name not in PLANNED_TOOLS)


@once
def all_tools() -> Mapping[str, Tool]:
    """Ours, and those of other packages, which react has besides its own."""
    return {**TOOLS, **extensions("tools", instance_of(Tool), TOOLS)}


def react_tools() -> tuple[str, ...]:
    """Those that look for something first, then those that end the work."""
    more = [name for name in all_tools() if name not in TOOLS]
    ends = [name for name in REACT_TOOLS if TOOLS[name].kind == "end"]
    return (*(name for name in REACT_TOOLS if name not in ends), *more, *ends)


def open_toolbox(run: Run, names: Iterable[str] | None = None, more: Iterable[Tool] = ()) -> Toolbox:
    """An empty toolbox with these tools (those of react), and `more` of the caller's own, within the budget of the run,
    which is opened if need be. KeyError for an unknown name."""
    tools = {name: all_tools()[name] for name in (react_tools() if names is None else names)}
    return Toolbox(run, run.record.open_budget(run.settings), tools | {tool.name: tool for tool in more})
