"""Whether one row of a table can be the answer, where a question asks for something that is made of several. Pure.

What is not computed may still be looked up, and a cell is no sum, no average and no count of rows, and the first of many rows is
not the one with the most.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile, pairwise
from typing import Final

from cairn.answer.candidates import Candidate, TableRow
from cairn.answer.evidence import Measured, QuestionTerms, asked_columns, conditions_in, meets
from cairn.domain.computation import MOST_LISTED
from cairn.language.cells import plain_cell, read_day, tokens_of
from cairn.language.identify import by_words, likely_language
from cairn.language.lexicon import Language, language
from cairn.language.tables import Row
from cairn.language.text import fold
from cairn.language.tokens import ALL_STOP_WORDS, same_word
from cairn.language.tokens import terms as words_of

_CHOOSING: Final = ("highest", "lowest", "superlatives", "sum", "count")
"""Operations that a single row may answer, where the question says which: "total visitors in February"."""
_BEST: Final = ("highest", "lowest", "superlatives")
_BOUNDS: Final = ("more", "less", "at_least", "at_most", "comparatives")
_JOINING: Final = ("average", "difference", "growth", "share", "moved")
"""Those that no row answers unless it says so itself: "Average price"."""


def row_called_so(order: Sequence[int], found: Sequence[Candidate], terms: QuestionTerms) -> int | None:
    """The best row whose label is a name with digits or signs that the question has, "v2.0.0", "SIGUSR2", "max_size", where what
    is best is another row of its table, or where nothing else is asked about: words that are like it do not make up for it.
    Else the best one of its table that is what the question says of its columns, or that is called by more of its words."""
    if (called := _with_such_name(order, found, terms)) is not None or found[order[0]].cells is None:
        return called
    for choose in (_with_such_cells, _with_exact_cell, _with_longer_label):
        if (row := choose(order, found, terms)) is not None:
            return row
    return None


def _with_exact_cell(order: Sequence[int], found: Sequence[Candidate], terms: QuestionTerms) -> int | None:
    """ "Default HTTP", where the best row has "Default HTTPS" and the question only the other; and the row of which a cell is the
    name that the question has, where the best one only speaks of it: "Use CONSUMER_DELAY"."""
    best = found[order[0]].cells
    assert best is not None
    said, ours = tokens_of(terms.text), [tokens_of(plain_cell(cell)) for cell in best.row.cells]
    named = {one for one in map(_as_name, terms.text.split()) if _NAME.search(one)}
    held = {one for one in named if any(_stands(words, tuple(tokens_of(one))) for words in ours)}
    named = held - _names_in(best.row)
    for at, row in _of_its_table(order, found):
        if not named.isdisjoint(_names_in(row)):
            return at
        for cell, mine in zip(row.cells, ours, strict=False):
            words = tuple(tokens_of(plain_cell(cell)))
            if _is_like(words, mine) and _stands(said, words) and not _stands(said, tuple(mine)):
                return at
    return None


def _names_in(row: Row) -> set[str]:
    """What its cells are without markup."""
    return {plain_cell(cell).casefold() for cell in row.cells}


def _is_like(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether one is the other but for the ends of words."""
    pairs = [*zip(words, others, strict=False)]
    return bool(words) and len(words) == len(others) and all(one == two or same_word(one, two) for one, two in pairs)


def _with_such_cells(order: Sequence[int], found: Sequence[Candidate], terms: QuestionTerms) -> int | None:
    """ "If MaxFileSize is 42M and MaxScanSize is 84M", where the best has the two the other way round."""
    cells = found[order[0]].cells
    assert cells is not None
    said = conditions_in(cells.table, terms)
    if len(said) < _SEVERAL or meets(cells.row, said):
        return None
    return next((at for at, row in _of_its_table(order, found) if meets(row, said)), None)


def _with_longer_label(order: Sequence[int], found: Sequence[Candidate], terms: QuestionTerms) -> int | None:
    """ "Small Crossfade", where the best is "Crossfade" and the question says that in no other place."""
    cells = found[order[0]].cells
    assert cells is not None
    said, short = tokens_of(terms.text), tuple(tokens_of(plain_cell(cells.row.label)))
    if not short or not _stands(said, short):
        return None
    longest, at_longest = short, None
    for at, row in _of_its_table(order, found):
        label = tuple(tokens_of(plain_cell(row.label)))
        if len(label) > len(longest) and _stands(label, short) and _times(said, label) == _times(said, short):
            longest, at_longest = label, at
    return at_longest


