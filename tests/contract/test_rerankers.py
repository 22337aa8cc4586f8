"""What a Reranker promises (protocols.Reranker; A5.02, A5.03), and what becomes of wrong answers."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

import pytest
from quick import QUICK
from scripted_replies import Reply
from scripted_server import ScriptedServer

from app.errors import ProviderError, ProviderResponseError, ProviderTimeoutError
from app.providers.cohere import CohereReranker
from app.providers.protocols import Ranked, Reranker

KEY = "co-secret-7f3a"
QUERY = "lift of a wing"
DOCUMENTS = ["cats and dogs", "the lift of a thin wing", "a wing", "drag", "lift of a wing"]


@pytest.fixture(params=["cohere"])
async def reranker(server: ScriptedServer) -> AsyncIterator[Reranker]:
    made = CohereReranker(KEY, base_url=server.url, seconds=5, retry=QUICK)
    yield made
    await made.close()


# --- what is promised -----------------------------------------------------------------------------------------------


async def test_best_first_and_at_most_top_n(reranker: Reranker) -> None:
    ranked = await reranker.rerank(QUERY, DOCUMENTS, top_n=3)
    assert ranked == [Ranked(1, 1.0), Ranked(4, 1.0), Ranked(2, 0.5)]


async def test_all_when_fewer_than_top_n(reranker: Reranker) -> None:
    ranked = await reranker.rerank(QUERY, DOCUMENTS, top_n=50)
    assert sorted(item.index for item in ranked) == [0, 1, 2, 3, 4]
    assert all(0 <= item.score <= 1 for item in ranked)


async def test_nothing_to_rank(reranker: Reranker, server: ScriptedServer) -> None:
    assert await reranker.rerank(QUERY, [], top_n=5) == []
    assert await reranker.rerank(QUERY, DOCUMENTS, top_n=0) == []
    assert not server.requests


async def test_same_call_same_ranking(reranker: Reranker) -> None:
    first = await reranker.rerank(QUERY, DOCUMENTS, top_n=5)
    assert first == await reranker.rerank(QUERY, DOCUMENTS, top_n=5)


async def test_odd_texts(reranker: Reranker) -> None:
    assert len(await reranker.rerank("\ud800", ["", "\x00", "\udfff"], top_n=3)) == 3


async def test_default_model(reranker: Reranker, server: ScriptedServer) -> None:
    await reranker.rerank(QUERY, DOCUMENTS, top_n=2)
    assert reranker.name == server.requests[0].body["model"] == "rerank-v3.5"


# --- what goes wrong ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    ["out_of_range", "negative", "repeated", "fewer", "score", "malformed", "wrong_shape", "html_200"],
)
async def test_bad_answers_are_response_errors_and_not_retried(
    reranker: Reranker, server: ScriptedServer, kind: str
) -> None:
    server.script(*[kind] * 3)
    with pytest.raises(ProviderResponseError) as caught:
        await reranker.rerank(QUERY, DOCUMENTS, top_n=3)
    assert not caught.value.retryable
    assert len(server.requests) == 1


@pytest.mark.parametrize(("kind", "requests"), [("401", 1), ("429", 3), ("500", 3), ("502", 3), ("disconnect", 3)])
async def test_failures(reranker: Reranker, server: ScriptedServer, kind: str, requests: int) -> None:
    server.script(*[kind] * 3)
    with pytest.raises(ProviderError) as caught:
        await reranker.rerank(QUERY, DOCUMENTS, top_n=3)
    assert type(caught.value) is ProviderError
    assert caught.value.retryable == (requests > 1)
    assert len(server.requests) == requests
    assert KEY not in f"{caught.value} {caught.value.extra}"


async def test_success_after_a_rate_limit(reranker: Reranker, server: ScriptedServer) -> None:
    server.script(Reply("429", retry_after=0.3))
    started = time.monotonic()
    assert await reranker.rerank(QUERY, DOCUMENTS, top_n=1) == [Ranked(1, 1.0)]
    assert time.monotonic() - started >= 0.3


async def test_stall_ends_at_the_deadline(server: ScriptedServer) -> None:
    server.script("stall")
    reranker = CohereReranker(KEY, base_url=server.url, seconds=0.4, retry=QUICK)
    started = time.monotonic()
    with pytest.raises(ProviderTimeoutError):
        await reranker.rerank(QUERY, DOCUMENTS, top_n=3)
    assert time.monotonic() - started < 2
    await reranker.close()


async def test_nobody_listens() -> None:
    reranker = CohereReranker(KEY, base_url="http://127.0.0.1:9", seconds=5, retry=QUICK)
    with pytest.raises(ProviderError, match="connection failed"):
        await reranker.rerank(QUERY, DOCUMENTS, top_n=3)
    await reranker.close()
