"""`import cairn`: the program of the README runs as it stands, on an embedded PostgreSQL of its own; and each verb with its
errors."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest

import cairn
from tests.waiting import patience

REPO = Path(__file__).resolve().parents[2]
LEAVE = "# Leave\n\nEmployees have 30 days of leave per year. A manager approves leave.\n"


def test_the_program_in_the_readme_runs(used_home: Path, tmp_path: Path) -> None:
    programs = re.findall(r"^```python\n(.*?)^```$", (REPO / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    (program,) = [text for text in programs if "import cairn" in text]
    assert len([line for line in program.splitlines() if line.strip()]) <= 20
    (tmp_path / "handbook").mkdir()
    (tmp_path / "handbook" / "leave.md").write_text(LEAVE)
    environment = {**os.environ, "CAIRN_HOME": str(used_home), "PYTHONPATH": str(REPO / "app")}

    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=patience(300),
    )

    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "1 documents, 0 failed"
    assert lines[1].startswith("Leave ('Leave',)")
    assert "Employees have 30 days of leave per year. [1] A manager approves leave." in lines
    assert "[1] handbook/leave.md: Employees have 30 days of leave per year." in lines
    assert "A manager approves leave." in lines[-1]  # streamed
    assert done.stderr == ""


@pytest.fixture
async def rag(database: str, tmp_path: Path) -> AsyncIterator[cairn.Cairn]:
    async with cairn.open(tmp_path, database_url=database, settings={"rag": {"collectionName": "handbook"}}) as opened:
        await opened.ingest(cairn.Source("leave", "leave.md", LEAVE.encode(), metadata={"team": "people"}))
        yield opened


async def test_ingesting_reports_files_documents_failures_and_progress(rag: cairn.Cairn, tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "a.md").write_text("Bridges span rivers.")
    (folder / "b.pdf").write_bytes(b"%PDF-1.7 broken")
    (folder / ".hidden").write_text("x")
    steps: list[tuple[int, int, str]] = []

    report = await rag.ingest(
        [folder, cairn.Source("leave", "leave.md", LEAVE.encode())], on_progress=lambda *step: steps.append(step)
    )

    assert {(one.external_id, one.duplicate) for one in report.indexed} == {("papers/a.md", False), ("leave", True)}
    assert [one.external_id for one in report.failed] == ["papers/b.pdf"]
    assert [Path(one.path).name for one in report.skipped] == [".hidden"]
    assert [done for done, _, _ in steps] == [1, 2, 3]
    assert {total for _, total, _ in steps} == {3}


async def test_searching_takes_what_the_api_takes(rag: cairn.Cairn) -> None:
    found = await rag.search("how much leave?", top_k=1, mode="lexical", filters={"team": "people"})
    assert [passage.external_id for passage in found.passages] == ["leave"]
    assert found.legs_used == ("lexical",)
    assert not (await rag.search("how much leave?", filters={"team": "sales"})).passages
    with pytest.raises(cairn.NotFoundError):
        await rag.search("leave", collection="nothing")
    with pytest.raises(cairn.InputError):
        await rag.search("  ")


async def test_an_answer_is_awaited_or_read_as_events(rag: cairn.Cairn) -> None:
    answer = await rag.ask("How many days of leave do employees have?")
    assert [citation.external_id for citation in answer.citations] == ["leave"]

    events = [event async for event in rag.ask("How many days of leave do employees have?")]

    assert isinstance(events[0], cairn.RunStarted)
    assert isinstance(events[-1], cairn.Answered)
    assert events[-1].answer.answer == answer.answer
    assert sum(isinstance(event, cairn.Answered) for event in events) == 1


async def test_a_question_is_asked_once(rag: cairn.Cairn) -> None:
    asking = rag.ask("How many days of leave do employees have?", collection="handbook")
    await asking
    with pytest.raises(cairn.ConflictError, match="asked already"):
        await asking


async def test_a_conversation_is_remembered(rag: cairn.Cairn) -> None:
    await rag.ask("How many days of leave do employees have?", session="alice")
    answer = await rag.ask("And who approves it?", session="alice")
    assert "manager" in answer.answer


async def test_a_cancelled_run_ends_with_cancelled(rag: cairn.Cairn) -> None:
    asked, events = rag.ask("How many days of leave do employees have?"), []
    async for event in asked:
        if not events:
            await rag.cancel(asked.run_id)
        events.append(event)
    assert isinstance(events[-1], cairn.Cancelled)
    with pytest.raises(cairn.NotFoundError):
        await rag.cancel(uuid4())


async def test_unusable_settings_and_paths_are_said(database: str, tmp_path: Path, rag: cairn.Cairn) -> None:
    with pytest.raises(cairn.SettingsError, match=r"rag\.nothing"):
        async with cairn.open(tmp_path, database_url=database, settings={"rag": {"nothing": 1}}):
            pass
    with pytest.raises(cairn.InputError, match="there is no file or folder"):
        await rag.ingest(tmp_path / "absent")


async def test_tenants_do_not_see_each_other(database: str, tmp_path: Path, rag: cairn.Cairn) -> None:
    async with cairn.open(tmp_path, database_url=database, tenant="two") as other:
        with pytest.raises(cairn.NotFoundError):
            await other.search("leave", collection="handbook")


async def test_what_is_handed_over_wrongly_is_said(rag: cairn.Cairn) -> None:
    with pytest.raises(cairn.InputError, match=r"hybrid, .*not 'magic'"):
        await rag.search("leave", mode="magic")  # type: ignore[arg-type]
    with pytest.raises(cairn.InputError, match="str, not bytes"):
        await rag.ingest(cairn.Source("leave", "leave.md", LEAVE))  # type: ignore[arg-type]
    with pytest.raises(cairn.InputError, match="run id"):
        await rag.cancel("latest")  # type: ignore[arg-type]


async def test_a_closed_one_says_so(database: str, tmp_path: Path) -> None:
    async with cairn.open(tmp_path, database_url=database) as rag:
        asked = rag.ask("How many days of leave do employees have?", collection="handbook")
    for use in (
        lambda: rag.ingest(tmp_path),
        lambda: rag.search("leave", collection="handbook"),
        lambda: rag.cancel(asked.run_id),
    ):
        with pytest.raises(cairn.ConflictError, match="this Cairn is closed"):
            await use()
    with pytest.raises(cairn.ConflictError, match="this Cairn is closed"):
        rag.ask("How many days of leave do employees have?")
