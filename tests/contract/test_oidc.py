"""Access tokens: what counts, what does not, and keys that rotate."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from scripted_issuer import AUDIENCE, ScriptedIssuer, private_key, public_jwk, scripted_issuer

from cairn.errors import IssuerUnavailableError, SettingsError, UnauthenticatedError
from cairn.providers import oidc
from cairn.providers.oidc import IssuerKeys
from cairn.settings import OidcIssuer, read_environment


@pytest.fixture
def issuer() -> Iterator[ScriptedIssuer]:
    with scripted_issuer() as running:
        yield running


@pytest.fixture
def reader(issuer: ScriptedIssuer) -> IssuerKeys:
    return IssuerKeys(OidcIssuer(issuer.url, (AUDIENCE,)))


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are fetched whenever one is unknown."""
    monkeypatch.setattr(oidc, "RETRY_SECONDS", 0.0)


async def test_a_token_names_tenant_caller_and_scopes(issuer: ScriptedIssuer, reader: IssuerKeys) -> None:
    made = time.time()
    claims = await reader.read(issuer.token(exp=int(made) + 600))
    assert (claims.tenant, claims.caller.id, claims.caller.scopes) == ("acme", "token:alice", {"read", "ask"})
    assert int(made) + 630 - time.time() <= claims.seconds_left <= int(made) + 630 - made
    other = await reader.read(issuer.token(tenant="umbrella", scope=["write", "all", 5]))
    assert (other.tenant, other.caller.scopes) == ("umbrella", {"write"})
    assert other.caller.key_id != claims.caller.key_id, "limits are counted apart"
    assert (await reader.read(issuer.token())).caller.key_id == claims.caller.key_id
    assert issuer.asked == 1


async def test_a_token_names_groups_in_the_claim_of_the_settings(issuer: ScriptedIssuer, reader: IssuerKeys) -> None:
    assert (await reader.read(issuer.token())).caller.groups == frozenset()
    claims = await reader.read(issuer.token(groups=["hr", 5, "", " x", "a\nb"], roles="board"))
    assert claims.caller.groups == {"hr"}
    assert set(claims.caller.names) == {"group:hr", "person:alice", "token:alice"}
    reader._issuer = replace(reader._issuer, groups_claim="roles")
    assert (await reader.read(issuer.token(groups=["hr"], roles="board"))).caller.groups == {"board"}