def _of_its_table(order: Sequence[int], found: Sequence[Candidate]) -> Iterator[tuple[int, Row]]:
    """The rows of the table of the best one, with their places."""
    best = found[order[0]]
    for at in order[1:]:
        if (
            (cells := found[at].cells)
            and best.cells
            and found[at].rank == best.rank
            and cells.table is best.cells.table
        ):
            yield at, cells.row


def _times(said: Sequence[str], words: tuple[str, ...]) -> int:
    return sum(tuple(said[at : at + len(words)]) == words for at in range(len(said) - len(words) + 1))


_SEVERAL: Final = 2  # measured: tests/unit/test_row_asked.py
"""Cells that are said of the row that is meant; one alone is found by its words."""


def _with_such_name(order: Sequence[int], found: Sequence[Candidate], terms: QuestionTerms) -> int | None:
    best = found[order[0]]
    named = {one for one in map(_as_name, terms.text.split()) if _NAME.search(one)}
    if not named or (best.cells is not None and _as_name(best.cells.row.label) in named):
        return None
    for at in order[1:]:
        if (cells := found[at].cells) is None or _as_name(cells.row.label) not in named:
            continue
        if best.cells is None:
            if bool((terms.held(found[at].label)[~terms.idle] > 0).all()):
                return at
        elif cells.table.header == best.cells.table.header and found[at].path == best.path:
            return at
    return None


def _as_name(text: str) -> str:
    """Without markup and what stands around it in a sentence."""
    return plain_cell(text.strip(_AROUND)).casefold()


_AROUND: Final = " .,;:!?¿¡()[]\"'“”„«»’"
_NAME: Final = re.compile(r"[^\W\d_][\w.+-]{0,40}[\d_]|\d[\w.+-]{0,40}[^\W\d_]|\w[.:/-]\w")
"""Of letters and digits, or joined by a sign."""


def is_one_of_many(terms: QuestionTerms, best: Candidate) -> bool:
    """Whether the row is at most a part of what is asked for: a sum, an average, the most, "per trip", "without Lyon"; or what
    others are compared with."""
    asked = terms.asked
    if best.cells is None or asked.time or asked.reason:
        return False
    spoken = language(by_words(terms.text) or likely_language(terms.text))
    said, above = tokens_of(terms.text), " ".join((*best.cells.table.header, best.cells.row.group))
    row = {*tokens_of(f"{above} {best.text}")}
    explains = asked.definition and not (asked.number or asked.money)  # "What does SLA mean?"
    told = row.union(tokens_of(best.path))
    if _compares_another(spoken, said, told, terms, best.cells):
        return True
    if asked.person:
        return bool(_beyond(spoken, said, ("superlatives",), told))  # "Who is the youngest?"
    if _asks_several(spoken, said, told) or _is_yardstick(spoken, said, told, best):
        return True
    adding = {fold(word) for words in _phrases(spoken, "sum") for word in words}
    choosing = {word for start, end in _places_of_best(spoken, said, told) for word in said[start:end]}
    return (
        bool(_beyond(spoken, said, _JOINING[explains:], told))
        or _leaves_out(spoken, said, told)
        or _divides(spoken, said, best)
        or ("count" in _beyond(spoken, said, ("count",), told) and _holds_no_number(terms, best.cells))
        or (bool(_beyond(spoken, said, _CHOOSING, told)) and _is_like_another(terms, best.cells, adding, choosing))
        or _is_other_total(terms, best, adding)
    )


def _beyond(spoken: Language, said: Sequence[str], names: Sequence[str], told: set[str]) -> list[str]:
    """Operations of which the question has a phrase, and the row with what stands above it has not all its words."""
    return [name for name in names if any(True for _ in _places(spoken, said, name, told))]


def _places(spoken: Language, said: Sequence[str], name: str, told: set[str]) -> Iterator[tuple[int, int]]:
    """Where such phrases begin and end."""
    for words in _phrases(spoken, name):
        for at in range(len(said) - len(words) + 1):
            if tuple(said[at : at + len(words)]) == words and not told.issuperset(words):
                yield at, at + len(words)


def _places_of_best(spoken: Language, said: Sequence[str], told: set[str]) -> Iterator[tuple[int, int]]:
    for name in _BEST:
        yield from _places(spoken, said, name, told)


