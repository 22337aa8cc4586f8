"""What tools give to programs. The fields are named as in the HTTP API; what a model does not need is left out, since it would
read all of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from cairn.domain.answer import AnswerStatus, Citation, ConfidenceWord, Coverage
from cairn.domain.document import Document
from cairn.domain.graph_view import Relation
from cairn.domain.job import Job, JobStatus
from cairn.domain.passage import Passage
from cairn.interfaces.http.models import ProgressOut
from cairn.interfaces.mcp.addresses import document_uri, passage_uri


class CitedSource(BaseModel):
    """`[n]` in the answer: `quote` stands verbatim there."""

    n: int
    title: str
    external_id: str
    page: int | None
    headings: list[str]
    quote: str
    uri: str = Field(description="Resource of the passage; the address of a web page.")

    @classmethod
    def of(cls, citation: Citation) -> CitedSource:
        return cls(
            n=citation.n, title=citation.title, external_id=citation.external_id, page=citation.page,
            headings=list(citation.headings), quote=citation.quote, uri=citation.url or passage_uri(citation.passage_id),
        )  # fmt: skip


class ResearchAnswer(BaseModel):
    answer: str
    citations: list[CitedSource]
    answered: AnswerStatus = Field(description="no: the documents do not say; unsure: a guess, shown as one.")
    confidence: float
    confidence_word: ConfidenceWord | None = Field(
        description="What that is worth: found, likely or not_sure; or exact, computed, recognised (by rules: some may be "
        "missing). null: of a refusal, small talk, a summary, what a model wrote."
    )
    grounded: bool | None = Field(description="Whether its sources support what a model wrote; null of a quotation.")
    coverage: Coverage = Field(
        description="How much of what there is the answer looked at; complete: nothing was left out."
    )
    insufficiencies: list[str] = Field(description="What was looked for and not found.")
    degraded: list[str] = Field(description="What did not work as asked.")
    collection: str
    strategy: str = Field(description="How it was answered.")
    fallback: str | None = Field(description="Why it was answered in the plain way where agents were asked for.")
    session_id: str | None
    run_id: UUID


class FoundPassage(BaseModel):
    passage_id: UUID
    document_id: UUID
    external_id: str
    collection: str
    title: str
    headings: list[str]
    page: int | None
    content: str
    score: float = Field(description="Comparable within one result only.")
    uri: str

    @classmethod
    def of(cls, passage: Passage) -> FoundPassage:
        return cls(
            passage_id=passage.passage_id, document_id=passage.document_id, external_id=passage.external_id,
            collection=passage.collection, title=passage.title, headings=list(passage.headings), page=passage.page,
            content=passage.content, score=passage.score, uri=passage_uri(passage.passage_id),
        )  # fmt: skip


class PassagesFound(BaseModel):
    results: list[FoundPassage]
    collection: str
    legs_used: list[str]
    legs_failed: dict[str, str]
    reranker: str | None
    degraded: list[str]
    trace_id: UUID


class ListedCollection(BaseModel):
    name: str
    document_count: int
    passage_count: int
    created_at: datetime


class CollectionsFound(BaseModel):
    collections: list[ListedCollection]
    next_cursor: str | None


class DocumentInfo(BaseModel):
    id: UUID
    external_id: str
    title: str
    status: str
    media_type: str
    version: int
    passage_count: int
    metadata: dict[str, Any]
    updated_at: datetime
    error: str | None
    access: Sequence[str] | None = Field(description="Who may read it; null: everybody in the tenant.")
    uri: str

    @classmethod
    def of(cls, document: Document) -> DocumentInfo:
        same = {name: getattr(document, name) for name in cls.model_fields if name != "uri"}
        return cls(**same, uri=document_uri(document.collection, document.id))


class DocumentsFound(BaseModel):
    collection: str
    documents: list[DocumentInfo]
    next_cursor: str | None = Field(description="Pass it as `cursor` for the next page; null on the last one.")


class TextExcerpt(BaseModel):
    """`text` is start..end of the document's normalised text, in code points; `characters` is its whole length."""

    document: DocumentInfo
    text: str
    start: int
    end: int
    characters: int


class EntityRef(BaseModel):
    name: str
    kind: str
    passage_count: int


class RelationInfo(BaseModel):
    """`quote` is the sentence that proves it."""

    source: str
    kind: str
    target: str
    weight: float
    quote: str
    external_id: str
    page: int | None
    uri: str

    @classmethod
    def of(cls, relation: Relation) -> RelationInfo:
        proof = relation.proof
        return cls(
            source=relation.source.name, kind=relation.kind, target=relation.target.name, weight=relation.weight,
            quote=proof.quote, external_id=proof.external_id, page=proof.page, uri=passage_uri(proof.passage_id),
        )  # fmt: skip


class RelationsFound(BaseModel):
    """What surrounds an entity, or the ways between two: then each way is its relations in order."""

    collection: str
    entity: EntityRef
    related: list[EntityRef] = Field(description="Closest first; empty where two entities were named.")
    relations: list[RelationInfo]
    ways: list[list[RelationInfo]] = Field(description="Best first; empty: nothing joins the two within the hops.")
    truncated: bool


class RerankingImpact(BaseModel):
    reranker: str
    top_changed: float = Field(description="Share of the queries whose first document becomes another one.")
    added_ms: float = Field(description="Difference of the medians.")


class SearchMeasure(BaseModel):
    """Over the queries: mean score of the first result (0 to 1, with its 95 % interval), times, and what reranking changes."""

    queries: int
    collection: str
    average_relevance: float
    relevance_interval: tuple[float, float]
    latency_ms: dict[str, float]
    reranking: RerankingImpact | None = Field(description="null: no reranker is configured.")


class IndexedDocument(BaseModel):
    collection: str
    id: UUID
    external_id: str
    change: str = Field(description="added, replaced, updated (its metadata alone) or unchanged.")
    chunk_count: int
    uri: str


class JobInfo(BaseModel):
    """It has ended when status is succeeded, failed, parked or cancelled."""

    id: UUID
    kind: str
    collection: str | None
    status: JobStatus
    progress: ProgressOut
    result: dict[str, Any] | None
    error: str | None

    @classmethod
    def of(cls, job: Job) -> JobInfo:
        return cls(
            id=job.id, kind=job.kind, collection=job.payload.get("collection"), status=job.status,
            progress=ProgressOut(done=job.progress.done, total=job.progress.total, message=job.progress.message),
            result=dict(job.result) if job.result else None, error=job.error,
        )  # fmt: skip


class ChosenDocument(BaseModel):
    external_id: str
    title: str
    score: float


class CustomIndex(BaseModel):
    """The new collection, the job that fills it, and the documents in it, best first."""

    collection: str
    source: str
    job: JobInfo
    documents: list[ChosenDocument]
