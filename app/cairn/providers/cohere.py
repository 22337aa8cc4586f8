"""Cohere's rerank endpoint, and servers that imitate it. The SDK is imported by the first reranker that is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from cairn.errors import ProviderError, ProviderResponseError, ProviderTimeoutError, cause_of_status
from cairn.language.text import normalise
from cairn.providers.circuit import Circuit
from cairn.providers.openai_compatible import outline, redirect_detail
from cairn.providers.protocols import Ranked, Usage
from cairn.providers.requests import begin_request, hosted, note_usage
from cairn.providers.retry import RetryPolicy, now, redacted, retried, retry_after, retryable_status

DEFAULT_MODEL: Final = "rerank-v3.5"
RERANK_SECONDS: Final = 10.0


class CohereReranker:
    """Reranker over POST /v2/rerank."""

    def __init__(
        self,
        api_key: str,
        model: str = "",
        base_url: str | None = None,
        *,
        seconds: float = RERANK_SECONDS,
        retry: RetryPolicy | None = None,
        circuit: Circuit | None = None,
    ) -> None:
        """`seconds` is the deadline of one call with all its attempts: a search waits for it."""
        import cohere
        import httpx

        self.name = model or DEFAULT_MODEL
        self._key = api_key
        self._seconds = seconds
        self._circuit = circuit or Circuit(f"rerank {self.name}")
        self._retry = retry
        # Given to it, since a client that the SDK makes for itself can hardly be closed.
        self._http = httpx.AsyncClient(timeout=seconds, follow_redirects=False)
        self._client = cohere.AsyncClientV2(api_key=api_key, base_url=base_url, max_retries=0, httpx_client=self._http)

    async def rerank(self, query: str, documents: Sequence[str], *, top_n: int) -> list[Ranked]:
        """See `Reranker.rerank`. Raises ProviderResponseError for indexes, scores or counts that cannot be."""
        if not documents or top_n < 1:
            return []
        question, texts = normalise(query), [normalise(document) for document in documents]
        wanted = min(top_n, len(texts))

        async def ask() -> list[Ranked]:
            deadline = now() + self._seconds
            async with self._circuit.call():
                return await retried(
                    lambda: self._attempt(question, texts, wanted, deadline), deadline=deadline, policy=self._retry
                )

        # billed by searches: tokens that nobody pays would use up the day of a key
        ranked = await hosted(self.name, "rerank", 0, ask)
        return sorted(ranked, key=lambda item: (-item.score, item.index))

    async def _attempt(self, query: str, documents: list[str], wanted: int, deadline: float) -> list[Ranked]:
        begin_request()
        try:
            response = await self._client.rerank(
                model=self.name,
                query=query,
                documents=documents,
                top_n=wanted,
                request_options={"max_retries": 0, "timeout": max(deadline - now(), 0.001)},
            )
            note_usage(Usage(_tokens_read(response.meta)))
            ranked = [Ranked(result.index, result.relevance_score) for result in response.results]
            self._check(ranked, len(documents), wanted)
        except Exception as error:
            raise self._failure(error) from None
        return ranked

    def _check(self, ranked: Sequence[Ranked], documents: int, wanted: int) -> None:
        indexes = {item.index for item in ranked}
        if len(ranked) != wanted or len(indexes) != wanted:
            raise ProviderResponseError(f"{self.name}: {len(indexes)} different documents ranked instead of {wanted}")
        if not all(type(item.index) is int and 0 <= item.index < documents for item in ranked):
            raise ProviderResponseError(f"{self.name}: ranks a document that was not given")
        if not all(isinstance(item.score, int | float) and 0 <= item.score <= 1 for item in ranked):
            raise ProviderResponseError(f"{self.name}: a relevance score is not between 0 and 1")

    def _failure(self, error: Exception) -> ProviderError:
        import httpx
        from cohere.core.api_error import ApiError

        if isinstance(error, ProviderError):
            return error
        if isinstance(error, ApiError) and error.status_code is not None and error.status_code >= 300:
            # `str(error)` would show the headers, so the message is composed from what is known to be harmless
            message = error.body.get("message", "") if isinstance(error.body, dict) else ""
            headers = {name.lower(): value for name, value in (error.headers or {}).items()}
            if error.status_code < 400:
                detail = redirect_detail(self.name, error.status_code, headers.get("location"), "COHERE_BASE_URL")
                return ProviderError(detail, upstream_status=error.status_code)
            return ProviderError(
                f"{self.name}: HTTP {error.status_code} {redacted(str(message), self._key)}".rstrip(),
                outline=outline(self.name, error.status_code, cause_of_status(error.status_code)),
                retryable=retryable_status(error.status_code),
                upstream_status=error.status_code,
                retry_after=retry_after(headers.get("retry-after")),
            )
        if isinstance(error, httpx.TimeoutException):
            return ProviderTimeoutError(f"{self.name}: no answer in time", retryable=True)
        if isinstance(error, httpx.TransportError):
            return ProviderError(f"{self.name}: connection failed ({type(error).__name__})", retryable=True)
        return ProviderResponseError(f"{self.name}: malformed response ({type(error).__name__})")

    async def close(self) -> None:
        await self._http.aclose()


def _tokens_read(meta: Any) -> int | None:
    """What a reply reports, if it does: Cohere bills by searches, and servers that imitate it by tokens."""
    for counts in (getattr(meta, "tokens", None), getattr(meta, "billed_units", None)):
        if (read := getattr(counts, "input_tokens", None)) is not None:
            return int(read)
    return None
