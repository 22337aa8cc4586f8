"""Restrictions that a message states: year, author, topic, file; and what becomes of them in a collection.

A wrong filter loses everything, so a wish is only one where the message speaks of documents ("papers by Kim from 2021",
"in handbook.pdf"), and it becomes a filter only where documents of the collection have that key and value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from cairn.domain.principal import Principal
from cairn.language.lexicon import any_of, every
from cairn.language.linear import bounded
from cairn.language.tokens import content_words
from cairn.query.summarize import FILE_NAME
from cairn.store import holdings
from cairn.store.session import Database

MAX_CHARS: Final = 1000  # bound: tests/unit/test_edges_query.py
MAX_WISHES: Final = 6  # bound: tests/unit/test_edges_query.py
NO_FILTERS: Final[Mapping[str, Any]] = {}

Kind = Literal["year", "years", "author", "topic", "document"]


@dataclass(frozen=True, slots=True)
class Wish:
    """`value`: a year, "2019-2021" or "after 2019" for years, a name, or a file name. `said`: the words of the message.
    `spans`: what of the message says nothing besides, as places in it: "in reports", "by Kim"."""

    kind: Kind
    value: str
    said: str
    spans: tuple[tuple[int, int], ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Restricted:
    """What of the wishes the collection can keep. `filters` hold of the metadata by containment; `documents` are external
    ids of named ones; `notes` say which wishes were not kept, and why. `kept`: the wishes that `filters` keep."""

    filters: Mapping[str, Any] = field(default_factory=dict)
    documents: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    kept: tuple[Wish, ...] = ()


_DOCUMENTS: Final = any_of(lambda one: one.filters.documents)
_THESE: Final = rf"(?P<documents>\b{_DOCUMENTS}\b)"
_YEAR: Final = r"(?P<year>(?:1[89]|20)\d{2})"
_UNTIL: Final = any_of(lambda one: one.filters.until)
_THE_YEAR: Final = any_of(lambda one: one.filters.the_year)
_OF_YEAR: Final = bounded(
    rf"{_THESE}(?P<between>(?:\s+\S+){{0,4}}?)\s+(?:{any_of(lambda one: one.filters.of_year)}\s+){_THE_YEAR}?{_YEAR}\b"
    rf"(?!\s*(?:-|–|{_UNTIL})\s*(?:1[89]|20)\d\d)",
    re.IGNORECASE,
)
_YEAR_FIRST: Final = bounded(rf"(?P<documents>\b{_YEAR}\s+{_DOCUMENTS}\b)", re.IGNORECASE)
_BETWEEN: Final = any_of(lambda one: one.filters.between)
_OPEN: Final = any_of(lambda one: (*one.filters.since, *one.filters.after, *one.filters.before))
_YEARS: Final = bounded(
    rf"{_THESE}(?P<between>(?:\s+\S+){{0,4}}?)\s+(?:(?:{_BETWEEN}\s+)(?P<low>(?:1[89]|20)\d\d)\s*"
    rf"(?:-|–|{_UNTIL})\s*(?P<high>(?:1[89]|20)\d\d)\b"
    rf"|(?P<open>{_OPEN})\s+(?P<from>(?:1[89]|20)\d\d)\b)",
    re.IGNORECASE,
)
_IN_PERSONS: Final = any_of(lambda one: one.filters.in_persons)
_PERSON: Final = rf"(?P<author>[A-ZÀ-ÖØ-Þ][\w.'’-]+(?:\s+(?:{_IN_PERSONS}\s+)?[A-ZÀ-ÖØ-Þ][\w.'’-]*){{0,3}})"
_BY: Final = bounded(
    rf"(?i:{_THESE})(?P<between>(?:\s+\S+){{0,3}}?)\s+(?i:{any_of(lambda one: one.filters.by)})\s+{_PERSON}"
)
_AUTHOR: Final = bounded(
    rf"\b(?i:{any_of(lambda one: one.filters.author)})\s*"
    rf"(?:[:=]|(?i:{any_of(lambda one: one.filters.copula)}))\s*{_PERSON}"
)
_TAGGED, _TOPICS = any_of(lambda one: one.filters.tagged), any_of(lambda one: one.filters.topic)
_TOPIC: Final = bounded(
    rf"\b(?:{_TAGGED}\s*[:=]?|{_TOPICS}\s*[:=])\s*[\"“«']?(?P<topic>[\w-]{{2,40}})[\"”»']?", re.IGNORECASE
)


def wishes(text: str, language: str) -> tuple[Wish, ...]:
    """Restrictions in a message, in any language; () in most messages."""
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


_TITLED: Final = bounded(
    rf"\b{_DOCUMENTS}\s+(?:{any_of(lambda one: one.filters.titled)}\s+)?"
    r"[\"“«„](?P<title>[^\"”»“]{2,120})[\"”»“]",
    re.IGNORECASE,
)


def names_only_a_document(text: str) -> bool:
    """Whether a message says nothing but which document it is about: it is to be shown."""
    rest = _TITLED.sub(" ", text)
    return rest != text and not content_words(rest)


def _years(text: str) -> Iterator[Wish]:
    for match in _YEARS.finditer(text):
        value = f"{match['low']}-{match['high']}" if match["low"] else f"{match['open']} {match['from']}"
        yield Wish("years", value, match.group(), _spans(text, match))
        return
    for match in _OF_YEAR.finditer(text):
        yield Wish("year", match["year"], match.group(), _spans(text, match))
    for match in _YEAR_FIRST.finditer(text):
        yield Wish("year", match["year"], match.group(), (_in_documents(text, match) or match.span("year"),))


def _authors(text: str) -> Iterator[Wish]:
    for match in _BY.finditer(text):
        yield Wish("author", match["author"].strip(" .'’"), match.group(), _spans(text, match))
    for match in _AUTHOR.finditer(text):
        yield Wish("author", match["author"].strip(" .'’"), match.group(), (match.span(),))


def _topics(text: str) -> Iterator[Wish]:
    for match in _TOPIC.finditer(text):
        yield Wish("topic", match["topic"], match.group(), (match.span(),))


def _spans(text: str, match: re.Match[str]) -> tuple[tuple[int, int], ...]:
    """What stands around the words between, of which a subject may be one ("in reports on wind by Kim")."""
    condition = (match.end("between"), match.end())
    within = _in_documents(text, match)
    return (within, condition) if within else (condition,)


def _in_documents(text: str, match: re.Match[str]) -> tuple[int, int] | None:
    """ "in the reports", which says no more than the restriction; None where the documents are what is asked about ("what do
    reports by Kim say")."""
    start = match.start("documents")
    before = _WITHIN.search(text, max(0, start - LONGEST_WITHIN), start)
    return (before.start(), match.end("documents")) if before else None


_ANY_DOCUMENTS: Final = bounded(rf"\b{_DOCUMENTS}\b", re.IGNORECASE)
LONGEST_WITHIN: Final = 40  # bound: tests/unit/test_edges_query.py
"""Characters of "according to all of the"."""
_WITHIN: Final = bounded(rf"(?<!\w){any_of(lambda one: one.filters.within)}\s+\Z", re.IGNORECASE)


def without_restrictions(text: str, kept: Sequence[Wish]) -> str:
    """The question without what filters keep, as somebody asks it who sets the filters: a passage need not repeat who wrote its
    document. As it is where nothing else is asked."""
    if not kept:
        return text
    places = sorted(span for wish in kept for span in wish.spans)
    rest, at = [], 0
    for start, end in places:
        rest.append(text[at:start])
        at = max(at, end)
    asked = re.sub(r"\s{1,9}([?!.,;:])", r"\1", " ".join("".join([*rest, text[at:]]).split())).lstrip(" ,;:")
    return asked if content_words(_ANY_DOCUMENTS.sub(" ", asked)) else text


KEYS: Final[Mapping[Kind, frozenset[str]]] = {
    "year": every(lambda one: one.filters.year_keys),
    "author": every(lambda one: one.filters.author_keys),
    "topic": every(lambda one: one.filters.topic_keys),
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
    if word in _BEFORE:
        return year < int(bound)
    return year >= int(bound) if word in _SINCE else year > int(bound)


_BEFORE: Final = every(lambda one: one.filters.before)
_SINCE: Final = every(lambda one: one.filters.since)


def scoped(query: str, documents: Sequence[str]) -> str:
    """The query with the operator that keeps retrieval to a named document; unchanged where there is none, or several."""
    if len(documents) != 1 or len(documents[0]) > MAX_VALUE or re.search(r'["\n]', documents[0]):
        return query
    return f'{query} id:"{documents[0]}"'


MAX_VALUE: Final = 200  # bound: tests/unit/test_edges_query.py
"""Longest value of an operator (cairn/retrieve/operators.py)."""


# --- wishes against the documents of a collection ---------------------------------------------------------------------


async def restrict(
    database: Database,
    principal: Principal,
    collection: str,
    asked: Sequence[Wish],
    own: Mapping[str, Any] = NO_FILTERS,
) -> Restricted:
    """Filters and documents that the collection (by name) has. A wish that no document, or no single value, meets is not
    applied: `notes` say so, but only for a wish that the collection could have met. Raises CairnError."""
    files = [wish for wish in asked if wish.kind == "document"]
    others = [wish for wish in asked if wish.kind != "document"]
    async with database.transaction(principal, readonly=True, config={"statement_timeout": "2000"}) as connection:
        documents, notes = await _find_documents(connection, principal, collection, files)
        filters: dict[str, Any] = {}
        kept: list[Wish] = []
        if others and (values := await holdings.metadata_values(connection, principal, collection, ALL_KEYS)):
            for wish in others:
                if (chosen := choose(wish, values)) and chosen == {
                    key: own.get(key, value) for key, value in chosen.items()
                }:
                    filters |= chosen
                    kept.append(wish)
                else:
                    notes.append(
                        f"filter not applied: {wish.said!r} (no one value of the documents' metadata means it)"
                    )
        if filters and not await holdings.count_documents(connection, principal, collection, {**filters, **own}):
            notes.append(f"filter not applied: no document has {filters}")
            filters, kept = {}, []
    return Restricted(filters, documents, tuple(notes), tuple(kept))


async def _find_documents(
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
