"""Tables of documents by columns: written with a document, and computed over. In the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from cairn.db.queries import load_queries
from cairn.domain.passage import Passage
from cairn.domain.principal import Principal
from cairn.domain.table import (
    CellMention,
    ColumnCells,
    ComputedCells,
    DocumentTable,
    NamedCells,
    TableAddress,
    TableCells,
    TableSketch,
)

SQL: Final = load_queries("tables")


@dataclass(frozen=True, slots=True)
class ReadTables:
    """The tables that were read in a version of a document."""

    document_id: UUID
    version: int
    tables: Sequence[DocumentTable]


async def write(connection: Any, documents: Sequence[ReadTables], *, fresh: frozenset[UUID] = frozenset()) -> None:
    """In the place of those that were there; `fresh`: documents that had none before."""
    if known := [one.document_id for one in documents if one.document_id not in fresh]:
        await connection.execute(SQL["forget"], known)
    tables = [
        (one.document_id, one.version, n, table.start, table.end, table.title, list(table.headings), list(table.header),
         table.starts, table.ends, table.groups, table.totals, table.mark, table.complete)
        for one in documents
        for n, table in enumerate(one.tables)
    ]  # fmt: skip
    if not tables:
        return
    await connection.executemany(SQL["write_table"], tables)
    await connection.executemany(
        SQL["write_column"],
        [
            (one.document_id, n, position, column.filled, column.numbered, column.dated, column.unit, column.texts,
             column.numbers, column.units, column.dates, column.keys)
            for one in documents
            for n, table in enumerate(one.tables)
            for position, column in enumerate(table.columns)
        ],
    )  # fmt: skip


async def load_places(connection: Any, tenant_id: int, document_id: UUID) -> list[tuple[int, int]]:
    """Where the tables of a document stand, as they were written."""
    return [
        (row["char_start"], row["char_end"]) for row in await connection.fetch(SQL["places"], tenant_id, document_id)
    ]


async def find_beside(connection: Any, principal: Principal, passages: Sequence[Passage]) -> list[TableSketch]:
    """Tables of which a part stands in these passages, those of the first passages first."""
    rows = await connection.fetch(
        SQL["beside"],
        principal.tenant_id,
        [one.document_id for one in passages],
        [one.start for one in passages],
        [one.end for one in passages],
    )
    return [_sketch(row) for row in sorted(rows, key=lambda row: (row["rank"], row["ordinal"]))]


def _sketch(row: Any) -> TableSketch:
    return TableSketch(
        address=TableAddress(row["document_id"], row["ordinal"]),
        title=row["title"],
        headings=tuple(row["headings"]),
        header=tuple(row["header"]),
        rows=row["rows"],
        mark=row["decimal_mark"],
        complete=row["complete"],
        numeric=tuple(row["numeric"]),
        dated=tuple(row["dated"]),
        units=tuple(row["units"]),
        external_id=row["external_id"],
        document_title=row["document_title"],
        shared=tuple(row["shared"]),
        yearly=tuple(row["yearly"]),
        coded=row["coded"],
        serial=row["serial"],
        numbered=row["numbered"],
        repeats=row["repeats"],
        flags=tuple(row["flags"]),
    )


async def find_named(
    connection: Any,
    principal: Principal,
    table: TableSketch,
    names: Sequence[str],
    forms: Sequence[str],
    people: Sequence[int],
) -> list[NamedCells]:
    """Cells of a table that are called by one of these; `forms`: words that need not be said at their end ("Ltd"), `people`:
    columns of persons, who are called by one of their names, too."""
    address = table.address
    rows = await connection.fetch(
        SQL["named"], principal.tenant_id, address.document_id, address.ordinal, list(names), list(table.shared),
        list(forms), list(people),
    )  # fmt: skip
    return [NamedCells(*row.values()) for row in rows]


async def find_mentions(
    connection: Any, principal: Principal, table: TableAddress, wanted: Sequence[tuple[int, str]]
) -> list[CellMention]:
    """Cells of columns that say one of these names among other words: column and name of each."""
    rows = await connection.fetch(
        SQL["mentions"], principal.tenant_id, table.document_id, table.ordinal, [at for at, _ in wanted],
        [name for _, name in wanted],
    )  # fmt: skip
    return [CellMention(*row.values()) for row in rows]


async def load_cells(connection: Any, principal: Principal, table: TableAddress) -> TableCells:
    """All cells of a table, in the order of its columns."""
    rows = await connection.fetch(SQL["cells"], principal.tenant_id, table.document_id, table.ordinal)
    columns = tuple(ColumnCells(row["texts"], row["keys"], row["dates"]) for row in rows)
    [first, *_] = rows or [{"totals": (), "starts": (), "ends": ()}]
    return TableCells(columns, first["totals"], first["starts"], first["ends"])


async def compute(
    connection: Any, principal: Principal, table: TableAddress, statement: str, arguments: Sequence[Any]
) -> ComputedCells:
    """`statement`: of_rows or of_columns, with what follows the table in its parameters."""
    row: Mapping[str, Any] = await connection.fetchrow(
        SQL[statement], principal.tenant_id, table.document_id, table.ordinal, *arguments
    )
    return ComputedCells(**{name: row[name] for name in ComputedCells.__dataclass_fields__ if name in row})


async def find_holding(connection: Any, principal: Principal, document_id: UUID, places: Sequence[int]) -> list[UUID]:
    """Of each place of a document the passage in which it stands."""
    rows = await connection.fetch(SQL["holding"], principal.tenant_id, document_id, list(places))
    return [row["id"] for row in rows]
