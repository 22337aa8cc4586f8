"""Questions that ask for a computation, read against the names of a table: one meaning or none."""

from __future__ import annotations

import uuid
from dataclasses import replace
from decimal import Decimal
from itertools import permutations

import pytest

from cairn.answer.computed import unit_note
from cairn.domain.computation import Computation
from cairn.domain.table import DocumentTable, NamedCells, TableAddress, TableSketch
from cairn.ingest.table_cells import document_tables
from cairn.language.cells import tokens_of
from cairn.language.lexicon import languages
from cairn.language.tables import tables_in
from cairn.language.title_scale import is_same_currency, scale_in_title, unit_at_end
from cairn.query.table_question import bind
from cairn.query.table_reading import initials_of
from cairn.query.table_words import bracketed, header_words, is_deed_of, read_question, split_compounds, year_range
from tests.growth import repeated, takes_linear_time

SALES = """
| Region | Year | Revenue (EUR k) | Units | Status |
| --- | --- | --- | --- | --- |
| North | 2021 | 1,240 | 30 | open |
| North | 2022 | 1,310 | 32 | closed |
| North | 2023 | 1,150 | 28 | closed |
| South | 2021 | 980 | 20 | open |
| South | 2022 | 1,010 | 21 | closed |
| South | 2023 | 1,475 | 35 | open |
"""
STOCK = """
| Product | Price (EUR) | Stock | Reorder level |
| --- | --- | --- | --- |
| Lamp | 12.50 | 5 | 10 |
| Chair | 89.00 | 40 | 8 |
| Table | 240.00 | 2 | 4 |
"""
STATEMENT = """
| ($ in millions) | 2019 | 2018 | 2017 | Change |
| --- | --- | --- | --- | --- |
| Net sales: | | | | |
| Services | 120.5 | 110.0 | 90.0 | 10% |
| Products | 300.0 | 310.0 | 280.0 | (3)% |
| Total net sales | 420.5 | 420.0 | 370.0 | 0% |
| Costs: | | | | |
| Services | 80.0 | 70.0 | 60.0 | 14% |
| Research and development | 20.0 | 16.0 | 15.0 | 25% |
"""
BRANCHES = """
| Branch | Country | Status | Staff 2024 | Staff 2025 | Price change (%) | Sick days | Items | Rating | Depth id | Minimum age |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| North | France | open | 20 | 23 | -4 | 7 | 4 | 3 | 11 | 18 |
| West | AT | closed | 25 | 31 | 3 | 2 | 5 | 4 | 12 | 16 |
| East | DE | open | 30 | 28 | 2 | 1 | 4 | 5 | 13 | 21 |
"""
VILLES = """
| Ville | Quantité | Habitants 2024 | Habitants 2025 |
| --- | --- | --- | --- |
| Dole | 4 | 100 | 140 |
| Gex | 5 | 120 | 110 |
"""
GOODS = """
| Item | Quantity | {unit} | Price (EUR) | Total |
| --- | --- | --- | --- | --- |
| Oil | 4 | l | 3 | 12 |
| Nut | 5 | pcs | 4 | 20 |
"""
UMSATZ = """
| Region | Jahr | Umsatz (TEUR) |
| --- | --- | --- |
| Nord | 2022 | 1.310,5 |
| Nord | 2023 | 1.150,0 |
| Süd | 2022 | 1.010,0 |
| Süd | 2023 | 1.475,2 |
"""
VENTES = """
| Région | Année | Chiffre d'affaires |
| --- | --- | --- |
| Nord | 2022 | 1 310,5 |
| Nord | 2023 | 1 150,0 |
| Sud | 2022 | 1 010,0 |
| Sud | 2023 | 1 475,2 |
"""
VENTAS = """
| Región | Año | Ingresos |
| --- | --- | --- |
| Norte | 2022 | 1.310,5 |
| Norte | 2023 | 1.150,0 |
| Sur | 2022 | 1.010,0 |
| Sur | 2023 | 1.475,2 |
"""
VENDITE = """
| Regione | Anno | Ricavi |
| --- | --- | --- |
| Nord | 2022 | 1.310,5 |
| Nord | 2023 | 1.150,0 |
| Sud | 2022 | 1.010,0 |
| Sud | 2023 | 1.475,2 |
"""


def read_table(text: str, language: str | None = "en") -> DocumentTable:
    [table] = document_tables(text, tables_in(text), lambda _: (), language)
    return table


def sketch(table: DocumentTable, title: str = "") -> TableSketch:
    return TableSketch(
        TableAddress(uuid.UUID(int=1), 0), title, (), table.header, len(table.starts), table.mark, table.complete,
        tuple(column.numbered > 0 and 2 * column.numbered > column.filled for column in table.columns),
        tuple(column.filled == column.dated > 0 for column in table.columns),
        tuple(column.unit for column in table.columns), "sales.xlsx", "sales.xlsx",
    )  # fmt: skip


def named(table: DocumentTable, names: tuple[str, ...]) -> list[NamedCells]:
    """As the database finds them (sql/queries/tables.sql, named)."""
    found: dict[tuple[int, str, str], list[int]] = {}
    for position, column in enumerate(table.columns):
        for row, key in enumerate(column.keys):
            if key in names:
                found.setdefault((position, key, table.groups[row]), []).append(row)
    return [
        NamedCells(
            position, key, key, group, table.columns[position].texts[rows[0]], len(rows), rows[0] + 1,
            all(table.totals[row] for row in rows),
        )
        for (position, key, group), rows in found.items()
    ]  # fmt: skip


def meant(question: str, text: str = SALES, language: str | None = "en", title: str = "") -> Computation | None:
    asked = read_question(question)
    if asked is None:
        return None
    table = read_table(text, language)
    return bind(asked, sketch(table, title), named(table, asked.names))


def conditions(found: Computation) -> dict[int, tuple[str, ...]]:
    return {one.position: one.keys for one in found.conditions}


@pytest.mark.parametrize(
    ("question", "text", "language"),
    [
        ("Which year had the highest revenue in the South region?", SALES, "en"),
        ("In welchem Jahr war der Umsatz in der Region Süd am höchsten?", UMSATZ, "de"),
        ("Quelle année a eu le chiffre d'affaires le plus élevé dans la région Sud ?", VENTES, "fr"),
        ("¿Qué año tuvo los ingresos más altos en la región Sur?", VENTAS, "es"),
        ("In quale anno i ricavi della regione Sud sono stati più alti?", VENDITE, "it"),
    ],
)
def test_the_highest_is_asked_for_in_five_languages(question: str, text: str, language: str) -> None:
    found = meant(question, text, language)
    assert found is not None
    assert (found.operation, found.measure, found.asked) == ("highest", 2, 1)
    assert list(conditions(found)) == [0]


@pytest.mark.parametrize(
    ("question", "text", "language", "operation"),
    [
        ("What is the total revenue of the North region?", SALES, "en", "sum"),
        ("Wie hoch ist die Summe der Umsätze in der Region Nord?", UMSATZ, "de", "sum"),
        ("Quelle est la somme du chiffre d'affaires dans la région Nord ?", VENTES, "fr", "sum"),
        ("¿Cuál es la suma de los ingresos en la región Norte?", VENTAS, "es", "sum"),
        ("Qual è la somma dei ricavi della regione Nord?", VENDITE, "it", "sum"),
        ("What is the average revenue in 2022?", SALES, "en", "average"),
        ("Wie hoch ist der durchschnittliche Umsatz im Jahr 2022?", UMSATZ, "de", "average"),
        ("Quelle est la moyenne du chiffre d'affaires en 2022 ?", VENTES, "fr", "average"),
        ("¿Cuál es la media de los ingresos en 2022?", VENTAS, "es", "average"),
        ("Qual è la media dei ricavi nel 2022?", VENDITE, "it", "average"),
    ],
)
def test_sums_and_averages_over_named_rows(question: str, text: str, language: str, operation: str) -> None:
    found = meant(question, text, language)
    assert found is not None
    assert (found.operation, found.measure, found.asked, len(found.conditions)) == (operation, 2, None, 1)


PLANTS = """
| Plant | No. of workers | Nº de turnos | Salary |
| --- | --- | --- | --- |
| Derby | 300 | 3 | 120 |
| Luton | 210 | 2 | 310 |
| Crewe | 95 | 1 | 70 |
"""


@pytest.mark.parametrize(
    ("question", "operation", "measure", "asked"),
    [
        ("How many workers are there in total?", "sum", 1, None),
        ("Which plant has the most workers?", "highest", 1, 0),
        ("What is the highest number of workers?", "highest", 1, None),
        ("¿Cuántos turnos hay en total?", "sum", 2, None),
    ],
)
def test_the_number_of_something_is_no_negation(question: str, operation: str, measure: int, asked: int | None) -> None:
    found = meant(question, PLANTS)
    assert found is not None
    assert (found.operation, found.measure, found.asked) == (operation, measure, asked)
    assert meant("How many workers are there in total?", PLANTS.replace("No. of workers", "No change, workers")) is None


@pytest.mark.parametrize("header", ["No offices", "no delivery", "no official name"])
def test_no_before_another_word_is_a_negation(header: str) -> None:
    assert "no" in header_words(header)


@pytest.mark.parametrize("header", ["No of offices", "No. of offices", "Nº de turnos", "N° d'employés"])
def test_no_before_of_is_a_number(header: str) -> None:
    assert not {"no", "n", "nº", "n°"} & header_words(header)


PAY = """
| Site | Gehalt | Salaire | Sueldo | Stipendio | Year |
| --- | --- | --- | --- | --- | --- |
| A | 41 | 10 | 7 | 5 | 2020 |
| B | 39 | 20 | 9 | 8 | 2021 |
"""


@pytest.mark.parametrize(
    ("question", "measure"),
    [
        ("Welches ist das höchste Gehalt?", 1),
        ("Quel est le salaire le plus élevé ?", 2),
        ("¿Cuál es el sueldo más alto?", 3),
        ("Quale è lo stipendio più alto?", 4),
        ("Which is the highest stipendio?", 4),
    ],
)
def test_what_the_highest_is_of_may_stand_before_it(question: str, measure: int) -> None:
    found = meant(question, PAY)
    assert found is not None
    assert (found.operation, found.measure, found.asked) == ("highest", measure, None)


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Quel salaire est le plus élevé ?", None),
        ("Quelle est l'année avec le salaire le plus élevé ?", None),
        ("Quel est le gehalt avec le salaire le plus élevé ?", 1),
    ],
)
def test_right_behind_which_or_beside_another_column_it_is_what_is_asked_for(question: str, asked: int | None) -> None:
    found = meant(question, PAY)
    assert (found.asked if found else None) == asked
    assert found is None or found.measure == 2


def test_several_conditions_hold_together() -> None:
    found = meant("What is the total revenue of North and South in 2022?")
    assert found is not None
    assert conditions(found) == {0: ("north", "south"), 1: ("2022",)}


CREWS = """
| Region | Year | Rig | Port | Sales |
| --- | --- | --- | --- | --- |
| North | 2021 | sloop | Riga | 10 |
| North | 2021 | sloop | Oslo | 20 |
| South | 2022 | ketch | Riga | 30 |
| South | 2022 | ketch | Oslo | 40 |
"""


