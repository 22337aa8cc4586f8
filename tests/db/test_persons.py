"""What is kept because of a person: shown to them as a whole, and forgotten as a whole, also what is under way."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from cairn.domain.answer import Answer
from cairn.domain.connected_source import SourceWish
from cairn.domain.document import Source
from cairn.domain.event import Answered, Event
from cairn.domain.idempotency import StoredAnswer
from cairn.domain.ids import new_id
from cairn.domain.key import ApiKey, hash_secret
from cairn.domain.person import counted_by
from cairn.domain.principal import ALL_SCOPES, Caller, Principal
from cairn.domain.question import Question
from cairn.domain.trace import RunTrace
from cairn.errors import ConflictError, InputError, NotFoundError, ProviderTimeoutError
from cairn.runs.context import Record, Report
from cairn.runs.registry import Runs
from cairn.runs.task import Task
from cairn.runs.trace import run_trace
from cairn.service.access import remove_folder_access, set_folder_access
from cairn.service.ask import start
from cairn.service.audit import list_events
from cairn.service.conversations import delete_history, get_history, list_conversations
from cairn.service.documents import delete_document, find_document, find_document_id, get_collection, index_now
from cairn.service.editing import change_document
from cairn.service.idempotency import carry_out_once
from cairn.service.jobs import list_jobs
from cairn.service.keys import create_key, list_keys, revoke_key
from cairn.service.models import start_reindex
from cairn.service.operation import do_upkeep
from cairn.service.persons import export_person, forget_person
from cairn.service.runs import rate_run
from cairn.service.search import make_request, run_search
from cairn.settings import RunSettings
from cairn.settings.environment import OidcIssuer
from cairn.store import documents, jobs, memory, qa_sessions
from cairn.store import sources as source_store
from cairn.store.keys import find
from cairn.wiring import Services
from tests.db.runs import answered, change, fill, read
from tests.sharing import SHARED
from tests.waiting import hang_guard

pytestmark = SHARED

NAME = "ada.lovelace"
WORD = "zanzibarquartz"
"""Stands in what she asks, and in no document."""

REPO = Path(__file__).parents[2]
ALL_TABLES = """
SELECT c.relname::text AS name FROM pg_class c
WHERE c.relnamespace = 'rag'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND EXISTS (SELECT 1 FROM pg_attribute t WHERE t.attrelid = c.oid AND t.attname = 'tenant_id' AND NOT t.attisdropped)
"""
EVERYTHING = """
SELECT c.relname::text AS name, a.attname::text AS part, format_type(a.atttypid, a.atttypmod) AS type
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = 'rag'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND format_type(a.atttypid, a.atttypmod) IN ('text', 'text[]', 'jsonb', 'bytea')
  AND EXISTS (SELECT 1 FROM pg_attribute t WHERE t.attrelid = c.oid AND t.attname = 'tenant_id' AND NOT t.attisdropped)
