"""Questions that ask for something computed over a table, read against the names that the table has. Pure.

    read_question   which computation the words ask for, and all runs of words by which cells may be called (table_words.py)
    bind            what it means in one table: which column or row is the measure, which rows are meant, what is asked for

Right or silent: each word of the question must be explained by the computation, by a name in the table, or by where the table
stands; and everything must be the one thing that it can be. Else there is None, and the question is answered as any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import combinations
from typing import Any, Final

from cairn.domain.computation import MOST_LISTED, CellCondition, CellInterval, Comparison, Computation, Operation
from cairn.domain.table import NamedCells, TableSketch
from cairn.language.cells import is_year, read_number, tokens_of, year_of
from cairn.query.table_time import SIDES, Period, is_of_date, periods_in
from cairn.query.table_words import (
    ADDING,
    ALL_OF,
    BESIDE,
    BOUND,
    BY,
    COMPARISONS,
    COMPUTED,
    COUNTED_IN,
    CURRENCIES,
    DOING,
    EACH,
    EARLIEST,
    FALLING,
    GOOD,
    HAVING,
    HIGHER,
    INHABITANTS,
    LATEST,
    LOWER,
    MOMENTS,
    MOVED,
    NEGATIONS,
    OR,
    ORDINALS,
    PEOPLE,
    PERCENTS,
    PERSON_NAMES,
    PERSONS,
    RATIOS,
    RISING,
    SCALES,
    SPELLED,
    SUPERLATIVES,
    THAN,
    TOTALS,
    UNITS,
    WHEN,
    WHO,
    YEARS,
    ComputedQuestion,
    WordSpan,
    besides_brackets,
    besides_date,
    bracketed,
    callable_words,
    compares,
    header_words,
    hides_number,
    is_opposite,
    is_range,
    is_verb_of,
    is_year_column,
    may_mean,
    may_name,
    names_moment,
    same_word,
    says_beyond,
    says_time,
    scale_of,
    short_year_of,
    spans_of,
    year_range,
)

MOST_CONDITIONS: Final = 3  # bound: tests/unit/test_table_question.py
"""Columns that may have conditions: as many as sql/queries/tables.sql takes."""

_MOST_INTERVALS: Final = 2  # bound: tests/unit/test_table_question.py
"""Columns whose numbers may be limited besides: as many as sql/queries/tables.sql takes."""
_OF_ONE_COLUMN: Final = frozenset({"highest", "lowest", "rank", "sum", "average"})


# --- what it means in a table ---------------------------------------------------------------------------------------------


def bind(question: ComputedQuestion, table: TableSketch, named: Sequence[NamedCells]) -> Computation | None:
    """`named`: the cells of the table that are called by one of the question's names."""
    if not table.complete:
        return None
    return _Binding(question, table, named).result()


def initials_of(name: str) -> str:
    """By which a name of several words is called, too: "NJ"."""
    words = tokens_of(name)
    # measured: tests/unit/test_table_question.py
    return "".join(word[0] for word in words) if 1 < len(words) < 6 and all(map(str.isalpha, words)) else ""


def _how_many(token: str) -> Decimal | None:
    """ "Three" or "3"."""
    if token.isdigit() and len(token) == 1:  # bound: tests/unit/test_table_question.py
        return Decimal(token)
    return Decimal(SPELLED[token]) if token in SPELLED else None


