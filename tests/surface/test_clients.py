"""`cairn.client` and the retrievers over it against a real server, and the programs of docs/clients.md as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from clients_environment import clients_python
from scripted_web import Reply, ScriptedWeb
from serving import REPO, Api, serving

from cairn.client import (
    Answered,
    AsyncClient,
    CairnError,
    Client,
    ForbiddenError,
    InputError,
    NotFoundError,
    RunStarted,
    SourcesFound,
    Token,
    UnauthenticatedError,
    UnreachableError,
    calls,
)
from cairn.service.keys import create_key, of_tenant
from cairn.settings import SettingsStore, read_environment
from cairn.wiring import open_services
from tests.waiting import patience

LEAVE = "# Leave\n\nEmployees have 30 days of leave per year. A manager approves leave.\n"
QUESTION = "How many days of leave do employees have?"


@pytest.fixture(scope="module")
def client(api: Api, tmp_path_factory: pytest.TempPathFactory) -> Client:
    handbook = tmp_path_factory.mktemp("files") / "handbook"
    (handbook / ".hidden").mkdir(parents=True)
    (handbook / "leave.md").write_text(LEAVE)
    (handbook / "broken.pdf").write_bytes(b"%PDF-1.7 broken")
    (handbook / ".hidden" / "x.md").write_text("not for anybody")
    client = Client(api.url)
    done = client.upload(handbook, collection="handbook", metadata={"team": "people"})
    assert [(one.external_id, one.change) for one in done.documents] == [("handbook/leave.md", "added")]
    assert [one.external_id for one in done.failed] == ["handbook/broken.pdf"]
    return client


def test_an_upload_says_who_may_read_it(client: Client, tmp_path: Path) -> None:
    (tmp_path / "pay.md").write_text("Pay day is the 25th.")
    for access in (["group:hr", "person:ada"], None, []):
        client.upload(tmp_path / "pay.md", collection="wages", access=access)
        [found] = client.documents("wages")
        assert found.access == (None if access == [] else ["group:hr", "person:ada"])


def test_a_search_finds_typed_passages(client: Client) -> None:
    found = client.search("days of leave", collection="handbook", top_k=3, mode="lexical", filters={"team": "people"})
    assert found.legs_used == ("lexical",)
    assert found.weights is not None
    assert [passage.external_id for passage in found.passages] == ["handbook/leave.md"]
    assert isinstance(found.passages[0].document_id, UUID)
    assert not client.search("leave", collection=["handbook"], filters={"team": "sales"}).passages


def test_an_answer_cites_what_stands_in_the_document(client: Client) -> None:
    answer = client.ask(QUESTION, collection="handbook")
    assert answer.answered == "yes"
    (citation, *_) = answer.citations
    assert citation.quote == "Employees have 30 days of leave per year."
    assert citation.context is not None
    assert citation.context.text == "Employees have 30 days of leave per year. A manager approves leave."
    assert LEAVE[citation.context.start : citation.context.end] == citation.context.text
    assert answer.sources[0].external_id == citation.external_id
    assert answer.coverage.of >= 1


def test_a_stream_is_the_same_run_event_by_event(client: Client) -> None:
    events = list(client.stream(QUESTION, collection="handbook"))
    assert isinstance(events[0], RunStarted)
    assert any(isinstance(event, SourcesFound) and event.passages for event in events)
    assert isinstance(events[-1], Answered)
    assert "".join(event.text for event in events if isinstance(event, Token)) == events[-1].answer.answer
    assert events[-1].answer.answer == client.ask(QUESTION, collection="handbook").answer


async def test_the_async_client_does_the_same(client: Client, api: Api) -> None:
    async with AsyncClient(api.url) as other:
        done = await other.index(
            [{"external_id": "pay", "text": "Pay day is the 25th of each month."}], collection="pay"
        )
        assert [one.external_id for one in done.documents] == ["pay"]
        assert (await other.search("pay day", collection="pay")).passages[0].external_id == "pay"
        assert "25th" in (await other.ask("When is pay day?", collection="pay")).answer
        events = [event async for event in other.stream("When is pay day?", collection="pay")]
        assert isinstance(events[-1], Answered)
        assert {"handbook", "pay"} <= set(await other.collections())
        (document,) = await other.documents("pay")
        await other.delete(document.id, collection="pay")
        assert await other.documents("pay") == []


def test_a_list_has_all_pages(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "PAGE", 2)
    names = [f"note {number}" for number in range(5)]
    client.index([{"external_id": name, "text": f"This is {name}."} for name in names], collection="notes")
    assert [document.external_id for document in client.documents("notes")] == names


def test_what_the_server_refuses_is_raised_as_what_it_is(client: Client, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no collection named nothing") as missing:
        client.search("leave", collection="nothing")
    assert missing.value.extra["status"] == 404
    assert missing.value.extra["request_id"]
    with pytest.raises(InputError):
        client.search("  ")
    with pytest.raises(NotFoundError):
        client.cancel(uuid4())
    with pytest.raises(NotFoundError):
        list(client.stream(QUESTION, collection="nothing"))
    with pytest.raises(InputError, match="no file or folder"):
        client.upload(tmp_path / "nothing", collection="handbook")


def test_a_server_that_is_not_there_is_unreachable() -> None:
    with Client("http://127.0.0.1:9") as nobody, pytest.raises(UnreachableError, match="cairn serve"):
        nobody.collections()


def test_what_is_no_cairn_is_named_as_such() -> None:
    moved = Reply(status=301, headers={"Location": "/elsewhere"})
    with ScriptedWeb({"/collections?limit=200": "<p>Welcome</p>", "/models/collections?limit=200": moved}) as web:
        with Client(f"http://127.0.0.1:{web.port}") as other, pytest.raises(UnreachableError, match="no Cairn"):
            other.collections()
        with Client(f"http://127.0.0.1:{web.port}/models/") as other, pytest.raises(CairnError, match="HTTP 301"):
            other.collections()


async def test_a_key_opens_what_it_may(
    fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Path
) -> None:
    dsn, folder = fresh_database(), tmp_path_factory.mktemp("keyed")
    environment = read_environment(
        {"CAIRN_DATABASE_URL": dsn, "CAIRN_HOME": str(folder), "CAIRN_MODEL_DIR": str(model)}
    )
    async with open_services(environment, SettingsStore()) as services:
        _, secret = await create_key(await of_tenant(services, "people", create=True), "reader", frozenset({"read"}))
    with serving(dsn, folder, CAIRN_MODEL_DIR=str(model), CAIRN_AUTH="keys") as keyed:
        async with AsyncClient(keyed.url, secret) as reader, AsyncClient(keyed.url, "cairn_wrong") as stranger:
            assert await reader.collections() == []
            with pytest.raises(ForbiddenError, match="ask"):
                await reader.ask(QUESTION)
            with pytest.raises(UnauthenticatedError):
                await stranger.collections()


def test_threads_share_a_client(client: Client) -> None:
    answers: list[str | CairnError] = []

    def ask() -> None:
        try:
            answers.append(client.ask(QUESTION, collection="handbook").answer)
        except CairnError as error:
            answers.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(patience(60))
    assert len(answers) == 4
    assert len(set(answers)) == 1


# --- the programs of docs/clients.md, as they stand -------------------------------------------------------------------

PROGRAMS = re.findall(r"^```python\n(.*?)^```$", (REPO / "docs" / "clients.md").read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where programs run: `cairn` is what the repository has, and there is a handbook."""
    (tmp_path / "handbook").mkdir()
    (tmp_path / "handbook" / "leave.md").write_text(LEAVE)
    return tmp_path


