"""Which symbols a question names, and what it asks of them."""

from __future__ import annotations

import pytest

from cairn.domain.code import SymbolQuery
from cairn.graph.code.questions import asked_of_code, wanted_symbols


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("`outline_of` in `app/graph/code/outline.py`", SymbolQuery("outline_of", "app/graph/code/outline.py")),
        ("explain run in app/jobs/worker.py", SymbolQuery("run", "app/jobs/worker.py")),
        ("What does Client.send do?", SymbolQuery("Client.send", aspect="does")),
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
        ("What does the function fetch_all do?", SymbolQuery("fetch_all", aspect="does")),
        ("what is DigestAuth used for?", SymbolQuery("DigestAuth", aspect="does")),
        ("Was macht die Funktion fetch_all?", SymbolQuery("fetch_all", aspect="does")),
        ("Que fait la fonction fetch_all ?", SymbolQuery("fetch_all", aspect="does")),
        ("À quoi sert DigestAuth ?", SymbolQuery("DigestAuth", aspect="does")),
        ("¿Qué hace la función fetch_all?", SymbolQuery("fetch_all", aspect="does")),
        ("Cosa fa la funzione fetch_all?", SymbolQuery("fetch_all", aspect="does")),
        ("show me the code of fetch_all", SymbolQuery("fetch_all", aspect="shown")),
        ("show me fetch_all's code", SymbolQuery("fetch_all", aspect="shown")),
        ("Show me the implementation of DigestAuth", SymbolQuery("DigestAuth", aspect="shown")),
        ("Zeig mir den Code von fetch_all", SymbolQuery("fetch_all", aspect="shown")),
        ("Montre-moi le code de la fonction fetch_all", SymbolQuery("fetch_all", aspect="shown")),
        ("Muéstrame el código de fetch_all", SymbolQuery("fetch_all", aspect="shown")),
        ("Mostrami il codice di fetch_all", SymbolQuery("fetch_all", aspect="shown")),
        ("what is MAX_SIZE", SymbolQuery("MAX_SIZE", aspect="value")),
        ("What's the value of `LIMIT`?", SymbolQuery("LIMIT", aspect="value")),
        ("what is MAX_SIZE in a/b.py?", SymbolQuery("MAX_SIZE", "a/b.py", aspect="value")),
        ("Welchen Wert hat MAX_SIZE?", SymbolQuery("MAX_SIZE", aspect="value")),
        ("Was ist MAX_SIZE?", SymbolQuery("MAX_SIZE", aspect="value")),
        ("Quelle est la valeur de MAX_SIZE ?", SymbolQuery("MAX_SIZE", aspect="value")),
        ("¿Cuál es el valor de MAX_SIZE?", SymbolQuery("MAX_SIZE", aspect="value")),
        ("Qual è il valore di MAX_SIZE?", SymbolQuery("MAX_SIZE", aspect="value")),
    ],
)
def test_what_a_question_names(question: str, expected: SymbolQuery) -> None:
    assert wanted_symbols(question)[:1] == (expected,)


@pytest.mark.parametrize(
    "question",
    [
        "Who was Marie Curie?", "What is the function of the liver?", "How do I call the doctor?", "Where is Paris?",
        "Which class of drugs treats malaria?", "e.g. the U.S. economy, version 1.2", "", "?", "what class is a whale",
        "what does the backup command do?", "What does Syncthing do?", "what does backup do?",
        "À quoi sert `keep the last`, le paramètre ?", "Show me the code of `mise prune`", "What is the value of the deposit?",
        "Show me the code for Germany", "Was macht der Befehl backup?", "Que fait la commande backup ?", "What is SSL?",
        "¿Qué hace el comando backup?", "Cosa fa il comando backup?", "What is the value of GDP?",
        "Quelle est la fonction de ce document ?", "¿Cuál es la función del hígado?", "Was ist die Funktion der Leber?",
    ],
)  # fmt: skip
def test_plain_questions_name_no_symbol(question: str) -> None:
    assert wanted_symbols(question) == ()


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What does Client do?", SymbolQuery("Client", aspect="does")),
        ("Was macht Client?", SymbolQuery("Client", aspect="does")),
        ("what does the method `run` of `Worker` do", SymbolQuery("Worker.run", aspect="does")),
        ("What is the value of LIMIT?", SymbolQuery("LIMIT", aspect="value")),
        ("what does backup do?", None), ("what does the backup command do?", None), ("what is the value of the deposit?", None),
        ("show me the code of unquote", SymbolQuery("unquote", aspect="shown")),
    ],
)  # fmt: skip
def test_a_plain_word_may_be_a_symbol_where_code_has_it(question: str, expected: SymbolQuery | None) -> None:
    assert asked_of_code(question) == expected
    assert all(one.aspect is None for one in wanted_symbols(question))


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