@pytest.mark.parametrize(
    ("question", "held"),
    [
        ("What is the total sales of North in 2021 with sloop?", 3),
        ("What is the total sales of North in 2021 with sloop in Riga?", None),
    ],
)
def test_three_conditions_are_the_most(question: str, held: int | None) -> None:
    found = meant(question, CREWS)
    assert (len(found.conditions) if found else None) == held


def test_a_difference_of_two_rows_and_of_two_columns() -> None:
    rows = meant("What is the difference in revenue between North and South in 2022?")
    assert rows is not None
    assert rows.pair == ("South", "North")
    columns = meant("What was the change in research and development between 2018 and 2019?", STATEMENT)
    assert columns is not None
    assert (columns.operation, columns.row, columns.columns, columns.pair) == (
        "difference",
        5,
        (2, 1),
        ("2018", "2019"),
    )
    turned = meant("What is the percentage change in research and development in 2019 from 2018?", STATEMENT)
    assert turned is not None
    assert (turned.operation, turned.columns) == ("growth", (2, 1))


def test_rows_called_alike_are_told_apart_by_the_label_above_them() -> None:
    found = meant("What was the change in costs of services between 2018 and 2019?", STATEMENT)
    assert found is not None
    assert found.row == 4
    assert meant("What was the change in services between 2018 and 2019?", STATEMENT) is None


def test_the_largest_of_a_row_is_looked_for_in_its_years_alone() -> None:
    found = meant("In which year was research and development the highest?", STATEMENT)
    assert found is not None
    assert (found.row, found.columns) == (5, (1, 2, 3))
    counted = meant("In how many years did research and development exceed $15.5 million?", STATEMENT)
    assert counted is not None
    assert (counted.operation, counted.comparison, counted.bound) == ("count", "more", Decimal("15.5"))


def test_comparisons_with_numbers_and_with_another_column() -> None:
    above = meant("Which products have a price of more than 50?", STOCK)
    assert above is not None
    assert (above.operation, above.measure, above.comparison, above.bound) == ("listing", 1, "more", Decimal(50))
    below = meant("Which products have a stock below the reorder level?", STOCK)
    assert below is not None
    assert (below.measure, below.comparison, below.other) == (2, "less", 3)
    inferred = meant("Which products are below the reorder level?", STOCK)
    assert inferred is not None
    assert (inferred.measure, inferred.other) == (2, 3)  # a price is counted in something else
    german = meant("Welche Regionen hatten 2022 einen Umsatz von mehr als 1.200?", UMSATZ, "de")
    assert german is not None
    assert german.bound == Decimal(1200)


def test_counts_ranks_shares_and_rows_by_their_status() -> None:
    counted = meant("How many rows have the status open?")
    assert counted is not None
    assert (counted.operation, conditions(counted)) == ("count", {4: ("open",)})
    second = meant("Which product has the second highest price?", STOCK)
    assert second is not None
    assert (second.operation, second.place) == ("rank", 2)
    top = meant("What are the top 2 products by price?", STOCK)
    assert top is not None
    assert (top.operation, top.place) == ("top", 2)
    share = meant("What is the share of South in the revenue?")
    assert share is not None
    assert (share.operation, share.measure) == ("share", 2)
    part = meant("What share of the revenue does the South have in 2022?")
    assert part is not None
    assert conditions(part) == {0: ("south",), 1: ("2022",)}
    listed = meant("Which rows have the status open?")
    assert listed is not None
    assert (listed.operation, conditions(listed)) == ("listing", {4: ("open",)})


@pytest.mark.parametrize(
    ("question", "text", "language", "column", "row"),
    [
        ("What was the revenue of South in 2023?", SALES, "en", 2, {0: ("south",), 1: ("2023",)}),
        ("How many units did South have in 2023?", SALES, "en", 3, {0: ("south",), 1: ("2023",)}),
        ("What is the price of the lamp?", STOCK, "en", 1, {0: ("lamp",)}),
        ("What were the total net sales in 2019?", STATEMENT, "en", 1, "Total net sales"),
        ("How much research and development was there in 2018?", STATEMENT, "en", 2, "Research and development"),
        ("Wie hoch war der Umsatz von Süd 2022?", UMSATZ, "de", 2, {0: ("sud",), 1: ("2022",)}),
        ("Quel était le chiffre d'affaires de Sud en 2022 ?", VENTES, "fr", 2, {0: ("sud",), 1: ("2022",)}),
        ("¿Cuáles fueron los ingresos de Sur en 2022?", VENTAS, "es", 2, {0: ("sur",), 1: ("2022",)}),
        ("Quali erano i ricavi di Sud nel 2022?", VENDITE, "it", 2, {0: ("sud",), 1: ("2022",)}),
    ],
)
def test_one_number_is_looked_up(
    question: str, text: str, language: str, column: int, row: str | dict[int, tuple[str, ...]]
) -> None:
    found = meant(question, text, language)
    assert found is not None
    assert found.operation in ("value", "sum")  # of one row the sum is told as its number
    where = found.label if isinstance(row, str) else conditions(found)
    assert (found.columns or (found.measure,), where) == ((column,), row)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is the status of North in 2021?", SALES),
        ("What was the revenue of South in 2024?", SALES),  # there is no such year
        ("What was the planned revenue of South in 2023?", SALES),
        ("What was the revenue per unit of South in 2023?", SALES),
        ("What were revenue and units of South in 2023?", SALES),
        ("What was the revenue of South?", SALES),  # in three rows
        ("What was the revenue of South in March 2023?", SALES),
        ("What is the price of lamp and chair?", STOCK),
        ("What is the price of the red lamp?", STOCK),
        ("What were services in 2019?", STATEMENT),  # sold, or paid
        ("What were the total net sales?", STATEMENT),  # of three years
        ("What is the total of services in 2019?", STATEMENT),
        ("Who is responsible for the revenue in the South region?", SALES),
        ("What is the highest revenue that was planned in the South region?", SALES),  # "planned" stands nowhere
        ("Which region had the highest profit?", SALES),
        ("What is the average revenue per employee?", SALES),
        ("What is the highest?", SALES),
        ("Which items are below the average price?", STOCK),
        ("What is the highest value in 2019?", STATEMENT),  # rows of different kinds
        ("What is the average of services from 2017 to 2019?", STATEMENT),  # is 2018 meant, too?
        ("How many units were sold by North?", SALES),  # a look-up or a sum
        ("What is the difference between North and South?", SALES),  # of what?
        ("What is the sum of stock and reorder level?", STOCK),  # two columns
        ("Is the revenue more than it was over the years under review?", SALES),
        ("What is the percentage change in revenue between North and South in 2022?", SALES),
        ("How many branches have between 2 and 4 items?", BRANCHES),
        ("How many branches have 2 or 3 items?", BRANCHES),
        ("How many branches with 4 or 5 items are there?", BRANCHES),
        ("How many branches with items of 4 or 5 are there?", BRANCHES),
        ("Which branch has 4 items or more?", BRANCHES),
        ("How many branches with 4 items or fewer are there?", BRANCHES),
        ("How many branches have a rating of 3 and above?", BRANCHES),
        ("Which branches with 4 items at most are there?", BRANCHES),
        ("How many branches with about 4 items are there?", BRANCHES),
        ("How many branches with 4+ items are there?", BRANCHES),
        ("How many branches have a rating > 3?", BRANCHES),
        ("How many branches with 4 items have more than 4 items?", BRANCHES),
        ("Combien de villes ont une quantité de 4 ou plus ?", VILLES),
        ("Combien de villes ont une quantité de 4 au moins ?", VILLES),
        ("Which branches have at least 5 more staff in 2025 than in 2024?", BRANCHES),
        ("Which branches have 5 more staff in 2025 than in 2024?", BRANCHES),
        ("Which branches had no more staff in 2025 than in 2024?", BRANCHES),
        ("Quelles villes avaient au moins 5 habitants de plus en 2025 qu'en 2024 ?", VILLES),
        ("What was the highest revenue of the 3 years 2021 and 2022 in North?", SALES),
        ("total revenue of North over 3 years", SALES),
        ("Which branch is the cheapest?", BRANCHES),  # of changes
        ("Which branch is the longest?", BRANCHES),  # of sick days
        ("Which branch is the deepest?", BRANCHES),
        ("Which branch is the oldest?", BRANCHES),
        ("Which branches have a price change below -3?", BRANCHES),
        ("How many branches are in France or open?", BRANCHES),
        ("How many branches in France or with more than 4 items are there?", BRANCHES),
        ("Who has the highest price?", STOCK.replace("Product", "Product name")),
    ],
)
def test_what_is_no_computation_or_no_sure_one_is_left_alone(question: str, text: str) -> None:
    for title in ("", "Stock and revenue by region"):
        assert meant(question, text, title=title) is None


@pytest.mark.parametrize(
    ("question", "within"),
    [
        ("How many branches with 4 items are there?", [(7, "= 4")]),
        ("How many branches have a rating of 3?", [(8, "= 3")]),
        ("How many branches with 4 items and a rating 3 are there?", [(7, "= 4"), (8, "= 3")]),
        ("highest rating of branches with 4 items", [(7, "= 4")]),
        ("Combien de villes ont une quantité de 4 ?", [(1, "= 4")]),
    ],
)
def test_a_number_beside_a_header_is_what_the_row_has(question: str, within: list[tuple[int, str]]) -> None:
    found = meant(question, VILLES if "villes" in question else BRANCHES, "fr" if "villes" in question else "en")
    assert found is not None
    assert [(one.position, one.said) for one in found.within] == within


@pytest.mark.parametrize(
    ("question", "operation", "held", "stated", "place"),
    [
        ("total items of the 2 branches North and West", "sum", {0: ("north", "west")}, None, 1),
        ("highest rating of the 3 branches", "highest", {}, 3, 1),
        ("Which 2 branches have a rating above 3?", "listing", {}, 2, 1),
        ("Which 3 branches have the highest rating?", "top", {}, None, 3),
        ("Which branch in AT has the highest rating?", "highest", {1: ("at",)}, None, 1),
        ("How many branches are in France or DE?", "count", {1: ("france", "de")}, None, 1),
    ],
)
def test_a_digit_is_how_many_and_capitals_are_a_name(
    question: str, operation: str, held: dict[int, tuple[str, ...]], stated: int | None, place: int
) -> None:
    found = meant(question, BRANCHES)
    assert found is not None
    assert (found.operation, conditions(found), found.stated, found.place) == (operation, held, stated, place)


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("Who are the first-aiders?", False),
        ("Who are the last-minute guests?", False),
        ("Who is the second-last guest?", False),
        ("Who was the first?", True),
        ("Who came first - or last?", True),
        ("Who are the best-paid players?", True),
    ],
)
def test_first_in_a_word_with_a_hyphen_is_no_order(question: str, asks: bool) -> None:
    assert (read_question(question) is not None) is asks


def test_who_is_called_by_a_name_that_is_not_one_of_things() -> None:
    for header, asked in (("Name", 0), ("Full name", 0), ("Customer name", 0)):
        found = meant("Who has the highest price?", STOCK.replace("Product", header))
        assert found is not None
        assert found.asked == asked


