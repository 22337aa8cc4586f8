"""What a ChatModel promises (protocols.ChatModel), and what becomes of everything that can go wrong on the wire."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from quick import QUICK
from scripted_replies import LASTING, Reply
from scripted_server import ScriptedServer

from cairn.errors import CircuitOpenError, ProviderError, ProviderResponseError, ProviderTimeoutError
from cairn.providers.circuit import Circuit, Limits
from cairn.providers.openai_chat import DEFAULT_CHAT_MODEL, OpenAIChat
from cairn.providers.protocols import ChatModel, Completion, Delta, Message, Usage
from tests.waiting import patience, until

KEY = "sk-secret-7f3a"
ASK = [Message("system", "Be brief."), Message("user", "one two three four")]
SAID = "You said: one two three four"


@pytest.fixture(params=["openai-compatible"])
async def chat(server: ScriptedServer) -> AsyncIterator[ChatModel]:
    made = OpenAIChat("some-model", KEY, server.openai_url, retry=QUICK)
    yield made
    await made.close()


async def complete(chat: ChatModel, seconds: float = 5) -> Completion:
    return await chat.complete(ASK, temperature=0.1, max_tokens=50, timeout=seconds)


async def stream(chat: ChatModel, into: list[Delta] | None = None, seconds: float = 5) -> list[Delta]:
    deltas = [] if into is None else into
    async for delta in chat.stream(ASK, temperature=0.1, max_tokens=50, timeout=seconds):
        deltas.append(delta)
    return deltas


# --- what is promised -----------------------------------------------------------------------------------------------


async def test_complete(chat: ChatModel, server: ScriptedServer) -> None:
    assert await complete(chat) == Completion(SAID, "stop", Usage(7, 3), "some-model")
    body = server.requests[0].body
    assert body["messages"] == [{"role": m.role, "content": m.content} for m in ASK]
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("some-model", 0.1, 50)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_stream_says_the_same_and_ends_with_the_reason(chat: ChatModel) -> None:
    deltas = await stream(chat)
    assert "".join(delta.text for delta in deltas) == SAID
    assert deltas[-1] == Delta("", "stop", Usage(7, 3))
    assert all(delta.finish_reason is None and delta.text for delta in deltas[:-1])


async def test_first_delta_comes_before_the_last_is_made(chat: ChatModel, server: ScriptedServer) -> None:
    server.script("stall_late")
    deltas = chat.stream(ASK, temperature=0, max_tokens=50, timeout=patience(60))
    assert await asyncio.wait_for(anext(deltas), patience()) == Delta("You")
    await deltas.aclose()  # type: ignore[attr-defined]


async def test_length_is_reported_when_something_was_said(chat: ChatModel, server: ScriptedServer) -> None:
    server.script("length")
    assert (await complete(chat)).finish_reason == "length"


async def test_no_key_is_needed_for_local_servers(server: ScriptedServer) -> None:
    chat = OpenAIChat("", None, server.openai_url)
    assert (await complete(chat)).model == "gpt-4o-mini"
    assert server.requests[0].headers["authorization"] == "Bearer none"
    await chat.close()


async def test_lone_surrogates_reach_the_wire_replaced(chat: ChatModel, server: ScriptedServer) -> None:
    await chat.complete([Message("user", "a\ud800b")], temperature=0, max_tokens=5, timeout=patience(60))
    assert server.requests[0].body["messages"][0]["content"] == "a\ufffdb"


async def test_what_neither_database_nor_utf8_can_hold_is_replaced_in_replies(
    chat: ChatModel, server: ScriptedServer
) -> None:
    server.script(Reply("ok", text="a\ud800b\x00"), Reply("ok", pieces=("a\ud83d", "b\x00")))
    assert (await complete(chat)).text == "a\ufffdb\ufffd"
    deltas = [delta.text async for delta in chat.stream(ASK, temperature=0, max_tokens=50, timeout=patience(60))]
    assert "".join(deltas) == "a\ufffdb\ufffd"


# --- what goes wrong: kind of reply, error, requests made -----------------------------------------------------------

COMMON = [
    ("401", ProviderError, 1),
    ("quota", ProviderError, 1),
    ("429", ProviderError, 3),
    ("500", ProviderError, 3),
    ("502", ProviderError, 3),
    ("disconnect", ProviderError, 3),
    ("malformed", ProviderResponseError, 1),
    ("wrong_shape", ProviderResponseError, 1),
    ("html_200", ProviderResponseError, 1),
    ("empty", ProviderResponseError, 1),
    ("length_empty", ProviderResponseError, 1),
]


@pytest.mark.parametrize(("kind", "expected", "requests"), [*COMMON, ("no_finish", ProviderResponseError, 1)])
async def test_complete_fails_as(
    chat: ChatModel, server: ScriptedServer, kind: str, expected: type[ProviderError], requests: int
) -> None:
    server.script(*[kind] * 3)
    with pytest.raises(ProviderError) as caught:
        await complete(chat)
    assert type(caught.value) is expected
    assert len(server.requests) == requests
    assert caught.value.retryable == (requests > 1)


@pytest.mark.parametrize(
    ("kind", "expected", "requests"),
    [*COMMON, ("error_first", ProviderError, 3)],
)
async def test_stream_fails_before_its_first_token_as(
    chat: ChatModel, server: ScriptedServer, kind: str, expected: type[ProviderError], requests: int
) -> None:
    server.script(*[kind] * 3)
    heard: list[Delta] = []
    with pytest.raises(ProviderError) as caught:
        await stream(chat, heard)
    assert type(caught.value) is expected
    assert not heard
    assert len(server.requests) == requests


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("cut", ProviderError),
        ("error_chunk", ProviderError),
        ("bad_chunk", ProviderResponseError),
        ("odd_chunk", ProviderResponseError),
        ("silent_end", ProviderResponseError),
    ],
)
async def test_broken_stream_is_an_error_and_never_retried(
    chat: ChatModel, server: ScriptedServer, kind: str, expected: type[ProviderError]
) -> None:
    server.script(kind)
    heard: list[Delta] = []
    with pytest.raises(ProviderError) as caught:
        await stream(chat, heard)
    assert type(caught.value) is expected
    assert [delta.text for delta in heard][:2] == ["You", " said:"]
    assert all(delta.finish_reason is None for delta in heard)
    assert len(server.requests) == 1


# --- time -----------------------------------------------------------------------------------------------------------


@pytest.mark.sweep(2)
@pytest.mark.parametrize("kind", ["stall", "stall_late"])
async def test_stalled_stream_ends_at_the_deadline(chat: ChatModel, server: ScriptedServer, kind: str) -> None:
    server.script(kind)
    started = time.monotonic()
    with pytest.raises(ProviderTimeoutError):
        await stream(chat, seconds=0.4)
    assert time.monotonic() - started < patience()
    assert len(server.requests) == 1


async def test_stalled_completion_ends_at_the_deadline(chat: ChatModel, server: ScriptedServer) -> None:
    server.script("stall")
    started = time.monotonic()
    with pytest.raises(ProviderTimeoutError):
        await complete(chat, seconds=0.4)
    assert time.monotonic() - started < patience()


async def test_deadline_holds_for_a_stream_that_never_stalls(chat: ChatModel, server: ScriptedServer) -> None:
    server.script(LASTING)
    heard: list[Delta] = []
    with pytest.raises(ProviderTimeoutError):
        await stream(chat, heard, seconds=2.5)
    assert heard
    assert len(server.requests) == 1


async def test_deadline_holds_for_all_attempts_together(chat: ChatModel, server: ScriptedServer) -> None:
    server.script(*[Reply("500", seconds=0.3)] * 3)
    started = time.monotonic()
    with pytest.raises(ProviderError):
        await complete(chat, seconds=0.5)
    assert time.monotonic() - started < patience()
    assert len(server.requests) <= 2


@pytest.mark.parametrize("kind", ["429", "500", "502", "disconnect"])
async def test_success_after_a_failure(chat: ChatModel, server: ScriptedServer, kind: str) -> None:
    server.script(kind, "ok", kind, "ok")
    assert (await complete(chat)).text == SAID
    assert "".join(delta.text for delta in await stream(chat)) == SAID
    assert len(server.requests) == 4


async def test_retry_after_is_waited_for(chat: ChatModel, server: ScriptedServer) -> None:
    server.script(Reply("429", retry_after=0.5))
    started = time.monotonic()
    assert (await complete(chat)).text == SAID
    assert time.monotonic() - started >= 0.5


@pytest.mark.parametrize(("asked", "seconds"), [(600.0, 1000.0), (1.5, 1.0)])
async def test_retry_after_beyond_bound_or_deadline_is_not(
    chat: ChatModel, server: ScriptedServer, asked: float, seconds: float
) -> None:
    server.script(Reply("429", retry_after=asked))
    with pytest.raises(ProviderError) as caught:
        await asyncio.wait_for(complete(chat, seconds=seconds), patience())
    assert caught.value.extra["retry_after"] == asked
    assert caught.value.extra["attempts"] == len(server.requests) == 1


async def test_nobody_listens() -> None:
    chat = OpenAIChat("m", KEY, "http://127.0.0.1:9/v1", retry=QUICK)
    with pytest.raises(ProviderError, match="connection failed") as caught:
        await complete(chat)
    assert caught.value.retryable
    await chat.close()


async def test_a_cancelled_stream_leaves_the_client_usable(chat: ChatModel, server: ScriptedServer) -> None:
    server.script("stall_late")
    heard: list[Delta] = []
    task = asyncio.create_task(stream(chat, heard))
    await until(lambda: heard)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert "".join(delta.text for delta in await stream(chat)) == SAID


# --- secrets --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["401", "429", "500", "502", "malformed", "wrong_shape"])
async def test_errors_never_show_the_key(chat: ChatModel, server: ScriptedServer, kind: str) -> None:
    """The server's 401 repeats the Authorization header."""
    server.script(*[kind] * 3)
    with pytest.raises(ProviderError) as caught:
        await complete(chat)
    assert KEY not in f"{caught.value} {caught.value.detail} {caught.value.extra}"
    assert caught.value.__suppress_context__
    assert "<html>" not in caught.value.detail


