"""Is an answer supported by its sources? Words first, then a model, or sentence by sentence without one.

What a sentence says against its sources (a number, unit, date, name or negation that is not theirs, an echo of an order to
the model) outweighs whatever a model says, in every mode. Nothing here fails open: where a layer fails, the next one decides
and `degraded` says so; where nothing can decide, the verdict is None, never True. A verdict, its score, its reasons and its
sentences never contradict each other.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from cairn.answer.cite import Quotation, missing_quotations, quotations, without_marks
from cairn.answer.ground.evidence import SentenceEvidence, Sources, gather_evidence, read_sources
from cairn.answer.ground.score import combined, fast_score, foreign_logits, languages_differ, logit, probability
from cairn.answer.ground.verdict import Verdict, ask_model
from cairn.answer.refusal import is_refusal
from cairn.domain.answer import Grounding, ProblemKind, SentenceSupport
from cairn.domain.passage import Passage
from cairn.errors import ProviderError
from cairn.language.identify import certain_language
from cairn.language.instructions import is_instruction, without_instructions
from cairn.language.names import QUOTED, nouns_of
from cairn.language.sentences import Span, split_sentences
from cairn.language.tokens import terms
from cairn.providers.protocols import ChatModel, Embedder
from cairn.settings import GroundSettings

SUPPORTED: Final = 0.5  # measured: tests/unit/test_edges_ground.py
"""Probability from which a sentence counts as supported; the model was fitted with both classes equally frequent."""
GROUNDED_FROM: Final = 0.8  # measured: tests/unit/test_edges_ground.py
"""Score of the fast layer from which an answer is grounded (spec of DocuChat)."""
NOT_GROUNDED_BELOW: Final = 0.3  # measured: tests/unit/test_edges_ground.py
"""Score of the fast layer below which it is not."""
CLEARLY_NOT: Final = 0.2  # measured: tests/unit/test_edges_ground.py
"""Score of the sentences below which few shared words settle that an answer is not supported; what a sentence with an
invented number has at most."""
BELOW_TOP_K: Final = 0.01  # measured: tests/unit/test_edges_ground.py
"""By how much the score of an answer that is not grounded stays below the threshold."""
CHECKED_WHOLE: Final = 20  # bound: tests/unit/test_edges_ground.py
"""Sources; of more, as summaries have them, only those that are cited are compared with the answer."""
NO_CLAIM: Final = "the answer makes no claim that can be checked"
NO_SOURCES: Final = "There are no sources."
UNSTATED: Final[tuple[tuple[ProblemKind, str]]] = (("unstated", "not supported by the sources"),)


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
        return any(_problems(claim.evidence, foreign=self.foreign) for claim in self.claims)


@dataclass(frozen=True, slots=True)
class _Decision:
    """What a layer came to. `reasons`: what a model said against the answer."""

    grounded: bool
    score: float
    layer: Literal["fast", "model", "sentences"]
    reasons: tuple[str, ...] = ()


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

    Fast layer: a score of `GROUNDED_FROM` and more is grounded where every sentence is supported and nothing
    speaks against one; below `NOT_GROUNDED_BELOW` it is not grounded, unless its sentences are near to being
    supported. It is skipped where answer and sources differ in language. Between the two the chat model decides, but for
    what the sources themselves refute; without one, with `skip_model`, or where it fails (which `degraded` tells), the
    sentences do. What a source orders a model to say is no evidence. Each layer has `sentences`: those that claim
    something. Never raises for what a model does.
    """
    texts = [passage.content for passage in sources]
    if not any(text.strip() for text in texts):
        unheld = tuple(
            SentenceSupport(*span, 0.0, False, issues=(NO_SOURCES,), kinds=("unstated",))
            for span in split_sentences(without_marks(answer))
        )
        return Grounding(False, 0.0, "fast", 0.0, (NO_SOURCES,), unheld)
    checked, evident = await _check(answer, sources, texts, embedder)
    if not checked.claims:
        return Grounding(None, None, None, degraded=(NO_CLAIM,))
    degraded, decided = checked.degraded, _fast(checked, settings)
    if decided is None and chat is not None and settings.model_enabled and not skip_model:
        try:
            decided = _by_model(checked, await ask_model(answer, evident, chat, settings), settings)
        except ProviderError as error:
            degraded = (
                *degraded, f"groundedness by model failed ({error.code}: {error.detail}): sentences were compared instead",
            )  # fmt: skip
    if decided is None and checked.degraded:  # words say nothing here, and vectors were not to be had
        return Grounding(None, None, None, degraded=degraded)
    return _grounding(checked, answer, decided or _by_sentences(checked, settings), settings, degraded)


# --- layers ---------------------------------------------------------------------------------------------------------


