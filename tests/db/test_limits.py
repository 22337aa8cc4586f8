"""What keys and tenants may use holds over all processes: here several services with pools of their own on one database."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import asyncpg
import pytest
import pytest_asyncio
from scripted_server import ScriptedServer
from talking import Talking

from cairn.domain.document import Indexed, Outcome, Rejected, Source
from cairn.domain.document_list import DocumentFilter
from cairn.domain.ids import new_id
from cairn.domain.principal import Caller, KeyLimits
from cairn.domain.question import Question
from cairn.domain.trace import Spend
from cairn.domain.usage import Holding, KeyUsage
from cairn.errors import (
    BudgetExceededError,
    ConflictError,
    DatabaseUnavailableError,
    NotFoundError,
    RateLimitedError,
    TenantFullError,
)
from cairn.ingest.model_jobs import ENRICH
from cairn.ingest.pipeline import ingest
from cairn.jobs.documents import INDEX_UPLOADS
from cairn.runs.limits import requests as requests_module
from cairn.runs.limits import slots as slots_module
from cairn.service.ask import start
from cairn.service.documents import delete_document, ensure_collection, index_later, index_now, list_documents
from cairn.service.embeddings import embed
from cairn.service.jobs import list_jobs
from cairn.service.limits import get_usage, limit_tenant, list_tenant_usage
from cairn.service.metered import metered_for_key
from cairn.service.operation import describe_service
from cairn.service.search import make_request, run_search
from cairn.settings import AnswerSettings, Environment, RagSettings, Settings, SettingsStore
from cairn.store import limits as store
from cairn.wiring import Services, open_services
from tests.db.runs import LEAVE, answered, change, fill
from tests.db.tenants import talking_to, tenant_of
from tests.documents import text_source
from tests.sharing import ALONE, SHARED
from tests.waiting import patience, until

pytestmark = SHARED


def as_key(services: Services, key: UUID, **limits: Any) -> Services:
    """The services for a caller with a key, that has these limits of its own."""
    caller = Caller(f"key:{key}", "test", key_id=key, limits=KeyLimits(**limits))
    return replace(services, principal=replace(services.principal, caller=caller))


@contextlib.asynccontextmanager
async def three(environment: Environment) -> AsyncIterator[list[Services]]:
    async with contextlib.AsyncExitStack() as stack:
        yield [await stack.enter_async_context(open_services(environment, SettingsStore())) for _ in range(3)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def processes_of_module(environment_of_module: Environment) -> AsyncIterator[list[Services]]:
    async with three(environment_of_module) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def processes(processes_of_module: list[Services]) -> AsyncIterator[list[Services]]:
    """Three of them, for one tenant."""
    async with tenant_of(processes_of_module[0]) as first:
        yield [first, *(replace(one, principal=first.principal) for one in processes_of_module[1:])]


async def within_a_minute(work: Callable[[], Awaitable[Any]]) -> Any:
    """What the work comes to, done again where it took so long that what it did first counts no more."""
    while True:
        gone_at = time.monotonic() + 60
        found = await work()
        if time.monotonic() < gone_at:
            return found


async def taken(services: Services) -> bool:
    try:
        await services.permits.take(services.principal)
        return True
    except RateLimitedError:
        return False


# --- requests ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 7, 100])
async def test_no_more_requests_than_the_limit_over_all_processes(processes: list[Services], limit: int) -> None:
    async def flood() -> int:
        key = new_id()
        callers = [as_key(one, key, requests_per_minute=limit) for one in processes]
        first = await asyncio.gather(*(taken(caller) for _ in range(limit) for caller in callers))
        later = [await taken(caller) for caller in callers for _ in range(limit + 5)]
        return sum(first) + sum(later)

    assert await within_a_minute(flood) == limit


async def test_most_requests_ask_no_database(services: Services) -> None:
    async def count() -> int:
        """Statements, but for one in each second that the work began or ended in."""
        began = time.monotonic()
        caller, asked = as_key(services, new_id(), requests_per_minute=1000), 0
        counted = services.permits._database
        transaction = counted.transaction

        @contextlib.asynccontextmanager
        async def counting(*arguments: Any, **more: Any) -> AsyncIterator[Any]:
            nonlocal asked
            asked += 1
            async with transaction(*arguments, **more) as connection:
                yield connection

        counted.transaction = counting  # type: ignore[method-assign]
        try:
            allowed = [await taken(caller) for _ in range(2000)]
        finally:
            counted.transaction = transaction  # type: ignore[method-assign]
        assert sum(allowed) == 1000
        return asked - int(time.monotonic() - began) - 2

    assert await within_a_minute(count) <= 20


async def test_where_a_caller_stands(services: Services) -> None:
    async def take() -> list[int]:
        caller = as_key(services, new_id(), requests_per_minute=3)
        found = [await services.permits.take(caller.principal) for _ in range(3)]
        with pytest.raises(RateLimitedError, match="3 requests in any minute") as refused:
            await services.permits.take(caller.principal)
        headers = refused.value.headers
        assert 1 <= int(headers["Retry-After"]) <= 61
        assert headers["RateLimit-Policy"] == '"requests";q=3;w=60'
        assert headers["RateLimit"] == f'"requests";r=0;t={headers["Retry-After"]}'
        return [one.remaining for one in found if one is not None and 0 < one.seconds <= 61]

    assert await within_a_minute(take) == [2, 1, 0]


@pytest.mark.parametrize("ago", [0, 1, 30, 59, 60, 61, 62, 100, -1, -30, -3600])
async def test_what_was_made_counts_in_its_second_and_in_the_sixty_after_it(services: Services, ago: int) -> None:
    """So no sixty seconds have more than the limit, wherever they begin. A clock that was set back a little stands still until it
    has caught up, and one that was set back far shuts nobody out."""
    key = new_id()
    async with services.database.transaction(services.principal) as connection:
        await connection.execute(
            "INSERT INTO rag.key_requests (tenant_id, key_id, second, permits) VALUES ($1, $2, "
            "floor(extract(epoch FROM clock_timestamp())) - $3::integer, array_fill(0, ARRAY[60]) || 5)",
            services.principal.tenant_id, key, ago,
        )  # fmt: skip
        before = await connection.fetchval("SELECT second FROM rag.key_requests WHERE key_id = $1", key)
        lease = await store.lease_requests(connection, key, 7, 7, (0, 0))
    counts = 0 <= lease.second - before <= 60
    assert (lease.second >= before) == (ago != -3600)
    assert (lease.granted, lease.taken) == ((2, 7) if counts else (7, 7))
    leaves = before + 61 if counts else lease.second + 61
    assert lease.full_for - lease.seconds_left == pytest.approx(leaves - lease.second - 1, abs=1e-3)


async def test_a_limit_that_was_used_up_is_there_again_after_a_minute_and_not_when_one_begins(
    services: Services,
) -> None:
    caller = as_key(services, new_id(), requests_per_minute=2)
    connection = await asyncpg.connect(services.owner_dsn)
    for ago, allowed in ((0, 2), (30, 0), (31, 2)):
        await connection.execute("UPDATE rag.key_requests SET second = second - $1::integer", ago)
        services.permits._of_keys.clear()  # as another process, or this one when the second is over
        assert [await taken(caller) for _ in range(3)].count(True) == allowed
        # refused when the second was over, the process may still ask beside: of the next round it must not take a permit
        await asyncio.gather(*(one.asking for one in services.permits._of_keys.values() if one.asking is not None))
    await connection.close()


async def test_processes_of_before_seconds_were_counted_ask_on(services: Services) -> None:
    """Until they are restarted: these are their statements (revision 0037)."""
    async with services.database.transaction(services.principal) as connection:
        key = new_id()
        granted = await connection.fetchrow(
            "SELECT granted, taken, seconds_left FROM rag.lease_requests($1, $2, $3)", key, 7, 5
        )
        assert tuple(granted)[:2] == (5, 5)
        await connection.execute(
            "INSERT INTO rag.key_requests (tenant_id, key_id, minute, taken) VALUES ($1, $2, '-infinity', 0)"
            " ON CONFLICT DO NOTHING",
            services.principal.tenant_id, new_id(),
        )  # fmt: skip
        used = (
            "SELECT key_id, taken FROM rag.key_requests WHERE tenant_id = $1 AND minute = date_trunc('minute', now())"
        )
        assert await connection.fetch(used, services.principal.tenant_id) == []


async def test_what_a_process_did_not_use_in_a_second_it_gives_back(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = new_id()
    caller = as_key(services, key, requests_per_minute=100)
    assert await taken(caller)
    permits = services.permits._of_keys[services.principal.tenant_id, key]
    assert permits.held == 4
    permits.ends = 0.0
    assert await taken(caller)
    async with services.database.transaction(services.principal) as connection:
        [usage] = await store.key_usage(connection, services.principal, key)
    assert usage.requests == 6, "one that was made, and a block of five"

    transaction = services.permits._database.transaction

    @contextlib.asynccontextmanager
    async def losing(*arguments: Any, **more: Any) -> AsyncIterator[Any]:
        async with transaction(*arguments, **more) as connection:
            yield connection
        raise DatabaseUnavailableError("the answer was lost")

    monkeypatch.setattr(services.permits._database, "transaction", losing)
    permits.ends = 0.0
    with pytest.raises(DatabaseUnavailableError):
        await taken(caller)
    monkeypatch.undo()
    assert await taken(caller)
    async with services.database.transaction(services.principal) as connection:
        [usage] = await store.key_usage(connection, services.principal, key)
    assert usage.requests == 2 + 5 + 5, "made, lost, and the last block: what was given back is so once"


async def test_whoever_has_used_up_the_limit_waits_for_nobody_to_hear_it(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the database hangs; what another process gave back is there as soon as it has answered."""
    key = new_id()
    caller = as_key(services, key, requests_per_minute=2)
    asked, hangs, transaction = 0, asyncio.Event(), services.permits._database.transaction

    @contextlib.asynccontextmanager
    async def hanging(*arguments: Any, **more: Any) -> AsyncIterator[Any]:
        nonlocal asked
        asked += 1
        await hangs.wait()
        async with transaction(*arguments, **more) as connection:
            yield connection

    async def refused_at_once() -> bool:
        allowed = [await taken(caller) for _ in range(3)]
        permits = services.permits._of_keys[services.principal.tenant_id, key]
        permits.ends = 0.0  # the second is over
        monkeypatch.setattr(services.permits._database, "transaction", hanging)
        for _ in range(20):
            with contextlib.suppress(RateLimitedError):
                services.permits.check(caller.principal)
                return False  # where a minute has gone by meanwhile
            await asyncio.sleep(0)
        assert allowed == [True, True, False]
        return True

    assert await within_a_minute(refused_at_once)
    assert asked == 1
    async with services.database.transaction(services.principal) as connection:
        await connection.execute("DELETE FROM rag.key_requests WHERE key_id = $1", key)
    hangs.set()
    await until(lambda: taken(caller))
    monkeypatch.undo()


