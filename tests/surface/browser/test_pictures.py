"""The pictures of the README and the site: Cairn's own guides, one of them as a PDF, asked and searched."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from serving import Api

from cairn.interfaces.web.prose import render

GUIDES = Path(__file__).resolve().parents[3] / "docs"

pytestmark = pytest.mark.siege


def test_pictures_of_the_readme(api: Api, tab: Page, shoot: Callable[[Page, str], None]) -> None:
    """What `make screenshots` keeps in docs/images."""
    names = ("operations", "security", "production", "agents", "formats")
    api.index("guides", **{name: (GUIDES / f"{name}.md").read_text(encoding="utf-8") for name in names})
    tab.set_content(f"<title>Models</title>{render((GUIDES / 'models.md').read_text(encoding='utf-8'))}")
    files = {"files": ("models.pdf", tab.pdf(), "application/pdf")}
    stored = api.client.post("/collections/guides/documents", params={"wait": "true"}, files=files)
    assert stored.status_code < 300, stored.text

    tab.goto(f"{api.url}/ui/?collection=guides")
    questions = (
        "Which exit code says that the database is newer than the code?",
        "How long does a transaction wait for a lock?",
        "Who won the World Cup in 1998?",
    )
    for number, question in enumerate(questions):
        expect(tab.get_by_role("button", name="Ask", exact=True)).to_be_visible()
        box = tab.get_by_role("textbox", name="Ask your documents")
        box.fill(question)
        box.press("Enter")
        expect(tab.locator(".answer")).to_have_count(number + 1)
    expect(tab.locator(".answer").first).to_contain_text("exit code 3")
    expect(tab.locator(".answer").nth(1)).to_contain_text("20 s")
    expect(tab.get_by_text("Not found in these documents")).to_be_visible()
    tab.wait_for_timeout(1000)  # it glides to the newest answer
    tab.evaluate("window.scrollTo(0, 0)")
    shoot(tab, "ask")

    tab.goto(f"{api.url}/ui/search?collection=guides&q=rows+that+trained+the+reader")
    expect(tab.locator("mark").first).to_be_visible()
    shoot(tab, "search")

    found = api.client.get("/collections/guides/documents", params={"limit": 50}).json()["items"]
    (paper,) = [one for one in found if re.search("models.pdf", one["external_id"])]
    tab.goto(f"{api.url}/ui/documents?collection=guides&document={paper['id']}&start=40&end=150")
    expect(tab.locator(".viewer .spot").first).to_be_visible()
    shoot(tab, "page")
