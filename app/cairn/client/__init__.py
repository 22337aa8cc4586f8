"""A client of the HTTP API: `import cairn.client` (docs/clients.md), with blocking and with async methods.

    with Client("http://127.0.0.1:8000", key="cairn_...") as cairn:
        answer = cairn.ask("How many days of leave?", collection="handbook")

Answers, passages, events and errors are of the library's types (docs/library.md). Needs httpx2, and nothing of the server.
"""

from __future__ import annotations

from cairn.client.calls import FoundPassages, Ingested, IngestedDocument
from cairn.client.http import AsyncClient, Client
from cairn.client.problems import UnfinishedError, UnreachableError
from cairn.domain.answer import Answer, Citation
from cairn.domain.document import Document
from cairn.domain.event import Answered, Cancelled, Event, Progress, RunStarted, SourcesFound, Token
from cairn.domain.passage import Passage
from cairn.errors import (
    CairnError,
    ConflictError,
    ForbiddenError,
    InputError,
    NotFoundError,
    RateLimitedError,
    UnauthenticatedError,
)

__all__ = [
    "Answer",
    "Answered",
    "AsyncClient",
    "CairnError",
    "Cancelled",
    "Citation",
    "Client",
    "ConflictError",
    "Document",
    "Event",
    "ForbiddenError",
    "FoundPassages",
    "Ingested",
    "IngestedDocument",
    "InputError",
    "NotFoundError",
    "Passage",
    "Progress",
    "RateLimitedError",
    "RunStarted",
    "SourcesFound",
    "Token",
    "UnauthenticatedError",
    "UnfinishedError",
    "UnreachableError",
]
