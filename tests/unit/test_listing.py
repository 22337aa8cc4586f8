"""What is a request for a list, and what only looks like one."""

from __future__ import annotations

import time

import pytest

from cairn.domain.plan import ListRequest
from cairn.graph.extract import PassageSpan, extract
from cairn.language.dates import read_date
from cairn.query.listing import list_request, request_after
from tests.waiting import patience


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        (
            "documents that mention board minutes but not wind",
            ListRequest(mentioned=(("board minutes",),), excluded=("wind",)),
        ),
        ("how many reports are from 2019?", ListRequest("count", kind="reports", years=(2019, 2019))),
        ("PDF files by Kim Lee", ListRequest(format="pdf", authors=("Kim Lee",))),
        ("documents sur le vent ou le soleil", ListRequest(mentioned=(("vent", "soleil"),))),
        ("Dokumente, in denen Wind nicht vorkommt", ListRequest(excluded=("Wind",))),
        ("\u00bfcu\u00e1l es el documento m\u00e1s reciente?", ListRequest(age="newest")),
        ("how many words in all documents?", ListRequest("count", "words")),
        ('which people are mentioned in "report.pdf"?', ListRequest(unit="people", within=("report.pdf",))),
        (
            'documents that do not mention "rates of the last quarter"',
            ListRequest(excluded=("rates of the last quarter",)),
        ),
        ("documents not about wind", ListRequest(excluded=("wind",))),
        ("Dokumente, nicht über Wind", ListRequest(excluded=("Wind",))),
        ('documents about "research and development"', ListRequest(mentioned=(("research and development",),))),
    ],
)
def test_all_of_a_request_is_understood(message: str, wanted: ListRequest) -> None:
    assert list_request(message) == wanted


@pytest.mark.parametrize(
    "message",
    [
        "How many people live in Paris?", "which countries border France?", "What places did Marco Polo visit?",
        "how many companies are there in Silicon Valley?", "list the steps to install", "what is the latest version?",
        "combien de personnes vivent \u00e0 Lyon ?", "which document must I sign?", "what sources of energy are there?",
        "How many items from Ortmann are below the reorder level?", "how many files from Kim have we lost?",
        "How many items are not discontinued?", "List all items", "How many invoices are not paid?",
        "Wie viele Rechnungen sind nicht bezahlt?",
        "¿qué archivo contiene datos sensibles que no debo subir a un repositorio público?",
        "quel fichier contient les clés que je ne dois pas publier sur le serveur ?",
        "which file contains secrets, not to be put into a repository",
    ],
)  # fmt: skip
def test_other_questions_are_no_lists(message: str) -> None:
    assert list_request(message) is None


def test_which_of_them_adds_to_what_was_listed() -> None:
    found = request_after("which of them mention wind?", ["documents by Kim Lee", "thanks"])
    assert found == ListRequest(authors=("Kim Lee",), mentioned=(("wind",),))
    assert request_after("which of them mention wind?", ["who is Kim?"]) is None


@pytest.mark.parametrize(
    "message",
    [
        "show the rest", "Show me the others", "and the rest?", "the other 11", "more", "next 20", "what are the others?",
        "zeig mir den Rest", "die übrigen", "und die anderen?", "weiter", "zeige die restlichen Dokumente",
        "montre les autres", "la suite", "et les autres ?", "montre-moi le reste", "muéstrame el resto", "los demás",
        "y los otros?", "mostrami gli altri", "e il resto?", "continua",
    ],
)  # fmt: skip
def test_the_rest_goes_on_with_the_list(message: str) -> None:
    asked = ["which documents mention wind?"]
    assert request_after(message, asked) == ListRequest(mentioned=(("wind",),), shown=20)
    assert request_after(message, [*asked, "show the rest"]) == ListRequest(mentioned=(("wind",),), shown=40)
    assert request_after(message, ["who is Kim?"]) is None
    assert request_after(message, [*asked, "who is Kim?"]) is None, "of the last answer alone"
    assert request_after(message, ["what is the newest document?"]) is None
    assert request_after(message, []) == list_request(message)


@pytest.mark.parametrize(
    "message",
    ["who are the other directors?", "the rest of the staff", "more about wind", "mehr zu Wind", "plus de vent"],
)
def test_what_asks_for_something_else_is_no_rest(message: str) -> None:
    found = request_after(message, ["which documents mention wind?"])
    assert found is None or not found.shown


def test_reading_takes_linear_time() -> None:
    began = time.thread_time()
    for message in ("documents " + "that mention a and " * 15, "which documents " + "are " * 70, "die " * 74):
        list_request(message)
    assert time.thread_time() - began < patience(2)


def test_spellings_of_a_date_are_one() -> None:
    assert {
        read_date(said) for said in ("23 March 2019", "March 23, 2019", "2019-03-23", "23.3.2019", "23 mars 2019")
    } == {"2019-03-23"}
    assert read_date("23 maggio 2019") == "2019-05-23"
    assert (read_date("March 2019"), read_date("23 March")) == ("2019-03", "--03-23")


def test_kinds_of_names() -> None:
    text = (
        "Ada Lovelace was an English mathematician. The President of the Senate spoke in Bremen. "
        "Coca-Cola Company built a plant near the Ohio River. The singer Tina Turner came."
    )
    kinds = {
        one.name: one.kind
        for found in extract(text, [PassageSpan(0, len(text))], language="en")
        for one in found.entities
    }
    assert (kinds["Ada Lovelace"], kinds["Tina Turner"]) == ("person", "person")
    assert (kinds["Coca-Cola Company"], kinds["Ohio River"], kinds["Bremen"]) == ("organisation", "place", "place")
    assert kinds.get("President of the Senate", "name") == "name"
