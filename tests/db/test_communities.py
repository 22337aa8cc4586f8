"""Communities follow the documents of a collection: found, kept, summed up in their words, and gone with them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from cairn.domain.document import PreparedDocument
from cairn.domain.graph import entity_id
from cairn.domain.graph_view import CommunitySummary
from cairn.graph.overview import find_communities_about
from cairn.graph.refresh import KIND, WrittenSummaries, follow, refresh, write_summaries
from cairn.providers.protocols import Completion, Message, Usage
from cairn.service.documents import get_collection, list_documents
from cairn.service.editing import change_document
from cairn.service.jobs import get_job
from cairn.settings import CommunitySettings, GraphSettings, JobsSettings, Settings, SettingsStore
from cairn.store import communities as store
from cairn.store import graph
from cairn.store.jobs import enqueue
from cairn.wiring import Services
from tests.db.graphs import key, plain, publish, remove, with_graph
from tests.db.test_access_lists import as_caller
from tests.sharing import ALONE, SHARED

pytestmark = SHARED

CIRCLES = {
    "stones": ("Granite Hill", "Basalt Bay", "Marble Arch", "Slate Ridge"),
    "ships": ("Aurora", "Bellerophon", "Calypso", "Dauntless"),
    "queens": ("Matilda", "Eleanor", "Isabella", "Philippa"),
}
SETTINGS = CommunitySettings(max_size=10)


def document(circle: str, number: int = 0, said: str = "", **also: str) -> PreparedDocument:
    """A passage that names all of a circle, each pair of them related. `said`: words that name nothing."""
    names = CIRCLES[circle]
    text = f"{', '.join(names[:-1])} and {names[-1]} belong together{said}, says note {number} about {circle}."
    made = plain(f"{circle}{number}", text)
    assert len(made.passages) == 1
    more = [("Marble Arch", "co_occurs", also["with_"])] if also else []
    mentioned = [*names, *also.values()]
    return with_graph(made, [mentioned], [[(a, "co_occurs", b) for a, b in combinations(names, 2)] + more])


async def filled(services: Services, name: str = "c") -> UUID:
    for circle in CIRCLES:
        for number in range(2):
            await publish(services, name, document(circle, number))
    return (await get_collection(services, name)).id


async def refreshed(services: Services, collection_id: UUID, settings: CommunitySettings = SETTINGS) -> Any:
    return await refresh(services.database, services.principal, collection_id, settings)


async def summaries(services: Services, collection_id: UUID, **asked: Any) -> list[CommunitySummary]:
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await find_communities_about(connection, services.principal, [collection_id], **asked)


async def stored(services: Services, collection_id: UUID) -> dict[UUID, frozenset[str]]:
    """Names of members by community."""
    async with services.database.transaction(services.principal, readonly=True) as connection:
        rows = await connection.fetch(
            "SELECT m.community_id, array_agg(e.name) AS names FROM rag.community_members m JOIN rag.entities e "
            "ON e.id = m.entity_id WHERE m.collection_id = $1 GROUP BY 1", collection_id,
        )  # fmt: skip
    return {row["community_id"]: frozenset(row["names"]) for row in rows}


def holding(found: dict[UUID, frozenset[str]], name: str) -> UUID:
    [one] = [key for key, names in found.items() if name in names]
    return one


async def test_planted_clusters_are_found_with_sentences_of_their_passages(services: Services) -> None:
    collection_id = await filled(services)
    result = await refreshed(services, collection_id)
    assert (result.communities, result.written, result.removed) == (3, 3, 0)
    assert set((await stored(services, collection_id)).values()) == {frozenset(names) for names in CIRCLES.values()}
    found = await summaries(services, collection_id)
    assert len(found) == 3
    async with services.database.transaction(services.principal, readonly=True) as connection:
        for one in found:
            assert one.size == 4
            assert one.sentences
            assert one.title.split(", ")[0] in {name for names in CIRCLES.values() for name in names}
            for sentence in one.sentences:
                text = await connection.fetchval(
                    "SELECT text FROM rag.document_texts WHERE document_id = $1", sentence.document_id
                )
                assert sentence.text == text[sentence.start : sentence.end]
                assert "belong together" in sentence.text
    smaller = await refreshed(services, collection_id, CommunitySettings(max_size=10, min_size=5))
    assert (smaller.communities, smaller.removed) == (0, 3), "four entities are no community now"


async def test_only_what_changed_is_written_and_ids_stay(services: Services) -> None:
    collection_id = await filled(services)
    await refreshed(services, collection_id)
    before = await stored(services, collection_id)
    again = await refreshed(services, collection_id)
    assert (again.written, again.removed) == (0, 0)
    await publish(services, "c", document("stones", 2, with_="Pumice Point"))
    later = await refreshed(services, collection_id)
    assert later.written == 1
    after = await stored(services, collection_id)
    assert after.keys() == before.keys()
    assert {key for key in after if after[key] != before[key]} <= {holding(before, "Marble Arch")}


async def test_a_deleted_document_leaves_no_text_and_the_rest_is_summed_up_anew(services: Services) -> None:
    """Design section 3: the sentence goes in the transaction of the document; every table is looked through."""
    collection_id = await filled(services)
    secret = await publish(services, "c", document("ships", 77))
    await refreshed(services, collection_id, CommunitySettings(max_size=10, sentences=50))
    quoting = [s for one in await summaries(services, collection_id) for s in one.sentences]
    assert any("note 77" in sentence.text for sentence in quoting)
    [ships] = await summaries(services, collection_id, text="Calypso")
    async with services.database.transaction(services.principal) as connection:
        await store.write_summary(connection, services.principal, ships, "Ships of note 77", "As note 77 says [1].")
    [ships] = await summaries(services, collection_id, text="Calypso")
    assert (ships.title, ships.written) == ("Ships of note 77", "As note 77 says [1].")
    await remove(services, "c", secret.document_id)
    assert await everywhere(services.owner_dsn, "note 77") == []
    [ships] = await summaries(services, collection_id, text="Calypso")
    assert ships.written == ""
    assert (await refreshed(services, collection_id)).written >= 1
    [ships] = await summaries(services, collection_id, text="Calypso")
    assert len(ships.sentences) == 2


async def everywhere(database: str, text: str) -> list[str]:
    """Tables with a row that holds the text."""
    connection = await asyncpg.connect(database)
    try:
        tables = await connection.fetch(
            "SELECT c.oid::regclass::text AS name FROM pg_class c WHERE c.relnamespace = 'rag'::regnamespace "
            "AND c.relkind IN ('r', 'p')"
        )
        return [
            row["name"] for row in tables
            if await connection.fetchval(f"SELECT EXISTS (SELECT FROM {row['name']} t WHERE t::text LIKE $1)", f"%{text}%")
        ]  # fmt: skip
    finally:
        await connection.close()


async def test_what_a_model_wrote_is_not_kept_once_a_source_is_gone(services: Services) -> None:
    """Between reading and writing a document may go: then nothing is written."""
    collection_id = await filled(services)
    await refreshed(services, collection_id)
    [read] = await summaries(services, collection_id, text="Matilda")
    await remove(services, "c", read.sentences[0].document_id)
    async with services.database.transaction(services.principal) as connection:
        await store.write_summary(connection, services.principal, read, "Queens", "They reigned.")
    [now] = await summaries(services, collection_id, text="Matilda")
    assert now.written == ""


class Repeating:
    """A chat model that repeats what it is shown. `meanwhile`: what somebody else does while it first does so."""

    name = "repeating"

    def __init__(self, meanwhile: Callable[[], Awaitable[None]] | None = None) -> None:
        self.shown: list[str] = []
        self.meanwhile = meanwhile

    async def complete(self, messages: Sequence[Message], **_: Any) -> Completion:
        self.shown.append(messages[-1].content)
        if self.meanwhile and len(self.shown) == 1:
            await self.meanwhile()
        return Completion("A circle\n" + self.shown[-1], "stop", Usage(0, 0), self.name)


async def summed_up(services: Services, collection_id: UUID, chat: Repeating) -> WrittenSummaries:
    asked: Any = chat
    return await write_summaries(
        services.database, services.principal, collection_id, asked, CommunitySettings(written=5), 10
    )


async def restrict(services: Services, *names: str) -> list[UUID]:
    found = {one.external_id: one.id for one in await list_documents(services, "c")}
    for name in names:
        await change_document(services, "c", found[name], access=["group:hr"])
    return [found[name] for name in names]


async def test_what_was_taken_out_leaves_the_summary_where_names_and_relations_stay(services: Services) -> None:
    """The graph is then the same in sum, and nothing of it is written."""
    collection_id = await filled(services)
    await publish(services, "c", document("queens", 1, said=", and Philippa is banished"))
    await refreshed(services, collection_id)
    assert (await summed_up(services, collection_id, Repeating())).count == 3
    assert "banished" in "".join(one.written for one in await summaries(services, collection_id))
    await publish(services, "c", document("queens", 1))
    assert await everywhere(services.owner_dsn, "banished") == []
    assert len([one for one in await summaries(services, collection_id) if one.written]) == 2, "others keep theirs"


async def test_what_is_restricted_while_a_model_writes_is_not_kept(services: Services) -> None:
    """Nor shown to it from then on, nor to anybody when the document is gone, and with it what says that it was restricted."""
    collection_id = await filled(services)
    await refreshed(services, collection_id)
    names = [f"{circle}0" for circle in CIRCLES]

    async def meanwhile() -> None:
        await restrict(services, *names)

    chat = Repeating(meanwhile)
    made = await summed_up(services, collection_id, chat)
    assert ["note 0" in shown for shown in chat.shown] == [True, False, False]
    assert all("note 1" in shown for shown in chat.shown)
    assert made.count == 2
    assert "note 0" not in "".join(one.written for one in await summaries(services, collection_id))
    for document_id in await restrict(services, *names):
        await remove(services, "c", document_id)
    left = [one.written for one in await summaries(as_caller(services), collection_id) if one.written]
    assert len(left) == 2
    assert "note 0" not in "".join(left)


async def test_a_model_is_shown_nothing_of_which_all_was_restricted(services: Services) -> None:
    collection_id = await filled(services)
    await refreshed(services, collection_id)

    async def meanwhile() -> None:
        await restrict(services, *(f"{circle}{number}" for circle in CIRCLES for number in range(2)))

    chat = Repeating(meanwhile)
    assert (await summed_up(services, collection_id, chat)).count == 0
    assert len(chat.shown) == 1


async def test_what_is_restricted_during_a_refresh_is_in_no_summary(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was read while it was everybody's; a model that reads everything would be shown it."""
    collection_id = await filled(services)
    hold = store.hold

    async def late(*given: Any) -> bool:
        await restrict(services, "queens0")
        return await hold(*given)

    monkeypatch.setattr("cairn.graph.refresh.communities.hold", late)
    await refreshed(services, collection_id)
    said = [sentence.text for one in await summaries(services, collection_id) for sentence in one.sentences]
    assert len(said) == 5
    assert not [text for text in said if "note 0 about queens" in text]


