"""Restrictions that a message states: year, author, topic, file; and what of them a collection can keep.

A wrong filter loses everything, so a wish is only one where the message speaks of documents ("papers by Kim from 2021",
"in handbook.pdf"), and it becomes a filter only where documents of the collection have that key and value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from app.domain.principal import Principal
from app.query.summarize import FILE_NAME
from app.store import holdings
from app.store.session import Database

MAX_CHARS: Final = 1000
MAX_WISHES: Final = 6

Kind = Literal["year", "years", "author", "topic", "document"]


@dataclass(frozen=True, slots=True)
class Wish:
    """`value`: a year, "2019-2021" or "after 2019" for years, a name, or a file name. `said`: the words of the message."""

    kind: Kind
    value: str
    said: str


@dataclass(frozen=True, slots=True)
class Restrictions:
    """What of the wishes the collection can keep. `filters` hold of the metadata by containment; `documents` are external
    ids of named ones; `notes` say which wishes were not kept, and why."""

    filters: Mapping[str, Any] = field(default_factory=dict)
    documents: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


_DOCUMENTS: Final = (
    r"(?:documents?|files?|papers?|articles?|reports?|publications?|studies|study|books?|notes?|memos?|letters?|contracts?|invoices?|"
    r"minutes|theses|thesis|posts?|emails?|manuals?|presentations?|slides|"
    r"fichiers?|rapports?|études?|livres?|contrats?|factures?|thèses?|lettres?|courriels?|"
    r"documentos?|archivos?|artículos?|informes?|publicaciones|publicación|estudios?|libros?|contratos?|facturas?|tesis|cartas?|"
    r"dokumente?n?|dateie?n?|artikeln?|berichte?n?|veröffentlichungen|studien?|bücher[n]?|buch|verträge?n?|rechnungen|briefe?n?|aufsätze?)"
)
_YEAR: Final = r"(?P<year>(?:1[89]|20)\d{2})"
_OF_YEAR: Final = re.compile(
    rf"\b{_DOCUMENTS}\b(?:\s+\S+){{0,4}}?\s+(?:(?:from|of|in|dated|published(?:\s+in)?|written\s+in|de|du|d['’]|en|datant\s+de|publiés?\s+en|"
    rf"publiées?\s+en|del?(?:\s+año)?|publicad[oa]s?\s+en|von|aus|vom|im\s+jahr|aus\s+dem\s+jahr)\s+)(?:the\s+year\s+|l['’]année\s+)?{_YEAR}\b"
    rf"(?!\s*(?:-|–|to|bis|à|a|and|et|y|und)\s*(?:1[89]|20)\d\d)",
    re.IGNORECASE,
)
_YEAR_FIRST: Final = re.compile(rf"\b{_YEAR}\s+{_DOCUMENTS}\b", re.IGNORECASE)
_YEARS: Final = re.compile(
    rf"\b{_DOCUMENTS}\b(?:\s+\S+){{0,4}}?\s+(?:(?:from|between|de|entre|desde|von|zwischen)\s+)(?P<low>(?:1[89]|20)\d\d)\s*"
    rf"(?:-|–|to|and|until|à|et|a|y|hasta|bis|und)\s*(?P<high>(?:1[89]|20)\d\d)\b"
    rf"|\b{_DOCUMENTS}\b(?:\s+\S+){{0,4}}?\s+(?P<open>since|after|before|depuis|après|avant|desde|después\s+de|antes\s+de|seit|nach|vor)\s+(?P<from>(?:1[89]|20)\d\d)\b",
    re.IGNORECASE,
)
_PERSON: Final = r"(?P<author>[A-ZÀ-ÖØ-Þ][\w.'’-]+(?:\s+(?:(?:de|van|von|der|la|del)\s+)?[A-ZÀ-ÖØ-Þ][\w.'’-]*){0,3})"
_BY: Final = re.compile(
    rf"\b(?i:{_DOCUMENTS})\b(?:\s+\S+){{0,3}}?\s+(?i:by|written\s+by|authored\s+by|par|écrits?\s+par|escrit[oa]s?\s+por|por|von|geschrieben\s+von)\s+{_PERSON}"
)
_AUTHOR: Final = re.compile(rf"\b(?i:author|auteur|autor|autora)\s*(?:[:=]|(?i:is|est|es|ist))\s*{_PERSON}")
_TOPIC: Final = re.compile(
    r"\b(?:tagged|with\s+(?:the\s+)?(?:tag|topic|category)|topic|category|catégorie|thème|categoría|kategorie|thema)\s*[:=]?\s*[\"“«']?(?P<topic>[\w-]{2,40})[\"”»']?",
    re.IGNORECASE,
)


def wishes(text: str, language: str) -> tuple[Wish, ...]:
    """Restrictions in a message, in four languages; () in most messages."""
    del language  # all patterns are tried: documents are named alike in short messages
    text = text[:MAX_CHARS]
    return tuple(dict.fromkeys([*_documents(text), *_years(text), *_authors(text), *_topics(text)]))[:MAX_WISHES]


def _documents(text: str) -> Iterator[Wish]:
    """File names, and what is quoted after the word for a document."""
    for match in FILE_NAME.finditer(text):
        words = match.group().split()
        yield Wish("document", words[-1].lstrip("(\"'"), words[-1])
        if len(words) > 1:
            yield Wish("document", match.group().strip(), match.group())
    for match in _TITLED.finditer(text):
        yield Wish("document", match["title"].strip(), match.group())


_TITLED: Final = re.compile(
    rf"\b{_DOCUMENTS}\s+(?:(?:called|named|titled|entitled|intitulée?|titulad[oa]|namens|mit\s+dem\s+titel)\s+)?"
    r"[\"“«„](?P<title>[^\"”»“]{2,120})[\"”»“]",
    re.IGNORECASE,
)


def _years(text: str) -> Iterator[Wish]:
    for match in _YEARS.finditer(text):
        value = f"{match['low']}-{match['high']}" if match["low"] else f"{match['open']} {match['from']}"
        yield Wish("years", value, match.group())
        return
    for pattern in (_OF_YEAR, _YEAR_FIRST):
        for match in pattern.finditer(text):
            yield Wish("year", match["year"], match.group())


def _authors(text: str) -> Iterator[Wish]:
    for pattern in (_BY, _AUTHOR):
        for match in pattern.finditer(text):
            yield Wish("author", match["author"].strip(" .'’"), match.group())


def _topics(text: str) -> Iterator[Wish]:
    for match in _TOPIC.finditer(text):
        if match.group()[:5].lower() not in {"topic", "thema", "thème"} or re.search(r"[:=]", match.group()):
            yield Wish("topic", match["topic"], match.group())


KEYS: Final[Mapping[Kind, Sequence[str]]] = {
    "year": (
        "year",
        "publication_year",
        "published_year",
        "published",
        "date",
        "année",
        "annee",
        "año",
        "anio",
        "jahr",
    ),
    "author": ("author", "authors", "creator", "by", "auteur", "auteurs", "autor", "autores", "autoren", "verfasser"),
    "topic": ("topic", "topics", "tag", "tags", "category", "subject", "categorie", "categoria", "kategorie", "thema"),
}
"""Metadata keys that may hold each kind of wish, casefolded."""


_KEYS_OF: Final[Mapping[str, Kind]] = {key: kind for kind, keys in KEYS.items() for key in keys}
ALL_KEYS: Final = tuple(_KEYS_OF)


def choose(wish: Wish, values: Mapping[str, Sequence[Any]]) -> dict[str, Any] | None:
    """The filter that keeps a wish, out of the values that each metadata key of the collection has; None: there is none,
    or there are several, of which containment can ask for one only."""
    kind: Kind = "year" if wish.kind == "years" else wish.kind
    found: dict[str, dict[str, Any]] = {}
    for key, known in values.items():
        if _KEYS_OF.get(key.casefold()) != kind:
            continue
        for value in known:
            for inner in value if isinstance(value, list) else [value]:
                if _means(wish, inner):
                    chosen = {key: [inner] if isinstance(value, list) else inner}
                    found[repr(chosen)] = chosen
    return next(iter(found.values())) if len(found) == 1 else None


def _means(wish: Wish, value: Any) -> bool:
    said, have = wish.value.casefold(), str(value).casefold()
    if wish.kind == "years":
        return have.isdecimal() and _within(int(have[:4]), wish.value.casefold())
    if wish.kind == "author" and said != have:
        return bool(re.search(rf"(?<!\w){re.escape(said)}(?!\w)", have))
    return said == have


def _within(year: int, years: str) -> bool:
    if match := re.fullmatch(r"(\d{4})-(\d{4})", years):
        return int(match[1]) <= year <= int(match[2])
    word, _, bound = years.rpartition(" ")
    if word in {"before", "avant", "vor", "antes de"}:
        return year < int(bound)
    return year >= int(bound) if word in {"since", "depuis", "desde", "seit"} else year > int(bound)


def scoped(query: str, documents: Sequence[str]) -> str:
    """The query with the operator that keeps retrieval to a named document; unchanged where there is none, or several."""
    if len(documents) != 1 or len(documents[0]) > MAX_VALUE or re.search(r'["\n]', documents[0]):
        return query
    return f'{query} id:"{documents[0]}"'


MAX_VALUE: Final = 200
"""Longest value of an operator (app/retrieve/operators.py)."""


# --- what the documents of a collection can keep of it ----------------------------------------------------------------


async def restrict(database: Database, principal: Principal, collection: str, asked: Sequence[Wish]) -> Restrictions:
    """Filters and documents that the collection (by name) has. A wish that no document, or no single value, meets is not
    applied: `notes` say so, but only for a wish that the collection could have met. Raises CairnError."""
    files = [wish for wish in asked if wish.kind == "document"]
    others = [wish for wish in asked if wish.kind != "document"]
    async with database.transaction(principal, readonly=True, config={"statement_timeout": "2000"}) as connection:
        documents, notes = await _named_documents(connection, principal, collection, files)
        filters: dict[str, Any] = {}
        if others and (values := await holdings.metadata_values(connection, principal, collection, ALL_KEYS)):
            for wish in others:
                if chosen := choose(wish, values):
                    filters |= chosen
                else:
                    notes.append(
                        f"filter not applied: {wish.said!r} (no one value of the documents' metadata means it)"
                    )
        if filters and not await holdings.count_documents(connection, principal, collection, filters):
            notes.append(f"filter not applied: no document has {filters}")
            filters = {}
    return Restrictions(filters, documents, tuple(notes))


async def _named_documents(
    connection: Any, principal: Principal, collection: str, asked: Sequence[Wish]
) -> tuple[tuple[str, ...], list[str]]:
    """External ids of named documents, and which names were not found. The longest name that is one counts."""
    if not asked:
        return (), []
    found = await holdings.documents_named(connection, principal, collection, [wish.value.casefold() for wish in asked])
    if not found:
        return (), [f"no document is called {asked[-1].value!r}: all were searched"]
    ids = dict.fromkeys(external_id for wish in asked for external_id in found.get(wish.value.casefold(), ()))
    if len(ids) > 1 and len(found) == 1:
        return (), [f"{len(ids)} documents are called {next(iter(found))!r}: all were searched"]
    return tuple(ids), []
