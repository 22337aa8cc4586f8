"""Questions about the documents as such, answered by SQL: complete where a search for passages would see a sample."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, Final

from app.answer.aggregate import LISTED, catalogue, mentions
from app.answering.context import Outcome, Run
from app.answering.fast import answer_empty
from app.answering.naming import topic
from app.domain.answer import Draft
from app.domain.document import Holdings
from app.domain.event import Progress, Token

MOST_MENTIONED: Final = 200
"""Documents that a search by words returns; with so many the count is a lower bound."""


async def aggregate(run: Run) -> Outcome:
    """Raises CairnError."""
    run.emit(Progress("retrieve", 40))
    began, filters = time.perf_counter(), {**run.plan.filters, **(run.question.filters or {})}
    holdings = await run.deps.library.holdings(run.question.collection, filters=filters)
    if not holdings.documents and run.plan.filters:  # what was read out of the message fits nothing
        filters = dict(run.question.filters or {})
        holdings = await run.deps.library.holdings(run.question.collection, filters=filters)
    if not holdings.documents:
        return await answer_empty(run)
    words = topic(run.plan.text)
    outcome = await (_mentions(run, words, holdings, filters) if words else _catalogue(run, holdings, filters))
    run.record.spent("answer", began)
    run.emit(Progress("generate", 85))
    run.emit(Token(outcome.draft.text))
    return outcome


async def _catalogue(run: Run, holdings: Holdings, filters: dict[str, Any]) -> Outcome:
    collection = run.question.collection
    listed = await run.deps.library.documents(collection, filters=filters, limit=LISTED)
    text = catalogue(run.plan.language, collection, holdings, listed)
    coverage = f"complete: {holdings.documents} of {holdings.documents} documents"
    return Outcome(Draft(text, (), True, 1.0), "sql", coverage=coverage, more={"filters": filters})


async def _mentions(run: Run, words: list[str], holdings: Holdings, filters: dict[str, Any]) -> Outcome:
    """Documents in which all of these words stand, each in any inflection."""
    asked = " ".join(f'+"{word}"' for word in words)
    result = await run.search(
        f"{asked} {' '.join(words)}", MOST_MENTIONED, purpose="mentions", filters=filters, by_words=True
    )
    found = {passage.document_id for passage in result.passages}
    everything = await run.deps.library.documents(run.question.collection, filters=filters)
    listed = [item for item in everything if item.id in found]
    draft = Draft(mentions(run.plan.language, words, listed, holdings.documents), (), True, 1.0)
    full = result.exact and len(found) < MOST_MENTIONED
    coverage = f"{'complete' if full else 'sampled'}: {holdings.documents} of {holdings.documents} documents"
    if not full:
        draft = replace(draft, insufficiencies=("There may be more documents than were counted.",))
    return Outcome(draft, "sql", result.passages, coverage=coverage, more={"filters": filters, "mentions": words})