async def test_sentences_of_a_restricted_document_that_are_stored_all_the_same_reach_no_model(
    services: Services,
) -> None:
    """As a release before this one left them."""
    collection_id = await filled(services)
    await refreshed(services, collection_id)
    owner = await asyncpg.connect(services.owner_dsn)
    try:
        await owner.execute(
            "UPDATE rag.documents SET access = '{group:hr}' WHERE collection_id = $1 AND external_id = 'queens0'",
            collection_id,
        )
    finally:
        await owner.close()
    chat = Repeating()
    assert (await summed_up(services, collection_id, chat)).count == 3
    assert "note 1 about queens" in "".join(chat.shown)
    assert "note 0 about queens" not in "".join(chat.shown)


async def test_the_last_document_takes_the_communities_along(services: Services) -> None:
    indexed = await publish(services, "c", document("queens"))
    collection_id = (await get_collection(services, "c")).id
    await refreshed(services, collection_id)
    await remove(services, "c", indexed.document_id)
    assert await summaries(services, collection_id) == []
    result = await refreshed(services, collection_id)
    assert (result.communities, result.removed) == (0, 1)
    await publish(services, "c", document("queens"))
    await refreshed(services, collection_id)
    assert set((await stored(services, collection_id)).values()) == {frozenset(CIRCLES["queens"])}


