"""What a question names that stands nowhere: neither in the passages that were read nor in the documents that were searched."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from cairn.answer.missing import Subject, subjects, unmentioned
from cairn.domain.passage import Passage
from cairn.errors import CairnError
from cairn.language.lexicon import any_of
from cairn.runs.context import Run

_OPEN_RANGE: Final = re.compile(
    rf"\b{any_of(lambda one: (*one.filters.between, *one.filters.since, *one.filters.after, *one.filters.before))}\b",
    re.IGNORECASE,
)
"""Bounds of a period need not stand in a text about it."""


async def find_absent(run: Run, text: str, passages: Sequence[Passage], *, translated: bool = False) -> tuple[str, ...]:
    """Names of the question that refuse it, as it spells them. A comparison is refused where nothing of what it compares
    stands anywhere, one about several years where none of them does. That the documents could not be looked through is
    reported, and refuses nothing. `translated`: most passages are in another language, where names are spelled otherwise, so only
    years, numbers and files can be missed."""
    known = (run.question.collection, *run.plan.documents)
    named = [
        one
        for one in subjects(text, run.plan.language, known)
        if not _is_bound(one, text) and not (translated and one.kind == "name")
    ]
    unread = unmentioned(named, passages)
    if not unread:
        return ()
    patterns = sorted({pattern for one in unread for pattern in one.words})
    try:
        there = await run.deps.library.mentioned(run.question.collection, patterns)
    except CairnError as error:
        run.record.degraded.append(
            f"whether documents mention what is asked about could not be checked: {error.detail}"
        )
        return ()
    absent = [one for one in unread if there.isdisjoint(one.words)]
    return tuple(
        one.text for one in absent if _refuses(one, absent, named, run.plan.classification.type == "COMPARATIVE")
    )


def _is_bound(one: Subject, text: str) -> bool:
    return one.kind == "year" and _OPEN_RANGE.search(text) is not None


def _refuses(one: Subject, absent: Sequence[Subject], named: Sequence[Subject], compares: bool) -> bool:
    """One of several years, numbers or compared names is a part of the question; a name that is asked about is all of it."""
    if one.kind in ("name", "file") and not compares:
        return True
    return all(other in absent for other in named if other.kind == one.kind)
