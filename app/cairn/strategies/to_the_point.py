"""Whether what a model wrote is about what was asked. Every sentence may be in its sources, and speak of another company, another
year or another thing: then it is supported, and no answer (docs/adr/0022-groundedness.md, "To the point").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from cairn.answer.answer_type import read_asked
from cairn.answer.foreign import is_foreign
from cairn.answer.missing import Subject, asked_besides, names_other_years
from cairn.answer.reading import MOST_READ, cut_stretches
from cairn.answer.refusal import not_said_of
from cairn.domain.answer import Citation, Draft
from cairn.domain.passage import Passage
from cairn.errors import ProviderError
from cairn.language.lexicon import replies
from cairn.providers.answer_reader import Stretch
from cairn.runs.context import Run
from cairn.strategies.missing_names import (
    About,
    asks_one_thing,
    beginnings_of,
    find_nowhere,
    named_in,
    quoted_from,
    say_not_mentioned,
    says_any,
)

BESIDE: Final = -4.0
"""Log odds that a stretch answers, below which the reader takes an answer for one about something else (measured: ADR 22)."""
_MARK: Final = re.compile(r"\s?\[\d{1,4}\]")


async def beside_the_point(run: Run, draft: Draft, passages: Sequence[Passage]) -> tuple[str, ...]:
    """What is to be told of a model's answer that may be about something else than what is asked: that what it cites does not
    mention a name or year of the question, that it speaks of other years, or of none of the rest. Empty where it is to the point,
    where nothing is cited, and where no single place has to speak of all. Raises CairnError."""
    text, cited = run.plan.text, quoted_from(draft, passages) if draft.found else []
    if not cited or not asks_one_thing(run, text) or any(is_foreign(run.plan.words_in, one) for one in cited):
        return ()
    named = named_in(run, text)
    sure = [one for one in named if one.sure]
    lacking = About(sure, await beginnings_of(run, sure, cited)).lacking(cited)
    if lacking:
        return say_not_mentioned(run, lacking, await find_nowhere(run, lacking)).insufficiencies
    if not read_asked(text).time and names_other_years(sure, _shown(draft)):
        return (replies(run.plan.language).other_years,)
    return await _beside_the_thing(run, draft, named, cited)


def _shown(draft: Draft) -> str:
    """The answer with what it cites, and what stands above that: a report of 2019 may plan for 2023."""
    lines = (line for one in draft.citations for line in (one.quote, one.title, one.external_id, *one.headings))
    return "\n".join((draft.text, *lines))


async def _beside_the_thing(
    run: Run, draft: Draft, named: Sequence[Subject], cited: Sequence[Passage]
) -> tuple[str, ...]:
    """Of a question for one thing: what is asked of it stands nowhere where the answer was taken from, or the reader finds no
    answer in what is written, nor in what it cites."""
    words = asked_besides(run.plan.text, named)
    if not words or run.plan.subquestions:
        return ()
    if named and not says_any([word for _, word in words], cited):
        return not_said_of([one.text for one in named], [raw for raw, _ in words], run.plan.language).insufficiencies
    reader = run.deps.searcher.reader(run.question.collection)
    if reader is None:
        return ()
    try:
        readings = await reader.read(run.plan.text, _stretches(draft))
    except ProviderError as error:
        run.record.degraded.append(f"whether the answer is to the point could not be read: {error.detail}")
        return ()
    beside = max(one.score for one in readings) < BESIDE
    return (replies(run.plan.language).other_thing,) if beside else ()


def _stretches(draft: Draft) -> list[Stretch]:
    """What the reader reads: each quotation and the answer itself, under the title of what is cited first."""
    quotes = {one.quote: one for one in draft.citations}
    written = _MARK.sub("", draft.text)
    return [
        *(Stretch(_path(one), (one.quote,)) for one in list(quotes.values())[: MOST_READ - 1]),
        *(
            Stretch(_path(draft.citations[0]), tuple(written[unit.start : unit.end] for unit in units))
            for units in cut_stretches(written)
        ),
    ][:MOST_READ]


def _path(cited: Citation) -> str:
    return ". ".join(dict.fromkeys((cited.title, *cited.headings)))
