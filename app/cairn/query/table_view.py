"""A question and a table as the table parser reads them: headers, what stands in their columns, a few of the cells, and the
numbers and months that the question says. Pure; training sees the same (scripts/train_table_parser.py)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
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


LONGEST_CELL: Final = 120  # bound: tests/unit/test_table_view.py
"""Characters of a cell that are compared with the question."""
SHORTEST_MONTH: Final = 3  # bound: tests/unit/test_table_view.py
"""Letters of a month that counts only with a capital: "may", "mar"."""


def mentions_in(question: str) -> list[Mention]:
    """From left to right. What cannot be read for sure, as "-5", "2 million", "3/4/2024" or "1.6.24", has no values."""
    found = []
    for word in _WORDS.finditer(question):
        text, (start, end) = word[0], word.span()
        if not text[0].isdecimal():
            if (folded := fold(text)) in SPELLED:
                found.append(Mention(start, end, (Decimal(SPELLED[folded]),)))
            elif (months := months_in([folded])) and (len(text) > SHORTEST_MONTH or text[0].isupper()):
                found.append(Mention(start, end, tuple(map(Decimal, months)), month=True))
        elif word["day"] is not None:
            found.append(Mention(start, end, (), day=read_day(text)))
        else:
            mark = next((one for one in text if one in ".,"), "")
            found.append(Mention(start, end, _numbers(question, start, end), mark=mark))
    return found


_WORDS: Final = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d|\d{1,2}([./-])\d{1,2}\2\d{2,4})(?!\d)"
    r"|\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d)|\d+(?:[.,'’]\d+)*|[^\W\d_]+"
)
_THOUSANDS: Final = re.compile(r"\s?k(?![^\W_])", re.IGNORECASE)
_SCALED: Final = re.compile(
    r"\s?(?:mio|mill?(?:ion)?\w{0,4}|mrd|bn|billion\w{0,3}|milliard\w{0,3}|thousand|tsd|tausend|mille|mil|migliaia)(?![^\W_])",
    re.IGNORECASE,
)
_SIGNED: Final = re.compile(r"(?:^|[\s(])[-−–]\Z")


def _numbers(question: str, start: int, end: int) -> tuple[Decimal, ...]:
    if _SIGNED.search(question[max(0, start - 2) : start]):
        return ()
    behind = question[end : end + 12]
    if _THOUSANDS.match(behind):
        return tuple(1000 * one for one in _readings(question[start:end]))
    return () if _SCALED.match(behind) else tuple(_readings(question[start:end]))


def _readings(digits: str) -> Iterable[Decimal]:
    """ "2.500" may be 2500 or 2.5, "2,500.5" only one thing."""
    marks = [mark for mark in digits if not mark.isdecimal()]
    plain = re.sub(r"\D", "", digits)
    if not marks:
        return [Decimal(plain)]
    head, _, tail = digits.rpartition(marks[-1])
    groups = re.split(r"\D", digits)
    grouped = (
        not groups[0].startswith("0")
        and len(groups[0]) <= len("100")
        and all(len(one) == len("100") for one in groups[1:])
    )
    if len({*marks}) > 1:
        return [Decimal(re.sub(r"\D", "", head) + "." + tail)]
    if len(marks) > 1 or marks[0] not in (".", ","):
        return [Decimal(plain)] if grouped else []
    decimal = Decimal(f"{head}.{tail}")
    return [Decimal(plain), decimal] if grouped else [decimal]


def view_of(
    question: str, title: str, header: Sequence[str], kinds: Sequence[Kind], texts: Sequence[Sequence[str]]
) -> TableView:
    """`texts`: of each column the cells of all rows."""
    asked = frozenset(tokens_of(question))
    return TableView(
        title,
        tuple(
            ColumnView(name, kind, _shown(asked, kind, cells))
            for name, kind, cells in zip(header, kinds, texts, strict=True)
        ),
    )


def _shown(asked: Collection[str], kind: Kind, cells: Sequence[str]) -> tuple[str, ...]:
    counts = Counter(cell.strip() for cell in cells)
    counts.pop("", None)
    if kind in ("number", "date"):
        return tuple(list(counts)[:SHOWN_NUMBERS])
    close = {cell: closeness(asked, cell) for cell in counts}
    closest = sorted(counts, key=lambda cell: (-close[cell], -counts[cell]))
    if len(counts) > FEW:
        near = sum(one > 0 for one in close.values())
        return tuple(closest[: min(MOST_SHOWN, near + OTHERS_SHOWN)])
    return tuple(closest[:MOST_SHOWN])


def closeness(asked: Collection[str], cell: str) -> float:
    """The share of the words of a cell, or of its beginning, that the question says, by their letters."""
    words = tokens_of(cell[:LONGEST_CELL])
    words = [word for word in words if len(word) > 1 or word.isdigit()] or words
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
