"""Cells of tables as values: numbers with what they are counted in, dates, and the words that a cell is named by. Pure.

`1,234.5`, `1.234,5`, `(12.5)`, `12 %` and `$ 3m` are numbers. What stands around the digits stays with the number as its unit,
`#` in their place: "$ #m", "# %". So a unit and its scale are compared as they are written, and nothing is converted.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal

from cairn.language.dates import dates_in
from cairn.language.lexicon import DEFAULT, languages
from cairn.language.linear import bounded
from cairn.language.links import DESTINATION
from cairn.language.text import fold

Mark = Literal[".", ","]
"""What parts the decimals from a whole number."""
DayOrder = Literal["day", "month"]
"""What comes first in "3/4/2019"."""

LONGEST_NUMBER: Final = 60
"""Characters of a cell that may be a number or a date."""
LONGEST_KEY: Final = 120
"""Characters of a cell by which it can be named; longer ones are sentences."""

_DIGITS: Final = r"\d{1,3}(?:[ \u00a0\u202f']\d{3}(?!\d))+(?:[.,]\d+)?|\d+(?:[.,]\d+|'\d{3}(?!\d))*|[.,]\d+"
_NUMBER: Final = re.compile(
    rf"(?P<before>[^\d]{{0,12}}?)(?P<digits>(?<![\d.,]){_DIGITS})(?P<after>[^\d]{{0,12}})(?P<note>\[\d{{1,2}}\]|\(\d{{1,2}}\))?"
)
_FOOTNOTE: Final = bounded(r"(?:\s*(?:\(\d{1,2}\)|\[\d{1,2}\]|[*†‡]))+$")
_TOKEN: Final = re.compile(r"\d+(?:[.,]\d+)+(?![^\W_])|[^\W_]+")
_YEAR: Final = re.compile(r"(?:1[5-9]|20|21)\d\d")
_CURRENCY: Final = re.compile(r"(?:US|C|CA|A|AU|NZ|HK|S|R)?[$€£¥₹₩₽]|CHF|USD|EUR|GBP|JPY|CNY|RMB|Rs")
_SUFFIX: Final = re.compile(r"[^\W\d_]{1,6}\.?|[^\W\d_]{1,3}²|[^\W\d_]{1,3}³|[^\W\d_]{1,4}/[^\W\d_]{1,4}")
"""Of a number: "m", "bn", "Mio.", "kg", "km/h". What is longer is a word, and the cell no number."""
_NOTHING: Final = re.compile(r"[-–—−*.\s]*|n/?a|n\.a\.|n/?m|nil|null|none|nan|k\.\s?a\.|s/d|nd|n\.d\.", re.IGNORECASE)
_SLASHED: Final = re.compile(r"((?:1[5-9]|20|21)\d\d)[-/](\d\d)[-/](\d\d)(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?)?")
_DOTTED: Final = frozenset(one.code for one in languages() if one.code != DEFAULT)
"""Languages that may write a point between thousands."""


_LINK: Final = re.compile(rf"!?\[([^\[\]]{{0,200}})\]{DESTINATION}")
_MARKS: Final = ("**", "__", "*", "`")


def plain_cell(text: str) -> str:
    """A cell without the marks of Markdown around it: of a link its words. A single "*" is that of a footnote."""
    text = _LINK.sub(r"\1", text).strip() if "](" in text else text.strip()
    for mark in _MARKS:
        if len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark):
            text = text[len(mark) : -len(mark)].strip()
    return text


@dataclass(frozen=True, slots=True)
class ReadCell:
    """`kind`: "nothing" where a cell is empty or says that there is no value, "text" where it is neither number nor date."""

    kind: Literal["nothing", "number", "date", "text"]
    number: Decimal | None = None
    unit: str = ""
    date: datetime.date | None = None


NOTHING: Final = ReadCell("nothing")
TEXT: Final = ReadCell("text")


def read_cell(text: str, mark: Mark, order: DayOrder | None = None) -> ReadCell:
    """What a cell holds, where the table writes decimals behind `mark`, and the column dates in `order`."""
    text = text.strip()
    if _NOTHING.fullmatch(text):
        return NOTHING
    if len(text) > LONGEST_NUMBER or not any(map(str.isdigit, text)):
        return TEXT
    if (day := read_day(text, order)) is not None:
        return ReadCell("date", date=day)
    return read_number(text, mark) or TEXT


def read_number(text: str, mark: Mark) -> ReadCell | None:
    """A number with its unit; None where the text is none. "(12.5)" and "12.50-" are negative; "2-" and "3.5-"
    may be marks at school, and "2019-" and "$5-" a beginning."""
    found = _NUMBER.fullmatch(text.strip())
    if found is None or (value := _value(found["digits"], mark)) is None:
        return None
    before, after = found["before"].strip(), found["after"].strip()
    negative = (before.count("(") == 1 and ")" in after) or before[:1] in ("-", "−", "–") or before[-1:] in ("-", "−")
    if ("(" in before) != (")" in after):
        return None
    if after[:1] in ("-", "−"):
        negative, after = True, after[1:].strip()
        amount = found["digits"].strip()[-3:-2] == mark  # cents
        signed = before[:1] in ("-", "−", "–", "+", "(") or found["after"][:1].isspace()
        if not amount or signed or (after and not _CURRENCY.fullmatch(after)):
            return None  # "5-star"
    before, after = before.strip("()+-−– \u00a0"), after.strip("() \u00a0")
    if before and not _CURRENCY.fullmatch(before):
        return None
    percent = after in ("%", "‰")
    if after and not percent and not _CURRENCY.fullmatch(after) and not _SUFFIX.fullmatch(after):
        return None
    if found["note"] and not (percent or not after):
        return None
    unit = f"{before}#{after}" if before or after else ""
    return ReadCell("number", -value if negative else value, unit)


def _value(digits: str, mark: Mark) -> Decimal | None:
    """None where a separator of thousands stands where none can."""
    bare = re.sub(r"[ \u00a0\u202f']", "", digits)
    other = "," if mark == "." else "."
    whole, _, part = bare.partition(mark)
    if mark in part or other in part:
        return None
    groups = whole.split(other)
    if len(groups) > 1 and (not 0 < len(groups[0]) < 4 or any(len(group) != 3 for group in groups[1:])):
        return None
    return Decimal(f"{''.join(groups) or '0'}.{part or '0'}" if part else "".join(groups))


def decimal_mark(
    texts: Iterable[str], language: str | None, told: Mark | None = None, sure: Mark | None = None
) -> Mark | None:
    """How the cells of a table write decimals. None where they contradict each other, or leave open in a language that knows
    both whether "1.234" are thousands; there `told` is what else says so, in any language `sure`."""
    said, open_for = _signs(texts)
    if len(said) == 1:
        return said.pop()
    if said or len(open_for) > 1:
        return None
    if open_for and sure:
        return sure
    return told if language in _DOTTED and open_for else "."


def told_marks(texts: Iterable[str]) -> set[Mark]:
    """The signs of decimals of which numbers tell by themselves: none of "1.234"."""
    return _signs(texts)[0]


def mark_beside_small(texts: Sequence[str], least: int = 1) -> Mark | None:
    """The sign of decimals in a column of "8.412", "5.203" and "317": a whole number below a thousand without a point, beside
    others that all have three digits behind one, so that points stand between thousands. None where that is not so, or it has
    fewer than `least` digits: with three, nothing else can be meant."""
    said, open_for = _signs(texts)
    whole = [len(text.strip()) for text in texts if text.strip().isdigit()]
    small = bool(whole) and least <= min(whole) and min(whole) <= 3  # bound: tests/unit/test_tables.py
    several = sum("." in text or "," in text for text in texts) > 1  # bound: tests/unit/test_tables.py
    return ("," if open_for == {"."} else ".") if small and several and not said and len(open_for) == 1 else None


def _signs(texts: Iterable[str]) -> tuple[set[Mark], set[str]]:
    """The signs of decimals that are told, and those that may be of decimals or between thousands."""
    said: set[Mark] = set()
    open_for: set[str] = set()
    for text in texts:
        if len(text) > LONGEST_NUMBER or not ("." in text or "," in text) or read_day(text) is not None:
            continue
        found = _NUMBER.fullmatch(text.strip())
        if found is None:
            continue
        told = _mark_of(found["digits"])
        if told is None:
            open_for |= {sign for sign in ".," if sign in found["digits"]}
        else:
            said.add(told)
    return said, open_for


def _mark_of(digits: str) -> Mark | None:
    """Which sign is the decimal one, as far as one number tells."""
    last: Mark = "." if digits.rfind(".") > digits.rfind(",") else ","
    other: Mark = "," if last == "." else "."
    if "." in digits and "," in digits:
        return last
    parts = digits.split(last)
    if len(parts) == 1:
        return None
    if len(parts) > 2:
        return other
    if len(parts[1]) != 3 or parts[0] in ("", "0") or len(parts[0]) > 3:
        return last
    return None


def read_day(text: str, order: DayOrder | None = None) -> datetime.date | None:
    """The day that a cell is; None where it is none, or could be two ("3/4/2019"). Between points the day comes first."""
    days = _days(text)
    if len(days) == 2 and (order or "." in text):
        return days[1] if order == "month" and "." not in text else days[0]
    return days[0] if len(days) == 1 else None


def day_order(texts: Iterable[str]) -> DayOrder | None:
    """What comes first in the dates of a column, as those tell that can be read in one way alone."""
    said: set[DayOrder] = set()
    for text in texts:
        found = _NUMBERED_DAY.fullmatch(text.strip())
        if found and found[1] != found[2] and len(_days(text.strip())) == 1:
            said.add("day" if int(found[1]) > int(found[2]) else "month")
    return said.pop() if len(said) == 1 else None


_NUMBERED_DAY: Final = re.compile(r"(\d\d?)[/-](\d\d?)[/-]\d{4}")


def _days(text: str) -> list[datetime.date]:
    """All that it may be, that with the day before the month first."""
    try:
        if found := _SLASHED.fullmatch(text):
            return [datetime.date(int(found[1]), int(found[2]), int(found[3]))]
        if len(text) < len("1.1.2000"):
            return []
        for span, readings in dates_in(text):
            if span != (0, len(text)):
                return []
            whole = [one for one in readings if one.year and one.month and one.day]
            return [datetime.date(one.year or 0, one.month or 0, one.day or 0) for one in whole]
    except ValueError:
        return []
    return []


def is_year(token: str) -> bool:
    """Whether a word is a year in digits."""
    return bool(_YEAR.fullmatch(token))


# --- names of cells -----------------------------------------------------------------------------------------------------


def tokens_of(text: str) -> list[str]:
    """Folded words and numbers of a cell, a header or a question, so that one can be found in the other: "net_generation" are
    two, "30,000" is one."""
    return _TOKEN.findall(fold(text))


def year_of(header: str) -> str | None:
    """The one year that a header names."""
    years = {token for token in tokens_of(header) if is_year(token)}
    return years.pop() if len(years) == 1 else None


def key_of(text: str, cell: ReadCell) -> str:
    """What a question can call a cell by: its words without a footnote's number, of a date the year; "" where by nothing."""
    if cell.date is not None:
        return str(cell.date.year)
    if cell.kind == "number":
        return text if is_year(text) else ""
    if cell.kind == "nothing" or len(text) > LONGEST_KEY:
        return ""
    text = _FOOTNOTE.sub("", text)
    return sign_of(text) or " ".join(tokens_of(text))


