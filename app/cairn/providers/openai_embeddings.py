"""Embeddings of OpenAI and of servers that speak its protocol."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from cairn.errors import InputTooLongError, ProviderError, ProviderResponseError
from cairn.language.text import normalise
from cairn.providers.circuit import Circuit
from cairn.providers.openai_compatible import limits, new_client, provider_error
from cairn.providers.protocols import Usage, Vectors
from cairn.providers.requests import begin_request, hosted, note_usage
from cairn.providers.retry import RetryPolicy, now, retried
from cairn.providers.tokens import OpenAITokens
from cairn.providers.windows import counting, embed_whole

KNOWN_DIMENSIONS: Final = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
MAX_INPUT_TOKENS: Final = 8191
"""Per input, all OpenAI embedding models; a longer one is refused by the server. Other servers may take less, and say so."""
BATCH_TEXTS: Final = 256
BATCH_TOKENS: Final = 150_000
"""Half of what the API takes per request (300,000), since counts may be estimates."""
EMBED_SECONDS: Final = 60.0
TOO_LONG_STATUS: Final = frozenset({400, 413, 422, 500})
TOO_LONG: Final = re.compile(
    r"context.{0,3}length|too long|too large|too many tokens|max(imum|_num)?\b.{0,40}\btokens|less than \d+ tokens"
    r"|input length|exceeds? .{0,40}(tokens|length|limit|size)",
    re.IGNORECASE,
)
"""How OpenAI, vLLM, text-embeddings-inference, llama.cpp and Ollama say that an input, or a batch, is too long."""


class OpenAIEmbedder:
    """Embedder. Vectors arrive as base64, which the SDK decodes, and are normalised here."""

    def __init__(
        self,
        name: str,
        api_key: str | None,
        base_url: str | None = None,
        dimensions: int | None = None,
        *,
        max_tokens: int = MAX_INPUT_TOKENS,
        seconds: float = EMBED_SECONDS,
        retry: RetryPolicy | None = None,
        tokens: OpenAITokens | None = None,
        circuit: Circuit | None = None,
    ) -> None:
        """`dimensions` asks the model for shorter vectors than its own; `seconds` is the deadline of one request with
        all its attempts."""
        self.name = name
        self.max_tokens = max_tokens
        self.tokens = tokens or OpenAITokens(name)
        self._asked = dimensions
        self._dimensions = dimensions or KNOWN_DIMENSIONS.get(name)
        self._seconds = seconds
        self._circuit = circuit or Circuit(f"embedding {name}")
        self._retry = retry
        self._key = api_key
        self._client = new_client(api_key, base_url)

    @property
    def dimensions(self) -> int:
        """Raises ProviderError for a model that is not in KNOWN_DIMENSIONS before `warm` or `embed` was awaited."""
        if self._dimensions is None:
            raise ProviderError(f"The dimension of {self.name} is not known yet: it is learnt from its first vector")
        return self._dimensions

    async def warm(self) -> None:
        """Learn the dimension of an unknown model from one request; nothing otherwise. Raises ProviderError."""
        if self._dimensions is None:
            await self._request(["dimension"], 1)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.embed`. Raises ProviderResponseError for a wrong number or dimension of vectors."""
        if not texts:
            await self.warm()
            return np.zeros((0, self.dimensions), np.float32)
        return await embed_whole(list(map(normalise, texts)), self.max_tokens, self.tokens, self._embed_fitting)

    async def _embed_fitting(self, texts: Sequence[str]) -> Vectors:
        """Of texts that fit, as far as can be told here. Raises InputTooLongError where the server thinks otherwise."""
        batches = await counting(texts, lambda: self._batches(texts))
        return np.concatenate([await self._request(batch, size) for batch, size in batches])

    def _batches(self, texts: Sequence[str]) -> list[tuple[list[str], int]]:
        """With how many tokens each has."""
        groups: list[tuple[list[str], int]] = [([], 0)]
        for text in texts:
            batch, tokens = groups[-1]
            size = self.tokens.count(text)
            if len(batch) == BATCH_TEXTS or (batch and tokens + size > BATCH_TOKENS):
                batch, tokens = [], 0
                groups.append((batch, 0))
            # The API refuses an empty input; a space embeds as nothing in particular, as "" does elsewhere.
            batch.append(text or " ")
            groups[-1] = batch, tokens + size
        return groups

    async def _request(self, texts: list[str], tokens: int) -> Vectors:
        async def ask() -> Vectors:
            deadline = now() + self._seconds
            async with self._circuit.call():
                return await retried(lambda: self._attempt(texts, deadline), deadline=deadline, policy=self._retry)

        vectors = await hosted(self.name, "embed", tokens, ask)
        self._dimensions = vectors.shape[1]
        return vectors

    async def _attempt(self, texts: list[str], deadline: float) -> Vectors:
        shorter: dict[str, Any] = {"dimensions": self._asked} if self._asked else {}
        begin_request()
        try:
            response = await self._client.embeddings.create(
                model=self.name, input=texts, timeout=limits(deadline - now()), **shorter
            )
            note_usage(Usage(response.usage.prompt_tokens if response.usage else None))
            order = [place if item.index is None else item.index for place, item in enumerate(response.data)]
            vectors = np.array([item.embedding for item in response.data], np.float32)
        except Exception as error:
            raise _recognised(provider_error(error, self.name, self._key)) from None
        if sorted(order) != list(range(len(texts))):
            raise ProviderResponseError(
                f"{self.name}: {len(order)} vectors for {len(texts)} texts, or not one for each"
            )
        return self._checked(vectors)[np.argsort(order)]

    def _checked(self, vectors: Vectors) -> Vectors:
        if vectors.ndim != 2 or vectors.shape[1] != (self._dimensions or vectors.shape[1]):
            raise ProviderResponseError(
                f"{self.name}: vectors of shape {vectors.shape[1:]}, not of dimension {self._dimensions}"
            )
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(lengths).all() and lengths.all()):
            raise ProviderResponseError(f"{self.name}: a vector is zero or not finite")
        unit: Vectors = vectors / lengths
        return unit

    async def close(self) -> None:
        await self._client.close()


def _recognised(error: ProviderError) -> ProviderError:
    """The same as InputTooLongError where the server says, in one of the usual ways, that it was given too much."""
    too_much = error.extra.get("upstream_status") in TOO_LONG_STATUS and TOO_LONG.search(error.detail)
    if not too_much:
        return error
    return InputTooLongError(error.detail, blames_server=False, outline=error.outline, **error.extra)
