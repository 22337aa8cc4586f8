"""Tools that change something: documents indexed, collections rebuilt and made; and jobs, which do the long ones.

None deletes: what an agent has added by mistake, its user removes.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any
from uuid import UUID

from pydantic import Field

from cairn.domain.access import MOST_NAMES, check_access
from cairn.domain.document import Indexed, Source
from cairn.domain.job import Job
from cairn.domain.names import id_of_text
from cairn.errors import InputError
from cairn.interfaces.mcp.addresses import document_uri
from cairn.interfaces.mcp.shapes import ChosenDocument, CustomIndex, IndexedDocument, JobInfo
from cairn.interfaces.mcp.tooling import InCollection, ToolAnswer, ToolInput, ToolWork, choose_collection
from cairn.service.documents import check_collection_name, check_source, index_now
from cairn.service.jobs import get_job
from cairn.service.models import start_reindex
from cairn.service.subsets import create_custom_index

LOOK_SECONDS = 0.3
"""How often a job that is waited for is looked at."""
MAX_WAIT_SECONDS = 60


class NewDocument(ToolInput):
    text: str = Field(min_length=1, description="The whole text; Markdown headings become sections.")
    title: str | None = Field(None, description="Stands with each passage.")
    external_id: str | None = Field(
        None, description="Your id for it: the same one again replaces it. Default: made of the text."
    )
    collection: str | None = Field(None, description="Created if need be; default: the configured one.")
    metadata: dict[str, Any] = Field({}, description="Searches can filter by it.")
    access: list[str] | None = Field(
        None, max_length=MOST_NAMES,
        description="Who may read it: group:<name>, person:<subject>, key:<id>; nobody: as the rules of its folder say. Left "
        "out: as it is. Needs the scope admin.",
    )  # fmt: skip


async def index_document(work: ToolWork, new: NewDocument) -> ToolAnswer:
    services, content = work.services, new.text.encode()
    settings = services.settings.current
    collection = check_collection_name(new.collection or settings.rag.collection_name)
    key = new.external_id or id_of_text(new.title, content, restricted=bool(new.access))
    source = Source(key, key, content, title=new.title, media_type="text/plain", metadata=new.metadata, is_text=True)
    if new.access is not None:
        source = replace(source, access=check_access(new.access))
    (outcome,) = await index_now(services, collection, [check_source(source, settings)])
    if not isinstance(outcome, Indexed):
        raise InputError(f"{outcome.external_id} was not indexed: {outcome.error}", reason=outcome.code)
    result = IndexedDocument(
        collection=collection, id=outcome.document_id, external_id=outcome.external_id, change=outcome.change,
        chunk_count=outcome.chunk_count, uri=document_uri(collection, outcome.document_id),
    )  # fmt: skip
    return ToolAnswer(result, f"{outcome.external_id} in {collection}: {outcome.change}. {result.uri}")


class Waiting(InCollection):
    wait_seconds: float = Field(
        20, ge=0, le=MAX_WAIT_SECONDS, description="Wait so long for the job; it goes on in any case (get_job)."
    )


class ReindexWanted(Waiting):
    force: bool = Field(False, description="Also documents that would come out as they are.")


async def reindex_collection(work: ToolWork, wanted: ReindexWanted) -> ToolAnswer:
    collection = await choose_collection(work.services, wanted.collection)
    job = await start_reindex(work.services, collection, force=wanted.force)
    return _told(await _follow(work, job, wanted.wait_seconds))


class IndexWanted(Waiting):
    index_name: str = Field(description="Name of the new collection: letters, digits, '.', '_', '-'.")
    topic_filter: str = Field(description="What the documents to take are about.")
    filters: dict[str, Any] | None = Field(None, description="Only documents whose metadata contain this object.")
    max_documents: int = Field(50, ge=1, le=200, description="Documents to take at most, those that say most about it.")


async def make_custom_index(work: ToolWork, wanted: IndexWanted) -> ToolAnswer:
    collection = await choose_collection(work.services, wanted.collection)
    made = await create_custom_index(
        work.services, wanted.index_name, wanted.topic_filter, collection, filters=wanted.filters,
        max_documents=wanted.max_documents,
    )  # fmt: skip
    job = JobInfo.of(await _follow(work, made.job, wanted.wait_seconds))
    chosen = [
        ChosenDocument(external_id=one.external_id, title=one.title, score=round(one.score, 4)) for one in made.chosen
    ]
    result = CustomIndex(collection=wanted.index_name, source=collection, job=job, documents=chosen)
    head = f"{wanted.index_name}: {len(chosen)} documents of {collection}; job {job.id} is {job.status}"
    return ToolAnswer(result, "\n".join([head, *(f"{one.external_id} ({one.score:.2f})" for one in chosen)]))


class JobWanted(ToolInput):
    job_id: UUID
    wait_seconds: float = Field(0, ge=0, le=MAX_WAIT_SECONDS, description="Wait so long for its end.")


async def look_at_job(work: ToolWork, wanted: JobWanted) -> ToolAnswer:
    return _told(await _follow(work, await get_job(work.services, wanted.job_id), wanted.wait_seconds))


async def _follow(work: ToolWork, job: Job, seconds: float) -> Job:
    """The job when it has ended, or as it is after so long; a worker does it."""
    until = time.monotonic() + seconds
    while not job.ended and time.monotonic() < until:
        if job.progress.total:
            await work.report(100 * job.progress.done / job.progress.total, job.progress.message)
        await asyncio.sleep(LOOK_SECONDS)
        job = await get_job(work.services, job.id)
    return job


def _told(job: Job) -> ToolAnswer:
    result = JobInfo.of(job)
    done, total = result.progress.done, result.progress.total
    steps = f", {done} of {total}" if total else ""
    parts = [f"Job {result.id} ({result.kind}, {result.collection}) is {result.status}{steps}"]
    parts += [f"result: {result.result}"] if result.result else []
    parts += [f"error: {result.error}"] if result.error else []
    return ToolAnswer(result, "; ".join(parts))
