"""Sources by REST: added, read, changed and removed; their secrets are shown nowhere."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from serving import Api, free_port, serving
from starlette.requests import Request

from cairn.connectors.seal_secrets import make_key
from cairn.interfaces.http.idempotency import HEADER, REPLAYED, fingerprint_of
from cairn.interfaces.http.policy import POLICIES, RoutePolicy
from tests.waiting import wait_until

SECRET = "corvid-lantern-8841"


@pytest.fixture(scope="module")
def place(
    fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Api, str, Path]]:
    """A server with a key for secrets, and an address where nobody listens."""
    port = free_port()
    hosts = {"allowedHosts": [f"127.0.0.1:{port}"], "privateNetworks": ["127.0.0.0/8"]}
    folder = tmp_path_factory.mktemp("sources")
    with serving(fresh_database(), folder, settings={"urls": hosts}, CAIRN_SECRETS_KEY=make_key()) as api:
        yield api, f"webdav://127.0.0.1:{port}/files", folder


def test_a_source_is_added_read_changed_and_removed_without_a_word_of_its_secret(
    place: tuple[Api, str, Path],
) -> None:
    api, address, folder = place
    wish = {"collection": "dav", "address": address, "options": {"username": "ada"}, "secrets": {"password": SECRET}}
    added = api.client.post("/sources", json=wish)
    assert added.status_code == 201, added.text
    source = added.json()
    assert (source["secrets"], source["prefix"], source["interval_seconds"]) == (["password"], "files", 3600)
    place_of = f"/sources/{source['id']}"
    assert added.headers["Location"] == place_of

    def failed() -> bool:
        return api.client.get(place_of).json()["last_error"] is not None

    wait_until(failed)
    answers = [added, api.client.post(f"{place_of}/sync", json={"retry_failed": True})]
    answers.append(api.client.patch(place_of, json={"secrets": {"password": SECRET + "2"}, "paused": True}))
    refused = api.client.post(f"{place_of}/sync", json={})
    assert refused.status_code == 409
    job = api.client.get(f"/jobs/{source['job_id']}")
    answers += [refused, job, *(api.client.get(path) for path in (place_of, "/sources", "/jobs", "/audit", "/metrics"))]
    answers.append(api.client.delete(place_of, params={"documents": "true"}))
    assert answers[-1].json() == {"documents_deleted": 0}
    assert api.client.get(place_of).status_code == 404
    assert [one.url for one in answers if SECRET in one.text or SECRET in str(one.headers)] == []
    assert SECRET not in (folder / "log").read_text()
    assert "source.add" in api.client.get("/audit").text


Psql = Callable[..., str]


def test_nobody_tries_passwords_on_what_is_kept_of_a_request(place: tuple[Api, str, Path], psql: Psql) -> None:
    """Under an Idempotency-Key: who has a backup knows all of the request but the secret."""
    api, address, _ = place
    wish = {"collection": "once", "address": f"{address}/once", "options": {"username": "ada"}}

    def post(password: str) -> httpx2.Response:
        body = json.dumps({**wish, "secrets": {"password": password}}).encode()
        sent.append(body)
        headers = {HEADER: "k-1", "Content-Type": "application/json"}
        return api.client.post("/sources", content=body, headers=headers)

    sent: list[bytes] = []
    added, again, other = post("summer"), post("summer"), post("winter")
    assert (added.status_code, again.json(), again.headers[REPLAYED]) == (201, added.json(), "true")
    assert (other.status_code, other.json()["code"]) == (422, "idempotency-key-reused")
    tried = hashlib.sha256()
    for part in (b"POST", b"/sources", b"", sent[0]):
        tried.update(len(part).to_bytes(8, "big") + part)
    kept = psql("SELECT encode(fingerprint, 'hex') FROM rag.idempotency_keys WHERE key = 'k-1'", api.database)
    assert len(kept.strip()) == 64
    assert kept.strip() != tried.hexdigest()
    api.client.delete(f"/sources/{added.json()['id']}", params={"documents": "true"})


@pytest.mark.parametrize("body", [b'{"address": "x", "secrets": {"password": "%s"}}', b'{"secrets": "%s"', b'["%s"]'])
async def test_without_a_key_no_secret_is_in_what_is_kept(body: bytes) -> None:
    async def kept(secret: bytes, policy: RoutePolicy) -> bytes:
        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body % secret, "more_body": False}

        scope = {"type": "http", "method": "POST", "path": "/sources", "query_string": b"", "headers": []}
        return await fingerprint_of(Request({**scope, "server": ("h", 80), "scheme": "http"}, receive), policy, None)

    sources = POLICIES["POST /sources"]
    assert await kept(b"summer", sources) == await kept(b"winter", sources)
    assert await kept(b"summer", POLICIES["POST /index"]) != await kept(b"winter", POLICIES["POST /index"])


@pytest.mark.parametrize(
    ("address", "more", "words"),
    [
        ("file:///srv/papers", {}, "command line"),
        ("/srv/papers", {}, "command line"),
        ("https://elsewhere.example/sitemap.xml", {}, "urls.allowedHosts"),
        ("gopher://example.org/", {}, "no source that Cairn reads"),
        ("https://[", {}, "is no address"),
        (None, {"secrets": {"token": "corvid\u00e9"}}, "secret token"),
        ("https://ada:corvid@127.0.0.1/", {}, "user name or password"),
        (None, {"interval_seconds": 5}, "60"),
        (None, {"secrets": {"colour": "blue"}}, "colour"),
    ],
)
def test_what_cannot_be_a_source_is_refused(
    place: tuple[Api, str, Path], address: str | None, more: dict[str, object], words: str
) -> None:
    api, allowed, _ = place
    answer = api.client.post("/sources", json={"collection": "dav", "address": address or allowed, **more})
    assert answer.status_code == 422, answer.text
    assert words in answer.text
