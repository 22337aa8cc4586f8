"""Pages of other hosts, fetched to be indexed: of hosts that the settings allow, and from no private address.

A caller chooses the address, so it may name what only this machine can reach. Each hop is checked: its host by urls.allowedHosts,
and every address that the host has now. The connection then goes to an address that was checked, not to the name again, so a name
that means another address a moment later (DNS rebinding) changes nothing.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from cairn.errors import AddressRefusedError, FetchError, InputError, TooLargeError
from cairn.language.text import normalise
from cairn.providers.tls import authorities
from cairn.settings import UrlSettings

if TYPE_CHECKING:
    import httpx2

MAX_URL: Final = 512
"""Characters; it becomes the id of a document."""
MAX_REDIRECTS: Final = 5
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
PORTS: Final = {"http": 80, "https": 443}
HEADERS: Final = {"User-Agent": "Cairn (document ingestion)", "Accept": "*/*", "Accept-Encoding": "identity"}
"""No compression: what is counted is what arrives."""
HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
EMBEDDING: Final = tuple(map(ipaddress.ip_network, ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96")))
"""IPv6 addresses whose last 32 bits are an IPv4 address: compatible, mapped, translated, NAT64."""
NOT_PUBLIC: Final = tuple(map(ipaddress.ip_network, (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16",
    "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    "168.63.129.16/32", "::/128", "::1/128", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23",
    "2001:db8::/32", "2620:4f:8000::/48", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10",
    "ff00::/8",
)))  # fmt: skip
"""Special purposes by the registries of IANA, multicast, and the address by which machines at Azure are told of themselves: an
own list, since that of `ipaddress` is another one in each release of Python."""
PUBLIC_IPV6: Final = ipaddress.ip_network("2000::/3")
"""All that is given to anybody; whatever lies outside is for a special purpose, or for none yet."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses that a host has, for a port. Raises OSError."""


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """`name` ends as files of its kind do."""

    url: str
    name: str
    content: bytes
    media_type: str | None


