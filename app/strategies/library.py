"""What strategies read besides searching: passages by id or in order, and what a collection holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app.domain.code import Symbol, SymbolQuery
from app.domain.library import Holdings, Listed, Reading
from app.domain.passage import Passage
from app.domain.principal import Principal
from app.graph.symbols import find_symbols
from app.store import collections, holdings, passages
from app.store.passages import ChunkVector
from app.store.session import Database


@dataclass(frozen=True, slots=True)
class Library:
    """Reads for one caller; a collection that is gone holds nothing."""

    database: Database
    principal: Principal

    async def passages(self, ids: Sequence[UUID]) -> list[Passage]:
        """In the order of the ids, without those that are gone."""
        async with self.database.transaction(self.principal, readonly=True) as connection:
            found = await passages.fetch(connection, self.principal, dict.fromkeys(ids))
        return [found[key] for key in dict.fromkeys(ids) if key in found]

    async def documents(
        self, collection: str, *, filters: Mapping[str, Any] | None = None, limit: int = 2000
    ) -> list[Listed]:
        """Indexed documents by external id; `filters` match metadata by containment."""
        async with self.database.transaction(self.principal, readonly=True) as connection:
            return await holdings.documents(connection, self.principal, collection, dict(filters or {}), limit)

    async def titles(self, collection: str, limit: int) -> list[str]:
        """Titles of some documents."""
        return list(dict.fromkeys(listed.title for listed in await self.documents(collection, limit=limit)))

    async def holdings(self, collection: str, *, filters: Mapping[str, Any] | None = None) -> Holdings:
        """How many documents of which kinds there are."""
        async with self.database.transaction(self.principal, readonly=True) as connection:
            return await holdings.totals(connection, self.principal, collection, dict(filters or {}))

    async def symbols(self, collection: str, queries: Sequence[SymbolQuery]) -> list[Symbol]:
        """Symbols of code that a collection holds by these names, or else by parts of them."""
        async with self.database.transaction(self.principal, readonly=True) as connection:
            found = await collections.by_names(connection, self.principal, (collection,))
            return await find_symbols(connection, self.principal, [one.id for one in found], queries)

    async def filled_collections(self, limit: int) -> list[str]:
        """Names of collections with documents, the largest first."""
        async with self.database.transaction(self.principal, readonly=True) as connection:
            return await holdings.filled(connection, self.principal, limit)

    async def read(
        self, collection: str, documents: Sequence[UUID] | None, *, max_tokens: int, filters: Mapping[str, Any]
    ) -> Reading:
        """Passages in order of documents and places in them, all or evenly spread over what does not fit into
        `max_tokens`."""
        async with self.database.transaction(self.principal, readonly=True) as connection:
            return await passages.in_order(connection, self.principal, collection, documents, max_tokens, dict(filters))

    async def chunk_vectors(self, ids: Sequence[UUID]) -> list[ChunkVector]:
        """Vectors of the chunks of these passages, in order."""
        async with self.database.transaction(self.principal, readonly=True) as connection:
            return await passages.chunk_vectors(connection, self.principal, ids)
