"""Lines of what the graph shows of code: of what proves a relation, and of where definitions stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from cairn.domain.code import SEPARATOR, CodeLines
from cairn.domain.graph import EntitySummary
from cairn.domain.graph_view import Proof, Relation
from cairn.domain.passage import Passage
from cairn.domain.principal import Principal
from cairn.store import graph_code

CODE_KINDS: Final = frozenset({"module", "class", "function", "method"})
_RELATIONS: Final = frozenset({"contains", "imports", "calls", "inherits"})


async def number_relations(
    connection: Any, principal: Principal, relations: Sequence[Relation]
) -> tuple[Relation, ...]:
    """Relations between code with the lines of their proofs; others as they are."""
    proofs = {one.id: one.proof for one in relations if one.kind in _RELATIONS and _is_code(one)}
    points = [(proof.document_id, at) for proof in proofs.values() for at in (proof.start, _last(proof))]
    numbers = await graph_code.line_numbers(connection, principal, points) if points else {}

    def numbered(one: Relation) -> Relation:
        proof = one.proof
        first, last = numbers.get((proof.document_id, proof.start)), numbers.get((proof.document_id, _last(proof)))
        if one.id not in proofs or first is None or last is None:
            return one
        return replace(one, proof=replace(proof, lines=CodeLines(proof.external_id, first, last)))

    return tuple(map(numbered, relations))


async def find_lines(
    connection: Any, principal: Principal, entities: Iterable[EntitySummary]
) -> Mapping[UUID, CodeLines]:
    """Where definitions stand, the first place of each; nothing for what is no code."""
    ids = [one.id for one in entities if one.kind in CODE_KINDS]
    found = await graph_code.find_definitions(connection, principal, ids, 1) if ids else []
    points = [(span.document_id, at) for _, span in found for at in (span.start, max(span.end - 1, span.start))]
    numbers = await graph_code.line_numbers(connection, principal, points) if points else {}
    made: dict[UUID, CodeLines] = {}
    for key, span in found:
        first, last = numbers[span.document_id, span.start], numbers[span.document_id, max(span.end - 1, span.start)]
        made[key] = CodeLines(span.path, first, last)
    return made


async def passage_lines(
    connection: Any, principal: Principal, entity: EntitySummary, passages: Sequence[Passage]
) -> Mapping[UUID, CodeLines]:
    """Of passages that mention a definition; nothing for what is no code."""
    if entity.kind not in CODE_KINDS or not passages:
        return {}
    points = [(one.document_id, at) for one in passages for at in (one.start, max(one.end - 1, one.start))]
    numbers = await graph_code.line_numbers(connection, principal, points)
    return {
        one.passage_id: CodeLines(
            one.external_id,
            numbers[one.document_id, one.start],
            numbers[one.document_id, max(one.end - 1, one.start)],
        )
        for one in passages
    }


def _is_code(relation: Relation) -> bool:
    return SEPARATOR in relation.source.name or relation.source.kind in CODE_KINDS


def _last(proof: Proof) -> int:
    return max(proof.end - 1, proof.start)
