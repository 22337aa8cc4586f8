"""Searching for an answer: one search, or several whose results are merged.

Without a chat model each sub-question is searched for; enhanced reads more, and searches for other phrasings too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Final
from uuid import UUID

from cairn.answer.across import READ_ACROSS
from cairn.answer.change_log import manuals_first
from cairn.answer.foreign import most_are_foreign
from cairn.domain.graph import joined_contexts
from cairn.domain.passage import Passage, SearchResult
from cairn.domain.trace import BELOW_TOP_K, LegTrace
from cairn.errors import CairnError, ProviderError
from cairn.providers.protocols import ChatModel
from cairn.query.complexity import ENHANCED_FACTOR
from cairn.query.filters import scoped
from cairn.query.rewrite_by_model import expand_by_model, split_by_model
from cairn.retrieve.operators import parse_operators
from cairn.runs.context import Material, Run, SubquestionPassages, half_up
from cairn.runs.progress import searching
from cairn.settings import RewriteSettings

WIDE: Final = frozenset({"enhanced", "corrective"})
"""Strategies that search for the parts and phrasings of a question too."""
MOST_NAMED: Final = 4
"""Documents named in a message that are searched one by one."""


async def gather(
    run: Run, *, factor: float | None = None, read: int | None = None, purpose: str = "question"
) -> Material:
    """What an answer to the question may be made of. Its confidence is the best leg's of the search for the question, or the
    mean of those for its parts if that is more.

    `factor`: how much more than usual is retrieved and read; by default as the strategy says. `read`: passages to read
    instead. `purpose`: "rewrite" for a query that is searched alone. Raises CairnError when the search for the question
    itself fails; other searches that fail are reported."""
    factor = factor or (ENHANCED_FACTOR if run.route.strategy in WIDE else 1.0)
    top_k = half_up(factor * max(run.settings.answer.retrieved, run.settings.rag.top_k))
    read = read or half_up(factor * run.settings.rag.top_k)
    main, degraded = await _main(run, top_k, purpose)
    across = run.deps.chat is None and run.deps.searcher.embedder_across(run.question.collection) is not None
    if across and most_are_foreign(run.plan.words_in, main.passages[:read]):
        read = max(read, READ_ACROSS)  # costs nothing: they are found already, and as many places are compared
    main = replace(main, passages=manuals_first(main.passages, run.plan.text, read))
    material = Material(
        run.plan.text, main.passages[:read], best_confidence(main), main.visible_passages, degraded=degraded, graph=main.graph,
        more={"effective_top_k": top_k},
    )  # fmt: skip
    asked = _further(run) if main.visible_passages and purpose == "question" else []
    if not asked:
        parts = tuple(SubquestionPassages(text, material.passages) for text in run.plan.subquestions)
        return replace(material, parts=parts)
    run.emit(searching([text for _, text in asked], 45))
    done, failed = await search_beside(run, asked, top_k)
    parts = tuple(
        SubquestionPassages(parse_operators(text).text, result.passages[: run.settings.rag.top_k])
        for (purpose, text), result in done if purpose == "subquestion"
    )  # fmt: skip
    sure = [best_confidence(result) for (purpose, _), result in done if purpose == "subquestion"]
    passages, run.record.merged = merge([main.passages, *(result.passages for _, result in done)], read)
    return replace(
        material,
        passages=passages,
        confidence=max(material.confidence, fmean(sure) if sure else 0.0),
        parts=parts,
        degraded=(*degraded, *failed),
        graph=joined_contexts([main.graph, *(result.graph for _, result in done)]),
    )


def _further(run: Run) -> list[tuple[str, str]]:
    """What is searched for besides the question, and why: its parts, other phrasings of an enhanced one, and each of several
    documents that the message names."""
    named = run.plan.documents if 1 < len(run.plan.documents) <= MOST_NAMED else ()
    asked = [("document", scoped(run.plan.text, (name,))) for name in named]
    if run.route.strategy in WIDE or run.deps.chat is None:  # without a model each part is quoted for itself
        asked += [("subquestion", scoped(text, run.plan.documents)) for text in run.plan.subquestions]
    if run.route.strategy in WIDE:
        asked += [("expansion", text) for text in run.plan.expansions]
    return asked


async def _main(run: Run, top_k: int, purpose: str) -> tuple[SearchResult, tuple[str, ...]]:
    """Conditions that were read out of the message are dropped where nothing meets them; the caller's never are."""
    own = dict(run.question.filters or {})
    guessed = {key: value for key, value in run.plan.filters.items() if key not in own}
    text = scoped(run.plan.text, run.plan.documents)
    result = await run.search(text, top_k, purpose=purpose, filters={**guessed, **own})
    if (guessed or text != run.plan.text) and not result.passages and result.visible_passages:
        said = ", ".join([*run.plan.documents, *(f"{key} = {value!r}" for key, value in guessed.items())])
        again = "without conditions" if purpose == "question" else purpose
        result = await run.search(run.plan.text, top_k, purpose=again, filters=own)
        return result, (f"nothing was found under {said}, which the question names: searched everything",)
    return result, ()