def _fast(checked: _Checked, settings: GroundSettings) -> _Decision | None:
    """The rule decides; the score is the sentences', which orders answers better, on the side of the verdict."""
    if checked.fast is None:
        return None
    if checked.fast < NOT_GROUNDED_BELOW and checked.score < CLEARLY_NOT:
        return _Decision(False, checked.score, "fast")
    all_supported = all(probability(claim.logit) >= SUPPORTED for claim in checked.claims)
    if checked.fast >= GROUNDED_FROM and all_supported and not _refuted(checked, settings):
        return _Decision(True, checked.score, "fast")
    return None


def _by_model(checked: _Checked, verdict: Verdict, settings: GroundSettings) -> _Decision:
    """The model's verdict; what the sources refute outweighs its yes."""
    if verdict.grounded and _refuted(checked, settings):
        return _Decision(False, min(verdict.score, checked.score), "model", verdict.issues)
    return _Decision(verdict.grounded, verdict.score, "model", verdict.issues)


def _by_sentences(checked: _Checked, settings: GroundSettings) -> _Decision:
    """Strict: every single sentence must be supported."""
    grounded = checked.score >= settings.threshold and not _refuted(checked, settings)
    if settings.strict:
        grounded &= all(probability(c.logit) >= SUPPORTED for c in checked.claims)
    return _Decision(grounded, checked.score, "sentences")


def _refuted(checked: _Checked, settings: GroundSettings) -> bool:
    return checked.objections or (settings.strict and bool(checked.misquoted))


def _grounding(
    checked: _Checked, answer: str, decided: _Decision, settings: GroundSettings, degraded: tuple[str, ...]
) -> Grounding:
    """The verdict with sentences, score and reasons that agree with it: of a grounded answer every sentence is supported and
    no reason speaks against it, of one that is not, one sentence at least is not and a reason says why."""
    sentences = _judged(checked, answer, decided)
    return Grounding(
        decided.grounded,
        _on_side(decided.score, decided.grounded, settings.threshold),
        decided.layer,
        None if checked.fast is None else round(checked.fast, 4),
        () if decided.grounded else _issues(checked, answer, sentences, decided.reasons),
        sentences,
        degraded,
    )


def _on_side(score: float, grounded: bool, threshold: float) -> float:
    return round(max(score, threshold) if grounded else max(0.0, min(score, threshold - BELOW_TOP_K)), 4)


# --- the deterministic work -----------------------------------------------------------------------------------------

_FRAME = re.compile(
    r"^\W*(?:according to|based on|as stated in|laut|gem[aä](?:ß|ss)|nach|selon|d['’]apr[eè]s|seg[uú]n)\s+"
    r"(?:(?:the|den|der|dem|les?|la|las|los|el)\s+)?(?:(?:provided|given|available|vorliegenden)\s+)?"
    r"(?:sources?|documents?|context|passages?|text|quellen?|dokumenten?|fuentes?|documentos?)\b"
    r"(?:\s+(?:provided|given|fournis|proporcionad[oa]s|\d+))?[,:]?",
    re.IGNORECASE,
)
_LEFT_OUT: Final = re.compile(r"\A(?:… )?\(\+\d{1,6}\)\Z")
"""How many items of a list, or rows of a table, are not shown (answer/shown.py): no source says that."""


async def _check(
    answer: str, sources: Sequence[Passage], texts: Sequence[str], embedder: Embedder
) -> tuple[_Checked, list[str]]:
    """With the texts that are evidence: the sources without what they order a model to say."""
    # words are counted in a thread: a long context takes tens of milliseconds, and others wait for the loop
    checked, read, evident = await asyncio.to_thread(_read, answer, sources, texts)
    if not checked.foreign or not checked.claims:
        return checked, evident
    said = [answer[start:end] for start, end in (claim.span for claim in checked.claims)]
    try:
        logits = await foreign_logits(said, [claim.evidence for claim in checked.claims], read, embedder)
    except ProviderError as error:
        problem = f"answer and sources differ in language, and embedding failed ({error.code}): not checked"
        return _Checked(checked.claims, checked.misquoted, True, None, (problem,)), evident
    claims = (_Claim(c.span, c.evidence, value) for c, value in zip(checked.claims, logits, strict=True))
    return _Checked(tuple(claims), checked.misquoted, True, None, ()), evident


