"""What stands beside documents tells nothing of what a caller may not read: caches, rules, jobs, measurements, costs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import UUID

import asyncpg
import pytest
import pytest_asyncio

from cairn.domain.access import MOST_RULES
from cairn.domain.answer import Answer
from cairn.domain.connected_source import SourceWish
from cairn.domain.document import Indexed, Rejected, Source
from cairn.domain.document_list import DocumentFilter
from cairn.domain.evaluation import EvalRun
from cairn.domain.ids import new_id
from cairn.domain.question import Question
from cairn.errors import ConflictError, ForbiddenError, InputError
from cairn.evals import agents
from cairn.evals.datasets import RetrievalSet
from cairn.evals.retrieval import Bench
from cairn.graph.refresh import due
from cairn.ingest.embed import embed_documents, in_use
from cairn.ingest.loaders import load_text
from cairn.ingest.pipeline import ingest
from cairn.ingest.prepare import prepare
from cairn.ingest.remove import pass_on_readers, remove_document
from cairn.service.access import list_access_rules, remove_folder_access, set_folder_access
from cairn.service.ask import ask
from cairn.service.documents import delete_collection, delete_document, get_collection, index_now
from cairn.service.editing import delete_documents
from cairn.service.evaluation import Corpora, evaluate_retrieval, list_runs, load_sets, prepare_collection
from cairn.service.files import ingest_files, select_files
from cairn.service.jobs import PLAN_INDEXES, list_jobs
from cairn.service.keys import create_key
from cairn.service.replay import SEVERAL
from cairn.service.search import get_trace
from cairn.service.sources import add_source
from cairn.settings import Environment, SettingsStore
from cairn.store import communities, evals, traces
from cairn.store import vectors as stored
from cairn.store.documents import clock, find_id, keeps_address, set_access
from cairn.wiring import Services, open_services
from tests.db.extracting import MILL, TIN, Extracting, settings
from tests.db.runs import change
from tests.db.test_access_lists import as_caller, source
from tests.documents import find
from tests.sharing import SHARED

pytestmark = SHARED

CAFETERIA = "The cafeteria of Harbour House opens at eight."
QUERY = "when does the cafeteria open"


@pytest_asyncio.fixture(loop_scope="module")
async def letters(services: Services) -> Services:
    """The cafeteria is everybody's; in another collection something is restricted."""
    await index_now(services, "test", [source("open.md", CAFETERIA, None)])
    await index_now(services, "staff", [source("pay.md", "The salary of Marie Dubois rises.", ("group:hr",))])
    return services


async def count(services: Services, sql: str, *arguments: Any) -> int:
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return int(await connection.fetchval(f"SELECT count(*) FROM rag.{sql}", *arguments))


async def leave_job(services: Services, kind: str, status: str = "succeeded", **columns: Any) -> None:
    """A job as it stands in the table: its payload, result and progress."""
    told = {"payload": {}, "result": None, "progress": {}} | columns
    async with services.database.transaction(services.principal) as connection:
        await connection.execute(
            "INSERT INTO rag.jobs (tenant_id, id, kind, status, max_attempts, payload, result, progress)"
            " VALUES ($1, $2, $3, $4, 3, $5, $6, $7)",
            services.principal.tenant_id, new_id(), kind, status, told["payload"], told["result"], told["progress"],
        )  # fmt: skip


# --- caches -------------------------------------------------------------------------------------------------------------


async def test_that_somebody_searched_is_for_those_who_could_read_as_much(letters: Services) -> None:
    """Though both read all of the collection."""
    hr, nobody = as_caller(letters, "hr", name="eve"), as_caller(letters)
    await find(hr, QUERY)
    await letters.search_deps.embeddings.flush()
    assert await count(letters, "retrieval_cache") == await count(letters, "query_embeddings") == 0
    found = await find(nobody, QUERY)
    assert (found.from_cache, "embed" in found.timings_ms) == (False, True)
    assert (await get_trace(nobody, found.trace_id)).plan.get("cached_run") is None
    other = await find(as_caller(letters, "lunch", name="ann"), QUERY)
    assert other.from_cache, "what everybody may know is shared"
    again = await find(hr, QUERY)
    assert again.from_cache, "and so it is with those who may know more"


async def test_where_nothing_is_restricted_all_share(services: Services) -> None:
    await index_now(services, "test", [source("open.md", CAFETERIA, None)])
    await find(services, QUERY)
    assert (await find(as_caller(services, "hr"), QUERY)).from_cache
    await services.search_deps.embeddings.flush()
    await services.search_deps.ledger.settle(services.principal)
    found = await find(as_caller(services), QUERY, top_k=3)
    assert (found.from_cache, "embed" in found.timings_ms) == (False, False)


# --- rules --------------------------------------------------------------------------------------------------------------


async def test_a_rule_withholds_before_the_first_document(services: Services) -> None:
    """Jobs tell what was to lie in its folder, and why it does not."""
    await index_now(services, "test", [source("open.md", CAFETERIA, None)])
    nobody, board = as_caller(services), as_caller(services, "board", name="eve")
    collection = await get_collection(services, "test")
    await leave_job(services, "fetch_urls", payload={"collection_id": str(collection.id)}, result={"failed": []})
    assert len(await list_jobs(nobody)) == 1, "nothing is to be withheld"
    await set_folder_access(services, "test", "board/merger", ["group:board"])
    assert await list_jobs(nobody) == []
    assert await list_access_rules(nobody, "test") == []
    assert [one.prefix for one in await list_access_rules(board, "test")] == ["board/merger"]


