"""What is asked of the API and what its answers mean: each call is a request with a function that reads the reply."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import quote
from uuid import UUID

from cairn.domain.answer import Answer, Citation, CitedContext, Coverage, Grounding, ModelFailure, SentenceSupport
from cairn.domain.document import Document, Rejected
from cairn.domain.passage import FusionForm, Mode, Passage, WeightsUsed
from cairn.errors import InputError

T = TypeVar("T")
NO_DOCUMENT = UUID(int=0)
"""What stands for the ids of a page outside the documents."""
PAGE = 200
"""Documents that one request lists."""


@dataclass(frozen=True, slots=True)
class ApiCall(Generic[T]):
    """A request, and what its JSON means. `files`: of a multipart body, name to content."""

    method: str
    path: str
    read: Callable[[Any], T]
    body: Mapping[str, Any] | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    files: tuple[tuple[str, bytes], ...] = ()
    form: Mapping[str, str | list[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FoundPassages:
    """What a search found, best first; `degraded` says what did not work as asked. `confidence` per leg, 0 to 1."""

    passages: tuple[Passage, ...]
    trace_id: UUID
    legs_used: tuple[str, ...]
    legs_failed: Mapping[str, str]
    degraded: tuple[str, ...]
    confidence: Mapping[str, float]
    timings_ms: Mapping[str, float]
    from_cache: bool
    reranker: str | None
    weights: WeightsUsed | None


@dataclass(frozen=True, slots=True)
class IngestedDocument:
    """`change`: added, replaced, updated (its metadata alone) or
    unchanged. `notes`: what of a file was not read, such as scanned pages."""

    id: UUID
    external_id: str
    change: str
    chunk_count: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ingested:
    """What became of documents: one that cannot be read stands in `failed`, and the others are searchable."""

    documents: tuple[IngestedDocument, ...] = ()
    failed: tuple[Rejected, ...] = ()

    def __add__(self, other: Ingested) -> Ingested:
        return Ingested(self.documents + other.documents, self.failed + other.failed)


# --- questions --------------------------------------------------------------------------------------------------------


def search_call(
    query: str, collection: str | Sequence[str] | None, top_k: int, mode: Mode | None, filters: Mapping[str, Any] | None,
    rerank: bool | None, fusion: FusionForm | None, min_epoch: int | Mapping[str, int] | None = None,
) -> ApiCall[FoundPassages]:  # fmt: skip
    where = {"collection": collection} if isinstance(collection, str | None) else {"collections": list(collection)}
    body = {
        "query": query,
        **where,
        "top_k": top_k,
        "mode": mode,
        "filters": filters,
        "rerank": rerank,
        "fusion": fusion,
        "min_epoch": min_epoch,
    }
    return ApiCall("POST", "/search", read_found, given(body))


def ask_call(
    question: str, collection: str | None, strategy: str, session: str | None, filters: Mapping[str, Any] | None,
    min_epoch: int | None = None, *, stream: bool = False,
) -> ApiCall[Answer]:  # fmt: skip
    body = {
        "question": question,
        "collection": collection,
        "strategy": strategy,
        "session_id": session,
        "filters": filters,
        "min_epoch": min_epoch,
    }
    return ApiCall("POST", "/query", read_answer, {**given(body), "stream": stream}, query={"include": "all"})


def cancel_call(run_id: UUID) -> ApiCall[None]:
    return ApiCall("POST", f"/runs/{run_id}/cancel", nothing)


def given(body: Mapping[str, Any]) -> dict[str, Any]:
    """Without what was left out, for which the server has its own defaults."""
    return {name: value for name, value in body.items() if value is not None}


def nothing(_: Any) -> None:
    return None


def read_found(body: Mapping[str, Any]) -> FoundPassages:
    weights = body["weights"]
    return FoundPassages(
        passages=tuple(map(read_passage, body["results"])),
        trace_id=UUID(body["trace_id"]),
        legs_used=tuple(body["legs_used"]),
        legs_failed=body["legs_failed"],
        degraded=tuple(body["degraded"]),
        confidence=body["confidence"],
        timings_ms=body["timings_ms"],
        from_cache=body["from_cache"],
        reranker=body["reranker"],
        weights=_made(WeightsUsed, weights) if weights else None,
    )


def read_passage(item: Mapping[str, Any]) -> Passage:
    matched = item["matched"]
    return _made(
        Passage, item, matched=(matched["start"], matched["end"]) if matched else None, headings=tuple(item["headings"]),
        passage_id=UUID(item["passage_id"]), document_id=UUID(item["document_id"]), chunk_id=_id(item["chunk_id"]),
    )  # fmt: skip


def read_answer(body: Mapping[str, Any]) -> Answer:
    """The answer of a run."""
    grounding, failure = body.get("grounding"), body.get("model_failure")
    return _made(
        Answer, body, citations=tuple(map(_citation, body["citations"])), sources=tuple(map(read_passage, body["sources"])),
        insufficiencies=tuple(body["insufficiencies"]), degraded=tuple(body["degraded"]), run_id=UUID(body["run_id"]),
        coverage=_made(Coverage, body["coverage"]), grounding=_grounding(grounding) if grounding else None,
        model_failure=_made(ModelFailure, failure, details=tuple(failure["details"])) if failure else None,
    )  # fmt: skip


def _citation(item: Mapping[str, Any]) -> Citation:
    around = item.get("context")  # which servers of earlier releases do not tell
    return _made(
        Citation, item, headings=tuple(item["headings"]), chunk_id=_id(item["chunk_id"]),
        document_id=_id(item["document_id"]) or NO_DOCUMENT, passage_id=_id(item["passage_id"]) or NO_DOCUMENT,
        context=_made(CitedContext, around) if around else None,
    )  # fmt: skip


def _grounding(item: Mapping[str, Any]) -> Grounding:
    sentences = [
        _made(SentenceSupport, one, **{name: tuple(one[name]) for name in ("sources", "issues", "computed", "kinds")})
        for one in item["sentences"]
    ]
    issues, degraded = tuple(item["issues"]), tuple(item["degraded"])
    return _made(Grounding, item, sentences=tuple(sentences), issues=issues, degraded=degraded)


def _made(kind: type[T], item: Mapping[str, Any], **read: Any) -> T:
    """A value of the domain from JSON of the same names; what a later release adds is left out."""
    names = {one.name for one in fields(kind)}  # type: ignore[arg-type]
    return kind(**{**{name: value for name, value in item.items() if name in names}, **read})


def _id(text: str | None) -> UUID | None:
    return None if text is None else UUID(text)


# --- documents --------------------------------------------------------------------------------------------------------


def collections_call(cursor: str | None) -> ApiCall[tuple[list[str], str | None]]:
    """Names, and the cursor of the next page."""

    def read(page: Any) -> tuple[list[str], str | None]:
        return [item["name"] for item in page["items"]], page["next_cursor"]

    return ApiCall("GET", "/collections", read, query=given({"cursor": cursor, "limit": str(PAGE)}))


def documents_call(collection: str, cursor: str | None) -> ApiCall[tuple[list[Document], str | None]]:
    def read(page: Any) -> tuple[list[Document], str | None]:
        return [_document(item) for item in page["items"]], page["next_cursor"]

    return ApiCall("GET", f"{_under(collection)}/documents", read, query=given({"cursor": cursor, "limit": str(PAGE)}))


def delete_call(collection: str, document_id: UUID) -> ApiCall[None]:
    return ApiCall("DELETE", f"{_under(collection)}/documents/{document_id}", nothing)


def upload_call(
    collection: str, files: Sequence[tuple[str, bytes]], metadata: str | None, access: Sequence[str] | None = None
) -> ApiCall[Ingested]:
    """A batch of files, with metadata as JSON. `access`: who may read them; an empty one is a field without a name."""
    readers = None if access is None else list(access) or [""]
    path, form = f"{_under(collection)}/documents", given({"metadata": metadata, "access": readers})
    return ApiCall("POST", path, read_ingested, query={"wait": "true"}, files=tuple(files), form=form)


def index_call(collection: str | None, documents: Sequence[Mapping[str, Any]]) -> ApiCall[Ingested]:
    return ApiCall(
        "POST", "/index", read_indexed, given({"collection": collection, "documents": [*map(dict, documents)]})
    )


def urls_call(collection: str, urls: Sequence[str], metadata: Mapping[str, Any] | None) -> ApiCall[UUID]:
    """The id of the job that fetches them."""
    body = given({"urls": list(urls), "metadata": metadata})
    return ApiCall("POST", f"{_under(collection)}/urls", lambda accepted: UUID(accepted["id"]), body)


def job_call(job_id: UUID) -> ApiCall[Mapping[str, Any]]:
    return ApiCall("GET", f"/jobs/{job_id}", dict)


def read_ingested(body: Mapping[str, Any]) -> Ingested:
    """Of an upload, or of the result of a job."""
    documents = tuple(
        IngestedDocument(UUID(one["id"]), one["external_id"], one["change"], one["chunk_count"], tuple(one["notes"]))
        for one in body["uploaded"]
    )
    return Ingested(
        documents,
        tuple(Rejected(one["external_id"], one["external_id"], one["code"], one["error"]) for one in body["failed"]),
    )


def read_indexed(body: Mapping[str, Any]) -> Ingested:
    documents = tuple(
        IngestedDocument(UUID(one["id"]), one["external_id"], one["change"], one["chunk_count"])
        for one in body["indexed"]
    )
    return Ingested(
        documents,
        tuple(Rejected(one["external_id"], one["external_id"], one["code"], one["error"]) for one in body["failed"]),
    )


def _document(item: Mapping[str, Any]) -> Document:
    at = {name: datetime.fromisoformat(item[name]) for name in ("created_at", "updated_at")}
    return _made(Document, item, id=UUID(item["id"]), **at)


def _under(collection: str) -> str:
    return f"/collections/{quote(collection, safe='')}"


# --- files ------------------------------------------------------------------------------------------------------------

BATCH_BYTES = 32_000_000
BATCH_FILES = 50
"""What one upload holds at most, but for a file that is larger alone: half of api.maxBodyBytes."""


def files_below(paths: Iterable[str | Path]) -> list[tuple[str, Path]]:
    """Files with the names that become their external ids: of one that is named its name, of those in a folder the path from
    the folder's parent, without hidden ones. Raises InputError for a path that does not exist."""
    found: dict[str, Path] = {}
    for path in map(Path, paths):
        path = path.expanduser().absolute()
        if path.is_file():
            found[path.name] = path
        elif path.is_dir():
            below = (one for one in sorted(path.rglob("*")) if one.is_file())
            named = {one.relative_to(path.parent).as_posix(): one for one in below if not _hidden(one, path)}
            found |= named
        else:
            raise InputError(f"there is no file or folder {path}")
    return list(found.items())


def _hidden(file: Path, below: Path) -> bool:
    return any(part.startswith(".") for part in file.relative_to(below).parts)


def batches(files: Sequence[tuple[str, Path]]) -> Iterable[list[tuple[str, bytes]]]:
    """Contents, read batch by batch."""
    batch: list[tuple[str, bytes]] = []
    size = 0
    for name, path in files:
        content = path.read_bytes()
        if batch and (size + len(content) > BATCH_BYTES or len(batch) >= BATCH_FILES):
            yield batch
            batch, size = [], 0
        batch.append((name, content))
        size += len(content)
    if batch:
        yield batch
