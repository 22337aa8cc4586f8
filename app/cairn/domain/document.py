"""A document on its way in: bytes -> text -> sections -> passages -> chunks.

All spans are half-open ranges of code points in the document's normalised text (`LoadedDocument.text`).
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, get_args
from uuid import UUID

from cairn.domain.code import Outline
from cairn.domain.graph import NO_GRAPH, DocumentGraph
from cairn.domain.table import DocumentTable
from cairn.errors import InputError

Markup = Literal["markdown", "plain", "rows", "code"]
Status = Literal["pending", "parsing", "embedding", "indexed", "failed"]


CODE: Final = "text/x-"
"""What media types of code begin with."""
PROSE_TYPES: Final = ("text/x-rst", "text/x-latex", "text/x-wiki")
"""Media types that are called like those of code, and hold text for people."""
CONFIGURATION_TYPES: Final = ("text/x-yaml", "text/x-toml", "text/x-json", "text/x-ini", "text/x-css")
"""Of files that programs are set up with: shown and cut line by line as code is, and no reason to take a collection for one of
code, for manuals come with them."""
NO_SOURCE_TYPES: Final = PROSE_TYPES + CONFIGURATION_TYPES
"""Media types that are called like those of code, and define and call nothing."""


def is_code_type(media_type: str) -> bool:
    """Whether documents of a media type are source code, or configuration."""
    return media_type.startswith(CODE) and media_type not in PROSE_TYPES


MAX_METADATA_KEYS: Final = 1000
MAX_METADATA_BYTES: Final = 64_000


OPERATORS: Final = frozenset(
    (
        "$in",
        "$nin",
        "$eq",
        "$ne",
        "$gt",
        "$gte",
        "$lt",
        "$lte",
        "$and",
        "$or",
        "$not",
        "$nor",
        "$exists",
        "$all",
        "$regex",
    )
)
"""Of other databases' filters; here a filter is the members that metadata must contain."""


def check_filters(filters: Mapping[str, Any]) -> None:
    """Raises InputError for what is too large, and for operators, which would be looked for as members and found nowhere."""
    check_metadata(filters, "filters")
    todo: list[Any] = [filters]
    while todo:
        value = todo.pop()
        if isinstance(value, Mapping):
            if found := sorted(OPERATORS & value.keys()):
                raise InputError(
                    f"filters know no operators such as {found[0]}: they are members that the metadata must contain, as "
                    'in {"year": 2021}; ask once for each value'
                )
            todo += value.values()
        elif isinstance(value, list):
            todo += value


def check_metadata(metadata: Mapping[str, Any], what: str = "metadata") -> None:
    """Of a document, or the filters of a search: they are compared and stored with each passage. Raises InputError."""
    keys = 0
    todo: list[Any] = [metadata]
    while todo and keys <= MAX_METADATA_KEYS:
        value = todo.pop()
        keys += len(value)
        todo += [
            item
            for item in (value.values() if isinstance(value, Mapping) else value)
            if isinstance(item, Mapping | list)
        ]
    if keys > MAX_METADATA_KEYS:
        raise InputError(f"{what} may have {MAX_METADATA_KEYS:,} keys and items, these have more")
    try:
        written = json.dumps(metadata, ensure_ascii=False, allow_nan=False, default=str)
    except ValueError:
        raise InputError(f"{what}: holds NaN or Infinity, which JSON has no word for") from None
    size = len(written.encode("utf-8", "replace"))
    if size > MAX_METADATA_BYTES:
        raise InputError(f"{what} may have {MAX_METADATA_BYTES:,} bytes as JSON, these have {size:,}")


@dataclass(frozen=True, slots=True)
class Source:
    """A document as the caller handed it over: raw bytes of a file, or text (`media_type` text/*).

    `external_id` is its identity within a collection (the caller's id, or the relative path of a file). `is_text`: the
    content is text that the caller wrote out, UTF-8; it is never taken for a file of another kind. `origin`: the absolute
    path of the file it was read from on this machine; None where it was handed over otherwise. `size`: bytes of the content
    where it was left behind when the document was prepared. `access`: who may read it (cairn/domain/access.py), nobody: whom the
    rules of its folder name, without any everybody in the tenant; None: as it is.
    """

    external_id: str
    name: str
    content: bytes
    title: str | None = None
    media_type: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    is_text: bool = False
    origin: str | None = None
    size: int | None = None
    access: tuple[str, ...] | None = None

    @property
    def byte_size(self) -> int:
        return len(self.content) if self.size is None else self.size


@dataclass(frozen=True, slots=True)
class PageStart:
    """Page `number` (1-based) begins at code point `start`."""

    start: int
    number: int


