"""Every dialect of the OpenAI protocol that we know of gives the same: text, calls of tools, JSON, usage, plain errors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from email.utils import formatdate
from time import time
from typing import Any

import pytest
from dialects import DIALECTS, SIGNED, THOUGHT, Dialect
from quick import QUICK
from scripted_replies import Reply
from scripted_server import ScriptedServer

from cairn.errors import ProviderError, ProviderResponseError
from cairn.providers.cohere import CohereReranker
from cairn.providers.openai_chat import OpenAIChat
from cairn.providers.openai_embeddings import OpenAIEmbedder
from cairn.providers.protocols import Acted, Message, Schema, ToolCall, ToolSpec, Usage
from cairn.providers.retry import retry_after

KEY = "sk-secret-7f3a"
ASK = [Message("system", "Be brief."), Message("user", "How long is leave?")]
SAID = "Leave is 30 days [1]."
SEARCH = ToolSpec("search", "finds", {"type": "object", "properties": {"query": {"type": "string"}}})
IN_WORDS = [Message("system", "In words."), Message("user", "How long is leave?")]
TWO_CALLS = """THOUGHT: I look.
ACTION_1: search
ARGUMENTS_1: {"query": "leave"}
ACTION_2: search
ARGUMENTS_2: {"query": "days"}"""
STEPS = Schema("plan", {"steps": {"type": "array", "items": {"type": "string"}}})


@pytest.fixture(params=sorted(DIALECTS))
def spoken(request: pytest.FixtureRequest) -> Dialect:
    return DIALECTS[request.param]


@pytest.fixture
def talking(spoken: Dialect) -> Iterator[ScriptedServer]:
    with ScriptedServer(dialect=spoken, answer=lambda messages: SAID) as running:
        yield running


@pytest.fixture
async def chat(talking: ScriptedServer) -> AsyncIterator[OpenAIChat]:
    made = OpenAIChat("some-model", KEY, talking.openai_url, retry=QUICK)
    yield made
    await made.close()


async def act(chat: OpenAIChat, messages: list[Message] = ASK) -> Acted:
    return await chat.act(messages, [SEARCH], in_words=IN_WORDS, temperature=0.1, max_tokens=50, timeout=60)


async def test_text_is_the_same_in_one_piece_and_as_a_stream(chat: OpenAIChat, spoken: Dialect) -> None:
    for _ in range(2):  # what a server refuses is known the second time
        whole = await chat.complete(ASK, temperature=0.1, max_tokens=50, timeout=60)
        deltas = [delta async for delta in chat.stream(ASK, temperature=0.1, max_tokens=50, timeout=60)]
        streamed = "".join(delta.text for delta in deltas)
        assert (whole.text.strip(), whole.finish_reason) == (SAID, spoken.finish)
        assert whole.usage == (Usage() if spoken.usage == "never" else Usage(7, 3))
        assert streamed.endswith(f"{SAID} ")
        assert spoken.tagged or THOUGHT not in streamed  # tags are taken out of streams by their reader
        assert deltas[-1].finish_reason == spoken.finish
        assert (deltas[-1].usage or Usage()).input_tokens in (7, None)


async def test_what_is_refused_is_asked_otherwise_and_only_once(chat: OpenAIChat, talking: ScriptedServer) -> None:
    for _ in range(2):
        await chat.complete(ASK, temperature=0.1, max_tokens=50, timeout=60)
    first = len(talking.requests)
    await chat.complete(ASK, temperature=0.1, max_tokens=50, timeout=60)
    assert len(talking.requests) == first + 1
    told = " ".join(str(message["content"]) for message in talking.requests[-1].body["messages"])
    assert "Be brief." in told
    assert "How long is leave?" in told


async def test_tools_are_called(chat: OpenAIChat, talking: ScriptedServer) -> None:
    """Natively, or in words where the server refuses tools; then the conversation goes on."""
    talking.answer = lambda messages: TWO_CALLS
    acted = await act(chat)
    assert [(call.name, dict(call.arguments)) for call in acted.calls[: 2 if acted.protocol == "native" else 1]] == [
        ("search", {"query": "leave"}), ("search", {"query": "days"}),
    ][: 2 if acted.protocol == "native" else 1]  # fmt: skip
    assert THOUGHT not in acted.text
    if acted.protocol == "native":
        assert len({call.id for call in acted.calls} - {""}) == 2
        calls = tuple(replace(call, id=f"step001x{n}") for n, call in enumerate(acted.calls, 1))
        answers = [Message("tool", "30 days", call_id=call.id) for call in calls]
        again = await act(chat, [*ASK, Message("assistant", "", calls), *answers])
        assert again.protocol == "native"
        assert again.calls


async def test_json_comes_in_the_best_form_that_the_server_takes(chat: OpenAIChat, talking: ScriptedServer) -> None:
    talking.answer = lambda messages: 'Here it is:\n```json\n{"steps": ["search", "write"]}\n```'
    for _ in range(3):
        made = await chat.structured(ASK, STEPS, temperature=0.1, max_tokens=50, timeout=60)
        assert made.value == {"steps": ["search", "write"]}


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ollama", "vllm", "gemini", "anthropic"])
async def test_a_model_that_is_not_there_is_an_error_that_says_what_to_do(name: str) -> None:
    with ScriptedServer(dialect=DIALECTS[name]) as server:
        chat = OpenAIChat("absent", KEY, server.openai_url, retry=QUICK)
        with pytest.raises(ProviderError, match=r"absent: HTTP 404: .*`ollama pull absent`.*rag\.qa\.model") as caught:
            await chat.complete(ASK, temperature=0, max_tokens=5, timeout=60)
        assert not caught.value.retryable
        await chat.close()


async def test_a_wrong_base_url_is_an_error_that_says_so(server: ScriptedServer) -> None:
    chat = OpenAIChat("m", KEY, f"{server.url}/wrong")
    embedder = OpenAIEmbedder("m", KEY, f"{server.url}/wrong")
    server.script("absent path", "absent path")
    for asked in (chat.complete(ASK, temperature=0, max_tokens=5, timeout=60), embedder.embed(["x"])):
        with pytest.raises(ProviderError, match=r"HTTP 404: 404 page not found\. OPENAI_BASE_URL must be"):
            await asked
    await chat.close()
    await embedder.close()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": {"message": "upstream is down", "code": 502}}, "upstream is down"),
        ({"error": "out of memory"}, "out of memory"),
        ({"object": "error", "message": "too many", "choices": None}, "malformed"),
    ],
)
async def test_an_error_under_status_200_is_told_in_its_words(server: ScriptedServer, body: Any, said: str) -> None:
    chat = OpenAIChat("m", KEY, server.openai_url, retry=QUICK)
    server.script(*[Reply("body", message=body)] * 3)
    with pytest.raises(ProviderError, match=said):
        await chat.complete(ASK, temperature=0, max_tokens=5, timeout=60)
    await chat.close()


async def test_an_overloaded_server_is_asked_again(server: ScriptedServer) -> None:
    chat = OpenAIChat("m", KEY, server.openai_url, retry=QUICK)
    server.script("529", Reply("ok", text=SAID))
    assert (await chat.complete(ASK, temperature=0, max_tokens=5, timeout=60)).text == SAID
    server.script("529", "529", "529")
    with pytest.raises(ProviderError, match="HTTP 529: Overloaded") as caught:
        await chat.complete(ASK, temperature=0, max_tokens=5, timeout=60)
    assert caught.value.retryable
    await chat.close()


def test_retry_after_is_a_number_or_a_date() -> None:
    assert retry_after("1.5") == 1.5
    assert 50 < (retry_after(formatdate(time() + 60, usegmt=True)) or 0) <= 60
    assert retry_after(formatdate(time() - 60, usegmt=True)) == 0
    assert [retry_after(value) for value in (None, "", "soon", "-1", "nan", "inf", "Sun, 99 Foo 9999")] == [None] * 7


async def test_a_reply_of_reasoning_alone_is_an_error(server: ScriptedServer) -> None:
    chat = OpenAIChat("m", KEY, server.openai_url, retry=QUICK)
    for message in ({"content": None, "reasoning_content": THOUGHT}, {"content": f"<think>{THOUGHT}"}):
        server.script(Reply(message=message, finish="length"))
        with pytest.raises(ProviderResponseError, match="empty reply"):
            await chat.complete(ASK, temperature=0, max_tokens=5, timeout=60)
    await chat.close()


async def test_what_a_server_wants_back_with_a_call_goes_back(server: ScriptedServer) -> None:
    chat = OpenAIChat("m", KEY, server.openai_url, retry=QUICK)
    call = {"id": "", "function": {"name": "search", "arguments": "{}"}, **SIGNED}
    server.script(Reply(message={"content": None, "tool_calls": [call]}))
    [made] = (await act(chat)).calls
    assert made == ToolCall("search", {}, "call_1", returned=SIGNED["extra_content"])
    await act(chat, [*ASK, Message("assistant", "", (made,)), Message("tool", "30", call_id=made.id)])
    assert server.requests[-1].body["messages"][2]["tool_calls"][0]["extra_content"] == SIGNED["extra_content"]
    await chat.close()


async def test_calls_in_pieces_of_a_server_that_streams_unasked_are_put_together(server: ScriptedServer) -> None:
    pieces: list[Any] = [
        {"role": "assistant", "content": None},
        {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "search", "arguments": ""}}]},
        {"tool_calls": [{"index": 1, "id": "a", "function": {"name": "search", "arguments": '{"qu'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"query": "leave"}'}}]},
        {"tool_calls": [{"index": 1, "function": {"arguments": 'ery": "days"}'}}]},
    ]
    server.script(
        Reply("unasked stream", message={"deltas": pieces}),
        Reply("unasked stream", message={"deltas": [{"content": SAID}]}),
    )
    chat = OpenAIChat("m", KEY, server.openai_url, retry=QUICK)
    acted = await act(chat)
    assert [dict(call.arguments) for call in acted.calls] == [{"query": "leave"}, {"query": "days"}]
    assert len({call.id for call in acted.calls}) == 2
    assert (await chat.complete(ASK, temperature=0, max_tokens=5, timeout=60)).text == SAID
    await chat.close()


# --- redirects, and replies without end -------------------------------------------------------------------------------


async def test_redirects_are_not_followed(server: ScriptedServer) -> None:
    chat = OpenAIChat("m", KEY, server.openai_url, retry=QUICK)
    embedder = OpenAIEmbedder("m", KEY, server.openai_url, retry=QUICK)
    reranker = CohereReranker(KEY, base_url=server.url, retry=QUICK)
    asked = {
        "OPENAI_BASE_URL": (
            chat.complete(ASK, temperature=0, max_tokens=5, timeout=60),
            anext(chat.stream(ASK, temperature=0, max_tokens=5, timeout=60)),
            embedder.embed(["x"]),
        ),
        "COHERE_BASE_URL": (reranker.rerank("x", ["a", "b"], top_n=1),),
    }
    with ScriptedServer() as other:
        server.script(*[Reply("redirect", field=f"{other.url}/v1/chat/completions?key={KEY}")] * 4)
        for variable, calls in asked.items():
            for call in calls:
                with pytest.raises(ProviderError, match=f"redirects to 127.0.0.1, .* set {variable}") as caught:
                    await call
                assert KEY not in caught.value.detail
                assert "/v1/chat" not in caught.value.detail
                assert not caught.value.retryable
        assert not other.requests, "neither the key nor the question goes elsewhere"
        assert len(server.requests) == 4
    for client in (chat, embedder, reranker):
        await client.close()


@pytest.mark.parametrize("where", ["", "http://[", "/elsewhere"])
async def test_a_redirect_to_nowhere_is_an_error_as_well(server: ScriptedServer, where: str) -> None:
    chat = OpenAIChat("m", KEY, server.openai_url, retry=QUICK)
    server.script(Reply("redirect", field=where))
    with pytest.raises(ProviderError, match="redirects"):
        await chat.complete(ASK, temperature=0, max_tokens=5, timeout=60)
    await chat.close()


async def test_a_line_without_end_is_not_read_for_ever(server: ScriptedServer) -> None:
    chat = OpenAIChat("m", KEY, server.openai_url, retry=QUICK)
    server.script("flood")
    with pytest.raises(ProviderError, match="does not end"):
        _ = [one async for one in chat.stream(ASK, temperature=0, max_tokens=5, timeout=30)]
    await chat.close()
