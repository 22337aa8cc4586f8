"""What becomes of every wrong answer of an embeddings server; what all embedders promise is in test_embedders."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from quick import QUICK
from scripted_replies import Reply, vector
from scripted_server import ScriptedServer

from cairn.domain.trace import Prices, Spend
from cairn.domain.usage import Reservation
from cairn.errors import ProviderError, ProviderResponseError, ProviderTimeoutError
from cairn.providers.circuit import Circuit, Circuits, Limits
from cairn.providers.configured import ConfiguredEmbedders
from cairn.providers.metered import Meter
from cairn.providers.openai_chat import OpenAIChat
from cairn.providers.openai_embeddings import BATCH_TEXTS, OpenAIEmbedder
from cairn.providers.protocols import Message
from cairn.providers.requests import metered_by
from cairn.settings import ProviderSettings, read_environment
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


async def test_the_deadline_is_a_setting(server: ScriptedServer, tmp_path: Path) -> None:
    server.script("stall")
    environment = read_environment({"OPENAI_BASE_URL": server.openai_url, "CAIRN_HOME": str(tmp_path)})
    hosted = ProviderSettings(embedding_seconds=0.4)
    embedders = ConfiguredEmbedders(environment, Circuits(lambda: Limits(5, 20)), hosted)
    started = time.monotonic()
    with pytest.raises(ProviderTimeoutError):
        await embedders.get("text-embedding-3-small").embed(TEXTS)
    assert time.monotonic() - started < patience()
    await embedders.close()


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


async def test_long_inputs_are_sent_in_windows(server: ScriptedServer) -> None:
    embedder = OpenAIEmbedder("local-model", KEY, server.openai_url, max_tokens=50)
    text = " ".join(f"word{n}" for n in range(500))
    vectors = await embedder.embed(["short", text])
    sent = server.requests[0].body["input"]
    assert max(map(embedder.tokens.count, sent)) <= 50
    assert " ".join(sent[1:]) == text
    assert vectors.shape == (2, server.dimensions)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    await embedder.close()


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ("400", "This model's maximum context length is 8192 tokens, however you requested 10000 tokens"),
        ("400", "the input length exceeds the context length"),
        ("413", "Input validation error: `inputs` must have less than 512 tokens. Given: 700"),
        ("500", "input is too large to process. increase the physical batch size"),
        ("400", "Requested 400000 tokens, max 300000 tokens per request"),
    ],
)
async def test_what_the_server_calls_too_long_is_split(
    embedder: OpenAIEmbedder, server: ScriptedServer, status: str, message: str
) -> None:
    """The limit of a server that says less than OpenAI's is known by its refusal alone."""
    refused = Reply("too long", text=message, field=status)
    server.script(refused, refused, "ok", "ok", "ok")
    long = "first half of the text and then the second half of it"
    vectors = await embedder.embed([long, "short"])
    sent = [request.body["input"] for request in server.requests]
    assert sent[:2] == [[long, "short"], [long]]
    assert [" ".join(text for batch in sent[2:4] for text in batch), *sent[4]] == [long, "short"]
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


async def test_another_bad_request_is_not_split(embedder: OpenAIEmbedder, server: ScriptedServer) -> None:
    server.script("400")
    with pytest.raises(ProviderError):
        await embedder.embed(["a long text of many words, which is not what the server minds", "short"])
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("script", "counted"),
    [
        (["ok"], (1, 1, False)),
        (["500", "ok"], (2, 1, False)),
        (["unmetered"], (1, 6, True)),
        (["401"], (1, 0, False)),
    ],
)
async def test_each_request_is_told_to_the_meter_of_the_work_with_what_it_read(
    embedder: OpenAIEmbedder, server: ScriptedServer, script: list[str], counted: tuple[int, int, bool]
) -> None:
    """By what the server reports, else by our count; what it refused cost nothing."""
    server.script(*script)
    meter = Meter({})
    with metered_by(meter), contextlib.suppress(ProviderError):
        await embedder.embed(TEXTS)
    spend = meter.hosted_by_purpose["embed"]
    assert (spend.calls, spend.input_tokens, spend.estimated) == counted
    assert (meter.calls, meter.usage["model"], meter.usage["input_tokens"]) == (0, None, 0), "no call of a chat model"
    assert [one["model"] for one in meter.usage["by_purpose"]] == [embedder.name]


class OneDay:
    """An account that lets everything through. `used`: tokens, those included that are reserved."""

    def __init__(self) -> None:
        self.used = 0

    async def reserve(
        self, model: str, reading: int, wanted: int, fewest: int, prices: Prices
    ) -> tuple[int, Reservation | None]:
        self.used += reading + wanted
        return wanted, Reservation(date(2026, 11, 28), reading + wanted, 0.0)

    def book(self, reserved: Reservation | None, spend: Spend) -> None:
        self.used += spend.tokens - (reserved.tokens if reserved else 0)


@pytest.mark.parametrize("opens_after", [1, 9], ids=["circuit open", "nobody there"])
async def test_what_reached_no_server_uses_up_no_day(unused_tcp_port: int, opens_after: int) -> None:
    circuit, account = Circuit("m", lambda: Limits(opens_after, 60)), OneDay()
    nowhere = f"http://127.0.0.1:{unused_tcp_port}/v1"
    embedder = OpenAIEmbedder("text-embedding-3-small", KEY, nowhere, retry=QUICK, circuit=circuit)
    chat = OpenAIChat("m", KEY, nowhere, retry=QUICK, circuit=circuit)
    meter = Meter({}, account)
    for _ in range(2):
        with metered_by(meter), pytest.raises(ProviderError):
            await embedder.embed(TEXTS)
        with pytest.raises(ProviderError):
            await meter.chat(chat, "generate").complete(
                [Message("user", "hello")], temperature=0, max_tokens=9, timeout=60
            )
    assert circuit.state == ("open" if opens_after == 1 else "closed")
    assert account.used == 0
    await chat.close()
    await embedder.close()
