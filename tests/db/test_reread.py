"""Documents that an earlier release read are read anew from what is kept of them, once."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from structlog.testing import capture_logs

from cairn.domain.document import Document, Indexed, Source
from cairn.ingest.loaders import READ_BY_OTHERS, REVISION
from cairn.ingest.outlines import outline_reader
from cairn.ingest.prepare import source_hash
from cairn.ingest.reread import reread_document
from cairn.interfaces.server import create_app
from cairn.service import models as model_service
from cairn.service.documents import delete_document, get_collection, index_now, list_documents, read_text
from cairn.service.editing import change_document
from cairn.service.files import ingest_files, select_files
from cairn.service.jobs import get_job
from cairn.service.status import older_in_a_line
from cairn.settings import Environment, IngestSettings, SettingsStore
from cairn.store import documents, originals
from cairn.store.documents import OlderDocuments
from cairn.wiring import Services
from tests.documents import find, text_source, with_sections
from tests.sharing import ALONE, SHARED
from tests.waiting import until

pytestmark = SHARED

OLD = "title: Guide\n\n# Guide\n\nA cairn marks the trail.\n"
"""What an earlier release read of FILE."""
FILE = b"---\ntitle: Guide\nteam: paths\n---\n\n# Guide\n\nA cairn marks the trail.\n"
NEW = "\n# Guide\n\nA cairn marks the trail.\n"
NOTHING = {"reread": 0, "unchanged": 0, "overtaken": 0, "left": 0, "left_documents": []}


async def read_by_an_earlier_release(
    services: Services, file: bytes = FILE, name: str = "guide.md", *, text: str = OLD, kept: bool = True,
    origin: str | None = None,
) -> Document:  # fmt: skip
    """A document as an earlier release left it: the text that it read, of a file that it may have kept."""
    title = None if text != OLD else "Guide"
    await index_now(
        services, "test", [Source(name, name, text.encode(), title=title, media_type="text/plain", is_text=True)]
    )
    [document] = [one for one in await list_documents(services, "test") if one.external_id == name]
    await execute(
        services,
        "UPDATE rag.documents SET loader_revision = 0, content_hash = $2, origin = $3, byte_size = $4, metadata = '{}' "
        "WHERE id = $1",
        document.id, source_hash(Source(name, name, file)), origin, len(file),
    )  # fmt: skip
    if kept:
        async with services.database.transaction(services.principal) as connection:
            await originals.keep(connection, services.principal, document.id, file)
    return document


async def execute(services: Services, statement: str, *arguments: Any) -> Any:
    async with services.database.transaction(services.principal) as connection:
        return await connection.fetchval(statement, *arguments)


async def reread(services: Services) -> dict[str, Any]:
    job = await model_service.start_reread(services, "test")
    await services.worker().run_until_idle()
    done = await get_job(services, job.id)
    assert done.status == "succeeded", done.error
    return dict(done.result or {})


async def text_of(services: Services, document: Document) -> str:
    return (await read_text(services, "test", document.id, 0, 10_000)).text


async def the_document(services: Services) -> Document:
    [document] = await list_documents(services, "test")
    return document


async def test_a_kept_file_is_read_anew_and_only_once(services: Services) -> None:
    old = await read_by_an_earlier_release(services)
    await index_now(services, "test", [text_source("new", "This release read it.")])
    assert await model_service.count_outdated(services) == {"test": 1}
    assert await reread(services) == {**NOTHING, "reread": 1}
    assert await text_of(services, old) == NEW
    [document, _] = await list_documents(services, "test")
    assert (document.version, document.title, document.media_type) == (2, "Guide", "text/markdown")
    assert (document.metadata, document.byte_size, document.has_file) == (
        {"team": "paths"},
        len(FILE),
        True,
    )
    assert "title:" not in (await find(services, "What marks the trail?")).passages[0].content
    before = await get_collection(services, "test")
    assert await reread(services) == NOTHING
    assert await model_service.count_outdated(services, "test") == {"test": 0}
    assert await get_collection(services, "test") == before
    [again] = await index_now(services, "test", [Source("guide.md", "guide.md", FILE)])
    assert isinstance(again, Indexed)
    assert again.duplicate


async def test_what_is_read_the_same_stays_as_it_is(services: Services) -> None:
    document = await read_by_an_earlier_release(services, text=NEW, file=NEW.encode(), name="guide.txt")
    before = await get_collection(services, "test")
    assert await reread(services) == {**NOTHING, "unchanged": 1}
    assert await get_collection(services, "test") == before
    assert (await the_document(services)).version == 1
    assert (await the_document(services)).updated_at >= document.updated_at
    assert await model_service.count_outdated(services, "test") == {"test": 0}


async def test_a_file_is_read_from_where_it_was(services: Services, tmp_path: Path) -> None:
    file = tmp_path / "guide.md"
    document = await read_by_an_earlier_release(services, kept=False, origin=str(file))
    unread = await reread(services)
    assert (unread["left"], unread["reread"]) == (1, 0)
    assert f"{file} cannot be read any more" in unread["left_documents"][0]["reason"]
    file.write_bytes(FILE + b"More.\n")
    unread = await reread(services)
    assert unread["left_documents"][0]["external_id"] == "guide.md"
    assert "another file by now" in unread["left_documents"][0]["reason"]
    assert await text_of(services, document) == OLD
    file.write_bytes(FILE)
    assert await reread(services) == {**NOTHING, "reread": 1}
    assert await text_of(services, document) == NEW
    assert (await the_document(services)).has_file


async def test_texts_that_were_handed_over_are_read_from_what_is_stored(services: Services) -> None:
    """As far as that is what was handed over."""
    await index_now(services, "test", [
        text_source("plain", "A note."), text_source("titled", "A note.", "Title"),
        Source("note.md", "note.md", b"# Note\n\nA **bold** word.", is_text=True),
        Source("front.md", "front.md", FILE, is_text=True),
    ])  # fmt: skip
    await execute(services, "UPDATE rag.documents SET loader_revision = 0")
    done = await reread(services)
    assert (done["unchanged"], done["left"]) == (3, 1)
    assert [one["external_id"] for one in done["left_documents"]] == ["front.md"]
    assert "is not what was handed over" in done["left_documents"][0]["reason"]
    assert {one.version for one in await list_documents(services, "test")} == {1}


async def test_what_people_said_of_a_document_stays(services: Services) -> None:
    document = await read_by_an_earlier_release(services)
    await change_document(services, "test", document.id, title="The guide", metadata={"team": "mine"})
    assert await reread(services) == {**NOTHING, "reread": 1}
    now = await the_document(services)
    assert (now.title, now.metadata) == ("The guide", {"team": "mine"})
    assert await text_of(services, document) == NEW


async def test_what_was_deleted_or_replaced_meanwhile_stays_so(services: Services) -> None:
    await read_by_an_earlier_release(services)
    await read_by_an_earlier_release(services, name="other.md")
    found = await get_collection(services, "test")
    target = services.target(services.principal, found.id)
    async with services.database.transaction(services.principal, readonly=True) as connection:
        seen = await documents.list_outdated(
            connection, services.principal, found.id, REVISION, after=UUID(int=0), limit=10
        )
    by_name = {one.external_id: one for one in seen}
    await delete_document(services, "test", by_name["guide.md"].id)
    await index_now(services, "test", [Source("other.md", "other.md", b"# Other\n\nSomething new.")])
    async with outline_reader(target.settings) as outlines:
        for one in seen:
            assert await reread_document(services.database, target, one, outlines) == "overtaken"
    other = await the_document(services)
    assert (other.external_id, other.version) == ("other.md", 2)
    assert await text_of(services, other) == "# Other\n\nSomething new."


async def test_a_file_that_cannot_be_read_any_more_keeps_its_text(services: Services) -> None:
    document = await read_by_an_earlier_release(services)
    strict = with_sections(services, ingest=IngestSettings(max_file_bytes=10))
    done = await reread(strict)
    assert (done["left"], done["reread"]) == (1, 0)
    assert "ingest.maxFileBytes" in done["left_documents"][0]["reason"]
    assert await text_of(services, document) == OLD
    assert (await the_document(services)).status == "indexed"
    assert await reread(services) == {**NOTHING, "reread": 1}


async def test_a_job_that_was_broken_off_goes_on_with_what_is_left(services: Services) -> None:
    for name in ("a.md", "b.md", "c.md"):
        await read_by_an_earlier_release(services, name=name)
    await execute(services, "UPDATE rag.documents SET loader_revision = $1 WHERE external_id <> 'c.md'", REVISION)
    assert await reread(services) == {**NOTHING, "reread": 1}
    assert [one.version for one in await list_documents(services, "test")] == [1, 1, 2]


async def test_texts_of_others_are_left_alone(services: Services) -> None:
    await read_by_an_earlier_release(services)
    await execute(services, "UPDATE rag.documents SET loader_revision = $1", READ_BY_OTHERS)
    assert await reread(services) == NOTHING


@pytest.mark.parametrize("read_the_same", [False, True])
async def test_the_folder_again_reads_anew_what_an_earlier_release_read(
    services: Services, tmp_path: Path, read_the_same: bool
) -> None:
    """Without another version where that gives the same text."""
    folder = tmp_path / "manual"
    folder.mkdir()
    (folder / "guide.md").write_bytes(FILE)
    text = NEW if read_the_same else OLD
    old = await read_by_an_earlier_release(services, name="manual/guide.md", text=text)
    if read_the_same:
        await execute(services, "UPDATE rag.documents SET media_type = 'text/markdown', title = 'Guide'")
    done = await ingest_files(services, "test", select_files([folder]), lambda _: None)
    assert (done.counts["unchanged"] + done.counts["updated"], done.counts["replaced"]) == (
        (1, 0) if read_the_same else (0, 1)
    )
    assert await text_of(services, old) == NEW
    assert (await the_document(services)).version == (1 if read_the_same else 2)
    assert await model_service.count_outdated(services, "test") == {"test": 0}
    again = await ingest_files(services, "test", select_files([folder]), lambda _: None)
    assert again.counts["unchanged"] == 1


async def test_what_earlier_rules_made_is_counted_and_made_anew(services: Services) -> None:
    """Graph, symbols and cells: `cairn reindex` marks what comes out the same, and makes anew what it cannot compare."""
    await index_now(services, "test", [
        text_source("note", "Ada Lovelace met Charles Babbage in London."),
        Source("prices.csv", "prices.csv", b"Item,Price\nTea,3\nCoffee,4\n"),
    ])  # fmt: skip
    assert await model_service.outdated_notes(services) == []
    await execute(services, "UPDATE rag.documents SET derived_revision = 0")
    assert await model_service.count_older(services, "test") == {"test": OlderDocuments(read=0, derived=2)}
    [note] = await model_service.outdated_notes(services)
    assert "cells of tables of 2 documents were made by an earlier release; cairn reindex test makes" in note
    await execute(services, "UPDATE rag.documents SET loader_revision = 0 WHERE external_id = 'note'")
    assert await model_service.count_older(services, "test") == {"test": OlderDocuments(read=1, derived=1)}
    await execute(services, "UPDATE rag.documents SET loader_revision = $1", REVISION)
    for expected in ({"redone": 1, "unchanged": 1, "overtaken": 0}, {"redone": 0, "unchanged": 2, "overtaken": 0}):
        job = await model_service.start_reindex(services, "test", force=False)
        await services.worker().run_until_idle()
        assert (await get_job(services, job.id)).result == expected
    assert await model_service.outdated_notes(services) == []


@ALONE
async def test_a_start_tells_in_one_line_what_an_earlier_release_left(
    services: Services, other_tenant: Services, environment: Environment
) -> None:
    """Of all tenants of the database."""
    assert await older_in_a_line(services) is None
    await read_by_an_earlier_release(services)
    assert await older_in_a_line(services) == (
        "1 document was read by an older release: cairn reread (cairn status has the collections)"
    )
    await read_by_an_earlier_release(other_tenant)
    await index_now(other_tenant, "test", [text_source("note", "A note.")])
    await execute(other_tenant, "UPDATE rag.documents SET derived_revision = 0")
    app = create_app(environment, SettingsStore(), worker=False)
    with capture_logs() as logs:
        async with app.router.lifespan_context(app):
            told = await until(lambda: [one["note"] for one in logs if one["event"] == "documents.outdated"])
    assert told == [
        "2 documents were read by an older release: cairn reread; graph, symbols and cells of 1 were made by one: "
        "cairn reindex COLLECTION (cairn status has the collections)"
    ]
