"""What is written of a definition, and its source: as much as an answer shows."""

from __future__ import annotations

import pytest

from cairn.graph.code.ask import MOST_BEGUN, MOST_SOURCE, MOST_TOLD
from cairn.graph.code.declaration import first_lines, read_documentation, whole_lines, whole_statement

INSIDE = (
    'def load(a):\n    """\n    Loads it.\n\n    * twice\n\n'
    '    Usage:\n\n    ```\n    load(1)\n    ```\n    """\n    return a\n'
)
GOOGLE = 'def load(a):\n    """Loads it.\n\n    Args:\n        a: what.\n    """\n    return a\n'
ABOVE = "# Loads it\n# twice.\n@cache\ndef load(a):\n    return a\n"


def documented(text: str, path: str = "a.py", begins: str = "def ") -> tuple[str, bool] | None:
    found = read_documentation(text, (text.index(begins), len(text)), path, MOST_TOLD)
    return (found.told, found.commented) if found else None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (INSIDE, ("Loads it.\n\n* twice", False)),
        (GOOGLE, ("Loads it.", False)),
        ('def f():\n    """See [the guide][0].\n\n    [0]: /guide\n    """\n', ("See the guide.", False)),
        (ABOVE, ("Loads it\ntwice.", True)),
        ("# -----\ndef load(a):\n    return a\n", None),
        ("x = 1\n\ndef load(a):\n    return a\n", None),
        ('def load(a):\n    """"""\n    return a\n', None),
    ],
)
def test_documentation_is_the_string_inside_else_the_comment_above(text: str, told: tuple[str, bool] | None) -> None:
    assert documented(text) == told


def test_where_a_language_has_no_string_for_it_a_comment_is_documentation() -> None:
    assert documented("/**\n * Loads it.\n * @param a what\n */\nfunction load(a) {}", "a.js", "function") == (
        "Loads it.", False,
    )  # fmt: skip
    assert documented("// Load loads it.\nfunc Load() {}", "a.go", "func") == ("Load loads it.", False)


def test_long_documentation_is_cut() -> None:
    found = documented(f'def load():\n    """{"word " * 500}"""\n')
    assert found is not None
    assert found[0].endswith("word …")
    assert MOST_TOLD == 600 >= len(found[0]) - 2 > 590


def test_source_goes_as_far_as_whole_lines_do_and_the_rest_is_counted() -> None:
    text = "class A:\n    @cache\n    def load(self):\n" + "        return 1\n" * 200
    start, end = whole_lines(text, (text.index("def"), len(text)))
    shown, missing = first_lines(text, (start, end), MOST_SOURCE)
    assert shown.startswith("@cache\ndef load(self):\n    return 1\n")
    assert missing == 202 - len(shown.split("\n")) > 0
    assert MOST_SOURCE == 900 >= len(shown) + 1 > 880
    assert first_lines("def f():\n    return 1\n", (0, 22), MOST_SOURCE) == ("def f():\n    return 1", 0)
    begun, _ = first_lines(text, (start, end), MOST_BEGUN)
    assert MOST_BEGUN == 300 >= len(begun) + 1 > 280


def test_a_statement_goes_on_while_brackets_are_open() -> None:
    text = "LIMITS = Limits(\n    a=1,  # )\n)\nOTHER = 2\n"
    assert text[: whole_statement(text, 0, "a.py")] == "LIMITS = Limits(\n    a=1,  # )\n)"
