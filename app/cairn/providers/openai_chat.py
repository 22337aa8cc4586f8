"""Chat models of OpenAI and of servers that speak its protocol.

Servers differ in what they take: usage in streams, the sampling temperature, the name of the token limit, tools, structured
output. What one refuses is left out, said otherwise, or asked for in words, and that is remembered for the client's life.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import structlog

from cairn.errors import ProviderError, ProviderResponseError
from cairn.language.text import normalise
from cairn.providers.circuit import Circuit
from cairn.providers.openai_compatible import limits, new_client, provider_error
from cairn.providers.openai_shapes import (
    call_on_wire,
    calls_of,
    choice_of,
    field_of,
    text_of,
    usage_of,
    whole_reply,
    without_system,
)
from cairn.providers.protocols import (
    Acted,
    Completion,
    Delta,
    Message,
    Schema,
    Structured,
    ToolChoice,
    ToolProtocol,
    ToolSpec,
    Usage,
)
from cairn.providers.reader import json_value, read_calls, without_thought
from cairn.providers.requests import begin_request, note_usage
from cairn.providers.retry import RetryPolicy, before, now, retried

if TYPE_CHECKING:
    import openai
    from openai import AsyncStream
    from openai.types.chat import ChatCompletionChunk

log = structlog.get_logger(__name__)

DEFAULT_CHAT_MODEL: Final = "gpt-4o-mini"
MOST_DOUBTS: Final = 2
"""Tries to find out, by asking in words, whether a server that only talks has seen its tools."""
STALL_SECONDS: Final = 60.0
"""Longest silence in a stream; a local model may read a long prompt that long before its first word."""
MODELS_SECONDS: Final = 5.0
"""For a server to say which models it has."""
NOT_IMPLEMENTED: Final = 501
NAMED: Final = 8
"""Models of a server that a message names."""

_READ_BY_THE_SDK: Final = ("model", "stream")
"""Fields of a request by which the SDK chooses an address and what it returns."""
_OTHER_LIMIT: Final = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
_REFUSES = re.compile(
    r"unsupported|not support|n.t support|unknown|unrecogni[sz]ed|unexpected|extra|not (?:permitted|allowed)|invalid field"
    r"|deprecated",
    re.IGNORECASE,
)
_NO_SYSTEM = re.compile(
    r"system role (?:is )?not supported|role.{0,60}\bsystem\b.{0,40}(?:support|allowed)|does not support.{0,20}\bsystem\b"
    r"|system messages? (?:is|are) not supported",
    re.IGNORECASE | re.DOTALL,
)


def refused_field(error: openai.APIStatusError, body: dict[str, Any]) -> str | None:
    """The field of the request that a server does not take, where one can do without it or say it otherwise: usage in
    streams (older servers), temperature (reasoning models), the name of the token limit, messages of the role `system`
    (templates of some local models). None for other errors.

    A stream that is refused without a word about why is tried without `stream_options`, which is the likeliest reason.
    """
    if error.status_code not in (400, 422):
        return None
    said = f"{error.message} {error.param or ''} {error.body or ''}"
    if _NO_SYSTEM.search(said) and any(one["role"] == "system" for one in body["messages"]):
        return "system"
    if _REFUSES.search(said):
        fields = ("stream_options", "temperature", *_OTHER_LIMIT)
        if named := next((name for name in fields if name in body and re.search(rf"\b{name}\b", said)), None):
            return named
    names_another = any(re.search(rf"\b{name}\b", said) for name in body if name != "stream_options")
    return "stream_options" if "stream_options" in body and not names_another else None


_TOOLS_NAMED = re.compile(r"\btool|\bfunction[ _-]?call", re.IGNORECASE)
_FORMAT_NAMED = re.compile(
    r"response_format|json_schema|json_object|schema\b|\bgrammar\b|additional_?properties|\bstrict\b", re.IGNORECASE
)
_REFUSING: Final = frozenset({400, 404, 405, 415, 422, 500, 501})
"""404 is what a router says that finds no server with tools, 500 what llama.cpp says without its templates."""
UNEXPLAINED: Final = 2
"""Requests in a row that are refused without a word about why, until that is taken for what was new in them."""


class _RefusedError(ProviderError):
    """The server does not take `tools`, or the `response_format`. `explained`: it says so."""

    def __init__(self, error: ProviderError, *, explained: bool) -> None:
        status = error.extra.get("upstream_status")
        super().__init__(
            error.detail, retryable=False, cause=error.cause, outline=error.outline, upstream_status=status
        )
        self.explained = explained


def _refused(error: openai.APIStatusError, named: re.Pattern[str]) -> bool | None:
    """Whether a server refuses what `named` names: it says so (True), it refuses without a reason (False), no (None)."""
    said = f"{error.message} {error.param or ''} {error.body or ''}"
    if error.status_code in _REFUSING and named.search(said):
        return True
    other = re.search(r"context|\btokens?\b|length|\bmodels?\b|\bmessages\b", said, re.IGNORECASE)
    return None if other or error.status_code not in (400, 422) else False


def _wire(message: Message) -> dict[str, Any]:
    """As the protocol has it."""
    sent: dict[str, Any] = {"role": message.role, "content": normalise(message.content)}
    if message.calls:
        sent["content"] = sent["content"] or None
        sent["tool_calls"] = [call_on_wire(call) for call in message.calls]
    if message.role == "tool":
        sent["tool_call_id"] = message.call_id
    return sent


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _response_format(form: str, schema: Schema) -> dict[str, Any]:
    if form == "json_object":
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": schema.name, "strict": True, "schema": schema.as_json()}}


def _away(error: ProviderError) -> bool:
    """Whether a server that was asked for its models is not there, rather than without a list of them."""
    return error.cause in ("unreachable", "broken", "silent", "server") and error.answered != NOT_IMPLEMENTED


class OpenAIChat:
    """ChatModel. Attempts are repeated only until the first chunk of a stream has arrived."""

    reports_requests = True
    problem: str | None = None
    """Why the server did not answer when it was looked at, until it does."""

    def __init__(
        self,
        name: str,
        api_key: str | None,
        base_url: str | None = None,
        *,
        retry: RetryPolicy | None = None,
        circuit: Circuit | None = None,
    ) -> None:
        self.name = name or DEFAULT_CHAT_MODEL
        self._own = base_url is not None
        self._unnamed = self._own and not name  # the server is asked for its models
        self._name_known = False
        self._circuit = circuit or Circuit(f"chat {self.name}")
        self._refused: set[str] = set()
        self._tools: ToolProtocol | None = None  # what the server has shown that it knows
        self._in_doubt, self._doubts = False, 0  # whether it sees tools at all; how often that was tried out
        self._formats = ["json_schema", "json_object"]  # that it may still take, the best first
        self._unexplained = {"tools": 0, "format": 0}
        self._retry = retry
        self._key = api_key
        self._client = new_client(api_key, base_url)
        # OpenAI deprecated max_tokens (its reasoning models refuse it); other servers may know nothing else
        self._limit_name = "max_tokens" if base_url else "max_completion_tokens"

    def _body(self, messages: Sequence[Message], temperature: float, max_tokens: int) -> dict[str, Any]:
        return {
            "model": self.name,
            "messages": [_wire(message) for message in messages],
            "temperature": temperature,
            self._limit_name: max_tokens,
        }

    # --- which model --------------------------------------------------------------------------------------------------

    async def learn_name(self) -> None:
        """Where the settings name no model, take the only one that the server has; the usual name where it has that among others,
        or does not say. Asked once, and again where a model of that name was not there. Raises ProviderError where the
        server does not answer, or has several."""
        reason = self._circuit.reason
        if not self._unnamed or (self._name_known and not (reason and reason.cause == "model")):
            return
        async with self._circuit.call():
            try:
                names = await self._list_models()
            except ProviderError as error:
                if error.cause in ("key", "credit", "busy", "unreachable", "broken", "silent"):
                    raise
                names, self._name_known = [DEFAULT_CHAT_MODEL], not _away(error)  # it does not say, or not yet
            else:
                self._name_known = True
            self._take(names)

    def _take(self, names: Sequence[str]) -> None:
        """Raises ProviderError where nothing says which."""
        if len(names) != 1 and DEFAULT_CHAT_MODEL not in names:
            self._name_known = False
            told = f"{', '.join(names[:NAMED])}{' ...' if len(names) > NAMED else ''}"
            detail = (
                f"the server has several models ({told}): name one of them in the settings (rag.qa.model)" if names
                else "the server has no models: load one there (Ollama: `ollama pull ...`)"
            )  # fmt: skip
            raise ProviderError(detail, blames_server=False, cause="choice" if names else "model")
        self.name = DEFAULT_CHAT_MODEL if DEFAULT_CHAT_MODEL in names else names[0]
        self._circuit.name = f"chat {self.name}"

    async def look(self) -> None:
        """See whether the server answers, without asking the model anything; `problem` says what it finds, and the name is
        learned. A key that is refused counts only where it is OpenAI's: other servers list models to nobody, or to other keys."""
        try:
            if self._unnamed:
                await self.learn_name()
            else:
                await self._list_models()
        except ProviderError as error:
            told = self._unnamed or _away(error) or (error.cause == "key" and not self._own)
            self.problem = error.outline if told else None
        else:
            self.problem = None

    async def _list_models(self) -> list[str]:
        """Raises ProviderError."""
        try:
            found = await before(now() + MODELS_SECONDS, self._first_models())
            return [name for one in found.data if isinstance(name := field_of(one, "id"), str)]
        except Exception as error:
            raise provider_error(error, self.name, self._key) from None

    async def _first_models(self) -> Any:
        return await self._client.models.list(timeout=limits(MODELS_SECONDS))

    # --- replies ------------------------------------------------------------------------------------------------------

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        temperature: float,
        max_tokens: int,
        timeout: float,
    ) -> Completion:
        """See `ChatModel.complete`; `timeout` is the deadline of all attempts together, seconds.

        A reply cut off by `max_tokens` comes back with finish_reason "length", unless nothing was said.
        """
        await self.learn_name()
        body, deadline = self._body(messages, temperature, max_tokens), now() + timeout
        async with self._circuit.call():
            return await retried(lambda: self._attempt(body, deadline), deadline=deadline, policy=self._retry)

    async def _attempt(self, body: dict[str, Any], deadline: float) -> Completion:
        from openai import APIStatusError

        try:
            response = whole_reply(await self._create(body, lambda: limits(deadline - now())))
            choice = choice_of(response)
            text, finish = without_thought(text_of(choice.message.content)), choice.finish_reason
            model, usage = response.model, usage_of(response)
        except APIStatusError as error:
            failed = provider_error(error, self.name, self._key)
            why = _refused(error, _FORMAT_NAMED) if "response_format" in body else None
            raise (failed if why is None else _RefusedError(failed, explained=why)) from None
        except Exception as error:
            raise provider_error(error, self.name, self._key) from None
        self._require_whole(text, finish)
        return Completion(text, str(finish), usage, model if isinstance(model, str) else self.name)

    def _require(self, text: object, finish: object) -> None:
        if not isinstance(finish, str):
            broken = isinstance(text, str) and text.strip() != ""
            detail = f"{self.name}: the reply breaks off (no finish reason)"
            raise ProviderResponseError(detail, cause="broken" if broken else None)
        if not isinstance(text, str) or not text.strip():
            raise ProviderResponseError(f"{self.name}: empty reply (finish reason {finish[:40]})", blames_server=False)

    def _require_whole(self, text: object, finish: object) -> None:
        """Of a reply that is read as a whole: one that a filter ended may stop anywhere."""
        self._require(text, finish)
        if finish == "content_filter":
            raise ProviderResponseError(f"{self.name}: a content filter cut the reply off", blames_server=False)

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        temperature: float,
        max_tokens: int,
        timeout: float,
    ) -> AsyncGenerator[Delta]:
        """See `ChatModel.stream`; `timeout` covers everything from the call to the last delta, seconds."""
        await self.learn_name()
        body, deadline = self._body(messages, temperature, max_tokens), now() + timeout
        body |= {"stream": True, "stream_options": {"include_usage": True}}
        async with self._circuit.call(), aclosing(self._deltas(body, deadline)) as deltas:
            async for delta in deltas:
                yield delta

    async def _deltas(self, body: dict[str, Any], deadline: float) -> AsyncGenerator[Delta, None]:
        stream, chunk = await retried(lambda: self._open(body, deadline), deadline=deadline, policy=self._retry)
        finish, usage, said = None, None, ""
        try:
            while chunk is not None:
                piece = self._piece(chunk)
                finish, usage = piece.finish_reason or finish, piece.usage or usage
                if piece.text:
                    said = said or piece.text.strip()
                    yield Delta(piece.text)
                chunk = await self._next(stream, deadline)
            self._require(said, finish)
            yield Delta(finish_reason=finish, usage=usage)
        finally:
            note_usage(usage or Usage())
            await stream.close()

    # --- tools --------------------------------------------------------------------------------------------------------

    async def act(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, in_words: Sequence[Message],
        choice: ToolChoice = "auto", temperature: float, max_tokens: int, timeout: float,
    ) -> Acted:  # fmt: skip
        """See `ChatModel.act`; `timeout` is the deadline of all attempts together, seconds."""
        deadline, names = now() + timeout, {tool.name for tool in tools}
        refused: _RefusedError | None = None
        await self.learn_name()
        async with self._circuit.call():
            if choice == "native" or (choice == "auto" and self._tools != "text" and not self._in_doubt):
                body = self._body(messages, temperature, max_tokens) | {"tools": [_tool(tool) for tool in tools]}
                try:
                    acted = await retried(
                        lambda: self._act(body, names, deadline), deadline=deadline, policy=self._retry
                    )
                    return self._learned(acted, choice)
                except _RefusedError as error:
                    if choice == "native":
                        raise
                    refused = error
            body = self._body(in_words, temperature, max_tokens)
            reply = await retried(lambda: self._attempt(body, deadline), deadline=deadline, policy=self._retry)
            if refused is not None and self._gives_up("tools", refused):
                self._tools = "text"
                log.info("chat.tools_refused", model=self.name, detail=refused.detail)
        calls = read_calls(reply.text, names, cut_off=reply.finish_reason == "length")
        if choice == "auto" and self._in_doubt:  # the try is over: it is told of tools in words, or just talks
            self._in_doubt, self._doubts = False, self._doubts + 1
            self._tools = "text" if calls and self._tools is None else self._tools
        return Acted(calls, without_thought(reply.text), reply.usage, reply.finish_reason, "text")

    async def _act(self, body: dict[str, Any], names: set[str], deadline: float) -> Acted:
        from openai import APIStatusError

        try:
            response = whole_reply(await self._create(body, lambda: limits(deadline - now())))
            choice = choice_of(response)
            said, text = choice.message, text_of(choice.message.content)
            finish, usage = choice.finish_reason, usage_of(response)
            calls = calls_of(said, cut_off=finish == "length")
        except APIStatusError as error:
            failed, why = provider_error(error, self.name, self._key), _refused(error, _TOOLS_NAMED)
            if why is None or (self._tools == "native" and not why):
                raise failed from None
            raise _RefusedError(failed, explained=why) from None
        except Exception as error:
            raise provider_error(error, self.name, self._key) from None
        if field_of(said, "tool_calls"):
            self._tools = self._tools or "native"  # also where the token limit has cut off what it called
        elif not calls:
            self._require_whole(text, finish)
        protocol: ToolProtocol = "native"
        if not calls and text and (calls := read_calls(text, names, cut_off=finish == "length")):
            calls = tuple(call for call in calls if call.name in names)
            protocol = "text" if calls else "native"
        return Acted(calls, without_thought(text), usage, finish if isinstance(finish, str) else "", protocol)

    def _learned(self, acted: Acted, choice: ToolChoice) -> Acted:
        """What the first replies to `tools` tell of the server. One that answers in words though it was given tools is
        asked in words from then on; one that only talks may not have seen them, which is tried out once."""
        self._unexplained["tools"] = 0
        if choice != "auto" or self._tools == "native":
            return acted
        if acted.calls:
            self._tools = acted.protocol
            return acted
        if self._doubts >= MOST_DOUBTS:
            return acted
        self._in_doubt = True
        return replace(acted, unproven=True)

    # --- structured output --------------------------------------------------------------------------------------------

    async def structured(
        self, messages: Sequence[Message], schema: Schema, *, choice: ToolChoice = "auto", temperature: float,
        max_tokens: int, timeout: float,
    ) -> Structured:  # fmt: skip
        """See `ChatModel.structured`; `timeout` is the deadline of all attempts together, seconds."""
        await self.learn_name()
        body, deadline = self._body(messages, temperature, max_tokens), now() + timeout
        async with self._circuit.call():
            formats = [] if choice == "text" else list(self._formats)
            reply, protocol = await self._formatted(body, schema, deadline, formats)
        value = json_value(reply.text, cut_off=reply.finish_reason == "length")
        return Structured(value, reply.text, reply.usage, reply.finish_reason, protocol)

    async def _formatted(
        self, body: dict[str, Any], schema: Schema, deadline: float, formats: Sequence[str]
    ) -> tuple[Completion, ToolProtocol]:
        """In the best form that the server takes: to a schema, as some JSON object, in words; and which of them it was."""
        for form in formats:
            asked = body | {"response_format": _response_format(form, schema)}
            try:
                made = await retried(
                    lambda asked=asked: self._attempt(asked, deadline),  # type: ignore[misc]
                    deadline=deadline,
                    policy=self._retry,
                )
                self._unexplained["format"] = 0
                return made, "native"
            except _RefusedError as error:
                if self._gives_up("format", error) and form in self._formats:
                    self._formats.remove(form)
                    log.info("chat.format_refused", model=self.name, format=form, detail=error.detail)
        return await retried(lambda: self._attempt(body, deadline), deadline=deadline, policy=self._retry), "text"

    def _gives_up(self, what: str, error: _RefusedError) -> bool:
        """Whether a refusal is for good: it says so, or it is not the first in a row that says nothing."""
        self._unexplained[what] += 1
        return error.explained or self._unexplained[what] >= UNEXPLAINED

    # --- requests -----------------------------------------------------------------------------------------------------

    async def _open(
        self, body: dict[str, Any], deadline: float
    ) -> tuple[AsyncStream[ChatCompletionChunk], ChatCompletionChunk | None]:
        """A stream whose first chunk has arrived."""
        silence = limits(min(STALL_SECONDS, deadline - now()))
        try:
            stream = await self._create(body, lambda: silence)
        except Exception as error:
            raise provider_error(error, self.name, self._key) from None
        try:
            return stream, await self._next(stream, deadline)
        except BaseException:
            await stream.close()
            raise

    async def _create(self, body: dict[str, Any], within: Callable[[], Any]) -> Any:
        """Send the request; again without a field that the server refuses. What then succeeds is remembered."""
        from openai import APIStatusError  # the SDK is here already: the client was made of it

        known, dropped = {name: value for name, value in body.items() if name not in self._refused}, set[str]()
        if "system" in self._refused:
            known["messages"] = without_system(known["messages"])
        while True:
            begin_request()
            try:
                # As a body of our own: the SDK walks through messages and tools by their types, 4 ms of a processor for 13 tools.
                of_the_sdk = {name: known[name] for name in _READ_BY_THE_SDK if name in known}
                made = await self._client.chat.completions.create(
                    messages=(), **of_the_sdk, extra_body=known, timeout=within()
                )
                break
            except APIStatusError as error:
                unknown = refused_field(error, known)
                if unknown is None:
                    raise
            dropped.add(unknown)
            if unknown == "system":
                known["messages"] = without_system(known["messages"])
                continue
            value = known.pop(unknown)
            other = _OTHER_LIMIT.get(unknown)
            if other and other not in dropped | self._refused:
                known[other] = value
        if dropped:
            log.info("chat.fields_refused", model=self.name, fields=sorted(dropped))
            self._refused |= dropped
            self._limit_name = next((name for name in _OTHER_LIMIT if name in known), self._limit_name)
        note_usage(usage_of(made))
        self.problem = None
        return made

    async def _next(self, stream: AsyncStream[ChatCompletionChunk], deadline: float) -> ChatCompletionChunk | None:
        try:
            return await before(deadline, anext(stream, None))
        except Exception as error:
            raise provider_error(error, self.name, self._key) from None

    def _piece(self, chunk: ChatCompletionChunk) -> Delta:
        """What a chunk says; one without choices (the report of usage, a filter's verdict) has no text."""
        try:
            usage = usage_of(chunk) if chunk.usage else None
            if chunk.choices == []:
                return Delta(usage=usage)
            choice = chunk.choices[0]
            return Delta(text_of(field_of(choice.delta, "content")), choice.finish_reason, usage)
        except Exception as error:
            raise provider_error(error, self.name, self._key) from None

    async def close(self) -> None:
        await self._client.close()
