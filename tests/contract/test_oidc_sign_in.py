"""Signing in at an issuer, from the address where it begins to the access token, and all that can go wrong on the way."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest
from scripted_issuer import AUDIENCE, ScriptedIssuer, public_jwk, scripted_issuer

from cairn.domain.sign_in import SignInAttempt
from cairn.errors import IssuerUnavailableError, SettingsError, SignInError
from cairn.providers import oidc, oidc_sign_in
from cairn.providers.oidc import IssuerKeys
from cairn.providers.oidc_sign_in import IssuerCodeFlow
from cairn.settings import OidcIssuer, read_environment
from tests.waiting import hang_guard, patience, until

CALLBACK = "http://127.0.0.1:8000/session/oidc/callback"


@pytest.fixture
def issuer(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedIssuer]:
    monkeypatch.setattr(oidc, "RETRY_SECONDS", 0.0)
    with scripted_issuer() as running:
        running.clients["page"] = None
        running.redirects.add(CALLBACK)
        yield running


def flow_of(issuer: ScriptedIssuer, **more: Any) -> IssuerCodeFlow:
    configured = OidcIssuer(issuer.url, (AUDIENCE, "also"), client_id="page", scopes=("openid", "read"), **more)
    return IssuerCodeFlow(configured, IssuerKeys(configured))


async def come_back(flow: IssuerCodeFlow, attempt: SignInAttempt) -> dict[str, str]:
    """What the reader brings from the issuer."""
    address = await flow.begin(attempt, CALLBACK)
    async with httpx2.AsyncClient(trust_env=False, verify=False, timeout=patience(10)) as client:
        answer = await client.get(address)
    assert answer.status_code == 302, answer.text
    return dict(parse_qsl(urlsplit(answer.headers["location"]).query))


async def test_a_code_becomes_an_access_token_once(issuer: ScriptedIssuer) -> None:
    flow, attempt = flow_of(issuer), SignInAttempt()
    asked = dict(parse_qsl(urlsplit(await flow.begin(attempt, CALLBACK)).query))
    assert asked["scope"] == "openid read"
    assert asked["resource"] == AUDIENCE
    assert len({attempt.secret, attempt.state, attempt.nonce, attempt.verifier, attempt.challenge}) == 5
    assert attempt.secret not in str(asked)
    assert attempt.verifier not in str(asked)
    brought = await come_back(flow, attempt)
    token = await flow.complete(attempt, CALLBACK, brought)
    claims = await flow._keys.read(token)
    assert (claims.tenant, claims.caller.scopes) == ("acme", {"read"})
    with pytest.raises(SignInError) as again:
        await flow.complete(attempt, CALLBACK, brought)
    assert again.value.reason == "lost"


@pytest.mark.parametrize("posted", [False, True])
async def test_a_client_with_a_secret_shows_it_as_the_issuer_wants(issuer: ScriptedIssuer, posted: bool) -> None:
    issuer.clients["page"] = secret = "ä +/%:"
    if posted:
        issuer.document["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
    flow, attempt = flow_of(issuer, client_secret=secret), SignInAttempt()
    await flow.complete(attempt, CALLBACK, await come_back(flow, attempt))
    assert ("client_secret" in issuer.redeemed[0]) == posted
    other = flow_of(issuer, client_secret="another")
    with pytest.raises(SignInError) as refused:
        await other.complete(attempt, CALLBACK, await come_back(other, attempt))
    assert refused.value.reason == "misconfigured"
    assert secret not in repr(OidcIssuer(issuer.url, (AUDIENCE,), client_secret=secret))


@pytest.mark.parametrize(
    ("where", "wrong", "reason"),
    [
        ("brought", {"state": "another"}, "lost"),
        ("brought", {"state": ""}, "lost"),
        ("brought", {"code": ""}, "lost"),
        ("brought", {"code": "made-up"}, "lost"),
        ("brought", {"iss": "https://else.test"}, "misconfigured"),
        ("brought", {"error": "access_denied"}, "denied"),
        ("brought", {"error": "temporarily_unavailable"}, "unavailable"),
        ("brought", {"error": "invalid_scope"}, "misconfigured"),
        ("identity", {"nonce": "another"}, "lost"),
        ("identity", {"nonce": None}, "lost"),
        ("identity", {"aud": "another-client"}, "misconfigured"),
        ("identity", {"aud": ["page", "other"], "azp": "other"}, "misconfigured"),
        ("identity", {"iss": "https://else.test"}, "misconfigured"),
        ("identity", {"exp": -60}, "clock"),
        ("identity", {"iat": 3600, "exp": 7200}, "clock"),
        ("access", {"aud": "https://else.test"}, "audience"),
        ("access", {"aud": "page"}, "audience"),
        ("access", {"exp": -60}, "clock"),
        ("access", {"tenant": None}, "account"),
        ("key", "unpublished", "misconfigured"),
    ],
)  # fmt: skip
async def test_what_is_wrong_signs_nobody_in_and_has_a_sentence(
    issuer: ScriptedIssuer, where: str, wrong: Any, reason: str
) -> None:
    """In what the reader brings back, or in what the issuer gives for it; times are seconds from now."""
    flow, attempt = flow_of(issuer), SignInAttempt()
    brought = await come_back(flow, attempt)
    if where == "brought":
        brought.update(wrong)
    elif where == "key":
        issuer.key = wrong
    else:
        now = int(time.time())
        claims = {name: now + value if isinstance(value, int) else value for name, value in wrong.items()}
        setattr(issuer, where, claims)
    with pytest.raises(SignInError) as failed:
        await flow.complete(attempt, CALLBACK, brought)
    assert failed.value.reason == reason


async def test_an_attempt_of_another_browser_does_not_count_and_neither_does_none(issuer: ScriptedIssuer) -> None:
    flow, attempt = flow_of(issuer), SignInAttempt()
    brought = await come_back(flow, attempt)
    for other in (SignInAttempt(), SignInAttempt(""), SignInAttempt("short")):
        with pytest.raises(SignInError) as failed:
            await flow.complete(
                other, CALLBACK, brought | {"state": other.state} if len(other.secret) < 43 else brought
            )
        assert failed.value.reason == "lost"
    assert not issuer.redeemed


async def test_few_ask_the_issuer_at_once_and_one_more_is_told_so_without_waiting(
    issuer: ScriptedIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody can make up a secret, the state that follows from it, and a code."""
    for module in (oidc, oidc_sign_in):
        monkeypatch.setattr(module, "FETCH_SECONDS", patience(60))
    flow, stranger = flow_of(issuer), SignInAttempt("a" * 43)
    made_up = {"state": stranger.state, "code": "made-up"}
    issuer.answers.clear()
    waiting = [asyncio.create_task(flow.complete(stranger, CALLBACK, made_up)) for _ in range(8)]
    try:
        await until(lambda: len(issuer.redeemed) == 8)
        for one_more in (flow.complete(stranger, CALLBACK, made_up), flow.begin(SignInAttempt(), CALLBACK)):
            with pytest.raises(SignInError) as refused:
                async with hang_guard():
                    await one_more
            assert refused.value.reason == "unavailable"
    finally:
        issuer.answers.set()
    told = await asyncio.gather(*waiting, return_exceptions=True)
    assert [getattr(error, "reason", error) for error in told] == ["lost"] * 8
    assert len(issuer.redeemed) == 8
    attempt = SignInAttempt()
    await flow.complete(attempt, CALLBACK, await come_back(flow, attempt))


