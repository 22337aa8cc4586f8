"""What whoever runs Cairn asks first: is all well, and what is there to do? For `cairn status`, and the log at the start."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from cairn.distribution import release
from cairn.domain.job import QueueState
from cairn.domain.principal import Principal
from cairn.providers.protocols import ServedModel
from cairn.service.models import count_older, older_notes
from cairn.service.operation import (
    DatabaseState,
    DiskState,
    ServiceState,
    check_database,
    describe_service,
    measure_disk,
)
from cairn.store import upkeep
from cairn.store.documents import OlderDocuments
from cairn.wiring import Services

LATE_SECONDS: Final = 60.0
"""A job that could run and waits this long, while none runs, has no worker."""


@dataclass(frozen=True, slots=True)
class OverallState:
    """`problems`: what is wrong now; `notes`: what is to be done some day, with the command that does it. `older`: what an
    earlier release left in the tenant's collections. Of a database that does not answer no more is known."""

    release: str
    database: DatabaseState
    disk: DiskState | None
    service: ServiceState
    older: dict[str, OlderDocuments]
    problems: tuple[str, ...]
    notes: tuple[str, ...]


async def check_status(services: Services) -> OverallState:
    """Looks at the database, the queue and the chat model, which is asked for no more than a list."""
    chat = services.chat_for(services.settings.current)
    if isinstance(chat, ServedModel):
        await chat.look()
    database, service = await check_database(services), describe_service(services)
    wrong = [database.problem] if database.problem else []
    if database.queue and (waits := describe_waiting(database.queue)):
        wrong.append(waits)
    if isinstance(chat, ServedModel) and chat.problem:
        wrong.append(f"the chat model does not answer: {chat.problem}")
    if services.embedded and (low := services.embedded.warning()):
        wrong.append(low)
    disk: DiskState | None = None
    older: dict[str, OlderDocuments] = {}
    if database.problem is None:
        disk, older = await measure_disk(services), await count_older(services)
    notes = [one for one in service.warnings if one not in wrong] + older_notes(older)
    return OverallState(release(), database, disk, service, older, tuple(wrong), tuple(notes))


def describe_waiting(queue: QueueState) -> str | None:
    """What is wrong with a queue that nobody works off; None where nothing is."""
    waited = queue.oldest_runnable_seconds or 0.0
    if queue.running or waited <= LATE_SECONDS:
        return None
    jobs = "1 job waits" if queue.runnable == 1 else f"{queue.runnable:,} jobs wait"
    return f"{jobs}, the first for {waited:.0f} s, and none is under way: start cairn worker, or cairn serve"


async def older_in_a_line(services: Services) -> str | None:
    """What earlier releases left, of all tenants of a database; None: nothing. Raises CairnError."""
    async with services.database.connection() as connection:
        tenants = await upkeep.tenant_ids(connection)
    read = derived = 0
    for tenant_id in tenants:
        for older in (await count_older(replace(services, principal=Principal(tenant_id, "")))).values():
            read, derived = read + older.read, derived + older.derived
    said = []
    if read:
        said.append(
            f"{read:,} {'document was' if read == 1 else 'documents were'} read by an older release: cairn reread"
        )
    if derived:
        said.append(f"graph, symbols and cells of {derived:,} were made by one: cairn reindex COLLECTION")
    return f"{'; '.join(said)} (cairn status has the collections)" if said else None
