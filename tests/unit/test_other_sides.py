"""What must not be done is not answered by a list of what may be, and no fact by an example."""

from __future__ import annotations

import numpy as np
import pytest

from cairn.answer.answer_type import read_asked
from cairn.answer.candidates import candidates
from cairn.answer.confidence import SURE
from cairn.answer.extract import LEADS_NEAR, NEAR, name_others
from cairn.answer.other_sides import (
    LONGEST_LEAD,
    _announcement,
    asks_what_is_not,
    is_what_is_asked_beside,
    leads_elsewhere,
    may_deny,
    supposes,
    with_answer_first,
    with_named_section_first,
    with_named_system_first,
    with_own_language_first,
)
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
        "Which keys, if any, are not used?",
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
        "Which port is used if I set nothing?",
        "How large can a file be, if I don't change anything?",
        "Wie viele Sicherungen hebt es auf, wenn ich nichts einstelle?",
        "Quel port est utilisé si rien n’est réglé ?",
        "¿Qué puerto usa si no indico nada?",
        "Quale porta usa se non imposto nulla?",
    ],
)
def test_other_questions_are_not(question: str) -> None:
    assert not asks_what_is_not(question, read_asked(question))


@pytest.mark.parametrize(
    "text",
    [
        "It is not done.",
        "All except dogs.",
        "Ausgenommen sind Hunde.",
        "Sauf les chiens.",
        "We stopped making them.",
        "Das wurde entfernt.",
        "C’est supprimé.",
        "Dejó de hacerse.",
        "È stato rimosso.",
    ],
)
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


async def test_what_a_label_denies_is_no_answer_to_what_is_so() -> None:
    denied = "# Formats\n\nNot read: formats of mail programs, which formats of archives there are.\n\n"
    draft = await ask("Which formats are read?", passage(denied + "All that is read are the formats PDF and RTF.\n"))
    assert "PDF" in draft.citations[0].quote


@pytest.mark.parametrize(("letters", "is_label"), [(40, True), (41, False)])
def test_a_sentence_before_a_colon_is_no_label(letters: int, is_label: bool) -> None:
    [one] = candidates([passage("x" * letters + ": pictures and archives.")])
    assert bool(_announcement(one)) == is_label


@pytest.mark.parametrize(
    "text",
    [
        "Suppose it is 9 kg.",
        "For example, 9 kg.",
        "Angenommen, es wiegt 9 kg.",
        "Par exemple 9 kg.",
        "Ad esempio 9 kg.",
    ],
)
def test_an_example_is_told(text: str) -> None:
    assert supposes(text)
    assert not supposes("It weighs 9 kg, as examples show.")


async def test_a_fact_is_not_taken_from_an_example_where_it_is_stated() -> None:
    example = "Suppose the Kestrel turbine of the hall weighs 9 tonnes."
    stated = "The Kestrel turbine in the hall weighs 7 tonnes."
    question = "How many tonnes does the Kestrel turbine of the hall weigh?"
    draft = await ask(question, passage(example), passage(stated))
    assert draft.citations[0].quote == stated
    assert (await ask(question, passage(example))).confidence < SURE


@pytest.mark.parametrize(
    "text",
    [
        "Please review the [backup guide](backup.md).",
        "See [Backups](backup.md) for more information.",
        "Refer to the Backups page.",
        "For more information on backups, see the manual.",
        "For details, see Backups.",
        "More details can be found [here](backup.md).",
        "Weitere Informationen findest du unter [Sicherung](sicherung.md).",
        "Siehe auch den Abschnitt Sicherung.",
        "Bitte lesen Sie dazu das Kapitel Sicherung.",
        "Pour plus d'informations, consultez la page Sauvegarde.",
        "Veuillez vous référer au manuel.",
        "Lisez le guide des sauvegardes.",
        "Para más información, consulte la página Copias.",
        "Véase también la sección Copias.",
        "Per maggiori informazioni, vedi la pagina Copie.",
        "Fare riferimento alla sezione Copie.",
    ],
)
def test_a_sentence_that_only_leads_elsewhere_is_told(text: str) -> None:
    assert leads_elsewhere(text)
    assert not leads_elsewhere(f"{text} {'x' * LONGEST_LEAD}")


