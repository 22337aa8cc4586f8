"""What each route asks of its callers, in one table: a route that is not in it does not start.

TypedRoute (cairn/interfaces/http/running.py) looks its route up here. The layers in front of it read the columns that are theirs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from cairn.domain.principal import Scope

Kind = Literal["light", "search", "answer", "ingest", "own"]
"""What a request works on, and so with whom it competes: nothing worth counting, a search, an answer, documents. Own: it takes a
place later, since what it works on stands in its body, or since it waits for an issuer, for which there are a few places
(cairn/providers/oidc_sign_in.py)."""


@dataclass(frozen=True, slots=True)
class RoutePolicy:
    """`scope`: what the caller must be allowed; any: nothing, but it must be known; None: anybody may. `large`: the body may hold
    documents. `creates`: the route makes something, so repeating it under one Idempotency-Key makes it once. `secret`: the body
    may hold secrets, in its field `secrets`. `tagged`: its answers have an ETag (cairn/interfaces/http/conditional.py)."""

    scope: Scope | Literal["any"] | None
    kind: Kind = "light"
    large: bool = False
    creates: bool = False
    secret: bool = False
    tagged: bool = False


_READ, _WRITE, _ADMIN = RoutePolicy("read"), RoutePolicy("write"), RoutePolicy("admin")
_TAGGED = RoutePolicy("read", tagged=True)
_UPLOAD = RoutePolicy("write", "ingest", large=True, creates=True)

POLICIES: Final[Mapping[str, RoutePolicy]] = {
    "POST /collections": RoutePolicy("write", creates=True),
    "GET /collections": _TAGGED,
    "GET /collections/{name}": _TAGGED,
    "PATCH /collections/{name}": _WRITE,
    "DELETE /collections/{name}": _WRITE,
    "GET /collections/{name}/access": _TAGGED,
    "PUT /collections/{name}/access": _ADMIN,
    "DELETE /collections/{name}/access": _ADMIN,
    "POST /collections/{name}/documents": _UPLOAD,
    "GET /collections/{name}/documents": _TAGGED,
    "DELETE /collections/{name}/documents": RoutePolicy("write", "ingest"),
    "GET /collections/{name}/documents/{document_id}": _TAGGED,
    "PATCH /collections/{name}/documents/{document_id}": RoutePolicy("write", "ingest"),
    "DELETE /collections/{name}/documents/{document_id}": _WRITE,
    "GET /collections/{name}/documents/{document_id}/text": _TAGGED,
    "GET /collections/{name}/documents/{document_id}/file": _TAGGED,
    "GET /collections/{name}/documents/{document_id}/pages": _TAGGED,
    "GET /collections/{name}/documents/{document_id}/pages/{page}.png": _TAGGED,
    "GET /collections/{name}/documents/{document_id}/pages/{page}/marks": _TAGGED,
    "POST /collections/{name}/enrich": RoutePolicy("write", creates=True),
    "POST /collections/{name}/models": RoutePolicy("admin", creates=True),
    "POST /collections/{name}/urls": RoutePolicy("write", creates=True),
    "POST /collections/{name}/reindex": RoutePolicy("write", creates=True),
    "POST /collections/{name}/reread": RoutePolicy("write", creates=True),
    "POST /index": _UPLOAD,
    "GET /models": _READ,
    "POST /search": RoutePolicy("read", "search"),
    "GET /cache": _ADMIN,
    "DELETE /cache": _ADMIN,
    "POST /query": RoutePolicy("ask", "answer"),
    "POST /qa/ask": RoutePolicy("ask", "answer"),
    "DELETE /qa/sessions/{session_id}": RoutePolicy("ask"),
    "POST /api/agent/run": RoutePolicy("ask", "answer"),
    "POST /api/agent/stream": RoutePolicy("ask", "answer"),
    "GET /runs/{run_id}": _READ,
    "GET /runs/{run_id}/proof": _READ,
    "POST /runs/{run_id}/cancel": RoutePolicy("ask"),
    "GET /runs/{run_id}/events": _READ,
    "WS /ws/runs/{run_id}": _READ,
    "POST /feedback": RoutePolicy("ask"),
    "GET /chat/sessions": _READ,
    "GET /chat/sessions/{session_id}": _READ,
    "GET /chat/sessions/{session_id}/messages": _READ,
    "PATCH /chat/sessions/{session_id}": RoutePolicy("ask"),
    "DELETE /chat/sessions/{session_id}": RoutePolicy("ask"),
    "GET /chat/history/{session_id}": _READ,
    "DELETE /chat/history/{session_id}": RoutePolicy("ask"),
    "POST /chat/{chat_id}/documents": _UPLOAD,
    "GET /chat/{chat_id}/documents": _READ,
    "DELETE /chat/{chat_id}/documents/{document_id}": _WRITE,
    "POST /chat": RoutePolicy("ask", "answer"),
    "POST /chat/": RoutePolicy("ask", "answer"),
    "POST /chat/stream": RoutePolicy("ask", "answer"),
    "POST /chat/{chat_id}/stream": RoutePolicy("ask", "answer"),
    "GET /graph/entities": _READ,
    "GET /graph/entities/{entity_id}": _READ,
    "GET /graph/neighborhood": _READ,
    "GET /graph/path": RoutePolicy("read", "search"),
    "GET /graph/communities": _READ,
    "POST /graph/extract": RoutePolicy("write", creates=True),
    "POST /graph/merges": RoutePolicy("write", creates=True),
    "GET /graph/merges": _READ,
    "DELETE /graph/merges/{merge_id}": _WRITE,
    "GET /jobs": _READ,
    "GET /jobs/{job_id}": _READ,
    "POST /jobs/{job_id}/cancel": _WRITE,
    "POST /jobs/{job_id}/retry": _WRITE,
    "GET /jobs/{job_id}/events": _READ,
    "GET /traces/{trace_id}/passages/{passage_id}": _READ,
    "GET /traces/{trace_id}": _READ,
    "POST /sources": RoutePolicy("admin", creates=True, secret=True),
    "GET /sources": _ADMIN,
    "GET /sources/{source_id}": _ADMIN,
    "PATCH /sources/{source_id}": _ADMIN,
    "DELETE /sources/{source_id}": _ADMIN,
    "POST /sources/{source_id}/sync": _ADMIN,
    "POST /keys": _ADMIN,  # not `creates`: what it answers is shown once, and stored nowhere
    "GET /keys": _ADMIN,
    "PATCH /keys/{key_id}": _ADMIN,
    "DELETE /keys/{key_id}": _ADMIN,
    "GET /usage": _READ,
    "GET /v1/models": _READ,
    "GET /v1/models/{model}": _READ,
    "GET /v1/models/{owner}/{model}": _READ,
    "POST /v1/chat/completions": RoutePolicy("ask", "answer"),
    "POST /v1/responses": RoutePolicy("ask", "answer"),
    "POST /v1/embeddings": RoutePolicy("read", "search"),
    "POST /retrieval": RoutePolicy("read", "search"),
    "GET /health/live": RoutePolicy(None),
    "GET /health/ready": RoutePolicy(None),
    "GET /audit": _ADMIN,
    "GET /persons/{principal}/export": _ADMIN,
    "DELETE /persons/{principal}": _ADMIN,
    "GET /metrics": _ADMIN,
    "GET /problems/{code}": RoutePolicy(None),
    "POST /mcp": RoutePolicy("any", "own"),  # its tools ask for their scopes: cairn/interfaces/mcp/toolbox.py
    "POST /session": RoutePolicy(None),
    "DELETE /session": RoutePolicy(None),
    "GET /session/oidc": RoutePolicy(None, "own"),
    "GET /session/oidc/callback": RoutePolicy(None, "own"),
    "GET /.well-known/oauth-protected-resource": RoutePolicy(None),
    "GET /.well-known/oauth-protected-resource/mcp": RoutePolicy(None),
    "POST /ui/collections/{name}/documents": _UPLOAD,
    "GET /ui/collections/{name}/documents/{document_id}/file": _TAGGED,
    "GET /ui/runs/{run_id}/proof": _READ,
}


def policy_of(method: str, path: str) -> RoutePolicy:
    """Of a route by its template. Raises LookupError for one that is not in the table."""
    try:
        return POLICIES[f"{method} {path}"]
    except KeyError:
        raise LookupError(f"{method} {path} has no policy; add it to cairn/interfaces/http/policy.py") from None


_PATTERNS: Final = defaultdict[int, list[tuple[list[str], RoutePolicy]]](list)
"""By the number of their parts."""
for _route, _policy in POLICIES.items():
    _PATTERNS[_route.count("/")].append((_route.split("/"), _policy))


def policy_for(method: str, path: str) -> RoutePolicy | None:
    """Of the route that a path leads to, for layers in front of the routes; None where there is none. A template that names
    the path beats one that leaves a part open."""
    if exact := POLICIES.get(f"{method} {path}"):
        return exact
    parts = f"{method} {path}".split("/")
    for template, policy in _PATTERNS.get(len(parts) - 1, ()):
        if all(map(_fits, template, parts)):
            return policy
    return None


def _fits(template: str, part: str) -> bool:
    return template.startswith("{") or template == part


PAGE_FILES: Final = re.compile(
    r"/ui/_nicegui/[0-9][^/]*/(?:static|libraries|components|resources|dynamic_resources|esm)/"
)
"""Scripts and style sheets of the page, the same for all: who asks is not looked up, they do not end with a key (a page that
lacks one stays blank), and browsers keep them."""