async def test_a_rule_is_for_whom_it_names_when_its_documents_are_gone(services: Services) -> None:
    """A rule that opens a folder names nobody."""
    await index_now(services, "test", [source("open.md", CAFETERIA, None)])
    await set_folder_access(services, "test", "open", [])
    await set_folder_access(services, "test", "board", ["group:board"])
    assert {one.prefix for one in await list_access_rules(services, "test")} >= {"board"}
    assert await list_access_rules(as_caller(services), "test") == []


# --- jobs ---------------------------------------------------------------------------------------------------------------


async def test_jobs_that_brought_restricted_documents_go_with_them(letters: Services) -> None:
    nobody = as_caller(letters)
    staff = await get_collection(letters, "staff")
    async with letters.database.transaction(letters.principal, readonly=True) as connection:
        hidden = await connection.fetchval("SELECT id FROM rag.documents WHERE external_id = 'pay.md'")
    for told in ({"uploaded": [{"id": str(hidden)}]}, {"failed": [{"external_id": "pay.md"}]}, {"uploaded": []}):
        await leave_job(letters, "index_uploads", payload={"collection_id": str(staff.id)}, result=told)
    assert await list_jobs(nobody) == []
    await delete_documents(letters, "staff", DocumentFilter(external_ids=["pay.md"]))
    assert [one.result for one in await list_jobs(nobody)] == [{"uploaded": []}]


async def test_jobs_under_way_when_a_restricted_document_goes_are_for_who_ordered_them(letters: Services) -> None:
    """They tell of it in the end, when nothing is restricted any more."""
    eve, nobody = as_caller(letters, "hr", name="eve"), as_caller(letters)
    staff = await get_collection(letters, "staff")
    for by in ("token:eve", "token:ann"):
        await leave_job(letters, "enrich", "parked", payload={"collection_id": str(staff.id), "ordered_by": {"id": by}})
    await delete_documents(letters, "staff", DocumentFilter(external_ids=["pay.md"]))
    assert not await count(letters, "documents WHERE access IS NOT NULL")
    waiting = [len([one for one in await list_jobs(who) if one.kind == "enrich"]) for who in (letters, eve, nobody)]
    assert waiting == [2, 1, 0]


async def test_a_document_that_is_deleted_while_it_is_indexed_stays_away(letters: Services) -> None:
    """It would come back without its list."""
    target = letters.target(letters.principal, (await get_collection(letters, "staff")).id)
    falls = plain("pay.md", "The salary of Marie Dubois falls. " * 9)
    [told] = await ingest(letters.database, target, [falls], on_share=partial(delete_first, letters))
    assert isinstance(told, Rejected)
    assert "deleted while" in told.error
    assert await count(letters, "documents WHERE external_id = 'pay.md'") == 0


async def delete_first(services: Services, name: str, _: object) -> None:
    await delete_documents(services, "staff", DocumentFilter(external_ids=[name]))


async def test_how_many_files_a_source_has_is_for_who_operates(services: Services) -> None:
    await leave_job(services, "sync_source", progress={"done": 15, "total": 15}, result={"added": 15})
    [whole], [told] = await list_jobs(services), await list_jobs(as_caller(services))
    assert (whole.progress.total, whole.result) == (15, {"added": 15})
    assert (told.progress.total, told.progress.done, told.result) == (None, 0, None)


async def test_work_of_no_collection_is_for_who_operates(letters: Services) -> None:
    """Such as building indexes, which counts chunks."""
    await leave_job(letters, "vector_indexes")
    assert [one.kind for one in await list_jobs(letters)] == ["vector_indexes"]
    assert await list_jobs(as_caller(letters)) == []


async def test_when_an_index_is_due_is_for_who_operates(services: Services) -> None:
    """All chunks count, hidden ones too: a job of one's own would tell how many these are."""
    change(services, "vector", dedicated_above=8)
    await index_now(
        services, "staff", [source(f"h{n}.md", f"Hidden slip number {n}.", ("group:hr",)) for n in range(6)]
    )
    bob = as_caller(services, scopes=("read", "write"))
    for n in range(5):
        await index_now(bob, "staff", [source(f"b{n}.md", f"Open note {n}.", None)])
        assert await list_jobs(bob) == [], n
    [job] = await list_jobs(services)
    assert job.kind == PLAN_INDEXES


async def test_a_plan_that_waits_already_is_in_nobodys_way(letters: Services) -> None:
    """There is one at a time, which who ordered it sees, and others do not."""
    change(letters, "vector", dedicated_above=2)
    bob = as_caller(letters, scopes=("read", "write"))
    notes = [source(f"b{n}.md", f"Open note {n}.", None) for n in range(4)]
    await index_now(letters, "yours", notes)
    [waiting] = [one.id for one in await list_jobs(letters)]
    await index_now(bob, "mine", notes)
    await delete_collection(bob, "mine")
    assert await list_jobs(bob) == []
    assert [one.id for one in await list_jobs(letters)] == [waiting]


# --- measurements -------------------------------------------------------------------------------------------------------


