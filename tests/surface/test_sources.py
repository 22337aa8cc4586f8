"""Documents that Cairn gets itself: pages by their address (API, client, command line), and a folder that is watched."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import structlog
from commands import in_process
from scripted_web import Reply, ScriptedWeb
from serving import REPO, Api, serving, starter
from starter import StartedProcess

from cairn.client import Client, InputError, UnfinishedError
from tests.waiting import patience, wait_until

# --- pages ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def web() -> Iterator[ScriptedWeb]:
    leave = "<html><head><title>Leave policy</title></head><body><p>Employees have 30 days of leave per year.</p></body></html>"
    pages: dict[str, str | bytes | Reply] = {
        "/leave": leave,
        "/moved": Reply(status=301, headers={"Location": "/leave"}),
        "/slow": Reply(b"Slowly.", stalls=True),
        "/inside": Reply(status=302, headers={"Location": "http://169.254.169.254/latest/meta-data/"}),
    }
    with ScriptedWeb(pages) as running:
        yield running


def allowing(web: ScriptedWeb) -> dict[str, Any]:
    """Settings; what is on this machine lies in private networks."""
    hosts = [f"localhost:{web.port}", "169.254.169.254"]
    return {"urls": {"allowedHosts": hosts, "privateNetworks": ["127.0.0.0/8", "::1/128"]}}


@pytest.fixture(scope="module")
def api(
    fresh_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory, model: Path, web: ScriptedWeb
) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("api")
    with serving(fresh_database(), folder, settings=allowing(web), CAIRN_MODEL_DIR=str(model)) as running:
        yield running


def test_pages_are_fetched_by_a_job_and_can_be_asked(api: Api, web: ScriptedWeb) -> None:
    here = f"http://localhost:{web.port}"
    urls = [f"{here}/leave#top", f"{here}/leave", f"{here}/moved", f"{here}/nothing", f"{here}/inside"]
    accepted = api.client.post("/collections/web/urls", json={"urls": urls, "metadata": {"team": "people"}})
    assert accepted.status_code == 202, accepted.text
    path = accepted.headers["location"]
    assert path == f"/jobs/{accepted.json()['id']}"

    api.await_until(lambda: api.client.get(path).json()["status"] == "succeeded", 30)

    job = api.client.get(path).json()
    assert (job["kind"], job["collection"]) == ("fetch_urls", "web")
    assert job["progress"] == {"done": 4, "total": 4, "message": "done", "shares": {}}
    result = job["result"]
    assert [(one["external_id"], one["change"]) for one in result["uploaded"]] == [(f"{here}/leave", "added")]
    assert {one["external_id"]: one["code"] for one in result["failed"]} == {
        f"{here}/nothing": "fetch-failed", f"{here}/inside": "address-refused",
    }  # fmt: skip
    asked = {"question": "How many days of leave?", "collection": "web", "filters": {"team": "people"}}
    (citation, *_) = api.client.post("/query", json=asked).json()["citations"]
    assert citation["external_id"] == f"{here}/leave"
    assert citation["title"] == "Leave policy"


@pytest.mark.siege
def test_the_client_waits_for_its_pages(api: Api, web: ScriptedWeb) -> None:
    with Client(api.url) as client:
        done = client.fetch(f"http://localhost:{web.port}/leave", collection="waited")
        assert [one.change for one in done.documents] == ["added"]
        assert (
            client.fetch(f"http://localhost:{web.port}/leave", collection="waited").documents[0].change == "unchanged"
        )
        with pytest.raises(InputError, match=r"urls\.allowedHosts"):
            client.fetch("https://example.org/", collection="waited")
        with pytest.raises(UnfinishedError, match=r"job .* is (queued|running) after 0\.1 s") as raised:
            client.fetch(f"http://localhost:{web.port}/slow", collection="waited", seconds=0.1)
        web.released.set()
        job = f"/jobs/{raised.value.extra['job_id']}"
        api.await_until(lambda: api.client.get(job).json()["status"] == "succeeded", 30)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"urls": ["https://example.org/"]}, "example.org"),
        ({"urls": ["file:///etc/passwd"]}, "http"),
        ({"urls": []}, "body.urls"),
        ({"urls": ["http://localhost/"] * 101}, "body.urls"),
    ],
)
def test_one_wrong_address_and_nothing_is_fetched(api: Api, web: ScriptedWeb, body: Any, told: str) -> None:
    before = len(web.requests)
    refused = api.client.post("/collections/wrong/urls", json=body)
    assert refused.status_code == 422
    assert told in refused.json()["detail"]
    assert api.client.get("/collections/wrong").status_code == 404
    assert len(web.requests) == before


@pytest.mark.siege
def test_cairn_ingest_takes_addresses(
    database: str, model: Path, web: ScriptedWeb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    (tmp_path / "settings.json").write_text(json.dumps(allowing(web)))
    monkeypatch.chdir(tmp_path)
    for name, value in {"DATABASE_URL": database, "HOME": str(tmp_path / "home"), "MODEL_DIR": str(model)}.items():
        monkeypatch.setenv(f"CAIRN_{name}", value)
    cairn, url = in_process(capfd), f"http://localhost:{web.port}/leave"

    done = cairn("ingest", url, "--collection", "web")
    assert (done.code, done.out.splitlines()[0]) == (0, f"added: {url}"), done
    assert "30 days" in cairn("ask", "How many days of leave?", "--collection", "web").out
    failed = cairn("ingest", f"{url}/not", url, "--collection", "web")
    assert failed.code == 1
    assert "answered 404" in failed.err
    mixed = cairn("ingest", url, "settings.json")
    assert (mixed.code, "by themselves" in mixed.err) == (2, True)
    structlog.reset_defaults()


# --- a folder that is watched -----------------------------------------------------------------------------------------


class Watch:
    """A `cairn watch` under way."""

    def __init__(self, process: StartedProcess, said: Path) -> None:
        self.process = process
        self._said = said

    @property
    def said(self) -> str:
        return self._said.read_text()

    def wait_for(self, text: str) -> None:
        wait_until(lambda: text in self.said or self.process.poll() is not None, 20, told=lambda: self.said)
        assert text in self.said, self.said


@contextmanager
def watching(folder: Path, dsn: str, model: Path, home: Path, *options: str) -> Iterator[Watch]:
    """Ends it by SIGTERM, which is no failure."""
    own = {
        "CAIRN_DATABASE_URL": dsn,
        "CAIRN_HOME": str(home),
        "CAIRN_MODEL_DIR": str(model),
        "PYTHONPATH": str(REPO / "app"),
    }
    said = home / "said"
    home.mkdir(exist_ok=True)
    said.write_bytes(b"")
    given = ("watch", str(folder), "-c", "notes", *options)
    process = starter().start({**os.environ, **own}, said, *given, folder=home)
    try:
        yield Watch(process, said)
        if process.poll() is None:
            process.terminate()
            assert process.wait(patience(15)) == 0, said.read_text()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


async def indexed(dsn: str) -> dict[str, list[str] | None]:
    """Each document with its access list."""
    connection = await asyncpg.connect(dsn)
    try:
        rows = await connection.fetch("SELECT external_id, access FROM rag.documents WHERE status = 'indexed'")
        return {row["external_id"]: row["access"] for row in rows}
    finally:
        await connection.close()


async def test_a_collection_follows_a_folder(database: str, model: Path, tmp_path: Path) -> None:
    folder, home = tmp_path / "notes", tmp_path / "home"
    (folder / "old").mkdir(parents=True)
    (folder / "leave.md").write_text("Employees have 30 days of leave.")
    (folder / "old" / "pay.md").write_text("Pay day is the 25th.")
    (folder / "once.md").write_text("This is here once.")

    ours = ["group:hr"]
    with watching(folder, database, model, home, "--reader", *ours) as watch:
        watch.wait_for("added: notes/once.md")
        assert await indexed(database) == dict.fromkeys(("notes/leave.md", "notes/old/pay.md", "notes/once.md"), ours)
        (folder / ".draft.md").write_text("hidden")
        (folder / "new" / "deep").mkdir(parents=True)
        (folder / "new" / "deep" / "travel.md").write_text("Trips are paid.")
        (folder / "leave.md").write_text("Employees have 31 days of leave.")
        watch.wait_for("added: notes/new/deep/travel.md")
        watch.wait_for("replaced: notes/leave.md")
        before = (folder / "leave.md").stat()
        with (folder / "leave.md").open("r+") as file:
            file.write("Employees have 32")
        os.utime(folder / "leave.md", ns=(before.st_atime_ns, before.st_mtime_ns))
        wait_until(lambda: watch.said.count("replaced: notes/leave.md") == 2, told=lambda: watch.said)
        (folder / "old" / "pay.md").unlink()
        (folder / "old").rmdir()
        watch.wait_for("removed: notes/old/pay.md")
        kept = ("notes/leave.md", "notes/new/deep/travel.md", "notes/once.md")
        assert await indexed(database) == dict.fromkeys(kept, ours)
    assert watch.said.count("added: notes/once.md") == 1

    (folder / "once.md").unlink()
    (folder / "meanwhile.md").write_text("Nobody watched.")
    with watching(folder, database, model, home) as watch:
        watch.wait_for("added: notes/meanwhile.md")
        watch.wait_for("removed: notes/once.md")
        assert "leave.md" not in watch.said  # what is as it was costs nothing
        for file in sorted(folder.rglob("*.md")):
            file.unlink()
        wait_until(lambda: watch.said.count("removed:") == 4, told=lambda: watch.said)
        assert await indexed(database) == {}  # it was seen to become empty
        (folder / "kept.md").write_text("This is kept.")
        watch.wait_for("added: notes/kept.md")
        folder.rename(tmp_path / "unmounted")
        watch.wait_for("its documents are kept")
        assert watch.process.wait(patience(10)) == 2
    assert await indexed(database) == {"notes/kept.md": None}