@pytest.mark.parametrize(
    ("question", "unit", "counted_in"),
    [
        ("total quantity", "Unit of measure", 2),
        ("highest total", "Currency code", 2),
        ("total quantity", "Business unit", None),
        ("highest price", "Unit", None),  # euros
        ("average price of items with a quantity above 2", "Unit", 2),
    ],
)
def test_numbers_are_counted_in_what_a_column_says_or_they_themselves(
    question: str, unit: str, counted_in: int | None
) -> None:
    found = meant(question, GOODS.format(unit=unit))
    assert found is not None
    assert found.counted_in == counted_in


def test_a_table_of_which_a_row_stands_elsewhere_is_not_computed_over() -> None:
    long = "Region: East\nYear: 2022\nRevenue (EUR k): 7\nStatus: " + "x" * 50 + "\n\n"
    table = read_table(long + SALES.strip())
    assert not table.complete
    assert read_table("Some words before it.\n" + SALES).complete


def test_rows_that_sum_up_others_are_known_by_label_or_by_their_numbers() -> None:
    table = read_table(SALES.rstrip() + "\n| All regions |  | 7,165 | 166 |  |\n")
    assert table.totals == [False] * 6 + [True]
    unnamed = read_table("| | 2019 | 2018 |\n| --- | --- | --- |\n| Asia | 2 | 3 |\n| Europe | 5 | 4 |\n| | 7 | 7 |\n")
    assert unnamed.totals == [False, False, True]
    plain = read_table(
        "| | 2019 | 2018 |\n| --- | --- | --- |\n| Asia | 2 | 3 |\n| Europe | 5 | 4 |\n| Grand Rapids | 8 | 7 |\n"
    )
    assert plain.totals == [False, False, False]


def test_a_total_stands_below_numbers_of_rows_too_and_has_none_of_what_is_no_sum() -> None:
    head = (
        "\n| No. | Name | Hours | Pay |\n| --- | --- | --- | --- |\n| 21 | Ann | 24 | 144 |\n| 23 | Bo | 40 | 158 |\n"
    )
    career = (
        "\n| Year | Games | Yards | Sacks | Best | Average |\n| --- | --- | --- | --- | --- | --- |\n"
        "| 2011 | 16 | 583 | 45 | 9 | 7.5 |\n| 2012 | 14 | 664 | 47 | 8 | 3.0 |\n"
    )
    assert read_table(f"{career}| Career | 30 | 1247 | 92 | 9 | 5.3 |\n").totals == [
        False,
        False,
        True,
    ]  # three of five
    assert read_table(f"{career}| Both | 30 | 1247 | 92 | 9 | 5.3 |\n").totals == [False, False, True]
    assert read_table(f"{career}| 2013 | 30 | 1247 | 91 | 9 | 5.3 |\n").totals == [False, False, False]  # two
    assert read_table(f"{head}| Total | | | 302 |\n").totals == [False, False, True]
    assert read_table(f"{head}| 2 persons | | | 302 |\n").totals == [False, False, True]
    assert read_table(f"{head}| 2 persons | | | 303 |\n").totals == [False, False, False]
    bare = "\n| Item | Price | Amount |\n| --- | --- | --- |\n| Hinge | 2 | 20 |\n| Latch | 3 | 14 |\n"
    assert read_table(f"{bare}| | | 34 |\n").totals == [False, False, True]
    assert read_table(f"{bare}| | | 35 |\n").totals == [False, False, False]
    assert read_table(f"{bare}| Motor | | 34 |\n").totals == [False, False, False], "it is a thing"


def test_rows_of_averages_and_extremes_are_known_by_label_and_numbers() -> None:
    head = (
        "\n| Pupil | Dictation | Essay |\n| --- | --- | --- |\n| Ada | 12 | 15 |\n| Max | 9 | 14 |\n| Cy | 17 | 11 |\n"
    )
    shown = "| Average | 12.67 | 13.33 |\n| Median | 12 | 14 |\n| Max. | 17 | 15 |\n| Ø | 12.7 | 13 |\n"
    assert read_table(head + shown).totals == [False] * 3 + [True] * 4
    assert read_table(f"{head}| Average | 11 | 13 |\n").totals == [False] * 4, "somebody is called so"
    assert read_table(f"{head}| Min | 9 | |\n").totals == [False] * 3 + [True]


def test_a_row_with_another_name_is_a_total_where_its_numbers_are_no_chance() -> None:
    rows = ("Denmark | 1,204 | 36,120", "Norway | 987 | 29,610", "Nordic | 2,191 | 65,730", "Spain | 3,120 | 93,600",
            "Italy | 2,875 | 86,250", "South | 5,995 | 179,850", "All in all | 8,186 | 245,580")  # fmt: skip
    lines = "".join(f"| {row} |\n" for row in rows)
    table = read_table(f"\n| Area | Members | Fees |\n| --- | --- | --- |\n{lines}")
    assert [at for at, total in enumerate(table.totals) if total] == [2, 5, 6]
    few = read_table("\n| Club | Wins |\n| --- | --- |\n| A | 12 |\n| B | 30 |\n| C | 42 |\n| D | 7 |\n")
    assert few.totals == [False] * 4


POINTS = "\n| Schule | Zahl |\n| --- | --- |\n| A | 8.412 |\n| B | 5.203 |\n"


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        (POINTS, [None, None]),
        (f"{POINTS}| C | 317 |\n", [8412, 5203, 317]),
        (f"{POINTS}\nTarife\n\n| Tarif | Preis |\n| --- | --- |\n| X | 4,50 |\n| Y | 3,20 |\n", [8412, 5203]),
        (f"{POINTS}| C | 3.5 |\n| D | 317 |\n", [Decimal("8.412"), Decimal("5.203"), Decimal("3.5"), 317]),
    ],
)
def test_points_are_between_thousands_where_the_column_or_the_document_says_so(
    text: str, numbers: list[Decimal | None]
) -> None:
    first = document_tables(text, tables_in(text), lambda _: (), "de")[0]
    assert first.columns[1].numbers == numbers


def test_pieces_of_a_long_table_are_one() -> None:
    header, *rows = SALES.strip().split("\n")
    piece = "\n".join([header, rows[0], *rows[1:4]]) + "\n\n" + "\n".join([header, rows[0], *rows[4:]]) + "\n"
    assert len(read_table(piece).starts) == 6
    apart = piece.replace("\n\n", "\n\nMore of it.\n\n")
    assert [one.complete for one in document_tables(apart, tables_in(apart), lambda _: (), "en")] == [False, False]


# --- tables as people have them -------------------------------------------------------------------------------------------

FERRIES = """
| line | seat_km_per_week | delays_85_99 | bad_delays_85_99 | injuries_85_99 | delays_00_14 | injuries_00_14 | onTimePercent |
| --- | --- | --- | --- | --- | --- | --- | --- |
| North Star* | 320 | 12 | 0 | 3 | 2 | 0 | 91.5 |
| Blue Coast | 1190 | 76 | 14 | 128 | 6 | 88 | 78.2 |
| Old Harbour | 385 | 6 | 0 | 0 | 1 | 0 | 95.0 |
"""
VOTES = """
| Party | 1998 | 2002 | 2006 |
| --- | --- | --- | --- |
| Red | 120 | 130 | 140 |
| Green | 40 | 60 | 90 |
| Blue | 200 | 180 | 150 |
"""
PAPERS = """
| Paper | Daily copies, 2004 | Daily copies, 2013 | Change in daily copies, 2004-2013 | Prizes, 1990-2003 | Prizes, 1990-2014 |
| --- | --- | --- | --- | --- | --- |
| Herald | 2,192 | 1,674 | -24% | 1 | 2 |
| Courier | 2,101 | 2,378 | +13% | 30 | 50 |
| Post | 642 | 0 | -100% | 0 | 0 |
"""
CAMAS = """
| Centro | Camas públicas | Camas privadas | Ocupación |
| --- | --- | --- | --- |
| Norte | 572 | 162 | 0.71 |
| Sur | 113 | 22 | 0.48 |
| Este | 86 | 7 | 0.52 |
"""


@pytest.mark.parametrize(
    ("question", "text", "operation", "measure"),
    [
        ("line with the most delays from 1985 to 1999", FERRIES, "highest", 2),
        ("North Star and Blue Coast together, how many injuries 2000 to 2014?", FERRIES, "sum", 6),
        ("how many lines had no injuries between 2000 and 2014 at all?", FERRIES, "count", 6),
        ("which line has the best on time percent?", FERRIES, None, None),  # nothing says that more is better
        ("which line has the highest on time percent?", FERRIES, "highest", 7),
        ("lines with more than 300 seat km", FERRIES, None, None),  # "per week" is not said
        ("lines with more than 300 seat km per week", FERRIES, "listing", 1),
        ("paper with the highest copies in 2013", PAPERS, "highest", 2),
        ("which paper had the most prizes between 1990 and 2014", PAPERS, "highest", 5),
        ("which paper had the most prizes in 2014", PAPERS, None, None),  # from 1990 on
        ("which paper had the most copies", PAPERS, None, None),  # when?
        ("how many papers had more than 1500 daily copies in 2013", PAPERS, "count", 2),
        ("how many more copies did the Courier have than the Herald in 2013", PAPERS, "difference", 2),
        ("average number of prizes between 1990 and 2014", PAPERS, "average", 5),
        ("average stock", STOCK, "average", 2),
        ("who got the most votes in 2002", VOTES, "highest", 2),
        ("third largest party in 2006", VOTES, "rank", 3),
        ("which party is the best in 2006", VOTES, None, None),
        ("¿Cuántas camas públicos hay en total?", CAMAS, "sum", 1),
        ("¿Qué centro tiene más camas privadas?", CAMAS, "highest", 2),
        ("¿Qué centro tiene la mejor ocupación?", CAMAS, None, None),
    ],
)
def test_columns_are_found_by_the_words_that_say_which_is_meant(
    question: str, text: str, operation: str | None, measure: int | None
) -> None:
    found = meant(question, text, title="Votes by party, delays of lines")
    assert (found and found.operation, found and found.measure) == (operation, measure)


def test_years_between_two_are_meant_where_the_question_says_from_to() -> None:
    copies = meant("total injuries of Blue Coast from 1985 to 1999", FERRIES)
    assert copies is not None
    assert copies.measure == 4
    rows = meant("What was the total revenue of South from 2021 to 2023?")
    assert rows is not None
    assert conditions(rows) == {0: ("south",), 1: ("2021", "2022", "2023")}
    columns = meant("What is the average of votes for Green from 1998 to 2006?", VOTES, title="Votes")
    assert columns is not None
    assert columns.columns == (1, 2, 3)
    assert meant("What is the average of votes for Green in 1998 and 2006?", VOTES, title="Votes") is None


