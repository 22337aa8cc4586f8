"""How passages are found."""

from __future__ import annotations

from typing import Literal

import structlog
from pydantic import Field

from app.settings.section import Section

log = structlog.get_logger(__name__)


class VectorSettings(Section):
    exact_below: int = Field(
        3000, ge=0, description="Up to so many visible chunks (collection, filter) are scanned exactly."
    )
    dedicated_above: int = Field(
        5000, ge=1, description="Collections with more chunks may get an HNSW index of their own."
    )
    max_dedicated_indexes: int = Field(
        200, ge=0, le=1000, description="How many of the largest do; each costs every statement planning time."
    )
    candidates: int = Field(150, ge=20, le=1000, description="Chunks that the vector leg fetches at least.")
    ef_search: int = Field(80, ge=10, le=1000, description="HNSW search breadth (hnsw.ef_search).")
    max_scan_tuples: int = Field(20000, ge=1000, description="Bound of the iterative scan (hnsw.max_scan_tuples).")
    precision: Literal["int8", "fp32"] = Field("int8", description="Arithmetic of the local ONNX model.")
    recall_sample: int = Field(50, ge=1, le=1000, description="Stored vectors that a recall check looks for.")
    min_recall: float = Field(0.95, ge=0, le=1, description="A recall check below it is a warning in the log.")


class LexicalSettings(Section):
    candidates: int = Field(50, ge=20, le=1000, description="Passages that the lexical leg fetches at least.")
    candidate_budget: int = Field(600, ge=100, description="Postings scored in the first pass of rank-safe BM25.")
    candidate_cap: int = Field(20000, ge=1000, description="Most postings scored; beyond it exact is false.")
    reweight_inline: int = Field(
        2000, ge=0, description="Languages with more passages are re-weighted by a job instead of the ingest run."
    )
    reweight_drift: float = Field(0.05, gt=0, le=1, description="Relative drift of average length that re-weights.")


class RetrieveSettings(Section):
    fusion: Literal["relative_score", "rrf"] = Field(
        "relative_score", description="How the legs are merged: by scores relative to each leg's best, or by ranks."
    )
    rrf_k: int = Field(60, ge=1, description="Constant k of reciprocal rank fusion.")
    rerank_candidates: int = Field(50, ge=1, le=200, description="Fused passages that are reranked at most.")
    rerank_seconds: float = Field(10, gt=0, description="Longest a reranking may take; then the fused order stays.")
    reranker_download: bool = Field(
        False, description="Fetch a cross-encoder that is named and not on disk from the Hugging Face hub."
    )
    relevance_threshold: float = Field(
        0.3, ge=0, le=1, description="Answers after a failed reranking: least relative fused score of a source."
    )
    statement_timeout_ms: int = Field(15000, ge=100, description="Longest a retrieval statement may run.")


class CacheSettings(Section):
    enabled: bool = Field(True, description="Answer repeated searches from the retrieval cache.")
    capacity: int = Field(50, ge=1, le=10_000, description="Entries per tenant; the least recently used goes.")
    ttl_seconds: float = Field(300, gt=0, description="An entry answers no longer than this, seconds.")
    semantic: bool = Field(False, description="Also answer from entries of nearly the same query.")
    semantic_threshold: float = Field(0.95, gt=0, le=1, description="Least cosine of two queries that count as one.")
    query_embeddings: int = Field(
        1000, ge=0, description="Embeddings of queries kept per tenant, and in each process; 0: none."
    )
