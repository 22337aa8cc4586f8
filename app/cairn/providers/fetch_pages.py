"""Pages of other hosts, fetched to be indexed: of hosts that the settings allow, and from no private address (guarded_http)."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import unquote

from cairn.errors import FetchError, InputError, TooLargeError
from cairn.language.text import normalise
from cairn.providers.address_guard import Resolve, resolve
from cairn.providers.guarded_http import GuardedHttp
from cairn.settings import UrlSettings

MAX_URL: Final = 512
"""Characters; it becomes the id of a document."""
HTML: Final = frozenset({"text/html", "application/xhtml+xml"})


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """`url`: where it was, after redirects; `asked`: where it was asked for. `name` ends as files of its kind do."""

    asked: str
    url: str
    name: str
    content: bytes
    media_type: str | None


def check_url(url: str, settings: UrlSettings) -> str:
    """The address as it is asked for and kept: host in lower case, without a fragment.

    Raises InputError for what is no address, AddressRefusedError for one that the settings do not allow.
    """
    checked = str(GuardedHttp(settings).check(url))
    if len(checked) > MAX_URL:
        raise InputError(f"an address has at most {MAX_URL} characters, this one {len(checked)}")
    return checked


class PageFetcher:
    """Fetches pages one by one. `max_bytes`: of a page."""

    def __init__(
        self, settings: UrlSettings, *, max_bytes: int, resolve: Resolve = resolve, trust: ssl.SSLContext | None = None
    ) -> None:
        """`resolve`: how names become addresses. `trust`: whom certificates must come from; None: the usual authorities."""
        self._settings = settings
        self._max_bytes = max_bytes
        self._http = GuardedHttp(settings, resolve=resolve, trust=trust)

    async def fetch(self, url: str) -> FetchedPage:
        """The page, after redirects. Raises InputError, AddressRefusedError, TooLargeError; FetchError where there is none."""
        asked = check_url(url, self._settings)
        try:
            reply = await self._http.request("GET", asked, most_bytes=self._max_bytes)
        except TooLargeError as error:
            raise TooLargeError(f"{error.detail} (setting ingest.maxFileBytes)") from None
        if reply.status != 200:
            raise FetchError(f"{reply.url} answered {reply.status} instead of a page")
        kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
        there = check_url(reply.url, self._settings)  # what is kept from some is not for them by another address
        return FetchedPage(asked, there, page_name(reply.url, kind), reply.content, kind or None)


def page_name(url: str, kind: str) -> str:
    """Of the file that a page would be: pages in HTML end so, whatever made them (index.php). `kind`: its media type."""
    import httpx2

    parsed = httpx2.URL(url)
    name = normalise(unquote(PurePosixPath(parsed.path).name)) or str(parsed.host)
    is_named_so = name.lower().endswith((".html", ".htm", ".xhtml"))
    return f"{name}.html" if kind in HTML and not is_named_so else name
