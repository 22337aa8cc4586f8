"""What every Reranker promises (protocols.Reranker), and what becomes of wrong answers over HTTP."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from quick import QUICK
from scripted_replies import Reply, score_passages
from scripted_server import ScriptedServer
from tiny_cross_encoder import make_cross_encoder

from cairn.errors import ProviderError, ProviderResponseError, ProviderTimeoutError
from cairn.prompts import prompt
from cairn.providers.circuit import Circuit
from cairn.providers.cohere import CohereReranker
from cairn.providers.cross_encoder import CrossEncoder
from cairn.providers.llm_reranker import LlmReranker
from cairn.providers.openai_chat import OpenAIChat
from cairn.providers.protocols import Ranked, Reranker
from tests.waiting import patience

KEY = "co-secret-7f3a"
QUERY = "lift of a wing"
DOCUMENTS = ["cats and dogs", "the lift of a thin wing", "a wing", "drag", "lift of a wing"]

Make = Callable[[str, float], Reranker]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """One whose chat model can judge passages."""
    with ScriptedServer(answer=score_passages) as running:
        yield running


def cohere(url: str, seconds: float) -> Reranker:
    return CohereReranker(KEY, base_url=url, seconds=seconds, retry=QUICK)


def llm(url: str, seconds: float) -> Reranker:
    chat = OpenAIChat("m", KEY, f"{url}/v1", retry=QUICK)
    return LlmReranker(chat, partial(prompt, "rerank"), seconds=seconds)


OVER_HTTP: dict[str, Make] = {"cohere": cohere, "llm": llm}


@pytest.fixture(params=[*OVER_HTTP, "cross-encoder"])
async def reranker(request: pytest.FixtureRequest, server: ScriptedServer, tmp_path: Path) -> AsyncIterator[Reranker]:
    if request.param in OVER_HTTP:
        made = OVER_HTTP[request.param](server.url, 5)
    else:
        made = CrossEncoder(tmp_path, str(make_cross_encoder(tmp_path / "tiny", [QUERY, *DOCUMENTS])))
    yield made
    await made.close()


@pytest.fixture(params=OVER_HTTP)
def make(request: pytest.FixtureRequest) -> Make:
    return OVER_HTTP[request.param]


@pytest.fixture
async def remote(make: Make, server: ScriptedServer) -> AsyncIterator[Reranker]:
    made = make(server.url, 5)
    yield made
    await made.close()


# --- what is promised -----------------------------------------------------------------------------------------------


async def test_best_first_and_at_most_top_n(reranker: Reranker) -> None:
    """Equal scores keep the order that was given."""
    ranked = await reranker.rerank(QUERY, DOCUMENTS, top_n=3)
    assert [item.index for item in ranked] == [1, 4, 2]
    assert ranked[0].score == ranked[1].score > ranked[2].score


async def test_all_when_fewer_than_top_n(reranker: Reranker) -> None:
    ranked = await reranker.rerank(QUERY, DOCUMENTS, top_n=50)
    assert sorted(item.index for item in ranked) == [0, 1, 2, 3, 4]
    assert all(0 <= item.score <= 1 and math.isfinite(item.score) for item in ranked)
    assert [item.score for item in ranked] == sorted((item.score for item in ranked), reverse=True)


async def test_more_documents_than_any_batch(reranker: Reranker) -> None:
    """Indexes are those of the whole list."""
    documents = ["drag"] * 37 + ["a wing"] + ["drag"] * 5 + ["lift of a wing"] + ["drag"] * 6
    ranked = await reranker.rerank(QUERY, documents, top_n=len(documents))
    assert [item.index for item in ranked[:3]] == [43, 37, 0]
    assert sorted(item.index for item in ranked) == list(range(50))


async def test_nothing_to_rank(reranker: Reranker, server: ScriptedServer) -> None:
    assert await reranker.rerank(QUERY, [], top_n=5) == []
    assert await reranker.rerank(QUERY, DOCUMENTS, top_n=0) == []
    assert not server.requests


async def test_same_call_same_ranking(reranker: Reranker) -> None:
    first = await reranker.rerank(QUERY, DOCUMENTS, top_n=5)
    assert first == await reranker.rerank(QUERY, DOCUMENTS, top_n=5)


async def test_odd_texts(reranker: Reranker) -> None:
    assert len(await reranker.rerank("\ud800", ["", "\x00", "\udfff", "a\n2: 10"], top_n=4)) == 4


async def test_scores_and_default_model_of_cohere(server: ScriptedServer) -> None:
    reranker = cohere(server.url, 5)
    assert await reranker.rerank(QUERY, DOCUMENTS, top_n=3) == [Ranked(1, 1.0), Ranked(4, 1.0), Ranked(2, 0.5)]
    assert reranker.name == server.requests[0].body["model"] == "rerank-v3.5"
    await reranker.close()


# --- what goes wrong ------------------------------------------------------------------------------------------------


async def answer_is_a_response_error_and_not_retried(reranker: Reranker, server: ScriptedServer, reply: Reply) -> None:
    server.script(*[reply] * 3)
    with pytest.raises(ProviderResponseError) as caught:
        await reranker.rerank(QUERY, DOCUMENTS, top_n=3)
    assert not caught.value.retryable
    assert len(server.requests) == 1


@pytest.mark.parametrize("kind", ["malformed", "wrong_shape", "html_200"])
async def test_bad_answers_are_response_errors_and_not_retried(
    remote: Reranker, server: ScriptedServer, kind: str
) -> None:
    await answer_is_a_response_error_and_not_retried(remote, server, Reply(kind))


@pytest.mark.parametrize("kind", ["out_of_range", "negative", "repeated", "fewer", "score"])
async def test_impossible_rankings_of_cohere(server: ScriptedServer, kind: str) -> None:
    reranker = cohere(server.url, 5)
    await answer_is_a_response_error_and_not_retried(reranker, server, Reply(kind))
    await reranker.close()


async def test_what_cohere_says_of_an_error_is_for_who_asked(server: ScriptedServer) -> None:
    circuit = Circuit("rerank r")
    reranker = CohereReranker(KEY, "r", base_url=server.url, retry=QUICK, circuit=circuit)
    server.script(*["500"] * 3)
    with pytest.raises(ProviderError, match="oops"):
        await reranker.rerank(QUERY, DOCUMENTS, top_n=3)
    assert circuit.reason is not None
    assert circuit.reason.detail == "r: HTTP 500: the server failed"
    await reranker.close()


@pytest.mark.parametrize(
    "reply",
    [
        Reply(text="I would rather not."), Reply(text="6: 9"), Reply(text="0: 9"), Reply(text="1: 3\n1: 4"),
        Reply(text="{}"), Reply(text='{"1": "high"}'), Reply("empty"), Reply("length"), Reply("no_finish"),
    ],
)  # fmt: skip
async def test_impossible_rankings_of_a_chat_model(server: ScriptedServer, reply: Reply) -> None:
    await answer_is_a_response_error_and_not_retried(llm(server.url, 5), server, reply)


@pytest.mark.parametrize(("kind", "requests"), [("401", 1), ("429", 3), ("500", 3), ("502", 3), ("disconnect", 3)])
async def test_failures(remote: Reranker, server: ScriptedServer, kind: str, requests: int) -> None:
    server.script(*[kind] * 3)
    with pytest.raises(ProviderError) as caught:
        await remote.rerank(QUERY, DOCUMENTS, top_n=3)
    assert type(caught.value) is ProviderError
    assert caught.value.retryable == (requests > 1)
    assert len(server.requests) == requests
    assert KEY not in f"{caught.value} {caught.value.extra}"


async def test_success_after_a_rate_limit(remote: Reranker, server: ScriptedServer) -> None:
    server.script(Reply("429", retry_after=0.3))
    started = time.monotonic()
    assert await remote.rerank(QUERY, DOCUMENTS, top_n=1) == [Ranked(1, 1.0)]
    assert time.monotonic() - started >= 0.3


async def test_stall_ends_at_the_deadline(make: Make, server: ScriptedServer) -> None:
    server.script("stall")
    reranker = make(server.url, 0.4)
    started = time.monotonic()
    with pytest.raises(ProviderTimeoutError):
        await reranker.rerank(QUERY, DOCUMENTS, top_n=3)
    assert time.monotonic() - started < patience()
    await reranker.close()


async def test_nobody_listens(make: Make) -> None:
    reranker = make("http://127.0.0.1:9", 5)
    with pytest.raises(ProviderError, match="connection failed"):
        await reranker.rerank(QUERY, DOCUMENTS, top_n=3)
    await reranker.close()
