"""What a text is about, without a model: its headings with their pages, and the sentence that each section begins with. Pure.

    a document with headings       the deepest level of which there are few enough
    a document without             the first sentence of each page, or of parts evenly spread over it
    several documents              each by its first sentence

Every sentence is a quotation with a citation of its own. Nothing is embedded: what an author puts first leads a reader better
than sentences near the middle of everything (docs/adr/0046-lists-kinds-outlines.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cairn.answer.cite import citation
from cairn.answer.quotation import ends_before, without_markup
from cairn.domain.answer import Citation, Draft
from cairn.domain.document import is_code_type, landmark_at
from cairn.domain.passage import Passage
from cairn.language.lexicon import replies
from cairn.language.sentences import split_units

SHORTEST: Final = 4  # measured: tests/unit/test_edges_quotation.py
"""Words of a sentence that can lead."""
LONGEST: Final = 240  # bound: tests/unit/test_edges_quotation.py
"""Characters of one, and of a citation."""
FEWEST: Final = 3  # measured: tests/unit/test_edges_quotation.py
"""Sections below which the next level of headings is taken, though it is cut."""

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lead:
    """The sentence at start..end of the passage's content, under these headings, on this page."""

    passage: Passage
    start: int
    end: int
    headings: Path
    page: int | None


def outline(passages: Sequence[Passage], language: str, limit: int) -> Draft | None:
    """At most `limit` lines; None where nothing can lead. `passages` in the order of documents and places in them."""
    leads = list(_leads(passages))
    if not leads:
        return None
    titles = list(dict.fromkeys(passage.document_id for passage in passages))
    if len(titles) > 1:
        return _of_collection(leads, language, limit)
    return _of_document(leads, language, limit)


def outline_of(citations: Sequence[Citation], language: str) -> Draft:
    """Quotations under their headings, with pages: what `explain it simply` can say without a model."""
    numbered = [(n, one) for n, one in enumerate(citations, start=1)]
    say = replies(language).outline
    lines = [
        _line(one.headings[-1] if one.headings else one.title, one.page, one.quote, n, language) for n, one in numbered
    ]
    text = "\n".join([*lines, "", say["model"]])
    return Draft(text, tuple(replace(one, n=n) for n, one in numbered), True, 1.0)


# --- which sentences lead ---------------------------------------------------------------------------------------------


def _leads(passages: Sequence[Passage]) -> Iterator[Lead]:
    """Every sentence that could lead its section, in order, without what is code, a row or no sentence where there are others."""
    for passage in passages:
        code = is_code_type(passage.media_type)
        for unit in split_units(passage.content, code=code):
            text = passage.content[unit.start : unit.end]
            if unit.kind == "heading" or (unit.kind in ("row", "code") and not code):
                continue
            if not code and _DATA.match(text):
                continue
            if len(text.split()) < SHORTEST and not (unit.kind == "item" and _is_slide(passage)):
                continue
            at = passage.start + unit.start
            place = landmark_at(passage.landmarks, at) if passage.landmarks else None
            headings = place.headings if place else passage.headings
            yield Lead(passage, unit.start, unit.end, tuple(headings), place.page if place else passage.page)


def _of_document(leads: Sequence[Lead], language: str, limit: int) -> Draft:
    title = leads[0].passage.title or leads[0].passage.external_id
    by_section = _sections(leads, limit)
    if len(by_section) < 2:
        by_section = _parts(leads, limit)
    say = replies(language).outline
    head = say["document"].format(name=title)
    return _drafted(head, by_section[:limit], len(by_section) - limit, say["more"], language)


def _of_collection(leads: Sequence[Lead], language: str, limit: int) -> Draft:
    first: dict[object, tuple[str, Lead]] = {}
    for lead in leads:
        key = lead.passage.document_id
        if key not in first or _leads_better(lead, first[key][1]):
            first[key] = (lead.passage.title or lead.passage.external_id, lead)
    say = replies(language).outline
    rows = list(first.values())
    head = say["collection"].format(name=leads[0].passage.collection)
    return _drafted(head, rows[:limit], len(rows) - limit, say["more_documents"], language)


