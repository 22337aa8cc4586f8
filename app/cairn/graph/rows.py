"""From what passages say (Extraction) to what is stored of it (DocumentGraph). Pure.

Names become entities here: one normal form within a family of kinds is one entity of the collection. Rules tell a person
from a place too seldom to keep two apart that are spelled alike, so all kinds of text are one family.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from cairn.domain.document import PreparedPassage
from cairn.domain.graph import (
    SYMMETRIC,
    Alias,
    DocumentGraph,
    EntityKey,
    EntityKind,
    EntityMention,
    EvidenceRow,
    Extraction,
    MentionRow,
    RelationMention,
)
from cairn.graph.extract import PassageSpan, extract
from cairn.graph.keys import key_of
from cairn.settings import GraphSettings

CODE: Final[frozenset[EntityKind]] = frozenset({"module", "class", "function", "method"})
LONGEST_NAME: Final = 200
"""Code points; what is longer is no name, and an index entry of PostgreSQL ends at 2,700 bytes."""

Keys = dict[str, EntityKey]
"""Entities of a passage by the names that relations call them."""


def document_graph(
    text: str, passages: Sequence[PreparedPassage], *, title: str, language: str | None, settings: GraphSettings
) -> DocumentGraph:
    """The graph of a document in natural language, extracted by rules. `title` is empty where it has none."""
    spans = [PassageSpan(p.draft.start, p.draft.end, p.draft.headings) for p in passages]
    found = extract(text, spans, title=title, language=language)
    return graph_rows(text, list(zip([p.id for p in passages], found, strict=True)), settings)


def graph_rows(text: str, extracted: Iterable[tuple[UUID, Extraction]], settings: GraphSettings) -> DocumentGraph:
    """Rows of passages; whoever extracted them, by rules, from code or with a model.

    Repeated mentions become one row with the first span, repeated proofs one with the sum of their strengths. A passage
    that proves a relation mentions both ends of it: one that it only implies (the title, a pronoun) occurs 0 times.
    """
    mentions: list[MentionRow] = []
    evidence: list[EvidenceRow] = []
    for passage_id, extraction in extracted:
        keys: Keys = {}
        found = _collect_mentions(text, passage_id, extraction.entities[: settings.max_mentions], keys)
        _add_aliases(extraction.aliases, keys, found)
        proofs = _collect_evidence(passage_id, extraction.relations[: settings.max_relations], keys, found)
        mentions += found.values()
        evidence += proofs
    return DocumentGraph(tuple(mentions), tuple(evidence))


def entity_key(name: str, kind: EntityKind) -> EntityKey:
    """The entity that a name of this kind belongs to; its normal form is empty where nothing is left of the name."""
    family = "code" if kind in CODE else "identifier" if kind == "identifier" else "text"
    return EntityKey(family, name if family == "code" else key_of(name, kind))


_Found = dict[tuple[EntityKey, str, str], MentionRow]


def _collect_mentions(text: str, passage_id: UUID, entities: Iterable[EntityMention], keys: Keys) -> _Found:
    found: _Found = {}
    for mention in entities:
        key = entity_key(mention.name, mention.kind)
        if not key.normal or len(mention.name) > LONGEST_NAME:
            continue
        keys.setdefault(key_of(mention.name), key)
        written = text[mention.start : mention.end] or mention.name
        surface = written if len(written) <= LONGEST_NAME else mention.name
        place = (key, surface, mention.kind)
        if place in found:
            found[place] = replace(found[place], occurrences=found[place].occurrences + 1)
        else:
            form = key.normal if surface == mention.name else entity_key(surface, mention.kind).normal or key.normal
            span = (mention.start, mention.end)
            found[place] = MentionRow(passage_id, key, surface, mention.kind, form, *span, 1, mention.confidence)
    return found


def _add_aliases(aliases: Iterable[Alias], keys: Keys, found: _Found) -> None:
    """Other names that the document gives entities of the passage: they occur 0 times where they do not stand here."""
    for alias in aliases:
        key, form = keys.get(key_of(alias.name)), key_of(alias.alias)
        if key is None or not form or len(alias.alias) > LONGEST_NAME:
            continue
        first = next(row for row in found.values() if row.entity == key)
        place = (key, alias.alias, first.kind)
        if place not in found:
            found[place] = replace(first, name=alias.alias, form=form, occurrences=0)


def _collect_evidence(
    passage_id: UUID, relations: Iterable[RelationMention], keys: Keys, found: _Found
) -> Iterable[EvidenceRow]:
    proofs: dict[tuple[object, str], EvidenceRow] = {}
    for relation in relations:
        source, target = (_end(name, passage_id, relation, keys, found) for name in (relation.source, relation.target))
        if source is None or target is None or source == target:
            continue
        ends = frozenset((source, target)) if relation.kind in SYMMETRIC else (source, target)
        known = proofs.get((ends, relation.kind))
        proofs[ends, relation.kind] = (
            replace(known, strength=known.strength + relation.weight)
            if known
            else EvidenceRow(passage_id, source, relation.kind, target, relation.start, relation.end, relation.weight)
        )
    return proofs.values()


def _end(name: str, passage_id: UUID, relation: RelationMention, keys: Keys, found: _Found) -> EntityKey | None:
    """The entity of that name, mentioned by implication where the passage does not name it."""
    normal = key_of(name)
    if normal not in keys:
        key = entity_key(name, "topic")
        if not key.normal or len(name) > LONGEST_NAME:
            return None
        keys[normal] = key
        found[key, name, "topic"] = MentionRow(
            passage_id, key, name, "topic", key.normal, relation.start, relation.start, 0, 0.5
        )
    return keys[normal]
