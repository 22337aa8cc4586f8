"""Shapes of the routes of the knowledge graph."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from cairn.domain.code import CodeLines
from cairn.domain.graph import EntitySummary
from cairn.domain.graph_view import (
    CommunitySummary,
    EntityDetail,
    MentionedIn,
    Merge,
    Relation,
    Surroundings,
    Way,
    WayPlace,
)
from cairn.interfaces.http.models import COLLECTION_EXAMPLE, ID_EXAMPLE, Body, example

_ADA: dict[str, Any] = {
    "id": "6c1f3f7a-0c58-8d3e-9c1b-0f2b5a7f2f10",
    "name": "Ada Lovelace",
    "kind": "person",
    "passage_count": 3,
}
_TOWN: dict[str, Any] = {
    "id": "b04a8d52-51d7-8a27-a2f8-2f8a51d5f0aa",
    "name": "London",
    "kind": "place",
    "passage_count": 9,
}
_PROOF: dict[str, Any] = {
    "passage_id": ID_EXAMPLE, "document_id": ID_EXAMPLE, "external_id": "people/ada.md", "title": "Ada Lovelace", "page": None,
    "headings": ["Ada Lovelace"], "quote": "Ada Lovelace was born in London.", "start": 0, "end": 32,
}  # fmt: skip
_RELATION: dict[str, Any] = {
    "id": "0f9b9d6f-7e21-8c55-8a3d-97d6b65de001", "kind": "born_in", "source": _ADA, "target": _TOWN, "weight": 0.41,
    "evidence_count": 2, "proof": _PROOF,
}  # fmt: skip
_MERGE: dict[str, Any] = {
    "id": ID_EXAMPLE, "collection": COLLECTION_EXAMPLE, "from_id": "4d1a7a52-6a0c-8d11-bc41-1c5f4f2f9a77",
    "from_name": "Countess of Lovelace", "into_id": _ADA["id"], "into_name": "Ada Lovelace", "reason": "by hand",
    "merged_at": "2026-11-22T10:00:00Z", "undone_at": None,
}  # fmt: skip


_COMMUNITY: dict[str, Any] = {
    "id": ID_EXAMPLE, "level": 0, "parent_id": None, "title": "Ada Lovelace, Charles Babbage, Analytical Engine",
    "entity_count": 5,
    "summary": None,
    "sentences": [
        {"text": "Ada Lovelace was born in London.", "passage_id": ID_EXAMPLE, "document_id": ID_EXAMPLE, "start": 0, "end": 32}
    ],
}  # fmt: skip


class EntityOut(BaseModel):
    """Something that passages speak of, by the name that most of them give it."""

    model_config = example(_ADA)

    id: UUID = Field(description="The same for the same name in the same collection, also after a deletion.")
    name: str
    kind: str = Field(description="What most passages take it for: person, place, organisation, term, class, ...")
    passage_count: int = Field(description="Passages that mention it under its own names.")


class EntityPage(BaseModel):
    model_config = example({"items": [_ADA], "next_cursor": None})

    items: list[EntityOut]
    next_cursor: str | None = Field(description="For the next page; null on the last one.")


class CodeLinesOut(BaseModel):
    """Lines of a file of code."""

    path: str = Field(description="The file, by its external id.")
    start_line: int = Field(description="From 1.")
    end_line: int = Field(description="The last one, included.")


_LINES: Any = Field(None, description="Where it stands in a file of code; null for anything else.")


def _lines(found: CodeLines | None) -> CodeLinesOut | None:
    return CodeLinesOut(path=found.path, start_line=found.start, end_line=found.end) if found else None


class ProofOut(BaseModel):
    """`quote` stands verbatim at start..end (code points) of the document's text."""

    passage_id: UUID
    document_id: UUID
    external_id: str
    title: str
    page: int | None
    headings: list[str]
    quote: str
    start: int
    end: int
    lines: CodeLinesOut | None = _LINES


class RelationOut(BaseModel):
    model_config = example(_RELATION)

    id: UUID
    kind: str = Field(
        description="What the words between the two say (born_in, founded_by), or co_occurs, which has no direction."
    )
    source: EntityOut
    target: EntityOut
    weight: float = Field(description="How closely the two belong together, above 0 and below 1.")
    evidence_count: int = Field(description="Passages that prove it.")
    proof: ProofOut = Field(description="The strongest of them.")


