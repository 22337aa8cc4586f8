"""Questions about the documents as such, answered by SQL: complete where a search for passages would see a sample."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from app.answer.advice import join_or
from app.answering.context import Outcome, Run
from app.answering.fast import answer_empty
from app.answering.naming import topic
from app.domain.answer import Coverage, Draft, coverage_of
from app.domain.document import Holdings, ListedDocument
from app.domain.event import Progress, Token
from app.language.lexicon import replies

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
    coverage = coverage_of(holdings.documents, holdings.documents, "documents")
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
    coverage = Coverage(full, holdings.documents, holdings.documents, "documents")
    if not full:
        draft = replace(draft, insufficiencies=("There may be more documents than were counted.",))
    return Outcome(draft, "sql", result.passages, coverage=coverage, more={"filters": filters, "mentions": words})


# --- in words ---------------------------------------------------------------------------------------------------------

LISTED: Final = 20
"""Documents that an answer names; the rest is counted."""

_KINDS: Final = {
    "application/pdf": "PDF",
    "text/markdown": "Markdown",
    "text/html": "HTML",
    "text/plain": "text",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "Word",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "Excel",
    "application/vnd.ms-excel": "Excel",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "PowerPoint",
    "application/vnd.oasis.opendocument.text": "OpenDocument",
    "application/vnd.oasis.opendocument.spreadsheet": "OpenDocument",
    "application/rtf": "RTF",
    "application/epub+zip": "EPUB",
    "application/x-ipynb+json": "Jupyter",
    "message/rfc822": "mail",
}


def catalogue(language: str, collection: str, holdings: Holdings, listed: Sequence[ListedDocument]) -> str:
    """How many documents of which kinds, and which they are."""
    say = replies(language)
    one, many = say.holds
    said = (one if holdings.documents == 1 else many).format(name=join_or([collection], language), n=holdings.documents)
    kinds = Counter[str]()
    for media_type, count in holdings.media_types.items():
        kinds[kind(media_type)] += count
    if len(kinds) > 1:
        said += f" ({', '.join(f'{count} {name}' for name, count in kinds.most_common())})"
    lines = [f"{said}{':' if listed else '.'}", *_lines(listed, holdings.documents, language)]
    if holdings.unready:
        lines.append(say.unready.format(n=holdings.unready))
    return "\n".join(lines)


def mentions(language: str, words: Sequence[str], listed: Sequence[ListedDocument], total: int) -> str:
    """Which of all documents mention these words."""
    one, many = replies(language).mentions
    quoted = ", ".join(join_or([word], language) for word in words)
    said = (one if len(listed) == 1 else many).format(n=len(listed), all=total, words=quoted)
    return "\n".join([f"{said}{':' if listed else '.'}", *_lines(listed, len(listed), language)])


def kind(media_type: str) -> str:
    """What people call a media type: PDF, Markdown, Python."""
    return _KINDS.get(media_type) or media_type.removeprefix("text/x-").removeprefix("text/").capitalize()


def _lines(listed: Sequence[ListedDocument], total: int, language: str) -> list[str]:
    shown = listed[:LISTED]
    lines = [f"- {_line(item, language)}" for item in shown]
    return [*lines, f"- {replies(language).more.format(n=total - len(shown))}"] if total > len(shown) else lines


def _line(item: ListedDocument, language: str) -> str:
    title = " ".join(item.title.split()) or item.external_id
    facts = [] if item.external_id == title else [item.external_id]
    facts += [f"{item.pages} {replies(language).pages}"] if item.pages and item.pages > 1 else []
    return f"{title} ({', '.join(facts)})" if facts else title