async def test_measurements_over_restricted_documents_are_for_who_reads_all(letters: Services) -> None:
    nobody, staff = as_caller(letters), await get_collection(letters, "staff")
    async with letters.database.transaction(letters.principal) as connection:
        await connection.execute(
            "INSERT INTO rag.recall_checks (tenant_id, id, collection_id, model_id, regime, k, sample, recall, ef_search)"
            " SELECT $1, $2, $3, id, 'dedicated', 10, 50, 1, 40 FROM rag.embedding_models LIMIT 1",
            letters.principal.tenant_id, new_id(), staff.id,
        )  # fmt: skip
        await connection.execute(
            "INSERT INTO rag.eval_runs (tenant_id, id, kind, name, data_set, data_hash, collection_id, collection,"
            " settings_revision, code_version, started_at, finished_at, query_count, degraded) VALUES"
            " ($1, $2, 'retrieval', '', 'layoffs', '', $3, 'staff', '', '', now(), now(), 1, '{}')",
            letters.principal.tenant_id, new_id(), staff.id,
        )  # fmt: skip
    assert [len(await list_runs(one)) for one in (letters, nobody)] == [1, 0]
    assert [await count(one, "recall_checks") for one in (letters, nobody)] == [1, 0]
    assert await count(as_caller(letters, "hr"), "recall_checks") == 1
    await delete_documents(letters, "staff", DocumentFilter(external_ids=["pay.md"]))
    assert [len(await list_runs(one)) for one in (letters, nobody)] == [1, 0], (
        "also when nothing is restricted any more"
    )


@pytest.mark.parametrize("several", [False, True], ids=["one collection", "several"])
async def test_so_are_those_over_collections_of_which_one_held_something_restricted(
    letters: Services, several: bool
) -> None:
    names = ["staff", "test"] if several else ["staff"]
    async with letters.database.transaction(letters.principal) as connection:
        where = await evals.collection_epochs(connection, letters.principal, names)
        run = EvalRun(
            new_id(), "replay", "", "feedback", "", SEVERAL if several else where["staff"][0], ", ".join(names),
            {name: epoch for name, (_, epoch) in where.items()}, {}, "", "", {"mode": "replay"},
            datetime.now(UTC), datetime.now(UTC), 1, {}, {}, (),
        )  # fmt: skip
        await evals.insert(connection, letters.principal, run, [], restricted=False)
        elsewhere = replace(run, id=new_id(), collection_id=SEVERAL, collection="a, b", epochs={"a": 1, "b": 1})
        await evals.insert(connection, letters.principal, elsewhere, [], restricted=False)
    await lose_the_letter(letters)
    assert [one.id for one in await list_runs(as_caller(letters))] == [elsewhere.id]
    assert len(await list_runs(letters)) == 2


async def lose_the_letter(services: Services) -> None:
    assert (await delete_documents(services, "staff", DocumentFilter(external_ids=["pay.md"]))).deleted == 1


def questions_about(folder: Path, texts: dict[str, str]) -> RetrievalSet:
    """A data set whose one question is answered by the letter."""
    folder.mkdir()
    corpus = [json.dumps({"_id": name, "title": "", "text": text}) for name, text in texts.items()]
    (folder / "corpus.jsonl").write_text("\n".join(corpus))
    (folder / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "Whose salary rises?"}))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\tpay.md\t1")
    [(data, _)] = load_sets(Corpora([folder]))
    return data


async def test_a_search_that_is_stored_after_what_it_found_was_deleted_is_for_who_reads_all(
    letters: Services, environment: Environment, tmp_path: Path
) -> None:
    async def by_somebody_else() -> None:
        async with open_services(environment, SettingsStore()) as opened:
            await lose_the_letter(replace(opened, principal=letters.principal))

    def between(_: str) -> None:
        other = Thread(target=asyncio.run, args=(by_somebody_else(),))
        other.start()
        other.join()

    data = questions_about(tmp_path / "set", {"pay.md": "The salary of Marie Dubois rises."})
    _, [result] = await evaluate_retrieval(letters, data, "staff", "lexical", between)
    assert result.ranking == ("pay.md",)
    assert await count(letters, "documents WHERE external_id = 'pay.md'") == 0
    assert [len(await list_runs(one)) for one in (letters, as_caller(letters))] == [1, 0]


async def test_so_are_answers_that_are_stored_later(letters: Services, tmp_path: Path) -> None:
    async def ask_and_lose(question: Question) -> Answer:
        made = await ask(letters, question)
        await lose_the_letter(letters)
        return made

    data = questions_about(tmp_path / "set", {"pay.md": "The salary of Marie Dubois rises."})
    bench = Bench(letters.search_deps, letters.principal, letters.settings.current, "", letters.chooser)
    asking = agents.AgentBench(bench, ask_and_lose, letters.traces.flush, None)
    await agents.evaluate(asking, data, {}, "staff", "fast", lambda _: None)
    assert [len(await list_runs(one)) for one in (letters, as_caller(letters))] == [1, 0]


async def by_rule(services: Services, _: Path) -> None:
    await set_folder_access(services, "handbook", "hr", ["group:hr"])


async def by_list(services: Services, _: Path) -> None:
    async with services.database.transaction(services.principal) as connection:
        found = await get_collection(services, "handbook")
        document = await find_id(connection, services.principal, found.id, "hr/pay")
        assert document
        await set_access(connection, found.id, document, ["group:hr"])


async def by_source(services: Services, folder: Path) -> None:
    await add_source(services, "handbook", SourceWish(str(folder)), local=True)