async def test_refreshes_and_writers_at_once_end_as_a_fresh_build(services: Services) -> None:
    collection_id = await filled(services)

    async def write() -> None:
        for number in range(2, 8):
            for circle in CIRCLES:
                indexed = await publish(services, "c", document(circle, number))
                if number % 2:
                    await remove(services, "c", indexed.document_id)

    async def follow() -> None:
        for _ in range(6):
            await refreshed(services, collection_id)

    await asyncio.gather(write(), follow(), follow())
    await refreshed(services, collection_id)
    assert (await refreshed(services, collection_id)).written == 0
    assert sorted(map(sorted, (await stored(services, collection_id)).values())) == sorted(
        map(sorted, CIRCLES.values())
    )


async def test_an_overtaken_refresh_writes_nothing(services: Services) -> None:
    collection_id = await filled(services)
    principal = services.principal
    async with services.database.transaction(principal) as connection:
        older = await store.begin(connection, principal, collection_id)
        newer = await store.begin(connection, principal, collection_id)
        assert older is not None
        assert newer == older + 1
        assert not await store.hold(connection, principal, collection_id, older)
        assert await store.hold(connection, principal, collection_id, newer)


async def test_tenants_have_their_own(services: Services, other_tenant: Services) -> None:
    collection_id = await filled(services)
    await refreshed(services, collection_id)
    assert await summaries(other_tenant, collection_id) == []
    result = await refreshed(other_tenant, collection_id)
    assert (result.communities, result.written, result.removed) == (0, 0, 0)
    assert len(await stored(services, collection_id)) == 3
    assert await stored(other_tenant, collection_id) == {}


