"""Fixtures for tests that read and write documents: the whole application on a fresh database.

A module with `pytestmark = SHARED` (sharing.py) has one database and one application for all of its tests: `services` and
`chatty` are then those of a tenant that only the test has."""

from __future__ import annotations

import itertools
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from cairn.db.embedded import EmbeddedServer
from cairn.plugins import forget_extensions
from cairn.settings import Environment, SettingsStore, read_environment
from cairn.wiring import Services, open_services
from tests.bulk_environment import HASHED
from tests.conftest import Clones, write_package
from tests.db.tenants import asking_anew, talking_to, tenant_of
from tests.sharing import is_shared

# the scripted model server
sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "contract")]

from scripted_server import ScriptedServer  # noqa: E402
from talking import Talking  # noqa: E402


@pytest.fixture
def database(request: pytest.FixtureRequest, database: str) -> str:
    if is_shared(request):
        pytest.fail(
            "its module shares a database (tests/sharing.py): take environment.database_url or services.owner_dsn"
        )
    return database


@pytest.fixture
def own_environment(database: str, tmp_path: Path) -> Environment:
    return read_environment({"CAIRN_DATABASE_URL": database, "CAIRN_HOME": str(tmp_path), "CAIRN_TENANT": "one"})


@pytest.fixture
def environment(request: pytest.FixtureRequest) -> Environment:
    named: Environment = request.getfixturevalue("environment_of_module" if is_shared(request) else "own_environment")
    return named


@pytest.fixture
async def own_services(environment: Environment) -> AsyncIterator[Services]:
    async with open_services(environment, SettingsStore()) as opened:
        yield opened


@pytest.fixture
def services(request: pytest.FixtureRequest) -> Services:
    opened: Services = request.getfixturevalue("services_of_tenant" if is_shared(request) else "own_services")
    return opened


@pytest.fixture
async def own_other_tenant(environment: Environment) -> AsyncIterator[Services]:
    async with open_services(replace(environment, tenant="two"), SettingsStore()) as opened:
        yield opened


@pytest.fixture
def other_tenant(request: pytest.FixtureRequest) -> Services:
    """The same database, served for another tenant."""
    opened: Services = request.getfixturevalue("other_of_module" if is_shared(request) else "own_other_tenant")
    return opened


@pytest.fixture
def talking() -> Talking:
    """What the chat model of `chatty` says."""
    return Talking()


@pytest.fixture
def scripted(request: pytest.FixtureRequest, talking: Talking) -> Iterator[ScriptedServer]:
    if is_shared(request):
        shared: ScriptedServer = request.getfixturevalue("scripted_of_module")
        shared.begin(talking)
        yield shared
    else:
        with ScriptedServer(answer=talking) as running:
            yield running


@pytest.fixture
def protocol() -> str:
    """How agents are to call tools (agents.protocol); tests of what holds either way are parametrized by it. The scripted
    server takes tools, and the same script is played by tool calls or in words."""
    return "auto"


@pytest.fixture
async def own_chatty(environment: Environment, scripted: ScriptedServer) -> AsyncIterator[Services]:
    async with open_services(talking_to(scripted, environment), SettingsStore()) as opened:
        yield opened


@pytest.fixture
def chatty(request: pytest.FixtureRequest, scripted: ScriptedServer, protocol: str) -> Services:
    """Services with a chat model that is a real HTTP server; it is not asked to rerank."""
    opened: Services = request.getfixturevalue("chatty_of_tenant" if is_shared(request) else "own_chatty")
    rag = opened.settings.current.rag.model_copy(update={"reranking_enabled": False})
    agents = opened.settings.current.agents.model_copy(update={"protocol": protocol})
    opened.settings.current = opened.settings.current.model_copy(update={"rag": rag, "agents": agents})
    return opened


@pytest.fixture(scope="module")
def hashed_vectors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """For modules that index much and are about words, or about any vectors: half of their time would go into those of a model.
    `pytest.mark.usefixtures("hashed_vectors")`"""
    package = "hashed_for_cairn"
    folder = write_package(
        tmp_path_factory.mktemp("hashed"), package, HASHED, providers={"hashed": f"{package}:HASHED"}
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        patch.setenv("CAIRN_EMBEDDING_MODEL", "hashed:one")
        forget_extensions()
        yield
    sys.modules.pop(package, None)
    forget_extensions()


# --- what the tests of a module share -------------------------------------------------------------------------------------

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def environment_of_module(
    server: EmbeddedServer, clones: Clones, template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Environment]:
    name = f"module_{next(_numbers)}"
    clones.make(name, template)
    home = str(tmp_path_factory.mktemp(name))
    yield read_environment({"CAIRN_DATABASE_URL": server.dsn(name), "CAIRN_HOME": home, "CAIRN_TENANT": "one"})
    clones.drop(name)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def services_of_module(environment_of_module: Environment) -> AsyncIterator[Services]:
    async with open_services(environment_of_module, SettingsStore()) as opened:
        yield opened


@pytest.fixture(scope="module")
def scripted_of_module() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chatty_of_module(
    environment_of_module: Environment, scripted_of_module: ScriptedServer
) -> AsyncIterator[Services]:
    async with open_services(talking_to(scripted_of_module, environment_of_module), SettingsStore()) as opened:
        yield opened


@pytest.fixture
async def own_owner(database: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(database)
    yield connection
    await connection.close()


@pytest_asyncio.fixture(loop_scope="module")
async def owner_of_module(environment_of_module: Environment) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(str(environment_of_module.database_url))
    yield connection
    await connection.close()


@pytest.fixture
def owner(request: pytest.FixtureRequest) -> Any:
    """A connection of who owns the test's database, whom row security does not bind."""
    return request.getfixturevalue("owner_of_module" if is_shared(request) else "own_owner")


@pytest_asyncio.fixture(loop_scope="module")
async def services_of_tenant(services_of_module: Services) -> AsyncIterator[Services]:
    async with tenant_of(services_of_module) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def chatty_of_tenant(chatty_of_module: Services) -> AsyncIterator[Services]:
    async with asking_anew(chatty_of_module) as anew, tenant_of(anew) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def other_of_module(services_of_module: Services) -> AsyncIterator[Services]:
    async with tenant_of(services_of_module) as opened:
        yield opened
