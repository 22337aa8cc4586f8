"""A document becomes searchable, is replaced and disappears in one transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from cairn.domain.document import Indexed, Outcome, Rejected, Source
from cairn.domain.document_list import DocumentFilter
from cairn.domain.ids import new_id
from cairn.errors import ConflictError, NotFoundError, ProviderError
from cairn.ingest import give_back
from cairn.ingest.embed import GROUP_CHUNKS
from cairn.ingest.pipeline import ingest
from cairn.providers.protocols import Embedder, Vectors
from cairn.service.documents import (
    delete_collection,
    delete_document,
    get_collection,
    get_document,
    index_now,
    list_documents,
)
from cairn.service.search import get_trace
from cairn.wiring import Services
from tests.documents import find, index_texts, text_source, unreachable_embedder
from tests.sharing import SHARED

pytestmark = [SHARED, pytest.mark.usefixtures("hashed_vectors")]


def indexed(outcome: Outcome) -> Indexed:
    assert isinstance(outcome, Indexed), outcome
    return outcome


async def rows_that_mention(services: Services, document_id: UUID, marker: str) -> dict[str, int]:
    """Rows of any table of schema rag, seen as the tenant, that hold the document's id or the marker word."""
    found: dict[str, int] = {}
    async with services.database.transaction(services.principal) as connection:
        tables = await connection.fetch(
            "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname = 'rag' AND c.relkind IN ('r', 'p') AND NOT c.relispartition "
            "AND has_table_privilege(c.oid, 'SELECT')"
        )
        for (table,) in tables:
            count = await connection.fetchval(
                f"SELECT count(*) FROM rag.{table} t WHERE to_jsonb(t)::text LIKE $1 OR to_jsonb(t)::text LIKE $2",
                f"%{document_id}%", f"%{marker}%",
            )  # fmt: skip
            if count:
                found[table] = count
    return found


async def test_same_identity_and_content_is_a_duplicate(services: Services) -> None:
    first = indexed((await index_now(services, "test", [text_source("a", "granite cairn", year=1999)]))[0])
    again = indexed((await index_now(services, "test", [text_source("a", "granite cairn", year=2001)]))[0])
    assert (again.document_id, again.duplicate, again.version) == (first.document_id, True, 1)
    document, _ = await get_document(services, "test", first.document_id)
    assert document.metadata == {"year": 2001}, "metadata follows although the content is the same"


async def test_new_content_is_a_new_version_that_replaces_the_old(services: Services) -> None:
    first = indexed((await index_now(services, "test", [text_source("a", "granite boulders on the ridge")]))[0])
    second = indexed((await index_now(services, "test", [text_source("a", "chalk cliffs by the sea")]))[0])
    assert (second.document_id, second.version, second.duplicate) == (first.document_id, 2, False)
    assert not (await find(services, "granite", legs=("lexical",))).passages
    assert (await find(services, "chalk", legs=("lexical",))).passages[0].version == 2
    collection = await get_collection(services, "test")
    assert (collection.document_count, collection.passage_count) == (1, 1)


async def test_equal_text_under_another_identity_costs_no_embedding(services: Services) -> None:
    """Vectors are shared by content hash: with the embedding server down, it is indexed all the same."""
    await index_texts(services, {"a": "granite cairn on the ridge"})

    target = services.target(services.principal, (await get_collection(services, "test")).id)
    outcome = (
        await ingest(
            services.database,
            replace(target, embedder=unreachable_embedder()),
            [text_source("b", "granite cairn on the ridge")],
        )
    )[0]
    assert not indexed(outcome).duplicate
    assert (await get_collection(services, "test")).document_count == 2


class Counting:
    """An embedding model that fails when it has embedded so many texts."""

    def __init__(self, model: Embedder, most: int) -> None:
        self._model, self._most = model, most
        self.embedded = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if self.embedded + len(texts) > self._most:
            raise ProviderError("the process was killed here")
        self.embedded += len(texts)
        return await self._model.embed(texts)


