"""HTTP to addresses that callers choose: each hop is checked, and each connection goes to an address that was checked."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from cairn.errors import FetchError, InputError, TooLargeError
from cairn.providers.address_guard import AddressGuard, Resolve, resolve
from cairn.providers.tls import authorities
from cairn.settings import UrlSettings

if TYPE_CHECKING:
    import httpx2

MAX_REDIRECTS: Final = 5
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
PORTS: Final = {"http": 80, "https": 443}
_PLAIN: Final = re.compile(r"%(?:2[DE]|3\d|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])", re.IGNORECASE)
"""Letters, digits, "-", ".", "_" and "~" as escapes, which say the same (RFC 3986, 6.2.2.2)."""
HEADERS: Final = {"User-Agent": "Cairn (document ingestion)", "Accept": "*/*", "Accept-Encoding": "identity"}
"""No compression: what is counted is what arrives."""


@dataclass(frozen=True, slots=True)
class HttpReply:
    """`url`: where it came from in the end. `headers` by their names in small letters."""

    url: str
    status: int
    headers: Mapping[str, str]
    content: bytes


def _as_written(escape: re.Match[str]) -> str:
    return chr(int(escape[0][1:], 16))


class GuardedHttp:
    """Asks one thing at a time."""

    def __init__(
        self, settings: UrlSettings, *, resolve: Resolve = resolve, trust: ssl.SSLContext | None = None,
        whole_s: float | None = None,
    ) -> None:  # fmt: skip
        """`resolve`: how names become addresses. `trust`: whom certificates must come from; None: the usual authorities.
        `whole_s`: seconds that a reply may take altogether; None: urls.seconds, within which something has to come anyway."""
        self._whole_s = whole_s or settings.seconds
        self._seconds = settings.seconds
        self._guard = AddressGuard(settings, resolve)
        self._trust = trust

    def check(self, url: str) -> httpx2.URL:
        """The address as it is asked for: host in lower case, letters and digits as such, without a fragment.

        Raises InputError for what is no address, AddressRefusedError for one that the settings do not allow.
        """
        import httpx2

        shown = url[:200]
        try:
            parsed = httpx2.URL(_PLAIN.sub(_as_written, url.strip())).copy_with(fragment=None)
            host = parsed.raw_host.decode("ascii")
        except (httpx2.InvalidURL, ValueError, TypeError) as error:
            raise InputError(f"{shown!r} is no address: {error}") from None
        if parsed.scheme not in PORTS or not host:
            raise InputError(f"{shown!r} is no address of a page: it begins with http:// or https:// and names a host")
        if parsed.userinfo:
            raise InputError("an address with a user name or password in it is not taken: it would be stored")
        self._guard.check_host(host, parsed.port or PORTS[parsed.scheme])
        return parsed

    async def request(
        self, method: str, url: str, *, most_bytes: int, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> HttpReply:
        """The reply, after redirects, whatever its status; its content where it is one of success. What is said of who asks
        (`Authorization`) goes to no other host, port or protocol.

        Raises InputError, AddressRefusedError, TooLargeError; FetchError where there is none.
        """
        try:
            async with asyncio.timeout(self._whole_s):
                return await self._follow(method, url, dict(headers or {}), body, most_bytes)
        except TimeoutError:
            setting = " (setting urls.seconds)" if self._whole_s == self._seconds else ""
            raise FetchError(f"{url} was not there within {self._whole_s:g} s{setting}") from None

    async def _follow(self, method: str, url: str, headers: dict[str, str], body: bytes, most_bytes: int) -> HttpReply:
        at = asked = self.check(url)
        for _ in range(MAX_REDIRECTS + 1):
            answer = await self._ask(method, at, headers, body, most_bytes)
            if isinstance(answer, HttpReply):
                return answer
            there = self.check(str(answer))
            if (there.scheme, there.netloc) != (at.scheme, at.netloc):
                headers = {name: value for name, value in headers.items() if name.lower() != "authorization"}
            at = there
        raise FetchError(f"{asked} leads to more than {MAX_REDIRECTS} other addresses, one after another")

    async def _ask(
        self, method: str, url: httpx2.URL, headers: Mapping[str, str], body: bytes, most_bytes: int
    ) -> HttpReply | httpx2.URL:
        """A reply, or where it is instead."""
        import httpx2

        trust = self._trust
        if trust is None:
            trust = await asyncio.to_thread(authorities)
        problem: Exception | None = None
        for address in await self._guard.find_addresses(url.raw_host.decode("ascii"), url.port or PORTS[url.scheme]):
            # a client for each connection: kept ones are found by address, and two hosts may share one
            async with httpx2.AsyncClient(
                follow_redirects=False, trust_env=False, timeout=self._seconds, verify=trust
            ) as client:
                there = client.build_request(
                    method, url.copy_with(host=str(address)), content=body or None,
                    headers={**HEADERS, **headers, "Host": url.netloc.decode("ascii")},
                    extensions={"sni_hostname": url.raw_host.decode("ascii"), "timeout": client.timeout.as_dict()},
                )  # fmt: skip
                try:
                    return await self._read(client, there, url, most_bytes)
                except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                    problem = error
                except httpx2.LocalProtocolError as error:  # its text has the header, and so what is secret
                    raise FetchError(f"{url} cannot be fetched: {type(error).__name__}") from None
                except httpx2.HTTPError as error:
                    raise FetchError(f"{url} cannot be fetched: {str(error) or type(error).__name__}") from None
        raise FetchError(f"{url} cannot be reached: {str(problem) or type(problem).__name__}")

    async def _read(
        self, client: httpx2.AsyncClient, request: httpx2.Request, url: httpx2.URL, most_bytes: int
    ) -> HttpReply | httpx2.URL:
        import httpx2

        response = await client.send(request, stream=True)
        try:
            if response.status_code in REDIRECTS and (location := response.headers.get("location")):
                try:
                    return url.join(location)
                except (httpx2.InvalidURL, ValueError):
                    raise FetchError(f"{url} leads to what is no address") from None
            headers = {name.lower(): value for name, value in response.headers.items()}
            if request.method == "HEAD" or response.status_code >= 300:  # what an error looks like nobody reads
                return HttpReply(str(url), response.status_code, headers, b"")
            return HttpReply(str(url), response.status_code, headers, await _body(url, response, most_bytes))
        finally:
            await response.aclose()


async def _body(url: httpx2.URL, response: httpx2.Response, most_bytes: int) -> bytes:
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise FetchError(f"{url} answered with compressed content, which was not asked for")
    body = bytearray()
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > most_bytes:
            raise TooLargeError(f"{url} has more than {most_bytes:,} bytes")
    return bytes(body)
