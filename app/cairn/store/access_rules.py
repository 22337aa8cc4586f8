"""Rules that give the documents of a folder, or of a collection, their access list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog

from cairn.db.queries import load_queries
from cairn.domain.access import MOST_RULES, AccessRule, check_access, check_prefix
from cairn.domain.document import Collection
from cairn.domain.principal import Principal
from cairn.errors import InputError
from cairn.store import audit
from cairn.store.documents import require_access_lists

SQL = load_queries("access_rules")
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Followed:
    """Documents that have another list now, and how many of them everybody in the tenant may read who might not."""

    changed: int = 0
    opened: int = 0


async def list_rules(connection: Any, principal: Principal, collection_id: UUID) -> list[AccessRule]:
    """Those that the caller may know of, by prefix: all for who reads everything, else those that name it."""
    rows = await connection.fetch(SQL["list"], principal.tenant_id, collection_id)
    return [AccessRule(row["prefix"], row["access"]) for row in rows]


async def fold(connection: Any, names: Sequence[str]) -> dict[str, str]:
    """Names of folders as they are compared (`rag.folder_name`)."""
    return {row["name"]: row["folded"] for row in await connection.fetch(SQL["folded"], list(names))}


async def rules_alike(
    connection: Any, principal: Principal, collection_id: UUID, folders: Sequence[str]
) -> dict[str, list[str]]:
    """Who may read these folders by rules for them, in whatever way these write them (`rag.folder_name`)."""
    rows = await connection.fetch(SQL["alike"], principal.tenant_id, collection_id, list(folders))
    return {row["folder"]: sorted(row["access"]) for row in rows}


async def set_folder_access(
    connection: Any, principal: Principal, collection: Collection, prefix: str, access: Sequence[str] | None
) -> Followed:
    """Say who may read the documents below a folder that have no access list of their own, those that come later too. `prefix`:
    what their external ids begin with, `hr/`; empty: all of the collection. The rule of the nearest folder counts. `access`:
    nobody is everybody in the tenant, an exception where a folder above is restricted; None takes the rule away.

    Their lists change in the caller's transaction, which has locked nothing before, and the deed is recorded; what is restricted
    leaves graph and caches. When it is committed the caller looks once more (`follow_rules`), for what others were adding
    meanwhile, and has what was opened read anew. The caller has seen to it that this is an administrator. Raises InputError for
    entries or a prefix that cannot be, too many rules, and where the database keeps no lists."""
    prefix = check_prefix(prefix)
    readers = None if access is None else list(check_access(access))
    await require_access_lists(connection)
    before = await connection.fetchval(SQL["of_name"], principal.tenant_id, collection.id, prefix)
    await connection.execute(SQL["set"], collection.id, prefix, readers)
    is_new = before is None and readers is not None
    if is_new and await connection.fetchval(SQL["count"], principal.tenant_id, collection.id) > MOST_RULES:
        raise InputError(
            f"a collection has at most {MOST_RULES:,} access rules: restrict a folder above, or take some away"
        )
    followed = await _follow(connection, collection.id, prefix)
    detail = {"folder": prefix, "access": readers, "documents": followed.changed}
    await audit.record(connection, principal, "collection.access", collection.name, detail)
    return followed


async def keep_for_name(
    connection: Any, principal: Principal, collection_id: UUID, collection: str, external_id: str, access: Sequence[str]
) -> None:
    """A document that is no more had this list: whatever is called so again has it, too. A rule that is there for just this name
    did not count beside the list: whom both name may read it then, or whom the list names; where the rule is that of a folder and
    they have nobody in common, the rule stays. Where there are as many rules as there may be, that is said in the log."""
    ruled = await connection.fetchval(SQL["of_name"], principal.tenant_id, collection_id, external_id)
    apart = bool(ruled) and set(ruled).isdisjoint(access)
    if apart and await count_documents(connection, principal, collection_id, external_id):
        return
    access = [one for one in access if one in (ruled or ())] or access
    if ruled is not None and set(ruled) == set(access):
        return
    if ruled is None and await connection.fetchval(SQL["count"], principal.tenant_id, collection_id) >= MOST_RULES:
        log.warning("access.list_not_kept", collection=str(collection_id), rules=MOST_RULES)
        return
    await connection.execute(SQL["set"], collection_id, external_id, list(access))
    detail = {"folder": external_id, "access": list(access), "documents": 0}
    await audit.record(connection, principal, "collection.access", collection, detail)


async def follow_rules(connection: Any, collection_id: UUID, prefix: str) -> Followed:
    """The same for documents that were being added while the rule was made. In two transactions of the caller's: `await_writers`,
    then this."""
    return await _follow(connection, collection_id, check_prefix(prefix))


async def count_documents(connection: Any, principal: Principal, collection_id: UUID, prefix: str) -> int:
    """How many documents are in the folder, indexed or not."""
    return int(await connection.fetchval(SQL["count_documents"], principal.tenant_id, collection_id, prefix))


async def await_writers(connection: Any, collection_id: UUID) -> None:
    """Wait for whoever adds documents by rules as they were. The caller's transaction does nothing else."""
    await connection.execute(SQL["await_writers"], collection_id)


async def _follow(connection: Any, collection_id: UUID, prefix: str) -> Followed:
    row = await connection.fetchrow(SQL["follow"], collection_id, prefix)
    return Followed(row["changed"], row["opened"])
