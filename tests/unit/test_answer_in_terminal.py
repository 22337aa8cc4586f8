"""How a terminal shows a quotation in what stands around it."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import importlib
import os
from uuid import UUID
from cairn.domain.answer import NOTHING_TO_READ, Answer, Citation, CitedContext
from cairn.interfaces.cli import terminal
from cairn.interfaces.cli.ask import say_answer

one = UUID(int=1)
cited = Citation(1, one, "a.md", one, None, "A", (), None, "It costs 4 euros.", 9, 26, 1, None, CitedContext("", 0, 40))
text = "One here. It costs 4 euros. [1]\\n\\n- two"
for told in ({}, {"FORCE_COLOR": "1", "TERM": "xterm-256color"}):
    os.environ.update(told)
    importlib.reload(terminal)  # consoles look at the environment when they are made
    say_answer(Answer(text, (cited,), (), 1.0, "yes", None, None, (), NOTHING_TO_READ, {}, (), None, one, {}))
"""
IN_A_FILE = "One here. It costs 4 euros. [1]\n\n- two\n"
IN_A_TERMINAL = "One here. \x1b[1mIt costs 4 euros.\x1b[0m [1]\n\n- two\n"


def test_the_quotation_is_bold_in_a_terminal_and_plain_in_a_file() -> None:
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=kept, capture_output=True, text=True, check=True, encoding="utf-8"
    )
    assert done.stdout == IN_A_FILE + IN_A_TERMINAL
