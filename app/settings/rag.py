"""The `rag` block, with the keys of Thoth."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.settings.section import Section


class QaSettings(Section):
    model: str = Field("", description="Chat model for generation; empty: the provider's default (gpt-4o-mini).")
    temperature: float = Field(0.1, ge=0, le=2, description="Sampling temperature of generation.")


class AgenticSettings(Section):
    """Thoth's agentic block; read by the corrective strategy."""

    enabled: bool = Field(
        False,
        description="`auto` sends multi-hop questions to corrective; off: it never does, and naming it runs fast.",
    )
    max_retries: int = Field(
        2, ge=0, le=5, description="Rewrites of one run, after failed grading and failed checks together."
    )
    document_grading_enabled: bool = Field(True, description="Grade each retrieved passage for relevance.")
    query_expansion_enabled: bool = Field(True, description="Search two or three other phrasings; needs a chat model.")
    query_decomposition_enabled: bool = Field(True, description="Split into independent sub-questions.")
    hallucination_check_enabled: bool = Field(True, description="Check that the answer is grounded; all strategies.")
    strict_hallucination_check: bool = Field(
        False, description="Every claim must be stated directly (else inferred is enough); all strategies."
    )
    web_search_fallback_enabled: bool = Field(False, description="Not wired: Cairn never searches the web.")
    confidence_threshold: float = Field(
        0.5, ge=0, le=1, description="A passage counts as relevant from this confidence of the grader on."
    )


class RagSettings(Section):
    embedding_model: str = Field("all-MiniLM-L6-v2", description="Local ONNX model, or an OpenAI embedding model.")
    collection_name: str = Field("default", description="Collection used when a caller names none.")
    chunk_size: int = Field(500, ge=50, le=8000, description="Tokens per chunk; when chunking.strategy is tokens.")
    chunk_overlap: int = Field(50, ge=0, le=2000, description="Tokens shared by neighbours; chunking.strategy tokens.")
    top_k: int = Field(5, ge=1, le=50, description="Passages given to generation.")
    hybrid_search_enabled: bool = Field(True, description="Off: the vector leg only.")
    hybrid_search_weight: float = Field(0.7, ge=0, le=1, description="Share of the vector leg inside text fusion.")
    reranking_enabled: bool = Field(True, description="Rerank fused passages when a reranker is available.")
    reranker_provider: Literal["auto", "cohere", "llm", "cross-encoder", "none"] = Field(
        "auto",
        description="auto: Cohere when COHERE_API_KEY is set, else the chat model, else a local cross-encoder, else none.",
    )
    reranker_model: str = Field(
        "",
        description="Cohere's model, the chat model of llm, or a cross-encoder by name or folder. "
        "Empty: the provider's default (llm: qa.model, which auto always takes).",
    )
    contextual_enrichment_enabled: bool = Field(False, description="Reserved: a model-written context per chunk.")
    adaptive_routing_enabled: bool = Field(False, description="Model-based query classifier; rules always work.")
    qa: QaSettings = Field(QaSettings(), description="Generation.")
    agentic_retrieval: AgenticSettings = Field(AgenticSettings(), description="The corrective strategy.")
