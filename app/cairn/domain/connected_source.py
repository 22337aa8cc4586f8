"""A source of documents that a collection is kept in step with: what is asked of it, and how it goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from cairn.domain.job import JobStatus

COUNTED: Final = ("new", "changed", "moved", "deleted", "unchanged", "failed", "skipped")
"""What is counted of a synchronisation: files, each once."""
IMPORTED: Final = "it came with a tenant file: see whether its address is meant to be read from here, and resume it"
"""The note of a source that nobody of this server has let in yet."""
FileState = Literal["reading", "indexed", "failed", "skipped", "foreign"]
"""skipped: no document, such as a picture; foreign: its id is that of a document which came otherwise."""


@dataclass(frozen=True, slots=True)
class SourceWish:
    """What is asked of a source. `prefix`: what the ids of its documents begin with, before a slash. `secret_names`: of what is
    kept elsewhere, encrypted. `interval_seconds`: between two synchronisations, 0: only when somebody asks. `access`: who may
    read, by folder of the source, "" being all of it. `most_deleted`: share of its files that may be gone at once.
    `requests_per_second`: files read at most, None: no limit. `replaces`: its files take the place of documents with their ids
    that came otherwise."""

    address: str
    prefix: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    secret_names: Sequence[str] = ()
    interval_seconds: int = 3600
    access: Mapping[str, Sequence[str]] = field(default_factory=dict)
    most_deleted: float = 0.5
    requests_per_second: float | None = None
    replaces: bool = False

    def external_id(self, path: str) -> str:
        """Of the document of a file."""
        return f"{self.prefix}/{path}" if self.prefix else path


@dataclass(frozen=True, slots=True)
class ConnectedSource:
    """`note`: why it is paused, or what was left undone. `counts`: of the last synchronisation that came to its end. `failures`:
    one after the other. `files`: that are known of it; `failed` of them are not indexed. `running`: a job waits or works."""

    id: UUID
    collection: str
    collection_id: UUID
    wish: SourceWish
    paused: bool
    note: str | None
    created_at: datetime
    due_at: datetime | None
    last_started_at: datetime | None
    last_finished_at: datetime | None
    last_error: str | None
    failures: int
    empty_listings: int
    counts: Mapping[str, Any] | None
    job_id: UUID | None
    running: bool
    files: int
    failed: int


@dataclass(frozen=True, slots=True)
class SourceRun:
    """One synchronisation, which is a job. `state`: of the job; "paused" where it paused the source, or found it so and did
    nothing. `started_at`: None while it waits. `counts`: what it did, by COUNTED, None where it did not come to its end; `note`:
    what it left undone."""

    job_id: UUID
    state: JobStatus | Literal["paused"]
    started_at: datetime | None
    finished_at: datetime | None
    counts: Mapping[str, int] | None
    note: str | None
    error: str | None


@dataclass(frozen=True, slots=True)
class FailedFile:
    """A file that is not indexed, and why."""

    path: str
    external_id: str
    error: str
    seen_at: datetime
