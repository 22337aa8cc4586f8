"""Migrations at start-up are automatic, idempotent, keep what is there, and stop on any failure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import structlog

from cairn.db.migrate import LOCK_TABLE, migrate
from cairn.db.schema import SchemaSource, check_pgvector
from cairn.db.table_lock import table_lock
from cairn.db.vector_indexes import ensure_model
from cairn.errors import DatabaseAheadError, DatabaseUnavailableError, MigrationError
from tests.migration_support import Release
from tests.waiting import patience

HEAD = SchemaSource.installed().head
_LAST_PARTITION = r"SELECT max(oid::regclass::text) FROM pg_class WHERE relname ~ '^runs_\d{8}$'"
VIEW = "CREATE OR REPLACE VIEW analyst.sample AS SELECT {columns} FROM rag.collections"


@pytest.fixture
def release(tmp_path: Path) -> Release:
    return Release.copy(tmp_path / "release")


async def fetch(dsn: str, query: str) -> list[Any]:
    connection = await asyncpg.connect(dsn)
    try:
        return [tuple(row) for row in await connection.fetch(query)]
    finally:
        await connection.close()


async def value(dsn: str, query: str) -> Any:
    return (await fetch(dsn, query))[0][0]


async def revision(dsn: str) -> str:
    return str(await value(dsn, "SELECT version_num FROM rag.alembic_version"))


async def test_an_empty_database_is_migrated_once(empty_database: str) -> None:
    assert (await migrate(empty_database)).action == "migrated"
    before = await fetch(empty_database, "SELECT name, hash, applied_at FROM rag.schema_objects ORDER BY name")
    again = await migrate(empty_database)
    assert (again.action, again.revision) == ("none", HEAD)
    assert before == await fetch(empty_database, "SELECT name, hash, applied_at FROM rag.schema_objects ORDER BY name")


def test_a_start_with_nothing_to_do_does_not_import_alembic(database: str, release: Release) -> None:
    process = release.start(database)
    out, err = process.communicate(timeout=patience(60))
    assert (process.returncode, out.splitlines()[-1:]) == (0, ["none False"]), err


def test_the_lineage_read_from_files_is_alembics(release: Release) -> None:
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(release.source.migrations))
    scripts = ScriptDirectory.from_config(config)
    assert scripts.get_heads() == [release.source.head]
    assert {script.revision for script in scripts.walk_revisions()} == release.source.revisions


async def test_an_upgrade_keeps_rows_and_backfills_them(database: str, release: Release) -> None:
    await value(database, "SELECT rag.ensure_tenant('kept')")
    release.add_revision(
        "t1",
        "ALTER TABLE rag.tenants ADD COLUMN IF NOT EXISTS label text",
        "UPDATE rag.tenants SET label = upper(name) WHERE label IS NULL",
    )
    assert (await migrate(database, source=release.source)).action == "migrated"
    assert await fetch(database, "SELECT name, label FROM rag.tenants") == [("kept", "KEPT")]
    assert await revision(database) == "t1"


async def test_a_database_with_access_lists_is_not_distributed(database: str) -> None:
    """Told before Citus is looked for, of a document and of a folder."""
    for statement in (
        "SELECT rag.ensure_tenant('lists')",
        "INSERT INTO rag.collections (tenant_id, id, name, lex_seed)"
        " SELECT id, gen_random_uuid(), 'pay', 1 FROM rag.tenants RETURNING 1",
        "INSERT INTO rag.documents"
        " (tenant_id, id, collection_id, external_id, title, version, status, content_hash, media_type, access)"
        " SELECT tenant_id, id, id, 'slip', '', 1, 'indexed', '', 'text/plain', '{group:hr}' FROM rag.collections RETURNING 1",
    ):
        await value(database, statement)
    refused = pytest.raises(MigrationError, match=r"have access lists.*a tenant of its own.*docs/security\.md")
    with refused:
        await migrate(database, distribute=True)
    await value(database, "UPDATE rag.documents SET access = NULL RETURNING 1")
    await value(
        database,
        "INSERT INTO rag.access_rules SELECT tenant_id, id, 'hr/', '{group:hr}' FROM rag.collections RETURNING 1",
    )
    with refused:
        await migrate(database, distribute=True)
    await value(database, "DELETE FROM rag.access_rules RETURNING 1")
    with pytest.raises(MigrationError, match="has no Citus"):
        await migrate(database, distribute=True)


async def test_a_failing_revision_leaves_the_one_before(database: str, release: Release) -> None:
    release.add_revision("t1", "CREATE TABLE rag.good (id int)")
    release.add_revision("t2", "CREATE TABLE rag.bad (id int)", "SELECT 1 / 0")
    release.add_sql("functions/new.sql", "CREATE FUNCTION rag.new() RETURNS int LANGUAGE sql AS 'SELECT 1'")
    with pytest.raises(
        MigrationError, match=r"^the migration after revision t1 failed: .*division by zero.*$"
    ) as caught:
        await migrate(database, source=release.source)
    assert "\n" not in caught.value.detail
    assert caught.value.exit_code == 1
    assert await revision(database) == "t1"
    found = "SELECT to_regclass('rag.good') IS NULL, to_regclass('rag.bad') IS NULL, to_regproc('rag.new') IS NULL"
    assert await fetch(database, found) == [(False, True, True)]


async def test_a_broken_sql_file_changes_nothing(database: str, release: Release) -> None:
    release.add_sql("functions/a_good.sql", "CREATE FUNCTION rag.good() RETURNS int LANGUAGE sql AS 'SELECT 1'")
    release.add_sql("functions/b_bad.sql", "SELECT 1;\n\nCREATE FUNCTIN rag.bad()")
    hashes = await fetch(database, "SELECT * FROM rag.schema_objects ORDER BY name")
    with pytest.raises(MigrationError, match=r"^sql/functions/b_bad.sql line 3: syntax error"):
        await migrate(database, source=release.source)
    assert await value(database, "SELECT to_regproc('rag.good')") is None
    assert await fetch(database, "SELECT * FROM rag.schema_objects ORDER BY name") == hashes


async def test_a_function_body_is_checked(database: str, release: Release) -> None:
    release.add_sql(
        "functions/bad.sql", "CREATE FUNCTION rag.bad() RETURNS int LANGUAGE sql AS 'SELECT a FROM nowhere'"
    )
    with pytest.raises(MigrationError, match=r"^function rag.bad\(\): .*nowhere"):
        await migrate(database, source=release.source)


async def test_a_changed_function_is_applied(database: str, release: Release) -> None:
    for number in (1, 2):
        body = f"CREATE OR REPLACE FUNCTION rag.number() RETURNS int LANGUAGE sql AS 'SELECT {number}'"
        await migrate(database, source=release.add_sql("functions/number.sql", body).source)
        assert await value(database, "SELECT rag.number()") == number


async def test_a_view_that_gains_a_column_keeps_grants_of_others(database: str, release: Release) -> None:
    await migrate(database, source=release.add_sql("views/sample.sql", VIEW.format(columns="name")).source)
    await fetch(database, "GRANT SELECT ON analyst.sample TO pg_monitor")
    await migrate(database, source=release.add_sql("views/sample.sql", VIEW.format(columns="name, epoch")).source)
    assert await value(database, "SELECT has_table_privilege('pg_monitor', 'analyst.sample', 'SELECT')")


async def test_a_view_that_changes_is_made_again_with_its_grants(database: str, release: Release) -> None:
    await migrate(database, source=release.add_sql("views/sample.sql", VIEW.format(columns="name, epoch")).source)
    await migrate(database, source=release.add_sql("views/sample.sql", VIEW.format(columns="epoch, name")).source)
    owner = "SELECT relowner::regrole::text FROM pg_class WHERE oid = 'analyst.sample'::regclass"
    assert await value(database, owner) == "cairn_views"
    assert await value(database, "SELECT has_table_privilege('cairn_analyst', 'analyst.sample', 'SELECT')")


async def test_on_another_major_version_functions_and_rights_are_made_anew(database: str) -> None:
    """After `pg_upgrade`, what everybody may run is what a new version lets everybody run."""
    await fetch(database, "UPDATE rag.schema_objects SET hash = '15' WHERE name = 'PostgreSQL'")
    await fetch(database, "GRANT EXECUTE ON FUNCTION lo_create(oid) TO PUBLIC")
    assert (await migrate(database)).action == "migrated"
    assert await fetch(database, "SELECT * FROM rag.open_to_everybody()") == []
    assert (await migrate(database)).action == "none"


@pytest.mark.parametrize("breaking", [False, True])
async def test_a_database_that_is_ahead(database: str, release: Release, breaking: bool) -> None:
    """Design 9.2: served with a warning and untouched, unless a revision there says that older code must not."""
    release.add_revision("t1", "SELECT 1", breaking=breaking).add_revision("t2", "SELECT 1")
    await migrate(database, source=release.source)
    await fetch(database, "UPDATE rag.schema_objects SET hash = 'of the newer release'")
    if breaking:
        with pytest.raises(DatabaseAheadError, match=rf"revision t2, this code at {HEAD}, .* t1;") as caught:
            await migrate(database)
        assert caught.value.exit_code == 3
    else:
        result = await migrate(database)
        assert (result.action, result.revision) == ("ahead", "t2")
    assert await fetch(database, "SELECT DISTINCT hash FROM rag.schema_objects") == [("of the newer release",)]


@pytest.mark.siege
async def test_a_lock_that_is_not_given_back_is_named(empty_database: str) -> None:
    await migrate(empty_database)
    await fetch(empty_database, "DELETE FROM rag.schema_objects")
    async with table_lock(empty_database, LOCK_TABLE, name="stuck"):
        with pytest.raises(MigrationError, match=r"0.5 s \(process \d+, stuck, since .*PgBouncer"):
            await migrate(empty_database, lock_seconds=0.5)
    assert (await migrate(empty_database)).action == "migrated"


@pytest.mark.sweep(2)
@pytest.mark.parametrize("fresh", [True, False])
async def test_advisory_locks_hold_no_migration_up(fresh: bool, empty_database: str) -> None:
    """They are free for all, on servers where the owner cannot take them away too. Those that earlier releases took are held."""
    if not fresh:
        await migrate(empty_database)
        await fetch(empty_database, "DROP TABLE " + await value(empty_database, _LAST_PARTITION))
        await fetch(empty_database, "DELETE FROM rag.schema_objects")
    holder = await asyncpg.connect(empty_database)
    try:
        for name in (b"cairn", b"models"):
            await holder.execute(f"SELECT pg_advisory_lock({int.from_bytes(name, 'big')})")
        await holder.execute("SELECT pg_advisory_lock(hashtextextended('rag.add_partition', 0))")
        assert (await migrate(empty_database, lock_seconds=5)).action == "migrated"
        await ensure_model(empty_database, "tiny", 3)
    finally:
        await holder.close()


@pytest.mark.parametrize("table", ["rag.alembic_version", "rag.embedding_models", "rag.runs"])
async def test_who_may_only_read_cannot_take_the_locks_of_the_owner(
    table: str, database: str, psql: Callable[..., str]
) -> None:
    psql("CREATE ROLE jealous LOGIN")
    await fetch(database, "SELECT rag.ensure_tenant('t'), rag.grant_analyst('jealous', 't')")
    jealous = await asyncpg.connect(database.replace("//cairn@", "//jealous@"))
    try:
        for mode in ("ACCESS SHARE", "SHARE UPDATE EXCLUSIVE", "ROW EXCLUSIVE", "ACCESS EXCLUSIVE"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await jealous.execute(f"BEGIN; LOCK TABLE {table} IN {mode} MODE")
            await jealous.execute("ROLLBACK")
    finally:
        await jealous.close()
        await fetch(database, "DROP OWNED BY jealous")
        psql("DROP ROLE jealous")


async def test_an_invalid_index_is_made_again(database: str, release: Release) -> None:
    """What an interrupted CREATE INDEX CONCURRENTLY leaves would satisfy IF NOT EXISTS for ever."""
    index = "CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS twice_idx ON rag.twice (id)"
    await fetch(database, "CREATE TABLE rag.twice AS SELECT 1 AS id FROM generate_series(1, 2)")
    with pytest.raises(asyncpg.UniqueViolationError):
        await fetch(database, index)
    await fetch(database, "DELETE FROM rag.twice")
    await migrate(database, source=release.add_revision("t1", concurrently=(index,)).source)
    assert await value(database, "SELECT indisvalid FROM pg_index WHERE indexrelid = 'rag.twice_idx'::regclass")


async def test_pgvector_elsewhere_or_old_is_explained(empty_database: str) -> None:
    await fetch(empty_database, "CREATE SCHEMA elsewhere CREATE TABLE unused ()")
    await fetch(empty_database, "CREATE EXTENSION vector SCHEMA elsewhere")
    with pytest.raises(MigrationError, match=r"in schema elsewhere; .*ALTER EXTENSION vector SET SCHEMA public;"):
        await migrate(empty_database)
    await fetch(empty_database, "ALTER EXTENSION vector SET SCHEMA public")
    await fetch(empty_database, "UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'")
    with pytest.raises(MigrationError, match=r"pgvector 0.7.4 is too old"):
        await migrate(empty_database)
    assert await value(empty_database, "SELECT to_regclass('rag.tenants')") is None


async def test_a_pgvector_that_damages_indexes_is_refused_also_where_the_schema_stands(database: str) -> None:
    """Three numbers are compared: 0.8.3 has a buffer overflow's fix, and not that of the index."""
    assert (await migrate(database)).action == "none"
    for version in ("0.8.3", "0.8", "0.7.4"):
        await fetch(database, f"UPDATE pg_extension SET extversion = '{version}' WHERE extname = 'vector'")
        with pytest.raises(
            MigrationError, match=rf"pgvector {version} is too old: before 0\.8\.2 .* buffer.* 0\.8\.4 .* damage"
        ):
            await migrate(database)
    for enough in ("0.8.4", "0.8.10", "0.9.0", "3.0.0"):
        await fetch(database, f"UPDATE pg_extension SET extversion = '{enough}' WHERE extname = 'vector'")
        assert (await migrate(database)).action == "none"


@pytest.mark.parametrize(
    ("version", "embedded", "warned"),
    [
        ("0.8.5", False, True),
        ("0.8.5", True, False),
        ("0.8.6", False, False),
        ("0.8.10", False, False),
        ("0.8.4", False, True),
    ],
)
def test_a_pgvector_that_is_behind_is_warned_of_on_a_server_of_ones_own(
    version: str, embedded: bool, warned: bool
) -> None:
    with structlog.testing.capture_logs() as logs:
        check_pgvector(version, embedded=embedded)
    assert [entry["event"] for entry in logs] == ["migrate.pgvector_behind"] * warned


async def test_no_server_is_said_so() -> None:
    with pytest.raises(DatabaseUnavailableError, match="cannot connect to PostgreSQL"):
        await migrate("postgresql://nobody@127.0.0.1:1/nothing")
