"""An OpenID Connect issuer on loopback: a discovery document, keys that rotate, and tokens that are right or wrong."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

AUDIENCE = "https://cairn.test"


@cache
def private_key(name: str, bits: int = 2048) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


def public_jwk(name: str, bits: int = 2048) -> dict[str, Any]:
    found: dict[str, Any] = RSAAlgorithm.to_jwk(private_key(name, bits).public_key(), as_dict=True)
    return found | {"kid": name, "use": "sig", "alg": "RS256"}


class ScriptedIssuer:
    """`keys` is what it publishes; `body` what it answers instead, where it misbehaves; `asked` how often keys were fetched."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.keys = [public_jwk("one")]
        self.body: bytes | None = None
        self.status = 200
        self.asked = 0

    def claims(self, **more: Any) -> dict[str, Any]:
        now = int(time.time())
        claims = {"iss": self.url, "aud": AUDIENCE, "sub": "alice", "exp": now + 600, "iat": now, "tenant": "acme",
                  "scope": "openid read cairn:ask"}  # fmt: skip
        return {name: value for name, value in (claims | more).items() if value is not None}

    def token(self, key: str = "one", *, headers: dict[str, Any] | None = None, bits: int = 2048, **claims: Any) -> str:
        return jwt.encode(
            self.claims(**claims), private_key(key, bits), algorithm="RS256", headers={"kid": key} | (headers or {})
        )

    def answer(self, path: str) -> bytes:
        if path.endswith("/openid-configuration"):
            return json.dumps({"issuer": self.url, "jwks_uri": f"{self.url}/jwks"}).encode()
        self.asked += 1
        return self.body if self.body is not None else json.dumps({"keys": self.keys}).encode()


@contextmanager
def scripted_issuer() -> Iterator[ScriptedIssuer]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = issuer.answer(self.path)
            self.send_response(issuer.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    issuer = ScriptedIssuer(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        server.server_close()
