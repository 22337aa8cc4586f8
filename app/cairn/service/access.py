"""Who may read the documents of a folder or a collection, once for all surfaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cairn.domain.access import AccessRule, check_access, check_prefix
from cairn.domain.document import Collection
from cairn.domain.job import Job
from cairn.graph.refresh import follow
from cairn.service.documents import find_or_make_collection, get_collection, require_access_giver
from cairn.service.models import start_reindex
from cairn.store import access_rules
from cairn.wiring import Services


@dataclass(frozen=True, slots=True)
class FolderAccess:
    """`changed`: documents that have another list now. `documents`: how many are in the folder, whatever their list; 0 may be a
    folder that is mistyped. `made`: there was no such collection before. `job`: brings those back into the graph that everybody
    may read now; None: there are none."""

    changed: int
    documents: int
    made: bool
    job: Job | None


async def list_access_rules(services: Services, collection: str) -> list[AccessRule]:
    """The rules of a collection by folder; for who does not operate, those that name the caller. Raises NotFoundError."""
    found = await get_collection(services, collection)
    async with services.database.transaction(services.principal, readonly=True) as connection:
        return await access_rules.list_rules(connection, services.principal, found.id)


async def set_folder_access(services: Services, collection: str, prefix: str, access: Sequence[str]) -> FolderAccess:
    """Say who may read the documents below a folder that have no access list of their own, now and those that come later.

    `collection` is made if there is none, which the result says. `prefix`: what external ids begin with, `hr/` or `hr`; empty:
    the whole collection. Of several rules that of the nearest folder counts. `access`: group:<name>, person:<subject>, key:<id>;
    nobody is everybody in the tenant, an exception where a folder above is restricted. The lists of all documents change in one
    transaction, and when this returns no document that was being added meanwhile has escaped it.

    Raises ForbiddenError from who does not operate, InputError for entries or a prefix that cannot be, too many rules, and on a
    distributed database."""
    require_access_giver(services)
    prefix = check_prefix(prefix)
    named = check_access(access)
    found, made = await find_or_make_collection(services, collection)
    return await _set(services, found, prefix, named, made)


async def remove_folder_access(services: Services, collection: str, prefix: str) -> FolderAccess:
    """Take the rule of a folder away, if there is one; its documents have the list of the folder above from then on. Raises
    NotFoundError, ForbiddenError, InputError."""
    require_access_giver(services)
    return await _set(services, await get_collection(services, collection), check_prefix(prefix), None)


async def _set(
    services: Services, found: Collection, prefix: str, access: Sequence[str] | None, made: bool = False
) -> FolderAccess:
    database, principal = services.database, services.principal
    async with database.transaction(principal) as connection:
        followed = await access_rules.set_folder_access(connection, principal, found, prefix, access)
    async with database.transaction(principal) as connection:
        await access_rules.await_writers(connection, found.id)
    async with database.transaction(principal) as connection:
        late = await access_rules.follow_rules(connection, found.id, prefix)
        documents = await access_rules.count_documents(connection, principal, found.id, prefix)
    job = None
    if followed.opened or late.opened:
        job = await start_reindex(services, found.name, force=False)
    elif followed.changed or late.changed:
        await follow(database, principal, found.id, services.settings.current)
    return FolderAccess(followed.changed + late.changed, documents, made, job)
