"""The frame of the page: what is there before any room is."""

from __future__ import annotations

from collections.abc import Callable
from string import Formatter

from playwright.sync_api import Page, expect
from serving import Api

from app.web.texts import LANGUAGES, load_words

Shoot = Callable[[Page, str], None]


def test_the_first_page_is_where_one_asks(api: Api, tab: Page, shoot: Shoot) -> None:
    tab.goto(api.url)
    expect(tab).to_have_title("Ask · Cairn")
    tab.get_by_role("link", name="Search").first.click()
    expect(tab).to_have_title("Search · Cairn")
    shoot(tab, "frame")


def test_a_narrow_screen_has_a_menu(api: Api, tab: Page) -> None:
    tab.set_viewport_size({"width": 400, "height": 700})
    tab.goto(api.url)
    tab.get_by_role("button", name="Menu").click()
    tab.get_by_role("link", name="Documents").last.click()
    expect(tab).to_have_title("Documents · Cairn")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400, "nothing has to be scrolled sideways"


def test_every_language_has_every_word() -> None:
    english = load_words("en")
    for language in LANGUAGES:
        words = load_words(language)
        assert words.keys() == english.keys(), language
        for key, text in words.items():
            assert sorted(_places(text)) == sorted(_places(english[key])), (language, key)


def _places(text: str) -> list[str]:
    return [name for _, name, _, _ in Formatter().parse(text) if name is not None]
