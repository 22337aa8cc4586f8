"""An OpenID Connect issuer on loopback: a discovery document, keys that rotate, tokens that are right or wrong, and people who
sign in (authorization code with PKCE, clients that register themselves). It is strict, as issuers are."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

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


@dataclass(frozen=True)
class Reply:
    """Of the issuer. `body`: JSON, or a page where it is text."""

    status: int
    body: Any = b""
    location: str = ""


class ScriptedIssuer:
    """`keys` is what it publishes; `body` what it answers instead, where it misbehaves; `asked` how often keys were fetched.
    `clients`: their secrets (None: public) by their ids, `redirects` where it sends people back to; both grow as clients
    register. `asks`: people see a page and click. `denies`: the error that it sends instead of a code. `identity`, `access`:
    claims of the tokens that it gives for a code, instead of the right ones; `key`: what signs them. `redeemed`: forms of its
    token endpoint, which answers once `answers` is set. `document`: what its discovery document says instead."""

    def __init__(self, host: str, port: int) -> None:
        self.url = f"http://{host}:{port}"
        self.keys = [public_jwk("one")]
        self.body: bytes | None = None
        self.status = 200
        self.asked = 0
        self.clients: dict[str, str | None] = {}
        self.redirects: set[str] = set()
        self.document: dict[str, Any] = {}
        self.redeemed: list[dict[str, str]] = []
        self.answers = threading.Event()
        self.behave()
        self._codes: dict[str, dict[str, str]] = {}

    def behave(self) -> None:
        """Do as an issuer should, from now on."""
        self.asks = False
        self.denies: str | None = None
        self.identity: dict[str, Any] = {}
        self.access: dict[str, Any] = {}
        self.key = "one"
        self.answers.set()

    def claims(self, **more: Any) -> dict[str, Any]:
        now = int(time.time())
        claims = {"iss": self.url, "aud": AUDIENCE, "sub": "alice", "exp": now + 600, "iat": now, "tenant": "acme",
                  "scope": "openid read cairn:ask"}  # fmt: skip
        return {name: value for name, value in (claims | more).items() if value is not None}

    def token(self, key: str = "one", *, headers: dict[str, Any] | None = None, bits: int = 2048, **claims: Any) -> str:
        return jwt.encode(
            self.claims(**claims), private_key(key, bits), algorithm="RS256", headers={"kid": key} | (headers or {})
        )

    # --- what it answers --------------------------------------------------------------------------------------------------

    def get(self, path: str, query: dict[str, str]) -> Reply:
        if path.endswith("/openid-configuration"):
            return Reply(self.status, self._discovery() | self.document)
        if path == "/authorize":
            return self._authorize(query)
        if path != "/jwks":
            return Reply(404)
        self.asked += 1
        return Reply(self.status, {"keys": self.keys} if self.body is None else self.body)

    def post(self, path: str, body: str, authorization: str) -> Reply:
        if path == "/token":
            return self._redeem(dict(parse_qsl(body)), authorization)
        if path == "/register":
            return self._register(json.loads(body))
        return Reply(404)

    def _discovery(self) -> dict[str, Any]:
        own = {"authorization_endpoint": "authorize", "token_endpoint": "token", "registration_endpoint": "register",
               "jwks_uri": "jwks"}  # fmt: skip
        return {
            "issuer": self.url, **{name: f"{self.url}/{path}" for name, path in own.items()},
            "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "none"],
            "authorization_response_iss_parameter_supported": True,
        }  # fmt: skip

    def _authorize(self, query: dict[str, str]) -> Reply:
        if query.get("client_id") not in self.clients or query.get("redirect_uri") not in self.redirects:
            return Reply(400, "unknown client, or one that is called back elsewhere")
        if query.get("response_type") != "code" or query.get("code_challenge_method") != "S256":
            return Reply(400, "the code flow with S256, please")
        back = {"state": query.get("state", ""), "iss": self.url}
        code = secrets.token_urlsafe(16)
        self._codes[code] = query
        allowed = f"{query['redirect_uri']}?{urlencode(back | {'code': code})}"
        denied = f"{query['redirect_uri']}?{urlencode(back | {'error': self.denies or 'access_denied'})}"
        if not self.asks:
            return Reply(302, location=denied if self.denies else allowed)
        links = "".join(
            f'<a href="{html.escape(to)}">{what}</a> ' for what, to in (("Allow", allowed), ("Deny", denied))
        )
        return Reply(200, f"<!doctype html><title>Acme</title><p>Hello Alice</p>{links}")

    def _redeem(self, form: dict[str, str], authorization: str) -> Reply:
        self.redeemed.append(form)
        self.answers.wait()
        scheme, _, encoded = authorization.partition(" ")
        client_id, given = form.get("client_id", ""), form.get("client_secret")
        if scheme == "Basic":
            client_id, _, given = map(unquote, base64.b64decode(encoded).decode().partition(":"))
        asked = self._codes.pop(form.get("code", ""), {})
        if client_id not in self.clients or self.clients[client_id] != given:
            return Reply(401, {"error": "invalid_client"})
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        fits = base64.urlsafe_b64encode(digest).decode().rstrip("=") == asked.get("code_challenge")
        if not fits or client_id != asked["client_id"] or form.get("redirect_uri") != asked["redirect_uri"]:
            return Reply(400, {"error": "invalid_grant"})
        identity = {"aud": client_id, "nonce": asked.get("nonce"), "tenant": None, "scope": None} | self.identity
        access = {"aud": asked.get("resource", AUDIENCE), "scope": asked.get("scope")} | self.access
        tokens = {"id_token": self.token(self.key, **identity), "access_token": self.token(self.key, **access)}
        return Reply(200, {"token_type": "Bearer", "expires_in": 600, "scope": asked.get("scope", ""), **tokens})

    def _register(self, metadata: dict[str, Any]) -> Reply:
        client_id = f"client-{len(self.clients)}"
        self.clients[client_id] = None
        self.redirects |= set(metadata["redirect_uris"])
        return Reply(201, metadata | {"client_id": client_id, "token_endpoint_auth_method": "none"})


@contextmanager
def scripted_issuer(host: str = "127.0.0.1") -> Iterator[ScriptedIssuer]:
    """`host`: localhost where browsers are to see another site than that of a server at 127.0.0.1."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            self._send(issuer.get(parts.path, dict(parse_qsl(parts.query))))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            self._send(issuer.post(urlsplit(self.path).path, body, self.headers.get("Authorization", "")))

        def _send(self, reply: Reply) -> None:
            is_page = isinstance(reply.body, str)
            body = (
                reply.body
                if isinstance(reply.body, bytes)
                else (reply.body if is_page else json.dumps(reply.body)).encode()
            )
            self.send_response(reply.status)
            self.send_header("Content-Type", "text/html; charset=utf-8" if is_page else "application/json")
            self.send_header("Content-Length", str(len(body)))
            if reply.location:
                self.send_header("Location", reply.location)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    issuer = ScriptedIssuer(host, server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        server.server_close()
