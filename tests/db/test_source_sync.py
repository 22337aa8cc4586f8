"""A collection keeps in step with a source: what is new, changed, moved and gone, and what is kept where that is not sure."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import random
import shutil
import signal
import sys
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from cairn.domain.job import Job
from cairn.domain.principal import Caller
from cairn.domain.sources import FollowedSource
from cairn.errors import ConflictError, ForbiddenError, InputError, NotFoundError, SettingsError
from cairn.jobs.sources import SYNC_SOURCE
from cairn.providers.sealing import make_key
from cairn.service.documents import index_now, list_documents, read_text
from cairn.service.jobs import cancel_job, work_until_ended
from cairn.service.sources import (
    SourceChanges,
    add_source,
    change_source,
    get_source,
    list_sources,
    order_due,
    remove_source,
    sync_source,
)
from cairn.wiring import Services
from tests.documents import text_source
from tests.sharing import SHARED
from tests.waiting import until

pytestmark = [SHARED, pytest.mark.usefixtures("hashed_vectors")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "wiki"
    made.mkdir()
    write(made, "leave.md", "# Leave\n\nPeople have thirty days of leave.\n")
    write(made, "hr/pay.md", "# Pay\n\nSalaries are paid on the first.\n")
    (made / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(40))
    return made


@pytest.fixture
def here(services: Services, tmp_path: Path) -> Services:
    return replace(
        services, environment=replace(services.environment, source_folders=(tmp_path,), secrets_key=make_key())
    )


def write(folder: Path, path: str, text: str) -> None:
    (folder / path).parent.mkdir(exist_ok=True)
    (folder / path).write_text(text, encoding="utf-8")


def move(one: Path, other: Path) -> None:
    one.rename(other)


async def add(services: Services, folder: Path, **more: Any) -> FollowedSource:
    source, job = await add_source(services, "wiki", folder.as_uri(), **more)
    assert (await work_until_ended(services, job.id)).status == "succeeded"
    return source


async def look(services: Services, source: FollowedSource, **more: Any) -> Job:
    return await work_until_ended(services, (await sync_source(services, source.id, **more)).id)


async def ids(services: Services) -> list[str]:
    return sorted(one.external_id for one in await list_documents(services, "wiki"))


async def test_files_become_documents_with_their_address(here: Services, folder: Path) -> None:
    source = await add(here, folder, prefix="team/wiki")
    assert await ids(here) == ["team/wiki/hr/pay.md", "team/wiki/leave.md"]
    [document] = [one for one in await list_documents(here, "wiki") if one.external_id.endswith("leave.md")]
    assert document.metadata == {"source": str(source.id), "url": (folder / "leave.md").as_uri()}
    state = await get_source(here, source.id)
    assert (state.documents, state.failed) == (2, 1)
    assert [(one.path, one.error) for one in state.failed_files] == [("logo.png", "unsupported type")]
    counts = state.source.counts
    assert (counts.listed, counts.added, counts.skipped, counts.failed) == (3, 2, 1, 0)
    assert state.source.error is None
    assert state.source.finished_at is not None


async def test_what_changed_is_read_and_nothing_else(here: Services, folder: Path) -> None:
    source = await add(here, folder)
    write(folder, "leave.md", "# Leave\n\nPeople have forty days of leave.\n")
    write(folder, "new.md", "# New\n\nSomething new.\n")
    (folder / "hr" / "pay.md").unlink()
    job = await look(here, source)
    assert job.result is not None
    assert {name: job.result[name] for name in ("added", "changed", "deleted", "unchanged", "skipped")} == {
        "added": 1, "changed": 1, "deleted": 1, "unchanged": 1, "skipped": 0,
    }  # fmt: skip
    assert await ids(here) == ["leave.md", "new.md"]
    documents = {one.external_id: one.id for one in await list_documents(here, "wiki")}
    assert "forty days" in (await read_text(here, "wiki", documents["leave.md"])).text
    again = await look(here, source)
    assert again.result is not None
    assert (again.result["unchanged"], again.result["changed"], again.result["added"]) == (3, 0, 0)


async def test_a_listing_that_breaks_off_or_is_empty_deletes_nothing_at_once(here: Services, folder: Path) -> None:
    source = await add(here, folder)
    aside = folder.with_name("aside")
    move(folder, aside)
    job = await look(here, source)
    assert job.status == "failed"
    assert "there is no folder" in (job.error or "")
    state = await get_source(here, source.id)
    assert (state.source.failures, state.documents) == (1, 2)
    assert "there is no folder" in (state.source.error or "")
    os.mkdir(folder)
    assert "lists no file" in (await look(here, source)).result["note"]  # type: ignore[index]
    assert len(await ids(here)) == 2
    assert (await get_source(here, source.id)).source.failures == 0
    shutil.rmtree(folder)
    move(aside, folder)
    assert (await look(here, source)).result["note"] is None  # type: ignore[index]
    shutil.rmtree(folder)
    os.mkdir(folder)
    await look(here, source)
    assert len(await ids(here)) == 2
    await look(here, source)
    assert await ids(here) == []


async def test_most_of_it_gone_at_once_is_asked_about(here: Services, folder: Path) -> None:
    for number in range(14):
        write(folder, f"n{number}.md", f"# Note {number}\n\nText of note {number}.\n")
    source = await add(here, folder)
    for number in range(14):
        (folder / f"n{number}.md").unlink()
    job = await look(here, source)
    assert job.result is not None
    assert "14 of 16 documents are gone" in job.result["note"]
    assert len(await ids(here)) == 16
    await change_source(here, source.id, SourceChanges(most_deleted=1.0))
    assert (await look(here, source)).result["deleted"] == 14  # type: ignore[index]
    assert await ids(here) == ["hr/pay.md", "leave.md"]


async def test_a_file_that_moved_is_one_document(here: Services, folder: Path) -> None:
    source = await add(here, folder)
    os.rename(folder / "leave.md", folder / "hr" / "leave.md")
    job = await look(here, source)
    assert job.result is not None
    assert await ids(here) == ["hr/leave.md", "hr/pay.md"]
    assert (job.result["note"], job.result["failed"]) == (None, 0)


async def test_documents_of_others_are_left_alone(here: Services, folder: Path) -> None:
    await index_now(here, "wiki", [text_source("leave.md", "Written by hand.")])
    source = await add(here, folder)
    state = await get_source(here, source.id)
    assert ("leave.md", "leave.md is a document that did not come from this source") in [
        (one.path, one.error) for one in state.failed_files
    ]
    documents = {one.external_id: one.id for one in await list_documents(here, "wiki")}
    assert "Written by hand." in (await read_text(here, "wiki", documents["leave.md"])).text
    (folder / "leave.md").unlink()
    await look(here, source)
    assert "leave.md" in await ids(here)
    with pytest.raises(ConflictError, match="no folder of its own"):
        await add_source(here, "wiki", folder.as_uri())


async def test_a_file_that_failed_is_tried_again_when_asked(here: Services, folder: Path) -> None:
    write(folder, "broken.pdf", "%PDF-1.7 this is no document")
    source = await add(here, folder)
    assert [one.path for one in (await get_source(here, source.id)).failed_files] == ["broken.pdf", "logo.png"]
    assert (await look(here, source)).result["unchanged"] == 4  # type: ignore[index]
    again = await look(here, source, retry_failed=True)
    assert again.result is not None
    assert (again.result["failed"], again.result["skipped"]) == (1, 1)


async def test_folders_have_their_readers_before_a_document_is_there(here: Services, folder: Path) -> None:
    source = await add(here, folder, prefix="w", access={"hr/": ["group:hr"]})
    lists = {one.external_id: one.access for one in await list_documents(here, "wiki")}
    assert lists == {"w/hr/pay.md": ["group:hr"], "w/leave.md": None}
    await change_source(here, source.id, SourceChanges(access={"": ["group:staff"], "hr": ["group:hr", "person:ada"]}))
    lists = {one.external_id: one.access for one in await list_documents(here, "wiki")}
    assert lists == {"w/hr/pay.md": ["group:hr", "person:ada"], "w/leave.md": ["group:staff"]}


async def test_only_who_operates_sees_and_changes_sources(here: Services, folder: Path, other_tenant: Services) -> None:
    source = await add(here, folder)
    reader = replace(
        here, principal=replace(here.principal, caller=Caller("key:1", "reader", frozenset({"read", "write"})))
    )
    for refused in (
        add_source(reader, "wiki", folder.as_uri(), prefix="x"), list_sources(reader), get_source(reader, source.id),
        sync_source(reader, source.id), change_source(reader, source.id, SourceChanges()),
        remove_source(reader, source.id, delete_documents=True),
    ):  # fmt: skip
        with pytest.raises(ForbiddenError):
            await refused
    with pytest.raises(NotFoundError):
        await get_source(other_tenant, source.id)
    assert await list_sources(other_tenant) == []


@pytest.mark.skipif(importlib.util.find_spec("dulwich") is None, reason="the extra sources is not installed")
async def test_secrets_are_kept_so_that_the_database_cannot_read_them(here: Services, folder: Path, owner: Any) -> None:
    address, secrets = "https://git.example.org/docs.git", {"token": "very-secret-token"}
    source, _ = await add_source(here, "wiki", address, options={"ref": "main"}, secrets=secrets)
    assert tuple(source.secrets) == ("token",)
    row = await owner.fetchrow("SELECT * FROM rag.sources WHERE id = $1", source.id)
    assert "very-secret-token" not in str(dict(row))
    assert await owner.fetchval("SELECT count(*) FROM rag.audit_events WHERE detail::text LIKE '%very-secret%'") == 0
    keyless = replace(here, environment=replace(here.environment, secrets_key=None))
    with pytest.raises(SettingsError, match="needs CAIRN_SECRETS_KEY"):
        await add_source(keyless, "wiki", address, prefix="b", secrets=secrets)
    changed = await change_source(here, source.id, SourceChanges(secrets={}))
    assert changed.secrets == ()
    assert await owner.fetchval("SELECT sealed FROM rag.sources WHERE id = $1", source.id) is None


@pytest.mark.parametrize(
    ("address", "more", "said"),
    [
        ("gopher://example.org/", {}, "no source that Cairn reads"),
        ("https://ada:pw@example.org/sitemap.xml", {}, "no user name or password"),
        ("file:///tmp", {"options": {"colour": "red"}}, "option colour is none of"),
        ("file:///tmp", {"every": timedelta(seconds=5)}, "every minute at most"),
        ("file:///tmp", {"most_deleted": 1.5}, "a share from 0 to 1"),
        ("file:///tmp", {"prefix": "../up"}, "cannot be a prefix"),
    ],
)
async def test_what_cannot_be_a_source_is_told(here: Services, address: str, more: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        await add_source(here, "wiki", address, **more)


async def test_a_folder_outside_those_that_may_be_read_fails(here: Services) -> None:
    _, job = await add_source(here, "wiki", "file:///etc")
    ended = await work_until_ended(here, job.id)
    assert ended.status == "failed"
    assert "is not one of those of this machine" in (ended.error or "")


async def test_looks_are_ordered_when_they_are_due_and_put_off_when_they_fail(
    here: Services, folder: Path, owner: Any
) -> None:
    source = await add(here, folder, every=timedelta(hours=1))

    async def wait() -> float:
        asked = "SELECT extract(epoch FROM next_at - now())::double precision FROM rag.sources WHERE id = $1"
        found: float = await owner.fetchval(asked, source.id)
        return found

    async def is_ordered() -> bool:
        asked = "SELECT EXISTS (SELECT 1 FROM rag.jobs WHERE kind = $1 AND payload ->> 'source_id' = $2 AND status = 'queued')"
        found: bool = await owner.fetchval(asked, SYNC_SOURCE, str(source.id))
        return found

    async def come_due(when: str = "now()") -> None:
        await owner.execute(f"UPDATE rag.sources SET next_at = {when} WHERE id = $1", source.id)
        await order_due(here)

    assert 3000 < await wait() < 4000
    await order_due(here)
    assert not await is_ordered()
    await come_due()
    await come_due()
    assert await is_ordered()
    move(folder, folder.with_name("away"))
    waits = []
    for _ in range(3):
        await come_due()
        await look(here, source)
        waits.append(await wait())
    assert [round(one / 3600) for one in waits] == [1, 2, 4]
    # a clock that was set back
    await come_due("now() + interval '3 days'")
    assert await is_ordered()
    await look(here, source)
    await change_source(here, source.id, SourceChanges(paused=True))
    await come_due()
    assert not await is_ordered()
    await change_source(here, source.id, SourceChanges(paused=False, every=timedelta()))
    assert (await get_source(here, source.id)).source.every is None


async def test_a_source_goes_with_its_documents_or_without(here: Services, folder: Path) -> None:
    await index_now(here, "wiki", [text_source("own.md", "Written by hand.")])
    source = await add(here, folder, prefix="a")
    other = await add(here, folder, prefix="b")
    assert await remove_source(here, source.id, delete_documents=False) == 0
    assert await remove_source(here, other.id, delete_documents=True) == 2
    assert await ids(here) == ["a/hr/pay.md", "a/leave.md", "own.md"]
    assert await list_sources(here, "wiki") == []
    with pytest.raises(NotFoundError):
        await get_source(here, UUID(int=1))


WORKER = """
import asyncio
from cairn.settings import SettingsStore, read_environment
from cairn.wiring import open_services

