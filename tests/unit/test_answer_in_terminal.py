"""How a terminal shows a quotation in what stands around it."""

from __future__ import annotations

import importlib
from dataclasses import replace
from uuid import UUID

import pytest

from cairn.domain.answer import NOTHING_TO_READ, Answer, Citation, CitedContext
from cairn.interfaces.cli import terminal
from cairn.interfaces.cli.ask import say_answer

ONE = UUID(int=1)
CITED = Citation(1, ONE, "a.md", ONE, None, "A", (), None, "It costs 4 euros.", 9, 26, 1, None, CitedContext("", 0, 40))
TEXT = "One here. It costs 4 euros. [1]\n\n- two"
SAID = Answer(TEXT, (CITED,), (), 1.0, "yes", None, None, (), NOTHING_TO_READ, {}, (), None, ONE, {})
IN_A_FILE = "One here. It costs 4 euros. [1]\n\n- two\n"
IN_A_TERMINAL = "One here. \x1b[1mIt costs 4 euros.\x1b[0m [1]\n\n- two\n"


def test_the_quotation_is_bold_in_a_terminal_and_plain_in_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    plain = {"FORCE_COLOR": "", "NO_COLOR": "", "TERM": "dumb"}
    try:
        for told, shown in (({}, IN_A_FILE), ({"FORCE_COLOR": "1", "TERM": "xterm-256color"}, IN_A_TERMINAL)):
            with pytest.MonkeyPatch.context() as environment:
                for name, text in {**plain, **told}.items():
                    environment.setenv(name, text)
                importlib.reload(terminal)  # consoles look at the environment when they are made
                say_answer(SAID)
            assert capsys.readouterr().out == shown
    finally:
        importlib.reload(terminal)


def test_a_table_without_a_header_is_shown_without_an_empty_one(capsys: pytest.CaptureFixture[str]) -> None:
    say_answer(replace(SAID, answer="It costs 4 euros. [1]\n\n|  |  |\n| --- | --- |\n| Adults |  |\n| Boats | 4 |"))
    assert capsys.readouterr().out == "It costs 4 euros. [1]\n\n| Adults |  |\n| Boats | 4 |\n"
