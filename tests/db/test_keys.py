"""Keys: made, found by their hash, kept for seconds, forgotten when they are revoked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from uuid import uuid4

import asyncpg
import pytest

from cairn.domain.key import Grant, hash_secret, new_secret
from cairn.domain.principal import Caller, KeyLimits
from cairn.errors import ForbiddenError, InputError, NotFoundError, UnauthenticatedError
from cairn.service import authenticate_local
from cairn.service.audit import list_events
from cairn.service.authenticate_local import KeyRing
from cairn.service.documents import create_collection, index_now
from cairn.service.keys import change_groups, create_key, list_keys, of_tenant, revoke_key
from cairn.service.operation import do_upkeep
from cairn.wiring import Services
from tests.documents import text_source
from tests.sharing import ALONE, SHARED
from tests.waiting import until

pytestmark = SHARED


@asynccontextmanager
async def listening(services: Services) -> AsyncIterator[KeyRing]:
    """A ring that has proved that it hears of revocations."""
    ring = KeyRing(services.database)
    task = asyncio.create_task(ring.listen())
    try:
        await until(lambda: ring.is_proven)
        yield ring
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def lookups(services: Services) -> int:
    """How often keys were looked up in this database, so far."""
    connection = await asyncpg.connect(services.owner_dsn)
    try:
        await connection.execute("SELECT pg_stat_force_next_flush()")
        return int(
            await connection.fetchval(
                "SELECT sum(idx_scan) FROM pg_stat_user_indexes WHERE indexrelname = 'api_keys_hash_idx'"
            )
        )
    finally:
        await connection.close()


async def test_a_key_is_stored_as_its_hash_and_shown_once(services: Services) -> None:
    made, secret = await create_key(services, "  a  name ", ["read"], limits=KeyLimits(tokens_per_day=5))
    assert (made.name, made.scopes, made.limits.tokens_per_day, made.created_by) == ("a name", {"read"}, 5, "local")
    assert secret.startswith(made.shown)
    (listed,) = await list_keys(services)
    assert listed == made
    connection = await asyncpg.connect(services.owner_dsn)
    row = await connection.fetchval("SELECT k::text FROM rag.api_keys AS k WHERE id = $1", made.id)
    audited = await connection.fetchval("SELECT string_agg(a::text, ' ') FROM rag.audit_events AS a")
    await connection.close()
    for text in (row, audited):
        assert secret not in text
        assert secret[len(made.shown) :] not in text
    assert hash_secret(secret).hex() in row
    assert "key.create" in audited


async def test_what_a_key_may_not_be(services: Services) -> None:
    for name, scopes, span in [("", ["read"], None), ("x" * 300, ["read"], None), ("x", [], None)] + [
        ("x", ["read"], timedelta(seconds=seconds)) for seconds in (0, -1, 10**10)
    ]:
        with pytest.raises(InputError):
            await create_key(services, name, scopes, expires_in=span)  # type: ignore[arg-type]
    with pytest.raises(NotFoundError):
        await revoke_key(services, uuid4())


async def test_nobody_gives_a_scope_that_they_do_not_have(services: Services) -> None:
    weak = replace(services, principal=replace(services.principal, caller=Caller(scopes=frozenset({"admin", "read"}))))
    await create_key(weak, "x", ["read"])
    with pytest.raises(ForbiddenError):
        await create_key(weak, "x", ["read", "write"])


async def test_a_key_stands_for_its_tenant(services: Services) -> None:
    other = await of_tenant(services, "two", create=True)
    made, secret = await create_key(other, "x", ["read", "ask"], limits=KeyLimits(requests_per_minute=7))
    async with listening(services) as ring:
        grant = await ring.authenticate(secret)
    assert (grant.principal.tenant_id, grant.principal.tenant) == (other.principal.tenant_id, "two")
    caller = grant.principal.caller
    assert (caller.id, caller.key_id, caller.scopes) == (f"key:{made.id}", made.id, {"read", "ask"})
    assert caller.limits.requests_per_minute == 7
    assert await list_keys(services) == []
    with pytest.raises(NotFoundError):
        await revoke_key(services, made.id)
    (used,) = await list_keys(other)
    assert used.last_used_at is not None


@pytest.mark.parametrize(
    "credential",
    ["", "cairn_", "x.y.z", "ä" * 100, new_secret(), "cairn_" + "0" * 56],
    ids=["empty", "prefix", "token", "letters", "unknown", "checksum"],
)
async def test_what_is_no_key_is_refused(services: Services, credential: str) -> None:
    with pytest.raises(UnauthenticatedError) as refused:
        await KeyRing(services.database).authenticate(credential)
    if credential:
        assert credential not in refused.value.detail


async def test_a_look_up_is_kept_and_forgotten_at_once_when_it_is_revoked(services: Services) -> None:
    made, secret = await create_key(services, "x", ["read"])
    async with listening(services) as one, listening(services) as two:
        for ring in (one, two):
            await ring.authenticate(secret)
        before = await lookups(services)
        for _ in range(200):
            await one.authenticate(secret)
        assert await lookups(services) - before <= 1
        await revoke_key(services, made.id)
        for ring in (one, two):  # by notification: nobody told them here
            await until(lambda ring=ring: not ring.keeps(secret))  # type: ignore[misc]
            with pytest.raises(UnauthenticatedError):
                await ring.authenticate(secret)


async def test_other_groups_count_at_the_next_request_on_every_process(services: Services) -> None:
    made, secret = await create_key(services, "x", ["read"], groups=["hr"])

    async def groups(ring: KeyRing) -> frozenset[str]:
        return (await ring.authenticate(secret)).principal.caller.groups

    async with listening(services) as one, listening(services) as two:
        ended = asyncio.Event()
        with one.watch(await one.authenticate(secret), ended.set):
            for given in (["sales", "hr"], []):
                for ring in (one, two):
                    await groups(ring)
                    assert ring.keeps(secret)
                changed = await change_groups(services, made.id, given)
                assert changed.groups == tuple(sorted(given))
                for ring in (one, two):  # by notification: nobody told them here
                    await until(lambda ring=ring: not ring.keeps(secret))  # type: ignore[misc]
                    assert await groups(ring) == set(given)
        assert not ended.is_set(), "it counts as before"
    assert await list_keys(services) == [replace(made, groups=(), last_used_at=changed.last_used_at)]


async def test_which_groups_a_key_may_be_given(services: Services, other_tenant: Services) -> None:
    made, _ = await create_key(services, "x", ["read"], groups=["hr"])
    weak = replace(
        services, principal=replace(services.principal, caller=Caller(scopes=frozenset({"read"}), groups=frozenset({"hr"})))
    )  # fmt: skip
    with pytest.raises(ForbiddenError):
        await change_groups(weak, made.id, ["hr", "sales"])
    for wrong in ([""], [" hr"], ["x" * 201], [str(n) for n in range(101)]):
        with pytest.raises(InputError):
            await change_groups(services, made.id, wrong)
    for whose, key_id in ((services, uuid4()), (other_tenant, made.id)):
        with pytest.raises(NotFoundError):
            await change_groups(whose, key_id, [])
    (listed,) = await list_keys(services)
    assert listed.groups == ("hr",)
    assert (await change_groups(weak, made.id, ["hr"])).groups == ("hr",)


async def test_what_changes_the_groups_of_a_key_is_recorded(services: Services) -> None:
    """Once for each change, and kept from analysts as long as anything is restricted."""
    made, _ = await create_key(services, "x", ["read"])
    for groups in (["hr", "hr"], ["hr"], ["sales"], []):
        await change_groups(services, made.id, groups)
    found = await list_events(services, action="key.change")
    assert [(one.target, one.detail) for one in reversed(found)] == [
        (str(made.id), {"name": "x", "groups": {"before": before, "after": after}})
        for before, after in (([], ["hr"]), (["hr"], ["sales"]), (["sales"], []))
    ]
    shown = "SELECT count(*) FROM rag.audit_events WHERE action = 'key.change'"
    strangers = replace(services.principal, caller=Caller("key:0190", "x", frozenset({"read"})))
    for count, access in ((3, None), (0, ("group:hr",))):
        await index_now(services, "default", [replace(text_source("a", "A stone."), access=access)])
        async with services.database.transaction(strangers, readonly=True) as connection:
            assert await connection.fetchval(shown) == count


async def test_nothing_is_kept_while_nobody_listens(services: Services) -> None:
    made, secret = await create_key(services, "x", ["read"])
    ring = KeyRing(services.database)
    await ring.authenticate(secret)
    await ring.authenticate(secret)
    await revoke_key(services, made.id)
    with pytest.raises(UnauthenticatedError):
        await ring.authenticate(secret)


@ALONE
async def test_a_revocation_that_was_missed_ends_what_is_under_way(services: Services) -> None:
    """The listener's connection is cut, the key revoked meanwhile: on its next connection the ring asks."""
    made, secret = await create_key(services, "x", ["read"])
    async with listening(services) as ring:
        ended = asyncio.Event()
        with ring.watch(await ring.authenticate(secret), ended.set):
            admin = await asyncpg.connect(services.owner_dsn)
            await admin.execute("UPDATE rag.api_keys SET revoked_at = now()")  # by hand: nobody is notified
            await admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
                "AND pid <> pg_backend_pid()"
            )
            await admin.close()
            await until(ended.is_set, 20)
    assert made.revoked_at is None


