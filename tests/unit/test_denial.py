"""What must not be done is not answered by a list of what may be."""

from __future__ import annotations

import pytest

from cairn.answer.answer_type import read_asked
from cairn.answer.denial import asks_what_is_not, may_deny
from cairn.answer.extract import name_others
from tests.unit.test_extract import ask, passage

ALLOWED = "# Segments\n\nThese segments of a version are supported when updating:\n\n- major\n- minor\n- micro\n"
DENIED = "# Limits\n\nThese segments of a version are not supported when updating:\n\n- epoch\n- local\n"


@pytest.mark.parametrize(
    "question",
    [
        "Which segments are not supported?",
        "What must I not do with a key?",
        "In which cases can't I apply?",
        "In that end which cases are not covered?".replace("that ", ""),  # the third word asks
        "Was darf ich nicht tun?",
        "Quels frais ne sont pas remboursés ?",
        "¿Qué gastos no se reembolsan?",
        "Quali spese non sono rimborsate?",
    ],
)
def test_a_question_for_what_is_not_so_is_told(question: str) -> None:
    assert asks_what_is_not(question, read_asked(question))


@pytest.mark.parametrize(
    "question",
    [
        "Which segments are supported?",
        "Why can I not connect?",
        "How do I not sync a folder?",
        "Can I not apply?",
        "In the end which cases are not covered?",  # the fourth word asks
        "What not only is blue?",
    ],
)
def test_other_questions_are_not(question: str) -> None:
    assert not asks_what_is_not(question, read_asked(question))


@pytest.mark.parametrize("text", ["It is not done.", "All except dogs.", "Ausgenommen sind Hunde.", "Sauf les chiens."])
def test_what_is_left_out_may_be_said_without_not(text: str) -> None:
    assert may_deny(text)


async def test_what_is_not_supported_is_not_answered_by_what_is() -> None:
    draft = await ask("Which segments of a version are not supported when updating?", passage(ALLOWED))
    assert not draft.found
    draft = await ask("Which segments of a version are not supported when updating?", passage(ALLOWED), passage(DENIED))
    assert draft.found
    assert "epoch" in draft.text
    assert "major" not in draft.text


async def test_what_is_supported_is_not_answered_by_what_is_not() -> None:
    draft = await ask("Which segments of a version are supported when updating?", passage(DENIED), passage(ALLOWED))
    assert "major" in name_others(draft, "en").text.partition("Or perhaps")[0]
    assert "epoch" not in draft.text