YES_SIGNS: Final = frozenset("✅✓✔☑🗸👍")
NO_SIGNS: Final = frozenset("❌✗✘✖🚫⛔👎")
"""Alone in a cell they say yes and no, in any language; a "×" may say either."""
_CALLED_SIGNS: Final = {
    **dict.fromkeys(("white_check_mark", "heavy_check_mark", "ballot_box_with_check", "+1"), "✅"),
    **dict.fromkeys(("x", "heavy_multiplication_x", "no_entry", "no_entry_sign", "-1"), "❌"),
}
_SIGN: Final = re.compile(r"(?::([a-z0-9_+-]{1,40}):|([^\w\s:]))\ufe0f?[\s¹²³⁰⁴-⁹,;]*")
"""One, as it is or as Markdown calls it, with the numbers of its footnotes behind it."""


def sign_of(text: str) -> str | None:
    """The sign by which a cell says yes or no and nothing else; None of others."""
    found = _SIGN.fullmatch(text)
    if found is None:
        return None
    sign = _CALLED_SIGNS.get(found[1]) if found[1] else found[2]
    return sign if sign in YES_SIGNS or sign in NO_SIGNS else None


def combine_units(units: Sequence[str]) -> str | None:
    """The unit of numbers that may be compared and added; None where they differ. Reports write the currency into the first row
    alone, so a bare number has that of the others."""
    plain = {"".join(unit.split()): unit for unit in units}
    named = [unit for key, unit in plain.items() if key]
    if len(named) > 1:
        return None
    if "" in plain and named and not _CURRENCY.fullmatch(named[0].replace("#", "").strip()):
        return None
    return named[0] if named else ""
