"""What the certainty of the table parser is worth: the share that was right of what it read of tables it was not trained on."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from cairn.answer.computed import CONFIDENCE, SHOWN_ONLY, ComputedAnswer
from cairn.answer.confidence import SURE
from cairn.domain.computation import Computation
from cairn.domain.table import TableAddress, TableSketch
from cairn.runs.library import TableComputation
from cairn.strategies.computed import (
    CERTAIN,
    MEANT,
    MOST_RIGHT,
    Computed,
    asks_how,
    choose,
    may_be_told,
    probably_right,
)


@pytest.mark.parametrize(
    ("certainty", "share"),
    # the mean of 94 tables of our own (208 of .76, 264 of .86, 357 of .94 right) and of 70 of WikiTableQuestions (25 of .76, 30
    # of .77, 64 of .92), in the middle of each range; of four exams 16 of .81, 23 of .87, 18 of 1
    [(0.75, 0.76), (0.85, 0.815), (0.95, 0.93)],
)
def test_it_is_as_often_right_as_was_measured(certainty: float, share: float) -> None:
    assert probably_right(certainty) == pytest.approx(share, abs=0.035)


@pytest.mark.parametrize(("certainty", "share"), [(0.5, 0.526), (0.7, 0.698), (0.8, 0.786), (0.9, 0.881)])
def test_it_is_what_was_fitted(certainty: float, share: float) -> None:
    assert probably_right(certainty) == pytest.approx(share, abs=0.001)


def test_what_the_parser_reads_is_never_surer_than_what_rules_do() -> None:
    assert probably_right(1.0) == probably_right(0.99) == MOST_RIGHT < CONFIDENCE
    assert probably_right(CERTAIN) > SURE > SHOWN_ONLY
    assert MEANT == 0.45, (
        "from .3 on, 2 of 84 questions of manuals showed a table of something else; 2 of 120 of tables less"
    )
    assert CERTAIN == 0.7, "from .6 to .7 .68 of 171 were right, of tables of our own; from .7 to .8 .76 of 208"


# --- rules and the parser -----------------------------------------------------------------------------------------------------

SKETCH = TableSketch(
    TableAddress(UUID(int=0), 0),
    "",
    (),
    ("Boat", "Fee"),
    3,
    ".",
    True,
    (False, True),
    (False, False),
    (None, ""),
    "b.csv",
    "Boats",
)


def computed(
    value: str, *named: str, listed: bool = False, table: TableSketch = SKETCH, confidence: float = 0.8
) -> Computed:
    rows = tuple((10 * at, 10 * at + 9) for at in range(len(named)))
    found = TableComputation(table, Computation("sum", 1), cells=None, sql="", arguments=())  # type: ignore[arg-type]
    return Computed(found, ComputedAnswer(value, "", rows, named, listed), confidence)


def test_what_both_compute_is_as_sure_as_rules_are_and_where_they_differ_nothing_is() -> None:
    rules = computed("640", "Teal: 640", confidence=CONFIDENCE)
    assert choose(rules, None) is rules
    assert choose(None, rules) is rules
    assert choose(rules, computed("Teal: 640", "Teal: 640")) is rules
    assert choose(rules, computed("390", "Curlew: 390")) is None
    assert choose(rules, computed("641", "Teal: 641")) is None
    assert choose(None, None) is None
    elsewhere = replace(SKETCH, address=TableAddress(UUID(int=1), 0))
    assert choose(rules, computed("640", "Teal: 640", table=elsewhere)) is None


def test_lists_are_alike_by_their_rows_and_numbers() -> None:
    counts = computed("", "wood: 2", "steel: 1", listed=True)
    assert choose(counts, computed("", "wood, old: 2", "steel, new: 1", listed=True)) is counts
    assert choose(counts, computed("", "wood: 1030", "steel: 640", listed=True)) is None
    assert choose(counts, computed("2", "wood: 2", "steel: 1")) is None


def test_a_list_is_alike_with_its_cells_and_without() -> None:
    names = computed("", "v2.1.2", "v2.1.1, old", listed=True)
    assert choose(names, computed("", "v2.1.2: 2026-06-26", "v2.1.1, old: 2026-05-25", listed=True)) is names
    assert choose(names, computed("", "v2.1.2: 2026-06-26", "v2.1: 2026-05-25", listed=True)) is None
    assert choose(names, computed("", "v2.1.2: 2026-06-26", listed=True)) is None, "another row"


@pytest.mark.parametrize(
    ("question", "how"),
    [
        ("how are strings written", True),
        ("¿Cómo se indican las cadenas?", True),
        ("Comment écrit-on les chaînes ?", True),
        ("Wie werden Zeichenketten angegeben?", True),
        ("Die Zeichenketten fehlen, wieso?", True),
        ("¿Qué variables son cadenas?", False),
        ("which settings are strings, and how", False),
        ("Wie heißen die Boote aus Stahl?", False),
        ("how are the boats of steel called", False),
        ("Comment s'appellent les bateaux ?", False),
        ("¿Cómo se llaman los barcos?", False),
        ("", False),
    ],
)
def test_what_asks_how_asks_for_no_rows(question: str, how: bool) -> None:
    assert asks_how(question) == how
    assert may_be_told(question) != how


@pytest.mark.parametrize("question", ["how many boats are longer than 8 metres", "Wie viele Boote sind aus Stahl?"])
def test_how_many_there_are_may_be_told_by_a_table(question: str) -> None:
    assert may_be_told(question)


def test_what_the_parser_cannot_say_it_does_not_deny() -> None:
    """An order of all rows, and of which group the highest is."""
    ranking = Computation("sum", 1, asked=0, grouped=True, each=True, ranked=True)
    best = Computation("highest", 1, asked=0, grouped=True)
    rules, other = computed("", "Teal: 640", listed=True), computed("390", "Curlew: 390")
    of_parser = replace(other, found=replace(other.found, computation=Computation("highest", 1)))
    for computation in (ranking, best):
        by_rules = replace(rules, found=replace(rules.found, computation=computation))
        assert choose(by_rules, of_parser) is by_rules
    by_rules = replace(rules, found=replace(rules.found, computation=replace(best, operation="lowest")))
    assert choose(by_rules, of_parser) is None
