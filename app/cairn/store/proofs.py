"""The rows that a proof of an answer names. Each function runs inside a transaction of the principal's tenant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from cairn.db.queries import load_queries
from cairn.domain.principal import Principal
from cairn.domain.proof import CitedSpan, ProvenChunk, ProvenCollection, ProvenDocument, ProvenPassage

SQL = load_queries("proofs")


async def find_documents(connection: Any, principal: Principal, ids: Collection[UUID]) -> dict[UUID, ProvenDocument]:
    """Those that are there, by id. Hashes every text and kept file of them."""
    rows = await connection.fetch(SQL["documents"], principal.tenant_id, list(ids))
    return {row["id"]: ProvenDocument(**dict(row)) for row in rows}


async def find_passages(connection: Any, principal: Principal, ids: Collection[UUID]) -> dict[UUID, ProvenPassage]:
    """Those that are there, by id."""
    rows = await connection.fetch(SQL["passages"], principal.tenant_id, list(ids))
    return {row["id"]: ProvenPassage(**dict(row)) for row in rows}


async def read_quotes(connection: Any, principal: Principal, spans: Sequence[CitedSpan]) -> list[str | None]:
    """The words of each span; None where that version of the document is not kept."""
    columns = [[getattr(one, name) for one in spans] for name in ("document_id", "version", "start", "end")]
    return [row["quote"] for row in await connection.fetch(SQL["quotes"], principal.tenant_id, *columns)]


async def find_chunks(
    connection: Any, principal: Principal, spans: Sequence[CitedSpan]
) -> Mapping[int, Sequence[ProvenChunk]]:
    """By the place of a span in the list, the chunks of its passage that it lies in."""
    columns = [[getattr(one, name) for one in spans] for name in ("passage_id", "start", "end")]
    found: dict[int, list[ProvenChunk]] = defaultdict(list)
    for row in await connection.fetch(SQL["chunks"], principal.tenant_id, *columns):
        found[row["place"]].append(ProvenChunk(row["id"], row["start"], row["end"]))
    return found


async def find_collections(
    connection: Any, principal: Principal, names: Collection[str]
) -> dict[str, ProvenCollection]:
    """Those that are there, by name."""
    rows = await connection.fetch(SQL["collections"], principal.tenant_id, list(names))
    return {row["name"]: ProvenCollection(**dict(row)) for row in rows}


async def read_texts(connection: Any, principal: Principal, ids: Collection[UUID]) -> dict[tuple[UUID, int], str]:
    """Normalised texts by document and version."""
    rows = await connection.fetch(SQL["texts"], principal.tenant_id, list(ids))
    return {(row["id"], row["version"]): row["text"] for row in rows}
