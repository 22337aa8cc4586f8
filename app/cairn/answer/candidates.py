"""What of the passages can be quoted as an answer: sentences, list items, rows of tables, blocks of code. Pure.

A sentence like "It was founded in 1990" owes its subject to its neighbours, and a row its meaning to its headers, so each
candidate knows the words of what stands around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from cairn.domain.document import is_code_type
from cairn.domain.passage import Passage
from cairn.language.lexicon import any_of
from cairn.language.linear import bounded
from cairn.language.numbers import quantities
from cairn.language.sentences import Unit, split_units
from cairn.language.tables import Row, Table, tables_in
from cairn.language.tokens import terms

FEWEST_WORDS: Final = 3  # measured: tests/unit/test_edges_answer.py
"""Of a line without a full stop that can be quoted: shorter ones are labels, page numbers and remains of layout."""
SHOWN_LEADS: Final = 3  # bound: tests/unit/test_edges_answer.py
LONGEST_LEAD: Final = 200  # bound: tests/unit/test_edges_answer.py
RUN_IN: Final = 7  # measured: tests/unit/test_edges_answer.py
"""Level of a heading that stands in its paragraph, or of a term that is defined, below all other headings."""
ANNOUNCES: Final = 8  # measured: tests/unit/test_edges_answer.py
"""Level of what announces a list, below all headings."""


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row with the table that it stands in."""

    table: Table
    row: Row


@dataclass(frozen=True, slots=True)
class Candidate:
    """A unit of a passage that may be an answer. `unit` counts from the start of the passage's content.

    `sequence`: its words of content in order; `lead`: those of the title, headings, headers and announcements above it;
    `before`: of the unit before it; `label`: of a row, those of its first cell. `path` is what stands above it, as text.
    `cells` is set of rows.
    """

    rank: int
    unit: Unit
    text: str
    sequence: tuple[str, ...]
    words: frozenset[str]
    lead: frozenset[str]
    before: frozenset[str]
    path: str
    label: frozenset[str] = frozenset()
    cells: TableRow | None = None

    @property
    def announces(self) -> bool:
        """Whether it says nothing without what is shown behind it."""
        return self.cells is None and self.text.endswith(":")

    @property
    def in_context(self) -> str:
        """The unit under its headings: what is embedded, for "It costs 400 euros." says nothing by itself."""
        return f"{self.path}: {self.text}" if self.path else self.text

    def under(self, title: str) -> str:
        """The unit under the title and its headings, where those do not have it: each page of a site has a section "Fees"."""
        return self.in_context if title in self.path else f"{title}. {self.in_context}"


def candidates(passages: Sequence[Passage]) -> list[Candidate]:
    """Units that could answer, in the order of the passages; each place of a document and each wording once."""
    found: dict[object, Candidate] = {}
    wordings: set[str] = set()
    for rank, passage in enumerate(passages):
        for candidate in _units(rank, passage):
            place = (passage.document_id, passage.version, passage.start + candidate.unit.start)
            known = found.get(place)
            wording = candidate.text if candidate.cells is None else f"{candidate.path}: {candidate.text}"
            # of neighbours that overlap, one may hold only the beginning of the sentence
            if len(candidate.text) > (len(known.text) if known else 0) and wording not in wordings:
                found[place] = candidate
                wordings.add(wording)
    return list(found.values())


