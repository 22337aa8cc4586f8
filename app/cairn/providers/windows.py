"""Texts that are longer than an embedding model reads: nothing of them is left out.

A longer text is cut into windows at white space; its vector is the mean of theirs, weighted by length, of length 1 again. A mean
blurs: chunks are cut so that they fit (cairn/ingest/prepare.py), and this is for what cannot be cut, such as questions.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Final, TypeVar

import numpy as np

from cairn.errors import InputTooLongError
from cairn.providers.protocols import Embedder, TokenCounter, Vectors, embed_questions, question_encoder

T = TypeVar("T")
Span = tuple[int, int]
Embed = Callable[[Sequence[str]], Awaitable[Vectors]]

SHORTEST = 40
"""Characters: a text this short that a server calls too long is not cut again; something else is wrong."""
COUNTED_HERE: Final = 20_000
"""Characters whose tokens are counted at once, in some 5 ms."""
_SPACE = re.compile(r"\s")


def fits(text: str, limit: int, tokens: TokenCounter) -> bool:
    """Whether it has at most `limit` tokens. None is shorter than a byte, so that most texts need not be counted."""
    return (len(text) <= limit and len(text.encode("utf-8", "replace")) <= limit) or tokens.count(text) <= limit


def windows(text: str, limit: int, tokens: TokenCounter) -> list[Span]:
    """Spans of at most `limit` tokens that cover the text but for white space around them; of about the same length each, and
    cut at white space where there is some."""
    return _windows(text, 0, len(text), limit, tokens)


def _windows(text: str, start: int, end: int, limit: int, tokens: TokenCounter) -> list[Span]:
    piece = text[start:end]
    start, end = start + len(piece) - len(piece.lstrip()), end - (len(piece) - len(piece.rstrip()))
    if start >= end:
        return []
    total = tokens.count(text[start:end])
    if total <= limit or end - start == 1:
        return [(start, end)]
    cuts = _cuts(text, start, end, math.ceil(total / limit))
    return [span for first, last in pairwise(cuts) for span in _windows(text, first, last, limit, tokens)]


def _cuts(text: str, start: int, end: int, parts: int) -> list[int]:
    """Where to cut into so many parts of like length: before the next white space, if there is some within the part."""
    size = (end - start) / parts
    cuts = [start]
    for number in range(1, parts):
        at = start + round(size * number)
        space = _SPACE.search(text, at, min(end, at + max(round(size / 4), 1)))
        at = space.start() if space else at
        if cuts[-1] < at < end:
            cuts.append(at)
    return [*cuts, end]


async def embed_whole(texts: Sequence[str], limit: int, tokens: TokenCounter, embed: Embed) -> Vectors:
    """A vector for each text, whatever its length. `embed` makes those of texts of at most `limit` tokens; what it calls too
    long nevertheless (InputTooLongError) is cut further."""
    pieces, owners = await counting(texts, lambda: _pieces(texts, limit, tokens))
    vectors = await _embed_in_parts(pieces, embed)
    return vectors if len(pieces) == len(texts) else mean(vectors, owners, [len(piece) for piece in pieces])


async def counting(texts: Sequence[str], work: Callable[[], T]) -> T:
    """What `work()` comes to, which counts tokens of the texts: of long ones in a thread, so that others have their turn."""
    if sum(map(len, texts)) <= COUNTED_HERE:
        return work()
    return await asyncio.to_thread(work)


def _pieces(texts: Sequence[str], limit: int, tokens: TokenCounter) -> tuple[list[str], list[int]]:
    """Each text, or its windows where it is longer than the limit; and for each piece the number of its text."""
    pieces, owners = list[str](), list[int]()
    for number, text in enumerate(texts):
        spans = [] if fits(text, limit, tokens) else windows(text, limit, tokens)
        parts = [text[start:end] for start, end in spans] or [text]
        pieces += parts
        owners += [number] * len(parts)
    return pieces, owners


async def _embed_in_parts(texts: Sequence[str], embed: Embed) -> Vectors:
    """Halves what is refused: first the batch, then the text itself. Raises InputTooLongError where that does not help."""
    try:
        return await embed(texts)
    except InputTooLongError:
        if len(texts) > 1:
            middle = len(texts) // 2
            halves = [await _embed_in_parts(half, embed) for half in (texts[:middle], texts[middle:])]
            return np.concatenate(halves)
        if not texts or len(texts[0]) <= SHORTEST:
            raise
    text = texts[0]
    cuts = _cuts(text, 0, len(text), 2)
    parts = [text[first:last].strip() or " " for first, last in pairwise(cuts)]
    made = np.concatenate([await _embed_in_parts([part], embed) for part in parts])
    return mean(made, [0] * len(parts), [len(part) for part in parts])


def mean(vectors: Vectors, owners: Sequence[int], lengths: Sequence[int]) -> Vectors:
    """Of the windows of each owner, weighted by their lengths; of length 1. Owners count from 0, in order. An owner's only
    window stays as it is."""
    sums = np.zeros((owners[-1] + 1, vectors.shape[1]), np.float32)
    np.add.at(sums, np.array(owners), vectors * np.array(lengths, np.float32)[:, None])
    norms = np.linalg.norm(sums, axis=1, keepdims=True)
    unit: Vectors = sums / np.maximum(norms, np.finfo(np.float32).tiny)
    alone = np.bincount(owners)[owners] == 1
    unit[np.array(owners)[alone]] = vectors[alone]
    return unit


class EmbedderAround:
    """What an embedder around another one has of that: its name, its vectors' length, what it reads, how it counts."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    @property
    def max_tokens(self) -> int:
        return self._embedder.max_tokens

    @property
    def tokens(self) -> TokenCounter:
        return self._embedder.tokens


class WholeTexts(EmbedderAround):
    """Embedder around one of another package, which may read the beginning of a text only."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.embed`."""
        return await embed_whole(texts, self.max_tokens, self.tokens, self._embedder.embed)

    @property
    def questions_by(self) -> str:
        """See `HasQuestionEncoder`."""
        return question_encoder(self._embedder)

    async def embed_questions(self, texts: Sequence[str]) -> Vectors:
        """See `EmbedsQuestions.embed_questions`."""
        return await embed_whole(texts, self.max_tokens, self.tokens, partial(embed_questions, self._embedder))

    async def close(self) -> None:
        await self._embedder.close()
