"""kill -9 of `cairn worker` while a chat model extracts: another worker goes on with the batch that was being asked."""

from __future__ import annotations

import signal

import pytest
from scripted_replies import Reply
from scripted_server import ScriptedServer
from test_reindex_kill import Yard, provider, yard

from cairn.ingest.model_jobs import MODEL, enqueue
from cairn.service.jobs import get_job
from tests.documents import index_texts
from tests.waiting import until

pytestmark = pytest.mark.siege

__all__ = ["provider", "yard"]

SETTINGS = {"graph": {"model": {"enabled": True}}}


async def test_a_killed_worker_repeats_one_call_at_most(yard: Yard, provider: ScriptedServer) -> None:
    services, total = yard.services, 6
    await index_texts(services, {f"d{i}": f"the tin works made {i} cups." for i in range(total)})
    reply = '{"passage": 1, "entities": [{"name": "tin works", "kind": "organisation"}]}'
    good = Reply("ok", text=reply)
    provider.script(good, good, good, Reply("stall"), *[good] * total)
    async with services.database.transaction(services.principal) as connection:
        collection_id = await connection.fetchval("SELECT id FROM rag.collections")
        job = await enqueue(connection, services.principal, MODEL, collection_id)
    process = yard.start(**SETTINGS)

    async def asked_four_times() -> bool:
        return len(provider.requests) == 4

    await until(asked_four_times, 60)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (await get_job(services, job.id)).status == "running", "killed too late: the test is void"
    await yard.expire(job)
    yard.start(**SETTINGS)

    async def ended() -> bool:
        return (await get_job(services, job.id)).ended

    await until(ended, 60)
    done = await get_job(services, job.id)
    assert done.status == "succeeded", done.error
    assert done.result is not None
    assert (done.result["documents"], done.result["calls"]) == (total - 3, total), "usage is of all attempts"
    assert len(provider.requests) == total + 1
    found = await yard.query("SELECT count(*) FROM rag.mentions WHERE by_model")
    assert found[0][0] == total
