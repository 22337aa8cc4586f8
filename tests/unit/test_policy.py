"""Every route of the application has a policy, and every policy a route."""

from __future__ import annotations

import pytest

from cairn.interfaces.http.policy import POLICIES, policy_of
from cairn.interfaces.server import create_app
from cairn.settings import SettingsStore, read_environment


def test_policies_are_those_of_the_routes() -> None:
    app = create_app(read_environment({}), SettingsStore(None))
    described = {f"{method.upper()} {path}" for path, item in app.openapi()["paths"].items() for method in item}
    # the slash is optional; OpenAPI knows no sockets; the others are of the page and of MCP
    hidden = {"POST /chat", "WS /ws/runs/{run_id}"}
    hidden |= {"POST /session", "DELETE /session", "POST /mcp", "GET /session/oidc", "GET /session/oidc/callback"}
    hidden |= {f"GET /.well-known/oauth-protected-resource{path}" for path in ("", "/mcp")}
    hidden |= {"POST /ui/collections/{name}/documents", "GET /ui/collections/{name}/documents/{document_id}/file"}
    hidden |= {"GET /ui/runs/{run_id}/proof"}
    assert set(POLICIES) == described | hidden


def test_a_route_without_a_policy_does_not_start() -> None:
    with pytest.raises(LookupError, match="GET /new has no policy"):
        policy_of("GET", "/new")
