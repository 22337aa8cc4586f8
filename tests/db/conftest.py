"""Fixtures for tests that read and write documents: the whole application on a fresh database."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.settings import Environment, SettingsStore, read_environment
from app.wiring import Services, open_services

# the scripted model server
sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "contract")]


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
    from dataclasses import replace

    async with open_services(replace(environment, tenant="two"), SettingsStore()) as opened:
        yield opened
