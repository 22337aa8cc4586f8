"""What every Embedder promises (protocols.Embedder), shown of each implementation."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
from quick import QUICK
from scripted_server import ScriptedServer

from cairn.providers.minilm import MiniLM
from cairn.providers.openai_embeddings import OpenAIEmbedder
from cairn.providers.protocols import Embedder

TEXTS = [
    "The pressure distribution over a thin aerofoil at supersonic speed.",
    "Cats sleep most of the day.",
    "Wind tunnel tests of the flow around a slender wing.",
    "Short.",
    "A long sentence that goes on, and on, and says rather little while it does so. " * 5,
]
ODD_TEXTS = [
    "",
    " ",
    "\x00\x07\x1b control",
    "emoji \U0001f600\U0001f9ff",
    "x" * 10_000,
    "lone \ud800 surrogate",
    "é" * 99,
]


@pytest.fixture(params=["minilm", "openai", "openai-unknown-model"])
async def embedder(
    request: pytest.FixtureRequest, server: ScriptedServer, model_folder: Path
) -> AsyncIterator[Embedder]:
    made: MiniLM | OpenAIEmbedder
    if request.param == "minilm":
        made = MiniLM(model_folder)
    elif request.param == "openai":
        server.dimensions = 1536
        made = OpenAIEmbedder("text-embedding-3-small", "key", server.openai_url, retry=QUICK)
    else:
        made = OpenAIEmbedder("nomic-embed-text", None, server.openai_url, retry=QUICK)
    await made.warm()
    yield made
    await made.close()


async def test_vectors_are_unit_float32_of_the_stated_dimension(embedder: Embedder) -> None:
    vectors = await embedder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.dimensions)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


async def test_order_is_kept_whatever_the_lengths(embedder: Embedder) -> None:
    together = await embedder.embed(TEXTS)
    alone = np.concatenate([await embedder.embed([text]) for text in TEXTS])
    likeness = together @ alone.T
    assert likeness.argmax(axis=1).tolist() == list(range(len(TEXTS)))
    assert likeness.diagonal().min() > 0.97


async def test_same_texts_same_vectors(embedder: Embedder) -> None:
    np.testing.assert_array_equal(await embedder.embed(TEXTS), await embedder.embed(TEXTS))


async def test_no_texts_no_rows(embedder: Embedder) -> None:
    assert (await embedder.embed([])).shape == (0, embedder.dimensions)


async def test_more_texts_than_a_batch(embedder: Embedder) -> None:
    texts = [f"Sentence number {n} about {'wings ' * (n % 7)}" for n in range(300)]
    vectors = await embedder.embed(texts)
    assert vectors.shape == (300, embedder.dimensions)
    assert (await embedder.embed([texts[123]]))[0] @ vectors[123] > 0.97


async def test_odd_texts_are_embedded(embedder: Embedder) -> None:
    vectors = await embedder.embed(ODD_TEXTS)
    assert vectors.shape == (len(ODD_TEXTS), embedder.dimensions)
    assert np.isfinite(vectors).all()


def test_tokens_are_counted_one_by_one_as_in_batches(embedder: Embedder) -> None:
    texts = TEXTS + ODD_TEXTS
    counts = embedder.tokens.count_batch(texts)
    assert counts == [embedder.tokens.count(text) for text in texts]
    assert counts[4] > 5 * counts[3] > 0
    assert counts[5] == 0
    assert embedder.tokens.name
