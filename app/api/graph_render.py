"""Values of the knowledge graph -> shapes of its routes, for the API and `--json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.api.graph_models import (
    CommunityOut,
    EntityDetailOut,
    EntityOut,
    MentionOut,
    MergeOut,
    NameOut,
    NeighborhoodOut,
    NodeOut,
    ProofOut,
    RelationOut,
    SentenceOut,
    WayOut,
)
from app.domain.graph import EntitySummary
from app.domain.graph_view import (
    CommunitySummary,
    EntityDetail,
    MentionedIn,
    Merge,
    Relation,
    Surroundings,
    Way,
    WayPlace,
)


def entity_out(entity: EntitySummary) -> EntityOut:
    return EntityOut(**_entity(entity))


def _entity(entity: EntitySummary) -> Mapping[str, Any]:
    return {"id": entity.id, "name": entity.name, "kind": entity.kind, "passage_count": entity.passage_count}


def relation_out(relation: Relation) -> RelationOut:
    own = relation.proof
    proof = ProofOut(
        **{name: getattr(own, name) for name in ProofOut.model_fields if name != "headings"},
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
    same = {name: getattr(passage, name) for name in MentionOut.model_fields if name not in ("occurrences", "headings")}
    return MentionOut(**same, headings=list(passage.headings), occurrences=one.occurrences)


def detail_out(detail: EntityDetail) -> EntityDetailOut:
    return EntityDetailOut(
        **_entity(detail.standing.entity),
        collection=detail.standing.collection,
        names=[NameOut(name=one.name, kind=one.kind, passage_count=one.passage_count) for one in detail.names],
        passages=detail.passages,
        documents=detail.documents,
        relation_count=detail.relation_count,
        relations=[relation_out(one) for one in detail.relations],
        mentions=[_mention(one) for one in detail.mentions],
        merged=[merge_out(one) for one in detail.merged],
    )


def _node(place: WayPlace) -> NodeOut:
    return NodeOut(**_entity(place.entity), hop=place.hop, score=place.score, path=list(place.path))


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
    same = {name: getattr(one, name) for name in ("id", "level", "parent_id", "title", "size")}
    sentences = [
        SentenceOut(**{name: getattr(said, name) for name in SentenceOut.model_fields}) for said in one.sentences
    ]
    return CommunityOut(**same, summary=one.written or None, sentences=sentences)