# --- fields that some servers refuse, and the circuit ---------------------------------------------------------------


async def test_stream_options_are_left_out_where_they_are_refused_and_that_is_remembered(
    chat: ChatModel, server: ScriptedServer
) -> None:
    server.script(Reply("refuse", field="stream_options"))
    assert "".join(delta.text for delta in await stream(chat)) == SAID
    await stream(chat)
    assert ["stream_options" in request.body for request in server.requests] == [True, False, False]


async def test_a_stream_refused_without_a_reason_is_tried_without_them(chat: ChatModel, server: ScriptedServer) -> None:
    server.script("400")
    assert "".join(delta.text for delta in await stream(chat)) == SAID
    server.script("400", "400")
    with pytest.raises(ProviderError):
        await stream(chat)


@pytest.mark.parametrize(("refused", "instead"), [("max_tokens", "max_completion_tokens"), ("temperature", None)])
async def test_other_fields_are_renamed_or_left_out(
    chat: ChatModel, server: ScriptedServer, refused: str, instead: str | None
) -> None:
    server.script(Reply("refuse", field=refused))
    assert (await complete(chat)).text == SAID
    assert (await complete(chat)).text == SAID
    assert [refused in request.body for request in server.requests] == [True, False, False]
    assert instead is None or server.requests[-1].body[instead] == 50


