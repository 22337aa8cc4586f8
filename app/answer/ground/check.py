"""Is an answer supported by its sources? Words first, then a model, or sentence by sentence without one.

Nothing here fails open: where a layer fails, the next one decides and `degraded` says so; where nothing can decide, the
verdict is None, never True.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from app.answer.cite import Quotation, missing_quotations, without_marks
from app.answer.ground.evidence import SentenceEvidence, Sources, gather_evidence, read_sources
from app.answer.ground.score import combined, fast_score, foreign_logits, languages_differ, logit, probability
from app.answer.refusal import is_refusal
from app.answer.reply import tidy
from app.domain.answer import Grounding, SentenceSupport
from app.domain.passage import Passage
from app.errors import ProviderError, ProviderResponseError
from app.language.fence import quoted
from app.language.identify import certain_language
from app.language.names import nouns_of
from app.language.sentences import Span, split_sentences
from app.prompts import prompt, prompt_part
from app.providers.protocols import ChatModel, Embedder, Message
from app.providers.reader import storable_json, whole_values, without_thought
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
    nouns, foreign = nouns_of(certain_language(bare)), languages_differ(bare, texts)
    claims, said = [], []
    for start, end in split_sentences(bare):
        sentence = bare[start:end]
        if is_refusal(sentence):  # says what the sources do not cover, as it should
            continue
        sentence = _FRAME.sub("", sentence)
        evidence = gather_evidence(sentence, read, capitals=nouns is None)
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


# --- the model's verdict: the prompt, and reading of what comes back --------------------------------------------------

MODEL_ISSUES: Final = 10
ISSUE_CHARS: Final = 500
CERTAIN: Final = 0.5
"""A verdict and a score on different sides of this contradict each other."""


@dataclass(frozen=True, slots=True)
class Verdict:
    grounded: bool
    score: float
    issues: tuple[str, ...]


async def ask_model(answer: str, sources: Sequence[str], chat: ChatModel, settings: GroundSettings) -> Verdict:
    """Raises ProviderError, also for a reply that is cut off or is no verdict."""
    filled = prompt(
        "ground",
        measure=prompt_part("ground", "strict" if settings.strict else "lenient"),
        sources="\n".join(f"{number}: {quoted(text)}" for number, text in enumerate(sources, start=1)),
        answer=quoted(answer),
    )
    reply = await chat.complete(
        [Message("system", filled.system), Message("user", filled.user)],
        temperature=0.0,
        max_tokens=settings.max_output_tokens,
        timeout=settings.timeout_seconds,
    )
    try:
        return read_verdict(reply.text, cut_off=reply.finish_reason == "length")
    except ValueError as error:
        raise ProviderResponseError(f"{chat.name}: {error}") from None


# --- the reply ------------------------------------------------------------------------------------------------------

_EDGE = r"^[\s*_#>\"'`{,-]*"
_SAYS = re.compile(_EDGE + r"(?:is_)?grounded[\s*_\"'`]*[:=]?[\s*_\"'`]*(yes|no|true|false)\b", re.I | re.M)
_SCORE = re.compile(
    _EDGE + r"(?:groundedness_)?score[\s*_\"'`]*[:=]?[\s*_\"'`]*(-?\d+(?:[.,]\d+)?)\s*(%|/\s*\d+)?", re.I | re.M
)
_ISSUES = re.compile(_EDGE + r"issues[\s*_\"'`]*[:=]?[ \t*_]*", re.I | re.M)
_BULLET = re.compile(r"^[\s*•\-–\"'\[\],]*(?:\d+[.)]\s+)?")
_NONE: Final = frozenset({"", "none", "n/a", "no issues", "none found", "null", "no issue", "-", "]", "[]", "}"})


def read_verdict(reply: str, *, cut_off: bool = False) -> Verdict:
    """Out of GROUNDED, SCORE and ISSUES lines, in any order and dress (thoughts, fences, bold, JSON). Without a score, 1
    or 0. `cut_off`: only the issues may be incomplete.

    Raises ValueError where there is no verdict, two different ones, or one that its own score contradicts: nothing that
    is unclear counts as grounded.
    """
    text = tidy(without_thought(reply))
    text = _as_lines(text)
    said = {found[1].lower() in ("yes", "true") for found in _SAYS.finditer(text)}
    if len(said) != 1:
        raise ValueError("the reply has no verdict" if not said else "the reply has two verdicts")
    grounded = said.pop()
    score = _score(text)
    if score is None:
        if cut_off:
            raise ValueError("the verdict was cut off at the token limit")
        score = 1.0 if grounded else 0.0
    if grounded and score < CERTAIN:
        raise ValueError(f"the reply says grounded with a score of {score:g}")
    return Verdict(grounded, score, _model_issues(text))


def _as_lines(text: str) -> str:
    """A JSON object {"grounded", "score", "issues"} as the lines that were asked for; other text as it is."""
    objects = (value for value in whole_values(text)[0] if isinstance(value, dict))
    data = next((value for value in objects if any("grounded" in name.lower() for name in value)), None)
    if data is None:
        return text
    data = storable_json(data)
    fields = {str(name).lower().removeprefix("is_"): value for name, value in data.items()}
    issues = fields.pop("issues", [])
    lines = [f"{name}: {value}" for name, value in fields.items()]
    listed = issues if isinstance(issues, list) else [issues]
    return "\n".join([*lines, "ISSUES:", *(f"- {issue}" for issue in listed)])


def _score(text: str) -> float | None:
    """0..1; also `80 %`, `8/10`. Raises ValueError for what cannot be a score."""
    found = _SCORE.search(text)
    if not found:
        return None
    value, unit = float(found[1].replace(",", ".")), found[2]
    if unit == "%":
        value /= 100
    elif unit:
        of = float(unit.strip("/ "))
        value = value / of if of else math.nan
    if not 0 <= value <= 1:
        raise ValueError(f"{found[0].strip()[:60]!r} is no score")
    return value


def _model_issues(text: str) -> tuple[str, ...]:
    found = _ISSUES.search(text)
    lines = text[found.end() :].splitlines() if found else []
    issues = []
    for line in lines:
        if _SAYS.match(line) or _SCORE.match(line):
            break
        issue = _BULLET.sub("", line).strip(" \"',]}`")
        if issue.casefold().rstrip(".") not in _NONE:
            issues.append(issue[:ISSUE_CHARS])
    return tuple(issues[:MODEL_ISSUES])
