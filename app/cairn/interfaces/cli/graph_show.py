"""What `cairn graph ...` prints: an entity as a tree of relations with quotations, ways between two, merges."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from cairn.distribution import install_command, is_installed
from cairn.domain.document import Collection
from cairn.domain.graph import EntitySummary
from cairn.domain.graph_view import CommunitySummary, EntityDetail, Proof, Relation, Surroundings, Way
from cairn.errors import InputError
from cairn.interfaces.cli.models import follow
from cairn.interfaces.cli.search import label_place, require_documents
from cairn.interfaces.cli.terminal import count, note, say, say_json, services, shorten
from cairn.service import graph as graph_service
from cairn.service import jobs as job_service
from cairn.service.documents import check_collection_name
from cairn.wiring import Services

_QUOTE = 240
_NEIGHBOURS = 50


async def entities(
    text: str, collection: str | None, kind: str | None, limit: int, as_json: bool, *, everything: bool
) -> int:
    """Exit code 0 also when there are none."""
    async with services() as opened:
        found = await require_documents(opened, collection)
        listed = await graph_service.list_entities(
            opened, found.name, text=text, kinds=[kind] if kind else [], everything=everything or kind is not None,
            limit=limit,
        )  # fmt: skip
        hint = "" if listed else await _why_none(opened, found, text, kind)
    if as_json:
        say_json([_entity_json(one) for one in listed])
    for one in () if as_json else listed:
        say(f"{one.name}  ({one.kind}, {count(one.passage_count, 'passage')})")
    if hint:
        note(hint)
    return 0


async def _why_none(opened: Services, found: Collection, text: str, kind: str | None) -> str:
    if (text or kind) and await graph_service.list_entities(opened, found.name, limit=1):
        return f"No entity of {found.name} fits; `cairn graph entities` lists those most spoken of."
    return (
        f"Collection {found.name} has no graph: its documents name nothing, or were indexed before there were graphs. "
        f"Try: cairn reindex {found.name}"
    )


async def show(entity: str, hops: int, collection: str | None, as_json: bool) -> int:
    """Raises NotFoundError, with names that may have been meant."""
    async with services() as opened:
        wanted = await _chosen(opened, entity, collection)
        detail = await graph_service.get_entity(opened, entity, wanted)
        around = await graph_service.get_neighborhood(
            opened, str(detail.standing.entity.id), hops=hops, limit=_NEIGHBOURS
        )
    if as_json:
        from cairn.interfaces.http.graph_models import detail_out, neighborhood_out

        said = {"entity": detail_out(detail), "neighborhood": neighborhood_out(around)}
        say_json({name: value.model_dump(mode="json") for name, value in said.items()})
        return 0
    _heading(detail)
    _tree(around)
    return 0


async def _chosen(opened: Services, entity: str, collection: str | None) -> str | None:
    """The collection of a name, with an error that says how to fill it; an id knows its own."""
    if collection is None and _is_id(entity):
        return None
    return (await require_documents(opened, collection)).name


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _heading(detail: EntityDetail) -> None:
    one = detail.standing.entity
    say(f"{one.name}  ({one.kind})", style="bold")
    say(
        f"{count(detail.passages, 'passage')} of {count(detail.documents, 'document')} in {detail.standing.collection}, "
        f"{count(detail.relation_count, 'relation')}; id {one.id}",
        style="dim",
    )
    others = list(dict.fromkeys(name.name for name in detail.names if name.name != one.name))
    if others:
        say(f"Also called: {', '.join(others)}")
    for merge in detail.merged:
        say(f"Stands for {merge.from_name or merge.from_id} too ({merge.reason}; cairn graph unmerge {merge.id})")
    say()


def _tree(around: Surroundings) -> None:
    """Each entity under the one that leads to it, indented by its distance."""
    relations = {one.id: one for one in around.relations}
    children: dict[tuple[UUID, ...], list[int]] = {}
    for at, place in enumerate(around.places):
        if place.path:
            children.setdefault(place.path[:-1], []).append(at)
    waiting = list(reversed(children.get((), [])))
    while waiting:
        place = around.places[waiting.pop()]
        _branch(place.entity, relations[place.path[-1]], place.hop - 1)
        waiting += reversed(children.get(place.path, []))
    if len(around.places) == 1:
        say("Nothing is related to it.")
    if around.truncated:
        note("There is more; --json and GET /graph/neighborhood show up to 1,000.")


def _branch(entity: EntitySummary, relation: Relation, depth: int) -> None:
    indent = "    " * depth
    say(f"{indent}{_said(relation, entity.id)} {entity.name}  ({entity.kind}, weight {relation.weight:.3f})")
    _quote(relation.proof, indent + "    ")


def _said(relation: Relation, towards: UUID) -> str:
    """The relation as an arrow to one of its ends."""
    if relation.kind == "co_occurs":
        return "-- together with --"
    kind = relation.kind.replace("_", " ")
    return f"-- {kind} -->" if relation.target.id == towards else f"<-- {kind} --"


def _quote(proof: Proof, indent: str) -> None:
    say(f"{indent}“{shorten(proof.quote, _QUOTE)}”")
    say(f"{indent}{label_place(proof.title, proof.page, proof.headings, proof.external_id)}", style="dim")


async def path(source: str, target: str, hops: int, collection: str | None, as_json: bool) -> int:
    """Exit code 1 where nothing joins the two within the hops."""
    async with services() as opened:
        wanted = await _chosen(opened, source, collection)
        found = await graph_service.get_paths(opened, source, target, wanted, hops=hops)
    if as_json:
        from cairn.interfaces.http.graph_models import way_out

        say_json({
            "collection": found.collection, "source": _entity_json(found.source), "target": _entity_json(found.target),
            "paths": [way_out(way).model_dump(mode="json") for way in found.ways],
        })  # fmt: skip
    else:
        _ways(found.ways)
    if not found.ways:
        note(f"No way of at most {count(hops, 'relation')} leads from {found.source.name} to {found.target.name}.")
    return 0 if found.ways else 1


def _ways(ways: Iterable[Way]) -> None:
    for number, way in enumerate(ways, start=1):
        say(f"{number}. {' - '.join(one.name for one in way.entities)}", style="bold")
        for entity, relation in zip(way.entities[1:], way.relations, strict=True):
            say(f"   {_said(relation, entity.id)} {entity.name}")
            _quote(relation.proof, "       ")
        say()


async def merge(merged: str, into: str, collection: str | None, reason: str) -> int:
    async with services() as opened:
        wanted = await _chosen(opened, into, collection)
        done = await graph_service.merge_entities(opened, wanted, into, merged, reason)
    say(f"{done.from_name} is taken for {done.into_name} now. Undo: cairn graph unmerge {done.id}")
    return 0


async def unmerge(merge_id: UUID) -> int:
    async with services() as opened:
        done = await graph_service.undo_merge(opened, merge_id)
    say(f"{done.from_name or done.from_id} is itself again.")
    return 0


async def merges(collection: str | None, as_json: bool) -> int:
    async with services() as opened:
        if collection is not None:
            check_collection_name(collection)
        found = await graph_service.list_merges(opened, collection, limit=1000)
    if as_json:
        from cairn.interfaces.http.graph_models import merge_out

        say_json([merge_out(one).model_dump(mode="json") for one in found])
        return 0
    for one in found:
        undone = f", undone {one.undone_at:%Y-%m-%d}" if one.undone_at else ""
        names = f"{one.from_name or one.from_id} -> {one.into_name or one.into_id}"
        say(f"{one.id}  {names}  ({one.collection}; {one.reason}, {one.merged_at:%Y-%m-%d}{undone})")
    if not found:
        note("Nothing was merged; `cairn graph merge ENTITY INTO` takes one entity for another.")
    return 0


def _entity_json(one: EntitySummary) -> dict[str, object]:
    from cairn.interfaces.http.graph_models import entity_out

    return entity_out(one).model_dump(mode="json")


# --- communities, and extraction with a model ----------------------------------------------------------------------------


async def communities(text: str, collection: str | None, level: int | None, limit: int, as_json: bool) -> int:
    """Exit code 0 also when there are none. Raises InputError for a level of what a text is about."""
    if text.strip() and level is not None:
        raise InputError("--level goes without TEXT")
    async with services() as opened:
        name = (await require_documents(opened, collection)).name
        if text.strip():
            found = await graph_service.find_communities(opened, text, name, limit=limit)
        else:
            found, _ = await graph_service.list_communities(opened, name, level=level or 0, limit=limit)
    if as_json:
        from cairn.interfaces.http.graph_models import community_out

        say_json([community_out(one).model_dump(mode="json") for one in found])
        return 0
    for one in found:
        _show_community(one)
    if not found and not is_installed("graph"):
        note(f"What finds communities is not installed: {install_command('graph')}")
    elif not found:
        note(
            f"No community of {name} fits."
            if text.strip() or level
            else f"Collection {name} has no communities: too little is related, or they are still to be found (a worker does it)."
        )
    return 0


def _show_community(one: CommunitySummary) -> None:
    say(f"{one.title}  ({one.size:,} entities, level {one.level})", style="bold")
    if one.written:
        say(f"    {one.written}")
    for said in one.sentences:
        say(f"    “{shorten(said.text, _QUOTE)}”")


async def extract(collection: str | None, wait: bool, as_json: bool) -> int:
    """Exit code 1 where the job ends otherwise than well. Raises NotFoundError, InputError where no model may be asked."""
    async with services() as opened:
        job = await job_service.extract_with_model(opened, collection)
        if wait:
            return await follow(opened, job, as_json)
    if as_json:
        from cairn.interfaces.http.models import job_out

        say_json(job_out(job).model_dump(mode="json"))
    else:
        say(f"Ordered; a worker does it: cairn jobs show {job.id}")
    return 0
