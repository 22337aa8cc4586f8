"""What a run says in words that it is doing, with its numbers: "Reading 8 passages", "Searching for 'leave'"."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from cairn.domain.event import Progress, StepEvent
from cairn.domain.passage import Passage

QUERY_CHARS: Final = 80
"""Of a query that is named."""
NAMED: Final = 3
"""Queries that are named; of more the number is told."""


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def searching(queries: Sequence[str], percent: int = 40, *, documents: Iterable[UUID] = ()) -> Progress:
    """`documents`: those whose words the queries may have."""
    named = ", ".join(f"'{_cut(text)}'" for text in queries[:NAMED])
    more = f" and {len(queries) - NAMED} more" if len(queries) > NAMED else ""
    said, numbers = f"Searching for {named}{more}", {"queries": len(queries)}
    return Progress("retrieve", percent, said, documents=tuple(documents), numbers=numbers)


def reading(passages: int, percent: int = 85, *, of_documents: int = 0) -> Progress:
    within = f" of {counted(of_documents, 'document')}" if of_documents else ""
    return Progress(
        "generate", percent, f"Reading {counted(passages, 'passage')}{within}", numbers={"passages": passages}
    )


def checking(sources: int, percent: int = 95) -> Progress:
    said = f"Checking the answer against {counted(sources, 'source')}"
    return Progress("hallucination", percent, said, numbers={"sources": sources})


def asking_again(unsupported: int, percent: int = 95) -> Progress:
    """After an answer with so many sentences that no source supports."""
    what = counted(unsupported, "sentence") if unsupported else "the answer"
    said = f"Asking again because the sources do not support {what}"
    return Progress("retry", percent, said, numbers={"unsupported": unsupported})


def silent(seconds: float, percent: int) -> Progress:
    """That the chat model says nothing; `percent` as it was."""
    said = f"The chat model has not answered for {seconds:g} s"
    return Progress("silent", percent, said, numbers={"seconds": round(seconds)})


def grading(passages: int, percent: int = 55) -> Progress:
    return Progress("grade", percent, f"Grading {counted(passages, 'passage')}", numbers={"passages": passages})


def never_back(report: Callable[[StepEvent], None]) -> Callable[[StepEvent], None]:
    """The same, where a step that comes again after a later one is told with as much as was reached."""
    reached = 0

    def tell(event: StepEvent) -> None:
        nonlocal reached
        if isinstance(event, Progress):
            reached = max(reached, event.percent)
            event = replace(event, percent=reached)
        report(event)

    return tell


def documents_of(passages: Iterable[Passage]) -> tuple[UUID, ...]:
    return tuple({passage.document_id for passage in passages if passage.url is None})


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= QUERY_CHARS else f"{text[:QUERY_CHARS]}…"
