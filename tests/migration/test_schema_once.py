"""The schema is said once: a database that was upgraded equals a fresh one, and so does what `cairn migrate --sql` prints."""

from __future__ import annotations

import asyncio
import io
import subprocess
from collections.abc import Callable
from pathlib import Path

import asyncpg
import pytest

from cairn.db import runtime
from cairn.db.embedded import EmbeddedServer
from cairn.db.migrate import migrate, migration_sql
from cairn.db.restore import SQL as RESTORE_SQL
from cairn.db.schema import OLDEST_READABLE, SchemaSource
from cairn.errors import MigrationError
from tests.catalog import differences, read_catalog
from tests.migration_support import Release
from tests.thinning import ends

SOURCE = SchemaSource.installed()
COLUMNS_OF_BACKUPS = RESTORE_SQL["columns"]


@pytest.fixture(scope="module")
def fresh(server: EmbeddedServer, template: str) -> list[str]:
    return read_catalog(server.dsn(template))


def go_back(dsn: str, revision: str) -> None:
    """To what a database of this revision was, by the downgrades that revisions have for this test."""
    from alembic import command
    from alembic.config import Config
    from sqlalchemy.ext.asyncio import create_async_engine
    from sqlalchemy.pool import NullPool

    config = Config(output_buffer=io.StringIO())
    config.set_main_option("script_location", str(SOURCE.migrations))

    async def main() -> None:
        engine = create_async_engine(
            "postgresql+asyncpg://", async_creator=lambda: asyncpg.connect(dsn), poolclass=NullPool
        )
        async with engine.connect() as connection:
            await connection.run_sync(lambda held: config.attributes.update(connection=held))
            await connection.run_sync(lambda _: command.downgrade(config, revision))
            await connection.commit()

    asyncio.run(main())


async def columns_of_backups(dsn: str) -> dict[str, set[str]]:
    """By table, those that a backup of this database has, and that rows of one are given."""
    connection = await asyncpg.connect(dsn)
    try:
        return {row["name"]: set(row["columns"]) for row in await connection.fetch(COLUMNS_OF_BACKUPS)}
    finally:
        await connection.close()


@pytest.mark.parametrize("revision", ends(sorted(SOURCE.revisions)))
def test_upgraded_equals_fresh(revision: str, empty_database: str, tmp_path: Path, fresh: list[str]) -> None:
    """From each revision that is upgraded from, with other functions and policies than today's."""
    older = Release.copy(tmp_path / "older")
    text = (older.folder / "sql" / "row_security.sql").read_text(encoding="utf-8")
    older.add_sql("row_security.sql", text.replace("USING (true)", "USING (1 = 1)"))
    for name in ("views/recall_checks.sql", "functions/audit.sql"):
        (older.folder / "sql" / name).unlink()
    asyncio.run(migrate(empty_database, source=older.source))
    go_back(empty_database, revision)
    before, dumped = read_catalog(empty_database), asyncio.run(columns_of_backups(empty_database))
    assert f"revision: {revision}" in before
    assert differences(before, fresh)
    asyncio.run(migrate(empty_database))
    assert differences(read_catalog(empty_database), fresh) == []
    if revision >= OLDEST_READABLE:
        filled = asyncio.run(columns_of_backups(empty_database))
        assert [name for name in dumped if not dumped[name] <= filled.get(name, dumped[name])] == [], "cairn restore"


