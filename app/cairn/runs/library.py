"""What runs read of collections and conversations: by id, in order, by counting and by computing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal
from uuid import UUID

from cairn.answer.computed import name_same, needed_cells
from cairn.answer.confidence import UNCALIBRATED, Calibration
from cairn.answer.sections_below import MOST_MARKS
from cairn.domain.code import CodeFinding, Symbol, SymbolQuery
from cairn.domain.computation import Computation
from cairn.domain.document import DateFound, Holdings, Landmark, ListedDocument, NameFound, Volume
from cairn.domain.graph_view import CommunitySummary, Way
from cairn.domain.passage import DocumentReading, Passage
from cairn.domain.plan import ListRequest
from cairn.domain.principal import Principal
from cairn.domain.question import Turn
from cairn.domain.table import ComputedCells, TableCells, TableSketch
from cairn.graph.code.ask import ask_code
from cairn.graph.code.symbols import find_symbols
from cairn.graph.code.walk import code_walker
from cairn.graph.kinds import LEGAL_FORMS
from cairn.graph.overview import find_communities_about
from cairn.graph.resolve import find_entity
from cairn.graph.walk import find_ways
from cairn.language.cells import tokens_of
from cairn.providers.table_parser import MOST_MENTIONS, TableParser
from cairn.query.table_mentions import mentions_wanted, widen
from cairn.query.table_parse import ParsedQuestion, parse
from cairn.query.table_program import computation_of, kinds_of, names_table, rows_that, title_of
from cairn.query.table_question import bind, may_bind
from cairn.query.table_view import mentions_in, view_of
from cairn.query.table_words import OUTFLOWS, ComputedQuestion, columns_of_people
from cairn.runs.recall import recall
from cairn.store import collections, holdings, listing, passages, tables, tools
from cairn.store.passages import ChunkVector
from cairn.store.session import Database, reads_contents

_QUICKLY: Final = {"statement_timeout": "2000"}
"""Milliseconds for what a question can be answered without: the graph, whether names stand anywhere."""
_CODE: Final = {"statement_timeout": "10000"}
"""Milliseconds for a statement on code, of which a large collection has many names."""

HUB: Final = 50
"""Share of the passages, one in so many, from which on what they mention is too common to join two things;"""
MOST_PASSAGES: Final = 50
"""and the number, in large collections."""


MOST_TABLES: Final = 12
MOST_PARSED: Final = 3
"""Of those of the passages found, the nearest first: in which rules read a question, and the parser."""
MOST_PARSED_TEXT: Final = 200
"""Characters of a question that is parsed: more would be cut (QUESTION_TOKENS of providers/table_parser.py)."""
MOST_PARSED_COLUMNS, MOST_PARSED_ROWS = 24, 2000
"""Of a table that is parsed: for more columns there is no room, and all cells are loaded."""
NEARLY: Final = 0.5
ALIKE: Final = 0.8
"""Shares of the certainty of the surest table from which on another one may be meant: if the question has its name, and in any
case."""


def _may_be_parsed(table: TableSketch) -> bool:
    return table.complete and table.rows <= MOST_PARSED_ROWS and len(table.header) <= MOST_PARSED_COLUMNS


@dataclass(frozen=True, slots=True)
class TableComputation:
    """What was computed of which table, by which statement."""

    table: TableSketch
    computation: Computation
    cells: ComputedCells
    sql: str
    arguments: Sequence[Any]


@dataclass(frozen=True, slots=True)
class ParsedTable:
    """What the table parser takes the question to ask of a table; `computation`: None where one statement cannot say it. `row`:
    where the first row stands that is called as the question says, or the first one."""

    table: TableSketch
    cells: TableCells
    parsed: ParsedQuestion
    computation: Computation | None
    row: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Library:
    """Reads for one run; a collection that is gone holds nothing. `names`: external id and title of the documents that it has
    told of; `opened`: those of them whose words it has told."""

    database: Database
    principal: Principal
    names: dict[UUID, tuple[str, str]] = field(default_factory=dict)
    opened: set[UUID] = field(default_factory=set)

    def _note(self, told: Iterable[Passage]) -> None:
        for passage in told:
            self.names[passage.document_id] = (passage.external_id, passage.title)
            self.opened.add(passage.document_id)

    async def recall(self, session_id: str, limit: int) -> tuple[Turn, ...]:
        """The last messages of a conversation, oldest first."""
        return await recall(self.database, self.principal, session_id, limit)

    async def passages(self, ids: Sequence[UUID]) -> list[Passage]:
        """In the order of the ids, without those that are gone."""
        async with self.database.transaction(self.principal, readonly=True) as connection:
            found = await passages.fetch(connection, self.principal, dict.fromkeys(ids))
        self._note(found.values())
        return [found[key] for key in dict.fromkeys(ids) if key in found]

    async def openings(self, documents: Sequence[UUID]) -> list[Passage]:
        """The first passage of each document."""
        async with self.database.transaction(self.principal, readonly=True) as connection:
            found = await passages.openings(connection, self.principal, list(dict.fromkeys(documents)))
        self._note(found)
        return found

    async def within(
        self, collection: str, wanted: Mapping[UUID, UUID | None], *, filters: Mapping[str, Any] | None
    ) -> list[Passage]:
        """Passages, each with the chunk that it is wanted with, if any; without those of other collections, and of documents
        that do not meet the filters."""
        async with self.database.transaction(self.principal, readonly=True) as connection:
            scope = await tools.in_scope(connection, self.principal, collection, dict(filters or {}), list(wanted))
            found = await passages.fetch(
                connection, self.principal, {key: chunk for key, chunk in wanted.items() if key in scope}
            )
        self._note(found.values())
        return [found[key] for key in wanted if key in found]

    async def documents(
        self, collection: str, *, filters: Mapping[str, Any] | None = None, limit: int | None = None
    ) -> list[ListedDocument]:
        """Indexed documents by external id, at most `limit`; `filters` match metadata by containment."""
        async with self.database.transaction(self.principal, readonly=True) as connection:
            found = await holdings.list_documents(connection, self.principal, collection, dict(filters or {}), limit)
        self.names.update({one.id: (one.external_id, one.title) for one in found})
        return found

    async def find_listed(
        self, collection: str, request: ListRequest, filters: Mapping[str, Any], *,
        spelling: Literal["phrase", "words"] = "phrase", kinds: Sequence[str], titles: bool, among: Sequence[UUID] | None,
    ) -> list[ListedDocument]:  # fmt: skip
        """All documents that meet a request; see cairn/store/listing.py."""
        async with self.database.transaction(self.principal, readonly=True) as connection:
            found = await listing.find_documents(
                connection, self.principal, collection, request, filters,
                spelling=spelling, kinds=kinds, titles=titles, among=among,
            )  # fmt: skip
        self.names.update({one.id: (one.external_id, one.title) for one in found})
        return found

    async def find_proofs(self, documents: Sequence[UUID], term: str) -> dict[UUID, UUID]:
        """The first passage of each document in whose text a term stands."""
        async with self.database.transaction(self.principal, readonly=True) as connection:
            return await listing.find_proofs(connection, self.principal, documents, term)

    async def holds_any(self, collection: str) -> bool:
        """Whether there is a document."""
        async with self.database.transaction(self.principal, readonly=True) as connection:
            return bool(await holdings.list_documents(connection, self.principal, collection, {}, 1))

    async def knows_kind(self, collection: str, kinds: Sequence[str], *, titles: bool) -> bool:
        """Whether any document says of itself that it is of a kind which is called so."""
        async with self.database.transaction(self.principal, readonly=True) as connection:
            return await listing.knows_kind(connection, self.principal, collection, kinds, titles=titles)

    async def count_unstated(
        self, collection: str, filters: Mapping[str, Any], *, among: Sequence[UUID] | None, besides: Sequence[UUID]
    ) -> Mapping[str, int]:
        """How many other documents do not say what a list was made by; see cairn/store/listing.py."""
        async with self.database.transaction(self.principal, readonly=True) as connection:
            return await listing.count_unstated(
                connection, self.principal, collection, filters, among=among, besides=besides
            )

    async def measure(self, documents: Sequence[UUID]) -> Volume:
        """Pages and words of these documents."""
        async with self.database.transaction(self.principal, readonly=True) as connection:
            return await listing.measure(connection, self.principal, documents)

    async def find_names(self, documents: Sequence[UUID], kind: str, limit: int) -> tuple[list[NameFound], int]:
        """Entities of a kind that these documents name, and how many there are in all."""
        self.opened.update(documents)
        async with self.database.transaction(self.principal, readonly=True) as connection:
            return await listing.find_names(connection, self.principal, documents, kind, limit)

    async def find_dates(self, documents: Sequence[UUID], pattern: str) -> list[DateFound]:
        """What is written in the form of a date in these documents."""
        self.opened.update(documents)
        async with self.database.transaction(self.principal, readonly=True) as connection:
            return await listing.find_dates(connection, self.principal, documents, pattern)

    async def titles(self, collection: str, limit: int) -> list[str]:
        """Titles of some documents."""
        return list(dict.fromkeys(listed.title for listed in await self.documents(collection, limit=limit)))

    async def mentioned(self, collection: str, patterns: Sequence[str]) -> frozenset[str]:
        """Those of the patterns that something in the collection matches. Raises QueryTimeoutError where that takes long."""

        async with self.database.transaction(self.principal, readonly=True, config=_QUICKLY) as connection:
            return await holdings.find_mentioned(connection, self.principal, collection, patterns)

    async def known_words(self, collection: str, words: Sequence[str]) -> frozenset[str]:
        """Those that some passage of the collection has, in any inflection; by the statistics of BM25, so it costs no more in a
        large collection."""

        async with self.database.transaction(self.principal, readonly=True, config=_QUICKLY) as connection:
            found = await holdings.look_up_words(connection, self.principal, collection, words)
        return frozenset(word for word in words if found.frequencies.get(word.casefold()))

    async def spelled_nearly(self, collection: str, pattern: str) -> str | None:
        """A word of the collection that matches a pattern whole. Raises QueryTimeoutError where that takes long."""

        async with self.database.transaction(self.principal, readonly=True, config=_QUICKLY) as connection:
            return await holdings.find_spelling(connection, self.principal, collection, pattern)

    async def topics(self, collection: str, limit: int) -> list[str]:
        """What a collection is about: titles of its documents, else headings that few of them have."""
        async with self.database.transaction(self.principal, readonly=True) as connection:
            found = await holdings.find_topics(connection, self.principal, collection, limit)
            self.opened.update(await holdings.having(connection, self.principal, collection, list(found)))
        return list(found.values())

    async def calibration(self, collection: str) -> Calibration:
        """Of the confidence of quotations: the collection's own, or as shipped."""
        async with self.database.transaction(self.principal, readonly=True) as connection:
            kept = await collections.calibration(connection, self.principal, collection)
        return Calibration.from_json(kept) if kept else UNCALIBRATED

    async def holdings(self, collection: str, *, filters: Mapping[str, Any] | None = None) -> Holdings:
        """How many documents of which kinds there are."""
        async with self.database.transaction(self.principal, readonly=True) as connection:
            return await holdings.count_all(connection, self.principal, collection, dict(filters or {}))

    async def symbols(self, collection: str, queries: Sequence[SymbolQuery]) -> list[Symbol]:
        """Symbols of code that a collection holds by exactly these names: parts of names would cost a look at all of them."""
        async with self.database.transaction(self.principal, readonly=True) as connection:
            found = await collections.by_names(connection, self.principal, (collection,))
            return await find_symbols(connection, self.principal, [one.id for one in found], queries, partial=False)

    async def ask_code(self, collection: str, query: SymbolQuery) -> CodeFinding | None:
        """What the code of a collection says to a question; None where it is not about code that is there."""
        async with self.database.transaction(self.principal, readonly=True, config=_CODE) as connection:
            found = await collections.by_names(connection, self.principal, (collection,))
            return await ask_code(connection, self.principal, found[0], query) if found else None

    async def compute_over_table(
        self, question: ComputedQuestion, passages: Sequence[Passage]
    ) -> TableComputation | None:
        """What a question asks to compute, of the one table among those of the passages in which it means something."""
        async with self.database.transaction(self.principal, readonly=True) as connection:
            meant = []
            for table in (await tables.find_beside(connection, self.principal, passages))[:MOST_TABLES]:
                if not may_bind(question, table):
                    continue
                named = await tables.find_named(
                    connection, self.principal, table, question.names, sorted(LEGAL_FORMS), columns_of_people(table)
                )
                if (computation := bind(question, table, named)) is not None:
                    meant.append((computation, table))
            best = max((computation.support for computation, _ in meant), default=0)
            chosen = [one for one in meant if one[0].support == best]
            if len(chosen) != 1:
                return None
            [(computation, table)] = chosen
            if any(other.address.document_id == table.address.document_id for _, other in meant if other is not table):
                return None  # a word that one has in its title or file name is the name of a column or cell in another
            if wanted := mentions_wanted(computation):
                mentions = await tables.find_mentions(connection, self.principal, table.address, wanted)
                if (widened := widen(computation, mentions)) is None:
                    return None
                computation = widened
            if (of_bound := computation.of_bound) is not None:
                statement, arguments = of_bound.arguments(1)
                row = await tables.compute(connection, self.principal, table.address, statement, arguments)
                if row.sum is None or not row.rows == row.numbers == 1:
                    return None
                computation = replace(computation, bound=row.sum)
            made = await self._compute(connection, table, computation)
            if (also := computation.also) is not None:
                other, further = also.arguments(needed_cells(also))
                if not name_same(
                    made.cells, await tables.compute(connection, self.principal, table.address, other, further)
                ):
                    return None
            return made

    async def _compute(self, connection: Any, table: TableSketch, computation: Computation) -> TableComputation:
        """Where several rows are of what is asked for, what is meant then."""
        statement, arguments = computation.arguments(needed_cells(computation))
        cells = await tables.compute(connection, self.principal, table.address, statement, arguments)
        if computation.instead is not None and computation.is_of_several(cells.rows, cells.asked):
            return await self._compute(connection, table, computation.instead)
        if (
            computation.row is not None
            and cells.all_below_zero
            and not OUTFLOWS.isdisjoint(tokens_of(computation.label))
        ):
            if computation.order is not None:
                statement, arguments = computation.turned_over.arguments(needed_cells(computation))
                cells = await tables.compute(connection, self.principal, table.address, statement, arguments)
            cells = cells.as_amounts()
        return TableComputation(table, computation, cells, tables.SQL[statement], arguments)

    async def parse_over_tables(self, text: str, passages: Sequence[Passage], parser: TableParser) -> list[ParsedTable]:
        """What the parser takes a question to ask of the first tables among those of the passages: of the surest one and those
        that are nearly as sure, the one first that the question names. Without a computation where two are alike in both. Raises
        ProviderError."""
        if len(text) > MOST_PARSED_TEXT:
            return []
        async with self._snapshot() as connection:
            beside = await tables.find_beside(connection, self.principal, passages)
            beside = [table for table in beside if _may_be_parsed(table)][:MOST_PARSED]
            cells = [await tables.load_cells(connection, self.principal, table.address) for table in beside]
        mentions = mentions_in(text) if beside else []
        if len(mentions) > MOST_MENTIONS:
            return []
        found = []
        for table, held in zip(beside, cells, strict=True):
            texts = [one.texts for one in held.columns]
            about = title_of(table), table.header, kinds_of(table), texts, table.document_title
            view = await asyncio.to_thread(view_of, text, *about)
            parsed = parse(await parser.score(text, view, mentions), view, mentions)
            if parsed.asked != "none":
                computation = await asyncio.to_thread(computation_of, text, parsed, table, held, view)
                rows = rows_that(held, computation.conditions) if computation else []
                at = rows[0] - 1 if rows else 0
                found.append(ParsedTable(table, held, parsed, computation, (held.starts[at], held.ends[at])))
        surest = max((one.parsed.certainty for one in found), default=0.0)
        near = [(names_table(text, one.table), one) for one in found if one.parsed.certainty >= NEARLY * surest]
        near.sort(key=lambda one: (-one[0], -one[1].parsed.certainty))
        if len(near) > 1 and near[0][0] == near[1][0] and near[1][1].parsed.certainty >= ALIKE * surest:
            return [replace(one, computation=None) for _, one in near]  # either may be meant
        return [one for _, one in near]

    async def compute(self, meant: ParsedTable) -> TableComputation | None:
        """As it was parsed; None where that is nothing, or the table is another one by now."""
        if meant.computation is None:
            return None
        async with self._snapshot() as connection:
            if await tables.load_cells(connection, self.principal, meant.table.address) != meant.cells:
                return None
            return await self._compute(connection, meant.table, meant.computation)

    def _snapshot(self) -> AbstractAsyncContextManager[Any]:
        return self.database.transaction(self.principal, readonly=True, isolation="repeatable_read")

    async def passages_at(self, document_id: UUID, places: Sequence[int]) -> dict[int, Passage]:
        """Of places of a document's text the passages in which they stand."""
        async with self.database.transaction(self.principal, readonly=True) as connection:
            ids = await tables.find_holding(connection, self.principal, document_id, places)
        found = await self.passages(ids)
        return {place: one for place in places for one in found if one.start <= place < one.end}

    async def filled_collections(self, limit: int) -> list[str]:
        """Names of collections with documents, the largest first."""
        async with self.database.transaction(self.principal, readonly=True) as connection:
            return await holdings.filled_collections(connection, self.principal, limit)

    async def read(
        self, collection: str, documents: Sequence[UUID] | None, *, max_tokens: int, filters: Mapping[str, Any]
    ) -> DocumentReading:
        """Passages in order of documents and places in them, all or evenly spread over what does not fit into
        `max_tokens`."""
        async with self.database.transaction(self.principal, readonly=True) as connection:
            found = await passages.in_order(
                connection, self.principal, collection, documents, max_tokens, dict(filters)
            )
        self._note(found.passages)
        return found

    async def largest_communities(self, collection: str, *, limit: int) -> list[CommunitySummary]:
        """The largest first; none where there are none."""
        async with self.database.transaction(self.principal, readonly=True) as connection:
            found = await collections.by_names(connection, self.principal, (collection,))
            ids = [one.id for one in found]
            return await find_communities_about(connection, self.principal, ids, limit=limit) if ids else []

    async def marks_behind(self, document: UUID, start: int) -> list[Landmark]:
        """Where sections begin, or go on in another passage, from a place of a document on; at most MOST_MARKS."""
        async with self.database.transaction(self.principal, readonly=True) as connection:
            return await passages.marks_behind(connection, self.principal, document, start, MOST_MARKS)

    async def text_between(self, document: UUID, version: int, start: int, end: int) -> str | None:
        """The text of a version of a document between two places; None of a version that is no more."""
        async with self.database.transaction(self.principal, readonly=True) as connection:
            return await passages.text_between(connection, self.principal, document, version, start, end)

    async def chunks_at(self, places: Sequence[tuple[UUID, int]]) -> list[UUID | None]:
        """The chunk in which each place stands, a passage and a code point of its document."""
        async with self.database.transaction(self.principal, readonly=True) as connection:
            return await passages.chunks_at(connection, self.principal, places)

    async def chunk_vectors(self, ids: Sequence[UUID]) -> list[ChunkVector]:
        """Vectors of the chunks of these passages, in order."""
        async with self.database.transaction(self.principal, readonly=True) as connection:
            return await passages.chunk_vectors(connection, self.principal, ids)

    @reads_contents
    async def ways(self, collection: str, one: str, other: str, *, hops: int, limit: int) -> tuple[Way, ...]:
        """How two entities, by name, are related; none where one of them is unknown or nothing joins them. What many passages
        mention ("American") joins nothing. Raises QueryTimeoutError."""
        async with self.database.transaction(
            self.principal, readonly=True, isolation="repeatable_read", config=_QUICKLY
        ) as connection:
            found = await collections.by_name(connection, self.principal, collection)
            ends = (
                [await find_entity(connection, self.principal, found.id, name) for name in (one, other)]
                if found
                else []
            )
            first, second = (*ends, None, None)[:2]
            if found is None or first is None or second is None or first.id == second.id:
                return ()
            most = min(max(found.passage_count // HUB, 3), MOST_PASSAGES)
            return await find_ways(
                connection,
                self.principal,
                found.id,
                first.id,
                second.id,
                hops=hops,
                limit=limit,
                most=most,
                code=await code_walker(connection, self.principal, found, (first, second)),
            )
