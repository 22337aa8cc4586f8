"""An entry that states no default, a limit of something else and the way to do the opposite are guesses at best."""

from __future__ import annotations

import numpy as np
import pytest

from cairn.answer.answer_type import read_asked
from cairn.answer.asked_side import (
    BRIEF,
    COUNTED,
    LEADING,
    asks_default,
    counts_something_else,
    is_not_undone,
    is_other_side,
    states_default,
    with_asked_side_first,
    with_default_first,
)
from cairn.answer.candidates import Candidate, candidates
from cairn.answer.confidence import GUESS, SURE
from cairn.answer.extract import extract
from cairn.answer.named_entry import find_entries
from cairn.answer.reading import ReadBy
from cairn.language.lexicon import replies
from tests.unit.test_extract import SETTINGS, WordEmbedder, passage
from tests.unit.test_named_entry import Noted


def unit(text: str, words: str = "") -> Candidate:
    """Of a page the one with these words, or the first."""
    return next(one for one in candidates([passage(text)]) if words in one.text)


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("What is the default of RUN_MODE?", True), ("What's the default port?", True), ("default value of LEVEL", True),
        ("Which log level is the default?", True), ("What does LEVEL default to?", True),
        ("Was ist der Standardwert von LEVEL?", True), ("Welche Voreinstellung hat LEVEL?", True),
        ("Quelle est la valeur par défaut de LEVEL ?", True), ("¿Cuál es el valor predeterminado de LEVEL?", True),
        ("¿Qué puerto se usa por defecto?", True), ("Qual è il valore predefinito di LEVEL?", True),
        ("How do I change the default branch?", False), ("What is LEVEL?", False), ("Wie ist der Stand?", False),
        ("Welche Standards gelten?", False), ("Welche Vorgaben gelten?", False), ("¿Por qué se abre por defecto?", False),
        ("How do I restore the default settings?", False), ("What is to be done in case of default of the tenant?", False),
        ("Que faire en cas de jugement par défaut ?", False), ("Che succede se cambio la stampante predefinita?", False),
    ],
)  # fmt: skip
def test_a_question_for_a_default_is_told(question: str, asks: bool) -> None:
    assert asks_default(question, read_asked(question)) is asks


def states(text: str, words: str, question: str = "What is the default?") -> bool:
    page = passage(text)
    return states_default(unit(text, words), page.content, read_asked(question))


@pytest.mark.parametrize(
    ("text", "words", "stated"),
    [
        ("- `DAYS`: Lifetime of a cookie, in days.", "DAYS", False),
        ("- `DAYS`: Lifetime of a cookie, in days.\n- `PORT`: The port, default 80.", "DAYS", False),
        ("- `DAYS`: Lifetime of a cookie. In days; the default is 7.", "Lifetime", True),
        ("- `DAYS`: **7**: Lifetime of a cookie.", "DAYS", True),
        ("- `MODE`: Für den Betrieb, Standard ist `prod`.", "MODE", True),
        ("- `MODE`: Change this to `prod` for production.", "MODE", False),
        ("- Sie gilt sieben Tage, sofern nichts anderes gilt.", "Tage", False),
        ("It is kept for seven days, unless another time is set.", "seven", True),
        ("# Overall (DEFAULT)\n\n- `MODE`: Change this to `prod`.", "MODE", False),
        ("# Default values\n\n- `MODE`: set to `prod`.", "MODE", True),
        ("* **Default number of calls**: how many calls are the default for each.", "calls", False),
        ("* **Default number of calls**: up to 10 for each.", "calls", True),
        ("* **Default log level**: very quiet indeed", "level", True),
        ("* **Default log level**: very quiet indeed, mostly", "level", False),
        ("| Name | Default | Use |\n| --- | --- | --- |\n| a | 7 | of it |\n| b | | of more |", "a ", True),
        ("| Name | Default | Use |\n| --- | --- | --- |\n| a | 7 | of it |\n| b | | of more |", "b ", False),
        ("| Name | Use |\n| --- | --- |\n| a | all of it |\n| b | little, by default 7 |", "a ", False),
        ("| Name | Use |\n| --- | --- |\n| a | all of it |\n| b | little, by default 7 |", "b ", True),
    ],
)
def test_a_default_is_stated_in_the_entry_itself(text: str, words: str, stated: bool) -> None:
    assert states(text, words) is stated


def test_of_a_number_that_is_the_default_a_number_is_stated() -> None:
    for text, stated in (("Each has a default number of calls.", False), ("By default each has five calls.", True)):
        assert states(text, "Each" if not stated else "each", "What is the default number of calls?") is stated


def test_a_label_has_its_value_in_few_words() -> None:
    for words in (BRIEF, BRIEF + 1):
        assert states(f"* **Default level**: {'very ' * words}", "level") is (words == BRIEF)