"""


def as_caller(services: Services, caller: Caller) -> Services:
    return replace(services, principal=replace(services.principal, caller=caller))


def token(name: str, *scopes: Any) -> Caller:
    return Caller(f"token:{name}", name, frozenset(scopes or ("read", "ask")))


async def places(services: Services, *words: str) -> dict[tuple[str, str], int]:
    """Columns of the tenant, of whatever table, in which one of these words stands, and in how many rows."""
    found = {}
    connection = await asyncpg.connect(services.owner_dsn)
    try:
        for name, part, kind in await connection.fetch(EVERYTHING):
            text = f"encode({part}, 'escape')" if kind == "bytea" else f"{part}::text"
            count = await connection.fetchval(
                f"SELECT count(*) FROM rag.{name} WHERE tenant_id = $1 "
                f"AND EXISTS (SELECT 1 FROM unnest($2::text[]) AS w WHERE strpos(lower({text}), w) > 0)",
                services.principal.tenant_id,
                list(words),
            )
            if count:
                found[name, part] = count
    finally:
        await connection.close()
    return found


async def export(services: Services, person: str) -> list[dict[str, Any]]:
    return [line async for line in export_person(services, person)]


@pytest_asyncio.fixture(loop_scope="module")
async def ada(services: Services) -> AsyncIterator[tuple[Services, ApiKey]]:
    """Somebody of whom there is everything, beside somebody else, and a key that is called as she is."""
    await fill(services)
    change(services, "trace", sample_rate=1.0)
    house = as_caller(services, token("root", *ALL_SCOPES))
    her = as_caller(services, token(NAME, "read", "ask", "write"))
    key, _ = await create_key(house, NAME, ["read", "ask"])
    with_key = as_caller(services, Caller(f"key:{key.id}", NAME, frozenset({"read", "ask"}), key.id))
    bob = as_caller(services, token("bob"))
    for who, session in ((her, f"of-{NAME}"), (with_key, "by-key"), (bob, "of-bob")):
        word = "leave" if who is bob else WORD
        asked = Question(f"How many days of {word} leave do employees have?", "handbook", new_id(), session_id=session)
        await read(who, asked)
        await services.traces.flush()
        await rate_run(who, asked.run_id, 1, f"the {word} is right")
    await read(bob, Question("And who pays overtime?", "handbook", new_id(), session_id="shared"))
    await read(her, Question(f"And {WORD} hotels?", "handbook", new_id(), session_id="shared"))
    alone = Question(f"How is {WORD} overtime paid?", "handbook", new_id())
    async for _ in (await start(her, alone, resumable=True)).events():
        pass
    async with services.database.transaction(her.principal) as connection:
        who, session = her.principal, f"qa-{NAME}"
        held = await qa_sessions.open_(connection, who, "handbook", session, idle_minutes=60, nodes=10)
        assert held is not None
        await qa_sessions.keep(connection, who, held.key, passages=(), relations=(), not_found=[WORD], nodes=10)
    await run_search(her, make_request(her.settings.current, f"{WORD} hotels", ["handbook"]))

    async def work() -> str:
        return WORD

    reply = lambda text: StoredAnswer(201, {}, f'{{"told": "{text}"}}'.encode())  # noqa: E731
    await carry_out_once(her, "k-1", b"f", work, reply)
    await start_reindex(her, "handbook", force=True)
    await read(her, Question("Is leave paid?", "handbook", new_id(), session_id=f"gone-{NAME}"))
    await delete_history(her, f"gone-{NAME}")
    await create_key(as_caller(services, token(NAME, *ALL_SCOPES)), "search box", ["read"])
    access = {"only.md": [f"person:{NAME}"], "both.md": [f"person:{NAME}", "person:bob", f"key:{key.id}"]}
    for name, readers in access.items():
        for text in (
            b"The vault is above the stairs.",
            b"The vault is below the stairs.",
        ):  # for whom it was is known, too
            await index_now(house, "vault", [Source(name, name, text, access=tuple(readers))])
    await set_folder_access(house, "vault", "her", [f"person:{NAME}"])
    await index_now(house, "vault", [Source("her/own.md", "own.md", b"The vault has a second door.")])
    wish = SourceWish(
        "https://example.org/sitemap.xml", access={"": [f"person:{NAME}", "person:bob"]}, interval_seconds=0
    )
    async with services.database.transaction(house.principal) as connection:
        found = await get_collection(house, "vault")
        await source_store.add(connection, house.principal, new_id(), found.id, wish)
    await services.traces.flush()
    yield services, key


async def test_everything_of_a_person_is_exported_and_forgotten(ada: tuple[Services, ApiKey]) -> None:
    services, key = ada
    house = as_caller(services, token("root", *ALL_SCOPES))
    bob = as_caller(services, token("bob"))
    before = await places(house, WORD, NAME, str(key.id))
    assert {name for name, _ in before} >= {
        "sessions", "messages", "runs", "resumable_runs", "run_events", "feedback", "qa_sessions", "retrieval_cache",
        "idempotency_keys", "audit_events", "api_keys", "jobs", "documents",
    }  # fmt: skip

    lines = await export(house, NAME)
    head, *records, end = lines
    assert (head["kind"], head["version"], head["person"], head["keys"]) == (
        "export",
        2,
        f"person:{NAME}",
        [str(key.id)],
    )
    kinds = [line["kind"] for line in records]
    assert end == {"kind": "end", "counts": {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}}
    assert set(kinds) == {
        "conversation", "message", "run", "candidates", "resumable_run", "event", "feedback", "agent_session", "reply", "job",
        "key", "key_made", "access", "access_rule", "audit",
    }  # fmt: skip
    assert all("tenant_id" not in line["record"] and "key_hash" not in line["record"] for line in records)
    assert WORD in str([line["record"] for line in records if line["kind"] == "reply"])
    told = {line["record"]["id"] for line in records if line["kind"] == "conversation"}
    assert told == {
        f"of-{NAME}",
        "by-key",
        "shared",
    }
    assert "of-bob" not in str(records)
    said = [
        line["record"] for line in records if line["kind"] == "message" and line["record"]["session_id"] == "shared"
    ]
    assert [("content" in one, one.get("withheld", False)) for one in said] == [(False, True)] * 2 + [(True, False)] * 2

    # which of her conversations were read is recorded, and an id of one has her name in it
    before = await places(services, WORD, NAME, str(key.id))
    counted = await forget_person(house, NAME, dry_run=True)
    assert await places(house, WORD, NAME, str(key.id)) == {
        **before,
        ("audit_events", "caller"): before["audit_events", "caller"],
    }
    assert counted.counts == {
        "runs": counted.counts["runs"], "conversations": 3, "feedback": 2, "resumable_runs": 1, "agent_sessions": 1, "replies": 1,
        "audit_lines_without_name": counted.counts["audit_lines_without_name"], "jobs_without_name": 1,
        "keys_made_without_name": 1, "keys": 1, "access_lists": 2, "access_rules": 1,
    }  # fmt: skip
    assert counted.counts["runs"] == kinds.count("run") >= 6
    events = [(e.action, e.occurred_at) for e in await list_events(house, limit=500)]

    done = await forget_person(house, f"person:{NAME}")
    assert done.counts == counted.counts
    assert await places(house, WORD, NAME, str(key.id)) == {}

    after = await list_events(house, limit=500)
    assert [
        (e.action, e.occurred_at) for e in after if e.action != "person.forget"
    ] == events  # what was done stays true
    by_mark = {event.action for event in after if event.caller == done.mark}
    assert by_mark == {"key.create", "conversation.delete"}
    [forgot] = [event for event in after if event.action == "person.forget"]
    marked = {**done.counts, "tells_of_restricted": True}  # that lists named her is not for analysts
    assert (forgot.caller, forgot.target, forgot.detail) == ("token:root", done.mark, marked)

    # nobody reads more than before: a list that named her alone names nobody
    alone = await find_document(house, "vault", await find_document_id(house, "vault", "only.md"))
    assert list(alone.access or ()) == [f"person:{done.mark}"]
    with pytest.raises(NotFoundError):
        await find_document_id(bob, "vault", "only.md")
    ruled = await find_document(house, "vault", await find_document_id(house, "vault", "her/own.md"))
    assert (list(ruled.access or ()), ruled.access_from) == ([f"person:{done.mark}"], "her")
    both = await find_document(bob, "vault", await find_document_id(bob, "vault", "both.md"))
    assert list(both.access or ()) == ["person:bob"]
    assert [one.session_id for one in await list_conversations(bob)] == ["of-bob"]
    assert len(await get_history(bob, "of-bob")) == 2
    assert [one.name for one in await list_keys(house)] == ["search box"]
    assert (await list_keys(house))[0].created_by == done.mark


# --- what is under way -------------------------------------------------------------------------------------------------------


@pytest.fixture
def root(services: Services) -> Services:
    return as_caller(services, token("root", *ALL_SCOPES))


@pytest.mark.parametrize("elsewhere", [False, True], ids=["this process", "another process"])
@pytest.mark.parametrize("resumable", [False, True], ids=["plain", "resumable"])
async def test_a_question_under_way_leaves_nothing(
    services: Services, root: Services, resumable: bool, elsewhere: bool
) -> None:
    her, asked, goes_on = (
        as_caller(services, token(NAME)),
        Question(f"Where is {WORD}?", "none", new_id(), session_id=WORD),
        asyncio.Event(),
    )

    async def work(_: Report) -> Answer:
        await goes_on.wait()
        raise ProviderTimeoutError(f"the model knows no {WORD}")

    at = Runs(services.database, RunSettings) if elsewhere else services.runs
    task = await at.start(her.principal, asked, work, lambda _: None, resumable=resumable)
    if resumable:
        assert ("resumable_runs", "asked_by") in await places(services, NAME)
    waiting = asyncio.create_task(last_event(task))
    assert (await forget_person(root, NAME)).counts["resumable_runs"] == resumable
    if elsewhere:
        goes_on.set()
    async with hang_guard():
        with suppress(NotFoundError):
            assert not isinstance(await waiting, Answered)
        while at.find(her.principal, asked.run_id):
            await asyncio.sleep(0.01)
    assert goes_on.is_set() == elsewhere  # what runs here was ended
    services.traces.record(a_trace(her, asked))
    await services.traces.flush()
    assert await places(services, NAME, WORD) == {}


async def last_event(task: Task) -> Event:
    return [item.event async for item in task.events()][-1]


def a_trace(who: Services, asked: Question) -> RunTrace:
    record = Record(asked)
    return run_trace(record, None, principal=who.principal, started_at=datetime.now(UTC), settings_revision="")


async def test_who_writes_in_that_moment_is_waited_for(services: Services, root: Services) -> None:
    her = as_caller(services, token(NAME))
    await keys_of(services, "token:bob")  # she is not the first of the tenant that writes, for whom all wait
    async with services.database.transaction(her.principal) as connection:
        await memory.add(connection, her.principal, "talk", None, [memory.NewMessage("user", WORD, new_id())])
        forgetting = asyncio.create_task(forget_person(root, NAME))
        async with hang_guard():
            while not await waits_for_a_lock(services):
                await asyncio.sleep(0.01)
        assert not forgetting.done()
    assert (await forgetting).counts["conversations"] == 1
    assert await places(services, NAME, WORD) == {}


async def test_the_locks_that_analysts_see_name_nobody(services: Services, owner: Any) -> None:
    """Every login may read pg_locks. A key that follows from what one knows of a person would tell that they are asking."""
    her = as_caller(services, token(NAME))
    known = (NAME, her.principal.caller.id, f"{her.principal.tenant_id} {her.principal.caller.id}")
    async with services.database.transaction(her.principal) as connection:
        await memory.add(connection, her.principal, "talk", None, [memory.NewMessage("user", WORD, new_id())])
        held = await held_keys(owner)
    assert not held & {int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") for text in known}
    hers, bobs = await keys_of(services, f"token:{NAME}", "token:bob")
    assert hers in held
    assert bobs not in held
    for statement in ("SELECT salt FROM rag.forgotten_callers", "SELECT rag.lock_of('token:bob', 1)"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await owner.execute(f"BEGIN; SET LOCAL ROLE cairn_analyst; {statement}")
        await owner.execute("ROLLBACK")


async def held_keys(owner: Any) -> set[int]:
    rows = await owner.fetch(
        "SELECT classid::bigint, objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    return {row["classid"] << 32 | row["objid"] for row in rows}


async def keys_of(services: Services, *callers: str) -> list[int]:
    """Each as another process reckons it: on a connection of its own, at the same time."""

    async def one(caller: str) -> int:
        async with services.database.transaction(services.principal) as connection:
            key = await connection.fetchval("SELECT rag.lock_of($1, $2)", caller, services.principal.tenant_id)
            return int(key) % 2**64

    return list(await asyncio.gather(*(one(caller) for caller in callers)))


SECRET = "rag.forgotten_callers WHERE tenant_id = $1 AND digest = ''"


async def test_all_who_write_for_somebody_take_the_same_lock(services: Services, owner: Any) -> None:
    """Also those who come at the same time and are the first of the tenant. Of another tenant it is another one."""
    tenant = services.principal.tenant_id
    for _ in range(3):
        await owner.execute(f"DELETE FROM {SECRET}", tenant)
        assert len(set(await keys_of(services, *["token:bob"] * 6))) == 1
        assert await owner.fetchval(f"SELECT count(*) FROM {SECRET}", tenant) == 1
    [here] = await keys_of(services, "token:bob")
    transaction = owner.transaction()
    await transaction.start()
    elsewhere = await owner.fetchval("SELECT rag.lock_of('token:bob', -1)")
    await transaction.rollback()
    assert elsewhere % 2**64 != here


async def test_tenants_of_before_have_their_secret_from_the_upgrade_on(services: Services, owner: Any) -> None:
    """So that nobody waits for a long transaction which happens to be the first that writes."""
    tenant, transaction = services.principal.tenant_id, owner.transaction()
    await transaction.start()
    await owner.execute(f"DELETE FROM {SECRET}", tenant)
    await owner.execute((REPO / "sql" / "functions" / "persons.sql").read_text())
    found = await owner.fetchval(f"SELECT length(salt) FROM {SECRET}", tenant)
    await transaction.rollback()
    assert found == 32


async def waits_for_a_lock(services: Services) -> bool:
    connection = await asyncpg.connect(services.owner_dsn)
    try:
        return bool(
            await connection.fetchval(
                "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)"
            )
        )
    finally:
        await connection.close()


async def test_for_an_hour_nothing_is_kept_and_then_it_is(services: Services, root: Services) -> None:
    await fill(services)
    her = as_caller(services, token(NAME))
    await forget_person(root, NAME)
    told = await answered(her, f"How many days of {WORD} leave do employees have?", session_id="new")
    assert any("forgotten within the last hour" in note for note in told.degraded), told.degraded
    asked = Question("Is leave paid?", "handbook", new_id())
    with pytest.raises(ConflictError, match="forgotten"):
        await start(her, asked, resumable=True)
    bobs = Question("Is leave paid?", "handbook", new_id())
    await read(as_caller(services, token("bob")), bobs)
    with pytest.raises(ConflictError, match="forgotten"):
        await rate_run(her, bobs.run_id, 1)
    await run_search(her, make_request(her.settings.current, f"{WORD} hotels", ["handbook"]))
    await start_reindex(her, "handbook", force=True)
    with pytest.raises(NotFoundError):
        await delete_document(her, "handbook", new_id())
    await delete_document(her, "handbook", await find_document_id(her, "handbook", "pay.md"))
    await services.traces.flush()
    assert await places(services, NAME, WORD) == {}
    assert {event.caller.partition(":")[0] for event in await list_events(root, action="document.delete")} == {
        "forgotten"
    }

    await move_back(services)
    await answered(her, "How many days of leave do employees have?", session_id="new")
    await services.traces.flush()
    assert {name for name, _ in await places(services, NAME)} >= {"sessions", "runs"}
    await do_upkeep(services)
    async with services.database.transaction(services.principal) as connection:
        kept = await connection.fetch("SELECT digest, length(salt) FROM rag.forgotten_callers")
    assert [tuple(row) for row in kept] == [(b"", 32)], "the secret of the locks, and nobody"


async def move_back(services: Services) -> None:
    async with services.database.transaction(services.principal) as connection:
        await connection.execute("UPDATE rag.forgotten_callers SET forgotten_at = forgotten_at - interval '61 minutes'")


# --- who it is -----------------------------------------------------------------------------------------------------------


async def test_what_a_token_has_used_is_told_and_stays_a_sum(services: Services, root: Services) -> None:
    issuer = OidcIssuer("https://id.example.org", ("cairn",))
    with_issuer = replace(root, environment=replace(root.environment, oidc=issuer))
    counted = counted_by(issuer.issuer, root.principal.tenant, NAME)
    async with services.database.transaction(services.principal) as connection:
        day = (
            "INSERT INTO rag.key_usage (tenant_id, key_id, day, tokens) VALUES ($1, $2, current_date - $3::integer, 7)"
        )
        for days in (0, 1):
            await connection.execute(day, services.principal.tenant_id, counted, days)
    assert [line["record"]["tokens"] for line in await export(with_issuer, NAME) if line["kind"] == "usage"] == [7, 7]
    await forget_person(with_issuer, NAME)
    async with services.database.transaction(services.principal, readonly=True) as connection:
        rows = await connection.fetch("SELECT key_id, tokens FROM rag.key_usage")
    assert [row["tokens"] for row in rows] == [7, 7]
    assert counted not in {row["key_id"] for row in rows}
    assert len({row["key_id"] for row in rows}) == 1


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "is nobody"), ("person:", "is nobody"), ("a\nb", "is nobody"), ("x" * 1001, "is nobody"), ("group:hr", "is a group"),
        ("key:ada", "is not the id of a key"),
    ],
)  # fmt: skip
async def test_nobody_can_be_called_so(root: Services, name: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        await export(root, name)
    with pytest.raises(InputError, match=why):
        await forget_person(root, name)


async def test_who_left_nothing_has_an_export_without_records(services: Services, root: Services) -> None:
    assert [line["kind"] for line in await export(root, "x" * 1000)] == ["export", "end"]
    assert not any((await forget_person(root, "nobody")).counts.values())
    assert [event.target for event in await list_events(root, action="person.export")] == [""]


async def test_nobody_forgets_themselves(services: Services, root: Services) -> None:
    for name in ("root", "person:root"):
        with pytest.raises(ConflictError, match="somebody else"):
            await forget_person(root, name)


async def test_a_key_alone_is_forgotten_by_its_id(services: Services, root: Services) -> None:
    key, secret = await create_key(root, "box", ["read"])
    other, _ = await create_key(root, "box", ["read"])
    await forget_person(root, f"key:{key.id}")
    assert [one.id for one in await list_keys(root)] == [other.id]
    created = {event.target for event in await list_events(root, action="key.create")}
    assert str(key.id) not in created
    assert str(other.id) in created
    async with services.database.connection() as connection:
        assert await find(connection, hash_secret(secret)) is None


# --- what access lists and others keep from them ----------------------------------------------------------------------------

PAY, KEPT = "412,000", "quillfeather"
"""Stand in documents that are for others, and in those that are for her."""


def in_hr(services: Services) -> Services:
    return as_caller(services, replace(token("bob"), groups=frozenset({"hr"})))


async def give(house: Services, name: str, text: str, *readers: str) -> None:
    await index_now(house, "default", [Source(name, name, text.encode(), access=readers or None)])


def of(lines: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [line["record"] for line in lines if line["kind"] == kind]


async def ask_in(who: Services, session: str | None, *questions: str, resumable: bool = False) -> None:
    for text in questions:
        task = await start(who, Question(text, "default", new_id(), session_id=session), resumable=resumable)
        assert [item.event async for item in task.events()]
    await who.traces.flush()


@pytest.mark.parametrize("resumable", [False, True])
async def test_an_export_says_of_what_others_asked_only_that_they_did(
    services: Services, root: Services, resumable: bool
) -> None:
    her, bob = as_caller(services, token(NAME)), in_hr(services)
    await give(root, "open", "Employees have 30 days of leave per year.")
    await give(root, "pay", f"The pay of Grace Hopper is {PAY} per year.", "group:hr")
    await ask_in(her, "team", "How many days of leave do employees have?", resumable=resumable)
    await ask_in(bob, "team", "What is the pay of Grace Hopper?", resumable=resumable)
    assert await get_history(her, "team") == []
    lines = await export(root, NAME)
    assert not any(word in str(lines) for word in (PAY, "Grace", "token:bob", "group:hr"))
    hers, answer, his, told = of(lines, "message")
    assert (hers["content"], hers["withheld"]) == ("How many days of leave do employees have?", True)
    for one, position in ((answer, 2), (his, 3), (told, 4)):
        assert one == {
            "id": one["id"], "session_id": "team", "position": position, "role": ("assistant", "user")[position % 2],
            "run_id": one["run_id"], "created_at": one["created_at"], "withheld": True,
        }  # fmt: skip
    first, second = of(lines, "run")
    assert (first["question"], first["asked_by"]) == (hers["content"], f"token:{NAME}")
    assert set(second) == {"id", "session_id", "kind", "started_at", "withheld"}
    assert all(one["withheld"] and "passage_ids" not in one for one in of(lines, "candidates"))
    assert all(one["withheld"] and "data" not in one for one in of(lines, "event"))
    assert len(of(lines, "resumable_run")) == 2 * resumable
    [talk] = of(lines, "conversation")
    assert (talk["id"], talk["asked_by"], "title" in talk, talk["withheld"]) == ("team", [f"token:{NAME}"], False, True)
    [read_others] = await list_events(root, action="conversation.read_others")
    assert (read_others.caller, read_others.target, read_others.detail) == ("token:root", "team", {"way": "export"})
    assert not await list_events(root, action="document.read_restricted")


async def test_an_export_has_of_a_shared_conversation_all_that_is_theirs(services: Services, root: Services) -> None:
    her, bob = as_caller(services, token(NAME)), as_caller(services, token("bob"))
    await give(root, "open", "Employees have 30 days of leave per year.")
    await ask_in(her, "team", "How many days of leave do employees have?")
    await ask_in(bob, "team", "And how many days of leave has a year?")
    hers, answer, his, told = of(await export(root, NAME), "message")
    assert "30 days" in answer["content"]
    assert "withheld" not in hers
    assert "withheld" not in answer
    assert (his["withheld"], told["withheld"], "content" in his) == (True, True, False)
    async with services.database.transaction(services.principal) as connection:  # as when traces have gone by their age
        await connection.execute("DELETE FROM rag.runs")
    assert all(one["content"] for one in of(await export(root, NAME), "message")), (
        "whose they are is not known any more"
    )


async def test_an_export_leaves_out_what_others_said_of_what_is_theirs(services: Services, root: Services) -> None:
    her, bob = as_caller(services, token(NAME)), as_caller(services, token("bob"))
    await give(root, "open", "Employees have 30 days of leave per year.")
    asked = Question("How many days of leave do employees have?", "default", new_id(), session_id="team")
    await read(her, asked)
    await services.traces.flush()
    await rate_run(bob, asked.run_id, -1, f"no {WORD}")
    for session, callers in (("alone", (her,)), ("both", (her, bob))):
        for who in callers:
            async with services.database.transaction(who.principal) as connection:
                held = await qa_sessions.open_(connection, who.principal, "default", session, idle_minutes=60, nodes=10)
                assert held is not None
                what = {"passages": (), "relations": (), "not_found": [f"{session} {WORD}"], "nodes": 10}
                await qa_sessions.keep(connection, who.principal, held.key, **what)
    lines = await export(root, NAME)
    [judged] = of(lines, "feedback")
    assert set(judged) == {"run_id", "rating", "created_at", "updated_at", "withheld"}
    alone, both = of(lines, "agent_session")
    assert (alone["not_found"], "withheld" in alone) == ([f"alone {WORD}"], False)
    assert set(both) == {"id", "created_at", "last_accessed_at", "withheld"}


async def test_an_export_has_answers_from_documents_that_the_person_may_read_now(
    services: Services, root: Services
) -> None:
    her = as_caller(services, token(NAME))
    for name in ("kept", "lost"):
        await give(root, name, f"The {KEPT} {name} of Grace Hopper is 7.", f"person:{NAME}")
        await ask_in(her, name, f"What is the {KEPT} {name} of Grace Hopper?")
    await ask_in(her, None, f"Is the {KEPT} kept 7?")
    lost = await find_document_id(root, "default", "lost")
    await change_document(root, "default", lost, access=["group:hr"])
    lines = await export(root, NAME)
    messages = {(one["session_id"], one["role"]): one for one in of(lines, "message")}
    assert "is 7" in messages["kept", "assistant"]["content"]
    assert KEPT in messages["lost", "user"]["content"]
    assert "content" not in messages["lost", "assistant"]
    runs = {one["session_id"]: one for one in of(lines, "run")}
    assert "answer" in runs["kept"]
    assert "answer" not in runs["lost"]
    assert "question" in runs["lost"]
    assert {one["document_id"]: one.get("title") for one in of(lines, "access")} == {
        str(await find_document_id(root, "default", "kept")): "kept"
    }
    told = await list_events(root, action="conversation.read_others")
    assert {one.target for one in told} == {"kept", "lost", runs[None]["id"]}
    [restricted] = await list_events(root, action="document.read_restricted")
    assert restricted.detail["way"] == "export"
    assert restricted.detail["documents"] == [str(await find_document_id(root, "default", "kept"))]
    assert await export(as_caller(services, token(NAME, *ALL_SCOPES)), NAME)
    assert not await list_events(root, action="conversation", caller=f"token:{NAME}"), "one's own leaves no record"


async def order(who: Principal, services: Services, kind: str, payload: dict[str, Any]) -> None:
    """A job that has ended, and says how. Ordered by somebody's house it reads everything, and bears their name all the same."""
    async with services.database.transaction(who.house) as connection:
        job = await jobs.enqueue(connection, who, kind, payload, max_attempts=3)
        await connection.execute(
            "UPDATE rag.jobs SET status = 'failed', started_at = now(), finished_at = now(), error = $2, result = $3,"
            " progress = $4 WHERE id = $1",
            *(job.id, f"{PAY} is no number", {"documents": 14}, {"done": 1, "total": 2, "message": "pay of Grace"}),
        )


