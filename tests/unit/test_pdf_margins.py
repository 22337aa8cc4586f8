"""Running titles of PDFs, which stand at the same height on most pages."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cairn.ingest.loaders.pdf import load
from cairn.ingest.loaders.pdf_margins import FEWEST_PAGES, SHARE, MarginLine, without_running_lines
from cairn.settings import IngestSettings
from tests.pdf_files import Sheet, pdf_file

PAGES = ("The ducks eat bread.", "The geese fly away.", "The swans are white.", "The herons stand still.")


def read(*lines: Sequence[tuple[float, str]]) -> list[str]:
    """Lines of the pages that are drawn with PAGES in their middle, and with `lines` at their heights, drawn first."""
    sheets = []
    for said, drawn in zip(PAGES, lines, strict=False):
        sheet = Sheet()
        for y, text in drawn:
            sheet.text(50, y, text)
        sheet.text(50, 300, said)
        sheet.text(50, 314, said.replace("The", "All"))
        sheets.append(sheet)
    loaded = load(pdf_file(*sheets), IngestSettings())
    ends = [*(page.start for page in loaded.pages[1:]), len(loaded.text)]
    return [loaded.text[page.start : end].strip() for page, end in zip(loaded.pages, ends, strict=True)]


def pages(count: int) -> list[str]:
    return [f"{said}\n{said.replace('The', 'All')}" for said in PAGES[:count]]


def test_a_line_at_the_foot_of_all_pages_is_text_once_whatever_the_page() -> None:
    first, *rest = read(*([(770, f"Ponds 2024 - confidential Page {n} of 4")] for n in range(1, 5)))
    assert "Ponds 2024 - confidential Page 1 of 4" in first
    assert rest == pages(4)[1:]


def test_numbers_at_the_head_are_no_numbers_of_pages() -> None:
    text = "\n".join(read(*([(30, f"Day {n}")] for n in range(1, 5))))
    assert all(f"Day {n}" in text for n in range(1, 5))


def test_at_the_head_the_first_one_stays() -> None:
    first, *rest = read(*([(30, "Name Place of birth")] for _ in range(4)))
    assert first.startswith("Name Place of birth\nThe ducks")
    assert rest == pages(4)[1:]


@pytest.mark.parametrize(
    "lines",
    [
        [[(770, f"Net pay {n}")] for n in (1840, 1920, 1733, 2001)],
        [[(770, "Ponds 2024")]] * 2,
        [[(770 - 20 * n, "Ponds 2024")] for n in range(4)],
        [[(770, "Ponds")], [(770, "Ponds")], [(770, "Lakes")], [(770, "Rivers")]],
        [[(400, "Ponds 2024"), (770, f"End of part {'abcd'[n]}")] for n in range(4)],
    ],
)
def test_what_differs_or_stands_elsewhere_or_on_few_pages_is_text(lines: list[list[tuple[float, str]]]) -> None:
    text = "\n".join(read(*lines))
    assert all(said in text for page in lines for _, said in page)
    assert sum(text.count(said) for said in {said for page in lines for _, said in page}) == sum(map(len, lines))


def test_a_line_below_a_table_alone_is_at_the_foot() -> None:
    sheets = []
    for n in range(3):
        sheet = Sheet()
        sheet.text(50, 770, f"Ponds 2024, page {n + 1}")
        sheet.rows(100, [["Pond", "Ducks", "Geese"], *([f"P{at}", f"{at}{n}", f"{n}1"] for at in range(6))], [200, 300])
        sheets.append(sheet)
    text = load(pdf_file(*sheets), IngestSettings()).text
    assert "| P5 |" in text
    assert text.count("Ponds") == 1


@pytest.mark.parametrize(("having", "pages", "kept"), [(3, 5, False), (2, 3, True), (3, 6, True), (4, 6, False)])
def test_three_pages_and_more_than_half_of_all(having: int, pages: int, kept: bool) -> None:
    assert (FEWEST_PAGES, SHARE) == (3, 0.5)
    margins = [[MarginLine(True, 770, "Ponds")] if at < having else [] for at in range(pages)]
    text = "".join(without_running_lines(["Text.\nPonds"] * having + ["Text."] * (pages - having), margins))
    assert text.count("Ponds") == (having if kept else 1)


def test_a_line_that_a_page_has_twice_stays() -> None:
    margins = [[MarginLine(True, 770, "Ponds")]] * 3
    assert without_running_lines(["Ponds\nText.\nPonds", "a\nPonds", "Ponds"], margins) == [
        "Ponds\nText.\nPonds",
        "a",
        "",
    ]
