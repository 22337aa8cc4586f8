"""Extra search terms for identifiers, as the PostgreSQL 18 parser needs them."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.language.identifiers import identifier_terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("parent_chunk_id", "parentchunkid"),
        ("MAX_RETRIES", "maxretries"),
        ("max_größe", "maxgröße"),
        ("HTTPServerError", "http server error"),
        ("getUserByID", "get user by id"),
        ("utf8Decoder", "utf8 decoder"),
        ("app.db.pool", "appdbpool app db pool"),
        ("self._pool.acquire()", "selfpoolacquire self pool acquire"),
        ("parse.py", "parse py"),
        ("app/ingest/parse.py", "appingestparsepy app ingest parse py"),
        ("java.util.HashMap", "javautilhashmap java util hashmap hash map"),
        ("std::vector", "stdvector"),
        ("TCP/IP", "tcp ip"),
        ("v0.8.5", "0.8.5"),
        ("python3.11", "3.11 python"),
        ("PostgreSQL-18.4", "18.4"),
        ("CVE-2024-1234", "cve20241234"),
        ("COVID-19", "covid19"),
    ],
)
def test_forms_that_the_parser_does_not_find_are_added(text: str, terms: str) -> None:
    assert identifier_terms(text) == terms


@pytest.mark.parametrize(
    "text",
    [
        "parent-chunk-id",  # whole and in parts already
        "18.4 and 1.2.3",
        "A4.01",
        "McDonald, MacArthur and DeVito read PDFs on the iPhone.",
        "e.g. the U.S.A. i.e. there",
        "write to john.smith@example.com or see http://x.org/a_b/c.html and www.x.org",
        "It cost 3.5 per unit in 2019-2020, from 2024-01-15T10:20 on.",
        "__init__ and _private and **bold** and __bold__ and ____",
        "a well-known state-of-the-art method",
        "aGVsbG8gd29ybGQgaG93IGFyZSB5b3U",
        "x" * 1000 + "_y",
    ],
)
def test_what_the_parser_finds_by_itself_or_nobody_asks_for_adds_nothing(text: str) -> None:
    assert identifier_terms(text) == ""


def test_ordinary_prose_adds_nothing() -> None:
    prose = (
        "The Committee approved the budget. Dr. O'Brien, who lives in New York, disagreed: costs rose by 3.5 %, "
        "he said, and wouldn't fall. NASA's engineers (about 1,200 people) agreed with him; see page 12."
    )
    assert identifier_terms(prose) == ""


def test_an_end_without_a_space_frees_both_words() -> None:
    """The parser takes `end.Next` for a host name, which hides them."""
    assert identifier_terms("the end.Next comes") == "end next"


def test_whole_forms_count_per_occurrence_and_parts_once() -> None:
    """BM25 sees the identifier as often as it stands there, its parts as a hint."""
    assert identifier_terms("parent_id, parent_id and parent_id") == "parentid parentid parentid"
    assert identifier_terms("DeepSeek and DeepSeek and DeepSeek") == "deep seek"
    assert identifier_terms("pool.pool.pool") == "poolpoolpool pool"


def test_another_way_to_write_an_identifier_meets_it_in_one_term() -> None:
    forms = ("app_db_pool", "app.db.pool", "app::db::pool", "app/db/pool")
    assert {identifier_terms(form).split()[0] for form in forms} == {"appdbpool"}


@given(st.text(max_size=300))
def test_terms_are_words_that_the_parser_cannot_break(text: str) -> None:
    """Letters and digits only, versions aside; lower case; the same on every call."""
    terms = identifier_terms(text)
    assert terms == identifier_terms(text)
    for term in terms.split(" ") if terms else []:
        assert len(term) > 1
        assert term.replace(".", "").isalnum() or not term.isascii()
        assert "_" not in term


@pytest.mark.parametrize("unit", ["a", "a.", "a_", "aB", "a-1", "::", "a::", "@a", "_", "a/", "A"])
def test_time_is_linear(unit: str) -> None:
    start = time.process_time()
    identifier_terms(unit * (300_000 // len(unit)))
    assert time.process_time() - start < 3


@pytest.mark.parametrize(
    ("document", "query"),
    [
        ("set parent_chunk_id here", "parent_chunk_id"),
        ("set parent_chunk_id here", "parent chunk id"),
        ("set parent_chunk_id here", "chunk"),
        ("raise HTTPServerError now", "server error"),
        ("raise HTTPServerError now", "HTTPServerError"),
        ("call app.db.pool first", "pool"),
        ("call app.db.pool first", "app::db::pool"),
        ("call app.db.pool first", "app_db_pool"),
        ("use parent-chunk-id", "parent chunk"),
        ("see app/ingest/parse.py for it", "parse"),
        ("std::vector<int> v", "std::vector"),
        ("runs on v0.8.5 only", "0.8.5"),
        ("runs on PostgreSQL-18.4", "18.4"),
        ("needs python3.11 at least", "python 3.11"),
        ("fixes CVE-2024-1234 today", "CVE-2024-1234"),
        ("over TCP/IP then", "tcp"),
        ("the end.Next comes", "next"),
    ],
)
def test_postgresql_finds_the_query_in_the_document(psql: Callable[..., str], document: str, query: str) -> None:
    """With the terms on both sides every word of the query is in the document; the real parser decides."""

    def words(text: str) -> str:
        return f"tsvector_to_array(to_tsvector('english', '{text} {identifier_terms(text)}'))"

    assert psql(f"SELECT {words(query)} <@ {words(document)} AND cardinality({words(query)}) > 0") == "t"


def test_the_whole_form_tells_an_identifier_from_its_words(psql: Callable[..., str]) -> None:
    """A document that merely holds the words lacks the term of the whole."""
    terms = identifier_terms("parent_chunk_id")
    assert psql(f"SELECT to_tsvector('english', 'the parent of a chunk id') @@ to_tsquery('english', '{terms}')") == "f"
    assert psql(f"SELECT cardinality(tsvector_to_array(to_tsvector('english', '{terms}')))") == "1"