async def test_keys_rotate_between_two_who_sign_in(issuer: ScriptedIssuer) -> None:
    flow = flow_of(issuer)
    for issuer.key in ("one", "two"):
        issuer.keys = [public_jwk(issuer.key)]
        attempt = SignInAttempt()
        await flow.complete(attempt, CALLBACK, await come_back(flow, attempt))
    assert issuer.asked == 2


async def test_an_issuer_that_is_away_or_names_unsafe_addresses(issuer: ScriptedIssuer) -> None:
    issuer.document["authorization_endpoint"] = "http://else.test/authorize"
    with pytest.raises(SignInError):
        await flow_of(issuer).begin(SignInAttempt(), CALLBACK)
    issuer.status = 503
    with pytest.raises(IssuerUnavailableError):
        await flow_of(issuer).begin(SignInAttempt(), CALLBACK)
    issuer.status, issuer.document = 200, {}
    flow, attempt = flow_of(issuer), SignInAttempt()
    brought = await come_back(flow, attempt)
    issuer.document["token_endpoint"] = f"{issuer.url}/nowhere"
    flow._keys._document.value = {**flow._keys._document.value, **issuer.document}
    with pytest.raises(SignInError) as failed:
        await flow.complete(attempt, CALLBACK, brought)
    assert failed.value.reason == "unavailable"


def test_variables() -> None:
    whole = {
        "CAIRN_AUTH": "keys", "CAIRN_OIDC_ISSUER": "https://id.test/acme", "CAIRN_OIDC_AUDIENCE": "a, b",
        "CAIRN_OIDC_CLIENT_ID": "page",
    }  # fmt: skip
    found = read_environment(whole).oidc
    assert found is not None
    assert (found.audiences, found.client_id, found.client_secret) == (("a", "b"), "page", None)
    assert (found.name, found.scopes) == ("id.test", ("openid",))
    more = {"CAIRN_OIDC_NAME": "Acme", "CAIRN_OIDC_SCOPES": "read openid ask", "CAIRN_OIDC_CLIENT_SECRET": "s"}
    found = read_environment(whole | more).oidc
    assert found is not None
    assert (found.name, found.scopes, found.client_secret) == ("Acme", ("openid", "read", "ask"), "s")
    for missing in ("CAIRN_OIDC_CLIENT_ID", "CAIRN_OIDC_ISSUER", "CAIRN_OIDC_AUDIENCE"):
        with pytest.raises(SettingsError):
            read_environment({name: value for name, value in (whole | more).items() if name != missing})