class NameOut(BaseModel):
    name: str
    kind: str
    passage_count: int


class MentionOut(BaseModel):
    passage_id: UUID
    document_id: UUID
    external_id: str
    title: str
    page: int | None
    headings: list[str]
    content: str
    start: int
    end: int
    lines: CodeLinesOut | None = _LINES
    occurrences: int = Field(description="0: the passage only implies it, by its title or a pronoun.")


class MergeOut(BaseModel):
    model_config = example(_MERGE)

    id: UUID
    collection: str
    from_id: UUID
    from_name: str | None = Field(description="Null while no passage mentions it; it is merged again when one does.")
    into_id: UUID
    into_name: str | None
    reason: str
    merged_at: datetime
    undone_at: datetime | None = Field(description="Null while it is in force.")


class MergePage(BaseModel):
    model_config = example({"items": [_MERGE], "next_cursor": None})

    items: list[MergeOut]
    next_cursor: str | None = Field(description="For the next page; null on the last one.")


class NewMerge(Body):
    """Take the entity `from` for the entity `into`; each by id or name."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"collection": COLLECTION_EXAMPLE, "from": "Countess of Lovelace", "into": "Ada Lovelace"}]
        },
    )

    collection: str | None = Field(None, description="Default: rag.collectionName, or where an id belongs.")
    into: str = Field(min_length=1, max_length=500, description="Id or name.")
    merged: str = Field(alias="from", min_length=1, max_length=500, description="Id or name.")
    reason: str = Field("by hand", max_length=500, description="For the log.")


class EntityDetailOut(EntityOut):
    model_config = example({
        **_ADA, "collection": COLLECTION_EXAMPLE, "names": [{"name": "Ada Lovelace", "kind": "person", "passage_count": 3}],
        "total_passage_count": 3, "document_count": 1, "relation_count": 4,
        "relations": [_RELATION], "mentions": [], "merged": [_MERGE],
    })  # fmt: skip

    collection: str
    names: list[NameOut] = Field(description="What passages call it and what was merged into it.")
    total_passage_count: int = Field(description="Passages that mention it or what was merged into it.")
    document_count: int
    relation_count: int
    relations: list[RelationOut] = Field(description="The strongest, one for each neighbour.")
    mentions: list[MentionOut] = Field(description="Passages that mention it most.")
    merged: list[MergeOut] = Field(description="What was merged into it; undo with DELETE /graph/merges/{id}.")
    lines: CodeLinesOut | None = _LINES


class NodeOut(EntityOut):
    hop: int = Field(description="Relations between the centre and it; 0: the centre.")
    score: float = Field(description="Product of the weights along its path.")
    path: list[UUID] = Field(description="Ids of the relations that lead to it from the centre.")
    lines: CodeLinesOut | None = _LINES


class NeighborhoodOut(BaseModel):
    model_config = example({
        "collection": COLLECTION_EXAMPLE,
        "nodes": [{**_ADA, "hop": 0, "score": 1.0, "path": []}, {**_TOWN, "hop": 1, "score": 0.41, "path": [_RELATION["id"]]}],
        "edges": [_RELATION], "truncated": False,
    })  # fmt: skip

    collection: str
    nodes: list[NodeOut] = Field(description="Closest first; the first is the centre.")
    edges: list[RelationOut] = Field(description="The relations on the paths.")
    truncated: bool = Field(
        description="There is more than `limit` or the budget of a walk (settings graph.*) let through."
    )


class WayOut(BaseModel):
    entities: list[EntityOut] = Field(description="From one end to the other.")
    relations: list[RelationOut] = Field(description="Between each two of them; a relation may point backwards.")
    score: float = Field(description="Product of the weights.")


class PathsOut(BaseModel):
    model_config = example({
        "collection": COLLECTION_EXAMPLE, "source": _ADA, "target": _TOWN,
        "paths": [{"entities": [_ADA, _TOWN], "relations": [_RELATION], "score": 0.41}],
    })  # fmt: skip

    collection: str
    source: EntityOut
    target: EntityOut
    paths: list[WayOut] = Field(description="Short before long, then by score; empty where nothing joins the two.")


class SentenceOut(BaseModel):
    """`text` stands verbatim at start..end (code points) of the document's text."""

    text: str
    passage_id: UUID
    document_id: UUID
    start: int
    end: int


