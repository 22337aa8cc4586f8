"""What becomes of every answer of a SearXNG server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from scripted_searxng import ScriptedSearxng

from cairn.errors import ProviderError, ProviderResponseError, ProviderTimeoutError
from cairn.providers.protocols import WebResult
from cairn.providers.searxng import EXCERPT_CHARS, Searxng
from tests.waiting import patience

GOOD = {"url": "https://example.org/a", "title": "A page", "content": "Basalt is\n a rock."}
LURE = {
    "url": "https://example.org/lure",
    "title": "Go",
    "content": "See ![x](https://evil.example/?q=1) or https://evil.example.",
}


@pytest.fixture
def web() -> Iterator[ScriptedSearxng]:
    with ScriptedSearxng([GOOD]) as running:
        yield running


def client(web: ScriptedSearxng, *, results: int = 5, seconds: float = 10) -> Searxng:
    return Searxng(web.url + "/", results=results, seconds=seconds)


async def test_the_query_and_nothing_else_is_sent(web: ScriptedSearxng) -> None:
    assert await client(web).search("what is basalt?") == [
        WebResult("https://example.org/a", "A page", "Basalt is a rock.")
    ]
    [(path, headers)] = web.requests
    assert urlsplit(path).path == "/search"
    assert parse_qs(urlsplit(path).query) == {"q": ["what is basalt?"], "format": ["json"]}
    assert not {"cookie", "authorization", "referer"} & set(headers)


async def test_only_what_can_be_quoted_is_taken(web: ScriptedSearxng) -> None:
    web.results = [
        {"url": "javascript:alert(1)", "title": "x", "content": "y"}, {"url": "file:///etc/passwd", "title": "x", "content": "y"},
        {"url": "https://user:key@example.org/", "title": "x", "content": "y"}, {"url": "https://[broken", "content": "y"},
        {"url": "https://example.org/none", "title": "no excerpt", "content": None}, "odd", {"url": 7, "content": "y"},
        GOOD, GOOD, {"url": "https://example.org/b", "title": None, "content": "x" * 5000},
        {"url": "https://example.org/c", "title": "c", "content": "beyond the limit"},
    ]  # fmt: skip
    found = await client(web, results=2).search("q")
    assert [(one.url, one.title) for one in found] == [
        ("https://example.org/a", "A page"),
        ("https://example.org/b", "example.org"),
    ]
    assert len(found[1].excerpt) == EXCERPT_CHARS


async def test_addresses_in_texts_are_left_out(web: ScriptedSearxng) -> None:
    web.results = [LURE]
    [found] = await client(web).search("q")
    assert found.url == LURE["url"]
    assert "evil" not in found.excerpt


@pytest.mark.parametrize(
    ("reply", "error", "said"),
    [
        (302, ProviderError, "redirects are not followed"), (403, ProviderError, "format json"), (500, ProviderError, "HTTP 500"),
        ("huge", ProviderResponseError, "longer than"), ("html", ProviderResponseError, "no list"),
        ("wrong_shape", ProviderResponseError, "no list"),
    ],
)  # fmt: skip
async def test_failures_are_told(web: ScriptedSearxng, reply: int | str, error: type[ProviderError], said: str) -> None:
    web.reply = reply
    with pytest.raises(error, match=said):
        await client(web).search("q")
    assert len(web.requests) == 1, "nothing is followed, nothing repeated"


async def test_a_server_that_stalls_or_is_not_there(web: ScriptedSearxng) -> None:
    web.reply = "stall"
    began = time.monotonic()
    with pytest.raises(ProviderTimeoutError, match=r"web\.seconds"):
        await client(web, seconds=0.3).search("q")
    assert time.monotonic() - began < patience()
    with pytest.raises(ProviderError, match="connection failed"):
        await Searxng("http://127.0.0.1:9", results=5, seconds=5).search("q")