async def test_an_export_has_of_jobs_what_row_security_shows_of_them(services: Services, root: Services) -> None:
    her = as_caller(services, token(NAME, "read", "ask", "write"))
    await give(root, "open", "Employees have 30 days of leave per year.")
    await index_now(root, "staff", [Source("pay", "pay", f"It is {PAY}.".encode(), access=("group:hr",))])
    await index_now(root, "hers", [Source("own", "own", f"It is {PAY}.".encode(), access=(f"person:{NAME}",))])
    homes = {name: str((await get_collection(root, name)).id) for name in ("default", "staff", "hers")}
    for kind, payload in (
        *(("enrich", {"collection_id": home}) for home in homes.values()),
        ("graph", {"collection_id": homes["default"], "tells_of_restricted": True}),
        ("sync_source", {"collection_id": homes["default"]}),
        ("reweight", {}),
    ):
        await order(her.principal.house, services, kind, payload)
    await order(her.principal, services, "index_uploads", {"collection_id": homes["staff"]})
    shown = {str(one.id) for one in await list_jobs(her)}
    told = of(await export(root, NAME), "job")
    assert len(told) == 7
    assert {one["id"] for one in told if "withheld" not in one} == shown
    open_ones = {(one["kind"], one["payload"]["collection_id"]) for one in told if "withheld" not in one}
    assert open_ones == {
        ("enrich", homes["default"]), ("enrich", homes["hers"]), ("index_uploads", homes["staff"]),
    }  # fmt: skip
    for one in told:
        if one["id"] not in shown:
            assert set(one) == {"id", "kind", "created_at", "started_at", "finished_at", "withheld"}

    for name, where in (("pay", "staff"), ("own", "hers")):
        await change_document(root, where, await find_document_id(root, where, name), access=[])
    kinds = [(one["kind"], "withheld" in one) for one in of(await export(root, NAME), "job") if one["id"] not in shown]
    assert sorted(kinds) == [("enrich", False), ("graph", True), ("reweight", False), ("sync_source", False)]


