"""From the outline of a file to what is stored of it. Pure.

Definitions are entities of the family `code`, named by file and name ("app/x.py::Class.method", a module by its path
alone); the passage in which one begins mentions it by this name, over its whole extent, and by shorter ones. What the file
does not define itself is of the family `reference`: a name, dotted as it is imported. Nothing is looked up: which
definition a reference means is found when somebody asks (symbols.py), whatever was indexed or deleted meanwhile.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Final
from uuid import UUID

from cairn.domain.code import SEPARATOR, CodeReference, Definition, Outline
from cairn.domain.document import PreparedPassage
from cairn.domain.graph import (
    DocumentGraph,
    EntityKey,
    EvidenceRow,
    MentionRow,
)
from cairn.graph.keys import key_of

LONGEST_NAME: Final = 400
"""Code points of path and name; what is longer is left out."""
_MOST_SUFFIXES: Final = 4
_ENTRIES: Final = frozenset({"__init__", "index", "mod", "lib", "main"})
DEFINED, REFERRED = "code", "reference"

Found = dict[tuple[UUID, EntityKey, str, str], MentionRow]


def code_graph(outline: Outline, passages: Sequence[PreparedPassage], path: str) -> DocumentGraph:
    """Rows of a file; `path` is its external id. Each thing is mentioned by the passage in which it begins."""
    if not passages or len(path) > LONGEST_NAME:
        return DocumentGraph()
    starts = [passage.draft.start for passage in passages]
    kinds = {one.name: one.kind for one in outline.definitions}
    found: Found = {}

    def passage_at(at: int) -> UUID:
        return passages[max(bisect_right(starts, at) - 1, 0)].id

    module = Definition("", "module", passages[0].draft.start, passages[-1].draft.end)
    for defined in (module, *outline.definitions):
        for row in _definition_rows(passage_at(defined.start), path, defined):
            found.setdefault((row.passage_id, row.entity, row.name, row.kind), row)
    evidence: dict[tuple[UUID, EntityKey, str, EntityKey], EvidenceRow] = {}
    for one in outline.references:
        passage_id = passage_at(one.start)
        source = _imply(found, passage_id, path, one.source, kinds.get(one.source, "module"), one.start)
        target = _target(found, passage_id, path, one)
        if source is None or target is None or source == target:
            continue
        key = (passage_id, source, one.relation, target)
        known = evidence.get(key)
        evidence[key] = replace(known, strength=known.strength + 1) if known else EvidenceRow(*key, one.start, one.end)
    return DocumentGraph(tuple(found.values()), tuple(evidence.values()), outline.calls)


def symbol_key(path: str, name: str) -> EntityKey:
    """The entity of a definition; of the file itself where `name` is empty."""
    return EntityKey(DEFINED, f"{path}{SEPARATOR}{name}" if name else path)


def names_of(path: str, name: str) -> Iterator[str]:
    """What a definition is called besides its full name: "method", "Class.method"; a file "x.py", "a/x.py", "x"."""
    if name:
        parts = name.split(".")
        yield from dict.fromkeys((parts[-1], ".".join(parts[-2:]), name))
        return
    pure = PurePosixPath(path.replace("\\", "/"))
    stem = pure.name.split(".")[0]
    yield pure.parent.name if stem in _ENTRIES and pure.parent.name else stem
    for length in range(1, min(len(pure.parts), _MOST_SUFFIXES + 1)):
        yield "/".join(pure.parts[-length:])


def _definition_rows(passage_id: UUID, path: str, one: Definition) -> Iterator[MentionRow]:
    key = symbol_key(path, one.name)
    if len(key.normal) > LONGEST_NAME:
        return
    yield MentionRow(passage_id, key, key.normal, one.kind, key.normal, one.start, one.end)
    for name in names_of(path, one.name):
        if name != key.normal:
            yield MentionRow(passage_id, key, name, one.kind, key_of(name) or name, one.start, one.end, 0)


def _imply(found: Found, passage_id: UUID, path: str, name: str, kind: str, at: int) -> EntityKey | None:
    """A definition in a passage in which something of it stands."""
    key = symbol_key(path, name)
    if len(key.normal) > LONGEST_NAME:
        return None
    short = next(names_of(path, name))
    row = MentionRow(passage_id, key, short, kind, key_of(short) or short, at, at, 0)
    found.setdefault((passage_id, key, short, kind), row)
    return key


def _target(found: Found, passage_id: UUID, path: str, one: CodeReference) -> EntityKey | None:
    if one.local:
        return _imply(found, passage_id, path, one.target, one.kind, one.start)
    if not 0 < len(one.target) <= LONGEST_NAME:
        return None
    key = EntityKey(REFERRED, one.target)
    bare = one.target.rpartition(".")[2]
    place = (passage_id, key, one.target, one.kind)
    row = MentionRow(passage_id, key, one.target, one.kind, key_of(bare) or bare, one.start, one.end)
    found[place] = replace(found[place], occurrences=found[place].occurrences + 1) if place in found else row
    return key
