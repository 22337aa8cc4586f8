"""How messages are understood, answered and remembered."""

from __future__ import annotations

from pydantic import Field

from app.settings.section import Price, Section


class RewriteSettings(Section):
    """How a message becomes what retrieval looks for."""

    model: bool = Field(True, description="Let the chat model rewrite, split and rephrase if there is one.")
    seconds: float = Field(5, gt=0, description="Longest the model may take to rewrite, split or rephrase, seconds.")
    max_tokens: int = Field(512, ge=32, description="Most tokens of such a reply; some models think first.")
    max_subquestions: int = Field(4, ge=1, le=10, description="Questions that a message is split into at most.")
    filters: bool = Field(True, description="Read metadata filters and named documents from messages.")


class RoutingSettings(Section):
    moderate_from: float = Field(0.35, ge=0, le=1, description="Complexity from which on retrieval is enhanced.")
    complex_from: float = Field(0.55, ge=0, le=1, description="Complexity from which on the agent answers.")
    enhanced_factor: float = Field(1.5, ge=1, le=5, description="Enhanced retrieval multiplies its depth by this.")
    exemplar_threshold: float = Field(
        0.55, gt=0, le=1, description="Least cosine to an exemplar that decides a message's intent."
    )
    new_word_threshold: float = Field(
        0.68, gt=0, le=1, description="The same for small talk with words that no exemplar of it has."
    )
    foreign_threshold: float = Field(
        0.88,
        gt=0,
        le=1,
        description="The same for exemplars that are not in English, which the local model speaks best.",
    )
    exemplar_margin: float = Field(
        0.1, ge=0, le=1, description="By how much that must exceed the cosine to the nearest exemplar of a question."
    )
    uncertain_from: float = Field(
        0.45, ge=0, le=1, description="Cosine from which on an undecided message may go to the intent model."
    )
    intent_seconds: float = Field(5, gt=0, description="Longest the intent model may take, seconds (about 2).")
    intent_tokens: int = Field(256, ge=8, description="Most tokens of its reply; some models think first.")


class AnswerSettings(Section):
    retrieved: int = Field(
        10,
        ge=1,
        le=100,
        description="Passages retrieved for a question, of which rag.topK are read; enhanced x 1.5.",
    )
    max_context_tokens: int = Field(6000, ge=200, description="Token budget of the context (4K to 8K).")
    summary_tokens: int = Field(
        48_000, ge=1000, description="Tokens of passages that a summary reads; of more, an even selection."
    )
    summary_sentences: int = Field(8, ge=1, le=50, description="Sentences of an extractive summary.")
    max_sentences: int = Field(4, ge=1, le=20, description="Sentences of an extractive answer.")
    timeout_seconds: float = Field(60, gt=0, description="Total deadline of one generation.")
    max_output_tokens: int = Field(1024, ge=16, description="Most tokens a model may generate.")
    prices: dict[str, tuple[Price, Price]] = Field(
        {}, description="Model to its price of a million input and of a million output tokens; not in it: cost is null."
    )


class GroundSettings(Section):
    """Whether an answer is supported by its sources (A11)."""

    enabled: bool = Field(True, description="Check generated answers.")
    grounded_from: float = Field(0.8, ge=0, le=1, description="Fast score from which an answer is grounded.")
    not_grounded_below: float = Field(0.3, ge=0, le=1, description="Fast score below which it is not.")
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


class MemorySettings(Section):
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
