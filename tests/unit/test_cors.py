"""Origins that the settings name: as a browser writes them, each one for itself, and not where a cookie says who asks."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError
from starlette.datastructures import MutableHeaders

from cairn.interfaces.http.cors import answer_preflight, share, shared_origin
from cairn.settings import ApiSettings

APP = "https://app.example.org"


def scope_of(path: str = "/query", method: str = "POST", **headers: str) -> dict[str, Any]:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http", "method": method, "path": path, "headers": raw}


@pytest.mark.parametrize(
    ("written", "meant"),
    [(APP, APP), ("HTTPS://App.Example.org", APP), (f"{APP}:443", APP), ("http://localhost:3000", "http://localhost:3000"),
     ("http://[::1]:8080", "http://[::1]:8080"), ("http://a.example:80", "http://a.example")],
)  # fmt: skip
def test_an_origin_is_kept_as_browsers_write_it(written: str, meant: str) -> None:
    assert ApiSettings(allowed_origins=(written,)).allowed_origins == (meant,)


@pytest.mark.parametrize(
    "written",
    ["app.example.org", f"{APP}/", f"{APP}/page", "null", "", "ftp://a.example", "https://", "https://u@a.example", "http://a.example:x",
     "https://a b.example", "https://bücher.example", f"{APP}?x", f"{APP}#x", "http://["],
)  # fmt: skip
def test_what_is_no_origin_is_refused_with_what_one_is(written: str) -> None:
    with pytest.raises(ValidationError, match=r"name an origin as its pages are opened, https://app\.example\.org"):
        ApiSettings(allowed_origins=(written,))


@pytest.mark.parametrize("written", ["*", "https://*.example.org"])
def test_no_wildcard(written: str) -> None:
    with pytest.raises(ValidationError, match="would let every page of the web ask here; name each origin"):
        ApiSettings(allowed_origins=(written,))


@pytest.mark.parametrize(
    ("path", "origin", "shared"),
    [("/query", APP, True), ("/query", "http://app.example.org", False), ("/query", f"{APP}:8443", False),
     ("/query", "https://x.app.example.org", False), ("/query", f"{APP}.evil.example", False), ("/query", "null", False),
     ("/ui", APP, False), ("/ui/ask", APP, False), ("/uis", APP, True)],
)  # fmt: skip
def test_only_those_very_origins_share(path: str, origin: str, shared: bool) -> None:
    scope, headers = scope_of(path, origin=origin), MutableHeaders()
    assert shared_origin(scope, (APP,)) == (APP if shared else None)
    share(headers, scope, (APP,))
    assert headers.get("access-control-allow-origin") == (APP if shared else None)
    assert "access-control-allow-credentials" not in headers
    assert ("origin" in headers.get("vary", "").lower()) == path.startswith(("/query", "/uis"))


def test_two_origins_are_none_and_nothing_is_said_where_nobody_is_named() -> None:
    twice = {**scope_of(), "headers": [(b"origin", APP.encode())] * 2}
    assert shared_origin(twice, (APP,)) is None
    headers = MutableHeaders()
    share(headers, scope_of(origin=APP), ())
    assert dict(headers) == {}


def test_a_preflight_is_an_options_that_names_a_method() -> None:
    asked = answer_preflight(scope_of(method="OPTIONS", access_control_request_method="POST"))
    assert asked is not None
    assert "Authorization" in asked.headers["access-control-allow-headers"]
    assert answer_preflight(scope_of(method="OPTIONS")) is None
    assert answer_preflight(scope_of(access_control_request_method="POST")) is None
