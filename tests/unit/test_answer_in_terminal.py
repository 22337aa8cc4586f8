"""How a terminal shows a quotation in what stands around it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
from uuid import UUID
from cairn.domain.answer import NOTHING_TO_READ, Answer, Citation, CitedContext
from cairn.interfaces.cli.ask import say_answer

one = UUID(int=1)
cited = Citation(1, one, "a.md", one, None, "A", (), None, "It costs 4 euros.", 9, 26, 1, None, CitedContext("", 0, 40))
text = "One here. It costs 4 euros. [1]\\n\\n- two"
say_answer(Answer(text, (cited,), (), 1.0, "yes", None, None, (), NOTHING_TO_READ, {}, (), None, one, {}))
"""


@pytest.mark.parametrize(
    ("terminal", "shown"),
    [
        (True, "One here. \x1b[1mIt costs 4 euros.\x1b[0m [1]\n\n- two\n"),
        (False, "One here. It costs 4 euros. [1]\n\n- two\n"),
    ],
)
def test_the_quotation_is_bold_in_a_terminal_and_plain_in_a_file(*, terminal: bool, shown: str) -> None:
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    environment = kept | ({"FORCE_COLOR": "1", "TERM": "xterm-256color"} if terminal else {})
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True, encoding="utf-8"
    )
    assert done.stdout == shown
