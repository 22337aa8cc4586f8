"""What of an answer stands first: a value, a sentence, the answer as it is."""

from __future__ import annotations

import time
from typing import Any

import pytest

from cairn.domain.ids import new_id
from cairn.domain.question import SourceRef
from cairn.interfaces.web.answer_card import LONG_ALSO, LONG_BODY, AnswerCard, card_of
from cairn.interfaces.web.prose import render
from tests.waiting import patience

TABLE = "| Region | Year | Revenue |\n| --- | --- | --- |\n" + "".join(
    f"| {region} | {year} | {amount} |\n"
    for region, year, amount in (
        ("North", 2021, 2310), ("North", 2022, 2475), ("South", 2021, 1190), ("South", 2022, 1010), ("South", 2023, 1475),
        ("East", 2021, 640), ("East", 2022, 702), ("East", 2023, 811),
    )
)  # fmt: skip
PRESS = "| Property | Value | Note |\n|---|---|---|\n| Pressure | 15 bar | at the pump |\n| Weight | 7.4 kg | dry |"


def card(text: str, quote: str = "", **notes: Any) -> AnswerCard:
    source = SourceRef(1, new_id(), new_id(), None, "a.md", "A", None, 0, len(quote), 1, 0.9, quote)
    return card_of(text, (source,) if quote else (), {"grounded": None, **notes})


def test_a_cell_of_a_row_is_the_value_and_stands_marked_among_the_rows_around_it() -> None:
    shown = card(f"South | Revenue | 1475 [1]\n\n{TABLE}", "South | 2023 | 1475")
    assert (shown.value, shown.about) == ("1475 [1]", "South · Revenue")
    assert [shown.body[a:b] for a, b in shown.marks] == ["1475"]
    assert shown.body.count("\n| ") == 6, "the header's rule, and two rows before and behind"
    assert "| South | 2021 | 1190 |" in shown.body
    assert "North" not in shown.body


def test_of_a_row_of_two_cells_the_one_with_a_figure_is_the_value() -> None:
    shown = card(f"Pressure: Value 15 bar; Note at the pump [1]\n\n{PRESS}", "Pressure | 15 bar | at the pump")
    assert (shown.value, shown.about) == ("15 bar [1]", "Pressure · Value")
    assert [shown.body[a:b] for a, b in shown.marks] == ["15 bar"]


@pytest.mark.parametrize(
    ("cell", "value"), [("- 1,234", "\\- 1,234"), ("+ 3 %", "\\+ 3 %"), ("1.", "1\\."), ("1475", "1475")]
)
def test_a_value_is_no_list_and_keeps_its_sign(cell: str, value: str) -> None:
    shown = card(f"Net income | 2023 | {cell} [1]\n\n| | 2023 |\n|---|---|\n| Net income | {cell} |\n| Tax | 7 |", cell)
    assert shown.value == f"{value} [1]"
    assert render(shown.value) == f"<p>{cell} [1]</p>\n"


def test_a_line_of_sources_is_read_in_linear_time() -> None:
    table = "| a | b |\n|---|---|\n| c | 4 |"
    begun = time.thread_time()
    assert card("[1]" * 64_000 + f"x\n\n{table}", "x").value == ""
    assert time.thread_time() - begun < patience(5, least=0)  # the square of it takes minutes


def test_groups_and_headers_above_a_column_are_named_as_one_says_them() -> None:
    table = "| | Year Ended December 31, / 2018 | Year Ended December 31, / 2019 |\n|---|---|---|\n| AWS | 25,655 | 35,026 |"
    shown = card(f"Net Sales / AWS | Year Ended December 31, / 2019 | 35,026 [1]\n\n{table}", "AWS | 25,655 | 35,026")
    assert shown.value == "35,026 [1]"
    assert shown.about == "Net Sales › AWS · Year Ended December 31, 2019"
    assert [shown.body[a:b] for a, b in shown.marks] == ["35,026"]


def test_what_was_computed_is_the_value_and_how_it_was_stands_below() -> None:
    shown = card("2023: 1475 EUR k [1]\n\nHighest of 3 values.", "South | 1475", confidence_word="computed")
    assert (shown.value, shown.body) == ("2023: 1475 EUR k [1]", "Highest of 3 values.")


@pytest.mark.parametrize(
    ("text", "quote", "lead", "body"),
    [
        (
            "It holds 1.8 litres. [1]\n\nIt heats up in 40 seconds.", "It holds 1.8 litres.",
            "It holds 1.8 litres. [1]", "It heats up in 40 seconds.",
        ),
        ("The tank is new. It holds 1.8 litres. [1]", "It holds 1.8 litres.", "It holds 1.8 litres. [1]", None),
        ("30 days of leave. [1]", "30 days of leave.", "30 days of leave. [1]", ""),
        ("2 of 9 mention “tea”:\n- a.md [1]\n- b.md [2]", "x", "2 of 9 mention “tea”:", "- a.md [1]\n- b.md [2]"),
    ],
)  # fmt: skip
def test_the_sentence_that_answers_stands_first(text: str, quote: str, lead: str, body: str | None) -> None:
    shown = card(text, quote)
    assert shown.lead == lead
    assert shown.body == (text if body is None else body)
    marked = [shown.body[a:b] for a, b in shown.marks]
    assert marked == ([quote] if body is None else []), "it is marked where it stands again among others"


@pytest.mark.parametrize(
    ("text", "quote", "body"),
    [
        ("To rinse:\n\n1. Empty it. [1]\n2. Fill it.", "Empty it.", None),  # all steps answer
        ("Run this:\n\n```bash\nmake all\n```\n[1]", "make all", "Run this:\n\n```bash\nmake all\n```"),
        ("You're welcome!", "", None),  # small talk
    ],
)
def test_steps_code_and_small_talk_are_shown_as_they_are(text: str, quote: str, body: str | None) -> None:
    assert card(text, quote) == AnswerCard(body=text if body is None else body)


def test_what_else_may_answer_stands_apart_and_a_long_context_is_folded() -> None:
    around = "It goes on about other things. " * 30
    shown = card(
        f"It is 5 bar. [1]\n\n{around}\n\nOr perhaps:\n- Weights: It is 7 kg. [2]\n- Tanks: 2 l. [3]", "It is 5 bar."
    )
    assert shown.lead == "It is 5 bar. [1]"
    assert shown.folded
    assert shown.also == "Or perhaps:\n- Weights: It is 7 kg. [2]\n- Tanks: 2 l. [3]"
    assert shown.body == around.strip()
    assert not shown.also_folded
    assert not card("It is 5 bar. [1]\n\nAt the pump.", "It is 5 bar.").folded


@pytest.mark.parametrize(
    ("body", "folded"),
    [
        ("x" * LONG_BODY, False),
        ("x" * (LONG_BODY + 1), True),
        ("Do:\n\n1. " + "x" * LONG_BODY + "\n2. y", False),  # the steps are the answer, whatever sentence is quoted
        ("Run:\n\n```\n" + "x" * LONG_BODY + "\n```", False),
    ],
)
def test_text_around_is_folded_and_steps_are_not(body: str, folded: bool) -> None:
    assert AnswerCard(lead="It is so.", body=body).folded is folded
    assert not AnswerCard(body=body).folded


def test_what_else_may_answer_does_not_push_the_answer_away() -> None:
    assert not AnswerCard(also="x" * LONG_ALSO).also_folded
    assert AnswerCard(also="x" * (LONG_ALSO + 1)).also_folded
