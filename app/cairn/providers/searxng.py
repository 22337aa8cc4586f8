"""A web search by a SearXNG server, over its JSON format. Nothing but the query is sent.

The server is the operator's own, named in the settings; its results are not: texts are cut, addresses must be http or https, and
no page is opened. Redirects are not followed, so that a query goes to nobody else.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final
from urllib.parse import urlsplit

from cairn.errors import ProviderError, ProviderResponseError, ProviderTimeoutError
from cairn.language.links import Known
from cairn.language.outbound import without_links
from cairn.language.text import normalise
from cairn.providers.protocols import WebResult
from cairn.providers.tls import authorities

MAX_BYTES: Final = 1_000_000
"""Of a reply; 30 results have some 30 KB."""
TITLE_CHARS: Final = 200
EXCERPT_CHARS: Final = 1000
URL_CHARS: Final = 2000


class Searxng:
    """WebSearch over GET /search?format=json. `seconds`: deadline of a search."""

    def __init__(self, url: str, *, results: int, seconds: float) -> None:
        self._url = f"{url.rstrip('/')}/search"
        self._results = results
        self._seconds = seconds

    async def search(self, query: str) -> list[WebResult]:
        """See `WebSearch.search`."""
        import httpx2

        try:
            async with asyncio.timeout(self._seconds):
                body = await self._get(query)
        except TimeoutError:
            raise ProviderTimeoutError(f"SearXNG: no answer within {self._seconds:g} s (web.seconds)") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise ProviderError(f"SearXNG: connection failed ({type(error).__name__})") from None
        return self._read(body)

    async def _get(self, query: str) -> bytes:
        import httpx2

        async with (
            httpx2.AsyncClient(
                follow_redirects=False, trust_env=False, timeout=self._seconds, verify=authorities()
            ) as client,
            client.stream("GET", self._url, params={"q": query, "format": "json"}) as response,
        ):
            if response.status_code != 200:
                raise ProviderError(_refusal(response.status_code), upstream_status=response.status_code)
            body = bytearray()
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > MAX_BYTES:
                    raise ProviderResponseError(f"SearXNG: the reply is longer than {MAX_BYTES:,} bytes")
            return bytes(body)

    def _read(self, body: bytes) -> list[WebResult]:
        """Results that can be quoted, each address once."""
        try:
            listed = json.loads(body)["results"]
        except (ValueError, KeyError, TypeError, RecursionError):
            listed = None
        if not isinstance(listed, list):
            raise ProviderResponseError("SearXNG: the reply is no list of results in JSON")
        found = [_result(item) for item in listed if isinstance(item, dict)]
        unique = {one.url: one for one in reversed([one for one in found if one is not None])}
        return list(reversed(unique.values()))[: self._results]


def _refusal(status: int) -> str:
    if 300 <= status < 400:
        return f"SearXNG: HTTP {status}, and redirects are not followed: set web.searxngUrl to the address itself"
    hint = ": its format json may be off (search.formats in its settings.yml)" if status == 403 else ""
    return f"SearXNG: HTTP {status}{hint}"


def _result(item: dict[str, Any]) -> WebResult | None:
    """None for one without an excerpt, or with an address that nobody should follow. Addresses in its texts are left out: its own
    is the one that an answer may have of it."""
    url, excerpt = _line(item.get("url"), URL_CHARS + 1), _text(item.get("content"), EXCERPT_CHARS)
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return None
    plain = parts.scheme in ("http", "https") and host and not parts.username and " " not in url
    if not plain or len(url) > URL_CHARS or not excerpt:
        return None
    return WebResult(url, _text(item.get("title"), TITLE_CHARS) or str(host), excerpt)


def _text(value: Any, most: int) -> str:
    return without_links(_line(value, most), Known())


def _line(value: Any, most: int) -> str:
    return " ".join(normalise(value).split())[:most] if isinstance(value, str) else ""
