"""Chat models of OpenAI and of servers that speak its protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from app.domain.text import normalise
from app.errors import ProviderResponseError
from app.providers.openai_compatible import limits, new_client, provider_error
from app.providers.protocols import Completion, Delta, Message, Usage
from app.providers.retry import RetryPolicy, before, now, retried

if TYPE_CHECKING:
    from openai import AsyncStream
    from openai.types.chat import ChatCompletionChunk

DEFAULT_CHAT_MODEL: Final = "gpt-4o-mini"
STALL_SECONDS: Final = 60.0
"""Longest silence in a stream; a local model may read a long prompt that long before its first word."""


def _usage(reported: Any) -> Usage:
    """Reported token counts; None for what a server leaves out."""
    counts = (getattr(reported, field, None) for field in ("prompt_tokens", "completion_tokens"))
    return Usage(*(count if isinstance(count, int) else None for count in counts))


class OpenAIChat:
    """ChatModel. Attempts are repeated only until the first chunk of a stream has arrived."""

    def __init__(
        self, name: str, api_key: str | None, base_url: str | None = None, *, retry: RetryPolicy | None = None
    ) -> None:
        self.name = name or DEFAULT_CHAT_MODEL
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
        return await retried(lambda: self._attempt(body, deadline), deadline=deadline, policy=self._retry)

    async def _attempt(self, body: dict[str, Any], deadline: float) -> Completion:
        try:
            response = await self._client.chat.completions.create(**body, timeout=limits(deadline - now()))
            choice = response.choices[0]
            text, finish = choice.message.content, choice.finish_reason
            model, usage = response.model, _usage(response.usage)
        except Exception as error:
            raise provider_error(error, self.name, self._key) from None
        self._require(text, finish)
        return Completion(text, finish, usage, model if isinstance(model, str) else self.name)

    def _require(self, text: object, finish: object) -> None:
        if not isinstance(finish, str):
            raise ProviderResponseError(f"{self.name}: the reply breaks off (no finish reason)")
        if not isinstance(text, str) or not text.strip():
            raise ProviderResponseError(f"{self.name}: empty reply (finish reason {finish[:40]})")

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
            stream = await self._client.chat.completions.create(
                **body, stream=True, stream_options={"include_usage": True}, timeout=silence
            )
        except Exception as error:
            raise provider_error(error, self.name, self._key) from None
        try:
            return stream, await self._next(stream, deadline)
        except BaseException:
            await stream.close()
            raise

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
            return Delta(choice.delta.content or "", choice.finish_reason, usage)
        except Exception as error:
            raise provider_error(error, self.name, self._key) from None

    async def close(self) -> None:
        await self._client.close()
