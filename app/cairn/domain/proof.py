"""What a proof of an answer is made of, besides the trace of its run: rows as they are when it is written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

FORMAT: Final = "cairn-proof/1"
DECIMALS: Final = 6
"""Of numbers that are no whole ones: they are written as text, since programs print them differently."""


@dataclass(frozen=True, slots=True)
class ProvenDocument:
    """The present version. `file_sha256` is None where no file is kept; `length` (code points) and `text_sha256` of the
    normalised text are None where it is not indexed."""

    id: UUID
    collection: str
    external_id: str
    title: str
    version: int
    media_type: str
    length: int | None
    file_sha256: str | None
    text_sha256: str | None


@dataclass(frozen=True, slots=True)
class ProvenPassage:
    """`text` is what stands at start..end (code points) of the text of that version of the document."""

    id: UUID
    document_id: UUID
    version: int
    start: int
    end: int
    page: int | None
    text: str


@dataclass(frozen=True, slots=True)
class ProvenChunk:
    """start..end count in the document's text."""

    id: UUID
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ProvenCollection:
    """As it is now; `embedding_model` None: that of the settings serves it."""

    name: str
    epoch: int
    embedding_model: str | None


@dataclass(frozen=True, slots=True)
class CitedSpan:
    """Where words stand that an answer cites: start..end (code points) of that version of a document, within a passage."""

    document_id: UUID
    version: int
    passage_id: UUID
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ProvenText:
    """The normalised text of a version of a document, and what its file is called beside a proof."""

    file_name: str
    text: str


# --- the canonical form, of which the digests are; docs/proof.md has it for others -----------------------------------------


def digest_of(text: str) -> str:
    """SHA-256 of its UTF-8, in hex. A trace keeps it of words that it does not keep."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def stable(value: Any) -> Any:
    """As JSON that every program prints alike: fractions become text, tuples lists, ids and moments text."""
    if isinstance(value, float):
        return f"{value:.{DECIMALS}f}"
    if isinstance(value, Mapping):
        return {str(key): stable(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [stable(item) for item in value]
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def canonical(value: Any) -> str:
    """JSON with sorted keys and no white space; characters as they are."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def seal(sections: Mapping[str, Any]) -> dict[str, Any]:
    """The proof of these sections: with a digest of each, so that a change is named, and one of all."""
    proof: dict[str, Any] = stable(sections)
    digests = {name: digest_of(canonical(section)) for name, section in proof.items()}
    return {**proof, "digest": {"algorithm": "sha256", "sections": digests, "whole": digest_of(canonical(proof))}}
