"""The knowledge graph."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.settings.section import Price, Section


class GraphModelSettings(Section):
    """Entities and relations from a chat model, beside those of the rules (docs/adr/0028)."""

    enabled: bool = Field(False, description="Extract with a chat model too, by a job that follows indexing.")
    model: str = Field("", description="Chat model that extracts; empty: that of rag.qa.model.")
    batch_tokens: int = Field(
        3000, ge=100, description="Tokens of passages sent in one call, but for a longer passage."
    )
    max_output_tokens: int = Field(4096, ge=64, description="Most tokens of one reply; what is cut off is asked again.")
    timeout_seconds: float = Field(180, gt=0, description="Total deadline of one call.")
    max_tokens: int = Field(500_000, ge=0, description="Tokens read and written by one job; then it stops.")
    max_tokens_per_day: int = Field(2_000_000, ge=0, description="The same of a tenant and a day (UTC).")
    max_cost: Price | None = Field(None, description="Cost of one job by answer.prices; null: only tokens count.")
    max_cost_per_day: Price | None = Field(None, description="Cost of a tenant and a day (UTC).")


class GraphVectorSettings(Section):
    """Vectors of entity names (docs/adr/0028)."""

    enabled: bool = Field(False, description="Embed the names of entities, by a job that follows indexing.")
    max_entities: int = Field(
        5000, ge=1, le=100_000, description="Entities of a collection that have vectors, those most spoken of first."
    )
    link_from: float = Field(
        0.55,
        ge=0,
        le=1,
        description="Cosine from which a question that names no entity links to the nearest; 1: never.",
    )
    merge_from: float = Field(
        1.0, ge=0, le=1, description="Cosine from which entities of one kind are merged, with guards; 1: never."
    )


class CommunitySettings(Section):
    """Groups of closely related entities, for questions that ask for an overview."""

    enabled: bool = Field(True, description="Find communities in the background after documents were indexed.")
    max_size: int = Field(
        50, ge=3, le=10_000, description="Larger communities are divided into those of the next level."
    )
    min_size: int = Field(3, ge=2, le=1000, description="Smaller groups of entities are no community.")
    per_entity: int = Field(30, ge=1, le=1000, description="Strongest relations of each entity that are looked at.")
    sentences: int = Field(5, ge=1, le=50, description="Sentences of documents that sum up a community.")
    changed_share: float = Field(
        0.05, ge=0, description="They are found anew when more documents changed than this share of the collection."
    )
    inline_passages: int = Field(
        50,
        ge=0,
        description="Collections of up to so many passages are brought up to date at once, larger ones by a job.",
    )
    delay_seconds: float = Field(5, ge=0, description="How long that waits, so that many uploads cause it once.")
    written: int = Field(
        0,
        ge=0,
        le=10_000,
        description="Communities that the chat model summarises per refresh, the largest first; 0: none.",
    )
    written_tokens: int = Field(200, ge=20, le=2000, description="Length of such a summary at most, tokens.")


class GraphSettings(Section):
    """The knowledge graph: what is extracted from documents, when searches follow it, and how far walks over it go."""

    enabled: bool = Field(True, description="Extract entities and relations when documents are indexed.")
    search: bool = Field(
        True, description="Searches that name no legs follow the graph where the query names something."
    )
    routing: Literal["names", "type"] = Field(
        "names",
        description="What decides about the graph: whether the question names something, or its type.",
    )
    fusion: Literal["relative", "capped"] = Field(
        "relative", description="How the graph joins the text legs: by scores, or each brings its share."
    )
    weight: float = Field(
        0.5, gt=0, le=0.95, description="Share of the graph against text, where no type of question decides."
    )
    max_mentions: int = Field(60, ge=1, le=1000, description="Mentions of entities kept of one passage at most.")
    max_relations: int = Field(60, ge=0, le=1000, description="Relations kept of one passage at most.")
    hops: int = Field(2, ge=1, le=3, description="Relations between an entity of the question and what is found.")
    per_node_cap: int = Field(30, ge=1, le=1000, description="Strongest relations followed from one entity.")
    beam: int = Field(100, ge=1, le=5000, description="Entities that each hop goes on from; at least `top`: exact.")
    row_budget: int = Field(20_000, ge=1, description="Relations read by one walk at most; then caps shrink.")
    time_budget_ms: int = Field(200, ge=1, description="Milliseconds after which a walk goes no further.")
    top: int = Field(50, ge=1, le=5000, description="Entities that a walk returns.")
    model: GraphModelSettings = GraphModelSettings()
    vectors: GraphVectorSettings = GraphVectorSettings()
    communities: CommunitySettings = Field(CommunitySettings(), description="Communities of entities.")
