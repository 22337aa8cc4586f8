"""Conversations keep their order and their sources, and really go when they are deleted."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from uuid import UUID

import asyncpg
import pytest

from cairn.domain.answer import Answer
from cairn.domain.document import Source
from cairn.domain.event import Answered, Failed, Progress
from cairn.domain.ids import new_id
from cairn.domain.question import Question
from cairn.errors import InputError, NotFoundError, ProviderError
from cairn.runs.recall import recall, widest, window
from cairn.runs.save import save_end, save_exchange
from cairn.runs.task import held
from cairn.service.ask import start
from cairn.service.conversations import (
    delete_history,
    get_conversation,
    get_history,
    list_conversations,
    rename_conversation,
)
from cairn.service.documents import delete_collection, delete_document, index_now, list_documents
from cairn.service.search import get_trace
from cairn.settings import MemorySettings
from cairn.store import memory, traces
from cairn.store.memory import NewMessage
from cairn.wiring import Services
from tests.db.runs import read
from tests.documents import text_source
from tests.sharing import ALONE, SHARED

pytestmark = SHARED

LEAVE = "Employees of Quarzwerk have thirty days of annual leave. Unused days expire in March of the next year."

TEXT_COLUMNS = """
SELECT format('SELECT count(*) FROM %s WHERE %I::text ILIKE %L AND %s', c.oid::regclass, a.attname, '%%' || $1::text || '%%',
         CASE WHEN t.attname IS NULL THEN 'true' ELSE format('tenant_id = %s', $2::bigint) END),
       c.oid::regclass || '.' || a.attname
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_attribute AS t ON t.attrelid = c.oid AND t.attname = 'tenant_id'
WHERE c.relnamespace = 'rag'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND a.atttypid IN ('text'::regtype, 'jsonb'::regtype, 'text[]'::regtype, 'tsvector'::regtype)
"""


async def places_of(services: Services, word: str) -> set[str]:
    """Columns of schema rag in which the word stands in a row of the tenant, or in one of none."""
    owner = await asyncpg.connect(services.owner_dsn)
    columns = await owner.fetch(TEXT_COLUMNS, word, services.principal.tenant_id)
    assert len(columns) > 60
    found = {name for statement, name in columns if await owner.fetchval(statement)}
    await owner.close()
    return found


async def index(services: Services, text: str = LEAVE, collection: str = "handbook") -> None:
    await index_now(services, collection, [text_source("leave.md", text)])


async def talk(services: Services, text: str, session: str | None = "s1", collection: str = "handbook") -> Answered:
    question = Question(text=text, collection=collection, run_id=new_id(), session_id=session)
    events = await read(services, question)
    assert isinstance(events[-1], Answered), events[-1]
    await services.traces.flush()
    return events[-1]


async def only_document(services: Services, collection: str = "handbook") -> UUID:
    (document,) = await list_documents(services, collection)
    return document.id


# --- saving and recalling ---------------------------------------------------------------------------------------------


async def test_an_exchange_is_saved_with_its_sources(services: Services) -> None:
    await index(services)
    answered = await talk(services, "How many days of annual leave are there?")
    user, assistant = await get_history(services, "s1")
    assert (user.turn.role, user.turn.content) == ("user", "How many days of annual leave are there?")
    assert (assistant.turn.role, assistant.turn.content) == ("assistant", answered.answer.answer)
    assert assistant.turn.id == answered.message_id
    assert user.turn.run_id == assistant.turn.run_id == answered.answer.run_id
    source, citation = assistant.turn.sources[0], answered.answer.citations[0]
    assert (source.n, source.document_id, source.start, source.end) == (
        1,
        citation.document_id,
        citation.start,
        citation.end,
    )
    assert source.preview.startswith(citation.quote)
    assert len(source.preview) <= 200
    assert (source.filename, source.cited, source.deleted) == ("leave.md", True, False)
    assert (await get_trace(services, answered.answer.run_id)).session_id == "s1"


async def test_recall_gives_the_last_messages_oldest_first(services: Services) -> None:
    """Router 3, rewrite 5, generation 5, context handlers 4."""
    await index(services)
    said = [f"What are rule {n} of annual leave?" for n in range(4)]
    for text in said:
        await talk(services, text)
    settings = MemorySettings()
    assert (settings.router, settings.rewrite, settings.generation, settings.context) == (3, 5, 5, 4)
    assert widest(settings) == settings.chain == 20
    turns = await recall(services.database, services.principal, "s1", 5)
    assert [turn.role for turn in turns] == ["assistant", "user", "assistant", "user", "assistant"]
    assert [turn.content for turn in turns if turn.role == "user"] == said[2:]
    assert [turn.at for turn in turns] == sorted(turn.at for turn in turns)
    assert window(turns, settings.router) == turns[2:]
    assert window(turns, 0) == ()
    assert len(await recall(services.database, services.principal, "s1", 100)) == 8
    assert await recall(services.database, services.principal, "s1", 0) == ()
    assert await recall(services.database, services.principal, "unknown", 5) == ()


async def test_concurrent_exchanges_of_one_session_keep_together(services: Services) -> None:
    await index(services)
    model = (await talk(services, "How many days of leave?", session=None)).answer
    answers = [replace(model, run_id=new_id()) for _ in range(12)]

    async def save(answer: Answer) -> UUID:
        return await save_exchange(
            services.database, services.principal, session_id="busy", collection=None, question="?", answer=answer
        )

    ids = await asyncio.gather(*map(save, answers))
    placed = await get_history(services, "busy", limit=100)
    assert [message.position for message in placed] == list(range(1, 25))
    assert [message.turn.role for message in placed] == ["user", "assistant"] * 12
    for user, assistant in zip(placed[::2], placed[1::2], strict=True):
        assert user.turn.run_id == assistant.turn.run_id
    assert {message.turn.id for message in placed[1::2]} == set(ids)
    assert {message.turn.run_id for message in placed} == {answer.run_id for answer in answers}


async def test_a_session_of_another_tenant_is_another_session(services: Services, other_tenant: Services) -> None:
    await index(services)
    await index(other_tenant)
    await talk(services, "How much leave is there?")
    assert await get_history(other_tenant, "s1") == []
    await talk(other_tenant, "When do days expire?")
    assert not await delete_history(other_tenant, "nobody")
    assert await delete_history(other_tenant, "s1")
    assert len(await get_history(services, "s1")) == 2


async def test_conversations_are_listed_searched_and_renamed(services: Services, other_tenant: Services) -> None:
    await index(services)
    for session, text in [
        ("s1", "How much leave is there?"),
        ("s2", "When do unused\n days expire?"),
        ("s3", "x" * 300),
    ]:
        await talk(services, text, session)
    first, second, third = found = await list_conversations(services)
    assert [one.session_id for one in found] == ["s3", "s2", "s1"]
    assert [one.title for one in found] == ["x" * 80, "When do unused days expire?", "How much leave is there?"]
    assert {(one.collection, one.message_count) for one in found} == {("handbook", 2)}
    before = (first.last_used_at, first.session_id)
    assert await list_conversations(services, before=before, limit=1) == [second]

    renamed = await rename_conversation(services, "s1", " Holidays \n of 100% ")
    assert renamed == replace(third, title="Holidays of 100%")
    assert [one.session_id for one in await list_conversations(services, text="HOLIDAYS OF 100%")] == ["s1"]
    assert [one.session_id for one in await list_conversations(services, text="expire?")] == ["s2"]
    assert await list_conversations(services, text="_") == []
    await talk(services, "And in March?", "s1")
    assert [one.session_id for one in await list_conversations(services)] == ["s1", "s3", "s2"]
    assert (await rename_conversation(services, "s1", "  ")).title == "How much leave is there?"

    assert await list_conversations(other_tenant) == []
    for missing in [get_conversation(other_tenant, "s1"), rename_conversation(other_tenant, "s1", "mine")]:
        with pytest.raises(NotFoundError):
            await missing
    with pytest.raises(InputError, match="the title has 201 characters"):
        await rename_conversation(services, "s1", "x" * 201)
    await delete_history(services, "s1")
    assert [one.session_id for one in await list_conversations(services)] == ["s3", "s2"]


async def test_a_question_without_a_session_is_not_remembered(services: Services) -> None:
    await index(services)
    assert (await talk(services, "How much leave is there?", session=None)).message_id is None
    async with services.database.transaction(services.principal) as connection:
        assert await connection.fetchval("SELECT count(*) FROM rag.messages") == 0


async def test_what_a_reader_was_told_besides_and_the_steps_stay_until_a_source_goes(services: Services) -> None:
    """Without the words of a step that may have those of a document."""
    await index(services)
    answer = (await talk(services, "How many days of annual leave are there?", session=None)).answer
    steps = [
        Progress("retrieve", 40, "Searching for 'quarzwerk'", documents=(new_id(),), numbers={"queries": 1}),
        Progress("generate", 85, "Reading 5 passages"),
    ]
    await save_exchange(
        services.database, services.principal, session_id="s1", collection="handbook", question="?",
        answer=replace(answer, insufficiencies=("Nothing on pay.",), degraded=("The model is slow.",)), steps=steps,
    )  # fmt: skip
    notes = (await get_history(services, "s1"))[1].notes
    assert notes["remarks"] == ["Nothing on pay.", "The model is slow."]
    assert notes["steps"] == [
        {"step": "retrieve", "percent": 40, "message": "", "numbers": {"queries": 1}},
        {"step": "generate", "percent": 85, "message": "Reading 5 passages"},
    ]
    await talk(services, "How many days of annual leave are there?", session="s2")
    assert [one["step"] for one in (await get_history(services, "s2"))[1].notes["steps"]][-1] == "complete"
    await delete_document(services, "handbook", await only_document(services))
    assert not {"remarks", "details", "steps"} & (await get_history(services, "s1"))[1].notes.keys()


# --- runs without an answer -------------------------------------------------------------------------------------------


def asked(session: str = "s1") -> Question:
    return Question("How much leave?", "handbook", new_id(), session_id=session)


async def test_the_question_of_a_failed_run_is_kept_with_the_error(services: Services) -> None:
    question, end = asked(), Failed(ProviderError("the model fell over"))
    assert await save_end(services.database, services.principal, question, end) == end
    (message,) = await get_history(services, "s1")
    assert (message.turn.role, message.turn.content, message.turn.run_id) == ("user", question.text, question.run_id)
    assert message.notes == {
        "outcome": "error", "error": {"code": "provider-failed", "detail": "the model fell over"}
    }  # fmt: skip


async def test_the_question_of_a_run_that_its_reader_left_is_kept(services: Services) -> None:
    await index(services)
    question = asked()
    async with held(await start(services, question)) as task:
        async for _ in task.events():
            break
    (message,) = await get_history(services, "s1")
    assert (message.turn.content, message.notes) == (question.text, {"outcome": "cancelled"})
    assert (await get_trace(services, question.run_id)).outcome == "cancelled"


@ALONE
async def test_an_answer_that_cannot_be_saved_is_still_an_answer(services: Services) -> None:
    await index(services)
    good = (await talk(services, "How much leave?", session=None)).answer

    await services.database.close()
    event = await save_end(services.database, services.principal, asked(), Answered(good))
    assert isinstance(event, Answered)
    assert event.answer.answer == good.answer
    assert event.message_id is None
    assert any("could not be saved" in note for note in event.answer.degraded)


# --- deleting ---------------------------------------------------------------------------------------------------------


async def test_a_deleted_conversation_leaves_no_word_behind(services: Services) -> None:
    """Searched in every text column of every table; the documents do not have the word."""
    await index(services)
    answered = await talk(services, "How many days of annual leave does Zyxxwort have?")
    await talk(services, "What about zyxxwort and unused days in March?", session="kept")
    found = await places_of(services, "zyxxwort")
    assert {"rag.messages.content", "rag.runs.question", "rag.retrieval_cache.query"} <= found
    await delete_history(services, "kept")
    assert await delete_history(services, "s1")
    assert await places_of(services, "zyxxwort") == set()
    assert await get_history(services, "s1") == []
    trace = await get_trace(services, answered.answer.run_id)
    assert (trace.question, trace.outcome, trace.strategy) == ("", "ok", "fast")
    assert "text" not in trace.answer
    assert trace.timings_ms
    assert not await delete_history(services, "s1")


async def test_a_deleted_conversation_takes_no_other_with_it(services: Services) -> None:
    await index(services)
    await talk(services, "How many days of annual leave?")
    other = await talk(services, "When do unused days expire?", session="s2")
    await delete_history(services, "s1")
    assert len(await get_history(services, "s2")) == 2
    assert (await get_trace(services, other.answer.run_id)).question == "When do unused days expire?"


async def test_a_trace_that_is_written_after_the_deletion_has_no_text(services: Services) -> None:
    """Another process may still hold it when the conversation goes."""
    await index(services)
    run = (await talk(services, "How many days of annual leave?")).answer.run_id
    late = replace(await get_trace(services, run), id=new_id())
    await delete_history(services, "s1")
    async with services.database.transaction(services.principal) as connection:
        await traces.insert(connection, [late])
    assert (await get_trace(services, late.id)).question == ""
    assert (await get_trace(services, late.id)).legs


async def test_a_deleted_document_is_blanked_in_messages(services: Services) -> None:
    await index(services)
    await talk(services, "How many days of annual leave are there?")
    before = (await get_history(services, "s1"))[1].turn
    assert "rag.messages.content" in await places_of(services, "quarzwerk")
    await delete_document(services, "handbook", await only_document(services))
    assert await places_of(services, "quarzwerk") == set()
    user, assistant = await get_history(services, "s1")
    assert user.turn.content == "How many days of annual leave are there?"
    assert assistant.turn.content == ""
    assert "source_deleted_at" in assistant.notes
    assert assistant.turn.sources[0] == replace(before.sources[0], preview="", title="", filename="", deleted=True)
    recalled = await recall(services.database, services.principal, "s1", 5)
    assert [turn.role for turn in recalled] == ["user"]


async def test_an_answer_keeps_its_text_when_a_source_goes_that_it_does_not_cite(services: Services) -> None:
    await index(services)
    await index_now(services, "handbook", [text_source("moss.md", "Moss grows on the north side of stones.")])
    await talk(services, "How many days of annual leave are there?")
    before = (await get_history(services, "s1"))[1].turn
    (moss,) = [source for source in before.sources if source.filename == "moss.md"]
    assert not moss.cited
    await delete_document(services, "handbook", moss.document_id)
    after = (await get_history(services, "s1"))[1].turn
    assert after.content == before.content
    assert [source.deleted for source in after.sources] == [False, True]
    assert [source.preview for source in after.sources] == [before.sources[0].preview, ""]


async def test_words_that_a_follow_up_took_from_an_answer_go_with_the_document(services: Services) -> None:
    """Also where its own answer does not cite it."""
    await index(services)
    run = (await talk(services, "How many days of annual leave are there?")).answer.run_id
    plan = {
        "rewritten_by": "rules", "rewritten_query": "Where is Quarzwerk?", "carried": ["Quarzwerk"], "intent": "question",
        "searches": [{"query": "Where is Quarzwerk?"}], "complexity": {"level": "SIMPLE", "reasoning": "Quarzwerk"},
    }  # fmt: skip
    follow_up = replace(await get_trace(services, run), id=new_id(), plan=plan, answer={}, document_ids=())
    async with services.database.transaction(services.principal) as connection:
        await traces.insert(connection, [follow_up])
    await delete_document(services, "handbook", await only_document(services))
    assert await places_of(services, "quarzwerk") == set()
    kept = (await get_trace(services, follow_up.id)).plan
    assert kept == {"rewritten_by": "rules", "intent": "question", "complexity": {"level": "SIMPLE"}}


async def test_a_deleted_collection_is_blanked_in_messages(services: Services) -> None:
    await index(services)
    await talk(services, "How many days of annual leave are there?")
    await delete_collection(services, "handbook")
    assert await places_of(services, "quarzwerk") == set()


async def test_an_answer_saved_after_its_document_went_is_blanked(services: Services) -> None:
    await index(services)
    answer = (await talk(services, "How many days of annual leave are there?", session=None)).answer
    await delete_document(services, "handbook", await only_document(services))
    await save_exchange(
        services.database, services.principal, session_id="s1", collection="handbook", question="?", answer=answer
    )
    assert await places_of(services, "quarzwerk") == set()


async def test_a_deletion_waits_for_an_answer_that_is_being_saved(services: Services) -> None:
    """Else it would miss a message that nobody can see yet."""
    await index(services)
    answered = await talk(services, "How many days of annual leave are there?")
    said = (await get_history(services, "s1"))[1].turn
    message = NewMessage("assistant", said.content, answered.answer.run_id, said.sources)
    async with services.database.transaction(services.principal) as connection:
        await memory.add(connection, services.principal, "s2", None, [message])
        deleting = asyncio.create_task(delete_document(services, "handbook", said.sources[0].document_id))
        done, _ = await asyncio.wait([deleting], timeout=0.5)
        assert not done
    await deleting
    assert await places_of(services, "quarzwerk") == set()


@pytest.mark.siege
async def test_saving_and_deleting_of_all_kinds_at_once(services: Services) -> None:
    """No deadlock, no gap in a conversation, and no word left when the documents are gone."""
    sources = [text_source(f"d{n}", f"{LEAVE} This is number {n}.") for n in range(6)]
    await index_now(services, "handbook", sources)
    answer = (await talk(services, "How many days of annual leave are there?", session=None)).answer

    async def save() -> None:
        for n in range(24):
            await save_exchange(
                services.database, services.principal, session_id=f"s{n % 2}", collection=None, question="?",
                answer=replace(answer, run_id=new_id()),
            )  # fmt: skip

    async def converse() -> None:
        for n in range(6):
            await talk(services, f"How many days of leave {n % 4}?", session=f"s{n % 2}")

    async def replace_documents(own: list[Source]) -> None:
        for source in own:
            found = {document.external_id: document.id for document in await list_documents(services, "handbook")}
            await delete_document(services, "handbook", found[source.external_id])
            await index_now(services, "handbook", [source])

    async def forget() -> None:
        for n in range(6):
            await delete_history(services, f"s{n % 2}")
            await asyncio.sleep(0.05)

    await asyncio.gather(
        save(), save(), converse(), forget(), replace_documents(sources[:3]), replace_documents(sources[3:])
    )
    assert services.traces.dropped == 0
    for session in ("s0", "s1"):
        placed = await get_history(services, session, limit=1000)
        assert [message.position for message in placed] == list(range(1, len(placed) + 1))
    await delete_collection(services, "handbook")
    assert await places_of(services, "quarzwerk") == set()


async def test_a_collection_being_deleted_waits_for_an_answer_too(services: Services) -> None:
    await index(services)
    answered = await talk(services, "How many days of annual leave are there?")
    said = (await get_history(services, "s1"))[1].turn
    async with services.database.transaction(services.principal) as connection:
        message = NewMessage("assistant", said.content, answered.answer.run_id, said.sources)
        await memory.add(connection, services.principal, "s2", None, [message])
        deleting = asyncio.create_task(delete_collection(services, "handbook"))
        done, _ = await asyncio.wait([deleting], timeout=0.5)
        assert not done
    await deleting
    assert await places_of(services, "quarzwerk") == set()


async def test_conversations_are_views_for_analysts(services: Services) -> None:
    await index(services)
    answered = await talk(services, "How many days of annual leave are there?")
    owner, tenant = await asyncpg.connect(services.owner_dsn), services.principal.tenant
    (talked,) = await owner.fetch("SELECT * FROM analyst.conversations WHERE tenant = $1", tenant)
    assert (talked["session_id"], talked["collection"], talked["message_count"]) == ("s1", "handbook", 2)
    assert (talked["first_message"], talked["unanswered"]) == ("How many days of annual leave are there?", 0)
    rows = await owner.fetch("SELECT * FROM analyst.messages WHERE tenant = $1 ORDER BY position", tenant)
    assert [row["role"] for row in rows] == ["user", "assistant"]
    assert rows[1]["confidence"] == answered.answer.confidence
    joined = "SELECT session_id FROM analyst.retrieval_runs WHERE run_id = $1"
    assert await owner.fetchval(joined, rows[1]["run_id"]) == "s1"
    await owner.close()