def _units(rank: int, passage: Passage) -> Iterator[Candidate]:
    content = passage.content
    titles = frozenset(terms(" ".join((passage.title, *passage.headings))))
    above = {-depth: heading for depth, heading in enumerate(reversed(passage.headings))}
    before, path = titles, list[str]()
    lead: frozenset[str] | None = None  # words of the path, which stays the same for many units
    ordered = list(_in_order(content, code=is_code_type(passage.media_type)))
    for at, (unit, cells) in enumerate(ordered):
        text = content[unit.start : unit.end]
        if cells is not None:
            if not cells.row.is_group:
                yield _row(rank, unit, text, cells, titles, _path(above), before)
            continue
        sequence = tuple(terms(text))
        own = frozenset(sequence)
        level = _leads(unit, text, content)
        follows = ordered[at + 1][0] if at + 1 < len(ordered) else None
        below = at > 0 and ordered[at - 1][0].kind == "heading"
        if (not level or _announces(passage, unit, text, follows)) and not _is_fragment(
            passage, unit, text, below_heading=below
        ):
            if lead is None:
                path = _path(above)
                lead = titles.union(*map(terms, path))
            yield Candidate(rank, unit, text, sequence, own, lead, before, ". ".join(path)[-LONGEST_LEAD:])
        if level:
            above = {depth: heading for depth, heading in above.items() if depth < level} | {level: text}
            lead = None
        before = own


def _in_order(content: str, *, code: bool) -> Iterator[tuple[Unit, TableRow | None]]:
    """Units of the text; in place of the lines of a table its rows. What stands in a frame of one column is text."""
    tables = [] if code else tables_in(content)
    done = 0
    for unit in _with_what_they_say(content, split_units(content, code=code)):
        while done < len(tables) and tables[done].span[0] < unit.end:
            yield from _rows(tables[done])
            done += 1
        if unit.kind == "code" or not any(t.span[0] < unit.end and unit.start < t.span[1] for t in tables):
            yield unit, None


_WORD_ALONE: Final = re.compile(r"(?:[^\n]{1,80}?\s{0,4}[:\u2013\u2014-]\s{1,4})?[*_(]?([^\W\d_]{2,30})\.[)*_]?")
"""A sentence of one word, perhaps behind the name that it says it of: "Optional.", "`path`: Optional."."""
_SWITCHED: Final = bounded(rf"(?:{any_of(lambda one: one.asked.switched)})", re.IGNORECASE)
"""Yes, no, and what is told in their place, which the next sentence says in full."""


def _with_what_they_say(content: str, units: Sequence[Unit]) -> Iterator[Unit]:
    """Units, each sentence of one word that begins an item or paragraph one with the next: "Optional. Where copies are kept."
    is an entry, and its first word no answer."""
    opened: Unit | None = None
    for unit in units:
        if opened is not None and unit.kind == opened.kind and _goes_on(content, opened, unit):
            yield Unit(opened.start, unit.end, unit.kind)
            opened = None
            continue
        if opened is not None:
            yield opened
        text = content[unit.start : unit.end]
        begins = unit.kind in ("prose", "item") and not content[
            content.rfind("\n", 0, unit.start) + 1 : unit.start
        ].strip(_MARKS)
        word = _WORD_ALONE.fullmatch(text) if begins else None
        opened = unit if word and not _SWITCHED.fullmatch(word[1]) else None
        if opened is None:
            yield unit
    if opened is not None:
        yield opened


def _goes_on(content: str, one: Unit, other: Unit) -> bool:
    gap = content[one.end : other.start]
    return gap.isspace() and "\n\n" not in gap


_MARKS: Final = " \t>-+*:.()0123456789\u2022"
"""What stands before an item, a quotation or what is said of a term."""


def _rows(table: Table) -> Iterator[tuple[Unit, TableRow | None]]:
    for row in table.rows:
        framed = len(row.cells) == 1
        yield Unit(row.start, row.end, "prose" if framed else "row"), None if framed else TableRow(table, row)


def _path(above: dict[int, str]) -> list[str]:
    return list(dict.fromkeys(above[depth] for depth in sorted(above)))[-SHOWN_LEADS:]