async def test_an_export_has_replies_where_nothing_is_withheld(services: Services, root: Services) -> None:
    her = as_caller(services, token(NAME, "read", "ask", "write"))

    async def work() -> str:
        return f"pay of Grace Hopper is {PAY}"

    reply = lambda text: StoredAnswer(201, {"Location": f"/documents/{PAY}"}, text.encode())  # noqa: E731
    await carry_out_once(her, "k-1", b"f", work, reply)

    async def told() -> dict[str, Any]:
        [one] = of(await export(root, NAME), "reply")
        return one

    assert PAY in (await told())["body"]
    await give(root, "pay", f"The pay of Grace Hopper is {PAY} per year.", f"person:{NAME}", "group:hr")
    await set_folder_access(root, "default", "her", [f"person:{NAME}"])
    await set_folder_access(root, "default", "her/menu", [])
    assert PAY in (await told())["body"]
    pay = await find_document_id(root, "default", "pay")
    withheld = {"key", "created_at", "withheld"}
    await change_document(root, "default", pay, access=["group:hr"])
    assert (set(await told()), (await told())["withheld"]) == (withheld, True)
    await change_document(root, "default", pay, access=[])
    assert PAY in (await told())["body"]
    await set_folder_access(root, "default", "hr", ["group:hr"])  # documents may be to come
    assert set(await told()) == withheld
    await remove_folder_access(root, "default", "hr")
    wish = SourceWish(
        "https://example.org/sitemap.xml", access={"": [f"person:{NAME}"], "menu": []}, interval_seconds=0
    )
    home = (await get_collection(root, "default")).id
    async with services.database.transaction(root.principal) as connection:
        await source_store.add(connection, root.principal, new_id(), home, wish)
    assert PAY in (await told())["body"]
    async with services.database.transaction(root.principal) as connection:
        await connection.execute("UPDATE rag.sources SET access = $1", {"": [f"person:{NAME}"], "hr": ["group:hr"]})
    assert set(await told()) == withheld