@pytest.mark.parametrize(
    ("question", "years"),
    [
        ("sales from 1998 to 2006", ("1998", "2006")),
        ("Umsatz von 1998 bis 2006", ("1998", "2006")),
        ("ventes depuis 1998 jusqu'en 2006", ("1998", "2006")),
        ("ingresos desde 1998 hasta 2006", ("1998", "2006")),
        ("ricavi dal 1998 al 2006", ("1998", "2006")),
        ("sales from 2006 to 1998", None),
        ("sales from 1998 to 2006 and from 2010 to 2012", None),
        ("sales of 1998", None),
        ("from 1998", None),
    ],
)
def test_two_years_stand_for_those_between_them(question: str, years: tuple[str, str] | None) -> None:
    assert year_range(tokens_of(question)) == years


RIVERS = """
| River | Country | Length (km) | Traffic (t) |
| --- | --- | --- | --- |
| Danube | Austria | 2850 | 7130 |
| Rhine | Germany | 1230 | 2900 |
| Elbe | Germany | 1094 | 870 |
"""
MONTHS = """
| Month | Region | Sales |
| --- | --- | --- |
| March 2025 | North | 40 |
| March 2025 | South | 30 |
| May 2025 | South | 50 |
"""
DATED = """
| Region | Founded | Sales March 2025 | Sales April 2025 |
| --- | --- | --- | --- |
| North | 2020-01-01 | 40 | 4 |
| South | 2021-03-02 | 30 | 9 |
"""


@pytest.mark.parametrize(
    ("question", "text", "measure", "held"),
    [
        ("total sales in March 2025", MONTHS, 2, {0: ("march 2025",)}),
        ("total sales in March 2025 or May 2025", MONTHS, 2, {0: ("march 2025", "may 2025")}),
        ("Which region had the highest sales in March 2025?", DATED, 2, {}),
        (
            "difference in South between March 2025 and May 2025",
            MONTHS,
            2,
            {0: ("may 2025", "march 2025"), 1: ("south",)},
        ),
        ("total sales from March 2025 to May 2025", MONTHS, None, {}),
        ("total sales before May 2025", MONTHS, None, {}),
        ("total sales in March 2025 or before", MONTHS, None, {}),
        ("total sales in March 2025 and April 2025", MONTHS, None, {}),
    ],
)
def test_a_month_may_be_the_name_of_rows_or_of_a_column(
    question: str, text: str, measure: int | None, held: dict[int, tuple[str, ...]]
) -> None:
    found = meant(question, text)
    assert (found and found.measure) == measure
    assert found is None or (conditions(found), found.within) == (held, ())


@pytest.mark.parametrize(("plural", "cell", "called"), [("vans", "van", True), ("tvs", "tv", False)])
def test_a_cell_of_three_letters_may_be_called_in_the_plural(plural: str, cell: str, called: bool) -> None:
    question = read_question(f"How many {plural} are open?")
    assert question is not None
    assert (cell in question.names) is called


@pytest.mark.parametrize(
    ("name", "initials"),
    [("New Jersey", "nj"), ("Alps", ""), ("a b c d e", "abcde"), ("a b c d e f", ""), ("Plan 9", ""), ("", "")],
)
def test_names_of_several_words_are_called_by_their_initials(name: str, initials: str) -> None:
    assert initials_of(name) == initials


def test_how_many_of_a_column_that_counts_is_its_sum() -> None:
    found = meant("how many units had the status open in 2021?")
    assert found is not None
    assert (found.operation, found.measure, conditions(found)) == ("sum", 3, {1: ("2021",), 4: ("open",)})
    assert meant("how many units did North have?") is None  # each row is of another year
    assert meant("how many delays did Blue Coast and Old Harbour have from 2000 to 2014?", FERRIES) is None  # each?


@pytest.mark.parametrize(
    ("question", "text", "language"),
    [
        ("How many more revenue units has South than North in 2022?", SALES, "en"),
        ("Wie viel Umsatz mehr hat Süd als Nord 2022?", UMSATZ, "de"),
        ("Wie viele Umsätze mehr hat Süd als Nord 2022?", UMSATZ, "de"),
        ("Combien de chiffre d'affaires de plus Sud a-t-il que Nord en 2022 ?", VENTES, "fr"),
        ("¿Cuántos ingresos más tiene Sur que Norte en 2022?", VENTAS, "es"),
        ("Quanti ricavi in più ha Sud di Nord nel 2022?", VENDITE, "it"),
    ],
)
def test_how_many_more_is_never_a_sum_or_a_count(question: str, text: str, language: str) -> None:
    found = meant(question, text, language)
    assert found is None or (found.operation, found.pair[1][0]) == ("difference", "S")


def test_growth_of_a_row_is_told_as_a_difference() -> None:
    found = meant("how much did Green grow from 1998 to 2006", VOTES)
    assert found is not None
    assert (found.operation, found.row, found.columns) == ("difference", 2, (1, 3))


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("incidents_85_99", {"incidents", "85", "99", "1985", "1999"}),
        ("ShareWomen", {"share", "women"}),
        ("fatalities 00-14", {"fatalities", "00", "14", "2000", "2014"}),
        ("2015_murders", {"2015", "murders"}),
        ("rain_50_60", {"rain", "50", "60", "1950", "1960"}),
        ("rain 20-49", {"rain", "20", "49", "2020", "2049"}),
        ("", set()),
        ("size_18to22", {"size", "18to22"}),
    ],
)
def test_headers_are_taken_apart(header: str, words: set[str]) -> None:
    assert header_words(header) == words


CANDIDATES = """
| Candidate | {year} | {votes} |
| --- | --- | --- |
| Ada | 2012 | 5 |
| Bea | 2016 | 7 |
| Cleo | 2020 | 9 |
"""


@pytest.mark.parametrize(
    ("question", "language", "year", "votes"),
    [
        ("Quel est le nombre de voix le plus élevé en 2012 et en 2016 ?", "fr", "Année", "Voix"),
        ("¿Cuál es el número de votos más alto en 2012 y 2016?", "es", "Año", "Votos"),
        ("Qual è il numero di voti più alto nel 2012 e nel 2016?", "it", "Anno", "Voti"),
        ("What are the votes in fall 2012 and 2016?", "en", "Year", "Votes"),
        ("Welche Stimmen gab es im Fall 2012 und 2016?", "de", "Jahr", "Stimmen"),
        ("Quel est le gain de voix en 2012 et 2016 ?", "fr", "Année", "Voix"),
    ],
)
def test_what_only_looks_like_more_or_less_makes_no_difference(
    question: str, language: str, year: str, votes: str
) -> None:
    assert meant(question, CANDIDATES.format(year=year, votes=votes), language) is None


def test_zero_is_a_number_behind_a_comparison() -> None:
    found = meant("lines with more than zero injuries from 2000 to 2014", FERRIES, title="Delays of lines")
    assert found is not None
    assert (found.operation, found.comparison, found.bound) == ("listing", "more", 0)


def test_the_years_of_a_period_explain_nothing_alone() -> None:
    ages = "| County | Age 10-14 |\n| --- | --- |\n| Ash | 10 |\n| Elm | 4 |\n"
    assert meant("Which county has the highest age 10-14?", ages) is not None
    assert meant("Which county has the highest age 10-14 in 2010?", ages) is None


def test_marks_at_school_are_better_the_lower_they_are_in_some_countries() -> None:
    marks = "| Schüler | Note |\n| --- | --- |\n| Ada | 1 |\n| Bea | 4 |\n"
    assert meant("Welcher Schüler hat die beste Note?", marks, "de") is None
    assert meant("Welcher Schüler hat die höchste Note?", marks, "de") is not None


@pytest.mark.parametrize(
    ("question", "operation"),
    [
        ("How many lines do not have more than 300 seat km per week?", None),
        ("Wie viele Linien haben nicht mehr als 300 seat km per week?", None),
        ("Combien de lignes n'ont pas plus de 300 seat km per week ?", None),
        ("¿Cuántas líneas no tienen más de 300 seat km per week?", None),
        ("Quante linee non hanno più di 300 seat km per week?", None),
        ("Which line does not have the most injuries from 2000 to 2014?", None),
        ("How many lines have no more than 350 seat km per week?", "count"),
    ],
)
def test_what_is_negated_is_not_computed_as_if_it_were_not(question: str, operation: str | None) -> None:
    found = meant(question, FERRIES, title="lines, Linien, lignes, líneas, linee")
    assert (found and found.operation) == operation
    said = " ".join(word for word in question.split() if word not in ("not", "nicht", "n'ont", "pas", "no", "non"))
    assert meant(said, FERRIES, title="lines, Linien, lignes, líneas, linee") is not None


EXPORTS = """
| {code} | {state} | {total} | {wheat} | {cotton} |
| --- | --- | --- | --- | --- |
| AL | Alabama | 1390 | 70 | 317 |
| AZ | Arizona | 1463 | 48 | 423 |
| CA | California | 16472 | 249 | 1064 |
"""
ENGLISH = EXPORTS.format(code="Code", state="State", total="Total exports", wheat="Wheat", cotton="Cotton")


@pytest.mark.parametrize(
    ("question", "language", "words"),
    [
        ("total wheat exports of all states in 2011?", "en", ("State", "Total exports", "Wheat")),
        ("add up the wheat exports of every state", "en", ("State", "Total exports", "Wheat")),
        ("Summe der Exporte Weizen aller Staaten", "de", ("Staaten", "Exporte gesamt", "Weizen")),
        ("total des exportations de blé de tous les États", "fr", ("État", "Total exportations", "Blé")),
        ("suma de las exportaciones de trigo de todos los estados", "es", ("Estado", "Total exportaciones", "Trigo")),
        ("somma delle esportazioni di grano di tutti gli stati", "it", ("Stato", "Totale esportazioni", "Grano")),
    ],
)
def test_of_all_rows_the_sum_is_asked_by_what_the_table_is_of(
    question: str, language: str, words: tuple[str, ...]
) -> None:
    state, total, wheat = words
    text = EXPORTS.format(code="Code", state=state, total=total, wheat=wheat, cotton="X")
    found = meant(question, text, language, title=f"{total} 2011")
    assert found is not None
    assert (found.operation, found.measure, found.conditions, found.asked) == ("sum", 3, (), None)


@pytest.mark.parametrize(
    "question",
    [
        "total number of all states with wheat exports",
        "total wheat and cotton exports of all states",
        "total corn exports of all states",
        "total wheat imports of all states",
        "total wheat exports of all states in 2012",
        "total exports of all states that grow wheat",
    ],
)
def test_one_sum_is_not_told_where_several_or_another_are_asked_for(question: str) -> None:
    assert meant(question, ENGLISH, title="Agricultural exports by state, 2011") is None
    assert meant("What is the total stock per product?", STOCK) is None
    for each in ("of each", "per", "of every"):
        found = meant(f"total wheat exports {each} state", ENGLISH, title="Agricultural exports by state, 2011")
        assert found is not None
        assert (found.operation, found.measure, found.asked, found.each) == ("sum", 3, 1, True)


PEOPLE = """
| {country} | {group} | 2012 | 2020 | 2022 |
| --- | --- | --- | --- | --- |
| Denmark | Nordic | 5591 | 5831 | 5903 |
| Norway | Nordic | 5018 | 5379 | 5457 |
| Estonia | Baltic | 1322 | 1329 | 1348 |
| Latvia | Baltic | 2034 | 1900 | 1879 |
| Lithuania | Baltic | 2989 | 2810 | 2831 |
"""


