"""HTTP as connectors speak it: guarded (cairn.providers.guarded_http), and with failures that say whether to come back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from cairn.connectors.connector import SourceFileGone, SourceFileTooLarge, SourceRefused, SourceUnreachable
from cairn.errors import FetchError, InputError, TooLargeError
from cairn.providers.guarded_http import GuardedHttp, HttpReply

GONE: Final = frozenset({404, 410})
DENIED: Final = frozenset({401, 403, 407})
LATER: Final = frozenset({408, 423, 425, 429})
"""And 5xx."""


class SourceHttp:
    """`headers` go along with each request to `home` (https://host:port), and to no other host, whatever address is asked for."""

    def __init__(self, http: GuardedHttp, home: str, headers: Mapping[str, str] | None = None) -> None:
        self._http = http
        self._home = home
        self._headers = dict(headers or {})

    def spell(self, url: str) -> str | None:
        """The address as it is asked for, however it was written; None for one of a host that may not be asked, or none."""
        try:
            return str(self._http.check(url))
        except InputError:
            return None

    async def ask(
        self, method: str, url: str, most_bytes: int, *, body: bytes = b"", headers: Mapping[str, str] | None = None,
        takes: frozenset[int] = frozenset(),
    ) -> HttpReply:  # fmt: skip
        """A reply with a status of success, or one of those that the caller `takes`.

        Raises SourceFileGone, SourceFileTooLarge, SourceRefused, SourceUnreachable.
        """
        try:
            own = self._headers if self._is_home(url) else {}
            reply = await self._http.request(
                method, url, most_bytes=most_bytes, headers={**own, **(headers or {})}, body=body
            )
        except TooLargeError as error:
            raise SourceFileTooLarge(error.detail) from None
        except InputError as error:
            raise SourceRefused(error.detail) from None
        except FetchError as error:
            raise SourceUnreachable(error.detail) from None
        if reply.status in takes or 200 <= reply.status < 300:
            return reply
        said = f"{reply.url} answered {reply.status}"
        if reply.status in GONE:
            raise SourceFileGone(f"{said}: it is not there")
        if reply.status in LATER or reply.status >= 500:
            raise SourceUnreachable(said, retry_after_s=seconds_to_wait(reply.headers.get("retry-after")))
        raise SourceRefused(f"{said}: the credentials do not count there" if reply.status in DENIED else said)

    def _is_home(self, url: str) -> bool:
        """Raises InputError for an address that may not be asked."""
        there, home = self._http.check(url), self._http.check(self._home)
        return (there.scheme, there.netloc) == (home.scheme, home.netloc)


def seconds_to_wait(retry_after: str | None, now: datetime | None = None) -> float | None:
    """What a header `Retry-After` asks for: seconds, or a date. None where it says nothing that can be read."""
    text = (retry_after or "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    when = read_http_date(text)
    return None if when is None else max(0.0, (when - (now or datetime.now(UTC))).total_seconds())


def read_http_date(text: str | None) -> datetime | None:
    """A date as mails and HTTP write it, aware of its zone; None where it is none."""
    try:
        found = parsedate_to_datetime(text or "")
    except (ValueError, IndexError, OverflowError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def version_in(headers: Mapping[str, str]) -> str | None:
    """What tells the state of a file: its entity tag, else time of its last change with its size; None where nothing does."""
    if tag := headers.get("etag", "").strip():
        return tag
    changed = headers.get("last-modified", "").strip()
    return f"{headers.get('content-length', '')}-{changed}" if changed else None
