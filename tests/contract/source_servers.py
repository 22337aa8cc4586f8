"""Servers that documents live on, for tests: each real, on loopback, and gone with the `with` that started it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from cairn.connectors.connector import Connector, RemoteFile
from cairn.connectors.registry import open_connector
from cairn.settings import UrlSettings

LOOPBACK = ("127.0.0.0/8",)
HOST = "docs.example.org"


async def loopback(host: str, port: int) -> Sequence[str]:
    """How names are resolved in these tests."""
    return ["127.0.0.1"]


def opened(
    address: str, options: Mapping[str, str] | None = None, secrets: Mapping[str, str] | None = None, *,
    hosts: Sequence[str] = ("*",), private: Sequence[str] = LOOPBACK, seconds: float = 20, port: int | None = None,
) -> Connector:  # fmt: skip
    """A connector that may reach loopback. `port`: that of the host, which the settings have to name."""
    named = tuple(f"{host}:{port}" if port else host for host in hosts)
    allow = UrlSettings(allowed_hosts=named, private_networks=tuple(private), seconds=seconds)
    return open_connector(address, options or {}, secrets or {}, allow=allow, resolve=loopback)


async def listed(source: Connector) -> dict[str, RemoteFile]:
    """By their paths, in the order of the listing; no path comes twice."""
    found: dict[str, RemoteFile] = {}
    async for file in source.list_files():
        assert file.path not in found
        assert file.version
        found[file.path] = file
    return found


class _Threaded(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing to the terminal."""


class Gate:
    """Stands before an application: `requests` are (method, path) of each; `fail` says with which status some are answered."""

    def __init__(self, application: Callable[..., Any]) -> None:
        self._application = application
        self.requests: list[tuple[str, str]] = []
        self.authorizations: list[str | None] = []
        self.fail: Callable[[str, str], tuple[str, Mapping[str, str]] | None] = lambda method, path: None

    def __call__(self, environment: dict[str, Any], start: Callable[..., Any]) -> Any:
        method, path = environment["REQUEST_METHOD"], environment["PATH_INFO"]
        self.requests.append((method, path))
        self.authorizations.append(environment.get("HTTP_AUTHORIZATION"))
        if failed := self.fail(method, path):
            start(failed[0], [*failed[1].items(), ("Content-Length", "0")])
            return [b""]
        return self._application(environment, start)


@contextmanager
def serving_wsgi(application: Callable[..., Any]) -> Iterator[int]:
    """Its port."""
    with make_server("127.0.0.1", 0, application, _Threaded, _Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()