async def test_what_was_embedded_of_a_large_document_is_not_embedded_again(services: Services) -> None:
    """Its vectors are kept on the way, until it is published: an end in the middle costs one group."""
    await index_texts(services, {"other": "chalk"})
    target = services.target(services.principal, (await get_collection(services, "test")).id)
    text = "\n\n".join(f"Stone {n} lies on ridge {n * 7} beside the cairn of {n * 13} walkers." for n in range(2000))
    first, second = Counting(target.embedder, 3 * GROUP_CHUNKS), Counting(target.embedder, 100_000)
    shares: list[float] = []

    async def note(external_id: str, share: float | None) -> None:
        assert external_id == "large"
        if share is not None:  # else it is read
            shares.append(share)

    with pytest.raises(ProviderError):
        await ingest(services.database, replace(target, embedder=first), [text_source("large", text)], on_share=note)
    assert first.embedded == 3 * GROUP_CHUNKS
    assert await _kept_ahead(services) == first.embedded
    [done] = await ingest(
        services.database, replace(target, embedder=second), [text_source("large", text)], on_share=note
    )
    groups = [made * GROUP_CHUNKS / indexed(done).chunk_count for made in (1, 2, 3)]
    assert shares == pytest.approx([*groups, 1]), "it goes on where it was"
    assert indexed(done).chunk_count == first.embedded + second.embedded
    assert await _kept_ahead(services) == 0


async def _kept_ahead(services: Services) -> int:
    async with services.database.transaction(services.principal) as connection:
        return int(await connection.fetchval("SELECT count(*) FROM rag.embedded_ahead"))


async def test_deletion_leaves_nothing_behind(services: Services) -> None:
    """0 rows mention the document in any table; what a trace quoted is blanked, its id stays."""
    marker = "xylophonist"
    outcome = indexed((await index_now(services, "test", [text_source("secret-id", f"The {marker} met a cairn.")]))[0])
    await index_texts(services, {"other": "An unrelated text about rivers."})
    await delete_document(services, "test", outcome.document_id)
    left = await rows_that_mention(services, outcome.document_id, marker)
    assert left == {"audit_events": 1, "document_changes": 2}, "by its id"
    with pytest.raises(NotFoundError):
        await delete_document(services, "test", outcome.document_id)


async def test_documents_are_looked_up_by_what_they_contain_and_by_external_id(services: Services) -> None:
    titles = {
        "1706.03762": "Attention Is All You Need",
        "1810.04805": "BERT: Pre-training",
        "notes": "On attention spans",
    }
    sources = [Source(key, key, f"Text of {key}.".encode(), title, is_text=True) for key, title in titles.items()]
    await index_now(services, "papers", sources)

    async def found(after: str = "", **wanted: Any) -> list[str]:
        listed = await list_documents(services, "papers", DocumentFilter(**wanted), after=after)
        return [document.external_id for document in listed]

    assert await found(contains="ATTENTION") == ["1706.03762", "notes"]
    assert await found(contains="attention", after="1706.03762") == ["notes"]
    assert await found(contains="100%") == [], "no pattern, but text"
    assert await found(external_ids=["1810.04805"]) == ["1810.04805"]
    assert len(await found()) == 3


async def test_deleting_a_collection_removes_its_rows_and_only_those(services: Services) -> None:
    outcome = indexed((await index_now(services, "gone", [text_source("a", "the xylophonist")]))[0])
    await index_texts(services, {"b": "a river"}, collection="kept")
    await delete_collection(services, "gone")
    left = await rows_that_mention(services, outcome.document_id, "xylophonist")
    assert left == {"document_changes": 2}, "by its id"
    assert [d.external_id for d in await list_documents(services, "kept")] == ["b"]
    with pytest.raises(NotFoundError):
        await find(services, "river", collection="gone")


async def test_documents_of_a_collection_that_is_deleted_meanwhile_are_a_conflict(services: Services) -> None:
    target = services.target(services.principal, new_id())
    with pytest.raises(ConflictError, match="deleted meanwhile"):
        await ingest(services.database, target, [text_source("a", "A stone.")])