@dataclass(frozen=True, slots=True)
class LoadedDocument:
    """What a loader makes of a source: normalised text and where its pages begin.

    `markup` decides how sections are found: Markdown headings, none, or the symbols of `code_language`
    (a name of langchain_text_splitters.Language, e.g. "python"). Word and HTML files are rendered as Markdown. Each paragraph of
    `rows` makes sense alone, so that no part of one is repeated where the text is cut. `outline`:
    the symbols, where they could be read (cairn/ingest/outlines.py). `notes`: what of the file was not read, for people.
    """

    text: str
    media_type: str
    markup: Markup
    title: str | None = None
    pages: tuple[PageStart, ...] = ()
    code_language: str | None = None
    outline: Outline | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Landmark:
    """From code point `start` on: this page (None where there are no pages) and this heading path."""

    start: int
    page: int | None
    headings: tuple[str, ...]


def landmark_at(landmarks: Sequence[Landmark], position: int) -> Landmark:
    """The landmark in force at a position; the first one before all."""
    return landmarks[max(bisect_right(landmarks, position, key=lambda mark: mark.start) - 1, 0)]


_WORD: Final = re.compile(r"\w+")
LONGEST_LABEL: Final = 100  # bound: tests/unit/test_section_label.py
"""Characters of the label of a section with the one that it stands in."""
BETWEEN_HEADINGS: Final = " › "


def section_label(headings: Sequence[str], title: str) -> str:
    """The innermost heading with the one above it, unless that is the title, in whole or for the most part; "" of what stands
    below the title alone."""
    own = headings[-1] if headings else ""
    if not own or own == title:
        return ""
    above = headings[-2] if headings[1:] else ""
    told = bool(above) and above != own and not _repeats(above, title) and len(above) + len(own) <= LONGEST_LABEL
    return f"{above}{BETWEEN_HEADINGS}{own}" if told else own


def _repeats(heading: str, title: str) -> bool:
    """Whether most words of a heading are in the title, as of a page that is called a little otherwise in its first line."""
    words, titled = (_WORD.findall(text.casefold()) for text in (heading, title))
    return heading == title or 2 * sum(word in titled for word in words) > len(words)


@dataclass(frozen=True, slots=True)
class ChunkDraft:
    """What the vector leg ranks (400 characters, 50 overlap). Lies inside its passage."""

    ordinal: int
    start: int
    end: int
    token_count: int


