"""Reranking the fused shortlist. On any failure the fused order stays, and the reason is reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from cairn.domain.passage import Passage
from cairn.errors import ProviderError
from cairn.providers.protocols import RerankerChoice
from cairn.providers.retry import before, now
from cairn.settings import RetrieveSettings, Settings

GRACE: Final = 1.0  # bound: tests/unit/test_edges_retrieve.py
"""Seconds for a reranker that keeps its deadline itself: it knows why it failed, and counts it."""
_REQUESTED = (
    "rerank asked for, but no reranker is configured: set COHERE_API_KEY, a chat model (OPENAI_API_KEY or "
    "OPENAI_BASE_URL) or a local cross-encoder, and rag.rerankerProvider to other than none"
)


@dataclass(frozen=True, slots=True)
class Reranked:
    """Passages best first, what went wrong if anything, and the name of the reranker that made the order."""

    passages: list[Passage]
    problem: str | None = None
    reranker: str | None = None


def wants_reranking(
    choice: RerankerChoice,
    settings: Settings,
    *,
    requested: bool | None = None,
    chat_reranks: bool | None = None,
) -> bool:
    """Whether to rerank: as the request says, else as rag.rerankingEnabled says, by what may run unasked
    (docs/adr/0108-who-reranks.md). `chat_reranks` says of a chat model whether it does; None: where the settings name it."""
    if requested is not None:
        return requested
    unasked = chat_reranks if choice.by_chat and chat_reranks is not None else not choice.on_request
    return settings.rag.reranking_enabled and unasked


async def rerank(
    choice: RerankerChoice,
    query: str,
    shortlist: Sequence[Passage],
    settings: RetrieveSettings,
    *,
    requested: bool = False,
) -> Reranked:
    """The first `rerank_candidates` passages in the reranker's order, those it left out, then the rest.

    Without a reranker nothing is wrong, unless the settings name one or the caller `requested` it in so many words.
    """
    if choice.reranker is None:
        return Reranked(list(shortlist), choice.problem or (_REQUESTED if requested else None))
    head, tail = list(shortlist[: settings.rerank_candidates]), list(shortlist[settings.rerank_candidates :])
    if len(head) < 2:
        return Reranked(list(shortlist))
    name = choice.reranker.name
    try:
        ranked = await before(
            now() + settings.rerank_seconds + GRACE,
            choice.reranker.rerank(query, [passage.content for passage in head], top_n=len(head)),
        )
    except ProviderError as error:
        return Reranked(list(shortlist), f"reranker {name} failed: {error.detail}")
    first = [replace(head[item.index], rerank_score=item.score) for item in ranked]
    named = {item.index for item in ranked}
    left = [passage for index, passage in enumerate(head) if index not in named]
    problem = f"reranker {name} scored {len(first)} of {len(head)} passages" if left else None
    return Reranked(first + left + tail, problem, name)


def keep_relevant(passages: Sequence[Passage], settings: RetrieveSettings) -> list[Passage]:
    """What an answer is made of when a reranker failed: passages whose fused score reaches the threshold.

    At least the first; all under `rrf`, whose scores are ranks and say nothing of relevance.
    """
    if settings.fusion == "rrf":
        return list(passages)
    return [passage for passage in passages if passage.score >= settings.relevance_threshold] or list(passages[:1])