async def by_a_list_that_it_had(services: Services, folder: Path) -> None:
    """What it holds now is everybody's; what it held is not, should it come back."""
    await by_list(services, folder)
    await index_now(services, "handbook", [plain("hr/pay", "Ask the board.", ())])


SHUT = [by_rule, by_list, by_a_list_that_it_had, by_source]


@pytest.mark.parametrize("shut", SHUT, ids=["rule", "list", "earlier list", "source"])
async def test_a_collection_that_says_who_may_read_it_is_not_emptied_for_a_measurement(
    services: Services, tmp_path: Path, shut: Callable[[Services, Path], Awaitable[None]]
) -> None:
    """Its documents would come back without lists, and nobody would keep them from anybody."""
    data = questions_about(tmp_path / "set", {"hr/pay": "The salary of Marie Dubois rises."})
    made = await prepare_collection(services, data, "handbook", lambda _: None, fresh=True)
    assert (made.indexed, made.restricted) == (1, False)
    again = await prepare_collection(services, data, "handbook", lambda _: None, fresh=True)
    assert again.indexed == 1, "an open one is"
    await shut(services, tmp_path / "set")
    before = await get_collection(services, "handbook")
    with pytest.raises(ConflictError, match="or measure in a collection of its own"):
        await prepare_collection(services, data, "handbook", lambda _: None, fresh=True)
    assert (await get_collection(services, "handbook")).id == before.id
    assert (await prepare_collection(services, data, "handbook", lambda _: None)).restricted


async def test_the_audit_log_counts_what_everybody_could_read(services: Services) -> None:
    texts = [source("open.md", CAFETERIA, None), source("pay.md", "The salary of Marie Dubois rises.", ("group:hr",))]
    await index_now(services, "mixed", texts)
    await delete_collection(services, "mixed")
    async with services.database.transaction(services.principal, readonly=True) as connection:
        [detail] = await connection.fetch("SELECT detail FROM rag.audit_events WHERE action = 'collection.delete'")
    assert detail["detail"] == {"documents": 1, "chunks": 1}


# --- what a chat model costs --------------------------------------------------------------------------------------------


@pytest.fixture
def talking() -> Extracting:
    return Extracting()


def plain(name: str, text: str, access: tuple[str, ...] | None = None) -> Source:
    return Source(name, name, text.encode(), access=access)


async def calls(services: Services) -> int:
    await services.worker().run_until_idle()
    job = next(one for one in await list_jobs(services) if one.kind == "graph_model")
    assert job.status == "succeeded", job.error
    return int((job.result or {})["calls"])


async def test_what_a_model_said_of_a_restricted_text_is_no_help_to_others(
    chatty: Services, talking: Extracting
) -> None:
    """Who pays for a call would learn by it whether the text is known."""
    chatty.settings.current = settings().current
    await index_now(chatty, "test", [plain("mill.txt", MILL, ("group:hr",))])
    assert await calls(chatty) == 1
    await index_now(chatty, "guess", [plain("guess.txt", MILL)])
    assert await calls(chatty) == 1, "nobody can tell that it is the same text"
    await index_now(chatty, "more", [plain("fewer.txt", MILL, ("group:hr",)), plain("open.txt", MILL)])
    assert await calls(chatty) == 0, "of an open document everybody may know"
    await index_now(chatty, "tin", [plain("tin.txt", TIN, ("group:hr", "group:board"))])
    await calls(chatty)
    await index_now(chatty, "tin", [plain("copy.txt", TIN, ("group:hr",))])
    assert await calls(chatty) == 0, "all who read the copy may read the first one"
    await index_now(chatty, "tin", [plain("other.txt", TIN, ("group:lunch",))])
    assert await calls(chatty) == 1


async def test_a_restricted_document_is_counted_on_no_key_of_who_may_not_read_it(
    chatty: Services, talking: Extracting
) -> None:
    """Others that wait are read by the job that the caller's document has ordered."""
    chatty.settings.current = settings().current
    key, _ = await create_key(chatty, "lunch", ["read", "ask", "write"])
    caller = as_caller(chatty, "lunch", scopes=("read", "ask", "write"))
    keyed = replace(caller, principal=replace(caller.principal, caller=replace(caller.principal.caller, key_id=key.id)))
    await index_now(chatty, "test", [plain("hidden.txt", MILL, ("group:hr",))])
    for job in await list_jobs(chatty):
        async with chatty.database.transaction(chatty.principal) as connection:
            await connection.execute("DELETE FROM rag.jobs WHERE id = $1", job.id)
    await set_folder_access(chatty, "test", "lunch", ["group:lunch"])
    await index_now(keyed, "test", [plain("own.txt", TIN), plain("lunch/group.txt", f"{TIN} {MILL}")])
    assert await calls(chatty) == 3
    await chatty.spending.flush()
    async with chatty.database.transaction(chatty.principal, readonly=True) as connection:
        counted = await connection.fetchval("SELECT sum(calls) FROM rag.key_usage WHERE key_id = $1", key.id)
    assert counted == 2


