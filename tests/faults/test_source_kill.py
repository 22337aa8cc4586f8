"""kill -9 of `cairn worker` while it reads a source: what was published stays and is not read again, the rest follows."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import asyncpg
import pytest
from serving import starter

from cairn.domain.connected_source import SourceWish
from cairn.jobs.sources import SYNC_SOURCE
from cairn.service import sources
from cairn.service.documents import list_documents
from cairn.service.jobs import get_job
from cairn.settings import SettingsStore, read_environment
from cairn.wiring import open_services
from tests.waiting import until

pytestmark = [pytest.mark.fault, pytest.mark.siege]

FILES = 80
READ = "SELECT path, seen_at FROM rag.source_files WHERE state = 'indexed'"


async def test_a_source_whose_worker_was_killed_goes_on_where_it_was(database: str, tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    for number in range(FILES):
        (folder / f"{number:02}.md").write_text(f"Paper {number} is about harbour {number}.")
    variables = {"CAIRN_DATABASE_URL": database, "CAIRN_HOME": str(tmp_path / "home"), "CAIRN_TENANT": "one"}
    async with open_services(read_environment(variables), SettingsStore()) as services:
        superuser = await asyncpg.connect(database)
        wish = SourceWish(str(folder), "papers", requests_per_second=20.0)  # so that it is killed on its way
        source, job = await sources.add_source(services, "default", wish, local=True)
        process = starter().start({**os.environ, **variables}, tmp_path / "log", "worker")

        async def some() -> bool:
            return len(await superuser.fetch(READ)) >= 4

        try:
            await until(some, 60)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        before = {row["path"]: row["seen_at"] for row in await superuser.fetch(READ)}
        assert 4 <= len(before) < FILES
        assert (await get_job(services, job.id)).status == "running"
        await superuser.execute("UPDATE rag.jobs SET lease_until = clock_timestamp() - interval '1 second'")
        await superuser.execute("UPDATE rag.sources SET requests_per_second = NULL")
        await services.worker(kinds={SYNC_SOURCE}).run_until_idle()
        ended = await get_job(services, job.id)
        assert ended.status == "succeeded"
        assert ended.result is not None
        assert ended.result["unchanged"] == len(before)
        after = {row["path"]: row["seen_at"] for row in await superuser.fetch(READ)}
        assert len(after) == FILES
        assert {path: after[path] for path in before} == before, "read again"
        found = await list_documents(services, "default", limit=100)
        assert {(one.external_id, one.version, one.status) for one in found} == {
            (f"papers/{number:02}.md", 1, "indexed") for number in range(FILES)
        }
        assert (await sources.get_source(services, source.id)).last_error is None
        await superuser.close()