class _Binding:
    """A question laid over a table."""

    def __init__(self, question: ComputedQuestion, table: TableSketch, named: Sequence[NamedCells]) -> None:
        self.tokens = question.tokens
        self.signed = question.signed
        self.stop_words = question.stop_words
        self.table = table
        spans = spans_of(question, table, named)
        self.periods = [one for one in periods_in(question.tokens) if not self._names_period(one, spans)]
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
        self._read_totals()
        self.comparison: Comparison | None = None
        self.bound: Decimal | None = None
        self.other: int | None = None
        self.compared: int | None = None
        self.within: tuple[CellInterval, ...] = ()
        self.implied: int | None = None
        self.place = 1
        self.stated: int | None = None
        self.support = 0
        self.judged = False
        self.range = year_range(question.tokens)
        names = (table.title, *table.headings, table.document_title, table.external_id, *table.header[:1])
        self.around = {word for text in names for word in tokens_of(text)} | {*map(initials_of, names), *table.shared}

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
            if total and span.headers and any(one is not span and self._is_value(one) for one in self.spans):
                span.headers, span.cells = frozenset(), ()

    def _is_value(self, span: WordSpan) -> bool:
        """Whether it names a column of numbers, and not by its year alone."""
        return bool(span.headers) and not span.cells and self._is_number(span) and not self._is_year(span)

    def result(self) -> Computation | None:
        if not self._read_periods() or not self._read_comparison():
            return None
        if self.signed and self.bound is not None:
            return None
        self._read_equal()
        operation = self._operation()
        if operation is None or self._is_either():
            return None
        found = self._share_of_total(operation) or self._over_rows(operation) or self._over_columns(operation)
        if found is None or not self._explains(found) or (self.judged and not self._is_good(found)):
            return None
        return replace(found, support=self.support)

    # --- which computation ---

    def _phrases(self, *names: str) -> list[WordSpan]:
        return [span for span in self.spans if not span.named and span.phrases and span.phrases[0] in names]

    def _operation(self) -> Operation | None:
        said = {span.phrases[0] for span in self._phrases(*COMPUTED)}
        if judging := {span.phrases[0] for span in self._phrases("best", "worst")}:
            if said or len(judging) > 1:
                return None
            self.judged = True
            return "highest" if "best" in judging else "lowest"
        if adjectives := self._phrases("superlative"):
            return self._read_superlative(adjectives) if said <= {"count"} else None
        if dated := self._phrases("latest", "earliest"):
            return self._read_dated(dated) if not said else None
        tops = self._phrases("top")
        if tops:
            number = self._number_after(tops[0].end)
            if len(tops) > 1 or number is None or said:
                return None
            self.place = int(number[0])
            return "top" if 0 < self.place <= MOST_LISTED else None
        named = {cells.key for span in self.spans for cells in span.cells}
        if "count" in said and said <= {"count", "highest", "lowest"} and self.comparison is None and len(named) > 1:
            return "difference" if says_beyond(self.tokens, self.spans) else "count" if said == {"count"} else None
        if said == {"highest", "count"} or said == {"lowest", "count"}:
            said -= {"count"}  # "the highest number of"
        if said in ({"sum", "count"}, {"average", "count"}) and self.comparison is None:
            said -= {"count"}  # "how many units in total", "the average number of"
        if "count" in said and said & {"difference", "growth"} and self._phrases("count")[0].start:
            said -= {"count"}  # "by how much did the number of ... grow"
        if said == {"share", "sum"}:
            said -= {"sum"}  # "what share of the total"
        if (
            len(said & {"highest", "lowest"}) == 1
            and len(said) > 1
            and said <= {"highest", "lowest", "difference", "growth"}
        ):
            return self._read_change(said)
        if "difference" in said and said <= {"difference", "growth"}:
            percents = [at for at, token in enumerate(self.tokens) if token in PERCENTS and at not in self.explained]
            moved = all(tuple(self.tokens[one.start : one.end]) in MOVED for one in self._phrases("difference"))
            if percents or ("growth" in said and moved):
                self.explained |= set(percents)
                return "growth"  # "how much did it grow in percent"
        if not said:
            asks = self._phrases("listing") or self._begins_with_rows() or self.tokens[0] in WHO
            return "listing" if asks else None
        if len(said) > 1:
            return None
        operation: Any = said.pop()
        if operation in ("highest", "lowest"):
            [first, *more] = self._phrases(operation)
            ordinal = ORDINALS.get(self.tokens[first.start - 1]) if first.start else None
            if more:
                return None
            if rows := self._number_of_rows():
                self.place = rows
                return "top" if operation == "highest" and ordinal is None and rows <= MOST_LISTED else None
            if ordinal and ordinal > 1:
                self.place = ordinal
                self.explained.add(first.start - 1)
                self.turned = operation == "lowest"
                return "rank"
        return operation  # type: ignore[no-any-return]

    turned = False
    minus: int | None = None
    relative = False

    def _read_superlative(self, adjectives: Sequence[WordSpan]) -> Operation | None:
        """ "The cheapest": the lowest of the one column that is a price and nothing besides, or of the one that is named."""
        if len(adjectives) > 1:
            return None
        [span] = adjectives
        readings = {
            (direction, at)
            for direction, of in SUPERLATIVES[tuple(self.tokens[span.start : span.end])]
            for at, header in enumerate(self.table.header)
            if self.table.numeric[at] and self._is_thing(header, of)
        }
        columns = {at for _, at in readings}
        heads = [one.headers for one in self.spans if not one.cells and one.headers & columns]
        named = frozenset.intersection(*heads) if heads else frozenset()
        said = {one for one in readings if one[1] in named}
        if len(said or readings) != 1:
            return None
        [(direction, self.implied)] = said or readings
        return "highest" if direction == "highest" else "lowest"

    def _is_thing(self, header: str, of: frozenset[str]) -> bool:
        """Whether a header says one of the words and nothing besides: "Unit price (EUR)", and no "Price change"."""
        said = {word for word in header_words(besides_brackets(header)) if not word.isdigit()}
        return bool(said & of) and said - of <= self.stop_words | UNITS | TOTALS | COUNTED_IN

    def _read_dated(self, phrases: Sequence[WordSpan]) -> Operation | None:
        if len(phrases) > 1 or (position := self._dates_meant()) is None:
            return None
        [span] = phrases
        header = self.table.header[position]
        behind = self._after_stop_words(span.end)
        around = (span.end, behind, span.start - 1)
        several = any(token.isdigit() and at not in self.explained for at, token in enumerate(self.tokens))
        times = any(0 <= at < len(self.tokens) and says_time(self.tokens[at], header) for at in around)
        if several or times or not self._is_all_said(header, span):
            return None
        self.implied = position
        return "highest" if span.phrases[0] == "latest" else "lowest"

    def _is_all_said(self, header: str, dated: WordSpan | None = None) -> bool:
        """Whether a column of dates is no other than the one that is asked for: "delivered" is no "planned delivery". It may say
        that its dates are the last, unless the first are asked for."""
        idle = self.stop_words | MOMENTS | {
            word for words in (LATEST, EARLIEST)
            if dated is None or tuple(self.tokens[dated.start : dated.end]) in words
            for phrase in words for word in phrase
        }  # fmt: skip
        return all(
            word in idle or any(may_mean(token, word) or is_verb_of(token, word) for token in self.tokens)
            for word in header_words(header)
        )

    def _dates_meant(self, period: Period | None = None) -> int | None:
        """The column of dates that is asked for: named, called by a verb ("delivered": "Last delivery"), or, where a period is
        said, the only one. One of years where the period says no more."""
        days = [at for at, dated in enumerate(self.table.dated) if dated]
        years = [at for at, header in enumerate(self.table.header) if is_year_column(header) and self.table.numeric[at]]
        columns = days + (years if period is not None and period.whole_years else [])
        named = [at for at in columns if any(at in span.headers and not span.cells for span in self.spans)]
        called = {
            at: places
            for at in columns
            if self._is_all_said(self.table.header[at]) and (places := {
                place for place, token in enumerate(self.tokens)
                if place not in self.explained and any(is_verb_of(token, word) for word in header_words(self.table.header[at]))
            })
        }  # fmt: skip
        found = named or [*called] or (columns if period is not None else [])
        if len(found) != 1:
            return None
        self.explained |= called.get(found[0], set())
        return found[0]

    def _read_periods(self) -> bool:
        """False where it is not sure which dates are meant."""
        if not self.periods:
            return True
        if any(one.is_unread() for one in self.periods):
            return False
        said = [
            word for one in self.periods for word in self.tokens[one.start : one.end] if word not in self.stop_words
        ]
        if (
            not any(self.table.dated)
            and all(one.said[0] not in "<>≥≤" for one in self.periods)
            and all(map(self._is_around, said))
        ):
            return True  # "in October 2026", of a table of that month
        if len(self.periods) > 1 or (position := self._dates_meant(self.periods[0])) is None:
            return False
        [period] = self.periods
        first, last = period.bounds(in_years=not self.table.dated[position])
        self.within = (CellInterval(position, first, last, period.said),)
        self.explained |= set(range(period.start, period.end))
        return True

    def _read_change(self, said: set[str]) -> Operation | None:
        """ "The largest increase from 2024 to 2025": of each row the difference of two columns. "Growth" may be in percent."""
        words = {
            token for span in self._phrases("difference", "growth") for token in self.tokens[span.start : span.end]
        }
        percents = {at for at, token in enumerate(self.tokens) if token in PERCENTS and at not in self.explained}
        self.relative = bool(percents or words & PERCENTS)
        if "growth" in said and not self.relative:
            return None
        self.explained |= percents
        rising, falling = bool(words & RISING), bool(words & FALLING)
        if rising == falling or self.comparison is not None:
            return None
        heads = self._heads()
        pair = self._pair_of_columns(Computation("difference"), heads)
        if pair is None or pair.pair is None or not all(map(is_year, pair.pair)):
            return None
        self.minus, self.implied = pair.columns
        self.comparison, self.compared, self.other = "more" if rising else "less", self.implied, self.minus
        self._spend([span for span in heads if not span.headers.isdisjoint(pair.columns)])
        return "highest" if rising == ("highest" in said) else "lowest"

    spent: Sequence[WordSpan] = ()
    """Headers that a comparison or a change has taken up."""
    counted: frozenset[int] = frozenset()
    """Columns that are counted in what stands behind the number of a comparison; none where that says nothing."""
    beside: Sequence[WordSpan] = ()
    """The words of the header beside the number of a comparison."""

    def _number_of_rows(self) -> int | None:
        """How many of the highest are asked for: "which two states", of what the rows are called in words."""
        for span in self._phrases("listing"):
            at = span.end
            after = self._span_after(at + 1)
            number = _how_many(self.tokens[at]) if at < len(self.tokens) else None
            if after is None or after.start > at + 1 or not after.headers or after.cells or self._is_number(after):
                continue
            if number is not None and number > 1:
                self.explained.add(at)
                return int(number)
        return None

    def _begins_with_rows(self) -> bool:
        """Whether the question begins with what the rows are, and says which: "countries with more than 300 servings"."""
        first = any(span.start == 0 and span.headers == {0} for span in self.spans)
        limited = self.comparison is not None or self.within
        return bool(limited) and (first or self._is_around(self.tokens[0]))

    def _is_good(self, found: Computation) -> bool:
        """Whether more of what is compared is better: its header or label says so, and no more than that is meant by it."""
        named = found.label if found.measure is None else self.table.header[found.measure]
        said = {
            token
            for span in self.spans
            if found.measure in span.headers
            for token in self.tokens[span.start : span.end]
        }
        return not GOOD.isdisjoint(header_words(named) | said) and not compares(named)

    def _says_what(self, measure: int) -> bool:
        """Whether a column is called by more than its year."""
        words = set(besides_date(self.table.header[measure]).split()) - BESIDE - YEARS - MOMENTS
        return any(may_mean(token, word) for token in self.tokens for word in words)

    def _names_rows(self) -> bool:
        """Whether it says what each row is: by the header of the first column, by a word that all rows have, or by what the table
        is of, behind "which" or at the beginning."""
        if any(span.headers == {0} for span in self.spans):
            return True
        asked = [0, *(span.end for span in self._phrases("listing"))]
        if any(at < len(self.tokens) and at not in self.explained and self._is_around(self.tokens[at]) for at in asked):
            return True
        return any(may_mean(token, word) for token in self.tokens for word in self.table.shared)

    def _number_after(self, at: int) -> tuple[Decimal, int] | None:
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

    def _read_comparison(self) -> bool:
        """False where there is one that cannot be read."""
        bounds = {span.end for span in self._phrases(*COMPARISONS)}
        for span in self._phrases("none"):
            if span.start in bounds and self.tokens[span.start] in SPELLED:
                continue  # "more than zero"
            if self.comparison is not None or self._header_after(span.end) is None:
                return False
            self.bound, self.comparison = Decimal(), "equal"
        if self._compares_columns():
            return not self._says_how_far()
        for span in self._phrases(*COMPARISONS):
            if number := self._number_after(span.end):
                value, end = number
                if end < len(self.tokens) and self.tokens[end] in SCALES:
                    scale = scale_of(self.table)
                    if scale is None:
                        return False
                    value = value * SCALES[self.tokens[end]] / scale
                    self.explained.add(end)
                if self.comparison is not None or hides_number(self.spans, end - 1):
                    return False
                self.bound, self.comparison = value, span.phrases[0]  # type: ignore[assignment]
                self.counted = self._counted_so(end)
                self.beside = self._headers_beside(self._header_after(end) or self._header_before(span.start))
            elif header := self._header_after(span.end):
                if self.comparison is not None or len(header.headers) != 1:
                    return False
                [self.other] = header.headers
                self.comparison = span.phrases[0]  # type: ignore[assignment]
            elif self._is_computed(span.end):
                return False  # "below the average"
        return True

    def _compares_columns(self) -> bool:
        """ "A lower revenue in 2025 than in 2024": of each row."""
        thans = [at for at, token in enumerate(self.tokens) if token in THAN]
        heads = self._heads()
        taken = {
            at for span in self.spans
            if span.phrases and not span.named and (span.phrases[0] in COMPARISONS or span.end - span.start > 1)
            for at in range(span.start, span.end)
        }  # fmt: skip
        if self._phrases("difference") or len(thans) != 1 or thans[0] in taken:
            return False
        [than] = thans
        signs = [at for at, token in enumerate(self.tokens[: than - 1]) if token in HIGHER | LOWER]
        before = [span for span in heads if span.end <= than]
        behind = [span for span in heads if span.start > than]
        if not signs or not before or not behind or self.tokens[signs[-1]] in HIGHER & LOWER:
            return False
        column = self._base(before)
        shared = [span for span in before if not self._is_year(span)]
        other = self._base([*shared, *behind]) or self._base(behind)
        if len(column) != 1 or len(other) != 1 or column == other:
            return False
        [self.compared], [self.other] = column, other
        self.comparison = "more" if self.tokens[signs[-1]] in HIGHER else "less"
        self._spend([*before, *behind])
        self.explained |= {signs[-1], than}
        for span in self.spans:
            if span.start in (signs[-1], than) and span.end - span.start == 1:
                span.phrases = ()  # "menos" is the lowest elsewhere, and "que" asks
        return True

    def _says_how_far(self) -> bool:
        """Whether a comparison of columns is of a number, too, or denied: "at least 5 more than", "no more than"."""
        numbers = [at for at, token in enumerate(self.tokens) if token[0].isdigit() or token in SPELLED]
        return bool(
            self._phrases(*COMPARISONS, "none") or not NEGATIONS.isdisjoint(self.tokens)
            or any(at not in self.explained for at in numbers)
        )  # fmt: skip

    def _heads(self) -> list[WordSpan]:
        """Names of columns of values; of a year also where a date has it, too."""
        return [span for span in self.spans if span.headers - {0} and (not span.cells or self._is_year(span))]

    def _spend(self, heads: Sequence[WordSpan]) -> None:
        self.spent = heads
        for span in heads:
            span.cells = ()

    def _is_year(self, span: WordSpan) -> bool:
        return span.end - span.start == 1 and is_year(self.tokens[span.start])

    def _read_equal(self) -> None:
        """ "Cars with 4 cylinders", "of the model year 82": a number beside the name of a column that it may be in. None is read
        where something may say that it is another one: "4 or more", "2 to 4"."""
        found: dict[int, CellInterval] = {}
        for span in self.spans:
            if not span.headers or span.cells or len(span.headers) > 1 or not self._is_number(span):
                continue
            [position] = span.headers
            of_years = is_year_column(self.table.header[position])
            held = {one.position for one in (*self.within, *found.values())} | {self.other, self.compared}
            behind = span.end + (span.end < len(self.tokens) and self.tokens[span.end] in HAVING)
            for at in (span.start - 1, behind):
                if not 0 < at < len(self.tokens) or at in self.explained or not self.tokens[at].isdigit():
                    continue
                if (
                    position in held
                    or (at < span.start and self.tokens[at - 1] not in HAVING)
                    or (is_year(self.tokens[at]) and not of_years)
                ):
                    continue
                number = Decimal(self.tokens[at])
                found[at] = CellInterval(position, number, number, f"= {number}")
                break
        if (
            found
            and not self.signed
            and len(found) + len(self.within) <= _MOST_INTERVALS
            and not self._is_qualified({*found})
        ):
            self.within = (*self.within, *found.values())
            self.explained |= {*found}

    def _is_qualified(self, numbers: set[int]) -> bool:
        """Whether something is said that belongs to no other number than these."""
        left = {at: token for at, token in enumerate(self.tokens) if at not in self.explained | numbers}
        compared = self.comparison is not None and not self.spent
        return len(self._phrases(*COMPARISONS)) > compared or any(
            token[0].isdigit() or token in HIGHER | LOWER | RISING | FALLING | OR | SPELLED.keys()
            for token in left.values()
        )

    def _after_idle(self, at: int) -> int:
        """Behind words that say nothing: "contracts that end in 2026"."""
        while at < len(self.tokens) and (self.tokens[at] in self.stop_words or self.tokens[at] in BESIDE):
            if any(span.start == at for span in self.spans):
                break
            at += 1
        return at

    def _after_stop_words(self, at: int) -> int:
        while at < len(self.tokens) and self.tokens[at] in self.stop_words and at not in self.explained:
            at += 1
        return at

    def _is_computed(self, at: int) -> bool:
        after = self._span_after(at)
        return after is not None and bool(after.phrases) and after.phrases[0] in COMPUTED

    def _span_after(self, at: int) -> WordSpan | None:
        """The span that stands at a place; stop words may stand before it."""
        while at < len(self.tokens):
            if span := next((one for one in self.spans if one.start == at), None):
                return span
            if self.tokens[at] not in self.stop_words:
                return None
            at += 1
        return None

    def _header_after(self, at: int) -> WordSpan | None:
        after = self._span_after(at)
        return after if after is not None and after.headers and not after.cells else None

    def _counted_so(self, at: int) -> frozenset[int]:
        said = self.tokens[at : at + 1]
        return frozenset(
            place for place, header in enumerate(self.table.header)
            if said and said[0] in {word for part in bracketed(header) for word in tokens_of(part)}
        )  # fmt: skip

    def _headers_beside(self, one: WordSpan | None) -> list[WordSpan]:
        """With those that stand right beside it and name the same column: "flipper", "length"."""
        found = [one] if one is not None else []
        for _ in range(MOST_CONDITIONS):
            for span in self.spans:
                near = any(span.end == other.start or span.start == other.end for other in found)
                if near and span not in found and not span.cells and self._base([span, *found]):
                    found.append(span)
        return found

    def _header_before(self, at: int) -> WordSpan | None:
        """The header that ends at a place; stop words may stand behind it."""
        while at > 0:
            if span := next((one for one in self.spans if one.end == at), None):
                return span if span.headers and not span.cells else None
            if self.tokens[at - 1] not in self.stop_words:
                return None
            at -= 1
        return None

    # --- over the rows of a column ---

    def _over_rows(self, operation: Operation) -> Computation | None:
        conditions = self._conditions()
        if conditions is None:
            return None
        asked = self._asked(operation)
        held = {one.position for one in conditions} | {one.position for one in self.within}
        free = [
            span for span in self.spans
            if span.headers and not span.cells and span is not asked and span.headers != {self.other}
            and not span.headers & held and span not in self.spent
        ]  # fmt: skip
        beside = [span for span in free if span in self.beside]
        if self.bound is not None and beside and operation not in ("count", "listing") and len(free) > len(beside):
            compared = self._base(beside)
            if len(compared) != 1:
                return None
            [self.compared] = compared
            if is_year_column(self.table.header[self.compared]) and not is_year(str(self.bound)):
                return None  # "over 3 years"
            free = [span for span in free if span not in beside]
        if asked is not None and self.implied in asked.headers:
            asked = None
        position = self._asked_position(asked, held)
        if position is None and (asked is not None or self._asks_time() or not WHO.isdisjoint(self.tokens)):
            return None
        best = operation in ("highest", "lowest", "rank")
        if position is None and best and 0 not in held and not self.table.numeric[0] and self._names_rows():
            position = 0
        if position is None and best and self.table.numeric[0] and not (PERSONS | PERSON_NAMES).isdisjoint(self.tokens):
            position = self._persons()
        if operation not in ("difference", "growth"):
            conditions = [self._with_years_between(one) for one in conditions]
            if any(is_range(one.keys) for one in conditions):
                return None
        if not best or not self._asks_for_several():
            self._read_stated(conditions)
        if self.implied is not None:
            free = [span for span in free if self.implied not in span.headers]
        measure = self._measure(free)
        if self.implied is not None:
            rows_of = [span for span in free if self._says_where(span)]
            if len(rows_of) < len(free):
                return None
            measure = self.implied
        elif measure is None and free:
            rows_of = [span for span in free if self._says_where(span) or self._says_all(span, operation)]
            left = [span for span in free if span not in rows_of]
            eaches = {at for span in rows_of if (at := self._before(span)) is not None and self.tokens[at] in EACH}
            if eaches and not self._adds_up():
                return None  # "per state": a value of each
            self.explained |= eaches
            measure = self._measure(left)
            if measure is None:
                measure = self._measure([span for span in left if not self._says_of_what(span, left)])
            if measure is None:
                return None
        if (
            measure is None
            and self.other is not None
            and self.compared is not None
            and operation in ("count", "listing")
        ):
            measure, self.compared = self.compared, None
        if measure is None and self.other is not None and self.compared is None:
            measure = self._only_number({*held, position}, self.other)
            if measure is None:
                return None
        if measure is None and operation in ("sum", "difference") and conditions:
            numbers = [
                at
                for at, numeric in enumerate(self.table.numeric)
                if numeric and not is_year_column(self.table.header[at])
            ]
            measure = numbers[0] if len(numbers) == 1 else None
        ordered = operation in ("highest", "lowest")
        if measure is not None and not (self.table.numeric[measure] or (ordered and self.table.dated[measure])):
            return None
        if any(at is not None and not self.table.numeric[at] for at in (self.other, self.compared, self.minus)):
            return None
        if self.other is not None and self.other == measure:
            return None
        if self.counted and (measure if self.compared is None else self.compared) not in self.counted:
            return None  # "more than 150 ha", and the column counts members
        return self._of_rows(operation, measure, conditions, position)

    def _of_rows(
        self, operation: Operation, measure: int | None, conditions: Sequence[CellCondition], asked: int | None
    ) -> Computation | None:
        several = [one for one in conditions if len(one.keys) > 1]
        made = Computation(
            operation, measure, conditions=tuple(conditions), asked=asked, comparison=self.comparison, bound=self.bound,
            other=self.other, compared=self.compared, within=self.within, minus=self.minus, relative=self.relative,
            counted_in=self._counted_in(measure, conditions),
            place=self.place, turned=self.turned, naming=self._naming(measure, conditions), stated=self.stated,
        )  # fmt: skip
        if operation == "count" and measure is not None and self.comparison is None:
            return self._how_many(made)
        if operation == "count" and any(
            set(tokens_of(self.table.header[one.position])) & COUNTED_IN for one in conditions
        ):
            return None  # "how many kilograms": not how many rows
        if operation == "count":
            limited = self.comparison or conditions or self.within
            return made if (measure is None) == (self.comparison is None) and limited else None
        if operation == "listing":
            if self.comparison is not None:
                return made if measure is not None else None
            if self.within and measure is None:
                position = self.within[0].position
                return replace(made, measure=position, naming=self._naming(position, conditions))
            return made if measure is None and self._is_where(conditions) else None
        if measure is None or (self.comparison is not None and self.compared is None):
            return None
        dated = asked is None and year_of(self.table.header[measure]) and not self._says_what(measure)
        if operation not in ("difference", "growth") and dated and not self._names_rows():
            return None  # a statement: its rows are of different kinds
        if operation in ("difference", "growth"):
            return self._pair_of_rows(made, several)
        if operation == "share":
            return made if made.target is not None and not several and asked is None else None
        if operation == "sum" and not RATIOS.isdisjoint(header_words(self.table.header[measure])):
            return None
        if operation in ("sum", "average"):
            return made if asked is None else None
        return made

    def _counted_in(self, measure: int | None, conditions: Sequence[CellCondition]) -> int | None:
        """A column that says what each row is counted in, unless the question says which, or the numbers themselves. The first
        one is what the rows are."""
        held = {one.position for one in conditions if len(one.keys) == 1}
        if measure is None or all(
            self._is_counted(at) for at in (measure, self.compared, self.other) if at is not None
        ):
            return None
        kinds = COUNTED_IN | BESIDE | RATIOS | self.stop_words
        found = [
            at for at, words in enumerate(map(header_words, self.table.header))
            if at and at not in held and not self.table.numeric[at]
            and (words & CURRENCIES or (words & COUNTED_IN and words <= kinds))
        ]  # fmt: skip
        return found[0] if found else None

    def _is_counted(self, at: int) -> bool:
        """Whether a column is one of dates, or its cells or its header say what its numbers are counted in."""
        said = {word for part in bracketed(self.table.header[at]) for word in tokens_of(part)}
        return self.table.dated[at] or bool(self.table.units[at]) or not said.isdisjoint(UNITS)

    def _share_of_total(self, operation: Operation) -> Computation | None:
        """ "What share of total revenue was membership fees": of one row in another one that sums up, in one column."""
        labels = [(span, one) for span in self.spans for one in span.cells if one.position == 0]
        if operation != "share" or len(labels) != 2 or self.within or any(one.cells > 1 for _, one in labels):
            return None
        [whole, part] = sorted(labels, key=lambda one: not one[1].total)
        heads = [span for span in self.spans if span.headers - {0} and not span.cells]
        columns = [at for at in self._base(heads) if self.table.numeric[at]]
        others = any(span.cells for span in self.spans if span not in (whole[0], part[0]))
        if not whole[1].total or part[1].total or part[1].row > whole[1].row or len(columns) != 1 or others:
            return None
        keys, texts = (part[1].key, whole[1].key), (part[1].text, whole[1].text)
        condition = CellCondition(0, keys, texts)
        return Computation("share", columns[0], conditions=(condition,), pair=texts, totals=True)

    def _how_many(self, made: Computation) -> Computation | None:
        """ "How many votes were there in Ohio": the sum of a column that counts, unless each row is of another time: "how many
        inhabitants has Ohio"."""
        assert made.measure is not None
        held = {one.position for one in made.conditions}
        times = {at for at, header in enumerate(self.table.header) if self.table.dated[at] or is_year_column(header)}
        header = self.table.header[made.measure]
        counts = not compares(header) and RATIOS.isdisjoint(header_words(header)) and made.asked is None
        held |= {one.position for one in made.within}
        single = all(len(one.texts) == 1 for one in made.conditions)  # of several: "together", or a difference
        limited = made.conditions or made.within
        return replace(made, operation="sum") if counts and limited and single and times <= held else None

    def _with_years_between(self, condition: CellCondition) -> CellCondition:
        """ "From 1998 to 2006" are the years between, too."""
        if self.range is None or set(condition.keys) != set(self.range):
            return condition
        first, last = self.range
        years = tuple(map(str, range(int(first), int(last) + 1)))
        return CellCondition(condition.position, years, (f"{first}–{last}",))

    def _pair_of_rows(self, made: Computation, several: Sequence[CellCondition]) -> Computation | None:
        if len(several) != 1 or len(several[0].keys) != 2 or made.asked is not None:
            return None
        first, second = several[0].keys
        dated = is_year(first) and is_year(second)
        if dated:
            first, second = sorted((first, second))
        elif made.operation == "growth":
            return None
        else:
            first, second = second, first  # the difference between A and B is A minus B
        said = dict(zip(several[0].keys, several[0].texts, strict=True))
        ordered = CellCondition(several[0].position, (first, second), (said[first], said[second]))
        conditions = tuple(ordered if one is several[0] else one for one in made.conditions)
        return replace(made, conditions=conditions, pair=(said[first], said[second]), totals=True)

    def _conditions(self) -> list[CellCondition] | None:
        """By column, in the order of the question. None where a name may mean several columns, or a header as well."""
        wanted: dict[int, dict[str, str]] = {}
        headed = {position for span in self.spans if not span.cells for position in span.headers}
        for span in self.spans:
            if not span.cells:
                continue
            positions = {one.position for one in span.cells}
            if span.headers:
                return None
            if len(positions) > 1:
                positions &= headed
            if len(positions) != 1:
                return None
            [position] = positions
            cells = [one for one in span.cells if one.position == position]
            if all(one.total for one in cells) or len({one.key for one in cells}) > 1:
                return None
            if position not in headed and self._names_document(span) and cells[0].cells < self.table.rows:
                return None
            wanted.setdefault(position, {}).setdefault(cells[0].key, cells[0].text)
        if len(wanted) > MOST_CONDITIONS:
            return None
        return [CellCondition(position, tuple(keys), tuple(keys.values())) for position, keys in wanted.items()]

    def _is_either(self) -> bool:
        """Whether it says that one condition or another one is enough: "in France or open"."""
        limits = [
            *((span.start, {one.position for one in span.cells}) for span in self.spans if span.cells),
            *((span.start, {-1}) for span in self._phrases(*COMPARISONS, "none")),
            *((one.start, {-2}) for one in self.periods),
        ]
        for at, token in enumerate(self.tokens):
            if token in OR and not any(span.start <= at < span.end for span in self.spans):
                before = max((one for one in limits if one[0] < at), key=lambda one: one[0], default=None)
                behind = min((one for one in limits if one[0] > at), key=lambda one: one[0], default=None)
                if before and behind and before[1].isdisjoint(behind[1]):
                    return True
        return False

    def _names_document(self, span: WordSpan) -> bool:
        """Whether the document is called so, too: "the DETR models", of which some are a "DETR" and some a "DETR-DC5"."""
        names = {*tokens_of(self.table.document_title), *tokens_of(self.table.external_id.rpartition("/")[2])}
        return names.issuperset(self.tokens[span.start : span.end])

    def _asked(self, operation: Operation) -> WordSpan | None:
        """The header behind "which", or "top 3"."""
        for span in self._phrases("top", "listing", "count", "superlative", "latest", "earliest"):
            numbered = (
                span.end < len(self.tokens)
                and span.end in self.explained
                and _how_many(self.tokens[span.end]) is not None
            )
            after = self._span_after(span.end + (span.phrases[0] == "top" or numbered))
            if after is None or not after.headers or after.cells:
                continue
            behind = span.phrases[0] in ("superlative", "latest", "earliest") and 0 not in after.headers
            if behind and (self._is_number(after) or any(self.table.dated[at] for at in after.headers)):
                continue
            counted = span.phrases[0] == "count" and self._is_number(after)
            if not counted and not self._is_measure(span, after, operation):
                return after
        return None

    def _is_measure(self, which: WordSpan, after: WordSpan, operation: Operation) -> bool:
        """Whether it says of which column the highest is wanted ("le salaire le plus élevé"); not right behind "which"."""
        others = [span for span in self.spans if span.headers and not span.cells and span is not after]
        years = any(is_year_column(self.table.header[at]) for at in after.headers)
        apart = after.start > which.end and which.phrases[0] == "listing"
        return apart and operation in _OF_ONE_COLUMN and self._is_number(after) and not (others or years)

    def _is_number(self, span: WordSpan) -> bool:
        """Whether it names columns that count something: "how many votes" asks for their sum, not for rows."""
        return all(at and self.table.numeric[at] for at in span.headers)

    def _asked_position(self, asked: WordSpan | None, held: set[int]) -> int | None:
        if not WHO.isdisjoint(self.tokens):
            return self._persons()
        if asked is not None:
            return next(iter(asked.headers)) if len(asked.headers) == 1 and not asked.headers & held else None
        if self._asks_time():
            days = [position for position, dated in enumerate(self.table.dated) if dated]
            return days[0] if len(days) == 1 else None
        return None

    def _persons(self) -> int | None:
        """The first column of persons, or of those who act as such."""
        words = enumerate(map(header_words, self.table.header))
        return next(
            (
                at for at, said in words
                if (said & PERSONS or (said and said <= PERSON_NAMES)) and not self.table.numeric[at]
            ),
            None,
        )  # fmt: skip

    def _asks_time(self) -> bool:
        """Whether the answer is a point of time that no header is called by: "when", "which year"."""
        if self._loose() & WHEN:
            return True
        for span in self._phrases("listing"):
            at = span.end
            while at < len(self.tokens) and self.tokens[at] in self.stop_words and at not in self.explained:
                at += 1
            if at < len(self.tokens) and at not in self.explained and self.tokens[at] in MOMENTS | YEARS:
                return True
        return False

    def _says_where(self, span: WordSpan) -> bool:
        """Whether a header of words is named for what the table or its rows are: "seattle-weather.csv" with a column "weather",
        "the travel of all members". One of numbers never is: it may be what is asked for."""
        if any(self.table.numeric[at] for at in span.headers):
            return False
        return span.headers == {0} or self.around.issuperset(self.tokens[span.start : span.end])

    def _asks_for_several(self) -> bool:
        """Whether a number stands behind "which": "which two countries"."""
        return any(_how_many(token) for one in self._phrases("listing") for token in self.tokens[one.end : one.end + 1])

    def _read_stated(self, conditions: Sequence[CellCondition]) -> None:
        """How many rows it says there are: "the three Baltic countries"."""
        for span in self.spans:
            at = span.start - 1
            number = _how_many(self.tokens[at]) if at >= 0 and at not in self.explained else None
            where = any({one.position for one in span.cells} == {held.position} for held in conditions)
            after = self._span_after(span.end)
            if number is not None and number > 1 and where and after is not None and after.headers and not after.cells:
                self.stated = int(number)
                self.explained.add(at)
        for at, token in enumerate(self.tokens[:-1]):
            number = _how_many(token) if at not in self.explained and not conditions else None
            rows = any(span.start == at + 1 and span.headers == {0} for span in self.spans)
            if number is not None and number > 1 and (rows or self._is_around(self.tokens[at + 1])):
                self.stated = int(number)
                self.explained.add(at)

    def _says_all(self, span: WordSpan, operation: Operation) -> bool:
        """Whether it says that all rows are added: "of all states". Behind "the number of" they may be counted."""
        at = self._before(span)
        return (
            operation == "sum" and not self._phrases("count") and at is not None and self.tokens[at] in ALL_OF | EACH
            and not any(self.table.numeric[at] for at in span.headers)
        )  # fmt: skip

    def _adds_up(self) -> bool:
        """Whether one number is wanted of every row."""
        return any(tuple(self.tokens[span.start : span.end]) in ADDING for span in self._phrases("sum"))

    def _before(self, span: WordSpan) -> int | None:
        """The place of what stands before it, besides articles."""
        at = span.start - 1
        while at >= 0 and self.tokens[at] in self.stop_words - ALL_OF - EACH:
            at -= 1
        return at if at >= 0 else None

    def _says_of_what(self, span: WordSpan, free: Sequence[WordSpan]) -> bool:
        """Whether a word says what all columns of numbers are of: title and header of their total have it, and another column
        is named besides ("wheat exports", of "Wheat" and "Total exports")."""
        return (
            all(TOTALS & header_words(self.table.header[at]) for at in span.headers)
            and all(self._is_around(token) for token in self.tokens[span.start : span.end])
            and any(self._is_said(self.table.header[at]) for one in free if one is not span for at in one.headers)
        )

    def _measure(self, free: Sequence[WordSpan]) -> int | None:
        """The one column that all headers which are left name together."""
        if not free:
            return None
        positions = frozenset.intersection(*(span.headers for span in free))
        if len(positions) > 1:  # "delays" are no "bad delays"
            positions = frozenset(at for at in positions if self._is_said(self.table.header[at]))
        return next(iter(positions)) if len(positions) == 1 else None

    def _is_said(self, header: str) -> bool:
        """Whether the question has all words of a header."""
        return all(
            word.isdigit() or any(may_mean(token, word) for token in self.tokens) for word in header_words(header)
        )

    def _only_number(self, besides: set[int | None], other: int) -> int | None:
        """The one column of numbers that can be compared with another: counted in the same."""
        counted = (self.table.units[other], bracketed(self.table.header[other]))
        numbers = [
            at for at, numeric in enumerate(self.table.numeric)
            if numeric and at not in besides and at != other and not is_year_column(self.table.header[at])
            and (self.table.units[at], bracketed(self.table.header[at])) == counted
        ]  # fmt: skip
        return numbers[0] if len(numbers) == 1 else None

    def _naming(self, measure: int | None, conditions: Sequence[CellCondition]) -> int | None:
        """A column of dates or years; where all rows begin with the same cell, else the next one."""
        held = {one.position for one in conditions}
        left = [at for at in range(1, len(self.table.header)) if at not in held | {measure, self.other}]
        times = [at for at in left if self.table.dated[at] or is_year_column(self.table.header[at])]
        words = [at for at in left if not self.table.numeric[at]]
        return next(iter((*times, *(words if 0 in held else ()))), None)

    def _is_where(self, conditions: Sequence[CellCondition]) -> bool:
        """Whether each condition is said with the name of its column before it: "status is open"."""
        for condition in conditions:
            heads = [span for span in self.spans if condition.position in span.headers]
            follows = [self._span_after(self._after_idle(span.end)) for span in heads]
            if not any(span and any(one.position == condition.position for one in span.cells) for span in follows):
                return False
        return bool(conditions)

    # --- over the columns of a row ---

    def _over_columns(self, operation: Operation) -> Computation | None:
        if (
            operation in ("share", "listing", "top")
            or self.other is not None
            or self.within
            or self.implied is not None
        ):
            return None
        label = self._label()
        if label is None:
            return None
        span, cells = label
        self.group_said = {*self.tokens}.issuperset(tokens_of(cells.group))
        heads = [one for one in self.spans if one.headers - {0} and one is not span and not one.cells]
        if any(one.cells for one in self.spans if one is not span):
            return None
        made = Computation(
            operation, row=cells.row, label=cells.text, comparison=self.comparison, bound=self.bound, place=self.place,
            turned=self.turned,
        )  # fmt: skip
        if operation in ("difference", "growth"):
            return self._pair_of_columns(made, heads)
        columns = self._columns(heads)
        if operation == "count" and self.comparison is None and self.range is not None:
            return replace(made, operation="sum", columns=columns) if len(columns) > 1 else None
        if len(columns) < 2 or (operation == "count") != (self.comparison is not None):
            return None
        return replace(made, columns=columns)

    def _label(self) -> tuple[WordSpan, NamedCells] | None:
        """The one row that is called so; of rows called alike the one under a label that the question has."""
        spans = [span for span in self.spans if any(one.position == 0 for one in span.cells)]
        if len(spans) != 1 or spans[0].headers:
            return None
        rows = [one for one in spans[0].cells if one.position == 0]
        if len(rows) > 1:
            said = set(self.tokens)
            rows = [one for one in rows if one.group and said.issuperset(tokens_of(one.group))]
        if len(rows) != 1 or rows[0].cells != 1:
            return None
        for at, token in enumerate(self.tokens):
            if at not in self.explained and any(
                same_word(token, word) or token == word for word in tokens_of(rows[0].group)
            ):
                self.explained.add(at)
        return spans[0], rows[0]

    group_said = False
    """Whether the question has the labels under which the row stands: "includes stock-based compensation of"."""

    def _pair_of_columns(self, made: Computation, heads: Sequence[WordSpan]) -> Computation | None:
        """Two of the headers choose a column each, the others say of which kind both are."""
        found = set()
        for one, other in combinations(heads, 2):
            base = self._base([head for head in heads if head is not one and head is not other])
            left, right = self._alike(one.headers & base, other.headers & base)
            if len(left) == len(right) == 1 and left != right:
                found.add((next(iter(left)), next(iter(right))))
        if not found and made.row is not None and self.group_said:
            base = self._base(heads)
            dated = [(at, year) for at, year in self._years() if at in base]
            alike = len({besides_date(self.table.header[at]) for at, _ in dated}) == 1
            if len(dated) == 2 and alike and len({year for _, year in dated}) == 2 and not self._names_year():
                found = {(dated[0][0], dated[1][0])}  # "how much did it increase", of the two years that there are
        if len(found) != 1:
            return None
        [(first, second)] = found
        years = [year_of(self.table.header[at]) or short_year_of(self.table.header[at]) for at in (first, second)]
        if None in years or years[0] == years[1]:
            if made.operation == "growth":
                return None
            first, second = second, first
        elif str(years[0]) > str(years[1]):
            first, second = second, first
        pair = (self._column_name(first), self._column_name(second))
        return replace(made, columns=(first, second), pair=pair)

    def _names_year(self) -> bool:
        return any(map(is_year, self.tokens))

    def _alike(self, left: frozenset[int], right: frozenset[int]) -> tuple[frozenset[int], frozenset[int]]:
        """Where one is named by all of its header and the other by its date, the other is that under the same first line."""

        def under(known: frozenset[int], several: frozenset[int]) -> frozenset[int]:
            [one] = known
            lines = set(self.table.header[one].split(" / ")[:-1])
            return frozenset(at for at in several if lines and lines == set(self.table.header[at].split(" / ")[:-1]))

        if len(left) == 1 < len(right):
            return left, under(left, right)
        return (under(right, left), right) if len(right) == 1 < len(left) else (left, right)

    def _columns(self, heads: Sequence[WordSpan]) -> tuple[int, ...]:
        """Those that the question names one by one, or all that are named by a year and alike besides."""
        singles = [head for head in heads if len(head.headers & self._plain()) == 1]
        if len(singles) > 1 and len(singles) == len(heads):
            columns = sorted({next(iter(head.headers & self._plain())) for head in singles})
            years = [year_of(self.table.header[at]) for at in columns]
            between = [
                at for at, year in self._years()
                if all(years) and min(map(str, years)) < year < max(map(str, years)) and at not in columns
            ]  # fmt: skip
            if not between:
                return tuple(columns)
            if self.range is None or {*self.range} != {*years}:
                return ()  # "2017 and 2019" may mean 2018 too
            columns = sorted([*columns, *between])
            alike = {besides_date(self.table.header[at]) for at in columns}
            return tuple(columns) if len(alike) == 1 else ()
        base = self._base(heads)
        dated = [(at, year) for at, year in self._years() if at in base]
        kinds = {besides_date(self.table.header[at]) for at, _ in dated}
        years = [year for _, year in dated]
        return tuple(at for at, _ in dated) if len(kinds) == 1 and len(set(years)) == len(years) else ()

    def _base(self, heads: Sequence[WordSpan]) -> frozenset[int]:
        base = self._plain()
        for head in heads:
            base &= head.headers
        return base

    def _plain(self) -> frozenset[int]:
        """Columns of values, without those that compare other columns."""
        return frozenset(
            at for at, header in enumerate(self.table.header)
            if at and not compares(header)
        )  # fmt: skip

    def _years(self) -> list[tuple[int, str]]:
        return [(at, year) for at in sorted(self._plain()) if (year := year_of(self.table.header[at]))]

    def _column_name(self, position: int) -> str:
        header = self.table.header[position]
        return year_of(header) or header.split(" / ")[0]

    # --- is every word accounted for? ---

    def _explains(self, found: Computation) -> bool:
        table = self.table
        measured = callable_words(table.header[found.measure], self.tokens) if found.measure is not None else ()
        ends = {span.end for span in self._phrases(*COMPUTED, "superlative", "latest", "earliest")}
        if any(span.start in ends for span in self._phrases("listing")):
            return False  # "the longest name"
        if found.asked is None and found.row is None and not names_moment(table) and self._loose() & MOMENTS:
            return False
        for at in range(len(self.tokens)):
            token = self.tokens[at]
            if (
                at in self.explained
                or (token in self.stop_words and token not in BY | NEGATIONS | EACH | BOUND)
                or token in BESIDE
                or token in measured
                or (len(token) == 1 and token.isalpha())
                or self._says_how_many(at, found)
            ):
                continue
            if token in MOMENTS | YEARS or (token in BY and found.operation == "top"):
                continue
            if self.bound is not None and (token in UNITS):
                continue
            if (
                found.measure is not None
                and not table.dated[found.measure]
                and any(is_verb_of(token, word) for word in measured)
            ):
                continue
            if token in DOING and (found.measure is None or not is_opposite(token, table.header[found.measure])):
                continue
            if (
                token in PERSONS | PERSON_NAMES
                and found.asked is not None
                and header_words(table.header[found.asked]) & (PERSONS | PERSON_NAMES)
            ):
                continue
            if token in PEOPLE and (found.measure is not None or not INHABITANTS.isdisjoint(self.around)):
                continue
            if not self._is_around(token):
                return False
            self.support += 1
        return True

    def _says_how_many(self, at: int, found: Computation) -> bool:
        """Whether a number is how many rows or columns are named: "the 2 branches North and West", "over the 3 years"."""
        numbers = {str(len(some)) for some in (found.columns, *(one.keys for one in found.conditions)) if len(some) > 1}
        behind = self._span_after(at + 1)
        return self.tokens[at] in numbers and (
            not YEARS.isdisjoint(self.tokens[at + 1 : at + 2]) or (behind is not None and bool(behind.headers))
        )

    def _is_around(self, token: str) -> bool:
        """Whether a word says where the table stands or what its rows are."""
        return any(may_name(token, word) for word in self.around)

    def _loose(self) -> set[str]:
        return {token for at, token in enumerate(self.tokens) if at not in self.explained}