def test_of_an_entry_what_states_the_default_comes_first() -> None:
    text = "# Settings\n\n## log_level\n\nHow much is written, to the log.\n\nIt is quiet by default.\n"
    pages = [passage(text)]
    found = candidates(pages)
    question = "What is the default of log_level?"
    entries = find_entries(question, found, pages)
    made = with_default_first([0, 1], entries, found, np.array([0.0, -1.0]), question, read_asked(question), pages, 2.0)
    assert found[made[0]].text == "It is quiet by default."


@pytest.mark.parametrize(
    ("last", "first"),
    [
        ('Defaults to "eng".', 'Defaults to "eng".'), ("Die Voreinstellung ist `eng`.", "Die Voreinstellung ist `eng`."),
        ("Par défaut : `eng`.", "Par défaut : `eng`."), ("Defaults differ.", "Install those that are not there by default."),
    ],
)  # fmt: skip
def test_of_an_entry_what_begins_with_a_default_comes_first(last: str, first: str) -> None:
    pages = [passage(f"# Settings\n\n## ocr_language\n\nInstall those that are not there by default.\n\n{last}")]
    found = candidates(pages)
    question = "What is the default of ocr_language?"
    entries = find_entries(question, found, pages)
    made = with_default_first([0, 1], entries, found, np.array([0.0, -1.0]), question, read_asked(question), pages, 2.0)
    assert found[made[0]].text == first


LIMIT = "A team can have a maximum of 100 channels."


@pytest.mark.parametrize(
    ("question", "text", "other"),
    [
        ("What is the maximum number of members in a team?", LIMIT, True),
        ("What is the maximum number of teams in a channel?", LIMIT, True),
        ("How many users can a channel have?", LIMIT, True),
        ("How many channels can a team have?", LIMIT, False),
        ("What is the maximum number of channels per team?", LIMIT, False),
        ("How many people can a channel have?", LIMIT, False),
        ("How many members can a team have?", "The number of members is limited to 100.", False),
        ("How many members can a team have?", "Teams have no limit.", False),
        ("How many members can a team have?", "It is at most 100.", False),
        ("Wie viele Mitglieder kann ein Team haben?", "Ein Team kann bis zu 100 Kanäle haben.", True),
        ("Combien de membres une équipe peut-elle avoir ?", "Une équipe peut avoir 100 canaux au maximum.", True),
        ("¿Cuántos miembros puede tener un equipo?", "Un equipo puede tener como máximo 100 canales.", True),
        ("Quanti membri può avere una squadra?", "Una squadra può avere al massimo 100 canali.", True),
        ("What does a team have?", LIMIT, False),
        ("How many years does the warranty last?", "The warranty lasts 24 months.", False),
        ("How many staff does Acme have?", "Acme has 250 employees.", False),
    ],
)
def test_a_number_of_something_else_is_told(question: str, text: str, other: bool) -> None:
    assert counts_something_else(question, unit(text), question.lower().split()) is other


def test_what_documents_call_otherwise_may_be_what_is_counted() -> None:
    for known, other in (["members"], True), ([], False):
        assert counts_something_else("How many members has a team?", unit("It has at most 100 hands."), known) is other


def test_what_is_counted_stands_near_to_the_number() -> None:
    for words in (COUNTED, COUNTED + 1):
        text = f"A team has 100 {'public ' * (words - 1)}channels."
        assert counts_something_else("How many channels does a team have?", unit(text), ["channels"]) is False
        assert counts_something_else("How many teams does a channel have?", unit(text), ["channels"]) is (
            words == COUNTED
        )


@pytest.mark.parametrize(
    ("question", "text", "other"),
    [
        ("What is the minimum number of channels in a team?", LIMIT, True),
        ("What is the maximum number of channels in a team?", LIMIT, False),
        ("How do I enable mails?", "To disable mails, click there.", True),
        ("How do I enable mails?", "Enable or disable mails there.", False),
        ("How do I enable mails?", "Disable/enable mails there.", False),
        ("How do I enable mails?", "Click there to get mails.", False),
        ("How do I enable mails?", "Disable the filter, and mails are enabled.", False),
        ("How do I enable or disable mails?", "To disable mails, click there.", False),
        ("Why do I enable mails?", "To disable mails, click there.", False),
        ("Can I enable mails?", "To disable mails, click there.", False),
        ("How do I not enable mails?", "To disable mails, click there.", False),
        ("How do I enable mails?", "# Disabling mails\n\nClick on the button below.", True),
        ("Where does the bus start?", "Its first stop is the station.", False),  # of facts both may speak
        ("What is the minimum age?", "You are at least 18; a maximum of 30 take part.", False),
        ("Which key shows a cue?", "| | Key |\n| --- | --- |\n| Hide cue | Q |\n| Cue | W |", False),
        ("Wie aktiviere ich Mails?", "Um Mails zu deaktivieren, klicken Sie dort.", True),
        ("Comment activer les courriels ?", "Pour désactiver les courriels, cliquez ici.", True),
        ("¿Cómo activo los correos?", "Para desactivar los correos, pulse ahí.", True),
        ("Come attivo le mail?", "Per disattivare le mail, premere lì.", True),
        ("How do I restore a repository?", "To archive a repository, click there.", True),
        ("How do I untrust a file?", "To trust a file, run it.", True),
        ("Wie melde ich mich ab? Wie kann ich mich abmelden?", "Um sich anzumelden, klicken Sie dort.", True),
        ("Comment débloquer un membre ?", "Pour bloquer un membre, cliquez ici.", True),
        ("¿Cómo restaurar un archivo?", "Para borrar un archivo, pulse ahí.", True),
        ("Come ripristinare un file?", "Per eliminare un file, premere lì.", True),
    ],
)
def test_the_opposite_of_what_is_asked_is_told(question: str, text: str, other: bool) -> None:
    found = [one for one in candidates([passage(text)]) if not one.announces]
    assert is_other_side(question, read_asked(question), found[0]) is other