@dataclass(frozen=True, slots=True)
class PassageDraft:
    """What the lexical leg ranks, fusion merges and answers cite (2000 characters, 200 overlap).

    `landmarks` tell page and headings of each place in it; the first stands at its start.
    """

    ordinal: int
    start: int
    end: int
    headings: tuple[str, ...]
    page: int | None
    landmarks: tuple[Landmark, ...]
    token_count: int
    chunks: tuple[ChunkDraft, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A stored document as the API lists it. Sizes are counts; times are ISO 8601 at the edge. `enrichment`: who wrote contexts
    for its chunks, for how many, and why not for the others; None where it is embedded without. `has_file`: its file is kept as
    it came. `access`: who may read it; None: everybody in the tenant. `access_from`: folder whose rule says so
    (cairn/domain/access.py); None: it has a list of its own, or no rule is about it."""

    id: UUID
    collection: str
    external_id: str
    title: str
    version: int
    status: Status
    media_type: str
    language: str | None
    metadata: Mapping[str, Any]
    error: str | None
    byte_size: int
    passage_count: int
    chunk_count: int
    token_count: int
    created_at: Any
    updated_at: Any
    enrichment: Mapping[str, Any] | None = None
    has_file: bool = False
    access: Sequence[str] | None = None
    access_from: str | None = None


@dataclass(frozen=True, slots=True)
class TextPart:
    """Part of a document's normalised text, from code point `start` on; all of it has `length`."""

    version: int
    start: int
    text: str
    length: int


@dataclass(frozen=True, slots=True)
class PreparedPassage:
    """A passage ready to be stored. `config` is its text search configuration, e.g. "english"."""

    id: UUID
    draft: PassageDraft
    content: str
    search_terms: str
    config: str


@dataclass(frozen=True, slots=True)
class PreparedChunk:
    """A chunk ready to be embedded: `embed_text` is what the model sees, `content_hash` its SHA-256."""

    id: UUID
    passage_id: UUID
    ordinal: int
    draft: ChunkDraft
    landmark: Landmark
    content: str
    embed_text: str
    content_hash: bytes


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document after loading and chunking, before its vectors. `titled`: it has a title, which is embedded with each chunk;
    else its name is shown as one. `loader_revision`: of the loaders that read it (cairn.ingest.loaders.REVISION);
    `derived_revision`: of the rules that made graph, symbols and tables of it (cairn.ingest.prepare.RULES)."""

    source: Source
    title: str
    text: str
    media_type: str
    language: str | None
    content_hash: bytes
    token_counter: str
    passages: tuple[PreparedPassage, ...]
    chunks: tuple[PreparedChunk, ...]
    graph: DocumentGraph = NO_GRAPH
    notes: tuple[str, ...] = ()
    titled: bool = True
    tables: tuple[DocumentTable, ...] = ()
    loader_revision: int = 0
    derived_revision: int = 0

    @property
    def token_count(self) -> int:
        """Tokens of all passages (overlaps count twice)."""
        return sum(passage.draft.token_count for passage in self.passages)


Change = Literal["added", "replaced", "updated", "unchanged"]


@dataclass(frozen=True, slots=True)
class Indexed:
    """A document that is searchable now. `duplicate`: it was so before, with this very content; `updated`
    then: with other metadata. `notes`: what of its file was not read, such as scanned pages."""

    external_id: str
    name: str
    document_id: UUID
    version: int
    passage_count: int
    chunk_count: int
    duplicate: bool
    notes: tuple[str, ...] = ()
    updated: bool = False

    @property
    def change(self) -> Change:
        """What became of the identity: new, with other content than before, with other metadata only, or as it was."""
        if self.duplicate:
            return "updated" if self.updated else "unchanged"
        return "replaced" if self.version > 1 else "added"


@dataclass(frozen=True, slots=True)
class Rejected:
    """A document that could not be indexed, and why; the rest of its batch is not affected."""

    external_id: str
    name: str
    code: str
    error: str


Outcome = Indexed | Rejected


# --- A named set of documents ---


@dataclass(frozen=True, slots=True)
class Collection:
    """`epoch` grows with every committed change of content. `model_id`: the embedding model that serves it; None before
    its first document. `display_name`: what people call it; None where nobody said."""

    id: UUID
    name: str
    epoch: int
    document_count: int
    passage_count: int
    chunk_count: int
    created_at: datetime
    model_id: int | None = None
    display_name: str | None = None

    @property
    def shown_name(self) -> str:
        """For people."""
        return self.display_name or self.name


def upload_result(outcomes: Sequence[Outcome], epoch: int) -> dict[str, Any]:
    """The body of an upload's answer, and the result of its job. `epoch`: of the collection, with all of it."""
    uploaded = [
        {"id": str(item.document_id), "external_id": item.external_id, "chunk_count": item.chunk_count,
         "duplicate": item.duplicate, "change": item.change, "notes": list(item.notes)}
        for item in outcomes
        if isinstance(item, Indexed)
    ]  # fmt: skip
    failed = [
        {"external_id": item.external_id, "error": item.error, "code": item.code}
        for item in outcomes
        if not isinstance(item, Indexed)
    ]
    return {"uploaded": uploaded, "failed": failed, "counts": count_outcomes(outcomes), "epoch": epoch}


def count_outcomes(outcomes: Sequence[Outcome]) -> dict[str, int]:
    """How many were added, replaced, updated, unchanged and failed; every one of them is named, also with 0."""
    counts = dict.fromkeys((*get_args(Change), "failed"), 0)
    for item in outcomes:
        counts[item.change if isinstance(item, Indexed) else "failed"] += 1
    return counts


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """A document as a list names it; `pages` is None where it has none. `stated_year`: what its metadata say; `passage_id` is the
    passage that shows why it is listed, by `term` where it was asked for one."""

    id: UUID
    external_id: str
    title: str
    media_type: str
    language: str | None
    pages: int | None
    updated_at: datetime
    stated_year: int | None = None
    passage_id: UUID | None = None
    term: str | None = None


@dataclass(frozen=True, slots=True)
class Volume:
    """How much these documents are; `paged` of them have pages."""

    documents: int
    words: int
    pages: int
    paged: int


@dataclass(frozen=True, slots=True)
class NameFound:
    """A person, an organisation or a place, in so many documents, and where it is first named (code points of the document)."""

    name: str
    documents: int
    passage_id: UUID
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class DateFound:
    """A date as it is written somewhere, the documents in which it is, and its first passage."""

    said: str
    documents: frozenset[UUID]
    passage_id: UUID


@dataclass(frozen=True, slots=True)
class Holdings:
    """Counts of documents that are indexed, by media type and language ("" where unknown); `unready` are the others."""

    documents: int
    unready: int
    passages: int
    media_types: Mapping[str, int]
    languages: Mapping[str, int]
