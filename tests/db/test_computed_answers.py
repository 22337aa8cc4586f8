"""Tables answer in numbers: computed in SQL over the cells of a document, cited row by row, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Any

import asyncpg
import docx
import pytest
import pytest_asyncio

from cairn.domain.answer import Answer
from cairn.domain.document import Indexed, Source
from cairn.service.documents import delete_document, index_now
from cairn.service.search import get_trace
from cairn.wiring import Services
from tests.db.runs import answered
from tests.office_files import workbook
from tests.sharing import ALONE, SHARED

pytestmark = SHARED

REGIONS = ("North", "South", "East", "West")
REVENUE = [
    (region, year, 900 + 37 * n + 61 * (year - 2020) % 290)
    for n, region in enumerate(REGIONS)
    for year in range(2020, 2024)
]


def sales(sheet: Any) -> None:
    sheet.append(["Region", "Year", "Revenue (EUR k)", "Margin"])
    for region, year, revenue in REVENUE:
        sheet.append([region, year, revenue, f"{revenue % 17} %"])
    sheet.append(["All regions", None, sum(one for _, _, one in REVENUE), None])


STOCK = """# Warehouse

| Product | Price (EUR) | Stock | Reorder level | Supplier |
| --- | --- | --- | --- | --- |
| Lamp | 12.50 | 5 | 10 | Lux |
| Chair | 89.00 | 40 | 8 | Sella |
| Table | 240.00 | 2 | 4 | Sella |
| Rug | 59.90 | 7 | 7 | Tappeto |
"""
PAGE = b"""<html><head><title>Harbour fees</title></head><body><h1>Harbour fees</h1>
<p>Fees (in thousands)</p>
<table><tr><th></th><th>2023</th><th>2022</th><th>2021</th></tr>
<tr><td>Berths</td><td>$ 1,204.5</td><td>$ 1,100.0</td><td>$ 980.0</td></tr>
<tr><td>Pilots</td><td>310.0</td><td>340.0</td><td>295.5</td></tr>
<tr><td>Towing</td><td>n/a</td><td>55.0</td><td>60.0</td></tr>
<tr><td>Share of berths</td><td>79 %</td><td>74 %</td><td>73 %</td></tr></table></body></html>"""
GERMAN = b"""Angestellte;Abteilung;Gehalt;Eintritt
Ada;Technik;4.250,50;01.03.2019
Bert;Technik;3.900,00;15.06.2021
Cleo;Vertrieb;3.600,25;01.09.2020
Dora;Vertrieb;4.100,00;01.01.2018
"""


def minutes() -> bytes:
    document = docx.Document()
    document.add_heading("Attendance of the board", 1)
    table = document.add_table(rows=1, cols=3)
    for cell, text in zip(table.rows[0].cells, ("Member", "Meetings", "Travel (km)"), strict=True):
        cell.text = text
    for row in (("Okafor", "11", "1,250"), ("Lindqvist", "9", "310"), ("Moreau", "12", "2,040")):
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
    out = BytesIO()
    document.save(out)
    return out.getvalue()


FILES: dict[str, Callable[[], bytes]] = {
    "sales.xlsx": lambda: workbook(sales),
    "stock.md": STOCK.encode,
    "fees.html": lambda: PAGE,
    "personal.csv": lambda: GERMAN,
    "board.docx": minutes,
}


@pytest.fixture
def database_rows(database: str) -> Callable[[str], Any]:
    """One value, as the owner sees the database."""

    async def ask(statement: str) -> Any:
        connection = await asyncpg.connect(database)
        try:
            return await connection.fetchval(statement)
        finally:
            await connection.close()

    return ask


async def fill(services: Services, *names: str) -> dict[str, Indexed]:
    outcomes = await index_now(services, "tables", [Source(name, name, FILES[name]()) for name in names or FILES])
    assert all(isinstance(one, Indexed) for one in outcomes), outcomes
    return {one.external_id: one for one in outcomes if isinstance(one, Indexed)}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def tables(services_of_module: Services) -> Services:
    """All files above, which the tests only ask."""
    await fill(services_of_module)
    return services_of_module


async def asked(services: Services, question: str) -> Answer:
    return await answered(services, question, collection="tables")


def computed(answer: Answer) -> bool:
    return "computed" in answer.route


def best(region: str) -> tuple[int, int]:
    return max((revenue, year) for name, year, revenue in REVENUE if name == region)


async def test_a_workbook_is_computed_over(tables: Services) -> None:
    revenue, year = best("South")
    highest = await asked(tables, "Which year had the highest revenue in the South region?")
    assert highest.answer.startswith(f"{year}: {revenue} EUR k [1]")
    assert highest.citations[0].quote == f"South | {year} | {revenue} | {revenue % 17} %"
    assert (highest.answered, highest.route["answerer"]) == ("yes", "sql")

    total = await asked(tables, "What is the total revenue of the North region?")
    expected = sum(one for name, _, one in REVENUE if name == "North")
    assert total.answer.startswith(f"{expected} EUR k")
    everything = await asked(tables, "What is the sum of the revenue in the workbook sales?")
    assert not computed(everything)  # "workbook" stands nowhere
    whole = await asked(tables, "What is the sum of the revenue?")
    assert whole.answer.startswith(f"{sum(one for _, _, one in REVENUE)} EUR k")
    assert "rows of totals left out: 1" in whole.answer


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("question", "value", "quoted"),
    [
        ("Which products have a stock below the reorder level?", "- Lamp: 5 (Reorder level: 10)", "Lamp | 12.50 | 5 | 10 | Lux"),
        ("What is the average price?", "100.35 EUR", "Lamp | 12.50 | 5 | 10 | Lux"),
        ("Which product has the lowest price?", "Lamp: 12.50 EUR", "Lamp | 12.50 | 5 | 10 | Lux"),
        ("How many products have the supplier Sella?", "2 [1]", "Chair | 89.00 | 40 | 8 | Sella"),
        ("What was the change in berths from 2022 to 2023?", "$104.5 (in thousands)", "Berths | $ 1,204.5 | $ 1,100.0 | $ 980.0"),
        ("By what percentage change did berths grow from 2022 to 2023?", "", ""),
        ("In which year was the amount of pilots the highest?", "2022: 340.0 (in thousands)", "Pilots | 310.0 | 340.0 | 295.5"),
        ("Wie hoch ist das durchschnittliche Gehalt in der Technik?", "4.075,25", "Ada | Technik | 4.250,50 | 01.03.2019"),
        ("Wie viele Angestellte haben ein Gehalt von mehr als 4.000?", "2 [1]", "Ada | Technik | 4.250,50 | 01.03.2019"),
        ("What share of the price does the supplier Sella have?", "81.96 % [1]", "Chair | 89.00 | 40 | 8 | Sella"),
        ("What share of the stock does the lamp have?", "9.26 % [1]", "Lamp | 12.50 | 5 | 10 | Lux"),
        ("Which member has the second highest number of meetings?", "Okafor: 11", "Okafor | 11 | 1,250"),
        ("Which region has the highest revenue?", "West: 4410 EUR k [1]", "West | 2020 | 1011 | 8 %"),  # four rows each
        ("What is the sum of the travel of all members?", "3,600 km", "Okafor | 11 | 1,250"),
    ],
)  # fmt: skip
async def test_tables_of_all_formats_are_computed_over(
    tables: Services, question: str, value: str, quoted: str
) -> None:
    answer = await asked(tables, question)
    if not value:
        assert not computed(answer)  # a difference, or a percentage: nothing is guessed
        return
    assert value in answer.answer
    assert quoted in [one.quote for one in answer.citations]
    assert answer.answered == "yes"


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    "question",
    [
        "What is the total margin of the North region?",  # percentages are not added
        "What is the highest profit in the South region?",
        "What is the average revenue per employee in the North region?",
        "Which year will have the highest revenue in the South region according to the plan?",
        "What is the difference between North and South?",
        "What was the change in towing from 2022 to 2023?",  # n/a
        "Why is the stock of lamps below the reorder level?",
        "What is the percentage change in the share of berths from 2022 to 2023?",  # of percentages
        "Wer hat das höchste Gehalt im Vorstand?",
    ],
)
async def test_what_is_not_sure_is_answered_as_any_other_question(tables: Services, question: str) -> None:
    assert not computed(await asked(tables, question))


async def test_the_statement_and_its_parameters_stand_in_the_trace(services: Services) -> None:
    await fill(services, "stock.md")
    answer = await asked(services, "What is the highest price?")
    trace = await get_trace(services, answer.run_id)
    told = trace.plan["computed"]
    assert told["operation"] == "highest"
    assert "rag.table_columns" in told["sql"]
    assert told["parameters"][1:3] == [0, 1]


async def test_a_sheet_that_spans_many_passages_is_computed_over_as_a_whole(services: Services) -> None:
    def long(sheet: Any) -> None:
        sheet.append(["Ticket", "Team", "Hours", "Remark"])
        for n in range(1, 151):
            sheet.append(
                [f"T-{n}", ("Blue", "Green", "Red")[n % 3], n * 7 % 101, f"handled with care and noted as number {n}"]
            )

    [outcome] = await index_now(
        services, "tables", [Source("tickets.xlsx", "tickets.xlsx", workbook(long, sheet="Tickets"))]
    )
    assert isinstance(outcome, Indexed)
    assert outcome.passage_count > 5
    hours = [n * 7 % 101 for n in range(1, 151) if n % 3 == 1]
    answer = await asked(services, "What is the total of hours of the team Green?")
    assert answer.answer.startswith(f"{sum(hours)} [1]")
    assert len({one.passage_id for one in answer.citations}) >= 1
    above = await asked(services, "How many tickets of the team Green have more than 90 hours?")
    assert above.answer.startswith(f"{sum(one > 90 for one in hours)} [1]")


async def test_where_a_cell_is_empty_nobody_knows_whether_it_is_none(services: Services) -> None:
    def drinks(sheet: Any) -> None:
        for row in (("Country", "Beer", "Wine"), ("Norland", 10, 0), ("Sudland", None, 5), ("Westland", 0, 8)):
            sheet.append(row)

    [outcome] = await index_now(
        services, "tables", [Source("drinks.xlsx", "drinks.xlsx", workbook(drinks, sheet="Drinks"))]
    )
    assert isinstance(outcome, Indexed)
    assert (await asked(services, "How many countries have no wine?")).answer.startswith("1 [1]")
    assert not computed(await asked(services, "How many countries have no beer?"))


TURNOUT = {
    "New Avalon": ("Amber", "Birch", "Cedar", "Dune", "Elm"),
    "Westmark": ("Fern", "Grove", "Heath", "Iris", "Jade"),
}
SURVEYED = [f"estimate of the group {n} of the survey in percent" for n in range(1, 16)]


@pytest.mark.siege
async def test_a_sheet_with_very_many_columns_is_computed_over(services: Services) -> None:
    """Its rows stand in the text as lines; what all rows are called need not be said."""

    def sheet_of(state: str) -> Callable[[Any], None]:
        def fill_sheet(sheet: Any) -> None:
            sheet.append(["NAME", "2023 votes", "2021 votes", "2023 cvap_turnout", *SURVEYED])
            for n, county in enumerate(TURNOUT[state], 1):
                sheet.append(
                    [f"{county} County, {state}", n * 7000 % 11000, n * 900, n * 3 % 7 / 10, *[n] * len(SURVEYED)]
                )

        return fill_sheet

    sources = [Source(f"{state}.xlsx", f"{state}.xlsx", workbook(sheet_of(state), sheet=state)) for state in TURNOUT]
    assert all(isinstance(one, Indexed) for one in await index_now(services, "tables", sources))
    best = await asked(services, "Which NA county had the best turnout in 2023?")
    assert best.answer.startswith("Birch County, New Avalon: 0.6 [1]")
    lowest = await asked(services, "lowest 2023 turnout among the Westmark counties?")
    assert lowest.answer.startswith("Jade County, Westmark: 0.1 [1]")
    more = await asked(services, "How many more votes did Birch have than Amber (New Avalon, 2023)?")
    assert more.answer.startswith("-4000 [1]")
    for unsure in (
        "Which county had the best turnout in 2023?",  # of which state?
        "total turnout of the Westmark counties in 2023",  # shares of one are not added
        "Which Westmark county had the best estimate?",  # of which group?
        "Which Westmark county had the most votes?",  # when?
    ):
        assert not computed(await asked(services, unsure)), unsure


async def test_what_may_be_shares_of_one_is_not_added(services: Services) -> None:
    """Numbers without a unit are, where they are below one on average."""

    def barges(sheet: Any) -> None:
        for row in (("Barge", "Cargo", "Ballast"), ("Anna", 0.5, 0.5), ("Berta", 0.9, 0.9), ("Clara", 1.9, 1.5)):
            sheet.append(row)

    [outcome] = await index_now(
        services, "tables", [Source("barges.xlsx", "barges.xlsx", workbook(barges, sheet="Barges"))]
    )
    assert isinstance(outcome, Indexed)
    assert (await asked(services, "What is the total cargo?")).answer.startswith("3.3 [1]")
    assert not computed(await asked(services, "What is the total ballast?"))


async def test_how_many_rows_a_question_names_is_checked(services: Services) -> None:
    def people(sheet: Any) -> None:
        sheet.append(["Population of Norland and its neighbours"])
        sheet.append([])
        sheet.append(["Country", "Group", 2012, 2022])
        for row in (
            ("Norland", "Fjord", 5018, 5457),
            ("Sudland", "Coast", 1322, 1348),
            ("Westland", "Coast", 2034, 1879),
        ):
            sheet.append(row)

    [outcome] = await index_now(
        services, "tables", [Source("people.xlsx", "people.xlsx", workbook(people, sheet="Population"))]
    )
    assert isinstance(outcome, Indexed)
    both = await asked(services, "How many people did the two Coast countries have together in 2022?")
    assert both.answer.startswith("3227 [1]")
    assert not computed(await asked(services, "How many people did the three Coast countries have together in 2022?"))
    fewer = await asked(services, "By how many people did Westland shrink from 2012 to 2022?")
    assert fewer.answer.startswith("155 [1]")


async def test_the_highest_ones_are_listed_where_no_other_has_as_much(services: Services) -> None:
    def herds(sheet: Any) -> None:
        for row in (("Code", "Farm", "Cows", "Goats"), ("A", "Alm", 40, 7), ("B", "Berg", 25, 9), ("C", "Tal", 25, 8)):
            sheet.append(row)

    [outcome] = await index_now(
        services, "tables", [Source("herds.xlsx", "herds.xlsx", workbook(herds, sheet="Herds"))]
    )
    assert isinstance(outcome, Indexed)
    goats = await asked(services, "Which two farms have the most goats?")
    assert "- B, Berg: 9 [1]\n- C, Tal: 8 [2]" in goats.answer
    assert not computed(await asked(services, "Which two farms have the most cows?"))
    assert not computed(await asked(services, "Which four farms have the most goats?"))


@ALONE
async def test_cells_come_and_go_with_their_document(services: Services, database_rows: Callable[[str], Any]) -> None:
    found = await fill(services, "stock.md")
    assert await database_rows("SELECT count(*) FROM rag.table_columns") == 5
    changed = STOCK.replace("12.50", "312.50").encode()
    await index_now(services, "tables", [Source("stock.md", "stock.md", changed)])
    assert await database_rows("SELECT count(*) FROM rag.table_columns") == 5
    assert (await asked(services, "Which product has the highest price?")).answer.startswith("Lamp: 312.50 EUR")
    await database_rows(
        "UPDATE rag.document_tables SET version = 1 RETURNING 1"
    )  # as a release without cells leaves them
    assert not computed(await asked(services, "Which product has the highest price?"))
    await delete_document(services, "tables", found["stock.md"].document_id)
    assert await database_rows("SELECT count(*) FROM rag.document_tables") == 0
    assert await database_rows("SELECT count(*) FROM rag.table_columns") == 0


async def test_another_tenant_computes_over_its_own_tables(services: Services, other_tenant: Services) -> None:
    await fill(services, "stock.md")
    mine = STOCK.replace("240.00", "11.00").encode()
    await index_now(other_tenant, "tables", [Source("stock.md", "stock.md", mine)])
    assert (await asked(services, "Which product has the highest price?")).answer.startswith("Table: 240.00 EUR")
    assert (await asked(other_tenant, "Which product has the highest price?")).answer.startswith("Chair: 89.00 EUR")


async def test_two_tables_that_may_be_meant_are_not_chosen_between(services: Services) -> None:
    await fill(services, "stock.md")
    other = STOCK.replace("# Warehouse", "# Shop").replace("Chair", "Stool").encode()
    await index_now(services, "tables", [Source("shop.md", "shop.md", other)])
    assert not computed(await asked(services, "Which product has the lowest price?"))
    named = await asked(services, "Which product has the highest price in the shop?")
    assert named.answer.startswith("Table: 240.00 EUR")
    assert {one.external_id for one in named.citations} == {"shop.md"}


@ALONE
async def test_an_analyst_reads_cells(services: Services, database_rows: Callable[[str], Any]) -> None:
    await fill(services, "fees.html")
    assert await database_rows(
        "SELECT array_agg(text || ' is ' || coalesce(number::text, '?') || ' of ' || unit ORDER BY row_number) "
        "FROM analyst.table_cells WHERE column_name = '2023'"
    ) == ["$ 1,204.5 is 1204.5 of $#", "310.0 is 310.0 of ", "n/a is ? of ", "79 % is 79 of #%"]


STATEMENT = """# Statement of income

EUR million

| | 2024 | 2023 | 2022 |
| --- | --- | --- | --- |
| Revenue | 1,640.2 | 1,512.8 | 1,498.0 |
| Cost of sales | (1,204.6) | (1,110.3) | (1,022.9) |
| Restructuring costs | (14.5) | (42.0) | – |
"""


@pytest.mark.parametrize(
    ("question", "starts"),
    [
        ("Which year had the highest restructuring costs?", "2023: (42.0)"),
        ("In which year was the cost of sales the lowest?", "2022: (1,022.9)"),
        ("By how much did the cost of sales increase from 2022 to 2024?", "181.7"),
        ("In which year was revenue the highest?", "2024: 1,640.2"),
    ],
)
async def test_costs_in_parentheses_are_compared_as_amounts(services: Services, question: str, starts: str) -> None:
    await index_now(services, "statement", [Source("statement.md", "statement.md", STATEMENT.encode())])
    answer = await answered(services, question, collection="statement")
    assert computed(answer)
    assert answer.answer.startswith(starts)
