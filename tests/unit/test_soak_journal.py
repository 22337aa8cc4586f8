"""The page that `make soak` prints: what it counts, and what it calls broken."""

from __future__ import annotations

import pytest

from tests.faults.known_texts import Library
from tests.faults.soak.__main__ import differences
from tests.faults.soak.journal import Journal, Kill, Request, Sample, describe, recovering


def make_journal() -> Journal:
    journal = Journal(kills=[Kill(60.0, "server")])
    journal.requests = [Request(float(at), "search", 10.0 * (at + 1), "ok") for at in range(0, 120, 2)]
    journal.requests += [Request(61.0, "search", 5.0, "503"), Request(100.0, "search", 5.0, "lost")]
    journal.samples = [Sample(float(at), {"server 1": 100.0 if at < 60 else 150.0}, 8) for at in range(0, 121, 5)]
    return journal


def test_a_page_says_what_succeeded_how_fast_and_how_memory_grew() -> None:
    page = describe(make_journal(), 120.0, "A soak")
    assert "60 of 62 requests succeeded, 0.5 a second: in a minute at least 30, median 30, at most 30." in page
    assert "| search | 60 | 610 | 1150 | 1190 | 1 | lost 1 | 0 |" in page
    assert "| server 1 | 100 | 150 | 150 | 1.50 |" in page
    assert "server 0.6 s (at most 0.6)" in page
    assert "Nothing is lost" in page


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"requests": [Request(5.0, "ask", 1.0, "500", "internal")]}, "- ask at 5 s: 500 internal"),
        ({"wrong": ["alpha: a is gone"]}, "- alpha: a is gone"),
        ({"ends": ["worker 1 ended with 1 at 7 s"]}, "- worker 1 ended with 1 at 7 s"),
        ({"broken": {"postings": ["row"]}}, "- postings: ['row']"),
    ],
)
def test_what_must_not_be_is_told(changes: dict[str, list[object]], told: str) -> None:
    journal = make_journal()
    for name, more in changes.items():
        setattr(journal, name, [*getattr(journal, name), *more] if isinstance(more, list) else more)
    assert not journal.passed
    assert told in describe(journal, 120.0, "A soak")


def test_a_request_that_a_kill_comes_into_is_recovering_and_one_long_after_is_not() -> None:
    kills = [Kill(60.0, "server")]
    assert recovering(kills, Request(59.5, "ask", 1000.0, "lost"))
    assert recovering(kills, Request(74.0, "ask", 1.0, "503"))
    assert not recovering(kills, Request(50.0, "ask", 1000.0, "lost"))
    assert not recovering(kills, Request(76.0, "ask", 1.0, "503"))


def test_what_is_stored_is_compared_with_what_was_acknowledged() -> None:
    library = Library()
    for name, known in (("kept", True), ("unsure", False)):
        library.begin(name, "text")
        library.end(name, "indexed", "text", known)
    kept = ("alpha", "kept")
    assert differences("alpha", library, {kept: "text"}) == []
    assert differences("alpha", library, {kept: "text", ("alpha", "unsure"): "text", ("beta", "x"): "y"}) == []
    assert differences("alpha", library, {}) == ["alpha: kept is None where it may be ['text']"]
    assert differences("alpha", library, {kept: "text", ("alpha", "x"): "y"}) == [
        "alpha: x is there, and nobody wrote it"
    ]
