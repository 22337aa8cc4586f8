"""A backup that somebody else made: its rows come in, and nothing else of it; no statement that it holds is ever run."""

from __future__ import annotations

import asyncio
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import structlog
from commands import Cairn, in_process

from cairn.db.dump_file import DumpedRows, DumpFile
from cairn.db.embedded import EmbeddedServer
from cairn.db.programs import find_program
from cairn.errors import BackupError
from tests.catalog import differences, read_catalog

Psql = Callable[..., str]
Attack = Callable[[str], Path]

AS_CAIRN = (
    "--format=custom",
    "--enable-row-security",
    "--no-owner",
    "--no-privileges",
    "--schema=rag",
    "--schema=analyst",
)
"""What `cairn backup` asks pg_dump for."""

ROWS = """
INSERT INTO rag.tenants (name) VALUES ('honest'), ('other');
INSERT INTO rag.jobs (tenant_id, id, kind) SELECT id, gen_random_uuid(), 'none' FROM rag.tenants;
"""

STRIKE = """
CREATE OR REPLACE FUNCTION rag.strike() RETURNS boolean LANGUAGE plpgsql AS $$BEGIN {deed} RETURN true; END$$;
CREATE OR REPLACE FUNCTION rag.strike_constantly(given text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS
    $$BEGIN PERFORM rag.strike(); RETURN given; END$$;
CREATE OR REPLACE FUNCTION rag.strike_at_rows() RETURNS trigger LANGUAGE plpgsql AS
    $$BEGIN PERFORM rag.strike(); RETURN NEW; END$$;
"""


@pytest.fixture
def cairn(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Cairn]:
    monkeypatch.setenv("CAIRN_MODEL_DIR", str(model))
    monkeypatch.setenv("CAIRN_HOME", str(tmp_path / "home"))
    yield in_process(capfd)
    structlog.reset_defaults()


@pytest.fixture
def marker() -> Iterator[Path]:
    """A file that commands of the server's user can write; there is none as long as nobody has run one."""
    with tempfile.TemporaryDirectory(prefix="cairn-marker-") as folder:
        Path(folder).chmod(0o777)
        yield Path(folder) / "was-here"


@pytest.fixture
def attack(database: str, psql: Psql, tmp_path: Path, marker: Path) -> Attack:
    """Makes the dump of a database to which statements were done; `rag.strike()` is a function that does nothing until it is
    dumped, and writes the marker when it is called after that."""
    name, file = urlsplit(database).path[1:], tmp_path / "stranger.dump"

    def make(statements: str, *options: str) -> Path:
        psql(ROWS, name)
        psql(STRIKE.format(deed="") + statements, name)
        psql(STRIKE.format(deed=f"COPY (SELECT 1) TO PROGRAM 'touch {marker}';"), name)
        dump = [find_program("pg_dump", None), *(options or AS_CAIRN), f"--file={file}", f"--dbname={database}"]
        subprocess.run(dump, check=True, capture_output=True, text=True)
        assert not marker.exists(), "the marker is to be written by a restore, or by nobody"
        return file

    return make


@pytest.fixture(scope="module")
def fresh(server: EmbeddedServer, template: str) -> list[str]:
    """The catalog of a database that this release made."""
    return catalog_of(server.dsn(template))


def catalog_of(dsn: str) -> list[str]:
    return [line for line in read_catalog(dsn) if "search_" not in line]


@pytest.fixture
def restored(
    cairn: Cairn, fresh: list[str], empty_database: str, psql: Psql, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Path], str]:
    """Restores a file and gives what was said of it. Fails where anything ran, or the database is not what this release makes
    of the honest rows."""
    monkeypatch.setenv("CAIRN_DATABASE_URL", empty_database)
    name = urlsplit(empty_database).path[1:]

    def restore(file: Path) -> str:
        done = cairn("restore", file)
        assert not marker.exists()
        assert done.code == 0, done.err
        assert differences(catalog_of(empty_database), fresh) == []
        assert psql("SELECT id, name FROM rag.tenants ORDER BY id", name).split() == ["1|honest", "2|other"]
        assert (
            psql("SELECT count(*) FROM rag.jobs JOIN rag.tenants AS t ON t.id = tenant_id AND kind = 'none'", name)
            == "2"
        )
        assert psql("SELECT rag.ensure_tenant('new')", name) == "3"
        assert not marker.exists()
        return done.err

    return restore