async def test_readers_see_the_old_or_the_new_version_never_both(services: Services) -> None:
    """A reader loops while a document is replaced ten times: each read finds exactly one version."""
    words = ["granite", "chalk"]
    await index_texts(services, {"a": "cairn of granite"})
    stop = asyncio.Event()
    seen: list[set[str]] = []

    async def read() -> None:
        while not stop.is_set():
            result = await find(services, "cairn", legs=("lexical",))
            seen.append({p.content for p in result.passages})

    reader = asyncio.create_task(read())
    for turn in range(10):
        await index_texts(services, {"a": f"cairn of {words[turn % 2]}"})
    stop.set()
    await reader
    assert len(seen) > 10
    assert all(len(contents) == 1 for contents in seen)


async def test_spans_point_at_their_text(services: Services) -> None:
    """Every stored span is a range of code points in the document's text, also beyond the BMP."""
    body = "\n\n".join(
        f"Paragraph {i} with an emoji 🪨 and Grüße. " + "Cairn stones mark a trail. " * 30 for i in range(9)
    )
    outcome = indexed((await index_now(services, "test", [text_source("a", body)]))[0])
    _, text = await get_document(services, "test", outcome.document_id)
    assert text is not None
    async with services.database.transaction(services.principal) as connection:
        for table in ("passages", "chunks"):
            rows = await connection.fetch(f"SELECT content, char_start, char_end FROM rag.{table}")
            assert len(rows) >= 5
            assert all(text[r["char_start"] : r["char_end"]] == r["content"] for r in rows)
        inside = await connection.fetchval(
            "SELECT bool_and(c.char_start >= p.char_start AND c.char_end <= p.char_end) "
            "FROM rag.chunks c JOIN rag.passages p ON p.id = c.passage_id"
        )
        assert inside


async def test_a_document_that_cannot_be_read_fails_alone(services: Services) -> None:
    sources = [
        text_source("good", "A readable text."),
        Source("bad.pdf", "bad.pdf", b"%PDF-1.7 and nothing else"),
        text_source("empty", "   \n "),
        Source("image.png", "image.png", b"\x89PNG\r\n\x1a\n" + bytes(50)),
    ]
    outcomes = {o.external_id: o for o in await index_now(services, "test", sources)}
    assert isinstance(outcomes["good"], Indexed)
    for name in ("bad.pdf", "empty", "image.png"):
        assert isinstance(outcomes[name], Rejected)
        assert outcomes[name].error
    listed = {d.external_id: (d.status, d.error) for d in await list_documents(services, "test")}
    assert listed["good"] == ("indexed", None)
    assert listed["bad.pdf"][0] == "failed"
    assert listed["bad.pdf"][1]


async def test_a_failed_replacement_keeps_the_indexed_version(services: Services) -> None:
    await index_now(services, "test", [text_source("a.pdf", "A readable text about chalk.")])
    broken = Source("a.pdf", "a.pdf", b"%PDF-1.7 and nothing else")
    assert isinstance((await index_now(services, "test", [broken]))[0], Rejected)
    assert [d.status for d in await list_documents(services, "test")] == ["indexed"]
    assert (await find(services, "chalk")).passages


async def test_tenants_do_not_share_anything(services: Services, other_tenant: Services) -> None:
    """The same collection name and document id in two tenants are two worlds."""
    await index_texts(services, {"a": "granite of tenant one"})
    await index_texts(other_tenant, {"a": "granite of tenant two"})
    assert [p.content for p in (await find(services, "granite")).passages] == ["granite of tenant one"]
    assert [p.content for p in (await find(other_tenant, "granite")).passages] == ["granite of tenant two"]
    mine = (await list_documents(services, "test"))[0].id
    with pytest.raises(NotFoundError):
        await delete_document(other_tenant, "test", mine)
    trace = (await find(services, "granite")).trace_id
    await services.traces.flush()
    with pytest.raises(NotFoundError):
        await get_trace(other_tenant, trace)


async def test_memory_is_given_back_after_a_run_that_has_read_much(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(give_back, "AFTER_SECONDS", 3600.0)  # so that it is still to come when it is looked for
    loop = asyncio.get_running_loop()
    await index_texts(services, {"short": "A cairn is a pile of stones."})
    assert loop not in give_back._due
    await index_texts(services, {"long": "A cairn is a pile" + " " * give_back.FROM_CHARS + "of stones."})
    assert loop in give_back._due
