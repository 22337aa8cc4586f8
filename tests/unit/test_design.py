"""The design of the page: what is written on what can be read, and its style sheet names what there is."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from importlib import resources
from pathlib import Path

import pytest

from cairn.interfaces.web import theme
from cairn.interfaces.web.theme import COLORS, DRAWN, EDGES_ON, SIZES, TEXT_ON

SHEET = resources.files(theme).joinpath("cairn.css").read_text("utf-8")
LIGHT_AND_DARK = (0, 1)


def luminance(color: str) -> float:
    """As WCAG 2 defines it, of #rrggbb."""
    parts = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#5898d4", "#ffffff") == pytest.approx(3.06, abs=0.01)


@pytest.mark.parametrize("shade", LIGHT_AND_DARK, ids=("light", "dark"))
def test_text_and_edges_are_seen_on_every_ground_that_they_stand_on(shade: int) -> None:
    def too_weak(pairs: dict[str, tuple[str, ...]], least: float) -> list[str]:
        return [
            f"{name} on {ground}: {told:.2f}"
            for name, grounds in pairs.items()
            for ground in grounds
            if (told := contrast(COLORS[name][shade], COLORS[ground][shade])) < least
        ]

    assert too_weak(dict(TEXT_ON), 4.5) == []
    assert too_weak(dict(EDGES_ON), 3) == []


def test_what_is_drawn_once_for_both_is_seen_in_light_and_in_dark() -> None:
    grounds = [COLORS[name][shade] for name in ("ground", "surface") for shade in LIGHT_AND_DARK]
    assert {
        name: least for name, color in DRAWN.items() if (least := min(contrast(color, one) for one in grounds)) < 3
    } == {}


def test_rooms_have_no_colors_of_their_own() -> None:
    web = Path(theme.__file__).parent.parent
    own = re.compile(r"#[0-9a-fA-F]{6}\b|-(?:gray|slate|red|amber|yellow|green|blue|violet)-\d{2,3}\b")
    rooms = [path for path in web.rglob("*.py") if path.parent.name != "theme"]
    assert [(path.name, found) for path in rooms for found in own.findall(path.read_text("utf-8"))] == []


def test_every_name_of_the_design_is_used_and_every_one_that_is_used_is_there() -> None:
    used = set(re.findall(r"var\(--(?!q-)([a-z0-9-]+)", SHEET))
    assert used == COLORS.keys() | SIZES.keys()


def test_every_color_that_text_has_in_the_style_sheet_has_its_grounds_checked() -> None:
    written = set(re.findall(r"(?<![-\w])color: var\(--([a-z-]+)\)", SHEET))
    assert written - {"ground"} <= TEXT_ON.keys() | EDGES_ON.keys()  # ground on ink: the pair ink on ground, turned


def test_nothing_is_fetched_by_the_style_sheet_or_the_mark() -> None:
    assert "@import" not in SHEET
    assert "url(" not in SHEET
    for drawn in (theme.mark(), theme.mark(colored=True)):
        assert {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(drawn).iter()} == {"svg", "path"}
    assert "currentColor" not in theme.mark(colored=True)
