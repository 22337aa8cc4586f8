"""Is an answer supported by its sources? Words first, then a model, or sentence by sentence without one (A11).

Nothing here fails open: where a layer fails, the next one decides and `degraded` says so; where nothing can decide, the
verdict is None, never True.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from app.answer.ground_evidence import SentenceEvidence, gather
from app.answer.ground_fast import fast_score, languages_differ
from app.answer.ground_foreign import foreign_logits
from app.answer.ground_model import ask_model
from app.answer.ground_score import combined, logit, probability
from app.answer.ground_sources import Sources, read_sources
from app.answer.marks import without_marks
from app.answer.quotes import Quotation, missing_quotations
from app.answer.refusal import is_refusal
from app.domain.answer import Grounding, SentenceSupport
from app.domain.passage import Passage
from app.errors import ProviderError
from app.language.identify import certain_language
from app.language.sentences import Span, split_sentences
from app.providers.protocols import ChatModel, Embedder
from app.settings import GroundSettings

SUPPORTED: Final = 0.5
"""Probability from which a sentence counts as supported; the model was fitted with both classes equally frequent."""
NOT_SUPPORTED: Final = 0.49
"""Highest score of an answer that is not."""
NO_CLAIM: Final = "the answer makes no claim that can be checked"


@dataclass(frozen=True, slots=True)
class _Claim:
    """A sentence of the answer with what speaks for it; `logit` of being supported."""

    span: Span
    evidence: SentenceEvidence
    logit: float


@dataclass(frozen=True, slots=True)
class _Checked:
    """An answer after the deterministic work. `foreign`: its language is not the sources'."""

    claims: tuple[_Claim, ...]
    misquoted: tuple[Quotation, ...]
    foreign: bool
    fast: float | None
    degraded: tuple[str, ...]

    @property
    def score(self) -> float:
        return probability(combined([claim.logit for claim in self.claims]))

    @property
    def objections(self) -> bool:
        """Whether something in it is in no source, or the other way round there, however many words are shared."""
        return bool(self.misquoted) or any(
            e.numbers or e.names or e.turned or e.commands for e in (claim.evidence for claim in self.claims)
        )


async def ground(
    answer: str,
    sources: Sequence[Passage],
    *,
    embedder: Embedder,
    chat: ChatModel | None,
    settings: GroundSettings,
    skip_model: bool = False,
) -> Grounding:
    """The verdict on `answer`, whose citation marks `[n]` do not count; `sources[0]` is number 1 in `sentences`.

    Fast layer: a score of `settings.grounded_from` and more is grounded, unless a number, name, quotation,
    command or negation in the answer is not the sources'; below `settings.not_grounded_below` it is not grounded. It is
    skipped where answer and sources differ in language. Between the two the chat model decides; without one, with
    `skip_model`, or where it fails (which `degraded` tells), the sentences do. Each layer has `sentences`: those that
    claim something. Never raises for what a model does.
    """
    texts = [passage.content for passage in sources]
    if not any(text.strip() for text in texts):
        return Grounding(False, 0.0, "fast", 0.0, ("There are no sources.",))
    checked = await _check(answer, sources, texts, embedder)
    if not checked.claims:
        return Grounding(None, None, None, degraded=(NO_CLAIM,))
    if decided := _fast(checked, answer, settings):
        return decided
    degraded = checked.degraded
    if chat is not None and settings.model_enabled and not skip_model:
        try:
            return await _by_model(checked, answer, texts, chat, settings)
        except ProviderError as error:
            degraded = (
                *degraded, f"groundedness by model failed ({error.code}: {error.detail}): sentences were compared instead",
            )  # fmt: skip
    return _by_sentences(checked, answer, settings, degraded)


# --- layers ---------------------------------------------------------------------------------------------------------


def _fast(checked: _Checked, answer: str, settings: GroundSettings) -> Grounding | None:
    """The rule decides; the score is the sentences', which orders answers better, on the side of the verdict."""
    if checked.fast is None:
        return None
    if checked.fast < settings.not_grounded_below:
        return _grounding(checked, answer, False, min(checked.score, NOT_SUPPORTED), "fast", settings)
    all_supported = all(probability(claim.logit) >= SUPPORTED for claim in checked.claims)
    if checked.fast >= settings.grounded_from and not checked.objections and all_supported:
        return _grounding(checked, answer, True, max(checked.score, SUPPORTED), "fast", settings)
    return None


async def _by_model(
    checked: _Checked, answer: str, texts: Sequence[str], chat: ChatModel, settings: GroundSettings
) -> Grounding:
    """The model's verdict; in strict mode an invented number or quotation outweighs it."""
    verdict = await ask_model(answer, texts, chat, settings)
    invented = bool(checked.misquoted) or any(claim.evidence.numbers for claim in checked.claims)
    grounded = verdict.grounded and not (settings.strict and invented)
    score = min(verdict.score, NOT_SUPPORTED) if verdict.grounded and not grounded else verdict.score
    return _grounding(checked, answer, grounded, score, "model", settings, said=verdict.issues)


