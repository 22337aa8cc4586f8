"""Tables that go on behind a page break: one table where it is sure that they do."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cairn.domain.table import DocumentTable
from cairn.ingest.table_cells import document_tables
from cairn.language.tables import tables_in
from tests.pdf_files import Sheet
from tests.unit.test_pdf_tables import read

HEADER = ("Depot", "2024", "2025")
ABOVE = tuple((f"Depot {at}", f"{100 + at}", f"{200 + at}") for at in range(12))
BELOW = tuple((f"Depot {at}", f"{300 + at}", f"{400 + at}") for at in range(12, 18))
SUMS = (str(sum(int(one) for _, one, _ in ABOVE)), str(sum(int(two) for *_, two in ABOVE)))
EDGES = (320, 400)


def of_pages(*sheets: Sheet) -> tuple[DocumentTable, ...]:
    """With a page behind them, so that three have the title."""
    loaded = read(*sheets, page(()))
    starts = [one.start for one in loaded.pages]
    return document_tables(
        loaded.text, tables_in(loaded.text), lambda _: (), "en",
        page_at=lambda place: sum(start <= place for start in starts),
    )  # fmt: skip


def page(
    rows: Sequence[Sequence[str]], *, head: str = "Annual report of the depots", note: str = "", foot: str = "",
    edges: Sequence[float] = EDGES, top: float = 100,
) -> Sheet:  # fmt: skip
    sheet = Sheet()
    if head:
        sheet.text(50, 40, head)
    if note:
        sheet.text(50, 70, note)
    sheet.rows(top, rows, edges)
    sheet.text(300, 760, foot)
    return sheet


@pytest.mark.parametrize(
    ("foot", "next_foot"), [("7", "8"), ("Page 7 of 12", "Page 8 of 12"), ("- 7 -", "- 8 -"), ("7 / 12", "8 / 12")]
)
@pytest.mark.parametrize("below", [BELOW, (HEADER, *BELOW)], ids=["without its header", "with it"])
def test_a_table_behind_the_foot_of_a_page_is_one(foot: str, next_foot: str, below: Sequence[Sequence[str]]) -> None:
    [table] = of_pages(page((HEADER, *ABOVE), foot=foot), page(below, foot=next_foot))
    assert table.complete
    assert len(table.starts) == len(ABOVE) + len(BELOW)
    assert [str(number) for number in table.columns[2].numbers] == [row[2] for row in (*ABOVE, *BELOW)]


@pytest.mark.parametrize(
    "second",
    [
        page((HEADER, *BELOW), note="Depots abroad", foot="8"),
        page((HEADER, *BELOW), note="Table 8: depots", foot="8"),
        page((HEADER, *BELOW), note="2023", foot="8"),
        page((HEADER, *((name, "closed", "open") for name, _, _ in BELOW)), foot="8"),
        page((("Depot", "2022", "2023"), *BELOW), foot="8"),
        page((HEADER, *BELOW), head="Report of the ships", foot="8"),
        page((HEADER, *BELOW), note="32", foot="8"),
        page((HEADER, *BELOW), foot="9"),
        page(
            (HEADER, *((name, three, four) for (name, *_), (_, three, four) in zip(ABOVE, BELOW, strict=False))),
            foot="8",
        ),
        page((HEADER, ("From the page before", *SUMS), *BELOW), foot="8"),
        page((HEADER, ("Brought forward", "7", "9"), *BELOW), foot="8"),
        page((HEADER, ("of the harbour", "", ""), *BELOW), foot="8"),
    ],
    ids=[
        "another caption",
        "another number",
        "a year",
        "words",
        "other years",
        "another title",
        "a week",
        "no page between",
        "the same rows",
        "a sum so far",
        "brought forward",
        "the rest of a row",
    ],
)
def test_what_may_be_another_table_is_not_added_to_it(second: Sheet) -> None:
    tables = of_pages(page((HEADER, *ABOVE), foot="7"), second)
    assert tables
    assert max(len(one.starts) for one in tables) <= len(ABOVE)


def test_a_note_at_the_end_of_the_first_page_ends_its_table() -> None:
    above = page((HEADER, *ABOVE), foot="7")
    above.text(50, 320, "Without depots that were closed in the year.")
    tables = of_pages(above, page((HEADER, *BELOW), foot="8"))
    assert [(len(one.starts), one.complete) for one in tables] == [(len(ABOVE), False), (len(BELOW), False)]


@pytest.mark.parametrize("name", ["Total", "Carried forward", "North"])
def test_a_total_at_the_end_of_the_first_page_ends_its_table(name: str) -> None:
    tables = of_pages(page((HEADER, *ABOVE, (name, *SUMS)), foot="7"), page((HEADER, *BELOW), foot="8"))
    assert [one.complete for one in tables] == [False, False]


@pytest.mark.parametrize(
    "notes",
    [
        ("Depots in the north", "Depots in the south") * 3,
        ("31", "32"),
        ("24/25", "25/26"),
        ("01/26", "02/26"),
        ("Week 31", "Week 32"),
    ],
)
def test_captions_that_change_are_no_margins(notes: Sequence[str]) -> None:
    """Each of the first columns stands once, so that labels tell nothing."""
    sheets = [
        page(
            (HEADER, *((f"Depot {number}{name[6:]}", one, two) for name, one, two in ABOVE)),
            note=note,
            foot=str(number),
        )
        for number, note in enumerate(notes, 1)
    ]
    assert [len(one.starts) for one in of_pages(*sheets)] == [len(ABOVE)] * len(notes)


def test_a_title_of_two_pages_may_be_the_caption_of_either() -> None:
    two = (page((HEADER, *ABOVE), note="Depots", foot="7"), page((HEADER, *BELOW), note="Depots", foot="8"))
    assert [len(one.starts) for one in of_pages(*two)] == [len(ABOVE), len(BELOW)]


def test_what_is_carried_is_no_row_of_its_own() -> None:
    rows = (HEADER, *ABOVE, ("Carried forward", "7", "9"), ("Brought forward", "7", "9"), *BELOW)
    [table] = of_pages(page(rows, foot="7"))
    assert [at for at, total in enumerate(table.totals) if total] == [len(ABOVE), len(ABOVE) + 1]


def test_a_page_between_ends_it() -> None:
    other = page((), foot="8")
    tables = of_pages(page((HEADER, *ABOVE), foot="7"), other, page((HEADER, *BELOW), foot="9"))
    assert [one.complete for one in tables] == [False, False]


def months(site: str, *names: str) -> tuple[tuple[str, str, str], ...]:
    return tuple((site, name, str(300 + 7 * at * at)) for at, name in enumerate(names))


def of_sites(*below: Sequence[str], head: str = "Energy report - Page 8") -> list[bool]:
    above = (("Site", "Month", "kWh"), *months("Graz", "Jan", "Feb"), *months("Lund", "Jan", "Feb"))
    return [
        table.complete
        for table in of_pages(page(above, head="Energy report - Page 7"), page((above[0], *below), head=head))
    ]


def test_a_title_that_counts_the_pages_is_a_margin_and_a_label_may_go_on() -> None:
    below = (*months("Lund", "Mar", "Apr"), *months("Wien", "Jan", "Feb"))
    assert of_sites(*below) == [True]


@pytest.mark.parametrize(
    ("below", "head"),
    [
        ((*months("Lund", "Mar", "Apr"),), "Energy report - Page 9"),
        ((*months("Lund", "Mar", "Apr"),), "Water report - Page 8"),
        ((*months("Lund", "Feb", "Mar"),), "Energy report - Page 8"),  # the same row again
        ((*months("Graz", "Mar", "Apr"),), "Energy report - Page 8"),  # which was over
        ((*months("Lund", "Mar"), *months("Graz", "Mar")), "Energy report - Page 8"),
    ],
)
def test_other_pages_and_other_rows_are_another_table(below: Sequence[Sequence[str]], head: str) -> None:
    assert True not in of_sites(*below, head=head)
