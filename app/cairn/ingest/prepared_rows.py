"""A prepared document as a row of plain values, and back: what `cairn prepare` writes and `cairn load` reads. Pure.

Anybody may write such rows (docs/library.md says what they hold), so every value is checked. Ids are made anew when a row is
read, and texts of chunks are cut from the document's, so a row holds nothing that could contradict itself there. Spans are
half-open ranges of code points in `text`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Annotated, Any, Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from cairn.domain.code import CodeCall
from cairn.domain.document import (
    ChunkDraft,
    Landmark,
    LoadedDocument,
    PassageDraft,
    PreparedChunk,
    PreparedDocument,
    PreparedPassage,
    Source,
    landmark_at,
)
from cairn.domain.graph import DocumentGraph, EntityKey, EvidenceRow, MentionRow
from cairn.domain.ids import new_id
from cairn.errors import InputError, TooLargeError
from cairn.ingest.embedding_text import ChunkTexts, text_hash
from cairn.ingest.loaders import READ_BY_OTHERS, kind_of_media_type
from cairn.ingest.prepare import assemble, source_hash, tables_of
from cairn.language.identify import CONFIGURATIONS, WITHOUT_STEMMER, detect_language, passage_configuration
from cairn.providers.protocols import TokenCounter
from cairn.settings import Settings

PreparedRow = dict[str, Any]
"""A document by the names of the columns (cairn/ingest/prepared_files.py); `vectors` is an array of float16, a chunk a line."""

HalfVectors = NDArray[np.float16]

_CONFIGURATIONS: Final = frozenset({*CONFIGURATIONS.values(), WITHOUT_STEMMER})


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("holds NUL, which PostgreSQL cannot store")
    return text


Text = Annotated[str, AfterValidator(_without_nul)]
Short = Annotated[Text, Field(max_length=2000)]
Name = Annotated[Text, Field(max_length=600)]
"""What fits into an index."""
LONGEST_PASSAGE: Final = 100_000
"""Code points; PostgreSQL makes no more of a text searchable than 1 MB of words and places."""
Number = Annotated[int, Field(ge=0, lt=2**31)]
Page = Annotated[int, Field(ge=1, lt=2**31)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class LandmarkPart(_Part):
    start: Number
    page: Page | None = None
    headings: list[Text] | None = None


class PassagePart(_Part):
    start: Number
    end: Number
    page: Page | None = None
    headings: list[Text] | None = None
    landmarks: list[LandmarkPart] | None = None
    tokens: Number | None = None
    search_terms: Annotated[Text, Field(max_length=2 * LONGEST_PASSAGE)] | None = None
    config: Name | None = None


class ChunkPart(_Part):
    passage: Number
    start: Number
    end: Number
    tokens: Number | None = None


class MentionPart(_Part):
    passage: Number
    family: Name
    normal: Name
    name: Name
    kind: Name
    form: Name
    start: Number
    end: Number
    occurrences: Number
    confidence: Annotated[float, Field(ge=0, le=1)]


class EvidencePart(_Part):
    passage: Number
    source_family: Name
    source_normal: Name
    kind: Name
    target_family: Name
    target_normal: Name
    start: Number
    end: Number
    strength: Annotated[float, Field(ge=0, le=1e6)]


class CallPart(_Part):
    name: Text
    source: Text
    target: Text
    start: Number
    end: Number


class DocumentPart(_Part):
    """All of a row but its vectors. `mentions` are null in rows that others wrote: what Cairn derives of a document is derived
    when it is loaded."""

    external_id: Annotated[Text, Field(min_length=1)]
    text: Text
    passages: Annotated[list[PassagePart], Field(min_length=1)]
    chunks: Annotated[list[ChunkPart], Field(min_length=1)]
    name: Annotated[Short, Field(min_length=1)] | None = None
    title: Short | None = None
    media_type: Name | None = None
    language: Annotated[Text, Field(max_length=10)] | None = None
    metadata: str | None = None
    notes: list[Text] | None = None
    origin: Text | None = None
    content: bytes | None = None
    size: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    content_hash: Annotated[bytes, Field(min_length=32, max_length=32)] | None = None
    token_counter: Name | None = None
    loader_revision: Number | None = None
    derived_revision: Number | None = None
    mentions: list[MentionPart] | None = None
    evidence: list[EvidencePart] | None = None
    calls: list[CallPart] | None = None


# --- writing ----------------------------------------------------------------------------------------------------------


def row_of(document: PreparedDocument, vectors: HalfVectors, *, keep_original: bool) -> PreparedRow:
    """The row; `keep_original`: with the file as it came, unless it is a text that the caller wrote out."""
    source = document.source
    place = {passage.id: number for number, passage in enumerate(document.passages)}
    return {
        "external_id": source.external_id, "name": source.name, "title": document.title if document.titled else None,
        "media_type": document.media_type, "language": document.language,
        "metadata": json.dumps(dict(source.metadata), ensure_ascii=False, sort_keys=True),
        "notes": list(document.notes), "origin": source.origin, "text": document.text,
        "content": source.content if keep_original and not source.is_text else None,
        "size": source.byte_size, "content_hash": document.content_hash, "token_counter": document.token_counter,
        "loader_revision": document.loader_revision,
        "derived_revision": document.derived_revision,
        "passages": [_passage_of(passage) for passage in document.passages],
        "chunks": [
            {"passage": place[chunk.passage_id], "start": chunk.draft.start, "end": chunk.draft.end,
             "tokens": chunk.draft.token_count}
            for chunk in document.chunks
        ],
        "vectors": vectors,
        "mentions": [_mention_of(one, place) for one in document.graph.mentions],
        "evidence": [_evidence_of(one, place) for one in document.graph.evidence],
        "calls": None if document.graph.calls is None else [asdict(call) for call in document.graph.calls],
    }  # fmt: skip


def is_code(media_type: str) -> bool:
    kind = kind_of_media_type(media_type)
    return kind is not None and kind.loader.markup == "code"


def _passage_of(passage: PreparedPassage) -> dict[str, Any]:
    draft = passage.draft
    return {
        "start": draft.start, "end": draft.end, "page": draft.page, "headings": list(draft.headings),
        "landmarks": [
            {"start": mark.start, "page": mark.page, "headings": list(mark.headings)} for mark in draft.landmarks
        ],
        "tokens": draft.token_count, "search_terms": passage.search_terms, "config": passage.config,
    }  # fmt: skip


def _mention_of(row: MentionRow, place: Mapping[UUID, int]) -> dict[str, Any]:
    return {
        "passage": place[row.passage_id], "family": row.entity.family, "normal": row.entity.normal, "name": row.name,
        "kind": row.kind, "form": row.form, "start": row.start, "end": row.end, "occurrences": row.occurrences,
        "confidence": row.confidence,
    }  # fmt: skip


def _evidence_of(row: EvidenceRow, place: Mapping[UUID, int]) -> dict[str, Any]:
    return {
        "passage": place[row.passage_id], "source_family": row.source.family, "source_normal": row.source.normal,
        "kind": row.kind, "target_family": row.target.family, "target_normal": row.target.normal, "start": row.start,
        "end": row.end, "strength": row.strength,
    }  # fmt: skip


# --- reading ----------------------------------------------------------------------------------------------------------


def document_of(
    row: Mapping[str, Any], vectors: NDArray[np.floating[Any]], settings: Settings, tokens: TokenCounter,
    dominant: str | None,
) -> tuple[PreparedDocument, list[HalfVector]]:  # fmt: skip
    """The document and the vectors of its chunks. Raises InputError or TooLargeError for a row that cannot be meant.

    `dominant`: text search configuration of most of the collection, for a document whose language is not certain.
    """
    try:
        part = DocumentPart.model_validate(row)
    except ValidationError as error:
        place: Any = error.errors(include_url=False, include_input=False)[0]
        raise InputError(f"{'.'.join(map(str, place['loc']))}: {place['msg']}") from None
    if len(part.text) > settings.ingest.max_text_chars:
        raise TooLargeError(
            f"the text has {len(part.text):,} characters, more than ingest.maxTextChars ({settings.ingest.max_text_chars:,})"
        )
    _check_spans(part)
    checked = _checked(vectors, len(part.chunks))
    drafts = _drafts_of(part, tokens)
    document = _restored(part, drafts, settings, dominant) if part.mentions is not None else None
    return document or _derived(part, drafts, settings, tokens, dominant), [HalfVector(one) for one in checked]


def _check_spans(part: DocumentPart) -> None:
    """Raises InputError."""
    length, before = len(part.text), 0
    for number, passage in enumerate(part.passages):
        marks = [mark.start for mark in passage.landmarks or ()]
        if not before <= passage.start < passage.end <= length:
            raise InputError(f"passage {number} is no part of the text, or does not stand after the one before")
        if passage.end - passage.start > LONGEST_PASSAGE:
            raise InputError(f"passage {number} is longer than {LONGEST_PASSAGE:,} characters")
        if marks != sorted(marks):
            raise InputError(f"the landmarks of passage {number} are in no order")
        before = passage.start
    before = 0
    for number, chunk in enumerate(part.chunks):
        if not before <= chunk.passage < len(part.passages):
            raise InputError(f"chunk {number} is of no passage, or of one before that of the last chunk")
        passage = part.passages[chunk.passage]
        if not passage.start <= chunk.start < chunk.end <= passage.end:
            raise InputError(f"chunk {number} does not lie within its passage")
        before = chunk.passage
    if missing := set(range(len(part.passages))) - {chunk.passage for chunk in part.chunks}:
        raise InputError(f"passage {min(missing)} has no chunk")
    named = {(one.passage, one.family, one.normal) for one in part.mentions or ()}
    for kind, rows in (("mention", part.mentions), ("evidence", part.evidence), ("call", part.calls)):
        if any(not 0 <= one.start <= one.end <= length for one in rows or ()):
            raise InputError(f"a {kind} lies outside of the text")
    if any(passage >= len(part.passages) for passage, _, _ in named):
        raise InputError("a mention is of no passage")
    ends = {
        (one.passage, family, normal)
        for one in part.evidence or ()
        for family, normal in ((one.source_family, one.source_normal), (one.target_family, one.target_normal))
    }
    if ends - named:
        raise InputError("evidence names an entity that its passage does not mention")
    keys = [(one.passage, one.family, one.normal, one.name, one.kind) for one in part.mentions or ()]
    proofs = [
        (one.passage, one.source_family, one.source_normal, one.kind, one.target_family, one.target_normal)
        for one in part.evidence or ()
    ]
    if len(set(keys)) < len(keys) or len(set(proofs)) < len(proofs):
        raise InputError("a mention or a proof stands there twice")


def _checked(vectors: NDArray[np.floating[Any]], chunks: int) -> HalfVectors:
    """As they are stored. Raises InputError."""
    if len(vectors) != chunks:
        raise InputError(f"there are {len(vectors):,} vectors for {chunks:,} chunks")
    with np.errstate(over="ignore"):
        stored: HalfVectors = vectors.astype(np.float16, copy=False)
    if not np.isfinite(stored).all():
        raise InputError("a vector holds a number that is none, or is too large for half precision (65,504)")
    if not stored.any(axis=1).all():
        raise InputError("a vector is all zeros, which has no direction")
    return stored


def _drafts_of(part: DocumentPart, tokens: TokenCounter) -> list[PassageDraft]:
    chunks: dict[int, list[ChunkDraft]] = {}
    for chunk in part.chunks:
        mine = chunks.setdefault(chunk.passage, [])
        mine.append(ChunkDraft(len(mine), chunk.start, chunk.end, _counted(part, chunk, tokens)))
    drafts = []
    for number, passage in enumerate(part.passages):
        headings = tuple(passage.headings or ())
        marks = [Landmark(mark.start, mark.page, tuple(mark.headings or ())) for mark in passage.landmarks or ()]
        drafts.append(
            PassageDraft(
                number, passage.start, passage.end, headings, passage.page,
                tuple(marks) or (Landmark(passage.start, passage.page, headings),),
                _counted(part, passage, tokens), tuple(chunks[number]),
            )
        )  # fmt: skip
    return drafts


def _counted(part: DocumentPart, span: PassagePart | ChunkPart, tokens: TokenCounter) -> int:
    return tokens.count(part.text[span.start : span.end]) if span.tokens is None else span.tokens


def _source_of(part: DocumentPart) -> Source:
    """A text has no file to be kept."""
    name = part.name or part.external_id
    content = part.text.encode() if part.content is None else part.content
    return Source(
        part.external_id, name, content, title=part.title, media_type=_media_type(part), metadata=_metadata(part.metadata),
        is_text=part.content is None, origin=part.origin, size=part.size,
    )  # fmt: skip


def _media_type(part: DocumentPart) -> str:
    return part.media_type or "text/plain"


def _metadata(text: str | None) -> Mapping[str, Any]:
    """Raises InputError."""
    try:
        found = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        raise InputError("metadata: not JSON") from None
    if not isinstance(found, dict):
        raise InputError("metadata: not an object in JSON")
    if text and "\\u0000" in text:
        raise InputError("metadata: holds NUL, which PostgreSQL cannot store")
    return found


def _derived(
    part: DocumentPart, drafts: Sequence[PassageDraft], settings: Settings, tokens: TokenCounter, dominant: str | None
) -> PreparedDocument:
    """Of a row that others wrote. The symbols of code are not read."""
    source, kind = _source_of(part), kind_of_media_type(_media_type(part))
    loaded = LoadedDocument(
        part.text, _media_type(part), kind.loader.markup if kind else "plain", title=part.title,
        code_language=kind.code_language if kind else None, notes=tuple(part.notes or ()),
    )  # fmt: skip
    return replace(assemble(source, loaded, drafts, settings, tokens, dominant), loader_revision=READ_BY_OTHERS)


def _restored(
    part: DocumentPart, drafts: Sequence[PassageDraft], settings: Settings, dominant: str | None
) -> PreparedDocument:
    """Of a row that Cairn wrote. Raises InputError."""
    source = _source_of(part)
    passages = [
        PreparedPassage(new_id(), draft, part.text[draft.start : draft.end], written.search_terms or "", config)
        for draft, written, config in zip(drafts, part.passages, _configurations(part, settings, dominant), strict=True)
    ]
    texts = ChunkTexts.of(part.text, part.title, code=is_code(_media_type(part)))
    chunks = [
        _chunk(texts, passage, chunk, number)
        for number, (passage, chunk) in enumerate(
            (passage, chunk) for passage in passages for chunk in passage.draft.chunks
        )
    ]
    return PreparedDocument(
        source=source,
        title=part.title or source.name,
        titled=bool(part.title),
        text=part.text,
        media_type=_media_type(part),
        language=part.language,
        content_hash=part.content_hash or source_hash(source),
        token_counter=part.token_counter or "",
        passages=tuple(passages),
        chunks=tuple(chunks),
        graph=_graph(part, passages),
        notes=tuple(part.notes or ()),
        tables=tables_of(texts, drafts, part.language),
        loader_revision=part.loader_revision or 0,
        derived_revision=part.derived_revision or 0,
    )


def _chunk(texts: ChunkTexts, passage: PreparedPassage, draft: ChunkDraft, ordinal: int) -> PreparedChunk:
    landmark = landmark_at(passage.draft.landmarks, draft.start)
    embedded = texts.embedded((draft.start, draft.end), landmark.headings)
    return PreparedChunk(
        new_id(),
        passage.id,
        ordinal,
        draft,
        landmark,
        texts.text[draft.start : draft.end],
        embedded,
        text_hash(embedded),
    )


def _configurations(part: DocumentPart, settings: Settings, dominant: str | None) -> list[str]:
    """How each passage is stemmed. A document whose language is not certain is stemmed as most of the collection, which nobody
    knew when it was prepared. Raises InputError."""
    written = [passage.config or settings.ingest.language for passage in part.passages]
    if unknown := set(written) - _CONFIGURATIONS - {settings.ingest.language}:
        raise InputError(f"{min(unknown)[:60]!r} is no text search configuration of PostgreSQL")
    detects = settings.ingest.detect_language and not is_code(_media_type(part))
    if part.language is not None or not detects or not dominant or dominant == settings.ingest.language:
        return written
    of_document = detect_language(part.text, dominant)[1]
    return [passage_configuration(part.text[one.start : one.end], of_document) for one in part.passages]


def _graph(part: DocumentPart, passages: Sequence[PreparedPassage]) -> DocumentGraph:
    mentions = [
        MentionRow(
            passages[one.passage].id, EntityKey(one.family, one.normal), one.name, one.kind, one.form, one.start, one.end,
            one.occurrences, one.confidence,
        )
        for one in part.mentions or ()
    ]  # fmt: skip
    evidence = [
        EvidenceRow(
            passages[one.passage].id, EntityKey(one.source_family, one.source_normal), one.kind,
            EntityKey(one.target_family, one.target_normal), one.start, one.end, one.strength,
        )
        for one in part.evidence or ()
    ]  # fmt: skip
    calls = None if part.calls is None else tuple(CodeCall(**one.model_dump()) for one in part.calls)
    return DocumentGraph(tuple(mentions), tuple(evidence), calls)