def test_a_long_sentence_says_something_itself() -> None:
    text = "See also the page on backups, "
    assert leads_elsewhere(text + "x" * (LONGEST_LEAD - len(text)))
    assert not leads_elsewhere(text + "x" * (LONGEST_LEAD + 1 - len(text)))


@pytest.mark.parametrize(
    "text",
    [
        "See which ones run with `ps -a`.",
        "Check the oil level before each start.",
        "Read the meter and write down the number.",
        "Follow these steps:",
        "Visit your server in the browser and log in.",
        "You see the list of users on the left.",
        "You can also see the number by which users increased.",
        "**See messages** - view the details.",
        "Beachte, dass Seiten nur zwischengespeichert werden.",
        "consulter les demandes d'adhésion à l'organisation.",
        "Backups are kept for 30 days.",
        "Lesen Sie den Zählerstand ab.",
        "Visitez le serveur avec le navigateur.",
        "For more speed, set two workers.",
        "Consult a doctor if the fever lasts longer than three days.",
        "Please refer to Anna Meyer (ext. 443) for all payroll questions.",
        "Look at the lamp first.",
        "Review the guide rails every 500 hours.",
        "Consultez un médecin si la fièvre dure.",
        "Consulte a su médico.",
    ],
)
def test_a_sentence_that_says_what_to_do_leads_nowhere(text: str) -> None:
    assert not leads_elsewhere(text)


LED = "Please see [Nightly copies](#nightly) for how to back up the Kestrel turbine.\n"


@pytest.mark.parametrize(
    ("text", "behind", "first"),
    [
        (f"{LED}\nThe turbine is stopped first.\n", LEADS_NEAR - 0.1, "The turbine is stopped first."),
        (f"{LED}\nThe turbine is stopped first.\n", LEADS_NEAR + 0.1, LED.strip()),
        (f"{LED}\n## Nightly copies\n\nCron starts them at two.\n", LEADS_NEAR + 9, "Cron starts them at two."),
        (f"{LED}\n## Other copies\n\nCron starts them at two.\n", LEADS_NEAR + 9, LED.strip()),
    ],
)
def test_what_answers_comes_before_what_leads_to_it(text: str, behind: float, first: str) -> None:
    passages = [passage(text)]
    found = candidates(passages)
    scores = np.array([0.0, -behind])
    assert found[with_answer_first([0, 1], found, scores, passages, LEADS_NEAR)[0]].text == first


async def test_what_only_leads_elsewhere_is_a_guess() -> None:
    question = "How do I back up the Kestrel turbine?"
    assert (await ask(question, passage(f"# Turbine\n\n{LED}"))).confidence < SURE


STRICT = (
    "# Functions\n\n## strict_env\n\nTurns on strictness of the shell.\n\n"
    "## unstrict_env\n\nTurns off strictness of the shell.\n"
)


@pytest.mark.parametrize(
    ("question", "best", "behind", "first"),
    [
        ("What does strict_env do?", "off", 1.3, "on"),
        ("What does strict_env do?", "off", 1.5, "off"),  # too far behind
        ("What does unstrict_env do?", "off", 1.3, "off"),
        ("What does it do?", "off", 1.3, "off"),
        ("What does loose_env do?", "off", 1.3, "off"),
    ],
)
def test_what_stands_below_a_name_that_is_asked_for_comes_first(
    question: str, best: str, behind: float, first: str
) -> None:
    found = candidates([passage(STRICT)])
    scores = np.array([0.0 if f"Turns {best}" in one.text else -behind for one in found])
    order = [int(at) for at in np.argsort(-scores, kind="stable")]
    assert f"Turns {first}" in found[with_named_section_first(order, found, scores, question, 2 * NEAR)[0]].text