def _compares_another(
    spoken: Language, said: Sequence[str], told: set[str], terms: QuestionTerms, cells: TableRow
) -> bool:
    """Whether another row is named with this one, and it is asked which has more: "Who pays more, Strand or Menon?"."""
    arithmetic = spoken.arithmetic
    alone = (words[:-1] for words in _phrases(spoken, "comparatives") if words[-1] in arithmetic.than)
    asked = not (arithmetic.higher | arithmetic.lower).isdisjoint({*said} - told) or any(
        told.isdisjoint(words) and _stands(said, words) for words in alone
    )
    if not asked:
        return False
    ours = {*words_of(" ".join(cells.row.cells))}
    behind = [
        [*dropwhile(ALL_STOP_WORDS.__contains__, said[at + 1 :])]
        for at, word in enumerate(said) if word in arithmetic.than
    ]  # fmt: skip
    others = (row for row in cells.table.rows if row is not cells.row)
    return any(
        _is_named(terms, cell, ours) and _is_compared(terms, cells.row, at, cell, behind)
        for row in others
        for at, cell in enumerate(row.cells)
    )


def _is_compared(terms: QuestionTerms, found: Row, at: int, cell: str, behind: Sequence[Sequence[str]]) -> bool:
    """Whether a cell of another row, which the question names, names that row: as its label, `behind` "than", or as the one that
    was found is named, by the same column. Any other cell may be what is asked of this one: "Is the canteen no longer open?"."""
    words = tokens_of(cell)
    return (
        at == 0
        or any(words == one[: len(words)] for one in behind)
        or (at < len(found.cells) and _is_named(terms, found.cells[at], {*words_of(cell)}))
    )


def _stands(said: Sequence[str], words: tuple[str, ...]) -> bool:
    return any(tuple(said[at : at + len(words)]) == words for at in range(len(said) - len(words) + 1))


def _is_named(terms: QuestionTerms, cell: str, ours: set[str]) -> bool:
    """Whether the question has all words of a cell, and none of them is of what it is told from."""
    words = {*words_of(cell)}
    return bool(words) and words.isdisjoint(ours) and words <= terms.matches.keys() and not _has_digit([cell])


def _asks_several(spoken: Language, said: Sequence[str], told: set[str]) -> bool:
    """ "The two most visited", "which two have the most", "top 3"."""
    best = [at - 1 for at, _ in _places_of_best(spoken, said, told)]
    behind = [end for name in ("top", "bottom") for _, end in _places(spoken, said, name, told)]
    behind += [end for _, end in _places(spoken, said, "listing", set()) if best]
    return any(0 <= at < len(said) and _is_several(spoken, said[at]) for at in (*best, *behind))


def _is_several(spoken: Language, word: str) -> bool:
    return spoken.numbers.words.get(word, 0) > 1 or (word.isdigit() and 1 < int(word) <= MOST_LISTED)


def _is_yardstick(spoken: Language, said: Sequence[str], told: set[str], best: Candidate) -> bool:
    """Whether the row is what others are compared with, "cheaper than Aurora", or has the number that they are to be above, or
    several are counted that are."""
    assert best.cells is not None
    ends = {end for name in _BOUNDS for _, end in _places(spoken, said, name, told)}
    counts = bool(_beyond(spoken, said, ("count",), told))
    arithmetic, asks = spoken.arithmetic, counts or bool(_beyond(spoken, said, ("listing",), set()))
    thans = {
        at + 1 for at, word in enumerate(said)
        if word in arithmetic.than - told and (asks or not (arithmetic.higher | arithmetic.lower).isdisjoint(said[:at]))
    }  # fmt: skip
    label, numbers = tokens_of(best.cells.row.label), {word for word in tokens_of(best.text) if word.isdigit()}
    for at in ends | thans:
        behind = [*dropwhile(ALL_STOP_WORDS.__contains__, said[at:])]
        if label and behind[: len(label)] == label:
            return True
        if behind and behind[0][0].isdigit() and (counts or behind[0] in numbers):
            return not _is_of_range(spoken, best.text)
    return False


def _is_of_range(spoken: Language, text: str) -> bool:
    """Whether a row is of numbers from one to another: "> 20 km", "10–20", "5 years or more", "2 to 4"."""
    row = tokens_of(text)
    between = {words[-1] for words in _phrases(spoken, "ranges")}
    ranged = any(
        word in between and one[0].isdigit() and other[0].isdigit()
        for one, word, other in zip(row, row[1:], row[2:], strict=False)
    )
    return ranged or bool(_beyond(spoken, row, _BOUNDS, set())) or bool(_LIMIT.search(text))


_LIMIT: Final = re.compile(r"[<>≥≤]|\d\+|\d\s?–\s?\d")


