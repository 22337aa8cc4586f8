"""Where the documents have nothing: an answer from a web search, marked as outside the documents.

Excerpts of the results are its sources, by the same means as passages: fenced as data, cited, checked. No page is opened.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final
from urllib.parse import urlsplit
from uuid import NAMESPACE_URL, uuid5

from cairn.answer.context import assemble
from cairn.answer.extract import extract
from cairn.domain.answer import Coverage
from cairn.domain.event import Progress, SourcesFound
from cairn.domain.passage import Passage
from cairn.errors import ProviderError
from cairn.providers.protocols import WebResult
from cairn.retrieve.operators import parse_operators
from cairn.runs.context import Material, Outcome, Run
from cairn.runs.progress import reading
from cairn.strategies.draft import write_answer, write_or_quote
from cairn.strategies.reading import reader_for

OUTSIDE: Final = "The documents do not answer this. The answer is from the web, outside the documents."
UNIT: Final = "web results"


async def answer_from_web(run: Run, local: Outcome) -> Outcome:
    """An answer from the web in the place of `local`, which answers nothing; `local` where the web has none either, or cannot be
    asked. The question alone leaves the house: as it was rewritten, without its operators. Raises CairnError."""
    assert run.deps.web is not None
    run.emit(Progress("web", 75, "Searching the web, since no passage is relevant"))
    try:
        found = await run.deps.web.search(parse_operators(run.plan.text).text)
    except ProviderError as error:
        return _with_note(local, "failed", f"the web search failed ({error.code}: {error.detail})")
    passages = tuple(as_passage(one, place) for place, one in enumerate(found))
    if not passages:
        return _with_note(local, "nothing found")
    material = Material(run.plan.text, passages, confidence=1.0, visible=len(passages))
    context = assemble(passages, run.deps.judge.tokens.count, run.settings.answer.max_context_tokens)
    run.emit(SourcesFound(context.passages))
    run.emit(reading(len(context.passages)))
    write = partial(write_answer, run, material, context) if run.deps.chat else None
    outcome = await write_or_quote(
        run, write, partial(_quote, run, passages), "the answer was quoted from the web instead"
    )
    if not outcome.draft.found:
        return _with_note(local, "nothing relevant", *outcome.degraded)
    told = replace(outcome.draft, insufficiencies=(OUTSIDE, *outcome.draft.insufficiencies))
    return replace(
        outcome, draft=told, coverage=Coverage(False, len(context.passages), len(passages), UNIT),
        degraded=(*local.degraded, *outcome.degraded),
        more={**local.more, **outcome.more, "web": {"outcome": "answered", "results": len(passages)}},
    )  # fmt: skip


def as_passage(result: WebResult, place: int) -> Passage:
    """The excerpt as a source, whose header names the host. Its ids are made of the address: no document has such."""
    made = uuid5(NAMESPACE_URL, result.url)
    return Passage(
        passage_id=made, document_id=made, external_id=result.url,
        title=f"{result.title} (web page, {urlsplit(result.url).hostname})",
        content=result.excerpt, start=0, end=len(result.excerpt), page=None, headings=(), token_count=0, version=0,
        collection="", media_type="text/html", metadata={}, score=1 / (1 + place), url=result.url,
    )  # fmt: skip


async def _quote(run: Run, passages: tuple[Passage, ...]) -> Outcome:
    """The best quotation of the excerpts, where there is no chat model or it failed."""
    by = await reader_for(run, run.plan.text, passages)
    draft = await extract(run.plan.text, passages, run.deps.judge, run.settings.answer, by=by)
    return Outcome(draft, "extractive", passages, 1.0)


def _with_note(local: Outcome, outcome: str, *degraded: str) -> Outcome:
    more = {**local.more, "web": {"outcome": outcome}}
    return replace(local, degraded=(*local.degraded, *degraded), more=more)
