"""A web server for tests that speaks real HTTP, or HTTPS with a certificate of its own for some names.

    with ScriptedWeb({"/leave.html": "<h1>Leave</h1>"}) as web: ...

A page is text, bytes, or a `Reply`. `requests` has the path and the headers of each, in order.
"""

from __future__ import annotations

import ssl
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Reply:
    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    stalls: bool = False


class ScriptedWeb:
    def __init__(self, pages: dict[str, str | bytes | Reply], *, tls_for: Sequence[str] = ()) -> None:
        self.pages = pages
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.knows_head = True
        self.released = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self.trust: ssl.SSLContext | None = None
        if tls_for:
            self.trust = ssl.create_default_context(cadata=serve_tls(self._http, tls_for))
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def port(self) -> int:
        return self._http.server_port

    def __enter__(self) -> ScriptedWeb:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._http.shutdown()
        self._http.server_close()


def _handler(server: ScriptedWeb) -> type[BaseHTTPRequestHandler]:
    class Bound(BaseHTTPRequestHandler):
        def log_message(self, format: str, *arguments: Any) -> None:
            """Nothing to the terminal."""

        def do_GET(self) -> None:
            server.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            page = server.pages.get(self.path, Reply(b"no such page", 404))
            reply = page if isinstance(page, Reply) else _page(page)
            if reply.stalls:
                server.released.wait(60)
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(reply.body)

        def do_HEAD(self) -> None:
            if server.knows_head:
                self.do_GET()
            else:
                self.send_error(405)

    return Bound


def _page(content: str | bytes) -> Reply:
    if isinstance(content, bytes):
        return Reply(content, headers={"Content-Type": "application/octet-stream"})
    return Reply(content.encode(), headers={"Content-Type": "text/html; charset=utf-8"})


def serve_tls(server: ThreadingHTTPServer, names: Sequence[str]) -> str:
    """Let it speak TLS; its certificate."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")]), datetime.now(UTC)
    own = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([*map(x509.DNSName, names)]), critical=False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    public = own.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "pem").write_bytes(private + public)
        context.load_cert_chain(Path(folder) / "pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    return public.decode()
