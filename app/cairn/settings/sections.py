"""The sections of settings.json, one class each, with what every key means and its bounds."""

from __future__ import annotations

import os
import re
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from cairn.plugins import Group, declared


class SettingsSection(BaseModel):
    """Base of every section: camelCase in the file, snake_case in Python, nothing unknown, nothing mutable."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        strict=True,
    )


def _one_of(group: Group, *built_in: str) -> AfterValidator:
    """A name that is built in, or that another package declares (docs/extending.md)."""

    def check(name: str) -> str:
        if name not in built_in and name not in declared(group):
            raise ValueError(f"should be one of {', '.join([*built_in, *declared(group)])}")
        return name

    return AfterValidator(check)


Price = Annotated[float, Field(ge=0)]


# --- The `rag` block, with the keys of Thoth ---


class QaSettings(SettingsSection):
    model: str = Field(
        "",
        description="Chat model for generation, or PROVIDER:MODEL of a package; empty: the only one that the server of "
        "OPENAI_BASE_URL has, else gpt-4o-mini.",
    )
    temperature: float = Field(0.1, ge=0, le=2, description="Sampling temperature of generation.")


class AgenticSettings(SettingsSection):
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
    web_search_fallback_enabled: bool = Field(
        False, description="Where no passage is relevant after all retries, ask web.searxngUrl, which it needs."
    )
    confidence_threshold: float = Field(
        0.5, ge=0, le=1, description="A passage counts as relevant from this confidence of the grader on."
    )


AUTO: Final = "auto"
"""The value of rag.embeddingModel that leaves the choice to the first documents of a collection."""
EMBEDDING_VARIABLE: Final = "CAIRN_EMBEDDING_MODEL"
"""What rag.embeddingModel is where the settings do not say: for a quick try without a file of settings."""


class RagSettings(SettingsSection):
    embedding_model: str = Field(
        default_factory=lambda: os.environ.get(EMBEDDING_VARIABLE) or AUTO,
        description="auto: minilm for code, e5 for prose, as the first documents of a collection are. Or one of them for all, an "
        "OpenAI embedding model, or PROVIDER:MODEL of a package.",
    )
    collection_name: str = Field("default", description="Collection used when a caller names none.")
    chunk_size: int = Field(500, ge=50, le=8000, description="Tokens per chunk; when chunking.strategy is tokens.")
    chunk_overlap: int = Field(50, ge=0, le=2000, description="Tokens shared by neighbours; chunking.strategy tokens.")
    top_k: int = Field(5, ge=1, le=50, description="Passages given to generation.")
    hybrid_search_enabled: bool = Field(True, description="Off: the vector leg only.")
    hybrid_search_weight: float = Field(0.7, ge=0, le=1, description="Share of the vector leg inside text fusion.")
    reranking_enabled: bool = Field(True, description="Rerank fused passages when a reranker is available.")
    reranker_provider: Annotated[str, _one_of("providers", "auto", "cohere", "llm", "cross-encoder", "none")] = Field(
        "auto",
        description="auto: Cohere when COHERE_API_KEY is set, else a cross-encoder that is there, else none; the chat model "
        "only for requests with rerank true. llm: the chat model, always. Or a provider of another package.",
    )
    reranker_model: str = Field(
        "",
        description="Cohere's model, the chat model of llm, or a cross-encoder by name or folder. "
        "Empty: the provider's default (llm: qa.model, which auto always takes).",
    )
    contextual_enrichment_enabled: bool = Field(
        False, description="A chat model writes a sentence of context for each chunk, which is embedded before it."
    )
    contextual_enrichment_model: str = Field("", description="Chat model that writes it; empty: that of rag.qa.model.")
    adaptive_routing_enabled: bool = Field(False, description="Model-based query classifier; rules always work.")
    adaptive_routing_model: str = Field("", description="Chat model that classifies; empty: that of rag.qa.model.")
    qa: QaSettings = Field(QaSettings(), description="Generation.")
    agentic_retrieval: AgenticSettings = Field(AgenticSettings(), description="The corrective strategy.")


# --- How documents are read and cut ---


class ChunkingSettings(SettingsSection):
    strategy: Annotated[str, _one_of("chunkers", "parent_child", "tokens")] = Field(
        "parent_child", description="How documents are cut: parent_child, tokens, or a chunker of another package."
    )
    passage_size: int = Field(2000, ge=200, le=20000, description="Characters per passage (parent).")
    passage_overlap: int = Field(200, ge=0, le=4000, description="Characters shared by neighbouring passages.")
    chunk_size: int = Field(400, ge=50, le=8000, description="Characters per chunk (child).")
    chunk_overlap: int = Field(50, ge=0, le=2000, description="Characters shared by neighbouring chunks.")


class IngestSettings(SettingsSection):
    keep_original: bool = Field(
        True,
        description="Keep the files of documents: for downloads, and for pages as pictures. Texts are kept in any case.",
    )
    max_file_bytes: int = Field(50_000_000, ge=1, description="Largest file accepted, bytes (413 above).")
    max_text_chars: int = Field(20_000_000, ge=1, description="Largest normalised text of one document, code points.")
    parse_memory_bytes: int = Field(1_500_000_000, ge=10**8, description="Address space of the parsing subprocess.")
    code_symbols: bool = Field(True, description="Read definitions and references of source code into the graph.")
    code_seconds: float = Field(20, gt=0, description="Processor time for reading the symbols of one file, seconds.")
    code_max_chars: int = Field(2_000_000, ge=0, description="Longer files of code have no symbols, code points.")
    parse_seconds: int = Field(
        60, ge=1, description="Processor time for parsing one file, seconds; by the clock ten times that."
    )
    max_pages: int = Field(5000, ge=1, description="Most pages of one PDF.")
    max_unpacked_bytes: int = Field(200_000_000, ge=1, description="Most bytes a zipped document may unpack to.")
    language: str = Field("english", description="Text search configuration where the language is not recognised.")
    detect_language: bool = Field(True, description="Recognise each document's language.")


class SpendingCaps(SettingsSection):
    """What a job may spend that asks a chat model; what is left is done by a later one."""

    max_tokens: int = Field(500_000, ge=0, description="Tokens read and written by one job; then it stops.")
    max_tokens_per_day: int = Field(
        2_000_000, ge=0, description="The same of all jobs of the kind, of a tenant and a day (UTC)."
    )
    max_cost: Price | None = Field(None, description="Cost of one job by answer.prices; null: only tokens count.")
    max_cost_per_day: Price | None = Field(None, description="Cost of a tenant and a day (UTC).")


class EnrichmentSettings(SpendingCaps):
    """Sentences of context for chunks (rag.contextualEnrichmentEnabled), written by a job that follows indexing."""

    max_output_tokens: int = Field(1024, ge=64, description="Most tokens of one reply, for the chunks of a passage.")
    timeout_seconds: float = Field(120, gt=0, description="Total deadline of one call.")
    max_tokens_per_document: int = Field(
        200_000, ge=0, description="Tokens for one document, estimated; chunks beyond that get no context."
    )


# --- How passages are found ---


class VectorSettings(SettingsSection):
    exact_below: int = Field(
        3000, ge=0, description="Up to so many visible chunks (collection, filter) are scanned exactly."
    )
    dedicated_above: int = Field(
        5000, ge=1, description="Collections with more chunks may get an HNSW index of their own."
    )
    bulk_above: int = Field(
        1000, ge=0, description="A run that has written so many chunks has the collection's own index built at its end."
    )
    max_dedicated_indexes: int = Field(
        200, ge=0, le=1000, description="How many of the largest do; each costs every statement planning time."
    )
    candidates: int = Field(60, ge=20, le=1000, description="Chunks that the vector leg fetches at least.")
    ef_search: int = Field(
        80,
        ge=10,
        le=1000,
        description="HNSW search breadth (hnsw.ef_search) up to 50,000 chunks; larger sets are searched more broadly.",
    )
    m: int = Field(16, ge=2, le=100, description="HNSW neighbours of a vector, of indexes built from now on.")
    ef_construction: int = Field(
        128, ge=4, le=1000, description="HNSW breadth while building, at least 2 m; of indexes built from now on."
    )
    max_scan_tuples: int = Field(20000, ge=1000, description="Bound of the iterative scan (hnsw.max_scan_tuples).")
    precision: Literal["int8", "fp32"] = Field("int8", description="Arithmetic of the local ONNX model.")
    recall_sample: int = Field(50, ge=1, le=1000, description="Stored vectors that a recall check looks for.")
    min_recall: float = Field(0.95, ge=0, le=1, description="A recall check below it is a warning in the log.")

    @model_validator(mode="after")
    def _build_broadly(self) -> Self:
        if self.ef_construction < 2 * self.m:
            raise ValueError(f"efConstruction is at least 2 m, here {2 * self.m}: pgvector builds no index otherwise")
        return self


class LexicalSettings(SettingsSection):
    candidates: int = Field(50, ge=20, le=1000, description="Passages that the lexical leg fetches at least.")
    candidate_budget: int = Field(600, ge=100, description="Postings scored in the first pass of rank-safe BM25.")
    candidate_cap: int = Field(
        1000, ge=100, description="Most postings scored of up to 50,000 passages; beyond it exact is false."
    )
    reweight_inline: int = Field(
        2000, ge=0, description="Languages with more passages are re-weighted by a job instead of the ingest run."
    )
    reweight_drift: float = Field(0.05, gt=0, le=1, description="Relative drift of average length that re-weights.")


class RetrieveSettings(SettingsSection):
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


class CacheSettings(SettingsSection):
    enabled: bool = Field(True, description="Answer repeated searches from the retrieval cache.")
    capacity: int = Field(50, ge=1, le=10_000, description="Entries per tenant; the least recently used goes.")
    ttl_seconds: float = Field(300, gt=0, description="An entry answers no longer than this, seconds.")
    semantic: bool = Field(False, description="Also answer from entries of nearly the same query.")
    semantic_threshold: float = Field(0.95, gt=0, le=1, description="Least cosine of two queries that count as one.")
    query_embeddings: int = Field(
        1000, ge=0, description="Embeddings of queries kept per tenant, and in each process; 0: none."
    )


# --- The knowledge graph ---


class GraphModelSettings(SpendingCaps):
    """Entities and relations from a chat model, beside those of the rules (docs/adr/0028)."""

    enabled: bool = Field(False, description="Extract with a chat model too, by a job that follows indexing.")
    model: str = Field("", description="Chat model that extracts; empty: that of rag.qa.model.")
    batch_tokens: int = Field(
        3000, ge=100, description="Tokens of passages sent in one call, but for a longer passage."
    )
    max_output_tokens: int = Field(4096, ge=64, description="Most tokens of one reply; what is cut off is asked again.")
    timeout_seconds: float = Field(180, gt=0, description="Total deadline of one call.")


class CommunitySettings(SettingsSection):
    """Groups of closely related entities, for questions that ask for an overview."""

    enabled: bool = Field(True, description="Find communities in the background after documents were indexed.")
    max_size: int = Field(
        50, ge=3, le=10_000, description="Larger communities are divided into those of the next level."
    )
    min_size: int = Field(3, ge=2, le=1000, description="Smaller groups of entities are no community.")
    sentences: int = Field(5, ge=1, le=50, description="Sentences of documents that sum up a community.")
    changed_share: float = Field(
        0.05, ge=0, description="They are found anew when more documents changed than this share of the collection."
    )
    inline_passages: int = Field(
        50,
        ge=0,
        description="Collections of up to so many passages are brought up to date at once, larger ones by a job.",
    )
    delay_seconds: float = Field(
        5, ge=0, le=3600, description="How long that waits, so that many uploads cause it once."
    )
    written: int = Field(
        0,
        ge=0,
        le=10_000,
        description="Communities that the chat model summarises per refresh, the largest first; 0: none.",
    )
    written_tokens: int = Field(200, ge=20, le=2000, description="Length of such a summary at most, tokens.")


class GraphSettings(SettingsSection):
    """The knowledge graph: what is extracted from documents, when searches follow it, and how far walks over it go."""

    enabled: bool = Field(True, description="Extract entities and relations when documents are indexed.")
    search: bool = Field(True, description="Searches that name no legs follow the graph where it pays (routing).")
    routing: Literal["names", "type"] = Field(
        "names",
        description="What decides about the graph: names in a question of several steps or several names, or the type.",
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
    communities: CommunitySettings = Field(CommunitySettings(), description="Communities of entities.")


# --- How messages are understood, answered and remembered ---


class RewriteSettings(SettingsSection):
    """How a message becomes what retrieval looks for."""

    model: bool = Field(True, description="Let the chat model rewrite, split and rephrase if there is one.")
    seconds: float = Field(5, gt=0, description="Longest the model may take to rewrite, split or rephrase, seconds.")
    max_tokens: int = Field(512, ge=32, description="Most tokens of such a reply; some models think first.")
    filters: bool = Field(True, description="Read metadata filters and named documents from messages.")


class RoutingSettings(SettingsSection):
    moderate_from: float = Field(0.35, ge=0, le=1, description="Complexity from which on retrieval is enhanced.")
    complex_from: float = Field(0.55, ge=0, le=1, description="Complexity from which on the agent answers.")
    exemplar_threshold: float = Field(
        0.55, gt=0, le=1, description="Least cosine to an exemplar that decides a message's intent."
    )
    new_word_threshold: float = Field(
        0.68, gt=0, le=1, description="The same for small talk with words that no exemplar of it has."
    )
    intent_seconds: float = Field(5, gt=0, description="Longest the intent model may take, seconds (about 2).")


class AnswerSettings(SettingsSection):
    reader: Literal["auto", "on", "off"] = Field(
        "auto",
        description="The local reader, which finds what answers in the passages; auto: in collections that e5 serves; off: rules "
        "of words alone.",
    )
    retrieved: int = Field(
        10,
        ge=1,
        le=100,
        description="Passages retrieved for a question, of which rag.topK are read; enhanced x 1.5.",
    )
    simple_share: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Of a simple question that nothing reranks a model reads what scores at least this share of the best "
        "passage, and the best two in any case; 0: all of rag.topK, 1: two.",
    )
    max_context_tokens: int = Field(6000, ge=200, description="Token budget of the context (4K to 8K).")
    summary_tokens: int = Field(
        48_000, ge=1000, description="Tokens of passages that a summary reads; of more, an even selection."
    )
    summary_sentences: int = Field(12, ge=1, le=50, description="Lines of an outline: of a summary without a model.")
    max_sentences: int = Field(4, ge=1, le=20, description="Quotations of an extractive answer.")
    timeout_seconds: float = Field(60, gt=0, description="Total deadline of one generation.")
    silent_seconds: float = Field(
        10,
        gt=0,
        description="After so long without a word of the chat model its reader is told, and offered a quotation.",
    )
    max_output_tokens: int = Field(1024, ge=16, description="Most tokens a model may generate.")
    prices: dict[str, tuple[Price, Price]] = Field(
        {}, description="Model to its price of a million input and of a million output tokens; not in it: cost is null."
    )


class GroundSettings(SettingsSection):
    """Whether an answer is supported by its sources."""

    enabled: bool = Field(True, description="Check generated answers.")
    threshold: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Score of the second layer from which an answer is grounded; .5 is its own measure.",
    )
    strict: bool = Field(False, description="Every claim must be stated directly, every quotation verbatim.")
    model_enabled: bool = Field(True, description="Ask the chat model where words do not decide; else sentences alone.")
    max_retries: int = Field(2, ge=0, le=5, description="New generations after an answer that is not grounded.")
    timeout_seconds: float = Field(20, gt=0, description="Longest the model's check may take; then sentences decide.")
    max_output_tokens: int = Field(800, ge=64, description="Most tokens of the model's verdict.")


class MemorySettings(SettingsSection):
    """How many of the last messages of a conversation each step sees."""

    router: int = Field(3, ge=0, le=100, description="Messages that recognising the intent looks at.")
    rewrite: int = Field(5, ge=0, le=100, description="Messages that a follow-up is rewritten from.")
    chain: int = Field(
        20,
        ge=0,
        le=100,
        description="Messages through which rules follow what these lean on themselves, as in a chain of “and Italy?”.",
    )
    generation: int = Field(5, ge=0, le=100, description="Messages that the model sees when it writes an answer.")
    context: int = Field(4, ge=0, le=100, description="Messages that simplify, deepen and follow-up work on.")


# --- What agents may spend, and how they work ---


class AgentSettings(SettingsSection):
    """What one run may spend on models (`modelCalls`, `tokens` and `cost` of all strategies, the rest of react, iterative,
    planned and corrective), and how react works."""

    protocol: Literal["auto", "native", "text"] = Field(
        "auto",
        description="How models call tools: native (by the API), text (in words), or auto: native, and in words where the "
        "server refuses tools or answers in words.",
    )
    seconds: float = Field(120, gt=0, le=3600, description="Wall clock of a run; a quarter, at most, is the answer's.")
    model_calls: int = Field(
        30, ge=1, le=500, description="Requests to chat models: repeats, checks and reranking included."
    )
    tokens: int = Field(150_000, ge=1000, description="Tokens of chat models; estimated where none are reported.")
    cost: float = Field(
        0, ge=0, description="Most money, by answer.prices; 0: no limit. Models without a price are free."
    )
    tool_calls: int = Field(20, ge=1, le=500, description="Calls of tools that do something; repeated ones are free.")
    tool_seconds: float = Field(30, gt=0, description="Longest one call of a tool may take.")
    rerank_by_model: bool = Field(
        False, description="Whether a chat model may rerank what react, planned and iterative search for."
    )
    call_seconds: float = Field(
        60, gt=0, description="Longest the model may think about one step, or plan, within agents.seconds."
    )
    reflect_seconds: float = Field(30, gt=0, description="Longest a reflection may take.")
    max_steps: int = Field(7, ge=1, le=50, description="Steps of react; then it must conclude.")
    temperature: float = Field(0.3, ge=0, le=2, description="Sampling temperature of a step.")
    step_tokens: int = Field(1024, ge=64, description="Most tokens of a step or a reflection; some models think first.")


class PlannedSettings(SettingsSection):
    """How the planned strategy works: by a plan, with searches and openings that are counted."""

    tool_calls: int = Field(5, ge=1, le=50, description="Searches and openings of a run (MAX_TOOL_CALLS).")
    most_tool_calls: int = Field(
        10, ge=1, le=50, description="Where the prompt demands more than that, at most so many."
    )
    iterations: int = Field(
        10, ge=1, le=100, description="Replies of the model in all, whatever the prompt demands (MAX_ITERATIONS)."
    )
    reprompts: int = Field(3, ge=0, le=20, description="Answers that are sent back (MAX_REPROMPTS).")
    question_chars: int = Field(1000, ge=1, description="Longest question of /api/agent (MAX_QUESTION_LENGTH).")


class IterativeSettings(SettingsSection):
    """How the iterative strategy fetches what an answer says is missing, and what its sessions keep."""

    max_passes: int = Field(3, ge=1, le=10, description="Answers of a run, each with what is missing.")
    targeted_top_k: int = Field(3, ge=1, le=50, description="Passages that a search for one gap brings.")
    idle_minutes: int = Field(30, ge=1, description="Sessions are forgotten when they were not used for so long.")
    session_nodes: int = Field(
        50, ge=1, le=1000, description="Passages that a session keeps; the least recently read go."
    )


# --- Providers, jobs, runs, traces and the API ---


class WebSettings(SettingsSection):
    """The web search behind rag.agenticRetrieval.webSearchFallbackEnabled. Nothing else ever asks it."""

    searxng_url: str = Field(
        "",
        pattern=r"^(?:https?://[^\s/?#@]+(?:/[^\s?#]*)?)?$",
        description="Address of a SearXNG server that answers in JSON (search.formats in its settings.yml); empty: none.",
    )
    results: int = Field(5, ge=1, le=20, description="Results that are read.")
    seconds: float = Field(8, gt=0, le=60, description="Deadline of the search.")


def _check_host(entry: str) -> str:
    name, colon, port = entry.partition(":")
    labels = name.removeprefix("*.").split(".")
    fits = name == "*" or all(label and label.replace("-", "").isalnum() and label.isascii() for label in labels)
    if not fits or (colon and not (port.isascii() and port.isdigit() and 0 < int(port) < 65_536)):
        raise ValueError("name hosts as docs.example.org, *.example.org or docs.example.org:8443, without https://")
    return entry.lower()


_WEB_PORTS: Final = {"http": 80, "https": 443}
_LAST_PORT: Final = 65_535
_ORIGIN: Final = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9a-f:]+\]|[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?)(?::(?P<port>[0-9]{1,5}))?",
    re.ASCII | re.IGNORECASE,
)
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")


def _check_origin(text: str) -> str:
    """As browsers write it: lower case, and no port where it is the usual one."""
    if "*" in text:
        raise ValueError("'*' would let every page of the web ask here; name each origin, as https://app.example.org")
    wanted = "name an origin as its pages are opened, https://app.example.org or http://localhost:3000, without a path"
    found = _ORIGIN.fullmatch(text)
    if found is None:
        raise ValueError(wanted)
    scheme = found["scheme"].lower()
    port = int(found["port"] or _WEB_PORTS[scheme])
    if port > _LAST_PORT:
        raise ValueError(wanted)
    try:
        host = _write_host(found["host"].lower())
    except ValueError:
        raise ValueError(wanted) from None
    return f"{scheme}://{host}" + ("" if port == _WEB_PORTS[scheme] else f":{port}")


def _write_host(host: str) -> str:
    """As browsers write it, who shorten addresses and take what ends in a number for one. Raises ValueError for addresses that
    they would write otherwise."""
    if host.startswith("["):
        address = IPv6Address(host[1:-1])
        if address.ipv4_mapped is not None:  # Python writes it in one way up to 3.12, and in another one since
            raise ValueError(host)
        return f"[{address}]"
    return str(IPv4Address(host)) if _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]) else host


def _check_network(text: str) -> str:
    try:
        return str(ip_network(text))
    except ValueError as error:
        raise ValueError(f"name a network as 10.20.0.0/16: {error}") from None


class UrlSettings(SettingsSection):
    """Pages that are fetched by their address to be indexed (POST /collections/{name}/urls, `cairn ingest https://...`)."""

    allowed_hosts: tuple[Annotated[str, AfterValidator(_check_host)], ...] = Field(
        (),
        description="Hosts that pages may be fetched from: docs.example.org, *.example.org, docs.example.org:8443, * for all; "
        "empty: none. Without a port 80 and 443 are meant.",
    )
    private_networks: tuple[Annotated[str, AfterValidator(_check_network)], ...] = Field(
        (),
        description="Networks that are not public and may be fetched from all the same, as 10.20.0.0/16: an intranet's wiki.",
    )
    seconds: float = Field(30, gt=0, le=600, description="Longest a page may take, with its redirects.")


class ProviderSettings(SettingsSection):
    """Hosted models: when calls of one that keeps failing are not tried any more for a while, and what one reads."""

    circuit_failures: int = Field(5, ge=1, description="Consecutive failed calls that open the circuit of a model.")
    circuit_seconds: float = Field(20, gt=0, description="So long it stays open; then one call tries again, seconds.")
    embedding_tokens: int = Field(
        0, ge=0, le=1_000_000,
        description="Tokens of one text that a hosted embedding model reads; 0: 8191. Set it where a server cuts off silently.",
    )  # fmt: skip
    embedding_seconds: float = Field(
        60, gt=0, le=3600, description="Deadline of one request for vectors, with its repetitions; needs a restart."
    )


class JobsSettings(SettingsSection):
    lease_seconds: float = Field(30, gt=0, le=3600, description="A job whose worker is silent this long is taken over.")
    heartbeat_seconds: float = Field(5, gt=0, description="How often a worker renews its lease.")
    poll_seconds: float = Field(1, gt=0, description="How often an idle worker looks for work.")
    max_attempts: int = Field(3, ge=1, description="A job claimed this often without finishing is parked.")
    retry_seconds: float = Field(5, ge=0, description="Base of the exponential backoff between attempts.")
    retention_days: int = Field(
        30, ge=1, description="Jobs that ended longer ago are deleted, with the files that parked and failed ones keep."
    )


class RunSettings(SettingsSection):
    """Resumable runs: those that go on without their client."""

    lease_seconds: float = Field(
        15, ge=3, description="A resumable run whose process is silent this long counts as failed, seconds."
    )
    retention_days: int = Field(
        7, ge=1, description="Resumable runs that began longer ago are deleted with their events."
    )


class LimitSettings(SettingsSection):
    """What keys and tenants may use that have no limits of their own; null: as much as they like. Without keys only those of
    tenants hold."""

    requests_per_minute: int | None = Field(None, ge=0, le=10**9, description="Requests of a key in any sixty seconds.")
    concurrent_runs: int | None = Field(None, ge=0, le=10**9, description="Questions of a key being answered at once.")
    tokens_per_day: int | None = Field(
        None,
        ge=0,
        le=10**15,
        description="Tokens that models of providers may read and write for a key in a day (UTC).",
    )
    cost_per_day: float | None = Field(
        None, ge=0, description="What these may cost, by answer.prices; models without a price are not called then."
    )
    documents: int | None = Field(None, ge=0, le=10**15, description="Indexed documents of a tenant.")
    bytes: int | None = Field(None, ge=0, le=10**15, description="Bytes of their files, as they were sent.")
    chunks: int | None = Field(None, ge=0, le=10**15, description="Chunks of them.")

    @property
    def holding(self) -> tuple[int | None, int | None, int | None]:
        """Documents, bytes and chunks."""
        return self.documents, self.bytes, self.chunks


class TraceSettings(SettingsSection):
    enabled: bool = Field(True, description="Write a trace of each run.")
    sample_rate: float = Field(
        1.0, ge=0, le=1, description="Share of successful runs whose candidates are kept; failed and degraded keep all."
    )
    retention_days: int = Field(30, ge=1, description="Traces older than this are dropped.")
    queue_size: int = Field(1000, ge=1, description="Traces waiting to be written; more are counted as dropped.")


class AuditSettings(SettingsSection):
    retention_days: int = Field(
        365,
        ge=30,
        le=36_500,
        description="Events of the audit log and changes of documents older than this are deleted; the database keeps 30 days.",
    )


class ReplicaSettings(SettingsSection):
    """Standbys that answer reads (CAIRN_REPLICA_URL)."""

    max_lag_seconds: float = Field(
        30, gt=0, description="One that is further behind the primary answers nothing until it has caught up, seconds."
    )


class AnalystSettings(SettingsSection):
    """What sessions of analysts' logins may do to the others; the server ends those that do more."""

    statement_seconds: int = Field(300, ge=1, le=86_400, description="Longest statement or transaction, seconds.")
    idle_seconds: int = Field(
        60, ge=1, le=86_400, description="Longest pause in a transaction, or with an advisory lock, seconds."
    )


