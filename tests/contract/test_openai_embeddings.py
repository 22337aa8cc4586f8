"""What becomes of every wrong answer of an embeddings server; what all embedders promise is in test_embedders."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

import numpy as np
import pytest
from quick import QUICK
from scripted_replies import Reply, vector
from scripted_server import ScriptedServer

from app.errors import ProviderError, ProviderResponseError, ProviderTimeoutError
from app.providers.openai_embeddings import BATCH_TEXTS, OpenAIEmbedder
from tests.waiting import patience

KEY = "sk-secret-7f3a"
TEXTS = ["alpha", "beta", "gamma"]


@pytest.fixture
async def embedder(server: ScriptedServer) -> AsyncIterator[OpenAIEmbedder]:
    made = OpenAIEmbedder("local-model", KEY, server.openai_url, retry=QUICK)
    await made.warm()
    server.requests.clear()
    yield made
    await made.close()


@pytest.mark.parametrize("kind", ["ok", "floats", "shuffled"])
async def test_good_answers_in_any_form(embedder: OpenAIEmbedder, server: ScriptedServer, kind: str) -> None:
    server.script(kind)
    vectors = await embedder.embed(TEXTS)
    for row, text in zip(vectors, TEXTS, strict=True):
        expected = np.array(vector(text, server.dimensions))
        np.testing.assert_allclose(row, expected / np.linalg.norm(expected), atol=1e-6)


@pytest.mark.parametrize(
    "kind", ["fewer", "more", "repeated", "dimension", "ragged", "zero", "malformed", "wrong_shape", "html_200"]
)
async def test_bad_answers_are_response_errors_and_not_retried(
    embedder: OpenAIEmbedder, server: ScriptedServer, kind: str
) -> None:
    server.script(*[kind] * 3)
    with pytest.raises(ProviderResponseError) as caught:
        await embedder.embed(TEXTS)
    assert not caught.value.retryable
    assert len(server.requests) == 1


@pytest.mark.parametrize(("kind", "requests"), [("401", 1), ("quota", 1), ("429", 3), ("500", 3), ("502", 3)])
async def test_failures(embedder: OpenAIEmbedder, server: ScriptedServer, kind: str, requests: int) -> None:
    server.script(*[kind] * 3)
    with pytest.raises(ProviderError) as caught:
        await embedder.embed(TEXTS)
    assert len(server.requests) == requests
    assert KEY not in f"{caught.value.detail} {caught.value.extra}"


async def test_stall_ends_at_the_deadline(server: ScriptedServer) -> None:
    server.script("stall")
    embedder = OpenAIEmbedder("text-embedding-3-small", KEY, server.openai_url, seconds=0.4, retry=QUICK)
    started = time.monotonic()
    with pytest.raises(ProviderTimeoutError):
        await embedder.embed(TEXTS)
    assert time.monotonic() - started < patience()
    await embedder.close()


async def test_only_the_failed_batch_is_asked_again(embedder: OpenAIEmbedder, server: ScriptedServer) -> None:
    server.script("ok", "500", "ok")
    texts = [f"text {n}" for n in range(BATCH_TEXTS + 5)]
    vectors = await embedder.embed(texts)
    assert len(vectors) == len(texts)
    assert [len(request.body["input"]) for request in server.requests] == [BATCH_TEXTS, 5, 5]


async def test_slow_answer_is_awaited(embedder: OpenAIEmbedder, server: ScriptedServer) -> None:
    server.script(Reply("ok", seconds=0.3))
    assert len(await embedder.embed(TEXTS)) == 3


async def test_dimension_is_known_asked_for_or_learnt(server: ScriptedServer) -> None:
    known = OpenAIEmbedder("text-embedding-3-large", KEY, server.openai_url)
    assert known.dimensions == 3072
    shorter = OpenAIEmbedder("text-embedding-3-large", KEY, server.openai_url, dimensions=256)
    assert (await shorter.embed(["x"])).shape == (1, 256)
    assert server.requests[-1].body["dimensions"] == 256
    unknown = OpenAIEmbedder("unheard-of", KEY, server.openai_url)
    with pytest.raises(ProviderError, match="not known yet"):
        _ = unknown.dimensions
    await unknown.warm()
    await unknown.warm()
    assert unknown.dimensions == server.dimensions
    assert len(server.requests) == 2
    for embedder in (known, shorter, unknown):
        await embedder.close()


async def test_long_inputs_are_cut_before_sending(server: ScriptedServer) -> None:
    embedder = OpenAIEmbedder("local-model", KEY, server.openai_url, max_tokens=50)
    await embedder.embed(["many words " * 500])
    assert embedder.tokens.count(server.requests[0].body["input"][0]) <= 50
    await embedder.close()
