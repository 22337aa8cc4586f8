"""Nothing of a long text is left out: windows cover it, and what a server calls too long is cut further."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.errors import InputTooLongError
from cairn.providers.protocols import Vectors
from cairn.providers.windows import COUNTED_HERE, embed_whole, fits, windows
from tests.benchmarks.corpus import WordCount

WORDS = WordCount()


@given(st.text(alphabet="ab \n", max_size=400), st.integers(min_value=1, max_value=30))
def test_windows_cover_all_but_white_space_and_fit(text: str, limit: int) -> None:
    spans = windows(text, limit, WORDS)
    assert "".join("".join(text[start:end] for start, end in spans).split()) == "".join(text.split())
    assert all(first[1] <= second[0] for first, second in pairwise(spans))
    assert all(WORDS.count(text[start:end]) <= limit for start, end in spans)


def test_windows_are_of_like_length_and_cut_no_words() -> None:
    text = " ".join(f"word{number}" for number in range(300))
    spans = windows(text, 130, WORDS)
    pieces = [text[start:end].split() for start, end in spans]
    assert list(chain(*pieces)) == text.split()
    assert {len(piece) for piece in pieces} <= set(range(90, 116))


def test_a_text_without_white_space_is_cut_all_the_same() -> None:
    spans = windows("x" * 1000, 10, Letters())
    assert [start for start, _ in spans][1:] == [end for _, end in spans][:-1]
    assert all(end - start <= 10 for start, end in spans)


class Letters:
    """A TokenCounter of characters."""

    name = "letters"

    def count(self, text: str) -> int:
        return len(text)

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        return [len(text) for text in texts]


def test_short_texts_are_not_counted() -> None:
    class Broken(Letters):
        def count(self, text: str) -> int:
            raise AssertionError("counted")

    assert fits("a short text", 20, Broken())


class Server:
    """Embeds by letters, and refuses texts, and batches, that are longer than it takes."""

    def __init__(self, most: int, batch: int = 10_000) -> None:
        self.most, self.batch = most, batch
        self.refused = 0

    async def __call__(self, texts: Sequence[str]) -> Vectors:
        if max(map(len, texts)) > self.most or sum(map(len, texts)) > self.batch:
            self.refused += 1
            raise InputTooLongError("too long")
        made = np.array([[text.count("a") + 0.01, text.count("b")] for text in texts], np.float32)
        unit: Vectors = made / np.linalg.norm(made, axis=1, keepdims=True)
        return unit


async def test_a_long_text_is_the_mean_of_its_windows() -> None:
    vectors = await embed_whole(["a" * 10, "a" * 30 + "b" * 30, "b" * 10], 30, Letters(), Server(30))
    np.testing.assert_allclose(vectors, [[1, 0], [2**-0.5, 2**-0.5], [0, 1]], atol=0.01)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


async def test_what_the_server_calls_too_long_is_split_not_lost() -> None:
    server = Server(60, batch=200)
    texts = ["a" * 50] * 7 + ["a" * 200 + "b" * 200] + ["b" * 50]
    vectors = await embed_whole(texts, 8191, Letters(), server)
    np.testing.assert_allclose(vectors[:7], [[1, 0]] * 7, atol=0.01)
    np.testing.assert_allclose(vectors[7:], [[2**-0.5, 2**-0.5], [0, 1]], atol=0.01)
    assert 0 < server.refused < 20


async def test_a_server_that_refuses_everything_is_an_error() -> None:
    with pytest.raises(InputTooLongError):
        await embed_whole(["a" * 1000], 8191, Letters(), Server(0))


async def test_tokens_of_long_texts_are_counted_where_nobody_waits_for_it() -> None:
    counted_in = set()

    class Noting(Letters):
        def count(self, text: str) -> int:
            counted_in.add(threading.get_ident())
            return len(text)

    await embed_whole(["a" * (COUNTED_HERE + 1)], 8191, Noting(), Server(8191))
    assert counted_in
    assert threading.get_ident() not in counted_in
    await embed_whole(["a" * 8192], 8191, Noting(), Server(8191))
    assert threading.get_ident() in counted_in