@pytest.fixture
def refused(
    cairn: Cairn, empty_database: str, psql: Psql, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Path], str]:
    """Tries to restore a file, and gives the one line that says why that was not done; nothing is left behind."""
    monkeypatch.setenv("CAIRN_DATABASE_URL", empty_database)
    name = urlsplit(empty_database).path[1:]

    def restore(file: Path) -> str:
        done = cairn("restore", file)
        assert not marker.exists()
        assert (done.code, done.out) == (1, "")
        assert re.fullmatch(r"cairn: [^\n]+\n", done.err), done.err
        left = (
            "SELECT count(*) FROM pg_class WHERE relnamespace IN (to_regnamespace('rag'), to_regnamespace('analyst'))"
        )
        assert psql(left, name) == "0"
        return done.err

    return restore


SCHEMA = """
ALTER TABLE rag.tenants ADD CONSTRAINT struck CHECK (rag.strike());
ALTER TABLE rag.run_legs ADD CONSTRAINT struck CHECK (rag.strike());
CREATE DOMAIN rag.struck AS text CHECK (rag.strike());
DROP POLICY app ON rag.jobs; DROP POLICY views ON rag.jobs;
ALTER TABLE rag.jobs ALTER kind TYPE rag.struck;
CREATE TRIGGER struck BEFORE INSERT ON rag.tenants FOR EACH ROW EXECUTE FUNCTION rag.strike_at_rows();
ALTER TABLE rag.tenants ENABLE ALWAYS TRIGGER struck;
CREATE INDEX struck_names ON rag.tenants (rag.strike_constantly(name));
ALTER TABLE rag.tenants ADD struck text GENERATED ALWAYS AS (rag.strike_constantly(name)) STORED;
ALTER TABLE rag.jobs ALTER error SET DEFAULT rag.strike()::text;
CREATE MATERIALIZED VIEW rag.struck_rows AS SELECT rag.strike() AS x;
CREATE VIEW analyst.struck AS SELECT rag.strike() AS x;
CREATE RULE struck AS ON INSERT TO rag.jobs DO ALSO SELECT rag.strike();
CREATE POLICY struck ON rag.tenants USING (rag.strike()) WITH CHECK (rag.strike());
CREATE STATISTICS rag.struck_names ON (rag.strike_constantly(name)), id FROM rag.tenants;
CREATE OR REPLACE FUNCTION rag.record_deed(tenant bigint, action text, target text, detail jsonb) RETURNS void
    LANGUAGE sql SECURITY DEFINER AS 'SELECT rag.strike()';
"""


TABLES = """
CREATE TABLE rag.stray AS SELECT rag.strike() AS x;
CREATE TABLE rag."a\n\\! touch x" AS SELECT rag.strike() AS x;
CREATE TABLE rag.runs_x (LIKE rag.runs);
"""


def test_nothing_of_a_stranger_s_schema_comes_in_and_tables_that_are_none_of_cairn_are_named(
    attack: Attack, restored: Callable[[Path], str]
) -> None:
    said = restored(attack(SCHEMA + TABLES))
    assert said.startswith("Left out, because it is nothing of Cairn: ")
    assert len(said.splitlines()) == 1
    assert "'a', " in said
    assert "'stray'" in said
    assert "'runs_x'" in said


@pytest.mark.siege
def test_nothing_of_a_whole_database_comes_in(attack: Attack, restored: Callable[[Path], str], marker: Path) -> None:
    """A dump without restrictions: with owners, rights, an extension, an event trigger and schemas of its own."""
    statements = """
    ALTER TABLE rag.tenants OWNER TO cairn_app;
    ALTER FUNCTION rag.strike() OWNER TO cairn_app;
    GRANT ALL ON ALL TABLES IN SCHEMA rag TO PUBLIC;
    ALTER DEFAULT PRIVILEGES IN SCHEMA rag GRANT ALL ON TABLES TO PUBLIC;
    CREATE SCHEMA struck;
    CREATE TABLE struck.tenants AS SELECT rag.strike() AS x;
    CREATE FUNCTION rag.strike_at_ddl() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN PERFORM rag.strike(); END';
    CREATE EVENT TRIGGER struck ON ddl_command_end EXECUTE FUNCTION rag.strike_at_ddl();
    ALTER EVENT TRIGGER struck DISABLE;
    SELECT lo_from_bytea(0, 'x');
    """
    file = attack(statements, "--format=custom")
    whole = file.read_bytes()
    said = re.search(rb"COMMENT ON EXTENSION vector IS '[^']*';\n", whole)
    assert said
    file.write_bytes(
        whole.replace(said[0], f"COPY (SELECT 1) TO PROGRAM 'touch {marker}';\n".encode().ljust(len(said[0])))
    )
    assert restored(file) == ""


