"""How something is done is asked of the manual, and what changed of the change log."""

from __future__ import annotations

import numpy as np
import pytest

from cairn.answer.answer_type import read_asked
from cairn.answer.candidates import candidates
from cairn.answer.change_log import asks_of_changes, is_change_log, manuals_first, with_manual_first
from tests.unit.test_extract import passage


@pytest.mark.parametrize(
    "question",
    [
        "What changed in 4.9?",
        "What is new in this release?",
        "In which version was zstd added?",
        "When was 1.2.0 released?",
        "How do I move from 1.3 to 2.0?",
        "Which options were removed?",
        "Was ist neu?",
        "Seit wann gibt es die Option --json?",
        "Quelles sont les nouveautés ?",
        "¿Qué cambió en la última versión?",
        "Che cosa è stato rimosso?",
    ],
)
def test_a_question_about_changes_is_told(question: str) -> None:
    assert asks_of_changes(question, read_asked(question))


@pytest.mark.parametrize(
    "question",
    [
        "How do I change the default search engine?",
        "How do I add a feed?",
        "How do I remove an album that was added twice?",
        "Which player is used by default?",
        "Wie ändere ich die Suchmaschine?",
        "Comment créer un nouveau billet ?",
        "¿Cómo cambio el motor de búsqueda?",
    ],
)
def test_what_is_done_with_a_program_is_no_change_of_it(question: str) -> None:
    assert not asks_of_changes(question, read_asked(question))


@pytest.mark.parametrize(
    ("name", "title", "headings", "told"),
    [
        ("docs/changelog.rst", "Streamlink", (), True),
        ("CHANGES_1.x.md", "Important notes", ("Version 1.2.0 (2022-02-22)",), True),
        ("doc/news.html", "News", ("4.9.0 - 2023-11-12",), True),
        ("a.md", "Release history", (), True),
        ("a.md", "Notes de version", (), True),
        ("a.md", "orchard", ("orchard 1.1.0 (2019-03-31)", "Fixed"), True),
        ("news.md", "News of the week", ("Harvest",), False),
        ("history.md", "History", ("The first orchard",), False),
        ("a.md", "Changing the theme", ("Changes of themes",), False),
        ("install.md", "Installing", ("Python 3.11",), False),
        ("a.md", "Report", ("Results of 2019",), False),
        ("a.md", "Report", ("4.2 Outlook 2024",), False),
        ("a.md", "Report", ("Revenue of 4.2 million in 2019",), False),
        ("history.md", "History", ("1990",), False),
        ("history.md", "History", ("3.1 The first orchard",), False),
        ("changes.md", "Changes", ("Version 3.1",), True),
        ("a.md", "beets", ("1.0b10 (September 22, 2011)",), True),
        ("a.md", "orchard", ("[1.2.0] - 2024-01-31",), True),
        ("a.md", "orchard", ("0.25.0 (11th September, 2023)", "Removed"), True),
    ],
)
def test_a_change_log_is_told_by_its_names(name: str, title: str, headings: tuple[str, ...], told: bool) -> None:
    assert is_change_log(passage("Text.", external_id=name, title=title, headings=headings)) is told


def test_what_a_change_log_says_is_read_last_and_not_lost() -> None:
    logs = [passage(f"Log {n}.", external_id=f"changelog{n}.md") for n in range(3)]
    pages = [passage(f"Page {n}.", external_id=f"page{n}.md") for n in range(3)]
    found = [logs[0], logs[1], pages[0], pages[1], pages[2], logs[2]]
    question = "How do I change the default player?"
    assert manuals_first(found, question, 2) == (pages[0], logs[0], pages[1], pages[2], logs[1], logs[2])
    assert manuals_first(found, question, 5) == (*pages, *logs), "all are read"
    assert manuals_first([*pages, *logs], question, 2) == (*pages, *logs), "none was among the first"
    assert manuals_first(found, "What changed since 1.0?", 2) == tuple(found)
    assert manuals_first(logs, question, 2) == tuple(logs)


@pytest.mark.parametrize(("behind", "first"), [(1.3, "page"), (1.5, "log")])
def test_a_manual_that_is_nearly_as_good_is_quoted(behind: float, first: str) -> None:
    log = passage("The player is chosen by an option now.", external_id="changelog.md")
    page = passage("Choose the player with the option.", external_id="page.md")
    passages, question = [log, page], "How do I choose the player?"
    found, scores = candidates(passages), np.array([behind, 0.0])
    order = with_manual_first([0, 1], found, scores, passages, question, read_asked(question), 1.4)
    assert passages[found[order[0]].rank].external_id == f"{'changelog' if first == 'log' else 'page'}.md"
    asked = "Since which version is the player chosen by an option?"
    assert with_manual_first([0, 1], found, scores, passages, asked, read_asked(asked), 1.4) == [0, 1]