async def test_a_notification_of_somebody_else_ends_nothing(services: Services) -> None:
    made, secret = await create_key(services, "x", ["read"])
    async with listening(services) as ring:
        ended = asyncio.Event()
        grant = await ring.authenticate(secret)
        with ring.watch(grant, ended.set):
            admin = await asyncpg.connect(services.owner_dsn)
            await admin.execute(f"NOTIFY cairn_keys, '{made.id}'")
            await admin.close()
            await until(lambda: not ring.keeps(secret))
            await ring.authenticate(secret)
        assert not ended.is_set()


async def test_a_flood_of_notifications_takes_no_look_up_from_others(services: Services) -> None:
    """Whoever may connect may notify: an analyst, for example."""
    _, secret = await create_key(services, "x", ["read"])
    other, other_secret = await create_key(services, "y", ["read"])
    revoked, revoked_secret = await create_key(services, "z", ["read"])
    async with listening(services) as ring:
        grants = {one: await ring.authenticate(one) for one in (secret, other_secret, revoked_secret)}
        before, ended = await lookups(services), asyncio.Event()
        stranger = await asyncpg.connect(services.owner_dsn)
        with ring.watch(grants[other_secret], ended.set):
            await stranger.execute(
                "SELECT pg_notify('cairn_keys', gen_random_uuid()::text) FROM generate_series(1, 20000)"
            )
            await stranger.execute("SELECT pg_notify('cairn_keys', 'echo ' || n) FROM generate_series(1, 1000) AS n")
            for _ in range(300):
                await stranger.execute(f"NOTIFY cairn_keys, '{other.id}'")
            await revoke_key(services, revoked.id)
            await until(lambda: not ring.keeps(revoked_secret))  # in the order of commits: all of them were heard
            await until(lambda: ring.is_proven)  # a slow machine may be late with the next proof
            assert ring.keeps(secret)
            assert not ring.keeps(other_secret), "of the one that was named the database is asked"
            for one in (secret, other_secret):
                await ring.authenticate(one)
        await stranger.close()
        assert not ended.is_set()
        assert await lookups(services) - before < 50, "of 21,300 notifications"


