"""A fresh database equals an upgraded one, and sql/schema.sql shows it."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cairn.db import runtime
from cairn.db.embedded import EmbeddedServer
from cairn.db.migrate import migrate, migration_sql
from cairn.db.schema import SchemaSource
from tests.migration_support import REPO, Release

_spec = importlib.util.spec_from_file_location("schema_dump", REPO / "scripts" / "schema_dump.py")
assert _spec
assert _spec.loader
schema_dump = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(schema_dump)


@pytest.fixture(scope="module")
def fresh(server: EmbeddedServer, template: str) -> str:
    return str(schema_dump.dump(server, template))


def _name(dsn: str) -> str:
    return dsn.partition("@/")[2].partition("?")[0]


def test_schema_sql_is_current(fresh: str) -> None:
    assert fresh == schema_dump.TARGET.read_text(encoding="utf-8"), "run scripts/schema_dump.py"


HEAD = len(SchemaSource.installed().revisions)


@pytest.mark.parametrize("known", sorted({1, HEAD // 2, HEAD - 2, HEAD - 1, HEAD}))
async def test_upgraded_equals_fresh(
    known: int, server: EmbeddedServer, empty_database: str, tmp_path: Path, fresh: str
) -> None:
    """From earlier revisions, with other functions and policies than today's; from the first one, all of them are run."""
    older = Release.copy(tmp_path / "older")
    for path in sorted((older.folder / "migrations" / "versions").glob("*.py"))[known:]:
        path.unlink()
    if known < HEAD:
        # today's functions and views may name what that revision did not have
        for path in older.folder.glob("sql/[fv]*/*.sql"):
            if path.stem not in ("tenants", "partitions", "analysts_watch", "distribution"):
                path.unlink()
    grants = (older.folder / "sql" / "grants.sql").read_text(encoding="utf-8")
    older.add_sql("grants.sql", grants.replace("USING (true)", "USING (1 = 1)"))
    await migrate(empty_database, source=older.source)
    assert schema_dump.dump(server, _name(empty_database)) != fresh
    await migrate(empty_database)
    assert schema_dump.dump(server, _name(empty_database)) == fresh


def test_the_printed_sql_makes_the_same_database(
    server: EmbeddedServer, empty_database: str, tmp_path: Path, fresh: str, psql: Callable[..., str]
) -> None:
    """`cairn migrate --sql` for administrators who run it themselves; the next start has nothing to do."""
    script = tmp_path / "cairn.sql"
    script.write_text(asyncio.run(migration_sql()), encoding="utf-8")
    program = runtime.program(server.home / "postgres" / runtime.VERSION, "psql")
    command = [program, "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", empty_database, "-f", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert asyncio.run(migrate(empty_database)).action == "none"
    assert schema_dump.dump(server, _name(empty_database)) == fresh
