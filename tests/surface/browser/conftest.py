"""A real Chromium (Debian's, or what CAIRN_CHROMIUM names) on a real server. CAIRN_SCREENSHOTS: where pictures go."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from serving import Api, serving

from tests.waiting import patience

CHROMIUM = os.environ.get("CAIRN_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
SCREENSHOTS = os.environ.get("CAIRN_SCREENSHOTS")  # now: tests begin without variables of CAIRN
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--js-flags=--no-opt --no-maglev",  # a tab is closed before what optimizing saves has paid for it: a tenth of Chromium's time
    "--process-per-site",  # with `_keep_process` a quarter of a visit
]  # fmt: skip
KEPT = "http://127.0.0.1/kept"


@pytest.fixture(scope="package")  # Playwright keeps an event loop in the thread: no test outside may meet it
def chromium() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium: the pages were not tested (apt install chromium, or set CAIRN_CHROMIUM)")
    expect.set_options(timeout=1000 * patience())  # Playwright's own 5 s are for machines that do nothing else
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def look() -> dict[str, Any]:
    """Of the tabs of a module."""
    return {"viewport": {"width": 1280, "height": 800}, "locale": "en-US"}


@pytest.fixture(scope="module")
def visit(chromium: Browser, look: dict[str, Any]) -> Iterator[BrowserContext]:
    """What the tabs of a module have in common: what was fetched once is not fetched and compiled again."""
    context = chromium.new_context(**look)
    context.set_default_timeout(1000 * patience())
    _keep_process(context)
    yield context
    context.close()


def _keep_process(context: BrowserContext) -> None:
    """A tab that stays, empty and of the site of our servers: the process that draws for the site does not end with each tab."""
    page = context.new_page()
    page.route(KEPT, lambda route: route.fulfill(body="", content_type="text/html"))
    page.goto(KEPT)


@pytest.fixture
def tab(visit: BrowserContext) -> Iterator[Page]:
    """A new tab of 1280 x 800, in English, of somebody who was never there. What fails in it fails the test: errors of scripts,
    requests to other hosts."""
    page = visit.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(f"script: {error}"))
    page.on("request", lambda request: _note_foreign(request.url, wrong))
    page.on("console", lambda line: wrong.append(line.text) if "Content Security Policy" in line.text else None)
    yield page
    for opened in [one for one in visit.pages if one.url != KEPT]:
        if opened.url.startswith("http"):
            opened.evaluate("localStorage.clear()")
        opened.close()
    visit.clear_cookies()
    assert not wrong, wrong


def _note_foreign(url: str, wrong: list[str]) -> None:
    if not url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "http://localhost:", "data:", "blob:")):
        wrong.append(f"asked another host: {url}")


@pytest.fixture(scope="module")
def api(fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Path) -> Iterator[Api]:
    """A serving process with the page, its worker and the real model, without a chat model."""
    with serving(fresh_database(), tmp_path_factory.mktemp("api"), page=True, CAIRN_MODEL_DIR=str(model)) as running:
        yield running


_STILL = """Promise.all(document.getAnimations().filter(one => one.effect.getComputedTiming().iterations !== Infinity)
  .map(one => one.finished.catch(() => null)))"""
"""What fades in has done so."""


@pytest.fixture
def shoot() -> Callable[[Page, str], None]:
    """Keep a picture of the tab under a name, where somebody wants to look at them."""

    def keep(page: Page, name: str) -> None:
        if SCREENSHOTS:
            page.evaluate(_STILL)
            Path(SCREENSHOTS).mkdir(parents=True, exist_ok=True)
            page.screenshot(path=str(Path(SCREENSHOTS) / f"{name}.png"))

    return keep
