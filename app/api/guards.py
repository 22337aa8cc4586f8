"""What may be refused without reading a body: where the process listens, Host, Origin, length."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from app.errors import SettingsError
from app.settings import Environment

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})

Refusal = tuple[int, str]
"""A status and what to tell the caller."""


def check_listen(environment: Environment) -> None:
    """While there is no authentication, listen on loopback only. Raises SettingsError otherwise."""
    if environment.allow_open or is_loopback(environment.host):
        return
    raise SettingsError(
        f"CAIRN_HOST={environment.host} would let everybody on the network in, and there is no authentication yet; "
        "listen on 127.0.0.1, or set CAIRN_ALLOW_OPEN=1 behind something that authenticates"
    )


def is_loopback(host: str) -> bool:
    """Whether a name or address never leaves the machine. An empty host listens everywhere."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def host_name(value: str) -> str:
    """A Host header without its port, in lower case: `[::1]:8000` is `[::1]`."""
    value = value.strip().lower()
    if value.startswith("["):
        return value.partition("]")[0] + "]"
    return value.partition(":")[0]


def refuse_host(host: str | None, allowed: Sequence[str]) -> Refusal | None:
    """An unknown Host is a rebound DNS name: some web page that reaches for a server on loopback."""
    if not host:
        return 400, "the Host header is missing"
    if "*" in allowed or host_name(host) in {name.lower() for name in allowed}:
        return None
    return 421, f"this server does not answer for the host {host[:200]}; add it to api.allowedHosts in settings.json"


def refuse_origin(method: str, headers: Mapping[str, str], allowed: Sequence[str]) -> Refusal | None:
    """Browsers say which page a request comes from; a page of another host may not change anything here."""
    origin = headers.get("origin")
    if origin is None or method in SAFE_METHODS or "*" in allowed:
        return None
    try:
        name = urlsplit(origin).netloc
    except ValueError:
        name = ""
    if host_name(name) in {entry.lower() for entry in allowed}:
        return None
    return 403, f"requests that change something are not accepted from pages of {origin[:200]}"


def refuse_length(length: str | None, limit: int) -> Refusal | None:
    """Content-Length over the limit, before a byte of the body is read."""
    if length is None:
        return None
    if not (length.isascii() and length.isdigit()):
        return 400, "Content-Length must be a number"
    return (413, too_large(limit)) if len(length) > 18 or int(length) > limit else None


def too_large(limit: int) -> str:
    return f"the request body is larger than {limit:,} bytes (setting api.maxBodyBytes)"