WINGS = (
    "Welche Vögel im Park singen, steht auf der Tafel am Tor. Die Drossel singt am Abend, wenn es still wird im Park."
)
AILES = (
    "Les oiseaux du parc chantent le soir, quand tout est calme. La grive chante au bord de l'eau, près de la porte."
)


@pytest.mark.parametrize(
    ("question", "behind", "first"),
    [
        ("Welcher Vogel singt am Abend im Park?", 1.3, 1), ("Welcher Vogel singt am Abend im Park?", 1.5, 0),
        ("Quel oiseau chante le soir dans le parc ?", 1.3, 0), ("Drossel", 1.3, 0),
    ],
)  # fmt: skip
def test_what_is_in_the_language_of_the_question_comes_first(question: str, behind: float, first: int) -> None:
    passages = [passage(AILES), passage(WINGS)]
    found = candidates(passages)
    scores = np.array([-behind if one.rank else 0.0 for one in found])
    order = [int(at) for at in np.argsort(-scores, kind="stable")]
    best = with_own_language_first(order, found, scores, question, passages, 2 * NEAR)[0]
    assert found[best].rank == first


SYSTEMS = (
    "# Size\n\n## Windows\n\nUse the display settings of the system.\n\n## Linux\n\nUse the variable of the environment.\n\n"
    "## All systems\n\nUse the zoom of the program.\n"
)


@pytest.mark.parametrize(
    ("question", "best", "behind", "first"),
    [
        ("How do I make it bigger under linux?", "display", 1.3, "variable"),
        ("How do I make it bigger on Ubuntu?", "display", 1.3, "variable"),
        ("How do I make it bigger on Ubuntu?", "display", 1.5, "display"),  # too far behind
        ("How do I make it bigger on Ubuntu?", "zoom", 1.3, "zoom"),
        ("How do I make it bigger?", "display", 1.3, "display"),
    ],
)
def test_what_is_of_the_system_that_is_asked_about_comes_first(
    question: str, best: str, behind: float, first: str
) -> None:
    found = candidates([passage(SYSTEMS)])
    scores = np.array([0.0 if best in one.text else -behind - ("zoom" in one.text) / 2 for one in found])
    order = [int(at) for at in np.argsort(-scores, kind="stable")]
    assert first in found[with_named_system_first(order, found, scores, question, 2 * NEAR)[0]].text


@pytest.mark.parametrize(
    ("question", "text", "named"),
    [
        ("Who was president after Nixon?", "37 | Richard Nixon | 1969", True),
        ("Who was president after Nixon?", "38 | Gerald Ford | 1974", False),
        ("Who was president after Nixon?", "Gerald Ford followed Nixon.", False),
        ("Which station comes before Central Park?", "Park Street | 12", True),
        ("Wer war nach Brandt Kanzler?", "4 | Willy Brandt", True),
        ("Qui fut président après Pompidou ?", "Georges Pompidou", True),
        ("¿Quién gobernó antes de Suárez?", "Adolfo Suárez", True),
        ("Chi è il successore di Rossi?", "Paolo Rossi", True),
        ("When was it sold after Nixon?", "Nixon sold it in 1974.", False),
        ("How many came after Nixon?", "Nixon | 9", False),
        ("How do I sign after Nixon?", "Nixon signs.", False),
        ("Who signs after the audit?", "The audit is signed.", False),
        ("Who is Nixon?", "Richard Nixon", False),
    ],
)
def test_what_comes_next_to_a_name_is_not_what_is_called_so(question: str, text: str, *, named: bool) -> None:
    assert is_what_is_asked_beside(question, read_asked(question), text) is named


async def test_the_row_of_who_is_named_is_no_sure_answer_to_who_came_next() -> None:
    rows = "Lyndon Johnson | Democrat | 1963", "Richard Nixon | Republican | 1969", "Gerald Ford | Republican | 1974"
    table = "\n".join(f"| {row} |" for row in ("President | Party | Since", "---|---|---", *rows))
    assert (await ask("Who was president Richard Nixon?", passage(table))).confidence >= SURE
    assert (await ask("Who was president after Richard Nixon?", passage(table))).confidence < SURE
