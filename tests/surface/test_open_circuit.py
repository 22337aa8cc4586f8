"""A chat model that is down, as callers and operators see it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted_server import ScriptedServer
from serving import Api, serving

pytestmark = pytest.mark.siege

SETTINGS = '{"providers": {"circuitFailures": 2, "circuitSeconds": 600}, "rag": {"rerankerProvider": "none"}}'


@pytest.fixture(scope="module")
def remote() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


@pytest.fixture
def with_chat(fresh_database: Callable[[], str], tmp_path: Path, model: Path, remote: ScriptedServer) -> Iterator[Api]:
    with serving(
        fresh_database(), tmp_path, CAIRN_MODEL_DIR=str(model), OPENAI_API_KEY="key", OPENAI_BASE_URL=remote.openai_url
    ) as running:
        yield running


def test_an_open_circuit_is_seen_and_answers_are_extracted_meanwhile(with_chat: Api, remote: ScriptedServer) -> None:
    api, before = with_chat, with_chat.revision
    api.write_settings(SETTINGS)
    api.await_until(lambda: api.revision != before)
    api.index("notes", a="A cairn is a pile of stones that marks a trail.")
    remote.script(*["401"] * 2)

    def ask() -> dict[str, Any]:
        answer = api.client.post("/query", json={"question": "What is a cairn?", "collection": "notes"})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    for _ in range(2):
        assert "401" in str(ask()["degraded"])
    asked = len(remote.requests)
    found = ask()
    assert found["model_failure"]["sentence"] == "The chat model rejects its key (401). This answer is a quotation."
    assert "not asked again for" in str(found["degraded"])
    assert "pile of stones" in found["answer"]
    assert len(remote.requests) == asked, "nobody waits for a model that is down"
    ready = api.client.get("/health/ready").json()
    (circuit,) = [one for one in ready["circuits"] if one["name"].startswith("chat ")]
    assert (ready["status"], circuit["state"], circuit["failures"]) == ("ready", "open", 2)
    assert circuit["retry_in_seconds"] > 0
    assert any(re.match(r"chat gpt-4o-mini failed \d+ s ago: gpt-4o-mini: HTTP 401", one) for one in ready["problems"])
    assert "401" in circuit["problem"]
    assert 'cairn_provider_circuit{model="chat gpt-4o-mini"} 2.0' in api.client.get("/metrics").text
