"""What chat models and embeddings over the OpenAI protocol share: the client, and what its failures mean.

The protocol is spoken by OpenAI, Ollama, vLLM, OpenRouter and others; only `chat.completions` and `embeddings` are
used, since only these are common to all of them.

The SDK lets more through than its own exceptions: a JSONDecodeError for a malformed body or chunk, errors of httpx2,
and AttributeError or TypeError from objects that it built, unchecked, out of JSON of another shape.

The SDK is imported by the first client: it costs half a second and 60 MB, and many who start Cairn have no such model.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from cairn.errors import FailureCause, ProviderError, ProviderResponseError, ProviderTimeoutError, cause_of_status
from cairn.providers.openai_shapes import ServerSaidError, words_of
from cairn.providers.retry import redacted, retry_after, retryable_status
from cairn.providers.tls import authorities

if TYPE_CHECKING:
    import httpx2
    import openai

CONNECT_SECONDS: Final = 5.0
MOST_BYTES: Final = 64 << 20
"""Of a response, as it comes. The largest that is wanted are vectors of 256 texts, some 20 MB as numbers."""
LONGEST_EVENT: Final = 4 << 20
"""Bytes of a line in a stream of events; those of tokens have hundreds."""


_NO_MODEL: Final = (
    "The server has no such model: with Ollama run `ollama pull {name}`, otherwise name one in the settings that it serves "
    "(rag.qa.model, rag.embeddingModel; GET /models of the server lists them)"
)
_NO_PATH: Final = "OPENAI_BASE_URL must be what /chat/completions and /embeddings follow, most often ending in /v1"
_UNKNOWN_MODEL: Final = re.compile(
    r"not a valid model|no models? loaded|unknown model|invalid model"
    r"|\bmodel\b.{0,80}(?:not found|does not exist|is not available|not exist)",
    re.IGNORECASE,
)
"""What some servers say with status 400 or 422 of a name that they do not know."""
_NO_CREDIT: Final = re.compile(r"insufficient_quota|spend_limit", re.IGNORECASE)
_KINDS: Final[Mapping[FailureCause, str]] = {
    "key": "the key is rejected", "credit": "the account has no credit", "model": "there is no such model",
    "address": "there is nothing at this address", "busy": "too many requests", "silent": "no answer in time",
    "refused": "the request is refused", "server": "the server failed",
}  # fmt: skip
_OVERLOADED: Final = re.compile(r"server_error|overloaded|api_error|rate.?limit|timeout|unavailable", re.IGNORECASE)


def new_client(api_key: str | None, base_url: str | None) -> openai.AsyncOpenAI:
    """A client without retries of its own: retry.py has them; which goes where it is sent and nowhere else, and reads so
    much and no more. Local servers need no key, the SDK insists on one."""
    import openai

    trust = authorities(from_environment=True)
    http = openai.DefaultAsyncHttpxClient(follow_redirects=False, event_hooks={"response": [_bound]}, verify=trust)
    return openai.AsyncOpenAI(api_key=api_key or "none", base_url=base_url, max_retries=0, http_client=http)


async def _bound(response: httpx2.Response) -> None:
    """Let a response end in an error where it does not end."""
    response.stream = _bounded_stream(response.stream, response.headers.get("content-type", ""))


def _bounded_stream(stream: Any, media_type: str) -> httpx2.AsyncByteStream:
    import httpx2

    class Bounded(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            read = line = 0
            async for piece in stream:
                read += len(piece)
                end = piece.rfind(b"\n")
                line = line + len(piece) if end < 0 else len(piece) - end - 1
                if read > MOST_BYTES or (line > LONGEST_EVENT and media_type.startswith("text/event-stream")):
                    raise ProviderResponseError(f"the reply does not end: {read:,} bytes were read")
                yield piece

        async def aclose(self) -> None:
            await stream.aclose()

    return Bounded()


def limits(seconds: float) -> httpx2.Timeout:
    """Limits of one request: `seconds` of silence, at most CONNECT_SECONDS to connect."""
    import httpx2

    seconds = max(seconds, 0.001)
    return httpx2.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds))


def provider_error(error: Exception, what: str, secret: str | None) -> ProviderError:
    """`error` as a ProviderError; `what` names the model, `secret` is the key that must not show."""
    import httpx2
    import openai

    if isinstance(error, ProviderError):
        return error
    if isinstance(error, openai.APIStatusError):
        return _status_error(error, what, secret)
    if isinstance(error, openai.APITimeoutError | httpx2.TimeoutException):
        away = isinstance(error.__cause__ or error, httpx2.ConnectTimeout)
        return ProviderTimeoutError(f"{what}: no answer in time", retryable=True, cause="unreachable" if away else None)
    if isinstance(error, openai.APIConnectionError | httpx2.TransportError):
        reason = error.__cause__ or error
        broken = isinstance(reason, httpx2.ReadError | httpx2.WriteError | httpx2.CloseError | httpx2.ProtocolError)
        return ProviderError(
            f"{what}: connection failed ({type(reason).__name__})", retryable=True,
            cause="broken" if broken else "unreachable",
        )  # fmt: skip
    if isinstance(error, openai.APIError) and not isinstance(error, openai.APIResponseValidationError):
        return _stream_error(error, what, secret)
    if isinstance(error, ServerSaidError):
        overloaded = bool(_OVERLOADED.search(str(error)))
        return ProviderError(
            f"{what}: {redacted(str(error), secret)}", retryable=overloaded, cause="server",
            outline=outline(what, None, "server"),
        )  # fmt: skip
    return ProviderResponseError(f"{what}: malformed response ({type(error).__name__})")


def outline(what: str, status: int | None, cause: FailureCause | None) -> str:
    """What failed, and how, in no words of the server: these are for who made the call."""
    answered = "" if status is None else f"HTTP {status}: "
    return f"{what}: {answered}{_KINDS.get(cause or 'failed', 'the call failed')}"


def server_words(error: openai.APIStatusError) -> str:
    """What a server says of its error; "" for a page of HTML."""
    body = error.body
    if isinstance(body, dict | list):
        return words_of(body)
    return "" if body is None or str(body).lstrip().startswith("<") else str(body)


def _status_error(error: openai.APIStatusError, what: str, secret: str | None) -> ProviderError:
    status, said = error.status_code, server_words(error)
    if 300 <= status < 400:
        return _redirect(error, what)
    detail = f"{what}: HTTP {status}" + (f": {redacted(said, secret)}" if said else "")
    told, cause = "", cause_of_status(status)
    if status == 404 or (status in (400, 422) and _UNKNOWN_MODEL.search(said)):
        unknown = re.search("model", said, re.IGNORECASE)
        cause = "model" if unknown else "address"
        told = f". {_NO_MODEL.format(name=what) if unknown else _NO_PATH}"
    if retryable_status(status) and _NO_CREDIT.search(f"{error.code} {error.body}"):
        cause = "credit"
    return ProviderError(
        detail + told,
        outline=f"{what}: HTTP {status}{told}" if told else outline(what, status, cause),
        # 429 is also what an account without credit gets; waiting does not help there
        retryable=retryable_status(status) and cause != "credit",
        cause=cause,
        upstream_status=status,
        retry_after=_asked_wait(error.response.headers),
    )


def _redirect(error: openai.APIStatusError, what: str) -> ProviderError:
    """Never followed: the key, and what is asked, are for the server that the settings name."""
    return ProviderError(
        redirect_detail(what, error.status_code, error.response.headers.get("location"), "OPENAI_BASE_URL"),
        upstream_status=error.status_code,
    )


def redirect_detail(what: str, status: int, location: str | None, variable: str) -> str:
    """Where a server wanted to send us, by its host alone, and what to set."""
    try:
        host = urlsplit(location or "").hostname or "another path of the same server"
    except ValueError:
        host = "an address that is none"
    return (
        f"{what}: HTTP {status}: the server redirects to {host[:100]}, and redirects are not followed, so that no key goes "
        f"elsewhere; set {variable} to the address that answers"
    )


def _asked_wait(headers: httpx2.Headers) -> float | None:
    """Seconds; some servers say them in thousandths."""
    exact = retry_after(headers.get("retry-after-ms"))
    return retry_after(headers.get("retry-after")) if exact is None else exact / 1000


def _stream_error(error: openai.APIError, what: str, secret: str | None) -> ProviderError:
    """An error that came as a chunk, under status 200: its code, if it is a number, is the status it stands for."""
    code, said = str(error.code or ""), words_of(error.body or str(error.message))
    retryable = bool(_OVERLOADED.search(f"{error.type} {said}")) or (code.isdigit() and retryable_status(int(code)))
    status = int(code) if code.isdigit() and len(code) == 3 else None
    cause = cause_of_status(status) or "server"
    return ProviderError(
        f"{what}: {redacted(said, secret)}", retryable=retryable, cause=cause, outline=outline(what, status, cause)
    )
