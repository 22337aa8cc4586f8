"""A migration that is cut off, cancelled or held up at a message between it and the server: the next one ends it."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from cairn.db.migrate import migrate
from cairn.errors import CairnError
from tests.faults.by_seed.plan import Fault
from tests.faults.database_proxy import database_proxy

SCHEMA: Final = r"""
SELECT 'function' AS what, p.proname::text AS name, md5(pg_get_functiondef(p.oid)) AS said FROM pg_proc p
JOIN pg_namespace n ON n.oid = p.pronamespace AND n.nspname IN ('rag', 'analyst')
WHERE p.prokind = 'f' AND p.proname !~ '^search_\d+$'
UNION ALL SELECT 'policy', tablename || ' ' || policyname, md5(concat(qual, with_check)) FROM pg_policies
UNION ALL SELECT 'table', c.oid::regclass::text,
  md5(string_agg(concat_ws(' ', a.attname, a.atttypid::regtype, a.attnotnull), ',' ORDER BY a.attnum))
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname IN ('rag', 'analyst')
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'p', 'v') AND NOT c.relispartition GROUP BY c.oid
UNION ALL SELECT 'index', i.indexrelid::regclass::text, i.indisvalid::text FROM pg_index i
JOIN pg_class c ON c.oid = i.indrelid AND NOT c.relispartition
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'rag' WHERE i.indexrelid::regclass::text NOT LIKE '%hnsw%'
ORDER BY 1, 2, 3
"""
"""All of the schema but what belongs to days and embedding models."""


async def migrate_struck(owner: asyncpg.Connection, dsn: str, name: str, faults: tuple[Fault, ...]) -> list[str]:
    """Make the schema in a new database of that name while faults strike, then once more without; what struck. Raises
    AssertionError where the outcome is not the schema of the owner's database."""
    there = urlunsplit(urlsplit(dsn)._replace(path=f"/{name}"))
    await owner.execute(f"CREATE DATABASE {name}")
    try:
        with tempfile.TemporaryDirectory(prefix="cairn-") as folder:
            struck = await _struck(there, Path(folder), {fault.at: fault.kind for fault in faults})
        await migrate(there)
        again = (await migrate(there)).action
        assert again == "none", f"the migration after the one that ended it found something to do: {again}"
        made = await _schema(there)
        wanted = await owner.fetch(SCHEMA)
        assert made == wanted, [row for row in wanted if row not in made][:5] + [
            row for row in made if row not in wanted
        ][:5]
        return struck
    finally:
        await owner.execute(f"DROP DATABASE {name} WITH (FORCE)")


async def _struck(dsn: str, folder: Path, faults: dict[int, str]) -> list[str]:
    struck, passed = list[str](), 0
    async with database_proxy(dsn, folder) as proxy:
        task = asyncio.create_task(migrate(proxy.dsn))

        def each() -> float | None:
            nonlocal passed
            passed += 1
            if (kind := faults.get(passed)) is None:
                return 0.0
            struck.append(f"{kind} at {passed}")
            if kind == "cancel":
                task.cancel()
            return {"cut": None, "hang": 0.2}.get(kind, 0.0)

        proxy.trouble(each)
        with contextlib.suppress(CairnError, asyncio.CancelledError):
            await task
    return struck


async def _schema(dsn: str) -> list[Any]:
    connection = await asyncpg.connect(dsn)
    try:
        found: list[Any] = await connection.fetch(SCHEMA)
        return found
    finally:
        await connection.close()
