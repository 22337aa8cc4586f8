"""Pure parts of the strategies: merging lists, naming documents, parts of answers, notes, lists of documents."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.answer.advice import LONGEST_TITLE, join_or, places
from cairn.answer.extract import AnsweredPart, join_parts, repeats_only
from cairn.answer.lexrank import centrality, representative
from cairn.domain.answer import Citation, Draft
from cairn.domain.document import Holdings, Landmark, ListedDocument
from cairn.domain.passage import Passage
from cairn.domain.plan import ListRequest
from cairn.runs.gather import merge
from cairn.strategies.aggregate import asks_more
from cairn.strategies.converse import difficulty, simplest
from cairn.strategies.document_names import find_named_documents, topic
from cairn.strategies.list_wording import LISTED, Found, catalogue, documents_text
from cairn.strategies.replies import question_back
from cairn.strategies.summarize import HEADER_TOKENS, batches


def passage(number: int, tokens: int = 100) -> Passage:
    return Passage(
        UUID(int=number), UUID(int=100 + number), f"{number}.md", f"Doc {number}", "text", 0, 4, None, (), tokens, 1, "notes",
        "text/markdown", {},
    )  # fmt: skip


def listed(external_id: str, title: str = "", pages: int | None = None) -> ListedDocument:
    at = datetime(2026, 11, 22, tzinfo=UTC)
    return ListedDocument(UUID(int=1), external_id, title or external_id, "text/markdown", "en", pages, at)


def cited(quote: str, start: int = 0) -> Citation:
    return Citation(1, UUID(int=1), "a.md", UUID(int=2), None, "A", (), None, quote, start, start + len(quote), 1)


# --- merging --------------------------------------------------------------------------------------------------------


def test_lists_merge_by_reciprocal_ranks_after_the_first_of_each() -> None:
    lists = [[passage(1), passage(2), passage(3)], [passage(4), passage(2)], [passage(5), passage(2)]]
    kept, trace = merge(lists, 4)
    assert [p.passage_id.int for p in kept] == [1, 4, 5, 2], "2 has the best score, but each part has its best one"
    assert kept[3].score == pytest.approx(3 / 62)
    assert trace.leg == "merged"
    assert trace.fates == ("kept",) * 4 + ("below top_k",)


@given(st.lists(st.lists(st.integers(1, 30), unique=True, max_size=10), max_size=5), st.integers(1, 20))
def test_merging_loses_no_first_and_repeats_nothing(numbers: list[list[int]], limit: int) -> None:
    lists = [[passage(number) for number in row] for row in numbers]
    kept, trace = merge(lists, limit)
    ids = [p.passage_id for p in kept]
    assert len(ids) == len(set(ids)) == min(limit, len({number for row in numbers for number in row}))
    assert set(trace.passage_ids[: len(ids)]) == set(ids)
    firsts = {row[0] for row in numbers if row}
    if limit >= len(firsts):
        assert firsts <= {key.int for key in ids}


# --- naming ---------------------------------------------------------------------------------------------------------

DOCUMENTS = (
    listed("leave.md", "Leave"), listed("hr/pay-rules_2024.pdf", "Pay rules 2024"), listed("travel.md", "Travel costs"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Summarize leave.md", ["leave.md"]),
        ("Summarize the document on leave", ["leave.md"]),
        ("Give me a summary of pay-rules_2024.pdf please", ["hr/pay-rules_2024.pdf"]),
        ("Résume le document « Travel costs »", ["travel.md"]),
        ("summarize the pay rules", ["hr/pay-rules_2024.pdf"]),
        ("Fasse das Dokument Leave zusammen", ["leave.md"]),
        ("Summarize parental leave", []),
        ("Summarize everything", []),
        ("Resume todos los documentos", []),
    ],
)
def test_a_message_names_a_document_or_a_subject(message: str, expected: list[str]) -> None:
    assert [item.external_id for item in find_named_documents(message, DOCUMENTS)] == expected


@pytest.mark.parametrize(
    "message",
    [
        "What are the main themes of these documents?", "Quels sont les thèmes principaux de ces documents ?",
        "¿Cuáles son los temas principales de estos documentos?", "Was sind die Hauptthemen dieser Dokumente?",
        "Which topics do these documents cover?",
    ],
)  # fmt: skip
def test_asking_for_themes_does_not_name_a_document_that_is_called_so(message: str) -> None:
    library = [listed("ugly.md", "The Good, the Bad and the Ugly (theme)"), listed("t.md", "Topic models"), *DOCUMENTS]
    assert find_named_documents(message, library) == []


@pytest.mark.parametrize(
    ("message", "about"),
    [
        ("How many documents are there?", []),
        ("Combien de documents y a-t-il ?", []),
        ("¿Cuántos documentos hay en la colección?", []),
        ("Wie viele Dokumente gibt es?", []),
        ("Summarize all the documents, please", []),
        ("Which documents mention parental leave?", ["parental", "leave"]),
        ("How many files are about the Antikythera mechanism?", ["Antikythera", "mechanism"]),
    ],
)
def test_words_about_documents_as_such_are_no_topic(message: str, about: list[str]) -> None:
    assert topic(message) == about


# --- parts and digests ----------------------------------------------------------------------------------------------


def test_parts_make_one_answer_that_names_what_is_missing() -> None:
    yes = Draft("Yes. [1]", (cited("Yes."),), True, 0.8)
    no = Draft("I don't know.", (), False, 0.0)
    made = join_parts([AnsweredPart("Is it?", yes), AnsweredPart("And why?", no)], "en")
    assert (made.text, made.found, made.confidence) == ("Yes. [1]\n\nNothing found on “And why?”.", True, 0.4)
    assert made.insufficiencies == ("Not answered by the documents: And why?",)
    assert repeats_only(yes, yes.citations)
    assert not repeats_only(yes, ())


@pytest.mark.parametrize(("name", "said"), [("etcd", False), ("Etcd3", False), ("etc", True), ("etcd?", True)])
def test_nothing_is_said_to_be_missing_of_what_a_quotation_names(name: str, said: bool) -> None:
    quote = "We recommend `etcd3` instead of `etcd`."
    draft = Draft(f"{quote} [1]", (cited(quote),), True, 0.8)
    made = join_parts([AnsweredPart(name, Draft("", (), False, 0.0)), AnsweredPart("consul", draft)], "en")
    assert (f"Nothing found on “{name}”." in made.text) is said
    assert made.confidence == 0.4
    assert made.insufficiencies == (f"Not answered by the documents: {name}",)


def test_the_sentence_most_like_the_others_is_central() -> None:
    rng = np.random.default_rng(1)
    near = np.array([1.0, 0, 0, 0]) + rng.normal(0, 0.1, (6, 4))
    vectors = np.vstack([near, [[0, 0, 0, 1.0]]]).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rank = centrality(vectors)
    assert rank.sum() == pytest.approx(1)
    assert int(np.argmin(rank)) == 6
    chosen = representative(vectors, 3)
    assert chosen == sorted(chosen)
    assert len(chosen) == len(set(chosen)) == 3
    assert representative(vectors[:1], 5) == [0]
    assert representative(vectors[:0], 5) == []
    alone = np.eye(4, dtype=np.float32)
    assert centrality(alone) == pytest.approx(np.full(4, 0.25)), "sentences that share nothing are equally central"


def test_the_simplest_sentences_are_the_short_ones_with_short_words() -> None:
    hard = cited("Notwithstanding aforementioned considerations, applicability remains contingent upon authorisation.")
    easy, middling = cited("You get 30 days.", 200), cited("Employees receive thirty days of annual leave.", 300)
    assert simplest([hard, easy, middling], 2) == [easy, middling]
    assert difficulty("You get 30 days.") < difficulty(hard.quote)


@given(st.lists(st.integers(1, 500), max_size=30), st.integers(100, 600))
def test_parts_of_a_long_text_keep_order_and_budget(sizes: list[int], budget: int) -> None:
    passages = [passage(n, size) for n, size in enumerate(sizes)]
    parts = batches(passages, budget)
    assert [p for part in parts for p in part] == passages
    for part in parts:
        assert len(part) == 1 or sum(p.token_count + HEADER_TOKENS for p in part) <= budget


# --- what is said ---------------------------------------------------------------------------------------------------


def holdings(documents: int, **media_types: int) -> Holdings:
    kinds: Any = {"application/pdf" if name == "pdf" else "text/markdown": n for name, n in media_types.items()}
    return Holdings(documents, 0, 10, kinds, {})


def met(*listed: ListedDocument, **request: Any) -> Found:
    return Found(ListRequest(**request), listed, 3)


def test_a_catalogue_counts_kinds_and_lists_documents() -> None:
    said = catalogue(
        "en", "hr", holdings(2, pdf=1, md=1), met(listed("a.pdf", "Alpha", 12), listed("b.md", "Beta")), {}
    )
    assert (
        said == "The collection “hr” holds 2 documents (1 PDF, 1 Markdown):\n- Alpha (a.pdf, 12 pages)\n- Beta (b.md)"
    )
    many = catalogue("de", "hr", holdings(50, md=50), met(*(listed(f"{n}.md") for n in range(50))), {})
    assert many.endswith(f"- und {50 - LISTED} weitere")
    assert catalogue("xx", "hr", holdings(1, md=1), met(listed("b.md")), {}).startswith(
        "The collection “hr” holds 1 document:"
    )


def test_documents_that_mention_something_are_counted_among_all() -> None:
    assert (
        documents_text("fr", met(listed("a.md"), mentioned=(("congé",),)), {})
        == "1 document sur 3 mentionne « congé »:\n- a.md"
    )
    assert documents_text("en", met(mentioned=(("leave",), ("pay",))), {}) == "0 of 3 documents mention “leave”, “pay”."


@pytest.mark.parametrize(
    ("asked", "kind_known", "more"),
    [
        ({"kind": "articles"}, False, False),
        ({"kind": "articles", "sources": ("Lumex AB",)}, False, True),
        ({"kind": "articles", "authors": ("Lumex AB",)}, False, True),
        ({"kind": "articles", "sources": ("Lumex AB",)}, True, False),
        ({"kind": "reports", "mentioned": (("Lumex",),)}, False, False),
        ({"sources": ("Lumex AB",)}, False, False),
    ],
)
def test_articles_of_somebody_are_documents_where_one_says_so(
    asked: dict[str, Any], kind_known: bool, more: bool
) -> None:
    """Where nobody says whose documents are, it is looked for what they mention."""
    request = ListRequest(**asked)
    names = (*request.authors, *request.sources)
    looked_for = replace(request, authors=(), sources=(), mentioned=(*request.mentioned, *((one,) for one in names)))
    assert asks_more(Found(looked_for, (listed("a.md"),), 3, kind_known=kind_known), request) is more
    stated = Found(request, (listed("a.md"),), 3, kind_known=kind_known)
    assert not asks_more(stated, request), "a document that says who wrote it is listed"


@pytest.mark.parametrize(("language", "word"), [("en", "about"), ("fr", "propos"), ("es", "sobre"), ("de", "Thema")])
def test_a_question_back_is_concrete_and_in_the_language_of_the_message(language: str, word: str) -> None:
    said = question_back("?", language, ["Leave", "Pay"])
    assert word in said
    assert "Leave" in said
    assert "Leave" not in question_back("?", language, [])


def test_a_place_is_the_title_and_the_heading_above_what_was_found_each_once() -> None:
    marks = (Landmark(0, None, ("Doc 1",)), Landmark(100, None, ("Doc 1", "Setting up", "On Linux")))
    first = replace(passage(1), headings=("Doc 1",), landmarks=marks)
    found = replace(first, passage_id=UUID(int=9), matched=(120, 150))
    untitled = replace(passage(3), title="", headings=())
    read = [first, found, first, replace(passage(2), headings=("Doc 2", "Limits")), untitled]
    assert places(read, 4) == ["Doc 1", "Doc 1 › On Linux", "Doc 2 › Limits", "3.md"]
    assert places(read, 2) == ["Doc 1", "Doc 1 › On Linux"]


def test_a_long_title_leaves_room_for_the_heading() -> None:
    long = replace(passage(1), title="t" * 500, headings=("h\n" * 500,))
    said = join_or(places([long], 1), "en")
    assert said.startswith(f"“{'t' * LONGEST_TITLE} › h h")
    assert len(said) <= 2 * LONGEST_TITLE + 5


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("- `Reply`: It answers. [1]", "- `Reply`: It answers. [1]"),
        ("**Reply**\n\nIt answers. [1]", "**Reply**\n\nIt answers. [1]"),
        ("- Answer: It replies. [1]", "reply:\n\n- Answer: It replies. [1]"),
        ("Reply to all. [1]", "reply: Reply to all. [1]"),
    ],
)
def test_a_side_is_not_named_twice(text: str, made: str) -> None:
    assert join_parts([AnsweredPart("reply", Draft(text, (), True, 0.5))], "en").text == made
