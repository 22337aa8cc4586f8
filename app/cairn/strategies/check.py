"""Checking a generated answer, and what to tell the model, or the reader, about what its sources do not support."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from cairn.answer.ground.check import ground
from cairn.domain.answer import Draft, Grounding
from cairn.domain.passage import Passage
from cairn.errors import CairnError
from cairn.language.outbound import without_links
from cairn.runs.context import Run
from cairn.runs.outbound import cited_texts
from cairn.settings import GroundSettings, Settings

SURE_ENOUGH: Final = 0.7
"""Retrieval confidence from which a simple question's answer is checked without a model."""
DISCLOSED: Final = 5
"""Unsupported sentences that an answer names."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A generated draft with its check; `grounding` is None where checking is switched off or there is nothing to check."""

    draft: Draft
    grounding: Grounding | None

    @property
    def refuted(self) -> bool:
        return self.grounding is not None and self.grounding.grounded is False

    @property
    def score(self) -> float:
        """For comparing attempts: an answer beats none, a checked one an unchecked one."""
        if not self.draft.found:
            return -1.0
        return 0.0 if self.grounding is None or self.grounding.score is None else self.grounding.score


def check_settings(settings: Settings) -> GroundSettings:
    """The one place where the check is switched: `ground`, and the two keys of `rag.agenticRetrieval` that mean the same."""
    agentic, own = settings.rag.agentic_retrieval, settings.ground
    return own.model_copy(
        update={
            "enabled": own.enabled and agentic.hallucination_check_enabled,
            "strict": own.strict or agentic.strict_hallucination_check,
        }
    )


def facts_as_sources(facts: Sequence[str]) -> tuple[Passage, ...]:
    """Statements that an answer may be compared with, beside passages; never cited, since no document holds them."""
    nowhere = UUID(int=0)
    return tuple(
        Passage(nowhere, nowhere, "", "", fact, 0, len(fact), None, (), len(fact) // 4 + 1, 0, "", "text/plain", {})
        for fact in facts
    )


async def check(run: Run, draft: Draft, sources: Sequence[Passage], confidence: float) -> Checked:
    """Never fails: a check that does not work is reported in the grounding."""
    settings = check_settings(run.settings)
    draft = replace(
        draft, text=without_links(draft.text, cited_texts(draft.citations, sources))
    )  # as it will be let out
    if not settings.enabled or not draft.found:
        return Checked(draft, None)
    simple = run.plan.complexity.level == "SIMPLE" and confidence >= SURE_ENOUGH
    chat = run.deps.chat and run.record.metered("ground", run.deps.chat, run.settings)
    began = time.perf_counter()
    try:
        found = await ground(
            draft.text, sources, embedder=run.deps.judge, chat=chat, settings=settings, skip_model=simple
        )
    except CairnError as error:
        problem = f"the answer could not be checked ({error.code}: {error.detail})"
        found = Grounding(None, None, None, degraded=(problem,))
    run.record.spent("ground", began)
    return Checked(draft, found)


def note_attempt(run: Run, attempt: int, checked: Checked) -> None:
    """Keep what came of an attempt for the trace: numbers, no words, since those may be of a document that goes."""
    grounding = checked.grounding
    run.record.attempts.append(
        {
            "attempt": attempt,
            "found": checked.draft.found,
            "grounded": grounding.grounded if grounding else None,
            "groundedness_score": grounding.score if grounding else None,
            "fast_score": grounding.fast_score if grounding else None,
            "layer": grounding.layer if grounding else None,
            "unsupported": len(unsupported_sentences(checked)),
        }
    )


def unsupported_sentences(checked: Checked) -> list[str]:
    """Sentences of the answer that its sources do not support."""
    if checked.grounding is None:
        return []
    text = checked.draft.text
    return [text[item.start : item.end] for item in checked.grounding.sentences if not item.supported]


def feedback(checked: Checked) -> tuple[str, ...]:
    """What the next attempt is told about this one."""
    assert checked.grounding is not None
    text = checked.draft.text
    said = [
        f"{text[item.start : item.end]} ({'; '.join(item.issues) or 'no source states this'})"
        for item in checked.grounding.sentences
        if not item.supported
    ]
    return tuple(dict.fromkeys((*said, *checked.grounding.issues))) or (text,)


def disclosure(checked: Checked) -> tuple[str, ...]:
    """What the reader is told of an answer that is not, or not wholly, supported."""
    sentences = unsupported_sentences(checked)
    told = [f"Not supported by the sources: {sentence}" for sentence in sentences[:DISCLOSED]]
    if len(sentences) > DISCLOSED:
        told.append(f"{len(sentences) - DISCLOSED} further sentences are not supported either.")
    if not told and checked.refuted:
        told.append("The sources do not support this answer.")
    return tuple(told)
