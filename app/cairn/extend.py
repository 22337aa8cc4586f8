"""What a package that adds a part to Cairn imports (docs/extending.md); everything else may change without notice.

    from cairn.extend import Loader, LoadedText, LoadLimits

A name is imported from its room when it is first used: a loader runs in the confined process, which starts without agents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from cairn.domain.event import Progress
    from cairn.domain.passage import Passage
    from cairn.errors import CairnError, EmptyDocumentError, InputError, ParseError, ProviderError
    from cairn.ingest.chunkers.base import Chunker, CutRequest, PassageCut
    from cairn.ingest.loaders.base import LoadedText, Loader, LoadLimits
    from cairn.ingest.loaders.text import decode
    from cairn.language.fence import fenced, quoted
    from cairn.language.tables import render_table
    from cairn.providers.protocols import (
        Acted,
        ChatModel,
        Completion,
        Delta,
        Embedder,
        Message,
        Provider,
        Ranked,
        Reranker,
        Schema,
        Structured,
        TokenCounter,
        ToolCall,
        ToolChoice,
        ToolProtocol,
        ToolSpec,
        Usage,
        Vectors,
    )
    from cairn.providers.requests import begin_request
    from cairn.runs.context import Material, Outcome, Run, Strategy
    from cairn.runs.gather import gather
    from cairn.strategies.agents.tools.tool import Arguments, Tool, Toolbox, ToolResult
    from cairn.strategies.draft import answer_from

_ROOMS: Final = {
    "cairn.strategies.agents.tools.tool": ("Arguments", "Tool", "ToolResult", "Toolbox"),
    "cairn.runs.context": ("Material", "Outcome", "Run", "Strategy"),
    "cairn.strategies.draft": ("answer_from",),
    "cairn.runs.gather": ("gather",),
    "cairn.domain.event": ("Progress",),
    "cairn.domain.passage": ("Passage",),
    "cairn.errors": ("CairnError", "EmptyDocumentError", "InputError", "ParseError", "ProviderError"),
    "cairn.ingest.chunkers.base": ("Chunker", "CutRequest", "PassageCut"),
    "cairn.ingest.loaders.base": ("LoadLimits", "LoadedText", "Loader"),
    "cairn.ingest.loaders.text": ("decode",),
    "cairn.language.fence": ("fenced", "quoted"),
    "cairn.language.tables": ("render_table",),
    "cairn.providers.protocols": (
        "Acted", "ChatModel", "Completion", "Delta", "Embedder", "Message", "Provider", "Ranked", "Reranker", "Schema",
        "Structured", "TokenCounter", "ToolCall", "ToolChoice", "ToolProtocol", "ToolSpec", "Usage", "Vectors",
    ),
    "cairn.providers.requests": ("begin_request",),
}  # fmt: skip
_ROOM_OF: Final = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "Acted",
    "Arguments",
    "CairnError",
    "ChatModel",
    "Chunker",
    "Completion",
    "CutRequest",
    "Delta",
    "Embedder",
    "EmptyDocumentError",
    "InputError",
    "LoadLimits",
    "LoadedText",
    "Loader",
    "Material",
    "Message",
    "Outcome",
    "ParseError",
    "Passage",
    "PassageCut",
    "Progress",
    "Provider",
    "ProviderError",
    "Ranked",
    "Reranker",
    "Run",
    "Schema",
    "Strategy",
    "Structured",
    "TokenCounter",
    "Tool",
    "ToolCall",
    "ToolChoice",
    "ToolProtocol",
    "ToolResult",
    "ToolSpec",
    "Toolbox",
    "Usage",
    "Vectors",
    "answer_from",
    "begin_request",
    "decode",
    "fenced",
    "gather",
    "quoted",
    "render_table",
]


def __getattr__(name: str) -> Any:
    if (room := _ROOM_OF.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(room), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