class PageSettings(SettingsSection):
    enabled: bool = Field(True, description="Serve the page at /, where NiceGUI is installed; read at start.")


class AdmissionSettings(SettingsSection):
    """What this process does at once, and how many may wait for it; the next one is refused (503 with Retry-After)."""

    searches: int = Field(8, ge=1, description="Searches at once.")
    searches_waiting: int = Field(32, ge=0, description="Searches that wait for a place.")
    answers: int = Field(16, ge=1, description="Questions being answered at once.")
    answers_waiting: int = Field(32, ge=0, description="Questions that wait.")
    uploads: int = Field(4, ge=1, description="Uploads being stored or indexed at once.")
    uploads_waiting: int = Field(16, ge=0, description="Uploads that wait.")
    requests: int = Field(64, ge=1, description="Other requests at once; a stream counts until it begins.")
    requests_waiting: int = Field(128, ge=0, description="Other requests that wait.")
    wait_seconds: float = Field(5, gt=0, description="Longest wait for a place, seconds; then it is refused.")


class ApiSettings(SettingsSection):
    max_body_bytes: int = Field(
        64_000_000, ge=1000, description="Largest body of an upload or of /index, bytes (413 above)."
    )
    max_small_body_bytes: int = Field(1_000_000, ge=1000, description="Largest body of any other request, bytes.")
    max_json_tokens: int = Field(
        200_000, ge=1000, description="Most names, values and brackets in a JSON body; texts count once (413 above)."
    )
    head_seconds: float = Field(
        15, gt=0, description="A connection must send the head of its next request in this time, seconds (408)."
    )
    body_seconds: float = Field(
        10, gt=0, description="So long may a body take, and a second more for each bodyRate (408)."
    )
    body_rate: int = Field(20_000, ge=1, description="Bytes per second that a slow client must manage on the mean.")
    max_query_chars: int = Field(
        4000, ge=10, description="Longest query or question, code points; a longer text is a document."
    )
    allowed_hosts: tuple[str, ...] = Field(
        (), description="Host headers answered; * is any. Empty: any with keys, and only those of loopback without."
    )
    allowed_origins: tuple[Annotated[str, AfterValidator(_check_origin)], ...] = Field(
        (),
        description="Origins whose pages may ask from a browser (CORS), as https://app.example.org; they send a key in a header. "
        "Empty: none; there is no * for all.",
    )
    trust_proxy: bool = Field(
        False,
        description="Believe X-Forwarded-Proto: a proxy of yours sets it on every request. Host must be passed on.",
    )
    idempotency_hours: int = Field(
        24, ge=1, le=720, description="How long an Idempotency-Key and the answer of its request are kept."
    )
    ping_seconds: float = Field(
        15, gt=0, le=300, description="After so long a silence a stream sends a comment, so that proxies keep it open."
    )