async def test_a_refused_request_is_not_repeated(chat: ChatModel, server: ScriptedServer) -> None:
    server.script("400")
    with pytest.raises(ProviderError):
        await complete(chat)
    assert len(server.requests) == 1


async def test_after_failures_in_a_row_nobody_waits(server: ScriptedServer) -> None:
    circuit = Circuit("chat m", lambda: Limits(failures=2, seconds=60))
    chat = OpenAIChat("m", KEY, server.openai_url, retry=QUICK, circuit=circuit)
    server.script(*["500"] * 3, "cut")
    with pytest.raises(ProviderError):
        await complete(chat)
    with pytest.raises(ProviderError):
        await stream(chat)
    with pytest.raises(CircuitOpenError, match="not asked again for"):
        await complete(chat)
    with pytest.raises(CircuitOpenError, match="not asked again for"):
        await stream(chat)
    assert len(server.requests) == 4
    await chat.close()


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (Reply("too long", text="The notes say 412,000", field="500"), "m: HTTP 500: the server failed"),
        (Reply("too long", text="The notes say 412,000", field="403"), "m: HTTP 403: the key is rejected"),
        (Reply("too long", text="no model says 412,000", field="404"), "m: HTTP 404. The server has no such model"),
        (Reply("body", message={"error": {"message": "The notes say 412,000"}}), "m: the server failed"),
    ],
    ids=["status", "key", "model", "under 200"],
)
async def test_a_circuit_keeps_nothing_that_the_server_said(server: ScriptedServer, reply: Reply, told: str) -> None:
    circuit = Circuit("chat m")
    chat = OpenAIChat("m", KEY, server.openai_url, retry=QUICK, circuit=circuit)
    server.script(*[reply] * 3)
    with pytest.raises(ProviderError, match="412,000"):
        await complete(chat)
    assert circuit.reason is not None
    assert circuit.reason.detail.startswith(told)
    assert "412" not in f"{circuit.reason} {circuit.reason.extra}"
    await chat.close()


