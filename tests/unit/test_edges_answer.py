"""Numbers that decide how an answer is quoted and written, each at its edge: what lies on one side and what on the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from cairn.answer.across import evidence_of, extract_across
from cairn.answer.advice import join_or
from cairn.answer.answer_type import read_asked
from cairn.answer.candidates import candidates
from cairn.answer.cite import marks, named_sources, quotations
from cairn.answer.confidence import (
    NAMED_ENOUGH,
    PRESENT_ENOUGH,
    Calibration,
    Confidence,
    JudgedConfidence,
    decide,
    fit_calibration,
    fit_logistic,
    word_of,
)
from cairn.answer.evidence import COLUMN, FEATURES, measure, question_terms
from cairn.answer.extract import extract
from cairn.answer.reading import ReadBy
from cairn.answer.refusal import is_refusal
from cairn.answer.reply import loop_start
from cairn.errors import InputError
from cairn.evals.calibrate import calibrate
from cairn.providers.answer_reader import Stretch, StretchReading
from tests.unit.test_extract import SETTINGS, WordEmbedder, passage
from tests.unit.test_read_across import ReaderOf


def odds(p: float) -> float:
    return math.log(p / (1 - p))


def always(p: float, right: float = 0.9) -> Calibration:
    """Of a collection whose documents answer with a probability of `p`, whatever is asked."""
    return Calibration((0.0, odds(p)), (0.0, odds(right)))


# --- whether something is shown ---------------------------------------------------------------------------------------------

SHIPS = "The Kestrel was built in Riga in 1931. She carries coal."


@pytest.mark.parametrize(("present", "shown"), [(0.301, True), (0.299, False)])
async def test_a_quotation_is_shown_where_the_documents_answer_probably_enough(present: float, shown: bool) -> None:
    """It refuses 8 % of what they answer (ADR 43)."""
    draft = await extract(
        "Where was the Kestrel built?", [passage(SHIPS)], WordEmbedder(), SETTINGS, calibration=always(present)
    )
    assert draft.found is shown


@pytest.mark.parametrize(
    ("question", "sure", "present", "right", "shown"),
    [
        ("Wo wurde die Kestrel gebaut?", None, 0.251, 0.9, True),
        ("Wo wurde die Kestrel gebaut?", None, 0.249, 0.9, False),
        ("Wo wurde die Kestrel gebaut?", -1.01, 0.251, 0.9, True),
        ("Wann wurde die Kestrel gebaut?", None, 0.251, 0.9, True),
        ("Wann wurde die Kestrel gebaut?", -0.99, 0.251, 0.9, True),
        ("Wann wurde die Kestrel gebaut?", -1.01, 0.699, 0.71, False),
        ("Wann wurde die Kestrel gebaut?", -1.01, 0.699, 0.72, True),
        ("Wann wurde die Kestrel gebaut?", -1.01, 0.701, 0.5, True),
    ],
)
async def test_and_so_is_one_in_another_language(
    question: str, sure: float | None, present: float, right: float, shown: bool
) -> None:
    """ADR 133, ADR 141."""
    reader = None if sure is None else DoubtfulReader(sure)
    draft = await extract_across(
        question, "de", [passage(SHIPS)], WordEmbedder(), calibration=always(present, right), reader=reader
    )
    assert draft.found is shown


@pytest.mark.parametrize(
    ("question", "present", "reads", "enough", "shown"),
    [
        ("When was the Kestrel built?", 0.501, True, PRESENT_ENOUGH, True),
        ("When was the Kestrel built?", 0.499, True, PRESENT_ENOUGH, False),
        ("What does the Kestrel carry?", 0.499, True, PRESENT_ENOUGH, True),
        ("How is the Kestrel built in 1931?", 0.499, True, PRESENT_ENOUGH, True),
        ("When was the Kestrel built?", 0.499, False, PRESENT_ENOUGH, True),
        ("When was the Kestrel built?", 0.499, True, NAMED_ENOUGH, True),
    ],
    ids=["a fact", "an unsure one", "a thing", "a way", "not read", "of a document that is named"],
)
async def test_a_fact_that_was_read_is_shown_from_one_half(
    question: str, present: float, reads: bool, enough: float, shown: bool
) -> None:
    """ADR 119."""
    by = ReadBy(ReaderOf("Riga"), [[]]) if reads else None
    draft = await extract(
        question, [passage(SHIPS)], WordEmbedder(), SETTINGS, calibration=always(present), by=by, enough=enough
    )
    assert draft.found is shown


class DoubtfulReader(ReaderOf):
    """One whose word on the stretch is `sure` log odds."""

    def __init__(self, sure: float) -> None:
        super().__init__("Riga")
        self.sure = sure

    async def read(self, question: str, stretches: Sequence[Stretch]) -> list[StretchReading]:
        return [StretchReading(self.sure, one.units) for one in await super().read(question, stretches)]


@pytest.mark.parametrize(
    ("question", "sure", "present", "right", "shown"),
    [
        ("When was the Kestrel built?", -0.99, 0.501, 0.9, True),
        ("When was the Kestrel built?", -1.01, 0.699, 0.71, False),
        ("When was the Kestrel built?", -1.01, 0.699, 0.72, True),
        ("When was the Kestrel built?", -1.01, 0.701, 0.5, True),
        ("What does the Kestrel carry?", -1.01, 0.501, 0.5, True),
    ],
    ids=["trusted", "doubted", "doubted and likely all the same", "doubted and there", "no fact"],
)
async def test_a_fact_that_the_reader_doubts_is_shown_where_all_else_speaks_for_it(
    question: str, sure: float, present: float, right: float, shown: bool
) -> None:
    """ADR 122, ADR 133: .699 times .71 is below .5."""
    draft = await extract(
        question, [passage(SHIPS)], WordEmbedder(), SETTINGS, calibration=always(present, right),
        by=ReadBy(DoubtfulReader(sure), [[]]),
    )  # fmt: skip
    assert draft.found is shown


@pytest.mark.parametrize(("right", "shown"), [(0.301, True), (0.299, False)])
async def test_what_is_hardly_right_is_not_shown(right: float, shown: bool) -> None:
    """Of .4, which is .12 (ADR 133)."""
    draft = await extract(
        "What does the Kestrel carry?", [passage(SHIPS)], WordEmbedder(), SETTINGS, calibration=always(0.4, right),
        by=ReadBy(ReaderOf("coal"), [[]]),
    )  # fmt: skip
    assert draft.found is shown


async def test_of_many_places_in_another_language_some_thirty_are_compared() -> None:
    embedder = WordEmbedder()
    text = " ".join(f"Ship number {n} was built of oak." for n in range(60))
    await extract_across("Wo wurde die Kestrel gebaut?", "de", [passage(text)], embedder)
    assert embedder.embedded == 32 + 1, "and the question"


def test_how_far_the_nearest_place_in_another_language_is_ahead() -> None:
    """Of one place, or one passage, what is ahead on average; else by how much, over how much they differ and .05."""
    found = candidates([passage(SHIPS)])
    measured = np.zeros((len(found), len(FEATURES)))
    alone = evidence_of(np.array([0.5]), measured[:1], [0], found[:1], np.array([1.0]), 3)
    assert (alone["passages"], alone["apart"]) == (0.1, 0.4)
    several = evidence_of(np.array([0.5, 0.4]), measured, [0, 1], found, np.array([1.0, 0.5]), 3)
    assert several["apart"] == pytest.approx(0.1 / 0.05 / 5)


@pytest.mark.parametrize(("confidence", "status"), [(0.5, "yes"), (0.499, "unsure")])
def test_an_answer_counts_as_one_from_one_half(confidence: float, status: str) -> None:
    assert decide(confidence) == status
    assert (word_of(confidence, read=False, whole=True) == "likely") is (status == "yes")


def test_a_guess_is_below_what_counts_as_an_answer() -> None:
    assert Confidence(0.9, 0.9).unsure().value == pytest.approx(0.45)
    assert Confidence(0.3, 0.9).unsure().value == pytest.approx(0.27)


# --- what can be quoted -----------------------------------------------------------------------------------------------------


def texts(content: str, **more: Any) -> list[str]:
    return [one.text for one in candidates([passage(content, **more)])]


@pytest.mark.parametrize(("line", "quoted"), [("Three short words", True), ("Two words", False)])
def test_a_line_without_a_full_stop_is_quoted_from_three_words_on(line: str, quoted: bool) -> None:
    assert (line in texts(f"Harbours are deep.\n\n{line}\n\nShips are long.")) is quoted


@pytest.mark.parametrize(("line", "quoted"), [("Ships need these:", True), ("These two:", False)])
def test_so_is_what_announces_a_list(line: str, quoted: bool) -> None:
    assert (line in texts(f"{line}\n\n- An anchor of iron\n- A mast of oak\n")) is quoted


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("- Optional. Where copies are kept.\n- Required. The name.\n", "Optional. Where copies are kept."),
        ("1. Required. Where copies are kept. It may be relative.\n", "Required. Where copies are kept."),
        ("- `path`: Optional. Where copies are kept.\n", "`path`: Optional. Where copies are kept."),
        ("path\n:   Default. Where copies are kept.\n", "path\n:   Default. Where copies are kept."),
        ("Facultatif. Où sont les copies.\n", "Facultatif. Où sont les copies."),
        ("- Optional.\n- Where copies are kept.\n", "Optional."),
        ("- Optional.\n\n  Where copies are kept.\n", "Optional."),
        ("- It is optional. Where copies are kept.\n", "It is optional."),
        ("Yes. Copies are kept there.\n", "Yes."),
        ("Nein. Kopien liegen anderswo.\n", "Nein."),
        ("**Optional.** Where copies are kept.\n", "Where copies are kept."),
    ],
)
def test_an_entry_is_not_cut_behind_its_first_word(text: str, unit: str) -> None:
    assert candidates([passage(text)])[0].text == unit


def test_three_headings_stand_above_what_is_quoted() -> None:
    text = "# Fleet\n\n## Ships\n\n### Kestrel\n\n#### Hull\n\nIt is made of oak.\n"
    (found,) = candidates([passage(text)])
    assert found.path == "Ships. Kestrel. Hull"


@pytest.mark.parametrize(("length", "kept"), [(200, 200), (201, 200), (500, 200)])
def test_two_hundred_characters_of_them(length: int, kept: int) -> None:
    (found,) = candidates([passage(f"# {'x' * length}\n\nIt is made of oak.\n")])
    assert len(found.path) == kept


def test_a_term_stands_below_all_headings_and_what_announces_a_list_below_terms() -> None:
    text = "###### Hull\n\n**Planks.** They are of oak.\n\nWhat are they nailed with?\n\nNails of iron hold them.\n"
    last = candidates([passage(text)])[-1]
    assert last.text == "Nails of iron hold them."
    assert last.path == "Hull. **Planks.**. What are they nailed with?"


@pytest.mark.parametrize(("length", "heads"), [(210, True), (211, False)])
def test_a_bold_beginning_is_a_heading_up_to_210_characters(length: int, heads: bool) -> None:
    bold = f"**{'x ' * 300}"[: length - 3].rstrip().ljust(length - 3, "x") + ".**"
    assert len(bold) == length
    last = candidates([passage(f"{bold}\n\nNails of iron hold them.\n")])[-1]
    assert (last.path != "") is heads


def chart(numbers: int, lines: int) -> str:
    return "\n".join(["12 13"] * numbers + ["left axis"] * (lines - numbers))


@pytest.mark.parametrize(
    ("numbers", "lines", "quoted"),
    [(2, 6, False), (2, 5, True), (1, 6, True), (3, 9, False), (3, 10, True), (5, 15, False), (5, 16, True)],
)
def test_six_lines_of_which_a_third_are_numbers_are_a_chart(numbers: int, lines: int, quoted: bool) -> None:
    assert bool(texts(chart(numbers, lines))) is quoted


def best_of(question: str, first: str, second: str) -> np.ndarray:
    """What `measure` makes of two passages."""
    passages = [passage(first), passage(second)]
    found = candidates(passages)
    return measure(question_terms(question, found), found, passages)


def test_a_word_counts_less_the_further_from_the_quotation_it_stands() -> None:
    """In it, in its heading, in the sentence before, elsewhere in the passage."""
    told = []
    for text in (
        "The kestrel sails on.",
        "# Kestrel\n\nShe sails on at last.",
        "The kestrel is new. She sails on at last.",
        "The kestrel is new. All of them cheer. She sails on at last.",
    ):
        found = candidates([passage(text)])
        terms = question_terms("kestrel", found)
        told.append(measure(terms, found, [passage(text)])[-1, COLUMN["idf_around"]])
    assert told == pytest.approx([1.0, 0.6, 0.5, 0.3])


@pytest.mark.parametrize(
    ("question", "term", "defines"),
    [
        ("What is max_connections?", "max_connections (integer)", 1.0),
        ("What is max_connections?", "max_connections (integer, restart)", 0.0),
        ("What is the kestrel heron merlin?", "kestrel heron merlin oak elm ash fir", 0.0),
    ],
)
def test_half_the_words_of_a_term_must_be_asked_for(question: str, term: str, defines: float) -> None:
    text = f"{term}\n   Sets how many sessions there may be at once.\n"
    found = candidates([passage(text)])
    terms = question_terms(question, found)
    assert measure(terms, found, [passage(text)])[:, COLUMN["defines"]].max() == defines


@pytest.mark.parametrize(("between", "defines"), [(26, 1.0), (27, 0.0)])
def test_a_definition_says_so_within_twenty_characters_a_word(between: int, defines: float) -> None:
    """Of one word that is defined, within forty: "kestrel, ... is a"."""
    text = f"Kestrel, {'x' * between} is a small bird of prey."
    found = candidates([passage(text)])
    terms = question_terms("What is a kestrel?", found)
    assert measure(terms, found, [passage(text)])[0, COLUMN["defines"]] == defines


# --- small readings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "outcome"),
    [("And so who accepted the motion?", False), ("And so then who accepted the motion?", True)],
)
def test_a_question_word_among_the_first_three_asks_for_more_than_yes_or_no(question: str, outcome: bool) -> None:
    assert read_asked(question).outcome is outcome


@pytest.mark.parametrize(("last", "numbers"), [(20, list(range(1, 21))), (21, [1])])
def test_a_range_of_up_to_twenty_sources_is_one(last: int, numbers: list[int]) -> None:
    (mark,) = marks(f"So it is [1-{last}].")
    assert named_sources(mark) == numbers


@pytest.mark.parametrize(("words", "count"), [("two words", 0), ("three whole words", 1)])
def test_three_words_in_quotation_marks_quote_somebody(words: str, count: int) -> None:
    assert len(quotations(f'It says "{words}".')) == count


@pytest.mark.parametrize(("length", "kept"), [(80, 80), (81, 80), (200, 80)])
def test_names_of_documents_are_shown_up_to_eighty_characters(length: int, kept: int) -> None:
    assert join_or(["x" * length], "en").count("x") == kept


@pytest.mark.parametrize(("length", "refuses"), [(320, True), (321, False)])
def test_a_short_text_that_begins_like_a_refusal_is_one(length: int, refuses: bool) -> None:
    begun = "The documents do not mention this"
    assert is_refusal((begun + " x" * 200)[:length].rstrip().ljust(length, "x")) is refuses


@pytest.mark.parametrize(
    ("period", "times", "loops"),
    [
        (100, 4, True),
        (150, 3, False),
        (100, 3, False),
        (99, 4, False),
        (99, 5, True),
        (50, 8, True),
        (50, 7, False),
        (600, 4, True),
        (601, 4, False),
        (601, 9, False),
    ],
)
def test_a_reply_goes_round_in_circles(period: int, times: int, loops: bool) -> None:
    """From four times and 400 characters on, of at most 600 each."""
    rng = np.random.default_rng(1)
    said = "".join(rng.choice(list("abcdefghijklmnop qrstuvwxyz"), period - 1)) + "."
    assert (loop_start("Now I begin. " + said * times) is not None) is loops


# --- calibration ------------------------------------------------------------------------------------------------------------


def test_a_line_is_fitted_as_exactly_as_numbers_allow() -> None:
    judged = [JudgedConfidence(Confidence(p, 0.5), n % 10 < 10 * p, True) for p in (0.2, 0.5, 0.8) for n in range(10)]
    first, again = fit_calibration(judged), fit_calibration(judged[::-1])
    assert first.present == pytest.approx(again.present, abs=1e-12)


@pytest.mark.parametrize(("run", "loops"), [(71, True), (72, False)])
def test_sixty_periods_are_tried(run: int, loops: bool) -> None:
    """Of a run of one letter each length is one, before the period that it stands in."""
    assert (loop_start(("b" + "a" * run) * 20) is not None) is loops


def test_a_fit_ends_after_fifty_steps() -> None:
    """Of what can be told apart without a rest, each step makes the slope one steeper."""
    slope, _ = fit_logistic(np.array([[-1.0], [1.0]]), np.array([0.0, 1.0]), ridge=0.0)
    assert 49 < slope < 53


@pytest.mark.parametrize(("count", "enough"), [(20, True), (19, False)])
def test_twenty_judged_questions_make_a_calibration(count: int, enough: bool) -> None:
    judged = [JudgedConfidence(Confidence(0.8, 0.7), n % 2 == 0, n % 2 == 0) for n in range(count)]
    if enough:
        assert calibrate(judged).calibration.questions == count
    else:
        with pytest.raises(InputError, match="too few"):
            calibrate(judged)