@pytest.mark.parametrize(("asked", "published"), [((), True), (None, True), (("group:lunch",), False)])
async def test_a_list_that_is_given_while_a_wider_one_is_indexed_stays(
    letters: Services, asked: tuple[str, ...] | None, published: bool
) -> None:
    """What was asked for earlier is published later; never for those whom its sender did not name."""
    home = await get_collection(letters, "staff")
    restricted = 0

    def restrict() -> None:
        nonlocal restricted
        restricted += 1

        async def by_somebody_else() -> None:
            owner = await asyncpg.connect(letters.owner_dsn)
            begun = "external_id = 'pay.md' AND formerly IS NOT NULL"  # since it is registered with other content
            await owner.execute(f"UPDATE rag.documents SET access = '{{group:board}}' WHERE {begun}")
            await owner.close()

        other = Thread(target=asyncio.run, args=(by_somebody_else(),))
        other.start()
        other.join()

    again = source("pay.md", "The salary is no secret.", asked)
    target = letters.target(letters.principal, home.id)
    [outcome] = await ingest(letters.database, target, [again], check=restrict)
    assert isinstance(outcome, Indexed) == published
    assert restricted
    assert await count(letters, "documents WHERE access = '{group:board}'") == 1
    again = replace(again, access=())
    assert isinstance((await ingest(letters.database, target, [replace(again, content=b"More.")]))[0], Indexed)
    assert await count(letters, "documents WHERE access IS NOT NULL") == 0


# --- names, links, files that come back --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "kept"), [(["group:board"], ["group:hr"]), ([], ["group:hr"]), (["group:board", "group:hr"], ["group:hr"])]
)
async def test_a_list_that_waits_counts_more_than_a_rule_for_the_name(
    letters: Services, rule: list[str], kept: list[str]
) -> None:
    """As it did while the document was there: whom both name, or whom the list names."""
    await set_folder_access(letters, "staff", "pay.md", rule)
    await delete_document(letters, "staff", await id_of(letters, "pay.md"), may_return=True)
    assert [list(one.access) for one in await list_access_rules(letters, "staff")] == [kept]


async def id_of(services: Services, name: str) -> UUID:
    async with services.database.transaction(services.principal, readonly=True) as connection:
        found: UUID = await connection.fetchval("SELECT id FROM rag.documents WHERE external_id = $1", name)
    return found


@pytest.mark.parametrize(("rules", "readers"), [(MOST_RULES - 1, ["group:hr"]), (MOST_RULES, None)])
async def test_lists_wait_where_there_is_room_for_a_rule(
    letters: Services, rules: int, readers: list[str] | None
) -> None:
    """And where there is none, those that are there can be changed and taken away."""
    home = await get_collection(letters, "staff")
    async with letters.database.transaction(letters.principal) as connection:
        await connection.execute(
            "INSERT INTO rag.access_rules (tenant_id, collection_id, prefix, access)"
            " SELECT $1, $2, 'folder' || n, '{group:board}' FROM generate_series(1, $3) AS n",
            letters.principal.tenant_id, home.id, rules,
        )  # fmt: skip
    await delete_document(letters, "staff", await id_of(letters, "pay.md"), may_return=True)
    with pytest.raises(InputError, match="at most 10,000"):
        await set_folder_access(letters, "staff", "one more", ["group:board"])
    await set_folder_access(letters, "staff", "folder7", ["group:hr"])
    await index_now(letters, "staff", [source("pay.md", "The salary of Marie Dubois rises.", None)])
    async with letters.database.transaction(letters.principal, readonly=True) as connection:
        assert await connection.fetchval("SELECT access FROM rag.documents WHERE external_id = 'pay.md'") == readers
    await remove_folder_access(letters, "staff", "folder7")
    await set_folder_access(letters, "staff", "one more", ["group:board"])


async def test_a_list_that_came_back_goes_along_with_a_move(letters: Services, tmp_path: Path) -> None:
    """Away for one look, back by the rule of its name, and then called otherwise."""
    (tmp_path / "a.md").write_text("# A\n\nNothing.")
    pay = tmp_path / "wage.md"

    async def ingest_all() -> None:
        await ingest_files(letters, "files", select_files([tmp_path], tmp_path), lambda _: None, prune=True)

    pay.write_text("# Pay\n\nThe salary of Bo Carr rises.")
    await ingest_all()
    home = await get_collection(letters, "files")
    async with letters.database.transaction(letters.principal) as connection:
        await set_access(connection, home.id, await id_of(letters, "wage.md"), ["group:hr"])
    away = tmp_path.parent / f"{tmp_path.name}-pay.md"
    pay.rename(away)
    await ingest_all()
    away.rename(pay)
    await ingest_all()
    assert await count(letters, "documents WHERE external_id = 'wage.md' AND access = '{group:hr}'") == 1
    pay.rename(tmp_path / "wage-2026.md")
    await ingest_all()
    assert await count(letters, "documents WHERE external_id = 'wage-2026.md' AND access = '{group:hr}'") == 1


