"""Questions that are answered by computing over one table: in SQL, over cells that were read when the document was indexed.

Without a chat model this comes before a quotation is looked for; where it is not sure what is asked of which table, there is no
such answer.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cairn.answer.answer_type import read_asked
from cairn.answer.computed import CONFIDENCE, ComputedAnswer, computed_draft, table_draft, word_computed
from cairn.domain.answer import coverage_of
from cairn.domain.event import Progress, SourcesFound, Token
from cairn.domain.passage import Passage
from cairn.errors import ProviderError
from cairn.language.lexicon import every, languages
from cairn.language.linear import bounded
from cairn.language.text import fold_line
from cairn.query.table_words import read_question
from cairn.runs.context import Outcome, Run
from cairn.runs.library import ParsedTable, TableComputation

CERTAIN: Final = 0.7  # measured: tests/unit/test_table_certainty.py
"""How certain the table parser must be of all that it decides, that it is computed;"""
MEANT: Final = 0.45  # measured: tests/unit/test_table_certainty.py
"""and that the table is shown, where nothing else answers."""

_HOW: Final = every(lambda one: one.questions.why)
_CALLED: Final = bounded("|".join(pattern for one in languages() for pattern in one.questions.names))
_WORD: Final = re.compile(r"\w+")


def probably_right(certainty: float) -> float:
    """The share of what is computed at such a certainty that is right: a logistic regression on its log odds, fitted to questions
    about tables that the parser was not trained on, those of its own kind and those of an encyclopaedia counting the same
    (docs/adr/0168-saying-where.md). Below that of what rules compute."""
    odds = math.log(certainty / (1 - min(certainty, 1 - 1e-9)))
    return min(1 / (1 + math.exp(-(RIGHT_AT_EVEN + RIGHT_BY_ODDS * odds))), MOST_RIGHT)


RIGHT_AT_EVEN, RIGHT_BY_ODDS = 0.103, 0.865  # measured: tests/unit/test_table_certainty.py
MOST_RIGHT: Final = 0.92  # bound: tests/unit/test_table_certainty.py


@dataclass(frozen=True, slots=True)
class Computed:
    """What came out of the cells of a table, in words, and how probably it is what was asked for."""

    found: TableComputation
    written: ComputedAnswer
    confidence: float


async def compute_answer(run: Run) -> tuple[Outcome | None, ParsedTable | None]:
    """Over a table of which a part was found, also one that is not read otherwise: the more are looked at, the surer is which
    one is meant. No outcome where the question asks for no computation, or it is not certain over which cells; then a table may
    be what it is about, unless it asks how or why. Raises CairnError."""
    passages = [one for search in run.record.searches for one in search.result.passages]
    if not passages:
        return None, None
    began = time.perf_counter()
    question = read_question(run.plan.text)
    found = await run.deps.library.compute_over_table(question, passages) if question is not None else None
    by_rules = _worded(run, found, CONFIDENCE)
    meant = None
    asked = read_asked(run.plan.text)
    if by_rules is not None or not (asked.way or asked.reason):  # how something is done no table says
        meant = await _parse(run, passages, needed=by_rules is None)
    by_parser = None
    if meant is not None and (by_rules is not None or meant.parsed.certainty >= CERTAIN):
        found = await run.deps.library.compute(meant)
        by_parser = _worded(run, found, probably_right(meant.parsed.certainty))
        listing = found is not None and found.computation.operation == "listing"
        if by_rules is None and listing and asks_how(run.plan.text):
            by_parser = None
    chosen = choose(by_rules, by_parser)
    run.record.spent("answer", began)
    if chosen is not None:
        return await _told(run, chosen), None
    return None, meant if may_be_told(run.plan.text) else None


def asks_how(question: str) -> bool:
    """Whether it asks how or why something is so, which no rows say: "¿Cómo se indican las cadenas?" asks for none of a table
    with a column "tipo" in which "cadenas" stands. How things are called is a list of names; how many and how old ask for no
    list."""
    opening = fold_line(question).lstrip("¿¡ ")
    words = _WORD.findall(opening)
    asks = bool(words) and words[0] in _HOW
    return (asks or read_asked(question).reason) and not _CALLED.match(opening)


def may_be_told(question: str) -> bool:
    """Whether a table that nothing was computed of may answer: not how or why something is so, but how many there are."""
    return not asks_how(question) or read_asked(question).number


def choose(by_rules: Computed | None, by_parser: Computed | None) -> Computed | None:
    """Of what rules and the parser compute. Where they differ one of them is wrong, and nothing tells which: then neither."""
    if by_rules is None or by_parser is None:
        return by_rules or by_parser
    same_table = by_rules.found.table.address == by_parser.found.table.address
    if by_rules.found.computation.ranked:
        return by_rules  # which the parser has no word for
    says_less = by_parser.found.computation.says_less(by_rules.found.computation)
    return by_rules if same_table and (says_less or by_parser.written.is_like(by_rules.written)) else None


def _worded(run: Run, found: TableComputation | None, confidence: float) -> Computed | None:
    written = word_computed(found.computation, found.cells, found.table, run.plan.language) if found else None
    return Computed(found, written, confidence) if found is not None and written is not None else None


async def _parse(run: Run, passages: Sequence[Passage], *, needed: bool) -> ParsedTable | None:
    """The table that the question is most probably about, where the table parser takes it to be about any. `needed`: without it
    there is less of an answer."""
    parser = run.deps.searcher.table_parser(run.question.collection)
    if parser is None:
        return None
    try:
        read = await run.deps.library.parse_over_tables(run.plan.text, passages, parser)
    except ProviderError as error:
        if needed:
            run.record.degraded.append(f"what is asked of tables could not be read: {error.detail}")
        return None
    surest = max((one.parsed.certainty for one in read), default=0.0)
    return read[0] if surest >= MEANT else None


async def show_table(run: Run, meant: ParsedTable) -> Outcome | None:
    """The table that is asked about, where nothing could be computed of it: of a long one the rows around the first that is
    meant. None where it is gone by now."""
    address = meant.table.address
    placed = await run.deps.library.passages_at(address.document_id, [meant.row[0]])
    passage = placed.get(meant.row[0])
    if passage is None:
        return None
    draft = table_draft(passage, *meant.row, run.plan.language)
    return Outcome(draft, "extractive", (passage,), origin="computed")


async def _told(run: Run, computed: Computed) -> Outcome:
    found, written, address = computed.found, computed.written, computed.found.table.address
    placed = await run.deps.library.passages_at(address.document_id, [start for start, _ in written.rows])
    draft = computed_draft(written, placed, run.plan.language, computed.confidence)
    sources = tuple({one.passage_id: one for one in placed.values()}.values())
    run.emit(SourcesFound(sources))
    run.emit(Progress("generate", 85, f"Computed over {found.cells.rows} cells", numbers={"cells": found.cells.rows}))
    run.emit(Token(draft.text))
    more = {
        "computed": {
            "operation": found.computation.operation,
            "document_id": str(address.document_id),
            "table": address.ordinal,
            "sql": found.sql,
            "parameters": [_plain(one) for one in (address.document_id, address.ordinal, *found.arguments)],
        }
    }
    read = coverage_of(found.cells.rows, found.cells.rows, "rows")
    return Outcome(draft, "sql", sources, coverage=read, more=more, origin="computed")


def _plain(value: object) -> object:
    """As JSON has it."""
    return value if value is None or isinstance(value, bool | int | str | list) else str(value)
