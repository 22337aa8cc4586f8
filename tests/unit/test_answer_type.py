"""What a question asks for, and whether a text has it: sums of money."""

from __future__ import annotations

import numpy as np
import pytest

from cairn.answer.across import extract_across
from cairn.answer.answer_type import asking_words, holds_asked, may_say_sum, read_asked, says_sum
from cairn.answer.candidates import candidates
from cairn.answer.confidence import GUESS, Calibration
from cairn.answer.evidence import question_terms
from cairn.answer.extract import extract, saying_what_it_costs, with_sum_first
from cairn.answer.reading import ReadBy
from tests.unit.test_extract import SETTINGS, WordEmbedder, passage
from tests.unit.test_read_across import ReaderOf

COSTS = "What does the solar roof cost?"


@pytest.mark.parametrize(
    "question",
    [
        COSTS,
        "How much does a new passport cost?",
        "how much is the annual membership fee",
        "What is the average hourly wage of the employees?",
        "How much did they pay for Converse?",
        "How much is the ticket?",
        "what's the price?",
        "What’s the cost of a seat?",
        "What is the fine for speeding?",
        "What was the average rent in 2020?",
        "What does it cost to enter?",
        "Was kostet der Bau?",
        "Wie hoch ist der Beitrag zur Rentenkasse?",
        "Wie hoch ist das Jahresgehalt?",
        "Wie viel kostete der Bau der Brücke?",
        "Wie hoch ist die Verwaltungsgebühr?",
        "Combien coûte un permis de construire ?",
        "Quel est le montant de l'aide ?",
        "¿Cuánto cuesta renovar el pasaporte?",
        "¿Cuántos euros al mes paga la ayuda?",
        "Quanto costa il biglietto?",
        "Qual è il prezzo del biglietto?",
    ],
)
def test_a_sum_is_asked_for(question: str) -> None:
    assert read_asked(question).money


@pytest.mark.parametrize(
    "question",
    [
        "How much RAM does it have?",
        "Who pays the fee?",
        "What are the fine-tuning steps for the model?",
        "What is the cost function of the network?",
        "What does the cost function return?",
        "How much does the cost function weigh?",
        "What is the premium plan?",
        "What is the fee structure?",
        "What was the price index in 2020?",
        "How expensive is a rebuild?",
        "Wie lange dauert es?",
        "Was ist der Beitrag dieser Arbeit?",
        "Was ist die Kosten-Funktion?",
        "Wie hoch ist der Alkoholgehalt?",
        "Combien d'années ?",
        "Qui a reçu, et quel est le prix Nobel ?",
        "¿Cuánto dura?",
        "¿Cuál es la cuota de mercado?",
        "¿Cuánto vale pi?",
        "Qual è il canone di bellezza?",
    ],
)
def test_no_sum_is_asked_for(question: str) -> None:
    assert not read_asked(question).money


@pytest.mark.parametrize(
    ("text", "may", "says"),
    [
        ("It is 244 metres long.", False, False),
        ("Passports that expire in 6 months.", False, False),
        ("It was built in 1894.", False, False),
        ("Nobody knows.", False, False),
        ("The fee is 1.5 % of what is held.", True, False),
        ("It is 2 % per month.", True, False),
        ("Ein Gast zahlt 20,-", True, False),
        ("A pass is 12 zł.", True, False),
        ("12.41 an hour.", True, False),
        ("15 die Stunde.", True, False),
        ("10 par heure.", True, False),
        ("9 por hora.", True, False),
        ("8 all'ora.", True, False),
        ("49 per seat.", True, False),
        ("99p each.", True, False),
        ("At no extra charge.", True, False),
        ("Towels cost nothing.", True, False),
        ("The fee is waived.", True, False),
        ("A million dollars.", True, False),
        ("It is free.", True, False),
        ("Permiso de bomberos: 3-7 días", False, False),
        ("It takes 3 to 5 days.", False, False),
        ("1. Go there.\n2) Wait.", False, False),
        ("It was 1. Go there.", True, False),
        ("Die Gebühr beträgt 535 bis 635 EUR.", True, True),
        ("El trámite es gratuito.", True, False),
        ("Der Beitrag entfällt.", True, False),
        ("Le café est offert.", True, False),
        ("No cuesta nada.", True, False),
        ("La colazione è inclusa.", True, False),
        ("Er kostet 20 Franken.", True, False),
        ("The recall cost EUR 240,000.", True, True),
        ("It is 49 CAD a year.", True, True),
        ("Una tarifa de 24 euros.", True, True),
        ("La tasa es de €12.", True, True),
        ("Bilet 300 ₺.", True, True),
    ],
)
def test_what_may_be_a_sum_of_money_and_what_is_one(text: str, may: bool, says: bool) -> None:
    assert (may_say_sum(text), says_sum(text)) == (may, says)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("¿Cuánto cuesta renovar el pasaporte?", {"cuanto", "cuesta"}),
        ("How much does a new pasport cost?", {"how", "much", "cost"}),
        ("How long is it?", {"how", "long"}),
        ("Who?", set()),
    ],
)
def test_words_that_ask_for_a_sum_or_a_number(question: str, words: set[str]) -> None:
    assert asking_words(question) == words


