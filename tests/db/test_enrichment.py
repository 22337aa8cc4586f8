"""Contexts for chunks by a chat model: a job after indexing, paid for once, embedded and never shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from scripted_replies import Reply
from scripted_server import ScriptedServer

from cairn.domain.document import Document, Source
from cairn.domain.document_list import DocumentFilter
from cairn.domain.principal import Caller
from cairn.errors import InputError
from cairn.ingest.contexts import context_key
from cairn.ingest.embedding_text import embed_text, text_hash
from cairn.providers.requests import _meter
from cairn.service import jobs as job_service
from cairn.service import models as model_service
from cairn.service.documents import delete_document, get_document, index_now, list_documents
from cairn.service.keys import create_key
from cairn.settings import Settings, SettingsStore, parse_settings
from cairn.wiring import Services
from tests.documents import find
from tests.sharing import SHARED

pytestmark = [SHARED, pytest.mark.usefixtures("hashed_vectors")]

Json = dict[str, Any]
OTHER = "other-model"
GUIDE = "# Lantern guide\n\n" + "\n\n".join(
    f"## Repairs {year}\n\n"
    + " ".join(f"Part {part} is sent back within {part % 9} days, with a receipt." for part in range(40))
    for year in (2019, 2020, 2021)
)


class Describing:
    """Says of each chunk the title and the section. `seen`: chunks of each call; `spoil` makes something else of a context."""

    def __init__(self) -> None:
        self.seen: list[list[Json]] = []
        self.spoil: Any = None

    def __call__(self, messages: list[Json]) -> str:
        document, *chunks = [json.loads(line) for line in str(messages[-1]["content"]).splitlines()]
        self.seen.append(chunks)
        said = [(one["chunk"], context_of(document["title"], one["section"])) for one in chunks]
        if self.spoil:
            said = [(number, self.spoil(text)) for number, text in said]
        return "\n".join(json.dumps({"chunk": number, "context": text}) for number, text in said)


def context_of(title: str, section: str) -> str:
    return f"The section {section} of the {title} says this."


def settings(**values: Any) -> SettingsStore:
    sections: Json = {"rag": {"contextualEnrichmentEnabled": True, "contextualEnrichmentModel": "describer"}}
    sections |= {"enrichment": values, "jobs": {"retrySeconds": 0}}
    parsed: Settings = parse_settings(json.dumps(sections).encode())
    return SettingsStore(initial=parsed)


@pytest.fixture
def model() -> Describing:
    return Describing()


@pytest.fixture
def talking(model: Describing) -> Describing:
    return model


@pytest.fixture(scope="module")
def scripted_of_module() -> Iterator[ScriptedServer]:
    with ScriptedServer(dimensions=8) as running:
        yield running


@pytest.fixture
def services(chatty: Services) -> Services:
    chatty.settings.current = settings().current
    return chatty


def with_settings(services: Services, store: SettingsStore) -> Services:
    return replace(services, settings=store)


async def index(services: Services, text: str = GUIDE, name: str = "guide.md") -> Document:
    await index_now(services, "test", [Source(name, name, text.encode())])
    return (await list_documents(services, "test", DocumentFilter(external_ids=[name])))[0]


async def work(services: Services) -> Json:
    """Run what waits; the result of the newest enrichment."""
    await services.worker().run_until_idle()
    job = next(one for one in await job_service.list_jobs(services) if one.kind == "enrich")
    assert job.status == "succeeded", job.error
    return dict(job.result or {})


async def query(services: Services, sql: str, *arguments: Any) -> list[Any]:
    async with services.database.transaction(services.principal, readonly=True) as connection:
        found: list[Any] = await connection.fetch(sql, *arguments)
        return found


async def inputs(services: Services, model: str = "hashed:one") -> dict[str, tuple[list[str], bytes]]:
    """Headings and hash of what was embedded, by the content of the chunk."""
    rows = await query(
        services,
        "SELECT c.content, c.headings, e.content_hash FROM rag.chunks c JOIN rag.embeddings e ON e.chunk_id = c.id "
        "JOIN rag.embedding_models m ON m.id = e.model_id WHERE m.name = $1 ORDER BY c.ordinal",
        model,
    )
    return {row["content"]: (list(row["headings"]), bytes(row["content_hash"])) for row in rows}


def hashes(found: dict[str, tuple[list[str], bytes]], *, enriched: bool) -> dict[str, bytes]:
    """What they should be."""
    title = "Lantern guide"
    return {
        content: text_hash(
            embed_text(title, headings, content, context_of(title, " / ".join(headings)) if enriched else "")
        )
        for content, (headings, _) in found.items()
    }


async def kept(services: Services) -> int:
    return int((await query(services, "SELECT count(*) FROM rag.chunk_contexts"))[0][0])


# --- what it does -------------------------------------------------------------------------------------------------------


async def test_documents_are_found_first_and_enriched_after(
    services: Services, model: Describing, scripted: ScriptedServer
) -> None:
    document = await index(services)
    assert (await find(services, "receipt")).passages, "before any model has been called"
    assert (model.seen, document.enrichment) == ([], None)
    before = await inputs(services)
    assert {content: made for content, (_, made) in before.items()} == hashes(before, enriched=False)
    result = await work(services)
    total = document.chunk_count
    assert (result["documents"], result["chunks"], result["contexts"], result["without"]) == (1, total, total, {})
    assert result["calls"] == len(model.seen) == document.passage_count, "one call for each passage"
    assert {request.body["model"] for request in scripted.requests if "messages" in request.body} == {"describer"}
    after = await inputs(services)
    assert {content: made for content, (_, made) in after.items()} == hashes(after, enriched=True)
    enriched, text = await get_document(services, "test", document.id)
    assert enriched.enrichment == {
        "writer": enriched.enrichment["writer"], "model": "describer", "chunks": total, "of": total, "without": {},
        "titled": True,
    }  # fmt: skip
    assert text is not None
    found = (await find(services, "What is said of repairs in 2020?", cache=False)).passages
    assert all("says this" not in passage.content and passage.content in text for passage in found), "never shown"
    assert not (await find(services, '"says this"', cache=False, legs=("lexical",))).passages, "nor found as words"


async def test_off_by_default_and_without_a_model(
    services: Services, other_tenant: Services, model: Describing
) -> None:
    off = with_settings(services, SettingsStore())
    await index(off)
    await off.worker().run_until_idle()
    assert model.seen == []
    with pytest.raises(InputError, match="contextualEnrichmentEnabled"):
        await job_service.enrich_collection(off, "test")
    without = with_settings(other_tenant, settings())
    await index(without)
    assert await job_service.list_jobs(without) == []
    with pytest.raises(InputError, match="OPENAI_BASE_URL"):
        await job_service.enrich_collection(without, "test")
    await job_service.enrich_collection(services, "test")
    assert (await work(services))["documents"] == 1, "documents that were there before the switch"
    assert await query(other_tenant, "SELECT FROM rag.chunk_contexts") == [], "of one tenant only"


# --- nothing is paid for twice ------------------------------------------------------------------------------------------


async def test_what_was_written_is_not_written_again(services: Services, model: Describing) -> None:
    document = await index(services)
    await work(services)
    calls, rows = len(model.seen), await kept(services)
    before = await inputs(services)
    job = await model_service.start_reindex(services, "test", force=True)
    await services.worker().run_until_idle()
    assert (await job_service.get_job(services, job.id)).result == {"redone": 1, "unchanged": 0, "overtaken": 0}
    assert await inputs(services) == before, "a reindexing keeps contexts"
    assert (await list_documents(services, "test"))[0].enrichment is not None
    await model_service.start_reindex(services, "test", force=False)
    await services.worker().run_until_idle()
    await index(services, name="copy.md")
    result = await work(services)
    assert (result["cached"], result["calls"]) == (document.chunk_count, 0), "the same text under another name"
    assert (len(model.seen), await kept(services)) == (calls, 2 * rows)


async def test_a_run_that_breaks_off_goes_on_where_it_was(
    services: Services, model: Describing, scripted: ScriptedServer
) -> None:
    document = await index(services)
    good = [Reply("ok")] * (document.passage_count - 1)
    scripted.script(*good, "401")
    await services.worker().run_until_idle()
    [job] = [one for one in await job_service.list_jobs(services) if one.kind == "enrich"]
    assert job.status != "succeeded"
    written, calls = await kept(services), len(model.seen)
    assert 0 < written < document.chunk_count
    assert (await list_documents(services, "test"))[0].enrichment is None
    if job.status != "queued":
        await job_service.retry_job(services, job.id)
    result = await work(services)
    assert (result["documents"], result["cached"]) == (1, written)
    assert len(model.seen) == calls + 1, "only the passage that it was at"


async def test_another_embedding_model_sees_the_contexts_too(services: Services) -> None:
    await index(services)
    await work(services)
    await model_service.start_backfill(services, "test", OTHER)
    await services.worker().run_until_idle()
    assert await inputs(services, OTHER) == await inputs(services)
    await index(services, GUIDE.replace("receipt", "bill"))
    await work(services)
    found = await inputs(services, OTHER)
    assert {content: made for content, (_, made) in found.items()} == hashes(found, enriched=True), "both, from then on"


# --- nothing is left ----------------------------------------------------------------------------------------------------


async def test_contexts_go_with_what_they_were_written_of(services: Services) -> None:
    first = await index(services)
    await work(services)
    rows = await kept(services)
    await index(services, GUIDE.replace("2021", "2022"))  # one section; its passages alone are read again
    left = await kept(services)
    assert 0 < left < rows
    assert await query(services, "SELECT FROM rag.chunk_contexts WHERE context LIKE '%2021%'") == []
    result = await work(services)
    assert result["cached"] == left
    await delete_document(services, "test", first.id)
    assert await kept(services) == 0


async def test_the_key_is_the_same_in_python_and_sql(services: Services) -> None:
    document = await index(services, GUIDE.replace("They", "„Élan“ \U0001f3ee they"))
    _, text = await get_document(services, "test", document.id)
    rows = await query(
        services,
        "SELECT c.headings, p.content AS passage, c.content, k.content_hash FROM rag.chunk_context_keys($1) k "
        "JOIN rag.chunks c ON c.id = k.chunk_id JOIN rag.passages p ON p.id = c.passage_id",
        document.id,
    )
    assert len(rows) == document.chunk_count
    for row in rows:
        made = context_key(document.title, text or "", row["headings"], row["passage"], row["content"])
        assert made == bytes(row["content_hash"])


# --- bad models, and caps -----------------------------------------------------------------------------------------------

JUNK = {
    "too long": lambda text: text * 20,
    "link or markup": lambda text: f"{text} See https://evil.example/?q=1",
    "another language": lambda _: (
        "Dieser Abschnitt beschreibt, wie man mit den Laternen umgehen soll, und was es kostet."
    ),
    "names or numbers that the document does not have": lambda text: f"{text} It was 1789 then.",
    "not about the document": lambda _: "I'm sorry, but unfortunately assisting with that request is impossible.",
    "nothing to add": lambda _: " ",
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("reason", JUNK)
async def test_junk_leaves_chunks_without_context_and_says_so(
    services: Services, model: Describing, reason: str
) -> None:
    document = await index(services)
    before = await inputs(services)
    model.spoil = JUNK[reason]
    result = await work(services)
    assert (result["contexts"], result["without"]) == (0, {reason: document.chunk_count})
    assert await inputs(services) == before
    enrichment = (await list_documents(services, "test"))[0].enrichment
    assert enrichment is not None
    assert enrichment["without"] == {reason: document.chunk_count}


async def test_a_reply_that_cannot_be_read_is_asked_for_again_chunk_by_chunk_once(
    services: Services, scripted: ScriptedServer
) -> None:
    document = await index(services, "# Lantern guide\n\nThey burn for 40 hours.", "short.md")
    scripted.script(Reply("ok", text="I cannot do that."))
    result = await work(services)
    assert (document.chunk_count, result["without"], result["calls"]) == (1, {"no usable reply": 1}, 1)


async def test_an_unreadable_reply_is_asked_for_again_by_a_later_run(
    services: Services, scripted: ScriptedServer, model: Describing
) -> None:
    """One bad hour of a model, also one that an earlier release kept."""
    document = await index(services, "# Lantern guide\n\nThey burn for 40 hours.", "short.md")
    scripted.script(Reply("ok", text="I cannot do that."))
    assert (await work(services))["without"] == {"no usable reply": 1}
    assert await query(services, "SELECT 1 FROM rag.chunk_contexts") == [], "no verdict on the chunk"
    async with services.database.transaction(services.principal) as connection:
        await connection.execute(
            "INSERT INTO rag.chunk_contexts (tenant_id, collection_id, document_id, content_hash, writer, context, reason) "
            "SELECT d.tenant_id, d.collection_id, d.id, k.content_hash, d.enrichment ->> 'writer', '', 'no usable reply' "
            "FROM rag.documents d CROSS JOIN LATERAL rag.chunk_context_keys(d.id) AS k WHERE d.id = $1",
            document.id,
        )
    await job_service.enrich_collection(services, "test")
    again = await work(services)
    assert (again["documents"], again["contexts"], again["calls"], again["without"]) == (1, 1, 1, {})
    [kept] = await query(services, "SELECT context, reason FROM rag.chunk_contexts")
    assert (kept["context"] != "", kept["reason"]) == (True, None)
    await job_service.enrich_collection(services, "test")
    assert (await work(services))["documents"] == 0


@pytest.mark.parametrize(("caps", "named"), [
    ({"maxTokens": 10}, "enrichment.maxTokens (10)"), ({"maxTokensPerDay": 10}, "enrichment.maxTokensPerDay (10)"),
    ({"maxCost": 1.0}, "answer.prices lacks a model (describer)"),
])  # fmt: skip
async def test_caps_of_a_job_and_a_day_end_it_with_a_note(
    services: Services, model: Describing, caps: Json, named: str
) -> None:
    capped = with_settings(services, settings(**caps))
    await index(capped)
    result = await work(capped)
    assert named in result["stopped"]
    assert (result["left"], model.seen) == (1, [])
    await job_service.enrich_collection(services, "test")
    assert (await work(services))["documents"] == 1, "a later run does the rest"


async def test_a_reply_takes_what_the_settings_allow(services: Services, scripted: ScriptedServer) -> None:
    brief = with_settings(services, settings(maxOutputTokens=333, timeoutSeconds=1e6))
    await index(brief, "# Lantern guide\n\nThey burn for 40 hours.", "short.md")
    await work(brief)
    [asked] = scripted.requests
    assert (asked.body["max_tokens"], asked.seconds) == (333, pytest.approx(1e6, rel=0.01))


async def test_the_cap_of_a_document_leaves_its_end_without_context(services: Services, model: Describing) -> None:
    capped = with_settings(services, settings(maxTokensPerDocument=1500))
    document = await index(capped)
    result = await work(capped)
    assert len(model.seen) == 1
    [(reason, count)] = result["without"].items()
    assert reason == "enrichment.maxTokensPerDocument is reached"
    assert 0 < result["contexts"] == document.chunk_count - count


async def test_a_context_never_pushes_its_chunk_out_of_the_window(services: Services, model: Describing) -> None:
    """The chunk is as long as the model reads: what does not fit of the context is left out, nothing of the chunk."""
    model.spoil = lambda text: f"{text} {'Keep the receipt for later. ' * 8}"[:290]
    words = "Keep the receipt for later, they say. " * 10
    await index(services, f"# Lantern guide\n\n{words}")
    counted = services.search_deps.embedder
    await work(services)
    sent: list[str] = []
    embed = counted.embed

    async def watched(texts: Any) -> Any:
        sent.extend(texts)
        return await embed(texts)

    counted.embed = watched  # type: ignore[method-assign]
    await job_service.enrich_collection(services, "test")
    await index(services, f"# Lantern guide\n\n{words * 8}", "long.md")
    await work(services)
    assert sent
    assert max(map(counted.tokens.count, sent)) <= counted.max_tokens


async def test_vectors_of_what_the_caller_may_not_read_are_booked_on_no_key(
    services: Services, model: Describing, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hosted embedder would be paid for by the key, and the sum tell of documents that its job found waiting."""
    key, _ = await create_key(services, "lunch", ["read", "ask", "write"])
    who = Caller("key:lunch", "lunch", frozenset(["read", "ask", "write"]), groups=frozenset(["lunch"]), key_id=key.id)
    keyed = replace(services, principal=replace(services.principal, caller=who))
    hidden = GUIDE.replace("Lantern", "Hidden").replace("Part", "Slip")
    booked: list[tuple[bool, str]] = []
    embedder = services.search_deps.embedder
    embed = embedder.embed

    async def noting(texts: Any) -> Any:
        meter: Any = _meter.get()
        booked.extend((meter is not None and meter._account is not None, text) for text in texts)
        return await embed(texts)

    await index_now(services, "test", [Source("hidden.md", "hidden.md", hidden.encode(), access=("group:hr",))])
    for job in await job_service.list_jobs(services):
        async with services.database.transaction(services.principal) as connection:
            await connection.execute("DELETE FROM rag.jobs WHERE id = $1", job.id)
    await index_now(keyed, "test", [Source("own.md", "own.md", GUIDE.encode())])
    monkeypatch.setattr(embedder, "embed", noting)
    await services.worker().run_until_idle()
    assert {(on_key, "Slip" in text) for on_key, text in booked} == {(False, True), (True, False)}
