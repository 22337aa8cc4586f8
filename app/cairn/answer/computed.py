"""An answer that was computed over the cells of a table: what came out first, then of which cells. Pure.

Here, too, right or silent: where cells of a column say something that is no number, where units differ, or where the best is
not one alone, there is no answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from itertools import zip_longest
from typing import Any, Final

from cairn.answer.cite import citation
from cairn.answer.quotation import row_as_read
from cairn.answer.shown import as_markdown, surroundings
from cairn.domain.answer import Citation, CitedContext, Draft
from cairn.domain.computation import MOST_LISTED, CellCondition, Computation
from cairn.domain.passage import Passage
from cairn.domain.table import ComputedCells, TableSketch
from cairn.language.cells import combine_units, is_year, plain_cell, read_day, year_of
from cairn.language.lexicon import Replies, any_of, computed_words, replies
from cairn.language.linear import bounded
from cairn.language.title_scale import is_same_currency, scale_in_title, unit_at_end

CONFIDENCE: Final = 0.95  # measured: tests/unit/test_edges_quotation.py
"""Probability that such an answer is right: the lower end of the 95 % interval of what was measured
(docs/adr/0159-what-many-asked-of-tables.md)."""
SHOWN_ONLY: Final = 0.35  # bound: tests/unit/test_table_certainty.py
"""Of a table that is only shown: that it is not sure is all that is known of it."""
SHOWN: Final = 5  # bound: tests/unit/test_edges_quotation.py
"""Cells that an answer names which is not a list."""
MOST_TIED: Final = 3  # bound: tests/db/test_table_cases.py
"""Cells that are named as the highest together; more of them are no answer."""
FEWEST: Final = 2  # measured: tests/unit/test_edges_quotation.py
"""Cells of which something is computed."""
FURTHER: Final = 2  # measured: tests/unit/test_edges_quotation.py
"""Decimals that an average has beside those of its cells."""


@dataclass(frozen=True, slots=True)
class ComputedAnswer:
    """`value`: what came out, as it is said; `rows`: places of the rows that are named, start and end in the document's text;
    `named`: what each is called, with its cell."""

    value: str
    told: str
    rows: tuple[tuple[int, int], ...]
    named: tuple[str, ...]
    listed: bool

    def is_like(self, other: ComputedAnswer) -> bool:
        """Whether both say the same, one perhaps with a name or a cell that the other leaves out: "Aladdin: 640", "640"."""
        if self.listed or other.listed:
            ours, theirs = (dict(zip(found.rows, found.named, strict=False)) for found in (self, other))
            same = self.listed == other.listed and ours.keys() == theirs.keys()
            return same and all(_are_alike(name, theirs[row]) for row, name in ours.items())
        one, two = sorted((self.value, other.value), key=len)
        return self.rows == other.rows and (one == two or two.endswith(f": {one}"))


def _are_alike(name: str, other: str) -> bool:
    """Of one row of a list: with the same cell, or one with its cell and the other without."""
    short, long = sorted((name, other), key=len)
    return long.startswith(f"{short}: ") or name.rpartition(": ")[2] == other.rpartition(": ")[2]


def needed_cells(found: Computation) -> int:
    """How many cells the answer is written from."""
    if found.operation == "top":
        return found.place + 1
    listed = found.operation == "listing" or found.each or found.counts_groups
    return MOST_LISTED if listed else max(SHOWN, found.place + 1)


def _counts_named(found: Computation) -> bool:
    """Whether what is counted is what a column names: "how many commentators were there in 1969"."""
    return found.operation == "count" and bool(found.asked) and not found.grouped


def name_same(one: ComputedCells, other: ComputedCells) -> bool:
    """Whether two computations come to the same name, and each to no other one besides."""
    first, *_ = names = [_name_of_best(cells) for cells in (one, other)]
    return first is not None and len({*names}) == 1


def _name_of_best(cells: ComputedCells) -> str | None:
    best = [one for one in cells.cells or [] if one["number"] == (cells.cells or [one])[0]["number"]]
    names = {one["asked_key"] for one in best}
    return names.pop() if len(names) == 1 else None


def word_computed(found: Computation, cells: ComputedCells, table: TableSketch, language: str) -> ComputedAnswer | None:
    """None where what the database found makes no answer that is sure."""
    if found.operation == "sum" and found.row is None and found.conditions and cells.rows == cells.numbers == 1:
        # "how many fatalities did Air France have", of which there is one row
        found = replace(found, operation="value")
    if found.operation in ("highest", "lowest") and found.asked is not None and found.asked == found.measure:
        found = replace(found, asked=None)  # "when was the latest release": the date is the answer
    if not _is_sound(found, cells, table) or (found.asked is not None and _asks_nothing(found, cells, table)):
        return None
    if found.apart and found.pair is not None and cells.difference is not None and cells.difference < 0:
        found, cells = replace(found, pair=found.pair[::-1]), replace(cells, difference=-cells.difference)
    if found.falls and found.operation == "difference" and cells.difference is not None and cells.difference <= 0:
        found, cells = found.other_way_round, replace(cells, difference=-cells.difference)
    unit = combine_units(cells.units or [])
    if unit is None or (found.operation in ("sum", "growth", "share") and "%" in unit):
        return None
    writer = _Writer(found, cells, table, unit, language)
    return writer.written()


def _asks_nothing(found: Computation, cells: ComputedCells, table: TableSketch) -> bool:
    """Whether the last or the first row says no number in the column of numbers that is asked for."""
    best = (cells.cells or [])[:1] if found.operation in ("highest", "lowest") and not found.grouped else []
    number = found.asked is not None and found.asked < len(table.numeric) and table.numeric[found.asked]
    days = found.measure is not None and table.dated[found.measure]
    return number and days and any(not str(one["asked"] or "").strip(" -–—") for one in best)


def _may_be_shares(cells: ComputedCells) -> bool:
    """Whether numbers without a unit may be shares of one, of which nothing is the sum."""
    below_one = cells.average is not None and abs(cells.average) < 1
    return below_one and bool(cells.decimals) and not any(cells.units or ())


def _is_sound(found: Computation, cells: ComputedCells, table: TableSketch) -> bool:
    """Whether all cells are what the computation takes them for."""
    operation = found.operation
    if found.stated not in (None, cells.rows, cells.kept if operation == "listing" else None):
        return False  # "the four Baltic countries", and there are three
    if found.directed and (cells.difference is None or cells.difference < 0):
        return False  # "how much cheaper is A than B", and it is dearer
    if operation == "value" and not cells.rows == cells.numbers == 1:
        return False  # the number of one row, and of no other one
    fewest = 1 if operation == "value" else FEWEST
    if found.row is not None:
        if operation in ("difference", "growth", "sum", "average", "count") and cells.numbers < cells.rows:
            return False
        if operation == "growth" and not _can_grow(cells):
            return False
        return cells.numbers >= fewest and _value(found, cells) is not None
    if cells.unread or cells.unbound or cells.doubtful or combine_units(cells.compared_units or []) is None:
        return False
    if cells.counted > 1 and (operation not in ("count", "listing") or found.comparison is not None):
        return False  # metres and boxes
    if found.minus is not None and (cells.numbers < cells.rows or (found.relative and "%" in str(cells.units))):
        return False
    if found.comparison == "equal" and cells.numbers < cells.rows:
        return False  # "no beer": an empty cell or a dash may be none, or not known
    if found.each or found.counts_groups:
        return _is_sound_by_group(found, cells)
    if found.grouped:
        complete = found.measure is None or found.averaged or cells.numbers == cells.rows
        return complete and cells.asked >= FEWEST and _value(found, cells) is not None
    if operation in ("count", "listing"):
        if found.asked is not None and cells.asked != cells.rows:
            return False  # "how many regions", and a region has several rows
        if operation == "count" and _may_count_others(found, cells):
            return False
        return cells.rows > 0 and (operation == "count" or 0 < cells.kept <= MOST_LISTED)
    if operation == "sum" and _may_be_shares(cells):
        return False
    if found.shares_rows:
        return cells.rows >= FEWEST and cells.share is not None and bool(cells.part)
    if operation in ("difference", "growth"):
        sound = cells.rows == cells.numbers == 2 == cells.asked and _value(found, cells) is not None
        return sound and (operation == "difference" or _can_grow(cells))
    if operation == "share" and found.pair is not None:
        known = cells.ordered or []
        sound = cells.rows == 2 and len(known) == 2 and None not in known and 0 <= known[0] <= known[1] != 0  # type: ignore[operator]
        return sound and cells.addends is not None and cells.addends <= known[1]  # type: ignore[operator]
    if operation == "share":
        known = cells.ordered or []
        return (
            cells.numbers >= FEWEST and cells.share is not None and all(one is not None and one >= 0 for one in known)
        )
    days = found.measure is not None and table.dated[found.measure]  # the last day of a region is that of its last row
    if found.asked is not None and cells.asked != cells.rows and not (found.one_row or days):
        return False  # "which region", and a region has several rows
    return cells.numbers >= fewest and _value(found, cells) is not None


def _may_count_others(found: Computation, cells: ComputedCells) -> bool:
    """Whether another number may be meant than that of the rows: one that a cell says, or of what a cell names several."""
    if found.written and cells.kept == 1 and found.comparison is None and not found.within:
        return True  # "the number of the player from Ohio"
    if not _counts_named(found):
        return False
    named = [str(one["asked"] or "") for one in cells.cells or []]
    said = bool(named) and all(map(_BEGINS_WITH_NUMBER.match, named))  # "how many viewers", of cells "6.5 million"
    return said or (cells.kept == 1 and any(map(_names_several, named)))


def _is_sound_by_group(found: Computation, cells: ComputedCells) -> bool:
    """Whether all groups are named, so at most MOST_LISTED, and each is of rows that have one thing in the cell, not several."""
    named = [str(one["asked"]) for one in cells.cells or []]
    several = any(map(_names_several, named))
    limited = found.counts_groups and (found.conditions or found.within)
    if cells.groups < (1 if limited else FEWEST) or several or len(named) < cells.groups:
        return False
    if found.one_row and cells.groups < cells.rows:
        return False  # the salaries of a department
    return (found.operation != "sum" and not found.ranked) or (
        cells.numbers == cells.rows and not _may_be_shares(cells)
    )


_GROUPED: Final = re.compile(r"\d([.,'’ \u00a0\u202f])\d{3}(?!\d)")
_BEGINS_WITH_NUMBER: Final = re.compile(r"\A\W{0,3}\d")


def _names_several(name: str) -> bool:
    return _SEVERAL.search(name) is not None


_SEVERAL: Final = re.compile(rf"[/,;|]|\s{any_of(lambda one: one.numbers.joins)}\s", re.IGNORECASE)


def _can_grow(cells: ComputedCells) -> bool:
    """A percentage says something of two numbers with the same sign alone."""
    return all(one is not None and one > 0 for one in cells.ordered or ()) or all(
        one is not None and one < 0 for one in cells.ordered or ()
    )


def _value(found: Computation, cells: ComputedCells) -> Decimal | None:
    """The number that came out; of a rank None where another has the same."""
    match found.operation:
        case "sum" | "value":
            return cells.sum
        case "average":
            return cells.average
        case "difference":
            return cells.difference
        case "growth":
            return cells.growth
        case "share" if found.pair is not None:
            part, whole = cells.ordered or (None, None)
            return 100 * part / whole if part is not None and whole else None
        case "share":
            return cells.share
        case "count":
            return Decimal(cells.groups if found.counts_groups else cells.kept)
    numbers = [Decimal(str(one["number"])) for one in cells.cells or [] if one["number"] is not None]
    place = found.place if found.operation in ("rank", "top") else 1
    if len(numbers) < (1 if found.minus is not None and cells.numbers >= FEWEST else max(place, FEWEST)):
        return None  # of changes one may be the only one in its direction
    if found.operation == "top":
        return None if numbers[place - 1] in numbers[place : place + 1] else numbers[place - 1]
    tied = sum(one == numbers[0] for one in numbers)
    if found.operation in ("highest", "lowest") and 1 < tied <= MOST_TIED and tied < len(numbers):
        return numbers[0]
    near = numbers[max(place - 2, 0) : place - 1] + numbers[place : place + 1]
    if numbers[place - 1] in near:
        return (
            None
            if found.operation == "rank" or found.asked is not None or found.row is not None
            else numbers[place - 1]
        )
    return numbers[place - 1]


class _Writer:
    def __init__(self, found: Computation, cells: ComputedCells, table: TableSketch, unit: str, language: str) -> None:
        self.found = found
        self.cells = cells
        self.table = table
        self.header = [*map(row_as_read, table.header)]
        self.unit = unit
        self.words = computed_words(language)
        self.note = unit_note(found, table)
        self.language = language
        self.quotes = replies(language).quotes

    def _further(self) -> int:
        """Cells that went into it and are not named."""
        if self.found.operation not in ("sum", "average", "count") or self.found.row is not None or self.found.grouped:
            return 0
        return (self.cells.kept if self.found.measure is None else self.cells.kept_numbers) - len(self._shown())

    def written(self) -> ComputedAnswer | None:
        value = _value(self.found, self.cells)
        named = [self._name(one) for one in self._shown()]
        if self.found.operation == "value":  # what is told says which one
            named = [self.header[self.found.columns[0]]] if self.found.columns else []
        if self.found.row is not None:
            rows: tuple[tuple[int, int], ...] = ((self.cells.char_start, self.cells.char_end),)
        else:
            rows = tuple((one["char_start"], one["char_end"]) for one in self._shown())
        if (further := self._further()) > 0:
            named.append(replies(self.language).more.format(n=further))
        if self.found.operation in ("listing", "top") or self.found.each:
            return ComputedAnswer("", self._told(), rows, tuple(named), True)
        assert value is not None
        return ComputedAnswer(self._said(value), self._told(), rows, tuple(named), False)

    def _shown(self) -> Sequence[Mapping[str, Any]]:
        cells = self.cells.cells or []
        if self.found.operation == "top":
            return cells[: self.found.place]
        if self.found.operation == "listing" or self.found.each or self.found.counts_groups:
            return cells
        if self.found.operation == "rank":
            return cells[self.found.place - 1 :][:1]
        return cells[:SHOWN]

    def _said(self, value: Decimal) -> str:
        found = self.found
        if found.operation == "growth" and found.falls:
            return self._moved(value, f"{self._number(abs(value), 2)} %")
        if found.operation in ("growth", "share"):
            return f"{self._number(value, 2)} %"
        if found.operation == "count":
            return str(value)
        if found.operation in ("highest", "lowest", "rank"):
            best = self._shown()[0]
            said = self._cell(best) if self.found.relative else self._with_note(self._cell(best))
            tied = [one for one in self._shown() if one["number"] == best["number"]]
            ordered = found.operation in ("highest", "lowest")
            asked = ", ".join(dict.fromkeys(map(self._asked_amount, tied if ordered else [best])))
            return f"{asked}: {said}" if asked else said
        if found.operation == "value":
            written = self._cell(self._shown()[0])
            signed = any(sign and sign in written for sign in self.unit.split("#"))
            return self._with_note(written if signed else self._in_unit(written))
        decimals = self.cells.decimals or 0
        if found.operation == "average":
            return self._with_note(self._in_unit(self._number(value, decimals + FURTHER, least=decimals)))
        amount = self._with_note(self._in_unit(self._number(value, decimals)))
        return self._moved(value, amount) if found.falls else amount

    def _moved(self, value: Decimal, amount: str) -> str:
        """By how much it rose or fell, where it was asked how far it fell."""
        return amount if not value else self.words["rose" if value > 0 else "fell"].format(amount=amount)

    def _asked(self, cell: Mapping[str, Any]) -> str:
        if self.found.row is not None:
            headers = [self.header[at] for at in self.found.columns]
            header, years = self.header[cell["position"]], [*map(year_of, headers)]
            return (year_of(header) if len({*years}) == len(years) else None) or header.split(" / ")[0]
        return row_as_read(str(cell["asked"] or "")) if self.found.asked is not None else ""

    def _asked_amount(self, cell: Mapping[str, Any]) -> str:
        """Of what is asked of the latest row the number with what its header says that it is counted in."""
        at, asked = self.found.asked, self._asked(cell)
        if at is None or self.found.row is not None or not self.table.numeric[at] or not asked[:1].isdigit():
            return asked
        note = _note_of(self.table.header[at])
        return self._noted(asked, note) if note else asked

    def _name(self, cell: Mapping[str, Any]) -> str:
        """A cell with what it is called."""
        if self.found.row is not None:
            return f"{self._asked(cell)}: {row_as_read(cell['text'] or '')}"
        fixed = any(one.position == 0 and len(one.keys) == 1 for one in self.found.conditions)
        parts = [] if fixed and cell["asked"] not in (None, "", cell["label"]) else [cell["label"]]
        if cell["asked"] and cell["asked"] not in (cell["label"], cell["text"]):
            parts.append(cell["asked"])
        name = ", ".join(map(row_as_read, filter(None, parts)))
        if self.found.operation == "listing" and self.found.asked and parts == [cell["asked"]]:
            name = f"{self.header[self.found.asked]}: {name}"  # "✅" alone says nothing
        if cell["text"] is None and not self.found.grouped:
            return name
        other = (
            f" ({self.header[self.found.other]}: {row_as_read(cell['other_text'] or '')})"
            if self.found.other is not None and self.found.minus is None
            else ""
        )
        return f"{name}: {self._cell(cell)}{other}"

    def _cell(self, cell: Mapping[str, Any]) -> str:
        """As it is written, or came out for several rows; a change with the two cells that it is of."""
        if self.found.grouped:
            decimals = self.cells.decimals or 0
            most = decimals + FURTHER if self.found.averaged else decimals
            written = self._number(Decimal(str(cell["number"])), most, least=decimals)
            if self.found.measure is None:
                return written
            return self._with_note(self._in_unit(written)) if self.found.each else self._in_unit(written)
        if self.found.minus is None or self.found.row is not None:
            return row_as_read(str(cell["text"]))
        number = Decimal(str(cell["number"]))
        both = f"({row_as_read(cell['minus_text'] or '')} → {row_as_read(cell['text'] or '')})"
        if self.found.relative:
            return f"{self._number(number, 2)} % {both}"
        return f"{self._in_unit(self._number(number, self.cells.decimals or 0))} {both}"

    def _told(self) -> str:
        found, cells, words = self.found, self.cells, self.words
        target = found.target if found.operation == "share" and found.pair is None else None
        names = found.pair or (target.texts[0] if target else "", "")
        if (
            found.pair is None
            and found.row is not None
            and found.operation in ("difference", "growth")
            and found.columns
        ):
            names = (self.header[found.columns[0]], self.header[found.columns[-1]])
        first, second = map(row_as_read, names)
        part = found.operation == "share" and found.pair
        days = found.measure is not None and self.table.dated[found.measure] and not found.grouped
        dated = {"highest": "latest", "lowest": "earliest"}.get(found.operation) if days else None
        name = dated or self._grouped() or ("rows" if found.shares_rows else "part" if part else found.operation)
        said = words[name].format(
            n=self._went_in(), measure=self._measure(),
            place=cells.groups if found.ranked else found.place,
            first=first, second=second, count=cells.kept, group=self._group(),
        )  # fmt: skip
        if conditions := self._conditions():
            said += " " + words["where"].format(condition=conditions)
        notes = []
        if found.row is None and (left := cells.lines - cells.rows) and found.operation not in ("difference", "growth"):
            notes.append(words["totals"].format(n=left))
        if found.counts_groups and cells.groups != cells.rows:
            notes.append(words["count"].format(n=cells.rows))
        empty = cells.rows - cells.numbers if found.measure is not None or found.row is not None else 0
        if empty:
            notes.append(words["empty"].format(n=empty))
        return f"{said} ({'; '.join(notes)})" if notes else said

    def _went_in(self) -> int:
        """How many rows or numbers what came out is of; a list is some of all rows."""
        found, cells = self.found, self.cells
        if found.shares_rows:
            return cells.rows
        if found.each:
            return sum(one["size"] for one in self._shown())
        if found.grouped and found.measure is None:
            return cells.groups if found.counts_groups else cells.kept
        if found.operation in ("count", "listing"):
            return cells.kept if found.operation == "count" else cells.all_rows
        return cells.numbers if found.row is not None else cells.kept_numbers

    def _measure(self) -> str:
        found = self.found
        if found.row is not None:
            return self.quotes.format(row_as_read(found.label))
        return self.quotes.format(self.header[found.measure]) if found.measure is not None else ""

    def _grouped(self) -> str:
        """How it is told that rows are taken together; "": each is one alone."""
        found = self.found
        one_by_one = found.measure is not None and self.cells.asked == self.cells.rows
        if found.ranked and one_by_one:
            return "top"
        if not found.grouped or (one_by_one and not found.each):
            return ""
        if found.pair is not None:
            return "rows_difference" if found.measure is None else ""
        if found.counts_groups:
            return "groups_counted"
        return "groups" if found.measure is None else "groups_average" if found.averaged else "groups_sum"

    def _group(self) -> str:
        asked = self.found.asked
        return self.quotes.format(self.header[asked]) if self.found.grouped and asked is not None else ""

    def _conditions(self) -> str:
        found, told = self.found, []
        for one in found.conditions:
            part = found.operation == "share" and one is found.target
            if not part and (found.pair is None or len(one.keys) == 1):
                told.append(self._condition(one))
        told += [f"{self.header[one.position]} {one.said}" for one in found.within]
        if found.comparison is not None:
            sign = {"more": ">", "less": "<", "at_least": "≥", "at_most": "≤", "equal": "="}[found.comparison]
            bound = (
                self.header[found.other]
                if found.other is not None
                else self._number(found.bound or Decimal(), 6, least=0)
            )
            column = found.measure if found.compared is None else found.compared
            measure = self.header[column] if column is not None else row_as_read(found.label)
            of_row = f" ({row_as_read(found.bound_row.texts[0])})" if found.bound_row is not None else ""
            told.append(f"{measure} {sign} {bound}{of_row}")
        return "; ".join(told)

    def _condition(self, one: CellCondition) -> str:
        """Which cells are meant, by what they say; dates, which are called by their year, by that."""
        header = self.header[one.position]
        days = self.table.dated[one.position] or any(read_day(plain_cell(text)) for text in one.texts)
        if days and all(map(is_year, one.keys)):
            return self.words["in_year"].format(header=header, year=_years(one.keys))
        said = ", ".join(map(row_as_read, one.texts))
        return f"{header}: {said}" if header else self.quotes.format(said)

    def _number(self, value: Decimal, decimals: int, *, least: int | None = None) -> str:
        """As the table writes numbers: with at most so many decimals, of which those beyond `least` are not zeros."""
        rounded = value.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
        sign, digits = ("-" if rounded < 0 else ""), f"{abs(rounded):f}"
        whole, _, part = digits.partition(".")
        while part and part.endswith("0") and len(part) > (decimals if least is None else least):
            part = part[:-1]
        mark = self.table.mark or "."
        if self.cells.grouped:
            whole = f"{int(whole):,}".replace(",", self._thousands(mark))
        return f"{sign}{whole}{mark}{part}" if part else f"{sign}{whole}"

    def _thousands(self, mark: str) -> str:
        """What stands between thousands, as the cells say that are named; else what is usual beside such a mark."""
        texts = (str(one["text"] or "") for one in self.cells.cells or [])
        found = next(filter(None, map(_GROUPED.search, texts)), None)
        return found[1] if found and found[1] != mark else "." if mark == "," else ","

    def _in_unit(self, number: str) -> str:
        before, _, after = self.unit.partition("#")
        sign = "-" if number.startswith("-") else ""
        gap = " " if after and after not in ("%", "‰") else ""
        return f"{sign}{before}{number.removeprefix('-')}{gap}{after}" if self.unit else number

    def _with_note(self, value: str) -> str:
        note = self.note.strip(" ()")
        if not note or note in value or is_same_currency(note, self.unit):
            return value
        return self._noted(value, self.note, bare=not self.unit)

    def _noted(self, value: str, said: str, *, bare: bool = True) -> str:
        note = said.strip(" ()")
        if note in _SIGNS_BEFORE and value[:1].isdigit() and bare:
            return f"{note}{value}"
        return f"{value} {said}" if _PLAIN.fullmatch(said) else f"{value} ({said})"


def _years(keys: Sequence[str]) -> str:
    """In their order: "2024, 2026"; of more than two that follow one another the first and the last."""
    years = sorted(map(int, keys))
    follow = years[-1] - years[0] == len(years) - 1 > 1
    return f"{years[0]}–{years[-1]}" if follow else ", ".join(map(str, years))


_NOTE: Final = bounded(r"[(\[]([^()\[\]]{1,60})[)\]]")
_COUNTED_IN: Final = re.compile(
    r"[$€£¥%]|\b(?:[TK]?EUR|T?USD|GBP|CHF|JPY|millions?|billions?|thousands?|bn|mn|Mio|Mrd|Millionen|Milliarden|Tausend|"
    r"milliers|millones|miles|milioni|migliaia|kg|km|[kMG]Wh?|Mt|t|h|pcs)\b|[’'‘]000\b",
    re.IGNORECASE,
)
"""Currencies, scales and units, as headers write them."""
_SIGNS_BEFORE: Final = frozenset("$£¥")
"""Signs of currencies that are written before an amount."""
LONGEST_NOTE: Final = 60  # bound: tests/unit/test_edges_quotation.py
_PLAIN: Final = re.compile(r"[^\W\d_]{1,5}|%|[A-Z]{3} (?:[a-z]{1,2}|M|Mio\.?|Mrd\.?)")
"""What stands behind a number as it is: "kg", "EUR k"; what does not stands in brackets: "in thousands"."""


def unit_note(found: Computation, table: TableSketch) -> str:
    """What header, corner or title say that the numbers are counted in; "" where they say nothing."""
    if found.operation == "count" or (found.grouped and found.measure is None):
        return ""
    headers = [table.header[at] for at in (found.columns or (found.measure,)) if at is not None]
    notes = {_note_of(header) for header in headers}
    if len(notes) == 1 and (note := notes.pop()):
        return note
    corner = table.header[0]
    if found.row is not None and len(corner) <= LONGEST_NOTE and _COUNTED_IN.search(corner):
        return _note_of(corner) or corner
    in_title = _NOTE.search(table.title)
    if in_title and _COUNTED_IN.search(in_title[1]):
        return in_title[1]
    said = {scale_in_title(table.title, header) for header in headers}
    return said.pop() if len(said) == 1 else ""


def _note_of(header: str) -> str:
    """Of a column: what stands in brackets, at the end of a header that is one word, or in a line of its own."""
    if at_end := unit_at_end(header):
        return at_end
    for part in reversed(header.split(" / ")):
        bracketed = _NOTE.search(part)
        if bracketed and _COUNTED_IN.search(bracketed[1]):
            return bracketed[1]
        # measured: tests/unit/test_edges_quotation.py
        if " / " in header and len(part.split()) < 3 and _COUNTED_IN.search(part):
            return part
    return ""


def computed_draft(
    written: ComputedAnswer, passages: Mapping[int, Passage], language: str, confidence: float = CONFIDENCE
) -> Draft:
    """`passages`: of each place where a row begins the passage that holds it."""
    say = replies(language)
    cited: list[Citation] = []
    marks: list[str] = []
    for start, end in written.rows:
        passage = passages.get(start)
        if passage is None:
            marks.append("")
            continue
        span = (start - passage.start, min(end, passage.end) - passage.start)
        cited.append(citation(len(cited) + 1, passage, span))
        marks.append(f" [{len(cited)}]")
    return Draft(_text(written, marks, say), tuple(cited), True, confidence)


def table_draft(passage: Passage, start: int, end: int, language: str) -> Draft:
    """The table of a passage, of which a row stands at `start` to `end` of its document: shown as it is, where it is not certain
    what to compute of it."""
    row = (start - passage.start, min(end, passage.end) - passage.start)
    around = surroundings(passage.content, row, row=True)
    cited = citation(1, passage, row)
    first, last = (passage.start + place for place in around.span)
    shown = as_markdown(around)
    cited = replace(cited, context=CitedContext(shown, min(first, start), max(last, cited.end)))
    return Draft(f"{replies(language).uncomputed} [1]\n\n{shown}", (cited,), True, SHOWN_ONLY)


def _text(written: ComputedAnswer, marks: Sequence[str], say: Replies) -> str:
    if written.listed:
        lines = [f"- {name}{mark}" for name, mark in zip(written.named, marks, strict=True)]
        return "\n".join([f"{written.told}:", *lines])
    if len(marks) == 1 < len(written.named):  # all of one row
        return f"{written.value}{marks[0]}\n\n{written.told}: {'; '.join(written.named)}."
    first = marks[0] if marks else ""
    if not written.named:
        return f"{written.value}{first}\n\n{written.told}."
    named = "; ".join(f"{name}{mark}" for name, mark in zip_longest(written.named, marks, fillvalue=""))
    return f"{written.value}{first}\n\n{written.told}: {named}."