async def test_groups_of_the_keys_of_a_person_count_for_their_export(services: Services, root: Services) -> None:
    key, _ = await create_key(root, NAME, ["read", "ask"], groups=["hr"])
    her = as_caller(
        services, Caller(f"key:{key.id}", NAME, frozenset({"read", "ask"}), key.id, groups=frozenset({"hr"}))
    )
    await give(root, "pay", f"The pay of Grace Hopper is {PAY} per year.", "group:hr")
    await ask_in(her, "mine", "What is the pay of Grace Hopper?")
    assert PAY in str(of(await export(root, NAME), "message"))
    await revoke_key(root, key.id)
    assert PAY not in str(await export(root, NAME))


async def test_a_list_that_is_given_meanwhile_stays_when_somebody_is_forgotten(
    services: Services, root: Services
) -> None:
    staff = as_caller(services, replace(token("sam"), groups=frozenset({"staff"})))
    for name in ("a", "b"):
        await give(root, name, f"The pay of {name} is {PAY}.", "group:staff", f"person:{NAME}")
    found = {name: await find_document_id(root, "default", name) for name in ("a", "b")}
    home = (await get_collection(root, "default")).id
    async with services.database.transaction(root.principal) as connection:
        await documents.set_access(connection, home, found["b"], ["group:hr", f"person:{NAME}"])
        forgetting = asyncio.create_task(forget_person(root, NAME))
        async with hang_guard():
            while not await waits_for_a_row(services):
                await asyncio.sleep(0.01)
    assert (await forgetting).counts["access_lists"] == 2
    lists = {name: (await find_document(root, "default", one)).access for name, one in found.items()}
    assert {name: list(one or ()) for name, one in lists.items()} == {"a": ["group:staff"], "b": ["group:hr"]}
    with pytest.raises(NotFoundError):
        await find_document(staff, "default", found["b"])


