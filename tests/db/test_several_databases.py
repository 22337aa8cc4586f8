"""What one process shares over its databases and what each has of its own: workers, and connections that are refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from cairn.db.embedded import EmbeddedServer
from cairn.domain.principal import Principal
from cairn.errors import DatabaseUnavailableError
from cairn.service.documents import index_later
from cairn.service.jobs import get_job
from cairn.service.tenant_databases import TenantDatabases, run_workers
from cairn.settings import DatabaseUrls, Environment, SettingsStore, TenantMap
from cairn.wiring import Services, open_services
from tests.db.pooler import pooler
from tests.documents import find, index_texts, text_source
from tests.waiting import until


@pytest.fixture
def second(server: EmbeddedServer, psql: Callable[..., str], template: str) -> Iterator[str]:
    psql(f"CREATE DATABASE second TEMPLATE {template} STRATEGY file_copy")
    yield server.dsn("second")
    psql("DROP DATABASE second WITH (FORCE)")


def mapped(environment: Environment, **databases: str) -> Environment:
    """Tenants are called as their databases are."""
    urls = {name: DatabaseUrls(url) for name, url in databases.items()}
    return replace(environment, tenant_map=TenantMap(urls, {name: name for name in databases}))


@asynccontextmanager
async def nothing_beside(_name: str, _services: Services) -> AsyncIterator[None]:
    yield


@pytest.fixture
async def both(environment: Environment, second: str) -> AsyncIterator[Services]:
    async with open_services(mapped(environment, east=second), SettingsStore()) as opened:
        yield opened


@pytest.mark.siege
async def test_models_are_shared_and_everything_else_is_not(both: Services) -> None:
    databases = TenantDatabases(both)
    with pytest.raises(DatabaseUnavailableError, match="cannot be used now"):
        databases.find("east")
    async with databases.opened(nothing_beside):
        east = databases.find("east")
        assert databases.find("one") is databases.find("anybody") is both
        assert east.search_deps.embedder is both.search_deps.embedder
        assert east.models is both.models
        own = ("database", "probe", "traces", "runs", "permits", "slots", "admission", "spending", "search_deps")
        assert [name for name in own if getattr(east, name) is getattr(both, name)] == []
        await index_texts(both, {"a": "Tin is light."})
        await index_texts(east, {"a": "Lead is heavy."})
        for _ in range(2):  # the second time out of the caches
            assert [passage.content for passage in (await find(both, "heavy or light")).passages] == ["Tin is light."]
            assert [passage.content for passage in (await find(east, "heavy or light")).passages] == ["Lead is heavy."]
    with pytest.raises(DatabaseUnavailableError):
        databases.find("east")


async def order(services: Services) -> UUID:
    return (await index_later(services, "test", [text_source("a", "Tin is light.")])).id


async def test_a_worker_does_the_jobs_of_every_database(both: Services, caplog: pytest.LogCaptureFixture) -> None:
    stop, databases = asyncio.Event(), TenantDatabases(both)
    working = asyncio.create_task(run_workers(both, stop))
    async with databases.opened(nothing_beside):
        for services in (both, databases.find("east")):
            job = await order(services)

            async def done(services: Services = services, job: UUID = job) -> bool:
                return (await get_job(services, job)).status == "succeeded"

            await until(done)
        stop.set()
        await working


@pytest.mark.siege
async def test_a_worker_of_a_database_that_cannot_be_reached_works_on_the_others(
    environment: Environment, tmp_path: Path
) -> None:
    nowhere = f"postgresql://cairn@/cairn?host={tmp_path}"
    stop = asyncio.Event()
    async with open_services(mapped(environment, east=nowhere), SettingsStore()) as services:
        job = await order(services)
        working = asyncio.create_task(run_workers(services, stop))

        async def done() -> bool:
            return (await get_job(services, job)).status == "succeeded"

        await until(done)
        stop.set()
        await working


async def test_each_database_is_asked_for_its_rights(environment: Environment, second: str, tmp_path: Path) -> None:
    """A pooler before one of them drops the role: nothing is served from there, and all of the other."""
    async with pooler(second, tmp_path) as between:
        between.ignored = frozenset({"role"})
        told = mapped(environment, east=second)
        urls = {"east": DatabaseUrls(second, between.dsn)}
        told = replace(told, tenant_map=replace(told.tenant_map, databases=urls))
        async with open_services(told, SettingsStore()) as services:
            databases = TenantDatabases(services)
            async with databases.opened(nothing_beside):
                with pytest.raises(DatabaseUnavailableError):
                    databases.find("east")
                states = await databases.check()
                assert states["default"].problem is None
                assert states["east"].problem == "Unsafe database role (database.not_opened in the log says why)"
                await index_texts(services, {"a": "Tin is light."})
                between.ignored = frozenset()
                await until(lambda: "east" in databases.open)
                assert (await databases.check())["east"].problem is None
                principal = Principal(1, "east")
                async with databases.find("east").database.transaction(principal) as connection:
                    assert await connection.fetchval("SELECT current_user") == "cairn_app"
