"""What a collection holds: its documents as such, values of their metadata, and the words of its passages.

Each function runs inside the caller's tenant transaction.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from cairn.db.queries import load_queries
from cairn.domain.document import Holdings, ListedDocument
from cairn.domain.plan import Vocabulary
from cairn.domain.principal import Principal
from cairn.language.identify import CONFIGURATIONS
from cairn.language.lexicon import every
from cairn.language.linear import needed_literal
from cairn.language.text import fold_line

SQL = load_queries("holdings")


async def list_documents(
    connection: Any, principal: Principal, collection: str, filters: Mapping[str, Any], limit: int | None
) -> list[ListedDocument]:
    """Indexed documents in order of external id."""
    rows = await connection.fetch(SQL["documents"], principal.tenant_id, collection, filters, limit)
    return [ListedDocument(**row) for row in rows]


async def count_all(connection: Any, principal: Principal, collection: str, filters: Mapping[str, Any]) -> Holdings:
    counts = await connection.fetchrow(SQL["totals"], principal.tenant_id, collection, filters)
    media_types, languages = Counter[str](), Counter[str]()
    for row in await connection.fetch(SQL["kinds"], principal.tenant_id, collection, filters):
        media_types[row["media_type"]] += row["documents"]
        languages[row["language"]] += row["documents"]
    return Holdings(**counts, media_types=media_types, languages=languages)


async def filled_collections(connection: Any, principal: Principal, limit: int) -> list[str]:
    """Names of collections with documents, the largest first."""
    return [row["name"] for row in await connection.fetch(SQL["filled"], principal.tenant_id, limit)]


# --- which documents have what a message asks to be restricted to -----------------------------------------------------

MAX_DOCUMENTS = 10_000
"""Documents whose metadata is looked at; in larger collections a value that only others have is not found."""


async def metadata_values(
    connection: Any, principal: Principal, collection: str, keys: Sequence[str]
) -> dict[str, tuple[Any, ...]]:
    """Distinct metadata values of a collection (by name), by key as it is spelled there. `keys`: in lower case."""
    rows = await connection.fetch(SQL["metadata_values"], principal.tenant_id, collection, list(keys), MAX_DOCUMENTS)
    found: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        found[row["key"]].append(row["value"])
    return {key: tuple(known) for key, known in found.items()}


async def documents_named(
    connection: Any, principal: Principal, collection: str, names: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """External ids of the documents that go by each name (in lower case); names that none goes by are left out."""
    rows = await connection.fetch(SQL["documents_named"], principal.tenant_id, collection, list(names))
    found: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        found[row["name"]].append(row["external_id"])
    return {name: tuple(ids) for name, ids in found.items()}


async def find_mentioned(
    connection: Any, principal: Principal, collection: str, patterns: Sequence[str]
) -> frozenset[str]:
    """Those of the patterns (cairn/answer/missing.py) that something in the collection matches. Reads all of it for what
    nothing matches."""
    needed = [needed_literal(pattern) for pattern in patterns]
    rows = await connection.fetch(SQL["mentioned"], principal.tenant_id, collection, list(patterns), needed)
    return frozenset(row["pattern"] for row in rows)


async def find_spelling(connection: Any, principal: Principal, collection: str, pattern: str) -> str | None:
    """The commonest word, in lower case, that matches a pattern whole; reads all of the collection."""
    found = await connection.fetchval(SQL["spelled_nearly"], principal.tenant_id, collection, pattern)
    return None if found is None else str(found)


_ANY_DOCUMENT = frozenset(
    fold_line(phrase) for phrase in every(lambda one: (*one.documents.sections, *one.documents.placeholders))
)
"""What says nothing of what a collection is about."""
_NUMBERING = re.compile(r"^(?:\d+(?:\.\d+)*|[A-Z]|[IVX]+)[.)]?\s+")
_NUMBERS = re.compile(r"^\d+(?:\.\d+)*[.)]?\s+(?=\D)")
FEW_DOCUMENTS = 20
"""What a name stands in that is the documents' own; none of them goes without taking along what was said of it."""
TOPIC_DOCUMENTS = 200
"""Documents whose headings are read to say what a collection is about."""


async def find_topics(connection: Any, principal: Principal, collection: str, limit: int) -> dict[str, str]:
    """What somebody can ask about: titles of documents, else headings of several words, without those that any document may
    have; as they stand there, and as a reader is told them. None where it has neither."""
    rows = await connection.fetch(
        SQL["topics"], principal.tenant_id, collection, TOPIC_DOCUMENTS, limit + len(_ANY_DOCUMENT)
    )
    found: dict[str, tuple[str, str]] = {}
    for row in rows:
        topic = _NUMBERS.sub("", " ".join(row["topic"].split())).strip(" *_#:.")
        words = re.findall(r"[^\W\d_]{3,}", topic)
        if _named(topic) not in _ANY_DOCUMENT and (row["title"] or len(words) > 1):
            found.setdefault(_named(topic), (row["topic"], topic))
    return dict(list(found.values())[:limit])


def _named(heading: str) -> str:
    """A heading without its number and its marks."""
    return fold_line(_NUMBERING.sub("", heading).strip(" *_#:."))


async def having(connection: Any, principal: Principal, collection: str, names: Sequence[str]) -> set[UUID]:
    """Documents that have one of these names as their title, as a heading or as an entity that they mention, where few do: a
    name that stands in many is no document's own."""
    rows = await connection.fetch(SQL["having"], principal.tenant_id, collection, list(names), FEW_DOCUMENTS)
    return {row["id"] for row in rows}


async def count_documents(connection: Any, principal: Principal, collection: str, filters: Mapping[str, Any]) -> int:
    """How many documents a metadata filter leaves."""
    return int(await connection.fetchval(SQL["count_documents"], principal.tenant_id, collection, dict(filters)))


# --- what a collection knows of the words of a message ----------------------------------------------------------------

MAX_WORDS = 64
"""Words of a message that are looked up; a longer one is not judged by its words."""
MAX_LETTERS = 100

_CODES = {configuration: code for code, configuration in reversed(CONFIGURATIONS.items())}


async def look_up_words(connection: Any, principal: Principal, collection: str, words: Sequence[str]) -> Vocabulary:
    """Passages of a collection (by name) that hold each word, in any inflection; an unknown collection has none.

    Keys of `frequencies` are the first 64 distinct words, casefolded. One round trip, inside the caller's transaction.
    """
    asked = list(dict.fromkeys(word.casefold()[:MAX_LETTERS] for word in words if any(map(str.isalnum, word))))[
        :MAX_WORDS
    ]
    row = await connection.fetchrow(SQL["frequencies"], principal.tenant_id, collection, asked)
    counts = row["frequencies"] or [0] * len(asked)
    return Vocabulary(row["passages"], dict(zip(asked, counts, strict=True)), _CODES.get(row["language"]))