async def test_a_list_that_is_given_while_its_file_moves_goes_along(letters: Services) -> None:
    text = "The salary of Bo Carr rises."
    same = source("old.md", text, None)
    await index_now(letters, "files", [same, replace(same, external_id="twin.md")])
    old = await id_of(letters, "old.md")
    async with letters.database.transaction(letters.principal) as connection:
        began = await clock(connection)
    await set_folder_access(letters, "files", "both", ["group:board", "group:hr"])
    await set_folder_access(letters, "files", "board", ["group:board"])
    names = ["new.md", "both/new.md", "board/new.md"]
    moved = [replace(same, external_id=name) for name in names]
    await index_now(letters, "files", [*moved, source("other.md", CAFETERIA, None)])
    home = await get_collection(letters, "files")
    async with letters.database.transaction(letters.principal) as connection:
        await set_access(connection, home.id, old, ["group:hr"])
    await pass_on_readers(letters.database, letters.principal, home.id, old, began)
    await delete_document(letters, "files", old)
    async with letters.database.transaction(letters.principal, readonly=True) as connection:
        rows = await connection.fetch("SELECT external_id, access FROM rag.documents WHERE collection_id = $1", home.id)
    assert {row["external_id"]: row["access"] for row in rows} == {
        "new.md": ["group:hr"], "twin.md": None, "other.md": None,  # which was there before
        "both/new.md": ["group:hr"], "board/new.md": ["group:board"],
    }  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        "Bu\u0308ro/pay.md",
        "B\u00fcro/pay.md",
        "b\u00fcro/pay.md",
        "./B\u00fcro/pay.md",
        "/B\u00fcro/pay.md",
        "B\u00fcro\\pay.md",
    ],
)
@pytest.mark.parametrize("rule", ["B\u00fcro", "Bu\u0308ro"])
async def test_a_folder_is_the_same_however_it_is_written(services: Services, name: str, rule: str) -> None:
    """A disk, an archive or a share writes accents, capitals and slashes in its own way."""
    await set_folder_access(services, "test", rule, ["group:board"])
    await index_now(services, "test", [source(name, "The salary of Marie Dubois rises.", None)])
    assert await count(services, "documents WHERE access = '{group:board}'") == 1


async def test_an_open_folder_is_open_as_it_is_written(services: Services) -> None:
    """And a rule for another spelling is nearer than one that is only alike."""
    await set_folder_access(services, "test", "hr", ["group:hr"])
    await set_folder_access(services, "test", "hr/open", [])
    await set_folder_access(services, "test", "HR/boss", ["group:boss"])
    await set_folder_access(services, "test", "hr/boss", ["group:hr"])
    names = ["hr/open/a.md", "hr/OPEN/b.md", "HR/boss/c.md", "hr/boss/d.md"]
    await index_now(services, "test", [source(name, f"{name}: {CAFETERIA}", None) for name in names])
    async with services.database.transaction(services.principal, readonly=True) as connection:
        rows = await connection.fetch("SELECT external_id, access FROM rag.documents")
    assert {row["external_id"]: row["access"] for row in rows} == {
        "hr/open/a.md": None, "hr/OPEN/b.md": ["group:hr"], "HR/boss/c.md": ["group:boss"], "hr/boss/d.md": ["group:hr"],
    }  # fmt: skip


async def test_a_list_of_its_own_waits_for_a_file_that_is_away(letters: Services) -> None:
    """And not for a document that somebody deletes."""
    for may_return, readers in ((True, ["group:hr"]), (False, None)):
        collection = "away" if may_return else "deleted"
        await index_now(letters, collection, [source("pay.md", "Marie Dubois earns more.", ("group:hr",))])
        async with letters.database.transaction(letters.principal, readonly=True) as connection:
            found = await get_collection(letters, collection)
            gone = await connection.fetchval("SELECT id FROM rag.documents WHERE collection_id = $1", found.id)
        await delete_document(letters, collection, gone, may_return=may_return)
        await index_now(letters, collection, [source("pay.md", "Marie Dubois earns more.", None)])
        async with letters.database.transaction(letters.principal, readonly=True) as connection:
            held = await connection.fetchval("SELECT access FROM rag.documents WHERE collection_id = $1", found.id)
        assert held == readers


# --- uses, communities, deletions ---------------------------------------------------------------------------------------------


async def test_a_use_of_the_cache_by_who_can_read_more_is_not_noted(letters: Services) -> None:
    """It would move the entry away from those that are dropped first, which others can try."""
    hr, nobody = as_caller(letters, "hr", name="eve"), as_caller(letters)
    await find(nobody, QUERY)
    for who, uses in ((hr, 0), (nobody, 1), (hr, 1)):
        assert (await find(who, QUERY)).from_cache
        await letters.search_deps.ledger.flush()
        assert await count(letters, "retrieval_cache WHERE hits = $1", uses) == 1


async def test_communities_are_due_by_what_everybody_may_read(services: Services) -> None:
    texts = [source(f"{n}.md", f"Ada Holm works with Bo Carr in Harbour House {n}.", None) for n in range(3)]
    await index_now(services, "test", texts)
    hidden = [source(f"h{n}.md", f"Marie Dubois {n} earns more.", ("group:hr",)) for n in range(30)]
    await index_now(services, "test", hidden)
    found = await get_collection(services, "test")
    async with services.database.transaction(services.principal.house) as connection:
        state = await communities.state(connection, services.principal.house, found.id)
        assert state is not None
        assert (state.document_count, state.passage_count, state.restricted) == (3, 3, True)
        await connection.execute("UPDATE rag.community_refreshes SET epoch = $1", state.epoch - 1)
        assert await due(connection, services.principal.house, found.id, services.settings.current) is not None


async def test_that_a_restricted_document_was_deleted_is_for_who_reads_all(letters: Services) -> None:
    """Also when nothing is restricted any more."""
    async with letters.database.transaction(letters.principal, readonly=True) as connection:
        rows = await connection.fetch("SELECT id, external_id, collection_id FROM rag.documents ORDER BY external_id")
    for name in ("pay.md", "open.md"):
        collection = "staff" if name == "pay.md" else "test"
        await delete_document(letters, collection, next(row["id"] for row in rows if row["external_id"] == name))
    told = "audit_events WHERE action = 'document.delete'"
    assert await count(letters, told) == 2
    async with letters.database.transaction(as_caller(letters).principal, readonly=True) as connection:
        assert await connection.fetchval(f"SELECT count(*) FROM rag.{told}") == 1