@pytest.mark.parametrize(
    ("question", "operation", "language", "country", "title"),
    [
        (
            "How many people did the three Baltic countries have all together in 2020?",
            "sum",
            "en",
            "Country",
            "Population",
        ),
        ("average number of inhabitants of the Baltic countries in 2020", "average", "en", "Country", "Population"),
        ("Durchschnitt der Einwohner der Baltic Länder in 2020", "average", "de", "Länder", "Bevölkerung"),
        ("nombre moyen d'habitants des pays Baltic en 2020", "average", "fr", "Pays", "Population"),
        ("promedio de habitantes de los países Baltic en 2020", "average", "es", "Países", "Población"),
        ("media degli abitanti dei paesi Baltic nel 2020", "average", "it", "Paesi", "Popolazione"),
    ],
)
def test_rows_are_chosen_by_the_cell_of_another_column(
    question: str, operation: str, language: str, country: str, title: str
) -> None:
    found = meant(question, PEOPLE.format(country=country, group="Group"), language, title=title)
    assert found is not None
    assert (found.operation, found.measure, conditions(found)) == (operation, 3, {1: ("baltic",)})
    assert found.stated == (3 if "three" in question else None)


@pytest.mark.parametrize(
    ("question", "language", "title"),
    [
        ("by how many people did Latvia shrink from 2012 to 2022", "en", "Population"),
        ("Um wie viele Einwohner sank Latvia von 2012 bis 2022?", "de", "Bevölkerung"),
        ("De combien d'habitants Latvia a reculé de 2012 à 2022 ?", "fr", "Population"),
        ("¿En cuántos habitantes disminuyó Latvia de 2012 a 2022?", "es", "Población"),
        ("Di quanti abitanti è calata Latvia dal 2012 al 2022?", "it", "Popolazione"),
    ],
)
def test_by_how_many_asks_for_a_difference(question: str, language: str, title: str) -> None:
    text = PEOPLE.format(country="Country", group="Group")
    found = meant(question, text, language, title=title)
    assert found is not None
    assert (found.operation, found.row, found.columns) == ("difference", 4, (2, 4))
    assert meant(question, text, language, title="Budget") is None  # of what are these?


@pytest.mark.parametrize(
    ("question", "falls"),
    [
        ("How much did sales in Lund fall from 2024 to 2025?", True),
        ("By how much did sales in Lund decrease from 2024 to 2025?", True),
        ("How much did sales in Lund rise from 2024 to 2025?", False),
        ("What is the difference in sales in Lund between 2024 and 2025?", False),
    ],
)
def test_a_fall_is_asked_for(question: str, falls: bool) -> None:
    found = meant(
        question, "| City | Sales 2024 | Sales 2025 |\n| --- | --- | --- |\n| Lund | 9 | 6 |\n| Ystad | 5 | 7 |\n"
    )
    assert found is not None
    assert (found.operation, found.columns, found.falls) == ("difference", (1, 2), falls)


@pytest.mark.parametrize(
    "question",
    [
        "average number of inhabitants of the Baltic countries",  # when?
        "average number of inhabitants of the Slavic countries in 2020",
        "how many people did the three biggest Baltic countries have together in 2020",
        "how many people did three of the Baltic countries have together in 2020",
        "how many people did the Baltic countries have together in 2012 and 2022",
        "by how many people did Latvia and Estonia shrink from 2012 to 2022",
        "by how many people did Latvia shrink after 2012",
        "by how many people did Latvia shrink each year from 2012 to 2022",
        "how many people did the other countries have together in 2020",
        "average number of inhabitants of the other Baltic countries in 2020",
        "which two Baltic countries have the highest number of inhabitants in 2020",
    ],
)
def test_people_that_cannot_be_told_are_not_counted(question: str) -> None:
    assert meant(question, PEOPLE.format(country="Country", group="Group"), title="Population") is None


@pytest.mark.parametrize(
    ("question", "language", "state"),
    [
        ("which two states have the most wheat?", "en", "State"),
        ("Welche zwei Staaten haben am meisten Wheat?", "de", "Staat"),
        ("Quels deux états ont le plus de wheat ?", "fr", "État"),
        ("¿Qué dos estados tienen más wheat?", "es", "Estado"),
        ("Quali tre regioni hanno più wheat?", "it", "Regione"),
    ],
)
def test_so_many_of_the_highest_are_asked_for_in_words(question: str, language: str, state: str) -> None:
    text = EXPORTS.format(code="Code", state=state, total="Total", wheat="Wheat", cotton="Cotton")
    found = meant(question, text, language)
    assert found is not None
    assert (found.operation, found.measure, found.asked) == ("top", 3, 1)
    assert found.place == (3 if language == "it" else 2)


def test_so_many_of_the_lowest_are_asked_for_in_words() -> None:
    found = meant("which two states have the least wheat?", ENGLISH)
    assert found is not None
    assert (found.operation, found.measure, found.place, found.turned) == ("top", 3, 2, True)


@pytest.mark.parametrize(
    "question",
    [
        "which two states have the second most wheat?",
        "which two states together have the most wheat?",
        "which two states do not have the most wheat?",
        "which two or three states have the most wheat?",
        "which two big states have the most wheat?",
    ],
)
def test_which_ones_of_several_may_be_meant_is_not_guessed(question: str) -> None:
    assert meant(question, ENGLISH) is None


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("what share of the total cotton came from California", "en"),
        ("Welcher Anteil von Cotton kommt aus California?", "de"),
        ("Quelle part de cotton vient de California ?", "fr"),
        ("¿Qué parte de cotton proviene de California?", "es"),
        ("Quale quota di cotton proviene da California?", "it"),
    ],
)
def test_a_share_of_the_total_is_one_of_the_sum(question: str, language: str) -> None:
    found = meant(question, ENGLISH, language)
    assert found is not None
    assert (found.operation, found.measure, conditions(found)) == ("share", 4, {1: ("california",)})
    assert meant("what share of the total cotton came from California and Arizona", ENGLISH) is None


@pytest.mark.parametrize(
    ("verb", "header", "said"),
    [
        ("supplies", "Supplier", True), ("supplied", "Supplier", True), ("manage", "Manager", True),
        ("liefert", "Supplier", False), ("supplier", "Supplier", False),
        ("mans", "Manager", False), ("plays", "Player", True), ("delivers", "Delivered on", False),
    ],
)  # fmt: skip
def test_what_persons_do_is_alike_in_more_than_three_letters(verb: str, header: str, said: bool) -> None:
    assert is_deed_of(verb, header) is said


WORTHS = """
| Item | Category | Units in stock | Unit price (EUR) |
| --- | --- | --- | --- |
| Oak table | Tables | 14 | 349.00 |
| Stool | Chairs | 64 | 24.50 |
"""


@pytest.mark.parametrize(
    ("question", "text", "operation"),
    [
        ("What is the total value of the stock?", WORTHS, None),
        ("What is the total value of the stock?", WORTHS.replace("Unit price (EUR)", "Weight (kg)"), None),
        ("What is the total value of the stock?", WORTHS.replace("Units in stock", "Stock"), None),
        ("What is the total value of the stock?", WORTHS.replace("Units in stock", "Stock value"), "sum"),
        ("What is the total number of units in stock?", WORTHS, "sum"),
        ("What is the highest value of the unit price?", WORTHS, "highest"),
        ("Quelle est la valeur moyenne des units in stock ?", WORTHS, "average"),
    ],
)
def test_the_value_of_things_is_no_number_of_them(question: str, text: str, operation: str | None) -> None:
    found = meant(question, text)
    assert (found.operation if found else None) == operation


@pytest.mark.parametrize(("header", "cell"), [("Yield (%)", "71.2"), ("Yield", "71.2 %")])
def test_shares_of_different_wholes_are_not_added_up(header: str, cell: str) -> None:
    runs = f"\n| Run | Year | {header} |\n| --- | --- | --- |\n| R1 | 2019 | {cell} |\n| R2 | 2019 | {cell} |\n"
    assert meant("What is the total yield of 2019?", runs) is None
    found = meant("What is the average yield in 2019?", runs)
    assert found is not None
    assert found.operation == "average"


PRICED_FLEET = """
| Vessel | Type | Price | Crew |
| --- | --- | --- | --- |
| Calypso | Ferry | 21500 | 35 |
| Dorado | Ferry | 30250 | 38 |
| Aurora | Tug | 4200 | 8 |
"""
IN_THOUSANDS = "Harbour fleet, all prices in thousand EUR"


@pytest.mark.parametrize(
    ("question", "title", "bound"),
    [
        ("How many vessels have a price under 5000 euros?", "Harbour fleet", 5000),
        ("How many vessels have a price under 5000 euros?", IN_THOUSANDS, None),
        ("How many vessels have a price under 5000?", "Flotte, Beträge in Tsd. Euro", None),
        ("How many vessels have a price under 5 million euros?", IN_THOUSANDS, 5000),
        ("How many vessels have a crew of more than 10?", IN_THOUSANDS, 10),
    ],
)
def test_a_bound_on_prices_minds_the_scale_of_the_title(question: str, title: str, bound: int | None) -> None:
    found = meant(question, PRICED_FLEET, title=title)
    assert (found.bound if found else None) == bound


@pytest.mark.parametrize(
    ("column", "title", "note"),
    [
        ("price", IN_THOUSANDS, "in thousand EUR"),
        ("crew", IN_THOUSANDS, ""),
        ("price", "Prix en milliers d'euros", "en milliers"),
        ("price", "Sales in Spain", ""),
    ],
)
def test_a_number_is_shown_with_the_scale_of_the_title(column: str, title: str, note: str) -> None:
    found = meant(f"What is the total {column} of the ferries?", PRICED_FLEET, title=title)
    assert found is not None
    assert unit_note(found, sketch(read_table(PRICED_FLEET), title)) == note


FUEL = """
| Monat | Gas (kWh) | Öl (l) | Kosten (€) |
| --- | --- | --- | --- |
| Mai | 720 | 31 | 88 |
| Juni | 310 | 12 | 41 |
"""


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("Gasmenge", ("gas", "menge")),
        ("Gastank", ("gastank",)),  # seven letters are one word
        ("Ölverbrauch", ("olverbrauch",)),  # two letters are no part
        ("Gesamtkosten", ("gesamt", "kosten")),
        ("Durchschnittskosten", ("durchschnitt", "kosten")),
        ("Gesamtgas", ("gesamtgas",)),
        ("Gesamtgewicht", ("gesamtgewicht",)),
    ],
)
def test_a_word_is_taken_apart_where_a_part_is_that_of_a_header(word: str, parts: tuple[str, ...]) -> None:
    asked = read_question(f"Summe {word}")
    assert asked is not None
    assert split_compounds(asked, sketch(read_table(FUEL, "de"), ""), ()).tokens == ("summe", *parts)


