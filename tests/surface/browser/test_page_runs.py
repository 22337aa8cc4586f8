"""The room of runs: a question and a search are listed, filtered, and shown step by step."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect
from serving import Api

Shoot = Callable[[Page, str], None]


def test_a_run_step_by_step(api: Api, tab: Page, shoot: Shoot) -> None:
    tab.goto(f"{api.url}/ui/runs")
    expect(tab.get_by_text("No runs here")).to_be_visible()
    api.index("handbook", leave="Employees have 30 days of leave per year.", lift="The lift is closed on Mondays.")
    asked = api.client.post("/query", json={"question": "How many days of leave?", "collection": "handbook"})
    assert asked.status_code == 200, asked.text
    api.client.post("/search", json={"query": "closed lift", "collection": "handbook"})
    tab.reload()
    rows = tab.get_by_role("listitem")
    expect(rows).to_have_count(2)
    shoot(tab, "runs")
    tab.get_by_label("Question contains").fill("leave")
    expect(rows).to_have_count(1)
    rows.get_by_role("link", name="How many days of leave?").click()
    expect(tab.get_by_role("heading", name="How many days of leave?")).to_be_visible()
    expect(tab.get_by_text("30 days of leave").first).to_be_visible()
    expect(tab.get_by_text("No chat model was called.")).to_be_visible()
    shoot(tab, "run")
    tab.get_by_text("Legs side by side").click()
    expect(tab.get_by_text("vector (")).to_be_visible()
    tab.set_viewport_size({"width": 400, "height": 800})
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400, "nothing has to be scrolled sideways"
    shoot(tab, "run-narrow")
    tab.get_by_label("Open source 1").click()
    expect(tab.locator(".viewer mark")).to_contain_text("30 days")


def test_what_is_no_run(api: Api, tab: Page) -> None:
    tab.goto(f"{api.url}/ui/runs?run=nothing")
    expect(tab.get_by_text("nothing is no id of a run")).to_be_visible()
    tab.goto(f"{api.url}/ui/runs?run=01a20662-48e8-70c7-b6f7-db66230a81f2")
    expect(tab.get_by_text("no trace 01a20662")).to_be_visible()