class CommunityOut(BaseModel):
    """A group of entities that are closely related, and what documents say of them."""

    model_config = example(_COMMUNITY)

    id: UUID = Field(description="It keeps it while most of its members stay.")
    level: int = Field(description="0: not part of a larger one; 1: part of one of level 0, and so on.")
    parent_id: UUID | None
    title: str = Field(description="What a chat model called it, else its most central entities.")
    entity_count: int = Field(description="Entities in it.")
    summary: str | None = Field(
        description="What a chat model wrote; null where none did, and after a source of it went."
    )
    sentences: list[SentenceOut] = Field(description="That sum it up, word for word, the best first.")


class CommunityPage(BaseModel):
    model_config = example({"items": [_COMMUNITY], "next_cursor": None})

    items: list[CommunityOut]
    next_cursor: str | None = Field(description="For the next page; null on the last one, and with `q`.")


class NewExtraction(Body):
    """Let the chat model read a collection for the graph."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"collection": COLLECTION_EXAMPLE}]})

    collection: str | None = Field(None, description="Default: rag.collectionName.")


# --- values of the graph -> these shapes, for the API and `--json` -----------------------------------------------------------


def entity_out(entity: EntitySummary) -> EntityOut:
    return EntityOut(**_entity(entity))


def _entity(entity: EntitySummary) -> Mapping[str, Any]:
    return {"id": entity.id, "name": entity.name, "kind": entity.kind, "passage_count": entity.passage_count}


def relation_out(relation: Relation) -> RelationOut:
    own = relation.proof
    proof = ProofOut(
        **{name: getattr(own, name) for name in ProofOut.model_fields if name not in ("headings", "lines")},
        lines=_lines(own.lines),
        headings=list(own.headings),
    )
    return RelationOut(
        id=relation.id, kind=relation.kind, source=entity_out(relation.source), target=entity_out(relation.target),
        weight=relation.weight, evidence_count=relation.evidence_count, proof=proof,
    )  # fmt: skip


def merge_out(merge: Merge) -> MergeOut:
    return MergeOut(**{name: getattr(merge, name) for name in MergeOut.model_fields})


def _mention(one: MentionedIn) -> MentionOut:
    passage = one.passage
    other = {"occurrences", "headings", "lines"}
    same = {name: getattr(passage, name) for name in MentionOut.model_fields if name not in other}
    return MentionOut(**same, lines=_lines(one.lines), headings=list(passage.headings), occurrences=one.occurrences)


def detail_out(detail: EntityDetail) -> EntityDetailOut:
    return EntityDetailOut(
        **_entity(detail.standing.entity),
        lines=_lines(detail.lines),
        collection=detail.standing.collection,
        names=[NameOut(name=one.name, kind=one.kind, passage_count=one.passage_count) for one in detail.names],
        total_passage_count=detail.passages,
        document_count=detail.documents,
        relation_count=detail.relation_count,
        relations=[relation_out(one) for one in detail.relations],
        mentions=[_mention(one) for one in detail.mentions],
        merged=[merge_out(one) for one in detail.merged],
    )


def _node(place: WayPlace) -> NodeOut:
    return NodeOut(
        **_entity(place.entity), hop=place.hop, score=place.score, path=list(place.path), lines=_lines(place.lines)
    )


def neighborhood_out(found: Surroundings) -> NeighborhoodOut:
    nodes, edges = [_node(place) for place in found.places], [relation_out(one) for one in found.relations]
    return NeighborhoodOut(collection=found.collection, nodes=nodes, edges=edges, truncated=found.truncated)


def way_out(way: Way) -> WayOut:
    return WayOut(
        entities=[entity_out(one) for one in way.entities],
        relations=[relation_out(one) for one in way.relations],
        score=way.score,
    )


def community_out(one: CommunitySummary) -> CommunityOut:
    same = {name: getattr(one, name) for name in ("id", "level", "parent_id", "title")}
    sentences = [
        SentenceOut(**{name: getattr(said, name) for name in SentenceOut.model_fields}) for said in one.sentences
    ]
    return CommunityOut(**same, entity_count=one.size, summary=one.written or None, sentences=sentences)
