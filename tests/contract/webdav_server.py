"""A WebDAV server of WsgiDAV, on loopback, for tests of sources."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from source_servers import HOST, Gate, opened, serving_wsgi
from wsgidav.fs_dav_provider import FilesystemProvider
from wsgidav.wsgidav_app import WsgiDAVApp

from cairn.connectors.connector import Connector

USER, PASSWORD = "reader", "pass word"


class Dav:
    def __init__(self, folder: Path, gate: Gate, port: int) -> None:
        self.folder, self.gate, self.port = folder, gate, port

    def source(self, path: str = "/docs", password: str = PASSWORD, **options: str) -> Connector:
        return opened(
            f"webdav://{HOST}:{self.port}{path}", {"username": USER, **options}, {"password": password}, port=self.port
        )


@contextmanager
def serving_webdav(root: Path) -> Iterator[Dav]:
    """It shows `root`, whose folder `docs` is that of the sources."""
    application = Gate(WsgiDAVApp({
        "provider_mapping": {"/": FilesystemProvider(str(root), readonly=True)},
        "simple_dc": {"user_mapping": {"*": {USER: {"password": PASSWORD}}}},
        "http_authenticator": {"accept_basic": True, "accept_digest": False, "default_to_digest": False},
        "verbose": 0, "logging": {"enable": False}, "dir_browser": {"enable": False},
    }))  # fmt: skip
    with serving_wsgi(application) as port:
        yield Dav(root / "docs", application, port)
