"""A status that nobody works on any more ends: documents and jobs of processes that were killed, as their users see them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from serving import starter

from cairn.ingest.pipeline import ABANDONED, ABANDONED_SECONDS
from cairn.service.documents import get_collection, get_document, index_later, index_now, list_documents
from cairn.service.jobs import get_job, list_jobs
from cairn.service.models import list_models
from cairn.settings import SettingsStore, read_environment
from cairn.store import documents, jobs
from cairn.wiring import Services, open_services
from tests.documents import text_source
from tests.waiting import hang_guard

pytestmark = pytest.mark.fault

LONG = "\n\n".join(f"Paragraph {n} says that stone {n} lies beside stone {n + 1} on the trail." for n in range(5_000))


@pytest.fixture
async def services(database: str, tmp_path: Path) -> AsyncIterator[Services]:
    environment = read_environment(
        {"CAIRN_DATABASE_URL": database, "CAIRN_HOME": str(tmp_path), "CAIRN_TENANT": "default"}
    )
    async with open_services(environment, SettingsStore()) as opened:
        yield opened


@pytest.fixture
async def owner(database: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(database)
    yield connection
    await connection.close()


async def later(owner: Any, seconds: float) -> None:
    """As if so much time had passed for documents."""
    await owner.execute("UPDATE rag.documents SET updated_at = updated_at - $1::interval", timedelta(seconds=seconds))


async def statuses(services: Services) -> dict[str, str]:
    return {document.external_id: document.status for document in await list_documents(services, "left")}


async def test_a_document_whose_process_was_killed_is_failed_and_can_be_handed_over_again(
    services: Services, owner: Any, database: str, tmp_path: Path
) -> None:
    file = tmp_path / "trail" / "long.txt"
    file.parent.mkdir()
    file.write_text(LONG)
    environment = {
        **os.environ,
        "CAIRN_DATABASE_URL": database,
        "CAIRN_HOME": str(tmp_path),
    }
    command = ("ingest", str(file.parent), "--collection", "left")
    process = starter().start(environment, tmp_path / "log", *command, folder=tmp_path)
    try:
        async with hang_guard(60):
            while not await owner.fetchval(
                "SELECT count(*) FROM rag.documents WHERE status IN ('parsing', 'embedding')"
            ):
                await asyncio.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    [(name, status)] = (await statuses(services)).items()
    assert status in ("parsing", "embedding")  # it may still be at work
    await later(owner, ABANDONED_SECONDS + 1)
    assert await statuses(services) == {name: "failed"}
    (left,) = await list_documents(services, "left")
    assert left.error == ABANDONED
    assert (await get_document(services, "left", left.id))[0].status == "failed"
    await index_now(services, "left", [text_source(name, "A short one this time.")])
    assert await statuses(services) == {name: "indexed"}


async def test_what_somebody_works_on_or_waits_for_goes_on(services: Services, owner: Any) -> None:
    job = await index_later(
        services, "left", [text_source("waiting", "It waits for a worker."), text_source("given up", "x")]
    )
    found = await get_collection(services, "left")
    async with services.database.transaction(services.principal) as connection:
        for name in ("renewed", "dead"):
            await documents.register(connection, services.principal, found.id, text_source(name, "x"), b"x", "parsing")
    await owner.execute("DELETE FROM rag.uploads WHERE external_id = 'given up'")
    await later(owner, ABANDONED_SECONDS + 1)
    async with services.database.transaction(services.principal) as connection:
        await documents.keep_alive(connection, services.principal, found.id, ["renewed"])
    expected = {"dead": "failed", "given up": "failed", "renewed": "parsing", "waiting": "pending"}
    assert await statuses(services) == expected
    assert (await get_job(services, job.id)).status == "queued"
    await services.worker().run_until_idle()
    assert (await statuses(services))["waiting"] == "indexed"


async def test_a_job_whose_worker_was_killed_waits_for_another(
    services: Services, owner: Any, database: str, tmp_path: Path
) -> None:
    async with services.database.transaction(services.principal) as connection:
        job = await jobs.enqueue(connection, services.principal, "work", {"seconds": 600}, max_attempts=3)
    script, settings = Path(__file__).with_name("worker_process.py"), {"leaseSeconds": 60.0, "heartbeatSeconds": 0.3}
    command = (str(script), database, str(tmp_path / "journal"), json.dumps(settings))
    process = starter().start(dict(os.environ), tmp_path / "log", *command)
    try:
        async with hang_guard(30):
            while (await get_job(services, job.id)).status != "running":
                await asyncio.sleep(0.05)
    finally:
        process.kill()
        process.wait()
    await owner.execute(
        "UPDATE rag.jobs SET lease_until = clock_timestamp() - interval '1 second' WHERE id = $1", job.id
    )
    async with hang_guard(20):
        while (seen := (await list_jobs(services))[0]).status == "running":
            await asyncio.sleep(0.1)
    assert (seen.status, seen.worker, seen.attempts) == ("queued", None, 1)


async def test_a_backfill_whose_job_was_given_up_has_stopped(services: Services, owner: Any) -> None:
    await index_now(services, "left", [text_source("one", "A stone.")])
    await owner.execute("INSERT INTO rag.embedding_models (name, dimensions) VALUES ('other', 3)")
    await owner.execute(
        "INSERT INTO rag.collection_models (tenant_id, collection_id, model_id, state) "
        "SELECT c.tenant_id, c.id, m.id, 'backfilling' FROM rag.collections c, rag.embedding_models m WHERE m.name = 'other'"
    )
    states = {one.model: one.state for one in (await list_models(services)).collections}
    assert states["other"] == "stopped"