@pytest.mark.parametrize(
    ("question", "text", "not_undone"),
    [
        ("How do I undo a transfer?", "To transfer a file, click there.", True),
        ("How do I undo a transfer?", "To take a file back, click there.", False),
        ("How do I undo a transfer?", "# Undo\n\nClick there.", False),
        ("Wie mache ich eine Übertragung rückgängig?", "Um eine Datei zu übertragen, klicken Sie dort.", True),
        ("Wie mache ich eine Übertragung rückgängig?", "Um eine Datei zurückzuholen, klicken Sie dort.", False),
        ("Comment défaire un transfert ?", "Pour transférer un fichier, cliquez ici.", True),
        ("Comment annuler mon abonnement ?", "Pour résilier votre abonnement, écrivez-nous.", False),
        ("¿Cómo deshacer un envío?", "Para enviar un fichero, pulse ahí.", True),
        ("Come disfare un invio?", "Per inviare un file, premere lì.", True),
        ("What is an undo log?", "It keeps what was written.", False),
    ],
)
def test_how_something_is_done_is_not_how_it_is_undone(question: str, text: str, not_undone: bool) -> None:
    found = [one for one in candidates([passage(text)]) if not one.announces]
    assert is_not_undone(question, read_asked(question), found[0]) is not_undone


async def test_the_steps_are_no_sure_answer_to_who_wants_to_undo_them() -> None:
    page = passage("# Files\n\nTo transfer a file, click there.\n\nMembers of it run.\n")
    for question, sure in (("How do I transfer a file?", True), ("How do I undo the transfer of a file?", False)):
        draft = await extract(question, [page], WordEmbedder(), SETTINGS, by=ReadBy(Noted(5.0), [()]))
        assert (draft.confidence > GUESS) is sure


@pytest.mark.parametrize(("behind", "first"), [(0.9, "To take back"), (1.1, "To transfer")])
def test_how_it_is_undone_comes_first(behind: float, first: str) -> None:
    found = candidates([passage("To transfer a file, click there.\n\nTo take back a file, click here.")])
    question = "How do I undo the transfer of a file?"
    made = with_asked_side_first([0, 1], found, np.array([0.0, -behind]), question, read_asked(question), 1.0)
    assert found[made[0]].text.startswith(first)


def test_what_a_sentence_tells_to_do_stands_in_its_beginning() -> None:
    for before in (LEADING - 1, LEADING):
        text = f"{'Now ' * before}disable the mails there."
        assert is_other_side("How do I enable mails?", read_asked("How do I enable mails?"), unit(text)) is (
            before < LEADING
        )


@pytest.mark.parametrize(("behind", "first"), [(0.9, "To enable"), (1.1, "To disable")])
def test_the_side_that_is_asked_for_comes_first(behind: float, first: str) -> None:
    found = candidates([passage("To disable mails, click there.\n\nTo enable mails, click here.")])
    question = "How do I enable mails?"
    made = with_asked_side_first([0, 1], found, np.array([0.0, -behind]), question, read_asked(question), 1.0)
    assert found[made[0]].text.startswith(first)


@pytest.mark.parametrize(
    ("question", "text", "said"),
    [
        ("What is the default of run_days?", "- `run_days`: Lifetime of a cookie, in days.", "no_default"),
        ("What is the default of run_days?", "- `run_days`: Lifetime of a cookie, default 7 days.", ""),
        ("How many members can a team have?", LIMIT, "other_thing"),
        ("How many channels can a team have?", LIMIT, ""),
        ("What is the minimum of channels in a team?", LIMIT, "other_thing"),
    ],
)
async def test_it_is_a_guess_that_says_why(question: str, text: str, said: str) -> None:
    page = passage(f"# Teams and channels\n\n{text}\n\nMembers of it run.\n")
    draft = await extract(question, [page], WordEmbedder(), SETTINGS, by=ReadBy(Noted(5.0), [()]))
    assert draft.found
    assert (draft.confidence < SURE) is bool(said)
    assert (getattr(replies("en"), said or "no_default") in draft.insufficiencies) is bool(said)
