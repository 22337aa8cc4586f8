"""`import cairn`: Cairn as a library (docs/library.md).

A name is imported from its room when it is first used, so that `cairn.client` and the retrievers, which are clients, import no
server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from cairn.domain.answer import Answer, Citation, Coverage
    from cairn.domain.document import Indexed, Rejected, Source
    from cairn.domain.event import Answered, Cancelled, Event, Progress, RunStarted, SourcesFound, Token
    from cairn.domain.passage import Passage, SearchResult
    from cairn.errors import CairnError, ConflictError, InputError, NotFoundError, ProviderError, SettingsError
    from cairn.library import Asking, Cairn, open, prepare_document, write_prepared
    from cairn.service.bulk import PreparedRow
    from cairn.service.files import IngestReport, Skipped

_ROOMS: Final = {
    "cairn.domain.answer": ("Answer", "Citation", "Coverage"),
    "cairn.domain.document": ("Indexed", "Rejected", "Source"),
    "cairn.domain.event": ("Answered", "Cancelled", "Event", "Progress", "RunStarted", "SourcesFound", "Token"),
    "cairn.domain.passage": ("Passage", "SearchResult"),
    "cairn.errors": ("CairnError", "ConflictError", "InputError", "NotFoundError", "ProviderError", "SettingsError"),
    "cairn.library": ("Asking", "Cairn", "open", "prepare_document", "write_prepared"),
    "cairn.service.bulk": ("PreparedRow",),
    "cairn.service.files": ("IngestReport", "Skipped"),
}
_ROOM_OF: Final = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "Answer",
    "Answered",
    "Asking",
    "Cairn",
    "CairnError",
    "Cancelled",
    "Citation",
    "ConflictError",
    "Coverage",
    "Event",
    "Indexed",
    "IngestReport",
    "InputError",
    "NotFoundError",
    "Passage",
    "PreparedRow",
    "Progress",
    "ProviderError",
    "Rejected",
    "RunStarted",
    "SearchResult",
    "SettingsError",
    "Skipped",
    "Source",
    "SourcesFound",
    "Token",
    "open",
    "prepare_document",
    "write_prepared",
]


def __getattr__(name: str) -> Any:
    if (room := _ROOM_OF.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(room), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
