"""Questions about the documents as such, answered by SQL: complete where a search for passages would see a sample.

Every number is counted by the database over all documents; an answer names the first LISTED and says how many more there are.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from cairn.domain.answer import Citation, Coverage, Draft, Origin, coverage_of
from cairn.domain.document import ListedDocument
from cairn.domain.event import Progress, SourcesFound, Token
from cairn.domain.passage import Passage
from cairn.domain.plan import LISTED, ListRequest
from cairn.language.dates import PATTERN
from cairn.language.lexicon import replies
from cairn.query.listing import kind_spellings, says_much, states_kind
from cairn.runs.context import Outcome, Run
from cairn.runs.progress import counted
from cairn.strategies.document_names import find_named_documents
from cairn.strategies.fast import answer_empty, fast
from cairn.strategies.list_wording import (
    Found,
    Naming,
    catalogue,
    dated,
    documents_text,
    named_text,
    newest_text,
    place_of,
    shown_of,
    stated_fields,
    unknown_kind,
    unstated_notes,
    volume_text,
)

ENTITY_KINDS: Final = {"people": "person", "organisations": "organisation", "places": "place"}
NEAREST: Final = 3
"""Documents that are near in meaning, where none holds the words."""


@dataclass(frozen=True, slots=True)
class _Told:
    """An answer before its citations are made: `shown` are the places, in order, by what they show."""

    text: str
    citations: tuple[Citation, ...] = ()
    passages: tuple[Passage, ...] = ()
    coverage: Coverage | None = None
    insufficiencies: tuple[str, ...] = ()


async def aggregate(run: Run) -> Outcome:
    """Raises CairnError."""
    request = run.plan.listing
    assert request is not None  # choose() saw it
    run.emit(Progress("retrieve", 40, "Looking through the whole collection by SQL"))
    began, filters = time.perf_counter(), dict(run.question.filters or {})
    holdings = await run.deps.library.holdings(run.question.collection, filters=filters)
    if not holdings.documents:
        return await answer_empty(run)
    found = await _find(run, request, filters, holdings.documents)
    if found is None or asks_more(found, request):
        return await fast(run)  # no list: what was read as one is a question of something else
    if request == ListRequest(request.form, shown=request.shown):
        told = await _cited(
            run,
            shown_of(found),
            lambda marks: catalogue(run.plan.language, run.question.collection, holdings, found, marks),
        )
    else:
        told = await _answer(run, found)
    if stated_fields(found):
        told = await _with_unstated(run, found, told, filters)
    coverage = told.coverage or Coverage(
        not told.insufficiencies and not holdings.unready,
        holdings.documents,
        holdings.documents + holdings.unready,
        "documents",
    )
    run.record.spent("answer", began)
    run.emit(SourcesFound(told.passages))
    looked_through = f"Looked through {counted(holdings.documents, 'document')}"
    run.emit(Progress("generate", 85, looked_through, numbers={"documents": holdings.documents}))
    run.emit(Token(told.text))
    draft = Draft(told.text, told.citations, True, 1.0, told.insufficiencies)
    more = {
        "filters": filters,
        "listed": len(found.listed),
        "shown_before": request.shown,
        "mentions": [" | ".join(group) for group in request.mentioned],
    }
    origin: Origin = "recognised" if told.insufficiencies else "exact"
    return Outcome(draft, "sql", told.passages, coverage=coverage, more=more, origin=origin)


async def _with_unstated(run: Run, found: Found, told: _Told, filters: Mapping[str, Any]) -> _Told:
    """With what it cannot know: documents that do not say who wrote them, of when or of what kind they are may belong to it.
    Where none says of what kind it is, all are listed."""
    listed = [item.id for item in found.listed]
    unstated = await run.deps.library.count_unstated(
        run.question.collection, filters, among=found.among, besides=listed
    )
    notes = unstated_notes(run.plan.language, found, unstated)
    unknown = [*filter(None, [unknown_kind(run.plan.language, found)]), *notes]
    if not unknown:
        return told
    coverage = replace(told.coverage, complete=False) if told.coverage else None
    text, said = "\n\n".join((told.text, *notes)), (*told.insufficiencies, *unknown)
    return replace(told, text=text, insufficiencies=said, coverage=coverage)


def asks_more(found: Found, asked: ListRequest) -> bool:
    """Whether what was asked is no list of documents at all.

    Nothing found is an answer to "which documents mention Bremen?" alone: "what article was published in 1937?" and a description
    instead of a name ask for something else. So does a word for a kind of document with the name of somebody, where no document
    says that it is of that kind or by them: the articles from Lumex AB are goods of a stock list."""
    request = found.request
    kind = bool(request.kind) and not found.kind_known
    whose_unsaid = (asked.authors, asked.sources) != (request.authors, request.sources)
    if kind and whose_unsaid:
        return True
    described = any(says_much(term) for group in request.mentioned for term in group)
    return not found.listed and bool(kind or request.within or described)


async def _find(run: Run, request: ListRequest, filters: Mapping[str, Any], total: int) -> Found | None:
    """None where it names documents that are not there."""
    library, collection = run.deps.library, run.question.collection
    among: list[UUID] | None = None
    if request.within:
        everything = await library.documents(collection, filters=filters, limit=None)
        chosen = [item for name in request.within for item in find_named_documents(name, everything)]
        if not chosen:
            return None
        among = list({item.id for item in chosen})
    kinds = kind_spellings(request.kind) if request.kind else ()
    titles = states_kind(request.kind)
    if kinds and not await library.knows_kind(collection, kinds, titles=titles):
        kinds = ()  # no document says of what kind it is: all of them may be reports
    look = library.find_listed
    listed = await look(collection, request, filters, kinds=kinds, titles=titles, among=among)
    if not listed and (request.authors or request.sources):  # whose they are nobody says: what they mention
        names = (*request.authors, *request.sources)
        request = replace(request, authors=(), sources=(), mentioned=(*request.mentioned, *((name,) for name in names)))
        listed = await look(collection, request, filters, kinds=kinds, titles=titles, among=among)
    loosely = False
    if not listed and any(" " in term for group in request.mentioned for term in group):
        listed = await look(collection, request, filters, spelling="words", kinds=kinds, titles=titles, among=among)
        loosely = bool(listed)
    chosen_ids = None if among is None else tuple(among)
    return Found(request, tuple(listed), total, loosely=loosely, kind_known=bool(kinds), among=chosen_ids)


async def _answer(run: Run, found: Found) -> _Told:
    request, language = found.request, run.plan.language
    if request.age:
        return await _ordered(run, found)
    if request.unit in ("pages", "words"):
        volume = await run.deps.library.measure([item.id for item in found.listed])
        return _Told(
            volume_text(language, found, volume),
            coverage=coverage_of(len(found.listed), len(found.listed), "documents"),
        )
    if request.unit != "documents":
        return await _named(run, found)
    told = await _cited(run, shown_of(found), lambda marks: documents_text(language, found, marks))
    if not found.listed and request.mentioned:
        near = await _nearest(run, request)
        told = replace(
            told,
            text="\n".join([told.text, replies(language).nearest, *(f"- {title}" for title in near)])
            if near
            else told.text,
        )
    return told


async def _nearest(run: Run, request: ListRequest) -> list[str]:
    """Titles of documents that a search finds, where none holds the words."""
    wanted = " ".join(term for group in request.mentioned for term in group)
    result = await run.search(wanted, NEAREST * 3, purpose="nearest", filters=run.question.filters)
    return list(dict.fromkeys(passage.title or passage.external_id for passage in result.passages))[:NEAREST]


async def _ordered(run: Run, found: Found) -> _Told:
    """The newest or the oldest: by the year that documents state, else by when they were indexed."""
    oldest = found.request.age == "oldest"
    stated = [item for item in found.listed if item.stated_year is not None]
    ranked = sorted(
        stated or found.listed, key=lambda item: (item.stated_year or 0, item.updated_at), reverse=not oldest
    )
    chosen = replace(found, listed=tuple(ranked))
    return await _cited(
        run, ranked[:1], lambda marks: newest_text(run.plan.language, chosen, marks, by_year=bool(stated))
    )


async def _cited(run: Run, shown: Sequence[ListedDocument], text: Any) -> _Told:
    """The text, with a citation for each document that it lists: where the term stands, else how the document begins."""
    chosen = await _proofs(run, shown)
    by_id = {p.passage_id: p for p in await run.deps.library.passages(list(chosen.values()))}
    citations: list[Citation] = []
    marks: dict[UUID, int] = {}
    for item in shown:
        passage = by_id.get(chosen[item.id]) if item.id in chosen else None
        if passage and (made := place_of(len(citations) + 1, passage, item.term)):
            citations.append(made)
            marks[item.id] = made.n
    return _Told(text(marks), tuple(citations), tuple(by_id.values()))


async def _proofs(run: Run, shown: Sequence[ListedDocument]) -> dict[UUID, UUID]:
    """The passage that shows why each is listed, by document: where its text has the term, not only its title or headings."""
    chosen = {item.id: item.passage_id for item in shown if item.passage_id}
    for term in {item.term for item in shown if item.term}:
        having = [item.id for item in shown if item.term == term]
        chosen |= await run.deps.library.find_proofs(having, term)
    return chosen


async def _named(run: Run, found: Found) -> _Told:
    """People, organisations, places or dates of the documents, with a citation of the first place of each that is shown."""
    ids, library, unit = [item.id for item in found.listed], run.deps.library, found.request.unit
    if unit == "dates":
        naming = dated(await library.find_dates(ids, PATTERN))
    else:
        names, total = await library.find_names(ids, ENTITY_KINDS[unit], found.request.shown + LISTED)
        naming = Naming([(one.name, one.documents, one.passage_id, one.name) for one in names], total)
    shown = naming.shown[found.request.shown : found.request.shown + LISTED]
    naming = Naming(shown, naming.total)
    by_id = {p.passage_id: p for p in await library.passages([passage_id for _, _, passage_id, _ in shown])}
    citations: list[Citation] = []
    marks: dict[str, int] = {}
    for name, _, passage_id, said in shown:
        if (passage := by_id.get(passage_id)) and (made := place_of(len(citations) + 1, passage, said)):
            citations.append(made)
            marks[name] = made.n
    text = named_text(run.plan.language, found, naming, marks)
    # every document was read, but by rules: what they overlook is not in the list
    coverage, note = Coverage(False, len(ids), len(ids), "documents"), replies(run.plan.language).by_rules
    return _Told(f"{text}\n\n{note}", tuple(citations), tuple(by_id.values()), coverage, (note,))