def _sections(leads: Sequence[Lead], limit: int) -> list[tuple[str, Lead]]:
    """The first sentence of each section, by the deepest level of headings of which there are at most `limit`."""
    deepest = max((len(lead.headings) for lead in leads), default=0)
    chosen: list[tuple[str, Lead]] = []
    for depth in range(1, deepest + 1):
        found: dict[Path, tuple[str, Lead]] = {}
        for lead in leads:
            if lead.headings:
                path = lead.headings[:depth]
                if path not in found or _leads_better(lead, found[path][1]):
                    found[path] = (path[-1], lead)
        if len(found) > limit and len(chosen) >= FEWEST:
            break
        chosen = list(found.values())
        if len(found) > limit:
            break
    return chosen


def _is_slide(passage: Passage) -> bool:
    return "presentation" in passage.media_type


def _leads_better(lead: Lead, other: Lead) -> bool:
    """Whether it leads instead of one before it. What a slide says stands in its points; sentences are the notes below them."""
    return not _is_slide(lead.passage) and _is_sentence(lead) and not _is_sentence(other)


def _is_sentence(lead: Lead) -> bool:
    """Whether it ends as sentences do: an entry of a menu or a table of contents leads only where nothing else can, nor does what
    announces a list that does not stand here."""
    return lead.passage.content[lead.start : lead.end].rstrip(' )"”»[],0123456789').endswith(_ENDS)


_ENDS: Final = (".", "!", "?", "。", "؟", "।")
_DATA: Final = re.compile(r"[{\[]\s{0,40}[\"{\[]|\"[\w-]{1,60}\"\s{0,8}:")
"""What JSON begins with, or a line of it."""


def _parts(leads: Sequence[Lead], limit: int) -> list[tuple[str, Lead]]:
    """Of a text without headings: the first sentence of each page, else all if they are few, else of parts of equal length."""
    pages: dict[int, tuple[str, Lead]] = {}
    for lead in leads:
        if lead.page is not None:
            pages.setdefault(lead.page, ("", lead))
    if len(pages) > 1:
        rows = list(pages.values())
        return rows if len(rows) <= limit else [rows[at * len(rows) // limit] for at in range(limit)]
    count = len(leads) if len(leads) <= limit else min(limit, max(1, len(leads) // FEWEST))
    return [("", leads[at * len(leads) // count]) for at in range(count)]


# --- in words ---------------------------------------------------------------------------------------------------------


def _drafted(head: str, rows: Sequence[tuple[str, Lead]], more: int, rest: str, language: str) -> Draft:
    lines, cited = [head], []
    for n, (heading, lead) in enumerate(rows, start=1):
        made = citation(n, lead.passage, _cut(lead))
        cited.append(made)
        lines.append(_line(heading, lead.page, made.quote, n, language, cut=lead.end - lead.start > LONGEST))
    if more > 0:
        lines.append(rest.format(n=more))
    lines += ["", replies(language).outline["model"]]
    return Draft("\n".join(lines), tuple(cited), True, 1.0)


def _line(heading: str, page: int | None, quote: str, n: int, language: str, *, cut: bool = False) -> str:
    name = without_markup(heading).strip("#*_` ")
    where = replies(language).outline["page"].format(n=page) if page else ""
    before = f"**{name}** ({where})" if name and where else f"**{name}**" if name else where
    return f"- {f'{before}: ' if before else ''}{without_markup(quote)}{' …' if cut else ''} [{n}]"


def _cut(lead: Lead) -> tuple[int, int]:
    """A long sentence ends at a space, outside of links."""
    if lead.end - lead.start <= LONGEST:
        return lead.start, lead.end
    return lead.start, ends_before(lead.passage.content, lead.start, lead.start + LONGEST)
