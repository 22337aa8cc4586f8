"""The widget in a page of another origin: what its readers see, reach by the keyboard and hear, with a key that may only ask."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from keyed import bearer, make_keys
from playwright.sync_api import Page, expect
from scripted_replies import LASTING, Reply
from scripted_server import ScriptedServer
from serving import Api, serving

LEAVE = "# Leave\n\nEmployees have 30 days of leave per year. A manager approves leave.\n"
QUESTION = "How many days of leave do employees have?"
SAID = "Employees have 30 days of leave per year [1]."
WRITTEN_SLOWLY = Reply("drip", text=f"{SAID} {LASTING.text}")
GROUND = "one => getComputedStyle(one).backgroundColor"
DARK, LIGHT = "rgb(22, 27, 25)", "rgb(255, 255, 255)"
LARGEST = 40_000
"""Bytes of the script."""


@dataclass
class Site:
    """Pages of another origin."""

    folder: Path
    server: ThreadingHTTPServer

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def write(self, cairn: str, **attributes: str) -> str:
        """The address of a page with the widget in it. By the page's own rules no style may stand in it, and no script but
        Cairn's runs."""
        told = " ".join(f'data-{name}="{value}"' for name, value in {"collection": "handbook", **attributes}.items())
        policy = f"default-src 'none'; script-src {cairn}; connect-src {cairn}; img-src data:"
        name = f"{uuid4().hex}.html"
        (self.folder / name).write_text(
            f'<!doctype html><html lang="en"><meta http-equiv="Content-Security-Policy" content="{policy}">'
            '<title>Intranet</title><link rel="icon" href="data:,"><h1>Intranet</h1>'
            f'<script src="{cairn}/widget.js" {told}></script>'
        )
        return f"{self.origin}/{name}"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving_pages(folder: Path) -> Iterator[Site]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Site(folder, server)
        server.shutdown()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serving_pages(tmp_path_factory.mktemp("site")) as running:
        yield running


@pytest.fixture(scope="module")
def chat() -> Iterator[ScriptedServer]:
    with ScriptedServer(answer=lambda _: SAID) as running:
        yield running


@pytest.fixture(scope="module")
def cairn(
    fresh_database: Callable[[], str],
    tmp_path_factory: pytest.TempPathFactory,
    model: Path,
    site: Site,
    chat: ScriptedServer,
) -> Iterator[tuple[Api, str]]:
    """A server that asks for keys, shares with the other origin and has a chat model; and a key that may only ask."""
    dsn, folder = fresh_database(), tmp_path_factory.mktemp("cairn")
    keys = make_keys(dsn, str(folder / "keys"))
    own = {"api": {"allowedOrigins": [site.origin]}, "answer": {"timeoutSeconds": 600, "maxOutputTokens": 40_000}}
    process = {"CAIRN_AUTH": "keys", "CAIRN_MODEL_DIR": str(model), "OPENAI_BASE_URL": chat.openai_url}
    with serving(dsn, folder / "api", settings=own, **process) as api:
        made = api.client.post("/keys", json={"name": "site", "scopes": ["ask"]}, headers=bearer(keys.victim))
        assert made.status_code == 201, made.text
        body = {"collection": "handbook", "documents": [{"external_id": "leave.md", "title": "Leave", "text": LEAVE}]}
        assert api.client.post("/index", json=body, headers=bearer(keys.victim)).status_code == 200
        yield api, made.json()["key"]


@pytest.fixture(scope="module")
def look() -> dict[str, Any]:
    return {"viewport": {"width": 1000, "height": 800}, "locale": "en-US", "color_scheme": "dark"}


def opened(tab: Page, site: Site, api: Api, **attributes: str) -> None:
    """The tab, on a page of the other origin."""
    tab.goto(site.write(api.url, **attributes))


def test_a_reader_asks_by_the_keyboard_and_opens_what_is_cited(
    cairn: tuple[Api, str], site: Site, tab: Page, shoot: Callable[[Page, str], None]
) -> None:
    api, key = cairn
    opened(tab, site, api, key=key)
    region = tab.get_by_role("region", name="Ask the documents")
    field = region.get_by_role("textbox", name="Your question")
    tab.keyboard.press("Tab")
    expect(field).to_be_focused()
    field.fill(QUESTION)
    tab.keyboard.press("Enter")
    expect(region.get_by_role("status")).to_have_text("Answered.")
    answer = region.locator(".answer")
    expect(answer).to_contain_text("30 days of leave per year")
    expect(answer).to_have_attribute("aria-busy", "false")
    quotation = region.locator("blockquote mark")
    expect(quotation).to_be_hidden()
    region.get_by_role("button", name="Open source 1").press("Enter")
    expect(quotation).to_have_text("Employees have 30 days of leave per year.")
    assert region.evaluate("one => one.getRootNode().activeElement.tagName") == "SUMMARY"
    assert region.evaluate(GROUND) == DARK, "as its reader's system"
    shoot(tab, "widget-dark")
    assert tab.context.cookies() == []
    assert tab.evaluate("localStorage.length + sessionStorage.length") == 0


