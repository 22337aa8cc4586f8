"""The gate before a planned answer: each check and its code."""

from __future__ import annotations

from typing import Any

import pytest

from cairn.domain.plan import PromptConstraints
from cairn.strategies.agents.gate import (
    SUSPICIOUS_TERMS,
    CitationRef,
    FinalAnswer,
    Insufficiency,
    Opened,
    WorkDone,
    disclosed,
    validate,
)

LEAVE = Opened("d1", "c1", "Employees have 30 days of leave per year. Run REINDEX TABLE leave; after imports.")
PAY = Opened("d2", "c2", "Salaries are paid on the 25th.")
DONE = WorkDone(("leave", "pay"), (LEAVE, PAY), (LEAVE, PAY))
GOOD = "Employees have 30 days of leave per year [1]."
DONT_KNOW = "I don't know based on the provided documents."


def codes(
    answer: str, state: WorkDone = DONE, cited: tuple[CitationRef, ...] = (), lacks: Any = (), **wanted: Any
) -> list[str]:
    return [one.code for one in validate(FinalAnswer(answer, cited, lacks), PromptConstraints(**wanted), state)]


def test_valid_state_passes() -> None:
    assert codes(GOOD, min_searches=2, min_open_citations=2, cited=(CitationRef("d1", "c1"),)) == []


def test_validates_min_searches_failure() -> None:
    problem, = validate(
        FinalAnswer(GOOD), PromptConstraints(min_searches=3, required_search_topics=("leave", "travel")), DONE
    )  # fmt: skip
    assert problem.code == "MIN_SEARCHES_UNMET"
    assert "at least 3 separate searches, but only 2" in problem.message
    assert "travel" in problem.message


def test_validates_min_open_citations_failure() -> None:
    state = WorkDone(("leave",), (LEAVE,), (LEAVE, PAY))
    assert codes(GOOD, state, min_open_citations=2) == ["MIN_OPEN_CITATIONS_UNMET"]


def test_what_was_not_found_cannot_be_demanded_to_be_opened() -> None:
    state = WorkDone(("leave",), (LEAVE,), (LEAVE,))
    assert codes(GOOD, state, min_open_citations=4) == []


def test_validates_grounded_claims() -> None:
    assert codes("Run kubectl rollout to get 30 days [1].") == ["UNGROUNDED_CLAIM"]


@pytest.mark.parametrize("term", [term for term in SUSPICIOUS_TERMS if term not in ("reindex", "vacuum", "truncate")])
def test_every_suspicious_term(term: str) -> None:
    assert codes(f"First, {term.upper()} it [1].") == ["UNGROUNDED_CLAIM"]


@pytest.mark.parametrize(
    "answer", ["Then reindex the table [1].", "The truncated reindexing takes 30 days [1].", "Overwhelming leave [1]."]
)
def test_whole_words_and_only_where_no_source_has_them(answer: str) -> None:
    assert codes(answer) == []


def test_claims_without_any_context() -> None:
    assert codes("It is 30 days.", WorkDone(("leave",))) == ["UNGROUNDED_CLAIM_NO_CONTEXT"]
    lacks = (Insufficiency("", "leave", ("leave",)),)
    assert codes("Insufficient documentation: nothing was found.", WorkDone(("leave",)), lacks=lacks) == []


def test_citations_must_exist() -> None:
    assert codes("Days [3].") == ["INVALID_CITATION_REF"]
    assert codes("Days [1].", WorkDone(("leave",), (), (LEAVE,))) == ["INVALID_CITATION_REF"]
    assert codes(GOOD, cited=(CitationRef("d9", "c9"),)) == ["HALLUCINATED_CITATION"]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('It says "Employees have 30 days of leave per year" [1].', []),
        ("It says `REINDEX TABLE leave;` [1].", []),
        ("> Salaries are paid on the 25th.\n\n[2].", []),
        ('It says "Employees have 45 days of leave" [1].', ["QUOTE_NOT_VERBATIM"]),
        ("```sql\nDELETE FROM leave;\n```\n[1].", ["QUOTE_NOT_VERBATIM"]),
        ("They have 30 days [1].", ["NO_QUOTED_TEXT"]),
    ],
)
def test_exact_quotes(answer: str, expected: list[str]) -> None:
    assert codes(answer, requires_exact_quote=True, exact_quote_indicators=("exact SQL",)) == expected


