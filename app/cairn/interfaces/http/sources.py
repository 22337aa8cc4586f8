"""Sources that a collection is kept in step with: for who operates."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from cairn.domain.access import MOST_NAMES
from cairn.domain.connected_source import ConnectedSource, FailedFile, SourceWish
from cairn.domain.job import JobStatus
from cairn.interfaces.http import problems
from cairn.interfaces.http.models import ID_EXAMPLE, Body, JobOut, example, job_out
from cairn.interfaces.http.running import ServicesDep, TypedRoute
from cairn.service import sources

router = APIRouter(tags=["sources"], route_class=TypedRoute)

_ADDRESS = "https://docs.example.org/sitemap.xml"
_SOURCE: dict[str, Any] = {
    "id": ID_EXAMPLE, "collection": "handbook", "address": _ADDRESS, "prefix": "docs", "options": {"include": "*.html"},
    "secrets": [], "interval_seconds": 3600, "access": {"hr": ["group:personnel"]}, "most_deleted": 0.5,
    "requests_per_second": 2, "paused": False, "note": None, "running": False, "created_at": "2026-01-15T09:30:00Z",
    "due_at": "2026-01-15T11:30:00Z", "last_started_at": "2026-01-15T10:30:00Z", "last_finished_at": "2026-01-15T10:31:00Z",
    "last_error": None, "failures": 0, "job_id": ID_EXAMPLE, "files": 12, "failed": 0,
    "counts": {"new": 1, "changed": 0, "moved": 0, "deleted": 0, "unchanged": 11, "failed": 0, "skipped": 2},
}  # fmt: skip
_RUN: dict[str, Any] = {
    "job_id": ID_EXAMPLE, "state": "succeeded", "started_at": "2026-01-15T10:30:00Z", "finished_at": "2026-01-15T10:31:00Z",
    "counts": _SOURCE["counts"], "note": None, "error": None,
}  # fmt: skip

Texts = Annotated[dict[str, str], Field(max_length=50)]
Access = Annotated[dict[str, Annotated[list[str], Field(max_length=MOST_NAMES)]], Field(max_length=1000)]
_OPTIONS = "What its kind takes, such as `include`: see the guide."
_SECRETS = "What it is opened with. Kept encrypted, and never shown again."
_INTERVAL = "Seconds between two synchronisations; 0: only when somebody asks."
_READERS = "Who may read, by folder of the source; the empty name: all of it."
_MOST = "Share of its files that may be gone at once; more pauses it instead of deleting."
_RATE = "Files read in a second at most, from 0.01 on; 0: no limit."


class SourceIn(Body):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"collection": "handbook", "address": _ADDRESS, "prefix": "docs"}]},
    )

    collection: str = Field(description="It is made if there is none.")
    address: str = Field(description="Where the files are, without credentials.")
    prefix: str | None = Field(
        None, description="What ids begin with, before a slash; left out: the end of the address."
    )
    options: Texts = Field({}, description=_OPTIONS)
    secrets: Texts = Field({}, description=_SECRETS)
    interval_seconds: int = Field(3600, description=_INTERVAL)
    access: Access = Field({}, description=_READERS)
    most_deleted: float = Field(0.5, description=_MOST)
    requests_per_second: float | None = Field(None, description=_RATE)
    replace: bool = Field(False, description="Take the place of documents with the same ids that came otherwise.")


class SourceChangeIn(Body):
    """What is not named stays as it is."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"paused": True}]})

    options: Texts | None = Field(None, description=_OPTIONS)
    secrets: Texts | None = Field(None, description=f"All of them anew. {_SECRETS}")
    interval_seconds: int | None = Field(None, description=_INTERVAL)
    access: Access | None = Field(None, description=_READERS)
    most_deleted: float | None = Field(None, description=_MOST)
    requests_per_second: float | None = Field(None, description=_RATE)
    paused: bool | None = Field(None, description="Leave it alone, or go on.")


class SyncIn(Body):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"retry_failed": True}]})

    retry_failed: bool = Field(False, description="Read files again that failed, though they did not change.")
    accept_deletions: bool = Field(False, description="However many files are gone, their documents go. Resumes it.")


class ConnectedSourceOut(BaseModel):
    model_config = example(_SOURCE)

    id: UUID
    collection: str
    address: str
    prefix: str
    options: dict[str, str]
    secrets: list[str] = Field(description="Names of the secrets that it has.")
    interval_seconds: int
    access: dict[str, list[str]]
    most_deleted: float
    requests_per_second: float | None
    paused: bool
    note: str | None = Field(description="Why it is paused, or what was left undone.")
    running: bool = Field(description="A job waits or works.")
    created_at: datetime
    due_at: datetime | None = Field(description="When it is synchronised next.")
    last_started_at: datetime | None
    last_finished_at: datetime | None = Field(description="When a synchronisation last came to its end.")
    last_error: str | None = Field(description="Why the last one failed.")
    failures: int = Field(description="Failed synchronisations one after the other; the pauses between them grow.")
    job_id: UUID | None = Field(description="The job of the last synchronisation.")
    files: int = Field(description="Files that are known of it.")
    failed: int = Field(description="Of these, files that are not indexed.")
    counts: dict[str, int] | None = Field(description="What the last synchronisation did.")


