"""A backup that somebody else made: its rows come in, and nothing else of it; no statement that it holds is ever run."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import structlog
from commands import Cairn, in_process

from cairn.db.programs import find_program

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


def test_a_check_that_runs_a_command_is_not_restored(
    cairn: Cairn, attack: Attack, marker: Path, empty_database: str, psql: Psql, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = attack("ALTER TABLE rag.tenants ADD CONSTRAINT struck CHECK (rag.strike());")
    monkeypatch.setenv("CAIRN_DATABASE_URL", empty_database)
    done = cairn("restore", file)
    assert not marker.exists()
    assert done.code == 0, done.err
    assert psql("SELECT name FROM rag.tenants ORDER BY id", urlsplit(empty_database).path[1:]).split() == [
        "honest",
        "other",
    ]
