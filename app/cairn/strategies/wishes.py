"""What is wanted of the last answer, without a chat model: an example, the reason, its place, the shortest of what it lists.

Each is a sentence of its sources. Where none gives the example or the reason, the answer goes on as it does for "tell me more";
where the things have no such number and no sentence says it, that is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cairn.answer.asked_on import (
    find_example,
    find_extreme,
    find_item,
    find_reason,
    find_shown,
    find_sources,
    find_stated,
    places_quoted,
)
from cairn.answer.candidates import Candidate, candidates
from cairn.answer.cite import citation
from cairn.answer.computed import CONFIDENCE
from cairn.answer.confidence import SURE
from cairn.answer.foreign import written_in
from cairn.answer.quotation import Excerpt, label_place
from cairn.answer.refusal import not_said_of
from cairn.answer.shown import as_markdown, surroundings
from cairn.domain.answer import Draft, Origin, coverage_of
from cairn.domain.event import SourcesFound, Token
from cairn.domain.passage import Passage
from cairn.domain.plan import LastAnswerWish
from cairn.domain.question import Exchange
from cairn.language.lexicon import replies
from cairn.language.text import fold
from cairn.query.entities import entities
from cairn.query.followup import topic_of
from cairn.query.last_answer import gives, titles_examples
from cairn.runs.context import Outcome, Run
from cairn.runs.progress import reading
from cairn.strategies.draft import advise
from cairn.strategies.fast import fast

FEWEST: Final = 2
"""Things of which one is the shortest."""


async def grant(run: Run, exchange: Exchange, originals: Sequence[Passage]) -> Outcome | None:
    """None where the sources have no example or reason. Raises CairnError."""
    wish = run.plan.wish
    assert wish is not None
    found = candidates(originals)
    spoken = [written_in(passage) or run.plan.words_in for passage in originals]
    if wish.wants == "extreme":
        return await _extreme(run, exchange, originals, found, wish, spoken)
    if wish.wants == "item":
        told = find_item(found, wish.word, _items(run))
        return _quoted(run, exchange, originals, told) if told else await fast(run)
    quoted = places_quoted(found, originals, exchange.answer.sources)

    def fits(one: Candidate) -> bool:
        return gives(wish, spoken[one.rank], one.text)

    if wish.wants == "source":
        said = where_said(find_sources(found, quoted), originals, run.plan.language)
        return _told(run, exchange, originals, said if said.found else await advise(run, said, originals))
    if wish.wants == "reason":
        given = find_reason(found, quoted, fits)
    else:
        shown = find_shown(found, originals, quoted, titles_examples)
        given = shown or find_example(found, quoted, exchange.question, fits)
    return _quoted(run, exchange, originals, given) if given else None


def _items(run: Run) -> tuple[str, ...]:
    """What was listed or compared."""
    topic = topic_of(run.question.history, run.plan.language, lambda text, language: entities(text, language, None))
    return topic.items if topic else ()


def _quoted(run: Run, exchange: Exchange, originals: Sequence[Passage], given: Candidate) -> Outcome:
    unit, passage = given.unit, originals[given.rank]
    around = surroundings(passage.content, (unit.start, unit.end))
    text = as_markdown(around, {unit.end: "[1]"})
    draft = Draft(text, (citation(1, passage, (unit.start, unit.end)),), True, SURE)
    return _told(run, exchange, originals, draft)


def where_said(quoted: Sequence[Candidate], originals: Sequence[Passage], language: str) -> Draft:
    """Document and section or page of what was quoted, and what stands there; where nothing was, nothing said it."""
    say = replies(language)
    if not quoted:
        return Draft(say.refusal, (), False, 0.0)
    made = [citation(n, originals[one.rank], (one.unit.start, one.unit.end)) for n, one in enumerate(quoted, 1)]
    told = (
        f"{label_place(at, say)}:\n\n{Excerpt.whole(0, one).cited(at.n)}" for at, one in zip(made, quoted, strict=True)
    )
    return Draft("\n\n".join(told), tuple(made), True, SURE)


async def _extreme(
    run: Run,
    exchange: Exchange,
    originals: Sequence[Passage],
    found: Sequence[Candidate],
    wish: LastAnswerWish,
    spoken: Sequence[str],
) -> Outcome:
    """By the numbers of what was listed or compared, else by a sentence that says it."""
    items = _items(run)
    if len(items) < FEWEST:
        return await fast(run)
    chosen = find_extreme(found, items, wish, spoken)
    stated = None if chosen else find_stated(found, items, wish, spoken)
    chosen = chosen or ((stated,) if stated else ())
    if chosen:
        cited = [
            (citation(n, originals[one.rank], (one.unit.start, one.unit.end)), one) for n, one in enumerate(chosen, 1)
        ]
        text = "\n\n".join(Excerpt.whole(0, one).cited(made.n) for made, one in cited)
        draft = Draft(text, tuple(made for made, _ in cited), True, CONFIDENCE)
        return _told(run, exchange, originals, draft, None if stated else "computed")
    refused = not_said_of(items, (_as_typed(run.question.text, wish.word),), run.plan.language)
    return _told(run, exchange, originals, await advise(run, refused, originals))


def _told(
    run: Run, exchange: Exchange, originals: Sequence[Passage], draft: Draft, origin: Origin | None = None
) -> Outcome:
    run.emit(SourcesFound(tuple(originals)))
    run.emit(reading(len(originals)))
    run.emit(Token(draft.text))
    return Outcome(
        draft, "extractive", tuple(originals), coverage=coverage_of(len(originals), len(originals)), origin=origin,
        more={"continues": str(exchange.answer.id), "original_sources": len(originals)},
    )  # fmt: skip


def _as_typed(message: str, word: str) -> str:
    """A folded word of the message, or several, as they are written there."""
    written, size = message.split(), len(word.split())
    runs = (" ".join(written[at : at + size]).strip("?!.,;:") for at in range(len(written)))
    return next((one for one in runs if fold(one) == word), word)
