"""What no address of a caller may reach: hosts that the settings do not name, and private networks.

A caller chooses an address, so it may name what only this machine can reach. Its host is compared with urls.allowedHosts, and
every address that the host has now with what is public. Who connects takes an address that was checked, not the name again, so
a name that means another address a moment later (DNS rebinding) changes nothing.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from cairn.errors import AddressRefusedError, FetchError
from cairn.settings import UrlSettings

WEB_PORTS: Final = (80, 443)
"""Those that need not be named in urls.allowedHosts."""
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


async def resolve(host: str, port: int) -> list[str]:
    """By the resolver of the system."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(item[4][0]) for item in found))


class AddressGuard:
    """Tells which hosts and addresses may be reached. `own_port`: that of a protocol other than HTTP, which need not
    be named either."""

    def __init__(self, settings: UrlSettings, resolve: Resolve = resolve, own_port: int | None = None) -> None:
        self._settings = settings
        self._resolve = resolve
        self._private = [ipaddress.ip_network(network) for network in settings.private_networks]
        self._ports = WEB_PORTS if own_port is None else (*WEB_PORTS, own_port)

    def check_host(self, host: str, port: int) -> None:
        """Raises AddressRefusedError where the settings do not name it."""
        if not any(self._allows(entry, host, port) for entry in self._settings.allowed_hosts):
            raise AddressRefusedError(
                f"{host} port {port} is not among the hosts that pages may be fetched from (setting urls.allowedHosts)"
                if self._settings.allowed_hosts
                else "fetching pages is switched off: name the hosts in urls.allowedHosts in settings.json"
            )

    def _allows(self, entry: str, host: str, port: int) -> bool:
        """`docs.example.org`, `*.example.org` (any host below it), `*`; a port other than the usual ones has to be named."""
        named, _, own_port = entry.lower().partition(":")
        if (own_port and int(own_port) != port) or (not own_port and port not in self._ports):
            return False
        return named in ("*", host.rstrip(".")) or (named.startswith("*.") and host.rstrip(".").endswith(named[1:]))

    async def find_addresses(self, host: str, port: int) -> list[Address]:
        """All that the host has now, if each of them may be connected to. Raises AddressRefusedError, FetchError."""
        try:
            found = [ipaddress.ip_address(text.partition("%")[0]) for text in await self._resolve(host, port)]
        except (OSError, ValueError, UnicodeError) as error:
            raise FetchError(f"the host {host} cannot be found: {getattr(error, 'strerror', None) or error}") from None
        for address in found:
            if not self.may_reach(address):
                raise AddressRefusedError(
                    f"{host} is the address {address} of a private network, and nothing is fetched from there "
                    "(setting urls.privateNetworks)"
                )
        if not found:
            raise FetchError(f"the host {host} has no address")
        return found

    def may_reach(self, address: Address) -> bool:
        """Whether it is public, or in a network that the settings open."""
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