class FailedFileOut(BaseModel):
    model_config = example(
        {"path": "old/plan.dwg", "external_id": "docs/old/plan.dwg", "error": "is of no kind that can be read",
         "seen_at": "2026-01-15T10:31:00Z"}
    )  # fmt: skip

    path: str
    external_id: str
    error: str
    seen_at: datetime


class SourceRunOut(BaseModel):
    model_config = example(_RUN)

    job_id: UUID
    state: JobStatus | Literal["paused"] = Field(
        description="Of the job; `paused`: it paused the source, or did nothing since somebody had."
    )
    started_at: datetime | None
    finished_at: datetime | None
    counts: dict[str, int] | None = Field(description="What it did; null where it did not come to its end.")
    note: str | None = Field(description="What it left undone.")
    error: str | None


class SourceDetail(ConnectedSourceOut):
    model_config = example({**_SOURCE, "runs": [_RUN], "failed_files": []})

    runs: list[SourceRunOut] = Field(
        description="Its last synchronisations, at most 20, newest first, as long as jobs are kept (`jobs.retentionDays`)."
    )
    failed_files: list[FailedFileOut] = Field(description="At most 50, by path.")


class SourceList(BaseModel):
    model_config = example({"items": [_SOURCE]})

    items: list[ConnectedSourceOut]


class SourceRemoved(BaseModel):
    model_config = example({"documents_deleted": 12})

    documents_deleted: int


@router.post("/sources", status_code=201, responses=problems.declare(403, 409), summary="Add a source")
async def add_source(body: SourceIn, services: ServicesDep, response: Response) -> ConnectedSourceOut:
    """The collection is kept in step with it from now on; a job reads it first. Only hosts of the setting `urls.allowedHosts` are
    reached. 409 where ids of its documents could be those of another source of the collection."""
    prefix = sources.default_prefix(body.address) if body.prefix is None else body.prefix
    wish = SourceWish(
        body.address, prefix, body.options, (), body.interval_seconds, body.access, body.most_deleted,
        body.requests_per_second, body.replace,
    )  # fmt: skip
    added, _ = await sources.add_source(services, body.collection, wish, body.secrets)
    response.headers["Location"] = f"/sources/{added.id}"
    return _out(await sources.get_source(services, added.id))


@router.get("/sources", responses=problems.declare(403), summary="List sources")
async def list_sources(services: ServicesDep) -> SourceList:
    """All of the tenant, oldest first."""
    return SourceList(items=[_out(one) for one in await sources.list_sources(services)])


@router.get("/sources/{source_id}", responses=problems.declare(403), summary="Look at a source")
async def get_source(source_id: UUID, services: ServicesDep) -> SourceDetail:
    """With its last synchronisations, and files that failed."""
    found = await sources.get_source(services, source_id)
    runs = [SourceRunOut(**asdict(one)) for one in await sources.list_runs(services, source_id)]
    failed = await sources.list_failed_files(services, source_id)
    return SourceDetail(**_out(found).model_dump(), runs=runs, failed_files=[_failed(one) for one in failed])


@router.patch("/sources/{source_id}", responses=problems.declare(403), summary="Change a source")
async def change_source(source_id: UUID, body: SourceChangeIn, services: ServicesDep) -> ConnectedSourceOut:
    """All but its collection, address and prefix. It counts from the next synchronisation on, who may read at once."""
    change = sources.SourceChange(**body.model_dump())
    return _out(await sources.change_source(services, source_id, change))


@router.delete("/sources/{source_id}", responses=problems.declare(403, 409), summary="Remove a source")
async def remove_source(
    source_id: UUID,
    services: ServicesDep,
    documents: Annotated[bool, Query(description="true: what was read from it is deleted; false: it stays.")],
) -> SourceRemoved:
    """It is followed no more. What becomes of its documents has to be said."""
    return SourceRemoved(documents_deleted=await sources.remove_source(services, source_id, documents=documents))


@router.post(
    "/sources/{source_id}/sync", status_code=202, responses=problems.declare(403, 409), summary="Synchronise a source"
)
async def sync_source(source_id: UUID, body: SyncIn, services: ServicesDep, response: Response) -> JobOut:
    """Now, by a job; where one waits or works already, it is that. 409 for a source that is paused."""
    job = await sources.sync(
        services, source_id, retry_failed=body.retry_failed, accept_deletions=body.accept_deletions
    )
    response.headers["Location"] = f"/jobs/{job.id}"
    return job_out(job)


def _out(source: ConnectedSource) -> ConnectedSourceOut:
    wish = source.wish
    own = {"secrets": list(wish.secret_names)}
    values = {
        name: own[name] if name in own else getattr(wish if hasattr(wish, name) else source, name)
        for name in ConnectedSourceOut.model_fields
    }
    return ConnectedSourceOut(**values)


def _failed(file: FailedFile) -> FailedFileOut:
    return FailedFileOut(path=file.path, external_id=file.external_id, error=file.error, seen_at=file.seen_at)