async def resolve(host: str, port: int) -> list[str]:
    """By the resolver of the system."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(item[4][0]) for item in found))


def check_url(url: str, settings: UrlSettings) -> str:
    """The address as it is asked for and kept: host in lower case, without a fragment.

    Raises InputError for what is no address, AddressRefusedError for one that the settings do not allow.
    """
    return str(_checked(url, settings))


def _checked(url: str, settings: UrlSettings) -> httpx2.URL:
    import httpx2

    shown = url[:200]
    try:
        parsed = httpx2.URL(url.strip()).copy_with(fragment=None)
        host = parsed.raw_host.decode("ascii")
    except (httpx2.InvalidURL, ValueError, TypeError) as error:
        raise InputError(f"{shown!r} is no address: {error}") from None
    if parsed.scheme not in PORTS or not host:
        raise InputError(f"{shown!r} is no address of a page: it begins with http:// or https:// and names a host")
    if parsed.userinfo:
        raise InputError("an address with a user name or password in it is not taken: it would be stored")
    if len(str(parsed)) > MAX_URL:
        raise InputError(f"an address has at most {MAX_URL} characters, this one {len(str(parsed))}")
    port = parsed.port or PORTS[parsed.scheme]
    if not any(_allows(entry, host, port) for entry in settings.allowed_hosts):
        raise AddressRefusedError(
            f"{host} port {port} is not among the hosts that pages may be fetched from (setting urls.allowedHosts)"
            if settings.allowed_hosts
            else "fetching pages is switched off: name the hosts in urls.allowedHosts in settings.json"
        )
    return parsed


def _allows(entry: str, host: str, port: int) -> bool:
    """`docs.example.org`, `*.example.org` (any host below it), `*`; a port other than 80 and 443 has to be named."""
    named, _, own_port = entry.lower().partition(":")
    if (own_port and int(own_port) != port) or (not own_port and port not in PORTS.values()):
        return False
    return named in ("*", host.rstrip(".")) or (named.startswith("*.") and host.rstrip(".").endswith(named[1:]))


class PageFetcher:
    """Fetches pages one by one. `max_bytes`: of a page."""

    def __init__(
        self, settings: UrlSettings, *, max_bytes: int, resolve: Resolve = resolve, trust: ssl.SSLContext | None = None
    ) -> None:
        """`resolve`: how names become addresses. `trust`: whom certificates must come from; None: the usual authorities."""
        self._settings = settings
        self._max_bytes = max_bytes
        self._resolve = resolve
        self._trust = trust
        self._private = [ipaddress.ip_network(network) for network in settings.private_networks]

    async def fetch(self, url: str) -> FetchedPage:
        """The page, after redirects. Raises InputError, AddressRefusedError, TooLargeError; FetchError where there is none."""
        seconds = self._settings.seconds
        try:
            async with asyncio.timeout(seconds):
                return await self._follow(url)
        except TimeoutError:
            raise FetchError(f"{url} was not there within {seconds:g} s (setting urls.seconds)") from None

    async def _follow(self, url: str) -> FetchedPage:
        at = asked = _checked(url, self._settings)
        for _ in range(MAX_REDIRECTS + 1):
            answer = await self._get(at)
            if isinstance(answer, FetchedPage):
                return FetchedPage(str(asked), answer.name, answer.content, answer.media_type)
            at = _checked(str(answer), self._settings)
        raise FetchError(f"{asked} leads to more than {MAX_REDIRECTS} other addresses, one after another")

    async def _get(self, url: httpx2.URL) -> FetchedPage | httpx2.URL:
        """A page, or where it is instead."""
        import httpx2

        trust = self._trust
        if trust is None:
            trust = await asyncio.to_thread(authorities)
        problem: Exception | None = None
        for address in await self._addresses(url):
            # a client for each connection: kept ones are found by address, and two hosts may share one
            async with httpx2.AsyncClient(
                follow_redirects=False, trust_env=False, timeout=self._settings.seconds, verify=trust
            ) as client:
                try:
                    return await self._read(client, url, address)
                except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                    problem = error
                except httpx2.HTTPError as error:
                    raise FetchError(f"{url} cannot be fetched: {str(error) or type(error).__name__}") from None
        raise FetchError(f"{url} cannot be reached: {str(problem) or type(problem).__name__}")

    async def _read(self, client: httpx2.AsyncClient, url: httpx2.URL, address: Address) -> FetchedPage | httpx2.URL:
        import httpx2

        host = url.netloc.decode("ascii")
        there = url.copy_with(host=str(address))
        named = {"sni_hostname": url.raw_host.decode("ascii")}
        async with client.stream("GET", there, headers={**HEADERS, "Host": host}, extensions=named) as response:
            if response.status_code in REDIRECTS and (location := response.headers.get("location")):
                try:
                    return url.join(location)
                except (httpx2.InvalidURL, ValueError):
                    raise FetchError(f"{url} leads to what is no address") from None
            if response.status_code != 200:
                raise FetchError(f"{url} answered {response.status_code} instead of a page")
            media_type = response.headers.get("content-type")
            kind = (media_type or "").partition(";")[0].strip().lower()
            return FetchedPage(str(url), _name(url, kind), await self._body(url, response), kind or None)

    async def _body(self, url: httpx2.URL, response: httpx2.Response) -> bytes:
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise FetchError(f"{url} answered with compressed content, which was not asked for")
        body = bytearray()
        async for piece in response.aiter_raw():
            body += piece
            if len(body) > self._max_bytes:
                raise TooLargeError(f"{url} has more than {self._max_bytes:,} bytes (setting ingest.maxFileBytes)")
        return bytes(body)

    async def _addresses(self, url: httpx2.URL) -> list[Address]:
        """All that the host has now, if each of them may be connected to."""
        host, port = url.raw_host.decode("ascii"), url.port or PORTS[url.scheme]
        try:
            found = [ipaddress.ip_address(text.partition("%")[0]) for text in await self._resolve(host, port)]
        except (OSError, ValueError, UnicodeError) as error:
            raise FetchError(f"the host {host} cannot be found: {getattr(error, 'strerror', None) or error}") from None
        for address in found:
            if not self._may_reach(address):
                raise AddressRefusedError(
                    f"{host} is the address {address} of a private network, and nothing is fetched from there "
                    "(setting urls.privateNetworks)"
                )
        if not found:
            raise FetchError(f"the host {host} has no address")
        return found

    def _may_reach(self, address: Address) -> bool:
        meant = {address, _inner(address)}
        return is_public(address) or any(one in network for one in meant for network in self._private)


def is_public(address: Address) -> bool:
    """Whether an address belongs to somebody on the Internet, and to no special purpose, and so does what it stands for."""
    if (inner := _inner(address)) != address and not is_public(inner):
        return False
    if any(address in network for network in EMBEDDING):
        return True
    if any(address in network for network in NOT_PUBLIC):
        return False
    return isinstance(address, ipaddress.IPv4Address) or address in PUBLIC_IPV6


def _inner(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for, by any of the ways to write one in the other."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if any(address in network for network in EMBEDDING):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.sixtofour or (address.teredo[1] if address.teredo else address)


def _name(url: httpx2.URL, kind: str) -> str:
    """Of the file that a page would be: pages in HTML end so, whatever made them (index.php)."""
    name = normalise(unquote(PurePosixPath(url.path).name)) or str(url.host)
    is_named_so = name.lower().endswith((".html", ".htm", ".xhtml"))
    return f"{name}.html" if kind in HTML and not is_named_so else name
