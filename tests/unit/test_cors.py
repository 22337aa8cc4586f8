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
     ("http://[::1]:8080", "http://[::1]:8080"), ("http://a.example:80", "http://a.example"), ("http://[2001:DB8:0:0:0:0:0:1]", "http://[2001:db8::1]"),
     ("http://127.0.0.1:3000", "http://127.0.0.1:3000"), ("https://my_wiki", "https://my_wiki"), ("https://a.example.", "https://a.example."),
     ("https://4.a-1.3com", "https://4.a-1.3com")],
)  # fmt: skip
def test_an_origin_is_kept_as_browsers_write_it(written: str, meant: str) -> None:
    assert ApiSettings(allowed_origins=(written,)).allowed_origins == (meant,)


@pytest.mark.parametrize(
    "written",
    ["app.example.org", f"{APP}/", f"{APP}/page", "null", "", "ftp://a.example", "https://", "https://u@a.example", "http://a.example:x",
     "https://a b.example", "https://bücher.example", f"{APP}?x", f"{APP}#x", "http://[", "https://a,b", "https://a.example;x",
     "https://a.example\\x", "https://a..example", "https://a%2eb", "http://[::1]x", "http://x[::1]", "http://[1::2::3]", "http://[fe80::1%eth0]",
     "http://[::ffff:7f00:1]", "http://127.1", "http://127.0.0.01", "http://0x7f000001", "http://a.example:65536", f"{APP}\n"],
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
    assert "access-control-allow-headers" not in asked.headers
    assert answer_preflight(scope_of(method="OPTIONS")) is None
    assert answer_preflight(scope_of(access_control_request_method="POST")) is None


MANY = [f"x-own-{number}" for number in range(65)]


@pytest.mark.parametrize(
    ("asked", "allowed"),
    [
        ("authorization,openai-organization,x-stainless-os", "authorization, openai-organization, x-stainless-os"),
        ("authorization , ,x y,b\u00fccher,a:b,a\r\nset-cookie: a=b,x-own", "authorization, x-own"),
        (f"{'x' * 64},{'y' * 65}", "x" * 64),
        (",".join(MANY), ", ".join(MANY[:64])),
    ],
)
def test_a_request_may_have_the_headers_that_its_preflight_names(asked: str, allowed: str) -> None:
    scope = scope_of(method="OPTIONS", access_control_request_method="POST")
    scope["headers"].append((b"access-control-request-headers", asked.encode("latin-1")))
    answer = answer_preflight(scope)
    assert answer is not None
    assert answer.headers["access-control-allow-headers"] == allowed


def test_a_page_may_read_why_it_was_refused_and_what_a_file_is_called() -> None:
    headers = MutableHeaders()
    share(headers, scope_of(origin=APP), (APP,))
    assert {"WWW-Authenticate", "Content-Disposition"} <= set(headers["access-control-expose-headers"].split(", "))