def test_a_catalog_shows_what_it_is_asked_for(server: EmbeddedServer, database: str, fresh: list[str]) -> None:
    """Else the comparisons here would show nothing."""

    async def run(statement: str) -> None:
        connection = await asyncpg.connect(database)
        await connection.execute(statement)
        await connection.close()

    assert differences(read_catalog(database), fresh) == []
    for change in (
        "COMMENT ON COLUMN rag.jobs.kind IS 'x'",
        "ALTER TABLE rag.run_legs ALTER scores SET STORAGE PLAIN",
        "ALTER TABLE rag.lexical_terms RESET (fillfactor)",
        "ALTER TABLE rag.feedback NO FORCE ROW LEVEL SECURITY",
        "ALTER TABLE rag.jobs ALTER kind SET DEFAULT 'x'",
        "ALTER TABLE rag.jobs DROP CONSTRAINT jobs_pkey CASCADE",
        "DROP INDEX rag.lexical_index_keys_idx",
        "DROP POLICY definer ON rag.jobs",
        "GRANT SELECT ON rag.jobs TO cairn_analyst",
        "GRANT EXECUTE ON FUNCTION rag.set_policy(regclass, text, text) TO cairn_app",
        "GRANT INSERT (kind) ON rag.jobs TO cairn_views",
        "ALTER FUNCTION rag.set_policy(regclass, text, text) OWNER TO cairn_definer",
        "CREATE DOMAIN rag.more AS text",
        "CREATE OR REPLACE VIEW rag.more_jobs AS SELECT 1 AS one",
    ):
        asyncio.run(run(change))
        changed = read_catalog(database)
        assert differences(changed, fresh), change
        fresh = changed


def test_the_printed_sql_makes_the_same_database(
    server: EmbeddedServer, empty_database: str, tmp_path: Path, fresh: list[str], psql: Callable[..., str]
) -> None:
    """`cairn migrate --sql` for administrators who run it themselves; the next start has nothing to do."""
    script = tmp_path / "cairn.sql"
    script.write_text(asyncio.run(migration_sql()), encoding="utf-8")
    program = runtime.program(server.home / "postgres" / runtime.VERSION, "psql")
    command = [program, "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", empty_database, "-f", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert asyncio.run(migrate(empty_database)).action == "none"
    assert differences(read_catalog(empty_database), fresh) == []


def test_a_fresh_database_knows_each_revision_and_whether_it_breaks_older_code(
    psql: Callable[..., str], database: str
) -> None:
    async def read() -> dict[str, bool]:
        connection = await asyncpg.connect(database)
        rows = await connection.fetch("SELECT revision, breaking FROM rag.schema_revisions")
        await connection.close()
        return {row["revision"]: row["breaking"] for row in rows}

    assert asyncio.run(read()) == dict(SOURCE.breaking)


async def test_a_database_of_before_the_baseline_is_told_how_to_get_there(database: str) -> None:
    """And is left as it is."""
    connection = await asyncpg.connect(database)
    await connection.execute("UPDATE rag.alembic_version SET version_num = '0011'")
    with pytest.raises(MigrationError, match=r"revision 0011, .* from 0026 on\. Check out commit e0ad900e"):
        await migrate(database)
    assert await connection.fetchval("SELECT version_num FROM rag.alembic_version") == "0011"
    await connection.close()


async def test_marks_of_old_revisions_do_not_stop_older_code(database: str, tmp_path: Path) -> None:
    """A database from before the baseline remembers its breaking revisions, which every code since has behind it."""
    connection = await asyncpg.connect(database)
    await connection.execute("INSERT INTO rag.schema_revisions (revision, breaking) VALUES ('0008', true)")
    await connection.close()
    newer = Release.copy(tmp_path / "newer").add_revision("0999", "COMMENT ON TABLE rag.jobs IS 'later'")
    await migrate(database, source=newer.source)
    assert (await migrate(database)).action == "ahead"


@pytest.mark.parametrize("word", ["as the owner", "for the owner"])
async def test_rights_that_name_no_function_are_an_error(word: str, empty_database: str, tmp_path: Path) -> None:
    """A function that was renamed would else have the rights of any other."""
    release = Release.copy(tmp_path / "release")
    text = (release.folder / "sql" / "row_security.sql").read_text(encoding="utf-8")
    release.add_sql(
        "row_security.sql", text.replace('"rag.add_partition":', f'"rag.gone": "{word}", "rag.add_partition":')
    )
    with pytest.raises(MigrationError, match=r"no function has the name for which rights are given: rag\.gone"):
        await migrate(empty_database, source=release.source)
