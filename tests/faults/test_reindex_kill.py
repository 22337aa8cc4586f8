"""kill -9 of `cairn worker` while it cuts a collection anew or makes vectors of another model: the old index serves all the
time, another worker takes the job over, and in the end all is as if nothing had happened."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from recounts import DRIFT, HALF
from scripted_replies import Reply
from scripted_server import ScriptedServer
from serving import starter
from starter import StartedProcess

from cairn.domain.job import Job
from cairn.service import models as model_service
from cairn.service.documents import get_collection, index_now
from cairn.service.jobs import get_job
from cairn.service.search import get_trace
from cairn.settings import SettingsStore, parse_settings, read_environment
from cairn.wiring import Services, open_services
from tests.documents import find, index_texts, text_source
from tests.waiting import until

pytestmark = [pytest.mark.fault, pytest.mark.siege]

OTHER = "other-model"
LOCAL = "all-MiniLM-L6-v2:int8"
QUICK = {"leaseSeconds": 60.0, "heartbeatSeconds": 0.3, "pollSeconds": 0.1, "retrySeconds": 0.1}
SMALLER = {"passageSize": 600, "passageOverlap": 50, "chunkSize": 200, "chunkOverlap": 20}


class Yard:
    """A served tenant, and worker processes beside it that can be killed."""

    def __init__(
        self, services: Services, superuser: asyncpg.Connection, variables: dict[str, str], folder: Path
    ) -> None:
        self.services = services
        self._superuser = superuser
        self._variables = variables
        self._folder = folder
        self._processes: list[StartedProcess] = []

    def start(self, **sections: Any) -> StartedProcess:
        """`cairn worker` with these sections of the settings."""
        settings = self._folder / f"worker-{len(self._processes)}" / "settings.json"
        settings.parent.mkdir()
        settings.write_text(json.dumps({"jobs": QUICK, **sections}))
        own = {**os.environ, **self._variables, "CAIRN_SETTINGS": str(settings)}
        process = starter().start(own, settings.with_name("log"), "worker")
        self._processes.append(process)
        return process

    def end_all(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()

    async def query(self, sql: str, *arguments: Any) -> list[Any]:
        """As the superuser, who sees everything."""
        found: list[Any] = await self._superuser.fetch(sql, *arguments)
        return found

    async def expire(self, job: Job) -> None:
        """As if the job's lease were over."""
        await self.query(
            "UPDATE rag.jobs SET lease_until = clock_timestamp() - interval '1 second' WHERE id = $1", job.id
        )

    async def killed(self, job: Job, halfway: Callable[[], Awaitable[int]], mark: int, **more: Any) -> Job:
        """The job as it ended: its worker was killed when `halfway` passed the mark, and another one ended it."""
        process = self.start(**more)
        await until(lambda: _passed(halfway, mark), 60)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert (await get_job(self.services, job.id)).status == "running", "killed too late: the test is void"
        await self.expire(job)
        self.start(**more)

        async def ended() -> bool:
            return (await get_job(self.services, job.id)).ended

        await until(ended, 120)
        return await get_job(self.services, job.id)


async def _passed(halfway: Callable[[], Awaitable[int]], mark: int) -> bool:
    return await halfway() >= mark


@pytest.fixture
def provider() -> Iterator[ScriptedServer]:
    """A second embedding model, with another dimension."""
    with ScriptedServer() as server:
        yield server


@pytest.fixture
async def yard(database: str, tmp_path: Path, provider: ScriptedServer) -> AsyncIterator[Yard]:
    variables = {
        "CAIRN_DATABASE_URL": database, "CAIRN_HOME": str(tmp_path / "home"), "CAIRN_TENANT": "one",
        "OPENAI_BASE_URL": provider.openai_url, "OPENAI_API_KEY": "key",
    }  # fmt: skip
    async with open_services(read_environment(variables), SettingsStore()) as services:
        superuser = await asyncpg.connect(database)
        made = Yard(services, superuser, variables, tmp_path)
        yield made
        made.end_all()
        await superuser.close()


@asynccontextmanager
async def searched_meanwhile(services: Services, check: Callable[[], Awaitable[None]]) -> AsyncIterator[Counter[str]]:
    """Runs the check again and again while the block runs; a failure of it fails the test."""
    runs, over = Counter[str](), asyncio.Event()

    async def keep_searching() -> None:
        while not over.is_set():
            await check()
            runs["searches"] += 1
            await asyncio.sleep(0.2)

    searching = asyncio.create_task(keep_searching())
    try:
        yield runs
    finally:
        over.set()
        await searching


