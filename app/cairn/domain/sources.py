"""A source that a collection follows: where documents live, and how the collection keeps in step with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from cairn.language.text import normalise

SHORTEST_EVERY = timedelta(minutes=1)
LONGEST_EVERY = timedelta(days=31)
"""Between two looks at a source."""
MOST_PREFIX_CHARS = 200


@dataclass(frozen=True, slots=True)
class SyncCounts:
    """What the last look at a source found and did, in files."""

    listed: int = 0
    added: int = 0
    changed: int = 0
    moved: int = 0
    deleted: int = 0
    unchanged: int = 0
    failed: int = 0
    skipped: int = 0
    """Not documents."""


@dataclass(frozen=True, slots=True)
class FollowedSource:
    """`options` and the names of `secrets` depend on the kind of source (cairn/connectors/registry.py). `prefix`: folder of the
    collection under which its documents stand. `every`: between two looks; None: only when asked. `most_deleted`: share of its
    documents that may go at one look, 0 to 1. `paused`: why it is not looked at; None: it is. `failures`: looks that failed, in a
    row, `error`: why the last one did."""

    id: UUID
    collection_id: UUID
    collection: str
    address: str
    prefix: str
    options: Mapping[str, str]
    secrets: Sequence[str]
    every: timedelta | None
    most_deleted: float
    paused: str | None
    failures: int
    error: str | None
    counts: SyncCounts
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    next_at: datetime | None
    emptied: bool = field(default=False, compare=False)
    """Whether the last listing held no file where there had been some: once may be an accident."""

    @property
    def place(self) -> str:
        """What its secrets are tied to when they are encrypted."""
        return place_of(self.id)

    def external_id(self, path: str) -> str:
        """Of the document that a file of the source is."""
        return normalise(f"{self.prefix}/{path}" if self.prefix else path)


def place_of(source_id: UUID) -> str:
    """What the secrets of a source are tied to when they are encrypted."""
    return f"source {source_id}"


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file as it was at the last look that read it. `error`: why it is no document, until its version changes."""

    path: str
    version: str
    content_id: str | None = None
    error: str | None = None