def _row(
    rank: int, unit: Unit, text: str, cells: TableRow, titles: frozenset[str], path: list[str], before: frozenset[str]
) -> Candidate:
    """A row with its group: the words of its headers count as what stands above it."""
    row, header = cells.row, " ".join(filter(None, cells.table.header))
    told = " ".join(filter(None, (row.group, *row.cells)))
    sequence = tuple(terms(told))
    lead = titles.union(terms(header), *(terms(text) for text in path))
    label = frozenset(terms(f"{row.group} {row.label}"))
    shown = ". ".join((*path, header))[-LONGEST_LEAD:]
    return Candidate(rank, unit, text, sequence, frozenset(sequence), lead, before, shown, label, cells)


def _leads(unit: Unit, text: str, content: str) -> int:
    """Level of a heading; below all of them a question, or a line that announces a list; 0 for other units.

    They say what the next units are about, and answer nothing themselves.
    """
    if unit.kind == "heading":
        line = content[content.rfind("\n", 0, unit.start) + 1 : unit.start]
        return line.count("#") or RUN_IN
    if unit.kind in ("row", "code"):
        return 0
    if is_run_in(text):
        return RUN_IN
    return ANNOUNCES if text.rstrip("\"'”’»)*_ ").endswith(("?", "？", ":")) else 0


def _announces(passage: Passage, unit: Unit, text: str, follows: Unit | None) -> bool:
    """Whether it says in words what the list, code or table behind it shows, with which it is one. Behind the end of a passage
    that stands in its document."""
    ends = follows is None and passage.url is None
    if unit.kind not in ("prose", "item") or not (ends or (follows and follows.kind in ("item", "code", "row"))):
        return False
    return text.endswith(":") and len(text.split()) >= FEWEST_WORDS


LONGEST_RUN_IN: Final = 210  # bound: tests/unit/test_edges_answer.py
_RUN_IN: Final = re.compile(r"\*\*[^*\n]+\*\*[.:]?|__[^_\n]+__[.:]?")


def is_run_in(text: str) -> bool:
    """Whether a unit is a heading that stands at the beginning of its paragraph: "**Passages and chunks.** A passage is ...", or
    a term."""
    return len(text) <= LONGEST_RUN_IN and _RUN_IN.fullmatch(text) is not None


_SENTENCE_END: Final = re.compile(r"[.!?…。！？:;][\"'”’“»)\]*_\d\[]*\Z")


def _is_fragment(passage: Passage, unit: Unit, text: str, *, below_heading: bool) -> bool:
    """Cut off by the start or end of the passage, or too little to be understood; an amount below a heading is not: "13 EUR"."""
    if unit.kind == "code":
        return False
    if unit.start == 0 and passage.start > 0 and text[0].islower():
        return True
    if _is_chart(text) or _LINKS_ONLY.fullmatch(text):
        return True
    if unit.kind != "prose" or _SENTENCE_END.search(text):
        return not any(c.isalpha() for c in text)
    return len(text.split()) < FEWEST_WORDS and not (below_heading and any(one.unit for one in quantities(text)))


_LINKS_ONLY: Final = re.compile(r"(?:(?:\[[^\[\]\n]*\]:[ ]+\S+|\[[^\[\]\n]*\]\(#[^()\s]*\))(?:\s+|\Z))+")
"""Where links lead to, and entries of a table of contents: they lead to what is said, and say nothing."""

CHART_LINES: Final = 6  # measured: tests/unit/test_edges_answer.py
"""Lines from which on text may be what is printed in a chart: the names of its axes and its values."""
CHART_NUMBERS: Final = 1 / 3  # measured: tests/unit/test_edges_answer.py
"""Share of them without a letter."""


def _is_chart(text: str) -> bool:
    """Whether most lines are a few words, and many only numbers: the labels of a chart, read one after the other."""
    lines = [line.split() for line in text.splitlines()]
    if len(lines) < CHART_LINES:
        return False
    numbers = sum(not any(map(str.isalpha, "".join(line))) for line in lines)
    return numbers >= CHART_NUMBERS * len(lines) and 2 * sum(len(line) <= FEWEST_WORDS for line in lines) > len(lines)