async def test_backfill_survives_the_death_of_its_workers(yard: Yard, provider: ScriptedServer) -> None:
    """Only what is missing is embedded again; the old model serves until the flip, which finds every vector there."""
    services, total = yard.services, 180
    await index_texts(services, {f"d{i}": f"Note {i}: hikers pile stone {i} into a cairn." for i in range(total)})
    job = await model_service.start_backfill(services, "test", OTHER)
    asked = len(provider.requests)
    provider.script(*[Reply("ok", seconds=0.6)] * 40)

    async def made() -> int:
        return int((await yard.query("SELECT count(*) FROM rag.embeddings e JOIN rag.embedding_models m "
                                     "ON m.id = e.model_id WHERE m.name = $1", OTHER))[0][0])  # fmt: skip

    async def served_by_the_old_model() -> None:
        found = await find(services, "stone 7", legs=("vector",), cache=False, top_k=5)
        assert len(found.passages) == 5
        assert not found.degraded
        plan = (await get_trace(services, found.trace_id)).plan
        assert [part["model"] for part in plan["vector"]["parts"]] == [LOCAL]

    async with searched_meanwhile(services, served_by_the_old_model) as runs:
        ended = await yard.killed(job, made, 1)
    assert runs["searches"] > 10
    assert (ended.status, ended.error) == ("succeeded", None)
    assert ended.attempts >= 2, "a busy machine may cost the second worker its lease"
    embedded = sum(len(request.body["input"]) for request in provider.requests[asked:])
    assert total <= embedded <= total + (ended.attempts - 1) * 128, "each death costs a batch, no more"
    rows = await yard.query(
        "SELECT m.name, count(*) AS vectors, count(DISTINCT e.chunk_id) AS chunks, count(c.id) AS alive "
        "FROM rag.embeddings e JOIN rag.embedding_models m ON m.id = e.model_id "
        "LEFT JOIN rag.chunks c ON c.id = e.chunk_id GROUP BY 1"
    )
    assert {tuple(row) for row in rows} == {(LOCAL, total, total, total), (OTHER, total, total, total)}
    await model_service.flip_model(services, "test", OTHER)
    found = await find(services, "stone 7", legs=("vector",), cache=False, top_k=200)
    assert len(found.passages) == total
    await until(lambda: _nothing_left(yard))


async def test_reindex_survives_the_death_of_its_workers(yard: Yard) -> None:
    """Searches find every document once at all times; passages, vectors and statistics end as those of a fresh index."""
    services = yard.services
    texts = {f"d{i}": " ".join(f"Cairn {i} marks trail {n} over granite." for n in range(40)) for i in range(24)}
    sources = [text_source(name, text) for name, text in texts.items()]
    await index_now(services, "test", sources)
    before = await get_collection(services, "test")
    job = await model_service.start_reindex(services, "test", force=False)

    async def redone() -> int:
        return (await get_collection(services, "test")).epoch - before.epoch

    async def each_document_once() -> None:
        found = await find(services, "granite trail", group_by="document", top_k=100, cache=False)
        assert not found.degraded
        assert sorted(passage.external_id for passage in found.passages) == sorted(texts)
        for passage in found.passages:
            assert texts[passage.external_id][passage.start : passage.end] == passage.content

    async with searched_meanwhile(services, each_document_once) as runs:
        ended = await yard.killed(job, redone, 6, chunking=SMALLER)
    assert runs["searches"] > 10
    assert (ended.status, ended.error) == ("succeeded", None)
    assert ended.attempts >= 2, "a busy machine may cost the second worker its lease"
    assert ended.result is not None
    assert ended.result["redone"] <= len(texts) - 6, "what was done is not done again"
    assert await yard.query(HALF) == []
    assert await yard.query(DRIFT) == []
    await until(lambda: _nothing_left(yard))
    await same_as_fresh(yard, [text_source(name, text) for name, text in texts.items()])


async def _nothing_left(yard: Yard) -> bool:
    """No job unfinished, no upload, no transaction of a dead worker."""
    rows = await yard.query(
        "SELECT (SELECT count(*) FROM rag.jobs WHERE status NOT IN ('succeeded', 'cancelled'))"
        " + (SELECT count(*) FROM rag.uploads)"
        " + (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in %')"
    )
    return int(rows[0][0]) == 0


async def same_as_fresh(yard: Yard, sources: list[Any]) -> None:
    settings = parse_settings(json.dumps({"chunking": SMALLER}).encode())
    async with open_services(yard.services.environment, SettingsStore(initial=settings)) as fresh:
        await index_now(fresh, "fresh", sources)
    pieces = {
        name: await yard.query(
            "SELECT d.external_id, d.version, k.ordinal, k.char_start, k.char_end, k.content, p.content, e.content_hash, "
            "l.length, cardinality(l.keys) FROM rag.chunks k JOIN rag.documents d ON d.id = k.document_id "
            "JOIN rag.passages p ON p.id = k.passage_id JOIN rag.embeddings e ON e.chunk_id = k.id "
            "JOIN rag.lexical_index l ON l.passage_id = p.id JOIN rag.collections c ON c.id = d.collection_id "
            "WHERE c.name = $1 ORDER BY 1, 3",
            name,
        )
        for name in ("test", "fresh")
    }
    assert len(pieces["fresh"]) > 100
    assert pieces["test"] == pieces["fresh"]
