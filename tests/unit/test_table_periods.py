"""Which columns of a table are its years, months, quarters, weeks or days."""

from __future__ import annotations

import pytest

from cairn.query.table_periods import FEWEST_PERIODS, period_columns


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ("Item|2021|2022|2023", (1, 2, 3)),
        ("|FY21|FY22|FY23", (1, 2, 3)),
        ("|Revenue 2022|Revenue 2023|Revenue 2024", (1, 2, 3)),
        ("|31 December 2022|31 December 2023|31 December 2024", (1, 2, 3)),
        ("|Q1|Q2|Q3|Q4|2024", (1, 2, 3, 4)),
        ("|Q1 2024|Q2 2024|Q1 2025", (1, 2, 3)),
        ("|1. Quartal|2. Quartal|3. Quartal", (1, 2, 3)),
        ("|1er trimestre|2e trimestre|3e trimestre", (1, 2, 3)),
        ("|Jan|Feb|Mar|Total", (1, 2, 3)),
        ("|gen|feb|mar|apr", (1, 2, 3, 4)),
        ("|mars|avr.|mai", (1, 2, 3)),
        ("|lun|mar|mer|jeu", (1, 2, 3, 4)),
        ("|Mo|Di|Mi", (1, 2, 3)),
        ("|KW 12|KW 13|KW 14", (1, 2, 3)),
        ("|Week 1|Week 2|Week 3|Rank", (1, 2, 3)),
        ("|I trimestre|II trimestre|III trimestre|IV trimestre", (1, 2, 3, 4)),
        ("|H1 2023|H2 2023|H1 2024", (1, 2, 3)),
        ("|Q1|Q2|Q3|Q4|H1|H2", (1, 2, 3, 4)),
        ("|2021|2022|2023¹", (1, 2, 3)),
        ("|2021|2022|2023|Change 2022-23 %", ()),
        ("|2021|2022|2023|2024e", ()),
        ("|2021|2022|2023|2024 plan", ()),
        ("|2021|2022|2023|LTM", ()),
        ("|2021 12M|2022 9M|2023 12M", ()),
        ("|2022 (9 months)|2023|2024|2025", ()),
        ("|Sales 2022|Sales 2023|Sales 2024|Profit 2023|Profit 2024", ()),
        ("|Q1 2024|Q2 2024|Q3 2024|Q4 plan 2024", ()),
        ("|H1|Q3|Q4|FY", ()),
        ("|2023|2024", ()),
        ("|2022 plan|2023 plan|2024 plan|2022 actual|2023 actual|2024 actual", ()),
        ("|Q1|Q2|Q3|2022|2023|2024", ()),
        ("|Jan|Feb|Mar|2023", (1, 2, 3)),
        ("|2023 plan|2023 actual|2024 plan", ()),
        ("|Week 1|Week 1|Week 2", ()),
        ("|Height|Width|Weight", ()),
        ("", ()),
    ],
)
def test_columns_of_periods_are_all_of_one_kind(header: str, columns: tuple[int, ...]) -> None:
    names = header.split("|")
    assert period_columns(names, [False, *[True] * (len(names) - 1)]) == columns


def test_columns_with_words_among_the_numbers_make_it_open() -> None:
    names = ["", "2021", "2022", "2023", "2024"]
    assert period_columns(names, [False, True, True, True, True]) == (1, 2, 3, 4)
    assert period_columns(names, [False, True, True, False, True]) == ()
    assert period_columns(names[:FEWEST_PERIODS], [True] * FEWEST_PERIODS) == ()
