"""What foreign pages are refused, and what an answer lets a browser do."""

from __future__ import annotations

import pytest
from starlette.datastructures import Headers

from cairn.interfaces.http.browser import (
    LOOPBACK_HOSTS,
    NOTHING,
    PAGE,
    content_policy,
    origin_of,
    refuse_host,
    refuse_origin,
    refuse_site,
    scheme_of,
)


@pytest.mark.parametrize(
    ("origin", "host", "scheme"),
    [("http://localhost:8000", "localhost:8000", "http"), ("http://LOCALHOST:8000", "localhost:8000", "http"),
     ("https://cairn.example", "cairn.example", "https"), ("https://cairn.example:443", "cairn.example", "https"),
     ("http://cairn.example", "cairn.example:80", "http"), ("http://[::1]:8000", "[::1]:8000", "http")],
)  # fmt: skip
def test_our_own_pages_may_change_something(origin: str, host: str, scheme: str) -> None:
    assert refuse_origin("POST", Headers({"origin": origin, "host": host}), scheme) is None


@pytest.mark.parametrize(
    "origin",
    ["null", "", "http://", "http://[", "file://", "http://localhost", "http://localhost:8001", "https://localhost:8000",
     "http://127.0.0.1:8000", "http://localhost.evil.example:8000", "http://evil@localhost:8000", "localhost:8000",
     "http://localhost:99999", "chrome-extension://localhost:8000", "http://localhost:8000, http://localhost:8000"],
)  # fmt: skip
def test_pages_of_another_scheme_host_or_port_may_not(origin: str) -> None:
    headers = Headers({"origin": origin, "host": "localhost:8000"})
    for method in ("POST", "DELETE", "PUT", "PATCH"):
        refusal = refuse_origin(method, headers, "http")
        assert refusal is not None
        assert refusal[0] == 403
    assert refuse_origin("GET", headers, "http") is None


def test_two_origins_are_refused_and_the_refusal_names_a_cure_for_tls() -> None:
    raw = [(b"host", b"localhost"), (b"origin", b"http://localhost"), (b"origin", b"http://localhost")]
    assert refuse_origin("POST", Headers(raw=raw), "http") is not None
    refusal = refuse_origin("POST", Headers({"origin": "https://cairn.example", "host": "cairn.example"}), "http")
    assert refusal is not None
    assert "api.trustProxy" in refusal[1]


@pytest.mark.parametrize(
    ("trusted", "forwarded", "scheme"),
    [(False, "https", "http"), (True, "https", "https"), (True, None, "http"), (True, "http, https", "https"),
     (True, "https, http", "http"), (True, "", "http")],
)  # fmt: skip
def test_a_proxy_is_believed_where_the_settings_trust_it(trusted: bool, forwarded: str | None, scheme: str) -> None:
    headers = Headers({} if forwarded is None else {"x-forwarded-proto": forwarded})
    assert scheme_of({"type": "http", "scheme": "http"}, headers, trusted) == scheme
    assert scheme_of({"type": "websocket", "scheme": "wss"}, Headers({}), trusted) == "https"


def test_hosts() -> None:
    assert refuse_host(["localhost:8000"], LOOPBACK_HOSTS) is None
    assert refuse_host(["[::1]:1"], LOOPBACK_HOSTS) is None
    assert refuse_host(["anything"], ("*",)) is None
    assert (refuse_host(["testserver"], LOOPBACK_HOSTS) or (0, ""))[0] == 421
    assert (refuse_host([], ("*",)) or (0, ""))[0] == 400
    assert (refuse_host(["localhost", "evil.example"], ("*",)) or (0, ""))[0] == 400


@pytest.mark.parametrize("site", ["cross-site", "same-site", "something-new", ""])
def test_foreign_pages_may_only_link_here(site: str) -> None:
    asked = {"sec-fetch-site": site}
    assert refuse_site("POST", Headers(asked)) is not None
    assert refuse_site("GET", Headers(asked | {"sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"})) is not None
    assert refuse_site("GET", Headers(asked | {"sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"})) is not None
    assert (
        refuse_site("POST", Headers(asked | {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"})) is not None
    )
    assert refuse_site("GET", Headers(asked | {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"})) is None


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_our_own_pages_and_the_user_may_do_all(site: str) -> None:
    assert refuse_site("POST", Headers({"sec-fetch-site": site})) is None
    assert refuse_site("POST", Headers({})) is None


def test_pages_have_a_policy_of_their_own_and_data_may_do_nothing() -> None:
    assert content_policy("/docs") == content_policy("/docs/start.js") == PAGE
    assert content_policy("/docsx") == content_policy("/") == content_policy("/collections/docs") == NOTHING
    assert "script-src 'self';" in PAGE


def test_origins_are_read_as_browsers_write_them() -> None:
    assert origin_of("https://A.example") == ("https", "a.example", 443)
    assert origin_of("http://a.example:0") == ("http", "a.example", 0)
    assert origin_of("null") is None