async def test_who_overhears_a_proof_cannot_repeat_it(services: Services) -> None:
    stranger, overheard = await asyncpg.connect(services.owner_dsn), list[str]()
    await stranger.add_listener("cairn_keys", lambda *said: overheard.append(said[3]))
    async with listening(services):
        await until(lambda: len(overheard) >= 3)
    await stranger.close()
    assert len(set(overheard)) == len(overheard)


async def test_expiry_is_by_the_clock_of_the_database(services: Services) -> None:
    made, secret = await create_key(services, "x", ["read"], expires_in=timedelta(hours=1))
    ring = KeyRing(services.database)
    grant = await ring.authenticate(secret)
    assert grant.ends_at is not None
    assert 3500 < grant.ends_at - asyncio.get_running_loop().time() <= 3600
    admin = await asyncpg.connect(services.owner_dsn)
    await admin.execute("UPDATE rag.api_keys SET expires_at = now() WHERE id = $1", made.id)
    await admin.close()
    with pytest.raises(UnauthenticatedError):
        await ring.authenticate(secret)


@ALONE
async def test_what_begins_while_revocations_are_asked_for_goes_on(services: Services) -> None:
    """The database is asked about the keys that had something under way; of another it has said nothing."""
    (revoked, one), (_, other) = [await create_key(services, name, ["read"]) for name in ("one", "other")]
    async with listening(services) as ring:
        grants = [await ring.authenticate(secret) for secret in (one, other)]
        first_ended, second_ended = asyncio.Event(), asyncio.Event()
        holds, looks = await asyncpg.connect(services.owner_dsn), await asyncpg.connect(services.owner_dsn)
        try:
            with ExitStack() as under_way, ring.watch(grants[0], first_ended.set):
                async with holds.transaction():
                    await holds.execute("LOCK TABLE rag.api_keys IN ACCESS EXCLUSIVE MODE")
                    await looks.execute("SELECT pg_notify('cairn_keys', $1)", str(revoked.id))
                    waiting = "SELECT count(*) FROM pg_locks WHERE relation = 'rag.api_keys'::regclass AND NOT granted"
                    await until(partial(looks.fetchval, waiting))
                    await holds.execute("UPDATE rag.api_keys SET revoked_at = now() WHERE id = $1", revoked.id)
                    await holds.execute("SELECT pg_notify('cairn_keys', $1)", str(revoked.id))
                    under_way.enter_context(ring.watch(grants[1], second_ended.set))
                await until(first_ended.is_set)
                assert not second_ended.is_set()
        finally:
            await holds.close()
            await looks.close()


