"""The answerer without a model: it picks sentences of the passages, orders them, and says when none answers.

Whatever it says is quoted verbatim, so its answers need no check for groundedness; what can go wrong is the choice, and
that is what `confidence` is about.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Final

import numpy as np

from app.answer.candidates import (
    Candidate,
    Evidence,
    Terms,
    candidates,
    evidence,
    question_terms,
)
from app.answer.cite import citation
from app.answer.refusal import refusal
from app.domain.answer import Citation, Draft
from app.domain.passage import Passage
from app.language.identify import likely_language
from app.language.lexicon import DEFAULT
from app.language.sentences import Kind, Span
from app.providers.protocols import Embedder, Vectors
from app.settings import AnswerSettings

EMBEDDED: Final = 16
"""Sentences embedded at most, best by words first. Measured: 16 chosen from 43 rank the answer as well as all 43 do;
each costs about 8 ms of CPU."""

SCORE_WEIGHTS: Final = (0.6, 0.5, 0.5, 0.1, 0.1)
"""Cosine, idf share in the sentence, idf share with surroundings, kind asked for, prior of the passage's rank."""

ENOUGH: Final = 0.35
"""Probability from which the documents are taken to answer."""

RELATIVE: Final = 0.75
"""Share of the best sentence's score that a further one must reach."""

DIVERSITY: Final = 0.3
"""Weight of unlikeness to what is chosen already, in maximal marginal relevance (Carbonell and Goldstein 1998)."""

REPEATS: Final = 0.93
"""Cosine from which a sentence says what another one said."""


@dataclass(frozen=True, slots=True)
class _Scored:
    candidate: Candidate
    evidence: Evidence
    cosine: float
    score: float


async def extract(
    question: str,
    passages: Sequence[Passage],
    embedder: Embedder,
    settings: AnswerSettings,
    *,
    first: int = 1,
    known: str = "",
    enough: float = ENOUGH,
) -> Draft:
    """An answer of at most `settings.max_sentences` sentences, `Text. [1] Text. [2]`, each quoted at its span.

    Where nothing answers, `found` is False and `insufficiencies` say what was missing. `confidence` is the probability,
    calibrated on public question sets with MiniLM, that the passages hold the answer; below `enough` they do not.
    `first` is the number of the first citation. `known` was said before: sentences that stand in it are not said again.
    Raises ProviderError.
    """
    found = _unsaid(candidates(passages), known)
    terms = question_terms(question, found)
    if not found or not terms.idf:
        return not_found(question, passages, terms)
    shortlist = _shortlist(found, evidence(question, terms, found))
    vectors = await embedder.embed([question, *(c.in_context for c, _ in shortlist)])
    cosines = vectors[1:] @ vectors[0]
    scored = [_score(c, e, float(cosine)) for (c, e), cosine in zip(shortlist, cosines, strict=True)]
    best = max(scored, key=lambda s: s.score)
    confidence = probability(best.evidence, best.cosine, terms, english=likely_language(question) == DEFAULT)
    if confidence < enough:
        return not_found(question, passages, terms, confidence)
    chosen = _choose(scored, vectors[1:], settings.max_sentences)
    return _draft([s.candidate for s in chosen], passages, terms, confidence, first)


def has_unsaid(passages: Sequence[Passage], known: str) -> bool:
    """Whether there is a sentence in the passages that does not stand in `known`."""
    return bool(_unsaid(candidates(passages), known))


def _unsaid(found: list[Candidate], known: str) -> list[Candidate]:
    said = _WHITE.sub(" ", known)
    return [candidate for candidate in found if _WHITE.sub(" ", candidate.text) not in said] if said else found


def _shortlist(found: Sequence[Candidate], spoken: Sequence[Evidence]) -> list[tuple[Candidate, Evidence]]:
    pairs = list(zip(found, spoken, strict=True))
    pairs.sort(key=lambda pair: -(pair[1].idf_around + 0.2 * pair[1].idf_direct + 0.05 / (1 + pair[0].rank)))
    return pairs[:EMBEDDED]


def _score(candidate: Candidate, spoken: Evidence, cosine: float) -> _Scored:
    fits = 0.5 if spoken.fits is None else float(spoken.fits)
    features = (cosine, spoken.idf_direct, spoken.idf_around, fits, 1 / (1 + candidate.rank))
    return _Scored(candidate, spoken, cosine, sum(w * f for w, f in zip(SCORE_WEIGHTS, features, strict=True)))


# --- does it answer? ------------------------------------------------------------------------------------------------


def probability(spoken: Evidence, cosine: float, terms: Terms, *, english: bool) -> float:
    """Logistic regression: how probably the best sentence belongs to an answer.

    Fitted to questions with their own paragraph among five (answerable) and to questions of other sets, other domains
    and the same domain without the paragraph (unanswerable), in four languages. MiniLM's cosine counts for less where
    the question is not English.
    """
    length = min(len(terms.idf), 12)
    logit = -8.1 - 3.6 * english + (11.0 if english else 3.0) * cosine + 7.9 * spoken.around
    logit += 0.44 * length - 0.75 * min(len(terms.missing), 3)
    return 1 / (1 + math.exp(-logit))


