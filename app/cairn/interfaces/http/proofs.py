"""The proof of an answer: what it was made of, in a form that can be checked without Cairn. docs/proof.md has every field."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from cairn.interfaces.http import problems
from cairn.interfaces.http.models import COLLECTION_EXAMPLE, ID_EXAMPLE, example
from cairn.interfaces.http.running import ServicesDep, TypedRoute
from cairn.service import proofs

router = APIRouter(tags=["runs"], route_class=TypedRoute)

_HASH = "9b1f0c5a7d3e2468ace013579bdf02468ace13579bdf02468ace13579bdf0246"
_DOCUMENT = {"document_id": ID_EXAMPLE, "version": 1}


class DigestOut(BaseModel):
    algorithm: str = Field(description="sha256.")
    sections: dict[str, str] = Field(description="Of each other part of the proof, in its canonical form.")
    whole: str = Field(description="Of all other parts together: what is worth noting elsewhere.")


class AnswerProofOut(BaseModel):
    """Digests are of the canonical form: JSON in UTF-8 with sorted keys and no white space. Numbers with fractions are texts."""

    model_config = example(
        {
            "format": "cairn-proof/1",
            "run": {"id": ID_EXAMPLE, "started_at": "2026-11-27T10:00:00+00:00", "proved_at": "2026-11-27T10:05:00+00:00"},
            "cairn": {"version": "0.0.0"},
            "question": {
                "text": "How many days of leave?", "understood_as": None, "messages_before": 0, "filters": {},
            },
            "answer": {
                "text": "Employees have 30 days of leave per year. [1]", "answered": "yes", "confidence": "0.930000",
                "confidence_word": "found", "grounded": None, "insufficiencies": [],
                "coverage": {"complete": True, "read": 3, "of": 3, "unit": "passages"}, "degraded": [], "strategy": "fast",
            },
            "citations": [{
                "n": 1, **_DOCUMENT, "passage_id": ID_EXAMPLE, "start": 9, "end": 50, "page": None, "url": None,
                "instead": False, "quote": "Employees have 30 days of leave per year.", "missing": None, "sha256": _HASH,
                "in_answer": [0, 41],
            }],
            "documents": [{
                "id": ID_EXAMPLE, "version": 1, "version_now": 1, "cited": True, "collection": COLLECTION_EXAMPLE,
                "external_id": "leave.md", "title": "Leave", "media_type": "text/markdown", "file_sha256": _HASH,
                "file_missing": None, "text_sha256": _HASH, "text_length": 51, "text_missing": None, "reading": "plain",
            }],
            "passages": [{
                "id": ID_EXAMPLE, "cited": True, "missing": None, **_DOCUMENT, "start": 0, "end": 51, "page": None,
                "sha256": _HASH, "text": "# Leave\n\nEmployees have 30 days of leave per year.\n",
            }],
            "rows": [{
                "n": 1, "candidates": [{"leg": "fused", "search": 1, "rank": 1, "chunk_id": None, "fate": "kept"}],
                "passage_id": ID_EXAMPLE, "chunks": [{"id": ID_EXAMPLE, "start": 0, "end": 51}], **_DOCUMENT,
            }],
            "index": [{
                "collection": COLLECTION_EXAMPLE, "epoch": 3, "epoch_now": 3, "embedding_model_now": "minilm:int8",
            }],
            "models": {"answerer": "extractive", "chat": None, "calls": [], "reranker": None},
            "settings": {"revision": "1f0c9a7be402", "changed": {}, "missing": None},
            "digest": {"algorithm": "sha256", "sections": {"format": _HASH}, "whole": _HASH},
        }
    )  # fmt: skip

    format: str = Field(description="`cairn-proof/1`.")
    run: dict[str, str] = Field(description="Its id, when it began, and when this was written.")
    cairn: dict[str, str] = Field(description="The version that wrote this.")
    question: dict[str, Any]
    answer: dict[str, Any]
    citations: list[dict[str, Any]] = Field(
        description="The quoted words, and where they stand; null and why where not kept."
    )
    documents: list[dict[str, Any]] = Field(description="Name, version and hashes of each document of what was read.")
    passages: list[dict[str, Any]] = Field(description="What was read; with its text what is cited.")
    rows: list[dict[str, Any]] = Field(description="For each citation of a document what leads to it in SQL.")
    index: list[dict[str, Any]] = Field(description="Epochs of the collections that were searched.")
    models: dict[str, Any]
    settings: dict[str, Any] = Field(description="Revision, and what differs from the defaults.")
    digest: DigestOut


@router.get("/runs/{run_id}/proof", summary="Prove an answer", responses=problems.declare(409, 410))
async def prove_run(
    run_id: Annotated[UUID, Path(description="`run_id` of the answer.", examples=[ID_EXAMPLE])], services: ServicesDep
) -> AnswerProofOut:
    """Question, answer, quoted words with their places, hashes of the documents, models, settings and rows, sealed.
    `cairn prove --verifier` prints the program that checks it against the files. 409 for a run without an answer, 410 where its
    text was deleted."""
    return AnswerProofOut(**await proofs.prove_run(services, run_id))
