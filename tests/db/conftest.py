"""Fixtures for tests that read and write documents: the whole application on a fresh database."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cairn.settings import Environment, SettingsStore, read_environment
from cairn.wiring import Services, open_services

# the scripted model server
sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "contract")]

from scripted_server import ScriptedServer  # noqa: E402
from talking import Talking  # noqa: E402


@pytest.fixture
def environment(database: str, tmp_path: Path) -> Environment:
    return read_environment({"CAIRN_DATABASE_URL": database, "CAIRN_HOME": str(tmp_path), "CAIRN_TENANT": "one"})


@pytest.fixture
async def services(environment: Environment) -> AsyncIterator[Services]:
    async with open_services(environment, SettingsStore()) as opened:
        yield opened


@pytest.fixture
async def other_tenant(environment: Environment) -> AsyncIterator[Services]:
    """The same database, served for another tenant."""
    async with open_services(replace(environment, tenant="two"), SettingsStore()) as opened:
        yield opened


@pytest.fixture
def talking() -> Talking:
    """What the chat model of `chatty` says."""
    return Talking()


@pytest.fixture
def scripted(talking: Talking) -> Iterator[ScriptedServer]:
    with ScriptedServer(answer=talking) as running:
        yield running


@pytest.fixture
def protocol() -> str:
    """How agents are to call tools (agents.protocol); tests of what holds either way are parametrized by it. The scripted
    server takes tools, and the same script is played by tool calls or in words."""
    return "auto"


@pytest.fixture
async def chatty(environment: Environment, scripted: ScriptedServer, protocol: str) -> AsyncIterator[Services]:
    """Services with a chat model that is a real HTTP server; it is not asked to rerank."""
    with_model = replace(environment, openai_base_url=scripted.openai_url, openai_api_key="key")
    async with open_services(with_model, SettingsStore()) as opened:
        rag = opened.settings.current.rag.model_copy(update={"reranking_enabled": False})
        agents = opened.settings.current.agents.model_copy(update={"protocol": protocol})
        opened.settings.current = opened.settings.current.model_copy(update={"rag": rag, "agents": agents})
        yield opened
