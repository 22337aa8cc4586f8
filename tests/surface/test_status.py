"""`cairn status`: whoever runs it sees what is wrong, what an upgrade left to do and by which command; it changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import structlog
from commands import Cairn, in_process

from cairn.db.schema import SchemaSource
from cairn.domain.job import QueueState
from cairn.service.status import describe_waiting

Psql = Callable[..., str]


@pytest.fixture
def cairn(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Cairn]:
    monkeypatch.setenv("CAIRN_MODEL_DIR", str(model))
    monkeypatch.setenv("CAIRN_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    yield in_process(capfd)
    structlog.reset_defaults()


def test_what_is_there_and_what_an_upgrade_left_to_do(
    cairn: Cairn, database: str, psql: Psql, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_DATABASE_URL", database)
    name = urlsplit(database).path[1:]
    (tmp_path / "a.md").write_text("# Cairns\n\nA cairn is a pile of stones.\n")
    assert cairn("ingest", tmp_path / "a.md", "-c", "trail").code == 0
    done = cairn("status", "--json")
    found = done.json
    assert (done.code, found["well"], found["problems"], found["notes"]) == (0, True, [], [])
    assert found["database"]["revision"] == SchemaSource.installed().head
    assert found["older"] == {"trail": {"read": 0, "derived": 0}}
    assert cairn("status").out.endswith("all is well\n")

    psql("UPDATE rag.documents SET loader_revision = 0", name)
    done = cairn("status")
    assert done.code == 0, "an answer is found all the same"
    assert "to do      collection trail: 1 document was read by an earlier release; cairn reread trail" in done.out
    assert "all is well" not in done.out

    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    done = cairn("status", "--json")
    assert (done.code, done.json["well"]) == (1, False)
    assert done.json["problems"][0].startswith("the chat model does not answer: ")
    monkeypatch.delenv("OPENAI_BASE_URL")

    psql("DELETE FROM rag.schema_objects", name)
    done = cairn("status")
    assert done.code == 1
    assert "has not all that this release brings: back it up, then cairn migrate" in done.out
    assert psql("SELECT count(*) FROM rag.schema_objects", name) == "0", "status migrates nothing"


def test_a_database_without_tables_stays_without(
    cairn: Cairn, empty_database: str, psql: Psql, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_DATABASE_URL", empty_database)
    done = cairn("status")
    assert (done.code, "the database is empty" in done.out) == (0, True)
    assert psql("SELECT to_regnamespace('rag') IS NULL", urlsplit(empty_database).path[1:]) == "t"


def test_a_database_that_is_away_is_a_problem_and_settings_that_are_wrong_are_an_error(
    cairn: Cairn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_DATABASE_URL", "postgresql://cairn@127.0.0.1:9/cairn")
    done = cairn("status", "--json")
    assert (done.code, done.json["well"]) == (1, False)
    assert "cannot connect to PostgreSQL" in done.json["problems"][0]
    (tmp_path / "settings.json").write_text('{"rag": {"topq": 3}}')
    monkeypatch.setenv("CAIRN_SETTINGS", str(tmp_path / "settings.json"))
    done = cairn("status")
    assert (done.code, "topq" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("queue", "told"),
    [
        (QueueState(0, 0, 0, None), None),
        (QueueState(3, 0, 3, 59.0), None),
        (QueueState(3, 1, 3, 900.0), None),
        (QueueState(3, 0, 3, 61.0), "3 jobs wait, the first for 61 s, and none is under way: start cairn worker"),
        (QueueState(1, 0, 1, 61.0), "1 job waits, the first for 61 s"),
    ],
)
def test_jobs_that_nobody_takes_tell_that_no_worker_lives(queue: QueueState, told: str | None) -> None:
    said = describe_waiting(queue)
    assert (said is None) == (told is None)
    assert (said or "").startswith(told or "")
