"""What an earlier release left comes up with this one: nothing is lost, and whoever asks meanwhile is answered.

The dumps are real ones (scripts/make_release_fixture.py). They come back in two ways: the database as it was, which this release
migrates while it is asked, and `cairn restore`."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from cairn.db import runtime
from cairn.db.embedded import EmbeddedServer
from cairn.db.migrate import migrate
from cairn.db.restore import restore
from cairn.db.schema import SchemaSource
from cairn.service import models as model_service
from cairn.service.jobs import get_job
from cairn.settings import SettingsStore, read_environment
from cairn.wiring import Services, open_services
from tests import release_state
from tests.faults.recounts import faults
from tests.release_state import COLLECTION, FOLLOW_UP, QUERIES, QUESTIONS, SESSION, cited, question
from tests.waiting import hang_guard

pytestmark = pytest.mark.asyncio(loop_scope="module")
READERS = 3
PACE_SECONDS = 0.1
"""Between two searches of a reader: others work meanwhile."""
LEFT = sorted(path.name.removesuffix(".dump.gz") for path in release_state.FOLDER.glob("*.dump.gz"))


@pytest.fixture(scope="module", params=LEFT)
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def dump(release: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("release") / "database.dump"
    file.write_bytes(gzip.decompress((release_state.FOLDER / f"{release}.dump.gz").read_bytes()))
    return file


@pytest.fixture(scope="module")
def written(release: str) -> dict[str, Any]:
    return release_state.read_description(release)


def without_follow_up(written: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in written.items() if name != "follow_up"}


@pytest.fixture(scope="module")
def left_behind(server: EmbeddedServer, template: str, psql: Callable[..., str], dump: Path) -> Iterator[str]:
    """The database as the release left it, with its own tables, functions and views; rights are no part of a dump, and are set as
    functions are, by whichever release migrates."""
    psql("CREATE DATABASE left_behind")
    psql("CREATE EXTENSION vector SCHEMA public", "left_behind")
    program = runtime.program(server.home / "postgres" / runtime.VERSION, "pg_restore")
    command: list[str | Path] = [program, "--no-owner", "--exit-on-error", "-d", server.dsn("left_behind"), dump]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    psql("DELETE FROM rag.schema_objects", "left_behind")
    psql("CREATE VIEW public.theirs AS SELECT DISTINCT text_search_config FROM analyst.passages", "left_behind")
    yield server.dsn("left_behind")
    psql("DROP DATABASE left_behind WITH (FORCE)")


async def read_until(services: Services, ended: asyncio.Event) -> int:
    """Search and ask until then, and see that each finds what it has to; how often."""
    read = 0
    for text, document in itertools.cycle(QUERIES.items()):
        async with hang_guard():
            assert await release_state.find_first(services, text) == document
            if read % len(QUERIES) == 0:
                answer = await question(services, QUESTIONS[0])
                assert "30 days" in answer.answer
                assert cited(answer) == ["handbook/leave.md"]
        read += 1
        if ended.is_set():
            break
        await asyncio.sleep(PACE_SECONDS)
    return read


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def upgraded(
    left_behind: str, written: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Services]:
    """Several processes' worth of services come up at once: one of them migrates, and each is asked as soon as it is there."""
    environment = read_environment(
        {"CAIRN_DATABASE_URL": left_behind, "CAIRN_HOME": str(tmp_path_factory.mktemp("home"))}
    )
    async with AsyncExitStack() as stack:

        async def come_up() -> Services:
            services = await stack.enter_async_context(open_services(environment, SettingsStore()))
            ended = asyncio.Event()
            ended.set()
            assert await read_until(services, ended) == 1
            return services

        async with hang_guard(60):
            first, *_ = await asyncio.gather(*(come_up() for _ in range(READERS)))
        yield first


async def test_nothing_is_lost_and_readers_are_answered_while_it_comes_up(
    upgraded: Services, left_behind: str, written: dict[str, Any]
) -> None:
    assert await release_state.describe(upgraded) == without_follow_up(written)
    connection = await asyncpg.connect(left_behind)
    assert await connection.fetchval("SELECT version_num FROM rag.alembic_version") == SchemaSource.installed().head
    assert await faults(connection) == {}
    assert await connection.fetch("SELECT * FROM public.theirs") == [("english",)], "views of others stay"
    await connection.close()


async def test_an_old_conversation_goes_on(upgraded: Services, written: dict[str, Any]) -> None:
    answer = await question(upgraded, FOLLOW_UP, SESSION)
    assert cited(answer) == written["follow_up"]["cited"]
    assert "5 days" in answer.answer
    assert await release_state.count_rows(upgraded) == written["rows"] | {"messages": written["rows"]["messages"] + 2}


@pytest.mark.siege
async def test_processes_that_serve_are_answered_while_another_one_migrates(
    upgraded: Services, left_behind: str, psql: Callable[..., str]
) -> None:
    """Functions, views, rights and policies are made anew under those who read by them."""
    psql("DELETE FROM rag.schema_objects", "left_behind")
    ended = asyncio.Event()
    reading = asyncio.create_task(read_until(upgraded, ended))
    async with hang_guard(60):
        assert (await migrate(left_behind)).action == "migrated"
        ended.set()
        assert await reading > 0


@pytest.mark.siege
async def test_readers_are_answered_while_everything_is_read_anew(upgraded: Services) -> None:
    """`cairn reread` and `cairn reindex`, as the notes after an upgrade say it."""
    async with upgraded.database.transaction(upgraded.principal) as connection:
        await connection.execute("UPDATE rag.documents SET loader_revision = 0, derived_revision = 0")
    ended = asyncio.Event()
    reading = asyncio.create_task(read_until(upgraded, ended))
    reread = await model_service.start_reread(upgraded, COLLECTION)
    reindex = await model_service.start_reindex(upgraded, COLLECTION, force=False)
    async with hang_guard(60):
        await upgraded.worker().run_until_idle()
        ended.set()
        assert await reading > 0
    for job in (reread, reindex):
        done = await get_job(upgraded, job.id)
        assert done.status == "succeeded", done.error
    assert await model_service.outdated_notes(upgraded) == []
    assert await release_state.first_found(upgraded) == QUERIES


@pytest.mark.siege
async def test_its_backup_is_restored(empty_database: str, dump: Path, written: dict[str, Any], tmp_path: Path) -> None:
    assert (await restore(empty_database, dump)).left_out == ()
    environment = read_environment({"CAIRN_DATABASE_URL": empty_database, "CAIRN_HOME": str(tmp_path)})
    async with open_services(environment, SettingsStore()) as services:
        assert await release_state.describe(services) == without_follow_up(written)
    connection = await asyncpg.connect(empty_database)
    assert await faults(connection) == {}
    await connection.close()
