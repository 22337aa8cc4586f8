"""What chat models and embeddings over the OpenAI protocol share: the client, and what its failures mean.

The protocol is spoken by OpenAI, Ollama, vLLM, OpenRouter and others; only `chat.completions` and `embeddings` are
used, since only these are common to all of them.

The SDK lets more through than its own exceptions: a JSONDecodeError for a malformed body or chunk, errors of httpx2,
and AttributeError or TypeError from objects that it built, unchecked, out of JSON of another shape.

The SDK is imported by the first client: it costs half a second and 60 MB, and many who start Cairn have no such model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from app.errors import ProviderError, ProviderResponseError, ProviderTimeoutError
from app.providers.retry import redacted, retry_after, retryable_status

if TYPE_CHECKING:
    import httpx2
    import openai

CONNECT_SECONDS: Final = 5.0


def new_client(api_key: str | None, base_url: str | None) -> openai.AsyncOpenAI:
    """A client without retries of its own: retry.py has them. Local servers need no key, the SDK insists on one."""
    import openai

    return openai.AsyncOpenAI(api_key=api_key or "none", base_url=base_url, max_retries=0)


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
        return ProviderTimeoutError(f"{what}: no answer in time", retryable=True)
    if isinstance(error, openai.APIConnectionError | httpx2.TransportError):
        reason = type(error.__cause__ or error).__name__
        return ProviderError(f"{what}: connection failed ({reason})", retryable=True)
    if isinstance(error, openai.APIError) and not isinstance(error, openai.APIResponseValidationError):
        return _stream_error(error, what, secret)
    return ProviderResponseError(f"{what}: malformed response ({type(error).__name__})")


def _status_error(error: openai.APIStatusError, what: str, secret: str | None) -> ProviderError:
    detail = f"{what}: HTTP {error.status_code}"
    if isinstance(error.body, dict):  # else the body is a page, not a message
        detail += f": {redacted(str(error.message), secret)}"
    return ProviderError(
        detail,
        # 429 is also what an account without credit gets; waiting does not help there
        retryable=retryable_status(error.status_code) and error.code != "insufficient_quota",
        upstream_status=error.status_code,
        retry_after=retry_after(error.response.headers.get("retry-after")),
    )


def _stream_error(error: openai.APIError, what: str, secret: str | None) -> ProviderError:
    """An error that came as a chunk, under status 200: its code, if it is a number, is the status it stands for."""
    code = str(error.code or "")
    retryable = error.type == "server_error" or (code.isdigit() and retryable_status(int(code)))
    return ProviderError(f"{what}: {redacted(str(error.message), secret)}", retryable=retryable)
