"""The design as Chromium draws it: text that can be read in every room, in light and dark, and controls that are found."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from itertools import product
from typing import Final, Literal

import pytest
from playwright.sync_api import Page, expect
from serving import Api

from tests.waiting import wait_until

ROOMS = ("", "search", "documents", "graph", "runs", "operation")
WEAK = """() => {
  const pixel = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true}), known = {};
  const channels = (color) => known[color] ??= (() => {
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = color;
    pixel.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pixel.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  })();
  const over = (top, below) => [0, 1, 2].map(at => top[at] * top[3] + below[at] * (1 - top[3])).concat(1);
  const lightness = ([r, g, b]) => [r, g, b].map(one => (one /= 255) <= .04045 ? one / 12.92 : ((one + .055) / 1.055) ** 2.4)
    .reduce((sum, one, at) => sum + one * [.2126, .7152, .0722][at], 0);
  const weak = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const element = node.parentElement, style = getComputedStyle(element);
    if (!node.data.trim() || !element.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
    if (element.closest('script, style, [disabled], .disabled, .skip, #popup, .q-tabs__arrow--faded')) continue;
    const layers = [];
    let shown = 1;
    for (let one = element; one; one = one.parentElement) {
      layers.push(channels(getComputedStyle(one).backgroundColor));
      shown *= Number(getComputedStyle(one).opacity);
    }
    const ground = layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
    const [r, g, b, a] = channels(style.color), color = [r, g, b, a * shown];
    const [low, high] = [lightness(ground), lightness(over(color, ground))].sort((a, b) => a - b);
    const contrast = (high + .05) / (low + .05);
    if (contrast < 4.5 || parseFloat(style.fontSize) < 12.9 && !element.closest('.q-icon, i'))
      weak.push(`${node.data.trim().slice(0, 40)} ${contrast.toFixed(2)} ${style.fontSize}`);
  }
  return weak;
}"""
"""Texts whose contrast with what lies below them is under 4.5 to 1, or that are smaller than 13 pixels; not what does nothing
now, such as an arrow to more tabs where there are none."""


AXE = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")
HINDERED = """async () => {
  const {violations} = await axe.run(document, {
    resultTypes: ['violations'], preload: false, rules: {'color-contrast': {enabled: false}}});
  return violations.filter(one => ['serious', 'critical'].includes(one.impact))
    .flatMap(one => one.nodes.map(node => `${one.id}: ${node.html.slice(0, 200)}`));
}"""
"""What axe-core finds that keeps people out or hinders them much: names, roles, landmarks. Its rule of contrast takes four times
as long as all others together, and WEAK is stricter."""


LINE = """() => {
  const line = getComputedStyle(document.querySelector('.answer .prose p')), pen = new OffscreenCanvas(1, 1).getContext('2d');
  const said = 'Employees have thirty days of leave per year, and days that are not taken by the end of March are lost.';
  pen.font = `${line.fontWeight} ${line.fontSize} ${line.fontFamily}`;
  return parseFloat(line.maxWidth) / (pen.measureText(said).width / said.length);
}"""
"""Characters of a line of text that is as long as it may be."""


@pytest.fixture(scope="module")
def told(api: Api) -> Api:
    api.index(
        "handbook", leave="# Leave\n\nEmployees have 30 days of leave per year. Nora Finch works for Harbour Lights."
    )
    asked = {"question": "How many days of leave do employees have?", "collection": "handbook", "session_id": "seen"}
    assert api.client.post("/query", json=asked).status_code == 200
    return api


LIGHTS: Final[Sequence[Literal["light", "dark"]]] = ("light", "dark")
WIDTHS: Final = (1280, 400)


@pytest.mark.parametrize(
    ("rooms", "views"),
    [
        (ROOMS[:1], [*zip(WIDTHS, LIGHTS, strict=True)]),
        pytest.param(ROOMS, [*product(WIDTHS, LIGHTS)], marks=pytest.mark.siege),
    ],
    ids=["the first", "all"],
)
def test_every_room_can_be_read_and_used_by_all_and_is_no_wider_than_a_narrow_screen(
    told: Api, tab: Page, rooms: Sequence[str], views: Sequence[tuple[int, Literal["light", "dark"]]]
) -> None:
    """In light and dark, wide and narrow; names, roles and landmarks are the same in both lights."""
    for room in rooms:
        tab.emulate_media(color_scheme="light")
        tab.set_viewport_size({"width": 1280, "height": 800})
        tab.goto(f"{told.url}/ui/{room}?collection=handbook&q=leave&conversation=seen")
        expect(tab.locator("#content")).to_be_visible()
        expect(tab.locator("a.room[aria-current]").first).to_be_visible()
        tab.evaluate(AXE)
        for width, light in views:
            tab.set_viewport_size({"width": width, "height": 800})
            assert tab.evaluate("document.documentElement.scrollWidth") <= width, room
            _read_in(tab, light)
            if light == "light":
                assert tab.evaluate(HINDERED) == [], room


def _read_in(tab: Page, scheme: Literal["light", "dark"]) -> None:
    """No text is weak, once the room has faded in."""
    tab.emulate_media(color_scheme=scheme)
    expect(tab.locator(f"body.body--{scheme}")).to_have_count(1)
    wait_until(lambda: tab.evaluate(WEAK) == [], told=lambda: (tab.url, scheme, tab.evaluate(WEAK)))


@pytest.mark.siege
def test_a_line_of_text_has_65_to_75_characters(told: Api, tab: Page) -> None:
    tab.goto(f"{told.url}/ui/?collection=handbook&conversation=seen")
    expect(tab.locator(".answer .prose p").first).to_be_visible()
    assert 65 <= tab.evaluate(LINE) <= 75


def test_the_first_that_tab_reaches_skips_to_the_content_and_the_focus_is_seen(told: Api, tab: Page) -> None:
    """Buttons are written as sentences; who wants no motion sees none; the tab of the browser has the mark."""
    tab.goto(f"{told.url}/ui/documents?collection=handbook")
    expect(tab.locator("a.room[aria-current]").first).to_be_visible()
    tab.keyboard.press("Tab")
    skip = tab.get_by_role("link", name="Skip to the content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    tab.keyboard.press("Tab")
    ring = "getComputedStyle(document.activeElement)"
    assert tab.evaluate(f"[{ring}.outlineStyle, {ring}.outlineWidth]") == ["solid", "2px"]
    cases = tab.locator(".q-btn").evaluate_all(
        "all => [...new Set(all.map(one => getComputedStyle(one).textTransform))]"
    )
    assert cases == ["none"]
    assert tab.locator("link[rel~=icon]").get_attribute("href").startswith("data:image/svg")  # type: ignore[union-attr]
    slowest = """() => Math.max(...[...document.querySelectorAll('*')].map(one => getComputedStyle(one))
      .flatMap(one => [parseFloat(one.transitionDuration), parseFloat(one.animationDuration)]))"""
    assert tab.evaluate(slowest) > 0.1
    tab.emulate_media(reduced_motion="reduce")
    assert tab.evaluate(slowest) < 0.001