@pytest.mark.parametrize(
    ("question", "operation"),
    [
        ("Gesamtkosten aller Monate", "sum"),
        ("Wie viele Monate hatten mehr als 1 200 kWh Gas?", "count"),
        ("months with a Gas between 300 and 1 200 kWh", "listing"),
        ("bottom 1 by Gas", "top"),
    ],
)
def test_numbers_are_read_as_people_write_them(question: str, operation: str) -> None:
    found = meant(question, FUEL.replace("Monat", "Month") if "between" in question else FUEL, "de")
    assert found is not None
    assert found.operation == operation
    assert 1200 in (found.bound, *(one.last for one in found.within)) or operation in ("sum", "top")


QUARTERS = """
| Region | Quarter | Revenue (EUR) |
| --- | --- | --- |
| North | 2 | 50 |
| South | 2 | 60 |
| East | 3 | 70 |
"""


@pytest.mark.parametrize(
    ("question", "operation"),
    [
        ("second highest revenue", "rank"),
        ("the two highest revenues", "top"),
        ("second quarter highest revenue", None),
        ("quarter 3 highest revenue", "highest"),  # of that quarter
        ("By how much is the revenue of North higher than that of South?", "difference"),
    ],
)
def test_a_number_before_the_highest_may_be_that_of_something_else(question: str, operation: str | None) -> None:
    found = meant(question, QUARTERS)
    assert (None if found is None else found.operation) == operation


MONTHS = """
| Month | Gas (kWh) | Water (m³) |
| --- | --- | --- |
| January | 900 | 2 |
| February | 820 | 5 |
| March | 640 | 1 |
"""
BY_MONTH = """
| Branch | January | February | March |
| --- | --- | --- | --- |
| North | 1 | 38950 | 52310 |
| West | 2 | 47610 | 51890 |
"""


@pytest.mark.parametrize(
    ("question", "text", "pair"),
    [
        ("How much did gas rise from January to March?", MONTHS, ("January", "March")),
        ("change in gas between January and March", MONTHS, ("January", "March")),
        ("difference in gas between January and March", MONTHS, ("March", "January")),
        ("How much did North increase from February to March?", BY_MONTH, ("February", "March")),
        ("difference of North between February and March", BY_MONTH, ("March", "February")),
        ("How much more gas was used in March than in January?", MONTHS, ("January", "March")),
        ("How much less gas was used in March than in January?", MONTHS, ("March", "January")),
        ("How much less gas than water was used in March?", MONTHS, ("Gas (kWh)", "Water (m³)")),
        ("How much higher were total net sales in 2018 than in 2019?", STATEMENT, ("2019", "2018")),
        ("How much lower were total net sales in 2018 than in 2019?", STATEMENT, ("2018", "2019")),
        ("How much more revenue did North have in 2022 than in 2023?", SALES, ("2023", "2022")),
        ("How much longer is the Elbe than the Rhine?", RIVERS, ("Rhine", "Elbe")),
        ("How much shorter is the Elbe than the Rhine?", RIVERS, ("Elbe", "Rhine")),
    ],
)
def test_a_difference_has_the_sign_that_is_asked_for(question: str, text: str, pair: tuple[str, str]) -> None:
    found = meant(question, text)
    assert found is not None
    assert found.pair == pair


@pytest.mark.parametrize(
    ("question", "text", "sure"),
    [
        ("total gas from January to March", MONTHS, False),  # and February?
        ("highest gas between January and March", MONTHS, False),
        ("total gas in January and March", MONTHS, True),
        ("total gas from January to February", MONTHS, True),
        ("total of North from January to March", BY_MONTH, False),
        ("total of North from February to March", BY_MONTH, True),
        ("total of North in January and March", BY_MONTH, True),
    ],
)
def test_what_stands_between_two_that_are_named_is_not_left_out(question: str, text: str, sure: bool) -> None:
    assert (meant(question, text) is not None) == sure


@pytest.mark.parametrize(
    ("question", "sure"),
    [
        ("What share of the length is in Germany?", True),
        ("What share of rivers in Germany has a length over 1100 km?", False),  # of rivers
        ("rivers longer than 1100 t", False),
        ("rivers longer than 1100 km", True),
    ],
)
def test_what_is_of_rows_and_what_is_of_numbers_is_told_apart(question: str, sure: bool) -> None:
    assert (meant(question, RIVERS) is not None) == sure


@pytest.mark.parametrize(("rows", "one"), [("river", True), ("rivers", False)])
def test_the_longest_of_several_need_not_be_one_row(rows: str, one: bool) -> None:
    found = meant(
        f"Which country has the longest {rows}?", RIVERS
    )  # those that it has are longest on average, or one is
    assert found is not None
    assert found.one_row == one


HOTELS = """
| Hotel | Price per night (EUR) | Rooms | Distance to beach (m) | Notice (days) |
| --- | --- | --- | --- | --- |
| Aurora | 120 | 80 | 150 | 2 |
| Stella | 85 | 60 | 300 | 10 |
| Sole | 130 | 90 | 400 | 21 |
"""


@pytest.mark.parametrize(
    ("question", "sure"),
    [
        ("hotels cheaper than 90 euros per night", True),
        ("hotels cheaper than 90 euros a night", True),
        ("hotels cheaper than 90 euros a week", False),
        ("hotels cheaper than 90 per person", False),
        ("average price per person", False),
        ("hotels with rooms over 80", True),
        ("hotels with rooms over 80 euros", False),  # of the price
        ("hotels with rooms between 60 and 130 euros", False),
        ("hotels with rooms under 100 metres", False),
        ("hotels with rooms over 80 dollars", False),
        ("Which hotels have a notice over 9 days", True),
        ("Which hotels have a notice over 9 hours", False),
    ],
)
def test_a_number_is_of_the_column_that_is_counted_so(question: str, sure: bool) -> None:
    assert (meant(question, HOTELS) is not None) == sure


VISITORS = """
| Race | Starters 2022 | Starters 2023 |
| --- | --- | --- |
| Hill | 350 | 410 |
| Lake | 620 | 580 |
"""


@pytest.mark.parametrize(
    ("question", "operation"),
    [
        ("How many starters more did Hill have in 2023 than in 2022?", None),  # no count of races
        ("How many races had more starters in 2023 than in 2022?", "count"),
    ],
)
def test_rows_are_counted_where_they_are_asked_for(question: str, operation: str | None) -> None:
    found = meant(question, VISITORS)
    assert (found.operation if found else None) == operation


def test_lower_than_has_the_sign_that_is_asked_for_in_german() -> None:
    found = meant("Um wie viel ist der Umsatz in Süd 2022 niedriger als in Nord?", UMSATZ, "de")
    assert found is not None
    assert found.pair == ("Süd", "Nord")


LETTERS = """
| Month | Gas (kWh) | Group |
| --- | --- | --- |
| April | 900 | A |
| May | 820 | B |
| June | 640 | A |
"""
EARNERS = """
| Name | Salary |
| --- | --- |
| Will | 10 |
| Grace | 20 |
| Rich | 30 |
"""


@pytest.mark.parametrize(
    ("question", "text", "keys"),
    [
        ("total gas in May", LETTERS, ("may",)),
        ("average gas in May and June", LETTERS, ("may", "june")),
        ("total gas of group A", LETTERS, ("a",)),
        ("total salary of Grace and Will", EARNERS, ("grace", "will")),
        ("What is the total salary of the people?", EARNERS, ()),
        ("total gas in may", LETTERS, None),  # of all months it is not
        ("total gas of group a", LETTERS, None),
        ("total gas of a", LETTERS, None),
        ("What Is The Total Gas In May", LETTERS, None),
        ("How much more does Rich earn than Will and Grace?", EARNERS, None),  # than one of them
        ("total of west in may and june", BY_MONTH.replace("January", "May").replace("March", "June"), None),
    ],
)
def test_a_word_that_says_nothing_may_be_a_name(question: str, text: str, keys: tuple[str, ...] | None) -> None:
    found = meant(question, text)
    assert (found and tuple(key for one in found.conditions for key in one.keys)) == keys


STAFF = """
| Name | Office | Salary (USD) | Hours per week | Hired | Age |
| --- | --- | --- | --- | --- | --- |
| Maria Lopez | Boston | 76000 | 40 | 2012-07-15 | 51 |
| Sam Adams | Austin | 41000 | 30 | 2022-04-04 | 24 |
"""


@pytest.mark.parametrize(
    ("question", "text", "computed"),
    [
        ("Which hotels have a pool over 50?", HOTELS.replace("Rooms", "Pool (km³)"), True),
        ("Which hotels have a pool over 50 litres?", HOTELS.replace("Rooms", "Pool (km³)"), False),
        ("average price per hotel", HOTELS, True),
        ("average price of products with a stock above 4", STOCK, True),
        ("average price of products with a stock above 4 euros", STOCK, False),
        ("What is the average price per item?", HOTELS, False),
        ("How many hotels have fewer than 100 rooms in a year?", HOTELS, False),
        ("Who earns more than 5000?", STAFF, True),
        ("Who earns more than 5000 in the month?", STAFF, False),
        ("Who earns between 5000 and 70000 a month?", STAFF, False),
        ("Who works more than 36 hours a week?", STAFF, True),
        ("How many people work 40 hours a week?", STAFF, True),
        ("How many people are older than 40 years?", STAFF, True),
        ("Average salary of people older than 40 years", STAFF, True),
    ],
)
def test_numbers_of_another_stretch_or_of_each_of_another_thing_are_none(
    question: str, text: str, computed: bool
) -> None:
    assert (meant(question, text) is not None) is computed


RIDES = """
| Trip | Cab | Distance (km) | Duration (min) | Fare (EUR) | Payment |
| --- | --- | --- | --- | --- | --- |
| First | C7 | 4.2 | 12 | 14 | card |
| Second | C9 | 11 | 25 | 31 | cash |
| Third | C7 | 2 | 9 | 9 | card |
"""
SHOPS = """
| Shop | Rent (EUR) | Expenses (EUR) | Vacation days | Sick leave (days) |
| --- | --- | --- | --- | --- |
| Alpha | 5200 | 81000 | 28 | 3 |
| Beta | 2100 | 33000 | 30 | 2 |
"""
TRUCKS = """
| Truck | Purchase price (kEUR) | Repair cost (EUR) |
| --- | --- | --- |
| T1 | 95 | 4200 |
| T2 | 112 | 1900 |
"""


@pytest.mark.parametrize(
    ("question", "text", "sure"),
    [
        ("How many trips were paid by card?", RIDES, True),
        ("Which trips are longer than 10 minutes?", RIDES, True),
        ("Which trips are longer than 10?", RIDES, False),  # minutes or kilometres
        ("longest trip", RIDES, False),
        ("longest trip by duration", RIDES, True),
        ("Which shops cost more than 5000 euros?", SHOPS, False),  # the rent, or all of it
        ("What is the cheapest shop?", SHOPS, False),
        ("cheapest shop by rent", SHOPS, True),
        ("total leave days of all shops", SHOPS, False),
        ("total vacation days of all shops", SHOPS, True),
        ("Which truck cost the most?", TRUCKS, False),  # its price, or its repair
        ("For which truck did the repair cost the most?", TRUCKS, True),
        (
            "Which truck cost the most?",
            TRUCKS.replace("Purchase price", "Price").replace("Repair cost (EUR)", "Weight"),
            True,
        ),
    ],
)
def test_what_may_be_of_another_column_is_not_computed(question: str, text: str, sure: bool) -> None:
    assert (meant(question, text) is not None) == sure


