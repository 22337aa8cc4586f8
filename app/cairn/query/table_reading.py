"""A question laid over a table: what its words may be there, which of them are accounted for, and what was read so far. Pure.

Each of the other files reads something off it: table_limits.py and table_conditions.py which rows are meant, table_operation.py
what is to be computed, table_measure.py over which column, table_asked.py what of a row is the answer, table_explained.py whether
any word is left over. table_question.py asks them.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from string import digits
from typing import Final

from cairn.domain.computation import CellCondition, CellInterval, Comparison, Operation
from cairn.domain.table import NamedCells, TableSketch
from cairn.language.cells import is_year, read_number, tokens_of, year_of
from cairn.query.table_time import SIDES, Period, is_of_date, periods_in
from cairn.query.table_words import (
    ALL_OF,
    BESIDE,
    BY,
    CHANGES,
    DISTINCT,
    EACH,
    FALLING,
    HIGHER,
    LOWER,
    NEGATIONS,
    ONE_OF,
    PEOPLE,
    RISING,
    SOURCES,
    SPELLED,
    THAN,
    TIMES,
    TOTALS,
    UNITS,
    WINNING,
    ComputedQuestion,
    WordSpan,
    compares,
    header_words,
    is_kin_of,
    kinds_named,
    may_mean,
    may_name,
    spans_of,
    year_range,
)

MOST_CONDITIONS: Final = 3  # bound: tests/unit/test_table_question.py
"""Columns that may have conditions: as many as sql/queries/tables.sql takes."""
MOST_INTERVALS: Final = 2  # bound: tests/unit/test_table_question.py
"""Columns whose numbers may be limited besides: as many as sql/queries/tables.sql takes."""


class Unsure(Exception):
    """What the question asks of the table may be two things, or nothing: there is no computation."""


def initials_of(name: str) -> str:
    """By which a name of several words is called, too: "NJ"."""
    words = tokens_of(name)
    # measured: tests/unit/test_table_question.py
    return "".join(word[0] for word in words) if 1 < len(words) < 6 and all(map(str.isalpha, words)) else ""


def how_many(token: str) -> Decimal | None:
    """What a word says as a small number: "three" or "3"."""
    if token.isdigit() and len(token) == 1:  # bound: tests/unit/test_table_question.py
        return Decimal(token)
    return Decimal(SPELLED[token]) if token in SPELLED else None


class TableReading:
    """A question laid over a table. `spans`: what its words are called there, without those of `periods`; `explained`: places of
    words that are accounted for; `around`: words by which the table or its rows may be called; `range`: two years that stand for
    those between. What is read is called as in `Computation`, and besides:

    kinds       words that are the name of several cells in another number, and must be read as such
    implied     the column that an adjective or a change names: the measure
    judged      more has to be better: "best"
    by_days     the first or the last row is asked for, and its date is not named: "the latest release"
    more, less  what an adjective says of the first of two: "how much cheaper is A than B"
    falls       it asks how far a number fell, or rose; None: neither
    directed    the question says that the first is less, or by an adjective that it is more: "-5 more" is plain
    apart       how far two are apart is asked for, whichever is more: "the difference between A and B"
    spent       headers that a comparison or a change of columns has taken up
    counted     columns that are counted in what stands behind the number of a comparison; none where that says nothing
    beside      the words of the header beside that number
    summed      of sums the highest is asked for: "the highest total"
    averaged    of averages the highest is asked for: "the highest average"
    distinct    different values are counted: "how many different islands"
    calls_rows  the first column says what each row is, by a name or a number
    missing     rows that have nothing in a column: "not returned"
    group_said  the question has the labels under which the row stands: "includes stock-based compensation of"
    """

    def __init__(self, question: ComputedQuestion, table: TableSketch, named: Sequence[NamedCells]) -> None:
        self.tokens = question.tokens
        self.signed = question.signed
        self.acronyms = question.acronyms
        self.stop_words = question.stop_words
        self.kinds = kinds_named(question, table, named)
        self.table = table
        spans = spans_of(question, table, named)
        self.periods = [
            one for one in periods_in(question.tokens)
            if not self._names_period(one, spans) and (any(table.dated) or not one.is_edge)
        ]  # fmt: skip
        dates = {at for one in self.periods for at in range(one.start, one.end)}
        self.spans = [span for span in spans if dates.isdisjoint(range(span.start, span.end))]
        self.explained: set[int] = {at for span in self.spans for at in range(span.start, span.end)}
        dated = {at: header_words(header) for at, header in enumerate(table.header) if table.dated[at]}
        for span in self.spans:
            if {"latest", "earliest"} & {*span.phrases}:
                said = {at for at, words in dated.items() if words.issuperset(self.tokens[span.start : span.end])}
                if said:  # "last delivered", of a column "Last delivery"
                    span.phrases, span.headers = (), frozenset(said)
            if span.cells and span.end - span.start == 1 and self.tokens[span.start] in PEOPLE:
                span.cells = ()  # who is counted, not a department "People"
        names = (table.title, *table.headings, table.document_title, table.external_id, *table.header[:1])
        words = {word for text in names for word in tokens_of(text)}
        words |= {word.rstrip(digits) for word in words if not word.isdigit()}  # "cars93"
        self.around = words | {*map(initials_of, names), *table.shared}
        self._read_totals()
        self._read_flags()
        self._read_shares()
        for span in self.phrases("listing"):
            if any(one.end == span.start for one in self.phrases("listing")):
                self.spans.remove(span)  # "which show"
                self.explained -= {*range(span.start, span.end)}
        for span in self.phrases("count"):
            while span.end < len(self.tokens) and self.tokens[span.end] in DISTINCT and span.end not in self.explained:
                self.explained.add(span.end)
                span.end += 1
            if self.tokens[span.end : span.end + 1] and self.tokens[span.end] in TIMES:
                self.spans = [one for one in self.spans if one.start != span.end]
                self.explained.add(span.end)
                span.end += 1
        self.comparison: Comparison | None = None
        self.bound: Decimal | None = None
        self.bound_row: CellCondition | None = None
        self.other: int | None = None
        self.compared: int | None = None
        self.missing: CellCondition | None = None
        self.within: tuple[CellInterval, ...] = ()
        self.implied: int | None = None
        self.minus: int | None = None
        self.relative = False
        self.more = self.less = self.directed = self.apart = False
        self.falls: bool | None = None
        self.place = 1
        self.turned = self.summed = self.averaged = False
        self.distinct = any(self.tokens[one.end - 1] in DISTINCT for one in self.phrases("count"))
        self.stated: int | None = None
        self.support = 0
        self.judged = self.by_days = False
        self.spent: Sequence[WordSpan] = ()
        self.counted: frozenset[int] = frozenset()
        self.beside: Sequence[WordSpan] = ()
        self.group_said = False
        self.calls_rows = not table.numeric[0] or table.numbered
        self.range = year_range(question.tokens)
        for span in self.spans:
            behind = self.tokens[span.end : span.end + 1]
            if (
                behind
                and behind[0] in SOURCES
                and span.headers
                and self.around.issuperset(self.tokens[span.start : span.end])
            ):
                span.headers = frozenset()  # "in the turnout data", with a column "Turnout"

    def _names_period(self, period: Period, spans: Sequence[WordSpan]) -> bool:
        """Whether it is called by names of columns or cells: "in March 2025", where a column or a row is of that month. Of two
        dates these are compared, and not what is between: "the difference between March 2025 and May 2025"."""
        sides = not SIDES.isdisjoint(self.tokens) if period.is_unread() else period.said[0] in "<>≥≤"
        computed = {span.phrases[0] for span in spans if span.phrases and not span.named}
        if sides or (period.is_between and not computed & {"difference", "growth"}):
            return False
        called = {
            at for span in spans
            if span.headers or any(not self.table.dated[one.position] for one in span.cells)
            for at in range(span.start, span.end)
        }  # fmt: skip
        dates = [at for at in range(period.start, period.end) if is_of_date(self.tokens[at])]
        return called.issuperset(dates)

    def _read_totals(self) -> None:
        """ "Total sales in the East": the sum of a column that is named, and not the column of totals beside it."""
        for span in self.spans:
            total = "sum" in span.phrases and all(
                TOTALS.issuperset(tokens_of(self.table.header[at])) for at in span.headers
            ) and all(one.total for one in span.cells)  # fmt: skip
            named = span.headers or len(span.cells) == 1
            if total and named and any(one is not span and self._is_value(one) for one in self.spans):
                span.headers, span.cells = frozenset(), ()

    def _read_flags(self) -> None:
        """ "How many smokers": of a column that says yes or no those rows that say yes; not "by smoker", and not "no smokers"."""
        computed = {span.phrases[0] for span in self.spans if span.phrases and not span.named}
        if not NEGATIONS.isdisjoint(self.tokens) or computed & {"none", "highest", "lowest"}:
            return
        for span in self.spans:
            at = next(iter(span.headers)) if len(span.headers) == 1 and not span.cells else 0
            flag = self.table.flags[at] if at < len(self.table.flags) else None
            if flag is None:
                continue
            listed = any(self.span_after(one.end) is span for one in self.phrases("listing"))  # "which status"
            if listed or self.behind_each(span) is not None:
                continue
            words = header_words(self.table.header[at]) - self.stop_words
            said = self.tokens[span.start : span.end]
            if words and all(any(may_mean(token, word) for token in said) for word in words):
                yes = NamedCells(at, flag, flag, group="", text=flag, cells=2, row=1, total=False)
                span.headers, span.cells = frozenset(), (yes,)

    def _read_shares(self) -> None:
        """ "The largest share of the TV audience", of a column "TV audience share": a word of its header, and no computation."""
        for span in self.phrases("share"):
            said = self.tokens[span.start : span.end]
            named = {at for one in self.spans if len(one.headers) == 1 and not one.cells for at in one.headers}
            having = {
                at for at in named if self.table.numeric[at] and header_words(self.table.header[at]).issuperset(said)
            }
            others = {at for at, header in enumerate(self.table.header) if header_words(header).issuperset(said)}
            if len(having) == 1 and (having == others or self.says_header(*having)):
                span.headers, span.phrases = frozenset(having), ()

    def says_header(self, at: int) -> bool:
        """Whether the question has all words of a header, numbers apart."""
        words = header_words(self.table.header[at])
        return all(word.isdigit() or any(may_mean(token, word) for token in self.tokens) for word in words)

    def behind_each(self, span: WordSpan) -> int | None:
        """The place of "each" or "per" before the name of a column, where nothing but stop words stands between; also of "by",
        which says the same."""
        at = span.start - 1
        if (
            at >= 0
            and at not in self.explained
            and self.tokens[at] not in EACH | BY
            and self.is_around(self.tokens[at])
        ):
            at -= 1  # "each support agent"
        while at >= 0 and self.tokens[at] in self.stop_words - EACH - BY:
            at -= 1
        between = self.tokens[at + 1 : span.start]
        whole = self.tokens[at] in BY and not (ALL_OF | ONE_OF).isdisjoint(between)  # "by all drivers", "by a driver"
        return at if at >= 0 and at not in self.explained and self.tokens[at] in EACH | BY and not whole else None

    def _is_value(self, span: WordSpan) -> bool:
        """Whether it names a column of numbers, and not by its year alone."""
        return bool(span.headers) and not span.cells and self.is_number(span) and not self.is_year_name(span)

    # --- what words are ---

    def phrases(self, *names: str) -> list[WordSpan]:
        """Those of a computation that no column or cell is called by."""
        return [span for span in self.spans if not span.named and span.phrases and span.phrases[0] in names]

    def number_after(self, at: int) -> tuple[Decimal, int] | None:
        """A number that stands at a place, and where it ends; stop words and units may stand before it."""
        while at < len(self.tokens) and self.tokens[at] in self.stop_words | UNITS and self.tokens[at] not in SPELLED:
            at += 1
        if at >= len(self.tokens):
            return None
        token = self.tokens[at]
        if token in SPELLED:
            self.explained.add(at)
            return Decimal(SPELLED[token]), at + 1
        if not token[0].isdigit():
            return None
        cell = read_number(token, "," if self.table.mark == "," else ".")
        if cell is None or cell.number is None or cell.unit:
            return None
        self.explained.add(at)
        return cell.number, at + 1

    def heads(self) -> list[WordSpan]:
        """Names of columns of values; of a year also where a date has it, too."""
        return [span for span in self.spans if span.headers - {0} and (not span.cells or self.is_year_name(span))]

    def spend(self, heads: Sequence[WordSpan]) -> None:
        """They name nothing besides."""
        self.spent = heads
        for span in heads:
            span.cells = ()

    def is_year_name(self, span: WordSpan) -> bool:
        return span.end - span.start == 1 and is_year(self.tokens[span.start])

    def takes_second(self, one: WordSpan, other: WordSpan, operation: Operation, *, earlier: bool | None) -> bool:
        """Whether of two, in the order of the question, the second is taken from the first: "how much more is A than B" is A less
        B, and "how much less" is B less A; else of years the earlier one is taken from the other, and of what changes the first
        ("how much did it rise from A to B"), but not of "the difference between A and B". `earlier`: whether the first is of the
        earlier year; None if neither has one. Raises Unsure."""
        told = {at for span in self.phrases(operation) for at in range(span.start, span.end)}
        if self.bound is None:  # "less than" is no comparison with a number
            told |= {at for span in self.phrases("more", "less") for at in range(span.start, span.end)}
        if self.falls is not None and earlier is not None:
            self.directed = not self.falls
            return not earlier
        words = {token for at, token in enumerate(self.tokens) if at in told or at not in self.explained}
        less = self.less or not LOWER.isdisjoint(words)
        compared = less or self.more or not HIGHER.isdisjoint(words)
        if compared and not THAN.isdisjoint(self.tokens[one.end : other.start]):
            self.directed = operation == "difference" and (less or self.more)
            return not less or operation == "growth"
        if less:
            raise Unsure  # "how much less in March, compared to May"
        self.apart = operation == "difference" and earlier is None and CHANGES.isdisjoint(words)
        return CHANGES.isdisjoint(words) if earlier is None else not earlier

    def asks_for_fall(self, operation: Operation) -> bool:
        """ "How much did costs fall": a fall of 27.5 is told so, and not as -27.5; a rise is no fall."""
        said = {at for span in self.phrases(operation, "difference", "growth") for at in range(span.start, span.end)}
        words = {self.tokens[at] for at in said} - WINNING
        falls = self.falls if self.falls is not None else bool(words & FALLING) and words.isdisjoint(RISING)
        return falls and not (self.directed or self.apart)

    # --- what stands beside what ---

    def after_idle(self, at: int) -> int:
        """Behind words that say nothing: "contracts that end in 2026"."""
        while at < len(self.tokens) and (self.tokens[at] in self.stop_words or self.tokens[at] in BESIDE):
            if any(span.start == at for span in self.spans):
                break
            at += 1
        return at

    def after_stop_words(self, at: int) -> int:
        while at < len(self.tokens) and self.tokens[at] in self.stop_words and at not in self.explained:
            at += 1
        return at

    def span_after(self, at: int) -> WordSpan | None:
        """The span that stands at a place; stop words may stand before it."""
        while at < len(self.tokens):
            if span := next((one for one in self.spans if one.start == at), None):
                return span
            if self.tokens[at] not in self.stop_words:
                return None
            at += 1
        return None

    def header_after(self, at: int) -> WordSpan | None:
        after = self.span_after(at)
        return after if after is not None and after.headers and not after.cells else None

    def header_before(self, at: int) -> WordSpan | None:
        """The header that ends at a place; stop words may stand behind it."""
        while at > 0:
            if span := next((one for one in self.spans if one.end == at), None):
                return span if span.headers and not span.cells else None
            if self.tokens[at - 1] not in self.stop_words:
                return None
            at -= 1
        return None

    def is_number(self, span: WordSpan) -> bool:
        """Whether it names columns that count something: "how many votes" asks for their sum, not for rows."""
        return all(at and self.table.numeric[at] for at in span.headers)

    def counts_words(self, by: frozenset[str] = frozenset()) -> bool:
        """Whether what is counted, with one of the words `by`, is named by columns of words."""
        counts = [
            span for span in self.phrases("count") if not by or not by.isdisjoint(self.tokens[span.start : span.end])
        ]
        behind = [self.header_after(span.end) for span in counts]
        return bool(behind) and all(
            one is not None and not any(self.table.numeric[at] for at in one.headers) for one in behind
        )

    def before(self, span: WordSpan) -> int | None:
        """The place of what stands before it, besides articles."""
        at = span.start - 1
        while at >= 0 and self.tokens[at] in self.stop_words - ALL_OF - EACH:
            at -= 1
        return at if at >= 0 else None

    # --- columns ---

    def base(self, heads: Sequence[WordSpan]) -> frozenset[int]:
        """Columns of values that each of these may name."""
        base = self.plain()
        for head in heads:
            base &= head.headers
        return base

    def plain(self) -> frozenset[int]:
        """Columns of values, without those that compare other columns."""
        return frozenset(
            at for at, header in enumerate(self.table.header)
            if at and not compares(header)
        )  # fmt: skip

    def years(self) -> list[tuple[int, str]]:
        """Columns of values of a year, with it."""
        return [(at, year) for at in sorted(self.plain()) if (year := year_of(self.table.header[at]))]

    def is_around(self, token: str) -> bool:
        """Whether a word says where the table stands or what its rows are."""
        if any(may_mean(token, word) for word in self.around):
            return True
        besides = any(is_kin_of(token, header_words(header)) for header in self.table.header[1:])
        return not besides and any(may_name(token, word) for word in self.around)  # "cabs" are no trips beside a "Cab"

    def loose(self) -> set[str]:
        """Words that are not accounted for."""
        return {token for at, token in enumerate(self.tokens) if at not in self.explained}