async def test_a_circuit_keeps_nothing_of_what_stood_in_a_stream(server: ScriptedServer) -> None:
    circuit = Circuit("chat m")
    chat = OpenAIChat("m", KEY, server.openai_url, retry=QUICK, circuit=circuit)
    server.script("error_chunk")
    with pytest.raises(ProviderError, match="the model fell over"):
        await stream(chat)
    assert circuit.reason is not None
    assert circuit.reason.detail == "m: the server failed"
    await chat.close()


@pytest.mark.parametrize(
    ("reply", "cause", "status"),
    [
        (Reply("401"), "key", 401),
        (Reply("quota"), "credit", 429),
        (Reply("429", retry_after=99), "busy", 429),
        (Reply("too long", text="model 'm' not found", field="404"), "model", 404),
        (Reply("too long", text="m is not a valid model ID", field="400"), "model", 400),
        (Reply("too long", text="The model `m` does not exist", field="400"), "model", 400),
        (Reply("too long", text="the model takes 4096 tokens", field="400"), "refused", 400),
        (Reply("absent path"), "address", 404),
        (Reply("redirect", field="http://other.invalid/"), "address", 307),
        (Reply("400"), "refused", 400),
        (Reply("500"), "server", 500),
        (Reply("502"), "server", 502),
        (Reply("disconnect"), "broken", None),
        (Reply("stall"), "silent", None),
        (Reply("malformed"), "nonsense", None),
        (Reply("html_200"), "nonsense", None),
        (Reply("empty"), "nonsense", None),
    ],
    ids=lambda value: value.kind if isinstance(value, Reply) else None,
)
async def test_a_failure_says_who_has_to_mend_it(
    chat: ChatModel, server: ScriptedServer, reply: Reply, cause: str, status: int | None
) -> None:
    for ask in (complete, stream):
        server.script(*[reply] * 3)
        with pytest.raises(ProviderError) as caught:
            await ask(chat, seconds=0.5 if reply.kind == "stall" else patience(5))
        assert (caught.value.cause, caught.value.answered) == (cause, status)
        server.begin(server.answer)