ROOF = "The solar roof is 65 metres long."
PAID = "The solar roof was paid with 3 million dollars."
FEE = "The management fee is 1.5 % a year."
TABLE = "| Part | Cost |\n|---|---|\n| Solar roof | high |\n"


@pytest.mark.parametrize(
    ("best", "behind", "first"),
    [
        (ROOF, 0.5, PAID),
        (ROOF, 0.9, ROOF),
        (FEE, 0.5, FEE),
        ("The solar roof was free.", 0.5, "The solar roof was free."),
    ],
)
def test_of_places_that_are_nearly_as_good_one_with_a_sum_is_preferred_to_one_without(
    best: str, behind: float, first: str
) -> None:
    assert first_of([best, PAID], behind) == first


def test_of_a_row_the_currency_may_stand_above_the_table() -> None:
    assert "high" in first_of([TABLE, PAID], 0.5)


def first_of(texts: list[str], behind: float) -> str:
    """What comes first where each text scores so much less than the one before."""
    told = [passage(text) for text in texts]
    found = candidates(told)
    scores = np.array([-behind * one.rank for one in found])
    order = with_sum_first(range(len(found)), found, scores, question_terms(COSTS, found), told)
    assert sorted(order) == list(range(len(found)))
    return found[order[0]].text


SURE = Calibration((0.0, 3.0), (0.0, 3.0))


@pytest.mark.parametrize(("text", "sure"), [(ROOF, False), (FEE, True), (PAID, True), (TABLE, True)])
async def test_what_shows_no_sum_is_quoted_as_a_guess(text: str, sure: bool) -> None:
    draft = await extract(COSTS, [passage(text)], WordEmbedder(), SETTINGS, enough=0.0, calibration=SURE)
    assert draft.found
    assert (draft.confidence > GUESS) is sure


@pytest.mark.parametrize(("text", "sure"), [("Das Dach ist 65 Meter lang.", False), ("Das Dach kostet 65 Euro.", True)])
async def test_so_is_what_shows_none_in_another_language(text: str, sure: bool) -> None:
    draft = await extract_across("What does the roof cost?", "en", [passage(text)], WordEmbedder(), calibration=SURE)
    assert (draft.confidence > GUESS) is sure


@pytest.mark.parametrize(
    ("line", "quoted"), [("13 EUR", True), ("2 weeks", True), ("13", False), ("By me", False)], ids=lambda one: str(one)
)
def test_an_amount_below_a_heading_can_be_quoted(line: str, quoted: bool) -> None:
    below = candidates([passage(f"# Register\n\n## Fee\n\n{line}\n\nIt is sent to your home.\n")])
    assert any(one.text == line for one in below) is quoted
    beside = candidates([passage(f"It is sent to your home.\n\n{line}\n\nIt is sent there.\n")])
    assert not any(one.text == line for one in beside)


@pytest.mark.parametrize(
    ("question", "has"),
    [(COSTS, True), ("Was kostet das Dach?", True), ("How long is the roof?", False), ("Who built the roof?", False)],
)
def test_what_says_a_sum_has_the_words_that_ask_for_it(question: str, has: bool) -> None:
    found = candidates([passage("The roof was built by us.\n\nPay 14 EUR at the desk.")])
    built, paid = saying_what_it_costs(question, found)
    assert built == found[0]
    assert bool(paid.words & {"cost", "kostet"}) is has


@pytest.mark.parametrize(
    ("reads", "quoted"),
    [(True, "The fee is 14 EUR a sheet."), (False, "A certificate of residence is handed out.")],
)
async def test_a_price_that_has_no_word_of_the_question_is_quoted_where_it_was_read(reads: bool, quoted: str) -> None:
    """By words alone, sums of something else would win."""
    text = "A certificate of residence is handed out.\n\nThe fee is 14 EUR a sheet.\n\nCome in the morning."
    by = ReadBy(ReaderOf(""), [[]]) if reads else None  # one to whom all are alike
    draft = await extract(
        "What does a certificate cost?", [passage(text)], WordEmbedder(), SETTINGS, by=by, calibration=SURE
    )
    assert draft.citations[0].quote == quoted


@pytest.mark.parametrize(
    ("question", "text", "held"),
    [
        ("Who founded walkways-ngx?", "It goes on where Walkways-ng ended.", False),
        ("who founded walkways?", "The founder of Walkways is Ada Byron.", True),
        ("Who founded Walkways?", "It is the work of Walkways.", False),
        ("Who founded Walkways?", "It is the work of Ada.", True),
    ],
)
def test_a_name_that_the_question_has_in_small_letters_is_nobody_new(question: str, text: str, held: bool) -> None:
    assert holds_asked(read_asked(question), question, text, frozenset()) is held
