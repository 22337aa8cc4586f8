"""Whom connections over TLS trust. It is read once: reading all authorities takes 20 ms of a processor, and there is a client for
each chat model, page and search on the web."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl


@cache
def authorities(*, from_environment: bool = False) -> ssl.SSLContext:
    """The usual ones; `from_environment`: or those that SSL_CERT_FILE and SSL_CERT_DIR name."""
    import httpx2

    return httpx2.create_ssl_context(trust_env=from_environment)