async def waits_for_a_row(services: Services) -> bool:
    connection = await asyncpg.connect(services.owner_dsn)
    try:
        return bool(
            await connection.fetchval(
                "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype IN ('transactionid', 'tuple') AND NOT granted)"
            )
        )
    finally:
        await connection.close()


# --- the page that says what is kept -----------------------------------------------------------------------------------------


async def test_the_page_says_of_every_table_what_is_kept_and_how_it_goes(services: Services) -> None:
    page = (REPO / "docs" / "privacy.md").read_text()
    rows = [
        line.strip("|").split("|") for line in page.partition("## All that is kept")[2].splitlines() if line[:2] == "| "
    ][1:]
    assert all(len(row) == 5 and all(cell.strip() for cell in row) for row in rows)
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row[1])]
    connection = await asyncpg.connect(services.owner_dsn)
    try:
        tables = {row["name"] for row in await connection.fetch(ALL_TABLES)}
    finally:
        await connection.close()
    assert sorted(named) == sorted(tables), "each once; a new table says here what is kept because of whom"
    known = (REPO / "docs" / "reference" / "settings.md").read_text()
    settings = {name for row in rows for name in re.findall(r"`(\w+\.\w+)`", row[3])}
    assert len(settings) >= 8
    assert all(f"| `{name}` |" in known for name in settings)


async def test_the_page_names_every_kind_of_an_export(services: Services) -> None:
    page = (REPO / "docs" / "privacy.md").read_text().partition("| kind | table |")[2].partition("\n\n")[0]
    named = {
        name for line in page.splitlines() for name in re.findall(r"`(\w+)`", line.split("|")[1] if "|" in line else "")
    }
    async with services.database.transaction(services.principal, readonly=True) as connection:
        body = await connection.fetchval("SELECT prosrc FROM pg_proc WHERE oid = 'rag.kept_of'::regproc")
    assert named == set(re.findall(r"RETURN QUERY SELECT '(\w+)'", body))
