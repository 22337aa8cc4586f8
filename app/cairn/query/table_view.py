"""A question and a table as the table parser reads them: headers, what stands in their columns, a few of the cells, and the
numbers and months that the question says. Pure; training sees the same (scripts/train_table_parser.py)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Final

from cairn.domain.table_parsing import ColumnView, Kind, Mention, TableView
from cairn.language.cells import read_day, tokens_of
from cairn.language.dates import months_in
from cairn.language.text import fold
from cairn.query.table_words import SPELLED

MOST_SHOWN: Final = 8  # bound: tests/unit/test_table_view.py
"""Different cells of a column of words that are shown."""
FEW: Final = 12  # bound: tests/unit/test_table_view.py
OTHERS_SHOWN: Final = 4  # bound: tests/unit/test_table_view.py
"""Of a column with more than FEW different cells: those that the question may name, and so many of the others."""
SHOWN_NUMBERS: Final = 2  # bound: tests/unit/test_table_view.py
COMMON_START: Final = 4  # bound: tests/unit/test_table_view.py
"""Letters at the beginning that make a word of the question one of a cell in another form: "strays", "stray"."""


SHORTEST_MONTH: Final = 3  # bound: tests/unit/test_table_view.py
"""Letters of a month that counts only with a capital: "may", "mar"."""


def mentions_in(question: str) -> list[Mention]:
    """From left to right."""
    found = []
    for word in _WORDS.finditer(question):
        text = word[0]
        if word[1] is not None and (day := read_day(text)) is not None:
            found.append(Mention(*word.span(), (), day=day))
        elif text[0].isdigit():
            thousands = 1000 if question[word.end() : word.end() + 2].rstrip(" .,?!") in ("k", "K") else 1
            found.append(Mention(*word.span(), tuple(one * thousands for one in _readings(text))))
        elif (folded := fold(text)) in SPELLED:
            found.append(Mention(*word.span(), (Decimal(SPELLED[folded]),)))
        elif (months := months_in([folded])) and (len(text) > SHORTEST_MONTH or text[0].isupper()):
            found.append(Mention(*word.span(), tuple(map(Decimal, months)), month=True))
    return found


_WORDS: Final = re.compile(r"(\d{4}-\d\d-\d\d|\d{1,2}([./-])\d{1,2}\2\d{4})(?!\d)|\d+(?:[.,'’]\d+)*|[^\W\d_]+")


def _readings(digits: str) -> Iterable[Decimal]:
    """ "2.500" may be 2500 or 2.5, "2,500.5" only one thing."""
    marks = [mark for mark in digits if not mark.isdigit()]
    plain = re.sub(r"\D", "", digits)
    if not marks:
        return [Decimal(plain)]
    head, _, tail = digits.rpartition(marks[-1])
    decimal = Decimal(re.sub(r"\D", "", head) + "." + tail)
    if len({*marks}) > 1:
        return [decimal]
    if len(marks) > 1:
        return [Decimal(plain)]
    thousands = len(tail) == 3 and len(head) <= 3  # bound: tests/unit/test_table_view.py
    return [Decimal(plain), decimal] if thousands else [decimal]


def view_of(
    question: str, title: str, header: Sequence[str], kinds: Sequence[Kind], texts: Sequence[Sequence[str]]
) -> TableView:
    """`texts`: of each column the cells of all rows."""
    asked = tokens_of(question)
    return TableView(
        title,
        tuple(
            ColumnView(name, kind, _shown(asked, kind, cells))
            for name, kind, cells in zip(header, kinds, texts, strict=True)
        ),
    )


def _shown(asked: Sequence[str], kind: Kind, cells: Sequence[str]) -> tuple[str, ...]:
    counts = Counter(cell.strip() for cell in cells)
    counts.pop("", None)
    if kind in ("number", "date"):
        return tuple(list(counts)[:SHOWN_NUMBERS])
    order = {cell: -at for at, cell in enumerate(counts)}
    closest = sorted(counts, key=lambda cell: (-closeness(asked, cell), -counts[cell], -order[cell]))
    if len(counts) > FEW:
        near = sum(closeness(asked, cell) > 0 for cell in closest)
        return tuple(closest[: min(MOST_SHOWN, near + OTHERS_SHOWN)])
    return tuple(closest[:MOST_SHOWN])


def closeness(asked: Sequence[str], cell: str) -> float:
    """The share of the words of a cell that the question says, by their letters."""
    words = [word for word in tokens_of(cell) if len(word) > 1 or word.isdigit()] or tokens_of(cell)
    letters = sum(map(len, words))
    said = sum(len(word) for word in words if any(_alike(word, other) for other in asked))
    return said / letters if letters else 0.0


def _alike(word: str, other: str) -> bool:
    if word == other or word.isdigit() or other.isdigit():
        return word == other
    shared = 0
    for one, two in zip(word, other, strict=False):
        if one != two:
            break
        shared += 1
    return shared >= COMMON_START and shared * 3 >= 2 * max(len(word), len(other))
