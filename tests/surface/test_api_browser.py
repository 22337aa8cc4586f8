"""What a browser may do with a real server, for its own pages and for those of others."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from urllib.parse import urljoin

import pytest
from serving import Api
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}
JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/health/live", 200), ("GET", "/nowhere", 404), ("PUT", "/search", 405), ("POST", "/search", 415),
     ("GET", "/collections/none", 404), ("GET", "/openapi.json", 200), ("GET", "/docs", 200), ("GET", "/metrics", 200)],
)  # fmt: skip
def test_every_answer_has_the_headers(api: Api, method: str, path: str, status: int) -> None:
    answer = api.client.request(method, path)
    assert answer.status_code == status
    assert answer.headers.items() >= HEADERS.items()
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"]


def test_refusals_have_the_headers_too(api: Api) -> None:
    for headers, status in (({"Host": "evil.example"}, 421), ({"Origin": "null"}, 403)):
        answer = api.client.post("/search", content=b"{}", headers=JSON | headers)
        assert answer.status_code == status
        assert answer.headers.items() >= HEADERS.items()
    large = api.client.post("/search", content=b"x" * 65_000_000, headers=JSON)
    assert large.status_code == 413
    assert large.headers.items() >= HEADERS.items()


def test_other_containers_call_it_by_the_name_that_it_was_told(api: Api) -> None:
    for host, status in (("app:8000", 200), ("APP", 200), ("app.evil.example", 421), ("127.0.0.1:1", 200)):
        assert api.client.get("/collections", headers={"Host": host}).status_code == status, host


def test_the_port_and_the_scheme_of_an_origin_count(api: Api) -> None:
    own = {"Origin": api.url, "Sec-Fetch-Site": "same-origin"}
    assert api.client.post("/collections", json={"name": "own"}, headers=own).status_code == 201
    for origin in (f"http://127.0.0.1:{api.port + 1}", f"https://127.0.0.1:{api.port}", f"http://localhost:{api.port}"):
        answer = api.client.post("/collections", json={"name": "foreign"}, headers={"Origin": origin})
        assert (answer.status_code, answer.json()["code"]) == (403, "foreign-origin")
    site = {"Sec-Fetch-Site": "same-site"}  # another port of this machine; no Origin, as old browsers send forms
    assert api.client.delete("/collections/own", headers=site).status_code == 403
    assert api.client.get("/collections/foreign").status_code == 404
    assert api.client.get("/collections/own").status_code == 200


def test_images_and_frames_of_foreign_pages_get_nothing_but_links_are_followed(api: Api) -> None:
    image = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
    assert api.client.get("/collections", headers=image).status_code == 403
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert api.client.get("/docs", headers=link).status_code == 200


def test_sockets_of_foreign_pages_are_refused_with_the_headers(api: Api) -> None:
    address = f"ws://127.0.0.1:{api.port}/ws/runs/01932f4e-5c1a-7b3e-9f00-2b1c3d4e5f60"
    for origin in ("https://evil.example", f"http://127.0.0.1:{api.port + 1}", f"https://127.0.0.1:{api.port}"):
        with pytest.raises(InvalidStatus) as refused:
            connect(address, proxy=None, origin=origin)  # type: ignore[arg-type]
        assert refused.value.response.status_code == 403
        assert refused.value.response.headers["x-content-type-options"] == "nosniff"
    with connect(address, proxy=None, origin=api.url):  # type: ignore[arg-type]
        pass


def test_a_forwarded_scheme_counts_once_the_settings_trust_the_proxy(api: Api) -> None:
    sent = {"Origin": f"https://127.0.0.1:{api.port}", "X-Forwarded-Proto": "https"}
    body = {"name": "behind-a-proxy"}
    assert api.client.post("/collections", json=body, headers=sent).status_code == 403
    before = api.revision
    api.write_settings(json.dumps({"api": {"trustProxy": True}}))
    api.await_until(lambda: api.revision != before)
    assert api.client.post("/collections", json=body, headers=sent).status_code == 201
    api.restore_settings()
    api.await_until(lambda: api.revision == before)


def test_the_page_of_the_api_needs_nothing_that_its_policy_forbids(api: Api) -> None:
    answer = api.client.get("/docs")
    policy = answer.headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "http" not in policy
    assert not re.search(
        r"<script>|<script [^>]*>[^<]|\son\w+=|javascript:", answer.text
    )  # nothing that stands in the page
    files = re.findall(r'(?:src|href)="([^"]+)"', answer.text)
    assert len(files) == 4
    for file in files:
        assert "//" not in file
        found = api.client.get(urljoin("/docs", file))
        assert found.status_code == 200
        assert found.headers["content-type"].split(";")[0] in ("text/javascript", "text/css", "image/png")
    assert "openapi.json" in api.client.get("/docs/start.js").text


def test_nothing_is_redirected(api: Api) -> None:
    for path in ("/collections/", "/docs/", "//evil.example/collections"):
        answer = api.client.get(api.url + path, follow_redirects=False)
        assert (answer.status_code, answer.headers.get("location")) == (404, None)


def test_two_hosts_in_one_request_are_refused(api: Api) -> None:
    with socket.create_connection(("127.0.0.1", api.port)) as plain:
        plain.sendall(b"GET /collections HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")
        assert plain.makefile("rb").readline().startswith(b"HTTP/1.1 400")


# --- pages of origins that the settings name ------------------------------------------------------------------------------

APP = "https://app.example.org"
FOREIGN = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}


@pytest.fixture
def shared(api: Api) -> Iterator[Api]:
    """While pages of APP may ask."""
    before = api.revision
    api.write_settings(json.dumps({"api": {"allowedOrigins": [APP]}}))
    api.await_until(lambda: api.revision != before)
    api.index("shared", leave="Employees have 30 days of leave per year.")
    yield api
    api.restore_settings()
    api.await_until(lambda: api.revision == before)


def test_pages_of_a_named_origin_ask_and_read_answers_problems_and_streams(shared: Api) -> None:
    asked, sent = {"question": "How many days of leave?", "collection": "shared"}, {"Origin": APP, **FOREIGN}
    wanted = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,x-stainless-os"}
    preflight = shared.client.options("/query", headers={**sent, **wanted})
    assert (preflight.status_code, preflight.content) == (204, b"")
    assert "POST" in preflight.headers["access-control-allow-methods"]
    assert preflight.headers["access-control-allow-headers"] == "authorization, x-stainless-os"
    answers = [
        preflight, shared.client.post("/query", json=asked, headers=sent), shared.client.get("/collections/none", headers=sent),
        shared.client.post("/query", json={}, headers=sent), shared.client.get("/nowhere", headers=sent),
        shared.client.post("/query", json={**asked, "stream": True}, headers=sent),
    ]  # fmt: skip
    assert [answer.status_code for answer in answers] == [204, 200, 404, 422, 404, 200]
    for answer in answers:
        assert answer.headers["access-control-allow-origin"] == APP
        assert "X-Request-ID" in answer.headers["access-control-expose-headers"] or answer is preflight
        assert "access-control-allow-credentials" not in answer.headers
        assert "Origin" in answer.headers["vary"]
    assert "event: answer" in answers[-1].text


def test_pages_of_other_origins_are_refused_as_ever(shared: Api) -> None:
    for origin in ("https://evil.example", "http://app.example.org", f"{APP}:8443", "null"):
        sent = {"Origin": origin, **FOREIGN}
        for answer in (
            shared.client.post("/search", json={"query": "leave", "collection": "shared"}, headers=sent),
            shared.client.get("/collections", headers=sent),
            shared.client.options("/query", headers={**sent, "Access-Control-Request-Method": "POST"}),
        ):
            assert (answer.status_code, answer.json()["code"]) == (403, "foreign-origin")
            assert "access-control-allow-origin" not in answer.headers
    rebound = shared.client.get("/collections", headers={"Origin": APP, **FOREIGN, "Host": "evil.example"})
    assert rebound.status_code == 421
    image = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
    assert shared.client.get("/collections", headers=image).status_code == 403
    assert shared.client.get("/collections").headers["vary"] == "Origin", (
        "what a cache keeps of one it gives to no other"
    )


def test_an_origin_that_is_none_leaves_the_settings_in_force_and_says_why(api: Api) -> None:
    before = api.revision
    api.write_settings(json.dumps({"api": {"allowedOrigins": ["*"]}}))
    api.await_until(lambda: "name each origin" in api.client.get("/health/ready").text)
    assert api.revision == before
    api.restore_settings()
    api.await_until(lambda: "name each origin" not in api.client.get("/health/ready").text)
