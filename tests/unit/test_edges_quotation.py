"""Numbers that decide what is quoted beside the best quotation, and how long it is, each at its edge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from math import log, sqrt
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from cairn.answer.candidates import Candidate, candidates
from cairn.answer.computed import CONFIDENCE, needed_cells, unit_note, word_computed
from cairn.answer.confidence import Calibration
from cairn.answer.context import DOCUMENT_HEADER, assemble_with_graph, one_line
from cairn.answer.evidence import question_terms
from cairn.answer.extract import _also, _is_other_row, extract, name_others
from cairn.answer.lexrank import centrality, digest, representative
from cairn.answer.missing import mentioned, misspelled, subjects
from cairn.answer.outline import outline
from cairn.answer.quotation import quote, says_the_same
from cairn.domain.answer import Draft
from cairn.domain.computation import CellCondition, Computation
from cairn.domain.graph import ContextEntity, GraphContext
from cairn.domain.passage import Passage
from cairn.domain.table import ComputedCells, TableSketch
from cairn.language.lexicon import languages
from tests.unit.test_extract import SETTINGS, WordEmbedder, passage


def of(*words: str) -> Candidate:
    (one,) = candidates([passage(f"{' '.join(words)}.")])
    return one


# --- other places -----------------------------------------------------------------------------------------------------------

SAID = ("The Kestrel weighs four tonnes.", "The Kestrel weighs four tonnes, as Ada said.", "All sail.")


def also(scores: Sequence[float], idf: Sequence[float] = (1, 1), said: Sequence[str] = SAID[:2]) -> int:
    """How many other places are quoted beside the first: each in a document of its own, the second one less well scored, with
    words of the question that weigh so much."""
    passages = [passage(text) for text in said]
    found = candidates(passages)
    terms = replace(question_terms("kestrel gross", found), idf=np.array(idf, float))
    best = quote(0, found, np.array(scores), terms, passages)
    return len(_also(best, range(len(found)), found, np.array(scores), terms, passages, 3))


DIFFERENT = ("A kestrel of gross oak.", "This kestrel came to Riga harbour late.")


@pytest.mark.parametrize(("behind", "named"), [(0.69, 1), (0.71, 0)])
def test_another_place_is_named_where_it_scores_little_less(behind: float, named: int) -> None:
    assert also([1.0, 1.0 - behind], idf=(1, 0), said=DIFFERENT) == named


@pytest.mark.parametrize(("held", "named"), [(0.91, 1), (0.89, 0)])
def test_and_where_it_holds_nine_tenths_of_what_the_best_holds(held: float, named: int) -> None:
    assert also([1.0, 1.0], idf=(held, 1 - held), said=DIFFERENT) == named


async def test_two_others_are_named_where_nothing_is_sure() -> None:
    passages = [
        passage(f"The {name} is a ship of {name} oak.") for name in ("Kestrel", "Heron", "Merlin", "Osprey", "Falcon")
    ]
    many = SETTINGS.model_copy(update={"max_sentences": 6})
    draft = await extract("What is the ship Kestrel?", passages, WordEmbedder(), many, enough=0.0)
    assert len(draft.others) == 2


@pytest.mark.parametrize(("length", "whole"), [(400, True), (401, False)])
async def test_lists_of_others_have_room_for_nine_hundred_characters(length: int, whole: bool) -> None:
    """Together."""
    passages = [passage("The Kestrel is caulked by hand.")]
    for name, characters in (("Heron", 500), ("Merlin", length)):
        first = f"- The {name} is caulked with tar.\n- "
        passages.append(passage(first + name[0] * (characters - len(first)), title=name))
    draft = await extract("How is the ship Kestrel caulked?", passages, WordEmbedder(), SETTINGS, enough=0.0)
    assert [shown.count("\n") > 1 for _, shown in draft.others] == [True, whole]


async def test_a_refusal_has_the_three_places_that_come_nearest() -> None:
    passages = [passage(f"The {name} is a ship of oak.") for name in ("Kestrel", "Heron", "Merlin", "Osprey")]
    passages.append(passage("Nothing here."))
    for most, named in ((6, 3), (2, 2)):
        settings = SETTINGS.model_copy(update={"max_sentences": most})
        draft = await extract("What is the ship Kestrel?", passages, WordEmbedder(), settings, enough=1.01)
        assert (draft.found, draft.citations, len(draft.near)) == (False, (), named)
        assert [cited.n for cited, _ in draft.near] == list(range(1, named + 1))
        assert all(cited.instead for cited, _ in draft.near)
        assert draft.near[0][1] == "The Kestrel is a ship of oak."
    draft = await extract("What is the ship Kestrel?", passages[-1:], WordEmbedder(), SETTINGS, enough=1.01)
    assert draft.near == (), "nothing there has a word of the question"


@pytest.mark.parametrize(("confidence", "shown"), [(0.031, True), (0.029, False)])
async def test_what_comes_nearest_is_shown_from_three_in_a_hundred_on(confidence: float, shown: bool) -> None:
    lines = Calibration((0.0, log(confidence / (1 - confidence))), (0.0, 30.0))
    asked, said = "What is the ship Kestrel?", passage("The Kestrel is a ship of oak.")
    draft = await extract(asked, [said], WordEmbedder(), SETTINGS, enough=1.01, calibration=lines)
    assert draft.confidence == pytest.approx(confidence)
    assert bool(draft.near) is shown


@pytest.mark.parametrize(("length", "whole"), [(500, True), (501, False)])
async def test_lists_that_come_nearest_have_room_for_five_hundred_characters(length: int, whole: bool) -> None:
    first = "- The Heron is caulked with tar.\n- "
    passages = [passage(first + "H" * (length - len(first)), title="Heron")]
    draft = await extract("How is the ship Heron caulked?", passages, WordEmbedder(), SETTINGS, enough=1.01)
    assert [shown.count("\n") > 1 for _, shown in draft.near] == [whole]


async def test_what_is_withheld_comes_nearest_before_what_else_may_answer() -> None:
    passages = [passage(f"The {name} is a ship of {name} oak.") for name in ("Kestrel", "Heron", "Merlin", "Osprey")]
    many = SETTINGS.model_copy(update={"max_sentences": 6})
    draft = await extract("What is the ship Kestrel?", passages, WordEmbedder(), many, enough=0.0)
    assert draft.found
    assert [cited.n for cited, _ in draft.near] == [1, 2, 3]
    assert draft.near[0][1] == "The Kestrel is a ship of Kestrel oak."
    assert all(cited.instead for cited, _ in draft.near)
    refused = name_others(Draft("I don't know.", (), False, 0.1, near=draft.near), "en")
    assert refused.text.splitlines()[2:4] == [
        "What comes nearest, and may not answer it:", f"- a.md: {draft.near[0][1]} [1]",
    ]  # fmt: skip
    assert refused.citations == tuple(cited for cited, _ in draft.near)
    assert len({one.replies.near_to_it for one in languages()} - {""}) == 5


async def test_what_has_no_word_is_no_place() -> None:
    passages = [passage("- The Kestrel is a ship.\n- `---`\n- [](kestrel-ship.md)\n- The ship sails.\n")]
    draft = await extract("What is the ship Kestrel?", passages, WordEmbedder(), SETTINGS, enough=1.01)
    assert {shown for _, shown in draft.near} == {"The Kestrel is a ship.", "The ship sails."}


async def test_what_was_said_before_is_worth_one_less() -> None:
    sentence = "The Kestrel was built in Riga in 1931."
    asked = "Where was the Kestrel built?"
    new = await extract(asked, [passage(sentence)], WordEmbedder(), SETTINGS, enough=0.0)
    again = await extract(asked, [passage(sentence)], WordEmbedder(), SETTINGS, enough=0.0, said=sentence)
    assert new.evidence is not None
    assert again.evidence is not None
    assert new.evidence.score - again.evidence.score == pytest.approx(1.0)


TABLE = "| Item | 2019 |\n| --- | --- |\n| Total equity | 5 |\n| Cash | 7 |\n"


@pytest.mark.parametrize(("label", "other"), [(0.5, True), (0.51, False)])
def test_a_row_that_half_agrees_may_be_that_of_something_else(label: float, other: bool) -> None:
    found = candidates([passage(TABLE)])
    row = next(one for one in found if "equity" in one.text)
    assert _is_other_row(question_terms("What is the total revenue?", found), row, label) is other


@pytest.mark.parametrize(("shared", "same"), [(7, True), (6, False)])
def test_candidates_say_the_same_with_seven_tenths_of_their_words(shared: int, same: bool) -> None:
    """Of ten: so many in both, the rest in one of them."""
    words = ["anchor", "boiler", "cabin", "deck", "engine", "funnel", "galley", "hatch", "keel", "ladder"]
    assert says_the_same(of(*words), of(*words[:shared])) is same


# --- how long it is ---------------------------------------------------------------------------------------------------------


def quoted(content: str, question: str = "kestrel", scores: Sequence[float] | None = None, **terms: Any) -> str:
    """How the first candidate reads."""
    passages = [passage(content)]
    found = candidates(passages)
    made = replace(question_terms(question, found), **terms)
    return quote(0, found, np.array(scores if scores else [1.0] + [-9.0] * (len(found) - 1)), made, passages).shown


@pytest.mark.parametrize(("length", "whole"), [(250, True), (251, False)])
def test_a_longer_sentence_than_250_characters_is_cut(length: int, whole: bool) -> None:
    sentence = ("Kestrel " + "sails " * 60)[: length - 1].rstrip().ljust(length - 1, "s") + "."
    assert (quoted(sentence) == sentence) is whole


@pytest.mark.parametrize(("length", "whole"), [(600, True), (601, False)])
def test_longer_code_than_600_characters_is_cut(length: int, whole: bool) -> None:
    code = ("kestrel = 1\n" * 60)[: length - 1].rstrip().ljust(length - 1, "1") + "1"
    shown = quoted(f"```\n{code}\n```\n")
    assert (len(shown) >= length) is whole


@pytest.mark.parametrize("before", ["", "All of it.\n\n" * 40])
def test_of_longer_code_the_lines_are_shown_that_have_what_is_asked(before: str) -> None:
    code = "sail = 1\n" * 50 + "kestrel = 2\noar = 3\n" + "sail = 4\n" * 50
    text = f"{before}```\n{code}```\n"
    found = candidates([passage(text)])
    at = next(at for at, one in enumerate(found) if one.unit.kind == "code")
    made = quote(at, found, np.zeros(len(found)), question_terms("kestrel", found), [passage(text)])
    [(start, end)] = made.spans
    assert text[start:end] == made.shown
    assert "sail = 1\nkestrel = 2\noar = 3\nsail = 4\n" in made.shown
    assert {*made.shown.split("\n")} <= {*code.split("\n")}, "whole lines"


@pytest.mark.parametrize(
    ("cell", "shown"),
    [("serves the kestrel pages", "serve: serves the kestrel pages"), ("serves kestrel pages", "Meaning")],
)
def test_a_cell_of_four_words_is_read_without_its_header(cell: str, shown: str) -> None:
    assert shown in quoted(f"| Command | Meaning |\n| --- | --- |\n| serve | {cell} |\n")


NEIGHBOURS = "The kestrel sails. Boats row at noon."


@pytest.mark.parametrize(("behind", "joined"), [(0.49, True), (0.51, False)])
def test_a_neighbour_that_scores_little_less_is_quoted_too(behind: float, joined: bool) -> None:
    assert (quoted(NEIGHBOURS, scores=[1.0, 1.0 - behind]) == NEIGHBOURS) is joined


@pytest.mark.parametrize(("held", "joined"), [(0.41, True), (0.39, False)])
def test_so_is_one_that_holds_a_word_of_the_question_better(held: float, joined: bool) -> None:
    matches = {"kestrel": ((0, 1.0),), "row": ((1, held),)}
    assert (quoted(NEIGHBOURS, "kestrel rowing", matches=matches) == NEIGHBOURS) is joined


# --- computed answers -------------------------------------------------------------------------------------------------------


def test_computed_answers_are_as_sure_as_the_lower_end_of_what_was_measured() -> None:
    """480 of 493 right over tables that nobody had looked at (ADR 159): the 95 % interval of Wilson, in hundredths below."""
    n, right, z = 493, 480, 1.96
    p = right / n
    lower = (p + z * z / (2 * n) - z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))) / (1 + z * z / n)
    assert CONFIDENCE <= lower < CONFIDENCE + 0.01


@pytest.mark.parametrize(
    ("operation", "place", "cells"), [("highest", 1, 5), ("rank", 4, 5), ("rank", 5, 6), ("top", 3, 4)]
)
def test_so_many_cells_are_named(operation: Any, place: int, cells: int) -> None:
    assert needed_cells(Computation(operation, 1, place=place)) == cells


def sketch(header: tuple[str, ...] = ("Region", "Sales"), title: str = "") -> TableSketch:
    known: dict[str, Any] = dict.fromkeys(("address", "external_id", "document_title"), "")
    return TableSketch(
        **known, title=title, headings=(), header=header, rows=3, mark=None, complete=True, numeric=(False, True),
        dated=(False, False), units=(None, None),
    )  # fmt: skip


def of_cells(**more: Any) -> ComputedCells:
    known: dict[str, Any] = {
        "rows": 3, "numbers": 3, "units": [""], "kept": 3, "sum": Decimal(10), "average": Decimal(10) / 3, "ordered": None,
        "difference": None, "growth": None, "decimals": 1, "grouped": False, "cells": [],
    }  # fmt: skip
    return ComputedCells(**{**known, **more})


def cell(n: int) -> dict[str, Any]:
    return {
        "label": f"R{n}",
        "asked": None,
        "text": str(n),
        "number": n,
        "position": 1,
        "char_start": n,
        "char_end": n + 1,
    }


def test_five_cells_are_named_and_the_rest_is_counted() -> None:
    found = Computation("sum", 1)
    written = word_computed(
        found, of_cells(rows=9, numbers=9, kept=9, cells=[cell(n) for n in range(9)]), sketch(), "en"
    )
    assert written is not None
    assert len(written.rows) == 5


@pytest.mark.parametrize(("numbers", "computed"), [(2, True), (1, False)])
def test_nothing_is_computed_of_a_single_cell(numbers: int, computed: bool) -> None:
    found = of_cells(rows=numbers, numbers=numbers, kept=numbers, cells=[cell(n) for n in range(numbers)])
    assert (word_computed(Computation("sum", 1), found, sketch(), "en") is not None) is computed
    assert (word_computed(Computation("highest", 1), found, sketch(), "en") is not None) is computed


@pytest.mark.parametrize(("header", "value"), [("Sales (EUR)", "10.0 €"), ("Sales (EUR k)", "10.0 € EUR k")])
def test_a_currency_is_said_once(header: str, value: str) -> None:
    written = word_computed(Computation("sum", 1), of_cells(units=["#€"]), sketch(("R", header)), "en")
    assert written is not None
    assert written.value == value


@pytest.mark.parametrize(("rows", "told"), [(2, "The first 2 of 2 values of “Sales”"), (3, None)])
def test_rows_are_ranked_where_each_is_one_thing(rows: int, told: str | None) -> None:
    found = Computation("average", 1, asked=0, grouped=True, each=True, ranked=True, averaged=True, one_row=True)
    cells = [{**cell(n), "asked": f"R{n}", "size": 1} for n in (2, 1)]
    written = word_computed(
        found,
        of_cells(rows=rows, numbers=rows, kept=rows, asked=rows, groups=2, lines=rows, cells=cells),
        sketch(("R", "Sales")),
        "en",
    )
    assert (written and written.told) == told


def test_an_average_has_two_decimals_more_than_its_cells() -> None:
    written = word_computed(Computation("average", 1), of_cells(cells=[cell(1)]), sketch(), "en")
    assert written is not None
    assert written.value == "3.333"


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("en", "Rows counted: 3 where Made is in 2025"),
        ("de", "Gezählte Zeilen: 3 mit Made aus 2025"),
        ("fr", "Lignes comptées : 3 où Made est en 2025"),
        ("es", "Filas contadas: 3 donde Made es de 2025"),
        ("it", "Righe contate: 3 dove Made è del 2025"),
    ],
)
def test_dates_of_a_year_are_called_by_it_and_not_by_one_of_them(language: str, told: str) -> None:
    found = Computation("count", conditions=(CellCondition(1, ("2025",), ("2025-01-09",)),))
    dated = replace(sketch(("Region", "Made")), numeric=(False, False), dated=(False, True))
    for table in (dated, replace(dated, dated=(False, False))):  # one of its cells may be none
        written = word_computed(found, of_cells(lines=3), table, language)
        assert written is not None
        assert written.told == told


@pytest.mark.parametrize(
    ("keys", "texts", "said"),
    [
        (("2026", "2024"), ("2026-01-09", "2024-03-01"), "Made is in 2024, 2026"),
        (("2024", "2025"), ("2024-01-09", "2025-03-01"), "Made is in 2024, 2025"),
        (("2023", "2024", "2025"), ("2023–2025",), "Made is in 2023–2025"),
        (("",), ("–",), "Made: –"),
    ],
)
def test_several_years_of_dates_are_all_said(keys: tuple[str, ...], texts: tuple[str, ...], said: str) -> None:
    found = Computation("count", conditions=(CellCondition(1, keys, texts),))
    dated = replace(sketch(("Region", "Made")), numeric=(False, False), dated=(False, True))
    written = word_computed(found, of_cells(lines=3), dated, "en")
    assert written is not None
    assert written.told == f"Rows counted: 3 where {said}"


@pytest.mark.parametrize(("dated", "value"), [(True, "R1: 2"), (False, None)])
def test_the_last_day_is_that_of_its_row_though_two_rows_are_called_alike(dated: bool, value: str | None) -> None:
    cells = [{**cell(n), "asked": f"R{n}"} for n in (2, 1)]
    cells[0]["asked"] = "R1"
    table = replace(sketch(("Region", "Made")), dated=(False, dated))
    written = word_computed(Computation("highest", 1, asked=0), of_cells(asked=2, cells=cells), table, "en")
    assert (written and written.value) == value


def test_the_date_that_is_asked_for_is_said_once() -> None:
    cells = [{**cell(n), "asked": str(n)} for n in (2, 1)]
    table = replace(sketch(("Region", "Made")), dated=(False, True))
    written = word_computed(Computation("highest", 1, asked=1), of_cells(cells=cells), table, "en")
    assert written is not None
    assert (written.value, written.named) == ("2", ("R2: 2", "R1: 1"))


def test_a_cell_of_the_row_that_is_named_is_told_with_its_column() -> None:
    """A sign alone says nothing."""
    found = Computation("listing", asked=1, conditions=(CellCondition(0, ("r1",), ("R1",)),))
    cells = of_cells(rows=1, kept=1, asked=1, cells=[{**cell(1), "asked": "✅", "text": None}])
    written = word_computed(found, cells, sketch(("Client", "Log in")), "en")
    assert written is not None
    assert written.named == ("Log in: ✅",)


@pytest.mark.parametrize(
    ("dated", "told"), [(True, "Latest of 3 values of “Made”"), (False, "Highest of 3 values of “Made”")]
)
def test_the_highest_date_is_the_latest(dated: bool, told: str) -> None:
    table = replace(sketch(("Region", "Made")), dated=(False, dated))
    written = word_computed(
        Computation("highest", 1), of_cells(lines=3, kept_numbers=3, cells=[cell(2), cell(1)]), table, "en"
    )
    assert written is not None
    assert written.told == told


def test_a_difference_within_a_row_names_its_columns() -> None:
    found = Computation("difference", row=1, columns=(1, 2), label="Inventories")
    cells = of_cells(rows=2, numbers=2, lines=2, difference=Decimal(3), cells=[{**cell(2), "position": 2}, cell(1)])
    table = replace(sketch(("", "2023", "2024")), numeric=(False, True, True), dated=(False, False, False))
    written = word_computed(found, cells, table, "en")
    assert written is not None
    assert written.told == "2024 minus 2023: “Inventories”"


@pytest.mark.parametrize(
    ("operation", "moved", "falls", "value", "told"),
    [
        ("difference", -3, True, "3.0", "2023 minus 2024: “Inventories”"),
        ("difference", 3, True, "an increase of 3.0", "2024 minus 2023: “Inventories”"),
        ("difference", -3, False, "-3.0", "2024 minus 2023: “Inventories”"),
        ("growth", -3, True, "a decrease of 3.00 %", "Change from 2023 to 2024: “Inventories”"),
        ("growth", 3, True, "an increase of 3.00 %", "Change from 2023 to 2024: “Inventories”"),
    ],
)
def test_a_fall_that_is_asked_for_is_told_without_a_sign(
    operation: Any, moved: int, falls: bool, value: str, told: str
) -> None:
    found = Computation(operation, row=1, columns=(1, 2), label="Inventories", falls=falls, pair=("2023", "2024"))
    number = Decimal(moved)
    cells = of_cells(rows=2, numbers=2, lines=2, difference=number, growth=number, ordered=[Decimal(9), Decimal(6)])
    table = replace(sketch(("", "2023", "2024")), numeric=(False, True, True), dated=(False, False, False))
    written = word_computed(found, cells, table, "en")
    assert written is not None
    assert (written.value, written.told) == (value, told)


def test_a_column_without_a_name_is_not_named() -> None:
    found = Computation("count", conditions=(CellCondition(0, ("a",), ("Long-term debt",)),))
    written = word_computed(found, of_cells(lines=3), sketch(("", "Sales")), "en")
    assert written is not None
    assert written.told == "Rows counted: 3 where “Long-term debt”"


@pytest.mark.parametrize(("header", "value"), [("Cost (£)", "£10.0"), ("Cost ($)", "$10.0"), ("Cost (€)", "10.0 (€)")])
def test_a_sign_that_stands_before_amounts_is_put_there(header: str, value: str) -> None:
    written = word_computed(Computation("sum", 1), of_cells(), sketch(("R", header)), "en")
    assert written is not None
    assert written.value == value


def test_what_is_computed_is_told_without_markup() -> None:
    conditions = (CellCondition(0, ("push",), ("**[push](/docs/push)**",)),)
    cells = [{**cell(1), "label": "**v2.0.0**", "text": None, "number": None}]
    marked = sketch(("**Directive**", "Sales"))
    written = word_computed(
        Computation("count", conditions=conditions), of_cells(lines=3, kept=1, cells=cells), marked, "en"
    )
    assert written is not None
    assert written.told == "Rows counted: 1 where Directive: push"
    assert written.named == ("v2.0.0",)
    best = [{**cell(1), "asked": "[R1](r1.md)", "text": "**9**", "number": 9}, cell(2)]
    written = word_computed(Computation("highest", 1, asked=0), of_cells(asked=3, cells=best), marked, "en")
    assert written is not None
    assert written.value == "R1: 9"
    assert "*" not in str(written.named)


@pytest.mark.parametrize(("length", "noted"), [(60, True), (61, False)])
def test_a_corner_of_sixty_characters_says_what_is_counted_in(length: int, noted: bool) -> None:
    corner = "in millions ".ljust(length, "x")
    found = Computation("sum", row=1, columns=(1,))
    assert (unit_note(found, sketch((corner, "2019"))) == corner) is noted


@pytest.mark.parametrize(("line", "note"), [("EUR m", "EUR m"), ("in EUR m", "")])
def test_a_line_of_a_header_of_two_words_says_what_is_counted_in(line: str, note: str) -> None:
    assert unit_note(Computation("sum", 1), sketch(("Region", f"Sales / {line}"))) == note


# --- the context of a prompt ------------------------------------------------------------------------------------------------


def test_what_the_graph_knows_has_a_fifth_of_the_context() -> None:
    """The last sentence that fits leaves less than ten characters of the other four."""
    long = passage("".join(f"Ship {n:03d}. " for n in range(500)))
    graph = GraphContext((ContextEntity("Ada", "person", (long.passage_id,)),))
    documents = assemble_with_graph([long], graph, len, 1000).text.split(f"{DOCUMENT_HEADER}\n\n")[1]
    assert 790 < len(documents) <= 800


def test_names_of_the_graph_and_of_documents_are_cut_at_two_hundred_characters() -> None:
    one = passage("Short.")
    graph = GraphContext((ContextEntity("y" * 300, "person", (one.passage_id,)),))
    assert assemble_with_graph([one], graph, len, 10_000).text.count("y") == 200
    assert len(one_line("x" * 300)) == 200


# --- summaries --------------------------------------------------------------------------------------------------------------


def test_centrality_is_the_walk_that_jumps_three_times_in_twenty() -> None:
    """LexRank: a damping of .85. Of three sentences the one that is like both others, by hand:
    b = .05 + .85 * (a + c), a = c = .05 + .425 * b."""
    root = 0.5**0.5
    vectors = np.array([[1, 0], [root, root], [0, 1]], np.float32)
    b = (0.05 + 0.85 * 0.1) / (1 - 0.85 * 0.85)
    assert centrality(vectors) == pytest.approx([0.05 + 0.425 * b, b, 0.05 + 0.425 * b], abs=1e-3)


def test_fifty_steps_leave_an_error_below_three_in_ten_thousand() -> None:
    """As far as a walk can be from where it ends after fifty steps, and no further: it goes to and fro between two groups."""
    root = 0.5**0.5
    vectors = np.array([[1, 0], [root, root], [0, 1]], np.float32)
    b = (0.05 + 0.85 * 0.1) / (1 - 0.85 * 0.85)
    assert abs(centrality(vectors)[1] - b) == pytest.approx(0.85**50 * (b - 1 / 3), rel=0.05)


CENTRAL_FIRST = [[0.9, 0.5], [0.3, 0.4], [0.0, 0.1], [0.7, 0.6]]
UNLIKE_FIRST = [[0.1, 0.7], [0.5, 0.3], [0.5, 0.9], [0.9, 0.4]]


@pytest.mark.parametrize(("rows", "chosen"), [(CENTRAL_FIRST, [1, 3]), (UNLIKE_FIRST, [2, 3])])
def test_centrality_counts_as_much_as_unlikeness_to_what_is_chosen(rows: list[list[float]], chosen: list[int]) -> None:
    """A fifth more of either would choose others."""
    vectors = np.array(rows)
    unit = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    assert representative(unit, 2) == chosen


def sentences(count: int, words: int = 4) -> Passage:
    return passage(" ".join(f"Ship{n} {' '.join(['sails'] * (words - 1))}." for n in range(count)))


@pytest.mark.parametrize(("count", "embedded"), [(64, 64), (65, 64), (200, 64)])
async def test_a_summary_compares_sixty_four_sentences(count: int, embedded: int) -> None:
    embedder = WordEmbedder()
    await digest([sentences(count)], embedder, 5)
    assert embedder.embedded == embedded


async def test_something_short_is_summed_up_by_two_sentences() -> None:
    draft = await digest([sentences(3)], WordEmbedder(), 5)
    assert draft is not None
    assert len(draft.citations) == 2


@pytest.mark.parametrize(("words", "kept"), [(4, 5), (3, 2)])
async def test_a_sentence_of_a_summary_has_four_words(words: int, kept: int) -> None:
    draft = await digest([sentences(13, words), sentences(2, 9)], WordEmbedder(), 5)
    assert draft is not None
    assert len(draft.citations) == kept


# --- names ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "names"), [("tesla revenue growth margin", 4), ("tesla revenue growth margin profit", 0)]
)
def test_four_words_without_grammar_are_keywords(message: str, names: int) -> None:
    assert len(subjects(message, "en")) == names


@pytest.mark.parametrize(("word", "there"), [("Teslas", True), ("Teslabcde", False), ("Teslaabc", True)])
def test_an_inflection_adds_three_letters(word: str, there: bool) -> None:
    (tesla,) = subjects("What does Tesla own?", "en")
    assert mentioned(tesla, f"The {word} drove off.") is there


@pytest.mark.parametrize(
    ("word", "other", "there"), [("Seewolke", "Gewitterwolke", True), ("Eiwolke", "Gewitterwolke", False)]
)
def test_a_noun_of_eight_letters_is_known_by_its_end(word: str, other: str, there: bool) -> None:
    found = subjects(f"Was kostet {word}?", "de")
    assert any(mentioned(one, f"Es gibt einen {other}.") for one in found) is there


@pytest.mark.parametrize(("name", "text", "slip"), [("Kesla", "Kelsa rows.", True), ("Kela", "Keal rows.", False)])
def test_a_name_of_five_letters_may_be_misspelled(name: str, text: str, slip: bool) -> None:
    (one,) = subjects(f"What does {name} own?", "en")
    assert misspelled(one, text) is slip


@pytest.mark.parametrize(
    ("message", "names"), [("was ist der umsatz von ibm?", ["ibm"]), ("was ist der umsatz von xz?", [])]
)
def test_a_name_without_capitals_has_three_letters(message: str, names: list[str]) -> None:
    assert [one.text for one in subjects(message, "de")] == names


@pytest.mark.parametrize(
    ("name", "text", "there"), [("Nancy", "the Nancies", True), ("Lucy", "the Lucies", False), ("Lucy", "Luc", False)]
)
def test_an_ending_comes_off_names_of_five_letters(name: str, text: str, there: bool) -> None:
    (one,) = subjects(f"What does {name} own?", "en")
    assert mentioned(one, f"So did {text}.") is there


@pytest.mark.parametrize(("letters", "there"), [("NAFCAR", True), ("NAFCARZ", False)])
def test_up_to_six_capitals_stand_for_words(letters: str, there: bool) -> None:
    (one,) = subjects(f"What does {letters} own?", "en")
    assert mentioned(one, "The new association for cars and races zooms.") is there


# --- outlines ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("words", "leads"), [(4, True), (3, False)])
def test_a_sentence_of_four_words_can_lead(words: int, leads: bool) -> None:
    assert (outline([sentences(6, words)], "en", 5) is not None) is leads


@pytest.mark.parametrize(("length", "whole"), [(240, True), (241, False)])
def test_a_sentence_of_an_outline_has_240_characters(length: int, whole: bool) -> None:
    sentence = ("Ships " + "sail " * 60)[: length - 1].rstrip().ljust(length - 1, "l") + "."
    draft = outline([passage(sentence)], "en", 5)
    assert draft is not None
    assert (" …" not in draft.text) is whole
    assert (draft.citations[0].quote == sentence) is whole


@pytest.mark.parametrize(("chapters", "shown"), [(3, 3), (2, 4)])
def test_three_chapters_are_enough_of_an_outline(chapters: int, shown: int) -> None:
    """Of fewer, their sections are listed, though there are too many of them."""
    document = UUID(int=7)
    passages = [
        passage(
            f"Section {n} speaks of {a}.",
            start=100 * n,
            document_id=document,
            headings=(f"Chapter {a}", f"Section {n}"),
        )
        for n, a in enumerate(sorted(n % chapters for n in range(6)))
    ]
    draft = outline(passages, "en", 4)
    assert draft is not None
    assert len(draft.citations) == shown


@pytest.mark.parametrize(("sentences_in_all", "parts"), [(9, 3), (8, 2), (6, 2), (5, 5)])
def test_a_text_without_headings_is_shown_by_parts_of_three_sentences_or_whole(
    sentences_in_all: int, parts: int
) -> None:
    draft = outline([sentences(sentences_in_all)], "en", 5)
    assert draft is not None
    assert len(draft.citations) == parts


@pytest.mark.parametrize(("asked", "value"), [("7", "£7: 10"), ("", None), ("–", None)])
def test_the_number_of_the_latest_row_is_told_with_its_unit(asked: str, value: str | None) -> None:
    table = replace(sketch(("Region", "Made", "Cost (£)")), numeric=(False, False, True), dated=(False, True, False))
    cells = of_cells(rows=3, numbers=3, asked=3, cells=[{**cell(2), "text": "10", "asked": asked}, cell(1)])
    written = word_computed(Computation("highest", 1, asked=2), cells, table, "en")
    assert (written.value if written else None) == value


@pytest.mark.parametrize(("limited", "value"), [(True, "1"), (False, None)])
def test_there_may_be_one_among_some_rows(limited: bool, value: str | None) -> None:
    limits = (CellCondition(1, ("north",), ("North",)),) if limited else ()
    cells = of_cells(groups=1, asked=1, cells=[{**cell(2), "asked": "Brown", "size": 3}])
    written = word_computed(Computation("count", asked=0, conditions=limits, grouped=True), cells, sketch(), "en")
    assert (written.value if written else None) == value


@pytest.mark.parametrize(
    ("text", "led"),
    [
        ("# A\n\nThe summary has the following parts:\n\n- One.\n\nIt is made by a job.\n", "It is made by a job."),
        ("# A\n\nThe summary has the following parts:\n", "The summary has the following parts:"),
        ('# A\n\n{"name": "one", "kind": "two", "size": 3}\n\nThat is what the job returns.\n', "That is what the job returns."),
        ('# A\n\n"name": "one two three four five."\n\nThat is what the job returns.\n', "That is what the job returns."),
    ],
)  # fmt: skip
def test_what_announces_a_list_and_data_lead_only_where_nothing_else_can(text: str, led: str) -> None:
    first = replace(passage(text), headings=("A",), landmarks=())
    draft = outline([first, replace(passage("This is another section of it."), headings=("B",), landmarks=())], "en", 5)
    assert draft is not None
    assert draft.citations[0].quote == led