BUDGET = """
| Cost item | 2024 | 2025 |
| --- | --- | --- |
| Rent | 48 | 49 |
| Travel | 12 | 14 |
"""
BASKETS = """
| Basket | Price (EUR) | Total (EUR) |
| --- | --- | --- |
| B1 | 90 | 1200 |
| B2 | 12 | 300 |
"""


@pytest.mark.parametrize(
    ("question", "text", "computed"),
    [
        ("Which truck has the highest repair cost?", TRUCKS, True),
        ("Which trucks have repair cost above 1000 euros?", TRUCKS, True),
        ("Which trucks cost more than 1000 euros?", TRUCKS, False),
        ("Which products cost more than 20 euros?", STOCK, True),
        ("Which baskets cost more than 20 euros?", BASKETS, False),
        ("Which basket cost the most?", BASKETS, False),
        ("How many items cost less than 20 in 2025?", BUDGET, True),
        ("Which baskets are cheaper than 100 euros?", BASKETS, False),
        ("What is the cheapest basket?", BASKETS, False),
        ("What is the cheapest basket?", BASKETS.replace("Total (EUR)", "Total eggs"), True),
        ("What is the cheapest basket?", BASKETS.replace("Total (EUR)", "Basket value"), False),
    ],
)
def test_what_a_row_costs_is_the_one_column_of_it(question: str, text: str, computed: bool) -> None:
    assert (meant(question, text) is not None) is computed


def test_a_long_word_is_taken_apart_in_linear_time() -> None:
    assert takes_linear_time(lambda text: read_question(f"how much {text}"), repeated("a"), 5_000)


def test_no_group_of_words_is_a_part_of_another() -> None:
    for language in languages():
        for groups in (language.arithmetic.alike, language.arithmetic.kin):
            words = [frozenset(tokens_of(phrase)) for phrase in groups]
            assert not [one for one, other in permutations(words, 2) if one <= other]


def test_years_that_are_written_backwards_are_no_range() -> None:
    assert meant("Which races rose in starters from 2022 to 2023?", VISITORS) is not None
    assert meant("Which races rose in starters from 2023 to 2022?", VISITORS) is None


SCHOOLS = """
| School | Type | Fee per year (USD) | Pass rate (%) |
| --- | --- | --- | --- |
| Oak | public | 12000 | 91 |
| Elm | private | 9600 | 84 |
"""


def test_rows_are_not_told_apart_by_what_is_paid_per_year() -> None:
    found = meant("schools with a pass rate over 90", SCHOOLS)
    assert found is not None
    assert found.naming is None


def test_the_type_of_a_school_is_no_school() -> None:
    assert meant("Which school has the highest pass rate?", SCHOOLS) is not None
    assert meant("Which school type has the highest pass rate?", SCHOOLS) is None


@pytest.mark.parametrize(
    ("question", "text", "sure"),
    [
        (
            "Welcher Artikel ist am teuersten?",
            "| Artikel | Einkaufspreis (EUR) |\n| --- | --- |\n| Lack | 18 |\n| Leim | 9 |\n",
            True,
        ),
        ("Which car is the oldest?", "| Car | Mileage |\n| --- | --- |\n| Red | 18000 |\n| Blue | 9000 |\n", False),
    ],
)
def test_the_end_of_a_long_word_may_name_a_column(question: str, text: str, sure: bool) -> None:
    assert (meant(question, text) is not None) == sure


@pytest.mark.parametrize(
    ("header", "sign"),
    [
        ("body_mass_g", "g"), ("length_cm", "cm"), ("Spending_USD", "USD"), ("goals_h", ""), ("size_m", ""), ("mass g", ""),
        ("Length (mm)", ""), ("_mm", ""),
    ],
)  # fmt: skip
def test_the_sign_of_a_unit_ends_a_header_that_is_one_word(header: str, sign: str) -> None:
    assert unit_at_end(header) == sign
    assert (bracketed(header) == (sign,)) == bool(sign)


TWO_A_MONTH = """
| Month | Region | {measure} |
| --- | --- | --- |
| January | North | 100 |
| January | South | 50 |
| February | North | 70 |
| February | South | 20 |
"""


@pytest.mark.parametrize(
    ("question", "measure", "operation", "asked"),
    [
        ("Which month had the highest revenue?", "Revenue", "highest", 0),
        ("Which month had the lowest revenue?", "Revenue (EUR)", "lowest", 0),
        ("Which region had the lowest revenue?", "Revenue", "lowest", 1),
        ("Which month had the highest kWh?", "kWh", "highest", 0),
        ("Top 2 months by revenue", "Revenue", "top", 0),
        ("What was the revenue in January?", "Revenue", "sum", None),
        ("Which region had the highest cost?", "Cost", "highest", 1),
    ],
)
def test_rows_of_one_thing_are_summed(question: str, measure: str, operation: str, asked: int | None) -> None:
    """Where there are several: else it is one row, as it is without."""
    found = meant(question, TWO_A_MONTH.format(measure=measure))
    assert found is not None
    assert found.instead is not None
    assert not found.grouped
    assert (found.instead.operation, found.instead.measure, found.instead.asked) == (operation, 2, asked)
    assert found.instead.grouped == (operation != "sum")


@pytest.mark.parametrize(
    ("question", "measure"),
    [
        ("Which region had the highest salary?", "Salary"),
        ("Which region had the highest unit cost?", "Unit cost"),
        ("Which region had the highest score?", "Score"),
        ("Which region had the highest sale?", "Sales"),
        ("Which region had the highest population?", "Population"),
        ("Which region had the highest revenue share?", "Revenue share (%)"),
        ("Which region had the lowest revenue in January?", "Revenue"),  # one without any is not there
        ("Which region had the highest average revenue?", "Average revenue"),
    ],
)
def test_what_each_has_for_itself_is_not_summed(question: str, measure: str) -> None:
    found = meant(question, TWO_A_MONTH.format(measure=measure))
    assert found is None or found.instead is None


def test_one_number_of_several_years_is_no_sum() -> None:
    assert meant("What was the revenue in North?") is None
    found = meant("What was the revenue in 2021?")
    assert found is not None
    assert found.instead is not None
    assert found.instead.operation == "sum"


def test_the_fewest_may_be_of_a_group_too() -> None:
    """As the most: where the lowest number of all is of that group, too."""
    found = meant("Which region had the least revenue?", TWO_A_MONTH.format(measure="Revenue"))
    assert found is not None
    assert (found.operation, found.grouped) == ("lowest", True)
    assert found.also is not None
    assert (found.also.operation, found.also.grouped) == ("lowest", False)


def test_what_says_less_is_no_other_computation() -> None:
    rules = meant("Which month had the highest revenue?", TWO_A_MONTH.format(measure="Revenue"))
    assert rules is not None
    assert rules.instead is not None
    assert Computation("highest", 2).says_less(rules.instead)
    assert not Computation("lowest", 2).says_less(rules.instead)
    assert not Computation("highest", 2, asked=1).says_less(rules.instead)
    assert not Computation("highest", 2).says_less(Computation("highest", 2))
    assert rules.is_of_several(4, 2)
    assert not rules.is_of_several(2, 2)
    assert Computation("value", 2).is_of_several(2, 2)


@pytest.mark.parametrize(
    ("note", "unit", "same"),
    [
        ("EUR", "# €", True), ("EUR", "€#", True), ("USD", "$ #", True), ("€", "# EUR", True), ("euros", "# €", True),
        ("EUR k", "# €", False), ("USD", "# €", False), ("kg", "# kg", False), ("EUR", "", False),
    ],
)  # fmt: skip
def test_a_column_and_its_cells_name_one_currency(note: str, unit: str, same: bool) -> None:
    assert is_same_currency(note, unit) == same


@pytest.mark.parametrize(
    ("question", "header", "cell", "key"),
    [
        ("total revenue in March", "Month", "Mar", "mar"),
        ("total revenue in Mar", "Month", "March", "march"),
        ("What was the revenue in March?", "Month", "Mar", "mar"),
        ("What was the revenue in March 2024?", "Period", "Mar 2024", "mar 2024"),
        ("total revenue in March 2024", "When", "Mar 2024", "mar 2024"),
        ("total revenue in May", "Month", "Mai", "mai"),
        ("Summe Revenue im März", "Monat", "Mar", "mar"),
        ("total revenue en marzo", "Mes", "mar", "mar"),
        ("somme de revenue en mars", "Mois", "March", "march"),
        ("somma di revenue a marzo", "Mese", "mar", "mar"),
        ("total revenue in March", "Day", "mar", None),  # a Tuesday
        ("total revenue in March", "Month", "Apr", None),
        ("total revenue in March 2023", "Month", "Mar 2024", None),
    ],
)
def test_a_month_is_called_by_its_long_and_its_short_name(
    question: str, header: str, cell: str, key: str | None
) -> None:
    rows = "".join(f"| {month} | {region} | 5 |\n" for month in (cell, "Jun 2024") for region in ("North", "South"))
    found = meant(question, f"| {header} | Region | Revenue |\n| --- | --- | --- |\n{rows}")
    assert (found and conditions(found)) == (key and {0: (key,)})


WAGES = """
| No. | Name | Department | Salary |
| --- | --- | --- | --- |
| 1 | Ada Brook | Design | 61000 |
| 2 | Bo Lind | Design | 48000 |
"""


@pytest.mark.parametrize(
    ("question", "turned"),
    [
        ("Rank the regions by revenue", False),
        ("Rank the regions by revenue from highest to lowest", False),
        ("Rank all regions by revenue, from lowest to highest", True),
        ("Sort the regions by revenue in ascending order", True),
        ("Rangliste der Region nach Revenue", False),
        ("Ordne die Region nach Revenue aufsteigend", True),
        ("Classe les region par revenue du plus petit au plus grand", True),
        ("Classement des region par revenue", False),
        ("Ordena las region por revenue de menor a mayor", True),
        ("Clasifica las region por revenue", False),
        ("Ordina le region per revenue dal più basso al più alto", True),
        ("Classifica delle region per revenue", False),
    ],
)
def test_ranking_is_of_all_in_the_order_of_their_sums(question: str, turned: bool) -> None:
    found = meant(question, TWO_A_MONTH.format(measure="Revenue"))
    assert found is not None
    assert (found.operation, found.measure, found.asked) == ("sum", 2, 1)
    assert found.each
    assert (found.order, found.arguments(20)[1][9]) == ("lowest" if turned else "highest",) * 2


@pytest.mark.parametrize("question", ["rank the employees by salary", "Rank the names by salary, highest first"])
def test_ranking_is_of_rows_where_each_is_one_thing(question: str) -> None:
    asked, table = read_question(question), read_table(WAGES)
    assert asked is not None
    found = bind(asked, replace(sketch(table), numbered=True), [])
    assert found is not None
    assert (found.measure, found.asked, found.ranked, found.averaged, found.one_row) == (3, 1, True, True, True)


