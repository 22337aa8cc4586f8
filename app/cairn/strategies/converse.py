"""Going on from the last answer: tell me more, say it more simply, go deeper.

Its original sources come first, fetched again by id; what a deletion took is not replaced by guesses. A follow-up and
`deepen` also look further: in the whole collection, or in the same documents. Without a model, sentences that were not said
yet are quoted, or the simplest of those that answer the question before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import Final
from uuid import UUID

from cairn.answer.confidence import PRESENT_ENOUGH
from cairn.answer.context import assemble
from cairn.answer.extract import extract, has_unsaid
from cairn.answer.outline import outline_of
from cairn.domain.answer import Citation, coverage_of
from cairn.domain.event import Progress, SourcesFound, Token
from cairn.domain.passage import Passage
from cairn.domain.question import Exchange
from cairn.errors import CairnError
from cairn.language.fence import quoted
from cairn.prompts import prompt_part
from cairn.query.filters import scoped
from cairn.runs.context import Material, Outcome, Run
from cairn.runs.gather import best_confidence, gather, search_beside
from cairn.runs.progress import reading
from cairn.strategies.draft import answer_from, said_in
from cairn.strategies.fast import fast
from cairn.strategies.wishes import grant

FURTHER: Final = 2.0
"""How much more than usual is looked at beyond the original sources."""
SAME_DOCUMENTS: Final = 3
"""Documents of the last answer that `deepen` searches."""
SIMPLEST: Final = 2
"""Sentences that a simplification quotes."""
CANDIDATES: Final = 8
"""Sentences that it chooses from."""
ASKED_BY_ANSWER: Final = 500
"""Characters of an answer that stand for its question."""
SHOWN_BEFORE: Final = 4000
"""Characters of the last answer that a model is shown."""


async def converse(run: Run) -> Outcome:
    """Raises CairnError."""
    run.emit(Progress("retrieve", 40, "Fetching the sources of the last answer"))
    exchange = run.plan.continued
    assert exchange is not None  # choose() saw it
    originals = await _originals(run, exchange)
    if not originals:
        note = "the sources of the last answer are gone, or outside of what is asked: searched anew"
        run.record.degraded.append(note)
        return await fast(run)
    if run.plan.wish and run.deps.chat is None and (granted := await grant(run, exchange, originals)):
        return granted
    if run.plan.intent.intent == "simplify" and run.deps.chat is None:
        return await _simplify(run, exchange, originals)
    return await answer_from(run, await _material(run, exchange, originals))


async def _originals(run: Run, exchange: Exchange) -> list[Passage]:
    """The passages that the last answer stood on, each with the chunk and the score with which it was found then."""
    known = {source.passage_id: source for source in reversed(exchange.answer.sources) if not source.deleted}
    wanted = {key: known[key].chunk_id for key in _ids(exchange, cited=False)}
    found = await run.deps.library.within(run.question.collection, wanted, filters=run.question.filters)
    return [replace(passage, score=known[passage.passage_id].score) for passage in found]


def _ids(exchange: Exchange, *, cited: bool) -> list[UUID]:
    """Passages that the last answer stood on, cited ones first; `cited`: these alone, if there are any."""
    sources = sorted(exchange.answer.sources, key=lambda source: not source.cited)
    if cited and any(source.cited for source in sources):
        sources = [source for source in sources if source.cited]
    return [source.passage_id for source in sources if not source.deleted]


def _asked(exchange: Exchange) -> str:
    """What the last answer was about: its question, or where that was too long ago, itself."""
    return exchange.question or exchange.answer.content[:ASKED_BY_ANSWER]


async def _material(run: Run, exchange: Exchange, originals: Sequence[Passage]) -> Material:
    intent, quoting = run.plan.intent.intent, run.deps.chat is None
    cited = set(_ids(exchange, cited=True))
    # a model is shown all of them; sentences are taken from those that the answer was taken from
    near = [passage for passage in originals if passage.passage_id in cited] if quoting else list(originals)
    said = " ".join(said_in(turn) for turn in run.question.history if turn.role == "assistant")
    # without a model a follow-up reads on where it is, and looks around when everything there is said
    reads_on = quoting and intent == "followup" and has_unsaid(near, said)
    further: tuple[Passage, ...] = ()
    degraded: tuple[str, ...] = ()
    if intent != "simplify" and not reads_on:
        further, degraded = await _further(run, exchange, near or originals)
    known = {passage.passage_id for passage in near}
    passages = (*near, *(passage for passage in further if passage.passage_id not in known))
    searches = run.record.searches
    return Material(
        question=_asked(exchange),
        passages=passages,
        shown=tuple(originals),
        confidence=max((best_confidence(item.result) for item in searches), default=1.0),
        visible=searches[0].result.visible_passages if searches else len(passages),
        known=said,
        # the question before was answered from these sources and documents, so all they say is about it
        enough=0.0 if reads_on or intent == "deepen" else PRESENT_ENOUGH,
        task=prompt_part("converse", intent, answer=quoted(exchange.answer.content[:SHOWN_BEFORE])),
        degraded=degraded,
        more={"continues": str(exchange.answer.id), "original_sources": len(originals)},
        graph=run.record.graph,
    )  # fmt: skip


async def _further(
    run: Run, exchange: Exchange, originals: Sequence[Passage]
) -> tuple[tuple[Passage, ...], tuple[str, ...]]:
    """Passages beside the original ones. That this fails is reported: the original ones are there."""
    asked = _asked(exchange)
    try:
        if run.plan.intent.intent == "followup":
            found = await gather(_asking(run, asked), factor=FURTHER)
            return found.passages, found.degraded
        return await _same_documents(run, asked, originals)
    except CairnError as error:
        return (), (f"looking further failed ({error.code}: {error.detail})",)


async def _same_documents(
    run: Run, asked: str, originals: Sequence[Passage]
) -> tuple[tuple[Passage, ...], tuple[str, ...]]:
    names = list(dict.fromkeys(passage.external_id for passage in originals))[:SAME_DOCUMENTS]
    top_k = run.settings.answer.retrieved
    done, failed = await search_beside(run, [("document", scoped(asked, (name,))) for name in names], top_k)
    return tuple(passage for _, result in done for passage in result.passages), tuple(failed)


def _asking(run: Run, text: str) -> Run:
    """The same run, looking for another text."""
    return replace(run, plan=replace(run.plan, text=text, subquestions=(), expansions=(), filters={}))


# --- simpler words without a model ------------------------------------------------------------------------------------


async def _simplify(run: Run, exchange: Exchange, originals: Sequence[Passage]) -> Outcome:
    """Of the sentences that answer the question before, those that are easiest to read."""
    context = assemble(originals, run.deps.judge.tokens.count, run.settings.answer.max_context_tokens)
    run.emit(SourcesFound(context.passages))
    run.emit(reading(len(originals)))
    cited = set(_ids(exchange, cited=True))
    near = [passage for passage in originals if passage.passage_id in cited]
    wide = run.settings.answer.model_copy(update={"max_sentences": CANDIDATES})
    draft = await extract(_asked(exchange), near or originals, run.deps.judge, wide, enough=0.0)
    kept = simplest(draft.citations, SIMPLEST)
    if kept:
        draft = replace(outline_of(kept, run.plan.language), confidence=draft.confidence)
    run.emit(Token(draft.text))
    return Outcome(
        draft, "extractive", tuple(originals), coverage=coverage_of(len(originals), len(originals)),
        more={"continues": str(exchange.answer.id), "original_sources": len(originals)},
    )  # fmt: skip


_WORD = re.compile(r"\w+")


def simplest(citations: Sequence[Citation], limit: int) -> list[Citation]:
    """Those with the fewest and shortest words, in the order in which they came."""
    ranked = sorted(citations, key=lambda cited: difficulty(cited.quote))[:limit]
    return [cited for cited in citations if cited in ranked]


def difficulty(sentence: str) -> float:
    """Readability in the manner of Björnsson's LIX (1968), for any language: words per sentence, plus the share of words
    of more than six letters in percent."""
    words = _WORD.findall(sentence)
    return len(words) + 100 * fmean([len(word) > 6 for word in words]) if words else 0.0