def run(program: str, python: str, api: Api, folder: Path) -> str:
    """What it prints."""
    environment = {**os.environ, "CAIRN_URL": api.url, "PYTHONPATH": str(REPO / "app")}
    done = subprocess.run(
        [python, "-c", program], cwd=folder, env=environment, capture_output=True, text=True, timeout=patience(120)
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.siege
@pytest.mark.parametrize("program", [text for text in PROGRAMS if "cairn.client" in text])
def test_a_program_with_the_client_runs(program: str, client: Client, api: Api, folder: Path) -> None:
    assert len([line for line in program.splitlines() if line.strip()]) <= 12
    said = run(program, sys.executable, api, folder)
    assert "Employees have 30 days of leave per year. [1]" in said


@pytest.mark.siege
@pytest.mark.parametrize("library", ["langchain", "llama_index"])
def test_a_program_with_a_framework_runs(library: str, client: Client, api: Api, folder: Path) -> None:
    """In an environment that has the framework and httpx2, and none of the server's libraries."""
    (program,) = [text for text in PROGRAMS if f"from cairn.{library}" in text]
    assert len(program.splitlines()) <= 10
    client.upload(folder / "handbook", collection="handbook", metadata={"team": "people"})
    said = run(program + ALSO[library], clients_python(), api, folder)
    assert "handbook/leave.md" in said
    assert "30 days" in said
    assert "async: the same" in said


ALSO = {
    "langchain": """
import asyncio, sys
found = asyncio.run(retriever.ainvoke("days of leave"))
assert found == retriever.invoke("days of leave")
assert found[0].metadata["team"] == "people" and found[0].metadata["headings"] == ["Leave"], found[0]
assert not CairnRetriever(collection="handbook", filters={"team": "sales"}).invoke("leave")
assert not {"asyncpg", "fastapi", "cairn.service", "cairn.settings"} & set(sys.modules)
print("async: the same")
""",
    "llama_index": """
import asyncio, sys
(one, *_) = asyncio.run(retriever.aretrieve("days of leave"))
same = retriever.retrieve("days of leave")[0]
assert one.node.node_id == same.node.node_id and one.score > 0
assert one.node.ref_doc_id == one.node.metadata["document_id"]
assert not CairnNodeRetriever(collection="handbook", filters={"team": "sales"}).retrieve("leave")
assert not {"asyncpg", "fastapi", "cairn.service", "cairn.settings"} & set(sys.modules)
print("async: the same")
""",
}


def test_importing_the_client_imports_no_server(folder: Path) -> None:
    script = (
        "import sys, cairn.client; print(*sorted(name for name in sys.modules if name.startswith('cairn.') "
        "and name.split('.')[1] not in ('client', 'domain', 'errors', 'distribution') "
        "or name in ('asyncpg', 'fastapi', 'numpy', 'pydantic')))"
    )
    environment = {**os.environ, "PYTHONPATH": str(REPO / "app")}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