@pytest.mark.parametrize(
    "question",
    [
        "Rank the regions by revenue in January",  # of some rows
        "Rank the regions by profit",
        "Rank the regions",
        "Rank revenue by regions",
        "Rank the regions by revenue and month",
        "What is the rank of the regions by revenue?",
        "Rank the three regions with the highest revenue",
    ],
)
def test_what_is_ranked_must_be_all_that_is_said(question: str) -> None:
    found = meant(question, TWO_A_MONTH.format(measure="Revenue"))
    assert found is None or not found.ranked


RELEASES = """
| Version | Runtime | {date} |
| --- | --- | --- |
| v2.1 | go1.26 | 2026-05-12 |
| v2.0 | go1.26 | 2026-02-02 |
| v1.9 | go1.25 | 2025-12-23 |
| v1.8 | go1.24 | 2025-02-11 |
"""


@pytest.mark.parametrize(
    ("question", "operation", "asked", "years"),
    [
        ("What is the latest version?", "highest", 0, []),
        ("What is the newest version in releases.csv?", "highest", 0, []),
        ("What was the first release of 2026?", "lowest", 0, ["2026"]),
        ("What was the last version of 2025?", "highest", 0, ["2025"]),
        ("When was the latest release?", "highest", 2, []),
        ("Which version is the oldest?", "lowest", 0, []),
        ("Welche ist die neueste Version?", "highest", 0, []),
        ("Was war die erste Version von 2026?", "lowest", 0, ["2026"]),
        ("Welche Version ist die älteste?", "lowest", 0, []),
        ("Quelle est la version la plus récente ?", "highest", 0, []),
        ("Quelle a été la première version de 2026 ?", "lowest", 0, ["2026"]),
        ("¿Cuál es la última versión?", "highest", 0, []),
        ("¿Cuál fue la primera versión de 2026?", "lowest", 0, ["2026"]),
        ("Qual è l'ultima versione?", "highest", 0, []),
        ("Qual è stata la prima versione del 2026?", "lowest", 0, ["2026"]),
    ],
)
def test_the_latest_row_goes_by_the_only_dates(question: str, operation: str, asked: int, years: list[str]) -> None:
    found = meant(question, RELEASES.format(date="Date"), title="Releases")
    assert found is not None
    assert (found.operation, found.measure, found.asked) == (operation, 2, asked)
    assert [key for one in found.conditions for key in one.keys] == years


@pytest.mark.parametrize(
    ("question", "header", "measure"),
    [
        ("What is the latest version?", "Published", 2),
        ("What is the latest version?", "End of support", None),
        ("Which version is the oldest?", "Published", None),
        ("Which version is the oldest?", "Date", 2),
        ("What is the latest runtime?", "Date", None),
        ("Which runtime does the latest version have?", "Date", None),
        ("Who made the first release?", "Date", None),
        ("What is the latest stable version?", "Date", None),
    ],
)
def test_it_goes_by_no_other_dates_and_is_no_other_thing(question: str, header: str, measure: int | None) -> None:
    found = meant(question, RELEASES.format(date=header), title="Releases")
    assert (found.measure if found else None) == measure


def test_of_persons_the_only_dates_may_be_anything() -> None:
    people = RELEASES.format(date="Date").replace("Version", "Member")
    assert meant("Which member is the oldest?", people) is None
    assert meant("Which is the latest member?", people) is None


@pytest.mark.parametrize(
    ("question", "counted"),
    [
        ("How many releases are there in total?", True),
        ("How many releases are there?", True),
        ("What is the total number of releases?", True),
        ("How many versions are there in total?", True),
        ("Wie viele Releases gibt es insgesamt?", True),
        ("Combien de versions y a-t-il au total ?", True),
        ("¿Cuántos releases hay en total?", True),
        ("Quante release ci sono in totale?", True),
        ("How many versions are there?", False),  # of which table
        ("How many stable releases are there in total?", False),
        ("How many bugs are there in total?", False),
    ],
)
def test_all_rows_are_counted_of_what_the_table_or_its_rows_are_called(question: str, counted: bool) -> None:
    found = meant(question, RELEASES.format(date="Date"), title="Releases")
    assert (found and (found.operation, found.measure, found.asked, found.conditions)) == (
        ("count", None, None, ()) if counted else None
    )


def test_a_file_that_is_a_table_is_called_as_its_rows_are() -> None:
    table = read_table(RELEASES.format(date="Date"))
    asked = read_question("How many releases are there in total?")
    assert asked is not None
    files = ("users/releases.csv", "releases.XLSX", "releases.rst", "old_releases.csv")
    found = [bind(asked, replace(sketch(table), external_id=name), ()) is not None for name in files]
    assert found == [True, True, False, False]


def test_rows_that_have_several_each_or_are_persons_are_not_counted_for_what_they_are_called() -> None:
    plants = "\n| Plant | Workers |\n| --- | --- |\n| Derby | 300 |\n| Luton | 210 |\n"
    assert meant("How many employees are there?", plants, title="Employees") is None
    heads = "\n| Department | Head |\n| --- | --- |\n| Sales | Ada |\n| Stock | Bo |\n"
    assert meant("How many employees are there?", heads, title="Employees") is None
    assert meant("How many departments are there in total?", heads) is not None


PLANNED = """
| Region | Year | Scenario | Revenue |
| --- | --- | --- | --- |
| North | 2023 | Plan | 110 |
| North | 2023 | Actual | 95 |
| South | 2023 | Plan | 80 |
| South | 2023 | Actual | 90 |
"""
IN_AUTUMN = """
| Month | Revenue |
| --- | --- |
| Jul | 5 |
| Aug | 6 |
| Sep | 7 |
"""


@pytest.mark.parametrize(
    "question",
    [
        "What was the revenue of North in 2023?", "What was the revenue in 2023?", "Which region had the highest revenue?",
        "Rank the regions by revenue",
    ],
)  # fmt: skip
def test_plan_and_actual_are_no_parts_of_one_sum(question: str) -> None:
    found = meant(question, PLANNED)
    assert found is None or (found.instead is None and found.operation != "sum")


def test_a_word_of_the_question_is_no_month_of_another_language() -> None:
    assert meant("Highest revenue years ago", IN_AUTUMN) is None
    found = meant("What was the revenue in August?", IN_AUTUMN)
    assert found is not None
    assert conditions(found) == {0: ("aug",)}


def test_some_of_them_are_not_all_that_there_are() -> None:
    rows = "| Order | Product |\n| --- | --- |\n| A1 | Lamp |\n| A2 | Chair |\n| A3 | Lamp |\n"
    assert meant("How many orders are there in total?", rows, title="Orders") is not None
    assert meant("How many orders are there in total?", rows, title="Open orders by product") is None


SALARIES = """
| Employee | Valid from | Salary (EUR) | Department |
| --- | --- | --- | --- |
| Meyer | 2020-01-01 | 52000 | Sales |
| Meyer | 2021-01-01 | 61000 | Sales |
| Meyer | 2023-07-01 | 48000 | Support |
| Okafor | 2019-04-01 | 39000 | Sales |
"""
REPAIRS = """
| Date | Vehicle | Work | Cost |
| --- | --- | --- | --- |
| 2024-02-10 | Van 3 | Clutch | 940 |
| 2024-06-21 | Van 3 | Tyres | 380 |
| 2024-11-05 | Van 7 | Wipers | 28 |
"""


@pytest.mark.parametrize(
    ("question", "text", "found"),
    [
        ("What is Meyer's latest salary?", SALARIES, ("highest", 1, 2)),
        ("What is the current salary of Meyer?", SALARIES, ("highest", 1, 2)),
        ("What was Meyer's first salary?", SALARIES, ("lowest", 1, 2)),
        ("What was Meyer's last salary in Support?", SALARIES, ("highest", 1, 2)),
        ("What was the cost of the last repair of Van 3?", REPAIRS, ("highest", 0, 3)),
        ("What was the last repair of Van 3?", REPAIRS, ("highest", 0, 2)),
        ("What is the latest salary?", SALARIES, None),  # of whom?
        ("What was Meyer's salary last year?", SALARIES, None),
        ("What was the last year's salary of Meyer?", SALARIES, None),
        ("What are the last 2 salaries of Meyer?", SALARIES, None),
        ("What is the highest of the latest salaries of Meyer?", SALARIES, None),
    ],
)
def test_the_latest_number_of_something_is_that_of_its_last_row(
    question: str, text: str, found: tuple[str, int, int] | None
) -> None:
    made = meant(question, text, title="Repairs")
    assert (made and (made.operation, made.measure, made.asked)) == found


@pytest.mark.parametrize(
    ("question", "language", "header"),
    [
        ("Wie hoch ist die aktuelle Miete von Meyer?", "de", "Miete"),
        ("Quel est le loyer actuel de Meyer ?", "fr", "Loyer"),
        ("¿Cuál es el alquiler actual de Meyer?", "es", "Alquiler"),
        ("Qual è l'affitto attuale di Meyer?", "it", "Affitto"),
    ],
)
def test_the_current_number_is_the_latest(question: str, language: str, header: str) -> None:
    made = meant(question, SALARIES.replace("Salary (EUR)", header), language)
    assert made is not None
    assert (made.operation, made.measure, made.asked) == ("highest", 1, 2)


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("How many different vehicles were there in June 2024?", (1, {}, 1)),
        ("How many different departments did Meyer have?", (3, {0: ("meyer",)}, 0)),
        ("How many different departments of Support are there?", None),
    ],
)
def test_different_ones_are_counted_among_some_rows(
    question: str, found: tuple[int, dict[int, tuple[str, ...]], int] | None
) -> None:
    made = meant(question, REPAIRS if "vehicles" in question else SALARIES)
    assert (made and (made.asked, conditions(made), len(made.within))) == found
    assert made is None or made.counts_groups


@pytest.mark.parametrize(
    ("title", "scale"),
    [
        ("in EUR thousands", "in EUR thousands"),
        ("All amounts in € million", "in € million"),
        ("Angaben in Tsd. EUR", "in Tsd. EUR"),
        ("in the millions", ""),
    ],
)
def test_a_line_above_says_what_amounts_are_counted_in(title: str, scale: str) -> None:
    assert scale_in_title(title, "2024") == scale
    assert scale_in_title(title, "Growth (%)") == ""


@pytest.mark.parametrize(("header", "summed"), [("Eröffnet", True), ("Stand", False)])
def test_when_a_branch_opened_is_no_time_of_its_revenue(header: str, summed: bool) -> None:
    text = f"""
| Filiale | Land | Jahr | Umsatz (TEUR) | {header} |
| --- | --- | --- | --- | --- |
| Ulm | Bayern | 2024 | 20 | 2008-05-02 |
| Augsburg | Bayern | 2024 | 5 | 2018-10-20 |
| Köln | NRW | 2024 | 7 | 2011-03-01 |
| Köln | NRW | 2023 | 6 | 2011-03-01 |
"""
    found = meant("Wie hoch ist der Umsatz in Bayern im Jahr 2024?", text, "de")
    assert found is not None
    assert (found.instead is not None and found.instead.operation == "sum") == summed
