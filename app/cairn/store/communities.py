"""Communities of collections: what they are made from, what is stored of them, what they are about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from cairn.db.queries import load_queries
from cairn.domain.graph_view import (
    CommunityKey,
    CommunitySummary,
    Group,
    Relations,
    SentencePlace,
    SourcePassage,
    StoredCommunity,
    SummarySentence,
)
from cairn.domain.principal import Principal
from cairn.store.session import stream

SQL = load_queries("communities")
PREFETCH = 5000
"""Rows read at a time: a graph may have a million relations."""
TITLE_NAMES = 3
"""Entities that a community is called by."""


@dataclass(frozen=True, slots=True)
class CommunityState:
    """Of a collection: its `epoch` now, and as the last finished refresh read it; None where there was none. Documents and
    passages that everybody may read; `restricted`: whether there are others."""

    name: str
    epoch: int
    document_count: int
    passage_count: int
    refreshed: int | None
    restricted: bool


async def state(connection: Any, principal: Principal, collection_id: UUID) -> CommunityState | None:
    """None when the collection is gone."""
    row = await connection.fetchrow(SQL["state"], principal.tenant_id, collection_id)
    return CommunityState(**dict(row)) if row else None


# --- what a refresh reads ---------------------------------------------------------------------------------------------


async def relations(connection: Any, principal: Principal, collection_id: UUID, per_entity: int) -> Relations:
    """How strongly entities are related, merged ones as one; of each entity its strongest relations. To be read in one
    snapshot: places count in a list that is read first."""
    found = await connection.fetch(SQL["entities"], principal.tenant_id, collection_id)
    # without statistics, as after the first documents of a new database, the planner takes all entities for one row and would
    # compare each with each
    await connection.execute("SET LOCAL enable_nestloop = off")
    rows = stream(connection, SQL["relations"], principal.tenant_id, collection_id, per_entity, prefetch=PREFETCH)
    edges = [(row[0], row[1], round(row[2], 4)) async for row in rows]
    await connection.execute("SET LOCAL enable_nestloop = on")
    unlisted = frozenset(place for place, row in enumerate(found) if row["reference"])
    return Relations([row["id"] for row in found], edges, unlisted)


async def load_stored(connection: Any, principal: Principal, collection_id: UUID) -> list[StoredCommunity]:
    """In no order."""
    rows = await connection.fetch(SQL["stored"], principal.tenant_id, collection_id)
    return [
        StoredCommunity(
            row["id"], row["level"], row["parent_id"], frozenset(row["members"]), bytes(row["fingerprint"]),
            row["complete"],
        )
        for row in rows
    ]  # fmt: skip


async def sources(
    connection: Any,
    principal: Principal,
    members: Sequence[Mapping[UUID, float]],
    *,
    mentions: int,
    passages: int,
) -> list[list[SourcePassage]]:
    """For each group of entities (with weights) the passages that speak of them most, best first."""
    asked = [(number, *item) for number, group in enumerate(members) for item in group.items()]
    columns = [list(column) for column in zip(*asked, strict=True)] or [[], [], []]
    found: list[list[SourcePassage]] = [[] for _ in members]
    for row in await connection.fetch(SQL["sources"], principal.tenant_id, *columns, mentions, passages):
        names = tuple(zip(row["entities"], row["names"], row["weights"], strict=True))
        source = SourcePassage(row["id"], row["document_id"], row["char_start"], row["content"], names)
        found[row["number"]].append(source)
    return found


# --- what it writes ---------------------------------------------------------------------------------------------------


async def begin(connection: Any, principal: Principal, collection_id: UUID) -> int | None:
    """The number of a new refresh, which overtakes every other; None when the collection is gone."""
    attempt: int | None = await connection.fetchval(SQL["begin"], principal.tenant_id, collection_id)
    return attempt


async def lock(connection: Any, principal: Principal, collection_id: UUID) -> None:
    """Take the lock between writers of the collection until the transaction ends."""
    await connection.execute(SQL["lock"], principal.tenant_id, collection_id)


async def hold(connection: Any, principal: Principal, collection_id: UUID, attempt: int) -> bool:
    """Take the lock between writers of the collection; False when this refresh was overtaken."""
    # two statements: the second is to see what was committed while the first waited
    await lock(connection, principal, collection_id)
    latest: int | None = await connection.fetchval(SQL["attempt"], principal.tenant_id, collection_id)
    return latest == attempt


async def finish(connection: Any, principal: Principal, collection_id: UUID, attempt: int, epoch: int) -> None:
    await connection.execute(SQL["finish"], principal.tenant_id, collection_id, attempt, epoch)


async def remove(connection: Any, principal: Principal, collection_id: UUID, ids: Collection[UUID]) -> None:
    await connection.execute(SQL["remove"], principal.tenant_id, collection_id, list(ids))


@dataclass(frozen=True, slots=True)
class NewCommunity:
    """A community to be stored, with the sentences that sum it up. `renewed`: it is no longer what a model wrote about."""

    id: UUID
    parent_id: UUID | None
    group: Group
    sentences: Sequence[SentencePlace]
    renewed: bool = False


async def write(
    connection: Any, principal: Principal, collection_id: UUID, batch: Sequence[NewCommunity], epoch: int
) -> None:
    """Put these in the place of what is stored under their ids. Needs the lock of the collection (`hold`)."""
    tenant, ids = principal.tenant_id, [one.id for one in batch]
    await connection.execute(
        SQL["write"], tenant, collection_id, ids, [one.group.level for one in batch],
        [one.parent_id for one in batch], [len(one.group.members) for one in batch],
        [one.group.fingerprint for one in batch], epoch,
    )  # fmt: skip
    await connection.execute(SQL["blank"], tenant, [one.id for one in batch if one.renewed])
    members = [(one.id, *item) for one in batch for item in one.group.members.items()]
    await connection.execute(SQL["clear_members"], tenant, ids)
    await connection.execute(SQL["write_members"], tenant, collection_id, *_columns(members, 3))
    places = [
        (one.id, number, place.passage_id, place.start, place.end)
        for one in batch
        for number, place in enumerate(one.sentences)
    ]
    await connection.execute(SQL["clear_sentences"], tenant, ids)
    await connection.execute(SQL["write_sentences"], tenant, collection_id, *_columns(places, 5), ids)


def _columns(rows: Sequence[tuple[Any, ...]], count: int) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(count)]


async def list_unwritten(connection: Any, principal: Principal, collection_id: UUID, limit: int) -> list[UUID]:
    """The largest communities that no model has summarised since their sources changed."""
    rows = await connection.fetch(SQL["unwritten"], principal.tenant_id, collection_id, limit)
    return [row["id"] for row in rows]


async def load_open(connection: Any, principal: Principal, community_id: UUID) -> CommunitySummary | None:
    """A community as a model may be shown it now: with the sentences that everybody in the tenant may read. None where there
    are none."""
    found = await load_summaries(connection, principal, {community_id: 0.0})
    if not found:
        return None
    [summary] = found
    # asked after the sentences were read, so that what is restricted in between is left out
    rows = await connection.fetch(SQL["open_passages"], principal.tenant_id, _passages(summary))
    shared = {row["id"] for row in rows}
    sentences = tuple(sentence for sentence in summary.sentences if sentence.passage_id in shared)
    return replace(summary, sentences=sentences) if sentences else None


async def write_summary(
    connection: Any, principal: Principal, summary: CommunitySummary, title: str, text: str
) -> bool:
    """Keep what a model wrote from the sentences of `summary`. False where one of their passages is gone, or of a document that
    not everybody in the tenant may read any more: then nothing is kept. Needs the lock."""
    written: bool | None = await connection.fetchval(
        SQL["write_summary"], principal.tenant_id, summary.collection_id, summary.id, title, text, _passages(summary)
    )
    return written is True


def _passages(summary: CommunitySummary) -> list[UUID]:
    return list({sentence.passage_id for sentence in summary.sentences})


# --- what others read -------------------------------------------------------------------------------------------------


async def find_matching(
    connection: Any,
    principal: Principal,
    collection_ids: Sequence[UUID],
    words: Sequence[str],
    *,
    per_word: int,
    limit: int,
) -> dict[UUID, float]:
    """Communities with entities that have these words in their names; by how much they weigh."""
    rows = await connection.fetch(
        SQL["matching"], principal.tenant_id, list(collection_ids), list(words), per_word, limit
    )
    return {row["id"]: row["score"] for row in rows}


async def find_largest(
    connection: Any, principal: Principal, collection_ids: Sequence[UUID], limit: int
) -> dict[UUID, float]:
    """Communities that are not part of others, with score 0."""
    rows = await connection.fetch(SQL["largest"], principal.tenant_id, list(collection_ids), limit)
    return {row["id"]: row["score"] for row in rows}


async def list_page(
    connection: Any,
    principal: Principal,
    collection_id: UUID,
    *,
    level: int | None = None,
    after: CommunityKey | None = None,
    limit: int,
) -> list[CommunityKey]:
    """A page of a collection's communities; `after`: the last of the page before."""
    last = (after.level, after.entity_count, after.id) if after else (0, 0, None)
    rows = await connection.fetch(SQL["listed"], principal.tenant_id, collection_id, level, *last, limit)
    return [CommunityKey(row["level"], row["entity_count"], row["id"]) for row in rows]


async def load_summaries(connection: Any, principal: Principal, scores: Mapping[UUID, float]) -> list[CommunitySummary]:
    """Communities (with scores) as they are now, in the order given; those that are gone, or empty, are left out."""
    rows = await connection.fetch(SQL["described"], principal.tenant_id, list(scores), TITLE_NAMES)
    said: defaultdict[UUID, list[SummarySentence]] = defaultdict(list)
    for row in await connection.fetch(SQL["sentences"], principal.tenant_id, list(scores)):
        place = (row["passage_id"], row["document_id"], row["char_start"], row["char_end"])
        said[row["community_id"]].append(SummarySentence(row["text"], *place))
    found = {
        row["id"]: CommunitySummary(
            row["id"], row["collection_id"], row["level"], row["parent_id"],
            row["title"] or ", ".join(row["names"]), tuple(said[row["id"]]), row["size"], row["summary"],
            scores[row["id"]],
        )
        for row in rows if row["size"]
    }  # fmt: skip
    return [found[one] for one in scores if one in found]
