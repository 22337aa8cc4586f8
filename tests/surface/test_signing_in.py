"""Where tokens of an issuer count: signing in by what a browser sends, and the MCP SDK's own OAuth client, which is told nothing
but the address of /mcp."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest
from keyed import bearer
from scripted_issuer import ScriptedIssuer, scripted_issuer
from serving import Api, free_port, serving

from cairn.domain.sign_in import SignInAttempt
from tests.waiting import patience

METADATA = "/.well-known/oauth-protected-resource"
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


@pytest.fixture(scope="module")
def issuer() -> Iterator[ScriptedIssuer]:
    with scripted_issuer() as running:
        yield running


@pytest.fixture(autouse=True)
def behaves(issuer: ScriptedIssuer) -> None:
    issuer.behave()


@pytest.fixture(scope="module")
def guarded(
    fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Path, issuer: ScriptedIssuer
) -> Iterator[Api]:
    """Tokens count for the address of its /mcp; it trusts a proxy, and one of its tenants is being moved."""
    port = free_port()
    issuer.clients["page"] = "secret"
    issuer.redirects |= {f"{scheme}://127.0.0.1:{port}/session/oidc/callback" for scheme in ("http", "https")}
    folder = tmp_path_factory.mktemp("guarded")
    tenants = folder / "tenants.toml"
    tenants.write_text('[tenants]\ninitech = "moving"\n')
    own = {
        "CAIRN_AUTH": "keys", "CAIRN_MODEL_DIR": str(model), "CAIRN_OIDC_ISSUER": issuer.url,
        "CAIRN_OIDC_AUDIENCE": f"http://127.0.0.1:{port}/mcp", "CAIRN_OIDC_CLIENT_ID": "page",
        "CAIRN_OIDC_CLIENT_SECRET": "secret", "CAIRN_OIDC_SCOPES": "openid read ask",
        "CAIRN_TENANT_DATABASES": str(tenants),
    }  # fmt: skip
    settings = {"api": {"trustProxy": True}}
    with serving(fresh_database(), folder, page=True, port=port, settings=settings, **own) as running:
        yield running


@pytest.fixture
def browser(guarded: Api) -> Iterator[httpx2.Client]:
    """Cookies, and no redirect unseen."""
    with httpx2.Client(base_url=guarded.url, trust_env=False, verify=False, timeout=patience(20)) as client:
        yield client


@contextmanager
def changed_settings(api: Api, issuer: ScriptedIssuer, /, **sections: Any) -> Iterator[None]:
    """Within the block these sections are in force."""

    def revision() -> str:
        administrator = bearer(issuer.token(aud=f"{api.url}/mcp", scope="admin"))
        found: str = api.client.get("/health/ready", headers=administrator).json()["settings"]["revision"]
        return found

    before = revision()
    api.write_settings(json.dumps(json.loads(api.began_with) | sections))
    try:
        api.await_until(lambda: revision() != before)
        yield
    finally:
        api.restore_settings()
        api.await_until(lambda: revision() == before)


def sign_in(browser: httpx2.Client, begin: str = "/session/oidc", **brought: str) -> tuple[str, httpx2.Response]:
    """Where the page goes on in the end, and the answer that says so. `brought`: parameters that come back instead."""
    asked = browser.get(begin)
    assert asked.status_code == 303, asked.text
    back = urlsplit(browser.get(asked.headers["location"]).headers["location"])
    answer = browser.get(back.path, params=dict(parse_qsl(back.query)) | brought)
    return landing(answer), answer


def landing(answer: httpx2.Response) -> str:
    assert answer.status_code == 200, answer.text
    found = re.search(r'http-equiv="refresh" content="0;url=([^"]*)"', answer.text)
    assert found is not None, answer.text
    return found[1].replace("&amp;", "&")


def test_a_session_begins_with_a_cookie_for_the_page_alone_and_nothing_of_it_is_logged(
    guarded: Api, browser: httpx2.Client, issuer: ScriptedIssuer
) -> None:
    room, answer = sign_in(browser, "/session/oidc?room=documents%3Fcollection%3Dstones%26q%3D%22%3E")
    assert room == "/ui/documents?collection=stones&q=%22%3E"
    session, ended = answer.headers.get_list("set-cookie")
    assert session.startswith("cairn_key=ey")
    assert {"HttpOnly", "Path=/ui", "SameSite=strict"} <= set(session.split("; "))
    assert "Secure" not in session
    assert ended.startswith('cairn_sign_in=""; ')
    token = session.split(";")[0].removeprefix("cairn_key=")
    assert guarded.client.get("/collections", headers=bearer(token)).json()["items"] == []
    assert guarded.client.post("/index", json={}, headers=bearer(token)).status_code == 403, "asked for read and ask"
    for secret in (token, issuer.redeemed[-1]["code"], issuer.redeemed[-1]["code_verifier"]):
        assert secret not in guarded.log
        assert secret not in answer.text


def test_behind_a_proxy_that_speaks_tls_addresses_are_https_and_cookies_secure(browser: httpx2.Client) -> None:
    browser.headers["X-Forwarded-Proto"] = "https"
    asked = browser.get("/session/oidc")
    assert "redirect_uri=https%3A%2F%2F127.0.0.1" in asked.headers["location"]
    assert "Secure" in asked.headers["set-cookie"]
    assert browser.get(f"{METADATA}/mcp").json()["resource"].startswith("https://")


def test_a_proxy_that_is_not_trusted_makes_no_cookie_secure(guarded: Api, issuer: ScriptedIssuer) -> None:
    def begin_session() -> str:
        body = {"key": issuer.token(aud=f"{guarded.url}/mcp")}
        answer = guarded.client.post("/session", json=body, headers={"X-Forwarded-Proto": "https"})
        assert answer.status_code == 204, answer.text
        return answer.headers["set-cookie"]

    assert "Secure" in begin_session()
    with changed_settings(guarded, issuer, api={"trustProxy": False}):
        assert "Secure" not in begin_session()


@pytest.mark.parametrize(
    "room", ["//else.test", "https://else.test", "/else", "\\else", "a/../b", "javascript:1", "a" * 2000]
)
def test_the_way_back_leads_to_the_page_and_nowhere_else(browser: httpx2.Client, room: str) -> None:
    browser.get("/session/oidc", params={"room": room})
    came = browser.get("/session/oidc/callback", params={"state": "x", "code": "y"})
    assert re.fullmatch(r"/ui/[a-z]*\?sign_in=lost", landing(came)), landing(came)


@pytest.mark.parametrize(
    ("issuer_does", "brought", "reason"),
    [
        ({"denies": "access_denied"}, {}, "denied"),
        ({}, {"state": "another"}, "lost"),
        ({"identity": {"nonce": "another"}}, {}, "lost"),
        ({"access": {"exp": 1}}, {}, "clock"),
        ({"access": {"aud": "https://else.test"}}, {}, "audience"),
        ({"access": {"groups": ["group"] * 1000}}, {}, "too_long"),
        ({"access": {"tenant": "initech"}}, {}, "away"),
    ],
)
def test_who_is_not_signed_in_has_no_session_and_a_reason(
    browser: httpx2.Client, issuer: ScriptedIssuer, issuer_does: dict[str, Any], brought: dict[str, str], reason: str
) -> None:
    for name, value in issuer_does.items():
        setattr(issuer, name, value)
    room, answer = sign_in(browser, "/session/oidc?room=search", **brought)
    assert room == f"/ui/search?sign_in={reason}"
    assert "cairn_key" not in str(answer.headers.get_list("set-cookie"))
    assert browser.cookies.get("cairn_key") is None


def test_who_waits_for_the_issuer_takes_no_place_of_other_requests(guarded: Api, issuer: ScriptedIssuer) -> None:
    """Of these there is one."""
    stranger, before = SignInAttempt(), len(issuer.redeemed)
    cookie, made_up = f"cairn_sign_in={stranger.secret}.", {"state": stranger.state, "code": "made-up"}
    issuer.answers.clear()
    one = {"requests": 1, "requestsWaiting": 0}
    with changed_settings(guarded, issuer, admission=one), ThreadPoolExecutor(1) as others:
        try:
            coming = others.submit(
                guarded.client.get, "/session/oidc/callback", params=made_up, headers={"Cookie": cookie}
            )
            guarded.await_until(lambda: len(issuer.redeemed) > before)
            assert guarded.client.get("/collections").status_code == 401, "and not 503"
        finally:
            issuer.answers.set()
        assert landing(coming.result()).startswith("/ui/?sign_in=")


def test_a_host_that_is_no_host_goes_into_no_address(guarded: Api) -> None:
    for path in ("/session/oidc", METADATA, f"{METADATA}/mcp"):
        assert guarded.client.get(path, headers={"Host": 'else.test/"x'}).status_code == 422


# --- agents --------------------------------------------------------------------------------------------------------------


def test_a_refusal_of_mcp_leads_to_the_issuer(guarded: Api, issuer: ScriptedIssuer) -> None:
    for headers in ({}, bearer("a.b.c"), bearer(issuer.token(aud="https://else.test"))):
        refused = guarded.client.post("/mcp", json=CALL, headers=headers)
        assert refused.status_code == 401
        where = re.search(r'^Bearer .*, resource_metadata="([^"]+)"$', refused.headers["www-authenticate"])
        assert where is not None
        assert where[1] == f"{guarded.url}{METADATA}/mcp"
        assert ("invalid_token" in refused.headers["www-authenticate"]) == bool(headers)
    described = guarded.client.get(where[1]).json()
    assert described["resource"] == f"{guarded.url}/mcp"
    assert described["authorization_servers"] == [issuer.url]
    assert described["scopes_supported"] == ["read", "ask"]
    assert guarded.client.get(METADATA).json()["resource"] == guarded.url
    assert "resource_metadata" not in guarded.client.get("/collections").headers["www-authenticate"]


@pytest.mark.siege
async def test_the_sdk_signs_its_user_in_knowing_only_the_address(guarded: Api, issuer: ScriptedIssuer) -> None:
    from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
    from mcp.client.client import Client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared.auth import OAuthClientMetadata

    brought: dict[str, str] = {}

    async def visit(address: str) -> None:
        async with httpx2.AsyncClient(trust_env=False, verify=False, timeout=patience(20)) as person:
            answer = await person.get(address)
        brought.update(parse_qsl(urlsplit(answer.headers["location"]).query))

    async def come_back() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(code=brought["code"], state=brought["state"], iss=brought["iss"])

    metadata = OAuthClientMetadata.model_validate(
        {"client_name": "agent", "redirect_uris": ["http://127.0.0.1:1/back"]}
    )
    auth = OAuthClientProvider(f"{guarded.url}/mcp", metadata, _Kept(), visit, come_back)
    async with (
        httpx2.AsyncClient(auth=auth, trust_env=False, verify=False, timeout=patience(60)) as http,
        Client(streamable_http_client(f"{guarded.url}/mcp", http_client=http)) as client,
    ):
        offered = {tool.name for tool in (await client.list_tools()).tools}
        listed = await client.call_tool("list_collections", {})
    assert {"answer_research_question", "search_documents"} <= offered
    assert "index_document" not in offered, "the issuer granted read and ask"
    assert not listed.is_error
    assert issuer.redeemed[-1]["resource"] == f"{guarded.url}/mcp"


class _Kept:
    """What the SDK remembers of one user."""

    def __init__(self) -> None:
        self._tokens: Any = None
        self._client: Any = None

    async def get_tokens(self) -> Any:
        return self._tokens

    async def set_tokens(self, tokens: Any) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> Any:
        return self._client

    async def set_client_info(self, client_info: Any) -> None:
        self._client = client_info