async def test_where_nothing_can_be_counted_a_process_counts_its_own_in_the_same_way(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = 1000.9
    monkeypatch.setattr("cairn.runs.limits.requests.time.monotonic", lambda: at)
    permits = requests_module._Permits()
    granted = {}
    for at in (1000.9, 1000.9, 1001.0, 1060.9, 1061.0, 1061.1):
        lease = permits.lease_alone(7, 4, 0)
        permits.second = lease.second
        granted.setdefault(at, []).append(lease.granted)
    assert granted == {1000.9: [4, 3], 1001.0: [0], 1060.9: [0], 1061.0: [4], 1061.1: [3]}
    assert permits.lease_alone(7, 4, 2).granted == 2, "what was not used counts no more"


async def test_the_settings_hold_for_keys_without_limits_and_not_without_keys(services: Services) -> None:
    change(services, "limits", requests_per_minute=0, concurrent_runs=0, tokens_per_day=0)
    assert await services.permits.take(services.principal) is None
    assert await services.slots.take(services.principal) is None
    await services.spending.check_left(services.principal)
    assert not await taken(as_key(services, new_id()))
    assert await taken(as_key(services, new_id(), requests_per_minute=1))
    with pytest.raises(RateLimitedError):
        await services.slots.take(as_key(services, new_id()).principal)
    with pytest.raises(RateLimitedError):
        await services.spending.check_left(as_key(services, new_id()).principal)


# --- concurrent runs --------------------------------------------------------------------------------------------------


async def test_no_more_runs_than_the_limit_over_all_processes(processes: list[Services]) -> None:
    key = new_id()
    callers = [as_key(one, key, concurrent_runs=4) for one in processes]

    async def take(caller: Services) -> UUID | None:
        try:
            return await caller.slots.take(caller.principal)
        except RateLimitedError:
            return None

    slots = await asyncio.gather(*(take(caller) for _ in range(5) for caller in callers))
    assert len([slot for slot in slots if slot]) == 4
    assert await take(as_key(processes[0], new_id(), concurrent_runs=1)), "another key has its own"
    for number, slot in enumerate(slots):
        if slot:
            await callers[number % 3].slots.release(slot)
    assert await take(callers[0])


async def slots_are_free(services: Services) -> bool:
    async with services.database.transaction(services.principal) as connection:
        return not await connection.fetchval("SELECT count(*) FROM rag.run_slots")


async def test_a_run_gives_its_slot_back_however_it_ends(
    chatty: Services, talking: Talking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cairn.runs.limits.slots._LEASE", timedelta(hours=1))  # given back, and not over
    await fill(chatty)
    caller = as_key(chatty, new_id(), concurrent_runs=1)
    release = asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow(_: str) -> str:
        asyncio.run_coroutine_threadsafe(release.wait(), loop).result(patience())
        return "Employees have 30 days of leave per year [1]."

    talking.said["generate"] = slow
    task = await start(caller, Question(LEAVE, "handbook", new_id(), "fast"))
    with pytest.raises(RateLimitedError, match="1 runs under way") as refused:
        await start(caller, Question(LEAVE, "handbook", new_id(), "fast"))
    assert refused.value.headers["RateLimit-Policy"] == '"runs";q=1;qu="concurrent-requests"'
    await task.stop()
    release.set()

    await answered(caller, LEAVE, strategy="fast")
    await answered(caller, LEAVE, strategy="fast")  # after one that has answered, at once
    talking.said["generate"] = "Employees have 30 days of leave per year [1]."
    taken_id = new_id()
    await answered(caller, LEAVE, strategy="fast")
    again = Question(LEAVE, "handbook", taken_id, "fast")
    await (await start(caller, again)).stop()
    await until(lambda: slots_are_free(caller))
    with pytest.raises(ConflictError):  # after one that was never begun
        await start(caller, again)
    await answered(caller, LEAVE, strategy="fast")


@ALONE
async def test_slots_of_a_dead_process_are_free_when_their_leases_are_over_and_of_a_living_one_are_not(
    environment: Environment, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slots_module, "RENEW_SECONDS", 0.05)
    async with three(environment) as processes:
        dead, living, other = (as_key(one, UUID(int=7), concurrent_runs=2) for one in processes)
        await leases_end(dead, living, other, database)


async def leases_end(dead: Services, living: Services, other: Services, database: str) -> None:
    await dead.slots.take(dead.principal)
    await living.slots.take(living.principal)
    assert dead.slots._renewing is not None
    dead.slots._renewing.cancel()
    connection = await asyncpg.connect(database)
    await connection.execute("UPDATE rag.run_slots SET lease_until = now() - interval '1 second'")

    async def renewed() -> bool:
        return bool(await connection.fetchval("SELECT count(*) FROM rag.run_slots WHERE lease_until > now()"))

    await until(renewed)
    assert await other.slots.take(other.principal)
    with pytest.raises(RateLimitedError):
        await other.slots.take(other.principal)
    await connection.close()


# --- tokens and cost --------------------------------------------------------------------------------------------------


async def test_what_models_cost_is_booked_on_the_key_as_the_meter_has_it(
    chatty: Services, other_tenant: Services
) -> None:
    await fill(chatty)
    change(chatty, "answer", prices={"gpt-4o-mini": (10.0, 20.0)})
    caller = as_key(chatty, new_id())
    made = [await answered(caller, LEAVE, strategy=strategy) for strategy in ("fast", "enhanced")]
    tokens = sum(one.usage["input_tokens"] + one.usage["output_tokens"] for one in made)
    found = await get_usage(caller)
    assert found.key is not None
    assert (found.key.calls, found.key.tokens) == (sum(one.usage["calls"] for one in made), tokens)
    assert found.key.cost == pytest.approx(sum(one.usage["cost"] for one in made))
    assert found.key.tokens > 0
    assert (await get_usage(other_tenant)).keys == ()
    async with chatty.database.transaction(chatty.principal) as connection:
        assert await connection.fetchval("SELECT tokens FROM rag.key_usage") == tokens


async def test_a_run_whose_key_runs_out_ends_with_its_best_answer_and_the_next_one_is_refused(
    chatty: Services, talking: Talking, scripted: ScriptedServer
) -> None:
    await fill(chatty)
    caller = as_key(chatty, new_id(), tokens_per_day=1500)
    talking.said["generate"] = "Employees have 30 days of leave per year [1]."
    refused, made = None, []
    for _ in range(20):
        try:
            made.append(await answered(caller, LEAVE, strategy="enhanced"))
        except RateLimitedError as error:
            refused = error
            break
    short = [one for one in made if any("tokens of its key for today (1,500)" in text for text in one.degraded)]
    assert short, [one.degraded for one in made]
    assert all("30 days" in one.answer for one in made)
    usage = await get_usage(caller)
    assert usage.key is not None
    assert usage.key.tokens <= 1500 + 200, "by as much as the estimate of the last call was wrong"
    if refused is not None:
        assert refused.headers["RateLimit-Policy"] == '"tokens";q=1500;w=86400;qu="tokens"'
        assert 1 <= int(refused.headers["Retry-After"]) <= 24 * 3600


async def test_calls_of_all_processes_at_once_stay_within_the_day(processes: list[Services]) -> None:
    key = new_id()
    limits: dict[str, dict[str, Any]] = {"tokens": {"tokens_per_day": 1000}, "cost": {"cost_per_day": 0.02}}
    for own in limits.values():
        key = new_id()
        accounts = [one.spending.allowance(as_key(one, key, **own).principal) for one in processes]

        async def reserve(account: Any) -> int:
            try:
                return int((await account.reserve("m", 50, 200, 16, {"m": (20.0, 20.0)}))[1].tokens)
            except BudgetExceededError:
                return 0

        granted = await asyncio.gather(*(reserve(account) for _ in range(5) for account in accounts))
        assert 1000 - 66 < sum(granted) <= 1000, granted


HOSTED: Final = "text-embedding-3-small"


async def test_hosted_embeddings_and_reranking_are_counted_like_tokens_of_chat(
    environment_of_module: Environment, scripted: ScriptedServer
) -> None:
    """An upload, a search and a question; what the key may use holds for them, too."""
    rag = RagSettings(embedding_model=HOSTED, reranker_provider="cohere")
    hosted = replace(talking_to(scripted, environment_of_module), cohere_api_key="key", cohere_base_url=scripted.url)
    scripted.dimensions = 1536
    async with open_services(hosted, store_of(Settings(rag=rag))) as opened, tenant_of(opened) as own:
        own.settings.current = Settings(rag=rag, answer=AnswerSettings(prices={HOSTED: (2.0, 0.0)}))
        key = new_id()
        caller = as_key(own, key)
        texts = {n: f"# Leave\n\nIn year {n} everybody has {n} days of leave.\n" for n in (20, 21)}
        await index_now(caller, "handbook", [text_source(f"{n}.md", text) for n, text in texts.items()])
        filling = await usage_of(caller)
        assert filling.tokens == filling.calls > 0, "of each request the server reports a token"
        assert filling.cost == pytest.approx(filling.tokens * 2e-6)
        scripted.script("ok", "metered")
        found = await run_search(caller, make_request(own.settings.current, "days of leave", ["handbook"], rerank=True))
        spent = {one["purpose"]: (one["calls"], one["input_tokens"], one["cost"]) for one in found.usage["by_purpose"]}
        assert spent == {"embed": (1, 1, 2e-6), "rerank": (1, 40, None)}, found.degraded
        assert (found.usage["model"], found.usage["calls"]) == (None, 0), "of a chat model"
        used = await usage_of(caller)
        assert (used.calls, used.tokens) == (filling.calls + 2, filling.tokens + 41)
        assert describe_service(caller).tokens_by_model[HOSTED] >= 2

        short = as_key(own, key, tokens_per_day=used.tokens + 1)
        request = make_request(own.settings.current, "how much holiday in year 21", ["handbook"], rerank=False)
        found = await run_search(short, request)
        assert any("tokens of its key for today" in text for text in found.degraded)
        assert found.passages, "by words"
        with pytest.raises(RateLimitedError) as refused:
            await index_now(
                short, "handbook", [text_source("22.md", "# Leave\n\nIn year 22 nobody has any leave at all.\n")]
            )
        assert refused.value.headers["RateLimit-Policy"] == f'"tokens";q={used.tokens + 1};w=86400;qu="tokens"'
        with pytest.raises(RateLimitedError):
            await embed(short, HOSTED, ["In year 22 nobody has any leave at all."])
        own.settings.current = Settings(rag=rag)
        with pytest.raises(RateLimitedError, match="nobody has said what text-embedding-3-small costs"):
            await embed(as_key(own, key, cost_per_day=9.0), HOSTED, ["leave"])
        assert await usage_of(caller) == used

        prices = {HOSTED: (2.0, 0.0), "gpt-4o-mini": (100.0, 100.0)}
        own.settings.current = Settings(rag=rag, answer=AnswerSettings(prices=prices))
        made = await answered(as_key(own, key), "How many days of leave are there in year 20?", strategy="fast")
        calls = {one["purpose"]: one for one in made.usage["by_purpose"]}
        reranked = calls["rerank"]
        assert (reranked["model"], reranked["input_tokens"], reranked["estimated"]) == ("rerank-v3.5", 0, False), (
            "by searches"
        )
        assert made.usage["model"] == "gpt-4o-mini"
        asked = [one for one in calls.values() if one["model"] == "gpt-4o-mini"]
        told = {name: sum(one[name] for one in asked) for name in ("calls", "input_tokens", "output_tokens")}
        assert {name: made.usage[name] for name in told} == told
        assert made.usage["cost"] == pytest.approx(1e-4 * (told["input_tokens"] + told["output_tokens"]))
        now = await usage_of(caller)
        assert now.calls - used.calls == sum(one["calls"] for one in calls.values()) > told["calls"] + 1
        assert now.tokens - used.tokens == sum(one["input_tokens"] + one["output_tokens"] for one in calls.values())


async def test_what_was_embedded_before_a_day_was_used_up_is_indexed(
    environment_of_module: Environment, scripted: ScriptedServer
) -> None:
    scripted.dimensions = 1536
    rag = RagSettings(embedding_model=HOSTED)
    hosted = talking_to(scripted, environment_of_module)
    async with open_services(hosted, store_of(Settings(rag=rag))) as opened, tenant_of(opened) as own:
        own.settings.current = Settings(rag=rag)
        caller = as_key(own, new_id(), tokens_per_day=20)
        collection = await ensure_collection(own, "handbook")
        scripted.requests.clear()
        scripted.script("unmetered")

        async def one_after_the_other() -> AsyncIterator[Source]:
            for asked in (0, 1):
                await until(lambda asked=asked: len(scripted.requests) >= asked)
                yield text_source(f"{asked}.md", f"# Leave\n\nIn year {asked} all have leave in spring.\n")

        with pytest.raises(RateLimitedError), metered_for_key(caller):
            await ingest(own.database, own.target(own.principal, collection.id), one_after_the_other())
        assert len(scripted.requests) == (await usage_of(caller)).calls == 1
        indexed = DocumentFilter(statuses=("indexed",))
        assert [one.external_id for one in await list_documents(own, "handbook", indexed)] == ["0.md"]


def store_of(settings: Settings) -> SettingsStore:
    store = SettingsStore()
    store.current = settings
    return store


async def usage_of(caller: Services) -> KeyUsage:
    found = (await get_usage(caller)).key
    assert found is not None
    return found


async def test_what_a_job_embeds_counts_for_the_key_that_ordered_it(
    environment_of_module: Environment, scripted: ScriptedServer
) -> None:
    hosted = talking_to(scripted, environment_of_module)
    scripted.dimensions = 1536
    rag = RagSettings(embedding_model=HOSTED)
    async with open_services(hosted, store_of(Settings(rag=rag))) as opened, tenant_of(opened) as own:
        own.settings.current = Settings(rag=rag)
        caller = as_key(own, new_id())
        await index_later(
            caller, "handbook", [text_source("23.md", "# Leave\n\nIn year 23 all have leave in spring.\n")]
        )
        await own.worker(kinds=[INDEX_UPLOADS]).run_until_idle()
        assert (await usage_of(caller)).calls == 1


async def test_a_limit_of_cost_calls_no_model_whose_price_nobody_knows(
    chatty: Services, scripted: ScriptedServer
) -> None:
    await fill(chatty)
    scripted.requests.clear()
    made = await answered(as_key(chatty, new_id(), cost_per_day=1.0), LEAVE, strategy="fast")
    assert not scripted.requests
    assert any("answer.prices has none for gpt-4o-mini" in text for text in made.degraded)
    assert "30 days" in made.answer


@ALONE
async def test_usage_that_could_not_be_written_is_written_later(services: Services, database: str) -> None:
    caller = as_key(services, new_id())
    account = services.spending.allowance(caller.principal)
    assert account is not None
    connection = await asyncpg.connect(database)
    await connection.execute("ALTER TABLE rag.key_usage RENAME TO gone")
    account.book(None, Spend(("m",), 10, 5, calls=1))
    with pytest.raises(asyncpg.UndefinedTableError):
        await services.spending.flush()
    await connection.execute("ALTER TABLE rag.gone RENAME TO key_usage")
    found = await get_usage(caller)
    assert found.key is not None
    assert (found.key.calls, found.key.tokens) == (1, 15)
    await connection.close()


async def test_what_a_job_asks_a_model_counts_for_the_key_that_ordered_it(
    chatty: Services, scripted: ScriptedServer
) -> None:
    change(chatty, "rag", contextual_enrichment_enabled=True)
    paying, poor = as_key(chatty, new_id()), as_key(chatty, new_id(), tokens_per_day=20)
    for caller, collection in ((paying, "one"), (poor, "two")):
        await index_later(caller, collection, [text_source("a", f"Office {collection} has 30 rooms.", "Rooms")])
        await chatty.worker().run_until_idle()
    found = await get_usage(paying)
    assert found.key is not None
    assert found.key.calls > 0
    assert found.key.tokens > 0
    spent = (await get_usage(poor)).key
    assert spent is not None
    assert (spent.calls, spent.tokens) == (0, 0), "a call would have taken more than 20 tokens"
    [last, *_] = [job for job in await list_jobs(chatty, limit=10) if job.kind == ENRICH]
    assert last.status == "succeeded"
    assert "the tokens of its key for today (20)" in str((last.result or {})["stopped"])


# --- documents --------------------------------------------------------------------------------------------------------

TEXTS = [f"Paragraph {n} about the {n}th matter of the house, with some words." for n in range(40)]


async def index(services: Services, collection: str, numbers: range) -> list[Outcome]:
    return await index_now(services, collection, [text_source(f"{n}", TEXTS[n]) for n in numbers])


@pytest.mark.sweep(3)
@pytest.mark.parametrize("what", ["documents", "bytes", "chunks"])
async def test_uploads_at_once_into_several_collections_by_several_processes_stay_within_the_limit(
    processes: list[Services], what: str
) -> None:
    most = {"documents": 5, "bytes": 5 * len(TEXTS[11].encode()), "chunks": 5}[what]
    await limit_tenant(processes[0], processes[0].principal.tenant, {what: most})
    made = await asyncio.gather(*(index(one, f"c{n}", range(10, 14)) for n, one in enumerate([*processes, *processes])))
    outcomes = [outcome for group in made for outcome in group]
    stored = [one for one in outcomes if isinstance(one, Indexed)]
    refused = [one for one in outcomes if isinstance(one, Rejected)]
    assert (len(stored), len(refused)) == (5, 19)
    assert {one.code for one in refused} == {"tenant-full"}
    assert all(f"may keep {most} {what}" in one.error for one in refused), refused[0].error
    usage = (await get_usage(processes[0])).tenant
    assert getattr(usage.kept, what) == most == getattr(usage.most, what)


async def test_what_does_not_grow_can_be_replaced_and_what_was_deleted_makes_room(services: Services) -> None:
    [first, second] = await index(services, "test", range(10, 12))
    change(services, "limits", documents=1)  # fewer than there are
    [again] = await index_now(services, "test", [text_source("10", "Another text.")])
    assert isinstance(again, Indexed)
    assert again.change == "replaced"
    [refused] = await index(services, "test", range(12, 13))
    assert isinstance(refused, Rejected)
    change(services, "limits", documents=2, bytes=200)
    [large] = await index_now(services, "test", [text_source("10", "A text that is longer. " * 20)])
    assert isinstance(large, Rejected)
    assert "bytes" in large.error
    assert isinstance(first, Indexed)
    assert isinstance(second, Indexed)
    await delete_document(services, "test", second.document_id)
    [kept] = await index(services, "test", range(12, 13))
    assert isinstance(kept, Indexed)


async def test_a_tenant_without_limits_takes_no_lock_and_a_limited_one_stops_no_other(
    services: Services, other_tenant: Services
) -> None:
    await limit_tenant(services, services.principal.tenant, {"documents": 5})
    connection = await asyncpg.connect(services.owner_dsn)
    async with connection.transaction():
        await connection.execute("SELECT FROM rag.tenant_limits FOR UPDATE")
        assert isinstance((await index(other_tenant, "test", range(1)))[0], Indexed)
        waiting = asyncio.create_task(index(services, "test", range(1)))
        assert isinstance((await index(other_tenant, "test", range(1, 2)))[0], Indexed)
        assert not waiting.done()
    assert isinstance((await waiting)[0], Indexed)
    await connection.close()


async def test_files_that_wait_are_never_more_than_the_tenant_may_keep(services: Services) -> None:
    change(services, "limits", bytes=1000)
    await index_later(services, "test", [text_source("a", "x" * 900)])
    with pytest.raises(TenantFullError, match="1000 bytes") as full:
        await index_later(services, "test", [text_source("b", "x" * 200)])
    assert full.value.headers["Retry-After"] == "3600"
    await index_later(services, "test", [text_source("c", "x" * 50)])


async def test_who_operates_sees_all_tenants_and_sets_their_limits(services: Services, other_tenant: Services) -> None:
    with pytest.raises(NotFoundError, match="no tenant 'three'"):
        await limit_tenant(services, "three", {"documents": 1})
    other = other_tenant.principal.tenant
    await limit_tenant(services, other, {"documents": 7, "bytes": 9})
    found = await limit_tenant(services, other, {"bytes": None})
    assert found.most == Holding(documents=7)
    assert {one.tenant: one.most.documents for one in await list_tenant_usage(services)}[other] == 7
    assert (await get_usage(other_tenant)).tenant == found
    assert (await get_usage(services)).tenant.most == Holding()
