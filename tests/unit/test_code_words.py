"""What is said of symbols of code: lists that stand apart, code that stays code, and numbers that agree with their nouns."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from cairn.answer.missing import asked_besides
from cairn.domain.answer import Citation
from cairn.domain.code import CodeFact, CodeFinding, CodeSubject, DeclarationText, SymbolPlace, SymbolQuery
from cairn.graph.code.links import CodeLinks, NamedDefinition
from cairn.graph.code.select import near_names
from cairn.strategies.code_words import write_finding


def place(line: int) -> SymbolPlace:
    return SymbolPlace(UUID(int=line), UUID(int=1), "a.py", line, line, line, line + 1)


def cited(*quotes: str) -> dict[SymbolPlace, Citation]:
    return {
        place(n): Citation(n, UUID(int=1), "a.py", UUID(int=n), None, "a.py", (), None, quote, 0, len(quote), 1)
        for n, quote in enumerate(quotes, 1)
    }


def declared(aspect: str, text: DeclarationText) -> CodeFinding:
    subject = CodeSubject("a.py::load", "function", place(9), declaration=text)
    return CodeFinding(SymbolQuery("load", aspect=aspect), (subject,))  # type: ignore[arg-type]


def test_what_follows_a_list_stands_apart_from_it() -> None:
    facts = tuple(CodeFact(f"a.py::f{n}", place(n)) for n in (1, 2))
    subject = CodeSubject("a.py::load", "function", place(9), facts, facts, (), 1)
    said = write_finding("en", CodeFinding(SymbolQuery("load", relation="calls"), (subject,)), {}, 50)
    assert said.splitlines()[0] == "Callers of `a.py::load` (a.py:9) that are known (2):"
    assert "\n\nIn 1 more line the same name means something else.\n" in said
    assert "\nLines that may mean it and could not be resolved (2):\n- a.py:1" in said


@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "it"])
def test_one_is_said_otherwise_than_several(language: str) -> None:
    def said(count: int) -> str:
        subject = CodeSubject("b.py::B", "class", None, tuple(CodeFact(f"c{n}", place(n)) for n in range(1, count + 1)))
        return write_finding(language, CodeFinding(SymbolQuery("B", relation="inherits"), (subject,)), {}, 9).split(
            "\n"
        )[0]

    assert said(1).replace("1", "2") != said(2)
    assert said(2).replace("2", "3") == said(3)


def test_code_with_backticks_stands_between_more_of_them() -> None:
    text = DeclarationText("def load()", (), "", "Loads it.", (), (CodeFact("", place(1)),))
    said = write_finding("en", declared("raises", text), cited('raise E("use `x`")'), 50)
    assert said == (
        'Loads it.\n\n`a.py::load` (a.py:9) raises an exception in 1 statement:\n- a.py:1 [1]: `` raise E("use `x`") ``'
    )


def test_what_documentation_says_stands_before_the_list_and_is_no_part_of_it() -> None:
    text = DeclarationText("def load(a, b)", ("a", "b"), "", "Loads it.", (), ())
    assert write_finding("en", declared("takes", text), {}, 50).startswith("Loads it.\n\n`a.py::load`")
    assert write_finding("en", declared("defined", text), {}, 50).endswith(":\n- `def load(a, b)`")


def test_names_without_letters_are_near_to_nothing() -> None:
    links = CodeLinks([NamedDefinition("a.py::decoder", "class"), NamedDefinition("decoder/", "module")], [])
    assert "" not in near_names("decoders", links)


def test_a_constant_is_shown_with_the_line_that_sets_it() -> None:
    subject = CodeSubject("a.py::LIMIT", "", place(1))
    finding = CodeFinding(SymbolQuery("LIMIT", aspect="defined"), (subject,))
    assert (
        write_finding("en", finding, cited("LIMIT = 20"), 50)
        == "`a.py::LIMIT` is defined in a.py:1 [1]:\n- `LIMIT = 20`"
    )


def test_what_a_symbol_does_is_said_by_its_documentation() -> None:
    text = DeclarationText("def load(a)", ("a",), "", "Loads.", (), (), told="Loads.\n\nTwice.")
    subject = CodeSubject("a.py::load", "function", place(2), (CodeFact("", place(1)),), declaration=text)
    finding = CodeFinding(SymbolQuery("load", aspect="does"), (subject,))
    assert write_finding("en", finding, cited("Loads.", "def load(a):"), 50) == (
        "Loads.\n\nTwice. [1]\n\n`a.py::load` is defined in a.py:2 [2]:\n- `def load(a)`"
    )


@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "it"])
@pytest.mark.parametrize("aspect", ["does", "shown"])
def test_source_is_shown_as_a_block_with_what_is_left_out(language: str, aspect: str) -> None:
    text = DeclarationText("def load()", (), "", "", (), (), source="def load():\n    '```'", missing=1)
    said = write_finding(language, declared(aspect, text), {}, 50)
    assert "\n````\ndef load():\n    '```'\n````\n\n" in said
    assert "docstring" in said.partition("````")[0].lower() if aspect == "does" else "docstring" not in said.lower()
    assert "1" in said.rpartition("````")[2]
    commented = write_finding(language, declared("does", replace(text, told="Loads.", commented=True)), {}, 50)
    assert "docstring" in commented.partition("\n\nLoads.")[0].lower()


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("What is the function to_bytes_or_str for?", []),
        ("Wofür ist die Funktion to_bytes_or_str?", []),
        ("À quoi sert la méthode to_bytes_or_str ?", []),
        ("What is the function of the liver?", ["function"]),
    ],
)
def test_what_a_symbol_is_called_is_not_missed(question: str, words: list[str]) -> None:
    kinds = {"function", "funktion", "methode"}
    assert [word for _, word in asked_besides(question, ()) if word in kinds] == words