@pytest.mark.parametrize("kind", ["cut", "silent_end"])
async def test_a_stream_that_ends_too_soon_is_broken_off(chat: ChatModel, server: ScriptedServer, kind: str) -> None:
    server.script(kind)
    with pytest.raises(ProviderError) as caught:
        await stream(chat)
    assert caught.value.cause == "broken"


async def test_a_server_that_is_not_there_cannot_be_reached() -> None:
    chat = OpenAIChat("m", KEY, "http://127.0.0.1:9/v1", retry=QUICK)
    with pytest.raises(ProviderError) as caught:
        await complete(chat)
    assert caught.value.cause == "unreachable"
    await chat.close()


# --- which model ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("models", "listing", "named", "taken"),
    [
        (["llama3.2"], None, "", "llama3.2"),
        (["a", DEFAULT_CHAT_MODEL], None, "", DEFAULT_CHAT_MODEL),
        (None, None, "", DEFAULT_CHAT_MODEL),
        (["llama3.2"], Reply("html_200"), "", DEFAULT_CHAT_MODEL),
        (["llama3.2"], None, "other", "other"),
    ],
    ids=["the only one", "the usual one of several", "no list", "a page in its place", "one is named"],
)
async def test_where_no_model_is_named_the_only_one_is_taken(
    server: ScriptedServer, models: list[str] | None, listing: Reply | None, named: str, taken: str
) -> None:
    server.models, server.listing = models, listing
    chat = OpenAIChat(named, None, server.openai_url, retry=QUICK)
    for _ in range(2):
        await complete(chat)
    assert [request.body["model"] for request in server.requests] == [taken, taken]
    assert (chat.name, server.listed) == (taken, 0 if named else 1)
    await chat.close()


@pytest.mark.parametrize(
    ("models", "cause", "said"),
    [(["a", "b"], "choice", r"several models \(a, b\): name one of them .*rag\.qa\.model"), ([], "model", "no models")],
)
async def test_of_several_none_is_guessed(server: ScriptedServer, models: list[str], cause: str, said: str) -> None:
    server.models = models
    chat = OpenAIChat("", None, server.openai_url, retry=QUICK)
    with pytest.raises(ProviderError, match=said) as caught:
        await stream(chat)
    assert (caught.value.cause, server.requests) == (cause, [])
    server.models = ["b"]
    await complete(chat)
    assert chat.name == "b"
    await chat.close()


async def test_a_model_that_was_exchanged_is_asked_for_again(server: ScriptedServer) -> None:
    server.models = ["old"]
    chat = OpenAIChat("", None, server.openai_url, retry=QUICK)
    await complete(chat)
    server.models = ["new"]
    server.script(Reply("too long", text="model 'old' not found", field="404"))
    with pytest.raises(ProviderError):
        await complete(chat)
    await complete(chat)
    assert server.requests[-1].body["model"] == "new"
    await chat.close()


@pytest.mark.parametrize(
    ("listing", "problem"),
    [
        (None, None),
        (Reply("401"), None),
        (Reply("absent path"), None),
        (Reply("500"), "HTTP 500"),
        (Reply("disconnect"), "conn"),
    ],
    ids=["well", "lists to nobody", "no list", "broken", "gone"],
)
async def test_a_look_says_whether_the_server_answers(
    server: ScriptedServer, listing: Reply | None, problem: str | None
) -> None:
    server.models, server.listing = ["m"], listing
    chat = OpenAIChat("m", KEY, server.openai_url, retry=QUICK)
    await chat.look()
    assert (problem in (chat.problem or "")) if problem else chat.problem is None
    assert not server.requests, "nobody pays for a look"
    await complete(chat)
    assert chat.problem is None, "it has answered"
    await chat.close()
