"""Who may read what: a document with an access list is there for those whom it names, and nowhere for anybody else."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
import pytest_asyncio

from cairn.domain.access import MOST_RULES, AccessRule
from cairn.domain.answer import Coverage
from cairn.domain.document import Indexed, Rejected, Source
from cairn.domain.document_list import DocumentFilter
from cairn.domain.event import Answered
from cairn.domain.ids import new_id
from cairn.domain.passage import SearchResult
from cairn.domain.principal import Caller
from cairn.domain.question import Question
from cairn.errors import ForbiddenError, InputError, NotFoundError
from cairn.runs.library import Library
from cairn.runs.log import follow
from cairn.runs.save import save_question
from cairn.service.access import list_access_rules, remove_folder_access, set_folder_access
from cairn.service.ask import start
from cairn.service.audit import list_events
from cairn.service.conversations import list_conversations
from cairn.service.documents import (
    delete_collection,
    ensure_collection,
    find_document_id,
    get_collection,
    get_document,
    index_later,
    index_now,
    list_documents,
    read_text,
)
from cairn.service.editing import change_document, delete_documents
from cairn.service.graph import list_entities
from cairn.service.jobs import get_job
from cairn.service.limits import get_usage
from cairn.service.models import start_reindex, start_reread
from cairn.service.search import explain_passage, make_request, run_search
from cairn.store import documents as store
from cairn.store import traces
from cairn.store.holdings import look_up_words
from cairn.wiring import Services
from tests.db.runs import answered, change
from tests.sharing import SHARED
from tests.waiting import hang_guard

pytestmark = SHARED

LETTERS = {
    "open.md": ("The cafeteria of Harbour House opens at eight. Marie Dubois runs it.", None),
    "pay.md": (
        "The salary of Marie Dubois rises by nine percent in spring. Zanzibar Logistics pays it.",
        ("group:hr",),
    ),
    "board.md": ("The board sells Harbour House to Zanzibar Logistics in May.", ("group:board", "person:ada")),
}


def source(name: str, text: str, access: tuple[str, ...] | None) -> Source:
    return Source(
        name,
        name,
        f"# {name}\n\n{text}\n".encode(),
        media_type="text/markdown",
        metadata={"kind": "letter"},
        access=access,
    )


def as_caller(
    services: Services, *groups: str, name: str = "bob", scopes: tuple[Any, ...] = ("read", "ask")
) -> Services:
    caller = Caller(f"token:{name}", name, frozenset(scopes), groups=frozenset(groups))
    return replace(services, principal=replace(services.principal, caller=caller))


@pytest_asyncio.fixture(loop_scope="module")
async def letters(services: Services) -> Services:
    await index_now(services, "default", [source(name, *rest) for name, rest in LETTERS.items()])
    return services


WAYS: dict[str, dict[str, Any]] = {
    "one statement": {},
    "words": {"legs": ["lexical"]},
    "vectors": {"legs": ["vector"]},
    "filter": {"filters": {"kind": "letter"}},
    "by document": {"group_by": "document"},
}


async def names_found(services: Services, query: str, **how: Any) -> set[str]:
    request = make_request(services.settings.current, query, ["default"], top_k=10, rerank=False, **how)
    result: SearchResult = await run_search(services, request)
    assert not result.legs_failed
    return {one.external_id for one in result.passages}


@pytest.mark.parametrize("way", WAYS)
async def test_a_search_finds_what_the_caller_may_read(letters: Services, way: str) -> None:
    query, how = "Harbour House Zanzibar Logistics salary", WAYS[way]
    expected = [
        (letters, set(LETTERS)),
        (as_caller(letters), {"open.md"}),
        (as_caller(letters, "hr"), {"open.md", "pay.md"}),
        (as_caller(letters, "board"), {"open.md", "board.md"}),
        (as_caller(letters, name="ada"), {"open.md", "board.md"}),
        (as_caller(letters, "hr", "board"), set(LETTERS)),
    ]
    for caller, names in [*expected, *expected]:  # again: a cache would know it
        assert await names_found(caller, query, **how) == names


async def test_operators_of_a_query_choose_among_what_the_caller_may_read(letters: Services) -> None:
    assert await names_found(letters, '"Zanzibar Logistics" money') == {"pay.md", "board.md"}
    assert await names_found(as_caller(letters, "hr"), '"Zanzibar Logistics" money') == {"pay.md"}
    assert await names_found(as_caller(letters), '"Zanzibar Logistics" money') == set()


async def test_lists_counts_and_texts_are_of_what_the_caller_may_read(letters: Services) -> None:
    hidden = await find_document_id(letters, "default", "pay.md")
    nobody, hr = as_caller(letters), as_caller(letters, "hr")
    assert [one.external_id for one in await list_documents(nobody, "default")] == ["open.md"]
    assert [one.external_id for one in await list_documents(hr, "default")] == ["open.md", "pay.md"]
    assert [(await get_collection(one, "default")).document_count for one in (letters, hr, nobody)] == [3, 2, 1]
    assert "nine percent" in ((await get_document(hr, "default", hidden))[1] or "")
    with pytest.raises(NotFoundError):
        await get_document(nobody, "default", hidden)
    with pytest.raises(NotFoundError):
        await find_document_id(nobody, "default", "pay.md")
    wanted = DocumentFilter(readable_by=["group:hr"])
    assert [one.external_id for one in await list_documents(letters, "default", wanted)] == ["open.md", "pay.md"]
    assert [one.access for one in await list_documents(hr, "default")] == [None, ["group:hr"]]
    mentions = DocumentFilter(mentions="Zanzibar Logistics")
    assert [one.external_id for one in await list_documents(hr, "default", mentions)] == ["pay.md"]


async def test_what_only_restricted_documents_say_is_in_no_graph(letters: Services) -> None:
    async with letters.database.transaction(letters.principal) as connection:
        assert await connection.fetchval("SELECT count(*) FROM rag.mentions") > 0
        assert not await connection.fetchval("SELECT count(*) FROM rag.entities WHERE name ~ 'Zanzibar'")


async def test_an_access_list_counts_from_the_next_statement_on(letters: Services) -> None:
    nobody, hr = as_caller(letters), as_caller(letters, "hr")
    document = await find_document_id(letters, "default", "open.md")

    async def entities() -> int:
        async with letters.database.transaction(letters.principal) as connection:
            return int(await connection.fetchval("SELECT count(*) FROM rag.entities"))

    known = await entities()
    assert known
    assert await names_found(nobody, "cafeteria") == {"open.md"}
    changed = await change_document(letters, "default", document, access=["group:hr"])
    assert changed.access == ["group:hr"]
    assert await names_found(nobody, "cafeteria") == set()
    assert await entities() == 0
    assert "open.md" in await names_found(hr, "cafeteria")
    await change_document(letters, "default", document, access=[])
    assert await names_found(nobody, "cafeteria") == {"open.md"}
    assert await entities() == known


async def test_whoever_may_not_read_a_document_writes_none_in_its_place(letters: Services) -> None:
    writer = as_caller(letters, scopes=("read", "write"))
    both = [source("pay.md", "Nothing.", None), source("own.md", "A hat.", None)]
    refused, written = sorted(await index_now(writer, "default", both), key=lambda one: isinstance(one, Indexed))
    assert isinstance(refused, Rejected)
    assert (refused.external_id, refused.code, "not yours to read" in refused.error) == ("pay.md", "conflict", True)
    assert (written.external_id, await names_found(writer, "hat", legs=["lexical"])) == ("own.md", {"own.md"})
    with pytest.raises(ForbiddenError):
        await index_now(writer, "default", [source("new.md", "Nothing.", ("group:hr",))])
    with pytest.raises(ForbiddenError):
        await delete_collection(writer, "default")
    hidden = await find_document_id(letters, "default", "pay.md")
    with pytest.raises(NotFoundError):
        await change_document(writer, "default", hidden, metadata={"a": 1})
    member = as_caller(letters, "hr", scopes=("read", "write"))
    with pytest.raises(ForbiddenError):
        await change_document(member, "default", hidden, access=[])
    await index_now(member, "default", [source("pay.md", "The salary falls.", None)])
    assert await names_found(as_caller(letters), "salary falls", legs=["lexical"]) == set()
    with pytest.raises(InputError, match="nobody who may read"):
        await change_document(letters, "default", hidden, access=["hr"])


async def test_an_answer_is_for_those_who_may_read_what_it_stands_on(letters: Services) -> None:
    nobody, hr = as_caller(letters), as_caller(letters, "hr", name="eve")
    told = await answered(
        hr, "By how much does the salary of Marie Dubois rise?", collection="default", session_id="s1"
    )
    assert "nine percent" in told.answer
    await letters.traces.flush()

    async def seen(caller: Services) -> list[int]:
        tables = ("messages", "sessions", "runs", "run_legs")
        async with caller.database.transaction(caller.principal, readonly=True) as connection:
            return [await connection.fetchval(f"SELECT count(*) FROM rag.{table}") for table in tables]

    assert await seen(letters) == await seen(hr) == [2, 1, 1, 3]
    assert await seen(nobody) == [0, 0, 0, 0]
    assert await list_conversations(nobody) == []
    for caller in (nobody, as_caller(letters, name="eve")):  # who left the group
        refused = await answered(caller, "By how much does the salary of Marie Dubois rise?", collection="default")
        assert not {"nine", "Zanzibar"} & set(refused.answer.split())


async def test_a_number_of_documents_is_for_those_who_may_read_all_that_are_counted(letters: Services) -> None:
    """What it cites everybody may read: the number tells how many others there are."""
    asked = "How many documents mention the cafeteria?"
    whole, some = as_caller(letters, "hr", "board", name="eve"), as_caller(letters, "hr")
    nobody = as_caller(letters, name="carl")
    for caller, session, number in ((whole, "s1", "1 of 3"), (some, "s2", "1 of 2"), (nobody, "s3", "1 of 1")):
        told = await answered(caller, asked, collection="default", session_id=session)
        assert number in told.answer
        assert [one.external_id for one in told.sources] == ["open.md"]
    await letters.traces.flush()
    for caller, sessions in ((whole, {"s1", "s2", "s3"}), (some, {"s2", "s3"}), (nobody, {"s3"})):
        assert {one.session_id for one in await list_conversations(caller)} == sessions
        async with caller.database.transaction(caller.principal, readonly=True) as connection:
            assert await connection.fetchval("SELECT count(*) FROM rag.runs") == len(sessions)
    # what was counted may be deleted, or open: how many there were stays with those who could count as many
    assert (await delete_documents(letters, "default", DocumentFilter(external_ids=["pay.md"]))).deleted == 1
    board = await find_document_id(letters, "default", "board.md")
    assert board
    await change_document(letters, "default", board, access=[])
    for caller, sessions in ((whole, {"s1", "s2", "s3"}), (some, {"s2", "s3"}), (nobody, {"s3"})):
        assert {one.session_id for one in await list_conversations(caller)} == sessions


async def test_what_is_kept_of_a_question_does_not_tell_how_much_its_asker_may_read(letters: Services) -> None:
    """Though it stands on what everybody reads."""
    change(letters, "trace", sample_rate=1.0)
    notes = [
        source(f"note-{n}.md", f"The cafeteria of Harbour House opens at eight, says note {n}.", None)
        for n in range(120)
    ]
    await index_now(letters, "default", notes)
    hr, nobody = as_caller(letters, "hr", name="eve"), as_caller(letters)
    question = Question("When does the cafeteria of Harbour House open?", "default", new_id())
    task = await start(hr, question, resumable=True)
    told = [item.event async for item in task.events()][-1]
    assert isinstance(told, Answered)
    read = told.answer.coverage.read
    assert told.answer.coverage == Coverage(False, read, 122)
    search = make_request(letters.settings.current, "cafeteria opens", ["default"], top_k=5, rerank=False)
    await run_search(hr, search)
    await letters.traces.flush()

    async def kept(caller: Services) -> list[tuple[str, Any, bool]]:
        async with caller.database.transaction(caller.principal, readonly=True) as connection:
            rows = await connection.fetch("SELECT id FROM rag.runs ORDER BY kind")
            runs = [await traces.get(connection, caller.principal, row["id"]) for row in rows]
        return [(run.kind, run.answer.get("coverage"), "vector" in run.plan) for run in runs if run]

    told = {"complete": False, "read": read, "of": 122, "unit": "passages"}
    assert await kept(hr) == await kept(letters) == [("query", told, True), ("search", None, True)]
    assert await kept(nobody) == []
    for caller in (hr, letters):
        [*_, last] = [item.event async for item in follow(caller.database, caller.principal, question.run_id, 0)]
        assert isinstance(last, Answered)
        assert last.answer.coverage == Coverage(False, read, 122)
    with pytest.raises(NotFoundError):
        _ = [item async for item in follow(nobody.database, nobody.principal, question.run_id, 0)]


async def test_what_words_there_are_is_for_those_who_may_read_them(letters: Services) -> None:
    """Quoted is what everybody reads; that a word is a slip, or a name stands somewhere, is known from restricted documents."""
    notes = [
        source(f"note-{n}.md", f"The lathe number {n} in Graz is checked every {n} months.", None) for n in range(120)
    ]
    training = source("training.md", "All employees have 3 training days per year.", None)
    names = source("names.md", "The codename of it is Larkspur. Zephyrine Quillfeather chose it.", ("group:hr",))
    await index_now(letters, "default", [*notes, training, replace(names, metadata={"kind": "names"})])
    hr, nobody = as_caller(letters, "hr", name="eve"), as_caller(letters)
    asked = (
        ("slip", "How often is the lathe number 7 codenme checked in Graz, in months?", "Read as “codename”."),
        (
            "name",
            "How many training days per year does Zephyrine Quillfeather have?",
            "Quillfeather is mentioned in these",
        ),
        ("open", "How often is the lathe number 7 in Graz checked?", "7 months"),
    )
    for session, question, words in asked:
        told = await answered(hr, question, collection="default", session_id=session, filters={"kind": "letter"})
        assert words in told.answer
    assert {one.session_id for one in await list_conversations(hr)} == {"slip", "name", "open"}
    assert await list_conversations(nobody) == []


async def test_counts_beside_the_documents_are_of_what_one_may_read(letters: Services) -> None:
    """Which collection holds the most, of which language most passages are, and how many there are of an everyday word."""
    german = [
        source(
            f"brief-{n}.md", f"Der Brief Nummer {n} ist an die Buchhaltung gerichtet und wird geprüft.", ("group:hr",)
        )
        for n in range(6)
    ]
    await index_now(letters, "default", german)
    await index_now(letters, "shut", [source(f"{n}.md", f"A slip with number {n}.", ("group:hr",)) for n in range(9)])
    await index_now(letters, "small", [source(f"{n}.md", f"A note with number {n}.", None) for n in range(2)])
    told = {}
    for name, caller in (("all", letters), ("hr", as_caller(letters, "hr")), ("nobody", as_caller(letters))):
        library = Library(caller.database, caller.principal)
        async with caller.database.transaction(caller.principal, readonly=True) as connection:
            words = await look_up_words(connection, caller.principal, "default", ["the", "der"])
        told[name] = (await library.filled_collections(3), words.passages, words.language, words.frequencies)
    assert told["all"] == (["default", "shut", "small"], 9, "de", {"the": 3, "der": 6})
    assert told["hr"] == (["shut", "default", "small"], 8, "de", {"the": 2, "der": 6})
    assert told["nobody"] == (["small", "default"], 1, "en", {"the": 1, "der": 0})


async def test_what_is_listed_of_the_graph_does_not_tell_how_many_passages_there_are(letters: Services) -> None:
    names = [source(f"db-{n}.md", f"The warehouse number {n} runs on PostgreSQL.", None) for n in range(20)]
    await index_now(letters, "default", names)
    nobody, listed = as_caller(letters), []
    for _ in range(2):
        found = await list_entities(nobody, "default")
        listed.append([one.name for one in found])
        await index_now(letters, "default", [source(f"s-{n}.md", f"Slip {n}.", ("group:hr",)) for n in range(300)])
    assert listed[0] == listed[1]
    assert "PostgreSQL" not in listed[0]  # what a tenth of the passages name


async def test_a_question_that_got_no_answer_is_for_those_who_may_read_as_much(letters: Services) -> None:
    hr, nobody = as_caller(letters, "hr", name="eve"), as_caller(letters)
    for caller, session in ((hr, "s1"), (nobody, "s2")):
        await save_question(
            caller.database, caller.principal, session_id=session, collection="default", question="Is Marie dismissed?",
            run_id=new_id(), error=None,
        )  # fmt: skip
    assert {one.session_id for one in await list_conversations(hr)} == {"s1", "s2"}
    assert {one.session_id for one in await list_conversations(nobody)} == {"s2"}
    pay = DocumentFilter(external_ids=["pay.md"])
    assert (await delete_documents(letters, "default", pay)).deleted == 1
    assert {one.session_id for one in await list_conversations(letters)} == {"s1", "s2"}


async def test_a_question_under_way_is_seen_by_who_asked_it(letters: Services) -> None:
    owner = await asyncpg.connect(letters.owner_dsn)
    try:
        await owner.execute(
            "INSERT INTO rag.runs (tenant_id, started_at, id, kind, collections, question, outcome, asked_by,"
            " settings_revision, legs_used, degraded, document_ids)"
            " VALUES ($1, now(), $2, 'query', '{default}', 'Who is warned?', 'running', 'token:eve', '', '{}', '{}', '{}')",
            letters.principal.tenant_id,
            new_id(),
        )
    finally:
        await owner.close()
    for outcome in ("running", "cancelled", "error"):  # what it would have stood on is not known
        async with letters.database.transaction(letters.principal) as connection:
            await connection.execute("UPDATE rag.runs SET outcome = $1", outcome)
        for caller, seen in ((as_caller(letters, "hr", name="eve"), 1), (as_caller(letters, "hr"), 0), (letters, 1)):
            async with caller.database.transaction(caller.principal, readonly=True) as connection:
                assert await connection.fetchval("SELECT count(*) FROM rag.runs") == seen


async def test_what_was_asked_of_a_restricted_document_goes_with_it(letters: Services) -> None:
    nobody, hr = as_caller(letters), as_caller(letters, "hr", name="eve")
    question = "By how much does the salary of Marie Dubois rise?"
    await answered(hr, question, collection="default", session_id="asked")
    await answered(hr, question, collection="default")  # in no conversation
    await answered(nobody, "When does the cafeteria open?", collection="default", session_id="other")
    await letters.traces.flush()
    await index_now(letters, "default", [source("pay.md", "Nothing rises.", None)])  # what found it still is withheld
    tables = ("messages", "sessions", "runs")

    async def told(caller: Services) -> list[str]:
        async with caller.database.transaction(caller.principal, readonly=True) as connection:
            rows = [await connection.fetch(f"SELECT t::text FROM rag.{name} AS t") for name in tables]
        return [row[0] for found in rows for row in found]

    assert not [row for row in await told(nobody) if "salary" in row]
    for name in ("pay.md", "board.md"):
        hidden = await find_document_id(letters, "default", name)
        await delete_documents(letters, "default", DocumentFilter(ids=[hidden]))
    left = await told(nobody)
    assert [row for row in left if "cafeteria" in row]
    assert not [row for row in left if "salary" in row]


@pytest.mark.parametrize("later", [False, True])
async def test_others_read_a_document_when_its_new_content_is_there(letters: Services, later: bool) -> None:
    nobody = as_caller(letters)
    hidden = await find_document_id(letters, "default", "pay.md")

    async def hand_over(text: bytes, access: tuple[str, ...]) -> None:
        given = replace(source("pay.md", "", access), content=text)
        if later:
            job = await index_later(letters, "default", [given])
            assert await names_found(nobody, "salary nine percent", legs=["lexical"]) == set()
            await letters.worker(kinds={"index_uploads"}).run_until_idle()
            assert (await get_job(letters, job.id)).ended
        else:
            await index_now(letters, "default", [given])

    await hand_over(b"", ())  # cannot be read
    assert (await get_document(letters, "default", hidden))[0].access == ["group:hr"]
    assert await names_found(nobody, "salary nine percent", legs=["lexical"]) == set()
    await hand_over(b"The salary is a secret no more.", ())
    assert await names_found(nobody, "salary secret", legs=["lexical"]) == {"pay.md"}
    await hand_over(b"", ("group:board",))  # fewer: at once
    assert await names_found(nobody, "salary secret", legs=["lexical"]) == set()
    async with letters.database.transaction(letters.principal) as connection:
        rows = await connection.fetch(
            "SELECT detail -> 'access' AS access FROM rag.audit_events WHERE action = 'document.access' AND target = $1"
            " ORDER BY occurred_at, id",
            str(hidden),
        )
    assert [row["access"] for row in rows] == [["group:hr"], [], ["group:board"]]


async def test_what_is_done_with_all_of_a_collection_is_for_who_reads_all_of_it(letters: Services) -> None:
    writer = as_caller(letters, scopes=("read", "write"))
    with pytest.raises(ForbiddenError):
        await start_reindex(writer, "default", force=False)
    with pytest.raises(ForbiddenError):
        await start_reread(writer, "default")
    both = as_caller(letters, "hr", "board", name="eve", scopes=("read", "write"))
    job = await start_reindex(both, "default", force=False)
    with pytest.raises(NotFoundError):
        await get_job(writer, job.id)
    own = await index_later(writer, "default", [source("mine.md", "Mine.", None)])
    await letters.worker(kinds={"index_uploads", "reindex"}).run_until_idle()
    assert (await get_job(both, job.id)).status == (await get_job(writer, own.id)).status == "succeeded"
    assert [(await get_usage(one)).tenant.kept.documents for one in (letters, writer)] == [4, 2]


async def test_a_job_reads_what_who_ordered_it_reads(letters: Services) -> None:
    writer = as_caller(letters, scopes=("read", "write"))
    job = await index_later(writer, "default", [source("new.md", "Ours.", None)])
    await index_now(letters, "default", [source("new.md", "Theirs.", ("group:hr",))])
    worker = letters.worker(kinds={"index_uploads"})
    await worker.run_until_idle()
    result = (await get_job(writer, job.id)).result or {}
    assert (result["uploaded"], [one["code"] for one in result["failed"]]) == ([], ["conflict"])
    hidden = await find_document_id(letters, "default", "new.md")
    assert "Theirs." in ((await get_document(letters, "default", hidden))[1] or "")


async def test_a_withheld_passage_is_explained_as_one_that_is_not_there(letters: Services) -> None:
    nobody = as_caller(letters)
    await answered(nobody, "When does the cafeteria open?", collection="default")
    await letters.traces.flush()
    async with letters.database.transaction(letters.principal) as connection:
        run = await connection.fetchval("SELECT id FROM rag.runs ORDER BY started_at DESC LIMIT 1")
        hidden = await connection.fetchval(
            "SELECT p.id FROM rag.passages p JOIN rag.documents d ON d.id = p.document_id WHERE d.external_id = 'pay.md'"
        )
    told = [await explain_passage(nobody, run, one) for one in (hidden, uuid4())]
    assert told[0] == told[1] != await explain_passage(letters, run, hidden)


async def test_an_administrator_is_told_what_is_withheld_from_somebody(letters: Services) -> None:
    admin, hr = as_caller(letters, name="root", scopes=("read", "admin")), as_caller(letters, "hr")
    told = await answered(letters, "When does the cafeteria open?", collection="default")
    async with letters.database.transaction(letters.principal) as connection:
        passages = dict(await connection.fetch(
            "SELECT d.external_id, p.id FROM rag.passages p JOIN rag.documents d ON d.id = p.document_id"
        ))  # fmt: skip
    own = await explain_passage(admin, told.run_id, passages["pay.md"])
    asked = await explain_passage(admin, told.run_id, passages["pay.md"], ["person:bob"])
    assert asked[0] == own[0]
    assert [(one.stage, one.verdict) for one in asked[1:]] == [
        ("access", "withheld by access: its document is only for group:hr")
    ]
    assert await explain_passage(admin, told.run_id, passages["pay.md"], ["person:bob", "group:hr"]) == own
    open_to_all = await explain_passage(admin, told.run_id, passages["open.md"])
    assert await explain_passage(admin, told.run_id, passages["open.md"], ["person:bob"]) == open_to_all
    with pytest.raises(ForbiddenError):
        await explain_passage(hr, told.run_id, passages["pay.md"], ["person:bob"])
    with pytest.raises(InputError):
        await explain_passage(admin, told.run_id, passages["pay.md"], ["bob"])


async def reads_recorded(services: Services) -> list[tuple[str, str, list[str]]]:
    """Who read how, and which documents, in order."""
    async with services.database.transaction(services.principal) as connection:
        rows = await connection.fetch(
            "SELECT caller, detail FROM rag.audit_events WHERE action = 'document.read_restricted' ORDER BY occurred_at, id"
        )
        names = dict(await connection.fetch("SELECT id::text, external_id FROM rag.documents"))
    assert all(row["detail"]["count"] == len(row["detail"]["documents"]) for row in rows)
    return [
        (row["caller"], row["detail"]["way"], sorted(names[one] for one in row["detail"]["documents"])) for row in rows
    ]


async def test_what_is_read_by_the_scope_admin_alone_is_recorded(letters: Services) -> None:
    root = as_caller(letters, name="root", scopes=("read", "ask", "admin"))
    member = as_caller(letters, "hr", "board", name="boss", scopes=("read", "ask", "admin"))
    pay, free = [await find_document_id(letters, "default", name) for name in ("pay.md", "open.md")]
    question = "By how much does the salary of Marie Dubois rise?"
    for caller in (letters, as_caller(letters, "hr"), member):  # who has no name, or is named
        await get_document(caller, "default", pay)
        await names_found(caller, "Zanzibar Logistics salary")
        await answered(caller, question, collection="default")
    await get_document(root, "default", free)
    await list_documents(root, "default")
    await names_found(root, "cafeteria", legs=["lexical"])
    assert await reads_recorded(letters) == []
    await get_document(root, "default", pay)
    await read_text(root, "default", pay)
    await names_found(root, "Zanzibar Logistics salary", legs=["lexical"])
    await answered(root, question, collection="default", session_id="s3")
    [*direct, answer] = await reads_recorded(letters)
    both = ["board.md", "pay.md"]
    assert direct == [
        ("token:root", "text", ["pay.md"]), ("token:root", "text", ["pay.md"]), ("token:root", "search", both),
    ]  # fmt: skip
    assert answer[:2] == ("token:root", "answer")
    assert "pay.md" in answer[2]
    async with as_caller(letters).database.transaction(as_caller(letters).principal) as connection:
        assert not await connection.fetch("SELECT 1 FROM rag.audit_events WHERE action = 'document.read_restricted'")


# --- rules ----------------------------------------------------------------------------------------------------------------


async def lists_of(services: Services) -> dict[str, tuple[list[str] | None, str | None]]:
    """Of each document, who may read it and the folder that says so."""
    found = await list_documents(services, "default", limit=100)
    return {one.external_id: (one.access and list(one.access), one.access_from) for one in found}


async def test_the_rule_of_the_nearest_folder_gives_a_document_its_list(services: Services) -> None:
    names = ("a.md", "hr/b.md", "hr/pay/c.md", "hr/pay.md", "hrs/d.md")
    await index_now(services, "default", [source(name, f"The cafeteria of {name}.", None) for name in names])
    own = ("person:ada",)
    await index_now(services, "default", [source("hr/own.md", "The cafeteria of Ada.", own)])
    await set_folder_access(services, "default", "hr/", ["group:hr"])
    assert await lists_of(services) == {
        "a.md": (None, None), "hr/b.md": (["group:hr"], "hr"), "hr/own.md": (["person:ada"], None),
        "hr/pay.md": (["group:hr"], "hr"), "hr/pay/c.md": (["group:hr"], "hr"), "hrs/d.md": (None, None),
    }  # fmt: skip
    assert await names_found(as_caller(services), "cafeteria") == {"a.md", "hrs/d.md"}
    # a nearer folder beats it, whichever comes first; everybody is an exception
    await set_folder_access(services, "default", "", ["group:house"])
    await set_folder_access(services, "default", "hr/pay", ["group:pay"])
    await set_folder_access(services, "default", "hrs", [])
    assert await lists_of(services) == {
        "a.md": (["group:house"], ""), "hr/b.md": (["group:hr"], "hr"), "hr/own.md": (["person:ada"], None),
        "hr/pay.md": (["group:hr"], "hr"), "hr/pay/c.md": (["group:pay"], "hr/pay"), "hrs/d.md": (None, "hrs"),
    }  # fmt: skip
    # what comes later, and what is handed over with nobody in its list
    later = [("hr/pay/new.md", None), ("hrs/new.md", None), ("b/new.md", None), ("hr/own.md", ())]
    await index_now(services, "default", [source(name, f"The cafeteria of {name}.", said) for name, said in later])
    found = await lists_of(services)
    assert [found[name] for name, _ in later] == [
        (["group:pay"], "hr/pay"), (None, "hrs"), (["group:house"], ""), (["group:hr"], "hr"),
    ]  # fmt: skip
    assert await list_access_rules(services, "default") == [
        AccessRule("", ["group:house"]), AccessRule("hr", ["group:hr"]), AccessRule("hr/pay", ["group:pay"]),
        AccessRule("hrs", []),
    ]  # fmt: skip
    assert await list_access_rules(as_caller(services, "pay"), "default") == [AccessRule("hr/pay", ["group:pay"])]
    assert await list_access_rules(as_caller(services), "default") == []
    # rules taken away
    await remove_folder_access(services, "default", "hr/pay")
    assert (await lists_of(services))["hr/pay/c.md"] == (["group:hr"], "hr")
    await set_folder_access(services, "default", "", [])
    done = await remove_folder_access(services, "default", "hr")
    assert done.changed == 5
    assert {said for said, _ in (await lists_of(services)).values()} == {None}


async def test_a_list_of_its_own_is_not_the_rules(letters: Services) -> None:
    document = await find_document_id(letters, "default", "pay.md")
    await set_folder_access(letters, "default", "", ["group:house"])
    assert (await lists_of(letters))["pay.md"] == (["group:hr"], None)
    changed = await change_document(letters, "default", document, access=[])
    assert (changed.access, changed.access_from) == (["group:house"], "")
    changed = await change_document(letters, "default", document, access=["group:house"])
    assert (changed.access, changed.access_from) == (["group:house"], None)
    await remove_folder_access(letters, "default", "")
    assert await lists_of(letters) == {
        "open.md": (None, None), "pay.md": (["group:house"], None), "board.md": (sorted(LETTERS["board.md"][1] or ()), None),
    }  # fmt: skip


async def test_a_document_that_is_moved_has_the_list_of_where_it_is(services: Services) -> None:
    await set_folder_access(services, "default", "hr", ["group:hr"])
    await index_now(services, "default", [source("hr/plan.md", "The cafeteria opens.", None)])
    await delete_documents(services, "default", DocumentFilter(external_ids=["hr/plan.md"]))
    await index_now(services, "default", [source("plan.md", "The cafeteria opens.", None)])
    assert await names_found(as_caller(services), "cafeteria") == {"plan.md"}


async def test_a_new_document_of_a_folder_is_withheld_from_its_first_statement_on(services: Services) -> None:
    await set_folder_access(services, "default", "hr", ["group:hr"])
    await index_later(services, "default", [source("hr/plan.md", "The cafeteria opens.", None)])
    assert await list_documents(as_caller(services), "default") == []
    assert len(await list_documents(as_caller(services, "hr"), "default")) == 1
    outsider = as_caller(services, scopes=("read", "write"))
    for name in ("hr/plan.md", "hr/other.md"):  # there, or not: the same is said
        [refused] = await index_now(outsider, "default", [source(name, "Nothing.", None)])
        assert isinstance(refused, Rejected)
        assert "not yours to read" in refused.error
    await index_now(as_caller(services, "hr", scopes=("read", "write")), "default", [source("hr/mine.md", "I.", None)])
    await services.worker(kinds={"index_uploads"}).run_until_idle()
    assert await lists_of(services) == {"hr/mine.md": (["group:hr"], "hr"), "hr/plan.md": (["group:hr"], "hr")}
    for action in (
        set_folder_access(outsider, "default", "", []),
        remove_folder_access(outsider, "default", "hr"),
    ):
        with pytest.raises(ForbiddenError):
            await action


async def test_no_document_escapes_a_rule_that_is_made_while_it_is_added(services: Services) -> None:
    home = (await ensure_collection(services, "default")).id
    added, made = asyncio.Event(), asyncio.Event()

    async def add() -> None:
        async with services.database.transaction(services.principal) as connection:
            await store.register(connection, services.principal, home, source("hr/late.md", "Late.", None), b"\0" * 32)
            added.set()
            await made.wait()

    adding = asyncio.create_task(add())
    async with hang_guard(30):
        await added.wait()
        ruling = asyncio.create_task(set_folder_access(services, "default", "hr", ["group:hr"]))
        while not await list_access_rules(services, "default"):  # the rule is there and waits for who was before it
            await asyncio.sleep(0.01)
        assert not ruling.done()
        made.set()
        await adding
        assert (await ruling).changed == 1
    assert await lists_of(services) == {"hr/late.md": (["group:hr"], "hr")}


async def test_what_a_rule_restricts_leaves_the_graph_and_comes_back(services: Services) -> None:
    await index_now(services, "default", [source("hr/a.md", LETTERS["open.md"][0], None)])

    async def entities() -> int:
        async with services.database.transaction(services.principal) as connection:
            return int(await connection.fetchval("SELECT count(*) FROM rag.entities"))

    known = await entities()
    assert known
    assert (await set_folder_access(services, "default", "", ["group:hr"])).job is None
    assert await entities() == 0
    opened = await set_folder_access(services, "default", "hr", [])
    assert opened.job
    await services.worker(kinds={"reindex"}).run_until_idle()
    assert await entities() == known
    async with services.database.transaction(services.principal) as connection:
        rows = await connection.fetch(
            "SELECT detail FROM rag.audit_events WHERE action = 'collection.access' ORDER BY occurred_at, id"
        )
    assert [row["detail"] for row in rows] == [
        {"folder": "", "access": ["group:hr"], "documents": 1}, {"folder": "hr", "access": [], "documents": 1},
    ]  # fmt: skip


async def test_what_no_rule_can_be(services: Services) -> None:
    for prefix, access in (("/", ["group:hr"]), ("a/../b", []), ("x" * 600, []), ("hr", ["hr"])):
        with pytest.raises(InputError):
            await set_folder_access(services, "default", prefix, access)
    with pytest.raises(NotFoundError):
        await list_access_rules(services, "nowhere")
    await index_now(services, "default", [source("a.md", "A.", None)])
    home = (await get_collection(services, "default")).id
    async with services.database.transaction(services.principal) as connection:
        await connection.execute(
            "INSERT INTO rag.access_rules SELECT $1, $2, 'f' || n, '{}' FROM generate_series(1, $3) AS n",
            services.principal.tenant_id, home, MOST_RULES,
        )  # fmt: skip
    with pytest.raises(InputError, match="at most 10,000"):
        await set_folder_access(services, "default", "one more", [])
    await remove_folder_access(services, "default", "f1")
    await set_folder_access(services, "default", "one more", [])


GROUPS = ("red", "green", "blue", "white")
THEMES = ("harbour", "orchard", "library", "railway", "glacier")


async def ask_at_random(
    services: Services, *, documents: int, persons: int, requests: int, seed: int, ruled: float
) -> int:
    """Random requests of persons whose groups change, over documents whose lists change, and in a share `ruled` of them the rule
    of a folder. How many found something restricted."""
    chance = random.Random(seed)
    lists: dict[str, tuple[str, ...]] = {}
    rules: dict[str, tuple[str, ...]] = {}

    def readers(name: str) -> tuple[str, ...]:
        return lists[name] or rules.get(name.partition("/")[0], rules.get("", ()))

    def some_list() -> tuple[str, ...]:
        named = [f"group:{one}" for one in GROUPS] + [f"person:p{n}" for n in range(persons)]
        return tuple(chance.sample(named, chance.choice((0, 0, 1, 1, 2, 3))))

    texts = []
    for n in range(documents):
        name = f"f{n % 3}/d{n}"
        lists[name] = some_list()
        theme = chance.choice(THEMES)
        texts.append(source(name, f"The {theme} of number {n} belongs to Owner{n} Miller.", lists[name]))
    await index_now(services, "default", texts)
    ids = {one.external_id: one.id for one in await list_documents(services, "default", limit=documents)}
    home = (await get_collection(services, "default")).id
    groups = {n: set(chance.sample(GROUPS, chance.randrange(3))) for n in range(persons)}
    restricted = 0
    for _ in range(requests):
        if chance.random() < 0.2:
            name = chance.choice(list(ids))
            lists[name] = some_list()
            async with services.database.transaction(services.principal) as connection:
                await store.set_access(connection, home, ids[name], lists[name])
        if chance.random() < ruled:
            folder = chance.choice(("", "f0", "f1"))
            rules[folder] = some_list()
            await set_folder_access(services, "default", folder, rules[folder])
        person = chance.randrange(persons)
        if chance.random() < 0.1:
            groups[person] = set(chance.sample(GROUPS, chance.randrange(3)))
        caller = as_caller(services, *groups[person], name=f"p{person}")
        names = {f"group:{one}" for one in groups[person]} | {f"person:p{person}"}
        may = {name for name in lists if not readers(name) or names & set(readers(name))}
        way = chance.choice([*WAYS, "list", "count", "text"])
        if way == "list":
            found = {one.external_id for one in await list_documents(caller, "default", limit=documents)}
            assert found == may
        elif way == "count":
            assert (await get_collection(caller, "default")).document_count == len(may)
            found = set()
        elif way == "text":
            name = chance.choice(list(ids))
            found = {name} & may
            if not found:
                with pytest.raises(NotFoundError):
                    await get_document(caller, "default", ids[name])
            else:
                await get_document(caller, "default", ids[name])
        else:
            found = await names_found(caller, f"the {chance.choice(THEMES)} of number", **WAYS[way])
            assert found <= may
            assert len(found) == min(10, len(may)) or way == "words"
        restricted += any(readers(name) for name in found)
    return restricted


@pytest.mark.usefixtures("hashed_vectors")
async def test_random_requests_find_nothing_that_is_withheld(services: Services) -> None:
    assert await ask_at_random(services, documents=20, persons=6, requests=45, seed=7, ruled=0.1) > 10


async def test_analysts_see_what_everybody_in_the_tenant_may_read(letters: Services) -> None:
    await answered(letters, "By how much does the salary of Marie Dubois rise?", collection="default", session_id="s2")
    await letters.traces.flush()
    connection = await asyncpg.connect(letters.owner_dsn)
    try:
        await connection.execute("SELECT set_config('app.principals', '*', false)")  # which anybody with SQL can
        where = f"WHERE tenant = '{letters.principal.tenant}'"
        assert [row[0] for row in await connection.fetch(f"SELECT external_id FROM analyst.documents {where}")] == [
            "open.md"
        ]
        for view in ("passages", "chunks", "entities", "mentions", "messages", "retrieval_runs", "retrieval_hits"):
            told = await connection.fetch(f"SELECT v::text FROM analyst.{view} AS v {where}")
            assert not [row for row in told if "nine percent" in row[0] or "Zanzibar" in row[0]], view
        deeds = await connection.fetch(f"SELECT action FROM analyst.audit {where}")
        assert "document.access" not in [row[0] for row in deeds]
        counts = await connection.fetchval(f"SELECT document_count FROM analyst.collections {where}")
    finally:
        await connection.close()
    assert counts == 1


async def test_going_on_with_a_withheld_conversation_is_said_to_be_refused(letters: Services) -> None:
    nobody, hr = as_caller(letters), as_caller(letters, "hr", name="eve")
    await answered(hr, "By how much does the salary of Marie Dubois rise?", collection="default", session_id="s1")
    told = await answered(nobody, "When does the cafeteria open?", collection="default", session_id="s1")
    assert [note for note in told.degraded if "conversation stands on documents that are not yours to read" in note], (
        told
    )


async def test_who_goes_on_with_a_conversation_of_others_by_the_scope_admin_leaves_a_record(letters: Services) -> None:
    hr, admin = as_caller(letters, "hr", name="eve"), as_caller(letters, name="root", scopes=("read", "admin"))
    for who, session in ((hr, "s3"), (admin, "s3"), (admin, "s4"), (admin, "s4")):
        await answered(who, "When does the cafeteria open?", collection="default", session_id=session)
    told = await list_events(letters, action="conversation.read_others")
    assert [(one.caller, one.target, one.detail["way"]) for one in told] == [
        (admin.principal.caller.id, "s3", "continued")
    ]


async def test_what_is_restricted_in_one_collection_slows_searches_of_no_other(letters: Services) -> None:
    for name in ("square", "annex"):
        await index_now(letters, name, [source(f"{name}.md", f"Grace Hopper opens the {name}. It is large.", None)])
    nobody = as_caller(letters)

    async def found(*collections: str) -> tuple[set[str], bool]:
        request = make_request(letters.settings.current, "Grace Hopper opens", collections, rerank=False)
        result = await run_search(nobody, request)
        return {one.external_id for one in result.passages}, result.from_cache

    for again in (False, True):
        assert await found("square", "annex") == ({"square.md", "annex.md"}, again)
        assert await found("square", "default") == ({"square.md", "open.md"}, False)

    async def looked_at(collection: str) -> bool:
        """Whether documents were looked at one by one, for the rows of a collection."""
        home = (await get_collection(letters, collection)).id
        async with nobody.database.transaction(nobody.principal, readonly=True) as connection:
            plan = await connection.fetch(
                "EXPLAIN (ANALYZE, COSTS off, TIMING off) SELECT content FROM rag.passages WHERE collection_id = $1",
                home,
            )
        [scan] = [row[0] for row in plan if "on documents d" in row[0]]
        return "never executed" not in scan

    assert [await looked_at(name) for name in ("square", "annex", "default")] == [False, False, True]