def _read(answer: str, sources: Sequence[Passage], texts: Sequence[str]) -> tuple[_Checked, Sources, list[str]]:
    bare, evident = without_marks(answer), [without_instructions(text) for text in texts]
    titles = [" ".join((p.title, p.external_id, *p.headings)) for p in sources]
    read = read_sources(evident, titles)
    ordered = read_sources(texts, titles) if evident != list(texts) else None
    nouns, foreign = nouns_of(certain_language(bare)), languages_differ(bare, texts)
    claims, said = [], []
    for start, end in split_sentences(bare):
        sentence = bare[start:end]
        if is_refusal(sentence):  # says what the sources do not cover, as it should
            continue
        sentence = _LEFT_OUT.sub("", _FRAME.sub("", sentence))
        evidence = gather_evidence(sentence, read, capitals=nouns is None)
        if ordered and evidence.words:
            evidence = _without_echo(sentence, evidence, gather_evidence(sentence, ordered, capitals=nouns is None))
        if evidence.words:
            claims.append(_Claim((start, end), evidence, logit(evidence)))
            said.append(sentence)
    misquoted = () if foreign else tuple(missing_quotations(bare, texts))
    fast = None if foreign else fast_score("\n".join(said), evident)
    return _Checked(tuple(claims), misquoted, foreign, fast, ()), read, evident


def _without_echo(sentence: str, evidence: SentenceEvidence, ordered: SentenceEvidence) -> SentenceEvidence:
    """`ordered`: what speaks for the sentence where orders to a model count as text. Of one that reports such an order in
    quotation marks they do; one that says itself what was ordered is an echo."""
    if quotations(sentence) or QUOTED.search(sentence):
        return ordered
    if is_instruction(sentence) or (ordered.exact >= ECHOED and ordered.exact > evidence.exact):
        return replace(evidence, echo=True)
    return evidence


def _judged(checked: _Checked, answer: str, decided: _Decision) -> tuple[SentenceSupport, ...]:
    problems = [_problems(claim.evidence, foreign=checked.foreign) for claim in checked.claims]
    for reason in decided.reasons if not decided.grounded else ():
        if (at := _meant(reason, checked.claims, answer)) is not None:
            problems[at] = (*problems[at], ("reason", reason))
    supported = [
        decided.grounded or (probability(claim.logit) >= SUPPORTED and not found)
        for claim, found in zip(checked.claims, problems, strict=True)
    ]
    if not decided.grounded and all(supported):
        supported[min(range(len(supported)), key=lambda at: checked.claims[at].logit)] = False
    return tuple(
        SentenceSupport(
            *claim.span,
            score=_on_side(probability(claim.logit), fine, SUPPORTED),
            supported=fine,
            sources=claim.evidence.supporters,
            issues=() if fine else tuple(issue for _, issue in found or UNSTATED),
            computed=claim.evidence.computed,
            kinds=() if fine else tuple(kind for kind, _ in found or UNSTATED),
        )
        for claim, fine, found in zip(checked.claims, supported, problems, strict=True)
    )


ECHOED: Final = 0.75  # measured: tests/unit/test_edges_ground.py
"""Share of a sentence's words that stand in an order, from which it is an echo."""
MEANT: Final = 0.5  # measured: tests/unit/test_edges_ground.py
"""Share of a reason's words that the sentence which it speaks of has at least."""


def _meant(reason: str, claims: Sequence[_Claim], answer: str) -> int | None:
    """The sentence that a model's reason is about: that which shares most words with it."""
    wanted = set(terms(reason))
    shares = [
        len(wanted & set(terms(answer[claim.span[0] : claim.span[1]]))) / len(wanted) if wanted else 0.0
        for claim in claims
    ]
    best = max(range(len(shares)), key=lambda at: shares[at])
    return best if shares[best] >= MEANT or len(claims) == 1 else None


MOST_ISSUES: Final = 10  # bound: tests/unit/test_edges_ground.py
SHOWN: Final = 160  # bound: tests/unit/test_edges_ground.py
"""Characters of a sentence in an issue."""


def _issues(
    checked: _Checked, answer: str, sentences: Sequence[SentenceSupport], reasons: Sequence[str]
) -> tuple[str, ...]:
    """What to tell the model that answers again: what it was told against, then sentences, the weakest first."""
    found = [*reasons, *(f"Not a quotation from the sources: “{quotation.text}”" for quotation in checked.misquoted)]
    for item in sorted((one for one in sentences if not one.supported), key=lambda one: one.score):
        sentence = " ".join(answer[item.start : item.end].split())
        shown = sentence if len(sentence) <= SHOWN else sentence[:SHOWN] + "…"
        own = [issue for issue in item.issues if issue not in reasons]
        found += [f"“{shown}”: {'; '.join(own)}"] if own else []
    return tuple(dict.fromkeys(found))[:MOST_ISSUES]


_Problem = tuple[ProblemKind, str]


def _problems(evidence: SentenceEvidence, *, foreign: bool) -> tuple[_Problem, ...]:
    problems: list[_Problem] = [("number", f"the number {number} is in no source") for number in evidence.numbers]
    problems += [("name", f"{name} is in no source") for name in evidence.names if not foreign]
    problems += [("command", f"{command} is in no source") for command in evidence.commands]
    problems += [("turned", evidence.turned)] if evidence.turned else []
    problems += [("echo", "it repeats what a source orders a model to say")] if evidence.echo else []
    return tuple(problems)
