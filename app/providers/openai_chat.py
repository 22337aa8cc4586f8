"""Chat models of OpenAI and of servers that speak its protocol."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

import structlog

from app.errors import ProviderResponseError
from app.language.text import normalise, storable
from app.providers.circuit import Circuit
from app.providers.openai_compatible import limits, new_client, provider_error
from app.providers.protocols import Completion, Delta, Message, Usage
from app.providers.retry import RetryPolicy, before, now, retried

if TYPE_CHECKING:
    import openai
    from openai import AsyncStream
    from openai.types.chat import ChatCompletionChunk

log = structlog.get_logger(__name__)

DEFAULT_CHAT_MODEL: Final = "gpt-4o-mini"
STALL_SECONDS: Final = 60.0
"""Longest silence in a stream; a local model may read a long prompt that long before its first word."""


def _usage(reported: Any) -> Usage:
    """Reported token counts; None for what a server leaves out."""
    counts = (getattr(reported, field, None) for field in ("prompt_tokens", "completion_tokens"))
    return Usage(*(count if isinstance(count, int) else None for count in counts))


_OTHER_LIMIT: Final = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
_REFUSES = re.compile(
    r"unsupported|not support|n.t support|unknown|unrecogni[sz]ed|unexpected|extra|not (?:permitted|allowed)|invalid field",
    re.IGNORECASE,
)


def refused_field(error: openai.APIStatusError, body: dict[str, Any]) -> str | None:
    """The field of the request that a server does not take, where one can do without it or call it otherwise: usage in
    streams (older servers), temperature (reasoning models), the name of the token limit. None for other errors.

    A stream that is refused without a word about why is tried without `stream_options`, which is the likeliest reason.
    """
    if error.status_code not in (400, 422):
        return None
    said = f"{error.message} {error.param or ''} {error.body or ''}"
    if _REFUSES.search(said):
        fields = ("stream_options", "temperature", *_OTHER_LIMIT)
        if named := next((name for name in fields if name in body and re.search(rf"\b{name}\b", said)), None):
            return named
    names_another = any(re.search(rf"\b{name}\b", said) for name in body if name != "stream_options")
    return "stream_options" if "stream_options" in body and not names_another else None


class OpenAIChat:
    """ChatModel. Attempts are repeated only until the first chunk of a stream has arrived."""

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
        self._circuit = circuit or Circuit(f"chat {self.name}")
        self._refused: set[str] = set()
        self._retry = retry
        self._key = api_key
        self._client = new_client(api_key, base_url)
        # OpenAI deprecated max_tokens (its reasoning models refuse it); other servers may know nothing else
        self._limit_name = "max_tokens" if base_url else "max_completion_tokens"

    def _body(self, messages: Sequence[Message], temperature: float, max_tokens: int) -> dict[str, Any]:
        return {
            "model": self.name,
            "messages": [{"role": message.role, "content": normalise(message.content)} for message in messages],
            "temperature": temperature,
            self._limit_name: max_tokens,
        }

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
        body, deadline = self._body(messages, temperature, max_tokens), now() + timeout
        async with self._circuit.call():
            return await retried(lambda: self._attempt(body, deadline), deadline=deadline, policy=self._retry)

    async def _attempt(self, body: dict[str, Any], deadline: float) -> Completion:
        try:
            response = await self._create(body, lambda: limits(deadline - now()))
            choice = response.choices[0]
            text, finish = choice.message.content, choice.finish_reason
            model, usage = response.model, _usage(response.usage)
        except Exception as error:
            raise provider_error(error, self.name, self._key) from None
        self._require(text, finish)
        return Completion(storable(text), finish, usage, model if isinstance(model, str) else self.name)

    def _require(self, text: object, finish: object) -> None:
        if not isinstance(finish, str):
            raise ProviderResponseError(f"{self.name}: the reply breaks off (no finish reason)")
        if not isinstance(text, str) or not text.strip():
            raise ProviderResponseError(f"{self.name}: empty reply (finish reason {finish[:40]})", blames_server=False)

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        temperature: float,
        max_tokens: int,
        timeout: float,
    ) -> AsyncIterator[Delta]:
        """See `ChatModel.stream`; `timeout` covers everything from the call to the last delta, seconds."""
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
            await stream.close()

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
        while True:
            try:
                made = await self._client.chat.completions.create(**known, timeout=within())
                break
            except APIStatusError as error:
                unknown = refused_field(error, known)
                if unknown is None:
                    raise
            value = known.pop(unknown)
            dropped.add(unknown)
            other = _OTHER_LIMIT.get(unknown)
            if other and other not in dropped | self._refused:
                known[other] = value
        if dropped:
            log.info("chat.fields_refused", model=self.name, fields=sorted(dropped))
            self._refused |= dropped
            self._limit_name = next((name for name in _OTHER_LIMIT if name in known), self._limit_name)
        return made

    async def _next(self, stream: AsyncStream[ChatCompletionChunk], deadline: float) -> ChatCompletionChunk | None:
        try:
            return await before(deadline, anext(stream, None))
        except Exception as error:
            raise provider_error(error, self.name, self._key) from None

    def _piece(self, chunk: ChatCompletionChunk) -> Delta:
        """What a chunk says; one without choices (the report of usage, a filter's verdict) has no text."""
        try:
            usage = _usage(chunk.usage) if chunk.usage else None
            if chunk.choices == []:
                return Delta(usage=usage)
            choice = chunk.choices[0]
            return Delta(storable(choice.delta.content or ""), choice.finish_reason, usage)
        except Exception as error:
            raise provider_error(error, self.name, self._key) from None

    async def close(self) -> None:
        await self._client.close()