def not_found(question: str, passages: Sequence[Passage], terms: Terms | None = None, confidence: float = 0.0) -> Draft:
    """The draft that says plainly that the passages do not answer, and what is missing in them."""
    if not passages:
        reasons = ["No passage was found for this question."]
    else:
        reasons = [
            f"None of the {len(passages)} passages found answers this question."
            if len(passages) > 1
            else "The one passage found does not answer this question."
        ]
    if terms and terms.missing:
        reasons.append("Not mentioned in them: " + ", ".join(terms.missing) + ".")
    return Draft(refusal(question), (), False, confidence, tuple(reasons))


# --- choosing and writing -------------------------------------------------------------------------------------------


def _choose(scored: Sequence[_Scored], vectors: Vectors, limit: int) -> list[_Scored]:
    """Maximal marginal relevance among the sentences that come near the best one."""
    floor = RELATIVE * max(s.score for s in scored)
    open_ = [i for i, s in enumerate(scored) if s.score >= floor]
    likeness = np.clip(vectors @ vectors.T, 0, 1)
    chosen: list[int] = []
    while open_ and len(chosen) < limit:

        def marginal(i: int) -> float:
            return scored[i].score - DIVERSITY * max((float(likeness[i, j]) for j in chosen), default=0.0)

        chosen.append(max(open_, key=marginal))
        open_ = [i for i in open_ if i not in chosen and likeness[i, chosen[-1]] < REPEATS]
    return [scored[i] for i in chosen]


@dataclass(frozen=True, slots=True)
class _Piece:
    """One quotation: a sentence, or neighbouring sentences."""

    rank: int
    span: Span
    kind: Kind


def _pieces(chosen: Sequence[Candidate], passages: Sequence[Passage]) -> list[_Piece]:
    """By rank of the passage, then position; sentences with nothing but white space between them become one."""
    pieces: list[_Piece] = []
    for candidate in sorted(chosen, key=lambda c: (c.rank, c.unit.start)):
        unit = candidate.unit
        last = pieces[-1] if pieces else None
        if last and last.rank == candidate.rank and last.kind == unit.kind == "prose":
            gap = passages[last.rank].content[last.span[1] : unit.start]
            if gap.isspace() and "\n\n" not in gap:
                pieces[-1] = _Piece(last.rank, (last.span[0], unit.end), "prose")
                continue
        pieces.append(_Piece(candidate.rank, (unit.start, unit.end), unit.kind))
    return pieces


_WHITE = re.compile(r"\s+")


def _shown(quote: str, kind: Kind, n: int) -> str:
    """The quote as it reads in the answer: hard line breaks of prose undone, code kept as it is."""
    if kind == "code":
        return f"```\n{quote}\n```\n[{n}]"
    return f"{'- ' if kind == 'item' else ''}{_WHITE.sub(' ', quote)} [{n}]"


def requoted(cited: Sequence[Citation]) -> tuple[str, tuple[Citation, ...]]:
    """Quotations as running text, numbered anew from 1, and the citations with these numbers."""
    renumbered = tuple(replace(item, n=n) for n, item in enumerate(cited, start=1))
    return " ".join(f"{_WHITE.sub(' ', item.quote)} [{item.n}]" for item in renumbered), renumbered


def _draft(
    chosen: Sequence[Candidate], passages: Sequence[Passage], terms: Terms, confidence: float, first: int
) -> Draft:
    missing = (f"Not mentioned in the passages found: {', '.join(terms.missing)}.",) if terms.missing else ()
    return replace(drafted(chosen, passages, first), confidence=confidence, insufficiencies=missing)


def drafted(chosen: Sequence[Candidate], passages: Sequence[Passage], first: int = 1) -> Draft:
    """Sentences of the passages as an answer, in the order of the passages; the number of the first citation is `first`."""
    pieces = _pieces(chosen, passages)
    cited = tuple(citation(n, passages[piece.rank], piece.span) for n, piece in enumerate(pieces, start=first))
    text = ""
    for piece, made in zip(pieces, cited, strict=True):
        before = "prose" if made.n == first else pieces[made.n - first - 1].kind
        gap = " " if piece.kind == before == "prose" else "\n"
        text += (gap if text else "") + _shown(made.quote, piece.kind, made.n)
    return Draft(text, cited, True, 1.0)


# --- answers to the parts of a question, made one ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AnsweredPart:
    """A sub-question and what was extracted for it; citations of all parts are numbered through."""

    question: str
    draft: Draft


def join_parts(parts: Sequence[AnsweredPart]) -> Draft:
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


def repeats_only(draft: Draft, said: Sequence[Citation]) -> bool:
    """Whether it quotes only what was quoted before."""
    places = {(cited.document_id, cited.start, cited.end) for cited in said}
    return bool(draft.citations) and all(
        (cited.document_id, cited.start, cited.end) in places for cited in draft.citations
    )
