"""An embedding model on ONNX Runtime that needs no key, no network and no torch: what the local ones share.

All its work is done in a few threads, each with a batch of its own (onnx_model.py): while one batch comes together at the end of
one of its hundred products, another goes on. What is one batch alone, such as a question, is shared by the cores. A question that
arrives during an ingest waits for the first batch that ends.
"""

from __future__ import annotations

import asyncio
import json
import math
import threading
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import numpy as np

from cairn.errors import ProviderError
from cairn.providers.onnx_model import Ids, ModelThread, batches, open_session, padded, thread_count
from cairn.providers.protocols import Vectors
from cairn.providers.windows import mean

Precision = Literal["int8", "fp32"]
Side = Literal["passage", "question"]

BATCH_TOKENS: Final = 512
"""Padded tokens of one batch: half of what a model has that computes one at a time, since two are under way."""

TOKENISED_AT_ONCE: Final = 256
"""Texts: a tokenizer makes much of each token, and of a document with ten million of them that would be gigabytes."""


class Tokeniser(Protocol):
    """A `TokenCounter` that also tells the tokens: ids of the content, without those that the model adds to each text."""

    @property
    def name(self) -> str: ...

    def load(self) -> None:
        """Be ready for many texts, now instead of when they come."""
        ...

    def ids(self, texts: Sequence[str]) -> list[Ids]:
        """Of each text, whole."""
        ...

    def frame(self, side: Side) -> tuple[Ids, Ids]:
        """What the model wants before a text and after it."""
        ...

    def count(self, text: str) -> int: ...

    def count_batch(self, texts: Sequence[str]) -> list[int]: ...


def count_pieces(ids: Callable[[Sequence[str]], list[Ids]], texts: Sequence[str]) -> list[int]:
    """Tokens of each text, some texts at a time."""
    starts = range(0, len(texts), TOKENISED_AT_ONCE)
    return [len(one) for start in starts for one in ids(texts[start : start + TOKENISED_AT_ONCE])]


class OnnxEmbedder:
    """Embedder of a folder that was built at install. The model is loaded at first use, or by `warm`.

    int8 vectors depend slightly on the batch a text is in (activations are quantised per batch): the cosine between a
    text's vectors from two batches is about .99. The same call gives the same vectors.
    """

    tokens: Tokeniser

    def __init__(self, folder: Path, framed: int, precision: Precision = "int8", threads: int | None = None) -> None:
        """`framed`: how many tokens the model adds to a text. Raises ProviderError when the manifest cannot be read."""
        try:
            manifest = json.loads((folder / "manifest.json").read_text())
            self.name: str = manifest["name"]
            self.dimensions: int = manifest["dimensions"]
            self.max_tokens: int = manifest["max_tokens"] - framed
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ProviderError(
                f"{folder} holds no embedding model ({error}): remove it, and it is made again"
            ) from None
        self.precision = precision
        self.folder = folder
        self._file = folder / f"model.{precision}.onnx"
        self._threads = threads
        self._opening = threading.Lock()
        self._at_once = threads or thread_count()
        self._thread = ModelThread(f"The embedding model {self.name} ({precision})", self._at_once)

    @cached_property
    def _session(self) -> Any:
        return open_session(self._file, self._threads)

    def _session_of(self, side: Side) -> Any:
        """The model that embeds what stands on that side."""
        return self._session

    def _opened(self, side: Side, *, published: bool = False) -> Any:
        """The same, opened once, whichever thread comes first; `published`: the model as it was published."""
        with self._opening:
            return self._session if published else self._session_of(side)

    def begin_loading(self) -> None:
        """Load the model while the caller goes on; calls wait until it is there."""
        self._thread.begin(self._load)

    def _load(self) -> None:
        self._opened("question")
        self.tokens.load()

    async def warm(self) -> None:
        """Load what embeds questions now (0.3 to 0.7 s) instead of at the first one, for one of many. What embeds texts, where
        that is another model, is loaded when some come. Raises ProviderError."""
        await self._thread.run(lambda _: self.tokens.load(), None)
        await self._embed(["warm"], "question")

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.embed`."""
        return await self._embed(texts, "passage")

    async def _embed(self, texts: Sequence[str], side: Side, *, published: bool = False) -> Vectors:
        """Shorter texts are computed first, so that little is padded."""
        encoded, owners = list[Ids](), list[int]()
        for start in range(0, len(texts), TOKENISED_AT_ONCE):
            group = await self._thread.run(partial(self._encode, side), texts[start : start + TOKENISED_AT_ONCE])
            for owner, parts in enumerate(group, start):
                encoded += parts
                owners += [owner] * len(parts)
        lengths = [len(ids) for ids in encoded]
        vectors = np.zeros((len(encoded), self.dimensions), np.float32)
        waiting = iter(batches(lengths, tokens=BATCH_TOKENS))
        run = partial(self._run, partial(self._opened, side, published=published))

        async def compute() -> None:
            for rows in waiting:
                vectors[rows] = await self._thread.run(run, [encoded[row] for row in rows])

        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(self._at_once):
                    tasks.create_task(compute())
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return vectors if len(encoded) == len(texts) else mean(vectors, owners, lengths)

    def _encode(self, side: Side, texts: Sequence[str]) -> list[list[Ids]]:
        """The windows of each text: one, unless it is longer than the model reads. Each is framed as a text of its own."""
        before, after = self.tokens.frame(side)
        return [[[*before, *part, *after] for part in self._windows(ids)] for ids in self.tokens.ids(texts)]

    def _windows(self, content: Ids) -> list[Ids]:
        """Of like length."""
        if len(content) <= self.max_tokens:
            return [content]
        size = math.ceil(len(content) / math.ceil(len(content) / self.max_tokens))
        return [content[start : start + size] for start in range(0, len(content), size)]

    def _run(self, opened: Callable[[], Any], encoded: Sequence[Ids]) -> Vectors:
        inputs = {"input_ids": padded(encoded), "attention_mask": padded([[1] * len(ids) for ids in encoded])}
        vectors: Vectors = opened().run(["embedding"], inputs)[0]
        return vectors

    async def close(self) -> None:
        self._thread.close()
