"""What prompts demand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.domain.plan import PromptConstraints
from cairn.query.constraints import MOST, WINDOW, constraints_of, without_orders

RUNBOOK = (
    "Produce an operational runbook with sections: Reindex, Delete, Rate limits. Use separate tool searches for each topic "
    "and use open_citation for at least two. Quote one exact SQL statement. If something is missing, explicitly say "
    "'Insufficient documentation'."
)


def test_detects_multiple_search_requirement() -> None:
    found = constraints_of(RUNBOOK)
    assert found.min_searches == 3
    assert found.required_search_topics == ("Reindex", "Delete", "Rate limits")


def test_detects_open_citation_requirement() -> None:
    assert constraints_of(RUNBOOK).min_open_citations == 2


def test_detects_exact_quote_requirement() -> None:
    found = constraints_of(RUNBOOK)
    assert found.requires_exact_quote
    assert found.exact_quote_indicators == ("Quote one exact SQL",)


def test_simple_prompt_has_minimal_constraints() -> None:
    found = constraints_of("What is the capital of France?")
    assert found == PromptConstraints()
    assert not found.explicit


@pytest.mark.parametrize(
    ("prompt", "asked"),
    [
        ("How long are backups kept? Quote exact SQL. Explicitly say 'Insufficient documentation' where it is missing.",
         "How long are backups kept?"),
        ("Wie lange werden Backups behalten? Zitiere SQL wörtlich.", "Wie lange werden Backups behalten?"),
        ("Combien de temps ? Indiquez ce qui manque. Merci d'avance.", "Combien de temps ? Merci d'avance."),
        ("¿Cuánto tiempo? Responde palabra por palabra.", "¿Cuánto tiempo?"),
        ("Where does it say verbatim that leave is paid? Quote exact SQL.",
         "Where does it say verbatim that leave is paid?"),
        ("Quote exact SQL about Reindex.", "Quote exact SQL about Reindex."),
        ("Quote exact SQL. Why?", "Quote exact SQL. Why?"),
        ("Backups are old. How long are they kept? Give exact SQL.", "Backups are old. How long are they kept?"),
        ("Quote exact SQL. Use separate searches. How long are backups kept?",
         "Quote exact SQL. How long are backups kept?"),
        ("Describe reindexing. Quote exact SQL.", "Describe reindexing."),
        ("I write a runbook. Describe reindexing. Quote exact SQL.", "I write a runbook. Describe reindexing."),
        ("Show the exact price of Alpha. Quote exact SQL.", "Show the exact price of Alpha."),
        ("", ""),
        ("What is the price of Alpha? It is sold in Lyon.", "What is the price of Alpha? It is sold in Lyon."),
        (f"Is it kept? Quote exact SQL. {'Word ' * WINDOW}", f"Is it kept? {'Word ' * WINDOW}".strip()),
    ],
)  # fmt: skip
def test_how_to_answer_is_not_asked_about(prompt: str, asked: str | None) -> None:
    assert without_orders(prompt) == asked


@pytest.mark.parametrize(
    "prompt",
    [
        "Give me the exact notice period. I have been here for two years.",
        "I have been here for two years. Give me the exact notice period.",
        "Hello. Give me the exact notice period. I have been here for two years.",
        "Summarize the leave policy in at least 100 words. Thanks.",
        "Show the exact price of Alpha. My budget is 100 euros.",
        "My budget is 100 euros. Show the exact price of Alpha.",
        "Alpha is sold in Lyon. Show the exact price of Alpha.",
        "Good morning. Show the exact price of Alpha.",
        "Show the exact price of Alpha. Is that possible?",
        "Quote the exact wording of article 7. Describe what is meant.",
        "Zitiere den genauen Wortlaut von Paragraf 7. Danke dir.",
        "Danke dir. Zitiere den genauen Wortlaut von Paragraf 7.",
        "Hola. Da la cita exacta del artículo 7.",
        "Llevo dos años aquí. Da la cita exacta del artículo 7.",
        "Ich bin neu hier. Zitiere den genauen Wortlaut von Paragraf 7.",
        "Indiquez la formulation exacte de l'article 7. J'habite à Lyon.",
        "J'habite à Lyon. Indiquez la formulation exacte de l'article 7.",
    ],
)
def test_what_is_wanted_stays_though_it_is_an_order(prompt: str) -> None:
    assert without_orders(prompt) == prompt


def test_the_rest_of_the_runbook() -> None:
    found = constraints_of(RUNBOOK)
    assert found.requires_insufficiency_disclosure
    assert found.required_sections == ("Reindex", "Delete", "Rate limits")
    assert found.explicit
    assert found.needed_calls == 5


@pytest.mark.parametrize(
    ("prompt", "searches"),
    [
        ("Make at least 3 tool calls before you answer: how do backups work?", 3),
        ("Perform separate tool searches for 'reindex sql', 'rate limit' and 'retry policy'.", 3),
        ("Do three separate searches on alpha, beta and gamma.", 3),
        ("Search separately for:\n- alpha\n- beta\n- gamma\n- delta\n", 4),
        ("Run two searches: one on vacation and one on sick leave", 2),
        ("Use separate searches.", 2),
        ("Effectue au moins trois recherches séparées.", 3),
        ("Haz dos búsquedas distintas.", 2),
        ("Führe mindestens vier Suchen durch.", 4),
        ("At least 900 searches!", MOST),
        ("Which searches failed yesterday?", 1),
    ],
)
def test_searches(prompt: str, searches: int) -> None:
    assert constraints_of(prompt).min_searches == searches


@pytest.mark.parametrize(
    ("prompt", "openings"),
    [
        ("Read full text of the policy.", 1),
        ("Open 3 citations.", 3),
        ("Open at least two sources, then answer.", 2),
        ("use open_citation for at least two", 2),
        ("Read three documents in full", 3),
        ("Abre al menos dos fuentes.", 2),
        ("Lisez au moins deux documents.", 2),
        ("Öffne mindestens zwei Quellen.", 2),
        ("What does it mean to read a document?", 0),
    ],
)
def test_openings(prompt: str, openings: int) -> None:
    assert constraints_of(prompt).min_open_citations == openings


@pytest.mark.parametrize(
    "prompt",
    ["Quote the exact line about leave.", "Give it verbatim.", "Cite la clause mot pour mot.", "Copia la cláusula textualmente.",
     "Zitiere den Absatz wörtlich.", "I need the exact wording.", "quote exact SQL"],
)  # fmt: skip
def test_exact_quotes(prompt: str) -> None:
    assert constraints_of(prompt).requires_exact_quote


def test_conflicts_keep_the_rule() -> None:
    found = constraints_of("What is the limit? If documents conflict, prefer the newest dated document. Be brief.")
    assert found.requires_conflict_resolution
    assert found.conflict_resolution_rule == "If documents conflict, prefer the newest dated document"


@pytest.mark.parametrize(
    ("prompt", "sections"),
    [
        ("Write with headings 'Overview', 'Risks' and 'Open points'.", ("Overview", "Risks", "Open points")),
        ("Sections:\n1. Cause\n2. Remedy\n\nBe brief.", ("Cause", "Remedy")),
        ("Answer in sections for Cause and Remedy.", ("Cause", "Remedy")),
        ("What do sections 3 and 4 of the contract say?", ()),
        ("I'm heading to Israel soon, do I need a visa", ()),
    ],
)
def test_sections(prompt: str, sections: tuple[str, ...]) -> None:
    assert constraints_of(prompt).required_sections == sections


def test_words_demanded_are_an_estimated_length() -> None:
    assert constraints_of("Explain it in at least 200 words.").estimated_min_answer_length == 1000


@given(st.text(max_size=6000))
def test_any_text_is_read(prompt: str) -> None:
    found = constraints_of(prompt)
    assert 1 <= found.min_searches <= MOST
    assert 0 <= found.min_open_citations <= MOST


@pytest.mark.measurement
def test_real_questions_demand_nothing(shared_data: Path) -> None:
    """31,000 questions, claims and messages of people who gave no such orders."""
    explicit, read = [], 0
    for file in shared_data.glob("*/*.jsonl"):
        if file.name.startswith(("corpus", "manifest", "answers")):
            continue
        for line in file.read_text(encoding="utf-8").splitlines():
            text = json.loads(line).get("text")
            if isinstance(text, str) and len(text) < 3000:
                read += 1
                explicit += [text] if constraints_of(text).explicit else []
    assert read > 10_000
    assert explicit == []