@pytest.mark.siege
def test_a_column_of_another_release_is_refused(attack: Attack, refused: Callable[[Path], str]) -> None:
    said = refused(attack("ALTER TABLE rag.tenants ADD struck boolean DEFAULT rag.strike();"))
    assert "column 'tenants.struck', which this release does not fill: restore it with the release that made it" in said


JOBS = b"COPY rag.jobs (tenant_id, id, kind, payload, "


FORGED = [
    (b"COPY pg_catalog.pg_authid (rolname, rolsuper) FROM stdin;\n", "none of Cairn: 'pg_catalog.pg_authid'"),
    (b"COPY rag.alembic_version (version_num) FROM stdin;\n", "none of Cairn: 'rag.alembic_version'"),
    (b"COPY rag.passages (tenant_id, search_vector) FROM stdin;\n", "column 'passages.search_vector'"),
    (b"COPY rag.jobs (tenant_id, id) FROM stdin;\n", "could not be restored: extra data after last expected column"),
]
"""Texts in the place of the line that begins the rows of a table, and why each is refused."""

STATEMENTS = [
    b"COPY rag.jobs (tenant_id) FROM PROGRAM 'touch %s';\n",
    b'COPY rag."jobs\n" (tenant_id) FROM stdin;\n',
    b"COPY rag.jobs (tenant_id) FROM stdin; SELECT 1;\n",
    b"\\! touch %s\n",
    b"SET x = 1; COPY (SELECT 1) TO PROGRAM 'touch %s';\n",
    b"SET session_authorization = $$x$$;\n",
    b"-- none\n",
]


def forge(whole: bytes, text: bytes, marker: Path) -> bytes:
    """The archive with a text in the place of the line that begins the rows of jobs."""
    begin = whole.index(JOBS)
    end = whole.index(b"FROM stdin;\n", begin) + len(b"FROM stdin;\n")
    text = text.replace(b"%s", str(marker).encode())
    if missing := end - begin - len(text):
        text = b"--".ljust(missing - 1, b"-") + b"\n" + text
    assert len(text) == end - begin
    return whole[:begin] + text + whole[end:]


@pytest.mark.siege
def test_a_forged_archive_is_refused(attack: Attack, refused: Callable[[Path], str], marker: Path) -> None:
    """What pg_restore prints before the rows of a table is a text of the archive, and may be any."""
    file = attack("SELECT 1")
    whole = file.read_bytes()
    for forged, why in FORGED:
        file.write_bytes(forge(whole, forged, marker))
        assert why in refused(file), forged


async def read_jobs(file: Path) -> None:
    async for part in DumpFile(find_program("pg_restore", None), file).read(["jobs"], []):
        assert isinstance(part, DumpedRows)


def test_statements_of_a_forged_archive_are_refused_where_it_is_read(attack: Attack, marker: Path) -> None:
    """Each of them, as the restore reads it; that it then ends with the reason is in tests/db/test_restore.py."""
    file = attack("SELECT 1")
    whole = file.read_bytes()
    for forged in STATEMENTS:
        file.write_bytes(forge(whole, forged, marker))
        with pytest.raises(BackupError, match="it has a statement where rows should be"):
            asyncio.run(read_jobs(file))
        assert not marker.exists()


@pytest.mark.siege
def test_rows_that_end_in_a_statement_are_refused(attack: Attack, refused: Callable[[Path], str], marker: Path) -> None:
    placeholder = b"PLACEHOLDER".ljust(200, b"-")
    file = attack(
        f"INSERT INTO rag.jobs (tenant_id, id, kind) VALUES (1, gen_random_uuid(), '{placeholder.decode()}');",
        *AS_CAIRN, "--compress=0",
    )  # fmt: skip
    end = f"\n\\.\nCOPY (SELECT 1) TO PROGRAM 'touch {marker}';\nSELECT 1; --"
    file.write_bytes(file.read_bytes().replace(placeholder, end.encode().ljust(200, b"-")))
    assert "could not be restored: missing data for column" in refused(file)


@pytest.mark.siege
def test_a_table_of_rows_that_break_the_schema_is_refused(attack: Attack, refused: Callable[[Path], str]) -> None:
    """Constraints of the release hold for what a dump brings, whatever constraints it brings."""
    lost = """
    ALTER TABLE rag.uploads DROP CONSTRAINT uploads_tenant_id_job_id_fkey;
    ALTER TABLE rag.uploads DROP CONSTRAINT uploads_tenant_id_collection_id_fkey;
    INSERT INTO rag.uploads (tenant_id, id, collection_id, job_id, external_id, name, content)
    VALUES (1, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'x', 'x', 'x');"""
    assert "violates foreign key constraint" in refused(attack(lost))
