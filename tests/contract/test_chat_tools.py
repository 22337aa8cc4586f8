"""What `ChatModel.act` and `ChatModel.structured` promise, against servers that take tools and schemas, and that do not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from quick import QUICK
from scripted_replies import Reply
from scripted_server import ScriptedServer

from cairn.domain.trace import Spend
from cairn.errors import ProviderError, ProviderResponseError
from cairn.providers.circuit import Circuit
from cairn.providers.metered import Meter
from cairn.providers.openai_chat import OpenAIChat
from cairn.providers.protocols import Acted, Message, Schema, Structured, ToolCall, ToolSpec, Usage

SEARCH = ToolSpec(
    "search", "finds", {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
)
ANSWER = ToolSpec("final_answer", "ends", {"type": "object", "properties": {"answer": {"type": "string"}}})
ASK = [Message("system", "Use tools."), Message("user", "how long is leave?")]
IN_WORDS = [Message("system", "Use tools, in words."), Message("user", "how long is leave?")]
IN_TEXT = 'THOUGHT: I look.\nACTION: search\nARGUMENTS: {"query": "leave"}'
STEPS = Schema("plan", {"steps": {"type": "array", "items": {"type": "string"}}})
CALL = ToolCall("search", {"query": "leave"}, "call_1")


def calling(*calls: Any, content: Any = None, **more: Any) -> Reply:
    """A reply with these tool calls: (name, arguments), or as it is sent."""

    def sent(n: int, call: Any) -> Any:
        if not isinstance(call, tuple):
            return call
        return {"id": f"c{n}", "type": "function", "function": {"name": call[0], "arguments": call[1]}}

    made = [sent(n, call) for n, call in enumerate(calls, 1)]
    return Reply(message={"content": content, "tool_calls": made}, **more)


@pytest.fixture
async def chat(server: ScriptedServer) -> AsyncIterator[OpenAIChat]:
    made = OpenAIChat("some-model", "key", server.openai_url, retry=QUICK)
    server.answer = lambda messages: IN_TEXT
    yield made
    await made.close()


async def act(chat: Any, choice: Any = "auto", messages: list[Message] = ASK) -> Acted:
    return await chat.act(
        messages, [SEARCH, ANSWER], in_words=IN_WORDS, choice=choice, temperature=0.1, max_tokens=50, timeout=5
    )


async def structured(chat: Any, choice: Any = "auto") -> Structured:
    return await chat.structured(ASK, STEPS, choice=choice, temperature=0.1, max_tokens=50, timeout=60)


def asked_natively(server: ScriptedServer) -> list[bool]:
    return ["tools" in request.body for request in server.requests]


# --- native -----------------------------------------------------------------------------------------------------------


async def test_tools_are_sent_and_calls_come_back(chat: OpenAIChat, server: ScriptedServer) -> None:
    assert await act(chat) == Acted((CALL,), "I look.", Usage(7, 3), "tool_calls", "native")
    (tool, _) = server.requests[0].body["tools"]
    assert tool == {
        "type": "function",
        "function": {"name": "search", "description": "finds", "parameters": SEARCH.parameters},
    }
    assert server.requests[0].body["messages"][0]["content"] == "Use tools."


async def test_a_conversation_with_tools_is_sent_as_the_protocol_has_it(
    chat: OpenAIChat, server: ScriptedServer
) -> None:
    await act(chat, messages=[*ASK, Message("assistant", "", (CALL,)), Message("tool", "30 days", call_id="call_1")])
    *_, said, answered = server.requests[0].body["messages"]
    assert said == {
        "role": "assistant", "content": None,
        "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "search", "arguments": '{"query": "leave"}'}}],
    }  # fmt: skip
    assert answered == {"role": "tool", "content": "30 days", "tool_call_id": "call_1"}


@pytest.mark.parametrize(
    ("calls", "read"),
    [
        ([("search", '{"query": "leave"')], [("search", {"query": "leave"})]),
        ([("search", "{'query': 'leave',}")], [("search", {"query": "leave"})]),
        ([("search", {"query": "leave"})], [("search", {"query": "leave"})]),
        ([("search", "leave")], [("search", {"input": "leave"})]),
        ([("search", "")], [("search", {})]),
        ([("search", None)], [("search", {})]),
        ([("drop_tables", "{}")], [("drop_tables", {})]),
        ([("", "{}"), None, {"id": "x"}, {"function": {"name": 5}}, ("search", "{}")], [("search", {})]),
        ([("search", '{"query": "a\\ud800"}')], [("search", {"query": "a\ufffd"})]),
    ],
)
async def test_odd_calls_are_read(
    chat: OpenAIChat, server: ScriptedServer, calls: list[Any], read: list[tuple[str, dict[str, Any]]]
) -> None:
    server.script(calling(*calls))
    assert [(call.name, dict(call.arguments)) for call in (await act(chat)).calls] == read


async def test_each_call_has_an_id_of_its_own(chat: OpenAIChat, server: ScriptedServer) -> None:
    function = {"name": "search", "arguments": "{}"}
    server.script(
        calling({"id": "same", "function": function}, {"id": "same", "function": function}, {"function": function})
    )
    ids = [call.id for call in (await act(chat)).calls]
    assert len(set(ids)) == 3
    assert all(ids)


async def test_an_older_function_call_and_content_in_parts(chat: OpenAIChat, server: ScriptedServer) -> None:
    function = {"name": "search", "arguments": '{"query": "leave"}'}
    server.script(Reply(message={"content": [{"type": "text", "text": "So:"}], "function_call": function}))
    acted = await act(chat)
    assert (acted.text, acted.calls[0].arguments) == ("So:", {"query": "leave"})


@pytest.mark.parametrize("finish", ["stop", "length", "tool_calls", "", "weird"])
async def test_whole_calls_count_whatever_the_finish_reason_is(
    chat: OpenAIChat, server: ScriptedServer, finish: str
) -> None:
    server.script(calling(("search", '{"query": "leave"}'), finish=finish))
    assert [call.name for call in (await act(chat)).calls] == ["search"]


async def test_a_call_that_the_token_limit_cut_off_is_dropped(chat: OpenAIChat, server: ScriptedServer) -> None:
    server.script(calling(("search", '{"query": "leave"}'), ("search", '{"query": "parental le'), finish="length"))
    acted = await act(chat)
    assert [dict(call.arguments) for call in acted.calls] == [{"query": "leave"}]
    server.script(calling(("search", '{"query": "le'), finish="length"))
    assert (await act(chat)).calls == ()


@pytest.mark.parametrize("content", [None, "", "  "])
async def test_a_reply_that_says_and_calls_nothing_is_an_error(
    chat: OpenAIChat, server: ScriptedServer, content: Any
) -> None:
    server.script(Reply(message={"content": content, "tool_calls": []}))
    with pytest.raises(ProviderResponseError, match="empty reply"):
        await act(chat)


# --- servers that do not know tools -----------------------------------------------------------------------------------


async def test_a_server_that_refuses_tools_is_asked_in_words_from_then_on(
    chat: OpenAIChat, server: ScriptedServer
) -> None:
    server.tools = "refuse"
    first, second = await act(chat), await act(chat)
    assert [(one.protocol, [call.arguments for call in one.calls]) for one in (first, second)] == [
        ("text", [{"query": "leave"}])
    ] * 2
    assert first.text == IN_TEXT
    assert asked_natively(server) == [True, False, False]
    assert server.requests[1].body["messages"][0]["content"] == "Use tools, in words."


async def test_native_alone_fails_where_tools_are_refused(chat: OpenAIChat, server: ScriptedServer) -> None:
    server.tools = "refuse"
    with pytest.raises(ProviderError, match="does not support tools"):
        await act(chat, "native")
    assert len(server.requests) == 1


async def test_text_alone_never_sends_tools(chat: OpenAIChat, server: ScriptedServer) -> None:
    assert (await act(chat, "text")).protocol == "text"
    assert asked_natively(server) == [False]


async def test_a_server_that_answers_in_words_is_asked_in_words_from_then_on(
    chat: OpenAIChat, server: ScriptedServer
) -> None:
    server.tools = "words"
    first = await act(chat)
    assert (first.protocol, first.calls[0].arguments) == ("text", {"query": "leave"})
    await act(chat)
    assert asked_natively(server) == [True, False]


async def test_a_server_that_ignores_tools_is_found_out_once(chat: OpenAIChat, server: ScriptedServer) -> None:
    server.tools = "words"
    server.script(Reply(text="I would have to look that up."))
    first = await act(chat)
    assert (first.calls, first.unproven) == ((), True)
    assert (await act(chat)).calls[0].name == "search"
    await act(chat)
    assert asked_natively(server) == [True, False, False]


async def test_a_server_that_only_talks_is_not_asked_twice_for_ever(chat: OpenAIChat, server: ScriptedServer) -> None:
    server.script(*[Reply(text="Let me think about it.") for _ in range(6)])
    told = [(await act(chat)).unproven for _ in range(6)]
    assert told == [True, False, True, False, False, False]
    assert asked_natively(server) == [True, False, True, False, True, True]


async def test_a_call_that_was_cut_off_proves_that_the_server_knows_tools(
    chat: OpenAIChat, server: ScriptedServer
) -> None:
    cut = {"id": "1", "type": "function", "function": {"name": "search", "arguments": '{"query": "lea'}}
    server.script(Reply(message={"content": None, "tool_calls": [cut]}, finish="length"))
    first = await act(chat)
    assert (first.calls, first.unproven) == ((), False)


async def test_a_refusal_without_a_reason_counts_when_it_is_repeated(chat: OpenAIChat, server: ScriptedServer) -> None:
    server.script("400", "ok", "400", "ok")
    for _ in range(3):
        assert (await act(chat)).calls
    assert asked_natively(server) == [True, False, True, False, False]


async def test_once_proven_tools_stay_native(chat: OpenAIChat, server: ScriptedServer) -> None:
    await act(chat)
    server.script(Reply(message={"content": IN_TEXT}))
    slip = await act(chat)
    assert (slip.protocol, slip.calls[0].name) == ("text", "search")
    server.script("400")
    with pytest.raises(ProviderError):
        await act(chat)
    assert (await act(chat)).protocol == "native"


# --- structured -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("taken", "sent"),
    [
        ({"json_schema", "json_object"}, ["json_schema", "json_schema"]),
        ({"json_object"}, ["json_schema", "json_object", "json_object"]),
        (set[str](), ["json_schema", "json_object", None, None]),
    ],
)
async def test_the_best_form_that_a_server_takes_is_remembered(
    chat: OpenAIChat, server: ScriptedServer, taken: set[str], sent: list[str | None]
) -> None:
    server.formats = taken
    server.answer = lambda messages: 'Here: {"steps": ["search", "write"],}'
    for _ in range(2):
        reply = await structured(chat)
        assert (reply.value, reply.usage) == ({"steps": ["search", "write"]}, Usage(7, 3))
        assert reply.protocol == ("native" if taken else "text")
    assert [(request.body.get("response_format") or {}).get("type") for request in server.requests] == sent
    if "json_schema" in taken:
        schema = server.requests[0].body["response_format"]["json_schema"]
        assert (schema["name"], schema["strict"], schema["schema"]["required"]) == ("plan", True, ["steps"])


async def test_of_structured_output_that_was_cut_off_what_is_whole_is_kept(
    chat: OpenAIChat, server: ScriptedServer
) -> None:
    server.script(Reply(text='{"steps": ["search", "wri', finish="length"), Reply(text="I cannot."))
    assert (await structured(chat)).value == {"steps": ["search"]}
    assert (await structured(chat)).value is None
    server.script(Reply(text='["search"]'))
    assert (await structured(chat, "text")).value == ["search"]
    assert "response_format" not in server.requests[-1].body


# --- accounts, failures -------------------------------------------------------------------------------------------------


async def test_calls_are_metered_and_failures_are_those_of_any_call(chat: OpenAIChat, server: ScriptedServer) -> None:
    meter = Meter({"some-model": (1.0, 2.0)})
    metered = meter.chat(chat, "test")
    await act(metered)
    server.script(Reply(text='{"steps": []}'))
    await structured(metered)
    assert (meter.spend.calls, meter.spend.input_tokens, meter.spend.output_tokens) == (2, 14, 6)
    assert isinstance(meter.spend, Spend)
    assert meter.spend.cost
    server.script(*["500"] * 3)
    with pytest.raises(ProviderError):
        await act(metered)
    assert meter.spend.calls == len(server.requests) == 5, "each attempt is one"
    assert (meter.spend.input_tokens, meter.spend.estimated) == (14, False), "what a server refuses costs no tokens"


async def test_a_refusal_does_not_count_against_the_server(server: ScriptedServer) -> None:
    circuit = Circuit("chat m")
    chat = OpenAIChat("m", "key", server.openai_url, retry=QUICK, circuit=circuit)
    server.tools, server.formats = "refuse", set()
    server.answer = lambda messages: IN_TEXT
    await act(chat)
    await structured(chat)
    assert circuit.state == "closed"
    await chat.close()
