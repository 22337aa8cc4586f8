"""What a question asks for, and whether a text has it: sums of money."""

from __future__ import annotations

import pytest

from cairn.answer.answer_type import asking_words, lacks_money, read_asked
from cairn.answer.extract import extract
from tests.unit.test_extract import SETTINGS, WordEmbedder, passage

COSTS = "What does the solar roof cost?"


@pytest.mark.parametrize(
    "question",
    [
        COSTS,
        "How much does a new passport cost?",
        "how much is the annual membership fee",
        "What is the average hourly wage of the employees?",
        "How much did they pay for Converse?",
        "Was kostet der Bau?",
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
    ["How much RAM does it have?", "Who pays the fee?", "Wie lange dauert es?", "Combien d'années ?", "¿Cuánto dura?"],
)
def test_no_sum_is_asked_for(question: str) -> None:
    assert not read_asked(question).money


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        ("It covers 22 % of the electricity.", True),
        ("It is 244 metres long, and 65 high.", True),
        ("Passports that expire in 6 months.", True),
        ("It was built in 1894.", True),
        ("1. Ask.\n2. Wait.\n3. Go.", True),
        ("All 99 of them.", True),
        ("All 100 of them.", False),
        ("The salary is 85,000 a year.", False),
        ("The recall cost EUR 240,000.", False),
        ("Una tarifa de 24 euros.", False),
        ("La tasa es de €12.", False),
        ("It is free.", False),
        ("El trámite es gratuito.", False),
        ("Er kostet 20 Franken.", False),
    ],
)
def test_a_price_is_a_sum_of_money(text: str, lacks: bool) -> None:
    assert lacks_money(read_asked(COSTS), text) is lacks
    assert not lacks_money(read_asked("How long is it?"), text)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("¿Cuánto cuesta renovar el pasaporte?", {"cuanto", "cuesta"}),
        ("How long is it?", {"how", "long"}),
        ("Who?", set()),
    ],
)
def test_words_that_ask_for_a_sum_or_a_number(question: str, words: set[str]) -> None:
    assert asking_words(question) == words


ROOF = "The solar roof covers 22 % of the electricity of the plant in Fredrikstad."


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (ROOF, None),
        (f"{ROOF} It was paid with 1.3 million dollars.", "1.3 million"),
        ("| Part | Cost |\n|---|---|\n| Solar roof | 20 |\n| Gate | 10 |\n", "20"),
    ],
)
async def test_what_shows_no_sum_does_not_say_what_something_costs(text: str, shown: str | None) -> None:
    """Of a row the currency may stand above the table."""
    draft = await extract(COSTS, [passage(text)], WordEmbedder(), SETTINGS, enough=0.0)
    assert draft.found is (shown is not None)
    assert shown is None or shown in draft.text
