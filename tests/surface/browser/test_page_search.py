"""The room of searches: what was found and how, two settings side by side, and a link that leads there again."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from serving import Api

Shoot = Callable[[Page, str], None]
LEAVE = "# Leave\n\nEmployees have 30 days of leave per year."


@pytest.fixture(scope="module")
def stocked(api: Api) -> Api:
    api.index(
        "handbook", leave=LEAVE, lift="The lift is closed on Mondays, and the stairs are open.",
        canteen="The canteen serves lunch from noon. It has no seats for guests.",
    )  # fmt: skip
    return api


def test_a_query_shows_how_passages_were_found_and_bad_filters_are_explained(
    stocked: Api, tab: Page, shoot: Shoot
) -> None:
    tab.goto(f"{stocked.url}/ui/search?collection=handbook")
    expect(tab.get_by_text("Look at how passages are found")).to_be_visible()
    tab.get_by_label("Words or a question").fill("how many days of leave?")
    tab.keyboard.press("Enter")
    best = tab.get_by_role("listitem").first
    expect(best).to_contain_text("30 days of leave")
    expect(best).to_contain_text("vector #1")
    tab.get_by_text("Legs side by side").click()
    expect(tab.get_by_text("lexical (")).to_be_visible()
    shoot(tab, "search")
    best.get_by_label("Why is it here, or not?").click()
    expect(tab.get_by_role("dialog").get_by_text("kept as number 1")).to_be_visible()
    shoot(tab, "search-why")
    tab.keyboard.press("Escape")
    best.get_by_label("Open").click()
    expect(tab.locator(".viewer mark")).to_contain_text("30 days")
    tab.keyboard.press("Escape")
    tab.get_by_text("Settings of the search").click()
    tab.get_by_label("Filters (JSON)").first.fill("[1]")
    tab.get_by_role("button", name="Search", exact=True).click()
    expect(tab.get_by_text("the filters are a JSON object")).to_be_visible()


def test_two_settings_and_a_link_to_them(stocked: Api, tab: Page, shoot: Shoot) -> None:
    tab.goto(f"{stocked.url}/ui/search?collection=handbook&q=lift&mode=lexical&compare=1&b_mode=vector&b_top_k=3")
    rows = tab.get_by_role("listitem")
    expect(rows.filter(has_text="only here").first).to_be_visible()
    expect(rows.filter(has_text="lexical #1")).to_have_count(1)
    assert "b_mode=vector" in tab.url
    assert "compare=1" in tab.url
    shoot(tab, "search-compared")
    tab.set_viewport_size({"width": 400, "height": 800})
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400, "nothing has to be scrolled sideways"
    shoot(tab, "search-narrow")
