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
from cairn.language.numbers import read_spelled, unit_behind
from cairn.language.text import fold
from cairn.query.table_words import ORDINALS

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
    found, done = list[Mention](), 0
    for word in _WORDS.finditer(question):
        if word.start() < done:
            continue
        text, (start, end) = word[0], word.span()
        if not text[0].isdecimal():
            one = _in_words(question, text, start, end)
        elif word["day"] is not None:
            one = Mention(start, end, (), day=read_day(text))
        else:
            one = _in_digits(question, text, start, end)
        if one is not None:
            found.append(one)
            done = one.end
    return found


def _in_words(question: str, text: str, start: int, end: int) -> Mention | None:
    folded = fold(text)
    months = months_in([folded])
    if months and text[0].isupper():
        return Mention(start, end, tuple(map(Decimal, months)), month=True)
    if (place := place_of(folded)) is not None:
        return Mention(start, end, (Decimal(place),), ordinal=True)
    if folded in _IN_TWO_LANGUAGES:
        return Mention(start, end, ())
    if (spelled := read_spelled(folded, question, end)) is not None:
        value, end = spelled
        scaled = _SCALED.match(question[end : end + _BEHIND])
        return Mention(start, end, () if scaled else (Decimal(value),), unit=_unit_behind(question, end))
    if months and len(text) > SHORTEST_MONTH:
        return Mention(start, end, tuple(map(Decimal, months)), month=True)
    return None


def _in_digits(question: str, text: str, start: int, end: int) -> Mention:
    mark = next((one for one in text if one in ".,"), "")
    ordinal = _PLACE_ENDS.match(question, end) if text.isdecimal() and len(text) < len("100") else None
    values = _numbers(question, start, end)
    if ordinal is not None:
        return Mention(start, ordinal.end(), values, ordinal=True)
    unit = _unit_behind(question, end)
    hundredths = _HUNDREDTHS.match(question, end)  # of which the second word is a number in another language
    return Mention(start, hundredths.end() if hundredths else end, values, mark=mark, unit=unit)


def _unit_behind(question: str, end: int) -> str:
    """As it is written where it is made of two: "km/h", "square metres"."""
    compound = _HUNDREDTHS.match(question, end) or _COMPOUND_UNIT.match(question, end)
    return compound[0].strip() if compound else unit_behind(question, end)


def place_of(word: str) -> int | None:
    """Of a folded word that is an ordinal the number; None of others. Two for the last but one, too."""
    if (place := ORDINALS.get(word) or _PLACES.get(word)) is not None:
        return place
    compound = _PLACE_COMPOUND.fullmatch(word)
    return _STEMS[compound[1]] if compound else None


_PLACES: Final = {  # bound: tests/unit/test_table_view.py
    "ninth": 9, "tenth": 10, "primer": 1, "tercer": 3, "septimo": 7, "septima": 7, "octavo": 8, "octava": 8, "noveno": 9,
    "novena": 9, "decimo": 10, "decima": 10, "septieme": 7, "huitieme": 8, "neuvieme": 9, "dixieme": 10, "settimo": 7,
    "settima": 7, "ottavo": 8, "ottava": 8, "nono": 9, "nona": 9, "penultimate": 2, "penultimo": 2, "penultima": 2,
    "penultimi": 2, "antepenultimo": 3, "antepenultima": 3, "terzultimo": 3, "terzultima": 3, "quartultimo": 4,
    "quartultima": 4,
}  # fmt: skip
_STEMS: Final = {  # bound: tests/unit/test_table_view.py
    "vorletzt": 2, "zweit": 2, "dritt": 3, "viert": 4, "funft": 5, "sechst": 6, "siebt": 7, "acht": 8, "neunt": 9, "zehnt": 10,
}  # fmt: skip
_PLACE_COMPOUND: Final = re.compile(rf"({'|'.join(_STEMS)})(?:e[rnsm]?|[a-z]{{3,20}}te[rnsm]?)")
"""German "zweite", "zweitgrößte"; not "zweitausend"."""
_PLACE_ENDS: Final = re.compile(
    r"(?:st|nd|rd|th|er|[eè]re|[eè]me|e|t?e[rsn]?|º|ª)(?![^\W\d_])|\.(?=[ \u00a0]?[^\W\d_])"
)
_HUNDREDTHS: Final = re.compile(
    r"[ \u00a0]?(?:cents?|pence|centimes?|c[eé]ntimos?|centesim[oi])(?![^\W\d_])", re.IGNORECASE
)
_COMPOUND_UNIT: Final = re.compile(
    r"[ \u00a0]?(?:[^\W\d_]{1,12}/[^\W\d_]{1,12}"
    r"|(?:square|cubic|sq\.?|cu\.?|quadrat\w{1,12}|qm|m²|m³|km²|ha)\b(?: [^\W\d_]{1,12})?"
    r"|[^\W\d_]{1,20} (?:per|pro|par|por|carr[eé]s?|cuadrados|quadrati|all['’]) ?[^\W\d_]{1,12})",
    re.IGNORECASE,
)
_IN_TWO_LANGUAGES: Final = frozenset({"once"})
"""Eleven in one language, and one time in another."""
_BEHIND: Final = 14  # bound: tests/unit/test_table_view.py
"""Characters behind a number in which a scale is looked for."""
_WORDS: Final = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d|\d{1,2}([./-])\d{1,2}\2\d{2,4})(?!\d)"
    r"|\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d)|\d+(?:[.,'’]\d+)*|[^\W\d_]+"
)
_THOUSANDS: Final = re.compile(r"\s?k(?![^\W_])", re.IGNORECASE)
_SCALED: Final = re.compile(
    r"\s?(?:mio|mln|mn|mds?|mrd|bn|[TMk]?(?:EUR|USD|GBP|CHF)(?<=[TMk]...)|[TMk][€$£]"
    r"|mill?ion\w{0,4}|millones|billion\w{0,3}|milliard\w{0,3}|miliard\w|thousand|tsd|tausend|mille|mil|miles(?=\sde)|migliaia)(?![^\W_])",
    re.IGNORECASE,
)
_MONEY_BEFORE: Final = re.compile(r"[€$£]\s?\Z")
_MILLIONS: Final = re.compile(r"[mb](?![^\W_])", re.IGNORECASE)
_SIGNED: Final = re.compile(r"(?:^|[\s(])[-−–]\Z")


def _numbers(question: str, start: int, end: int) -> tuple[Decimal, ...]:
    if _SIGNED.search(question[max(0, start - 2) : start]):
        return ()
    behind = question[end : end + _BEHIND]
    if _MONEY_BEFORE.search(question[:start]) and _MILLIONS.match(behind):
        return ()
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
    question: str,
    title: str,
    header: Sequence[str],
    kinds: Sequence[Kind],
    texts: Sequence[Sequence[str]],
    document: str = "",
) -> TableView:
    """`texts`: of each column the cells of all rows; `document`: what the document is called."""
    asked = frozenset(tokens_of(question))
    return TableView(
        title,
        tuple(
            ColumnView(name, kind, _shown(asked, kind, cells))
            for name, kind, cells in zip(header, kinds, texts, strict=True)
        ),
        "" if fold(document) == fold(title) else document,
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
