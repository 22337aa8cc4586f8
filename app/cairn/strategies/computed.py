"""Questions that are answered by computing over one table: in SQL, over cells that were read when the document was indexed.

Without a chat model this comes before a quotation is looked for; where it is not sure what is asked of which table, there is no
such answer.
"""

from __future__ import annotations

import time

from cairn.answer.computed import computed_draft, word_computed
from cairn.domain.answer import coverage_of
from cairn.domain.event import Progress, SourcesFound, Token
from cairn.query.table_words import read_question
from cairn.runs.context import Outcome, Run


async def compute_answer(run: Run) -> Outcome | None:
    """Over a table of which a part was found, also one that is not read otherwise: the more are looked at, the surer is which one
    is meant. None where the question asks for no computation, or it is not certain over which cells. Raises CairnError."""
    question = read_question(run.plan.text)
    passages = [one for search in run.record.searches for one in search.result.passages]
    if question is None or not passages:
        return None
    began = time.perf_counter()
    found = await run.deps.library.compute_over_table(question, passages)
    if found is None:
        return None
    written = word_computed(found.computation, found.cells, found.table, run.plan.language)
    if written is None:
        return None
    address = found.table.address
    placed = await run.deps.library.passages_at(address.document_id, [start for start, _ in written.rows])
    draft = computed_draft(written, placed, run.plan.language)
    run.record.spent("answer", began)
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
