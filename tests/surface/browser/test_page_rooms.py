"""The frame of the page, and the rooms that only look: searches, runs, and the graph."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable
from string import Formatter

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError
from serving import Api

from cairn.interfaces.web.texts import LANGUAGES, load_words
from cairn.language.lexicon import languages
from tests.waiting import wait_until

Shoot = Callable[[Page, str], None]
LEAVE = "# Leave\n\nEmployees have 30 days of leave per year."
PEOPLE = {
    "harbour": "Nora Finch works for Harbour Lights. Harbour Lights was founded in Bergen by Nora Finch.",
    "survey": "Harbour Lights bought the Pelagic Survey from Tomas Okafor. Tomas Okafor lives in Lisbon.",
}


@pytest.fixture(scope="module")
def stocked(api: Api) -> Api:
    leave = {"external_id": "leave", "title": "Leave", "text": LEAVE}
    indexed = api.client.post("/index", json={"collection": "handbook", "documents": [leave]})
    assert indexed.status_code == 200, indexed.text
    api.index(
        "handbook", lift="The lift is closed on Mondays, and the stairs are open.",
        canteen="The canteen serves lunch from noon. It has no seats for guests.",
    )  # fmt: skip
    api.index("people", **PEOPLE)
    return api


@pytest.mark.siege
def test_rooms_say_why_there_is_nothing(api: Api, tab: Page) -> None:
    """Before anything is there, and where an address names no run."""
    tab.goto(f"{api.url}/ui/graph")
    expect(tab.get_by_text("No documents yet")).to_be_visible()
    tab.goto(f"{api.url}/ui/runs")
    expect(tab.get_by_text("Nothing here yet")).to_be_visible()
    tab.goto(f"{api.url}/ui/runs?run=nothing")
    expect(tab.get_by_text("nothing is no id of a question or search")).to_be_visible()
    tab.goto(f"{api.url}/ui/runs?run=01a20662-48e8-70c7-b6f7-db66230a81f2")
    expect(tab.get_by_text("no trace 01a20662")).to_be_visible()


# --- the frame ------------------------------------------------------------------------------------------------------------


def test_the_first_page_is_where_one_asks_and_the_keyboard_leads_everywhere_as_does_the_menu_of_a_narrow_screen(
    api: Api, tab: Page, shoot: Shoot
) -> None:
    """And dark or light is remembered."""
    assert api.client.get("/").headers["location"] == "ui/", "relative, for proxies that add a path"
    tab.goto(api.url)
    expect(tab).to_have_title("Ask · Cairn")
    box = tab.get_by_role("textbox", name="Ask your documents")
    expect(box).to_be_focused()
    tab.get_by_role("link", name="Search").first.focus()
    tab.keyboard.press("/")
    expect(box).to_be_focused()
    tab.get_by_role("link", name="Search").first.focus()
    tab.keyboard.press("Enter")
    expect(tab).to_have_title("Search · Cairn")
    shoot(tab, "frame")
    counted = api.client.get("/metrics").text
    assert 'route="/ui",status="200"' in counted
    assert 'route="unmatched",status="200"' not in counted
    tab.set_viewport_size({"width": 400, "height": 700})
    expect(tab.locator("body.body--light")).to_have_count(1)
    tab.get_by_role("button", name="Dark or light").click()
    expect(tab.locator("body.body--dark")).to_have_count(1)
    tab.get_by_role("button", name="Menu").click()
    tab.get_by_role("link", name="Documents").last.click()
    expect(tab).to_have_title("Documents · Cairn")
    expect(tab.locator("body.body--dark")).to_have_count(1)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400, "nothing has to be scrolled sideways"
    shoot(tab, "frame-dark")


def test_every_language_of_the_product_has_every_word() -> None:
    assert set(LANGUAGES) == {one.code for one in languages()}
    english = load_words("en")
    for language in LANGUAGES:
        words = load_words(language)
        assert words.keys() == english.keys(), language
        for key, text in words.items():
            assert sorted(_places(text)) == sorted(_places(english[key])), (language, key)


def _places(text: str) -> list[str]:
    return [name for _, name, _, _ in Formatter().parse(text) if name is not None]


def test_the_page_speaks_the_language_of_the_browser(api: Api, chromium: Browser, shoot: Shoot) -> None:
    context = chromium.new_context(locale="it-CH")
    tab = context.new_page()
    tab.goto(f"{api.url}/ui/")
    expect(tab).to_have_title("Chiedi · Cairn")
    assert tab.evaluate("document.documentElement.lang") == "it"
    shoot(tab, "frame-it")
    context.close()


def _unfold(header: Locator, inside: Locator) -> None:
    """Click until it is open: a click on what still slides may be lost."""

    def is_open() -> bool:
        if not inside.is_visible():
            header.click()
        with contextlib.suppress(PlaywrightTimeoutError):
            inside.wait_for(timeout=5_000)
        return inside.is_visible()

    wait_until(is_open)


# --- searches ---------------------------------------------------------------------------------------------------------------


def test_a_query_shows_how_passages_were_found_and_bad_filters_are_explained(
    stocked: Api, tab: Page, shoot: Shoot
) -> None:
    tab.goto(f"{stocked.url}/ui/search?collection=handbook")
    expect(tab.get_by_text("Find passages in your documents")).to_be_visible()
    tab.get_by_label("Words or a question").fill("how many days of leave?")
    tab.keyboard.press("Enter")
    best = tab.get_by_role("listitem").first
    expect(best).to_contain_text("30 days of leave")
    expect(best.locator("mark").first).to_be_visible()  # the words that were searched for
    expect(tab.get_by_text("What each kind of search found")).to_be_hidden()
    shoot(tab, "search")
    tab.get_by_text("Why this order?").click()
    expect(tab.get_by_text("Every passage was compared.")).to_be_visible()
    _unfold(tab.get_by_text("What each kind of search found"), tab.get_by_text("Words ("))
    shoot(tab, "search-order")
    best.get_by_label("Why this place?").click()
    expect(tab.get_by_role("dialog").get_by_text("Every search put it first.")).to_be_visible()
    expect(tab.get_by_role("dialog").get_by_text("kept as number 1")).to_be_visible()
    shoot(tab, "search-why")
    tab.keyboard.press("Escape")
    best.get_by_role("link").click()
    expect(tab.locator(".viewer mark").last).to_contain_text("30 days")
    tab.keyboard.press("Escape")
    tab.get_by_text("Settings of the search").click()
    tab.get_by_label("Filters (JSON)").first.fill("[1]")
    tab.get_by_role("button", name="Search", exact=True).click()
    expect(tab.get_by_text("the filters are a JSON object")).to_be_visible()


@pytest.mark.siege
def test_two_settings_and_a_link_to_them(stocked: Api, tab: Page, shoot: Shoot) -> None:
    tab.goto(f"{stocked.url}/ui/search?collection=handbook&q=lift&mode=lexical&compare=1&b_mode=vector&b_top_k=3")
    rows = tab.get_by_role("listitem")
    expect(tab.get_by_role("heading", name="Other settings")).to_be_visible()
    expect(tab.get_by_text("Search by: Words only")).to_be_visible()
    expect(tab.get_by_text("Search by: Meaning only · Results: 3")).to_be_visible()
    expect(tab.get_by_text("Of the first 1 and the other 3: 1 in the same place, 0 moved, 0 only")).to_be_visible()
    expect(rows.filter(has_text="Same place")).to_have_count(2)
    expect(rows.filter(has_text="Only here")).to_have_count(2)
    assert "b_mode=vector" in tab.url
    assert "compare=1" in tab.url
    shoot(tab, "search-compared")
    tab.set_viewport_size({"width": 400, "height": 800})
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400, "nothing has to be scrolled sideways"
    shoot(tab, "search-narrow")


# --- runs -------------------------------------------------------------------------------------------------------------------


def test_a_run_step_by_step(stocked: Api, tab: Page, shoot: Shoot) -> None:
    asked = stocked.client.post(
        "/query", json={"question": "When does the canteen serve lunch?", "collection": "handbook"}
    )
    assert asked.status_code == 200, asked.text
    stocked.client.post("/search", json={"query": "guests of the canteen", "collection": "handbook"})
    tab.goto(f"{stocked.url}/ui/runs")
    rows = tab.get_by_role("listitem")
    expect(rows.filter(has_text="canteen")).to_have_count(2)
    expect(rows.filter(has_text="lunch").get_by_text(re.compile("^(Found|Likely|Not sure)$"))).to_be_visible()
    shoot(tab, "runs")
    tab.get_by_label("Question contains").fill("lunch")
    expect(rows).to_have_count(1)
    rows.get_by_role("link", name="When does the canteen serve lunch?").click()
    expect(tab.get_by_role("heading", name="When does the canteen serve lunch?")).to_be_visible()
    expect(tab.get_by_text("serves lunch from noon").first).to_be_visible()
    expect(tab.get_by_text("No chat model was called.")).to_be_visible()
    shoot(tab, "run")
    with tab.expect_download() as downloading:
        tab.get_by_role("link", name="Download proof").click()
    proof = json.loads(downloading.value.path().read_text())
    assert downloading.value.suggested_filename == f"proof-{proof['run']['id']}.json"
    assert "serves lunch from noon" in proof["citations"][0]["quote"]
    tab.get_by_text("What each kind of search found").click()
    expect(tab.get_by_text("Meaning (")).to_be_visible()
    tab.set_viewport_size({"width": 400, "height": 800})
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400, "nothing has to be scrolled sideways"
    shoot(tab, "run-narrow")
    tab.get_by_label("Open source 1").click()
    expect(tab.locator(".viewer mark")).to_contain_text("from noon")


@pytest.mark.siege
def test_what_was_asked_or_searched_is_asked_or_searched_again(stocked: Api, tab: Page) -> None:
    stocked.client.post("/query", json={"question": "When is the lift closed?", "collection": "handbook"})
    stocked.client.post("/search", json={"query": "seats of the canteen", "collection": "handbook"})
    tab.goto(f"{stocked.url}/ui/runs")
    rows = tab.get_by_role("listitem")
    rows.filter(has_text="seats").get_by_label("Search again").click()
    expect(tab.get_by_label("Words or a question")).to_have_value("seats of the canteen")
    tab.go_back()
    rows.filter(has_text="lift").get_by_label("Ask again").click()
    expect(tab.get_by_role("textbox", name="Ask your documents")).to_have_value("When is the lift closed?")


@pytest.mark.siege
def test_collections_are_shown_by_what_people_call_them(api: Api, tab: Page) -> None:
    made = api.client.post("/collections", json={"name": "staff", "display_name": "Everybody here"})
    assert made.status_code < 300, made.text
    api.client.post("/search", json={"query": "doorkeepers", "collection": "staff"})
    tab.goto(f"{api.url}/ui/?collection=staff")
    expect(tab.get_by_role("combobox", name="Collection")).to_have_value("Everybody here")
    tab.goto(f"{api.url}/ui/runs?words=doorkeepers")
    expect(tab.get_by_role("listitem").filter(has_text="doorkeepers")).to_contain_text("Everybody here")
    tab.get_by_role("link", name="doorkeepers").click()
    expect(tab.get_by_text("Everybody here")).to_be_visible()


# --- the graph --------------------------------------------------------------------------------------------------------------


@pytest.mark.siege
def test_the_graph_says_what_it_is_for_and_begins_with_names_to_try(stocked: Api, tab: Page, shoot: Shoot) -> None:
    tab.goto(f"{stocked.url}/ui/graph?collection=people")
    expect(tab.get_by_text("Who and what your documents speak of")).to_be_visible()
    kinds = tab.get_by_role("list").first
    expect(kinds.get_by_text("Places", exact=True)).to_be_visible()
    tab.get_by_role("button", name="What is said of").click()
    expect(tab.get_by_role("region").get_by_role("heading")).to_be_visible()
    said = tab.get_by_role("region").get_by_role("listitem").all_inner_texts()
    assert not any("co_occurs" in line or "→" in line for line in said)
    together = ["named together with" in line for line in said]
    assert together == sorted(together), "what words state comes first"
    tab.get_by_role("button", name="related").first.click()
    expect(tab.get_by_text("1. ")).to_be_visible()
    shoot(tab, "graph-begins")
    tab.goto(f"{stocked.url}/ui/graph?collection=handbook")
    expect(tab.get_by_text("Find a name")).to_be_visible()
    expect(tab.get_by_role("button", name="Leave", exact=True)).to_have_count(0)
    tab.get_by_text("Also headings, phrases").click()
    expect(tab.get_by_role("button", name="Leave", exact=True)).to_be_visible()


def test_a_way_between_two_and_what_is_around_an_entity(stocked: Api, tab: Page, shoot: Shoot) -> None:
    tab.goto(f"{stocked.url}/ui/graph?collection=people&from=Nora Finch&to=Tomas Okafor")
    expect(tab.get_by_role("heading", name="Nora Finch – Tomas Okafor")).to_be_visible()
    expect(tab.get_by_text("1. Nora Finch –")).to_be_visible()
    assert "from=Nora" in tab.url
    tab.get_by_label("To", exact=True).fill("Nobody Known")
    tab.get_by_role("button", name="How are they connected?", exact=True).click()
    expect(tab.get_by_text("Nobody Known").last).to_be_visible()
    tab.get_by_label("Find a name").fill("harbour")
    expect(tab.get_by_role("list").first.get_by_role("listitem")).to_have_count(1)
    tab.get_by_role("button", name="Harbour Lights", exact=True).click()
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
