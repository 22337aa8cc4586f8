"""Bringing the communities of a collection up to date with its graph, beside writers (docs/adr/0026-communities.md).

All communities are found anew, which is cheap; only those that changed are written and summed up, batch by batch, each
batch under the lock of the collection. A refresh that dies leaves a mixture that the next one completes. Of two at once
the later one goes on; the other one's next batch finds that out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Literal
from uuid import UUID

import structlog

from cairn.distribution import is_installed
from cairn.domain.graph_view import (
    CommunitySummary,
    Group,
    Refreshed,
    Relations,
    StoredCommunity,
)
from cairn.domain.principal import Principal
from cairn.errors import CairnError, ProviderError
from cairn.graph.communities import choose_sentences, find_communities, identify_communities
from cairn.language.fence import quoted
from cairn.language.links import known
from cairn.language.outbound import without_links
from cairn.language.text import normalise
from cairn.prompts import prompt
from cairn.providers.protocols import ChatModel, Message
from cairn.settings import CommunitySettings, Settings
from cairn.store import communities, jobs
from cairn.store.communities import CommunityState
from cairn.store.session import Database

log = structlog.get_logger(__name__)

KIND: Final = "communities"
RELATIONS_OF_ENTITY: Final = 30
"""The strongest ones, which are looked at."""
BATCH: Final = 50
MEMBERS: Final = 2000
"""Communities, and entities in them, written under one hold of the lock: about a tenth of a second."""
CENTRAL: Final = 20
"""Members by which passages are chosen: in a large community the others hardly count."""
MENTIONS: Final = 200
"""Of each of them, looked at."""
PASSAGES: Final = 8
"""Whose sentences are compared."""
SAME: Final = 0.7
"""Share of common members up to which what a model wrote still holds."""

Report = Callable[[int, int], Awaitable[None]]
"""Told how many communities are written, of how many."""


@dataclass(frozen=True, slots=True)
class _Change:
    """A community that is to be written."""

    id: UUID
    parent_id: UUID | None
    group: Group
    renewed: bool


async def due(connection: Any, principal: Principal, collection_id: UUID, settings: Settings) -> CommunityState | None:
    """The collection, if so much of it changed that its communities should be found anew."""
    wanted = settings.graph.communities
    if not (settings.graph.enabled and wanted.enabled and is_installed("graph")):
        return None
    state = await communities.state(connection, principal, collection_id)
    if state is None:
        return None
    changes = state.epoch - (state.refreshed or 0)
    # changes of restricted documents are among them, so that a threshold would tell how many these are
    enough = 1.0 if state.restricted else max(1.0, wanted.changed_share * state.document_count)
    return state if changes >= enough else None


async def follow(
    database: Database, principal: Principal, collection_id: UUID, settings: Settings
) -> Literal["current", "refreshed", "ordered"]:
    """After documents came or went: refresh a small collection at once, order a job for a large one, at most one each."""
    wanted, principal = settings.graph.communities, principal.house
    async with database.transaction(principal) as connection:
        state = await due(connection, principal, collection_id, settings)
        if state is None:
            return "current"
        if state.passage_count > wanted.inline_passages:
            await jobs.enqueue(
                connection, principal, KIND, {"collection": state.name, "collection_id": str(collection_id)},
                max_attempts=settings.jobs.max_attempts, dedupe_key=f"{KIND}:{collection_id}",
                delay=timedelta(seconds=wanted.delay_seconds),
            )  # fmt: skip
            return "ordered"
    try:
        await refresh(database, principal, collection_id, wanted)
    except CairnError as error:  # the documents are stored; what comes next makes up for it
        log.warning("communities.not_refreshed", collection=str(collection_id), problem=error.detail)
    return "refreshed"


async def refresh(
    database: Database,
    principal: Principal,
    collection_id: UUID,
    settings: CommunitySettings,
    report: Report | None = None,
) -> Refreshed:
    """Make the communities of the collection those of its graph as it is now. Raises CairnError."""
    async with database.transaction(principal) as connection:
        attempt = await communities.begin(connection, principal, collection_id)
    if attempt is None:
        return Refreshed()
    async with database.transaction(principal, readonly=True, isolation="repeatable_read") as connection:
        state = await communities.state(connection, principal, collection_id)
        relations = await communities.relations(connection, principal, collection_id, RELATIONS_OF_ENTITY)
        known = await communities.load_stored(connection, principal, collection_id)
    if state is None:
        return Refreshed()
    changes, gone, total = await asyncio.to_thread(_compare, relations, known, settings)
    writer = _Writer(database, principal, collection_id, attempt, state.epoch, settings)
    written, batches = 0, _batches(changes)
    for number, batch in enumerate(batches, 1):
        if not await writer.write(batch, gone if number == 1 else (), last=number == len(batches)):
            return Refreshed(total, written, overtaken=True)
        written += len(batch)
        if report:
            await report(written, len(changes))
    return Refreshed(total, written, len(gone))


def _batches(changes: Sequence[_Change]) -> list[list[_Change]]:
    """At least one, so that there is a last one."""
    batches: list[list[_Change]] = [[]]
    room = MEMBERS
    for change in changes:
        if batches[-1] and (room < len(change.group.members) or len(batches[-1]) == BATCH):
            batches.append([])
            room = MEMBERS
        batches[-1].append(change)
        room -= len(change.group.members)
    return batches


def _compare(
    relations: Relations, known: Sequence[StoredCommunity], settings: CommunitySettings
) -> tuple[list[_Change], list[UUID], int]:
    """What is to be written, what is to go, and how many communities there are. Pure."""
    groups = find_communities(relations, max_size=settings.max_size, min_size=settings.min_size)
    ids = identify_communities(groups, known)
    before = {stored.id: stored for stored in known}
    changes = []
    for group, one in zip(groups, ids, strict=True):
        parent_id = None if group.parent is None else ids[group.parent]
        old, members = before.get(one), frozenset(group.members)
        same = (
            old is not None and old.complete and old.fingerprint == group.fingerprint
            and (old.level, old.parent_id, old.members) == (group.level, parent_id, members)
        )  # fmt: skip
        if not same:
            renewed = old is not None and len(members & old.members) < SAME * len(members | old.members)
            changes.append(_Change(one, parent_id, group, renewed))
    return changes, [one for one in before if one not in set(ids)], len(groups)


@dataclass(frozen=True, slots=True)
class _Writer:
    database: Database
    principal: Principal
    collection_id: UUID
    attempt: int
    epoch: int
    settings: CommunitySettings

    async def write(self, batch: Sequence[_Change], gone: Sequence[UUID], *, last: bool) -> bool:
        """False when this refresh was overtaken. The last batch puts on record how far it came."""
        central = [dict(sorted(one.group.members.items(), key=_heavy)[:CENTRAL]) for one in batch]
        async with self.database.transaction(self.principal, readonly=True) as connection:
            sources = await communities.sources(
                connection, self.principal, central, mentions=MENTIONS, passages=PASSAGES
            )
        ready = [
            communities.NewCommunity(
                one.id, one.parent_id, one.group, choose_sentences(passages, self.settings.sentences), one.renewed
            )
            for one, passages in zip(batch, sources, strict=True)
        ]
        async with self.database.transaction(self.principal) as connection:
            if not await communities.hold(connection, self.principal, self.collection_id, self.attempt):
                return False
            if gone:
                await communities.remove(connection, self.principal, self.collection_id, gone)
            if ready:
                await communities.write(connection, self.principal, self.collection_id, ready, self.epoch)
            if last:
                await communities.finish(connection, self.principal, self.collection_id, self.attempt, self.epoch)
        return True


def _heavy(member: tuple[UUID, float]) -> tuple[float, UUID]:
    return (-member[1], member[0])


# --- Summaries of communities by a chat model, where settings ask for them: the largest first, so many per re ---

SENTENCES: Final = 4
LONGEST_TITLE: Final = 120
"""Code points."""
TEMPERATURE: Final = 0.0


@dataclass(frozen=True, slots=True)
class WrittenSummaries:
    """How many communities were summed up, and why the model was not asked for the others."""

    count: int = 0
    problem: str | None = None


async def write_summaries(
    database: Database,
    principal: Principal,
    collection_id: UUID,
    chat: ChatModel,
    settings: CommunitySettings,
    seconds: float,
) -> WrittenSummaries:
    """At most `settings.written` of the communities that have none. A model that fails leaves the others as they are."""
    async with database.transaction(principal, readonly=True) as connection:
        ids = await communities.list_unwritten(connection, principal, collection_id, settings.written)
    count = 0
    for one in ids:
        # read right before it is sent: calls take seconds each, and what goes or is restricted during one is not for the next
        async with database.transaction(principal, readonly=True) as connection:
            summary = await communities.load_open(connection, principal, one)
        if summary is None:
            continue
        try:
            title, text = await _write(chat, summary, settings.written_tokens, seconds)
        except ProviderError as error:
            return WrittenSummaries(count, f"{error.code}: {error.detail}")
        if not title or not text:
            continue
        async with database.transaction(principal) as connection:
            await communities.lock(connection, principal, collection_id)
            count += await communities.write_summary(connection, principal, summary, title, text)
    return WrittenSummaries(count)


async def _write(chat: ChatModel, summary: CommunitySummary, tokens: int, seconds: float) -> tuple[str, str]:
    said = "\n".join(quoted(sentence.text) for sentence in summary.sentences)
    filled = prompt("community", context=said, sentences=str(SENTENCES))
    messages = [Message("system", filled.system), Message("user", filled.user)]
    reply = await chat.complete(messages, temperature=TEMPERATURE, max_tokens=tokens, timeout=seconds)
    title, text = parse_summary(reply.text)
    sources = known(sentence.text for sentence in summary.sentences)
    return without_links(title, sources), without_links(text, sources)


def parse_summary(reply: str) -> tuple[str, str]:
    """Title and summary; empty where the reply has not both. Pure."""
    lines = [line.strip() for line in normalise(reply).splitlines() if line.strip()]
    if len(lines) < 2:
        return "", ""
    title = lines[0].removeprefix("Title:").strip(" #*\"'.")
    return title[:LONGEST_TITLE], " ".join(lines[1:])
