"""A collection that is kept in step with a source: a folder, read by the worker of the product."""

from __future__ import annotations

import asyncio
import importlib
import os
import random
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from scripted_web import Reply, ScriptedWeb

from cairn.connectors.connector import RemoteFile, SourceUnreachable
from cairn.connectors.local_connector import LocalConnector
from cairn.connectors.seal_secrets import make_key, open_secrets, seal_secrets
from cairn.db.tenant_tables import ADAPTED
from cairn.domain.connected_source import ConnectedSource, SourceWish
from cairn.domain.job import Job
from cairn.domain.principal import Caller, Principal
from cairn.errors import ConflictError, ForbiddenError, InputError, NotFoundError
from cairn.interfaces.cli.sources import say_state
from cairn.jobs.sources import SYNC_SOURCE
from cairn.service import sources
from cairn.service.access import list_access_rules, remove_folder_access, set_folder_access
from cairn.service.documents import find_document_id, get_document, index_now, list_documents
from cairn.service.editing import change_document
from cairn.service.files import ingest_files, select_files
from cairn.service.jobs import cancel_job, get_job, list_jobs, retry_job
from cairn.service.sources import SourceChange
from cairn.settings import Settings, UrlSettings
from cairn.store import jobs
from cairn.store import sources as store
from cairn.store.access_rules import MOST_RULES
from cairn.wiring import Services
from tests.db.synchronising import again, ids, stop_waiting, stranger, work
from tests.documents import text_source
from tests.sharing import SHARED
from tests.waiting import until

