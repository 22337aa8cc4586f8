"""Idempotency-Key: a POST that makes something is repeated without making it twice."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any, Final

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import Response

from cairn.connectors.seal_secrets import fingerprint_key
from cairn.domain.idempotency import StoredAnswer
from cairn.errors import InputError
from cairn.interfaces.http.policy import POLICIES, RoutePolicy
from cairn.service.idempotency import carry_out_once
from cairn.wiring import Services

HEADER: Final = "Idempotency-Key"
REPLAYED: Final = "Idempotency-Replayed"
"""Header of an answer that was given before."""
_KEY: Final = re.compile(r"[!-~]{1,255}")
_KEPT_HEADERS: Final = ("content-type", "location")
_PIECE: Final = 1 << 20

Handler = Callable[[Request], Awaitable[Response]]


async def answer_once(
    request: Request, policy: RoutePolicy, services: Callable[[Request], Services], handle: Handler
) -> Response:
    """The answer of the route; that of before, where the request was made before under the same key.

    Raises InputError for a key that cannot be one, and what carry_out_once does."""
    given = request.headers.getlist(HEADER) if policy.creates else []
    if not given:
        return await handle(request)
    if len(given) > 1 or not _KEY.fullmatch(given[0]):
        raise InputError(f"{HEADER} is one word of at most 255 visible ASCII characters, such as a UUID")
    of = services(request)
    fingerprint = await fingerprint_of(request, policy, of.environment.secrets_key)
    done = await carry_out_once(of, given[0], fingerprint, lambda: handle(request), _answer_of)
    if isinstance(done, StoredAnswer):
        return Response(done.body, done.status, {**done.headers, REPLAYED: "true"})
    return done


def _answer_of(response: Response) -> StoredAnswer | None:
    if not 200 <= response.status_code < 300 or not hasattr(response, "body"):
        return None
    headers = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
    return StoredAnswer(response.status_code, headers, bytes(response.body))


async def fingerprint_of(request: Request, policy: RoutePolicy, keys: str | None) -> bytes:
    """SHA-256 of what the request says. Forms by their fields and files: each client separates the parts by other words.

    Of what may hold secrets, HMAC with a key that no database has, so that nobody who reads a backup tries passwords (`keys`:
    CAIRN_SECRETS_KEY). Raises SettingsError for one that cannot be."""
    key = fingerprint_key(keys) if policy.secret else None
    digest = hmac.new(key, digestmod="sha256") if key else hashlib.sha256()
    for part in (request.method, request.url.path, request.url.query):
        _add(digest, part.encode())
    if request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        await _add_form(digest, await request.form())
    else:
        body = await request.body()
        _add(digest, _without_secrets(body) if policy.secret and not key else body)
    return digest.digest()


def _without_secrets(body: bytes) -> bytes:
    """Where there is no key, nothing is done with secrets: a request that has some is refused, whatever they are."""
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):  # refused as well
        return b""
    kept = {name: value for name, value in said.items() if name != "secrets"} if isinstance(said, dict) else None
    return json.dumps(kept).encode()


async def _add_form(digest: Any, form: FormData) -> None:
    for name, value in form.multi_items():
        _add(digest, name.encode())
        if not isinstance(value, UploadFile):
            _add(digest, value.encode())
            continue
        _add(digest, f"{value.filename}\n{value.content_type}\n{value.size}".encode())
        while piece := await value.read(_PIECE):
            digest.update(piece)
        await value.seek(0)


def _add(digest: Any, part: bytes) -> None:
    """With its length, so that no two requests come to the same bytes."""
    digest.update(len(part).to_bytes(8, "big"))
    digest.update(part)


def describe(schema: dict[str, Any]) -> None:
    """Declare the header at the operations that take it."""
    parameter = {
        "name": HEADER,
        "in": "header",
        "required": False,
        "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
        "description": "Makes repeating the request safe, for `api.idempotencyHours`: the same key and request get the same "
        f"answer again (header `{REPLAYED}: true`), and make nothing twice. Another request under the key is a 422 "
        "(`idempotency-key-reused`), one that is under way a 409 (`idempotency-key-in-flight`).",
    }
    for name, policy in POLICIES.items():
        method, _, path = name.partition(" ")
        if policy.creates and (operation := schema["paths"].get(path, {}).get(method.lower())):
            operation.setdefault("parameters", []).append(parameter)