# --- traces that are written late ----------------------------------------------------------------------------------------------


async def test_a_trace_written_after_its_passages_went_names_none_of_them(letters: Services) -> None:
    """Passages of a document that is restricted by then: nothing says so any more when the trace is stored."""
    nobody = as_caller(letters)
    found = await find(nobody, QUERY)
    trace = await get_trace(nobody, found.trace_id)
    gone = {one.passage_id for one in found.passages}
    await index_now(
        letters, "test", [source("open.md", "The house is closed.", ("group:hr",)), source("new.md", QUERY, None)]
    )
    there = (await find(nobody, QUERY)).passages[0].passage_id
    late = new_id()
    async with letters.database.transaction(letters.principal) as connection:
        legs = [
            replace(leg, passage_ids=(*leg.passage_ids, there), scores=(*leg.scores, 0.1),
                    chunk_ids=(*leg.chunk_ids, None), shares=(*leg.shares, 0.1), fates=("kept", "below top_k"))
            for leg in trace.legs
        ]  # fmt: skip
        await traces.insert(connection, [replace(trace, id=late, legs=tuple(legs))])
    told, whole = await get_trace(nobody, late), await get_trace(letters, late)
    assert gone
    assert {one for leg in whole.legs for one in leg.passage_ids} == {*gone, there}
    for leg in told.legs:
        assert [*leg.passage_ids] == [there]
        assert len(leg.scores) == 1
        if leg.fates:
            assert [*leg.fates] == ["below top_k"]
    owner = await asyncpg.connect(letters.owner_dsn)
    try:
        rows = await owner.fetch("SELECT passage_id FROM analyst.retrieval_hits WHERE run_id = $1", late)
    finally:
        await owner.close()
    assert {row["passage_id"] for row in rows} == {there}


# --- vectors ------------------------------------------------------------------------------------------------------------------


async def test_the_vector_of_an_open_text_does_not_depend_on_restricted_ones(services: Services) -> None:
    """Quantised for a batch, it would: whoever reads the score of the open text could try what the other one says."""
    await index_now(services, "batch", [source("menu.md", "Soup.", None), source("slip.md", "Nothing.", ("group:hr",))])
    home = await get_collection(services, "batch")
    target = services.target(services.principal, home.id)
    [used] = await in_use(services.database, target)

    async def embedded(*sources: Source) -> list[tuple[float, ...]]:
        ready = [
            prepare(
                one, load_text(one.content, one.name, target.settings.ingest), target.settings, used.embedder.tokens
            )
            for one in sources
        ]
        made = await embed_documents(services.database, services.principal, home.id, [used], ready)
        return [tuple(each[used.model.id][0].to_list()) for each in made]

    menu, other = source("menu.md", CAFETERIA, None), "The pay of Marie Dubois is 4711 euros."
    [alone] = await embedded(menu)
    beside, _ = await embedded(menu, source("slip.md", other, None))  # which is restricted by now
    wanted, _ = await embedded(menu, source("menu2.md", other, ("group:hr",)))  # which is to be
    together, _ = await embedded(menu, source("menu2.md", other, None))
    assert beside == wanted == alone != together
    # one of two with the same readers may be opened later
    same, _ = await embedded(source("slip.md", other, None), source("slip2.md", CAFETERIA, ("group:hr",)))
    assert same == (await embedded(source("slip.md", other, None)))[0]


async def test_a_vector_is_used_again_for_those_who_may_read_its_text(services: Services) -> None:
    """That no model is asked would tell others that the text stands somewhere."""
    text, hr, board = "The pay of Bo Carr is 4711 euros.", ("group:hr",), ("group:board",)
    await index_now(services, "batch", [source("slip.md", text, hr), source("seen.md", CAFETERIA, None)])
    async with services.database.transaction(services.principal, readonly=True) as connection:
        rows = await connection.fetch(
            "SELECT d.external_id, e.content_hash, e.model_id FROM rag.embeddings e JOIN rag.documents d ON d.id = e.document_id"
        )
        hashes = {row["external_id"]: bytes(row["content_hash"]) for row in rows}
        [model] = (await stored.models(connection, [rows[0]["model_id"]])).values()
        for readers, known in ((None, {"seen.md"}), (hr, {"seen.md", "slip.md"}), (board, {"seen.md"})):
            found = await stored.reuse(connection, services.principal, model, [*hashes.values()], readers)
            assert {name for name, digest in hashes.items() if digest in found} == known


# --- spellings of folders -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("a/hr", "a//hr", True),
        ("a/hr", "a/./hr/", True),
        ("a/hr", "a\uff3chr", True),
        ("hr", "\uff0fhr ", True),
        ("hr", "HR.", True),
        ("hr/pay", "hr /pay", True),
        ("Straße", "STRASSE", True),
        ("Μισθός", "ΜΙΣΘΌΣ", True),
        ("Kayıtlar", "KAYITLAR", True),
        ("hr", "hr2", False),
        ("a.b", "ab", False),
        ("a b", "ab", False),
        (".git", "git", False),
    ],
)
async def test_which_spellings_are_one_folder(services: Services, one: str, other: str, same: bool) -> None:
    async with services.database.transaction(services.principal, readonly=True) as connection:
        names = [await connection.fetchval("SELECT rag.folder_name($1)", name) for name in (one, other)]
    assert (names[0] == names[1]) == same