async def test_a_token_for_several_audiences_and_clocks_that_differ_a_little(
    issuer: ScriptedIssuer, reader: IssuerKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    await reader.read(issuer.token(aud=["https://else.test", AUDIENCE]))
    monkeypatch.setattr(oidc, "LEEWAY_SECONDS", 3600)  # this test may take longer than 30
    now = int(time.time())
    await reader.read(issuer.token(exp=now - 1800, iat=now + 1800, nbf=now + 1800))
    await reader.read(issuer.token(headers={"typ": "at+jwt"}))


def _segment(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def _hmac_with_public_key(issuer: ScriptedIssuer) -> str:
    """The classic: the published key as the secret of an HMAC."""
    public = private_key("one").public_key()
    pem = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    header, payload = _segment({"alg": "HS256", "kid": "one"}), _segment(issuer.claims())
    signature = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256).sign(
        f"{header}.{payload}".encode(), pem
    )
    return f"{header}.{payload}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


def _wrong_tokens(issuer: ScriptedIssuer) -> dict[str, str]:
    now = int(time.time())
    good = issuer.token()
    header, payload, signature = good.split(".")
    return {
        "none": f"{_segment({'alg': 'none'})}.{_segment(issuer.claims())}.",
        "none with the signature": f"{_segment({'alg': 'None', 'kid': 'one'})}.{payload}.{signature}",
        "hmac": _hmac_with_public_key(issuer),
        "another payload": f"{header}.{_segment(issuer.claims(tenant='umbrella'))}.{signature}",
        "no signature": f"{header}.{payload}.",
        "another key under this name": issuer.token("two", headers={"kid": "one"}),
        "a key of its own": issuer.token("two", headers={"kid": "one", "jwk": public_jwk("two")}),
        "an address of keys": issuer.token("two", headers={"kid": "two", "jku": f"{issuer.url}/mine"}),
        "unknown key": issuer.token("two"),
        "odd name of a key": issuer.token(headers={"kid": "../../one"}),
        "critical extension": issuer.token(headers={"crit": ["exp"]}),
        "an id token by its type": issuer.token(headers={"typ": "secevent+jwt"}),
        "expired": issuer.token(exp=now - 60),
        "not yet": issuer.token(nbf=now + 600),
        "another audience": issuer.token(aud="https://else.test"),
        "no audience": issuer.token(aud=None),
        "another issuer": issuer.token(iss="https://else.test"),
        "an issuer that begins so": issuer.token(iss=issuer.url + ".else.test"),
        "no issuer": issuer.token(iss=None),
        "never expires": issuer.token(exp=None),
        "expiry that is no number": issuer.token(exp="soon"),
        "expiry without end": issuer.token(exp=float("1e999")),
        "no subject": issuer.token(sub=None),
        "subject that is no text": issuer.token(sub=["alice"]),
        "no tenant": issuer.token(tenant=None),
        "empty tenant": issuer.token(tenant=""),
        "tenant that is no text": issuer.token(tenant={"name": "acme"}),
        "tenant with a zero": issuer.token(tenant="acme\x00"),
        "tenant with what is not seen": issuer.token(tenant="ac\u200bme"),
        "tenant that turns around": issuer.token(tenant="acme\u202e"),
        "tenant with blanks around": issuer.token(tenant=" acme"),
        "long tenant": issuer.token(tenant="a" * 300),
        "nothing": "..",
        "deep": f"{base64.urlsafe_b64encode(b'[' * 4000).decode()}.a.b",
        "not ASCII": "ä.ö.ü",
    }


async def test_wrong_tokens_are_refused_alike(issuer: ScriptedIssuer, reader: IssuerKeys) -> None:
    await reader.read(issuer.token())
    for name, token in _wrong_tokens(issuer).items():
        with pytest.raises(UnauthenticatedError) as refused:
            await reader.read(token)
        assert refused.value.detail == oidc.INVALID, name


async def test_keys_rotate(
    issuer: ScriptedIssuer, reader: IssuerKeys, eager: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    await reader.read(issuer.token("one"))
    issuer.keys = [public_jwk("one"), public_jwk("two")]
    await reader.read(issuer.token("two"))
    await reader.read(issuer.token("one"))
    issuer.keys = [public_jwk("two")]
    monkeypatch.setattr(oidc, "KEPT_SECONDS", -1.0)
    with pytest.raises(UnauthenticatedError):
        await reader.read(issuer.token("one"))


async def test_made_up_names_of_keys_do_not_make_us_ask(issuer: ScriptedIssuer, reader: IssuerKeys) -> None:
    for number in range(50):
        with pytest.raises(UnauthenticatedError):
            await reader.read(issuer.token(headers={"kid": f"made-up-{number}"}))
    assert issuer.asked == 1


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"keys": 5}', b'{"keys": [' + b" " * 300_000 + b"]}", b"[" * 100_000, b"\xff"]
)
async def test_an_issuer_that_misbehaves(
    issuer: ScriptedIssuer, reader: IssuerKeys, eager: None, monkeypatch: pytest.MonkeyPatch, body: bytes
) -> None:
    """What it said before counts for a while; without that nothing can be told, and nobody is let in."""
    issuer.body = body
    with pytest.raises(IssuerUnavailableError):
        await reader.read(issuer.token())
    issuer.body = None
    await reader.read(issuer.token())
    issuer.body = body
    monkeypatch.setattr(oidc, "KEPT_SECONDS", -1.0)
    await reader.read(issuer.token())
    monkeypatch.setattr(oidc, "STALE_SECONDS", -1.0)
    with pytest.raises(IssuerUnavailableError):
        await reader.read(issuer.token())


@pytest.mark.parametrize(
    "change", [{"kty": "oct", "k": "AAAA", "alg": "HS256"}, {"use": "enc"}, {"alg": "RS512"}, {"n": "AQAB"}, {"kty": 5}]
)
async def test_keys_that_are_for_something_else(
    issuer: ScriptedIssuer, reader: IssuerKeys, change: dict[str, Any]
) -> None:
    issuer.keys = [public_jwk("one") | change]
    with pytest.raises(UnauthenticatedError):
        await reader.read(issuer.token())


async def test_short_keys_are_refused(issuer: ScriptedIssuer, reader: IssuerKeys) -> None:
    issuer.keys = [public_jwk("short", 1024)]
    with pytest.raises(UnauthenticatedError):
        await reader.read(issuer.token("short", bits=1024))


def test_addresses_and_variables() -> None:
    for url in ("http://issuer.test", "ftp://127.0.0.1", "issuer.test", "", "https://"):
        with pytest.raises(SettingsError):
            IssuerKeys(OidcIssuer(url, (AUDIENCE,)))
    with pytest.raises(SettingsError):
        IssuerKeys(OidcIssuer("https://issuer.test", (AUDIENCE,), jwks_url="http://issuer.test/keys"))
    whole = {"CAIRN_AUTH": "keys", "CAIRN_OIDC_ISSUER": "https://issuer.test", "CAIRN_OIDC_AUDIENCE": AUDIENCE}
    assert read_environment(whole).oidc == OidcIssuer("https://issuer.test", (AUDIENCE,), name="issuer.test")
    for missing in whole:
        with pytest.raises(SettingsError):
            read_environment({name: value for name, value in whole.items() if name != missing})
    with pytest.raises(SettingsError):
        read_environment({"CAIRN_AUTH": "on"})