def test_an_exact_quote_needs_something_opened() -> None:
    assert codes('"a b c d"', WorkDone(("leave",), (), (LEAVE,)), requires_exact_quote=True) == [
        "EXACT_QUOTE_NO_SOURCE"
    ]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("  ", ["EMPTY_ANSWER"]),
        (DONT_KNOW, ["UNEXPLAINED_DONT_KNOW"]),
        ("Employees have 30 days of", []),
        ("Employees have 30 days, ", ["TRUNCATED_ANSWER"]),
        ("```sql\nREINDEX TABLE leave;", ["TRUNCATED_ANSWER"]),
    ],
)
def test_the_form_of_the_answer(answer: str, expected: list[str]) -> None:
    assert codes(answer) == expected


def test_a_reply_cut_off_by_the_token_limit_is_truncated() -> None:
    assert codes(GOOD, WorkDone(("leave",), (LEAVE,), (LEAVE,), cut_off=True)) == ["TRUNCATED_ANSWER"]


def test_an_explained_refusal_passes() -> None:
    assert codes(DONT_KNOW, lacks=(Insufficiency("", "sick days", ("sick",)),), requires_exact_quote=True) == []


def test_length_and_sections() -> None:
    assert codes("Short [1].", estimated_min_answer_length=100) == ["ANSWER_TOO_SHORT"]
    wanted = {"required_sections": ("Leave", "Travel")}
    assert codes(f"## Leave\n{GOOD}", **wanted) == ["MISSING_SECTIONS"]
    assert codes(f"## Leave\n{GOOD}", lacks=(Insufficiency("Travel", "all"),), **wanted) == []


def test_disclosure_of_insufficiencies() -> None:
    lacks = (Insufficiency("Sick leave", "days"),)
    wanted = {"requires_insufficiency_disclosure": True, "lacks": lacks}
    assert codes(GOOD, **wanted) == ["MISSING_INSUFFICIENCY_DISCLOSURE"]
    assert codes(f"{GOOD} Insufficient documentation on sick leave.", **wanted) == []


ABOUT_HELM = WorkDone(
    ("leave",), (LEAVE,), (LEAVE,), question="How many days of leave, and how is the helm chart deployed?"
)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Insufficient documentation on helm charts.", []),
        ("Documentation insuffisante sur les charts helm.", []),
        ("Unzureichende Dokumentation zu helm.", []),
        ("Documentación insuficiente sobre helm.", []),
        ("Documentazione insufficiente su helm.", []),
        ("Run helm upgrade.", ["UNGROUNDED_CLAIM"]),
        ("Insufficient documentation on helm charts. Run helm upgrade.", ["UNGROUNDED_CLAIM"]),
        ("Insufficient documentation on helm, use kubectl.", ["UNGROUNDED_CLAIM"]),
    ],
)
def test_what_was_asked_may_be_named_where_it_is_said_to_be_missing(said: str, expected: list[str]) -> None:
    lacks = (Insufficiency("", "helm charts", ("helm",)),)
    wanted = {"requires_insufficiency_disclosure": "Run" not in said, "lacks": lacks}
    assert codes(f"{GOOD} {said}", ABOUT_HELM, **wanted) == expected


def test_a_part_that_the_answer_says_nothing_of_is_to_be_disclosed() -> None:
    parts = ("How many days of leave are there?", "Who deploys the charts?")
    state = WorkDone(("leave",), (LEAVE,), (LEAVE,), parts=parts)
    [problem] = validate(FinalAnswer(GOOD), PromptConstraints(requires_insufficiency_disclosure=True), state)
    assert problem.code == "MISSING_INSUFFICIENCY_DISCLOSURE"
    assert "Who deploys the charts?" in problem.message
    assert parts[0] not in problem.message
    wanted = {"requires_insufficiency_disclosure": True}
    assert codes(f"{GOOD} The chart is deployed by Ann [1].", state, **wanted) == []
    assert codes(f"{GOOD} Insufficient documentation on the rest.", state, **wanted) == []
    assert codes(GOOD, state) == [], "only where the prompt demands it"


@pytest.mark.parametrize("language", ["en", "fr", "es", "de", "it"])
def test_a_disclosure_of_ours_is_one_that_the_gate_knows(language: str) -> None:
    lacks = (Insufficiency("Sick leave", "days"),)
    text = disclosed(GOOD, lacks, language)
    assert text.startswith(f"{GOOD}\n\n")
    assert text.endswith(": Sick leave: days.")
    assert disclosed(text, lacks, language) == text, "said once"
    assert disclosed(GOOD, (), language) == GOOD
