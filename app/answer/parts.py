"""Answers to the parts of a question, made one. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from app.domain.answer import Citation, Draft


@dataclass(frozen=True, slots=True)
class Part:
    """A sub-question and what was extracted for it; citations of all parts are numbered through."""

    question: str
    draft: Draft


def joined(parts: Sequence[Part]) -> Draft:
    """One paragraph for each part that is answered; the others stand in `insufficiencies`.

    `confidence` is the mean over all parts, an unanswered one counting 0. At least one part is answered.
    """
    answered = [part for part in parts if part.draft.found]
    missing = [part for part in parts if not part.draft.found]
    reasons = dict.fromkeys(reason for part in answered for reason in part.draft.insufficiencies)
    return Draft(
        text="\n\n".join(part.draft.text for part in answered),
        citations=tuple(citation for part in answered for citation in part.draft.citations),
        found=True,
        confidence=fmean(part.draft.confidence if part.draft.found else 0.0 for part in parts),
        insufficiencies=(*(f"Not answered by the documents: {part.question}" for part in missing), *reasons),
    )


def repeats(draft: Draft, said: Sequence[Citation]) -> bool:
    """Whether it quotes only what was quoted before."""
    places = {(cited.document_id, cited.start, cited.end) for cited in said}
    return bool(draft.citations) and all(
        (cited.document_id, cited.start, cited.end) in places for cited in draft.citations
    )