@pytest.mark.siege
def test_an_answer_is_shown_as_it_is_written_and_its_reader_stops_it(
    cairn: tuple[Api, str], site: Site, tab: Page, chat: ScriptedServer
) -> None:
    api, key = cairn
    opened(tab, site, api, key=key)
    chat.streams = WRITTEN_SLOWLY
    tab.get_by_role("textbox").fill(QUESTION)
    tab.get_by_role("textbox").press("Enter")
    expect(tab.locator(".answer")).to_contain_text("Employees have")
    expect(tab.locator(".answer")).to_have_attribute("aria-busy", "true")
    expect(tab.get_by_role("status")).not_to_have_text("Searching …")  # what it does, as the server says in English
    tab.get_by_role("button", name="Stop").press("Escape")
    expect(tab.get_by_role("status")).to_have_text("Stopped.")
    expect(tab.get_by_role("button", name="Stop")).to_be_hidden()
    chat.streams = None
    tab.get_by_role("button", name="Ask").click()
    expect(tab.get_by_role("status")).to_have_text("Answered.")
    expect(tab.locator(".answer")).to_have_text(SAID)


@pytest.mark.siege
def test_its_page_says_its_title_theme_and_language_and_all_that_is_told_is_in_that(
    cairn: tuple[Api, str], site: Site, tab: Page, chat: ScriptedServer
) -> None:
    api, key = cairn
    opened(tab, site, api, key=key, title="Handbuch", lang="de", theme="light")
    region = tab.get_by_role("region", name="Handbuch")
    assert region.evaluate(GROUND) == LIGHT, "though its reader's system is dark"
    chat.streams = WRITTEN_SLOWLY
    region.get_by_role("textbox", name="Ihre Frage").fill(QUESTION)
    region.get_by_role("button", name="Fragen").click()
    expect(region.locator(".answer")).to_contain_text("Employees have")
    expect(region.get_by_role("status")).to_have_text("Suche läuft …")
    region.get_by_role("button", name="Anhalten").click()
    expect(region.get_by_role("status")).to_have_text("Angehalten.")
    chat.streams = None


@pytest.mark.siege
def test_what_fails_is_said_in_the_readers_language_and_what_the_server_says_behind_it(
    cairn: tuple[Api, str], site: Site, tab: Page
) -> None:
    tab.emulate_media(color_scheme="light")
    opened(tab, site, cairn[0], theme="dark")
    assert tab.get_by_role("region").evaluate(GROUND) == DARK, "as its page wants"
    tab.get_by_role("textbox").fill(QUESTION)
    tab.get_by_role("button", name="Ask").click()
    expect(tab.get_by_role("status")).to_have_text(
        re.compile(r"^This page may not ask here\. \(this needs a key: .+\)$")
    )
    opened(tab, site, cairn[0], lang="fr", key=cairn[1], collection="nowhere")
    tab.get_by_role("textbox").fill(QUESTION)
    tab.get_by_role("button", name="Demander").click()
    expect(tab.get_by_role("status")).to_have_text(
        re.compile(r"^Ce qui est interrogé ici n’existe pas\. \(.*nowhere.*\)$")
    )


def test_a_page_that_is_not_named_gets_the_script_and_no_answer(
    cairn: tuple[Api, str], tab: Page, tmp_path: Path
) -> None:
    api, key = cairn
    with serving_pages(tmp_path) as other:
        opened(tab, other, api, key=key)
        tab.get_by_role("textbox").fill(QUESTION)
        tab.get_by_role("button", name="Ask").click()
        expect(tab.get_by_role("status")).to_have_text(
            re.compile(r"^The server cannot be reached\. \(no answer from the server.*\)$")
        )


def test_the_script_is_small_and_anybody_may_load_it(cairn: tuple[Api, str]) -> None:
    foreign = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}
    loaded = cairn[0].client.get("/widget.js", headers=foreign)
    assert (loaded.status_code, loaded.headers["content-type"].split(";")[0]) == (200, "text/javascript")
    assert loaded.headers["cross-origin-resource-policy"] == "cross-origin"
    assert "max-age" in loaded.headers["cache-control"]
    assert len(loaded.content) < LARGEST
    assert cairn[0].client.get("/openapi.json", headers=foreign).status_code == 403