async def test_merged_entities_are_one(services: Services) -> None:
    collection_id = await filled(services)
    ends = [entity_id(collection_id, key(name)) for name in ("Aurora", "Bellerophon")]
    async with services.database.transaction(services.principal) as connection:
        assert await graph.merge(connection, collection_id, *ends, "test")
    await refreshed(services, collection_id)
    assert frozenset({"Bellerophon", "Calypso", "Dauntless"}) in (await stored(services, collection_id)).values()


@pytest.mark.parametrize("asked", ["What do we know about Calypso?", "the bellerophon and the dauntless"])
async def test_the_community_that_a_question_names_comes_first(services: Services, asked: str) -> None:
    collection_id = await filled(services)
    await refreshed(services, collection_id)
    first = (await summaries(services, collection_id, text=asked))[0]
    assert "ships" in first.sentences[0].text


# --- the job ----------------------------------------------------------------------------------------------------------


def hurried(services: Services, **more: Any) -> Services:
    chosen = GraphSettings(communities=CommunitySettings(delay_seconds=0, max_size=10, **more))
    return replace(services, settings=SettingsStore(initial=Settings(graph=chosen, jobs=JobsSettings(retry_seconds=0))))


async def test_a_large_collection_is_followed_by_one_job_when_enough_changed(services: Services) -> None:
    quick = hurried(services, changed_share=0.5, inline_passages=3)
    collection_id = await filled(quick)
    for _ in range(2):
        assert await follow(quick.database, quick.principal, collection_id, quick.settings.current) == "ordered"
    assert await quick.worker().run_until_idle() == 1
    assert len(await stored(quick, collection_id)) == 3
    await publish(quick, "c", document("ships", 9))
    assert await follow(quick.database, quick.principal, collection_id, quick.settings.current) == "current"


async def test_a_small_collection_is_followed_at_once(services: Services) -> None:
    quick = hurried(services)
    collection_id = await filled(quick)
    assert await follow(quick.database, quick.principal, collection_id, quick.settings.current) == "refreshed"
    assert len(await stored(quick, collection_id)) == 3
    assert await quick.worker().run_until_idle() == 0


FAILS_ONCE = """
CREATE SEQUENCE writes; GRANT USAGE ON SEQUENCE writes TO PUBLIC;
CREATE FUNCTION public.fail_second() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN IF nextval('public.writes') = 2 THEN RAISE 'no space left on device'; END IF; RETURN NULL; END $$;
CREATE TRIGGER fail_second BEFORE INSERT ON rag.communities FOR EACH STATEMENT EXECUTE FUNCTION public.fail_second();
"""


@ALONE
async def test_a_job_that_failed_midway_is_completed_by_the_next_attempt(
    services: Services, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = hurried(services)
    collection_id = await filled(quick)
    monkeypatch.setattr("cairn.graph.refresh.BATCH", 1)
    owner = await asyncpg.connect(database)
    try:
        await owner.execute(FAILS_ONCE)
    finally:
        await owner.close()
    async with quick.database.transaction(quick.principal) as connection:
        job = await enqueue(connection, quick.principal, KIND, {"collection_id": str(collection_id)}, max_attempts=3)
    await quick.worker().run_until_idle()
    done = await get_job(quick, job.id)
    assert (done.status, done.attempts) == ("succeeded", 2)
    assert done.result is not None
    assert done.result["written"] == 2, "the first was written by the first attempt"
    assert set((await stored(quick, collection_id)).values()) == {frozenset(names) for names in CIRCLES.values()}


async def test_a_job_for_a_collection_that_is_gone_ends(services: Services) -> None:
    quick = hurried(services)
    async with quick.database.transaction(quick.principal) as connection:
        job = await enqueue(connection, quick.principal, KIND, {"collection_id": str(UUID(int=5))}, max_attempts=3)
    await quick.worker().run_until_idle()
    assert (await get_job(quick, job.id)).status == "succeeded"
