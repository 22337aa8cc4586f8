"""Every route of the application has a policy, and every policy a route."""

from __future__ import annotations

import pytest
from fastapi import routing
from starlette.routing import Match

from cairn.interfaces.http.policy import POLICIES, policy_of
from cairn.interfaces.server import build_routes, create_app
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


def test_no_request_waits_for_routes_to_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    make = routing._EffectiveRouteContext.from_api_route
    monkeypatch.setattr(
        routing._EffectiveRouteContext, "from_api_route", lambda **named: made.append(named) or make(**named)
    )
    app = create_app(read_environment({}), SettingsStore(None))
    build_routes(app)
    assert len(made) > 50
    made.clear()
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/health/live",
        "root_path": "",
        "query_string": b"",
        "headers": [],
    }
    assert any(route.matches(scope)[0] is Match.FULL for route in app.router.routes)
    assert not made