def _leaves_out(spoken: Language, said: Sequence[str], told: set[str]) -> bool:
    """ "Without Lyon", of a row that denies nothing; "left", of one that does not say so."""
    negations = spoken.arithmetic.bound & spoken.claims.negations
    apart = not negations.isdisjoint(said) and negations.isdisjoint(told)
    return apart or not (spoken.arithmetic.remaining - told).isdisjoint(said)


def _divides(spoken: Language, said: Sequence[str], best: Candidate) -> bool:
    """ "Per trip", of a row that has nothing per trip, or "two visits", of what one costs; of a "Monthly fee" it may be "per
    month"."""
    assert best.cells is not None
    arithmetic, header = spoken.arithmetic, best.cells.table.header
    each = arithmetic.each & arithmetic.ratios
    texts = [tokens_of(text) for text in (*header, best.cells.row.group, best.text, best.path)]
    row = {word for text in texts for word in text}
    of_one = {after for text in texts for word, after in pairwise(text) if word in each | arithmetic.per}
    kin = [{*group} for group in _phrases(spoken, "kin")]
    often = {word for word in arithmetic.stretches & {*said} if any(word in one and one & row for one in kin)}
    apart = any(word in each and not _is_among(after, of_one | often) for word, after in pairwise(said))
    several = any(
        _is_several(spoken, word) and word not in row and _is_among(after, of_one) for word, after in pairwise(said)
    )
    return several or (apart and not any("/" in one for one in header))


def _is_among(word: str, words: set[str]) -> bool:
    """In singular or plural."""
    return any(word == one or same_word(word, one) for one in words)


def _holds_no_number(terms: QuestionTerms, cells: TableRow) -> bool:
    """Whether all that the question asks for of the row is a date, or stands where no row has a number: "Karl Voss"."""
    columns, _ = asked_columns(cells, terms)
    return columns is not None and all(
        read_day(cells.row.cells[at]) or not any(_has_digit(row.cells[at : at + 1]) for row in cells.table.rows)
        for at in columns
    )


def _has_digit(cells: Sequence[str]) -> bool:
    return any(char.isdigit() for cell in cells for char in cell)


def _is_other_total(terms: QuestionTerms, best: Candidate, adding: set[str]) -> bool:
    """Whether nothing but "total" of the question stands in the row and above it: it may be the total of anything."""
    held = terms.held(best.words | best.lead)
    others = [bool(held[at]) for at, word in enumerate(terms.words) if word not in adding and not terms.idle[at]]
    return bool(others) and not any(others) and not adding.isdisjoint(terms.words)


def _words(phrase: str) -> tuple[str, ...]:
    return tuple(tokens_of(phrase))


def _phrases(spoken: Language, name: str) -> Iterable[tuple[str, ...]]:
    if name == "superlatives":
        return [_words(one) for entry in spoken.arithmetic.superlatives for one in (*entry.highest, *entry.lowest)]
    if name == "comparatives":
        return [_words(one) for entry in spoken.arithmetic.superlatives for one in (*entry.more, *entry.less)]
    return map(_words, getattr(spoken.arithmetic, name))


def _is_like_another(terms: QuestionTerms, cells: TableRow, adding: set[str], choosing: set[str]) -> bool:
    """Whether another row has all that this one has of the question, with a label that says no more besides; or the question
    names another one, too: "from January to March". `adding`: words that name none; `choosing`: that say which is wanted, "the
    longest", and are none of the row's, "Long Beach"."""
    rows = cells.table.header[0] if cells.table.header else ""  # "Which is the most visited museum?", of "Rail Museum"
    ours, label = _agreement(terms, cells.row, rows, choosing)
    for row in cells.table.rows:
        if row is cells.row or row.is_group:
            continue
        held, called = _agreement(terms, row, rows, choosing)
        named = called == 1 and bool((terms.held({*words_of(row.label)} - adding) > ours).any())
        if named or (bool((held >= ours).all()) and called >= label):
            return True
    return False


def _agreement(terms: QuestionTerms, row: Row, rows: str, choosing: set[str]) -> tuple[Measured, float]:
    """How far a row has each word of the question, and how much of its label the question has; without what all `rows` are
    called."""
    common = {*words_of(rows)}
    label = [word for word in words_of(row.label) if word not in common]
    called = sum(word in terms.matches for word in label) / max(len(label), 1)
    words = {*words_of(" ".join((row.group, *row.cells)))} - choosing
    return terms.held(words) * (terms.held(common) < 1), called