pytestmark = [SHARED, pytest.mark.usefixtures("hashed_vectors")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four files, one of them in a folder."""
    root = tmp_path / "papers"
    (root / "hr").mkdir(parents=True)
    for name in ("one.md", "two.md", "three.md", "hr/pay.md"):
        (root / name).write_text(f"The paper {name} is about harbours.\n")
    return root


async def follow(services: Services, folder: Path, **wish: object) -> ConnectedSource:
    """A source that was read once."""
    asked = SourceWish(str(folder), **{"prefix": "papers", **wish})  # type: ignore[arg-type]
    source, _ = await sources.add_source(services, "default", asked, local=True)
    await work(services)
    return await sources.get_source(services, source.id)


PAPERS = {"papers/one.md", "papers/two.md", "papers/three.md", "papers/hr/pay.md"}


async def test_what_is_new_changed_moved_and_deleted_is_followed(services: Services, folder: Path) -> None:
    source = await follow(services, folder)
    assert source.counts == {
        "new": 4,
        "changed": 0,
        "moved": 0,
        "deleted": 0,
        "unchanged": 0,
        "failed": 0,
        "skipped": 0,
    }
    assert await ids(services) == PAPERS
    (folder / "four.md").write_text("A paper about lighthouses.")
    (folder / "one.md").write_text("The first paper is about bridges now.")
    (folder / "two.md").rename(folder / "hr/two.md")
    (folder / "three.md").unlink()
    source = await again(services, source.id)
    assert source.counts == {
        "new": 1,
        "changed": 1,
        "moved": 1,
        "deleted": 1,
        "unchanged": 1,
        "failed": 0,
        "skipped": 0,
    }
    assert await ids(services) == {"papers/four.md", "papers/one.md", "papers/hr/two.md", "papers/hr/pay.md"}
    found, text = await get_document(services, "default", await find_document_id(services, "default", "papers/one.md"))
    assert text == "The first paper is about bridges now."
    assert found.version == 2
    assert found.metadata["url"] == (folder / "one.md").as_uri()


@pytest.mark.parametrize("turn_seconds", [300.0, 0.0], ids=["at once", "in turns"])
async def test_a_folder_that_was_renamed_is_not_embedded_again_and_is_not_taken_for_deleted(
    services: Services, folder: Path, turn_seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    pictures = [folder / f"{number}.png" for number in range(5)]
    for picture in pictures:
        picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(40))
    source = await follow(services, folder, most_deleted=0.0)
    embedder, asked = importlib.import_module("hashed_for_cairn").Hashed, list[str]()
    embed = embedder.embed

    async def count(self: object, texts: list[str]) -> object:
        asked.extend(texts)
        return await embed(self, texts)

    monkeypatch.setattr(embedder, "embed", count)
    (folder / "hr" / "pay.md").rename(folder / "wages.md")
    (folder / "archive").mkdir()
    for name in ("one.md", "two.md", "three.md", *(picture.name for picture in pictures)):
        (folder / name).rename(folder / "archive" / name)
    monkeypatch.setattr("cairn.jobs.sources.TURN_SECONDS", turn_seconds)
    job = await sources.sync(services, source.id)
    while not (await get_job(services, job.id)).ended:
        await work(services)
        await stop_waiting(services, job.id)
    source = await sources.get_source(services, source.id)
    assert (source.paused, source.note, asked) == (False, None, [])
    counts = source.counts or {}
    assert (counts["moved"], counts["new"], counts["deleted"]) == (4, 0, 0)
    moved = {f"papers/archive/{name}.md" for name in ("one", "two", "three")}
    assert await ids(services) == moved | {"papers/wages.md"}
    (folder / "wages.md").unlink()
    assert (await again(services, source.id)).paused


async def test_a_source_that_takes_long_lets_others_have_their_turn(
    services: Services, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cairn.jobs.sources.TURN_SECONDS", 0.0)
    source, job = await sources.add_source(services, "default", SourceWish(str(folder), prefix="papers"), local=True)
    seen = []
    for _ in PAPERS:
        await work(services)
        seen.append(await ids(services))
        await stop_waiting(services, job.id)
    assert [len(some) for some in seen] == [1, 2, 3, 4]
    ended = await get_job(services, job.id)
    assert (ended.status, ended.attempts) == ("succeeded", 1)
    found = await sources.get_source(services, source.id)
    assert (found.failures, found.failed, found.last_error) == (0, 0, None)


async def test_who_does_not_operate_neither_ends_nor_repeats_a_synchronisation(
    services: Services, folder: Path
) -> None:
    source = await follow(services, folder)
    assert source.job_id is not None
    caller = Caller("key:1", "w", frozenset({"read", "write"}))
    writer = replace(services, principal=replace(services.principal, caller=caller))
    for refused in (cancel_job, retry_job):
        with pytest.raises(ForbiddenError):
            await refused(writer, source.job_id)


async def test_what_is_no_document_is_left_out_and_makes_none(services: Services, folder: Path) -> None:
    picture = b"\x89PNG\r\n\x1a\n" + bytes(40)
    (folder / "logo.png").write_bytes(picture)
    source = await follow(services, folder)
    assert source.counts == {
        "new": 4, "changed": 0, "moved": 0, "deleted": 0, "unchanged": 0, "failed": 0, "skipped": 1,
    }  # fmt: skip
    assert (await ids(services), source.failed) == (PAPERS, 0)
    (folder / "one.md").write_bytes(picture)
    source = await again(services, source.id)
    assert source.counts == {
        "new": 0, "changed": 0, "moved": 0, "deleted": 0, "unchanged": 4, "failed": 0, "skipped": 1,
    }  # fmt: skip
    assert await ids(services) == PAPERS - {"papers/one.md"}
    # somebody else's by now
    await index_now(services, "default", [text_source("papers/logo.png", "A text about a logo.")])
    (folder / "logo.png").unlink()
    await again(services, source.id)
    assert await ids(services) == PAPERS - {"papers/one.md"} | {"papers/logo.png"}


async def test_many_deletions_pause_a_source_until_somebody_accepts_them(services: Services, folder: Path) -> None:
    source = await follow(services, folder)
    for name in ("one.md", "two.md", "three.md"):
        (folder / name).unlink()
    source = await again(services, source.id)
    assert source.paused
    assert "3 of 4 files are gone" in (source.note or "")
    assert await ids(services) == PAPERS
    with pytest.raises(ConflictError, match="paused"):
        await sources.sync(services, source.id)
    source = await again(services, source.id, accept_deletions=True)
    assert (source.paused, source.note) == (False, None)
    assert await ids(services) == {"papers/hr/pay.md"}


async def test_an_empty_listing_is_not_believed_at_once(services: Services, folder: Path) -> None:
    source = await follow(services, folder, most_deleted=1.0)
    for name in ("one.md", "two.md", "three.md", "hr/pay.md"):
        (folder / name).unlink()
    source = await again(services, source.id)
    assert "no file at all" in (source.note or "")
    assert await ids(services) == PAPERS
    source = await again(services, source.id)
    assert source.note is None
    assert await ids(services) == set()


async def test_a_source_that_is_away_deletes_nothing_and_says_why(services: Services, folder: Path) -> None:
    source = await follow(services, folder)
    os.rename(folder, folder.with_name("elsewhere"))
    before = source.due_at
    source = await again(services, source.id)
    assert (source.failures, source.paused) == (1, False)
    assert "there is no folder" in (source.last_error or "")
    assert source.due_at is not None
    assert before is not None
    assert source.due_at > before
    assert await ids(services) == PAPERS
    job = await get_job(services, source.job_id)  # type: ignore[arg-type]
    assert job.status == "failed"
    assert "there is no folder" in (job.error or "")
    outsider = replace(
        services, principal=replace(services.principal, caller=Caller("ext", "ext", frozenset({"read"})))
    )
    shown = [await get_job(outsider, job.id), *await list_jobs(outsider)]
    assert [one.kind for one in shown] == ["sync_source"] * 3
    assert "papers" not in str([(one.error, one.result, one.progress) for one in shown])
    os.rename(folder.with_name("elsewhere"), folder)
    source = await again(services, source.id)
    assert (source.failures, source.last_error) == (0, None)


async def test_a_file_that_cannot_be_read_is_told_of_and_tried_again_when_it_changes(
    services: Services, folder: Path
) -> None:
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing of a PDF follows")
    source = await follow(services, folder)
    assert (source.counts or {})["failed"] == source.failed == 1
    assert say_state(source).endswith(", 1 not indexed")
    [failed] = await sources.list_failed_files(services, source.id)
    assert (failed.path, failed.external_id) == ("broken.pdf", "papers/broken.pdf")
    assert failed.error
    source = await again(services, source.id)
    assert (source.counts or {})["failed"] == 0
    assert source.failed == 1
    assert ((await again(services, source.id, retry_failed=True)).counts or {})["failed"] == 1
    (folder / "broken.pdf").unlink()
    assert (await again(services, source.id)).failed == 0


async def test_what_nobody_foresaw_is_noted_by_its_kind(services: Services, folder: Path) -> None:
    source = await follow(services, folder)
    async with services.database.transaction(services.principal) as connection:
        await connection.execute("UPDATE rag.sources SET requests_per_second = 0")
    (folder / "four.md").write_text("One more.")
    source = await again(services, source.id)
    assert source.failures == 1
    assert source.last_error == "the synchronisation broke off (ZeroDivisionError); the log of the worker says where"


async def test_a_folder_that_came_with_a_tenant_file_waits_for_somebody_of_this_machine(
    services: Services, folder: Path
) -> None:
    assert ADAPTED["sources", "paused"] == "true"
    source = await follow(services, folder)
    await sources.sync(services, source.id)  # a job that waits travels, too
    async with services.database.transaction(services.principal) as connection:
        await connection.execute(f"UPDATE rag.sources SET paused = true, note = {ADAPTED['sources', 'note']}")
    (folder / "four.md").write_text("One more.")
    await work(services)
    assert await ids(services) == PAPERS
    async with services.database.transaction(services.principal) as connection:
        await store.pause(connection, services.principal, source.id, sources.REMOVING)  # a removal that breaks off
    with pytest.raises(InputError, match="cairn sources resume"):
        await sources.change_source(services, source.id, SourceChange(paused=False))
    with pytest.raises(InputError, match="cairn sources resume"):
        await sources.sync(services, source.id, accept_deletions=True)
    resumed = await sources.change_source(services, source.id, SourceChange(paused=False), local=True)
    assert (resumed.paused, resumed.note) == (False, None)
    await again(services, source.id)
    assert await ids(services) == PAPERS | {"papers/four.md"}


async def test_a_path_that_no_index_holds_is_left_out_and_told_of(services: Services, folder: Path) -> None:
    deep = folder.joinpath(*[letter * 200 for letter in "abc"])
    deep.mkdir(parents=True)
    (deep / "far.md").write_text("Far away.")
    source = await follow(services, folder)
    assert ((source.counts or {})["new"], (source.counts or {})["failed"]) == (4, 1)
    assert "1 files are left out" in (source.note or "")
    assert await ids(services) == PAPERS


async def test_more_files_than_can_be_held_are_refused(
    services: Services, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cairn.jobs.sources.MOST_FILES", 3)
    source = await follow(services, folder)
    assert "more than 3 files" in (source.last_error or "")
    assert await ids(services) == set()


async def test_documents_that_came_otherwise_stay(services: Services, folder: Path) -> None:
    from cairn.domain.document import Source

    await index_now(services, "default", [Source("papers/one.md", "one.md", b"Written by hand.")])
    source = await follow(services, folder)
    [failed] = await sources.list_failed_files(services, source.id)
    assert failed.path == "one.md"
    assert "came otherwise" in failed.error
    (folder / "one.md").unlink()
    source = await again(services, source.id)
    assert await ids(services) == PAPERS
    assert await sources.remove_source(services, source.id, documents=True) == 3
    assert await ids(services) == {"papers/one.md"}
    (folder / "one.md").write_text("Of the source.")
    await follow(services, folder, replaces=True)
    _, text = await get_document(services, "default", await find_document_id(services, "default", "papers/one.md"))
    assert text == "Of the source."


async def test_two_sources_do_not_share_ids(services: Services, folder: Path) -> None:
    source = await follow(services, folder)
    for prefix in ("papers", "papers/hr", "", "PAPERS"):
        with pytest.raises(ConflictError, match="another prefix"):
            await sources.add_source(services, "default", SourceWish(str(folder), prefix), local=True)
    await sources.add_source(services, "default", SourceWish(str(folder), "papers2"), local=True)
    await sources.remove_source(services, source.id, documents=False)
    assert await ids(services) == PAPERS
    with pytest.raises(NotFoundError):
        await sources.get_source(services, source.id)


async def test_folders_are_for_whom_the_source_says_from_their_first_moment(services: Services, folder: Path) -> None:
    source = await follow(services, folder, access={"hr/": ["group:personnel"]})
    outsider = replace(
        services, principal=replace(services.principal, caller=Caller("ext", "ext", frozenset({"read"})))
    )
    assert await ids(outsider) == PAPERS - {"papers/hr/pay.md"}
    await sources.change_source(services, source.id, SourceChange(access={}))
    assert await ids(outsider) == PAPERS
    await sources.change_source(services, source.id, SourceChange(access={"": ["group:board"]}))
    assert await ids(outsider) == set()
    with pytest.raises(ForbiddenError):
        await sources.list_sources(outsider)


@pytest.mark.parametrize("way", ["source", "files"])
async def test_a_file_that_was_moved_takes_the_readers_along_that_it_has_of_its_own(
    services: Services, folder: Path, way: str
) -> None:
    """The document of a file that is gone was for some alone: nobody else reads it where its file is now."""
    source = await follow(services, folder, prefix="papers") if way == "source" else None

    async def bring_in_step() -> None:
        if source:
            await again(services, source.id)
        else:
            await ingest_files(services, "default", select_files([folder]), lambda _: None, prune=True)

    await bring_in_step()
    outsider = replace(
        services, principal=replace(services.principal, caller=Caller("ext", "ext", frozenset({"read"})))
    )
    pay = await find_document_id(services, "default", "papers/hr/pay.md")
    await change_document(services, "default", pay, title="Wages of all", access=["group:personnel"])
    (folder / "hr/pay.md").rename(folder / "wages.md")
    (folder / "one.md").rename(folder / "first.md")
    await bring_in_step()
    everything = {"papers/first.md", "papers/two.md", "papers/three.md", "papers/wages.md"}
    assert await ids(services) == everything
    assert await ids(outsider) == everything - {"papers/wages.md"}
    [wages] = [one for one in await list_documents(services, "default") if one.external_id == "papers/wages.md"]
    assert (wages.access, wages.access_from) == (["group:personnel"], None)

    (folder / "wages.md").rename(folder / "wages-of-old.md")  # as a report makes room for the next one
    (folder / "wages.md").write_text("The wages of this year are about harbours, too.\n")
    (folder / "two.md").rename(folder / "a.md")
    (folder / "first.md").write_text((folder / "wages-of-old.md").read_text())
    await bring_in_step()
    everything = {"papers/first.md", "papers/a.md", "papers/three.md", "papers/wages.md", "papers/wages-of-old.md"}
    assert await ids(services) == everything
    assert await ids(outsider) == {"papers/a.md", "papers/three.md"}


async def test_a_list_that_is_given_after_a_synchronisation_broke_off_goes_along(
    services: Services, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = await follow(services, folder)
    (folder / "hr/pay.md").rename(folder / "wages.md")
    (folder / "zzz.md").write_text("The last paper.\n")
    monkeypatch.setattr("cairn.jobs.sources.CLAIMED", 1)
    read = LocalConnector.read_file

    async def go_away(self: LocalConnector, file: RemoteFile, most_bytes: int) -> bytes:
        if file.path == "zzz.md":
            raise SourceUnreachable("away", retry_after_s=1000)
        return await read(self, file, most_bytes)

    monkeypatch.setattr(LocalConnector, "read_file", go_away)
    assert (await again(services, source.id)).last_error == "away"
    assert {"papers/wages.md", "papers/hr/pay.md"} <= await ids(services)
    pay = await find_document_id(services, "default", "papers/hr/pay.md")
    await change_document(services, "default", pay, access=["group:personnel"])
    monkeypatch.setattr(LocalConnector, "read_file", read)
    source = await again(services, source.id)
    assert (source.counts or {})["moved"] == 1
    rest = {"papers/one.md", "papers/two.md", "papers/three.md", "papers/zzz.md"}
    assert await ids(services) == rest | {"papers/wages.md"}
    assert await ids(stranger(services)) == rest


@pytest.mark.parametrize("way", ["in turns", "broken off", "files"])
async def test_files_that_trade_names_keep_their_readers_however_the_reading_is_cut(
    services: Services, folder: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each content is read by whom it was for, though the first to be read has taken the place of the other's only document."""
    source = await follow(services, folder, prefix="papers") if way != "files" else None
    if source is None:
        await ingest_files(services, "default", select_files([folder]), lambda _: None)
    readers = {"one.md": ["group:red", "group:grey"], "two.md": ["group:grey"], "three.md": ["group:blue"]}
    texts = {name: (folder / name).read_text() for name in (*readers, "hr/pay.md")}
    for name, access in readers.items():
        await change_document(
            services, "default", await find_document_id(services, "default", f"papers/{name}"), access=access
        )
    traded = (("one.md", "two.md"), ("two.md", "three.md"), ("three.md", "hr/pay.md"), ("hr/pay.md", "one.md"))
    for name, of in traded:
        (folder / name).write_text(texts[of])
        if source is None:
            await ingest_files(services, "default", select_files([folder / name], base=folder.parent), lambda _: None)
    if source:
        monkeypatch.setattr("cairn.jobs.sources.TURN_SECONDS", 0.0)
        turns, job = 0, await sources.sync(services, source.id)
        while not (await get_job(services, job.id)).ended:
            await work(services)
            await stop_waiting(services, job.id)
            turns += 1
            if way == "broken off" and not (await get_job(services, job.id)).ended:
                await cancel_job(services, job.id)
                job = await sources.sync(services, source.id)
        assert turns >= 4
    found = {one.external_id: one.access for one in await list_documents(services, "default")}
    assert found["papers/one.md"] == ["group:grey"]
    assert found["papers/two.md"] == ["group:blue"]
    assert found["papers/three.md"] == ["group:blue"]  # of what everybody may read, in the place of what few may
    assert found["papers/hr/pay.md"] in (["group:grey"], ["group:grey", "group:red"])
    for name, of in traded:
        _, text = await get_document(services, "default", await find_document_id(services, "default", f"papers/{name}"))
        assert text == texts[of]


async def test_a_file_that_is_emptied_keeps_its_document_and_its_readers_where_it_has_some(
    services: Services, folder: Path
) -> None:
    """A file that is just being written is empty for a moment: what it holds then is for the same readers."""
    source = await follow(services, folder)
    one = await find_document_id(services, "default", "papers/one.md")
    await change_document(services, "default", one, access=["group:red"])
    for name in ("one.md", "two.md"):
        (folder / name).write_text("")
    source = await again(services, source.id)
    assert await ids(services) == PAPERS - {"papers/two.md"}
    assert source.failed == 1
    (folder / "one.md").write_text("The wages of all.")
    await again(services, source.id)
    found, text = await get_document(services, "default", one)
    assert (found.access, text) == (["group:red"], "The wages of all.")


async def test_a_rule_that_somebody_has_changed_outlives_the_source(services: Services, folder: Path) -> None:
    source = await follow(services, folder, access={"hr": ["group:personnel"], "": ["group:staff", "group:board"]})
    await set_folder_access(services, "default", "papers/hr", ["group:board"])
    await sources.remove_source(services, source.id, documents=True)
    left = [(rule.prefix, list(rule.access)) for rule in await list_access_rules(services, "default")]
    assert left == [("papers/hr", ["group:board"])]


@pytest.mark.parametrize("way", ["schedule", "resumed"])
async def test_what_a_synchronisation_brings_while_its_source_is_removed_is_open_to_nobody(
    services: Services, folder: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = await follow(services, folder, access={"hr": ["group:personnel"]}, interval_seconds=60)
    (folder / "hr/new.md").write_text("The new wages are about harbours.\n")
    reading, told, under_way = asyncio.Event(), asyncio.Event(), list[asyncio.Task[None]]()
    read, delete = LocalConnector.read_file, sources._delete_documents

    async def read_slowly(self: LocalConnector, file: RemoteFile, most_bytes: int) -> bytes:
        reading.set()
        await until(told.is_set)
        return await read(self, file, most_bytes)

    async def end_and_tell(services: Services, job_id: UUID) -> Job:
        found = await cancel_job(services, job_id)
        told.set()
        return found

    async def delete_meanwhile(there: Services, removed: ConnectedSource) -> int:
        deleted = await delete(there, removed)
        if not under_way:
            under_way.append(asyncio.create_task(begin()))
            await asyncio.wait({under_way[0], asyncio.create_task(reading.wait())}, return_when=asyncio.FIRST_COMPLETED)
        return deleted

    async def begin() -> None:
        async with services.database.transaction(services.principal) as connection:
            await connection.execute("UPDATE rag.sources SET due_at = statement_timestamp() WHERE id = $1", source.id)
        if way == "schedule":
            await sources.start_due(services)
        else:
            await sources.sync(services, source.id, accept_deletions=True, local=True)
        await work(services)

    monkeypatch.setattr(LocalConnector, "read_file", read_slowly)
    monkeypatch.setattr("cairn.service.sources.cancel_job", end_and_tell)
    monkeypatch.setattr(sources, "_delete_documents", delete_meanwhile)
    deleted = await sources.remove_source(services, source.id, documents=True)
    told.set()
    await asyncio.gather(*under_way)
    assert (await ids(services), await list_access_rules(services, "default")) == (set(), [])
    assert (reading.is_set(), deleted > 4) == ((True, True) if way == "resumed" else (False, False))


async def test_a_source_takes_nobodys_rule_away(services: Services, folder: Path) -> None:
    await set_folder_access(services, "default", "papers/hr", ["group:board", "person:ada"])

    async def rules() -> list[tuple[str, list[str]]]:
        return [(rule.prefix, list(rule.access)) for rule in await list_access_rules(services, "default")]

    kept = await rules()
    for others in (["group:personnel"], []):
        with pytest.raises(ConflictError, match="papers/hr is only for group:board, person:ada, as somebody has said"):
            await follow(services, folder, access={"hr": others})
    # one folder on many disks
    with pytest.raises(ConflictError, match="papers/HR is only for group:board, person:ada"):
        await follow(services, folder, access={"HR": ["group:personnel"]})
    assert await rules() == kept
    source = await follow(services, folder, access={"hr": ["person:ada", "group:board"]})
    assert not source.wish.access, "it is whose it was"
    await sources.remove_source(services, source.id, documents=True)
    assert await rules() == kept
    await remove_folder_access(services, "default", "papers/hr")

    source = await follow(services, folder, access={"hr": ["person:ada", "group:board"]})
    await sources.change_source(services, source.id, SourceChange(access={"hr": ["group:personnel"]}))  # its own
    await set_folder_access(services, "default", "papers/hr", ["group:board"])
    with pytest.raises(ConflictError, match="first give the folder those of the source"):
        await sources.change_source(services, source.id, SourceChange(access={"hr": ["group:staff"]}, paused=True))
    assert not (await sources.get_source(services, source.id)).paused, "nothing of what is refused is done"
    await sources.change_source(services, source.id, SourceChange(access={}))
    assert await rules() == [("papers/hr", ["group:board"])]


async def test_a_folder_that_is_written_otherwise_keeps_its_readers(services: Services, folder: Path) -> None:
    """As its share writes it now: on many disks it is the same folder."""
    source = await follow(services, folder, access={"hr": ["group:personnel"]})
    for spelling in ("HR", "hr ", "hr"):
        changed = await sources.change_source(services, source.id, SourceChange(access={spelling: ["group:personnel"]}))
        assert dict(changed.wish.access) == {spelling: ["group:personnel"]}
        rules = await list_access_rules(services, "default")
        assert [(rule.prefix, list(rule.access)) for rule in rules] == [
            (f"papers/{spelling}".rstrip("/"), ["group:personnel"])
        ]
        async with services.database.transaction(services.principal, readonly=True) as connection:
            sql = "SELECT DISTINCT access FROM rag.documents WHERE external_id LIKE 'papers/hr/%'"
            assert [row["access"] for row in await connection.fetch(sql)] == [["group:personnel"]]


async def test_a_rule_of_a_source_stays_where_documents_of_others_have_their_readers_from_it(
    services: Services, folder: Path
) -> None:
    source = await follow(services, folder, access={"hr": ["group:personnel"], "": ["group:staff"]})
    await index_now(services, "default", [text_source("papers/hr/secret.md", "What nobody may know.\n")])
    await sources.change_source(services, source.id, SourceChange(access={}))
    assert [rule.prefix for rule in await list_access_rules(services, "default")] == ["papers/hr"]
    await sources.change_source(services, source.id, SourceChange(access={"": ["group:staff"]}))
    await sources.remove_source(services, source.id, documents=True)
    assert [rule.prefix for rule in await list_access_rules(services, "default")] == ["papers/hr"]


async def test_readers_are_set_before_it_is_said_that_they_are_and_again_where_they_are_not(
    services: Services, folder: Path
) -> None:
    source = await follow(services, folder)
    many = (
        "INSERT INTO rag.access_rules (tenant_id, collection_id, prefix, access) SELECT $1, $2, n::text, '{group:a}' "
        f"FROM generate_series(1, {MOST_RULES}) n"
    )
    async with services.database.transaction(services.principal) as connection:
        await connection.execute(many, services.principal.tenant_id, source.collection_id)
    asked = SourceChange(access={"hr": ["group:personnel"]})
    with pytest.raises(InputError, match="rules"):
        await sources.change_source(services, source.id, asked)
    assert not (await sources.get_source(services, source.id)).wish.access
    async with services.database.transaction(services.principal) as connection:
        await connection.execute("DELETE FROM rag.access_rules WHERE tenant_id = $1", services.principal.tenant_id)
    for _ in range(2):
        assert (await sources.change_source(services, source.id, asked)).wish.access == {"hr": ["group:personnel"]}
        assert [rule.prefix for rule in await list_access_rules(services, "default")] == ["papers/hr"]
        await remove_folder_access(services, "default", "papers/hr")


async def test_the_schedule_starts_what_is_due_once(services: Services, folder: Path) -> None:
    source = await follow(services, folder, interval_seconds=600)
    asked = await follow(services, folder, prefix="asked", interval_seconds=0)

    async def move(seconds: float) -> None:
        async with services.database.transaction(services.principal) as connection:
            await connection.execute(
                "UPDATE rag.sources SET due_at = now() + make_interval(secs => $2) WHERE tenant_id = $1 AND interval_seconds > 0",
                services.principal.tenant_id, float(seconds),
            )  # fmt: skip

    async def runs() -> bool:
        await sources.start_due(services)
        return (await sources.get_source(services, source.id)).running

    await move(500)
    assert not await runs()
    await move(-1)
    assert await runs()
    await work(services)
    due = (await sources.get_source(services, source.id)).due_at
    assert not await runs()
    assert due == (await sources.get_source(services, source.id)).due_at
    await move(30 * 86_400)  # the clock was set back
    assert await runs()
    await work(services)
    await move(-1)
    await sources.change_source(services, source.id, SourceChange(paused=True))
    assert not await runs()
    assert (await sources.get_source(services, asked.id)).due_at is None


async def test_bad_wishes_are_refused_with_what_to_do(services: Services, folder: Path) -> None:
    async def refused(words: str, address: str = str(folder), **wish: object) -> None:
        asked = SourceWish(address, "p", **wish)  # type: ignore[arg-type]
        with pytest.raises(InputError, match=words):
            await sources.add_source(services, "default", asked, local=True)

    await refused("60 to", interval_seconds=59)
    await refused("share", most_deleted=1.5)
    await refused("requests_per_second", requests_per_second=0.009)
    await refused("no source that Cairn reads", address="gopher://example.org/")
    await refused("option", options={"colour": "blue"})
    with pytest.raises(InputError, match="command line"):
        await sources.add_source(services, "default", SourceWish(str(folder)))


async def test_sources_of_another_tenant_are_not_there(
    services: Services, other_tenant: Services, folder: Path
) -> None:
    source = await follow(services, folder)
    theirs = await follow(other_tenant, folder, interval_seconds=600)
    assert await sources.list_sources(other_tenant) == [theirs]
    for asked in (
        sources.get_source(other_tenant, source.id),
        sources.list_runs(other_tenant, source.id),
        sources.list_failed_files(other_tenant, source.id),
        sources.sync(other_tenant, source.id, accept_deletions=True, local=True),
        sources.change_source(other_tenant, source.id, SourceChange(paused=True), local=True),
        sources.remove_source(other_tenant, source.id, documents=True),
    ):
        with pytest.raises(NotFoundError):
            await asked
    assert await sources.remove_source(other_tenant, theirs.id, documents=True) == 4
    assert (await sources.get_source(services, source.id), await ids(services)) == (source, PAPERS)
    payload = {"source_id": str(source.id), "collection_id": str(source.collection_id)}
    async with other_tenant.database.transaction(other_tenant.principal) as connection:
        job = await jobs.enqueue(connection, other_tenant.principal, SYNC_SOURCE, payload, max_attempts=1)
    await work(other_tenant)
    assert (await get_job(other_tenant, job.id)).result == {"removed": True}


async def test_secrets_are_sealed_and_sealed_anew(services: Services, folder: Path) -> None:
    old, new = make_key(), make_key()
    source = await follow(services, folder)

    def with_key(key: str | None) -> Services:
        return replace(services, environment=replace(services.environment, secrets_key=key))

    with pytest.raises(InputError, match="secret password is none"):
        await sources.change_source(with_key(old), source.id, SourceChange(secrets={"password": "corvid"}))
    principal: Principal = services.principal
    async with services.database.transaction(principal) as connection:
        sealed = seal_secrets({"password": "corvid"}, old, principal.tenant_id, source.id)
        await store.keep_secrets(connection, principal, source.id, sealed)
    with pytest.raises(InputError, match="another key"):
        await sources.reseal_secrets(with_key(new))
    assert await sources.reseal_secrets(with_key(f"{new},{old}")) == 1
    async with services.database.transaction(principal) as connection:
        anew = await store.load_secrets(connection, principal, source.id)
    assert anew is not None
    assert open_secrets(anew, new, principal.tenant_id, source.id) == {"password": "corvid"}


async def test_secrets_are_not_shown_to_another_server_by_who_does_not_give_them(services: Services) -> None:
    services.settings.current = Settings(urls=UrlSettings(allowed_hosts=("*",)))
    here = replace(services, environment=replace(services.environment, secrets_key=make_key()))
    store_of, secrets = "s3://papers/hr", {"key": "ada", "secret": "corvid"}
    options = {"endpoint_url": "https://minio.example.org", "include": "*.md"}
    source, _ = await sources.add_source(here, "default", SourceWish(store_of, "hr", options), secrets)
    for changed in ({"endpoint_url": "https://evil.example.net"}, {}, {**options, "region": "eu-central-1"}):
        with pytest.raises(InputError, match="give them anew with it"):
            await sources.change_source(here, source.id, SourceChange(options=changed))
    other = {**options, "include": "*.txt"}
    assert (await sources.change_source(here, source.id, SourceChange(options=other))).wish.options == other
    moved = SourceChange(options={"endpoint_url": "https://minio.example.com"}, secrets=secrets)
    assert (await sources.change_source(here, source.id, moved)).wish.options == moved.options
    anonymous = SourceChange(options={"anon": "true"}, secrets={})
    assert (await sources.change_source(here, source.id, anonymous)).wish.secret_names == []
    await sources.change_source(here, source.id, SourceChange(options={"anon": "true", "region": "eu-central-1"}))


class Replies(dict[str, object]):
    """Pages of a site: one reply after the other, and the last one again and again."""

    def get(self, path: str, default: object = None) -> object:
        replies = super().get(path, [default])
        return replies.pop(0) if len(replies) > 1 else replies[0]  # type: ignore[attr-defined,index,arg-type]


async def test_a_source_that_asks_to_be_left_alone_is(services: Services) -> None:
    busy = [Reply(status=503, headers={"Retry-After": seconds}) for seconds in ("0", "7200")]
    entry = "<url><loc>/{}.html</loc><lastmod>2026-01-15</lastmod></url>"
    lists = f"<urlset>{entry.format('a')}{entry.format('b')}</urlset>"
    page = "<p>A page about harbours.</p>"
    site = Replies({"/sitemap.xml": [lists], "/a.html": [page], "/b.html": [*[busy[0]] * 4, page]})
    with ScriptedWeb(site) as web:  # type: ignore[arg-type]
        where = f"127.0.0.1:{web.port}"
        services.settings.current = Settings(
            urls=UrlSettings(allowed_hosts=(where,), private_networks=("127.0.0.0/8",))
        )
        asked = SourceWish(f"http://{where}/sitemap.xml", "site", {"pages_per_second": "1000"}, interval_seconds=600)
        source, _ = await sources.add_source(services, "default", asked)
        await work(services)
        assert await ids(services) == {"site/a.html", "site/b.html"}
        # the connector asks three times, and the synchronisation again
        assert [path for path, _ in web.requests].count("/b.html") == 5
        site["/sitemap.xml"] = [busy[1]]
        source = await again(services, source.id)
        assert ("503" in (source.last_error or ""), source.failures) == (True, 1)
        async with services.database.transaction(services.principal) as connection:
            left = await connection.fetchval("SELECT due_at - now() FROM rag.sources WHERE id = $1", source.id)
        assert 7000 < left.total_seconds() <= 7200  # and not 1200, as after any failure
        assert await ids(services) == {"site/a.html", "site/b.html"}


async def test_a_page_that_leads_to_one_of_others_is_left_out_as_long_as_it_does(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cairn.jobs.sources.CLAIMED", 1)
    monkeypatch.setattr("cairn.jobs.sources.TURN_SECONDS", 0.0)  # in many turns, and no page twice
    entry = "<url><loc>/{}</loc><lastmod>2026-01-15</lastmod></url>"
    lists = f"<urlset>{''.join(map(entry.format, ('hr/pay', 'p/17', 'p/18', 'one')))}</urlset>"
    moved = Reply(status=301, headers={"Location": "/hr/pay"})
    pages = {"/hr/pay": "<p>Wages.</p>", "/p/17": moved, "/p/18": moved, "/one": "<p>A page about harbours.</p>"}

    async def work_in_turns(job_id: UUID) -> None:
        while not (await get_job(services, job_id)).ended:
            await work(services)
            await stop_waiting(services, job_id)

    with ScriptedWeb({"/sitemap.xml": lists, **pages}) as web:
        where = f"127.0.0.1:{web.port}"
        services.settings.current = Settings(
            urls=UrlSettings(allowed_hosts=(where,), private_networks=("127.0.0.0/8",))
        )
        access = {"hr": ["group:personnel"]}
        asked = SourceWish(f"http://{where}/sitemap.xml", "site", {"pages_per_second": "1000"}, access=access)
        source, job = await sources.add_source(services, "default", asked)
        await work_in_turns(job.id)
        source = await sources.get_source(services, source.id)
        assert await ids(services) == {"site/hr/pay", "site/one"}
        assert await ids(stranger(services)) == {"site/one"}
        assert (source.note or "").startswith("2 pages are left out, since they lead elsewhere")
        assert f"http://{where}/p/17 leads to another page, http://{where}/hr/pay" in (source.note or "")
        assert [path for path, _ in web.requests].count("/p/17") == 1
        monkeypatch.setattr("cairn.jobs.sources.TURN_SECONDS", 300.0)
        web.pages |= {"/p/17": "<p>A page of its own.</p>", "/p/18": "<p>Another.</p>"}
        source = await again(services, source.id)
        assert (source.note, len(await ids(stranger(services)))) == (None, 3)
        web.pages |= {"/sitemap.xml": lists.replace("15", "16"), "/p/17": moved}
        source = await again(services, source.id)
        assert await ids(stranger(services)) == {"site/one", "site/p/18"}
        assert (source.counts or {})["skipped"] == 1
        everything = await ids(services)
        assert everything == {"site/hr/pay", "site/one", "site/p/18"}
        web.pages |= {"/sitemap.xml": lists.replace("15", "17"), "/p/18": moved, "/one": moved}
        source = await again(services, source.id)  # as when a site asks everybody to log in
        assert (source.paused, await ids(services)) == (True, everything)
        assert "more than 50%" in (source.note or "")
        assert "3 pages are left out" in (source.note or "")
        monkeypatch.setattr("cairn.jobs.sources.TURN_SECONDS", 0.0)
        await work_in_turns((await sources.sync(services, source.id, accept_deletions=True)).id)
        source = await sources.get_source(services, source.id)
        assert await ids(services) == {"site/hr/pay"}
        assert ((source.counts or {})["deleted"], source.failed) == (2, 0)


@pytest.mark.siege
async def test_a_folder_of_2000_files_that_changes_while_it_is_read(services: Services, tmp_path: Path) -> None:
    folder, chance = tmp_path / "papers", random.Random(7)
    folder.mkdir()
    for number in range(2000):
        (folder / f"{number:04}.md").write_text(f"Paper {number} is about harbour {number}.")
    source, job = await sources.add_source(services, "default", SourceWish(str(folder), "papers"), local=True)

    async def change_meanwhile() -> int:
        changes = 0
        while not (await get_job(services, job.id)).ended:
            path = folder / f"{chance.randrange(2100):04}.md"
            if path.exists() and chance.random() < 0.5:
                path.rename(folder / f"{changes}-moved.md") if changes % 3 else path.unlink()
            else:
                path.write_text(f"Change {changes} of {path.name}.")
            changes += 1
            await asyncio.sleep(0.01)
        return changes

    changing = asyncio.create_task(change_meanwhile())
    await work(services)
    assert await changing > 0
    assert (await sources.get_source(services, source.id)).last_error is None
    source = await again(services, source.id)
    assert (source.last_error, source.failed, source.paused) == (None, 0, False)
    kept = {f"papers/{path.name}": path.read_text() for path in folder.iterdir()}
    async with services.database.transaction(services.principal, readonly=True) as connection:
        rows = await connection.fetch(
            "SELECT d.external_id, string_agg(p.content, '' ORDER BY p.ordinal) AS text FROM rag.documents d "
            "JOIN rag.passages p ON p.tenant_id = d.tenant_id AND p.document_id = d.id WHERE d.tenant_id = $1 GROUP BY 1",
            services.principal.tenant_id,
        )
    assert {row["external_id"]: row["text"] for row in rows} == kept
