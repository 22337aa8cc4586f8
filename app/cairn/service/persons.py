"""What is kept because of a person: shown to them, and forgotten."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Collection
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from cairn.domain.person import KEY, TOKEN, Forgotten, Person, counted_by, new_mark, read_principal
from cairn.domain.principal import PERSON
from cairn.errors import ConflictError
from cairn.store import audit, documents, persons
from cairn.wiring import Services

EXPORT_VERSION: Final = 2
"""Of the shape of an export; grows when something in it changes its meaning or goes."""


async def find_person(services: Services, principal: str) -> Person:
    """By a principal as access lists write it, person:<subject> or key:<id>; a bare name is a person's, who has the keys of that
    name, too. Raises InputError."""
    kind, name = read_principal(principal)
    issuer = services.environment.oidc
    if kind == KEY:
        keys: tuple[UUID, ...] = (UUID(name),)
    else:
        async with services.database.primary.transaction(services.principal, readonly=True) as connection:
            keys = await persons.keys_called(connection, services.principal, name)
    own = tuple(f"{KEY}:{key}" for key in keys)
    if kind == KEY:
        return Person(own, own, keys, keys)
    counted = (counted_by(issuer.issuer, services.principal.tenant, name),) if issuer else ()
    return Person((f"{TOKEN}:{name}", *own), (f"{PERSON}:{name}", *own), keys, (*counted, *keys))


async def export_person(services: Services, principal: str) -> AsyncIterator[dict[str, Any]]:
    """All that is kept because of a person, of one moment: a header, the records, and an end that counts them, so that a file
    that breaks off is known. Of what others asked, and of what stands on documents that the person may not read, it says that it
    is there (`withheld`); their own words are always told. That it was begun is recorded, without the name, and what the caller
    is told by the scope admin alone, before it is told. Raises InputError."""
    person = await find_person(services, principal)
    await services.traces.flush()
    house = services.principal.house
    async with services.database.transaction(services.principal) as connection:
        await audit.record(connection, services.principal, "person.export", "")
    yield {
        "kind": "export", "version": EXPORT_VERSION, "tenant": house.tenant, "person": ":".join(read_principal(principal)),
        "keys": [str(key) for key in person.keys], "made_at": datetime.now(UTC).isoformat(),
    }  # fmt: skip
    counts: Counter[str] = Counter()
    recorded: frozenset[tuple[str, str]] = frozenset()
    while True:
        async with services.database.primary.transaction(
            house, readonly=True, isolation="repeatable_read"
        ) as connection:
            told = await _to_be_recorded(connection, services, person)
            if told <= recorded:
                async for one in persons.kept(connection, person):
                    counts[one.kind] += 1
                    yield {"kind": one.kind, "record": dict(one.fields)}
                break
        await _record_told(services, told - recorded)
        recorded |= told
    yield {"kind": "end", "counts": dict(counts)}


async def _to_be_recorded(connection: Any, services: Services, person: Person) -> frozenset[tuple[str, str]]:
    if not audit.leaves_record(services.principal):
        return frozenset()
    return await persons.told(connection, services.principal, person)


async def _record_told(services: Services, told: Collection[tuple[str, str]]) -> None:
    """A line for each conversation, so that each can lose its name; one for runs outside of them, and one for documents."""
    ids = {what: sorted(one for kind, one in told if kind == what) for what in ("conversation", "run", "document")}
    async with services.database.transaction(services.principal) as connection:
        for conversation in ids["conversation"]:
            await audit.record(connection, services.principal, audit.READ_OTHERS, conversation, {"way": "export"})
        for what, action in (("run", audit.READ_OTHERS), ("document", audit.READ_RESTRICTED)):
            if found := ids[what]:
                detail = {"way": "export", f"{what}s": found[: audit.MOST_READ], "count": len(found)}
                await audit.record(connection, services.principal, action, found[0], detail)


async def forget_person(services: Services, principal: str, *, dry_run: bool = False) -> Forgotten:
    """Remove what is kept because of a person; their name in the audit log and in access lists becomes a mark that nobody can
    turn back. What they have under way leaves nothing behind, and what of it runs in this process ends. `dry_run`: only count.

    Raises InputError, and ConflictError for callers who would forget themselves: what was done is recorded of somebody."""
    person, mark = await find_person(services, principal), new_mark()
    if services.principal.caller.id in person.callers:
        raise ConflictError("nobody forgets themselves: ask somebody else with the scope admin")
    if not dry_run:
        async with services.database.transaction(services.principal.house) as connection:
            await persons.note_forgotten(connection, person, mark)
        services.runs.end_of(services.principal, person.callers)
    await services.traces.flush()
    try:
        async with services.database.transaction(services.principal.house) as connection:
            lists = await persons.access_lists(connection, services.principal, person, mark)
            for collection, document, readers in lists:
                await documents.set_access(connection, collection, document, readers)
            counts = {**await persons.forget(connection, person, mark), "access_lists": len(lists)}
            if dry_run:
                raise _OnlyCountedError
            # how many lists named somebody says that there are any
            marked = {"tells_of_restricted": True} if counts["access_lists"] or counts["access_rules"] else {}
            await audit.record(connection, services.principal, "person.forget", mark, {**counts, **marked})
    except _OnlyCountedError:
        pass
    return Forgotten(mark, counts)


class _OnlyCountedError(Exception):
    """Takes back what was done to be counted."""
