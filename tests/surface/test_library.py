"""`import cairn`: each verb with its errors. The program of docs/library.md is run in test_examples.py."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest
import pytest_asyncio

import cairn
from cairn.service.documents import list_documents
from tests.sharing import SHARED

pytestmark = SHARED

LEAVE = "# Leave\n\nEmployees have 30 days of leave per year. A manager approves leave.\n"


@pytest.fixture(scope="module")
def dsn(fresh_database: Callable[[], str]) -> str:
    return fresh_database()


@asynccontextmanager
async def opened(home: Path, dsn: str) -> AsyncIterator[cairn.Cairn]:
    async with cairn.open(home, database_url=dsn, settings={"rag": {"collectionName": "handbook"}}) as rag:
        await rag.ingest(cairn.Source("leave", "leave.md", LEAVE.encode(), metadata={"team": "people"}))
        yield rag


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rag(dsn: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[cairn.Cairn]:
    """One for all tests of this module but those that need one that was never asked."""
    async with opened(tmp_path_factory.mktemp("rag"), dsn) as shared:
        yield shared


async def test_ingesting_reports_files_documents_failures_and_progress(rag: cairn.Cairn, tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "a.md").write_text("Bridges span rivers.")
    (folder / "b.pdf").write_bytes(b"%PDF-1.7 broken")
    (folder / ".hidden").write_text("x")
    steps: list[tuple[int, int, str]] = []

    report = await rag.ingest(
        [folder, cairn.Source("leave", "leave.md", LEAVE.encode(), metadata={"team": "people"})],
        on_progress=lambda *step: steps.append(step),
    )

    assert {(one.external_id, one.duplicate) for one in report.indexed} == {("papers/a.md", False), ("leave", True)}
    assert [one.external_id for one in report.failed] == ["papers/b.pdf"]
    assert [Path(one.path).name for one in report.skipped] == [".hidden"]
    assert [done for done, _, _ in steps] == [1, 2, 3]
    assert {total for _, total, _ in steps} == {3}


async def test_who_may_read_is_said_of_files_folders_and_collections(rag: cairn.Cairn, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Bridges span rivers.")
    text = cairn.Source("hr/b", "b.md", b"Rivers run.")
    assert await rag.set_access(["group:hr"], collection="lists", folder="hr/") == 0
    await rag.ingest([tmp_path / "a.md", cairn.Source("c", "c.md", b"C.")], collection="lists", access=["person:ada"])
    await rag.ingest(text, collection="lists")
    found = await list_documents(rag._services, "lists")
    assert [one.access for one in found if one.external_id == "hr/b"] == [["group:hr"]]
    assert [one.access for one in found if one.external_id != "hr/b"] == 2 * [["person:ada"]]
    assert await rag.set_access(None, collection="lists", folder="hr") == 1
    with pytest.raises(cairn.InputError):
        await rag.set_access(["hr"], collection="lists")


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


async def test_a_cancelled_run_ends_with_cancelled(database: str, tmp_path: Path) -> None:
    """The question was never asked before: an answer out of the cache would be there before it is cancelled."""
    async with opened(tmp_path, database) as rag:
        asked, events = rag.ask("How many days of leave do employees have?"), []
        async for event in asked:
            if not events:
                await rag.cancel(asked.run_id)
            events.append(event)
        assert isinstance(events[-1], cairn.Cancelled)
        with pytest.raises(cairn.NotFoundError):
            await rag.cancel(uuid4())


async def test_unusable_settings_and_paths_are_said(dsn: str, tmp_path: Path, rag: cairn.Cairn) -> None:
    with pytest.raises(cairn.SettingsError, match=r"rag\.nothing"):
        async with cairn.open(tmp_path, database_url=dsn, settings={"rag": {"nothing": 1}}):
            pass
    with pytest.raises(cairn.InputError, match="there is no file or folder"):
        await rag.ingest(tmp_path / "absent")


async def test_tenants_do_not_see_each_other(dsn: str, tmp_path: Path, rag: cairn.Cairn) -> None:
    async with cairn.open(tmp_path, database_url=dsn, tenant="two") as other:
        with pytest.raises(cairn.NotFoundError):
            await other.search("leave", collection="handbook")


async def test_what_is_handed_over_wrongly_is_said(rag: cairn.Cairn) -> None:
    with pytest.raises(cairn.InputError, match=r"hybrid, .*not 'magic'"):
        await rag.search("leave", mode="magic")  # type: ignore[arg-type]
    with pytest.raises(cairn.InputError, match="str, not bytes"):
        await rag.ingest(cairn.Source("leave", "leave.md", LEAVE))  # type: ignore[arg-type]
    with pytest.raises(cairn.InputError, match="run id"):
        await rag.cancel("latest")  # type: ignore[arg-type]


async def test_a_closed_one_says_so(dsn: str, tmp_path: Path) -> None:
    async with cairn.open(tmp_path, database_url=dsn) as rag:
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