@pytest.mark.parametrize(
    ("name", "restricted"),
    [
        ("site/hr", True),
        ("site/hr?lang=de", True),
        ("site/hr?lang=de/x", True),
        ("site/hr/pay.html?id=7", True),
        ("site/lunch?from=hr", False),
        ("site/hr;x/pay.html", True),
        ("site/hr%2Fpay.html", True),
        ("site/hr%5cpay.html", True),
        ("http://site/hr/pay.html", True),
        ("https://SITE:443/hr", True),
        ("https://site:8443/hr", False),
        ("https://site.org/hr", False),
    ],
)
async def test_a_page_is_in_its_folder_whatever_it_is_asked(services: Services, name: str, restricted: bool) -> None:
    await set_folder_access(services, "test", "site/hr", ["group:hr"])
    await index_now(services, "test", [source(name, CAFETERIA, None)])
    assert await count(services, "documents WHERE access IS NOT NULL") == restricted
    assert await count(services, "documents d WHERE rag.lies_in(d.external_id, 'site/hr')") == restricted


async def test_a_rule_for_a_page_with_a_question_is_for_that_page(services: Services) -> None:
    """Also where its name is longer than that of the folder, or of the rule that is meant."""
    await set_folder_access(services, "test", "Contracts", ["group:law"])
    await set_folder_access(services, "test", "Contracts; old", ["group:staff"])
    await set_folder_access(services, "test", "wiki/index.php?title=Pay", ["group:hr"])
    await set_folder_access(services, "test", "wiki/index.php?title=Cafeteria", ["group:staff"])
    names = ("Contracts/a.md", "Contracts; old/a.md", "wiki/index.php?title=Pay", "wiki/index.php?title=Menu")
    await index_now(services, "test", [source(name, f"{CAFETERIA} {name}", None) for name in names])
    expected = [["group:law"], ["group:staff"], ["group:hr"], None]
    assert [await readers(services, name) for name in names] == expected
    await set_folder_access(services, "test", "wiki/index.php?title=Pay", ["group:board"])
    await set_folder_access(services, "test", "Contracts; old", ["group:board"])
    assert [await readers(services, name) for name in names] == [["group:law"], ["group:board"], ["group:board"], None]


async def test_a_rule_of_a_folder_stays_where_a_page_of_its_name_was_for_others(services: Services) -> None:
    await set_folder_access(services, "test", "site/docs", ["group:a"])
    page = source("site/docs", CAFETERIA, ("group:c",))
    await index_now(services, "test", [page, source("site/docs/more", f"{CAFETERIA} More.", None)])
    for below in (True, False):
        found = await get_collection(services, "test")
        async with services.database.transaction(services.principal) as connection:
            document = await find_id(connection, services.principal, found.id, "site/docs")
            await remove_document(connection, services.principal, found.id, "test", document, may_return=True)
        [rule] = [one for one in await list_access_rules(services, "test") if one.prefix == "site/docs"]
        assert rule.access == (["group:a"] if below else ["group:c"])
        if below:
            await delete_documents(services, "test", DocumentFilter(external_ids=["site/docs/more"]))
            await index_now(services, "test", [page])


@pytest.mark.parametrize(
    ("rule", "own", "there", "keeps"),
    [
        (None, None, False, False),
        (None, ("group:hr",), False, True),
        ("http://a.example/hr", None, False, True),
        ("https://b.example", ("group:hr",), False, False),  # it has readers there, too
        (None, ("group:hr",), True, False),
    ],
)
async def test_a_page_that_redirects_is_never_open_where_it_was_not(
    services: Services, rule: str | None, own: tuple[str, ...] | None, there: bool, keeps: bool
) -> None:
    asked, reached = "http://a.example/hr", "https://b.example/hr"
    await index_now(services, "test", [source("open.md", CAFETERIA, None)])
    if rule:
        await set_folder_access(services, "test", rule, ["group:law"])
    if own:
        await index_now(services, "test", [source(asked, f"{CAFETERIA} Asked.", own)])
    if there:
        await index_now(services, "test", [source(reached, f"{CAFETERIA} Reached.", None)])
    outsider = as_caller(services, scopes=("read", "write"))
    found = await get_collection(services, "test")
    async with services.database.transaction(outsider.principal) as connection:
        assert await keeps_address(connection, found.id, asked, reached) is keeps


async def readers(services: Services, name: str) -> list[str] | None:
    async with services.database.transaction(services.principal, readonly=True) as connection:
        sql = "SELECT access FROM rag.documents WHERE external_id = $1"
        return None if (found := await connection.fetchval(sql, name)) is None else list(found)


async def test_who_operates_deletes_a_collection_with_rules_or_a_source(services: Services) -> None:
    """What came later under its name would be open."""
    outsider = as_caller(services, scopes=("read", "ask", "write"))
    await set_folder_access(services, "ruled", "hr", ["group:hr"])
    await index_now(services, "plain", [source("a.md", CAFETERIA, None)])
    with pytest.raises(ForbiddenError):
        await delete_collection(outsider, "ruled")
    with pytest.raises(ForbiddenError):  # whom a rule names neither
        await delete_collection(as_caller(services, "hr", scopes=("read", "ask", "write")), "ruled")
    await delete_collection(outsider, "plain")
    await delete_collection(services, "ruled")
