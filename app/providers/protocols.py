"""What a model provider must be able to do. Implementations live beside this file; wiring.py chooses among them.

Every implementation raises only ProviderError and its children; vectors are float32, L2-normalised.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from app.settings import Settings

Vectors = NDArray[np.float32]


class TokenCounter(Protocol):
    """Counts tokens as an embedding model's own tokenizer does."""

    @property
    def name(self) -> str:
        """Recorded with each chunk: the tokenizer's name, or "estimate-v1" where the vocabulary cannot be had."""
        ...

    def count(self, text: str) -> int: ...

    def count_batch(self, texts: Sequence[str]) -> list[int]: ...


class Embedder(Protocol):
    @property
    def name(self) -> str:
        """Name of the model as settings and traces show it."""
        ...

    @property
    def dimensions(self) -> int: ...

    @property
    def max_tokens(self) -> int:
        """Longer inputs are truncated by the model."""
        ...

    @property
    def tokens(self) -> TokenCounter: ...

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Array of shape (len(texts), dimensions). Order is kept. Raises ProviderError."""
        ...

    async def close(self) -> None: ...


class Embedders(Protocol):
    """Embedding models by the name under which their vectors are registered, e.g. all-MiniLM-L6-v2:int8."""

    def get(self, name: str) -> Embedder:
        """The same one each time. Raises ProviderError or SettingsError when it cannot be had."""
        ...


@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Usage:
    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a streamed completion; the last one has the finish reason and, if reported, the usage."""

    text: str = ""
    finish_reason: str | None = None
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    text: str
    finish_reason: str
    usage: Usage
    model: str


class ChatModel(Protocol):
    @property
    def name(self) -> str: ...

    async def complete(
        self, messages: Sequence[Message], *, temperature: float, max_tokens: int, timeout: float
    ) -> Completion:
        """One whole answer. Raises ProviderError; a truncated or empty reply is an error."""
        ...

    def stream(
        self, messages: Sequence[Message], *, temperature: float, max_tokens: int, timeout: float
    ) -> AsyncIterator[Delta]:
        """Deltas as they come. Raises ProviderError, also when the stream ends without a finish reason."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Ranked:
    """`index` into the documents that were given; `score` in 0..1, higher is better."""

    index: int
    score: float


class Reranker(Protocol):
    @property
    def name(self) -> str: ...

    async def rerank(self, query: str, documents: Sequence[str], *, top_n: int) -> list[Ranked]:
        """Best first, at most `top_n`. Raises ProviderError: the caller falls back to fused order and says so."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class RerankerChoice:
    """The reranker in force under one state of the settings.

    `problem`: why the provider that the settings name cannot be used. `on_request`: too slow for every search; it runs
    for answers, and for searches that ask for it.
    """

    reranker: Reranker | None = None
    problem: str | None = None
    on_request: bool = False


class Rerankers(Protocol):
    """Chooses by settings, which may name another provider while running."""

    @property
    def name(self) -> str | None:
        """Of the one in force now."""
        ...

    def get(self, settings: Settings) -> RerankerChoice: ...