def _by_sentences(checked: _Checked, answer: str, settings: GroundSettings, degraded: tuple[str, ...]) -> Grounding:
    """Strict: every single sentence must be supported."""
    if checked.degraded:  # words say nothing here, and vectors were not to be had
        return Grounding(None, None, None, degraded=degraded)
    score = checked.score
    grounded = score >= settings.threshold
    if settings.strict:
        grounded &= not checked.misquoted and all(probability(c.logit) >= SUPPORTED for c in checked.claims)
        score = score if grounded else min(score, NOT_SUPPORTED)
    return _grounding(checked, answer, grounded, score, "sentences", settings, degraded=degraded)


def _grounding(
    checked: _Checked,
    answer: str,
    grounded: bool,
    score: float,
    layer: str,
    settings: GroundSettings,
    *,
    said: tuple[str, ...] = (),
    degraded: tuple[str, ...] | None = None,
) -> Grounding:
    issues = () if grounded and not said and not checked.misquoted else _issues(checked, answer, settings)
    return Grounding(
        grounded,
        round(score, 4),
        layer,  # type: ignore[arg-type]
        None if checked.fast is None else round(checked.fast, 4),
        tuple(dict.fromkeys((*said, *issues))),
        _sentences(checked),
        checked.degraded if degraded is None else degraded,
    )


# --- the deterministic work -----------------------------------------------------------------------------------------

_FRAME = re.compile(
    r"^\W*(?:according to|based on|as stated in|laut|gem[aä](?:ß|ss)|nach|selon|d['’]apr[eè]s|seg[uú]n)\s+"
    r"(?:(?:the|den|der|dem|les?|la|las|los|el)\s+)?(?:(?:provided|given|available|vorliegenden)\s+)?"
    r"(?:sources?|documents?|context|passages?|text|quellen?|dokumenten?|fuentes?|documentos?)\b"
    r"(?:\s+(?:provided|given|fournis|proporcionad[oa]s|\d+))?[,:]?",
    re.IGNORECASE,
)


async def _check(answer: str, sources: Sequence[Passage], texts: Sequence[str], embedder: Embedder) -> _Checked:
    # words are counted in a thread: a long context takes tens of milliseconds, and others wait for the loop
    checked, read = await asyncio.to_thread(_read, answer, sources, texts)
    if not checked.foreign or not checked.claims:
        return checked
    said = [answer[start:end] for start, end in (claim.span for claim in checked.claims)]
    try:
        logits = await foreign_logits(said, [claim.evidence for claim in checked.claims], read, embedder)
    except ProviderError as error:
        problem = f"answer and sources differ in language, and embedding failed ({error.code}): not checked"
        return _Checked(checked.claims, checked.misquoted, True, None, (problem,))
    claims = (_Claim(c.span, c.evidence, value) for c, value in zip(checked.claims, logits, strict=True))
    return _Checked(tuple(claims), checked.misquoted, True, None, ())


def _read(answer: str, sources: Sequence[Passage], texts: Sequence[str]) -> tuple[_Checked, Sources]:
    bare = without_marks(answer)
    titles = [" ".join((p.title, p.external_id, *p.headings)) for p in sources]
    read = read_sources(texts, titles)
    german, foreign = certain_language(bare) == "de", languages_differ(bare, texts)
    claims, said = [], []
    for start, end in split_sentences(bare):
        sentence = bare[start:end]
        if is_refusal(sentence):  # says what the sources do not cover, as it should
            continue
        sentence = _FRAME.sub("", sentence)
        evidence = gather(sentence, read, german=german)
        if evidence.words:
            claims.append(_Claim((start, end), evidence, logit(evidence)))
            said.append(sentence)
    misquoted = () if foreign else tuple(missing_quotations(bare, texts))
    fast = None if foreign else fast_score("\n".join(said), texts)
    return _Checked(tuple(claims), misquoted, foreign, fast, ()), read


def _sentences(checked: _Checked) -> tuple[SentenceSupport, ...]:
    return tuple(
        SentenceSupport(
            *claim.span,
            score=round(probability(claim.logit), 4),
            supported=probability(claim.logit) >= SUPPORTED,
            sources=claim.evidence.supporters,
            issues=_problems(claim.evidence, foreign=checked.foreign),
        )
        for claim in checked.claims
    )


MOST_ISSUES: Final = 10
SHOWN: Final = 160
"""Characters of a sentence in an issue."""


def _issues(checked: _Checked, answer: str, settings: GroundSettings) -> tuple[str, ...]:
    """What to tell the model that answers again, weakest sentence first."""
    found = [f"Not a quotation from the sources: “{quotation.text}”" for quotation in checked.misquoted]
    for claim in sorted(checked.claims, key=lambda claim: claim.logit):
        problems = _problems(claim.evidence, foreign=checked.foreign)
        if problems or probability(claim.logit) < SUPPORTED:
            sentence = " ".join(answer[claim.span[0] : claim.span[1]].split())
            shown = sentence if len(sentence) <= SHOWN else sentence[:SHOWN] + "…"
            found.append(f"“{shown}”: {'; '.join(problems) or 'not supported by the sources'}")
    return tuple(found[:MOST_ISSUES])


def _problems(evidence: SentenceEvidence, *, foreign: bool) -> tuple[str, ...]:
    problems = [f"the number {number} is in no source" for number in evidence.numbers]
    problems += [f"{name} is in no source" for name in evidence.names if not foreign]
    problems += [f"{command} is in no source" for command in evidence.commands]
    problems += [evidence.turned] if evidence.turned else []
    return tuple(problems)
