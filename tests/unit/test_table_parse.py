"""How certain a parse is: of what an answer shows anyhow nothing has to be decided."""

from typing import Any

import numpy as np
import pytest

from cairn.domain.table_parsing import AGGREGATES, ASKED, COMPARED, ROLES, ColumnView, ParserScores, TableView
from cairn.query.table_parse import parse

VIEW = TableView(
    "Dogs", (ColumnView("Plot", "text", ()), ColumnView("Dog", "text", ()), ColumnView("kg", "number", ()))
)


def scored(asked: str, named: list[float]) -> ParserScores:
    """All certain, but for the column that is asked for: these probabilities of the three, and of none."""
    n = len(VIEW.columns)

    def sure(count: int, at: int) -> Any:
        return np.where(np.arange(count) == at, 0.0, -50.0)

    roles = np.stack([sure(n + 1, 2), np.log(named), *[sure(n + 1, n)] * (len(ROLES) - 2)])
    return ParserScores(
        sure(len(ASKED), ASKED.index(asked)), sure(len(AGGREGATES), 0), roles,  # type: ignore[arg-type]
        np.stack([sure(len(COMPARED), 0)] * n), ((), (), ()), np.zeros((0, n + 2)),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "named", "column", "certainty"),
    [
        ("highest", [0.1, 0.6, 0.05, 0.25], 1, 0.85),  # the dog with its kilograms answers how many kilograms
        ("highest", [0.3, 0.1, 0.1, 0.5], None, 0.8),  # and the kilograms are told with the plot
        ("rank", [0.0001, 0.5, 0.0999, 0.4], 1, 0.9),
        ("top", [0.1, 0.6, 0.1, 0.2], 1, 0.8),
        ("list", [0.1, 0.6, 0.05, 0.25], 1, 0.6),
        ("count_distinct", [0.1, 0.2, 0.1, 0.6], None, 0.6),
        ("sum", [0.1, 0.6, 0.05, 0.25], None, 1.0),
    ],
)
def test_a_name_beside_the_number_answers_both(
    asked: str, named: list[float], column: int | None, certainty: float
) -> None:
    found = parse(scored(asked, named), VIEW, [])
    assert (found.asked, found.named) == (asked, column)
    assert found.certainty == pytest.approx(certainty, abs=1e-3)
