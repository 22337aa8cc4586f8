"""Which symbols a question names, and what it asks of them."""

from __future__ import annotations

import pytest

from cairn.domain.code import SymbolQuery
from cairn.graph.code.questions import wanted_symbols


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("`outline_of` in `app/graph/code/outline.py`", SymbolQuery("outline_of", "app/graph/code/outline.py")),
        ("explain run in app/jobs/worker.py", SymbolQuery("run", "app/jobs/worker.py")),
        ("What does Client.send do?", SymbolQuery("Client.send")),
        ("What is module::symbol?", SymbolQuery("module.symbol")),
        ("How does `x` work", SymbolQuery("x")),
        ("what does the method `run` of `Worker` do", SymbolQuery("Worker.run")),
        ("the function fetch_all", SymbolQuery("fetch_all")),
        ("struct Circle", SymbolQuery("Circle")),
        ("Explain app/wiring.py", SymbolQuery("app/wiring.py")),
        ("Who calls prepare?", SymbolQuery("prepare", relation="calls")),
        ("who calls `Client.send()`?", SymbolQuery("Client.send", relation="calls")),
        ("What are the callers of the function load?", SymbolQuery("load", relation="calls")),
        ("Where is parse used?", SymbolQuery("parse", relation="calls")),
        ("What does search call?", SymbolQuery("search", relation="calls", incoming=False)),
        ("Qui appelle charger ?", SymbolQuery("charger", relation="calls")),
        ("¿Quién llama a cargar?", SymbolQuery("cargar", relation="calls")),
        ("Wer ruft laden auf?", SymbolQuery("laden", relation="calls")),
        ("Wo wird fetch_all aufgerufen?", SymbolQuery("fetch_all", relation="calls")),
        ("What does Client inherit from?", SymbolQuery("Client", relation="inherits", incoming=False)),
        ("Which classes inherit from Base?", SymbolQuery("Base", relation="inherits")),
        ("List the exceptions that inherit from TransportError", SymbolQuery("TransportError", relation="inherits")),
        ("Nenne die Klassen, die von TransportError erben", SymbolQuery("TransportError", relation="inherits")),
        ("Liste les classes qui héritent de TransportError", SymbolQuery("TransportError", relation="inherits")),
        ("Lista las clases que heredan de TransportError", SymbolQuery("TransportError", relation="inherits")),
        ("Elenca le classi che ereditano da TransportError", SymbolQuery("TransportError", relation="inherits")),
        ("what are DigestAuth's parameters?", SymbolQuery("DigestAuth", aspect="takes")),
        ("subclasses of errors.Base", SymbolQuery("errors.Base", relation="inherits")),
        ("De quoi hérite Client ?", SymbolQuery("Client", relation="inherits", incoming=False)),
        ("¿De qué hereda Client?", SymbolQuery("Client", relation="inherits", incoming=False)),
        ("Wovon erbt Client?", SymbolQuery("Client", relation="inherits", incoming=False)),
        ("Which files import app/domain/code.py?", SymbolQuery("app/domain/code.py", relation="imports")),
        ("What are the members of Client?", SymbolQuery("Client", relation="contains", incoming=False)),
        ("What methods does the class Client have?", SymbolQuery("Client", relation="contains", incoming=False)),
        ("Where is load defined?", SymbolQuery("load", aspect="defined")),
        ("Où est définie la fonction charger ?", SymbolQuery("charger", aspect="defined")),
        ("¿Dónde está definida la función cargar?", SymbolQuery("cargar", aspect="defined")),
        ("Wo ist laden definiert?", SymbolQuery("laden", aspect="defined")),
    ],
)
def test_what_a_question_names(question: str, expected: SymbolQuery) -> None:
    assert wanted_symbols(question)[:1] == (expected,)


@pytest.mark.parametrize(
    "question",
    [
        "Who was Marie Curie?", "What is the function of the liver?", "How do I call the doctor?", "Where is Paris?",
        "Which class of drugs treats malaria?", "e.g. the U.S. economy, version 1.2", "", "?", "what class is a whale",
        "Quelle est la fonction de ce document ?", "¿Cuál es la función del hígado?", "Was ist die Funktion der Leber?",
    ],
)  # fmt: skip
def test_plain_questions_name_no_symbol(question: str) -> None:
    assert wanted_symbols(question) == ()


def test_long_and_strange_questions_end() -> None:
    for question in (
        "a." * 5000,
        "who calls " * 2000,
        "`" * 9999,
        "x::" * 3000,
        "/" * 5000 + ".py",
        "where is the " * 500,
    ):
        wanted_symbols(question)