async def search_beside(
    run: Run, asked: Sequence[tuple[str, str]], top_k: int
) -> tuple[list[tuple[tuple[str, str], SearchResult]], list[str]]:
    """Several searches, each a purpose and a query, side by side; results in the order asked, and which failed."""

    async def search(purpose: str, text: str) -> SearchResult | CairnError:
        try:
            return await run.search(text, top_k, purpose=purpose, filters=run.question.filters)
        except CairnError as error:
            return error

    results = await asyncio.gather(*(search(purpose, text) for purpose, text in asked))
    done = [(item, result) for item, result in zip(asked, results, strict=True) if isinstance(result, SearchResult)]
    failed = [
        f"search for the {purpose} {text!r} failed: {result.detail}"
        for (purpose, text), result in zip(asked, results, strict=True) if isinstance(result, CairnError)
    ]  # fmt: skip
    return done, failed


def best_confidence(result: SearchResult) -> float:
    """Confidence of the best leg; 0 where none has any."""
    return max(result.confidence.values(), default=0.0)


def merge(lists: Sequence[Sequence[Passage]], limit: int, *, k: int = 60) -> tuple[tuple[Passage, ...], LegTrace]:
    """Reciprocal rank fusion of whole results, after the first of each list, so that no part goes unread.

    A passage is taken as the list says that has it highest. Also the merged list as the trace keeps it.
    """
    scores: dict[UUID, float] = {}
    standing: dict[UUID, tuple[int, Passage]] = {}
    for passages in lists:
        for rank, passage in enumerate(passages, 1):
            key = passage.passage_id
            scores[key] = scores.get(key, 0.0) + 1 / (k + rank)
            if key not in standing or rank < standing[key][0]:
                standing[key] = rank, passage
    firsts = list(dict.fromkeys(passages[0].passage_id for passages in lists if passages))
    order = sorted(scores, key=lambda key: (key not in firsts, -scores[key], key))
    kept = tuple(replace(standing[key][1], score=scores[key]) for key in order[:limit])
    trace = LegTrace(
        leg="merged",
        passage_ids=tuple(order),
        scores=tuple(scores[key] for key in order),
        fates=tuple("kept" if place < limit else BELOW_TOP_K for place in range(len(order))),
    )
    return kept, trace


# --- More ways to look for what an enhanced question asks, by a chat model: its parts and other phrasings ---

ByModel = Callable[[str, ChatModel, RewriteSettings], Awaitable[tuple[str, ...]]]


def can_widen(run: Run) -> bool:
    """Whether a model is asked at all."""
    return run.route.strategy == "enhanced" and run.deps.chat is not None and run.settings.rewrite.model


async def widen(run: Run, *, split: bool = True, expand: bool = True) -> Run:
    """The run with what the model added to its plan; parts that rules have found are kept. Without `split` the question is
    one, whatever the rules found; without `expand` it has no other phrasings."""
    ruled = run.plan.subquestions if split else ()
    asks = run.deps.chat is not None and run.settings.rewrite.model
    parts, phrasings = await asyncio.gather(
        _asked(run, "decompose", split_by_model) if asks and split and not ruled else _nothing(),
        _asked(run, "expand", expand_by_model) if asks and expand else _nothing(),
    )
    plan = replace(run.plan, subquestions=ruled or parts, expansions=phrasings)
    run.record.plan = plan
    return replace(run, plan=plan)


async def _nothing() -> tuple[str, ...]:
    return ()


async def _asked(run: Run, purpose: str, ask: ByModel) -> tuple[str, ...]:
    assert run.deps.chat is not None
    chat = run.record.metered(purpose, run.deps.chat, run.settings)
    try:
        return await ask(run.plan.text, chat, run.settings.rewrite)
    except ProviderError as error:
        run.record.degraded.append(f"{purpose} by the model failed ({error.code}: {error.detail})")
        return ()