async def test_what_is_under_way_ends_when_its_key_expires(services: Services) -> None:
    ring, ended = KeyRing(services.database), asyncio.Event()
    with ring.watch(Grant(services.principal, asyncio.get_running_loop().time() + 0.05), ended.set):
        await until(ended.is_set)


async def test_a_kept_look_up_is_refreshed_beside_the_requests(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change by hand in SQL, of which nobody is told, counts after a while; a request does not wait for the look-up."""
    monkeypatch.setattr(authenticate_local, "FRESH_SECONDS", 0.0)
    made, secret = await create_key(services, "x", ["read"])
    async with listening(services) as ring:
        await ring.authenticate(secret)
        admin = await asyncpg.connect(services.owner_dsn)
        await admin.execute("UPDATE rag.api_keys SET scopes = '{ask}' WHERE id = $1", made.id)

        async def changed() -> bool:
            return (await ring.authenticate(secret)).principal.caller.scopes == {"ask"}

        await until(changed)
        await admin.execute("UPDATE rag.api_keys SET revoked_at = now() WHERE id = $1", made.id)
        await admin.close()

        async def refused() -> bool:
            try:
                await ring.authenticate(secret)
            except UnauthenticatedError:
                return True
            return False

        await until(refused)


async def test_upkeep_is_done_for_every_tenant(services: Services) -> None:
    """A document whose indexing was broken off is marked as failed, whosever it is."""
    other = await of_tenant(services, "two", create=True)
    await create_collection(other, "things")
    async with services.database.transaction(other.principal) as connection:
        await connection.execute(
            "INSERT INTO rag.documents (tenant_id, id, collection_id, external_id, title, version, status, content_hash, "
            "media_type, updated_at) SELECT tenant_id, gen_random_uuid(), id, 'x', 'x', 1, 'parsing', '', 'text/plain', "
            "now() - interval '9 days' FROM rag.collections"
        )
    await do_upkeep(services)
    async with services.database.transaction(other.principal) as connection:
        assert await connection.fetchval("SELECT status FROM rag.documents") == "failed"


async def test_watching_leaves_nothing_behind(services: Services) -> None:
    _, secret = await create_key(services, "x", ["read"])
    ring = KeyRing(services.database)
    grant: Grant = await ring.authenticate(secret)
    calls: list[Callable[[], None]] = [lambda: None, lambda: None]
    with ring.watch(grant, calls[0]), ring.watch(grant, calls[1]):
        assert ring.watched == 2
    assert ring.watched == 0