async def main():
    async with open_services(read_environment(), SettingsStore()) as services:
        await services.worker(kinds={"sync_source"}).run(asyncio.Event())

asyncio.run(main())
"""
FILES = 60


@pytest.fixture
def many(tmp_path: Path) -> Path:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(FILES):
        write(folder, f"n{number:02}.md", f"# Note {number}\n\nText of note {number}.\n")
    return folder


async def test_a_look_that_is_cancelled_keeps_what_it_has_read(here: Services, many: Path, owner: Any) -> None:
    source, job = await add_source(here, "wiki", many.as_uri())
    working = asyncio.create_task(work_until_ended(here, job.id))

    async def some_are_noted() -> bool:
        return bool(await owner.fetchval("SELECT count(*) > 4 FROM rag.source_files WHERE source_id = $1", source.id))

    await until(some_are_noted)
    await cancel_job(here, job.id)
    assert (await working).status == "cancelled"
    state = await get_source(here, source.id)
    assert 4 < state.documents < FILES  # it reads 20 in a second
    assert state.source.error == "the look was cancelled"
    assert sorted(await ids(here)) == [f"n{number:02}.md" for number in range(state.documents)]
    ended = await look(here, source)
    assert ended.result is not None
    assert (ended.result["unchanged"], ended.result["added"]) == (state.documents, FILES - state.documents)


@pytest.mark.fault
@pytest.mark.siege
async def test_a_look_that_is_killed_goes_on_where_it_was(
    here: Services, many: Path, tmp_path: Path, owner: Any
) -> None:
    source, job = await add_source(here, "wiki", many.as_uri())
    now = here.environment
    told = {
        **os.environ, "CAIRN_DATABASE_URL": str(now.database_url), "CAIRN_HOME": str(now.home), "CAIRN_TENANT": now.tenant,
        "CAIRN_SOURCE_FOLDERS": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path),
    }  # fmt: skip

    async def noted() -> int:
        found: int = await owner.fetchval("SELECT count(*) FROM rag.source_files WHERE source_id = $1", source.id)
        return found

    async def some_are_noted() -> bool:
        return await noted() >= 5

    worker = await asyncio.create_subprocess_exec(sys.executable, "-c", WORKER, env=told)
    try:
        await until(some_are_noted)
    finally:
        worker.send_signal(signal.SIGKILL)
        await worker.wait()
    before = await noted()
    assert before < FILES  # it reads 20 in a second
    await owner.execute("UPDATE rag.jobs SET lease_until = clock_timestamp() WHERE id = $1", job.id)
    ended = await work_until_ended(here, job.id)
    assert ended.result is not None
    assert (ended.attempts, ended.result["unchanged"], ended.result["added"]) == (2, before, FILES - before)
    found = await list_documents(here, "wiki", limit=2 * FILES)
    assert [one.external_id for one in sorted(found, key=lambda one: one.external_id)] == [
        f"n{n:02}.md" for n in range(FILES)
    ]
    assert {one.status for one in found} == {"indexed"}


@pytest.mark.siege
async def test_a_folder_that_changes_while_it_is_read_ends_as_it_is(here: Services, tmp_path: Path) -> None:
    folder, dice, over = tmp_path / "busy", random.Random(7), threading.Event()
    folder.mkdir()
    for number in range(2000):
        write(folder, f"{number % 20}/n{number}.md", f"# Note {number}\n\nText 0 of note {number}.\n")

    def disturb() -> None:
        for turn in range(1, 1_000_000):
            if over.wait(0.002):
                return
            number, what = dice.randrange(2200), dice.random()
            path = folder / f"{number % 20}" / f"n{number}.md"
            if what < 0.25:
                path.unlink(missing_ok=True)
            elif what < 0.35 and path.exists():
                path.rename(folder / f"{dice.randrange(20)}" / f"m{number}-{turn}.md")
            else:
                path.write_text(f"# Note {number}\n\nText {turn} of note {number}.\n", encoding="utf-8")

    quick = here.settings.current.sources.model_copy(update={"files_per_second": 0.0})
    here.settings.current = here.settings.current.model_copy(update={"sources": quick})
    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        source = await add(here, folder, most_deleted=1.0)
        for _ in range(3):
            assert (await look(here, source)).status == "succeeded"
    finally:
        over.set()
        thread.join()
    await look(here, source)
    files = {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.md")}
    found = await list_documents(here, "wiki", limit=5000)
    assert {one.external_id for one in found} == set(files)
    for one in found[::20]:
        assert (await read_text(here, "wiki", one.id)).text.strip() == files[one.external_id].strip()
    again = await look(here, source)
    assert again.result is not None
    assert (again.result["unchanged"], again.result["note"]) == (len(files), None)
