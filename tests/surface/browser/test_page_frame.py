"""The frame of the page: what is there before any room is."""

from __future__ import annotations

from collections.abc import Callable
from string import Formatter

from playwright.sync_api import Browser, Page, expect
from serving import Api

from cairn.interfaces.web.texts import LANGUAGES, load_words
from cairn.language.lexicon import languages

Shoot = Callable[[Page, str], None]


def test_the_first_page_is_where_one_asks_and_the_keyboard_leads_everywhere(api: Api, tab: Page, shoot: Shoot) -> None:
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


def test_a_narrow_screen_has_a_menu_and_dark_or_light_is_remembered(api: Api, tab: Page, shoot: Shoot) -> None:
    tab.set_viewport_size({"width": 400, "height": 700})
    tab.goto(api.url)
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
