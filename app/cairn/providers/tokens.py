"""Counting tokens as OpenAI's models do, and an estimate for where their vocabulary cannot be had.

tiktoken downloads a vocabulary on first use. Without network that fails; ingestion must not, so a deterministic
estimate takes over and its name is recorded with each chunk.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

import structlog

if TYPE_CHECKING:
    import tiktoken

log = structlog.get_logger(__name__)

ESTIMATE: Final = "estimate-v1"
FALLBACK_ENCODING: Final = "cl100k_base"
"""The encoding of every OpenAI embedding model, taken for models that tiktoken does not know."""
BYTES_PER_TOKEN: Final = 4
"""English prose; used by the estimate."""


def estimate(text: str) -> int:
    """max(words * 1.33, utf8 bytes / 4), rounded up: the same everywhere, right within about a third for prose."""
    size = len(text.encode("utf-8", "replace"))
    return math.ceil(max(len(text.split()) * 1.33, size / BYTES_PER_TOKEN))


class OpenAITokens:
    """TokenCounter of an OpenAI model. The vocabulary is loaded at first use, once; `encoding` spares the loading."""

    def __init__(self, model: str, encoding: tiktoken.Encoding | None = None) -> None:
        self._model = model
        self._given = encoding

    @cached_property
    def _encoding(self) -> tiktoken.Encoding | None:
        if self._given is not None:
            return self._given
        import tiktoken

        try:
            name = tiktoken.encoding_name_for_model(self._model)
        except KeyError:
            name = FALLBACK_ENCODING
        try:
            return tiktoken.get_encoding(name)
        except Exception as error:  # requests, OS and hash errors: whichever way it fails, ingestion goes on
            log.warning("tokens.estimated", encoding=name, reason=type(error).__name__)
            return None

    @property
    def name(self) -> str:
        """Name of the encoding, or "estimate-v1"."""
        return self._encoding.name if self._encoding else ESTIMATE

    def count(self, text: str) -> int:
        # encode_ordinary: a document may well contain "<|endoftext|>", which is text here, not control
        return len(self._encoding.encode_ordinary(text)) if self._encoding else estimate(text)

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        return [self.count(text) for text in texts]
