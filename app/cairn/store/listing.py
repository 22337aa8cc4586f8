"""Documents and what they name, listed and counted completely. Each function runs inside the caller's tenant transaction."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal
from uuid import UUID

from cairn.db.queries import load_queries
from cairn.domain.document import DateFound, ListedDocument, NameFound, Volume
from cairn.domain.plan import ListRequest
from cairn.domain.principal import Principal
from cairn.language.lexicon import any_of, every

SQL = load_queries("listing")

TOPIC_KEYS: Final = sorted(every(lambda one: one.filters.topic_keys))
YEAR_KEYS: Final = sorted(every(lambda one: one.filters.year_keys))
AUTHOR_KEYS: Final = sorted(every(lambda one: one.filters.author_keys))
KIND_KEYS: Final = sorted(every(lambda one: one.filters.kind_keys))
"""Metadata keys, in lower case."""
_BY: Final = rf"\m{any_of(lambda one: one.lists.byline)}\W{{1,4}}"
"""What stands before the name of an author in a text."""


async def find_documents(
    connection: Any,
    principal: Principal,
    collection: str,
    request: ListRequest,
    filters: Mapping[str, Any],
    *,
    spelling: Literal["phrase", "words"] = "phrase",
    kinds: Sequence[str] = (),
    titles: bool = False,
    among: Sequence[UUID] | None = None,
) -> list[ListedDocument]:
    """All indexed documents that meet the request, by external id. `spelling`: whether the words of a term stand one after the
    other; `kinds`: what documents of the kind are called, also in their `titles`; `among`: these alone."""
    low, high = request.years or (None, None)
    rows = await connection.fetch(
        SQL["documents"], principal.tenant_id, collection, dict(filters), [list(group) for group in request.mentioned],
        list(request.excluded), spelling, request.language, request.format, low, high,
        [name_pattern(name) for name in request.authors], [name_pattern(name) for name in request.sources], list(kinds),
        None if among is None else list(among), TOPIC_KEYS, YEAR_KEYS, AUTHOR_KEYS, KIND_KEYS, _BY, titles,
    )  # fmt: skip
    return [ListedDocument(**row) for row in rows]


async def find_proofs(connection: Any, principal: Principal, documents: Sequence[UUID], term: str) -> dict[UUID, UUID]:
    """The first passage in whose text a term stands, by document; none where it stands in titles and headings alone."""
    rows = await connection.fetch(SQL["proofs"], principal.tenant_id, list(documents), term)
    return {row["document_id"]: row["passage_id"] for row in rows}


def name_pattern(name: str) -> str:
    """A name in the order in which it is written, or its last part first."""
    words = [re.sub(r"(\W)", r"\\\1", word) for word in re.split(r"[\s,]+", name) if word]
    ahead = r"\s+".join(words)
    turned = "|" + rf"{words[-1]},?\s+" + r"\s+".join(words[:-1]) if len(words) > 1 else ""
    return rf"\m(?:{ahead}{turned})(?!\w)"


async def knows_kind(
    connection: Any, principal: Principal, collection: str, kinds: Sequence[str], *, titles: bool
) -> bool:
    """Whether any document says that it is of a kind which is called so, in its metadata or, with `titles`, in its title."""
    return bool(
        await connection.fetchval(SQL["kinds_known"], principal.tenant_id, collection, list(kinds), KIND_KEYS, titles)
    )


async def count_unstated(
    connection: Any,
    principal: Principal,
    collection: str,
    filters: Mapping[str, Any],
    *,
    among: Sequence[UUID] | None,
    besides: Sequence[UUID],
) -> dict[str, int]:
    """How many documents `besides` those listed name no author, state no year, do not say of what kind they are."""
    row = await connection.fetchrow(
        SQL["unstated"], principal.tenant_id, collection, dict(filters), None if among is None else list(among),
        list(besides), AUTHOR_KEYS, YEAR_KEYS, KIND_KEYS,
    )  # fmt: skip
    return dict(row)


async def measure(connection: Any, principal: Principal, documents: Sequence[UUID]) -> Volume:
    """Pages and words of these documents."""
    return Volume(**await connection.fetchrow(SQL["volume"], principal.tenant_id, list(documents)))


async def find_names(
    connection: Any, principal: Principal, documents: Sequence[UUID], kind: str, limit: int
) -> tuple[list[NameFound], int]:
    """Entities of a kind that these documents name, and how many there are in all."""
    rows = await connection.fetch(SQL["entities"], principal.tenant_id, list(documents), kind, limit)
    found = [
        NameFound(row["name"], row["documents"], row["passage_id"], row["char_start"], row["char_end"]) for row in rows
    ]
    return found, rows[0]["everything"] if rows else 0


async def find_dates(connection: Any, principal: Principal, documents: Sequence[UUID], pattern: str) -> list[DateFound]:
    """What is written in the form of a date, each spelling once."""
    rows = await connection.fetch(SQL["dates"], principal.tenant_id, list(documents), pattern)
    return [DateFound(row["said"], frozenset(row["documents"]), row["passage_id"]) for row in rows]
