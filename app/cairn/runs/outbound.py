"""What a run lets out: text that a model wrote passes cairn/language/outbound.py, in events and in the answer.

While it is written, addresses may stay that stand in any source told so far; in the answer, those of the sources it cites.
Quotations and our own words keep their addresses, since they are the documents'; but an image in them becomes a link, and
tags are shown as text, so that a client loads nothing by showing them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from cairn.domain.answer import Answer, Citation
from cairn.domain.event import Progress, SourcesFound, StepEvent, Token
from cairn.domain.passage import Passage
from cairn.language.links import Known, known
from cairn.language.outbound import INSTEAD, Outbound, filtered, without_links_inside
from cairn.runs.context import Record, Report

NO_MODEL: Final = frozenset({"extractive", "fixed", "sql", "graph"})
"""Answerers whose words are ours, or quotations."""


@dataclass(slots=True)
class OutboundEvents:
    """The events of a run as they may be shown. Text is held back while it may become a link; any other event, and `end`,
    let it go. `by_model`: whether there is a model that may have written it."""

    record: Record
    report: Report
    by_model: bool
    _sources: list[Passage] = field(default_factory=list)
    _known: tuple[int, Known] = (-1, Known())
    _text: Outbound = field(init=False)

    def __post_init__(self) -> None:
        self._text = Outbound(lambda: self._told() if self.by_model else None)

    def __call__(self, event: StepEvent) -> None:
        if isinstance(event, Token):
            self._say(self._text.feed(event.text))
            return
        self.end()
        if isinstance(event, SourcesFound):
            self._sources += event.passages
        elif isinstance(event, Progress):
            event = replace(
                event,
                message=without_links_inside(event.message, self._told()),
                detail=without_links_inside(event.detail, self._told()),
            )
        self.report(event)

    def end(self) -> None:
        """Show what is held back."""
        self._say(self._text.end())

    def _say(self, text: str) -> None:
        if text:
            self.report(Token(text))

    def _told(self) -> Known:
        """What the run was told so far."""
        passages = [*(p for item in self.record.searches for p in item.result.passages), *self._sources]
        if self._known[0] != len(passages):
            self._known = len(passages), known([self.record.question.text, *texts_of(passages)])
        return self._known[1]


def texts_of(passages: Iterable[Passage]) -> list[str]:
    """What a model is told of passages."""
    return [text for passage in passages for text in (passage.content, passage.title, passage.external_id)]


def cited_texts(citations: Sequence[Citation], read: Iterable[Passage]) -> Known:
    """The sources that are cited, of those that were read."""
    cited = {citation.passage_id for citation in citations}
    return known(
        [*(one.quote for one in citations), *texts_of(passage for passage in read if passage.passage_id in cited)]
    )


def let_out(record: Record, answer: Answer) -> Answer:
    """The answer without addresses that no cited source has; what is told besides it (the route, what is missing, what the
    check found) without those that nothing the run has read has."""
    read = [*(p for item in record.searches for p in item.result.passages), *answer.sources]
    sources = None if answer.route["answerer"] in NO_MODEL else cited_texts(answer.citations, read)
    text, moved = filtered(answer.answer, sources)
    told = known([record.question.text, *texts_of(read)])

    def plain(value: Any) -> Any:
        return without_links_inside(value, told)

    grounding, failure = answer.grounding, answer.model_failure
    if grounding is not None:
        sentences = tuple(
            replace(one, start=moved(one.start), end=moved(one.end), issues=plain(one.issues))
            for one in grounding.sentences
        )
        grounding = replace(grounding, sentences=sentences, issues=plain(grounding.issues))
    return replace(
        answer,
        answer=text if text.strip() or not answer.answer.strip() else INSTEAD,
        insufficiencies=plain(answer.insufficiencies),
        degraded=plain(answer.degraded),
        model_failure=failure and replace(failure, details=plain(failure.details)),
        route=plain(answer.route),
        grounding=grounding,
    )
