"""The room of the graph: an entity is found, its neighbourhood drawn, a relation proved, a way between two shown."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect
from serving import Api

Shoot = Callable[[Page, str], None]
TEXTS = {
    "harbour": "Nora Finch works for Harbour Lights. Harbour Lights was founded in Bergen by Nora Finch.",
    "survey": "Harbour Lights bought the Pelagic Survey from Tomas Okafor. Tomas Okafor lives in Lisbon.",
}


def test_a_way_between_two_and_what_is_around_an_entity(api: Api, tab: Page, shoot: Shoot) -> None:
    tab.goto(f"{api.url}/ui/graph")
    expect(tab.get_by_text("No documents yet")).to_be_visible()
    api.index("people", **TEXTS)
    tab.goto(f"{api.url}/ui/graph?collection=people&from=Nora Finch&to=Tomas Okafor")
    expect(tab.get_by_role("heading", name="Nora Finch – Tomas Okafor")).to_be_visible()
    expect(tab.get_by_text("1. Nora Finch –")).to_be_visible()
    assert "from=Nora" in tab.url
    tab.get_by_label("To", exact=True).fill("Nobody Known")
    tab.get_by_role("button", name="Ways between them").click()
    expect(tab.get_by_text("Nobody Known").last).to_be_visible()
    tab.get_by_label("Find an entity").fill("harbour")
    expect(tab.get_by_role("list").first.get_by_role("listitem")).to_have_count(1)
    tab.get_by_role("button", name="Harbour Lights").click()
    expect(tab.get_by_role("heading", name="Harbour Lights")).to_be_visible()
    expect(tab.get_by_role("img", name="A drawing of")).to_be_visible()
    expect(tab.locator("canvas")).to_be_visible()
    relation = tab.get_by_role("region").get_by_role("listitem").filter(has_text="Nora Finch").first
    expect(relation).to_contain_text("Harbour Lights")
    tab.wait_for_function("document.querySelector('canvas').width > 0")
    shoot(tab, "graph")
    tab.set_viewport_size({"width": 400, "height": 800})
    # nothing has to be scrolled sideways, once the drawing has followed the window
    tab.wait_for_function("document.documentElement.scrollWidth <= 400")
    shoot(tab, "graph-narrow")
    relation.get_by_label("Open the sentence that proves it").click()
    expect(tab.locator(".viewer mark")).to_contain_text("Harbour Lights")
