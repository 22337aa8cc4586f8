"""Tenants and clients that only one test has, of an application that the tests of a module share.

Not in conftest.py: pytest loads that under another name than a test that imports from it, and names would be given out twice."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from cairn.domain.principal import Principal
from cairn.providers.circuit import Circuits, Limits
from cairn.providers.configured import ConfiguredChatModels
from cairn.service.search import clear_cache
from cairn.settings import Environment, Settings, SettingsStore
from cairn.wiring import Services
from tests.db.runs import change

if TYPE_CHECKING:
    from scripted_server import ScriptedServer

_numbers = itertools.count(1)


def talking_to(server: ScriptedServer, environment: Environment) -> Environment:
    return replace(environment, openai_base_url=server.openai_url, openai_api_key="key")


@asynccontextmanager
async def tenant_of(opened: Services) -> AsyncIterator[Services]:
    """For one test: settings as at the start, and at the end no job that the worker of another test would do."""
    name = f"tenant {next(_numbers)}"
    async with opened.database.connection() as connection:
        tenant = await connection.fetchval("SELECT rag.ensure_tenant($1)", name)
    opened.settings.current = Settings()
    principal = Principal(tenant, name)
    yield replace(opened, principal=principal, environment=replace(opened.environment, tenant=name))
    async with opened.database.transaction(principal) as connection:
        await connection.execute("DELETE FROM rag.jobs")


@asynccontextmanager
async def asking_anew(opened: Services) -> AsyncIterator[Services]:
    """With clients of chat models that no test has used: one remembers that its server takes no tools, and a circuit its
    failures."""
    store = opened.settings
    circuits = Circuits(
        lambda: Limits(store.current.providers.circuit_failures, store.current.providers.circuit_seconds)
    )
    chats = ConfiguredChatModels(opened.environment, circuits)
    models = replace(opened.models, chats=chats, circuits=circuits)
    yield replace(opened, chat_for=chats.get, circuits=circuits, models=models)
    await chats.close()


@asynccontextmanager
async def on_documents_of(filled: Services, protocol: str = "auto") -> AsyncIterator[Services]:
    """For a test that only asks, where no test changes the documents: settings that it alone has, and nothing that another one
    has found or said."""
    async with asking_anew(replace(filled, settings=SettingsStore())) as opened:
        change(opened, "rag", reranking_enabled=False)
        change(opened, "agents", protocol=protocol)
        await clear_cache(opened)
        async with opened.database.transaction(opened.principal) as connection:
            await connection.execute("DELETE FROM rag.sessions; DELETE FROM rag.qa_sessions")
        yield opened
