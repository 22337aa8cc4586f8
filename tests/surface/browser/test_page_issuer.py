"""Signing in at an issuer, as a reader does it: another site, a click there, and back to the room where it began."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from scripted_issuer import AUDIENCE, ScriptedIssuer, scripted_issuer
from serving import Api, free_port, serving

from cairn.providers.oidc import LEEWAY_SECONDS

pytestmark = pytest.mark.siege

Shoot = Callable[[Page, str], None]


@pytest.fixture(scope="module")
def issuer() -> Iterator[ScriptedIssuer]:
    with scripted_issuer("localhost") as running:  # for cookies another site than 127.0.0.1
        yield running


@pytest.fixture(scope="module")
def guarded(
    fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Path, issuer: ScriptedIssuer
) -> Iterator[Api]:
    """A server where people sign in with "Acme"; it is a public client there."""
    port = free_port()
    issuer.clients["page"] = None
    issuer.redirects.add(f"http://127.0.0.1:{port}/session/oidc/callback")
    own = {
        "CAIRN_AUTH": "keys", "CAIRN_MODEL_DIR": str(model), "CAIRN_OIDC_ISSUER": issuer.url, "CAIRN_OIDC_NAME": "Acme",
        "CAIRN_OIDC_AUDIENCE": AUDIENCE, "CAIRN_OIDC_CLIENT_ID": "page", "CAIRN_OIDC_SCOPES": "read ask",
    }  # fmt: skip
    with serving(fresh_database(), tmp_path_factory.mktemp("guarded"), page=True, port=port, **own) as running:
        yield running


def test_a_reader_is_refused_then_signs_in_comes_back_to_the_room_and_signs_out(
    guarded: Api, issuer: ScriptedIssuer, tab: Page, shoot: Shoot
) -> None:
    issuer.asks = True
    tab.goto(f"{guarded.url}/ui/documents?collection=stones")
    there = tab.get_by_role("link", name="Sign in with Acme")
    expect(tab.get_by_role("textbox", name="Key")).to_be_visible()
    expect(tab.get_by_role("alert")).to_have_count(0)
    there.click()
    expect(tab.get_by_text("Hello Alice")).to_be_visible()
    tab.get_by_role("link", name="Deny").click()
    expect(tab.get_by_role("alert")).to_contain_text("Acme did not let you in.")
    shoot(tab, "sign-in-issuer")
    there.click()
    tab.get_by_role("link", name="Allow").click()
    expect(tab).to_have_title("Documents · Cairn")
    expect(tab).to_have_url(re.compile(r"/ui/documents\?collection=stones$"))
    assert tab.evaluate("document.cookie") == "", "scripts cannot read the session"
    tab.get_by_role("button", name="Sign out").click()
    expect(tab).to_have_title("Sign in · Cairn")
    expect(tab.get_by_role("alert")).to_have_count(0)


def test_a_session_ends_with_its_token_and_says_so(guarded: Api, issuer: ScriptedIssuer, tab: Page) -> None:
    """Whenever that is: while the page is sent or the browser connects, or later. The reader sees the same."""
    soon = int(time.time()) - LEEWAY_SECONDS + 3
    session = {"name": "cairn_key", "value": issuer.token(exp=soon), "domain": "127.0.0.1", "path": "/ui"}
    tab.context.add_cookies([session])  # type: ignore[list-item]
    tab.goto(f"{guarded.url}/ui/search")
    expect(tab.get_by_role("alert")).to_contain_text("Your session has ended.")
    expect(tab.get_by_role("link", name="Sign in with Acme")).to_be_visible()
