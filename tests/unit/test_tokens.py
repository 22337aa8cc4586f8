"""Counting tokens with an encoding built here, and the estimate where no vocabulary can be had."""

from __future__ import annotations

import functools

import pytest
import structlog
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from cairn.providers.tokens import ESTIMATE, OpenAITokens, estimate

WORDS = [b"the", b"wing", b" wing", b" of", b"<|"]


@functools.cache
def small_encoding() -> tiktoken.Encoding:
    """All bytes and a few words; each word can be merged from its bytes."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    for word in WORDS:
        for end in range(2, len(word) + 1):
            ranks.setdefault(word[:end], len(ranks))
    return tiktoken.Encoding(
        "small", pat_str=r" ?\w+|[^\w]+", mergeable_ranks=ranks, special_tokens={"<|endoftext|>": len(ranks)}
    )


@pytest.fixture
def tokens() -> OpenAITokens:
    return OpenAITokens("text-embedding-3-small", small_encoding())


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> OpenAITokens:
    """A vocabulary that is in no cache and cannot be fetched: the proxy refuses at once."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})
    return OpenAITokens("text-embedding-3-small")


def test_counts_by_the_encoding(tokens: OpenAITokens) -> None:
    assert tokens.count("the wing of") == 3
    assert tokens.count_batch(["", "the", "wing wing"]) == [0, 1, 2]
    assert tokens.name == "small"


def test_special_tokens_are_text(tokens: OpenAITokens) -> None:
    """A14: a document may contain the name of a control token; counting neither raises nor treats it as one token."""
    assert tokens.count("<|endoftext|>") > 1


def test_without_vocabulary_tokens_are_estimated(offline: OpenAITokens) -> None:
    with structlog.testing.capture_logs() as logs:
        assert offline.count("one two three") == estimate("one two three")
        assert offline.count_batch(["a", "b"]) == [2, 2]
        assert offline.name == ESTIMATE == "estimate-v1"
    assert [entry["event"] for entry in logs] == ["tokens.estimated"]


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("one two three four", 6), ("x" * 400, 100), ("日本語", 3), ("\ud800", 2)]
)
def test_estimate(text: str, tokens: int) -> None:
    """max(words * 1.33, bytes / 4), rounded up."""
    assert estimate(text) == tokens


@given(st.text(), st.text())
def test_estimate_grows_with_the_text(text: str, more: str) -> None:
    assert estimate(text + " " + more) >= estimate(text) >= 0
