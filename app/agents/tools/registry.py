"""All tools, by name. A new one is a function in app/agents/tools/ and a line in its TOOLS.

`toolbox = open_toolbox(run, ["search_docs"])`, then `result = await use(toolbox, "search_docs", {"query": "leave"})`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from app.agents.tools import citations, endings, entities, facts, search, texts
from app.agents.tools.tool import (
    Tool,
    Toolbox,
    ToolResult,
    Used,
)
from app.agents.tools.use import use
from app.answering.context import Run

__all__ = ["REACT_TOOLS", "TOOLS", "Tool", "ToolResult", "Toolbox", "Used", "open_toolbox", "use"]

TOOLS: Final[Mapping[str, Tool]] = {
    tool.name: tool
    for group in (search, entities, texts, facts, citations, endings)
    for tool in group.TOOLS
}  # fmt: skip
PLANNED: Final = ("search_docs", "open_citation")
REACT_TOOLS: Final = tuple(name for name in TOOLS if name not in PLANNED)
"""Those of CogniDoc, with exhaustive_search and aggregate."""


def open_toolbox(run: Run, names: Iterable[str] = REACT_TOOLS) -> Toolbox:
    """An empty toolbox with these tools, within the budget of the run (opened if need be). KeyError for an unknown name."""
    return Toolbox(run, run.record.open_budget(run.settings), {name: TOOLS[name] for name in names})
