"""What speaks for a candidate as the answer to a question: words, numbers, names, what is asked for, and place. Pure.

Nothing here asks a model: all of it is counted from words that both have. A question word counts where it stands in the
candidate, and less where it stands only around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cairn.answer.answer_type import Asked, gives_definition, gives_reason, holds_asked, is_idle, read_asked
from cairn.answer.candidates import Candidate, TableRow
from cairn.domain.document import is_code_type
from cairn.domain.passage import Passage
from cairn.language.cells import plain_cell, tokens_of
from cairn.language.identify import by_words
from cairn.language.tables import Row, Table
from cairn.language.tokens import ALL_STOP_WORDS, WordIndex, spelled_terms
from cairn.language.tokens import terms as words_of

NEAR_WEIGHTS: Final = (1.0, 0.6, 0.5, 0.3)  # measured: tests/unit/test_edges_answer.py
"""Worth of a question word in the candidate, its headings or headers, the unit before, and the rest of the passage."""

FEATURES: Final = (
    "idf_direct", "idf_around", "fits", "misfits", "defines", "reasons", "label", "cell", "row", "row_fits", "retrieval",
    "matched", "code",
)  # fmt: skip
"""Columns of the matrix that `measure` makes; quotation_choice.py has the weight of each. Tried and left out, for they
changed nothing: place of the passage, place in the passage, length, names and numbers apart, words in a row, cosine of the
nearest chunk, cosine of the candidate (docs/adr/0042-one-quotation.md)."""
COLUMN: Final = {name: at for at, name in enumerate(FEATURES)}
Measured = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class QuestionTerms:
    """Words of the question, in order: `idf` over the candidates, `worth` (2: name or number, 1), and by each word of the
    passages which of them it is, and how far (0..1).

    `idle`: those that only say what kind of thing is asked for ("year", "largest", "amount"). `numbers` and `names` are places
    in `words`. `missing`: its names and numbers, as spelled there, that stand nowhere in
    the passages.
    """

    text: str
    words: tuple[str, ...]
    idf: NDArray[np.float64]
    worth: NDArray[np.float64]
    matches: Mapping[str, tuple[tuple[int, float], ...]]
    idle: NDArray[np.bool_]
    numbers: tuple[int, ...]
    names: tuple[int, ...]
    missing: tuple[str, ...]
    asked: Asked

    def held(self, words: Iterable[str]) -> NDArray[np.float64]:
        """How far each word of the question stands among these."""
        found = np.zeros(len(self.words))
        for word in words:
            for at, value in self.matches.get(word, ()):
                if value > found[at]:
                    found[at] = value
        return found


def question_terms(question: str, found: Sequence[Candidate]) -> QuestionTerms:
    """Inverse document frequency as in BM25, with candidates as documents; a word found nowhere weighs most."""
    spelled: dict[str, str] = {}
    names: set[str] = set()
    for place, (raw, word) in enumerate(spelled_terms(question)):
        spelled.setdefault(word, raw)
        if _is_name(raw, first=place == 0):
            names.add(word)
    words = tuple(spelled)
    index = WordIndex(frozenset[str]().union(*(c.words | c.lead | c.before for c in found)))
    close = [index.alike(word) for word in words]
    matches: dict[str, list[tuple[int, float]]] = {}
    for at, alike in enumerate(close):
        for word, value in alike.items():
            matches.setdefault(word, []).append((at, value))
    frequency = np.zeros(len(words))
    for candidate in found:
        seen = {at for word in candidate.words if word in matches for at, _ in matches[word]}
        frequency[list(seen)] += 1
    return QuestionTerms(
        question,
        words,
        np.log(1 + (len(found) - frequency + 0.5) / (frequency + 0.5)),
        np.array([2.0 if word in names else 1.0 for word in words]),
        {word: tuple(places) for word, places in matches.items()},
        np.array([is_idle(word) for word in words]),
        tuple(at for at, word in enumerate(words) if word[0].isdigit()),
        tuple(at for at, word in enumerate(words) if word in names and not word[0].isdigit()),
        tuple(spelled[word] for word, alike in zip(words, close, strict=True) if word in names and not alike),
        read_asked(question),
    )


def _is_name(raw: str, *, first: bool) -> bool:
    """Capitalised, except as the first word, or with a digit or underscore. German nouns all count: it does no harm."""
    return any(c.isdigit() or c == "_" for c in raw) or any(c.isupper() for c in raw[first:])


def measure(terms: QuestionTerms, found: Sequence[Candidate], passages: Sequence[Passage]) -> Measured:
    """A row for each candidate, a column for each of FEATURES."""
    inside = words_inside(terms, found)
    best = max((passage.score for passage in passages), default=0.0)
    leads: dict[frozenset[str], Measured] = {}
    table = np.zeros((len(found), len(FEATURES)))
    for at, candidate in enumerate(found):
        if candidate.lead not in leads:
            leads[candidate.lead] = terms.held(candidate.lead)
        direct = terms.held(candidate.words)
        around = words_around(terms, candidate, direct, leads[candidate.lead], inside[candidate.rank])
        table[at] = _measure_one(terms, candidate, passages[candidate.rank], direct, around, best)
    return table


def words_inside(terms: QuestionTerms, found: Sequence[Candidate]) -> dict[int, Measured]:
    """How far each word of the question stands in each passage, by its rank."""
    whole: dict[int, set[str]] = {}
    for candidate in found:
        whole.setdefault(candidate.rank, set()).update(candidate.words, candidate.lead)
    return {rank: terms.held(words) for rank, words in whole.items()}


def words_around(
    terms: QuestionTerms, candidate: Candidate, direct: Measured, lead: Measured, inside: Measured
) -> Measured:
    """How far each word of the question stands in the candidate and around it."""
    places = (direct, lead, terms.held(candidate.before), inside)
    found: Measured = np.max([share * held for share, held in zip(NEAR_WEIGHTS, places, strict=True)], axis=0)
    return found


def _measure_one(
    terms: QuestionTerms, candidate: Candidate, passage: Passage, direct: Measured, around: Measured, best: float
) -> Sequence[float]:
    fits = holds_asked(terms.asked, terms.text, candidate.text, candidate.words)
    row = candidate.cells is not None
    return (
        share(terms.idf, direct),
        share(terms.idf, around),
        float(fits is True),
        float(fits is False),
        float(terms.asked.definition and _defines(terms, candidate)),
        float(terms.asked.reason and gives_reason(candidate.text, by_words(terms.text))),
        *_row(terms, candidate),
        float(row),
        float(row and fits is True),
        passage.score / best if best else 0.0,
        float(_in_chunk(passage, candidate)),
        float(candidate.unit.kind == "code" and not terms.asked.way and not is_code_type(passage.media_type)),
    )


def share(weights: Measured, held: Measured) -> float:
    """Weighted mean of what is held; 0 where nothing weighs."""
    mass = float(weights.sum())
    return float(weights @ held) / mass if mass else 0.0


def adjacent(terms: QuestionTerms, sequence: Sequence[str]) -> float:
    """Of pairs of words that stand together in the question, the share that stands together in the candidate."""
    if len(terms.words) < 2:
        return 0.0
    pairs: set[int] = set()
    last: tuple[tuple[int, float], ...] = ()
    for word in sequence:
        here = terms.matches.get(word, ())
        pairs.update(at for at, _ in last if any(other == at + 1 for other, _ in here))
        last = here
    return len(pairs) / (len(terms.words) - 1)


def _row(terms: QuestionTerms, candidate: Candidate) -> tuple[float, float]:
    """Of a row: how well its label is what the question asks about beside the column it names (harmonic mean of the shares of
    words that both have), and whether it names one with a value in this row."""
    if candidate.cells is None:
        return 0.0, 0.0
    row = candidate.cells.row
    columns, named = asked_columns(candidate.cells, terms)
    label = terms.held(words_of(row.label))
    inside = np.maximum(label, terms.held(words_of(row.group)))
    rest = terms.worth * (1 - np.minimum(named, 1)) * ~terms.idle
    coverage = float(rest @ inside) / mass if (mass := float(rest.sum())) else 0.0
    words = words_of(row.label)
    precision = sum(max((v for _, v in terms.matches.get(word, ())), default=0.0) for word in words) / max(
        len(words), 1
    )
    both = coverage + precision
    return (2 * coverage * precision / both if both else 0.0), float(columns is not None)


def asks_for_column(terms: QuestionTerms) -> bool:
    """Whether the answer is a header: "in which year was it the largest?"."""
    return terms.asked.time and terms.asked.extreme != 0


def _extreme(cells: TableRow, values: Sequence[int], sign: int) -> int | None:
    """The column of a year or date with the largest (1) or smallest (-1) value; None where there are not two to compare."""
    header = cells.table.header
    dated = {at: _number(cells.row.cells[at]) for at in values if at < len(header) and _DATED.search(header[at])}
    read = {at: number for at, number in dated.items() if number is not None}
    return max(read, key=lambda at: sign * read[at]) if len(read) > 1 else None


_DATED: Final = re.compile(r"\d")
_VALUE: Final = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


def _number(cell: str) -> float | None:
    """A value as reports write it: "$ 1,452.4", "(12.5)" for a negative one."""
    found = _VALUE.search(cell)
    if found is None:
        return None
    value = float(found.group().replace(",", ""))
    return -value if "(" in cell[: found.start()] or "-" in cell[: found.start()] else value


def asked_columns(cells: TableRow, terms: QuestionTerms) -> tuple[list[int] | None, Measured]:
    """The columns that the question names (a year, a quarter, a region) with a value in this row, and the words by which; None
    where it names none, or all alike."""
    row, header = cells.row, cells.table.header
    values = [at for at in range(1, len(row.cells)) if row.cells[at]]
    if asks_for_column(terms) and (extreme := _extreme(cells, values, terms.asked.extreme)) is not None:
        return [extreme], np.zeros(len(terms.words))
    in_label = terms.held(words_of(f"{row.group} {row.label}"))
    nothing = np.zeros(len(terms.words))
    held = {at: terms.held(words_of(header[at])) if at < len(header) else nothing for at in values}
    worth = {at: float(terms.worth @ (words * (words > in_label))) for at, words in held.items()}
    best = max(worth.values(), default=0.0)
    wanted = [at for at in values if worth[at] == best]
    if best <= 0 or (len(wanted) == len(values) > 1):
        return None, nothing
    return wanted, held[wanted[0]] * (held[wanted[0]] > in_label)


def conditions_in(table: Table, terms: QuestionTerms) -> dict[int, tuple[str, ...]]:
    """What the question says of columns, by words of cells: "MaxFileSize is 42M", "Port: 22"."""
    said = tokens_of(terms.text)
    found: dict[int, tuple[str, ...]] = {}
    for at, header in enumerate(table.header):
        name = tokens_of(plain_cell(header))
        ends = [end for end in range(len(name), len(said)) if name and said[end - len(name) : end] == name]
        if not ends:
            continue
        cells = {tuple(tokens_of(plain_cell(row.cells[at]))) for row in table.rows if at < len(row.cells)} - {()}
        behind = [begin for end in ends for begin in _begins(said, end)]
        held = {cell for cell in cells for begin in behind if tuple(said[begin : begin + len(cell)]) == cell}
        if held:
            found[at] = max(held, key=len)
    return found


def _begins(said: Sequence[str], end: int) -> Iterator[int]:
    """Where a value may begin behind the name of its column: at once, or behind words that say nothing, "is", "has the"."""
    for begin in range(end, len(said)):
        yield begin
        if said[begin] not in ALL_STOP_WORDS:
            return


def meets(row: Row, conditions: Mapping[int, tuple[str, ...]]) -> bool:
    return all(tuple(tokens_of(plain_cell(row.cells[at]))) == said for at, said in conditions.items())


def _says(terms: QuestionTerms, cell: str) -> bool:
    """Whether the question has what a cell says: "an 84M file"."""
    words, said = tokens_of(plain_cell(cell)), tokens_of(terms.text)
    return any(said[at : at + len(words)] == words for at in range(len(said))) if words else False


def wanted_columns(cells: TableRow, terms: QuestionTerms) -> list[int] | None:
    """The same as `asked_columns`, but those that the question says itself, where it names others as well."""
    columns, _ = asked_columns(cells, terms)
    if not columns or not (said := conditions_in(cells.table, terms)) or not meets(cells.row, said):
        return columns
    left = tuple("" if at and (at in said or _says(terms, cell)) else cell for at, cell in enumerate(cells.row.cells))
    others, _ = asked_columns(TableRow(cells.table, replace(cells.row, cells=left)), terms)
    return others or columns


def _defines(terms: QuestionTerms, candidate: Candidate) -> bool:
    """Whether it begins with what is asked about, alone, and then says what that is; or follows it as its own line or heading."""
    if _follows_term(terms, candidate):
        return True
    asked = 0
    for word in candidate.sequence:
        if word not in terms.matches:
            break
        asked += 1
    return asked > 0 and gives_definition(candidate.text[: DEFINED_BY * (asked + 1)])


def _follows_term(terms: QuestionTerms, candidate: Candidate) -> bool:
    """Whether it stands below what is asked about: as manuals say what an option or setting does."""
    line = _TERM_LINE.match(candidate.text)
    name = frozenset(words_of(line[1])) if line else candidate.before & candidate.lead
    if not name or (line is None and name != candidate.before):
        return False
    return sum(word in terms.matches for word in name) >= OF_TERM * len(name)


_TERM_LINE: Final = re.compile(r"([^\n]{1,80})\n(?=[ ]{3}|[ ]{0,2}\t)[ \t]*+\S")
"""A line of its own, and below it, indented, what is said of it."""
OF_TERM: Final = 0.5  # measured: tests/unit/test_edges_answer.py
"""Share of the words of a term that the question must have: "max_connections (integer)"."""
DEFINED_BY: Final = 20  # measured: tests/unit/test_edges_answer.py
"""Characters for each word of what is defined, and after it, within which a definition says "is a"."""


def _in_chunk(passage: Passage, candidate: Candidate) -> bool:
    if passage.matched is None:
        return False
    start, end = passage.start + candidate.unit.start, passage.start + candidate.unit.end
    return passage.matched[0] < end and start < passage.matched[1]
