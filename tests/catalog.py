"""What a database is, out of its catalogs (catalog.sql), and how two differ."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import asyncpg

PARTS = re.findall(r"^-- name: (.+)\n((?:.+\n)+)", Path(__file__).with_suffix(".sql").read_text(), re.MULTILINE)


def read_catalog(dsn: str) -> list[str]:
    """Sorted lines, `part: what there is of it`; as a superuser or the owner."""

    async def read() -> list[str]:
        connection = await asyncpg.connect(dsn)
        try:
            found = {part: await connection.fetch(query) for part, query in PARTS}
        finally:
            await connection.close()
        return sorted(f"{part}: {row[0]}" for part, rows in found.items() for row in rows)

    return asyncio.run(read())


def differences(one: list[str], other: list[str]) -> list[str]:
    """Lines that only one of them has."""
    return [f"- {line}" for line in sorted(set(one) - set(other))] + [
        f"+ {line}" for line in sorted(set(other) - set(one))
    ]
